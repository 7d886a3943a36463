/*  Covers tools/report/wait_chain.h, run_faults.h and run_limit.h: calls of user code that are short, open
 *  what is needed, or hang while other rows are fed. */
#include "run_fixture.h"

TestSuite(slow_calls, .init = begin);

static void judge(void)
{
    tnd_bottleneck_judge(&before, &after, &processes[0], &verdict);
}

static bool has(tnd_cause_t cause)
{
    for (uint32_t i = 0; i < verdict.fault_count; i++)
        if (verdict.faults[i].cause == cause)
            return true;
    return false;
}

static void works(uint32_t who, uint64_t since)
{
    pages[who].state = TND_STATE_WORKING;
    pages[who].since_ns = now_ns - since;
}

/*  The leader and the others wait for an actor that opens models. */
Test(slow_calls, models_that_are_opened_do_not_hang)
{
    for (uint32_t i = 0; i < 6; i++)
        waits(i, TND_WAIT_LEADER);
    works(FEED_C, 30 * second_ns);
    pages[FEED_C].opens = TND_OPENS_MODELS;
    judge();
    cr_assert_str_eq(verdict.sentence,
                     "fashion begins: host c gets ready, for 30 s so far; feed@c: "
                     "opening the models of its step");
    cr_assert_str_eq(fault(TND_CAUSE_OPENING)->actor, "feed@c");
    cr_assert_not(has(TND_CAUSE_HANGS));
    pages[FEED_C].opens = TND_OPENS_CHECKPOINT;
    judge();
    cr_assert_not_null(
        strstr(verdict.sentence, "loading the models of its step from a checkpoint"));
    pages[FEED_C].opens = TND_OPENS_NOTHING;
    judge();
    cr_assert(has(TND_CAUSE_HANGS), "%s", verdict.sentence);
}

Test(slow_calls, what_is_opened_for_less_than_a_second_is_not_named)
{
    works(FEED_C, second_ns - 1);
    pages[FEED_C].opens = TND_OPENS_MODELS;
    judge();
    cr_assert_not(has(TND_CAUSE_OPENING));
    works(FEED_C, second_ns);
    judge();
    cr_assert(has(TND_CAUSE_OPENING));
    pages[FEED_C].opens = TND_OPENING_COUNT; /* of a later version */
    judge();
    cr_assert_not_null(strstr(fault(TND_CAUSE_OPENING)->text, "feed@c: "));
}

/*  An actor whose calls take less than 20 ms is at work; its present call says nothing. */
Test(slow_calls, an_actor_of_short_calls_is_at_work)
{
    processes[1].count = 0;
    works(PREP, second_ns / 50 - 1);
    pages[PREP].begun_ns = now_ns - 50 * second_ns;
    judge();
    cr_assert_str_eq(verdict.sentence,
                     "feed@a on host a waits for batch.0 on host a, which waits for "
                     "prep.0 on host a, which is at work");
    cr_assert_str_eq(verdict.actor, "prep.0");
    cr_assert_eq(verdict.fault_count, 0);
    works(PREP, second_ns / 50);
    judge();
    cr_assert_not_null(
        strstr(verdict.sentence, "which has been inside one call of its work for 20 ms"));
}

/*  No actor works at the moment of the second look, but one did between the two. */
Test(slow_calls, actors_that_work_in_turns_are_named_by_their_share)
{
    processes[1].count = 0;
    for (uint32_t i = 0; i < 6; i++) {
        pages[i].begun_ns = now_ns - 60 * second_ns;
        pages[i].waiting_ns = now_ns - second_ns / 100;
    }
    looked();
    pages[PREP].cpu_ns = second_ns * 4 / 10;
    pages[READ].cpu_ns = second_ns * 1 / 10;
    judge();
    cr_assert_not_null(strstr(verdict.sentence,
                              ": they work in turns, most of all prep.0 on host a, 40 % of "
                              "the time"),
                       "%s", verdict.sentence);
    cr_assert_str_eq(verdict.limit.actor, "prep.0");
    cr_assert_eq(verdict.state, TND_RUN_STALLED);
    pages[PREP].cpu_ns = pages[READ].cpu_ns = second_ns * 4 / 100;
    judge();
    cr_assert_not_null(strstr(verdict.sentence, ": no actor was working at this moment; try again"),
                       "%s", verdict.sentence);
}

