/*  runtime/core/numeric/reduction_tree.c - the fixed tree that reduces values of replicas.
 *
 *  A block of elements at a time climbs the whole tree: leaves are read once from memory,
 *  everything between them and the root stays in the cache, and one pass adds four values.  If they
 *  meet at the root, that pass also divides a mean.  Two to eight leaves of which all are replaced
 *  are reduced in registers (reduction_loops.h). */
#include "runtime/core/numeric/reduction_tree.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#include "runtime/core/numeric/float_mode.h"
#include "runtime/core/numeric/numeric.h"
#include "runtime/core/numeric/reduction_loops.h"

/*  Elements at a time; a few blocks of the widest type fit the first level of the cache.  PIECE: of
 *  a result before it is copied to the other leaves, still in the nearest cache. */
enum { BLOCK = 1024, PIECE = 2048 };

typedef struct {
    _Alignas(64) char bytes[BLOCK * sizeof(double)];
} block_t;

/*  What a node holds of the block: data x factor.  NULL: it takes no part. */
typedef struct {
    const void *data;
    double factor;
} value_t;

/*  The loops of one operation on one type; join4 may be NULL.  `out` overlaps nothing. */
typedef struct {
    void (*join2)(void *restrict out, value_t a, value_t b, size_t count);
    void (*join4)(void *restrict out, const value_t value[4], size_t count);
} joins_t;

/*  A mean from four values to the end. */
typedef void mean4_fn(void *restrict out, const value_t value[4], uint64_t rows, size_t count);

#define PLUS(a, b) ((a) + (b))
#define LESSER(a, b) ((a) < (b) ? (a) : (b))
#define GREATER(a, b) ((a) > (b) ? (a) : (b))

/*  Of floats: a value that is not equal to itself is a NaN, which is kept. */
#define LESSER_OR_NAN(a, b) ((((a) < (b)) | ((a) != (a))) ? (a) : (b))
#define GREATER_OR_NAN(a, b) ((((a) > (b)) | ((a) != (a))) ? (a) : (b))

/*  Loops that take the values as they are. */
#define JOIN2(name, type, join)                                                                    \
    static void name##_join2(void *restrict out, value_t x, value_t y, size_t count)               \
    {                                                                                              \
        type *restrict to = out;                                                                   \
        const type *a = x.data, *b = y.data;                                                       \
        for (size_t i = 0; i < count; i++)                                                         \
            to[i] = (type)join(a[i], b[i]);                                                        \
    }

#define SUM_JOINS(name, type)                                                                      \
    JOIN2(name, type, PLUS)                                                                        \
    static void name##_join4(void *restrict out, const value_t value[4], size_t count)             \
    {                                                                                              \
        type *restrict to = out;                                                                   \
        const type *a = value[0].data, *b = value[1].data;                                         \
        const type *c = value[2].data, *d = value[3].data;                                         \
        for (size_t i = 0; i < count; i++)                                                         \
            to[i] = (type)((a[i] + b[i]) + (c[i] + d[i]));                                         \
    }                                                                                              \
    static const joins_t name##_joins = {name##_join2, name##_join4};

/*  The compiler does not vectorise a conditional over four values. */
#define CHOICE_JOINS(name, type, join)                                                             \
    JOIN2(name, type, join)                                                                        \
    static const joins_t name##_joins = {name##_join2, NULL};

/*  Loops that multiply by the factors on the way; by 1 that changes nothing. */
#define SCALED_JOINS(name, type)                                                                   \
    static void name##_join2(void *restrict out, value_t x, value_t y, size_t count)               \
    {                                                                                              \
        type *restrict to = out;                                                                   \
        const type *a = x.data, *b = y.data;                                                       \
        const type fa = (type)x.factor, fb = (type)y.factor;                                       \
        for (size_t i = 0; i < count; i++)                                                         \
            to[i] = fa * a[i] + fb * b[i];                                                         \
    }                                                                                              \
    static void name##_join4(void *restrict out, const value_t value[4], size_t count)             \
    {                                                                                              \
        type *restrict to = out;                                                                   \
        const type *a = value[0].data, *b = value[1].data;                                         \
        const type *c = value[2].data, *d = value[3].data;                                         \
        const type fa = (type)value[0].factor, fb = (type)value[1].factor;                         \
        const type fc = (type)value[2].factor, fd = (type)value[3].factor;                         \
        for (size_t i = 0; i < count; i++)                                                         \
            to[i] = (fa * a[i] + fb * b[i]) + (fc * c[i] + fd * d[i]);                             \
    }                                                                                              \
    static const joins_t name##_joins = {name##_join2, name##_join4};

