/*  tests/support/pipeline.c - a small pipeline of real machines on one thread. */
#include "tests/support/pipeline.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/base/allocation.h"

static const tnd_party_t parties[ACTORS] = {
    [READ0] = {.role = TND_ROLE_READER, .host = 1, .lane = 0},
    [READ1] = {.role = TND_ROLE_READER, .host = 2, .lane = 1},
    [PREP0] = {.role = TND_ROLE_WORKER, .host = 1, .lane_first = 0, .lane_count = 2},
    [PREP1] = {.role = TND_ROLE_WORKER, .host = 2, .lane_first = 0, .lane_count = 2},
    [BATCH0] = {.role = TND_ROLE_JOIN, .host = 1, .lane = 0},
    [BATCH1] = {.role = TND_ROLE_JOIN, .host = 2, .lane = 1},
    [FEED0] = {.role = TND_ROLE_FEEDER, .host = 1, .replica_first = 0, .replica_count = 2},
    [FEED1] = {.role = TND_ROLE_FEEDER, .host = 2, .replica_first = 2, .replica_count = 2},
    [MEAN] = {.role = TND_ROLE_REDUCER, .host = 2},
};
static const tnd_member_t members[ACTORS] = {
    {READ0, TND_ROLE_READER, 1, 0, "read.0"}, {READ1, TND_ROLE_READER, 2, 1, "read.1"},
    {PREP0, TND_ROLE_WORKER, 1, 0, "prep.0"}, {PREP1, TND_ROLE_WORKER, 2, 0, "prep.1"},
    {BATCH0, TND_ROLE_JOIN, 1, 0, "batch.0"}, {BATCH1, TND_ROLE_JOIN, 2, 1, "batch.1"},
    {FEED0, TND_ROLE_FEEDER, 1, 0, "feed.0"}, {FEED1, TND_ROLE_FEEDER, 2, 0, "feed.1"},
    {MEAN, TND_ROLE_REDUCER, 2, 0, "mean"},
};
static const char *const hosts[HOSTS] = {"a", "b", "c"};
static const tnd_membership_t membership = {.parties = parties,
                                            .party_count = ACTORS,
                                            .host_count = HOSTS,
                                            .lanes = LANES,
                                            .host_id = HOST_ID};
static const tnd_actor_id_t readers[] = {READ0, READ1}, joins[] = {BATCH0, BATCH1},
                            feeders[REPLICAS] = {FEED0, FEED0, FEED1, FEED1};
static const uint32_t lane_numbers[] = {0, 1};

uint64_t pipeline_below(pipeline_t *self, uint64_t bound)
{
    return tnd_random_below(&self->random, bound);
}

token_t *token_new(pipeline_t *self)
{
    token_t *token = calloc(1, sizeof *token);
    assert(token != NULL);
    token->holders = 1;
    token->after = self->tokens;
    if (self->tokens != NULL)
        self->tokens->before = token;
    self->tokens = token;
    return token;
}

void token_drop(pipeline_t *self, token_t *token)
{
    if (token == NULL)
        return;
    assert(token->holders > 0);
    if (--token->holders > 0)
        return;
    *(token->before == NULL ? &self->tokens : &token->before->after) = token->after;
    if (token->after != NULL)
        token->after->before = token->before;
    free(token);
}

/*  Where a message keeps its payload. */
void **pipeline_payload(tnd_msg_t *msg)
{
    switch (msg->kind) {
    case TND_MSG_BLOCK:
        return &msg->block.payload;
    case TND_MSG_SLICE:
        return &msg->slice.payload;
    case TND_MSG_POST:
    case TND_MSG_RESULT:
        return &msg->post.payload;
    default:
        return NULL;
    }
}

static void post_mail(pipeline_t *self, tnd_actor_id_t to, bool by_link, const tnd_msg_t *msg,
                      token_t *token)
{
    if (self->mail_count == MAIL_MAX) { /* as if it were lost with a host: the run fails */
        self->over = true;
        token_drop(self, token);
        return;
    }
    pipeline_mail_t *mail = &self->mail[(self->mail_first + self->mail_count++) % MAIL_MAX];
    *mail = (pipeline_mail_t){
        .msg = *msg, .from = msg->from, .to = to, .by_link = by_link, .token = token};
}

