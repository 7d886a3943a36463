/*  runtime/observe/hang_detector.c - detects threads that hang. */
#include "runtime/observe/hang_detector.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/*  The text of a file of /proc about a thread of a process; "" if there is none. */
static void look_up(pid_t process, pid_t thread, const char *what, char *text, size_t room)
{
    char path[80];
    snprintf(path, sizeof path, "/proc/%d/task/%d/%s", (int)process, (int)thread, what);
    int file = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t got = file >= 0 ? read(file, text, room - 1) : -1;
    if (file >= 0)
        close(file);
    text[got > 0 ? got : 0] = '\0';
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

uint64_t tnd_hang_detector_read(pid_t thread)
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

bool tnd_hang_detector_hangs(tnd_hang_detector_t *self, uint64_t since_ns, pid_t thread,
                             uint64_t hung_after_ns, uint64_t now)
{
    if (since_ns != self->since_ns)
        *self = (tnd_hang_detector_t){.since_ns = since_ns};
    if (now < since_ns + hung_after_ns / 2 || now < self->look_ns)
        return false;
    uint64_t read = tnd_hang_detector_read(thread);
    if (self->look_ns != 0 && read == self->read && state_of(getpid(), thread) != 'D')
        return true;
    self->read = read;
    self->look_ns = now + hung_after_ns / 2;
    return false;
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

bool tnd_hang_detector_describe_other(pid_t process, pid_t thread, char *text, size_t room)
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

void tnd_hang_detector_describe(pid_t thread, char *text, size_t room)
{
    (void)tnd_hang_detector_describe_other(getpid(), thread, text, room);
}
