/*  tests/sim/network.c - connections that fail in the ways libzmq was measured to fail.
 *
 *  Sends into a half-open connection succeed.  A peer that connects under the identity of a
 *  connection that the binding socket still considers open is ignored without notice.  A lost
 *  connection loses all its messages in flight, in both directions. */
#include <assert.h>
#include <string.h>

#include "runtime/base/bug_injection.h"
#include "runtime/core/protocol/admission.h"
#include "tests/sim/cluster.h"

static void add(sim_t *self, uint32_t connector, uint32_t binder)
{
    assert(self->link_count < SIM_LINKS);
    uint32_t index = self->link_count++;
    sim_link_t *link = &self->links[index];
    memset(link, 0, sizeof *link);
    link->actor[0] = connector;
    link->actor[1] = binder;
    link->host[0] = self->actors[connector].host;
    link->host[1] = self->actors[binder].host;
    self->link_of[connector][binder] = self->link_of[binder][connector] = (uint16_t)(index + 1);
    for (uint32_t side = 0; side < 2; side++) {
        sim_actor_t *actor = &self->actors[link->actor[side]];
        actor->links[actor->link_count++] = (uint16_t)index;
    }
}

/*  Whether rows pass from actors of role `from` to those of role `to`, or values between them; `to`
 *  connects. */
static bool connects(const sim_plan_t *plan, tnd_role_t to, tnd_role_t from)
{
    bool works = plan->workers > 0, first = plan->cached && plan->cache_first;
    bool last = plan->cached && !first;
    switch (from) {
    case TND_ROLE_READER:
        return to == (works && !first ? TND_ROLE_WORKER
                      : plan->cached  ? TND_ROLE_CACHE
                                      : TND_ROLE_JOIN);
    case TND_ROLE_CACHE: /* workers connect to both of their ends */
        return to == (works ? TND_ROLE_WORKER : TND_ROLE_JOIN) || (to == TND_ROLE_JOIN && last);
    case TND_ROLE_JOIN:
        return (to == TND_ROLE_WORKER && works && !last) || to == TND_ROLE_FEEDER ||
               to == TND_ROLE_REPLICA;
    case TND_ROLE_PARAMETERS:
        return to == TND_ROLE_REPLICA;
    case TND_ROLE_REDUCER:
        return to == TND_ROLE_FEEDER;
    default:
        return false;
    }
}

void sim_links_plan(sim_t *self)
{
    const sim_plan_t *plan = &self->plan;
    self->link_count = 0;
    for (uint32_t h = 1; h < plan->hosts; h++) {
        sim_link_t *link = &self->links[self->link_count];
        memset(link, 0, sizeof *link);
        link->host[0] = h;
        link->actor[0] = link->actor[1] = SIM_NONE;
        self->hosts[h].control = self->link_count++;
    }
    for (uint32_t a = 0; a < plan->member_count; a++)
        for (uint32_t b = 0; b < plan->member_count; b++) {
            const tnd_member_t *to = &plan->members[a], *from = &plan->members[b];
            bool same = to->role == TND_ROLE_WORKER ? sim_plan_serves(plan, to->host, from->lane)
                                                    : to->lane == from->lane;
            bool feeds = to->role == TND_ROLE_FEEDER || to->role == TND_ROLE_REPLICA;
            if (connects(plan, to->role, from->role) && (same || feeds))
                add(self, a, b);
        }
}

/*  What both ends of every link require. */
static const tnd_terms_t common_terms = {.graph = {11, 12}, .schema = 13, .numeric = 14, .abi = 1};

static tnd_actor_id_t id_of(const sim_link_t *link, uint32_t side)
{
    return link->actor[side] == SIM_NONE ? SIM_HOST_ID + link->host[side] : link->actor[side];
}

static bool is_alive(const sim_t *self, const sim_link_t *link, uint32_t side)
{
    return self->hosts[link->host[side]].alive &&
           (link->actor[side] == SIM_NONE || self->actors[link->actor[side]].alive);
}

static bool is_broken(const sim_link_t *link)
{
    return link->net <= link->broken;
}

