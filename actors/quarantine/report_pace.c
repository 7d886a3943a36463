/*  actors/quarantine/report_pace.c - which bad records are reported one by one. */
#include "actors/quarantine/report_pace.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

static const uint64_t kept_every_ns = 1000000000;

/*  Whether this reason is new; later, it is known. */
static bool learn(tnd_report_pace_t *self, const char *who)
{
    for (uint32_t r = 0; r < self->reason_count; r++)
        if (strncmp(self->reasons[r], who, sizeof self->reasons[r] - 1) == 0)
            return false;
    if (self->reason_count == TND_REPORT_PACE_REASONS)
        return false;
    snprintf(self->reasons[self->reason_count++], sizeof self->reasons[0], "%s", who);
    return true;
}

tnd_report_way_t tnd_report_pace_take(tnd_report_pace_t *self, const char *who, uint64_t now)
{
    bool is_new = learn(self, who);
    if (self->shown == TND_REPORT_PACE_SHOWN && !is_new && now - self->last_ns < kept_every_ns)
        return TND_REPORT_COUNTED;
    self->last_ns = now;
    if (self->shown == TND_REPORT_PACE_SHOWN)
        return is_new ? TND_REPORT_SHOWN : TND_REPORT_KEPT;
    return ++self->shown == TND_REPORT_PACE_SHOWN ? TND_REPORT_SHOWN_LAST : TND_REPORT_SHOWN;
}
