/*  transport/zmq/connections.c - the peers of a hub: a link end each, and notices. */
#include "transport/zmq/connections.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/base/allocation.h"
#include "runtime/base/user.h"

void tnd_connections_init(tnd_connections_t *self, tnd_hub_t *hub,
                          const tnd_connection_ops_t *carrier, const tnd_hub_config_t *config)
{
    *self = (tnd_connections_t){.hub = hub,
                                .carrier = carrier,
                                .config = *config,
                                .birth = config->life,
                                .deadline = TND_NEVER};
}

void tnd_connections_fini(tnd_connections_t *self)
{
    for (uint32_t i = 0; i < self->count; i++) {
        if (self->peers[i]->wire != NULL)
            self->carrier->shut(self->hub, self->peers[i]);
        free(self->peers[i]);
    }
    free(self->peers);
    free(self->notices);
}

/*  Forgets guests whose connections have ended.  Returns the number of the others. */
static uint32_t sweep_guests(tnd_connections_t *self)
{
    uint32_t kept = 0, guests = 0;
    for (uint32_t i = 0; i < self->count; i++) {
        tnd_connection_t *peer = self->peers[i];
        bool gone = peer->guest && peer->wire == NULL;
        guests += peer->guest && !gone;
        if (gone)
            free(peer);
        else
            self->peers[kept++] = peer;
    }
    self->count = kept;
    return guests;
}

static bool is_guest_of(const tnd_connections_t *self, uint32_t port, tnd_actor_id_t id)
{
    return self->config.is_guest != NULL && self->config.is_guest(self->config.context, port, id);
}

static tnd_connection_t *add(tnd_connections_t *self, uint32_t port, tnd_actor_id_t id,
                             const tnd_terms_t *terms, bool binder, uint64_t now)
{
    if (self->count == self->room) {
        self->room = self->room == 0 ? 8 : 2 * self->room;
        self->peers = tnd_resize(self->peers, self->room, sizeof(tnd_connection_t *));
    }
    tnd_connection_t *peer = tnd_allocate(1, sizeof *peer);
    *peer = (tnd_connection_t){.port = port, .id = id};
    tnd_end_config_t config = {.self = self->config.self,
                               .peer = id,
                               .terms = *terms,
                               .birth = self->birth,
                               .link_timeout_ns = self->config.link_timeout_ns,
                               .search_ns = self->config.search_ns,
                               .binder = binder};
    tnd_end_init(&peer->end, &config, self->config.life, now);
    self->peers[self->count++] = peer;
    return peer;
}

static void forget(tnd_connections_t *self, tnd_connection_t *peer)
{
    for (uint32_t i = 0; i < self->count; i++)
        if (self->peers[i] == peer) {
            self->peers[i] = self->peers[--self->count];
            free(peer);
            return;
        }
    assert(!"a peer of another hub");
}

/*  The deadline may be early, never late; a tick computes it again. */
static void hurry(tnd_connections_t *self, const tnd_connection_t *peer)
{
    uint64_t deadline = tnd_end_deadline(&peer->end);
    if (deadline < self->deadline)
        self->deadline = deadline;
}

static void notify(tnd_connections_t *self, tnd_arrival_kind_t kind, uint32_t port,
                   tnd_actor_id_t id, tnd_life_t life, const char *why)
{
    if (self->notice_count == self->notice_room) {
        uint32_t room = self->notice_room == 0 ? 8 : 2 * self->notice_room;
        tnd_arrival_t *notices = tnd_allocate(room, sizeof *notices);
        for (uint32_t i = 0; i < self->notice_count; i++)
            notices[i] = self->notices[(self->notice_first + i) % self->notice_room];
        free(self->notices);
        self->notices = notices;
        self->notice_room = room;
        self->notice_first = 0;
    }
    tnd_arrival_t *notice =
        &self->notices[(self->notice_first + self->notice_count++) % self->notice_room];
    memset(notice, 0, sizeof *notice);
    notice->kind = kind;
    notice->port = port;
    notice->peer = id;
    notice->life = life;
    if (why != NULL)
        snprintf(notice->why, sizeof notice->why, "%s", why);
}

