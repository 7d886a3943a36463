/*  runtime/core/session/best.h - which validation had the best value, and whether the run ends because
 *  too many after it had no better one.
 *
 *  What it decides follows from the values alone, in their order.  A run that resumes adds those that its
 *  checkpoint has, and then decides what one that was not interrupted decides.
 *
 *  Lifecycle: the caller's memory, which sets `least` and `patience` and zeroes the rest; no end.
 *  Threads: one. */
#ifndef TND_RUNTIME_CORE_SESSION_BEST_H
#define TND_RUNTIME_CORE_SESSION_BEST_H

#include <stdbool.h>
#include <stdint.h>

typedef struct {
    bool least;        /* the least value is the best one, not the most */
    uint64_t patience; /* so many validations without a better value end the run; 0: none do */
    uint64_t step;     /* steps of the first chain before the best one; 0: none had a value yet */
    double value;
    uint64_t without; /* validations after it, which had no better value */
    uint64_t lacked;  /* steps before the first one that did not report the metric; 0: all did */
} tnd_best_t;

/*  Adds the value of a validation after so many steps, at least one.  Returns whether it is the best so
 *  far.  An equal value is not better, and NaN is never. */
bool tnd_best_add(tnd_best_t *self, uint64_t step, double value);
bool tnd_best_ends(const tnd_best_t *self);

/*  A validation after so many steps, at least one, did not report the metric. */
void tnd_best_lack(tnd_best_t *self, uint64_t step);
/*  Whether the run fails for that: its checkpoint is there, so that nothing trained is lost, or will not
 *  come.  `kept`: steps before the newest complete checkpoint; `writing`: one is being written. */
bool tnd_best_fails(const tnd_best_t *self, uint64_t kept, bool writing);

#endif
