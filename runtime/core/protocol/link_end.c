/*  runtime/core/protocol/link_end.c - one end of a connection: handshake, silence, back-off.  */
#include "runtime/core/protocol/link_end.h"

#include <assert.h>
#include <string.h>

#include "runtime/base/bug_injection.h"
#include "runtime/base/status.h"

enum { BACK_OFF_FIRST_NS = 10 * 1000 * 1000, BACK_OFF_MOST_NS = 1000 * 1000 * 1000 };

/*  Lives are nanoseconds.  A life derived from another one adds the actor's birth, in units of 65 us:
 *  of two actors that derive theirs from the same life, the one born later has the later life.  No
 *  clock names a life above LIFE_MOST. */
enum { BIRTH_UNIT_BITS = 16 };
#define LIFE_MOST (UINT64_MAX / 2)

static uint64_t quarter(const tnd_end_t *self)
{
    return self->config.link_timeout_ns / 4 + 1;
}

/*  A connector also pings while it waits for WELCOME: its peer hears without a gap then, however
 *  long the path is. */
static bool may_ping(const tnd_end_t *self)
{
    bool greets = self->state == TND_END_OPENING && !self->hello_due && !TND_BUG(HELLO_UNFOLLOWED);
    return (greets || self->state == TND_END_OPEN) && self->pings < TND_END_PINGS;
}

static bool is_connected(const tnd_end_t *self)
{
    return self->state == TND_END_OPENING || self->state == TND_END_OPEN;
}

static void clear_dues(tnd_end_t *self)
{
    self->hello_due = self->welcome_due = self->refuse_due = false;
    self->ping_due = self->pong_due = self->goodbye_due = false;
}

static void start_clocks(tnd_end_t *self, uint64_t now)
{
    self->begun_ns = self->heard_ns = self->said_ns = self->ticked_ns = now;
    self->round_ns = 0;
    self->overdue = self->spared = false;
    self->pings = 0;
}

/*  When the peer will have been silent for too long. */
static uint64_t silent_at(const tnd_end_t *self)
{
    uint64_t most = TND_END_PATIENCE * self->config.link_timeout_ns, patience = 2 * self->round_ns;
    if (self->overdue)
        patience += TND_END_OVERDUE * self->config.link_timeout_ns;
    if (self->state == TND_END_OPENING) {
        uint64_t away = (self->begun_ns - self->away_ns) / 2;
        patience += away > self->handshake_ns ? away : self->handshake_ns;
    }
    return self->heard_ns + self->config.link_timeout_ns + (patience < most ? patience : most);
}

static tnd_end_change_t lose(tnd_end_t *self, uint64_t now)
{
    bool was_open = self->state == TND_END_OPEN;
    self->state = TND_END_CLOSED;
    clear_dues(self);
    if (self->config.binder)
        return TND_END_LOST;
    if (was_open)
        self->away_ns = now;
    uint64_t begun = was_open ? now : self->begun_ns;
    uint64_t wait = (now - self->away_ns) / 4;
    self->retry_ns = begun + (wait < BACK_OFF_MOST_NS ? wait : BACK_OFF_MOST_NS);
    if (self->retry_ns < now + BACK_OFF_FIRST_NS)
        self->retry_ns = now + BACK_OFF_FIRST_NS;
    if (!TND_BUG(ROUTING_ID_REUSED))
        self->connection++;
    return TND_END_LOST;
}

/*  Loses a silent connection, which may still work in the other direction. */
static tnd_end_change_t give_up(tnd_end_t *self, uint64_t now)
{
    bool was_open = self->state == TND_END_OPEN;
    (void)lose(self, now);
    self->goodbye_due = was_open && !TND_BUG(GOODBYE_UNSAID);
    return TND_END_LOST;
}

/*  Whether the peer differs from a requirement; 0: none. */
static bool differ(uint64_t ours, uint64_t theirs)
{
    return ours != 0 && ours != theirs;
}

/*  Stores a text, truncated if it is too long. */
static void keep_why(tnd_end_t *self, const char *why)
{
    size_t length = strnlen(why, sizeof self->why - 1);
    memcpy(self->why, why, length);
    self->why[length] = '\0';
}

