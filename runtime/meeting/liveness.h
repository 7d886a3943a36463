/*  runtime/meeting/liveness.h - whether processes that have met are alive until the run has connected them.
 *
 *  After the meeting each process plans and loads, and for that time nothing connects it to rank 0.  So
 *  while they meet, each one also opens a plain TCP connection to rank 0, says its rank there, and keeps it
 *  until the run has connected it.  However the process ends, its system closes the connection.
 *  After `dead_after` without an answer of that system it counts as closed.  It only shows an end: without
 *  it, as with a firewall between them, the start waits for a process that died as for a slow one.
 *
 *  Rank 0 listens at a port of its `ports:`, or any.  It tells the port with a random number, which a
 *  connection has to say.  It accepts connections only once the run asks for ends.
 *
 *  Threads: one at a time.  Units: nanoseconds. */
#ifndef TND_RUNTIME_MEETING_LIVENESS_H
#define TND_RUNTIME_MEETING_LIVENESS_H

#include "runtime/core/session/roster.h"

typedef struct tnd_liveness tnd_liveness_t;

/*  Of rank 0: `address` is where it listens, "*", "[::]" or a number; ports from `first` to `last`, 0: any.
 *  Returns NULL if none is free. */
tnd_liveness_t *tnd_liveness_listen(const char *address, uint32_t first, uint32_t last,
                                    uint32_t size, uint64_t dead_after_ns);
/*  What the others are told: at most TND_ROSTER_ALIVE_SIZE bytes (roster_text.h); self may be NULL. */
void tnd_liveness_invite(const tnd_liveness_t *self, char *text);
/*  The processes of the run by host. */
void tnd_liveness_number(tnd_liveness_t *self, const tnd_roster_list_t *list);
/*  A process was lost while it met the others: unless its connection is there, it has ended. */
void tnd_liveness_doubt(tnd_liveness_t *self, uint32_t rank);
/*  The next host whose process has ended.  Returns false if there is none. */
bool tnd_liveness_ended(tnd_liveness_t *self, uint32_t *host_p);
/*  The run has connected that host. */
void tnd_liveness_arrived(tnd_liveness_t *self, uint32_t host);

/*  Of another process: connects to rank 0 at `leader`.  Returns NULL if that is not possible within a
 *  second, or the invitation is none. */
tnd_liveness_t *tnd_liveness_connect(const char *leader, uint32_t rank, const char *invitation);

/*  The run has connected this process.  Self may be NULL. */
void tnd_liveness_close(tnd_liveness_t *self);
/*  Sets *self_p to NULL, which it may be. */
void tnd_liveness_destroy(tnd_liveness_t **self_p);

#endif
