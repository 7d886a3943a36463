/*  runtime/core/protocol/absence.h - how long a process may lack control before it counts as lost.
 *
 *  A live process may be silent for long: its machine may be busy, or the network slow.  So it is
 *  lost after `dead_after`.  The silence for which its connection was given up is a part of that, at
 *  most half: the rest is for its return.  It is lost after the short `grace` only if its connection
 *  ended without GOODBYE and it is known to be dead.  An ended connection does not prove a death:
 *  networks end connections too, and a busy machine may take longer than the grace to reconnect.  If
 *  nothing else is known, only a process that the run does not need is presumed dead; if it lives, it
 *  returns.
 *
 *  A peer that is away again soon after its return may not have received its welcome, and waits for
 *  an answer the longer it was away (link_end.h).  The absence then continues as if the peer had
 *  not returned, and half of its length is added to the grace.
 *
 *  Time in which the caller itself was away is not counted (tnd_absence_excuse).
 *
 *  Threads: any; plain values. */
#ifndef TND_RUNTIME_CORE_PROTOCOL_ABSENCE_H
#define TND_RUNTIME_CORE_PROTOCOL_ABSENCE_H

#include <stdbool.h>
#include <stdint.h>

/*  Why a connection that was up is lost. */
typedef enum {
    TND_LOSS_SILENT,   /* nothing was heard for link_timeout */
    TND_LOSS_ENDED,    /* the transport saw it end */
    TND_LOSS_CLOSED,   /* the peer said GOODBYE: it lives */
    TND_LOSS_REPLACED, /* the peer returned by a later connection */
    TND_LOSS_OURS      /* this side closed it */
} tnd_loss_t;

/*  What is known of a process besides its connection. */
typedef enum {
    TND_FATE_UNKNOWN,
    TND_FATE_ALIVE,
    TND_FATE_DEAD /* it has ended, or nothing listens at its address */
} tnd_fate_t;

typedef struct {
    uint64_t grace_ns, dead_after_ns; /* a larger grace counts as dead_after */
    uint64_t silence_ns;              /* what TND_LOSS_SILENT has waited for */
} tnd_absence_limits_t;

/*  Zeroed: the peer is here. */
typedef struct {
    tnd_loss_t loss;
    uint64_t since_ns;                 /* when it began; kept after its end */
    uint64_t ended_ns;                 /* when the peer last returned; 0: never */
    uint64_t grace_until_ns, until_ns; /* until_ns 0: the peer is here */
} tnd_absence_t;

/*  The peer is away since now. */
void tnd_absence_begin(tnd_absence_t *self, const tnd_absence_limits_t *limits, tnd_loss_t loss,
                       uint64_t now);
/*  The peer has returned. */
void tnd_absence_end(tnd_absence_t *self, uint64_t now);
/*  The caller was away until now: a peer that seems present may have been away as long. */
void tnd_absence_excuse(tnd_absence_t *self, uint64_t away_ns, uint64_t now);
/*  Whether the peer counts as lost.  `ends_run`: then the run ends, for the caller at least. */
bool tnd_absence_is_over(const tnd_absence_t *self, tnd_fate_t fate, bool ends_run, uint64_t now);
/*  When to ask next; TND_NEVER while the peer is here. */
uint64_t tnd_absence_deadline(const tnd_absence_t *self, uint64_t now);

#endif
