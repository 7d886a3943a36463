/*  tests/sim/checkpoints.c - checkpoints: what the leader does for its machine, and a disk that fails.
 *
 *  The disk outlives the job.  A part is there whole or not at all, for it takes its place by a
 *  rename; but what was written last may be damaged when the whole job is killed, and a manifest
 *  that is being written then is torn or missing. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "tests/sim/cluster.h"

static const uint64_t us = 1000;

/*  The report of a feeder about the models after one step; travels with COMMIT. */
struct sim_saved_report {
    uint64_t step;
    uint32_t first, count;
    bool kept[SIM_REPLICAS];
    tnd_saved_t parts[SIM_REPLICAS];
};

static tnd_saved_t saved_of(uint64_t model)
{
    return (tnd_saved_t){.bytes = 8, .hash = {model, sim_mix(model)}};
}

static sim_folder_t *find(sim_t *self, uint64_t step)
{
    for (uint32_t i = 0; i < self->folder_count; i++)
        if (self->folders[i].step == step)
            return &self->folders[i];
    return NULL;
}

static sim_folder_t *make_folder(sim_t *self, uint64_t step)
{
    sim_folder_t *folder = find(self, step);
    if (folder != NULL)
        return folder;
    if (self->folder_count == SIM_FOLDERS) {
        sim_violate(self, "%u checkpoints lie on the disk, of which %" PRIu64 " are to be kept",
                    SIM_FOLDERS, self->plan.keep);
        return NULL;
    }
    folder = &self->folders[self->folder_count++];
    *folder = (sim_folder_t){.step = step};
    return folder;
}

static void remove_folder(sim_t *self, sim_folder_t *folder)
{
    *folder = self->folders[--self->folder_count];
}

/*  As a reader of the disk sees it. */
static bool is_whole(const sim_t *self, const sim_folder_t *folder)
{
    if (!folder->manifest || folder->torn)
        return false;
    for (uint32_t r = 0; r < self->plan.replicas; r++)
        if (!folder->there[r] ||
            memcmp(&folder->parts[r], &folder->saved[r], sizeof(tnd_saved_t)) != 0)
            return false;
    return true;
}

static void refuse(sim_t *self, uint64_t step)
{
    self->unwritten = step > self->unwritten ? step : self->unwritten;
}

/* --- feeders -----------------------------------------------------------------------------------
 */

void *sim_checkpoint_part(sim_t *self, uint32_t feeder, uint64_t step)
{
    const sim_plan_t *plan = &self->plan;
    uint32_t number = feeder - plan->first_feeder;
    sim_saved_report_t *words = sim_store_take(&self->store, sizeof *words);
    *words = (sim_saved_report_t){
        .step = step, .first = plan->feeder_first[number], .count = plan->feeder_replicas[number]};
    sim_folder_t *folder = make_folder(self, step);
    for (uint32_t i = 0; i < words->count && folder != NULL; i++) {
        uint32_t replica = words->first + i;
        words->kept[i] = !sim_chance(&self->disk_luck, 2);
        words->parts[i] = saved_of(self->actors[feeder].model[i]);
        if (!words->kept[i]) {
            refuse(self, step); /* a file that was there before stays */
            continue;
        }
        folder->there[replica] = true;
        folder->saved[replica] = words->parts[i];
        folder->models[replica] = self->actors[feeder].model[i];
    }
    return words;
}

/* --- the leader --------------------------------------------------------------------------------
 */

static void tell_keep(sim_t *self)
{
    for (uint32_t f = 0; f < self->plan.feeders; f++) {
        tnd_msg_t msg = {.kind = TND_MSG_KEEP, .from = TND_LEADER};
        msg.to = self->plan.first_feeder + f;
        msg.keep = tnd_checkpoint_word(self->checkpoint);
        sim_route(self, 0, &msg);
    }
}

