/*  transport/collective/nccl.c - reduces by NCCL, on the devices of CUDA that replicas are on, in any order
 *  or along the tree (nccl_tree.c).
 *
 *  A round begins with the account of nccl_account.c, which travels through the reducer's actor as what is
 *  gathered does.  So that one knows who has posted, and no member of NCCL begins what another one does
 *  not.  If replicas have posted different things, the collective `host` reduces that round instead, whose
 *  errors name them; and it reduces what NCCL does not.
 *
 *  Each device thread has a communicator of its own, and no other thread uses that while it works. */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/base/allocation.h"
#include "transport/collective/nccl_internal.h"
#include "transport/cuda/cuda_devices.h"
#include "transport/cuda/cuda_image.h"

/*  What a call that does not return has more than one that is asked about: most often another member,
 *  whose calls return, says first what is wrong. */
static const uint64_t more_patience_ns = 1000000000;

extern const tnd_collective_ops_t tnd_collective_host, tnd_collective_nccl,
    tnd_collective_nccl_tree;

static bool is_over(const void *context)
{
    return atomic_load_explicit(&((const nccl_t *)context)->over, memory_order_acquire);
}

/*  Always returns false. */
static bool fail(const nccl_t *nccl, const char *format, ...) __attribute__((format(printf, 2, 3)));
static bool fail(const nccl_t *nccl, const char *format, ...)
{
    char text[512];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    nccl->config.process.fail(nccl->config.process.context, text);
    return false;
}

/* --- what the collective `host` is shown ------------------------------------------------------ */

static bool show_account(const nccl_thread_t *thread, const tnd_collective_round_t *round)
{
    nccl_t *nccl = thread->nccl;
    const tnd_nccl_library_t *library;
    tnd_error_t error;
    tnd_nccl_id_t id;
    bool makes_id = thread->member == NULL && nccl->config.first + thread->first == 0;
    if (makes_id) {
        char text[384];
        if (tnd_nccl_library(&library, &error) != TND_OK)
            return fail(nccl, "%s: %s", nccl->config.name, error.text);
        ncclResult_t result = library->ncclGetUniqueId(&id);
        if (result != ncclSuccess)
            return fail(nccl, "%s: %s", nccl->config.name,
                        tnd_nccl_failure(library, "ncclGetUniqueId", result, text, sizeof text));
    }
    for (uint32_t i = thread->first; i < thread->first + thread->count; i++) {
        nccl_replica_t *replica = &nccl->replicas[i];
        const tnd_postings_t *posts = nccl->config.posts[i];
        tnd_nccl_account_write(nccl, i, round, i == thread->first,
                               makes_id && i == thread->first ? &id : NULL);
        replica->account.count = 0;
        tnd_postings_add(&replica->account,
                         &(tnd_posting_t){.reducer = posts->count > 0 ? posts->items[0].reducer : 0,
                                          .reduce = TND_GATHER,
                                          .dtype = TND_U64,
                                          .count = replica->count,
                                          .from = replica->words});
        nccl->shown[i] = &replica->account;
    }
    return true;
}

static void show_all(const nccl_thread_t *thread)
{
    for (uint32_t i = thread->first; i < thread->first + thread->count; i++)
        thread->nccl->shown[i] = thread->nccl->config.posts[i];
}

static void show_rest(const nccl_thread_t *thread)
{
    for (uint32_t i = thread->first; i < thread->first + thread->count; i++) {
        const tnd_postings_t *posts = thread->nccl->config.posts[i];
        tnd_postings_t *rest = &thread->nccl->replicas[i].rest;
        rest->count = 0;
        for (uint32_t p = 0; p < posts->count; p++)
            if (!tnd_nccl_carries(&posts->items[p]))
                tnd_postings_add(rest, &posts->items[p]);
        tnd_postings_settle(rest);
        thread->nccl->shown[i] = rest;
    }
}

/* --- NCCL ------------------------------------------------------------------------------------- */

/*  false: it failed, or the round is over; the communicator of the thread is then closed. */
static bool judge(nccl_thread_t *thread, tnd_status_t status, const tnd_error_t *error)
{
    if (status == TND_OK)
        return true;
    if (status == TND_FAILED)
        fail(thread->nccl, "%s: %s", thread->nccl->config.name, error->text);
    tnd_nccl_member_close(&thread->member);
    return false;
}

