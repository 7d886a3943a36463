/*  Covers transport/zmq/frames.h: what is lent is not copied, what is gathered is copied once and
 *  counted, and frames that are not what the header says make nothing. */
#include "transport/zmq/frames.h"

#include <string.h>

#include <criterion/criterion.h>

typedef struct {
    tnd_frames_t frames;
    tnd_schema_t schema;
    tnd_block_pool_t *block_pool;
    tnd_pool_t *pool;
} bench_t;

static void open_bench(bench_t *self)
{
    memset(self, 0, sizeof *self);
    tnd_frames_init(&self->frames);
    cr_assert_eq(tnd_schema_add(&self->schema, "x", TND_F32, 1, (uint64_t[]){3}, NULL), TND_OK);
    cr_assert_eq(tnd_schema_add(&self->schema, "y", TND_U8, 0, NULL, NULL), TND_OK);
    self->block_pool = tnd_block_pool_new();
    self->pool = tnd_pool_new(4096);
}

static void close_bench(bench_t *self)
{
    cr_assert_eq(tnd_pool_out(self->pool), 0);
    for (size_t i = 0; i < TND_PACK_CLASSES; i++)
        if (self->frames.classes[i] != NULL)
            cr_assert_eq(tnd_pool_out(self->frames.classes[i]), 0);
    cr_assert_eq(tnd_pool_out(self->frames.holders), 0);
    tnd_frames_fini(&self->frames);
    tnd_block_pool_destroy(&self->block_pool);
    tnd_pool_destroy(&self->pool);
}

static tnd_block_t *make_block(bench_t *self, uint32_t rows)
{
    tnd_block_t *block = tnd_block_pool_take(self->block_pool, &self->schema);
    block->note = (tnd_block_note_t){.count = rows, .asked = rows, .rows = rows};
    for (uint32_t column = 0; column < 2; column++) {
        tnd_buffer_t *buffer = tnd_pool_take(self->pool);
        for (uint32_t i = 0; i < 4096; i++)
            ((uint8_t *)tnd_buffer_data(buffer))[i] = (uint8_t)(i * 5 + column);
        tnd_buffer_seal(buffer);
        block->columns[column] = (tnd_block_column_t){
            .base = tnd_buffer_data(buffer), .stride = column == 0 ? 12 : 1, .buffer = buffer};
    }
    return block;
}

static tnd_msg_t message_of(tnd_block_t *block)
{
    if (!tnd_block_sealed(block))
        tnd_block_seal(block);
    tnd_msg_t msg = {.kind = TND_MSG_BLOCK, .block = block->note};
    msg.block.payload = block;
    return msg;
}

static void close_parts(zmq_msg_t *parts, int count)
{
    for (int i = 0; i < count; i++)
        zmq_msg_close(&parts[i]);
}

Test(frames, packed_columns_are_not_copied)
{
    bench_t bench;
    open_bench(&bench);
    tnd_block_t *block = make_block(&bench, 10);
    const void *rows = block->columns[0].base;
    tnd_msg_t msg = message_of(block);
    zmq_msg_t parts[TND_FRAMES_MAX];

    int count = tnd_frames_pack(&bench.frames, &msg, TND_CARRY_BLOCK, parts);

    cr_assert_eq(count, 3);
    cr_assert_eq(zmq_msg_data(&parts[1]), rows);
    cr_assert_eq(zmq_msg_size(&parts[1]), 120);
    cr_assert_eq(bench.frames.copied, 0);
    tnd_block_drop(&block);
    cr_assert_eq(tnd_pool_out(bench.pool), 2, "the frames hold the buffers");
    close_parts(parts, count);
    close_bench(&bench);
}

static void forget(void *owner)
{
    (void)owner;
}