/*  Ten steps of 0.1 s each were fed, and rows are fed by the other feeder. */
static void steps_of(uint32_t who, tnd_device_state_t state, uint64_t since)
{
    device(who, state, 1);
    looked();
    pages[FEED_A].rows_out += 500;
    pages[who].blocks_out = 10;
    pages[who].devices[0].spent_ns[state] = second_ns;
    pages[who].devices[0].since_ns = now_ns - since;
    judge();
    cr_assert(verdict.flows);
}

Test(slow_calls, a_step_that_hangs_is_named_while_others_feed_rows)
{
    static const tnd_device_state_t states[] = {TND_DEVICE_STEP, TND_DEVICE_APPLY};
    for (unsigned i = 0; i < 2; i++) {
        steps_of(FEED_C, states[i], second_ns - 1);
        cr_assert_not(has(TND_CAUSE_HANGS));
        steps_of(FEED_C, states[i], second_ns);
        cr_assert_str_eq(fault(TND_CAUSE_HANGS)->text,
                         "step 57 of replica 1 on cpu:0, host c, has been running for 1.0 s");
        cr_assert_str_eq(fault(TND_CAUSE_HANGS)->actor, "feed@c");
        cr_assert_eq(verdict.state, TND_RUN_SLOW);
    }
    steps_of(FEED_C, TND_DEVICE_REDUCE, 9 * second_ns); /* waits for others */
    cr_assert_not(has(TND_CAUSE_HANGS));
}

Test(slow_calls, a_step_hangs_only_if_it_takes_ten_times_as_long_as_usual)
{
    steps_of(FEED_C, TND_DEVICE_STEP, 19 * second_ns);
    pages[FEED_C].devices[0].spent_ns[TND_DEVICE_STEP] = 20 * second_ns; /* 2 s each */
    judge();
    cr_assert_not(has(TND_CAUSE_HANGS));
    pages[FEED_C].devices[0].since_ns = now_ns - 20 * second_ns;
    judge();
    cr_assert(has(TND_CAUSE_HANGS));
    pages[FEED_C].blocks_out = 0; /* nothing is usual yet */
    judge();
    cr_assert_not(has(TND_CAUSE_HANGS));
}

Test(slow_calls, a_copy_that_hangs_is_named_while_steps_go_on)
{
    steps_of(FEED_C, TND_DEVICE_STEP, 0);
    tnd_device_page_t *device = &pages[FEED_C].devices[0];
    device->pending = TND_PENDING_COPY | 58 << 8;
    device->link_ns = second_ns; /* 0.1 s each */
    device->pending_since_ns = now_ns - second_ns + 1;
    judge();
    cr_assert_not(has(TND_CAUSE_HANGS));
    device->pending_since_ns--;
    judge();
    cr_assert_str_eq(fault(TND_CAUSE_HANGS)->text,
                     "the copy of step 58 to cpu:0, host c, has been under way for 1.0 s");
}

/*  While models are evaluated, the rate is that of the second chain. */
Test(slow_calls, the_chain_that_is_fed_is_said_if_it_is_not_the_first)
{
    static tnd_run_page_t page;
    page = (tnd_run_page_t){.state = 5, .chain_count = 2, .chains = {"feed", "test"}};
    processes[0].record.page = &page;
    looked();
    pages[FEED_A].rows_out = 500;
    judge();
    cr_assert_str_eq(verdict.sentence, "fashion flows, 500 rows/s");
    page.chain = 1;
    judge();
    cr_assert_str_eq(verdict.sentence, "fashion flows, 500 rows/s in test, while feed rests");
    page.chain = 2; /* which a damaged page may have */
    judge();
    cr_assert_null(strstr(verdict.sentence, "rests"));
}

