/*  tests/sim/roster.c - the processes of a launcher come to rank 0, in any order and more than once.
 *
 *  Each rank has up to two processes, as if it was started twice by mistake.  A process has one
 *  connection at a time, and another number when it is started again. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "runtime/core/session/roster.h"
#include "tests/sim/cluster.h"

enum { SIZE = 8, TWINS = 2, UNTIL = 100, END = 140, LIFE = 5 };

typedef struct {
    tnd_actor_id_t peer; /* of its connection; 0: it has none */
    bool taken;          /* rank 0 has said so */
} process_t;

typedef struct {
    sim_t *sim;
    sim_random_t luck;
    tnd_roster_t roster;
    tnd_roster_seat_t seats[SIZE];
    uint32_t size, rest_first, rest_count, least;
    process_t processes[SIZE][TWINS]; /* rank 0 has none */
    tnd_actor_id_t next;              /* peer */
    uint32_t listed[SIZE];            /* the connection at the end, by rank; 0: not on the list */
    bool told[SIZE];                  /* it has the list */
    uint64_t now;
} meeting_t;

static tnd_roster_request_t request_of(const meeting_t *self, uint32_t rank)
{
    tnd_roster_request_t request = {.process = {.rank = rank},
                                    .size = self->size,
                                    .graph = {7, 8},
                                    .life = rank % 2 ? LIFE : 0};
    snprintf(request.job, sizeof request.job, "job");
    snprintf(request.reached, sizeof request.reached, "10.0.0.1");
    snprintf(request.process.address, sizeof request.process.address, "10.0.0.%" PRIu32, rank + 1);
    return request;
}

static void begin(meeting_t *self, sim_t *sim, uint64_t seed)
{
    *self = (meeting_t){.sim = sim, .luck = sim_random(seed, 900), .next = 1};
    self->size = sim_between(&self->luck, 2, SIZE);
    self->rest_first = sim_below(&self->luck, self->size);
    self->rest_count = self->size - self->rest_first;
    self->least = sim_chance(&self->luck, 50) ? sim_between(&self->luck, 1, self->rest_count) : 0;
    tnd_roster_request_t own = request_of(self, 0);
    own.life = LIFE;
    tnd_roster_init(&self->roster, self->seats, &own, UNTIL);
    self->roster.rest_first = self->rest_first;
    self->roster.rest_count = self->rest_count;
    self->roster.least = self->least;
}

/*  Whether a process of the rank was taken and is still connected. */
static const process_t *present(const meeting_t *self, uint32_t rank)
{
    for (uint32_t t = 0; t < TWINS; t++)
        if (self->processes[rank][t].peer != 0 && self->processes[rank][t].taken)
            return &self->processes[rank][t];
    return NULL;
}

static void come(meeting_t *self, uint32_t rank, process_t *process)
{
    tnd_roster_request_t request = request_of(self, rank);
    const process_t *other = present(self, rank);
    bool is_new = process->peer == 0;
    if (is_new)
        *process = (process_t){.peer = self->next++};
    tnd_roster_verdict_t verdict = tnd_roster_come(&self->roster, &request, process->peer);
    bool taken = verdict == TND_ROSTER_TAKEN;
    if (taken && other != NULL && other != process)
        sim_violate(self->sim, "two processes are taken for rank %" PRIu32, rank);
    if (taken && self->roster.is_closed && self->listed[rank] != process->peer)
        sim_violate(self->sim, "rank %" PRIu32 " is taken after the list without it", rank);
    if (!taken && !self->roster.is_closed && (other == NULL || other == process))
        sim_violate(self->sim, "rank %" PRIu32 " is refused although it is free", rank);
    process->taken = taken;
    if (!taken)
        process->peer = 0; /* it ends, and may be started again */
}

/*  A process on the list has it, and is not looked for any more. */
static void told(meeting_t *self, uint32_t rank, process_t *process)
{
    if (process->peer == 0 || !self->roster.is_closed || self->listed[rank] != process->peer)
        return;
    tnd_roster_told(&self->roster, process->peer);
    self->told[rank] = self->told[rank] || process->taken;
    process->taken = false;
    process->peer = 0;
}

/*  Of the processes on the list rank 0 doubts those that were lost without it, and no others. */
static void check_doubts(const meeting_t *self)
{
    for (uint32_t rank = 1; rank < self->size && self->roster.is_closed; rank++) {
        bool lost = self->listed[rank] != 0 && !self->told[rank] && present(self, rank) == NULL;
        if (lost != tnd_roster_is_doubtful(&self->roster, rank))
            sim_violate(self->sim, "rank %" PRIu32 " %s the list, and is %s", rank,
                        lost ? "was lost without" : "has or awaits",
                        lost ? "not doubted" : "doubted");
    }
}