static void send_link(pipeline_t *self, tnd_msg_t *msg, token_t *token)
{
    tnd_validator_sent(self->actors[msg->from].accept, msg);
    void **payload = pipeline_payload(msg);
    if (payload != NULL)
        *payload = token;
    post_mail(self, msg->to, true, msg, token);
}

static void send_control(pipeline_t *self, tnd_actor_id_t from, tnd_msg_t *msg)
{
    msg->from = from;
    if (msg->to != TND_NOBODY) {
        post_mail(self, msg->to, false, msg, NULL);
        return;
    }
    for (uint32_t i = 0; i < ACTORS; i++) {
        if (msg->kind == TND_MSG_MARK ? parties[i].role != TND_ROLE_JOIN || i == from : false)
            continue;
        token_t *token = NULL;
        if (msg->kind == TND_MSG_REWIND) {
            token = token_new(self);
            token->cursor = *msg->rewind.cursor;
        }
        msg->to = i;
        post_mail(self, i, false, msg, token);
    }
}

/*  Reads a ticket: rows of 8 bytes; without a known length the lane ends with its last row. */
static void read_ticket(pipeline_t *self, const tnd_msg_t *ticket)
{
    uint64_t first = ticket->ticket.first, end = first + ticket->ticket.count;
    tnd_msg_t msg = {.kind = TND_MSG_BLOCK,
                     .generation = ticket->generation,
                     .from = ticket->from,
                     .to = ticket->to};
    uint64_t stop = end < LANE_ROWS ? end : LANE_ROWS;
    msg.block = (tnd_block_note_t){.first = first,
                                   .lane = ticket->ticket.lane,
                                   .epoch = ticket->ticket.epoch,
                                   .count = stop > first ? (uint32_t)(stop - first) : 0,
                                   .asked = ticket->ticket.count,
                                   .attempt = ticket->ticket.attempt,
                                   .end = end > LANE_ROWS};
    msg.block.rows = msg.block.count;
    msg.block.bytes = 8 * (uint64_t)msg.block.rows;
    tnd_actor_id_t from = msg.from, to = msg.to;
    uint64_t bytes = msg.block.bytes;
    send_link(self, &msg, token_new(self));
    tnd_reader_core_sent(self->actors[from].dispatch, to, bytes);
}

/*  Leaves out each fifth position and doubles each seventh. */
static void apply(pipeline_t *self, tnd_msg_t *msg, token_t *token)
{
    token_t *made = token_new(self);
    uint32_t rows = 0;
    for (uint32_t i = 0; i < msg->block.count && rows + 2 < OFFSETS_MAX; i++) {
        uint64_t position = msg->block.first + i;
        if (position % 5 == 4)
            continue;
        made->origin[rows++] = i;
        if (position % 7 == 0)
            made->origin[rows++] = i;
    }
    msg->block.origin = made->origin;
    msg->block.rows = rows;
    msg->block.bytes = 8 * (uint64_t)rows;
    msg->block.bad = NULL;
    msg->block.bad_count = 0;
    send_link(self, msg, made);
    token_drop(self, token);
}

static void send_post(pipeline_t *self, tnd_actor_id_t feeder, const tnd_post_note_t *post)
{
    tnd_msg_t msg = {.kind = TND_MSG_POST, .from = feeder, .to = MEAN, .post = *post};
    send_link(self, &msg, token_new(self));
}

static void begin_step(pipeline_t *self, tnd_actor_id_t id, uint64_t step)
{
    actor_t *actor = &self->actors[id];
    tnd_post_note_t post = {.round = step,
                            .first = parties[id].replica_first,
                            .count = parties[id].replica_count,
                            .weight = 1};
    if (actor->post_count < POSTS_MAX)
        actor->posts[actor->post_count++] = post;
    send_post(self, id, &post);
}

