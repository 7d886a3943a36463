/*  runtime/core/stream/ledger.h - the account of rows up to a cursor.
 *
 *  Every position that was read, and every row added by a one-to-many operation, was fed, filtered,
 *  bad or dropped by a named policy.  The join books each once, when a step takes it and
 *  not when a block arrives, so a block that was retried counts once.  Padding is not a row and is
 *  counted separately.
 *
 *  Threads: any; plain values. */
#ifndef TND_RUNTIME_CORE_STREAM_LEDGER_H
#define TND_RUNTIME_CORE_STREAM_LEDGER_H

#include <stdbool.h>
#include <stdint.h>

typedef struct {
    uint64_t read;     /* positions taken from the source */
    uint64_t added;    /* rows beyond the first made from one position */
    uint64_t fed;      /* rows that entered a step */
    uint64_t filtered; /* positions that an operation filtered out */
    uint64_t bad;      /* skipped or quarantined, as asked */
    uint64_t dropped;  /* rows dropped by `remainder: drop` or `skip` */
    uint64_t padded;   /* rows of weight 0; not part of the balance */
} tnd_ledger_t;

/*  Adds `more` to `self`. */
void tnd_ledger_add(tnd_ledger_t *self, const tnd_ledger_t *more);

/*  Whether read + added = fed + filtered + bad + dropped. */
bool tnd_ledger_balances(const tnd_ledger_t *self);

/*  How many bad records a run tolerates: a number, or a part of the rows read. */
typedef struct {
    bool set, is_part;
    uint64_t count;
    double part; /* 0 ... 1 */
} tnd_bad_limit_t;

/*  Whether more records are bad than that.  A part refers to the rows read so far, but at least to an
 *  epoch of `epoch` rows (TND_UNKNOWN: 10,000), so that one early bad record does not end a run. */
bool tnd_ledger_exceeds(const tnd_ledger_t *self, const tnd_bad_limit_t *limit, uint64_t epoch);

#endif
