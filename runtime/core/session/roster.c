/*  runtime/core/session/roster.c - the processes that a launcher has started, as they come to rank 0. */
#include "runtime/core/session/roster.h"

#include <string.h>

#include "runtime/base/bug_injection.h"

size_t tnd_roster_bytes(uint32_t size)
{
    return size * sizeof(tnd_roster_seat_t);
}

static void seat(tnd_roster_t *self, const tnd_roster_request_t *request, tnd_actor_id_t peer)
{
    tnd_roster_seat_t *seat = &self->seats[request->process.rank];
    *seat = (tnd_roster_seat_t){
        .is_here = true, .is_listed = self->is_closed, .peer = peer, .process = request->process};
    memcpy(seat->reached, request->reached, sizeof seat->reached);
}

void tnd_roster_init(tnd_roster_t *self, void *memory, const tnd_roster_request_t *own,
                     uint64_t until_ns)
{
    *self = (tnd_roster_t){.own = *own, .seats = memory, .until_ns = until_ns};
    seat(self, own, TND_LEADER);
}

static bool is_same_graph(const tnd_roster_request_t *own, const tnd_roster_request_t *request)
{
    return memcmp(own->graph, request->graph, sizeof request->graph) == 0;
}

static bool is_same_job(const tnd_roster_request_t *own, const tnd_roster_request_t *request)
{
    if (strcmp(own->job, request->job) != 0 || (request->life != 0 && request->life != own->life))
        return false;
    return own->job[0] != '\0' || (is_same_graph(own, request) && own->size == request->size);
}

/*  Whether a process belongs to the run of `own`; TAKEN: it does. */
static tnd_roster_verdict_t judge(const tnd_roster_request_t *own,
                                  const tnd_roster_request_t *request)
{
    if (!is_same_job(own, request))
        return TND_ROSTER_ELSEWHERE;
    if (own->size != request->size || request->process.rank >= own->size)
        return TND_ROSTER_OTHER_SIZE;
    if (own->declines[0] != '\0' || request->declines[0] != '\0')
        return TND_ROSTER_DECLINED;
    return is_same_graph(own, request) ? TND_ROSTER_TAKEN : TND_ROSTER_OTHER_GRAPH;
}

tnd_roster_verdict_t tnd_roster_come_late(const tnd_roster_request_t *own,
                                          const tnd_roster_request_t *request)
{
    tnd_roster_verdict_t verdict = judge(own, request);
    if (verdict != TND_ROSTER_TAKEN)
        return verdict == TND_ROSTER_DECLINED ? TND_ROSTER_SPARED : verdict;
    return request->process.rank == own->process.rank ? TND_ROSTER_DOUBLED : TND_ROSTER_LATE;
}

static bool is_of_rest(const tnd_roster_t *self, uint32_t rank)
{
    return rank >= self->rest_first && rank - self->rest_first < self->rest_count;
}

/*  Whether the run can do without a process of the rank, which is not rank 0, or has another one. */
static bool is_spare(const tnd_roster_t *self, uint32_t rank)
{
    bool can =
        self->is_closed || self->seats[rank].is_here || (self->least > 0 && is_of_rest(self, rank));
    return can && self->own.declines[0] == '\0';
}

tnd_roster_verdict_t tnd_roster_come(tnd_roster_t *self, const tnd_roster_request_t *request,
                                     tnd_actor_id_t peer)
{
    tnd_roster_verdict_t verdict = judge(&self->own, request);
    if (verdict == TND_ROSTER_DECLINED && is_spare(self, request->process.rank))
        return TND_ROSTER_SPARED;
    if (verdict != TND_ROSTER_TAKEN)
        return verdict;
    const tnd_roster_seat_t *known = &self->seats[request->process.rank];
    if (known->peer != peer && known->is_here && !TND_BUG(RANK_GIVEN_TWICE))
        return TND_ROSTER_DOUBLED;
    if (known->peer != peer && self->is_closed)
        return TND_ROSTER_LATE;
    seat(self, request, peer);
    return TND_ROSTER_TAKEN;
}

