/*  runtime/core/feeder.c - a feeder's decisions: slots, whole steps, commits.  */
#include "runtime/core/feeder_internal.h"

#include <assert.h>
#include <string.h>

#include "runtime/base/bounds.h"
#include "runtime/base/bug_injection.h"

/*  Steps that are started ahead of the last committed one; a pause or drain waits for all of them. */
static const uint64_t ahead_ns = 20 * 1000 * 1000;

enum { AHEAD_LEAST = 2 };

static uint32_t ring_of(const tnd_feeder_core_config_t *config)
{
    return config->depth + 1;
}

static uint32_t handed_of(const tnd_feeder_core_config_t *config)
{
    return ring_of(config) * config->replicas * config->join_count + 1;
}

static uint32_t slot_of(const tnd_feeder_core_t *self, uint64_t step)
{
    return (uint32_t)(step % self->config.depth);
}

static commit_t *commit_at(const tnd_feeder_core_t *self, uint64_t step)
{
    return &self->commits[step % (2 * (uint64_t)self->config.unbooked_max)];
}

/*  Whether the number of slots is to change. */
static bool changes(const tnd_feeder_core_t *self)
{
    return self->wanted != self->config.depth;
}

static uint64_t window_of(const tnd_feeder_core_t *self)
{
    uint64_t until = changes(self) ? self->frontier : self->committed + self->config.depth;
    if (TND_BUG(SLOT_GIVEN_TWICE))
        until++;
    return until;
}

/*  A join is told about so many more slots at a time, except about the last ones before a change. */
static uint64_t window_quantum(const tnd_feeder_core_t *self)
{
    return self->config.depth >= 8 && !changes(self) ? self->config.depth / 4 : 1;
}

/*  Whether a join must be told the window.  Until the window that it knows is committed, so many
 *  more slots have become free. */
static bool is_window_due(const tnd_feeder_core_t *self, const join_t *join, uint64_t until)
{
    return join->up && join->said != until &&
           (join->said == 0 || until >= join->said + window_quantum(self));
}

/*  Whether a join asks before it waits for a slot.  It must know a window at least as far ahead as
 *  it may go without asking, because a lane without rows may lag that much. */
static bool is_quiet(const tnd_feeder_core_t *self, const join_t *join)
{
    return self->config.join_count > 1 && self->committed >= join->quiet &&
           join->said >= join->quiet;
}

static void hand(tnd_feeder_core_t *self, const tnd_slice_note_t *note, bool place)
{
    assert(self->handed_count < self->handed_room);
    uint32_t at = (self->handed_first + self->handed_count++) % self->handed_room;
    self->handed[at] = (handed_t){.note = *note, .place = place};
}

static join_t *find_join(tnd_feeder_core_t *self, tnd_actor_id_t id)
{
    for (uint32_t i = 0; i < self->config.join_count; i++)
        if (self->joins[i].id == id)
            return &self->joins[i];
    return NULL;
}

/*  A join sends rows of that step, or waits to.  Counts in the same way as batcher.c. */
static void uses_window(tnd_feeder_core_t *self, tnd_actor_id_t id, uint64_t step)
{
    join_t *join = find_join(self, id);
    uint64_t quiet = tnd_least(step, TND_UNKNOWN / 2) + TND_WINDOW_QUIET;
    if (join == NULL || join->quiet >= quiet)
        return;
    join->quiet = quiet;
    self->window = join->said < self->window ? 0 : self->window;
}

/*  Handles a rewind that the leader or a slice announced. */
static void begin_generation(tnd_feeder_core_t *self, uint32_t generation)
{
    self->generation = generation;
    for (uint32_t i = 0; i < self->handed_count; i++) {
        handed_t *handed = &self->handed[(self->handed_first + i) % self->handed_room];
        if (tnd_feeder_core_step_at(self, handed->note.step)->state == STEP_PARTIAL)
            handed->place = false;
    }
    for (uint64_t step = self->started; step < self->started + self->ring; step++)
        if (tnd_feeder_core_step_at(self, step)->state == STEP_PARTIAL)
            tnd_feeder_core_clear(self, tnd_feeder_core_step_at(self, step)->note.step);
    for (uint32_t i = 0; i < self->config.join_count; i++) {
        self->joins[i].said = 0;
        uses_window(self, self->joins[i].id, self->committed);
    }
    self->window = 0;
    self->held_due = true;
    self->said_commit = self->booked;
}

