/*  runtime/meeting/attendance_follow.c - the processes of a meeting beside rank 0: look for it, and get the list. */
#include <inttypes.h>
#include <stdio.h>

#include "runtime/base/clock.h"
#include "runtime/data/text_payload.h"
#include "runtime/meeting/attendance.h"
#include "runtime/meeting/foreign_ports.h"

/*  After a refusal another process may get the port. */
static const uint64_t again_ns = 200000000;

/*  How long an address of the file has to answer, and how long a leader has that is connected. */
static const uint64_t address_ns = 300000000, answer_ns = 2000000000;

/*  How long a leader has that a probe has reached. */
static const uint64_t probe_answer_ns = 10000000000;

/*  How often a name is looked up that may be that of an earlier pod. */
static const uint64_t renew_ns = 1000000000;

/*  How long the leader has to know that this process was asked to end, and to answer that. */
static const uint64_t ended_answer_ns = 3000000000;

static tnd_status_t dial(tnd_attendance_t *self, uint32_t index)
{
    const tnd_terms_t terms = tnd_attendance_terms();
    char endpoint[TND_ENDPOINT_SIZE];
    if (self->place->folder != NULL)
        snprintf(endpoint, sizeof endpoint, "tcp://%s:%" PRIu32, self->file.addresses[self->turn],
                 self->file.port);
    else
        snprintf(endpoint, sizeof endpoint, "tcp://%s:%" PRIu32, self->place->leader,
                 self->place->ports[index]);
    return tnd_hub_connect(self->hub, index, TND_MEETING_LEADS, endpoint, &terms, self->error);
}

static void say(tnd_attendance_t *self, uint32_t index, uint32_t number)
{
    tnd_msg_t msg = {.kind = TND_MSG_JOIN_REQUEST, .from = self->id, .to = TND_MEETING_LEADS};
    msg.note.number = number;
    msg.note.payload = tnd_roster_request_write(&self->own);
    if (tnd_hub_send(self->hub, index, TND_MEETING_LEADS, &msg, TND_CARRY_BUFFER) != TND_OK)
        tnd_msg_drop(&msg, TND_CARRY_BUFFER); /* if the connection is lost again, it returns */
}

/*  A leader that a probe has reached is that of another job, or has ended. */
static void end_probe(tnd_attendance_t *self)
{
    self->unanswered -= self->unanswered > 0;
    if (self->probes && self->unanswered == 0)
        self->until_ns = self->probe_ns;
}

/*  From here on rank 0 notices the end of this process, until the run has connected it. */
static void show_life(tnd_attendance_t *self, const char *invitation)
{
    tnd_liveness_t *connected =
        tnd_liveness_connect(self->own.reached, self->own.process.rank, invitation);
    if (connected == NULL)
        return;
    tnd_liveness_destroy(&self->liveness);
    self->liveness = connected;
}

/*  Returns TND_AGAIN until the meeting is over; *seated_p: rank 0 knows this process. */
static tnd_status_t take_answer(tnd_attendance_t *self, const tnd_msg_t *msg, bool *seated_p)
{
    tnd_text_payload_reader_t reader;
    if (msg->note.number == TND_ROSTER_ANSWER_LIST)
        return tnd_roster_list_read(&self->list, msg->note.payload, self->error);
    bool waits = msg->note.number == TND_ROSTER_ANSWER_WAIT;
    *seated_p = *seated_p || (waits && !self->probes);
    tnd_text_payload_read(&reader, msg->note.payload);
    const char *why = tnd_text_payload_line(&reader);
    if (waits && !self->probes && why != NULL)
        show_life(self, why);
    if (waits && !(self->probes && self->place->folder != NULL))
        return TND_AGAIN;
    if (msg->note.number == TND_ROSTER_ANSWER_ELSEWHERE) {
        snprintf(self->last, sizeof self->last, "there meets %.180s", why != NULL ? why : "");
        self->turn_ns = tnd_clock_now() + again_ns;
        end_probe(self);
        return TND_AGAIN;
    }
    self->is_answered = true;
    self->all_end = msg->note.number == TND_ROSTER_ANSWER_ENDED;
    return tnd_fail(self->error, "%s", why != NULL ? why : "rank 0 refused without a reason");
}

