/*  actors/source/npy.c - arrays of numpy.save, one or more files per column. */
#include "actors/source/columns.h"
#include "actors/source/sources.h"
#include "actors/stored/npy_file.h"

typedef struct {
    tnd_pairs_t files;
} npy_options_t;

static const tnd_option_t ragged_options[] = {
    {TND_OPTION(tnd_ragged_files_t, values, PATHS, GRAPH),
     .help = "the .npy files of the rows of a ragged column, concatenated along the first "
             "axis: flat_values of a RaggedTensor in TensorFlow"},
    {TND_OPTION(tnd_ragged_files_t, splits, PATHS, GRAPH),
     .help = "as many .npy files with the start of each row in them and the end of the last one: "
             "its row_splits"},
    {TND_OPTION(tnd_ragged_files_t, max, U64, GRAPH), .fallback = "longest", .choices = "longest=0",
     .range = "1..1099511627776",
     .help = "the maximum length of a row, for which memory is reserved; longer rows are bad"},
};

static const tnd_table_t ragged_table = {.name = "ragged",
                                         .help = "the files of a ragged column",
                                         TND_OPTIONS(ragged_options, tnd_ragged_files_t)};

static const tnd_option_t options[] = {
    {TND_OPTION_NAMED("*", npy_options_t, files, PATHS, GRAPH), .example = "${data}/train.npy",
     .fallback = "",
     .help =
         "a column, and the .npy files that hold it, first axis rows: a path, a pattern such as "
         "\"${data}/train-*.npy\", a range `train-[00-15].npy`, or a list of them; of a ragged "
         "column "
         "{values: PATH, splits: PATH}",
     .table = &ragged_table},
};

const tnd_source_spec_t tnd_source_npy_spec = {
    .table = {.name = "npy",
              .help = "Reads arrays of numpy.save, one or more files per column, without copying.",
              TND_OPTIONS(options, npy_options_t)},
    .caps = TND_SOURCE_RANDOM | TND_SOURCE_REWINDS | TND_SOURCE_FILES | TND_SOURCE_TENSORS,
};

static tnd_status_t npy_open(void *state, const void *given, const tnd_source_scope_t *scope,
                             tnd_source_facts_t *facts, tnd_error_t *error)
{
    const npy_options_t *chosen = given;
    return tnd_columns_open(state, &chosen->files, tnd_npy_read_header, scope, facts, error);
}

const tnd_source_t tnd_source_npy = {
    .spec = &tnd_source_npy_spec,
    .state_bytes = sizeof(tnd_columns_t),
    .open = npy_open,
    TND_COLUMNS_HOOKS,
};
