/*  runtime/host/leader_chains.c - which chain runs: the first one, and others after its end or while it
 *  rests.
 *
 *  When another one is due is decided by runtime/core/session/validation.h. */
#include "runtime/host/leader_internal.h"

#include <inttypes.h>
#include <stdlib.h>

#include "runtime/base/allocation.h"
#include "runtime/checkpoint/resume.h"
#include "runtime/topology/best_options.h"

/*  Parts of cursors are sent 20 ms late at most (control_batch.h), and on a busy machine much later. */
static const uint64_t settle_ns = 2000000000;

/*  Where the stream of a chain begins.  Where it was fed before, the numbers of its steps go on. */
static void find_start(const tnd_leader_t *self, uint32_t index, tnd_cursor_t *start)
{
    const tnd_plan_t *plan = self->plan;
    tnd_cursor_start(start, plan->lanes);
    start->seed = plan->seed;
    start->graph[0] = plan->fingerprint[0];
    start->graph[1] = plan->fingerprint[1];
    if (self->chains[index].session != NULL)
        start->step = tnd_leader_core_cursor(self->chains[index].session)->step;
    if (index == 0 && self->writer != NULL && tnd_checkpoint_writer_cursor(self->writer) != NULL)
        *start = *tnd_checkpoint_writer_cursor(self->writer);
    if (index == 0 && self->config.start != NULL) {
        start->epoch = self->config.start->epoch;
        for (uint32_t lane = 0; lane < plan->lanes; lane++)
            start->part[lane] = *self->config.start;
    }
}

/*  What was reported where the chain was fed before. */
static void forget_feeding(chain_t *chain)
{
    chain->sums = (tnd_epoch_metrics_t){.latest = {.epoch = 0}};
    chain->reason_count = chain->place_count = 0;
    chain->over = chain->model_known = false;
}

/*  Where the first chain is; `over`: no step follows. */
static tnd_validation_place_t place_of(const tnd_leader_t *self, bool over)
{
    const tnd_leader_core_t *first = self->chains[0].session;
    tnd_validation_place_t place = {.cursor = tnd_leader_core_cursor(first), .over = over};
    (void)tnd_leader_core_rests(first, &place.epoch);
    return place;
}

/*  The first chain goes on to where the next validation is due. */
static void set_rest(tnd_leader_t *self)
{
    uint64_t step = TND_UNKNOWN;
    uint32_t epoch = TND_ENDLESS;
    tnd_validation_place_t place = place_of(self, false);
    for (uint32_t c = 1; c < self->plan->chain_count; c++)
        tnd_validation_rest(&self->chains[c].validation, &place, &step, &epoch);
    tnd_leader_core_rest_at(self->chains[0].session, step, epoch);
}

/*  The observer learns that a chain begins with other steps before it than the last it was told of. */
static void report_begin(const tnd_leader_t *self, uint32_t index, const tnd_cursor_t *start)
{
    const tnd_observer_t *observer = self->config.observer;
    tnd_cursor_t cursor = *start;
    if (index > 0)
        cursor.step = 0;
    if (observer != NULL && observer->resume != NULL)
        observer->resume(observer->context, index, &cursor, &self->chains[index].sums);
}

void tnd_leader_open_session(tnd_leader_t *self, uint32_t index, uint64_t now)
{
    chain_t *chain = &self->chains[index];
    const tnd_plan_t *plan = self->plan;
    const tnd_leader_core_t *before = chain->session;
    tnd_cursor_t start;
    find_start(self, index, &start);
    bool trains = index > 0 || plan->checkpoint == NULL || !plan->checkpoint->evaluate;
    tnd_leader_core_config_t config = {
        .members = chain->members,
        .member_count = chain->member_count,
        .hosts = self->host_names,
        .host_count = plan->host_count,
        .lanes = plan->lanes,
        .lanes_alike = plan->chains[index].feed == TND_FEED_PIECES,
        .start_timeout_ns = plan->start_timeout_ns,
        .hung_after_ns = plan->hung_after_ns,
        .host_flags = self->host_flags,
        .restart_timeout_ns = plan->restart_timeout_ns,
        .settle_ns = settle_ns,
        .steps_open_max = STEPS_OPEN,
        .booked_every = BOOKED_EVERY,
        .steps_max = !trains || (index == 0 && tnd_best_ends(&self->best)) ? start.step
                     : index == 0                                          ? self->config.steps_max
                                                                           : TND_UNKNOWN,
        .restarts = {.max = (uint32_t)plan->restarts.max,
                     .first_ns = plan->restarts.backoff_ns,
                     .most_ns = plan->restarts.backoff_max_ns,
                     .calm_ns = plan->restarts.within_ns},
        .generation = before != NULL ? tnd_leader_core_generation(before) : 0,
        .cuts = before != NULL ? tnd_leader_core_cuts(before) : 0,
    };
    if (index == 0 && self->writer != NULL && tnd_checkpoint_writer_cursor(self->writer) != NULL) {
        chain->sums = *tnd_checkpoint_writer_sums(self->writer);
        report_begin(self, index, &start);
    } else if (before != NULL) {
        forget_feeding(chain);
        report_begin(self, index, &start);
    }
    chain->rank = start.rank;
    chain->fed = start.ledger.fed;
    chain->first = start.step;
    chain->before = start.ledger;
    void *memory = tnd_allocate_zeroed(1, tnd_leader_core_bytes(&config));
    chain->session = tnd_leader_core_init(memory, &config, &start, now);
    if (before != NULL)
        tnd_leader_core_follow(chain->session, before);
    free(self->memories[index]);
    self->memories[index] = memory;
    chain->shown = TND_LEADER_CORE_READY;
    if (index == 0 && trains)
        set_rest(self);
}

