/*  tools/report/wait_chain.c - follows the waits of a run from a feeder to the actor that all others
 *  wait for. */
#include "tools/report/wait_chain.h"

#include <inttypes.h>
#include <string.h>

#include "runtime/core/protocol/effect.h"
#include "tools/report/long_call.h"
#include "tools/report/slow_link.h"

/*  If nothing has moved for this time, it is a fault and not a moment between two steps. */
static const uint64_t still_ns = 5000000000;

/*  The longest call that is not called a hang. */
static const uint64_t long_call_ns = 1000000000;

/*  A shorter one may only be what a message or a timer woke it for. */
static const uint64_t brief_ns = 20000000;

enum {
    IN_STEP = 1 << TND_DEVICE_STEP | 1 << TND_DEVICE_APPLY,
    IN_SAVE = 1 << TND_DEVICE_KEEP,
    IN_REDUCE = 1 << TND_DEVICE_REDUCE
};

typedef struct {
    const tnd_run_view_t *view;
    tnd_verdict_t *verdict;
    const tnd_statistics_t *way[TND_VERDICT_HOPS];
    tnd_chain_end_t end;
} walk_t;

/* --- the actors ------------------------------------------------------------------------------- */

/*  Waits for what is downstream, or for other lanes: such an actor has what it needs from upstream. */
enum {
    DOWNSTREAM = TND_WAIT_WINDOW | TND_WAIT_CREDIT | TND_WAIT_MARK | TND_WAIT_STEP | TND_WAIT_REDUCE
};

/*  How likely an actor downstream of this one, or upstream, waits for it. */
static int weight_of(const tnd_seen_t *who, bool upstream)
{
    if (!tnd_seen_runs(who))
        return 4;
    if (tnd_seen_state(who) == TND_STATE_WORKING || tnd_seen_device(who, IN_STEP | IN_SAVE) != NULL)
        return 3;
    uint32_t waits = tnd_seen_wait(who);
    if (tnd_seen_has_role(who, TND_ROLE_FEEDER) && who->page->credit == 0)
        return 2;
    uint32_t idle = TND_WAIT_ENDED | (upstream ? DOWNSTREAM : TND_WAIT_INPUT);
    return (waits & idle) == 0 ? 1 : 0;
}

static void prefer(tnd_seen_t *best, const tnd_seen_t *who, bool upstream)
{
    if (best->page == NULL || weight_of(who, upstream) > weight_of(best, upstream))
        *best = *who;
}

/*  The peer on that side that is most likely waited for. */
static tnd_seen_t best_peer(const walk_t *walk, const tnd_statistics_t *page, bool upstream)
{
    tnd_seen_t best = {NULL, NULL};
    for (uint32_t i = 0; i < page->peer_count; i++) {
        if (page->upstream[i] != upstream)
            continue;
        tnd_seen_t who = tnd_run_view_instance(walk->view, page->peers[i]);
        if (who.page != NULL && !tnd_seen_has_role(&who, TND_ROLE_REDUCER) &&
            !tnd_seen_has_role(&who, TND_ROLE_OBSERVER))
            prefer(&best, &who, upstream);
    }
    return best;
}

/*  The actor of a role in the chain of `page` that is most likely waited for, other than its peers. */
static tnd_seen_t best_other(const walk_t *walk, const tnd_statistics_t *page, tnd_role_t role)
{
    tnd_seen_t best = {NULL, NULL}, who;
    TND_EACH_ACTOR(walk->view, who)
    if (tnd_seen_has_role(&who, role) && who.page->chain == page->chain &&
        who.page->instance != page->instance)
        prefer(&best, &who, role == TND_ROLE_JOIN);
    return best;
}

static tnd_seen_t reducer_of(const walk_t *walk, const tnd_statistics_t *page)
{
    tnd_seen_t found = {NULL, NULL};
    for (uint32_t i = 0; i < page->peer_count; i++) {
        tnd_seen_t who = tnd_run_view_instance(walk->view, page->peers[i]);
        if (who.page != NULL && tnd_seen_has_role(&who, TND_ROLE_REDUCER))
            prefer(&found, &who, false);
    }
    return found;
}

/* --- the sentence ----------------------------------------------------------------------------- */

static void say_host(const walk_t *walk, const tnd_seen_t *who)
{
    if (walk->view->processes > 1)
        tnd_verdict_say(walk->verdict, " on host %s", who->process->host);
}

