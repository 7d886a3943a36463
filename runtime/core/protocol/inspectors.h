/*  runtime/core/protocol/inspectors.h - who looks at a run by its control connection, and how often.
 *
 *  An inspector connects to the leader and asks for the statistics of one host at a time; the leader
 *  passes the question on and the answer back.  Nothing of an inspector is trusted:
 *  - it may ask for a host again after its answer, or half a second after it asked in vain.  It must
 *    repeat the number of the answer before, so it cannot ask for more than it reads;
 *  - all answers together are at most TND_LOOK_RATE bytes per second; more questions wait;
 *  - an inspector that has not asked for TND_LOOK_LEASE_NS is forgotten.
 *  One that breaks a rule is disconnected by the caller.  Its connection is all that it has.
 *
 *  Lifecycle: in the caller's memory (zeroed), no end.  Threads: one at a time. */
#ifndef TND_RUNTIME_CORE_PROTOCOL_INSPECTORS_H
#define TND_RUNTIME_CORE_PROTOCOL_INSPECTORS_H

#include <stdbool.h>
#include <stddef.h>

#include "runtime/core/protocol/role.h"

/*  Ids of inspectors; they differ from those of actors, hosts and processes that ask to join. */
enum { TND_INSPECTOR_FIRST = 0x50000000, TND_INSPECTOR_COUNT = 0x10000000 };

enum {
    TND_INSPECTORS_MAX = 4,
    TND_LOOK_RATE = 1000000,  /* bytes per second, to all inspectors */
    TND_LOOK_BYTES = 32 << 10 /* of an answer at most */
};

#define TND_LOOK_LEASE_NS UINT64_C(2000000000)
#define TND_LOOK_AGAIN_NS UINT64_C(500000000)

static inline bool tnd_is_inspector(tnd_actor_id_t id)
{
    return id - (tnd_actor_id_t)TND_INSPECTOR_FIRST < TND_INSPECTOR_COUNT;
}

/*  The changes that an inspector asks for: page_changes.h. */
typedef struct {
    uint64_t life, since, from;
} tnd_look_question_t;

/*  A question that is passed on now. */
typedef struct {
    tnd_actor_id_t inspector;
    uint32_t host;
    tnd_look_question_t question;
} tnd_look_turn_t;

typedef struct tnd_inspectors tnd_inspectors_t;

size_t tnd_inspectors_bytes(uint32_t host_count);
/*  `seed` makes the numbers of answers, which an inspector must not guess. */
tnd_inspectors_t *tnd_inspectors_init(void *memory, uint32_t host_count, uint64_t seed);

/*  An inspector has connected / has asked.  Returns NULL, or why it is to be disconnected; it is
 *  forgotten then.  `number`: the host, and in the upper half the number of its last answer. */
const char *tnd_inspectors_came(tnd_inspectors_t *self, tnd_actor_id_t id, uint64_t now);
const char *tnd_inspectors_ask(tnd_inspectors_t *self, tnd_actor_id_t id, uint64_t number,
                               const tnd_look_question_t *question, uint64_t now);
void tnd_inspectors_gone(tnd_inspectors_t *self, tnd_actor_id_t id);

/*  The next question to pass on; false: none may be passed on now. */
bool tnd_inspectors_next(tnd_inspectors_t *self, uint64_t now, tnd_look_turn_t *turn);
/*  A host has answered a question of this inspector.  Returns whether the answer is awaited;
 *  `number_p` gets what it carries, as above. */
bool tnd_inspectors_answered(tnd_inspectors_t *self, tnd_actor_id_t id, uint32_t host, size_t bytes,
                             uint64_t *number_p);
/*  An inspector whose lease has ended, which is forgotten; TND_NOBODY: none. */
tnd_actor_id_t tnd_inspectors_expired(tnd_inspectors_t *self, uint64_t now);
/*  When a question may be passed on or a lease ends; TND_NEVER: no inspector is known. */
uint64_t tnd_inspectors_due(const tnd_inspectors_t *self);

#endif
