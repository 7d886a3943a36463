/*  tools/up.c - starts every host of this machine, and is one program to whoever watches. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "runtime/life/clock.h"
#include "tools/load.h"
#include "tools/machine.h"
#include "tools/terminal.h"

/*  How long the others may take to see for themselves that a host has ended, to drain, to leave. */
static const uint64_t patience_ns = 5000000000;

enum { LINE_MAX_BYTES = 4096 };

/*  What one stream of a child said and has not ended with a new line. */
typedef struct {
    int file; /* -1: closed */
    FILE *to;
    char text[LINE_MAX_BYTES];
    size_t used;
} pipe_t;

typedef struct {
    const char *name;
    pid_t pid; /* 0: ended */
    pipe_t out, err;
} child_t;

typedef struct {
    const tnd_request_t *request;
    child_t *children;
    uint32_t count, running;
    size_t width; /* of the longest name */
    int code;     /* of the first child that failed */
    unsigned signals;
    unsigned pressed;  /* how often the children were told to end */
    uint64_t press_ns; /* when they are told again; 0: never */
    tnd_terminal_t terminal;
} up_t;

/* --- output ------------------------------------------------------------------------------------
 */

static void print_line(const up_t *up, uint32_t index, FILE *to, const char *text, size_t size)
{
    static const int colours[] = {36, 33, 35, 32, 34, 31};
    if (up->terminal.colour)
        fprintf(to, "\033[%dm", colours[index % (sizeof colours / sizeof colours[0])]);
    fprintf(to, "%-*s |", (int)up->width, up->children[index].name);
    fputs(up->terminal.colour ? "\033[0m " : " ", to);
    fwrite(text, 1, size, to);
    fputc('\n', to);
    fflush(to);
}

static void take_output(const up_t *up, uint32_t index, pipe_t *from)
{
    ssize_t got = read(from->file, from->text + from->used, sizeof from->text - from->used);
    if (got < 0 && (errno == EINTR || errno == EAGAIN))
        return;
    if (got > 0)
        from->used += (size_t)got;
    size_t begin = 0;
    for (size_t i = 0; i < from->used; i++)
        if (from->text[i] == '\n') {
            print_line(up, index, from->to, from->text + begin, i - begin);
            begin = i + 1;
        }
    from->used -= begin;
    memmove(from->text, from->text + begin, from->used);
    if (from->used == sizeof from->text || (got <= 0 && from->used > 0)) {
        print_line(up, index, from->to, from->text, from->used);
        from->used = 0;
    }
    if (got <= 0) {
        close(from->file);
        from->file = -1;
    }
}

/* --- children ----------------------------------------------------------------------------------
 */

/*  The command line of one host's child, as a list ended by NULL. */
static char **words_of(const tnd_request_t *request, const char *program, const char *host,
                       bool leads)
{
    size_t room = request->file_count + 2 * request->setting_count + 16, used = 0;
    char **words = calloc(room, sizeof *words);
    if (words == NULL)
        abort();
    const char *texts[][2] = {
        {"--host", host},
        {"--data", request->data},
        {"--report", leads ? request->report : NULL},
        {"--metrics", leads ? request->metrics : NULL},
    };
    words[used++] = strdup(program);
    words[used++] = strdup("run");
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
        if (texts[i][1] != NULL && asprintf(&words[used++], "%s=%s", texts[i][0], texts[i][1]) < 0)
            abort();
    for (size_t i = 0; i < request->setting_count; i++)
        if (asprintf(&words[used++], "--set=%s=%s", request->settings[i].key,
                     request->settings[i].value) < 0)
            abort();
    if (request->steps != UINT64_MAX &&
        asprintf(&words[used++], "--steps=%" PRIu64, request->steps) < 0)
        abort();
    if (request->quiet)
        words[used++] = strdup("--quiet");
    words[used++] = strdup("--");
    for (size_t i = 0; i < request->file_count; i++)
        words[used++] = strdup(request->files[i]);
    return words;
}

static void free_words(char **words)
{
    for (size_t i = 0; words[i] != NULL; i++)
        free(words[i]);
    free(words);
}

