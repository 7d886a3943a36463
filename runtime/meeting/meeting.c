/*  runtime/meeting/meeting.c - the processes of a launcher meet before the plan. */
#include "runtime/meeting/meeting.h"

#include <inttypes.h>
#include <limits.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "runtime/base/allocation.h"
#include "runtime/base/clock.h"
#include "runtime/base/drain_signals.h"
#include "runtime/data/text_payload.h"
#include "runtime/launch/launched_host.h"
#include "runtime/meeting/join_request.h"
#include "runtime/meeting/meeting_file.h"
#include "runtime/meeting/meeting_place.h"
#include "runtime/meeting/roster_text.h"
#include "runtime/plan/pace.h"

enum { FRAME_MAX = 4 << 20, FOREIGN_MAX = 256 };

/*  Rank 0 has the id that it will have in the run, which also answers those that come late. */
#define LEADS tnd_host_id(0)

/*  Control connections of runs have other terms, so that none is taken for a meeting. */
static const uint64_t meeting_terms[2] = {0x6d65657420686572, 0x1};

/*  After a refusal another process may get the port.  The last words have a time to leave, and who
 *  lost its connection one to come again for the list. */
static const uint64_t again_ns = 200000000, linger_ns = 2000000000, return_ns = 1000000000;

/*  How long an address of the file has to answer, how long a leader has that is connected, and how
 *  long one whose file is there already. */
static const uint64_t address_ns = 300000000, answer_ns = 2000000000, probe_ns = 1000000000;

/*  How often a name is looked up that may be that of an earlier pod. */
static const uint64_t renew_ns = 1000000000;

/*  How often is looked whether this process was asked to end, and how long the leader has to know
 *  it and to answer that. */
static const uint64_t ended_look_ns = 100000000, ended_answer_ns = 3000000000;

/*  How much longer than others rank 0 may take to end a session whose hosts were lost. */
static const uint64_t session_end_ns = 20000000000;

typedef struct {
    const tnd_network_t *network;
    void *context;
    tnd_hub_t *hub;
    const tnd_plan_t *plan;
    tnd_meeting_place_t *place;
    tnd_roster_request_t own;
    tnd_actor_id_t id;
    uint64_t until_ns;
    uint64_t return_ns;      /* until when a process that was lost may come again */
    tnd_roster_list_t list;  /* the result; its processes are allocated */
    char last[200];          /* why a connection came to nothing, for the error at the end */
    tnd_meeting_file_t file; /* with --meet: as rank 0 has written it; no addresses: not yet */
    uint32_t turn;           /* the address of it that is dialled */
    uint64_t turn_ns;        /* until when, unless it answers */
    bool is_answered;        /* rank 0 refused this process */
    bool (*is_ended)(void);  /* of the wish */
    uint64_t ended_ns;       /* when this process knew it; 0: it does not */
    bool end_told;           /* to rank 0 */
    bool all_end;            /* rank 0 says so */
    uint32_t seat;           /* the port by which rank 0 knows this process */
    tnd_error_t *error;
} meeting_t;

static tnd_meeting_end_t end_with(meeting_t *self, tnd_meeting_end_t end, const char *text)
{
    (void)tnd_fail(self->error, "%s", text);
    return end;
}

static tnd_status_t open_hub(meeting_t *self, bool leads)
{
    uint64_t life = tnd_clock_read(CLOCK_REALTIME);
    self->id = leads ? LEADS : tnd_attendee_id(life);
    tnd_hub_config_t config = {
        .self = self->id,
        .name = "launch",
        .life = life,
        .link_timeout_ns = tnd_pace_stretch(self->plan, self->plan->link_timeout_ns),
        .search_ns = self->plan->start_timeout_ns,
        .frame_max = FRAME_MAX,
        .callers = self->own.size + FOREIGN_MAX,
        .admission = &self->plan->admission,
    };
    return tnd_hub_open(self->network->hub, &self->hub, self->context, &config, self->error);
}

/*  A process that has the list may dial the run before the meeting has left its port.  As the listener
 *  is another one, it dials again. */
static tnd_terms_t terms_of_meeting(void)
{
    return (tnd_terms_t){
        .graph = {meeting_terms[0], meeting_terms[1]}, .abi = TND_WIRE_ABI, .listener = LEADS};
}

static bool is_ended(const meeting_t *self)
{
    return self->is_ended != NULL && self->is_ended();
}

