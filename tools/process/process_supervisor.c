/*  tools/process/process_supervisor.c - starts and restarts isolated actors. */
#include "tools/process/process_supervisor.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/pidfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "runtime/base/allocation.h"
#include "runtime/base/clock.h"
#include "runtime/base/thread.h"
#include "tools/process/child.h"

/*  The time that processes have to end after the run has ended. */
static const uint64_t patience_ns = 1000000000;
/*  How long a process that failed may take to be heard of by the leader. */
static const uint64_t tell_ns = 1000000000;

typedef struct {
    tnd_child_t process;
    int pidfd;        /* readable once it has ended; -1: it does not run */
    uint64_t told_ns; /* it has failed: when the leader should know by itself; 0: it has not */
} kept_t;

struct tnd_process_supervisor {
    tnd_request_t request;
    tnd_run_options_t options;
    const tnd_plan_t *plan;
    tnd_session_t *session;
    tnd_log_t *log;
    tnd_setting_t *settings; /* the files of the request, and the leader's port */
    char port[16];
    kept_t *kept;
    uint32_t count;
    struct pollfd *pollfds;
    int stop_fd; /* readable once the run has ended */
    pthread_t thread;
};

bool tnd_process_supervisor_wanted(const tnd_plan_t *plan, uint32_t host)
{
    for (uint32_t h = 0; h < plan->host_count; h++)
        if (plan->hosts[h].isolated && plan->hosts[h].parent == host)
            return true;
    return false;
}

static const char *name_of(const tnd_process_supervisor_t *self, const kept_t *kept)
{
    return self->plan->hosts[kept->process.host].name;
}

static void start(tnd_process_supervisor_t *self, kept_t *kept)
{
    sigset_t none;
    sigemptyset(&none);
    tnd_child_terms_t terms = {.out = -1, .err = -1, .death_signal = SIGKILL, .mask = &none};
    char **words =
        tnd_child_words(&self->request, &self->options, name_of(self, kept), false, false);
    bool started = tnd_child_start(&kept->process, words, &terms);
    tnd_child_words_free(words);
    kept->pidfd = started ? pidfd_open(kept->process.pid, 0) : -1;
    if (started && kept->pidfd >= 0)
        return;
    char why[200];
    snprintf(why, sizeof why, "process %s cannot be started: %s", name_of(self, kept),
             strerror(errno));
    if (started)
        kill(kept->process.pid, SIGKILL);
    tnd_session_break(self->session, why);
}

static void take_ended(tnd_process_supervisor_t *self, kept_t *kept, bool over)
{
    int status;
    char text[300];
    if (!tnd_child_has_ended(&kept->process, &status))
        return;
    close(kept->pidfd);
    kept->pidfd = -1;
    tnd_child_verdict_t verdict = tnd_child_ended(&kept->process, status, !over, text, sizeof text);
    if (over || text[0] == '\0')
        return;
    if (verdict == TND_CHILD_LIMIT) {
        char why[400];
        snprintf(why, sizeof why, "process %s %s", name_of(self, kept), text);
        tnd_session_break(self->session, why);
    } else if (verdict == TND_CHILD_OVER && WIFEXITED(status)) {
        kept->told_ns = tnd_clock_now() + tell_ns;
    } else if (WIFSIGNALED(status) || verdict == TND_CHILD_AGAIN) {
        tnd_log_complain(self->log, name_of(self, kept), "run", "process %s %s",
                         name_of(self, kept), text);
    }
}

/*  Ends the run if a process failed before it was connected, so that the leader does not know.  Returns
 *  when to call it again. */
static uint64_t end_untold(const tnd_process_supervisor_t *self, kept_t *kept, uint64_t now)
{
    char why[200];
    if (kept->told_ns == 0 || now < kept->told_ns)
        return kept->told_ns == 0 ? TND_NEVER : kept->told_ns;
    kept->told_ns = 0;
    snprintf(why, sizeof why, "process %s failed; its own message says why", name_of(self, kept));
    tnd_session_break(self->session, why);
    return TND_NEVER;
}

/*  Waits for an event, at most until `wake`; false: the run has ended. */
static bool take_events(tnd_process_supervisor_t *self, uint64_t wake, bool over)
{
    for (uint32_t i = 0; i < self->count; i++)
        self->pollfds[i] = (struct pollfd){.fd = self->kept[i].pidfd, .events = POLLIN};
    self->pollfds[self->count] = (struct pollfd){.fd = over ? -1 : self->stop_fd, .events = POLLIN};
    uint64_t now = tnd_clock_now();
    int wait = wake == TND_NEVER ? -1 : now >= wake ? 0 : (int)((wake - now) / 1000000) + 1;
    (void)poll(self->pollfds, self->count + 1, wait);
    for (uint32_t i = 0; i < self->count; i++)
        if (self->pollfds[i].revents != 0)
            take_ended(self, &self->kept[i], over);
    return self->pollfds[self->count].revents == 0;
}

