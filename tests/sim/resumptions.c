/*  tests/sim/resumptions.c - a run that loses hosts: those that are left meet again and start again.
 *
 *  A process that is stopped while the others meet keeps its old list.  Once it goes on, it looks for the
 *  leader of that list, which leads a later session by then, at the same address.  Another process may
 *  have its place there. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "runtime/core/protocol/link_end.h"
#include "runtime/core/session/resumption.h"
#include "runtime/core/session/roster.h"
#include "tests/sim/cluster.h"

enum { SIZE = 6, STARTS = 6, EVENTS = 60, MEETS_FOR = 100 };

static const uint64_t ms = 1000 * 1000;

typedef struct {
    uint64_t roster; /* the number of its list; 0: it has none */
    uint32_t host;   /* its place there */
    bool is_stopped;
    tnd_end_t end; /* to the leader */
} process_t;

typedef struct {
    sim_t *sim;
    sim_random_t luck;
    tnd_resumption_t start;
    uint32_t size, unsaved;    /* starts since the newest checkpoint */
    uint64_t now, roster;      /* of this start */
    process_t processes[SIZE]; /* by rank; the first one leads */
    tnd_end_t hosts[SIZE];     /* the leader's ends */
} run_t;

static tnd_end_config_t config_of(uint64_t roster, uint32_t host, bool binder)
{
    return (tnd_end_config_t){.self = SIM_HOST_ID + (binder ? 0 : host),
                              .peer = SIM_HOST_ID + (binder ? host : 0),
                              .terms.listener = tnd_roster_listener(roster, false),
                              .link_timeout_ns = 1000 * ms,
                              .search_ns = 2000 * ms,
                              .binder = binder};
}

/*  The processes of a machine do not know the time of another one. */
static tnd_life_t life_of(run_t *self)
{
    return (1ull << 60) + self->now + sim_below(&self->luck, 10000) * ms;
}

static void give_list(run_t *self, const tnd_roster_process_t *list, uint32_t count)
{
    self->roster = sim_draw(&self->luck) | 1;
    for (uint32_t h = 0; h < SIZE; h++) {
        tnd_end_config_t config = config_of(self->roster, h, true);
        tnd_end_init(&self->hosts[h], &config, 0, self->now);
    }
    for (uint32_t h = 0; h < count; h++) {
        process_t *process = &self->processes[list[h].rank];
        tnd_end_config_t config = config_of(self->roster, h, false);
        *process = (process_t){.roster = self->roster, .host = h};
        tnd_end_init(&process->end, &config, life_of(self), self->now);
    }
}

/*  Those that are there meet; returns false if the run ends. */
static bool meet(run_t *self)
{
    tnd_roster_t roster;
    tnd_roster_seat_t seats[SIZE] = {0};
    tnd_roster_process_t list[SIZE];
    tnd_roster_request_t own = {.size = self->size, .job = "job"};
    tnd_roster_init(&roster, seats, &own, self->now + MEETS_FOR * ms);
    roster.rest_count = self->size;
    roster.least = 2;
    for (uint32_t rank = 1; rank < self->size; rank++) {
        tnd_roster_request_t request = own;
        request.process.rank = rank;
        const process_t *process = &self->processes[rank];
        if (process->roster == 0 && !process->is_stopped &&
            tnd_roster_come(&roster, &request, rank) != TND_ROSTER_TAKEN)
            sim_violate(self->sim, "rank %" PRIu32 " is not taken for another start", rank);
    }
    self->now += tnd_roster_is_complete(&roster, self->now) ? 0 : MEETS_FOR * ms;
    if (!tnd_roster_is_complete(&roster, self->now))
        return false;
    give_list(self, list, tnd_roster_close(&roster, list));
    return true;
}

