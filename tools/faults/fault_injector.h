/*  tools/faults/fault_injector.h - injects faults into the processes and connections of one run.
 *
 *  Lifecycle: zeroed, with `sandbox`; `up` and `up_process` are set for each start of `tundish up`
 *  and valid until it has ended.
 *  Threads: the main one. */
#ifndef TND_TOOLS_FAULTS_FAULT_INJECTOR_H
#define TND_TOOLS_FAULTS_FAULT_INJECTOR_H

#include <sys/types.h>

#include "tools/faults/fault_schedule.h"
#include "tools/faults/sandbox.h"

enum { TND_FAULTS_LASTING_MAX = 8 };

typedef struct {
    tnd_fault_t fault;
    int process; /* pidfd of its target; -1: none */
    uint64_t end_ns, turn_ns;
    bool stopped;
} tnd_lasting_fault_t;

typedef struct {
    tnd_sandbox_t *sandbox;
    pid_t up;       /* `tundish up` */
    int up_process; /* its pidfd; -1: it does not run */
    tnd_lasting_fault_t lasting[TND_FAULTS_LASTING_MAX];
    uint32_t lasting_count;
    bool device_lost;
} tnd_fault_injector_t;

/*  Before each start: the devices have nothing wrong. */
void tnd_fault_injector_renew(tnd_fault_injector_t *self);

/*  False: its target does not exist now, or too many faults last already. */
bool tnd_fault_injector_inject(tnd_fault_injector_t *self, const tnd_fault_t *fault, uint64_t now);
/*  Ends due faults, and stops and continues slow processes.  Returns when to call it again. */
uint64_t tnd_fault_injector_tend(tnd_fault_injector_t *self, uint64_t now);
/*  Whether a fault of this kind lasts now. */
bool tnd_fault_injector_lasts(const tnd_fault_injector_t *self, tnd_fault_schedule_kind_t kind);
void tnd_fault_injector_end_all(tnd_fault_injector_t *self);
/*  Kills `tundish up` and all hosts, and waits until the hosts have ended. */
void tnd_fault_injector_kill_all(tnd_fault_injector_t *self);

#endif
