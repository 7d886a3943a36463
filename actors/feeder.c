/*  actors/feeder.c - takes slices, has their rows put into slots, lets the device threads run.
 *
 *  The machine decides when a step is complete, handed out and committed.  The slots hold its rows
 *  (batch_slots.h).  The device workers decide what runs on it, and on which thread. */
#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "actors/feeder/feeder_plan.h"
#include "actors/feeder/feeder_setup.h"
#include "actors/feeder/step_plugin.h"
#include "actors/plan/kind_options.h"
#include "actors/plan/peers.h"
#include "actors/plan/plan_queries.h"
#include "actors/plan/prefetch.h"
#include "runtime/core/checkpoint.h"
#include "runtime/core/numeric/digest.h"
#include "runtime/data/text_payload.h"
#include "runtime/host/actor.h"
#include "runtime/interface/kind.h"

/*  How often it looks whether processors are free; they are not if it had to wait for one for more
 *  than this part of the time. */
enum { LOOK_EVERY_NS = 300000000, CROWDED_PART = 50 };

/* --- making it ready -------------------------------------------------------------------------- */

static void feeder_check(const tnd_instance_t *own, const tnd_plan_t *plan,
                         tnd_diagnostics_t *diagnostics)
{
    if (plan->chains != NULL) /* else something else is wrong */
        tnd_feeder_plan_check_accumulate(own, plan, diagnostics);
    if (own->written == NULL)
        return;
    tnd_feeder_plan_check_devices(own, plan, diagnostics);
    tnd_feeder_plan_check_collective(own, plan, diagnostics);
    tnd_step_plugin_check(own, plan, diagnostics);
}

static tnd_status_t feeder_derive(const tnd_plan_t *plan, const tnd_instance_t *instance,
                                  tnd_guarded_call_t *call, tnd_stream_t *stream,
                                  tnd_error_t *error)
{
    const tnd_feeder_options_t *chosen = instance->options;
    (void)plan, (void)call;
    stream->shown = stream->fed;
    return chosen->cast == NULL
               ? TND_OK
               : tnd_cast_columns_schema(&chosen->cast->columns, &stream->fed.schema,
                                         &stream->shown.schema, error);
}

/*  Of each step that may have a slot once a user changed `depth`, one slice a replica. */
static uint32_t feeder_credit(const tnd_plan_t *plan, const tnd_instance_t *instance,
                              const tnd_stream_t *stream)
{
    uint32_t depth = tnd_prefetch_depth(plan, instance->chain, stream);
    return (depth > 0 ? TND_DEPTH_MOST : 0) * instance->replica_count;
}

static const tnd_chain_plan_t *chain_of(const feeder_t *feeder)
{
    return &tnd_actor_plan(feeder->self)->chains[feeder->own->chain];
}

static void tell_every(const feeder_t *feeder, tnd_feed_facts_t *facts)
{
    const tnd_chain_plan_t *chain = chain_of(feeder);
    facts->repeats = tnd_chain_repeats(chain);
    facts->every = chain->every.steps > 0 ? chain->every.steps : chain->every.epochs;
    facts->every_what = chain->every.steps > 0 ? "steps" : "epochs";
}

/*  With `deal: whole`, the machines of the replicas decide what those of the feeder do otherwise. */
static tnd_status_t init_dealt(feeder_t *feeder, tnd_actor_t *self, tnd_error_t *error)
{
    const tnd_plan_t *plan = tnd_actor_plan(self);
    TND_TRY(tnd_step_plugin_open(self, &feeder->models, error));
    return tnd_feeder_make_dealt(feeder, self, tnd_plan_parameters(plan, feeder->own->chain),
                                 error);
}

