/*  tools/report/report.c - writes the account of a run as JSON. */
#include "tools/report/report.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "actors/plan/reduction_through.h"
#include "runtime/observe/statistics.h"
#include "runtime/observe/tuning.h"
#include "runtime/topology/best_options.h"
#include "tools/cli/json.h"
#include "tools/cli/versions.h"

tnd_status_t tnd_report_open(tnd_run_report_t *self, const char *path, tnd_error_t *error)
{
    *self = (tnd_run_report_t){0};
    return path != NULL ? tnd_output_open(&self->output, path, error) : TND_OK;
}

void tnd_report_abandon(tnd_run_report_t *self)
{
    tnd_output_abandon(&self->output);
}

tnd_status_t tnd_report_close(tnd_run_report_t *self, const tnd_run_summary_t *summary,
                              const char *account, const tnd_report_end_t *end, tnd_error_t *error)
{
    if (self->output.out == NULL)
        return TND_OK;
    tnd_report_print(summary, account, end, self->output.out);
    return tnd_output_close(&self->output, error);
}

static void print_chain(const tnd_run_summary_chain_t *chain, FILE *out)
{
    const tnd_ledger_t *rows = &chain->ledger;
    uint64_t digest[2] = {chain->digest.low, chain->digest.high};
    fprintf(out,
            "\"rows\":{\"read\":%" PRIu64 ",\"added\":%" PRIu64 ",\"fed\":%" PRIu64
            ",\"filtered\":%" PRIu64 ",\"bad\":%" PRIu64 ",\"dropped\":%" PRIu64 "},\"bad\":[",
            rows->read, rows->added, rows->fed, rows->filtered, rows->bad, rows->dropped);
    for (uint32_t i = 0; i < chain->reason_count; i++) {
        const tnd_reason_t *reason = &chain->reasons[i];
        fprintf(out, "%s{\"count\":%" PRIu64 ",\"found_by\":", i > 0 ? "," : "", reason->count);
        tnd_json_text(out, reason->who);
        tnd_json_member(out, "place", reason->where[0] != '\0' ? reason->where : NULL);
        tnd_json_member(out, "first", reason->first);
        fputc('}', out);
    }
    fprintf(out, "],\"steps\":%" PRIu64 ",\"epochs\":%" PRIu64 ",\"stream_digest\":", chain->steps,
            chain->epochs);
    if (tnd_digest_is_empty(&chain->digest) && rows->fed > 0)
        fputs("null", out); /* `digest: false` */
    else
        tnd_json_hash(out, digest);
}

static void print_metrics(const tnd_metric_sums_t *sums, bool first, FILE *out)
{
    for (uint32_t m = 0; m < sums->count; m++) {
        fputs(m > 0 || !first ? "," : "", out);
        tnd_json_text(out, sums->of[m].name);
        fputc(':', out);
        tnd_json_number(out, tnd_run_summary_mean(&sums->of[m]));
    }
}

/*  One for each time that the chain was fed. */
static void print_validations(const tnd_run_summary_t *summary, uint32_t chain, FILE *out)
{
    const tnd_validations_t *all = &summary->validations;
    bool any = false;
    for (size_t i = 0; i < all->count; i++) {
        if (all->of[i].chain != chain)
            continue;
        fprintf(out, "%s{\"after_step\":%" PRId64 ",\"epoch\":%" PRIu32, any ? "," : "",
                (int64_t)all->of[i].steps - 1, all->of[i].epoch);
        print_metrics(&all->of[i].sums, false, out);
        fputc('}', out);
        any = true;
    }
}

static void print_results(const tnd_run_summary_t *summary, FILE *out)
{
    bool any = false;
    for (uint32_t c = 0; c < summary->plan->chain_count; c++) {
        const char *feeder = summary->chains[c].plan->feeder;
        const tnd_metric_sums_t *sums = &summary->chains[c].sums.latest;
        bool is_list = tnd_chain_repeats(&summary->plan->chains[c]);
        if (feeder == NULL || (sums->count == 0 && !is_list))
            continue;
        fputs(any ? "," : "", out);
        any = true;
        tnd_json_text(out, feeder);
        fputs(is_list ? ":[" : ":{", out);
        if (is_list)
            print_validations(summary, c, out);
        else
            print_metrics(sums, true, out);
        fputc(is_list ? ']' : '}', out);
    }
}

