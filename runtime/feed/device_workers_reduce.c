/*  runtime/feed/device_workers_reduce.c - how device threads reduce what their replicas posted.
 *
 *  The threads meet when all have posted.  If all replicas are here, each thread then claims chunks
 *  of the elements until none is left, and continues when all chunks are done.  A thread that the
 *  system interrupts delays the others by at most one chunk.  Otherwise values travel
 *  (device_workers_exchange.c). */
#include "runtime/feed/device_workers_internal.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/base/allocation.h"

/*  Long enough that the cost of claiming a chunk is negligible, short enough to wait for. */
enum { CHUNK_BYTES = 16384 };

static const uint64_t chunks_spin_ns = 50000;

void tnd_device_workers_make_parts(worker_t *worker)
{
    const tnd_device_workers_config_t *config = &worker->group->config;
    worker->parts = (tnd_collective_parts_t){
        .replicas = config->replicas,
        .inputs = tnd_allocate_zeroed(config->count, sizeof *worker->parts.inputs),
        .outs = tnd_allocate_zeroed(config->count, sizeof *worker->parts.outs),
    };
}

void tnd_device_workers_free_parts(worker_t *worker)
{
    free(worker->parts.inputs);
    free(worker->parts.outs);
}

bool tnd_device_workers_shares_out(const tnd_device_workers_t *self, uint32_t local,
                                   uint32_t posting)
{
    return local > 0 && self->replicas[local].posts.items[posting].data ==
                            self->replicas[local - 1].posts.items[posting].data;
}

static tnd_reduction_tree_input_t leaf_of(const tnd_replica_t *replica, uint32_t posting,
                                          size_t begin)
{
    const tnd_posting_t *post = &replica->posts.items[posting];
    return (tnd_reduction_tree_input_t){
        .node = {replica->id, 1},
        .data = (const char *)post->from + begin * tnd_dtype_size(post->dtype),
        .rows = post->rows,
        .weight = post->weight,
    };
}

void tnd_device_workers_list_parts(worker_t *worker, uint32_t posting, size_t begin)
{
    tnd_device_workers_t *group = worker->group;
    tnd_collective_parts_t *parts = &worker->parts;
    parts->input_count = parts->out_count = 0;
    for (uint32_t i = 0; i < group->config.count; i++) {
        const tnd_posting_t *post = &group->replicas[i].posts.items[posting];
        const tnd_partial_sums_t *sums = &group->sums[i / group->config.accumulate];
        if (i % group->config.accumulate == 0)
            parts->input_count += tnd_partial_sums_inputs(sums, post, posting, begin,
                                                          &parts->inputs[parts->input_count]);
        if (i % group->config.accumulate >= sums->added)
            parts->inputs[parts->input_count++] = leaf_of(&group->replicas[i], posting, begin);
        if (!tnd_device_workers_shares_out(group, i, posting))
            parts->outs[parts->out_count++] =
                (char *)post->data + begin * tnd_dtype_size(post->dtype);
    }
}

tnd_reduction_tree_job_t tnd_device_workers_node_job(const worker_t *worker, uint32_t posting,
                                                     tnd_reduction_tree_node_t node)
{
    const tnd_posting_t *post = &worker->group->replicas[0].posts.items[posting];
    const tnd_reduction_tree_input_t *first = worker->parts.inputs;
    while (first->node.first < node.first)
        first++;
    tnd_reduction_tree_job_t job = {.reduce = post->reduce,
                                    .dtype = post->dtype,
                                    .node = node,
                                    .inputs = first,
                                    .weighted = post->weighted};
    for (uint32_t covered = 0; covered < node.count; covered += first++->node.count)
        job.input_count++;
    return job;
}

bool tnd_device_workers_posts_late(const worker_t *worker, bool weighing)
{
    const tnd_replica_t *own = &worker->group->replicas[worker->first];
    bool late = false;
    for (uint32_t p = 0; p < own->posts.count; p++) {
        const tnd_posting_t *post = &own->posts.items[p];
        late = late || post->reduce == TND_GATHER || (weighing && post->weighted);
    }
    return late;
}

/*  Publishes what this worker posted.  It stays valid when the worker posts again, and is
 *  overwritten only after the workers have met once more. */
static const tnd_postings_t *show_posts(worker_t *worker)
{
    tnd_postings_t *posted = &worker->posted[worker->rounds++ % 2];
    tnd_postings_copy(posted, &worker->group->replicas[worker->first].posts);
    return posted;
}

/*  Whether all workers showed the same in this round. */
static bool shown_fit(const worker_t *worker, const job_t *job)
{
    tnd_device_workers_t *group = worker->group;
    uint64_t turn = (worker->rounds - 1) % 2;
    const tnd_postings_t *one = &group->workers[0].posted[turn];
    for (uint32_t w = 1, first; w < group->worker_count; w++)
        if (!tnd_postings_fit(one, &group->workers[w].posted[turn], &first))
            return tnd_device_workers_refuse_posts(group, job, 0, group->workers[w].first, first);
    return true;
}

