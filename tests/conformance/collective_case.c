/*  tests/conformance/collective_case.c - a run of a collective: members, device threads, a reducer. */
#include "tests/conformance/collective_case.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/core/numeric/half.h"
#include "runtime/feed/values/device_values.h"
#include "runtime/posts/tensor.h"

enum { REDUCER = 1, FIRST_FEEDER = 10 };

void case_expect(bool good, const char *format, ...)
{
    va_list arguments;
    if (good)
        return;
    va_start(arguments, format);
    vfprintf(stderr, format, arguments);
    va_end(arguments);
    fputc('\n', stderr);
    exit(1);
}

uint64_t case_rows(const collective_case_t *run, uint32_t leaf, uint64_t round)
{
    return (leaf * 7 + round / run->per_step) % 4;
}

uint64_t case_number(uint32_t leaf, uint64_t round, uint32_t p)
{
    return (round * CASE_LEAVES + leaf) * CASE_POSTINGS + p;
}

size_t case_gathered(uint32_t leaf, uint64_t round)
{
    return (leaf * 3 + round) % 5;
}

/* --- values ----------------------------------------------------------------------------------- */

/*  There are tens of millions of values, drawn in memory of their thread: sanitizers see the copies of them, but
 *  not each, which would take most of the time. */
#define UNWATCHED __attribute__((no_sanitize("thread", "address")))

UNWATCHED static uint64_t mix(uint64_t number)
{
    number = (number ^ number >> 31) * 0x9e3779b97f4a7c15;
    number = (number ^ number >> 29) * 0xbf58476d1ce4e5b9;
    return number ^ number >> 32;
}

/*  The bits of a floating-point number with so many of exponent and mantissa. */
UNWATCHED static uint64_t float_bits(uint64_t random, unsigned exponent, unsigned mantissa)
{
    uint64_t most = ((uint64_t)1 << exponent) - 1, low = random & (((uint64_t)1 << mantissa) - 1);
    uint64_t sign = (random >> 63) << (exponent + mantissa);
    switch ((random >> 52) % 64) {
    case 0:
        return sign | most << mantissa; /* infinity */
    case 1:
        return sign | most << mantissa | low | 1; /* NaN */
    case 2:
        return sign | low; /* denormal */
    case 3:
        return sign;
    default:
        return sign | (most / 2 - 2 + (random >> 58) % 4) << mantissa | low;
    }
}

/*  Each has room for eight bytes, of which the next one takes what is too many. */
UNWATCHED static void draw_values(char *values, size_t size, unsigned exponent, size_t count,
                                  uint64_t first)
{
    unsigned mantissa = (unsigned)size * 8 - 1 - exponent;
    for (size_t i = 0; i < count; i++) {
        uint64_t random = mix(first + i);
        if (exponent > 0)
            random = float_bits(random, exponent, mantissa);
        memcpy(values + i * size, &random, sizeof random);
    }
}

/*  In pieces, whose copies sanitizers see. */
void case_values(void *values, tnd_dtype_t dtype, size_t count, uint64_t number)
{
    static const unsigned exponents[TND_DTYPE_COUNT] = {
        [TND_F16] = 5, [TND_BF16] = 8, [TND_F32] = 8, [TND_F64] = 11};
    enum { PIECE = 512 };
    char piece[(PIECE + 1) * sizeof(uint64_t)];
    size_t size = tnd_dtype_size(dtype);
    for (size_t i = 0; i < count; i += PIECE) {
        size_t some = count - i < PIECE ? count - i : PIECE;
        draw_values(piece, size, exponents[dtype], some, number * 1000003 + i + 1);
        memcpy((char *)values + i * size, piece, some * size);
    }
}

/* --- what a member uses of its process -------------------------------------------------------- */