void sim_link_birth(sim_t *self, uint32_t index, uint32_t side, bool again)
{
    sim_link_t *link = &self->links[index];
    uint64_t now = sim_clock(self, link->host[side]);
    tnd_life_t life = link->actor[side] == SIM_NONE ? self->hosts[link->host[side]].said
                                                    : self->actors[link->actor[side]].said;
    tnd_end_config_t config = {.self = id_of(link, side),
                               .peer = id_of(link, 1 - side),
                               .birth = life,
                               .terms = common_terms,
                               .link_timeout_ns = self->plan.link_timeout_ns,
                               .search_ns = 8 * self->plan.dead_after_ns,
                               .binder = side == 1};
    if (side == 0 && link->actor[0] != SIM_NONE)
        config.terms.listener = link->dialled.listener;
    if (again)
        tnd_end_rebirth(&link->end[side], life, now);
    else
        tnd_end_init(&link->end[side], &config, life, now);
}

static uint64_t delay(sim_t *self, const sim_link_t *link)
{
    uint64_t ns = self->plan.latency_ns;
    if (link->host[0] == link->host[1])
        ns /= 8;
    else if (self->plan.jitter_ns > 0)
        ns += sim_below(&self->chance, (uint32_t)self->plan.jitter_ns);
    if (self->now < link->slow_until)
        ns += (link->slow_until - self->now) / 2;
    return ns + 1000;
}

/*  How much longer messages to that side take. */
static uint64_t lag(const sim_t *self, const sim_link_t *link, uint32_t side)
{
    return side == link->lag_side && self->now < link->lag_until ? link->lag_ns : 0;
}

static bool carries_rows(const tnd_msg_t *msg)
{
    return msg->kind == TND_MSG_BLOCK || msg->kind == TND_MSG_SLICE || msg->kind == TND_MSG_POST ||
           msg->kind == TND_MSG_RESULT || msg->kind == TND_MSG_SERVE || msg->kind == TND_MSG_PUSH;
}

/*  Whether bytes arrive at that side at that time, on the connection of its end. */
static bool moves_at(const sim_link_t *link, uint32_t side, uint64_t at)
{
    uint32_t net = side == 0 ? link->net : link->bound;
    return net != 0 && net == link->net && !is_broken(link) && at >= link->moves_from[side] &&
           at < link->last[side];
}

static bool is_moving(const sim_t *self, const sim_link_t *link, uint32_t side)
{
    return moves_at(link, side, self->now);
}

/*  Whether bytes leave that side now: where the lag is hidden, a proxy has them at once. */
static bool is_sending(const sim_t *self, const sim_link_t *link, uint32_t side)
{
    return moves_at(link, 1 - side, self->now + link->proxy_ns[1 - side]);
}

/*  What the transport knows in addition to messages. */
static void look(sim_t *self, uint32_t index, uint32_t side, uint64_t now)
{
    sim_link_t *link = &self->links[index];
    bool is_long = self->now < link->lag_until && !link->lag_is_hidden;
    tnd_movement_t movement = {.came_ns = is_moving(self, link, side) ? now : 0,
                               .went_ns = is_sending(self, link, side) ? now : 0,
                               .round_ns = is_long ? link->lag_ns : 0,
                               .overdue = is_long && self->now < link->lag_since + link->lag_ns};
    if (tnd_end_is_quiet(&link->end[side], now))
        tnd_end_moved(&link->end[side], &movement);
}

static void put(sim_t *self, uint32_t index, uint32_t side, uint32_t net, const tnd_msg_t *msg)
{
    sim_link_t *link = &self->links[index];
    tnd_msg_t copy = *msg;
    bool reaches = is_alive(self, link, 1 - side) || (side == 0 && link->stray);
    if (net <= link->broken || net == 0 || net != link->net || !reaches) {
        sim_free_msg(self, &copy);
        return;
    }
    uint32_t at;
    sim_random_t chance = self->chance;
    sim_packet_t *packet = sim_packet(self, &at);
    packet->msg = copy;
    packet->net = net;
    packet->link = index;
    packet->side = 1 - side;
    uint64_t late = lag(self, link, 1 - side);
    uint64_t arrival = self->now + delay(self, link) + late;
    link->proxy_ns[1 - side] = link->lag_is_hidden ? late : 0;
    if (arrival < link->held_until[1 - side])
        arrival = link->held_until[1 - side];
    if (arrival <= link->last[1 - side])
        arrival = link->last[1 - side] + 1;
    else
        link->moves_from[1 - side] = arrival;
    if (self->now < link->crawls_until && carries_rows(msg)) {
        arrival += link->transfer_ns;
        self->counts.transfers += link->transfer_ns > self->plan.link_timeout_ns;
        if (arrival > self->crossing_until)
            self->crossing_until = arrival;
    }
    link->last[1 - side] = arrival;
    link->parting = msg->kind == TND_MSG_GOODBYE;
    if (link->parting)
        self->chance = chance; /* the runs of kept seeds stay the same */
    sim_agenda_put(&self->agenda, arrival, SIM_AT_LINK, at, 0, 0);
}

