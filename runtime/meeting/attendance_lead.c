/*  runtime/meeting/attendance_lead.c - rank 0 of a meeting: listens, and gives the list to all. */
#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "runtime/base/allocation.h"
#include "runtime/base/clock.h"
#include "runtime/data/text_payload.h"
#include "runtime/meeting/attendance.h"
#include "runtime/meeting/join_request.h"
#include "runtime/plan/pace.h"

/*  A process that lost its connection has a time to come again for the list. */
static const uint64_t return_ns = 1000000000;

/*  How long a leader has to answer whose file is there already, or that has a port of this job. */
static const uint64_t probe_ns = 1000000000;

/*  How long those that come after an end have to know it. */
static const uint64_t ended_answer_ns = 3000000000;

static void answer(tnd_attendance_t *self, uint32_t port, tnd_actor_id_t peer, uint32_t number,
                   tnd_buffer_t *text)
{
    tnd_msg_t msg = {.kind = TND_MSG_JOIN_REQUEST, .from = TND_MEETING_LEADS, .to = peer};
    msg.note.number = number;
    msg.note.payload = text;
    if (tnd_hub_send(self->hub, port, peer, &msg, TND_CARRY_BUFFER) != TND_OK)
        tnd_msg_drop(&msg, TND_CARRY_BUFFER);
}

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

static const char *listening_address(const tnd_attendance_t *self)
{
    if (self->place->is_local)
        return self->place->leader;
    const char *known = self->file.count > 0 ? self->file.addresses[0] : self->place->leader;
    return known[0] == '[' ? "[::]" : "*";
}

/*  Listens at the first port that is free. */
static tnd_meeting_end_t listen_at(tnd_attendance_t *self)
{
    const tnd_meeting_place_t *place = self->place;
    const tnd_terms_t terms = tnd_attendance_terms();
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
        self->liveness =
            tnd_liveness_listen(listening_address(self), self->plan->hosts[0].ports_first,
                                self->plan->hosts[0].ports_last, self->own.size,
                                tnd_pace_stretch(self->plan, self->plan->dead_after_ns));
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
static void tell_all(tnd_attendance_t *self, const tnd_roster_t *roster, uint32_t number,
                     const char *text)
{
    for (uint32_t r = 1; r < roster->own.size; r++)
        if (roster->seats[r].is_here)
            answer(self, 0, roster->seats[r].peer, number, tnd_text_payload_of("%s", text));
}

/*  Returns TND_MEETING_MISSED if this ends the meeting. */
static tnd_meeting_end_t take(tnd_attendance_t *self, tnd_roster_t *roster,
                              const tnd_arrival_t *arrival)
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
    if (verdict == TND_ROSTER_TAKEN)
        tnd_liveness_invite(self->liveness, text);
    else
        (void)tnd_roster_verdict_text(roster, verdict, &request, text, sizeof text);
    answer(self, 0, arrival->peer,
           verdict == TND_ROSTER_TAKEN       ? TND_ROSTER_ANSWER_WAIT
           : verdict == TND_ROSTER_ELSEWHERE ? TND_ROSTER_ANSWER_ELSEWHERE
                                             : TND_ROSTER_ANSWER_NO,
           tnd_text_payload_of("%s", text));
    if (verdict == TND_ROSTER_DOUBLED || verdict == TND_ROSTER_SPARED) {
        snprintf(self->last, sizeof self->last, "%.199s", text);
        snprintf(self->warning, sizeof self->warning, "%.199s", text);
    }
    if (verdict < TND_ROSTER_OTHER_SIZE || roster->is_closed)
        return TND_MEETING_HELD;
    tell_all(self, roster, TND_ROSTER_ANSWER_NO, text);
    return tnd_attendance_end(self, TND_MEETING_MISSED, text);
}

/*  A process was asked to end, and so all end before they have begun. */
static tnd_meeting_end_t end_all(tnd_attendance_t *self, const tnd_roster_t *roster, uint32_t rank)
{
    char text[100];
    snprintf(text, sizeof text, "drained before the start: rank %" PRIu32 " was asked to end",
             rank);
    tell_all(self, roster, TND_ROSTER_ANSWER_ENDED, text);
    return tnd_attendance_end(self, TND_MEETING_ENDED, text);
}

/*  A process that has the list drains in the run. */
static tnd_meeting_end_t take_end(tnd_attendance_t *self, const tnd_roster_t *roster,
                                  const tnd_arrival_t *arrival)
{
    for (uint32_t r = 1; r < roster->own.size && !roster->is_closed; r++)
        if (roster->seats[r].is_here && roster->seats[r].peer == arrival->peer)
            return end_all(self, roster, r);
    return TND_MEETING_HELD;
}

