/*  tools/report/run_rate.c - how many rows per second a run feeds. */
#include "tools/report/run_rate.h"

/*  The number of gaps between steps that the rate of a slow run is computed from. */
enum { GAPS = TND_PAGE_FED - 1 };

/*  The longest of the last gaps between steps, and the mean one; 0: not known. */
static uint64_t gap_of(const tnd_statistics_t *page, double *mean_p)
{
    uint64_t longest = 0, last = page->blocks_out, first = last;
    *mean_p = 0;
    for (uint64_t i = 0; i < GAPS && last >= i + 2; i++) {
        uint64_t later = page->fed_ns[(last - 1 - i) % TND_PAGE_FED];
        uint64_t sooner = page->fed_ns[(last - 2 - i) % TND_PAGE_FED];
        if (sooner == 0 || later < sooner)
            break;
        longest = later - sooner > longest ? later - sooner : longest;
        first = last - 2 - i;
    }
    if (first < last)
        *mean_p =
            (double)(page->fed_ns[(last - 1) % TND_PAGE_FED] - page->fed_ns[first % TND_PAGE_FED]) /
            (double)(last - 1 - first);
    return longest;
}

bool tnd_run_rate(const tnd_run_view_t *view, double *rows_per_second_p)
{
    tnd_seen_t who;
    double seconds = (double)tnd_run_view_window(view) * 1e-9;
    bool flows = false;
    *rows_per_second_p = 0;
    TND_EACH_ACTOR(view, who)
    {
        const tnd_statistics_t *page = who.page, *old = tnd_run_view_before(view, &who);
        double mean;
        if (!tnd_seen_has_role(&who, TND_ROLE_FEEDER) || who.process->killed)
            continue;
        uint64_t longest = gap_of(page, &mean), now = view->after->now_ns;
        uint64_t last =
            page->blocks_out > 0 ? page->fed_ns[(page->blocks_out - 1) % TND_PAGE_FED] : 0;
        uint64_t rows =
            old != NULL && page->rows_out > old->rows_out ? page->rows_out - old->rows_out : 0;
        uint64_t steps = old != NULL && page->blocks_out > old->blocks_out
                             ? page->blocks_out - old->blocks_out
                             : 0;
        bool soon = last != 0 && now < last + GAPS * longest && !who.process->stopped &&
                    tnd_seen_device(&who, 1 << TND_DEVICE_KEEP) == NULL;
        if (rows == 0 && !soon)
            continue;
        flows = true;
        /* Of few steps, one more or less at the edge of the window would change the rate much. */
        if (steps <= 2 * GAPS && mean > 0)
            *rows_per_second_p += (double)page->rows_out / (double)page->blocks_out / (mean * 1e-9);
        else if (seconds > 0)
            *rows_per_second_p += (double)rows / seconds;
    }
    return flows;
}
