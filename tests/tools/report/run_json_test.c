/*  Covers the JSON of a run in tools/report/run_json.h: each member with its unit, exactly. */
#include "tools/report/run_json.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/base/allocation.h"
#include "runtime/core/protocol/effect.h"
#include "runtime/notes/page_text.h"
#include "runtime/observe/observer.h"
#include "runtime/plan/placement.h"

#define MS UINT64_C(1000000)
#define SECOND (1000 * MS)

static const tnd_pages_shape_t shape = {
    .actors = 2, .hosts = 1, .edges = 1, .notes = TND_RUN_NOTES_KINDS};
static tnd_inspected_t process;
static tnd_inspection_t look;
static char *text;
static size_t size;

static void begin(void)
{
    size_t bytes = tnd_run_record_bytes(&shape);
    process = (tnd_inspected_t){.run = "mnist", .host = "a", .session = 0xbeef, .process = 7};
    process.record_memory = aligned_alloc(64, (bytes + 63) / 64 * 64);
    memset(process.record_memory, 0, bytes);
    process.record = tnd_run_record_at(process.record_memory, &shape);
    look = (tnd_inspection_t){.now_ns = 100 * SECOND, .count = 1, .processes = &process};
}

static void end(void)
{
    free(process.record_memory);
    free(text);
}

TestSuite(run_json, .init = begin, .fini = end);

static void fill_page(tnd_run_page_t *page)
{
    double loss = 0.125;
    uint64_t bits;
    memcpy(&bits, &loss, sizeof bits);
    page->state = 4;
    page->since_ns = 97 * SECOND + 500 * MS;
    page->started_ns = 40 * SECOND;
    page->chain_count = page->lanes = 1;
    strcpy(page->chains[0], "feed");
    page->generation = 2;
    page->epoch = 3;
    page->step = 4;
    page->rows = 5;
    page->epoch_left_ns = 3 * SECOND / 2;
    page->read = 6;
    page->added = 7;
    page->fed = 8;
    page->filtered = 9;
    page->bad = 10;
    page->dropped = 11;
    page->padded = 12;
    page->metric_count = 1;
    page->metrics[0] = bits;
    strcpy((char *)page->metric_names[0], "loss");
    page->checkpoint_step = 13;
    page->checkpoint_ns = 90 * SECOND;
    page->unwritten = 3;
    tnd_page_text_write(page->unwritten_why, TND_PAGE_WHY_WORDS, "full");
    page->metrics_dropped = 14;
    page->metrics_waits_ns = 99 * SECOND + 750 * MS;
    page->control = TND_CONTROL_WORKS;
    page->control_ns = 99 * SECOND + 999 * MS;
}

static void fill_rest(const tnd_run_record_t *record)
{
    tnd_edge_record_t *edge = &record->edges[0];
    strcpy(record->hosts[0].name, "a");
    strcpy(record->hosts[0].address, "10.0.0.1");
    record->hosts[0].presence = TND_PRESENCE_UP;
    record->hosts[0].since_ns = 60 * SECOND;
    record->hosts[0].process = 7;
    record->hosts[0].parent = UINT32_MAX;
    record->hosts[0].restarts = 1;
    record->hosts[0].restarts_max = 20;
    record->hosts[0].memory_bytes = 1 << 20;
    strcpy(record->instances[0].name, "read");
    strcpy(record->instances[1].name, "batch");
    edge->to = 1;
    edge->transport = TND_TRANSPORT_TCP;
    edge->ends[0].blocks = 21;
    edge->ends[0].rows = 22;
    edge->ends[0].bytes = 23;
    edge->ends[0].lost = 1;
    edge->ends[0].up_ns = 80 * SECOND;
    edge->ends[0].credit_used = 24;
    edge->ends[0].credit_given = 25;
    edge->ends[0].round_trip_ns = 1500;
    tnd_run_record_log(record, TND_LOG_WARNING, "a", "read", "slow", 98 * SECOND);
    tnd_run_notes_add(&record->notes[TND_RUN_NOTES_BAD], "prep", "record 2 of a.csv", "it is short",
                      99 * SECOND);
    tnd_run_notes_count(&record->notes[TND_RUN_NOTES_BAD], "prep", 10);
}

static const char *print(void)
{
    FILE *out = tnd_memory_stream(&text, &size);
    tnd_run_json_run(out, &look, &process);
    fclose(out);
    return text;
}

