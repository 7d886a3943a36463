/*  runtime/observe/process.h - the process of a host, and what has become of it.
 *
 *  The end of a connection does not tell whether the process at its other end has died.  Where that
 *  runs on this machine the system knows.  A process is named by its number, by when it began,
 *  which tells later ones of that number apart, and by the machine, or the container, in which the
 *  number holds.
 *
 *  Threads: any.
 */
#ifndef TND_RUNTIME_OBSERVE_PROCESS_H
#define TND_RUNTIME_OBSERVE_PROCESS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "runtime/core/protocol/absence.h"

/*  Zeroed: not known. */
typedef struct {
    int number;
    uint64_t start;
    char machine[80];
} tnd_process_t;

/*  When a process began, in ticks since the machine did, and its state, a letter, as /proc says;
 *  0: it is not to be seen here.
 */
uint64_t tnd_process_start(int number, char *state_p);
/*  Whether a state is that of a process which a signal has stopped. */
static inline bool tnd_process_is_stopped(char state)
{
    return state == 'T' || state == 't';
}

/*  This process; zeroed if the system does not tell. */
tnd_process_t tnd_process_own(void);
/*  As a line of a note, without its end; nothing is written of a process that is not known. */
void tnd_process_write(const tnd_process_t *self, FILE *out);
/*  False: it is another line. */
bool tnd_process_read(tnd_process_t *self, const char *line);
/*  TND_FATE_UNKNOWN: it does not run on this machine, or in another container of it. */
tnd_fate_t tnd_process_fate(const tnd_process_t *self);

#endif
