/*  runtime/launch/hostlist.h - the host names of a list as Slurm writes it: `c[1-4,07],rack[0-1]_blade[0-1]`.
 *
 *  The names, their order, leading zeros and repetitions are those of `scontrol show hostnames` of
 *  Slurm 22.05.  A bracket without its counterpart and a blank are refused, although Slurm takes
 *  them for parts of a name.
 *
 *  Ownership: tnd_hostlist_free frees what tnd_hostlist_read allocated.
 *  Threads: any. */
#ifndef TND_RUNTIME_LAUNCH_HOSTLIST_H
#define TND_RUNTIME_LAUNCH_HOSTLIST_H

#include <stddef.h>

#include "runtime/base/status.h"

enum {
    TND_HOSTLIST_MAX = 65536,   /* hosts of a list; Slurm has the same limit for a range */
    TND_HOSTLIST_NAME_MAX = 255 /* characters of a name */
};

typedef struct {
    char **names;
    size_t count, room;
} tnd_hostlist_t;

/*  Reads a list.
 *  Errors: TND_FAILED with the character, counted from 1, and *self is empty. */
tnd_status_t tnd_hostlist_read(tnd_hostlist_t *self, const char *text,
                               tnd_error_t *error) TND_CHECKED;
void tnd_hostlist_free(tnd_hostlist_t *self);

#endif
