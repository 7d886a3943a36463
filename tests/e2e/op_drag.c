/*  tests/e2e/op_drag.c - an operation that is slow, and hangs on one row.
 *
 *  Sleeps `us` microseconds for each row, and $DRAG times as long after the first 256 rows of the
 *  process, so that trying the operation before the start takes no longer.  If the file
 *  $DRAG_STICKS exists, the next row removes it and never returns.  If $DRAG_OPENS is set, that
 *  many operations can be opened, and opening another one never returns. */
#include <stdlib.h>
#include <time.h>
#include <tundish/tundish.h>
#include <unistd.h>

enum { FAST_ROWS = 256 };

typedef struct {
    uint64_t us, slow_us;
    const char *sticks;
} drag_t;

static _Atomic unsigned opened, rows;
static _Atomic bool ends; /* it never does */

static tnd_status_t drag_open(void *state, void *shared, const char *options,
                              const tnd_schema_t *in, tnd_schema_t *out, uint32_t *most_p,
                              tnd_error_t *error)
{
    drag_t *self = state;
    const char *times = getenv("DRAG"), *opens = getenv("DRAG_OPENS");
    (void)shared, (void)in, (void)out, (void)most_p;
    if (tnd_option_only(options, "us", error) != TND_OK ||
        tnd_option_u64(options, "us", &self->us, error) != TND_OK)
        return TND_FAILED;
    self->slow_us = self->us * (times != NULL ? strtoull(times, NULL, 10) : 1);
    self->sticks = getenv("DRAG_STICKS");
    while (opened++ == (opens != NULL ? strtoull(opens, NULL, 10) : UINT64_MAX))
        while (!ends) /* in this code, which must stay where it is */
            continue;
    return TND_OK;
}

static tnd_status_t drag_apply(void *state, const tnd_rows_t *in, size_t row, tnd_random_t *random,
                               tnd_rows_t *out, tnd_error_t *error)
{
    const drag_t *self = state;
    uint64_t us = rows++ < FAST_ROWS ? self->us : self->slow_us;
    const struct timespec time = {.tv_sec = (time_t)(us / 1000000),
                                  .tv_nsec = (long)(us % 1000000 * 1000)};
    (void)in, (void)row, (void)random, (void)error;
    nanosleep(&time, NULL);
    while (self->sticks != NULL && unlink(self->sticks) == 0)
        for (;;)
            pause();
    out->count = 1;
    return TND_OK;
}

extern TND_API const tnd_op_ops_t tnd_op_drag;
const tnd_op_ops_t tnd_op_drag = {
    .abi = TND_ABI,
    .name = "drag",
    .state_bytes = sizeof(drag_t),
    .open = drag_open,
    .apply = drag_apply,
};
