/*  tools/faults/fault_run.c - one run of a graph after the other under faults, watched from
 * outside. */
#include "tools/faults/fault_run.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "runtime/base/allocation.h"
#include "runtime/base/clock.h"
#include "runtime/host/host.h"
#include "tools/faults/process_tree.h"
#include "tools/process/child.h"
#include "tools/cli/terminal.h"

static const uint64_t ms = 1000000;

/*  What a slow process gets of a processor: 4 ms of every 24. */
static const uint64_t slow_stop_ns = 20000000, slow_go_ns = 4000000;

/*  How long a fault may have to do with what is seen after it. */
static const uint64_t echo_ns = 1000000000;

/*  A run that does not recover visibly, because it computes something else or no step is left, is
 *  disturbed all the same.
 */
static const uint64_t impatience_ns = 10000000000;

/*  A time without a step that is worth a line beside what the run says. */
static const uint64_t told_gap_ns = 50000000;

/*  Neither a step nor a word: it hangs. */
static const uint64_t hang_ns = 120000000000;

/*  Bytes that a file may have while the disk is full. */
enum { DISK_FULL = 16, ACTIVE_MAX = 8, LINE_ROOM = 8192, PIPE_ROOM = 1 << 20 };

/*  A fault that lasts. */
typedef struct {
    tnd_fault_t fault;
    int process; /* pidfd of the one that it hits; -1: none */
    uint64_t end_ns, turn_ns;
    bool stopped;
} active_t;

typedef struct {
    char text[LINE_ROOM];
    size_t used;
} lines_t;

/*  One life of one run. */
typedef struct {
    tnd_fault_run_t *ordeal;
    tnd_run_t *run;
    tnd_child_t up;
    int process; /* pidfd of `up`; -1: it does not run */
    int said, metrics;
    FILE *log;
    lines_t words, steps;
    tnd_step_gaps_t beats;
    uint64_t last_step;              /* TND_UNKNOWN: none yet */
    uint64_t first_beat_ns, life_ns; /* the last step, and the last sign of life */
    active_t active[ACTIVE_MAX];
    uint32_t active_count;
    size_t first_deed;
    tnd_fault_t next;
    uint64_t next_ns, recovered_from_ns, done_ns;
    bool drawn, waits; /* there is a next one; it waits for recovery */
    bool fatal;        /* this life was ended by us */
    bool full;         /* it ended while the disk was full */
    bool resumed, finishing, drained;
    uint64_t finish_ns, told_ns;
} life_t;

/* --- hosts -------------------------------------------------------------------------------------
 */

void tnd_fault_run_init(tnd_fault_run_t *self, const tnd_request_t *request)
{
    sigset_t set;
    *self = (tnd_fault_run_t){.request = request};
    sigemptyset(&set);
    sigaddset(&set, SIGINT);
    sigaddset(&set, SIGTERM);
    sigprocmask(SIG_BLOCK, &set, &self->mask);
    self->signal_file = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
    if (self->signal_file < 0)
        abort();
    /* Whoever writes more than a full disk takes is told so, not killed. */
    signal(SIGXFSZ, SIG_IGN);
}

static uint8_t flags_of(const tnd_plan_t *plan, uint32_t host)
{
    uint8_t flags = plan->hosts[host].restart != TND_RESTART_NEVER ? TND_FAULT_SOFT : 0;
    flags |= host == 0 && plan->host_count > 1 ? TND_FAULT_LEADS : 0;
    for (uint32_t e = 0; e < plan->edge_count; e++) {
        const tnd_edge_t *edge = &plan->edges[e];
        const tnd_instance_t *binds = &plan->instances[edge->from_connects ? edge->to : edge->from];
        if (edge->transport == TND_TRANSPORT_TCP && binds->host == host)
            flags |= TND_FAULT_DOOR;
    }
    for (uint32_t i = 0; i < plan->instance_count; i++) {
        const char *kind = plan->instances[i].kind->table.name;
        if (plan->instances[i].host == host &&
            (strcmp(kind, "reader") == 0 || strcmp(kind, "preprocessor") == 0))
            flags |= TND_FAULT_LOCAL;
    }
    return flags;
}