/*  Meets all other device threads, by what all have told. */
static bool meet_all(nccl_thread_t *thread, const tnd_gathered_t *gathered)
{
    const nccl_t *nccl = thread->nccl;
    tnd_error_t error;
    tnd_nccl_member_config_t config = {.ordinal =
                                           nccl->config.threads[thread->number].device->ordinal,
                                       .bytes = TND_NCCL_PART_BYTES,
                                       .patience_ns = nccl->config.patience_ns,
                                       .stopped = is_over,
                                       .context = nccl};
    if (thread->member != NULL)
        return true;
    if (tnd_nccl_account_meet(thread, gathered, &config) != TND_NCCL_ALIKE ||
        (nccl->tree && tnd_nccl_tree_begin(thread, gathered, &config) != TND_NCCL_ALIKE))
        return fail(
            nccl, "%s: what replicas told each other before the first reduction by NCCL is damaged",
            nccl->config.name);
    tnd_nccl_watch_begin(nccl->watch, thread->number);
    return judge(thread, tnd_nccl_member_open(&thread->member, &config, &error), &error);
}

/*  A call of NCCL, or of the driver, does not return. */
static void say_late(void *context, const bool *threads)
{
    const nccl_t *nccl = context;
    const tnd_collective_thread_t *late = nccl->config.threads;
    char text[256];
    for (const bool *at = threads; !*at; at++)
        late++;
    snprintf(text, sizeof text,
             "%.64s: %s:%" PRIu32 ": a call of NCCL has not returned within %.3g s (hung_after)",
             nccl->config.name, late->device->ops->name, late->device->ordinal,
             (double)nccl->config.patience_ns / 1e9);
    nccl->config.process.hang(nccl->config.process.context, threads, text);
}

static tnd_status_t finish(nccl_thread_t *thread, const nccl_part_t *part, uint32_t number,
                           tnd_error_t *error)
{
    number %= TND_NCCL_PARTS;
    TND_TRY(tnd_nccl_member_await(thread->member, number, error));
    tnd_nccl_part_give(thread, part, tnd_nccl_member_part(thread->member, number));
    return TND_OK;
}

/*  While one part is on its way, the next one is added and sent. */
static tnd_status_t carry(nccl_thread_t *thread, tnd_error_t *error)
{
    const tnd_postings_t *posts = thread->nccl->config.posts[thread->first];
    nccl_part_t part = {0}, before = {0};
    uint32_t number = 0;
    for (; tnd_nccl_part_next(posts, 1, &part); before = part, number++) {
        uint32_t at = number % TND_NCCL_PARTS;
        tnd_nccl_watch_begin(thread->nccl->watch, thread->number);
        tnd_nccl_part_fill(thread, &part, tnd_nccl_member_part(thread->member, at));
        TND_TRY(tnd_nccl_member_reduce(thread->member, at, part.count, part.type, part.operation,
                                       error));
        if (number > 0)
            TND_TRY(finish(thread, &before, number - 1, error));
    }
    return number > 0 ? finish(thread, &before, number - 1, error) : TND_OK;
}

/* --- rounds ----------------------------------------------------------------------------------- */

static bool reduce_by_host(const nccl_thread_t *thread, tnd_collective_round_t *round)
{
    tnd_collective_t *host = thread->nccl->host;
    return host->ops->reduce(host, thread->number, round);
}

/*  Which of a round's postings NCCL reduces. */
typedef enum { NONE, SOME, ALL } extent_t;

/*  Without elements NCCL has nothing to do.  What replicas of one model have added cannot be divided. */
static extent_t extent_of(const nccl_thread_t *thread)
{
    const tnd_postings_t *posts = thread->nccl->config.posts[thread->first];
    uint32_t carried = 0;
    bool any = false;
    for (uint32_t p = 0; p < posts->count; p++) {
        bool carries = tnd_nccl_carries(&posts->items[p]);
        carried += carries;
        any = any || (carries && posts->items[p].count > 0);
    }
    if (posts->count > 0 && !any)
        return NONE;
    if (carried == posts->count)
        return ALL;
    return thread->nccl->config.accumulate == 1 ? SOME : NONE;
}

/*  The reducer counts what the user has posted, not accounts. */
static void count(const nccl_thread_t *thread, tnd_collective_round_t *round, uint32_t reductions)
{
    if (thread->number == 0 && thread->nccl->config.count < thread->nccl->config.replicas)
        round->reductions = reductions;
}

/*  The account has come. */
static bool reduce_alike(nccl_thread_t *thread, tnd_collective_round_t *round, extent_t extent,
                         uint32_t before)
{
    nccl_t *nccl = thread->nccl;
    tnd_error_t error;
    const tnd_gathered_t *gathered = &nccl->host->ops->gathers(nccl->host)->items[0];
    if (extent != NONE && !meet_all(thread, gathered))
        return false;
    tnd_nccl_watch_end(nccl->watch, thread->number);
    if (extent == SOME)
        show_rest(thread);
    else
        show_all(thread);
    if (extent != ALL && !reduce_by_host(thread, round))
        return false;
    count(thread, round, before + nccl->config.posts[thread->first]->count);
    if (extent == NONE)
        return true;
    return judge(thread, nccl->tree ? tnd_nccl_tree_carry(thread, &error) : carry(thread, &error),
                 &error);
}

