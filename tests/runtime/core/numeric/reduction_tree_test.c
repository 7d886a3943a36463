/*  Covers runtime/core/numeric/reduction_tree.h: the nodes of the tree, sums and means against
 * TensorFlow's (tests/oracle/reduce.txt), and that neither pre-reduced nodes, chunks nor the
 * caller's float mode change a bit. */
#include "runtime/core/numeric/reduction_tree.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <criterion/criterion.h>

#include "runtime/core/numeric/float_mode.h"
#include "runtime/core/numeric/random.h"

enum { MOST_REPLICAS = 19, MOST_WIDTH = 1000 };

/*  The inputs of one reduction: every replica's own value. */
typedef struct {
    tnd_reduction_tree_input_t inputs[MOST_REPLICAS];
    tnd_reduction_tree_job_t job;
} leaves_t;

static void start(leaves_t *self, tnd_reduce_t reduce, tnd_dtype_t dtype, uint32_t replicas)
{
    for (uint32_t i = 0; i < replicas; i++)
        self->inputs[i] = (tnd_reduction_tree_input_t){.node = {i, 1}, .rows = 1};
    self->job =
        (tnd_reduction_tree_job_t){reduce, dtype, {0, replicas}, self->inputs, replicas, false};
}

Test(tree, the_mean_weighs_every_replica_by_its_rows)
{
    const float full[] = {1, 10}, half[] = {4, 40};
    const tnd_reduction_tree_input_t inputs[] = {
        {{0, 1}, full, 2, false, 0}, {{1, 1}, half, 1, false, 0}, {{2, 1}, NULL, 0, false, 0}};
    const tnd_reduction_tree_job_t job = {TND_MEAN, TND_F32, {0, 3}, inputs, 3, false};
    float mean[2];

    tnd_reduction_tree_root(&job, 0, 2, mean);

    cr_assert(mean[0] == 2 && mean[1] == 20);
    cr_assert_eq(tnd_reduction_tree_rows(&job), 3);
}

Test(tree, a_weighted_mean_weighs_by_weights_which_are_added_along_the_tree)
{
    const double values[] = {1, 10, -3};
    /* 1e16 swallows 1, so another order of adding gives another sum. */
    const tnd_reduction_tree_input_t inputs[] = {{{0, 1}, &values[0], 9, false, 1},
                                                 {{1, 1}, &values[1], 1, false, 0.5},
                                                 {{2, 1}, NULL, 0, false, 0},
                                                 {{3, 1}, &values[2], 5, false, 0.25}};
    const tnd_reduction_tree_input_t far[] = {{{0, 1}, NULL, 1, false, 1},
                                              {{1, 1}, NULL, 1, false, 1},
                                              {{2, 1}, NULL, 1, false, 1e16},
                                              {{3, 1}, NULL, 1, false, 1}};
    const tnd_reduction_tree_job_t job = {TND_MEAN, TND_F64, {0, 4}, inputs, 4, true};
    const tnd_reduction_tree_job_t other = {TND_MEAN, TND_F64, {0, 4}, far, 4, true};
    double mean;

    tnd_reduction_tree_root(&job, 0, 1, &mean);

    cr_assert_eq(mean, (1 + 5 - 0.75) / 1.75);
    cr_assert_eq(tnd_reduction_tree_weight(&job), 1.75);
    cr_assert_eq(tnd_reduction_tree_weight(&other), 1e16 + 2);
}

Test(tree, a_node_is_halved_and_the_left_half_is_the_larger)
{
    const tnd_reduction_tree_node_t of_five[] = {{0, 5}, {0, 3}, {3, 2}, {0, 2}, {2, 1},
                                                 {0, 1}, {1, 1}, {3, 1}, {4, 1}};
    unsigned found = 0;
    for (uint32_t first = 0; first < 7; first++)
        for (uint32_t count = 0; count < 7; count++) {
            bool listed = false;
            for (size_t i = 0; i < sizeof of_five / sizeof of_five[0]; i++)
                listed |= of_five[i].first == first && of_five[i].count == count;
            cr_assert_eq(tnd_reduction_tree_has(5, (tnd_reduction_tree_node_t){first, count}),
                         listed, "%u+%u", first, count);
            found += listed;
        }
    cr_assert_eq(found, 9);
    cr_assert_not(tnd_reduction_tree_has(5, (tnd_reduction_tree_node_t){UINT32_MAX, UINT32_MAX}));
}