/*  Waits for an arrival, but looks now and then whether this process was asked to end. */
static tnd_status_t wait_until(meeting_t *self, uint64_t until_ns)
{
    uint64_t look_ns = self->is_ended != NULL ? tnd_clock_now() + ended_look_ns : UINT64_MAX;
    return tnd_hub_wait(self->hub, until_ns < look_ns ? until_ns : look_ns);
}

static void answer(meeting_t *self, uint32_t port, tnd_actor_id_t peer, uint32_t number,
                   tnd_buffer_t *text)
{
    tnd_msg_t msg = {.kind = TND_MSG_JOIN_REQUEST, .from = LEADS, .to = peer};
    msg.note.number = number;
    msg.note.payload = text;
    if (tnd_hub_send(self->hub, port, peer, &msg, TND_CARRY_BUFFER) != TND_OK)
        tnd_msg_drop(&msg, TND_CARRY_BUFFER);
}

static bool is_led(const meeting_t *self, uint64_t *life_p);

/* --- rank 0 ----------------------------------------------------------------------------------- */

/*  Takes a port before other leaders of this machine; it is theirs again when this process ends or
 *  leads another meeting.  The meeting frees the port itself for the run. */
static bool claim(uint32_t port)
{
    static _Atomic int held = -1;
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int length =
        snprintf(address.sun_path + 1, sizeof address.sun_path - 1, "tundish.port.%" PRIu32, port);
    int lock = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (lock < 0)
        return true; /* a system without such locks */
    if (bind(lock, (const struct sockaddr *)&address,
             (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)length)) != 0) {
        close(lock);
        return false;
    }
    lock = atomic_exchange(&held, lock);
    if (lock >= 0)
        close(lock);
    return true;
}

static const char *listening_address(const meeting_t *self)
{
    if (self->place->is_local)
        return self->place->leader;
    const char *known = self->file.count > 0 ? self->file.addresses[0] : self->place->leader;
    return known[0] == '[' ? "[::]" : "*";
}

/*  Listens at the first port that is free. */
static tnd_meeting_end_t listen_at(meeting_t *self)
{
    const tnd_meeting_place_t *place = self->place;
    const tnd_terms_t terms = terms_of_meeting();
    char endpoint[TND_ENDPOINT_SIZE], actual[TND_ENDPOINT_SIZE], why[sizeof self->error->text];
    for (uint32_t i = 0; i < place->port_count; i++) {
        snprintf(endpoint, sizeof endpoint, "tcp://%s:%" PRIu32, listening_address(self),
                 place->ports[i]);
        (void)tnd_fail(self->error,
                       "port %" PRIu32
                       " is that of another run, or of another process with rank 0: "
                       "start each rank once, or write another port",
                       place->ports[i]);
        if (!claim(place->ports[i]) || tnd_hub_bind(self->hub, 0, endpoint, &terms, actual,
                                                    sizeof actual, self->error) != TND_OK)
            continue;
        self->list.port = place->ports[i];
        return TND_MEETING_HELD;
    }
    snprintf(why, sizeof why, "%s", self->error->text);
    if (place->port_count > 1)
        (void)tnd_fail(self->error,
                       "none of the %" PRIu32 " ports from %" PRIu32
                       " on that derive from the job is free: write `port:` (%.200s)",
                       place->port_count, place->ports[0], why);
    return TND_MEETING_PORT;
}

/*  Tells all that are here, and also names the process that has just asked. */
static void tell_all(meeting_t *self, const tnd_roster_t *roster, uint32_t number, const char *text)
{
    for (uint32_t r = 1; r < roster->own.size; r++)
        if (roster->seats[r].is_here)
            answer(self, 0, roster->seats[r].peer, number, tnd_text_payload_of("%s", text));
}

/*  Returns TND_MEETING_MISSED if this ends the meeting. */
static tnd_meeting_end_t take(meeting_t *self, tnd_roster_t *roster, const tnd_arrival_t *arrival)
{
    tnd_roster_request_t request;
    tnd_error_t why;
    char text[400];
    if (tnd_roster_request_read(&request, arrival->msg.note.payload, &why) != TND_OK) {
        tnd_hub_disconnect_peer(self->hub, 0, arrival->peer, why.text);
        return TND_MEETING_HELD;
    }
    tnd_roster_verdict_t verdict = tnd_roster_come(roster, &request, arrival->peer);
    if (verdict == TND_ROSTER_TAKEN && roster->is_closed) {
        answer(self, 0, arrival->peer, TND_ROSTER_ANSWER_LIST, tnd_roster_list_write(&self->list));
        return TND_MEETING_HELD;
    }
    (void)tnd_roster_verdict_text(roster, verdict, &request, text, sizeof text);
    answer(self, 0, arrival->peer,
           verdict == TND_ROSTER_TAKEN       ? TND_ROSTER_ANSWER_WAIT
           : verdict == TND_ROSTER_ELSEWHERE ? TND_ROSTER_ANSWER_ELSEWHERE
                                             : TND_ROSTER_ANSWER_NO,
           tnd_text_payload_of("%s", text));
    if (verdict == TND_ROSTER_DOUBLED)
        snprintf(self->last, sizeof self->last, "%.199s", text);
    if (verdict < TND_ROSTER_OTHER_SIZE || roster->is_closed)
        return TND_MEETING_HELD;
    tell_all(self, roster, TND_ROSTER_ANSWER_NO, text);
    return end_with(self, TND_MEETING_MISSED, text);
}

