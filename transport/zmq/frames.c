/*  transport/zmq/frames.c - a message as the frames of a ZeroMQ message, and back. */
#include "transport/zmq/frames.h"

#include <assert.h>
#include <string.h>

/*  Ragged rows of more bytes are packed into memory of their exact size. */
enum { POOLED_MAX = 1 << 16 };

void tnd_frames_init(tnd_frames_t *self)
{
    memset(self, 0, sizeof *self);
    self->block_pool = tnd_block_pool_new();
    self->holders = tnd_pool_new(sizeof(zmq_msg_t));
}

void tnd_frames_fini(tnd_frames_t *self)
{
    tnd_block_pool_destroy(&self->block_pool);
    tnd_pool_destroy(&self->holders);
    for (size_t i = 0; i < TND_PACK_CLASSES; i++)
        tnd_pool_destroy(&self->classes[i]);
}

static void make_empty(zmq_msg_t *part, size_t size)
{
    int failed = zmq_msg_init_size(part, size);
    assert(failed == 0);
}

/*  Runs on the I/O thread. */
static void drop_buffer(void *data, void *hint)
{
    (void)data;
    tnd_buffer_t *buffer = hint;
    bool is_sealed = tnd_buffer_sealed(buffer);
    assert(is_sealed);
    tnd_buffer_drop(&buffer);
}

/*  Takes the caller's reference to `buffer`. */
static void make_frame(zmq_msg_t *part, tnd_buffer_t *buffer, const void *data, size_t size)
{
    int failed = zmq_msg_init_data(part, (void *)(uintptr_t)data, size, drop_buffer, buffer);
    assert(failed == 0);
}

static tnd_buffer_t *take_room(tnd_frames_t *self, size_t size)
{
    size_t room = tnd_link_room(size);
    unsigned class = (unsigned)__builtin_ctzll(room);
    assert(class < TND_PACK_CLASSES);
    if (self->classes[class] == NULL)
        self->classes[class] = tnd_pool_new(room);
    return tnd_pool_take(self->classes[class]);
}

static tnd_buffer_t *take_rows(tnd_frames_t *self, const tnd_column_t *column, size_t size)
{
    return column->ragged && size > POOLED_MAX ? tnd_buffer_new(size) : take_room(self, size);
}

/*  Contiguous rows of one block are sent without a copy, except mapped pages, which may be lost
 *  before libzmq reads them. */
static bool lend_column(const tnd_block_t *block, uint32_t first, uint32_t rows, uint32_t column,
                        zmq_msg_t *part)
{
    const void *run = tnd_block_run(block, column, first, rows);
    if (run == NULL || tnd_buffer_kind(block->columns[column].buffer) == TND_BUFFER_MAPPED)
        return false;
    make_frame(part, tnd_buffer_hold(block->columns[column].buffer), run,
               tnd_block_rows_bytes(block, column, first, rows));
    return true;
}

static void gather_column(tnd_frames_t *self, const tnd_block_t *block, uint32_t rows,
                          uint32_t column, zmq_msg_t *part)
{
    size_t size = tnd_block_rows_bytes(block, column, 0, rows);
    tnd_buffer_t *buffer = take_rows(self, &block->schema->columns[column], size);
    size_t done = tnd_block_copy(block, column, 0, rows, tnd_buffer_data(buffer));
    assert(done == size);
    self->copied += done;
    tnd_buffer_seal(buffer);
    make_frame(part, buffer, tnd_buffer_data(buffer), done);
}

/*  Makes the frame for the lengths of `rows` rows if columns are ragged; returns 0 or 1 frames. */
static int begin_lengths(const tnd_schema_t *schema, uint32_t rows, zmq_msg_t *part)
{
    uint32_t ragged = tnd_schema_ragged(schema);
    if (ragged == 0)
        return 0;
    make_empty(part, (size_t)ragged * rows * sizeof(uint64_t));
    return 1;
}

/*  Writes the lengths of rows [first, first + some) of a block as rows [at, at + some) of the
 *  `rows` of a frame. */
static void put_lengths(const tnd_block_t *block, uint32_t first, uint32_t some, uint32_t at,
                        uint32_t rows, zmq_msg_t *part)
{
    uint64_t *lengths = zmq_msg_data(part);
    for (uint32_t column = 0; column < block->schema->count; column++) {
        if (!block->schema->columns[column].ragged)
            continue;
        memcpy(lengths + at, block->columns[column].lengths + first, some * sizeof *lengths);
        lengths += rows;
    }
}

