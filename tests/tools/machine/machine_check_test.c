/*  Covers tools/machine/machine_check.h and runtime/base/limits.h: what is judged, from facts; what
 *  control groups say, from trees as kernels and containers show them. */
#include "tools/machine/machine_check.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <criterion/criterion.h>

static tnd_facts_t fine(void)
{
    return (tnd_facts_t){
        .online = 8,
        .allowed = 8,
        .limits = {.memory_bytes = UINT64_MAX, .tasks = UINT64_MAX},
        .memory_bytes = UINT64_C(16) << 30,
        .available_bytes = UINT64_C(8) << 30,
        .descriptors = 1024,
        .descriptors_max = 4096,
        .tasks = UINT64_MAX,
        .shared_bytes = UINT64_C(8) << 30,
        .shared_free_bytes = UINT64_C(8) << 30,
        .shared_reason = "",
        .pages_folder = "/run/user/1000",
        .pages_reason = "",
        .temporary_folder = "/tmp",
        .temporary_reason = "",
        .port_first = 32768,
        .port_last = 60999,
        .tcp_reason = "",
        .ipc_reason = "",
        .clock_source = "tsc",
        .clock_resolution_ns = 1,
        .clock_cost_ns = 25,
        .huge_pages = "always [madvise] never",
        .libraries = "zeromq 4.3.5",
        .launcher = "",
        .launcher_wrong = "",
        .cuda_reason = "no CUDA driver can be loaded",
        .nccl_reason = "NCCL cannot be loaded",
    };
}

static const tnd_check_t *judged(const tnd_facts_t *facts, const char *name)
{
    static tnd_check_t checks[TND_CHECKS];
    tnd_machine_check(facts, checks);
    for (size_t i = 0; i < TND_CHECKS; i++) {
        cr_assert_eq(checks[i].level == TND_CHECK_OK, checks[i].advice[0] == '\0',
                     "%s: what is not ok says what to do", checks[i].name);
        if (strcmp(checks[i].name, name) == 0)
            return &checks[i];
    }
    cr_assert_fail("%s is not checked", name);
    return NULL;
}

static void expect(const tnd_facts_t *facts, const char *name, tnd_check_level_t level,
                   const char *text)
{
    const tnd_check_t *check = judged(facts, name);
    cr_assert_eq(check->level, level, "%s: %s", name, check->found);
    cr_assert(strstr(check->found, text) != NULL || strstr(check->advice, text) != NULL,
              "%s: %s / %s", name, check->found, check->advice);
}

Test(machine_check, a_good_machine_needs_no_advice)
{
    tnd_facts_t facts = fine();
    tnd_check_t checks[TND_CHECKS];
    tnd_machine_check(&facts, checks);
    for (size_t i = 0; i < TND_CHECKS; i++)
        cr_assert_eq(checks[i].level, TND_CHECK_OK, "%s: %s", checks[i].name, checks[i].advice);
    cr_assert_str_eq(judged(&facts, "cuda")->found, "no CUDA driver can be loaded");
    cr_assert_str_eq(judged(&facts, "huge pages")->found, "madvise");
}

Test(machine_check, each_lack_is_named_with_what_to_do)
{
    tnd_facts_t facts = fine();
    facts.limits = (tnd_group_limits_t){
        .cores = 1.5, .cores_by = "/cpu.max", .memory_bytes = 64 << 20, .memory_by = "/memory.max"};
    facts.descriptors_max = 256;
    facts.shared_free_bytes = 1 << 20;
    facts.pages_reason = "Permission denied";
    facts.temporary_reason = "No space left on device";
    facts.tcp_reason = "Cannot assign requested address";
    facts.ipc_reason = "Permission denied";
    facts.clock_cost_ns = 900;
    facts.huge_pages = "always madvise [never]";
    facts.libraries_old = true;
    facts.cuda_driver = true;
    facts.cuda_reason = "the CUDA driver finds no device";
    expect(&facts, "cores", TND_CHECK_WARNING, "/cpu.max");
    expect(&facts, "memory", TND_CHECK_BAD, "/memory.max");
    expect(&facts, "descriptors", TND_CHECK_WARNING, "ulimit -n");
    expect(&facts, "/dev/shm", TND_CHECK_WARNING, "--shm-size");
    expect(&facts, "statistics", TND_CHECK_BAD, "XDG_RUNTIME_DIR");
    expect(&facts, "temporary", TND_CHECK_BAD, "TMPDIR");
    expect(&facts, "ports", TND_CHECK_BAD, "Cannot assign");
    expect(&facts, "ipc", TND_CHECK_WARNING, "transport: tcp");
    expect(&facts, "clock", TND_CHECK_WARNING, "900 ns");
    expect(&facts, "huge pages", TND_CHECK_WARNING, "madvise");
    expect(&facts, "libraries", TND_CHECK_WARNING, "older");
    expect(&facts, "cuda", TND_CHECK_WARNING, "--gpus all");
    facts.nccl_found = true;
    facts.nccl_reason = "/a/libnccl.so.2 is NCCL 2.18.6 and 2.19 is needed";
    expect(&facts, "nccl", TND_CHECK_WARNING, "TUNDISH_NCCL");
}