/*  A write takes effect some time later, unless the job is killed before. */
static void write_later(sim_t *self, const tnd_checkpoint_effect_t *effect)
{
    sim_folder_t *folder = make_folder(self, effect->step);
    if (folder == NULL)
        return;
    for (uint32_t r = 0; r < self->plan.replicas; r++)
        if (!folder->there[r] ||
            memcmp(&effect->parts[r], &folder->saved[r], sizeof(tnd_saved_t)) != 0)
            sim_violate(self,
                        "a manifest after step %" PRIu64
                        " is requested, but replica %u has not kept that model",
                        effect->step, r);
    memcpy(folder->parts, effect->parts, self->plan.replicas * sizeof *effect->parts);
    folder->cursor_bytes = tnd_cursor_encode(tnd_leader_core_cursor(self->run.session),
                                             folder->cursor, sizeof folder->cursor);
    folder->writing = true;
    folder->best = self->best;
    folder->made = self->validation.made;
    folder->validated = false;
    uint64_t slow = sim_chance(&self->disk_luck, 10) ? 20 : 1;
    sim_after(self, sim_between(&self->disk_luck, 20, 8000) * slow * us, SIM_AT_WRITTEN,
              (uint32_t)effect->step, 0, 0);
    /* The whole job is killed about then. */
    if (self->plan.death && sim_chance(&self->disk_luck, 15))
        sim_fault_after(self, sim_between(&self->disk_luck, 1, 8000) * us, SIM_CRASH_LEADER);
}

/*  The best checkpoint stays whatever its age. */
static void check_best(sim_t *self)
{
    const sim_folder_t *folder = find(self, self->best_kept);
    if (self->best_kept > 0 && (folder == NULL || !folder->manifest))
        sim_violate(self, "the best checkpoint, after step %" PRIu64 ", is gone", self->best_kept);
}

static void forget(sim_t *self, uint64_t below, uint64_t best)
{
    bool left = false;
    for (uint32_t i = self->folder_count; i > 0; i--) {
        sim_folder_t *folder = &self->folders[i - 1];
        left = left || (folder->step >= below && is_whole(self, folder));
        if (folder->step < below && folder->step != best)
            remove_folder(self, folder);
    }
    check_best(self);
    if (!left)
        sim_violate(self, "all checkpoints below step %" PRIu64 " were given up, and none is left",
                    below);
}

/*  A manifest need not be written, if as many later ones as are kept wait; perhaps it is being written. */
static void give_up(sim_t *self, uint64_t step)
{
    sim_folder_t *folder = find(self, step);
    uint64_t later = 0;
    for (uint32_t i = 0; i < self->folder_count; i++)
        later +=
            self->folders[i].step > step && (self->folders[i].writing || self->folders[i].manifest);
    if (later < self->plan.keep || step == self->best.step)
        sim_violate(
            self, "the checkpoint after step %" PRIu64 "%s is given up for %" PRIu64 " later ones",
            step, step == self->best.step ? ", the best one," : "", later);
    if (folder == NULL || !folder->writing || sim_chance(&self->disk_luck, 50))
        return;
    self->counts.given_up++;
    remove_folder(self, folder);
}

static void perform(sim_t *self)
{
    tnd_checkpoint_effect_t effect;
    while (tnd_checkpoint_next(self->checkpoint, &effect))
        switch (effect.kind) {
        case TND_CHECKPOINT_WRITE:
            write_later(self, &effect);
            break;
        case TND_CHECKPOINT_GIVE_UP:
            give_up(self, effect.step);
            break;
        case TND_CHECKPOINT_LACKS:
            /* A checkpoint that came too late is requested again. */
            if (effect.why[0] == '\0' && self->plan.keep_steps > 0)
                sim_violate(self,
                            "%u of %u models were saved after step %" PRIu64
                            ", and no reason was reported",
                            effect.have, self->plan.replicas, effect.step);
            break;
        case TND_CHECKPOINT_FORGET:
            forget(self, effect.step, effect.best);
            break;
        case TND_CHECKPOINT_KEEP:
            tell_keep(self);
            break;
        }
}

