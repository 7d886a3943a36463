/*  tools/remote/leader_link.c - looks at all hosts of a run by the control connection of its leader. */
#include "tools/remote/leader_link.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "runtime/base/allocation.h"
#include "runtime/base/clock.h"
#include "runtime/base/thread.h"
#include "runtime/core/protocol/inspectors.h"
#include "runtime/data/buffer.h"
#include "runtime/interface/link.h"
#include "runtime/text/printable.h"
#include "tools/remote/page_mirror.h"
#include "tools/remote/remote_presence.h"

static const uint64_t link_timeout_ns = 1000000000;
/*  The time between two sweeps over a host's file, and until an unanswered question is repeated. */
static const uint64_t sweep_every_ns = 150000000, again_ns = 2 * TND_LOOK_AGAIN_NS;

/*  A host of the run. */
typedef struct {
    tnd_page_mirror_t *mirror;
    uint32_t number;           /* of its last answer */
    uint64_t added_ns, due_ns; /* since when it is known; when to ask again */
    tnd_error_t error;         /* why its last answer was of no use; "": it was */
} asked_host_t;

struct tnd_leader_link {
    char address[160];
    void *context;
    tnd_hub_t *hub;
    tnd_actor_id_t id;
    pthread_t thread;
    pthread_mutex_t lock; /* guards the rest */
    pthread_cond_t changed;
    bool stop;
    bool up;           /* the leader is connected */
    bool absent;       /* nothing listens at its address */
    char refusal[256]; /* the leader refused this inspector, for ever */
    asked_host_t *hosts;
    uint32_t host_count;
};

/* --- the thread ------------------------------------------------------------------------------- */

/*  The leader's answers say how many hosts there are. */
static void add_hosts(tnd_leader_link_t *self, uint64_t count)
{
    count = count < TND_LEADER_LINK_HOSTS ? count : TND_LEADER_LINK_HOSTS;
    if (count <= self->host_count)
        return;
    self->hosts = tnd_resize(self->hosts, count, sizeof *self->hosts);
    while (self->host_count < count)
        self->hosts[self->host_count++] =
            (asked_host_t){.mirror = tnd_page_mirror_new(), .added_ns = tnd_clock_now()};
}

static void ask(tnd_leader_link_t *self, uint32_t host, uint64_t now)
{
    asked_host_t *asked = &self->hosts[host];
    tnd_look_question_t question = tnd_page_mirror_question(asked->mirror);
    tnd_msg_t msg = {.kind = TND_MSG_LOOK, .from = self->id, .to = TND_LEADER};
    tnd_buffer_t *payload = tnd_buffer_new(sizeof question);
    memcpy(tnd_buffer_data(payload), &question, sizeof question);
    tnd_buffer_seal(payload);
    msg.note.number = (uint64_t)asked->number << 32 | host;
    msg.note.payload = payload;
    asked->due_ns = now + again_ns;
    if (tnd_hub_send(self->hub, 0, tnd_host_id(0), &msg, TND_CARRY_BUFFER) != TND_OK)
        tnd_msg_drop(&msg, TND_CARRY_BUFFER);
}

static void take_answer(tnd_leader_link_t *self, const tnd_msg_t *msg, uint64_t now)
{
    tnd_buffer_t *payload = msg->note.payload;
    uint32_t host = (uint32_t)msg->note.number;
    if (msg->kind != TND_MSG_LOOK || payload == NULL || host >= self->host_count)
        return;
    asked_host_t *asked = &self->hosts[host];
    asked->number = (uint32_t)(msg->note.number >> 32);
    asked->error.text[0] = '\0';
    tnd_status_t status = tnd_page_mirror_apply(asked->mirror, tnd_buffer_data(payload),
                                                tnd_buffer_size(payload), now, &asked->error);
    bool rests = status != TND_OK || tnd_page_mirror_is_whole(asked->mirror);
    asked->due_ns = rests ? now + sweep_every_ns : now;
    if (host == 0 && status == TND_OK)
        add_hosts(self, tnd_page_mirror_hosts(asked->mirror));
    pthread_cond_broadcast(&self->changed);
}

