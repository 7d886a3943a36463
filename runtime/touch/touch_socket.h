/*  runtime/touch/touch_socket.h - the socket at which a process takes touches.
 *
 *  A unix socket beside the statistics file.  A client sends one line, a touch, and gets one line
 *  back: "ok TEXT" or "refused TEXT".  Processes of other users are turned away.
 *
 *  Clients are not trusted to behave: nothing blocks, there are at most TND_TOUCH_CLIENTS at a time,
 *  and one that sends no line, or gets no answer, is dropped after some seconds.
 *
 *  Threads: one. */
#ifndef TND_RUNTIME_TOUCH_TOUCH_SOCKET_H
#define TND_RUNTIME_TOUCH_TOUCH_SOCKET_H

#include <stdbool.h>
#include <stdint.h>

#include "runtime/touch/touch.h"

enum { TND_TOUCH_CLIENTS = 8 };

typedef struct tnd_touch_socket tnd_touch_socket_t;

/*  Listens at `path`; a socket that a killed process left there is replaced. */
tnd_status_t tnd_touch_socket_new(tnd_touch_socket_t **self_p, const char *path,
                                  tnd_error_t *error) TND_CHECKED;
/*  Tells all clients that the run has ended, and removes the socket. */
void tnd_touch_socket_destroy(tnd_touch_socket_t **self_p);

/*  Takes the next touch of a client, whose number is never used again.  False: there is none. */
bool tnd_touch_socket_next(tnd_touch_socket_t *self, uint64_t now, uint64_t *client_p,
                           tnd_touch_t *touch);
/*  Answers a client, which may have gone. */
void tnd_touch_socket_answer(tnd_touch_socket_t *self, uint64_t client, bool done,
                             const char *text);
/*  Whether clients are connected. */
bool tnd_touch_socket_busy(const tnd_touch_socket_t *self);

#endif
