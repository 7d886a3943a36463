/*  runtime/core/tuning/tuner.h - how many workers of an actor are awake, with `workers: auto`.
 *
 *  The tuner gets what the workers and their neighbours counted, once per period, and answers how
 *  many workers are to be awake.  It begins with one.
 *
 *  It adds a worker if tickets wait for workers and the feeder waits for rows.  It removes one if
 *  the others could do its work as well.  Each change is a trial: the rate of rows before it is
 *  compared with the rate after it.  One worker more that gains less than 3 % is removed again, and
 *  one worker less that loses as much is added again.  After a trial that failed, the next one of
 *  that kind waits, twice as long each time.  So does the removal of a worker that was needed again
 *  later.  A rate that has changed to the half or the double ends these waits.
 *
 *  Rates are compared over as many blocks as the comparison needs: a period of few blocks is noisy.
 *  If hardly a block was made yet, a worker that is asked for is added without a trial.  Once there are
 *  blocks to compare, such a worker is removed on trial: it stays removed if less than 3 % is lost.
 *
 *  Ownership: a plain struct of the caller.  Threads: one. */
#ifndef TND_RUNTIME_CORE_TUNING_TUNER_H
#define TND_RUNTIME_CORE_TUNING_TUNER_H

#include <stdbool.h>
#include <stdint.h>

/*  Between two samples. */
#define TND_TUNER_PERIOD_NS UINT64_C(500000000)

/*  What happened since the sample before. */
typedef struct {
    uint64_t span_ns;
    uint64_t rows, blocks;   /* that all workers made */
    uint64_t work_ns;        /* inside their work, over all workers */
    uint64_t ticket_wait_ns; /* tickets waited because no worker had credit */
    uint64_t feeder_wait_ns; /* the feeder waited for rows */
} tnd_tuner_sample_t;

typedef enum {
    TND_TUNER_NONE,     /* nothing was decided yet */
    TND_TUNER_ADDED,    /* one worker more, on trial */
    TND_TUNER_KEPT,     /* it gained enough */
    TND_TUNER_UNJUDGED, /* too few blocks were made before it to tell */
    TND_TUNER_UNDONE,   /* it did not */
    TND_TUNER_REMOVED,  /* one worker less, on trial */
    TND_TUNER_CHECKED,  /* the same, because the worker was not judged when it was added */
    TND_TUNER_SPARED,   /* it was not needed */
    TND_TUNER_RESTORED, /* it was */
    TND_TUNER_LIMITED,  /* a user wants fewer workers */
    TND_TUNER_ACTS
} tnd_tuner_act_t;

/*  The last decision, and the parts (1: all) that led to it. */
typedef struct {
    tnd_tuner_act_t act;
    uint32_t workers;      /* that are awake after it */
    double tickets_waited; /* ADDED, of the time */
    double feeder_waited;  /* ADDED, of the time */
    double busy;           /* REMOVED, of all that were awake */
    double gain;           /* of a trial that ended, in rows per second; less than 0: a loss */
} tnd_tuner_decision_t;

/*  Rows and blocks over some time. */
typedef struct {
    double seconds, rows, blocks, work;
    uint32_t periods;
} tnd_tuner_sum_t;

/*  Whether, and how long, a kind of trial waits after it failed. */
typedef struct {
    uint32_t left, next; /* periods */
} tnd_tuner_hold_t;

typedef struct {
    uint32_t most, workers;
    enum { TND_TUNER_WATCHES, TND_TUNER_TRIES_MORE, TND_TUNER_TRIES_LESS } state;
    uint32_t skipped;        /* periods that count for nothing: a change takes time to show */
    uint32_t short_of, idle; /* periods in a row that ask for a worker more, or one less */
    uint32_t since_removal;  /* periods */
    uint32_t unjudged;       /* workers that were added without a trial */
    tnd_tuner_sum_t before, now;
    tnd_tuner_hold_t more, less; /* after trials that failed */
    tnd_tuner_hold_t needed;     /* after a removal that had to be taken back later */
    double judged_rate;          /* when the last trial failed; 0: none did */
    tnd_tuner_decision_t decision;
} tnd_tuner_t;

/*  `most`: the workers that there are. */
void tnd_tuner_init(tnd_tuner_t *self, uint32_t most);
/*  There are so many workers from now on.  If more are awake, or were before a trial of one less, so
 *  many are, and the trial ends. */
void tnd_tuner_limit(tnd_tuner_t *self, uint32_t most);
/*  Whether something was decided: see `decision`. */
bool tnd_tuner_step(tnd_tuner_t *self, const tnd_tuner_sample_t *sample);

#endif
