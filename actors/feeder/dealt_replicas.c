/*  actors/feeder/dealt_replicas.c - the replicas of a feeder to which a holder of parameters deals steps. */
#include "actors/feeder/dealt_replicas.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "actors/feeder/batch_slots.h"
#include "actors/feeder/step_reports.h"
#include "actors/plan/kind_options.h"
#include "runtime/base/allocation.h"
#include "runtime/core/parameters/dealt_steps.h"
#include "runtime/data/buffer.h"

/*  What was served, until its step has run. */
typedef struct {
    tnd_buffer_t *values;
    uint64_t version;
} served_t;

/*  What is pushed until it is taken, and what the holder is told with it. */
typedef struct {
    tnd_buffer_t *gradient;
    tnd_push_note_t note;
} pushed_t;

typedef struct {
    uint32_t id;
    tnd_replica_device_t device;
    void *memory;
    tnd_dealt_steps_t *machine;
    served_t *served; /* room for the slots, and one more, as of `pushed` */
    pushed_t *pushed;
    float *aligned; /* parameters that came elsewhere in memory */
    /* the step that runs */
    tnd_slice_note_t step;
    tnd_buffer_t *values, *gradient;
} replica_t;

struct tnd_dealt_replicas {
    tnd_dealt_replicas_config_t config;
    const char *holder;                      /* the actor's name */
    const tnd_parameters_options_t *options; /* its own */
    size_t count;           /* numbers that it holds; 0: not known before it serves some */
    uint32_t room;          /* of what is served, and of what is pushed */
    tnd_pool_t *pool;       /* of gradients with reports after them; NULL without `count` */
    tnd_buffer_t *initial;  /* first values, which the holder may lack; NULL: they are elsewhere */
    tnd_pool_t *first_pool; /* that they are of */
    replica_t *replicas;
};

static size_t gradient_bytes(const tnd_dealt_replicas_t *self)
{
    return self->count * sizeof(float);
}

static void make_replica(tnd_dealt_replicas_t *self, replica_t *replica, uint32_t local,
                         const tnd_replica_device_t *device)
{
    replica->id = self->config.first + local;
    replica->device = *device;
    tnd_dealt_steps_config_t config = {.replica = replica->id,
                                       .joins = self->config.joins,
                                       .slots = self->config.slots,
                                       .window = TND_DEALT_MOST};
    replica->memory = tnd_allocate_zeroed(1, tnd_dealt_steps_bytes(&config));
    replica->machine = tnd_dealt_steps_init(replica->memory, &config);
    replica->served = tnd_allocate_zeroed(self->room, sizeof *replica->served);
    replica->pushed = tnd_allocate_zeroed(self->room, sizeof *replica->pushed);
}

static void set_count(tnd_dealt_replicas_t *self, size_t count)
{
    self->count = count;
    self->pool = tnd_pool_new(gradient_bytes(self) + tnd_step_reports_bytes());
}

/*  The first values that a step gave, `count` of them, or NULL. */
static tnd_status_t check_initial(tnd_dealt_replicas_t *self, const float *values, size_t count,
                                  tnd_error_t *error)
{
    if (values == NULL && self->count == 0 && self->options->initial == NULL)
        return tnd_fail(error,
                        "%s: its step gives no first values of the parameters "
                        "(tnd_replica_initial), and `%s` has neither `count:` nor `initial:`",
                        self->config.name, self->holder);
    if (values == NULL)
        return TND_OK;
    if (self->count == 0)
        set_count(self, count);
    if (self->count == count)
        return TND_OK;
    return tnd_fail(error, "%s: its step has %zu parameters, but `count` of `%s` is %zu",
                    self->config.name, count, self->holder, self->count);
}

/*  Keeps what the holder does not read from a file; NULL: zeros. */
static void keep_initial(tnd_dealt_replicas_t *self, const float *values)
{
    if (self->config.first != 0 || self->options->initial != NULL || self->initial != NULL)
        return;
    self->first_pool = tnd_pool_new(gradient_bytes(self));
    self->initial = tnd_pool_take(self->first_pool);
    memset(tnd_buffer_data(self->initial), 0, gradient_bytes(self));
    if (values != NULL)
        memcpy(tnd_buffer_data(self->initial), values, gradient_bytes(self));
    tnd_buffer_seal(self->initial);
}

