/*  tools/new/data_search.h - finds the data that files, directories and patterns name.
 *
 *  Threads: one. */
#ifndef TND_TOOLS_NEW_DATA_SEARCH_H
#define TND_TOOLS_NEW_DATA_SEARCH_H

#include "tools/new/detect_format.h"

/*  Inspects files, directories and patterns such as `data/x*.npy`.  `as`: the source of all files,
 *  as written for --as; NULL: their contents decide.  Errors: TND_FAILED if one does
 *  not exist, cannot be read, or has an unknown format; the text describes its content. */
tnd_status_t tnd_data_search(tnd_detected_format_list_t *self, tnd_arena_t *arena,
                             const char *const *names, size_t count, const char *as,
                             tnd_error_t *error) TND_CHECKED;

#endif
