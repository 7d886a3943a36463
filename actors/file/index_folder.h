/*  actors/file/index_folder.h - the folders with indexes of data files (stored/record_index.h).
 *
 *  An index is called NAME.KEY.FORMAT.npy.  NAME is that of its data file, KEY 16 hexadecimal digits
 *  of the data file's identity, size and modification time.  It is beside the data file or in the
 *  cache: $XDG_CACHE_HOME/tundish, else ~/.cache/tundish.  The access time of an index is set whenever a
 *  source opens it, also where the file system does not do that for files that are read.
 *
 *  Threads: any. */
#ifndef TND_ACTORS_FILE_INDEX_FOLDER_H
#define TND_ACTORS_FILE_INDEX_FOLDER_H

#include <limits.h>

#include "actors/file/content.h"

enum { TND_INDEX_HEADER = 128 }; /* bytes before the numbers of an index */

typedef enum { TND_INDEX_CACHE, TND_INDEX_BESIDE } tnd_index_place_t;

/*  The folder for indexes of the file at `path`. */
void tnd_index_folder(char folder[PATH_MAX], const char *path, tnd_index_place_t place);
/*  A data file as it is now. */
typedef struct {
    const char *path;
    uint64_t identity, size; /* tnd_content_identity */
    int64_t modified_ns;
} tnd_indexed_file_t;

/*  The index of a data file in that folder; the caller frees it. */
char *tnd_index_path(const char *folder, const tnd_indexed_file_t *data, const char *format);

typedef struct {
    char *path;
    char *name;         /* of its data file, at most 100 bytes, without folders */
    const char *format; /* "lines", "lines-gzip" */
    bool compressed;    /* its data file is; the last number is the size of the content */
    uint64_t bytes;
    uint64_t records;
    int64_t used_ns; /* when it was last opened, since 1970 */
} tnd_index_entry_t;

typedef struct {
    tnd_index_entry_t *items; /* the one used last first */
    size_t count, room;
} tnd_index_list_t;

/*  All indexes of the cache. */
void tnd_index_list_cache(tnd_index_list_t *self);
/*  Those of the present content of one data file, in both places; of an index itself.  Errors: TND_FAILED if the file
 *  cannot be read; free the list also then. */
tnd_status_t tnd_index_list_of(tnd_index_list_t *self, const char *path,
                               tnd_error_t *error) TND_CHECKED;
void tnd_index_list_free(tnd_index_list_t *self);

/*  Whether a file of that name is an index. */
bool tnd_index_is_name(const char *path);

/*  Removes indexes from the cache, those used longest ago first, until it has at most `limit`
 *  bytes.  Indexes that were opened since `spared_ns` (since 1970) remain. */
void tnd_index_trim(uint64_t limit, int64_t spared_ns);

#endif
