/*  runtime/core/reducer.c - decides when a reduction is complete, and which feeders get it.  */
#include "runtime/core/reducer.h"

#include <assert.h>
#include <string.h>

#include "runtime/base/bounds.h"
#include "runtime/base/bug_injection.h"
#include "runtime/core/numeric/reduction_tree.h"
#include "runtime/core/reduction_rounds.h"

#define NONE TND_ROUND_NONE

/*  What a feeder does not post, as it reported: of the steps that it has done, and slots that went
 *  to other reducers. */
typedef struct {
    tnd_actor_id_t id;
    bool up, has_done, has_aside;
    tnd_passed_note_t done, aside;
} feeder_t;

typedef struct {
    void *payload;
    tnd_actor_id_t closed_to; /* TND_NOBODY: to no feeder */
    tnd_round_name_t name;
} answer_t;

struct tnd_reducer_core {
    tnd_reducer_core_config_t config;
    uint32_t feeder_count;
    uint32_t answer_first, answer_count, answer_room;
    feeder_t *feeders;        /* sorted by id */
    tnd_round_name_t *latest; /* by replica: of its last post ... */
    bool *has_posted;         /* ... if there was one */
    tnd_reduction_rounds_t rounds;
    answer_t *answers;
};

static uint32_t find_feeder(const tnd_reducer_core_t *self, tnd_actor_id_t id)
{
    uint32_t at;
    TND_LOWER_BOUND(at, 0, self->feeder_count, self->feeders[at].id < id);
    return at < self->feeder_count && self->feeders[at].id == id ? at : NONE;
}

static void answer(tnd_reducer_core_t *self, void *payload, tnd_actor_id_t closed_to,
                   tnd_round_name_t name)
{
    assert(self->answer_count < self->answer_room);
    uint32_t at = (self->answer_first + self->answer_count++) % self->answer_room;
    self->answers[at] = (answer_t){.payload = payload, .closed_to = closed_to, .name = name};
}

/*  A replica posts its rounds in order, after a loss too.  So a replica that posts a later round
 *  but not this one has seen it closed by a reducer that died: no feeder lacks its result. */
static void close_passed(tnd_reducer_core_t *self, tnd_round_name_t name, uint32_t leaf)
{
    uint32_t number = self->rounds.newest;
    while (number != NONE) {
        tnd_round_t *round = &self->rounds.rounds[number];
        number = round->previous;
        if (tnd_round_compare(round->name, name) >= 0)
            continue;
        if (tnd_round_leaves(&self->rounds, round)[leaf].covered)
            return;
        tnd_round_close(&self->rounds, round);
    }
}

static bool was_passed(const tnd_reducer_core_t *self, tnd_round_name_t name)
{
    for (uint32_t i = 0; i < self->config.replicas; i++)
        if (self->has_posted[i] && tnd_round_compare(self->latest[i], name) > 0)
            return true;
    for (uint32_t i = 0; i < self->feeder_count; i++)
        if (self->feeders[i].has_done && self->feeders[i].done.last >= name.round)
            return true;
    return false;
}

/*  The same for rounds of steps that a feeder has done and has not posted again. */
static void close_done(tnd_reducer_core_t *self, uint32_t feeder)
{
    uint32_t at = self->rounds.oldest;
    uint64_t last = self->feeders[feeder].done.last + TND_BUG(NEXT_STEP_PASSED);
    while (at != NONE && self->rounds.rounds[at].name.round <= last) {
        tnd_round_t *round = &self->rounds.rounds[at];
        const tnd_round_leaf_t *leaves = tnd_round_leaves(&self->rounds, round);
        at = round->next;
        for (uint32_t i = 0; i < self->config.replicas; i++)
            if (self->config.feeders[i] == self->feeders[feeder].id && !leaves[i].covered) {
                tnd_round_close(&self->rounds, round);
                break;
            }
    }
}

/* Replicas that leave a reduction out. */