static bool reduce(nccl_thread_t *thread, tnd_collective_round_t *round)
{
    nccl_t *nccl = thread->nccl;
    uint32_t before = thread->number == 0 ? round->reductions : 0; /* as in `count` */
    extent_t extent = extent_of(thread);
    if (!show_account(thread, round) || !reduce_by_host(thread, round))
        return false;
    count(thread, round, before);
    switch (tnd_nccl_account_read(thread, &nccl->host->ops->gathers(nccl->host)->items[0])) {
    case TND_NCCL_ALIKE:
        break;
    case TND_NCCL_UNLIKE:
        show_all(thread);
        return reduce_by_host(thread, round);
    case TND_NCCL_BROKEN:
        return fail(nccl, "%s: what replicas told each other in step %" PRIu64 " is damaged",
                    nccl->config.name, round->step);
    }
    if (!reduce_alike(thread, round, extent, before))
        return false;
    tnd_nccl_watch_end(nccl->watch, thread->number);
    if (thread->number == 0) {
        nccl->gathers = *nccl->host->ops->gathers(nccl->host);
        if (extent == ALL)
            nccl->gathers.count = 0;
    }
    return nccl->config.process.meet(nccl->config.process.context, thread->number);
}

static bool nccl_reduce(tnd_collective_t *self, uint32_t number, tnd_collective_round_t *round)
{
    nccl_thread_t *thread = &((nccl_t *)self)->threads[number];
    bool reduced = reduce(thread, round);
    tnd_nccl_watch_end(thread->nccl->watch, number);
    /* On this thread: those of other threads may wait for this one. */
    if (!reduced)
        tnd_nccl_member_close(&thread->member);
    return reduced;
}

static const tnd_gathers_t *nccl_gathers(const tnd_collective_t *self)
{
    return &((const nccl_t *)self)->gathers;
}

/* --- the beginning and the end ---------------------------------------------------------------- */

static tnd_status_t nccl_usable(const char *device, tnd_error_t *error)
{
    const tnd_nccl_library_t *library;
    uint32_t devices;
    if (!tnd_collective_is_for(&tnd_collective_nccl, device))
        return tnd_fail(error, "NCCL needs devices of CUDA, and a replica is on %s", device);
    TND_TRY(tnd_cuda_devices_count(&devices, error));
    return tnd_nccl_library(&library, error);
}

static tnd_status_t tree_usable(const char *device, tnd_error_t *error)
{
    TND_TRY(nccl_usable(device, error));
    if (tnd_cuda_image_bytes() > 0)
        return TND_OK;
    return tnd_fail(error,
                    "this build has no kernels that add along the tree, since it found neither "
                    "nvcc nor clang: write `order: any`, or leave out `through: nccl`");
}

static tnd_status_t check_devices(const tnd_collective_ops_t *ops,
                                  const tnd_collective_config_t *config, tnd_error_t *error)
{
    tnd_error_t why;
    for (uint32_t t = 0; t < config->thread_count; t++)
        if (ops->usable(config->threads[t].device->ops->name, &why) != TND_OK)
            return tnd_fail(error, "%s: %s", config->name, why.text);
    return TND_OK;
}

static tnd_status_t join_in(tnd_collective_t **self_p, const tnd_collective_ops_t *ops,
                            const tnd_collective_config_t *config, tnd_error_t *error)
{
    TND_TRY(check_devices(ops, config, error));
    nccl_t *nccl = tnd_allocate_zeroed(1, sizeof *nccl);
    nccl->base.ops = ops;
    nccl->tree = ops == &tnd_collective_nccl_tree;
    nccl->config = *config;
    nccl->shown = tnd_allocate_zeroed(config->count, sizeof *nccl->shown);
    nccl->replicas = tnd_allocate_zeroed(config->count, sizeof *nccl->replicas);
    nccl->threads = tnd_allocate_zeroed(config->thread_count, sizeof *nccl->threads);
    for (uint32_t t = 0; t < config->thread_count; t++)
        nccl->threads[t] =
            (nccl_thread_t){.nccl = nccl,
                            .number = t,
                            .first = config->threads[t].first,
                            .count = config->threads[t].count,
                            .inputs = tnd_allocate_zeroed(config->threads[t].count,
                                                          sizeof(tnd_reduction_tree_input_t)),
                            .outs = tnd_allocate_zeroed(config->threads[t].count, sizeof(void *))};
    tnd_collective_config_t carrier = *config;
    carrier.posts = nccl->shown;
    *self_p = &nccl->base;
    TND_TRY(tnd_collective_host.join(&nccl->host, &carrier, error));
    return tnd_nccl_watch_new(&nccl->watch, config->thread_count,
                              config->patience_ns + more_patience_ns, say_late, nccl, error);
}