static bool any_runs(const tnd_process_supervisor_t *self)
{
    for (uint32_t i = 0; i < self->count; i++)
        if (self->kept[i].pidfd >= 0)
            return true;
    return false;
}

/*  Lets the processes learn how the run ended; kills those that do not end in time. */
static void end_processes(tnd_process_supervisor_t *self)
{
    uint64_t until = tnd_clock_now() + patience_ns;
    while (any_runs(self) && tnd_clock_now() < until)
        (void)take_events(self, until, true);
    for (uint32_t i = 0; i < self->count; i++)
        if (self->kept[i].pidfd >= 0)
            tnd_child_kill(&self->kept[i].process);
    while (any_runs(self))
        (void)take_events(self, TND_NEVER, true);
    for (uint32_t i = 0; i < self->count; i++)
        (void)tnd_child_reap(&self->kept[i].process, TND_NEVER);
}

static void *supervisor_main(void *context)
{
    tnd_process_supervisor_t *self = context;
    pthread_setname_np(pthread_self(), "supervisor");
    for (uint32_t i = 0; i < self->count; i++)
        start(self, &self->kept[i]);
    for (;;) {
        uint64_t wake = TND_NEVER, now = tnd_clock_now();
        for (uint32_t i = 0; i < self->count; i++) {
            kept_t *kept = &self->kept[i];
            if (kept->process.again_ns != 0 && kept->process.again_ns <= now)
                start(self, kept);
            else if (kept->process.again_ns != 0 && kept->process.again_ns < wake)
                wake = kept->process.again_ns;
            uint64_t reap_ns = tnd_child_reap(&kept->process, now);
            wake = reap_ns < wake ? reap_ns : wake;
            uint64_t told_ns = end_untold(self, kept, now);
            wake = told_ns < wake ? told_ns : wake;
            uint64_t look_ns = tnd_child_look_after(&kept->process, now);
            wake = look_ns < wake ? look_ns : wake;
        }
        if (!take_events(self, wake, false))
            break;
    }
    end_processes(self);
    return NULL;
}

static void free_supervisor(tnd_process_supervisor_t *self)
{
    if (self->stop_fd >= 0)
        close(self->stop_fd);
    free(self->settings);
    free(self->kept);
    free(self->pollfds);
    free(self);
}

tnd_status_t tnd_process_supervisor_begin(tnd_process_supervisor_t **self_p,
                                          const tnd_request_t *request,
                                          const tnd_run_options_t *options, const tnd_plan_t *plan,
                                          uint32_t host, tnd_session_t *session, tnd_log_t *log,
                                          tnd_error_t *error)
{
    const tnd_setting_list_t *given = &options->load.settings;
    tnd_process_supervisor_t *self = tnd_allocate_zeroed(1, sizeof *self);
    self->request = *request;
    self->options = *options;
    self->plan = plan;
    self->session = session;
    self->log = log;
    self->settings = tnd_allocate_zeroed(given->count + 1, sizeof *self->settings);
    self->kept = tnd_allocate_zeroed(plan->host_count, sizeof *self->kept);
    self->pollfds = tnd_allocate_zeroed(plan->host_count + 1u, sizeof *self->pollfds);
    self->stop_fd = eventfd(0, EFD_CLOEXEC);
    int reason = errno;
    for (size_t i = 0; i < given->count; i++)
        self->settings[i] = given->items[i];
    snprintf(self->port, sizeof self->port, "%u", (unsigned)tnd_session_port(session));
    self->settings[given->count] = (tnd_setting_t){.key = "port", .value = self->port};
    self->options.load.settings.items = self->settings;
    self->options.load.settings.count += plan->hosts[0].port == 0;
    self->options.log.quiet = true;
    for (uint32_t h = 0; h < plan->host_count; h++)
        if (plan->hosts[h].isolated && plan->hosts[h].parent == host)
            self->kept[self->count++] =
                (kept_t){.process = {.plan = plan, .host = h, .guided = true}, .pidfd = -1};
    tnd_status_t status =
        self->stop_fd < 0
            ? tnd_fail(error, "cannot supervise processes: no eventfd: %s", strerror(reason))
            : tnd_thread_create(&self->thread, "isolated processes", supervisor_main, self, error);
    *self_p = status == TND_OK ? self : NULL;
    if (status != TND_OK)
        free_supervisor(self);
    return status;
}

void tnd_process_supervisor_end(tnd_process_supervisor_t **self_p)
{
    tnd_process_supervisor_t *self = *self_p;
    uint64_t one = 1;
    if (self == NULL)
        return;
    if (write(self->stop_fd, &one, sizeof one) != (ssize_t)sizeof one)
        abort();
    pthread_join(self->thread, NULL);
    free_supervisor(self);
    *self_p = NULL;
}
