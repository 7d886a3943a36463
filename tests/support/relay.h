/*  tests/support/relay.h - a tcp relay that fails on request.
 *
 *  It connects each connection to its endpoint with the target.  A failure concerns only the
 *  connections that exist when it is requested.
 *
 *  Threads: its own beside the caller's; the functions on one thread. */
#ifndef TND_TESTS_SUPPORT_RELAY_H
#define TND_TESTS_SUPPORT_RELAY_H

#include <stddef.h>

typedef struct relay relay_t;

typedef enum {
    RELAY_CUT_DIALLER, /* close the dialler's side; the target's stays open, its bytes are lost */
    RELAY_CUT_TARGET,  /* close the target's side; the dialler's stays open, its bytes are lost */
    RELAY_SWALLOW,     /* close nothing; all bytes are lost */
    RELAY_CLOSE        /* close both sides */
} relay_fault_t;

/*  Aborts if the system refuses a socket or thread. */
relay_t *relay_new(const char *target_endpoint);
void relay_destroy(relay_t **self_p);
/*  "tcp://127.0.0.1:PORT" */
const char *relay_endpoint(const relay_t *self);
/*  Returns once it is done. */
void relay_fail(relay_t *self, relay_fault_t fault);
/*  Forwards so many bytes at a time, a hundred times a second: a slow link. */
void relay_trickle(relay_t *self, size_t bytes);
/*  Returns once both ends of all existing connections have closed them.  All bytes were forwarded
 *  first. */
void relay_await_ended(relay_t *self);

#endif
