/*  runtime/data/text_payload.h - lines of text in messages between hosts.
 *
 *  What is sent once per run (facts, endpoints, statistics, outcome) is sent as text: one record
 *  per line, words between single spaces; the last word may contain spaces.  Text is easy to bound,
 *  to log and to read in a trace.  Blocks are never sent as text.
 *
 *  Threads: a writer or reader belongs to one thread; the buffer can be shared. */
#ifndef TND_RUNTIME_DATA_TEXT_PAYLOAD_H
#define TND_RUNTIME_DATA_TEXT_PAYLOAD_H

#include <stdbool.h>
#include <stdio.h>

#include "runtime/data/buffer.h"

typedef struct {
    FILE *stream; /* write to it with fprintf */
    char *text;
    size_t size;
} tnd_text_payload_writer_t;

void tnd_text_payload_begin(tnd_text_payload_writer_t *self);
/*  The lines as a sealed buffer; the caller owns it. */
tnd_buffer_t *tnd_text_payload_end(tnd_text_payload_writer_t *self);
/*  Formats one text as a payload. */
tnd_buffer_t *tnd_text_payload_of(const char *format, ...) __attribute__((format(printf, 1, 2)));

/*  Whether two payloads are equal; NULL equals none. */
bool tnd_text_payload_is_same(tnd_buffer_t *a, tnd_buffer_t *b);

enum { TND_TEXT_PAYLOAD_LINE = 1024 };

typedef struct {
    const char *at, *end;
    char line[TND_TEXT_PAYLOAD_LINE];
} tnd_text_payload_reader_t;

/*  `note` must outlive the reader; NULL: no lines. */
void tnd_text_payload_read(tnd_text_payload_reader_t *self, tnd_buffer_t *note);
/*  The next line, cut to TND_TEXT_PAYLOAD_LINE, with control characters replaced by spaces; valid
 *  until the next call.  NULL at the end. */
const char *tnd_text_payload_line(tnd_text_payload_reader_t *self);

#endif
