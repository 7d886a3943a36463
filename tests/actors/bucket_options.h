/*  tests/actors/bucket_options.h - rows of three columns, and buckets of the lengths of one. */
#ifndef TND_TESTS_ACTORS_BUCKET_OPTIONS_H
#define TND_TESTS_ACTORS_BUCKET_OPTIONS_H

#include <criterion/criterion.h>

#include "actors/plan/buckets.h"

static double bucket_bounds[] = {10, 40}, bucket_sizes[] = {8, 4, 2};

/*  Up to 100 numbers, a label, a string of up to 50 bytes. */
static inline tnd_schema_t bucket_schema(void)
{
    tnd_schema_t schema = {0};
    tnd_error_t error;
    cr_assert(tnd_schema_add_ragged(&schema, "x", TND_I64, 1, (uint64_t[]){100}, &error) == TND_OK);
    cr_assert(tnd_schema_add(&schema, "label", TND_I64, 0, NULL, &error) == TND_OK);
    cr_assert(tnd_schema_add_ragged(&schema, "word", TND_U8, 1, (uint64_t[]){50}, &error) ==
              TND_OK);
    return schema;
}

static inline tnd_bucket_options_t bucket_options(tnd_bucket_pad_t pad)
{
    return (tnd_bucket_options_t){.column = "x",
                                  .bounds = {.items = bucket_bounds, .count = 2},
                                  .sizes = {.items = bucket_sizes, .count = 3},
                                  .pad = (int)pad,
                                  .value = "0"};
}

#endif
