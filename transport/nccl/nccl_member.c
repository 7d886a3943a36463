/*  transport/nccl/nccl_member.c - opens a communicator, reduces parts of values, and aborts it. */
#include "transport/nccl/nccl_member.h"

#include <stdlib.h>
#include <unistd.h>

#include "runtime/base/allocation.h"
#include "runtime/base/clock.h"
#include "transport/cuda/cuda_reductions.h"

typedef struct {
    void *host;                             /* page-locked */
    CUdeviceptr device, received, gathered; /* the last two: 0 unless members add along the tree */
    CUevent done;
} part_t;

struct tnd_nccl_member {
    tnd_nccl_member_config_t config;
    const tnd_nccl_library_t *library;
    tnd_cuda_context_t context;
    CUstream stream; /* that of the queue, if members add along the tree */
    tnd_cuda_reductions_t kernels;
    tnd_cuda_queue_t queue;
    part_t parts[TND_NCCL_PARTS];
    ncclComm_t comm;
    bool whole; /* it has met the others, and nothing has failed since or was stopped */
};

/*  How long the end waits for what the other members still take from this one. */
static const uint64_t farewell_ns = 200000000;

/* --- waiting ---------------------------------------------------------------------------------- */

/*  A wait of a member. */
typedef struct {
    uint64_t begin_ns;
    const char *what;
} wait_t;

/*  Polls at first, then sleeps between two questions. */
static tnd_status_t go_on(const tnd_nccl_member_t *self, const wait_t *wait, tnd_error_t *error)
{
    static const uint64_t poll_ns = 100000, pause_us = 50;
    uint64_t waited = tnd_clock_now() - wait->begin_ns;
    if (self->config.stopped(self->config.context))
        return TND_STOPPED;
    if (waited > self->config.patience_ns)
        return tnd_fail(error,
                        "%s: %s has not ended within %.3g s; NCCL_DEBUG=INFO makes NCCL print what "
                        "it does",
                        self->context.name, wait->what, (double)self->config.patience_ns / 1e9);
    if (waited > poll_ns)
        usleep(pause_us);
    return TND_OK;
}

static tnd_status_t fail(const tnd_nccl_member_t *self, const char *call, ncclResult_t result,
                         tnd_error_t *error)
{
    char text[384];
    tnd_nccl_failure(self->library, call, result, text, sizeof text);
    return tnd_fail(error, "%s: %s", self->context.name, text);
}

/*  How the last call of `call` went on.  TND_AGAIN: it is in progress. */
static tnd_status_t ask(const tnd_nccl_member_t *self, const char *call, tnd_error_t *error)
{
    ncclResult_t result = ncclSuccess;
    ncclResult_t asked = self->library->ncclCommGetAsyncError(self->comm, &result);
    if (asked != ncclSuccess)
        return fail(self, "ncclCommGetAsyncError", asked, error);
    if (result == ncclInProgress)
        return TND_AGAIN;
    return result == ncclSuccess ? TND_OK : fail(self, call, result, error);
}

/*  Waits until a call is complete that returned `result`; only then may another one be made. */
static tnd_status_t settle(const tnd_nccl_member_t *self, const char *call, ncclResult_t result,
                           tnd_error_t *error)
{
    const wait_t wait = {tnd_clock_now(), call};
    if (result != ncclSuccess && result != ncclInProgress)
        return fail(self, call, result, error);
    for (;;) {
        tnd_status_t status = ask(self, call, error);
        if (status != TND_AGAIN)
            return status;
        TND_TRY(go_on(self, &wait, error));
    }
}

/* --- open ------------------------------------------------------------------------------------- */

static tnd_status_t make_part(tnd_nccl_member_t *self, part_t *part, tnd_error_t *error)
{
    tnd_cuda_context_t *context = &self->context;
    TND_TRY(TND_CUDA(context, error, cuMemHostAlloc, &part->host, self->config.bytes, 0));
    TND_TRY(TND_CUDA(context, error, cuMemAlloc_v2, &part->device, self->config.bytes));
    if (self->config.replicas > 0) {
        TND_TRY(TND_CUDA(context, error, cuMemAlloc_v2, &part->received, self->config.received));
        TND_TRY(TND_CUDA(context, error, cuMemAlloc_v2, &part->gathered, self->config.gathered));
    }
    return TND_CUDA(context, error, cuEventCreate, &part->done, CU_EVENT_DISABLE_TIMING);
}

