/*  Covers tools/faults/fault_schedule.h: which fault is chosen, its target, and that a seed repeats
 * it. */
#include "tools/faults/fault_schedule.h"

#include <stdlib.h>

#include <criterion/criterion.h>

enum { DRAWS = 2000, HOSTS = 5 };

static const uint64_t dead_ns = 10000000000, patience_ns = 1500000000, stop_most_ns = 11500000000;

/*  A leader with the replicas, a reader, two workers, a batcher. */
static const uint8_t hosts[HOSTS] = {
    TND_FAULT_LISTENS | TND_FAULT_LEADS | TND_FAULT_DEVICES,
    TND_FAULT_SOFT | TND_FAULT_LISTENS | TND_FAULT_LOCAL,
    TND_FAULT_SOFT | TND_FAULT_LOCAL,
    TND_FAULT_SOFT | TND_FAULT_LOCAL,
    TND_FAULT_SOFT | TND_FAULT_LISTENS,
};

static tnd_fault_schedule_t schedule;

static void begin(uint64_t seed, bool all, bool disk)
{
    tnd_fault_schedule_config_t config = {.seed = seed,
                                          .hosts = hosts,
                                          .host_count = HOSTS,
                                          .dead_after_ns = dead_ns,
                                          .stop_most_ns = stop_most_ns,
                                          .patience_ns = patience_ns,
                                          .all = all,
                                          .disk = disk};
    tnd_fault_schedule_init(&schedule, &config);
}

static void end(void)
{
    tnd_fault_schedule_fini(&schedule);
}

Test(fault_schedule, the_same_seed_draws_the_same_faults_and_another_one_others, .fini = end)
{
    tnd_fault_t first[100];
    begin(7, true, true);
    for (int i = 0; i < 100; i++)
        first[i] = tnd_fault_schedule_next(&schedule);
    tnd_fault_schedule_fini(&schedule);
    begin(7, true, true);
    for (int i = 0; i < 100; i++) {
        tnd_fault_t again = tnd_fault_schedule_next(&schedule);
        cr_assert(again.kind == first[i].kind && again.host == first[i].host &&
                  again.wait_ns == first[i].wait_ns && again.lasts_ns == first[i].lasts_ns &&
                  again.control == first[i].control && again.far == first[i].far &&
                  again.at_once == first[i].at_once);
    }
    tnd_fault_schedule_fini(&schedule);
    begin(8, true, true);
    int equal = 0;
    for (int i = 0; i < 100; i++)
        equal += tnd_fault_schedule_next(&schedule).wait_ns == first[i].wait_ns;
    cr_assert_lt(equal, 5);
}

Test(fault_schedule, kills_and_long_stops_hit_only_processes_that_are_restarted, .fini = end)
{
    begin(1, false, true);
    for (int i = 0; i < DRAWS; i++) {
        tnd_fault_t fault = tnd_fault_schedule_next(&schedule);
        bool soft = (hosts[fault.host] & TND_FAULT_SOFT) != 0;
        cr_assert(fault.kind != TND_FAULT_KILL_FINAL && fault.kind != TND_FAULT_KILL_ALL &&
                  fault.kind != TND_FAULT_DEVICE_LOST);
        if (fault.kind == TND_FAULT_KILL || fault.lasts_ns >= dead_ns)
            cr_assert(soft);
        if (fault.kind == TND_FAULT_STOP)
            cr_assert(fault.lasts_ns >= dead_ns && fault.lasts_ns <= stop_most_ns);
        else
            cr_assert_lt(fault.lasts_ns, dead_ns / 2);
    }
}

Test(fault_schedule, a_host_that_is_shut_off_is_back_before_it_counts_as_lost, .fini = end)
{
    int shut = 0;
    begin(1, false, true);
    for (int i = 0; i < DRAWS; i++) {
        tnd_fault_t fault = tnd_fault_schedule_next(&schedule);
        if (fault.kind != TND_FAULT_SHUT_OFF)
            continue;
        shut++;
        cr_assert_leq(fault.lasts_ns, patience_ns / 2);
    }
    cr_assert_gt(shut, 20);
}

Test(fault_schedule, all_kills_the_others_too, .fini = end)
{
    int finals = 0, everything = 0, lost = 0;
    begin(1, true, false);
    for (int i = 0; i < DRAWS; i++) {
        tnd_fault_t fault = tnd_fault_schedule_next(&schedule);
        finals += fault.kind == TND_FAULT_KILL_FINAL;
        everything += fault.kind == TND_FAULT_KILL_ALL;
        lost += fault.kind == TND_FAULT_DEVICE_LOST;
        if (fault.kind == TND_FAULT_KILL_FINAL || fault.kind == TND_FAULT_DEVICE_LOST)
            cr_assert_eq(fault.host, 0);
    }
    cr_assert_gt(finals, 20);
    cr_assert_gt(everything, 20);
    cr_assert_gt(lost, 20);
}

Test(fault_schedule, every_kind_comes_and_every_host_that_it_may_hit, .fini = end)
{
    static int seen[TND_FAULT_COUNT][HOSTS];
    begin(3, false, true);
    for (int i = 0; i < DRAWS; i++) {
        tnd_fault_t fault = tnd_fault_schedule_next(&schedule);
        seen[fault.kind][fault.host]++;
    }
    for (int h = 0; h < HOSTS; h++) {
        bool soft = (hosts[h] & TND_FAULT_SOFT) != 0, listens = (hosts[h] & TND_FAULT_LISTENS) != 0;
        bool local = (hosts[h] & TND_FAULT_LOCAL) != 0;
        cr_assert_eq(seen[TND_FAULT_KILL][h] > 0, soft);
        cr_assert_eq(seen[TND_FAULT_STOP][h] > 0, soft);
        cr_assert_eq(seen[TND_FAULT_SLOW][h] > 0, local);
        cr_assert_eq(seen[TND_FAULT_CUT][h] > 0, listens);
        cr_assert_eq(seen[TND_FAULT_HALF_OPEN][h] > 0, listens);
        cr_assert_eq(seen[TND_FAULT_SILENT][h] > 0, listens);
        cr_assert_eq(seen[TND_FAULT_SHUT_OFF][h] > 0, listens);
        cr_assert_eq(seen[TND_FAULT_DEVICE_SLOW][h] > 0, h == 0);
        cr_assert_eq(seen[TND_FAULT_COPIES_LATE][h] > 0, h == 0);
        cr_assert_gt(seen[TND_FAULT_PAUSE][h], 0);
        /* In turn, whatever the order. */
        if (soft)
            cr_assert_leq(abs(seen[TND_FAULT_KILL][h] - seen[TND_FAULT_KILL][1]), 1);
    }
    cr_assert_gt(seen[TND_FAULT_DISK_FULL][0], 0);
}

Test(fault_schedule, a_host_that_is_not_restarted_is_only_paused, .fini = end)
{
    static const uint8_t alone[] = {0};
    tnd_fault_schedule_config_t config = {.seed = 1,
                                          .hosts = alone,
                                          .host_count = 1,
                                          .dead_after_ns = dead_ns,
                                          .stop_most_ns = stop_most_ns,
                                          .patience_ns = patience_ns};
    tnd_fault_schedule_init(&schedule, &config);
    for (int i = 0; i < 100; i++)
        cr_assert_eq(tnd_fault_schedule_next(&schedule).kind, TND_FAULT_PAUSE);
}
