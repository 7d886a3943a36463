/*  tools/watch/run_account.c - what the report of a run has of its statistics. */
#include "tools/watch/run_account.h"

#include <stdlib.h>
#include <unistd.h>

#include "runtime/base/allocation.h"
#include "tools/report/run_json.h"

/*  Half of what the pages of a process have. */
static const uint64_t every_ns = UINT64_C(30000000000);

static const tnd_inspected_t *own_of(const tnd_inspection_t *look)
{
    for (uint32_t p = 0; p < look->count; p++)
        if (look->processes[p].process == (int)getpid() && !look->processes[p].killed)
            return &look->processes[p];
    return NULL;
}

static void write_account(const tnd_run_account_t *self, const tnd_inspection_t *look,
                          const tnd_inspected_t *own, FILE *out)
{
    bool any = false;
    fprintf(out, "\"look\":{\"schema\":%d,\"runs\":[", TND_RUN_JSON_SCHEMA);
    tnd_run_json_run(out, look, own);
    fputs("],\"processes\":[", out);
    for (uint32_t p = 0; p < look->count; p++) {
        if (!tnd_inspected_same(&look->processes[p], own))
            continue;
        fputs(any ? "," : "", out);
        tnd_run_json_process(out, look, look, &look->processes[p]);
        any = true;
    }
    fputs("],\"unread\":[]},\"history\":{", out);
    tnd_actor_history_json(&self->history, look->now_ns, out);
    fputs("}", out);
}

void tnd_run_account_tick(tnd_run_account_t *self, uint64_t now)
{
    if (now < self->due_ns)
        return;
    tnd_inspection_t *look = tnd_inspection_of_self(TND_LOOK_HISTORIES);
    const tnd_inspected_t *own = own_of(look);
    if (own != NULL)
        tnd_actor_history_add(&self->history, look, own);
    tnd_inspection_destroy(&look);
    self->due_ns = now + every_ns;
}

void tnd_run_account_end(tnd_run_account_t *self)
{
    tnd_inspection_t *look = tnd_inspection_of_self(TND_LOOK_DETAILS);
    const tnd_inspected_t *own = own_of(look);
    if (own != NULL) {
        size_t size;
        FILE *out = tnd_memory_stream(&self->text, &size);
        tnd_actor_history_add(&self->history, look, own);
        write_account(self, look, own, out);
        fclose(out);
    }
    tnd_inspection_destroy(&look);
}

void tnd_run_account_free(tnd_run_account_t *self)
{
    tnd_actor_history_free(&self->history);
    free(self->text);
    *self = (tnd_run_account_t){.text = NULL};
}
