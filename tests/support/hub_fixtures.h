/*  tests/support/hub_fixtures.h - what the conformance suite needs of the hubs over ZeroMQ. */
#ifndef TND_TESTS_SUPPORT_HUB_FIXTURES_H
#define TND_TESTS_SUPPORT_HUB_FIXTURES_H

#include <time.h>
#include <unistd.h>

#include "transport/zmq/context.h"

static uint64_t monotonic_now(void *context)
{
    (void)context;
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}

static void destroy_context(void *context)
{
    tnd_context_t *self = context;
    tnd_context_destroy(&self);
}

static hub_fixture_t zmq_fixture(void)
{
    return (hub_fixture_t){.ops = &tnd_hub_zmq,
                           .context = tnd_context_new(1),
                           .now = monotonic_now,
                           .destroy = destroy_context};
}

#endif