static tnd_status_t make_stream(tnd_nccl_member_t *self, tnd_error_t *error)
{
    size_t scratch = self->config.replicas > TND_DEVICE_LEAVES ? TND_DEVICE_SCRATCH : 0;
    if (self->config.replicas == 0)
        return TND_CUDA(&self->context, error, cuStreamCreateWithPriority, &self->stream,
                        CU_STREAM_NON_BLOCKING, 0);
    TND_TRY(tnd_cuda_reductions_load(&self->kernels, &self->context, error));
    tnd_status_t status =
        tnd_cuda_queue_open(&self->queue, &self->kernels, &self->context, scratch, error);
    self->stream = self->queue.stream;
    return status;
}

static tnd_status_t meet(tnd_nccl_member_t *self, tnd_error_t *error)
{
    tnd_nccl_config_t config = tnd_nccl_config();
    TND_TRY(make_stream(self, error));
    for (uint32_t i = 0; i < TND_NCCL_PARTS; i++)
        TND_TRY(make_part(self, &self->parts[i], error));
    ncclResult_t result = self->library->ncclCommInitRankConfig(
        &self->comm, (int)self->config.ranks, self->config.id, (int)self->config.rank, &config);
    if (self->comm == NULL)
        return fail(self, "ncclCommInitRankConfig", result, error);
    return settle(self, "ncclCommInitRankConfig", result, error);
}

static tnd_status_t start(tnd_nccl_member_t *self, tnd_error_t *error)
{
    TND_TRY(tnd_cuda_context_open(&self->context, self->config.ordinal, error));
    TND_TRY(tnd_nccl_library(&self->library, error));
    TND_TRY(tnd_cuda_context_enter(&self->context, error));
    return tnd_cuda_context_leave(&self->context, meet(self, error), error);
}

tnd_status_t tnd_nccl_member_open(tnd_nccl_member_t **self_p,
                                  const tnd_nccl_member_config_t *config, tnd_error_t *error)
{
    tnd_nccl_member_t *self = tnd_allocate_zeroed(1, sizeof *self);
    self->config = *config;
    *self_p = self;
    tnd_status_t status = start(self, error);
    self->whole = status == TND_OK;
    if (status != TND_OK)
        tnd_nccl_member_close(self_p);
    return status;
}

/* --- collectives ------------------------------------------------------------------------------ */

void *tnd_nccl_member_part(const tnd_nccl_member_t *self, uint32_t part)
{
    return self->parts[part].host;
}

static size_t size_of(ncclDataType_t type)
{
    return type == ncclInt32 || type == ncclUint32 || type == ncclFloat32 ? 4 : 8;
}

static tnd_status_t put(tnd_nccl_member_t *self, const part_t *part, size_t count,
                        ncclDataType_t type, ncclRedOp_t operation, tnd_error_t *error)
{
    tnd_cuda_context_t *context = &self->context;
    void *device = (void *)(uintptr_t)part->device; // NOLINT: NCCL takes addresses
    size_t bytes = count * size_of(type);
    TND_TRY(TND_CUDA(context, error, cuMemcpyHtoDAsync_v2, part->device, part->host, bytes,
                     self->stream));
    ncclResult_t result = self->library->ncclAllReduce(device, device, count, type, operation,
                                                       self->comm, self->stream);
    TND_TRY(settle(self, "ncclAllReduce", result, error));
    TND_TRY(TND_CUDA(context, error, cuMemcpyDtoHAsync_v2, part->host, part->device, bytes,
                     self->stream));
    return TND_CUDA(context, error, cuEventRecord, part->done, self->stream);
}

static tnd_status_t leave(tnd_nccl_member_t *self, tnd_status_t status, tnd_error_t *error)
{
    status = tnd_cuda_context_leave(&self->context, status, error);
    self->whole = self->whole && status == TND_OK;
    return status;
}

tnd_status_t tnd_nccl_member_reduce(tnd_nccl_member_t *self, uint32_t part, size_t count,
                                    ncclDataType_t type, ncclRedOp_t operation, tnd_error_t *error)
{
    TND_TRY(tnd_cuda_context_enter(&self->context, error));
    tnd_status_t status = put(self, &self->parts[part], count, type, operation, error);
    return leave(self, status, error);
}

/* --- the tree --------------------------------------------------------------------------------- */

size_t tnd_nccl_shards_begin(const tnd_nccl_shards_t *self, uint32_t rank)
{
    size_t begin = rank * self->shard;
    return begin < self->elements ? begin : self->elements;
}

static size_t shard_bytes(const tnd_nccl_shards_t *shards, uint32_t rank)
{
    return (tnd_nccl_shards_begin(shards, rank + 1) - tnd_nccl_shards_begin(shards, rank)) *
           shards->size;
}

static void *address_of(CUdeviceptr at)
{
    return (void *)(uintptr_t)at; // NOLINT: NCCL takes addresses
}

static CUdeviceptr received_at(const part_t *part, const tnd_nccl_shards_t *shards, uint32_t node)
{
    return part->received + (CUdeviceptr)node * shards->shard * shards->size;
}

