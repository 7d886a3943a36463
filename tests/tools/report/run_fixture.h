/*  tests/tools/report/run_fixture.h - pages of a run, from which tests make what they judge. */
#ifndef TND_TESTS_TOOLS_REPORT_RUN_FIXTURE_H
#define TND_TESTS_TOOLS_REPORT_RUN_FIXTURE_H

#include <stdlib.h>
#include <string.h>

#include <criterion/criterion.h>

#include "runtime/core/protocol/effect.h"
#include "tools/report/bottleneck.h"

static const uint64_t second_ns = 1000000000, now_ns = UINT64_C(100000000000);

/*  read.0 -> prep.0 -> batch.0 -> feed@a, feed@c <-> mean: host a has the first three, a feeder and
 *  the reducer, c the other feeder. */
enum { READ, PREP, BATCH, FEED_A, MEAN, FEED_C };

static tnd_statistics_t pages[6];
static tnd_inspected_t processes[2];
static tnd_inspection_t before, after;
static tnd_verdict_t verdict;

/*  The look before, which `before` has after `looked`. */
static tnd_statistics_t old[6];
static tnd_inspected_t olds[2];

/*  The look before saw what is there now: what changes from here on happened between the two. */
static inline void looked(void)
{
    for (uint32_t i = 0; i < 6; i++)
        memcpy(&old[i], &pages[i], sizeof old[i]);
    memcpy(olds, processes, sizeof olds);
    olds[0].actors = old;
    olds[1].actors = &old[processes[1].actors - pages];
    before.processes = olds;
}

static inline void join(uint32_t from, uint32_t to)
{
    tnd_statistics_t *a = &pages[from], *b = &pages[to];
    a->peers[a->peer_count++] = to;
    b->upstream[b->peer_count] = true;
    b->peers[b->peer_count++] = from;
}

static inline void waits(uint32_t who, uint32_t for_what)
{
    pages[who].state = TND_STATE_WAITING | (uint64_t)for_what << 8;
    pages[who].waiting_ns = now_ns - 10 * second_ns;
}

static inline void device(uint32_t who, tnd_device_state_t state, uint32_t replica)
{
    pages[who].device_count = 1;
    strcpy(pages[who].devices[0].name, "cpu:0");
    pages[who].devices[0].state = (uint64_t)state | (uint64_t)replica << 8;
    pages[who].devices[0].since_ns = now_ns - 12 * second_ns;
    pages[who].devices[0].step = 57;
}

static inline void begin(void)
{
    static const char *const names[] = {"read.0", "prep.0", "batch.0", "feed@a", "mean", "feed@c"};
    static const tnd_role_t roles[] = {TND_ROLE_READER, TND_ROLE_WORKER,  TND_ROLE_JOIN,
                                       TND_ROLE_FEEDER, TND_ROLE_REDUCER, TND_ROLE_FEEDER};
    memset(pages, 0, sizeof pages);
    for (uint32_t i = 0; i < 6; i++) {
        strcpy(pages[i].actor, names[i]);
        pages[i].role = roles[i];
        pages[i].instance = i;
        waits(i, TND_WAIT_INPUT);
    }
    join(READ, PREP);
    join(PREP, BATCH);
    join(BATCH, FEED_A);
    join(BATCH, FEED_C);
    join(FEED_A, MEAN);
    join(FEED_C, MEAN);
    processes[0] = (tnd_inspected_t){
        .path = "a", .run = "fashion", .host = "a", .process = 11, .count = 5, .actors = pages};
    processes[1] = (tnd_inspected_t){.path = "c",
                                     .run = "fashion",
                                     .host = "c",
                                     .process = 13,
                                     .count = 1,
                                     .actors = &pages[FEED_C]};
    before = (tnd_inspection_t){.now_ns = now_ns - second_ns, .count = 2, .processes = processes};
    after = (tnd_inspection_t){.now_ns = now_ns, .count = 2, .processes = processes};
}

static inline const tnd_fault_t *fault(tnd_cause_t cause)
{
    for (uint32_t i = 0; i < verdict.fault_count; i++)
        if (verdict.faults[i].cause == cause)
            return &verdict.faults[i];
    cr_assert_fail("no fault of this cause: %s", verdict.sentence);
    return NULL;
}

#endif
