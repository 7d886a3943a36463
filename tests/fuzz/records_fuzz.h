/*  tests/fuzz/records_fuzz.h - the bytes as a file of records, as they are and compressed by gzip.
 *
 *  As they are, they may also be a compressed file, which is often damaged.  Compressed here, they
 *  give the same rows as the plain file, also when they are spooled. */
#ifndef TND_TESTS_FUZZ_RECORDS_FUZZ_H
#define TND_TESTS_FUZZ_RECORDS_FUZZ_H

#include <zlib.h>

#include "actors/reader/stream_reader.h"
#include "runtime/base/folder.h"
#include "tests/fuzz/source_fuzz.h"

enum { RECORDS_MOST = 64, RECORD_BYTES_MOST = 1 << 20 };

/*  What was read of a file. */
typedef struct {
    uint64_t count; /* of all its records; TND_UNKNOWN: it could not be opened */
    bool good[RECORDS_MOST];
    uLong hash[RECORDS_MOST], size[RECORDS_MOST];
} records_t;

static inline void note_row(records_t *self, uint64_t row, const tnd_block_t *block, uint32_t from)
{
    self->good[row] = true;
    self->size[row] = tnd_block_row_bytes(block, 0, from);
    self->hash[row] = self->size[row] > 0 ? crc32(0, tnd_block_row(block, 0, from),
                                                  (uInt)tnd_block_row_bytes(block, 0, from))
                                          : 0;
}

static inline void read_at_random(const tnd_source_t *source, void *state,
                                  const tnd_source_facts_t *facts, uint32_t count,
                                  tnd_block_pool_t *pool, records_t *found)
{
    for (uint64_t row = count; row-- > 0;) {
        tnd_error_t error = {.text = ""};
        tnd_source_call_t call = {
            .indices = tnd_buffer_new((1 + facts->lists) * sizeof row),
            .room = facts->copied > 0 ? tnd_buffer_new(tnd_source_room(facts, 1)) : NULL,
            .count = 1};
        memcpy(tnd_buffer_data(call.indices), &row, sizeof row);
        tnd_block_t *block = tnd_block_pool_take(pool, &facts->schema);
        tnd_status_t status = source->read(state, &call, block, &error);
        assert(status == TND_OK || error.text[0] != '\0');
        block->note.rows = status == TND_OK;
        tnd_buffer_drop(&call.indices);
        tnd_buffer_drop(&call.room);
        tnd_block_seal(block);
        if (status == TND_OK)
            note_row(found, row, block, 0);
        tnd_block_drop(&block);
    }
}

static inline void read_from_start(const tnd_source_t *source, void *state,
                                   const tnd_source_facts_t *facts, uint32_t count,
                                   tnd_block_pool_t *pool, records_t *found)
{
    const tnd_stream_reader_config_t config = {.source = source,
                                               .state = state,
                                               .schema = &facts->schema,
                                               .name = "read",
                                               .caps = facts->caps};
    tnd_stream_reader_t *reader = tnd_stream_reader_new(&config);
    tnd_block_t *block = tnd_block_pool_take(pool, &facts->schema);
    uint64_t index[RECORDS_MOST];
    bool end = false;
    uint32_t got = count, refused;
    tnd_error_t error = {.text = ""};
    for (uint32_t i = 0; i < count; i++)
        index[i] = i;
    tnd_status_t status = tnd_stream_reader_read(reader, 0, index, &got, block, &end, &error);
    assert(status == TND_OK && got == count && !end);
    const tnd_stream_refusal_t *list = tnd_stream_reader_refused(reader, &refused);
    block->note.rows = count - refused;
    tnd_block_seal(block);
    for (uint32_t row = 0, bad = 0; row < count; row++)
        if (bad < refused && list[bad].offset == row)
            assert(list[bad++].why[0] != '\0');
        else
            note_row(found, row, block, row - bad);
    tnd_block_drop(&block);
    tnd_stream_reader_destroy(&reader);
}