void tnd_fault_run_begin(tnd_fault_run_t *self, tnd_sandbox_t *stage, uint64_t seed)
{
    const tnd_plan_t *plan = stage->plan;
    self->stage = stage;
    self->begun_ns = tnd_clock_now();
    self->hosts = tnd_allocate_zeroed(plan->host_count, sizeof *self->hosts);
    for (uint32_t h = 0; h < plan->host_count; h++)
        self->hosts[h] = flags_of(plan, h);
    tnd_fault_schedule_config_t config = {.seed = seed,
                                          .hosts = self->hosts,
                                          .host_count = plan->host_count,
                                          .dead_after_ns = plan->dead_after_ns,
                                          .patience_ns = tnd_host_absence_limits(plan).grace_ns,
                                          .all = self->request->all,
                                          .disk = stage->keeps};
    tnd_fault_schedule_init(&self->havoc, &config);
    char *path = tnd_sandbox_path(stage, "metrics");
    if (mkfifo(path, 0600) != 0)
        abort();
    free(path);
}

void tnd_fault_run_fini(tnd_fault_run_t *self)
{
    tnd_fault_schedule_fini(&self->havoc);
    tnd_step_gaps_free(&self->calm);
    free(self->hosts);
    free(self->deeds);
    close(self->signal_file);
    sigprocmask(SIG_SETMASK, &self->mask, NULL);
}

/*  "reader and batcher": what stands on a host. */
static void name_actors(const tnd_plan_t *plan, uint32_t host, char *text, size_t room)
{
    static const char *const kinds[][2] = {{"reader", "reader"},
                                           {"preprocessor", "worker"},
                                           {"batcher", "batcher"},
                                           {"reducer", "reducer"},
                                           {"feeder", "feeder"}};
    size_t used = 0;
    text[0] = '\0';
    for (size_t k = 0; k < sizeof kinds / sizeof kinds[0]; k++)
        for (uint32_t i = 0; i < plan->instance_count; i++)
            if (plan->instances[i].host == host &&
                strcmp(plan->instances[i].kind->table.name, kinds[k][0]) == 0) {
                used += (size_t)snprintf(text + used, room - used, "%s%s", used > 0 ? ", " : "",
                                         kinds[k][1]);
                break;
            }
}

void tnd_fault_run_describe(const tnd_fault_run_t *self, const tnd_fault_t *fault, char *text,
                            size_t room)
{
    const char *name = tnd_fault_schedule_name(fault->kind);
    char actors[128];
    name_actors(self->stage->plan, fault->host, actors, sizeof actors);
    if (actors[0] == '\0')
        snprintf(actors, sizeof actors, "host");
    switch (fault->kind) {
    case TND_FAULT_KILL:
    case TND_FAULT_PAUSE:
    case TND_FAULT_STOP:
    case TND_FAULT_SLOW:
    case TND_FAULT_SHUT_OFF:
    case TND_FAULT_KILL_FINAL:
        snprintf(text, room, "%s: %s", fault->kind == TND_FAULT_KILL_FINAL ? "kill -9" : name,
                 actors);
        return;
    case TND_FAULT_CUT:
    case TND_FAULT_HALF_OPEN:
    case TND_FAULT_SILENT:
        snprintf(text, room, "%s: %s", name, fault->control ? "control" : actors);
        return;
    case TND_FAULT_DISK_FULL:
    case TND_FAULT_KILL_ALL:
    case TND_FAULT_COUNT:
        break;
    }
    snprintf(text, room, "%s", name);
}

/* --- a life ------------------------------------------------------------------------------------
 */

static void add_word(char **words, size_t *used, const char *format, const char *value)
{
    if (value != NULL)
        words[(*used)++] = tnd_format_string(format, value);
}