/*  A process was asked to end, and so all end before they have begun. */
static tnd_meeting_end_t end_all(meeting_t *self, const tnd_roster_t *roster, uint32_t rank)
{
    char text[100];
    snprintf(text, sizeof text, "drained before the start: rank %" PRIu32 " was asked to end",
             rank);
    tell_all(self, roster, TND_ROSTER_ANSWER_ENDED, text);
    return end_with(self, TND_MEETING_ENDED, text);
}

/*  A process that has the list drains in the run. */
static tnd_meeting_end_t take_end(meeting_t *self, const tnd_roster_t *roster,
                                  const tnd_arrival_t *arrival)
{
    for (uint32_t r = 1; r < roster->own.size && !roster->is_closed; r++)
        if (roster->seats[r].is_here && roster->seats[r].peer == arrival->peer)
            return end_all(self, roster, r);
    return TND_MEETING_HELD;
}

static tnd_meeting_end_t take_arrival(meeting_t *self, tnd_roster_t *roster, tnd_arrival_t *arrival)
{
    tnd_meeting_end_t end = TND_MEETING_HELD;
    if (arrival->kind == TND_ARRIVAL_LOST && tnd_roster_leave(roster, arrival->peer))
        self->return_ns = tnd_clock_now() + return_ns;
    if (arrival->kind == TND_ARRIVAL_REFUSED)
        snprintf(self->last, sizeof self->last, "refused %.40s: %.140s", arrival->address,
                 arrival->why);
    if (arrival->kind != TND_ARRIVAL_MESSAGE)
        return end;
    bool asks = arrival->msg.kind == TND_MSG_JOIN_REQUEST && tnd_is_attendee(arrival->peer);
    if (asks && arrival->msg.note.number == TND_ROSTER_HAS_LIST)
        (void)tnd_roster_leave(roster, arrival->peer);
    else if (asks && arrival->msg.note.number == TND_ROSTER_IS_ENDED)
        end = take_end(self, roster, arrival);
    else if (asks)
        end = take(self, roster, arrival);
    tnd_msg_drop(&arrival->msg, arrival->carry);
    return end;
}

static tnd_meeting_end_t miss(meeting_t *self, const tnd_roster_t *roster)
{
    char text[400], missing[200];
    snprintf(text, sizeof text, "%s within %" PRIu64 " s%s%s",
             tnd_roster_missing_text(roster, missing, sizeof missing),
             self->plan->start_timeout_ns / 1000000000u, self->last[0] != '\0' ? "; " : "",
             self->last);
    tell_all(self, roster, TND_ROSTER_ANSWER_NO, text);
    return end_with(self, TND_MEETING_MISSED, text);
}

static void close_roster(meeting_t *self, tnd_roster_t *roster)
{
    tnd_roster_process_t *processes = tnd_allocate_zeroed(roster->own.size, sizeof *processes);
    self->list.number = tnd_meeting_file_life();
    self->list.count = tnd_roster_close(roster, processes);
    self->list.processes = processes;
    for (uint32_t r = 1; r < roster->own.size; r++)
        if (roster->seats[r].is_here)
            answer(self, 0, roster->seats[r].peer, TND_ROSTER_ANSWER_LIST,
                   tnd_roster_list_write(&self->list));
}

/*  Until all have the list: a connection may be lost just now. */
static void deliver(meeting_t *self, tnd_roster_t *roster)
{
    uint64_t until = tnd_clock_now() + self->plan->start_timeout_ns, now;
    while ((now = tnd_clock_now()) < until &&
           (tnd_roster_count(roster) > 0 || now < self->return_ns)) {
        tnd_arrival_t arrival;
        bool waits = tnd_roster_count(roster) > 0;
        if (tnd_hub_receive(self->hub, &arrival) == TND_OK)
            (void)take_arrival(self, roster, &arrival);
        else if (tnd_hub_wait(self->hub, waits ? until : self->return_ns) != TND_OK)
            break;
    }
}