static void links_begin(pipeline_t *self, tnd_actor_id_t id);
static void links_end(pipeline_t *self, tnd_actor_id_t id);

static bool next_effect(pipeline_t *self, tnd_actor_id_t id, tnd_effect_t *effect)
{
    actor_t *actor = &self->actors[id];
    switch (parties[id].role) {
    case TND_ROLE_READER:
        return tnd_reader_core_next(actor->dispatch, self->now, effect);
    case TND_ROLE_WORKER:
        return tnd_preprocessor_core_next(actor->queue, self->now, effect);
    case TND_ROLE_JOIN:
        return tnd_batcher_core_next(actor->join, self->now, effect);
    case TND_ROLE_FEEDER:
        return tnd_feeder_core_next_effect(actor->feed, self->now, effect);
    case TND_ROLE_REDUCER:
        return tnd_reducer_core_next(actor->rounds, self->now, effect);
    default:
        break;
    }
    return false;
}

static void reduce(pipeline_t *self, tnd_actor_id_t id, const tnd_msg_t *msg)
{
    tnd_post_note_t posts[REPLICAS];
    uint32_t count = tnd_reducer_core_nodes(self->actors[id].rounds, msg->post.round,
                                            msg->post.reducer_slot, posts, REPLICAS);
    assert(count > 0 && count <= REPLICAS);
    tnd_reducer_core_reduced(self->actors[id].rounds, msg, token_new(self));
}

static void perform(pipeline_t *self, tnd_actor_id_t id)
{
    tnd_effect_t effect = {0};
    /* A false window together with a false mark can ask for steps without end. */
    while (!self->over && next_effect(self, id, &effect)) {
        token_t *token = effect.payload;
        effect.msg.from = id;
        switch (effect.kind) {
        case TND_EFFECT_LINK:
            if (effect.msg.kind == TND_MSG_RESULT) {
                token = effect.msg.post.payload != NULL ? effect.msg.post.payload : token;
                token->holders++;
            } else {
                token = pipeline_payload(&effect.msg) != NULL ? token_new(self) : NULL;
            }
            send_link(self, &effect.msg, token);
            break;
        case TND_EFFECT_CONTROL:
            send_control(self, id, &effect.msg);
            break;
        case TND_EFFECT_PLACE:
            self->actors[id].rows[effect.msg.slice.step % STEPS_KEPT][effect.msg.slice.replica] =
                effect.msg.slice.total;
            token_drop(self, token);
            break;
        case TND_EFFECT_DROP:
        case TND_EFFECT_FORGET:
            token_drop(self, token);
            break;
        case TND_EFFECT_READ:
            read_ticket(self, &effect.msg);
            break;
        case TND_EFFECT_APPLY:
            apply(self, &effect.msg, effect.msg.block.payload);
            break;
        case TND_EFFECT_RESET:
            links_end(self, id);
            links_begin(self, id);
            break;
        case TND_EFFECT_READY:
            begin_step(self, id, effect.msg.slice.step);
            break;
        case TND_EFFECT_FREE:
            break;
        case TND_EFFECT_REDUCE:
            reduce(self, id, &effect.msg);
            break;
        default:
            abort();
        }
        memset(&effect, 0, sizeof effect);
    }
}

static void take_result(pipeline_t *self, tnd_actor_id_t id, const tnd_msg_t *msg)
{
    tnd_feeder_core_t *feed = self->actors[id].feed;
    tnd_msg_t got = {.kind = TND_MSG_GOT, .from = id, .to = MEAN, .post = msg->post};
    got.post.payload = NULL;
    send_link(self, &got, NULL);
    uint64_t step = tnd_feeder_core_committed(feed);
    if (msg->post.round != step || step >= tnd_feeder_core_started(feed))
        return;
    uint64_t digest[2] = {step, 1};
    uint32_t rows = 0;
    for (uint32_t i = 0; i < REPLICAS; i++)
        rows += self->actors[id].rows[step % STEPS_KEPT][i];
    tnd_feeder_core_done(feed, step, digest, rows, NULL);
    tnd_msg_t passed = {.kind = TND_MSG_PASSED, .from = id, .to = MEAN};
    passed.passed = (tnd_passed_note_t){
        .first = step, .last = step, .begin = 1, .end = TND_PASSED_DONE, .reductions = 1};
    send_link(self, &passed, NULL);
}

