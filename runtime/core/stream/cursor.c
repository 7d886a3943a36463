/*  runtime/core/stream/cursor.c - the few hundred bytes from which a run resumes exactly.  */
#include "runtime/core/stream/cursor.h"

#include <assert.h>
#include <string.h>
#include <xxhash.h>

/*  "TNDC", version, lanes, epoch as u32; 16 numbers as u64; 24 bytes per lane; the hash. */
enum {
    MAGIC = 0x43444e54,
    VERSION = 2,
    NUMBERS = 16,
    HEAD_BYTES = 4 * 4 + 8 * NUMBERS,
    LANE_BYTES = 24,
    HASH_BYTES = 8
};

static unsigned char *put(unsigned char *at, uint64_t value, unsigned bytes)
{
    for (unsigned i = 0; i < bytes; i++)
        *at++ = (unsigned char)(value >> 8 * i);
    return at;
}

static uint64_t get(const unsigned char **at, unsigned bytes)
{
    uint64_t value = 0;
    for (unsigned i = 0; i < bytes; i++)
        value |= (uint64_t)(*at)[i] << 8 * i;
    *at += bytes;
    return value;
}

/*  The numbers in their order on disk, the same for both directions. */
static void list_numbers(tnd_cursor_t *self, uint64_t *numbers[NUMBERS])
{
    tnd_ledger_t *ledger = &self->ledger;
    uint64_t *const all[NUMBERS] = {
        &self->step,       &self->step_of_epoch, &self->rank,      &self->seed,
        &self->graph[0],   &self->graph[1],      &self->data,      &self->digest[0],
        &self->digest[1],  &ledger->read,        &ledger->added,   &ledger->fed,
        &ledger->filtered, &ledger->bad,         &ledger->dropped, &ledger->padded,
    };
    memcpy(numbers, all, sizeof all);
}

void tnd_cursor_start(tnd_cursor_t *self, uint32_t lanes)
{
    assert(lanes > 0 && lanes <= TND_LANES_MAX);
    memset(self, 0, sizeof *self);
    self->lanes = lanes;
}

size_t tnd_cursor_encode(const tnd_cursor_t *self, void *bytes, size_t room)
{
    assert(self->lanes > 0 && self->lanes <= TND_LANES_MAX);
    size_t size = HEAD_BYTES + (size_t)LANE_BYTES * self->lanes + HASH_BYTES;
    if (size > room)
        return size;
    tnd_cursor_t cursor = *self;
    uint64_t *numbers[NUMBERS];
    list_numbers(&cursor, numbers);
    unsigned char *at = bytes;
    at = put(at, MAGIC, 4);
    at = put(at, VERSION, 4);
    at = put(at, cursor.lanes, 4);
    at = put(at, cursor.epoch, 4);
    for (unsigned i = 0; i < NUMBERS; i++)
        at = put(at, *numbers[i], 8);
    for (uint32_t lane = 0; lane < cursor.lanes; lane++) {
        at = put(at, cursor.part[lane].index, 8);
        at = put(at, cursor.part[lane].epoch, 4);
        at = put(at, cursor.part[lane].used, 4);
        at = put(at, cursor.since[lane], 8);
    }
    put(at, XXH3_64bits(bytes, size - HASH_BYTES), HASH_BYTES);
    return size;
}

/*  Who reads an older version. */
static const char *reader_of(uint32_t version)
{
    return version == 1 ? "only development versions of release 0.1.0 read" : "no release reads";
}

tnd_status_t tnd_cursor_decode(tnd_cursor_t *self, const void *bytes, size_t size,
                               tnd_error_t *error)
{
    const unsigned char *at = bytes;
    if (size < HEAD_BYTES + LANE_BYTES + HASH_BYTES)
        return tnd_fail(error, "cursor: cut short: %zu bytes, at least %d are needed", size,
                        HEAD_BYTES + LANE_BYTES + HASH_BYTES);
    if (get(&at, 4) != MAGIC)
        return tnd_fail(error, "cursor: these bytes are not a cursor of tundish");
    uint32_t version = (uint32_t)get(&at, 4);
    if (version < VERSION)
        return tnd_fail(error, "cursor: version %u, which %s; this program reads version %d",
                        version, reader_of(version), VERSION);
    if (version > VERSION)
        return tnd_fail(
            error,
            "cursor: version %u; this program reads version %d: use the release that wrote "
            "the cursor, or a later one",
            version, VERSION);
    tnd_cursor_t cursor;
    memset(&cursor, 0, sizeof cursor);
    cursor.lanes = (uint32_t)get(&at, 4);
    cursor.epoch = (uint32_t)get(&at, 4);
    if (cursor.lanes == 0 || cursor.lanes > TND_LANES_MAX)
        return tnd_fail(error, "cursor: damaged: %u lanes, 1 to %d are possible", cursor.lanes,
                        TND_LANES_MAX);
    size_t whole = HEAD_BYTES + (size_t)LANE_BYTES * cursor.lanes + HASH_BYTES;
    if (size != whole)
        return tnd_fail(error, "cursor: damaged: %zu bytes for %u lanes, which take %zu", size,
                        cursor.lanes, whole);
    const unsigned char *hash = (const unsigned char *)bytes + size - HASH_BYTES;
    if (get(&hash, HASH_BYTES) != XXH3_64bits(bytes, size - HASH_BYTES))
        return tnd_fail(error, "cursor: damaged: its hash differs; use an older checkpoint");
    uint64_t *numbers[NUMBERS];
    bool impossible = false;
    list_numbers(&cursor, numbers);
    for (unsigned i = 0; i < NUMBERS; i++)
        *numbers[i] = get(&at, 8);
    for (uint32_t lane = 0; lane < cursor.lanes; lane++) {
        cursor.part[lane].index = get(&at, 8);
        cursor.part[lane].epoch = (uint32_t)get(&at, 4);
        cursor.part[lane].used = (uint32_t)get(&at, 4);
        cursor.since[lane] = get(&at, 8);
        impossible = impossible || !tnd_cursor_may_have(cursor.since[lane], cursor.step_of_epoch);
    }
    if (cursor.step_of_epoch > cursor.step)
        return tnd_fail(error, "cursor: out of range: step %llu of its epoch, but %llu of the run",
                        (unsigned long long)cursor.step_of_epoch, (unsigned long long)cursor.step);
    if (impossible)
        return tnd_fail(
            error,
            "cursor: out of range: a lane cannot have made so much of an epoch after %llu "
            "steps",
            (unsigned long long)cursor.step_of_epoch);
    *self = cursor;
    return TND_OK;
}
