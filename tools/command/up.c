/*  tools/command/up.c - `tundish up`: starts every host of this machine and merges their output. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "actors/plan/plan_queries.h"
#include "runtime/base/allocation.h"
#include "runtime/base/clock.h"
#include "runtime/checkpoint/store.h"
#include "runtime/data/open_files.h"
#include "runtime/plan/machine.h"
#include "runtime/resources/descriptors.h"
#include "runtime/resources/resources.h"
#include "tools/cli/load.h"
#include "tools/cli/log.h"
#include "tools/cli/progress.h"
#include "tools/cli/signals.h"
#include "tools/cli/terminal.h"
#include "tools/process/child.h"
#include "tools/process/host_lock.h"
#include "tools/process/output_lines.h"
#include "tools/process/output_merge.h"
#include "tools/remote/machines.h"

/*  The time that the other hosts have to notice that a host has ended, to drain, and to end. */
static const uint64_t patience_ns = 5000000000;

/*  Their time if the run cannot succeed: the leader has ended, or the run cannot begin. */
static const uint64_t short_patience_ns = 300000000;

/*  Their time after the leader has succeeded, or after all were told to end. */
static const uint64_t late_ns = 1000000000;

/*  Descriptors: standard streams, signals, those open while a child starts; two pipes per child. */
enum { OWN_DESCRIPTORS = 10, CHILD_DESCRIPTORS = 2 };

typedef struct {
    const char *name;
    tnd_child_t process;
    tnd_output_lines_t out, err;
    char *held; /* a sentence of another host about this one, until it prints its own; or NULL */
    uint32_t held_by;
    bool complained; /* the status of a sentence that no other host had printed */
    int failed;      /* its exit code, after a failure that was not requested; 0: none */
} child_t;

typedef struct {
    const tnd_request_t *request;
    const tnd_run_options_t *options;
    child_t *children;
    uint32_t count, running;
    bool led;      /* the leader runs, here or elsewhere */
    bool done;     /* the run has succeeded */
    sigset_t mask; /* of the children */
    bool told;     /* which host failed */
    size_t width;  /* length of the longest name */
    int code;      /* of the first child that failed */
    tnd_ending_t ending;
    unsigned pressed;  /* how often the children were told to end */
    uint64_t press_ns; /* when they are told again; 0: never */
    tnd_terminal_t terminal;
    tnd_output_merge_t merge;
    tnd_log_t log;
    const char *saver; /* the host with the first replica */
    uint64_t newest;   /* steps of the newest checkpoint when the leader was lost last */
    uint32_t losses;   /* of the leader since that one */
} up_t;

/* --- output ----------------------------------------------------------------------------------- */

static void print_line(const up_t *up, uint32_t index, FILE *to, const char *text, size_t size)
{
    /* JSON records contain their host. */
    if (up->log.json && to == stderr) {
        fwrite(text, 1, size, to);
        fputc('\n', to);
        fflush(to);
        return;
    }
    tnd_output_lines_print(to, up->terminal.colour, index, up->children[index].name, up->width,
                           text, size);
}

static bool has_spoken(const child_t *child)
{
    return child->out.file < 0 && child->err.file < 0;
}

/*  The child that a sentence is about, if it may still print its own. */
static child_t *spoken_for(up_t *up, uint32_t index, const char *line)
{
    size_t length = 0;
    const char *name = tnd_output_merge_speaks_for(line, &length);
    for (uint32_t i = 0; name != NULL && i < up->count; i++)
        if (i != index && strlen(up->children[i].name) == length &&
            memcmp(up->children[i].name, name, length) == 0 && !has_spoken(&up->children[i]))
            return &up->children[i];
    return NULL;
}

/*  Whose output is read. */
typedef struct {
    up_t *up;
    uint32_t index;
} speaker_t;

static void take_out(void *context, const char *line, size_t size)
{
    const speaker_t *speaker = context;
    if (speaker->up->ending.asked == 0 || strcmp(line, TND_PROGRESS_DRAINS) != 0)
        print_line(speaker->up, speaker->index, stdout, line, size);
}