Test(tree, a_run_of_leaves_is_covered_by_the_fewest_nodes)
{
    for (uint32_t replicas = 1; replicas <= 40; replicas++)
        for (uint32_t first = 0; first < replicas; first++)
            for (uint32_t count = 1; count <= replicas - first; count++) {
                tnd_reduction_tree_node_t nodes[TND_REDUCTION_TREE_COVER_MOST];
                uint32_t found = tnd_reduction_tree_cover(replicas, first, count, nodes),
                         next = first;
                for (uint32_t i = 0; i < found; i++) {
                    cr_assert(tnd_reduction_tree_has(replicas, nodes[i]) && nodes[i].first == next);
                    next += nodes[i].count;
                    /* Two neighbours that are the children of one node would be too many. */
                    tnd_reduction_tree_node_t both = {nodes[i].first, nodes[i].count};
                    if (i + 1 < found)
                        both.count += nodes[i + 1].count;
                    cr_assert(i + 1 == found || !tnd_reduction_tree_has(replicas, both));
                }
                cr_assert_eq(next, first + count);
            }
    tnd_reduction_tree_node_t nodes[TND_REDUCTION_TREE_COVER_MOST];
    cr_assert_leq(tnd_reduction_tree_cover(UINT32_MAX, 1, UINT32_MAX - 2, nodes),
                  TND_REDUCTION_TREE_COVER_MOST);
}

/*  Reads "ROWS value ..." up to a bar or an equals sign and reduces it over its rows into `leaf`.
 */
static char *read_leaf(char *at, bool mean, tnd_dtype_t dtype, size_t width, void *leaf,
                       uint64_t *rows)
{
    double sums[64] = {0};
    cr_assert_leq(width, 64);
    *rows = strtoull(at, &at, 10);
    for (uint64_t row = 0; row < *rows; row++)
        for (size_t i = 0; i < width; i++)
            sums[i] += strtod(at, &at);
    for (size_t i = 0; i < width; i++) {
        double value = mean ? sums[i] / (double)*rows : sums[i];
        if (dtype == TND_F32)
            ((float *)leaf)[i] = (float)value;
        else if (dtype == TND_F64)
            ((double *)leaf)[i] = value;
        else if (dtype == TND_I32)
            ((int32_t *)leaf)[i] = (int32_t)value;
        else
            ((int64_t *)leaf)[i] = (int64_t)value;
    }
    return at + strspn(at, " ");
}

static double element(tnd_dtype_t dtype, const void *data, size_t i)
{
    if (dtype == TND_F32)
        return ((const float *)data)[i];
    if (dtype == TND_F64)
        return ((const double *)data)[i];
    if (dtype == TND_I32)
        return ((const int32_t *)data)[i];
    return (double)((const int64_t *)data)[i];
}

