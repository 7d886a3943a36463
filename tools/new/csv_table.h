/*  tools/new/csv_table.h - the columns of records of CSV: their names, types and classes.
 *
 *  All records are looked at.  Numbers that follow one another become one column, a column that is
 *  called label, target, class, species or y stays apart, and texts of a few kinds become classes.
 *
 *  Threads: one at a time. */
#ifndef TND_TOOLS_NEW_CSV_TABLE_H
#define TND_TOOLS_NEW_CSV_TABLE_H

#include <stdio.h>

#include "tools/new/detect_format.h"

typedef struct tnd_csv_table tnd_csv_table_t;

/*  An empty table.  Give it records: the first TND_CSV_FIRST of them, tnd_csv_table_divide, then all of
 *  them from the first one on. */
tnd_csv_table_t *tnd_csv_table_new(void);
enum { TND_CSV_FIRST = 20 };
void tnd_csv_table_take(void *self, const uint8_t *record, size_t size);
/*  Finds out what separates fields; the next record is the first one again.  False: these are no
 *  records of the same fields. */
bool tnd_csv_table_divide(tnd_csv_table_t *self);
/*  After all records of `files` files: decides what each field is.  False: no columns can be made of
 *  them. */
bool tnd_csv_table_decide(tnd_csv_table_t *self, size_t files);

/*  The source: "csv: {header: true}"; `written` is what it was before. */
const char *tnd_csv_table_source(const tnd_csv_table_t *self, tnd_arena_t *arena,
                                 const char *written);
/*  Records that are headers. */
uint64_t tnd_csv_table_headers(const tnd_csv_table_t *self);
/*  Records with more or fewer fields than most have. */
uint64_t tnd_csv_table_uneven(const tnd_csv_table_t *self);
/*  Prints the operations that make columns of column `record`, each line after six spaces. */
void tnd_csv_table_print(const tnd_csv_table_t *self, const char *record, FILE *out);
void tnd_csv_table_free(tnd_csv_table_t *self);

#endif
