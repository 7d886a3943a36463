/*  runtime/touch/touch.h - a touch: what a user asks of a run that is under way.
 *
 *  A touch is a line of text, such as "alice pause" or "alice set feed depth 4", which a command
 *  sends to the socket of a process (touch_socket.h) and which processes pass on to the leader.
 *
 *  Threads: any. */
#ifndef TND_RUNTIME_TOUCH_TOUCH_H
#define TND_RUNTIME_TOUCH_TOUCH_H

#include <stddef.h>

#include "runtime/base/status.h"
#include "runtime/core/host/touch_verb.h"

enum { TND_TOUCH_LINE = 192 };

typedef struct {
    tnd_verb_t verb;
    char user[32];   /* letters, digits and `_ . -` */
    char actor[48];  /* likewise; of RESTART: an instance; "" if the verb takes none */
    char option[32]; /* likewise, of SET */
    char value[32];  /* likewise, of SET and SCALE */
} tnd_touch_t;

/*  "pause" ... */
const char *tnd_touch_verb(tnd_verb_t verb);
/*  Reads a line of `size` bytes, which is not trusted.  Errors: it is not a touch. */
tnd_status_t tnd_touch_read(tnd_touch_t *self, const char *line, size_t size,
                            tnd_error_t *error) TND_CHECKED;
/*  Writes the line, without its end. */
void tnd_touch_write(const tnd_touch_t *self, char line[TND_TOUCH_LINE]);

/*  Reads what users write after `set` and `scale`: "ACTOR.OPTION=VALUE", "ACTOR=NUMBER".
 *  Errors: TND_FAILED if it is not of that form. */
tnd_status_t tnd_touch_parse_set(tnd_touch_t *touch, const char *text,
                                 tnd_error_t *error) TND_CHECKED;
tnd_status_t tnd_touch_parse_scale(tnd_touch_t *touch, const char *text,
                                   tnd_error_t *error) TND_CHECKED;

/*  Where the process with the statistics file `pages` listens.  Errors: that file does not
 *  exist; the path is too long. */
tnd_status_t tnd_touch_path(const char *pages, char *path, size_t room,
                            tnd_error_t *error) TND_CHECKED;

/*  Removes the socket of a process that was killed.  `folder` and `pages` are open: the folder, and
 *  the pages of that process in it. */
void tnd_touch_forget(int folder, int pages);

#endif
