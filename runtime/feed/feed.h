/*  runtime/feed/feed.h - the feed of a feeder, which programs pull from.
 *
 *  Ownership: the device workers must outlive the feed; the feed holds the models.
 *  Threads: new and destroy on the actor's while no other thread uses the feed; tnd_feed_discard on
 *  any; the public functions on the program's.  A call while another thread is inside one is refused. */
#ifndef TND_RUNTIME_FEED_FEED_H
#define TND_RUNTIME_FEED_FEED_H

#include "runtime/feed/device_workers.h"
#include "runtime/feed/models.h"

typedef struct {
    const char *name;           /* of the feeder */
    const tnd_schema_t *schema; /* of the rows; outlives the feed */
    uint32_t replicas, first, count;
    uint32_t accumulate;        /* so many consecutive ones share a model */
    uint64_t steps;             /* of an epoch; TND_UNKNOWN */
    bool spans;                 /* all epochs are one */
    const char *keep;           /* the folder of checkpoints; NULL: none */
    const tnd_resume_t *resume; /* the checkpoint to resume from; NULL: none */
    bool repeats;               /* it is fed again, each time that the feed before it rests: */
    uint64_t every;             /* after so many ... */
    const char *every_what;     /* steps or epochs */
    tnd_models_t *models; /* that the workers train, for a feeder `after:` this one; NULL: none */
} tnd_feed_facts_t;

tnd_feed_t *tnd_feed_new(tnd_device_workers_t *workers, const tnd_feed_facts_t *facts);
void tnd_feed_destroy(tnd_feed_t **self_p);

/*  This feed has its first step when `before` (NULL: none) has ended, or rests.  Until then, unless
 *  *stopping, tnd_feed_next refuses a caller that would wait for itself.  Both must outlive the feed's last
 *  call.  Feeds that follow the same one are in the order of their chains.  Before any is pulled. */
void tnd_feed_follow(tnd_feed_t *self, tnd_feed_t *before, const _Atomic bool *stopping);
/*  Returns the models that the feeder's step trains; NULL: none. */
tnd_models_t *tnd_feed_models(tnd_feed_t *self);
/*  Whether a step or the feeder has failed: the run is about to fail for that reason. */
bool tnd_feed_failed(const tnd_feed_t *self);
/*  Whether no step will follow: the program has got TND_END or TND_STOPPED, or will get it.  Any
 *  thread. */
bool tnd_feed_over(const tnd_feed_t *self);
/*  The leader's word on checkpoints.  The actor's thread. */
void tnd_feed_checkpoints(tnd_feed_t *self, const tnd_keep_note_t *word);
/*  The run is over: nothing is waited for.  The actor's thread. */
void tnd_feed_end(tnd_feed_t *self);
/*  Before a program leaves: commits the step whose models it saved last, and waits at most `wait_ns`
 *  until their checkpoint is complete.  Errors: TND_FAILED if it is not, or never will be. */
tnd_status_t tnd_feed_finish_save(tnd_feed_t *self, uint64_t wait_ns, tnd_error_t *error);
/*  The program pulls no further step: commits the last one that it ran.  Sets *steps_p to the steps of
 *  the whole run until then; 0: it has run none; TND_UNKNOWN: no program pulls this feed.
 *  Errors: TND_FAILED, see tnd_feed_refused, if another thread uses the feed. */
tnd_status_t tnd_feed_finish(tnd_feed_t *self, uint64_t *steps_p);
/*  The steps of the whole run that the program has committed, by pulling another one, of this feed or of
 *  one that follows it. */
uint64_t tnd_feed_committed(const tnd_feed_t *self);
/*  Whether a program pulls it, on the calling thread, and has not reached its end.  False for a feed that is
 *  fed again and again: what the program does not pull of that is discarded. */
bool tnd_feed_needs_caller(const tnd_feed_t *self);
/*  Why a call of the program was refused; "" if none was. */
const char *tnd_feed_refused(const tnd_feed_t *self);
/*  How often the program has got the end of a feed that is fed again and again. */
uint64_t tnd_feed_ends(const tnd_feed_t *self);
/*  No program will pull: steps that no step runs on are discarded.  Of a feed that is fed again and again,
 *  also where this thread has pulled some. */
void tnd_feed_discard(tnd_feed_t *self);

#endif
