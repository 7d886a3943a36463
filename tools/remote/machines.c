/*  tools/remote/machines.c - starts a run with a process on each of several machines. */
#include "tools/remote/machines.h"

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

#include "runtime/base/allocation.h"
#include "runtime/base/clock.h"
#include "runtime/data/open_files.h"
#include "runtime/launch/hostlist.h"
#include "tools/cli/load.h"
#include "tools/cli/log.h"
#include "tools/cli/progress.h"
#include "tools/cli/signals.h"
#include "tools/cli/terminal.h"
#include "tools/launch/launch_choice.h"
#include "tools/launch/sent_run.h"
#include "tools/process/child.h"
#include "tools/process/output_lines.h"
#include "tools/process/output_merge.h"
#include "tools/remote/remote_command.h"

/*  The time that the other machines have to notice that one has ended, and to end; the same if the
 *  run cannot begin, and after it is over. */
static const uint64_t patience_ns = 5000000000, short_patience_ns = 300000000, late_ns = 2000000000;

/*  Descriptors: standard streams, signals, those open while a command starts; three pipes each. */
enum { OWN_DESCRIPTORS = 12, MACHINE_DESCRIPTORS = 3, LIST_BYTES = 1 << 20, NOT_FOUND = 127 };

typedef struct {
    const char *name;
    char **words;
    char *command; /* they as text */
    pid_t pid;     /* 0: it has ended */
    int in;        /* -1: closed */
    char head[TND_SENT_HEAD];
    size_t sent; /* bytes of the head and of the files */
    tnd_output_lines_t out, err;
    bool needed; /* the run does not begin without it */
    bool answered, named, complained;
    bool killed;       /* by this process */
    uint64_t until_ns; /* when it has answered at the latest */
    int code;          /* after it has ended */
    uint64_t ended_ns; /* 0: it has not */
} machine_t;

/*  After the loss of the first machine, which leads, all begin again. */
typedef enum {
    NOT_AGAIN,
    OTHERS_END,  /* until none runs any more */
    FIRST_BEGINS /* and the others once it has answered */
} again_t;

typedef struct {
    const tnd_request_t *request;
    const tnd_run_options_t *options;
    tnd_hostlist_t list;
    machine_t *machines;
    uint32_t count, running;
    char *bytes; /* of the files */
    size_t size;
    uint64_t answer_ns; /* the time of the start, of which they have three quarters to answer */
    uint64_t restarts;  /* starts again after a loss that are left */
    uint32_t spare_first, spare_end; /* ranks without which the run may begin */
    uint32_t least;                  /* hosts of their range; 0: all */
    bool may_drop;                   /* the first rank is of that range */
    bool keeps;                      /* the run has checkpoints */
    uint64_t dead_after_ns;
    again_t again; /* the first machine was lost */
    bool drops;    /* it is not there any more */
    uint64_t again_ns;
    bool told;
    bool done; /* a machine succeeded, which it does only after the whole run did */
    int code;
    tnd_ending_t ending;
    unsigned pressed;
    uint64_t press_ns; /* when the others are told to end; 0: never */
    size_t width;
    tnd_terminal_t terminal;
    tnd_output_merge_t merge;
    tnd_log_t log;
} up_t;

/* --- the list --------------------------------------------------------------------------------- */

/*  Joins the lines of a text by commas, without what follows `#`. */
static void join_lines(char *text)
{
    char *out = text;
    for (char *line = text, *next; line != NULL; line = next) {
        next = strchr(line, '\n');
        if (next != NULL)
            *next++ = '\0';
        line[strcspn(line, "#\r")] = '\0';
        char *begin = line + strspn(line, " \t"), *end = begin + strlen(begin);
        while (end > begin && strchr(" \t,", end[-1]) != NULL)
            end--;
        if (end > begin && out > text)
            *out++ = ',';
        memmove(out, begin, (size_t)(end - begin));
        out += end - begin;
    }
    *out = '\0';
}

