/*  actors/parameters.c - holds the parameters of replicas: deals steps to them, serves each its parameters,
 *  applies what they push, and commits steps.
 *
 *  All of it is decided by the state machine in runtime/core/parameters/holder.c.  The values are in
 *  held_values.h. */
#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "actors/feeder/step_reports.h"
#include "actors/optimizer/optimizers.h"
#include "actors/parameters/held_values.h"
#include "actors/parameters/parameters_check.h"
#include "actors/plan/peers.h"
#include "actors/plan/prefetch.h"
#include "runtime/base/allocation.h"
#include "runtime/base/bounds.h"
#include "runtime/checkpoint/store.h"
#include "runtime/core/checkpoint.h"
#include "runtime/core/numeric/digest.h"
#include "runtime/core/parameters/holder.h"
#include "runtime/data/text_payload.h"
#include "runtime/feed/model_file.h"
#include "runtime/host/actor.h"
#include "runtime/interface/kind.h"

/*  What a replica has pushed. */
typedef struct {
    tnd_push_note_t note; /* with its payload */
} push_t;

/*  What the leader is told of a step that is applied, until it is booked. */
typedef struct {
    tnd_push_note_t note;
    tnd_buffer_t *text; /* NULL: none */
} applied_t;

typedef struct {
    tnd_actor_t *self;
    const tnd_parameters_options_t *options;
    const char *name;
    tnd_peers_t carriers; /* by replica */
    tnd_peers_t joins;
    void *machine_memory;
    tnd_parameters_core_t *machine;
    tnd_held_values_t values;
    applied_t *applied; /* by step % TND_DEALT_MOST */
    uint64_t booked;    /* what was said of the steps below is not needed any more */
    tnd_keep_note_t keep;
    bool has_values;   /* they are read, or the first replica has sent them */
    tnd_life_t *waits; /* by replica: one that is connected and may not be served yet; 0: none */
    uint64_t saved;    /* the last checkpoint is of so many steps */
    uint32_t generation;
    bool over;
} holder_t;

/* --- making it ready -------------------------------------------------------------------------- */

static uint32_t slots_of(const tnd_plan_t *plan, uint32_t chain, const tnd_stream_t *stream)
{
    return tnd_prefetch_depth(plan, chain, stream);
}

/*  Of each replica that a feeder carries: what it asks and pushes, once more after a connection. */
static uint32_t parameters_credit(const tnd_plan_t *plan, const tnd_instance_t *own,
                                  const tnd_stream_t *stream)
{
    return 4 * plan->chains[own->chain].replicas * (slots_of(plan, own->chain, stream) + 2);
}

static void parameters_memory(const tnd_plan_t *plan, uint32_t index, const tnd_stream_t *stream,
                              tnd_memory_estimate_t *estimate)
{
    const tnd_instance_t *own = &plan->instances[index];
    const tnd_parameters_options_t *options = own->options;
    uint64_t bytes = options->count * sizeof(float);
    uint32_t versions = tnd_held_values_versions(options) + 1;
    uint32_t replicas = plan->chains[own->chain].replicas;
    uint32_t slots = slots_of(plan, own->chain, stream) + 1;
    size_t arrays = tnd_optimizer_of(options->optimizer.table)->arrays(options->optimizer.options);
    tnd_memory_estimate_add(estimate, own->name, (versions + arrays) * bytes,
                            "%" PRIu32
                            " versions of the parameters, and %zu arrays of the optimizer",
                            versions, arrays);
    tnd_memory_estimate_add(estimate, own->name,
                            2 * (uint64_t)replicas * slots * (bytes + tnd_step_reports_bytes()),
                            "parameters on their way, and gradients that wait for their turn");
}

/*  The checkpoint to go on from has so many steps; 0: there is none. */
static uint64_t resumed_step(const holder_t *holder)
{
    const tnd_resume_t *resume = tnd_actor_resume(holder->self);
    return resume != NULL ? resume->step : 0;
}

