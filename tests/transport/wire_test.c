/*  Covers transport/wire.h: every message comes back as it was, msgpack-c reads what we write, and
 *  no bytes are believed. */
#include "transport/wire.h"

#include <string.h>

#include <criterion/criterion.h>
#include <msgpack.h>

#include "tests/support/messages.h"

Test(wire, every_message_is_decoded_unchanged)
{
    for (int kind = 0; kind < TND_MSG_KINDS; kind++) {
        tnd_msg_t msg = tnd_message_of((tnd_msg_kind_t)kind), back;
        tnd_wire_form_t form;
        uint8_t bytes[TND_WIRE_BYTES_MAX];
        size_t size = tnd_wire_encode(&msg, TND_CARRY_NOTHING, bytes);

        cr_assert_eq(tnd_wire_decode(&back, &form, bytes, size, NULL), TND_OK, "kind %d", kind);

        if (kind == TND_MSG_REFUSE) {
            cr_assert_str_eq(back.refuse.why, msg.refuse.why);
            back.refuse.why = msg.refuse.why;
        }
        /* Both were zero before their fields were set, padding included. */
        uint8_t again[TND_WIRE_BYTES_MAX];
        cr_assert_eq(tnd_wire_encode(&back, form.carry, again), size);
        cr_assert_arr_eq(again, bytes, size);
        cr_assert_eq(back.kind, msg.kind);
        cr_assert_eq(back.from, msg.from);
        cr_assert_eq(back.to, msg.to);
    }
}

Test(wire, the_fields_of_a_block_keep_their_places)
{
    tnd_msg_t msg = tnd_message_of(TND_MSG_BLOCK), back;
    tnd_wire_form_t form;
    uint8_t bytes[TND_WIRE_BYTES_MAX];
    static const uint32_t origin = 0;
    msg.block = (tnd_block_note_t){.first = 1ull << 41,
                                   .lane = 255,
                                   .epoch = 4,
                                   .count = 128,
                                   .asked = 129,
                                   .attempt = 2,
                                   .rows = 127,
                                   .end = true,
                                   .bad_count = 1,
                                   .bytes = 99999,
                                   .work_ns = 20000000,
                                   .origin = &origin};
    size_t size = tnd_wire_encode(&msg, TND_CARRY_BLOCK, bytes);

    cr_assert_eq(tnd_wire_decode(&back, &form, bytes, size, NULL), TND_OK);

    cr_assert_eq(form.carry, TND_CARRY_BLOCK);
    cr_assert(form.has_origin);
    cr_assert_null(back.block.origin);
    cr_assert_eq(back.block.first, 1ull << 41);
    cr_assert_eq(back.block.lane, 255);
    cr_assert_eq(back.block.epoch, 4);
    cr_assert_eq(back.block.count, 128);
    cr_assert_eq(back.block.asked, 129);
    cr_assert_eq(back.block.attempt, 2);
    cr_assert_eq(back.block.rows, 127);
    cr_assert(back.block.end);
    cr_assert_eq(back.block.bad_count, 1);
    cr_assert_eq(back.block.bytes, 99999);
    cr_assert_eq(back.block.work_ns, 20000000);
}

Test(wire, msgpack_reads_the_encoded_bytes)
{
    tnd_msg_t msg = tnd_message_of(TND_MSG_HELLO);
    msg.hello.life = UINT64_MAX;
    msg.hello.birth = 1u << 31;
    msg.hello.connection = 70000;
    msg.hello.terms = (tnd_terms_t){{1, UINT64_MAX - 1}, 300, 1u << 31, UINT64_MAX, 6, true};
    uint8_t bytes[TND_WIRE_BYTES_MAX];
    size_t size = tnd_wire_encode(&msg, TND_CARRY_NOTHING, bytes);
    msgpack_unpacked unpacked;
    msgpack_unpacked_init(&unpacked);

    cr_assert_eq(msgpack_unpack_next(&unpacked, (const char *)bytes, size, NULL),
                 MSGPACK_UNPACK_SUCCESS);

    cr_assert_eq(unpacked.data.type, MSGPACK_OBJECT_ARRAY);
    const msgpack_object *fields = unpacked.data.via.array.ptr;
    cr_assert_eq(unpacked.data.via.array.size, 16);
    cr_assert_eq(fields[0].via.u64, TND_WIRE_VERSION);
    cr_assert_eq(fields[4].via.u64, 0x80000001);
    cr_assert_eq(fields[6].via.u64, UINT64_MAX);
    cr_assert_eq(fields[7].via.u64, 1u << 31);
    cr_assert_eq(fields[8].via.u64, 70000);
    cr_assert_eq(fields[13].via.u64, UINT64_MAX);
    cr_assert_eq(fields[15].via.boolean, true);
    msgpack_unpacked_destroy(&unpacked);
}