/*  The list in a file, which the caller frees; NULL: it cannot be read, see errno. */
static char *read_file(const char *path)
{
    FILE *in = fopen(path, "re");
    if (in == NULL)
        return NULL;
    char *text = tnd_allocate(LIST_BYTES + 1, 1);
    size_t size = fread(text, 1, LIST_BYTES + 1, in);
    int why = ferror(in) ? errno : size > LIST_BYTES ? EFBIG : 0;
    fclose(in);
    if (why == 0 && memchr(text, '\0', size) != NULL)
        why = EINVAL;
    if (why != 0) {
        free(text);
        errno = why;
        return NULL;
    }
    text[size] = '\0';
    join_lines(text);
    return text;
}

/*  Returns TND_EXIT_OK, or prints an error. */
static int read_list(up_t *up, const char *on)
{
    tnd_error_t error;
    char *text = on[0] == '@' ? read_file(on + 1) : tnd_copy_string(on);
    if (text == NULL)
        return tnd_usage_error("up", "--on: %s cannot be read: %s", on + 1, strerror(errno));
    tnd_status_t status = tnd_hostlist_read(&up->list, text, &error);
    free(text);
    if (status != TND_OK)
        return tnd_usage_error("up", "--on %s: %s", on, error.text);
    if (up->list.count == 0)
        return tnd_usage_error("up", "--on %s: no machine is named", on);
    for (size_t i = 0; i < up->list.count; i++)
        for (size_t before = 0; before < i; before++)
            if (strcmp(up->list.names[before], up->list.names[i]) == 0)
                return tnd_usage_error("up",
                                       "--on: %s is named twice; each machine has one process",
                                       up->list.names[i]);
    return TND_EXIT_OK;
}

/* --- output ----------------------------------------------------------------------------------- */

typedef struct {
    up_t *up;
    uint32_t index;
} speaker_t;

static void print_line(up_t *up, uint32_t index, FILE *to, const char *line, size_t size)
{
    bool bare = up->log.json && to == stderr; /* JSON records contain their host */
    if (!bare) {
        tnd_output_lines_print(to, up->terminal.colour, index, up->machines[index].name, up->width,
                               line, size);
        return;
    }
    fwrite(line, 1, size, to);
    fputc('\n', to);
    fflush(to);
}

static void take_out(void *context, const char *line, size_t size)
{
    const speaker_t *speaker = context;
    up_t *up = speaker->up;
    machine_t *machine = &up->machines[speaker->index];
    if (!machine->answered && strcmp(line, TND_SENT_ANSWER) == 0)
        machine->answered = true;
    else if (up->ending.asked == 0 || strcmp(line, TND_PROGRESS_DRAINS) != 0)
        print_line(up, speaker->index, stdout, line, size);
}

static void take_error(void *context, const char *line, size_t size)
{
    const speaker_t *speaker = context;
    up_t *up = speaker->up;
    if (tnd_output_merge_repeats(&up->merge, line))
        return;
    up->machines[speaker->index].complained = true;
    print_line(up, speaker->index, stderr, line, size);
}

/* --- commands --------------------------------------------------------------------------------- */

/*  Runs in the child, between fork and exec. */
static void become(char *const *words, const int *files, pid_t parent)
{
    sigset_t none;
    sigemptyset(&none);
    setpgid(0, 0); /* Ctrl-C in the terminal reaches the parent, which passes it on */
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (getppid() != parent)
        _exit(NOT_FOUND);
    dup2(files[0], STDIN_FILENO);
    dup2(files[1], STDOUT_FILENO);
    dup2(files[2], STDERR_FILENO);
    signal(SIGPIPE, SIG_DFL);
    sigprocmask(SIG_SETMASK, &none, NULL);
    execvp(words[0], words);
    dprintf(STDERR_FILENO, "cannot run %s: %s\n", words[0], strerror(errno));
    _exit(NOT_FOUND);
}

/*  Before it is started again. */
static void forget(machine_t *machine)
{
    machine->answered = machine->named = machine->killed = false;
    machine->sent = 0;
    machine->ended_ns = 0;
    if (machine->out.file >= 0)
        close(machine->out.file);
    if (machine->err.file >= 0)
        close(machine->err.file);
    machine->out.file = machine->err.file = -1;
}