void sim_checkpoint_begin(sim_t *self)
{
    const sim_plan_t *plan = &self->plan;
    self->checkpoint = NULL;
    if (plan->keep == 0 || self->chain > 0)
        return;
    tnd_checkpoint_config_t config = {.replicas = plan->replicas,
                                      .every_steps = plan->keep_steps,
                                      .every_ns = plan->keep_ns,
                                      .rest_steps = plan->best ? plan->validation.steps : 0,
                                      .rest_epochs = plan->best ? plan->validation.epochs : 0,
                                      .keep = plan->keep,
                                      .depth = plan->depth,
                                      .ahead = plan->unbooked_most + 1,
                                      .from = self->from.step};
    self->checkpoint =
        tnd_checkpoint_init(sim_store_take(&self->store, tnd_checkpoint_bytes(&config)), &config);
    tnd_checkpoint_pin(self->checkpoint, self->best.step);
    /* In ascending order: later ones are given up. */
    for (uint32_t i = self->folder_count; i > 0; i--)
        if (self->folders[i - 1].step > self->from.step)
            remove_folder(self, &self->folders[i - 1]);
    for (uint64_t last = 0;;) {
        uint64_t next = TND_UNKNOWN;
        for (uint32_t i = 0; i < self->folder_count; i++)
            if (self->folders[i].step > last && self->folders[i].step < next &&
                self->folders[i].manifest && !self->folders[i].torn)
                next = self->folders[i].step;
        if (next == TND_UNKNOWN)
            break;
        tnd_checkpoint_found(self->checkpoint, next);
        last = next;
    }
    tnd_checkpoint_effect_t effect;
    while (tnd_checkpoint_next(self->checkpoint, &effect))
        continue;
}

void sim_checkpoint_generation(sim_t *self)
{
    if (self->checkpoint != NULL)
        tell_keep(self);
}

void sim_checkpoint_report(sim_t *self, const void *said)
{
    const sim_saved_report_t *words = said;
    for (uint32_t i = 0; i < words->count; i++)
        if (words->kept[i])
            tnd_checkpoint_part(self->checkpoint, words->step, words->first + i, &words->parts[i]);
        else
            tnd_checkpoint_unkept(self->checkpoint, words->step, words->first + i, "no room");
}

void sim_checkpoint_end(sim_t *self)
{
    tnd_checkpoint_end(self->checkpoint, tnd_leader_core_cursor(self->run.session)->step);
    perform(self);
}

bool sim_checkpoint_busy(const sim_t *self)
{
    for (uint32_t i = 0; i < self->folder_count; i++)
        if (self->folders[i].writing)
            return true;
    return false;
}

void sim_checkpoint_check(sim_t *self)
{
    uint64_t last = tnd_leader_core_cursor(self->run.session)->step;
    const sim_folder_t *folder = find(self, last);
    bool whole = folder != NULL && is_whole(self, folder);
    self->counts.ends += whole;
    tnd_keep_note_t word = tnd_checkpoint_word(self->checkpoint);
    if (word.closed > 0 && (word.closed != last || (!whole && word.written == last)))
        sim_violate(
            self, "a program that leaves after step %" PRIu64 " waits for its checkpoint for ever",
            last);
    if (last > 0 && !whole && self->unwritten != last)
        sim_violate(self, "the run ended after step %" PRIu64 " without a checkpoint of it", last);
}

void sim_checkpoint_booked(sim_t *self, uint64_t step)
{
    if (self->checkpoint == NULL)
        return;
    tnd_checkpoint_booked(self->checkpoint, step, sim_clock(self, 0));
    perform(self);
}

void sim_checkpoint_written(sim_t *self, uint64_t step)
{
    sim_folder_t *folder = find(self, step);
    if (folder == NULL || !folder->writing)
        return;
    folder->writing = false;
    if (self->write_fails || sim_chance(&self->disk_luck, 4)) {
        self->write_fails = false;
        refuse(self, step);
        sim_say(self, "the manifest after step %" PRIu64 " cannot be written", step);
        tnd_checkpoint_failed(self->checkpoint, step);
        perform(self);
        return;
    }
    folder->manifest = true;
    if (self->best.step == step)
        self->best_kept = step;
    self->counts.checkpoints++;
    sim_say(self, "a checkpoint after step %" PRIu64, step);
    tnd_checkpoint_written(self->checkpoint, step);
    perform(self);
}

/*  Whether every feeder could save its models after `step` when it did: that programs end an epoch is known too
 *  late. */
