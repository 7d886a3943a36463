/*  runtime/host/text_payload.h - lines of text that hosts send each other around a run.
 *
 *  What happens once a run (facts, endpoints, statistics, outcome) travels as text: one record a
 *  line, words between single spaces, the last word may have spaces.  Text is easy to bound, to log
 *  and to read in a trace; blocks never travel so.
 *
 *  Threads: a writer and a reader belong to one thread; the buffer is shared like any. */
#ifndef TND_RUNTIME_HOST_TEXT_PAYLOAD_H
#define TND_RUNTIME_HOST_TEXT_PAYLOAD_H

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
/*  A note of one formatted text. */
tnd_buffer_t *tnd_text_payload_of(const char *format, ...) __attribute__((format(printf, 1, 2)));

enum { TND_TEXT_PAYLOAD_LINE = 1024 };

typedef struct {
    const char *at, *end;
    char line[TND_TEXT_PAYLOAD_LINE];
} tnd_text_payload_reader_t;

/*  `note` (NULL: an empty one) must outlive the reader. */
void tnd_text_payload_read(tnd_text_payload_reader_t *self, tnd_buffer_t *note);
/*  The next line, cut to TND_TEXT_PAYLOAD_LINE, with control characters replaced by spaces; valid
 *  until the next call.  NULL at the end. */
const char *tnd_text_payload_line(tnd_text_payload_reader_t *self);

#endif
