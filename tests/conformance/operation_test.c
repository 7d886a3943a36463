/*  tests/conformance/operation_test.c - the contract of runtime/interface/operation.h, for every
 *  operation of actors/op/ops.def.
 *
 *  Each operation runs over the same rows: pictures, labels, ragged rows, scores and records of random
 *  bits, files of pictures and JSON documents.  An operation that FAILS has a sample that makes some
 *  of these rows bad. */
#include "actors/chain/chain_probe.h"
#include "tests/actors/op/chain_fixture.h"

enum { ROWS = 97, SIDE = 6, LENGTH_MAX = 6, DOCUMENT_MAX = 32 };

/*  The options with which an operation is tried. */
static const struct {
    const char *name, *text;
} samples[] = {
#define SAMPLE(name, text) {#name, text},
#include "tests/conformance/operations.def"
#undef SAMPLE
};

/*  A PNG of 6 x 6 grey pixels. */
static const uint8_t picture[] = {
    0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a, 0x00, 0x00, 0x00, 0x0d, 0x49, 0x48, 0x44, 0x52,
    0x00, 0x00, 0x00, 0x06, 0x00, 0x00, 0x00, 0x06, 0x08, 0x00, 0x00, 0x00, 0x00, 0xc5, 0xa7, 0xb0,
    0x94, 0x00, 0x00, 0x00, 0x33, 0x49, 0x44, 0x41, 0x54, 0x78, 0xda, 0x63, 0x60, 0x50, 0xf5, 0xca,
    0x9f, 0xb2, 0x93, 0xc1, 0x36, 0x7d, 0xf6, 0x4d, 0xc5, 0x62, 0x86, 0x2f, 0xca, 0x69, 0x7b, 0x35,
    0x96, 0x33, 0xa8, 0x46, 0xae, 0x96, 0x5e, 0x19, 0xca, 0x70, 0x81, 0x33, 0xeb, 0xf3, 0x92, 0x5a,
    0x86, 0xaf, 0xc6, 0x8b, 0x5d, 0x25, 0xe5, 0x01, 0x43, 0xf8, 0x0f, 0xc2, 0xdf, 0xa7, 0x2e, 0x24,
    0x00, 0x00, 0x00, 0x00, 0x49, 0x45, 0x4e, 0x44, 0xae, 0x42, 0x60, 0x82};

typedef struct {
    run_t run;
    const tnd_op_spec_t *spec;
    tnd_schema_t in;
} tried_t;

static void try_operation(tried_t *self, const tnd_op_spec_t *spec, bool skip_bad)
{
    static const uint64_t image[] = {SIDE, SIDE, 3}, text[] = {LENGTH_MAX};
    static const uint64_t file[] = {sizeof picture}, gray[] = {SIDE, SIDE};
    static const uint64_t document[] = {DOCUMENT_MAX};
    char ops[256];
    tnd_error_t error;
    size_t i = 0;
    while (i < sizeof samples / sizeof samples[0] && strcmp(samples[i].name, spec->table.name) != 0)
        i++;
    cr_assert(i < sizeof samples / sizeof samples[0],
              "add a line for `%s` to tests/conformance/operations.def", spec->table.name);
    *self = (tried_t){.spec = spec};
    cr_assert_eq(tnd_schema_add(&self->in, "image", TND_U8, 3, image, &error), TND_OK);
    cr_assert_eq(tnd_schema_add(&self->in, "label", TND_I64, 0, NULL, &error), TND_OK);
    cr_assert_eq(tnd_schema_add_ragged(&self->in, "text", TND_I32, 1, text, &error), TND_OK);
    cr_assert_eq(tnd_schema_add(&self->in, "score", TND_F32, 0, NULL, &error), TND_OK);
    cr_assert_eq(tnd_schema_add_ragged(&self->in, "record", TND_U8, 1, text, &error), TND_OK);
    cr_assert_eq(tnd_schema_add_ragged(&self->in, "file", TND_U8, 1, file, &error), TND_OK);
    cr_assert_eq(tnd_schema_add(&self->in, "gray", TND_U8, 2, gray, &error), TND_OK);
    cr_assert_eq(tnd_schema_add_ragged(&self->in, "document", TND_U8, 1, document, &error), TND_OK);
    snprintf(ops, sizeof ops, "{%s: %s}", spec->table.name, samples[i].text);
    cr_assert_eq(open_chain(&self->run, ops, skip_bad, &self->in, &error), TND_OK, "%s",
                 error.text);
}

