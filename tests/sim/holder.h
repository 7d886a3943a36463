/*  tests/sim/holder.h - what replicas push to a holder of parameters. */
#ifndef TND_TESTS_SIM_HOLDER_H
#define TND_TESTS_SIM_HOLDER_H

#include <stdint.h>

/*  In the payload, beside the value of the gradient. */
typedef struct {
    uint64_t digest[2], rows;
} sim_gradient_t;

enum { SIM_GRADIENT_WORDS = sizeof(sim_gradient_t) / sizeof(uint64_t) };

/*  What a step with rows of that digest makes of parameters. */
uint64_t sim_gradient_of(uint64_t value, const uint64_t digest[2]);

#endif