/*  `first`: values of the first replica, or NULL. */
static tnd_status_t open_values(holder_t *holder, size_t count, const void *first,
                                tnd_error_t *error)
{
    char path[TND_STORE_PATH];
    tnd_held_values_config_t config = {.options = holder->options,
                                       .count = count,
                                       .version = resumed_step(holder),
                                       .first = first};
    if (config.version > 0) {
        TND_TRY(tnd_store_check(tnd_actor_resume(holder->self), 0, path, error));
        config.checkpoint = path;
    }
    holder->has_values = true;
    return tnd_held_values_open(&holder->values, &config, error);
}

/*  What it can read itself; else the first replica sends how many there are, and their values. */
static tnd_status_t read_values(holder_t *holder, tnd_error_t *error)
{
    const tnd_parameters_options_t *options = holder->options;
    size_t count = options->count;
    if (options->initial == NULL && (count == 0 || resumed_step(holder) == 0))
        return TND_OK;
    if (count == 0)
        TND_TRY(tnd_held_values_count(options, &count, error));
    return open_values(holder, count, NULL, error);
}

static void make_machine(holder_t *holder)
{
    const tnd_plan_t *plan = tnd_actor_plan(holder->self);
    const tnd_instance_t *own = tnd_actor_instance(holder->self);
    const tnd_parameters_options_t *options = holder->options;
    tnd_parameters_core_config_t config = {
        .replicas = holder->carriers.count,
        .slots = slots_of(plan, own->chain, tnd_actor_stream(holder->self)),
        .window = TND_DEALT_MOST,
        .order = (tnd_parameters_order_t)options->order,
        .staleness =
            options->staleness == TND_STALENESS_UNBOUNDED ? TND_UNKNOWN : options->staleness};
    holder->machine_memory = tnd_allocate_zeroed(1, tnd_parameters_core_bytes(&config));
    holder->machine = tnd_parameters_core_init(holder->machine_memory, &config);
    holder->booked = resumed_step(holder);
    tnd_parameters_core_begin(holder->machine, holder->booked, NULL, 0);
}

static tnd_status_t parameters_init(void *state, tnd_actor_t *self, tnd_error_t *error)
{
    holder_t *holder = state;
    holder->self = self;
    holder->options = tnd_actor_options(self);
    holder->name = tnd_actor_name(self);
    holder->carriers = tnd_peers_carriers(self);
    holder->joins = tnd_peers_of(self, TND_ROLE_JOIN, tnd_actor_plan(self)->lanes);
    holder->applied = tnd_allocate_zeroed(TND_DEALT_MOST, sizeof *holder->applied);
    tnd_error_t why;
    holder->waits = tnd_allocate_zeroed(holder->carriers.count, sizeof *holder->waits);
    if (read_values(holder, &why) != TND_OK)
        return tnd_fail(error, "%s: %s", holder->name, why.text);
    make_machine(holder);
    return TND_OK;
}

/* --- checkpoints ------------------------------------------------------------------------------ */

static tnd_status_t save_part(const holder_t *holder, uint64_t step, tnd_saved_t *part,
                              tnd_error_t *error)
{
    char path[TND_STORE_PATH];
    const char *dir = tnd_actor_keep(holder->self);
    tnd_store_forget_below(dir, holder->keep.below, holder->keep.best);
    TND_TRY(tnd_store_begin(dir, step, error));
    tnd_store_draft_path(path, dir, step, 0);
    if (tnd_held_values_keep(&holder->values, path, error) == TND_OK)
        return tnd_store_seal(dir, step, 0, part, error);
    (void)unlink(path);
    return TND_FAILED;
}

