/*  tests/runtime/core/assembly_test.c - when a cursor is complete, what is recorded, and which
 *  batcher contradicts another.
 *
 *  Two lanes and two feeders: a step has 6 rows, 4 of lane 0 and 2 of lane 1. */
#include "runtime/core/session/assembly.h"

#include <stdlib.h>
#include <string.h>

#include <criterion/criterion.h>
#include <criterion/new/assert.h>

enum { LANES = 2, FEEDERS = 2, OPEN_MAX = 4 };

static const uint32_t rows_of[LANES] = {4, 2};

typedef struct {
    tnd_assembly_t assembly;
    void *memory;
    tnd_error_t error;
} bench_t;

static void open_bench(bench_t *self)
{
    tnd_cursor_t start;
    tnd_cursor_start(&start, LANES);
    self->memory = calloc(1, tnd_assembly_bytes(LANES, OPEN_MAX));
    tnd_assembly_init(&self->assembly, self->memory, &start, FEEDERS, OPEN_MAX);
}

/*  The report of lane `lane` after `step`, in order. */
static tnd_msg_t part_of(uint64_t step, uint32_t lane)
{
    tnd_msg_t msg = {.kind = TND_MSG_PART};
    msg.part.step = step;
    msg.part.lane = lane;
    msg.part.step_of_epoch = step + 1;
    msg.part.rank = 6 * (step + 1);
    msg.part.position.index = rows_of[lane] * (step + 1);
    msg.part.ledger.read = msg.part.ledger.fed = rows_of[lane];
    return msg;
}

static tnd_status_t say_part(bench_t *self, const tnd_msg_t *msg)
{
    return tnd_assembly_part(&self->assembly, msg, "batch.0", &self->error);
}

static void say_step(bench_t *self, uint64_t step)
{
    for (uint32_t lane = 0; lane < LANES; lane++) {
        tnd_msg_t msg = part_of(step, lane);
        cr_assert(say_part(self, &msg) == TND_OK, "%s", self->error.text);
    }
}

static void say_commit(bench_t *self, uint64_t step, uint32_t rows)
{
    tnd_msg_t msg = {.kind = TND_MSG_COMMIT};
    msg.commit.step = step;
    msg.commit.rows = rows;
    msg.commit.digest[0] = UINT64_MAX;
    cr_assert(tnd_assembly_commit(&self->assembly, &msg, &self->error) == TND_OK);
}

static tnd_status_t book(bench_t *self)
{
    return tnd_assembly_book(&self->assembly, TND_UNKNOWN, &self->error);
}

Test(assembly, a_step_is_booked_when_all_lanes_and_all_feeders_have_reported)
{
    bench_t bench;
    open_bench(&bench);
    say_step(&bench, 0);
    cr_assert(eq(u64, bench.assembly.whole, 1));

    say_commit(&bench, 0, 3);
    cr_assert(book(&bench) == TND_AGAIN, "a feeder has not done it");
    say_commit(&bench, 0, 3);
    cr_assert(book(&bench) == TND_OK, "%s", bench.error.text);

    const tnd_cursor_t *cursor = &bench.assembly.cursor;
    cr_assert(eq(u64, cursor->step, 1));
    cr_assert(eq(u64, cursor->rank, 6));
    cr_assert(eq(u64, cursor->ledger.fed, 6));
    cr_assert(eq(u64, cursor->part[0].index, 4));
    cr_assert(eq(u64, cursor->part[1].index, 2));
    cr_assert(eq(u64, cursor->digest[0], UINT64_MAX - 1), "the sum is of 128 bits");
    cr_assert(eq(u64, cursor->digest[1], 1));
    cr_assert(book(&bench) == TND_AGAIN);
    free(bench.memory);
}

Test(assembly, steps_complete_in_order_even_if_lanes_run_ahead)
{
    bench_t bench;
    open_bench(&bench);
    say_step(&bench, 1);
    tnd_msg_t early = part_of(0, 1), late = part_of(0, 0);

    cr_assert(say_part(&bench, &early) == TND_OK);
    cr_assert(eq(u64, bench.assembly.whole, 0));
    cr_assert(say_part(&bench, &late) == TND_OK);
    cr_assert(eq(u64, bench.assembly.whole, 2));

    tnd_cursor_t cursor;
    tnd_assembly_at(&bench.assembly, 2, &cursor);
    cr_assert(eq(u64, cursor.step, 2));
    cr_assert(eq(u64, cursor.part[0].index, 8));
    cr_assert(eq(u64, cursor.ledger.fed, 0), "that of the last booked step");
    free(bench.memory);
}

Test(assembly, no_step_at_or_after_the_end_is_booked)
{
    bench_t bench;
    open_bench(&bench);
    say_step(&bench, 0);
    say_commit(&bench, 0, 3);
    say_commit(&bench, 0, 3);

    cr_assert(tnd_assembly_book(&bench.assembly, 0, &bench.error) == TND_AGAIN);
    cr_assert(tnd_assembly_book(&bench.assembly, 1, &bench.error) == TND_OK);
    free(bench.memory);
}

