/*  tools/report/run_faults.c - what is wrong in a run, whether rows flow or not. */
#include "tools/report/run_faults.h"

#include <inttypes.h>
#include <string.h>

#include "runtime/notes/page_text.h"
#include "runtime/observe/thread_state.h"
#include "tools/cli/number_text.h"
#include "tools/report/long_call.h"
#include "tools/report/run_notes_report.h"
#include "tools/report/wait_chain.h"

/*  A control thread that has not run for so long hangs: it wakes up at least once a second.  One that rests
 *  does not wait for a processor, or for a disk; nor, unless it ends, for its actors. */
static const uint64_t control_ns = 3000000000, control_rests_ns = 1500000000;

/*  Metrics that wait for so long are not written in time. */
static const uint64_t output_ns = 1000000000;

/*  A host that runs and is away for so long is cut off. */
static const uint64_t cut_ns = 1000000000;

/*  A process that died this often, last within this time, crashes again and again. */
enum { DEATHS = 2 };
static const uint64_t recent_ns = 60000000000;

/*  Data that take longer to open are named. */
static const uint64_t opening_ns = 1000000000;

/*  A run is slower if its last seconds have less than this part of the rows of its best ones, which
 *  have at least this many steps. */
static const double slower = 0.5;
enum { BEST_SECONDS = 10, BEST_STEPS = 4 };

/*  Throttled for more than this share, an actor has no processor because of its control group. */
static const double throttled_share = 0.1;

/*  More bad rows than this share of those read are a fault. */
static const double bad_share = 0.01;

/*  A step hangs after this time, if that is also so many times as long as usual. */
static const uint64_t step_ns = 1000000000;
enum { STEPS = 10 };

/*  An actor that hands on less than this share of its rows leaves them out. */
static const double few = 0.5;

/*  No processor is free if an actor is ready without running for more than this share. */
static const double ready_share = 0.1, clear_share = 0.3;
enum { READY_SECONDS = 4 };

/*  Processes of a host that died in this run and were replaced. */
static void find_crashes(const tnd_run_view_t *view, const tnd_inspected_t *process,
                         tnd_verdict_t *verdict)
{
    const tnd_inspected_t *latest = NULL;
    uint32_t deaths = 0;
    uint64_t now = view->after->now_ns, last = 0, first = UINT64_MAX;
    for (uint32_t p = 0; p < view->after->count; p++) {
        const tnd_inspected_t *other = &view->after->processes[p];
        if (!other->killed || !tnd_inspected_same(other, process) ||
            strcmp(other->host, process->host) != 0)
            continue;
        deaths++;
        if (other->last_ns >= last) {
            last = other->last_ns;
            latest = other;
        }
        first = other->last_ns < first ? other->last_ns : first;
    }
    if (deaths < DEATHS || now < last || now - last > recent_ns)
        return;
    char death[64];
    tnd_fault_t fault;
    tnd_fault_words_t words = {.used = 0};
    tnd_seen_t who = {process, process->count == 1 ? process->actors : NULL};
    tnd_fault_of(&fault, TND_CAUSE_CRASHES, &who, NULL);
    fault.since_ns = now > first ? now - first : 0;
    tnd_fault_word(&words, "count", "%" PRIu32, deaths);
    tnd_fault_say(&fault, &words);
    if (latest->killed_by != 0)
        snprintf(fault.evidence, sizeof fault.evidence, "the last one, %d, was %s", latest->process,
                 tnd_death_text(latest, death));
    tnd_verdict_add(verdict, &fault);
}

