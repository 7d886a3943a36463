/*  tools/remote/remote_hosts.h - looks at the hosts of runs on other machines.
 *
 *  One way is by the leader of a run (leader_link.h).  The other runs a command of the user, such
 *  as `ssh ADDRESS tundish ps --stream --pages`, for each host of a run page whose address is not on
 *  this machine.  What such a command prints is added to the inspections of this machine.  Hosts of
 *  a run are known only if one of its processes is here.
 *
 *  Ownership: the commands end with this object, and with the thread that looks.  Threads: one. */
#ifndef TND_TOOLS_REMOTE_REMOTE_HOSTS_H
#define TND_TOOLS_REMOTE_REMOTE_HOSTS_H

#include "runtime/observe/inspection.h"

typedef struct tnd_remote_hosts tnd_remote_hosts_t;

/*  A host that does not answer for so long is reported. */
#define TND_REMOTE_PATIENCE_NS UINT64_C(2000000000)

/*  `via` or `leader`, the address of one, which must outlive it; both NULL: this machine only.
 *  Errors: see tnd_remote_command_check and tnd_leader_link_new; both are given. */
tnd_status_t tnd_remote_hosts_new(tnd_remote_hosts_t **self_p, const char *via, const char *leader,
                                  tnd_error_t *error) TND_CHECKED;
void tnd_remote_hosts_destroy(tnd_remote_hosts_t **self_p);
/*  The address of the leader that is asked, or NULL. */
const char *tnd_remote_hosts_leader(const tnd_remote_hosts_t *self);

/*  Inspects the run of the leader, or the runs of this machine named `run` (NULL: all), and adds
 *  what their other hosts print.  Waits until each has answered anew, for at most `wait_ns`, and for
 *  none longer than TND_REMOTE_PATIENCE_NS after its last answer.  0: takes what has arrived.
 *
 *  The processes of a host that does not answer any more are shown as they were last, with
 *  `silent_ns`; `unread` then has a line that names the host, its command, why it does not answer, and what was last heard.
 *  The caller destroys the inspection. */
tnd_inspection_t *tnd_remote_hosts_look(tnd_remote_hosts_t *self, const char *run, tnd_look_t what,
                                        uint64_t wait_ns);

#endif
