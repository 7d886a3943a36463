/*  runtime/core/protocol/admission.h - which processes may be at the other end of a connection.
 *
 *  Every user of a machine can connect to its ports and listen at them.  Both ends of a connection
 *  between processes therefore ask the system whose process the other end is, and decide here.  A
 *  process of the same user is admitted, and one of a user that the topology lists.  root can read
 *  and change every process anyway; it may look at each run, but takes part only if the topology
 *  lists other users, and then without being listed itself.
 *
 *  A process whose user the system cannot tell is on another machine, or in another network
 *  namespace.  It is admitted where connections without keys are allowed.
 *
 *  Threads: any. */
#ifndef TND_RUNTIME_CORE_PROTOCOL_ADMISSION_H
#define TND_RUNTIME_CORE_PROTOCOL_ADMISSION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum {
    TND_PEER_GONE,    /* the connection has ended */
    TND_PEER_UNKNOWN, /* it is elsewhere */
    TND_PEER_LOCAL    /* it is on this machine */
} tnd_peer_place_t;

/*  What the system knows of the process at the other end. */
typedef struct {
    tnd_peer_place_t place;
    uint32_t user; /* of a local one */
} tnd_peer_t;

typedef struct {
    uint32_t self;         /* the user of this process */
    const uint32_t *users; /* that the topology lists */
    size_t user_count;
    bool insecure; /* connections of other machines need no keys */
} tnd_admission_t;

typedef enum {
    TND_ADMITTED,
    TND_ADMISSION_OVER,   /* the connection has ended: there is nothing to decide */
    TND_ADMISSION_USER,   /* refused: another user */
    TND_ADMISSION_MACHINE /* refused: elsewhere, and connections need keys */
} tnd_admission_verdict_t;

/*  `looks`: the other process only looks at the run. */
tnd_admission_verdict_t tnd_admission_judge(const tnd_admission_t *rules, tnd_peer_t peer,
                                            bool looks);

#endif
