/*  tools/table/record_table.h - the columns of records of one format: their names, types and classes.
 *
 *  Records are looked at twice: the first TND_TABLE_FIRST show whether they are of the format, then all
 *  of them decide what each column is.
 *
 *  Threads: one at a time. */
#ifndef TND_TOOLS_TABLE_RECORD_TABLE_H
#define TND_TOOLS_TABLE_RECORD_TABLE_H

#include <stdio.h>

#include "runtime/base/status.h"
#include "runtime/text/arena.h"
#include "tools/table/record_place.h"

enum { TND_TABLE_FIRST = 20 };

typedef struct {
    const char *source; /* whose records may be of the format: csv, text */
    const char *reader; /* the source that reads them as such; NULL: the same */
    void *(*open)(void);
    void (*take)(void *self, const tnd_record_place_t *place, const uint8_t *record, size_t size);
    /*  After the first records.  False: they are not of the format.  The next record is the first one
     *  again. */
    bool (*look)(void *self);
    /*  What look has found, such as "4 fields, separated by spaces". */
    const char *(*describe)(const void *self, tnd_arena_t *arena);
    /*  After all records of `files` files.  Errors: TND_END if no columns can be made of them,
     *  TND_FAILED if the files do not fit together. */
    tnd_status_t (*decide)(void *self, size_t files, tnd_error_t *error);
    /*  The options of the source, such as "header: true"; "" if it needs none. */
    const char *(*options)(const void *self, tnd_arena_t *arena);
    /*  Prints a line for each kind of record that does not fit, or why there are no columns, with the
     *  place of the first.  Returns whether rows are left out by this. */
    bool (*misfits)(const void *self, FILE *out);
    /*  Prints the operations that make columns of column `record`, each line after six spaces; call it
     *  once. */
    void (*print)(void *self, const char *record, FILE *out);
    void (*close)(void *self);
} tnd_record_table_t;

/*  tnd_text_table: lines of text that are records of CSV. */
extern const tnd_record_table_t tnd_csv_table, tnd_json_table, tnd_text_table;

/*  The formats that records of a source may have, in the order in which they are tried; NULL: no more. */
const tnd_record_table_t *tnd_record_table_at(const char *source, size_t index);

#endif
