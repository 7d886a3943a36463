/*  Covers `record` of runtime/interface/operation.h: each decoder accepts its own record, and what follows
 *  it in a chain is probed with the row that is made of it. */
#include "actors/chain/chain_internal.h"
#include "actors/chain/chain_probe.h"
#include "tests/actors/op/messages.h"

static const char *const decoders[] = {
    "{decode_json: {column: record, fields: {x: f32, t: string, v: {dtype: i32, shape: [2, 3], "
    "path: "
    "a.b}, w: {dtype: u8, path: a.c}, r: {dtype: i64, ragged: true}}}}",
    "{decode_csv: {column: record, fields: {x: f32, t: string, y: i64}}}",
    "{decode_csv: {column: record, delimiter: ';', fields: {x: f32, t: string}, select: [1, 4]}}",
    "{decode_csv: {column: record, delimiter: spaces, fields: {x: f32, t: string, c: {dtype: u8, "
    "classes: "
    "['a b']}}, select: [1, 4, 6]}}",
    "{decode_raw: {column: record, to: i16, shape: [3, 5]}}",
    "{decode_raw: {column: record, to: f64}}",
    "{decode_npy: {column: record, dtype: f32, shape: [3, 5]}}",
    "{decode_npy: {column: record, dtype: i64, shape: [2], ragged: true}}",
    "{to_number: {column: record, to: f64}}",
    "{parse_example: {column: record, features: {x: f32, i: {dtype: i64, shape: [150]}, b: bytes, "
    "j: {dtype: bytes, shape: [3]}, r: {dtype: f32, ragged: true}, s: {dtype: f32, indices: at, "
    "max: 9}}}}",
    "{parse_sequence_example: {column: record, context: {x: i64}, sequence: {f: {dtype: f32, "
    "shape: "
    "[2]}}}}",
};

static tnd_ragged_t record_of(tnd_chain_t *chain, tnd_room_t *room)
{
    uint32_t column;
    const stage_t *stage = &chain->stages[0];
    cr_assert_not_null(stage->op->record, "%s", stage->part->table->name);
    tnd_ragged_t record = stage->op->record(stage->state, room, &column);
    cr_assert_eq(column, 1);
    return record;
}

Test(record, each_decoder_accepts_its_own)
{
    for (size_t i = 0; i < sizeof decoders / sizeof *decoders; i++) {
        parsed_t first, again;
        tnd_error_t error;
        tnd_room_t room = {0};
        messages_t messages = {.at = {(const uint8_t *)""}, .count = 1};
        cr_assert_eq(parse(&first, decoders[i], &messages, &error), TND_OK, "%s: %s", decoders[i],
                     error.text);
        tnd_ragged_t record = record_of(first.run.chain, &room);
        cr_assert_leq(record.length, (uint64_t)LONGEST);
        messages.at[0] = record.data;
        messages.sizes[0] = record.length;
        cr_assert_eq(parse(&again, decoders[i], &messages, &error), TND_OK, "%s", error.text);
        cr_assert_eq(again.made->note.bad_count, 0, "%s: %.*s", decoders[i], (int)record.length,
                     (const char *)record.data);
        cr_assert_eq(again.made->note.rows, 1);
        close_parsed(&again);
        close_parsed(&first);
        tnd_room_fini(&room);
    }
}

/*  Random bits are never exactly 1: only the record tells these two apart. */
Test(record, what_follows_a_decoder_is_probed_with_its_record)
{
    static const char *const ops[] = {
        "{decode_json: {column: record, fields: {x: f64}}}, {filter: {column: x, op: eq, value: "
        "1}}",
        "{decode_json: {column: record, fields: {x: f64}}}, {filter: {column: x, op: eq, value: "
        "2}}",
    };
    uint64_t probes[2];
    for (size_t i = 0; i < 2; i++) {
        parsed_t parsed;
        tnd_error_t error;
        messages_t messages = {.at = {(const uint8_t *)""}, .count = 1};
        cr_assert_eq(parse(&parsed, ops[i], &messages, &error), TND_OK, "%s", error.text);
        probes[i] = tnd_chain_probe(parsed.run.chain);
        close_parsed(&parsed);
    }
    cr_assert_neq(probes[0], probes[1]);
}