SUM_JOINS(sum_f32, float)
CHOICE_JOINS(min_f32, float, LESSER_OR_NAN)
CHOICE_JOINS(max_f32, float, GREATER_OR_NAN)
SCALED_JOINS(mean_f32, float)
SUM_JOINS(sum_f64, double)
CHOICE_JOINS(min_f64, double, LESSER_OR_NAN)
CHOICE_JOINS(max_f64, double, GREATER_OR_NAN)
SCALED_JOINS(mean_f64, double)
SUM_JOINS(sum_u8, uint8_t)
SUM_JOINS(sum_i32, uint32_t)
CHOICE_JOINS(min_i32, int32_t, LESSER)
CHOICE_JOINS(max_i32, int32_t, GREATER)
SUM_JOINS(sum_i64, uint64_t)
CHOICE_JOINS(min_i64, int64_t, LESSER)
CHOICE_JOINS(max_i64, int64_t, GREATER)

static const joins_t *const joins[TND_DTYPE_COUNT][TND_MAX + 1] = {
    [TND_U8] = {&sum_u8_joins, NULL, NULL, NULL},
    [TND_F32] = {&sum_f32_joins, &mean_f32_joins, &min_f32_joins, &max_f32_joins},
    [TND_F64] = {&sum_f64_joins, &mean_f64_joins, &min_f64_joins, &max_f64_joins},
    [TND_I32] = {&sum_i32_joins, NULL, &min_i32_joins, &max_i32_joins},
    [TND_I64] = {&sum_i64_joins, NULL, &min_i64_joins, &max_i64_joins},
};

/*  All NaNs become the same one, because their payloads differ between processors. */
#define ONE_NAN(type, value) ((value) == (value) ? (value) : (type)NAN)

static bool is_power_of_two(uint64_t number)
{
    return (number & (number - 1)) == 0;
}

/*  Dividing by a power of two equals multiplying by its inverse, at a tenth of the cost. */
#define MEAN4_LOOP(type, divided)                                                                  \
    for (size_t i = 0; i < count; i++) {                                                           \
        type mean = ((fa * a[i] + fb * b[i]) + (fc * c[i] + fd * d[i])) divided;                   \
        to[i] = ONE_NAN(type, mean);                                                               \
    }

#define MEAN4(name, type)                                                                          \
    static inline __attribute__((always_inline)) void name##_mean4(                                \
        void *restrict out, const value_t value[4], uint64_t rows, size_t count)                   \
    {                                                                                              \
        type *restrict to = out;                                                                   \
        const type *a = value[0].data, *b = value[1].data;                                         \
        const type *c = value[2].data, *d = value[3].data;                                         \
        const type fa = (type)value[0].factor, fb = (type)value[1].factor;                         \
        const type fc = (type)value[2].factor, fd = (type)value[3].factor;                         \
        const type divisor = (type)rows, inverse = 1 / divisor;                                    \
        if (is_power_of_two(rows))                                                                 \
            MEAN4_LOOP(type, *inverse)                                                             \
        else                                                                                       \
            MEAN4_LOOP(type, / divisor)                                                            \
    }                                                                                              \
    static void name##_mean4_plain(void *restrict out, const value_t value[4], uint64_t rows,      \
                                   size_t count)                                                   \
    {                                                                                              \
        name##_mean4(out, value, rows, count);                                                     \
    }

