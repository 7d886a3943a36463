/*  tools/bench/wire.c - what the header of a block costs to write and to read: at most 0.3 us.  The
 *  bound is msgpack-c's own reader on the same bytes, with the writer that both share.  Usage:
 *  bench_wire [ROUNDS] */
#include <assert.h>

#include <msgpack.h>

#include "tools/bench/bench.h"
#include "transport/wire.h"

enum { RUNS = 7 };

static double measure_ours(uint32_t rounds, tnd_msg_t *msg)
{
    uint8_t bytes[TND_WIRE_BYTES_MAX];
    tnd_wire_form_t form;
    tnd_msg_t back;
    uint64_t begun = tnd_clock_now();
    for (uint32_t i = 0; i < rounds; i++) {
        msg->block.first = i;
        size_t size = tnd_wire_encode(msg, TND_CARRY_BLOCK, bytes);
        tnd_status_t status = tnd_wire_decode(&back, &form, bytes, size, NULL);
        assert(status == TND_OK && back.block.first == i);
    }
    return (double)(tnd_clock_now() - begun) / rounds;
}

static double measure_msgpack(uint32_t rounds, tnd_msg_t *msg)
{
    uint8_t bytes[TND_WIRE_BYTES_MAX];
    msgpack_zone zone;
    msgpack_zone_init(&zone, 4096);
    uint64_t begun = tnd_clock_now();
    for (uint32_t i = 0; i < rounds; i++) {
        msg->block.first = i;
        size_t size = tnd_wire_encode(msg, TND_CARRY_BLOCK, bytes), at = 0;
        msgpack_object object;
        msgpack_unpack_return read = msgpack_unpack((const char *)bytes, size, &at, &zone, &object);
        assert(read == MSGPACK_UNPACK_SUCCESS && object.via.array.ptr[6].via.u64 == i);
        msgpack_zone_clear(&zone);
    }
    double took = (double)(tnd_clock_now() - begun) / rounds;
    msgpack_zone_destroy(&zone);
    return took;
}

int main(int argc, char **argv)
{
    uint32_t rounds = argc > 1 ? (uint32_t)atoi(argv[1]) : 500000;
    tnd_msg_t msg = {.kind = TND_MSG_BLOCK, .generation = 1, .from = 3, .to = 9};
    msg.block = (tnd_block_note_t){.lane = 1,
                                   .epoch = 4,
                                   .count = 128,
                                   .asked = 128,
                                   .rows = 128,
                                   .bytes = 100480,
                                   .work_ns = 31415926};
    double ours[RUNS], theirs[RUNS];
    for (int i = 0; i < RUNS; i++) {
        ours[i] = measure_ours(rounds, &msg);
        theirs[i] = measure_msgpack(rounds, &msg);
    }
    double value = bench_median(ours, RUNS), bound = bench_median(theirs, RUNS);
    bench_print("wire_header_ns", value, bound, value / bound, 300, value <= 300);
    return 0;
}
