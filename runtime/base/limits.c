/*  runtime/base/limits.c - what the control groups of a process allow it. */
#include "runtime/base/limits.h"

#include <inttypes.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "runtime/base/small_file.h"

/*  Version 1 reports "no limit" as a number that is about as large as the address space. */
static const uint64_t no_limit_bytes = UINT64_C(1) << 60;

typedef struct {
    const char *root;
    const char *process;  /* its number, or "self" */
    bool unified;         /* version 2 */
    char path[512];       /* of the group, as the kernel reports it */
    char mount[512];      /* where its tree is mounted, below `root` */
    char mount_root[512]; /* which part of the tree that is */
} group_t;

/*  Reads the first line of a file; returns false if there is none. */
static bool read_line(const char *path, char *line, int room)
{
    FILE *in = fopen(path, "re");
    bool got = in != NULL && fgets(line, room, in) != NULL;
    if (in != NULL)
        fclose(in);
    return got;
}

/*  Whether `word` is in a list with commas. */
static bool lists(const char *list, const char *word)
{
    size_t length = strlen(word);
    for (const char *at = list; at != NULL; at = strchr(at, ',')) {
        at += *at == ',';
        if (strncmp(at, word, length) == 0 && (at[length] == ',' || at[length] == '\0'))
            return true;
    }
    return false;
}

/*  Which group the controller has the process in; version 1 if both exist. */
static bool find_group(group_t *group, const char *controller)
{
    char path[512], line[1024];
    bool found = false;
    snprintf(path, sizeof path, "%s/proc/%s/cgroup", group->root, group->process);
    FILE *in = fopen(path, "re");
    while (in != NULL && fgets(line, sizeof line, in) != NULL) {
        char *controllers = strchr(line, ':');
        char *name = controllers != NULL ? strchr(controllers + 1, ':') : NULL;
        if (name == NULL)
            continue;
        *controllers++ = *name++ = '\0';
        name[strcspn(name, "\n")] = '\0';
        bool unified = *controllers == '\0';
        if (unified ? found : !lists(controllers, controller))
            continue;
        snprintf(group->path, sizeof group->path, "%s", name);
        group->unified = unified;
        found = true;
    }
    if (in != NULL)
        fclose(in);
    return found;
}

static bool find_mount(group_t *group, const char *controller)
{
    char path[512], line[2048];
    bool found = false;
    snprintf(path, sizeof path, "%s/proc/self/mountinfo", group->root);
    FILE *in = fopen(path, "re");
    while (in != NULL && !found && fgets(line, sizeof line, in) != NULL) {
        char type[64], options[512];
        const char *dash = strstr(line, " - ");
        if (dash == NULL || sscanf(dash, " - %63s %*s %511s", type, options) != 2 ||
            sscanf(line, "%*s %*s %*s %511s %511s", group->mount_root, group->mount) != 2)
            continue;
        found = group->unified ? strcmp(type, "cgroup2") == 0
                               : strcmp(type, "cgroup") == 0 && lists(options, controller);
    }
    if (in != NULL)
        fclose(in);
    return found;
}

static void take_cache(const char *path, uint64_t bytes, tnd_group_limits_t *limits)
{
    if (bytes >= limits->cache_bytes)
        return;
    limits->cache_bytes = bytes;
    snprintf(limits->cache_by, sizeof limits->cache_by, "%s", path);
}

/*  Adds up the lines of a file "NAME BYTES" whose names are in a list with commas. */
static uint64_t sum_lines(const char *path, const char *names)
{
    char line[256], name[64];
    uint64_t sum = 0, bytes;
    FILE *in = fopen(path, "re");
    while (in != NULL && fgets(line, sizeof line, in) != NULL)
        if (sscanf(line, "%63s %" SCNu64, name, &bytes) == 2 && lists(names, name))
            sum += bytes;
    if (in != NULL)
        fclose(in);
    return sum;
}

static void take_memory(const char *folder, bool unified, tnd_group_limits_t *limits)
{
    char path[1200], line[64];
    snprintf(path, sizeof path, "%s/%s", folder,
             unified ? "memory.current" : "memory.usage_in_bytes");
    uint64_t used = read_line(path, line, sizeof line) ? strtoull(line, NULL, 10) : 0;
    snprintf(path, sizeof path, "%s/memory.stat", folder);
    uint64_t files = sum_lines(path, unified ? "inactive_file,active_file"
                                             : "total_inactive_file,total_active_file");
    snprintf(path, sizeof path, "%s/%s", folder, unified ? "memory.max" : "memory.limit_in_bytes");
    if (!read_line(path, line, sizeof line) || strncmp(line, "max", 3) == 0)
        return;
    uint64_t bytes = strtoull(line, NULL, 10);
    if (bytes == 0 || bytes >= no_limit_bytes)
        return;
    uint64_t others = used > files ? used - files : 0;
    take_cache(path, bytes > others ? bytes - others : 0, limits);
    if (bytes >= limits->memory_bytes)
        return;
    limits->memory_bytes = bytes;
    snprintf(limits->memory_by, sizeof limits->memory_by, "%s", path);
}

static void take_cores(const char *path, double quota, double period, tnd_group_limits_t *limits)
{
    if (quota <= 0 || period <= 0 || (limits->cores != 0 && quota / period >= limits->cores))
        return;
    limits->cores = quota / period;
    snprintf(limits->cores_by, sizeof limits->cores_by, "%s", path);
}