bool tnd_roster_leave(tnd_roster_t *self, tnd_actor_id_t peer)
{
    bool was_here = false;
    for (uint32_t r = 1; r < self->own.size; r++)
        if (self->seats[r].is_here && self->seats[r].peer == peer) {
            self->seats[r].is_here = false;
            was_here = true;
        }
    return was_here;
}

void tnd_roster_told(tnd_roster_t *self, tnd_actor_id_t peer)
{
    for (uint32_t r = 1; r < self->own.size; r++)
        if (self->seats[r].is_here && self->seats[r].peer == peer) {
            self->seats[r].is_here = false;
            self->seats[r].has_list = true;
        }
}

bool tnd_roster_is_doubtful(const tnd_roster_t *self, uint32_t rank)
{
    const tnd_roster_seat_t *seat = &self->seats[rank];
    return rank > 0 && seat->is_listed && !seat->is_here && !seat->has_list;
}

uint32_t tnd_roster_count(const tnd_roster_t *self)
{
    uint32_t count = 0;
    for (uint32_t r = 1; r < self->own.size; r++)
        count += self->seats[r].is_here;
    return count;
}

static bool are_all_here(const tnd_roster_t *self)
{
    return tnd_roster_count(self) + 1 + TND_BUG(ROSTER_CLOSED_EARLY) >= self->own.size;
}

/*  Whether only hosts of `[*]` are missing, and enough of them are here. */
static bool are_enough_here(const tnd_roster_t *self)
{
    uint32_t rest = 0;
    for (uint32_t r = 0; r < self->own.size; r++) {
        if (!self->seats[r].is_here && !is_of_rest(self, r))
            return false;
        rest += self->seats[r].is_here && is_of_rest(self, r);
    }
    return self->least > 0 && rest >= self->least;
}

bool tnd_roster_is_complete(const tnd_roster_t *self, uint64_t now)
{
    return are_all_here(self) || (now >= self->until_ns && are_enough_here(self));
}

bool tnd_roster_is_late(const tnd_roster_t *self, uint64_t now)
{
    return now >= self->until_ns && !are_all_here(self) && !are_enough_here(self);
}

static bool is_loopback(const char *address)
{
    return strncmp(address, "127.", 4) == 0 || strcmp(address, "[::1]") == 0;
}

/*  By which address processes of other machines reach the leader. */
static const char *find_leader_address(const tnd_roster_t *self)
{
    for (uint32_t r = 1; r < self->own.size; r++)
        if (self->seats[r].is_here && !is_loopback(self->seats[r].process.address) &&
            !is_loopback(self->seats[r].reached))
            return self->seats[r].reached;
    return "127.0.0.1";
}

uint32_t tnd_roster_close(tnd_roster_t *self, tnd_roster_process_t *processes)
{
    uint32_t count = 0;
    char *leads = self->seats[0].process.address;
    if (leads[0] == '\0')
        memcpy(leads, find_leader_address(self), strlen(find_leader_address(self)) + 1);
    self->is_closed = true;
    for (uint32_t r = 0; r < self->own.size; r++) {
        tnd_roster_seat_t *seat = &self->seats[r];
        if (!seat->is_here) { /* also one that was here and lost its connection is late now */
            seat->peer = TND_LEADER;
            continue;
        }
        seat->is_listed = true;
        if (r > 0 && is_loopback(seat->process.address))
            memcpy(seat->process.address, leads, TND_ROSTER_TEXT);
        processes[count++] = seat->process;
    }
    return count;
}

uint64_t tnd_roster_listener(uint64_t number, bool has_places)
{
    return has_places || TND_BUG(RESUMED_ON_TWO_ROSTERS) ? 0 : number;
}
