/*  runtime/core/protocol/heartbeat.h - how long a process of this machine has not worked.
 *
 *  The control thread of a process counts the time of its last round in shared memory, at least four
 *  times a second.  The parent looks at it in intervals.  A process whose time does not change is
 *  stopped, frozen or hung, whatever the cause, and cannot tell.
 *
 *  A process that never began a round is not judged: what it does before that may take long.
 *
 *  Time in which the parent itself was away is not counted: the process may have been away as long.
 *
 *  Threads: any; a plain value. */
#ifndef TND_RUNTIME_CORE_PROTOCOL_HEARTBEAT_H
#define TND_RUNTIME_CORE_PROTOCOL_HEARTBEAT_H

#include <stdint.h>

/*  Zeroed: nothing was seen yet. */
typedef struct {
    uint64_t beat_ns;   /* of the process, at the last look */
    uint64_t since_ns;  /* the look that saw it first */
    uint64_t looked_ns; /* the last look; 0: none */
} tnd_heartbeat_t;

/*  A process that has been silent for so long is replaced.  The leader counts it as lost by then:
 *  it notices the silence within link_timeout and a quarter, and waits for dead_after at most. */
uint64_t tnd_heartbeat_limit(uint64_t link_timeout_ns, uint64_t dead_after_ns);
/*  A look, which is due every `every_ns`.  `beat_ns` 0: the process does not count now, because it
 *  begins or ends.  Returns how long it has been silent. */
uint64_t tnd_heartbeat_look(tnd_heartbeat_t *self, uint64_t beat_ns, uint64_t every_ns,
                            uint64_t now);

#endif
