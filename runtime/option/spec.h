/*  runtime/option/spec.h - what the graph knows about a kind, a source or an operation: name,
 *  options and ports.
 *
 *  The functions are in other tables, which point to these.
 *
 *  Threads: all are const. */
#ifndef TND_RUNTIME_OPTION_SPEC_H
#define TND_RUNTIME_OPTION_SPEC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "runtime/core/protocol/role.h"
#include "runtime/option/option.h"
#include "runtime/tundish/types.h"

/*  What passes through a port.  Ports with equal flows fit. */
typedef enum {
    TND_FLOW_ROWS,   /* blocks of rows of a lane, named by positions */
    TND_FLOW_BATCH,  /* slices of global batches */
    TND_FLOW_VALUES, /* what replicas post to a reduction */
} tnd_flow_t;

/*  "rows", "batches", "values to reduce". */
const char *tnd_flow_name(tnd_flow_t flow);

typedef struct {
    const char *name; /* "in", "out" */
    tnd_flow_t flow;
    bool required; /* a graph without a link here cannot run */
    bool several;  /* may have more than one link */
    bool connects; /* opens connections to the other end instead of listening */
    bool call;     /* `<->` is possible: messages are answered */
} tnd_port_spec_t;

enum { TND_PORT_MAX = 4 };

/*  One message in the set that a kind accepts: TND_ACCEPT(BLOCK).  Those between hosts, which
 *  messages.def names last, reach no actor and are in no set. */
#define TND_ACCEPT(message) (UINT64_C(1) << TND_MSG_##message)
#define TND_ACCEPT_MAX 64

/*  How many instances of an actor there are. */
typedef enum {
    TND_INSTANCE_ONE,    /* one, on one host */
    TND_INSTANCE_LANE,   /* one per lane */
    TND_INSTANCE_WORKER, /* any number on any host: stateless */
    TND_INSTANCE_HOST    /* one per host that it is placed on */
} tnd_instance_rule_t;

typedef struct {
    tnd_table_t table;
    tnd_role_t role;
    tnd_instance_rule_t instances;
    uint64_t accepts; /* the messages that its actors handle: a set of TND_ACCEPT */
    tnd_port_spec_t inlets[TND_PORT_MAX];
    size_t inlet_count;
    tnd_port_spec_t outlets[TND_PORT_MAX];
    size_t outlet_count;
} tnd_kind_spec_t;

static inline bool tnd_kind_accepts(const tnd_kind_spec_t *kind, uint32_t message)
{
    return message < TND_ACCEPT_MAX && (kind->accepts >> message & 1) != 0;
}

/*  Lanes can share its files (`shard: file`); a source that is not RANDOM can begin at any row, though
 *  slowly; it takes arrays of the program; in TensorFlow its rows are a tensor or come from a callback,
 *  and not from a dataset of files.  Built-in formats only. */
enum {
    TND_SOURCE_FILES = 4,
    TND_SOURCE_SEEKS = 8,
    TND_SOURCE_ARRAYS = 16,
    TND_SOURCE_TENSORS = 32
};

typedef struct {
    tnd_table_t table;
    uint32_t caps; /* its abilities with the best options */
    /*  For a custom source (custom.h): its table and the pointer of the program. */
    const struct tnd_source_ops *custom;
    void *shared;
    uint64_t build; /* of a plugin: a hash of its file; 0: it is not of one */
} tnd_source_spec_t;

/*  It runs in a process of its own, which hosts need not be able to start: it is not tried before the
 *  start.  Built-in operations only. */
enum { TND_OP_APART = 16 };

typedef struct {
    tnd_table_t table;
    uint32_t caps;                   /* TND_OP_*, with the most permissive options */
    const struct tnd_op_ops *custom; /* likewise */
    void *shared;
    uint64_t build;
} tnd_op_spec_t;

/*  A table is the first member of its spec. */
static inline const tnd_source_spec_t *tnd_source_spec_of(const tnd_table_t *table)
{
    return (const tnd_source_spec_t *)(const void *)table;
}

static inline const tnd_op_spec_t *tnd_op_spec_of(const tnd_table_t *table)
{
    return (const tnd_op_spec_t *)(const void *)table;
}

#endif
