/*  runtime/plan/graph.h - a graph of actors: composed call by call or read from files, checked,
 *  placed.
 *
 *  Whatever is wrong is kept and reported together by tnd_graph_check; no call before it needs a
 *  test of its own.  A file and its overlays are merged: maps key by key, lists replaced, null
 *  restores a default.  Overlays may place, secure and tune; `set` may change anything.
 *
 *  Ownership: the graph owns all that is reached from it; destroy frees it.
 *  Threads: the one that uses it; what check made is const until the next change.
 */
#ifndef TND_RUNTIME_PLAN_GRAPH_H
#define TND_RUNTIME_PLAN_GRAPH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "runtime/text/diagnostic.h"
#include "runtime/plan/placement.h"
#include "runtime/topology/topology.h"
#include "runtime/base/status.h"

typedef struct tnd_graph tnd_graph_t;

/*  An empty graph.  `name` may be NULL. */
tnd_graph_t *tnd_graph_new(const char *name, uint64_t seed);

/*  A topology file and its overlays, in order. */
tnd_graph_t *tnd_graph_load(const char *const *files, size_t count);

/*  Adds an actor; `options` in the language of the file: "size: 128, replicas: 2"; NULL: none. */
void tnd_graph_add(tnd_graph_t *self, const char *name, const char *kind, const char *options);

/*  Adds a link: "read -> prep -> batch". */
void tnd_graph_link(tnd_graph_t *self, const char *path);

/*  Changes one value: "batch.size", "256".  The key is an actor and its option, or a path from the
 *  top level: "seed", "hosts.a.port".
 */
void tnd_graph_set(tnd_graph_t *self, const char *key, const char *value);

/*  Lays an overlay on the graph, given as text. */
void tnd_graph_place(tnd_graph_t *self, const char *overlay_yaml);

/*  What a check is for. */
typedef struct {
    const char *data;          /* what ${data} stands for, whatever the files say; NULL: nothing */
    const char *fallback_data; /* likewise where they say nothing, such as $TUNDISH_DATA */
    const char *host;          /* of this process, whose paths must be known; NULL: all */
    bool open_ended;           /* a chain may end before a feeder, to look at its rows */
} tnd_graph_purpose_t;

/*  Replaces the purpose, at first all empty; texts are copied. */
void tnd_graph_purpose(tnd_graph_t *self, const tnd_graph_purpose_t *purpose);

/*  Checks everything that can be known before the start.  TND_FAILED: tnd_graph_errors says what is
 *  wrong.  May be called again, also after further changes.
 */
tnd_status_t tnd_graph_check(tnd_graph_t *self);

/*  The errors (with warnings and notes) as text; "" when there are no errors. */
const char *tnd_graph_errors(const tnd_graph_t *self);

/*  Adds an error that has no place in a file: why a session could not be opened. */
void tnd_graph_fail(tnd_graph_t *self, const char *text);

/*  All that was found, also warnings. */
const tnd_diagnostics_t *tnd_graph_diagnostics(const tnd_graph_t *self);

/*  What a successful check resolved; NULL before. */
const tnd_topology_t *tnd_graph_topology(const tnd_graph_t *self);
const tnd_plan_t *tnd_graph_plan(const tnd_graph_t *self);

/*  After a check that failed: what can be looked at nevertheless (tnd_placement_sketch); or NULL.
 */
const tnd_plan_t *tnd_graph_sketch(const tnd_graph_t *self);

/*  The directory of the first file, where its plugins are looked for; "." if there is none. */
const char *tnd_graph_directory(const tnd_graph_t *self);

/*  A thread that was left behind may touch the graph, and run the code of its plugins: from now on
 *  destroy leaves all of that where it is, until the process ends.
 */
void tnd_graph_keep(tnd_graph_t *self);
bool tnd_graph_is_kept(const tnd_graph_t *self);

/*  Sets *self_p to NULL, which is allowed in it. */
void tnd_graph_destroy(tnd_graph_t **self_p);

#endif
