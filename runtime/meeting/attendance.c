/*  runtime/meeting/attendance.c - one process at a meeting: what rank 0 and the others have in common. */
#include "runtime/meeting/attendance.h"

#include <stddef.h>

#include "runtime/base/clock.h"
#include "runtime/meeting/join_request.h"
#include "runtime/plan/pace.h"

enum { FRAME_MAX = 4 << 20, FOREIGN_MAX = 256 };

/*  Control connections of runs have other terms, so that none is taken for a meeting. */
static const uint64_t meeting_terms[2] = {0x6d65657420686572, 0x1};

/*  How often is looked whether this process was asked to end. */
static const uint64_t ended_look_ns = 100000000;

tnd_meeting_end_t tnd_attendance_end(tnd_attendance_t *self, tnd_meeting_end_t end,
                                     const char *text)
{
    (void)tnd_fail(self->error, "%s", text);
    return end;
}

tnd_status_t tnd_attendance_open(tnd_attendance_t *self, bool leads)
{
    uint64_t life = tnd_clock_read(CLOCK_REALTIME);
    self->id = leads ? TND_MEETING_LEADS : tnd_attendee_id(life);
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
tnd_terms_t tnd_attendance_terms(void)
{
    return (tnd_terms_t){.graph = {meeting_terms[0], meeting_terms[1]},
                         .abi = TND_WIRE_ABI,
                         .listener = TND_MEETING_LEADS};
}

bool tnd_attendance_is_ended(const tnd_attendance_t *self)
{
    return self->is_ended != NULL && self->is_ended();
}

tnd_status_t tnd_attendance_wait(tnd_attendance_t *self, uint64_t until_ns)
{
    uint64_t look_ns = self->is_ended != NULL ? tnd_clock_now() + ended_look_ns : UINT64_MAX;
    return tnd_hub_wait(self->hub, until_ns < look_ns ? until_ns : look_ns);
}
