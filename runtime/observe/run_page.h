/*  runtime/observe/run_page.h - what a process knows about its run, in shared memory.
 *
 *  The statistics file of a process (statistics.h) contains, after the pages of its actors:
 *  * the run page: state of the session, progress, checkpoints, and what the control thread does;
 *  * a record of each host, each instance and each edge of the plan, so that peers on other
 *    machines have names;
 *  * the last log records that reached this process;
 *  * for the leader, the bad records and restarts of the whole run (run_notes.h);
 *  * what the memory of this process may reach, term by term;
 *  * the last 64 seconds of each actor of this host, and the last ten minutes in spans of 10 seconds;
 *  * its options, operations and current file, and histograms of its times (timing.h);
 *  * the last events of each actor of this host and of its device threads (event_ring.h).
 *
 *  Only the leader knows the state of the session and of other hosts.  In the files of other hosts
 *  these words are 0.
 *
 *  Names are written once, at the start.  A log record has a number before and after its text.
 *  Every other word that changes is a single atomic.
 *
 *  Threads: the control thread of the host writes; an edge's ends are written by their actors.
 *  Units: nanoseconds of the monotonic clock. */
#ifndef TND_RUNTIME_OBSERVE_RUN_PAGE_H
#define TND_RUNTIME_OBSERVE_RUN_PAGE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "runtime/notes/run_notes.h"
#include "runtime/observe/event_ring.h"
#include "runtime/plan/memory_estimate.h"
#include "runtime/timing/timing.h"

typedef struct tnd_plan tnd_plan_t;

/*  What a control thread does. */
typedef enum {
    TND_CONTROL_NONE, /* it has not started, or has ended */
    TND_CONTROL_WAITS,
    TND_CONTROL_WORKS, /* handles messages, writes progress and metrics */
    TND_CONTROL_ENDS   /* stops its actors and waits for the last messages */
} tnd_control_state_t;

enum { TND_CONTROL_STATES = 4 };

/*  Whether a host takes part in the run. */
typedef enum {
    TND_PRESENCE_UNKNOWN,
    TND_PRESENCE_EXPECTED, /* it has not come */
    TND_PRESENCE_UP,
    TND_PRESENCE_AWAY, /* its connection ended; it may return */
    TND_PRESENCE_LOST,
    TND_PRESENCE_LEFT /* on request */
} tnd_presence_t;

enum {
    TND_PRESENCES = 6,
    TND_PAGE_CHAINS = 16,
    TND_OUTCOMES = 15,
    TND_PAGE_WHY_WORDS = 32 /* of a text that changes: 256 bytes */
};

typedef struct {
    _Atomic uint64_t state;             /* tnd_leader_core_state_t + 1; 0: not known here */
    _Atomic uint64_t since_ns;          /* when that state began */
    _Atomic uint64_t started_ns;        /* when this process began */
    _Atomic uint64_t outcome;           /* tnd_outcome_t: how the run ended; 0: it has not */
    _Atomic uint64_t chain;             /* the running one */
    _Atomic uint64_t generation;        /* rewinds so far */
    _Atomic uint64_t epoch, step, rows; /* of the chain: after the last booked step */
    _Atomic uint64_t epoch_left_ns, run_left_ns; /* until they end; 0: not known */
    _Atomic uint64_t read, added, fed;           /* its ledger: rows */
    _Atomic uint64_t filtered, bad, dropped, padded;
    _Atomic uint64_t checkpoint_step; /* steps done at the last checkpoint; 0: there is none */
    _Atomic uint64_t checkpoint_ns;   /* when it was complete; 0: before this process began */
    _Atomic uint64_t unwritten;       /* checkpoints that failed since then */
    _Atomic uint64_t unwritten_why[TND_PAGE_WHY_WORDS]; /* of the last one */
    _Atomic uint64_t opening_ns; /* since when this host gets ready; 0: it does not */
    _Atomic uint64_t opening[TND_PAGE_WHY_WORDS]; /* what it does, and how far that is */
    _Atomic uint64_t metric_count;
    _Atomic uint64_t metrics[4]; /* of the last booked step: the bits of a double */
    _Atomic uint64_t control;    /* tnd_control_state_t */
    _Atomic uint64_t control_ns; /* when that began */
    _Atomic uint64_t control_thread;
    _Atomic uint64_t written_ns;         /* when the control thread last wrote this page */
    _Atomic uint64_t history_next;       /* seconds written to each history */
    _Atomic uint64_t log_next;           /* log records written */
    _Atomic uint64_t metric_names[4][4]; /* 32 bytes each */
    uint32_t host;                       /* of this process */
    uint32_t lanes;
    uint64_t seed;
    uint32_t chain_count;
    char chains[TND_PAGE_CHAINS][48];  /* names of their feeders */
    char checkpoints[256];             /* where checkpoints are written; "": nowhere */
    char metrics_path[256];            /* where metrics are written; "": nowhere */
    _Atomic uint64_t metrics_waits_ns; /* since when the next line waits; 0: none does */
    _Atomic uint64_t metrics_dropped;  /* lines */
    _Atomic uint64_t metrics_reason;   /* errno of a write that failed; 0: none did */
    _Atomic uint64_t paused_ns;        /* when a user asked for a pause; 0: not paused */
    _Atomic uint64_t paused_step;  /* the first that is not started; TND_UNKNOWN: not known yet */
    _Atomic uint64_t paused_by[4]; /* that user, 32 bytes */
} tnd_run_page_t;