/*  Rows [first, first + rows) of the data: every bit depends on the number of its row alone. */
static tnd_block_t *rows_at(tried_t *self, uint32_t first, uint32_t rows)
{
    tnd_block_t *block = tnd_block_pool_take(self->run.block_pool, &self->in);
    block->note =
        (tnd_block_note_t){.first = first, .count = rows, .asked = rows, .rows = rows, .epoch = 1};
    block->index = tnd_buffer_new(2 * rows * tnd_schema_ragged(&self->in) * sizeof(uint64_t));
    uint64_t *lists = tnd_buffer_data(block->index);
    for (uint32_t c = 0; c < self->in.count; c++) {
        const tnd_column_t *column = &self->in.columns[c];
        size_t bytes = tnd_column_bytes(column);
        tnd_buffer_t *buffer = tnd_buffer_new(rows * bytes);
        uint8_t *data = tnd_buffer_data(buffer);
        uint64_t *at = lists, *lengths = at + rows;
        lists += column->ragged ? 2 * rows : 0;
        for (uint32_t r = 0; r < rows; r++) {
            uint64_t bits = (first + r + 1) * UINT64_C(0x9e3779b97f4a7c15);
            for (size_t b = 0; b < bytes; b++, bits = bits * 31 + 7)
                data[r * bytes + b] = (uint8_t)(bits >> 40);
            int64_t label = (int64_t)((first + r) * 7 % 9); /* 8 has no entry in the lookup */
            if (column->dtype == TND_I64)
                memcpy(data + r * bytes, &label, sizeof label);
            if (column->ragged) {
                at[r] = r * bytes;
                lengths[r] = (first + r) % (LENGTH_MAX + 1);
            }
            /* A picture, or bytes that are none. */
            if (strcmp(column->name, "file") == 0 && (first + r) % 4 != 0) {
                memcpy(data + r * bytes, picture, sizeof picture);
                lengths[r] = sizeof picture;
            }
            if (strcmp(column->name, "document") == 0 && (first + r) % 4 != 0)
                lengths[r] =
                    (uint64_t)snprintf((char *)data + r * bytes, bytes,
                                       "{\"b\": [%u], \"c\": \"x%u\"}", first + r, first + r);
        }
        block->columns[c] = (tnd_block_column_t){.base = data, .stride = bytes, .buffer = buffer};
        if (column->ragged) {
            block->columns[c].stride = 1;
            block->columns[c].index = at;
            block->columns[c].lengths = lengths;
        }
        tnd_buffer_seal(buffer);
    }
    tnd_buffer_seal(block->index);
    tnd_block_seal(block);
    return block;
}

/*  What comes out of all rows, as text: each row with its position, or the position of a bad one. */
static char *outcome(tried_t *self, const tnd_chain_key_t *key, uint32_t size, size_t *bytes_p)
{
    char *text = NULL;
    FILE *out = open_memstream(&text, bytes_p);
    for (uint32_t first = 0; first < ROWS; first += size) {
        tnd_error_t error;
        uint32_t rows = ROWS - first < size ? ROWS - first : size;
        tnd_block_t *in = rows_at(self, first, rows), *made = NULL;
        cr_assert_eq(tnd_chain_run(self->run.chain, key, in, self->run.block_pool, self->run.pool,
                                   &made, &error),
                     TND_OK, "%s: %s", self->spec->table.name, error.text);
        uint32_t bad = 0;
        for (uint32_t r = 0; r < made->note.rows; r++) {
            uint32_t offset = made->note.origin != NULL ? made->note.origin[r] : r;
            for (; bad < made->note.bad_count && made->note.bad[bad] < offset; bad++)
                fprintf(out, "bad %u\n", first + made->note.bad[bad]);
            fprintf(out, "row %u:", first + offset);
            for (uint32_t c = 0; c < made->schema->count; c++) {
                const uint8_t *data = tnd_block_row(made, c, r);
                for (size_t b = 0; b < tnd_block_row_bytes(made, c, r); b++)
                    fprintf(out, " %02x", data[b]);
            }
            fputc('\n', out);
        }
        for (; bad < made->note.bad_count; bad++)
            fprintf(out, "bad %u\n", first + made->note.bad[bad]);
        tnd_block_drop(&in);
        tnd_block_drop(&made);
    }
    fclose(out);
    return text;
}

