/*  runtime/launch/launch.h - which process of a launcher this one is, by its environment.
 *
 *  A launcher such as `srun` starts equal processes and tells each its number by variables.  A pure
 *  function reads them: it opens nothing and resolves no name.
 *
 *  Threads: any. */
#ifndef TND_RUNTIME_LAUNCH_LAUNCH_H
#define TND_RUNTIME_LAUNCH_LAUNCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "runtime/base/status.h"

#define TND_LAUNCH_UNKNOWN UINT32_MAX /* what a launcher does not tell */

typedef struct tnd_launcher tnd_launcher_t;

/*  The tasks of a cluster of TensorFlow, and which of them this process is. */
typedef struct {
    const char *type; /* "chief", "worker" or "ps"; NULL: another launcher */
    uint32_t index;   /* within its type */
    uint32_t chiefs, workers, servers;
} tnd_launch_tasks_t;

typedef struct {
    const tnd_launcher_t *launcher; /* NULL: none, and this is the only process */
    uint32_t rank, size;
    uint32_t local_rank, local_size; /* on its machine; or UNKNOWN */
    char leader[256];                /* the address of rank 0; "": not told */
    uint32_t port;                   /* of the leader; 0: not told */
    bool port_taken;                 /* the launcher itself listens there */
    char job[128];                   /* "": not told */
    char machine[64];                /* as the launcher names this one; "": not told */
    uint32_t step;                   /* of the job, which may have several at once */
    bool named_late;                 /* the name of the leader appears when its process begins */
    bool by_parent;    /* one parent starts all processes of a machine, and no others */
    uint32_t restarts; /* of the job */
    tnd_launch_tasks_t tasks;
    bool evaluates; /* beside the processes of the run: it has no rank, and evaluates checkpoints */
    char hint[320]; /* what is odd about how the processes were started; "": nothing is known */
} tnd_launch_t;

/*  Reads the variables "NAME=VALUE" of an environment, of which the last entry is NULL.  `wanted` is
 *  "auto", "none" or the name of a launcher; NULL: TUNDISH_LAUNCH, else "auto".
 *  Errors: TND_FAILED names variable, value and what to write. */
tnd_status_t tnd_launch_read(tnd_launch_t *self, const char *const *environment, const char *wanted,
                             tnd_error_t *error) TND_CHECKED;

/*  The name for --launch, such as "slurm"; "none" for NULL. */
const char *tnd_launcher_name(const tnd_launcher_t *self);
/*  The variable that names the leader, for errors; "" for NULL and launchers without one. */
const char *tnd_launcher_leader_by(const tnd_launcher_t *self);
/*  What is known, in words: "slurm job 17, rank 2 of 3". */
const char *tnd_launch_text(const tnd_launch_t *self, char *text, size_t room);

#endif