static bool start(up_t *up, machine_t *machine)
{
    int in[2], out[2], err[2];
    pid_t parent = getpid();
    if (pipe2(in, O_CLOEXEC) != 0 || pipe2(out, O_CLOEXEC) != 0 || pipe2(err, O_CLOEXEC) != 0) {
        tnd_log_complain(&up->log, machine->name, "up", "cannot make a pipe: %s", strerror(errno));
        return false;
    }
    pid_t pid = fork();
    if (pid == 0)
        become(machine->words, (const int[]){in[0], out[1], err[1]}, parent);
    close(in[0]);
    close(out[1]);
    close(err[1]);
    fcntl(in[1], F_SETFL, O_NONBLOCK);
    fcntl(out[0], F_SETFL, O_NONBLOCK);
    fcntl(err[0], F_SETFL, O_NONBLOCK);
    machine->in = in[1];
    machine->out = (tnd_output_lines_t){.file = out[0]};
    machine->err = (tnd_output_lines_t){.file = err[0]};
    if (pid < 0) {
        tnd_log_complain(&up->log, machine->name, "up", "cannot start `%s`: %s", machine->command,
                         strerror(errno));
        return false;
    }
    machine->until_ns = tnd_clock_now() + up->answer_ns / 4 * 3;
    setpgid(pid, pid); /* here too, so that it is true before a signal is sent */
    machine->pid = pid;
    up->running++;
    return true;
}

static void close_input(machine_t *machine)
{
    if (machine->in >= 0)
        close(machine->in);
    machine->in = -1;
}

static bool is_sent(const up_t *up, const machine_t *machine)
{
    return machine->sent == strlen(machine->head) + up->size;
}

/*  Sends what the pipe takes. */
static void send_more(const up_t *up, machine_t *machine)
{
    size_t head = strlen(machine->head);
    const char *from =
        machine->sent < head ? machine->head + machine->sent : up->bytes + (machine->sent - head);
    size_t left = machine->sent < head ? head - machine->sent : up->size + head - machine->sent;
    ssize_t put = write(machine->in, from, left);
    if (put > 0)
        machine->sent += (size_t)put;
    else if (put < 0 && errno != EAGAIN && errno != EINTR)
        close_input(machine); /* it has ended, or does not read; how it ends tells more */
}

static void end_command(machine_t *machine, int number)
{
    close_input(machine);
    machine->killed = true;
    (void)kill(-machine->pid, number);
}

/*  Tells all to drain, then to end, then kills the commands. */
static void press(up_t *up)
{
    static const char bytes[] = {TND_SENT_DRAIN, TND_SENT_END};
    (void)tnd_output_merge_repeats(&up->merge,
                                   "tundish run: draining; Ctrl-C ends the run at once");
    (void)tnd_output_merge_repeats(&up->merge, "tundish run: leaving");
    for (uint32_t i = 0; i < up->count; i++) {
        machine_t *machine = &up->machines[i];
        if (machine->pid == 0)
            continue;
        /* A command that has not answered has nothing to drain. */
        bool kills = up->pressed >= 2 || !machine->answered || machine->in < 0 ||
                     write(machine->in, &bytes[up->pressed], 1) != 1;
        if (kills)
            end_command(machine, up->pressed >= 2 ? SIGKILL : SIGTERM);
    }
    up->pressed++;
    up->press_ns = tnd_clock_now() + (up->ending.asked > 1 ? late_ns : patience_ns);
}

/* --- the end ---------------------------------------------------------------------------------- */

/*  One failed for this reason; the others notice it, or are told. */
static void fail(up_t *up, int code, uint64_t wait_ns)
{
    if (up->code == TND_EXIT_OK)
        up->code = code;
    if (up->press_ns == 0)
        up->press_ns = tnd_clock_now() + wait_ns;
}

/*  Whether the others begin without the first machine, which has not answered. */
static bool begins_without_first(up_t *up)
{
    if (up->again != FIRST_BEGINS || !up->may_drop || up->spare_end <= up->least)
        return false;
    up->drops = true;
    up->again = OTHERS_END;
    up->again_ns = 0;
    return true;
}

