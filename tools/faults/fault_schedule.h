/*  tools/faults/fault_schedule.h - which fault comes next, to whom, when and for how long.
 *
 *  A pure function of the seed and of what hosts there are: the same faults in the same order.
 *  Every kind that is possible comes equally often, every host that a kind may hit likewise, each
 *  time in another order.
 *
 *  Who may be hit is the death table: hosts that are started again (SOFT) may be killed, and
 * stopped for longer than a peer may be silent; all others only for a moment, unless `all` is set.
 *  Connections may break anywhere.
 *
 *  Threads: any; one at a time.
 */
#ifndef TUNDISH_TOOLS_HAVOC_H
#define TUNDISH_TOOLS_HAVOC_H

#include "runtime/core/numeric/random.h"

/*  X(name, text, weight): how often it comes for one of the others. */
#define TND_FAULT_KINDS(X)                                                                         \
    X(KILL, "kill -9", 8)                                                                          \
    X(PAUSE, "stopped for a moment", 4)                                                            \
    X(STOP, "stopped until it counts as lost", 1)                                                  \
    X(SLOW, "slow", 2)                                                                             \
    X(CUT, "connections cut", 4)                                                                   \
    X(HALF_OPEN, "connections half open", 4)                                                       \
    X(SILENT, "connections silent", 2)                                                             \
    X(SHUT_OFF, "shut off", 2)                                                                     \
    X(DISK_FULL, "disk full", 2)                                                                   \
    X(KILL_FINAL, "kill -9 of what the run ends with", 1)                                          \
    X(KILL_ALL, "kill -9 of everything", 1)

typedef enum {
#define TND_FAULT_KIND(name, text, weight) TND_FAULT_##name,
    TND_FAULT_KINDS(TND_FAULT_KIND)
#undef TND_FAULT_KIND
        TND_FAULT_COUNT
} tnd_fault_schedule_kind_t;

/*  What is to be known of a host. */
enum {
    TND_FAULT_SOFT = 1,  /* it is started again */
    TND_FAULT_DOOR = 2,  /* others connect to it */
    TND_FAULT_LEADS = 4, /* by control too */
    TND_FAULT_LOCAL = 8  /* it reads or works: that can be slow */
};

enum { TND_FAULT_HOSTS = 4096, TND_FAULT_DECK = 64 };

typedef struct {
    uint64_t seed;
    const uint8_t *hosts; /* TND_FAULT_* of each; kept by the caller */
    uint32_t host_count;
    uint64_t dead_after_ns; /* a peer that is silent for so long is lost */
    uint64_t patience_ns;   /* and one whose connections have ended for so long */
    bool all, disk;
} tnd_fault_schedule_config_t;

typedef struct {
    tnd_fault_schedule_kind_t kind;
    uint32_t host;     /* not of DISK_FULL and KILL_ALL */
    uint64_t wait_ns;  /* from when the run has recovered from the one before */
    uint64_t lasts_ns; /* 0: it is over at once */
    bool at_once;      /* it does not wait for the run to recover from the one before */
    bool control;      /* it hits connections of control; else those of data */
    bool far;          /* HALF_OPEN: it is the host's side that is closed */
} tnd_fault_t;

typedef struct {
    tnd_fault_schedule_config_t config;
    tnd_random_t random;
    tnd_fault_schedule_kind_t deck[TND_FAULT_DECK]; /* kinds still to come, the last one first */
    uint32_t left;
    uint32_t *hosts[TND_FAULT_COUNT]; /* likewise of each kind */
    uint32_t hosts_left[TND_FAULT_COUNT];
} tnd_fault_schedule_t;

void tnd_fault_schedule_init(tnd_fault_schedule_t *self, const tnd_fault_schedule_config_t *config);
void tnd_fault_schedule_fini(tnd_fault_schedule_t *self);
/*  Always gives one: a moment's stop is possible anywhere. */
tnd_fault_t tnd_fault_schedule_next(tnd_fault_schedule_t *self);
const char *tnd_fault_schedule_name(tnd_fault_schedule_kind_t kind);

#endif