static int pack_block(tnd_frames_t *self, const tnd_msg_t *msg, zmq_msg_t *parts)
{
    const tnd_block_note_t *note = &msg->block;
    bool is_sealed = tnd_block_sealed(note->payload);
    assert(is_sealed);
    int count = 0;
    size_t origin_bytes = note->origin == NULL ? 0 : note->rows * sizeof(uint32_t);
    size_t bad_bytes = note->bad_count * sizeof(uint32_t);
    size_t why_bytes = note->why != NULL ? note->why_bytes : 0;
    if (note->origin != NULL || bad_bytes > 0) {
        make_empty(&parts[count], origin_bytes + bad_bytes + why_bytes);
        uint8_t *at = zmq_msg_data(&parts[count++]);
        if (origin_bytes > 0)
            memcpy(at, note->origin, origin_bytes);
        if (bad_bytes > 0)
            memcpy(at + origin_bytes, note->bad, bad_bytes);
        if (why_bytes > 0)
            memcpy(at + origin_bytes + bad_bytes, note->why, why_bytes);
    }
    if (note->rows == 0)
        return count;
    const tnd_block_t *block = note->payload;
    if (begin_lengths(block->schema, note->rows, &parts[count]) > 0)
        put_lengths(block, 0, note->rows, 0, note->rows, &parts[count++]);
    for (uint32_t column = 0; column < block->schema->count; column++, count++)
        if (!lend_column(block, 0, note->rows, column, &parts[count]))
            gather_column(self, block, note->rows, column, &parts[count]);
    return count;
}

static void pack_slice_column(tnd_frames_t *self, const tnd_slice_t *slice, uint32_t column,
                              zmq_msg_t *part)
{
    uint32_t rows = slice->note.rows;
    if (slice->piece_count == 1 &&
        lend_column(slice->pieces[0].block, slice->pieces[0].first, rows, column, part))
        return;
    size_t size = 0, done = 0;
    for (uint32_t i = 0; i < slice->piece_count; i++)
        size += tnd_block_rows_bytes(slice->pieces[i].block, column, slice->pieces[i].first,
                                     slice->pieces[i].rows);
    tnd_buffer_t *buffer = take_rows(self, &slice->schema->columns[column], size);
    uint8_t *at = tnd_buffer_data(buffer);
    for (uint32_t i = 0; i < slice->piece_count; i++)
        done += tnd_block_copy(slice->pieces[i].block, column, slice->pieces[i].first,
                               slice->pieces[i].rows, at + done);
    assert(done == size);
    self->copied += done;
    tnd_buffer_seal(buffer);
    make_frame(part, buffer, at, done);
}

static int pack_slice(tnd_frames_t *self, const tnd_slice_t *slice, zmq_msg_t *parts)
{
    uint32_t rows = slice->note.rows;
    if (rows == 0)
        return 0;
    int lengths = begin_lengths(slice->schema, rows, &parts[0]);
    for (uint32_t i = 0, at = 0; lengths > 0 && i < slice->piece_count; i++) {
        put_lengths(slice->pieces[i].block, slice->pieces[i].first, slice->pieces[i].rows, at, rows,
                    &parts[0]);
        at += slice->pieces[i].rows;
    }
    for (uint32_t column = 0; column < slice->schema->count; column++)
        pack_slice_column(self, slice, column, &parts[lengths + (int)column]);
    return lengths + (int)slice->schema->count;
}

static int pack_cursor(const tnd_cursor_t *cursor, zmq_msg_t *part)
{
    make_empty(part, TND_CURSOR_FIXED_BYTES + 24 * (size_t)cursor->lanes);
    uint8_t *bytes = zmq_msg_data(part);
    size_t room = zmq_msg_size(part);
    size_t size = tnd_cursor_encode(cursor, bytes, room);
    assert(size <= room);
    zmq_msg_t exact;
    make_empty(&exact, size);
    memcpy(zmq_msg_data(&exact), bytes, size);
    zmq_msg_move(part, &exact);
    zmq_msg_close(&exact);
    return 1;
}

static void pack_bytes(zmq_msg_t *part, const void *bytes, size_t size)
{
    make_empty(part, size);
    memcpy(zmq_msg_data(part), bytes, size);
}

static void pack_header(const tnd_msg_t *msg, tnd_carry_t carry, zmq_msg_t *part)
{
    uint8_t header[TND_WIRE_BYTES_MAX];
    pack_bytes(part, header, tnd_wire_encode(msg, carry, header));
}