static void up(tnd_connections_t *self, const tnd_connection_t *peer)
{
    notify(self, TND_ARRIVAL_UP, peer->port, peer->id, peer->end.life, NULL);
    uint32_t last = self->notice_first + self->notice_count - 1;
    self->notices[last % self->notice_room].birth = peer->end.birth;
}

bool tnd_connections_notice(tnd_connections_t *self, tnd_arrival_t *arrival)
{
    if (self->notice_count == 0)
        return false;
    *arrival = self->notices[self->notice_first];
    self->notice_first = (self->notice_first + 1) % self->notice_room;
    self->notice_count--;
    return true;
}

/*  Removes the notices of a peer that is forgotten. */
static void withdraw(tnd_connections_t *self, const tnd_connection_t *peer)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < self->notice_count; i++) {
        const tnd_arrival_t *notice = &self->notices[(self->notice_first + i) % self->notice_room];
        if (notice->port != peer->port || notice->peer != peer->id)
            self->notices[(self->notice_first + kept++) % self->notice_room] = *notice;
    }
    self->notice_count = kept;
}

void tnd_connections_turned_away(tnd_connections_t *self, uint32_t port, tnd_actor_id_t id,
                                 const char *why)
{
    self->counts.refused++;
    notify(self, TND_ARRIVAL_REFUSED, port, id, 0, why);
    uint32_t last = (self->notice_first + self->notice_count - 1) % self->notice_room;
    if (self->address != NULL)
        snprintf(self->notices[last].address, sizeof self->notices[last].address, "%s",
                 self->address);
}

static void turned_away_foreign(tnd_connections_t *self, uint32_t port, tnd_actor_id_t id,
                                const char *why)
{
    tnd_connections_turned_away(self, port, id, why);
    uint32_t last = self->notice_first + self->notice_count - 1;
    self->notices[last % self->notice_room].is_foreign = true;
}

/*  Whether a process may be at the other end; if not, `why` says so, or is empty if it has gone.
 *  `dialled`: this hub opened the connection. */
static bool admits(const tnd_connections_t *self, tnd_peer_t other, bool looks, bool dialled,
                   char *why, size_t room)
{
    const tnd_admission_t *rules = self->config.admission;
    const char *there = dialled ? "listens" : "connects", *here = dialled ? "connects" : "listens";
    char name[2][TND_USER_ROOM];
    why[0] = '\0';
    switch (rules == NULL ? TND_ADMITTED : tnd_admission_judge(rules, other, looks)) {
    case TND_ADMITTED:
        return true;
    case TND_ADMISSION_OVER:
        break;
    case TND_ADMISSION_USER:
        tnd_user_name(other.user, name[0]);
        tnd_user_name(rules->self, name[1]);
        if (looks)
            snprintf(why, room, "the run belongs to another user of this machine (%s, not %s)",
                     name[1], name[0]);
        else
            snprintf(why, room,
                     "the side that %s is run by user %s, the side that %s by user %s: to allow "
                     "it, add `security: {users: [%s, %s]}`",
                     there, name[0], here, name[1], name[0], name[1]);
        break;
    case TND_ADMISSION_MACHINE:
        snprintf(why, room,
                 "the user who runs the side that %s cannot be known (it is on another machine or "
                 "in another network namespace): in a network that you trust, add `insecure: true`",
                 there);
        break;
    }
    return false;
}

/*  Asks the transport whether bytes moved if there were no messages. */
static void look(tnd_connections_t *self, tnd_connection_t *peer, uint64_t now)
{
    tnd_movement_t movement;
    if (tnd_end_is_quiet(&peer->end, now) && self->carrier->moved(self->hub, peer, now, &movement))
        tnd_end_moved(&peer->end, &movement);
}

static void shut(tnd_connections_t *self, tnd_connection_t *peer)
{
    if (peer->wire == NULL)
        return;
    self->carrier->shut(self->hub, peer);
    peer->parting = false;
    if (peer->end.config.binder)
        peer->wire = NULL;
}

static void notify_lost(tnd_connections_t *self, const tnd_connection_t *peer, tnd_life_t life,
                        tnd_loss_t loss, const char *why)
{
    notify(self, TND_ARRIVAL_LOST, peer->port, peer->id, life, why);
    uint32_t last = self->notice_first + self->notice_count - 1;
    self->notices[last % self->notice_room].loss = loss;
}

