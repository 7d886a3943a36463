/*  tests/runtime/core/protocol/ends.h - two ends of a link and a wire of one array each way. */
#ifndef TND_TESTS_RUNTIME_CORE_PROTOCOL_ENDS_H
#define TND_TESTS_RUNTIME_CORE_PROTOCOL_ENDS_H

#include "runtime/core/protocol/link_end.h"

#include <string.h>

#include <criterion/criterion.h>

#define MS 1000000ull

enum { WORKER = 7, JOIN = 9 };

static const tnd_terms_t terms = {.graph = {1, 2}, .schema = 3, .numeric = 4, .abi = 5};

static inline tnd_end_t make(bool binder, tnd_terms_t its_terms)
{
    tnd_end_config_t config = {.self = binder ? JOIN : WORKER,
                               .peer = binder ? WORKER : JOIN,
                               .terms = its_terms,
                               .birth = binder ? 0 : 100,
                               .link_timeout_ns = 1000 * MS,
                               .binder = binder};
    tnd_end_t self;
    tnd_end_init(&self, &config, 100, 0);
    return self;
}

/*  `self` must send one message of `kind` now. */
static inline tnd_msg_t says(tnd_end_t *self, tnd_msg_kind_t kind, uint64_t now)
{
    tnd_msg_t msg, more;
    cr_assert(tnd_end_next(self, now, &msg));
    cr_assert_eq(msg.kind, kind);
    cr_assert_not(tnd_end_next(self, now, &more));
    return msg;
}

static inline tnd_msg_t hello_of(tnd_end_t *connector, uint64_t now)
{
    cr_assert_eq(tnd_end_tick(connector, false, now), TND_END_CONNECT);
    tnd_end_connected(connector, now);
    return says(connector, TND_MSG_HELLO, now);
}

static inline void bring_up(tnd_end_t *connector, tnd_end_t *binder, uint64_t now)
{
    tnd_msg_t hello = hello_of(connector, now);
    cr_assert_eq(tnd_end_heard(binder, &hello, now), TND_END_UP);
    tnd_msg_t welcome = says(binder, TND_MSG_WELCOME, now);
    cr_assert_eq(tnd_end_heard(connector, &welcome, now), TND_END_UP);
}

/*  Ticks whenever a tick is due before `now`, then at `now`; returns the result of the last. */
static inline tnd_end_change_t ticks(tnd_end_t *self, uint64_t now)
{
    for (uint64_t due = tnd_end_deadline(self); due < now; due = tnd_end_deadline(self)) {
        tnd_msg_t ping;
        cr_assert_eq(tnd_end_tick(self, false, due), TND_END_NOTHING);
        (void)tnd_end_next(self, due, &ping);
    }
    return tnd_end_tick(self, false, now);
}

static inline tnd_msg_t word(tnd_msg_kind_t kind)
{
    return (tnd_msg_t){.kind = kind};
}

#endif
