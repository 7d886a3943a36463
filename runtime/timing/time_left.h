/*  runtime/timing/time_left.h - how long until an epoch, and a run, ends.
 *
 *  The rate is that of the last 64 looks at which steps had been done, which are a second apart or more:
 *  of the last minute, or of the last 64 steps if those are rarer.  It begins with the first step, as
 *  what comes before is not repeated, and, once that shows enough, with the second epoch, as a cache may have
 *  filled in the first one; for the end of an epoch with that epoch.  Time in which the run was paused is left out.  If steps are late,
 *  the time left grows; if they are so late that they may never come, it is not known.
 *
 *  Pure: the caller gives the time.  Threads: one.  Units: nanoseconds; rows as they are read. */
#ifndef TND_RUNTIME_TIMING_TIME_LEFT_H
#define TND_RUNTIME_TIMING_TIME_LEFT_H

#include <stdbool.h>
#include <stdint.h>

/*  How far a stream is. */
typedef struct {
    uint64_t rows, steps, epochs; /* done so far; epochs: that have ended */
    uint64_t epoch_rows;          /* of each epoch; TND_UNKNOWN: the first one shows it */
    uint64_t run_rows;            /* of all; TND_UNKNOWN: not known, or epochs forever */
    uint64_t run_steps;           /* after which it ends; TND_UNKNOWN: none */
    bool paused;
} tnd_stream_place_t;

enum { TND_TIME_LEFT_LOOKS = 64 };

typedef struct {
    uint64_t at_ns, rows, steps; /* `at_ns`: without pauses */
} tnd_time_left_look_t;

/*  Zeroed: nothing is known. */
typedef struct {
    tnd_stream_place_t place; /* of the last look */
    bool looked, begun;       /* there was a look; a step was done since the first one */
    uint64_t now_ns, paused_ns;
    tnd_time_left_look_t last;                       /* when a step was seen to be done */
    tnd_time_left_look_t looks[TND_TIME_LEFT_LOOKS]; /* ring */
    uint64_t count;
    /*  The end of the first epoch; the first step of this one, as models may be evaluated before it. */
    tnd_time_left_look_t first_ended, epoch_look;
    tnd_time_left_look_t ends[2]; /* of the last epoch, and of the one before it */
    bool epoch_begins;            /* that step is not done yet */
    uint64_t epoch_began;         /* rows done when this epoch began; TND_UNKNOWN */
    uint64_t epoch_found;         /* rows of the last whole epoch; TND_UNKNOWN */
} tnd_time_left_t;

/*  Notes how far a stream is.  Called after each step, or often; a stream that was rewound begins anew. */
void tnd_time_left_note(tnd_time_left_t *self, const tnd_stream_place_t *place, uint64_t now);
/*  The time until the current epoch, and the run, ends; 0: not known, at least 1 otherwise. */
uint64_t tnd_time_left_epoch(const tnd_time_left_t *self);
uint64_t tnd_time_left_run(const tnd_time_left_t *self);

#endif
