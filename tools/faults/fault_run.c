/*  tools/faults/fault_run.c - runs of a graph under faults, observed from outside. */
#include "tools/faults/fault_run.h"

#include <czmq.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "runtime/base/allocation.h"
#include "runtime/base/clock.h"
#include "runtime/base/folder.h"
#include "runtime/base/log_events.h"
#include "tools/faults/fault_injector.h"
#include "tools/process/child.h"

static const uint64_t ms = 1000000;

/*  A gap that begins this long after a fault has ended may still be its effect. */
static const uint64_t echo_ns = 1000000000;

/*  The next fault is injected after this time even if no step followed the one before: the run may
 *  be computing something else, or have no step left. */
static const uint64_t recovery_timeout_ns = 10000000000;

/*  The log shows longer times without a step. */
static const uint64_t logged_gap_ns = 50000000;

/*  A run hangs after this time without a step and without output. */
static const uint64_t hang_ns = 120000000000;

enum { LINE_ROOM = 8192, PIPE_ROOM = 1 << 20 };

typedef struct {
    char text[LINE_ROOM];
    size_t used;
} lines_t;

/*  One run, and its current attempt: a run is resumed after a fault that ends it. */
typedef struct {
    tnd_fault_run_t *runs;
    tnd_run_t *run;
    tnd_child_t up;
    tnd_fault_injector_t injector;
    int output, metrics;
    FILE *log;
    lines_t words, steps;
    tnd_step_gaps_t step_times;
    uint64_t last_step;            /* TND_UNKNOWN: none yet */
    uint64_t step_ns, activity_ns; /* the last step; the last step or line of output */
    size_t first_injected;
    tnd_fault_t next;
    uint64_t next_ns, done_ns;
    bool drawn, waits; /* there is a next fault; it waits for the run to recover */
    bool fatal;        /* a fault ended this attempt */
    bool full;         /* it ended while the disk was full */
    bool resumed, finishing, drained;
    uint64_t finish_ns, drawn_ns;
} attempt_t;

/* --- hosts ------------------------------------------------------------------------------------ */

void tnd_fault_run_init(tnd_fault_run_t *self, const tnd_chaos_options_t *options)
{
    sigset_t set;
    *self = (tnd_fault_run_t){.options = options};
    sigemptyset(&set);
    sigaddset(&set, SIGINT);
    sigaddset(&set, SIGTERM);
    sigprocmask(SIG_BLOCK, &set, &self->mask);
    self->signal_file = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
    if (self->signal_file < 0)
        abort();
    /* A write beyond the limit of a "full disk" fails instead of killing the process. */
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
            flags |= TND_FAULT_LISTENS;
    }
    for (uint32_t d = 0; d < plan->hosts[host].device_count; d++)
        flags |= strncmp(plan->hosts[host].devices[d], "sim:", 4) == 0 ? TND_FAULT_DEVICES : 0;
    for (uint32_t i = 0; i < plan->instance_count; i++) {
        tnd_role_t role = plan->instances[i].kind->role;
        if (plan->instances[i].host == host && (role == TND_ROLE_READER || role == TND_ROLE_WORKER))
            flags |= TND_FAULT_LOCAL;
    }
    return flags;
}

void tnd_fault_run_begin(tnd_fault_run_t *self, tnd_sandbox_t *sandbox, uint64_t seed)
{
    const tnd_plan_t *plan = sandbox->plan;
    self->sandbox = sandbox;
    self->begun_ns = tnd_clock_now();
    self->hosts = tnd_allocate_zeroed(plan->host_count, sizeof *self->hosts);
    for (uint32_t h = 0; h < plan->host_count; h++)
        self->hosts[h] = flags_of(plan, h);
    tnd_fault_schedule_config_t config = {.seed = seed,
                                          .hosts = self->hosts,
                                          .host_count = plan->host_count,
                                          .dead_after_ns = plan->dead_after_ns,
                                          .stop_most_ns =
                                              plan->dead_after_ns + plan->link_timeout_ns * 3 / 2,
                                          .patience_ns = tnd_host_absence_limits(plan).grace_ns,
                                          .all = self->options->all,
                                          .disk = sandbox->keeps};
    tnd_fault_schedule_init(&self->schedule, &config);
    char *path = tnd_sandbox_path(sandbox, "metrics");
    if (mkfifo(path, 0600) != 0)
        abort();
    free(path);
}