static void take(tnd_leader_link_t *self, tnd_arrival_t *arrival, uint64_t now)
{
    switch (arrival->kind) {
    case TND_ARRIVAL_UP:
        self->up = true;
        for (uint32_t h = 0; h < self->host_count; h++) {
            self->hosts[h].number = 0;
            self->hosts[h].due_ns = 0;
        }
        break;
    case TND_ARRIVAL_LOST:
        self->up = false;
        break;
    case TND_ARRIVAL_REFUSED:
        self->up = false;
        snprintf(self->refusal, sizeof self->refusal, "%s", arrival->why);
        (void)tnd_printable(self->refusal, sizeof self->refusal);
        break;
    case TND_ARRIVAL_MESSAGE:
        take_answer(self, &arrival->msg, now);
        tnd_msg_drop(&arrival->msg, arrival->carry);
        break;
    }
    pthread_cond_broadcast(&self->changed);
}

/*  Returns when to call it again. */
static uint64_t work(tnd_leader_link_t *self, uint64_t now)
{
    uint64_t due = now + sweep_every_ns;
    tnd_arrival_t arrival;
    while (tnd_hub_receive(self->hub, &arrival) == TND_OK)
        take(self, &arrival, now);
    self->absent = !self->up && tnd_hub_refused(self->hub, 0, tnd_host_id(0));
    for (uint32_t h = 0; h < self->host_count && self->up; h++) {
        if (now >= self->hosts[h].due_ns)
            ask(self, h, now);
        due = self->hosts[h].due_ns < due ? self->hosts[h].due_ns : due;
    }
    return due;
}

static void *link_main(void *context)
{
    tnd_leader_link_t *self = context;
    bool stop = false;
    tnd_thread_name("leader link");
    while (!stop) {
        pthread_mutex_lock(&self->lock);
        uint64_t due = work(self, tnd_clock_now());
        stop = self->stop;
        pthread_mutex_unlock(&self->lock);
        if (!stop && tnd_hub_wait(self->hub, due) != TND_OK)
            stop = true;
    }
    return NULL;
}

/* --- the connection --------------------------------------------------------------------------- */

static tnd_status_t check_address(const char *address, tnd_error_t *error)
{
    const char *colon = strrchr(address, ':');
    size_t digits = colon != NULL ? strspn(colon + 1, "0123456789") : 0;
    bool is_port = digits > 0 && digits <= 5 && colon[1 + digits] == '\0';
    long port = is_port ? strtol(colon + 1, NULL, 10) : 0;
    size_t length = colon != NULL ? (size_t)(colon - address) : 0;
    bool plain = length > 0 && length < 128 && strcspn(address, " /;*") == strlen(address) &&
                 (memchr(address, ':', length) == NULL || address[0] == '[');
    if (!plain || port < 1 || port > 65535)
        return tnd_fail(error,
                        "--leader takes the address and port of the first host, such as "
                        "10.0.0.1:7100, not '%s'",
                        address);
    return TND_OK;
}

static tnd_status_t connect(tnd_leader_link_t *self, tnd_error_t *error)
{
    uint64_t life = tnd_clock_read(CLOCK_REALTIME);
    uint64_t mixed = (life ^ (uint64_t)getpid() << 32) * UINT64_C(0x9e3779b97f4a7c15);
    char endpoint[TND_ENDPOINT_SIZE];
    self->id = TND_INSPECTOR_FIRST + (tnd_actor_id_t)(mixed >> 36);
    tnd_hub_config_t config = {.self = self->id,
                               .name = "inspector",
                               .life = life,
                               .link_timeout_ns = link_timeout_ns,
                               .frame_max = 64 << 10};
    tnd_terms_t terms = {.abi = TND_WIRE_ABI};
    snprintf(endpoint, sizeof endpoint, "tcp://%s", self->address);
    self->context = tnd_network->create();
    TND_TRY(tnd_hub_open(tnd_network->hub, &self->hub, self->context, &config, error));
    return tnd_hub_connect(self->hub, 0, tnd_host_id(0), endpoint, &terms, error);
}