/*  Tells a process that comes now.  Whether one did. */
static bool end_one(meeting_t *self, tnd_roster_t *roster, tnd_arrival_t *arrival)
{
    tnd_roster_request_t request;
    tnd_error_t error;
    if (arrival->kind != TND_ARRIVAL_MESSAGE)
        return false;
    bool comes = arrival->msg.kind == TND_MSG_JOIN_REQUEST && tnd_is_attendee(arrival->peer) &&
                 arrival->msg.note.number == TND_ROSTER_COMES &&
                 tnd_roster_request_read(&request, arrival->msg.note.payload, &error) == TND_OK &&
                 tnd_roster_come(roster, &request, arrival->peer) == TND_ROSTER_TAKEN;
    if (comes)
        answer(self, 0, arrival->peer, TND_ROSTER_ANSWER_ENDED,
               tnd_text_payload_of("%s", self->error->text));
    tnd_msg_drop(&arrival->msg, arrival->carry);
    return comes;
}

/*  Those that are just being started would wait for a leader that has ended. */
static void end_others(meeting_t *self, tnd_roster_t *roster)
{
    uint64_t until = tnd_clock_now() + ended_answer_ns;
    uint32_t missing = roster->own.size - 1 - tnd_roster_count(roster);
    while (missing > 0 && tnd_clock_now() < until) {
        tnd_arrival_t arrival;
        if (tnd_hub_receive(self->hub, &arrival) == TND_OK)
            missing -= end_one(self, roster, &arrival);
        else if (tnd_hub_wait(self->hub, until) != TND_OK)
            break;
    }
}

static tnd_meeting_end_t host(meeting_t *self, tnd_roster_t *roster)
{
    while (!tnd_roster_is_complete(roster, tnd_clock_now())) {
        tnd_arrival_t arrival;
        tnd_meeting_end_t end = TND_MEETING_HELD;
        if (tnd_hub_receive(self->hub, &arrival) == TND_OK)
            end = take_arrival(self, roster, &arrival);
        else if (tnd_roster_is_late(roster, tnd_clock_now()))
            end = miss(self, roster);
        else if (is_ended(self))
            end = end_all(self, roster, 0);
        else if (wait_until(self, self->until_ns) != TND_OK)
            return end_with(self, TND_MEETING_MISSED, "the processes cannot be waited for");
        if (end == TND_MEETING_ENDED)
            end_others(self, roster);
        if (end != TND_MEETING_HELD)
            return end;
    }
    self->return_ns = 0;
    close_roster(self, roster);
    deliver(self, roster);
    return TND_MEETING_HELD;
}

/*  What others are told by a file. */
static void describe(meeting_t *self)
{
    self->own.life = self->file.life = tnd_meeting_file_life();
    self->file.count =
        tnd_meeting_place_addresses(self->file.addresses, TND_MEETING_FILE_ADDRESSES);
    if (self->place->is_local) {
        self->file.count = 1;
        snprintf(self->file.addresses[0], TND_ROSTER_TEXT, "%s", self->place->leader);
    } else if (self->own.process.address[0] != '\0') {
        self->file.count = 1;
        snprintf(self->file.addresses[0], TND_ROSTER_TEXT, "%s", self->own.process.address);
    }
}

/*  A file that is there already is one of a leader that was killed, unless it answers. */
static tnd_meeting_end_t publish(meeting_t *self)
{
    tnd_status_t status;
    self->file.port = self->list.port;
    while ((status = tnd_meeting_file_create(self->place, &self->file, self->error)) == TND_AGAIN) {
        uint64_t life;
        if (is_led(self, &life)) {
            (void)tnd_fail(
                self->error,
                "--meet %.200s: another run meets there by the same name, `%.160s`: give "
                "each run a TUNDISH_JOB of its own",
                self->place->folder, self->place->file);
            return TND_MEETING_MISSED;
        }
        /* Another leader may have written one since: only that which was tried is removed. */
        if (tnd_meeting_file_remove(self->place, life, self->error) != TND_OK)
            return TND_MEETING_PLACE;
    }
    return status == TND_OK ? TND_MEETING_HELD : TND_MEETING_PLACE;
}