static bool leaves_out(const tnd_passed_note_t *passed, tnd_round_name_t name)
{
    return name.round >= passed->first && name.round <= passed->last &&
           name.slot >= passed->begin && name.slot < passed->end;
}

/*  Replica `one` posted to a round that replica `other` leaves out: names both and what they did. */
static tnd_status_t tell(const tnd_reducer_core_t *self, tnd_round_name_t name, uint32_t one,
                         uint32_t reduction, uint32_t other, const tnd_passed_note_t *passed,
                         tnd_error_t *error)
{
    static const char rule[] = "all replicas post the same reductions in the same order";
    const char *const *names = self->config.names;
    uint64_t posted = (uint64_t)reduction + 1;
    if (passed->reductions < posted)
        return tnd_fail(error,
                        "in step %llu replica %u (%s) posted to %llu reduction%s at least, replica "
                        "%u (%s) to %u: %s",
                        (unsigned long long)name.round, one, names[one], (unsigned long long)posted,
                        posted == 1 ? "" : "s", other, names[other], passed->reductions, rule);
    return tnd_fail(error,
                    "in step %llu replica %u (%s) posted to reduction %u what replica %u (%s) did "
                    "not: other elements, or to another reducer; %s",
                    (unsigned long long)name.round, one, names[one], reduction, other, names[other],
                    rule);
}

/*  Whether a replica of another feeder than that of `one` has passed a round without posting. */
static tnd_status_t check_passed(const tnd_reducer_core_t *self, tnd_round_name_t name,
                                 const tnd_round_leaf_t *leaves, uint32_t one, uint32_t reduction,
                                 tnd_error_t *error)
{
    for (uint32_t i = 0; i < self->config.replicas; i++) {
        if (self->config.feeders[i] == self->config.feeders[one] ||
            (leaves != NULL && leaves[i].covered))
            continue;
        const feeder_t *feeder = &self->feeders[find_feeder(self, self->config.feeders[i])];
        if (feeder->has_done && leaves_out(&feeder->done, name))
            return tell(self, name, one, reduction, i, &feeder->done, error);
        if (feeder->has_aside && leaves_out(&feeder->aside, name))
            return tell(self, name, one, reduction, i, &feeder->aside, error);
    }
    return TND_OK;
}

/*  Checks the open rounds of the steps [first, last] after a feeder reported more about them. */
static tnd_status_t check_steps(const tnd_reducer_core_t *self, uint64_t first, uint64_t last,
                                tnd_error_t *error)
{
    for (uint32_t at = self->rounds.oldest; at != NONE; at = self->rounds.rounds[at].next) {
        const tnd_round_t *round = &self->rounds.rounds[at];
        const tnd_round_leaf_t *leaves = tnd_round_leaves(&self->rounds, round);
        if (round->name.round > last)
            break;
        if (round->name.round < first || round->covered == self->config.replicas)
            continue;
        uint32_t one = 0;
        while (!leaves[one].covered)
            one++;
        TND_TRY(check_passed(self, round->name, leaves, one, leaves[one].reduction, error));
    }
    return TND_OK;
}

/*  A feeder that posts to step `until` has done earlier steps as the last one that it reported. */
static tnd_status_t has_done(tnd_reducer_core_t *self, feeder_t *feeder, uint64_t until,
                             tnd_error_t *error)
{
    until += TND_BUG(STEP_COUNTED_AS_BEFORE);
    if (!feeder->has_done || until <= feeder->done.last + 1)
        return TND_OK;
    uint64_t first = feeder->done.last + 1;
    feeder->done.last = until - 1;
    return check_steps(self, first, feeder->done.last, error);
}

static const char *name_of_feeder(const tnd_reducer_core_t *self, tnd_actor_id_t id)
{
    for (uint32_t i = 0; i < self->config.replicas; i++)
        if (self->config.feeders[i] == id)
            return self->config.names[i];
    return "a stranger";
}