/*  The best of the validations, if it is wanted. */
static void print_best(const tnd_run_summary_t *summary, FILE *out)
{
    const tnd_best_t *best = &summary->best;
    if (summary->best_chain == 0) {
        fputs("null", out);
        return;
    }
    const tnd_chain_plan_t *chain = &summary->plan->chains[summary->best_chain];
    tnd_json_begin(out, false, "feeder", chain->feeder);
    tnd_json_member(out, "metric", chain->best->metric);
    fputs(",\"value\":", out);
    if (best->step > 0)
        tnd_json_number(out, best->value);
    else
        fputs("null", out);
    fprintf(out,
            ",\"after_step\":%" PRId64 ",\"kept\":%s,\"validations_since\":%" PRIu64
            ",\"ended_run\":%s}",
            (int64_t)best->step - 1, summary->best_kept ? "true" : "false", best->without,
            tnd_best_ends(best) ? "true" : "false");
}

/*  The feeders whose results lack rows of their epoch. */
static void print_partial(const tnd_run_summary_t *summary, FILE *out)
{
    bool any = false;
    for (uint32_t c = 0; c < summary->plan->chain_count; c++) {
        const char *feeder = summary->chains[c].plan->feeder;
        if (feeder == NULL || !summary->chains[c].sums.latest.partial)
            continue;
        fputs(any ? "," : "", out);
        any = true;
        tnd_json_text(out, feeder);
    }
}

/*  Of each actor that has labels, the names in the order of their numbers. */
static void print_labels(const tnd_run_summary_t *summary, FILE *out)
{
    for (uint32_t i = 0; i < summary->labels_count; i++) {
        const tnd_run_summary_labels_t *labels = &summary->labels[i];
        fputs(i > 0 ? "," : "", out);
        tnd_json_text(out, labels->actor);
        fputs(":[", out);
        for (size_t n = 0; n < labels->count; n++) {
            fputs(n > 0 ? "," : "", out);
            tnd_json_text(out, labels->names[n]);
        }
        fputc(']', out);
    }
}

/* --- actors ----------------------------------------------------------------------------------- */

/*  The number after `name` in the text `counts`; 0 if it is absent. */
static uint64_t count_of(const char *counts, const char *name)
{
    size_t length = strlen(name);
    for (const char *at = counts; at != NULL; at = strchr(at, ' ')) {
        at += *at == ' ';
        if (strncmp(at, name, length) == 0 && at[length] == ' ')
            return strtoull(at + length, NULL, 10);
    }
    return 0;
}