int tnd_frames_pack_reference(const tnd_msg_t *msg, const void *reference, size_t size,
                              zmq_msg_t parts[TND_FRAMES_MAX])
{
    pack_header(msg, TND_CARRY_BUFFER, &parts[0]);
    make_empty(&parts[1], 0);
    pack_bytes(&parts[2], reference, size);
    return 3;
}

int tnd_frames_pack(tnd_frames_t *self, const tnd_msg_t *msg, tnd_carry_t carry,
                    zmq_msg_t parts[TND_FRAMES_MAX])
{
    pack_header(msg, carry, &parts[0]);
    switch (carry) {
    case TND_CARRY_NOTHING:
        break;
    case TND_CARRY_BLOCK:
        return 1 + pack_block(self, msg, parts + 1);
    case TND_CARRY_SLICE:
        return 1 + pack_slice(self, msg->slice.payload, parts + 1);
    case TND_CARRY_BUFFER: {
        tnd_msg_t copy = *msg;
        tnd_buffer_t *buffer = *tnd_msg_payload(&copy);
        make_frame(&parts[1], tnd_buffer_hold(buffer), tnd_buffer_data(buffer),
                   tnd_buffer_size(buffer));
        return 2;
    }
    case TND_CARRY_CURSOR:
        return 1 + pack_cursor(msg->rewind.cursor, parts + 1);
    }
    return 1;
}

static void release_part(void *owner)
{
    tnd_buffer_t *holder = owner;
    zmq_msg_close(tnd_buffer_data(holder));
    tnd_buffer_drop(&holder);
}

static void release_copy(void *owner)
{
    tnd_buffer_t *copy = owner;
    tnd_buffer_drop(&copy);
}

/*  Takes a received part as a buffer aligned to `align`. */
static tnd_buffer_t *receive_part(tnd_frames_t *self, zmq_msg_t *part, size_t align)
{
    tnd_buffer_t *holder = tnd_pool_take(self->holders);
    zmq_msg_t *kept = tnd_buffer_data(holder);
    zmq_msg_init(kept);
    zmq_msg_move(kept, part);
    void *data = zmq_msg_data(kept);
    size_t size = zmq_msg_size(kept);
    tnd_buffer_seal(holder);
    if ((uintptr_t)data % align == 0)
        return tnd_buffer_wrap(TND_BUFFER_RECEIVED, data, size, release_part, holder);

    tnd_buffer_t *copy = take_room(self, size);
    memcpy(tnd_buffer_data(copy), data, size);
    self->copied += size;
    tnd_buffer_seal(copy);
    release_part(holder);
    return tnd_buffer_wrap(TND_BUFFER_HEAP, tnd_buffer_data(copy), size, release_copy, copy);
}

/*  Whether the offsets ascend, each by at least one if `strict`, all below `end`. */
static bool ascend(const uint32_t *offsets, uint32_t count, uint32_t end, bool strict)
{
    for (uint32_t i = 0; i < count; i++) {
        if (offsets[i] >= end)
            return false;
        if (i > 0 && (strict ? offsets[i] <= offsets[i - 1] : offsets[i] < offsets[i - 1]))
            return false;
    }
    return true;
}

/*  Whether the size of a ragged column's values equals the sum of its lengths. */
static tnd_status_t check_ragged(const tnd_column_t *column, uint32_t rows, const uint8_t *lengths,
                                 size_t bytes, tnd_error_t *error)
{
    size_t unit = tnd_column_unit(column), left = bytes / unit;
    bool fits = bytes % unit == 0;
    for (uint32_t i = 0; i < rows; i++) {
        uint64_t length;
        memcpy(&length, lengths + i * sizeof length, sizeof length);
        if (length > column->shape[0])
            return tnd_fail(error, "row %u of ragged column %s has length %llu, above %llu", i,
                            column->name, (unsigned long long)length,
                            (unsigned long long)column->shape[0]);
        fits = fits && length <= left;
        left -= fits ? length : 0;
    }
    if (fits && left == 0)
        return TND_OK;
    return tnd_fail(error, "%zu bytes of ragged column %s do not match its %u rows", bytes,
                    column->name, rows);
}

