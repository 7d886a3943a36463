/*  tests/support/nccl/communicators.c - members that meet, are asked how they are, and end. */
#include "tests/support/nccl/communicators.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/support/nccl/settings.h"

static ncclComm_t all;
static uint64_t asked;
static _Thread_local bool
    aborted_busy; /* this thread has aborted one with work, outside of a group */

meeting_rank_t *nccl_own(const struct ncclComm *comm)
{
    return &meeting_head(comm->meeting)->rank[comm->rank];
}

void nccl_let_go(ncclComm_t comm)
{
    if (--comm->holders > 0)
        return;
    meeting_close(comm->meeting);
    free(comm);
}

static bool is_known(const struct ncclComm *comm)
{
    for (ncclComm_t i = all; i != NULL; i = i->next)
        if (i == comm)
            return true;
    return false;
}

ncclResult_t nccl_check(const struct ncclComm *comm)
{
    if (!is_known(comm))
        nccl_violation("a call with a communicator that is not there");
    if (comm->failed != ncclSuccess)
        return comm->failed;
    if (!comm->complete || comm->questions > 0)
        nccl_violation("a call while the last one of rank %u is in progress", comm->rank);
    return ncclSuccess;
}

ncclResult_t nccl_delay(ncclComm_t comm)
{
    comm->questions = nccl_settings()->slow;
    return comm->questions > 0 ? ncclInProgress : ncclSuccess;
}

/* --- init ------------------------------------------------------------------------------------- */

/*  A device of another host is another one, whatever its number. */
static void identify(const struct ncclComm *comm, unsigned char device[16])
{
    const char *host = getenv("NCCL_HOSTID");
    memset(device, 0, 16);
    device[0] = (unsigned char)comm->context->device;
    if (host != NULL)
        strncpy((char *)device + 1, host, 15);
}

/*  Versions before that of the configuration may lack members that it has. */
static ncclResult_t check_config(const ncclConfig_t *config)
{
    static const unsigned magic = 0xcafebeef, oldest = 21900;
    if (config == NULL || config->size != sizeof *config || config->magic != magic ||
        config->version != oldest)
        return nccl_say(ncclInvalidArgument, "ncclConfig_t argument not initialized");
    if (config->blocking != 0)
        nccl_violation("a communicator that makes the caller wait");
    return ncclSuccess;
}

static ncclResult_t join(ncclComm_t comm, int ranks, int rank, const ncclUniqueId *id)
{
    uint64_t none = 0;
    if (ranks < 1 || ranks > MEETING_RANKS || rank < 0 || rank >= ranks)
        return nccl_say(ncclInvalidArgument, "Invalid rank requested : %d/%d", rank, ranks);
    comm->meeting = meeting_open(id);
    if (comm->meeting == NULL)
        return nccl_say(ncclSystemError, "the process that made the id has ended");
    comm->rank = (unsigned)rank;
    comm->ranks = (unsigned)ranks;
    meeting_head_t *head = meeting_head(comm->meeting);
    if (!atomic_compare_exchange_strong(&head->ranks, &none, (uint64_t)ranks) &&
        none != (uint64_t)ranks)
        nccl_violation("members of a communicator of %d ranks, and of %u", ranks, (unsigned)none);
    identify(comm, nccl_own(comm)->device);
    if (atomic_exchange(&nccl_own(comm)->joined, 1) != 0)
        nccl_violation("two members have rank %d", rank);
    return ncclSuccess;
}

static ncclResult_t init(ncclComm_t *comm_p, int ranks, const ncclUniqueId *id, int rank,
                         const ncclConfig_t *config)
{
    CUcontext context;
    if (nccl_driver() == NULL || nccl_driver()->current(&context) != CUDA_SUCCESS)
        return nccl_say(ncclUnhandledCudaError,
                        "CUDA driver version is insufficient for CUDA runtime version");
    ncclResult_t result = check_config(config);
    if (result != ncclSuccess)
        return result;
    ncclComm_t comm = calloc(1, sizeof *comm);
    *comm = (struct ncclComm){.context = context, .holders = 1};
    result = join(comm, ranks, rank, id);
    if (result != ncclSuccess) {
        if (comm->meeting != NULL)
            meeting_close(comm->meeting);
        free(comm);
        return result;
    }
    comm->next = all;
    *comm_p = all = comm;
    (void)nccl_delay(comm);
    return ncclInProgress;
}