/*  A machine on which nothing runs.  If the run begins without it, it cannot come late. */
static void miss(up_t *up, machine_t *machine, const char *why)
{
    if (up->pressed == 0)
        tnd_log_complain(&up->log, machine->name, "up", "machine %s: `%s` %s", machine->name,
                         machine->command, why);
    machine->named = true;
    if (!machine->needed && machine->pid > 0)
        end_command(machine, SIGTERM);
    if (!machine->needed || up->pressed > 0 || begins_without_first(up))
        return;
    up->told = true;
    fail(up, TND_EXIT_PEER, 0);
}

static void describe(int status, char *text, size_t room)
{
    if (WIFSIGNALED(status))
        snprintf(text, room, "was killed by signal %d (%s)", WTERMSIG(status),
                 strsignal(WTERMSIG(status)));
    else
        snprintf(text, room, "ended with %d", WEXITSTATUS(status));
}

/*  The others resume without a machine that was lost, or with what is started there now. */
static bool starts_again(up_t *up, uint32_t index, int status, const char *how)
{
    machine_t *machine = &up->machines[index];
    bool lost = WIFSIGNALED(status) || machine->code == TND_EXIT_PEER ||
                (machine->code > 128 && machine->code != TND_EXIT_DRAINED);
    if (lost && index > 0 && up->again == OTHERS_END)
        return true;
    if (!lost || up->restarts == 0 || up->done || up->ending.asked > 0 || up->code != TND_EXIT_OK)
        return false;
    up->restarts--;
    tnd_log_complain(
        &up->log, machine->name, "up", "machine %s: `%s` %s: %s", machine->name, machine->command,
        how, index == 0 ? "it led the run, and all are started again" : "it is started again");
    if (index > 0) {
        forget(machine);
        machine->needed = false;
        return start(up, machine);
    }
    up->again = OTHERS_END;
    up->again_ns = tnd_clock_now() + up->dead_after_ns + patience_ns;
    return true;
}

static void take_ended(up_t *up, uint32_t index, int status)
{
    machine_t *machine = &up->machines[index];
    speaker_t speaker = {.up = up, .index = index};
    char how[100], why[200];
    up->running--;
    machine->pid = 0;
    machine->ended_ns = tnd_clock_now();
    machine->code = tnd_child_code(status);
    close_input(machine);
    while (machine->out.file >= 0 && tnd_output_lines_read(&machine->out, take_out, &speaker))
        continue;
    while (machine->err.file >= 0 && tnd_output_lines_read(&machine->err, take_error, &speaker))
        continue;
    describe(status, how, sizeof how);
    if (!machine->answered || machine->named) {
        snprintf(why, sizeof why, "%s before the files had arrived", how);
        if (!machine->named)
            miss(up, machine, why);
        return;
    }
    up->done = up->done || machine->code == TND_EXIT_OK;
    if (machine->code == TND_EXIT_OK && index == 0 && up->press_ns == 0)
        up->press_ns = tnd_clock_now() + late_ns;
    /* One that was stopped while the run ended has failed for no other reason. */
    bool asked = machine->killed || machine->code == TND_EXIT_PEER ||
                 (machine->code == TND_EXIT_DRAINED && up->pressed > 0);
    if (machine->code == TND_EXIT_OK || (up->done && asked) || up->pressed > 2 ||
        starts_again(up, index, status, how))
        return;
    if (machine->code == TND_EXIT_DRAINED) {
        fail(up, machine->code, patience_ns);
        return;
    }
    if (!up->told)
        tnd_log_complain(&up->log, machine->name, "up", "machine %s: `%s` %s%s%s", machine->name,
                         machine->command, how, WIFSIGNALED(status) ? "" : ": ",
                         WIFSIGNALED(status) ? "" : tnd_child_meaning(machine->code));
    up->told = true;
    fail(up, machine->code, index == 0 ? short_patience_ns : patience_ns);
}

static void take_children(void *context)
{
    up_t *up = context;
    for (uint32_t i = 0; i < up->count; i++) {
        int status;
        if (up->machines[i].pid > 0 &&
            waitpid(up->machines[i].pid, &status, WNOHANG) == up->machines[i].pid)
            take_ended(up, i, status);
    }
}