Test(assembly, reports_of_steps_too_far_ahead_are_refused)
{
    bench_t bench;
    open_bench(&bench);
    tnd_msg_t msg = part_of(OPEN_MAX, 0);

    cr_assert(say_part(&bench, &msg) == TND_FAILED);
    cr_assert(strstr(bench.error.text,
                     "step 4 was reported while only steps before 4 may be open") != NULL,
              "%s", bench.error.text);
    cr_assert(tnd_assembly_reaches(&bench.assembly, OPEN_MAX - 1, &bench.error) == TND_OK);
    free(bench.memory);
}

Test(assembly, a_repeated_report_must_be_equal)
{
    bench_t bench;
    open_bench(&bench);
    say_step(&bench, 0);
    tnd_msg_t msg = part_of(0, 1);

    cr_assert(say_part(&bench, &msg) == TND_OK);
    cr_assert(eq(u64, bench.assembly.whole, 1));
    msg.part.ledger.fed--;
    msg.part.ledger.filtered++;
    cr_assert(say_part(&bench, &msg) == TND_FAILED);
    cr_assert(strstr(bench.error.text, "lane 1 (batch.0) reported other rows than before") != NULL,
              "%s", bench.error.text);
    free(bench.memory);
}

Test(assembly, a_lane_that_counts_other_batches_than_before_fails_the_run)
{
    bench_t bench;
    open_bench(&bench);
    tnd_msg_t msg = part_of(0, 1);
    msg.part.since = 1;
    cr_assert(say_part(&bench, &msg) == TND_OK);
    cr_assert(say_part(&bench, &msg) == TND_OK);
    msg.part.since = 0;
    cr_assert(say_part(&bench, &msg) == TND_FAILED);
    free(bench.memory);
}

Test(assembly, lanes_must_agree_on_a_step)
{
    bench_t bench;
    open_bench(&bench);
    tnd_msg_t first = part_of(0, 0), second = part_of(0, 1);
    second.part.rank++;

    cr_assert(say_part(&bench, &first) == TND_OK);
    cr_assert(say_part(&bench, &second) == TND_FAILED);
    cr_assert(strstr(bench.error.text, "another composition than the other lanes") != NULL, "%s",
              bench.error.text);
    free(bench.memory);
}

Test(assembly, a_lane_never_goes_back)
{
    bench_t bench;
    open_bench(&bench);
    say_step(&bench, 0);
    tnd_msg_t msg = part_of(1, 0);
    msg.part.position.index = 3;

    cr_assert(say_part(&bench, &msg) == TND_FAILED);
    cr_assert(strstr(bench.error.text, "batch.0 reported lane 0 at position") != NULL, "%s",
              bench.error.text);
    free(bench.memory);
}

Test(assembly, rows_that_feeders_did_not_feed_are_not_booked)
{
    bench_t bench;
    open_bench(&bench);
    say_step(&bench, 0);
    say_commit(&bench, 0, 3);
    say_commit(&bench, 0, 2);

    cr_assert(book(&bench) == TND_FAILED);
    cr_assert(eq(str, bench.error.text, (char *)"step 0 has 6 rows, but its feeders report 5"));
    cr_assert(eq(u64, bench.assembly.cursor.step, 0));
    free(bench.memory);
}

Test(assembly, an_account_that_does_not_balance_is_not_booked)
{
    bench_t bench;
    open_bench(&bench);
    for (uint32_t lane = 0; lane < LANES; lane++) {
        tnd_msg_t msg = part_of(0, lane);
        msg.part.ledger.read += lane;
        cr_assert(say_part(&bench, &msg) == TND_OK);
    }
    say_commit(&bench, 0, 3);
    say_commit(&bench, 0, 3);

    cr_assert(book(&bench) == TND_FAILED);
    cr_assert(strstr(bench.error.text,
                     "does not balance after step 0: read 7 + added 0, but fed 6") != NULL,
              "%s", bench.error.text);
    free(bench.memory);
}

Test(assembly, the_end_is_reported_by_all_lanes_and_adds_what_was_read_after_the_last_step)
{
    bench_t bench;
    open_bench(&bench);
    tnd_msg_t first = part_of(0, 0), second = part_of(0, 1);
    first.part.ledger = (tnd_ledger_t){.read = 1, .filtered = 1};
    second.part.ledger = (tnd_ledger_t){0};

    cr_assert(tnd_assembly_last(&bench.assembly, &first, "batch.0", &bench.error) == TND_OK);
    cr_assert(eq(u64, bench.assembly.last, 0));
    cr_assert(tnd_assembly_finish(&bench.assembly, &bench.error) == TND_AGAIN);
    cr_assert(tnd_assembly_last(&bench.assembly, &second, "batch.1", &bench.error) == TND_OK);
    cr_assert(tnd_assembly_finish(&bench.assembly, &bench.error) == TND_OK);
    cr_assert(eq(u64, bench.assembly.cursor.ledger.filtered, 1));
    cr_assert(eq(u64, bench.assembly.cursor.part[0].index, 4));

    second.part.step = 1;
    cr_assert(tnd_assembly_last(&bench.assembly, &second, "batch.1", &bench.error) == TND_FAILED);
    cr_assert(strstr(bench.error.text, "ends before step 1, but it was known to go to step 0") !=
                  NULL,
              "%s", bench.error.text);
    free(bench.memory);
}
