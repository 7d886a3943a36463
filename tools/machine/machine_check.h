/*  tools/machine/machine_check.h - judges whether a machine is fit for runs.
 *
 *  A pure function of facts: each check has what was found, a grade, and what to do.
 *
 *  Threads: any. */
#ifndef TND_TOOLS_MACHINE_MACHINE_CHECK_H
#define TND_TOOLS_MACHINE_MACHINE_CHECK_H

#include <stdbool.h>
#include <stdint.h>

#include "runtime/base/limits.h"

/*  Facts about a machine, found by doctor.c; the caller owns the texts.  A reason explains why
 *  something is impossible; "" if it is possible. */
typedef struct {
    uint32_t online, allowed; /* processors of the machine; those that this process may use */
    uint32_t task;            /* tnd_task_processors */
    tnd_group_limits_t limits;
    uint64_t memory_bytes, available_bytes;   /* of the machine; 0: unknown */
    uint64_t descriptors, descriptors_max;    /* soft and hard limit; UINT64_MAX: none */
    uint64_t tasks;                           /* of this user; UINT64_MAX: any number */
    uint64_t shared_bytes, shared_free_bytes; /* of /dev/shm */
    const char *shared_reason;
    const char *pages_folder, *pages_reason;         /* the folder of statistics pages */
    const char *temporary_folder, *temporary_reason; /* of models, if it is not /dev/shm */
    uint32_t port_first, port_last;                  /* ephemeral ports; 0: unknown */
    const char *tcp_reason, *ipc_reason;             /* listening on loopback, on a local socket */
    const char *clock_source;                        /* "": unknown */
    uint64_t clock_resolution_ns, clock_cost_ns;     /* the time to read it once */
    const char *huge_pages;                          /* as the system reports it; "": unknown */
    const char *libraries;
    bool libraries_old;         /* libraries older than at build time */
    bool cuda_driver;           /* there is one, which perhaps cannot be used */
    const char *launcher;       /* what it tells; "": none */
    const char *launcher_wrong; /* what to change; "": nothing */
    const char *cuda_reason;    /* why there are no devices */
    int cuda_version;           /* 12040 is 12.4 */
    uint32_t cuda_devices;
    const char *cuda_name;   /* of the first */
    uint64_t cuda_memory;    /* of the first */
    bool cuda_casts;         /* this program has kernels for casts */
    bool nccl_found;         /* there is one, which perhaps cannot be used */
    const char *nccl_reason; /* why it cannot be used */
    const char *nccl;        /* its version and file */
} tnd_facts_t;

typedef enum { TND_CHECK_OK, TND_CHECK_WARNING, TND_CHECK_BAD } tnd_check_level_t;

typedef struct {
    const char *name;
    tnd_check_level_t level;
    char found[256];
    char advice[256]; /* what to do; "" */
} tnd_check_t;

enum { TND_CHECKS = 15 };

/*  Fills all `checks`, in the order of display. */
void tnd_machine_check(const tnd_facts_t *facts, tnd_check_t checks[TND_CHECKS]);

#endif
