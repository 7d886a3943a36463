/*  tools/events/pace.c - spaces work that a command repeats. */
#include "tools/events/pace.h"

/*  Of each so much time, one part may be processor time. */
static const uint64_t rest = 50;

bool tnd_pace_is_due(const tnd_pace_t *self, uint64_t now_ns)
{
    return now_ns >= self->next_ns;
}

void tnd_pace_worked(tnd_pace_t *self, uint64_t now_ns, uint64_t cpu_ns)
{
    self->next_ns = now_ns + (rest * cpu_ns > self->every_ns ? rest * cpu_ns : self->every_ns);
}
