/*  tools/table/cell_text.h - what the texts of a table may be: numbers, absent ones, names of columns.
 *
 *  Names that are numbers are whole and ascend, as 2019, 2020 or 0, 1, 2.  Data may do so too.  Years
 *  are told from them: they name columns whose own numbers are mostly no years.
 *
 *  Threads: one at a time. */
#ifndef TND_TOOLS_TABLE_CELL_TEXT_H
#define TND_TOOLS_TABLE_CELL_TEXT_H

#include "actors/text/csv_record.h"
#include "tools/table/text_classes.h"

/*  The text of a field; false: it is longer than a class has. */
bool tnd_cell_text(const tnd_csv_field_t *field, char text[TND_CLASS_TEXT_MAX]);

/*  Texts that mean that a number is missing. */
enum { TND_CELL_ABSENT = 7 };
extern const char *const tnd_cell_absent[TND_CELL_ABSENT];
/*  Which of them a text is; TND_CELL_ABSENT: none. */
uint32_t tnd_cell_absence(const char *text);

/*  *whole_p: it is an integer.  *wide_p: one that f32 may not have. */
bool tnd_cell_is_number(const char *text, bool *whole_p, bool *wide_p);
/*  Whether a number is NaN, in any case and with any sign. */
bool tnd_cell_is_nan(const char *text);
/*  Whether it is a number with a comma, a unit or a sign of money: 5,1 and 12,345 and 5 % and $3. */
bool tnd_cell_is_dressed(const char *text);
/*  Whether it is a year from 1900 to 2100. */
bool tnd_cell_is_year(const char *text);

/*  Numbers in the first record. */
typedef struct {
    uint32_t count;
    int64_t last;
    bool others; /* one is not whole, or does not ascend */
    bool data;   /* one may be a number of its own column */
} tnd_number_names_t;

/*  Adds the first text of a column whose other texts have `numbers` numbers, of which `years` are
 *  years. */
void tnd_number_names_add(tnd_number_names_t *self, const char *text, uint64_t numbers,
                          uint64_t years);
/*  Whether they may be names; whether they are, although data might look so. */
bool tnd_number_names_may_be(const tnd_number_names_t *self);
bool tnd_number_names_are(const tnd_number_names_t *self);

#endif