static void take_error(void *context, const char *line, size_t size)
{
    up_t *up = ((const speaker_t *)context)->up;
    uint32_t index = ((const speaker_t *)context)->index;
    child_t *child = spoken_for(up, index, line);
    if (child == NULL) {
        if (tnd_output_merge_repeats(&up->merge, line))
            return;
        up->children[index].complained = true;
        print_line(up, index, stderr, line, size);
    } else if (child->held == NULL) {
        child->held = tnd_copy_string(line);
        child->held_by = index;
    }
}

static void tell_failed(up_t *up, const child_t *child)
{
    if (!up->told)
        tnd_log_complain(&up->log, child->name, "up", "host %s ended with %d: %s", child->name,
                         child->failed, tnd_child_meaning(child->failed));
    up->told = true;
}

/*  A child has printed everything; sentences about it that were held back come now.  The failed
 *  child that is named is the one that printed a sentence of its own. */
static void conclude(up_t *up, child_t *child)
{
    if (!has_spoken(child))
        return;
    if (child->held != NULL && !tnd_output_merge_repeats(&up->merge, child->held))
        print_line(up, child->held_by, stderr, child->held, strlen(child->held));
    free(child->held);
    child->held = NULL;
    if (child->failed != 0 && child->complained)
        tell_failed(up, child);
}

/*  Shows what one stream has; `whole`: all of it, and closes it. */
static void take_output(up_t *up, uint32_t index, bool error, bool whole)
{
    child_t *child = &up->children[index];
    tnd_output_lines_t *from = error ? &child->err : &child->out;
    speaker_t speaker = {.up = up, .index = index};
    if (from->file < 0)
        return;
    if (whole)
        tnd_output_lines_finish(from, error ? take_error : take_out, &speaker);
    else
        (void)tnd_output_lines_read(from, error ? take_error : take_out, &speaker);
    if (from->file < 0)
        conclude(up, child);
}

/* --- children --------------------------------------------------------------------------------- */

/*  The steps of the newest checkpoint; 0: there is none. */
static uint64_t newest_of(const tnd_plan_t *plan)
{
    uint64_t *steps = NULL, newest = 0;
    size_t count = 0;
    if (plan->checkpoint == NULL ||
        tnd_store_list(plan->checkpoint->dir, &steps, &count, NULL) != TND_OK)
        return 0;
    for (size_t i = 0; i < count && newest == 0; i++)
        newest = tnd_store_has(plan->checkpoint->dir, steps[i]) ? steps[i] : 0;
    free(steps);
    return newest;
}

/*  Whether a leader that was killed is started again: its own hosts, which it loses, end as well, and
 *  are started again. */
static bool leads_again(up_t *up, const tnd_plan_t *plan)
{
    if (plan->restarts.run == 0 || up->ending.asked > 0 || up->done || up->code != TND_EXIT_OK)
        return false;
    uint64_t newest = newest_of(plan);
    up->losses = newest > up->newest ? 1 : up->losses + 1;
    up->newest = newest;
    return up->losses <= plan->restarts.run;
}

static bool start(up_t *up, uint32_t index)
{
    child_t *child = &up->children[index];
    tnd_run_options_t options = *up->options;
    if (up->losses > 0 && up->newest > 0)
        options.load.resume = "latest";
    int out[2], err[2];
    if (pipe2(out, O_CLOEXEC) != 0 || pipe2(err, O_CLOEXEC) != 0) {
        tnd_log_complain(&up->log, "", "up", "cannot make a pipe: %s", strerror(errno));
        return false;
    }
    tnd_child_terms_t terms = {
        .out = out[1], .err = err[1], .death_signal = SIGTERM, .mask = &up->mask};
    char **words = tnd_child_words(up->request, &options, child->name, child->process.host == 0,
                                   child->name == up->saver);
    bool started = tnd_child_start(&child->process, words, &terms);
    tnd_child_words_free(words);
    close(out[1]);
    close(err[1]);
    fcntl(out[0], F_SETFL, O_NONBLOCK);
    fcntl(err[0], F_SETFL, O_NONBLOCK);
    child->out = (tnd_output_lines_t){.file = out[0]};
    child->err = (tnd_output_lines_t){.file = err[0]};
    if (started)
        up->running++;
    else
        tnd_log_complain(&up->log, child->name, "up", "cannot start host %s: %s", child->name,
                         strerror(errno));
    return started;
}

