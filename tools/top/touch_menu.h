/*  tools/top/touch_menu.h - touches of `tundish top`: chosen by a key or typed, then confirmed.
 *
 *  Pure: the caller sends a touch that is due (tools/touch/touch_client.h).
 *
 *  Threads: one. */
#ifndef TND_TOOLS_TOP_TOUCH_MENU_H
#define TND_TOOLS_TOP_TOUCH_MENU_H

#include <stdbool.h>
#include <stddef.h>

#include "runtime/touch/touch.h"

typedef struct {
    bool off; /* the run can only be looked at: there are no touches */
    enum { TND_TOUCHES_NONE, TND_TOUCHES_CHOOSES, TND_TOUCHES_ASKS, TND_TOUCHES_DUE } state;
    tnd_touch_t touch; /* of ASKS and DUE */
} tnd_touch_menu_t;

/*  What a key or a question is about. */
typedef struct {
    const char *run;
    bool paused;
    const char *instance; /* the selected actor; "": none */
} tnd_touch_target_t;

/*  Handles a key; returns false if it has no meaning here.  *typed_p: the beginning of a command that
 *  the user is to complete, or NULL. */
bool tnd_touch_menu_key(tnd_touch_menu_t *self, uint32_t key, const tnd_touch_target_t *target,
                        const char **typed_p);
/*  Handles a command such as "restart prep.0".  Returns false if it is not a touch; otherwise asks, or
 *  writes why not to `message`. */
bool tnd_touch_menu_command(tnd_touch_menu_t *self, const char *line, char *message, size_t room);
/*  The menu, or the question; "" if there is none. */
void tnd_touch_menu_text(const tnd_touch_menu_t *self, const tnd_touch_target_t *target, char *text,
                         size_t room);

#endif
