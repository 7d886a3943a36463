/*  tests/support/relay.h - a tcp relay that fails on request.
 *
 *  It stands between two ends of a link: whoever connects to its endpoint is connected to the
 *  target.  What it does to the connections of now it does not do to later ones.
 *
 *  Threads: its own beside the caller's; the functions on one thread.
 */
#ifndef TND_TESTS_SUPPORT_RELAY_H
#define TND_TESTS_SUPPORT_RELAY_H

#include <stddef.h>

typedef struct relay relay_t;

typedef enum {
    RELAY_CUT_DIALLER, /* close towards who connected; the target's side stays, and goes nowhere */
    RELAY_CUT_TARGET,  /* close towards the target; the dialler's side stays, and goes nowhere */
    RELAY_SWALLOW,     /* close nothing; what is sent either way arrives nowhere */
    RELAY_CLOSE        /* close both sides */
} relay_fault_t;

/*  Aborts when the machine does not let it. */
relay_t *relay_new(const char *target_endpoint);
void relay_destroy(relay_t **self_p);
/*  "tcp://127.0.0.1:PORT" */
const char *relay_endpoint(const relay_t *self);
/*  Returns once it is done. */
void relay_fail(relay_t *self, relay_fault_t fault);
/*  From now on it passes so many bytes at a time, a hundred times a second: a slow link. */
void relay_trickle(relay_t *self, size_t bytes);
/*  Returns once all connections of now have been closed by both their ends.  What one end has said
 *  before it closed was passed on, and the other has seen the end before it closed.
 */
void relay_await_ended(relay_t *self);

#endif
