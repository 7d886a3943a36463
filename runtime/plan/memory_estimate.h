/*  runtime/plan/memory_estimate.h - an upper bound of memory, as a list of terms.
 *
 *  Each kind of actor adds its own terms (`estimate_memory` of runtime/interface/kind.h).  Callers
 *  sum them per host.
 *
 *  Ownership: zeroed memory is an empty list; tnd_memory_estimate_free frees it.
 *  Threads: one. */
#ifndef TND_RUNTIME_PLAN_MEMORY_ESTIMATE_H
#define TND_RUNTIME_PLAN_MEMORY_ESTIMATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct {
    const char *who; /* an actor of the plan, or a process; borrowed */
    char what[112];
    const char *option; /* of `who`, which makes it smaller; NULL: none of its own */
    uint64_t bytes;
} tnd_memory_term_t;

typedef struct {
    tnd_memory_term_t *items;
    uint32_t count;
    size_t room;
    uint64_t bytes; /* of all items */
    /*  Memory of devices, which is not the host's; `who` is a device. */
    tnd_memory_term_t *devices;
    uint32_t device_count;
    size_t device_room;
    bool asleep;      /* the instance that is asked gets nothing to do in the whole run */
    uint64_t threads; /* in addition to those of actors and devices; their memory is not an item */
} tnd_memory_estimate_t;

/*  Ignores 0 bytes. */
void tnd_memory_estimate_add(tnd_memory_estimate_t *self, const char *who, uint64_t bytes,
                             const char *format, ...) __attribute__((format(printf, 4, 5)));
/*  The same for memory that an option of `who` allows, by its name, a literal. */
void tnd_memory_estimate_add_allowed(tnd_memory_estimate_t *self, const char *who,
                                     const char *option, uint64_t bytes, const char *format, ...)
    __attribute__((format(printf, 5, 6)));
void tnd_memory_estimate_add_device(tnd_memory_estimate_t *self, const char *device, uint64_t bytes,
                                    const char *format, ...) __attribute__((format(printf, 4, 5)));
void tnd_memory_estimate_free(tnd_memory_estimate_t *self);

#endif
