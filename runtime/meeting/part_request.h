/*  runtime/meeting/part_request.h - gets a part of a checkpoint from the leader.
 *
 *  Hosts may have a folder of checkpoints each.  A host that takes the place of another one lacks the
 *  parts that it saved.  The leader, which has chosen the checkpoint, sends a part with the same bytes, if
 *  it has one; models of synchronous replicas are equal.
 *
 *  Threads: tnd_part_request any, and it blocks; tnd_part_answer the host's. */
#ifndef TND_RUNTIME_MEETING_PART_REQUEST_H
#define TND_RUNTIME_MEETING_PART_REQUEST_H

#include "runtime/checkpoint/store.h"
#include "runtime/interface/link.h"
#include "runtime/plan/placement.h"

/*  Writes the part of a replica to the folder of this host, whose hash then fits the manifest.  `ops` and
 *  `context`: the network.
 *  Errors: TND_FAILED if the leader does not have it or does not answer for start_timeout. */
tnd_status_t tnd_part_request(const tnd_hub_ops_t *ops, void *context, const tnd_plan_t *plan,
                              const tnd_resume_t *resume, uint32_t replica,
                              tnd_error_t *error) TND_CHECKED;

/*  The answer of the leader to a message of tnd_part_request; the caller sends it. */
tnd_msg_t tnd_part_answer(const tnd_resume_t *resume, const tnd_msg_t *asked);

#endif