/*  Saves what is held after `step` steps, as the part of the first replica, and says so in lines. */
static void save(holder_t *holder, uint64_t step, FILE *out)
{
    char line[400];
    tnd_error_t why;
    tnd_report_t report = {.kept = TND_KEPT};
    if (save_part(holder, step, &report.part, &why) != TND_OK) {
        report.kept = TND_KEPT_NOT;
        snprintf(report.not_kept_why, sizeof report.not_kept_why, "%.255s", why.text);
    }
    holder->saved = step;
    (void)tnd_step_reports_print_saved(&report, 0, line, sizeof line);
    fputs(line, out);
    report.kept = TND_KEPT_NONE;
    for (uint32_t r = 1; r < holder->carriers.count; r++) {
        (void)tnd_step_reports_print_saved(&report, r, line, sizeof line);
        fputs(line, out);
    }
}

/*  Whether a checkpoint is due after the step. */
static bool is_due(const holder_t *holder, const tnd_push_note_t *push)
{
    uint64_t epochs = push->last_of_epoch ? (uint64_t)push->epoch + 1 : 0;
    return tnd_actor_keep(holder->self) != NULL &&
           tnd_checkpoint_asks(&holder->keep, push->step + 1, epochs);
}

static tnd_status_t write_model(void *context, const char *file, tnd_error_t *error)
{
    return tnd_held_values_write(&((const holder_t *)context)->values, file, error);
}

/*  Where the model cannot be saved, its digest is still told. */
static tnd_status_t save_model(holder_t *holder, char digest[TND_DIGEST_TEXT_SIZE],
                               tnd_error_t *error)
{
    const char *place = tnd_actor_save(holder->self);
    tnd_status_t status = tnd_model_file_save(write_model, holder, place, digest, error);
    if (status == TND_OK || place == NULL)
        return status;
    tnd_actor_unsaved(holder->self, error->text);
    if (tnd_model_file_save(write_model, holder, NULL, digest, error) != TND_OK)
        strcpy(digest, "-");
    return TND_OK;
}

/*  The last words: what the parameters have become. */
static tnd_status_t end(holder_t *holder, tnd_error_t *error)
{
    char digest[TND_DIGEST_TEXT_SIZE] = "-";
    tnd_text_payload_writer_t writer;
    uint64_t steps = tnd_parameters_core_committed(holder->machine);
    TND_TRY(save_model(holder, digest, error));
    tnd_msg_t msg = {.kind = TND_MSG_MODEL, .from = tnd_actor_id(holder->self), .to = TND_LEADER};
    msg.generation = holder->generation;
    msg.note.number = tnd_actor_instance(holder->self)->chain;
    tnd_text_payload_begin(&writer);
    fprintf(writer.stream, "%s\n", digest);
    if (tnd_actor_keep(holder->self) != NULL && steps != holder->saved && steps > 0) {
        fprintf(writer.stream, "behind %" PRIu64 "\n", steps);
        save(holder, steps, writer.stream);
    }
    msg.note.payload = tnd_text_payload_end(&writer);
    tnd_actor_control(holder->self, &msg, TND_CARRY_BUFFER);
    holder->over = true;
    tnd_actor_over(holder->self);
    return TND_OK;
}

/* --- what the machine wants ---------------------------------------------------------------------- */

static void drop_push(push_t *push)
{
    tnd_buffer_t *gradient = push->note.payload;
    tnd_buffer_drop(&gradient);
    free(push);
}

static void deal(const holder_t *holder, const tnd_parameters_effect_t *effect)
{
    for (uint32_t i = 0; i < holder->joins.count; i++) {
        tnd_msg_t msg = {.kind = TND_MSG_DEAL,
                         .generation = effect->generation,
                         .from = tnd_actor_id(holder->self),
                         .to = holder->joins.ids[i]};
        msg.deal.step = effect->step;
        msg.deal.life = effect->life;
        msg.deal.replica = effect->replica;
        tnd_actor_control(holder->self, &msg, TND_CARRY_NOTHING);
    }
}