static tnd_meeting_end_t lead(meeting_t *self)
{
    tnd_roster_t roster;
    tnd_error_t error;
    if (open_hub(self, true) != TND_OK)
        return TND_MEETING_PORT;
    if (self->place->folder != NULL)
        describe(self);
    tnd_meeting_end_t end = listen_at(self);
    if (end == TND_MEETING_HELD && self->place->folder != NULL)
        end = publish(self);
    if (end != TND_MEETING_HELD)
        return end;
    void *memory = tnd_allocate_zeroed(1, tnd_roster_bytes(self->own.size));
    tnd_roster_init(&roster, memory, &self->own, self->until_ns);
    roster.rest_first = self->plan->rest_first;
    roster.rest_count = self->plan->rest_count;
    roster.least = self->plan->least;
    end = host(self, &roster);
    free(memory);
    if (self->place->folder != NULL && (end != TND_MEETING_HELD || self->plan->restarts.run == 0))
        (void)tnd_meeting_file_remove(self->place, self->file.life, &error);
    return end;
}

/* --- the others ------------------------------------------------------------------------------- */

static tnd_status_t dial(meeting_t *self, uint32_t index)
{
    const tnd_terms_t terms = terms_of_meeting();
    char endpoint[TND_ENDPOINT_SIZE];
    if (self->place->folder != NULL)
        snprintf(endpoint, sizeof endpoint, "tcp://%s:%" PRIu32, self->file.addresses[self->turn],
                 self->file.port);
    else
        snprintf(endpoint, sizeof endpoint, "tcp://%s:%" PRIu32, self->place->leader,
                 self->place->ports[index]);
    return tnd_hub_connect(self->hub, index, LEADS, endpoint, &terms, self->error);
}

static void say(meeting_t *self, uint32_t index, uint32_t number)
{
    tnd_msg_t msg = {.kind = TND_MSG_JOIN_REQUEST, .from = self->id, .to = LEADS};
    msg.note.number = number;
    msg.note.payload = tnd_roster_request_write(&self->own);
    if (tnd_hub_send(self->hub, index, LEADS, &msg, TND_CARRY_BUFFER) != TND_OK)
        tnd_msg_drop(&msg, TND_CARRY_BUFFER); /* if the connection is lost again, it returns */
}

/*  Returns TND_AGAIN until the meeting is over; *seated_p: rank 0 knows this process. */
static tnd_status_t take_answer(meeting_t *self, const tnd_msg_t *msg, bool *seated_p)
{
    tnd_text_payload_reader_t reader;
    if (msg->note.number == TND_ROSTER_ANSWER_LIST)
        return tnd_roster_list_read(&self->list, msg->note.payload, self->error);
    *seated_p = *seated_p || msg->note.number == TND_ROSTER_ANSWER_WAIT;
    if (msg->note.number == TND_ROSTER_ANSWER_WAIT)
        return TND_AGAIN;
    tnd_text_payload_read(&reader, msg->note.payload);
    const char *why = tnd_text_payload_line(&reader);
    if (msg->note.number == TND_ROSTER_ANSWER_ELSEWHERE) {
        snprintf(self->last, sizeof self->last, "there meets %.180s", why != NULL ? why : "");
        self->turn_ns = tnd_clock_now() + again_ns;
        return TND_AGAIN;
    }
    self->is_answered = true;
    self->all_end = msg->note.number == TND_ROSTER_ANSWER_ENDED;
    return tnd_fail(self->error, "%s", why != NULL ? why : "rank 0 refused without a reason");
}

static tnd_status_t take_word(meeting_t *self, tnd_arrival_t *arrival, uint64_t *redial_ns,
                              bool *seated_p)
{
    tnd_status_t status = TND_AGAIN;
    switch (arrival->kind) {
    case TND_ARRIVAL_UP:
        self->turn_ns = tnd_clock_now() + answer_ns;
        say(self, arrival->port, TND_ROSTER_COMES);
        break;
    case TND_ARRIVAL_LOST:
        if (*seated_p && self->plan->restarts.run > 0) /* a run that starts again meets here */
            self->until_ns = tnd_clock_now() + self->plan->start_timeout_ns;
        *seated_p = false;
        break;
    case TND_ARRIVAL_REFUSED:
        snprintf(self->last, sizeof self->last, "port %" PRIu32 " refused: %.160s",
                 self->place->folder != NULL ? self->file.port : self->place->ports[arrival->port],
                 arrival->why);
        redial_ns[arrival->port] = tnd_clock_now() + again_ns;
        break;
    case TND_ARRIVAL_MESSAGE:
        if (arrival->msg.kind == TND_MSG_JOIN_REQUEST)
            status = take_answer(self, &arrival->msg, seated_p);
        self->seat = arrival->port;
        if (status == TND_OK)
            say(self, arrival->port, TND_ROSTER_HAS_LIST);
        tnd_msg_drop(&arrival->msg, arrival->carry);
        break;
    }
    return status;
}