tnd_status_t tnd_leader_link_new(tnd_leader_link_t **self_p, const char *address,
                                 tnd_error_t *error)
{
    *self_p = NULL;
    TND_TRY(check_address(address, error));
    tnd_leader_link_t *self = tnd_allocate_zeroed(1, sizeof *self);
    pthread_mutex_init(&self->lock, NULL);
    tnd_condition_init_monotonic(&self->changed);
    snprintf(self->address, sizeof self->address, "%s", address);
    add_hosts(self, 1);
    tnd_status_t status = connect(self, error);
    if (status == TND_OK)
        status = tnd_thread_create_without_signals(&self->thread, "the connection to the leader",
                                                   link_main, self, error);
    if (status != TND_OK)
        self->thread = 0;
    *self_p = self;
    if (status != TND_OK)
        tnd_leader_link_destroy(self_p);
    return status;
}

void tnd_leader_link_destroy(tnd_leader_link_t **self_p)
{
    tnd_leader_link_t *self = *self_p;
    *self_p = NULL;
    if (self == NULL)
        return;
    pthread_mutex_lock(&self->lock);
    self->stop = true;
    pthread_mutex_unlock(&self->lock);
    if (self->thread != 0) {
        tnd_hub_wake(self->hub);
        pthread_join(self->thread, NULL);
    }
    tnd_hub_close(&self->hub, 0);
    tnd_network->destroy(&self->context);
    for (uint32_t h = 0; h < self->host_count; h++)
        tnd_page_mirror_free(self->hosts[h].mirror);
    free(self->hosts);
    pthread_mutex_destroy(&self->lock);
    pthread_cond_destroy(&self->changed);
    free(self);
}

/* --- looks ------------------------------------------------------------------------------------ */

/*  Since when nothing was heard of a host; 0: it answers, or has had no time to. */
static uint64_t silent_since(const asked_host_t *asked, uint64_t now, uint64_t patience_ns)
{
    uint64_t heard = tnd_page_mirror_heard(asked->mirror);
    uint64_t since = heard != 0 ? heard : asked->added_ns;
    return now >= since + patience_ns ? since : 0;
}

/*  Whether a host has not shown itself since `from`, but may do so soon. */
static bool is_awaited(const tnd_leader_link_t *self, const asked_host_t *asked, uint64_t from,
                       uint64_t now, uint64_t patience_ns)
{
    return self->refusal[0] == '\0' && asked->error.text[0] == '\0' &&
           tnd_page_mirror_swept(asked->mirror) < from &&
           silent_since(asked, now, patience_ns) == 0;
}

static void wait_for_answers(tnd_leader_link_t *self, uint64_t wait_ns, uint64_t patience_ns)
{
    uint64_t from = tnd_clock_now(), end = from + wait_ns;
    for (uint64_t now = from; now < end; now = tnd_clock_now()) {
        bool awaited = false;
        for (uint32_t h = 0; h < self->host_count; h++)
            awaited = awaited || is_awaited(self, &self->hosts[h], from, now, patience_ns);
        if (!awaited)
            return;
        /* Short, because patience with a silent host may end in between. */
        uint64_t until = now + 20000000 < end ? now + 20000000 : end;
        struct timespec deadline = {(time_t)(until / 1000000000u), (long)(until % 1000000000u)};
        (void)pthread_cond_timedwait(&self->changed, &self->lock, &deadline);
    }
}

/*  The record that the leader has of a host; NULL: none. */
static const tnd_host_record_t *record_of(const tnd_inspection_t *look, uint32_t host)
{
    const tnd_inspected_t *leader = look->count > 0 ? &look->processes[0] : NULL;
    return leader != NULL && leader->record.page->host == 0 && host < leader->record.shape.hosts
               ? &leader->record.hosts[host]
               : NULL;
}

/*  Whether a host has a process that is expected to answer. */
static bool takes_part(const tnd_host_record_t *record)
{
    return record == NULL ||
           (record->presence != TND_PRESENCE_EXPECTED && record->presence != TND_PRESENCE_LEFT);
}