static char **words_of(const life_t *life)
{
    const tnd_request_t *request = life->ordeal->request;
    const tnd_sandbox_t *stage = life->ordeal->stage;
    char **words =
        tnd_allocate_zeroed(request->setting_count + stage->file_count + 24, sizeof *words);
    char *metrics = tnd_sandbox_path(stage, "metrics"), *report = tnd_sandbox_path(stage, "report");
    char *checkpoints = tnd_sandbox_path(stage, life->run->quiet ? "quiet" : "checkpoints");
    char number[32];
    size_t used = 0;
    add_word(words, &used, "%s", "tundish");
    add_word(words, &used, "%s", "up");
    add_word(words, &used, "--metrics=%s", metrics);
    add_word(words, &used, "--report=%s", report);
    add_word(words, &used, "--data=%s", request->data);
    add_word(words, &used, "--log-level=%s", "info");
    for (size_t i = 0; i < request->setting_count; i++)
        words[used++] =
            tnd_format_string("--set=%s=%s", request->settings[i].key, request->settings[i].value);
    if (stage->keeps)
        add_word(words, &used, "--set=checkpoint.dir=\"%s\"", checkpoints);
    if (life->resumed)
        add_word(words, &used, "%s", "--resume");
    snprintf(number, sizeof number, "%" PRIu64, life->run->steps);
    add_word(words, &used, "--steps=%s", life->run->steps != UINT64_MAX ? number : NULL);
    add_word(words, &used, "%s", "--");
    for (size_t i = 0; i < stage->file_count; i++)
        add_word(words, &used, "%s", stage->files[i]);
    free(metrics);
    free(report);
    free(checkpoints);
    return words;
}

static bool fail(life_t *life, const char *format, const char *detail)
{
    snprintf(life->ordeal->why, sizeof life->ordeal->why, format, detail);
    return false;
}

static bool begin_life(life_t *life)
{
    int out[2];
    if (pipe2(out, O_CLOEXEC) != 0)
        return fail(life, "cannot make a pipe: %s", strerror(errno));
    tnd_child_terms_t terms = {
        .out = out[1], .err = out[1], .death_signal = SIGTERM, .mask = &life->ordeal->mask};
    char **words = words_of(life);
    bool started = tnd_child_start(&life->up, words, &terms);
    tnd_child_words_free(words);
    close(out[1]);
    fcntl(out[0], F_SETFL, O_NONBLOCK);
    life->said = out[0];
    life->process = started ? pidfd_open(life->up.pid, 0) : -1;
    life->words.used = life->steps.used = 0;
    life->fatal = false;
    life->life_ns = tnd_clock_now();
    return started ? true : fail(life, "cannot start `tundish up`: %s", strerror(errno));
}

/*  Numbers behind a text in a line; false: it is not there. */
static bool number_after(const char *line, const char *text, uint64_t *number_p)
{
    const char *at = strstr(line, text);
    if (at == NULL)
        return false;
    *number_p = strtoull(at + strlen(text), NULL, 10);
    return true;
}

static void take_word(life_t *life, const char *line)
{
    tnd_fault_run_t *ordeal = life->ordeal;
    uint64_t generation, step;
    life->life_ns = tnd_clock_now();
    fprintf(life->log, "%9.3f  %s\n", (double)(life->life_ns - ordeal->begun_ns) * 1e-9, line);
    ordeal->restarts += strstr(line, "it is started again in") != NULL;
    ordeal->unkept += strstr(line, "no checkpoint behind step") != NULL;
    if (number_after(line, ": generation ", &generation) &&
        number_after(line, " begins at step ", &step)) {
        ordeal->rewinds += generation > 1;
        if (generation == 1 && life->resumed && life->last_step != TND_UNKNOWN &&
            step <= life->last_step)
            ordeal->steps_again += life->last_step + 1 - step;
    }
}