static void take_closed(actor_t *actor, const tnd_msg_t *msg)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < actor->post_count; i++)
        if (actor->posts[i].round != msg->post.round)
            actor->posts[kept++] = actor->posts[i];
    actor->post_count = kept;
}

static tnd_status_t take_by_feeder(pipeline_t *self, tnd_actor_id_t id, const tnd_msg_t *msg,
                                   token_t *token)
{
    actor_t *actor = &self->actors[id];
    switch (msg->kind) {
    case TND_MSG_SLICE:
        return tnd_feeder_core_slice(actor->feed, msg, &self->error);
    case TND_MSG_REWIND:
        if (actor->placed && token->cursor.step > tnd_feeder_core_held(actor->feed))
            return tnd_fail(&self->error, "a rewind to a step that the feeder lacks");
        actor->placed = true;
        tnd_feeder_core_rewind_to(actor->feed, msg->generation, token->cursor.step, 0, 0);
        break;
    case TND_MSG_BOOKED:
        tnd_feeder_core_booked(actor->feed, msg->until.step);
        break;
    case TND_MSG_LAST:
        tnd_feeder_core_end(actor->feed, msg->until.step);
        break;
    case TND_MSG_HALT:
        tnd_feeder_core_halt(actor->feed, msg->halt.number);
        break;
    case TND_MSG_LIMIT:
        tnd_feeder_core_limit(actor->feed, msg->limit.step, msg->limit.epoch);
        break;
    case TND_MSG_RESULT:
        take_result(self, id, msg);
        break;
    case TND_MSG_CLOSED:
        take_closed(actor, msg);
        break;
    default:
        break;
    }
    return TND_OK;
}

static tnd_status_t take_by_join(pipeline_t *self, tnd_actor_id_t id, const tnd_msg_t *msg,
                                 const token_t *token)
{
    tnd_batcher_core_t *join = self->actors[id].join;
    switch (msg->kind) {
    case TND_MSG_BLOCK:
        return tnd_batcher_core_block(join, msg, &self->error);
    case TND_MSG_REWIND:
        if (!tnd_batcher_core_fits(join, &token->cursor))
            return tnd_fail(&self->error, "a cursor of another stream");
        tnd_batcher_core_rewind(join, msg->generation, &token->cursor, 0);
        break;
    case TND_MSG_LOST:
        tnd_order_lost(tnd_batcher_core_order(join), msg);
        break;
    case TND_MSG_MARK:
        tnd_batcher_core_mark(join, msg);
        break;
    case TND_MSG_WINDOW:
        tnd_batcher_core_window(join, msg);
        break;
    default:
        break;
    }
    return TND_OK;
}

