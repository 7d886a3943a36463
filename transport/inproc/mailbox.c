/*  transport/inproc/mailbox.c - messages by pointer between the hubs of one process. */
#include "transport/inproc/mailbox.h"

#include <assert.h>
#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "runtime/base/allocation.h"
#include "runtime/feed/futex_wait.h"

/*  How the owner is to be woken. */
enum { AWAKE, DOZES, SLEEPS };

struct tnd_mailbox {
    tnd_inproc_message_t *taken; /* the owner's, oldest first */
    int fd;
    /*  Newest first; `closed` once the owner has closed it. */
    _Alignas(64) _Atomic(tnd_inproc_message_t *) arrived;
    _Atomic uint32_t state; /* one of those above, at which the owner sleeps */
    atomic_bool woken;
    atomic_uint holders; /* the owner and the pipes */
};

/*  The value of `arrived` once the mailbox is closed. */
static tnd_inproc_message_t closed;

tnd_status_t tnd_mailbox_new(tnd_mailbox_t **self_p, const char *name, tnd_error_t *error)
{
    int fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    if (fd < 0)
        return tnd_fail(error,
                        "%s: no file descriptor for its connections (%s): raise the limit of open "
                        "files (ulimit -n)",
                        name, strerror(errno));
    tnd_mailbox_t *self = tnd_allocate_aligned(64, sizeof *self);
    memset(self, 0, sizeof *self);
    self->fd = fd;
    atomic_init(&self->holders, 1);
    *self_p = self;
    return TND_OK;
}

static void release(tnd_mailbox_t *self)
{
    if (atomic_fetch_sub_explicit(&self->holders, 1, memory_order_acq_rel) != 1)
        return;
    close(self->fd);
    free(self);
}

static tnd_inproc_message_t *reversed(tnd_inproc_message_t *newest)
{
    tnd_inproc_message_t *oldest = NULL;
    while (newest != NULL) {
        tnd_inproc_message_t *next = newest->next;
        newest->next = oldest;
        oldest = newest;
        newest = next;
    }
    return oldest;
}

tnd_inproc_message_t *tnd_mailbox_next(tnd_mailbox_t *self)
{
    if (self->taken == NULL) {
        if (atomic_load_explicit(&self->arrived, memory_order_relaxed) == NULL)
            return NULL;
        self->taken =
            reversed(atomic_exchange_explicit(&self->arrived, NULL, memory_order_acquire));
    }
    tnd_inproc_message_t *message = self->taken;
    self->taken = message->next;
    return message;
}

int tnd_mailbox_descriptor(const tnd_mailbox_t *self)
{
    return self->fd;
}

static void drop_all(tnd_inproc_message_t *message)
{
    while (message != NULL) {
        tnd_inproc_message_t *next = message->next;
        tnd_inproc_message_drop(message);
        message = next;
    }
}

void tnd_mailbox_close(tnd_mailbox_t **self_p)
{
    tnd_mailbox_t *self = *self_p;
    *self_p = NULL;
    tnd_inproc_message_t *newest =
        atomic_exchange_explicit(&self->arrived, &closed, memory_order_acq_rel);
    drop_all(self->taken);
    drop_all(reversed(newest));
    release(self);
}

/*  Sequentially consistent, like rest: either the owner sees what was stored before this call, or
 *  this call sees that the owner waits. */
static void ring(tnd_mailbox_t *self)
{
    uint64_t one = 1;
    if (atomic_load(&self->state) == AWAKE)
        return;
    uint32_t was = atomic_exchange(&self->state, AWAKE);
    if (was == DOZES)
        (void)!write(self->fd, &one, sizeof one);
    else if (was == SLEEPS)
        tnd_futex_notify(&self->state);
}

static bool rest(tnd_mailbox_t *self, uint32_t state)
{
    atomic_store(&self->state, state);
    if (!atomic_exchange(&self->woken, false) && self->taken == NULL &&
        atomic_load(&self->arrived) == NULL)
        return true;
    atomic_store(&self->state, AWAKE);
    return false;
}

bool tnd_mailbox_doze(tnd_mailbox_t *self)
{
    return rest(self, DOZES);
}

void tnd_mailbox_rise(tnd_mailbox_t *self)
{
    atomic_store(&self->state, AWAKE);
    atomic_store(&self->woken, false);
}

void tnd_mailbox_sleep(tnd_mailbox_t *self, int wait_ms)
{
    if (!rest(self, SLEEPS))
        return;
    tnd_futex_sleep(&self->state, SLEEPS, wait_ms);
    tnd_mailbox_rise(self);
}

void tnd_mailbox_wake(tnd_mailbox_t *self)
{
    atomic_store(&self->woken, true);
    ring(self);
}

void tnd_sleepers_wake(tnd_sleepers_t *self)
{
    for (uint32_t i = 0; i < self->count; i++) {
        ring(self->mailboxes[i]);
        release(self->mailboxes[i]);
    }
    self->count = 0;
}

