/*  Covers runtime/host/leader.h: what hosts are told when they come, go and come back, when those
 *  that are away are lost, the places of a range, and which bad records count.  The session itself
 *  is tests/runtime/core/leader_test.c. */
#include "runtime/host/leader.h"

#include <stdlib.h>
#include <string.h>

#include <criterion/criterion.h>

#include "runtime/host/leader_internal.h"
#include "runtime/plan/graph.h"

enum { TOLD_MOST = 256 };

static const uint64_t second_ns = 1000000000;

/*  What was sent: to which host, what, and the text that it carried. */
static struct {
    tnd_msg_kind_t kind;
    tnd_actor_id_t to;
    char text[1024];
} told[TOLD_MOST];
static uint32_t told_count;

static tnd_graph_t *graph;
static tnd_plan_t whole;
static tnd_leader_t *leader;

static void send(void *context, const tnd_msg_t *msg, tnd_carry_t carry)
{
    (void)context;
    cr_assert_lt(told_count, TOLD_MOST);
    told[told_count].kind = msg->kind;
    told[told_count].to = msg->to;
    told[told_count].text[0] = '\0';
    if (carry == TND_CARRY_BUFFER && msg->note.payload != NULL)
        snprintf(told[told_count].text, sizeof told[0].text, "%.*s",
                 (int)tnd_buffer_size(msg->note.payload),
                 (const char *)tnd_buffer_data(msg->note.payload));
    told_count++;
    tnd_msg_t sent = *msg;
    tnd_msg_drop(&sent, carry);
}

/*  How the run ended; "": it has not. */
static char ended[640];

static void end(void *context, tnd_outcome_t outcome, const char *why)
{
    (void)context;
    snprintf(ended, sizeof ended, "%d: %s", (int)outcome, why);
}

static void wake(void *context)
{
    (void)context;
}

static void lead(const char *graph_file, const char *overlay)
{
    const char *files[] = {graph_file, overlay};
    graph = tnd_graph_load(files, 2);
    tnd_graph_purpose(graph, &(tnd_graph_purpose_t){.fallback_data = "/data"});
    cr_assert_eq(tnd_graph_check(graph), TND_OK, "%s", tnd_graph_errors(graph));
    whole = tnd_placement_whole(tnd_graph_plan(graph));
    tnd_host_config_t config = {.plan = &whole, .steps_max = TND_UNKNOWN};
    tnd_leader_output_t output = {.send = send, .end = end, .wake = wake};
    leader = tnd_leader_new(&config, &output, 0);
    ended[0] = '\0';
}

static void leave(void)
{
    tnd_leader_destroy(&leader);
    tnd_graph_destroy(&graph);
}

TestSuite(leader, .fini = leave);

/*  The report of `host` about the endpoint of one of its actors. */
static void listens(uint32_t host, uint32_t instance, const char *where)
{
    tnd_msg_t msg = {.kind = TND_MSG_ENDPOINTS, .from = tnd_host_id(host), .to = TND_LEADER};
    msg.note.payload = tnd_text_payload_of("%u 0 %s\n", instance, where);
    tnd_leader_message(leader, &msg, 0);
}

/*  The last table that was sent to a host since `from`; NULL: none. */
static const char *table_of(uint32_t host, uint32_t from)
{
    const char *found = NULL;
    for (uint32_t i = from; i < told_count; i++)
        if (told[i].kind == TND_MSG_TABLE && told[i].to == tnd_host_id(host))
            found = told[i].text;
    return found;
}

static uint32_t instance_on(uint32_t host)
{
    uint32_t i = 0;
    while (whole.instances[i].host != host)
        i++;
    return i;
}

Test(leader, a_host_that_returns_gets_all_endpoints_again)
{
    char line[3][64];
    lead("tests/topology/good/fashion.yaml", "tests/topology/good/three.yaml");
    for (uint32_t h = 0; h < 3; h++)
        tnd_leader_host_up(leader, h, 10 + h, 0);
    for (uint32_t h = 0; h < 3; h++) {
        cr_assert_null(table_of(0, 0), "not before all have said where they listen");
        snprintf(line[h], sizeof line[h], "%u 0 tcp://127.0.0.1:%u", instance_on(h), 7200 + h);
        listens(h, instance_on(h), strchr(line[h], 't'));
    }
    for (uint32_t h = 0; h < 3; h++)
        for (uint32_t of = 0; of < 3; of++)
            cr_assert_not_null(strstr(table_of(h, 0), line[of]), "%s", table_of(h, 0));

    /* Another one moves while the connection of this one is cut. */
    uint32_t before = told_count;
    tnd_leader_host_away(leader, 1, TND_LOSS_ENDED, "the connection ended", second_ns);
    listens(2, instance_on(2), "tcp://127.0.0.1:7999");
    cr_assert_not_null(table_of(0, before));
    before = told_count;
    tnd_leader_host_up(leader, 1, 11, 2 * second_ns);
    cr_assert_not_null(table_of(1, before), "it was not told again");
    cr_assert_not_null(strstr(table_of(1, before), "tcp://127.0.0.1:7999"), "%s",
                       table_of(1, before));
    cr_assert_null(table_of(0, before), "a host that was connected is not told twice");
}

