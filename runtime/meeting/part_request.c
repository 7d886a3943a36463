/*  runtime/meeting/part_request.c - gets a part of a checkpoint from the leader. */
#include "runtime/meeting/part_request.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "runtime/base/clock.h"
#include "runtime/data/text_payload.h"
#include "runtime/meeting/join_request.h"
#include "runtime/meeting/roster_text.h"
#include "runtime/plan/pace.h"

/*  Bytes of an answer, and how many answers are asked for before one has come. */
enum { CHUNK = 48 << 10, AHEAD = 8 };

typedef struct {
    tnd_hub_t *hub;
    tnd_actor_id_t id;
    const tnd_resume_t *resume;
    uint32_t replica;
    uint64_t asked, bytes; /* until where: asked for, written */
    int file;
} request_t;

/* --- the leader ------------------------------------------------------------------------------- */

/*  Opens a part with the bytes of that of a replica; -1: there is none. */
static int open_equal(const tnd_resume_t *resume, uint32_t replica)
{
    int file = -1;
    for (uint32_t r = 0; r < resume->replicas && file < 0; r++) {
        char path[TND_STORE_PATH];
        tnd_store_part_path(path, resume->dir, resume->step, r);
        if (tnd_saved_equal(&resume->parts[r], &resume->parts[replica]))
            file = open(path, O_RDONLY | O_CLOEXEC);
    }
    return file;
}

static tnd_buffer_t *read_chunk(int file, uint64_t offset, uint64_t bytes)
{
    size_t size = bytes - offset < CHUNK ? (size_t)(bytes - offset) : CHUNK;
    tnd_buffer_t *chunk = tnd_buffer_new(size);
    ssize_t got = pread(file, tnd_buffer_data(chunk), size, (off_t)offset);
    if (got != (ssize_t)size) { /* it was cut meanwhile: the hash will differ */
        memset(tnd_buffer_data(chunk), 0, size);
    }
    tnd_buffer_seal(chunk);
    return chunk;
}

tnd_msg_t tnd_part_answer(const tnd_resume_t *resume, const tnd_msg_t *asked)
{
    tnd_msg_t answer = {.kind = TND_MSG_JOIN_REQUEST, .from = tnd_host_id(0), .to = asked->from};
    tnd_text_payload_reader_t reader;
    uint64_t step, offset;
    uint32_t replica;
    tnd_text_payload_read(&reader, asked->note.payload);
    const char *line = tnd_text_payload_line(&reader);
    bool known = line != NULL && resume != NULL &&
                 sscanf(line, "%" SCNu64 " %" SCNu32 " %" SCNu64, &step, &replica, &offset) == 3 &&
                 step == resume->step && replica < resume->replicas &&
                 offset < resume->parts[replica].bytes;
    int file = known ? open_equal(resume, replica) : -1;
    answer.note.number = file >= 0 ? TND_ROSTER_ANSWER_PART : TND_ROSTER_ANSWER_NO;
    answer.note.payload = file >= 0 ? read_chunk(file, offset, resume->parts[replica].bytes)
                                    : tnd_text_payload_of("it has no such part");
    if (file >= 0)
        close(file);
    return answer;
}

/* --- the other hosts -------------------------------------------------------------------------- */

static uint64_t size_of(const request_t *self)
{
    return self->resume->parts[self->replica].bytes;
}

static void ask(request_t *self)
{
    while (self->asked < size_of(self) && self->asked < self->bytes + AHEAD * CHUNK) {
        tnd_msg_t msg = {.kind = TND_MSG_JOIN_REQUEST, .from = self->id, .to = tnd_host_id(0)};
        msg.note.number = TND_ROSTER_ASKS_PART;
        msg.note.payload = tnd_text_payload_of("%" PRIu64 " %" PRIu32 " %" PRIu64,
                                               self->resume->step, self->replica, self->asked);
        if (tnd_hub_send(self->hub, 0, tnd_host_id(0), &msg, TND_CARRY_BUFFER) != TND_OK) {
            tnd_msg_drop(&msg, TND_CARRY_BUFFER);
            return;
        }
        self->asked += CHUNK;
    }
}

