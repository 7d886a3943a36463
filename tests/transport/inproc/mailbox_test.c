/*  tests/transport/inproc/mailbox_test.c - pipes between mailboxes: order, ends, wake-ups. */
#include "transport/inproc/mailbox.h"

#include <poll.h>
#include <pthread.h>
#include <unistd.h>

#include <criterion/criterion.h>
#include <criterion/new/assert.h>

enum { MANY = 20000 };

/*  A pipe between two mailboxes, and a pool for each side. */
typedef struct {
    tnd_mailbox_t *mailboxes[2];
    tnd_pool_t *pools[2];
    tnd_pipe_t *pipe;
    tnd_sleepers_t sleepers; /* of the side that speaks */
} pair_t;

static pair_t open_pair(void)
{
    pair_t self = {.sleepers.count = 0};
    tnd_error_t error;
    for (int i = 0; i < 2; i++) {
        cr_assert(tnd_mailbox_new(&self.mailboxes[i], "test", &error) == TND_OK, "%s", error.text);
        self.pools[i] = tnd_pool_new(sizeof(tnd_inproc_message_t));
    }
    self.pipe =
        tnd_pipe_new(self.mailboxes[TND_SIDE_DIALER], NULL, self.mailboxes[TND_SIDE_BINDER], NULL);
    return self;
}

static void close_pair(pair_t *self)
{
    tnd_sleepers_wake(&self->sleepers);
    for (int i = 0; i < 2; i++)
        if (self->mailboxes[i] != NULL)
            tnd_mailbox_close(&self->mailboxes[i]);
    for (int i = 0; i < 2; i++) {
        cr_assert(eq(sz, tnd_pool_out(self->pools[i]), 0), "messages were lost");
        tnd_pool_destroy(&self->pools[i]);
    }
}

static bool say(pair_t *self, tnd_side_t from, uint64_t number)
{
    tnd_msg_t msg = {.kind = TND_MSG_HELD, .until.step = number};
    return tnd_pipe_send(self->pipe, from, self->pools[from], &msg, TND_CARRY_NOTHING,
                         &self->sleepers);
}

/*  The number in the next message; TND_UNKNOWN: there is none. */
static uint64_t receive(pair_t *self, tnd_side_t side, bool *end_p)
{
    tnd_inproc_message_t *message = tnd_mailbox_next(self->mailboxes[side]);
    if (message == NULL)
        return TND_UNKNOWN;
    uint64_t number = message->is_end ? 0 : message->msg.until.step;
    *end_p = message->is_end;
    cr_assert(eq(int, (int)message->side, (int)side));
    tnd_inproc_message_drop(message);
    return number;
}

Test(mailbox, messages_come_in_order_and_after_them_the_end)
{
    pair_t pair = open_pair();
    bool is_end = false;
    for (uint64_t i = 1; i <= 5; i++)
        cr_assert(say(&pair, TND_SIDE_DIALER, i));
    tnd_pipe_shut(pair.pipe, TND_SIDE_DIALER, pair.pools[TND_SIDE_DIALER]);

    for (uint64_t i = 1; i <= 5; i++)
        cr_assert(eq(u64, receive(&pair, TND_SIDE_BINDER, &is_end), i));
    cr_assert(not(is_end));
    cr_assert(eq(u64, receive(&pair, TND_SIDE_BINDER, &is_end), 0));
    cr_assert(is_end);
    cr_assert(eq(u64, receive(&pair, TND_SIDE_BINDER, &is_end), TND_UNKNOWN));
    close_pair(&pair);
}

Test(mailbox, that_is_closed_takes_nothing_and_leaves_the_payload)
{
    pair_t pair = open_pair();
    cr_assert(say(&pair, TND_SIDE_DIALER, 1));
    tnd_mailbox_close(&pair.mailboxes[TND_SIDE_BINDER]);
    tnd_buffer_t *note = tnd_buffer_new(8);
    tnd_buffer_seal(note);
    tnd_msg_t msg = {.kind = TND_MSG_LOG, .note.payload = note};

    cr_assert(not(tnd_pipe_send(pair.pipe, TND_SIDE_DIALER, pair.pools[TND_SIDE_DIALER], &msg,
                                TND_CARRY_BUFFER, &pair.sleepers)));

    tnd_buffer_drop(&note);
    tnd_pipe_shut(pair.pipe, TND_SIDE_DIALER, pair.pools[TND_SIDE_DIALER]);
    close_pair(&pair);
}

Test(mailbox, whose_owner_sleeps_is_woken_once)
{
    pair_t pair = open_pair();
    tnd_mailbox_t *mailbox = pair.mailboxes[TND_SIDE_BINDER];
    struct pollfd polled = {.fd = tnd_mailbox_descriptor(mailbox), .events = POLLIN};
    bool is_end;

    cr_assert(say(&pair, TND_SIDE_DIALER, 1));
    cr_assert(eq(int, poll(&polled, 1, 0), 0), "the owner was awake");
    cr_assert(not(tnd_mailbox_doze(mailbox)), "a message is there");
    cr_assert(eq(u64, receive(&pair, TND_SIDE_BINDER, &is_end), 1));
    cr_assert(tnd_mailbox_doze(mailbox));
    cr_assert(say(&pair, TND_SIDE_DIALER, 2));
    cr_assert(say(&pair, TND_SIDE_DIALER, 3));
    cr_assert(eq(int, poll(&polled, 1, 0), 0), "the sender has not rung yet");
    tnd_sleepers_wake(&pair.sleepers);
    uint64_t rung = 0;
    cr_assert(eq(int, (int)read(polled.fd, &rung, sizeof rung), (int)sizeof rung));
    cr_assert(eq(u64, rung, 1));

    tnd_pipe_shut(pair.pipe, TND_SIDE_DIALER, pair.pools[TND_SIDE_DIALER]);
    close_pair(&pair);
}