#define MEAN4_AVX2(name)                                                                           \
    __attribute__((target("avx2"))) static void name##_mean4_avx2(                                 \
        void *restrict out, const value_t value[4], uint64_t rows, size_t count)                   \
    {                                                                                              \
        name##_mean4(out, value, rows, count);                                                     \
    }

MEAN4(f32, float)
MEAN4(f64, double)

#if defined(__x86_64__)
MEAN4_AVX2(f32)
MEAN4_AVX2(f64)

static mean4_fn *mean4_of(tnd_dtype_t dtype)
{
    bool wide = __builtin_cpu_supports("avx2");
    if (dtype == TND_F32)
        return wide ? f32_mean4_avx2 : f32_mean4_plain;
    return wide ? f64_mean4_avx2 : f64_mean4_plain;
}
#else
static mean4_fn *mean4_of(tnd_dtype_t dtype)
{
    return dtype == TND_F32 ? f32_mean4_plain : f64_mean4_plain;
}
#endif

/*  One block on its way up: where it is, and the next input. */
typedef struct {
    const tnd_reduction_tree_job_t *job;
    const joins_t *joins;
    mean4_fn *mean4; /* NULL: the last sum is divided separately */
    uint64_t rows;   /* of the root */
    bool finished;
    tnd_dtype_t partial_dtype;
    uint32_t next;
    size_t at;
    size_t count;
} walk_t;

static bool is_next(const walk_t *walk, tnd_reduction_tree_node_t node)
{
    assert(walk->next < walk->job->input_count);
    const tnd_reduction_tree_node_t *next = &walk->job->inputs[walk->next].node;
    return next->first == node.first && next->count == node.count;
}

/*  The next input, widened into `room` if necessary. */
static value_t take(walk_t *walk, block_t *room)
{
    const tnd_reduction_tree_job_t *job = walk->job;
    const tnd_reduction_tree_input_t *input = &job->inputs[walk->next++];
    assert(input->partial || input->node.count == 1);
    if (input->rows == 0)
        return (value_t){NULL, 1};
    double factor = 1;
    if (job->reduce == TND_MEAN && !input->partial)
        factor = job->weighted                    ? input->weight
                 : walk->partial_dtype == TND_F32 ? (float)input->rows
                                                  : (double)input->rows;
    tnd_dtype_t dtype = input->partial ? walk->partial_dtype : job->dtype;
    const char *data = (const char *)input->data + walk->at * tnd_dtype_size(dtype);
    if (dtype == walk->partial_dtype)
        return (value_t){data, factor};
    tnd_cast(walk->partial_dtype, dtype, walk->count, room, data);
    return (value_t){room, factor};
}

static value_t join(const walk_t *walk, value_t a, value_t b, block_t *room)
{
    if (a.data == NULL)
        return b;
    if (b.data == NULL)
        return a;
    walk->joins->join2(room, a, b, walk->count);
    return (value_t){room, 1};
}

static tnd_reduction_tree_node_t left_of(tnd_reduction_tree_node_t node)
{
    return (tnd_reduction_tree_node_t){node.first, tnd_reduction_tree_left(node.count)};
}

static tnd_reduction_tree_node_t right_of(tnd_reduction_tree_node_t node)
{
    uint32_t left = tnd_reduction_tree_left(node.count);
    return (tnd_reduction_tree_node_t){node.first + left, node.count - left};
}

/*  A value without a sibling may still be in `rooms`, which end with their function: copies it to
 *  `room`.  Data of an input stays where it is. */
static value_t moved(const walk_t *walk, value_t value, const block_t rooms[6], block_t *room)
{
    uintptr_t at = (uintptr_t)value.data;
    if (at < (uintptr_t)rooms || at >= (uintptr_t)(rooms + 6))
        return value;
    memcpy(room, value.data, walk->count * tnd_dtype_size(walk->partial_dtype));
    return (value_t){room, value.factor};
}