/*  Dials again what was refused; returns when to look again. */
static uint64_t dial_again(meeting_t *self, uint64_t *redial_ns, uint64_t now)
{
    uint64_t next = UINT64_MAX;
    for (uint32_t i = 0; i < self->place->port_count; i++) {
        if (redial_ns[i] != 0 && redial_ns[i] <= now) {
            tnd_hub_disconnect(self->hub, i, LEADS);
            redial_ns[i] = dial(self, i) == TND_OK ? 0 : now + again_ns;
        }
        if (redial_ns[i] != 0 && redial_ns[i] < next)
            next = redial_ns[i];
    }
    return next;
}

/*  Dials rank 0 where its name is now, if that has another address.  Returns when to look again. */
static uint64_t dial_by_name(meeting_t *self, uint64_t *redial_ns, uint64_t now)
{
    if (self->place->name[0] == '\0')
        return UINT64_MAX;
    if (now < self->turn_ns)
        return self->turn_ns;
    self->turn_ns = now + renew_ns;
    if (!tnd_meeting_place_renew(self->place) ||
        tnd_meeting_place_reach(self->plan, self->place->leader, &self->own, self->error) != TND_OK)
        return self->turn_ns;
    for (uint32_t i = 0; i < self->place->port_count; i++)
        tnd_hub_disconnect(self->hub, i, LEADS);
    tnd_hub_rebirth(self->hub, tnd_clock_read(CLOCK_REALTIME));
    for (uint32_t i = 0; i < self->place->port_count; i++)
        redial_ns[i] = dial(self, i) == TND_OK ? 0 : now + again_ns;
    return self->turn_ns;
}

/*  With a file: dials its addresses in turn, and reads it again between them.  Returns when to look
 *  again.  An address without a route is one that does not answer.  TND_FAILED: the folder cannot be
 *  read. */
static tnd_status_t dial_by_file(meeting_t *self, uint64_t now, uint64_t *next_p)
{
    tnd_meeting_file_t file;
    *next_p = self->turn_ns;
    if (now < self->turn_ns)
        return TND_OK;
    bool dials = self->file.count > 0;
    tnd_status_t status = tnd_meeting_file_read(self->place, &file, self->error);
    if (status == TND_FAILED)
        return TND_FAILED;
    bool is_new = status == TND_OK && file.life != self->file.life;
    if (is_new)
        self->file = file;
    self->turn = is_new || !dials ? 0 : (self->turn + 1) % self->file.count;
    *next_p = self->turn_ns = now + (self->file.count > 0 ? address_ns : again_ns);
    if (self->file.count == 0)
        return TND_OK;
    if (dials) { /* a leader that has seen this connection expects a later life */
        tnd_hub_disconnect(self->hub, 0, LEADS);
        tnd_hub_rebirth(self->hub, tnd_clock_read(CLOCK_REALTIME));
    }
    self->own.life = self->file.life;
    if (tnd_meeting_place_reach(self->plan, self->file.addresses[self->turn], &self->own,
                                self->error) != TND_OK ||
        dial(self, 0) != TND_OK) {
        snprintf(self->last, sizeof self->last, "%.199s", self->error->text);
        *next_p = self->turn_ns = now + again_ns;
    }
    return TND_OK;
}

static tnd_meeting_end_t give_up_file(meeting_t *self)
{
    uint64_t seconds = self->plan->start_timeout_ns / 1000000000u;
    if (self->file.count == 0)
        (void)tnd_fail(self->error,
                       "rank 0 did not write `%.160s` in %.200s within %" PRIu64
                       " s: was it started with the same files, and is the folder shared?",
                       self->place->file, self->place->folder, seconds);
    else
        (void)tnd_fail(self->error,
                       "rank 0 did not answer within %" PRIu64 " s at %s:%" PRIu32
                       ", which `%.160s` names%s%s%s",
                       seconds, self->file.addresses[self->turn], self->file.port,
                       self->place->file, self->last[0] != '\0' ? " (" : "", self->last,
                       self->last[0] != '\0' ? ")" : ": can it be reached?");
    return TND_MEETING_MISSED;
}

