/*  runtime/option/number.h - reads the number of an option and checks its range.
 *
 *  Threads: any. */
#ifndef TND_RUNTIME_OPTION_NUMBER_H
#define TND_RUNTIME_OPTION_NUMBER_H

#include "runtime/option/option.h"
#include "runtime/text/quantity.h"

/*  The type determines the field: `i64` for I64, `f64` for F64, `u64` for all others. */
typedef struct {
    tnd_option_type_t type;
    uint64_t u64;
    int64_t i64;
    double f64;
} tnd_number_t;

/*  Reads a number of the type of U64, I64, F64, F64S, BYTES or DURATION. */
tnd_quantity_t tnd_number_read(tnd_option_type_t type, const char *text, tnd_number_t *number_p);

/*  Reads a word for a number, such as "auto" in "auto=0|forever=18446744073709551615".  Returns
 *  false if `text` is not such a word. */
bool tnd_number_word(const tnd_option_t *option, const char *text, tnd_number_t *number_p);

/*  The word for `value` of a U64.  Returns its size; 0 if there is none. */
size_t tnd_number_called(const tnd_option_t *option, uint64_t value, const char **word_p);

bool tnd_number_in_range(const tnd_option_t *option, const tnd_number_t *number);

/*  " from 1 to 64MiB", " from 1 on"; "" without a range. */
const char *tnd_number_range(tnd_arena_t *arena, const tnd_option_t *option);

#endif
