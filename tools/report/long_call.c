/*  tools/report/long_call.c - whether an actor has been inside one call of its work for too long. */
#include "tools/report/long_call.h"

#include <string.h>

static const uint64_t call_ns = 1000000000;
enum { CALLS = 10, FEW_CALLS = 4, SIBLINGS = 64 };

/*  The mean call of an actor; 0: not known. */
static uint64_t mean_of(const tnd_statistics_t *page)
{
    return page->blocks_out > 0 ? page->work_ns / page->blocks_out : 0;
}

/*  The mean of the last few calls, by the seconds of the history from the last one in which a call ended
 *  to another one, or to one of many calls: a source that has become slow does not hang. */
static uint64_t last_calls_of(const tnd_seen_t *who)
{
    const tnd_statistics_t *page = who->page;
    double calls = 0, worked = 0;
    double rows = page->blocks_out > 0 ? (double)page->rows_out / (double)page->blocks_out : 0;
    for (uint64_t age = 0; rows > 0 && age < tnd_seen_seconds(who); age++) {
        const tnd_history_second_t *second = tnd_seen_second(who, age);
        double ended = (double)second->rows / rows;
        tnd_times_t times;
        if (ended > 0 && calls > 0 && (calls >= FEW_CALLS || ended > FEW_CALLS))
            break;
        calls += ended;
        tnd_times_unpack(second->shares, 1000000000, &times);
        worked += calls > 0 ? (double)(times.cpu + times.wait_io + times.run_queue) : 0;
    }
    return calls > 0 ? (uint64_t)(worked / calls) : 0;
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
    tnd_state_t state = tnd_seen_state(who);
    if (state == TND_STATE_WORKING || state == TND_STATE_RUNNING)
        self.since_ns = tnd_seen_since(view, who);
    uint64_t last = last_calls_of(who);
    self.usual_ns = last != 0 ? last : mean_of(who->page);
    uint64_t usual = self.usual_ns != 0 ? self.usual_ns : self.siblings_ns;
    self.hangs = self.since_ns >= call_ns && self.since_ns >= CALLS * usual;
    return self;
}
