/*  runtime/feed/feed.h - the feed of a feeder, which programs pull from.
 *
 *  Ownership: the device workers must outlive the feed; the feed holds the models.
 *  Threads: new and destroy on the actor's while no other thread uses the feed; tnd_feed_discard on
 *  any; the public functions on the program's. */
#ifndef TND_RUNTIME_FEED_FEED_H
#define TND_RUNTIME_FEED_FEED_H

#include "runtime/feed/device_workers.h"
#include "runtime/feed/models.h"

typedef struct {
    const tnd_schema_t *schema; /* of the rows; outlives the feed */
    uint32_t replicas, first, count;
    uint64_t steps;             /* of an epoch; TND_UNKNOWN */
    const char *keep;           /* the folder of checkpoints; NULL: none */
    const tnd_resume_t *resume; /* the checkpoint to resume from; NULL: none */
    tnd_models_t *models; /* that the workers train, for a feeder `after:` this one; NULL: none */
} tnd_feed_facts_t;

tnd_feed_t *tnd_feed_new(tnd_device_workers_t *workers, const tnd_feed_facts_t *facts);
void tnd_feed_destroy(tnd_feed_t **self_p);

/*  Returns the models that the feeder's step trains; NULL: none. */
tnd_models_t *tnd_feed_models(tnd_feed_t *self);
/*  Whether a step or the feeder has failed: the run is about to fail for that reason. */
bool tnd_feed_failed(const tnd_feed_t *self);
/*  No program will pull: steps that no step runs on are discarded. */
void tnd_feed_discard(tnd_feed_t *self);

#endif
