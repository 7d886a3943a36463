/*  tools/survey.c - what can be known of a plan's data on this machine, before any start. */
#include "tools/survey.h"

#include <stdlib.h>
#include <string.h>

#include "runtime/kind.h"
#include "runtime/life/host.h"
#include "tools/machine.h"

/*  Whether an instance before this one is the same actor on the same host: its data is the same. */
static bool seen(const tnd_plan_t *plan, uint32_t index)
{
    const tnd_instance_t *instance = &plan->instances[index];
    for (uint32_t i = 0; i < index; i++)
        if (plan->instances[i].host == instance->host &&
            strcmp(plan->instances[i].actor, instance->actor) == 0)
            return true;
    return false;
}

static void open_data(tnd_survey_t *self, const tnd_plan_t *plan, const tnd_instance_t *instance)
{
    const tnd_kind_t *kind = tnd_kind_of(instance->kind);
    tnd_error_t *error = &self->errors[self->error_count];
    tnd_survey_chain_t *chain = &self->chains[instance->chain];
    tnd_stream_t stream = {.chain = instance->chain};
    void *shared = NULL;
    tnd_status_t status = kind->facts(instance, &stream, &shared, error);
    if (status == TND_OK) {
        kind->unshare(instance, shared);
        if (chain->known)
            status = tnd_stream_agree(&chain->stream, "one host", &stream,
                                      plan->hosts[instance->host].name, error);
        else
            chain->stream = stream;
    }
    if (status != TND_OK) {
        self->error_count++;
        return;
    }
    chain->known = true;
}

void tnd_survey_make(tnd_survey_t *self, const tnd_plan_t *plan)
{
    self->chains = calloc(plan->chain_count, sizeof *self->chains);
    self->awaits = calloc(plan->instance_count + 1, sizeof *self->awaits);
    self->errors = calloc(plan->instance_count + plan->chain_count + plan->host_count + 1,
                          sizeof *self->errors);
    self->await_count = self->error_count = 0;
    if (self->chains == NULL || self->awaits == NULL || self->errors == NULL)
        abort();
    for (uint32_t i = 0; i < plan->instance_count; i++) {
        const tnd_instance_t *instance = &plan->instances[i];
        if (tnd_kind_of(instance->kind)->facts == NULL || seen(plan, i))
            continue;
        if (tnd_machine_has(plan->hosts[instance->host].address))
            open_data(self, plan, instance);
        else
            self->awaits[self->await_count++] = (tnd_survey_await_t){
                .host = plan->hosts[instance->host].name, .actor = instance->actor};
    }
    for (uint32_t c = 0; c < plan->chain_count; c++)
        if (self->chains[c].known && tnd_host_derive(plan, &self->chains[c].stream,
                                                     &self->errors[self->error_count]) != TND_OK) {
            self->error_count++;
            self->chains[c].known = false;
        }
}

void tnd_survey_destroy(tnd_survey_t *self)
{
    free(self->chains);
    free(self->awaits);
    free(self->errors);
}