static void take_step(life_t *life, const char *line)
{
    static const char begin[] = "{\"step\":";
    if (strncmp(line, begin, strlen(begin)) != 0)
        return; /* the rest of one that was cut short by a kill */
    life->last_step = strtoull(line + strlen(begin), NULL, 10);
    uint64_t now = tnd_clock_now();
    if (life->first_beat_ns != 0 && now - life->first_beat_ns >= told_gap_ns)
        fprintf(life->log, "%9.3f  +++ step %" PRIu64 " after %" PRIu64 " ms\n",
                (double)(now - life->ordeal->begun_ns) * 1e-9, life->last_step,
                (now - life->first_beat_ns) / ms);
    if (life->beats.count == 0 || life->beats.values[life->beats.count - 1] < now - ms)
        tnd_step_gaps_add(&life->beats, now);
    life->first_beat_ns = life->life_ns = now;
}

/*  Reads what there is, line by line; false: the other side has closed it. */
static bool take_lines(life_t *life, int file, lines_t *lines, void (*take)(life_t *, const char *))
{
    ssize_t got;
    while ((got = read(file, lines->text + lines->used, sizeof lines->text - 1 - lines->used)) >
           0) {
        size_t begin = 0;
        lines->used += (size_t)got;
        for (size_t i = 0; i < lines->used; i++)
            if (lines->text[i] == '\n') {
                lines->text[i] = '\0';
                take(life, lines->text + begin);
                begin = i + 1;
            }
        lines->used -= begin;
        memmove(lines->text, lines->text + begin, lines->used);
        if (lines->used == sizeof lines->text - 1)
            lines->used = 0;
    }
    return got < 0 && errno == EAGAIN;
}

/* --- faults ------------------------------------------------------------------------------------
 */

static void send_signal(int process, int number)
{
    if (process >= 0)
        (void)pidfd_send_signal(process, number, NULL, 0);
}

static void limit_files(life_t *life, rlim_t bytes)
{
    const tnd_plan_t *plan = life->ordeal->stage->plan;
    for (uint32_t h = 0; h < plan->host_count; h++) {
        pid_t pid;
        int process = tnd_process_tree_open(life->up.pid, plan->hosts[h].name, &pid);
        struct rlimit limit;
        if (process < 0)
            continue;
        if (prlimit(pid, RLIMIT_FSIZE, NULL, &limit) == 0) {
            limit.rlim_cur = bytes < limit.rlim_max ? bytes : limit.rlim_max;
            (void)prlimit(pid, RLIMIT_FSIZE, &limit, NULL);
        }
        close(process);
    }
}

static void undo(life_t *life, uint32_t index)
{
    active_t *active = &life->active[index];
    tnd_fault_run_t *ordeal = life->ordeal;
    switch (active->fault.kind) {
    case TND_FAULT_PAUSE:
    case TND_FAULT_STOP:
    case TND_FAULT_SLOW:
        send_signal(active->process, SIGCONT);
        break;
    case TND_FAULT_SHUT_OFF:
        (void)tnd_relay_shut(ordeal->stage->relay,
                             tnd_sandbox_door(ordeal->stage, active->fault.host), false);
        break;
    case TND_FAULT_DISK_FULL:
        limit_files(life, RLIM_INFINITY);
        break;
    default:
        break;
    }
    if (active->process >= 0)
        close(active->process);
    life->active[index] = life->active[--life->active_count];
}

static bool lasts(const life_t *life, tnd_fault_schedule_kind_t kind)
{
    for (uint32_t i = 0; i < life->active_count; i++)
        if (life->active[i].fault.kind == kind)
            return true;
    return false;
}

static void undo_all(life_t *life)
{
    while (life->active_count > 0)
        undo(life, life->active_count - 1);
}

/*  Waits for those to be gone whom nobody else waits for: what they hold must be free. */
static void bury(int process)
{
    struct pollfd file = {.fd = process, .events = POLLIN};
    (void)poll(&file, 1, 10000);
    close(process);
}

static void kill_all(life_t *life)
{
    const tnd_plan_t *plan = life->ordeal->stage->plan;
    int *processes = tnd_allocate_zeroed(plan->host_count, sizeof *processes);
    pid_t pid;
    for (uint32_t h = 0; h < plan->host_count; h++)
        processes[h] = tnd_process_tree_open(life->up.pid, plan->hosts[h].name, &pid);
    send_signal(life->process, SIGKILL);
    for (uint32_t h = 0; h < plan->host_count; h++)
        send_signal(processes[h], SIGKILL);
    for (uint32_t h = 0; h < plan->host_count; h++)
        if (processes[h] >= 0)
            bury(processes[h]);
    free(processes);
}

