/*  tools/watch/look_json.c - a look at a watched run, as one line of JSON. */
#include "tools/watch/look_json.h"

#include <inttypes.h>

#include "tools/choice/absent_run.h"
#include "tools/cli/json.h"
#include "tools/report/run_json.h"

static void write_shares(const double *shares, unsigned count, FILE *out)
{
    fputs(",\"shares\":[", out);
    for (unsigned s = 0; s < count; s++)
        fprintf(out, "%s%.4f", s > 0 ? "," : "", shares[s]);
    fputs("]", out);
}

static void write_actor(const tnd_top_actor_t *actor, bool more, FILE *out)
{
    const char letter[2] = {tnd_top_letter(actor), '\0'};
    tnd_json_begin(out, more, "name", actor->name);
    tnd_json_member(out, "kind", actor->kind);
    tnd_json_member(out, "host", actor->host);
    tnd_json_member(out, "letter", letter);
    fprintf(out, ",\"here\":%s,\"rows_per_second\":%.1f,\"bytes_per_second\":%.1f",
            actor->here ? "true" : "false", actor->rows_per_second, actor->bytes_per_second);
    write_shares(actor->times, TND_TOP_SHARES, out);
    fputs(",\"devices\":[", out);
    for (uint32_t d = 0; d < actor->device_count; d++) {
        tnd_json_begin(out, d > 0, "name", actor->devices[d].name);
        write_shares(actor->devices[d].shares, TND_DEVICE_STATES, out);
        fputs("}", out);
    }
    fputs("]}", out);
}

/*  What passes along an edge; null without an end here. */
static void write_edge(const tnd_top_edge_t *edge, bool more, FILE *out)
{
    tnd_json_begin(out, more, "from", edge->from);
    tnd_json_member(out, "to", edge->to);
    if (edge->known)
        fprintf(out, ",\"rows_per_second\":%.1f,\"bytes_per_second\":%.1f", edge->rows_per_second,
                edge->bytes_per_second);
    else
        fputs(",\"rows_per_second\":null,\"bytes_per_second\":null", out);
    if (edge->free != TND_UNKNOWN)
        fprintf(out, ",\"credit_free_blocks\":%" PRIu64 "}", edge->free);
    else
        fputs(",\"credit_free_blocks\":null}", out);
}

static void write_window(const tnd_top_snapshot_t *snapshot, FILE *out)
{
    fprintf(out, ",\"window\":{\"seconds\":%.3f,\"rows_per_second\":%.1f,\"bytes_per_second\":%.1f",
            snapshot->window_seconds, snapshot->rows_per_second, snapshot->bytes_per_second);
    fputs(",\"actors\":[", out);
    for (uint32_t a = 0; a < snapshot->actor_count; a++)
        write_actor(&snapshot->actors[a], a > 0, out);
    fputs("],\"edges\":[", out);
    for (uint32_t e = 0; e < snapshot->edge_count; e++)
        write_edge(&snapshot->edges[e], e > 0, out);
    fputs("]}", out);
}

void tnd_look_json(const tnd_watched_run_t *run, const char *parts, FILE *out)
{
    const tnd_top_snapshot_t *snapshot = run->snapshot;
    char absent[600];
    fprintf(out, "{\"schema\":%d", TND_RUN_JSON_SCHEMA);
    tnd_json_member(out, "absent",
                    snapshot == NULL
                        ? tnd_absent_run_text(run->name, tnd_remote_hosts_leader(run->hosts),
                                              run->after, absent, sizeof absent)
                        : NULL);
    tnd_json_member(out, "ended", snapshot != NULL ? snapshot->outcome : NULL);
    if (snapshot != NULL && snapshot->verdict.run[0] != '\0') {
        fputs(",\"verdict\":", out);
        tnd_verdict_json(&snapshot->verdict, true, out);
        fputs("}", out);
    } else {
        fputs(",\"verdict\":null", out);
    }
    if (snapshot != NULL)
        write_window(snapshot, out);
    else
        fputs(",\"window\":null", out);
    fprintf(out, ",%s}", parts);
}