static bool is_saved_for_sure(const sim_t *self, uint64_t step)
{
    const tnd_validation_t *every = &self->plan.validation;
    return (every->steps > 0 || (every->epochs > 0 && !self->plan.rewinds)) &&
           self->unwritten != step;
}

void sim_checkpoint_validated(sim_t *self, uint64_t step)
{
    sim_folder_t *folder = find(self, step);
    bool there = folder != NULL && (folder->manifest || folder->writing);
    if (!there && is_saved_for_sure(self, step))
        sim_violate(self, "step %" PRIu64 " is validated, and its models are not saved", step);
    if (there && !folder->validated) {
        folder->best_before = folder->best;
        folder->made_before = folder->made;
        folder->validated = true;
    }
    if (there) {
        folder->best = self->best;
        folder->made = step;
    }
    tnd_checkpoint_pin(self->checkpoint, self->best.step);
    if (there && folder->manifest && self->best.step == step)
        self->best_kept = step;
    perform(self);
    check_best(self);
}

/* --- between two jobs --------------------------------------------------------------------------
 */

void sim_checkpoint_killed(sim_t *self, bool at_once)
{
    sim_folder_t *newest = NULL;
    for (uint32_t i = 0; i < self->folder_count; i++) {
        sim_folder_t *folder = &self->folders[i];
        if (folder->writing) {
            /* A leader that ends in order waits for its writes. */
            folder->manifest = !at_once || sim_chance(&self->disk_luck, 50);
            folder->torn = at_once && folder->manifest && sim_chance(&self->disk_luck, 70);
            folder->writing = false;
        }
        if (folder->manifest && (newest == NULL || folder->step > newest->step))
            newest = folder;
    }
    /* The last validation was not added yet. */
    if (newest != NULL && at_once && newest->validated && sim_chance(&self->disk_luck, 50)) {
        newest->best = newest->best_before;
        newest->made = newest->made_before;
        newest->validated = false;
    }
    if (newest != NULL && at_once && sim_chance(&self->disk_luck, 25)) {
        uint32_t replica = sim_below(&self->disk_luck, self->plan.replicas);
        if (sim_chance(&self->disk_luck, 50))
            newest->there[replica] = false;
        else
            newest->saved[replica].hash[0] ^= 1;
        sim_say(self, "the disk loses replica %u after step %" PRIu64, replica, newest->step);
    }
}

void sim_checkpoint_resume(sim_t *self)
{
    const sim_folder_t *newest = NULL;
    for (uint32_t i = 0; i < self->folder_count; i++)
        if (is_whole(self, &self->folders[i]) &&
            (newest == NULL || self->folders[i].step > newest->step))
            newest = &self->folders[i];
    memset(self->models, 0, sizeof self->models);
    tnd_cursor_start(&self->from, self->plan.lanes);
    self->best = newest != NULL ? newest->best : self->plan.judge;
    self->validation.made = newest != NULL ? newest->made : TND_UNKNOWN;
    const sim_folder_t *best = find(self, self->best.step);
    self->best_kept = best != NULL && is_whole(self, best) ? best->step : 0;
    if (newest == NULL) {
        self->folder_count = 0;
        sim_say(self, "no checkpoint to resume from");
        return;
    }
    tnd_error_t error;
    if (tnd_cursor_decode(&self->from, newest->cursor, newest->cursor_bytes, &error) != TND_OK)
        sim_violate(self, "the cursor of a checkpoint cannot be read: %s", error.text);
    if (self->from.step != newest->step)
        sim_violate(self, "the checkpoint after step %" PRIu64 " has the cursor of step %" PRIu64,
                    newest->step, self->from.step);
    memcpy(self->models, newest->models, sizeof self->models);
    for (uint32_t r = 0; r < self->plan.replicas; r++)
        if (self->models[r] != sim_reference_model(&self->reference, newest->step, r))
            sim_violate(self,
                        "the saved model of replica %u after step %" PRIu64
                        " is not the model of that step",
                        r, newest->step);
    self->counts.resumes++;
    sim_say(self, "resumes after step %" PRIu64, newest->step);
}