static void say_name(const walk_t *walk, const tnd_seen_t *who)
{
    char name[128];
    tnd_verdict_say(walk->verdict, "%s", tnd_seen_name(walk->view, who, name));
}

static void name_end(const walk_t *walk, const tnd_seen_t *who, const tnd_device_page_t *device)
{
    tnd_verdict_t *verdict = walk->verdict;
    snprintf(verdict->actor, sizeof verdict->actor, "%s", who->page->actor);
    snprintf(verdict->host, sizeof verdict->host, "%s", who->process->host);
    verdict->process = who->process->process;
    if (device != NULL)
        snprintf(verdict->device, sizeof verdict->device, "%s", device->name);
}

/* --- faults ----------------------------------------------------------------------------------- */

/*  The names of the actors of a process, as far as they started. */
static void list_actors(const tnd_inspected_t *process, char *text, size_t room)
{
    size_t used = 0;
    text[0] = '\0';
    for (uint32_t a = 0; a < process->count && used < room; a++)
        used += (size_t)snprintf(text + used, room - used, "%s%s", a > 0 ? ", " : "",
                                 process->actors[a].actor);
}

const char *tnd_restarts_text(const tnd_host_record_t *host, char *text, size_t room)
{
    uint64_t count = host->restarts;
    if (count == 0)
        snprintf(text, room, "it has not been restarted (at most %" PRIu32 " times)",
                 host->restarts_max);
    else
        snprintf(text, room, "it was restarted %" PRIu64 " time%s (at most %" PRIu32 ")", count,
                 count == 1 ? "" : "s", host->restarts_max);
    return text;
}

/*  How often the host was started again, as far as the leader knows. */
static void describe_restarts(const tnd_run_view_t *view, const char *host, tnd_fault_t *fault)
{
    for (uint32_t h = 0; view->record != NULL && h < view->record->shape.hosts; h++) {
        const tnd_host_record_t *record = &view->record->hosts[h];
        if (strcmp(record->name, host) != 0 || record->restarts_max == 0)
            continue;
        tnd_restarts_text(record, fault->evidence, sizeof fault->evidence);
    }
}

/*  Nothing is heard of a process on another machine.  The leader knows whether it is lost. */
static void describe_silence(tnd_fault_t *fault, const tnd_run_view_t *view,
                             const tnd_inspected_t *process)
{
    char actors[200];
    tnd_fault_words_t words = {.used = 0};
    uint64_t now = view->after->now_ns;
    fault->since_ns = now > process->silent_ns ? now - process->silent_ns : 0;
    list_actors(process, actors, sizeof actors);
    tnd_fault_word(&words, "actors", "%s%s", process->record.page->host == 0 ? "which leads; " : "",
                   actors);
    tnd_fault_word(&words, "address", "%s", process->machine);
    tnd_fault_word(&words, "how", "silent");
    tnd_fault_word(&words, "what", "process %d", process->process);
    tnd_fault_say(fault, &words);
    for (uint32_t h = 0; view->record != NULL && h < view->record->shape.hosts; h++) {
        const tnd_host_record_t *record = &view->record->hosts[h];
        bool missed =
            record->presence == TND_PRESENCE_AWAY || record->presence == TND_PRESENCE_LOST;
        if (strcmp(record->name, process->host) == 0 && missed)
            snprintf(fault->evidence, sizeof fault->evidence, "for the leader it is %s, %s",
                     record->presence == TND_PRESENCE_AWAY ? "away" : "lost",
                     record->waited_for != 0 ? "and the run waits for it"
                                             : "and the run continues without it");
    }
}

/*  The state of a replica is lost with its process. */
static bool has_replicas(const tnd_inspected_t *process)
{
    for (uint32_t a = 0; a < process->count; a++)
        if (process->actors[a].role == TND_ROLE_FEEDER)
            return true;
    return false;
}

static bool has_checkpoint(const tnd_run_view_t *view)
{
    return view->record != NULL && view->record->page != NULL &&
           view->record->page->checkpoint_step > 0;
}

