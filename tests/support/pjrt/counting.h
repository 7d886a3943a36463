/*  tests/support/pjrt/counting.h - how much of the PJRT plugin `counting` is in use.
 *
 *  Threads: any. */
#ifndef TND_TESTS_SUPPORT_PJRT_COUNTING_H
#define TND_TESTS_SUPPORT_PJRT_COUNTING_H

#include <stdint.h>

/*  Things that were made and not destroyed, host memory that is mapped, and destructions of what was
 *  not there. */
typedef struct {
    unsigned buffers, events, executables, mapped, wrong;
} counting_pjrt_t;

/*  The symbol `counting_pjrt_now` of the plugin. */
typedef counting_pjrt_t counting_pjrt_now_t(void);

/*  Callbacks that have returned, and when the last of them did. */
typedef struct {
    uint64_t count, last_ns;
} counting_pjrt_callbacks_t;

/*  The symbol `counting_pjrt_called`. */
typedef counting_pjrt_callbacks_t counting_pjrt_called_t(void);

#endif
