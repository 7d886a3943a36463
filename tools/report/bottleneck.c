/*  tools/report/bottleneck.c - finds the actor that limits a run, or that all others wait for. */
#include "tools/report/bottleneck.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "runtime/core/protocol/effect.h"

/*  The longest path; a longer one would be a cycle. */
enum { WAY_MAX = 32 };

/*  If nothing has moved for this time, it is a fault and not a moment between two steps. */
static const uint64_t still_ns = 5000000000;

typedef struct {
    const tnd_inspected_t *process;
    const tnd_statistics_t *page; /* NULL: none */
} who_t;

typedef struct {
    const tnd_inspection_t *before, *after;
    const tnd_inspected_t *of; /* the run of this process */
    bool several;              /* the run has several hosts, which are named */
    tnd_verdict_t *verdict;
    who_t way[WAY_MAX];
    uint32_t length;
} walk_t;

/* --- the actors ------------------------------------------------------------------------------- */

static bool is_of(const walk_t *walk, const tnd_inspected_t *process)
{
    return !process->killed && tnd_inspected_same(process, walk->of);
}

/*  Calls `visit` for every actor of the run. */
#define EACH_ACTOR(walk, who)                                                                      \
    for (uint32_t p_ = 0; p_ < (walk)->after->count; p_++)                                         \
        for (uint32_t a_ = 0; is_of(walk, &(walk)->after->processes[p_]) &&                        \
                              a_ < (walk)->after->processes[p_].count &&                           \
                              ((who) = (who_t){&(walk)->after->processes[p_],                      \
                                               &(walk)->after->processes[p_].actors[a_]},          \
                              true);                                                               \
             a_++)

static tnd_state_t state_of(const tnd_statistics_t *page)
{
    return (tnd_state_t)(page->state & 0xff);
}

static bool has_role(const who_t *who, tnd_role_t role)
{
    return who->page->role == role;
}

/*  The most important reason that it waits for, as a bit; 0: it does not wait. */
static uint32_t foremost(const tnd_statistics_t *page)
{
    uint32_t waits = state_of(page) == TND_STATE_WAITING ? (uint32_t)(page->state >> 8) : 0;
    return waits != 0 ? 1u << tnd_wait_foremost(waits) : 0;
}

static uint64_t since_of(const walk_t *walk, const tnd_statistics_t *page)
{
    uint64_t since = state_of(page) == TND_STATE_WAITING ? page->waiting_ns : page->since_ns;
    return since != 0 && walk->after->now_ns > since ? walk->after->now_ns - since : 0;
}

/*  The device thread that has been in its step longest; NULL: none. */
static const tnd_device_page_t *stepping(const tnd_statistics_t *page)
{
    const tnd_device_page_t *found = NULL;
    for (uint32_t d = 0; d < page->device_count; d++) {
        const tnd_device_page_t *device = &page->devices[d];
        unsigned state = device->state & 0xff;
        if ((state == TND_DEVICE_STEP || state == TND_DEVICE_APPLY) &&
            (found == NULL || device->since_ns < found->since_ns))
            found = device;
    }
    return found;
}

static bool is_reducing(const tnd_statistics_t *page)
{
    for (uint32_t d = 0; d < page->device_count; d++)
        if ((page->devices[d].state & 0xff) == TND_DEVICE_REDUCE)
            return true;
    return false;
}

/*  How likely other actors wait for this one. */
static int weight_of(const who_t *who)
{
    if (who->process->stopped)
        return 4;
    if (state_of(who->page) == TND_STATE_WORKING || stepping(who->page) != NULL)
        return 3;
    uint32_t waits = foremost(who->page);
    if (has_role(who, TND_ROLE_FEEDER) && who->page->credit == 0)
        return 2;
    return waits != TND_WAIT_INPUT && waits != TND_WAIT_ENDED ? 1 : 0;
}

static void prefer(who_t *best, const who_t *who)
{
    if (best->page == NULL || weight_of(who) > weight_of(best))
        *best = *who;
}