/*  Copies this member's nodes to the device, and its own shard of them to where all of that is received. */
static tnd_status_t put_nodes(tnd_nccl_member_t *self, const part_t *part,
                              const tnd_nccl_shards_t *shards, tnd_error_t *error)
{
    const uint32_t *first = &shards->first_node[self->config.rank];
    size_t bytes = shards->elements * shards->size;
    size_t begin = tnd_nccl_shards_begin(shards, self->config.rank) * shards->size;
    size_t own = shard_bytes(shards, self->config.rank);
    TND_TRY(TND_CUDA(&self->context, error, cuMemcpyHtoDAsync_v2, part->device, part->host,
                     (first[1] - first[0]) * bytes, self->stream));
    for (uint32_t n = 0; n < first[1] - first[0] && own > 0; n++)
        TND_TRY(TND_CUDA(&self->context, error, cuMemcpyHtoDAsync_v2,
                         received_at(part, shards, first[0] + n),
                         (const char *)part->host + n * bytes + begin, own, self->stream));
    return TND_OK;
}

/*  In a group a call may be in progress, and the next one is made all the same. */
static bool is_requested(ncclResult_t result)
{
    return result == ncclSuccess || result == ncclInProgress;
}

/*  What goes to one other member and comes from it.  The first failure of a call, if any. */
static ncclResult_t trade(const tnd_nccl_member_t *self, const part_t *part,
                          const tnd_nccl_shards_t *shards, uint32_t peer)
{
    const uint32_t *own = &shards->first_node[self->config.rank];
    const uint32_t *others = &shards->first_node[peer];
    size_t bytes = shards->elements * shards->size, sent = shard_bytes(shards, peer);
    size_t begin = tnd_nccl_shards_begin(shards, peer) * shards->size;
    size_t received = shard_bytes(shards, self->config.rank);
    ncclResult_t result = ncclSuccess;
    for (uint32_t n = 0; n < own[1] - own[0] && sent > 0 && is_requested(result); n++)
        result = self->library->ncclSend(address_of(part->device + n * bytes + begin), sent,
                                         ncclUint8, (int)peer, self->comm, self->stream);
    for (uint32_t n = others[0]; n < others[1] && received > 0 && is_requested(result); n++)
        result = self->library->ncclRecv(address_of(received_at(part, shards, n)), received,
                                         ncclUint8, (int)peer, self->comm, self->stream);
    return result;
}

/*  All of it at once: sends and receives would wait for each other. */
static tnd_status_t trade_all(const tnd_nccl_member_t *self, const part_t *part,
                              const tnd_nccl_shards_t *shards, tnd_error_t *error)
{
    ncclResult_t result = self->library->ncclGroupStart();
    if (result != ncclSuccess)
        return fail(self, "ncclGroupStart", result, error);
    for (uint32_t i = 1; i < self->config.ranks && is_requested(result); i++)
        result = trade(self, part, shards, (self->config.rank + i) % self->config.ranks);
    ncclResult_t ended = self->library->ncclGroupEnd();
    if (!is_requested(result))
        return fail(self, "ncclSend or ncclRecv", result, error);
    return settle(self, "ncclGroupEnd", ended, error);
}

static tnd_status_t exchange(tnd_nccl_member_t *self, const part_t *part,
                             const tnd_nccl_shards_t *shards, tnd_error_t *error)
{
    TND_TRY(put_nodes(self, part, shards, error));
    return self->config.ranks > 1 ? trade_all(self, part, shards, error) : TND_OK;
}

tnd_status_t tnd_nccl_member_exchange(tnd_nccl_member_t *self, uint32_t part,
                                      const tnd_nccl_shards_t *shards, tnd_error_t *error)
{
    TND_TRY(tnd_cuda_context_enter(&self->context, error));
    return leave(self, exchange(self, &self->parts[part], shards, error), error);
}

const void *tnd_nccl_member_received(const tnd_nccl_member_t *self, uint32_t part,
                                     const tnd_nccl_shards_t *shards, uint32_t node)
{
    return address_of(received_at(&self->parts[part], shards, node));
}

static CUdeviceptr gathered_at(const tnd_nccl_member_t *self, const part_t *part,
                               const tnd_nccl_shards_t *shards)
{
    return part->gathered + (CUdeviceptr)self->config.rank * shards->shard * shards->size;
}

tnd_status_t tnd_nccl_member_add(tnd_nccl_member_t *self, uint32_t part,
                                 const tnd_nccl_shards_t *shards,
                                 const tnd_reduction_tree_job_t *job, size_t at, size_t count,
                                 tnd_error_t *error)
{
    char *out = address_of(gathered_at(self, &self->parts[part], shards) + at * shards->size);
    TND_TRY(tnd_cuda_context_enter(&self->context, error));
    return leave(self, tnd_cuda_queue_reduce(&self->queue, job, false, 0, count, out, error),
                 error);
}

