/*  transport/parcel.c - a message inside a process: one frame that holds its struct and payload.
 */
#include "transport/parcel.h"

#include <assert.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

/*  `sealed` carries the order of memory from sender to receiver where tools can see it: libzmq
 *  does as much, but in machine code that they do not know.
 */
typedef struct {
    atomic_bool sealed;
    bool owns_payload;
    tnd_carry_t carry;
    tnd_msg_t msg;
    tnd_buffer_t *cursor; /* of a REWIND, copied */
    char text[256];       /* of a REFUSE */
} parcel_t;

size_t tnd_parcel_bytes(void)
{
    return sizeof(parcel_t);
}

static void release(void *data, void *hint)
{
    parcel_t *self = data;
    tnd_buffer_t *memory = hint;
    bool is_sealed = atomic_load_explicit(&self->sealed, memory_order_acquire);
    assert(is_sealed);
    if (self->owns_payload)
        tnd_msg_drop(&self->msg, self->carry);
    tnd_buffer_drop(&self->cursor);
    tnd_buffer_drop(&memory);
}

static void copy_cursor(parcel_t *self)
{
    self->cursor = tnd_buffer_new(sizeof(tnd_cursor_t));
    memcpy(tnd_buffer_data(self->cursor), self->msg.rewind.cursor, sizeof(tnd_cursor_t));
    self->msg.rewind.cursor = tnd_buffer_data(self->cursor);
}

void tnd_parcel_pack(tnd_pool_t *parcels, const tnd_msg_t *msg, tnd_carry_t carry, zmq_msg_t *frame)
{
    tnd_buffer_t *memory = tnd_pool_take(parcels);
    parcel_t *self = tnd_buffer_data(memory);
    self->owns_payload = true;
    self->carry = carry;
    self->msg = *msg;
    self->cursor = NULL;
    if (carry == TND_CARRY_CURSOR)
        copy_cursor(self);
    if (msg->kind == TND_MSG_REFUSE) {
        snprintf(self->text, sizeof self->text, "%s", msg->refuse.why);
        self->msg.refuse.why = self->text;
    }
    tnd_buffer_seal(memory);
    atomic_store_explicit(&self->sealed, true, memory_order_release);
    int failed = zmq_msg_init_data(frame, self, sizeof *self, release, memory);
    assert(failed == 0);
}

void tnd_parcel_unpack(zmq_msg_t *frame)
{
    ((parcel_t *)zmq_msg_data(frame))->owns_payload = false;
    zmq_msg_close(frame);
}

tnd_carry_t tnd_parcel_open(zmq_msg_t *frame, tnd_msg_t *msg)
{
    assert(zmq_msg_size(frame) == sizeof(parcel_t));
    parcel_t *self = zmq_msg_data(frame);
    bool is_sealed = atomic_load_explicit(&self->sealed, memory_order_acquire);
    assert(is_sealed);
    *msg = self->msg;
    self->owns_payload = false;
    return self->carry;
}

void tnd_parcel_decline(zmq_msg_t *frame)
{
    ((parcel_t *)zmq_msg_data(frame))->owns_payload = true;
}
