/*  runtime/meeting/roster_text.h - what processes that meet tell one another, as lines of text.
 *
 *  A process says who it is; rank 0 answers with the list of all, or with a sentence.
 *
 *  Threads: any. */
#ifndef TND_RUNTIME_MEETING_ROSTER_TEXT_H
#define TND_RUNTIME_MEETING_ROSTER_TEXT_H

#include "runtime/base/status.h"
#include "runtime/core/session/roster.h"
#include "runtime/data/buffer.h"

/*  `number` of what a process says, and of the answer. */
enum {
    TND_ROSTER_COMES,
    TND_ROSTER_HAS_LIST,
    TND_ROSTER_ASKS_PART, /* part_request.h */
    TND_ROSTER_IS_ENDED /* it was asked to end, and so is the run, unless it has the list already */
};
enum {
    TND_ROSTER_ANSWER_LIST,
    TND_ROSTER_ANSWER_WAIT,      /* others are missing */
    TND_ROSTER_ANSWER_ELSEWHERE, /* another job meets here: the sentence names it */
    TND_ROSTER_ANSWER_NO,        /* the sentence says why */
    TND_ROSTER_ANSWER_PART,      /* bytes of a checkpoint */
    TND_ROSTER_ANSWER_ENDED      /* the run was asked to end: the sentence says by which process */
};

tnd_buffer_t *tnd_roster_request_write(const tnd_roster_request_t *request);
/*  Errors: TND_FAILED if it is none. */
tnd_status_t tnd_roster_request_read(tnd_roster_request_t *request, tnd_buffer_t *text,
                                     tnd_error_t *error) TND_CHECKED;

tnd_buffer_t *tnd_roster_list_write(const tnd_roster_list_t *list);
/*  Allocates the processes; the caller frees them.
 *  Errors: TND_FAILED if it is none. */
tnd_status_t tnd_roster_list_read(tnd_roster_list_t *list, tnd_buffer_t *text,
                                  tnd_error_t *error) TND_CHECKED;

/*  By what rank 0 notices the end of a process (liveness.h): it tells the port, the process says its rank. */
enum { TND_ROSTER_ALIVE_SIZE = 6 + 8 + 1 + 16 };
void tnd_roster_alive_write(char text[TND_ROSTER_ALIVE_SIZE + 1], uint32_t port_or_rank,
                            uint64_t number);
/*  False: it is something else. */
bool tnd_roster_alive_read(const char *text, uint32_t *port_or_rank_p, uint64_t *number_p);

/*  Whether a text is empty or the number of an address, IPv6 in brackets: a part of an endpoint. */
bool tnd_roster_is_address(const char *text);

/*  Why a process was not taken. */
const char *tnd_roster_verdict_text(const tnd_roster_t *roster, tnd_roster_verdict_t verdict,
                                    const tnd_roster_request_t *request, char *text, size_t room);
/*  Who has not come. */
const char *tnd_roster_missing_text(const tnd_roster_t *roster, char *text, size_t room);

#endif
