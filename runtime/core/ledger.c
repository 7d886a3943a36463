/*  runtime/core/ledger.c - the account of rows up to a cursor.  */
#include "runtime/core/ledger.h"

void tnd_ledger_add(tnd_ledger_t *self, const tnd_ledger_t *more)
{
    self->read += more->read;
    self->added += more->added;
    self->fed += more->fed;
    self->filtered += more->filtered;
    self->quarantined += more->quarantined;
    self->dropped += more->dropped;
    self->padded += more->padded;
}

bool tnd_ledger_balances(const tnd_ledger_t *self)
{
    return self->read + self->added ==
           self->fed + self->filtered + self->quarantined + self->dropped;
}
