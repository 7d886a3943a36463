/*  transport/inproc/mailbox.h - messages by pointer between the hubs of one process.
 *
 *  A mailbox has the messages received by one hub.  Any thread appends to it without a lock, and
 *  without a system call unless the owner sleeps.  A pipe is one connection between two mailboxes.
 *  Its messages arrive in order, and its end after them.
 *
 *  Ownership: mailboxes and pipes are reference-counted; a message refers to its pipe, a pipe to
 *  both mailboxes.  A payload that is not taken is dropped.
 *
 *  Threads: next, doze, rise, sleep and close by the owner of the mailbox; send and shut of a pipe's side
 *  by the owner of that side's mailbox; wake: any, signal-safe. */
#ifndef TND_TRANSPORT_INPROC_MAILBOX_H
#define TND_TRANSPORT_INPROC_MAILBOX_H

#include "runtime/interface/link.h"

typedef struct tnd_mailbox tnd_mailbox_t;

/*  Errors: TND_FAILED if no file descriptor is left; `name` is for the error text. */
tnd_status_t tnd_mailbox_new(tnd_mailbox_t **self_p, const char *name,
                             tnd_error_t *error) TND_CHECKED;
/*  Drops all messages; later ones are refused. */
void tnd_mailbox_close(tnd_mailbox_t **self_p);

/*  Becomes readable when a message arrives while the owner dozes. */
int tnd_mailbox_descriptor(const tnd_mailbox_t *self);
/*  The owner is about to wait for the descriptor.  Returns false if there is a message or a wake. */
bool tnd_mailbox_doze(tnd_mailbox_t *self);
/*  The owner no longer waits. */
void tnd_mailbox_rise(tnd_mailbox_t *self);
/*  Waits for a message or a wake, at most `wait_ms` (-1: without limit): for an owner that waits for
 *  nothing else.  Costs two thirds of dozing, because no descriptor is polled, read and written. */
void tnd_mailbox_sleep(tnd_mailbox_t *self, int wait_ms);
/*  Ends the wait of the owner, or its next one at once. */
void tnd_mailbox_wake(tnd_mailbox_t *self);

/*  Mailboxes whose owners sleep and have messages.  A sender that wakes each receiver once for
 *  several messages saves most of the system calls and task switches. */
enum { TND_SLEEPERS_MAX = 16 };

typedef struct {
    tnd_mailbox_t *mailboxes[TND_SLEEPERS_MAX]; /* referenced */
    uint32_t count;
} tnd_sleepers_t;

/*  Wakes the owners. */
void tnd_sleepers_wake(tnd_sleepers_t *self);

typedef enum { TND_SIDE_DIALER, TND_SIDE_BINDER } tnd_side_t;

typedef struct tnd_pipe {
    tnd_mailbox_t *mailboxes[2];  /* by tnd_side_t */
    void *owners[2];              /* each for its own side: the dial, the bound port */
    void *route;                  /* the binding side's; NULL: no HELLO yet */
    _Atomic bool shut[2];         /* that side takes no more messages */
    _Atomic unsigned int holders; /* the dialling side, the route, messages in flight */
} tnd_pipe_t;

/*  One message in flight. */
typedef struct tnd_inproc_message {
    struct tnd_inproc_message *next;
    tnd_buffer_t *memory; /* of this struct */
    tnd_pipe_t *pipe;
    tnd_side_t side; /* of the receiver */
    bool is_end;     /* the other side has been shut */
    bool owns_payload;
    tnd_carry_t carry;
    tnd_msg_t msg;
    tnd_buffer_t *cursor; /* of a REWIND, copied */
    char text[256];       /* of a REFUSE */
} tnd_inproc_message_t;

/*  A new pipe, held by its dialling side. */
tnd_pipe_t *tnd_pipe_new(tnd_mailbox_t *dialer, void *dial, tnd_mailbox_t *binder, void *port);
void tnd_pipe_hold(tnd_pipe_t *self);
void tnd_pipe_drop(tnd_pipe_t *self);
/*  Sends to the other side, in a buffer of the sender's pool (sizeof(tnd_inproc_message_t) bytes).
 *  If the receiver sleeps, it is added to `sleepers`, and tnd_sleepers_wake wakes it.  Returns
 *  false if the other side is shut; then the caller still owns the payload. */
bool tnd_pipe_send(tnd_pipe_t *self, tnd_side_t from, tnd_pool_t *messages, const tnd_msg_t *msg,
                   tnd_carry_t carry, tnd_sleepers_t *sleepers);
/*  Ends the caller's side, notifies the other side and releases the caller's reference. */
void tnd_pipe_shut(tnd_pipe_t *self, tnd_side_t own, tnd_pool_t *messages);

/*  The next message, NULL if there is none.  The caller takes its payload by setting `owns_payload`
 *  to false; other pointers are valid until tnd_inproc_message_drop. */
tnd_inproc_message_t *tnd_mailbox_next(tnd_mailbox_t *self);
void tnd_inproc_message_drop(tnd_inproc_message_t *self);

#endif