static bool meet(void *context, uint32_t thread)
{
    case_member_t *member = context;
    collective_case_t *run = member->run;
    (void)thread;
    pthread_mutex_lock(&run->lock);
    uint64_t meeting = member->meetings;
    if (++member->arrived == member->thread_count) {
        member->arrived = 0;
        member->meetings++;
        pthread_cond_broadcast(&run->changed);
    }
    while (member->meetings == meeting && !run->aborted)
        pthread_cond_wait(&run->changed, &run->lock);
    bool met = !run->aborted;
    pthread_mutex_unlock(&run->lock);
    return met;
}

static void wake(void *context)
{
    collective_case_t *run = ((case_member_t *)context)->run;
    pthread_mutex_lock(&run->lock);
    run->pending = true;
    pthread_cond_broadcast(&run->changed);
    pthread_mutex_unlock(&run->lock);
}

static void end(collective_case_t *run, const char *text)
{
    pthread_mutex_lock(&run->lock);
    if (!run->aborted)
        snprintf(run->failure, sizeof run->failure, "%s", text);
    run->aborted = run->pending = true;
    pthread_cond_broadcast(&run->changed);
    pthread_mutex_unlock(&run->lock);
    for (uint32_t m = 0; m < run->members; m++)
        run->member[m].collective->ops->abort(run->member[m].collective);
}

static void fail(void *context, const char *text)
{
    end(((case_member_t *)context)->run, text);
}

static void hang(void *context, const bool *threads, const char *text)
{
    (void)context, (void)threads;
    case_expect(false, "%s", text);
}

/* --- results ---------------------------------------------------------------------------------- */

static void post(collective_case_t *run, uint32_t leaf, uint64_t round)
{
    run->posts[leaf].count = 0;
    run->script(run, leaf, round, run->arrays[leaf], &run->posts[leaf]);
    tnd_postings_settle(&run->posts[leaf]);
}

/*  The shares of all replicas of what they have posted as number `p`. */
static void *shares_of(const collective_case_t *run, uint32_t p)
{
    char *expected = calloc(1, run->posts[0].items[p].count + 1);
    for (uint32_t leaf = 0; leaf < run->leaves; leaf++) {
        const tnd_posting_t *post = &run->posts[leaf].items[p];
        size_t begin, end;
        tnd_posting_share(post, run->leaves, leaf, &begin, &end);
        memcpy(expected + begin, (const char *)post->from + begin, end - begin);
    }
    return expected;
}

/*  The tree over what all replicas have posted as number `p`. */
static void *expected_of(const collective_case_t *run, uint32_t p)
{
    const tnd_posting_t *one = &run->posts[0].items[p];
    if (one->sharing == TND_SHARE_IN)
        return shares_of(run, p);
    tnd_reduction_tree_input_t inputs[CASE_LEAVES];
    size_t bytes = one->count * tnd_dtype_size(one->dtype);
    for (uint32_t leaf = 0; leaf < run->leaves; leaf++) {
        const tnd_posting_t *post = &run->posts[leaf].items[p];
        inputs[leaf] = (tnd_reduction_tree_input_t){
            .node = {leaf, 1}, .data = post->from, .rows = post->rows, .weight = post->weight};
    }
    tnd_reduction_tree_job_t job = {.reduce = one->reduce,
                                    .dtype = one->dtype,
                                    .node = {0, run->leaves},
                                    .inputs = inputs,
                                    .input_count = run->leaves,
                                    .weighted = one->weighted};
    void *expected = calloc(1, bytes + 1);
    tnd_reduction_tree_root(&job, 0, one->count, expected);
    return expected;
}

static void expect(collective_case_t *run)
{
    run->expected = calloc(run->rounds * CASE_POSTINGS, sizeof(void *));
    for (uint64_t round = 0; run->checked && round < run->rounds; round++) {
        for (uint32_t leaf = 0; leaf < run->leaves; leaf++)
            post(run, leaf, round);
        for (uint32_t p = 0; p < run->posts[0].count; p++)
            if (run->posts[0].items[p].reduce != TND_GATHER)
                run->expected[round * CASE_POSTINGS + p] = expected_of(run, p);
    }
}

