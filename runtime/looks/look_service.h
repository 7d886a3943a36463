/*  runtime/looks/look_service.h - answers inspectors that look by the control connection.
 *
 *  An inspector (TND_INSPECTOR_FIRST) connects to the leader's port and sends LOOK.  `number` is the
 *  host that it asks for and the number of the answer before (inspectors.h); the payload is a
 *  tnd_look_question_t.  The leader passes the question on with `number` the inspector's id; the
 *  host answers likewise, with the payload of page_changes.h, and the leader passes that back.
 *  A host keeps a copy of its statistics only while an inspector looks.
 *
 *  Nothing that an inspector sends changes the run.
 *
 *  Threads: the host's control thread. */
#ifndef TND_RUNTIME_LOOKS_LOOK_SERVICE_H
#define TND_RUNTIME_LOOKS_LOOK_SERVICE_H

#include "runtime/core/protocol/inspectors.h"
#include "runtime/core/protocol/message.h"
#include "runtime/observe/pages.h"

typedef struct {
    void *context;
    /*  Sends to a host, the leader or an inspector (msg->to); takes the payload. */
    void (*send)(void *context, tnd_msg_t *msg);
    void (*disconnect)(void *context, tnd_actor_id_t inspector, const char *why);
} tnd_look_output_t;

typedef struct {
    const tnd_pages_t *pages;
    tnd_actor_id_t self;       /* of this host */
    tnd_actor_id_t first_host; /* of the leader's host; the others follow */
    uint32_t host_count;
} tnd_look_config_t;

typedef struct tnd_look_service tnd_look_service_t;

tnd_look_service_t *tnd_look_service_new(const tnd_look_config_t *config,
                                         const tnd_look_output_t *output);
void tnd_look_service_destroy(tnd_look_service_t **self_p);

/*  At the leader: an inspector has come, has sent a message, or is gone. */
void tnd_look_service_came(tnd_look_service_t *self, tnd_actor_id_t inspector, uint64_t now);
void tnd_look_service_asked(tnd_look_service_t *self, tnd_actor_id_t inspector,
                            const tnd_msg_t *msg, uint64_t now);
void tnd_look_service_gone(tnd_look_service_t *self, tnd_actor_id_t inspector);
/*  At the leader: the answer of a host.  The caller keeps the payload. */
void tnd_look_service_answered(tnd_look_service_t *self, const tnd_msg_t *msg);
/*  At any host: a question that the leader passed on. */
void tnd_look_service_question(tnd_look_service_t *self, const tnd_msg_t *msg, uint64_t now);

/*  Passes questions on and ends leases.  Returns when to call it again. */
uint64_t tnd_look_service_work(tnd_look_service_t *self, uint64_t now);

#endif
