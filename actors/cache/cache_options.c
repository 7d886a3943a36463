/*  actors/cache/cache_options.c - the options of a cache. */
#include "actors/cache/cache_options.h"

static const tnd_option_t dir_options[] = {
    {TND_OPTION(tnd_store_dir_options_t, path, PATH, PLACE), .example = "/scratch/store",
     .help = "the folder, in which each graph and data set has a folder of its own"},
};

static const tnd_table_t stores[] = {
    {.name = "memory", .help = "Stores rows in memory, for this run."},
    {.name = "dir",
     .help = "Stores rows in a folder, for this run and later ones.",
     TND_OPTIONS(dir_options, tnd_store_dir_options_t),
     .scalar = "path"},
};

static const tnd_table_t *store_table(size_t index)
{
    return index < sizeof stores / sizeof stores[0] ? &stores[index] : NULL;
}

const tnd_option_t tnd_cache_options[] = {
    {TND_OPTION_NAMED("limit", tnd_cache_options_t, limit, BYTES, TUNE), .example = "4GiB",
     .help = "the most bytes of stored rows of a lane; in memory, they count in the memory sum and "
             "are used as rows are stored. A sample that does not fit is made again in each epoch"},
    {TND_OPTION_NAMED("store", tnd_cache_options_t, store, PART, PLACE), .parts = store_table,
     .fallback = "memory",
     .help = "where rows are stored: in memory, or as `.npy` files in a folder, from which a later "
             "run with the same data and operations feeds all its epochs"},
    {TND_OPTION_NAMED("when", tnd_cache_options_t, when, ENUM, TUNE), .fallback = "first_epoch",
     .choices = "first_epoch", .help = "when rows are stored: as soon as they are made"},
    {TND_OPTION_NAMED("freeze", tnd_cache_options_t, freeze, BOOL, GRAPH), .fallback = "false",
     .help = "random operations before the cache draw as in epoch 0 in every epoch, by sample; "
             "without it they are an error"},
};

_Static_assert(sizeof tnd_cache_options / sizeof tnd_cache_options[0] == TND_CACHE_OPTIONS,
               "TND_CACHE_OPTIONS is their number");
