/*  tests/fuzz/wire_fuzz.c - messages: headers alone; after a byte FRAMES with the frames that
 *  follow them, each its size as u16 little-endian and its bytes; after a byte KIND, of the kind
 *  that the next one says, with other bytes in places: pairs of a place and what is changed there.
 *
 *  The version of a header is made the present one, so that the corpus outlives it; 0xff stays. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "tests/fuzz/fuzz.h"
#include "tests/support/messages.h"
#include "transport/zmq/frames.h"

enum { FRAMES = 0xc1, KIND = 0xc2, INPUT_MAX = 64 * 1024 };

static void mend_version(uint8_t *header, size_t size)
{
    size_t at = size > 0 && header[0] == 0xdc ? 3 : 1;
    if (at < size && header[at] < 0x80)
        header[at] = TND_WIRE_VERSION;
}

static void add_columns(tnd_schema_t *schema)
{
    static const uint64_t shape[] = {5, 2};
    tnd_status_t status = tnd_schema_add_ragged(schema, "x", TND_U16, 1, shape, NULL);
    assert(status == TND_OK);
    status = tnd_schema_add(schema, "y", TND_U8, 0, NULL, NULL);
    assert(status == TND_OK);
    status = tnd_schema_add_ragged(schema, "z", TND_F32, 2, shape, NULL);
    assert(status == TND_OK);
}

/*  Looks at all rows, which must be there. */
static void look_at(const tnd_block_t *block)
{
    for (uint32_t i = 0; i < block->schema->count; i++) {
        size_t bytes = tnd_block_rows_bytes(block, i, 0, block->note.rows);
        uint8_t *rows = malloc(bytes + 1);
        assert(rows != NULL);
        size_t copied = tnd_block_copy(block, i, 0, block->note.rows, rows);
        assert(copied == bytes);
        free(rows);
    }
}

static void try_frames(const uint8_t *bytes, size_t size)
{
    static tnd_frames_t frames;
    static tnd_schema_t schema;
    zmq_msg_t parts[TND_FRAMES_MAX];
    int count = 0;
    tnd_msg_t msg;
    tnd_wire_form_t form;
    tnd_error_t error;
    if (frames.block_pool == NULL) {
        tnd_frames_init(&frames);
        add_columns(&schema);
    }
    while (size >= 2 && count < TND_FRAMES_MAX) {
        size_t some = (size_t)bytes[0] | (size_t)bytes[1] << 8;
        some = some < size - 2 ? some : size - 2;
        int failed = zmq_msg_init_size(&parts[count], some);
        assert(failed == 0);
        memcpy(zmq_msg_data(&parts[count++]), bytes + 2, some);
        bytes += 2 + some;
        size -= 2 + some;
    }
    if (count > 0)
        mend_version(zmq_msg_data(&parts[0]), zmq_msg_size(&parts[0]));
    if (count > 0 &&
        tnd_wire_decode(&msg, &form, zmq_msg_data(&parts[0]), zmq_msg_size(&parts[0]), &error) ==
            TND_OK &&
        tnd_frames_unpack(&frames, &msg, &form, &schema, parts, count, &error) == TND_OK) {
        if (form.carry == TND_CARRY_BLOCK)
            look_at(msg.block.payload);
        if (form.carry == TND_CARRY_SLICE && msg.slice.rows > 0)
            look_at(((const tnd_slice_t *)msg.slice.payload)->pieces[0].block);
        tnd_msg_drop(&msg, form.carry);
    }
    for (int i = 0; i < count; i++)
        zmq_msg_close(&parts[i]);
}

static void try_kind(const uint8_t *bytes, size_t size)
{
    uint8_t header[TND_WIRE_BYTES_MAX];
    tnd_msg_t msg = tnd_message_of((tnd_msg_kind_t)(bytes[0] % TND_MSG_KINDS));
    size_t length = tnd_wire_encode(&msg, TND_CARRY_NOTHING, header);
    for (size_t i = 1; i + 1 < size; i += 2)
        header[bytes[i] % length] ^= bytes[i + 1];
    (void)tnd_wire_fuzz(header, length);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    static uint8_t mended[INPUT_MAX];
    if (size > sizeof mended)
        return 0;
    if (size > 0 && bytes[0] == FRAMES) {
        try_frames(bytes + 1, size - 1);
        return 0;
    }
    if (size > 1 && bytes[0] == KIND) {
        try_kind(bytes + 1, size - 1);
        return 0;
    }
    memcpy(mended, bytes, size);
    mend_version(mended, size);
    return tnd_wire_fuzz(mended, size);
}
