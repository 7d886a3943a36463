/*  tools/events/row_text.c - prints where a row of a file is, and how far its run is. */
#include "tools/events/row_text.h"

#include <inttypes.h>

#include "tools/cli/json.h"

static const char *feeder_of(const tnd_plan_t *plan, uint32_t chain)
{
    const char *feeder = plan->chains[chain].feeder;
    return feeder != NULL ? feeder : "";
}

static void print_step(FILE *out, const tnd_row_place_t *place)
{
    const tnd_row_step_t *step = &place->step;
    switch (step->kind) {
    case TND_ROW_STEP_KNOWN:
        fprintf(out,
                ": step %" PRIu64 " (%" PRIu64 " of its epoch), row %" PRIu64
                " of the batch, replica %" PRIu32 "\n",
                place->run_step, step->step, step->row, step->replica);
        break;
    case TND_ROW_STEP_LATER:
        fprintf(out, "; its step is not known before the run: %s\n", step->why);
        break;
    case TND_ROW_STEP_LEFT_OUT:
        fprintf(out, ", and in no step: %s\n", step->why);
        break;
    }
}

void tnd_row_places_print(FILE *out, const tnd_row_places_t *self, const tnd_plan_t *plan)
{
    for (uint64_t i = 0; i < self->count && i < TND_ROW_PLACES; i++) {
        const tnd_row_place_t *place = &self->places[i];
        if (plan->chain_count > 1)
            fprintf(out, "%s: ", feeder_of(plan, place->chain));
        fprintf(out,
                "row %" PRIu64 " of %s is at position %" PRIu64 " of lane %" PRIu32
                " in epoch %" PRIu32,
                self->row, self->file, place->position, place->lane, place->epoch);
        print_step(out, place);
    }
    if (self->count > TND_ROW_PLACES)
        fprintf(out, "and at %" PRIu64 " more positions\n", self->count - TND_ROW_PLACES);
    if (self->count == 0)
        fprintf(out, "row %" PRIu64 " of %s is not in this run: %s\n", self->row, self->file,
                self->left_out[0] != '\0' ? self->left_out : "its order leaves it out");
}

static void print_place_json(FILE *out, const tnd_row_place_t *place, const tnd_plan_t *plan,
                             bool more)
{
    tnd_json_begin(out, more, "feeder", feeder_of(plan, place->chain));
    fprintf(out, ",\"epoch\":%" PRIu32 ",\"lane\":%" PRIu32 ",\"position\":%" PRIu64, place->epoch,
            place->lane, place->position);
    if (place->step.kind == TND_ROW_STEP_KNOWN)
        fprintf(out,
                ",\"step\":%" PRIu64 ",\"step_of_epoch\":%" PRIu64 ",\"batch_row\":%" PRIu64
                ",\"replica\":%" PRIu32,
                place->run_step, place->step.step, place->step.row, place->step.replica);
    else
        tnd_json_member(out, "no_step", place->step.why);
    fputc('}', out);
}

void tnd_row_places_print_json(FILE *out, const tnd_row_places_t *self, const tnd_plan_t *plan,
                               const tnd_row_run_t *run)
{
    tnd_json_begin(out, false, "file", self->file);
    fprintf(out, ",\"row\":%" PRIu64 ",\"positions\":%" PRIu64 ",\"places\":[", self->row,
            self->count);
    for (uint64_t i = 0; i < self->count && i < TND_ROW_PLACES; i++)
        print_place_json(out, &self->places[i], plan, i > 0);
    fputs("],\"left_out\":", out);
    tnd_json_text(out, self->count == 0 ? self->left_out : NULL);
    fputs(",\"committed_steps\":", out);
    if (run->here)
        fprintf(out, "%" PRIu64 "}\n", run->steps);
    else
        fputs("null}\n", out);
}

bool tnd_row_place_is_committed(const tnd_row_place_t *self, const tnd_row_run_t *run)
{
    return run->here && run->chain == self->chain && self->run_step != TND_UNKNOWN &&
           self->run_step < run->steps;
}