Test(run_json, every_member_of_a_run)
{
    fill_page(process.record.page);
    fill_rest(&process.record);
    cr_assert_str_eq(
        print(),
        "{\"run\":\"mnist\",\"session\":\"beef\",\"leader\":\"a\",\"state\":\"running\","
        "\"since_seconds\":2.500,\"age_seconds\":60.000,\"outcome\":null,\"waiting_for\":[],"
        "\"paused\":null,\"chain\":\"feed\",\"chains\":1,\"lanes\":1,\"rewinds\":2,\"epoch\":3,"
        "\"steps\":4,\"rows\":5,\"epoch_left_seconds\":1.5,\"run_left_seconds\":null,"
        "\"ledger_rows\":{\"read\":6,\"added\":7,\"fed\":8,\"filtered\":9,"
        "\"bad\":10,\"dropped\":11,\"padded\":12},\"metrics\":{\"loss\":0.125},"
        "\"checkpoint_steps\":13,\"checkpoint_age_seconds\":10.000,\"checkpoints_failed\":3,"
        "\"checkpoint_failure\":\"full\","
        "\"metrics_lines_dropped\":14,"
        "\"metrics_waiting_seconds\":0.250,\"hosts\":[{\"name\":\"a\",\"address\":\"10.0.0.1\","
        "\"presence\":\"up\",\"since_seconds\":40.000,\"waited_for\":false,\"pid\":7,"
        "\"started_by\":null,\"restarts\":1,\"restarts_max\":20,\"memory_bytes\":1048576}],"
        "\"edges\":[{\"from\":\"read\",\"to\":\"batch\",\"transport\":\"tcp\",\"sent\":{\"blocks\":"
        "21,\"rows\":22,\"bytes\":23,\"connections_lost\":1,\"up_seconds\":20.000,"
        "\"credit_used_blocks\":24,\"credit_given_blocks\":25,\"credit_used_bytes\":null,"
        "\"credit_given_bytes\":null,\"round_trip_seconds\":0.000001500},\"received\":{\"blocks\":"
        "0,"
        "\"rows\":0,\"bytes\":0,\"connections_lost\":0,\"up_seconds\":null,"
        "\"credit_used_blocks\":null,\"credit_given_blocks\":null,\"credit_used_bytes\":null,"
        "\"credit_given_bytes\":null,\"round_trip_seconds\":null}}],\"log\":[{\"text\":\"a read "
        "slow\",\"level\":\"warning\",\"age_seconds\":2.000,\"number\":1}],\"bad\":{\"count\":10,"
        "\"first\":[{\"found_by\":\"prep\",\"place\":\"record 2 of a.csv\",\"reason\":\"it is "
        "short\","
        "\"age_seconds\":1.000,\"count\":10}],\"newest\":[{\"found_by\":\"prep\",\"place\":"
        "\"record 2 of "
        "a.csv\",\"reason\":\"it is short\",\"age_seconds\":1.000}]},\"restarts\":{\"count\":0,"
        "\"first\":[],\"newest\":[]},\"control\":\"works\","
        "\"control_seconds\":0.001}");
}

Test(run_json, a_pause_has_its_age_and_its_step)
{
    tnd_run_page_t *page = process.record.page;
    page->state = 4;
    page->paused_ns = 95 * SECOND;
    page->paused_step = 57;
    strcpy((char *)page->paused_by, "alice");
    cr_assert_not_null(
        strstr(print(), "\"paused\":{\"by\":\"alice\",\"since_seconds\":5.000,\"step\":57}"), "%s",
        text);
}

/*  A feeder that has run for 60 s, and is in the step of its device for 2 s. */
static void fill_actor(tnd_statistics_t *page)
{
    tnd_device_page_t *device = &page->devices[0];
    strcpy(page->actor, "feed");
    strcpy(page->kind, "feeder");
    page->role = TND_ROLE_FEEDER;
    page->instance = 1;
    page->lane = 2;
    page->state = TND_STATE_WAITING | (uint64_t)TND_WAIT_STEP << 8;
    page->since_ns = 99 * SECOND;
    page->waiting_ns = 98 * SECOND;
    page->begun_ns = 40 * SECOND;
    page->cpu_ns = 6 * SECOND;
    page->ready_ns = 250 * MS;
    page->device_cpu_ns = 1500 * MS;
    page->wait_ns[__builtin_ctz(TND_WAIT_INPUT)] = 20 * SECOND;
    page->queue = 3;
    page->credit = TND_UNKNOWN;
    page->rows_in = 11;
    page->rows_out = 12;
    page->blocks_in = 13;
    page->blocks_out = 14;
    page->bytes_in = 15;
    page->bytes_out = 16;
    page->bytes_copied = 17;
    page->lost = 18;
    page->stale = 19;
    page->again = 20;
    page->doubled = 21;
    page->faults = 27;
    page->step = 22;
    page->thread = 23;
    page->device_count = 1;
    strcpy(device->name, "sim:0");
    device->state = TND_DEVICE_STEP | 4 << 8;
    device->since_ns = 98 * SECOND;
    device->step = 24;
    device->thread = 25;
    device->cpu_ns = 125 * MS;
    device->ready_ns = 62500000;
    device->spent_ns[TND_DEVICE_IDLE] = 30 * SECOND;
    device->spent_ns[TND_DEVICE_STEP] = 5 * SECOND;
    device->memory = 1 << 20;
    device->numa_node = -1;
    device->bytes_moved = 26;
    device->link_ns = 750 * MS;
    device->wait_ns[TND_DEVICE_WAIT_LINK] = 500;
    device->wait_ns[TND_DEVICE_WAIT_ROWS] = 3 * SECOND;
    device->wait_ns[TND_DEVICE_WAIT_HOST] = SECOND / 2;
    device->wait = TND_DEVICE_WAIT_HOST;
    device->wait_since_ns = 99 * SECOND;
    device->timed = 1;
    device->work_ns = 4 * SECOND;
    for (uint64_t i = 0; i < 6; i++)
        device->calls[i] = 31 + i;
}