static void lost(tnd_connections_t *self, tnd_connection_t *peer, tnd_loss_t loss, const char *why)
{
    shut(self, peer);
    self->counts.lost++;
    notify_lost(self, peer, peer->end.life, loss, why);
}

void tnd_connections_flush(tnd_connections_t *self, tnd_connection_t *peer, uint64_t now)
{
    tnd_msg_t msg;
    for (tnd_end_t before = peer->end; tnd_end_next(&peer->end, now, &msg); before = peer->end) {
        if (!self->carrier->say(self->hub, peer, &msg)) {
            peer->end = before;
            return;
        }
        peer->parting = peer->parting || msg.kind == TND_MSG_GOODBYE;
    }
}

tnd_connection_t *tnd_connections_connect(tnd_connections_t *self, uint32_t port, tnd_actor_id_t id,
                                          const tnd_terms_t *terms, void *wire, uint64_t now)
{
    tnd_connection_t *peer = add(self, port, id, terms, false, now);
    peer->wire = wire;
    hurry(self, peer);
    return peer;
}

void tnd_connections_connect_now(tnd_connections_t *self, uint32_t port, tnd_actor_id_t id,
                                 uint64_t now)
{
    tnd_connection_t *peer = tnd_connections_find(self, port, id);
    if (peer == NULL)
        return;
    tnd_end_connect_now(&peer->end, now);
    hurry(self, peer);
}

tnd_connection_t *tnd_connections_find(const tnd_connections_t *self, uint32_t port,
                                       tnd_actor_id_t id)
{
    for (uint32_t i = 0; i < self->count; i++)
        if (self->peers[i]->id == id && self->peers[i]->port == port)
            return self->peers[i];
    return NULL;
}

void *tnd_connections_disconnect(tnd_connections_t *self, uint32_t port, tnd_actor_id_t id)
{
    tnd_connection_t *peer = tnd_connections_find(self, port, id);
    if (peer == NULL || peer->end.config.binder)
        return NULL;
    void *wire = peer->wire;
    shut(self, peer);
    withdraw(self, peer);
    forget(self, peer);
    return wire;
}

tnd_connection_t *tnd_connections_hello(tnd_connections_t *self, uint32_t port,
                                        const tnd_terms_t *terms, void *wire, const tnd_msg_t *msg,
                                        uint64_t now)
{
    tnd_connection_t *peer = tnd_connections_find(self, port, msg->from);
    if (peer == NULL)
        peer = add(self, port, msg->from, terms, true, now);
    if (!peer->end.config.binder)
        return NULL;

    peer->guest = is_guest_of(self, port, msg->from);
    peer->end.config.terms = *terms;
    if (peer->guest)
        memset(peer->end.config.terms.graph, 0, sizeof peer->end.config.terms.graph);
    tnd_end_change_t change = tnd_end_heard(&peer->end, msg, now);
    if (change == TND_END_LOST) {
        lost(self, peer, TND_LOSS_REPLACED, "the peer reconnected by a new connection");
        change = tnd_end_heard(&peer->end, msg, now);
    }
    if (change == TND_END_STALE || change == TND_END_REFUTED) {
        tnd_connection_t visitor = *peer;
        tnd_msg_t answer =
            change == TND_END_STALE ? tnd_end_stale(&peer->end) : tnd_end_refute(&peer->end);
        visitor.wire = wire;
        (void)self->carrier->say(self->hub, &visitor, &answer);
    }
    if (change == TND_END_REFUTED)
        tnd_connections_turned_away(self, port, peer->id, peer->end.why);
    if (change == TND_END_NOTHING || change == TND_END_STALE || change == TND_END_REFUTED)
        return NULL;
    if (peer->wire != wire)
        shut(self, peer);
    peer->wire = wire;
    tnd_connections_flush(self, peer, now);
    hurry(self, peer);
    if (change == TND_END_UP) {
        up(self, peer);
        return peer;
    }
    tnd_connections_turned_away(self, port, peer->id, peer->end.why);
    /* The life of a peer that was connected before is remembered. */
    peer->wire = NULL;
    if (!peer->end.known)
        forget(self, peer);
    return NULL;
}