/*  The peer on that side that is most likely waited for. */
static who_t best_peer(const walk_t *walk, const tnd_statistics_t *page, bool upstream)
{
    who_t best = {NULL, NULL}, who;
    for (uint32_t i = 0; i < page->peer_count; i++) {
        if (page->upstream[i] != upstream)
            continue;
        EACH_ACTOR(walk, who)
        if (who.page->instance == page->peers[i] && !has_role(&who, TND_ROLE_REDUCER) &&
            !has_role(&who, TND_ROLE_OBSERVER))
            prefer(&best, &who);
    }
    return best;
}

/*  Same, among the other actors of a role in its chain. */
static who_t best_other(const walk_t *walk, const tnd_statistics_t *page, tnd_role_t role)
{
    who_t best = {NULL, NULL}, who;
    EACH_ACTOR(walk, who)
    if (has_role(&who, role) && who.page->chain == page->chain &&
        who.page->instance != page->instance)
        prefer(&best, &who);
    return best;
}

static const char *reducer_of(const walk_t *walk, const tnd_statistics_t *page)
{
    who_t who;
    for (uint32_t i = 0; i < page->peer_count; i++) {
        EACH_ACTOR(walk, who)
        if (who.page->instance == page->peers[i] && has_role(&who, TND_ROLE_REDUCER))
            return who.page->actor;
    }
    return NULL;
}

/* --- the sentence ----------------------------------------------------------------------------- */