static void print_actor(const tnd_run_summary_actor_t *actor, FILE *out)
{
    static const char *const plain[] = {"rows_in",  "rows_out",  "blocks_in",    "blocks_out",
                                        "bytes_in", "bytes_out", "bytes_copied", "again"};
    tnd_json_begin(out, false, "name", actor->actor);
    tnd_json_member(out, "kind", actor->kind);
    tnd_json_member(out, "host", actor->host);
    for (size_t i = 0; i < sizeof plain / sizeof plain[0]; i++)
        fprintf(out, ",\"%s\":%" PRIu64, plain[i], count_of(actor->counts, plain[i]));
    fprintf(out, ",\"cpu_seconds\":%.9f,\"wall_seconds\":%.9f,\"waits\":{",
            (double)(count_of(actor->counts, "cpu_ns") + count_of(actor->counts, "device_cpu_ns")) *
                1e-9,
            (double)count_of(actor->counts, "work_ns") * 1e-9);
    bool any = false;
    for (unsigned w = 0; w < TND_WAIT_REASONS; w++) {
        char name[32];
        snprintf(name, sizeof name, "wait_%u_ns", w);
        uint64_t waited = count_of(actor->counts, name);
        if (waited == 0 || tnd_wait_name(w) == NULL)
            continue;
        fprintf(out, "%s\"%s\":%.9f", any ? "," : "", tnd_wait_name(w), (double)waited * 1e-9);
        any = true;
    }
    fputs("},\"times\":{", out);
#define PRINT_TIME(name, text)                                                                     \
    fprintf(out, "%s\"" #name "\":%.9f", strcmp(#name, "cpu") != 0 ? "," : "",                     \
            (double)count_of(actor->counts, "time_" #name) * 1e-9);
    TND_TIMES(PRINT_TIME)
#undef PRINT_TIME
    fputs("}", out);
    uint64_t tuning = count_of(actor->counts, "tuning");
    if (tuning != 0) {
        char text[256];
        fprintf(out, ",\"asleep\":%s", count_of(actor->counts, "asleep") != 0 ? "true" : "false");
        tnd_json_member(out, "tuning", tnd_tuning_text(tuning, text, sizeof text));
    }
    fputs("}", out);
}

static void print_end(const tnd_report_end_t *end, FILE *out)
{
    static const char *const names[] = {
        [TND_OUTCOME_NONE] = "failed",       [TND_OUTCOME_DONE] = "done",
        [TND_OUTCOME_DRAINED] = "drained",   [TND_OUTCOME_STOPPED] = "stopped",
        [TND_OUTCOME_FAILED] = "failed",     [TND_OUTCOME_LOST] = "lost",
        [TND_OUTCOME_UNUSABLE] = "unusable", [TND_OUTCOME_AGAIN] = "lost",
    };
    bool said = end->message != NULL && end->message[0] != '\0';
    fprintf(out, ",\"ended\":{\"code\":%d", end->code);
    tnd_json_member(out, "outcome", names[end->outcome]);
    tnd_json_member(out, "message", said ? end->message : NULL);
    fputc('}', out);
}

void tnd_report_print(const tnd_run_summary_t *summary, const char *account,
                      const tnd_report_end_t *end, FILE *out)
{
    const tnd_run_summary_chain_t *first = &summary->chains[0];
    fputc('{', out);
    print_chain(first, out);
    tnd_json_member(out, "model_digest", first->model[0] != '\0' ? first->model : NULL);
    fprintf(out, ",\"reproducible\":%s",
            tnd_reduction_is_reproducible(summary->plan) ? "true" : "false");
    double seconds = tnd_run_summary_seconds(first);
    double rate = seconds > 0 ? (double)(first->ledger.fed - first->before_fed) / seconds : 0;
    double row_bytes =
        first->stream_known ? (double)tnd_schema_row_bytes(&first->stream.fed.schema) : 0;
    fprintf(out, ",\"seconds\":%.9f,\"rows_per_second\":%.1f,\"bytes_per_second\":", seconds, rate);
    if (first->stream_known && tnd_schema_ragged(&first->stream.joined.schema) > 0)
        fputs("null", out); /* the number of rows is not enough */
    else
        fprintf(out, "%.1f", rate * row_bytes);
    fputs(",\"actors\":[", out);
    for (uint32_t a = 0; a < summary->actor_count; a++) {
        fputs(a > 0 ? "," : "", out);
        print_actor(&summary->actors[a], out);
    }
    fputs("],\"results\":{", out);
    print_results(summary, out);
    fputs("},\"best\":", out);
    print_best(summary, out);
    fputs(",\"partial_results\":[", out);
    print_partial(summary, out);
    fputs("],\"chains\":{", out);
    for (uint32_t c = 1; c < summary->plan->chain_count; c++) {
        fputs(c > 1 ? "," : "", out);
        tnd_json_text(out, summary->chains[c].plan->feeder);
        fputs(":{", out);
        print_chain(&summary->chains[c], out);
        fputc('}', out);
    }
    fputs("},\"labels\":{", out);
    print_labels(summary, out);
    fputc('}', out);
    fprintf(out, ",\"checkpoints_failed\":%" PRIu64, summary->unwritten);
    tnd_json_member(out, "checkpoint_failure",
                    summary->unwritten > 0 ? summary->unwritten_why : NULL);
    print_end(end, out);
    fputs(",\"versions\":", out);
    tnd_versions_print_json(out);
    fprintf(out, ",\"seed\":%" PRIu64 ",\"fingerprint\":", summary->plan->seed);
    tnd_json_hash(out, summary->plan->fingerprint);
    fprintf(out, "%s%s}\n", account != NULL ? "," : "", account != NULL ? account : "");
}
