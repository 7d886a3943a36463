/*  runtime/core/protocol/heartbeat.c - how long a process of this machine has not worked. */
#include "runtime/core/protocol/heartbeat.h"

#include "runtime/base/bug_injection.h"

uint64_t tnd_heartbeat_limit(uint64_t link_timeout_ns, uint64_t dead_after_ns)
{
    return dead_after_ns + 2 * link_timeout_ns;
}

uint64_t tnd_heartbeat_look(tnd_heartbeat_t *self, uint64_t beat_ns, uint64_t every_ns,
                            uint64_t now)
{
    uint64_t expected = self->looked_ns + every_ns;
    if (self->looked_ns != 0 && now > expected && !TND_BUG(PARENT_IN_A_HURRY))
        self->since_ns += now - expected;
    self->looked_ns = now;
    if (beat_ns == 0 || beat_ns != self->beat_ns)
        self->since_ns = now;
    self->beat_ns = beat_ns;
    return now - self->since_ns;
}