/*  libzmq would read them when the file may have shrunk. */
Test(frames, columns_in_mapped_files_are_copied)
{
    static _Alignas(64) uint8_t rows[120];
    bench_t bench;
    open_bench(&bench);
    tnd_block_t *block = make_block(&bench, 10);
    tnd_buffer_drop(&block->columns[0].buffer);
    block->columns[0].base = rows;
    block->columns[0].buffer = tnd_buffer_wrap(TND_BUFFER_MAPPED, rows, sizeof rows, forget, NULL);
    tnd_msg_t msg = message_of(block), slice = {.kind = TND_MSG_SLICE};
    tnd_piece_t piece = {.payload = block, .first = 0, .rows = 10};
    slice.slice = (tnd_slice_note_t){.rows = 10, .total = 10};
    slice.slice.payload =
        tnd_block_pool_slice(bench.block_pool, &bench.schema, &slice.slice, &piece, 1);
    zmq_msg_t parts[2][TND_FRAMES_MAX];

    int count[2] = {tnd_frames_pack(&bench.frames, &msg, TND_CARRY_BLOCK, parts[0]),
                    tnd_frames_pack(&bench.frames, &slice, TND_CARRY_SLICE, parts[1])};

    for (int i = 0; i < 2; i++) {
        cr_assert_eq(count[i], 3);
        cr_assert_neq(zmq_msg_data(&parts[i][1]), rows);
        cr_assert_eq(zmq_msg_data(&parts[i][2]), block->columns[1].base);
        cr_assert_eq(memcmp(zmq_msg_data(&parts[i][1]), rows, sizeof rows), 0);
        close_parts(parts[i], count[i]);
    }
    cr_assert_eq(bench.frames.copied, 2 * sizeof rows);
    tnd_msg_drop(&slice, TND_CARRY_SLICE);
    tnd_block_drop(&block);
    close_bench(&bench);
}

Test(frames, gathered_columns_are_copied_once_and_counted)
{
    bench_t bench;
    open_bench(&bench);
    tnd_block_t *block = make_block(&bench, 4);
    block->index = tnd_pool_take(bench.pool);
    memcpy(tnd_buffer_data(block->index), (uint64_t[]){7, 1, 3, 0}, 32);
    tnd_buffer_seal(block->index);
    block->columns[0].index = block->columns[1].index = tnd_buffer_data(block->index);
    tnd_msg_t msg = message_of(block);
    zmq_msg_t parts[TND_FRAMES_MAX];

    int count = tnd_frames_pack(&bench.frames, &msg, TND_CARRY_BLOCK, parts);

    cr_assert_eq(bench.frames.copied, 4 * 13);
    cr_assert_arr_eq((uint8_t *)zmq_msg_data(&parts[1]), block->columns[0].base + 7 * 12, 12);
    cr_assert_arr_eq((uint8_t *)zmq_msg_data(&parts[2]), ((uint8_t[]){36, 6, 16, 1}), 4);
    close_parts(parts, count);
    tnd_block_drop(&block);
    close_bench(&bench);
}

Test(frames, a_slice_of_one_packed_block_is_not_copied)
{
    bench_t bench;
    open_bench(&bench);
    tnd_block_t *block = make_block(&bench, 10);
    (void)message_of(block);
    tnd_piece_t piece = {block, 3, 2, NULL};
    tnd_slice_note_t note = {.rows = 2, .total = 2};
    tnd_msg_t msg = {.kind = TND_MSG_SLICE, .slice = note};
    msg.slice.payload = tnd_block_pool_slice(bench.block_pool, &bench.schema, &note, &piece, 1);
    zmq_msg_t parts[TND_FRAMES_MAX];

    int count = tnd_frames_pack(&bench.frames, &msg, TND_CARRY_SLICE, parts);

    cr_assert_eq(zmq_msg_data(&parts[1]), block->columns[0].base + 36);
    cr_assert_eq(bench.frames.copied, 0);
    close_parts(parts, count);
    tnd_msg_drop(&msg, TND_CARRY_SLICE);
    tnd_block_drop(&block);
    close_bench(&bench);
}

/*  Frames as they would come from a wire: copies. */
static void copy_parts(zmq_msg_t *copies, zmq_msg_t *parts, int count)
{
    for (int i = 0; i < count; i++) {
        zmq_msg_init_size(&copies[i], zmq_msg_size(&parts[i]));
        memcpy(zmq_msg_data(&copies[i]), zmq_msg_data(&parts[i]), zmq_msg_size(&parts[i]));
    }
}

Test(frames, received_columns_are_not_copied)
{
    bench_t bench;
    open_bench(&bench);
    tnd_block_t *block = make_block(&bench, 300);
    tnd_msg_t msg = message_of(block), back;
    tnd_wire_form_t form;
    zmq_msg_t parts[TND_FRAMES_MAX], copies[TND_FRAMES_MAX];
    int count = tnd_frames_pack(&bench.frames, &msg, TND_CARRY_BLOCK, parts);
    copy_parts(copies, parts, count);
    const void *rows = zmq_msg_data(&copies[1]);
    cr_assert_eq(
        tnd_wire_decode(&back, &form, zmq_msg_data(&copies[0]), zmq_msg_size(&copies[0]), NULL),
        TND_OK);

    cr_assert_eq(tnd_frames_unpack(&bench.frames, &back, &form, &bench.schema, copies, count, NULL),
                 TND_OK);
    close_parts(copies, count);

    const tnd_block_t *got = back.block.payload;
    cr_assert_eq(got->columns[0].base, rows);
    cr_assert_eq(tnd_buffer_kind(got->columns[0].buffer), TND_BUFFER_RECEIVED);
    cr_assert_eq(bench.frames.copied, 0);
    cr_assert_arr_eq((const uint8_t *)tnd_block_row(got, 1, 0), block->columns[1].base, 300);
    tnd_msg_drop(&back, TND_CARRY_BLOCK);
    close_parts(parts, count);
    tnd_block_drop(&block);
    close_bench(&bench);
}

