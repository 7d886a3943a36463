/*  Covers runtime/plan/graph.h and placement.h: composing by calls, overrides, the fingerprint, and
 *  the placement of the plans in tests/topology/good. */
#include "runtime/core/session/roster.h"
#include "runtime/plan/graph.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <criterion/criterion.h>

#include "runtime/base/limits.h"
#include "runtime/option/option_print.h"

static tnd_graph_t *compose(void)
{
    tnd_graph_t *graph = tnd_graph_new("fashion", 7);
    tnd_graph_add(graph, "read", "reader",
                  "source: {idx: {image: a.gz, label: b.gz}}, shuffle: global, epochs: 5");
    tnd_graph_add(graph, "prep", "preprocessor", "ops: [{scale: {column: image, to: f32}}]");
    tnd_graph_add(graph, "batch", "batcher", "size: 128, replicas: 2");
    tnd_graph_add(graph, "feed", "feeder", "depth: 2");
    tnd_graph_add(graph, "mean", "reducer", "");
    tnd_graph_link(graph, "read -> prep -> batch -> feed <-> mean");
    return graph;
}

static tnd_graph_t *load(const char *base, const char *overlay)
{
    const char *files[] = {base, overlay};
    tnd_graph_t *graph = tnd_graph_load(files, overlay != NULL ? 2 : 1);
    tnd_graph_purpose(graph, &(tnd_graph_purpose_t){.fallback_data = "/env"});
    return graph;
}

static const tnd_plan_t *plan_of(tnd_graph_t *graph)
{
    cr_assert_eq(tnd_graph_check(graph), TND_OK, "%s", tnd_graph_errors(graph));
    return tnd_graph_plan(graph);
}

static const tnd_instance_t *find(const tnd_plan_t *plan, const char *name)
{
    const tnd_instance_t *found = NULL;
    for (uint32_t i = 0; i < plan->instance_count; i++)
        if (strcmp(plan->instances[i].name, name) == 0) {
            cr_assert_null(found, "two instances are called %s", name);
            found = &plan->instances[i];
        }
    cr_assert_not_null(found, "no instance is called %s", name);
    return found;
}

static const tnd_edge_t *edge(const tnd_plan_t *plan, const char *from, const char *to)
{
    for (uint32_t i = 0; i < plan->edge_count; i++)
        if (strcmp(plan->instances[plan->edges[i].from].name, from) == 0 &&
            strcmp(plan->instances[plan->edges[i].to].name, to) == 0)
            return &plan->edges[i];
    return NULL;
}

static uint64_t print_of(tnd_graph_t *graph)
{
    uint64_t print = plan_of(graph)->fingerprint[0];
    tnd_graph_destroy(&graph);
    return print;
}

Test(graph, a_graph_is_composed_call_by_call)
{
    tnd_graph_t *graph = compose();

    const tnd_plan_t *plan = plan_of(graph);

    cr_expect_str_eq(plan->name, "fashion");
    cr_expect_eq(plan->seed, 7);
    cr_expect_eq(plan->host_count, 1);
    cr_expect_str_eq(plan->hosts[0].name, "local");
    cr_expect_eq(plan->instance_count, 5);
    cr_expect_eq(plan->edge_count, 4);
    cr_expect_eq(plan->chain_count, 1);
    cr_expect_eq(plan->chains[0].replicas, 2);
    cr_expect_eq(plan->chains[0].carriers[1].instance, 3);
    cr_expect_str_eq(plan->hosts[0].devices[0], "cpu:0");
    tnd_graph_destroy(&graph);
}

Test(graph, the_connecting_side_follows_from_the_kinds)
{
    tnd_graph_t *graph = compose();
    tnd_graph_link(graph, "feed -> mean");
    cr_expect_eq(tnd_graph_check(graph), TND_FAILED);
    tnd_graph_destroy(&graph);

    graph = compose();
    const tnd_plan_t *plan = plan_of(graph);
    cr_expect_not(edge(plan, "read.0", "prep.0")->from_connects);
    cr_expect(edge(plan, "prep.0", "batch.0")->from_connects);
    cr_expect_not(edge(plan, "batch.0", "feed")->from_connects);
    cr_expect(edge(plan, "feed", "mean")->from_connects);
    tnd_graph_destroy(&graph);
}

