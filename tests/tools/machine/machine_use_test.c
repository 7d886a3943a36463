/*  Covers runtime/observe/machine_load.h and tools/machine/machine_use.h: how much of the machine is in use. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "runtime/observe/machine_load.h"
#include "tools/machine/machine_use.h"

static const uint64_t second_ns = 1000000000;

static void write_file(const char *root, const char *name, const char *text)
{
    char path[256];
    snprintf(path, sizeof path, "%s/proc/%s", root, name);
    FILE *out = fopen(path, "w");
    cr_assert_not_null(out);
    fputs(text, out);
    fclose(out);
}

static void make_root(char root[64])
{
    char path[128];
    strcpy(root, "/tmp/machine_use_XXXXXX");
    cr_assert_not_null(mkdtemp(root));
    snprintf(path, sizeof path, "%s/proc", root);
    cr_assert_eq(mkdir(path, 0700), 0);
}

/*  By proc(5): user, nice, system, idle, iowait, irq, softirq, steal, guest, guest_nice. */
Test(machine_use, the_files_of_proc_are_read)
{
    char root[64];
    tnd_machine_load_t load;
    make_root(root);
    write_file(root, "loadavg", "1.50 2.00 3.00 7/321 4711\n");
    write_file(root, "stat", "cpu  100 20 30 1000 50 4 6 10 7 8\ncpu0 1 2 3 4 5 6 7 8 9 10\n");
    write_file(root, "meminfo",
               "MemTotal:       16000 kB\nMemFree:  500 kB\nMemAvailable:    4000 kB\n");
    write_file(root, "vmstat", "nr_free_pages 3\npgpgin 2000\npgpgout 3000\npgpgouter 4\n");
    tnd_machine_load_read(root, &load);
    cr_assert_eq(load.runnable, 7);
    cr_assert_float_eq(load.load, 1.5, 1e-9);
    cr_assert_eq(load.ticks, 1220);
    cr_assert_eq(load.idle_ticks, 1050);
    cr_assert_eq(load.disk_ticks, 50);
    cr_assert_eq(load.memory, 16000 * 1024);
    cr_assert_eq(load.free, 4000 * 1024);
    cr_assert_eq(load.read, 2000 * 1024);
    cr_assert_eq(load.written, 3000 * 1024);
    tnd_machine_load_read("/nowhere", &load);
    cr_assert_eq(load.runnable + load.ticks + load.memory + load.read, 0);
    cr_assert_gt(load.processors, 0);
    char command[96];
    snprintf(command, sizeof command, "rm -r %s", root);
    cr_assert_eq(system(command), 0);
}

static tnd_inspection_t before, after;

static void begin(void)
{
    before = (tnd_inspection_t){.now_ns = second_ns};
    before.load = (tnd_machine_load_t){
        .ticks = 1000, .idle_ticks = 500, .disk_ticks = 10, .memory = 1, .read = 1, .written = 1};
    after = (tnd_inspection_t){.now_ns = 3 * second_ns};
    after.load = (tnd_machine_load_t){.ticks = 1400,
                                      .idle_ticks = 600,
                                      .disk_ticks = 50,
                                      .memory = UINT64_C(16) << 30,
                                      .free = UINT64_C(4) << 30,
                                      .read = 24000001,
                                      .written = 200001};
}

Test(machine_use, rates_are_of_the_time_between_two_looks, .init = begin)
{
    char text[TND_MACHINE_USE_TEXT];
    tnd_machine_use_t use = tnd_machine_use(&before, &after);
    cr_assert_float_eq(use.busy, 0.75, 1e-9);
    cr_assert_float_eq(use.disk, 0.1, 1e-9);
    cr_assert_str_eq(tnd_machine_use_text(&use, text),
                     "cpu 75 %, memory 75 %, disks 12.0 MB/s in, 0.1 out");
}

Test(machine_use, what_is_not_known_is_left_out, .init = begin)
{
    char text[TND_MACHINE_USE_TEXT], *json = NULL;
    size_t size = 0;
    after.load.ticks = before.load.ticks; /* less than a tick apart */
    before.load.read = 0;
    tnd_machine_use_t use = tnd_machine_use(&before, &after);
    cr_assert_str_eq(tnd_machine_use_text(&use, text), "memory 75 %");
    FILE *out = open_memstream(&json, &size);
    tnd_machine_use_json(&use, out);
    fclose(out);
    cr_assert_str_eq(json, ",\"machine\":{\"processors_share\":null,\"disk_wait_share\":null,"
                           "\"memory_bytes\":17179869184,\"memory_used_bytes\":12884901888,"
                           "\"disks_read_bytes_per_second\":null,"
                           "\"disks_written_bytes_per_second\":100000.0}");
    free(json);
    after.load.free = after.load.memory + 1;
    use = tnd_machine_use(&before, &after);
    cr_assert_str_eq(tnd_machine_use_text(&use, text), "");
}