Test(tree, tensorflow_reduces_to_the_same_values)
{
    FILE *file = fopen("tests/oracle/reduce.txt", "r");
    cr_assert_not_null(file);
    static char line[32768];
    unsigned compared = 0;

    while (fgets(line, sizeof line, file)) {
        if (line[0] == '#')
            continue;
        char reduce[8], name[8];
        unsigned replicas;
        size_t width;
        int used = 0;
        cr_assert_eq(sscanf(line, "%7s %7s %u %zu %n", reduce, name, &replicas, &width, &used), 4);
        tnd_dtype_t dtype;
        cr_assert(tnd_dtype_parse(name, &dtype) && replicas <= MOST_REPLICAS, "%s", line);
        bool mean = strcmp(reduce, "mean") == 0;

        static double memory[MOST_REPLICAS][64], result[64];
        leaves_t leaves;
        start(&leaves, mean ? TND_MEAN : TND_SUM, dtype, replicas);
        char *at = line + used;
        for (unsigned r = 0; r < replicas; r++) {
            cr_assert_eq(*at, '|', "%s", line);
            at = read_leaf(at + 1, mean, dtype, width, memory[r], &leaves.inputs[r].rows);
            leaves.inputs[r].data = memory[r];
        }
        tnd_reduction_tree_root(&leaves.job, 0, width, result);

        cr_assert_eq(*at++, '=', "%s", line);
        for (size_t i = 0; i < width; i++) {
            double expected = strtod(at, &at), got = element(dtype, result, i);
            bool same = got == expected || (isnan(got) && isnan(expected));
            cr_assert(same || fabs(got - expected) <= 1e-5 * fmax(1, fabs(expected)),
                      "element %zu: %g, not %g: %s", i, got, expected, line);
            compared++;
        }
    }
    fclose(file);
    cr_assert_gt(compared, 150);
}

/*  Fills elements with numbers of very different sizes, so that every order of adding differs. */
static void fill(tnd_dtype_t dtype, void *data, size_t width, uint64_t seed)
{
    tnd_random_t random;
    tnd_random_init(&random, seed, 0, 0, 0);
    for (size_t i = 0; i < width; i++) {
        double value = ldexp(tnd_random_f64(&random) - 0.5, (int)tnd_random_below(&random, 16));
        if (dtype == TND_F32)
            ((float *)data)[i] = (float)value;
        else if (dtype == TND_F64)
            ((double *)data)[i] = value;
        else if (dtype == TND_I32)
            ((uint32_t *)data)[i] = tnd_random_u32(&random);
        else if (dtype == TND_I64)
            ((uint64_t *)data)[i] = tnd_random_u64(&random);
        else
            ((uint16_t *)data)[i] = (uint16_t)(tnd_random_u32(&random) & 0xbbff);
    }
}

/*  Every reduction of every type over `replicas` leaves, of which each third has no rows. */
static void reduce_through_owners(uint32_t replicas, bool weighted)
{
    static const tnd_dtype_t dtypes[] = {TND_F32, TND_F64, TND_I32, TND_I64, TND_F16, TND_BF16};
    static double memory[MOST_REPLICAS][MOST_WIDTH], parts[MOST_REPLICAS][MOST_WIDTH];
    static double whole[MOST_WIDTH], composed[MOST_WIDTH];
    for (size_t d = 0; d < sizeof dtypes / sizeof dtypes[0]; d++)
        for (int reduce = TND_SUM; reduce <= TND_MAX; reduce++) {
            if (!tnd_reduction_tree_reduces((tnd_reduce_t)reduce, dtypes[d]))
                continue;
            leaves_t leaves;
            start(&leaves, (tnd_reduce_t)reduce, dtypes[d], replicas);
            for (uint32_t r = 0; r < replicas; r++) {
                fill(dtypes[d], memory[r], MOST_WIDTH, replicas * 100 + r);
                leaves.inputs[r].data = r % 3 == 2 ? NULL : memory[r];
                leaves.inputs[r].rows = r % 3 == 2 ? 0 : 5 + r;
                leaves.inputs[r].weight = r % 3 == 2 ? 0 : 0.1 / (r + 1);
            }
            leaves.job.weighted = weighted;
            tnd_reduction_tree_root(&leaves.job, 0, MOST_WIDTH, whole);
            size_t bytes = MOST_WIDTH * tnd_dtype_size(dtypes[d]);

            /* The same over 1, 2, ... owners, each of which sends the nodes of its leaves. */
            for (uint32_t owners = 1; owners <= replicas; owners++) {
                tnd_reduction_tree_input_t inputs[MOST_REPLICAS];
                uint32_t count = 0, first = 0;
                for (uint32_t owner = 0; owner < owners; owner++) {
                    uint32_t owned = (replicas - first) / (owners - owner);
                    tnd_reduction_tree_node_t nodes[TND_REDUCTION_TREE_COVER_MOST];
                    uint32_t found = tnd_reduction_tree_cover(replicas, first, owned, nodes);
                    for (uint32_t i = 0; i < found; i++, count++) {
                        tnd_reduction_tree_job_t part = leaves.job;
                        part.node = nodes[i];
                        part.inputs = leaves.inputs + nodes[i].first;
                        part.input_count = nodes[i].count;
                        uint64_t rows = tnd_reduction_tree_rows(&part);
                        if (rows > 0) {
                            tnd_reduction_tree_partial(&part, 0, 300, parts[count]);
                            tnd_reduction_tree_partial(&part, 300, MOST_WIDTH, parts[count]);
                        }
                        inputs[count] = (tnd_reduction_tree_input_t){
                            nodes[i], parts[count], rows, true, tnd_reduction_tree_weight(&part)};
                    }
                    first += owned;
                }
                tnd_reduction_tree_job_t job = leaves.job;
                job.inputs = inputs;
                job.input_count = count;
                memset(composed, 0xee, sizeof composed);
                for (size_t at = 0; at < MOST_WIDTH; at += 77)
                    tnd_reduction_tree_root(&job, at, at + 77 < MOST_WIDTH ? at + 77 : MOST_WIDTH,
                                            composed);
                cr_assert_arr_eq(composed, whole, bytes, "%s, reduction %d, %u replicas, %u owners",
                                 tnd_dtype_name(dtypes[d]), reduce, replicas, owners);
            }
        }
}

