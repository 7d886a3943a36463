/*  runtime/touch/touch_socket.c - the socket at which a process takes touches. */
#include "runtime/touch/touch_socket.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "runtime/base/allocation.h"

/*  How long a client may take to send its line, and how long it waits for an answer. */
static const uint64_t line_ns = 2000000000, answer_ns = 5000000000;

typedef struct {
    int file; /* -1: none */
    uint64_t number, until_ns;
    bool asked; /* its line has arrived */
    size_t used;
    char line[TND_TOUCH_LINE];
} client_t;

struct tnd_touch_socket {
    int file;
    char path[sizeof(((struct sockaddr_un *)0)->sun_path)];
    uint64_t numbers;
    client_t clients[TND_TOUCH_CLIENTS];
};

tnd_status_t tnd_touch_socket_new(tnd_touch_socket_t **self_p, const char *path, tnd_error_t *error)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    if (strlen(path) >= sizeof address.sun_path)
        return tnd_fail(error, "%s: the path is too long for a socket", path);
    strcpy(address.sun_path, path);
    int file = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (file < 0)
        return tnd_fail(error, "%s: %s", path, strerror(errno));
    (void)unlink(path);
    if (bind(file, (const struct sockaddr *)&address, sizeof address) != 0 ||
        chmod(path, 0600) != 0 || listen(file, TND_TOUCH_CLIENTS) != 0) {
        tnd_status_t status = tnd_fail(error, "%s: %s", path, strerror(errno));
        close(file);
        return status;
    }
    tnd_touch_socket_t *self = tnd_allocate_zeroed(1, sizeof *self);
    self->file = file;
    strcpy(self->path, path);
    for (unsigned c = 0; c < TND_TOUCH_CLIENTS; c++)
        self->clients[c].file = -1;
    *self_p = self;
    return TND_OK;
}

static void drop(client_t *client)
{
    close(client->file);
    client->file = -1;
}

/*  A client that does not read its answer loses it. */
static void answer(client_t *client, bool done, const char *text)
{
    char line[512];
    int size = snprintf(line, sizeof line, "%s %.480s\n", done ? "ok" : "refused", text);
    (void)send(client->file, line, (size_t)size, MSG_DONTWAIT | MSG_NOSIGNAL);
    drop(client);
}

static bool is_own_user(int file)
{
    struct ucred peer;
    socklen_t size = sizeof peer;
    return getsockopt(file, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 && peer.uid == geteuid();
}

/*  Where all places are taken, connections wait in the backlog. */
static void take_clients(tnd_touch_socket_t *self, uint64_t now)
{
    for (unsigned c = 0; c < TND_TOUCH_CLIENTS; c++) {
        client_t *client = &self->clients[c];
        if (client->file >= 0)
            continue;
        int file = accept4(self->file, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
        if (file < 0)
            return;
        *client = (client_t){.file = file, .number = ++self->numbers, .until_ns = now + line_ns};
        if (!is_own_user(file))
            answer(client, false, "only the user of the run may touch it");
    }
}

void tnd_touch_socket_destroy(tnd_touch_socket_t **self_p)
{
    tnd_touch_socket_t *self = *self_p;
    if (self == NULL)
        return;
    (void)unlink(self->path);
    take_clients(self, 0);
    for (unsigned c = 0; c < TND_TOUCH_CLIENTS; c++)
        if (self->clients[c].file >= 0)
            answer(&self->clients[c], false,
                   self->clients[c].asked ? "the run has ended; it may still have been done"
                                          : "the run has ended");
    close(self->file);
    free(self);
    *self_p = NULL;
}

/*  Whether the line of a client is complete.  One that hangs up or sends too much is dropped. */
static bool read_line(client_t *client, size_t *size_p)
{
    ssize_t got = recv(client->file, client->line + client->used,
                       sizeof client->line - client->used, MSG_DONTWAIT);
    if (got == 0 || (got < 0 && errno != EAGAIN && errno != EINTR)) {
        drop(client);
        return false;
    }
    client->used += got > 0 ? (size_t)got : 0;
    const char *end = memchr(client->line, '\n', client->used);
    if (end != NULL) {
        *size_p = (size_t)(end - client->line);
        return true;
    }
    if (client->used == sizeof client->line)
        answer(client, false, "the line is too long");
    return false;
}

bool tnd_touch_socket_next(tnd_touch_socket_t *self, uint64_t now, uint64_t *client_p,
                           tnd_touch_t *touch)
{
    take_clients(self, now);
    for (unsigned c = 0; c < TND_TOUCH_CLIENTS; c++) {
        client_t *client = &self->clients[c];
        tnd_error_t error;
        size_t size;
        if (client->file >= 0 && now >= client->until_ns)
            answer(client, false,
                   client->asked ? "the leader does not answer; it may still do it"
                                 : "no line came");
        if (client->file < 0 || client->asked || !read_line(client, &size))
            continue;
        if (tnd_touch_read(touch, client->line, size, &error) != TND_OK) {
            answer(client, false, error.text);
            continue;
        }
        client->asked = true;
        client->until_ns = now + answer_ns;
        *client_p = client->number;
        return true;
    }
    return false;
}

void tnd_touch_socket_answer(tnd_touch_socket_t *self, uint64_t number, bool done, const char *text)
{
    for (unsigned c = 0; c < TND_TOUCH_CLIENTS; c++)
        if (self->clients[c].file >= 0 && self->clients[c].asked &&
            self->clients[c].number == number)
            answer(&self->clients[c], done, text);
}

bool tnd_touch_socket_busy(const tnd_touch_socket_t *self)
{
    for (unsigned c = 0; c < TND_TOUCH_CLIENTS; c++)
        if (self->clients[c].file >= 0)
            return true;
    return false;
}