/*  Whether the peer's terms fit ours; `why` names the first that does not. */
static bool terms_fit(tnd_end_t *self, const tnd_terms_t *theirs)
{
    const tnd_terms_t *ours = &self->config.terms;
    tnd_error_t error;

    if (differ(ours->abi, theirs->abi))
        tnd_fail(&error,
                 "the side that connects speaks wire version %u, the side that listens version %u: "
                 "install the same release on both hosts",
                 theirs->abi, ours->abi);
    else if (differ(ours->graph[0], theirs->graph[0]) || differ(ours->graph[1], theirs->graph[1]))
        tnd_fail(&error,
                 "the side that connects runs another graph (%016llx%016llx) than the side that "
                 "listens (%016llx%016llx): start both with the same files and --set",
                 (unsigned long long)theirs->graph[1], (unsigned long long)theirs->graph[0],
                 (unsigned long long)ours->graph[1], (unsigned long long)ours->graph[0]);
    else if (differ(ours->schema, theirs->schema))
        tnd_fail(&error,
                 "the side that connects has rows of another schema (%016llx) than the side that "
                 "listens (%016llx): compare their data and operations",
                 (unsigned long long)theirs->schema, (unsigned long long)ours->schema);
    else if (differ(ours->numeric, theirs->numeric) && !ours->tolerant && !theirs->tolerant)
        tnd_fail(
            &error,
            "the side that connects computes its operations with other bits (%016llx) than "
            "the side that listens (%016llx): use the same build of Tundish and of plugins, and "
            "the same modules of Python, or allow it by `numeric: tolerant`",
            (unsigned long long)theirs->numeric, (unsigned long long)ours->numeric);
    else
        return true;
    keep_why(self, error.text);
    return false;
}

/*  Whether the HELLO is of an earlier life: a clock has gone back, or two processes share a name. */
static bool is_of_earlier_life(const tnd_end_t *self, const tnd_msg_t *hello)
{
    return !TND_BUG(STALE_UNSAID) && self->known && hello->hello.life < self->life;
}

static bool is_later(const tnd_end_t *self, const tnd_msg_t *hello)
{
    if (!self->known || hello->hello.life != self->life)
        return !self->known || hello->hello.life > self->life;
    return hello->hello.connection > self->connection;
}

/*  Whether the HELLO is possible and fits; if not, `why` is set. */
static bool is_acceptable(tnd_end_t *self, const tnd_msg_t *hello)
{
    tnd_error_t error;
    if ((hello->hello.life != 0 && hello->hello.life <= LIFE_MOST) || TND_BUG(LIFE_UNCHECKED))
        return terms_fit(self, &hello->hello.terms);
    tnd_fail(&error,
             "the side that connects names an impossible time of its start (%llu): check its clock",
             (unsigned long long)hello->hello.life);
    keep_why(self, error.text);
    return false;
}

static tnd_end_change_t refuse(tnd_end_t *self)
{
    if (self->state == TND_END_OPEN && !TND_BUG(LIAR_ENDS_LINK))
        return TND_END_REFUTED;
    clear_dues(self);
    self->state = TND_END_REFUSED;
    self->refuse_due = true;
    return TND_END_REFUSAL;
}

static tnd_end_change_t heard_hello(tnd_end_t *self, const tnd_msg_t *msg, uint64_t now)
{
    if (self->config.binder && !is_acceptable(self, msg))
        return refuse(self);
    if (!self->config.binder || !is_later(self, msg))
        return self->config.binder && is_of_earlier_life(self, msg) ? TND_END_STALE
                                                                    : TND_END_NOTHING;
    if (self->state == TND_END_OPEN)
        return lose(self, now);
    self->known = true;
    self->life = msg->hello.life;
    self->birth = msg->hello.birth;
    self->connection = msg->hello.connection;
    clear_dues(self);
    start_clocks(self, now);
    self->state = TND_END_OPEN;
    self->welcome_due = true;
    return TND_END_UP;
}

/*  Another listener answered at the peer's endpoint. */
static tnd_end_change_t heard_elsewhere(tnd_end_t *self, const char *why, uint64_t now)
{
    uint64_t passed = self->elsewhere_ns != 0 ? now - self->elsewhere_ns : 0;
    self->elsewhere_ns = now;
    self->searched_ns += passed < BACK_OFF_MOST_NS ? passed : BACK_OFF_MOST_NS;
    if (!TND_BUG(STALE_ENDPOINT_FINAL) && self->searched_ns < self->config.search_ns)
        return lose(self, now);
    self->state = TND_END_REFUSED;
    clear_dues(self);
    keep_why(self, why);
    return TND_END_REFUSAL;
}

