/*  runtime/core/host/run_start.h - the start of a run, as its leader decides it.
 *
 *  Every host with readers opens its data and says what it has found.  When all have, every host is
 *  told what the streams are.  It makes its actors and says where they listen.  When all hosts have,
 *  the run begins: every host is told where all listen, lets its actors run, and is ready when they
 *  do.  A host that is ready is counted with its actors (leader.h).  Before the run begins, hosts are
 *  counted as soon as they are connected, because the start waits for them.
 *
 *  A process that comes later passes the same barriers (barriers.h) while the run continues.  Hosts
 *  that only carry workers are spare: the run begins without them.
 *
 *  Threads: one.  The caller provides the memory. */
#ifndef TND_RUNTIME_CORE_HOST_RUN_START_H
#define TND_RUNTIME_CORE_HOST_RUN_START_H

#include <stdbool.h>
#include <stdint.h>

typedef struct {
    bool reads;   /* it has data to open */
    bool spare;   /* the start does not wait for it */
    bool final;   /* it is not started again */
    bool late;    /* its process came after the run had begun */
    bool opened;  /* as its process has said: what it has found in its data */
    bool listens; /* where its actors listen */
    bool ready;   /* that they run */
    bool counted; /* with its actors, in the running chain */
} tnd_run_start_host_t;

typedef struct {
    tnd_run_start_host_t *hosts; /* the caller sets `reads`, `spare` and `final` */
    uint32_t host_count;
    bool opened; /* the streams are known */
    bool begun;  /* all hosts have said once where their actors listen */
} tnd_run_start_t;

/*  Who is to be told. */
typedef enum {
    TND_AUDIENCE_NONE,
    TND_AUDIENCE_HOST, /* the host that reported */
    TND_AUDIENCE_ALL   /* all hosts that are connected */
} tnd_audience_t;

/*  How the leader counts a host. */
typedef enum {
    TND_COUNT_NOT,   /* not yet */
    TND_COUNT_HOST,  /* as there */
    TND_COUNT_ACTORS /* as there, with its actors */
} tnd_count_t;

/*  What a host that is connected must be told, because it may have missed it. */
typedef struct {
    bool streams; /* what they are */
    bool table;   /* where all listen */
    tnd_count_t count;
} tnd_greeting_t;

/*  Another process begins: it has to say everything again. */
void tnd_run_start_process(tnd_run_start_t *self, uint32_t host);
/*  A host is connected, perhaps again. */
tnd_greeting_t tnd_run_start_greet(tnd_run_start_t *self, uint32_t host);
/*  A host has said what it has found in its data.  Returns which hosts to tell what the streams are. */
tnd_audience_t tnd_run_start_open(tnd_run_start_t *self, uint32_t host);
/*  A host has said where its actors listen; `moved`: not what it said last.  Returns which hosts to tell. */
tnd_audience_t tnd_run_start_listen(tnd_run_start_t *self, uint32_t host, bool moved);
/*  A host has said that its actors run. */
tnd_count_t tnd_run_start_ready(tnd_run_start_t *self, uint32_t host);
/*  A host is lost, and with it its actors. */
void tnd_run_start_lose(tnd_run_start_t *self, uint32_t host);
/*  The next chain begins, in which no host is counted yet / how a connected host is counted in it. */
void tnd_run_start_next_chain(tnd_run_start_t *self);
tnd_count_t tnd_run_start_enter(tnd_run_start_t *self, uint32_t host);

/*  Whether a host has data that it has not opened yet. */
bool tnd_run_start_is_opening(const tnd_run_start_t *self, uint32_t host);
/*  Whether the start waits for that host, which did not come yet. */
bool tnd_run_start_awaits(const tnd_run_start_t *self, uint32_t host);
/*  Whether the run ends before its begin if that host is lost. */
bool tnd_run_start_ends_with(const tnd_run_start_t *self, uint32_t host);
/*  Whether the run continues without a host that has failed; `unfit`: because it cannot take part. */
bool tnd_run_start_spares(const tnd_run_start_t *self, uint32_t host, bool unfit);

#endif
