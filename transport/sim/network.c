/*  transport/sim/network.c - what a session's hubs stand on: ZeroMQ. */
#include "runtime/interface/link.h"
#include "transport/zmq/context.h"
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

/*  A thread of libzmq has an eventfd and an epoll, every socket an eventfd, and its monitor is two
 *  more sockets; a process has two such threads and waits for their end by another eventfd.
 */
const tnd_network_t tnd_network = {
    .hub = &tnd_hub_zmq,
    .create = create,
    .destroy = destroy,
    .cost = {.context = 5, .hub = 1, .listener = 4, .dialled = 4, .accepted = 1},
};