static void keep(void *data, void *hint)
{
    (void)data, (void)hint;
}

Test(frames, a_misaligned_column_is_copied)
{
    bench_t bench;
    open_bench(&bench);
    tnd_block_t *block = make_block(&bench, 8);
    tnd_msg_t msg = message_of(block), back;
    tnd_wire_form_t form;
    zmq_msg_t parts[TND_FRAMES_MAX], copies[TND_FRAMES_MAX];
    int count = tnd_frames_pack(&bench.frames, &msg, TND_CARRY_BLOCK, parts);
    copy_parts(copies, parts, count);
    static _Alignas(64) uint8_t odd[200];
    memcpy(odd + 1, zmq_msg_data(&parts[1]), 96);
    zmq_msg_close(&copies[1]);
    zmq_msg_init_data(&copies[1], odd + 1, 96, keep, NULL);
    cr_assert_eq(
        tnd_wire_decode(&back, &form, zmq_msg_data(&copies[0]), zmq_msg_size(&copies[0]), NULL),
        TND_OK);

    cr_assert_eq(tnd_frames_unpack(&bench.frames, &back, &form, &bench.schema, copies, count, NULL),
                 TND_OK);
    close_parts(copies, count);

    const tnd_block_t *got = back.block.payload;
    cr_assert_eq((uintptr_t)got->columns[0].base % 4, 0);
    cr_assert_eq(bench.frames.copied, 96);
    cr_assert_arr_eq(got->columns[0].base, odd + 1, 96);
    tnd_msg_drop(&back, TND_CARRY_BLOCK);
    close_parts(parts, count);
    tnd_block_drop(&block);
    close_bench(&bench);
}

/*  Ragged rows of up to 5 u16 beside a number, contiguous or not. */
static tnd_block_t *make_ragged(bench_t *self, bool packed)
{
    static const uint64_t lengths[] = {3, 0, 5, 1}, together[] = {0, 6, 6, 16},
                          apart[] = {40, 0, 6, 100};
    self->schema = (tnd_schema_t){0};
    cr_assert_eq(tnd_schema_add(&self->schema, "y", TND_U8, 0, NULL, NULL), TND_OK);
    cr_assert_eq(tnd_schema_add_ragged(&self->schema, "x", TND_U16, 1, (uint64_t[]){5}, NULL),
                 TND_OK);
    tnd_block_t *block = make_block(self, 4);
    block->columns[0].stride = 1;
    block->columns[1].stride = 1;
    block->columns[1].index = packed ? together : apart;
    block->columns[1].lengths = lengths;
    block->note.bytes = tnd_block_bytes(block);
    cr_assert_eq(block->note.bytes, 4 + 18);
    return block;
}

static void assert_rows(const tnd_block_t *got, const tnd_block_t *sent)
{
    for (uint32_t row = 0; row < 4; row++) {
        size_t bytes = tnd_block_row_bytes(sent, 1, row);
        cr_assert_eq(tnd_block_row_bytes(got, 1, row), bytes);
        cr_assert_arr_eq((const uint8_t *)tnd_block_row(got, 1, row),
                         (const uint8_t *)tnd_block_row(sent, 1, row), bytes);
        cr_assert_eq(*(const uint8_t *)tnd_block_row(got, 0, row),
                     *(const uint8_t *)tnd_block_row(sent, 0, row));
    }
}