static tnd_status_t check_post(const tnd_reducer_core_t *self, const tnd_msg_t *msg,
                               tnd_error_t *error)
{
    const tnd_post_note_t *post = &msg->post;
    const tnd_reduction_tree_node_t node = {.first = post->first, .count = post->count};
    if (!tnd_reduction_tree_has(self->config.replicas, node))
        return tnd_fail(error,
                        "%s posted replicas %u + %u to step %llu: the tree of %u replicas has no "
                        "such node",
                        name_of_feeder(self, msg->from), post->first, post->count,
                        (unsigned long long)post->round, self->config.replicas);
    for (uint32_t i = post->first; i < post->first + post->count; i++)
        if (self->config.feeders[i] != msg->from)
            return tnd_fail(error,
                            "%s posted to step %llu for replica %u, which %s carries: compare the "
                            "placements of both hosts",
                            name_of_feeder(self, msg->from), (unsigned long long)post->round, i,
                            self->config.names[i]);
    return TND_OK;
}

static void check_complete(tnd_reducer_core_t *self, tnd_round_t *round)
{
    uint32_t needed = self->config.replicas;
    if (TND_BUG(ROUND_CLOSED_EARLY) && needed > 1)
        needed--;
    if (round->covered < needed || round->asked)
        return;
    round->asked = round->reduce_due = true;
    tnd_round_queue(&self->rounds, round);
}

static void take(tnd_reducer_core_t *self, tnd_round_t *round, const tnd_post_note_t *post)
{
    tnd_round_leaf_t *leaves = tnd_round_leaves(&self->rounds, round);
    leaves[post->first].weight = post->weight;
    leaves[post->first].payload = post->payload;
    leaves[post->first].count = post->count;
    leaves[post->first].reduction = post->reduction;
    for (uint32_t i = post->first; i < post->first + post->count; i++) {
        leaves[i].covered = true;
        if (!self->has_posted[i] || tnd_round_compare(self->latest[i], round->name) < 0)
            self->latest[i] = round->name;
        self->has_posted[i] = true;
    }
    round->weight += post->weight;
    round->covered += post->count;
    self->rounds.incomplete -= round->covered == self->config.replicas;
    check_complete(self, round);
}

static uint32_t answer_room(const tnd_reducer_core_config_t *config)
{
    return tnd_reduction_rounds_pool(config->rounds_max) * config->replicas + 1;
}

size_t tnd_reducer_core_bytes(const tnd_reducer_core_config_t *config)
{
    size_t replicas = config->replicas;
    return tnd_align(sizeof(tnd_reducer_core_t)) + tnd_align(replicas * sizeof(feeder_t)) +
           tnd_align(replicas * sizeof(tnd_round_name_t)) + tnd_align(replicas * sizeof(bool)) +
           tnd_reduction_rounds_bytes(config->replicas, config->rounds_max) +
           tnd_align(answer_room(config) * sizeof(answer_t));
}

static void *piece(char **at, size_t bytes)
{
    void *start = *at;
    *at += tnd_align(bytes);
    return start;
}

tnd_reducer_core_t *tnd_reducer_core_init(void *memory, const tnd_reducer_core_config_t *config)
{
    assert(config->replicas > 0 && config->rounds_max > 0);
    size_t replicas = config->replicas;
    char *at = memory;
    tnd_reducer_core_t *self = piece(&at, sizeof *self);
    self->config = *config;
    self->feeders = piece(&at, replicas * sizeof *self->feeders);
    self->latest = piece(&at, replicas * sizeof *self->latest);
    self->has_posted = piece(&at, replicas * sizeof *self->has_posted);
    self->answer_room = answer_room(config);
    self->answers = piece(&at, self->answer_room * sizeof *self->answers);
    tnd_reduction_rounds_init(&self->rounds, at, config->replicas, config->rounds_max);
    for (uint32_t i = 0; i < config->replicas; i++) {
        tnd_actor_id_t id = config->feeders[i];
        if (find_feeder(self, id) != NONE)
            continue;
        uint32_t place = self->feeder_count++;
        for (; place > 0 && self->feeders[place - 1].id > id; place--)
            self->feeders[place] = self->feeders[place - 1];
        self->feeders[place] = (feeder_t){.id = id};
    }
    self->rounds.feeder_count = self->feeder_count;
    return self;
}