static void find_hang(const tnd_run_view_t *view, const tnd_seen_t *who, tnd_verdict_t *verdict)
{
    const tnd_statistics_t *page = who->page;
    tnd_long_call_t call = tnd_long_call(view, who);
    if (!call.hangs)
        return;
    char usual[24];
    tnd_fault_t fault;
    tnd_fault_words_t words = {.used = 0};
    tnd_fault_of(&fault, TND_CAUSE_HANGS, who, NULL);
    fault.since_ns = call.since_ns;
    tnd_fault_word(&words, "who", "%s on host %s", page->actor, who->process->host);
    tnd_fault_word(&words, "doing", "%s",
                   tnd_seen_state(who) == TND_STATE_WORKING ? "inside one call of its work"
                                                            : "busy");
    if (call.usual_ns != 0)
        tnd_fault_word(&words, "usual", "; its mean is %s",
                       tnd_duration_text(call.usual_ns, usual));
    else
        tnd_fault_word(&words, "usual", "; none has ended before");
    tnd_fault_say(&fault, &words);
    if (call.siblings_ns != 0)
        snprintf(fault.evidence, sizeof fault.evidence, "the median of the other workers is %s",
                 tnd_duration_text(call.siblings_ns, usual));
    else
        tnd_seen_reads(who, fault.evidence, sizeof fault.evidence);
    tnd_verdict_add(verdict, &fault);
}

/*  Whether what began then takes far longer than usual, `spent` for `steps`. */
static bool is_too_long(const tnd_run_view_t *view, uint64_t began, uint64_t spent, uint64_t steps)
{
    uint64_t now = view->after->now_ns, since = now > began ? now - began : 0;
    return steps > 0 && since >= step_ns && since >= STEPS * (spent / steps);
}

/*  A device whose step, what follows the reduction, or copy hangs.  Others may feed rows meanwhile. */
static void find_device_hang(const tnd_run_view_t *view, const tnd_seen_t *who,
                             const tnd_device_page_t *device, tnd_verdict_t *verdict)
{
    uint64_t state = device->state & 0xff, steps = who->page->blocks_out;
    bool works = state == TND_DEVICE_STEP || state == TND_DEVICE_APPLY;
    bool copies = (device->pending & 0xff) == TND_PENDING_COPY;
    tnd_fault_t fault;
    if (works && is_too_long(view, device->since_ns, device->spent_ns[state], steps)) {
        tnd_fault_of_device(&fault, view, who, device, true);
        tnd_verdict_add(verdict, &fault);
    } else if (copies && is_too_long(view, device->pending_since_ns, device->link_ns, steps)) {
        tnd_fault_of_pending(&fault, view, who, device, true);
        tnd_verdict_add(verdict, &fault);
    }
}

/*  The share of the time that an actor was ready without running: between the looks if that is clear,
 *  or else in its last seconds, so that looks in a steady state agree. */
static double share_of_ready(const tnd_run_view_t *view, const tnd_seen_t *who)
{
    tnd_times_t times;
    double whole = (double)tnd_run_view_window(view);
    tnd_run_view_times(view, who, &times);
    double share = whole > 0 ? (double)times.run_queue / whole : 0;
    if (share >= clear_share || tnd_seen_seconds(who) < READY_SECONDS)
        return share;
    tnd_seen_history(who, READY_SECONDS, &times);
    return (double)times.run_queue / (READY_SECONDS * 1e9);
}

static void find_no_processor(const tnd_run_view_t *view, tnd_verdict_t *verdict)
{
    const tnd_machine_load_t *load = &view->after->load;
    double most = 0;
    tnd_seen_t who, worst = {NULL, NULL};
    TND_EACH_ACTOR(view, who)
    {
        if (!tnd_seen_runs(&who))
            continue;
        double share = share_of_ready(view, &who);
        if (share > most) {
            most = share;
            worst = who;
        }
    }
    if (most < ready_share)
        return;
    double throttled = tnd_run_view_throttled(view, worst.process);
    /* The load is that of this machine, and its reader is one of the threads that run. */
    bool here = worst.process->machine[0] == '\0';
    uint32_t runnable = view->before->load.runnable;
    runnable = load->runnable > runnable ? load->runnable : runnable;
    bool crowded = !here || runnable > load->processors + 1;
    if (!crowded && throttled == 0)
        return;
    tnd_fault_t fault;
    tnd_fault_words_t words = {.used = 0};
    tnd_fault_of(&fault, TND_CAUSE_NO_PROCESSOR, &worst, NULL);
    tnd_fault_word(&words, "share", "%.0f", 100 * most);
    tnd_fault_word(&words, "how", "%s",
                   throttled >= throttled_share ? " by raising that limit"
                                                : ", or end other programs");
    tnd_fault_say(&fault, &words);
    char limited[256] = "";
    if (throttled >= 0.005 && worst.process->cores > 0)
        snprintf(limited, sizeof limited,
                 "; %s allows %.3g of them, and throttled it for %.0f %% of the time",
                 worst.process->cores_by, worst.process->cores, 100 * throttled);
    else if (throttled >= 0.005)
        snprintf(limited, sizeof limited,
                 "; throttled by the control group for %.0f %% of the time", 100 * throttled);
    if (here)
        snprintf(fault.evidence, sizeof fault.evidence,
                 "%" PRIu32 " threads for %" PRIu32 " processor%s, load %.1f%s", runnable,
                 load->processors, load->processors == 1 ? "" : "s", load->load, limited);
    else
        snprintf(fault.evidence, sizeof fault.evidence, "on %s%s", worst.process->machine, limited);
    tnd_verdict_add(verdict, &fault);
}