void tnd_fault_run_fini(tnd_fault_run_t *self)
{
    tnd_fault_schedule_fini(&self->schedule);
    tnd_step_gaps_free(&self->calm);
    free(self->hosts);
    free(self->injected);
    close(self->signal_file);
    sigprocmask(SIG_SETMASK, &self->mask, NULL);
}

/*  The kinds of actor on a host: "reader, batcher". */
static void name_actors(const tnd_plan_t *plan, uint32_t host, char *text, size_t room)
{
    static const char *const names[] = {
        [TND_ROLE_READER] = "reader",         [TND_ROLE_CACHE] = "cache",
        [TND_ROLE_WORKER] = "worker",         [TND_ROLE_JOIN] = "batcher",
        [TND_ROLE_REDUCER] = "reducer",       [TND_ROLE_FEEDER] = "feeder",
        [TND_ROLE_PARAMETERS] = "parameters", [TND_ROLE_OBSERVER] = "observer"};
    static const tnd_role_t order[] = {TND_ROLE_READER,     TND_ROLE_CACHE,   TND_ROLE_WORKER,
                                       TND_ROLE_JOIN,       TND_ROLE_REDUCER, TND_ROLE_FEEDER,
                                       TND_ROLE_PARAMETERS, TND_ROLE_OBSERVER};
    size_t used = 0;
    text[0] = '\0';
    for (size_t k = 0; k < sizeof order / sizeof order[0]; k++)
        for (uint32_t i = 0; i < plan->instance_count; i++)
            if (plan->instances[i].host == host && plan->instances[i].kind->role == order[k]) {
                used += (size_t)snprintf(text + used, room - used, "%s%s", used > 0 ? ", " : "",
                                         names[order[k]]);
                break;
            }
}

void tnd_fault_run_describe(const tnd_fault_run_t *self, const tnd_fault_t *fault, char *text,
                            size_t room)
{
    const char *name = tnd_fault_schedule_name(fault->kind);
    char actors[128];
    name_actors(self->sandbox->plan, fault->host, actors, sizeof actors);
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
    case TND_FAULT_DEVICE_SLOW:
    case TND_FAULT_COPIES_LATE:
    case TND_FAULT_DEVICE_LOST:
    case TND_FAULT_KILL_ALL:
    case TND_FAULT_COUNT:
        break;
    }
    snprintf(text, room, "%s", name);
}

/* --- an attempt ------------------------------------------------------------------------------- */

static void add_word(char **words, size_t *used, const char *format, const char *value)
{
    if (value != NULL)
        words[(*used)++] = tnd_format_string(format, value);
}

/*  Tells the simulated devices of each feeder where to learn what is wrong with them. */
static void add_device_faults(const tnd_fault_run_t *runs, char **words, size_t *used)
{
    const tnd_plan_t *plan = runs->sandbox->plan;
    for (uint32_t i = 0; i < plan->instance_count; i++) {
        const tnd_instance_t *instance = &plan->instances[i];
        bool first = i == 0 || strcmp(plan->instances[i - 1].actor, instance->actor) != 0;
        if (instance->kind->role == TND_ROLE_FEEDER && first &&
            (runs->hosts[instance->host] & TND_FAULT_DEVICES) != 0)
            words[(*used)++] = tnd_format_string("--set=%s.sim.faults=\"%s\"", instance->actor,
                                                 runs->sandbox->device_faults);
    }
}

static char **words_of(const attempt_t *self)
{
    const tnd_load_options_t *load = &self->runs->options->load;
    const tnd_sandbox_t *sandbox = self->runs->sandbox;
    char **words = tnd_allocate_zeroed(load->settings.count + sandbox->file_count +
                                           sandbox->plan->instance_count + 24,
                                       sizeof *words);
    char *metrics = tnd_sandbox_path(sandbox, "metrics"),
         *report = tnd_sandbox_path(sandbox, "report");
    char *checkpoints = tnd_sandbox_path(sandbox, self->run->quiet ? "quiet" : "checkpoints");
    char number[32];
    size_t used = 0;
    add_word(words, &used, "%s", "tundish");
    add_word(words, &used, "%s", "up");
    add_word(words, &used, "--metrics=%s", metrics);
    add_word(words, &used, "--report=%s", report);
    add_word(words, &used, "--data=%s", load->data);
    add_word(words, &used, "--log-level=%s", "info");
    for (size_t i = 0; i < load->settings.count; i++)
        words[used++] = tnd_format_string("--set=%s=%s", load->settings.items[i].key,
                                          load->settings.items[i].value);
    if (sandbox->keeps)
        add_word(words, &used, "--set=checkpoint.dir=\"%s\"", checkpoints);
    add_device_faults(self->runs, words, &used);
    if (self->resumed)
        add_word(words, &used, "%s", "--resume");
    snprintf(number, sizeof number, "%" PRIu64, self->run->steps);
    add_word(words, &used, "--steps=%s", self->run->steps != UINT64_MAX ? number : NULL);
    add_word(words, &used, "%s", "--");
    for (size_t i = 0; i < sandbox->file_count; i++)
        add_word(words, &used, "%s", sandbox->files[i]);
    free(metrics);
    free(report);
    free(checkpoints);
    return words;
}

