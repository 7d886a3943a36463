/*  transport/hub/hubs.c - the list of hubs, and which one sessions use. */
#include "transport/hub/hubs.h"

#include <string.h>

static const struct {
    const char *scheme;
    const tnd_network_t *network;
} hubs[] = {
#define HUB(scheme, name) {#scheme, &tnd_network_##name},
#include "transport/hub/hubs.def"
#undef HUB
};

const tnd_network_t *const tnd_network = &tnd_network_zmq;

const tnd_network_t *tnd_network_of(const char *scheme)
{
    for (size_t i = 0; i < sizeof hubs / sizeof *hubs; i++)
        if (strcmp(hubs[i].scheme, scheme) == 0)
            return hubs[i].network;
    return NULL;
}