/*  Whether the pages of a host's process are here, so that they show more than its connection. */
static bool is_seen(const tnd_run_view_t *view, const char *host)
{
    for (uint32_t p = 0; p < view->after->count; p++)
        if (tnd_run_view_has(view, &view->after->processes[p]) &&
            strcmp(view->after->processes[p].host, host) == 0)
            return true;
    return false;
}

/*  Whether nothing is heard of the leader, by which the others are seen. */
static bool leader_is_silent(const tnd_run_view_t *view)
{
    for (uint32_t p = 0; p < view->after->count; p++) {
        const tnd_inspected_t *process = &view->after->processes[p];
        if (tnd_run_view_has(view, process) && process->silent_ns != 0 &&
            process->record.page->host == 0)
            return true;
    }
    return false;
}

/*  The leader, if it runs and its page was read on this machine: what it knows of other hosts holds
 *  now, also if the way to them on which they are looked at does not work. */
static const tnd_inspected_t *leader_here(const tnd_run_view_t *view)
{
    for (uint32_t p = 0; p < view->after->count; p++) {
        const tnd_inspected_t *process = &view->after->processes[p];
        if (tnd_run_view_has(view, process) && process->machine[0] == '\0' &&
            process->record.page != NULL && process->record.page->state != 0 && !process->stopped &&
            !process->killed)
            return process;
    }
    return NULL;
}

static bool is_connected(const tnd_inspected_t *leader, const char *host)
{
    for (uint32_t h = 0; h < leader->record.shape.hosts; h++)
        if (strcmp(leader->record.hosts[h].name, host) == 0)
            return leader->record.hosts[h].presence == TND_PRESENCE_UP;
    return false;
}

/*  Whether a process does not run, and that is not because of another one. */
static bool is_down(const tnd_run_view_t *view, const tnd_inspected_t *process)
{
    const tnd_inspected_t *leader = process->silent_ns != 0 ? leader_here(view) : NULL;
    bool silent = process->silent_ns != 0 &&
                  (leader != NULL ? !is_connected(leader, process->host)
                                  : process->record.page->host == 0 || !leader_is_silent(view));
    return process->stopped || process->killed || silent;
}

/*  Whether a host's process runs, as its pages here show, but the leader has not heard it for a while: the
 *  network between them is cut. */
static bool is_cut_off(const tnd_run_view_t *view, const tnd_host_record_t *host)
{
    const tnd_inspected_t *leader = leader_here(view);
    uint64_t now = view->after->now_ns;
    bool runs = false;
    for (uint32_t p = 0; p < view->after->count; p++) {
        const tnd_inspected_t *process = &view->after->processes[p];
        if (tnd_run_view_has(view, process) && strcmp(process->host, host->name) == 0)
            runs = !process->stopped && !process->killed && process->silent_ns == 0;
    }
    return leader != NULL && runs && host->since_ns != 0 && now >= host->since_ns + cut_ns;
}

