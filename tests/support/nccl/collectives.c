/*  tests/support/nccl/collectives.c - collectives, as work in the streams of the driver of the tests.
 *
 *  A member gives its values when its stream comes to the work; then its buffer has rubbish until those of
 *  all are there.  Sums are added from the last rank to the first: a program that expects an order finds
 *  out. */
#include <stdlib.h>
#include <string.h>

#include "tests/support/cuda/memory.h"
#include "tests/support/nccl/communicators.h"
#include "tests/support/nccl/settings.h"

enum { ALL_REDUCE = 1, ALL_GATHER, TRADE, TRADES = 64 };

/*  Of one member and one peer, in a group. */
typedef struct {
    unsigned peer;
    uint8_t *at; /* where the driver works */
    size_t bytes;
    bool sends;
} trade_t;

typedef struct {
    work_t work;
    ncclComm_t comm;
    uint64_t number; /* of the collective, from 1 */
    meeting_call_t call;
    const uint8_t *from; /* where the driver works */
    uint8_t *to;
    size_t bytes;
    bool gave, never;
    trade_t trades[TRADES]; /* of a group, in order */
    unsigned count;
} collective_t;

static uint64_t requested;

/* --- arithmetic ------------------------------------------------------------------------------- */

#define ADD(a, b) ((a) + (b))
#define MAX(a, b) ((a) > (b) ? (a) : (b))
#define MIN(a, b) ((a) < (b) ? (a) : (b))

#define COMBINE(name, type)                                                                        \
    static void name(void *to, const void *from, size_t count, ncclRedOp_t operation)              \
    {                                                                                              \
        type *a = to;                                                                              \
        const type *b = from;                                                                      \
        for (size_t i = 0; i < count; i++)                                                         \
            a[i] = (type)(operation == ncclSum   ? ADD(a[i], b[i])                                 \
                          : operation == ncclMax ? MAX(a[i], b[i])                                 \
                                                 : MIN(a[i], b[i]));                               \
    }
COMBINE(combine_i32, int32_t)
COMBINE(combine_u32, uint32_t)
COMBINE(combine_i64, int64_t)
COMBINE(combine_u64, uint64_t)
COMBINE(combine_f32, float)
COMBINE(combine_f64, double)

typedef struct {
    ncclDataType_t type;
    size_t size;
    void (*combine)(void *to, const void *from, size_t count, ncclRedOp_t operation);
} element_t;

static const element_t *element_of(ncclDataType_t type)
{
    static const element_t elements[] = {
        {ncclUint8, 1, NULL},         {ncclInt32, 4, combine_i32},  {ncclUint32, 4, combine_u32},
        {ncclInt64, 8, combine_i64},  {ncclUint64, 8, combine_u64}, {ncclFloat32, 4, combine_f32},
        {ncclFloat64, 8, combine_f64}};
    for (size_t i = 0; i < sizeof elements / sizeof elements[0]; i++)
        if (elements[i].type == type)
            return &elements[i];
    return NULL;
}

/* --- work ------------------------------------------------------------------------------------- */

static bool one_is_gone(const struct ncclComm *comm)
{
    for (unsigned i = 0; i < comm->ranks; i++)
        if (atomic_load(&meeting_head(comm->meeting)->rank[i].aborted) != 0)
            return true;
    return false;
}

static bool all_have(const struct ncclComm *comm, bool took, uint64_t number)
{
    const meeting_head_t *head = meeting_head(comm->meeting);
    for (unsigned i = 0; i < comm->ranks; i++)
        if (atomic_load(took ? &head->rank[i].took : &head->rank[i].gave) < number)
            return false;
    return true;
}

static size_t result_bytes(const collective_t *self)
{
    return self->bytes * (self->call.kind == ALL_GATHER ? self->comm->ranks : 1);
}

