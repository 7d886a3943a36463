/*  runtime/pages/page_folders.h - where the statistics files of this machine are.
 *
 *  Each user has folders of its own.  Those of other users are named /tmp/tundish-UID.  /tmp may
 *  have many thousand other names, so it is listed at most every 5 seconds, however often a screen
 *  looks at the runs.
 *
 *  Threads: any, but for a list of users, of which one uses it at a time. */
#ifndef TND_RUNTIME_PAGES_PAGE_FOLDERS_H
#define TND_RUNTIME_PAGES_PAGE_FOLDERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "runtime/base/status.h"

/*  The folders that may contain statistics of this user; new files go to the first writable one.
 *  Returns their number, at most 3. */
typedef struct {
    char path[3][128];
} tnd_pages_folders_t;

size_t tnd_pages_folders(tnd_pages_folders_t *folders);
/*  The folder that new files go to, created if missing: $XDG_RUNTIME_DIR if it is usable (it may be
 *  of an ended login or another user), otherwise a folder of the user in /tmp. */
tnd_status_t tnd_pages_folder(char *folder, size_t room, tnd_error_t *error) TND_CHECKED;
/*  Whether this is the name of a statistics file. */
bool tnd_pages_named(const char *name);

/*  Other users that have a folder.  All zeros before the first use. */
typedef struct {
    uid_t *users;
    size_t count, room;
    uint64_t until_ns; /* when they have to be listed again; 0: they never were */
} tnd_pages_users_t;

/*  Lists the users, without `own`, as they are at `now` or were up to 5 seconds before, and returns
 *  their number.  A parent that cannot be read has none. */
size_t tnd_pages_users_list(tnd_pages_users_t *self, const char *parent, uid_t own, uint64_t now);
void tnd_pages_users_free(tnd_pages_users_t *self);

#endif
