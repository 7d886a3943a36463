/*  tools/command/doctor.c - `tundish doctor`: checks whether this machine is fit for runs. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <netinet/in.h>
#include <sched.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/statvfs.h>
#include <sys/un.h>
#include <unistd.h>

#include "runtime/base/allocation.h"
#include "runtime/base/clock.h"
#include "runtime/launch/launch.h"
#include "runtime/observe/pages.h"
#include "runtime/pages/page_folders.h"
#include "tools/cli/command.h"
#include "tools/cli/json.h"
#include "tools/cli/terminal.h"
#include "tools/cli/versions.h"
#include "tools/machine/machine_check.h"
#include "transport/cuda/cuda_devices.h"
#include "transport/cuda/cuda_image.h"
#include "transport/nccl/nccl_library.h"

typedef struct {
    bool json;
} doctor_options_t;

/*  Texts of the facts. */
typedef struct {
    tnd_facts_t facts;
    char shared[128], pages[640], pages_folder[160], temporary[128], tcp[128], ipc[128];
    char clock_source[64], huge_pages[64], libraries[256], cuda[256], cuda_name[64];
    char nccl[256], nccl_wrong[256];
    char launcher[256], launcher_wrong[512];
} machine_t;

/*  The first line of a file, without its newline; "" if it cannot be read. */
static void read_line(const char *path, char *line, int room)
{
    FILE *in = fopen(path, "re");
    line[0] = '\0';
    if (in != NULL && fgets(line, room, in) != NULL)
        line[strcspn(line, "\n")] = '\0';
    if (in != NULL)
        fclose(in);
}

static void look_at_cores(tnd_facts_t *facts)
{
    long online = sysconf(_SC_NPROCESSORS_ONLN);
    facts->online = facts->allowed = online > 0 ? (uint32_t)online : 1;
    /* On the largest machines the mask is larger than a cpu_set_t. */
    for (int room = 1024; room <= 1 << 20; room *= 4) {
        cpu_set_t *set = CPU_ALLOC((size_t)room);
        size_t bytes = CPU_ALLOC_SIZE((size_t)room);
        if (set == NULL)
            abort();
        bool got = sched_getaffinity(0, bytes, set) == 0;
        if (got)
            facts->allowed = (uint32_t)CPU_COUNT_S(bytes, set);
        CPU_FREE(set);
        if (got)
            break;
    }
    facts->task = tnd_task_processors();
    tnd_group_limits_read("", &facts->limits);
}

static void look_at_memory(tnd_facts_t *facts)
{
    char line[256];
    FILE *in = fopen("/proc/meminfo", "re");
    while (in != NULL && fgets(line, sizeof line, in) != NULL) {
        uint64_t kib;
        if (sscanf(line, "MemTotal: %" SCNu64, &kib) == 1)
            facts->memory_bytes = kib * 1024;
        if (sscanf(line, "MemAvailable: %" SCNu64, &kib) == 1)
            facts->available_bytes = kib * 1024;
    }
    if (in != NULL)
        fclose(in);
    struct rlimit files;
    if (getrlimit(RLIMIT_NOFILE, &files) == 0) {
        facts->descriptors = files.rlim_cur == RLIM_INFINITY ? UINT64_MAX : files.rlim_cur;
        facts->descriptors_max = files.rlim_max == RLIM_INFINITY ? UINT64_MAX : files.rlim_max;
    }
    struct rlimit tasks;
    facts->tasks = UINT64_MAX;
    if (geteuid() != 0 && getrlimit(RLIMIT_NPROC, &tasks) == 0 && tasks.rlim_cur != RLIM_INFINITY)
        facts->tasks = tasks.rlim_cur;
}

/*  Whether a file can be created and filled in a folder. */
static void try_folder(const char *folder, char *reason, size_t room)
{
    char path[512];
    snprintf(path, sizeof path, "%s/tundish-doctor-XXXXXX", folder);
    int file = mkostemp(path, O_CLOEXEC);
    bool good = file >= 0 && write(file, "tundish", 7) == 7;
    snprintf(reason, room, "%s", good ? "" : strerror(errno));
    if (file >= 0) {
        close(file);
        unlink(path);
    }
}

static void look_at_folders(machine_t *machine)
{
    tnd_facts_t *facts = &machine->facts;
    struct statvfs shared;
    try_folder("/dev/shm", machine->shared, sizeof machine->shared);
    if (statvfs("/dev/shm", &shared) == 0) {
        facts->shared_bytes = (uint64_t)shared.f_blocks * shared.f_frsize;
        facts->shared_free_bytes = (uint64_t)shared.f_bavail * shared.f_frsize;
    }
    facts->shared_reason = machine->shared;

    tnd_pages_folders_t folders;
    tnd_pages_t *pages = NULL;
    tnd_error_t error = {.text = ""};
    (void)tnd_pages_folders(&folders);
    snprintf(machine->pages_folder, sizeof machine->pages_folder, "%s", folders.path[0]);
    if (tnd_pages_new(&pages, "doctor", "check", 1, (tnd_pages_shape_t){.actors = 1}, &error) !=
        TND_OK)
        snprintf(machine->pages, sizeof machine->pages, "%s", error.text);
    tnd_pages_destroy(&pages);
    facts->pages_folder = machine->pages_folder;
    facts->pages_reason = machine->pages;

    const char *temporary = getenv("TMPDIR");
    facts->temporary_folder = temporary != NULL && *temporary != '\0' ? temporary : "/tmp";
    facts->temporary_reason = machine->temporary;
    try_folder(facts->temporary_folder, machine->temporary, sizeof machine->temporary);
}

