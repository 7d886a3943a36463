/*  runtime/plan/machine.h - the addresses of this machine.
 *
 *  Threads: any. */
#ifndef TND_RUNTIME_PLAN_MACHINE_H
#define TND_RUNTIME_PLAN_MACHINE_H

#include <stdbool.h>

/*  Whether `address` (a number or a name) is loopback or one of this machine's own. */
bool tnd_machine_has(const char *address);

#endif
