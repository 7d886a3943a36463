/*  tools/remote/leader_link.h - looks at all hosts of a run by the control connection of its leader.
 *
 *  Connects to the leader's port as an inspector (runtime/looks/look_service.h), asks for the
 *  statistics of each host in turn and keeps a copy of them.  A thread of its own answers pings and
 *  asks, so the caller may take its time between two looks.  It only reads.
 *
 *  What arrives is not trusted.  At most TND_LEADER_LINK_HOSTS hosts are shown.
 *
 *  Ownership: tnd_leader_link_destroy ends the thread and frees all.  Threads: one at a time. */
#ifndef TND_TOOLS_REMOTE_LEADER_LINK_H
#define TND_TOOLS_REMOTE_LEADER_LINK_H

#include "runtime/observe/inspection.h"

enum { TND_LEADER_LINK_HOSTS = 1024 };

typedef struct tnd_leader_link tnd_leader_link_t;

/*  Begins to connect to `address`, such as "10.0.0.1:7100" or "[fe80::1]:7100".
 *  Errors: TND_FAILED if it is not an address with a port. */
tnd_status_t tnd_leader_link_new(tnd_leader_link_t **self_p, const char *address,
                                 tnd_error_t *error) TND_CHECKED;
void tnd_leader_link_destroy(tnd_leader_link_t **self_p);

/*  The run as the hosts last showed it.  Waits until each has shown itself anew, for at most
 *  `wait_ns`, and for none longer than `patience_ns` after its last answer.  0: takes what is known.
 *
 *  The processes of a host that has not answered for `patience_ns`, or whose leader is not
 *  connected, are shown as they were last, with `silent_ns`; `unread` then has a line that names the
 *  host and says why.  If nothing listens at the address any more, the run has ended: there are no
 *  processes.  The caller destroys the inspection. */
tnd_inspection_t *tnd_leader_link_look(tnd_leader_link_t *self, tnd_look_t what, uint64_t wait_ns,
                                       uint64_t patience_ns);

#endif