static tnd_meeting_end_t take_arrival(tnd_attendance_t *self, tnd_roster_t *roster,
                                      tnd_arrival_t *arrival)
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
        tnd_roster_told(roster, arrival->peer);
    else if (asks && arrival->msg.note.number == TND_ROSTER_IS_ENDED)
        end = take_end(self, roster, arrival);
    else if (asks)
        end = take(self, roster, arrival);
    tnd_msg_drop(&arrival->msg, arrival->carry);
    return end;
}

static tnd_meeting_end_t miss(tnd_attendance_t *self, const tnd_roster_t *roster)
{
    char text[400], missing[200];
    snprintf(text, sizeof text, "%s within %" PRIu64 " s%s%s",
             tnd_roster_missing_text(roster, missing, sizeof missing),
             self->plan->start_timeout_ns / 1000000000u, self->last[0] != '\0' ? "; " : "",
             self->last);
    tell_all(self, roster, TND_ROSTER_ANSWER_NO, text);
    return tnd_attendance_end(self, TND_MEETING_MISSED, text);
}

static void close_roster(tnd_attendance_t *self, tnd_roster_t *roster)
{
    tnd_roster_process_t *processes = tnd_allocate_zeroed(roster->own.size, sizeof *processes);
    self->list.number = tnd_meeting_file_life();
    self->list.count = tnd_roster_close(roster, processes);
    self->list.processes = processes;
    if (self->liveness != NULL)
        tnd_liveness_number(self->liveness, &self->list);
    for (uint32_t r = 1; r < roster->own.size; r++)
        if (roster->seats[r].is_here)
            answer(self, 0, roster->seats[r].peer, TND_ROSTER_ANSWER_LIST,
                   tnd_roster_list_write(&self->list));
}

/*  Until all have the list: a connection may be lost just now. */
static void deliver(tnd_attendance_t *self, tnd_roster_t *roster)
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
    for (uint32_t r = 1; r < roster->own.size && self->liveness != NULL; r++)
        if (tnd_roster_is_doubtful(roster, r))
            tnd_liveness_doubt(self->liveness, r);
}

/*  Tells a process that comes now.  Whether one did. */
static bool end_one(tnd_attendance_t *self, tnd_roster_t *roster, uint32_t number,
                    tnd_arrival_t *arrival)
{
    tnd_roster_request_t request;
    tnd_error_t error;
    if (arrival->kind != TND_ARRIVAL_MESSAGE)
        return false;
    bool comes = arrival->msg.kind == TND_MSG_JOIN_REQUEST && tnd_is_attendee(arrival->peer) &&
                 arrival->msg.note.number == TND_ROSTER_COMES &&
                 tnd_roster_request_read(&request, arrival->msg.note.payload, &error) == TND_OK;
    tnd_roster_verdict_t verdict =
        comes ? tnd_roster_come(roster, &request, arrival->peer) : TND_ROSTER_ELSEWHERE;
    comes = verdict != TND_ROSTER_ELSEWHERE && verdict != TND_ROSTER_DOUBLED;
    if (comes)
        answer(self, 0, arrival->peer, number, tnd_text_payload_of("%s", self->error->text));
    tnd_msg_drop(&arrival->msg, arrival->carry);
    return comes;
}

/*  Those that are just being started would wait for a leader that has ended.  `told`: how many know it
 *  that have no place. */
static void end_others(tnd_attendance_t *self, tnd_roster_t *roster, uint32_t number, uint32_t told,
                       uint64_t until)
{
    uint32_t known = 1 + tnd_roster_count(roster) + told;
    uint32_t missing = roster->own.size > known ? roster->own.size - known : 0;
    while (missing > 0 && tnd_clock_now() < until) {
        tnd_arrival_t arrival;
        if (tnd_hub_receive(self->hub, &arrival) == TND_OK)
            missing -= end_one(self, roster, number, &arrival);
        else if (tnd_hub_wait(self->hub, until) != TND_OK)
            break;
    }
}

