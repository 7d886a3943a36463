/*  tests/runtime/feed/device_workers_sync_test.c - rounds of reductions without rows. */
#include <criterion/criterion.h>
#include <criterion/new/assert.h>

#include "tests/runtime/feed/device_workers_fixture.h"

/*  Each replica posts its number; then each that has the sum posts that. */
typedef struct {
    double value[FIXTURE_REPLICAS];
    uint32_t posted[FIXTURE_REPLICAS], applied[FIXTURE_REPLICAS];
    uint64_t step;
} sums_t;

static tnd_status_t post_number(void *context, tnd_replica_t *replica)
{
    sums_t *self = context;
    uint32_t id = tnd_replica_id(replica);
    self->posted[id]++;
    self->value[id] = id;
    cr_assert(eq(u64, tnd_replica_step(replica), self->step));
    cr_assert(eq(sz, tnd_replica_rows(replica), 0));
    cr_assert(tnd_replica_column(replica, "x") == NULL);
    cr_assert(tnd_replica_weight(replica, "mean") == 1.0);
    return tnd_replica_reduce(replica, "mean", TND_SUM, TND_F64, &self->value[id], 1);
}

static tnd_status_t post_sum(void *context, tnd_replica_t *replica)
{
    sums_t *self = context;
    uint32_t id = tnd_replica_id(replica);
    if (self->applied[id]++ % 2 > 0)
        return TND_OK;
    self->value[id] += id;
    return tnd_replica_reduce(replica, "mean", TND_MEAN, TND_F64, &self->value[id], 1);
}

/*  The sum is 6; the numbers and that are 6 to 9, of which the mean is 7.5. */
static void sync_at(fixture_t *self, sums_t *sums, uint64_t step)
{
    const tnd_task_t task = {.start = post_number, .apply = post_sum, .context = sums};
    uint32_t before = sums->posted[0];
    sums->step = step;
    cr_assert(tnd_device_workers_sync(self->workers, &task) == TND_OK, "%s",
              tnd_device_workers_error(self->workers));
    for (uint32_t r = 0; r < FIXTURE_REPLICAS; r++) {
        cr_assert(eq(u32, sums->posted[r], before + 1));
        cr_assert(eq(u32, sums->applied[r], 2 * (before + 1)));
        cr_assert(sums->value[r] == 7.5);
    }
}

/*  A step that ran is known as such in a round after it, and done only when the program goes on. */
static void expect_ran(fixture_t *self, uint64_t step)
{
    tnd_ran_t ran;
    tnd_done_t done;
    uint64_t saved;
    cr_assert(tnd_device_workers_ran(self->workers, &ran));
    cr_assert(eq(u64, ran.step, step));
    cr_assert(not(tnd_device_workers_ran(self->workers, &ran)));
    cr_assert(not(tnd_device_workers_done(self->workers, &done)));
    cr_assert(tnd_device_workers_reports(self->workers, &saved) != NULL);
    cr_assert(eq(u64, saved, step));
}

static void syncs_around_steps(uint32_t devices)
{
    fixture_t *self = fixture_new(0, FIXTURE_REPLICAS, devices, 2);
    fixture_t *plain = fixture_new(0, FIXTURE_REPLICAS, 1, 2);
    sums_t sums = {.step = 0};
    tnd_done_t done;
    tnd_device_workers_begin_at(self->workers, 0);
    sync_at(self, &sums, 0);
    sync_at(self, &sums, 0);
    for (uint64_t step = 0; step < 4; step++) {
        fixture_feed(self, step, 2);
        fixture_feed(plain, step, 2);
        cr_assert(tnd_device_workers_next(self->workers) == TND_OK);
        cr_assert(tnd_device_workers_next(plain->workers) == TND_OK);
        if (step > 0)
            cr_assert(take_done(self->workers, &done) && take_done(plain->workers, &done));
        if (step % 2 == 0) /* it is pulled, but has not run */
            sync_at(self, &sums, step);
        cr_assert(tnd_device_workers_run(self->workers, &self->task) == TND_OK);
        cr_assert(tnd_device_workers_run(plain->workers, &plain->task) == TND_OK);
        sync_at(self, &sums, step + 1);
        expect_ran(self, step);
    }
    cr_assert(memcmp(self->weights, plain->weights, sizeof self->weights) == 0);
    tnd_device_workers_over(self->workers, TND_END);
    cr_assert(tnd_device_workers_sync(self->workers, &self->task) == TND_END);
    fixture_destroy(self);
    fixture_destroy(plain);
}