/*  Hosts that the leader misses. */
static void find_absent(const tnd_run_view_t *view, const tnd_host_record_t *host,
                        tnd_verdict_t *verdict)
{
    tnd_fault_words_t words = {.used = 0};
    char actors[200], restarts[80];
    uint64_t now = view->after->now_ns;
    bool lost = host->presence == TND_PRESENCE_LOST;
    bool away = host->presence == TND_PRESENCE_AWAY || lost;
    if (!away && (host->presence != TND_PRESENCE_EXPECTED || host->waited_for == 0))
        return;
    if (is_seen(view, host->name) && !(away && is_cut_off(view, host)))
        return;
    tnd_fault_t fault = {.cause = away ? TND_CAUSE_AWAY : TND_CAUSE_NOT_STARTED,
                         .process = away ? (int)host->process : 0};
    fault.since_ns = host->since_ns != 0 && now > host->since_ns ? now - host->since_ns : 0;
    snprintf(fault.host, sizeof fault.host, "%s", host->name);
    tnd_run_view_actors(view, host->name, actors, sizeof actors);
    if (strchr(actors, ',') == NULL)
        snprintf(fault.actor, sizeof fault.actor, "%s", actors);
    tnd_fault_word(&words, "actors", "%s", actors);
    tnd_fault_word(&words, "address", "%s", host->address);
    tnd_fault_word(&words, "how", "%s", lost ? "lost" : "away");
    tnd_fault_word(&words, "what", "its process");
    if (host->isolated == 0)
        tnd_fault_word(&words, "start", ", or start it again by the same command with --host %s",
                       host->name);
    tnd_fault_say(&fault, &words);
    if (away)
        snprintf(fault.evidence, sizeof fault.evidence, "%s; %s",
                 host->waited_for != 0 ? "the run waits for it" : "the run continues without it",
                 tnd_restarts_text(host, restarts, sizeof restarts));
    else if (host->isolated != 0)
        fault.action[0] = '\0'; /* its supervisor starts it */
    tnd_verdict_add(verdict, &fault);
}

/*  Lines of metrics that wait or were dropped: the run continues without them. */
static void find_output(const tnd_run_view_t *view, const tnd_inspected_t *process,
                        tnd_verdict_t *verdict)
{
    const tnd_run_page_t *page = process->record.page;
    uint64_t now = view->after->now_ns;
    if (page == NULL || process->stopped || process->killed || process->silent_ns != 0 ||
        page->metrics_path[0] == '\0')
        return;
    uint64_t since = page->metrics_waits_ns;
    since = since != 0 && now > since ? now - since : 0;
    bool failed = page->metrics_reason != 0;
    if (since < output_ns && page->metrics_dropped == 0 && !failed)
        return;
    tnd_fault_t fault;
    tnd_fault_words_t words = {.used = 0};
    char time[24];
    tnd_seen_t who = {process, NULL};
    tnd_fault_of(&fault, TND_CAUSE_OUTPUT, &who, NULL);
    fault.since_ns = since;
    tnd_fault_word(&words, "file", "%s", page->metrics_path);
    if (failed)
        tnd_fault_word(&words, "how", "cannot be written: %s", strerror((int)page->metrics_reason));
    else if (since >= output_ns)
        tnd_fault_word(&words, "how", "has taken nothing for %s", tnd_duration_text(since, time));
    else
        tnd_fault_word(&words, "how", "is too slow");
    if (failed)
        tnd_fault_word(&words, "without", ", and writes no more of them");
    tnd_fault_word(&words, "instead", "%s",
                   failed ? " in the next run" : ", or read them faster if it is a pipe");
    tnd_fault_say(&fault, &words);
    snprintf(fault.evidence, sizeof fault.evidence, "%" PRIu64 " lines were dropped",
             page->metrics_dropped);
    tnd_verdict_add(verdict, &fault);
}

/*  The page of the leader, if it runs and is heard of; NULL: it is not here. */
static const tnd_run_page_t *leader_page(const tnd_inspected_t *process)
{
    const tnd_run_page_t *page = process->record.page;
    bool runs = !process->stopped && !process->killed && process->silent_ns == 0;
    return page != NULL && page->state != 0 && page->outcome == 0 && runs ? page : NULL;
}

