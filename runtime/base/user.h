/*  runtime/base/user.h - users of this machine, by name and number.
 *
 *  Threads: any. */
#ifndef TND_RUNTIME_BASE_USER_H
#define TND_RUNTIME_BASE_USER_H

#include <stdbool.h>
#include <stdint.h>

enum { TND_USER_ROOM = 33 }; /* bytes of a name, with its end */

/*  The name of a user; its number if it has none here. */
void tnd_user_name(uint32_t user, char name[TND_USER_ROOM]);

/*  The user of that name or number; false if this machine has none of that name. */
bool tnd_user_find(const char *name, uint32_t *user_p);

#endif
