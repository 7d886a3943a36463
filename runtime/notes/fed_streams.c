/*  runtime/notes/fed_streams.c - the streams that sessions of this process have fed, by digest. */
#include "runtime/notes/fed_streams.h"

#include <pthread.h>

typedef struct {
    tnd_digest_t digest;
    bool told;
} fed_t;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static fed_t streams[TND_FED_STREAMS_KEPT];
static size_t fed;

/*  NULL: it is not among the last ones. */
static fed_t *find(const tnd_digest_t *digest)
{
    for (size_t i = 0; i < fed && i < TND_FED_STREAMS_KEPT; i++)
        if (tnd_digest_equal(&streams[i].digest, digest))
            return &streams[i];
    return NULL;
}

bool tnd_fed_streams_repeat(const tnd_digest_t *digest)
{
    pthread_mutex_lock(&lock);
    fed_t *known = find(digest);
    bool first = known != NULL && !known->told;
    if (known != NULL)
        known->told = true;
    else
        streams[fed++ % TND_FED_STREAMS_KEPT] = (fed_t){.digest = *digest};
    pthread_mutex_unlock(&lock);
    return first;
}
