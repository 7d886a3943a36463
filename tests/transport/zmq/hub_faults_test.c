/*  Covers transport/hub/zmq.c against faults of tcp: connections that end or are half-open,
 *  processes that die, unknown peers and hostile bytes. */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include <zmq.h>

#include "tests/conformance/hub_sites.h"
#include "tests/support/relay.h"
#include "transport/wire.h"
#include "transport/zmq/context.h"

static hub_fixture_t hub_fixture(void)
{
    return hub_fixture_of("tcp");
}

static void pass(stage_t *stage, site_t *join, site_t *worker, uint64_t link_timeout_ns,
                 relay_t **relay)
{
    stage_open(stage);
    site_open_patient(join, stage, JOIN, 1, link_timeout_ns);
    site_open_patient(worker, stage, WORKER, 1, link_timeout_ns);
    site_bind(join, &stage->terms);
    *relay = relay_new(stage->actual);
    cr_assert_eq(
        tnd_hub_connect(worker->hub, PORT_OUT, JOIN, relay_endpoint(*relay), &stage->terms, NULL),
        TND_OK);
    run_until(worker, join, &worker->ups, 1);
}

static void heals_in_three_seconds(relay_fault_t fault)
{
    static stage_t stage;
    static site_t join, worker;
    relay_t *relay = NULL;
    pass(&stage, &join, &worker, 1000000000, &relay);
    uint64_t begun = stage_now(&stage);

    relay_fail(relay, fault);
    run_until(&worker, &join, &worker.ups, 2);
    uint64_t took = stage_now(&stage) - begun;
    send_block(&worker, make_block(&stage, 0, 1));
    run_until(&join, &worker, &join.messages, 1);

    cr_assert(took < 3000000000u, "healed only after %llu ms", (unsigned long long)took / 1000000);
    cr_assert_str_eq(worker.trace, "up 1\nlost 1\nup 1\n");
    cr_assert_str_eq(join.trace, "up 2 life 1\nlost 2\nup 2 life 1\n8: block 0+1 0,0.25,-0/0\n");
    relay_destroy(&relay);
    part(&stage, &join, &worker);
}

Test(faults, a_link_cut_at_the_worker_heals)
{
    heals_in_three_seconds(RELAY_CUT_DIALLER);
}

Test(faults, a_link_cut_at_the_binder_heals)
{
    heals_in_three_seconds(RELAY_CUT_TARGET);
}

Test(faults, a_link_that_loses_everything_heals)
{
    heals_in_three_seconds(RELAY_SWALLOW);
}

/*  One message takes four times `link_timeout`; messages after it wait for its end. */
static void passes_slowly(bool from_worker)
{
    enum { BYTES = 200 * 1024, PIECE = 1024 };
    static stage_t stage;
    static site_t join, worker;
    relay_t *relay = NULL;
    pass(&stage, &join, &worker, 500000000, &relay);
    relay_trickle(relay, PIECE);
    tnd_pool_t *pool = tnd_pool_new(BYTES);
    tnd_buffer_t *buffer = tnd_pool_take(pool);
    memset(tnd_buffer_data(buffer), 0, BYTES);
    tnd_buffer_seal(buffer);
    tnd_msg_t msg = {.kind = TND_MSG_POST, .from = WORKER, .to = JOIN};
    if (!from_worker)
        msg.from = JOIN, msg.to = WORKER;
    msg.post.payload = buffer;
    site_t *from = from_worker ? &worker : &join, *to = from_worker ? &join : &worker;

    cr_assert_eq(
        tnd_hub_send(from->hub, from_worker ? PORT_OUT : PORT_IN, to->id, &msg, TND_CARRY_BUFFER),
        TND_OK);
    run_until(to, from, &to->messages, 1);

    cr_assert_eq(worker.losts + join.losts, 0);
    part(&stage, &join, &worker);
    tnd_pool_destroy(&pool);
    relay_destroy(&relay);
}

Test(faults, a_message_longer_than_link_timeout_arrives_at_the_binder)
{
    passes_slowly(true);
}

Test(faults, a_message_longer_than_link_timeout_arrives_at_the_connector)
{
    passes_slowly(false);
}