/*  Version 1 counts nanoseconds, version 2 microseconds. */
static void take_throttled(const group_t *group, const char *folder, tnd_group_limits_t *limits)
{
    char path[1200];
    snprintf(path, sizeof path, "%s/cpu.stat", folder);
    uint64_t ns = group->unified ? sum_lines(path, "throttled_usec") * 1000
                                 : sum_lines(path, "throttled_time");
    limits->throttled_ns = ns > limits->throttled_ns ? ns : limits->throttled_ns;
}

static void take_tasks(const char *folder, tnd_group_limits_t *limits)
{
    char path[1200], line[64], *end;
    snprintf(path, sizeof path, "%s/pids.max", folder);
    if (!read_line(path, line, sizeof line))
        return;
    uint64_t tasks = strtoull(line, &end, 10);
    if (end == line || tasks >= limits->tasks)
        return;
    limits->tasks = tasks;
    snprintf(limits->tasks_by, sizeof limits->tasks_by, "%s", path);
}

static void take_processors(const group_t *group, const char *folder, tnd_group_limits_t *limits)
{
    char path[1200], line[64];
    double quota = 0, period = 0;
    take_throttled(group, folder, limits);
    if (group->unified) {
        snprintf(path, sizeof path, "%s/cpu.max", folder);
        if (read_line(path, line, sizeof line) && sscanf(line, "%lf %lf", &quota, &period) == 2)
            take_cores(path, quota, period, limits);
    } else {
        snprintf(path, sizeof path, "%s/cpu.cfs_period_us", folder);
        if (read_line(path, line, sizeof line))
            period = strtod(line, NULL);
        snprintf(path, sizeof path, "%s/cpu.cfs_quota_us", folder);
        if (read_line(path, line, sizeof line))
            take_cores(path, strtod(line, NULL), period, limits);
    }
}

static void take_folder(const group_t *group, const char *controller, const char *folder,
                        tnd_group_limits_t *limits)
{
    if (strcmp(controller, "memory") == 0)
        take_memory(folder, group->unified, limits);
    else if (strcmp(controller, "pids") == 0)
        take_tasks(folder, limits);
    else
        take_processors(group, folder, limits);
}

static void take_controller(const char *root, const char *process, const char *controller,
                            tnd_group_limits_t *limits)
{
    group_t group = {.root = root, .process = process};
    if (!find_group(&group, controller) || !find_mount(&group, controller))
        return;
    /* A container sees its own group as the root of the mount, but may be told its full path. */
    const char *below = group.path;
    size_t length = strlen(group.mount_root);
    if (length > 1 && strncmp(below, group.mount_root, length) == 0 &&
        (below[length] == '/' || below[length] == '\0'))
        below += length;
    char folder[1100];
    int least = snprintf(folder, sizeof folder, "%s%s", root, group.mount);
    snprintf(folder + least, sizeof folder - (size_t)least, "%s",
             strcmp(below, "/") != 0 ? below : "");
    for (;;) {
        take_folder(&group, controller, folder, limits);
        char *slash = strrchr(folder, '/');
        if (slash == NULL || slash < folder + least)
            return;
        *slash = '\0';
    }
}

void tnd_group_limits_read(const char *root, tnd_group_limits_t *limits)
{
    char path[512];
    *limits = (tnd_group_limits_t){
        .memory_bytes = UINT64_MAX, .cache_bytes = UINT64_MAX, .tasks = UINT64_MAX};
    snprintf(path, sizeof path, "%s/proc/meminfo", root);
    uint64_t available = sum_lines(path, "MemAvailable:");
    if (available > 0)
        take_cache(path, available * 1024, limits);
    take_controller(root, "self", "cpu", limits);
    take_controller(root, "self", "memory", limits);
    take_controller(root, "self", "pids", limits);
}

void tnd_group_names(const char *root, int process, char *text, size_t room)
{
    char path[512];
    snprintf(path, sizeof path, "%s/proc/%d/cgroup", root, process);
    (void)tnd_small_file_read(path, text, room);
}

void tnd_group_limits_of(const char *root, int process, tnd_group_limits_t *limits)
{
    char number[16];
    snprintf(number, sizeof number, "%d", process);
    *limits = (tnd_group_limits_t){
        .memory_bytes = UINT64_MAX, .cache_bytes = UINT64_MAX, .tasks = UINT64_MAX};
    take_controller(root, number, "cpu", limits);
}

uint32_t tnd_processors_allowed(void)
{
    cpu_set_t allowed;
    if (sched_getaffinity(0, sizeof allowed, &allowed) == 0)
        return (uint32_t)CPU_COUNT(&allowed);
    long online = sysconf(_SC_NPROCESSORS_ONLN); /* more than a cpu_set_t has room for */
    return online > 0 ? (uint32_t)online : 1;
}

uint32_t tnd_processors_allowed_of(int process)
{
    cpu_set_t allowed;
    bool known = process > 0 && sched_getaffinity(process, sizeof allowed, &allowed) == 0;
    return known ? (uint32_t)CPU_COUNT(&allowed) : 0;
}

uint32_t tnd_task_processors(void)
{
    const char *step = getenv("SLURM_STEP_ID"), *text = getenv("SLURM_CPUS_PER_TASK");
    unsigned long count = step != NULL && text != NULL ? strtoul(text, NULL, 10) : 0;
    return count < UINT32_MAX ? (uint32_t)count : 0;
}

double tnd_cores_allowed(void)
{
    tnd_group_limits_t limits;
    uint32_t processors = tnd_processors_allowed(), task = tnd_task_processors();
    processors = task > 0 && task < processors ? task : processors;
    tnd_group_limits_read("", &limits);
    return limits.cores > 0 && limits.cores < processors ? limits.cores : processors;
}
