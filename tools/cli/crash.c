/*  tools/cli/crash.c - prints where a process crashed or exited.
 *
 *  The handler calls only async-signal-safe functions and formats by hand. */
#include "tools/cli/crash.h"

#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "runtime/data/mapped.h"
#include "runtime/option/running_part.h"
#include "tools/cli/command.h"

static const int fatal[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT};

enum { FATAL_COUNT = sizeof fatal / sizeof fatal[0] };

static struct sigaction before[FATAL_COUNT]; /* the previous handlers */

/*  Read by the signal handler, so they are global. */
static const tnd_plan_t *_Atomic armed_plan;
static const tnd_session_t *_Atomic armed_session;
static _Atomic uint64_t committed = TND_UNKNOWN;

typedef struct {
    char text[768];
    size_t used;
} line_t;

static void put(line_t *line, const char *text)
{
    while (*text != '\0' && line->used < sizeof line->text)
        line->text[line->used++] = *text++;
}

static void put_number(line_t *line, uint64_t number)
{
    char digits[24];
    size_t at = sizeof digits - 1;
    digits[at] = '\0';
    do
        digits[--at] = (char)('0' + number % 10);
    while ((number /= 10) > 0);
    put(line, digits + at);
}

static const char *signal_name(int number)
{
    switch (number) {
    case SIGSEGV:
        return "SIGSEGV";
    case SIGBUS:
        return "SIGBUS";
    case SIGFPE:
        return "SIGFPE";
    case SIGILL:
        return "SIGILL";
    default:
        return "SIGABRT";
    }
}

/*  The page of the actor that a thread belongs to.  A thread's name is that of its actor, with a
 *  suffix after a space if the actor has several threads, and truncated if it is too long. */
static const tnd_statistics_t *page_of(const char *thread)
{
    const tnd_plan_t *plan = atomic_load(&armed_plan);
    const tnd_session_t *session = atomic_load(&armed_session);
    const tnd_statistics_t *best = NULL;
    size_t length = strcspn(thread, " ");
    for (uint32_t i = 0; plan != NULL && session != NULL && i < plan->instance_count; i++) {
        const tnd_statistics_t *page = tnd_session_page(session, i);
        if (page == NULL || strncmp(thread, page->actor, length) != 0)
            continue;
        if (best == NULL || page->actor[length] == '\0')
            best = page;
    }
    return length > 0 ? best : NULL;
}

/*  The actor of a thread whose page does not exist yet or no longer. */
static const tnd_instance_t *instance_of(const char *thread)
{
    const tnd_plan_t *plan = atomic_load(&armed_plan);
    size_t length = strcspn(thread, " ");
    for (uint32_t i = 0; plan != NULL && length > 0 && i < plan->instance_count; i++)
        if (strncmp(thread, plan->instances[i].name, length) == 0)
            return &plan->instances[i];
    return NULL;
}

/*  The state of a device thread of that actor; NULL: it is another thread. */
static const tnd_device_page_t *device_of(const tnd_statistics_t *page, const char *thread)
{
    const char *space = strchr(thread, ' ');
    uint64_t count = atomic_load(&page->device_count);
    for (uint64_t d = 0; space != NULL && d < count && d < TND_PAGE_DEVICES; d++)
        if (strncmp(page->devices[d].name, space + 1, strlen(space + 1)) == 0)
            return &page->devices[d];
    return NULL;
}

/*  Prints the operation that the calling thread runs, and where it is in the topology. */
static bool put_operation(line_t *line, const char *joint)
{
    size_t number;
    const tnd_part_t *part = tnd_running_part(&number);
    if (part == NULL)
        return false;
    put(line, joint);
    put(line, "operation ");
    put_number(line, number);
    put(line, ", `");
    put(line, part->table->name);
    put(line, "`");
    const tnd_mark_t *mark = part->value != NULL ? &part->value->mark : NULL;
    if (mark == NULL || mark->origin == NULL)
        return true;
    put(line, ", ");
    put(line, mark->origin->name);
    put(line, ":");
    put_number(line, mark->line);
    put(line, ":");
    put_number(line, mark->column);
    return true;
}