static tnd_status_t check_frame(const tnd_feeder_core_t *self, const tnd_msg_t *msg,
                                tnd_error_t *error)
{
    const tnd_slice_note_t *slice = &msg->slice;
    const tnd_feeder_core_config_t *config = &self->config;
    const unsigned long long step = slice->step;

    if (slice->replica < config->first_replica ||
        slice->replica - config->first_replica >= config->replicas)
        return tnd_fail(error,
                        "rows of replica %u, step %llu, came to a feeder of replicas %u to %u: "
                        "compare the placements of both hosts",
                        slice->replica, step, config->first_replica,
                        config->first_replica + config->replicas - 1);
    if (slice->cuts > self->cuts)
        return tnd_fail(error,
                        "rows of step %llu came after a rewind for which no program here asked, "
                        "and before all steps until then are done",
                        step);
    if (slice->step >= window_of(self))
        return tnd_fail(
            error,
            "received rows of step %llu, but slots exist for steps below %llu only: the "
            "batcher exceeded its credit",
            step, (unsigned long long)window_of(self));
    if ((uint64_t)slice->offset + slice->rows > slice->total || slice->total > slice->step_rows ||
        (slice->rows == 0) != (slice->total == 0))
        return tnd_fail(error,
                        "rows %u + %u of %u (%u in the whole step) came for replica %u, step %llu: "
                        "they do not fit",
                        slice->offset, slice->rows, slice->total, slice->step_rows, slice->replica,
                        step);
    return TND_OK;
}

/*  Compares a slice with earlier slices of the step. */
static tnd_status_t check_step(const tnd_feeder_core_t *self, const tnd_msg_t *msg,
                               tnd_error_t *error)
{
    const tnd_slice_note_t *slice = &msg->slice;
    const step_t *step = tnd_feeder_core_step_at(self, slice->step);
    const share_t *share =
        &tnd_feeder_core_shares_at(self, slice->step)[slice->replica - self->config.first_replica];
    if (step->state == STEP_EMPTY)
        return TND_OK;
    if (step->note.epoch != slice->epoch || step->note.step_rows != slice->step_rows ||
        step->note.step_of_epoch != slice->step_of_epoch ||
        step->note.last_of_epoch != slice->last_of_epoch ||
        step->note.last_of_run != slice->last_of_run)
        return tnd_fail(error,
                        "a slice says that step %llu is step %llu of epoch %u with %u rows, one of "
                        "another lane says step %llu of epoch %u with %u rows",
                        (unsigned long long)slice->step, (unsigned long long)slice->step_of_epoch,
                        slice->epoch, slice->step_rows,
                        (unsigned long long)step->note.step_of_epoch, step->note.epoch,
                        step->note.step_rows);
    if (share->seen && (share->total != slice->total || share->padded != slice->padded ||
                        share->total - share->rows < slice->rows || slice->rows == 0))
        return tnd_fail(error,
                        "%u of %u rows came for replica %u, step %llu, which has %u of %u already",
                        slice->rows, slice->total, slice->replica, (unsigned long long)slice->step,
                        share->rows, share->total);
    const piece_t *pieces = tnd_feeder_core_pieces_of(self, share);
    for (uint32_t i = 0; i < share->pieces; i++)
        if (slice->offset < pieces[i].first + pieces[i].rows &&
            pieces[i].first < slice->offset + slice->rows)
            return tnd_fail(error,
                            "rows %u + %u came for replica %u, step %llu, which has rows %u + %u "
                            "already: two lanes sent the same rows",
                            slice->offset, slice->rows, slice->replica,
                            (unsigned long long)slice->step, pieces[i].first, pieces[i].rows);
    if (share->pieces == self->config.join_count)
        return tnd_fail(error, "replica %u got more slices for step %llu than there are lanes",
                        slice->replica, (unsigned long long)slice->step);
    return TND_OK;
}

size_t tnd_feeder_core_bytes(const tnd_feeder_core_config_t *config)
{
    size_t ring = ring_of(config);
    return tnd_align(sizeof(tnd_feeder_core_t)) + tnd_align(ring * sizeof(step_t)) +
           tnd_align(ring * config->replicas * sizeof(share_t)) +
           tnd_align(ring * config->replicas * config->join_count * sizeof(piece_t)) +
           tnd_align(config->join_count * sizeof(join_t)) +
           tnd_align(2 * (size_t)config->unbooked_max * sizeof(commit_t)) +
           tnd_align(handed_of(config) * sizeof(handed_t));
}