static tnd_status_t open_model(tnd_dealt_replicas_t *self, tnd_device_workers_t *workers,
                               tnd_error_t *error)
{
    size_t count;
    const tnd_replica_state_t state = {.holder = self->holder};
    tnd_device_workers_serve(workers, &state);
    tnd_status_t status =
        tnd_device_workers_call(workers, tnd_models_open_task(self->config.models), error);
    float *values = tnd_device_workers_initial(workers, &count);
    if (status == TND_OK)
        status = check_initial(self, values, count, error);
    if (status == TND_OK)
        keep_initial(self, values);
    free(values);
    return status;
}

static tnd_status_t open_models(tnd_dealt_replicas_t *self, tnd_error_t *error)
{
    tnd_word_write(&tnd_actor_statistics(self->config.self)->opens, TND_OPENS_MODELS);
    for (uint32_t i = 0; i < self->config.count; i++) {
        tnd_device_workers_t *workers = self->replicas[i].device.workers;
        TND_TRY(open_model(self, workers, error));
        tnd_device_workers_run_all(workers, tnd_models_step_task(self->config.models));
    }
    return TND_OK;
}

tnd_status_t tnd_dealt_replicas_new(tnd_dealt_replicas_t **self_p,
                                    const tnd_dealt_replicas_config_t *config,
                                    const tnd_replica_device_t *devices, tnd_error_t *error)
{
    tnd_dealt_replicas_t *self = tnd_allocate_zeroed(1, sizeof *self);
    const tnd_instance_t *holder = &tnd_actor_plan(config->self)->instances[config->holder];
    self->config = *config;
    self->holder = holder->actor;
    self->options = holder->options;
    self->room = config->slots + 2;
    if (self->options->count > 0)
        set_count(self, self->options->count);
    self->replicas = tnd_allocate_zeroed(config->count, sizeof *self->replicas);
    for (uint32_t i = 0; i < config->count; i++)
        make_replica(self, &self->replicas[i], i, &devices[i]);
    *self_p = self;
    return open_models(self, error);
}

/* --- what is served and pushed ------------------------------------------------------------------ */

static void keep_served(const tnd_dealt_replicas_t *self, replica_t *replica, tnd_buffer_t *values,
                        uint64_t version)
{
    uint32_t at = 0;
    while (at < self->room && replica->served[at].values != NULL)
        at++;
    if (at < self->room) /* else the machine forgets it at once */
        replica->served[at] = (served_t){values, version};
}

/*  The version that these are; they are not kept any more. */
static uint64_t take_served(const tnd_dealt_replicas_t *self, replica_t *replica,
                            const tnd_buffer_t *values)
{
    for (uint32_t i = 0; i < self->room; i++)
        if (replica->served[i].values == values) {
            replica->served[i].values = NULL;
            return replica->served[i].version;
        }
    return 0;
}

static pushed_t *find_pushed(const tnd_dealt_replicas_t *self, replica_t *replica,
                             const tnd_buffer_t *gradient)
{
    uint32_t at = 0;
    while (at < self->room && replica->pushed[at].gradient != gradient)
        at++;
    return at < self->room ? &replica->pushed[at] : NULL;
}

static void forget(const tnd_dealt_replicas_t *self, replica_t *replica, tnd_buffer_t *payload)
{
    pushed_t *pushed = find_pushed(self, replica, payload);
    if (pushed != NULL)
        pushed->gradient = NULL;
    else
        (void)take_served(self, replica, payload);
    tnd_buffer_drop(&payload);
}

/*  What a peer of another process sent may be anywhere in memory. */
static const float *align(const tnd_dealt_replicas_t *self, replica_t *replica)
{
    const void *values = tnd_buffer_data(replica->values);
    if ((uintptr_t)values % _Alignof(float) == 0)
        return values;
    if (replica->aligned == NULL)
        replica->aligned = tnd_allocate_zeroed(self->count, sizeof *replica->aligned);
    memcpy(replica->aligned, values, gradient_bytes(self));
    return replica->aligned;
}

static tnd_status_t run(const tnd_dealt_replicas_t *self, replica_t *replica,
                        const tnd_dealt_steps_effect_t *effect, tnd_error_t *error)
{
    replica->step = effect->slice;
    replica->values = effect->payload;
    replica->gradient = tnd_pool_take(self->pool);
    const tnd_replica_state_t state = {
        .holder = self->holder,
        .values = align(self, replica),
        .count = self->count,
        .version = take_served(self, replica, replica->values),
        .gradient = tnd_buffer_data(replica->gradient),
    };
    TND_TRY(tnd_batch_slots_settle(replica->device.slots, error));
    tnd_device_workers_serve(replica->device.workers, &state);
    tnd_batch_slots_ready(replica->device.slots, effect->slot, &effect->slice, NULL);
    tnd_batch_slots_flush(replica->device.slots);
    return TND_OK;
}