Test(mailbox, closed_before_its_owner_is_woken_is_harmless)
{
    pair_t pair = open_pair();
    cr_assert(tnd_mailbox_doze(pair.mailboxes[TND_SIDE_BINDER]));
    cr_assert(say(&pair, TND_SIDE_DIALER, 1));
    tnd_mailbox_close(&pair.mailboxes[TND_SIDE_BINDER]);
    tnd_pipe_shut(pair.pipe, TND_SIDE_DIALER, pair.pools[TND_SIDE_DIALER]);
    close_pair(&pair);
}

Test(mailbox, a_wake_ends_this_wait_or_the_next)
{
    pair_t pair = open_pair();
    tnd_mailbox_t *mailbox = pair.mailboxes[TND_SIDE_BINDER];

    tnd_mailbox_wake(mailbox);
    cr_assert(not(tnd_mailbox_doze(mailbox)));
    cr_assert(tnd_mailbox_doze(mailbox), "one wake ends one wait");
    tnd_mailbox_wake(mailbox);
    struct pollfd polled = {.fd = tnd_mailbox_descriptor(mailbox), .events = POLLIN};
    cr_assert(eq(int, poll(&polled, 1, 0), 1));
    tnd_mailbox_rise(mailbox);

    tnd_pipe_shut(pair.pipe, TND_SIDE_DIALER, pair.pools[TND_SIDE_DIALER]);
    close_pair(&pair);
}

Test(mailbox, whose_owner_sleeps_has_no_need_of_its_descriptor)
{
    pair_t pair = open_pair();
    tnd_mailbox_t *mailbox = pair.mailboxes[TND_SIDE_BINDER];
    struct pollfd polled = {.fd = tnd_mailbox_descriptor(mailbox), .events = POLLIN};
    bool is_end;

    tnd_mailbox_wake(mailbox);
    tnd_mailbox_sleep(mailbox, -1); /* a wake ends the next wait */
    cr_assert(say(&pair, TND_SIDE_DIALER, 1));
    tnd_mailbox_sleep(mailbox, -1); /* a message is there */
    cr_assert(eq(u64, receive(&pair, TND_SIDE_BINDER, &is_end), 1));
    tnd_mailbox_sleep(mailbox, 0); /* nothing is there */
    cr_assert(say(&pair, TND_SIDE_DIALER, 2));
    cr_assert(eq(int, (int)pair.sleepers.count, 0), "the owner is awake again");
    tnd_sleepers_wake(&pair.sleepers);
    cr_assert(eq(int, poll(&polled, 1, 0), 0));

    tnd_pipe_shut(pair.pipe, TND_SIDE_DIALER, pair.pools[TND_SIDE_DIALER]);
    close_pair(&pair);
}

static void *say_many(void *context)
{
    pair_t *pair = context;
    for (uint64_t i = 0; i < MANY; i++) {
        cr_assert(say(pair, TND_SIDE_DIALER, i));
        if (i % 3 == 0)
            tnd_sleepers_wake(&pair->sleepers);
    }
    tnd_sleepers_wake(&pair->sleepers);
    tnd_pipe_shut(pair->pipe, TND_SIDE_DIALER, pair->pools[TND_SIDE_DIALER]);
    return NULL;
}

static void doze(tnd_mailbox_t *mailbox)
{
    struct pollfd polled = {.fd = tnd_mailbox_descriptor(mailbox), .events = POLLIN};
    uint64_t rung;
    if (!tnd_mailbox_doze(mailbox))
        return;
    cr_assert(eq(int, poll(&polled, 1, 10000), 1), "no wake-up");
    cr_assert(eq(int, (int)read(polled.fd, &rung, sizeof rung), (int)sizeof rung));
    tnd_mailbox_rise(mailbox);
}

static void sleep_without_limit(tnd_mailbox_t *mailbox)
{
    tnd_mailbox_sleep(mailbox, -1);
}

static void receive_many(void (*wait)(tnd_mailbox_t *))
{
    pair_t pair = open_pair();
    tnd_mailbox_t *mailbox = pair.mailboxes[TND_SIDE_BINDER];
    pthread_t thread;
    cr_assert(eq(int, pthread_create(&thread, NULL, say_many, &pair), 0));

    uint64_t next = 0;
    for (bool is_end = false; !is_end;) {
        uint64_t number = receive(&pair, TND_SIDE_BINDER, &is_end);
        if (number == TND_UNKNOWN)
            wait(mailbox);
        else
            cr_assert(is_end || number == next++);
    }

    cr_assert(eq(u64, next, MANY));
    pthread_join(thread, NULL);
    close_pair(&pair);
}

Test(mailbox, an_owner_that_dozes_misses_nothing)
{
    receive_many(doze);
}

Test(mailbox, an_owner_that_sleeps_misses_nothing)
{
    receive_many(sleep_without_limit);
}