/*  A replica that went away just now is LOST in a moment, and asks or pushes again when it is back. */
static void answer(const holder_t *holder, tnd_msg_kind_t kind,
                   const tnd_parameters_effect_t *effect)
{
    tnd_msg_t msg = {.kind = kind,
                     .from = tnd_actor_id(holder->self),
                     .to = holder->carriers.ids[effect->replica]};
    msg.parameters.step = effect->step;
    msg.parameters.version = effect->version;
    msg.parameters.replica = effect->replica;
    tnd_buffer_t *values = NULL;
    if (kind == TND_MSG_SERVE)
        msg.parameters.payload = values = tnd_held_values_of(&holder->values, effect->version);
    if (tnd_actor_send(holder->self, &msg, values != NULL ? TND_CARRY_BUFFER : TND_CARRY_NOTHING) !=
        TND_OK)
        tnd_buffer_drop(&values);
}

/*  What the leader is told of a step; NULL: nothing but that it is done. */
static tnd_buffer_t *report(holder_t *holder, const tnd_push_note_t *push)
{
    size_t gradient = push->count * sizeof(float), size = tnd_buffer_size(push->payload);
    const char *text = (const char *)tnd_buffer_data(push->payload) + gradient;
    bool due = is_due(holder, push);
    tnd_text_payload_writer_t writer;
    if (size == gradient && !due)
        return NULL;
    tnd_text_payload_begin(&writer);
    fwrite(text, 1, size - gradient, writer.stream);
    if (due)
        save(holder, push->step + 1, writer.stream);
    return tnd_text_payload_end(&writer);
}

static void apply(holder_t *holder, const tnd_parameters_effect_t *effect)
{
    push_t *push = effect->payload;
    tnd_held_values_apply(&holder->values, tnd_buffer_data(push->note.payload));
    assert(holder->values.newest == effect->version);
    applied_t *applied = &holder->applied[effect->step % TND_DEALT_MOST];
    tnd_buffer_drop(&applied->text);
    *applied = (applied_t){.note = push->note, .text = report(holder, &push->note)};
    applied->note.payload = NULL;
    drop_push(push);
    tnd_statistics_t *statistics = tnd_actor_statistics(holder->self);
    tnd_count(&statistics->rows_out, applied->note.rows);
    atomic_store_explicit(&statistics->step, effect->step, memory_order_relaxed);
}

static void tell_leader(const holder_t *holder, tnd_msg_kind_t kind,
                        const tnd_parameters_effect_t *effect)
{
    tnd_msg_t msg = {.kind = kind,
                     .generation = effect->generation,
                     .from = tnd_actor_id(holder->self),
                     .to = TND_LEADER};
    tnd_carry_t carry = TND_CARRY_NOTHING;
    if (kind == TND_MSG_COMMIT) {
        const applied_t *applied = &holder->applied[effect->step % TND_DEALT_MOST];
        msg.commit.step = effect->step;
        memcpy(msg.commit.digest, applied->note.digest, sizeof msg.commit.digest);
        msg.commit.rows = applied->note.rows;
        if (applied->text != NULL) { /* the message may have to be repeated */
            msg.commit.payload = tnd_buffer_hold(applied->text);
            carry = TND_CARRY_BUFFER;
        }
    } else {
        msg.until.step = effect->step;
    }
    tnd_actor_control(holder->self, &msg, carry);
}

/*  After every event, before the next. */
static void perform(holder_t *holder)
{
    tnd_parameters_effect_t effect;
    while (tnd_parameters_core_next(holder->machine, &effect)) {
        switch (effect.kind) {
        case TND_PARAMETERS_DEAL:
            deal(holder, &effect);
            break;
        case TND_PARAMETERS_SERVE:
            answer(holder, TND_MSG_SERVE, &effect);
            break;
        case TND_PARAMETERS_APPLY:
            apply(holder, &effect);
            break;
        case TND_PARAMETERS_TAKEN:
            answer(holder, TND_MSG_TAKEN, &effect);
            break;
        case TND_PARAMETERS_DROP:
            drop_push(effect.payload);
            break;
        case TND_PARAMETERS_HELD:
            tell_leader(holder, TND_MSG_HELD, &effect);
            break;
        case TND_PARAMETERS_COMMIT:
            tell_leader(holder, TND_MSG_COMMIT, &effect);
            break;
        case TND_PARAMETERS_REDO:
            tell_leader(holder, TND_MSG_REDO, &effect);
            break;
        }
    }
}

