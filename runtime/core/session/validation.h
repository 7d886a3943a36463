/*  runtime/core/session/validation.h - after which steps of the first chain another one is fed.
 *
 *  A chain with `after:` is fed whole when the first chain has ended.  With `every:` it is fed, from its
 *  start, also after each so many steps or epochs of the first chain, which rests meanwhile
 *  (tnd_leader_core_rest_at).  What is due follows from the step and from what was made before, so a run
 *  that resumes at any step makes what one that was not interrupted makes.
 *
 *  A run of whose epochs some have no step is validated once for those that follow one another.
 *
 *  Lifecycle: the caller's memory, no end.  Threads: one. */
#ifndef TND_RUNTIME_CORE_SESSION_VALIDATION_H
#define TND_RUNTIME_CORE_SESSION_VALIDATION_H

#include "runtime/core/stream/cursor.h"

typedef struct {
    uint64_t steps, epochs; /* between two; 0: no matter */
    uint64_t made; /* steps of the first chain before the last one; TND_UNKNOWN: none was made */
} tnd_validation_t;

/*  Where the first chain is. */
typedef struct {
    const tnd_cursor_t *cursor; /* after the last booked step */
    uint32_t epoch;             /* of the next step, as far as that is known */
    bool over;                  /* no step follows */
} tnd_validation_place_t;

bool tnd_validation_is_due(const tnd_validation_t *self, const tnd_validation_place_t *place);
/*  Where the first chain has to rest next for it: lowers *step_p and *epoch_p to that. */
void tnd_validation_rest(const tnd_validation_t *self, const tnd_validation_place_t *place,
                         uint64_t *step_p, uint32_t *epoch_p);

#endif