static tnd_status_t feeder_init(void *state, tnd_actor_t *self, tnd_error_t *error)
{
    feeder_t *feeder = state;
    feeder->self = self;
    feeder->options = tnd_actor_options(self);
    feeder->stream = tnd_actor_stream(self);
    feeder->own = tnd_actor_instance(self);
    feeder->depth = tnd_prefetch_depth(tnd_actor_plan(self), feeder->own->chain, feeder->stream);
    feeder->name = tnd_actor_name(self);
    feeder->statistics = tnd_actor_statistics(self);
    feeder->joins = tnd_peers_of(self, TND_ROLE_JOIN, tnd_actor_plan(self)->lanes);
    tnd_feeder_list_reducers(feeder, self);
    if (tnd_plan_is_dealt(tnd_actor_plan(self), feeder->own->chain))
        return init_dealt(feeder, self, error);
    tnd_feeder_make_machine(feeder, self);
    if (feeder->options->step != NULL)
        TND_TRY(tnd_step_plugin_open(self, &feeder->models, error));
    TND_TRY(tnd_feeder_make_workers(feeder, self, error));
    if (feeder->models != NULL) {
        tnd_word_write(&feeder->statistics->opens, TND_OPENS_MODELS);
        TND_TRY(
            tnd_device_workers_call(feeder->workers, tnd_models_open_task(feeder->models), error));
        tnd_word_write(&feeder->statistics->opens, TND_OPENS_CHECKPOINT);
        if (tnd_models_load_task(feeder->models) != NULL)
            TND_TRY(tnd_device_workers_call(feeder->workers, tnd_models_load_task(feeder->models),
                                            error));
        tnd_word_write(&feeder->statistics->opens, TND_OPENS_ITSELF);
        tnd_device_workers_run_all(feeder->workers, tnd_models_step_task(feeder->models));
    }
    tnd_feed_facts_t facts = {
        .name = feeder->own->actor,
        .schema = &feeder->stream->shown.schema,
        .replicas = tnd_actor_plan(self)->chains[feeder->own->chain].replicas,
        .first = feeder->own->replica_first,
        .count = feeder->own->replica_count,
        .accumulate = tnd_feeder_plan_accumulate(tnd_actor_plan(self), feeder->own),
        .steps = tnd_plan_steps_of_epoch(feeder->stream, tnd_actor_plan(self)),
        .spans = feeder->stream->batch.spans,
        .keep = feeder->models == NULL ? tnd_actor_keep(self) : NULL,
        .resume = feeder->models == NULL ? tnd_actor_resume(self) : NULL,
        .models = feeder->models,
    };
    tell_every(feeder, &facts);
    feeder->feed = tnd_feed_new(feeder->workers, &facts);
    feeder->reports = (tnd_step_reports_t){.workers = feeder->workers,
                                           .first = feeder->own->replica_first,
                                           .count = feeder->own->replica_count,
                                           .accumulate = facts.accumulate,
                                           .uneven = facts.steps == TND_UNKNOWN};
    return TND_OK;
}

/* --- steps ------------------------------------------------------------------------------------ */

static void tell(tnd_actor_t *self, const tnd_msg_t *msg)
{
    bool report = msg->kind == TND_MSG_COMMIT && msg->commit.payload != NULL;
    if (report)
        tnd_buffer_hold(msg->commit.payload); /* the message may have to be repeated */
    tnd_actor_control(self, msg, report ? TND_CARRY_BUFFER : TND_CARRY_NOTHING);
}

static void drop(const tnd_effect_t *effect)
{
    tnd_slice_t *slice = effect->payload;
    tnd_buffer_t *report = effect->payload;
    if (effect->msg.kind == TND_MSG_SLICE)
        tnd_slice_drop(&slice);
    else
        tnd_buffer_drop(&report);
}

static void record_step(tnd_actor_t *self, tnd_event_kind_t kind, uint64_t step, uint32_t rows)
{
    tnd_recorder_add(tnd_actor_recorder(self), (tnd_event_t){.kind = (uint8_t)kind,
                                                             .first = step,
                                                             .count = rows,
                                                             .peer = TND_EVENT_NO_PEER});
}

