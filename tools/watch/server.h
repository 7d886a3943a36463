/*  tools/watch/server.h - the HTTP server of `tundish watch`, by libmicrohttpd.
 *
 *  It runs on the caller's thread: the caller polls its file and calls tnd_server_run.  What a client
 *  costs is bounded: see look_store.h, and the limits in server.c.
 *
 *  Each request needs a Host header of the listener.  A client that is not a process of this user on
 *  this machine must send the token: `Authorization: Bearer TOKEN` or `?token=TOKEN`.
 *
 *  Ownership: listener, token and looks are borrowed.  Threads: one. */
#ifndef TND_TOOLS_WATCH_SERVER_H
#define TND_TOOLS_WATCH_SERVER_H

#include "tools/watch/listener.h"
#include "tools/watch/token.h"
#include "tools/watch/watched_looks.h"

typedef struct tnd_server tnd_server_t;

/*  The server takes the socket of the listener.  There must have been a look. */
tnd_status_t tnd_server_new(tnd_server_t **self_p, tnd_listener_t *listener,
                            const tnd_token_t *token, tnd_watched_looks_t *looks,
                            tnd_error_t *error) TND_CHECKED;
void tnd_server_destroy(tnd_server_t **self_p);

/*  A file that can be read when there is something to do. */
int tnd_server_file(const tnd_server_t *self);
/*  The milliseconds after which there is something to do anyway, at most `most`. */
int tnd_server_timeout(const tnd_server_t *self, int most);
/*  Accepts, reads and answers what it can without blocking. */
void tnd_server_run(tnd_server_t *self);
/*  There is a new look: sends it to the clients of /live, and disconnects clients that have not sent a
 *  request in time.  If all answers take more than about 2 % of a processor, clients get a look less
 *  often, but every few seconds. */
void tnd_server_wake(tnd_server_t *self);

#endif