static void take_request(void *context, const char *cause)
{
    up_t *up = context;
    tnd_log_complain(&up->log, "", "up", "%s%s", tnd_signals_answer(up->ending.asked), cause);
    up->again = NOT_AGAIN;
    if (up->code == TND_EXIT_OK)
        up->code = TND_EXIT_DRAINED;
    if (up->pressed < up->ending.asked)
        press(up);
    up->press_ns = up->ending.asked == 1 ? 0 : up->press_ns;
}

/*  Names the machines that have not answered in time. */
static void name_silent(up_t *up, uint64_t now)
{
    char why[100];
    snprintf(why, sizeof why, "has not answered for %.3g s", 1e-9 * 0.75 * (double)up->answer_ns);
    for (uint32_t i = 0; i < up->count; i++)
        if (!up->machines[i].answered && up->machines[i].pid > 0 && !up->machines[i].named &&
            now >= up->machines[i].until_ns)
            miss(up, &up->machines[i], why);
}

/* --- what is sent ----------------------------------------------------------------------------- */

/*  Options, variables and files, which are the same for all. */
static int prepare_files(up_t *up, const tnd_run_options_t *options)
{
    const tnd_request_t *request = up->request;
    tnd_sent_run_t sent;
    tnd_error_t error;
    if (tnd_sent_run_load(&sent, request->files, request->file_count, &error) != TND_OK)
        return tnd_usage_error("up", "%s", error.text);
    char **line =
        tnd_child_words(request, options, NULL, true, true); /* tundish run OPTIONS -- FILES */
    size_t used = 0, count = 0;
    while (line[count] != NULL)
        count++;
    sent.words = tnd_allocate_zeroed(count + 3, sizeof *sent.words);
    for (size_t i = 2; strcmp(line[i], "--") != 0; i++)
        sent.words[used++] = tnd_copy_string(line[i]);
    tnd_child_words_free(line);
    sent.words[used++] = tnd_copy_string("--launch=hand");
    if (options->meet != NULL)
        sent.words[used++] = tnd_format_string("--meet=%s", options->meet);
    sent.variables = tnd_allocate_zeroed(5, sizeof *sent.variables);
    sent.variables[0] = tnd_format_string("TUNDISH_HOSTS=%zu", up->list.count);
    sent.variables[1] = tnd_format_string("TUNDISH_JOB=up-%" PRIx64 "-%d",
                                          tnd_clock_read(CLOCK_REALTIME), (int)getpid());
    sent.variables[2] = tnd_format_string(
        "TUNDISH_LEADER=%s", options->leader != NULL ? options->leader : up->list.names[0]);
    up->bytes = tnd_sent_run_write(&sent, &up->size);
    tnd_sent_run_free(&sent);
    return TND_EXIT_OK;
}

/*  What the machine has to do; the files are ready. */
static void set_rank(up_t *up, uint32_t rank)
{
    up->machines[rank].needed = rank < up->spare_first || rank >= up->spare_end;
    tnd_sent_run_head(up->machines[rank].head, rank, up->bytes, up->size);
}

/* --- all again -------------------------------------------------------------------------------- */

static void drop_first(up_t *up)
{
    up->drops = false;
    up->count--;
    up->spare_end--;
    tnd_remote_command_free(up->machines[0].words);
    free(up->machines[0].command);
    memmove(up->machines, up->machines + 1, up->count * sizeof *up->machines);
    free(up->list.names[0]);
    up->list.count--;
    memmove(up->list.names, up->list.names + 1, up->list.count * sizeof *up->list.names);
}

/*  Once no command runs, the first machine begins: with a new name of the job, so that nothing that is
 *  left over can take part. */
static void begin_first(up_t *up)
{
    tnd_run_options_t options = *up->options;
    for (uint32_t i = 0; i < up->count; i++)
        if (up->machines[i].pid > 0)
            end_command(&up->machines[i], SIGKILL);
    if (up->running > 0)
        return;
    if (up->drops)
        drop_first(up);
    if (up->keeps)
        options.load.resume = "latest";
    free(up->bytes);
    up->bytes = NULL;
    if (prepare_files(up, &options) != TND_EXIT_OK)
        fail(up, TND_EXIT_FAILED, 0);
    for (uint32_t i = 0; i < up->count; i++) {
        forget(&up->machines[i]);
        set_rank(up, i);
    }
    up->again = up->code == TND_EXIT_OK && start(up, up->machines) ? FIRST_BEGINS : NOT_AGAIN;
}