/* --- arrivals --------------------------------------------------------------------------------- */

static tnd_status_t take_push(holder_t *holder, tnd_arrival_t *arrival, tnd_error_t *error)
{
    const tnd_push_note_t *note = &arrival->msg.push;
    size_t bytes = holder->values.count * sizeof(float);
    if (note->count != holder->values.count || tnd_buffer_size(note->payload) < bytes)
        return tnd_fail(error,
                        "%s: replica %" PRIu32 " pushed %" PRIu32 " f32 in step %" PRIu64
                        ", but %zu are held: compare the versions of Tundish on both hosts",
                        holder->name, note->replica, note->count, note->step, holder->values.count);
    arrival->carry = TND_CARRY_NOTHING;
    push_t *push = tnd_allocate_zeroed(1, sizeof *push);
    push->note = *note;
    tnd_statistics_t *statistics = tnd_actor_statistics(holder->self);
    tnd_count(&statistics->blocks_in, 1);
    tnd_count(&statistics->bytes_in, tnd_buffer_size(note->payload));
    return tnd_parameters_core_push(holder->machine, note->replica, note->step, push, error);
}

/*  The first values, unless they are known: the first replica sends them on each connection. */
static tnd_status_t take_initial(holder_t *holder, const tnd_msg_t *msg, tnd_error_t *error)
{
    tnd_buffer_t *values = msg->parameters.payload;
    size_t size = tnd_buffer_size(values), count = size / sizeof(float);
    tnd_error_t why;
    if (holder->has_values)
        return TND_OK;
    if (msg->parameters.replica != 0 || count == 0 || size % sizeof(float) != 0 ||
        (holder->options->count != 0 && count != holder->options->count))
        return tnd_fail(error,
                        "%s: replica %" PRIu32 " sent first values of %zu bytes, which do not fit: "
                        "compare the versions of Tundish on both hosts",
                        holder->name, msg->parameters.replica, size);
    if (open_values(holder, count, tnd_buffer_data(values), &why) != TND_OK)
        return tnd_fail(error, "%s: %s", holder->name, why.text);
    for (uint32_t r = 0; r < holder->carriers.count; r++)
        if (holder->waits[r] != 0)
            tnd_parameters_core_replica_up(holder->machine, r, holder->waits[r]);
    return TND_OK;
}

static void take_booked(holder_t *holder, uint64_t below)
{
    tnd_parameters_core_booked(holder->machine, below);
    below = tnd_least(below, tnd_parameters_core_committed(holder->machine));
    for (; holder->booked < below; holder->booked++)
        tnd_buffer_drop(&holder->applied[holder->booked % TND_DEALT_MOST].text);
}

/*  Starts no further step, and says how many it has started. */
static void take_halt(holder_t *holder, uint32_t number)
{
    uint64_t started = tnd_parameters_core_started(holder->machine);
    tnd_parameters_core_limit(holder->machine, started);
    tnd_msg_t msg = {.kind = TND_MSG_HALT,
                     .generation = holder->generation,
                     .from = tnd_actor_id(holder->self),
                     .to = TND_LEADER};
    msg.halt.step = started;
    msg.halt.number = number;
    tnd_actor_control(holder->self, &msg, TND_CARRY_NOTHING);
}

static tnd_status_t take_rewind(holder_t *holder, const tnd_arrival_t *arrival, tnd_error_t *error)
{
    uint64_t step = arrival->cursor->step, dealt = tnd_parameters_core_dealt(holder->machine);
    if (step > dealt)
        return tnd_fail(error,
                        "%s: the leader goes back to step %" PRIu64
                        ", but only the steps before %" PRIu64 " were dealt",
                        holder->name, step, dealt);
    holder->generation = arrival->msg.generation;
    tnd_parameters_core_rewind(holder->machine, holder->generation, step);
    return TND_OK;
}

