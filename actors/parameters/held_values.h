/*  actors/parameters/held_values.h - the parameters that an actor holds: their last versions and their
 *  optimizer.
 *
 *  Version v is what v gradients have made.  The newest `staleness` + 1 of them are kept.
 *
 *  Threads: the holder's actor. */
#ifndef TND_ACTORS_PARAMETERS_HELD_VALUES_H
#define TND_ACTORS_PARAMETERS_HELD_VALUES_H

#include "actors/plan/kind_options.h"
#include "runtime/data/buffer.h"
#include "runtime/interface/optimizer.h"

typedef struct {
    const tnd_optimizer_ops_t *ops;
    void *optimizer; /* NULL: it is not open */
    size_t count;
    uint32_t kept;           /* versions */
    uint64_t newest;         /* the version */
    tnd_buffer_t **versions; /* by version % kept; those before the first one are the first */
    tnd_pool_t *pool;
    float *aligned; /* a gradient that came elsewhere in memory */
} tnd_held_values_t;

/*  How many versions are kept with these options. */
uint32_t tnd_held_values_versions(const tnd_parameters_options_t *options);

typedef struct {
    const tnd_parameters_options_t *options; /* the caller keeps them alive */
    size_t count;
    uint64_t version;
    /*  Where that version is: in a file, if this is not NULL, or else in the file that the options name, or
     *  else here, f32 at any address. */
    const char *checkpoint;
    const void *first;
} tnd_held_values_config_t;

/*  How many numbers are in the file that the options name. */
tnd_status_t tnd_held_values_count(const tnd_parameters_options_t *options, size_t *count_p,
                                   tnd_error_t *error) TND_CHECKED;

/*  *self must be closed in any case.  Errors: TND_FAILED for a file that cannot be read or has other numbers,
 *  and for options of the optimizer that contradict each other. */
tnd_status_t tnd_held_values_open(tnd_held_values_t *self, const tnd_held_values_config_t *config,
                                  tnd_error_t *error) TND_CHECKED;
void tnd_held_values_close(tnd_held_values_t *self);

/*  A version that is kept, held for the caller. */
tnd_buffer_t *tnd_held_values_of(const tnd_held_values_t *self, uint64_t version);
/*  Makes the next version; `gradient` has `count` f32 at any address. */
void tnd_held_values_apply(tnd_held_values_t *self, const void *gradient);

/*  Writes all that a run needs to go on, or the newest version as a .npy array of `count` f32. */
tnd_status_t tnd_held_values_keep(const tnd_held_values_t *self, const char *file,
                                  tnd_error_t *error) TND_CHECKED;
tnd_status_t tnd_held_values_write(const tnd_held_values_t *self, const char *file,
                                   tnd_error_t *error) TND_CHECKED;

#endif