static bool fail(attempt_t *self, const char *format, const char *detail)
{
    snprintf(self->runs->why, sizeof self->runs->why, format, detail);
    return false;
}

static bool start(attempt_t *self)
{
    int out[2];
    if (pipe2(out, O_CLOEXEC) != 0)
        return fail(self, "cannot make a pipe: %s", strerror(errno));
    tnd_child_terms_t terms = {
        .out = out[1], .err = out[1], .death_signal = SIGTERM, .mask = &self->runs->mask};
    char **words = words_of(self);
    tnd_fault_injector_renew(&self->injector);
    bool started = tnd_child_start(&self->up, words, &terms);
    tnd_child_words_free(words);
    close(out[1]);
    fcntl(out[0], F_SETFL, O_NONBLOCK);
    self->output = out[0];
    self->injector.up = self->up.pid;
    self->injector.up_process = started ? pidfd_open(self->up.pid, 0) : -1;
    self->words.used = self->steps.used = 0;
    self->fatal = false;
    self->activity_ns = tnd_clock_now();
    return started ? true : fail(self, "cannot start `tundish up`: %s", strerror(errno));
}

/*  The number after a text in a line; false: the line does not contain the text. */
static bool number_after(const char *line, const char *text, uint64_t *number_p)
{
    const char *at = strstr(line, text);
    if (at == NULL)
        return false;
    *number_p = strtoull(at + strlen(text), NULL, 10);
    return true;
}

static void take_word(attempt_t *self, const char *line)
{
    tnd_fault_run_t *runs = self->runs;
    uint64_t generation, step;
    self->activity_ns = tnd_clock_now();
    fprintf(self->log, "%9.3f  %s\n", (double)(self->activity_ns - runs->begun_ns) * 1e-9, line);
    runs->restarts += strstr(line, TND_LOG_RESTART) != NULL;
    runs->unwritten += strstr(line, TND_LOG_NO_CHECKPOINT) != NULL;
    if (number_after(line, TND_LOG_GENERATION, &generation) &&
        number_after(line, TND_LOG_BEGINS, &step)) {
        runs->rewinds += generation > 1;
        if (generation == 1 && self->resumed && self->last_step != TND_UNKNOWN &&
            step <= self->last_step)
            runs->steps_again += self->last_step + 1 - step;
    }
}

static void take_step(attempt_t *self, const char *line)
{
    static const char begin[] = "{\"step\":";
    if (strncmp(line, begin, strlen(begin)) != 0)
        return; /* a kill cut this line */
    self->last_step = strtoull(line + strlen(begin), NULL, 10);
    uint64_t now = tnd_clock_now();
    if (self->step_ns != 0 && now - self->step_ns >= logged_gap_ns)
        fprintf(self->log, "%9.3f  +++ step %" PRIu64 " after %" PRIu64 " ms\n",
                (double)(now - self->runs->begun_ns) * 1e-9, self->last_step,
                (now - self->step_ns) / ms);
    if (self->step_times.count == 0 ||
        self->step_times.values[self->step_times.count - 1] < now - ms)
        tnd_step_gaps_add(&self->step_times, now);
    self->step_ns = self->activity_ns = now;
}

