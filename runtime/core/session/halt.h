/*  runtime/core/session/halt.h - the step before which all feeders stop: for a pause, a drain or a rest.
 *
 *  Part of the leader (leader.h).  Feeders start steps on their own.  To stop them, the leader asks
 *  each feeder to start no further step (HALT), and each one answers how many it has started.  All
 *  continue to the highest answer (LIMIT) and stop there, so that no replica waits in a reduction for
 *  one that was stopped earlier.
 *
 *  A rest needs no question: all feeders know its step, or its epoch, before they can reach it.
 *
 *  A run may be resumed and paused again while answers are on their way, so questions are numbered
 *  and only the answers to the last one count.  A feeder that may have lost messages is told again.
 *
 *  Threads: one.  The caller provides the memory. */
#ifndef TND_RUNTIME_CORE_SESSION_HALT_H
#define TND_RUNTIME_CORE_SESSION_HALT_H

#include <stdbool.h>
#include <stddef.h>

#include "runtime/core/protocol/effect.h"

typedef struct {
    bool is_feeder;
    uint32_t asked, answered; /* the number of that question; 0: none */
    uint64_t started;         /* its answer */
    uint64_t limit; /* that it was told; TND_UNKNOWN: none; 0: it stops where it was asked, which is
                       the limit if no feeder has started a step */
    uint32_t epoch; /* likewise; TND_ENDLESS: none */
} tnd_halt_member_t;

typedef struct {
    tnd_halt_member_t *members;
    uint32_t member_count;
    uint32_t number;     /* of the last question */
    bool wanted;         /* feeders stop, or have stopped */
    bool ends;           /* and the run ends there */
    uint64_t step;       /* the first that is not started; TND_UNKNOWN: not all have answered */
    uint64_t rest_step;  /* feeders rest before this step; TND_UNKNOWN: before none */
    uint32_t rest_epoch; /* and before the first step of this epoch, or of a later one */
} tnd_halt_t;

size_t tnd_halt_bytes(uint32_t member_count);
/*  `memory` is zeroed.  No member is a feeder yet. */
void tnd_halt_init(tnd_halt_t *self, void *memory, uint32_t member_count);
void tnd_halt_add_feeder(tnd_halt_t *self, uint32_t member);

/*  Asks all feeders to stop.  `ends`: the run will end there. */
void tnd_halt_ask(tnd_halt_t *self, bool ends);
/*  No feeder has begun, and none will: there is nothing to ask. */
void tnd_halt_at(tnd_halt_t *self, uint64_t step);
/*  Lets the feeders continue. */
void tnd_halt_end(tnd_halt_t *self);

/*  Feeders rest before this step, and before this epoch, until it is called again. */
void tnd_halt_rest(tnd_halt_t *self, uint64_t step, uint32_t epoch);

/*  Whether answers are missing. */
bool tnd_halt_is_asking(const tnd_halt_t *self);
/*  Takes an answer.  Returns whether it was the last one, so that `step` is known.  It is at least
 *  `least`. */
bool tnd_halt_take(tnd_halt_t *self, uint32_t member, const tnd_msg_t *msg, uint64_t least);
/*  What a member was told may be lost. */
void tnd_halt_repeat(tnd_halt_t *self, uint32_t member);
/*  Fills kind and fields of the next message to a member; returns false if it knows all. */
bool tnd_halt_next(tnd_halt_t *self, uint32_t member, tnd_msg_t *msg);

#endif