tnd_feeder_core_t *tnd_feeder_core_init(void *memory, const tnd_feeder_core_config_t *config)
{
    assert(config->depth > 0 && config->replicas > 0 && config->unbooked_max > 0);
    tnd_feeder_core_t *self = memory;
    char *at = (char *)memory + tnd_align(sizeof *self);
    self->config = *config;
    self->end = self->limit = self->cut = TND_UNKNOWN;
    self->limit_epoch = TND_ENDLESS;
    self->ring = ring_of(config);
    self->wanted = self->ahead_most = config->depth;
    self->ahead = AHEAD_LEAST;
    self->handed_room = handed_of(config);
    self->steps = (step_t *)at;
    at += tnd_align(self->ring * sizeof *self->steps);
    self->shares = (share_t *)at;
    at += tnd_align((size_t)self->ring * config->replicas * sizeof *self->shares);
    self->pieces = (piece_t *)at;
    at += tnd_align((size_t)self->ring * config->replicas * config->join_count * sizeof(piece_t));
    self->joins = (join_t *)at;
    at += tnd_align(config->join_count * sizeof *self->joins);
    self->commits = (commit_t *)at;
    at += tnd_align(2 * (size_t)config->unbooked_max * sizeof *self->commits);
    self->handed = (handed_t *)at;
    for (uint32_t i = 0; i < config->join_count; i++)
        self->joins[i].id = config->joins[i];
    return self;
}

/*  Whether the stream may begin again: nothing of it is left here. */
static bool is_through(const tnd_feeder_core_t *self)
{
    return self->held == self->committed && self->cut == TND_UNKNOWN;
}

static void begin_again(tnd_feeder_core_t *self, uint32_t cuts)
{
    self->cuts = cuts;
    self->again = self->generation;
    self->end = self->limit = TND_UNKNOWN;
    self->limit_epoch = TND_ENDLESS;
    self->halting = self->halt_due = false;
}

void tnd_feeder_core_rewind_to(tnd_feeder_core_t *self, uint32_t generation, uint64_t step,
                               uint32_t cuts, uint32_t before)
{
    if (self->begun && generation < self->generation)
        return;
    if (self->begun && generation == self->generation) {
        /* A batcher announced it first, perhaps while the leader could not be reached. */
        self->held_due = true;
        self->said_commit = self->booked;
        if (cuts > self->cuts)
            begin_again(self, cuts);
        return;
    }
    begin_generation(self, generation);
    if (self->begun) {
        assert(step <= self->held || cuts < self->cuts);
        if (cuts > self->cuts)
            begin_again(self, cuts);
        return;
    }
    if (before > 0 && self->end_told <= before)
        begin_again(self, cuts); /* it was told the end of the stream before */
    self->begun = true;
    self->cuts = cuts;
    self->committed = self->started = self->held = self->freed = self->paced = step;
    for (uint32_t i = 0; i < self->config.join_count; i++)
        uses_window(self, self->joins[i].id, step);
    self->booked = self->said_commit = self->dropped = step;
}

void tnd_feeder_core_asked(tnd_feeder_core_t *self, const tnd_msg_t *msg)
{
    if (self->begun && msg->generation < self->generation)
        return;
    if (self->begun && msg->generation > self->generation)
        begin_generation(self, msg->generation);
    uses_window(self, msg->from, msg->until.step);
}

