/*  runtime/core/session/opening.h - how long a start may take while hosts open their data.
 *
 *  Part of the leader (leader.h).  To open data may take long: files are indexed, or read once.  A
 *  host that opens its data reports progress, and while one does, start_timeout does not pass; when
 *  it has finished, the time begins again.  A host that stops reporting stalls: it is named after
 *  hung_after.  If its own threads hang, it notices that first and says where, so the leader waits
 *  somewhat longer.
 *
 *  Threads: one.  The caller provides the memory.  Units: nanoseconds of the caller's clock. */
#ifndef TND_RUNTIME_CORE_SESSION_OPENING_H
#define TND_RUNTIME_CORE_SESSION_OPENING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct {
    bool opens;
    uint64_t reports;   /* of progress, so far */
    uint64_t report_ns; /* the last one; before it, when the host began */
    char what[320];     /* it opens, for messages */
} tnd_opening_host_t;

typedef struct {
    uint64_t start_timeout_ns, hung_after_ns;
    uint64_t begin_ns; /* since when start_timeout passes */
    tnd_opening_host_t *hosts;
    uint32_t host_count;
} tnd_opening_t;

size_t tnd_opening_bytes(uint32_t host_count);
/*  `memory` is zeroed. */
void tnd_opening_init(tnd_opening_t *self, void *memory, uint32_t host_count,
                      uint64_t start_timeout_ns, uint64_t hung_after_ns, uint64_t now);

/*  A host opens `what` and has reported progress so many times.  Returns whether that is news. */
bool tnd_opening_report(tnd_opening_t *self, uint32_t host, uint64_t reports, const char *what,
                        uint64_t now);
/*  A host has opened its data / is lost with what it opened. */
void tnd_opening_end(tnd_opening_t *self, uint32_t host, uint64_t now);
void tnd_opening_drop(tnd_opening_t *self, uint32_t host);
/*  The caller was away: the deadlines are extended. */
void tnd_opening_excuse(tnd_opening_t *self, uint64_t away_ns);

/*  Whether the start takes too long.  *host_p: the host that stalls (*stalled_p), or if `all_here`
 *  one that opens its data and reports no progress; host_count: none. */
bool tnd_opening_is_late(const tnd_opening_t *self, bool all_here, uint64_t now, uint32_t *host_p,
                         bool *stalled_p);
/*  When to ask that again. */
uint64_t tnd_opening_deadline(const tnd_opening_t *self);
/*  How long a host has from a report on if the run waits for it alone. */
uint64_t tnd_opening_time(const tnd_opening_t *self);
#endif