tnd_status_t tnd_reducer_core_post(tnd_reducer_core_t *self, const tnd_msg_t *msg,
                                   tnd_error_t *error)
{
    const tnd_post_note_t *post = &msg->post;
    const tnd_round_name_t name = tnd_round_name(post);
    tnd_status_t status = check_post(self, msg, error);
    if (status != TND_OK) {
        answer(self, post->payload, TND_NOBODY, name);
        return status;
    }
    const tnd_round_entry_t *entry = tnd_round_entry(&self->rounds, name);
    status = has_done(self, &self->feeders[find_feeder(self, msg->from)], name.round, error);
    if (status == TND_OK && !entry->used)
        status = check_passed(self, name, NULL, post->first, post->reduction, error);
    if (status != TND_OK) {
        answer(self, post->payload, TND_NOBODY, name);
        return status;
    }
    if (entry->used ? entry->round == NONE : was_passed(self, name)) {
        answer(self, post->payload, msg->from, name);
        return TND_OK;
    }
    close_passed(self, name, post->first);
    tnd_round_t *round = tnd_round_find(&self->rounds, name);
    if (round == NULL)
        round = tnd_round_open(&self->rounds, name);
    if (round == NULL) {
        answer(self, post->payload, TND_NOBODY, name);
        return tnd_fail(error,
                        "%s posted to step %llu while %u rounds are open, the most there may be: a "
                        "replica does not post to all of its reductions",
                        name_of_feeder(self, msg->from), (unsigned long long)post->round,
                        self->config.rounds_max);
    }
    const tnd_round_leaf_t *leaves = tnd_round_leaves(&self->rounds, round);
    for (uint32_t i = post->first; i < post->first + post->count; i++) {
        if (!leaves[i].covered)
            continue;
        answer(self, post->payload, TND_NOBODY, name);
        if (leaves[post->first].count == post->count)
            return TND_OK;
        return tnd_fail(error,
                        "%s posted replicas %u + %u to step %llu, of which replica %u had been "
                        "posted as part of another node",
                        name_of_feeder(self, msg->from), post->first, post->count,
                        (unsigned long long)post->round, i);
    }
    take(self, round, post);
    return TND_OK;
}

tnd_status_t tnd_reducer_core_passed(tnd_reducer_core_t *self, const tnd_msg_t *msg,
                                     tnd_error_t *error)
{
    const tnd_passed_note_t *passed = &msg->passed;
    uint32_t number = find_feeder(self, msg->from);
    if (number == NONE || TND_BUG(PASSED_UNHEARD))
        return TND_OK;
    feeder_t *feeder = &self->feeders[number];
    if (passed->end != TND_PASSED_DONE) {
        feeder->aside = *passed;
        feeder->has_aside = true;
        return check_steps(self, passed->first, passed->last, error);
    }
    TND_TRY(has_done(self, feeder, passed->first, error));
    feeder->done = *passed;
    feeder->has_done = true;
    TND_TRY(check_steps(self, passed->first, passed->last, error));
    close_done(self, number);
    return TND_OK;
}

void tnd_reducer_core_reduced(tnd_reducer_core_t *self, const tnd_msg_t *msg, void *root)
{
    tnd_round_t *round = tnd_round_find(&self->rounds, tnd_round_name(&msg->post));
    if (round == NULL || round->has_root || !round->asked) {
        answer(self, root, TND_NOBODY, tnd_round_name(&msg->post));
        return;
    }
    round->root = root;
    round->has_root = round->results_due = true;
    tnd_round_queue(&self->rounds, round);
}

