/*  Covers runtime/core/tuning/tuner.h: each rule in a short scenario, and pipelines of known service
 *  times with noise, bursts and changing load, for which the best number of workers is arithmetic. */
#include "runtime/core/tuning/tuner.h"

#include <math.h>
#include <stdlib.h>

#include <criterion/criterion.h>

/*  Seconds per row of each stage, and per row of all workers on `cores` processors. */
typedef struct {
    double read, work, step;
    uint32_t cores;
    double noise; /* of a period's rate, at most, in both directions */
    unsigned seed;
} pipeline_t;

static double rate_with(const pipeline_t *self, uint32_t workers)
{
    double parallel = workers < self->cores ? workers : self->cores;
    double rate = parallel / self->work;
    rate = rate * self->read > 1 ? 1 / self->read : rate;
    return rate * self->step > 1 ? 1 / self->step : rate;
}

static uint64_t ns_of(double seconds)
{
    return seconds > 0 ? (uint64_t)(seconds * 1e9) : 0;
}

static double random_part(unsigned *seed)
{
    return (double)rand_r(seed) / ((double)RAND_MAX + 1);
}

/*  What a period of that many workers would show.  Blocks are of 20 ms of work. */
static tnd_tuner_sample_t period_of(pipeline_t *self, uint32_t workers)
{
    double span = 0.5, rate = rate_with(self, workers);
    double capacity = (workers < self->cores ? workers : self->cores) / self->work;
    rate *= 1 + self->noise * (2 * random_part(&self->seed) - 1);
    double used = rate / capacity < 1 ? rate / capacity : 1;
    double feeds = rate * self->step < 1 ? rate * self->step : 1;
    double block = self->work < 0.02 ? 0.02 / self->work : 1;
    return (tnd_tuner_sample_t){
        .span_ns = ns_of(span),
        .rows = (uint64_t)(rate * span),
        .blocks = (uint64_t)(rate * span / block + random_part(&self->seed)),
        .work_ns = ns_of(used * workers * span),
        .ticket_wait_ns = ns_of(used > 0.97  ? 0.9 * span
                                : used > 0.8 ? 0.2 * span
                                             : 0),
        .feeder_wait_ns = ns_of((1 - feeds) * span),
    };
}

/*  Lets periods pass; returns how often the number of workers changed. */
static uint32_t pass(tnd_tuner_t *tuner, pipeline_t *pipeline, uint32_t periods)
{
    uint32_t changes = 0;
    for (uint32_t i = 0; i < periods; i++) {
        uint32_t before = tuner->workers;
        tnd_tuner_sample_t sample = period_of(pipeline, tuner->workers);
        bool decided = tnd_tuner_step(tuner, &sample);
        cr_assert(tuner->workers >= 1 && tuner->workers <= tuner->most);
        cr_assert_eq(tuner->workers, tuner->decision.workers);
        cr_assert(decided || tuner->workers == before);
        changes += tuner->workers != before;
    }
    return changes;
}

Test(tuner, a_chain_with_a_slow_operation_gets_both_cores_within_three_seconds)
{
    pipeline_t pipeline = {.read = 1e-6, .work = 1e-3, .step = 1e-6, .cores = 2};
    tnd_tuner_t tuner;
    tnd_tuner_init(&tuner, 2);
    cr_expect_eq(pass(&tuner, &pipeline, 5), 1);
    cr_expect_eq(tuner.workers, 2);
    cr_expect_eq(tuner.decision.act, TND_TUNER_ADDED);
    cr_expect_float_eq(tuner.decision.tickets_waited, 0.9, 0.01);
    pass(&tuner, &pipeline, 3);
    cr_expect_eq(tuner.decision.act, TND_TUNER_KEPT);
    cr_expect_float_eq(tuner.decision.gain, 1, 0.05);
    cr_expect_eq(pass(&tuner, &pipeline, 2000), 0);
}

/*  As at the start, where a block may take seconds. */
Test(tuner, a_worker_is_added_before_the_first_block_is_made)
{
    tnd_tuner_sample_t sample = {.span_ns = 500000000,
                                 .work_ns = 500000000,
                                 .ticket_wait_ns = 500000000,
                                 .feeder_wait_ns = 500000000};
    tnd_tuner_t tuner;
    tnd_tuner_init(&tuner, 2);
    for (int i = 0; i < 5; i++)
        tnd_tuner_step(&tuner, &sample);
    cr_assert_eq(tuner.workers, 2);
    for (int i = 0; i < 5; i++)
        tnd_tuner_step(&tuner, &sample);
    cr_assert_eq(tuner.workers, 2);
    cr_assert_eq(tuner.decision.act, TND_TUNER_UNJUDGED);
}