/*  Tells the connector that another listener is here. */
static void answer_elsewhere(sim_t *self, uint32_t index, uint32_t net, uint32_t here)
{
    const sim_link_t *link = &self->links[index];
    tnd_msg_t answer = {.kind = TND_MSG_REFUSE, .from = here, .to = id_of(link, 0)};
    answer.refuse.why = "another listener was meant";
    answer.refuse.elsewhere = true;
    put(self, index, 1, net, &answer);
}

/*  Sends the messages of the end itself. */
static void flush(sim_t *self, uint32_t index, uint32_t side)
{
    sim_link_t *link = &self->links[index];
    tnd_msg_t msg;
    while (tnd_end_next(&link->end[side], sim_clock(self, link->host[side]), &msg))
        put(self, index, side, side == 0 ? link->net : link->bound, &msg);
}

static void notify(sim_t *self, uint32_t index, uint32_t side, uint32_t net)
{
    const sim_link_t *link = &self->links[index];
    uint64_t at = self->now + 1000 + sim_below(&self->chance, 200 * 1000) + lag(self, link, side);
    if (at < link->held_until[side])
        at = link->held_until[side];
    if (link->parting && at <= link->last[side])
        at = link->last[side] + 1;
    sim_agenda_put(&self->agenda, at, SIM_AT_NOTICE, index, side, net);
}

/*  If no socket listens the system reports it, unless the machine is away with its process: every
 *  other time. */
static void refuse(sim_t *self, uint32_t index)
{
    const sim_link_t *link = &self->links[index];
    if (link->net % 2 == 0)
        sim_after(self, 100 * 1000, SIM_AT_NOTICE, index, 0, link->net);
}

void sim_link_break(sim_t *self, uint32_t index, bool tell_connector, bool tell_binder)
{
    sim_link_t *link = &self->links[index];
    if (link->net == 0 || is_broken(link))
        return;
    link->broken = link->net;
    if (tell_connector)
        notify(self, index, 0, link->net);
    if (tell_binder)
        notify(self, index, 1, link->net);
    else {
        link->ghost = true;
        link->ghost_life = link->end[0].life;
        link->ghost_connection = link->end[0].connection;
    }
}

/*  One side closes its socket or dies. */
void sim_link_drop(sim_t *self, uint32_t index, uint32_t side)
{
    sim_link_t *link = &self->links[index];
    if (side == 0) {
        if (link->net != 0 && !is_broken(link))
            notify(self, index, 1, link->net);
        link->net = 0;
    } else {
        if (link->bound != 0 && link->bound == link->net && !is_alive(self, link, 1)) {
            if (!is_broken(link))
                notify(self, index, 0, link->net);
            link->broken = link->net;
            link->ghost = false;
        }
        link->bound = 0;
    }
}

static void lost(sim_t *self, uint32_t index, uint32_t side, tnd_loss_t loss)
{
    sim_link_t *link = &self->links[index];
    sim_host_t *host = &self->hosts[link->host[0]];
    if (link->actor[side] == SIM_NONE && side == 1)
        host->lost_net = link->bound;
    else if (link->actor[side] == SIM_NONE && loss == TND_LOSS_SILENT && !is_broken(link))
        host->given_up_net = link->net;
    sim_say(self, "%s loses %s", sim_name(self, id_of(link, side)),
            sim_name(self, id_of(link, 1 - side)));
    sim_link_drop(self, index, side);
    if (link->actor[side] == SIM_NONE)
        sim_host_lost(self, index, side, loss);
    else
        sim_actor_lost(self, link->actor[side], link->actor[1 - side]);
}

