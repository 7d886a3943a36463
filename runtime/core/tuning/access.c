/*  runtime/core/tuning/access.c - decides how the bytes of files are brought into memory. */
#include "runtime/core/tuning/access.h"

/*  Pieces to examine before deciding whether pieces stay in memory. */
enum { WINDOW = 256 };

static const uint64_t rest_first_ns = UINT64_C(30000000000), rest_most_ns = UINT64_C(1800000000000);

tnd_access_plan_t tnd_access_choose(const tnd_access_case_t *from)
{
    /* A quarter is left for other files and for programs. */
    bool fits = from->room == UINT64_MAX || from->bytes <= from->room - from->room / 4;
    bool forward = from->pattern == TND_PATTERN_FORWARD;
    bool wanted =
        from->asked == TND_ACCESS_READ || (from->asked == TND_ACCESS_AUTO && !forward && !fits);
    bool scarce = from->asked == TND_ACCESS_AUTO && from->files > from->descriptors;
    return (tnd_access_plan_t){.map = !wanted || scarce,
                               .random = !forward,
                               .fits = fits,
                               .load = fits && from->pattern == TND_PATTERN_ALL,
                               .scarce = wanted && scarce};
}

void tnd_access_watch_init(tnd_access_watch_t *self, bool fits)
{
    *self = (tnd_access_watch_t){
        .by_rows = !fits, .until = fits ? 0 : UINT64_MAX, .rest_ns = rest_first_ns};
}

bool tnd_access_watch_note(tnd_access_watch_t *self, uint32_t again, uint32_t missed, uint64_t now)
{
    if (self->by_rows)
        return false;
    self->again += again;
    self->missed += missed;
    if (self->again < WINDOW)
        return false;
    self->by_rows = self->missed > self->again / 4;
    self->again = self->missed = 0;
    if (!self->by_rows)
        return false;
    self->until = now + self->rest_ns;
    self->rest_ns = 2 * self->rest_ns < rest_most_ns ? 2 * self->rest_ns : rest_most_ns;
    return true;
}

bool tnd_access_watch_tick(tnd_access_watch_t *self, uint64_t now)
{
    if (!self->by_rows || now < self->until)
        return false;
    self->by_rows = false;
    return true;
}
