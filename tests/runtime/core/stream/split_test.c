/*  Covers runtime/core/stream/split.h: against TensorFlow's own splits (tests/oracle/rebatch.txt),
 *  by the header's examples, and by exhaustive small batches for what must hold of every split. */
#include "runtime/core/stream/split.h"

#include <stdio.h>
#include <string.h>

#include <criterion/criterion.h>

Test(split, the_last_batch_of_seven_over_four_leaves_replicas_empty)
{
    const uint64_t v2[] = {2, 1, 0, 0}, legacy[] = {2, 2, 1, 0};
    for (uint32_t replica = 0; replica < 4; replica++) {
        cr_assert_eq(tnd_split_rows(TND_SPLIT_REBATCH_V2, 7, 3, 4, replica), v2[replica]);
        cr_assert_eq(tnd_split_rows(TND_SPLIT_REBATCH_LEGACY, 7, 5, 4, replica), legacy[replica]);
    }
}

Test(split, tensorflow_cuts_the_same_batches_and_quotas)
{
    FILE *file = fopen("tests/oracle/rebatch.txt", "r");
    cr_assert_not_null(file);
    char line[256], name[32];
    unsigned splits[2] = {0, 0}, quotas = 0;

    while (fgets(line, sizeof line, file)) {
        unsigned long size, rows, step;
        unsigned parts, lane;
        int used = 0;
        if (sscanf(line, "split %31s %lu %lu %u : %n", name, &size, &rows, &parts, &used) == 4) {
            tnd_split_t split = TND_SPLIT_REBATCH_V2;
            if (strcmp(name, tnd_split_name(split)) != 0)
                split = TND_SPLIT_REBATCH_LEGACY;
            cr_assert_str_eq(name, tnd_split_name(split), "%s", line);
            const char *at = line + used;
            for (unsigned replica = 0; replica < parts; replica++) {
                unsigned long expected;
                cr_assert_eq(sscanf(at, "%lu%n", &expected, &used), 1, "%s", line);
                at += used;
                cr_assert_eq(tnd_split_rows(split, size, rows, parts, replica), expected,
                             "replica %u of %s", replica, line);
            }
            splits[split]++;
        } else if (sscanf(line, "quota %lu %u %u %lu : %lu", &size, &parts, &lane, &step, &rows) ==
                   5) {
            cr_assert_eq(tnd_lane_quota(size, parts, lane, step), rows, "%s", line);
            quotas++;
        } else {
            cr_assert_eq(line[0], '#', "%s", line);
        }
    }
    fclose(file);
    cr_assert(splits[0] > 30 && splits[1] > 30 && quotas > 100);
}

Test(split, parts_follow_one_another_and_hold_every_row)
{
    for (int kind = 0; kind < 2; kind++)
        for (uint64_t size = 0; size <= 20; size++)
            for (uint64_t rows = 0; rows <= size; rows++)
                for (uint32_t replicas = 1; replicas <= 24; replicas++) {
                    uint64_t next = 0;
                    for (uint32_t r = 0; r < replicas; r++) {
                        tnd_split_t split = (tnd_split_t)kind;
                        cr_assert_eq(tnd_split_offset(split, size, rows, replicas, r), next);
                        next += tnd_split_rows(split, size, rows, replicas, r);
                    }
                    cr_assert_eq(next, rows);
                }
}

Test(split, huge_batches_do_not_overflow)
{
    const uint64_t huge = INT64_MAX;
    const uint32_t replicas = UINT32_MAX;

    for (int kind = 0; kind < 2; kind++) {
        tnd_split_t split = (tnd_split_t)kind;
        uint64_t offset = tnd_split_offset(split, huge, huge, replicas, replicas - 1);
        cr_assert_eq(offset + tnd_split_rows(split, huge, huge, replicas, replicas - 1), huge);
        cr_assert_eq(tnd_split_offset(split, huge, 3, replicas, replicas - 1), 3);
    }
    cr_assert_eq(tnd_lane_quota(huge, replicas, 5, UINT64_MAX), huge / replicas + 1);
}

Test(split, lanes_share_every_batch_and_over_a_turn_give_equally)
{
    for (uint64_t size = 0; size <= 30; size++)
        for (uint32_t lanes = 1; lanes <= 9; lanes++) {
            uint64_t given[9] = {0};
            for (uint64_t step = 100; step < 100 + lanes; step++) {
                uint64_t sum = 0;
                for (uint32_t lane = 0; lane < lanes; lane++) {
                    uint64_t quota = tnd_lane_quota(size, lanes, lane, step);
                    given[lane] += quota;
                    sum += quota;
                }
                cr_assert_eq(sum, size);
            }
            for (uint32_t lane = 0; lane < lanes; lane++)
                cr_assert_eq(given[lane], size);
        }
}