Test(machine_check, bounds_are_exact)
{
    tnd_facts_t facts = fine();
    facts.allowed = 1;
    expect(&facts, "cores", TND_CHECK_WARNING, "1 of 8");
    facts = fine();
    facts.limits.cores = 8;
    expect(&facts, "cores", TND_CHECK_OK, "8 of processor time");
    facts.descriptors_max = 127;
    expect(&facts, "descriptors", TND_CHECK_BAD, "127");
    facts.tasks = 256;
    expect(&facts, "threads", TND_CHECK_OK, "256 processes and threads allowed by ulimit -u");
    facts.tasks = 255;
    expect(&facts, "threads", TND_CHECK_WARNING, "ulimit -u");
    facts.tasks = 32;
    expect(&facts, "threads", TND_CHECK_WARNING, "ulimit -u");
    facts.limits.tasks = 31;
    strcpy(facts.limits.tasks_by, "/sys/fs/cgroup/a/pids.max");
    expect(&facts, "threads", TND_CHECK_BAD,
           "31 processes and threads allowed by /sys/fs/cgroup/a/pids.max");
    facts.port_last = facts.port_first + 998;
    expect(&facts, "ports", TND_CHECK_WARNING, "ip_local_port_range");
    facts.port_last = facts.port_first + 999;
    expect(&facts, "ports", TND_CHECK_OK, "32768 to 33767");
    facts.clock_resolution_ns = 4000000;
    expect(&facts, "clock", TND_CHECK_BAD, "coarse");
    facts.cuda_driver = facts.cuda_casts = true;
    facts.cuda_reason = "";
    facts.cuda_version = 12040;
    facts.cuda_devices = 2;
    facts.cuda_name = "H200";
    facts.cuda_memory = UINT64_C(141) << 30;
    expect(&facts, "cuda", TND_CHECK_OK, "driver for CUDA 12.4, 2 devices: H200, 141 GiB");
    facts.cuda_devices = 1;
    facts.cuda_casts = false;
    expect(&facts, "cuda", TND_CHECK_OK, "1 device: H200, 141 GiB; casts run on the host");
    facts.nccl_found = true;
    facts.nccl_reason = "";
    facts.nccl = "NCCL 2.28.9, /a/libnccl.so.2";
    cr_assert_str_eq(judged(&facts, "nccl")->found, "NCCL 2.28.9, /a/libnccl.so.2");
    facts.cuda_devices = 0;
    cr_assert_str_eq(judged(&facts, "nccl")->found,
                     "NCCL 2.28.9, /a/libnccl.so.2; no device of CUDA can use it");
}

/* --- control groups ----------------------------------------------------------------------------
 */

static char root[] = "/tmp/tundish-test-XXXXXX";

static void make_root(void)
{
    cr_assert_not_null(mkdtemp(root));
}

static void remove_root(void)
{
    char command[128];
    snprintf(command, sizeof command, "rm -r %s", root);
    cr_assert_eq(system(command), 0);
}

TestSuite(limits, .init = make_root, .fini = remove_root);

static void put(const char *path, const char *text)
{
    char whole[512];
    snprintf(whole, sizeof whole, "%s%s", root, path);
    for (char *at = whole + strlen(root) + 1; (at = strchr(at, '/')) != NULL; at++) {
        *at = '\0';
        mkdir(whole, 0700);
        *at = '/';
    }
    FILE *out = fopen(whole, "w");
    cr_assert_not_null(out, "%s", whole);
    fputs(text, out);
    fclose(out);
}

static tnd_group_limits_t limits_here(void)
{
    tnd_group_limits_t limits;
    tnd_group_limits_read(root, &limits);
    return limits;
}

Test(limits, version_2_takes_the_strictest_up_to_the_root)
{
    put("/proc/self/cgroup", "0::/user.slice/job\n");
    put("/proc/self/mountinfo", "35 24 0:30 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw,nsdelegate\n");
    put("/sys/fs/cgroup/user.slice/memory.max", "1073741824\n");
    put("/sys/fs/cgroup/user.slice/cpu.max", "400000 100000\n");
    put("/sys/fs/cgroup/user.slice/job/memory.max", "max\n");
    put("/sys/fs/cgroup/user.slice/job/cpu.max", "150000 100000\n");
    put("/sys/fs/cgroup/user.slice/pids.max", "100\n");
    put("/sys/fs/cgroup/user.slice/job/pids.max", "max\n");
    tnd_group_limits_t limits = limits_here();
    cr_assert_eq(limits.memory_bytes, 1073741824);
    cr_assert_not_null(strstr(limits.memory_by, "user.slice/memory.max"));
    cr_assert_float_eq(limits.cores, 1.5, 0);
    cr_assert_not_null(strstr(limits.cores_by, "job/cpu.max"));
    cr_assert_eq(limits.tasks, 100);
    cr_assert_not_null(strstr(limits.tasks_by, "user.slice/pids.max"));
}