/*  Whether two numbers are as near to each other as sums of the same numbers in different orders. */
static bool near(double one, double other, double least, double step)
{
    if (isnan(one) || isnan(other) || isinf(one) || isinf(other))
        return (isnan(one) && isnan(other)) || one == other;
    return fabs(one - other) <= least + fabs(other) * step;
}

static double number_at(const void *values, tnd_dtype_t dtype, size_t at)
{
    const char *from = (const char *)values + at * tnd_dtype_size(dtype);
    float single;
    double number;
    uint16_t half;
    if (dtype == TND_F64)
        return memcpy(&number, from, sizeof number), number;
    if (dtype == TND_F32)
        return (double)(memcpy(&single, from, sizeof single), single);
    memcpy(&half, from, sizeof half);
    return (double)(dtype == TND_BF16 ? tnd_f32_from_bf16(half) : tnd_f32_from_f16(half));
}

/*  The bits are those of the tree, or near to it if the collective adds in any order. */
static bool is_expected(const collective_case_t *run, const tnd_posting_t *post,
                        const void *expected)
{
    static const double steps[TND_DTYPE_COUNT] = {
        [TND_F16] = 0x1p-10, [TND_BF16] = 0x1p-7, [TND_F32] = 0x1p-20, [TND_F64] = 0x1p-48};
    double least = post->dtype == TND_F64 ? 0x1p-42 : 0x1p-13;
    bool exact = (run->ops->orders >> TND_ORDER_TREE & 1) != 0 || steps[post->dtype] == 0;
    if (exact)
        return memcmp(post->data, expected, post->count * tnd_dtype_size(post->dtype)) == 0;
    for (size_t i = 0; i < post->count; i++)
        if (!near(number_at(post->data, post->dtype, i), number_at(expected, post->dtype, i), least,
                  steps[post->dtype]))
            return false;
    return true;
}

/*  Whether a scattered array has the result in the share of its replica, and else what was posted. */
static bool has_share(const collective_case_t *run, uint32_t leaf, uint64_t round, uint32_t p)
{
    const tnd_posting_t *post = &run->posts[leaf].items[p];
    size_t size = tnd_dtype_size(post->dtype), begin, end;
    char *wanted = malloc(post->count * size + 1);
    const char *expected = run->expected[round * CASE_POSTINGS + p];
    tnd_posting_share(post, run->leaves, leaf, &begin, &end);
    case_values(wanted, post->dtype, post->count, case_number(leaf, round, p));
    memcpy(wanted + begin * size, expected + begin * size, (end - begin) * size);
    bool has = memcmp(post->data, wanted, post->count * size) == 0;
    free(wanted);
    return has;
}

static void check_reduced(collective_case_t *run, uint32_t leaf, uint64_t round, uint32_t p)
{
    const tnd_posting_t *post = &run->posts[leaf].items[p];
    const void *expected = run->expected[round * CASE_POSTINGS + p];
    char text[128];
    bool good = post->sharing == TND_SHARE_OUT ? has_share(run, leaf, round, p)
                                               : is_expected(run, post, expected);
    if (good)
        return;
    snprintf(text, sizeof text,
             "round %" PRIu64 ": replica %" PRIu32 " has another result of posting %" PRIu32, round,
             leaf, p);
    end(run, text);
}

/*  Whether what was gathered is that of all replicas, in their order. */
static void check_gathered(collective_case_t *run, const case_member_t *member, uint64_t round,
                           uint32_t number)
{
    const tnd_gathers_t *gathers = member->collective->ops->gathers(member->collective);
    const tnd_gathered_t *gathered = &gathers->items[number];
    bool good = number < gathers->count && gathered->first[0] == 0;
    for (uint32_t leaf = 0; good && leaf < run->leaves; leaf++) {
        uint16_t values[5];
        size_t count = case_gathered(leaf, round);
        case_values(values, TND_U16, count, leaf + round * CASE_LEAVES);
        good = gathered->first[leaf + 1] - gathered->first[leaf] == count &&
               memcmp(gathered->data + gathered->first[leaf] * sizeof *values, values,
                      count * sizeof *values) == 0;
    }
    if (!good)
        end(run, "what was gathered is not what was posted");
}