/*  Workers are added while hardly a block is made, and only as many stay as processors work. */
Test(tuner, workers_that_were_added_without_a_trial_are_judged_later)
{
    for (uint32_t cores = 1; cores <= 4; cores++) {
        pipeline_t pipeline = {
            .read = 1e-6, .work = 0.3, .step = 1e-6, .cores = cores, .seed = cores};
        tnd_tuner_t tuner;
        tnd_tuner_init(&tuner, 4);
        pass(&tuner, &pipeline, 5);
        cr_expect_eq(tuner.workers, 2);
        pass(&tuner, &pipeline, 300);
        cr_expect_eq(tuner.workers, cores, "%u of %u", tuner.workers, cores);
        cr_expect_leq(pass(&tuner, &pipeline, 500), 8);
    }
}

Test(tuner, a_slow_step_leaves_one_worker)
{
    pipeline_t pipeline = {.read = 1e-6, .work = 1e-4, .step = 1e-2, .cores = 8};
    tnd_tuner_t tuner;
    tnd_tuner_init(&tuner, 8);
    cr_expect_eq(pass(&tuner, &pipeline, 2000), 0);
    cr_expect_eq(tuner.workers, 1);
}

Test(tuner, tickets_that_wait_while_the_feeder_has_rows_add_no_worker)
{
    tnd_tuner_sample_t sample = {.span_ns = 500000000,
                                 .rows = 1000,
                                 .blocks = 100,
                                 .work_ns = 450000000,
                                 .ticket_wait_ns = 400000000,
                                 .feeder_wait_ns = 1000000};
    tnd_tuner_t tuner;
    tnd_tuner_init(&tuner, 4);
    for (int i = 0; i < 100; i++)
        cr_assert_not(tnd_tuner_step(&tuner, &sample));
}

Test(tuner, a_worker_that_gains_too_little_is_removed_and_tried_again_ever_more_seldom)
{
    pipeline_t pipeline = {.read = 1e-6, .work = 1e-3, .step = 1e-6, .cores = 1};
    tnd_tuner_t tuner;
    tnd_tuner_init(&tuner, 4);
    cr_expect_eq(pass(&tuner, &pipeline, 10), 2);
    cr_expect_eq(tuner.workers, 1);
    cr_expect_eq(tuner.decision.act, TND_TUNER_UNDONE);
    cr_expect_float_eq(tuner.decision.gain, 0, 0.02);
    uint32_t first = pass(&tuner, &pipeline, 500), later = pass(&tuner, &pipeline, 500);
    cr_expect_leq(first, 12);
    cr_expect_leq(later, 4);
    cr_expect_eq(tuner.workers, 1);
}

Test(tuner, a_worker_that_makes_the_run_slower_is_removed_at_once)
{
    pipeline_t pipeline = {.read = 1e-6, .work = 1e-3, .step = 1e-6, .cores = 2};
    tnd_tuner_t tuner;
    tnd_tuner_init(&tuner, 2);
    while (tuner.workers == 1)
        pass(&tuner, &pipeline, 1);
    pipeline.work = 3e-3; /* as if the two disturbed each other */
    cr_expect_eq(pass(&tuner, &pipeline, 3), 1);
    cr_expect_eq(tuner.decision.act, TND_TUNER_UNDONE);
}

Test(tuner, workers_that_idle_are_removed_one_by_one)
{
    pipeline_t pipeline = {.read = 1e-6, .work = 1e-3, .step = 1e-6, .cores = 4, .seed = 1};
    tnd_tuner_t tuner;
    tnd_tuner_init(&tuner, 4);
    pass(&tuner, &pipeline, 60);
    cr_assert_eq(tuner.workers, 4);
    pipeline.work = 1e-5;
    pipeline.read = 1e-4;
    pass(&tuner, &pipeline, 100);
    cr_expect_eq(tuner.workers, 1);
    cr_expect_eq(tuner.decision.act, TND_TUNER_SPARED);
    cr_expect_eq(pass(&tuner, &pipeline, 500), 0);
}

Test(tuner, a_worker_that_was_removed_and_is_missed_is_restored)
{
    tnd_tuner_t tuner;
    tnd_tuner_init(&tuner, 2);
    pipeline_t pipeline = {.read = 1e-6, .work = 1e-3, .step = 1e-6, .cores = 2};
    pass(&tuner, &pipeline, 20);
    cr_assert_eq(tuner.workers, 2);
    /* Both seem to idle, but each alone makes half as much. */
    tnd_tuner_sample_t two = {
        .span_ns = 500000000, .rows = 1000, .blocks = 100, .work_ns = 300000000};
    tnd_tuner_sample_t one = two;
    one.rows = 500;
    int periods = 0;
    for (; tuner.decision.act != TND_TUNER_RESTORED && periods < 40; periods++)
        tnd_tuner_step(&tuner, tuner.workers == 2 ? &two : &one);
    cr_expect_lt(periods, 40);
    cr_expect_eq(tuner.workers, 2);
    cr_expect_float_eq(tuner.decision.gain, -0.5, 0.05);
}