tnd_status_t tnd_feeder_core_slice(tnd_feeder_core_t *self, const tnd_msg_t *msg,
                                   tnd_error_t *error)
{
    const tnd_slice_note_t *slice = &msg->slice;
    bool stale = msg->generation < self->generation && !TND_BUG(STALE_GENERATION);
    if (stale || !self->begun) {
        if (!stale)
            uses_window(self, msg->from, slice->step);
        hand(self, slice, false);
        return TND_OK;
    }
    if (msg->generation > self->generation)
        begin_generation(self, msg->generation);
    if (slice->cuts > self->cuts && is_through(self))
        begin_again(self, slice->cuts);
    if (slice->cuts < self->cuts) { /* of the rest of an epoch that is over */
        uses_window(self, msg->from, slice->step);
        hand(self, slice, false);
        return TND_OK;
    }
    tnd_status_t status = check_frame(self, msg, error);
    uses_window(self, msg->from, slice->step);
    bool wanted = status == TND_OK && slice->step >= self->started && slice->step < self->end;
    if (wanted && tnd_feeder_core_step_at(self, slice->step)->state >= STEP_HELD)
        wanted = false;
    if (wanted)
        status = check_step(self, msg, error);
    hand(self, slice, wanted && status == TND_OK);
    if (!wanted || status != TND_OK)
        return status;

    step_t *step = tnd_feeder_core_step_at(self, slice->step);
    share_t *share =
        &tnd_feeder_core_shares_at(self, slice->step)[slice->replica - self->config.first_replica];
    if (step->state == STEP_EMPTY) {
        step->state = STEP_PARTIAL;
        step->note = *slice;
        step->note.payload = NULL;
    }
    share->seen = true;
    share->total = slice->total;
    share->padded = slice->padded;
    share->rows += slice->rows;
    tnd_feeder_core_pieces_of(self, share)[share->pieces++] = (piece_t){slice->offset, slice->rows};
    if (share->rows == share->total && ++step->whole == self->config.replicas) {
        step->state = STEP_HELD;
        while (self->held < self->started + self->ring &&
               tnd_feeder_core_step_at(self, self->held)->state == STEP_HELD) {
            self->held++;
            self->held_due = true;
        }
    }
    return TND_OK;
}

void tnd_feeder_core_join_up(tnd_feeder_core_t *self, tnd_actor_id_t id)
{
    join_t *join = find_join(self, id);
    assert(join != NULL);
    join->up = true;
    join->said = self->window = 0;
    uses_window(self, id, self->committed);
}

void tnd_feeder_core_join_lost(tnd_feeder_core_t *self, tnd_actor_id_t id)
{
    join_t *join = find_join(self, id);
    assert(join != NULL);
    join->up = false;
}

void tnd_feeder_core_done(tnd_feeder_core_t *self, uint64_t step, const uint64_t digest[2],
                          uint32_t rows, void *payload)
{
    assert(step == self->committed && step < self->started);
    *commit_at(self, step) =
        (commit_t){.digest = {digest[0], digest[1]},
                   .rows = rows,
                   .cut = step + 1 == self->cut,
                   .last = tnd_feeder_core_step_at(self, step)->note.last_of_run,
                   .payload = payload};
    tnd_feeder_core_clear(self, step);
    self->committed++;
    tnd_feeder_core_finish_cut(self);
}

void tnd_feeder_core_booked(tnd_feeder_core_t *self, uint64_t below)
{
    below = tnd_least(below, self->committed);
    if (below <= self->booked)
        return;
    self->booked = below;
    if (self->said_commit < below)
        self->said_commit = below;
}

void tnd_feeder_core_end(tnd_feeder_core_t *self, uint64_t step)
{
    self->end = tnd_least(self->end, step > self->started ? step : self->started);
}

void tnd_feeder_core_halt(tnd_feeder_core_t *self, uint32_t number)
{
    self->halting = self->halt_due = true;
    self->halt_number = number;
}

void tnd_feeder_core_limit(tnd_feeder_core_t *self, uint64_t step, uint32_t epoch)
{
    self->halting = false;
    self->limit = step;
    self->limit_epoch = epoch;
}

void tnd_feeder_core_depth(tnd_feeder_core_t *self, uint32_t depth)
{
    assert(depth > 0);
    if (!changes(self))
        self->frontier = self->committed + self->config.depth;
    self->wanted = depth;
    self->window = 0;
}

tnd_feeder_core_t *tnd_feeder_core_resized(const tnd_feeder_core_t *before, void *memory,
                                           const tnd_feeder_core_config_t *config)
{
    assert(config->replicas == before->config.replicas &&
           config->join_count == before->config.join_count &&
           config->unbooked_max == before->config.unbooked_max && before->handed_count == 0);
    tnd_feeder_core_t *self = tnd_feeder_core_init(memory, config);
    tnd_feeder_core_t empty = *self;
    *self = *before;
    self->config = *config;
    self->wanted = config->depth;
    self->window = 0;
    self->ring = empty.ring;
    self->steps = empty.steps;
    self->shares = empty.shares;
    self->pieces = empty.pieces;
    self->handed = empty.handed;
    self->handed_room = empty.handed_room;
    self->handed_first = 0;
    self->joins = memcpy(empty.joins, before->joins, config->join_count * sizeof *self->joins);
    self->commits = memcpy(empty.commits, before->commits,
                           2 * (size_t)config->unbooked_max * sizeof *self->commits);
    return self;
}

