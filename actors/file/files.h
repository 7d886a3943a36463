/*  actors/file/files.h - expands the paths, ranges and patterns of a source's options to a list of
 *  paths.
 *
 *  `part-[00-15].bin` means the sixteen names in the order of the numbers, whether they exist or
 *  not; `part-*.bin` (also `?` and `[abc]`) means the names that exist, sorted by bytes.  Any
 *  other text is used unchanged, as is a pattern that is itself the name of a file.
 *
 *  Lifecycle: zeroed; find; any number of reads; free.  Threads: one at a time. */
#ifndef TND_ACTORS_FILE_FILES_H
#define TND_ACTORS_FILE_FILES_H

#include "runtime/base/status.h"
#include "runtime/option/option_parse.h"

typedef struct {
    char **paths;
    size_t count, room;
    bool searched; /* a pattern was used: the result depends on the host */
} tnd_files_t;

/*  Finds the files that `written` names; `what` names them in errors ("column `image`").  Free the
 *  list also on failure.  Errors: TND_FAILED if no file is named, a pattern matches none, or a file
 *  is named twice; the text names the pattern and the nearest existing directory. */
tnd_status_t tnd_files_find(tnd_files_t *self, const char *what, const tnd_strings_t *written,
                            tnd_error_t *error) TND_CHECKED;

/*  Keeps the paths at indices p with p mod lanes == lane.  Errors: TND_FAILED if there are fewer
 *  files than lanes. */
tnd_status_t tnd_files_share(tnd_files_t *self, const char *what, uint32_t lane, uint32_t lanes,
                             tnd_error_t *error) TND_CHECKED;

/*  A hash of the names without their directories, starting from `seed`. */
uint64_t tnd_files_hash(const tnd_files_t *self, uint64_t seed);

void tnd_files_free(tnd_files_t *self);

/*  The error of a pattern that matches nothing. */
tnd_status_t tnd_files_unmatched(const char *what, const char *pattern, tnd_error_t *error);

#endif
