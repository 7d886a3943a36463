/*  runtime/text/quantity.h - numbers with and without units, read strictly.
 *
 *  Ambiguous text is refused: a leading zero (octal or decimal?), digits grouped by `_`, a size
 *  without a unit.  The results do not depend on the locale.
 *
 *  Threads: any. */
#ifndef TND_RUNTIME_TEXT_QUANTITY_H
#define TND_RUNTIME_TEXT_QUANTITY_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

typedef enum {
    TND_QUANTITY_OK,
    TND_QUANTITY_NOT_A_NUMBER,
    TND_QUANTITY_TOO_LARGE,    /* for 64 bits */
    TND_QUANTITY_LEADING_ZERO, /* 012 */
    TND_QUANTITY_GROUPED,      /* 1_000 */
    TND_QUANTITY_NEGATIVE,     /* where numbers must not be negative */
    TND_QUANTITY_NO_UNIT,
    TND_QUANTITY_WRONG_UNIT
} tnd_quantity_t;

/*  The value is written only if the outcome is TND_QUANTITY_OK. */
tnd_quantity_t tnd_quantity_u64(const char *text, uint64_t *value_p);
tnd_quantity_t tnd_quantity_i64(const char *text, int64_t *value_p);
tnd_quantity_t tnd_quantity_f64(const char *text, double *value_p);

/*  "64MiB", "1.5 GB", "0": B, kB, MB, GB, TB (powers of 1000), KiB, MiB, GiB, TiB (of 1024). */
tnd_quantity_t tnd_quantity_bytes(const char *text, uint64_t *value_p);

/*  "10s", "50 ms", "0": ns, us, ms, s, min, h; the result is in nanoseconds. */
tnd_quantity_t tnd_quantity_duration(const char *text, uint64_t *value_p);

/*  "100 rows": the number before ` rows`. */
tnd_quantity_t tnd_quantity_rows(const char *text, uint64_t *value_p);

/*  "500 steps": likewise. */
tnd_quantity_t tnd_quantity_steps(const char *text, uint64_t *value_p);
/*  "1 epoch": likewise. */
tnd_quantity_t tnd_quantity_epochs(const char *text, uint64_t *value_p);

/*  A number of bytes for people, rounded, in the unit that leaves one to four digits: "1.5 GiB",
 *  "640 KiB", "12 bytes".  Returns `text`. */
enum { TND_QUANTITY_SIZE = 24 };
const char *tnd_quantity_size(uint64_t bytes, char text[TND_QUANTITY_SIZE]);

/*  Write a quantity so that it can be read again, exactly and in the largest unit: 64MiB, 10s. */
void tnd_quantity_print_bytes(uint64_t value, FILE *out);
void tnd_quantity_print_duration(uint64_t value, FILE *out);

/*  As few significant digits as identify a double, but at least `digits`; with a point in every locale.  Returns
 *  `text`. */
enum { TND_QUANTITY_NUMBER = 40 };
const char *tnd_quantity_number(double value, int digits, char text[TND_QUANTITY_NUMBER]);

#endif