static void find_unwritten(const tnd_inspected_t *process, tnd_verdict_t *verdict)
{
    const tnd_run_page_t *page = leader_page(process);
    if (page == NULL || page->unwritten == 0)
        return;
    tnd_fault_t fault;
    tnd_seen_t who = {process, NULL};
    tnd_fault_of(&fault, TND_CAUSE_CHECKPOINTS, &who, NULL);
    tnd_fault_words_t words = {.used = 0};
    if (page->checkpoint_step > 0) {
        tnd_fault_word(&words, "what", "the last %" PRIu64 " checkpoint%s could not be written",
                       page->unwritten, page->unwritten == 1 ? "" : "s");
        tnd_fault_word(&words, "loss", "all after step %" PRIu64, page->checkpoint_step - 1);
    } else {
        tnd_fault_word(&words, "what", "no checkpoint could be written, and %" PRIu64 " failed",
                       page->unwritten);
        tnd_fault_word(&words, "loss", "the whole run");
    }
    tnd_fault_say(&fault, &words);
    tnd_page_text_read(page->unwritten_why, TND_PAGE_WHY_WORDS, fault.evidence);
    tnd_verdict_add(verdict, &fault);
}

/*  Data take a while to open; no row can be read before. */
static void find_opening(const tnd_run_view_t *view, const tnd_inspected_t *process,
                         tnd_verdict_t *verdict)
{
    const tnd_run_page_t *page = process->record.page;
    uint64_t now = view->after->now_ns, since = page != NULL ? page->opening_ns : 0;
    if (since == 0 || now < since + opening_ns || process->stopped || process->killed)
        return;
    tnd_fault_t fault;
    tnd_fault_words_t words = {.used = 0};
    char doing[8 * TND_PAGE_WHY_WORDS];
    tnd_seen_t who = {process, NULL};
    tnd_fault_of(&fault, TND_CAUSE_OPENING, &who, NULL);
    fault.since_ns = now - since;
    tnd_page_text_read(page->opening, TND_PAGE_WHY_WORDS, doing);
    tnd_fault_word(&words, "doing", "%s", doing);
    tnd_fault_say(&fault, &words);
    tnd_verdict_add(verdict, &fault);
}

/*  An actor opens what it needs before its first row, such as the models of its step.  That may take
 *  long without being a hang. */
static void find_actor_opening(const tnd_run_view_t *view, const tnd_seen_t *who,
                               tnd_verdict_t *verdict)
{
    uint64_t since = tnd_seen_since(view, who);
    if (who->page->opens == 0 || since < opening_ns)
        return;
    tnd_fault_t fault;
    tnd_fault_words_t words = {.used = 0};
    tnd_fault_of(&fault, TND_CAUSE_OPENING, who, NULL);
    fault.since_ns = since;
    tnd_fault_word(&words, "doing", "%s: %s", who->page->actor, tnd_opening_text(who->page));
    tnd_fault_say(&fault, &words);
    tnd_verdict_add(verdict, &fault);
}

/*  A line for each reason, each with a place. */
static void say_reasons(const tnd_inspected_t *process, tnd_fault_t *fault)
{
    const tnd_run_notes_t *notes = process->record.notes;
    char line[sizeof fault->details];
    size_t used = 0;
    for (unsigned s = 0; notes != NULL && s < TND_RUN_NOTES_SUBJECTS; s++) {
        if (!tnd_run_notes_reason(&notes[TND_RUN_NOTES_BAD], s, line, sizeof line))
            continue;
        if (fault->evidence[0] == '\0') {
            snprintf(fault->evidence, sizeof fault->evidence, "%s", line);
            continue;
        }
        int size = snprintf(fault->details + used, sizeof fault->details - used, "%s\n", line);
        if (size < 0 || used + (size_t)size >= sizeof fault->details) {
            fault->details[used] = '\0';
            return;
        }
        used += (size_t)size;
    }
}

