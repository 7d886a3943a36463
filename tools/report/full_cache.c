/*  tools/report/full_cache.c - a cache whose store is full, so that samples are made again. */
#include "tools/report/full_cache.h"

#include "runtime/text/quantity.h"

/*  The limit that would hold all rows, if those that are made again are like those in the store. */
static void say_limit(const tnd_statistics_t *page, double share, tnd_verdict_t *verdict)
{
    char size[TND_QUANTITY_SIZE];
    if (page->kept == 0)
        return;
    tnd_verdict_say(verdict, ": a `limit:` of about %s would hold all",
                    tnd_quantity_size((uint64_t)((double)page->kept / share), size));
}

void tnd_full_cache_say(const tnd_run_view_t *view, tnd_verdict_t *verdict)
{
    tnd_seen_t who;
    TND_EACH_ACTOR(view, who)
    {
        const tnd_statistics_t *page = who.page, *old = tnd_run_view_before(view, &who);
        if (!tnd_seen_has_role(&who, TND_ROLE_CACHE) || page->unkept == 0 || old == NULL)
            continue;
        double rows = (double)(page->rows_out - old->rows_out);
        double stored = (double)(page->stored - old->stored);
        if (stored <= 0 || stored >= rows)
            continue;
        tnd_verdict_say(
            verdict,
            "; the store of %s is full and has %.0f %% of its rows, the others are made again",
            page->actor, 100 * stored / rows);
        say_limit(page, stored / rows, verdict);
        return;
    }
}
