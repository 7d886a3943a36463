/*  runtime/pages/page_folders.c - where the statistics files of this machine are. */
#include "runtime/pages/page_folders.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runtime/base/allocation.h"

static const uint64_t listed_for_ns = UINT64_C(5000000000);

size_t tnd_pages_folders(tnd_pages_folders_t *folders)
{
    size_t count = 0;
    const char *given = getenv("XDG_RUNTIME_DIR");
    if (given != NULL && given[0] == '/')
        snprintf(folders->path[count++], sizeof folders->path[0], "%s", given);
    snprintf(folders->path[count++], sizeof folders->path[0], "/tmp/tundish-%u",
             (unsigned)getuid());
    snprintf(folders->path[count], sizeof folders->path[0], "/run/user/%u", (unsigned)getuid());
    if (count == 1 || strcmp(folders->path[0], folders->path[count]) != 0)
        count++;
    return count;
}

bool tnd_pages_named(const char *name)
{
    size_t length = strlen(name);
    return strncmp(name, "tundish-", 8) == 0 && length > 14 &&
           strcmp(name + length - 6, ".pages") == 0;
}

tnd_status_t tnd_pages_folder(char *folder, size_t room, tnd_error_t *error)
{
    tnd_pages_folders_t folders;
    (void)tnd_pages_folders(&folders);
    bool given = strncmp(folders.path[0], "/tmp/tundish-", 13) != 0;
    bool usable = given && access(folders.path[0], W_OK | X_OK) == 0;
    snprintf(folder, room, "%s", folders.path[given && !usable ? 1 : 0]);
    struct stat facts;
    if (usable || mkdir(folder, 0700) == 0)
        return TND_OK;
    if (errno != EEXIST || lstat(folder, &facts) != 0 || !S_ISDIR(facts.st_mode) ||
        facts.st_uid != getuid())
        return tnd_fail(error, "%s: cannot be used for statistics: %s; set XDG_RUNTIME_DIR", folder,
                        errno == EEXIST ? "it is not a folder of this user" : strerror(errno));
    return TND_OK;
}

static bool user_of(const char *name, uid_t *user_p)
{
    unsigned user;
    int used = 0;
    if (strncmp(name, "tundish-", strlen("tundish-")) != 0 ||
        sscanf(name, "tundish-%u%n", &user, &used) != 1 || name[used] != '\0')
        return false;
    *user_p = user;
    return true;
}

static void list(tnd_pages_users_t *self, const char *parent, uid_t own)
{
    DIR *folder = opendir(parent);
    self->count = 0;
    if (folder == NULL)
        return;
    uid_t user;
    for (const struct dirent *entry; (entry = readdir(folder)) != NULL;) {
        if (!user_of(entry->d_name, &user) || user == own)
            continue;
        self->users = tnd_grow(self->users, self->count, &self->room, sizeof *self->users);
        self->users[self->count++] = user;
    }
    closedir(folder);
}

size_t tnd_pages_users_list(tnd_pages_users_t *self, const char *parent, uid_t own, uint64_t now)
{
    if (now >= self->until_ns) {
        list(self, parent, own);
        self->until_ns = now + listed_for_ns;
    }
    return self->count;
}

void tnd_pages_users_free(tnd_pages_users_t *self)
{
    free(self->users);
    *self = (tnd_pages_users_t){0};
}
