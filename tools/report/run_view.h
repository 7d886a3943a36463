/*  tools/report/run_view.h - two inspections of one run, and the actors in it.
 *
 *  A view selects the processes of a run.  A killed process belongs to it until another process has
 *  taken its place.
 *
 *  Threads: any. */
#ifndef TND_TOOLS_REPORT_RUN_VIEW_H
#define TND_TOOLS_REPORT_RUN_VIEW_H

#include "runtime/observe/inspection.h"

/*  An actor and its process; `page` is NULL: none. */
typedef struct {
    const tnd_inspected_t *process;
    const tnd_statistics_t *page;
} tnd_seen_t;

typedef struct {
    const tnd_inspection_t *before, *after;
    const tnd_inspected_t *of;      /* the run of this process */
    uint32_t processes;             /* of the run */
    const tnd_run_record_t *record; /* of the leader, or of another process; NULL: none */
} tnd_run_view_t;

tnd_run_view_t tnd_run_view(const tnd_inspection_t *before, const tnd_inspection_t *after,
                            const tnd_inspected_t *process);
/*  Whether the view has a process, which is of `after`. */
bool tnd_run_view_has(const tnd_run_view_t *self, const tnd_inspected_t *process);

/*  Whether the run of a process is dead, and a later run of the same name replaces it. */
bool tnd_run_is_superseded(const tnd_inspection_t *look, const tnd_inspected_t *process);

/*  What a user writes to mean the run of a process: its name or, if another live run of the look has
 *  that too, the number of its leader's process.  Returns `text`. */
const char *tnd_run_word(const tnd_inspection_t *look, const tnd_inspected_t *process,
                         char text[64]);

/*  Visits the actors of the run in `who`, a tnd_seen_t. */
#define TND_EACH_ACTOR(view, who)                                                                  \
    for (uint32_t p_ = 0; p_ < (view)->after->count; p_++)                                         \
        for (uint32_t a_ = 0; tnd_run_view_has(view, &(view)->after->processes[p_]) &&             \
                              a_ < (view)->after->processes[p_].count &&                           \
                              ((who) = (tnd_seen_t){&(view)->after->processes[p_],                 \
                                                    &(view)->after->processes[p_].actors[a_]},     \
                              true);                                                               \
             a_++)

/*  The actor of an instance of the plan; `page` NULL: it is not on this machine. */
tnd_seen_t tnd_run_view_instance(const tnd_run_view_t *self, uint32_t instance);
/*  The name of an instance / of its host, also if they are on another machine; NULL: not known. */
const char *tnd_run_view_name(const tnd_run_view_t *self, uint32_t instance);
const tnd_host_record_t *tnd_run_view_host(const tnd_run_view_t *self, uint32_t instance);
/*  Writes the names of the actors of a host of the plan, as "prep.0, prep.1". */
void tnd_run_view_actors(const tnd_run_view_t *self, const char *host, char *text, size_t room);
/*  The same actor in the first inspection, or NULL. */
const tnd_statistics_t *tnd_run_view_before(const tnd_run_view_t *self, const tnd_seen_t *who);

/*  Whether two pages are of the same actor of the file: "prep.0" and "prep.3". */
bool tnd_seen_are_of(const tnd_statistics_t *page, const tnd_statistics_t *other);

/*  Writes the name of an actor, with its host if the run has several processes.  Returns `text`. */
const char *tnd_seen_name(const tnd_run_view_t *self, const tnd_seen_t *who, char text[128]);

static inline tnd_state_t tnd_seen_state(const tnd_seen_t *who)
{
    return (tnd_state_t)(who->page->state & 0xff);
}
static inline bool tnd_seen_has_role(const tnd_seen_t *who, tnd_role_t role)
{
    return who->page->role == role;
}
/*  The decisive reason that it waits for, as a bit; 0: it does not wait. */
uint32_t tnd_seen_wait(const tnd_seen_t *who);
/*  How long it has been in its state, or has waited without progress. */
uint64_t tnd_seen_since(const tnd_run_view_t *self, const tnd_seen_t *who);
/*  Whether its process runs, as far as is known. */
static inline bool tnd_seen_runs(const tnd_seen_t *who)
{
    return !who->process->stopped && !who->process->killed && who->process->silent_ns == 0;
}
/*  The device thread that has been in one of the states `states` (bits 1 << TND_DEVICE_*) longest;
 *  NULL: none. */
const tnd_device_page_t *tnd_seen_device(const tnd_seen_t *who, uint32_t states);
/*  The device thread that has longest not done what it was asked to. */
const tnd_device_page_t *tnd_seen_pending(const tnd_seen_t *who);

/*  What a reader reads, as "reads FILE, record 3, from byte 96", if its details were asked for and it
 *  reads files; otherwise "".  Returns `text`. */
const char *tnd_seen_reads(const tnd_seen_t *who, char *text, size_t room);
/*  The operation that takes most of an actor's time, and its share of the time of all; NULL: not
 *  known, or it has a single one. */
const char *tnd_seen_operation(const tnd_seen_t *who, double *share_p);

/*  The seconds that the history of an actor has; 0: it has none here. */
uint64_t tnd_seen_seconds(const tnd_seen_t *who);
/*  The `age`-th second before the last one that was written; `age` < tnd_seen_seconds. */
const tnd_history_second_t *tnd_seen_second(const tnd_seen_t *who, uint64_t age);
/*  How an actor spent the last `seconds` seconds of its history, which are one or more. */
void tnd_seen_history(const tnd_seen_t *who, uint64_t seconds, tnd_times_t *times);

/*  The share of the time between the inspections for which control groups throttled a process; they
 *  count each processor, so more than all of it is all. */
double tnd_run_view_throttled(const tnd_run_view_t *self, const tnd_inspected_t *process);
/*  How an actor spent the time between the two inspections. */
void tnd_run_view_times(const tnd_run_view_t *self, const tnd_seen_t *who, tnd_times_t *times);
static inline uint64_t tnd_run_view_window(const tnd_run_view_t *self)
{
    return self->after->now_ns > self->before->now_ns ? self->after->now_ns - self->before->now_ns
                                                      : 0;
}

/*  Writes "killed by signal 9 (Killed)", or "killed or crashed" if that is not known.  Returns `text`. */
const char *tnd_death_text(const tnd_inspected_t *process, char text[64]);

/*  Writes a time such as "12 ms", "1.5 s" or "12 min"; returns `text`. */
const char *tnd_duration_text(uint64_t ns, char text[24]);

#endif
