/*  runtime/core/order/ledger.h - the account of rows up to a cursor.
 *
 *  Every position read and every row added by a one-to-many operation went somewhere: it was fed,
 *  filtered, quarantined or dropped by a named policy.  The join books each of them once, when a
 *  step takes it, never when a block arrives: a block that was retried is still one block.
 *  Padding is no row and is counted apart.
 *
 *  Threads: any; plain values.
 */
#ifndef TND_RUNTIME_CORE_ORDER_LEDGER_H
#define TND_RUNTIME_CORE_ORDER_LEDGER_H

#include <stdbool.h>
#include <stdint.h>

typedef struct {
    uint64_t read;        /* positions taken from the source */
    uint64_t added;       /* rows beyond the first made from one position */
    uint64_t fed;         /* rows that entered a step */
    uint64_t filtered;    /* positions that an operation left out */
    uint64_t quarantined; /* positions that were bad, and set aside as asked */
    uint64_t dropped;     /* rows left out by `remainder: drop` */
    uint64_t padded;      /* rows of weight 0; not part of the balance */
} tnd_ledger_t;

/*  Adds `more` to `self`. */
void tnd_ledger_add(tnd_ledger_t *self, const tnd_ledger_t *more);

/*  Whether read + added = fed + filtered + quarantined + dropped. */
bool tnd_ledger_balances(const tnd_ledger_t *self);

/*  How much may be bad before a run ends: a number, or a part of the rows read. */
typedef struct {
    bool set, is_part;
    uint64_t count;
    double part; /* 0 ... 1 */
} tnd_bad_limit_t;

/*  Whether more is bad than that.  A part is one of what was read so far, or of a whole epoch of
 *  `epoch` rows (TND_UNKNOWN: 10,000), so that the first bad record of a run is not all there is.
 */
bool tnd_ledger_exceeds(const tnd_ledger_t *self, const tnd_bad_limit_t *limit, uint64_t epoch);

#endif
