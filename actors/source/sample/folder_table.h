/*  actors/source/sample/folder_table.h - a table in CSV that names files, and the class of each.
 *
 *  The first record has the names of the fields.  All of the table is read once.
 *
 *  Lifecycle: zeroed; read or parse; any number of reads; free, also after a failure.  Threads: one. */
#ifndef TND_ACTORS_SOURCE_SAMPLE_FOLDER_TABLE_H
#define TND_ACTORS_SOURCE_SAMPLE_FOLDER_TABLE_H

#include "actors/file/names.h"
#include "runtime/interface/source.h"

/*  What a record says. */
typedef struct {
    char *name, *word; /* of a file; of its class, NULL: no field has it */
    uint64_t line;     /* of the table, from 1 */
} tnd_folder_entry_t;

typedef struct {
    const char *path;  /* borrowed; NULL without a table */
    const char *field; /* that names files; borrowed */
    tnd_folder_entry_t *entries;
    size_t count, room;
    tnd_source_file_t file; /* what a checkpoint lists */
    uint64_t hash;          /* of all its bytes */
} tnd_folder_table_t;

/*  Reads the CSV file `path`, whose field `name` names files and whose field `word`, unless NULL, their
 *  classes; without a `name` the error lists the fields.  The texts are borrowed.  Errors: TND_FAILED
 *  with the line; the text lists the fields if one of these is not there. */
tnd_status_t tnd_folder_table_read(tnd_folder_table_t *self, const char *path,
                                   const char *delimiter, const char *name, const char *word,
                                   const tnd_source_scope_t *scope, tnd_error_t *error) TND_CHECKED;
/*  Reads a table from bytes that were read from `path`. */
tnd_status_t tnd_folder_table_parse(tnd_folder_table_t *self, const char *path,
                                    const uint8_t *bytes, size_t size, uint8_t delimiter,
                                    const char *name, const char *word,
                                    tnd_error_t *error) TND_CHECKED;

/*  Names the files of the table, sorted by their paths, which are of its folder. */
void tnd_folder_table_list(const tnd_folder_table_t *self, tnd_names_t *names);

/*  What became of the files and of the entries. */
typedef struct {
    int64_t *entries; /* by file: the entry that names it, or -1 */
    size_t missing;   /* entries that name no file, and the first of them */
    size_t first_missing;
    size_t unnamed; /* files that no entry names, and the first of them */
    size_t first_unnamed;
} tnd_folder_match_t;

/*  Finds the file of each entry: the one whose path, or path without the ending, is that of the entry
 *  or ends with a slash and it.  The caller frees match->entries, also after a failure.  Errors:
 *  TND_FAILED with the lines, if an entry names several files or a file is named twice. */
tnd_status_t tnd_folder_table_match(const tnd_folder_table_t *self, const tnd_names_t *names,
                                    tnd_folder_match_t *match, tnd_error_t *error) TND_CHECKED;

/*  Frees the entries; what is known of the file stays. */
void tnd_folder_table_forget(tnd_folder_table_t *self);
void tnd_folder_table_free(tnd_folder_table_t *self);

#endif