void tnd_leader_resume_validations(tnd_leader_t *self)
{
    const tnd_observer_t *observer = self->config.observer;
    for (uint32_t c = 1; c < self->plan->chain_count; c++)
        self->chains[c].validation =
            (tnd_validation_t){.steps = self->plan->chains[c].every.steps,
                               .epochs = self->plan->chains[c].every.epochs,
                               .made = TND_UNKNOWN};
    if (self->writer == NULL || self->plan->checkpoint->evaluate)
        return;
    const tnd_validations_t *made = tnd_checkpoint_writer_validations(self->writer);
    (void)tnd_resume_best(self->plan, made, &self->best, &self->best_chain);
    for (size_t i = 0; i < made->count; i++) {
        const tnd_validated_t *it = &made->of[i];
        if (it->chain == 0 || it->chain >= self->plan->chain_count)
            continue;
        self->chains[it->chain].validation.made = it->steps;
        tnd_validations_add(&self->validations, it);
        if (observer != NULL && observer->validated != NULL)
            observer->validated(observer->context, it);
    }
}

/*  Actors that died before the end are there when the chain is fed again. */
static void restart_due(tnd_leader_t *self)
{
    tnd_actor_id_t actor;
    while (self->chain > 0 && tnd_leader_core_take_due(self->chains[self->chain].session, &actor))
        tnd_leader_restart(self, actor, NULL);
}

/* --- the best of them -------------------------------------------------------------------------- */

/*  Where `best:` of a chain is written. */
static void print_place(const tnd_topology_t *topology, uint32_t chain, char *text, size_t room)
{
    const tnd_topology_actor_t *feeder = &topology->actors[topology->chains[chain].end];
    tnd_mark_t mark = tnd_topology_option_mark(feeder, "best");
    text[0] = '\0';
    if (mark.origin != NULL && mark.line > 0)
        snprintf(text, room, "%s:%" PRIu32 ":%" PRIu32 ": ", mark.origin->name, mark.line,
                 mark.column);
    else if (mark.origin != NULL)
        snprintf(text, room, "%s: ", mark.origin->name);
}

static void note_without_metric(tnd_leader_t *self, const tnd_validated_t *validated)
{
    char place[256], names[TND_METRICS_MAX * (TND_METRIC_NAME + 2)] = "nothing";
    const tnd_chain_plan_t *chain = &self->plan->chains[validated->chain];
    print_place(self->plan->topology, validated->chain, place, sizeof place);
    for (size_t m = 0, used = 0; m < validated->sums.count; m++)
        used += (size_t)snprintf(names + used, sizeof names - used, "%s%s", m > 0 ? ", " : "",
                                 validated->sums.of[m].name);
    (void)tnd_fail(
        &self->unmeasured,
        "%s`best` of %.64s is of the metric `%.64s`, but the validation after step %" PRIu64
        " reports %.320s",
        place, chain->feeder, chain->best->metric, validated->steps - 1, names);
    tnd_best_lack(&self->best, validated->steps);
}

bool tnd_leader_check_measured(tnd_leader_t *self)
{
    if (self->best.lacked == 0 ||
        !tnd_best_fails(&self->best, tnd_checkpoint_writer_last(self->writer),
                        tnd_checkpoint_writer_busy(self->writer)))
        return true;
    tnd_leader_end(self, TND_OUTCOME_FAILED, self->unmeasured.text);
    return false;
}

/*  What the user is told of a value. */
static void tell_value(tnd_leader_t *self, const tnd_validated_t *validated, bool better)
{
    const tnd_chain_plan_t *chain = &self->plan->chains[validated->chain];
    const tnd_best_t *best = &self->best;
    if (better)
        tnd_leader_inform(self, "%s: %s %g after step %" PRIu64 " is the best value", chain->feeder,
                          chain->best->metric, best->value, validated->steps - 1);
    if (!tnd_best_ends(best))
        return;
    char text[320], found[120] = "no validation has had a value";
    if (best->step > 0)
        snprintf(found, sizeof found, "the best value, %g, is that after step %" PRIu64,
                 best->value, best->step - 1);
    snprintf(text, sizeof text,
             "%" PRIu64 " validations had no better %s, so the run ends after step %" PRIu64
             " (`patience`); %s",
             best->without, chain->best->metric, validated->steps - 1, found);
    tnd_leader_log(self, TND_LOG_INFO, self->plan->hosts[0].name, chain->feeder, text);
}

