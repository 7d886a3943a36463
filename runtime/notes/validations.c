/*  runtime/notes/validations.c - what the chains with `every:` have reported, each time they were fed. */
#include "runtime/notes/validations.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/base/allocation.h"

void tnd_validations_add(tnd_validations_t *self, const tnd_validated_t *validated)
{
    self->of = tnd_grow(self->of, self->count, &self->room, sizeof *self->of);
    self->of[self->count++] = *validated;
}

void tnd_validations_free(tnd_validations_t *self)
{
    free(self->of);
    *self = (tnd_validations_t){.of = NULL};
}

tnd_validations_t tnd_validations_copy(const tnd_validations_t *self)
{
    tnd_validations_t copy = {.of = NULL};
    for (size_t i = 0; i < self->count; i++)
        tnd_validations_add(&copy, &self->of[i]);
    return copy;
}

bool tnd_validated_value(const tnd_validated_t *self, const char *metric, double *value_p)
{
    const tnd_metric_sums_t *sums = &self->sums;
    for (uint32_t m = 0; m < sums->count; m++)
        if (strcmp(sums->of[m].name, metric) == 0) {
            *value_p = sums->of[m].weight != 0 ? sums->of[m].sum / sums->of[m].weight : (double)NAN;
            return true;
        }
    return false;
}

void tnd_validations_judge(const tnd_validations_t *self, uint32_t chain, const char *metric,
                           tnd_best_t *best)
{
    double value;
    for (size_t i = 0; i < self->count; i++)
        if (self->of[i].chain == chain && self->of[i].steps > 0 &&
            tnd_validated_value(&self->of[i], metric, &value))
            (void)tnd_best_add(best, self->of[i].steps, value);
}

void tnd_validations_write(const tnd_validations_t *self, FILE *out)
{
    for (size_t i = 0; i < self->count; i++) {
        const tnd_validated_t *it = &self->of[i];
        fprintf(out, "validated %" PRIu32 " %" PRIu64 " %" PRIu32 " ", it->chain, it->steps,
                it->epoch);
        tnd_metric_sums_write(&it->sums, out);
    }
}

bool tnd_validations_read(tnd_validations_t *self, const char *text)
{
    tnd_validated_t found = {.chain = 0};
    int used = 0;
    if (sscanf(text, "%" SCNu32 " %" SCNu64 " %" SCNu32 " %n", &found.chain, &found.steps,
               &found.epoch, &used) != 3 ||
        used == 0 || found.steps == 0 || !tnd_metric_sums_read(&found.sums, text + used))
        return false;
    tnd_validations_add(self, &found);
    return true;
}