/*  Once, when a program holds more batches than there are spare ones. */
static void warn_of_further(feeder_t *feeder, tnd_actor_t *self)
{
    if (feeder->warned || tnd_device_workers_further(feeder->workers) == 0)
        return;
    feeder->warned = true;
    tnd_msg_t msg = {.kind = TND_MSG_LOG, .to = TND_LEADER};
    msg.note.number = TND_LOG_WARNING;
    msg.note.payload = tnd_text_payload_of("%s a program holds the tensors of more than %" PRIu64
                                           " batches (`spare:`): memory for "
                                           "others is allocated as the run goes",
                                           tnd_actor_name(self), feeder->options->spare);
    tnd_actor_control(self, &msg, TND_CARRY_BUFFER);
}

/*  Once, when a checkpoint is due and the program has not saved its models. */
static void warn_of_unsaved(feeder_t *feeder, tnd_actor_t *self, const tnd_done_t *done)
{
    tnd_step_reports_t *reports = &feeder->reports;
    bool saves = done->reports[0].kept != TND_KEPT_NOT_ASKED;
    feeder->saves = feeder->saves || saves;
    if (feeder->saves || feeder->own->replica_first > 0 || feeder->models != NULL ||
        tnd_device_workers_discards(feeder->workers) ||
        !tnd_checkpoint_asks(&reports->keep, done->step + 1, 0))
        return;
    feeder->saves = true;
    tnd_msg_t msg = {.kind = TND_MSG_LOG, .to = TND_LEADER};
    msg.note.number = TND_LOG_WARNING;
    msg.note.payload = tnd_text_payload_of(
        "%s no checkpoint is made after step %" PRIu64 ", although `checkpoint: {every: ...}` asks "
        "for one: a program that pulls steps calls tnd_feed_save (in Python feed.save) after a "
        "step, and `resume` finds nothing until it does",
        tnd_actor_name(self), done->step);
    tnd_actor_control(self, &msg, TND_CARRY_BUFFER);
}

/*  Does what the machine wants; after every event, before the next. */
static tnd_status_t perform(feeder_t *feeder, tnd_actor_t *self, tnd_error_t *error)
{
    tnd_effect_t effect;
    while (tnd_feeder_core_next_effect(feeder->machine, tnd_actor_round(self), &effect)) {
        switch (effect.kind) {
        case TND_EFFECT_PLACE:
            tnd_actor_flush(self); /* gathering takes long */
            TND_TRY(tnd_batch_slots_place(feeder->slots, &effect, error));
            break;
        case TND_EFFECT_READY:
            tnd_batch_slots_ready(
                feeder->slots, effect.slot, &effect.msg.slice,
                tnd_step_reports_save(&feeder->reports, feeder->models, &effect.msg.slice));
            feeder->filled++;
            record_step(self, TND_EVENT_STEP_READY, effect.msg.slice.step,
                        effect.msg.slice.step_rows);
            break;
        case TND_EFFECT_FREE:
            TND_TRY(tnd_batch_slots_settle(feeder->slots, error));
            TND_TRY(tnd_batch_slots_free(feeder->slots, effect.slot, error));
            warn_of_further(feeder, self);
            break;
        case TND_EFFECT_RESIZE:
            TND_TRY(tnd_feeder_resize(feeder, self, effect.slot, error));
            break;
        case TND_EFFECT_LINK:
            /* A join that went away just now is LOST in a moment. */
            (void)tnd_actor_send(self, &effect.msg, TND_CARRY_NOTHING);
            break;
        case TND_EFFECT_CONTROL:
            tell(self, &effect.msg);
            break;
        case TND_EFFECT_DROP:
            drop(&effect);
            break;
        default:
            abort(); /* the machine has no other effects */
        }
    }
    return TND_OK;
}

/*  Whether others carry replicas too, so that reducers have something to do. */
static bool shares_replicas(const feeder_t *feeder, const tnd_actor_t *self)
{
    return feeder->own->replica_count < tnd_actor_plan(self)->chains[feeder->own->chain].replicas;
}

/*  Whether a step comes back because the program ends its epoch before it. */
static bool comes_back(feeder_t *feeder, uint64_t step)
{
    uint64_t cut;
    if (!tnd_device_workers_is_cut(feeder->workers, &cut))
        return false;
    if (!feeder->cuts)
        tnd_feeder_core_cut(feeder->machine, cut - 1);
    feeder->cuts = true;
    return step >= cut;
}

