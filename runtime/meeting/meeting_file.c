/*  runtime/meeting/meeting_file.c - a file of a shared folder in which rank 0 writes where it listens. */
#include "runtime/meeting/meeting_file.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "runtime/meeting/roster_text.h"

static const char head[] = "tundish meeting 1: ";

uint64_t tnd_meeting_file_life(void)
{
    uint64_t life = 0;
    while (life == 0)
        if (getrandom(&life, sizeof life, 0) != (ssize_t)sizeof life)
            life = 0;
    return life;
}

bool tnd_meeting_file_parse(tnd_meeting_file_t *self, const char *text)
{
    int used = 0;
    size_t size = strlen(text);
    *self = (tnd_meeting_file_t){.count = 0};
    if (size == 0 || text[size - 1] != '\n' || strncmp(text, head, sizeof head - 1) != 0 ||
        sscanf(text + sizeof head - 1, "life %16" SCNx64 ", port %5" SCNu32 " at%n", &self->life,
               &self->port, &used) != 2 ||
        used == 0 || self->life == 0 || self->port == 0 || self->port > 65535)
        return false;
    for (const char *at = text + sizeof head - 1 + used; *at == ' ';) {
        size_t length = strcspn(++at, " \n");
        if (self->count == TND_MEETING_FILE_ADDRESSES || length == 0 || length >= TND_ROSTER_TEXT)
            return false;
        memcpy(self->addresses[self->count], at, length);
        at += length;
        if (!tnd_roster_is_address(self->addresses[self->count++]))
            return false;
        if (*at == '\n')
            return at[1] == '\0';
    }
    return false;
}

static tnd_status_t fail(const tnd_meeting_place_t *place, const char *what, tnd_error_t *error)
{
    return tnd_fail(error, "--meet %.200s: cannot %s `%.160s`: %s", place->folder, what,
                    place->file, strerror(errno));
}

tnd_status_t tnd_meeting_file_create(const tnd_meeting_place_t *place,
                                     const tnd_meeting_file_t *self, tnd_error_t *error)
{
    char text[TND_MEETING_FILE_BYTES];
    int used = snprintf(text, sizeof text, "%slife %016" PRIx64 ", port %" PRIu32 " at", head,
                        self->life, self->port);
    for (uint32_t i = 0; i < self->count; i++)
        used += snprintf(text + used, sizeof text - (size_t)used, " %s", self->addresses[i]);
    used += snprintf(text + used, sizeof text - (size_t)used, "\n");
    int folder = open(place->folder, O_PATH | O_DIRECTORY | O_CLOEXEC);
    int file = folder < 0 ? -1
                          : openat(folder, place->file,
                                   O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644);
    if (folder >= 0)
        close(folder);
    if (file < 0)
        return errno == EEXIST ? TND_AGAIN : fail(place, "write", error);
    /* A file system may report a full disk only when the file is closed. */
    bool written = write(file, text, (size_t)used) == used;
    written = close(file) == 0 && written;
    return written ? TND_OK : fail(place, "write", error);
}

tnd_status_t tnd_meeting_file_read(const tnd_meeting_place_t *place, tnd_meeting_file_t *self,
                                   tnd_error_t *error)
{
    char text[TND_MEETING_FILE_BYTES];
    /* NFS looks for new files only when the folder is opened, not each time a name is looked up. */
    int folder = open(place->folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (folder < 0)
        return fail(place, "read", error);
    int file = openat(folder, place->file, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    close(folder);
    if (file < 0)
        return errno == ENOENT || errno == ESTALE ? TND_AGAIN : fail(place, "read", error);
    ssize_t size = read(file, text, sizeof text - 1);
    close(file);
    if (size <= 0)
        return TND_AGAIN;
    text[size] = '\0';
    return tnd_meeting_file_parse(self, text) ? TND_OK : TND_AGAIN;
}

tnd_status_t tnd_meeting_file_remove(const tnd_meeting_place_t *place, uint64_t life,
                                     tnd_error_t *error)
{
    tnd_meeting_file_t found;
    if (life != 0) {
        tnd_status_t status = tnd_meeting_file_read(place, &found, error);
        if (status == TND_FAILED)
            return TND_FAILED;
        if (status != TND_OK || found.life != life)
            return TND_OK;
    }
    int folder = open(place->folder, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (folder < 0)
        return fail(place, "remove", error);
    bool gone = unlinkat(folder, place->file, 0) == 0 || errno == ENOENT;
    tnd_status_t status =
        gone ? TND_OK
             : tnd_fail(error, "--meet %.200s: cannot remove `%.160s`: %s: remove it",
                        place->folder, place->file, strerror(errno));
    close(folder);
    return status;
}
