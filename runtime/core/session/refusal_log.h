/*  runtime/core/session/refusal_log.h - which refused connections are logged.
 *
 *  A stranger can try again and again, as another host or actor each time.  Refusals from one
 *  address for one reason are logged once a minute, and then counted.  If there are too many
 *  addresses and reasons, the others share one line a minute.
 *
 *  Threads: the owner's. */
#ifndef TND_RUNTIME_CORE_SESSION_REFUSAL_LOG_H
#define TND_RUNTIME_CORE_SESSION_REFUSAL_LOG_H

#include <stdbool.h>
#include <stdint.h>

enum { TND_REFUSALS_KEPT = 16 };

/*  Zeroed: no refusals. */
typedef struct {
    struct {
        uint64_t key; /* of address and reason; 0: of all others */
        uint64_t logged_ns, more;
    } items[TND_REFUSALS_KEPT + 1];
    uint32_t count;
} tnd_refusal_log_t;

/*  Whether to log a refusal now.  Words of `why` that contain a digit do not make another reason.
 *  If so, `more` gets how many like it were not logged before. */
bool tnd_refusal_log_takes(tnd_refusal_log_t *self, const char *address, const char *why,
                           uint64_t now, uint64_t *more);

#endif