/*  Postings [begin, end) of a replica. */
static void check(collective_case_t *run, const case_member_t *member, uint32_t leaf,
                  uint64_t round, uint32_t begin, uint32_t end)
{
    uint32_t gathers = 0;
    for (uint32_t p = 0; run->checked && p < end; p++) {
        const tnd_posting_t *post = &run->posts[leaf].items[p];
        if (post->reduce != TND_GATHER && p >= begin)
            check_reduced(run, leaf, round, p);
        else if (post->reduce == TND_GATHER && post->same == NULL && p >= begin)
            check_gathered(run, member, round, gathers);
        gathers += post->reduce == TND_GATHER && post->same == NULL;
    }
}

/* --- device threads --------------------------------------------------------------------------- */

/*  The first thread begins a round while the others wait. */
static bool begin_round(case_thread_t *self, uint64_t round)
{
    case_member_t *member = self->member;
    collective_case_t *run = member->run;
    if (!meet(member, self->number))
        return false;
    if (self->number == 0 && round % run->per_step == 0)
        member->round =
            (tnd_collective_round_t){.step = round / run->per_step, .rows = member->rows};
    for (uint32_t i = 0; self->number == 0 && i < member->count; i++)
        member->rows[i] = case_rows(run, member->first + i, round);
    return meet(member, self->number);
}

/*  Replicas [first, past) are those of the thread. */
static void check_own(const case_thread_t *self, uint64_t round, uint32_t begin, uint32_t end)
{
    const case_member_t *member = self->member;
    uint32_t first = member->first + member->shares[self->number].first;
    for (uint32_t leaf = first; leaf < first + member->shares[self->number].count; leaf++)
        check(member->run, member, leaf, round, begin, end);
}

/*  Waits for some postings, other ones on each thread, and uses their results at once. */
static bool reduce_early(const case_thread_t *self, uint64_t round)
{
    case_member_t *member = self->member;
    const tnd_collective_ops_t *ops = member->collective->ops;
    uint32_t own = member->first + member->shares[self->number].first;
    uint32_t count = member->run->posts[own].count;
    if (!ops->begin(member->collective, self->number, &member->round))
        return false;
    for (uint32_t p = 0, past = 0; p < count; p++) {
        if ((p + self->number + round) % 3 == 0)
            continue;
        if (!ops->await(member->collective, self->number, &member->round, p))
            return false;
        if (!member->run->on_devices) /* else they have to be brought back first */
            check_own(self, round, past, p + 1);
        past = p + 1;
    }
    return ops->await(member->collective, self->number, &member->round, TND_POSTINGS_MAX);
}

static bool reduce(const case_thread_t *self, uint64_t round)
{
    case_member_t *member = self->member;
    const tnd_collective_ops_t *ops = member->collective->ops;
    return member->run->early && ops->begin != NULL
               ? reduce_early(self, round)
               : ops->reduce(member->collective, self->number, &member->round);
}

/*  Starts the postings of a replica in several goes, as a step that posts and computes in turn; the last ones
 *  in each second round only. */
static bool start_some(const case_thread_t *self, uint32_t leaf, uint64_t round)
{
    case_member_t *member = self->member;
    const tnd_collective_ops_t *ops = member->collective->ops;
    tnd_postings_t *postings = &member->run->posts[leaf];
    uint32_t count = postings->count;
    bool ended = true;
    for (uint32_t k = (uint32_t)(round % 3); ended && k < count + round % 2;
         k += 1 + (k * 5 + (uint32_t)round) % 4) {
        postings->count = k < count ? k : count;
        ended = ops->start(member->collective, self->number, leaf - member->first, &member->round);
    }
    postings->count = count;
    return ended;
}

