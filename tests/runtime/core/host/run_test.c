/*  Covers runtime/core/host/run.h: a run of four hosts, of which the last two may be replaced by processes
 *  that ask to join, from its start to the next chain. */
#include "runtime/core/host/run.h"

#include "tests/runtime/core/leader.h"

enum { HOSTS = 4, LIFE = 50 };

static tnd_host_presence_t presences[HOSTS];
static tnd_run_start_host_t start_hosts[HOSTS];
static uint32_t awake[MEMBERS];
static const char *const pools[HOSTS] = {NULL, NULL, "cpu", "cpu"};
static const tnd_absence_limits_t limits = {.grace_ns = 150 * ms, .dead_after_ns = 1000 * ms};

static tnd_run_t waiting(void)
{
    memset(presences, 0, sizeof presences);
    memset(start_hosts, 0, sizeof start_hosts);
    memset(awake, 0, sizeof awake);
    start_hosts[0].reads = start_hosts[1].reads = true;
    return (tnd_run_t){.session = make_with(TND_UNKNOWN, 5),
                       .presences = presences,
                       .start = {.hosts = start_hosts, .host_count = HOSTS},
                       .touches = {.awake = awake, .instance_count = MEMBERS, .host_count = HOSTS},
                       .pools = pools};
}

/*  All hosts come, open, listen and run. */
static tnd_run_t begun(void)
{
    tnd_run_t self = waiting();
    for (uint32_t h = 0; h < HOSTS; h++) {
        cr_assert_eq(tnd_run_up(&self, h, LIFE + h, "", 0), TND_HOST_JOINS);
        (void)tnd_run_greet(&self, h, 0);
    }
    cr_assert_eq(tnd_run_opened(&self, 0, 0), TND_AUDIENCE_NONE);
    cr_assert_eq(tnd_run_opened(&self, 1, 0), TND_AUDIENCE_ALL);
    for (uint32_t h = 0; h < HOSTS; h++)
        (void)tnd_run_start_listen(&self.start, h, true);
    for (uint32_t h = 0; h < HOSTS; h++)
        tnd_run_ready(&self, h, 0);
    rewinds(self.session, 0, 1, 0);
    return self;
}

static void goes_away(uint32_t host, tnd_loss_t loss, uint64_t now)
{
    cr_assert(tnd_host_presence_away(&presences[host], &limits, loss, now));
}

Test(run, the_stream_begins_once_all_are_ready)
{
    tnd_run_t self = waiting();
    for (uint32_t h = 0; h < HOSTS; h++) {
        (void)tnd_run_up(&self, h, LIFE, "", 0);
        tnd_greeting_t greeting = tnd_run_greet(&self, h, 0);
        cr_assert_eq(greeting.count, TND_COUNT_HOST, "the start waits for it");
    }
    is_idle(self.session, 0);
    cr_assert_eq(tnd_leader_core_state(self.session), TND_LEADER_CORE_OPENING);
    free(self.session);
    self = begun();
    cr_assert_eq(tnd_leader_core_state(self.session), TND_LEADER_CORE_RUNNING);
    free(self.session);
}

Test(run, a_process_that_ends_before_it_is_connected_is_lost_soon)
{
    tnd_run_t self = waiting();
    (void)tnd_run_up(&self, 0, LIFE, "", 0);
    cr_assert(tnd_run_ends_early(&self, 1, &limits, 100 * ms));
    cr_assert_not(tnd_run_ends_early(&self, 1, &limits, 200 * ms), "it is known");
    cr_assert_not(tnd_run_ends_early(&self, 0, &limits, 200 * ms), "it is there");
    cr_assert_not(tnd_run_misses(&self, 1, TND_FATE_DEAD, 250 * ms - 1));
    cr_assert(tnd_run_misses(&self, 1, TND_FATE_DEAD, 250 * ms));
    cr_assert_eq(tnd_run_up(&self, 1, LIFE + 1, "", 250 * ms), TND_HOST_JOINS, "after all");
    cr_assert_not(tnd_run_misses(&self, 1, TND_FATE_DEAD, 5000 * ms));
    free(self.session);
    self = begun();
    cr_assert_not(tnd_run_ends_early(&self, 1, &limits, 100 * ms), "it has begun");
    free(self.session);
}