static void open(sim_t *self, uint32_t index)
{
    sim_link_t *link = &self->links[index];
    const tnd_end_t *end = &link->end[0];
    uint32_t port, owner = link->actor[1];
    bool listens = is_alive(self, link, 1), meant = true;
    if (owner != SIM_NONE) {
        owner = sim_endpoint_owner(self, link->dialled.endpoint, &port);
        listens = owner != SIM_NONE;
        meant = listens && owner == link->actor[1] &&
                self->actors[owner].places[port].listener == link->dialled.listener;
    }
    link->net = ++link->nets;
    link->dialled_at = self->now;
    link->parting = false;
    link->stray = listens && !meant;
    self->counts.strays += link->stray;
    if (!listens || (meant && link->ghost && link->ghost_life == end->life &&
                     link->ghost_connection == end->connection))
        link->broken = link->net;
    if (!listens)
        refuse(self, index);
    link->last[0] = link->last[1] = self->now;
    tnd_end_connected(&link->end[0], sim_clock(self, link->host[0]));
}

/*  Whether messages to that end are dropped because its actor does not run yet (a planted bug). */
static bool is_unheard(const sim_t *self, const sim_link_t *link, uint32_t side)
{
    return TND_BUG(EARLY_PEER_UNHEARD) && link->actor[side] != SIM_NONE &&
           !self->actors[link->actor[side]].started;
}

/*  `loss`: why, if the change is a loss. */
static void changed(sim_t *self, uint32_t index, uint32_t side, tnd_end_change_t change,
                    tnd_loss_t loss)
{
    sim_link_t *link = &self->links[index];
    if (change == TND_END_CONNECT)
        open(self, index);
    flush(self, index, side);
    if (change == TND_END_LOST)
        lost(self, index, side, loss);
    if (change == TND_END_REFUSAL)
        sim_violate(self, "a link was refused: %s", link->end[side].why);
    if (change != TND_END_UP || is_unheard(self, link, side))
        return;
    sim_say(self, "%s has %s", sim_name(self, id_of(link, side)),
            sim_name(self, id_of(link, 1 - side)));
    if (link->actor[side] == SIM_NONE)
        sim_host_up(self, index, side);
    else
        sim_actor_up(self, link->actor[side], link->actor[1 - side]);
}

/*  Whether the other side or the path was delayed since its last message. */
static bool was_held_up(const sim_t *self, const sim_link_t *link, uint32_t side)
{
    const sim_host_t *other = &self->hosts[link->host[1 - side]];
    uint64_t heard_at = link->heard_at[side];
    return other->paused || other->resumed_at > heard_at || link->slow_until > heard_at ||
           link->held_until[0] > heard_at || link->held_until[1] > heard_at;
}

/*  Whether the other side was stopped or working when it should have sent what is due now. */
static bool was_mute(const sim_t *self, const sim_link_t *link, uint32_t side)
{
    uint32_t peer = link->actor[1 - side];
    uint64_t until = self->hosts[link->host[1 - side]].resumed_at;
    if (peer != SIM_NONE && self->actors[peer].worked_at > until)
        until = self->actors[peer].worked_at;
    return link->lag_is_hidden && until > 0 && until + link->lag_ns > link->heard_at[side];
}

/*  Whether the listener began after its peer connected: earlier messages are lost. */
static bool is_reborn(const sim_t *self, const sim_link_t *link)
{
    return link->actor[1] != SIM_NONE && self->actors[link->actor[1]].born_at > link->dialled_at;
}

/*  Whether all that the other side says is only late, and was on this connection from its first
 *  word on. */
static bool is_only_late(const sim_t *self, const sim_link_t *link, uint32_t side)
{
    uint32_t peer = link->actor[1 - side];
    bool runs = peer == SIM_NONE || (self->actors[peer].started && !self->actors[peer].busy);
    return self->now < link->lag_until && link->dialled_at > link->lag_since + link->lag_ns &&
           link->net != 0 && link->bound == link->net && !is_broken(link) && !link->stray && runs &&
           is_alive(self, link, 1 - side) && !was_held_up(self, link, side) &&
           !was_mute(self, link, side) && !is_reborn(self, link);
}

