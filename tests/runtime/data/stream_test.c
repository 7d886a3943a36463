/*  Covers runtime/data/stream.h: facts survive the way over control, lanes share the positions,
 *  hosts that read other data are told how it differs. */
#include "runtime/data/stream.h"

#include <string.h>

#include <criterion/criterion.h>

#include "runtime/data/text_payload.h"

static tnd_stream_t images(void)
{
    tnd_stream_t stream = {.chain = 1, .count = 60000, .data = 0x123456789abcdef0u};
    tnd_error_t error;
    cr_assert_eq(
        tnd_schema_add(&stream.read.schema, "image", TND_U8, 2, (uint64_t[]){28, 28}, &error),
        TND_OK);
    cr_assert_eq(tnd_schema_add(&stream.read.schema, "a label", TND_I64, 0, NULL, &error), TND_OK);
    cr_assert_eq(
        tnd_schema_add_ragged(&stream.read.schema, "t", TND_I32, 1, (uint64_t[]){512}, &error),
        TND_OK);
    return stream;
}

Test(stream, facts_sent_by_control_are_unchanged)
{
    tnd_stream_t sent = images(), got = {0};
    sent.by_file = true;
    sent.found = 99;
    sent.copied = 3072;
    sent.lists = 2;
    tnd_field_names_init(&sent.names, "a record");
    tnd_field_names_add(&sent.names, "width, in\ncm", 12);
    tnd_field_names_add(&sent.names, "", 0);
    sent.names.cut = true;
    strcpy(sent.names.differ, "a.csv and b.csv have different headers");
    sent.lane[3] = (tnd_stream_lane_t){.count = 17, .data = 18, .known = true};
    tnd_text_payload_writer_t writer;
    tnd_text_payload_begin(&writer);
    tnd_stream_write(&sent, writer.stream);
    tnd_buffer_t *note = tnd_text_payload_end(&writer);

    tnd_error_t error;
    tnd_text_payload_reader_t reader;
    tnd_text_payload_read(&reader, note);
    for (const char *line; (line = tnd_text_payload_line(&reader)) != NULL;)
        cr_assert_eq(tnd_stream_read(&got, line, &error), TND_OK);

    cr_assert_eq(got.chain, 1);
    cr_assert_eq(got.count, 60000);
    cr_assert_eq(got.data, sent.data);
    cr_assert_eq(tnd_schema_compare(&got.read.schema, &sent.read.schema, &error), TND_OK);
    cr_assert(got.by_file);
    cr_assert_eq(got.found, 99);
    cr_assert_str_eq(got.names.column, "a record");
    cr_assert_eq(got.names.count, 2);
    cr_assert_eq(tnd_field_names_find(&got.names, "width, in cm"), 0);
    cr_assert_eq(tnd_field_names_find(&got.names, ""), 1);
    cr_assert_eq(tnd_field_names_find(&got.names, "cm"), TND_FIELD_NAME_MISSING);
    cr_assert(got.names.cut);
    cr_assert_str_eq(got.names.differ, sent.names.differ);
    cr_assert_eq(got.copied, 3072);
    cr_assert_eq(got.lists, 2);
    cr_assert(got.lane[3].known && !got.lane[0].known);
    cr_assert_eq(got.lane[3].count, 17);
    cr_assert_eq(got.lane[3].data, 18);
    tnd_buffer_drop(&note);
}

Test(stream, names_beyond_the_room_are_noted)
{
    static tnd_field_names_t names, other;
    char name[TND_FIELD_NAME_MAX + 1], list[40];
    memset(name, 'x', sizeof name);
    tnd_field_names_init(&names, "record");
    for (uint32_t i = 0; i < TND_FIELD_NAMES_BYTES / 256; i++)
        tnd_field_names_add(&names, name, sizeof name);
    cr_assert_eq(names.count, TND_FIELD_NAMES_BYTES / 256, "each has 255 bytes and a zero byte");
    cr_assert_not(names.cut);
    cr_assert_eq(tnd_field_names_find(&names, names.text), TND_FIELD_NAME_AGAIN);
    other = names;
    tnd_field_names_add(&names, "", 0);
    cr_assert(names.cut);
    tnd_field_names_merge(&names, &other);
    cr_assert_str_empty(names.differ);
    other.text[0] = 'y';
    tnd_field_names_merge(&names, &other);
    cr_assert_str_eq(names.differ, "files of different lanes or hosts have different headers");
    tnd_field_names_init(&names, "record");
    tnd_field_names_add(&names, "a", 1);
    tnd_field_names_add(&names, "b", 1);
    cr_assert_str_eq(tnd_field_names_text(&names, list, sizeof list), "`a`, `b`");
    cr_assert_str_eq(tnd_field_names_text(&names, list, 12), "`a` ...");
}

