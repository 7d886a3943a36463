/*  tools/metrics.c - one line of JSON for each committed step of the first chain. */
#include "tools/metrics.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

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

void tnd_metrics_step(tnd_metrics_t *self, const tnd_step_record_t *record)
{
    if (self->out == NULL || record->chain != 0)
        return;
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
    if (now - self->flushed_ns >= flush_every_ns) {
        self->flushed_ns = now;
        fflush(self->out);
    }
}

tnd_status_t tnd_metrics_close(tnd_metrics_t *self, tnd_error_t *error)
{
    if (self->out == NULL)
        return TND_OK;
    bool bad = ferror(self->out) != 0;
    bad = fclose(self->out) != 0 || bad;
    self->out = NULL;
    return bad ? tnd_fail(error, "%s: not all of it could be written", self->path) : TND_OK;
}
