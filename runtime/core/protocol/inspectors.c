/*  runtime/core/protocol/inspectors.c - who looks at a run by its control connection, and how often. */
#include "runtime/core/protocol/inspectors.h"

#include "runtime/core/protocol/effect.h"

/*  Bytes that may be sent at once after a pause. */
static const int64_t burst_bytes = TND_LOOK_RATE / 4;

/*  What an inspector asks of one host. */
typedef struct {
    tnd_look_question_t question;
    uint64_t asked_ns; /* when it last asked; 0: never */
    uint32_t number;   /* of the last answer; 0: there was none */
    bool waits;        /* the question is not passed on yet */
    bool passed;       /* it is, and not answered */
} subject_t;

typedef struct {
    tnd_actor_id_t id;   /* 0: none */
    uint64_t asked_ns;   /* when it last asked, or came */
    subject_t *subjects; /* by host */
} inspector_t;

struct tnd_inspectors {
    uint32_t host_count;
    uint32_t turn;       /* the subject of all that is next */
    uint32_t wait_count; /* questions that wait */
    int64_t budget;      /* bytes that may be sent; an answer may exceed it */
    uint64_t filled_ns;
    uint64_t seed, numbers;
    inspector_t inspectors[TND_INSPECTORS_MAX];
    subject_t subjects[];
};

size_t tnd_inspectors_bytes(uint32_t host_count)
{
    return sizeof(tnd_inspectors_t) + (size_t)TND_INSPECTORS_MAX * host_count * sizeof(subject_t);
}

tnd_inspectors_t *tnd_inspectors_init(void *memory, uint32_t host_count, uint64_t seed)
{
    tnd_inspectors_t *self = memory;
    self->host_count = host_count;
    self->budget = burst_bytes;
    self->seed = seed;
    for (uint32_t i = 0; i < TND_INSPECTORS_MAX; i++)
        self->inspectors[i].subjects = &self->subjects[(size_t)i * host_count];
    return self;
}

static inspector_t *find(tnd_inspectors_t *self, tnd_actor_id_t id)
{
    for (uint32_t i = 0; i < TND_INSPECTORS_MAX; i++)
        if (self->inspectors[i].id == id)
            return &self->inspectors[i];
    return NULL;
}

static void forget(tnd_inspectors_t *self, inspector_t *inspector)
{
    for (uint32_t h = 0; h < self->host_count; h++) {
        self->wait_count -= inspector->subjects[h].waits;
        inspector->subjects[h] = (subject_t){.number = 0};
    }
    inspector->id = 0;
}

void tnd_inspectors_gone(tnd_inspectors_t *self, tnd_actor_id_t id)
{
    inspector_t *inspector = find(self, id);
    if (inspector != NULL)
        forget(self, inspector);
}

const char *tnd_inspectors_came(tnd_inspectors_t *self, tnd_actor_id_t id, uint64_t now)
{
    tnd_inspectors_gone(self, id);
    inspector_t *inspector = find(self, 0);
    if (inspector == NULL)
        return "as many inspectors as may look at one run do so already";
    inspector->id = id;
    inspector->asked_ns = now;
    return NULL;
}

static const char *refuse(tnd_inspectors_t *self, inspector_t *inspector, const char *why)
{
    forget(self, inspector);
    return why;
}

const char *tnd_inspectors_ask(tnd_inspectors_t *self, tnd_actor_id_t id, uint64_t number,
                               const tnd_look_question_t *question, uint64_t now)
{
    inspector_t *inspector = find(self, id);
    uint32_t host = (uint32_t)number, answer = (uint32_t)(number >> 32);
    if (inspector == NULL)
        return "it is not known as an inspector";
    if (host >= self->host_count)
        return refuse(self, inspector, "it asks for a host that the run does not have");
    subject_t *subject = &inspector->subjects[host];
    bool in_turn = answer == subject->number && !subject->waits && !subject->passed;
    if (!in_turn && now < subject->asked_ns + TND_LOOK_AGAIN_NS)
        return refuse(self, inspector, "it asks for more than it is given");
    subject->asked_ns = inspector->asked_ns = now;
    if (answer != subject->number)
        return NULL; /* the answer is on its way */
    self->wait_count += !subject->waits;
    subject->question = *question;
    subject->waits = true;
    subject->passed = false;
    return NULL;
}

