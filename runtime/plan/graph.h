/*  runtime/plan/graph.h - a graph of actors, from calls or files, checked and placed.
 *
 *  Errors are collected and reported together by tnd_graph_check; calls before it return nothing.
 *  A file and its overlays are merged: maps key by key, lists are replaced, null restores a
 *  default.  Overlays may place, secure and tune; `set` may change anything.
 *
 *  Ownership: the graph owns everything reached from it; destroy frees it.
 *  Threads: one at a time; the results of a check are const until the next change. */
#ifndef TND_RUNTIME_PLAN_GRAPH_H
#define TND_RUNTIME_PLAN_GRAPH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "runtime/base/status.h"
#include "runtime/plan/placement.h"
#include "runtime/text/diagnostic.h"
#include "runtime/topology/topology.h"

typedef struct tnd_graph tnd_graph_t;

/*  An empty graph.  `name` may be NULL. */
tnd_graph_t *tnd_graph_new(const char *name, uint64_t seed);

/*  Loads a topology file and its overlays, in order. */
tnd_graph_t *tnd_graph_load(const char *const *files, size_t count);

/*  Adds an actor; `options` in the language of the file: "size: 128, replicas: 2"; NULL: none. */
void tnd_graph_add(tnd_graph_t *self, const char *name, const char *kind, const char *options);

/*  Adds a link: "read -> prep -> batch". */
void tnd_graph_link(tnd_graph_t *self, const char *path);

/*  Changes one value: "batch.size", "256".  The key is an actor and its option, or a path from the
 *  top level: "seed", "hosts.a.port". */
void tnd_graph_set(tnd_graph_t *self, const char *key, const char *value);

/*  Adds an overlay, given as text. */
void tnd_graph_place(tnd_graph_t *self, const char *overlay_yaml);

/*  Passes an array of the program to a reader (see <tundish/tundish.h>). */
void tnd_graph_array(tnd_graph_t *self, const char *name, const char *column, tnd_dtype_t dtype,
                     uint32_t rank, const uint64_t *shape, const void *data);

/*  The purpose of a check. */
typedef struct {
    const char *data;          /* value of ${data}, overriding the files; may be NULL */
    const char *fallback_data; /* value of ${data} if the files set none, such as $TUNDISH_DATA */
    const char *host;          /* of this process, whose paths must be known; NULL: all */
    bool open_ended; /* a chain may end before a feeder, so that its rows can be inspected */
} tnd_graph_purpose_t;

/*  Replaces the purpose, which is empty at first; texts are copied. */
void tnd_graph_purpose(tnd_graph_t *self, const tnd_graph_purpose_t *purpose);

/*  The processes that a launcher has started, to which a range such as `node[*]` is dealt; copied.
 *  Without this call it is one host. */
void tnd_graph_launched(tnd_graph_t *self, const tnd_roster_list_t *launched);

/*  Calls `undo` when the graph is destroyed, or at the next such call. */
void tnd_graph_undo_at_end(tnd_graph_t *self, void (*undo)(void *context), void *context);

/*  Checks everything that can be known before the start.  May be called again, also after changes.
 *  Errors: TND_FAILED; see tnd_graph_errors. */
tnd_status_t tnd_graph_check(tnd_graph_t *self);

/*  The errors (with warnings and notes) as text; "" when there are no errors. */
const char *tnd_graph_errors(const tnd_graph_t *self);

/*  Adds an error without a place: why a session could not be opened. */
void tnd_graph_fail(tnd_graph_t *self, const char *text);

/*  All diagnostics, including warnings. */
const tnd_diagnostics_t *tnd_graph_diagnostics(const tnd_graph_t *self);

/*  The result of a successful check; NULL before. */
const tnd_topology_t *tnd_graph_topology(const tnd_graph_t *self);
const tnd_plan_t *tnd_graph_plan(const tnd_graph_t *self);

/*  After a failed check: the part that can still be inspected (tnd_placement_sketch), or NULL. */
const tnd_plan_t *tnd_graph_sketch(const tnd_graph_t *self);

/*  After a failed check: of the plan, what processes need to find one another, as far as it could be
 *  read: port of the leader, admission, and whether a range `[*]` may be there (rest_count). */
const tnd_plan_t *tnd_graph_outline(const tnd_graph_t *self);

/*  Marks the graph as used by an abandoned thread, perhaps in a plugin: destroy then leaks it. */
void tnd_graph_keep(tnd_graph_t *self);
bool tnd_graph_is_kept(const tnd_graph_t *self);

/*  Sets *self_p to NULL.  *self_p may be NULL. */
void tnd_graph_destroy(tnd_graph_t **self_p);

#endif
