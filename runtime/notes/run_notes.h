/*  runtime/notes/run_notes.h - what is kept of a run until it ends: its bad records and restarts.
 *
 *  There is room for the first note of each of some subjects, and for the newest notes.  The subject
 *  of a bad record is the actor and operation that found it, that of a restart what was started
 *  again.  All notes are counted.
 *
 *  Threads: one writes; any read, also in other processes.  A note has a number before and after its
 *  texts, so that a reader does not take one that is being replaced.
 *  Units: nanoseconds of the monotonic clock. */
#ifndef TND_RUNTIME_NOTES_RUN_NOTES_H
#define TND_RUNTIME_NOTES_RUN_NOTES_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

typedef enum { TND_RUN_NOTES_BAD, TND_RUN_NOTES_RESTARTS } tnd_run_notes_kind_t;

enum {
    TND_RUN_NOTES_KINDS = 2,
    TND_RUN_NOTES_SUBJECTS = 8, /* whose first note is kept */
    TND_RUN_NOTES_NEWEST = 16,
    TND_RUN_NOTE_TEXT = 256 /* bytes of each text */
};

typedef struct {
    _Atomic uint64_t before; /* its number, from 1; 0: there is none */
    _Atomic uint64_t at_ns;
    _Atomic uint64_t count; /* of a subject: what it has had in all */
    _Atomic uint64_t who[TND_RUN_NOTE_TEXT / 8], where[TND_RUN_NOTE_TEXT / 8],
        what[TND_RUN_NOTE_TEXT / 8];
    _Atomic uint64_t after;
} tnd_run_note_record_t;

typedef struct {
    _Atomic uint64_t next;                                  /* notes so far */
    tnd_run_note_record_t subjects[TND_RUN_NOTES_SUBJECTS]; /* the first of each, in their order */
    tnd_run_note_record_t newest[TND_RUN_NOTES_NEWEST];     /* ring: number modulo its size */
} tnd_run_notes_t;

/*  A note, as read or to be written; texts are cut. */
typedef struct {
    uint64_t number, at_ns, count;
    char who[TND_RUN_NOTE_TEXT];   /* found or was restarted */
    char where[TND_RUN_NOTE_TEXT]; /* record, file and offset; the step */
    char what[TND_RUN_NOTE_TEXT];  /* the reason */
} tnd_run_note_t;

/*  Adds a note and counts it for its subject. */
void tnd_run_notes_add(tnd_run_notes_t *self, const char *who, const char *where, const char *what,
                       uint64_t now);
/*  Sets what a subject has had, where that is known better than by its notes. */
void tnd_run_notes_count(tnd_run_notes_t *self, const char *who, uint64_t count);
/*  Reads a note; returns false if there is none, or it is being replaced. */
bool tnd_run_note_read(const tnd_run_note_record_t *record, tnd_run_note_t *note);
/*  Reads note `age` of the newest ones: 0 is the last. */
bool tnd_run_notes_newest(const tnd_run_notes_t *self, uint64_t age, tnd_run_note_t *note);

#endif
