/*  tools/process/child.c - a process of this program that runs one host, with its restarts. */
#include "tools/process/child.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "runtime/base/allocation.h"
#include "runtime/base/clock.h"
#include "runtime/base/log_events.h"
#include "runtime/observe/pages.h"

/*  After this time all threads of a killed process have ended, so reaping does not block. */
static const uint64_t reap_after_ns = 1000000000;

/*  How often its heartbeat is looked at, or more often if it would be replaced soon. */
static const uint64_t look_most_ns = 1000000000;

char **tnd_child_words(const tnd_request_t *request, const tnd_run_options_t *options,
                       const char *host, bool leads, bool saves)
{
    size_t room = request->file_count + 2 * options->load.settings.count + 25, used = 0;
    char **words = tnd_allocate_zeroed(room, sizeof *words);
    const char *texts[][2] = {
        {"--host", host},
        {"--data", options->load.data},
        {"--report", leads ? options->report : NULL},
        {"--metrics", leads ? options->metrics : NULL},
        {"--log-level", options->log.level},
        {"--save", saves ? options->save : NULL},
        {"--resume", options->load.resume},
        {"--evaluate", options->load.evaluate},
    };
    words[used++] = tnd_copy_string("tundish");
    words[used++] = tnd_copy_string("run");
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
        if (texts[i][1] != NULL)
            words[used++] = tnd_format_string("%s=%s", texts[i][0], texts[i][1]);
    for (size_t i = 0; i < options->load.settings.count; i++)
        words[used++] = tnd_format_string("--set=%s=%s", options->load.settings.items[i].key,
                                          options->load.settings.items[i].value);
    if (options->steps != UINT64_MAX)
        words[used++] = tnd_format_string("--steps=%" PRIu64, options->steps);
    if (options->log.json)
        words[used++] = tnd_copy_string("--log-json");
    if (options->load.trust_data)
        words[used++] = tnd_copy_string("--trust-data");
    if (options->log.quiet)
        words[used++] = tnd_copy_string("--quiet");
    words[used++] = tnd_copy_string("--");
    for (size_t i = 0; i < request->file_count; i++)
        words[used++] = tnd_copy_string(request->files[i]);
    return words;
}

void tnd_child_words_free(char **words)
{
    for (size_t i = 0; words[i] != NULL; i++)
        free(words[i]);
    free(words);
}

/*  Runs in the child, between fork and exec. */
static void become(char *const *words, const tnd_child_terms_t *terms, pid_t parent)
{
    /* A process group of its own: Ctrl-C in the terminal reaches the parent, which passes it on. */
    setpgid(0, 0);
    prctl(PR_SET_PDEATHSIG, terms->death_signal);
    if (getppid() != parent)
        _exit(TND_EXIT_FAILED);
    if (terms->out >= 0)
        dup2(terms->out, STDOUT_FILENO);
    if (terms->err >= 0)
        dup2(terms->err, STDERR_FILENO);
    sigprocmask(SIG_SETMASK, terms->mask, NULL);
    execv("/proc/self/exe", words);
    _exit(TND_EXIT_FAILED);
}

bool tnd_child_start(tnd_child_t *self, char *const *words, const tnd_child_terms_t *terms)
{
    pid_t parent = getpid();
    self->again_ns = 0;
    pid_t pid = fork();
    if (pid == 0)
        become(words, terms, parent);
    if (pid < 0)
        return false;
    self->pid = pid;
    self->pages = -1;
    self->heartbeat = (tnd_heartbeat_t){0};
    self->look_ns = self->silent_ns = 0;
    self->killed = false;
    tnd_restart_policy_born(&self->supervise, tnd_clock_now());
    return true;
}