Test(faults, a_closed_connection_is_noticed_without_waiting_for_silence)
{
    static stage_t stage;
    static site_t join, worker;
    relay_t *relay = NULL;
    pass(&stage, &join, &worker, 3600000000000, &relay);

    relay_fail(relay, RELAY_CLOSE);
    run_until(&join, &worker, &join.losts, 1);
    run_until(&worker, &join, &worker.ups, 2);

    cr_assert_str_eq(worker.trace, "up 1\nlost 1\nup 1\n");
    relay_destroy(&relay);
    part(&stage, &join, &worker);
}

Test(faults, messages_before_the_end_of_a_connection_are_received_later)
{
    static stage_t stage;
    static site_t join, worker;
    relay_t *relay = NULL;
    pass(&stage, &join, &worker, 3600000000000, &relay);
    tnd_msg_t msg = {.kind = TND_MSG_TICKET, .from = JOIN, .to = WORKER, .ticket.first = 8};
    char expected[64];
    snprintf(expected, sizeof expected, "up 1\n%u: ticket 8\nlost 1\n", TND_MSG_TICKET);

    cr_assert_eq(tnd_hub_send(join.hub, PORT_IN, WORKER, &msg, TND_CARRY_NOTHING), TND_OK);
    tnd_hub_close(&join.hub, 1000000000);
    relay_await_ended(relay);
    run_until(&worker, NULL, &worker.losts, 1);

    cr_assert_str_eq(worker.trace, expected);
    part(&stage, NULL, &worker);
    relay_destroy(&relay);
}

/*  Kernel and queues are full, so that a message is half written, when the connection is cut. */
Test(faults, a_binder_that_closes_in_the_middle_of_a_message_ends_well)
{
    for (unsigned turn = 0; turn < 20; turn++) {
        static stage_t stage;
        static site_t join, worker;
        relay_t *relay = NULL;
        pass(&stage, &join, &worker, 3600000000000, &relay);
        tnd_status_t status = TND_OK;
        for (uint64_t n = 0; status == TND_OK; n++) {
            tnd_msg_t msg = block_message(make_block(&stage, n, 200));
            msg.from = JOIN, msg.to = WORKER;
            status = tnd_hub_send(join.hub, PORT_IN, WORKER, &msg, TND_CARRY_BLOCK);
            if (status != TND_OK)
                tnd_msg_drop(&msg, TND_CARRY_BLOCK);
        }
        cr_assert_eq(status, TND_AGAIN);
        tnd_hub_close(&join.hub, 0);
        part(&stage, NULL, &worker);
        relay_destroy(&relay);
    }
}

Test(faults, a_refused_peer_gets_the_reason_even_if_the_binder_closes_at_once)
{
    static stage_t stage;
    static site_t join, worker;
    stage_open(&stage);
    site_open_patient(&join, &stage, JOIN, 1, 3600000000000);
    site_open_patient(&worker, &stage, WORKER, 1, 3600000000000);
    site_bind(&join, &stage.terms);
    relay_t *relay = relay_new(stage.actual);
    tnd_terms_t theirs = stage.terms;
    theirs.graph[1]++;
    cr_assert_eq(tnd_hub_connect(worker.hub, PORT_OUT, JOIN, relay_endpoint(relay), &theirs, NULL),
                 TND_OK);

    run_until(&join, &worker, &join.refusals, 1);
    tnd_hub_close(&join.hub, 1000000000);
    relay_await_ended(relay);
    run_until(&worker, NULL, &worker.refusals, 1);

    cr_assert_eq(worker.losts, 0);
    part(&stage, NULL, &worker);
    relay_destroy(&relay);
}

/*  A worker in a process of its own, until it is killed. */
static void work_until_killed(int endpoint_pipe)
{
    static stage_t stage;
    static site_t worker;
    stage_open(&stage);
    site_open_patient(&worker, &stage, WORKER, 1, 3600000000000);
    if (read(endpoint_pipe, stage.net.endpoint, sizeof stage.net.endpoint) <= 0)
        _exit(1);
    site_connect(&worker, &stage.terms);
    for (;;) {
        while (site_step(&worker))
            continue;
        tnd_hub_wait(worker.hub, TND_NEVER);
    }
}

