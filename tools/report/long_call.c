/*  tools/report/long_call.c - whether an actor has been inside one call of its work for too long. */
#include "tools/report/long_call.h"

#include <string.h>

static const uint64_t call_ns = 1000000000;
enum { CALLS = 10, LAST_CALLS = 2, SIBLINGS = 64 };

/*  The mean call of an actor; 0: not known. */
static uint64_t mean_of(const tnd_statistics_t *page)
{
    return page->blocks_out > 0 ? page->work_ns / page->blocks_out : 0;
}

/*  The mean of the last calls, by the history: a source that has become slow does not hang.
 *  `unfinished_ns`: of a call that has not ended. */
static uint64_t last_calls_of(const tnd_seen_t *who, uint64_t unfinished_ns)
{
    double blocks = 0, worked = 0;
    double rows =
        who->page->blocks_out > 0 ? (double)who->page->rows_out / (double)who->page->blocks_out : 0;
    for (uint64_t age = 0; rows > 0 && age < tnd_seen_seconds(who) && blocks < LAST_CALLS; age++) {
        const tnd_history_second_t *second = tnd_seen_second(who, age);
        tnd_times_t times;
        tnd_times_unpack(second->shares, 1000000000, &times);
        worked += (double)(times.cpu + times.wait_io + times.run_queue);
        blocks += (double)second->rows / rows;
    }
    worked -= worked > (double)unfinished_ns ? (double)unfinished_ns : 0;
    return blocks > 0 ? (uint64_t)(worked / blocks) : 0;
}

/*  The median of the mean calls of the other workers of an actor; 0: it has none. */
static uint64_t siblings_of(const tnd_run_view_t *view, const tnd_seen_t *who)
{
    uint64_t means[SIBLINGS];
    uint32_t count = 0;
    tnd_seen_t other;
    TND_EACH_ACTOR(view, other)
    {
        uint64_t mean = mean_of(other.page);
        if (!tnd_seen_are_of(other.page, who->page) || strchr(who->page->actor, '.') == NULL ||
            other.page->instance == who->page->instance || mean == 0 || count == SIBLINGS)
            continue;
        uint32_t at = count++;
        for (; at > 0 && means[at - 1] > mean; at--)
            means[at] = means[at - 1];
        means[at] = mean;
    }
    return count > 0 ? means[count / 2] : 0;
}

tnd_long_call_t tnd_long_call(const tnd_run_view_t *view, const tnd_seen_t *who)
{
    tnd_long_call_t self = {.siblings_ns = siblings_of(view, who)};
    if (tnd_seen_state(who) == TND_STATE_WORKING)
        self.since_ns = tnd_seen_since(view, who);
    uint64_t last = last_calls_of(who, self.since_ns);
    self.usual_ns = last != 0 ? last : mean_of(who->page);
    uint64_t usual = self.usual_ns != 0 ? self.usual_ns : self.siblings_ns;
    self.hangs = self.since_ns >= call_ns && self.since_ns >= CALLS * usual;
    return self;
}