static bool break_connections(life_t *life, const tnd_fault_t *fault)
{
    tnd_sandbox_t *stage = life->ordeal->stage;
    tnd_relay_fault_t how = TND_RELAY_CUT;
    if (fault->kind == TND_FAULT_HALF_OPEN)
        how = fault->far ? TND_RELAY_CUT_TARGET : TND_RELAY_CUT_DIALER;
    else if (fault->kind == TND_FAULT_SILENT)
        how = TND_RELAY_SWALLOW;
    return tnd_relay_fail(stage->relay, tnd_sandbox_door(stage, fault->host), how,
                          fault->control ? stage->port : 0, stage->port) > 0;
}

/*  A fault that hit nobody is none, and nobody would undo it. */
static bool shut_off(tnd_sandbox_t *stage, uint32_t host)
{
    uint32_t door = tnd_sandbox_door(stage, host);
    if (tnd_relay_shut(stage->relay, door, true) > 0)
        return true;
    (void)tnd_relay_shut(stage->relay, door, false);
    return false;
}

/*  False: whom it should have hit is not there. */
static bool commit_fault(life_t *life, const tnd_fault_t *fault, int *process_p)
{
    tnd_sandbox_t *stage = life->ordeal->stage;
    pid_t pid;
    switch (fault->kind) {
    case TND_FAULT_CUT:
    case TND_FAULT_HALF_OPEN:
    case TND_FAULT_SILENT:
        return break_connections(life, fault);
    case TND_FAULT_SHUT_OFF:
        return shut_off(stage, fault->host);
    case TND_FAULT_DISK_FULL:
        limit_files(life, DISK_FULL);
        return true;
    case TND_FAULT_KILL_ALL:
        life->fatal = true;
        kill_all(life);
        return true;
    default:
        break;
    }
    *process_p = tnd_process_tree_open(life->up.pid, stage->plan->hosts[fault->host].name, &pid);
    if (*process_p < 0)
        return false;
    bool kills = fault->kind == TND_FAULT_KILL || fault->kind == TND_FAULT_KILL_FINAL;
    life->fatal = life->fatal || fault->kind == TND_FAULT_KILL_FINAL;
    send_signal(*process_p, kills ? SIGKILL : SIGSTOP);
    return true;
}

static void say(const life_t *life, const tnd_fault_t *fault)
{
    const tnd_fault_run_t *ordeal = life->ordeal;
    char what[256], lasts[32] = "";
    tnd_fault_run_describe(ordeal, fault, what, sizeof what);
    bool host = fault->kind != TND_FAULT_DISK_FULL && fault->kind != TND_FAULT_KILL_ALL;
    if (fault->lasts_ns > 0)
        snprintf(lasts, sizeof lasts, " for %.2f s", (double)fault->lasts_ns * 1e-9);
    double now = (double)(tnd_clock_now() - ordeal->begun_ns) * 1e-9;
    const char *at = host ? " on host " : "",
               *name = host ? ordeal->stage->plan->hosts[fault->host].name : "";
    fprintf(life->log, "%9.3f  --- %s%s%s%s\n", now, what, at, name, lasts);
    if (!ordeal->request->quiet && !ordeal->request->json)
        fprintf(stderr, "%s%8.2f s  %s%s%s%s\n", isatty(STDERR_FILENO) ? "\r\033[K" : "", now, what,
                at, name, lasts);
}