/*  The slots of all steps after the cut are free, and wait for those of the next epoch. */
static tnd_status_t end_cut(feeder_t *feeder, tnd_error_t *error)
{
    if (!feeder->cuts || tnd_feeder_core_is_cutting(feeder->machine))
        return TND_OK;
    feeder->cuts = false;
    TND_TRY(tnd_batch_slots_settle(feeder->slots, error));
    for (uint32_t slot = 0; slot < feeder->depth; slot++)
        TND_TRY(tnd_batch_slots_free(feeder->slots, slot, error));
    tnd_device_workers_end_cut(feeder->workers);
    return TND_OK;
}

static tnd_status_t take_done(feeder_t *feeder, tnd_actor_t *self, tnd_error_t *error)
{
    tnd_done_t done;
    tnd_ran_t ran;
    feeder->filled = 0;
    while (tnd_device_workers_ran(feeder->workers, &ran))
        if (!comes_back(feeder, ran.step) && shares_replicas(feeder, self))
            tnd_pending_reductions_done(&feeder->postings, self, &feeder->reducers, ran.step,
                                        ran.tensors, ran.reductions);
    while (tnd_device_workers_done(feeder->workers, &done)) {
        TND_TRY(tnd_batch_slots_settle(feeder->slots, error));
        if (comes_back(feeder, done.step)) {
            tnd_feeder_core_withdrawn(feeder->machine, done.step);
            TND_TRY(perform(feeder, self, error));
            continue;
        }
        tnd_digest_t rows = tnd_batch_slots_digest(feeder->slots, &done);
        uint64_t digest[2] = {rows.low, rows.high};
        feeder->fed = true;
        tnd_count(&feeder->statistics->rows_out, done.rows);
        tnd_statistics_fed(feeder->statistics, tnd_actor_round(self));
        record_step(self, TND_EVENT_STEP_COMMITTED, done.step, done.rows);
        atomic_store_explicit(&feeder->statistics->step, done.step, memory_order_relaxed);
        if (tnd_actor_keep(self) != NULL)
            warn_of_unsaved(feeder, self, &done);
        tnd_feeder_core_done(feeder->machine, done.step, digest, done.rows,
                             tnd_step_reports_of(&feeder->reports, feeder->models, &done));
        TND_TRY(perform(feeder, self, error));
    }
    TND_TRY(end_cut(feeder, error));
    if (tnd_device_workers_idle(feeder->workers))
        tnd_pending_reductions_idle(&feeder->postings, self, &feeder->reducers);
    return TND_OK;
}

/*  Lets reducers forget the results that are copied. */
static void send_got(feeder_t *feeder, tnd_actor_t *self)
{
    tnd_used_t used;
    while (tnd_device_workers_used(feeder->workers, &used)) {
        tnd_msg_t got = {.kind = TND_MSG_GOT, .from = tnd_actor_id(self), .to = used.reducer};
        got.post = used.result;
        /* A reducer that is away sends the result again. */
        (void)tnd_actor_send(self, &got, TND_CARRY_NOTHING);
    }
}

/*  The values of one exchange that are ready.  A reducer first hears of the steps before it. */
static tnd_status_t post(feeder_t *feeder, tnd_actor_t *self, tnd_error_t *error)
{
    if (!tnd_device_workers_waits(feeder->workers))
        return TND_OK;
    TND_TRY(take_done(feeder, self, error));
    tnd_outgoing_t outgoing;
    while (tnd_device_workers_outgoing(feeder->workers, &outgoing)) {
        tnd_pending_reductions_add(&feeder->postings, self, &feeder->reducers, outgoing.reducer,
                                   &outgoing.post);
        if (outgoing.last)
            tnd_pending_reductions_sent(&feeder->postings, self, &feeder->reducers);
    }
    return TND_OK;
}

/*  The model of a run that was trained to its end is not all of its result: where it cannot be
 *  saved, its digest and what follows are still told. */