Test(tree, owners_and_chunks_change_no_bit)
{
    for (uint32_t replicas = 1; replicas <= MOST_REPLICAS; replicas++) {
        reduce_through_owners(replicas, false);
        reduce_through_owners(replicas, true);
    }
}

Test(tree, the_sum_follows_the_tree)
{
    enum { COUNT = 5 };
    /* 1e8 swallows 1 in f32, so each order of adding has its own result. */
    const float leaves[COUNT] = {1e8f, 1, 1, -1e8f, 3};
    leaves_t tree;
    start(&tree, TND_SUM, TND_F32, COUNT);
    for (int i = 0; i < COUNT; i++)
        tree.inputs[i].data = &leaves[i];
    float sum;

    tnd_reduction_tree_root(&tree.job, 0, 1, &sum);

    volatile float left = leaves[0] + leaves[1], right = leaves[3] + leaves[4];
    left += leaves[2];
    cr_assert_eq(sum, left + right);
    cr_assert_neq(sum, 5);
}

Test(tree, a_result_may_replace_an_input)
{
    static float values[4][MOST_WIDTH], expected[MOST_WIDTH];
    leaves_t tree;
    start(&tree, TND_MEAN, TND_F32, 4);
    for (int i = 0; i < 4; i++) {
        fill(TND_F32, values[i], MOST_WIDTH, (uint64_t)i);
        tree.inputs[i].data = values[i];
        tree.inputs[i].rows = 32;
    }
    tnd_reduction_tree_root(&tree.job, 0, MOST_WIDTH, expected);

    tnd_reduction_tree_root(&tree.job, 0, 500, values[2]);
    tnd_reduction_tree_root(&tree.job, 500, MOST_WIDTH, values[2]);

    cr_assert_arr_eq(values[2], expected, sizeof expected);
}

