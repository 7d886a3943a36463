/*  runtime/observe/process.h - identifies the process of a host and checks its state.
 *
 *  The end of a connection does not show whether the process at the other end has died.  For a
 *  process on this machine the system knows.  A process is identified by its number, its start time
 *  (numbers are reused), and its machine or container.
 *
 *  Threads: any. */
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

/*  The start time of a process, in ticks since boot, and the letter of its state, from /proc; 0 if
 *  it is not visible. */
uint64_t tnd_process_start(int number, char *state_p);
/*  Whether this is the state of a process stopped by a signal. */
static inline bool tnd_process_is_stopped(char state)
{
    return state == 'T' || state == 't';
}

/*  This process; zeroed if unknown. */
tnd_process_t tnd_process_own(void);
/*  Writes a line of a note, without a line break; nothing if the process is unknown. */
void tnd_process_write(const tnd_process_t *self, FILE *out);
/*  Returns false for other lines. */
bool tnd_process_read(tnd_process_t *self, const char *line);
/*  TND_FATE_UNKNOWN if the process runs on another machine or in another container. */
tnd_fate_t tnd_process_fate(const tnd_process_t *self);

/*  The anonymous memory of a process (RssAnon), in bytes; 0 if it is not visible. */
uint64_t tnd_process_anonymous(int process);
/*  How long a thread of this process has computed, and has been ready without a processor: from its
 *  schedstat.  Returns false if the thread does not exist. */
bool tnd_process_thread_times(uint64_t thread, uint64_t *cpu_ns_p, uint64_t *ready_ns_p);

#endif
