/*  actors/feeder/feeder_setup.h - the state of a feeder, and how its parts are made for the number of
 *  its slots.
 *
 *  Threads: the feeder's actor. */
#ifndef TND_ACTORS_FEEDER_FEEDER_SETUP_H
#define TND_ACTORS_FEEDER_FEEDER_SETUP_H

#include "actors/feeder/batch_slots.h"
#include "actors/feeder/cast_columns.h"
#include "actors/feeder/dealt_replicas.h"
#include "actors/feeder/feeder_options.h"
#include "actors/feeder/pending_reductions.h"
#include "actors/feeder/step_reports.h"
#include "runtime/core/feeder.h"
#include "runtime/feed/feed.h"

typedef struct {
    const tnd_feeder_options_t *options;
    const tnd_stream_t *stream;
    const tnd_instance_t *own;
    const char *name;
    tnd_statistics_t *statistics;
    tnd_peers_t joins;
    tnd_peers_t reducers;
    const char **reducer_names, **devices;
    int *weights;           /* by reducer: the column that its means weigh by, or -1 */
    uint64_t *bucket_bytes; /* by reducer: of values that it reduces together */
    tnd_cast_columns_t casts;
    tnd_feeder_core_config_t config; /* of the machine */
    void *machine_memory;
    tnd_feeder_core_t *machine;
    tnd_models_t *models;
    tnd_device_workers_t *workers;
    tnd_feed_t *feed;
    tnd_batch_slots_t *slots;
    tnd_dealt_replicas_t
        *dealt; /* in place of machine, workers, slots and feed; NULL: they are there */
    tnd_pending_reductions_t postings;
    tnd_step_reports_t reports;
    uint32_t depth;
    uint32_t filled;              /* slots, since finished steps were last asked for */
    uint64_t looked_ns, ready_ns; /* when it was seen how long it had been ready, in vain */
    bool begun, drained, over;
    bool cuts;   /* its program ends an epoch, and steps come back */
    bool fed;    /* a step was done */
    bool saves;  /* the program has saved its models, or was warned that it does not */
    bool warned; /* that a program holds many batches */
    bool placed; /* the leader has said where the stream begins */
    tnd_actor_t *self;
} feeder_t;

/*  In the order of the start. */
void tnd_feeder_list_reducers(feeder_t *feeder, const tnd_actor_t *self);
void tnd_feeder_make_machine(feeder_t *feeder, tnd_actor_t *self);
/*  Opens the devices, with memory for every slot. */
tnd_status_t tnd_feeder_make_workers(feeder_t *feeder, tnd_actor_t *self,
                                     tnd_error_t *error) TND_CHECKED;

/*  Makes the replicas to which `holder` deals steps, in place of machine and workers. */
tnd_status_t tnd_feeder_make_dealt(feeder_t *feeder, tnd_actor_t *self, tnd_actor_id_t holder,
                                   tnd_error_t *error) TND_CHECKED;

/*  Performs RESIZE.  Without memory for more slots, the run continues with those that it has, and
 *  the leader logs that. */
tnd_status_t tnd_feeder_resize(feeder_t *feeder, tnd_actor_t *self, uint32_t depth,
                               tnd_error_t *error) TND_CHECKED;

#endif