Test(stream, invalid_lines_are_refused)
{
    static const char *const lines[] = {"",
                                        "stream",
                                        "stream x 1 2",
                                        "column u8",
                                        "column u9 0 a",
                                        "column u8 9 1 1 a",
                                        "column u8 2 28 a",
                                        "column u8 0",
                                        "ragged u8 0 a",
                                        "ragged u8 1 a",
                                        "column u8 0 ",
                                        "lane 256 1 1",
                                        "lane 0 9223372036854775807 1",
                                        "lane 0 1",
                                        "copied 1",
                                        "copied 1099511627777 0",
                                        "files"};
    for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++) {
        tnd_stream_t stream = {0};
        tnd_error_t error;
        cr_assert_eq(tnd_stream_read(&stream, lines[i], &error), TND_FAILED, "'%s'", lines[i]);
    }
}

Test(stream, lanes_share_all_positions)
{
    for (uint64_t count = 0; count < 40; count++)
        for (uint32_t lanes = 1; lanes < 9; lanes++) {
            tnd_stream_t stream = {.count = count, .lanes = lanes};
            uint64_t sum = 0;
            for (uint32_t lane = 0; lane < lanes; lane++) {
                uint64_t expected = 0;
                for (uint64_t p = lane; p < count; p += lanes)
                    expected++;
                cr_assert_eq(tnd_stream_lane_count(&stream, lane), expected);
                sum += expected;
            }
            cr_assert_eq(sum, count);
        }
}

Test(stream, hosts_with_other_data_are_told_how_it_differs)
{
    tnd_stream_t a = images(), b = images();
    tnd_error_t error;
    cr_assert_eq(tnd_stream_agree(&a, "a", &b, "b", &error), TND_OK);

    b.count = 59999;
    cr_assert_eq(tnd_stream_agree(&a, "a", &b, "b", &error), TND_FAILED);
    cr_assert_not_null(strstr(error.text, "60000 rows and 59999 rows"), "%s", error.text);

    b.count = a.count;
    b.data++;
    cr_assert_eq(tnd_stream_agree(&a, "a", &b, "b", &error), TND_FAILED);
    cr_assert_not_null(strstr(error.text, "other content"), "%s", error.text);

    b.read.schema.columns[0].shape[1] = 32;
    cr_assert_eq(tnd_stream_agree(&a, "a", &b, "b", &error), TND_FAILED);
    cr_assert_not_null(strstr(error.text, "image"), "%s", error.text);
}

/*  Lanes with files of their own, of these rows. */
static tnd_stream_t filed(const uint64_t *rows, uint32_t lanes)
{
    tnd_stream_t stream = {.lanes = lanes, .by_file = true, .count = TND_UNKNOWN};
    for (uint32_t lane = 0; lane < lanes; lane++)
        stream.lane[lane] =
            (tnd_stream_lane_t){.count = rows[lane], .data = 7 + lane, .known = true};
    return stream;
}