static tnd_status_t check_columns(const tnd_schema_t *schema, uint32_t rows, zmq_msg_t *parts,
                                  int count, tnd_error_t *error)
{
    const uint8_t *lengths = NULL;
    if (rows == 0)
        return count == 0 ? TND_OK : tnd_fail(error, "a message without rows has columns");
    if (schema == NULL)
        return tnd_fail(error, "rows were received where none are expected");
    uint32_t ragged = tnd_schema_ragged(schema);
    if (count != (int)schema->count + (ragged > 0))
        return tnd_fail(error, "rows were received in %d frames, but the stream has %u columns%s",
                        count, schema->count, ragged > 0 ? " and lengths" : "");
    if (ragged > 0) {
        if (zmq_msg_size(&parts[0]) != (size_t)ragged * rows * sizeof(uint64_t))
            return tnd_fail(error, "%u rows were received with %zu bytes of lengths", rows,
                            zmq_msg_size(&parts[0]));
        lengths = zmq_msg_data(parts++);
        count--;
    }
    for (int i = 0; i < count; i++) {
        size_t bytes = tnd_column_bytes(&schema->columns[i]), size = 0;
        if (schema->columns[i].ragged) {
            TND_TRY(
                check_ragged(&schema->columns[i], rows, lengths, zmq_msg_size(&parts[i]), error));
            lengths += rows * sizeof(uint64_t);
            continue;
        }
        if (__builtin_mul_overflow(bytes, (size_t)rows, &size) || zmq_msg_size(&parts[i]) != size)
            return tnd_fail(error,
                            "%zu bytes were received for %u rows of column %s, of %zu bytes each",
                            zmq_msg_size(&parts[i]), rows, schema->columns[i].name, bytes);
    }
    return TND_OK;
}

/*  Writes the lists of the ragged columns: where each row begins, and how long it is. */
static void make_lists(tnd_frames_t *self, tnd_block_t *block, uint32_t rows, zmq_msg_t *part)
{
    const tnd_schema_t *schema = block->schema;
    size_t size = zmq_msg_size(part);
    block->index = take_room(self, 2 * size);
    uint64_t *lengths = tnd_buffer_data(block->index), *offsets = lengths + size / sizeof *lengths;
    memcpy(lengths, zmq_msg_data(part), size);
    for (uint32_t i = 0; i < schema->count; i++) {
        if (!schema->columns[i].ragged)
            continue;
        size_t unit = tnd_column_unit(&schema->columns[i]);
        for (uint64_t row = 0, at = 0; row < rows; at += lengths[row++] * unit)
            offsets[row] = at;
        block->columns[i].stride = 1;
        block->columns[i].index = offsets;
        block->columns[i].lengths = lengths;
        lengths += rows;
        offsets += rows;
    }
    tnd_buffer_seal(block->index);
}

static tnd_block_t *make_block(tnd_frames_t *self, const tnd_schema_t *schema, uint32_t rows,
                               zmq_msg_t *parts)
{
    tnd_block_t *block = tnd_block_pool_take(self->block_pool, schema);
    if (rows == 0)
        return block;
    if (tnd_schema_ragged(schema) > 0)
        make_lists(self, block, rows, parts++);
    for (uint32_t i = 0; i < schema->count; i++) {
        tnd_block_column_t *column = &block->columns[i];
        column->buffer = receive_part(self, &parts[i], tnd_dtype_size(schema->columns[i].dtype));
        column->base = tnd_buffer_data(column->buffer);
        if (!schema->columns[i].ragged)
            column->stride = tnd_column_bytes(&schema->columns[i]);
    }
    return block;
}

/*  Whether a block with ragged columns has at most the bytes that it declares, for which memory is
 *  reserved. */
static bool keeps_bytes(const tnd_schema_t *schema, const tnd_block_note_t *note, zmq_msg_t *parts,
                        int count)
{
    uint64_t bytes = 0;
    if (tnd_schema_ragged(schema) == 0)
        return true;
    for (int i = 1; i < count; i++)
        bytes += zmq_msg_size(&parts[i]);
    return bytes <= note->bytes;
}

/*  Whether `text` is `count` strings, each with its terminating zero. */
static bool is_texts(const char *text, size_t bytes, uint32_t count)
{
    uint32_t ends = 0;
    for (size_t i = 0; i < bytes; i++)
        ends += text[i] == '\0';
    return bytes == 0 || (ends == count && text[bytes - 1] == '\0');
}

