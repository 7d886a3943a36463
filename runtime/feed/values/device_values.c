/*  runtime/feed/values/device_values.c - values that replicas post in the memory of their devices. */
#include "runtime/feed/values/device_values.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "runtime/base/allocation.h"
#include "runtime/base/bounds.h"
#include "runtime/base/clock.h"

/*  Parts of arrays begin at multiples of so many elements, so they are as aligned as the arrays are. */
enum { LINE = 64, ELEMENTS = 64 };

/*  Elements of one posting in a chunk. */
typedef struct {
    uint32_t posting;
    size_t begin, count, at; /* `at`: bytes from the beginning of each node's values */
} segment_t;

/*  The memory of a chunk.  On both sides nodes follow one another, TND_DEVICE_VALUES_BYTES each; on the host
 *  the result follows them. */
typedef struct {
    tnd_device_area_t area;
    segment_t *segments;
    size_t count, room, used;          /* used: bytes of each node */
    tnd_reduction_tree_input_t *nodes; /* by segment: those of the device */
    size_t node_room;
} chunk_t;

struct values;

/*  A device thread. */
typedef struct {
    struct values *group;
    uint32_t number, first, count; /* of the process; its replicas */
    tnd_device_t *device;
    bool copies; /* its values are not in the host's memory */
    tnd_device_queue_t out, in;
    bool open; /* what is above and the chunks' areas are there */
    tnd_reduction_tree_node_t covers[TND_REDUCTION_TREE_COVER_MOST];
    uint32_t cover_count;
    chunk_t chunks[TND_DEVICE_VALUES_CHUNKS];
    uint64_t carried;                   /* chunks so far, over all rounds */
    tnd_reduction_tree_input_t *inputs; /* scratch, for its replicas */
    uint32_t posting;                   /* where the next chunk begins */
    size_t begin;
} thread_t;

typedef struct values {
    tnd_collective_t base;
    tnd_collective_ops_t ops;
    tnd_collective_config_t config;
    tnd_collective_t *inner;
    const tnd_postings_t **shown; /* to it, by replica of the process ... */
    tnd_postings_t *parts;        /* ... what a chunk has, or all that is not on a device */
    thread_t *threads;
    _Atomic bool over;
} values_t;

static bool is_over(const values_t *self)
{
    return atomic_load_explicit(&self->over, memory_order_acquire);
}

