/*  runtime/observe/process.c - identifies the process of a host and checks its state. */
#include "runtime/observe/process.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runtime/base/small_file.h"

uint64_t tnd_process_start(int number, char *state_p)
{
    char path[64], text[1024];
    *state_p = '?';
    snprintf(path, sizeof path, "/proc/%d/stat", number);
    if (!tnd_small_file_read(path, text, sizeof text))
        return 0;
    /* The second field is a name in brackets, which may contain any character. */
    const char *at = strrchr(text, ')');
    uint64_t start = 0;
    if (at == NULL ||
        sscanf(at + 1,
               " %c %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s "
               "%" SCNu64,
               state_p, &start) != 2)
        return 0;
    return start;
}

/*  The boot id and the container; "" if unknown. */
static void name_machine(char *name, size_t room)
{
    char boot[40];
    struct stat space;
    name[0] = '\0';
    if (!tnd_small_file_read("/proc/sys/kernel/random/boot_id", boot, sizeof boot) ||
        stat("/proc/self/ns/pid", &space) != 0)
        return;
    boot[strcspn(boot, "\n")] = '\0';
    snprintf(name, room, "%s.%ju", boot, (uintmax_t)space.st_ino);
}

tnd_process_t tnd_process_own(void)
{
    tnd_process_t self = {.number = (int)getpid()};
    char state;
    self.start = tnd_process_start(self.number, &state);
    name_machine(self.machine, sizeof self.machine);
    return self.start != 0 && self.machine[0] != '\0' ? self : (tnd_process_t){0};
}

void tnd_process_write(const tnd_process_t *self, FILE *out)
{
    if (self->number != 0)
        fprintf(out, "process %d %" PRIu64 " %s", self->number, self->start, self->machine);
}

bool tnd_process_read(tnd_process_t *self, const char *line)
{
    tnd_process_t said = {0};
    if (sscanf(line, "process %d %" SCNu64 " %79s", &said.number, &said.start, said.machine) != 3 ||
        said.number <= 0)
        return false;
    *self = said;
    return true;
}

tnd_fate_t tnd_process_fate(const tnd_process_t *self)
{
    char here[sizeof self->machine], state;
    name_machine(here, sizeof here);
    if (self->number <= 0 || here[0] == '\0' || strcmp(here, self->machine) != 0)
        return TND_FATE_UNKNOWN;
    if (kill(self->number, 0) != 0 && errno == ESRCH)
        return TND_FATE_DEAD;
    uint64_t start = tnd_process_start(self->number, &state);
    if (start == 0)
        return TND_FATE_ALIVE; /* /proc hides the processes of other users */
    /* A process that has ended keeps its number until its parent waits for it. */
    return start == self->start && state != 'Z' && state != 'X' ? TND_FATE_ALIVE : TND_FATE_DEAD;
}

bool tnd_process_thread_times(uint64_t thread, uint64_t *cpu_ns_p, uint64_t *ready_ns_p)
{
    char path[64], text[96];
    unsigned long long cpu, ready;
    snprintf(path, sizeof path, "/proc/self/task/%" PRIu64 "/schedstat", thread);
    if (!tnd_small_file_read(path, text, sizeof text) ||
        sscanf(text, "%llu %llu", &cpu, &ready) != 2)
        return false;
    *cpu_ns_p = cpu;
    *ready_ns_p = ready;
    return true;
}

uint64_t tnd_process_anonymous(int process)
{
    char path[64], line[256];
    uint64_t kilobytes = 0;
    snprintf(path, sizeof path, "/proc/%d/status", process);
    FILE *file = fopen(path, "re");
    if (file == NULL)
        return 0;
    while (fgets(line, sizeof line, file) != NULL)
        if (sscanf(line, "RssAnon: %" SCNu64, &kilobytes) == 1)
            break;
    fclose(file);
    return kilobytes * 1024;
}