static void take_gone(holder_t *holder, tnd_actor_id_t actor, tnd_life_t life)
{
    for (uint32_t r = 0; r < holder->carriers.count; r++)
        if (holder->carriers.ids[r] == actor)
            tnd_parameters_core_replica_gone(holder->machine, r, life);
}

static tnd_status_t take_message(holder_t *holder, tnd_arrival_t *arrival, tnd_error_t *error)
{
    tnd_status_t status;
    const tnd_msg_t *msg = &arrival->msg;
    uint64_t started = tnd_parameters_core_started(holder->machine);
    switch (msg->kind) {
    case TND_MSG_INITIAL:
        status = take_initial(holder, msg, error);
        tnd_msg_drop(&arrival->msg, arrival->carry);
        return status;
    case TND_MSG_READ:
        return tnd_parameters_core_read(holder->machine, msg->parameters.replica,
                                        msg->parameters.step, error);
    case TND_MSG_PUSH:
        return take_push(holder, arrival, error);
    case TND_MSG_REWIND:
        return take_rewind(holder, arrival, error);
    case TND_MSG_GONE:
        take_gone(holder, msg->gone.actor, msg->gone.life);
        break;
    case TND_MSG_BOOKED:
        take_booked(holder, msg->until.step);
        break;
    case TND_MSG_HALT:
        take_halt(holder, msg->halt.number);
        break;
    case TND_MSG_LIMIT:
        tnd_parameters_core_limit(holder->machine, tnd_most(msg->limit.step, started));
        break;
    case TND_MSG_LAST:
        tnd_parameters_core_end(holder->machine, tnd_most(msg->until.step, started));
        break;
    case TND_MSG_KEEP:
        holder->keep = msg->keep;
        break;
    default:
        break;
    }
    return TND_OK;
}

static void note_feeder(holder_t *holder, const tnd_arrival_t *arrival)
{
    for (uint32_t r = 0; r < holder->carriers.count; r++) {
        if (holder->carriers.ids[r] != arrival->peer)
            continue;
        bool up = arrival->kind == TND_ARRIVAL_UP;
        holder->waits[r] = up && !holder->has_values ? arrival->birth : 0;
        if (!up)
            tnd_parameters_core_replica_away(holder->machine, r);
        else if (holder->has_values)
            tnd_parameters_core_replica_up(holder->machine, r, arrival->birth);
    }
}

static tnd_status_t parameters_arrive(void *state, tnd_actor_t *self, tnd_arrival_t *arrival,
                                      tnd_error_t *error)
{
    holder_t *holder = state;
    (void)self;
    if (arrival->kind == TND_ARRIVAL_MESSAGE)
        TND_TRY(take_message(holder, arrival, error));
    else if (arrival->kind != TND_ARRIVAL_REFUSED)
        note_feeder(holder, arrival);
    perform(holder);
    return TND_OK;
}

static tnd_status_t parameters_work(void *state, tnd_actor_t *self, bool *more_p,
                                    tnd_error_t *error)
{
    holder_t *holder = state;
    (void)self, (void)more_p;
    if (holder->generation == 0 || holder->over || !holder->has_values ||
        !tnd_parameters_core_over(holder->machine))
        return TND_OK;
    return end(holder, error);
}

static uint32_t parameters_blocked_on(const void *state)
{
    const holder_t *holder = state;
    return holder->over ? TND_WAIT_ENDED : tnd_parameters_core_blocked_on(holder->machine);
}

static void parameters_depth(const void *state, uint64_t *queue_p, uint64_t *credit_p)
{
    const tnd_parameters_core_t *machine = ((const holder_t *)state)->machine;
    *queue_p = tnd_parameters_core_started(machine) - tnd_parameters_core_committed(machine);
    *credit_p = TND_UNKNOWN;
}