static void find_bad_rows(const tnd_inspected_t *process, tnd_verdict_t *verdict)
{
    const tnd_run_page_t *page = leader_page(process);
    if (page == NULL || (double)page->bad <= bad_share * (double)page->read)
        return;
    tnd_fault_t fault;
    tnd_seen_t who = {process, NULL};
    tnd_fault_of(&fault, TND_CAUSE_BAD_ROWS, &who, NULL);
    tnd_fault_words_t words = {.used = 0};
    tnd_fault_word(&words, "share", "%.3g", 100 * (double)page->bad / (double)page->read);
    tnd_fault_word(&words, "bad", "%" PRIu64, page->bad);
    tnd_fault_word(&words, "read", "%" PRIu64, page->read);
    tnd_fault_say(&fault, &words);
    say_reasons(process, &fault);
    tnd_verdict_add(verdict, &fault);
}

static bool control_hangs(const tnd_run_view_t *view, const tnd_inspected_t *process)
{
    const tnd_run_page_t *page = process->record.page;
    uint64_t now = view->after->now_ns, written = page->written_ns;
    if (written == 0 || now < written + control_rests_ns)
        return false;
    return now >= written + control_ns ||
           (process->machine[0] == '\0' && page->control != TND_CONTROL_ENDS &&
            tnd_thread_state_rests(process->process, (pid_t)page->control_thread));
}

/*  The control thread writes its page at least once a second. */
static void find_control(const tnd_run_view_t *view, const tnd_inspected_t *process,
                         tnd_verdict_t *verdict)
{
    const tnd_run_page_t *page = process->record.page;
    uint64_t now = view->after->now_ns;
    if (page == NULL || process->stopped || process->killed || process->silent_ns != 0 ||
        !control_hangs(view, process))
        return;
    tnd_fault_t fault;
    tnd_seen_t who = {process, NULL};
    tnd_fault_of(&fault, TND_CAUSE_CONTROL, &who, NULL);
    fault.since_ns = now - page->written_ns;
    fault.thread = page->control_thread;
    tnd_fault_say(&fault, NULL);
    tnd_verdict_add(verdict, &fault);
}

/*  Whether the feeder took no part in a second: another chain ran, or the run had not begun. */
static bool was_idle(const tnd_history_second_t *second)
{
    tnd_times_t times;
    tnd_times_unpack(second->shares, 100, &times);
    return second->rows == 0 && times.other > 50;
}

/*  Compares the last 10 s of a feeder with its best 10 s; those in which its chain did not run do not
 *  count. */
static void find_slower(const tnd_run_view_t *view, const tnd_seen_t *who, tnd_verdict_t *verdict)
{
    uint64_t rows[TND_HISTORY_SECONDS], count = 0, sum = 0, best = 0;
    const tnd_run_page_t *page = view->record != NULL ? view->record->page : NULL;
    bool turns = page != NULL && page->state != 0 && page->chain != who->page->chain;
    for (uint64_t age = tnd_seen_seconds(who); !turns && age-- > 0;)
        if (!was_idle(tnd_seen_second(who, age)))
            rows[count++] = tnd_seen_second(who, age)->rows;
    if (count <= BEST_SECONDS || who->page->blocks_out == 0)
        return;
    for (uint64_t i = 0; i < count; i++) {
        sum += rows[i] - (i >= BEST_SECONDS ? rows[i - BEST_SECONDS] : 0);
        if (i + 1 >= BEST_SECONDS)
            best = sum > best ? sum : best;
    }
    double step = (double)who->page->rows_out / (double)who->page->blocks_out;
    if ((double)best < BEST_STEPS * step || (double)sum >= slower * (double)best)
        return;
    tnd_fault_t fault;
    tnd_fault_words_t words = {.used = 0};
    tnd_fault_of(&fault, TND_CAUSE_SLOWER, who, NULL);
    tnd_fault_word(&words, "now", "%.0f", (double)sum / BEST_SECONDS);
    tnd_fault_word(&words, "best", "%.0f", (double)best / BEST_SECONDS);
    tnd_fault_say(&fault, &words);
    tnd_verdict_add(verdict, &fault);
}

