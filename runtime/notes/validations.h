/*  runtime/notes/validations.h - what the chains with `every:` have reported, each time they were fed.
 *
 *  A checkpoint stores the list, so that a run that resumes has the results of all its validations.
 *
 *  Lifecycle: zeroed; tnd_validations_free.  Threads: one at a time. */
#ifndef TND_RUNTIME_NOTES_VALIDATIONS_H
#define TND_RUNTIME_NOTES_VALIDATIONS_H

#include "runtime/core/session/best.h"
#include "runtime/notes/epoch_metrics.h"

/*  The models as they were after so many steps of the first chain, of which the last was in that epoch.  No
 *  step: its source had no rows. */
typedef struct {
    uint32_t chain, epoch;
    uint64_t steps;
    tnd_metric_sums_t sums;
} tnd_validated_t;

typedef struct {
    tnd_validated_t *of;
    size_t count, room;
} tnd_validations_t;

void tnd_validations_add(tnd_validations_t *self, const tnd_validated_t *validated);
void tnd_validations_free(tnd_validations_t *self);
tnd_validations_t tnd_validations_copy(const tnd_validations_t *self);
/*  The value of a metric; false: it is not reported. */
bool tnd_validated_value(const tnd_validated_t *self, const char *metric, double *value_p);
/*  Adds the values of a chain's metric in their order.  Those that lack it do not count. */
void tnd_validations_judge(const tnd_validations_t *self, uint32_t chain, const char *metric,
                           tnd_best_t *best);
/*  Writes lines that begin with the word `validated`. */
void tnd_validations_write(const tnd_validations_t *self, FILE *out);
/*  Adds what follows that word in a line.  False: it is damaged. */
bool tnd_validations_read(tnd_validations_t *self, const char *text);

#endif