void tnd_fault_of_process(tnd_fault_t *fault, const tnd_run_view_t *view,
                          const tnd_inspected_t *process)
{
    tnd_seen_t who = {process, process->count == 1 ? process->actors : NULL};
    char actors[200], death[64];
    bool silent = process->silent_ns != 0 && !process->killed && !process->stopped;
    tnd_fault_of(fault,
                 silent            ? TND_CAUSE_AWAY
                 : process->killed ? TND_CAUSE_KILLED
                                   : TND_CAUSE_STOPPED,
                 &who, NULL);
    if (silent) {
        describe_silence(fault, view, process);
        return;
    }
    tnd_fault_words_t words = {.used = 0};
    uint64_t now = view->after->now_ns;
    fault->since_ns = process->last_ns != 0 && now > process->last_ns ? now - process->last_ns : 0;
    list_actors(process, actors, sizeof actors);
    tnd_fault_word(&words, "actors", "%s", actors);
    tnd_fault_word(&words, "death", "%s", tnd_death_text(process, death));
    const tnd_run_page_t *page = process->record.page;
    bool ends = (page != NULL && page->host == 0) || has_replicas(process);
    tnd_fault_word(&words, "it", ends ? "the run" : "it");
    if (!ends)
        tnd_fault_word(&words, "how", " by the same command with --host %s", process->host);
    else if (has_checkpoint(view))
        tnd_fault_word(&words, "how", " with --resume");
    tnd_fault_say(fault, &words);
    if (process->killed && ends)
        strcpy(fault->evidence, "the run ends without it");
    else if (process->killed)
        describe_restarts(view, process->host, fault);
}

/* --- the way ---------------------------------------------------------------------------------- */

void tnd_fault_of_device(tnd_fault_t *fault, const tnd_run_view_t *view, const tnd_seen_t *who,
                         const tnd_device_page_t *device, bool hangs)
{
    bool saves = (device->state & 0xff) == TND_DEVICE_KEEP;
    uint64_t now = view->after->now_ns;
    const tnd_run_page_t *page = who->process->record.page;
    const char *to = page != NULL ? page->checkpoints : "";
    tnd_fault_words_t words = {.used = 0};
    tnd_fault_of(fault,
                 saves   ? TND_CAUSE_SAVES
                 : hangs ? TND_CAUSE_HANGS
                         : TND_CAUSE_WORKS,
                 who, device);
    fault->since_ns = now > device->since_ns ? now - device->since_ns : 0;
    tnd_fault_word(&words, "step", "%" PRIu64, device->step);
    if (to[0] != '\0')
        tnd_fault_word(&words, "to", " to %s", to);
    tnd_fault_word(&words, "who", "step %" PRIu64 " of replica %" PRIu64 " on %s, host %s,",
                   device->step, device->state >> 8, device->name, who->process->host);
    tnd_fault_word(&words, "doing", "running");
    tnd_fault_say(fault, &words);
}

/*  A device thread that works, or has hung. */
static void end_at_device(const walk_t *walk, const tnd_seen_t *who,
                          const tnd_device_page_t *device)
{
    bool saves = (device->state & 0xff) == TND_DEVICE_KEEP;
    uint64_t now = walk->view->after->now_ns;
    uint64_t since = now > device->since_ns ? now - device->since_ns : 0;
    const tnd_run_page_t *page = who->process->record.page;
    const char *to = page != NULL ? page->checkpoints : "";
    char time[24];
    tnd_fault_t fault;
    tnd_duration_text(since, time);
    tnd_verdict_say(walk->verdict, " waits for replica %" PRIu64, device->state >> 8);
    say_host(walk, who);
    if (saves)
        tnd_verdict_say(walk->verdict,
                        " (%s), which has been writing the model of step %" PRIu64 "%s%s for %s",
                        device->name, device->step, to[0] != '\0' ? " to " : "", to, time);
    else
        tnd_verdict_say(walk->verdict, " (%s), whose step %" PRIu64 " has been running for %s",
                        device->name, device->step, time);
    name_end(walk, who, device);
    tnd_fault_of_device(&fault, walk->view, who, device, since > long_call_ns);
    tnd_verdict_add(walk->verdict, &fault);
}

void tnd_fault_of_pending(tnd_fault_t *fault, const tnd_run_view_t *view, const tnd_seen_t *who,
                          const tnd_device_page_t *device, bool hangs)
{
    uint64_t now = view->after->now_ns, since = device->pending_since_ns;
    char what[80];
    tnd_fault_words_t words = {.used = 0};
    tnd_device_pending_text(device, what, sizeof what);
    tnd_fault_of(fault, hangs ? TND_CAUSE_HANGS : TND_CAUSE_WORKS, who, device);
    fault->thread = device->copier;
    fault->since_ns = now > since ? now - since : 0;
    tnd_fault_word(&words, "who", "%s, host %s,", what, who->process->host);
    tnd_fault_word(&words, "doing", "under way");
    tnd_fault_say(fault, &words);
}