/*  The replicas of a thread post, some of it while the others do so. */
static bool post_round(case_thread_t *self, uint64_t round)
{
    const case_member_t *member = self->member;
    collective_case_t *run = member->run;
    uint32_t first = member->first + member->shares[self->number].first;
    bool starts = run->starts && member->collective->ops->start != NULL,
         ended = !starts || begin_round(self, round);
    for (uint32_t leaf = first; ended && leaf < first + member->shares[self->number].count;
         leaf++) {
        post(run, leaf, round);
        if (run->on_devices)
            device_arrays_move(member->opened[self->number], &self->queue, &run->posts[leaf],
                               run->device_arrays[leaf]);
        ended = !starts || start_some(self, leaf, round);
    }
    if (run->astray && round == 1 && first + member->shares[self->number].count == run->leaves)
        run->posts[run->leaves - 1].items[0].from = run->posts[run->leaves - 1].items[0].data = run;
    return ended && (starts || begin_round(self, round));
}

static void *device(void *context)
{
    case_thread_t *self = context;
    case_member_t *member = self->member;
    collective_case_t *run = member->run;
    uint32_t first = member->first + member->shares[self->number].first;
    uint32_t past = first + member->shares[self->number].count;
    self->ended = true;
    for (uint64_t round = 0; self->ended && round < run->rounds; round++) {
        self->ended = post_round(self, round) && reduce(self, round);
        for (uint32_t leaf = first; run->on_devices && self->ended && leaf < past; leaf++)
            device_arrays_bring(member->opened[self->number], &self->queue, &run->posts[leaf],
                                run->device_arrays[leaf]);
        if (self->ended)
            check_own(self, round, 0, run->posts[first].count);
    }
    pthread_mutex_lock(&run->lock);
    run->running--;
    run->pending = true;
    pthread_cond_broadcast(&run->changed);
    pthread_mutex_unlock(&run->lock);
    return NULL;
}

/* --- the carrier ------------------------------------------------------------------------------ */

static void compute_root(collective_case_t *run, const tnd_msg_t *round)
{
    tnd_post_note_t nodes[CASE_LEAVES];
    tnd_buffer_t *root;
    tnd_error_t error;
    uint32_t count = tnd_reducer_core_nodes(run->reducer, round->post.round,
                                            round->post.reducer_slot, nodes, CASE_LEAVES);
    if (tnd_roots_compute(&run->roots, nodes, count, &root, &error) == TND_OK)
        tnd_reducer_core_reduced(run->reducer, round, root);
    else
        end(run, error.text);
}

/*  A result of a shape that no replica has posted. */
static tnd_buffer_t *other_result(void)
{
    const tnd_tensor_head_t head = {.reduce = TND_MAX, .dtype = TND_I32, .count = 99};
    tnd_buffer_t *result = tnd_buffer_new(tnd_tensor_bytes(TND_I32, false, 0, head.count));
    tnd_segment_t *none;
    memset(tnd_tensor_begin(result, &head, &none), 0, 99 * sizeof(int32_t));
    tnd_buffer_seal(result);
    return result;
}

/*  The member's actor then looks what it has to send, as after each message. */
static void answer(collective_case_t *run, const tnd_msg_t *msg)
{
    tnd_collective_t *to = run->member[msg->to - FIRST_FEEDER].collective;
    tnd_error_t error;
    wake(&run->member[msg->to - FIRST_FEEDER]);
    if (msg->kind == TND_MSG_CLOSED) {
        to->ops->closed(to);
        return;
    }
    tnd_post_note_t result = msg->post;
    result.payload = run->spoil
                         ? other_result()
                         : tnd_roots_for(&run->roots, msg->post.payload, run->carriers, msg->to);
    run->received_bytes += tnd_buffer_size(result.payload);
    if (to->ops->incoming(to, REDUCER, &result, &error) != TND_OK)
        end(run, error.text);
}

static void drain(collective_case_t *run)
{
    tnd_effect_t effect;
    while (tnd_reducer_core_next(run->reducer, 0, &effect)) {
        tnd_buffer_t *buffer = effect.payload;
        if (effect.kind == TND_EFFECT_REDUCE)
            compute_root(run, &effect.msg);
        else if (effect.kind == TND_EFFECT_LINK)
            answer(run, &effect.msg);
        else
            tnd_buffer_drop(&buffer);
    }
}