/* --- what the machine wants ---------------------------------------------------------------------- */

static tnd_status_t place(replica_t *replica, const tnd_dealt_steps_effect_t *effect,
                          uint32_t generation, tnd_error_t *error)
{
    tnd_effect_t rows = {
        .kind = TND_EFFECT_PLACE, .slot = effect->slot, .payload = effect->slice.payload};
    rows.msg.kind = TND_MSG_SLICE;
    rows.msg.generation = generation;
    rows.msg.slice = effect->slice;
    return tnd_batch_slots_place(replica->device.slots, &rows, error);
}

static tnd_msg_t to_holder(const tnd_dealt_replicas_t *self, tnd_msg_kind_t kind)
{
    return (tnd_msg_t){
        .kind = kind, .from = tnd_actor_id(self->config.self), .to = self->config.holder};
}

/*  If the holder went away just now, it is LOST in a moment, and asked again when it is back. */
static void read_parameters(const tnd_dealt_replicas_t *self, const replica_t *replica,
                            uint64_t step)
{
    tnd_msg_t msg = to_holder(self, TND_MSG_READ);
    msg.parameters.step = step;
    msg.parameters.replica = replica->id;
    (void)tnd_actor_send(self->config.self, &msg, TND_CARRY_NOTHING);
}

/*  The first values, unless the holder has served some. */
static void send_initial(const tnd_dealt_replicas_t *self)
{
    tnd_msg_t msg = to_holder(self, TND_MSG_INITIAL);
    tnd_buffer_t *values = self->initial;
    if (values == NULL)
        return;
    msg.parameters.payload = tnd_buffer_hold(values); /* it may have to be repeated */
    if (tnd_actor_send(self->config.self, &msg, TND_CARRY_BUFFER) != TND_OK)
        tnd_buffer_drop(&values);
}

static void push(const tnd_dealt_replicas_t *self, replica_t *replica, tnd_buffer_t *gradient)
{
    tnd_msg_t msg = to_holder(self, TND_MSG_PUSH);
    msg.push = find_pushed(self, replica, gradient)->note;
    msg.push.payload = tnd_buffer_hold(gradient); /* it may have to be repeated */
    if (tnd_actor_send(self->config.self, &msg, TND_CARRY_BUFFER) != TND_OK)
        tnd_buffer_drop(&gradient);
}

/*  After every event, before the next.  `generation`: of a slice that has come. */
static tnd_status_t perform(const tnd_dealt_replicas_t *self, replica_t *replica,
                            uint32_t generation, tnd_error_t *error)
{
    tnd_dealt_steps_effect_t effect;
    while (tnd_dealt_steps_next(replica->machine, &effect)) {
        tnd_slice_t *slice = effect.slice.payload;
        switch (effect.kind) {
        case TND_DEALT_STEPS_PLACE:
            TND_TRY(place(replica, &effect, generation, error));
            break;
        case TND_DEALT_STEPS_DROP:
            tnd_slice_drop(&slice);
            break;
        case TND_DEALT_STEPS_READ:
            read_parameters(self, replica, effect.step);
            break;
        case TND_DEALT_STEPS_RUN:
            TND_TRY(run(self, replica, &effect, error));
            break;
        case TND_DEALT_STEPS_PUSH:
            push(self, replica, effect.payload);
            break;
        case TND_DEALT_STEPS_FORGET:
            forget(self, replica, effect.payload);
            break;
        }
    }
    return TND_OK;
}

/* --- arrivals --------------------------------------------------------------------------------- */

static tnd_status_t take_slice(tnd_dealt_replicas_t *self, tnd_arrival_t *arrival,
                               tnd_error_t *error)
{
    const tnd_msg_t *msg = &arrival->msg;
    const tnd_slice_t *slice = msg->slice.payload;
    replica_t *replica = &self->replicas[msg->slice.replica - self->config.first];
    if (slice == NULL || !tnd_slice_sealed(slice))
        return tnd_fail(error, "%s: a slice came without its rows", self->config.name);
    arrival->carry = TND_CARRY_NOTHING;
    tnd_status_t status = tnd_dealt_steps_slice(replica->machine, msg, error);
    if (status == TND_OK)
        return perform(self, replica, msg->generation, error);
    tnd_error_t ignored;
    (void)perform(self, replica, msg->generation, &ignored); /* gives the rows back */
    return status;
}