static void try_listen(const struct sockaddr *address, socklen_t size, char *reason, size_t room)
{
    int file = socket(address->sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    bool good = file >= 0 && bind(file, address, size) == 0 && listen(file, 1) == 0;
    snprintf(reason, room, "%s", good ? "" : strerror(errno));
    if (file >= 0)
        close(file);
}

static void look_at_network(machine_t *machine)
{
    tnd_facts_t *facts = &machine->facts;
    char line[64];
    read_line("/proc/sys/net/ipv4/ip_local_port_range", line, sizeof line);
    if (sscanf(line, "%" SCNu32 " %" SCNu32, &facts->port_first, &facts->port_last) != 2)
        facts->port_first = facts->port_last = 0;
    struct sockaddr_in tcp = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    try_listen((const struct sockaddr *)(const void *)&tcp, sizeof tcp, machine->tcp,
               sizeof machine->tcp);
    /* A name that starts with NUL is abstract, not in a folder; runs use such names. */
    struct sockaddr_un ipc = {.sun_family = AF_UNIX};
    int used =
        snprintf(ipc.sun_path + 1, sizeof ipc.sun_path - 1, "tundish.doctor.%d", (int)getpid());
    try_listen((const struct sockaddr *)(const void *)&ipc,
               (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)used), machine->ipc,
               sizeof machine->ipc);
    facts->tcp_reason = machine->tcp;
    facts->ipc_reason = machine->ipc;
}

static void look_at_clock(machine_t *machine)
{
    enum { TRIES = 16, READINGS = 64 };
    tnd_facts_t *facts = &machine->facts;
    struct timespec resolution;
    if (clock_getres(CLOCK_MONOTONIC, &resolution) == 0)
        facts->clock_resolution_ns =
            (uint64_t)resolution.tv_sec * 1000000000u + (uint64_t)resolution.tv_nsec;
    facts->clock_cost_ns = UINT64_MAX;
    /* The fastest of several, because others may have been interrupted. */
    for (int i = 0; i < TRIES; i++) {
        uint64_t begin = tnd_clock_now(), end = begin;
        for (int r = 0; r < READINGS; r++)
            end = tnd_clock_now();
        uint64_t cost = (end - begin) / READINGS;
        facts->clock_cost_ns = cost < facts->clock_cost_ns ? cost : facts->clock_cost_ns;
    }
    read_line("/sys/devices/system/clocksource/clocksource0/current_clocksource",
              machine->clock_source, sizeof machine->clock_source);
    facts->clock_source = machine->clock_source;
    read_line("/sys/kernel/mm/transparent_hugepage/enabled", machine->huge_pages,
              sizeof machine->huge_pages);
    facts->huge_pages = machine->huge_pages;
}

static void look_at_cuda(machine_t *machine)
{
    tnd_facts_t *facts = &machine->facts;
    const tnd_cuda_driver_t *driver;
    tnd_device_facts_t first = {.numa_node = -1};
    tnd_error_t error = {.text = ""};
    facts->cuda_casts = tnd_cuda_image_bytes() > 0;
    if (tnd_cuda_devices_count(&facts->cuda_devices, &error) == TND_OK &&
        tnd_cuda_devices_describe(0, &first, &error) == TND_OK &&
        tnd_cuda_driver(&driver, &error) == TND_OK)
        (void)driver->cuDriverGetVersion(&facts->cuda_version);
    facts->cuda_driver = tnd_cuda_driver_found();
    facts->cuda_memory = first.memory;
    snprintf(machine->cuda_name, sizeof machine->cuda_name, "%s", first.name);
    snprintf(machine->cuda, sizeof machine->cuda, "%s", error.text);
    facts->cuda_name = machine->cuda_name;
    facts->cuda_reason = machine->cuda;
}

/*  Appends the variables that change what NCCL does, which are the user's. */
static void list_variables(char *text, size_t room)
{
    bool any = false;
    for (char **at = environ; *at != NULL; at++) {
        size_t used = strlen(text), length = strcspn(*at, "=");
        if (strncmp(*at, "NCCL_", 5) != 0 || used + length + 8 > room)
            continue;
        snprintf(text + used, room - used, "%s%.*s", any ? ", " : "; set: ", (int)length, *at);
        any = true;
    }
}