/*  The peer knows a later life of this actor.  An actor that was never welcomed is new and its
 *  clock is late: it takes a still later life, which no actor of an earlier birth derives.  So the
 *  late HELLO of a dead actor that did the same does not replace it.  An actor that was welcomed
 *  has been replaced. */
static tnd_end_change_t heard_stale(tnd_end_t *self, tnd_life_t later, uint64_t now)
{
    if (self->state != TND_END_OPENING || later <= self->life || later > LIFE_MOST)
        return TND_END_NOTHING;
    if (self->welcomed) {
        self->state = TND_END_REFUSED;
        clear_dues(self);
        keep_why(self, "another process has taken its place: only one at a time may run as this "
                       "host");
        return TND_END_REFUSAL;
    }
    (void)lose(self, now);
    self->life = later + 1 + (self->config.birth >> BIRTH_UNIT_BITS);
    self->connection = 0;
    return TND_END_LOST;
}

void tnd_end_init(tnd_end_t *self, const tnd_end_config_t *config, tnd_life_t life, uint64_t now)
{
    assert(config->link_timeout_ns > 0);
    memset(self, 0, sizeof *self);
    self->config = *config;
    self->life = config->binder ? 0 : life;
    self->retry_ns = self->away_ns = now;
    start_clocks(self, now);
}

void tnd_end_rebirth(tnd_end_t *self, tnd_life_t life, uint64_t now)
{
    assert(!self->config.binder);
    self->life = life > self->life ? life : self->life + 1;
    self->connection = 0;
    if (self->state == TND_END_REFUSED)
        return;
    self->state = TND_END_CLOSED;
    self->retry_ns = self->away_ns = now;
    clear_dues(self);
}

void tnd_end_connect_now(tnd_end_t *self, uint64_t now)
{
    if (self->state == TND_END_CLOSED && !self->config.binder)
        self->retry_ns = self->away_ns = now;
}

void tnd_end_connected(tnd_end_t *self, uint64_t now)
{
    assert(!self->config.binder && self->state == TND_END_OPENING);
    self->hello_due = true;
    start_clocks(self, now);
}

tnd_end_change_t tnd_end_disconnected(tnd_end_t *self, uint64_t now)
{
    return is_connected(self) ? lose(self, now) : TND_END_NOTHING;
}

tnd_end_change_t tnd_end_heard(tnd_end_t *self, const tnd_msg_t *msg, uint64_t now)
{
    if (msg->kind == TND_MSG_HELLO)
        return heard_hello(self, msg, now);
    if (!is_connected(self))
        return TND_END_NOTHING;
    self->heard_ns = now;
    self->pings = 0;
    self->spared = false;
    if (msg->kind == TND_MSG_PING)
        self->pong_due = self->state == TND_END_OPEN && now >= self->said_ns + quarter(self);
    if (self->state == TND_END_OPEN)
        return msg->kind == TND_MSG_GOODBYE ? lose(self, now) : TND_END_NOTHING;
    if (msg->kind == TND_MSG_STALE)
        return heard_stale(self, msg->hello.life, now);
    if (msg->kind == TND_MSG_WELCOME) {
        self->state = TND_END_OPEN;
        self->welcomed = true;
        self->handshake_ns = now - self->begun_ns;
        self->elsewhere_ns = self->searched_ns = 0;
        return TND_END_UP;
    }
    if (msg->kind == TND_MSG_REFUSE && msg->refuse.elsewhere)
        return heard_elsewhere(self, msg->refuse.why, now);
    if (msg->kind == TND_MSG_REFUSE) {
        self->state = TND_END_REFUSED;
        clear_dues(self);
        keep_why(self, msg->refuse.why);
        return TND_END_REFUSAL;
    }
    return TND_END_NOTHING;
}

bool tnd_end_is_meant(const tnd_terms_t *ours, const tnd_msg_t *hello)
{
    return TND_BUG(LISTENER_UNCHECKED) || ours->listener == 0 ||
           hello->hello.terms.listener == ours->listener;
}

bool tnd_end_is_quiet(const tnd_end_t *self, uint64_t now)
{
    uint64_t lately = self->heard_ns < self->said_ns ? self->heard_ns : self->said_ns;
    return is_connected(self) && now >= lately + quarter(self);
}

