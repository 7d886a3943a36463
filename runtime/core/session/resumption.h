/*  runtime/core/session/resumption.h - whether a run that has lost a host starts again.
 *
 *  With `restarts: {run: N}` the hosts that are left save nothing, end their sessions, meet again
 *  (roster.h) and resume from the newest checkpoint.  Each start is another session, and each roster has
 *  a number: a process of an earlier one, which was stopped while the others met, is not let into the
 *  session of a later one (tnd_end_is_meant).
 *
 *  Before the run begins, it may also start again without the hosts that it can do without (`min:`), as
 *  if these had not come.
 *
 *  Only the leader decides.  A host starts again only if the leader of its session tells it to.  One
 *  that has lost its leader cannot know who continues: it ends, and what started it may start it again.
 *  So if a network splits, only the hosts on the leader's side resume.
 *
 *  Threads: any; functions without state. */
#ifndef TND_RUNTIME_CORE_SESSION_RESUMPTION_H
#define TND_RUNTIME_CORE_SESSION_RESUMPTION_H

#include <stdbool.h>
#include <stdint.h>

/*  Which start of a run this is, as its leader counts. */
typedef struct {
    uint32_t max;    /* starts after a loss without a new checkpoint between them; 0: none */
    uint32_t spares; /* hosts that the run can begin without: so many may be lost before that */
    uint32_t losses; /* that led to this start since the newest checkpoint */
    uint32_t number; /* of this start, from 0 */
} tnd_resumption_t;

/*  Why a session ends before the run is done. */
typedef enum {
    TND_RESUMPTION_LOST,   /* a host that was there is lost, and the stream needs it */
    TND_RESUMPTION_ABSENT, /* a host did not come */
    TND_RESUMPTION_ASKED   /* a user wants waiting hosts to be let in */
} tnd_resumption_cause_t;

typedef struct {
    tnd_resumption_cause_t cause;
    bool unbegun; /* no host was told to begin */
    bool saved;   /* a checkpoint was written in this session */
    bool drains;  /* the run was asked to end */
} tnd_resumption_end_t;

typedef enum {
    TND_RESUMPTION_ENDS,
    TND_RESUMPTION_ENDS_OFTEN, /* it has started again `max` times without a new checkpoint */
    TND_RESUMPTION_AGAIN
} tnd_resumption_verdict_t;

/*  At the first start a host that does not come was not started, and the run ends.  Later it is one that
 *  was lost.  What a user asks for does not count. */
tnd_resumption_verdict_t tnd_resumption_decide(const tnd_resumption_t *self,
                                               const tnd_resumption_end_t *end);
/*  The start that follows TND_RESUMPTION_AGAIN. */
tnd_resumption_t tnd_resumption_next(const tnd_resumption_t *self, const tnd_resumption_end_t *end);

#endif
