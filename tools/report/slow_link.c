/*  tools/report/slow_link.c - a connection between two hosts that both of its ends wait for. */
#include "tools/report/slow_link.h"

#include <inttypes.h>
#include <string.h>

#include "runtime/core/protocol/effect.h"
#include "runtime/plan/placement.h"

/*  Both ends wait for it for this share of the time. */
static const double waits = 0.6;

/*  Bytes are on the way of a slow connection for longer than this. */
static const double delay_s = 0.05;

/*  Nothing arrives by a slow connection for at least this, while bytes are on the way. */
static const uint64_t silent_ns = 1000000000;

/*  What is seen now is compared with so many of the last seconds. */
enum { JUDGED_SECONDS = 4 };

/*  Bytes that the workers of `from` have sent and those of `to` have not received. */
static double bytes_on_the_way(const tnd_run_view_t *view, const tnd_statistics_t *from,
                               const tnd_statistics_t *to)
{
    tnd_seen_t who;
    double bytes = 0;
    TND_EACH_ACTOR(view, who)
    {
        bytes += tnd_seen_are_of(who.page, from) ? (double)who.page->bytes_out : 0;
        bytes -= tnd_seen_are_of(who.page, to) ? (double)who.page->bytes_in : 0;
    }
    return bytes;
}

/*  Whether a process of the actor of `page` was replaced: its bytes then begin anew. */
static bool began_anew(const tnd_inspection_t *look, const tnd_inspected_t *run,
                       const tnd_statistics_t *page)
{
    for (uint32_t p = 0; p < look->count; p++) {
        const tnd_run_record_t *record = &look->processes[p].record;
        if (!tnd_inspected_same(&look->processes[p], run))
            continue;
        for (uint32_t i = 0; record->shape.hosts > 0 && i < record->shape.actors; i++) {
            const tnd_instance_record_t *instance = &record->instances[i];
            bool same = instance->chain == page->chain && instance->role == (uint32_t)page->role &&
                        strlen(instance->actor) == strcspn(page->actor, ".@") &&
                        strncmp(instance->actor, page->actor, strlen(instance->actor)) == 0;
            if (same && record->hosts[instance->host].restarts > 0)
                return true;
        }
    }
    return false;
}

/*  Whether an edge crosses machines or may: one that stays on this machine is not slow.  It cannot be
 *  judged if the counts of an end began anew. */
static bool may_be_slow(const tnd_run_view_t *view, const tnd_seen_t *from, const tnd_seen_t *to)
{
    if (from->process == to->process || !tnd_seen_runs(from) || !tnd_seen_runs(to) ||
        began_anew(view->after, from->process, from->page) ||
        began_anew(view->after, from->process, to->page))
        return false;
    const tnd_run_record_t *record = &from->process->record;
    for (uint32_t e = 0; e < record->shape.edges; e++)
        if (record->edges[e].from == from->page->instance &&
            record->edges[e].to == to->page->instance)
            return record->edges[e].transport == TND_TRANSPORT_TCP;
    return true;
}

static void times_of(const tnd_run_view_t *view, uint64_t seconds, const tnd_seen_t *who,
                     tnd_times_t *times)
{
    if (seconds > 0)
        tnd_seen_history(who, seconds, times);
    else
        tnd_run_view_times(view, who, times);
}

static bool both_wait(const tnd_run_view_t *view, uint64_t seconds, const tnd_slow_link_t *link)
{
    tnd_times_t out, in;
    double whole = seconds > 0 ? (double)seconds * 1e9 : (double)tnd_run_view_window(view);
    times_of(view, seconds, &link->from, &out);
    times_of(view, seconds, &link->to, &in);
    return (double)(out.wait_credit + out.wait_in) >= waits * whole &&
           (double)(in.wait_in + in.wait_order) >= waits * whole;
}

/*  For how long both ends have waited for it without progress; 0: they do not.  What is on the way is
 *  not known if connections were lost. */
static uint64_t silent_for(const tnd_run_view_t *view, const tnd_slow_link_t *link)
{
    bool wait = (tnd_seen_wait(&link->from) & (TND_WAIT_INPUT | TND_WAIT_CREDIT)) != 0 &&
                (tnd_seen_wait(&link->to) & (TND_WAIT_INPUT | TND_WAIT_ORDER)) != 0;
    if (!wait || link->from.page->lost + link->to.page->lost > 0)
        return 0;
    uint64_t out = tnd_seen_since(view, &link->from), in = tnd_seen_since(view, &link->to);
    return out < in ? out : in;
}

/*  The bytes per second that arrive, by the rate of the rows that are made of them: of a large block, few
 *  looks see one arrive. */
static double rate_of(const tnd_run_view_t *view, double rows_per_second,
                      const tnd_slow_link_t *link)
{
    tnd_seen_t who;
    double bytes = 0, rows = 0;
    TND_EACH_ACTOR(view, who)
    {
        bool feeds = tnd_seen_has_role(&who, TND_ROLE_FEEDER);
        bytes += tnd_seen_are_of(who.page, link->to.page) ? (double)who.page->bytes_in : 0;
        rows += feeds && who.page->chain == link->to.page->chain ? (double)who.page->rows_out : 0;
    }
    return rows > 0 ? rows_per_second * bytes / rows : 0;
}

