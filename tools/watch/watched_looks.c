/*  tools/watch/watched_looks.c - looks at a run and makes the texts that `tundish watch` serves. */
#include "tools/watch/watched_looks.h"

#include <inttypes.h>
#include <stdlib.h>

#include "runtime/base/allocation.h"
#include "runtime/base/clock.h"
#include "tools/choice/absent_run.h"
#include "tools/report/bottleneck.h"
#include "tools/report/evidence.h"
#include "tools/report/run_json.h"
#include "tools/watch/look_json.h"
#include "tools/watch/prometheus.h"

static void make_parts(tnd_watched_looks_t *self, const tnd_watched_run_t *run)
{
    size_t size;
    FILE *out = tnd_memory_stream(&self->parts, &size);
    tnd_watched_run_json(run, out);
    fclose(out);
}

/*  A server-sent event: its number, and the look as its data. */
static void write_live(tnd_watched_looks_t *self, FILE *out)
{
    if (self->parts == NULL)
        make_parts(self, &self->run);
    fprintf(out, "id: %" PRIu64 "\ndata: ", tnd_look_store_newest(&self->store));
    tnd_look_json(&self->run, self->parts, out);
    fputs("\n\n", out);
}

static void write_metrics(tnd_watched_looks_t *self, FILE *out)
{
    const tnd_top_snapshot_t *snapshot = self->run.snapshot;
    bool judged = snapshot != NULL && snapshot->outcome == NULL;
    tnd_prometheus_t metrics = {.look = self->run.after,
                                .totals = &self->totals,
                                .run = self->run.name,
                                .verdict = judged ? &snapshot->verdict : NULL,
                                .look_seconds = self->look_seconds,
                                .clients = self->clients};
    tnd_prometheus_write(&metrics, out);
}

static void write_why(tnd_watched_looks_t *self, FILE *out)
{
    const tnd_watched_run_t *run = &self->run;
    const tnd_inspected_t *process = tnd_watched_run_process(run);
    const tnd_inspection_t *before = run->before != NULL ? run->before : run->after;
    if (process != NULL) {
        tnd_verdict_t verdict;
        tnd_bottleneck_judge(before, run->after, process, &verdict);
        tnd_evidence_add(&verdict);
        tnd_verdict_print(&verdict, out);
    } else if (run->snapshot != NULL) {
        fprintf(out, "%s has ended: %s\n", run->snapshot->run, run->snapshot->outcome);
    } else {
        char absent[600];
        fprintf(out, "%s\n",
                tnd_absent_run_text(run->name, tnd_remote_hosts_leader(run->hosts), run->after,
                                    absent, sizeof absent));
    }
}

static void write_history(tnd_watched_looks_t *self, FILE *out)
{
    fprintf(out, "{\"schema\":%d,\"session\":\"%" PRIx64 "\",", TND_RUN_JSON_SCHEMA,
            self->history.session);
    tnd_actor_history_json(&self->history, tnd_clock_now(), out);
    fputs("}\n", out);
}

static void make(void *context, tnd_look_text_t kind, FILE *out)
{
    static void (*const writers[TND_LOOK_TEXTS])(tnd_watched_looks_t * self, FILE * out) = {
        write_live, write_metrics, write_why, write_history};
    writers[kind](context, out);
}

void tnd_watched_looks_begin(tnd_watched_looks_t *self, const char *name, tnd_remote_hosts_t *hosts)
{
    *self = (tnd_watched_looks_t){.store = {.make = make, .context = self}};
    tnd_watched_run_begin(&self->run, name, hosts, 0);
    self->run.what = TND_LOOK_DETAILS;
    self->run.follows = true;
}

void tnd_watched_looks_look(tnd_watched_looks_t *self)
{
    uint64_t begun = tnd_clock_now();
    tnd_watched_run_look(&self->run);
    const tnd_inspected_t *process = tnd_watched_run_process(&self->run);
    if (process != NULL || !self->run.ended) {
        free(self->parts);
        self->parts = NULL;
    } else if (self->parts == NULL) {
        /* The run has gone; the look before has it. */
        tnd_watched_run_t last = self->run;
        last.after = self->run.before;
        last.before = NULL;
        make_parts(self, &last);
    }
    if (process != NULL)
        tnd_actor_history_add(&self->history, self->run.after, process);
    tnd_time_totals_add(&self->totals, self->run.after);
    self->look_seconds = (double)(tnd_clock_now() - begun) * 1e-9;
    tnd_look_store_add(&self->store);
}

void tnd_watched_looks_free(tnd_watched_looks_t *self)
{
    tnd_watched_run_free(&self->run);
    tnd_actor_history_free(&self->history);
    tnd_time_totals_free(&self->totals);
    tnd_look_store_free(&self->store);
    free(self->parts);
}
