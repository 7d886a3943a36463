/*  tools/watch/server.c - the HTTP server of `tundish watch`, by libmicrohttpd. */
#include "tools/watch/server.h"

#include <microhttpd.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "runtime/base/allocation.h"
#include "runtime/base/clock.h"
#include "tools/events/pace.h"
#include "tools/watch/page.h"
#include "transport/zmq/local_peer.h"

/*  The limits.  Further clients wait in the queue of the kernel. */
enum {
    CLIENTS_MAX = 256,
    CLIENTS_FREE = 64,   /* places that clients without a request make free */
    CLIENT_BYTES = 8192, /* of a request, and of a part of an answer */
    PATIENCE_S = 30,     /* for a request, and for an answer of which nothing is read */
    REST_S = 5           /* between two looks of a client, at most */
};

/*  A connection. */
typedef struct client {
    struct client *before, *after;
    int socket;
    bool asked;        /* a request is being answered */
    bool dismissed;    /* disconnected, to make room */
    uint64_t since_ns; /* that it has waited for a request */
    enum { USER_UNKNOWN, USER_OWN, USER_OTHER } user;
} client_t;

/*  An answer that is read from the stored looks. */
typedef struct reader {
    struct tnd_server *server;
    struct MHD_Connection *connection;
    struct reader *next; /* of those that wait for the next look */
    tnd_look_text_t kind;
    uint64_t look;
    size_t offset;
    bool whole; /* all of the look was read */
} reader_t;

struct tnd_server {
    struct MHD_Daemon *daemon;
    const tnd_listener_t *listener;
    const tnd_token_t *token;
    tnd_watched_looks_t *looks;
    client_t *clients;
    reader_t *waiting;
    tnd_pace_t pace;                 /* of looks that are sent to the clients of /live */
    uint64_t served_cpu_ns;          /* processor time of all answers */
    uint64_t woken_ns, woken_cpu_ns; /* when looks were sent last, and that time then */
};

/* --- connections ------------------------------------------------------------------------------ */

static int socket_of(struct MHD_Connection *connection)
{
    return MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD)->connect_fd;
}

static bool is_own(client_t *client)
{
    if (client->user == USER_UNKNOWN) {
        tnd_peer_t peer = tnd_local_peer(client->socket);
        bool is_own_user = peer.place == TND_PEER_LOCAL && peer.user == geteuid();
        client->user = is_own_user ? USER_OWN : USER_OTHER;
    }
    return client->user == USER_OWN;
}

/*  Disconnects the client that has waited longest for a request, one of another user first: clients
 *  that send a request slowly, or none, must not keep others out.  The newest one stays. */
static void make_room(const tnd_server_t *self)
{
    client_t *longest = NULL;
    if (self->looks->clients <= CLIENTS_MAX - CLIENTS_FREE)
        return;
    for (client_t *client = self->clients->after; client != NULL; client = client->after)
        if (!client->asked && !client->dismissed &&
            (longest == NULL || !is_own(client) || is_own(longest)))
            longest = client;
    if (longest == NULL)
        return;
    longest->dismissed = true;
    (void)shutdown(longest->socket, SHUT_RDWR);
}

static void take_connection(void *context, struct MHD_Connection *connection, void **client_p,
                            enum MHD_ConnectionNotificationCode what)
{
    tnd_server_t *self = context;
    client_t *client = *client_p;
    if (what == MHD_CONNECTION_NOTIFY_STARTED) {
        client = tnd_allocate_zeroed(1, sizeof *client);
        client->socket = socket_of(connection);
        client->since_ns = tnd_clock_now();
        client->after = self->clients;
        if (self->clients != NULL)
            self->clients->before = client;
        self->clients = client;
        self->looks->clients++;
        *client_p = client;
        make_room(self);
        return;
    }
    if (client->before != NULL)
        client->before->after = client->after;
    else
        self->clients = client->after;
    if (client->after != NULL)
        client->after->before = client->before;
    self->looks->clients--;
    free(client);
    *client_p = NULL;
}

static client_t *client_of(struct MHD_Connection *connection)
{
    return MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT)->socket_context;
}

static void end_request(void *context, struct MHD_Connection *connection, void **request_p,
                        enum MHD_RequestTerminationCode why)
{
    client_t *client = client_of(connection);
    (void)context, (void)request_p, (void)why;
    if (client == NULL)
        return;
    client->asked = false;
    client->since_ns = tnd_clock_now();
}

/* --- who may read ----------------------------------------------------------------------------- */

static bool has_token(const tnd_server_t *self, struct MHD_Connection *connection)
{
    static const char bearer[] = "Bearer ";
    const char *header =
        MHD_lookup_connection_value(connection, MHD_HEADER_KIND, MHD_HTTP_HEADER_AUTHORIZATION);
    if (header != NULL && strncmp(header, bearer, sizeof bearer - 1) == 0 &&
        tnd_token_is(self->token, header + sizeof bearer - 1))
        return true;
    return tnd_token_is(self->token,
                        MHD_lookup_connection_value(connection, MHD_GET_ARGUMENT_KIND, "token"));
}

