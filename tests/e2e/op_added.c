/*  tests/e2e/op_added.c - an operation that adds ADDS to `x`, built twice with different numbers. */
#include <tundish/tundish.h>

static tnd_status_t added_open(void *state, void *shared, const char *options,
                               const tnd_schema_t *in, tnd_schema_t *out, uint32_t *most_p,
                               tnd_error_t *error)
{
    (void)state, (void)shared, (void)out, (void)most_p;
    if (tnd_schema_find(in, "x") != 0)
        return tnd_fail(error, "the first column is not `x`");
    return tnd_option_only(options, "", error);
}

static tnd_status_t added_apply(void *state, const tnd_rows_t *in, size_t row, tnd_random_t *random,
                                tnd_rows_t *out, tnd_error_t *error)
{
    (void)state, (void)random, (void)error;
    *(float *)tnd_rows_at(out, 0, 0) = *(const float *)tnd_rows_at(in, 0, row) + ADDS;
    out->count = 1;
    return TND_OK;
}

extern TND_API const tnd_op_ops_t tnd_op_added;
const tnd_op_ops_t tnd_op_added = {
    .abi = TND_ABI,
    .name = "added",
    .open = added_open,
    .apply = added_apply,
};