/*  Prints where the calling thread is. */
static void put_place(line_t *line)
{
    char thread[16] = "";
    prctl(PR_GET_NAME, thread);
    const tnd_statistics_t *page = page_of(thread);
    if (page != NULL) {
        put(line, " in ");
        put(line, page->kind);
        put(line, " `");
        put(line, page->actor);
        put(line, "`");
        const tnd_device_page_t *device = device_of(page, thread);
        uint64_t step = atomic_load(device != NULL ? &device->step : &page->step);
        /* Readers and preprocessors have no steps. */
        if (device != NULL || step > 0) {
            put(line, " at step ");
            put_number(line, step);
        }
        if (device != NULL) {
            put(line, ", replica ");
            put_number(line, atomic_load(&device->state) >> 8);
        }
    }
    const tnd_instance_t *instance = page == NULL ? instance_of(thread) : NULL;
    if (instance != NULL) {
        put(line, " in ");
        put(line, instance->kind->table.name);
        put(line, " `");
        put(line, instance->name);
        put(line, "`");
    }
    bool named = put_operation(line, instance != NULL || page != NULL ? ", " : " in ");
    if (strcmp(thread, "facts") == 0)
        put(line, named ? ", which was tried before the start"
                        : " in an operation or source that was tried before the start");
    put(line, " (thread ");
    put(line, thread);
    put(line, ")");
}

/*  A worker is the one actor whose crash need not end the run. */
static void put_advice(line_t *line)
{
    char thread[16] = "";
    prctl(PR_GET_NAME, thread);
    const tnd_plan_t *plan = atomic_load(&armed_plan);
    const tnd_instance_t *instance = instance_of(thread);
    if (instance == NULL || instance->kind->role != TND_ROLE_WORKER ||
        plan->hosts[instance->host].isolated)
        return;
    put(line, "; with `isolate: process` of `");
    put(line, instance->actor);
    put(line, "` the run survives a crash, and finds the row");
}

static void put_committed(line_t *line)
{
    uint64_t step = atomic_load(&committed);
    if (step != TND_UNKNOWN) {
        put(line, "; the last committed cursor is that of step ");
        put_number(line, step);
    }
    put(line, "\n");
    ssize_t written = write(STDERR_FILENO, line->text, line->used);
    (void)written;
}

static void last_words(int number, siginfo_t *info, void *context)
{
    (void)context;
    if (number == SIGBUS && tnd_mapped_rescue(info))
        return;
    /* The default action ends the process when the signal is raised again. */
    signal(number, SIG_DFL);
    line_t line = {.used = 0};
    put(&line, "\ntundish: ");
    put(&line, signal_name(number));
    put_place(&line);
    put_advice(&line);
    put_committed(&line);
    raise(number);
}

/*  User code called exit() in the middle of a run, so the run has failed. */
static void at_exit(int status, void *context)
{
    (void)context;
    if (atomic_load(&armed_plan) == NULL)
        return;
    line_t line = {.used = 0};
    put(&line, "\ntundish: exit(");
    put_number(&line, (uint64_t)(status & 0xff));
    put(&line, ") was called in the middle of a run");
    put_place(&line);
    put_committed(&line);
    fflush(stdout);
    _exit(TND_EXIT_FAILED);
}

void tnd_crash_arm(const tnd_plan_t *plan, const tnd_session_t *session)
{
    if (atomic_exchange(&armed_plan, plan) == NULL && on_exit(at_exit, NULL) != 0)
        abort();
    atomic_store(&armed_session, session);
    tnd_mapped_guard();
    struct sigaction action = {.sa_sigaction = last_words, .sa_flags = SA_SIGINFO | SA_ONSTACK};
    sigemptyset(&action.sa_mask);
    for (size_t i = 0; i < FATAL_COUNT; i++) {
        struct sigaction was;
        sigaction(fatal[i], &action, &was);
        if (was.sa_sigaction != last_words)
            before[i] = was;
    }
}

void tnd_crash_committed(uint64_t step)
{
    atomic_store(&committed, step);
}

void tnd_crash_disarm(void)
{
    for (size_t i = 0; i < FATAL_COUNT; i++)
        sigaction(fatal[i], &before[i], NULL);
    atomic_store(&armed_session, NULL);
    atomic_store(&armed_plan, NULL);
}