/*  A device that copies or computes, or has hung. */
static void end_at_pending(const walk_t *walk, const tnd_seen_t *who,
                           const tnd_device_page_t *device)
{
    uint64_t now = walk->view->after->now_ns;
    uint64_t since = now > device->pending_since_ns ? now - device->pending_since_ns : 0;
    char time[24], what[80];
    tnd_fault_t fault;
    tnd_duration_text(since, time);
    tnd_device_pending_text(device, what, sizeof what);
    tnd_verdict_say(walk->verdict, " waits for %s", what);
    say_host(walk, who);
    tnd_verdict_say(walk->verdict, ", which is not done after %s", time);
    name_end(walk, who, device);
    tnd_fault_of_pending(&fault, walk->view, who, device, since > long_call_ns);
    tnd_verdict_add(walk->verdict, &fault);
}

static void end_at_program(const walk_t *walk, const tnd_seen_t *who)
{
    char time[24];
    tnd_fault_t fault;
    tnd_fault_of(&fault, TND_CAUSE_PROGRAM, who, NULL);
    fault.since_ns = tnd_seen_since(walk->view, who);
    tnd_duration_text(fault.since_ns, time);
    tnd_verdict_say(walk->verdict,
                    " waits for its program, which has not asked for the next step for %s", time);
    tnd_fault_say(&fault, NULL);
    name_end(walk, who, NULL);
    tnd_verdict_add(walk->verdict, &fault);
}

/*  The end of a walk at an actor on another machine. */
static void end_elsewhere(const walk_t *walk, const tnd_seen_t *who, uint32_t instance,
                          const char *what)
{
    const char *name = tnd_run_view_name(walk->view, instance);
    const tnd_host_record_t *host = tnd_run_view_host(walk->view, instance);
    tnd_fault_t fault;
    tnd_fault_words_t words = {.used = 0};
    tnd_fault_of(&fault, TND_CAUSE_UNSEEN, who, NULL);
    tnd_fault_word(&words, "who", "%s", who->page->actor);
    tnd_fault_word(&words, "run", "%s", walk->verdict->run);
    if (name == NULL || host == NULL) {
        tnd_fault_word(&words, "what", "%s of an actor that does not run on this machine", what);
        tnd_fault_word(&words, "where", "the machines of the other hosts");
        tnd_fault_say(&fault, &words);
        tnd_verdict_say(walk->verdict,
                        " waits for %s of an actor that does not run on this machine", what);
        tnd_verdict_add(walk->verdict, &fault);
        return;
    }
    static const char *const presences[TND_PRESENCES] = {
        "not known here", "not started", "connected", "away", "lost", "gone on request"};
    char time[24] = "";
    uint64_t now = walk->view->after->now_ns, since = host->since_ns;
    fault.since_ns = since != 0 && now > since ? now - since : 0;
    snprintf(fault.actor, sizeof fault.actor, "%s", name);
    snprintf(fault.host, sizeof fault.host, "%s", host->name);
    fault.process = (int)host->process;
    fault.thread = 0;
    tnd_duration_text(fault.since_ns, time);
    const char *presence = presences[host->presence < TND_PRESENCES ? host->presence : 0];
    tnd_verdict_say(walk->verdict, " waits for %s on host %s (%s)", name, host->name,
                    host->address);
    tnd_fault_word(&words, "what", "%s on host %s (%s)", name, host->name, host->address);
    tnd_fault_word(&words, "where", "%s", host->address);
    tnd_fault_say(&fault, &words);
    snprintf(fault.evidence, sizeof fault.evidence, "host %s: %s for %s", host->name, presence,
             time);
    snprintf(walk->verdict->actor, sizeof walk->verdict->actor, "%s", name);
    snprintf(walk->verdict->host, sizeof walk->verdict->host, "%s", host->name);
    tnd_verdict_add(walk->verdict, &fault);
}

/*  A peer of `page` on one side that is not on this machine; UINT32_MAX: none. */
static uint32_t absent_peer(const walk_t *walk, const tnd_statistics_t *page, bool upstream)
{
    for (uint32_t i = 0; i < page->peer_count; i++)
        if (page->upstream[i] == upstream &&
            tnd_run_view_instance(walk->view, page->peers[i]).page == NULL)
            return page->peers[i];
    return UINT32_MAX;
}