void tnd_reducer_core_got(tnd_reducer_core_t *self, const tnd_msg_t *msg)
{
    const tnd_round_name_t name = tnd_round_name(&msg->post);
    uint32_t feeder = find_feeder(self, msg->from);
    const tnd_round_entry_t *entry = tnd_round_entry(&self->rounds, name);
    if (feeder == NONE || !entry->used)
        return;
    if (entry->round == NONE) {
        answer(self, NULL, msg->from, name);
        return;
    }
    tnd_round_t *round = &self->rounds.rounds[entry->round];
    uint8_t *results = tnd_round_results(&self->rounds, round);
    if (!round->has_root || results[feeder] == TND_RESULT_GOT)
        return;
    results[feeder] = TND_RESULT_GOT;
    if (++round->got == self->feeder_count)
        tnd_round_close(&self->rounds, round);
}

void tnd_reducer_core_feeder_up(tnd_reducer_core_t *self, tnd_actor_id_t id)
{
    uint32_t feeder = find_feeder(self, id);
    assert(feeder != NONE);
    self->feeders[feeder].up = true;
    for (uint32_t at = self->rounds.oldest; at != NONE; at = self->rounds.rounds[at].next) {
        tnd_round_t *round = &self->rounds.rounds[at];
        uint8_t *results = tnd_round_results(&self->rounds, round);
        if (!round->has_root || results[feeder] == TND_RESULT_GOT)
            continue;
        results[feeder] = TND_RESULT_UNSENT;
        round->results_due = true;
        tnd_round_queue(&self->rounds, round);
    }
}

void tnd_reducer_core_feeder_lost(tnd_reducer_core_t *self, tnd_actor_id_t id)
{
    uint32_t feeder = find_feeder(self, id);
    assert(feeder != NONE);
    self->feeders[feeder].up = false;
}

uint32_t tnd_reducer_core_nodes(const tnd_reducer_core_t *self, uint64_t number,
                                uint32_t reducer_slot, tnd_post_note_t *posts, uint32_t room)
{
    const tnd_round_t *round =
        tnd_round_find(&self->rounds, (tnd_round_name_t){.round = number, .slot = reducer_slot});
    if (round == NULL)
        return 0;
    const tnd_round_leaf_t *leaves = tnd_round_leaves(&self->rounds, round);
    uint32_t count = 0;
    for (uint32_t i = 0; i < self->config.replicas; i++) {
        if (leaves[i].count == 0)
            continue;
        if (count < room)
            posts[count] = (tnd_post_note_t){.round = number,
                                             .reducer_slot = reducer_slot,
                                             .first = i,
                                             .count = leaves[i].count,
                                             .weight = leaves[i].weight,
                                             .payload = leaves[i].payload};
        count++;
    }
    return count;
}

/*  An effect about a whole round. */
static void fill(const tnd_reducer_core_t *self, tnd_effect_kind_t kind, tnd_msg_kind_t msg_kind,
                 tnd_actor_id_t to, tnd_round_name_t name, tnd_effect_t *effect)
{
    effect->kind = kind;
    effect->msg.kind = msg_kind;
    effect->msg.from = self->config.self;
    effect->msg.to = to;
    effect->msg.post.round = name.round;
    effect->msg.post.reducer_slot = name.slot;
    effect->msg.post.count = self->config.replicas;
}

static bool next_answer(tnd_reducer_core_t *self, tnd_effect_t *effect)
{
    if (self->answer_count == 0)
        return false;
    answer_t *first = &self->answers[self->answer_first];
    if (first->payload != NULL) {
        effect->kind = TND_EFFECT_DROP;
        effect->payload = first->payload;
        first->payload = NULL;
        return true;
    }
    self->answer_first = (self->answer_first + 1) % self->answer_room;
    self->answer_count--;
    if (first->closed_to == TND_NOBODY)
        return next_answer(self, effect);
    fill(self, TND_EFFECT_LINK, TND_MSG_CLOSED, first->closed_to, first->name, effect);
    return true;
}

