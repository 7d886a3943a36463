/*  tools/remote/remote_stream.h - a command that prints looks of another machine (remote_look.h).
 *
 *  The command runs in a process group of its own, without a terminal, and ends with this object.
 *  If it ends by itself, it is started again after some seconds.  What it prints is not trusted.
 *
 *  Ownership: it owns its words.  Threads: one, which must outlive the command. */
#ifndef TND_TOOLS_REMOTE_REMOTE_STREAM_H
#define TND_TOOLS_REMOTE_REMOTE_STREAM_H

#include <poll.h>

#include "runtime/observe/inspection.h"

typedef struct tnd_remote_stream tnd_remote_stream_t;

/*  Starts a command; a failure is its problem (below).  `machine` is the address that its processes
 *  carry. */
tnd_remote_stream_t *tnd_remote_stream_new(char **words, const char *machine);
/*  Asks the command to end, without waiting for it. */
void tnd_remote_stream_end(tnd_remote_stream_t *self);
void tnd_remote_stream_destroy(tnd_remote_stream_t **self_p);

/*  Whether its words are these. */
bool tnd_remote_stream_runs(const tnd_remote_stream_t *self, char *const *words);
/*  Whether it can still answer, or ends just now. */
bool tnd_remote_stream_is_open(const tnd_remote_stream_t *self);
/*  When it was started / when the last whole line arrived; 0: never. */
uint64_t tnd_remote_stream_started(const tnd_remote_stream_t *self);
uint64_t tnd_remote_stream_heard(const tnd_remote_stream_t *self);

/*  Fills at most two entries for poll; returns their number. */
nfds_t tnd_remote_stream_poll(const tnd_remote_stream_t *self, struct pollfd *files);
/*  Reads what has arrived, without blocking. */
void tnd_remote_stream_read(tnd_remote_stream_t *self, uint64_t now);

/*  The newest look, for the caller to destroy; NULL: none arrived, or it cannot be read. */
tnd_inspection_t *tnd_remote_stream_look(tnd_remote_stream_t *self);
/*  Whether the command has ended, or has printed nothing for `patience_ns`, so that its newest look
 *  is an old one. */
bool tnd_remote_stream_is_silent(const tnd_remote_stream_t *self, uint64_t now,
                                 uint64_t patience_ns);
/*  Writes why it is silent, or what is wrong with its newest look; "" if all is well or an answer may
 *  still come. */
void tnd_remote_stream_problem(const tnd_remote_stream_t *self, uint64_t now, uint64_t patience_ns,
                               char *text, size_t room);

#endif
