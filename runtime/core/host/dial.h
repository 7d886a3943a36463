/*  runtime/core/host/dial.h - what an actor does about a peer when its host has heard where all listen.
 *
 *  Each bound port of each life of an actor has a number of its own, its listener.  A peer whose listener
 *  is announced again may have been away, so it is tried at once.  If another listener is announced,
 *  the peer has begun again: the connection to the earlier one is given up.
 *
 *  Threads: any; plain values. */
#ifndef TND_RUNTIME_CORE_HOST_DIAL_H
#define TND_RUNTIME_CORE_HOST_DIAL_H

#include <stdint.h>

typedef enum {
    TND_DIAL_LATER, /* nothing: a later announcement will contain it */
    TND_DIAL_AGAIN, /* try at once to connect to it */
    TND_DIAL_ANEW /* close the connection, if there is one, and connect to the listener announced */
} tnd_dial_t;

/*  `dialled`: the listener that it connects to; 0: none.  `announced`: that of the peer; 0: unknown. */
tnd_dial_t tnd_dial_of(uint64_t dialled, uint64_t announced);

#endif
