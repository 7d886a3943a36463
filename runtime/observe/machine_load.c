/*  runtime/observe/machine_load.c - how busy processors, memory and disks of this machine are. */
#include "runtime/observe/machine_load.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "runtime/base/limits.h"
#include "runtime/base/small_file.h"

/*  The text of a file of /proc; "" if there is none. */
static void look_up(const char *root, const char *name, char *text, size_t room)
{
    char path[256];
    snprintf(path, sizeof path, "%s/proc/%s", root, name);
    (void)tnd_small_file_read(path, text, room);
}

static void read_runnable(const char *root, tnd_machine_load_t *load)
{
    char text[256];
    look_up(root, "loadavg", text, sizeof text);
    if (sscanf(text, "%lf %*f %*f %u/", &load->load, &load->runnable) != 2)
        *load = (tnd_machine_load_t){.processors = load->processors};
}

/*  Time that guests of this machine run is in `user` already. */
static void read_ticks(const char *root, tnd_machine_load_t *load)
{
    char text[256];
    uint64_t user, nice, system, idle, disk, interrupts, soft, stolen = 0;
    look_up(root, "stat", text, sizeof text);
    if (sscanf(text,
               "cpu %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64
               " %" SCNu64 " %" SCNu64,
               &user, &nice, &system, &idle, &disk, &interrupts, &soft, &stolen) < 7)
        return;
    load->idle_ticks = idle + disk;
    load->disk_ticks = disk;
    load->ticks = load->idle_ticks + user + nice + system + interrupts + soft + stolen;
}

/*  The number after a name at the start of a line; 0: there is none. */
static uint64_t number_of(const char *text, const char *name)
{
    uint64_t number = 0;
    size_t length = strlen(name);
    for (const char *line = text; line != NULL; line = strchr(line, '\n')) {
        line += *line == '\n';
        if (strncmp(line, name, length) == 0 && sscanf(line + length, "%" SCNu64, &number) == 1)
            return number;
    }
    return 0;
}

static void read_memory(const char *root, tnd_machine_load_t *load)
{
    char text[1024];
    look_up(root, "meminfo", text, sizeof text);
    load->memory = number_of(text, "MemTotal:") << 10;
    load->free = number_of(text, "MemAvailable:") << 10;
}

static void read_disks(const char *root, tnd_machine_load_t *load)
{
    char text[16384];
    look_up(root, "vmstat", text, sizeof text);
    load->read = number_of(text, "pgpgin ") << 10;
    load->written = number_of(text, "pgpgout ") << 10;
}

void tnd_machine_load_read(const char *root, tnd_machine_load_t *load)
{
    *load = (tnd_machine_load_t){.processors = tnd_processors_allowed()};
    read_runnable(root, load);
    read_ticks(root, load);
    read_memory(root, load);
    read_disks(root, load);
}
