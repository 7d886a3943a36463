/*  tools/process/evaluations.c - `tundish run --evaluate --watch`. */
#include "tools/process/evaluations.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "runtime/base/allocation.h"
#include "runtime/checkpoint/store.h"
#include "tools/launch/run_options.h"

typedef struct {
    const tnd_request_t *request;
    const tnd_run_options_t *options;
    int (*run)(const tnd_request_t *request);
    char dir[TND_STORE_PATH];
    uint64_t last; /* steps of the last checkpoint that was evaluated; 0: none */
    sigset_t signals, before;
} watch_t;

/*  How often the folder is looked at. */
static const struct timespec look_every = {.tv_nsec = 300000000};

/*  The folder of the checkpoints, as the graph or --evaluate names it. */
static int find_folder(watch_t *self)
{
    tnd_graph_t *graph =
        tnd_load_graph(self->request, &self->options->load, self->options->host, false);
    bool good = tnd_load_check(graph);
    if (good) {
        const tnd_checkpoint_options_t *checkpoint = tnd_graph_plan(graph)->checkpoint;
        const char *from =
            strcmp(checkpoint->resume, "latest") == 0 ? checkpoint->dir : checkpoint->resume;
        snprintf(self->dir, sizeof self->dir, "%s", from);
    }
    tnd_graph_destroy(&graph);
    return good ? TND_EXIT_OK : TND_EXIT_TOPOLOGY;
}

/*  The next checkpoint: the newest, and then those after the last, in their order. */
static bool find_next(watch_t *self, uint64_t *step_p)
{
    uint64_t *steps = NULL;
    size_t count = 0;
    bool found = false;
    if (tnd_store_list(self->dir, &steps, &count, NULL) != TND_OK)
        return false;
    if (count > 0 && steps[0] < self->last)
        self->last = 0; /* a run has resumed from an earlier one and removed those after it */
    for (size_t i = 0; i < count && steps[i] > self->last; i++) {
        if (!tnd_store_has(self->dir, steps[i]))
            continue;
        *step_p = steps[i];
        found = true;
        if (self->last == 0)
            break;
    }
    free(steps);
    return found;
}

/*  Waits for the process; a signal that the terminal has not sent to it, too, is passed on. */
static int await_process(const watch_t *self, pid_t process, bool *stopped_p)
{
    for (int status;;) {
        siginfo_t info;
        int number = sigtimedwait(&self->signals, &info, &look_every);
        if (number > 0 && number != SIGCHLD) {
            *stopped_p = true;
            if (info.si_code != SI_KERNEL)
                kill(process, number);
        }
        if (waitpid(process, &status, WNOHANG) == process)
            return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    }
}

static int evaluate(const watch_t *self, uint64_t step, bool *stopped_p)
{
    tnd_run_options_t own = *self->options;
    tnd_request_t request = *self->request;
    char *place = tnd_format_string("%s/step-%08" PRIu64, self->dir, step);
    own.load.evaluate = place;
    own.watch = false;
    request.options = &own;
    fflush(NULL);
    pid_t process = fork();
    if (process == 0) {
        sigprocmask(SIG_SETMASK, &self->before, NULL);
        exit(self->run(&request));
    }
    int code = TND_EXIT_FAILED;
    if (process < 0)
        tnd_complain("run", "cannot start a process: %s", strerror(errno));
    else
        code = await_process(self, process, stopped_p);
    free(place);
    return code;
}

/*  Evaluates what there is.  A checkpoint that its run has removed meanwhile is passed over. */
static int catch_up(watch_t *self, bool *stopped_p)
{
    int code = TND_EXIT_OK;
    uint64_t step;
    while (code == TND_EXIT_OK && !*stopped_p && find_next(self, &step)) {
        code = evaluate(self, step, stopped_p);
        self->last = step;
        if (code != TND_EXIT_OK && !*stopped_p && !tnd_store_has(self->dir, step))
            code = TND_EXIT_OK;
    }
    return code;
}

static int watch_folder(watch_t *self)
{
    bool stopped = false, told = false;
    for (;;) {
        /* In this order: what the run adds before it ends is evaluated. */
        bool written = tnd_store_is_locked(self->dir);
        int code = catch_up(self, &stopped);
        if (code != TND_EXIT_OK || stopped)
            return code != TND_EXIT_OK ? code : TND_EXIT_DRAINED;
        if (!written && self->last > 0)
            return TND_EXIT_OK;
        if (!written && !told && !self->options->log.quiet)
            tnd_complain("run", "waits for a run that writes checkpoints to %s", self->dir);
        told = true;
        siginfo_t info;
        int number = sigtimedwait(&self->signals, &info, &look_every);
        if (number > 0 && number != SIGCHLD)
            return TND_EXIT_DRAINED;
    }
}

int tnd_evaluations_run(const tnd_request_t *request, int (*run)(const tnd_request_t *request))
{
    const tnd_run_options_t *options = request->options;
    watch_t self = {.request = request, .options = options, .run = run};
    if (options->host != NULL)
        return tnd_usage_error("run", "--watch evaluates in one process, without --host");
    if (strcmp(options->load.evaluate, "best") == 0)
        return tnd_usage_error("run",
                               "--watch evaluates each new checkpoint, and the best is one of "
                               "them: leave out --watch, or name a folder");
    if (!tnd_load_resumes(request, &options->load, NULL, "run"))
        return TND_EXIT_USAGE;
    int code = find_folder(&self);
    if (code != TND_EXIT_OK)
        return code;
    sigemptyset(&self.signals);
    static const int numbers[] = {SIGINT, SIGTERM, SIGUSR1, SIGUSR2, SIGCHLD};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        sigaddset(&self.signals, numbers[i]);
    sigprocmask(SIG_BLOCK, &self.signals, &self.before);
    code = watch_folder(&self);
    sigprocmask(SIG_SETMASK, &self.before, NULL);
    return code;
}

int tnd_evaluations_beside(const tnd_request_t *request, const tnd_launch_t *launch,
                           int (*run)(const tnd_request_t *request))
{
    tnd_run_options_t own = *(const tnd_run_options_t *)request->options;
    tnd_request_t alone = *request;
    size_t count = own.load.settings.count;
    tnd_setting_t *settings = tnd_allocate(count + 1, sizeof *settings);
    char known[256];
    if (count > 0)
        memcpy(settings, own.load.settings.items, count * sizeof *settings);
    settings[count] = (tnd_setting_t){"hosts", "null"};
    own.load.settings = (tnd_setting_list_t){settings, count + 1};
    own.load.evaluate = "latest";
    own.load.resume = NULL;
    own.launch = "none";
    own.leader = own.meet = own.report = own.metrics = own.save = NULL;
    own.json = own.requeue = false;
    own.steps = UINT64_MAX;
    own.watch = true;
    alone.options = &own;
    if (!own.log.quiet)
        tnd_complain("run", "launch: %s: evaluates each checkpoint of the run",
                     tnd_launch_text(launch, known, sizeof known));
    int code = tnd_evaluations_run(&alone, run);
    free(settings);
    return code;
}
