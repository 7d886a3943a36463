/*  transport/collective/host.c - reduces on the device threads of a process.
 *
 *  The threads meet when all have posted.  If all replicas are here, each thread then claims chunks
 *  of the elements until none is left, and continues when all chunks are done.  A thread that the
 *  system interrupts delays the others by at most one chunk.  Otherwise values travel
 *  (host_exchange.c). */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/base/allocation.h"
#include "transport/collective/host_internal.h"
#include "transport/collective/tree_inputs.h"

/*  Long enough that the cost of claiming a chunk is negligible, short enough to wait for. */
enum { CHUNK_BYTES = 16384 };

static const uint64_t chunks_spin_ns = 50000;

extern const tnd_collective_ops_t tnd_collective_host;

bool tnd_host_collective_fail(host_t *host, const char *format, ...)
{
    char text[512];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    host->config.process.fail(host->config.process.context, text);
    return false;
}

bool tnd_host_collective_refuse(host_t *host, const tnd_collective_round_t *round, uint32_t one,
                                uint32_t other, uint32_t number)
{
    char text[TND_POSTINGS_REFUSAL];
    uint32_t first = host->config.first;
    return tnd_host_collective_fail(host, "%s: %s", host->config.name,
                                    tnd_postings_refusal(round->step, first + one,
                                                         host->posted[one], first + other,
                                                         host->posted[other], number, text));
}

bool tnd_host_collective_meet(thread_t *thread)
{
    const tnd_collective_process_t *process = &thread->host->config.process;
    return process->meet(process->context, thread->number);
}

void tnd_host_collective_wake(host_t *host)
{
    host->config.process.wake(host->config.process.context);
}

bool tnd_host_collective_shares_out(const host_t *host, uint32_t local, uint32_t posting)
{
    return local > 0 && posts_of(host, local)->items[posting].data ==
                            posts_of(host, local - 1)->items[posting].data;
}

void tnd_host_collective_list_parts(thread_t *thread, uint32_t posting, size_t begin)
{
    host_t *host = thread->host;
    tnd_reduction_parts_t *parts = &thread->parts;
    parts->input_count =
        tnd_tree_inputs_list(&host->config, 0, host->config.count, posting, begin, parts->inputs);
    parts->out_count = 0;
    for (uint32_t i = 0; i < host->config.count; i++) {
        const tnd_posting_t *post = &posts_of(host, i)->items[posting];
        if (!tnd_host_collective_shares_out(host, i, posting))
            parts->outs[parts->out_count++] =
                (char *)post->data + begin * tnd_dtype_size(post->dtype);
    }
}

tnd_reduction_tree_job_t tnd_host_collective_node_job(const thread_t *thread, uint32_t posting,
                                                      tnd_reduction_tree_node_t node)
{
    return tnd_tree_inputs_job(&posts_of(thread->host, 0)->items[posting], thread->parts.inputs,
                               node);
}

bool tnd_host_collective_posts_late(const thread_t *thread, bool weighing)
{
    const tnd_postings_t *own = thread->host->posted[thread->first];
    bool late = false;
    for (uint32_t p = 0; p < own->count; p++) {
        const tnd_posting_t *post = &own->items[p];
        late = late || post->reduce == TND_GATHER || (weighing && post->weighted);
    }
    return late;
}

/*  Publishes the shape of what this thread posted.  It stays valid when the thread posts again, and is
 *  overwritten only after the workers have met once more. */
static void show_posts(thread_t *thread)
{
    thread->shapes[thread->rounds++ % 2] =
        tnd_postings_shape(posts_of(thread->host, thread->first));
}

/*  Says what the first worker posted and this one did not.  All workers do so, and read what each has posted
 *  until they meet. */
static bool refuse_shown(thread_t *thread, const tnd_collective_round_t *round, uint32_t other)
{
    const host_t *host = thread->host;
    const tnd_postings_t *one = posts_of(host, 0);
    uint32_t local = host->threads[other].first, replica = host->config.first, number;
    char text[TND_POSTINGS_REFUSAL];
    (void)tnd_postings_fit(one, posts_of(host, local), &number);
    tnd_postings_refusal(round->step, replica, one, replica + local, posts_of(host, local), number,
                         text);
    return tnd_host_collective_meet(thread) &&
           tnd_host_collective_fail(thread->host, "%s: %s", host->config.name, text);
}

