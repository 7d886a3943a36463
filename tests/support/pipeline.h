/*  tests/support/pipeline.h - a small pipeline of real machines on one thread.
 *
 *  Two lanes, two workers, two feeders, a reducer and a leader exchange messages through one queue.
 *  The caller delivers each message, or another one in its place.
 *
 *  Threads: one. */
#ifndef TND_TESTS_SUPPORT_PIPELINE_H
#define TND_TESTS_SUPPORT_PIPELINE_H

#include "runtime/core/batcher.h"
#include "runtime/core/feeder.h"
#include "runtime/core/leader.h"
#include "runtime/core/message_validator.h"
#include "runtime/core/numeric/random.h"
#include "runtime/core/preprocessor.h"
#include "runtime/core/reader.h"
#include "runtime/core/reducer.h"

enum { READ0, READ1, PREP0, PREP1, BATCH0, BATCH1, FEED0, FEED1, MEAN, ACTORS, HOST_ID = 1000 };
enum {
    LANES = 2,
    HOSTS = 3,
    REPLICAS = 4,
    LANE_ROWS = 40,
    ROWS_MAX = 2,
    ROW_BYTES = 16,
    EPOCHS = 6,
    OFFSETS_MAX = 256,
    MAIL_MAX = 4096,
    POSTS_MAX = 8,
    STEPS_KEPT = 64
};

/*  A payload: rows, values or a cursor. */
typedef struct token {
    struct token *before, *after;
    uint32_t holders;
    uint32_t origin[OFFSETS_MAX], bad[OFFSETS_MAX];
    tnd_cursor_t cursor;
} token_t;

typedef struct {
    tnd_msg_t msg;
    tnd_actor_id_t from, to; /* of the link; by control, the true sender */
    bool by_link;
    token_t *token;
} pipeline_mail_t;

typedef struct {
    void *memory, *accept_memory;
    tnd_validator_t *accept;
    union {
        tnd_reader_core_t *dispatch;
        tnd_preprocessor_core_t *queue;
        tnd_batcher_core_t *join;
        tnd_feeder_core_t *feed;
        tnd_reducer_core_t *rounds;
    };
    bool placed;
    tnd_post_note_t posts[POSTS_MAX]; /* of a feeder, not closed yet */
    uint32_t post_count;
    uint32_t rows[STEPS_KEPT][REPLICAS]; /* of a feeder, by step and replica */
} actor_t;

typedef struct {
    tnd_random_t random;
    tnd_bounds_t bounds;
    bool span;
    tnd_remainder_t remainder;
    actor_t actors[ACTORS];
    void *leader_memory;
    tnd_leader_core_t *leader;
    pipeline_mail_t mail[MAIL_MAX];
    uint32_t mail_first, mail_count;
    token_t *tokens;
    uint64_t now;
    bool over;
    tnd_error_t error;
} pipeline_t;

uint64_t pipeline_below(pipeline_t *self, uint64_t bound);
token_t *token_new(pipeline_t *self);
void token_drop(pipeline_t *self, token_t *token);
/*  Where a message stores its payload; NULL if its kind has none. */
void **pipeline_payload(tnd_msg_t *msg);

/*  Opens all machines and their links.  `self` is zeroed but for `random`, `bounds`, `span` and
 *  `remainder`. */
void pipeline_open(pipeline_t *self);
/*  Frees all memory, also of payloads that are still held. */
void pipeline_close(pipeline_t *self);
/*  Lets the leader act. */
void pipeline_lead(pipeline_t *self);
/*  Why a process on the way of this message refuses it; NULL if none does. */
const char *pipeline_check(pipeline_t *self, const pipeline_mail_t *mail);
/*  Hands a message to its machine, and performs what that asks for. */
void pipeline_deliver(pipeline_t *self, const pipeline_mail_t *mail);
/*  Ends the connection of two actors. */
void pipeline_cut(pipeline_t *self, tnd_actor_id_t a, tnd_actor_id_t b);

#endif