Test(frames, ragged_rows_come_with_their_lengths)
{
    for (int packed = 0; packed < 2; packed++) {
        bench_t bench;
        open_bench(&bench);
        tnd_block_t *block = make_ragged(&bench, packed == 1);
        tnd_msg_t msg = message_of(block), back;
        tnd_wire_form_t form;
        zmq_msg_t parts[TND_FRAMES_MAX], copies[TND_FRAMES_MAX];

        int count = tnd_frames_pack(&bench.frames, &msg, TND_CARRY_BLOCK, parts);
        cr_assert_eq(count, 4);
        cr_assert_eq(zmq_msg_size(&parts[1]), 4 * sizeof(uint64_t));
        cr_assert_eq(zmq_msg_size(&parts[3]), 18);
        cr_assert_eq(bench.frames.copied, packed ? 0 : 18, "rows that lie together are lent");
        copy_parts(copies, parts, count);
        cr_assert_eq(
            tnd_wire_decode(&back, &form, zmq_msg_data(&copies[0]), zmq_msg_size(&copies[0]), NULL),
            TND_OK);
        cr_assert_eq(
            tnd_frames_unpack(&bench.frames, &back, &form, &bench.schema, copies, count, NULL),
            TND_OK);
        close_parts(copies, count);

        assert_rows(back.block.payload, block);
        tnd_msg_drop(&back, TND_CARRY_BLOCK);
        close_parts(parts, count);
        tnd_block_drop(&block);
        close_bench(&bench);
    }
}

/*  Sends a block that carries the lengths of column `measured`, less 1, and receives it. */
static tnd_status_t carry_lengths(bench_t *bench, const tnd_block_t *block, uint32_t measured,
                                  tnd_msg_t *back, tnd_error_t *error)
{
    tnd_msg_t msg = message_of((tnd_block_t *)(uintptr_t)block);
    tnd_wire_form_t form;
    zmq_msg_t parts[TND_FRAMES_MAX];
    msg.block.measured = measured;
    int count = tnd_frames_pack(&bench->frames, &msg, TND_CARRY_BLOCK, parts);
    tnd_status_t status =
        tnd_wire_decode(back, &form, zmq_msg_data(&parts[0]), zmq_msg_size(&parts[0]), error);
    if (status == TND_OK)
        status =
            tnd_frames_unpack(&bench->frames, back, &form, &bench->schema, parts, count, error);
    close_parts(parts, count);
    return status;
}

Test(frames, a_block_carries_the_lengths_of_the_column_that_it_names)
{
    bench_t bench;
    tnd_msg_t back;
    tnd_error_t error;
    open_bench(&bench);
    tnd_block_t *block = make_ragged(&bench, false);
    cr_assert(carry_lengths(&bench, block, 2, &back, &error) == TND_OK, "%s", error.text);
    cr_assert_arr_eq(back.block.lengths, ((uint64_t[]){3, 0, 5, 1}), 32);
    tnd_msg_drop(&back, TND_CARRY_BLOCK);
    cr_assert(carry_lengths(&bench, block, 1, &back, &error) == TND_FAILED, "it is not ragged");
    cr_assert_not_null(strstr(error.text, "not ragged"));
    cr_assert(carry_lengths(&bench, block, 3, &back, &error) == TND_FAILED, "it does not exist");
    tnd_block_drop(&block);
    close_bench(&bench);
}

Test(frames, a_slice_of_ragged_rows_of_several_blocks_is_one_run)
{
    bench_t bench;
    open_bench(&bench);
    tnd_block_t *block = make_ragged(&bench, false);
    (void)message_of(block);
    tnd_piece_t pieces[] = {{block, 2, 2, NULL}, {block, 0, 2, NULL}};
    tnd_slice_note_t note = {.rows = 4, .total = 4};
    tnd_msg_t msg = {.kind = TND_MSG_SLICE, .slice = note}, back;
    msg.slice.payload = tnd_block_pool_slice(bench.block_pool, &bench.schema, &note, pieces, 2);
    cr_assert_eq(tnd_slice_bytes(msg.slice.payload), 22);
    tnd_wire_form_t form;
    zmq_msg_t parts[TND_FRAMES_MAX];

    int count = tnd_frames_pack(&bench.frames, &msg, TND_CARRY_SLICE, parts);
    cr_assert_eq(
        tnd_wire_decode(&back, &form, zmq_msg_data(&parts[0]), zmq_msg_size(&parts[0]), NULL),
        TND_OK);
    cr_assert_eq(tnd_frames_unpack(&bench.frames, &back, &form, &bench.schema, parts, count, NULL),
                 TND_OK);
    close_parts(parts, count);

    const tnd_slice_t *slice = back.slice.payload;
    const tnd_block_t *got = slice->pieces[0].block;
    cr_assert_arr_eq(got->columns[1].lengths, ((uint64_t[]){5, 1, 3, 0}), 32);
    cr_assert_arr_eq((const uint8_t *)tnd_block_row(got, 1, 2),
                     (const uint8_t *)tnd_block_row(block, 1, 0), 6);
    tnd_msg_drop(&back, TND_CARRY_SLICE);
    tnd_msg_drop(&msg, TND_CARRY_SLICE);
    tnd_block_drop(&block);
    close_bench(&bench);
}