Test(wire, a_truncated_header_is_refused)
{
    for (int kind = 0; kind < TND_MSG_KINDS; kind++) {
        tnd_msg_t msg = tnd_message_of((tnd_msg_kind_t)kind), back;
        tnd_wire_form_t form;
        uint8_t bytes[TND_WIRE_BYTES_MAX + 1] = {0};
        size_t size = tnd_wire_encode(&msg, TND_CARRY_NOTHING, bytes);

        for (size_t cut = 0; cut < size; cut++)
            cr_assert_eq(tnd_wire_decode(&back, &form, bytes, cut, NULL), TND_FAILED);
        cr_assert_eq(tnd_wire_decode(&back, &form, bytes, size + 1, NULL), TND_FAILED);
    }
}

Test(wire, another_version_is_named)
{
    tnd_msg_t msg = tnd_message_of(TND_MSG_PING);
    tnd_wire_form_t form;
    tnd_error_t error;
    uint8_t bytes[TND_WIRE_BYTES_MAX];
    size_t size = tnd_wire_encode(&msg, TND_CARRY_NOTHING, bytes);
    bytes[1] = 9;

    cr_assert_eq(tnd_wire_decode(&msg, &form, bytes, size, &error), TND_REFUSED);

    cr_assert_not_null(strstr(error.text, "version 9"), "%s", error.text);
}

Test(wire, numbers_out_of_range_are_refused)
{
    tnd_msg_t msg = tnd_message_of(TND_MSG_MARK), back;
    tnd_wire_form_t form;
    uint8_t bytes[TND_WIRE_BYTES_MAX];

    msg.mark.lane = TND_LANES_MAX;
    size_t size = tnd_wire_encode(&msg, TND_CARRY_NOTHING, bytes);
    cr_assert_eq(tnd_wire_decode(&back, &form, bytes, size, NULL), TND_FAILED);

    msg.mark.lane = 0;
    msg.mark.rows = UINT64_MAX / 2;
    size = tnd_wire_encode(&msg, TND_CARRY_NOTHING, bytes);
    cr_assert_eq(tnd_wire_decode(&back, &form, bytes, size, NULL), TND_FAILED);
}

Test(wire, a_text_is_cut_at_its_bound)
{
    char text[1000];
    memset(text, 'x', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    tnd_msg_t msg = {.kind = TND_MSG_REFUSE, .refuse.why = text}, back;
    tnd_wire_form_t form;
    uint8_t bytes[TND_WIRE_BYTES_MAX];
    size_t size = tnd_wire_encode(&msg, TND_CARRY_NOTHING, bytes);

    cr_assert_eq(tnd_wire_decode(&back, &form, bytes, size, NULL), TND_OK);

    cr_assert_eq(strlen(back.refuse.why), TND_WIRE_TEXT_MAX);
}

/*  What is accepted at all must be a message that encodes to itself: tnd_wire_fuzz asserts it. */
Test(wire, flipped_bits_and_garbage_are_refused)
{
    uint64_t random = 88172645463325252u;
    for (unsigned round = 0; round < 40000; round++) {
        tnd_msg_t msg = tnd_message_of((tnd_msg_kind_t)(round % TND_MSG_KINDS));
        uint8_t bytes[TND_WIRE_BYTES_MAX];
        size_t size = tnd_wire_encode(&msg, TND_CARRY_NOTHING, bytes);
        for (unsigned flips = round % 7; flips > 0; flips--) {
            random ^= random << 13, random ^= random >> 7, random ^= random << 17;
            bytes[random % size] = (uint8_t)(random >> 32);
        }
        if (round % 11 == 0)
            size = random % size;
        cr_assert_eq(tnd_wire_fuzz(bytes, size), 0);
    }
}