/* --- answers ---------------------------------------------------------------------------------- */

static enum MHD_Result answer(struct MHD_Connection *connection, unsigned code, const char *type,
                              struct MHD_Response *response)
{
    static const char *const headers[][2] = {
        {"Cache-Control", "no-store"},
        {"X-Content-Type-Options", "nosniff"},
        {"X-Frame-Options", "DENY"},
        {"Referrer-Policy", "no-referrer"},
        {"Cross-Origin-Resource-Policy", "same-origin"},
        {"Content-Security-Policy", NULL},
    };
    if (response == NULL)
        return MHD_NO;
    for (size_t h = 0; h < sizeof headers / sizeof headers[0]; h++)
        (void)MHD_add_response_header(response, headers[h][0],
                                      headers[h][1] != NULL ? headers[h][1] : tnd_page_policy());
    (void)MHD_add_response_header(response, MHD_HTTP_HEADER_CONTENT_TYPE, type);
    if (code == MHD_HTTP_UNAUTHORIZED)
        (void)MHD_add_response_header(response, MHD_HTTP_HEADER_WWW_AUTHENTICATE, "Bearer");
    if (code == MHD_HTTP_METHOD_NOT_ALLOWED)
        (void)MHD_add_response_header(response, MHD_HTTP_HEADER_ALLOW, "GET, HEAD");
    enum MHD_Result result = MHD_queue_response(connection, code, response);
    MHD_destroy_response(response);
    return result;
}

static enum MHD_Result refuse(struct MHD_Connection *connection, unsigned code, const char *text)
{
    return answer(connection, code, "text/plain; charset=utf-8",
                  MHD_create_response_from_buffer(strlen(text), (void *)(uintptr_t)text,
                                                  MHD_RESPMEM_PERSISTENT));
}

/*  Copies the next part of a text.  A client that is too slow for it is disconnected. */
static ssize_t read_text(void *context, uint64_t position, char *to, size_t room)
{
    reader_t *self = context;
    tnd_look_store_t *store = &self->server->looks->store;
    size_t size = 0;
    (void)position;
    if (self->whole && self->kind != TND_LOOK_TEXT_LIVE)
        return MHD_CONTENT_READER_END_OF_STREAM;
    if (self->whole && self->look == tnd_look_store_newest(store)) {
        self->next = self->server->waiting;
        self->server->waiting = self;
        MHD_suspend_connection(self->connection);
        return 0;
    }
    if (self->whole) {
        self->look = tnd_look_store_newest(store);
        self->offset = 0;
    }
    const char *text = tnd_look_store_text(store, self->look, self->kind, &size);
    if (text == NULL)
        return MHD_CONTENT_READER_END_WITH_ERROR;
    size_t part = size - self->offset < room ? size - self->offset : room;
    memcpy(to, text + self->offset, part);
    self->offset += part;
    self->whole = self->offset == size;
    return (ssize_t)part;
}

static enum MHD_Result send_look(tnd_server_t *self, struct MHD_Connection *connection,
                                 tnd_look_text_t kind, const char *type)
{
    size_t size = 0;
    reader_t *reader = tnd_allocate_zeroed(1, sizeof *reader);
    *reader = (reader_t){.server = self,
                         .connection = connection,
                         .kind = kind,
                         .look = tnd_look_store_newest(&self->looks->store)};
    (void)tnd_look_store_text(&self->looks->store, reader->look, kind, &size);
    return answer(
        connection, MHD_HTTP_OK, type,
        MHD_create_response_from_callback(kind == TND_LOOK_TEXT_LIVE ? MHD_SIZE_UNKNOWN : size,
                                          CLIENT_BYTES, read_text, reader, free));
}

static enum MHD_Result send_page(struct MHD_Connection *connection)
{
    size_t size;
    const char *page = tnd_page_live(&size);
    return answer(
        connection, MHD_HTTP_OK, "text/html; charset=utf-8",
        MHD_create_response_from_buffer(size, (void *)(uintptr_t)page, MHD_RESPMEM_PERSISTENT));
}

static enum MHD_Result route(tnd_server_t *self, struct MHD_Connection *connection,
                             const char *path)
{
    static const struct {
        const char *path, *type;
        tnd_look_text_t kind;
    } texts[] = {
        {"/live", "text/event-stream", TND_LOOK_TEXT_LIVE},
        {"/metrics", "text/plain; version=0.0.4; charset=utf-8", TND_LOOK_TEXT_METRICS},
        {"/why", "text/plain; charset=utf-8", TND_LOOK_TEXT_WHY},
        {"/history", "application/json", TND_LOOK_TEXT_HISTORY},
    };
    if (strcmp(path, "/") == 0)
        return send_page(connection);
    for (size_t t = 0; t < sizeof texts / sizeof texts[0]; t++)
        if (strcmp(path, texts[t].path) == 0)
            return send_look(self, connection, texts[t].kind, texts[t].type);
    return refuse(connection, MHD_HTTP_NOT_FOUND,
                  "not found; there are /, /live, /metrics, /why and /history\n");
}