static tnd_status_t save(feeder_t *feeder, tnd_actor_t *self, char digest[TND_DIGEST_TEXT_SIZE],
                         tnd_error_t *error)
{
    const char *place = tnd_actor_save(self);
    tnd_status_t status = tnd_models_save(feeder->models, place, digest, error);
    if (status == TND_OK || place == NULL)
        return status;
    tnd_actor_unsaved(self, error->text);
    if (tnd_models_save(feeder->models, NULL, digest, error) != TND_OK)
        strcpy(digest, "-");
    return TND_OK;
}

static bool is_last_chain(const feeder_t *feeder)
{
    return feeder->own->chain + 1 == tnd_actor_plan(feeder->self)->chain_count;
}

/*  What a program gets once it has had all steps. */
static tnd_status_t end_of_feed(const feeder_t *feeder)
{
    return feeder->drained ? TND_STOPPED : TND_END;
}

/*  The last words of a feeder: what its model has become. */
static tnd_status_t end(feeder_t *feeder, tnd_actor_t *self, tnd_error_t *error)
{
    char digest[TND_DIGEST_TEXT_SIZE] = "-";
    tnd_text_payload_writer_t writer;
    bool repeats = tnd_chain_repeats(chain_of(feeder));
    if (feeder->own->replica_first == 0 && feeder->models != NULL && feeder->options->after == NULL)
        TND_TRY(save(feeder, self, digest, error));
    if (repeats) /* before the leader lets the first chain go on */
        tnd_device_workers_over(feeder->workers, end_of_feed(feeder));
    tnd_msg_t msg = {.kind = TND_MSG_MODEL, .from = tnd_actor_id(self), .to = TND_LEADER};
    msg.generation = tnd_feeder_core_generation(feeder->machine);
    msg.note.number = feeder->own->chain;
    tnd_text_payload_begin(&writer);
    fprintf(writer.stream, "%s\n", digest);
    if (tnd_actor_keep(self) != NULL && feeder->options->after == NULL)
        tnd_step_reports_save_last(&feeder->reports, feeder->models,
                                   tnd_feeder_core_committed(feeder->machine), writer.stream);
    msg.note.payload = tnd_text_payload_end(&writer);
    tnd_actor_control(self, &msg, TND_CARRY_BUFFER);
    feeder->over = true;
    tnd_actor_over(self);
    /* A run that has fed nothing may have failed, which the leader decides. */
    if (!repeats && (feeder->fed || !is_last_chain(feeder)))
        tnd_device_workers_over(feeder->workers, end_of_feed(feeder));
    return TND_OK;
}

static void count_devices(feeder_t *feeder)
{
    atomic_store_explicit(&feeder->statistics->device_cpu_ns,
                          tnd_device_workers_cpu_ns(feeder->workers), memory_order_relaxed);
}

/*  Where this thread had to wait for a processor, none is free. */
static void look_for_processors(feeder_t *feeder, uint64_t now)
{
    uint64_t ready = atomic_load_explicit(&feeder->statistics->ready_ns, memory_order_relaxed);
    uint64_t passed = now - feeder->looked_ns;
    if (passed < LOOK_EVERY_NS)
        return;
    tnd_device_workers_may_look(feeder->workers,
                                feeder->looked_ns != 0 &&
                                    (ready - feeder->ready_ns) * CROWDED_PART < passed);
    feeder->looked_ns = now;
    feeder->ready_ns = ready;
}

/*  A step has failed.  The leader still hears of those that were done before it. */
static tnd_status_t end_failed(feeder_t *feeder, tnd_actor_t *self, tnd_error_t *error)
{
    (void)take_done(feeder, self, error);
    return tnd_fail(error, "%s", tnd_device_workers_error(feeder->workers));
}

