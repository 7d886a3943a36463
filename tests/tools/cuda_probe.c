/*  tests/tools/cuda_probe.c - a driver of CUDA as far as `tundish doctor` asks one. */
#include <stdlib.h>

int cuInit(unsigned flags);
int cuDriverGetVersion(int *version);
int cuDeviceGetCount(int *count);

#define SHOWN __attribute__((visibility("default")))

SHOWN int cuInit(unsigned flags)
{
    const char *error = getenv("PROBE_CUDA_ERROR");
    return flags == 0 && error != NULL ? atoi(error) : 0;
}

SHOWN int cuDriverGetVersion(int *version)
{
    *version = 12040;
    return 0;
}

SHOWN int cuDeviceGetCount(int *count)
{
    *count = 2;
    return 0;
}
