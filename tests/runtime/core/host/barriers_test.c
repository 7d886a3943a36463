/*  Covers runtime/core/host/barriers.h: what a process does at the start, and in which order. */
#include "runtime/core/host/barriers.h"

#include <criterion/criterion.h>

static const tnd_barriers_facts_t alone = {0}, reaches = {.reaches = true},
                                  bound = {.bound = true, .reaches = true},
                                  run = {.bound = true, .run = true, .reaches = true};

static void does(tnd_barriers_t *self, const tnd_barriers_facts_t *facts, tnd_barriers_step_t step)
{
    cr_assert_eq(tnd_barriers_next(self, facts), step);
}

/*  One that has data, and has come as far as `made`. */
static tnd_barriers_t process_with_actors(void)
{
    tnd_barriers_t self = {.reads = true};
    tnd_barriers_open(&self);
    does(&self, &reaches, TND_BARRIERS_FACTS);
    cr_assert(tnd_barriers_stream(&self));
    does(&self, &reaches, TND_BARRIERS_CHECK);
    tnd_barriers_fit(&self);
    does(&self, &reaches, TND_BARRIERS_MAKE);
    return self;
}

static tnd_barriers_t process_that_runs(void)
{
    tnd_barriers_t self = process_with_actors();
    does(&self, &bound, TND_BARRIERS_ENDPOINTS);
    cr_assert_eq(tnd_barriers_table(&self), TND_TABLE_GO);
    does(&self, &run, TND_BARRIERS_READY);
    return self;
}

Test(barriers, each_is_passed_once_and_in_order)
{
    tnd_barriers_t self = {.reads = true};
    does(&self, &run, TND_BARRIERS_WAIT);
    self = process_that_runs();
    does(&self, &run, TND_BARRIERS_WAIT);
}

Test(barriers, nothing_is_said_without_the_leader)
{
    tnd_barriers_t self = {.reads = true};
    tnd_barriers_open(&self);
    does(&self, &alone, TND_BARRIERS_WAIT);
    does(&self, &reaches, TND_BARRIERS_FACTS);
    self = process_with_actors();
    static const tnd_barriers_facts_t cut = {.bound = true, .run = true};
    does(&self, &cut, TND_BARRIERS_WAIT);
    does(&self, &bound, TND_BARRIERS_ENDPOINTS);
    (void)tnd_barriers_table(&self);
    does(&self, &cut, TND_BARRIERS_WAIT);
    does(&self, &run, TND_BARRIERS_READY);
}

Test(barriers, a_host_without_data_says_no_facts)
{
    tnd_barriers_t self = {0};
    tnd_barriers_open(&self);
    does(&self, &reaches, TND_BARRIERS_WAIT);
    cr_assert(tnd_barriers_stream(&self));
    does(&self, &reaches, TND_BARRIERS_CHECK);
}

Test(barriers, streams_wait_until_the_data_is_open)
{
    tnd_barriers_t self = {.reads = true};
    cr_assert(tnd_barriers_stream(&self));
    does(&self, &reaches, TND_BARRIERS_WAIT);
    cr_assert(tnd_barriers_stream(&self), "a later word about them replaces it");
    tnd_barriers_open(&self);
    does(&self, &reaches, TND_BARRIERS_FACTS);
    does(&self, &reaches, TND_BARRIERS_CHECK);
    does(&self, &reaches, TND_BARRIERS_WAIT);
}

Test(barriers, streams_are_checked_once)
{
    tnd_barriers_t self = {0};
    tnd_barriers_open(&self);
    (void)tnd_barriers_stream(&self);
    does(&self, &reaches, TND_BARRIERS_CHECK);
    cr_assert_not(tnd_barriers_stream(&self));
    does(&self, &reaches, TND_BARRIERS_WAIT);
    tnd_barriers_fit(&self);
    cr_assert_not(tnd_barriers_stream(&self));
    does(&self, &reaches, TND_BARRIERS_MAKE);
    does(&self, &reaches, TND_BARRIERS_WAIT);
}

Test(barriers, a_table_before_the_actors_are_made_is_ignored)
{
    tnd_barriers_t self = {0};
    cr_assert_eq(tnd_barriers_table(&self), TND_TABLE_IGNORED);
    self = process_with_actors();
    cr_assert_eq(tnd_barriers_table(&self), TND_TABLE_GO, "they have not been told to run");
    cr_assert_eq(tnd_barriers_table(&self), TND_TABLE_LOOK);
}

Test(barriers, actors_run_before_the_process_is_ready)
{
    tnd_barriers_t self = process_with_actors();
    does(&self, &reaches, TND_BARRIERS_WAIT);
    does(&self, &bound, TND_BARRIERS_ENDPOINTS);
    does(&self, &run, TND_BARRIERS_WAIT);
    (void)tnd_barriers_table(&self);
    does(&self, &bound, TND_BARRIERS_WAIT);
    does(&self, &run, TND_BARRIERS_READY);
}

Test(barriers, all_is_said_again_on_another_connection_but_nothing_is_done_twice)
{
    tnd_barriers_t self = process_that_runs();
    tnd_barriers_greet(&self);
    does(&self, &run, TND_BARRIERS_FACTS);
    does(&self, &run, TND_BARRIERS_ENDPOINTS);
    does(&self, &run, TND_BARRIERS_READY);
    does(&self, &run, TND_BARRIERS_WAIT);
    cr_assert_eq(tnd_barriers_table(&self), TND_TABLE_LOOK);
}

Test(barriers, an_actor_that_moved_is_announced_once_it_has_bound)
{
    tnd_barriers_t self = process_that_runs();
    cr_assert_not(tnd_barriers_await_actors(&self));
    tnd_barriers_move(&self);
    cr_assert(tnd_barriers_await_actors(&self));
    does(&self, &reaches, TND_BARRIERS_WAIT);
    does(&self, &bound, TND_BARRIERS_ENDPOINTS);
    does(&self, &run, TND_BARRIERS_WAIT);
    cr_assert_not(tnd_barriers_await_actors(&self));
}

Test(barriers, actors_are_looked_at_from_when_they_are_made_until_they_run)
{
    tnd_barriers_t self = {0};
    cr_assert_not(tnd_barriers_await_actors(&self));
    self = process_with_actors();
    cr_assert(tnd_barriers_await_actors(&self));
    does(&self, &bound, TND_BARRIERS_ENDPOINTS);
    cr_assert(tnd_barriers_await_actors(&self));
}
