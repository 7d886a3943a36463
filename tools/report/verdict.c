/*  tools/report/verdict.c - what limits a run, and what is wrong with it. */
#include "tools/report/verdict.h"

#include <inttypes.h>
#include <stdarg.h>
#include <string.h>

#include "runtime/observe/statistics.h"
#include "tools/cli/json.h"

const char *tnd_bound_name(tnd_bound_t bound)
{
    static const char *const names[] = {
#define BOUND_NAME(name, text) text,
        TND_BOUNDS(BOUND_NAME)
#undef BOUND_NAME
    };
    return names[bound];
}

void tnd_verdict_limit(tnd_verdict_t *self, tnd_bound_t bound, const tnd_seen_t *who,
                       const tnd_device_page_t *device, double share)
{
    tnd_limit_t *limit = &self->limit;
    *limit = (tnd_limit_t){.bound = bound, .process = who->process->process, .share = share};
    snprintf(limit->actor, sizeof limit->actor, "%s", who->page->actor);
    snprintf(limit->host, sizeof limit->host, "%s", who->process->host);
    if (device != NULL)
        snprintf(limit->device, sizeof limit->device, "%s", device->name);
    memcpy(self->actor, limit->actor, sizeof self->actor);
    memcpy(self->host, limit->host, sizeof self->host);
    memcpy(self->device, limit->device, sizeof self->device);
    self->process = limit->process;
}

void tnd_verdict_say(tnd_verdict_t *self, const char *format, ...)
{
    size_t used = strlen(self->sentence);
    va_list list;
    va_start(list, format);
    vsnprintf(self->sentence + used, sizeof self->sentence - used, format, list);
    va_end(list);
}

static bool is_same(const tnd_fault_t *a, const tnd_fault_t *b)
{
    return a->cause == b->cause && strcmp(a->actor, b->actor) == 0 &&
           strcmp(a->host, b->host) == 0 && strcmp(a->device, b->device) == 0;
}

void tnd_verdict_add(tnd_verdict_t *self, const tnd_fault_t *fault)
{
    uint32_t at = 0;
    for (uint32_t i = 0; i < self->fault_count; i++)
        if (is_same(&self->faults[i], fault))
            return;
    while (at < self->fault_count && self->faults[at].cause <= fault->cause)
        at++;
    if (at == TND_VERDICT_FAULTS)
        return;
    if (self->fault_count < TND_VERDICT_FAULTS)
        self->fault_count++;
    for (uint32_t i = self->fault_count - 1; i > at; i--)
        memcpy(&self->faults[i], &self->faults[i - 1], sizeof *fault);
    memcpy(&self->faults[at], fault, sizeof *fault);
}

static void print_fault(const tnd_fault_t *fault, FILE *out)
{
    bool aside = fault->evidence[0] != '\0' && fault->details[0] == '\0';
    fprintf(out, "  %s: %s%s%s%s%s%s\n", tnd_cause(fault->cause)->name, fault->text,
            aside ? " (" : "", aside ? fault->evidence : "", aside ? ")" : "",
            fault->action[0] != '\0' ? "; " : "", fault->action);
    if (fault->details[0] != '\0')
        fprintf(out, "    %s\n", fault->evidence);
    for (const char *at = fault->details; *at != '\0'; at += strcspn(at, "\n") + 1)
        fprintf(out, "    %.*s\n", (int)strcspn(at, "\n"), at);
}

void tnd_verdict_print(const tnd_verdict_t *self, FILE *out)
{
    fprintf(out, "%s\n", self->sentence);
    for (uint32_t i = 0; i < self->fault_count; i++)
        print_fault(&self->faults[i], out);
    for (uint32_t i = 0; self->state == TND_RUN_KILLED && i < self->hop_count; i++) {
        const tnd_hop_t *hop = &self->hops[i];
        fprintf(out, "  %s on host %s %s%s\n", hop->actor, hop->host,
                hop->waits != 0 ? "waited for " : "was working",
                hop->waits != 0 ? tnd_wait_name(tnd_wait_foremost(hop->waits)) : "");
    }
}