/*  The value of a node: an input, or made in `room` from its grandchildren. */
static value_t climb(walk_t *walk, tnd_reduction_tree_node_t node, block_t *room)
{
    if (is_next(walk, node))
        return take(walk, room);
    assert(node.count > 1);
    block_t rooms[6];
    value_t quarters[4];
    const tnd_reduction_tree_node_t halves[2] = {left_of(node), right_of(node)};
    bool all = walk->joins->join4 != NULL;
    for (size_t i = 0; i < 4; i += 2) {
        tnd_reduction_tree_node_t half = halves[i / 2];
        if (is_next(walk, half)) {
            quarters[i] = take(walk, &rooms[i]);
            quarters[i + 1].data = NULL;
        } else {
            assert(half.count > 1);
            quarters[i] = climb(walk, left_of(half), &rooms[i]);
            quarters[i + 1] = climb(walk, right_of(half), &rooms[i + 1]);
        }
        all = all && quarters[i].data && quarters[i + 1].data;
    }
    if (all && walk->mean4 && node.count == walk->job->node.count) {
        walk->mean4(room, quarters, walk->rows, walk->count);
        walk->finished = true;
        return (value_t){room, 1};
    }
    if (all) {
        walk->joins->join4(room, quarters, walk->count);
        return (value_t){room, 1};
    }
    value_t left = join(walk, quarters[0], quarters[1], &rooms[4]);
    value_t right = join(walk, quarters[2], quarters[3], &rooms[5]);
    value_t whole = join(walk, left, right, room);
    return whole.data == room ? whole : moved(walk, whole, rooms, room);
}

#define FINISH(name, type)                                                                         \
    static void name##_scaled(type *restrict out, const type *restrict in, type factor, type rows, \
                              size_t count)                                                        \
    {                                                                                              \
        for (size_t i = 0; i < count; i++) {                                                       \
            type value = in[i] * factor / rows;                                                    \
            out[i] = ONE_NAN(type, value);                                                         \
        }                                                                                          \
    }                                                                                              \
    static void name(type *restrict out, const type *restrict in, size_t count)                    \
    {                                                                                              \
        for (size_t i = 0; i < count; i++)                                                         \
            out[i] = ONE_NAN(type, in[i]);                                                         \
    }

FINISH(finish_f32, float)
FINISH(finish_f64, double)

/*  Writes a node's value to `out` in the partial type; a MEAN divided by `rows`. */
static void finish(const walk_t *walk, value_t value, double rows, void *out)
{
    bool scaled = walk->job->reduce == TND_MEAN;
    if (walk->partial_dtype == TND_F32 && scaled)
        finish_f32_scaled(out, value.data, (float)value.factor, (float)rows, walk->count);
    else if (walk->partial_dtype == TND_F32)
        finish_f32(out, value.data, walk->count);
    else if (walk->partial_dtype == TND_F64 && scaled)
        finish_f64_scaled(out, value.data, value.factor, rows, walk->count);
    else if (walk->partial_dtype == TND_F64)
        finish_f64(out, value.data, walk->count);
    else
        memcpy(out, value.data, walk->count * tnd_dtype_size(walk->partial_dtype));
}

static void fill(void *out, const void *element, size_t size, size_t count)
{
    for (size_t i = 0; i < count; i++)
        memcpy((char *)out + i * size, element, size);
}

/*  The result of reducing nothing, `count` times in the partial type. */
static void finish_nothing(tnd_reduce_t reduce, tnd_dtype_t partial_dtype, size_t count, void *out)
{
    static const double floats[] = {
        [TND_SUM] = 0, [TND_MEAN] = NAN, [TND_MIN] = INFINITY, [TND_MAX] = -INFINITY};
    static const int64_t wide[] = {[TND_SUM] = 0, [TND_MIN] = INT64_MAX, [TND_MAX] = INT64_MIN};
    static const int32_t narrow[] = {[TND_SUM] = 0, [TND_MIN] = INT32_MAX, [TND_MAX] = INT32_MIN};
    float f32 = (float)floats[reduce];
    if (partial_dtype == TND_F32)
        fill(out, &f32, sizeof f32, count);
    else if (partial_dtype == TND_F64)
        fill(out, &floats[reduce], sizeof floats[0], count);
    else if (partial_dtype == TND_I32)
        fill(out, &narrow[reduce], sizeof narrow[0], count);
    else
        fill(out, &wide[reduce], sizeof wide[0], count);
}

