/*  runtime/core/protocol/absence.h - how long a process of the run may be away from control before
 * it counts as lost.
 *
 *  A process that is alive may be silent for long: its machine may be busy, or the network slow.
 *  So it is lost once it has been away for `dead_after`.  It is lost after the short `grace` only
 *  if its connection ended without a GOODBYE, which is what the death of a process looks like, and
 *  if it is known to be dead.  An end alone proves no death, for networks end connections too, and
 *  a busy machine may need longer than the grace for another one.  Where nothing else is known, a
 *  death is presumed only of a process that the run can do without: if it lives, it comes back.
 *
 *  A peer that is away again soon after it came back may not have heard that it was welcome, and
 *  the longer it has been away, the longer it waits for an answer (link_end.h): the absence goes on
 *  as if it had not come back, and half of what it has lasted is added to the grace.
 *
 *  Time in which the caller itself was away does not count (tnd_absence_excuse).
 */
#ifndef TND_RUNTIME_CORE_PROTOCOL_ABSENCE_H
#define TND_RUNTIME_CORE_PROTOCOL_ABSENCE_H

#include <stdbool.h>
#include <stdint.h>

/*  Why a connection that was up is lost. */
typedef enum {
    TND_LOSS_SILENT,   /* nothing was heard for link_timeout */
    TND_LOSS_ENDED,    /* the transport saw it end */
    TND_LOSS_CLOSED,   /* the peer said GOODBYE: it lives */
    TND_LOSS_REPLACED, /* the peer came back by a later connection */
    TND_LOSS_OURS      /* this side closed it */
} tnd_loss_t;

/*  What is known of a process beside its connection. */
typedef enum {
    TND_FATE_UNKNOWN,
    TND_FATE_ALIVE,
    TND_FATE_DEAD /* it does not exist any more, or nothing listens at its address */
} tnd_fate_t;

typedef struct {
    uint64_t grace_ns, dead_after_ns; /* a larger grace counts as dead_after */
} tnd_absence_limits_t;

/*  Zeroed: the peer is here. */
typedef struct {
    tnd_loss_t loss;
    uint64_t since_ns;                 /* when it began; kept after its end */
    uint64_t ended_ns;                 /* when the peer last came back; 0: it never did */
    uint64_t grace_until_ns, until_ns; /* until_ns 0: the peer is here */
} tnd_absence_t;

/*  The peer is away since now. */
void tnd_absence_begin(tnd_absence_t *self, const tnd_absence_limits_t *limits, tnd_loss_t loss,
                       uint64_t now);
/*  The peer has come back. */
void tnd_absence_end(tnd_absence_t *self, uint64_t now);
/*  The caller was away for so long, until now, and could hear nothing: a peer that it believes to
 * be here may have been away for as long.
 */
void tnd_absence_excuse(tnd_absence_t *self, uint64_t away_ns, uint64_t now);
/*  Whether the peer counts as lost.  `ends_run`: then the run ends, for the caller at least. */
bool tnd_absence_is_over(const tnd_absence_t *self, tnd_fate_t fate, bool ends_run, uint64_t now);
/*  When to ask next; TND_NEVER while the peer is here. */
uint64_t tnd_absence_deadline(const tnd_absence_t *self, uint64_t now);

#endif