ncclResult_t ncclCommInitRankConfig(ncclComm_t *comm, int ranks, ncclUniqueId id, int rank,
                                    ncclConfig_t *config)
{
    while (nccl_settings()->hang != 0) {
        nccl_driver()->excuse();
        pause();
    }
    NCCL_CALL(ncclCommInitRankConfig, init(comm, ranks, &id, rank, config));
}

/*  Whether all have taken what this member gave. */
static bool is_finalized(const struct ncclComm *comm)
{
    bool taken = comm->finalized;
    for (unsigned i = 0; i < comm->ranks; i++)
        taken = taken && atomic_load(&meeting_head(comm->meeting)->rank[i].took) >= comm->requested;
    return taken;
}

/* --- asking ----------------------------------------------------------------------------------- */

static ncclResult_t find_twin(const struct ncclComm *comm)
{
    const meeting_head_t *head = meeting_head(comm->meeting);
    const char *allowed = getenv("NCCL_MULTI_RANK_GPU_ENABLE");
    if (allowed != NULL && strcmp(allowed, "1") == 0 && nccl_settings()->version >= 23000)
        return ncclSuccess;
    for (unsigned i = 0; i < comm->ranks; i++)
        if (i != comm->rank && memcmp(head->rank[i].device, nccl_own(comm)->device, 16) == 0)
            return nccl_say(ncclInvalidUsage,
                            "Duplicate GPU detected : rank %u and rank %u both on CUDA device %x",
                            comm->rank, i, 0x1000u + (unsigned)comm->context->device);
    return ncclSuccess;
}

static bool all_joined(const struct ncclComm *comm)
{
    for (unsigned i = 0; i < comm->ranks; i++)
        if (atomic_load(&meeting_head(comm->meeting)->rank[i].joined) == 0)
            return false;
    return nccl_settings()->alone == 0;
}

static ncclResult_t ask(ncclComm_t comm, ncclResult_t *result)
{
    if (!is_known(comm))
        nccl_violation("a question about a communicator that is not there");
    *result = ncclInProgress;
    if (comm->complete && comm->failed == ncclSuccess && ++asked == nccl_settings()->remote)
        comm->failed = nccl_say(ncclRemoteError, "connection closed by remote peer 10.0.0.2<4711>");
    if (comm->failed == ncclSuccess && comm->questions > 0) {
        comm->questions--;
        return ncclSuccess;
    }
    if (comm->failed == ncclSuccess && !comm->complete && all_joined(comm)) {
        comm->failed = find_twin(comm);
        comm->complete = true;
    }
    if (comm->failed != ncclSuccess || (comm->complete && !comm->finalized) || is_finalized(comm))
        *result = comm->failed;
    return ncclSuccess;
}

ncclResult_t ncclCommGetAsyncError(ncclComm_t comm, ncclResult_t *result)
{
    NCCL_CALL(ncclCommGetAsyncError, ask(comm, result));
}

/* --- the end ---------------------------------------------------------------------------------- */

/*  A thread that aborts one after the other would wait for work of the next one. */
static void check_abort(const struct ncclComm *comm)
{
    if (comm->unfinished == 0)
        return;
    if (aborted_busy)
        nccl_violation("communicators with work in streams are aborted one by one");
    aborted_busy = true;
}

static ncclResult_t end(ncclComm_t comm)
{
    if (!is_known(comm))
        nccl_violation("a communicator is aborted that is not there");
    check_abort(comm);
    for (ncclComm_t *at = &all; *at != NULL; at = &(*at)->next)
        if (*at == comm) {
            *at = comm->next;
            break;
        }
    comm->aborted = true;
    if (!is_finalized(comm))
        atomic_store(&nccl_own(comm)->aborted, 1);
    nccl_let_go(comm);
    return ncclSuccess;
}

/*  It is complete when all have taken what this member gave. */
static ncclResult_t finalize(ncclComm_t comm)
{
    ncclResult_t result = nccl_check(comm);
    comm->finalized = result == ncclSuccess;
    (void)nccl_delay(comm);
    return result == ncclSuccess ? ncclInProgress : result;
}

ncclResult_t ncclCommFinalize(ncclComm_t comm)
{
    NCCL_CALL(ncclCommFinalize, finalize(comm));
}

/*  One that fails aborts all the same, as calls that free do. */
ncclResult_t ncclCommAbort(ncclComm_t comm)
{
    ncclResult_t chosen = nccl_begin(CALL_ncclCommAbort), result = end(comm);
    return nccl_end(chosen != ncclSuccess ? chosen : result);
}

__attribute__((destructor)) static void check_left(void)
{
    if (all != NULL)
        nccl_violation("the process ends with a communicator of rank %u", all->rank);
}
