/*  transport/network.c - what a session's hubs stand on: ZeroMQ. */
#include "runtime/link.h"
#include "transport/context.h"
#include "transport/hubs.h"

static void *create(void)
{
    /* One I/O thread carries more than a core can fill; a second one costs on two cores. */
    return tnd_context_new(1);
}

static void destroy(void **context_p)
{
    tnd_context_t *context = *context_p;
    tnd_context_destroy(&context);
    *context_p = NULL;
}

const tnd_network_t tnd_network = {.hub = &tnd_hub_zmq, .create = create, .destroy = destroy};