/*  An absent instance of a role in the chain of `page`. */
static uint32_t absent_other(const walk_t *walk, const tnd_statistics_t *page, tnd_role_t role)
{
    const tnd_run_record_t *record = walk->view->record;
    for (uint32_t i = 0; record != NULL && i < record->shape.actors; i++)
        if (record->instances[i].role == (uint32_t)role &&
            record->instances[i].chain == page->chain && i != page->instance &&
            tnd_run_view_instance(walk->view, i).page == NULL)
            return i;
    return UINT32_MAX;
}

/*  The actor that a feeder with a step in progress waits for, if any. */
static tnd_seen_t from_step(const walk_t *walk, const tnd_seen_t *who)
{
    tnd_seen_t none = {NULL, NULL};
    const tnd_device_page_t *device = tnd_seen_device(who, IN_STEP | IN_SAVE);
    if (device != NULL) {
        end_at_device(walk, who, device);
        return none;
    }
    if (tnd_seen_pending(who) != NULL) {
        end_at_pending(walk, who, tnd_seen_pending(who));
        return none;
    }
    if (tnd_seen_device(who, IN_REDUCE) == NULL) {
        end_at_program(walk, who);
        return none;
    }
    tnd_seen_t reducer = reducer_of(walk, who->page);
    tnd_seen_t other = best_other(walk, who->page, TND_ROLE_FEEDER);
    if (reducer.page != NULL && (!tnd_seen_runs(&reducer) || weight_of(&reducer, false) > 2))
        return reducer;
    if (other.page != NULL && reducer.page != NULL)
        tnd_verdict_say(walk->verdict, " waits for %s, which", reducer.page->actor);
    if (other.page == NULL) {
        uint32_t absent = absent_other(walk, who->page, TND_ROLE_REDUCER);
        if (reducer.page != NULL || absent == UINT32_MAX)
            absent = absent_other(walk, who->page, TND_ROLE_FEEDER);
        if (absent != UINT32_MAX) {
            end_elsewhere(walk, who, absent, "replicas");
            return none;
        }
        tnd_verdict_say(walk->verdict,
                        " waits for replicas of %s, which do not run on this machine",
                        reducer.page != NULL ? reducer.page->actor : "others");
        return none;
    }
    device = tnd_seen_device(&other, IN_STEP | IN_SAVE);
    if (device != NULL && tnd_seen_runs(&other)) {
        end_at_device(walk, &other, device);
        return none;
    }
    return other;
}

static tnd_seen_t from_batcher(const walk_t *walk, const tnd_seen_t *who, uint32_t waits)
{
    if (waits == TND_WAIT_MARK)
        return best_other(walk, who->page, TND_ROLE_JOIN);
    return best_peer(walk, who->page, waits != TND_WAIT_WINDOW);
}

/*  The actor that this one waits for; none: the sentence is complete. */
static tnd_seen_t next_of(const walk_t *walk, const tnd_seen_t *who)
{
    tnd_seen_t next = {NULL, NULL};
    uint32_t waits = tnd_seen_wait(who);
    if (waits == TND_WAIT_LEADER || waits == TND_WAIT_ENDED) {
        tnd_verdict_say(walk->verdict,
                        waits == TND_WAIT_LEADER ? " waits for the leader" : " has done its part");
        return next;
    }
    if (tnd_seen_has_role(who, TND_ROLE_FEEDER) &&
        (waits == TND_WAIT_STEP || waits == TND_WAIT_REDUCE))
        return from_step(walk, who);
    if (tnd_seen_has_role(who, TND_ROLE_JOIN))
        next = from_batcher(walk, who, waits);
    else if ((tnd_seen_has_role(who, TND_ROLE_READER) ||
              (tnd_seen_has_role(who, TND_ROLE_CACHE) && who->page->queue == 0)) &&
             waits == TND_WAIT_INPUT)
        next = best_other(walk, who->page, TND_ROLE_JOIN); /* the source of its tickets */
    else
        next = best_peer(walk, who->page, waits != TND_WAIT_CREDIT);
    if (next.page == NULL) {
        bool tickets = tnd_seen_has_role(who, TND_ROLE_READER) && waits == TND_WAIT_INPUT;
        bool mark = tnd_seen_has_role(who, TND_ROLE_JOIN) && waits == TND_WAIT_MARK;
        bool upstream = tnd_seen_has_role(who, TND_ROLE_JOIN) ? waits != TND_WAIT_WINDOW
                                                              : waits != TND_WAIT_CREDIT;
        end_elsewhere(walk, who,
                      tickets || mark ? absent_other(walk, who->page, TND_ROLE_JOIN)
                                      : absent_peer(walk, who->page, upstream),
                      waits != 0 ? tnd_wait_name((unsigned)__builtin_ctz(waits)) : "word");
    }
    return next;
}