/*  Reads the lines that are available; false: the other side has closed the pipe. */
static bool take_lines(attempt_t *self, int file, lines_t *lines,
                       void (*take)(attempt_t *, const char *))
{
    ssize_t got;
    while ((got = read(file, lines->text + lines->used, sizeof lines->text - 1 - lines->used)) >
           0) {
        size_t begin = 0;
        lines->used += (size_t)got;
        for (size_t i = 0; i < lines->used; i++)
            if (lines->text[i] == '\n') {
                lines->text[i] = '\0';
                take(self, lines->text + begin);
                begin = i + 1;
            }
        lines->used -= begin;
        memmove(lines->text, lines->text + begin, lines->used);
        if (lines->used == sizeof lines->text - 1)
            lines->used = 0;
    }
    return got < 0 && errno == EAGAIN;
}

/* --- faults ----------------------------------------------------------------------------------- */

static void report_fault(const attempt_t *self, const tnd_fault_t *fault)
{
    const tnd_fault_run_t *runs = self->runs;
    char what[256], lasts[32] = "";
    tnd_fault_run_describe(runs, fault, what, sizeof what);
    bool host = fault->kind != TND_FAULT_DISK_FULL && fault->kind != TND_FAULT_KILL_ALL;
    if (fault->lasts_ns > 0)
        snprintf(lasts, sizeof lasts, " for %.2f s", (double)fault->lasts_ns * 1e-9);
    double now = (double)(tnd_clock_now() - runs->begun_ns) * 1e-9;
    const char *at = host ? " on host " : "",
               *name = host ? runs->sandbox->plan->hosts[fault->host].name : "";
    fprintf(self->log, "%9.3f  --- %s%s%s%s\n", now, what, at, name, lasts);
    if (!runs->options->quiet && !runs->options->json)
        fprintf(stderr, "%s%8.2f s  %s%s%s%s\n", isatty(STDERR_FILENO) ? "\r\033[K" : "", now, what,
                at, name, lasts);
}

static void inject(attempt_t *self, const tnd_fault_t *fault)
{
    tnd_fault_run_t *runs = self->runs;
    uint64_t now = tnd_clock_now();
    self->drawn = false;
    if (!tnd_fault_injector_inject(&self->injector, fault, now))
        return;
    self->fatal = self->fatal || fault->kind == TND_FAULT_KILL_ALL ||
                  fault->kind == TND_FAULT_KILL_FINAL || fault->kind == TND_FAULT_DEVICE_LOST;
    report_fault(self, fault);
    runs->injected = tnd_grow(runs->injected, runs->injected_count, &runs->injected_room,
                              sizeof *runs->injected);
    tnd_injected_t *injected = &runs->injected[runs->injected_count++];
    *injected = (tnd_injected_t){.fault = *fault,
                                 .from_ns = now,
                                 .to_ns = now + fault->lasts_ns + echo_ns,
                                 .next_ns = UINT64_MAX};
    if (runs->injected_count - self->first_injected > 1) {
        tnd_injected_t *before = injected - 1;
        injected->mixed = fault->at_once;
        before->mixed = before->mixed || fault->at_once;
        before->next_ns = now;
    }
    self->done_ns = now + fault->lasts_ns;
}

/*  Draws the next fault and injects it when it is due; returns when to call it again. */
static uint64_t disturb(attempt_t *self, uint64_t now)
{
    if (self->run->quiet || self->finishing || self->step_times.count == 0 || self->fatal)
        return UINT64_MAX;
    if (!self->drawn) {
        self->next = tnd_fault_schedule_next(&self->runs->schedule);
        self->drawn = true;
        self->waits = !self->next.at_once;
        self->next_ns = now + self->next.wait_ns;
    }
    if (self->waits) {
        bool recovered = self->step_ns > self->done_ns;
        if (!recovered && now < self->done_ns + recovery_timeout_ns)
            return self->done_ns + recovery_timeout_ns;
        self->waits = false;
        self->next_ns = now + self->next.wait_ns;
    }
    if (now < self->next_ns)
        return self->next_ns;
    tnd_fault_t fault = self->next;
    inject(self, &fault);
    return now;
}

/* --- a run ------------------------------------------------------------------------------------ */

/*  Assigns the gaps between steps to the faults that may have caused them. */
static void measure(attempt_t *self)
{
    tnd_fault_run_t *runs = self->runs;
    for (size_t d = self->first_injected; d < runs->injected_count; d++) {
        tnd_injected_t *injected = &runs->injected[d];
        injected->measured =
            tnd_step_gaps_gap(&self->step_times, injected->from_ns, injected->to_ns,
                              injected->next_ns, &injected->gap_ns);
    }
    size_t d = self->first_injected;
    for (size_t b = 1; b < self->step_times.count; b++) {
        uint64_t from = self->step_times.values[b - 1], to = self->step_times.values[b];
        while (d < runs->injected_count && runs->injected[d].to_ns < from)
            d++;
        if (d == runs->injected_count || runs->injected[d].from_ns > to)
            tnd_step_gaps_add(&runs->calm, to - from);
    }
}

