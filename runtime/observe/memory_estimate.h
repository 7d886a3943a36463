/*  runtime/observe/memory_estimate.h - the most memory that something takes, term by term.
 *
 *  Each kind of actor says its own terms (`needs` of runtime/interface/kind.h); who shows or checks
 * them adds those of a whole host.
 *
 *  Ownership: zeroed memory is an empty list; tnd_memory_estimate_free frees what was added.
 * Threads: one.
 */
#ifndef TND_RUNTIME_OBSERVE_MEMORY_ESTIMATE_H
#define TND_RUNTIME_OBSERVE_MEMORY_ESTIMATE_H

#include <stddef.h>
#include <stdint.h>

typedef struct {
    const char *who; /* an actor of the plan, or a process; borrowed */
    char what[112];
    uint64_t bytes;
} tnd_memory_term_t;

typedef struct {
    tnd_memory_term_t *items;
    uint32_t count;
    size_t room;
    uint64_t bytes;   /* of all items */
    uint64_t threads; /* beside one for each actor and device; their memory is not an item */
} tnd_memory_estimate_t;

/*  Of 0 bytes nothing is said. */
void tnd_memory_estimate_add(tnd_memory_estimate_t *self, const char *who, uint64_t bytes,
                             const char *format, ...) __attribute__((format(printf, 4, 5)));
void tnd_memory_estimate_free(tnd_memory_estimate_t *self);

#endif
