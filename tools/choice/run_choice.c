/*  tools/choice/run_choice.c - which run of this machine a user means. */
#include "tools/choice/run_choice.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "runtime/observe/process.h"
#include "runtime/text/printable.h"

/*  The number of a process; 0: it is not one. */
static int number_of(const char *word)
{
    char *end;
    unsigned long number = strtoul(word, &end, 10);
    bool whole = word[0] >= '1' && word[0] <= '9' && *end == '\0' && number <= INT32_MAX;
    return whole ? (int)number : 0;
}

void tnd_run_choice_read(tnd_run_choice_t *self, const char *word)
{
    *self = (tnd_run_choice_t){.name = word};
    int number = word != NULL ? number_of(word) : 0;
    if (number == 0)
        return;
    tnd_inspection_t *look = tnd_inspection_new(TND_LOOK_NOW);
    for (uint32_t p = 0; p < look->count && !tnd_inspection_has(look, word, false); p++) {
        const tnd_inspected_t *process = &look->processes[p];
        if (process->process != number || process->killed || process->foreign)
            continue;
        snprintf(self->memory, sizeof self->memory, "%s", process->run);
        self->name = self->memory;
        self->session = process->session;
    }
    tnd_inspection_destroy(&look);
}

bool tnd_run_choice_fits(const tnd_run_choice_t *self, const tnd_inspected_t *process)
{
    return (self->name == NULL || strcmp(self->name, process->run) == 0) &&
           (self->session == 0 || self->session == process->session);
}

bool tnd_run_choice_exists(const char *name)
{
    tnd_inspection_t *look = tnd_inspection_of_run(name, TND_LOOK_NOW);
    bool exists = look->count > 0;
    tnd_inspection_destroy(&look);
    return exists;
}

/*  What was typed to start a process; "" if that is not visible. */
static void read_command(int process, char *text, size_t room)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/cmdline", process);
    FILE *file = fopen(path, "r");
    size_t size = file != NULL ? fread(text, 1, room - 1, file) : 0;
    if (file != NULL)
        fclose(file);
    for (size_t i = 0; i < size; i++)
        text[i] = text[i] == '\0' ? ' ' : text[i];
    while (size > 0 && text[size - 1] == ' ')
        size--;
    text[size] = '\0';
}

/*  The seconds since the start of a process; 0 if that is not visible. */
static uint64_t age_of(int process)
{
    struct timespec now;
    char state;
    uint64_t start = tnd_process_start(process, &state);
    uint64_t ticks = (uint64_t)sysconf(_SC_CLK_TCK);
    if (start == 0 || clock_gettime(CLOCK_BOOTTIME, &now) != 0)
        return 0;
    return (uint64_t)now.tv_sec > start / ticks ? (uint64_t)now.tv_sec - start / ticks : 0;
}

static int describe(const tnd_inspected_t *process, char *text, size_t room)
{
    char command[96] = "";
    if (process->here)
        read_command(process->process, command, sizeof command);
    int used = snprintf(text, room, "%d (%s", process->process, process->run);
    if (command[0] != '\0' && (size_t)used < room)
        used += snprintf(text + used, room - (size_t)used, ": %s, started %" PRIu64 " s ago",
                         command, age_of(process->process));
    if ((size_t)used < room)
        used += snprintf(text + used, room - (size_t)used, ")");
    return used;
}

/*  Whether no earlier process of the inspection is of the same run. */
static bool is_first(const tnd_inspection_t *look, uint32_t p)
{
    for (uint32_t q = 0; q < p; q++)
        if (!look->processes[q].killed &&
            tnd_inspected_same(&look->processes[q], &look->processes[p]))
            return false;
    return true;
}

const char *tnd_run_choice_several(const tnd_run_choice_t *self, const tnd_inspection_t *look,
                                   char *text, size_t room)
{
    int used = self->name != NULL
                   ? snprintf(text, room,
                              "several runs named %s are on this machine; name one by the number "
                              "of its process: ",
                              self->name)
                   : snprintf(text, room,
                              "several runs are on this machine; name one, or the number of its "
                              "process: ");
    bool any = false;
    for (uint32_t p = 0; p < look->count && (size_t)used < room; p++) {
        const tnd_inspected_t *process = &look->processes[p];
        if (process->killed || !tnd_run_choice_fits(self, process) || !is_first(look, p))
            continue;
        used += snprintf(text + used, room - (size_t)used, "%s", any ? ", " : "");
        if ((size_t)used < room)
            used +=
                describe(tnd_inspection_leader(look, process), text + used, room - (size_t)used);
        any = true;
    }
    return tnd_printable(text, room);
}