Test(tuner, a_single_worker_is_never_changed)
{
    pipeline_t pipeline = {.read = 1e-6, .work = 1e-3, .step = 1e-6, .cores = 8, .noise = 0.2};
    tnd_tuner_t tuner;
    tnd_tuner_init(&tuner, 1);
    cr_expect_eq(pass(&tuner, &pipeline, 1000), 0);
}

static pipeline_t random_pipeline(unsigned *seed)
{
    return (pipeline_t){
        .read = pow(10, -6 + 3 * random_part(seed)),
        .work = pow(10, -5 + 3.5 * random_part(seed)),
        .step = pow(10, -6 + 4 * random_part(seed)),
        .cores = 1 + (uint32_t)rand_r(seed) % 16,
        .noise = 0.03 * random_part(seed),
        .seed = (unsigned)rand_r(seed),
    };
}

/*  The rate is that of the best number, but for what trials of less than 3 % leave. */
static void is_settled(tnd_tuner_t *tuner, pipeline_t *pipeline, unsigned seed)
{
    uint32_t changes = pass(tuner, pipeline, 1200);
    double rate = rate_with(pipeline, tuner->workers), best = rate_with(pipeline, tuner->most);
    cr_assert_geq(rate, 0.9 * best, "seed %u: %u of %u workers make %.0f of %.0f rows/s", seed,
                  tuner->workers, tuner->most, rate, best);
    cr_assert_leq(changes, 14, "seed %u: %u changes in ten minutes", seed, changes);
}

Test(tuner, random_pipelines_settle_near_the_best_number)
{
    for (unsigned seed = 1; seed <= 500; seed++) {
        unsigned random = seed;
        pipeline_t pipeline = random_pipeline(&random);
        tnd_tuner_t tuner;
        tnd_tuner_init(&tuner, pipeline.cores);
        pass(&tuner, &pipeline, 240);
        is_settled(&tuner, &pipeline, seed);
    }
}

Test(tuner, after_a_change_of_the_load_pipelines_settle_again)
{
    for (unsigned seed = 1; seed <= 200; seed++) {
        unsigned random = seed;
        pipeline_t pipeline = random_pipeline(&random);
        uint32_t cores = pipeline.cores;
        tnd_tuner_t tuner;
        tnd_tuner_init(&tuner, cores);
        for (int loads = 0; loads < 3; loads++) {
            pass(&tuner, &pipeline, 700);
            is_settled(&tuner, &pipeline, seed);
            pipeline = random_pipeline(&random);
            pipeline.cores = cores;
        }
    }
}

/*  A load that comes and goes must not make the number swing each time. */
Test(tuner, bursts_change_the_number_less_and_less_often)
{
    for (unsigned seed = 1; seed <= 100; seed++) {
        unsigned random = seed;
        pipeline_t busy = {
            .read = 1e-6, .work = 1e-3, .step = 1e-6, .cores = 4, .noise = 0.02, .seed = seed};
        pipeline_t quiet = busy;
        quiet.read = 5e-3; /* its source is slow */
        tnd_tuner_t tuner;
        tnd_tuner_init(&tuner, 4);
        uint32_t changes = 0, late = 0;
        for (int burst = 0; burst < 120; burst++) {
            uint32_t some = pass(&tuner, &busy, 8 + (uint32_t)rand_r(&random) % 24) +
                            pass(&tuner, &quiet, 8 + (uint32_t)rand_r(&random) % 24);
            changes += some;
            late += burst >= 60 ? some : 0;
        }
        cr_assert_leq(late, 60, "seed %u: %u changes in 60 bursts", seed, late);
    }
}

/* --- what a user allows ------------------------------------------------------------------------ */

Test(tuner, never_more_workers_are_awake_than_a_user_allows)
{
    for (unsigned seed = 1; seed <= 200; seed++) {
        unsigned random = seed;
        pipeline_t pipeline = random_pipeline(&random);
        tnd_tuner_t tuner;
        tnd_tuner_init(&tuner, pipeline.cores);
        for (int i = 0; i < 40; i++) {
            uint32_t most = 1 + (uint32_t)rand_r(&random) % pipeline.cores;
            tnd_tuner_limit(&tuner, most);
            for (int p = rand_r(&random) % 40; p >= 0; p--) {
                cr_assert(tuner.workers >= 1 && tuner.workers <= most, "seed %u: %u of %u", seed,
                          tuner.workers, most);
                (void)pass(&tuner, &pipeline, 1);
            }
        }
        tnd_tuner_limit(&tuner, pipeline.cores);
        pass(&tuner, &pipeline, 700);
        is_settled(&tuner, &pipeline, seed);
    }
}
