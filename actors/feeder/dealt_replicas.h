/*  actors/feeder/dealt_replicas.h - the replicas of a feeder to which a holder of parameters deals steps.
 *
 *  Each has a device thread and slots of its own, and runs one step at a time: on which parameters, the
 *  holder decides (actors/parameters.c).  Which steps a replica has, its machine decides
 *  (runtime/core/parameters/dealt_steps.h).
 *
 *  Threads: the feeder's actor. */
#ifndef TND_ACTORS_FEEDER_DEALT_REPLICAS_H
#define TND_ACTORS_FEEDER_DEALT_REPLICAS_H

#include "runtime/feed/device_workers.h"
#include "runtime/feed/models.h"
#include "runtime/host/actor.h"

/*  Device workers and slots of one replica, which its owner destroys; see feeder_setup.h. */
typedef struct {
    tnd_device_workers_t *workers;
    struct tnd_batch_slots *slots;
} tnd_replica_device_t;

typedef struct {
    tnd_actor_t *self;
    const char *name;      /* of the feeder, for errors */
    uint32_t first, count; /* replicas carried here */
    uint32_t joins;        /* lanes */
    uint32_t slots;        /* steps of a replica, and one more */
    tnd_actor_id_t holder;
    tnd_models_t *models; /* borrowed */
} tnd_dealt_replicas_config_t;

typedef struct tnd_dealt_replicas tnd_dealt_replicas_t;

/*  Takes `devices`, by local replica.  Opens the models.  *self_p is set in any case and must be
 *  destroyed. */
tnd_status_t tnd_dealt_replicas_new(tnd_dealt_replicas_t **self_p,
                                    const tnd_dealt_replicas_config_t *config,
                                    const tnd_replica_device_t *devices,
                                    tnd_error_t *error) TND_CHECKED;
/*  Stops the threads and gives back what the machines have. */
void tnd_dealt_replicas_stop(tnd_dealt_replicas_t *self);
void tnd_dealt_replicas_destroy(tnd_dealt_replicas_t **self_p);

/*  SLICE, SERVE and TAKEN, whose payloads are taken; the holder connects or is lost. */
tnd_status_t tnd_dealt_replicas_arrive(tnd_dealt_replicas_t *self, tnd_arrival_t *arrival,
                                       tnd_error_t *error) TND_CHECKED;
/*  Pushes what steps have resulted in. */
tnd_status_t tnd_dealt_replicas_work(tnd_dealt_replicas_t *self, tnd_error_t *error) TND_CHECKED;
uint32_t tnd_dealt_replicas_blocked_on(const tnd_dealt_replicas_t *self);
/*  Processor time of the device threads, and of those that gather, in nanoseconds. */
uint64_t tnd_dealt_replicas_device_cpu_ns(const tnd_dealt_replicas_t *self);

#endif
