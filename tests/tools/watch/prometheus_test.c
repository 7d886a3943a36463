/*  Covers tools/watch/prometheus.h: each metric has the number and the unit that its name says. */
#include "tools/watch/prometheus.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/base/allocation.h"
#include "runtime/plan/placement.h"

/*  A run of one process, whose reader and feeder are joined by an edge. */
enum { READ, FEED, ACTORS };

#define MS UINT64_C(1000000)
#define SECOND (1000 * MS)

static const tnd_pages_shape_t shape = {
    .actors = ACTORS, .hosts = 1, .edges = 1, .histories = ACTORS, .details = ACTORS, .timings = 3};
static tnd_statistics_t actors[ACTORS];
static tnd_inspected_t process;
static tnd_inspection_t look;
static tnd_time_totals_t totals;
static tnd_verdict_t verdict;
static char *text;
static size_t size;

static void name_actors(const tnd_run_record_t *record)
{
    static const char *const names[] = {"read", "feed"}, *const kinds[] = {"reader", "feeder"};
    memset(actors, 0, sizeof actors);
    for (uint32_t i = 0; i < ACTORS; i++) {
        strcpy(actors[i].actor, names[i]);
        strcpy(actors[i].kind, kinds[i]);
        actors[i].instance = i;
        strcpy(record->instances[i].name, names[i]);
        record->instances[i].history = record->instances[i].ring = i;
        record->instances[i].ring_count = 1 + i;
    }
}

static void fill_feeder(void)
{
    tnd_device_page_t *device = &actors[FEED].devices[0];
    actors[FEED].lane = 3;
    actors[FEED].rows_in = 11;
    actors[FEED].bytes_in = 12;
    actors[FEED].queue = 13;
    actors[FEED].credit = 14;
    actors[FEED].device_count = 1;
    strcpy(device->name, "sim:0");
    device->cpu_ns = 1500 * MS;
    device->link_ns = 250 * MS;
    device->bytes_moved = 4096;
    device->spent_ns[TND_DEVICE_STEP] = 2 * SECOND + 1;
}

static void fill_record(const tnd_run_record_t *record)
{
    double loss = 0.25;
    uint64_t bits;
    memcpy(&bits, &loss, sizeof bits);
    record->page->state = 4;
    record->page->started_ns = 40 * SECOND;
    record->page->checkpoint_ns = 90 * SECOND + 500 * MS;
    record->page->checkpoint_step = 8;
    record->page->step = 9;
    record->page->fed = 640;
    record->page->chain_count = 1;
    strcpy(record->page->chains[0], "feed");
    record->page->metric_count = 1;
    record->page->metrics[0] = bits;
    strcpy((char *)record->page->metric_names[0], "loss");
    strcpy(record->hosts[0].name, "a");
    record->hosts[0].presence = TND_PRESENCE_UP;
    record->hosts[0].restarts = 2;
    record->edges[0].from = READ;
    record->edges[0].to = FEED;
    record->edges[0].transport = TND_TRANSPORT_TCP;
    record->edges[0].ends[1].rows = 7;
    record->edges[0].ends[0].lost = 5;
    record->edges[0].ends[0].round_trip_ns = 12500000;
    tnd_histogram_add(&record->timings[FEED].parts[TND_TIMING_SERVICE], 3 * MS);
    tnd_histogram_add(&record->timings[FEED].parts[TND_TIMING_SERVICE], SECOND);
}

static void write_all(void)
{
    process = (tnd_inspected_t){
        .run = "mnist", .host = "a", .process = 7, .count = ACTORS, .actors = actors};
    size_t bytes = tnd_run_record_bytes(&shape);
    process.record_memory = aligned_alloc(64, (bytes + 63) / 64 * 64);
    memset(process.record_memory, 0, bytes);
    process.record = tnd_run_record_at(process.record_memory, &shape);
    look = (tnd_inspection_t){.now_ns = 100 * SECOND, .count = 1, .processes = &process};
    verdict = (tnd_verdict_t){.run = "mnist", .state = TND_RUN_SLOW};
    const tnd_fault_t fault = {.cause = TND_CAUSE_BAD_ROWS, .host = "a"};
    tnd_verdict_add(&verdict, &fault);
    verdict.limit =
        (tnd_limit_t){.bound = TND_BOUND_WORK, .actor = "read", .host = "a", .share = 0.75};
    name_actors(&process.record);
    fill_feeder();
    fill_record(&process.record);
    tnd_time_totals_add(&totals, &look);
    const tnd_prometheus_t page = {
        .look = &look, .totals = &totals, .verdict = &verdict, .look_seconds = 0.125, .clients = 6};
    FILE *out = tnd_memory_stream(&text, &size);
    tnd_prometheus_write(&page, out);
    fclose(out);
}