/*  Whether a message of the connection is still unread. */
static bool has_unread(const sim_t *self, uint32_t index, uint32_t side)
{
    const sim_link_t *link = &self->links[index];
    const sim_host_t *host = &self->hosts[link->host[side]];
    uint32_t net = side == 0 ? link->net : link->bound;
    uint32_t at =
        link->actor[side] == SIM_NONE ? SIM_NONE : self->actors[link->actor[side]].inbox.first;
    for (; at != SIM_NONE; at = self->packets[at].next)
        if (self->packets[at].link == index && self->packets[at].net == net)
            return true;
    for (uint32_t i = host->frozen_next; i < host->frozen_count; i++) {
        const sim_packet_t *packet = &self->packets[host->frozen[i].a];
        if (host->frozen[i].kind == SIM_AT_LINK && packet->link == index && packet->side == side &&
            packet->net == net && net > link->broken)
            return true;
    }
    return false;
}

void sim_link_tick(sim_t *self, uint32_t index, uint32_t side)
{
    sim_link_t *link = &self->links[index];
    uint32_t peer = link->actor[1 - side];
    if (side == 0 && peer != SIM_NONE && link->dialled.listener == 0)
        return; /* it is not known where */
    bool busy = peer != SIM_NONE && self->actors[peer].busy;
    uint64_t now = sim_clock(self, link->host[side]);
    if (now < tnd_end_deadline(&link->end[side]))
        return;
    bool was_open = link->end[side].state == TND_END_OPEN;
    bool moves = is_moving(self, link, side), is_late = is_only_late(self, link, side);
    look(self, index, side, now);
    tnd_end_change_t change = tnd_end_tick(&link->end[side], busy, now);
    if (change == TND_END_LOST && was_open) {
        self->counts.silences++;
        bool unread = has_unread(self, index, side) && !was_held_up(self, link, side) &&
                      link->lag_until <= link->heard_at[side];
        if (is_late || unread || moves)
            sim_violate(self, "%s takes %s for silent, %s", sim_name(self, id_of(link, side)),
                        sim_name(self, id_of(link, 1 - side)),
                        is_late  ? "whose words are only late"
                        : unread ? "whose words lie unread"
                                 : "whose message is arriving");
    }
    changed(self, index, side, change, TND_LOSS_SILENT);
    if (change == TND_END_LOST && !was_open && peer == SIM_NONE && side == 0)
        self->hosts[link->host[0]].given_up_net = 0; /* an attempt is given up without GOODBYE */
}

void sim_links_tick(sim_t *self, uint32_t id)
{
    const sim_actor_t *actor = &self->actors[id];
    if (!sim_actor_away(actor))
        sim_endpoints_look(self, id);
    for (uint32_t i = 0; i < actor->link_count && actor->alive && !sim_actor_away(actor); i++) {
        uint32_t link = actor->links[i];
        sim_link_tick(self, link, self->links[link].actor[0] == id ? 0 : 1);
    }
}

void sim_links_check(sim_t *self)
{
    for (uint32_t i = 0; i < self->link_count; i++) {
        sim_link_t *link = &self->links[i];
        const sim_host_t *host = &self->hosts[link->host[0]];
        bool busy = link->actor[0] != SIM_NONE && (sim_actor_away(&self->actors[link->actor[0]]) ||
                                                   sim_actor_away(&self->actors[link->actor[1]]));
        if (!is_alive(self, link, 0) || link->end[0].state != TND_END_OPEN ||
            link->bound == link->net || is_moving(self, link, 0) || self->now < link->lag_until)
            link->alone_since = 0;
        else if (link->alone_since == 0 || link->alone_net != link->net || host->paused || busy ||
                 host->resumed_at > link->alone_since) {
            link->alone_since = self->now;
            link->alone_net = link->net;
        } else if (self->now > link->alone_since + 6 * self->plan.link_timeout_ns)
            sim_violate(self, "%s does not learn that %s has given it up",
                        sim_name(self, id_of(link, 0)), sim_name(self, id_of(link, 1)));
    }
}