static void note_sleeper(tnd_sleepers_t *self, tnd_mailbox_t *mailbox)
{
    if (atomic_load(&mailbox->state) == AWAKE)
        return;
    for (uint32_t i = 0; i < self->count; i++)
        if (self->mailboxes[i] == mailbox)
            return;
    if (self->count == TND_SLEEPERS_MAX)
        tnd_sleepers_wake(self);
    atomic_fetch_add_explicit(&mailbox->holders, 1, memory_order_relaxed);
    self->mailboxes[self->count++] = mailbox;
}

/*  False: the mailbox is closed. */
static bool append(tnd_mailbox_t *self, tnd_inproc_message_t *message)
{
    tnd_inproc_message_t *head = atomic_load_explicit(&self->arrived, memory_order_relaxed);
    do {
        if (head == &closed)
            return false;
        message->next = head;
    } while (!atomic_compare_exchange_weak(&self->arrived, &head, message));
    return true;
}

/* --- pipes ------------------------------------------------------------------------------------ */

tnd_pipe_t *tnd_pipe_new(tnd_mailbox_t *dialer, void *dial, tnd_mailbox_t *binder, void *port)
{
    tnd_pipe_t *self = tnd_allocate(1, sizeof *self);
    *self = (tnd_pipe_t){.mailboxes = {[TND_SIDE_DIALER] = dialer, [TND_SIDE_BINDER] = binder},
                         .owners = {[TND_SIDE_DIALER] = dial, [TND_SIDE_BINDER] = port}};
    atomic_init(&self->holders, 1);
    atomic_fetch_add_explicit(&dialer->holders, 1, memory_order_relaxed);
    atomic_fetch_add_explicit(&binder->holders, 1, memory_order_relaxed);
    return self;
}

void tnd_pipe_hold(tnd_pipe_t *self)
{
    atomic_fetch_add_explicit(&self->holders, 1, memory_order_relaxed);
}

void tnd_pipe_drop(tnd_pipe_t *self)
{
    if (atomic_fetch_sub_explicit(&self->holders, 1, memory_order_acq_rel) != 1)
        return;
    release(self->mailboxes[TND_SIDE_DIALER]);
    release(self->mailboxes[TND_SIDE_BINDER]);
    free(self);
}

static tnd_side_t other(tnd_side_t side)
{
    return side == TND_SIDE_DIALER ? TND_SIDE_BINDER : TND_SIDE_DIALER;
}

static tnd_inproc_message_t *new_message(tnd_pipe_t *pipe, tnd_side_t to, tnd_pool_t *messages)
{
    tnd_buffer_t *memory = tnd_pool_take(messages);
    tnd_inproc_message_t *self = tnd_buffer_data(memory);
    self->memory = memory;
    self->pipe = pipe;
    self->side = to;
    self->cursor = NULL;
    self->carry = TND_CARRY_NOTHING;
    self->owns_payload = self->is_end = false;
    tnd_pipe_hold(pipe);
    return self;
}

static void copy_cursor(tnd_inproc_message_t *self)
{
    self->cursor = tnd_buffer_new(sizeof(tnd_cursor_t));
    memcpy(tnd_buffer_data(self->cursor), self->msg.rewind.cursor, sizeof(tnd_cursor_t));
    self->msg.rewind.cursor = tnd_buffer_data(self->cursor);
}

bool tnd_pipe_send(tnd_pipe_t *self, tnd_side_t from, tnd_pool_t *messages, const tnd_msg_t *msg,
                   tnd_carry_t carry, tnd_sleepers_t *sleepers)
{
    tnd_side_t to = other(from);
    if (atomic_load_explicit(&self->shut[to], memory_order_acquire))
        return false;
    tnd_inproc_message_t *message = new_message(self, to, messages);
    message->owns_payload = true;
    message->carry = carry;
    message->msg = *msg;
    if (carry == TND_CARRY_CURSOR)
        copy_cursor(message);
    if (msg->kind == TND_MSG_REFUSE) {
        snprintf(message->text, sizeof message->text, "%s", msg->refuse.why);
        message->msg.refuse.why = message->text;
    }
    if (append(self->mailboxes[to], message)) {
        note_sleeper(sleepers, self->mailboxes[to]);
        return true;
    }
    message->owns_payload = false;
    tnd_inproc_message_drop(message);
    return false;
}

void tnd_pipe_shut(tnd_pipe_t *self, tnd_side_t own, tnd_pool_t *messages)
{
    tnd_side_t to = other(own);
    bool was_shut = atomic_exchange(&self->shut[own], true);
    assert(!was_shut);
    if (!atomic_load_explicit(&self->shut[to], memory_order_acquire)) {
        tnd_inproc_message_t *message = new_message(self, to, messages);
        message->is_end = true;
        if (append(self->mailboxes[to], message))
            ring(self->mailboxes[to]);
        else
            tnd_inproc_message_drop(message);
    }
    tnd_pipe_drop(self);
}

void tnd_inproc_message_drop(tnd_inproc_message_t *self)
{
    tnd_buffer_t *memory = self->memory;
    if (self->owns_payload)
        tnd_msg_drop(&self->msg, self->carry);
    tnd_buffer_drop(&self->cursor);
    tnd_pipe_drop(self->pipe);
    tnd_buffer_drop(&memory);
}