/*  Ends the run with the reason that the device gave, unless it is over.  Always returns false. */
static bool fail(const thread_t *thread, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
static bool fail(const thread_t *thread, const char *format, ...)
{
    const tnd_collective_config_t *config = &thread->group->config;
    char text[512];
    va_list arguments;
    int used = snprintf(text, sizeof text, "%.64s: ", config->name);
    va_start(arguments, format);
    vsnprintf(text + used, sizeof text - (size_t)used, format, arguments);
    va_end(arguments);
    config->process.fail(config->process.context, text);
    return false;
}

static const tnd_postings_t *posts_of(const thread_t *thread)
{
    return thread->group->config.posts[thread->first];
}

static size_t wide_size(const tnd_posting_t *post)
{
    return tnd_dtype_size(tnd_reduction_tree_partial_dtype(post->dtype));
}

/* --- memory ----------------------------------------------------------------------------------- */

static size_t scratch_bytes(uint32_t replicas)
{
    return replicas > TND_DEVICE_LEAVES ? TND_DEVICE_SCRATCH : 0;
}

tnd_device_values_bytes_t tnd_device_values_bytes(uint32_t replicas, uint32_t first, uint32_t count)
{
    const uint64_t chunks = (uint64_t)TND_DEVICE_VALUES_CHUNKS * TND_DEVICE_VALUES_BYTES;
    tnd_reduction_tree_node_t covers[TND_REDUCTION_TREE_COVER_MOST];
    uint32_t nodes = tnd_reduction_tree_cover(replicas, first, count, covers);
    return (tnd_device_values_bytes_t){.host = (nodes + 1) * chunks,
                                       .device = nodes * chunks + scratch_bytes(count)};
}

static tnd_status_t allocate(thread_t *thread, tnd_error_t *error)
{
    const tnd_device_reduction_t *ops = thread->device->ops->reduction;
    size_t scratch = scratch_bytes(thread->count);
    size_t bytes = (size_t)thread->cover_count * TND_DEVICE_VALUES_BYTES;
    TND_TRY(ops->open(thread->device, scratch, &thread->out, error));
    TND_TRY(ops->open(thread->device, 0, &thread->in, error));
    for (size_t c = 0; thread->copies && c < TND_DEVICE_VALUES_CHUNKS; c++)
        TND_TRY(ops->allocate(thread->device, bytes + TND_DEVICE_VALUES_BYTES, bytes,
                              &thread->chunks[c].area, error));
    return TND_OK;
}

static void release(thread_t *thread)
{
    const tnd_device_reduction_t *ops = thread->open ? thread->device->ops->reduction : NULL;
    if (ops == NULL)
        return;
    if (thread->out.own != NULL || thread->out.stream != 0)
        ops->close(thread->device, &thread->out);
    if (thread->in.own != NULL || thread->in.stream != 0)
        ops->close(thread->device, &thread->in);
    for (size_t c = 0; c < TND_DEVICE_VALUES_CHUNKS; c++)
        if (thread->chunks[c].area.host != NULL)
            ops->release(thread->device, &thread->chunks[c].area);
    thread->open = false;
}

static tnd_status_t make_ready(thread_t *thread, tnd_error_t *error)
{
    if (thread->open)
        return TND_OK;
    thread->open = true;
    return allocate(thread, error);
}

static char *node_values(const chunk_t *chunk, uint32_t node, const segment_t *segment, bool host)
{
    char *side = host ? chunk->area.host : chunk->area.device;
    return side + (size_t)node * TND_DEVICE_VALUES_BYTES + segment->at;
}

static char *result_of(const thread_t *thread, const chunk_t *chunk, const segment_t *segment)
{
    return node_values(chunk, thread->cover_count, segment, true);
}

/* --- chunks ----------------------------------------------------------------------------------- */

/*  The elements that the next posting on a device has in a chunk with that many bytes left; 0: they are for the
 *  next chunk. */
static size_t some_of(const tnd_posting_t *post, size_t begin, size_t left)
{
    size_t fit = left / wide_size(post), rest = post->count - begin;
    return rest <= fit ? rest : fit / ELEMENTS * ELEMENTS;
}

/*  Cuts the next chunk, the same in all members; false: there is none. */
static bool cut(thread_t *thread, chunk_t *chunk)
{
    const tnd_postings_t *posts = posts_of(thread);
    chunk->count = chunk->used = 0;
    for (; thread->posting < posts->count; thread->posting++, thread->begin = 0) {
        const tnd_posting_t *post = &posts->items[thread->posting];
        if (!post->on_device)
            continue;
        size_t count = some_of(post, thread->begin, TND_DEVICE_VALUES_BYTES - chunk->used);
        if (count == 0)
            break;
        chunk->segments = tnd_grow(chunk->segments, (uint32_t)chunk->count, &chunk->room,
                                   sizeof *chunk->segments);
        chunk->segments[chunk->count++] =
            (segment_t){thread->posting, thread->begin, count, chunk->used};
        chunk->used = tnd_round_up(chunk->used + count * wide_size(post), LINE);
        thread->begin += count;
        if (thread->begin < post->count || chunk->used >= TND_DEVICE_VALUES_BYTES)
            break;
    }
    return chunk->count > 0;
}

/*  The job of one node over the device's replicas. */
static tnd_reduction_tree_job_t job_of(const thread_t *thread, uint32_t posting, uint32_t node)
{
    const tnd_collective_config_t *config = &thread->group->config;
    tnd_reduction_tree_node_t of = thread->covers[node];
    const tnd_posting_t *post = &posts_of(thread)->items[posting];
    for (uint32_t i = 0; i < of.count; i++) {
        const tnd_posting_t *one = &config->posts[of.first - config->first + i]->items[posting];
        thread->inputs[i] = (tnd_reduction_tree_input_t){
            .node = {of.first + i, 1}, .data = one->from, .rows = one->rows, .weight = one->weight};
    }
    return (tnd_reduction_tree_job_t){.reduce = post->reduce,
                                      .dtype = post->dtype,
                                      .node = of,
                                      .inputs = thread->inputs,
                                      .input_count = of.count,
                                      .weighted = post->weighted};
}

/*  Puts one node of a segment into the queue: a leaf is copied as it is. */
static tnd_status_t put_node(const thread_t *thread, chunk_t *chunk, const segment_t *segment,
                             uint32_t node, tnd_reduction_tree_input_t *made, tnd_error_t *error)
{
    const tnd_device_reduction_t *ops = thread->device->ops->reduction;
    const tnd_reduction_tree_job_t job = job_of(thread, segment->posting, node);
    bool leaf = job.node.count == 1;
    size_t size =
        leaf ? tnd_dtype_size(job.dtype) : wide_size(&posts_of(thread)->items[segment->posting]);
    char *host = node_values(chunk, node, segment, true);
    char *there = node_values(chunk, node, segment, false);
    *made = (tnd_reduction_tree_input_t){
        .node = job.node, .data = host, .rows = tnd_reduction_tree_rows(&job), .partial = !leaf};
    if (job.weighted)
        made->weight = tnd_reduction_tree_weight(&job);
    if (made->rows == 0)
        return TND_OK;
    if (leaf)
        there = (char *)(uintptr_t)job.inputs[0].data + segment->begin * size;
    else
        TND_TRY(ops->reduce(thread->device, &thread->out, &job, false, segment->begin,
                            segment->count, there, error));
    return ops->copy_out(thread->device, &thread->out, host, there, segment->count * size, error);
}

/*  Memory may have been freed since it was posted. */
static tnd_status_t check_memory(const thread_t *thread, const segment_t *segment, uint32_t local,
                                 const void *memory, tnd_error_t *error)
{
    const tnd_collective_config_t *config = &thread->group->config;
    size_t size = tnd_dtype_size(config->posts[local]->items[segment->posting].dtype);
    const char *first = (const char *)memory + segment->begin * size;
    tnd_error_t why;
    if (thread->device->ops->reduction->holds(thread->device, first, segment->count * size, &why) ==
        TND_OK)
        return TND_OK;
    return tnd_fail(error,
                    "%s: replica %" PRIu32 " posted them as number %" PRIu32
                    ", and memory of its device has to stay there until `apply` runs",
                    why.text, config->first + local, segment->posting);
}

static tnd_status_t check_segment(const thread_t *thread, const segment_t *segment,
                                  tnd_error_t *error)
{
    for (uint32_t i = thread->first; i < thread->first + thread->count; i++) {
        const tnd_posting_t *post = &thread->group->config.posts[i]->items[segment->posting];
        if (post->rows > 0)
            TND_TRY(check_memory(thread, segment, i, post->from, error));
        if (post->data != post->from || post->rows == 0)
            TND_TRY(check_memory(thread, segment, i, post->data, error));
    }
    return TND_OK;
}

/*  Starts to add and copy out what the device has of a chunk. */
static tnd_status_t begin_chunk(thread_t *thread, uint32_t place, tnd_error_t *error)
{
    chunk_t *chunk = &thread->chunks[place];
    size_t nodes = chunk->count * thread->cover_count;
    if (chunk->node_room < nodes) {
        chunk->nodes = tnd_resize(chunk->nodes, nodes, sizeof *chunk->nodes);
        chunk->node_room = nodes;
    }
    for (size_t s = 0; thread->copies && s < chunk->count; s++) {
        TND_TRY(check_segment(thread, &chunk->segments[s], error));
        for (uint32_t n = 0; n < thread->cover_count; n++)
            TND_TRY(put_node(thread, chunk, &chunk->segments[s], n,
                             &chunk->nodes[s * thread->cover_count + n], error));
    }
    return thread->device->ops->reduction->mark(thread->device, &thread->out, place, error);
}

/*  Gives the result to all replicas of the device: it is copied in once, then from one to the other. */
static tnd_status_t give(const thread_t *thread, const chunk_t *chunk, const segment_t *segment,
                         tnd_error_t *error)
{
    const tnd_device_reduction_t *ops = thread->device->ops->reduction;
    const tnd_posting_t *one = &posts_of(thread)->items[segment->posting];
    size_t size = tnd_dtype_size(one->dtype);
    const tnd_reduction_tree_input_t input = {.node = {0, 1}, .data = one->data, .rows = 1};
    const tnd_reduction_tree_job_t same = {.reduce = TND_SUM,
                                           .dtype = one->dtype,
                                           .node = input.node,
                                           .inputs = &input,
                                           .input_count = 1};
    TND_TRY(check_segment(thread, segment, error));
    TND_TRY(ops->copy_in(thread->device, &thread->in, (char *)one->data + segment->begin * size,
                         result_of(thread, chunk, segment), segment->count * size, error));
    for (uint32_t i = thread->first + 1; i < thread->first + thread->count; i++) {
        char *data = thread->group->config.posts[i]->items[segment->posting].data;
        if (data != thread->group->config.posts[i - 1]->items[segment->posting].data)
            TND_TRY(ops->reduce(thread->device, &thread->in, &same, true, segment->begin,
                                segment->count, data + segment->begin * size, error));
    }
    return TND_OK;
}

static tnd_status_t end_chunk(const thread_t *thread, uint32_t place, tnd_error_t *error)
{
    const chunk_t *chunk = &thread->chunks[place];
    for (size_t s = 0; thread->copies && s < chunk->count; s++)
        TND_TRY(give(thread, chunk, &chunk->segments[s], error));
    return thread->device->ops->reduction->mark(thread->device, &thread->in, place, error);
}

/* --- what the other collective is shown ------------------------------------------------------- */

static void show_all(const thread_t *thread)
{
    for (uint32_t i = thread->first; i < thread->first + thread->count; i++)
        thread->group->shown[i] = thread->group->config.posts[i];
}

/*  false: nothing is left. */
static bool show_rest(const thread_t *thread)
{
    values_t *group = thread->group;
    for (uint32_t i = thread->first; i < thread->first + thread->count; i++) {
        const tnd_postings_t *posts = group->config.posts[i];
        group->parts[i].count = 0;
        for (uint32_t p = 0; p < posts->count; p++)
            if (!posts->items[p].on_device)
                tnd_postings_add(&group->parts[i], &posts->items[p]);
        tnd_postings_settle(&group->parts[i]);
        group->shown[i] = &group->parts[i];
    }
    return group->parts[thread->first].count > 0;
}

/*  What a replica has of a chunk's segment.  The nodes that were copied out, and the memory of the result, are of
 *  all replicas of a device. */
static tnd_posting_t part_of(const thread_t *thread, const chunk_t *chunk, size_t number,
                             uint32_t local)
{
    const segment_t *segment = &chunk->segments[number];
    tnd_posting_t post = thread->group->config.posts[local]->items[segment->posting];
    size_t at = segment->begin * tnd_dtype_size(post.dtype);
    post.whole = segment->count < post.count ? post.count : 0;
    post.count = segment->count;
    post.on_device = false;
    if (thread->copies) {
        post.from = post.data = result_of(thread, chunk, segment);
        post.added = &chunk->nodes[number * thread->cover_count];
        post.added_count = thread->cover_count;
        post.leaves = thread->count;
    } else {
        post.from = (const char *)post.from + at;
        post.data = (char *)post.data + at;
    }
    return post;
}

static void show_chunk(const thread_t *thread, const chunk_t *chunk)
{
    values_t *group = thread->group;
    for (uint32_t i = thread->first; i < thread->first + thread->count; i++) {
        group->parts[i].count = 0;
        for (size_t s = 0; s < chunk->count; s++) {
            const tnd_posting_t post = part_of(thread, chunk, s, i);
            tnd_postings_add(&group->parts[i], &post);
        }
        group->shown[i] = &group->parts[i];
    }
}

/* --- rounds ----------------------------------------------------------------------------------- */

/*  Waits for a mark.  TND_STOPPED: the round is over. */
static tnd_status_t await_mark(const thread_t *thread, const tnd_device_queue_t *queue,
                               uint32_t place, tnd_error_t *error)
{
    static const uint64_t poll_ns = 100000;
    uint64_t begun = tnd_clock_now();
    for (;;) {
        tnd_status_t status =
            thread->device->ops->reduction->reached(thread->device, queue, place, error);
        if (status != TND_AGAIN)
            return status;
        if (is_over(thread->group))
            return TND_STOPPED;
        if (tnd_clock_now() - begun > poll_ns)
            usleep(20);
    }
}

typedef tnd_status_t order_fn(tnd_device_t *device, const tnd_device_queue_t *queue,
                              uintptr_t stream, tnd_error_t *error);

/*  Orders a queue and all streams whose work makes or reads the values. */
static tnd_status_t order(const thread_t *thread, order_fn *call, const tnd_device_queue_t *queue,
                          tnd_error_t *error)
{
    uintptr_t before = 0;
    bool any = false;
    for (uint32_t i = thread->first; i < thread->first + thread->count; i++) {
        const tnd_postings_t *posts = thread->group->config.posts[i];
        for (uint32_t p = 0; p < posts->count; p++) {
            const tnd_posting_t *post = &posts->items[p];
            if (!post->on_device || !post->streams || (any && post->stream == before))
                continue;
            TND_TRY(call(thread->device, queue, post->stream, error));
            before = post->stream;
            any = true;
        }
    }
    return TND_OK;
}

/*  Whether the thread of a replica has to wait for results, because no stream does. */
static bool is_awaited(const thread_t *thread)
{
    bool awaited = false;
    for (uint32_t i = thread->first; i < thread->first + thread->count; i++) {
        const tnd_postings_t *posts = thread->group->config.posts[i];
        for (uint32_t p = 0; p < posts->count; p++)
            awaited = awaited || (posts->items[p].on_device && !posts->items[p].streams);
    }
    return awaited;
}

/*  The round's place in the account: reductions of the user, not chunks. */
static void count(const thread_t *thread, tnd_collective_round_t *round, uint32_t reductions)
{
    const tnd_collective_config_t *config = &thread->group->config;
    if (thread->number == 0 && config->count < config->replicas)
        round->reductions = reductions;
}

static bool reduce_inside(const thread_t *thread, tnd_collective_round_t *round)
{
    tnd_collective_t *inner = thread->group->inner;
    return inner->ops->reduce(inner, thread->number, round);
}

/*  Begins the next chunk if there is one; the memory that it takes has been copied in. */
static tnd_status_t begin_next(thread_t *thread, uint64_t number, bool *any_p, tnd_error_t *error)
{
    uint32_t place = (uint32_t)(number % TND_DEVICE_VALUES_CHUNKS);
    *any_p = false;
    if (number >= TND_DEVICE_VALUES_CHUNKS)
        TND_TRY(await_mark(thread, &thread->in, place, error));
    *any_p = cut(thread, &thread->chunks[place]);
    return *any_p ? begin_chunk(thread, place, error) : TND_OK;
}

/*  The round of one chunk.  TND_STOPPED: the other collective has ended it. */
static tnd_status_t carry_chunk(thread_t *thread, tnd_collective_round_t *round, uint64_t number,
                                uint32_t before, tnd_error_t *error)
{
    uint32_t place = (uint32_t)(number % TND_DEVICE_VALUES_CHUNKS);
    const chunk_t *chunk = &thread->chunks[place];
    TND_TRY(await_mark(thread, &thread->out, place, error));
    show_chunk(thread, chunk);
    count(thread, round, before + chunk->segments[0].posting);
    if (!reduce_inside(thread, round))
        return TND_STOPPED;
    return end_chunk(thread, place, error);
}

/*  One chunk is carried while the next one is copied out and the one before is copied in. */
static tnd_status_t carry(thread_t *thread, tnd_collective_round_t *round, uint32_t before,
                          tnd_error_t *error)
{
    const tnd_device_reduction_t *ops = thread->device->ops->reduction;
    bool any, more;
    thread->posting = 0;
    thread->begin = 0;
    TND_TRY(make_ready(thread, error));
    TND_TRY(order(thread, ops->follow, &thread->out, error));
    TND_TRY(order(thread, ops->follow, &thread->in, error));
    TND_TRY(begin_next(thread, thread->carried, &any, error));
    for (; any; any = more) {
        TND_TRY(begin_next(thread, thread->carried + 1, &more, error));
        TND_TRY(carry_chunk(thread, round, thread->carried, before, error));
        thread->carried++;
    }
    TND_TRY(order(thread, ops->precede, &thread->in, error));
    TND_TRY(ops->mark(thread->device, &thread->in, TND_DEVICE_VALUES_CHUNKS, error));
    return is_awaited(thread) ? await_mark(thread, &thread->in, TND_DEVICE_VALUES_CHUNKS, error)
                              : TND_OK;
}

static bool has_any(const thread_t *thread)
{
    const tnd_postings_t *posts = posts_of(thread);
    bool any = false;
    for (uint32_t p = 0; p < posts->count; p++)
        any = any || posts->items[p].on_device;
    return any;
}

/*  What the last round gathered is that of the rest, which comes last. */
static bool reduce_rest(thread_t *thread, tnd_collective_round_t *round, uint32_t before)
{
    bool any = show_rest(thread);
    count(thread, round, before);
    if (any && !reduce_inside(thread, round))
        return false;
    count(thread, round, before + posts_of(thread)->count);
    return true;
}

static bool reduce(thread_t *thread, tnd_collective_round_t *round)
{
    uint32_t before = thread->number == 0 ? round->reductions : 0; /* as in `count` */
    tnd_error_t error;
    if (!has_any(thread)) {
        show_all(thread);
        return reduce_inside(thread, round);
    }
    tnd_status_t status = carry(thread, round, before, &error);
    if (status == TND_FAILED)
        return fail(thread, "%s", error.text);
    return status == TND_OK && reduce_rest(thread, round, before);
}

static bool values_reduce(tnd_collective_t *self, uint32_t number, tnd_collective_round_t *round)
{
    return reduce(&((values_t *)self)->threads[number], round);
}

/*  Nothing that a step starts is on a device (runtime/feed/replica.c), nor is what it posts later: all of a round
 *  is in chunks, or none. */
static bool values_start(tnd_collective_t *self, uint32_t number, uint32_t replica,
                         tnd_collective_round_t *round)
{
    values_t *group = (values_t *)self;
    group->shown[replica] = group->config.posts[replica];
    return group->inner->ops->start(group->inner, number, replica, round);
}

/*  Values on devices are reduced at once: the streams that use them wait there. */
static bool values_begin(tnd_collective_t *self, uint32_t number, tnd_collective_round_t *round)
{
    values_t *group = (values_t *)self;
    thread_t *thread = &group->threads[number];
    if (has_any(thread))
        return reduce(thread, round);
    show_all(thread);
    return group->inner->ops->begin(group->inner, number, round);
}

static bool values_await(tnd_collective_t *self, uint32_t number, tnd_collective_round_t *round,
                         uint32_t posting)
{
    values_t *group = (values_t *)self;
    if (has_any(&group->threads[number]))
        return !is_over(group);
    return group->inner->ops->await(group->inner, number, round, posting);
}

/* --- the beginning and the end ---------------------------------------------------------------- */

static const tnd_gathers_t *values_gathers(const tnd_collective_t *self)
{
    const tnd_collective_t *inner = ((const values_t *)self)->inner;
    return inner->ops->gathers(inner);
}

static void values_abort(tnd_collective_t *self)
{
    values_t *group = (values_t *)self;
    atomic_store(&group->over, true);
    group->inner->ops->abort(group->inner);
}

static void values_leave(tnd_collective_t *self)
{
    values_t *group = (values_t *)self;
    for (uint32_t t = 0; t < group->config.thread_count; t++)
        release(&group->threads[t]);
    group->inner->ops->leave(group->inner);
}

static void free_thread(thread_t *thread)
{
    release(thread);
    for (size_t c = 0; c < TND_DEVICE_VALUES_CHUNKS; c++) {
        free(thread->chunks[c].segments);
        free(thread->chunks[c].nodes);
    }
    free(thread->inputs);
}

static void values_free(tnd_collective_t **self_p)
{
    values_t *group = (values_t *)*self_p;
    if (group == NULL)
        return;
    for (uint32_t t = 0; t < group->config.thread_count; t++)
        free_thread(&group->threads[t]);
    if (group->inner != NULL)
        group->inner->ops->free(&group->inner);
    for (uint32_t i = 0; i < group->config.count; i++)
        tnd_postings_free(&group->parts[i]);
    free(group->threads);
    free(group->parts);
    free(group->shown);
    free(group);
    *self_p = NULL;
}

/* --- what the actor asks ---------------------------------------------------------------------- */

static tnd_collective_t *inner_of(const tnd_collective_t *self)
{
    return ((const values_t *)self)->inner;
}

static bool values_outgoing(tnd_collective_t *self, tnd_outgoing_t *outgoing)
{
    return inner_of(self)->ops->outgoing(inner_of(self), outgoing);
}

static tnd_status_t values_incoming(tnd_collective_t *self, tnd_actor_id_t reducer,
                                    const tnd_post_note_t *result, tnd_error_t *error)
{
    return inner_of(self)->ops->incoming(inner_of(self), reducer, result, error);
}

static bool values_used(tnd_collective_t *self, tnd_used_t *used)
{
    return inner_of(self)->ops->used(inner_of(self), used);
}

static void values_closed(tnd_collective_t *self)
{
    inner_of(self)->ops->closed(inner_of(self));
}

static bool values_waits(const tnd_collective_t *self)
{
    return inner_of(self)->ops->waits(inner_of(self));
}

static bool values_awaits(const tnd_collective_t *self, uint64_t step, uint32_t reducer_slot)
{
    return inner_of(self)->ops->awaits(inner_of(self), step, reducer_slot);
}

static tnd_collective_ops_t ops_around(const tnd_collective_ops_t *inner)
{
    tnd_collective_ops_t ops = *inner;
    ops.reduce = values_reduce;
    ops.start = inner->start != NULL ? values_start : NULL;
    ops.begin = inner->begin != NULL ? values_begin : NULL;
    ops.await = inner->await != NULL ? values_await : NULL;
    ops.gathers = values_gathers;
    ops.abort = values_abort;
    ops.leave = values_leave;
    ops.free = values_free;
    ops.outgoing = values_outgoing;
    ops.incoming = values_incoming;
    ops.used = values_used;
    ops.closed = values_closed;
    ops.waits = values_waits;
    ops.awaits = values_awaits;
    return ops;
}

static void make_thread(values_t *self, uint32_t number)
{
    const tnd_collective_config_t *config = &self->config;
    const tnd_collective_thread_t *of = &config->threads[number];
    thread_t *thread = &self->threads[number];
    thread->group = self;
    thread->number = number;
    thread->first = of->first;
    thread->count = of->count;
    thread->device = (tnd_device_t *)(uintptr_t)of->device;
    thread->copies = (thread->device->ops->can & TND_DEVICE_OWN_MEMORY) != 0;
    thread->cover_count = tnd_reduction_tree_cover(config->replicas, config->first + of->first,
                                                   of->count, thread->covers);
    thread->inputs = tnd_allocate_zeroed(of->count, sizeof *thread->inputs);
}

tnd_status_t tnd_device_values_join(tnd_collective_t **self_p, const tnd_collective_ops_t *ops,
                                    const tnd_collective_config_t *config, tnd_error_t *error)
{
    values_t *self = tnd_allocate_zeroed(1, sizeof *self);
    self->ops = ops_around(ops);
    self->base.ops = &self->ops;
    self->config = *config;
    self->shown = tnd_allocate_zeroed(config->count, sizeof *self->shown);
    self->parts = tnd_allocate_zeroed(config->count, sizeof *self->parts);
    self->threads = tnd_allocate_zeroed(config->thread_count, sizeof *self->threads);
    for (uint32_t t = 0; t < config->thread_count; t++)
        make_thread(self, t);
    tnd_collective_config_t inner = *config;
    inner.posts = self->shown;
    *self_p = &self->base;
    return ops->join(&self->inner, &inner, error);
}