static tnd_status_t unpack_block(tnd_frames_t *self, tnd_msg_t *msg, const tnd_wire_form_t *form,
                                 const tnd_schema_t *schema, zmq_msg_t *parts, int count,
                                 tnd_error_t *error)
{
    tnd_block_note_t *note = &msg->block;
    bool has_marks = form->has_origin || note->bad_count > 0;
    size_t origins = form->has_origin ? note->rows : 0;
    if (schema == NULL)
        return tnd_fail(error, "a block was received where none is expected");
    if (has_marks &&
        (count < 1 || zmq_msg_size(&parts[0]) !=
                          (origins + note->bad_count) * sizeof(uint32_t) + note->why_bytes))
        return tnd_fail(error, "a block of %u rows has marks of another size", note->rows);
    if (note->measured > schema->count ||
        (note->measured > 0 && !schema->columns[note->measured - 1].ragged))
        return tnd_fail(error, "a block carries lengths of a column that is not ragged");
    int marks = has_marks ? 1 : 0;
    TND_TRY(check_columns(schema, note->rows, parts + marks, count - marks, error));
    if (!keeps_bytes(schema, note, parts + marks, count - marks))
        return tnd_fail(error, "a block has more bytes than the %llu that it declares",
                        (unsigned long long)note->bytes);

    tnd_buffer_t *buffer = NULL;
    if (has_marks) {
        buffer = receive_part(self, &parts[0], sizeof(uint32_t));
        const uint32_t *offsets = tnd_buffer_data(buffer);
        if (!ascend(offsets, (uint32_t)origins, note->count, false) ||
            !ascend(offsets + origins, note->bad_count, note->count, true) ||
            !is_texts((const char *)(offsets + origins + note->bad_count), note->why_bytes,
                      note->bad_count)) {
            tnd_buffer_drop(&buffer);
            return tnd_fail(error, "a block has marks outside its %u positions", note->count);
        }
        note->origin = form->has_origin ? offsets : NULL;
        note->bad = note->bad_count > 0 ? offsets + origins : NULL;
        if (note->why_bytes > 0)
            note->why = (const char *)(offsets + origins + note->bad_count);
    }
    tnd_block_t *block = make_block(self, schema, note->rows, parts + marks);
    block->marks = buffer;
    if (note->measured > 0)
        tnd_block_measure(block, note->measured - 1, note);
    block->note = *note;
    tnd_block_seal(block);
    note->payload = block;
    return TND_OK;
}

static tnd_status_t unpack_slice(tnd_frames_t *self, tnd_msg_t *msg, const tnd_schema_t *schema,
                                 zmq_msg_t *parts, int count, tnd_error_t *error)
{
    tnd_slice_note_t *note = &msg->slice;
    if (schema == NULL)
        return tnd_fail(error, "a slice was received where none is expected");
    TND_TRY(check_columns(schema, note->rows, parts, count, error));
    tnd_block_t *block = make_block(self, schema, note->rows, parts);
    block->note.rows = note->rows;
    block->note.count = note->rows;
    tnd_block_seal(block);
    tnd_piece_t piece = {.payload = block, .first = 0, .rows = note->rows};
    note->payload =
        tnd_block_pool_slice(self->block_pool, schema, note, &piece, note->rows > 0 ? 1 : 0);
    tnd_block_drop(&block);
    return TND_OK;
}

tnd_status_t tnd_frames_unpack(tnd_frames_t *self, tnd_msg_t *msg, const tnd_wire_form_t *form,
                               const tnd_schema_t *schema, zmq_msg_t *parts, int count,
                               tnd_error_t *error)
{
    switch (form->carry) {
    case TND_CARRY_NOTHING:
        break;
    case TND_CARRY_BLOCK:
        return unpack_block(self, msg, form, schema, parts + 1, count - 1, error);
    case TND_CARRY_SLICE:
        return unpack_slice(self, msg, schema, parts + 1, count - 1, error);
    case TND_CARRY_BUFFER:
        if (count != 2)
            return tnd_fail(error, "a buffer was received in %d frames instead of one", count - 1);
        *tnd_msg_payload(msg) = receive_part(self, &parts[1], sizeof(uint64_t));
        return TND_OK;
    case TND_CARRY_CURSOR:
        if (count != 2)
            return tnd_fail(error, "a cursor was received in %d frames instead of one", count - 1);
        TND_TRY(tnd_cursor_decode(&self->cursor, zmq_msg_data(&parts[1]), zmq_msg_size(&parts[1]),
                                  error));
        msg->rewind.cursor = &self->cursor;
        return TND_OK;
    }
    return count == 1 ? TND_OK
                      : tnd_fail(error, "%d frames follow a header without payload", count - 1);
}
