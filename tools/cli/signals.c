/*  tools/cli/signals.c - delivers signals that end a run, and a clock tick, as calls on its own thread. */
#include "tools/cli/signals.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "runtime/base/thread.h"
#include "tools/cli/command.h"

enum { TICK_MS = 100 };

void tnd_signals_cause(const struct signalfd_siginfo *info, char *text, size_t room)
{
    char path[64], program[32] = "";
    int number = (int)info->ssi_signo;
    text[0] = '\0';
    if (info->ssi_code > 0 && info->ssi_code != SI_USER)
        return; /* the terminal */
    snprintf(path, sizeof path, "/proc/%" PRIu32 "/comm", info->ssi_pid);
    FILE *file = fopen(path, "re");
    if (file != NULL && fgets(program, sizeof program, file) == NULL)
        program[0] = '\0';
    if (file != NULL)
        fclose(file);
    program[strcspn(program, "\n")] = '\0';
    if (strcmp(program, "tundish") == 0)
        return;
    if (info->ssi_pid == 0)
        snprintf(text, room, " (SIG%s from outside of this container)", sigabbrev_np(number));
    else
        snprintf(text, room, " (SIG%s from process %" PRIu32 "%s%s)", sigabbrev_np(number),
                 info->ssi_pid, program[0] != '\0' ? ", " : "", program);
}

void tnd_signals_read(int file, tnd_ending_t *ending, const tnd_signal_reader_t *reader)
{
    struct signalfd_siginfo info;
    while (read(file, &info, sizeof info) == (ssize_t)sizeof info) {
        char cause[100];
        if (info.ssi_signo == SIGCHLD) {
            reader->ended(reader->context);
            continue;
        }
        if (tnd_ending_ask(ending, info.ssi_signo == SIGINT) == TND_ENDING_NOTHING)
            continue;
        tnd_signals_cause(&info, cause, sizeof cause);
        reader->asked(reader->context, cause);
    }
}

static void take(tnd_signals_t *self, const struct signalfd_siginfo *info)
{
    tnd_ending_step_t step = tnd_ending_ask(&self->ending, info->ssi_signo == SIGINT);
    char cause[100];
    if (step == TND_ENDING_NOTHING)
        return;
    tnd_signals_cause(info, cause, sizeof cause);
    self->signal(self->context, (int)info->ssi_signo, cause, step);
}

static void *signals_main(void *context)
{
    tnd_signals_t *self = context;
    pthread_setname_np(pthread_self(), "signals");
    for (;;) {
        struct pollfd files[] = {{.fd = self->over, .events = POLLIN},
                                 {.fd = self->signals, .events = POLLIN}};
        (void)poll(files, 2, TICK_MS);
        struct signalfd_siginfo info;
        if (files[0].revents != 0)
            return NULL;
        if (files[1].revents != 0 && read(self->signals, &info, sizeof info) == sizeof info)
            take(self, &info);
        self->tick(self->context);
    }
}

static const int numbers[] = {SIGINT, SIGTERM, SIGUSR1, SIGUSR2};

void tnd_signals_set(sigset_t *set)
{
    sigemptyset(set);
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++)
        sigaddset(set, numbers[i]);
}

/*  The first one, which hold sends again as it came; 0: none has come. */
static volatile sig_atomic_t remembers, remembered;
static siginfo_t first;

static void take_early(int number, siginfo_t *info, void *context)
{
    (void)context;
    if (!remembers || number == SIGINT)
        _exit(TND_EXIT_DRAINED);
    if (remembered == 0)
        first = *info;
    remembered = 1;
}

/*  No handler interrupts another: `first` is whole. */
void tnd_signals_expect(void)
{
    struct sigaction action = {.sa_sigaction = take_early, .sa_flags = SA_SIGINFO}, before;
    tnd_signals_set(&action.sa_mask);
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++)
        if (sigaction(numbers[i], NULL, &before) == 0 && before.sa_handler == SIG_DFL)
            sigaction(numbers[i], &action, NULL);
}

void tnd_signals_remember(void)
{
    remembers = 1;
}

void tnd_signals_forget(void)
{
    remembers = 0;
    if (remembered)
        _exit(TND_EXIT_DRAINED);
}

bool tnd_signals_came(void)
{
    sigset_t blocked;
    if (remembered || sigpending(&blocked) != 0)
        return remembered;
    return sigismember(&blocked, SIGTERM) || sigismember(&blocked, SIGUSR1) ||
           sigismember(&blocked, SIGUSR2);
}

void tnd_signals_unblock(void)
{
    sigset_t set;
    tnd_signals_set(&set);
    pthread_sigmask(SIG_UNBLOCK, &set, NULL);
}

void tnd_signals_hold(tnd_signals_t *self)
{
    sigset_t set;
    tnd_signals_set(&set);
    pthread_sigmask(SIG_BLOCK, &set, &self->before);
    if (remembered)
        (void)syscall(SYS_rt_sigqueueinfo, getpid(), first.si_signo, &first);
    remembered = 0;
}

static void close_files(tnd_signals_t *self)
{
    if (self->signals >= 0)
        close(self->signals);
    if (self->over >= 0)
        close(self->over);
}

tnd_status_t tnd_signals_begin(tnd_signals_t *self, tnd_error_t *error)
{
    sigset_t set;
    tnd_signals_set(&set);
    self->signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
    self->over = eventfd(0, EFD_CLOEXEC);
    tnd_status_t status =
        self->signals < 0 || self->over < 0
            ? tnd_fail(error, "cannot wait for signals: %s", strerror(errno))
            : tnd_thread_create(&self->thread, "signals", signals_main, self, error);
    self->begun = status == TND_OK;
    if (status != TND_OK)
        close_files(self);
    return status;
}

void tnd_signals_end(tnd_signals_t *self)
{
    uint64_t one = 1;
    if (self->begun) {
        if (write(self->over, &one, sizeof one) != (ssize_t)sizeof one)
            abort();
        pthread_join(self->thread, NULL);
        close_files(self);
        self->begun = false;
        return;
    }
    pthread_sigmask(SIG_SETMASK, &self->before, NULL);
}