Test(frames, false_lengths_are_refused)
{
    static const struct {
        uint64_t lengths[4], bytes;
        const char *text;
    } cases[] = {
        {{3, 0, 5, 2}, 22, "do not match its 4 rows"},
        {{3, 0, 5, 0}, 22, "do not match its 4 rows"},
        {{3, 1, 6, 1}, 22, "length 6, above 5"},
        {{UINT64_MAX, 2, 5, 1}, 22, "above 5"},
        {{UINT64_C(1) << 63, UINT64_C(1) << 63, 5, 4}, 22, "above 5"},
        {{3, 0, 5, 1}, 21, "more bytes than the 21"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        bench_t bench;
        open_bench(&bench);
        tnd_block_t *block = make_ragged(&bench, false);
        block->note.bytes = cases[i].bytes;
        tnd_msg_t msg = message_of(block), back;
        tnd_wire_form_t form;
        tnd_error_t error = {.text = ""};
        zmq_msg_t parts[TND_FRAMES_MAX];
        int count = tnd_frames_pack(&bench.frames, &msg, TND_CARRY_BLOCK, parts);
        memcpy(zmq_msg_data(&parts[1]), cases[i].lengths, sizeof cases[i].lengths);
        cr_assert_eq(
            tnd_wire_decode(&back, &form, zmq_msg_data(&parts[0]), zmq_msg_size(&parts[0]), NULL),
            TND_OK);

        cr_assert_eq(
            tnd_frames_unpack(&bench.frames, &back, &form, &bench.schema, parts, count, &error),
            TND_FAILED);

        cr_assert_not_null(strstr(error.text, cases[i].text), "%s", error.text);
        close_parts(parts, count);
        tnd_block_drop(&block);
        close_bench(&bench);
    }
}

/*  Bits flipped in the header, frames of other sizes, too many and too few of them. */
Test(frames, damaged_messages_are_decoded_or_refused)
{
    bench_t bench;
    open_bench(&bench);
    tnd_block_t *block = make_block(&bench, 6);
    block->marks = tnd_pool_take(bench.pool);
    memcpy(tnd_buffer_data(block->marks), (uint32_t[]){0, 1, 2, 4, 5, 6, 3}, 28);
    tnd_buffer_seal(block->marks);
    block->note.origin = tnd_buffer_data(block->marks);
    block->note.bad = block->note.origin + 6;
    block->note.bad_count = 1;
    block->note.count = 7;
    tnd_msg_t msg = message_of(block), back;
    tnd_wire_form_t form;
    zmq_msg_t parts[TND_FRAMES_MAX], copies[TND_FRAMES_MAX];
    int whole = tnd_frames_pack(&bench.frames, &msg, TND_CARRY_BLOCK, parts);
    uint64_t random = 88172645463325252u;
    unsigned made = 0, refused = 0;

    for (unsigned round = 0; round < 20000; round++) {
        random ^= random << 13, random ^= random >> 7, random ^= random << 17;
        copy_parts(copies, parts, whole);
        int count = random % 5 == 0 ? 1 + (int)(random >> 8) % whole : whole;
        if (count < 1 || count > whole)
            count = 1;
        zmq_msg_t *victim = &copies[(random >> 16) % (unsigned)whole];
        uint8_t *bytes = zmq_msg_data(victim);
        bytes[(random >> 24) % zmq_msg_size(victim)] ^= (uint8_t)(1u << ((random >> 32) % 8));
        if (tnd_wire_decode(&back, &form, zmq_msg_data(&copies[0]), zmq_msg_size(&copies[0]),
                            NULL) == TND_OK) {
            const tnd_schema_t *schema = round % 50 == 0 ? NULL : &bench.schema;
            if (tnd_frames_unpack(&bench.frames, &back, &form, schema, copies, count, NULL) ==
                TND_OK) {
                made++;
                tnd_msg_drop(&back, form.carry);
            } else {
                refused++;
            }
        }
        close_parts(copies, whole);
    }

    cr_assert_gt(made, 0);
    cr_assert_gt(refused, 0);
    close_parts(parts, whole);
    tnd_block_drop(&block);
    close_bench(&bench);
}
