/*  runtime/topology/settings.h - the top level of a topology file.
 *
 *  Threads: const; any. */
#ifndef TND_RUNTIME_TOPOLOGY_SETTINGS_H
#define TND_RUNTIME_TOPOLOGY_SETTINGS_H

#include <stdbool.h>
#include <stdint.h>

#include "runtime/option/option.h"

/*  Which processes may connect. */
typedef struct {
    tnd_strings_t users; /* of this machine, besides the user of the process itself */
    const char *curve;   /* directory of the keys of CURVE; NULL: none */
} tnd_security_t;

/*  When a process that ended is restarted. */
typedef enum {
    TND_RESTART_NEVER,
    TND_RESTART_ON_FAILURE, /* if it was killed or crashed */
    TND_RESTART_ALWAYS      /* also if it ended by itself while the run continues */
} tnd_restart_t;

/*  Limits and delays of restarts. */
typedef struct {
    uint64_t max; /* of one host or actor */
    uint64_t within_ns, backoff_ns, backoff_max_ns;
    uint64_t run; /* of the whole run, after the loss of a host that it needs */
} tnd_restarts_t;

/*  When and where checkpoints are stored. */
typedef struct {
    const char *dir;
    tnd_interval_t every; /* both 0: at the end and on request of a program */
    uint64_t keep;
    const char
        *resume; /* "none", "latest", "best", or the path of a checkpoint or of a folder of them */
    bool
        evaluate; /* only chains with `after:` run, on the models of `resume`; nothing is written */
    bool trust_data; /* on resume a file that differs only in its modification time is unchanged */
} tnd_checkpoint_options_t;

/*  The top level of a file. */
typedef struct {
    uint64_t version;
    const char *name;
    uint64_t seed;
    uint64_t lanes;
    const char *data;
    const tnd_value_t *actors;
    const tnd_value_t *links;
    const tnd_value_t *hosts;
    uint64_t port;
    const char *ports;
    const char *python; /* the interpreter of operations; NULL: by default */
    bool insecure;
    const tnd_security_t *security;
    const tnd_checkpoint_options_t *checkpoint; /* NULL: none */
    uint64_t memory_bytes;
    double cpu; /* share of the cores of a host */
    uint64_t start_timeout_ns;
    uint64_t dead_after_ns;
    uint64_t link_timeout_ns;
    uint64_t hung_after_ns;
    int restart; /* tnd_restart_t */
    const tnd_restarts_t *restarts;
    uint64_t restart_timeout_ns;
    int numeric; /* 0: exact, 1: tolerant */
} tnd_settings_t;

/*  The table of the top level, for help and editors. */
extern const tnd_table_t tnd_settings_table;
/*  The table of `restarts:`. */
extern const tnd_table_t tnd_restarts_table;

#endif