static void draw_progress(attempt_t *self, uint64_t now)
{
    const tnd_fault_run_t *runs = self->runs;
    bool wanted = !runs->options->quiet && !runs->options->json && isatty(STDERR_FILENO) == 1;
    if (!wanted || now < self->drawn_ns + 200 * ms)
        return;
    self->drawn_ns = now;
    fprintf(stderr, "\r\033[K%8.2f s  %s, step %" PRIu64 "  %zu faults, %" PRIu64 " restarts",
            (double)(now - runs->begun_ns) * 1e-9, self->run->quiet ? "quiet run" : "run",
            self->last_step == TND_UNKNOWN ? 0 : self->last_step + 1, runs->injected_count,
            runs->restarts);
    fflush(stderr);
}

static void take_signals(attempt_t *self)
{
    struct signalfd_siginfo info;
    while (read(self->runs->signal_file, &info, sizeof info) == (ssize_t)sizeof info) {
        self->runs->signals++;
        self->runs->signal = (int)info.ssi_signo;
        self->runs->sender = (pid_t)info.ssi_pid;
        self->run->until_ns = 0;
    }
}

/*  After its time, ends all faults, waits for a step, then drains the run. */
static uint64_t finish(attempt_t *self, uint64_t now)
{
    if (self->run->until_ns > now && !self->finishing)
        return self->run->until_ns;
    if (!self->finishing) {
        self->finishing = true;
        self->finish_ns = now;
        tnd_fault_injector_end_all(&self->injector);
    }
    bool recovered = self->step_ns > self->finish_ns || now > self->finish_ns + recovery_timeout_ns;
    if (!self->drained && recovered && !self->fatal) {
        self->drained = true;
        kill(self->up.pid, SIGINT);
    }
    return self->drained ? UINT64_MAX : self->finish_ns + recovery_timeout_ns;
}

/*  Writes what the hanging run waits for to the log. */
static void log_why(attempt_t *self)
{
    char *words[] = {tnd_copy_string("tundish"), tnd_copy_string("why"), NULL};
    tnd_child_t child = {0};
    tnd_child_terms_t terms = {.out = fileno(self->log),
                               .err = fileno(self->log),
                               .death_signal = SIGTERM,
                               .mask = &self->runs->mask};
    fprintf(self->log, "--- tundish why\n");
    fflush(self->log);
    if (tnd_child_start(&child, words, &terms))
        (void)waitpid(child.pid, NULL, 0);
    free(words[0]);
    free(words[1]);
}

static bool hangs(attempt_t *self, uint64_t now)
{
    if (now < self->activity_ns + hang_ns + self->runs->sandbox->plan->dead_after_ns)
        return false;
    log_why(self);
    fail(self, "the run hangs: no step and no output for two minutes%s", "");
    return true;
}

/*  Runs until `up` has ended; false: it was given up. */
static bool watch(attempt_t *self)
{
    int *ended = &self->injector.up_process;
    bool open = true, left = false;
    zpoller_t *poller =
        zpoller_new(ended, &self->metrics, &self->output, &self->runs->signal_file, NULL);
    zpoller_set_nonstop(poller, true);
    for (bool running = true; running && !left;) {
        uint64_t now = tnd_clock_now(), wake = now + 200 * ms;
        uint64_t times[] = {tnd_fault_injector_tend(&self->injector, now), disturb(self, now),
                            finish(self, now)};
        for (int i = 0; i < 3; i++)
            wake = times[i] < wake ? times[i] : wake;
        now = tnd_clock_now();
        running = zpoller_wait(poller, wake <= now ? 0 : (int)((wake - now) / ms) + 1) != ended;
        (void)take_lines(self, self->metrics, &self->steps, take_step);
        if (open && !take_lines(self, self->output, &self->words, take_word)) {
            open = false;
            zpoller_remove(poller, &self->output);
        }
        take_signals(self);
        draw_progress(self, tnd_clock_now());
        left = running && (self->runs->signals > 1 || hangs(self, tnd_clock_now()));
    }
    zpoller_destroy(&poller);
    return !left;
}

