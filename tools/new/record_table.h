/*  tools/new/record_table.h - the columns of records of one format: their names, types and classes.
 *
 *  Records are looked at twice: the first TND_TABLE_FIRST show whether they are of the format, then all
 *  of them decide what each column is.
 *
 *  Threads: one at a time. */
#ifndef TND_TOOLS_NEW_RECORD_TABLE_H
#define TND_TOOLS_NEW_RECORD_TABLE_H

#include <stdio.h>

#include "tools/new/detect_format.h"

enum { TND_TABLE_FIRST = 20 };

typedef struct {
    const char *source; /* whose records may be of the format: csv, text */
    const char *uneven; /* which records do not fit, for people */
    void *(*open)(void);
    void (*take)(void *self, const uint8_t *record, size_t size);
    /*  After the first records.  False: they are not of the format.  The next record is the first one
     *  again. */
    bool (*look)(void *self);
    /*  After all records of `files` files.  False: no columns can be made of them. */
    bool (*decide)(void *self, size_t files);
    /*  The options of the source, such as "header: true"; "" if it needs none. */
    const char *(*options)(const void *self, tnd_arena_t *arena);
    /*  How many records do not fit. */
    uint64_t (*left_out)(const void *self);
    /*  Prints the operations that make columns of column `record`, each line after six spaces; call it
     *  once. */
    void (*print)(void *self, const char *record, FILE *out);
    void (*close)(void *self);
} tnd_record_table_t;

extern const tnd_record_table_t tnd_csv_table, tnd_json_table;

#endif