/*  A process that another job, or an old file, has led here takes no place. */
static void come_astray(meeting_t *self, uint32_t rank)
{
    tnd_roster_request_t request = request_of(self, rank);
    if (sim_chance(&self->luck, 50))
        snprintf(request.job, sizeof request.job, "other");
    else
        request.life = LIFE + 1;
    if (tnd_roster_come(&self->roster, &request, self->next++) != TND_ROSTER_ELSEWHERE)
        sim_violate(self->sim, "a process of another meeting is not sent elsewhere");
}

/*  A process that cannot take part says so, and takes no place.  Returns whether that ends the meeting. */
static bool decline(meeting_t *self, uint32_t rank)
{
    tnd_roster_request_t request = request_of(self, rank);
    bool spare = (rank >= self->rest_first && self->least > 0) || present(self, rank) != NULL ||
                 self->roster.is_closed;
    snprintf(request.declines, sizeof request.declines, "it cannot read a file");
    memset(request.graph, 0, sizeof request.graph);
    tnd_roster_verdict_t verdict = tnd_roster_come(&self->roster, &request, self->next++);
    if (verdict != (spare ? TND_ROSTER_SPARED : TND_ROSTER_DECLINED))
        sim_violate(self->sim, "rank %" PRIu32 " cannot take part, and the meeting %s", rank,
                    spare ? "ends" : "goes on");
    return !spare;
}

/*  Its connection ends; it comes again by the same one, or died. */
static void lose(meeting_t *self, process_t *process)
{
    if (process->peer == 0)
        return;
    (void)tnd_roster_leave(&self->roster, process->peer);
    process->taken = false;
    if (sim_chance(&self->luck, 50))
        process->peer = 0;
}

static void check_list(meeting_t *self, const tnd_roster_process_t *list, uint32_t count)
{
    uint32_t next = 0, rest = 0;
    for (uint32_t rank = 0; rank < self->size; rank++) {
        const process_t *process = rank > 0 ? present(self, rank) : NULL;
        bool is_rest = rank >= self->rest_first;
        bool listed = next < count && list[next].rank == rank;
        next += listed;
        rest += listed && is_rest;
        self->listed[rank] = process != NULL ? process->peer : 0;
        if (listed != (rank == 0 || process != NULL))
            sim_violate(self->sim, "rank %" PRIu32 " is %s the list", rank,
                        listed ? "gone, but on" : "there, but not on");
        if (!listed && (!is_rest || self->now < UNTIL || self->least == 0))
            sim_violate(self->sim, "the list is closed at %" PRIu64 " without rank %" PRIu32,
                        self->now, rank);
    }
    if (next != count || (count < self->size && rest < self->least))
        sim_violate(self->sim, "a list of %" PRIu32 " processes has %" PRIu32 " of %" PRIu32, count,
                    rest, self->least);
}

static void close_if_complete(meeting_t *self)
{
    tnd_roster_process_t list[SIZE];
    bool complete = tnd_roster_is_complete(&self->roster, self->now);
    if (self->now >= UNTIL && !self->roster.is_closed &&
        complete == tnd_roster_is_late(&self->roster, self->now))
        sim_violate(self->sim, "at the end the list is neither complete nor given up");
    if (complete && !self->roster.is_closed)
        check_list(self, list, tnd_roster_close(&self->roster, list));
}

void sim_roster_run(sim_t *sim, uint64_t seed)
{
    meeting_t self;
    begin(&self, sim, seed);
    for (; self.now < END && !sim->violation[0]; self.now += sim_between(&self.luck, 1, 12)) {
        uint32_t rank = sim_between(&self.luck, 1, self.size - 1);
        process_t *process = &self.processes[rank][sim_chance(&self.luck, 15)];
        if (sim_chance(&self.luck, 10))
            come_astray(&self, rank);
        else if (sim_chance(&self.luck, 5) && decline(&self, rank))
            return;
        else if (sim_chance(&self.luck, 20))
            lose(&self, process);
        else if (sim_chance(&self.luck, 10))
            told(&self, rank, process);
        else
            come(&self, rank, process);
        close_if_complete(&self);
        check_doubts(&self);
        /* When the time is over without enough, the leader tells all and ends. */
        if (!self.roster.is_closed && tnd_roster_is_late(&self.roster, self.now))
            return;
    }
}