static void parameters_fini(void *state)
{
    holder_t *holder = state;
    tnd_parameters_effect_t effect;
    if (holder->machine != NULL)
        tnd_parameters_core_stop(holder->machine);
    while (holder->machine != NULL && tnd_parameters_core_next(holder->machine, &effect))
        drop_push(effect.payload);
    for (uint32_t i = 0; holder->applied != NULL && i < TND_DEALT_MOST; i++)
        tnd_buffer_drop(&holder->applied[i].text);
    tnd_held_values_close(&holder->values);
    free(holder->applied);
    free(holder->waits);
    free(holder->machine_memory);
    tnd_peers_free(&holder->carriers);
    tnd_peers_free(&holder->joins);
}

/* --- options and ports ------------------------------------------------------------------------ */

static const tnd_option_t options[] = {
    {TND_OPTION(tnd_parameters_options_t, optimizer, PART, GRAPH), .parts = tnd_optimizer_table,
     .example = "{adam: {rate: 0.001}}", .help = "what applies a gradient to the parameters"},
    {TND_OPTION(tnd_parameters_options_t, count, U64, GRAPH), .unit = "numbers", .fallback = "auto",
     .range = "1..66000000", .choices = "auto=0", .example = "25450",
     .help = "how many parameters there are, f32; by default as many as `initial` or the step has, "
             "which are then not part of the memory sum"},
    {TND_OPTION(tnd_parameters_options_t, staleness, U64, GRAPH), .unit = "steps", .fallback = "0",
     .range = "0..128", .choices = "unbounded=18446744073709551615",
     .help =
         "with `order: steps`, step s computes on the parameters after exactly the steps below s "
         "less this number, so that so many steps and one more run at the same time; with "
         "`order: arrival` on the newest ones, once those steps are applied, or at once if it is "
         "unbounded"},
    {TND_OPTION(tnd_parameters_options_t, order, ENUM, GRAPH), .fallback = "steps",
     .choices = "steps|arrival",
     .help = "in which order gradients are applied: that of their steps, which gives the same bits "
             "for any number of replicas, on any hosts; or as they arrive, as in TensorFlow"},
    {TND_OPTION(tnd_parameters_options_t, initial, PATH, GRAPH), .fallback = "",
     .help = "a .npy file with the first values, f32 of any shape; without it, those that the step "
             "gives when it is opened (tnd_replica_initial), or `count` zeros"},
};

const tnd_kind_t tnd_kind_parameters = {
    .spec =
        {
            .table =
                {.name = "parameters",
                 .help =
                     "holds the parameters of replicas that get whole batches (`deal: whole`), and "
                     "applies what they push, as a parameter server of TensorFlow",
                 TND_OPTIONS(options, tnd_parameters_options_t)},
            .role = TND_ROLE_PARAMETERS,
            .instances = TND_INSTANCE_ONE,
            .accepts = TND_ACCEPT(REWIND) | TND_ACCEPT(INITIAL) | TND_ACCEPT(READ) |
                       TND_ACCEPT(PUSH) | TND_ACCEPT(BOOKED) | TND_ACCEPT(HALT) |
                       TND_ACCEPT(LIMIT) | TND_ACCEPT(LAST) | TND_ACCEPT(KEEP) | TND_ACCEPT(GONE),
            .inlets = {{.name = "in", .flow = TND_FLOW_VALUES, .required = true}},
            .inlet_count = 1,
        },
    .state_bytes = sizeof(holder_t),
    .check = tnd_parameters_check,
    .estimate_memory = parameters_memory,
    .credit = parameters_credit,
    .init = parameters_init,
    .arrive = parameters_arrive,
    .work = parameters_work,
    .blocked_on = parameters_blocked_on,
    .depth = parameters_depth,
    .fini = parameters_fini,
};
