/*  runtime/resources/resources.h - what a host needs before a run: opens its data and checks that
 *  its plugins and devices exist.
 *
 *  Everything that is missing is reported in one pass, with its place in the topology, before any
 *  actor is created.  Data is opened once for all instances of an actor on the host.
 *
 *  Lifecycle: zeroed; tnd_resources_list; tnd_resources_open; tnd_resources_close, also if zeroed.
 *  Threads: one at a time. */
#ifndef TND_RUNTIME_RESOURCES_RESOURCES_H
#define TND_RUNTIME_RESOURCES_RESOURCES_H

#include "runtime/checkpoint/data_table.h"
#include "runtime/data/stream.h"
#include "runtime/plan/placement.h"
#include "runtime/resources/guarded_call.h"
#include "runtime/text/diagnostic.h"

typedef struct {
    const tnd_instance_t *instance; /* the first one of its actor here */
    tnd_stream_t stream;            /* the facts of the data */
    bool open;
    void *opened; /* shared by its instances */
} tnd_resources_data_t;

typedef struct {
    const tnd_plan_t *plan;
    uint32_t host;
    tnd_resources_data_t *data;
    uint32_t count;
} tnd_resources_t;

/*  Lists the actors of a host that have data; opens nothing yet. */
void tnd_resources_list(tnd_resources_t *self, const tnd_plan_t *plan, uint32_t host);

/*  Checks that files, plugins and devices exist, without opening them.  Returns false if something
 *  is missing. */
bool tnd_resources_look(const tnd_resources_t *self, tnd_diagnostics_t *diagnostics);

/*  Calls `visit` with each path that a source names, in the order of its options; it may be a
 *  pattern, or NULL. */
typedef void tnd_resources_visit_fn(void *context, const char *path);
void tnd_resources_paths(const tnd_part_t *source, tnd_resources_visit_fn *visit, void *context);

/*  Does the same and opens the data, which may take long; tells `call` what it does.  Returns false
 *  if something is missing or cannot be used; the rest is open. */
bool tnd_resources_open(tnd_resources_t *self, tnd_guarded_call_t *call,
                        tnd_diagnostics_t *diagnostics);

/*  Lists the open files of a chain for a checkpoint; hashing whole files waits for the disk.
 *  Returns false after an error, which is reported. */
bool tnd_resources_table(const tnd_resources_t *self, uint32_t chain, tnd_guarded_call_t *call,
                         tnd_data_table_t *table, tnd_diagnostics_t *diagnostics);

/*  What the instances of an actor share; NULL without data. */
void *tnd_resources_opened(const tnd_resources_t *self, const tnd_instance_t *instance);

void tnd_resources_close(tnd_resources_t *self);

/*  Derives the stream of a chain: each kind, in the order of the graph, changes the stream whose
 *  facts (chain, count, identity, schema as read) are known.  Returns false after an error, which
 *  is reported. */
bool tnd_resources_derive(const tnd_plan_t *plan, tnd_guarded_call_t *call, tnd_stream_t *stream,
                          tnd_diagnostics_t *diagnostics);
/*  Adapts a derived stream to a plan whose hosts have other memory budgets. */
void tnd_resources_budget(const tnd_plan_t *plan, tnd_stream_t *stream);

#endif