static void carry(collective_case_t *run, uint32_t number)
{
    tnd_collective_t *member = run->member[number].collective;
    tnd_outgoing_t outgoing;
    tnd_used_t used;
    tnd_error_t error;
    tnd_msg_t msg = {.from = FIRST_FEEDER + number, .to = REDUCER};
    while (member->ops->outgoing(member, &outgoing)) {
        msg.kind = TND_MSG_POST;
        msg.post = outgoing.post;
        if (tnd_reducer_core_post(run->reducer, &msg, &error) != TND_OK)
            end(run, error.text);
        run->sent++;
        run->sent_bytes += tnd_buffer_size(outgoing.post.payload);
        drain(run);
    }
    while (member->ops->used(member, &used)) {
        msg.kind = TND_MSG_GOT;
        msg.post = used.result;
        tnd_reducer_core_got(run->reducer, &msg);
        drain(run);
    }
}

static bool await_work(collective_case_t *run)
{
    pthread_mutex_lock(&run->lock);
    while (!run->pending)
        pthread_cond_wait(&run->changed, &run->lock);
    run->pending = false;
    bool running = run->running > 0;
    pthread_mutex_unlock(&run->lock);
    return running;
}

/* --- the run ---------------------------------------------------------------------------------- */

static void make_reducer(collective_case_t *run)
{
    tnd_reducer_core_config_t config = {.self = REDUCER,
                                        .replicas = run->leaves,
                                        .feeders = run->carriers,
                                        .names = run->names,
                                        .rounds_max = TND_PIECES_OPEN};
    run->reducer_memory = calloc(1, tnd_reducer_core_bytes(&config));
    run->reducer = tnd_reducer_core_init(run->reducer_memory, &config);
    tnd_roots_init(&run->roots, "mean", run->leaves, run->names);
    for (uint32_t m = 0; m < run->members; m++)
        tnd_reducer_core_feeder_up(run->reducer, FIRST_FEEDER + m);
}

/*  In place of the one that is not opened. */
static void open_device(case_member_t *member, uint32_t thread)
{
    static const tnd_device_config_t config = {.link_bytes_per_s = 0};
    tnd_device_t **opened_p = &member->opened[thread];
    tnd_error_t error;
    case_expect(member->devices[thread].ops->open(opened_p, member->devices[thread].ordinal,
                                                  &config, &error) == TND_OK,
                "%s", error.text);
    member->shares[thread].device = *opened_p;
    case_expect((*opened_p)->ops->reduction->open(*opened_p, 0, &member->threads[thread].queue,
                                                  &error) == TND_OK,
                "%s", error.text);
}

static void close_device(case_member_t *member, uint32_t thread)
{
    collective_case_t *run = member->run;
    tnd_device_t *device = member->opened[thread];
    uint32_t first = member->first + member->shares[thread].first;
    device->ops->reduction->close(device, &member->threads[thread].queue);
    for (uint32_t leaf = first; leaf < first + member->shares[thread].count; leaf++)
        for (uint32_t p = 0; p < CASE_POSTINGS; p++)
            if (run->device_arrays[leaf][p].area.host != NULL)
                device->ops->reduction->release(device, &run->device_arrays[leaf][p].area);
    tnd_device_close(&member->opened[thread]);
}

static void free_member(case_member_t *member)
{
    member->collective->ops->free(&member->collective);
    for (uint32_t t = 0; t < 2; t++)
        if (member->opened[t] != NULL)
            close_device(member, t);
}

