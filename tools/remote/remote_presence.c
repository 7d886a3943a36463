/*  tools/remote/remote_presence.c - what the leader of a run knows of a host that does not answer. */
#include "tools/remote/remote_presence.h"

static const char *const presences[] = {NULL,      "has not come yet", "is connected",
                                        "is away", "is lost",          "has left"};

void tnd_remote_presence_print(FILE *out, const tnd_host_record_t *host, uint64_t now)
{
    if (host->presence == TND_PRESENCE_UNKNOWN)
        return;
    uint64_t since = host->since_ns;
    fprintf(out, "; for the leader it %s", presences[host->presence]);
    if (since != 0 && now > since)
        fprintf(out, " (for %.1f s)", (double)(now - since) * 1e-9);
}