/*  In the child, between fork and exec. */
static void become(char **words, const int out[2], const int err[2], pid_t parent,
                   const sigset_t *mask)
{
    /* A group of its own: a Ctrl-C of the terminal comes to us alone, and once to the child. */
    setpgid(0, 0);
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (getppid() != parent)
        _exit(TND_EXIT_FAILED);
    dup2(out[1], STDOUT_FILENO);
    dup2(err[1], STDERR_FILENO);
    sigprocmask(SIG_SETMASK, mask, NULL);
    execv("/proc/self/exe", words);
    _exit(TND_EXIT_FAILED);
}

static bool start(up_t *up, uint32_t index, bool leads, const sigset_t *mask)
{
    child_t *child = &up->children[index];
    int out[2], err[2];
    if (pipe2(out, O_CLOEXEC) != 0 || pipe2(err, O_CLOEXEC) != 0) {
        tnd_complain("up", "cannot make a pipe: %s", strerror(errno));
        return false;
    }
    char **words = words_of(up->request, "tundish", child->name, leads);
    pid_t parent = getpid();
    child->pid = fork();
    if (child->pid == 0)
        become(words, out, err, parent, mask);
    free_words(words);
    close(out[1]);
    close(err[1]);
    child->out = (pipe_t){.file = out[0], .to = stdout};
    child->err = (pipe_t){.file = err[0], .to = stderr};
    if (child->pid > 0) {
        up->running++;
        return true;
    }
    child->pid = 0;
    tnd_complain("up", "cannot start host %s: %s", child->name, strerror(errno));
    return false;
}

/*  Tells all children to end: the first time they drain, the second they leave, then they are
 *  killed.
 */
static void press(up_t *up)
{
    int number = up->pressed < 2 ? SIGTERM : SIGKILL;
    up->pressed++;
    up->press_ns = tnd_clock_now() + patience_ns;
    for (uint32_t i = 0; i < up->count; i++)
        if (up->children[i].pid > 0)
            kill(up->children[i].pid, number);
}

static const char *meaning_of(int code)
{
    switch (code) {
    case TND_EXIT_FAILED:
        return "it failed";
    case TND_EXIT_USAGE:
        return "its command line is wrong";
    case TND_EXIT_PEER:
        return "another host refused, did not come or was lost";
    case TND_EXIT_TOPOLOGY:
        return "its topology or its files cannot be used";
    default:
        return "it failed";
    }
}

static void take_ended(up_t *up, child_t *child, int status)
{
    child->pid = 0;
    up->running--;
    int code = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
    if (code == TND_EXIT_OK)
        return;
    bool asked = up->signals > 0 && code == TND_EXIT_DRAINED;
    if (WIFSIGNALED(status))
        tnd_complain("up", "host %s was killed by signal %d (%s)", child->name, WTERMSIG(status),
                     strsignal(WTERMSIG(status)));
    else if (!asked && code != TND_EXIT_DRAINED)
        tnd_complain("up", "host %s ended with %d: %s", child->name, code, meaning_of(code));
    if (up->code == TND_EXIT_OK)
        up->code = code;
    /* The others see it for themselves, or are told. */
    if (!asked && up->press_ns == 0)
        up->press_ns = tnd_clock_now() + patience_ns;
}

static void take_signal(up_t *up, int files)
{
    struct signalfd_siginfo info;
    while (read(files, &info, sizeof info) == (ssize_t)sizeof info) {
        if (info.ssi_signo == SIGCHLD) {
            for (uint32_t i = 0; i < up->count; i++) {
                int status;
                if (up->children[i].pid > 0 &&
                    waitpid(up->children[i].pid, &status, WNOHANG) == up->children[i].pid)
                    take_ended(up, &up->children[i], status);
            }
            continue;
        }
        up->signals++;
        fputs(up->signals == 1 ? "tundish up: draining; once more to leave at once\n"
                               : "tundish up: leaving\n",
              stderr);
        if (up->pressed < up->signals)
            press(up);
        up->press_ns = up->signals == 1 ? 0 : up->press_ns;
    }
}

