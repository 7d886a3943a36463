/*  runtime/resources/resources.h - what a host has before a run begins: its data, opened, and whether
 * this machine has the plugins and devices that its actors need.
 *
 *  All that is missing is reported in one pass, with its place in the topology, before any actor is
 *  made.  Data is opened once for all instances of an actor on the host.
 *
 *  Lifecycle: zeroed; tnd_resources_list; tnd_resources_open; tnd_resources_close, also of a zeroed
 * one. Threads: one at a time.
 */
#ifndef TND_RUNTIME_RESOURCES_RESOURCES_H
#define TND_RUNTIME_RESOURCES_RESOURCES_H

#include "runtime/text/diagnostic.h"
#include "runtime/plan/placement.h"
#include "runtime/checkpoint/data_table.h"
#include "runtime/data/stream.h"
#include "runtime/resources/guarded_call.h"

typedef struct {
    const tnd_instance_t *instance; /* the first of its actor here */
    tnd_stream_t stream;            /* its facts */
    bool open;
    void *opened; /* what its instances read from */
} tnd_resources_data_t;

typedef struct {
    const tnd_plan_t *plan;
    uint32_t host;
    tnd_resources_data_t *data;
    uint32_t count;
} tnd_resources_t;

/*  Lists the actors of a host that have data; opens nothing yet. */
void tnd_resources_list(tnd_resources_t *self, const tnd_plan_t *plan, uint32_t host);

/*  Looks for files, plugins and devices, and opens nothing; quick.  False: something is missing. */
bool tnd_resources_look(const tnd_resources_t *self, tnd_diagnostics_t *diagnostics);

/*  Does that, and opens the data.  May take as long as its sources do, and tells `trial` what it is
 *  at.  False: something is missing
 *  or cannot be used; what could be opened is.
 */
bool tnd_resources_open(tnd_resources_t *self, tnd_guarded_call_t *trial,
                        tnd_diagnostics_t *diagnostics);

/*  Lists the files of a chain, once they are open, as a checkpoint stores them.  Waits for the disk
 *  where whole files are hashed.  False: one could not be read, and is reported.
 */
bool tnd_resources_table(const tnd_resources_t *self, uint32_t chain, tnd_guarded_call_t *trial,
                         tnd_data_table_t *table, tnd_diagnostics_t *diagnostics);

/*  What an actor's instances share; NULL: it has no data. */
void *tnd_resources_opened(const tnd_resources_t *self, const tnd_instance_t *instance);

void tnd_resources_close(tnd_resources_t *self);

/*  Lets every kind along a chain, in the order of the graph, say what it makes of the stream whose
 *  facts (chain, count, identity, schema as read) are known, and tells `trial` who is at it. False:
 *  something does not fit, and is reported.
 */
bool tnd_resources_derive(const tnd_plan_t *plan, tnd_guarded_call_t *trial, tnd_stream_t *stream,
                          tnd_diagnostics_t *diagnostics);

#endif