void tnd_feeder_core_message(tnd_feeder_core_t *self, const tnd_msg_t *msg)
{
    bool is_of_now = msg->generation >= self->again;
    if (msg->kind == TND_MSG_WINDOW)
        tnd_feeder_core_asked(self, msg);
    else if (msg->kind == TND_MSG_BOOKED)
        tnd_feeder_core_booked(self, msg->until.step);
    else if (msg->kind == TND_MSG_LAST && is_of_now) {
        tnd_feeder_core_end(self, msg->part.step);
        self->end_told = msg->generation;
    } else if (msg->kind == TND_MSG_HALT && is_of_now)
        tnd_feeder_core_halt(self, msg->halt.number);
    else if (msg->kind == TND_MSG_LIMIT && is_of_now)
        tnd_feeder_core_limit(self, msg->limit.step, msg->limit.epoch);
    else if (msg->kind == TND_MSG_DEPTH)
        tnd_feeder_core_depth(self, (uint32_t)msg->until.step);
}

static bool next_handed(tnd_feeder_core_t *self, tnd_effect_t *effect)
{
    if (self->handed_count == 0)
        return false;
    const handed_t *handed = &self->handed[self->handed_first];
    self->handed_first = (self->handed_first + 1) % self->handed_room;
    self->handed_count--;
    effect->kind = handed->place ? TND_EFFECT_PLACE : TND_EFFECT_DROP;
    effect->payload = handed->note.payload;
    effect->msg.kind = TND_MSG_SLICE;
    if (handed->place) {
        effect->slot = slot_of(self, handed->note.step);
        effect->msg.slice = handed->note;
    }
    return true;
}

/*  The report of a step that is booked. */
static bool next_report(tnd_feeder_core_t *self, tnd_effect_t *effect)
{
    while (self->dropped < self->booked) {
        commit_t *commit = commit_at(self, self->dropped++);
        if (commit->payload == NULL)
            continue;
        effect->kind = TND_EFFECT_DROP;
        effect->msg.kind = TND_MSG_COMMIT;
        effect->payload = commit->payload;
        commit->payload = NULL;
        return true;
    }
    return false;
}

static bool next_free(tnd_feeder_core_t *self, tnd_effect_t *effect)
{
    if (self->freed == self->committed)
        return false;
    effect->kind = TND_EFFECT_FREE;
    effect->slot = slot_of(self, self->freed);
    effect->msg.kind = TND_MSG_SLICE;
    effect->msg.slice.step = self->freed++;
    return true;
}

/*  Every slot that was given is free again; before the start none is given. */
static bool next_resize(const tnd_feeder_core_t *self, tnd_effect_t *effect)
{
    bool free = !self->begun || self->committed == self->frontier || TND_BUG(RESIZED_TOO_EARLY);
    if (!changes(self) || !free)
        return false;
    effect->kind = TND_EFFECT_RESIZE;
    effect->slot = self->wanted;
    return true;
}

static bool next_window(tnd_feeder_core_t *self, tnd_effect_t *effect)
{
    uint64_t until = window_of(self);
    if (!self->begun || self->window == until)
        return false;
    for (uint32_t i = 0; i < self->config.join_count; i++) {
        join_t *join = &self->joins[i];
        if (is_quiet(self, join) || !is_window_due(self, join, until))
            continue;
        join->said = until;
        effect->kind = TND_EFFECT_LINK;
        effect->msg.kind = TND_MSG_WINDOW;
        effect->msg.to = join->id;
        effect->msg.until.step = until;
        return true;
    }
    self->window = until;
    return false;
}

static void tell_leader(tnd_effect_t *effect, tnd_msg_kind_t kind)
{
    effect->kind = TND_EFFECT_CONTROL;
    effect->msg.kind = kind;
    effect->msg.to = TND_LEADER;
}

