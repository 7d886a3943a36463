/*  tools/report/bottleneck.c - judges a run by two inspections. */
#include "tools/report/bottleneck.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "tools/report/run_faults.h"
#include "tools/report/run_limit.h"
#include "tools/report/run_rate.h"
#include "tools/report/run_view.h"
#include "tools/report/wait_chain.h"

/*  Whether no process of the run is alive. */
static bool is_dead(const tnd_run_view_t *view)
{
    for (uint32_t p = 0; p < view->after->count; p++)
        if (tnd_run_view_has(view, &view->after->processes[p]) && !view->after->processes[p].killed)
            return false;
    return true;
}

/*  The feeders of a chain in the plan; 0: it is not known. */
static uint64_t count_feeders(const tnd_run_view_t *view, uint64_t chain)
{
    uint64_t count = 0;
    for (uint32_t i = 0; view->record != NULL && i < view->record->shape.actors; i++)
        count += view->record->instances[i].role == TND_ROLE_FEEDER &&
                 view->record->instances[i].chain == chain;
    return count;
}

/*  The steps that all feeders of a chain have done; 0: not all of them are seen. */
static uint64_t steps_done(const tnd_run_view_t *view, uint64_t chain)
{
    tnd_seen_t who;
    uint64_t feeders = 0, least = UINT64_MAX;
    TND_EACH_ACTOR(view, who)
    {
        if (!tnd_seen_has_role(&who, TND_ROLE_FEEDER) || who.page->chain != chain)
            continue;
        uint64_t steps = who.page->blocks_out > 0 ? who.page->step + 1 : 0;
        feeders++;
        least = steps < least ? steps : least;
    }
    return feeders > 0 && feeders >= count_feeders(view, chain) ? least : 0;
}

/*  The last committed step, and the last checkpoint.  The page of the leader is written once a second,
 *  those of the feeders at each step. */
static void say_last_step(const tnd_run_view_t *view, tnd_verdict_t *verdict)
{
    const tnd_run_page_t *page = view->record != NULL ? view->record->page : NULL;
    tnd_seen_t who;
    uint64_t steps = 0;
    if (page != NULL && page->state != 0) {
        uint64_t done = steps_done(view, page->chain);
        steps = done > page->step ? done : page->step;
    } else {
        TND_EACH_ACTOR(view, who)
        if (tnd_seen_has_role(&who, TND_ROLE_FEEDER) && who.page->blocks_out > 0 &&
            who.page->step >= steps)
            steps = who.page->step + 1;
    }
    if (steps > 0)
        tnd_verdict_say(verdict, "; the last committed step is %" PRIu64, steps - 1);
    else
        tnd_verdict_say(verdict, "; no step was committed");
    if (page != NULL && page->checkpoint_step > 0)
        tnd_verdict_say(verdict, ", the last checkpoint is after step %" PRIu64,
                        page->checkpoint_step - 1);
}

/*  What a killed run did last. */
static void describe_death(const tnd_run_view_t *view, tnd_verdict_t *verdict)
{
    const tnd_inspected_t *last = view->of;
    tnd_seen_t who;
    char time[24], death[64];
    for (uint32_t p = 0; p < view->after->count; p++) {
        const tnd_inspected_t *other = &view->after->processes[p];
        if (tnd_run_view_has(view, other) && other->last_ns > last->last_ns)
            last = other;
    }
    uint64_t now = view->after->now_ns;
    tnd_duration_text(now > last->last_ns ? now - last->last_ns : 0, time);
    tnd_verdict_say(verdict, "%s was %s %s ago: host %s, process %d", verdict->run,
                    tnd_death_text(last, death), time, last->host, last->process);
    say_last_step(view, verdict);
    verdict->process = last->process;
    snprintf(verdict->host, sizeof verdict->host, "%s", last->host);
    TND_EACH_ACTOR(view, who)
    {
        if (verdict->hop_count == TND_VERDICT_HOPS)
            break;
        tnd_hop_t *hop = &verdict->hops[verdict->hop_count++];
        *hop = (tnd_hop_t){.since_ns = tnd_seen_since(view, &who)};
        snprintf(hop->actor, sizeof hop->actor, "%s", who.page->actor);
        snprintf(hop->host, sizeof hop->host, "%s", who.process->host);
        if (tnd_seen_state(&who) == TND_STATE_WAITING)
            hop->waits = (uint32_t)(who.page->state >> 8);
    }
}