/*  As the actors' shells hand a message to their machines. */
static tnd_status_t take(pipeline_t *self, tnd_actor_id_t id, const tnd_msg_t *msg, token_t *token)
{
    actor_t *actor = &self->actors[id];
    switch (parties[id].role) {
    case TND_ROLE_READER:
        if (msg->kind == TND_MSG_REWIND) {
            tnd_reader_core_rewind(actor->dispatch, msg->generation);
        } else if (msg->kind == TND_MSG_CREDIT) {
            tnd_reader_core_credit(actor->dispatch, msg->from, msg->credit.blocks,
                                   msg->credit.bytes);
        } else if (msg->kind == TND_MSG_TICKET) {
            if (tnd_reader_core_full(actor->dispatch))
                return tnd_fail(&self->error, "more tickets than there may be");
            tnd_reader_core_ticket(actor->dispatch, msg);
        }
        return TND_OK;
    case TND_ROLE_WORKER:
        if (msg->kind == TND_MSG_REWIND)
            tnd_preprocessor_core_rewind(actor->queue, msg->generation);
        else if (msg->kind == TND_MSG_BLOCK)
            tnd_preprocessor_core_block(actor->queue, msg);
        return TND_OK;
    case TND_ROLE_JOIN:
        return take_by_join(self, id, msg, token);
    case TND_ROLE_FEEDER:
        return take_by_feeder(self, id, msg, token);
    case TND_ROLE_REDUCER:
        if (msg->kind == TND_MSG_POST)
            return tnd_reducer_core_post(actor->rounds, msg, &self->error);
        if (msg->kind == TND_MSG_PASSED)
            return tnd_reducer_core_passed(actor->rounds, msg, &self->error);
        if (msg->kind == TND_MSG_GOT)
            tnd_reducer_core_got(actor->rounds, msg);
        return TND_OK;
    default:
        break;
    }
    return TND_OK;
}

static bool linked(tnd_actor_id_t a, tnd_actor_id_t b)
{
    tnd_role_t low = parties[a < b ? a : b].role, high = parties[a < b ? b : a].role;
    return (low == TND_ROLE_READER && high == TND_ROLE_WORKER) ||
           (low == TND_ROLE_WORKER && high == TND_ROLE_JOIN) ||
           (low == TND_ROLE_JOIN && high == TND_ROLE_FEEDER) ||
           (low == TND_ROLE_FEEDER && high == TND_ROLE_REDUCER);
}

static void tell_link(pipeline_t *self, tnd_actor_id_t id, tnd_actor_id_t peer, bool up)
{
    actor_t *actor = &self->actors[id];
    tnd_role_t role = parties[peer].role;
    tnd_validator_reset(actor->accept, peer);
    switch (parties[id].role) {
    case TND_ROLE_READER:
        (up ? tnd_reader_core_worker_up : tnd_reader_core_worker_lost)(actor->dispatch, peer);
        break;
    case TND_ROLE_WORKER:
        (up ? tnd_preprocessor_core_peer_up : tnd_preprocessor_core_peer_lost)(actor->queue, peer);
        break;
    case TND_ROLE_JOIN:
        if (role == TND_ROLE_FEEDER && up)
            tnd_batcher_core_feeder_up(actor->join, peer, 1);
        else if (role == TND_ROLE_FEEDER)
            tnd_batcher_core_feeder_lost(actor->join, peer);
        break;
    case TND_ROLE_FEEDER:
        if (role == TND_ROLE_JOIN)
            (up ? tnd_feeder_core_join_up : tnd_feeder_core_join_lost)(actor->feed, peer);
        else
            for (uint32_t i = 0; up && i < actor->post_count; i++)
                send_post(self, id, &actor->posts[i]);
        break;
    case TND_ROLE_REDUCER:
        (up ? tnd_reducer_core_feeder_up : tnd_reducer_core_feeder_lost)(actor->rounds, peer);
        break;
    default:
        break;
    }
}

/*  What is under way between two goes with their link. */
static void lose_mail(pipeline_t *self, tnd_actor_id_t a, tnd_actor_id_t b)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < self->mail_count; i++) {
        pipeline_mail_t mail = self->mail[(self->mail_first + i) % MAIL_MAX];
        if (mail.by_link && ((mail.from == a && mail.to == b) || (mail.from == b && mail.to == a)))
            token_drop(self, mail.token);
        else
            self->mail[(self->mail_first + kept++) % MAIL_MAX] = mail;
    }
    self->mail_count = kept;
}

static void links_end(pipeline_t *self, tnd_actor_id_t id)
{
    for (uint32_t peer = 0; peer < ACTORS; peer++)
        if (linked(id, peer)) {
            lose_mail(self, id, peer);
            tell_link(self, peer, id, false);
        }
}