Test(run, a_host_that_is_said_to_open_its_data_is_the_one_to_blame)
{
    tnd_run_t self = waiting();
    for (uint32_t h = 0; h < HOSTS; h++) {
        (void)tnd_run_up(&self, h, LIFE, "", 0);
        (void)tnd_run_greet(&self, h, 0);
    }
    (void)tnd_run_opened(&self, 0, 0);
    tnd_run_opening(&self, 0, 1, "what it has opened", 0);
    tnd_run_opening(&self, 1, 1, "slow.csv", 0);
    is_idle(self.session, 90999 * ms); /* hung_after, half of it, and a second */
    fails_with(self.session, 91000 * ms, "slow.csv");
}

/*  The process before it reported nothing for nearly as long as is allowed. */
Test(run, a_process_that_takes_the_place_of_another_before_the_start_has_its_own_time_to_open)
{
    tnd_run_t self = waiting();
    for (uint32_t h = 0; h < HOSTS; h++) {
        (void)tnd_run_up(&self, h, LIFE, "", 0);
        (void)tnd_run_greet(&self, h, 0);
    }
    tnd_run_opening(&self, 0, 1, "long.csv", 0);
    tnd_run_opening(&self, 1, 0, "slow.csv", 0);
    tnd_run_opening(&self, 0, 2, "long.csv", 90999 * ms);
    cr_assert_eq(tnd_run_up(&self, 1, LIFE + 1, "it died", 90999 * ms), TND_HOST_REPLACES);
    (void)tnd_run_greet(&self, 1, 90999 * ms);
    tnd_run_opening(&self, 1, 0, "slow.csv", 90999 * ms);
    is_idle(self.session, 170000 * ms);
    tnd_run_opening(&self, 0, 3, "long.csv", 170000 * ms);
    is_idle(self.session, 181998 * ms);
    fails_with(self.session, 181999 * ms, "slow.csv");
}

Test(run, a_process_that_takes_the_place_of_another_has_to_say_all_again)
{
    tnd_run_t self = begun();
    goes_away(1, TND_LOSS_ENDED, 0);
    cr_assert_eq(tnd_run_up(&self, 1, LIFE + 1, "", 1), TND_HOST_RETURNS);
    cr_assert(start_hosts[1].ready, "it is the same");
    cr_assert_eq(tnd_run_up(&self, 1, LIFE + 9, "it was killed", 2), TND_HOST_REPLACES);
    cr_assert_not(start_hosts[1].ready);
    cr_assert(start_hosts[1].late);
    cr_assert_eq(presences[1].restarts, 1);
    tnd_greeting_t greeting = tnd_run_greet(&self, 1, 2);
    cr_assert_not(greeting.streams, "it has to open its data first");
    cr_assert_eq(greeting.count, TND_COUNT_NOT);
    is_idle(self.session, 3);
    (void)tnd_run_opened(&self, 1, 3);
    cr_assert_eq(tnd_run_start_listen(&self.start, 1, true), TND_AUDIENCE_ALL);
    tnd_run_ready(&self, 1, 4);
    rewinds(self.session, 20 * ms, 2, 0);
    free(self.session);
}

Test(run, a_process_that_comes_after_the_end_is_no_restart)
{
    tnd_run_t self = begun();
    self.ended = true;
    cr_assert_eq(tnd_run_up(&self, 1, LIFE + 9, "it was killed", 2), TND_HOST_REPLACES);
    cr_assert_eq(presences[1].restarts, 0);
    free(self.session);
}

Test(run, a_host_without_which_the_run_continues_is_lost_after_the_grace)
{
    tnd_run_t self = begun();
    goes_away(2, TND_LOSS_ENDED, 0); /* the worker */
    goes_away(3, TND_LOSS_ENDED, 0); /* a feeder */
    cr_assert_not(tnd_run_misses(&self, 2, TND_FATE_UNKNOWN, 149 * ms));
    cr_assert(tnd_run_misses(&self, 2, TND_FATE_UNKNOWN, 150 * ms));
    cr_assert_not(tnd_run_misses(&self, 3, TND_FATE_UNKNOWN, 150 * ms));
    cr_assert(tnd_run_misses(&self, 3, TND_FATE_DEAD, 150 * ms));
    cr_assert(tnd_run_misses(&self, 3, TND_FATE_UNKNOWN, 1000 * ms));
    cr_assert(tnd_run_lose(&self, 3, "the cable was cut", 1000 * ms));
    fails_with(self.session, 1000 * ms, "the cable was cut");
}

Test(run, a_leader_that_was_away_gives_hosts_as_much_time)
{
    tnd_run_t self = begun();
    goes_away(2, TND_LOSS_SILENT, 0);
    tnd_run_excuse(&self, 300 * ms, 900 * ms);
    cr_assert_not(tnd_run_misses(&self, 2, TND_FATE_UNKNOWN, 1299 * ms));
    cr_assert(tnd_run_misses(&self, 2, TND_FATE_UNKNOWN, 1300 * ms));
    free(self.session);
}

