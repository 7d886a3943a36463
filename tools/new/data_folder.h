/*  tools/new/data_folder.h - detects the data of a directory: files of one format, folders of pictures
 *  whose names are labels, or folders of parts such as train/ and test/.
 *
 *  Threads: one. */
#ifndef TND_TOOLS_NEW_DATA_FOLDER_H
#define TND_TOOLS_NEW_DATA_FOLDER_H

#include "tools/new/detect_format.h"

/*  Adds the files of the directory at `path`; what is not used is added to `left_out`.  `as`: the
 *  source of all files; NULL: their contents decide.  Errors: TND_FAILED if it cannot be read or has no
 *  file in a known format. */
tnd_status_t tnd_data_folder_add(tnd_detected_format_list_t *self, tnd_arena_t *arena,
                                 const char *path, const char *as, tnd_error_t *error) TND_CHECKED;

#endif
