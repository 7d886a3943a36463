/*  tools/machine/machine_check.h - what a machine must have for runs to go well on it.
 *
 *  Facts in, judgements out: each says what was found, how good that is, and what to do about it.
 *
 *  Threads: any.
 */
#ifndef TUNDISH_TOOLS_CHECKUP_H
#define TUNDISH_TOOLS_CHECKUP_H

#include <stdbool.h>
#include <stdint.h>

#include "runtime/base/limits.h"

/*  Found on a machine by doctor.c; texts are the caller's.  A reason is why something cannot be
 *  done, "" if it can.
 */
typedef struct {
    uint32_t online, allowed; /* processors; those that this process may run on */
    tnd_group_limits_t limits;
    uint64_t memory_bytes, available_bytes;   /* of the machine; 0: not known */
    uint64_t descriptors, descriptors_max;    /* soft and hard limit; UINT64_MAX: none */
    uint64_t shared_bytes, shared_free_bytes; /* of /dev/shm */
    const char *shared_reason;
    const char *pages_folder, *pages_reason;         /* where statistics go */
    const char *temporary_folder, *temporary_reason; /* of models, if not /dev/shm */
    uint32_t port_first, port_last;                  /* ephemeral; 0: not known */
    const char *tcp_reason, *ipc_reason;             /* listening on loopback, on a local socket */
    const char *clock_source;                        /* "": not known */
    uint64_t clock_resolution_ns, clock_cost_ns;     /* of one reading */
    const char *huge_pages;                          /* the line of the system; "": not known */
    const char *libraries;
    bool libraries_old; /* older than what they were built for */
    bool cuda;          /* there is a driver */
    int cuda_error;     /* what it said to being asked; 0: nothing wrong */
    int cuda_version;   /* 12040 is 12.4 */
    int cuda_devices;
} tnd_facts_t;

typedef enum { TND_CHECK_OK, TND_CHECK_WARNING, TND_CHECK_BAD } tnd_check_level_t;

typedef struct {
    const char *name;
    tnd_check_level_t level;
    char found[256];
    char advice[256]; /* what to do; "": nothing */
} tnd_check_t;

enum { TND_CHECKS = 12 };

/*  Fills all `checks`, in the order in which they are shown. */
void tnd_machine_check(const tnd_facts_t *facts, tnd_check_t checks[TND_CHECKS]);

#endif
