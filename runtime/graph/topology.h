/*  runtime/graph/topology.h - what a file says, resolved and checked: actors, links, chains.
 *
 *  Says nothing about where things stand; that is placement.h.
 *
 *  The graph itself understands some options of kinds by their names, wherever a kind has them:
 *  `workers` (U64), `isolate` (ENUM, 0 is no), `devices` (STRINGS), `replicas` and `size` (U64),
 * `after` (STRING), `step` (TABLE), `source` (PART), `shuffle` (ENUM, 0 is none), `epochs` (U64).
 *
 *  Ownership: everything lives in the arena it was resolved with.  Threads: const; any.
 */
#ifndef TND_RUNTIME_GRAPH_TOPOLOGY_H
#define TND_RUNTIME_GRAPH_TOPOLOGY_H

#include <stdbool.h>
#include <stdint.h>

#include "runtime/graph/options.h"
#include "runtime/graph/spec.h"

#define TND_TOPOLOGY_NONE UINT32_MAX

/*  How CURVE finds its keys. */
typedef struct {
    const char *curve; /* directory; NULL: none */
} tnd_security_t;

/*  Who of those that may die is started again. */
typedef enum {
    TND_RESTART_NEVER,
    TND_RESTART_ON_FAILURE, /* after it was killed or crashed */
    TND_RESTART_ALWAYS      /* also after it ended by itself, while the run goes on */
} tnd_restart_t;

/*  How often, and how soon. */
typedef struct {
    uint64_t max;
    uint64_t within_ns, backoff_ns, backoff_max_ns;
} tnd_restarts_t;

/*  When the state of a run is kept on disk, and where. */
typedef struct {
    const char *dir;
    tnd_interval_t every; /* both 0: at the end and where a program asks for it */
    uint64_t keep;
    const char *resume; /* "none", "latest", or the path of a checkpoint or of a folder of them */
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
    bool insecure;
    const tnd_security_t *security;
    const tnd_checkpoint_options_t *checkpoint; /* NULL: none */
    uint64_t memory_bytes;
    uint64_t start_timeout_ns;
    uint64_t dead_after_ns;
    uint64_t link_timeout_ns;
    uint64_t hung_after_ns;
    int restart; /* tnd_restart_t */
    const tnd_restarts_t *restarts;
    uint64_t restart_timeout_ns;
    int numeric; /* 0: exact, 1: tolerant */
} tnd_settings_t;

typedef struct {
    const char *name;
    tnd_mark_t mark;
    const tnd_kind_spec_t *kind;
    const tnd_value_t *value; /* its options as written, without `kind` */
    const void *options;      /* parsed; paths as written */
    uint32_t chain;           /* TND_TOPOLOGY_NONE: of none, such as a reducer */
} tnd_topology_actor_t;

typedef struct {
    uint32_t from, to;      /* actors */
    uint32_t outlet, inlet; /* ports of their kinds */
    bool call;              /* `<->` */
    tnd_mark_t mark;
} tnd_topology_link_t;

typedef struct {
    uint32_t end;      /* the last actor: a feeder, unless the graph is open-ended */
    uint32_t after;    /* the chain whose models it shares; TND_TOPOLOGY_NONE */
    uint32_t replicas; /* of its batcher; 1 if it has none */
} tnd_topology_chain_t;

typedef struct {
    const tnd_value_t *root; /* the tree as written */
    const tnd_settings_t *settings;
    const tnd_topology_actor_t *actors; /* as in the file */
    uint32_t actor_count;
    const tnd_topology_link_t *links;
    uint32_t link_count;
    const tnd_topology_chain_t *chains; /* the first one, then those with `after:` */
    uint32_t chain_count;
    uint64_t fingerprint[2]; /* of all that makes the stream and what is computed from it */
} tnd_topology_t;

/*  The table of the top level, for help and editors. */
extern const tnd_table_t tnd_settings_table;
/*  That of `restarts:`. */
extern const tnd_table_t tnd_restarts_table;

/*  Resolves a merged tree.  `open_ended`: a chain may end before a feeder, to look at what it
 *  would feed.  False after an error; all that can be found in one pass are reported, and
 *  *topology_p then has the actors and the tree only, of which some kinds may be missing.
 */
bool tnd_topology_resolve(const tnd_options_context_t *context, const tnd_value_t *root,
                          bool open_ended, const tnd_topology_t **topology_p);

/*  Reports where an overlay changes the graph of `base`: both are whole trees.  Returns what of the
 *  overlay can be merged in spite of that, so that the checks that follow make sense.
 */
tnd_value_t *tnd_topology_check_overlay(const tnd_options_context_t *context,
                                        const tnd_value_t *base, tnd_value_t *over);

/*  The actor called `name`; TND_TOPOLOGY_NONE if there is none. */
uint32_t tnd_topology_find(const tnd_topology_t *self, const char *name);

/*  Where that was written which an error of the world about `actor` is about: the value that its
 *  text names (a path, a column; of several the longest) inside the part `about` (tnd_error_t;
 * NULL: inside all of its options), else that part, else the actor.
 */
tnd_mark_t tnd_topology_blame(const tnd_topology_actor_t *actor, const void *about,
                              const char *text);

/*  Where a text of the options was written, found by its address; `otherwise` if nowhere. */
tnd_mark_t tnd_topology_place(const tnd_topology_t *self, const char *text, tnd_mark_t otherwise);

/*  Writes one line that is equal for two graphs exactly if they are the same graph. */
void tnd_topology_print(const tnd_topology_t *self, FILE *out);

#endif
