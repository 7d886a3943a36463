/*  runtime/base/status.h - how an operation of the runtime ended.
 *
 *  A broken promise of our own code is an assert, which is never compiled out.  A runtime error is
 *  a status.  There are few of them, because only different reactions need different ones; the text
 *  says exactly what went wrong.
 *
 *  Threads: any. */
#ifndef TND_RUNTIME_BASE_STATUS_H
#define TND_RUNTIME_BASE_STATUS_H

#include "runtime/tundish/types.h"

/*  The caller must check the outcome. */
#define TND_CHECKED __attribute__((warn_unused_result))

/*  Returns a status other than TND_OK to the caller; the only macro that hides control flow. */
#define TND_TRY(expression)                                                                        \
    do {                                                                                           \
        tnd_status_t tnd_try_status = (expression);                                                \
        if (tnd_try_status != TND_OK)                                                              \
            return tnd_try_status;                                                                 \
    } while (0)

/*  Writes the text, cut at its end if it is too long, and returns TND_FAILED, so that a failing
 *  function ends with one expression.  `error` may be NULL. */
TND_API tnd_status_t tnd_fail(tnd_error_t *error, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/*  The same, about a value of the topology (tnd_value_t), which must outlive the error. */
tnd_status_t tnd_fail_about(tnd_error_t *error, const void *value, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

#endif
