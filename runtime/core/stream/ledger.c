/*  runtime/core/stream/ledger.c - the account of rows up to a cursor.  */
#include "runtime/core/stream/ledger.h"

#include "runtime/core/stream/position.h"

void tnd_ledger_add(tnd_ledger_t *self, const tnd_ledger_t *more)
{
    self->read += more->read;
    self->added += more->added;
    self->fed += more->fed;
    self->filtered += more->filtered;
    self->bad += more->bad;
    self->dropped += more->dropped;
    self->padded += more->padded;
}

bool tnd_ledger_balances(const tnd_ledger_t *self)
{
    return self->read + self->added == self->fed + self->filtered + self->bad + self->dropped;
}

bool tnd_ledger_exceeds(const tnd_ledger_t *self, const tnd_bad_limit_t *limit, uint64_t epoch)
{
    if (!limit->set)
        return false;
    if (!limit->is_part)
        return self->bad > limit->count;
    uint64_t of = epoch == TND_UNKNOWN ? 10000 : epoch;
    if (self->read > of)
        of = self->read;
    return (double)self->bad > limit->part * (double)of;
}