static void strike(life_t *life, const tnd_fault_t *fault)
{
    tnd_fault_run_t *ordeal = life->ordeal;
    int process = -1;
    uint64_t now = tnd_clock_now();
    life->drawn = false;
    if (life->active_count == ACTIVE_MAX || !commit_fault(life, fault, &process))
        return;
    say(life, fault);
    ordeal->deeds =
        tnd_grow(ordeal->deeds, ordeal->deed_count, &ordeal->deed_room, sizeof *ordeal->deeds);
    tnd_deed_t *deed = &ordeal->deeds[ordeal->deed_count++];
    *deed = (tnd_deed_t){.fault = *fault,
                         .from_ns = now,
                         .to_ns = now + fault->lasts_ns + echo_ns,
                         .next_ns = UINT64_MAX};
    if (ordeal->deed_count - life->first_deed > 1) {
        tnd_deed_t *before = deed - 1;
        deed->mixed = fault->at_once;
        before->mixed = before->mixed || fault->at_once;
        before->next_ns = now;
    }
    life->done_ns = now + fault->lasts_ns;
    if (fault->lasts_ns == 0) {
        if (process >= 0)
            close(process);
        return;
    }
    life->active[life->active_count++] = (active_t){.fault = *fault,
                                                    .process = process,
                                                    .end_ns = now + fault->lasts_ns,
                                                    .turn_ns = now + slow_stop_ns,
                                                    .stopped = true};
}

/*  Ends what has lasted, turns what is slow; returns when to look again. */
static uint64_t tend(life_t *life, uint64_t now)
{
    uint64_t wake = UINT64_MAX;
    for (uint32_t i = 0; i < life->active_count;) {
        active_t *active = &life->active[i];
        if (active->end_ns <= now) {
            undo(life, i);
            continue;
        }
        wake = active->end_ns < wake ? active->end_ns : wake;
        if (active->fault.kind == TND_FAULT_SLOW) {
            if (active->turn_ns <= now) {
                active->stopped = !active->stopped;
                send_signal(active->process, active->stopped ? SIGSTOP : SIGCONT);
                active->turn_ns = now + (active->stopped ? slow_stop_ns : slow_go_ns);
            }
            wake = active->turn_ns < wake ? active->turn_ns : wake;
        }
        i++;
    }
    return wake;
}

/*  Draws the next fault and strikes when its time has come; returns when to look again. */
static uint64_t disturb(life_t *life, uint64_t now)
{
    if (life->run->quiet || life->finishing || life->beats.count == 0 || life->fatal)
        return UINT64_MAX;
    if (!life->drawn) {
        life->next = tnd_fault_schedule_next(&life->ordeal->havoc);
        life->drawn = true;
        life->waits = !life->next.at_once;
        life->next_ns = now + life->next.wait_ns;
    }
    if (life->waits) {
        bool recovered = life->first_beat_ns > life->done_ns;
        if (!recovered && now < life->done_ns + impatience_ns)
            return life->done_ns + impatience_ns;
        life->waits = false;
        life->next_ns = now + life->next.wait_ns;
    }
    if (now < life->next_ns)
        return life->next_ns;
    tnd_fault_t fault = life->next;
    strike(life, &fault);
    return now;
}

/* --- a run -------------------------------------------------------------------------------------
 */

/*  The times between steps, and what each fault had to do with them. */
static void measure(life_t *life)
{
    tnd_fault_run_t *ordeal = life->ordeal;
    for (size_t d = life->first_deed; d < ordeal->deed_count; d++) {
        tnd_deed_t *deed = &ordeal->deeds[d];
        deed->measured = tnd_step_gaps_gap(&life->beats, deed->from_ns, deed->to_ns, deed->next_ns,
                                           &deed->gap_ns);
    }
    size_t d = life->first_deed;
    for (size_t b = 1; b < life->beats.count; b++) {
        uint64_t from = life->beats.values[b - 1], to = life->beats.values[b];
        while (d < ordeal->deed_count && ordeal->deeds[d].to_ns < from)
            d++;
        if (d == ordeal->deed_count || ordeal->deeds[d].from_ns > to)
            tnd_step_gaps_add(&ordeal->calm, to - from);
    }
}

