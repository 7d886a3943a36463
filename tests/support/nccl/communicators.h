/*  tests/support/nccl/communicators.h - members that meet, work together and end.
 *
 *  Threads: the lock of the driver is held. */
#ifndef TND_TESTS_SUPPORT_NCCL_COMMUNICATORS_H
#define TND_TESTS_SUPPORT_NCCL_COMMUNICATORS_H

#include "tests/support/nccl/calls.h"
#include "tests/support/nccl/meeting.h"

struct ncclComm {
    ncclComm_t next;
    CUcontext context;
    meeting_t *meeting;
    unsigned rank, ranks, holders; /* the program, and work in streams */
    uint64_t questions;            /* that are still answered with ncclInProgress */
    uint64_t requested;            /* collectives */
    uint64_t unfinished;           /* of these */
    ncclResult_t failed;
    bool complete, finalized, aborted;
};

meeting_rank_t *nccl_own(const struct ncclComm *comm);
void nccl_let_go(ncclComm_t comm);

/*  Whether the program may request a collective of it.  A violation: it has not asked whether the
 *  last call is complete. */
ncclResult_t nccl_check(const struct ncclComm *comm);

/*  The last call will be complete after some questions. */
ncclResult_t nccl_delay(ncclComm_t comm);

#endif
