/*  tools/watch/token.h - the secret that clients of other users must send.
 *
 *  It is in a file that only its user can read.
 *
 *  Threads: any. */
#ifndef TND_TOOLS_WATCH_TOKEN_H
#define TND_TOOLS_WATCH_TOKEN_H

#include <stdbool.h>

#include "runtime/base/status.h"

enum { TND_TOKEN_LEAST = 16, TND_TOKEN_MOST = 256 };

typedef struct {
    char path[512];
    char text[TND_TOKEN_MOST + 1];
} tnd_token_t;

/*  Reads the token of a file: one line of 16 to 256 letters, digits and `-._~+/=`.
 *  Errors: it is not such a file of this user, or other users may read it. */
tnd_status_t tnd_token_read(tnd_token_t *self, const char *path, tnd_error_t *error) TND_CHECKED;
/*  Reads `tundish-watch.token` in the runtime directory; makes it, with a random token, if it does
 *  not exist. */
tnd_status_t tnd_token_own(tnd_token_t *self, tnd_error_t *error) TND_CHECKED;
/*  Whether this is the token; NULL is not.  The time does not depend on where they differ. */
bool tnd_token_is(const tnd_token_t *self, const char *given);

#endif
