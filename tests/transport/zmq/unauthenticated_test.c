/*  Covers transport/zmq/unauthenticated.h: how many connections may wait for a HELLO, and which are cut. */
#include "transport/zmq/unauthenticated.h"

#include <sys/socket.h>
#include <unistd.h>

#include <criterion/criterion.h>

/*  Descriptors that no process has. */
enum { FIRST = 1 << 28 };

static uint64_t next;

static void come(tnd_unauthenticated_t *self, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        tnd_unauthenticated_came(self, FIRST + (int)self->count, 0);
    next = UINT64_MAX;
}

static uint32_t left_unknown(const tnd_unauthenticated_t *self)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < self->count; i++)
        count += !self->visitors[i].known;
    return count;
}

Test(unauthenticated, the_oldest_of_too_many_are_cut)
{
    tnd_unauthenticated_t self = {0};
    come(&self, TND_UNAUTHENTICATED_MAX + 2);
    cr_assert_eq(tnd_unauthenticated_dismiss(&self, 1, &next), 2);
    cr_assert(self.visitors[0].known && self.visitors[1].known && !self.visitors[2].known);
    cr_assert_eq(left_unknown(&self), TND_UNAUTHENTICATED_MAX);
    tnd_unauthenticated_free(&self);
}

Test(unauthenticated, expected_peers_may_connect_at_once_beside_them)
{
    tnd_unauthenticated_t self = {.expected = 127};
    come(&self, TND_UNAUTHENTICATED_MAX + 127);
    cr_assert_eq(tnd_unauthenticated_dismiss(&self, 1, &next), 0);
    come(&self, 1);
    cr_assert_eq(tnd_unauthenticated_dismiss(&self, 1, &next), 1);
    tnd_unauthenticated_free(&self);
}

Test(unauthenticated, a_silent_connection_is_cut_in_time_even_if_there_are_few)
{
    tnd_unauthenticated_t self = {.expected = 127};
    uint64_t late = TND_UNAUTHENTICATED_MS * UINT64_C(1000000);
    come(&self, 2);
    tnd_unauthenticated_set_known(&self, FIRST, true, 0);
    cr_assert_eq(tnd_unauthenticated_dismiss(&self, late - 1, &next), 0);
    cr_assert_eq(left_unknown(&self), 1);
    cr_assert_eq(next, late);
    cr_assert_eq(tnd_unauthenticated_dismiss(&self, late, &next), 0,
                 "it was late, not one too many");
    cr_assert_eq(left_unknown(&self), 0);
    tnd_unauthenticated_free(&self);
}

Test(unauthenticated, a_peer_that_said_hello_stays_connected_when_a_silent_connection_is_cut)
{
    tnd_unauthenticated_t self = {0};
    int peer[2], silent[2];
    uint64_t late = TND_UNAUTHENTICATED_MS * UINT64_C(1000000);
    char byte = 1;
    cr_assert_eq(socketpair(AF_UNIX, SOCK_STREAM, 0, peer), 0);
    cr_assert_eq(socketpair(AF_UNIX, SOCK_STREAM, 0, silent), 0);
    tnd_unauthenticated_came(&self, peer[0], 0);
    tnd_unauthenticated_came(&self, silent[0], 0);
    tnd_unauthenticated_set_known(&self, peer[0], true, 0);

    (void)tnd_unauthenticated_dismiss(&self, late, &next);

    cr_assert_eq(send(peer[1], &byte, 1, MSG_NOSIGNAL), 1);
    cr_assert_eq(recv(peer[0], &byte, 1, MSG_DONTWAIT), 1);
    cr_assert_eq(recv(silent[1], &byte, 1, MSG_DONTWAIT), 0, "the silent connection was not cut");
    for (int i = 0; i < 2; i++) {
        close(peer[i]);
        close(silent[i]);
    }
    tnd_unauthenticated_free(&self);
}
