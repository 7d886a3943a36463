/*  runtime/core/order/account.h - bytes promised and bytes used against one budget.
 *
 *  Nothing is taken that was not reserved; a reservation shrinks to what is really used, and ends
 *  when that is given back.  A budget that is too small says so before the start.
 */
#ifndef TND_RUNTIME_CORE_ORDER_ACCOUNT_H
#define TND_RUNTIME_CORE_ORDER_ACCOUNT_H

#include <stdbool.h>
#include <stdint.h>

typedef struct {
    uint64_t budget, used, peak;
} tnd_account_t;

void tnd_account_init(tnd_account_t *self, uint64_t budget);
/*  False, and nothing taken, when the budget has no room for it. */
bool tnd_account_reserve(tnd_account_t *self, uint64_t bytes);
/*  `from` >= `to`. */
void tnd_account_shrink(tnd_account_t *self, uint64_t from, uint64_t to);
void tnd_account_release(tnd_account_t *self, uint64_t bytes);

#endif