/*  Whether a message is the answer of a listener to HELLO. */
static bool is_answer(const tnd_connection_t *peer, const tnd_msg_t *msg)
{
    return !peer->end.config.binder && peer->end.state == TND_END_OPENING &&
           (msg->kind == TND_MSG_WELCOME || msg->kind == TND_MSG_STALE ||
            (msg->kind == TND_MSG_REFUSE && !msg->refuse.elsewhere));
}

/*  An answer of a process that may not be at the other end is one of another listener: the peer may
 *  listen there again. */
static void hear_foreign(tnd_connections_t *self, tnd_connection_t *peer, const char *why,
                         uint64_t now)
{
    tnd_msg_t refuse = {.kind = TND_MSG_REFUSE, .from = peer->id, .refuse.why = why};
    refuse.refuse.elsewhere = true;
    tnd_end_change_t change = tnd_end_heard(&peer->end, &refuse, now);
    shut(self, peer);
    if (change == TND_END_REFUSAL)
        turned_away_foreign(self, peer->port, peer->id, peer->end.why);
    hurry(self, peer);
}

bool tnd_connections_heard(tnd_connections_t *self, tnd_connection_t *peer, const tnd_msg_t *msg,
                           uint64_t now)
{
    char why[256];
    if (is_answer(peer, msg) && self->carrier->other != NULL &&
        !admits(self, self->carrier->other(self->hub, peer), false, true, why, sizeof why)) {
        if (why[0] != '\0')
            hear_foreign(self, peer, why, now);
        return false;
    }
    if (msg->kind == TND_MSG_PING)
        look(self, peer, now);
    tnd_end_change_t change = tnd_end_heard(&peer->end, msg, now);
    if (msg->kind > TND_MSG_PONG)
        return peer->end.state == TND_END_OPEN;
    if (change == TND_END_UP)
        up(self, peer);
    if (change == TND_END_LOST && msg->kind == TND_MSG_GOODBYE) {
        lost(self, peer, TND_LOSS_CLOSED, "the peer has closed the connection and still runs");
        hurry(self, peer);
        return false;
    }
    if (change == TND_END_LOST) { /* it takes a later life, or dials again */
        shut(self, peer);
        hurry(self, peer);
        return false;
    }
    if (change == TND_END_REFUSAL) {
        shut(self, peer);
        tnd_connections_turned_away(self, peer->port, peer->id, peer->end.why);
        return false;
    }
    tnd_connections_flush(self, peer, now);
    return false;
}

bool tnd_connections_deliver(tnd_connections_t *self, tnd_connection_t *peer, const tnd_msg_t *msg,
                             tnd_carry_t carry, uint64_t now, tnd_arrival_t *arrival)
{
    if (!tnd_connections_heard(self, peer, msg, now))
        return false;
    arrival->kind = TND_ARRIVAL_MESSAGE;
    arrival->port = peer->port;
    arrival->peer = peer->id;
    arrival->life = peer->end.life;
    arrival->carry = carry;
    arrival->msg = *msg;
    arrival->cursor = carry == TND_CARRY_CURSOR ? msg->rewind.cursor : NULL;
    arrival->why[0] = '\0';
    self->counts.messages_in++;
    return true;
}

static void end(tnd_connections_t *self, tnd_connection_t *peer, tnd_loss_t loss, const char *why,
                uint64_t now)
{
    bool was_open = peer->end.state == TND_END_OPEN;
    if (tnd_end_disconnected(&peer->end, now) != TND_END_LOST)
        return;
    if (was_open)
        lost(self, peer, loss, why);
    else
        shut(self, peer);
    hurry(self, peer);
}

void tnd_connections_gone(tnd_connections_t *self, tnd_connection_t *peer, const char *why,
                          uint64_t now)
{
    end(self, peer, TND_LOSS_ENDED, why, now);
}

void tnd_connections_disconnect_peer(tnd_connections_t *self, uint32_t port, tnd_actor_id_t id,
                                     const char *why, uint64_t now)
{
    tnd_connection_t *peer = tnd_connections_find(self, port, id);
    if (peer == NULL || peer->end.state != TND_END_OPEN)
        return;
    self->counts.refused++;
    end(self, peer, TND_LOSS_OURS, why, now);
}

void tnd_connections_violated(tnd_connections_t *self, tnd_connection_t *peer, const char *why,
                              uint64_t now)
{
    char text[256];
    snprintf(text, sizeof text, "the peer sent an invalid message: %.200s", why);
    self->counts.refused++;
    end(self, peer, TND_LOSS_OURS, text, now);
}