static tnd_status_t take_word(tnd_attendance_t *self, tnd_arrival_t *arrival, uint64_t *redial_ns,
                              bool *seated_p)
{
    tnd_status_t status = TND_AGAIN;
    switch (arrival->kind) {
    case TND_ARRIVAL_UP:
        self->is_reached = true;
        self->turn_ns = tnd_clock_now() + answer_ns;
        self->unanswered++;
        if (self->probes)
            self->until_ns = tnd_clock_now() + probe_answer_ns;
        say(self, arrival->port, TND_ROSTER_COMES);
        break;
    case TND_ARRIVAL_LOST:
        end_probe(self);
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
static uint64_t dial_again(tnd_attendance_t *self, uint64_t *redial_ns, uint64_t now)
{
    uint64_t next = UINT64_MAX;
    for (uint32_t i = 0; i < self->place->port_count; i++) {
        if (redial_ns[i] != 0 && redial_ns[i] <= now) {
            tnd_hub_disconnect(self->hub, i, TND_MEETING_LEADS);
            redial_ns[i] = dial(self, i) == TND_OK ? 0 : now + again_ns;
        }
        if (redial_ns[i] != 0 && redial_ns[i] < next)
            next = redial_ns[i];
    }
    return next;
}

/*  Dials rank 0 where its name is now, if that has another address.  Returns when to look again. */
static uint64_t dial_by_name(tnd_attendance_t *self, uint64_t *redial_ns, uint64_t now)
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
        tnd_hub_disconnect(self->hub, i, TND_MEETING_LEADS);
    tnd_hub_rebirth(self->hub, tnd_clock_read(CLOCK_REALTIME));
    for (uint32_t i = 0; i < self->place->port_count; i++)
        redial_ns[i] = dial(self, i) == TND_OK ? 0 : now + again_ns;
    return self->turn_ns;
}

/*  With a file: dials its addresses in turn, and reads it again between them.  Returns when to look
 *  again.  An address without a route is one that does not answer.  TND_FAILED: the folder cannot be
 *  read. */
static tnd_status_t dial_by_file(tnd_attendance_t *self, uint64_t now, uint64_t *next_p)
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
        tnd_hub_disconnect(self->hub, 0, TND_MEETING_LEADS);
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

static tnd_meeting_end_t give_up_file(tnd_attendance_t *self)
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

static tnd_meeting_end_t give_up(tnd_attendance_t *self)
{
    if (self->place->folder != NULL)
        return give_up_file(self);
    if (self->place->own_name[0] != '\0' && self->last[0] == '\0')
        snprintf(
            self->last, sizeof self->last,
            "%.80s has this address on this machine, as a rule by /etc/hosts, and only here: if "
            "rank 0 is elsewhere, remove it there, or write --leader ADDRESS",
            self->place->own_name);
    (void)tnd_fail(self->error,
                   "rank 0 did not answer within %" PRIu64 " s at %s, port%s %" PRIu32 "%s%s%s%s",
                   self->plan->start_timeout_ns / 1000000000u, self->place->leader,
                   self->place->port_count > 1 ? "s" : "", self->place->ports[0],
                   self->place->port_count > 1 ? " to the 16th from there" : "",
                   self->last[0] != '\0' ? " (" : "", self->last,
                   self->last[0] != '\0' ? ")" : ": was it started, and can it be reached?");
    return TND_MEETING_MISSED;
}

/*  Rank 0 will find no port either.  Ports that were written may be those of a relay, which accepts before
 *  its leader is there. */
static bool has_no_port(tnd_attendance_t *self)
{
    const tnd_meeting_place_t *place = self->place;
    if (tnd_clock_now() < self->foreign_ns)
        return false;
    self->foreign_ns = UINT64_MAX;
    if (self->is_reached || place->folder != NULL || place->port_count == 1 ||
        !tnd_foreign_ports_are_all(place->leader, place->ports, place->port_count))
        return false;
    (void)tnd_fail(
        self->error,
        "none of the %" PRIu32 " ports from %" PRIu32
        " on that derive from the job is free at %s, because other programs listen there: "
        "write `port:`",
        place->port_count, place->ports[0], place->leader);
    return true;
}

/*  Once this process was asked to end, rank 0 tells all.  Whether there was enough time for that. */
static bool has_ended(tnd_attendance_t *self, bool seated)
{
    if (!tnd_attendance_is_ended(self))
        return false;
    if (self->ended_ns == 0)
        self->ended_ns = tnd_clock_now();
    if (seated && !self->end_told)
        say(self, self->seat, TND_ROSTER_IS_ENDED);
    self->end_told = seated;
    return tnd_clock_now() >= self->ended_ns + ended_answer_ns;
}

tnd_meeting_end_t tnd_attendance_follow(tnd_attendance_t *self)
{
    uint64_t redial_ns[TND_MEETING_PORTS] = {0}; /* after a refusal; 0: it is dialled */
    uint64_t next;
    bool seated = false, by_file = self->place->folder != NULL;
    if (tnd_attendance_open(self, false) != TND_OK)
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
            return tnd_attendance_end(self, TND_MEETING_ENDED, "drained before the start");
        if (!by_file) {
            uint64_t renewed = seated ? UINT64_MAX : dial_by_name(self, redial_ns, tnd_clock_now());
            next = dial_again(self, redial_ns, tnd_clock_now());
            next = renewed < next ? renewed : next;
        } else if (seated)
            next = UINT64_MAX;
        else if (dial_by_file(self, tnd_clock_now(), &next) != TND_OK)
            return TND_MEETING_PLACE;
        if (!seated && has_no_port(self))
            return TND_MEETING_PORT;
        next = !seated && self->foreign_ns < next ? self->foreign_ns : next;
        uint64_t until = seated ? UINT64_MAX : self->until_ns;
        if (tnd_attendance_wait(self, next < until ? next : until) != TND_OK)
            break;
    }
    return give_up(self);
}