/*  Tells all children to end: the first time they drain, the second time they end at once, then
 *  they are killed. */
static void signal_children(up_t *up)
{
    static const int numbers[] = {SIGTERM, SIGINT, SIGKILL};
    int number = numbers[up->pressed < 2 ? up->pressed : 2];
    /* The children are quiet about it, because `up` prints it. */
    (void)tnd_output_merge_repeats(&up->merge,
                                   "tundish run: draining; Ctrl-C ends the run at once");
    (void)tnd_output_merge_repeats(&up->merge, "tundish run: leaving");
    up->pressed++;
    up->press_ns = tnd_clock_now() + (up->ending.asked > 1 ? late_ns : patience_ns);
    for (uint32_t i = 0; i < up->count; i++) {
        tnd_child_t *process = &up->children[i].process;
        if (process->pid > 0 && number == SIGKILL)
            tnd_child_kill(process);
        else if (process->pid > 0)
            kill(process->pid, number);
    }
}

static void take_ended(up_t *up, uint32_t index, int status)
{
    child_t *child = &up->children[index];
    char text[300];
    up->running--;
    /* A child that ran for too long after the end was killed here. */
    bool left = up->ending.asked > 1 && up->pressed > 2;
    int code = left ? TND_EXIT_DRAINED : tnd_child_code(status);
    bool leader = child->process.host == 0;
    /* A host succeeds only after the whole run did, wherever its leader is. */
    up->done = up->done || code == TND_EXIT_OK;
    bool again = leader && WIFSIGNALED(status) && leads_again(up, child->process.plan);
    up->led = up->led && (!leader || again) && !up->done;
    bool needed = up->led && up->ending.asked < 2 && up->code == TND_EXIT_OK;
    tnd_child_verdict_t verdict =
        tnd_child_ended(&child->process, status, needed, text, sizeof text);
    if (verdict == TND_CHILD_AGAIN) {
        take_output(up, index, false, true);
        take_output(up, index, true, true);
        tnd_log_complain(&up->log, child->name, "up", "host %s %s", child->name, text);
        return;
    }
    child->process.again_ns = 0;
    /* A child that still runs has missed the end of the run. */
    if (up->done && leader && up->press_ns == 0)
        up->press_ns = tnd_clock_now() + late_ns;
    if (code == TND_EXIT_OK)
        return;
    if (verdict == TND_CHILD_LATE && up->done && !left) {
        if (WIFSIGNALED(status))
            tnd_log_complain(&up->log, child->name, "up", "host %s %s after the run had ended",
                             child->name, text);
        conclude(up, child);
        return;
    }
    /* A child that was stopped while the run ended finds no leader. */
    bool asked = (code == TND_EXIT_DRAINED && (up->ending.asked > 0 || up->done)) ||
                 (code == TND_EXIT_PEER && up->done);
    bool first = up->code == TND_EXIT_OK;
    if ((WIFSIGNALED(status) && !left) || verdict == TND_CHILD_LIMIT) {
        up->told = true;
        tnd_log_complain(&up->log, child->name, "up", "host %s %s", child->name, text);
    } else if (!asked && code != TND_EXIT_DRAINED)
        child->failed = code;
    conclude(up, child);
    if (first && !(asked && up->done))
        up->code = code;
    /* The other hosts notice it themselves, or are told. */
    bool vain =
        leader || code == TND_EXIT_TOPOLOGY || code == TND_EXIT_USAGE || verdict == TND_CHILD_LIMIT;
    if (!asked && up->press_ns == 0)
        up->press_ns = tnd_clock_now() + (vain ? short_patience_ns : patience_ns);
}

static void take_children(void *context)
{
    up_t *up = context;
    for (uint32_t i = 0; i < up->count; i++) {
        int status;
        if (tnd_child_has_ended(&up->children[i].process, &status))
            take_ended(up, i, status);
    }
}

static void take_request(void *context, const char *cause)
{
    up_t *up = context;
    tnd_log_complain(&up->log, "", "up", "%s%s", tnd_signals_answer(up->ending.asked), cause);
    if (up->pressed < up->ending.asked)
        signal_children(up);
    up->press_ns = up->ending.asked == 1 ? 0 : up->press_ns;
}