static void compute(const tnd_reduction_tree_job_t *job, size_t begin, size_t end, void *out,
                    bool is_root)
{
    assert(tnd_reduction_tree_reduces(job->reduce, job->dtype));
    tnd_dtype_t partial_dtype = tnd_reduction_tree_partial_dtype(job->dtype);
    tnd_dtype_t out_dtype = is_root ? job->dtype : partial_dtype;
    size_t out_size = tnd_dtype_size(out_dtype);
    bool scaled = is_root && job->reduce == TND_MEAN;
    uint64_t rows = is_root ? tnd_reduction_tree_rows(job) : 1;
    double weight = scaled && job->weighted ? tnd_reduction_tree_weight(job) : (double)rows;
    mean4_fn *mean4 = scaled && !job->weighted ? mean4_of(partial_dtype) : NULL;
    tnd_float_mode_t before = tnd_float_mode_set(TND_FLOAT_STRICT);
    for (size_t at = begin; at < end; at += BLOCK) {
        walk_t walk = {.job = job,
                       .joins = joins[partial_dtype][job->reduce],
                       .mean4 = mean4,
                       .rows = rows,
                       .partial_dtype = partial_dtype,
                       .at = at,
                       .count = end - at < BLOCK ? end - at : BLOCK};
        block_t room, result;
        void *place = (char *)out + at * out_size;
        value_t value = climb(&walk, job->node, &room);
        assert(walk.next == job->input_count);
        /* Through a room if the type changes, or if `out` is the input that is the value. */
        bool direct = out_dtype == partial_dtype && value.data != place;
        void *done = walk.finished ? (void *)&room : direct ? place : (void *)&result;
        if (!walk.finished && value.data)
            finish(&walk, value, weight, done);
        else if (!walk.finished)
            finish_nothing(job->reduce, partial_dtype, walk.count, done);
        if (done != place)
            tnd_cast(out_dtype, partial_dtype, walk.count, place, done);
    }
    tnd_float_mode_restore(before);
}

uint32_t tnd_reduction_tree_left(uint32_t count)
{
    assert(count > 1);
    return count - count / 2;
}

bool tnd_reduction_tree_has(uint32_t replicas, tnd_reduction_tree_node_t node)
{
    if (node.count == 0 || node.first >= replicas || node.count > replicas - node.first)
        return false;
    tnd_reduction_tree_node_t at = {0, replicas};
    while (at.count > node.count) {
        tnd_reduction_tree_node_t left = left_of(at);
        at = node.first < left.first + left.count ? left : right_of(at);
    }
    return at.first == node.first && at.count == node.count;
}

uint32_t tnd_reduction_tree_cover(uint32_t replicas, uint32_t first, uint32_t count,
                                  tnd_reduction_tree_node_t *nodes)
{
    assert(count > 0 && first < replicas && count <= replicas - first);
    uint32_t found = 0;
    while (count > 0) {
        /* The largest node that begins here and ends in time is on the path down to the leaf. */
        tnd_reduction_tree_node_t at = {0, replicas};
        while (at.first != first || at.count > count) {
            tnd_reduction_tree_node_t left = left_of(at);
            at = first < left.first + left.count ? left : right_of(at);
        }
        assert(found < TND_REDUCTION_TREE_COVER_MOST);
        nodes[found++] = at;
        first += at.count;
        count -= at.count;
    }
    return found;
}

bool tnd_reduction_tree_reduces(tnd_reduce_t reduce, tnd_dtype_t dtype)
{
    return reduce <= TND_MAX && joins[tnd_reduction_tree_partial_dtype(dtype)][reduce] != NULL;
}