int tnd_child_code(int status)
{
    return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

const char *tnd_child_meaning(int code)
{
    switch (code) {
    case TND_EXIT_USAGE:
        return "its command line is wrong, or a file that it names cannot be written";
    case TND_EXIT_PEER:
        return "another process of the run refused it, did not come or was lost";
    case TND_EXIT_TOPOLOGY:
        return "its topology or its files cannot be used";
    default:
        return "it failed";
    }
}

static bool can_be_mended(const tnd_child_t *self, int status)
{
    int code = tnd_child_code(status);
    /* A leader that ends with 75 has waited for the others as often as it may. */
    if (self->resumes && (WIFSIGNALED(status) || (self->host > 0 && code == TND_EXIT_PEER)))
        return true;
    switch (self->plan->hosts[self->host].restart) {
    case TND_RESTART_NEVER:
        return false;
    case TND_RESTART_ON_FAILURE:
        /* The leader exists, so this process was stopped or starved. */
        return WIFSIGNALED(status) || (self->guided && code == TND_EXIT_PEER);
    case TND_RESTART_ALWAYS:
        return code != TND_EXIT_USAGE && code != TND_EXIT_TOPOLOGY;
    }
    return false;
}

uint64_t tnd_child_look_after(tnd_child_t *self, uint64_t now)
{
    const tnd_plan_t *plan = self->plan;
    bool replaceable =
        plan->hosts[self->host].restart != TND_RESTART_NEVER && plan->restarts.max > 0;
    if (self->pid <= 0 || !replaceable || self->silent_ns != 0)
        return TND_NEVER;
    if (now < self->look_ns)
        return self->look_ns;
    uint64_t limit = tnd_heartbeat_limit(plan->link_timeout_ns, plan->dead_after_ns);
    uint64_t every = limit / 8 < look_most_ns ? limit / 8 : look_most_ns;
    self->pages = self->pages < 0 ? tnd_pages_open_child(self->pid) : self->pages;
    uint64_t beat = self->pages < 0 ? 0 : tnd_pages_beat(self->pages);
    uint64_t silent = tnd_heartbeat_look(&self->heartbeat, beat, every, now);
    self->look_ns = now + every;
    if (silent < limit)
        return self->look_ns;
    self->silent_ns = silent;
    kill(self->pid, SIGKILL);
    return TND_NEVER;
}

void tnd_child_kill(tnd_child_t *self)
{
    self->killed = true;
    kill(self->pid, SIGKILL);
}

bool tnd_child_has_ended(const tnd_child_t *self, int *status_p)
{
    siginfo_t info = {.si_pid = 0};
    if (self->pid <= 0 || waitid(P_PID, (id_t)self->pid, &info, WEXITED | WNOHANG | WNOWAIT) != 0 ||
        info.si_pid != self->pid)
        return false;
    bool exited = info.si_code == CLD_EXITED;
    *status_p = W_EXITCODE(exited ? info.si_status : 0, exited ? 0 : info.si_status);
    return true;
}

uint64_t tnd_child_reap(tnd_child_t *self, uint64_t now)
{
    if (self->unreaped != 0 && now < self->reap_ns)
        return self->reap_ns;
    if (self->unreaped != 0)
        (void)waitpid(self->unreaped, NULL, 0);
    self->unreaped = 0;
    return TND_NEVER;
}

/*  How it ended, with anything but success.  `fate`: of one that was silent. */
static void describe(const tnd_child_t *self, int status, const char *fate, char *how, size_t room)
{
    int code = tnd_child_code(status);
    if (!WIFSIGNALED(status))
        snprintf(how, room, "ended with %d: %s", code, tnd_child_meaning(code));
    else if (self->silent_ns != 0)
        snprintf(how, room, "did not answer for %.3g s and was %s", 1e-9 * (double)self->silent_ns,
                 fate);
    else if (self->killed)
        snprintf(how, room, "did not end and was killed");
    else
        snprintf(how, room, "was killed by signal %d (%s)", WTERMSIG(status),
                 strsignal(WTERMSIG(status)));
}

tnd_child_verdict_t tnd_child_ended(tnd_child_t *self, int status, bool needed, char *text,
                                    size_t room)
{
    const tnd_restarts_t *restarts = &self->plan->restarts;
    tnd_limits_t limits = {.max = (uint32_t)restarts->max,
                           .first_ns = restarts->backoff_ns,
                           .most_ns = restarts->backoff_max_ns,
                           .calm_ns = restarts->within_ns};
    int code = tnd_child_code(status);
    char how[128];
    if (WIFSIGNALED(status))
        tnd_pages_note_death(self->pid, WTERMSIG(status));
    describe(self, status, "killed", how, sizeof how);
    if (self->pages >= 0)
        close(self->pages);
    uint64_t now = tnd_clock_now();
    (void)tnd_child_reap(self, TND_NEVER);
    self->unreaped = self->pid;
    self->reap_ns = now + reap_after_ns;
    self->pid = 0;
    text[0] = '\0';
    if (code == TND_EXIT_OK)
        return TND_CHILD_OVER;
    snprintf(text, room, "%s", how);
    if (limits.max == 0 || !can_be_mended(self, status))
        return TND_CHILD_OVER;
    if (!needed)
        return TND_CHILD_LATE;
    if (!tnd_restart_policy_died(&self->supervise, &limits, now, &self->again_ns)) {
        snprintf(text, room,
                 "died %" PRIu32 " times in a short time and is not started again: %s; "
                 "`restarts: {max: %" PRIu32 "}` allows no more",
                 self->supervise.deaths + 1, how, limits.max);
        return TND_CHILD_LIMIT;
    }
    describe(self, status, "replaced", how, sizeof how);
    snprintf(text, room, "%s: " TND_LOG_RESTART " %" PRIu64 " ms (%" PRIu32 " of %" PRIu32 ")", how,
             (self->again_ns - now) / 1000000, self->supervise.deaths, limits.max);
    return TND_CHILD_AGAIN;
}