/*  Between its work it answers messages, which takes long only if it hangs, or has no processor. */
Test(slow_calls, an_actor_that_answers_no_message_hangs)
{
    processes[1].count = 0;
    works(PREP, second_ns - 1);
    pages[PREP].state = TND_STATE_RUNNING;
    judge();
    cr_assert_not(has(TND_CAUSE_HANGS));
    works(PREP, second_ns);
    pages[PREP].state = TND_STATE_RUNNING;
    judge();
    cr_assert_str_eq(fault(TND_CAUSE_HANGS)->text,
                     "prep.0 on host a has been busy for 1.0 s; none has ended before");
}

/*  Those that go on wait for one another, because of one that was stopped. */
Test(slow_calls, a_ring_of_waits_leads_to_a_host_that_is_stopped)
{
    for (uint32_t i = 0; i < 6; i++)
        pages[i].waiting_ns = now_ns - 2 * second_ns;
    pages[MEAN].peer_count = 0; /* no way leads to it */
    pages[FEED_A].peer_count = pages[FEED_C].peer_count = 1;
    processes[1].stopped = true;
    processes[1].last_ns = now_ns - 2 * second_ns;
    judge();
    cr_assert_not_null(strstr(verdict.sentence,
                              "; meanwhile host c (feed@c): process 13 has been stopped for 2.0 s"),
                       "%s", verdict.sentence);
    cr_assert_str_eq(verdict.host, "c");
    cr_assert_str_eq(verdict.actor, "feed@c");
    cr_assert_eq(verdict.process, 13);
}

/*  The process of host c runs, but the leader, on host a, does not hear it. */
Test(slow_calls, a_host_that_runs_but_is_cut_off_is_named)
{
    static tnd_run_page_t page;
    tnd_pages_shape_t shape = {.actors = 6, .hosts = 2};
    void *memory = calloc(1, tnd_run_record_bytes(&shape));
    page = (tnd_run_page_t){.state = 5};
    processes[0].record = tnd_run_record_at(memory, &shape);
    processes[0].record.page = &page;
    tnd_host_record_t *host = &processes[0].record.hosts[1];
    strcpy(host->name, "c");
    strcpy(host->address, "10.0.0.3");
    host->presence = TND_PRESENCE_AWAY;
    host->since_ns = now_ns - second_ns + 1;
    judge();
    cr_assert_not(has(TND_CAUSE_AWAY), "it may be back in a moment");
    host->since_ns--;
    judge();
    cr_assert_str_eq(fault(TND_CAUSE_AWAY)->host, "c");
    cr_assert_not_null(strstr(fault(TND_CAUSE_AWAY)->text, "at 10.0.0.3 has been away for 1.0 s"));
    processes[1].stopped = true; /* which says more */
    judge();
    cr_assert_not(has(TND_CAUSE_AWAY));
    free(memory);
}

/*  If a connection was lost, actors that wait for one another are not a bug. */
Test(slow_calls, a_ring_of_waits_leads_to_a_connection_that_was_lost)
{
    static tnd_run_page_t page;
    tnd_pages_shape_t shape = {.actors = 6, .hosts = 2, .edges = 1};
    void *memory = calloc(1, tnd_run_record_bytes(&shape));
    page = (tnd_run_page_t){.state = 5};
    processes[1].count = 0;
    processes[0].record = tnd_run_record_at(memory, &shape);
    processes[0].record.page = &page;
    tnd_run_record_t *record = &processes[0].record;
    strcpy(record->hosts[0].name, "a");
    strcpy(record->hosts[1].name, "c");
    strcpy(record->instances[PREP].name, "prep.0");
    strcpy(record->instances[BATCH].name, "batch.0");
    record->instances[BATCH].host = 1;
    record->edges[0] = (tnd_edge_record_t){.from = PREP, .to = BATCH};
    judge();
    cr_assert_eq(verdict.state, TND_RUN_CYCLE, "it was never there");
    record->edges[0].ends[1].lost = 1;
    judge();
    cr_assert_eq(verdict.state, TND_RUN_STALLED, "%s", verdict.sentence);
    cr_assert_not_null(strstr(verdict.sentence,
                              "; the connection from prep.0 on host a to batch.0 on host c was "
                              "lost, and is not there again"));
    record->edges[0].ends[1].up_ns = now_ns;
    judge();
    cr_assert_eq(verdict.state, TND_RUN_CYCLE, "it is there again");
    free(memory);
}