void sim_link_excuse(sim_t *self, uint32_t index)
{
    sim_link_t *link = &self->links[index];
    for (uint32_t side = 0; side < 2; side++)
        if (is_alive(self, link, side) &&
            (link->actor[side] == SIM_NONE || self->actors[link->actor[side]].started)) {
            uint64_t now = sim_clock(self, link->host[side]);
            changed(self, index, side, tnd_end_tick(&link->end[side], true, now), TND_LOSS_SILENT);
        }
}

void sim_link_dial(sim_t *self, uint32_t index, sim_place_t at)
{
    sim_link_t *link = &self->links[index];
    bool was_up = link->end[0].state == TND_END_OPEN;
    sim_link_drop(self, index, 0);
    link->dialled = at;
    sim_link_birth(self, index, 0, false);
    if (was_up)
        sim_actor_lost(self, link->actor[0], link->actor[1]);
}

void sim_link_stray(sim_t *self, uint32_t packet)
{
    sim_packet_t *it = &self->packets[packet];
    uint32_t index = it->link, net = it->net, port = 0;
    sim_link_t *link = &self->links[index];
    tnd_msg_t msg = it->msg;
    sim_packet_done(self, packet);
    uint32_t owner = sim_endpoint_owner(self, link->dialled.endpoint, &port);
    bool hears = owner != SIM_NONE && !sim_actor_away(&self->actors[owner]);
    if (hears && msg.kind == TND_MSG_HELLO) {
        tnd_terms_t terms = {.listener = self->actors[owner].places[port].listener};
        if (tnd_end_is_meant(&terms, &msg))
            sim_violate(self, "%s takes a connection that means another listener",
                        sim_name(self, owner));
        answer_elsewhere(self, index, net, owner);
    }
    sim_free_msg(self, &msg);
}

static bool is_admitted(bool is_foreign)
{
    static const tnd_admission_t rules = {.self = 1000};
    tnd_peer_t other = {.place = TND_PEER_LOCAL, .user = is_foreign ? 1001 : 1000};
    return tnd_admission_judge(&rules, other, false) == TND_ADMITTED;
}

void sim_link_squat(sim_t *self, uint32_t index)
{
    sim_link_t *link = &self->links[index];
    tnd_end_t *end = &link->end[0];
    tnd_msg_t answer = {.kind = TND_MSG_WELCOME, .from = id_of(link, 1), .to = id_of(link, 0)};
    if (!is_alive(self, link, 0) || end->state != TND_END_OPENING || !is_broken(link))
        return;
    if (!is_admitted(true)) {
        answer.kind = TND_MSG_REFUSE;
        answer.refuse.why = "another user listens there";
        answer.refuse.elsewhere = true;
    }
    tnd_end_change_t change = tnd_end_heard(end, &answer, sim_clock(self, link->host[0]));
    if (change == TND_END_UP)
        sim_violate(self, "%s takes another user's process for %s", sim_name(self, id_of(link, 0)),
                    sim_name(self, id_of(link, 1)));
    changed(self, index, 0, change, TND_LOSS_OURS);
}

/*  As transport/zmq/connections.c does. */
void sim_link_lie(sim_t *self, uint32_t index, const tnd_msg_t *hello, bool is_foreign)
{
    sim_link_t *link = &self->links[index];
    tnd_end_t *end = &link->end[1], before = *end;
    const char *named = sim_name(self, id_of(link, 0)), *here = sim_name(self, id_of(link, 1));
    if (!is_alive(self, link, 1) || !is_admitted(is_foreign) ||
        !tnd_end_is_meant(&end->config.terms, hello))
        return;
    tnd_end_change_t change = tnd_end_heard(end, hello, sim_clock(self, link->host[1]));
    if (change == TND_END_UP || change == TND_END_LOST)
        sim_violate(self, "%s takes a liar for %s", here, named);
    bool stays = end->state == before.state && end->connection == before.connection;
    if (before.state == TND_END_OPEN && !stays)
        sim_violate(self, "%s gives %s up for what a liar says", here, named);
    if ((change == TND_END_REFUSAL || change == TND_END_REFUTED) && end->why[0] == '\0')
        sim_violate(self, "%s does not say why it refuses a liar", here);
    if (change == TND_END_REFUSAL && !end->known) {
        sim_link_birth(self, index, 1, false);
        end->config.terms = before.config.terms;
    }
    if (before.known && (!end->known || end->life != before.life))
        sim_violate(self, "%s forgets the life of %s for what a liar says", here, named);
}