Test(tree, a_result_may_replace_all_inputs)
{
    static const struct {
        tnd_reduce_t reduce;
        tnd_dtype_t dtype;
        uint32_t count;
        uint64_t rows[4]; /* 128 in all, and not */
    } cases[] = {
        {TND_MEAN, TND_F32, 4, {32, 32, 32, 32}}, {TND_MEAN, TND_F32, 4, {32, 32, 32, 17}},
        {TND_MEAN, TND_F64, 4, {32, 32, 32, 32}}, {TND_MEAN, TND_F64, 4, {1, 2, 3, 5}},
        {TND_MEAN, TND_F32, 4, {32, 0, 32, 5}},   {TND_MEAN, TND_F32, 3, {32, 32, 32}},
        {TND_SUM, TND_F32, 4, {1, 1, 1, 1}},
    };
    static double values[4][MOST_WIDTH], expected[MOST_WIDTH];
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        leaves_t tree;
        void *leaves[4];
        size_t size = tnd_dtype_size(cases[c].dtype);
        start(&tree, cases[c].reduce, cases[c].dtype, cases[c].count);
        for (uint32_t i = 0; i < cases[c].count; i++) {
            fill(cases[c].dtype, values[i], MOST_WIDTH, i);
            memset((char *)values[i] + 7 * size, i == 2 ? 0xff : 0, size); /* a NaN in one */
            tree.inputs[i].data = leaves[i] = values[i];
            tree.inputs[i].rows = cases[c].rows[i];
        }
        tnd_reduction_tree_root(&tree.job, 0, MOST_WIDTH, expected);

        tnd_reduction_tree_root_over(&tree.job, 0, 501, leaves, cases[c].count);
        tnd_reduction_tree_root_over(&tree.job, 501, MOST_WIDTH, leaves, cases[c].count);

        for (uint32_t i = 0; i < cases[c].count; i++)
            cr_assert_arr_eq(values[i], expected, MOST_WIDTH * size, "case %zu, leaf %u", c, i);
    }
}

/*  Numbers of all sizes, and such that are none: any bits, infinities, zeros of both signs, the
 *  least and the largest numbers. */
static void fill_oddly(tnd_dtype_t dtype, void *data, size_t count, uint64_t seed)
{
    static const uint32_t odd[] = {0x7f800000, 0xff800000, 0x80000000, 0,
                                   1,          0x80000001, 0x7f7fffff, 0xffc00001};
    tnd_random_t random;
    size_t size = tnd_dtype_size(dtype);
    tnd_random_init(&random, seed, 1, 0, 0);
    fill(dtype, data, count, seed);
    for (size_t i = 0; i < count; i += 3) {
        uint64_t bits = tnd_random_u64(&random);
        if (i % 2 == 0 && size < 8)
            bits = size == 4 ? odd[bits % 8] : odd[bits % 8] >> 16;
        memcpy((char *)data + i * size, &bits, size);
    }
}

/*  Replaces all leaves, or writes beside them, and compares with what the root is. */
static void replace_all(tnd_reduce_t reduce, tnd_dtype_t dtype, uint32_t replicas, bool weighted,
                        bool apart)
{
    static double values[MOST_REPLICAS][MOST_WIDTH], outs[MOST_REPLICAS][MOST_WIDTH],
        expected[MOST_WIDTH];
    size_t size = tnd_dtype_size(dtype);
    leaves_t tree;
    void *leaves[MOST_REPLICAS];
    start(&tree, reduce, dtype, replicas);
    tree.job.weighted = weighted;
    for (uint32_t i = 0; i < replicas; i++) {
        fill_oddly(dtype, values[i], MOST_WIDTH, replicas * 100 + i);
        tree.inputs[i].data = values[i];
        tree.inputs[i].rows = replicas % 2 ? 32 : 1 + i * i;
        tree.inputs[i].weight = 0.1 / (i + 1);
        leaves[i] = apart ? outs[i] : values[i];
    }
    tnd_reduction_tree_root(&tree.job, 1, MOST_WIDTH - 1, expected);

    tnd_reduction_tree_root_over(&tree.job, 1, 501, leaves, replicas);
    tnd_reduction_tree_root_over(&tree.job, 501, MOST_WIDTH - 1, leaves, replicas);

    for (uint32_t i = 0; i < replicas; i++)
        cr_assert(
            memcmp((char *)leaves[i] + size, (char *)expected + size, (MOST_WIDTH - 2) * size) == 0,
            "%s, reduction %d, leaf %u of %u", tnd_dtype_name(dtype), (int)reduce, i, replicas);
}