/*  The highest code of its faults, of which those that stop rows count only if no row is fed. */
static tnd_run_state_t state_of(const tnd_verdict_t *verdict)
{
    int state = verdict->flows ? TND_RUN_FLOWS : TND_RUN_STALLED;
    for (uint32_t i = 0; i < verdict->fault_count; i++) {
        int code = tnd_cause(verdict->faults[i].cause)->code;
        code = verdict->flows && code > TND_RUN_SLOW ? TND_RUN_SLOW : code;
        state = code > state ? code : state;
    }
    return (tnd_run_state_t)state;
}

/*  A pause is on request, so what waits for it is not judged. */
static bool is_paused(const tnd_run_view_t *view, tnd_verdict_t *verdict)
{
    char by[32], time[24];
    const tnd_run_page_t *page = view->record != NULL ? view->record->page : NULL;
    if (page == NULL || page->state == 0 || !tnd_run_page_paused(page, by))
        return false;
    uint64_t now = view->after->now_ns, since = page->paused_ns;
    tnd_duration_text(now > since ? now - since : 0, time);
    tnd_verdict_say(verdict, "%s was paused by %s %s ago", verdict->run, by, time);
    if (page->paused_step == TND_UNKNOWN)
        tnd_verdict_say(verdict, ", but not all feeders have stopped");
    else
        tnd_verdict_say(verdict, ", before step %" PRIu64, page->paused_step);
    tnd_verdict_say(verdict, "; `tundish resume %s` continues it", verdict->word);
    uint32_t kept = 0;
    for (uint32_t f = 0; f < verdict->fault_count; f++)
        if ((tnd_cause(verdict->faults[f].cause)->traits & TND_CAUSE_IN_PAUSE) != 0)
            verdict->faults[kept++] = verdict->faults[f];
    verdict->fault_count = kept;
    return true;
}

/*  Models are evaluated on another chain while the first one rests. */
static void say_chain(const tnd_run_view_t *view, tnd_verdict_t *verdict)
{
    const tnd_run_page_t *page = view->record != NULL ? view->record->page : NULL;
    if (page != NULL && page->state != 0 && page->chain > 0 && page->chain < page->chain_count &&
        page->chain < TND_PAGE_CHAINS)
        tnd_verdict_say(verdict, " in %s, while %s rests", page->chains[page->chain],
                        page->chains[0]);
}

void tnd_bottleneck_judge(const tnd_inspection_t *before, const tnd_inspection_t *after,
                          const tnd_inspected_t *process, tnd_verdict_t *verdict)
{
    tnd_run_view_t view = tnd_run_view(before, after, process);
    *verdict = (tnd_verdict_t){.flows = false};
    snprintf(verdict->run, sizeof verdict->run, "%s", process->run);
    (void)tnd_run_word(after, process, verdict->word);
    tnd_run_faults_find(&view, verdict);
    if (is_dead(&view)) {
        describe_death(&view, verdict);
        verdict->state = TND_RUN_KILLED;
        return;
    }
    if (is_paused(&view, verdict)) {
        verdict->state = TND_RUN_STALLED;
        return;
    }
    verdict->flows = tnd_run_rate(&view, &verdict->rows_per_second);
    if (verdict->flows) {
        tnd_verdict_say(verdict, "%s flows, %.0f rows/s", verdict->run, verdict->rows_per_second);
        say_chain(&view, verdict);
        tnd_run_limit_find(&view, verdict);
    } else {
        tnd_chain_end_t end = tnd_wait_chain_follow(&view, verdict);
        tnd_run_limit_find_stalled(&view, end, verdict);
        tnd_run_faults_find_left_out(&view, verdict);
    }
    verdict->state = state_of(verdict);
}
