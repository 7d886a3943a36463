/*  tests/support/nccl/settings.c - reads the variables once. */
#include "tests/support/nccl/settings.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

static settings_t settings;

static uint64_t number(const char *name, uint64_t otherwise)
{
    const char *text = getenv(name);
    return text != NULL && text[0] != '\0' ? strtoull(text, NULL, 0) : otherwise;
}

static void read_all(void)
{
    const char *fail = getenv("TND_NCCL_FAIL");
    settings.version = (int)number("TND_NCCL_VERSION", 22809);
    settings.slow = number("TND_NCCL_SLOW", 3);
    settings.fail_with = (int)number("TND_NCCL_FAIL_WITH", 2);
    settings.remote = number("TND_NCCL_REMOTE", 0);
    settings.never = number("TND_NCCL_NEVER", 0);
    settings.alone = number("TND_NCCL_ALONE", 0);
    settings.hang = number("TND_NCCL_HANG", 0);
    settings.report = getenv("TND_NCCL_REPORT");
    settings.fail_at = 1;
    if (fail != NULL)
        (void)sscanf(fail, "%63[A-Za-z0-9_]@%" SCNu64, settings.fail_call, &settings.fail_at);
}

const settings_t *nccl_settings(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, read_all);
    return &settings;
}