static void check_probe(tried_t *self);
static void check_missing_column(tried_t *self);

static void each(void (*check)(tried_t *self), bool skip_bad)
{
    size_t count;
    const tnd_op_spec_t *const *specs = tnd_registry_ops(&count);
    for (size_t i = 0; i < count; i++) {
        tried_t tried;
        /* What runs apart has tests of its own, with processes. */
        if ((specs[i]->caps & TND_OP_APART) != 0 && check != check_probe &&
            check != check_missing_column)
            continue;
        try_operation(&tried, specs[i], skip_bad);
        check(&tried);
        close_chain(&tried.run);
    }
}

static void check_split(tried_t *self)
{
    static const uint32_t sizes[] = {1, 3, 32, ROWS - 1};
    size_t bytes, other_bytes;
    char *whole = outcome(self, &plain_key, ROWS, &bytes);
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        char *other = outcome(self, &plain_key, sizes[i], &other_bytes);
        cr_expect(bytes == other_bytes && memcmp(whole, other, bytes) == 0,
                  "%s gives other rows in blocks of %u", self->spec->table.name, sizes[i]);
        free(other);
    }
    free(whole);
}

Test(operation, gives_the_same_rows_for_any_split_into_blocks)
{
    each(check_split, true);
}

static void check_key(tried_t *self)
{
    size_t bytes, other_bytes;
    tnd_chain_key_t key = plain_key;
    key.seed++;
    char *one = outcome(self, &plain_key, ROWS, &bytes);
    char *other = outcome(self, &key, ROWS, &other_bytes);
    bool same = bytes == other_bytes && memcmp(one, other, bytes) == 0;
    cr_expect_eq(same, (self->spec->caps & TND_OP_RANDOM) == 0,
                 "%s and another seed: its caps declare otherwise", self->spec->table.name);
    free(one);
    free(other);
}

Test(operation, depends_on_the_seed_only_if_it_is_random)
{
    each(check_key, true);
}

static void check_rows(tried_t *self)
{
    tnd_error_t error;
    uint32_t caps = self->spec->caps;
    tnd_block_t *in = rows_at(self, 0, ROWS), *out = NULL;
    tnd_status_t status = tnd_chain_run(self->run.chain, &plain_key, in, self->run.block_pool,
                                        self->run.pool, &out, &error);
    cr_assert_eq(status, TND_OK);
    cr_expect_leq(out->note.rows, ROWS * tnd_chain_rows_max(self->run.chain));
    cr_expect_eq(tnd_chain_rows_max(self->run.chain) > 1, (caps & TND_OP_EXPANDS) != 0);
    cr_expect_eq(out->note.bad_count > 0, (caps & TND_OP_FAILS) != 0, "%s: bad rows",
                 self->spec->table.name);
    if ((caps & (TND_OP_DROPS | TND_OP_EXPANDS)) == 0)
        cr_expect_eq(out->note.rows + out->note.bad_count, ROWS, "%s", self->spec->table.name);
    if ((caps & TND_OP_EXPANDS) == 0)
        cr_expect_leq(out->note.rows, ROWS, "%s", self->spec->table.name);
    cr_expect_eq(out->note.bytes, tnd_block_bytes(out));
    for (uint32_t r = 1; out->note.origin != NULL && r < out->note.rows; r++)
        cr_expect_leq(out->note.origin[r - 1], out->note.origin[r], "%s", self->spec->table.name);
    tnd_block_drop(&in);
    tnd_block_drop(&out);
}

Test(operation, makes_as_many_rows_as_it_declares)
{
    each(check_rows, true);
}