static tnd_status_t take_served_values(tnd_dealt_replicas_t *self, tnd_arrival_t *arrival,
                                       tnd_error_t *error)
{
    const tnd_msg_t *msg = &arrival->msg;
    tnd_buffer_t *values = msg->parameters.payload;
    replica_t *replica = &self->replicas[msg->parameters.replica - self->config.first];
    tnd_buffer_drop(&self->initial);
    if (self->count == 0)
        set_count(self, tnd_buffer_size(values) / sizeof(float));
    if (tnd_buffer_size(values) != gradient_bytes(self)) {
        (void)tnd_fail(error,
                       "%s: %s served parameters of %zu bytes, but it holds %zu f32: compare the "
                       "versions of Tundish on both hosts",
                       self->config.name, self->holder, tnd_buffer_size(values), self->count);
        tnd_msg_drop(&arrival->msg, arrival->carry);
        return TND_FAILED;
    }
    arrival->carry = TND_CARRY_NOTHING;
    keep_served(self, replica, values, msg->parameters.version);
    tnd_dealt_steps_served(replica->machine, msg->parameters.step, values);
    return perform(self, replica, 0, error);
}

static tnd_status_t take_message(tnd_dealt_replicas_t *self, tnd_arrival_t *arrival,
                                 tnd_error_t *error)
{
    const tnd_msg_t *msg = &arrival->msg;
    if (msg->kind == TND_MSG_SLICE)
        return take_slice(self, arrival, error);
    if (msg->kind == TND_MSG_SERVE)
        return take_served_values(self, arrival, error);
    if (msg->kind != TND_MSG_TAKEN)
        return TND_OK;
    replica_t *replica = &self->replicas[msg->parameters.replica - self->config.first];
    tnd_dealt_steps_taken(replica->machine, msg->parameters.step);
    return perform(self, replica, 0, error);
}

tnd_status_t tnd_dealt_replicas_arrive(tnd_dealt_replicas_t *self, tnd_arrival_t *arrival,
                                       tnd_error_t *error)
{
    if (arrival->kind == TND_ARRIVAL_MESSAGE)
        return take_message(self, arrival, error);
    if (arrival->peer != self->config.holder || arrival->kind == TND_ARRIVAL_REFUSED)
        return TND_OK;
    if (arrival->kind == TND_ARRIVAL_UP)
        send_initial(self);
    for (uint32_t i = 0; i < self->config.count; i++) {
        replica_t *replica = &self->replicas[i];
        if (arrival->kind == TND_ARRIVAL_UP)
            tnd_dealt_steps_holder_up(replica->machine);
        else
            tnd_dealt_steps_holder_lost(replica->machine);
        TND_TRY(perform(self, replica, 0, error));
    }
    return TND_OK;
}

/* --- steps that have run -------------------------------------------------------------------------- */

/*  What goes to the holder with the gradient. */
static void note_push(const tnd_dealt_replicas_t *self, replica_t *replica, const tnd_done_t *done)
{
    tnd_digest_t rows = tnd_batch_slots_digest(replica->device.slots, done);
    char *text = (char *)tnd_buffer_data(replica->gradient) + gradient_bytes(self);
    size_t used =
        tnd_step_reports_print(done->reports, replica->id, text, tnd_step_reports_bytes());
    tnd_buffer_trim(replica->gradient, gradient_bytes(self) + used);
    tnd_buffer_seal(replica->gradient);
    *find_pushed(self, replica, NULL) =
        (pushed_t){.gradient = replica->gradient,
                   .note = {.step = done->step,
                            .digest = {rows.low, rows.high},
                            .replica = replica->id,
                            .rows = done->rows,
                            .epoch = replica->step.epoch,
                            .count = (uint32_t)self->count,
                            .last_of_epoch = replica->step.last_of_epoch}};
}