static void fill(tnd_inspectors_t *self, uint64_t now)
{
    uint64_t span = now > self->filled_ns ? now - self->filled_ns : 0;
    const uint64_t whole_ns = UINT64_C(1000000000), per_byte_ns = whole_ns / TND_LOOK_RATE;
    int64_t gained = (int64_t)((span < whole_ns ? span : whole_ns) / per_byte_ns);
    self->budget = self->budget + gained < burst_bytes ? self->budget + gained : burst_bytes;
    self->filled_ns = now;
}

bool tnd_inspectors_next(tnd_inspectors_t *self, uint64_t now, tnd_look_turn_t *turn)
{
    uint32_t count = TND_INSPECTORS_MAX * self->host_count;
    if (self->wait_count == 0)
        return false;
    fill(self, now);
    if (self->budget <= 0)
        return false;
    while (!self->subjects[self->turn].waits)
        self->turn = (self->turn + 1) % count;
    subject_t *subject = &self->subjects[self->turn];
    *turn = (tnd_look_turn_t){.inspector = self->inspectors[self->turn / self->host_count].id,
                              .host = self->turn % self->host_count,
                              .question = subject->question};
    subject->waits = false;
    subject->passed = true;
    self->wait_count--;
    self->turn = (self->turn + 1) % count;
    return true;
}

/*  The finalizer of SplitMix64: the numbers look random, so an answer must be read to know its own. */
static uint32_t next_number(tnd_inspectors_t *self)
{
    uint64_t mixed = self->seed + ++self->numbers * UINT64_C(0x9e3779b97f4a7c15);
    mixed = (mixed ^ mixed >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    mixed = (mixed ^ mixed >> 27) * UINT64_C(0x94d049bb133111eb);
    return (uint32_t)(mixed >> 32) | 1;
}

bool tnd_inspectors_answered(tnd_inspectors_t *self, tnd_actor_id_t id, uint32_t host, size_t bytes,
                             uint64_t *number_p)
{
    inspector_t *inspector = id != 0 ? find(self, id) : NULL;
    if (inspector == NULL || host >= self->host_count || !inspector->subjects[host].passed ||
        bytes > TND_LOOK_BYTES)
        return false;
    subject_t *subject = &inspector->subjects[host];
    subject->passed = false;
    subject->number = next_number(self);
    self->budget -= (int64_t)bytes;
    *number_p = (uint64_t)subject->number << 32 | host;
    return true;
}

tnd_actor_id_t tnd_inspectors_expired(tnd_inspectors_t *self, uint64_t now)
{
    for (uint32_t i = 0; i < TND_INSPECTORS_MAX; i++) {
        inspector_t *inspector = &self->inspectors[i];
        tnd_actor_id_t id = inspector->id;
        if (id == 0 || now < inspector->asked_ns + TND_LOOK_LEASE_NS)
            continue;
        forget(self, inspector);
        return id;
    }
    return TND_NOBODY;
}

uint64_t tnd_inspectors_due(const tnd_inspectors_t *self)
{
    uint64_t due = TND_NEVER;
    for (uint32_t i = 0; i < TND_INSPECTORS_MAX; i++) {
        uint64_t end = self->inspectors[i].asked_ns + TND_LOOK_LEASE_NS;
        due = self->inspectors[i].id != 0 && end < due ? end : due;
    }
    if (self->wait_count == 0)
        return due;
    int64_t missing = self->budget > 0 ? 0 : 1 - self->budget;
    uint64_t next = self->filled_ns + (uint64_t)missing * (UINT64_C(1000000000) / TND_LOOK_RATE);
    return next < due ? next : due;
}