static void is_ready(uint32_t host)
{
    tnd_msg_t msg = {.kind = TND_MSG_READY, .from = tnd_host_id(host), .to = TND_LEADER};
    tnd_leader_message(leader, &msg, 0);
}

/*  How often a host was told to restart an actor on request since `from`. */
static uint32_t restarts_of(uint32_t host, uint32_t from)
{
    uint32_t count = 0;
    for (uint32_t i = from; i < told_count; i++)
        count += told[i].kind == TND_MSG_RESTART && told[i].to == tnd_host_id(host) &&
                 strcmp(told[i].text, "asked") == 0;
    return count;
}

Test(leader, a_restart_that_was_asked_for_is_asked_for_again_if_it_may_be_lost)
{
    tnd_error_t error;
    lead("tests/topology/good/fashion.yaml", "tests/topology/good/three.yaml");
    for (uint32_t h = 0; h < 3; h++)
        tnd_leader_host_up(leader, h, 10 + h, 0);
    for (uint32_t h = 0; h < 3; h++)
        listens(h, instance_on(h), "tcp://127.0.0.1:7200");
    for (uint32_t h = 0; h < 3; h++)
        is_ready(h);
    (void)tnd_leader_work(leader, 0);
    uint32_t id = 0;
    while (whole.instances[id].host == 0 || whole.instances[id].kind->role == TND_ROLE_FEEDER)
        id++;
    uint32_t host = whole.instances[id].host;
    cr_assert_eq(tnd_leader_core_ask_restart(tnd_leader_session(leader), id, 0, &error), TND_OK,
                 "%s", error.text);
    (void)tnd_leader_work(leader, 0);
    cr_assert_eq(restarts_of(host, 0), 1);

    uint32_t before = told_count;
    tnd_leader_host_away(leader, host, TND_LOSS_ENDED, "the connection ended", second_ns);
    tnd_leader_host_up(leader, host, 10 + host, 2 * second_ns);
    (void)tnd_leader_work(leader, 2 * second_ns);
    cr_assert_eq(restarts_of(host, before), 1);
}

/*  Host 0, which reads, reports that it opens its data. */
static void opens(uint64_t reports, const char *line, uint64_t now)
{
    tnd_msg_t msg = {.kind = TND_MSG_OPENING, .from = tnd_host_id(0), .to = TND_LEADER};
    msg.note.number = reports;
    msg.note.payload = tnd_text_payload_of("%s", line);
    tnd_leader_message(leader, &msg, now);
    (void)tnd_leader_work(leader, now);
}

Test(leader, a_host_may_open_its_data_as_long_as_it_reports_progress)
{
    uint64_t now = 0;
    lead("tests/topology/good/fashion.yaml", "tests/topology/good/three.yaml");
    for (uint32_t h = 0; h < 3; h++)
        tnd_leader_host_up(leader, h, 10 + h, 0);
    for (uint64_t i = 0; i < 10; i++) {
        opens(i, "read indexing files 3 16 0 0 data/x.rec\n", now);
        now += 60 * second_ns;
    }
    /* Its control connection is lost for a moment, and it repeats its report. */
    tnd_leader_host_away(leader, 0, TND_LOSS_ENDED, "the connection ended", now);
    tnd_leader_host_up(leader, 0, 10, now);
    opens(9, "read indexing files 3 16 0 0 data/y.rec\n", now);
    cr_assert_str_eq(ended, "");
    (void)tnd_leader_work(leader, now + 60 * second_ns);
    cr_assert(strstr(ended, "has reported no progress for more than 60000 ms (hung_after) while it "
                            "opens data/y.rec (3 of 16 files) for read"),
              "%s", ended);
}

Test(leader, a_report_of_progress_that_is_not_one_names_no_file)
{
    lead("tests/topology/good/fashion.yaml", "tests/topology/good/three.yaml");
    for (uint32_t h = 0; h < 3; h++)
        tnd_leader_host_up(leader, h, 10 + h, 0);
    opens(1, "read indexing files many\n", 0);
    (void)tnd_leader_work(leader, 3600 * second_ns);
    cr_assert(strstr(ended, "while it opens its data"), "%s", ended);
}

/*  Host 2 has replicas, host 1 has none; both processes run here, or are not known. */
static void runs(bool known)
{
    lead("tests/topology/good/fashion.yaml", "tests/topology/good/three.yaml");
    for (uint32_t h = 0; h < 3; h++) {
        tnd_msg_t ready = {.kind = TND_MSG_READY, .from = tnd_host_id(h), .to = TND_LEADER};
        tnd_leader_host_up(leader, h, 10 + h, 0);
        listens(h, instance_on(h), "tcp://127.0.0.1:7200");
        if (known)
            leader->hosts[h].process = tnd_process_own();
        tnd_leader_message(leader, &ready, 0);
    }
    (void)tnd_leader_work(leader, 0);
    cr_assert_str_eq(ended, "");
}

/*  Whether the leader, after a check now, counts that host as lost. */
static bool loses(uint32_t host, uint64_t now)
{
    (void)tnd_leader_work(leader, now);
    return ended[0] != '\0' || leader->run.presences[host].lost_ns != 0;
}

