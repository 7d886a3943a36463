/*  runtime/core/message_validator.c - whether a message from this peer is allowed and plausible.  */
#include "runtime/core/message_validator.h"

#include <assert.h>
#include <string.h>

#include "runtime/base/bug_injection.h"
#include "runtime/core/protocol/message_table.h"

/*  The credit of a reader and what it has sent. */
typedef struct {
    uint64_t granted, sent;
} credit_t;

struct tnd_validator {
    tnd_validator_config_t config;
    const tnd_party_t *own;
    uint16_t by_link[TND_MSG_KINDS], by_control[TND_MSG_KINDS]; /* senders to this actor */
    uint32_t generation; /* the latest that the leader confirmed */
    uint32_t ahead;      /* a later one that a peer named; 0: none */
    tnd_actor_id_t ahead_peer;
    uint64_t ahead_ns; /* since when, less the time that this actor was away */
    uint64_t asked_ns;
    credit_t *credits; /* by actor id */
};

static const char stranger[] = "it is not part of this run";
static const char wrong_kind[] = "it may not send this message here";
static const char elsewhere[] = "it names a lane or replicas that are not its own";
static const char out_of_range[] = "its numbers are out of range";

static uint16_t bit_of(const tnd_membership_t *membership, tnd_actor_id_t id)
{
    if (id < membership->party_count)
        return (uint16_t)TND_PARTY(membership->parties[id].role);
    if (id == TND_LEADER)
        return TND_PARTY_LEADER;
    return id >= membership->host_id && id - membership->host_id < membership->host_count
               ? TND_PARTY_HOST
               : 0;
}

/* --- numbers ---------------------------------------------------------------------------------- */

static bool has_position(const tnd_bounds_t *bounds, uint32_t epoch, uint64_t first, uint64_t count)
{
    if (epoch >= bounds->epochs)
        return false;
    return bounds->lane_rows == TND_UNKNOWN ||
           (first <= bounds->lane_rows && count <= bounds->lane_rows - first);
}

/*  A position that may also be the end of the stream. */
static bool is_place(const tnd_bounds_t *bounds, tnd_position_t place)
{
    return place.epoch <= bounds->epochs &&
           (bounds->lane_rows == TND_UNKNOWN || place.index <= bounds->lane_rows);
}

static bool serves(const tnd_party_t *party, uint32_t lane)
{
    return party->role == TND_ROLE_WORKER ? lane - party->lane_first < party->lane_count
                                          : lane == party->lane;
}

static const char *check_block(const tnd_validator_t *self, const tnd_party_t *peer,
                               const tnd_block_note_t *block)
{
    const tnd_bounds_t *bounds = &self->config.bounds;
    bool raw = peer->role == TND_ROLE_READER;
    uint64_t rows = raw ? block->count : (uint64_t)block->count * bounds->rows_max;
    if (!serves(peer, block->lane) || !serves(self->own, block->lane))
        return elsewhere;
    if (block->payload == NULL)
        return "a block without rows";
    if (block->asked == 0 || block->count > block->asked || block->rows > rows ||
        block->bad_count > block->count ||
        !has_position(bounds, block->epoch, block->first, block->asked) ||
        (block->bad_count == 0 && block->why_bytes > 0) ||
        block->budget > tnd_row_bytes_budget_max(&bounds->bytes) ||
        block->ragged / (block->count > 0 ? block->count : 1) > bounds->bytes.ragged_max ||
        block->bytes > tnd_row_bytes_most(&bounds->bytes, block->count, block->budget))
        return out_of_range;
    if (block->origin == NULL && (block->rows != block->count || block->bad_count > 0))
        return "its rows do not fit their positions";
    return NULL;
}

static bool carries(const tnd_party_t *party, uint32_t replica)
{
    return replica - party->replica_first < party->replica_count;
}

static const char *check_slice(const tnd_validator_t *self, const tnd_party_t *peer,
                               const tnd_slice_note_t *slice)
{
    if (slice->lane != peer->lane || !carries(self->own, slice->replica))
        return elsewhere;
    if (slice->payload == NULL)
        return "a slice without rows";
    return slice->epoch >= self->config.bounds.epochs || slice->step_of_epoch > slice->step ||
                   (uint64_t)slice->offset + slice->rows > slice->total ||
                   slice->total > slice->step_rows || (slice->rows == 0) != (slice->total == 0)
               ? out_of_range
               : NULL;
}