static bool next_result(tnd_reducer_core_t *self, tnd_round_t *round, tnd_effect_t *effect)
{
    uint8_t *results = tnd_round_results(&self->rounds, round);
    for (uint32_t i = 0; i < self->feeder_count; i++) {
        if (!self->feeders[i].up || results[i] != TND_RESULT_UNSENT)
            continue;
        results[i] = TND_RESULT_SENT;
        fill(self, TND_EFFECT_LINK, TND_MSG_RESULT, self->feeders[i].id, round->name, effect);
        effect->msg.post.weight = round->weight;
        effect->msg.post.payload = round->root;
        return true;
    }
    round->results_due = false;
    return false;
}

/*  CLOSED to each feeder, then FORGET for each node and the root. */
static bool next_closing(tnd_reducer_core_t *self, tnd_round_t *round, tnd_effect_t *effect)
{
    for (; round->walk < self->feeder_count; round->walk++)
        if (self->feeders[round->walk].up) {
            tnd_actor_id_t id = self->feeders[round->walk++].id;
            fill(self, TND_EFFECT_LINK, TND_MSG_CLOSED, id, round->name, effect);
            return true;
        }
    const tnd_round_leaf_t *leaves = tnd_round_leaves(&self->rounds, round);
    while (round->walk < self->feeder_count + self->config.replicas) {
        uint32_t first = round->walk++ - self->feeder_count;
        if (leaves[first].count == 0)
            continue;
        fill(self, TND_EFFECT_FORGET, TND_MSG_POST, self->config.self, round->name, effect);
        effect->msg.post.first = first;
        effect->msg.post.count = leaves[first].count;
        effect->msg.post.weight = leaves[first].weight;
        effect->msg.post.payload = effect->payload = leaves[first].payload;
        return true;
    }
    if (!round->has_root)
        return false;
    round->has_root = false;
    fill(self, TND_EFFECT_FORGET, TND_MSG_RESULT, self->config.self, round->name, effect);
    effect->msg.post.weight = round->weight;
    effect->msg.post.payload = effect->payload = round->root;
    return true;
}

static bool next_of_round(tnd_reducer_core_t *self, tnd_round_t *round, tnd_effect_t *effect)
{
    if (round->closing)
        return next_closing(self, round, effect);
    if (round->reduce_due) {
        round->reduce_due = false;
        fill(self, TND_EFFECT_REDUCE, TND_MSG_POST, self->config.self, round->name, effect);
        effect->msg.post.weight = round->weight;
        return true;
    }
    return round->results_due && next_result(self, round, effect);
}

bool tnd_reducer_core_next(tnd_reducer_core_t *self, uint64_t now, tnd_effect_t *effect)
{
    (void)now;
    memset(effect, 0, sizeof *effect);
    if (next_answer(self, effect))
        return true;
    for (;;) {
        tnd_round_t *round = tnd_round_queued(&self->rounds);
        if (round == NULL)
            return false;
        if (next_of_round(self, round, effect))
            return true;
        tnd_round_done(&self->rounds);
    }
}

void tnd_reducer_core_end(tnd_reducer_core_t *self)
{
    for (uint32_t i = 0; i < self->feeder_count; i++)
        self->feeders[i].up = false;
    for (uint32_t i = 0; i < self->answer_count; i++)
        self->answers[(self->answer_first + i) % self->answer_room].closed_to = TND_NOBODY;
    while (self->rounds.oldest != NONE)
        tnd_round_close(&self->rounds, &self->rounds.rounds[self->rounds.oldest]);
}

uint32_t tnd_reducer_core_blocked_on(const tnd_reducer_core_t *self)
{
    /* waiting for posts, or for GOT */
    uint32_t waits =
        self->rounds.open == 0 || self->rounds.incomplete < self->rounds.open ? TND_WAIT_INPUT : 0;
    if (self->rounds.incomplete > 0)
        waits |= TND_WAIT_REDUCE;
    for (uint32_t i = 0; i < self->feeder_count; i++)
        if (!self->feeders[i].up)
            waits |= TND_WAIT_PEER;
    return waits;
}

uint32_t tnd_reducer_core_open(const tnd_reducer_core_t *self)
{
    return self->rounds.open;
}