static tnd_status_t feeder_work(void *state, tnd_actor_t *self, bool *more_p, tnd_error_t *error)
{
    feeder_t *feeder = state;
    (void)more_p;
    if (feeder->dealt != NULL)
        return tnd_dealt_replicas_work(feeder->dealt, error);
    if (!feeder->begun) {
        feeder->begun = true;
        if (feeder->options->after != NULL)
            TND_TRY(tnd_step_plugin_borrow(self, &feeder->models, error));
        if (feeder->options->after != NULL && feeder->models != NULL)
            tnd_device_workers_run_all(feeder->workers, tnd_models_evaluate_task(feeder->models));
    }
    if (tnd_device_workers_error(feeder->workers) != NULL)
        return end_failed(feeder, self, error);
    look_for_processors(feeder, tnd_actor_round(self));
    TND_TRY(tnd_batch_slots_settle(feeder->slots, error));
    send_got(feeder, self);
    TND_TRY(post(feeder, self, error));
    TND_TRY(perform(feeder, self, error));
    TND_TRY(take_done(feeder, self, error));
    TND_TRY(tnd_batch_slots_settle(feeder->slots, error));
    tnd_batch_slots_flush(feeder->slots);
    if (tnd_feeder_core_over(feeder->machine) && !feeder->over)
        return end(feeder, self, error);
    return TND_OK;
}

/*  The stream, which was over, has begun once more. */
static void begin_again(feeder_t *feeder)
{
    if (!feeder->over || tnd_feeder_core_over(feeder->machine))
        return;
    feeder->over = feeder->drained = false;
    tnd_device_workers_over(feeder->workers, TND_OK);
}

/* --- arrivals --------------------------------------------------------------------------------- */

static tnd_status_t take_message(feeder_t *feeder, tnd_actor_t *self, tnd_arrival_t *arrival,
                                 tnd_error_t *error)
{
    const tnd_msg_t *msg = &arrival->msg;
    switch (msg->kind) {
    case TND_MSG_SLICE: {
        const tnd_slice_t *slice = msg->slice.payload;
        if (slice == NULL || !tnd_slice_sealed(slice))
            return tnd_fail(error, "%s: a slice came without its rows", feeder->name);
        arrival->carry = TND_CARRY_NOTHING;
        TND_TRY(tnd_feeder_core_slice(feeder->machine, msg, error));
        break;
    }
    case TND_MSG_REWIND:
        if (feeder->placed && msg->rewind.cuts == tnd_feeder_core_cuts(feeder->machine) &&
            arrival->cursor->step > tnd_feeder_core_held(feeder->machine))
            return tnd_fail(error,
                            "%s: the leader goes back to step %" PRIu64
                            ", but this feeder has only the steps before %" PRIu64,
                            feeder->name, arrival->cursor->step,
                            tnd_feeder_core_held(feeder->machine));
        if (!feeder->placed)
            tnd_device_workers_begin_at(feeder->workers, arrival->cursor->step);
        feeder->placed = true;
        tnd_feeder_core_rewind_to(feeder->machine, msg->generation, arrival->cursor->step,
                                  msg->rewind.cuts, msg->rewind.before);
        break;
    case TND_MSG_KEEP:
        feeder->reports.keep = msg->keep;
        tnd_feed_checkpoints(feeder->feed, &msg->keep);
        if (feeder->models != NULL)
            tnd_models_forget(feeder->models, msg->keep.below, msg->keep.best);
        break;
    case TND_MSG_HALT:
        feeder->drained = msg->halt.ends;
        tnd_feeder_core_message(feeder->machine, msg);
        break;
    case TND_MSG_DEPTH:
        if (msg->until.step == 0 || msg->until.step > TND_DEPTH_MOST)
            return tnd_fail(error, "%s: the leader wants %" PRIu64 " batches of `depth`",
                            feeder->name, msg->until.step);
        tnd_feeder_core_message(feeder->machine, msg);
        break;
    case TND_MSG_RESULT:
        arrival->carry = TND_CARRY_NOTHING;
        return tnd_device_workers_incoming(feeder->workers, msg->from, &msg->post, error);
    case TND_MSG_CLOSED:
        if (tnd_device_workers_awaits(feeder->workers, msg->post.round, msg->post.reducer_slot))
            return tnd_fail(error,
                            "%s: in step %" PRIu64
                            " another replica went on without reduction %" PRIu32
                            ", to which those of %s posted: all replicas post the same "
                            "reductions in the same order",
                            feeder->name, msg->post.round, msg->post.reducer_slot, feeder->name);
        if (tnd_pending_reductions_close(&feeder->postings, msg->from, &msg->post))
            tnd_device_workers_closed(feeder->workers);
        return TND_OK;
    default:
        tnd_feeder_core_message(feeder->machine, msg);
        break;
    }
    begin_again(feeder);
    TND_TRY(perform(feeder, self, error));
    /* So that the batcher fills the slots of finished steps while this thread gathers others. */
    return 2 * feeder->filled >= feeder->depth ? take_done(feeder, self, error) : TND_OK;
}

