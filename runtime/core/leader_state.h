/*  runtime/core/leader_state.h - the state of a run, as its leader has it.
 *
 *  Threads: any. */
#ifndef TND_RUNTIME_CORE_LEADER_STATE_H
#define TND_RUNTIME_CORE_LEADER_STATE_H

typedef enum {
    TND_LEADER_CORE_JOINING,  /* hosts are missing */
    TND_LEADER_CORE_OPENING,  /* all are there; they open their data and create their actors */
    TND_LEADER_CORE_READY,    /* all actors are there; the stream is not started */
    TND_LEADER_CORE_RUNNING,  /* or paused (tnd_leader_core_is_paused) */
    TND_LEADER_CORE_DRAINING, /* feeders finish the highest step that one of them has started */
    TND_LEADER_CORE_DONE,
    TND_LEADER_CORE_FAILED
} tnd_leader_core_state_t;

#endif