/*  A host of the plan. */
typedef struct {
    char name[64], address[64], pool[64];
    uint64_t memory_bytes;       /* its budget; 0: none given */
    uint32_t parent;             /* of an isolated worker's process: the host that starts it */
    uint32_t isolated, spare;    /* booleans */
    uint32_t restarts_max;       /* so many within `restarts:` end the run */
    _Atomic uint64_t presence;   /* tnd_presence_t */
    _Atomic uint64_t since_ns;   /* when that began */
    _Atomic uint64_t waited_for; /* whether the run waits for it */
    _Atomic uint64_t process;    /* its number on its machine; 0: not known */
    _Atomic uint64_t restarts;   /* processes that took its place */
} tnd_host_record_t;

/*  An instance of an actor of the plan. */
typedef struct {
    char name[48], kind[16], actor[32];
    uint32_t host, chain, lane, number;
    uint32_t role;    /* tnd_role_t */
    uint32_t history; /* index of its history here; UINT32_MAX: it is on another host */
    /*  Its event ring and its timing here, followed by those of its devices. */
    uint32_t ring, ring_count;
    _Atomic uint64_t restarts; /* how often it was replaced because it hung */
} tnd_instance_record_t;

/*  One end of an edge, as seen by the actor there. */
typedef struct {
    _Atomic uint64_t blocks, rows, bytes; /* sent or received */
    _Atomic uint64_t up_ns;               /* since when it is connected; 0: it is not */
    _Atomic uint64_t lost;                /* connections lost */
    /*  Of this connection, in all: the difference may still be sent.  Given 0: the edge has no
     *  credit, or not in this unit. */
    _Atomic uint64_t credit_used, credit_given;             /* blocks */
    _Atomic uint64_t credit_used_bytes, credit_given_bytes; /* may be exceeded by one block */
    _Atomic uint64_t round_trip_ns; /* at most, as a rule, on tcp while it was quiet; 0: unknown */
} tnd_edge_end_t;

typedef struct {
    uint32_t from, to;      /* instances */
    uint32_t transport;     /* tnd_transport_t */
    uint32_t flow;          /* not used yet */
    tnd_edge_end_t ends[2]; /* of `from` and of `to`; zeros: on another host */
} tnd_edge_record_t;

enum { TND_LOG_RECORDS = 32, TND_LOG_WORDS = 30 };

/*  A log record.  It is complete if `before` and `after` are equal and not 0. */
typedef struct {
    _Atomic uint64_t before; /* its number, from 1 */
    _Atomic uint64_t at_ns, level;
    _Atomic uint64_t text[TND_LOG_WORDS]; /* "HOST ACTOR TEXT", terminated */
    _Atomic uint64_t after;
} tnd_log_record_t;

enum { TND_MEMORY_TERMS = 48 };

typedef struct {
    char actor[48], what[72]; /* an actor or "process"; a longer text is cut */
    uint64_t bytes;
} tnd_memory_record_term_t;

/*  The most memory that this process may use, as `tundish explain` shows it.  Written when
 *  the data is known, and again when a user has changed an option that it depends on. */
typedef struct {
    _Atomic uint64_t count; /* terms; 0: not known yet */
    uint64_t bytes;         /* of all, also of those that have no room here */
    tnd_memory_record_term_t terms[TND_MEMORY_TERMS];
} tnd_memory_record_t;