Test(limits, a_container_sees_its_own_group_as_the_root)
{
    put("/proc/self/cgroup", "0::/\n");
    put("/proc/self/mountinfo", "35 24 0:30 / /sys/fs/cgroup ro - cgroup2 cgroup rw\n");
    put("/sys/fs/cgroup/memory.max", "536870912\n");
    put("/sys/fs/cgroup/cpu.max", "max 100000\n");
    tnd_group_limits_t limits = limits_here();
    cr_assert_eq(limits.memory_bytes, 536870912);
    cr_assert_float_eq(limits.cores, 0, 0);
}

Test(limits, tasks_of_version_1_have_a_tree_of_their_own)
{
    put("/proc/self/cgroup", "8:pids:/docker/abc\n0::/system\n");
    put("/proc/self/mountinfo", "40 30 0:36 / /sys/fs/cgroup/pids rw - cgroup cgroup rw,pids\n");
    cr_assert_eq(limits_here().tasks, UINT64_MAX);
    put("/sys/fs/cgroup/pids/docker/abc/pids.max", "12\n");
    tnd_group_limits_t limits = limits_here();
    cr_assert_eq(limits.tasks, 12);
    cr_assert_not_null(strstr(limits.tasks_by, "/pids/docker/abc/pids.max"));
}

Test(limits, version_1_counts_where_both_are_mounted)
{
    put("/proc/self/cgroup", "11:memory:/docker/abc\n3:cpu,cpuacct:/docker/abc\n0::/system\n");
    put("/proc/self/mountinfo",
        "30 24 0:26 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n"
        "31 24 0:27 /docker/abc /sys/fs/cgroup/memory ro - cgroup cgroup rw,memory\n"
        "32 24 0:28 /docker/abc /sys/fs/cgroup/cpu,cpuacct ro - cgroup cgroup rw,cpu,cpuacct\n");
    put("/sys/fs/cgroup/memory/memory.limit_in_bytes", "268435456\n");
    put("/sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us", "50000\n");
    put("/sys/fs/cgroup/cpu,cpuacct/cpu.cfs_period_us", "100000\n");
    tnd_group_limits_t limits = limits_here();
    cr_assert_eq(limits.memory_bytes, 268435456);
    cr_assert_float_eq(limits.cores, 0.5, 0);
}

/*  Three groups, one in another: whichever has the smallest quota counts, the root of the mount too. */
Test(limits, the_smallest_quota_on_the_path_counts_in_both_versions)
{
    static const char *const places[] = {"", "/jobs", "/jobs/a", "/jobs/a/b"};
    tnd_group_limits_t limits;
    for (unsigned version = 1; version <= 2; version++) {
        const char *folder = version == 1 ? "/sys/fs/cgroup/cpu" : "/sys/fs/cgroup";
        put("/proc/self/mountinfo",
            version == 1 ? "32 24 0:28 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu\n"
                         : "35 24 0:30 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n");
        put("/proc/77/cgroup", version == 1 ? "3:cpu:/jobs/a/b\n0::/\n" : "0::/jobs/a/b\n");
        for (unsigned least = 0; least < 4; least++) {
            char path[128], text[32], by[128];
            for (unsigned p = 0; p < 4; p++) {
                unsigned percent = p == least ? 20 : 150 + p;
                snprintf(path, sizeof path, "%s%s/%s", folder, places[p],
                         version == 1 ? "cpu.cfs_quota_us" : "cpu.max");
                snprintf(text, sizeof text, version == 1 ? "%u000\n" : "%u000 100000\n", percent);
                put(path, text);
                if (p == least)
                    strcpy(by, path);
                snprintf(path, sizeof path, "%s%s/cpu.cfs_period_us", folder, places[p]);
                put(path, "100000\n");
                snprintf(path, sizeof path, "%s%s/cpu.stat", folder, places[p]);
                snprintf(text, sizeof text,
                         version == 1 ? "throttled_time %u000\n" : "throttled_usec %u\n",
                         p == least ? 7 : 0);
                put(path, text);
            }
            tnd_group_limits_of(root, 77, &limits);
            cr_assert_float_eq(limits.cores, 0.2, 1e-12, "version %u, %s", version, by);
            cr_assert_not_null(strstr(limits.cores_by, by), "%s, not %s", limits.cores_by, by);
            cr_assert_eq(limits.throttled_ns, 7000);
        }
    }
}