static const char *check_post(const tnd_validator_t *self, const tnd_party_t *peer,
                              const tnd_msg_t *msg)
{
    const tnd_post_note_t *post = &msg->post;
    bool valued = msg->kind == TND_MSG_POST || msg->kind == TND_MSG_RESULT;
    if (post->count > self->config.bounds.replicas ||
        post->first > self->config.bounds.replicas - post->count)
        return out_of_range;
    if (msg->kind == TND_MSG_POST &&
        (post->first < peer->replica_first ||
         post->first + post->count > peer->replica_first + peer->replica_count))
        return elsewhere;
    return valued && post->payload == NULL ? "a value of a reduction without the value" : NULL;
}

/*  Between a replica and the holder of its parameters. */
static const char *check_parameters(const tnd_party_t *replica, const tnd_msg_t *msg)
{
    if (!carries(replica, msg->parameters.replica))
        return elsewhere;
    bool valued = msg->kind == TND_MSG_INITIAL || msg->kind == TND_MSG_SERVE;
    return valued && msg->parameters.payload == NULL ? "parameters without their values" : NULL;
}

static const char *check_push(const tnd_validator_t *self, const tnd_party_t *peer,
                              const tnd_push_note_t *push)
{
    if (!carries(peer, push->replica))
        return elsewhere;
    if (push->payload == NULL)
        return "a gradient without its values";
    return push->epoch >= self->config.bounds.epochs || push->rows == 0 ? out_of_range : NULL;
}

static const char *check_ticket(const tnd_validator_t *self, const tnd_party_t *peer,
                                const tnd_msg_t *msg)
{
    const tnd_bounds_t *bounds = &self->config.bounds;
    if (msg->ticket.lane != peer->lane || msg->ticket.lane != self->own->lane)
        return elsewhere;
    return msg->ticket.count == 0 || !is_place(bounds, msg->ticket.floor) ||
                   msg->ticket.budget > tnd_row_bytes_budget_max(&bounds->bytes) ||
                   !has_position(bounds, msg->ticket.epoch, msg->ticket.first, msg->ticket.count)
               ? out_of_range
               : NULL;
}

static const char *check_mark(const tnd_validator_t *self, const tnd_party_t *peer,
                              const tnd_msg_t *msg)
{
    const tnd_bounds_t *bounds = &self->config.bounds;
    if (msg->mark.lane != peer->lane || peer == self->own)
        return elsewhere;
    /* With `span_epochs` all epochs are one. */
    uint64_t most = bounds->lane_rows;
    bool bounded = most != TND_UNKNOWN && bounds->epochs != TND_ENDLESS &&
                   !__builtin_mul_overflow(most, bounds->epochs, &most);
    return msg->mark.epoch >= bounds->epochs ||
                   (bounded && msg->mark.rows / bounds->rows_max > most)
               ? out_of_range
               : NULL;
}

static const char *check_rewind(const tnd_validator_t *self, const tnd_msg_t *msg)
{
    const tnd_cursor_t *cursor = msg->rewind.cursor;
    if (cursor == NULL || cursor->lanes != self->config.membership.lanes)
        return "a cursor of other lanes";
    for (uint32_t lane = 0; lane < cursor->lanes; lane++)
        if (!is_place(&self->config.bounds, cursor->part[lane]) ||
            !tnd_cursor_may_have(cursor->since[lane], cursor->step_of_epoch))
            return out_of_range;
    return cursor->epoch > self->config.bounds.epochs ? out_of_range : NULL;
}