static void look_at_nccl(machine_t *machine)
{
    const tnd_nccl_library_t *library;
    tnd_error_t error = {.text = ""};
    char version[32];
    if (tnd_nccl_library(&library, &error) == TND_OK)
        snprintf(machine->nccl, sizeof machine->nccl, "NCCL %s, %.120s",
                 tnd_nccl_version_text(library->version, version, sizeof version), library->path);
    if (machine->nccl[0] != '\0')
        list_variables(machine->nccl, sizeof machine->nccl - 32);
    snprintf(machine->nccl_wrong, sizeof machine->nccl_wrong, "%s", error.text);
    machine->facts.nccl_found = tnd_nccl_library_found();
    machine->facts.nccl = machine->nccl;
    machine->facts.nccl_reason = machine->nccl_wrong;
}

static void look_at_launcher(machine_t *machine)
{
    tnd_launch_t launch;
    tnd_error_t error;
    bool good = tnd_launch_read(&launch, (const char *const *)environ, NULL, &error) == TND_OK;
    if (good && launch.launcher != NULL)
        (void)tnd_launch_text(&launch, machine->launcher, sizeof machine->launcher);
    snprintf(machine->launcher_wrong, sizeof machine->launcher_wrong, "%s",
             good ? launch.hint : error.text);
    machine->facts.launcher = machine->launcher;
    machine->facts.launcher_wrong = machine->launcher_wrong;
}

static void inspect(machine_t *machine)
{
    look_at_cores(&machine->facts);
    look_at_memory(&machine->facts);
    look_at_folders(machine);
    look_at_network(machine);
    look_at_clock(machine);
    FILE *out = tnd_require_memory(fmemopen(machine->libraries, sizeof machine->libraries, "w"));
    tnd_versions_print_libraries(out);
    fclose(out);
    machine->facts.libraries = machine->libraries;
    machine->facts.libraries_old = tnd_versions_old();
    look_at_cuda(machine);
    look_at_nccl(machine);
    look_at_launcher(machine);
}

/* --- showing it ------------------------------------------------------------------------------- */

static const char *const level_names[] = {"ok", "warning", "bad"};

static void print_text(const tnd_check_t *checks)
{
    static const int colours[] = {32, 33, 31};
    bool colour = tnd_terminal_look(STDOUT_FILENO).colour;
    for (size_t i = 0; i < TND_CHECKS; i++) {
        if (colour)
            printf("\033[%dm", colours[checks[i].level]);
        printf("%-8s", level_names[checks[i].level]);
        printf("%s%-12s %s\n", colour ? "\033[0m" : "", checks[i].name, checks[i].found);
        if (checks[i].advice[0] != '\0')
            printf("%20s %s\n", "->", checks[i].advice);
    }
}

static void print_json(const tnd_check_t *checks)
{
    fputs("{\"checks\":[", stdout);
    for (size_t i = 0; i < TND_CHECKS; i++) {
        tnd_json_begin(stdout, i > 0, "name", checks[i].name);
        printf(",\"level\":\"%s\",\"found\":", level_names[checks[i].level]);
        tnd_json_text(stdout, checks[i].found);
        tnd_json_member(stdout, "advice", checks[i].advice[0] != '\0' ? checks[i].advice : NULL);
        fputs("}", stdout);
    }
    fputs("]}\n", stdout);
}

static int doctor(const tnd_request_t *request)
{
    const doctor_options_t *options = request->options;
    if (request->file_count > 0)
        return tnd_usage_error(
            "doctor", "takes no files: it checks this machine; tundish validate checks files");
    machine_t machine = {.facts = {0}};
    tnd_check_t checks[TND_CHECKS];
    inspect(&machine);
    tnd_machine_check(&machine.facts, checks);
    if (options->json)
        print_json(checks);
    else
        print_text(checks);
    bool bad = false;
    for (size_t i = 0; i < TND_CHECKS; i++)
        bad = bad || checks[i].level == TND_CHECK_BAD;
    return bad ? TND_EXIT_FAILED : TND_EXIT_OK;
}

static const tnd_argument_t arguments[] = {
    {TND_COMMON("--json", doctor_options_t, json)},
};

const tnd_command_t tnd_command_doctor = {
    .name = "doctor",
    .operands = "",
    .summary = "checks this machine, and advises what to change",
    TND_ARGUMENTS(arguments, doctor_options_t),
    .details =
        "Prints a line each for processors (after affinity and control groups), memory and its\n"
        "limit, open files, /dev/shm, the folders for statistics and temporary files, ports,\n"
        "local sockets, the clock, huge pages, libraries, the CUDA driver, NCCL, and the launcher\n"
        "that started it, if any.  Below a line that is not ok is what to do.  --json prints one "
        "object:\n"
        "  {\"checks\":[{\"name\",\"level\",\"found\",\"advice\"}]}\n",
    .codes = "  0   there are no errors; there may be warnings\n"
             "  1   an error: runs may fail\n"
             "  2   usage\n",
    .run = doctor,
};
