/*  runtime/base/user.c - users of this machine, by name and number. */
#include "runtime/base/user.h"

#include <inttypes.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ENTRY_ROOM = 4096 };

void tnd_user_name(uint32_t user, char name[TND_USER_ROOM])
{
    char room[ENTRY_ROOM];
    struct passwd entry, *found = NULL;
    if (getpwuid_r(user, &entry, room, sizeof room, &found) == 0 && found != NULL)
        snprintf(name, TND_USER_ROOM, "%s", found->pw_name);
    else
        snprintf(name, TND_USER_ROOM, "%" PRIu32, user);
}

bool tnd_user_find(const char *name, uint32_t *user_p)
{
    char room[ENTRY_ROOM];
    struct passwd entry, *found = NULL;
    if (getpwnam_r(name, &entry, room, sizeof room, &found) == 0 && found != NULL) {
        *user_p = found->pw_uid;
        return true;
    }
    size_t digits = strspn(name, "0123456789");
    unsigned long long number = strtoull(name, NULL, 10);
    if (digits == 0 || digits > 10 || name[digits] != '\0' || number >= UINT32_MAX)
        return false;
    *user_p = (uint32_t)number;
    return true;
}
