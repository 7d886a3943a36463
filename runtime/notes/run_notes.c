/*  runtime/notes/run_notes.c - what is kept of a run until it ends: its bad records and restarts. */
#include "runtime/notes/run_notes.h"

#include <string.h>

#include "runtime/base/word.h"
#include "runtime/notes/page_text.h"

enum { WORDS = TND_RUN_NOTE_TEXT / 8 };

/*  Where the first note of a subject is, or could be written; NULL: all are taken. */
static tnd_run_note_record_t *subject_of(tnd_run_notes_t *self, const char *who)
{
    char text[TND_RUN_NOTE_TEXT];
    for (unsigned s = 0; s < TND_RUN_NOTES_SUBJECTS; s++) {
        tnd_run_note_record_t *record = &self->subjects[s];
        if (tnd_word_read(&record->before) == 0)
            return record;
        tnd_page_text_read(record->who, WORDS, text);
        if (strncmp(text, who, sizeof text - 1) == 0)
            return record;
    }
    return NULL;
}

static void write_note(tnd_run_note_record_t *record, uint64_t number, const char *who,
                       const char *where, const char *what, uint64_t now)
{
    tnd_word_write(&record->after, 0);
    atomic_thread_fence(memory_order_release);
    tnd_word_write(&record->at_ns, now);
    tnd_page_text_write(record->who, WORDS, who);
    tnd_page_text_write(record->where, WORDS, where);
    tnd_page_text_write(record->what, WORDS, what);
    atomic_thread_fence(memory_order_release);
    tnd_word_write(&record->before, number);
    atomic_store_explicit(&record->after, number, memory_order_release);
}

void tnd_run_notes_add(tnd_run_notes_t *self, const char *who, const char *where, const char *what,
                       uint64_t now)
{
    uint64_t number = tnd_word_read(&self->next) + 1;
    tnd_run_note_record_t *subject = subject_of(self, who);
    if (subject != NULL && tnd_word_read(&subject->before) == 0)
        write_note(subject, number, who, where, what, now);
    if (subject != NULL)
        tnd_word_write(&subject->count, tnd_word_read(&subject->count) + 1);
    write_note(&self->newest[(number - 1) % TND_RUN_NOTES_NEWEST], number, who, where, what, now);
    atomic_store_explicit(&self->next, number, memory_order_release);
}

void tnd_run_notes_count(tnd_run_notes_t *self, const char *who, uint64_t count)
{
    tnd_run_note_record_t *subject = subject_of(self, who);
    if (subject != NULL && tnd_word_read(&subject->before) != 0)
        tnd_word_write(&subject->count, count);
}

bool tnd_run_note_read(const tnd_run_note_record_t *record, tnd_run_note_t *note)
{
    note->number = atomic_load_explicit(&record->after, memory_order_acquire);
    note->at_ns = tnd_word_read(&record->at_ns);
    note->count = tnd_word_read(&record->count);
    tnd_page_text_read(record->who, WORDS, note->who);
    tnd_page_text_read(record->where, WORDS, note->where);
    tnd_page_text_read(record->what, WORDS, note->what);
    atomic_thread_fence(memory_order_acquire);
    return note->number != 0 && tnd_word_read(&record->before) == note->number &&
           tnd_word_read(&record->after) == note->number;
}

bool tnd_run_notes_newest(const tnd_run_notes_t *self, uint64_t age, tnd_run_note_t *note)
{
    uint64_t next = atomic_load_explicit(&self->next, memory_order_acquire);
    if (age >= next || age >= TND_RUN_NOTES_NEWEST)
        return false;
    uint64_t number = next - age;
    return tnd_run_note_read(&self->newest[(number - 1) % TND_RUN_NOTES_NEWEST], note) &&
           note->number == number;
}