static bool next_word(tnd_feeder_core_t *self, tnd_effect_t *effect)
{
    if (!self->begun)
        return false;
    if (self->said_commit < self->committed && self->said_commit + 1 != self->cut) {
        const commit_t *commit = commit_at(self, self->said_commit);
        tell_leader(effect, TND_MSG_COMMIT);
        effect->msg.commit.step = self->said_commit++;
        effect->msg.commit.digest[0] = commit->digest[0];
        effect->msg.commit.digest[1] = commit->digest[1];
        effect->msg.commit.rows = commit->rows;
        effect->msg.commit.cut = commit->cut;
        effect->msg.commit.last = commit->last;
        effect->msg.commit.payload = commit->payload;
        return true;
    }
    if (self->held_due) {
        self->held_due = false;
        tell_leader(effect, TND_MSG_HELD);
        effect->msg.until.step = self->held;
        return true;
    }
    if (self->halt_due) {
        self->halt_due = false;
        tell_leader(effect, TND_MSG_HALT);
        effect->msg.halt.step = self->started;
        effect->msg.halt.number = self->halt_number;
        return true;
    }
    return false;
}

/*  How many steps may be started ahead depends on how long the last ones took. */
static void take_pace(tnd_feeder_core_t *self, uint64_t now)
{
    uint64_t steps = self->committed - self->paced, most = self->ahead_most;
    if (steps == 0)
        return;
    uint64_t span = now > self->paced_ns ? now - self->paced_ns : 1;
    uint64_t ahead = ahead_ns * steps / span;
    self->ahead = ahead < AHEAD_LEAST ? AHEAD_LEAST : ahead > most ? most : ahead;
    self->paced = self->committed;
    self->paced_ns = now;
}

/*  Whether the next step is held and of an epoch that may not begin yet. */
static bool rests(const tnd_feeder_core_t *self)
{
    return self->started < self->held &&
           tnd_feeder_core_step_at(self, self->started)->note.epoch >= self->limit_epoch;
}

/*  Whether the leader stops it. */
static bool is_stopped(const tnd_feeder_core_t *self)
{
    return self->halting || self->started >= self->limit || rests(self);
}

static bool may_start(const tnd_feeder_core_t *self)
{
    return self->begun && !is_stopped(self) && self->started < self->end &&
           self->cut == TND_UNKNOWN && self->started - self->booked < self->config.unbooked_max &&
           self->started - self->committed < self->ahead;
}

static bool next_ready(tnd_feeder_core_t *self, uint64_t now, tnd_effect_t *effect)
{
    take_pace(self, now);
    if (self->started == self->held || !may_start(self))
        return false;
    step_t *step = tnd_feeder_core_step_at(self, self->started);
    step->state = STEP_STARTED;
    effect->kind = TND_EFFECT_READY;
    effect->slot = slot_of(self, self->started);
    effect->msg.kind = TND_MSG_SLICE;
    effect->msg.slice = step->note;
    self->started++;
    return true;
}

bool tnd_feeder_core_next_effect(tnd_feeder_core_t *self, uint64_t now, tnd_effect_t *effect)
{
    memset(effect, 0, sizeof *effect);
    effect->msg.generation = self->generation;
    effect->msg.from = self->config.self;
    return next_handed(self, effect) || next_report(self, effect) || next_free(self, effect) ||
           next_resize(self, effect) || next_window(self, effect) || next_word(self, effect) ||
           next_ready(self, now, effect);
}

bool tnd_feeder_core_over(const tnd_feeder_core_t *self)
{
    return self->begun && self->committed >= self->end;
}

uint32_t tnd_feeder_core_generation(const tnd_feeder_core_t *self)
{
    return self->generation;
}

uint64_t tnd_feeder_core_started(const tnd_feeder_core_t *self)
{
    return self->started;
}

uint64_t tnd_feeder_core_committed(const tnd_feeder_core_t *self)
{
    return self->committed;
}

uint64_t tnd_feeder_core_held(const tnd_feeder_core_t *self)
{
    return self->held;
}

uint32_t tnd_feeder_core_blocked_on(const tnd_feeder_core_t *self)
{
    uint32_t waits = 0;
    if (tnd_feeder_core_over(self))
        return TND_WAIT_ENDED;
    if (!self->begun || is_stopped(self))
        waits |= TND_WAIT_LEADER;
    if (self->started > self->committed)
        waits |= TND_WAIT_STEP;
    if (self->begun && !is_stopped(self) && self->started < self->end) {
        if (self->started - self->booked >= self->config.unbooked_max)
            waits |= TND_WAIT_LEADER;
        if (self->started == self->held)
            waits |= TND_WAIT_INPUT;
    }
    for (uint32_t i = 0; i < self->config.join_count; i++)
        if (!self->joins[i].up)
            waits |= TND_WAIT_PEER;
    return waits;
}