Test(leader, a_host_that_the_run_ends_with_is_lost_soon_only_if_its_process_is_dead)
{
    runs(false);
    tnd_leader_host_away(leader, 2, TND_LOSS_ENDED, "the connection ended", second_ns);
    cr_assert_not(loses(2, 10 * second_ns), "%s", ended);
    cr_assert(loses(2, 11 * second_ns));
    leave();

    runs(true);
    tnd_leader_host_away(leader, 2, TND_LOSS_ENDED, "the connection ended", second_ns);
    cr_assert_not(loses(2, 4 * second_ns), "it lives: %s", ended);
    leader->hosts[2].process.start--;
    cr_assert(loses(2, 5 * second_ns));
    cr_assert_not_null(strstr(ended, "was lost with the replicas that it carried"), "%s", ended);
}

Test(leader, a_host_that_the_run_can_do_without_is_lost_soon_unless_its_process_lives)
{
    runs(false);
    tnd_leader_host_away(leader, 1, TND_LOSS_ENDED, "the connection ended", second_ns);
    cr_assert_not(loses(1, 2 * second_ns));
    cr_assert(loses(1, 3 * second_ns));
    cr_assert_str_eq(ended, "");
    leave();

    runs(true);
    tnd_leader_host_away(leader, 1, TND_LOSS_ENDED, "the connection ended", second_ns);
    cr_assert_not(loses(1, 10 * second_ns));
    cr_assert(loses(1, 11 * second_ns));
}

Test(leader, no_host_is_awaited_whose_statistics_have_come)
{
    lead("tests/topology/good/fashion.yaml", "tests/topology/good/three.yaml");
    for (uint32_t h = 0; h < 3; h++)
        tnd_leader_host_up(leader, h, 10 + h, 0);
    tnd_msg_t msg = {.kind = TND_MSG_STATISTICS, .from = tnd_host_id(1), .to = TND_LEADER};
    msg.note.payload = tnd_text_payload_of("prep preprocessor rows 5\n");
    cr_assert(tnd_leader_awaits(leader, 1));
    tnd_leader_message(leader, &msg, 0);
    cr_assert_not(tnd_leader_awaits(leader, 1), "they came while its own actors still ended");
    cr_assert(tnd_leader_awaits(leader, 2));
    /* Another process takes its place. */
    tnd_leader_host_away(leader, 1, TND_LOSS_ENDED, "its process ended", second_ns);
    tnd_leader_host_up(leader, 1, 20, 2 * second_ns);
    cr_assert(tnd_leader_awaits(leader, 1));
}

Test(leader, a_free_host_is_reserved_for_one_process_for_ten_seconds)
{
    char why[256];
    lead("tests/topology/good/lanes_prep.yaml", "tests/topology/good/pool.yaml");
    uint32_t first = tnd_leader_free_host(leader, "pool", second_ns, why, sizeof why);
    uint32_t second = tnd_leader_free_host(leader, "pool", second_ns, why, sizeof why);
    cr_assert(first < whole.host_count && second < whole.host_count, "%s", why);
    cr_assert_neq(first, second, "two got the same place");
    uint32_t third = first;
    for (uint32_t more = 2; third != UINT32_MAX && more <= whole.host_count; more++)
        third = tnd_leader_free_host(leader, "pool", second_ns, why, sizeof why);
    cr_assert_eq(third, UINT32_MAX);
    cr_assert_not_null(strstr(why, "are in use"), "%s", why);
    /* Who asked for the first has not come. */
    cr_assert_eq(tnd_leader_free_host(leader, "pool", 12 * second_ns, why, sizeof why), first);
}

/*  Lane 0 set two records aside in `step`. */
static void says_bad(chain_t *chain, uint64_t step)
{
    tnd_msg_t msg = {.kind = TND_MSG_WHY};
    msg.bad.position = step;
    tnd_buffer_t *note = tnd_text_payload_of("2 prep\nrecord %llu\n", (unsigned long long)step);
    msg.bad.payload = note;
    tnd_leader_take_reasons(chain, &msg);
    tnd_buffer_drop(&note);
}

static uint64_t counted(const chain_t *chain)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < chain->reason_count; i++)
        if (chain->reasons[i].step == COUNTED)
            sum += chain->reasons[i].reason.count;
    return sum;
}

Test(leader, bad_records_count_once_their_step_is_booked)
{
    chain_t chain = {.reason_count = 0};
    for (uint64_t step = 4; step < 8; step++)
        says_bad(&chain, step);
    says_bad(&chain, 6); /* again, after a rewind */
    tnd_leader_count_reasons(&chain, 4);
    cr_assert_eq(counted(&chain), 0);
    tnd_leader_count_reasons(&chain, 5);
    cr_assert_eq(counted(&chain), 2);
    tnd_leader_count_reasons(&chain, 7);
    cr_assert_eq(counted(&chain), 6);
    tnd_leader_count_reasons(&chain, COUNTED);
    cr_assert_eq(counted(&chain), 8);
    free(chain.reasons);
}
