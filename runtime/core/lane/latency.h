/*  runtime/core/lane/latency.h - how long answers take: a histogram that forgets.
 *
 *  Eight classes per doubling, from 65 us to 18 minutes, so a result is at most an eighth too
 *  large.  After 2,048 answers all counts are halved, so old answers fade.
 *
 *  A plain value; zero is empty. */
#ifndef TND_RUNTIME_CORE_LANE_LATENCY_H
#define TND_RUNTIME_CORE_LANE_LATENCY_H

#include <stdint.h>

enum { TND_LATENCY_CLASSES = 192 };

typedef struct {
    uint32_t count[TND_LATENCY_CLASSES];
    uint32_t all; /* of them */
} tnd_latency_t;

void tnd_latency_add(tnd_latency_t *self, uint64_t ns);
/*  What `percent` of the answers do not exceed, in nanoseconds; 0 when there are none. */
uint64_t tnd_latency_quantile(const tnd_latency_t *self, uint32_t percent);

#endif