static void links_begin(pipeline_t *self, tnd_actor_id_t id)
{
    for (uint32_t peer = 0; peer < ACTORS; peer++)
        if (linked(id, peer)) {
            tell_link(self, peer, id, true);
            tell_link(self, id, peer, true);
        }
}

void pipeline_cut(pipeline_t *self, tnd_actor_id_t a, tnd_actor_id_t b)
{
    lose_mail(self, a, b);
    bool worker = parties[a].role == TND_ROLE_WORKER || parties[b].role == TND_ROLE_WORKER;
    tell_link(self, a, b, false);
    tell_link(self, b, a, false);
    if (!worker) { /* a worker begins a new life of its own accord */
        tell_link(self, a, b, true);
        tell_link(self, b, a, true);
    }
    perform(self, a);
    perform(self, b);
}

const char *pipeline_check(pipeline_t *self, const pipeline_mail_t *mail)
{
    uint32_t host = mail->from == TND_LEADER ? 0 : parties[mail->from].host;
    uint32_t home = mail->to == TND_LEADER ? 0 : parties[mail->to].host;
    const char *why = NULL;
    if (mail->by_link)
        return tnd_validator_link(self->actors[mail->to].accept, mail->from, &mail->msg, self->now);
    if (host != 0 && host != home)
        why = tnd_validator_relay(&membership, 0, host, &mail->msg);
    if (why == NULL && home != 0 && host != home)
        why = tnd_validator_relay(&membership, home, 0, &mail->msg);
    if (why == NULL && mail->to != TND_LEADER)
        why = tnd_validator_control(self->actors[mail->to].accept, &mail->msg, self->now);
    return why;
}

void pipeline_deliver(pipeline_t *self, const pipeline_mail_t *mail)
{
    if (mail->to == TND_LEADER) {
        tnd_leader_core_message(self->leader, &mail->msg, self->now);
        return;
    }
    tnd_status_t status = take(self, mail->to, &mail->msg, mail->token);
    void **payload = pipeline_payload((tnd_msg_t *)&mail->msg);
    /* A machine that takes payloads took this one, whatever it said. */
    if (payload == NULL || mail->msg.kind == TND_MSG_RESULT)
        token_drop(self, mail->token);
    self->over = self->over || status != TND_OK;
    perform(self, mail->to);
}

void pipeline_lead(pipeline_t *self)
{
    tnd_effect_t effect;
    while (tnd_leader_core_next(self->leader, self->now, &effect)) {
        if (effect.kind == TND_EFFECT_CONTROL)
            send_control(self, TND_LEADER, &effect.msg);
        else if (effect.kind == TND_EFFECT_OUTCOME)
            self->over = true;
    }
}