Test(graph, only_several_devices_that_reduce_wait_for_each_other)
{
    tnd_graph_t *graph = compose();
    cr_expect_not(tnd_placement_reduces(plan_of(graph)), "one device");
    tnd_graph_destroy(&graph);

    graph = compose();
    tnd_graph_set(graph, "feed.devices", "[cpu:0, cpu:1]");
    cr_expect(tnd_placement_reduces(plan_of(graph)));
    tnd_graph_destroy(&graph);
}

Test(graph, a_value_is_set_by_its_path)
{
    tnd_graph_t *graph = compose();
    tnd_graph_set(graph, "batch.replicas", "3");
    tnd_graph_set(graph, "lanes", "3");
    tnd_graph_set(graph, "feed.devices", "[cpu:0, cpu:1]");

    const tnd_plan_t *plan = plan_of(graph);

    cr_expect_eq(plan->chains[0].replicas, 3);
    cr_expect_eq(plan->lanes, 3);
    cr_expect_eq(plan->chains[0].carriers[0].device, 0);
    cr_expect_eq(plan->chains[0].carriers[1].device, 0);
    cr_expect_eq(plan->chains[0].carriers[2].device, 1);
    cr_expect_eq(find(plan, "batch.2")->lane, 2);
    tnd_graph_destroy(&graph);
}

Test(graph, what_is_set_replaces_the_whole_value)
{
    tnd_graph_t *graph = compose();
    tnd_graph_set(graph, "read.source", "pipe");
    tnd_graph_set(graph, "read.shuffle", "none");
    tnd_graph_set(graph, "read.epochs", "1");
    tnd_graph_set(graph, "read.source", "{idx: {}}");
    tnd_graph_set(graph, "read.source.idx.label", "c.gz");
    tnd_graph_set(graph, "name", "first");
    tnd_graph_set(graph, "name", "second");

    const tnd_plan_t *plan = plan_of(graph);

    const tnd_instance_t *read = find(plan, "read.0");
    const tnd_part_t *source =
        tnd_options_field(&read->kind->table, read->options, "source", TND_OPTION_PART);
    const tnd_pairs_t *columns = source->options;
    cr_expect_eq(columns->count, 1);
    cr_expect_str_eq(columns->items[0].text, "c.gz");
    cr_expect_str_eq(plan->name, "second");
    tnd_graph_destroy(&graph);
}

Test(graph, a_bad_override_is_shown_where_it_was_written)
{
    tnd_graph_t *graph = compose();
    tnd_graph_set(graph, "batch.size", "12x");
    tnd_graph_set(graph, "bath.size", "12");
    tnd_graph_set(graph, "batch.sise", "12");
    tnd_graph_set(graph, "batch.", "12");

    cr_expect_eq(tnd_graph_check(graph), TND_FAILED);

    const char *errors = tnd_graph_errors(graph);
    cr_expect(strstr(errors, "--set:1:12: error[T014]") != NULL, "%s", errors);
    cr_expect(strstr(errors, "batch.size=12x\n      |            ^^^") != NULL, "%s", errors);
    cr_expect(strstr(errors, "did you mean `batch`?") != NULL);
    cr_expect(strstr(errors, "did you mean `size`?") != NULL);
    cr_expect(strstr(errors, "4 errors") != NULL, "%s", errors);
    tnd_graph_destroy(&graph);
}

Test(graph, tuned_workers_are_one_for_each_core_that_cpu_allows)
{
    double cores = tnd_cores_allowed();
    for (int part = 1; part <= 2; part++) {
        tnd_graph_t *graph = compose();
        tnd_graph_set(graph, "prep.workers", "auto");
        tnd_graph_set(graph, "cpu", part == 1 ? "0.01" : "1");
        const tnd_plan_t *plan = plan_of(graph);
        uint32_t expected = cores >= 1 && part == 2 ? (uint32_t)cores : 1, found = 0;
        for (uint32_t i = 0; i < plan->instance_count; i++) {
            if (strcmp(plan->instances[i].actor, "prep") != 0)
                continue;
            cr_expect_eq(plan->instances[i].number, found++);
            cr_expect_eq(plan->instances[i].tuned, expected > 1);
        }
        cr_expect_eq(found, expected < 1024 ? expected : 1024);
        tnd_graph_destroy(&graph);
    }
}