static char *read_report(const tnd_sandbox_t *sandbox)
{
    char *path = tnd_sandbox_path(sandbox, "report"), *text = NULL;
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

/*  Tickets that all batchers of a report issued again. */
static uint64_t tickets_of(const char *report)
{
    static const char key[] = "\"again\":";
    uint64_t sum = 0;
    for (const char *at = strstr(report, key); at != NULL; at = strstr(at + 1, key))
        sum += strtoull(at + strlen(key), NULL, 10);
    return sum;
}

/*  The next run must not resume from them. */
static void remove_checkpoints(const attempt_t *self)
{
    char *path = tnd_sandbox_path(self->runs->sandbox, self->run->quiet ? "quiet" : "checkpoints");
    tnd_folder_remove(path);
    free(path);
}

/*  Judges how an attempt ended; true: the run is to be resumed. */
static bool settle(attempt_t *self, int status, tnd_fault_run_end_t *end_p)
{
    int code = tnd_child_code(status);
    char text[64];
    if (code == TND_EXIT_OK || (self->drained && code == TND_EXIT_DRAINED)) {
        *end_p = code == TND_EXIT_OK ? TND_FAULT_RUN_ENDED : TND_FAULT_RUN_DRAINED;
        return false;
    }
    /* The end of a run writes files too; its checkpoints are complete. */
    if (self->fatal || self->full) {
        self->runs->resumes++;
        self->resumed = true;
        /* The steps of this attempt do not show that the next one has begun. */
        self->done_ns = self->finish_ns = tnd_clock_now();
        return true;
    }
    *end_p = TND_FAULT_RUN_BROKEN;
    snprintf(text, sizeof text, "%d", code);
    fail(self, "the run should have continued, but ended with exit code %s", text);
    return false;
}

static tnd_fault_run_end_t run_attempts(attempt_t *self)
{
    tnd_fault_run_end_t end = TND_FAULT_RUN_BROKEN;
    for (bool again = true; again;) {
        int status = 0;
        if (!start(self))
            return end;
        bool ended = watch(self);
        self->full = tnd_fault_injector_lasts(&self->injector, TND_FAULT_DISK_FULL);
        tnd_fault_injector_end_all(&self->injector);
        if (!ended) {
            end = self->runs->signals > 1 ? TND_FAULT_RUN_LEFT : TND_FAULT_RUN_BROKEN;
            tnd_fault_injector_kill_all(&self->injector);
        }
        (void)waitpid(self->up.pid, &status, 0);
        (void)take_lines(self, self->metrics, &self->steps, take_step);
        (void)take_lines(self, self->output, &self->words, take_word);
        close(self->output);
        close(self->injector.up_process);
        again = ended && settle(self, status, &end);
    }
    return end;
}

tnd_fault_run_end_t tnd_fault_run_run(tnd_fault_run_t *self, tnd_run_t *run)
{
    attempt_t *attempt = tnd_allocate_zeroed(1, sizeof *attempt);
    char *metrics = tnd_sandbox_path(self->sandbox, "metrics"),
         *log = tnd_sandbox_path(self->sandbox, run->quiet ? "quiet.log" : "log");
    *attempt = (attempt_t){.runs = self,
                           .run = run,
                           .injector = {.sandbox = self->sandbox, .up_process = -1},
                           .last_step = TND_UNKNOWN,
                           .first_injected = self->injected_count,
                           .log = fopen(log, "ae"),
                           .metrics = open(metrics, O_RDWR | O_NONBLOCK | O_CLOEXEC)};
    if (attempt->log == NULL || attempt->metrics < 0)
        abort();
    (void)fcntl(attempt->metrics, F_SETPIPE_SZ, PIPE_ROOM);
    remove_checkpoints(attempt);
    self->runs += !run->quiet;
    tnd_fault_run_end_t end = run_attempts(attempt);
    measure(attempt);
    run->seen = attempt->last_step == TND_UNKNOWN ? 0 : attempt->last_step + 1;
    run->report = read_report(self->sandbox);
    if (!run->quiet && run->report != NULL)
        self->tickets += tickets_of(run->report);
    tnd_step_gaps_free(&attempt->step_times);
    fclose(attempt->log);
    close(attempt->metrics);
    free(metrics);
    free(log);
    free(attempt);
    return end;
}
