/*  tests/stress_chain.c - rows on their way through threads: one reads a mapped file, several run
 *  chains of operations on its blocks, one takes what they made.  Every row arrives once, with the
 *  numbers that it must have, also after its source was closed.  A plain program, so that it runs
 *  under every sanitizer. */
#include <assert.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "actors/chain/chain.h"
#include "actors/source/sources.h"
#include "runtime/option/option_parse.h"
#include "runtime/option/registry.h"
#include "runtime/text/yaml.h"

enum { WORKERS = 3, RING = 8, ROWS = 4000, WIDTH = 16, BLOCK = 13, PASSES = 60 };

typedef struct {
    tnd_part_t source;
    tnd_part_list_t ops;
} parts_t;

static const tnd_option_t part_options[] = {
    {.name = "source",
     .type = TND_OPTION_PART,
     .role = TND_ROLE_GRAPH,
     .parts = tnd_registry_source_table,
     .offset = offsetof(parts_t, source),
     .help = "a source"},
    {.name = "ops",
     .type = TND_OPTION_PARTS,
     .role = TND_ROLE_GRAPH,
     .parts = tnd_registry_op_table,
     .offset = offsetof(parts_t, ops),
     .help = "operations"},
};

static const tnd_table_t part_table = {
    .name = "parts", .help = "parts", TND_OPTIONS(part_options, parts_t)};

typedef struct {
    _Atomic(tnd_block_t *) slots[RING];
} ring_t;

typedef struct {
    const parts_t *parts;
    tnd_schema_t schema;
    ring_t in, out;
} worker_t;

typedef struct {
    worker_t *workers;
    uint64_t rows, wrong;
} consumer_t;

static void push(ring_t *ring, uint64_t at, tnd_block_t *block)
{
    while (atomic_load_explicit(&ring->slots[at % RING], memory_order_acquire) != NULL)
        sched_yield();
    /* Relaxed on purpose: the seal alone must make the content visible. */
    atomic_store_explicit(&ring->slots[at % RING], block, memory_order_relaxed);
}

static tnd_block_t *pull(ring_t *ring, uint64_t at)
{
    tnd_block_t *block;
    while ((block = atomic_exchange_explicit(&ring->slots[at % RING], NULL,
                                             memory_order_relaxed)) == NULL)
        sched_yield();
    bool sealed = tnd_block_sealed(block);
    assert(sealed);
    return block;
}

static void must(tnd_status_t status, const tnd_error_t *error)
{
    if (status == TND_OK)
        return;
    fprintf(stderr, "%s\n", error->text);
    exit(1);
}

/*  The chain and its pools are destroyed while their blocks are still in flight. */
static void *work(void *argument)
{
    worker_t *self = argument;
    tnd_error_t error;
    tnd_chain_t *chain = NULL;
    must(tnd_chain_open(&chain, &self->parts->ops, false, &self->schema, NULL, NULL, &error),
         &error);
    tnd_block_pool_t *block_pool = tnd_block_pool_new();
    tnd_pool_t *pool = tnd_pool_new(tnd_chain_bytes(chain, BLOCK));
    const tnd_chain_key_t key = {.seed = 1, .lanes = 1};
    bool last = false;
    for (uint64_t at = 0; !last; at++) {
        tnd_block_t *in = pull(&self->in, at), *out = NULL;
        last = in->note.end;
        must(tnd_chain_run(chain, &key, in, block_pool, pool, &out, &error), &error);
        tnd_block_drop(&in);
        push(&self->out, at, out);
    }
    tnd_pool_destroy(&pool);
    tnd_block_pool_destroy(&block_pool);
    tnd_chain_close(&chain);
    return NULL;
}

/*  Row i of the file holds i * 7 + k at place k; the chain keeps those that begin with 100 or more,
 *  twice, as floats. */
static uint8_t byte_of(uint64_t row, uint64_t k)
{
    return (uint8_t)(row * 7 + k);
}

static void check(consumer_t *self, const tnd_block_t *block)
{
    for (uint32_t row = 0; row < block->note.rows; row++) {
        const float *x = tnd_block_row(block, 0, row);
        uint64_t offset = block->note.origin[row];
        uint64_t from =
            block->note.first + (block->note.attempt == 0 ? offset : BLOCK - 1 - offset);
        for (uint64_t k = 0; k < WIDTH; k++)
            self->wrong += x[k] != (float)byte_of(from, k);
        self->wrong += *(const uint8_t *)tnd_block_row(block, 1, row) != byte_of(from, 0);
    }
    self->rows += block->note.rows;
}

static void *consume(void *argument)
{
    consumer_t *self = argument;
    int ended = 0;
    for (uint64_t at = 0; ended < WORKERS; at++) {
        tnd_block_t *block = pull(&self->workers[at % WORKERS].out, at / WORKERS);
        check(self, block);
        ended += block->note.end;
        tnd_block_drop(&block);
    }
    return NULL;
}