/*  Until all children have ended and all they said is shown. */
static void watch(up_t *up, int signals)
{
    struct pollfd *files = calloc(2 * (size_t)up->count + 1, sizeof *files);
    if (files == NULL)
        abort();
    for (;;) {
        bool open = false;
        files[0] = (struct pollfd){.fd = signals, .events = POLLIN};
        for (uint32_t i = 0; i < up->count; i++) {
            files[2 * i + 1] = (struct pollfd){.fd = up->children[i].out.file, .events = POLLIN};
            files[2 * i + 2] = (struct pollfd){.fd = up->children[i].err.file, .events = POLLIN};
            open = open || up->children[i].out.file >= 0 || up->children[i].err.file >= 0;
        }
        if (!open && up->running == 0)
            break;
        uint64_t now = tnd_clock_now();
        int wait = -1;
        if (up->press_ns != 0 && up->running > 0)
            wait = now >= up->press_ns ? 0 : (int)((up->press_ns - now) / 1000000) + 1;
        (void)poll(files, 2 * (nfds_t)up->count + 1, wait);
        if (files[0].revents != 0)
            take_signal(up, signals);
        for (uint32_t i = 0; i < up->count; i++) {
            if (files[2 * i + 1].revents != 0)
                take_output(up, i, &up->children[i].out);
            if (files[2 * i + 2].revents != 0)
                take_output(up, i, &up->children[i].err);
        }
        if (up->press_ns != 0 && up->running > 0 && tnd_clock_now() >= up->press_ns)
            press(up);
    }
    free(files);
}

static int perform(up_t *up, const tnd_plan_t *plan)
{
    sigset_t set, mask;
    sigemptyset(&set);
    sigaddset(&set, SIGINT);
    sigaddset(&set, SIGTERM);
    sigaddset(&set, SIGCHLD);
    sigprocmask(SIG_BLOCK, &set, &mask);
    int signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
    if (signals < 0)
        abort();
    bool started = true;
    for (uint32_t i = 0; i < up->count && started; i++)
        started = start(up, i, strcmp(up->children[i].name, plan->hosts[0].name) == 0, &mask);
    if (!started) {
        up->code = TND_EXIT_FAILED;
        up->pressed = 1; /* there is nothing to drain */
        press(up);
    }
    watch(up, signals);
    close(signals);
    return up->code;
}

static int up_graph(const tnd_request_t *request)
{
    tnd_graph_t *graph = tnd_load_graph(request, NULL, false);
    up_t up = {.request = request, .terminal = tnd_terminal_look()};
    int code = TND_EXIT_TOPOLOGY;
    if (tnd_load_check(graph)) {
        const tnd_plan_t *plan = tnd_graph_plan(graph);
        up.children = calloc(plan->host_count, sizeof *up.children);
        if (up.children == NULL)
            abort();
        for (uint32_t h = 0; h < plan->host_count; h++) {
            if (!tnd_machine_has(plan->hosts[h].address)) {
                fprintf(stderr, "tundish up: host %s is %s, another machine: start it there\n",
                        plan->hosts[h].name, plan->hosts[h].address);
                continue;
            }
            child_t *child = &up.children[up.count++];
            child->name = plan->hosts[h].name;
            child->out.file = child->err.file = -1;
            up.width = strlen(child->name) > up.width ? strlen(child->name) : up.width;
        }
        bool leads = up.count > 0 && strcmp(up.children[0].name, plan->hosts[0].name) == 0;
        if (up.count == 0)
            code = tnd_usage_error("up", "no host of this graph has an address of this machine");
        else if (!leads && (request->report != NULL || request->metrics != NULL))
            code = tnd_usage_error("up", "%s is for host %s, which leads and is another machine",
                                   request->report != NULL ? "--report" : "--metrics",
                                   plan->hosts[0].name);
        else
            code = perform(&up, plan);
        free(up.children);
    }
    tnd_graph_destroy(&graph);
    return code;
}

const tnd_command_t tnd_command_up;
const tnd_command_t tnd_command_up = {
    .name = "up",
    .operands = "FILE...",
    .summary = "starts every host of the overlays whose address is this machine",
    .arguments = (const char *const[]){"--set", "--data", "--steps", "--report", "--metrics",
                                       "--quiet", NULL},
    .details =
        "Each host is a process, `tundish run FILES... --host NAME`; what it prints is shown with\n"
        "its name before it.  Ctrl-C drains all of them, once more leaves.  When one fails the\n"
        "others are stopped, and its exit code is that of `up`.\n",
    .codes = "  0      all hosts have ended well\n"
             "  2      usage\n"
             "  78     the topology is wrong\n"
             "  130    drained, or left\n"
             "  128+n  the first host that failed was killed by signal n\n"
             "  else   what the first host that failed ended with: see tundish run --help\n",
    .operands_min = 1,
    .run = up_graph,
};
