/*  runtime/checkpoint/resume.h - finds the checkpoint that a run resumes from.
 *
 *  Follows `resume:` of the plan: none, the newest complete checkpoint of the folder, the one with the best
 *  value, or a path.
 *
 *  Ownership: the caller's; tnd_resume_search_free frees the result.
 *  Threads: any, one at a time; waits for the disk. */
#ifndef TND_RUNTIME_CHECKPOINT_RESUME_H
#define TND_RUNTIME_CHECKPOINT_RESUME_H

#include "runtime/checkpoint/data_table.h"
#include "runtime/checkpoint/store.h"
#include "runtime/plan/placement.h"

enum { TND_CHECKPOINT_NEWS_SIZE = 480 }; /* of one line for the user */

typedef struct {
    const tnd_plan_t *plan;
    const char *graph; /* as tnd_topology_print writes it */
    void *context;
    void (*log)(void *context, tnd_log_level_t level, const char *text);
    /* the result */
    bool found; /* false: the run begins at the start */
    tnd_resume_t resume;
    tnd_cursor_t cursor;
    tnd_epoch_metrics_t sums;
    tnd_validations_t validations; /* that the earlier run has made */
    tnd_data_table_t data;         /* what the earlier run read */
} tnd_resume_search_t;

/*  Whether `resume`, if it is a path, exists.  To be called before the checkpoint folder is
 *  created, which may be the same path. */
tnd_status_t tnd_resume_check_path(const char *resume, tnd_error_t *error) TND_CHECKED;
/*  The best of the validations of a run, as its plan has it; *chain_p, if not NULL: of which chain.  Returns
 *  false if the plan wants none. */
bool tnd_resume_best(const tnd_plan_t *plan, const tnd_validations_t *validations, tnd_best_t *best,
                     uint32_t *chain_p);
/*  Fills the result.  Errors: TND_FAILED if the folder cannot be read or its checkpoints do not fit
 *  this run; the text names the difference and what to do. */
tnd_status_t tnd_resume_search(tnd_resume_search_t *self, tnd_error_t *error) TND_CHECKED;
void tnd_resume_search_free(tnd_resume_search_t *self);

#endif
