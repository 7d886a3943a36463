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

enum { ALL_REDUCE = 1 };

typedef struct {
    work_t work;
    ncclComm_t comm;
    uint64_t number; /* of the collective, from 1 */
    meeting_call_t call;
    const uint8_t *from; /* where the driver works */
    uint8_t *to;
    size_t bytes;
    bool gave, never;
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
        {ncclInt32, 4, combine_i32},  {ncclUint32, 4, combine_u32},  {ncclInt64, 8, combine_i64},
        {ncclUint64, 8, combine_u64}, {ncclFloat32, 4, combine_f32}, {ncclFloat64, 8, combine_f64}};
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

/*  The area has been read by all that had its values two collectives ago. */
static bool give(collective_t *self)
{
    ncclComm_t comm = self->comm;
    if (self->gave)
        return true;
    if (self->number > 2 && !all_have(comm, true, self->number - 2))
        return false;
    memcpy(meeting_area(comm->meeting, comm->rank, self->number), self->from, self->bytes);
    memset(self->to, POISON, self->bytes);
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

static void take(collective_t *self)
{
    ncclComm_t comm = self->comm;
    const element_t *element = element_of((ncclDataType_t)self->call.type);
    check_calls(self);
    memcpy(self->to, meeting_area(comm->meeting, comm->ranks - 1, self->number), self->bytes);
    for (unsigned i = comm->ranks - 1; i-- > 0;)
        element->combine(self->to, meeting_area(comm->meeting, i, self->number), self->call.count,
                         (ncclRedOp_t)self->call.operation);
    atomic_store(&nccl_own(comm)->took, self->number);
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

static ncclResult_t request(const void *from, void *to, const meeting_call_t *call, ncclComm_t comm,
                            cudaStream_t handle)
{
    CUcontext context;
    CUstream stream;
    ncclResult_t result = nccl_check(comm);
    const element_t *element = element_of((ncclDataType_t)call->type);
    if (result != ncclSuccess)
        return result;
    if (element == NULL)
        return nccl_say(ncclInvalidArgument, "invalid type %d", (int)call->type);
    size_t bytes = call->count * element->size;
    if (bytes > MEETING_AREA)
        nccl_violation("%zu bytes at a time; this library has room for %d", bytes, MEETING_AREA);
    if (nccl_driver()->current(&context) != CUDA_SUCCESS || context != comm->context)
        nccl_violation("a collective of rank %u while its device is not current", comm->rank);
    if (nccl_driver()->stream(context, handle, &stream) != CUDA_SUCCESS)
        return nccl_say(ncclUnhandledCudaError, "invalid resource handle");
    collective_t *self = calloc(1, sizeof *self);
    *self = (collective_t){
        .work = {.name = "a collective",
                 .touches = {{(uintptr_t)from, bytes, false}, {(uintptr_t)to, bytes, true}},
                 .run = run,
                 .end = end},
        .comm = comm,
        .number = ++comm->requested,
        .call = *call,
        .from = nccl_driver()->memory_at(context, (uintptr_t)from, bytes, "a collective"),
        .to = nccl_driver()->memory_at(context, (uintptr_t)to, bytes, "a collective"),
        .bytes = bytes,
        .never = ++requested == nccl_settings()->never};
    comm->holders++;
    comm->unfinished++;
    nccl_driver()->put(stream, &self->work);
    return nccl_delay(comm);
}

ncclResult_t ncclAllReduce(const void *from, void *to, size_t count, ncclDataType_t type,
                           ncclRedOp_t operation, ncclComm_t comm, cudaStream_t stream)
{
    const meeting_call_t call = {ALL_REDUCE, (uint64_t)type, (uint64_t)operation, count};
    NCCL_CALL(ncclAllReduce, request(from, to, &call, comm, stream));
}