/*  Tells the others the peers of what is sent, and its sizes. */
static void note_trades(const collective_t *self)
{
    meeting_rank_t *own = nccl_own(self->comm);
    meeting_trades_t *told = &own->trades[self->number % 2];
    told->count = 0;
    for (unsigned t = 0; t < self->count; t++)
        if (self->trades[t].sends)
            told->sent[told->count++] =
                (meeting_trade_t){self->trades[t].peer, self->trades[t].bytes};
}

/*  What is sent, one after the other. */
static void give_trades(const collective_t *self, uint8_t *area)
{
    for (unsigned t = 0; t < self->count; t++)
        if (self->trades[t].sends) {
            memcpy(area, self->trades[t].at, self->trades[t].bytes);
            area += self->trades[t].bytes;
        } else {
            memset(self->trades[t].at, POISON, self->trades[t].bytes);
        }
}

/*  The area has been read by all that had its values two collectives ago. */
static bool give(collective_t *self)
{
    ncclComm_t comm = self->comm;
    if (self->gave)
        return true;
    if (self->number > 2 && !all_have(comm, true, self->number - 2))
        return false;
    uint8_t *area = meeting_area(comm->meeting, comm->rank, self->number);
    if (self->call.kind == TRADE) {
        give_trades(self, area);
        note_trades(self);
    } else {
        memcpy(area, self->from, self->bytes);
        memset(self->to, POISON, result_bytes(self));
    }
    nccl_own(comm)->calls[self->number % 2] = self->call;
    atomic_store(&nccl_own(comm)->gave, self->number);
    self->gave = true;
    return true;
}

static void check_calls(const collective_t *self)
{
    const meeting_head_t *head = meeting_head(self->comm->meeting);
    for (unsigned i = 0; i < self->comm->ranks; i++)
        if (memcmp(&head->rank[i].calls[self->number % 2], &self->call, sizeof self->call) != 0)
            nccl_violation("ranks %u and %u request different collectives", self->comm->rank, i);
}

/*  The next thing that a rank sends to this one, after `*next_p`. */
static const uint8_t *next_sent(const collective_t *self, unsigned rank, unsigned *next_p,
                                size_t bytes)
{
    const meeting_trades_t *told =
        &meeting_head(self->comm->meeting)->rank[rank].trades[self->number % 2];
    const uint8_t *area = meeting_area(self->comm->meeting, rank, self->number);
    for (unsigned t = 0; t < told->count; t++) {
        bool mine = told->sent[t].peer == self->comm->rank && t >= *next_p;
        if (mine && told->sent[t].bytes != bytes)
            nccl_violation("rank %u receives %zu bytes, and rank %u sends others", self->comm->rank,
                           bytes, rank);
        if (mine) {
            *next_p = t + 1;
            return area;
        }
        area += told->sent[t].bytes;
    }
    nccl_violation("rank %u receives what rank %u does not send", self->comm->rank, rank);
}

static void take_trades(const collective_t *self)
{
    unsigned next[MEETING_RANKS] = {0};
    for (unsigned t = 0; t < self->count; t++) {
        const trade_t *trade = &self->trades[t];
        if (!trade->sends)
            memcpy(trade->at, next_sent(self, trade->peer, &next[trade->peer], trade->bytes),
                   trade->bytes);
    }
}

static void take_all(const collective_t *self)
{
    for (unsigned i = 0; i < self->comm->ranks; i++)
        memcpy(self->to + i * self->bytes, meeting_area(self->comm->meeting, i, self->number),
               self->bytes);
}

static void reduce_all(const collective_t *self)
{
    ncclComm_t comm = self->comm;
    const element_t *element = element_of((ncclDataType_t)self->call.type);
    memcpy(self->to, meeting_area(comm->meeting, comm->ranks - 1, self->number), self->bytes);
    for (unsigned i = comm->ranks - 1; i-- > 0;)
        element->combine(self->to, meeting_area(comm->meeting, i, self->number), self->call.count,
                         (ncclRedOp_t)self->call.operation);
}

