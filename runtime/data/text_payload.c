/*  runtime/data/text_payload.c - lines of text in messages between hosts. */
#include "runtime/data/text_payload.h"

#include <assert.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/base/allocation.h"

void tnd_text_payload_begin(tnd_text_payload_writer_t *self)
{
    self->text = NULL;
    self->size = 0;
    self->stream = tnd_memory_stream(&self->text, &self->size);
}

tnd_buffer_t *tnd_text_payload_end(tnd_text_payload_writer_t *self)
{
    fclose(self->stream);
    tnd_buffer_t *note = tnd_buffer_new(self->size > 0 ? self->size : 1);
    memcpy(tnd_buffer_data(note), self->size > 0 ? self->text : "\n",
           self->size > 0 ? self->size : 1);
    free(self->text);
    tnd_buffer_seal(note);
    return note;
}

tnd_buffer_t *tnd_text_payload_of(const char *format, ...)
{
    tnd_text_payload_writer_t writer;
    tnd_text_payload_begin(&writer);
    va_list arguments;
    va_start(arguments, format);
    vfprintf(writer.stream, format, arguments);
    va_end(arguments);
    return tnd_text_payload_end(&writer);
}

bool tnd_text_payload_is_same(tnd_buffer_t *a, tnd_buffer_t *b)
{
    return a != NULL && b != NULL && tnd_buffer_size(a) == tnd_buffer_size(b) &&
           memcmp(tnd_buffer_data(a), tnd_buffer_data(b), tnd_buffer_size(a)) == 0;
}

void tnd_text_payload_read(tnd_text_payload_reader_t *self, tnd_buffer_t *note)
{
    self->at = note != NULL ? tnd_buffer_data(note) : "";
    self->end = self->at + (note != NULL ? tnd_buffer_size(note) : 0);
}

const char *tnd_text_payload_line(tnd_text_payload_reader_t *self)
{
    if (self->at >= self->end)
        return NULL;
    const char *stop = memchr(self->at, '\n', (size_t)(self->end - self->at));
    size_t length = (size_t)((stop != NULL ? stop : self->end) - self->at);
    size_t kept = length < sizeof self->line ? length : sizeof self->line - 1;
    memcpy(self->line, self->at, kept);
    self->line[kept] = '\0';
    /* The text may be shown on a terminal. */
    for (size_t i = 0; i < kept; i++)
        if ((unsigned char)self->line[i] < ' ' || self->line[i] == 0x7f)
            self->line[i] = ' ';
    self->at += length + (stop != NULL);
    return self->line;
}