static tnd_meeting_end_t host(tnd_attendance_t *self, tnd_roster_t *roster)
{
    while (!tnd_roster_is_complete(roster, tnd_clock_now())) {
        tnd_arrival_t arrival;
        tnd_meeting_end_t end = TND_MEETING_HELD;
        if (tnd_hub_receive(self->hub, &arrival) == TND_OK)
            end = take_arrival(self, roster, &arrival);
        else if (tnd_roster_is_late(roster, tnd_clock_now()))
            end = miss(self, roster);
        else if (tnd_attendance_is_ended(self))
            end = end_all(self, roster, 0);
        else if (tnd_attendance_wait(self, self->until_ns) != TND_OK)
            return tnd_attendance_end(self, TND_MEETING_MISSED,
                                      "the processes cannot be waited for");
        uint64_t until = tnd_clock_now() + ended_answer_ns;
        if (end == TND_MEETING_ENDED)
            end_others(self, roster, TND_ROSTER_ANSWER_ENDED, 0, until);
        else if (end == TND_MEETING_MISSED && tnd_clock_now() < self->until_ns)
            end_others(self, roster, TND_ROSTER_ANSWER_NO, 1, until);
        if (end != TND_MEETING_HELD)
            return end;
    }
    self->return_ns = 0;
    close_roster(self, roster);
    deliver(self, roster);
    return TND_MEETING_HELD;
}

/*  What others are told by a file. */
static void describe(tnd_attendance_t *self)
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

/*  Whether a leader takes this process for a second one of rank 0: then it has its file, *life_p, or one of
 *  the ports of `place`. */
static bool is_led(tnd_attendance_t *self, tnd_meeting_place_t *place, uint64_t *life_p)
{
    tnd_error_t why;
    tnd_attendance_t probe = {
        .network = self->network,
        .context = self->context,
        .plan = self->plan,
        .place = place,
        .own = self->own,
        .until_ns = tnd_clock_now() + probe_ns,
        .probe_ns = tnd_clock_now() + probe_ns,
        .foreign_ns = UINT64_MAX,
        .probes = true,
        .error = &why,
    };
    (void)tnd_attendance_follow(&probe);
    if (probe.hub != NULL)
        tnd_hub_close(&probe.hub, 0);
    *life_p = probe.file.life; /* 0 if it is not a whole one */
    if (probe.is_answered)
        (void)tnd_fail(self->error, "%s", why.text);
    return probe.is_answered;
}

/*  The ports before this one, or all, are those of others, perhaps of one that has come first with rank 0. */
static bool has_twin(tnd_attendance_t *self)
{
    tnd_meeting_place_t before = *self->place;
    uint64_t life;
    before.port_count = 0;
    before.name[0] = '\0';
    while (before.port_count < self->place->port_count &&
           before.ports[before.port_count] != self->list.port)
        before.port_count++;
    return before.port_count > 0 && is_led(self, &before, &life);
}

/*  A file that is there already is one of a leader that was killed, unless it answers. */
static tnd_meeting_end_t publish(tnd_attendance_t *self)
{
    tnd_status_t status;
    self->file.port = self->list.port;
    while ((status = tnd_meeting_file_create(self->place, &self->file, self->error)) == TND_AGAIN) {
        uint64_t life;
        if (is_led(self, self->place, &life)) {
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

/*  Tells the others why rank 0 cannot take part, as far as they come soon. */
static tnd_meeting_end_t decline(tnd_attendance_t *self, tnd_roster_t *roster)
{
    char text[400];
    (void)tnd_fail(
        self->error, "%s",
        tnd_roster_verdict_text(roster, TND_ROSTER_DECLINED, &self->own, text, sizeof text));
    end_others(self, roster, TND_ROSTER_ANSWER_NO, 0, self->until_ns);
    return TND_MEETING_MISSED;
}

tnd_meeting_end_t tnd_attendance_lead(tnd_attendance_t *self)
{
    tnd_roster_t roster;
    tnd_error_t error;
    if (tnd_attendance_open(self, true) != TND_OK)
        return TND_MEETING_PORT;
    if (self->place->folder != NULL)
        describe(self);
    tnd_meeting_end_t end = listen_at(self);
    if (end == TND_MEETING_HELD && self->place->folder != NULL)
        end = publish(self);
    else if (self->place->folder == NULL && self->own.declines[0] == '\0' && has_twin(self))
        end = TND_MEETING_MISSED;
    if (end != TND_MEETING_HELD)
        return end;
    void *memory = tnd_allocate_zeroed(1, tnd_roster_bytes(self->own.size));
    tnd_roster_init(&roster, memory, &self->own, self->until_ns);
    roster.rest_first = self->plan->rest_first;
    roster.rest_count = self->plan->rest_count;
    roster.least = self->plan->least;
    end = self->own.declines[0] != '\0' ? decline(self, &roster) : host(self, &roster);
    free(memory);
    if (self->place->folder != NULL && (end != TND_MEETING_HELD || self->plan->restarts.run == 0))
        (void)tnd_meeting_file_remove(self->place, self->file.life, &error);
    return end;
}