static void take(const collective_t *self)
{
    check_calls(self);
    if (self->call.kind == TRADE)
        take_trades(self);
    else if (self->call.kind == ALL_GATHER)
        take_all(self);
    else
        reduce_all(self);
    atomic_store(&nccl_own(self->comm)->took, self->number);
}

/*  What was aborted ends, and leaves rubbish. */
static bool run(work_t *work, bool demanded)
{
    collective_t *self = (collective_t *)work;
    (void)demanded;
    if (self->comm->aborted)
        return true;
    if (self->never || self->comm->failed != ncclSuccess || !give(self) ||
        !all_have(self->comm, false, self->number) || one_is_gone(self->comm))
        return false;
    take(self);
    return true;
}

static void end(work_t *work)
{
    collective_t *self = (collective_t *)work;
    self->comm->unfinished--;
    nccl_let_go(self->comm);
}

/* --- calls ------------------------------------------------------------------------------------ */

/*  The stream that work is put into. */
static ncclResult_t find_stream(ncclComm_t comm, cudaStream_t handle, CUstream *stream_p)
{
    CUcontext context;
    if (nccl_driver()->current(&context) != CUDA_SUCCESS || context != comm->context)
        nccl_violation("a collective of rank %u while its device is not current", comm->rank);
    if (nccl_driver()->stream(context, handle, stream_p) != CUDA_SUCCESS)
        return nccl_say(ncclUnhandledCudaError, "invalid resource handle");
    return ncclSuccess;
}

/*  The stream may do the work at once, and frees it. */
static ncclResult_t put(collective_t *self, CUstream stream)
{
    ncclComm_t comm = self->comm;
    comm->holders++;
    comm->unfinished++;
    self->number = ++comm->requested;
    self->never = ++requested == nccl_settings()->never;
    nccl_driver()->put(stream, &self->work);
    return nccl_delay(comm);
}

static ncclResult_t request(const void *from, void *to, const meeting_call_t *call, ncclComm_t comm,
                            cudaStream_t handle)
{
    CUstream stream;
    ncclResult_t result = nccl_check(comm);
    const element_t *element = element_of((ncclDataType_t)call->type);
    if (result != ncclSuccess)
        return result;
    if (element == NULL || (call->kind == ALL_REDUCE && element->combine == NULL))
        return nccl_say(ncclInvalidArgument, "invalid type %d", (int)call->type);
    size_t bytes = call->count * element->size;
    size_t results = bytes * (call->kind == ALL_GATHER ? comm->ranks : 1);
    if (bytes > MEETING_AREA)
        nccl_violation("%zu bytes at a time; this library has room for %d", bytes, MEETING_AREA);
    result = find_stream(comm, handle, &stream);
    if (result != ncclSuccess)
        return result;
    collective_t *self = calloc(1, sizeof *self);
    *self = (collective_t){
        .work = {.name = "a collective",
                 .touches = {{(uintptr_t)from, bytes, false}, {(uintptr_t)to, results, true}},
                 .run = run,
                 .end = end},
        .comm = comm,
        .call = *call,
        .from = nccl_driver()->memory_at(comm->context, (uintptr_t)from, bytes, "a collective"),
        .to = nccl_driver()->memory_at(comm->context, (uintptr_t)to, results, "a collective"),
        .bytes = bytes};
    return put(self, stream);
}

ncclResult_t ncclAllReduce(const void *from, void *to, size_t count, ncclDataType_t type,
                           ncclRedOp_t operation, ncclComm_t comm, cudaStream_t stream)
{
    const meeting_call_t call = {ALL_REDUCE, (uint64_t)type, (uint64_t)operation, count};
    NCCL_CALL(ncclAllReduce, request(from, to, &call, comm, stream));
}

ncclResult_t ncclAllGather(const void *from, void *to, size_t count, ncclDataType_t type,
                           ncclComm_t comm, cudaStream_t stream)
{
    const meeting_call_t call = {ALL_GATHER, (uint64_t)type, 0, count};
    NCCL_CALL(ncclAllGather, request(from, to, &call, comm, stream));
}