Test(run_json, every_member_of_an_actor_and_its_device)
{
    static tnd_statistics_t page;
    fill_actor(&page);
    FILE *out = tnd_memory_stream(&text, &size);
    tnd_run_json_actor(out, &process, &page, look.now_ns, 12345.67);
    fclose(out);
    cr_assert_str_eq(
        text,
        "{\"name\":\"feed\",\"kind\":\"feeder\",\"instance\":1,\"chain\":0,\"lane\":2,\"state\":"
        "\"waiting\",\"waits\":[\"step\"],\"since_seconds\":2.000,\"rows_per_second\":12345.7,"
        "\"queue\":3,\"credit\":null,\"rows_in\":11,\"rows_out\":12,\"blocks_in\":13,"
        "\"blocks_out\":14,\"bytes_in\":15,\"bytes_out\":16,\"bytes_copied\":17,"
        "\"connections_lost\":18,\"messages_stale\":19,\"tickets_again\":20,\"tickets_doubled\":21,"
        "\"disk_page_faults\":27,\"device_cpu_seconds\":1.500000000,\"step\":22,\"thread\":23,"
        "\"times\":{\"cpu\":6."
        "000000000,"
        "\"wait_in\":20.000000000,\"wait_credit\":0.000000000,\"wait_order\":0.000000000,"
        "\"wait_step\":1.000000000,\"wait_reduce\":0.000000000,\"wait_io\":0.000000000,"
        "\"run_queue\":0.250000000,\"other\":32.750000000},\"upstream\":[],\"downstream\":[],"
        "\"timings\":null,\"options\":null,\"operations\":[],\"reads\":null,\"devices\":[{\"name\":"
        "\"sim:0\",\"state\":\"step\",\"replica\":4,\"step\":24,\"thread\":25,\"since_seconds\":2."
        "000,"
        "\"cpu_seconds\":0.125000000,\"run_queue_seconds\":0.062500000,\"seconds\":{\"idle\":"
        "30.000000000,\"step\":7.000000000,\"reduce\":0.000000000,\"apply\":0.000000000,\"keep\":"
        "0.000000000},\"where\":null,\"model\":\"\",\"bus\":\"\",\"uuid\":\"\",\"memory\":1048576,"
        "\"numa_node\":-"
        "1,"
        "\"bytes_moved\":26,\"link_seconds\":0.750000000,\"link_wait_seconds\":0.000000500,"
        "\"rows_wait_seconds\":3.000000000,\"host_wait_seconds\":1.500000000,\"work_seconds\":"
        "4.000000000,\"calls\":{"
        "\"allocate\":31,\"free\":32,\"synchronize\":33,\"copy\":34,\"launch\":35,\"event\":36},"
        "\"timings\":null}],\"where\":null}");
}

/*  500 rows more in 250 ms. */
Test(run_json, rates_are_rows_per_second)
{
    static tnd_statistics_t old = {.actor = "feed", .rows_out = 100};
    static tnd_statistics_t now = {.actor = "feed", .rows_out = 600};
    tnd_inspected_t then = process;
    tnd_inspection_t before = {.now_ns = look.now_ns - 250 * MS, .count = 1, .processes = &then};
    then.actors = &old;
    then.count = 1;
    cr_assert_float_eq(tnd_run_json_rate(&before, &look, &process, &now), 2000, 1e-9);
    cr_assert_float_eq(tnd_run_json_rate(&before, &before, &process, &now), 0, 1e-9);
}