/*  Slices that follow one another are gathered beside each other, until something arrives that may
 *  change what a slot is for. */
static bool leaves_slots(const tnd_arrival_t *arrival)
{
    return arrival->kind == TND_ARRIVAL_MESSAGE &&
           (arrival->msg.kind == TND_MSG_SLICE || arrival->msg.kind == TND_MSG_WINDOW ||
            arrival->msg.kind == TND_MSG_BOOKED);
}

static tnd_status_t feeder_arrive(void *state, tnd_actor_t *self, tnd_arrival_t *arrival,
                                  tnd_error_t *error)
{
    feeder_t *feeder = state;
    if (feeder->dealt != NULL)
        return tnd_dealt_replicas_arrive(feeder->dealt, arrival, error);
    if (!leaves_slots(arrival))
        TND_TRY(tnd_batch_slots_settle(feeder->slots, error));
    switch (arrival->kind) {
    case TND_ARRIVAL_UP:
        if (tnd_peers_include(&feeder->joins, arrival->peer)) {
            tnd_feeder_core_join_up(feeder->machine, arrival->peer);
            return perform(feeder, self, error);
        }
        tnd_pending_reductions_again(&feeder->postings, self, &feeder->reducers, arrival->peer);
        break;
    case TND_ARRIVAL_LOST:
        if (tnd_peers_include(&feeder->joins, arrival->peer)) {
            tnd_feeder_core_join_lost(feeder->machine, arrival->peer);
            return perform(feeder, self, error);
        }
        break;
    case TND_ARRIVAL_REFUSED:
        break;
    case TND_ARRIVAL_MESSAGE:
        return take_message(feeder, self, arrival, error);
    }
    return TND_OK;
}

static uint32_t feeder_blocked_on(const void *state)
{
    const feeder_t *feeder = state;
    if (feeder->dealt != NULL)
        return tnd_dealt_replicas_blocked_on(feeder->dealt);
    if (feeder->over)
        return TND_WAIT_ENDED;
    uint32_t waits = tnd_feeder_core_blocked_on(feeder->machine) & ~(uint32_t)TND_WAIT_ENDED;
    return tnd_device_workers_waits(feeder->workers) ? waits | TND_WAIT_REDUCE : waits;
}

static void feeder_depth(const void *state, uint64_t *queue_p, uint64_t *credit_p)
{
    const feeder_t *feeder = state;
    *queue_p = 0;
    *credit_p = TND_UNKNOWN;
    if (feeder->dealt != NULL)
        return;
    *queue_p = tnd_feeder_core_held(feeder->machine) - tnd_feeder_core_committed(feeder->machine);
    *credit_p = feeder->depth > *queue_p ? feeder->depth - *queue_p : 0;
}

static void *feeder_handle(void *state)
{
    return ((feeder_t *)state)->feed;
}

/* --- the end ---------------------------------------------------------------------------------- */

/*  Gives back what the machine still has: a report of each step that was not booked. */
static void drop_reports(feeder_t *feeder)
{
    tnd_effect_t effect;
    tnd_feeder_core_booked(feeder->machine, TND_UNKNOWN);
    while (tnd_feeder_core_next_effect(feeder->machine, 0, &effect))
        if (effect.kind == TND_EFFECT_DROP || effect.kind == TND_EFFECT_PLACE) {
            effect.msg.kind = effect.kind == TND_EFFECT_PLACE ? TND_MSG_SLICE : effect.msg.kind;
            drop(&effect);
        }
}