Test(graph, writing_a_default_leaves_the_fingerprint_and_a_change_of_the_graph_does_not)
{
    uint64_t print = print_of(compose());
    tnd_graph_t *graph = compose();
    tnd_graph_set(graph, "batch.split", "rebatch_v2");
    tnd_graph_set(graph, "read.shard", "index");
    tnd_graph_set(graph, "prep.workers", "6");
    tnd_graph_set(graph, "batch.block", "100 rows");
    tnd_graph_set(graph, "feed.devices", "[cpu:0, cpu:1]");
    tnd_graph_set(graph, "name", "other");
    tnd_graph_set(graph, "dead_after", "5s");
    cr_expect_eq(print_of(graph), print);

    static const char *const changes[][2] = {
        {"seed", "8"},        {"lanes", "2"},
        {"batch.size", "64"}, {"batch.replicas", "1"},
        {"read.epochs", "4"}, {"feed.step", "{plugin: mlp}"},
        {"prep.ops", "[]"},   {"links", "[read -> batch -> feed <-> mean]"}};
    for (size_t i = 0; i + 1 < sizeof changes / sizeof changes[0]; i++) {
        graph = compose();
        tnd_graph_set(graph, changes[i][0], changes[i][1]);
        cr_expect_neq(print_of(graph), print, "%s does not count", changes[i][0]);
    }
}

Test(graph, the_same_graph_on_three_hosts_has_the_same_fingerprint)
{
    uint64_t print = print_of(load("tests/topology/good/fashion.yaml", NULL));

    cr_expect_eq(
        print_of(load("tests/topology/good/fashion.yaml", "tests/topology/good/cluster.yaml")),
        print);
    cr_expect_eq(
        print_of(load("tests/topology/good/fashion.yaml", "tests/topology/good/three.yaml")),
        print);
}

Test(graph, hosts_of_a_cluster_run_the_actors_that_they_list)
{
    tnd_graph_t *graph =
        load("tests/topology/good/fashion.yaml", "tests/topology/good/cluster.yaml");

    const tnd_plan_t *plan = plan_of(graph);

    cr_assert_eq(plan->host_count, 3);
    cr_expect_str_eq(plan->hosts[0].address, "10.0.0.1");
    cr_expect_eq(plan->hosts[0].port, 7100);
    cr_expect_eq(plan->hosts[1].port, 0);
    cr_expect_str_eq(plan->hosts[0].data, "/local");
    cr_expect_str_eq(plan->hosts[1].data, "/env");
    cr_expect_eq(plan->hosts[2].device_count, 2);
    cr_expect_eq(plan->instance_count, 10);
    cr_expect_eq(find(plan, "prep.5")->host, 1);
    cr_expect_eq(find(plan, "feed")->replica_count, 4);
    cr_expect_eq(edge(plan, "read.0", "prep.5")->transport, TND_TRANSPORT_TCP);
    cr_expect_eq(edge(plan, "feed", "mean")->transport, TND_TRANSPORT_INPROC);
    cr_expect_null(edge(plan, "read.0", "batch.0"));
    static const uint32_t devices[] = {0, 0, 1, 1};
    for (uint32_t i = 0; i < 4; i++)
        cr_expect_eq(plan->chains[0].carriers[i].device, devices[i]);
    tnd_graph_destroy(&graph);
}

Test(graph, paths_are_those_of_the_host)
{
    tnd_graph_t *graph =
        load("tests/topology/good/fashion.yaml", "tests/topology/good/cluster.yaml");
    const tnd_instance_t *read = find(plan_of(graph), "read.0");
    const tnd_part_t *source =
        tnd_options_field(&read->kind->table, read->options, "source", TND_OPTION_PART);
    const tnd_pairs_t *columns = source->options;

    cr_expect_eq(columns->count, 2);
    cr_expect_str_eq(columns->items[0].name, "image");
    cr_expect_str_eq(columns->items[0].text, "/local/train-images-idx3-ubyte.gz");
    cr_expect_str_eq(columns->items[1].text, "/local/train-labels-idx1-ubyte.gz");

    tnd_graph_purpose(graph, &(tnd_graph_purpose_t){.data = "/mine"});
    read = find(plan_of(graph), "read.0");
    source = tnd_options_field(&read->kind->table, read->options, "source", TND_OPTION_PART);
    columns = source->options;
    cr_expect_str_eq(columns->items[0].text, "/mine/train-images-idx3-ubyte.gz");
    tnd_graph_destroy(&graph);
}