static tnd_meeting_end_t give_up(meeting_t *self)
{
    if (self->place->folder != NULL)
        return give_up_file(self);
    (void)tnd_fail(self->error,
                   "rank 0 did not answer within %" PRIu64 " s at %s, port%s %" PRIu32 "%s%s%s%s",
                   self->plan->start_timeout_ns / 1000000000u, self->place->leader,
                   self->place->port_count > 1 ? "s" : "", self->place->ports[0],
                   self->place->port_count > 1 ? " to the 16th from there" : "",
                   self->last[0] != '\0' ? " (" : "", self->last,
                   self->last[0] != '\0' ? ")" : ": was it started, and can it be reached?");
    return TND_MEETING_MISSED;
}

/*  Once this process was asked to end, rank 0 tells all.  Whether there was enough time for that. */
static bool has_ended(meeting_t *self, bool seated)
{
    if (!is_ended(self))
        return false;
    if (self->ended_ns == 0)
        self->ended_ns = tnd_clock_now();
    if (seated && !self->end_told)
        say(self, self->seat, TND_ROSTER_IS_ENDED);
    self->end_told = seated;
    return tnd_clock_now() >= self->ended_ns + ended_answer_ns;
}

static tnd_meeting_end_t attend(meeting_t *self)
{
    uint64_t redial_ns[TND_MEETING_PORTS] = {0}; /* after a refusal; 0: it is dialled */
    uint64_t next;
    bool seated = false, by_file = self->place->folder != NULL;
    if (open_hub(self, false) != TND_OK)
        return TND_MEETING_PORT;
    for (uint32_t i = 0; i < self->place->port_count && !by_file; i++)
        if (dial(self, i) != TND_OK)
            return TND_MEETING_PLACE;
    /* Rank 0 decides how long those wait that it knows. */
    while (seated || tnd_clock_now() < self->until_ns) {
        tnd_arrival_t arrival;
        if (tnd_hub_receive(self->hub, &arrival) == TND_OK) {
            tnd_status_t status = take_word(self, &arrival, redial_ns, &seated);
            if (status != TND_AGAIN)
                return status == TND_OK ? TND_MEETING_HELD
                       : self->all_end  ? TND_MEETING_ENDED
                                        : TND_MEETING_MISSED;
            continue;
        }
        if (has_ended(self, seated))
            return end_with(self, TND_MEETING_ENDED, "drained before the start");
        if (!by_file) {
            uint64_t renewed = seated ? UINT64_MAX : dial_by_name(self, redial_ns, tnd_clock_now());
            next = dial_again(self, redial_ns, tnd_clock_now());
            next = renewed < next ? renewed : next;
        } else if (seated)
            next = UINT64_MAX;
        else if (dial_by_file(self, tnd_clock_now(), &next) != TND_OK)
            return TND_MEETING_PLACE;
        uint64_t until = seated ? UINT64_MAX : self->until_ns;
        if (wait_until(self, next < until ? next : until) != TND_OK)
            break;
    }
    return give_up(self);
}

/*  Whether another leader answers, where the file that is there says; *life_p: of the file, 0 if it
 *  is not a whole one. */
static bool is_led(const meeting_t *self, uint64_t *life_p)
{
    tnd_error_t error;
    meeting_t probe = {
        .network = self->network,
        .context = self->context,
        .plan = self->plan,
        .place = self->place,
        .own = self->own,
        .until_ns = tnd_clock_now() + probe_ns,
        .error = &error,
    };
    (void)attend(&probe);
    if (probe.hub != NULL)
        tnd_hub_close(&probe.hub, 0);
    *life_p = probe.file.life;
    return probe.is_answered;
}

/* --- both ------------------------------------------------------------------------------------- */

static tnd_meeting_end_t meet(meeting_t *self, bool again)
{
    self->context = self->network->create();
    self->until_ns = tnd_clock_now() + self->plan->start_timeout_ns;
    if (again && self->own.process.rank > 0)
        self->until_ns += session_end_ns;
    tnd_meeting_end_t end = self->own.process.rank == 0 ? lead(self) : attend(self);
    if (self->hub != NULL)
        tnd_hub_close(&self->hub, linger_ns);
    self->network->destroy(&self->context); /* and with it the port is free */
    return end;
}

/*  Without those that are missing, ranks are counted again. */
static void renumber(tnd_launch_t *launch, const tnd_roster_list_t *list)
{
    for (uint32_t i = 0; i < list->count; i++)
        if (list->processes[i].rank == launch->rank) {
            launch->rank = i;
            break;
        }
    launch->size = list->count;
}