Test(faults, a_killed_process_is_noticed_within_milliseconds)
{
    int fds[2];
    cr_assert_eq(pipe(fds), 0);
    pid_t child = fork();
    if (child == 0)
        work_until_killed(fds[0]);
    static stage_t stage;
    static site_t join;
    stage_open(&stage);
    site_open_patient(&join, &stage, JOIN, 1, 3600000000000);
    site_bind(&join, &stage.terms);
    cr_assert(write(fds[1], stage.net.endpoint, sizeof stage.net.endpoint) > 0);
    run_until(&join, NULL, &join.ups, 1);

    uint64_t begun = stage_now(&stage);
    kill(child, SIGKILL);
    run_until(&join, NULL, &join.losts, 1);
    uint64_t took = stage_now(&stage) - begun;

    /* 10 ms on a machine that is not busy otherwise; the test allows for one that is. */
    cr_assert(took < 500000000u, "noticed after %llu us", (unsigned long long)took / 1000);
    waitpid(child, NULL, 0);
    part(&stage, &join, NULL);
}

/* --- unauthenticated -------------------------------------------------------------------------
 */

static int dial_raw(const stage_t *stage)
{
    unsigned port = 0;
    cr_assert_eq(sscanf(stage->actual, "tcp://127.0.0.1:%u", &port), 1);
    struct sockaddr_in to = {.sin_family = AF_INET,
                             .sin_port = htons((uint16_t)port),
                             .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    cr_assert_eq(connect(fd, (struct sockaddr *)&to, sizeof to), 0);
    return fd;
}

/*  A ZeroMQ peer of another protocol. */
static void *dial_zmq(stage_t *stage)
{
    void *socket = zmq_socket(tnd_context_zmq(stage->net.context), ZMQ_DEALER);
    int none = 0;
    zmq_setsockopt(socket, ZMQ_LINGER, &none, sizeof none);
    cr_assert_eq(zmq_connect(socket, stage->actual), 0);
    return socket;
}

/*  Lets both sites go on until the other side has closed the connection `fd`. */
static void await_cut(int fd, site_t *join, site_t *worker)
{
    uint64_t deadline = stage_now(join->stage) + DEADLINE_NS;
    for (;;) {
        char bytes[256];
        ssize_t size = recv(fd, bytes, sizeof bytes, MSG_DONTWAIT);
        if (size == 0 || (size < 0 && errno != EAGAIN))
            return;
        cr_assert(stage_now(join->stage) < deadline, "the stranger is still connected");
        while (site_step(join) || site_step(worker))
            continue;
        tnd_hub_wait(join->hub, stage_now(join->stage) + 1000000);
    }
}

Test(faults, an_invalid_message_is_refused_and_other_peers_continue)
{
    static stage_t stage;
    static site_t join, worker;
    meet(&stage, &join, &worker);
    void *stranger = dial_zmq(&stage);
    cr_assert_eq(zmq_send(stranger, "GET / HTTP/1.1\r\n", 16, 0), 16);

    run_until(&join, &worker, &join.refusals, 1);
    send_block(&worker, make_block(&stage, 0, 1));
    run_until(&join, &worker, &join.messages, 1);

    cr_assert_not_null(strstr(join.trace, "from 127.0.0.1"), "%s", join.trace);
    cr_assert_not_null(strstr(join.trace, "not a message"), "%s", join.trace);
    cr_assert_eq(join.losts, 0);
    tnd_hub_counts_t counts;
    tnd_hub_counts(join.hub, &counts);
    cr_assert_eq(counts.refused, 1);
    zmq_close(stranger);
    part(&stage, &join, &worker);
}

/*  Whether a connection of libzmq has ended, according to its monitor. */
static bool has_ended(void *monitor)
{
    zmq_msg_t event;
    bool ended = false;
    zmq_msg_init(&event);
    while (!ended && zmq_msg_recv(&event, monitor, ZMQ_DONTWAIT) >= 0) {
        uint16_t what;
        memcpy(&what, zmq_msg_data(&event), sizeof what);
        ended = what == ZMQ_EVENT_DISCONNECTED;
        while (zmq_msg_more(&event) && zmq_msg_recv(&event, monitor, ZMQ_DONTWAIT) >= 0)
            continue;
    }
    zmq_msg_close(&event);
    return ended;
}

/*  Not only after its time for a HELLO: an older silent connection stays. */
Test(faults, a_refused_connection_is_closed_at_once)
{
    static stage_t stage;
    static site_t join, worker;
    meet(&stage, &join, &worker);
    int silent = dial_raw(&stage);
    void *stranger = zmq_socket(tnd_context_zmq(stage.net.context), ZMQ_DEALER);
    void *monitor = zmq_socket(tnd_context_zmq(stage.net.context), ZMQ_PAIR);
    int none = 0;
    zmq_setsockopt(stranger, ZMQ_LINGER, &none, sizeof none);
    cr_assert_eq(zmq_socket_monitor(stranger, "inproc://stranger", ZMQ_EVENT_DISCONNECTED), 0);
    cr_assert_eq(zmq_connect(monitor, "inproc://stranger"), 0);
    cr_assert_eq(zmq_connect(stranger, stage.actual), 0);
    cr_assert_eq(zmq_send(stranger, "GET / HTTP/1.1\r\n", 16, 0), 16);

    run_until(&join, &worker, &join.refusals, 1);
    while (!has_ended(monitor)) {
        while (site_step(&join) || site_step(&worker))
            continue;
        tnd_hub_wait(join.hub, stage_now(&stage) + 1000000);
    }
    /* libzmq sends its greeting to every connection: 64 bytes. */
    char greeting[64];
    ssize_t got = 1;
    while (got > 0)
        got = recv(silent, greeting, sizeof greeting, MSG_DONTWAIT);
    cr_assert(got < 0 && errno == EAGAIN, "the silent one was cut before it");
    zmq_socket_monitor(stranger, NULL, 0);
    zmq_close(monitor);
    zmq_close(stranger);
    close(silent);
    part(&stage, &join, &worker);
}

Test(faults, bytes_that_are_not_zeromq_affect_no_peer)
{
    static stage_t stage;
    static site_t join, worker;
    meet(&stage, &join, &worker);
    int fd = dial_raw(&stage);
    char bytes[4096];
    memset(bytes, 'x', sizeof bytes);
    cr_assert(send(fd, bytes, sizeof bytes, MSG_NOSIGNAL) > 0);
    await_cut(fd, &join, &worker);

    send_block(&worker, make_block(&stage, 0, 1));
    run_until(&join, &worker, &join.messages, 1);

    cr_assert_eq(join.losts, 0);
    close(fd);
    part(&stage, &join, &worker);
}

Test(faults, the_oldest_of_many_silent_connections_are_cut_off)
{
    enum { FLOOD = 80 };
    static stage_t stage;
    static site_t join, worker;
    meet(&stage, &join, &worker);
    int fds[FLOOD];
    for (int i = 0; i < FLOOD; i++)
        fds[i] = dial_raw(&stage);
    await_cut(fds[0], &join, &worker);

    send_block(&worker, make_block(&stage, 0, 1));
    run_until(&join, &worker, &join.messages, 1);
    cr_assert_eq(join.losts, 0);
    for (int i = 0; i < FLOOD; i++)
        close(fds[i]);
    part(&stage, &join, &worker);
}

/*  Sends HELLO as the worker would, then `second` with `parts` frames of `size` bytes. */
static const char *hostile(tnd_msg_t *second, tnd_carry_t carry, int parts, size_t size)
{
    static stage_t stage;
    static site_t join;
    stage_open(&stage);
    site_open(&join, &stage, JOIN, 1);
    site_bind(&join, &stage.terms);
    void *peer = dial_zmq(&stage);
    uint8_t bytes[TND_WIRE_BYTES_MAX];
    tnd_msg_t hello = {.kind = TND_MSG_HELLO, .from = WORKER, .to = JOIN, .hello.life = 1};
    hello.hello.terms = stage.terms;
    size_t length = tnd_wire_encode(&hello, TND_CARRY_NOTHING, bytes);
    zmq_send(peer, bytes, length, 0);
    second->from = WORKER;
    second->to = JOIN;
    length = tnd_wire_encode(second, carry, bytes);
    zmq_send(peer, bytes, length, parts > 0 ? ZMQ_SNDMORE : 0);
    char *rows = calloc(1, size + 1);
    for (int i = 0; i < parts; i++)
        zmq_send(peer, rows, size, i + 1 < parts ? ZMQ_SNDMORE : 0);
    free(rows);

    run_until(&join, NULL, &join.losts, 1);

    cr_assert_eq(join.messages, 0);
    zmq_close(peer);
    part(&stage, &join, NULL);
    return join.trace;
}

Test(faults, a_block_without_its_columns_ends_the_connection)
{
    tnd_msg_t msg = {.kind = TND_MSG_BLOCK, .block = {.count = 4, .rows = 4}};
    cr_assert_str_eq(hostile(&msg, TND_CARRY_BLOCK, 1, 48), "up 2 life 1\nlost 2\n");
}

Test(faults, columns_of_another_size_end_the_connection)
{
    tnd_msg_t msg = {.kind = TND_MSG_BLOCK, .block = {.count = 4, .rows = 4}};
    cr_assert_str_eq(hostile(&msg, TND_CARRY_BLOCK, 2, 48), "up 2 life 1\nlost 2\n");
}

Test(faults, more_rows_than_memory_has_end_the_connection)
{
    tnd_msg_t msg = {.kind = TND_MSG_BLOCK, .block = {.count = UINT32_MAX, .rows = UINT32_MAX}};
    cr_assert_str_eq(hostile(&msg, TND_CARRY_BLOCK, 2, 48), "up 2 life 1\nlost 2\n");
}

Test(faults, more_frames_than_columns_end_the_connection)
{
    tnd_msg_t msg = {.kind = TND_MSG_BLOCK, .block = {.count = 4, .rows = 4}};
    cr_assert_str_eq(hostile(&msg, TND_CARRY_BLOCK, 100, 4), "up 2 life 1\nlost 2\n");
}

Test(faults, marks_outside_their_block_end_the_connection)
{
    tnd_msg_t msg = {.kind = TND_MSG_BLOCK, .block = {.count = 0, .rows = 0, .bad_count = 1}};
    cr_assert_str_eq(hostile(&msg, TND_CARRY_BLOCK, 1, 4), "up 2 life 1\nlost 2\n");
}

Test(faults, an_invalid_cursor_ends_the_connection)
{
    tnd_msg_t msg = {.kind = TND_MSG_REWIND};
    cr_assert_str_eq(hostile(&msg, TND_CARRY_CURSOR, 1, 300), "up 2 life 1\nlost 2\n");
}

Test(faults, a_frame_above_the_bound_ends_the_connection)
{
    tnd_msg_t msg = {.kind = TND_MSG_POST};
    cr_assert_str_eq(hostile(&msg, TND_CARRY_BUFFER, 1, 2 << 20), "up 2 life 1\nlost 2\n");
}

Test(faults, an_address_of_another_machine_is_named)
{
    static stage_t stage;
    static site_t join;
    stage_open(&stage);
    site_open(&join, &stage, JOIN, 1);
    tnd_error_t error = {.text = ""};
    char actual[64];

    tnd_status_t status = tnd_hub_bind(join.hub, PORT_IN, "tcp://192.0.2.1:7100", &stage.terms,
                                       actual, sizeof actual, &error);

    cr_assert_eq(status, TND_FAILED);
    cr_assert_not_null(strstr(error.text, "tcp://192.0.2.1:7100"), "%s", error.text);
    part(&stage, &join, NULL);
}

/*  No such interface: libzmq cannot even make a socket for the address. */
Test(faults, an_address_that_cannot_be_resolved_counts_as_one_where_no_peer_listens)
{
    static stage_t stage;
    static site_t worker;
    stage_open(&stage);
    site_open_patient(&worker, &stage, WORKER, 1, 3600000000000);
    cr_assert_eq(tnd_hub_connect(worker.hub, PORT_OUT, JOIN, "tcp://[fe80::1%nosuch]:7100",
                                 &stage.terms, NULL),
                 TND_OK);

    uint64_t until = stage_now(&stage) + DEADLINE_NS;
    while (!tnd_hub_refused(worker.hub, PORT_OUT, JOIN)) {
        cr_assert_lt(stage_now(&stage), until);
        while (site_step(&worker))
            continue;
        tnd_hub_wait(worker.hub, stage_now(&stage) + 5000000);
    }

    part(&stage, NULL, &worker);
}