Test(device_workers_sync, rounds_are_before_the_first_step_and_between_two)
{
    syncs_around_steps(1);
}

Test(device_workers_sync, rounds_run_on_the_threads_of_several_devices)
{
    syncs_around_steps(2);
    syncs_around_steps(4);
}

static tnd_status_t refuse(void *context, tnd_replica_t *replica)
{
    (void)context;
    tnd_replica_error(replica, "the ladle is cold");
    return tnd_replica_id(replica) == 3 ? TND_FAILED : TND_OK;
}

Test(device_workers_sync, a_round_that_fails_names_the_replica_and_the_step)
{
    for (uint32_t devices = 1; devices <= 4; devices *= 2) {
        const tnd_task_t task = {.start = refuse};
        fixture_t *self = fixture_new(0, FIXTURE_REPLICAS, devices, 2);
        tnd_device_workers_begin_at(self->workers, 17);
        cr_assert(tnd_device_workers_sync(self->workers, &task) == TND_FAILED);
        cr_assert(strstr(tnd_device_workers_error(self->workers),
                         "the round without rows of replica 3 on cpu:") != NULL);
        cr_assert(strstr(tnd_device_workers_error(self->workers), ", step 17: the ladle is cold") !=
                  NULL);
        fixture_destroy(self);
    }
}

/*  Replica 0 does not post. */
static tnd_status_t leave_out(void *context, tnd_replica_t *replica)
{
    return tnd_replica_id(replica) == 0 ? TND_OK : post_number(context, replica);
}

Test(device_workers_sync, a_replica_that_leaves_its_posting_out_is_named)
{
    for (uint32_t devices = 1; devices <= 4; devices *= 4) {
        sums_t sums = {.step = 5};
        const tnd_task_t task = {.start = leave_out, .context = &sums};
        fixture_t *self = fixture_new(0, FIXTURE_REPLICAS, devices, 2);
        tnd_device_workers_begin_at(self->workers, 5);
        cr_assert(tnd_device_workers_sync(self->workers, &task) == TND_FAILED);
        cr_assert(strstr(tnd_device_workers_error(self->workers), "in step 5 replica") != NULL,
                  "%s", tnd_device_workers_error(self->workers));
        cr_assert(strstr(tnd_device_workers_error(self->workers),
                         "the same reductions in the same order") != NULL ||
                      strstr(tnd_device_workers_error(self->workers), "the same ones") != NULL,
                  "%s", tnd_device_workers_error(self->workers));
        fixture_destroy(self);
    }
}

static tnd_status_t start_counting(void *context, tnd_replica_t *replica)
{
    return post_number((char *)context + sizeof(fixture_t), replica);
}

Test(device_workers_sync, a_task_starts_once_before_its_first_step)
{
    for (uint32_t devices = 1; devices <= 4; devices *= 2) {
        struct {
            fixture_t fixture;
            sums_t sums;
        } *both = calloc(1, sizeof *both);
        fixture_t *made = fixture_new(0, FIXTURE_REPLICAS, devices, 2);
        cr_assert(both != NULL);
        both->fixture = *made;
        both->sums.step = 3;
        both->fixture.task = (tnd_task_t){
            .step = fixture_step, .apply = fixture_apply, .start = start_counting, .context = both};
        fixture_run_from(&both->fixture, 3, 9, 2);
        cr_assert(tnd_device_workers_error(made->workers) == NULL, "%s",
                  tnd_device_workers_error(made->workers));
        for (uint32_t r = 0; r < FIXTURE_REPLICAS; r++) {
            cr_assert(eq(u32, both->sums.posted[r], 1));
            cr_assert(both->sums.value[r] == 6.0);
        }
        fixture_destroy(made);
        free(both);
    }
}
