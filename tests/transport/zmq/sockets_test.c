/*  tests/transport/zmq/sockets_test.c - whose turn it is, and what ends a wait; over pairs inside
 *  the process. */
#include "transport/zmq/sockets.h"

#include <stdio.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <zmq.h>

enum { LINES = 3 };

/*  Lines with a socket at the other end of each. */
typedef struct {
    void *context, *far[LINES];
    tnd_sockets_t lines;
    tnd_socket_t line[LINES];
    int wake_fd;
} bench_t;

static struct tnd_dial *const a_dial = (struct tnd_dial *)(void *)&(char){0};

static void open_bench(bench_t *self)
{
    self->context = zmq_ctx_new();
    self->wake_fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    tnd_sockets_init(&self->lines, self->wake_fd);
    for (int i = 0; i < LINES; i++) {
        char name[32];
        snprintf(name, sizeof name, "inproc://%d", i);
        self->line[i] = (tnd_socket_t){.dial = a_dial, .data = zmq_socket(self->context, ZMQ_PAIR)};
        self->far[i] = zmq_socket(self->context, ZMQ_PAIR);
        cr_assert(eq(int, zmq_bind(self->line[i].data, name), 0));
        cr_assert(eq(int, zmq_connect(self->far[i], name), 0));
        tnd_sockets_add(&self->lines, &self->line[i]);
    }
    cr_assert(not(tnd_sockets_look(&self->lines)));
}

static void close_bench(bench_t *self)
{
    for (int i = 0; i < LINES; i++) {
        tnd_sockets_close(&self->lines, &self->line[i], 0);
        zmq_close(self->far[i]);
    }
    tnd_sockets_fini(&self->lines);
    close(self->wake_fd);
    zmq_ctx_term(self->context);
}

static void say(bench_t *self, int line)
{
    cr_assert(eq(int, zmq_send(self->far[line], "x", 1, 0), 1));
}

Test(sockets, only_sockets_with_messages_are_found)
{
    bench_t bench;
    open_bench(&bench);

    say(&bench, 1);

    cr_assert(tnd_sockets_next(&bench.lines) == NULL, "no poll yet");
    cr_assert(tnd_sockets_wait(&bench.lines, -1));
    cr_assert(tnd_sockets_next(&bench.lines) == &bench.line[1]);
    bench.line[1].ready = false;
    cr_assert(tnd_sockets_next(&bench.lines) == NULL);
    close_bench(&bench);
}

Test(sockets, that_are_all_busy_have_equal_shares)
{
    bench_t bench;
    open_bench(&bench);
    int turns[LINES] = {0};
    for (int i = 0; i < LINES; i++)
        bench.line[i].ready = true;

    for (int i = 0; i < LINES * 64; i++)
        turns[tnd_sockets_next(&bench.lines) - bench.line]++;

    for (int i = 0; i < LINES; i++)
        cr_assert(eq(int, turns[i], 64), "line %d", i);
    close_bench(&bench);
}

Test(sockets, idle_sockets_are_read_while_another_is_always_busy)
{
    bench_t bench;
    open_bench(&bench);
    bench.line[0].ready = true;
    say(&bench, 2);

    int asked = 0;
    while (tnd_sockets_next(&bench.lines) != &bench.line[2] && asked < 1000)
        asked++;

    cr_assert(asked < 1000);
    close_bench(&bench);
}

Test(sockets, touched_sockets_are_checked_before_a_wait)
{
    bench_t bench;
    open_bench(&bench);
    say(&bench, 0);

    cr_assert(tnd_socket_has_input(&bench.line[0]), "which swallows what the descriptor tells");
    bench.line[0].touched = true;

    cr_assert(tnd_sockets_wait(&bench.lines, 0));
    cr_assert(tnd_sockets_next(&bench.lines) == &bench.line[0]);
    close_bench(&bench);
}

Test(sockets, one_wake_ends_one_wait_and_a_poll_does_not_consume_it, .timeout = 10)
{
    bench_t bench;
    open_bench(&bench);

    cr_assert(eq(int, (int)write(bench.wake_fd, &(uint64_t){1}, sizeof(uint64_t)), 8));
    cr_assert(not(tnd_sockets_look(&bench.lines)));
    cr_assert(not(tnd_sockets_wait(&bench.lines, -1)));

    struct pollfd again = {.fd = bench.lines.wake_fd, .events = POLLIN};
    cr_assert(eq(int, poll(&again, 1, 0), 0), "the next wait is not ended");
    close_bench(&bench);
}

Test(sockets, that_are_closed_have_no_turn_and_can_be_opened_again)
{
    bench_t bench;
    open_bench(&bench);
    say(&bench, 0);
    cr_assert(tnd_sockets_wait(&bench.lines, -1));

    tnd_sockets_close(&bench.lines, &bench.line[0], 0);
    cr_assert(tnd_sockets_next(&bench.lines) == NULL);

    bench.line[0].data = zmq_socket(bench.context, ZMQ_PAIR);
    tnd_sockets_add(&bench.lines, &bench.line[0]);
    cr_assert(not(tnd_sockets_look(&bench.lines)), "what came before went with its socket");
    close_bench(&bench);
}
