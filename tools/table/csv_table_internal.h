/*  tools/table/csv_table_internal.h - the columns of records of CSV, while they are found and printed.
 *
 *  csv_table.c finds them, csv_lines.c prints the lines of a topology that make them.
 *
 *  Threads: one at a time. */
#ifndef TND_TOOLS_TABLE_CSV_TABLE_INTERNAL_H
#define TND_TOOLS_TABLE_CSV_TABLE_INTERNAL_H

#include "tools/table/cell_text.h"
#include "tools/table/column_name.h"
#include "tools/table/counts_line.h"
#include "tools/table/misfit.h"
#include "tools/table/record_table.h"
#include "tools/table/text_classes.h"

enum { TND_CSV_DELIMITERS = 5 };

typedef struct {
    char head[TND_CLASS_TEXT_MAX]; /* its text in the first record; "" if that is too long */
    bool head_is_number, head_again;
    bool absent[TND_CELL_ABSENT];
    uint64_t integers, numbers, years, texts, empty, absents;
    uint64_t dressed; /* texts that are numbers with a comma or a unit */
    tnd_text_classes_t classes;
    tnd_misfit_t odd; /* texts that are neither numbers nor absent */
    bool wide;        /* a whole number that f32 may not have */
    bool nan;         /* a number is NaN */
    bool guessed;     /* no name says that it is the label */
    char name[TND_NEW_NAME_MAX];
} tnd_csv_column_t;

/*  How it is fed: a class, numbers, or bytes. */
typedef enum {
    TND_CSV_AS_NUMBER,
    TND_CSV_AS_WIDE,
    TND_CSV_AS_INTEGER,
    TND_CSV_AS_CLASS,
    TND_CSV_AS_TEXT
} tnd_csv_use_t;

typedef struct {
    uint8_t delimiter;
    bool guesses; /* records are lines of text, perhaps no table */
    uint32_t fields_of[TND_CSV_DELIMITERS][TND_TABLE_FIRST];  /* of each of the first records */
    uint32_t numbers_of[TND_CSV_DELIMITERS][TND_TABLE_FIRST]; /* fields that are numbers */
    bool divided, header, marked;                             /* by a byte order mark */
    bool named;     /* the header names each field, once */
    uint8_t *first; /* the first record */
    size_t first_size;
    tnd_counts_line_t counts; /* what the first line may be; until decide, it is not a record */
    bool counted;             /* and is */
    uint64_t records, headers;
    tnd_misfit_t uneven, blank, damaged, quotes;
    tnd_misfit_t before;               /* a misfit that is the first record of a file */
    bool hidden;                       /* it hides the header */
    bool lonely;                       /* the only record may be a header */
    bool unclear;                      /* the first record is read as a row, and may be a header */
    bool swallowed;                    /* a record of `quotes` does not fit */
    uint64_t line_of[TND_TABLE_FIRST]; /* of each of the first records */
    char *first_file, *other_file;     /* other: the first file that begins with another record */
    uint8_t *other;                    /* that record */
    size_t other_size;
    tnd_csv_column_t *fields;
    uint32_t count;
} tnd_csv_table_t;

/*  Whether a field has texts that are neither numbers nor absent, in so few records that it is one of
 *  numbers. */
bool tnd_csv_has_odd(const tnd_csv_column_t *field);
/*  How a column is fed, after all records. */
tnd_csv_use_t tnd_csv_use_of(const tnd_csv_table_t *self, const tnd_csv_column_t *field);

/*  As `describe`, `options` and `print` of record_table.h. */
const char *tnd_csv_lines_describe(const void *context, tnd_arena_t *arena);
const char *tnd_csv_lines_options(const void *context, tnd_arena_t *arena);
void tnd_csv_lines_print(void *context, const char *record, FILE *out);

#endif
