/*  actors/file/files.h - which files a source reads: paths, ranges and patterns written down by a
 *  person, as a list of paths.
 *
 *  `part-[00-15].bin` means the sixteen names in the order of the numbers, whether they exist or
 *  not; `part-*.bin` (also `?` and `[abc]`) for the names that are found, sorted by bytes.  Other
 *  texts are taken as they are, as is a pattern that is itself the name of a file.
 *
 *  Lifecycle: zeroed; find; any number of looks; free.  Threads: one at a time. */
#ifndef TND_ACTORS_FILE_FILES_H
#define TND_ACTORS_FILE_FILES_H

#include "runtime/option/option_parse.h"
#include "runtime/base/status.h"

enum { TND_FILES_MAX = 32768 };

typedef struct {
    char **paths;
    size_t count, room;
    bool searched; /* a pattern looked into a directory: what there is depends on the host */
} tnd_files_t;

/*  The files that `written` names; `what` names them in errors ("column `image`").  TND_FAILED:
 *  there is none, a pattern matches none, one is there twice, or more than TND_FILES_MAX; the text
 *  names the pattern, and the directory that is nearest to it.  Free it in any case. */
tnd_status_t tnd_files_find(tnd_files_t *self, const char *what, const tnd_strings_t *written,
                            tnd_error_t *error) TND_CHECKED;

/*  Keeps the paths at places p with p mod lanes == lane.  TND_FAILED: there are fewer than lanes.
 */
tnd_status_t tnd_files_share(tnd_files_t *self, const char *what, uint32_t lane, uint32_t lanes,
                             tnd_error_t *error) TND_CHECKED;

/*  A hash of the names without their directories, going on from `seed`. */
uint64_t tnd_files_hash(const tnd_files_t *self, uint64_t seed);

void tnd_files_free(tnd_files_t *self);

#endif