Test(stream, skip_and_take_count_rows_of_lanes_with_files_in_turn)
{
    static const uint64_t rows[] = {5, 0, 2, 9};
    enum { LANES = 4, ALL = 16 };
    uint32_t order[ALL], lane;
    size_t count = 0;
    for (uint64_t turn = 0; turn < 9; turn++)
        for (lane = 0; lane < LANES; lane++)
            if (turn < rows[lane])
                order[count++] = lane;
    cr_assert_eq(count, ALL);
    for (uint64_t skip = 0; skip < ALL; skip++)
        for (uint64_t take = 1; take <= ALL + 2; take++) {
            tnd_stream_t stream = filed(rows, LANES);
            cr_assert(tnd_stream_settle(&stream, LANES, &lane));
            cr_assert_eq(stream.count, ALL);
            stream.skip = skip;
            stream.take = take;
            stream.repeat = 3;
            uint64_t sum = 0;
            for (lane = 0; lane < LANES; lane++) {
                uint64_t before = 0, used = 0;
                for (uint64_t i = 0; i < ALL; i++) {
                    before += order[i] == lane && i < skip;
                    used += order[i] == lane && i >= skip && i < skip + take;
                }
                tnd_window_t window = tnd_stream_window(&stream, lane);
                cr_assert_eq(window.first, before);
                cr_assert_eq(window.count, used);
                cr_assert_eq(tnd_stream_lane_count(&stream, lane), 3 * used);
                cr_assert(tnd_stream_lane_most(&stream) >= 3 * used);
                sum += 3 * used;
            }
            cr_assert_eq(tnd_stream_positions(&stream), sum);
        }
}

Test(stream, lanes_with_files_are_known_once_every_host_has_reported)
{
    static const uint64_t rows[] = {5, 3};
    uint32_t lane;
    tnd_error_t error;
    tnd_stream_t a = filed(rows, 2), b = a;
    a.lane[1] = (tnd_stream_lane_t){0};
    b.lane[0] = (tnd_stream_lane_t){0};
    cr_assert_not(tnd_stream_settle(&a, 2, &lane));
    cr_assert_eq(lane, 1);
    cr_assert_eq(tnd_stream_agree(&a, "a", &b, "b", &error), TND_OK);

    tnd_stream_merge(&a, &b);
    cr_assert(tnd_stream_settle(&a, 2, &lane));
    cr_assert_eq(a.count, 8);

    b.lane[1].count = 4;
    cr_assert_eq(tnd_stream_agree(&a, "a", &b, "b", &error), TND_FAILED);
    cr_assert_not_null(strstr(error.text, "lane 1"), "%s", error.text);
    b.lane[1].count = 3;
    b.found = 1;
    cr_assert_eq(tnd_stream_agree(&a, "a", &b, "b", &error), TND_FAILED);
    cr_assert_not_null(strstr(error.text, "part-[00-15].npy"), "%s", error.text);
}

Test(stream, what_a_position_becomes_is_bounded_by_the_schema_and_by_the_growth)
{
    static const struct {
        uint32_t rows_max;
        double growth_max;
        uint64_t bytes;
    } cases[] = {{1, 0, 8 + 300}, {1, 1, 8 + 100}, {1, 5, 8 + 300}, {2, 1, 16 + 100}, {2, 0, 616}};
    tnd_stream_t stream = {0};
    cr_assert(tnd_schema_add_ragged(&stream.read.schema, "x", TND_U8, 1, (uint64_t[]){100}, NULL) ==
              TND_OK);
    cr_assert(tnd_schema_add_ragged(&stream.joined.schema, "x", TND_U8, 1, (uint64_t[]){300},
                                    NULL) == TND_OK);
    cr_assert(tnd_schema_add(&stream.joined.schema, "y", TND_I64, 0, NULL, NULL) == TND_OK);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        stream.joined.rows_max = cases[i].rows_max;
        stream.joined.growth_max = cases[i].growth_max;
        cr_expect_eq(tnd_stream_made_max(&stream), cases[i].bytes, "case %zu", i);
    }
}

Test(stream, a_run_reads_what_its_epochs_use)
{
    tnd_stream_t stream = {.lanes = 1, .count = 100, .epochs = 3};
    cr_assert_eq(tnd_stream_run(&stream), 300);
    stream.skip = 10;
    stream.repeat = 2;
    cr_assert_eq(tnd_stream_run(&stream), 540);
    stream.batch.positions = 64;
    cr_assert_eq(tnd_stream_run(&stream), 3 * 64);
    stream.batch.spans = true;
    cr_assert_eq(tnd_stream_run(&stream), 64);
    stream.epochs = TND_ENDLESS;
    cr_assert_eq(tnd_stream_run(&stream), 64);
    stream.batch.positions = 0;
    cr_assert_eq(tnd_stream_run(&stream), TND_UNKNOWN);
}
