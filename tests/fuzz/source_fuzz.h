/*  tests/fuzz/source_fuzz.h - the bytes as a file of a source: opened, read, closed. */
#ifndef TND_TESTS_FUZZ_SOURCE_FUZZ_H
#define TND_TESTS_FUZZ_SOURCE_FUZZ_H

#include <assert.h>
#include <glob.h>
#include <string.h>
#include <unistd.h>

#include "actors/reader/stream_reader.h"
#include "actors/source/sources.h"
#include "runtime/option/option_parse.h"
#include "runtime/option/registry.h"
#include "runtime/text/yaml.h"
#include "tests/fuzz/scratch.h"

/*  The options `{KEY: PATH}` of the source called `name`. */
static inline const void *source_options_in(tnd_arena_t *arena, const char *name, const char *key,
                                            const char *path, const tnd_source_t **source_p)
{
    size_t count = 0;
    const tnd_source_spec_t *const *all = tnd_registry_sources(&count);
    tnd_origin_t *origin = tnd_arena_take(arena, sizeof *origin);
    origin->text = tnd_arena_format(arena, "%s: %s", key, path);
    origin->size = strlen(origin->text);
    tnd_options_context_t context = {.arena = arena, .diagnostics = tnd_diagnostics_new(arena)};
    tnd_value_t *value = tnd_yaml_parse(arena, context.diagnostics, origin, 0);
    for (size_t i = 0; i < count; i++)
        if (strcmp(all[i]->table.name, name) == 0) {
            *source_p = tnd_source_of(all[i]);
            return tnd_options_parse(&context, &all[i]->table, value, name, (tnd_mark_t){0});
        }
    abort();
}

static inline const void *source_options(const char *name, const char *key, const char *path,
                                         const tnd_source_t **source_p)
{
    return source_options_in(tnd_arena_new(), name, key, path, source_p);
}

static inline void read_some(const tnd_source_t *source, void *state,
                             const tnd_source_facts_t *facts)
{
    enum { ROWS = 8 };
    static tnd_block_pool_t *block_pool;
    tnd_error_t error;
    uint64_t known = facts->count < ROWS ? facts->count : ROWS;
    uint32_t count = (uint32_t)known;
    if (count == 0 || tnd_schema_row_bytes(&facts->schema) > (1 << 20))
        return;
    if (block_pool == NULL)
        block_pool = tnd_block_pool_new();
    tnd_source_call_t call = {
        .indices = tnd_buffer_new((1 + facts->lists) * count * sizeof(uint64_t)),
        .room = facts->copied > 0 ? tnd_buffer_new(tnd_source_room(facts, count)) : NULL,
        .count = count};
    uint64_t *index = tnd_buffer_data(call.indices);
    for (uint32_t i = 0; i < count; i++)
        index[i] = facts->count - 1 - i * (facts->count / count);
    tnd_block_t *block = tnd_block_pool_take(block_pool, &facts->schema);
    block->note.rows = count;
    (void)source->read(state, &call, block, &error);
    tnd_buffer_drop(&call.indices);
    tnd_buffer_drop(&call.room);
    tnd_block_seal(block);
    tnd_block_drop(&block);
}

/*  The first rows of a source that is read in order. */
static inline void read_first(const tnd_source_t *source, void *state,
                              const tnd_source_facts_t *facts)
{
    enum { ROWS = 8 };
    static tnd_block_pool_t *block_pool;
    const tnd_stream_reader_config_t config = {.source = source,
                                               .state = state,
                                               .schema = &facts->schema,
                                               .name = "read",
                                               .caps = facts->caps};
    tnd_stream_reader_t *reader = tnd_stream_reader_new(&config);
    tnd_status_t status = TND_OK;
    bool end = false;
    if (block_pool == NULL)
        block_pool = tnd_block_pool_new();
    for (uint64_t first = 0; first < 5 * ROWS && status == TND_OK && !end; first += ROWS) {
        uint64_t index[ROWS];
        uint32_t count = ROWS;
        tnd_error_t error;
        for (uint32_t i = 0; i < ROWS; i++)
            index[i] = first + i;
        tnd_block_t *block = tnd_block_pool_take(block_pool, &facts->schema);
        status = tnd_stream_reader_read(reader, 0, index, &count, block, &end, &error);
        tnd_block_seal(block);
        tnd_block_drop(&block);
    }
    tnd_stream_reader_destroy(&reader);
}

static inline int fuzz_source_as(const char *name, const char *key, const uint8_t *bytes,
                                 size_t size)
{
    static scratch_t file;
    static const tnd_source_t *source;
    static const void *options;
    static void *state;
    tnd_source_scope_t scope = {.lanes = 1};
    tnd_source_facts_t facts = {0};
    tnd_error_t error = {.text = ""};
    const char *path = scratch_fill(&file, bytes, size);
    if (source == NULL) {
        options = source_options(name, key, path, &source);
        state = malloc(source->state_bytes + 1);
    }
    memset(state, 0, source->state_bytes);
    if (source->open(state, options, &scope, &facts, &error) != TND_OK) {
        assert(error.text[0] != '\0');
        return 0;
    }
    if (tnd_source_writes(source, &facts))
        read_first(source, state, &facts);
    else
        read_some(source, state, &facts);
    source->close(state);
    return 0;
}

static inline int fuzz_source(const char *name, const uint8_t *bytes, size_t size)
{
    return fuzz_source_as(name, "x", bytes, size);
}

#endif
