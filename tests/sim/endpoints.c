/*  tests/sim/endpoints.c - where actors listen, as announced, and which actor is reached.
 *
 *  In some runs a host has a few ports.  A binding actor takes the lowest that is free, and the actors
 *  of a process bind in any order, so that after a restart an endpoint may belong to another actor, or
 *  to another port of the same one.  In the others no port is used twice.  An actor runs once its host
 *  knows where all listen; what came before waits to be read. */
#include <string.h>

#include "tests/sim/cluster.h"

enum { PORTS_OF_A_HOST = 64, USE_ORDER = 800 };

/*  A reader, a reducer and a holder of parameters have one bound port; a join has one for workers and one for feeders, a
 *  cache one for actors before it and one for those after it. */
static uint32_t bound_ports(const sim_actor_t *actor)
{
    return actor->role == TND_ROLE_JOIN || actor->role == TND_ROLE_CACHE ? 2
           : actor->role == TND_ROLE_READER || actor->role == TND_ROLE_REDUCER ||
                   actor->role == TND_ROLE_PARAMETERS
               ? 1
               : 0;
}

void sim_endpoints_plan(sim_t *self)
{
    memset(self->table, 0, sizeof self->table);
    self->endpoints = 0;
    self->order_luck = sim_random(self->plan.seed, USE_ORDER + self->plan.session);
    for (uint32_t i = 0; i < self->link_count; i++) {
        sim_link_t *link = &self->links[i];
        if (link->actor[0] != SIM_NONE && self->actors[link->actor[1]].role == TND_ROLE_JOIN)
            link->port = self->actors[link->actor[0]].role == TND_ROLE_FEEDER ||
                         self->actors[link->actor[0]].role == TND_ROLE_REPLICA;
        if (link->actor[0] != SIM_NONE && self->actors[link->actor[1]].role == TND_ROLE_CACHE)
            link->port =
                self->actors[link->actor[0]].role == TND_ROLE_JOIN || self->plan.cache_first;
    }
}

uint32_t sim_endpoint_owner(const sim_t *self, uint32_t endpoint, uint32_t *port)
{
    for (uint32_t id = 0; id < self->plan.member_count && endpoint != 0; id++)
        for (*port = 0; self->actors[id].alive && *port < bound_ports(&self->actors[id]); ++*port)
            if (self->actors[id].places[*port].endpoint == endpoint)
                return id;
    return SIM_NONE;
}

static void bind(sim_t *self, uint32_t id)
{
    sim_actor_t *actor = &self->actors[id];
    for (uint32_t port = 0; port < bound_ports(actor); port++) {
        uint32_t endpoint =
            self->plan.ports ? 1 + actor->host * PORTS_OF_A_HOST : ++self->endpoints;
        uint32_t unused;
        actor->places[port].endpoint = 0;
        while (sim_endpoint_owner(self, endpoint, &unused) != SIM_NONE)
            endpoint++;
        actor->places[port] = (sim_place_t){endpoint, actor->life << 4 | port};
    }
    for (uint32_t i = 0; i < actor->link_count; i++) {
        sim_link_t *link = &self->links[actor->links[i]];
        if (link->actor[1] == id)
            link->end[1].config.terms.listener = actor->places[link->port].listener;
    }
}

void sim_endpoints_bind(sim_t *self, uint32_t host)
{
    uint32_t some[SIM_ACTORS], count = 0;
    for (uint32_t id = 0; id < self->plan.member_count; id++)
        if (self->actors[id].host == host && self->actors[id].alive &&
            self->actors[id].places[0].endpoint == 0)
            some[count++] = id;
    for (uint32_t left = count; left > 0; left--) {
        uint32_t at = sim_below(&self->order_luck, left);
        bind(self, some[at]);
        some[at] = some[left - 1];
    }
}

/*  Connects to every peer at its last announced endpoint. */
static void dial(sim_t *self, uint32_t id)
{
    const sim_actor_t *actor = &self->actors[id];
    const sim_table_t *table = self->hosts[actor->host].table;
    for (uint32_t i = 0; i < actor->link_count && actor->alive && table != NULL; i++) {
        sim_link_t *link = &self->links[actor->links[i]];
        if (link->actor[0] != id)
            continue;
        sim_place_t at = table->places[link->actor[1]][link->port];
        tnd_dial_t how = tnd_dial_of(link->dialled.listener, at.listener);
        if (how == TND_DIAL_AGAIN)
            tnd_end_connect_now(&link->end[0], sim_clock(self, link->host[0]));
        else if (how == TND_DIAL_ANEW)
            sim_link_dial(self, actor->links[i], at);
    }
}

void sim_endpoints_go(sim_t *self, uint32_t id)
{
    self->actors[id].started = true;
    dial(self, id);
    sim_actor_started(self, id);
}

void sim_endpoints_take(sim_t *self, uint32_t host, const sim_table_t *table, bool go)
{
    self->hosts[host].table = table;
    for (uint32_t id = 0; id < self->plan.member_count; id++) {
        sim_actor_t *actor = &self->actors[id];
        if (actor->host != host || !actor->alive)
            continue;
        if (go)
            sim_endpoints_go(self, id);
        else if (!sim_actor_away(actor))
            dial(self, id);
        else
            actor->moved = true;
    }
}

void sim_endpoints_look(sim_t *self, uint32_t id)
{
    if (self->actors[id].moved)
        dial(self, id);
    self->actors[id].moved = false;
}

sim_table_t *sim_endpoints_of(sim_t *self, uint32_t host)
{
    sim_table_t *table = sim_store_take(&self->store, sizeof *table);
    memset(table, 0, sizeof *table);
    for (uint32_t id = 0; id < self->plan.member_count; id++)
        if (host == SIM_NONE)
            memcpy(table->places[id], self->table[id], sizeof self->table[id]);
        else if (self->actors[id].host == host && self->actors[id].alive) {
            memcpy(table->places[id], self->actors[id].places, sizeof self->table[id]);
            table->born[id] = self->actors[id].said;
        }
    return table;
}

void sim_endpoints_forget(sim_t *self, uint32_t host)
{
    for (uint32_t id = 0; id < self->plan.member_count; id++)
        if (self->actors[id].host == host)
            memset(self->table[id], 0, sizeof self->table[id]);
}

/*  The run ends where the clock of a replica's host was set back. */
static void tell_birth(sim_t *self, uint32_t id, tnd_life_t life)
{
    if (life < self->actors[id].told_birth)
        self->feeder_dead = true;
    self->actors[id].told_birth = life;
    tnd_leader_core_actor_born(self->run.session, id, life, sim_clock(self, 0));
}

bool sim_endpoints_heard(sim_t *self, uint32_t host, const sim_table_t *said)
{
    bool moved = false;
    for (uint32_t id = 0; id < self->plan.member_count; id++) {
        if (self->actors[id].host != host)
            continue;
        moved = moved || memcmp(self->table[id], said->places[id], sizeof self->table[id]) != 0;
        memcpy(self->table[id], said->places[id], sizeof self->table[id]);
        if (self->actors[id].role == TND_ROLE_REPLICA && said->born[id] != 0)
            tell_birth(self, id, said->born[id]);
    }
    return moved;
}
