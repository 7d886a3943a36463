/*  runtime/launch/launch_internal.h - what each launcher of launchers.def implements, and how it reads variables.
 *
 *  Threads: any. */
#ifndef TND_RUNTIME_LAUNCH_LAUNCH_INTERNAL_H
#define TND_RUNTIME_LAUNCH_LAUNCH_INTERNAL_H

#include "runtime/launch/launch.h"

struct tnd_launcher {
    const char *name;  /* of --launch */
    const char *start; /* what starts such processes, for errors */
    /*  The variable that tells where rank 0 is; NULL: none does. */
    const char *leader_by;
    /*  The variables that are all set in its processes; NULL after the last. */
    const char *marks[4];
    /*  Whether processes with these marks are its own; NULL: they are. */
    bool (*owns)(const char *const *environment);
    /*  Fills the facts, which are zero but for `launcher`.  A size of 0: nothing was launched. */
    tnd_status_t (*read)(const char *const *environment, tnd_launch_t *launch, tnd_error_t *error);
};

#define LAUNCHER(name) extern const tnd_launcher_t tnd_launcher_##name;
#include "runtime/launch/launchers.def"
#undef LAUNCHER

/*  The value of a variable; NULL if it is not set or empty. */
const char *tnd_variable(const char *const *environment, const char *name);
/*  Reads a whole number from `least` to 4294967294; if the variable is not set, `fallback`, or an
 *  error if that is TND_LAUNCH_REQUIRED. */
#define TND_LAUNCH_REQUIRED UINT64_MAX
tnd_status_t tnd_variable_number(const char *const *environment, const char *name, uint32_t least,
                                 uint64_t fallback, uint32_t *value_p, tnd_error_t *error);
/*  Reads a port. */
tnd_status_t tnd_variable_port(const char *const *environment, const char *name, uint32_t *value_p,
                               tnd_error_t *error);
/*  Copies a text that must fit; not set: "". */
tnd_status_t tnd_variable_text(const char *const *environment, const char *name, char *text,
                               size_t room, tnd_error_t *error);

/*  The names of variables with ranks and sizes; local ones may be NULL. */
typedef struct {
    const char *rank, *size, *local_rank, *local_size;
} tnd_rank_names_t;

/*  Reads them: a rank must be below its size. */
tnd_status_t tnd_launch_ranks(const char *const *environment, const tnd_rank_names_t *names,
                              tnd_launch_t *launch, tnd_error_t *error);
/*  Sets the leader to loopback if all processes are on one machine. */
void tnd_launch_lead_locally(tnd_launch_t *launch);

#endif
