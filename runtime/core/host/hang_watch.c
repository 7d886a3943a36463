/*  runtime/core/host/hang_watch.c - decides whether work hangs. */
#include "runtime/core/host/hang_watch.h"

#include "runtime/base/bug_injection.h"

static const uint64_t every_most_ns = 250000000;

uint64_t tnd_hang_watch_every(uint64_t hung_after_ns)
{
    return hung_after_ns / 4 < every_most_ns ? hung_after_ns / 4 : every_most_ns;
}

bool tnd_hang_watch_look(tnd_hang_watch_t *self, uint64_t since_ns, uint64_t hung_after_ns,
                         uint64_t now)
{
    uint64_t every = tnd_hang_watch_every(hung_after_ns);
    if (since_ns != self->since_ns)
        *self = (tnd_hang_watch_t){
            .since_ns = since_ns, .looked_ns = since_ns, .due_ns = hung_after_ns / 2};
    if (since_ns == 0 || now <= self->looked_ns)
        return false;
    uint64_t passed = now - self->looked_ns;
    if (passed > every && !TND_BUG(HANG_WHILE_PAUSED))
        passed = every;
    self->took_ns += passed;
    self->looked_ns = now;
    return self->took_ns >= self->due_ns;
}

bool tnd_hang_watch_judge(tnd_hang_watch_t *self, const tnd_thread_progress_t *progress,
                          uint64_t hung_after_ns)
{
    if (self->judged && progress->read == self->read && !progress->waits_for_disk)
        return true;
    self->judged = true;
    self->read = progress->read;
    self->due_ns = self->took_ns + hung_after_ns / 2;
    return false;
}