static void check_shapes(tried_t *self)
{
    tnd_error_t error;
    tnd_block_t *in = rows_at(self, 0, ROWS), *out = NULL;
    cr_assert_eq(tnd_chain_run(self->run.chain, &plain_key, in, self->run.block_pool,
                               self->run.pool, &out, &error),
                 TND_OK);
    cr_expect_eq(tnd_schema_compare(out->schema, tnd_chain_schema(self->run.chain), &error),
                 TND_OK);
    for (uint32_t c = 0; c < out->schema->count; c++)
        for (uint32_t r = 0; r < out->note.rows; r++) {
            size_t most = tnd_column_bytes(&out->schema->columns[c]);
            size_t bytes = tnd_block_row_bytes(out, c, r);
            cr_expect(out->schema->columns[c].ragged ? bytes <= most : bytes == most,
                      "%s: row %u of column %u", self->spec->table.name, r, c);
        }
    tnd_block_drop(&in);
    tnd_block_drop(&out);
}

static size_t ragged_bytes(const tnd_block_t *block)
{
    size_t bytes = 0;
    for (uint32_t c = 0; c < block->schema->count; c++)
        if (block->schema->columns[c].ragged)
            bytes += tnd_block_rows_bytes(block, c, 0, block->note.rows);
    return bytes;
}

static void check_growth(tried_t *self)
{
    double most = tnd_chain_facts(self->run.chain)->growth_max;
    cr_expect_geq(most, tnd_chain_facts(self->run.chain)->growth_usual, "%s",
                  self->spec->table.name);
    for (uint32_t r = 0; r < ROWS; r++) {
        tnd_error_t error;
        tnd_block_t *in = rows_at(self, r, 1), *out = NULL;
        cr_assert_eq(tnd_chain_run(self->run.chain, &plain_key, in, self->run.block_pool,
                                   self->run.pool, &out, &error),
                     TND_OK);
        cr_expect((double)ragged_bytes(out) <= most * (double)ragged_bytes(in),
                  "%s: row %u grows more than declared", self->spec->table.name, r);
        tnd_block_drop(&in);
        tnd_block_drop(&out);
    }
}

Test(operation, makes_ragged_rows_of_at_most_the_growth_that_it_declares)
{
    each(check_growth, true);
}

Test(operation, makes_rows_of_the_schema_that_it_declares)
{
    each(check_shapes, true);
}

static void check_failure(tried_t *self)
{
    tnd_error_t error;
    tnd_block_t *in = rows_at(self, 0, ROWS), *out = NULL;
    bool fails = (self->spec->caps & TND_OP_FAILS) != 0;
    cr_expect_eq(tnd_chain_run(self->run.chain, &plain_key, in, self->run.block_pool,
                               self->run.pool, &out, &error),
                 fails ? TND_FAILED : TND_OK, "%s", self->spec->table.name);
    if (fails)
        cr_expect(strstr(error.text, self->spec->table.name) != NULL &&
                      strstr(error.text, "position") != NULL,
                  "%s: the error names no operation and position: %s", self->spec->table.name,
                  error.text);
    tnd_block_drop(&in);
    tnd_block_drop(&out);
}

Test(operation, fails_with_its_name_and_the_position_of_the_row)
{
    each(check_failure, false);
}

static void check_probe(tried_t *self)
{
    tried_t again;
    try_operation(&again, self->spec, true);
    uint64_t probe = tnd_chain_probe(self->run.chain);
    cr_expect_neq(probe, 0);
    cr_expect_eq(probe, tnd_chain_probe(again.run.chain), "%s", self->spec->table.name);
    cr_expect_eq(probe, tnd_chain_probe(self->run.chain), "%s", self->spec->table.name);
    close_chain(&again.run);
}

Test(operation, has_a_probe_that_repeats)
{
    each(check_probe, true);
}

static void check_missing_column(tried_t *self)
{
    tnd_schema_t other = {0};
    tnd_error_t error;
    char ops[256];
    size_t i = 0;
    run_t run;
    while (strcmp(samples[i].name, self->spec->table.name) != 0)
        i++;
    cr_assert_eq(tnd_schema_add(&other, "weight", TND_F32, 0, NULL, &error), TND_OK);
    snprintf(ops, sizeof ops, "{%s: %s}", samples[i].name, samples[i].text);
    cr_expect_eq(open_chain(&run, ops, false, &other, &error), TND_FAILED);
    cr_expect(strstr(error.text, samples[i].name) != NULL && strstr(error.text, "weight") != NULL,
              "%s: the error does not list the columns: %s", samples[i].name, error.text);
    close_chain(&run);
}

Test(operation, refuses_rows_without_its_column_and_lists_those_there_are)
{
    each(check_missing_column, false);
}