static void join(collective_case_t *run, uint32_t number)
{
    case_member_t *member = &run->member[number];
    tnd_error_t error;
    *member = (case_member_t){.run = run};
    member->first = run->leaves * number / run->members;
    member->count = run->leaves * (number + 1) / run->members - member->first;
    member->thread_count = member->count < run->threads ? member->count : run->threads;
    uint32_t half = member->count / member->thread_count;
    member->shares[0] = (tnd_collective_thread_t){0, half, &member->devices[0]};
    member->shares[1] = (tnd_collective_thread_t){half, member->count - half, &member->devices[1]};
    for (uint32_t t = 0; t < 2; t++)
        member->devices[t] =
            (tnd_device_t){.ops = run->device, .ordinal = (number * 2 + t) % CASE_DEVICES};
    for (uint32_t t = 0; run->on_devices && t < 2; t++)
        open_device(member, t);
    for (uint32_t i = 0; i < member->count; i++) {
        member->posts[i] = &run->posts[member->first + i];
        run->carriers[member->first + i] = FIRST_FEEDER + number;
        run->names[member->first + i] = "feed";
    }
    run->buckets[0] = run->bucket;
    tnd_collective_config_t config = {.name = "feed",
                                      .replicas = run->leaves,
                                      .first = member->first,
                                      .count = member->count,
                                      .threads = member->shares,
                                      .thread_count = member->thread_count,
                                      .posts = member->posts,
                                      .accumulate = 1,
                                      .sums = run->none,
                                      .buckets = run->buckets,
                                      .patience_ns = UINT64_C(100000000000),
                                      .process = {meet, wake, fail, hang, member}};
    tnd_status_t joined =
        run->on_devices ? tnd_device_values_join(&member->collective, run->ops, &config, &error)
                        : run->ops->join(&member->collective, &config, &error);
    case_expect(joined == TND_OK, "%s", error.text);
}

static void start(case_member_t *member)
{
    for (uint32_t t = 0; t < member->thread_count; t++) {
        member->threads[t].member = member;
        member->threads[t].number = t;
        case_expect(pthread_create(&member->threads[t].thread, NULL, device, &member->threads[t]) ==
                        0,
                    "no thread");
    }
}

static void leave(collective_case_t *run)
{
    for (uint32_t m = 0; m < run->members; m++)
        run->member[m].collective->ops->abort(run->member[m].collective);
    for (uint32_t m = 0; m < run->members; m++)
        run->member[m].collective->ops->leave(run->member[m].collective);
    tnd_reducer_core_end(run->reducer);
    drain(run);
    for (uint32_t m = 0; m < run->members; m++)
        free_member(&run->member[m]);
    tnd_roots_free(&run->roots);
    free(run->reducer_memory);
    for (uint32_t leaf = 0; leaf < run->leaves; leaf++) {
        tnd_postings_free(&run->posts[leaf]);
        for (uint32_t p = 0; p < CASE_POSTINGS; p++) {
            free(run->arrays[leaf][p].in);
            free(run->arrays[leaf][p].out);
            run->arrays[leaf][p] = (case_array_t){0};
        }
    }
    for (uint64_t i = 0; i < run->rounds * CASE_POSTINGS; i++)
        free(run->expected[i]);
    free(run->expected);
    pthread_cond_destroy(&run->changed);
    pthread_mutex_destroy(&run->lock);
}

bool case_run(collective_case_t *run)
{
    pthread_mutex_init(&run->lock, NULL);
    pthread_cond_init(&run->changed, NULL);
    run->pending = run->aborted = false;
    run->running = run->sent = 0;
    run->sent_bytes = run->received_bytes = 0;
    run->failure[0] = '\0';
    for (uint32_t m = 0; m < run->members; m++)
        join(run, m);
    make_reducer(run);
    expect(run);
    uint32_t present = run->members - run->absent;
    for (uint32_t m = 0; m < present; m++)
        run->running += run->member[m].thread_count;
    for (uint32_t m = 0; m < present; m++)
        start(&run->member[m]);
    while (await_work(run)) {
        for (uint32_t m = 0; m < present; m++)
            carry(run, m);
        if (run->absent > 0 && run->sent >= present)
            end(run, "stopped");
    }
    bool ended = !run->aborted;
    for (uint32_t m = 0; m < present; m++)
        for (uint32_t t = 0; t < run->member[m].thread_count; t++) {
            pthread_join(run->member[m].threads[t].thread, NULL);
            ended = ended && run->member[m].threads[t].ended;
        }
    leave(run);
    return ended;
}