static void begin_others(up_t *up)
{
    up->again = NOT_AGAIN;
    for (uint32_t i = 1; i < up->count; i++)
        if (!start(up, &up->machines[i]))
            fail(up, TND_EXIT_FAILED, 0);
}

static void begin_again(up_t *up)
{
    if (up->again == OTHERS_END && (up->done || up->code != TND_EXIT_OK)) {
        up->again = NOT_AGAIN;
        fail(up, up->machines[0].code, 0);
    } else if (up->again == OTHERS_END && (up->running == 0 || tnd_clock_now() >= up->again_ns)) {
        begin_first(up);
    } else if (up->again == FIRST_BEGINS && up->machines[0].answered) {
        begin_others(up);
    }
}

/* --- the loop --------------------------------------------------------------------------------- */

enum { FILES = 3 };

/*  Fills the entries of one machine; whether it has output to come. */
static bool watch_machine(const up_t *up, machine_t *machine, struct pollfd *files)
{
    bool sends = machine->in >= 0 && !is_sent(up, machine);
    files[0] = (struct pollfd){.fd = sends ? machine->in : -1, .events = POLLOUT};
    files[1] = (struct pollfd){.fd = machine->out.file, .events = POLLIN};
    files[2] = (struct pollfd){.fd = machine->err.file, .events = POLLIN};
    return machine->out.file >= 0 || machine->err.file >= 0;
}

static void serve_machine(up_t *up, uint32_t index, const struct pollfd *files)
{
    machine_t *machine = &up->machines[index];
    speaker_t speaker = {.up = up, .index = index};
    if (files[0].revents != 0 && machine->in >= 0)
        send_more(up, machine);
    if (files[1].revents != 0 && machine->out.file >= 0)
        (void)tnd_output_lines_read(&machine->out, take_out, &speaker);
    if (files[2].revents != 0 && machine->err.file >= 0)
        (void)tnd_output_lines_read(&machine->err, take_error, &speaker);
    /* What it has started may keep its output open. */
    if (machine->ended_ns != 0 && tnd_clock_now() >= machine->ended_ns + late_ns) {
        tnd_output_lines_finish(&machine->out, take_out, &speaker);
        tnd_output_lines_finish(&machine->err, take_error, &speaker);
    }
}

static void watch(up_t *up, int signals)
{
    enum { LOOK_MS = 100 };
    struct pollfd *files = tnd_allocate_zeroed(FILES * (size_t)up->count + 1, sizeof *files);
    for (bool open = true; open || up->running > 0 || up->again != NOT_AGAIN;) {
        open = false;
        files[0] = (struct pollfd){.fd = signals, .events = POLLIN};
        for (uint32_t i = 0; i < up->count; i++)
            open = watch_machine(up, &up->machines[i], &files[FILES * i + 1]) || open;
        (void)poll(files, FILES * (nfds_t)up->count + 1, LOOK_MS);
        for (uint32_t i = 0; i < up->count; i++)
            serve_machine(up, i, &files[FILES * i + 1]);
        if (files[0].revents != 0)
            tnd_signals_read(signals, &up->ending,
                             &(tnd_signal_reader_t){take_children, take_request, up});
        name_silent(up, tnd_clock_now());
        begin_again(up);
        if (up->press_ns != 0 && up->running > 0 && tnd_clock_now() >= up->press_ns)
            press(up);
    }
    free(files);
}

static int perform(up_t *up)
{
    sigset_t set;
    tnd_signals_set(&set);
    sigaddset(&set, SIGCHLD);
    sigprocmask(SIG_BLOCK, &set, NULL);
    int signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
    if (signals < 0)
        abort();
    bool started = true;
    for (uint32_t i = 0; i < up->count && started; i++)
        started = start(up, &up->machines[i]);
    if (!started)
        fail(up, TND_EXIT_FAILED, 0);
    watch(up, signals);
    close(signals);
    if (!up->done)
        fail(up, TND_EXIT_PEER, 0); /* no machine was there, and each has been named */
    return up->code;
}