static void open_actor(pipeline_t *self, tnd_actor_id_t id)
{
    actor_t *actor = &self->actors[id];
    const tnd_party_t *party = &parties[id];
    tnd_validator_config_t accept = {.membership = membership, .bounds = self->bounds, .self = id};
    actor->accept_memory = tnd_allocate_zeroed(1, tnd_validator_bytes(&accept));
    actor->accept = tnd_validator_init(actor->accept_memory, &accept);
    tnd_reader_core_config_t dispatch = {.self = id,
                                         .join = joins[party->lane],
                                         .lane = party->lane,
                                         .tickets_max = 64,
                                         .workers_max = ACTORS};
    tnd_preprocessor_core_config_t queue = {.self = id,
                                            .lanes = LANES,
                                            .readers = readers,
                                            .reader_lane = lane_numbers,
                                            .reader_count = 2,
                                            .joins = joins,
                                            .lane_number = lane_numbers,
                                            .window_blocks = 4,
                                            .window_bytes = 1024};
    tnd_batcher_core_config_t join = {.order = {.self = id,
                                                .lane = party->lane,
                                                .readers = &readers[party->lane],
                                                .reader_count = 1,
                                                .epochs = EPOCHS,
                                                .count = self->bounds.lane_rows,
                                                .block_rows = 8,
                                                .bytes = {.fixed = ROW_BYTES},
                                                .made_max = ROW_BYTES,
                                                .window_bytes = 4096,
                                                .window_blocks = 8},
                                      .lanes = LANES,
                                      .size = 12,
                                      .replicas = REPLICAS,
                                      .feeders = feeders,
                                      .remainder = self->remainder,
                                      .span_epochs = self->span};
    tnd_feeder_core_config_t feed = {.self = id,
                                     .joins = joins,
                                     .join_count = LANES,
                                     .first_replica = party->replica_first,
                                     .replicas = party->replica_count,
                                     .depth = 2,
                                     .unbooked_max = 4};
    static const char *const names[REPLICAS] = {"feed@a", "feed@a", "feed@b", "feed@b"};
    tnd_reducer_core_config_t rounds = {
        .self = id, .replicas = REPLICAS, .feeders = feeders, .names = names, .rounds_max = 4};
    switch (party->role) {
    case TND_ROLE_READER:
        actor->memory = tnd_allocate_zeroed(1, tnd_reader_core_bytes(&dispatch));
        actor->dispatch = tnd_reader_core_init(actor->memory, &dispatch);
        break;
    case TND_ROLE_WORKER:
        actor->memory = tnd_allocate_zeroed(1, tnd_preprocessor_core_bytes(&queue));
        actor->queue = tnd_preprocessor_core_init(actor->memory, &queue);
        break;
    case TND_ROLE_JOIN:
        actor->memory = tnd_allocate_zeroed(1, tnd_batcher_core_bytes(&join));
        actor->join = tnd_batcher_core_init(actor->memory, &join);
        break;
    case TND_ROLE_FEEDER:
        actor->memory = tnd_allocate_zeroed(1, tnd_feeder_core_bytes(&feed));
        actor->feed = tnd_feeder_core_init(actor->memory, &feed);
        break;
    case TND_ROLE_REDUCER:
        actor->memory = tnd_allocate_zeroed(1, tnd_reducer_core_bytes(&rounds));
        actor->rounds = tnd_reducer_core_init(actor->memory, &rounds);
        break;
    default:
        break;
    }
}

static void open_leader(pipeline_t *self)
{
    tnd_leader_core_config_t config = {.members = members,
                                       .member_count = ACTORS,
                                       .hosts = hosts,
                                       .host_count = HOSTS,
                                       .lanes = LANES,
                                       .start_timeout_ns = 120000000000,
                                       .restart_timeout_ns = 10000000000,
                                       .steps_open_max = 16,
                                       .steps_max = TND_UNKNOWN,
                                       .restarts = {5, 10000000, 1000000000, 60000000000}};
    tnd_cursor_t start;
    tnd_cursor_start(&start, LANES);
    self->leader_memory = tnd_allocate_zeroed(1, tnd_leader_core_bytes(&config));
    self->leader = tnd_leader_core_init(self->leader_memory, &config, &start, 0);
    for (uint32_t i = 0; i < HOSTS; i++)
        tnd_leader_core_host_up(self->leader, i, 0);
    for (uint32_t i = 0; i < ACTORS; i++)
        tnd_leader_core_actor_up(self->leader, i, 0);
    tnd_leader_core_go(self->leader);
}

void pipeline_open(pipeline_t *self)
{
    for (uint32_t i = 0; i < ACTORS; i++)
        open_actor(self, i);
    open_leader(self);
    for (uint32_t a = 0; a < ACTORS; a++)
        for (uint32_t b = a + 1; b < ACTORS; b++)
            if (linked(a, b)) {
                tell_link(self, a, b, true);
                tell_link(self, b, a, true);
            }
    for (uint32_t i = 0; i < ACTORS; i++)
        perform(self, i);
}

void pipeline_close(pipeline_t *self)
{
    while (self->tokens != NULL) {
        self->tokens->holders = 1;
        token_drop(self, self->tokens);
    }
    for (uint32_t i = 0; i < ACTORS; i++) {
        free(self->actors[i].memory);
        free(self->actors[i].accept_memory);
    }
    free(self->leader_memory);
    free(self);
}