/* --- as JSON ---------------------------------------------------------------------------------- */

/*  A member that is null if the text is empty. */
static void write_text(FILE *out, const char *name, const char *text)
{
    fprintf(out, ",\"%s\":", name);
    tnd_json_text(out, *text != '\0' ? text : NULL);
}

static void write_number(FILE *out, const char *name, uint64_t number)
{
    if (number != 0)
        fprintf(out, ",\"%s\":%" PRIu64, name, number);
    else
        fprintf(out, ",\"%s\":null", name);
}

static void write_fault(FILE *out, const tnd_fault_t *fault, bool first)
{
    tnd_json_begin(out, !first, "reason", tnd_cause(fault->cause)->name);
    write_text(out, "actor", fault->actor);
    write_text(out, "host", fault->host);
    write_text(out, "device", fault->device);
    write_number(out, "pid", (uint64_t)fault->process);
    write_number(out, "thread", fault->thread);
    fprintf(out, ",\"since_seconds\":%.3f", (double)fault->since_ns * 1e-9);
    bool suffers = (tnd_cause(fault->cause)->traits & TND_CAUSE_SUFFERED) != 0;
    fprintf(out, ",\"suffered\":%s", suffers ? "true" : "false");
    write_text(out, "text", fault->text);
    write_text(out, "evidence", fault->evidence);
    write_text(out, "action", fault->action);
    fputs(",\"details\":[", out);
    tnd_json_lines(out, fault->details);
    fputs("]}", out);
}

static void write_limit(FILE *out, const tnd_limit_t *limit)
{
    if (limit->bound == TND_BOUND_NONE) {
        fputs(",\"limit\":null", out);
        return;
    }
    fputs(",\"limit\":", out);
    tnd_json_begin(out, false, "reason", tnd_bound_name(limit->bound));
    write_text(out, "actor", limit->actor);
    write_text(out, "host", limit->host);
    write_text(out, "device", limit->device);
    write_number(out, "pid", (uint64_t)limit->process);
    fprintf(out, ",\"share\":%.4f", limit->share);
    write_text(out, "advice", limit->advice);
    if (limit->gain > 0)
        fprintf(out, ",\"gain_rows_per_second\":%.1f}", limit->gain);
    else
        fputs(",\"gain_rows_per_second\":null}", out);
}

static void write_hop(FILE *out, const tnd_hop_t *hop, bool first)
{
    tnd_json_begin(out, !first, "actor", hop->actor);
    write_text(out, "host", hop->host);
    fputs(",\"waits\":[", out);
    bool any = false;
    for (unsigned bit = 0; tnd_wait_name(bit) != NULL; bit++) {
        if ((hop->waits >> bit & 1) == 0)
            continue;
        fprintf(out, "%s\"%s\"", any ? "," : "", tnd_wait_name(bit));
        any = true;
    }
    fprintf(out, "],\"since_seconds\":%.3f}", (double)hop->since_ns * 1e-9);
}

void tnd_verdict_json(const tnd_verdict_t *self, bool first, FILE *out)
{
    tnd_json_begin(out, !first, "run", self->run);
    fprintf(out, ",\"code\":%d,\"flows\":%s,\"rows_per_second\":%.1f", (int)self->state,
            self->flows ? "true" : "false", self->rows_per_second);
    write_text(out, "sentence", self->sentence);
    write_text(out, "actor", self->actor);
    write_text(out, "host", self->host);
    write_text(out, "device", self->device);
    write_number(out, "pid", (uint64_t)self->process);
    write_limit(out, &self->limit);
    fputs(",\"faults\":[", out);
    for (uint32_t i = 0; i < self->fault_count; i++)
        write_fault(out, &self->faults[i], i == 0);
    fputs("],\"chain\":[", out);
    for (uint32_t i = 0; i < self->hop_count; i++)
        write_hop(out, &self->hops[i], i == 0);
    fputs("]", out);
}