static void write_file(const char *path, uint64_t width)
{
    char header[128];
    FILE *file = fopen(path, "w");
    assert(file != NULL);
    int length = width > 1
                     ? snprintf(header, sizeof header, "%s(%d, %d), }",
                                "{'descr': '|u1', 'fortran_order': False, 'shape': ", ROWS, WIDTH)
                     : snprintf(header, sizeof header, "%s(%d,), }",
                                "{'descr': '|u1', 'fortran_order': False, 'shape': ", ROWS);
    fprintf(file, "\x93NUMPY%c%c%c%c%s", 1, 0, length, 0, header);
    for (uint64_t row = 0; row < ROWS; row++)
        for (uint64_t k = 0; k < width; k++)
            putc(byte_of(row, k), file);
    int failed = fclose(file);
    assert(failed == 0);
}

/*  Reads the file about PASSES times in blocks, of which every worker gets its turn; the rows of
 *  every second block are read backwards, so that both forms pass. */
static void produce(worker_t *workers, const tnd_source_t *source, void *state)
{
    tnd_block_pool_t *block_pool = tnd_block_pool_new();
    tnd_pool_t *pool = tnd_pool_new(BLOCK * sizeof(uint64_t));
    tnd_error_t error;
    uint64_t blocks = (uint64_t)ROWS / BLOCK / WORKERS * WORKERS * PASSES;
    for (uint64_t at = 0; at < blocks; at++) {
        tnd_buffer_t *index = tnd_pool_take(pool);
        uint64_t *rows = tnd_buffer_data(index), first = at % (ROWS / BLOCK) * BLOCK;
        for (uint64_t i = 0; i < BLOCK; i++)
            rows[i] = at % 2 == 0 ? first + i : first + BLOCK - 1 - i;
        tnd_block_t *block = tnd_block_pool_take(block_pool, &workers[0].schema);
        block->note.first = first;
        block->note.rows = block->note.count = BLOCK;
        block->note.attempt = at % 2; /* 1: backwards */
        block->note.end = at + WORKERS >= blocks;
        const tnd_source_call_t call = {.indices = index, .count = BLOCK};
        must(source->read(state, &call, block, &error), &error);
        tnd_buffer_drop(&index);
        tnd_block_seal(block);
        push(&workers[at % WORKERS].in, at / WORKERS, block);
    }
    tnd_pool_destroy(&pool);
    tnd_block_pool_destroy(&block_pool);
}

static uint64_t expected_rows(void)
{
    uint64_t blocks = (uint64_t)ROWS / BLOCK / WORKERS * WORKERS * PASSES, rows = 0;
    for (uint64_t at = 0; at < blocks; at++)
        for (uint64_t i = 0; i < BLOCK; i++)
            rows += byte_of(at % (ROWS / BLOCK) * BLOCK + i, 0) >= 100 ? 2 : 0;
    return rows;
}

int main(void)
{
    static worker_t workers[WORKERS];
    char folder[] = "/tmp/tundish-stress-XXXXXX", x[64], y[64], text[512];
    char *made = mkdtemp(folder);
    assert(made != NULL);
    snprintf(x, sizeof x, "%s/x.npy", folder);
    snprintf(y, sizeof y, "%s/y.npy", folder);
    write_file(x, WIDTH);
    write_file(y, 1);
    snprintf(text, sizeof text,
             "{source: {npy: {x: %s, y: %s}}, ops: [{cast: {column: x, to: f32}}, {filter: "
             "{column: y, op: ge, value: 100}}, {repeat_rows: {times: 2}}]}",
             x, y);
    tnd_arena_t *arena = tnd_arena_new();
    tnd_origin_t origin = {.name = "stress", .text = text, .size = strlen(text)};
    tnd_options_context_t context = {.arena = arena, .diagnostics = tnd_diagnostics_new(arena)};
    const parts_t *parts = tnd_options_parse(&context, &part_table,
                                             tnd_yaml_parse(arena, context.diagnostics, &origin, 0),
                                             "stress", (tnd_mark_t){.origin = &origin});
    tnd_diagnostics_print(context.diagnostics, stderr);
    assert(parts != NULL);

    const tnd_source_t *source = tnd_source_of(tnd_source_spec_of(parts->source.table));
    void *state = calloc(1, source->state_bytes);
    tnd_source_facts_t facts;
    tnd_error_t error;
    const tnd_source_scope_t scope = {.lanes = 1};
    must(source->open(state, parts->source.options, &scope, &facts, &error), &error);
    pthread_t threads[WORKERS + 1];
    consumer_t consumer = {.workers = workers};
    for (int i = 0; i < WORKERS; i++) {
        workers[i].parts = parts;
        workers[i].schema = facts.schema;
        int failed = pthread_create(&threads[i], NULL, work, &workers[i]);
        assert(failed == 0);
    }
    int failed = pthread_create(&threads[WORKERS], NULL, consume, &consumer);
    assert(failed == 0);
    produce(workers, source, state);
    source->close(state); /* blocks are still out: their pages stay */
    for (int i = 0; i <= WORKERS; i++)
        pthread_join(threads[i], NULL);
    unlink(x), unlink(y), rmdir(folder);
    free(state);
    tnd_arena_destroy(&arena);
    printf("%llu rows, %llu expected, %llu wrong\n", (unsigned long long)consumer.rows,
           (unsigned long long)expected_rows(), (unsigned long long)consumer.wrong);
    return consumer.wrong == 0 && consumer.rows == expected_rows() ? 0 : 1;
}
