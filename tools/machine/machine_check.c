/*  tools/machine/machine_check.c - judges whether a machine is fit for runs. */
#include "tools/machine/machine_check.h"

#include <assert.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static const double mib = 1 << 20, gib = 1 << 30;

static void say(tnd_check_t *check, const char *name, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
static void advise(tnd_check_t *check, tnd_check_level_t level, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

static void say(tnd_check_t *check, const char *name, const char *format, ...)
{
    va_list list;
    *check = (tnd_check_t){.name = name};
    va_start(list, format);
    vsnprintf(check->found, sizeof check->found, format, list);
    va_end(list);
}

static void advise(tnd_check_t *check, tnd_check_level_t level, const char *format, ...)
{
    va_list list;
    if (level < check->level)
        return;
    check->level = level;
    va_start(list, format);
    vsnprintf(check->advice, sizeof check->advice, format, list);
    va_end(list);
}

static void judge_cores(const tnd_facts_t *facts, tnd_check_t *check)
{
    const tnd_group_limits_t *limits = &facts->limits;
    char quota[360] = "";
    int used = 0;
    if (limits->cores > 0)
        used = snprintf(quota, sizeof quota, ", %.4g of processor time allowed by %s",
                        limits->cores, limits->cores_by);
    if (facts->task > 0)
        snprintf(quota + used, sizeof quota - (size_t)used,
                 ", %" PRIu32 " for each task by SLURM_CPUS_PER_TASK", facts->task);
    say(check, "cores", "%" PRIu32 " of %" PRIu32 " may be used%s", facts->allowed, facts->online,
        quota);
    if (facts->allowed == 1)
        advise(check, TND_CHECK_WARNING,
               "reading and computing take turns: allow more processors (taskset, cpuset)");
    if (limits->cores > 0 && limits->cores < facts->allowed)
        advise(check, TND_CHECK_WARNING,
               "threads beyond %.4g are stopped for the rest of each period: keep `devices` and "
               "`workers` together at %.0f, or raise the quota",
               limits->cores, limits->cores < 1 ? 1 : limits->cores);
}

static void judge_memory(const tnd_facts_t *facts, tnd_check_t *check)
{
    const tnd_group_limits_t *limits = &facts->limits;
    bool limited = limits->memory_bytes < facts->memory_bytes;
    char by[320] = "";
    if (limited)
        snprintf(by, sizeof by, ", limited to %.2f GiB by %s", (double)limits->memory_bytes / gib,
                 limits->memory_by);
    uint64_t least = facts->available_bytes;
    if (limited && limits->memory_bytes < least)
        least = limits->memory_bytes;
    say(check, "memory", "%.1f GiB, %.1f available%s", (double)facts->memory_bytes / gib,
        (double)facts->available_bytes / gib, by);
    if (facts->memory_bytes == 0)
        say(check, "memory", "not known: /proc/meminfo cannot be read");
    else if ((double)least < 128 * mib)
        advise(check, TND_CHECK_BAD, "too little to run anything: end other programs");
    else if ((double)least < gib)
        advise(check, TND_CHECK_WARNING,
               "set `memory:` for the host; `tundish explain` shows what a graph needs");
}

static void judge_descriptors(const tnd_facts_t *facts, tnd_check_t *check)
{
    char most[32];
    snprintf(most, sizeof most, "%" PRIu64, facts->descriptors_max);
    say(check, "descriptors", "%" PRIu64 " open files allowed, at most %s", facts->descriptors,
        facts->descriptors_max == UINT64_MAX ? "any number" : most);
    /* A run raises the soft limit as needed. */
    if (facts->descriptors_max < 128)
        advise(check, TND_CHECK_BAD,
               "too few for most runs: ulimit -n 1024; `tundish explain` shows what a graph needs");
    else if (facts->descriptors_max < 1024)
        advise(check, TND_CHECK_WARNING,
               "few for many hosts or files: ulimit -n 1024; `tundish explain` shows what a graph "
               "needs");
}

/*  Processes and threads count alike. */
static void judge_threads(const tnd_facts_t *facts, tnd_check_t *check)
{
    const tnd_group_limits_t *limits = &facts->limits;
    bool group = limits->tasks < facts->tasks;
    uint64_t most = group ? limits->tasks : facts->tasks;
    say(check, "threads", "any number allowed");
    if (most == UINT64_MAX)
        return;
    say(check, "threads", "%" PRIu64 " processes and threads allowed by %s", most,
        group ? limits->tasks_by : "ulimit -u, for all of this user");
    if (most < 32)
        advise(check, TND_CHECK_BAD, "too few for most runs: raise the limit (%s)",
               group ? "pids.max, docker run --pids-limit" : "ulimit -u");
    else if (most < 256)
        advise(check, TND_CHECK_WARNING, "few for many actors: raise the limit (%s)",
               group ? "pids.max, docker run --pids-limit" : "ulimit -u");
}

static void judge_shared(const tnd_facts_t *facts, tnd_check_t *check)
{
    if (facts->shared_reason[0] != '\0') {
        say(check, "/dev/shm", "cannot be used: %s", facts->shared_reason);
        advise(check, TND_CHECK_WARNING,
               "steps of other frameworks often need it; mount a tmpfs there, mode 1777");
        return;
    }
    say(check, "/dev/shm", "%.0f MiB, %.0f free", (double)facts->shared_bytes / mib,
        (double)facts->shared_free_bytes / mib);
    if ((double)facts->shared_free_bytes < 64 * mib)
        advise(check, TND_CHECK_WARNING,
               "little: in a container use --shm-size=1g, else remount it larger");
}

static void judge_folder(const char *name, const char *folder, const char *reason,
                         const char *variable, tnd_check_t *check)
{
    if (reason[0] == '\0') {
        say(check, name, "%s can be written", folder);
        return;
    }
    say(check, name, "%s: %s", folder, reason);
    advise(check, TND_CHECK_BAD, "set %s to a folder that can be written", variable);
}

static void judge_ports(const tnd_facts_t *facts, tnd_check_t *check)
{
    uint32_t count = facts->port_last >= facts->port_first && facts->port_first > 0
                         ? facts->port_last - facts->port_first + 1
                         : 0;
    say(check, "ports", "loopback can listen, ephemeral ports %" PRIu32 " to %" PRIu32,
        facts->port_first, facts->port_last);
    if (count == 0)
        say(check, "ports", "loopback can listen, the range of ephemeral ports is not known");
    if (facts->tcp_reason[0] != '\0') {
        say(check, "ports", "127.0.0.1 cannot listen: %s", facts->tcp_reason);
        advise(check, TND_CHECK_BAD,
               "runs of several hosts need tcp: bring loopback up (ip link set lo up)");
    } else if (count > 0 && count < 1000) {
        advise(check, TND_CHECK_WARNING,
               "few: widen net.ipv4.ip_local_port_range, or set `ports:`");
    }
}

static void judge_ipc(const tnd_facts_t *facts, tnd_check_t *check)
{
    say(check, "ipc", "local sockets can listen");
    if (facts->ipc_reason[0] == '\0')
        return;
    say(check, "ipc", "local sockets cannot listen: %s", facts->ipc_reason);
    advise(check, TND_CHECK_WARNING, "set `transport: tcp` for hosts on this machine");
}

static void judge_clock(const tnd_facts_t *facts, tnd_check_t *check)
{
    bool known = facts->clock_source[0] != '\0';
    say(check, "clock", "%s, resolution %" PRIu64 " ns, a reading takes %" PRIu64 " ns",
        known ? facts->clock_source : "source unknown", facts->clock_resolution_ns,
        facts->clock_cost_ns);
    if (facts->clock_resolution_ns > 1000000)
        advise(check, TND_CHECK_BAD,
               "too coarse to tell a late answer from a lost one: use another clock source");
    else if (facts->clock_cost_ns > 500)
        advise(check, TND_CHECK_WARNING,
               "slow: see /sys/devices/system/clocksource/clocksource0/available_clocksource");
}

static void judge_huge_pages(const tnd_facts_t *facts, tnd_check_t *check)
{
    const char *open = strchr(facts->huge_pages, '['), *close = strchr(facts->huge_pages, ']');
    if (open == NULL || close == NULL || close < open) {
        say(check, "huge pages", "not known");
        return;
    }
    say(check, "huge pages", "%.*s", (int)(close - open - 1), open + 1);
    if (strncmp(open, "[never]", 7) == 0)
        advise(check, TND_CHECK_WARNING,
               "large models miss the address cache more often: set "
               "/sys/kernel/mm/transparent_hugepage/enabled to madvise");
}

static void judge_cuda(const tnd_facts_t *facts, tnd_check_t *check)
{
    if (facts->cuda_reason[0] != '\0') {
        say(check, "cuda", "%s", facts->cuda_reason);
        if (facts->cuda_driver)
            advise(
                check, TND_CHECK_WARNING,
                "`auto` means cpu:0 until nvidia-smi shows devices; a container needs --gpus all");
        return;
    }
    say(check, "cuda", "driver for CUDA %d.%d, %" PRIu32 " device%s: %s, %.0f GiB%s",
        facts->cuda_version / 1000, facts->cuda_version % 1000 / 10, facts->cuda_devices,
        facts->cuda_devices == 1 ? "" : "s", facts->cuda_name, (double)facts->cuda_memory / gib,
        facts->cuda_casts ? "" : "; casts run on the host: this program has no kernels for them");
}

/*  Only machines with devices of CUDA have a use for it. */
static void judge_nccl(const tnd_facts_t *facts, tnd_check_t *check)
{
    if (facts->nccl_reason[0] == '\0') {
        say(check, "nccl", "%s%s", facts->nccl,
            facts->cuda_devices == 0 ? "; no device of CUDA can use it" : "");
        return;
    }
    say(check, "nccl", "%s", facts->nccl_reason);
    if (facts->nccl_found)
        advise(check, TND_CHECK_WARNING,
               "name the file of another one in TUNDISH_NCCL, such as that of the Python package "
               "nvidia-nccl-cu13");
}

void tnd_machine_check(const tnd_facts_t *facts, tnd_check_t checks[TND_CHECKS])
{
    tnd_check_t *next = checks;
    judge_cores(facts, next++);
    judge_memory(facts, next++);
    judge_descriptors(facts, next++);
    judge_threads(facts, next++);
    judge_shared(facts, next++);
    judge_folder("statistics", facts->pages_folder, facts->pages_reason, "XDG_RUNTIME_DIR", next++);
    judge_folder("temporary", facts->temporary_folder, facts->temporary_reason, "TMPDIR", next++);
    judge_ports(facts, next++);
    judge_ipc(facts, next++);
    judge_clock(facts, next++);
    judge_huge_pages(facts, next++);
    say(next, "libraries", "%s", facts->libraries);
    if (facts->libraries_old)
        advise(next, TND_CHECK_WARNING, "older than those it was built with: install the same");
    next++;
    judge_cuda(facts, next++);
    judge_nccl(facts, next++);
    say(next, "launcher", "%s", facts->launcher[0] != '\0' ? facts->launcher : "none");
    if (facts->launcher_wrong[0] != '\0')
        advise(next, TND_CHECK_WARNING, "%s", facts->launcher_wrong);
    next++;
    assert(next - checks == TND_CHECKS);
}