/*  The list of validations has this one. */
static void judge(tnd_leader_t *self, const tnd_validated_t *validated)
{
    double value;
    const tnd_best_options_t *wanted = self->plan->chains[validated->chain].best;
    if (wanted == NULL || validated->chain != self->best_chain || validated->steps == 0)
        return;
    if (self->best.lacked > 0)
        return;
    if (!tnd_validated_value(validated, wanted->metric, &value)) {
        note_without_metric(self, validated);
        return;
    }
    tell_value(self, validated, tnd_best_add(&self->best, validated->steps, value));
    tnd_checkpoint_writer_validated(self->writer, validated->steps, self->best.step);
}

void tnd_leader_report_best(tnd_leader_t *self)
{
    const tnd_observer_t *observer = self->config.observer;
    if (self->best_chain == 0 || observer == NULL || observer->best == NULL)
        return;
    bool kept = self->best.step > 0 && tnd_checkpoint_writer_best(self->writer) == self->best.step;
    observer->best(observer->context, self->best_chain, &self->best, kept);
}

/* --- one after the other ----------------------------------------------------------------------- */

/*  The running chain was fed whole. */
static void keep_result(tnd_leader_t *self)
{
    const tnd_observer_t *observer = self->config.observer;
    chain_t *chain = &self->chains[self->chain];
    tnd_validated_t validated = {.chain = self->chain,
                                 .epoch = self->chains[0].sums.latest.epoch,
                                 .steps = tnd_leader_core_cursor(self->chains[0].session)->step,
                                 .sums = chain->sums.latest};
    chain->validation.made = validated.steps;
    if (!tnd_chain_repeats(&self->plan->chains[self->chain]))
        return;
    tnd_validations_add(&self->validations, &validated);
    if (observer != NULL && observer->validated != NULL)
        observer->validated(observer->context, &validated);
    judge(self, &validated);
}

/*  The chain that is due; 0: none. */
static uint32_t find_due(const tnd_leader_t *self, bool over)
{
    tnd_validation_place_t place = place_of(self, over);
    for (uint32_t c = 1; c < self->plan->chain_count; c++)
        if (tnd_run_touches_goes_on(&self->run.touches) &&
            tnd_validation_is_due(&self->chains[c].validation, &place))
            return c;
    return 0;
}

/*  `rests`: the first one does meanwhile. */
static void begin_chain(tnd_leader_t *self, uint32_t index, bool rests, uint64_t now)
{
    self->chain = index;
    tnd_leader_open_session(self, index, now);
    tnd_leader_begin_chain(self, rests, now);
}

static void return_to_first(tnd_leader_t *self)
{
    self->chain = 0;
    self->chains[0].shown = TND_LEADER_CORE_READY; /* so that it is shown again */
    tnd_run_return(&self->run);
    if (tnd_best_ends(&self->best))
        tnd_leader_core_end_here(self->chains[0].session);
    set_rest(self);
}

void tnd_leader_check_rest(tnd_leader_t *self, uint64_t now)
{
    uint32_t epoch;
    if (!tnd_leader_core_rests(self->chains[0].session, &epoch))
        return;
    uint32_t due = find_due(self, false);
    if (due > 0)
        begin_chain(self, due, true, now);
    else
        set_rest(self);
}

/*  Tells the observer that the running chain has ended. */
static void report_end(const tnd_leader_t *self, chain_t *chain, const tnd_cursor_t *end)
{
    const tnd_observer_t *observer = self->config.observer;
    tnd_cursor_t cursor = *end;
    if (self->chain > 0)
        cursor.step -= chain->first;
    tnd_leader_count_last_reasons(chain, end);
    tnd_leader_report_reasons(self, chain);
    if (observer != NULL && observer->end != NULL)
        observer->end(observer->context, self->chain, &cursor);
}

void tnd_leader_close_chain(tnd_leader_t *self, uint64_t now)
{
    chain_t *chain = &self->chains[self->chain];
    const tnd_cursor_t *end = tnd_leader_core_cursor(chain->session);
    bool rests = self->run.resting != NULL;
    report_end(self, chain, end);
    if (self->output.over != NULL)
        self->output.over(self->output.context, self->chain);
    if (tnd_leader_fail_without_steps(self, chain, end))
        return;
    if (self->chain > 0 && chain->over && !self->run.touches.drains)
        keep_result(self);
    if (rests)
        restart_due(self);
    uint32_t due = find_due(self, !rests);
    if (due > 0)
        begin_chain(self, due, rests, now);
    else if (rests)
        return_to_first(self);
    else if (tnd_leader_check_measured(self))
        tnd_leader_end(self, self->run.touches.drains ? TND_OUTCOME_DRAINED : TND_OUTCOME_DONE, "");
}