static void draw_progress(life_t *life, uint64_t now)
{
    const tnd_fault_run_t *ordeal = life->ordeal;
    bool wanted = !ordeal->request->quiet && !ordeal->request->json && isatty(STDERR_FILENO) == 1;
    if (!wanted || now < life->told_ns + 200 * ms)
        return;
    life->told_ns = now;
    fprintf(stderr, "\r\033[K%8.2f s  %s, step %" PRIu64 "  %zu faults, %" PRIu64 " restarts",
            (double)(now - ordeal->begun_ns) * 1e-9, life->run->quiet ? "quiet run" : "run",
            life->last_step == TND_UNKNOWN ? 0 : life->last_step + 1, ordeal->deed_count,
            ordeal->restarts);
    fflush(stderr);
}

static void take_signals(life_t *life)
{
    struct signalfd_siginfo info;
    while (read(life->ordeal->signal_file, &info, sizeof info) == (ssize_t)sizeof info) {
        life->ordeal->signals++;
        life->ordeal->signal = (int)info.ssi_signo;
        life->ordeal->sender = (pid_t)info.ssi_pid;
        life->run->until_ns = 0;
    }
}

/*  Healed, and once it has been seen to go on, it is drained. */
static uint64_t finish(life_t *life, uint64_t now)
{
    if (life->run->until_ns > now && !life->finishing)
        return life->run->until_ns;
    if (!life->finishing) {
        life->finishing = true;
        life->finish_ns = now;
        undo_all(life);
    }
    bool goes_on = life->first_beat_ns > life->finish_ns || now > life->finish_ns + impatience_ns;
    if (!life->drained && goes_on && !life->fatal) {
        life->drained = true;
        kill(life->up.pid, SIGINT);
    }
    return life->drained ? UINT64_MAX : life->finish_ns + impatience_ns;
}

/*  Who holds it up is asked while it still hangs. */
static void ask_why(life_t *life)
{
    char *words[] = {tnd_copy_string("tundish"), tnd_copy_string("why"), NULL};
    tnd_child_t child = {0};
    tnd_child_terms_t terms = {.out = fileno(life->log),
                               .err = fileno(life->log),
                               .death_signal = SIGTERM,
                               .mask = &life->ordeal->mask};
    fprintf(life->log, "--- tundish why\n");
    fflush(life->log);
    if (tnd_child_start(&child, words, &terms))
        (void)waitpid(child.pid, NULL, 0);
    free(words[0]);
    free(words[1]);
}

static bool hangs(life_t *life, uint64_t now)
{
    if (now < life->life_ns + hang_ns + life->ordeal->stage->plan->dead_after_ns)
        return false;
    ask_why(life);
    fail(life, "the run hangs: for two minutes there was no step and no word%s", "");
    return true;
}

/*  Until `up` has ended; false: it had to be left. */
static bool watch(life_t *life)
{
    struct pollfd files[] = {{.fd = life->process, .events = POLLIN},
                             {.fd = life->metrics, .events = POLLIN},
                             {.fd = life->said, .events = POLLIN},
                             {.fd = life->ordeal->signal_file, .events = POLLIN}};
    for (;;) {
        uint64_t now = tnd_clock_now(), wake = now + 200 * ms;
        uint64_t times[] = {tend(life, now), disturb(life, now), finish(life, now)};
        for (int i = 0; i < 3; i++)
            wake = times[i] < wake ? times[i] : wake;
        now = tnd_clock_now();
        int wait = wake <= now ? 0 : (int)((wake - now) / ms) + 1;
        (void)poll(files, sizeof files / sizeof files[0], wait);
        (void)take_lines(life, life->metrics, &life->steps, take_step);
        if (files[2].fd >= 0 && !take_lines(life, life->said, &life->words, take_word))
            files[2].fd = -1;
        take_signals(life);
        draw_progress(life, tnd_clock_now());
        if ((files[0].revents & POLLIN) != 0)
            return true;
        if (life->ordeal->signals > 1 || hangs(life, tnd_clock_now()))
            return false;
    }
}

static char *read_report(const tnd_sandbox_t *stage)
{
    char *path = tnd_sandbox_path(stage, "report"), *text = NULL;
    struct stat is;
    FILE *in = fopen(path, "re");
    if (in != NULL && fstat(fileno(in), &is) == 0 && is.st_size > 0) {
        text = tnd_allocate_zeroed(1, (size_t)is.st_size + 1);
        text[fread(text, 1, (size_t)is.st_size, in)] = '\0';
    }
    if (in != NULL)
        fclose(in);
    (void)unlink(path);
    free(path);
    return text;
}