Test(graph, hosts_on_one_machine_use_ipc_unless_tcp_is_set)
{
    tnd_graph_t *graph = load("tests/topology/good/fashion.yaml", "tests/topology/good/three.yaml");

    const tnd_plan_t *plan = plan_of(graph);

    cr_expect_eq(edge(plan, "read.0", "prep.0")->transport, TND_TRANSPORT_TCP);
    cr_expect_eq(edge(plan, "batch.0", "feed")->transport, TND_TRANSPORT_IPC);
    tnd_graph_destroy(&graph);
}

Test(graph, actors_of_a_host_use_ipc_sockets_where_its_transport_is_zmq)
{
    tnd_graph_t *graph = load("tests/topology/good/fashion.yaml", "tests/topology/good/three.yaml");
    tnd_graph_set(graph, "hosts.c.transport", "zmq");

    const tnd_plan_t *plan = plan_of(graph);

    cr_expect_eq(edge(plan, "feed", "mean")->transport, TND_TRANSPORT_IPC);
    cr_expect_eq(edge(plan, "batch.0", "feed")->transport, TND_TRANSPORT_IPC);
    cr_expect_eq(edge(plan, "read.0", "prep.0")->transport, TND_TRANSPORT_TCP, "of other hosts");
    tnd_graph_destroy(&graph);
}

Test(graph, lanes_run_on_their_hosts_and_the_pool_serves_all)
{
    tnd_graph_t *graph = load("tests/topology/good/eight.yaml", "tests/topology/good/spmd.yaml");

    const tnd_plan_t *plan = plan_of(graph);

    cr_assert_eq(plan->host_count, 14);
    cr_expect_str_eq(plan->hosts[3].name, "node3");
    cr_expect_str_eq(plan->hosts[3].address, "10.0.0.13");
    cr_expect_str_eq(plan->hosts[13].address, "10.0.1.19");
    char name[32];
    for (uint32_t lane = 0; lane < 8; lane++) {
        snprintf(name, sizeof name, "read.%u", lane);
        cr_expect_eq(find(plan, name)->host, lane / 2);
        snprintf(name, sizeof name, "batch.%u", lane);
        cr_expect_eq(find(plan, name)->host, lane / 2);
    }
    cr_expect_eq(find(plan, "prep.1")->lane_first, 2);
    cr_expect_eq(find(plan, "prep.1")->lane_count, 2);
    cr_expect_eq(find(plan, "prep.13")->lane_count, 8);
    cr_expect_null(edge(plan, "read.0", "prep.1"));
    cr_expect_not_null(edge(plan, "read.2", "prep.1"));
    cr_expect_not_null(edge(plan, "read.0", "prep.13"));
    cr_expect_not_null(edge(plan, "batch.7", "feed@node0"));
    cr_expect_eq(edge(plan, "batch.1", "feed@node0")->transport, TND_TRANSPORT_INPROC);
    cr_expect_eq(find(plan, "mean")->host, 0);
    for (uint32_t replica = 0; replica < 8; replica++)
        cr_expect_eq(plan->instances[plan->chains[0].carriers[replica].instance].host, replica / 2);
    tnd_graph_destroy(&graph);
}

Test(graph, a_later_chain_is_placed_with_the_first_and_shares_its_devices)
{
    tnd_graph_t *graph = load("tests/topology/good/eight.yaml", "tests/topology/good/spmd.yaml");

    const tnd_plan_t *plan = plan_of(graph);

    cr_assert_eq(plan->chain_count, 2);
    cr_expect_str_eq(plan->chains[1].feeder, "test");
    cr_expect_str_eq(plan->chains[1].after, "feed");
    cr_expect_eq(find(plan, "test_read.7")->host, 3);
    cr_expect_eq(find(plan, "test_read.7")->chain, 1);
    for (uint32_t replica = 0; replica < 8; replica++) {
        const tnd_carrier_t *first = &plan->chains[0].carriers[replica];
        const tnd_carrier_t *later = &plan->chains[1].carriers[replica];
        cr_expect_eq(plan->instances[first->instance].host, plan->instances[later->instance].host);
        cr_expect_eq(first->device, later->device);
    }
    tnd_graph_destroy(&graph);
}

