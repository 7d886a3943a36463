/*  actors/feeder/step_reports.h - what the replicas of a feeder report of a step, for the leader.
 *
 *  A report is text, one line per metric of each replica, then lines about models that were saved
 *  for a checkpoint: `part REPLICA BYTES HASH`, `bare REPLICA` (it has no model of its own) or
 *  `unkept REPLICA WHY`.
 *
 *  Ownership: `models` may be NULL; it remains the feeder's.
 *  Threads: the feeder's actor. */
#ifndef TND_ACTORS_FEEDER_STEP_REPORTS_H
#define TND_ACTORS_FEEDER_STEP_REPORTS_H

#include <stdio.h>

#include "runtime/core/protocol/message_notes.h"
#include "runtime/feed/device_workers.h"
#include "runtime/feed/models.h"

typedef struct {
    tnd_device_workers_t *workers;
    uint32_t first, count; /* replicas carried here */
    uint32_t accumulate;   /* so many share a model, which the first one saves */
    bool uneven;           /* epochs may have no step */
    tnd_keep_note_t keep;  /* the last message of the leader on checkpoints */
    uint64_t saved;        /* the last checkpoint is of the steps before this one */
    tnd_pool_t *pool;
    size_t room;
} tnd_step_reports_t;

/*  The most bytes of one report, per replica. */
size_t tnd_step_reports_bytes(void);

/*  Prints the metrics of a replica, a line each; returns their length. */
size_t tnd_step_reports_print(const tnd_report_t *report, uint32_t replica, char *text,
                              size_t room);
/*  Likewise one line about a model that was to be saved. */
size_t tnd_step_reports_print_saved(const tnd_report_t *report, uint32_t replica, char *text,
                                    size_t room);
/*  The task that saves the models after the step of a slice; NULL if no checkpoint is due or there is
 *  none. */
const tnd_task_t *tnd_step_reports_save(tnd_step_reports_t *self, tnd_models_t *models,
                                        const tnd_slice_note_t *slice);
/*  The report of a step, sealed; NULL if there is nothing to report. */
tnd_buffer_t *tnd_step_reports_of(tnd_step_reports_t *self, tnd_models_t *models,
                                  const tnd_done_t *done);
/*  Saves the models as of `steps` steps, unless that is done, and prints the result to `out`. */
void tnd_step_reports_save_last(const tnd_step_reports_t *self, tnd_models_t *models,
                                uint64_t steps, FILE *out);
void tnd_step_reports_free(tnd_step_reports_t *self);

#endif