static const char *check(const tnd_validator_t *self, tnd_actor_id_t from, const tnd_msg_t *msg)
{
    const tnd_membership_t *membership = &self->config.membership;
    const tnd_party_t *peer = from < membership->party_count ? &membership->parties[from] : NULL;
    if (peer != NULL && peer->chain != self->own->chain)
        return wrong_kind;
    switch (msg->kind) {
    case TND_MSG_BLOCK:
        return check_block(self, peer, &msg->block);
    case TND_MSG_SLICE:
        return check_slice(self, peer, &msg->slice);
    case TND_MSG_POST:
    case TND_MSG_RESULT:
    case TND_MSG_GOT:
    case TND_MSG_CLOSED:
        return check_post(self, peer, msg);
    case TND_MSG_PASSED:
        return msg->passed.first > msg->passed.last || msg->passed.begin > msg->passed.end
                   ? out_of_range
                   : NULL;
    case TND_MSG_INITIAL:
    case TND_MSG_READ:
        return check_parameters(peer, msg);
    case TND_MSG_SERVE:
    case TND_MSG_TAKEN:
        return check_parameters(self->own, msg);
    case TND_MSG_PUSH:
        return check_push(self, peer, &msg->push);
    case TND_MSG_DEAL:
        return msg->deal.replica != TND_NOBODY && msg->deal.replica >= self->config.bounds.replicas
                   ? out_of_range
                   : NULL;
    case TND_MSG_GONE:
        return msg->gone.life == 0 ? out_of_range : NULL;
    case TND_MSG_TICKET:
    case TND_MSG_LOST:
        return check_ticket(self, peer, msg);
    case TND_MSG_BEGIN:
    case TND_MSG_GO:
        return !serves(peer, msg->ticket.lane) || !serves(self->own, msg->ticket.lane) ? elsewhere
                                                                                       : NULL;
    case TND_MSG_BAD:
    case TND_MSG_QUARANTINED:
        return !serves(peer, msg->bad.lane) || !serves(self->own, msg->bad.lane) ? elsewhere
               : msg->bad.way > TND_BAD_END ||
                       !has_position(&self->config.bounds, msg->bad.epoch, msg->bad.position, 1)
                   ? out_of_range
                   : NULL;
    case TND_MSG_MARK:
        return check_mark(self, peer, msg);
    case TND_MSG_REWIND:
        return check_rewind(self, msg);
    default:
        return NULL;
    }
}

/* --- control between hosts -------------------------------------------------------------------- */

static bool is_routed(tnd_msg_kind_t kind, uint16_t sender, uint16_t receiver)
{
    if ((unsigned)kind >= TND_MSG_KINDS)
        return false;
    for (uint32_t i = 0; i < TND_ROUTES_MAX; i++) {
        const tnd_msg_route_t *route = &tnd_msg_specs[kind].routes[i];
        if (route->by_control && (route->senders & sender) && (route->receivers & receiver))
            return true;
    }
    return false;
}

const char *tnd_validator_relay(const tnd_membership_t *membership, uint32_t self, uint32_t host,
                                const tnd_msg_t *msg)
{
    uint16_t sender = bit_of(membership, msg->from), receiver = bit_of(membership, msg->to);
    if (sender == 0 || receiver == 0 || (receiver == TND_PARTY_LEADER && self != 0) ||
        (receiver == TND_PARTY_HOST && msg->to - membership->host_id != self) ||
        ((receiver & TND_PARTY_ACTOR) && self != 0 && membership->parties[msg->to].host != self))
        return stranger;
    if (!is_routed(msg->kind, sender, receiver))
        return wrong_kind;
    const tnd_party_t *from = sender & TND_PARTY_ACTOR ? &membership->parties[msg->from] : NULL;
    uint32_t home = from != NULL               ? from->host
                    : sender == TND_PARTY_HOST ? msg->from - membership->host_id
                                               : 0;
    /* All control passes through the leader's host; others receive what did not come from themselves. */
    if (self == 0 ? home != host : host != 0 || home == self)
        return "it sends in the name of an actor of another host";
    if ((msg->kind == TND_MSG_PART ||
         (msg->kind == TND_MSG_LAST && receiver == TND_PARTY_LEADER)) &&
        msg->part.lane != from->lane)
        return elsewhere;
    if (msg->kind == TND_MSG_MARK && msg->mark.lane != from->lane)
        return elsewhere;
    return NULL;
}

const char *tnd_validator_report(const tnd_bounds_t *bounds, const tnd_msg_t *msg)
{
    if (msg->kind != TND_MSG_PART && msg->kind != TND_MSG_LAST)
        return NULL;
    bool possible = is_place(bounds, msg->part.position) && msg->part.epoch <= bounds->epochs &&
                    tnd_cursor_may_have(msg->part.since, msg->part.step_of_epoch);
    return possible ? NULL : out_of_range;
}

/* --- an actor --------------------------------------------------------------------------------- */

size_t tnd_validator_bytes(const tnd_validator_config_t *config)
{
    return sizeof(tnd_validator_t) + config->membership.party_count * sizeof(credit_t);
}