Test(graph, a_check_may_be_repeated_after_a_change)
{
    tnd_graph_t *graph = compose();
    tnd_graph_add(graph, "more", "batcher", "size: 1");
    cr_expect_eq(tnd_graph_check(graph), TND_FAILED);
    cr_expect_eq(tnd_graph_check(graph), TND_FAILED);
    cr_expect(strstr(tnd_graph_errors(graph), "1 error\n") != NULL, "%s", tnd_graph_errors(graph));
    cr_expect_null(tnd_graph_plan(graph));
    tnd_graph_add(graph, "feed", "feeder", "");
    cr_expect_eq(tnd_graph_check(graph), TND_FAILED);
    cr_expect(strstr(tnd_graph_errors(graph), "defined twice") != NULL);
    tnd_graph_destroy(&graph);
    cr_expect_null(graph);
    tnd_graph_destroy(&graph);
}

Test(graph, the_data_of_a_file_may_be_named_in_the_environment)
{
    const char *files[] = {"tests/topology/good/fashion.yaml"};
    setenv("TUNDISH_DATA", "/env", 1);
    tnd_graph_t *graph = tnd_graph_load(files, 1);
    unsetenv("TUNDISH_DATA");
    cr_expect_str_eq(plan_of(graph)->hosts[0].data, "/env");
    tnd_graph_destroy(&graph);
    graph = tnd_graph_load(files, 1);
    cr_expect_eq(tnd_graph_check(graph), TND_FAILED);
    cr_expect(strstr(tnd_graph_errors(graph), "TUNDISH_DATA") != NULL, "%s",
              tnd_graph_errors(graph));
    tnd_graph_destroy(&graph);
}

Test(graph, a_file_that_cannot_be_opened_is_named)
{
    const char *files[] = {"tests/topology/good/nowhere.yaml"};
    tnd_graph_t *graph = tnd_graph_load(files, 1);

    cr_expect_eq(tnd_graph_check(graph), TND_FAILED);

    cr_expect_str_eq(tnd_graph_errors(graph),
                     "tests/topology/good/nowhere.yaml: error[T002]: cannot be opened: No such "
                     "file or directory\n1 error\n");
    tnd_graph_destroy(&graph);
}

Test(graph, an_overlay_may_repeat_what_the_graph_says)
{
    tnd_graph_t *graph = compose();
    tnd_graph_place(graph, "seed: 7\nactors:\n  batch: {kind: batcher, size: 128}\n  mean:\n");

    cr_expect_eq(tnd_graph_check(graph), TND_OK, "%s", tnd_graph_errors(graph));

    tnd_graph_destroy(&graph);
}

/*  ----------------------------------------------------------------------- processes of a launcher */

/*  A plan of `count` processes: two on one machine with 3 devices each sees, and further ones alone on theirs. */
static const tnd_plan_t *plan_launched(tnd_graph_t *graph, uint32_t count, bool split)
{
    tnd_roster_process_t processes[4] = {{.rank = 0}};
    for (uint32_t i = 0; i < count; i++) {
        tnd_roster_process_t *it = &processes[i];
        *it = (tnd_roster_process_t){.rank = i, .device = "cuda", .device_count = 3};
        snprintf(it->address, sizeof it->address, "10.0.0.%u", i < 2 ? 1 : i);
        snprintf(it->machine, sizeof it->machine, "m%u", i < 2 ? 1 : i);
        snprintf(it->visible, sizeof it->visible, "%u", split ? i : 0);
    }
    tnd_graph_launched(graph,
                       &(tnd_roster_list_t){.processes = processes, .count = count, .port = 20480});
    return plan_of(graph);
}

static tnd_graph_t *compose_open(const char *more)
{
    char overlay[200];
    tnd_graph_t *graph = compose();
    snprintf(overlay, sizeof overlay,
             "insecure: true\nhosts:\n  node[*]: {actors: [read, prep, batch, feed]%s}\n", more);
    tnd_graph_set(graph, "batch.replicas", "8");
    tnd_graph_set(graph, "lanes", "3");
    tnd_graph_place(graph, overlay);
    return graph;
}