/*  Restarts children that are due, reaps those that ended a while ago, and kills those that do not
 *  work any more; returns when one is due. */
static uint64_t start_again(up_t *up)
{
    uint64_t next = TND_NEVER, now = tnd_clock_now();
    for (uint32_t i = 0; i < up->count; i++) {
        tnd_child_t *process = &up->children[i].process;
        uint64_t reap_ns = tnd_child_reap(process, now);
        next = up->running > 0 && reap_ns < next ? reap_ns : next;
        uint64_t look_ns =
            up->led && up->code == TND_EXIT_OK ? tnd_child_look_after(process, now) : TND_NEVER;
        next = look_ns < next ? look_ns : next;
        if (process->again_ns == 0)
            continue;
        if (!up->led || up->code != TND_EXIT_OK || up->ending.asked > 1) {
            process->again_ns = 0;
        } else if (process->again_ns <= now) {
            if (!start(up, i))
                up->code = TND_EXIT_FAILED;
        } else if (process->again_ns < next) {
            next = process->again_ns;
        }
    }
    return next;
}

/*  Runs until all children have ended and all output is shown. */
static void watch(up_t *up, int signals)
{
    struct pollfd *files = tnd_allocate_zeroed(2 * (size_t)up->count + 1, sizeof *files);
    for (;;) {
        bool open = false;
        uint64_t wake = start_again(up);
        files[0] = (struct pollfd){.fd = signals, .events = POLLIN};
        for (uint32_t i = 0; i < up->count; i++) {
            files[2 * i + 1] = (struct pollfd){.fd = up->children[i].out.file, .events = POLLIN};
            files[2 * i + 2] = (struct pollfd){.fd = up->children[i].err.file, .events = POLLIN};
            open = open || up->children[i].out.file >= 0 || up->children[i].err.file >= 0;
        }
        if (!open && up->running == 0 && wake == TND_NEVER)
            break;
        if (up->press_ns != 0 && up->running > 0 && up->press_ns < wake)
            wake = up->press_ns;
        uint64_t now = tnd_clock_now();
        int wait = wake == TND_NEVER ? -1 : now >= wake ? 0 : (int)((wake - now) / 1000000) + 1;
        (void)poll(files, 2 * (nfds_t)up->count + 1, wait);
        if (files[0].revents != 0)
            tnd_signals_read(signals, &up->ending,
                             &(tnd_signal_reader_t){take_children, take_request, up});
        for (uint32_t i = 0; i < up->count; i++) {
            child_t *child = &up->children[i];
            if (files[2 * i + 1].revents != 0 && child->out.file == files[2 * i + 1].fd)
                take_output(up, i, false, false);
            if (files[2 * i + 2].revents != 0 && child->err.file == files[2 * i + 2].fd)
                take_output(up, i, true, false);
        }
        if (up->press_ns != 0 && up->running > 0 && tnd_clock_now() >= up->press_ns)
            signal_children(up);
    }
    for (uint32_t i = 0; i < up->count; i++) {
        (void)tnd_child_reap(&up->children[i].process, TND_NEVER);
        if (up->children[i].failed != 0 && up->children[i].failed == up->code)
            tell_failed(up, &up->children[i]);
    }
    free(files);
}

static int perform(up_t *up)
{
    sigset_t set;
    tnd_signals_set(&set);
    sigprocmask(SIG_BLOCK, &set, &up->mask);
    sigorset(&up->mask, &up->mask, &set); /* the children hold them until they can drain */
    sigaddset(&set, SIGCHLD);
    sigprocmask(SIG_BLOCK, &set, NULL);
    int signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
    if (signals < 0)
        abort();
    bool started = true;
    for (uint32_t i = 0; i < up->count && started; i++)
        started = start(up, i);
    if (!started) {
        up->code = TND_EXIT_FAILED;
        up->pressed = 1; /* there is nothing to drain */
        signal_children(up);
    }
    watch(up, signals);
    close(signals);
    return up->code;
}