void tnd_end_moved(tnd_end_t *self, const tnd_movement_t *movement)
{
    if (!is_connected(self) || TND_BUG(SILENCE_BY_MESSAGES))
        return;
    self->round_ns = TND_BUG(ROUND_UNCOUNTED) ? 0 : movement->round_ns;
    self->overdue = movement->overdue;
    if (movement->came_ns > self->heard_ns) {
        self->heard_ns = movement->came_ns;
        self->pings = 0;
        self->spared = false;
    }
    if (movement->went_ns > self->said_ns)
        self->said_ns = movement->went_ns;
}

/*  How much of the time since the last tick is not silence: all of it while the peer is busy, and
 *  the delay of this tick, because this end was away itself. */
static uint64_t excused(const tnd_end_t *self, bool busy, uint64_t now)
{
    uint64_t passed = now > self->ticked_ns ? now - self->ticked_ns : 0;
    if (busy || passed < quarter(self))
        return busy ? passed : 0;
    return TND_BUG(ABSENCE_COUNTS) ? 0 : passed - quarter(self);
}

tnd_end_change_t tnd_end_tick(tnd_end_t *self, bool busy, uint64_t now)
{
    uint64_t excuse = excused(self, busy, now);
    self->ticked_ns = now;
    if (self->state == TND_END_REFUSED)
        return TND_END_NOTHING;
    if (self->state == TND_END_CLOSED) {
        if (self->config.binder || now < self->retry_ns)
            return TND_END_NOTHING;
        self->state = TND_END_OPENING;
        clear_dues(self);
        start_clocks(self, now);
        return TND_END_CONNECT;
    }
    self->heard_ns = self->heard_ns + excuse < now ? self->heard_ns + excuse : now;
    bool was_away = !busy && excuse > quarter(self) / 4, is_over = now >= silent_at(self);
    if (is_over && (self->spared || !was_away))
        return give_up(self, now);
    self->spared = self->spared || is_over;
    if (was_away && silent_at(self) < now + quarter(self))
        self->heard_ns += now + quarter(self) - silent_at(self);
    if (may_ping(self) && now >= self->said_ns + quarter(self))
        self->ping_due = true;
    return TND_END_NOTHING;
}

bool tnd_end_next(tnd_end_t *self, uint64_t now, tnd_msg_t *msg)
{
    tnd_msg_t out = {.from = self->config.self, .to = self->config.peer};
    if (self->goodbye_due) {
        self->goodbye_due = false;
        out.kind = TND_MSG_GOODBYE;
    } else if (self->hello_due) {
        self->hello_due = false;
        out.kind = TND_MSG_HELLO;
        out.hello.life = self->life;
        out.hello.birth = self->config.birth;
        out.hello.connection = self->connection;
        out.hello.terms = self->config.terms;
    } else if (self->welcome_due) {
        self->welcome_due = false;
        out.kind = TND_MSG_WELCOME;
    } else if (self->refuse_due) {
        self->refuse_due = false;
        out.kind = TND_MSG_REFUSE;
        out.refuse.why = self->why;
    } else if (self->pong_due) {
        /* A pong is as good a sign of life as a ping. */
        self->pong_due = self->ping_due = false;
        out.kind = TND_MSG_PONG;
    } else if (self->ping_due) {
        self->ping_due = false;
        self->pings++;
        out.kind = TND_MSG_PING;
    } else {
        return false;
    }
    self->said_ns = now;
    *msg = out;
    return true;
}

tnd_msg_t tnd_end_refute(const tnd_end_t *self)
{
    tnd_msg_t msg = {.kind = TND_MSG_REFUSE, .from = self->config.self, .to = self->config.peer};
    msg.refuse.why = self->why;
    return msg;
}

tnd_msg_t tnd_end_stale(const tnd_end_t *self)
{
    tnd_msg_t msg = {.kind = TND_MSG_STALE, .from = self->config.self, .to = self->config.peer};
    msg.hello.life = self->life;
    return msg;
}

void tnd_end_said(tnd_end_t *self, uint64_t now)
{
    self->said_ns = now;
    self->ping_due = false;
}

uint64_t tnd_end_deadline(const tnd_end_t *self)
{
    if (self->state == TND_END_REFUSED)
        return TND_NEVER;
    if (self->state == TND_END_CLOSED)
        return self->config.binder ? TND_NEVER : self->retry_ns;
    /* Ticks sample `busy`. */
    uint64_t deadline = self->ticked_ns + quarter(self);
    if (silent_at(self) < deadline)
        deadline = silent_at(self);
    if (may_ping(self) && !self->ping_due && self->said_ns + quarter(self) < deadline)
        deadline = self->said_ns + quarter(self);
    return deadline;
}