/*  A limit of a group above throttles, and counts there. */
Test(limits, of_another_process_are_read_in_both_versions)
{
    tnd_group_limits_t limits;
    put("/proc/self/mountinfo", "35 24 0:30 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n");
    put("/proc/77/cgroup", "0::/jobs/a\n");
    put("/sys/fs/cgroup/jobs/cpu.max", "20000 100000\n");
    put("/sys/fs/cgroup/jobs/cpu.stat", "usage_usec 9\nthrottled_usec 4000000\n");
    put("/sys/fs/cgroup/jobs/a/cpu.max", "max 100000\n");
    put("/sys/fs/cgroup/jobs/a/cpu.stat", "usage_usec 9\nthrottled_usec 0\n");
    tnd_group_limits_of(root, 77, &limits);
    cr_assert_float_eq(limits.cores, 0.2, 1e-12);
    cr_assert_not_null(strstr(limits.cores_by, "jobs/cpu.max"));
    cr_assert_eq(limits.throttled_ns, 4000000000);

    put("/proc/self/mountinfo", "32 24 0:28 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu\n");
    put("/proc/77/cgroup", "3:cpu:/a\n");
    put("/sys/fs/cgroup/cpu/a/cpu.cfs_quota_us", "70000\n");
    put("/sys/fs/cgroup/cpu/a/cpu.cfs_period_us", "100000\n");
    put("/sys/fs/cgroup/cpu/a/cpu.stat", "nr_periods 5\nthrottled_time 4000000007\n");
    tnd_group_limits_of(root, 77, &limits);
    cr_assert_float_eq(limits.cores, 0.7, 1e-12);
    cr_assert_eq(limits.throttled_ns, 4000000007);
    tnd_group_limits_of(root, 78, &limits);
    cr_assert(limits.cores == 0 && limits.throttled_ns == 0, "the process is not there");
}

Test(limits, the_page_cache_may_use_what_is_available_to_its_group)
{
    put("/proc/meminfo", "MemTotal:       16000000 kB\nMemAvailable:    8000000 kB\n");
    put("/proc/self/cgroup", "no colon\n");
    put("/proc/self/mountinfo", "- - -\n");
    tnd_group_limits_t limits = limits_here();
    cr_assert_eq(limits.cache_bytes, UINT64_C(8192000000));
    cr_assert_not_null(strstr(limits.cache_by, "/proc/meminfo"));

    /* Of 400 MB are used 300, of which 250 are pages of files. */
    put("/proc/self/cgroup", "0::/job\n");
    put("/proc/self/mountinfo", "35 24 0:30 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n");
    put("/sys/fs/cgroup/job/memory.max", "400000000\n");
    put("/sys/fs/cgroup/job/memory.current", "300000000\n");
    put("/sys/fs/cgroup/job/memory.stat",
        "anon 50000000\nfile 250000000\ninactive_file 200000000\nactive_file 50000000\n");
    limits = limits_here();
    cr_assert_eq(limits.cache_bytes, 350000000);
    cr_assert_not_null(strstr(limits.cache_by, "job/memory.max"));

    put("/proc/self/cgroup", "11:memory:/job\n");
    put("/proc/self/mountinfo",
        "31 24 0:27 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n");
    put("/sys/fs/cgroup/memory/job/memory.limit_in_bytes", "400000000\n");
    put("/sys/fs/cgroup/memory/job/memory.usage_in_bytes", "300000000\n");
    put("/sys/fs/cgroup/memory/job/memory.stat",
        "inactive_file 1\ntotal_inactive_file 30000000\ntotal_active_file 20000000\n");
    cr_assert_eq(limits_here().cache_bytes, 150000000);
}

Test(limits, no_limit_is_none_in_every_spelling)
{
    put("/proc/self/cgroup", "11:memory:/\n3:cpu,cpuacct:/\n");
    put("/proc/self/mountinfo",
        "31 24 0:27 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n"
        "32 24 0:28 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct\n");
    put("/sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
    put("/sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us", "-1\n");
    put("/sys/fs/cgroup/cpu,cpuacct/cpu.cfs_period_us", "100000\n");
    tnd_group_limits_t limits = limits_here();
    cr_assert_eq(limits.memory_bytes, UINT64_MAX);
    cr_assert_float_eq(limits.cores, 0, 0);

    put("/proc/self/cgroup", "no colon\n::\n:::\n");
    put("/proc/self/mountinfo", "- - -\n");
    cr_assert_eq(limits_here().memory_bytes, UINT64_MAX);
}