/*  Whether all workers showed the same in this round. */
static bool shown_fit(thread_t *thread, const tnd_collective_round_t *round)
{
    const host_t *host = thread->host;
    uint64_t turn = (thread->rounds - 1) % 2;
    const tnd_postings_shape_t *one = &host->threads[0].shapes[turn];
    for (uint32_t w = 1; w < host->config.thread_count; w++)
        if (memcmp(one, &host->threads[w].shapes[turn], sizeof *one) != 0)
            return refuse_shown(thread, round, w);
    return true;
}

/*  Postings that are cut into chunks together: one that is large, or as many small ones as make a
 *  chunk. */
typedef struct {
    uint32_t posting, postings;
    uint64_t chunks, before; /* its own; those of the groups before it */
    bool listed;             /* thread->parts are those of its only posting */
} chunk_group_t;

static size_t bytes_of(const tnd_posting_t *post)
{
    return post->reduce != TND_GATHER ? post->count * tnd_dtype_size(post->dtype) : 0;
}

/*  The group that begins at a posting. */
static chunk_group_t group_at(const tnd_postings_t *posted, uint32_t posting, uint64_t before)
{
    size_t bytes = bytes_of(&posted->items[posting]);
    chunk_group_t group = {.posting = posting, .postings = 1, .before = before};
    group.chunks = (bytes + CHUNK_BYTES - 1) / CHUNK_BYTES;
    for (uint32_t p = posting + 1; p < posted->count && group.chunks <= 1; p++) {
        size_t more = bytes_of(&posted->items[p]);
        if (more > CHUNK_BYTES - bytes)
            break;
        bytes += more;
        group.postings++;
        group.chunks = bytes > 0;
    }
    return group;
}

static chunk_group_t group_after(const tnd_postings_t *posted, const chunk_group_t *group)
{
    return group_at(posted, group->posting + group->postings, group->before + group->chunks);
}

static uint64_t chunks_of(const tnd_postings_t *posted)
{
    chunk_group_t group = group_at(posted, 0, 0);
    while (group.posting + group.postings < posted->count)
        group = group_after(posted, &group);
    return group.before + group.chunks;
}

/*  Gives elements [begin, end) of a replica's array to the others. */
static void copy_share(const host_t *host, uint32_t local, uint32_t posting, size_t begin,
                       size_t end)
{
    const tnd_posting_t *own = &posts_of(host, local)->items[posting];
    size_t size = tnd_dtype_size(own->dtype);
    for (uint32_t i = 0; i < host->config.count; i++) {
        char *to = posts_of(host, i)->items[posting].data;
        if (to != own->data)
            memcpy(to + begin * size, (const char *)own->from + begin * size, (end - begin) * size);
    }
}

/*  Elements [begin, end) of an array that is divided among the replicas. */
static void compute_shares(thread_t *thread, const tnd_posting_t *post, uint32_t posting,
                           size_t begin, size_t end)
{
    const host_t *host = thread->host;
    for (uint32_t i = 0; i < host->config.count; i++) {
        size_t from, to;
        tnd_posting_share(post, host->config.replicas, i, &from, &to);
        from = from < begin ? begin : from;
        to = to > end ? end : to;
        if (from >= to)
            continue;
        if (post->sharing == TND_SHARE_IN) {
            copy_share(host, i, posting, from, to);
            continue;
        }
        tnd_reduction_parts_t share = thread->parts;
        share.outs = &(void *){posts_of(host, i)->items[posting].data};
        share.out_count = 1;
        tnd_reduction_compute(post, &share, from, to);
    }
}

/*  Elements [begin, end) of a posting whose parts are listed. */
static void compute(thread_t *thread, const tnd_posting_t *post, uint32_t posting, size_t begin,
                    size_t end)
{
    if (post->sharing == TND_SHARE_NONE)
        tnd_reduction_compute(post, &thread->parts, begin, end);
    else
        compute_shares(thread, post, posting, begin, end);
}

