/*  actors/feeder/step_reports.c - what replicas report of a step, for the leader. */
#include "actors/feeder/step_reports.h"

#include <assert.h>
#include <inttypes.h>
#include <string.h>

#include "runtime/core/checkpoint.h"

/*  The characters of one line of a report, and the lines about a saved model, at most. */
enum { LINE = 96, SAVED_LINES = 4 };

size_t tnd_step_reports_bytes(void)
{
    return (size_t)(TND_METRICS_MAX + SAVED_LINES) * LINE;
}

const tnd_task_t *tnd_step_reports_save(tnd_step_reports_t *self, tnd_models_t *models,
                                        const tnd_slice_note_t *slice)
{
    uint64_t epochs = slice->last_of_epoch ? (uint64_t)slice->epoch + 1 : 0;
    tnd_keep_note_t keep = tnd_checkpoint_word_of_feeder(&self->keep, self->uneven);
    if (models == NULL || !tnd_checkpoint_asks(&keep, slice->step + 1, epochs))
        return NULL;
    const tnd_task_t *task = tnd_models_keep_task(models);
    if (task != NULL)
        self->saved = slice->step + 1;
    return task;
}

size_t tnd_step_reports_print(const tnd_report_t *report, uint32_t replica, char *text, size_t room)
{
    size_t used = 0;
    for (uint32_t m = 0; m < report->count; m++) {
        char metric[TND_METRIC_TEXT];
        (void)tnd_metric_print(&report->metrics[m], metric);
        used += (size_t)snprintf(text + used, room - used, "%" PRIu32 " %s\n", replica, metric);
    }
    return used;
}

size_t tnd_step_reports_print_saved(const tnd_report_t *report, uint32_t replica, char *text,
                                    size_t room)
{
    char hash[TND_DIGEST_TEXT_SIZE];
    const tnd_saved_t *part = &report->part;
    if (report->kept == TND_KEPT_NOT_ASKED)
        return 0;
    if (report->kept == TND_KEPT_NONE)
        return (size_t)snprintf(text, room, "bare %" PRIu32 "\n", replica);
    if (report->kept == TND_KEPT_NOT)
        return (size_t)snprintf(text, room, "unkept %" PRIu32 " %s\n", replica,
                                report->not_kept_why);
    tnd_digest_print(&(tnd_digest_t){.low = part->hash[0], .high = part->hash[1]}, hash);
    return (size_t)snprintf(text, room, "part %" PRIu32 " %" PRIu64 " %s\n", replica, part->bytes,
                            hash);
}

/*  A buffer for so many lines. */
static tnd_buffer_t *take_lines(tnd_step_reports_t *self, size_t lines)
{
    if (lines * LINE > self->room) {
        tnd_pool_destroy(&self->pool);
        self->room = lines * LINE;
        self->pool = tnd_pool_new(self->room);
    }
    return tnd_pool_take(self->pool);
}

/*  Where a report says what a replica saved: a model that replicas share is saved by the first one. */
static const tnd_report_t *saved_by(const tnd_step_reports_t *self, const tnd_done_t *done,
                                    uint32_t replica, bool bare)
{
    static const tnd_report_t nothing = {.kept = TND_KEPT_NONE};
    uint32_t after = replica % self->accumulate;
    bool asked = done->reports[replica - after].kept != TND_KEPT_NOT_ASKED;
    return bare || (after > 0 && asked) ? &nothing : &done->reports[replica];
}

tnd_buffer_t *tnd_step_reports_of(tnd_step_reports_t *self, tnd_models_t *models,
                                  const tnd_done_t *done)
{
    size_t lines = 0, used = 0;
    bool bare = models == NULL && tnd_device_workers_discards(self->workers) &&
                tnd_checkpoint_asks(&self->keep, done->step + 1, 0);
    if (bare)
        self->saved = done->step + 1;
    for (uint32_t r = 0; r < self->count; r++)
        lines += done->reports[r].count +
                 (saved_by(self, done, r, bare)->kept != TND_KEPT_NOT_ASKED ? SAVED_LINES : 0);
    if (lines == 0)
        return NULL;
    tnd_buffer_t *note = take_lines(self, lines);
    char *text = tnd_buffer_data(note);
    for (uint32_t r = 0; r < self->count; r++)
        used += tnd_step_reports_print(&done->reports[r], self->first + r, text + used,
                                       self->room - used);
    for (uint32_t r = 0; r < self->count; r++)
        used += tnd_step_reports_print_saved(saved_by(self, done, r, bare), self->first + r,
                                             text + used, self->room - used);
    assert(used < self->room);
    memset(text + used, ' ', self->room - used); /* the reader skips blank lines */
    tnd_buffer_seal(note);
    return note;
}

void tnd_step_reports_save_last(const tnd_step_reports_t *self, tnd_models_t *models,
                                uint64_t steps, FILE *out)
{
    if (steps == self->saved || steps == 0 ||
        (models == NULL && !tnd_device_workers_discards(self->workers)))
        return;
    fprintf(out, "behind %" PRIu64 "\n", steps);
    for (uint32_t r = 0; r < self->count; r++) {
        char text[SAVED_LINES * LINE];
        tnd_error_t why;
        bool has = models != NULL && r % self->accumulate == 0;
        tnd_report_t report = {.kept = has ? TND_KEPT : TND_KEPT_NONE};
        if (has && tnd_models_keep(models, steps, self->first + r, &report.part, &why) != TND_OK) {
            report.kept = TND_KEPT_NOT;
            snprintf(report.not_kept_why, sizeof report.not_kept_why, "%.255s", why.text);
        }
        (void)tnd_step_reports_print_saved(&report, self->first + r, text, sizeof text);
        fputs(text, out);
    }
}

void tnd_step_reports_free(tnd_step_reports_t *self)
{
    tnd_pool_destroy(&self->pool);
}