static void say(walk_t *walk, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void say(walk_t *walk, const char *format, ...)
{
    char *sentence = walk->verdict->sentence;
    size_t used = strlen(sentence), room = sizeof walk->verdict->sentence - used;
    va_list list;
    va_start(list, format);
    vsnprintf(sentence + used, room, format, list);
    va_end(list);
}

static void say_name(walk_t *walk, const who_t *who)
{
    say(walk, "%s", who->page->actor);
    if (walk->several)
        say(walk, " on host %s", who->process->host);
}

static void say_time(walk_t *walk, uint64_t ns)
{
    double seconds = (double)ns * 1e-9;
    if (seconds < 10)
        say(walk, "%.1f s", seconds);
    else if (seconds < 120)
        say(walk, "%.0f s", seconds);
    else
        say(walk, "%.0f min", seconds / 60);
}

static void name_bottleneck(walk_t *walk, const who_t *who, const tnd_device_page_t *device)
{
    tnd_verdict_t *verdict = walk->verdict;
    snprintf(verdict->actor, sizeof verdict->actor, "%s", who->page->actor);
    snprintf(verdict->host, sizeof verdict->host, "%s", who->process->host);
    verdict->process = who->process->process;
    if (device != NULL)
        snprintf(verdict->device, sizeof verdict->device, "%s", device->name);
}

/* --- the way ---------------------------------------------------------------------------------- */

static void name_device(walk_t *walk, const who_t *who, const tnd_device_page_t *device)
{
    say(walk, " waits for replica %" PRIu64, device->state >> 8);
    if (walk->several)
        say(walk, " on host %s", who->process->host);
    say(walk, " (%s), whose step %" PRIu64 " has been running for ", device->name, device->step);
    uint64_t now = walk->after->now_ns;
    say_time(walk, now > device->since_ns ? now - device->since_ns : 0);
    name_bottleneck(walk, who, device);
}

/*  The actor that a feeder with a step in progress waits for, if any. */
static who_t from_step(walk_t *walk, const who_t *who)
{
    who_t none = {NULL, NULL}, other;
    const tnd_device_page_t *device = stepping(who->page);
    if (device != NULL) {
        name_device(walk, who, device);
        return none;
    }
    if (!is_reducing(who->page)) {
        say(walk, " waits for its program, which has not asked for the next step for ");
        say_time(walk, since_of(walk, who->page));
        name_bottleneck(walk, who, NULL);
        return none;
    }
    other = best_other(walk, who->page, TND_ROLE_FEEDER);
    const char *reducer = reducer_of(walk, who->page);
    if (other.page != NULL && reducer != NULL)
        say(walk, " waits for %s, which", reducer);
    if (other.page == NULL) {
        say(walk, " waits for replicas of %s, which do not run on this machine",
            reducer != NULL ? reducer : "others");
        return none;
    }
    device = stepping(other.page);
    if (device != NULL && !other.process->stopped) {
        name_device(walk, &other, device);
        return none;
    }
    return other;
}

static who_t from_batcher(walk_t *walk, const who_t *who, uint32_t waits)
{
    if (waits == TND_WAIT_MARK)
        return best_other(walk, who->page, TND_ROLE_JOIN);
    return best_peer(walk, who->page, waits != TND_WAIT_WINDOW);
}

/*  The actor that this one waits for; none: the sentence is complete. */
static who_t next_of(walk_t *walk, const who_t *who)
{
    who_t next = {NULL, NULL};
    uint32_t waits = foremost(who->page);
    if (waits == TND_WAIT_LEADER || waits == TND_WAIT_ENDED) {
        say(walk, waits == TND_WAIT_LEADER ? " waits for the leader" : " has done its part");
        return next;
    }
    if (has_role(who, TND_ROLE_FEEDER) && (waits == TND_WAIT_STEP || waits == TND_WAIT_REDUCE))
        return from_step(walk, who);
    if (has_role(who, TND_ROLE_JOIN))
        next = from_batcher(walk, who, waits);
    else if ((has_role(who, TND_ROLE_READER) ||
              (has_role(who, TND_ROLE_CACHE) && who->page->queue == 0)) &&
             waits == TND_WAIT_INPUT)
        next = best_other(walk, who->page, TND_ROLE_JOIN); /* the source of its tickets */
    else
        next = best_peer(walk, who->page, waits != TND_WAIT_CREDIT);
    if (next.page == NULL)
        say(walk, " waits for %s of an actor that does not run on this machine",
            waits != 0 ? tnd_wait_name((unsigned)__builtin_ctz(waits)) : "word");
    return next;
}

/*  Whether this actor does not wait; the sentence is then complete. */
static bool is_bottleneck(walk_t *walk, const who_t *who)
{
    if (who->process->stopped) {
        say(walk, ", whose process %d is stopped; kill -CONT %d continues it",
            who->process->process, who->process->process);
    } else if (state_of(who->page) == TND_STATE_FAILED || state_of(who->page) == TND_STATE_ENDED) {
        say(walk, ", which has %s", state_of(who->page) == TND_STATE_FAILED ? "failed" : "ended");
    } else if (foremost(who->page) == 0) {
        say(walk, ", which has been %s for ",
            state_of(who->page) == TND_STATE_WORKING ? "inside one call of its work" : "busy");
        say_time(walk, since_of(walk, who->page));
    } else {
        return false;
    }
    name_bottleneck(walk, who, NULL);
    return true;
}

static bool was_here(const walk_t *walk, const who_t *who)
{
    for (uint32_t i = 0; i < walk->length; i++)
        if (walk->way[i].page == who->page)
            return true;
    return false;
}

static void come_round(walk_t *walk)
{
    uint64_t least = UINT64_MAX;
    for (uint32_t i = 0; i < walk->length; i++) {
        uint64_t since = since_of(walk, walk->way[i].page);
        least = since < least ? since : least;
    }
    if (least < still_ns)
        say(walk, ": no actor was working at this moment; try again");
    else
        say(walk, ": no actor is working, which is a bug in tundish; please report it with the "
                  "output of `tundish ps --json`");
}

static void follow(walk_t *walk, who_t who)
{
    say_name(walk, &who);
    if (is_bottleneck(walk, &who))
        return;
    while (walk->length < WAY_MAX) {
        walk->way[walk->length++] = who;
        who = next_of(walk, &who);
        if (who.page == NULL)
            return;
        say(walk, " waits for ");
        say_name(walk, &who);
        if (is_bottleneck(walk, &who))
            return;
        if (was_here(walk, &who)) {
            come_round(walk);
            return;
        }
        say(walk, ", which");
    }
}

/* --- a run that flows ------------------------------------------------------------------------- */

static double rate_of(const walk_t *walk)
{
    who_t who;
    double rows = 0, seconds = (double)(walk->after->now_ns - walk->before->now_ns) * 1e-9;
    EACH_ACTOR(walk, who)
    {
        const tnd_statistics_t *old =
            tnd_inspection_find(walk->before, who.process, who.page->actor);
        if (has_role(&who, TND_ROLE_FEEDER) && old != NULL && who.page->rows_out > old->rows_out)
            rows += (double)(who.page->rows_out - old->rows_out);
    }
    return seconds > 0 ? rows / seconds : 0;
}

static uint64_t at_work(const tnd_statistics_t *page, uint64_t now)
{
    tnd_times_t times;
    tnd_statistics_times(page, now, &times);
    return times.cpu + times.wait_io;
}

static uint64_t in_step(const tnd_device_page_t *device, uint64_t now)
{
    uint64_t spent = device->spent_ns[TND_DEVICE_STEP] + device->spent_ns[TND_DEVICE_APPLY];
    unsigned state = device->state & 0xff;
    if ((state == TND_DEVICE_STEP || state == TND_DEVICE_APPLY) && now > device->since_ns)
        spent += now - device->since_ns;
    return spent;
}

static void find_limit(walk_t *walk)
{
    who_t who, limit = {NULL, NULL};
    const tnd_device_page_t *device = NULL;
    uint64_t most = 0, whole = walk->after->now_ns - walk->before->now_ns;
    EACH_ACTOR(walk, who)
    {
        const tnd_statistics_t *old =
            tnd_inspection_find(walk->before, who.process, who.page->actor);
        if (old == NULL)
            continue;
        uint64_t was = at_work(old, walk->before->now_ns);
        uint64_t is = at_work(who.page, walk->after->now_ns);
        if (is > was && is - was > most) {
            most = is - was;
            limit = who;
            device = NULL;
        }
        for (uint32_t d = 0; d < who.page->device_count && d < old->device_count; d++) {
            was = in_step(&old->devices[d], walk->before->now_ns);
            is = in_step(&who.page->devices[d], walk->after->now_ns);
            if (is > was && is - was > most) {
                most = is - was;
                limit = who;
                device = &who.page->devices[d];
            }
        }
    }
    say(walk, "%s flows, %.0f rows/s", walk->of->run, walk->verdict->rows_per_second);
    if (limit.page == NULL)
        return;
    say(walk, device != NULL ? "; busiest is the step of " : "; busiest is ");
    say_name(walk, &limit);
    if (device != NULL)
        say(walk, " (%s)", device->name);
    say(walk, ", at work %.0f %% of the time",
        most < whole ? 100 * (double)most / (double)whole : 100.0);
    name_bottleneck(walk, &limit, device);
}

/* --- the judgement ---------------------------------------------------------------------------- */

/*  The start of the path: a feeder whose chain runs, preferably one that no other waits for. */
static who_t begin_at(const walk_t *walk)
{
    who_t who, best = {NULL, NULL};
    EACH_ACTOR(walk, who)
    {
        uint32_t waits = foremost(who.page);
        bool idle = waits == TND_WAIT_LEADER || waits == TND_WAIT_ENDED ||
                    state_of(who.page) == TND_STATE_ENDED;
        if (has_role(&who, TND_ROLE_FEEDER) && !idle &&
            (best.page == NULL || (stepping(best.page) != NULL && is_reducing(who.page))))
            best = who;
    }
    return best;
}

void tnd_bottleneck_judge(const tnd_inspection_t *before, const tnd_inspection_t *after,
                          const tnd_inspected_t *process, tnd_verdict_t *verdict)
{
    walk_t walk = {.before = before, .after = after, .of = process, .verdict = verdict};
    *verdict = (tnd_verdict_t){.flows = false};
    snprintf(verdict->run, sizeof verdict->run, "%s", process->run);
    uint32_t processes = 0;
    who_t who, any = {NULL, NULL};
    for (uint32_t p = 0; p < after->count; p++)
        processes += is_of(&walk, &after->processes[p]);
    walk.several = processes > 1;
    verdict->rows_per_second = rate_of(&walk);
    verdict->flows = verdict->rows_per_second > 0;
    if (verdict->flows) {
        find_limit(&walk);
        return;
    }
    who = begin_at(&walk);
    if (who.page != NULL) {
        follow(&walk, who);
        return;
    }
    EACH_ACTOR(&walk, who)
    if (who.process->stopped || state_of(who.page) == TND_STATE_WORKING)
        prefer(&any, &who);
    say(&walk, "%s begins, or ends: ", process->run);
    if (any.page == NULL) {
        say(&walk, "its actors here wait for the leader");
        return;
    }
    say_name(&walk, &any);
    (void)is_bottleneck(&walk, &any);
}