/*  Adds the process of a host; the leader's comes first. */
static void add_process(const tnd_leader_link_t *self, uint32_t host, tnd_look_t what,
                        uint64_t silent_ns, tnd_inspection_t *look, tnd_error_t *error)
{
    tnd_inspected_t process;
    const tnd_page_mirror_t *mirror = self->hosts[host].mirror;
    if (tnd_page_mirror_swept(mirror) == 0 || self->absent)
        return;
    if (tnd_page_mirror_process(mirror, what, &process, error) != TND_OK)
        return;
    const tnd_host_record_t *record = record_of(look, host);
    if (host == 0 && process.record.page->host == 0 && process.record.shape.hosts > 0)
        record = &process.record.hosts[0];
    snprintf(process.machine, sizeof process.machine, "%s",
             record != NULL && record->address[0] != '\0' ? record->address : self->address);
    snprintf(process.path, sizeof process.path, "%s/%" PRIu32, self->address, host);
    process.silent_ns = silent_ns;
    /* Claims about another run or host would hide theirs. */
    bool fits = process.record.page->host == host &&
                (look->count == 0 || tnd_inspected_same(&process, &look->processes[0]));
    if (fits) {
        tnd_inspection_move(look, &process);
        return;
    }
    (void)tnd_fail(error, "it shows another run or host; it may have just started");
    free(process.actors);
    free(process.record_memory);
}

static void print_host(FILE *out, const tnd_inspection_t *look, uint32_t host, uint64_t silent_ns,
                       bool shown, const char *error)
{
    const tnd_host_record_t *record = record_of(look, host);
    if ((silent_ns == 0 && error[0] == '\0') || record == NULL || !takes_part(record))
        return;
    fprintf(out, "host %s (%s): ", record->name, record->address);
    if (error[0] != '\0')
        fputs(error, out);
    else
        fprintf(out, "it has not answered for %.1f s", (double)(look->now_ns - silent_ns) * 1e-9);
    tnd_remote_presence_print(out, record, look->now_ns);
    fputs(shown ? "; it is shown as it was\n" : "\n", out);
}

/*  What is wrong with the connection itself.  Returns whether the hosts need not be reported. */
static bool print_leader(FILE *out, const tnd_leader_link_t *self, uint64_t now,
                         uint64_t patience_ns)
{
    uint64_t silent_ns = silent_since(&self->hosts[0], now, patience_ns);
    bool known = tnd_page_mirror_swept(self->hosts[0].mirror) != 0;
    if (self->refusal[0] != '\0')
        fprintf(out, "the leader at %s refused: %s\n", self->address, self->refusal);
    else if (self->absent)
        fprintf(out, "the leader at %s: %s\n", self->address,
                known ? "the run has ended, because nothing listens there any more"
                      : "nothing listens there");
    else if (silent_ns != 0 && !self->up)
        fprintf(out, "the leader at %s does not answer (for %.1f s)%s\n", self->address,
                (double)(now - silent_ns) * 1e-9,
                known ? "; all hosts are shown as they were" : "");
    else
        return false;
    return true;
}

tnd_inspection_t *tnd_leader_link_look(tnd_leader_link_t *self, tnd_look_t what, uint64_t wait_ns,
                                       uint64_t patience_ns)
{
    tnd_inspection_t *look = tnd_allocate_zeroed(1, sizeof *look);
    size_t size = 0;
    FILE *out = tnd_memory_stream(&look->unread, &size);
    pthread_mutex_lock(&self->lock);
    wait_for_answers(self, wait_ns, patience_ns);
    look->now_ns = tnd_clock_now();
    bool reported = print_leader(out, self, look->now_ns, patience_ns);
    for (uint32_t h = 0; h < self->host_count; h++) {
        const asked_host_t *asked = &self->hosts[h];
        uint64_t silent_ns = silent_since(asked, look->now_ns, patience_ns);
        tnd_error_t error = asked->error;
        uint32_t before = look->count;
        if (takes_part(record_of(look, h)))
            add_process(self, h, what, silent_ns, look, &error);
        if (!reported)
            print_host(out, look, h, silent_ns, look->count > before, error.text);
    }
    pthread_mutex_unlock(&self->lock);
    fclose(out);
    tnd_machine_load_read("", &look->load);
    tnd_inspection_sort(look);
    return look;
}