/*  Whether this actor does not wait; the sentence is then complete. */
static bool is_end(walk_t *walk, const tnd_seen_t *who)
{
    tnd_state_t state = tnd_seen_state(who);
    char time[24], death[64];
    tnd_fault_t fault;
    tnd_fault_words_t words = {.used = 0};
    if (!tnd_seen_runs(who)) {
        tnd_fault_of_process(&fault, walk->view, who->process);
        if (who->process->stopped)
            tnd_verdict_say(walk->verdict,
                            ", whose process %d is stopped; kill -CONT %d continues it",
                            who->process->process, who->process->process);
        else if (!who->process->killed)
            tnd_verdict_say(walk->verdict, ", of which nothing has been heard for %s",
                            tnd_duration_text(fault.since_ns, time));
        else
            tnd_verdict_say(walk->verdict, ", whose process %d was %s, %s ago",
                            who->process->process, tnd_death_text(who->process, death),
                            tnd_duration_text(fault.since_ns, time));
    } else if (state == TND_STATE_FAILED || state == TND_STATE_ENDED) {
        const char *how = state == TND_STATE_FAILED ? "failed" : "ended";
        tnd_verdict_say(walk->verdict, ", which has %s", how);
        tnd_fault_of(&fault, TND_CAUSE_FAILED, who, NULL);
        tnd_fault_word(&words, "how", "%s", how);
        tnd_fault_say(&fault, &words);
    } else if (tnd_seen_wait(who) == 0) {
        tnd_long_call_t call = tnd_long_call(walk->view, who);
        uint64_t since = tnd_seen_since(walk->view, who);
        const char *how = state == TND_STATE_WORKING ? "inside one call of its work" : "busy";
        if (since < brief_ns) { /* its calls are short: it goes on */
            tnd_verdict_say(walk->verdict, ", which is at work");
            name_end(walk, who, NULL);
            walk->end = TND_CHAIN_WORKS;
            return true;
        }
        tnd_duration_text(since, time);
        tnd_verdict_say(walk->verdict, ", which has been %s for %s", how, time);
        tnd_fault_of(&fault, call.hangs ? TND_CAUSE_HANGS : TND_CAUSE_WORKS, who, NULL);
        fault.since_ns = since;
        tnd_fault_word(&words, "who", "%s on host %s", who->page->actor, who->process->host);
        tnd_fault_word(&words, "doing", "%s", how);
        tnd_fault_say(&fault, &words);
        tnd_seen_reads(who, fault.evidence, sizeof fault.evidence);
    } else {
        return false;
    }
    name_end(walk, who, NULL);
    tnd_verdict_add(walk->verdict, &fault);
    return true;
}

static bool was_here(const walk_t *walk, const tnd_seen_t *who)
{
    for (uint32_t i = 0; i < walk->verdict->hop_count; i++)
        if (walk->way[i] == who->page)
            return true;
    return false;
}

static void add_hop(walk_t *walk, const tnd_seen_t *who)
{
    tnd_hop_t *hop = &walk->verdict->hops[walk->verdict->hop_count];
    *hop = (tnd_hop_t){.since_ns = tnd_seen_since(walk->view, who)};
    snprintf(hop->actor, sizeof hop->actor, "%s", who->page->actor);
    snprintf(hop->host, sizeof hop->host, "%s", who->process->host);
    if (tnd_seen_state(who) == TND_STATE_WAITING)
        hop->waits = (uint32_t)(who->page->state >> 8);
    walk->way[walk->verdict->hop_count++] = who->page;
}

/*  An actor that works, or hangs, where all that were followed wait. */
static bool end_at_worker(walk_t *walk)
{
    tnd_seen_t who, best = {NULL, NULL};
    TND_EACH_ACTOR(walk->view, who)
    if (tnd_seen_runs(&who) && !was_here(walk, &who))
        prefer(&best, &who, true);
    if (best.page == NULL || tnd_seen_state(&best) != TND_STATE_WORKING)
        return false;
    tnd_verdict_say(walk->verdict, "; meanwhile ");
    say_name(walk, &best);
    return is_end(walk, &best);
}