void tnd_meeting_expect(tnd_graph_t *graph, const tnd_launch_t *launch)
{
    if (launch->launcher != NULL && launch->size > 1)
        tnd_graph_launched(graph, &(tnd_roster_list_t){.count = launch->size});
}

static tnd_meeting_end_t check_insecure(const meeting_t *self, const tnd_meeting_place_t *place)
{
    if (place->is_local || self->plan->admission.insecure)
        return TND_MEETING_HELD;
    (void)tnd_fail(self->error,
                   "the processes are on several machines, and their connections are not secured: "
                   "in a network that you trust, add `insecure: true`");
    return TND_MEETING_TOPOLOGY;
}

/*  The file of rank 0, while the run goes on. */
typedef struct {
    tnd_meeting_place_t place;
    char folder[PATH_MAX];
    uint64_t life;
} kept_file_t;

static void remove_kept(void *context)
{
    kept_file_t *kept = context;
    tnd_error_t error;
    (void)tnd_meeting_file_remove(&kept->place, kept->life, &error);
    free(kept);
}

/*  A process that comes late finds the run by the file, and waits for its next start. */
static void keep_file(const meeting_t *self, tnd_graph_t *graph)
{
    kept_file_t *kept = tnd_allocate(1, sizeof *kept);
    kept->place = *self->place;
    kept->life = self->file.life;
    snprintf(kept->folder, sizeof kept->folder, "%s", self->place->folder);
    kept->place.folder = kept->folder;
    tnd_graph_undo_at_end(graph, remove_kept, kept);
}

tnd_meeting_end_t tnd_meeting_hold(const tnd_network_t *network, tnd_graph_t *graph,
                                   tnd_launch_t *launch, const tnd_meeting_wish_t *wish,
                                   tnd_error_t *error)
{
    static _Atomic unsigned held;
    const tnd_plan_t *plan = tnd_graph_plan(graph);
    tnd_meeting_place_t place;
    meeting_t self = {.network = network,
                      .plan = plan,
                      .place = &place,
                      .is_ended = wish->is_ended,
                      .error = error};
    uint32_t host;
    if (plan->rest_count == 0 || launch->launcher == NULL || launch->size == 1)
        return TND_MEETING_HELD;
    if (tnd_launched_host(launch, plan, &host, error) != TND_OK)
        return TND_MEETING_PLACE;
    tnd_status_t found =
        tnd_meeting_place_find(&place, launch, plan, wish, atomic_fetch_add(&held, 1), error);
    if (found != TND_OK && is_ended(&self))
        return end_with(&self, TND_MEETING_ENDED, "drained before the start");
    if (found != TND_OK)
        return found == TND_AGAIN ? TND_MEETING_MISSED : TND_MEETING_PLACE;
    tnd_meeting_end_t end = check_insecure(&self, &place);
    if (end != TND_MEETING_HELD ||
        tnd_meeting_place_facts(&place, launch, plan, &self.own, error) != TND_OK)
        return TND_MEETING_TOPOLOGY;
    end = meet(&self, wish->again);
    if (end != TND_MEETING_HELD)
        return end;
    if (place.folder != NULL && self.own.process.rank == 0 && plan->restarts.run > 0)
        keep_file(&self, graph);
    renumber(launch, &self.list);
    tnd_graph_launched(graph, &self.list);
    free((void *)self.list.processes);
    error->text[0] = '\0';
    return tnd_graph_check(graph) == TND_OK ? TND_MEETING_HELD : TND_MEETING_TOPOLOGY;
}

tnd_status_t tnd_meeting_attend(const tnd_network_t *network, tnd_graph_t *graph,
                                tnd_launch_t *launch)
{
    tnd_error_t error;
    if (tnd_launch_read(launch, (const char *const *)environ, NULL, &error) != TND_OK) {
        tnd_graph_fail(graph, error.text);
        return TND_FAILED;
    }
    const tnd_plan_t *plan = tnd_graph_plan(graph);
    if (plan == NULL || plan->rest_count > 0)
        tnd_meeting_expect(graph, launch);
    if (tnd_graph_plan(graph) == NULL)
        TND_TRY(tnd_graph_check(graph));
    const tnd_meeting_wish_t wish = {.is_ended = tnd_drain_signals_came};
    tnd_meeting_end_t end = tnd_meeting_hold(network, graph, launch, &wish, &error);
    if (end != TND_MEETING_HELD && error.text[0] != '\0')
        tnd_graph_fail(graph, error.text);
    return end == TND_MEETING_HELD ? TND_OK : end == TND_MEETING_ENDED ? TND_STOPPED : TND_FAILED;
}
