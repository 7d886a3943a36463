/*  Covers runtime/looks/look_service.h: a leader and a host, whose messages a test carries. */
#include "runtime/looks/look_service.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <criterion/criterion.h>

#include "runtime/core/protocol/effect.h"
#include "runtime/data/buffer.h"
#include "runtime/looks/page_changes.h"

enum { FIRST_HOST = 1000, INSPECTOR = TND_INSPECTOR_FIRST + 5, HOSTS = 2, SENT_MAX = 8 };

#define NOW UINT64_C(1000000000000)
#define SECOND UINT64_C(1000000000)

typedef struct {
    tnd_look_service_t *service;
    tnd_msg_t sent[SENT_MAX];
    size_t sent_count;
    char why[128]; /* of the last disconnection */
} end_t;

static end_t leader, host;
static tnd_pages_t *pages;

static void take(void *context, tnd_msg_t *msg)
{
    end_t *end = context;
    cr_assert(end->sent_count < SENT_MAX);
    end->sent[end->sent_count++] = *msg;
}

static void disconnect(void *context, tnd_actor_id_t inspector, const char *why)
{
    cr_assert_eq(inspector, INSPECTOR);
    snprintf(((end_t *)context)->why, sizeof leader.why, "%s", why);
}

static void begin(void)
{
    static char folder[] = "/tmp/tundish-test-XXXXXX";
    tnd_error_t error;
    cr_assert_not_null(mkdtemp(folder));
    setenv("XDG_RUNTIME_DIR", folder, 1);
    cr_assert_eq(tnd_pages_new(&pages, "fashion", "b", 1, (tnd_pages_shape_t){.actors = 2}, &error),
                 TND_OK, "%s", error.text);
    end_t *ends[] = {&leader, &host};
    for (uint32_t i = 0; i < HOSTS; i++) {
        tnd_look_config_t config = {
            .pages = pages, .self = FIRST_HOST + i, .first_host = FIRST_HOST, .host_count = HOSTS};
        tnd_look_output_t output = {.context = ends[i], .send = take, .disconnect = disconnect};
        ends[i]->service = tnd_look_service_new(&config, &output);
    }
}

static void drop_sent(end_t *end)
{
    for (size_t i = 0; i < end->sent_count; i++) {
        tnd_buffer_t *payload = end->sent[i].note.payload;
        tnd_buffer_drop(&payload);
    }
    end->sent_count = 0;
}

static void finish(void)
{
    drop_sent(&leader);
    drop_sent(&host);
    tnd_look_service_destroy(&leader.service);
    tnd_look_service_destroy(&host.service);
    tnd_pages_destroy(&pages);
}

TestSuite(look_service, .init = begin, .fini = finish);

/*  A question for a host, of so many bytes. */
static void ask(uint64_t number, tnd_msg_kind_t kind, size_t bytes, uint64_t now)
{
    tnd_buffer_t *payload = tnd_buffer_new(bytes);
    memset(tnd_buffer_data(payload), 0, bytes);
    tnd_buffer_seal(payload);
    tnd_msg_t msg = {.kind = kind, .from = INSPECTOR, .to = TND_LEADER, .note.number = number};
    msg.note.payload = payload;
    tnd_look_service_asked(leader.service, INSPECTOR, &msg, now);
    tnd_buffer_drop(&payload);
}

Test(look_service, a_question_goes_to_its_host_and_the_answer_back)
{
    tnd_look_answer_t answer;
    tnd_look_service_came(leader.service, INSPECTOR, NOW);
    ask(1, TND_MSG_LOOK, sizeof(tnd_look_question_t), NOW);
    cr_assert_eq(tnd_look_service_work(leader.service, NOW), NOW + 2 * SECOND);
    cr_assert_eq(leader.sent_count, 1);
    cr_assert(leader.sent[0].kind == TND_MSG_LOOK && leader.sent[0].from == TND_LEADER);
    cr_assert(leader.sent[0].to == FIRST_HOST + 1 && leader.sent[0].note.number == INSPECTOR);

    tnd_look_service_question(host.service, &leader.sent[0], NOW);
    cr_assert_eq(host.sent_count, 1);
    cr_assert(host.sent[0].from == FIRST_HOST + 1 && host.sent[0].to == TND_LEADER);
    drop_sent(&leader);

    tnd_look_service_answered(leader.service, &host.sent[0]);
    cr_assert_eq(leader.sent_count, 1);
    cr_assert(leader.sent[0].to == INSPECTOR && (uint32_t)leader.sent[0].note.number == 1);
    cr_assert_neq(leader.sent[0].note.number >> 32, 0, "the number of the answer");
    memcpy(&answer, tnd_buffer_data(leader.sent[0].note.payload), sizeof answer);
    cr_assert(answer.version == TND_PAGES_VERSION && answer.hosts == HOSTS);
    cr_assert(answer.to == answer.blocks && answer.blocks > 0);
    cr_assert_str_eq(leader.why, "");

    tnd_look_service_answered(leader.service, &host.sent[0]);
    cr_assert_eq(leader.sent_count, 1, "an answer that is not awaited is dropped");
}

Test(look_service, anything_but_a_question_ends_the_connection)
{
    tnd_look_service_came(leader.service, INSPECTOR, NOW);
    ask(1, TND_MSG_LOOK, sizeof(tnd_look_question_t) - 1, NOW);
    cr_assert_neq(leader.why[0], '\0');
    leader.why[0] = '\0';
    tnd_look_service_came(leader.service, INSPECTOR, NOW);
    ask(1, TND_MSG_DOWN, sizeof(tnd_look_question_t), NOW);
    cr_assert_neq(leader.why[0], '\0');
    leader.why[0] = '\0';
    tnd_look_service_came(leader.service, INSPECTOR, NOW);
    tnd_msg_t empty = {.kind = TND_MSG_LOOK, .from = INSPECTOR, .to = TND_LEADER};
    tnd_look_service_asked(leader.service, INSPECTOR, &empty, NOW);
    cr_assert_neq(leader.why[0], '\0');
    cr_assert_eq(tnd_look_service_work(leader.service, NOW), TND_NEVER);
    cr_assert_eq(leader.sent_count, 0);
}

Test(look_service, a_lease_that_ends_disconnects_and_frees_the_copy)
{
    tnd_look_service_came(leader.service, INSPECTOR, NOW);
    ask(0, TND_MSG_LOOK, sizeof(tnd_look_question_t), NOW);
    (void)tnd_look_service_work(leader.service, NOW);
    tnd_look_service_question(host.service, &leader.sent[0], NOW);
    cr_assert_eq(tnd_look_service_work(host.service, NOW), NOW + 2 * SECOND);
    cr_assert_eq(tnd_look_service_work(host.service, NOW + 2 * SECOND), TND_NEVER);
    (void)tnd_look_service_work(leader.service, NOW + 2 * SECOND);
    cr_assert_not_null(strstr(leader.why, "lease"), "%s", leader.why);
}