Test(run, a_host_that_is_not_started_again_ends_a_run_that_has_not_begun)
{
    tnd_run_t self = waiting();
    start_hosts[1].final = true;
    (void)tnd_run_up(&self, 1, LIFE, "", 0);
    goes_away(1, TND_LOSS_ENDED, 0);
    cr_assert_not(tnd_run_misses(&self, 1, TND_FATE_UNKNOWN, 999 * ms));
    cr_assert_not(tnd_run_lose(&self, 1, "it crashed", 1000 * ms));
    free(self.session);
}

Test(run, only_a_late_host_that_is_not_needed_may_fail)
{
    tnd_run_t self = begun();
    cr_assert_not(tnd_run_spares(&self, 2, true, "no memory", 1), "it was there at the start");
    goes_away(2, TND_LOSS_CLOSED, 2);
    (void)tnd_run_up(&self, 2, LIFE + 9, "it ended", 3);
    cr_assert(tnd_run_spares(&self, 2, true, "no memory", 4) ==
              !tnd_leader_core_needs(self.session, 2));
    free(self.session);
}

Test(run, a_host_that_leaves_is_not_missed)
{
    tnd_run_t self = begun();
    tnd_run_leave(&self, 2, 1);
    cr_assert_not(tnd_host_presence_away(&presences[2], &limits, TND_LOSS_ENDED, 2));
    cr_assert_not(tnd_run_misses(&self, 2, TND_FATE_DEAD, 100000 * ms));
    cr_assert_not(start_hosts[2].counted);
    free(self.session);
}

/* --- pools ------------------------------------------------------------------------------------ */

Test(run, a_place_is_reserved_for_the_process_that_asked)
{
    tnd_run_t self = waiting();
    cr_assert_eq(tnd_run_reserve(&self, "cpu", 1000 * ms, 0), 2);
    cr_assert_eq(tnd_run_reserve(&self, "cpu", 1000 * ms, 0), 3);
    cr_assert_eq(tnd_run_reserve(&self, "cpu", 1000 * ms, 9999 * ms), HOSTS);
    cr_assert_eq(tnd_run_reserve(&self, "cpu", 1000 * ms, 10000 * ms), 2, "it did not come");
    cr_assert_eq(tnd_run_reserve(&self, "gpu", 1000 * ms, 0), HOSTS);
    free(self.session);
}

Test(run, the_place_of_a_lost_host_is_free_when_it_may_not_return)
{
    tnd_run_t self = begun();
    cr_assert_eq(tnd_run_reserve(&self, "cpu", 1000 * ms, 0), HOSTS);
    goes_away(2, TND_LOSS_ENDED, 0);
    (void)tnd_run_lose(&self, 2, "it is silent", 200 * ms);
    cr_assert_eq(tnd_run_reserve(&self, "cpu", 1000 * ms, 1199 * ms), HOSTS);
    cr_assert_eq(tnd_run_reserve(&self, "cpu", 1000 * ms, 1200 * ms), 2);
    free(self.session);
}

/* --- touches and chains ------------------------------------------------------------------------ */

static tnd_status_t does(tnd_run_t *self, tnd_verb_t verb, uint32_t value, tnd_error_t *error)
{
    tnd_touch_scale_t scale = {0};
    tnd_touches_step_t step;
    tnd_run_touches_take(&self->touches, verb, 0, 1, self->ended);
    tnd_status_t status = tnd_run_carry_out(self, verb, value, 0, error);
    tnd_run_touches_tried(&self->touches, status == TND_OK, &scale, 7);
    while (tnd_run_touches_next(&self->touches, &step))
        continue;
    return status;
}

Test(run, what_a_user_asks_is_done_by_the_running_chain)
{
    tnd_run_t self = begun();
    tnd_error_t error;
    uint64_t step;
    cr_assert_eq(does(&self, TND_TOUCH_RESUME, 0, &error), TND_FAILED);
    cr_assert(strstr(error.text, "not paused"));
    cr_assert_eq(does(&self, TND_TOUCH_PAUSE, 0, &error), TND_OK);
    cr_assert(tnd_leader_core_is_paused(self.session, &step));
    cr_assert_eq(does(&self, TND_TOUCH_RESUME, 0, &error), TND_OK);
    cr_assert_not(tnd_leader_core_is_paused(self.session, &step));
    cr_assert_eq(does(&self, TND_TOUCH_RESTART, FEED_0, &error), TND_FAILED);
    cr_assert_eq(does(&self, TND_TOUCH_RESTART, PREP, &error), TND_OK);
    cr_assert_eq(does(&self, TND_TOUCH_SET, 3, &error), TND_OK);
    cr_assert_eq(does(&self, TND_TOUCH_SCALE, 1, &error), TND_OK);
    cr_assert_eq(does(&self, TND_TOUCH_DRAIN, 0, &error), TND_OK);
    cr_assert_eq(tnd_leader_core_state(self.session), TND_LEADER_CORE_DRAINING);
    cr_assert_eq(does(&self, TND_TOUCH_SET, 3, &error), TND_FAILED);
    free(self.session);
}