void tnd_run_faults_find(const tnd_run_view_t *view, tnd_verdict_t *verdict)
{
    tnd_fault_t fault;
    tnd_seen_t who;
    for (uint32_t p = 0; p < view->after->count; p++) {
        const tnd_inspected_t *process = &view->after->processes[p];
        if (!tnd_run_view_has(view, process))
            continue;
        if (is_down(view, process)) {
            tnd_fault_of_process(&fault, view, process);
            tnd_verdict_add(verdict, &fault);
        }
        find_crashes(view, process, verdict);
        find_control(view, process, verdict);
        find_output(view, process, verdict);
        find_unwritten(process, verdict);
        find_bad_rows(process, verdict);
        find_opening(view, process, verdict);
    }
    TND_EACH_ACTOR(view, who)
    {
        if (tnd_seen_runs(&who) && who.page->opens != 0)
            find_actor_opening(view, &who, verdict);
        else if (tnd_seen_runs(&who))
            find_hang(view, &who, verdict);
        for (uint32_t d = 0; tnd_seen_runs(&who) && d < who.page->device_count; d++)
            find_device_hang(view, &who, &who.page->devices[d], verdict);
        if (tnd_seen_runs(&who) && tnd_seen_has_role(&who, TND_ROLE_FEEDER))
            find_slower(view, &who, verdict);
    }
    for (uint32_t h = 0; view->record != NULL && h < view->record->shape.hosts; h++)
        find_absent(view, &view->record->hosts[h], verdict);
    find_no_processor(view, verdict);
}

/* --- rows that are left out -------------------------------------------------------------------- */

/*  Rows of all workers of an actor. */
typedef struct {
    tnd_seen_t who; /* the first of them */
    double taken, handed;
} passed_t;

/*  The rows that an actor has worked on: of those that it took, some wait. */
static double worked_on(const tnd_statistics_t *page)
{
    uint64_t in = page->blocks_in, out = page->blocks_out;
    return in == 0 ? 0 : (double)page->rows_in * (double)(out < in ? out : in) / (double)in;
}

static passed_t passed_by(const tnd_run_view_t *view, const tnd_seen_t *who)
{
    passed_t self = {.who = *who};
    tnd_seen_t other;
    TND_EACH_ACTOR(view, other)
    if (tnd_seen_are_of(other.page, who->page)) {
        self.taken += worked_on(other.page);
        self.handed += (double)other.page->rows_out;
    }
    return self;
}

/*  The actor that leaves out the largest part of its rows.  Rows that are bad have a fault of their own. */
static passed_t worst_of(const tnd_run_view_t *view)
{
    passed_t worst = {.who = {NULL, NULL}};
    double least = few;
    tnd_seen_t who;
    TND_EACH_ACTOR(view, who)
    {
        passed_t passed = passed_by(view, &who);
        bool runs = tnd_seen_has_role(&who, TND_ROLE_WORKER) && tnd_seen_runs(&who);
        if (!runs || passed.taken <= 0 || passed.handed >= least * passed.taken)
            continue;
        least = passed.handed / passed.taken;
        worst = passed;
    }
    return worst;
}

static bool has_bad_rows(const tnd_verdict_t *verdict)
{
    for (uint32_t f = 0; f < verdict->fault_count; f++)
        if (verdict->faults[f].cause == TND_CAUSE_BAD_ROWS)
            return true;
    return false;
}

void tnd_run_faults_find_left_out(const tnd_run_view_t *view, tnd_verdict_t *verdict)
{
    passed_t worst = worst_of(view);
    if (worst.who.page == NULL || has_bad_rows(verdict))
        return;
    tnd_fault_t fault;
    tnd_fault_words_t words = {.used = 0};
    char taken[TND_NUMBER_TEXT];
    tnd_fault_of(&fault, TND_CAUSE_FILTERED, &worst.who, NULL);
    size_t length = strcspn(worst.who.page->actor, ".");
    fault.actor[length] = '\0';
    tnd_fault_word(&words, "share", "%.4g", 100 - 100 * worst.handed / worst.taken);
    tnd_fault_word(&words, "taken", "%s", tnd_grouped(worst.taken, taken));
    tnd_fault_say(&fault, &words);
    tnd_verdict_say(verdict, "; %s", fault.text);
    tnd_verdict_add(verdict, &fault);
}