/*  A connection whose bytes do not arrive. */
static bool end_at_link(const walk_t *walk)
{
    tnd_slow_link_t link;
    if (!tnd_slow_link_find(walk->view, 0, 0, &link) || !link.slow)
        return false;
    tnd_slow_link_add(&link, walk->verdict);
    tnd_slow_link_say(walk->view, &link, walk->verdict);
    return true;
}

/*  A host that does not run, or whose control thread hangs, neither tells of steps that are done nor hears
 *  of the next. */
static bool end_at_host(const walk_t *walk)
{
    tnd_verdict_t *verdict = walk->verdict;
    for (uint32_t f = 0; f < verdict->fault_count; f++) {
        const tnd_fault_t *fault = &verdict->faults[f];
        if (fault->cause != TND_CAUSE_CONTROL && fault->cause != TND_CAUSE_KILLED &&
            fault->cause != TND_CAUSE_STOPPED && fault->cause != TND_CAUSE_AWAY)
            continue;
        tnd_verdict_say(verdict, "; meanwhile %s", fault->text);
        snprintf(verdict->actor, sizeof verdict->actor, "%s", fault->actor);
        snprintf(verdict->host, sizeof verdict->host, "%s", fault->host);
        verdict->process = fault->process;
        return true;
    }
    return false;
}

/*  Where a connection was lost and is not there again, what is on its way to an actor never comes. */
static bool end_at_lost(const walk_t *walk, const tnd_run_record_t *record)
{
    for (uint32_t e = 0; record->page != NULL && e < record->shape.edges; e++) {
        const tnd_edge_record_t *edge = &record->edges[e];
        const tnd_host_record_t *from = tnd_run_view_host(walk->view, edge->from);
        const tnd_host_record_t *to = tnd_run_view_host(walk->view, edge->to);
        bool lost = (edge->ends[0].lost > 0 && edge->ends[0].up_ns == 0) ||
                    (edge->ends[1].lost > 0 && edge->ends[1].up_ns == 0);
        if (!lost || from == NULL || to == NULL || from == to)
            continue;
        tnd_verdict_say(walk->verdict,
                        "; the connection from %s on host %s to %s on host %s was lost, and is not "
                        "there again: look at the network between them",
                        tnd_run_view_name(walk->view, edge->from), from->name,
                        tnd_run_view_name(walk->view, edge->to), to->name);
        return true;
    }
    return false;
}

static bool end_at_lost_of_all(const walk_t *walk)
{
    const tnd_run_view_t *view = walk->view;
    for (uint32_t p = 0; p < view->after->count; p++)
        if (tnd_run_view_has(view, &view->after->processes[p]) &&
            end_at_lost(walk, &view->after->processes[p].record))
            return true;
    return false;
}

static void come_round(walk_t *walk, const tnd_seen_t *who)
{
    uint64_t least = UINT64_MAX;
    if (end_at_worker(walk) || end_at_link(walk) || end_at_host(walk) || end_at_lost_of_all(walk))
        return;
    for (uint32_t i = 0; i < walk->verdict->hop_count; i++)
        least = walk->verdict->hops[i].since_ns < least ? walk->verdict->hops[i].since_ns : least;
    if (least < still_ns) {
        walk->end = TND_CHAIN_TURNS;
        return;
    }
    tnd_fault_t fault;
    tnd_fault_of(&fault, TND_CAUSE_CYCLE, who, NULL);
    fault.since_ns = least;
    tnd_fault_say(&fault, NULL);
    tnd_verdict_add(walk->verdict, &fault);
    tnd_verdict_say(walk->verdict, ": %s; %s", fault.text, fault.action);
}

/*  One that waited at the first look, has passed on no row since and works for a moment was only woken:
 *  it is taken as it was. */
static tnd_seen_t settled(const walk_t *walk, tnd_seen_t who)
{
    if (who.page == NULL || tnd_seen_state(&who) != TND_STATE_WORKING ||
        tnd_seen_since(walk->view, &who) >= brief_ns)
        return who;
    const tnd_statistics_t *page = tnd_run_view_before(walk->view, &who);
    tnd_seen_t before = {who.process, page};
    if (page == NULL || tnd_seen_state(&before) != TND_STATE_WAITING ||
        page->rows_in != who.page->rows_in || page->rows_out != who.page->rows_out)
        return who;
    return before;
}