/*  `options`: after the name of the file. */
static inline void read_records(const char *name, const char *options, scratch_t *file,
                                const uint8_t *bytes, size_t size, records_t *found)
{
    static tnd_block_pool_t *pool;
    const tnd_source_t *source;
    tnd_source_scope_t scope = {.lanes = 1};
    tnd_source_facts_t facts = {0};
    tnd_error_t error = {.text = ""};
    char value[192];
    if (pool == NULL)
        pool = tnd_block_pool_new();
    *found = (records_t){.count = TND_UNKNOWN};
    snprintf(value, sizeof value, "%s%s", scratch_fill(file, bytes, size), options);
    tnd_arena_t *arena = tnd_arena_new();
    const void *chosen = source_options_in(arena, name, "files", value, &source);
    void *state = calloc(1, source->state_bytes + 1);
    if (source->open(state, chosen, &scope, &facts, &error) == TND_OK) {
        found->count = facts.count;
        uint32_t count = facts.count < RECORDS_MOST ? (uint32_t)facts.count : RECORDS_MOST;
        if (count == 0 || tnd_schema_row_bytes(&facts.schema) > RECORD_BYTES_MOST)
            count = 0;
        else if (tnd_source_writes(source, &facts))
            read_from_start(source, state, &facts, count, pool, found);
        else
            read_at_random(source, state, &facts, count, pool, found);
        source->close(state);
    } else {
        assert(error.text[0] != '\0');
    }
    free(state);
    tnd_arena_destroy(&arena);
}

static inline size_t pack(const uint8_t *bytes, size_t size, uint8_t *out, size_t room)
{
    z_stream stream = {.next_in = (uint8_t *)(uintptr_t)bytes,
                       .avail_in = (uInt)size,
                       .next_out = out,
                       .avail_out = (uInt)room};
    if (deflateInit2(&stream, 1, Z_DEFLATED, 16 + MAX_WBITS, 8, Z_DEFAULT_STRATEGY) != Z_OK ||
        deflate(&stream, Z_FINISH) != Z_STREAM_END)
        abort();
    deflateEnd(&stream);
    return room - stream.avail_out;
}

static inline void remove_indexes(const char *folder)
{
    char pattern[64];
    glob_t found;
    snprintf(pattern, sizeof pattern, "%s/tundish/*", folder);
    if (glob(pattern, 0, NULL, &found) != 0)
        return;
    for (size_t i = 0; i < found.gl_pathc; i++)
        (void)unlink(found.gl_pathv[i]);
    globfree(&found);
}

static char index_folder[] = "/dev/shm/tundish-fuzz-XXXXXX";

static inline void remove_folder(void)
{
    tnd_folder_remove(index_folder);
}

/*  Indexes are made in a folder of their own, in memory, since each is synced. */
static inline void make_folder(void)
{
    static bool made;
    if (!made && mkdtemp(index_folder) == NULL)
        abort();
    if (!made)
        atexit(remove_folder);
    made = true;
    setenv("XDG_CACHE_HOME", index_folder, 1);
}

static inline int fuzz_records(const char *name, const uint8_t *bytes, size_t size)
{
    static scratch_t as_given, packed_file;
    static uint8_t packed[(1 << 20) + 4096];
    records_t given, plain, unpacked;
    make_folder();
    read_records(name, "", &as_given, bytes, size, &given);
    if (size > 0 && size <= 1 << 20) {
        read_records(name, "\ncompression: none", &as_given, bytes, size, &plain);
        size_t packed_size = pack(bytes, size, packed, sizeof packed);
        read_records(name, "\ncompression: gzip", &packed_file, packed, packed_size, &unpacked);
        assert(memcmp(&plain, &unpacked, sizeof plain) == 0);
        char spool[128];
        snprintf(spool, sizeof spool, "\ncompression: gzip\nspool: {dir: %s/tundish, limit: 1GiB}",
                 index_folder);
        read_records(name, spool, &packed_file, packed, packed_size, &unpacked);
        assert(memcmp(&plain, &unpacked, sizeof plain) == 0);
    }
    remove_indexes(index_folder);
    return 0;
}

#endif
