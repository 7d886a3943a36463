/*  runtime/status.c - names of outcomes, texts of failures. */
#include "runtime/status.h"

#include <stdarg.h>
#include <stdio.h>

const char *tnd_status_name(tnd_status_t status)
{
    switch (status) {
    case TND_OK:
        return "ok";
    case TND_END:
        return "end";
    case TND_STOPPED:
        return "stopped";
    case TND_FAILED:
        return "failed";
    case TND_AGAIN:
        return "again";
    case TND_REFUSED:
        return "refused";
    }
    return "unknown";
}

tnd_status_t tnd_fail(tnd_error_t *error, const char *format, ...)
{
    if (error != NULL) {
        va_list arguments;
        va_start(arguments, format);
        vsnprintf(error->text, sizeof error->text, format, arguments);
        va_end(arguments);
    }
    return TND_FAILED;
}
