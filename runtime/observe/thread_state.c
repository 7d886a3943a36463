/*  runtime/observe/thread_state.c - what the kernel reports of a thread. */
#include "runtime/observe/thread_state.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "runtime/base/small_file.h"

/*  The text of a file of /proc about a thread of a process; "" if there is none. */
static void look_up(pid_t process, pid_t thread, const char *what, char *text, size_t room)
{
    char path[80];
    snprintf(path, sizeof path, "/proc/%d/task/%d/%s", (int)process, (int)thread, what);
    (void)tnd_small_file_read(path, text, room);
}

static char state_of(pid_t process, pid_t thread)
{
    char text[512], state = '?';
    look_up(process, thread, "stat", text, sizeof text);
    const char *end = strrchr(text, ')');
    if (end != NULL)
        (void)sscanf(end + 1, " %c", &state);
    return state;
}

uint64_t tnd_thread_state_read(pid_t thread)
{
    char text[512];
    uint64_t called = 0, fetched = 0;
    look_up(getpid(), thread, "io", text, sizeof text);
    const char *at = strstr(text, "rchar: ");
    if (at != NULL)
        called = strtoull(at + 7, NULL, 10);
    at = strstr(text, "read_bytes: ");
    if (at != NULL)
        fetched = strtoull(at + 12, NULL, 10);
    return called + fetched;
}

void tnd_thread_state_progress(pid_t thread, tnd_thread_progress_t *progress)
{
    progress->read = tnd_thread_state_read(thread);
    progress->waits_for_disk = state_of(getpid(), thread) == 'D';
}

bool tnd_thread_state_rests(pid_t process, pid_t thread)
{
    char state = state_of(process, thread);
    return state == 'S' || state == 'T' || state == 't';
}

static const char *meaning_of(char state)
{
    switch (state) {
    case 'R':
        return "running";
    case 'S':
        return "sleeping";
    case 'D':
        return "waiting for a disk";
    case 'T':
    case 't':
        return "stopped";
    default:
        return "gone";
    }
}

bool tnd_thread_state_describe_other(pid_t process, pid_t thread, char *text, size_t room)
{
    char what[2048];
    char state = state_of(process, thread);
    size_t used = (size_t)snprintf(text, room, "thread %d (%s)", (int)thread, meaning_of(state));
    look_up(process, thread, "wchan", what, sizeof what);
    if (what[0] != '\0' && strcmp(what, "0") != 0 && used < room)
        used += (size_t)snprintf(text + used, room - used, ", wait channel %.60s", what);
    look_up(process, thread, "syscall", what, sizeof what);
    if (what[0] >= '0' && what[0] <= '9' && used < room)
        used +=
            (size_t)snprintf(text + used, room - used, ", system call %ld", strtol(what, NULL, 10));
    /* Lines "[<0>] function+0x1/0x2": readable only by privileged users. */
    look_up(process, thread, "stack", what, sizeof what);
    const char *mark = ", stack ";
    for (char *rest = NULL, *line = strtok_r(what, "\n", &rest); line != NULL && used < room;
         line = strtok_r(NULL, "\n", &rest)) {
        const char *name = strchr(line, ' ');
        if (name == NULL)
            continue;
        used += (size_t)snprintf(text + used, room - used, "%s%.*s", mark,
                                 (int)strcspn(name + 1, "+"), name + 1);
        mark = " < ";
    }
    return state != '?';
}

void tnd_thread_state_describe(pid_t thread, char *text, size_t room)
{
    (void)tnd_thread_state_describe_other(getpid(), thread, text, room);
}

uint64_t tnd_thread_ready(int schedstat, uint64_t before)
{
    char text[96];
    unsigned long long ready = 0;
    ssize_t got = schedstat >= 0 ? pread(schedstat, text, sizeof text - 1, 0) : 0;
    text[got > 0 ? got : 0] = '\0';
    return sscanf(text, "%*s %llu", &ready) == 1 ? ready : before;
}

uint64_t tnd_thread_disk_faults(void)
{
    struct rusage usage;
    return getrusage(RUSAGE_THREAD, &usage) == 0 ? (uint64_t)usage.ru_majflt : 0;
}