/*  The rows per second that the actor at its end made in the last seconds. */
static double rate_of_history(uint64_t seconds, const tnd_slow_link_t *link)
{
    uint64_t rows = 0;
    for (uint64_t age = 0; age < seconds; age++)
        rows += tnd_seen_second(&link->to, age)->rows;
    const tnd_statistics_t *page = link->to.page;
    double bytes = page->rows_in > 0 ? (double)page->bytes_in / (double)page->rows_in : 0;
    return bytes * (double)rows / (double)seconds;
}

/*  Whether both ends wait at this moment, and did in the last seconds, in which a block arrived now and
 *  then. */
static bool was_slow(const tnd_run_view_t *view, tnd_slow_link_t *link)
{
    uint64_t out = tnd_seen_seconds(&link->from), in = tnd_seen_seconds(&link->to);
    uint64_t seconds = in < out ? in : out;
    seconds = seconds < JUDGED_SECONDS ? seconds : JUDGED_SECONDS;
    if (seconds == 0 || silent_for(view, link) == 0 || !both_wait(view, seconds, link))
        return false;
    link->rate = rate_of_history(seconds, link);
    return link->on_the_way > 0 && link->on_the_way >= delay_s * link->rate;
}

/*  Fills all but the ends of a connection.  Returns whether both ends wait for it. */
static bool is_awaited(const tnd_run_view_t *view, uint64_t seconds, double rows_per_second,
                       tnd_slow_link_t *link)
{
    if (!may_be_slow(view, &link->from, &link->to))
        return false;
    link->rate = rate_of(view, rows_per_second, link);
    link->on_the_way = bytes_on_the_way(view, link->from.page, link->to.page);
    link->silent_ns = silent_for(view, link);
    link->slow = link->on_the_way > 0 && link->silent_ns >= silent_ns;
    if (link->slow)
        return true;
    link->silent_ns = 0;
    if (link->rate <= 0)
        return link->slow = was_slow(view, link);
    link->slow = link->on_the_way >= delay_s * link->rate;
    return both_wait(view, seconds, link);
}

bool tnd_slow_link_find(const tnd_run_view_t *view, uint64_t seconds, double rows_per_second,
                        tnd_slow_link_t *link)
{
    tnd_seen_t from;
    *link = (tnd_slow_link_t){.slow = false};
    TND_EACH_ACTOR(view, from)
    for (uint32_t i = 0; i < from.page->peer_count && !link->slow; i++) {
        tnd_slow_link_t seen = {from, tnd_run_view_instance(view, from.page->peers[i]), 0, 0, 0, 0};
        if (!from.page->upstream[i] && seen.to.page != NULL &&
            is_awaited(view, seconds, rows_per_second, &seen) &&
            (seen.slow || link->from.page == NULL))
            *link = seen;
    }
    return link->from.page != NULL;
}

void tnd_slow_link_say(const tnd_run_view_t *view, const tnd_slow_link_t *link,
                       tnd_verdict_t *verdict)
{
    char from[128], to[128], time[24];
    tnd_verdict_say(verdict, "; the connection from %s to %s limits it: ",
                    tnd_seen_name(view, &link->from, from), tnd_seen_name(view, &link->to, to));
    if (link->silent_ns > 0)
        tnd_verdict_say(verdict, "nothing has arrived for %s",
                        tnd_duration_text(link->silent_ns, time));
    else
        tnd_verdict_say(verdict, "both wait for it");
}

void tnd_slow_link_add(const tnd_slow_link_t *link, tnd_verdict_t *verdict)
{
    const tnd_seen_t *from = &link->from, *to = &link->to;
    tnd_fault_t fault;
    tnd_fault_words_t words = {.used = 0};
    char time[24];
    tnd_fault_of(&fault, TND_CAUSE_LINK, from, NULL);
    fault.since_ns = link->silent_ns;
    if (link->silent_ns > 0)
        tnd_fault_word(&words, "how", "nothing has arrived for %s, %.2f MB are on the way",
                       tnd_duration_text(link->silent_ns, time), link->on_the_way * 1e-6);
    else if (link->rate <= 0)
        tnd_fault_word(&words, "how", "both ends wait for it, and %.2f MB are on the way",
                       link->on_the_way * 1e-6);
    else
        tnd_fault_word(&words, "how", "%.2f MB/s, and both ends wait for it", link->rate * 1e-6);
    tnd_fault_word(&words, "to", "%s", to->page->actor);
    tnd_fault_word(&words, "there", "%s", to->process->host);
    tnd_fault_say(&fault, &words);
    snprintf(fault.evidence, sizeof fault.evidence,
             "%" PRIu64 " connections lost, %" PRIu64 " tickets issued again",
             from->page->lost + to->page->lost, from->page->again + to->page->again);
    tnd_verdict_add(verdict, &fault);
    tnd_verdict_limit(verdict, TND_BOUND_LINK, from, NULL, 1);
}