/*  Listing the parts reads what the other threads posted: once for all chunks of a posting. */
static void reduce_chunk(thread_t *thread, const tnd_postings_t *posted, chunk_group_t *group,
                         uint64_t chunk)
{
    for (uint32_t p = group->posting; p < group->posting + group->postings; p++) {
        const tnd_posting_t *post = &posted->items[p];
        size_t begin = 0, end = post->count;
        if (post->reduce == TND_GATHER)
            continue;
        if (group->postings == 1)
            tnd_reduction_share(post->count, tnd_dtype_size(post->dtype), (uint32_t)chunk,
                                (uint32_t)group->chunks, &begin, &end);
        if (!group->listed)
            tnd_host_collective_list_parts(thread, p, 0);
        group->listed = group->postings == 1;
        compute(thread, post, p, begin, end);
    }
}

/*  The next chunk that no thread has claimed, counted over all rounds; false: none before `end`. */
static bool claim(host_t *host, uint64_t end, uint64_t *chunk_p)
{
    *chunk_p = atomic_load_explicit(&host->chunks_claimed, memory_order_relaxed);
    while (*chunk_p < end)
        if (atomic_compare_exchange_weak_explicit(&host->chunks_claimed, chunk_p, *chunk_p + 1,
                                                  memory_order_relaxed, memory_order_relaxed))
            return true;
    return false;
}

static bool chunks_are_done(const void *context)
{
    const thread_t *thread = context;
    return is_over(thread->host) ||
           atomic_load_explicit(&thread->host->chunks_done, memory_order_acquire) >= thread->chunks;
}

/*  Reduces together with the other workers.  Until all chunks of the round are done no thread posts
 *  again, and a thread looks at what others posted only while it has claimed one that is not. */
static bool reduce_chunks(thread_t *thread, const tnd_postings_t *posted)
{
    host_t *host = thread->host;
    chunk_group_t at = group_at(posted, 0, thread->chunks);
    uint64_t done = 0, chunk;
    thread->chunks += chunks_of(posted);
    for (; !is_over(host) && claim(host, thread->chunks, &chunk); done++) {
        while (chunk >= at.before + at.chunks)
            at = group_after(posted, &at);
        reduce_chunk(thread, posted, &at, chunk - at.before);
    }
    if (done > 0 &&
        atomic_fetch_add_explicit(&host->chunks_done, done, memory_order_acq_rel) + done ==
            thread->chunks)
        tnd_futex_open(&host->gate);
    tnd_futex_wait(&host->gate, chunks_are_done, thread, chunks_spin_ns);
    return !is_over(host);
}

static bool reduce_alone(thread_t *thread, const tnd_collective_round_t *round)
{
    host_t *host = thread->host;
    const tnd_postings_t *own = posts_of(host, thread->first);
    if (tnd_host_collective_posts_late(thread, false)) {
        tnd_host_collective_gather_room(host);
        tnd_host_collective_gather_own(thread);
    }
    for (uint32_t p = 0; p < own->count; p++) {
        const tnd_posting_t *post = &own->items[p];
        if (post->reduce == TND_GATHER)
            continue;
        tnd_host_collective_list_parts(thread, p, 0);
        compute(thread, post, p, 0, post->count);
    }
    return !is_over(host) && tnd_host_collective_gather_equal(host, round);
}

static bool reduce_here(thread_t *thread, tnd_collective_round_t *round)
{
    host_t *host = thread->host;
    if (host->config.thread_count == 1)
        return reduce_alone(thread, round);
    const tnd_postings_t *posted = posts_of(host, thread->first);
    show_posts(thread);
    if (!tnd_host_collective_meet(thread) || !shown_fit(thread, round))
        return false;
    if (!tnd_host_collective_posts_late(thread, false))
        return reduce_chunks(thread, posted);
    if (thread->number == 0)
        tnd_host_collective_gather_room(host);
    if (!tnd_host_collective_meet(thread))
        return false;
    tnd_host_collective_gather_own(thread);
    return reduce_chunks(thread, posted) && tnd_host_collective_meet(thread) &&
           (thread->number > 0 || tnd_host_collective_gather_equal(host, round));
}