Test(run, the_next_chain_counts_who_is_there_and_stays_paused)
{
    tnd_run_t self = begun();
    tnd_error_t error;
    uint64_t step;
    cr_assert_eq(does(&self, TND_TOUCH_PAUSE, 0, &error), TND_OK);
    goes_away(2, TND_LOSS_ENDED, 0);
    (void)tnd_run_lose(&self, 2, "it is silent", 200 * ms);
    free(self.session);
    tnd_run_next_chain(&self, make_with(TND_UNKNOWN, 5));
    cr_assert(tnd_leader_core_is_paused(self.session, &step));
    for (uint32_t h = 0; h < HOSTS; h++)
        tnd_run_enter(&self, h, 300 * ms);
    tnd_run_go_without(&self, 300 * ms);
    is_idle(self.session, 300 * ms);
    cr_assert_eq(does(&self, TND_TOUCH_RESUME, 0, &error), TND_OK);
    bool needs = tnd_leader_core_needs(self.session, 2);
    cr_assert_eq(tnd_leader_core_state(self.session),
                 needs ? TND_LEADER_CORE_JOINING : TND_LEADER_CORE_READY);
    free(self.session);
}

Test(run, no_chain_follows_one_that_drains_or_was_finished)
{
    tnd_run_t self = begun();
    tnd_run_drain(&self);
    cr_assert_not(tnd_run_touches_goes_on(&self.touches));
    cr_assert_eq(tnd_leader_core_state(self.session), TND_LEADER_CORE_DRAINING);
    free(self.session);
    self = begun();
    tnd_run_finish(&self, self.session, 0, 4);
    tnd_run_finish(&self, self.session, 3, 5);
    cr_assert_not(tnd_run_touches_goes_on(&self.touches));
    fails_with(self.session, 0, "after 4 and 5");
}

Test(run, hosts_count_in_the_chain_that_rests_too)
{
    tnd_run_t self = begun();
    tnd_error_t error;
    uint64_t step;
    tnd_leader_core_t *first = self.session, *other = make_with(TND_UNKNOWN, 5);
    tnd_run_rest(&self, other);
    for (uint32_t h = 0; h < HOSTS; h++)
        tnd_run_enter(&self, h, 0);
    rewinds(other, 0, 1, 0);
    is_idle(first, 0); /* its actors were counted before */
    cr_assert_eq(does(&self, TND_TOUCH_PAUSE, 0, &error), TND_OK);
    cr_assert_not(tnd_leader_core_is_paused(first, &step));
    goes_away(1, TND_LOSS_ENDED, 0);
    (void)tnd_run_lose(&self, 1, "it is silent", 1000 * ms);
    cr_assert(tnd_leader_core_needs(first, 1) && tnd_leader_core_needs(other, 1));
    cr_assert(tnd_run_needs(&self, 1));
    cr_assert_eq(tnd_run_up(&self, 1, LIFE + 1, "", 1001 * ms), TND_HOST_RETURNS);
    (void)tnd_run_greet(&self, 1, 1001 * ms);
    rewinds(first, 2000 * ms, 2, 0);
    tnd_run_return(&self);
    cr_assert_eq(self.session, first);
    cr_assert(tnd_leader_core_is_paused(first, &step));
    goes_away(3, TND_LOSS_ENDED, 0);
    (void)tnd_run_lose(&self, 3, "the cable was cut", 3000 * ms); /* with a feeder */
    free(other);
    fails_with(self.session, 3000 * ms, "the cable was cut");
}

Test(run, an_actor_of_a_chain_that_is_not_fed_is_restarted_at_once)
{
    tnd_run_t self = begun();
    tnd_effect_t effect;
    cr_assert(tnd_run_actor_down(NULL, PREP, "it hangs", 0));
    cr_assert_not(tnd_run_actor_down(self.session, PREP, "it hangs", 0));
    cr_assert(next_but_words(self.session, 10 * ms, &effect));
    cr_assert_eq(effect.kind, TND_EFFECT_RESTART);
    free(self.session);
}