static void follow(walk_t *walk, tnd_seen_t who)
{
    who = settled(walk, who);
    say_name(walk, &who);
    if (is_end(walk, &who)) {
        add_hop(walk, &who);
        return;
    }
    while (walk->verdict->hop_count < TND_VERDICT_HOPS) {
        add_hop(walk, &who);
        who = settled(walk, next_of(walk, &who));
        if (who.page == NULL)
            return;
        tnd_verdict_say(walk->verdict, " waits for ");
        say_name(walk, &who);
        if (is_end(walk, &who)) {
            if (walk->verdict->hop_count < TND_VERDICT_HOPS)
                add_hop(walk, &who);
            return;
        }
        if (was_here(walk, &who)) {
            come_round(walk, &who);
            return;
        }
        tnd_verdict_say(walk->verdict, ", which");
    }
}

/*  The start of the path: a feeder whose chain runs, preferably one that no other waits for. */
static tnd_seen_t begin_at(const walk_t *walk)
{
    tnd_seen_t who, best = {NULL, NULL};
    TND_EACH_ACTOR(walk->view, who)
    {
        uint32_t waits = tnd_seen_wait(&who);
        bool idle = waits == TND_WAIT_LEADER || waits == TND_WAIT_ENDED ||
                    tnd_seen_state(&who) == TND_STATE_ENDED || who.page->opens != 0;
        if (tnd_seen_has_role(&who, TND_ROLE_FEEDER) && !idle &&
            (best.page == NULL ||
             (tnd_seen_device(&best, IN_STEP) != NULL && tnd_seen_device(&who, IN_REDUCE) != NULL)))
            best = who;
    }
    return best;
}

/*  Hosts that have not come, which the run waits for. */
static bool say_missing(const tnd_run_view_t *view, tnd_verdict_t *verdict)
{
    bool any = false;
    for (uint32_t i = 0; i < verdict->fault_count; i++) {
        const tnd_fault_t *fault = &verdict->faults[i];
        char actors[200];
        if (fault->cause != TND_CAUSE_NOT_STARTED)
            continue;
        tnd_run_view_actors(view, fault->host, actors, sizeof actors);
        if (any)
            tnd_verdict_say(verdict, " and host %s (%s)", fault->host, actors);
        else
            tnd_verdict_say(verdict, "%s waits for host %s (%s)", verdict->run, fault->host,
                            actors);
        if (!any)
            snprintf(verdict->host, sizeof verdict->host, "%s", fault->host);
        any = true;
    }
    if (any)
        tnd_verdict_say(verdict, " to start");
    return any;
}

/*  The host that has opened its data for the longest time. */
static bool say_opening(tnd_verdict_t *verdict)
{
    const tnd_fault_t *longest = NULL;
    for (uint32_t i = 0; i < verdict->fault_count; i++) {
        const tnd_fault_t *fault = &verdict->faults[i];
        if (fault->cause == TND_CAUSE_OPENING &&
            (longest == NULL || fault->since_ns > longest->since_ns))
            longest = fault;
    }
    if (longest != NULL)
        tnd_verdict_say(verdict, "%s begins: %s", verdict->run, longest->text);
    return longest != NULL;
}

tnd_chain_end_t tnd_wait_chain_follow(const tnd_run_view_t *view, tnd_verdict_t *verdict)
{
    walk_t walk = {.view = view, .verdict = verdict};
    tnd_seen_t who = begin_at(&walk), any = {NULL, NULL};
    if (who.page != NULL) {
        follow(&walk, who);
        return walk.end;
    }
    TND_EACH_ACTOR(view, who)
    if (!tnd_seen_runs(&who) || (tnd_seen_state(&who) == TND_STATE_WORKING && who.page->opens == 0))
        prefer(&any, &who, true);
    if (any.page == NULL && (say_missing(view, verdict) || say_opening(verdict)))
        return walk.end;
    tnd_verdict_say(verdict, "%s begins, or ends: ", verdict->run);
    if (any.page == NULL) {
        tnd_verdict_say(verdict, "its actors here wait for the leader");
        return walk.end;
    }
    say_name(&walk, &any);
    (void)is_end(&walk, &any);
    return walk.end;
}
