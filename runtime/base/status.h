/*  runtime/base/status.h - how an operation of the runtime ended.
 *
 *  A broken promise by our own code is an assert, never compiled out.  The world misbehaving is a
 *  status: few members, because only different reactions deserve different ones.  What exactly
 *  went wrong is text, and belongs to whoever reports it.
 *
 *  Threads: any.
 */
#ifndef TND_RUNTIME_BASE_STATUS_H
#define TND_RUNTIME_BASE_STATUS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifndef TND_STATUS_DEFINED
#define TND_STATUS_DEFINED
typedef enum {
    TND_OK = 0,
    TND_END,     /* nothing more will come: the stream has ended */
    TND_STOPPED, /* asked to stop before the end */
    TND_FAILED,  /* the world misbehaved; the text says what, where and what to do */
    TND_AGAIN,   /* not now: no credit, no room, nothing there yet */
    TND_REFUSED  /* the other side does not fit: schema, fingerprint, ABI, arithmetic */
} tnd_status_t;
#endif

/*  The name of a status as users read it: "ok", "end", ... */
const char *tnd_status_name(tnd_status_t status);

/*  Part of the interface of <tundish/tundish.h>. */
#define TND_API __attribute__((visibility("default")))

/*  The caller must look at the outcome. */
#define TND_CHECKED __attribute__((warn_unused_result))

/*  Passes a bad outcome on to the caller; the only macro that hides control flow. */
#define TND_TRY(expression)                                                                        \
    do {                                                                                           \
        tnd_status_t tnd_try_status = (expression);                                                \
        if (tnd_try_status != TND_OK)                                                              \
            return tnd_try_status;                                                                 \
    } while (0)

/*  A text that explains a failure.  The caller owns the struct; a function that takes a
 *  `tnd_error_t *` fills it before it returns anything but TND_OK, TND_END or TND_AGAIN.
 */
#ifndef TND_ERROR_DEFINED
#define TND_ERROR_DEFINED
typedef struct tnd_error {
    char text[512];
    const void *about; /* the value of the topology that it is about; NULL: not said */
} tnd_error_t;
#endif

/*  Writes the text, cut at its end if it is too long, and returns TND_FAILED, so that a failing
 *  function ends with one expression.  `error` may be NULL.
 */
TND_API tnd_status_t tnd_fail(tnd_error_t *error, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/*  The same, about a value of the topology (tnd_value_t), which must outlive the error. */
tnd_status_t tnd_fail_about(tnd_error_t *error, const void *value, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

#endif
