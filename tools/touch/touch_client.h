/*  tools/touch/touch_client.h - asks a run that is under way for something.
 *
 *  Finds a process of the run on this machine and sends the touch to its socket; that process passes
 *  it on to the leader, which may be on another machine.
 *
 *  Threads: one.  Blocks until the answer, for some seconds at most. */
#ifndef TND_TOOLS_TOUCH_TOUCH_CLIENT_H
#define TND_TOOLS_TOUCH_TOUCH_CLIENT_H

#include <stdbool.h>

#include "runtime/touch/touch.h"
#include "tools/cli/command.h"

typedef enum {
    TND_TOUCHED,        /* the leader does it */
    TND_TOUCH_REFUSED,  /* or it is not possible */
    TND_TOUCH_ABSENT,   /* no such run is here, or no process of it listens */
    TND_TOUCH_NO_ANSWER /* it may still be done */
} tnd_touch_result_t;

/*  `run`: NULL: the only one.  `session`: of this run among those of one name; 0: the only one.
 *  `touch->user` is filled in.  `text`: what follows, or why not. */
tnd_touch_result_t tnd_touch_send(const char *run, uint64_t session, tnd_touch_t *touch, char *text,
                                  size_t room);

typedef struct {
    const char *via, *leader; /* NULL: not given */
} tnd_touch_options_t;

/*  Runs a subcommand that is a touch: sends it, prints the answer, returns the exit code.  The name of
 *  the run is the operand after `own` others; without it, the only run is meant.  With --via the
 *  subcommand runs on the machine of the leader, unless that is this one. */
int tnd_touch_command(const tnd_request_t *request, const tnd_touch_options_t *options, size_t own,
                      tnd_touch_t *touch);

/*  The options of such a subcommand, and what its help says of them. */
extern const tnd_argument_t tnd_touch_arguments[2];
#define TND_TOUCH_ARGUMENTS TND_ARGUMENTS(tnd_touch_arguments, tnd_touch_options_t)
#define TND_TOUCH_ELSEWHERE                                                                        \
    "\n"                                                                                           \
    "With --via 'ssh {address}' the command runs on the machine of the leader, which a process "   \
    "of\n"                                                                                         \
    "the run on this machine names; without one, --leader does, such as 10.0.0.1:7100.\n"

/*  The exit codes of such a subcommand, for its help. */
#define TND_TOUCH_CODES                                                                            \
    "  0   the leader does it\n"                                                                   \
    "  1   it is refused, or no such run is on that machine\n"                                     \
    "  2   usage\n"                                                                                \
    "  75  no answer came; it may still be done; the command of --via failed\n"

#endif
