/*  Floods the leader of a run with the questions of an inspector, as fast as its port takes them.
 *
 *  Usage: look_flood ADDRESS:PORT.  It uses ZeroMQ itself, so it obeys no rule of an inspector: it
 *  does not wait for answers, and continues when the leader says GOODBYE.  Once its connection has
 *  ended, it prints "SENT ANSWERED SECONDS" and connects again as another inspector.  It ends with
 *  its stdin. */
#include <assert.h>
#include <inttypes.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <zmq.h>

#include "runtime/base/clock.h"
#include "runtime/core/protocol/inspectors.h"
#include "runtime/host/host_config.h"
#include "transport/wire.h"

enum { BURST = 500 };

typedef struct {
    void *socket, *watch; /* `watch` has a message once the connection has ended */
    tnd_actor_id_t id;
    uint64_t life;
    unsigned long sent, answered;
} client_t;

static void set(void *socket, int option, int value)
{
    int failed = zmq_setsockopt(socket, option, &value, sizeof value);
    assert(failed == 0);
}

/*  Returns false if nothing can be sent now. */
static bool say(const client_t *self, const tnd_msg_t *msg, tnd_carry_t carry, const void *payload,
                size_t size)
{
    uint8_t header[TND_WIRE_BYTES_MAX];
    size_t bytes = tnd_wire_encode(msg, carry, header);
    if (zmq_send(self->socket, header, bytes, ZMQ_DONTWAIT | (size > 0 ? ZMQ_SNDMORE : 0)) < 0)
        return false;
    return size == 0 || zmq_send(self->socket, payload, size, ZMQ_DONTWAIT) >= 0;
}

static void begin(client_t *self, void *context, const char *address, uint32_t number)
{
    char endpoint[160], watch[32];
    *self = (client_t){.id = TND_INSPECTOR_FIRST +
                             ((uint32_t)getpid() << 10 | number % 1024) % TND_INSPECTOR_COUNT,
                       .life = tnd_clock_read(CLOCK_REALTIME)};
    snprintf(endpoint, sizeof endpoint, "tcp://%s", address);
    snprintf(watch, sizeof watch, "inproc://watch.%" PRIu32, number);
    self->socket = zmq_socket(context, ZMQ_DEALER);
    self->watch = zmq_socket(context, ZMQ_PAIR);
    set(self->socket, ZMQ_LINGER, 0);
    set(self->socket, ZMQ_RECONNECT_IVL, -1);
    zmq_setsockopt(self->socket, ZMQ_ROUTING_ID, &self->id, sizeof self->id);
    int failed = zmq_socket_monitor(self->socket, watch, ZMQ_EVENT_DISCONNECTED);
    failed = failed != 0 || zmq_connect(self->watch, watch) != 0;
    failed = failed != 0 || zmq_connect(self->socket, endpoint) != 0;
    assert(!failed);
    tnd_msg_t hello = {.kind = TND_MSG_HELLO, .from = self->id, .to = tnd_host_id(0)};
    hello.hello.life = hello.hello.birth = self->life;
    hello.hello.terms.abi = TND_WIRE_ABI;
    (void)say(self, &hello, TND_CARRY_NOTHING, NULL, 0);
}

static bool has_input(void *socket)
{
    int events = 0;
    size_t size = sizeof events;
    zmq_getsockopt(socket, ZMQ_EVENTS, &events, &size);
    return (events & ZMQ_POLLIN) != 0;
}

static void read_answers(client_t *self)
{
    char bytes[TND_WIRE_BYTES_MAX];
    for (int size; (size = zmq_recv(self->socket, bytes, sizeof bytes, ZMQ_DONTWAIT)) >= 0;) {
        tnd_msg_t msg;
        tnd_wire_form_t form;
        tnd_error_t error;
        int more = 0;
        size_t room = sizeof more;
        zmq_getsockopt(self->socket, ZMQ_RCVMORE, &more, &room);
        if (more && tnd_wire_decode(&msg, &form, bytes, (size_t)size, &error) == TND_OK)
            self->answered += msg.kind == TND_MSG_LOOK;
    }
}

/*  Sends questions until the connection has ended; false: stdin has. */
static bool flood(client_t *self)
{
    const tnd_look_question_t question = {0};
    const tnd_msg_t msg = {.kind = TND_MSG_LOOK, .from = self->id, .to = TND_LEADER};
    uint64_t begun = tnd_clock_now();
    while (!has_input(self->watch)) {
        struct pollfd end = {.fd = STDIN_FILENO, .events = POLLIN};
        zmq_pollitem_t room[] = {{.socket = self->socket, .events = ZMQ_POLLOUT},
                                 {.socket = self->watch, .events = ZMQ_POLLIN}};
        if (poll(&end, 1, 0) != 0)
            return false;
        (void)zmq_poll(room, 2, 50);
        for (int i = 0; i < BURST && say(self, &msg, TND_CARRY_BUFFER, &question, sizeof question);
             i++)
            self->sent++;
        read_answers(self);
    }
    printf("%lu %lu %.3f\n", self->sent, self->answered, (double)(tnd_clock_now() - begun) * 1e-9);
    return true;
}

int main(int count, char **words)
{
    void *context = zmq_ctx_new();
    bool open = count == 2;
    setvbuf(stdout, NULL, _IOLBF, 0);
    for (uint32_t number = 1; open; number++) {
        client_t client;
        begin(&client, context, words[1], number);
        open = flood(&client);
        if (!open)
            printf("%lu %lu open\n", client.sent, client.answered);
        zmq_close(client.socket);
        zmq_close(client.watch);
    }
    zmq_ctx_term(context);
    return count == 2 ? 0 : 2;
}