/* --- preparations ----------------------------------------------------------------------------- */

static char *join(char *const *words)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = tnd_memory_stream(&text, &size);
    for (size_t i = 0; words[i] != NULL; i++)
        fprintf(out, "%s%s", i > 0 ? " " : "", words[i]);
    fclose(out);
    return text;
}

static int prepare_machines(up_t *up)
{
    static const char *const ours[] = {"run", "--sent", NULL};
    tnd_error_t error;
    up->count = (uint32_t)up->list.count;
    up->machines = tnd_allocate_zeroed(up->count, sizeof *up->machines);
    for (uint32_t i = 0; i < up->count; i++)
        up->machines[i].in = up->machines[i].out.file = up->machines[i].err.file = -1;
    for (uint32_t i = 0; i < up->count; i++) {
        machine_t *machine = &up->machines[i];
        machine->name = up->list.names[i];
        machine->words =
            tnd_remote_command_new(up->options->via, machine->name, machine->name, ours, &error);
        if (machine->words == NULL)
            return tnd_usage_error("up", "--on: %s: %s", machine->name, error.text);
        machine->command = join(machine->words);
        set_rank(up, i);
        up->width = strlen(machine->name) > up->width ? strlen(machine->name) : up->width;
    }
    return TND_EXIT_OK;
}

static int check(up_t *up)
{
    const tnd_request_t *request = up->request;
    tnd_graph_t *graph = tnd_load_form(&up->options->load, request->files, request->file_count);
    int code = tnd_launch_fits(graph, "up", (uint32_t)up->list.count);
    if (code == TND_EXIT_OK) {
        const tnd_plan_t *plan = tnd_graph_plan(graph);
        up->answer_ns = plan->start_timeout_ns;
        up->restarts = plan->restarts.run;
        up->keeps = plan->checkpoint != NULL;
        up->dead_after_ns = plan->dead_after_ns;
        up->least = plan->least;
        up->may_drop = plan->least > 0 && plan->rest_first == 0 && up->options->leader == NULL;
        if (plan->least > 0) {
            up->spare_first = plan->rest_first > 0 ? plan->rest_first : 1; /* rank 0 leads */
            up->spare_end = plan->rest_first + plan->rest_count;
        }
    }
    tnd_graph_destroy(&graph);
    return code;
}

static int prepare(up_t *up)
{
    const tnd_run_options_t *options = up->options;
    tnd_error_t error;
    if (options->via == NULL)
        return tnd_usage_error("up", "--on needs --via, the command that reaches a machine, such "
                                     "as 'ssh {address}'");
    if (tnd_remote_command_check(options->via, &error) != TND_OK)
        return tnd_usage_error("up", "%s", error.text);
    if (options->leader != NULL && options->meet != NULL)
        return tnd_usage_error("up", "%s", tnd_launch_two_places);
    int code = read_list(up, options->on);
    if (code == TND_EXIT_OK)
        code = check(up);
    if (code == TND_EXIT_OK)
        code = prepare_files(up, options);
    if (code == TND_EXIT_OK)
        code = prepare_machines(up);
    if (code == TND_EXIT_OK &&
        tnd_open_files_reserve(OWN_DESCRIPTORS + up->count * MACHINE_DESCRIPTORS, &error) !=
            TND_OK) {
        tnd_complain("up", "%s", error.text);
        code = TND_EXIT_TOPOLOGY;
    }
    return code;
}

int tnd_machines_run(const tnd_request_t *request)
{
    up_t up = {.request = request,
               .options = request->options,
               .terminal = tnd_terminal_look(STDOUT_FILENO)};
    if (!tnd_log_init(&up.log, "up", &up.options->log))
        return TND_EXIT_USAGE;
    tnd_signals_forget();
    int code = prepare(&up);
    if (code == TND_EXIT_OK)
        code = perform(&up);
    for (uint32_t i = 0; i < up.count; i++) {
        tnd_remote_command_free(up.machines[i].words);
        free(up.machines[i].command);
    }
    free(up.machines);
    free(up.bytes);
    tnd_hostlist_free(&up.list);
    tnd_output_merge_free(&up.merge);
    return code;
}
