/*  Covers runtime/notes/run_notes.h: the first of each subject and the newest are kept. */
#include "runtime/notes/run_notes.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

static tnd_run_notes_t notes;
static tnd_run_note_t note;

static void add(const char *who, int number)
{
    char where[32];
    snprintf(where, sizeof where, "record %d", number);
    tnd_run_notes_add(&notes, who, where, "it is short", (uint64_t)number);
}

Test(run_notes, the_first_of_eight_subjects_and_the_newest_sixteen_are_kept)
{
    char who[32];
    for (int i = 0; i < 9; i++) {
        snprintf(who, sizeof who, "operation %d", i);
        add(who, 10 * i);
        add(who, 10 * i + 1);
    }
    cr_assert_eq(notes.next, 18);
    for (unsigned s = 0; s < 8; s++) {
        cr_assert(tnd_run_note_read(&notes.subjects[s], &note));
        snprintf(who, sizeof who, "operation %u", s);
        cr_assert_str_eq(note.who, who);
        cr_assert(note.count == 2 && note.at_ns == 10 * s && note.number == 2 * s + 1);
    }
    for (uint64_t age = 0; age < 16; age++) {
        cr_assert(tnd_run_notes_newest(&notes, age, &note));
        cr_assert(note.number == 18 - age && note.count == 0);
    }
    cr_assert_not(tnd_run_notes_newest(&notes, 16, &note));
    cr_assert(tnd_run_notes_newest(&notes, 0, &note));
    cr_assert_str_eq(note.where, "record 81");
    tnd_run_notes_count(&notes, "operation 7", 500);
    cr_assert(tnd_run_note_read(&notes.subjects[7], &note));
    cr_assert_eq(note.count, 500);
}

Test(run_notes, a_long_text_is_cut_and_what_is_being_replaced_is_not_read)
{
    char text[2 * TND_RUN_NOTE_TEXT];
    memset(text, 'x', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    tnd_run_notes_add(&notes, "prep", text, "why", 1);
    cr_assert(tnd_run_note_read(&notes.subjects[0], &note));
    cr_assert_eq(strlen(note.where), TND_RUN_NOTE_TEXT - 1);
    notes.subjects[0].after = 0;
    cr_assert_not(tnd_run_note_read(&notes.subjects[0], &note));
    memset(&notes, 0xff, sizeof notes);
    (void)tnd_run_note_read(&notes.subjects[0], &note);
    cr_assert_lt(strlen(note.what), sizeof note.what, "garbage has an end");
    cr_assert_not(tnd_run_notes_newest(&notes, 0, &note) && note.number == 0);
}