tnd_validator_t *tnd_validator_init(void *memory, const tnd_validator_config_t *config)
{
    assert(config->self < config->membership.party_count && config->bounds.rows_max > 0);
    tnd_validator_t *self = memory;
    self->config = *config;
    self->own = &config->membership.parties[config->self];
    self->credits = (credit_t *)(self + 1);
    self->ahead_peer = TND_NOBODY;
    uint16_t bit = bit_of(&config->membership, config->self);
    for (uint32_t kind = 0; kind < TND_MSG_KINDS; kind++)
        for (uint32_t i = 0; i < TND_ROUTES_MAX; i++) {
            const tnd_msg_route_t *route = &tnd_msg_specs[kind].routes[i];
            if (route->receivers & bit)
                (route->by_control ? self->by_control : self->by_link)[kind] |= route->senders;
        }
    return self;
}

static void reach(tnd_validator_t *self, uint32_t generation)
{
    if (generation <= self->generation)
        return;
    self->generation = generation;
    if (self->ahead <= generation) {
        self->ahead = 0;
        self->ahead_peer = TND_NOBODY;
    }
}

void tnd_validator_reached(tnd_validator_t *self, uint32_t generation)
{
    if (!TND_BUG(GENERATION_UNHEARD))
        reach(self, generation);
}

static void look_ahead(tnd_validator_t *self, tnd_actor_id_t peer, uint32_t generation,
                       uint64_t now)
{
    if (generation <= self->generation || generation <= self->ahead)
        return;
    self->ahead = generation;
    self->ahead_peer = peer;
    self->ahead_ns = now;
}

static bool is_far_ahead(const tnd_validator_t *self, uint32_t generation)
{
    return generation > self->generation && generation - self->generation > TND_AHEAD_MAX;
}

static bool needs_credit(tnd_role_t role)
{
    return role == TND_ROLE_READER || role == TND_ROLE_CACHE;
}

const char *tnd_validator_link(tnd_validator_t *self, tnd_actor_id_t peer, const tnd_msg_t *msg,
                               uint64_t now)
{
    const tnd_membership_t *membership = &self->config.membership;
    if (peer >= membership->party_count)
        return stranger;
    if (msg->from != peer)
        return "it sends in the name of another actor";
    if ((unsigned)msg->kind >= TND_MSG_KINDS ||
        !(self->by_link[msg->kind] & bit_of(membership, peer)))
        return wrong_kind;
    if (is_far_ahead(self, msg->generation))
        return "it names a generation far ahead of the leader's";
    const char *why = check(self, peer, msg);
    if (why != NULL)
        return why;
    if (msg->kind == TND_MSG_BLOCK && needs_credit(membership->parties[peer].role)) {
        credit_t *credit = &self->credits[peer];
        if (credit->sent >= credit->granted)
            return "it sends without credit";
        credit->sent++;
    }
    look_ahead(self, peer, msg->generation, now);
    return NULL;
}

const char *tnd_validator_control(tnd_validator_t *self, const tnd_msg_t *msg, uint64_t now)
{
    uint16_t sender = bit_of(&self->config.membership, msg->from);
    if (sender == 0)
        return stranger;
    if ((unsigned)msg->kind >= TND_MSG_KINDS || !(self->by_control[msg->kind] & sender))
        return wrong_kind;
    if (sender != TND_PARTY_LEADER && is_far_ahead(self, msg->generation))
        return "it names a generation far ahead of the leader's";
    const char *why = check(self, msg->from, msg);
    if (why != NULL)
        return why;
    if (sender != TND_PARTY_LEADER)
        look_ahead(self, msg->from, msg->generation, now);
    else
        reach(self, msg->generation);
    return NULL;
}

void tnd_validator_sent(tnd_validator_t *self, const tnd_msg_t *msg)
{
    if (msg->kind == TND_MSG_CREDIT && msg->to < self->config.membership.party_count &&
        msg->credit.blocks > self->credits[msg->to].granted)
        self->credits[msg->to].granted = msg->credit.blocks;
}

void tnd_validator_reset(tnd_validator_t *self, tnd_actor_id_t peer)
{
    if (peer < self->config.membership.party_count)
        self->credits[peer] = (credit_t){0};
}

tnd_actor_id_t tnd_validator_unconfirmed(tnd_validator_t *self, uint64_t now, uint64_t patience_ns)
{
    uint64_t since = self->asked_ns > self->ahead_ns ? self->asked_ns : self->ahead_ns;
    if (now > since && now - since > patience_ns / 8 && !TND_BUG(LIAR_WHILE_AWAY))
        self->ahead_ns += now - since - patience_ns / 8;
    self->asked_ns = now;
    return self->ahead != 0 && now - self->ahead_ns >= patience_ns ? self->ahead_peer : TND_NOBODY;
}