static tnd_status_t collect(tnd_nccl_member_t *self, const part_t *part,
                            const tnd_nccl_shards_t *shards, tnd_error_t *error)
{
    tnd_cuda_context_t *context = &self->context;
    ncclResult_t result = self->library->ncclAllGather(
        address_of(gathered_at(self, part, shards)), address_of(part->gathered),
        shards->shard * shards->size, ncclUint8, self->comm, self->stream);
    TND_TRY(settle(self, "ncclAllGather", result, error));
    TND_TRY(TND_CUDA(context, error, cuMemcpyDtoHAsync_v2, part->host, part->gathered,
                     shards->elements * shards->size, self->stream));
    return TND_CUDA(context, error, cuEventRecord, part->done, self->stream);
}

tnd_status_t tnd_nccl_member_collect(tnd_nccl_member_t *self, uint32_t part,
                                     const tnd_nccl_shards_t *shards, tnd_error_t *error)
{
    TND_TRY(tnd_cuda_context_enter(&self->context, error));
    return leave(self, collect(self, &self->parts[part], shards, error), error);
}

/* --- results ---------------------------------------------------------------------------------- */

static tnd_status_t await(tnd_nccl_member_t *self, const part_t *part, tnd_error_t *error)
{
    const char *call = self->config.replicas > 0 ? "ncclAllGather" : "ncclAllReduce";
    const wait_t wait = {tnd_clock_now(), call};
    for (;;) {
        tnd_status_t status = TND_CUDA(&self->context, error, cuEventQuery, part->done);
        if (status != TND_AGAIN)
            return status;
        status = ask(self, call, error);
        if (status == TND_FAILED)
            return status;
        TND_TRY(go_on(self, &wait, error));
    }
}

tnd_status_t tnd_nccl_member_await(tnd_nccl_member_t *self, uint32_t part, tnd_error_t *error)
{
    TND_TRY(tnd_cuda_context_enter(&self->context, error));
    tnd_status_t status = await(self, &self->parts[part], error);
    return leave(self, status, error);
}

/* --- close ------------------------------------------------------------------------------------ */

static void free_part(const part_t *part, tnd_cuda_context_t *context)
{
    if (part->done != NULL)
        (void)TND_CUDA(context, NULL, cuEventDestroy_v2, part->done);
    if (part->gathered != 0)
        (void)TND_CUDA(context, NULL, cuMemFree_v2, part->gathered);
    if (part->received != 0)
        (void)TND_CUDA(context, NULL, cuMemFree_v2, part->received);
    if (part->device != 0)
        (void)TND_CUDA(context, NULL, cuMemFree_v2, part->device);
    if (part->host != NULL)
        (void)TND_CUDA(context, NULL, cuMemFreeHost, part->host);
}

/*  Others may still take values from this member, which has its results. */
static void say_farewell(const tnd_nccl_member_t *self)
{
    uint64_t until_ns = tnd_clock_now() + farewell_ns;
    ncclResult_t result = self->library->ncclCommFinalize(self->comm);
    for (bool asked = result == ncclSuccess || result == ncclInProgress; asked;) {
        asked = ask(self, "ncclCommFinalize", NULL) == TND_AGAIN && tnd_clock_now() < until_ns;
        usleep(50);
    }
}

/*  false: what it has stays, because work that may use it does not end. */
static bool release(tnd_nccl_member_t *self)
{
    if (self->whole)
        say_farewell(self);
    if (self->comm != NULL)
        (void)self->library->ncclCommAbort(self->comm);
    if (self->stream != NULL && !tnd_cuda_context_drain_stream(&self->context, self->stream))
        return false;
    for (uint32_t i = 0; i < TND_NCCL_PARTS; i++)
        free_part(&self->parts[i], &self->context);
    if (self->config.replicas > 0) {
        if (self->queue.context != NULL && !tnd_cuda_queue_close(&self->queue))
            return false;
        tnd_cuda_reductions_unload(&self->kernels, &self->context);
    } else if (self->stream != NULL) {
        (void)TND_CUDA(&self->context, NULL, cuStreamDestroy_v2, self->stream);
    }
    return true;
}

void tnd_nccl_member_close(tnd_nccl_member_t **self_p)
{
    tnd_nccl_member_t *self = *self_p;
    bool released = true;
    if (self == NULL)
        return;
    if (self->context.context != NULL) {
        bool entered = tnd_cuda_context_enter_to_release(&self->context);
        released = release(self);
        tnd_cuda_context_leave_released(&self->context, entered);
    }
    tnd_cuda_context_close(&self->context, !released);
    free(self);
    *self_p = NULL;
}
