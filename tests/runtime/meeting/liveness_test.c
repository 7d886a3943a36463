/*  Covers runtime/meeting/liveness.h: rank 0 learns which processes have ended, by connections of this process. */
#include "runtime/meeting/liveness.h"

#include <criterion/criterion.h>
#include <poll.h>

#include "runtime/meeting/roster_text.h"

enum { SIZE = 4 };

static const uint64_t second_ns = 1000000000;

static const tnd_roster_process_t processes[] = {{.rank = 0}, {.rank = 2}, {.rank = 3}};
static const tnd_roster_list_t list = {.processes = processes, .count = 3}; /* rank 1 is missing */

typedef struct {
    tnd_liveness_t *leader, *others[SIZE];
    char invitation[TND_ROSTER_ALIVE_SIZE + 1];
} met_t;

static met_t meet(void)
{
    met_t self = {.leader = tnd_liveness_listen("127.0.0.1", 0, 0, SIZE, 10 * second_ns)};
    cr_assert_not_null(self.leader);
    tnd_liveness_invite(self.leader, self.invitation);
    for (uint32_t rank = 1; rank < SIZE; rank++) {
        self.others[rank] = tnd_liveness_connect("127.0.0.1", rank, self.invitation);
        cr_assert_not_null(self.others[rank]);
    }
    tnd_liveness_number(self.leader, &list);
    return self;
}

static void end(met_t *self)
{
    for (uint32_t rank = 1; rank < SIZE; rank++)
        tnd_liveness_destroy(&self->others[rank]);
    tnd_liveness_destroy(&self->leader);
}

/*  The next end, which the system may tell a little later. */
static uint32_t next_end(met_t *self)
{
    uint32_t host = UINT32_MAX;
    for (int n = 0; n < 10000 && !tnd_liveness_ended(self->leader, &host); n++)
        (void)poll(NULL, 0, 1);
    return host;
}

Test(liveness, the_end_of_a_process_is_that_of_its_host)
{
    met_t self = meet();
    uint32_t host;
    cr_assert_not(tnd_liveness_ended(self.leader, &host));
    tnd_liveness_destroy(&self.others[3]);
    cr_assert_eq(next_end(&self), 2);
    cr_assert_not(tnd_liveness_ended(self.leader, &host), "it is told once");
    tnd_liveness_close(self.others[2]);
    cr_assert_eq(next_end(&self), 1);
    end(&self);
}

Test(liveness, an_end_before_anything_was_accepted_is_told_and_that_of_others_is_not)
{
    met_t self = meet();
    uint32_t host;
    tnd_liveness_destroy(&self.others[1]); /* not of the run */
    tnd_liveness_destroy(&self.others[2]);
    cr_assert_eq(next_end(&self), 1);
    cr_assert_not(tnd_liveness_ended(self.leader, &host));
    end(&self);
}

Test(liveness, a_later_process_of_the_rank_counts)
{
    met_t self = meet();
    uint32_t host;
    tnd_liveness_t *later = tnd_liveness_connect("127.0.0.1", 2, self.invitation);
    cr_assert_not_null(later);
    tnd_liveness_destroy(&self.others[2]);
    cr_assert_not(tnd_liveness_ended(self.leader, &host));
    tnd_liveness_destroy(&later);
    cr_assert_eq(next_end(&self), 1);
    end(&self);
}

Test(liveness, a_host_that_is_connected_is_watched_no_longer)
{
    met_t self = meet();
    uint32_t host;
    tnd_liveness_arrived(self.leader, 1);
    tnd_liveness_destroy(&self.others[2]);
    cr_assert_not(tnd_liveness_ended(self.leader, &host));
    tnd_liveness_arrived(self.leader, 2); /* the last one */
    cr_assert_null(tnd_liveness_connect("127.0.0.1", 2, self.invitation), "nothing listens");
    cr_assert_not(tnd_liveness_ended(self.leader, &host));
    end(&self);
}

Test(liveness, a_process_that_was_lost_while_it_met_has_ended_unless_it_is_connected)
{
    met_t self = {.leader = tnd_liveness_listen("127.0.0.1", 0, 0, SIZE, 10 * second_ns)};
    uint32_t host;
    tnd_liveness_invite(self.leader, self.invitation);
    tnd_liveness_number(self.leader, &list);
    self.others[3] = tnd_liveness_connect("127.0.0.1", 3, self.invitation);
    cr_assert_not_null(self.others[3]);
    for (uint32_t rank = 1; rank < SIZE; rank++) /* rank 1 is not of the run */
        tnd_liveness_doubt(self.leader, rank);
    cr_assert(tnd_liveness_ended(self.leader, &host));
    cr_assert_eq(host, 1);
    cr_assert_not(tnd_liveness_ended(self.leader, &host));
    end(&self);
}

Test(liveness, a_connection_with_another_number_or_rank_tells_nothing)
{
    met_t self = meet();
    uint32_t host, port;
    uint64_t number;
    char false_one[TND_ROSTER_ALIVE_SIZE + 1];
    cr_assert(tnd_roster_alive_read(self.invitation, &port, &number));
    tnd_roster_alive_write(false_one, port, number + 1);
    tnd_liveness_t *guess = tnd_liveness_connect("127.0.0.1", 2, false_one),
                   *beyond = tnd_liveness_connect("127.0.0.1", SIZE, self.invitation);
    cr_assert_not_null(guess);
    cr_assert_not_null(beyond);
    tnd_liveness_destroy(&guess);
    tnd_liveness_destroy(&beyond);
    cr_assert_not(tnd_liveness_ended(self.leader, &host));
    tnd_liveness_destroy(&self.others[2]);
    cr_assert_eq(next_end(&self), 1, "the true one is still watched");
    end(&self);
}

Test(liveness, invitations_are_whole_or_none)
{
    uint32_t port;
    uint64_t number;
    char text[TND_ROSTER_ALIVE_SIZE + 2];
    tnd_roster_alive_write(text, 65536, 7);
    cr_assert_str_eq(text, "alive 00010000 0000000000000007");
    cr_assert_null(tnd_liveness_connect("127.0.0.1", 1, text), "no port");
    cr_assert(tnd_roster_alive_read(text, &port, &number));
    text[TND_ROSTER_ALIVE_SIZE - 1] = '\0';
    cr_assert_not(tnd_roster_alive_read(text, &port, &number));
    cr_assert_not(tnd_roster_alive_read("alive 00000001 00000000000000071", &port, &number));
    cr_assert_not(tnd_roster_alive_read("the run is under way", &port, &number));
    cr_assert_null(tnd_liveness_listen("10.0.0.256", 0, 0, SIZE, second_ns), "no address");
}