static void stop_dealt(feeder_t *feeder)
{
    tnd_dealt_replicas_stop(feeder->dealt);
    atomic_store_explicit(&feeder->statistics->device_cpu_ns,
                          tnd_dealt_replicas_device_cpu_ns(feeder->dealt), memory_order_relaxed);
}

static void feeder_fini(void *state)
{
    feeder_t *feeder = state;
    if (feeder->dealt != NULL)
        stop_dealt(feeder);
    if (feeder->workers != NULL) {
        count_devices(feeder);
        tnd_outcome_t outcome = tnd_actor_outcome(feeder->self);
        bool asked = outcome == TND_OUTCOME_DRAINED || outcome == TND_OUTCOME_STOPPED;
        /* Programs may have ended the run before the end of the stream. */
        if (asked || outcome == TND_OUTCOME_DONE)
            tnd_device_workers_over(feeder->workers,
                                    feeder->over ? end_of_feed(feeder) : TND_STOPPED);
        tnd_device_workers_stop(feeder->workers);
        if (feeder->feed != NULL)
            tnd_feed_end(feeder->feed);
        tnd_actor_leaked(feeder->self, tnd_device_workers_unsettled(feeder->workers));
    }
    if (feeder->slots != NULL)
        tnd_count(&feeder->statistics->cpu_ns, tnd_batch_slots_cpu_ns(feeder->slots));
    if (feeder->machine != NULL)
        drop_reports(feeder);
    tnd_batch_slots_destroy(&feeder->slots);
    tnd_pending_reductions_free(&feeder->postings);
    tnd_step_reports_free(&feeder->reports);
}

static void feeder_release(void *state)
{
    feeder_t *feeder = state;
    tnd_feed_destroy(&feeder->feed);
    tnd_dealt_replicas_destroy(&feeder->dealt);
    tnd_device_workers_destroy(&feeder->workers);
    tnd_models_drop(&feeder->models);
    tnd_peers_free(&feeder->joins);
    tnd_peers_free(&feeder->reducers);
    tnd_cast_columns_free(&feeder->casts);
    free(feeder->reducer_names);
    free(feeder->weights);
    free(feeder->bucket_bytes);
    free(feeder->devices);
    free(feeder->machine_memory);
}

/* --- the kind ------------------------------------------------------------------------------- */

const tnd_kind_t tnd_kind_feeder = {
    .spec =
        {
            .table = {.name = "feeder",
                      .help = "hands batches to devices and runs the step on them",
                      .options = tnd_feeder_options,
                      .option_count = TND_FEEDER_OPTIONS,
                      .size = sizeof(tnd_feeder_options_t)},
            .role = TND_ROLE_FEEDER,
            .instances = TND_INSTANCE_HOST,
            .accepts = TND_ACCEPT(REWIND) | TND_ACCEPT(SLICE) | TND_ACCEPT(WINDOW) |
                       TND_ACCEPT(BOOKED) | TND_ACCEPT(KEEP) | TND_ACCEPT(LAST) | TND_ACCEPT(HALT) |
                       TND_ACCEPT(LIMIT) | TND_ACCEPT(DEPTH) | TND_ACCEPT(RESULT) |
                       TND_ACCEPT(CLOSED) | TND_ACCEPT(SERVE) | TND_ACCEPT(TAKEN),
            .inlets = {{.name = "in", .flow = TND_FLOW_BATCH, .required = true, .connects = true}},
            .inlet_count = 1,
            .outlets = {{.name = "out",
                         .flow = TND_FLOW_VALUES,
                         .several = true,
                         .connects = true,
                         .call = true}},
            .outlet_count = 1,
        },
    .state_bytes = sizeof(feeder_t),
    .check = feeder_check,
    .derive = feeder_derive,
    .estimate_memory = tnd_feeder_plan_memory,
    .credit = feeder_credit,
    .init = feeder_init,
    .arrive = feeder_arrive,
    .work = feeder_work,
    .blocked_on = feeder_blocked_on,
    .depth = feeder_depth,
    .handle = feeder_handle,
    .fini = feeder_fini,
    .release = feeder_release,
};