/* --- groups ----------------------------------------------------------------------------------- */

/*  That this thread is in. */
static _Thread_local struct {
    bool begun;
    collective_t *work; /* NULL: nothing was requested in it */
    CUstream stream;
} group;

static ncclResult_t begin_group(void)
{
    if (group.begun)
        nccl_violation("a group in a group, which this library does not know");
    group.begun = true;
    group.work = NULL;
    return ncclSuccess;
}

/*  The work of a group counts what one rank has from its lowest to its highest address as touched. */
static void widen(touch_t *touch, uintptr_t at, size_t bytes, bool writes)
{
    uintptr_t end = touch->at + touch->bytes;
    if (touch->bytes == 0) {
        *touch = (touch_t){at, bytes, writes};
        return;
    }
    uintptr_t first = at < touch->at ? at : touch->at;
    end = at + bytes > end ? at + bytes : end;
    *touch = (touch_t){first, end - first, writes};
}

static ncclResult_t trade(uintptr_t at, size_t bytes, int peer, bool sends, ncclComm_t comm,
                          cudaStream_t handle)
{
    if (!group.begun)
        nccl_violation("rank %u sends or receives outside of a group", comm->rank);
    ncclResult_t result = group.work == NULL ? nccl_check(comm) : ncclSuccess;
    if (result != ncclSuccess)
        return result;
    if (peer < 0 || (unsigned)peer >= comm->ranks)
        return nccl_say(ncclInvalidArgument, "invalid peer %d", peer);
    if (group.work == NULL) {
        result = find_stream(comm, handle, &group.stream);
        if (result != ncclSuccess)
            return result;
        group.work = calloc(1, sizeof *group.work);
        *group.work = (collective_t){.work = {.name = "a group", .run = run, .end = end},
                                     .comm = comm,
                                     .call = {.kind = TRADE}};
    }
    collective_t *self = group.work;
    if (self->comm != comm || self->count == TRADES)
        nccl_violation("a group of several communicators, or of more than %d calls", TRADES);
    widen(&self->work.touches[sends ? 0 : 1], at, bytes, !sends);
    self->bytes += sends ? bytes : 0;
    if (self->bytes > MEETING_AREA)
        nccl_violation("%zu bytes at a time; this library has room for %d", self->bytes,
                       MEETING_AREA);
    self->trades[self->count++] =
        (trade_t){(unsigned)peer, nccl_driver()->memory_at(comm->context, at, bytes, "a group"),
                  bytes, sends};
    return self->count % 2 == 1 ? ncclInProgress : ncclSuccess;
}

static ncclResult_t end_group(void)
{
    if (!group.begun)
        nccl_violation("a group ends that has not begun");
    group.begun = false;
    return group.work != NULL ? put(group.work, group.stream) : ncclSuccess;
}

static size_t size_of(ncclDataType_t type)
{
    const element_t *element = element_of(type);
    return element != NULL ? element->size : 0;
}

ncclResult_t ncclSend(const void *from, size_t count, ncclDataType_t type, int peer,
                      ncclComm_t comm, cudaStream_t stream)
{
    NCCL_CALL(ncclSend, trade((uintptr_t)from, count * size_of(type), peer, true, comm, stream));
}

ncclResult_t ncclRecv(void *to, size_t count, ncclDataType_t type, int peer, ncclComm_t comm,
                      cudaStream_t stream)
{
    NCCL_CALL(ncclRecv, trade((uintptr_t)to, count * size_of(type), peer, false, comm, stream));
}

ncclResult_t ncclGroupStart(void)
{
    NCCL_CALL(ncclGroupStart, begin_group());
}

/*  It ends the group even if it fails. */
ncclResult_t ncclGroupEnd(void)
{
    ncclResult_t result = nccl_begin(CALL_ncclGroupEnd);
    if (result != ncclSuccess) {
        free(group.work);
        group.begun = false;
        return nccl_end(result);
    }
    return nccl_end(end_group());
}