/*  Whether a host of this machine runs already. */
static bool is_free(up_t *up, const tnd_plan_t *plan)
{
    for (uint32_t i = 0; i < up->count; i++) {
        tnd_error_t error;
        if (tnd_host_lock_look(plan, up->children[i].process.host, &error) == TND_OK)
            continue;
        tnd_log_complain(&up->log, up->children[i].name, "up", "%s", error.text);
        return false;
    }
    return true;
}

/*  Checks the files of all hosts of this machine in one pass, before anything is started. */
static bool check_resources(const tnd_graph_t *graph)
{
    const tnd_plan_t *plan = tnd_graph_plan(graph);
    tnd_arena_t *arena = tnd_arena_new();
    tnd_diagnostics_t *diagnostics = tnd_diagnostics_new(arena);
    bool good = true;
    for (uint32_t h = 0; h < plan->host_count; h++) {
        tnd_resources_t resources;
        if (!tnd_machine_has(plan->hosts[h].address))
            continue;
        tnd_resources_list(&resources, plan, h);
        good = tnd_resources_look(&resources, diagnostics) && good;
        tnd_resources_close(&resources);
    }
    tnd_diagnostics_print(diagnostics, stderr);
    tnd_arena_destroy(&arena);
    return good;
}

/*  Whether this process may open the descriptors for its children, and each child its own. */
static bool may_open(up_t *up, const tnd_plan_t *plan)
{
    tnd_plan_t whole = tnd_placement_whole(plan);
    tnd_error_t error;
    for (uint32_t i = 0; i < up->count; i++) {
        if (tnd_descriptors_check(&whole, up->children[i].process.host, &tnd_network->cost,
                                  &error) == TND_OK)
            continue;
        tnd_log_complain(&up->log, up->children[i].name, "up", "%s", error.text);
        return false;
    }
    if (tnd_open_files_reserve(OWN_DESCRIPTORS + up->count * CHILD_DESCRIPTORS, &error) == TND_OK)
        return true;
    tnd_complain("up", "%s", error.text);
    return false;
}

static int up_graph(const tnd_request_t *request)
{
    const tnd_run_options_t *options = request->options;
    if (options->on != NULL)
        return tnd_machines_run(request);
    if (options->via != NULL || options->leader != NULL || options->meet != NULL)
        return tnd_usage_error("up", "%s is for --on: without it all hosts are on this machine",
                               options->via != NULL      ? "--via"
                               : options->leader != NULL ? "--leader"
                                                         : "--meet");
    up_t up = {.request = request,
               .options = options,
               .led = true,
               .terminal = tnd_terminal_look(STDOUT_FILENO)};
    if (!tnd_log_init(&up.log, "up", &options->log))
        return TND_EXIT_USAGE;
    if (!tnd_load_resumes(request, &options->load, NULL, "up"))
        return TND_EXIT_USAGE;
    tnd_signals_forget();
    tnd_graph_t *graph = tnd_load_graph(request, &options->load, NULL, false);
    int code = TND_EXIT_TOPOLOGY;
    if (tnd_load_check(graph) && check_resources(graph)) {
        const tnd_plan_t *plan = tnd_graph_plan(graph);
        bool local = true;
        if (plan->chains[0].feeder != NULL) {
            uint32_t host = plan->instances[tnd_plan_keeper(plan, 0)].host;
            up.saver = plan->hosts[host].name;
            local = tnd_machine_has(plan->hosts[host].address);
        }
        up.children = tnd_allocate_zeroed(plan->host_count, sizeof *up.children);
        for (uint32_t h = 0; h < plan->host_count; h++) {
            if (plan->hosts[h].isolated)
                continue; /* its parent starts it */
            if (!tnd_machine_has(plan->hosts[h].address)) {
                tnd_log_complain(
                    &up.log, plan->hosts[h].name, "up",
                    "host %s is %s, another machine: start it there, by `tundish up` or "
                    "`tundish run` with the same files and --host %s",
                    plan->hosts[h].name, plan->hosts[h].address, plan->hosts[h].name);
                continue;
            }
            child_t *child = &up.children[up.count++];
            child->name = plan->hosts[h].name;
            child->process =
                (tnd_child_t){.plan = plan, .host = h, .resumes = plan->restarts.run > 0};
            child->out.file = child->err.file = -1;
            up.width = strlen(child->name) > up.width ? strlen(child->name) : up.width;
        }
        bool leads = up.count > 0 && strcmp(up.children[0].name, plan->hosts[0].name) == 0;
        if (up.count == 0)
            code = tnd_usage_error("up", "no host of this graph has an address of this machine, so "
                                         "there is nothing to start");
        else if (!leads && (options->report != NULL || options->metrics != NULL))
            code = tnd_usage_error(
                "up", "%s is only for the leader, host %s, which is on another machine",
                options->report != NULL ? "--report" : "--metrics", plan->hosts[0].name);
        else if (options->save != NULL && (!tnd_load_steps(plan, 0) || !local))
            code = tnd_usage_error("up", local ? "--save: no step of this graph has a model"
                                               : "--save is for the host that carries the first "
                                                 "replica, which is another machine");
        else if (may_open(&up, plan))
            code = is_free(&up, plan) ? perform(&up) : TND_EXIT_PEER;
        free(up.children);
        tnd_output_merge_free(&up.merge);
    }
    tnd_graph_destroy(&graph);
    return code;
}