static void free_all(void)
{
    free(text);
    free(process.record_memory);
    tnd_time_totals_free(&totals);
}

TestSuite(prometheus, .init = write_all, .fini = free_all);

#define FEEDER "run=\"mnist\",host=\"a\",actor=\"feed\",kind=\"feeder\",lane=\"3\""
#define EDGE "run=\"mnist\",from=\"read\",to=\"feed\",transport=\"tcp\""

Test(prometheus, each_cause_names_a_family)
{
    char line[128];
    for (unsigned cause = 0; cause < TND_CAUSES; cause++) {
        const tnd_cause_entry_t *entry = tnd_cause((tnd_cause_t)cause);
        snprintf(line, sizeof line, "\n# TYPE tundish_%s ", entry->metric);
        cr_expect_not_null(strstr(text, line), "%s: no family %s", entry->name, entry->metric);
    }
}

Test(prometheus, every_number_has_the_unit_of_its_name)
{
    static const char *const lines[] = {
        "tundish_watch_clients 6",
        "tundish_watch_look_seconds 0.125000000",
        "tundish_run_state{run=\"mnist\",state=\"running\"} 1",
        "tundish_run_state{run=\"mnist\",state=\"done\"} 0",
        "tundish_run_steps_total{run=\"mnist\",chain=\"feed\"} 9",
        "tundish_run_checkpoint_steps{run=\"mnist\",chain=\"feed\"} 8",
        "tundish_run_rows_total{run=\"mnist\",chain=\"feed\",account=\"fed\"} 640",
        "tundish_run_age_seconds{run=\"mnist\"} 60.000000000",
        "tundish_run_checkpoint_age_seconds{run=\"mnist\"} 9.500000000",
        "tundish_run_metric{run=\"mnist\",chain=\"feed\",name=\"loss\"} 0.25",
        "tundish_run_why{run=\"mnist\"} 10",
        "tundish_run_fault{run=\"mnist\",host=\"a\",actor=\"\",device=\"\",reason=\"bad_rows\"} 1",
        "tundish_run_faults{run=\"mnist\",reason=\"bad_rows\"} 1",
        "tundish_run_faults{run=\"mnist\",reason=\"killed\"} 0",
        "tundish_run_limit_ratio{run=\"mnist\",host=\"a\",actor=\"read\",reason=\"work\"} 0.7500",
        "tundish_host_up{run=\"mnist\",host=\"a\"} 1",
        "tundish_host_restarts_total{run=\"mnist\",host=\"a\"} 2",
        "tundish_edge_rows_total{" EDGE "} 7",
        "tundish_edge_connections_lost_total{" EDGE ",end=\"from\"} 5",
        "tundish_edge_round_trip_seconds{" EDGE ",end=\"from\"} 0.012500000",
        "tundish_actor_rows_in_total{" FEEDER "} 11",
        "tundish_actor_bytes_in_total{" FEEDER "} 12",
        "tundish_actor_queue_blocks{" FEEDER "} 13",
        "tundish_actor_credit_blocks{" FEEDER "} 14",
        "tundish_device_cpu_seconds_total{" FEEDER ",device=\"sim:0\"} 1.500000000",
        "tundish_device_link_seconds_total{" FEEDER ",device=\"sim:0\"} 0.250000000",
        "tundish_device_moved_bytes_total{" FEEDER ",device=\"sim:0\"} 4096",
        "tundish_device_time_seconds_total{" FEEDER ",device=\"sim:0\",activity=\"step\"} "
        "2.000000001",
        "tundish_actor_duration_seconds_sum{" FEEDER ",part=\"service\"} 1.003000000",
        "tundish_actor_duration_seconds_count{" FEEDER ",part=\"service\"} 2",
        "tundish_actor_duration_seconds_bucket{" FEEDER ",part=\"service\",le=\"0.004194304\"} 1",
        "tundish_actor_duration_seconds_bucket{" FEEDER ",part=\"service\",le=\"0.001048576\"} 0",
        "tundish_actor_duration_seconds_bucket{" FEEDER ",part=\"service\",le=\"+Inf\"} 2",
    };
    char line[256];
    for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++) {
        snprintf(line, sizeof line, "\n%s\n", lines[i]);
        cr_expect_not_null(strstr(text, line), "no line `%s`", lines[i]);
    }
    cr_expect_null(strstr(text, "end=\"to\"} 0.0"), "an unknown round trip is not shown");
}