/*  The leader hears a HELLO, and answers. */
static void greet(run_t *self, process_t *process, const tnd_msg_t *hello)
{
    tnd_end_t *there = &self->hosts[process->host];
    tnd_msg_t answer = {.kind = TND_MSG_REFUSE, .refuse = {.why = "", .elsewhere = true}};
    tnd_end_change_t change = TND_END_NOTHING;
    if (tnd_end_is_meant(&there->config.terms, hello))
        change = tnd_end_heard(there, hello, self->now);
    if (change == TND_END_LOST)
        change = tnd_end_heard(there, hello, self->now);
    if (change == TND_END_STALE)
        answer = tnd_end_stale(there);
    else if (change == TND_END_UP)
        (void)tnd_end_next(there, self->now, &answer);
    if (change == TND_END_UP && process->roster != self->roster)
        sim_violate(self->sim, "a process of an earlier list is let in as host %" PRIu32,
                    process->host);
    (void)tnd_end_heard(&process->end, &answer, self->now);
}

/*  A process without a connection looks for its leader, as often as it may. */
static void look(run_t *self, process_t *process)
{
    tnd_msg_t hello;
    if (process->end.state != TND_END_CLOSED ||
        tnd_end_tick(&process->end, false, self->now) != TND_END_CONNECT)
        return;
    tnd_end_connected(&process->end, self->now);
    (void)tnd_end_next(&process->end, self->now, &hello);
    greet(self, process, &hello);
    if (process->end.state != TND_END_REFUSED)
        return;
    if (process->roster == self->roster)
        sim_violate(self->sim, "host %" PRIu32 " is refused: %s", process->host, process->end.why);
    *process = (process_t){0}; /* it ends, and is started again */
    self->sim->counts.left_out++;
}

static void cut(run_t *self, process_t *process)
{
    (void)tnd_end_disconnected(&process->end, self->now);
    if (process->roster == self->roster)
        (void)tnd_end_disconnected(&self->hosts[process->host], self->now);
}

/*  What happens to a process. */
static void happen(run_t *self, process_t *process)
{
    if (sim_chance(&self->luck, 10))
        process->is_stopped = !process->is_stopped;
    if (process->roster == 0 || process->is_stopped)
        return;
    if (sim_chance(&self->luck, 10))
        cut(self, process);
    else
        look(self, process);
}

static void run_session(run_t *self)
{
    for (uint32_t event = 0; event < EVENTS && !self->sim->violation[0]; event++) {
        self->now += sim_below(&self->luck, 500) * ms;
        happen(self, &self->processes[sim_between(&self->luck, 1, self->size - 1)]);
    }
}

/*  The session ends, because one of its hosts is lost.  Those that run and are on its list are told. */
static void lose(run_t *self)
{
    process_t *lost = &self->processes[sim_between(&self->luck, 1, self->size - 1)];
    if (sim_chance(&self->luck, 50))
        *lost = (process_t){.is_stopped = true}; /* its process died; another one may come later */
    else
        lost->is_stopped = lost->roster != 0;
    for (uint32_t rank = 1; rank < self->size; rank++) {
        process_t *process = &self->processes[rank];
        (void)tnd_end_disconnected(&process->end, self->now);
        if (process->roster == self->roster && !process->is_stopped)
            *process = (process_t){0};
    }
}

/*  Whether the run starts again. */
static bool starts_again(run_t *self)
{
    tnd_resumption_end_t end = {.cause = TND_RESUMPTION_LOST,
                                .saved = sim_chance(&self->luck, 40),
                                .drains = sim_chance(&self->luck, 5)};
    bool again = tnd_resumption_decide(&self->start, &end) == TND_RESUMPTION_AGAIN;
    self->unsaved = end.saved ? 0 : self->unsaved;
    if (again != (self->unsaved < self->start.max && !end.drains))
        sim_violate(self->sim,
                    "a run that started again %" PRIu32 " times since its newest checkpoint, of "
                    "%" PRIu32 ", %s",
                    self->unsaved, self->start.max, again ? "starts again" : "ends");
    self->unsaved++;
    self->start = tnd_resumption_next(&self->start, &end);
    return again;
}

void sim_resumptions_run(sim_t *sim, uint64_t seed)
{
    run_t self = {.sim = sim, .luck = sim_random(seed, 901)};
    self.size = sim_between(&self.luck, 3, SIZE);
    self.start.max = sim_below(&self.luck, 4);
    while (meet(&self) && !sim->violation[0] && self.start.number < STARTS) {
        sim->counts.starts += self.start.number > 0;
        run_session(&self);
        lose(&self);
        if (sim->violation[0] || !starts_again(&self))
            return;
    }
}