Test(tree, all_leaves_are_replaced_by_the_bits_of_the_root)
{
    static const tnd_dtype_t dtypes[] = {TND_F32, TND_F64, TND_I32, TND_I64, TND_F16, TND_BF16};
    for (size_t d = 0; d < sizeof dtypes / sizeof dtypes[0]; d++)
        for (int reduce = TND_SUM; reduce <= TND_MAX; reduce++)
            for (uint32_t replicas = 1; replicas <= 9; replicas++)
                for (int how = 0; how < 4; how++)
                    if (tnd_reduction_tree_reduces((tnd_reduce_t)reduce, dtypes[d]))
                        replace_all((tnd_reduce_t)reduce, dtypes[d], replicas, how % 2, how / 2);
}

Test(tree, the_nan_of_an_empty_batch_does_not_spread_but_one_with_rows_does)
{
    const float good = 2, bad = -NAN;
    for (int reduce = TND_SUM; reduce <= TND_MAX; reduce++) {
        leaves_t tree;
        start(&tree, (tnd_reduce_t)reduce, TND_F32, 3);
        tree.inputs[0].data = &good;
        tree.inputs[1] = (tnd_reduction_tree_input_t){{1, 1}, &bad, 0, false, 0};
        tree.inputs[2].data = &good;
        float result;
        tnd_reduction_tree_root(&tree.job, 0, 1, &result);
        cr_assert_eq(result, reduce == TND_SUM ? 4 : 2);

        tree.inputs[1].rows = 1;
        tnd_reduction_tree_root(&tree.job, 0, 1, &result);
        uint32_t bits;
        memcpy(&bits, &result, sizeof bits);
        cr_assert_eq(bits, 0x7fc00000, "reduction %d gave %08x", reduce, bits);
    }
}

Test(tree, nothing_reduces_to_what_every_number_replaces)
{
    const float zero = 0, low = -INFINITY, high = INFINITY;
    leaves_t tree;
    float result;

    start(&tree, TND_SUM, TND_F32, 1);
    tree.inputs[0].rows = 0;
    tnd_reduction_tree_root(&tree.job, 0, 1, &result);
    cr_assert_eq(result, zero);

    tree.job.reduce = TND_MIN;
    tnd_reduction_tree_root(&tree.job, 0, 1, &result);
    cr_assert_eq(result, high);

    tree.job.reduce = TND_MAX;
    tnd_reduction_tree_root(&tree.job, 0, 1, &result);
    cr_assert_eq(result, low);

    tree.job.reduce = TND_MEAN;
    tnd_reduction_tree_root(&tree.job, 0, 1, &result);
    cr_assert(isnan(result));

    int64_t most;
    tree.job.reduce = TND_MAX;
    tree.job.dtype = TND_I64;
    tnd_reduction_tree_root(&tree.job, 0, 1, &most);
    cr_assert_eq(most, INT64_MIN);
}

Test(tree, denormals_count_whatever_the_mode_of_the_caller)
{
    const float tiny = 0x1p-149f;
    leaves_t tree;
    start(&tree, TND_SUM, TND_F32, 3);
    for (int i = 0; i < 3; i++)
        tree.inputs[i].data = &tiny;
    uint32_t bits;
    float sum;
    volatile float vanishing = 0x1p-126f;

    tnd_float_mode_t before = tnd_float_mode_set(TND_FLOAT_FLUSH);
    tnd_reduction_tree_root(&tree.job, 0, 1, &sum);
    float flushed = vanishing * 0.5f;
    tnd_float_mode_restore(before);

    memcpy(&bits, &sum, sizeof bits);
    cr_assert_eq(bits, 3);
    cr_assert(flushed == 0 && vanishing * 0.5f > 0, "the caller's mode must come back");
}

Test(tree, integers_have_no_mean)
{
    cr_assert(tnd_reduction_tree_reduces(TND_SUM, TND_I64) &&
              !tnd_reduction_tree_reduces(TND_MEAN, TND_I64));
    cr_assert(tnd_reduction_tree_reduces(TND_MEAN, TND_BF16) &&
              !tnd_reduction_tree_reduces(TND_SUM, TND_I8));
}