static void count_step(const tnd_dealt_replicas_t *self, const tnd_done_t *done)
{
    tnd_actor_t *actor = self->config.self;
    tnd_statistics_t *statistics = tnd_actor_statistics(actor);
    tnd_count(&statistics->rows_out, done->rows);
    tnd_statistics_fed(statistics, tnd_actor_round(actor));
    atomic_store_explicit(&statistics->step, done->step, memory_order_relaxed);
    tnd_recorder_add(tnd_actor_recorder(actor), (tnd_event_t){.kind = TND_EVENT_STEP_COMMITTED,
                                                              .first = done->step,
                                                              .count = done->rows,
                                                              .peer = TND_EVENT_NO_PEER});
}

static tnd_status_t take_step(const tnd_dealt_replicas_t *self, replica_t *replica,
                              const tnd_done_t *done, tnd_error_t *error)
{
    if (!tnd_device_workers_pushed(replica->device.workers))
        return tnd_fail(error,
                        "%s: replica %" PRIu32 " returned from step %" PRIu64
                        " without a gradient: with `deal: whole`, each step pushes one "
                        "(tnd_replica_push)",
                        self->config.name, replica->id, done->step);
    note_push(self, replica, done);
    count_step(self, done);
    TND_TRY(tnd_batch_slots_free(replica->device.slots, done->slot, error));
    tnd_buffer_t *gradient = replica->gradient;
    replica->gradient = NULL;
    tnd_buffer_drop(&replica->values);
    tnd_dealt_steps_done(replica->machine, gradient);
    return perform(self, replica, 0, error);
}

tnd_status_t tnd_dealt_replicas_work(tnd_dealt_replicas_t *self, tnd_error_t *error)
{
    for (uint32_t i = 0; i < self->config.count; i++) {
        replica_t *replica = &self->replicas[i];
        tnd_device_workers_t *workers = replica->device.workers;
        tnd_ran_t ran;
        tnd_done_t done;
        if (tnd_device_workers_error(workers) != NULL)
            return tnd_fail(error, "%s", tnd_device_workers_error(workers));
        while (tnd_device_workers_ran(workers, &ran))
            continue;
        while (tnd_device_workers_done(workers, &done))
            TND_TRY(take_step(self, replica, &done, error));
        TND_TRY(tnd_batch_slots_settle(replica->device.slots, error));
    }
    return TND_OK;
}

uint32_t tnd_dealt_replicas_blocked_on(const tnd_dealt_replicas_t *self)
{
    uint32_t waits = 0;
    for (uint32_t i = 0; i < self->config.count; i++)
        waits |= tnd_dealt_steps_blocked_on(self->replicas[i].machine);
    return waits;
}

uint64_t tnd_dealt_replicas_device_cpu_ns(const tnd_dealt_replicas_t *self)
{
    uint64_t cpu = 0;
    for (uint32_t i = 0; i < self->config.count; i++)
        cpu += tnd_device_workers_cpu_ns(self->replicas[i].device.workers);
    return cpu;
}

/* --- the end ---------------------------------------------------------------------------------- */

void tnd_dealt_replicas_stop(tnd_dealt_replicas_t *self)
{
    for (uint32_t i = 0; i < self->config.count; i++)
        tnd_device_workers_stop(self->replicas[i].device.workers);
    for (uint32_t i = 0; i < self->config.count; i++) {
        replica_t *replica = &self->replicas[i];
        tnd_error_t ignored;
        tnd_actor_leaked(self->config.self, tnd_device_workers_unsettled(replica->device.workers));
        tnd_dealt_steps_stop(replica->machine);
        (void)perform(self, replica, 0, &ignored);
        tnd_buffer_drop(&replica->values);
        tnd_buffer_drop(&replica->gradient);
        tnd_count(&tnd_actor_statistics(self->config.self)->cpu_ns,
                  tnd_batch_slots_cpu_ns(replica->device.slots));
        tnd_batch_slots_destroy(&replica->device.slots);
    }
}

void tnd_dealt_replicas_destroy(tnd_dealt_replicas_t **self_p)
{
    tnd_dealt_replicas_t *self = *self_p;
    *self_p = NULL;
    if (self == NULL)
        return;
    for (uint32_t i = 0; i < self->config.count; i++) {
        replica_t *replica = &self->replicas[i];
        tnd_batch_slots_destroy(&replica->device.slots);
        tnd_device_workers_destroy(&replica->device.workers);
        free(replica->memory);
        free(replica->served);
        free(replica->pushed);
        free(replica->aligned);
    }
    tnd_buffer_drop(&self->initial);
    tnd_pool_destroy(&self->first_pool);
    tnd_pool_destroy(&self->pool);
    free(self->replicas);
    free(self);
}