/*  Answers come in the order of the questions. */
static tnd_status_t take(request_t *self, const tnd_msg_t *msg, tnd_error_t *error)
{
    if (msg->note.number != TND_ROSTER_ANSWER_PART || msg->note.payload == NULL)
        return tnd_fail(error, "the leader has no part with the same bytes either");
    size_t size = tnd_buffer_size(msg->note.payload);
    if (size > size_of(self) - self->bytes)
        return tnd_fail(error, "the leader has sent too much");
    if (write(self->file, tnd_buffer_data(msg->note.payload), size) != (ssize_t)size)
        return tnd_fail(error, "it cannot be written: %s", strerror(errno));
    self->bytes += size;
    ask(self);
    return TND_OK;
}

static tnd_status_t take_arrival(request_t *self, tnd_arrival_t *arrival, tnd_error_t *error)
{
    tnd_status_t status = TND_OK;
    switch (arrival->kind) {
    case TND_ARRIVAL_UP:
        self->asked = self->bytes;
        ask(self);
        break;
    case TND_ARRIVAL_REFUSED:
        return tnd_fail(error, "the leader refuses: %s", arrival->why);
    case TND_ARRIVAL_LOST:
        break;
    case TND_ARRIVAL_MESSAGE:
        if (arrival->msg.kind == TND_MSG_JOIN_REQUEST)
            status = take(self, &arrival->msg, error);
        tnd_msg_drop(&arrival->msg, arrival->carry);
        break;
    }
    return status;
}

static tnd_status_t converse(request_t *self, uint64_t timeout_ns, tnd_error_t *error)
{
    uint64_t until = tnd_clock_now() + timeout_ns;
    while (self->bytes < size_of(self)) {
        tnd_arrival_t arrival;
        if (tnd_hub_receive(self->hub, &arrival) == TND_OK) {
            TND_TRY(take_arrival(self, &arrival, error));
            until = tnd_clock_now() + timeout_ns;
        } else if (tnd_clock_now() >= until) {
            return tnd_fail(error, "the leader has not answered for %" PRIu64 " s",
                            timeout_ns / 1000000000u);
        } else {
            TND_TRY(tnd_hub_wait(self->hub, until));
        }
    }
    return TND_OK;
}

static tnd_status_t connect_and_converse(request_t *self, const tnd_hub_ops_t *ops, void *context,
                                         const tnd_plan_t *plan, tnd_error_t *error)
{
    uint64_t life = tnd_clock_read(CLOCK_REALTIME);
    tnd_terms_t terms = {.abi = TND_WIRE_ABI};
    char endpoint[TND_ENDPOINT_SIZE];
    self->id = tnd_attendee_id(life ^ self->replica);
    tnd_hub_config_t config = {
        .self = self->id,
        .name = "part",
        .life = life,
        .link_timeout_ns = tnd_pace_stretch(plan, plan->link_timeout_ns),
        .frame_max = 64 << 10,
        .admission = &plan->admission,
    };
    snprintf(endpoint, sizeof endpoint, "tcp://%s:%" PRIu32, plan->hosts[0].address,
             plan->hosts[0].port);
    TND_TRY(tnd_hub_open(ops, &self->hub, context, &config, error));
    tnd_status_t status = tnd_hub_connect(self->hub, 0, tnd_host_id(0), endpoint, &terms, error);
    if (status == TND_OK)
        status = converse(self, plan->start_timeout_ns, error);
    tnd_hub_close(&self->hub, 0);
    return status;
}

tnd_status_t tnd_part_request(const tnd_hub_ops_t *ops, void *context, const tnd_plan_t *plan,
                              const tnd_resume_t *resume, uint32_t replica, tnd_error_t *error)
{
    request_t self = {.resume = resume, .replica = replica};
    tnd_saved_t saved;
    tnd_error_t why = {.text = ""};
    char path[TND_STORE_PATH];
    TND_TRY(tnd_store_begin(resume->dir, resume->step, error));
    tnd_store_draft_path(path, resume->dir, resume->step, replica);
    self.file = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (self.file < 0)
        return tnd_fail(error, "%s: cannot be written: %s", path, strerror(errno));
    tnd_status_t status = connect_and_converse(&self, ops, context, plan, &why);
    close(self.file);
    if (status != TND_OK) {
        (void)unlink(path);
        tnd_store_part_path(path, resume->dir, resume->step, replica);
        return tnd_fail(error,
                        "%.300s is not on this host, and %.200s: copy it from the host that has "
                        "saved it, or share the folder",
                        path, why.text);
    }
    TND_TRY(tnd_store_seal(resume->dir, resume->step, replica, &saved, error));
    return tnd_saved_equal(&saved, &resume->parts[replica])
               ? TND_OK
               : tnd_fail(error, "the part of replica %" PRIu32 " that the leader has sent differs",
                          replica);
}
