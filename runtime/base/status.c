/*  runtime/base/status.c - texts of failures. */
#include "runtime/base/status.h"

#include <stdarg.h>
#include <stdio.h>

static void fill(tnd_error_t *error, const void *about, const char *format, va_list arguments)
{
    if (error == NULL)
        return;
    vsnprintf(error->text, sizeof error->text, format, arguments);
    error->about = about;
}

tnd_status_t tnd_fail(tnd_error_t *error, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    fill(error, NULL, format, arguments);
    va_end(arguments);
    return TND_FAILED;
}

tnd_status_t tnd_fail_about(tnd_error_t *error, const void *value, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    fill(error, value, format, arguments);
    va_end(arguments);
    return TND_FAILED;
}
