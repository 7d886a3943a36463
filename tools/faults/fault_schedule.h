/*  tools/faults/fault_schedule.h - chooses the next fault, its target, its start and its duration.
 *
 *  A pure function of the seed and the hosts.  Kinds are drawn by weight, and the hosts that a kind
 *  may hit equally often, each time in another order.
 *
 *  Hosts that are restarted (SOFT) may be killed, and stopped for longer than a peer may be silent.
 *  Others are only stopped briefly, unless `all` is set.  Connections may break anywhere.
 *
 *  Threads: any; one at a time. */
#ifndef TND_TOOLS_FAULTS_FAULT_SCHEDULE_H
#define TND_TOOLS_FAULTS_FAULT_SCHEDULE_H

#include "runtime/core/numeric/random.h"

/*  X(name, text, weight) */
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
    X(DEVICE_SLOW, "device slow", 2)                                                               \
    X(COPIES_LATE, "copies to the device late", 2)                                                 \
    X(DEVICE_LOST, "device lost", 1)                                                               \
    X(KILL_FINAL, "kill -9 that ends the run", 1)                                                  \
    X(KILL_ALL, "kill -9 of everything", 1)

typedef enum {
#define TND_FAULT_KIND(name, text, weight) TND_FAULT_##name,
    TND_FAULT_KINDS(TND_FAULT_KIND)
#undef TND_FAULT_KIND
        TND_FAULT_COUNT
} tnd_fault_schedule_kind_t;

/*  Properties of a host. */
enum {
    TND_FAULT_SOFT = 1,    /* it is restarted */
    TND_FAULT_LISTENS = 2, /* others connect to it for data */
    TND_FAULT_LEADS = 4,   /* others connect to it for control */
    TND_FAULT_LOCAL = 8,   /* it has readers or preprocessors, which may be slow */
    TND_FAULT_DEVICES = 16 /* it has simulated devices */
};

enum { TND_FAULT_HOSTS = 4096, TND_FAULT_DECK = 64 };

typedef struct {
    uint64_t seed;
    const uint8_t *hosts; /* TND_FAULT_* of each; owned by the caller */
    uint32_t host_count;
    uint64_t dead_after_ns; /* a peer that is silent for this time is lost */
    uint64_t stop_most_ns;  /* `up` replaces a process that is stopped for longer */
    uint64_t patience_ns;   /* likewise one whose connections have ended */
    bool all, disk;
} tnd_fault_schedule_config_t;

typedef struct {
    tnd_fault_schedule_kind_t kind;
    uint32_t host;     /* its target; unused by DISK_FULL and KILL_ALL */
    uint64_t wait_ns;  /* after the run has recovered from the fault before */
    uint64_t lasts_ns; /* 0: it does not last */
    bool at_once;      /* it does not wait for that recovery */
    bool control;      /* it hits connections of control, otherwise of data */
    bool far;          /* HALF_OPEN: the host's side is closed */
} tnd_fault_t;

typedef struct {
    tnd_fault_schedule_config_t config;
    tnd_random_t random;
    tnd_fault_schedule_kind_t deck[TND_FAULT_DECK]; /* kinds not drawn yet in this round */
    uint32_t left;
    uint32_t *hosts[TND_FAULT_COUNT]; /* hosts not drawn yet, by kind */
    uint32_t hosts_left[TND_FAULT_COUNT];
} tnd_fault_schedule_t;

void tnd_fault_schedule_init(tnd_fault_schedule_t *self, const tnd_fault_schedule_config_t *config);
void tnd_fault_schedule_fini(tnd_fault_schedule_t *self);
/*  There is always a next one: any host can be stopped briefly. */
tnd_fault_t tnd_fault_schedule_next(tnd_fault_schedule_t *self);
const char *tnd_fault_schedule_name(tnd_fault_schedule_kind_t kind);

#endif