void sim_link_notice(sim_t *self, uint32_t index, uint32_t side, uint32_t net)
{
    sim_link_t *link = &self->links[index];
    if ((side == 0 ? link->net : link->bound) != net || !is_alive(self, link, side))
        return;
    changed(self, index, side,
            tnd_end_disconnected(&link->end[side], sim_clock(self, link->host[side])),
            TND_LOSS_ENDED);
}

void sim_link_send(sim_t *self, uint32_t index, uint32_t side, const tnd_msg_t *msg)
{
    sim_link_t *link = &self->links[index];
    if (link->end[side].state != TND_END_OPEN) {
        tnd_msg_t copy = *msg;
        sim_free_msg(self, &copy);
        return;
    }
    tnd_end_said(&link->end[side], sim_clock(self, link->host[side]));
    put(self, index, side, side == 0 ? link->net : link->bound, msg);
}

void sim_link_heard(sim_t *self, uint32_t packet)
{
    const sim_packet_t *it = &self->packets[packet];
    sim_link_t *link = &self->links[it->link];
    uint32_t side = it->side;
    if (it->net <= link->broken || it->net != (side == 0 ? link->net : link->bound) ||
        !is_alive(self, link, side))
        return;
    link->heard_at[side] = self->now;
    (void)tnd_end_heard(&link->end[side], &it->msg, sim_clock(self, link->host[side]));
}

static bool is_hello_of(const sim_t *self, const sim_event_t *event, uint32_t host)
{
    if (event->kind != SIM_AT_LINK)
        return false;
    const sim_packet_t *packet = &self->packets[event->a];
    return packet->msg.kind == TND_MSG_HELLO && self->links[packet->link].host[0] == host;
}

bool sim_links_greet(const sim_t *self, uint32_t host)
{
    bool greets = false;
    for (uint32_t i = 1; i <= self->agenda.count; i++)
        greets = greets || is_hello_of(self, &self->agenda.heap[i], host);
    return greets;
}

/*  The owner of that end reads a message. */
void sim_link_arrive(sim_t *self, uint32_t packet)
{
    sim_packet_t *it = &self->packets[packet];
    uint32_t index = it->link, side = it->side, net = it->net;
    sim_link_t *link = &self->links[index];
    tnd_msg_t msg = it->msg;
    sim_packet_done(self, packet);
    bool hello = side == 1 && msg.kind == TND_MSG_HELLO, goodbye = msg.kind == TND_MSG_GOODBYE;
    if (!is_alive(self, link, side) || (net != (side == 0 ? link->net : link->bound) && !hello)) {
        sim_free_msg(self, &msg);
        return;
    }
    if (hello && !tnd_end_is_meant(&link->end[1].config.terms, &msg)) {
        answer_elsewhere(self, index, net, link->actor[1]);
        return;
    }
    link->heard_at[side] = self->now;
    uint64_t now = sim_clock(self, link->host[side]);
    if (msg.kind == TND_MSG_PING)
        look(self, index, side, now);
    tnd_end_change_t change = tnd_end_heard(&link->end[side], &msg, now);
    if (change == TND_END_STALE) {
        tnd_msg_t answer = tnd_end_stale(&link->end[side]);
        put(self, index, side, net, &answer);
    }
    if (hello && change == TND_END_LOST) {
        changed(self, index, side, change, TND_LOSS_REPLACED);
        change = tnd_end_heard(&link->end[side], &msg, now);
    }
    if (hello && change == TND_END_UP)
        link->bound = net;
    changed(self, index, side, change, goodbye ? TND_LOSS_CLOSED : TND_LOSS_OURS);
    if (msg.kind <= TND_MSG_PONG)
        return;
    if (link->end[side].state != TND_END_OPEN || is_unheard(self, link, side)) {
        sim_free_msg(self, &msg);
        return;
    }
    if (link->actor[side] == SIM_NONE) {
        sim_host_message(self, index, side, &msg);
    } else {
        sim_validator_link(self, link->actor[side], link->actor[1 - side], &msg);
        sim_actor_message(self, link->actor[side], &msg);
    }
}