/*  Called when the headers of a request are there, and again when all of it is. */
static enum MHD_Result handle(void *context, struct MHD_Connection *connection, const char *path,
                              const char *method, const char *version, const char *body,
                              size_t *body_size, void **request_p)
{
    tnd_server_t *self = context;
    client_t *client = client_of(connection);
    (void)version, (void)body;
    if (*request_p == NULL) {
        *request_p = client;
        return MHD_YES;
    }
    if (*body_size > 0) {
        *body_size = 0;
        return MHD_YES;
    }
    client->asked = true;
    if (strcmp(method, MHD_HTTP_METHOD_GET) != 0 && strcmp(method, MHD_HTTP_METHOD_HEAD) != 0)
        return refuse(connection, MHD_HTTP_METHOD_NOT_ALLOWED, "only GET and HEAD are answered\n");
    if (!tnd_listener_is_host(
            self->listener, client->socket,
            MHD_lookup_connection_value(connection, MHD_HEADER_KIND, MHD_HTTP_HEADER_HOST)))
        return refuse(connection, MHD_HTTP_MISDIRECTED_REQUEST,
                      "this server does not have the name of the Host header; use localhost, its "
                      "address, or the NAME of --listen NAME:PORT\n");
    if (!is_own(client) && !has_token(self, connection))
        return refuse(
            connection, MHD_HTTP_UNAUTHORIZED,
            "the token is missing or wrong: send `Authorization: Bearer TOKEN`, or append "
            "?token=TOKEN; the owner of the run finds it in the file that `tundish watch` "
            "named when it started\n");
    return route(self, connection, path);
}

/* --- the server ------------------------------------------------------------------------------- */

tnd_status_t tnd_server_new(tnd_server_t **self_p, tnd_listener_t *listener,
                            const tnd_token_t *token, tnd_watched_looks_t *looks,
                            tnd_error_t *error)
{
    tnd_server_t *self = tnd_allocate_zeroed(1, sizeof *self);
    *self = (tnd_server_t){.listener = listener, .token = token, .looks = looks};
    self->daemon = MHD_start_daemon(
        MHD_USE_EPOLL | MHD_ALLOW_SUSPEND_RESUME, 0, NULL, NULL, handle, self,
        MHD_OPTION_LISTEN_SOCKET, listener->socket, MHD_OPTION_CONNECTION_LIMIT,
        (unsigned)CLIENTS_MAX, MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)CLIENT_BYTES,
        MHD_OPTION_CONNECTION_TIMEOUT, (unsigned)PATIENCE_S, MHD_OPTION_NOTIFY_CONNECTION,
        take_connection, self, MHD_OPTION_NOTIFY_COMPLETED, end_request, self, MHD_OPTION_END);
    if (self->daemon == NULL) {
        free(self);
        return tnd_fail(error, "libmicrohttpd cannot start: are there too many open files?");
    }
    listener->socket = -1;
    *self_p = self;
    return TND_OK;
}

/*  The clients that wait for the next look go on. */
static void resume(tnd_server_t *self)
{
    while (self->waiting != NULL) {
        reader_t *reader = self->waiting;
        self->waiting = reader->next;
        MHD_resume_connection(reader->connection);
    }
}

void tnd_server_destroy(tnd_server_t **self_p)
{
    tnd_server_t *self = *self_p;
    *self_p = NULL;
    if (self == NULL)
        return;
    resume(self);
    MHD_stop_daemon(self->daemon);
    free(self);
}

int tnd_server_file(const tnd_server_t *self)
{
    return MHD_get_daemon_info(self->daemon, MHD_DAEMON_INFO_EPOLL_FD)->epoll_fd;
}

int tnd_server_timeout(const tnd_server_t *self, int most)
{
    MHD_UNSIGNED_LONG_LONG wanted;
    if (MHD_get_timeout(self->daemon, &wanted) != MHD_YES || wanted > (unsigned)most)
        return most;
    return (int)wanted;
}

void tnd_server_run(tnd_server_t *self)
{
    uint64_t before = tnd_clock_thread();
    (void)MHD_run(self->daemon);
    self->served_cpu_ns += tnd_clock_thread() - before;
}

void tnd_server_wake(tnd_server_t *self)
{
    uint64_t now = tnd_clock_now();
    for (client_t *client = self->clients; client != NULL; client = client->after)
        if (!client->asked && now - client->since_ns > PATIENCE_S * UINT64_C(1000000000))
            (void)shutdown(client->socket, SHUT_RDWR);
    tnd_pace_worked(&self->pace, self->woken_ns, self->served_cpu_ns - self->woken_cpu_ns);
    if (!tnd_pace_is_due(&self->pace, now) && now - self->woken_ns < REST_S * UINT64_C(1000000000))
        return;
    self->woken_ns = now;
    self->woken_cpu_ns = self->served_cpu_ns;
    resume(self);
    tnd_server_run(self);
}