/*  Tickets that were issued again, by all batchers of a report. */
static uint64_t tickets_of(const char *report)
{
    static const char key[] = "\"again\":";
    uint64_t sum = 0;
    for (const char *at = strstr(report, key); at != NULL; at = strstr(at + 1, key))
        sum += strtoull(at + strlen(key), NULL, 10);
    return sum;
}

/*  The checkpoints of a run are of no use to the next. */
static void forget_checkpoints(const life_t *life)
{
    char *path = tnd_sandbox_path(life->ordeal->stage, life->run->quiet ? "quiet" : "checkpoints");
    tnd_sandbox_forget(path);
    free(path);
}

/*  What has become of a life; true: there is another one. */
static bool settle(life_t *life, int status, tnd_fault_run_end_t *end_p)
{
    int code = tnd_child_code(status);
    char text[64];
    if (code == TND_EXIT_OK || (life->drained && code == TND_EXIT_DRAINED)) {
        *end_p = code == TND_EXIT_OK ? TND_FAULT_RUN_ENDED : TND_FAULT_RUN_DRAINED;
        return false;
    }
    /* Its end needs the disk too; what it kept before is there. */
    if (life->fatal || life->full) {
        life->ordeal->resumes++;
        life->resumed = true;
        life->done_ns = tnd_clock_now();
        return true;
    }
    *end_p = TND_FAULT_RUN_BROKEN;
    snprintf(text, sizeof text, "%d", code);
    fail(life, "the run should have gone on, and ended with %s", text);
    return false;
}

static tnd_fault_run_end_t live(life_t *life)
{
    tnd_fault_run_end_t end = TND_FAULT_RUN_BROKEN;
    for (bool again = true; again;) {
        int status = 0;
        if (!begin_life(life))
            return end;
        bool ended = watch(life);
        life->full = lasts(life, TND_FAULT_DISK_FULL);
        undo_all(life);
        if (!ended) {
            end = life->ordeal->signals > 1 ? TND_FAULT_RUN_LEFT : TND_FAULT_RUN_BROKEN;
            kill_all(life);
        }
        (void)waitpid(life->up.pid, &status, 0);
        (void)take_lines(life, life->metrics, &life->steps, take_step);
        (void)take_lines(life, life->said, &life->words, take_word);
        close(life->said);
        close(life->process);
        again = ended && settle(life, status, &end);
    }
    return end;
}

tnd_fault_run_end_t tnd_fault_run_run(tnd_fault_run_t *self, tnd_run_t *run)
{
    life_t *life = tnd_allocate_zeroed(1, sizeof *life);
    char *metrics = tnd_sandbox_path(self->stage, "metrics"),
         *log = tnd_sandbox_path(self->stage, run->quiet ? "quiet.log" : "log");
    *life = (life_t){.ordeal = self,
                     .run = run,
                     .process = -1,
                     .last_step = TND_UNKNOWN,
                     .first_deed = self->deed_count,
                     .log = fopen(log, "ae"),
                     .metrics = open(metrics, O_RDWR | O_NONBLOCK | O_CLOEXEC)};
    if (life->log == NULL || life->metrics < 0)
        abort();
    (void)fcntl(life->metrics, F_SETPIPE_SZ, PIPE_ROOM);
    forget_checkpoints(life);
    self->runs += !run->quiet;
    tnd_fault_run_end_t end = live(life);
    measure(life);
    run->seen = life->last_step == TND_UNKNOWN ? 0 : life->last_step + 1;
    run->report = read_report(self->stage);
    if (!run->quiet && run->report != NULL)
        self->tickets += tickets_of(run->report);
    tnd_step_gaps_free(&life->beats);
    fclose(life->log);
    close(life->metrics);
    free(metrics);
    free(log);
    free(life);
    return end;
}
