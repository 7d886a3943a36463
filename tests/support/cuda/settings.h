/*  tests/support/cuda/settings.h - how the driver of the tests behaves, from the environment.
 *
 *  README.md describes each variable.
 *
 *  Threads: any. */
#ifndef TND_TESTS_SUPPORT_CUDA_SETTINGS_H
#define TND_TESTS_SUPPORT_CUDA_SETTINGS_H

#include <stdint.h>

typedef struct {
    int devices;        /* TND_CUDA_DEVICES */
    int init;           /* TND_CUDA_INIT: what cuInit returns */
    int version;        /* TND_CUDA_VERSION */
    uint64_t memory;    /* TND_CUDA_MEMORY: bytes of each device */
    uint64_t seed;      /* TND_CUDA_SEED */
    uint64_t late;      /* TND_CUDA_LATE */
    uint64_t never;     /* TND_CUDA_NEVER; 0: all events come */
    uint64_t fail_at;   /* TND_CUDA_FAIL: the number of the call; 0: by name */
    char fail_call[64]; /* its name; "": by number */
    int fail_with;      /* TND_CUDA_FAIL_WITH; 0: what suits the call */
    const char *lose;   /* TND_CUDA_LOSE; NULL: no device is lost */
    uint64_t steady;    /* TND_CUDA_STEADY; 0: calls of any kind may be made at any time */
    const char *report; /* TND_CUDA_REPORT; NULL: none */
} settings_t;

const settings_t *hostile_settings(void);

#endif
