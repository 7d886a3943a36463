/*  runtime/topology/topology.h - the actors, links and chains of a file, resolved and checked.
 *
 *  Does not place them; see placement.h.
 *
 *  The graph itself understands some options of kinds by their names, wherever a kind has them:
 *  `workers` (U64), `isolate` (ENUM, 0 is no), `devices` (STRINGS), `replicas` and `size` (U64),
 *  `after` (STRING), `step` (TABLE), `source` (PART), `shuffle` (ENUM, 0 is none), `epochs` (U64),
 *  `shard` and `split` (ENUM, of which `auto` is replaced by what it means), `apart` (BOOL).
 *
 *  Ownership: everything is stored in the arena of the context.  Threads: const; any. */
#ifndef TND_RUNTIME_TOPOLOGY_TOPOLOGY_H
#define TND_RUNTIME_TOPOLOGY_TOPOLOGY_H

#include <stdbool.h>
#include <stdint.h>

#include "runtime/core/stream/split.h"
#include "runtime/option/option_parse.h"
#include "runtime/option/spec.h"
#include "runtime/topology/settings.h"

typedef struct tnd_best_options tnd_best_options_t;

#define TND_TOPOLOGY_NONE UINT32_MAX

typedef struct {
    const char *name;
    tnd_mark_t mark;
    const tnd_kind_spec_t *kind;
    const tnd_value_t *value; /* its options as written, without `kind`, and `auto` replaced */
    const void *options;      /* parsed; paths as written */
    uint32_t chain;           /* TND_TOPOLOGY_NONE: in no chain, such as a reducer */
} tnd_topology_actor_t;

typedef struct {
    uint32_t from, to;      /* actors */
    uint32_t outlet, inlet; /* ports of their kinds */
    bool call;              /* `<->` */
    tnd_mark_t mark;
} tnd_topology_link_t;

typedef struct {
    uint32_t end;                   /* the last actor: a feeder, unless the graph is open-ended */
    tnd_period_t every;             /* how often it is fed while that one rests; both 0: not */
    const tnd_best_options_t *best; /* of its validations; NULL: no matter */
    uint32_t after;                 /* the chain whose models it shares; TND_TOPOLOGY_NONE */
    uint32_t replicas;              /* of its batcher; 1 if it has none */
    uint64_t batch;                 /* rows of a global batch, `size` of its batcher; 0: none */
    tnd_lane_feed_t feed;           /* how its lanes feed replicas */
} tnd_topology_chain_t;

/*  An option that was written as `auto`, and what it means. */
typedef struct {
    uint32_t actor;
    const char *option, *chosen;
    const char *why; /* the end of a sentence */
} tnd_topology_choice_t;

typedef struct {
    const tnd_value_t *root; /* the tree as written */
    const tnd_settings_t *settings;
    const tnd_topology_actor_t *actors; /* as in the file */
    uint32_t actor_count;
    const tnd_topology_link_t *links;
    uint32_t link_count;
    const tnd_topology_chain_t *chains; /* the first one, then those with `after:` */
    uint32_t chain_count;
    const tnd_topology_choice_t *choices; /* in no order */
    uint32_t choice_count;
    uint64_t fingerprint[2]; /* of everything that determines the stream and the computation */
} tnd_topology_t;

/*  Resolves a merged tree.  `open_ended`: a chain may end before a feeder, so that its rows can be
 *  inspected.  Returns false after an error: all errors are reported in one pass, and *topology_p
 *  has only the tree and the actors, whose kind may be NULL. */
bool tnd_topology_resolve(const tnd_options_context_t *context, const tnd_value_t *root,
                          bool open_ended, const tnd_topology_t **topology_p);

/*  The actor named `name`; TND_TOPOLOGY_NONE if there is none. */
uint32_t tnd_topology_find(const tnd_topology_t *self, const char *name);

/*  The field of an actor's option; NULL if its kind has no such option of that type, or its options
 *  could not be read. */
const void *tnd_topology_option(const tnd_topology_actor_t *actor, const char *name,
                                tnd_option_type_t type);

/*  The place of an actor's option; the place of the actor if it is a default. */
tnd_mark_t tnd_topology_option_mark(const tnd_topology_actor_t *actor, const char *name);

/*  Whether the rows of a chain have another order in each epoch. */
bool tnd_topology_reshuffles(const tnd_topology_t *self, uint32_t chain);

/*  Reports each option of a reader that needs more of its source than `caps`, a set of
 *  TND_SOURCE_*.  Loading a topology checks what the source can do at most; after the data were
 *  opened, the caller checks what the opened source can do.  Returns whether nothing was reported.
 */
bool tnd_topology_check_source(const tnd_topology_actor_t *reader, uint32_t caps, uint64_t lanes,
                               tnd_diagnostics_t *diagnostics);

/*  Writes settings, actors and links, each followed by `separator`.  The text of two graphs is
 *  equal if and only if the graphs are.  No value contains a line break. */
void tnd_topology_print(const tnd_topology_t *self, const char *separator, FILE *out);

#endif