tnd_dtype_t tnd_reduction_tree_partial_dtype(tnd_dtype_t dtype)
{
    return dtype == TND_F16 || dtype == TND_BF16 ? TND_F32 : dtype;
}

uint64_t tnd_reduction_tree_rows(const tnd_reduction_tree_job_t *job)
{
    uint64_t rows = 0;
    for (uint32_t i = 0; i < job->input_count; i++)
        rows += job->inputs[i].rows;
    return rows;
}

static double weigh(const tnd_reduction_tree_job_t *job, tnd_reduction_tree_node_t node,
                    uint32_t *next)
{
    assert(*next < job->input_count);
    const tnd_reduction_tree_input_t *input = &job->inputs[*next];
    if (input->node.first == node.first && input->node.count == node.count) {
        ++*next;
        return input->weight;
    }
    assert(node.count > 1);
    double left = weigh(job, left_of(node), next);
    return left + weigh(job, right_of(node), next);
}

double tnd_reduction_tree_weight(const tnd_reduction_tree_job_t *job)
{
    uint32_t next = 0;
    tnd_float_mode_t before = tnd_float_mode_set(TND_FLOAT_STRICT);
    double weight = weigh(job, job->node, &next);
    tnd_float_mode_restore(before);
    return weight;
}

void tnd_reduction_tree_partial(const tnd_reduction_tree_job_t *job, size_t begin, size_t end,
                                void *out)
{
    assert(tnd_reduction_tree_rows(job) > 0);
    compute(job, begin, end, out, false);
}

void tnd_reduction_tree_root(const tnd_reduction_tree_job_t *job, size_t begin, size_t end,
                             void *out)
{
    compute(job, begin, end, out, true);
}

/*  The loop that reduces all leaves in one pass, if they all take part and there is a result for each;
 *  else NULL. */
static tnd_reduction_loop_fn *loop_over(const tnd_reduction_tree_job_t *job, uint32_t out_count)
{
    if (job->input_count != out_count)
        return NULL;
    for (uint32_t i = 0; i < job->input_count; i++)
        if (job->inputs[i].node.count != 1 || job->inputs[i].partial || job->inputs[i].rows == 0)
            return NULL;
    return tnd_reduction_loop(job->reduce, job->dtype, job->input_count);
}

/*  Returns the element where the loop stopped. */
static size_t run_loop(tnd_reduction_loop_fn *loop, const tnd_reduction_tree_job_t *job,
                       size_t begin, size_t end, void *const *outs)
{
    uint64_t rows = tnd_reduction_tree_rows(job);
    tnd_reduction_leaves_t leaves;
    for (uint32_t i = 0; i < job->input_count; i++) {
        leaves.in[i] = job->inputs[i].data;
        leaves.out[i] = outs[i];
        leaves.factor[i] = job->weighted ? job->inputs[i].weight : (double)job->inputs[i].rows;
    }
    leaves.divisor = job->weighted ? tnd_reduction_tree_weight(job) : (double)rows;
    leaves.inverts = !job->weighted && is_power_of_two(rows);
    tnd_float_mode_t before = tnd_float_mode_set(TND_FLOAT_STRICT);
    size_t stopped = loop(&leaves, begin, end);
    tnd_float_mode_restore(before);
    return stopped;
}

void tnd_reduction_tree_root_over(const tnd_reduction_tree_job_t *job, size_t begin, size_t end,
                                  void *const *outs, uint32_t out_count)
{
    size_t size = tnd_dtype_size(job->dtype);
    tnd_reduction_loop_fn *loop = loop_over(job, out_count);
    if (loop != NULL)
        begin = run_loop(loop, job, begin, end, outs);
    for (size_t at = begin; at < end; at += PIECE) {
        size_t until = end - at < PIECE ? end : at + PIECE;
        tnd_reduction_tree_root(job, at, until, outs[0]);
        for (uint32_t i = 1; i < out_count; i++)
            memcpy((char *)outs[i] + at * size, (const char *)outs[0] + at * size,
                   (until - at) * size);
    }
}
