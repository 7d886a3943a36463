/*  tests/support/nccl/settings.h - how the NCCL of the tests behaves, from the environment.
 *
 *  README.md describes each variable.
 *
 *  Threads: any. */
#ifndef TND_TESTS_SUPPORT_NCCL_SETTINGS_H
#define TND_TESTS_SUPPORT_NCCL_SETTINGS_H

#include <stdint.h>

typedef struct {
    int version;        /* TND_NCCL_VERSION */
    uint64_t slow;      /* TND_NCCL_SLOW */
    char fail_call[64]; /* TND_NCCL_FAIL: the name of the call; "": none fails */
    uint64_t fail_at;   /* the n-th of that name */
    int fail_with;      /* TND_NCCL_FAIL_WITH */
    uint64_t remote;    /* TND_NCCL_REMOTE: the n-th question is answered so; 0: none */
    uint64_t never;     /* TND_NCCL_NEVER: the n-th collective never completes; 0: all do */
    uint64_t alone;     /* TND_NCCL_ALONE: communicators are never complete */
    uint64_t hang;      /* TND_NCCL_HANG: 1: the call that makes a communicator never returns */
    const char *report; /* TND_NCCL_REPORT; NULL: none */
} settings_t;

const settings_t *nccl_settings(void);

#endif
