/*  actors/feeder/feeder_plan.h - what follows from the plan for one feeder.
 *
 *  `own` is the feeder's instance.
 *
 *  Threads: any. */
#ifndef TND_ACTORS_FEEDER_FEEDER_PLAN_H
#define TND_ACTORS_FEEDER_FEEDER_PLAN_H

#include "actors/plan/kind_options.h"
#include "runtime/data/stream.h"
#include "runtime/feed/slots/slot_layout.h"
#include "runtime/host/actor.h"
#include "runtime/interface/device.h"
#include "runtime/plan/memory_estimate.h"
#include "runtime/plan/placement.h"

/*  The feeder whose models an instance uses: itself, or the one that it comes `after:`. */
const tnd_instance_t *tnd_feeder_plan_trained(const tnd_plan_t *plan, const tnd_instance_t *own);
/*  How many consecutive replicas share a model. */
uint32_t tnd_feeder_plan_accumulate(const tnd_plan_t *plan, const tnd_instance_t *own);
/*  Reports replicas that cannot share models so. */
void tnd_feeder_plan_check_accumulate(const tnd_instance_t *own, const tnd_plan_t *plan,
                                      tnd_diagnostics_t *diagnostics);
/*  The device that carries a replica. */
const char *tnd_feeder_plan_device(const tnd_plan_t *plan, const tnd_instance_t *own,
                                   uint32_t replica);
/*  How its devices are opened. */
tnd_device_config_t tnd_feeder_plan_device_config(const tnd_feeder_options_t *options);
/*  How long a stop waits for devices: so that the feeder ends in the time that an actor has. */
uint64_t tnd_feeder_plan_stop_ns(const tnd_plan_t *plan);
/*  Reports the devices of a feeder that this machine does not have. */
void tnd_feeder_plan_check_devices(const tnd_instance_t *own, const tnd_plan_t *plan,
                                   tnd_diagnostics_t *diagnostics);
/*  Reports that what its reducers say cannot be done here. */
void tnd_feeder_plan_check_collective(const tnd_instance_t *own, const tnd_plan_t *plan,
                                      tnd_diagnostics_t *diagnostics);
/*  Before init fails: reports, where it is written, that the device of a replica cannot be used.
 *  `replica` is counted from the first one carried here. */
void tnd_feeder_plan_refuse_device(tnd_actor_t *self, uint32_t replica);
/*  Where the rows of one replica are in a slot. */
tnd_slot_layout_config_t tnd_feeder_plan_layout(const tnd_stream_t *stream);
/*  Threads that gather the rows of a step, the actor's own included. */
uint32_t tnd_feeder_plan_gather_threads(const tnd_instance_t *own, const tnd_stream_t *stream);
/*  Batches beside those that the plan counts that `memory:` leaves room for; UINT32_MAX without it. */
uint32_t tnd_feeder_plan_further(const tnd_plan_t *plan, const tnd_instance_t *own,
                                 const tnd_stream_t *stream,
                                 const tnd_slot_layout_config_t *layout);
/*  The memory of instance `index`, as the hook `needs` of a kind. */
void tnd_feeder_plan_memory(const tnd_plan_t *plan, uint32_t index, const tnd_stream_t *stream,
                            tnd_memory_estimate_t *estimate);

#endif
