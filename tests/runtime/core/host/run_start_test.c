/*  Covers runtime/core/host/run_start.h: three hosts, of which the first reads and the last is spare. */
#include "runtime/core/host/run_start.h"

#include <criterion/criterion.h>

enum { READS, FEEDS, SPARE, HOSTS };

static tnd_run_start_host_t hosts[HOSTS];

static tnd_run_start_t starting(void)
{
    hosts[READS] = (tnd_run_start_host_t){.reads = true};
    hosts[FEEDS] = (tnd_run_start_host_t){.final = true};
    hosts[SPARE] = (tnd_run_start_host_t){.spare = true};
    return (tnd_run_start_t){.hosts = hosts, .host_count = HOSTS};
}

static tnd_run_start_t begun(void)
{
    tnd_run_start_t self = starting();
    cr_assert_eq(tnd_run_start_open(&self, READS), TND_AUDIENCE_ALL);
    cr_assert_eq(tnd_run_start_listen(&self, READS, true), TND_AUDIENCE_NONE);
    cr_assert_eq(tnd_run_start_listen(&self, FEEDS, true), TND_AUDIENCE_ALL);
    cr_assert_eq(tnd_run_start_ready(&self, READS), TND_COUNT_ACTORS);
    cr_assert_eq(tnd_run_start_ready(&self, FEEDS), TND_COUNT_ACTORS);
    return self;
}

static void greets(tnd_run_start_t *self, uint32_t host, bool streams, bool table,
                   tnd_count_t count)
{
    tnd_greeting_t greeting = tnd_run_start_greet(self, host);
    cr_assert_eq(greeting.streams, streams);
    cr_assert_eq(greeting.table, table);
    cr_assert_eq(greeting.count, count);
}

Test(run_start, streams_are_told_when_all_data_is_known)
{
    tnd_run_start_t self = starting();
    hosts[FEEDS].reads = true;
    cr_assert_eq(tnd_run_start_open(&self, READS), TND_AUDIENCE_NONE);
    greets(&self, READS, false, false, TND_COUNT_HOST);
    cr_assert_not(self.opened);
    cr_assert_eq(tnd_run_start_open(&self, FEEDS), TND_AUDIENCE_ALL);
    cr_assert_eq(tnd_run_start_open(&self, FEEDS), TND_AUDIENCE_HOST, "it says it again");
    greets(&self, SPARE, true, false, TND_COUNT_HOST);
}

Test(run_start, a_host_opens_its_data_until_it_has_said_so)
{
    tnd_run_start_t self = starting();
    cr_assert(tnd_run_start_is_opening(&self, READS));
    cr_assert_not(tnd_run_start_is_opening(&self, FEEDS), "it has none");
    (void)tnd_run_start_open(&self, READS);
    cr_assert_not(tnd_run_start_is_opening(&self, READS));
    tnd_run_start_process(&self, READS);
    cr_assert(tnd_run_start_is_opening(&self, READS));
}

Test(run_start, the_run_begins_when_all_but_spare_hosts_listen)
{
    tnd_run_start_t self = starting();
    cr_assert(tnd_run_start_awaits(&self, FEEDS));
    cr_assert_not(tnd_run_start_awaits(&self, SPARE));
    cr_assert_eq(tnd_run_start_listen(&self, SPARE, true), TND_AUDIENCE_NONE);
    cr_assert_eq(tnd_run_start_listen(&self, FEEDS, true), TND_AUDIENCE_NONE);
    greets(&self, FEEDS, false, false, TND_COUNT_HOST);
    cr_assert_eq(tnd_run_start_listen(&self, READS, true), TND_AUDIENCE_ALL);
    cr_assert(self.begun);
    cr_assert_not(tnd_run_start_awaits(&self, FEEDS));
}

Test(run_start, a_process_that_is_replaced_before_the_begin_is_waited_for_again)
{
    tnd_run_start_t self = starting();
    (void)tnd_run_start_listen(&self, READS, true);
    tnd_run_start_process(&self, READS);
    cr_assert_eq(tnd_run_start_listen(&self, FEEDS, true), TND_AUDIENCE_NONE);
    cr_assert_not(self.begun);
    cr_assert_eq(tnd_run_start_listen(&self, READS, true), TND_AUDIENCE_ALL);
}

Test(run_start, hosts_are_told_of_later_changes_only)
{
    tnd_run_start_t self = begun();
    cr_assert_eq(tnd_run_start_listen(&self, READS, false), TND_AUDIENCE_NONE);
    cr_assert_eq(tnd_run_start_listen(&self, READS, true), TND_AUDIENCE_ALL);
    cr_assert_eq(tnd_run_start_listen(&self, SPARE, false), TND_AUDIENCE_ALL, "it is its first");
}

Test(run_start, a_host_is_counted_with_its_actors_once)
{
    tnd_run_start_t self = begun();
    cr_assert_eq(tnd_run_start_ready(&self, READS), TND_COUNT_NOT);
    greets(&self, READS, true, true, TND_COUNT_HOST); /* a restart of an actor may be asked for */
    tnd_run_start_lose(&self, READS);
    greets(&self, READS, true, true, TND_COUNT_ACTORS);
    greets(&self, READS, true, true, TND_COUNT_HOST);
}

Test(run_start, a_later_process_is_counted_when_it_is_ready)
{
    tnd_run_start_t self = begun();
    tnd_run_start_process(&self, READS);
    greets(&self, READS, false, false, TND_COUNT_NOT);
    cr_assert_eq(tnd_run_start_open(&self, READS), TND_AUDIENCE_HOST);
    cr_assert_eq(tnd_run_start_listen(&self, READS, true), TND_AUDIENCE_ALL);
    cr_assert_eq(tnd_run_start_ready(&self, READS), TND_COUNT_ACTORS);
}

Test(run_start, each_chain_counts_the_hosts_that_are_ready)
{
    tnd_run_start_t self = begun();
    tnd_run_start_process(&self, READS);
    tnd_run_start_next_chain(&self);
    cr_assert_eq(tnd_run_start_enter(&self, READS), TND_COUNT_NOT);
    cr_assert_eq(tnd_run_start_enter(&self, FEEDS), TND_COUNT_ACTORS);
    cr_assert_eq(tnd_run_start_ready(&self, READS), TND_COUNT_ACTORS);
}

Test(run_start, a_host_that_is_not_started_again_ends_the_start_only)
{
    tnd_run_start_t self = starting();
    cr_assert(tnd_run_start_ends_with(&self, FEEDS));
    cr_assert_not(tnd_run_start_ends_with(&self, READS));
    self = begun();
    hosts[FEEDS].final = true;
    cr_assert_not(tnd_run_start_ends_with(&self, FEEDS), "then leader.h decides");
}

Test(run_start, only_a_late_host_may_stay_out)
{
    tnd_run_start_t self = starting();
    tnd_run_start_process(&self, SPARE);
    cr_assert_not(tnd_run_start_spares(&self, SPARE, true));
    self = begun();
    tnd_run_start_process(&self, SPARE);
    cr_assert(tnd_run_start_spares(&self, SPARE, false), "it is not ready");
    (void)tnd_run_start_ready(&self, SPARE);
    cr_assert_not(tnd_run_start_spares(&self, SPARE, false));
    cr_assert(tnd_run_start_spares(&self, SPARE, true));
}