static void expect_devices(const tnd_plan_t *plan, uint32_t host, const char *devices)
{
    char text[64] = "";
    for (uint32_t d = 0; d < plan->hosts[host].device_count; d++) {
        strcat(text, " ");
        strcat(text, plan->hosts[host].devices[d]);
    }
    cr_expect_str_eq(text, devices, "host %u:%s", host, text);
}

Test(graph, an_open_range_is_the_processes_of_the_launcher)
{
    tnd_graph_t *graph = compose_open(", lanes: each");
    const tnd_plan_t *plan = plan_of(graph);
    cr_expect_eq(plan->host_count, 1);
    cr_expect_str_eq(plan->hosts[0].name, "node0");

    plan = plan_launched(graph, 4, false);
    cr_expect_eq(plan->host_count, 4);
    cr_expect_str_eq(plan->hosts[1].address, "10.0.0.1");
    cr_expect_str_eq(plan->hosts[3].address, "10.0.0.3");
    cr_expect_eq(plan->hosts[0].port, 20480);
    cr_expect_eq(find(plan, "read.2")->host, 2, "three lanes for the first three hosts");
    cr_expect_eq(find(plan, "feed@node3")->replica_first, 6);
    cr_expect_eq(edge(plan, "read.0", "prep.0")->transport, TND_TRANSPORT_INPROC);
    cr_expect_eq(edge(plan, "batch.0", "feed@node1")->transport, TND_TRANSPORT_IPC);
    cr_expect_eq(edge(plan, "batch.0", "feed@node2")->transport, TND_TRANSPORT_TCP);
    tnd_graph_destroy(&graph);
}

Test(graph, lanes_of_an_open_range_are_contiguous_and_even)
{
    tnd_graph_t *graph = compose_open(", lanes: each");
    const tnd_plan_t *plan = plan_launched(graph, 2, false);
    cr_expect_eq(find(plan, "read.0")->host, 0);
    cr_expect_eq(find(plan, "read.1")->host, 0);
    cr_expect_eq(find(plan, "read.2")->host, 1);
    tnd_graph_destroy(&graph);
}

Test(graph, devices_of_a_machine_are_dealt_to_its_processes)
{
    tnd_graph_t *graph = compose_open(", lanes: each, devices: {feed: auto}");
    const tnd_plan_t *plan = plan_launched(graph, 3, false);
    expect_devices(plan, 0, " cuda:0");
    expect_devices(plan, 1, " cuda:1 cuda:2");
    expect_devices(plan, 2, " cuda:0 cuda:1 cuda:2");
    plan = plan_launched(graph, 3, true);
    expect_devices(plan, 0, " cuda:0 cuda:1 cuda:2"); /* the launcher has dealt them */
    tnd_graph_destroy(&graph);
}

Test(graph, fewer_replicas_than_hosts_of_an_open_range_are_for_the_first)
{
    tnd_graph_t *graph = compose_open(", lanes: each");
    tnd_graph_set(graph, "batch.replicas", "3");
    const tnd_plan_t *plan = plan_launched(graph, 4, false);
    cr_expect_eq(plan->chains[0].carriers[2].instance,
                 (uint32_t)(find(plan, "feed@node2") - plan->instances));
    for (uint32_t i = 0; i < plan->instance_count; i++)
        cr_expect(plan->instances[i].host != 3 || strcmp(plan->instances[i].actor, "feed") != 0);
    tnd_graph_destroy(&graph);
}

Test(graph, paths_have_the_numbers_of_their_process)
{
    tnd_graph_t *graph = compose_open(", lanes: each");
    tnd_graph_set(graph, "read.source",
                  "{idx: {image: \"${data}/${rank}\", label: \"/${local_rank}.${hosts}\"}}");
    tnd_graph_set(graph, "data", "/d${rank}");
    const tnd_plan_t *plan = plan_launched(graph, 3, false);
    cr_expect_str_eq(plan->hosts[2].data, "/d2");
    const tnd_instance_t *second = find(plan, "read.1"); /* the second process of its machine */
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    tnd_options_show(&second->kind->table, second->options, out);
    fclose(out);
    cr_expect_not_null(strstr(text, "\"/d1/1\""), "%s", text);
    cr_expect_not_null(strstr(text, "\"/1.3\""), "%s", text);
    free(text);
    tnd_graph_destroy(&graph);
}