static bool is_whole(const host_t *host)
{
    return host->config.count == host->config.replicas;
}

static bool host_reduce(tnd_collective_t *self, uint32_t number, tnd_collective_round_t *round)
{
    host_t *host = (host_t *)self;
    thread_t *thread = &host->threads[number];
    return is_whole(host) ? reduce_here(thread, round)
                          : tnd_host_collective_exchange(thread, round);
}

/*  If all replicas are here, nothing is on its way: the first thread that needs a result adds. */
static bool host_begin(tnd_collective_t *self, uint32_t number, tnd_collective_round_t *round)
{
    host_t *host = (host_t *)self;
    thread_t *thread = &host->threads[number];
    thread->ended = false;
    return is_whole(host) || tnd_host_collective_begin_exchange(thread, round);
}

static bool host_await(tnd_collective_t *self, uint32_t number, tnd_collective_round_t *round,
                       uint32_t posting)
{
    host_t *host = (host_t *)self;
    thread_t *thread = &host->threads[number];
    if (thread->ended)
        return !is_over(host);
    if (!is_whole(host))
        return tnd_host_collective_await_exchange(thread, round, posting);
    thread->ended = true;
    return reduce_here(thread, round);
}

static tnd_status_t host_join(tnd_collective_t **self_p, const tnd_collective_config_t *config,
                              tnd_error_t *error)
{
    host_t *host = tnd_allocate_zeroed(1, sizeof *host);
    (void)error;
    host->base.ops = &tnd_collective_host;
    host->config = *config;
    host->threads = tnd_allocate_zeroed(config->thread_count, sizeof *host->threads);
    for (uint32_t t = 0; t < config->thread_count; t++)
        host->threads[t] = (thread_t){
            .host = host,
            .number = t,
            .first = config->threads[t].first,
            .count = config->threads[t].count,
            .sharing = config->thread_count,
            .parts =
                {
                    .replicas = config->replicas,
                    .inputs =
                        tnd_allocate_zeroed(config->count, sizeof(tnd_reduction_tree_input_t)),
                    .outs = tnd_allocate_zeroed(config->count, sizeof(void *)),
                },
        };
    tnd_host_collective_make_started(host);
    *self_p = &host->base;
    return TND_OK;
}

static const tnd_gathers_t *host_gathers(const tnd_collective_t *self)
{
    return &((const host_t *)self)->gathers;
}

static void host_abort(tnd_collective_t *self)
{
    host_t *host = (host_t *)self;
    atomic_store(&host->over, true);
    tnd_futex_open(&host->gate);
}

static void host_leave(tnd_collective_t *self)
{
    tnd_host_collective_forget_exchange((host_t *)self);
}

static void host_free(tnd_collective_t **self_p)
{
    host_t *host = (host_t *)*self_p;
    if (host == NULL)
        return;
    tnd_host_collective_forget_exchange(host);
    tnd_host_collective_gather_forget(host);
    for (uint32_t t = 0; t < host->config.thread_count; t++) {
        thread_t *thread = &host->threads[t];
        free(thread->parts.inputs);
        free(thread->parts.outs);
    }
    tnd_host_collective_free_started(host);
    free(host->threads);
    free(host);
    *self_p = NULL;
}

const tnd_collective_ops_t tnd_collective_host = {
    .name = "host",
    .orders = 1 << TND_ORDER_TREE,
    .join = host_join,
    .reduce = host_reduce,
    .start = tnd_host_collective_start,
    .begin = host_begin,
    .await = host_await,
    .gathers = host_gathers,
    .abort = host_abort,
    .leave = host_leave,
    .free = host_free,
    .outgoing = tnd_host_collective_outgoing,
    .incoming = tnd_host_collective_incoming,
    .used = tnd_host_collective_used,
    .closed = tnd_host_collective_closed,
    .waits = tnd_host_collective_waits,
    .awaits = tnd_host_collective_awaits,
};