enum {
    TND_HISTORY_SECONDS = 64,
    TND_HISTORY_SPANS = 64,
    TND_HISTORY_SPAN = 10 /* seconds of a span */
};

/*  About one second of an actor. */
typedef struct {
    _Atomic uint64_t at_ns;     /* when it ended */
    _Atomic uint64_t rows;      /* handed on during it */
    _Atomic uint64_t bytes;     /* likewise */
    _Atomic uint64_t queue;     /* blocks, at its end */
    _Atomic uint64_t credit;    /* likewise; TND_UNKNOWN: it needs none */
    _Atomic uint64_t shares[3]; /* 9 parts of 65535 in the order of TND_TIMES, 16 bits each;
                                   word i has those from 4 * i, the lowest bits first; then,
                                   of a feeder, those of tnd_feeder_shares_pack */
} tnd_history_second_t;

typedef struct {
    tnd_history_second_t seconds[TND_HISTORY_SECONDS]; /* ring: number modulo its size */
    /*  Ring: span n is seconds 10 n to 10 n + 9 together, with their rows and bytes added up. */
    tnd_history_second_t spans[TND_HISTORY_SPANS];
} tnd_history_t;

/*  How many records a file has. */
typedef struct {
    uint32_t actors, hosts, edges;
    uint32_t histories; /* actors of this host */
    uint32_t details;   /* likewise; 0 in a copy without them */
    uint32_t timings;   /* of these actors and their devices; likewise */
    uint32_t rings;     /* likewise */
    uint32_t notes;     /* TND_RUN_NOTES_KINDS of the leader, else 0 */
} tnd_pages_shape_t;

/*  The parts of a file, in its memory or in a copy. */
typedef struct tnd_run_record {
    tnd_run_page_t *page;
    tnd_host_record_t *hosts;
    tnd_instance_record_t *instances;
    tnd_edge_record_t *edges;
    tnd_log_record_t *log;
    tnd_run_notes_t *notes; /* by kind; NULL: there are none */
    tnd_memory_record_t *memory;
    tnd_history_t *histories;
    tnd_actor_detail_t *details; /* by history */
    tnd_timing_t *timings;       /* by ring */
    tnd_event_ring_t *rings;
    tnd_pages_shape_t shape;
} tnd_run_record_t;

/*  The number of bytes of all parts, and their places in `memory`. */
size_t tnd_run_record_bytes(const tnd_pages_shape_t *shape);
tnd_run_record_t tnd_run_record_at(void *memory, const tnd_pages_shape_t *shape);

/*  The shape of the file of a host. */
tnd_pages_shape_t tnd_run_record_shape(const tnd_plan_t *plan, uint32_t host);
/*  Writes all that does not change during the run. */
void tnd_run_record_fill(const tnd_run_record_t *self, const tnd_plan_t *plan, uint32_t host,
                         uint64_t now);

/*  The detail of an instance / the histograms of it (`device` 0) or of one of its devices (from 1);
 *  NULL if this record has none. */
const tnd_actor_detail_t *tnd_run_record_detail(const tnd_run_record_t *self, uint32_t instance);
const tnd_timing_t *tnd_run_record_timing(const tnd_run_record_t *self, uint32_t instance,
                                          uint32_t device);

/*  Sets what the memory of this process may reach. */
void tnd_run_record_memory(const tnd_run_record_t *self, const tnd_memory_estimate_t *estimate);
/*  Sets the presence of a host; `since_ns` changes only with it. */
void tnd_run_record_presence(tnd_host_record_t *host, tnd_presence_t presence, uint64_t now);
/*  Adds a log record; a long text is cut. */
void tnd_run_record_log(const tnd_run_record_t *self, unsigned level, const char *host,
                        const char *actor, const char *text, uint64_t now);
/*  Copies the text of a complete log record; returns false for another one. */
bool tnd_run_record_log_text(const tnd_log_record_t *record, char *text, size_t room);
/*  Copies the name of a metric; `number` < metric_count. */
void tnd_run_page_metric_name(const tnd_run_page_t *page, uint64_t number, char name[32]);
/*  Whether a user has paused the run, and that user's name. */
bool tnd_run_page_paused(const tnd_run_page_t *self, char by[32]);
/*  Makes a copy safe to use: texts are terminated and printable, indices exist. */
void tnd_run_record_bound(const tnd_run_record_t *copy);

#endif