void tnd_connections_does_not_read(tnd_connections_t *self, tnd_connection_t *peer, uint64_t now)
{
    self->counts.refused++;
    end(self, peer, TND_LOSS_OURS, "the peer does not read the data that it requests", now);
}

bool tnd_connections_expects(tnd_connections_t *self, uint32_t port, const tnd_terms_t *terms,
                             tnd_peer_t other, const tnd_msg_t *hello,
                             tnd_connections_refusal_t *refusal)
{
    const tnd_hub_config_t *config = &self->config;
    size_t room = sizeof refusal->why;
    char *why = refusal->why;
    bool is_guest = is_guest_of(self, port, hello->from);
    refusal->msg = (tnd_msg_t){
        .kind = TND_MSG_REFUSE, .from = config->self, .to = hello->from, .refuse.why = why};
    if (!admits(self, other, is_guest, false, why, room)) {
        if (why[0] != '\0')
            turned_away_foreign(self, port, hello->from, why);
        return false;
    }
    if (!is_guest && !tnd_end_is_meant(terms, hello)) {
        snprintf(why, room, "%s listens here, but with another life or port than expected",
                 config->name);
        refusal->msg.refuse.elsewhere = true;
        self->counts.refused++;
        return false;
    }
    if (config->expects != NULL && !config->expects(config->context, port, hello->from))
        snprintf(why, room,
                 "%s does not expect actor %u here: compare the topology files of both hosts",
                 config->name, hello->from);
    else if (is_guest && sweep_guests(self) >= TND_GUESTS_MAX)
        snprintf(why, room, "%d others look at this run: try again later", TND_GUESTS_MAX);
    else if (hello->to != config->self)
        snprintf(why, room,
                 "%s (actor %u) listens here, not actor %u: the endpoint belongs to another "
                 "run or another topology file",
                 config->name, config->self, hello->to);
    else
        return true;
    tnd_connections_turned_away(self, port, hello->from, why);
    return false;
}

uint32_t tnd_connections_unread(const tnd_connections_t *self, uint32_t port)
{
    uint32_t most =
        self->config.unread != NULL ? self->config.unread(self->config.context, port) : TND_UNREAD;
    return most + TND_UNREAD_WORDS;
}

static void tick(tnd_connections_t *self, tnd_connection_t *peer, uint64_t now)
{
    bool was_open = peer->end.state == TND_END_OPEN;
    bool is_busy =
        was_open && self->config.busy != NULL && self->config.busy(self->config.context, peer->id);
    look(self, peer, now);
    switch (tnd_end_tick(&peer->end, is_busy, now)) {
    case TND_END_CONNECT:
        if (self->carrier->open(self->hub, peer))
            tnd_end_connected(&peer->end, now);
        else
            (void)tnd_end_disconnected(&peer->end, now);
        break;
    case TND_END_LOST:
        tnd_connections_flush(self, peer, now);
        if (was_open)
            lost(self, peer, TND_LOSS_SILENT, "the peer has been silent for too long");
        else
            shut(self, peer);
        break;
    case TND_END_NOTHING:
    case TND_END_UP:
    case TND_END_REFUTED:
    case TND_END_STALE:
    case TND_END_REFUSAL:
        break;
    }
    tnd_connections_flush(self, peer, now);
}

void tnd_connections_tick(tnd_connections_t *self, uint64_t now)
{
    if (now < self->deadline)
        return;
    self->deadline = TND_NEVER;
    for (uint32_t i = 0; i < self->count; i++) {
        tick(self, self->peers[i], now);
        hurry(self, self->peers[i]);
    }
}

void tnd_connections_rebirth(tnd_connections_t *self, tnd_life_t life, uint64_t now)
{
    self->config.life = life;
    for (uint32_t i = 0; i < self->count; i++) {
        tnd_connection_t *peer = self->peers[i];
        if (peer->end.config.binder)
            continue;
        bool was_open = peer->end.state == TND_END_OPEN;
        shut(self, peer);
        tnd_end_rebirth(&peer->end, life, now);
        if (was_open)
            notify_lost(self, peer, 0, TND_LOSS_OURS, "a new life has begun");
        hurry(self, peer);
    }
}