static const tnd_argument_t arguments[] = {
    {TND_ARGUMENT("--on", TEXT, tnd_run_options_t, on, "LIST",
                  "starts a process on each of these machines by --via: a,b, node[1-4], or @FILE "
                  "with a name per line")},
    {TND_COMMON("--via", tnd_run_options_t, via)},
    TND_RUN_ARGUMENTS,
    {TND_COMMON("--trust-data", tnd_run_options_t, load.trust_data)},
    {TND_COMMON("--save", tnd_run_options_t, save)},
    {TND_COMMON("--quiet", tnd_run_options_t, log.quiet)},
    {TND_COMMON("--log-level", tnd_run_options_t, log.level)},
    {TND_COMMON("--log-json", tnd_run_options_t, log.json)},
};

const tnd_command_t tnd_command_up = {
    .name = "up",
    .operands = "FILE...",
    .summary = "starts every host of a graph whose address is this machine, or one on each of --on",
    TND_ARGUMENTS(arguments, tnd_run_options_t),
    .details =
        "Each host is a process, `tundish run FILES...  --host NAME`; its output is shown with\n"
        "its name before it.  Ctrl-C drains all hosts, as SIGTERM, SIGUSR1 and SIGUSR2 do; a\n"
        "second Ctrl-C ends them.  A host without replicas, or with those of `deal: whole`, that\n"
        "is killed, or stays stopped, is replaced, as `restart:` and `restarts:` define, and the\n"
        "run continues.  If a host fails in another way, the others are stopped; `up` returns\n"
        "its exit code.\n"
        "\n"
        "It starts the hosts whose `address:` is this machine, and lists the others: start\n"
        "those on their machines by the same command, or each by `tundish run FILES...  --host\n"
        "NAME`.  The run begins when all hosts have connected.  A host without an address\n"
        "counts as this machine.  A host that is running already is refused.\n"
        "\n"
        "--on a,b --via 'ssh {address}' runs `ssh a tundish run --sent` and the same for b, and\n"
        "sends the files; data and plugins must be there.  Machine i has rank i of a launcher\n"
        "(`tundish help launch`), and the first one is --leader, unless --meet names a folder.\n"
        "Ctrl-C drains all.  A machine that refuses, or does not answer in three quarters of\n"
        "`start_timeout`, is named and ends the run, unless `min:` lets it begin without.  With\n"
        "`restarts: {run: N}` a machine whose process is killed, or whose connection ends, is\n"
        "started again and the others wait for it; after the first machine all are, and resume.\n"
        "If that one does not answer, the second leads, if `min:` allows.\n",
    .codes = "  0      all hosts succeeded\n"
             "  2      usage\n"
             "  78     the topology is wrong, or there are too few file descriptors\n"
             "  130    drained, or interrupted\n"
             "  128+n  the first host that failed was killed by signal n\n"
             "  else   the exit code of the first host that failed: see tundish run --help\n",
    .operands_min = 1,
    .drains = true,
    .run = up_graph,
};
