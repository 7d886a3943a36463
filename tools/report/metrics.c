/*  tools/report/metrics.c - writes one line of JSON per committed step of the first chain. */
#include "tools/report/metrics.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runtime/base/allocation.h"
#include "runtime/base/clock.h"
#include "runtime/observe/run_summary.h"
#include "tools/cli/json.h"

/*  The delay after which a reader of the file sees a step. */
static const uint64_t flush_every_ns = 10000000;

/*  Lines that are passed on together. */
enum { BATCH_BYTES = 64 << 10 };

tnd_status_t tnd_metrics_open(tnd_metrics_t *self, const char *path, bool continues,
                              tnd_error_t *error)
{
    *self = (tnd_metrics_t){.path = path, .continues = continues};
    if (path == NULL)
        return TND_OK;
    TND_TRY(tnd_line_writer_open(&self->writer, path, continues, error));
    self->lines = tnd_memory_stream(&self->text, &self->size);
    return TND_OK;
}

/*  Whether a whole line is of something before a step. */
static bool is_before(const char *line, uint64_t step)
{
    uint64_t number;
    const char *after = strstr(line, ",\"after_step\":");
    if (sscanf(line, "{\"step\":%" SCNu64, &number) != 1 &&
        (after == NULL || sscanf(after, ",\"after_step\":%" SCNu64, &number) != 1))
        return false;
    return line[strlen(line) - 1] == '\n' && number < step;
}

/*  Removes the lines from the first one on that is of this step, of a later one, or not whole.  The writer
 *  has no line yet, and adds to the end of the file. */
static void cut(tnd_metrics_t *self, uint64_t step)
{
    struct stat is;
    FILE *in = self->continues && stat(self->path, &is) == 0 && S_ISREG(is.st_mode)
                   ? fopen(self->path, "re")
                   : NULL;
    char *line = NULL;
    size_t room = 0;
    off_t keep = 0;
    self->continues = false;
    if (in == NULL)
        return;
    while (getline(&line, &room, in) > 0 && is_before(line, step))
        keep = ftello(in);
    free(line);
    fclose(in);
    if (truncate(self->path, keep) != 0)
        self->told = true; /* later writes fail in the same way */
}

static void hand_over(tnd_metrics_t *self)
{
    if (fflush(self->lines) != 0)
        abort();
    tnd_line_writer_put(self->writer, self->text, self->size);
    rewind(self->lines);
}

/*  The rest of a line. */
static void print_metrics(tnd_metrics_t *self, const tnd_metric_t *metrics, uint32_t count)
{
    for (uint32_t m = 0; m < count; m++) {
        fputc(',', self->lines);
        tnd_json_text(self->lines, metrics[m].name);
        fputc(':', self->lines);
        tnd_json_number(self->lines, tnd_run_summary_mean(&metrics[m]));
    }
    fputs("}\n", self->lines);
}

tnd_status_t tnd_metrics_step(tnd_metrics_t *self, const tnd_step_record_t *record,
                              tnd_error_t *error)
{
    if (self->writer == NULL || record->chain != 0 || self->told)
        return TND_OK;
    cut(self, record->step);
    fprintf(self->lines, "{\"step\":%" PRIu64 ",\"epoch\":%" PRIu32 ",\"rows\":%" PRIu32,
            record->step, record->epoch, record->rows);
    print_metrics(self, record->metrics, record->metric_count);
    uint64_t now = tnd_clock_now();
    if (now - self->flushed_ns < flush_every_ns && ftello(self->lines) < BATCH_BYTES)
        return TND_OK;
    self->flushed_ns = now;
    hand_over(self);
    int reason = tnd_line_writer_reason(self->writer);
    self->told = reason != 0;
    return !self->told
               ? TND_OK
               : tnd_fail(
                     error,
                     "%s: cannot be written: %s; the run continues, and no more lines are written",
                     self->path, strerror(reason));
}

void tnd_metrics_validated(tnd_metrics_t *self, const tnd_plan_t *plan,
                           const tnd_validated_t *validated)
{
    if (self->writer == NULL || self->told)
        return;
    cut(self, validated->steps);
    fputs("{\"feeder\":", self->lines);
    tnd_json_text(self->lines, plan->chains[validated->chain].feeder);
    fprintf(self->lines, ",\"after_step\":%" PRId64 ",\"epoch\":%" PRIu32,
            (int64_t)validated->steps - 1, validated->epoch);
    print_metrics(self, validated->sums.of, validated->sums.count);
    hand_over(self);
}

const char *tnd_metrics_why_dropped(const char *path)
{
    struct stat facts;
    bool file = stat(path, &facts) == 0 && S_ISREG(facts.st_mode);
    return file ? "its disk took nothing for more than a second" : "it was not read in time";
}

void tnd_metrics_backlog(const tnd_metrics_t *self, tnd_backlog_t *backlog)
{
    *backlog = (tnd_backlog_t){.path = self->path};
    if (self->writer == NULL)
        return;
    backlog->since_ns = tnd_line_writer_waits_since(self->writer);
    backlog->dropped = tnd_line_writer_dropped(self->writer);
    backlog->reason = tnd_line_writer_reason(self->writer);
}

tnd_status_t tnd_metrics_close(tnd_metrics_t *self, uint64_t until_ns, uint64_t *dropped_p,
                               tnd_error_t *error)
{
    *dropped_p = 0;
    if (self->writer == NULL)
        return TND_OK;
    int reason = 0;
    hand_over(self);
    fclose(self->lines);
    free(self->text);
    *dropped_p = tnd_line_writer_close(&self->writer, until_ns, &reason);
    return reason == 0 ? TND_OK
                       : tnd_fail(error, "%s: could not be written completely: %s", self->path,
                                  strerror(reason));
}
