/*  tests/actors/cache/sample_rows.h - blocks of rows that tell their numbers, to be stored. */
#ifndef TND_TESTS_ACTORS_CACHE_SAMPLE_ROWS_H
#define TND_TESTS_ACTORS_CACHE_SAMPLE_ROWS_H

#include <string.h>

#include <criterion/criterion.h>

#include "runtime/data/block.h"

enum { SAMPLES = 100, LONGEST = 7 };

/*  The columns: `flag` and `id`, and `words`, which is ragged. */
static inline tnd_schema_t schema_of_rows(bool ragged)
{
    tnd_schema_t schema = {0};
    tnd_error_t error;
    cr_assert_eq(tnd_schema_add(&schema, "flag", TND_U8, 0, NULL, &error), TND_OK);
    cr_assert_eq(tnd_schema_add(&schema, "id", TND_I64, 0, NULL, &error), TND_OK);
    if (ragged)
        cr_assert_eq(
            tnd_schema_add_ragged(&schema, "words", TND_U16, 2, (uint64_t[]){LONGEST, 3}, &error),
            TND_OK);
    return schema;
}

/*  What row `number` has. */
static inline uint64_t length_of(uint64_t number)
{
    return number * 5 % (LONGEST + 1);
}

static inline uint16_t word_of(uint64_t number, uint64_t at)
{
    return (uint16_t)(number * 251 + at * 7);
}

/*  A block of the rows [number, number + rows). */
static inline tnd_block_t *make_rows(tnd_block_pool_t *pool, const tnd_schema_t *schema,
                                     uint64_t number, uint32_t rows)
{
    tnd_block_t *block = tnd_block_pool_take(pool, schema);
    size_t unit = 3 * sizeof(uint16_t), room = LONGEST * unit;
    tnd_buffer_t *flags = tnd_buffer_new(rows + 1), *ids = tnd_buffer_new(rows * 8 + 1);
    tnd_buffer_t *words = tnd_buffer_new(rows * room + 1);
    tnd_buffer_t *lists = tnd_buffer_new(rows * 2 * sizeof(uint64_t) + 1);
    uint64_t *offsets = tnd_buffer_data(lists), *lengths = offsets + rows;
    block->note.rows = rows;
    for (uint32_t i = 0; i < rows; i++) {
        ((uint8_t *)tnd_buffer_data(flags))[i] = (uint8_t)(number + i);
        ((int64_t *)tnd_buffer_data(ids))[i] = (int64_t)(number + i);
        offsets[i] = i * room;
        lengths[i] = length_of(number + i);
        uint16_t *to = (uint16_t *)(void *)((uint8_t *)tnd_buffer_data(words) + i * room);
        for (uint64_t at = 0; at < lengths[i] * 3; at++)
            to[at] = word_of(number + i, at);
    }
    block->columns[0] =
        (tnd_block_column_t){.base = tnd_buffer_data(flags), .stride = 1, .buffer = flags};
    block->columns[1] =
        (tnd_block_column_t){.base = tnd_buffer_data(ids), .stride = 8, .buffer = ids};
    if (schema->count > 2)
        block->columns[2] = (tnd_block_column_t){.base = tnd_buffer_data(words),
                                                 .stride = 1,
                                                 .index = offsets,
                                                 .buffer = words,
                                                 .lengths = lengths};
    else
        tnd_buffer_drop(&words);
    block->index = lists;
    tnd_buffer_seal(lists);
    for (uint32_t c = 0; c < schema->count; c++)
        tnd_buffer_seal(block->columns[c].buffer);
    tnd_block_seal(block);
    return block;
}

/*  Row `row` of a block is that of this number. */
static inline void is_row(const tnd_block_t *block, uint32_t row, uint64_t number)
{
    uint8_t flag;
    int64_t id;
    memcpy(&flag, tnd_block_row(block, 0, row), 1);
    memcpy(&id, tnd_block_row(block, 1, row), 8);
    cr_expect_eq(flag, (uint8_t)number);
    cr_expect_eq(id, (int64_t)number);
    if (block->column_count < 3)
        return;
    cr_assert_eq(block->columns[2].lengths[row], length_of(number));
    const uint8_t *words = tnd_block_row(block, 2, row);
    for (uint64_t at = 0; at < length_of(number) * 3; at++) {
        uint16_t word;
        memcpy(&word, words + at * sizeof word, sizeof word);
        cr_expect_eq(word, word_of(number, at));
    }
}

#endif
