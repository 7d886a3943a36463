/*  actors/feeder/feeder_options.c - the options of a feeder. */
#include "actors/feeder/feeder_options.h"

#include "actors/feeder/cast_columns.h"
#include "runtime/topology/best_options.h"

static const tnd_option_t step_options[] = {
    {TND_OPTION(tnd_step_options_t, plugin, STRING, GRAPH),
     .help = "the step's name; it is in NAME.so"},
    {TND_OPTION_NAMED("*", tnd_step_options_t, options, VALUE, GRAPH),
     .help = "the plugin's own options"},
};

static const tnd_table_t step_table = {
    .name = "step",
    .help = "what computes on a batch",
    TND_OPTIONS(step_options, tnd_step_options_t),
};

static const tnd_option_t sim_options[] = {
    {TND_OPTION(tnd_sim_options_t, to_device, RATE, PLACE), .range = "1B/s..", .fallback = "55GB/s",
     .help = "the rate of the link to the device"},
    {TND_OPTION(tnd_sim_options_t, latency, DURATION, PLACE), .fallback = "8us",
     .help = "the time that each copy takes in addition"},
    {TND_OPTION(tnd_sim_options_t, memory, BYTES, PLACE), .range = "1B..", .fallback = "141GB",
     .help = "the memory of the device"},
    {TND_OPTION(tnd_sim_options_t, step, DURATION, PLACE), .fallback = "0s",
     .help = "the time that the device works on each step"},
    {TND_OPTION(tnd_sim_options_t, faults, STRING, PLACE), .fallback = "",
     .help = "a file that says what is wrong with the device while it runs, a fault per line: "
             "`slow 10`, `late 20ms`, `hang` (copies), `stall` (work of steps), `lost`"},
};

static const tnd_table_t sim_table = {
    .name = "sim",
    .help = "the model of simulated devices, `sim:0` and so on",
    TND_OPTIONS(sim_options, tnd_sim_options_t),
};

const tnd_option_t tnd_feeder_options[] = {
    {TND_OPTION(tnd_feeder_options_t, depth, U64, TUNE), .unit = "batches", .fallback = "auto",
     .range = "1..1024", .choices = "auto=0", .live = TND_LIVE_DEPTH,
     .help = "batches prepared ahead of the step; auto: as many as 4 MiB, or a 16th of `memory:`, "
             "have room for, from 2 to 256"},
    {TND_OPTION(tnd_feeder_options_t, spare, U64, TUNE), .unit = "batches", .fallback = "2",
     .range = "0..1024",
     .help = "batches kept in memory for programs that hold tensors of earlier steps (DLPack)"},
    {TND_OPTION(tnd_feeder_options_t, gather, U64, TUNE), .unit = "threads", .fallback = "auto",
     .range = "1..64", .choices = "auto=0",
     .help = "threads that gather the rows of large batches and compute their digest, the feeder's "
             "own included; auto: one for each 128 KiB of a batch, on at most half of the "
             "processors (but two where there are two), and no more than 8"},
    {TND_OPTION(tnd_feeder_options_t, devices, STRINGS, PLACE), .fallback = "",
     .help = "the devices of each host that feeds, such as [cpu:0, cpu:1] or \"cuda:[0-7]\"; by "
             "default cpu:0.  `auto`: all CUDA devices, or cpu:0 where there is none; kinds: cpu, "
             "cuda, pjrt, sim"},
    {TND_OPTION(tnd_feeder_options_t, accumulate, U64, PLACE), .unit = "replicas", .fallback = "1",
     .range = "1..65536",
     .help =
         "consecutive replicas of a device that share one model: their steps run one after the "
         "other, what they post is added as it comes, and `apply` runs once for all of them.  The "
         "result has the same bits (Keras: gradient_accumulation_steps)"},
    {TND_OPTION(tnd_feeder_options_t, apply, ENUM, TUNE), .fallback = "reduced",
     .choices = "reduced|early",
     .help =
         "when `apply` of a step runs: when all that was posted is reduced, or early, while it is "
         "on its way between hosts; then `apply` calls tnd_replica_await for each posting before "
         "it uses the result, so that updates and transfers overlap.  The bits are the same"},
    {TND_OPTION(tnd_feeder_options_t, step, TABLE, GRAPH), .fallback = "", .table = &step_table,
     .help =
         "what computes on a batch, `{plugin: NAME, ...}`; without one it is fed and discarded"},
    {TND_OPTION(tnd_feeder_options_t, cast, TABLE, GRAPH), .fallback = "",
     .table = &tnd_cast_columns_table,
     .help = "columns that are cast on the way to devices, `{image: {to: bf16, scale: 0.0039}}`; "
             "the rows fed and their digest stay as they are"},
    {TND_OPTION(tnd_feeder_options_t, sim, TABLE, PLACE), .fallback = "", .table = &sim_table,
     .help = "the model of simulated devices, `{to_device: 55GB/s, latency: 8us, memory: 141GB}`"},
    {TND_OPTION(tnd_feeder_options_t, after, STRING, GRAPH), .fallback = "",
     .help = "the feeder whose models are evaluated on this chain once it has ended"},
    {TND_OPTION(tnd_feeder_options_t, every, PERIOD, TUNE), .fallback = "",
     .help = "with `after`: the models are also evaluated after each so many steps or epochs, such "
             "as `500 steps` or `1 epoch`; the first feeder rests meanwhile"},
    {TND_OPTION(tnd_feeder_options_t, best, TABLE, TUNE), .fallback = "", .table = &tnd_best_table,
     .help = "with `every`: which validation is the best one, `{metric: accuracy, of: max, "
             "patience: 3}`; its checkpoint stays, and `resume: best` names it"},
    {TND_OPTION(tnd_feeder_options_t, digest, BOOL, TUNE), .fallback = "true",
     .help = "whether the digest of the stream is computed"},
};

_Static_assert(sizeof tnd_feeder_options / sizeof tnd_feeder_options[0] == TND_FEEDER_OPTIONS,
               "TND_FEEDER_OPTIONS is their number");
