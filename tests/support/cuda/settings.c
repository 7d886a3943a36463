/*  tests/support/cuda/settings.c - reads the variables once. */
#include "tests/support/cuda/settings.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

enum { DEVICES_MOST = 8 };

static settings_t settings;

static uint64_t number(const char *name, uint64_t otherwise)
{
    const char *text = getenv(name);
    return text != NULL && text[0] != '\0' ? strtoull(text, NULL, 0) : otherwise;
}

/*  "137": the 137th call; "cuMemAlloc_v2": the first call of that name; "cuMemAlloc_v2@3": the third. */
static void read_failure(const char *text)
{
    if (text == NULL ||
        sscanf(text, "%63[A-Za-z0-9_]@%lu", settings.fail_call, &settings.fail_at) < 1)
        return;
    if (settings.fail_call[0] == 'c') {
        settings.fail_at = settings.fail_at > 0 ? settings.fail_at : 1;
        return;
    }
    settings.fail_at = strtoull(settings.fail_call, NULL, 10);
    settings.fail_call[0] = '\0';
}

static void read_all(void)
{
    settings.devices = (int)number("TND_CUDA_DEVICES", 1);
    if (settings.devices > DEVICES_MOST)
        settings.devices = DEVICES_MOST;
    settings.init = (int)number("TND_CUDA_INIT", 0);
    settings.version = (int)number("TND_CUDA_VERSION", 13000);
    settings.memory = number("TND_CUDA_MEMORY", UINT64_C(1) << 30);
    settings.seed = number("TND_CUDA_SEED", 1);
    settings.late = number("TND_CUDA_LATE", 4);
    settings.never = number("TND_CUDA_NEVER", 0);
    settings.fail_with = (int)number("TND_CUDA_FAIL_WITH", 0);
    settings.steady = number("TND_CUDA_STEADY", 0);
    settings.lose = getenv("TND_CUDA_LOSE");
    settings.report = getenv("TND_CUDA_REPORT");
    read_failure(getenv("TND_CUDA_FAIL"));
}

const settings_t *hostile_settings(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, read_all);
    return &settings;
}
