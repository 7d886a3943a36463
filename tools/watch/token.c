/*  tools/watch/token.c - the secret that clients of other users must send. */
#include "tools/watch/token.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runtime/pages/page_folders.h"

static const char allowed[] =
    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._~+/=";

static tnd_status_t check_file(int file, const char *path, tnd_error_t *error)
{
    struct stat facts;
    if (fstat(file, &facts) != 0)
        return tnd_fail(error, "%s: %s", path, strerror(errno));
    if (!S_ISREG(facts.st_mode) || facts.st_uid != geteuid())
        return tnd_fail(error, "%s: the token must be in a regular file of this user", path);
    if ((facts.st_mode & 077) != 0)
        return tnd_fail(error, "%s: other users may read the token: chmod 600 it", path);
    return TND_OK;
}

static tnd_status_t take(tnd_token_t *self, int file, tnd_error_t *error)
{
    TND_TRY(check_file(file, self->path, error));
    ssize_t size = read(file, self->text, sizeof self->text);
    if (size < 0)
        return tnd_fail(error, "%s: %s", self->path, strerror(errno));
    while (size > 0 && (self->text[size - 1] == '\n' || self->text[size - 1] == '\r'))
        size--;
    if ((size_t)size == sizeof self->text)
        return tnd_fail(error, "%s: a token has at most %d characters", self->path, TND_TOKEN_MOST);
    self->text[size] = '\0';
    if (size < TND_TOKEN_LEAST || strspn(self->text, allowed) != (size_t)size)
        return tnd_fail(error,
                        "%s: a token is a line of %d to %d letters, digits or `-._~+/=`, such as "
                        "`openssl rand -hex 16` prints",
                        self->path, TND_TOKEN_LEAST, TND_TOKEN_MOST);
    return TND_OK;
}

tnd_status_t tnd_token_read(tnd_token_t *self, const char *path, tnd_error_t *error)
{
    snprintf(self->path, sizeof self->path, "%s", path);
    int file = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    if (file < 0)
        return tnd_fail(error, "%s: %s", path, strerror(errno));
    tnd_status_t status = take(self, file, error);
    close(file);
    return status;
}

/*  Writes a new token under another name, and gives it its name unless that exists meanwhile. */
static tnd_status_t make(const char *path, tnd_error_t *error)
{
    uint8_t bytes[16];
    char text[2 * sizeof bytes + 2], draft[600];
    if (getrandom(bytes, sizeof bytes, 0) != sizeof bytes)
        return tnd_fail(error, "no random numbers for a token: %s", strerror(errno));
    for (size_t i = 0; i < sizeof bytes; i++)
        snprintf(text + 2 * i, 3, "%02x", bytes[i]);
    text[2 * sizeof bytes] = '\n';
    snprintf(draft, sizeof draft, "%s.%d", path, (int)getpid());
    (void)unlink(draft);
    int file = open(draft, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    bool made = file >= 0 && write(file, text, sizeof text - 1) == (ssize_t)(sizeof text - 1) &&
                (link(draft, path) == 0 || errno == EEXIST);
    int reason = errno;
    if (file >= 0) {
        close(file);
        (void)unlink(draft);
    }
    return made ? TND_OK : tnd_fail(error, "%s: cannot be written: %s", path, strerror(reason));
}

tnd_status_t tnd_token_own(tnd_token_t *self, tnd_error_t *error)
{
    char folder[256], path[300];
    TND_TRY(tnd_pages_folder(folder, sizeof folder, error));
    snprintf(path, sizeof path, "%s/tundish-watch.token", folder);
    if (access(path, F_OK) != 0)
        TND_TRY(make(path, error));
    return tnd_token_read(self, path, error);
}

bool tnd_token_is(const tnd_token_t *self, const char *given)
{
    size_t length = strlen(self->text);
    if (given == NULL || strlen(given) != length)
        return false;
    unsigned char differs = 0;
    for (size_t i = 0; i < length; i++)
        differs |= (unsigned char)(given[i] ^ self->text[i]);
    return differs == 0;
}