static tnd_status_t nccl_join(tnd_collective_t **self_p, const tnd_collective_config_t *config,
                              tnd_error_t *error)
{
    return join_in(self_p, &tnd_collective_nccl, config, error);
}

static tnd_status_t tree_join(tnd_collective_t **self_p, const tnd_collective_config_t *config,
                              tnd_error_t *error)
{
    return join_in(self_p, &tnd_collective_nccl_tree, config, error);
}

static void nccl_abort(tnd_collective_t *self)
{
    nccl_t *nccl = (nccl_t *)self;
    atomic_store(&nccl->over, true);
    nccl->host->ops->abort(nccl->host);
}

/*  Communicators that are left have no work. */
static void nccl_leave(tnd_collective_t *self)
{
    nccl_t *nccl = (nccl_t *)self;
    for (uint32_t t = 0; t < nccl->config.thread_count; t++)
        tnd_nccl_member_close(&nccl->threads[t].member);
    nccl->host->ops->leave(nccl->host);
}

static void free_thread(nccl_thread_t *thread)
{
    tnd_nccl_member_close(&thread->member);
    tnd_nccl_tree_free(thread);
    free(thread->entries);
    free(thread->entry_first);
    free(thread->totals);
    free(thread->inputs);
    free(thread->outs);
    free(thread->sum);
}

static void nccl_free(tnd_collective_t **self_p)
{
    nccl_t *nccl = (nccl_t *)*self_p;
    if (nccl == NULL)
        return;
    tnd_nccl_watch_free(&nccl->watch);
    for (uint32_t t = 0; t < nccl->config.thread_count; t++)
        free_thread(&nccl->threads[t]);
    tnd_collective_host.free(&nccl->host);
    for (uint32_t i = 0; i < nccl->config.count; i++) {
        free(nccl->replicas[i].words);
        tnd_postings_free(&nccl->replicas[i].account);
        tnd_postings_free(&nccl->replicas[i].rest);
    }
    free(nccl->threads);
    free(nccl->replicas);
    free(nccl->shown);
    free(nccl);
    *self_p = NULL;
}

/* --- what the actor asks ---------------------------------------------------------------------- */

static tnd_collective_t *host_of(const tnd_collective_t *self)
{
    return ((const nccl_t *)self)->host;
}

static bool nccl_outgoing(tnd_collective_t *self, tnd_outgoing_t *outgoing)
{
    return tnd_collective_host.outgoing(host_of(self), outgoing);
}

static tnd_status_t nccl_incoming(tnd_collective_t *self, tnd_actor_id_t reducer,
                                  const tnd_post_note_t *result, tnd_error_t *error)
{
    return tnd_collective_host.incoming(host_of(self), reducer, result, error);
}

static bool nccl_used(tnd_collective_t *self, tnd_used_t *used)
{
    return tnd_collective_host.used(host_of(self), used);
}

static void nccl_closed(tnd_collective_t *self)
{
    tnd_collective_host.closed(host_of(self));
}

static bool nccl_waits(const tnd_collective_t *self)
{
    return tnd_collective_host.waits(host_of(self));
}

static bool nccl_awaits(const tnd_collective_t *self, uint64_t step, uint32_t reducer_slot)
{
    return tnd_collective_host.awaits(host_of(self), step, reducer_slot);
}

/*  On the host: two parts, and the sum of another node.  On the device: two parts; along the tree also what is
 *  received and gathered of each, and scratch memory for nodes of many leaves. */
#define OPS(order, may, joins, parts, more)                                                        \
    {                                                                                              \
        .name = "nccl", .orders = 1 << (order), .devices = "cuda",                                 \
        .host_bytes = (TND_NCCL_PARTS + 1) * TND_NCCL_PART_BYTES,                                  \
        .device_bytes = (parts)*TND_NCCL_PARTS * TND_NCCL_PART_BYTES + (more), .usable = (may),    \
        .join = (joins), .reduce = nccl_reduce, .gathers = nccl_gathers, .abort = nccl_abort,      \
        .leave = nccl_leave, .free = nccl_free, .outgoing = nccl_outgoing,                         \
        .incoming = nccl_incoming, .used = nccl_used, .closed = nccl_closed, .waits = nccl_waits,  \
        .awaits = nccl_awaits,                                                                     \
    }

const tnd_collective_ops_t tnd_collective_nccl = OPS(TND_ORDER_ANY, nccl_usable, nccl_join, 1, 0);
const tnd_collective_ops_t tnd_collective_nccl_tree =
    OPS(TND_ORDER_TREE, tree_usable, tree_join, 3, TND_DEVICE_SCRATCH);
