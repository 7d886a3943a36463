/*  actors/file/names.h - the names of many files, by folder.
 *
 *  A name takes its bytes and five more; the path of a folder is stored once.
 *
 *  Lifecycle: zeroed; find, or folder and add; any number of reads; free.  Threads: one until then,
 *  reads on any. */
#ifndef TND_ACTORS_FILE_NAMES_H
#define TND_ACTORS_FILE_NAMES_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "runtime/base/status.h"
#include "runtime/option/option.h"

typedef struct {
    char *path;   /* without a slash at the end; "" is the working directory, "/" the root */
    size_t first; /* file */
    size_t label; /* bytes of `path` up to the end of the folder that gives its files their label */
} tnd_names_folder_t;

typedef struct {
    char *text; /* the names, each ended by a zero */
    size_t text_size, text_room;
    uint32_t *starts; /* where each begins */
    size_t count, starts_room;
    tnd_names_folder_t *folders;
    size_t folder_count, folder_room;
} tnd_names_t;

/*  Finds the files that patterns (`*`, `?`, `[abc]`, `**` for folders of any depth) and paths name: of
 *  each pattern folder by folder, and in a folder sorted by bytes.  A part of a path that exists as it
 *  is written is not a pattern.  A link whose target does not exist counts as a file; a folder that a
 *  pattern matches is listed without files too.  The label of files is that of their folder, or of the
 *  one before `**` if a pattern matches it.  `what` names them in errors.  Free the names also on
 *  failure.  Errors: TND_FAILED if a pattern matches no file, a file is named twice, or a folder
 *  cannot be read. */
tnd_status_t tnd_names_find(tnd_names_t *self, const char *what, const tnd_strings_t *patterns,
                            tnd_error_t *error) TND_CHECKED;

/*  Begins a folder, which is not the last one.  Adds a file to the last folder. */
void tnd_names_folder(tnd_names_t *self, const char *path);
void tnd_names_add(tnd_names_t *self, const char *name);
/*  Keeps the files for which `keeps` is true, and all folders. */
void tnd_names_keep(tnd_names_t *self, bool (*keeps)(const void *context, size_t index),
                    const void *context);
/*  Keeps the files at places p with p mod lanes == lane, and all folders. */
void tnd_names_share(tnd_names_t *self, uint32_t lane, uint32_t lanes);
/*  Returns memory that was allocated and is not used. */
void tnd_names_settle(tnd_names_t *self);

/*  The name of file `index`; the number of its folder; its path. */
const char *tnd_names_at(const tnd_names_t *self, size_t index);
size_t tnd_names_folder_of(const tnd_names_t *self, size_t index);
void tnd_names_path(const tnd_names_t *self, size_t index, char path[PATH_MAX]);
/*  Bytes that the names take in memory. */
size_t tnd_names_bytes(const tnd_names_t *self);
void tnd_names_free(tnd_names_t *self);

#endif