/*  Postings that are cut into chunks together: one that is large, or as many small ones as make a
 *  chunk. */
typedef struct {
    uint32_t posting, postings;
    uint64_t chunks, before; /* its own; those of the groups before it */
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

static void reduce_chunk(worker_t *worker, const tnd_postings_t *posted, const chunk_group_t *group,
                         uint64_t chunk)
{
    for (uint32_t p = group->posting; p < group->posting + group->postings; p++) {
        const tnd_posting_t *post = &posted->items[p];
        size_t begin = 0, end = post->count;
        if (post->reduce == TND_GATHER)
            continue;
        if (group->postings == 1)
            tnd_collective_share(post->count, tnd_dtype_size(post->dtype), (uint32_t)chunk,
                                 (uint32_t)group->chunks, &begin, &end);
        tnd_device_workers_list_parts(worker, p, 0);
        tnd_collective_reduce(post, &worker->parts, begin, end);
    }
}

/*  The next chunk that no worker has claimed, counted over all rounds; false: none before `end`. */
static bool claim(tnd_device_workers_t *group, uint64_t end, uint64_t *chunk_p)
{
    *chunk_p = atomic_load_explicit(&group->chunks_claimed, memory_order_relaxed);
    while (*chunk_p < end)
        if (atomic_compare_exchange_weak_explicit(&group->chunks_claimed, chunk_p, *chunk_p + 1,
                                                  memory_order_relaxed, memory_order_relaxed))
            return true;
    return false;
}

static bool chunks_are_done(const void *context)
{
    const worker_t *worker = context;
    return tnd_device_workers_dead(worker->group) ||
           atomic_load_explicit(&worker->group->chunks_done, memory_order_acquire) >=
               worker->chunks;
}

/*  Reduces together with the other workers.  Until all chunks of the round are done no worker posts
 *  again, and a worker looks at what others posted only while it has claimed one that is not. */
static bool reduce_chunks(worker_t *worker, const tnd_postings_t *posted)
{
    tnd_device_workers_t *group = worker->group;
    chunk_group_t at = group_at(posted, 0, worker->chunks);
    uint64_t done = 0, chunk;
    worker->chunks += chunks_of(posted);
    for (; !tnd_device_workers_dead(group) && claim(group, worker->chunks, &chunk); done++) {
        while (chunk >= at.before + at.chunks)
            at = group_after(posted, &at);
        reduce_chunk(worker, posted, &at, chunk - at.before);
    }
    if (done > 0 &&
        atomic_fetch_add_explicit(&group->chunks_done, done, memory_order_acq_rel) + done ==
            worker->chunks)
        tnd_futex_open(&group->meet);
    tnd_futex_wait(&group->meet, chunks_are_done, worker, chunks_spin_ns);
    return !tnd_device_workers_dead(group);
}

static bool reduce_alone(worker_t *worker, const job_t *job)
{
    tnd_device_workers_t *group = worker->group;
    const tnd_replica_t *own = &group->replicas[worker->first];
    if (tnd_device_workers_posts_late(worker, false)) {
        tnd_device_workers_gather_room(group);
        tnd_device_workers_gather_own(worker);
    }
    for (uint32_t p = 0; p < own->posts.count; p++) {
        const tnd_posting_t *post = &own->posts.items[p];
        if (post->reduce == TND_GATHER)
            continue;
        tnd_device_workers_list_parts(worker, p, 0);
        tnd_collective_reduce(post, &worker->parts, 0, post->count);
    }
    return !tnd_device_workers_dead(group) && tnd_device_workers_gather_equal(group, job);
}

static bool reduce_here(worker_t *worker, job_t *job)
{
    tnd_device_workers_t *group = worker->group;
    if (group->worker_count == 1)
        return reduce_alone(worker, job);
    const tnd_postings_t *posted = show_posts(worker);
    if (!tnd_device_workers_meet(worker, job) || !shown_fit(worker, job))
        return false;
    if (!tnd_device_workers_posts_late(worker, false))
        return reduce_chunks(worker, posted);
    if (worker->number == 0)
        tnd_device_workers_gather_room(group);
    if (!tnd_device_workers_meet(worker, job))
        return false;
    tnd_device_workers_gather_own(worker);
    return reduce_chunks(worker, posted) && tnd_device_workers_meet(worker, job) &&
           (worker->number > 0 || tnd_device_workers_gather_equal(group, job));
}

bool tnd_device_workers_reduce(worker_t *worker, job_t *job)
{
    const tnd_device_workers_config_t *config = &worker->group->config;
    return config->count == config->replicas ? reduce_here(worker, job)
                                             : tnd_device_workers_exchange(worker, job);
}
