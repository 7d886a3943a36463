/*  runtime/topology/best_options.c - `best:` of a feeder with `after:`. */
#include "runtime/topology/best_options.h"

static const tnd_option_t best_options[] = {
    {TND_OPTION(tnd_best_options_t, metric, STRING, TUNE), .example = "accuracy",
     .help = "the metric that says how good the models are, as the step reports it"},
    {TND_OPTION(tnd_best_options_t, of, ENUM, TUNE), .choices = "max|min",
     .help = "whether its greatest or its least value is the best one"},
    {TND_OPTION(tnd_best_options_t, patience, U64, TUNE), .unit = "validations", .fallback = "",
     .range = "1..1000000",
     .help =
         "the run ends after so many validations without a better value; by default it does not"},
};

const tnd_table_t tnd_best_table = {
    .name = "best",
    .help = "which validation is the best one",
    TND_OPTIONS(best_options, tnd_best_options_t),
};

tnd_best_t tnd_best_options_begin(const tnd_best_options_t *self)
{
    return (tnd_best_t){.least = self->of == 1, .patience = self->patience};
}
