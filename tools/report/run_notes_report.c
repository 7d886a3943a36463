/*  tools/report/run_notes_report.c - the bad records and restarts that a run keeps. */
#include "tools/report/run_notes_report.h"

#include <inttypes.h>

#include "tools/cli/json.h"
#include "tools/report/run_view.h"

/*  What the kinds are called. */
static const struct {
    const char *member, *subject, *one, *many;
} names[TND_RUN_NOTES_KINDS] = {
    [TND_RUN_NOTES_BAD] = {"bad", "found_by", "bad record", "bad records"},
    [TND_RUN_NOTES_RESTARTS] = {"restarts", "restarted", "restart", "restarts"},
};

static const tnd_run_notes_t *notes_of(const tnd_inspected_t *process, tnd_run_notes_kind_t kind)
{
    const tnd_run_notes_t *notes = process->record.notes;
    return notes != NULL ? &notes[kind] : NULL;
}

/*  Only some bad records are noted.  The ledger of the page has all, but is written later than the
 *  counts of the subjects, which are only some. */
static uint64_t total(const tnd_inspected_t *process, tnd_run_notes_kind_t kind)
{
    const tnd_run_notes_t *notes = notes_of(process, kind);
    uint64_t counted = 0, ledger = process->record.page->bad;
    if (kind != TND_RUN_NOTES_BAD)
        return notes->next;
    for (unsigned s = 0; s < TND_RUN_NOTES_SUBJECTS; s++)
        counted += notes->subjects[s].count;
    return counted > ledger ? counted : ledger;
}

static double age_of(const tnd_run_note_t *note, uint64_t now)
{
    return now > note->at_ns ? (double)(now - note->at_ns) * 1e-9 : 0;
}

/* --- as text ---------------------------------------------------------------------------------- */

bool tnd_run_notes_reason(const tnd_run_notes_t *notes, unsigned subject, char *text, size_t room)
{
    tnd_run_note_t note;
    if (subject >= TND_RUN_NOTES_SUBJECTS || !tnd_run_note_read(&notes->subjects[subject], &note))
        return false;
    snprintf(text, room, "%" PRIu64 " by %s, such as %s: %s", note.count, note.who, note.where,
             note.what);
    return true;
}

static void print_subject(FILE *out, const tnd_run_notes_t *notes, tnd_run_notes_kind_t kind,
                          unsigned subject)
{
    tnd_run_note_t note;
    char text[4 * TND_RUN_NOTE_TEXT];
    if (!tnd_run_note_read(&notes->subjects[subject], &note))
        return;
    if (kind == TND_RUN_NOTES_BAD && tnd_run_notes_reason(notes, subject, text, sizeof text))
        fprintf(out, "  %s\n", text);
    if (kind == TND_RUN_NOTES_RESTARTS)
        fprintf(out, "  %s, %" PRIu64 " time%s, first at %s: %s\n", note.who, note.count,
                note.count == 1 ? "" : "s", note.where, note.what);
}

void tnd_run_notes_print(FILE *out, const tnd_inspected_t *process, tnd_run_notes_kind_t kind,
                         uint64_t now)
{
    const tnd_run_notes_t *notes = notes_of(process, kind);
    if (notes == NULL)
        return;
    uint64_t count = total(process, kind);
    tnd_run_note_t note;
    char age[24];
    fprintf(out, "%s (process %d): %" PRIu64 " %s\n", process->run, process->process, count,
            count == 1 ? names[kind].one : names[kind].many);
    for (unsigned s = 0; s < TND_RUN_NOTES_SUBJECTS; s++)
        print_subject(out, notes, kind, s);
    if (notes->next > 0)
        fputs("  newest:\n", out);
    for (uint64_t back = 0; back < TND_RUN_NOTES_NEWEST; back++)
        if (tnd_run_notes_newest(notes, back, &note))
            fprintf(out, "    %s ago, %s: %s: %s\n",
                    tnd_duration_text((uint64_t)(age_of(&note, now) * 1e9), age), note.where,
                    note.who, note.what);
}

/* --- as JSON ---------------------------------------------------------------------------------- */

static void print_note(FILE *out, const tnd_run_note_t *note, tnd_run_notes_kind_t kind, bool any,
                       uint64_t now)
{
    tnd_json_begin(out, any, names[kind].subject, note->who);
    tnd_json_member(out, "place", note->where);
    tnd_json_member(out, "reason", note->what);
    fprintf(out, ",\"age_seconds\":%.3f", age_of(note, now));
}

void tnd_run_notes_json(FILE *out, const tnd_inspected_t *process, tnd_run_notes_kind_t kind,
                        uint64_t now)
{
    const tnd_run_notes_t *notes = notes_of(process, kind);
    tnd_run_note_t note;
    bool any = false;
    fprintf(out, ",\"%s\":", names[kind].member);
    if (notes == NULL) {
        fputs("null", out);
        return;
    }
    fprintf(out, "{\"count\":%" PRIu64 ",\"first\":[", total(process, kind));
    for (unsigned s = 0; s < TND_RUN_NOTES_SUBJECTS; s++) {
        if (!tnd_run_note_read(&notes->subjects[s], &note))
            continue;
        print_note(out, &note, kind, any, now);
        fprintf(out, ",\"count\":%" PRIu64 "}", note.count);
        any = true;
    }
    fputs("],\"newest\":[", out);
    any = false;
    for (uint64_t back = 0; back < TND_RUN_NOTES_NEWEST; back++) {
        if (!tnd_run_notes_newest(notes, back, &note))
            continue;
        print_note(out, &note, kind, any, now);
        fputc('}', out);
        any = true;
    }
    fputs("]}", out);
}
