/*  tools/metrics.c - one line of JSON for each committed step of the first chain. */
#include "tools/metrics.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio_ext.h>
#include <string.h>
#include <unistd.h>

#include "runtime/life/clock.h"
#include "runtime/life/tally.h"
#include "tools/json.h"

/*  Whoever follows the file sees steps this soon. */
static const uint64_t flush_every_ns = 10000000;

tnd_status_t tnd_metrics_open(tnd_metrics_t *self, const char *path, tnd_error_t *error)
{
    *self = (tnd_metrics_t){.path = path};
    if (path == NULL)
        return TND_OK;
    self->out = fopen(path, "we");
    if (self->out == NULL)
        return tnd_fail(error, "%s: cannot be written: %s", path, strerror(errno));
    return TND_OK;
}

/*  Has the lines written; where that fails nothing is left of the last ones, not half of one
 * either.
 */
static bool flush(tnd_metrics_t *self)
{
    if (!ferror(self->out) && fflush(self->out) == 0) {
        self->whole = ftello(self->out);
        return true;
    }
    self->reason = errno != 0 ? errno : EIO;
    __fpurge(self->out);
    if (self->whole >= 0 && ftruncate(fileno(self->out), self->whole) != 0)
        self->whole = -1; /* a device or a pipe: what is out is out */
    return false;
}

tnd_status_t tnd_metrics_step(tnd_metrics_t *self, const tnd_step_record_t *record,
                              tnd_error_t *error)
{
    if (self->out == NULL || record->chain != 0 || self->reason != 0)
        return TND_OK;
    errno = 0;
    fprintf(self->out, "{\"step\":%" PRIu64 ",\"epoch\":%" PRIu32 ",\"rows\":%" PRIu32,
            record->step, record->epoch, record->rows);
    for (uint32_t m = 0; m < record->metric_count; m++) {
        fputc(',', self->out);
        tnd_json_text(self->out, record->metrics[m].name);
        fputc(':', self->out);
        tnd_json_number(self->out, tnd_tally_mean(&record->metrics[m]));
    }
    fputs("}\n", self->out);
    uint64_t now = tnd_clock_now();
    if (now - self->flushed_ns < flush_every_ns && !ferror(self->out))
        return TND_OK;
    self->flushed_ns = now;
    return flush(self) ? TND_OK
                       : tnd_fail(error,
                                  "%s: cannot be written: %s; the run goes on, and no more lines "
                                  "are written",
                                  self->path, strerror(self->reason));
}

tnd_status_t tnd_metrics_close(tnd_metrics_t *self, tnd_error_t *error)
{
    if (self->out == NULL)
        return TND_OK;
    errno = 0;
    bool good = self->reason == 0 && flush(self);
    good = fclose(self->out) == 0 && good;
    self->out = NULL;
    return good ? TND_OK
                : tnd_fail(error, "%s: not all of it could be written: %s", self->path,
                           strerror(self->reason != 0 ? self->reason : errno));
}
