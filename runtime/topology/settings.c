/*  runtime/topology/settings.c - the tables of the top level. */
#include "runtime/topology/settings.h"

static const tnd_option_t security_options[] = {
    {TND_OPTION(tnd_security_t, users, STRINGS, SECURE), .unit = "user", .fallback = "",
     .help = "users whose processes on one machine may take part in the run together, by name or "
             "number; by default only those of one user"},
    {TND_OPTION(tnd_security_t, curve, STRING, SECURE), .fallback = "",
     .help = "the directory of the keys; not used yet"},
};

static const tnd_table_t security_table = {
    .name = "security",
    .help = "which processes may connect",
    TND_OPTIONS(security_options, tnd_security_t),
};

static const tnd_option_t restarts_options[] = {
    {TND_OPTION(tnd_restarts_t, max, U64, TUNE), .unit = "times", .fallback = "20",
     .range = "0..1000000",
     .help = "how often a host or actor is restarted; a row that crashes its worker uses five of "
             "them each time it is read"},
    {TND_OPTION_NAMED("within", tnd_restarts_t, within_ns, DURATION, TUNE), .fallback = "60s",
     .range = "1ms..", .help = "after so long without a failure the count starts again"},
    {TND_OPTION_NAMED("backoff", tnd_restarts_t, backoff_ns, DURATION, TUNE), .fallback = "10ms",
     .range = "1ms..", .help = "the delay before the first restart; doubled for each further one"},
    {TND_OPTION_NAMED("backoff_max", tnd_restarts_t, backoff_max_ns, DURATION, TUNE),
     .fallback = "1s", .range = "1ms..",
     .help = "the longest delay before a restart; after so long without a failure the first delay "
             "counts again"},
    {TND_OPTION(tnd_restarts_t, run, U64, TUNE), .unit = "times", .fallback = "0",
     .range = "0..1000000",
     .help =
         "how often all hosts that are left start again from the newest checkpoint after the loss "
         "of a host with replicas, without a new checkpoint between"},
};

const tnd_table_t tnd_restarts_table = {
    .name = "restarts",
    .help = "limits and delays of restarts",
    TND_OPTIONS(restarts_options, tnd_restarts_t),
};

static const tnd_option_t checkpoint_options[] = {
    {TND_OPTION(tnd_checkpoint_options_t, dir, STRING, TUNE),
     .help = "the folder of the checkpoints, on every host that feeds; shared or its own"},
    {TND_OPTION(tnd_checkpoint_options_t, every, INTERVAL, TUNE), .fallback = "",
     .help = "how often a checkpoint is made; by default only at the end of the run"},
    {TND_OPTION(tnd_checkpoint_options_t, keep, U64, TUNE), .unit = "checkpoints", .fallback = "3",
     .range = "1..1000000", .help = "how many are kept; older ones are removed"},
    {TND_OPTION(tnd_checkpoint_options_t, resume, STRING, TUNE), .fallback = "none",
     .help =
         "what the run resumes from: `none`, `latest`, `best` (as `best:` of a feeder says), or "
         "the path of a checkpoint"},
    {TND_OPTION(tnd_checkpoint_options_t, evaluate, BOOL, TUNE), .fallback = "false",
     .help = "whether only the feeders with `after:` run, on the models of the checkpoint that "
             "`resume` names; nothing is trained or written"},
    {TND_OPTION(tnd_checkpoint_options_t, trust_data, BOOL, TUNE), .fallback = "false",
     .help = "on resume, whether a file whose modification time differs and whose bytes cannot be "
             "compared counts as unchanged; for copies of the data"},
};

static const tnd_table_t checkpoint_table = {
    .name = "checkpoint",
    .help = "where and how often checkpoints are stored",
    TND_OPTIONS(checkpoint_options, tnd_checkpoint_options_t),
};

/*  Actors and hosts are parsed key by key; the roles are those of their own options. */
static const tnd_option_t settings_options[] = {
    {TND_OPTION_NAMED("tundish", tnd_settings_t, version, U64, TUNE), .range = "1..",
     .help = "the version of this language: 1"},
    {TND_OPTION(tnd_settings_t, name, STRING, TUNE), .fallback = "tundish",
     .help = "the name of the run"},
    {TND_OPTION(tnd_settings_t, seed, U64, GRAPH), .fallback = "0",
     .help = "the seed of every random decision"},
    {TND_OPTION(tnd_settings_t, lanes, U64, GRAPH), .unit = "lanes", .fallback = "1",
     .range = "1..256", .help = "independent orders whose fixed interleaving is the stream"},
    {TND_OPTION(tnd_settings_t, data, STRING, PLACE), .fallback = "",
     .help = "the value of `${data}` in paths"},
    {TND_OPTION(tnd_settings_t, actors, MAP, PLACE),
     .help = "the actors, `NAME: {kind: KIND, options}`"},
    {TND_OPTION(tnd_settings_t, links, VALUE, GRAPH), .fallback = "",
     .help = "the links between actors, `- read -> prep -> batch -> feed <-> mean`"},
    {TND_OPTION(tnd_settings_t, hosts, MAP, PLACE), .fallback = "",
     .help = "the processes of the run and what each carries; the first leads"},
    {TND_OPTION(tnd_settings_t, port, U64, PLACE), .fallback = "0", .range = "0..65535",
     .help = "the leader's port, which all others connect to"},
    {TND_OPTION(tnd_settings_t, ports, STRING, PLACE), .fallback = "",
     .help = "the ports of all other endpoints, such as 7101-7200"},
    {TND_OPTION(tnd_settings_t, python, STRING, PLACE), .fallback = "",
     .example = ".venv/bin/python",
     .help = "the interpreter of `python` operations, a name in PATH, or a path that begins in the "
             "folder of the topology; by default $TUNDISH_PYTHON, else python3"},
    {TND_OPTION(tnd_settings_t, insecure, BOOL, SECURE), .fallback = "false",
     .help = "whether tcp to other machines may be used without keys"},
    {TND_OPTION(tnd_settings_t, security, TABLE, SECURE), .fallback = "", .table = &security_table,
     .help = "which processes may connect, `{users: [alice, bob]}`"},
    {TND_OPTION(tnd_settings_t, checkpoint, TABLE, TUNE), .fallback = "",
     .table = &checkpoint_table,
     .help = "where checkpoints are stored, `{dir: DIR, every: 500 steps, keep: 3}`"},
    {TND_OPTION_NAMED("memory", tnd_settings_t, memory_bytes, BYTES, TUNE), .fallback = "",
     .help = "what a host may use, with the processes of its isolated actors; more is refused "
             "before the start"},
    {TND_OPTION(tnd_settings_t, cpu, F64, TUNE), .fallback = "1", .range = "0.01..1",
     .help = "the part of the cores of a host, as its affinity and control group allow them, that "
             "`workers: auto` may use: one worker per whole core, at least one"},
    {TND_OPTION_NAMED("start_timeout", tnd_settings_t, start_timeout_ns, DURATION, TUNE),
     .fallback = "120s", .range = "1ms..",
     .help = "how long the leader waits for the other hosts; not counted while one reports "
             "progress of opening its data"},
    {TND_OPTION_NAMED("dead_after", tnd_settings_t, dead_after_ns, DURATION, TUNE),
     .fallback = "10s", .range = "1ms..",
     .help = "a host that is silent for so long is lost, or half as long after its connection is "
             "given up if that is later; one whose connection has ended, after 1.5s if its process "
             "is known to be dead or can be replaced"},
    {TND_OPTION_NAMED("link_timeout", tnd_settings_t, link_timeout_ns, DURATION, TUNE),
     .fallback = "1s", .range = "1ms..",
     .help = "a connection without a byte for so long is replaced; on a slow path up to nine times "
             "as long, and in a run with thousands of connections per machine up to eight times"},
    {TND_OPTION_NAMED("hung_after", tnd_settings_t, hung_after_ns, DURATION, TUNE),
     .fallback = "60s", .range = "1ms..",
     .help =
         "a read, an operation, a step, a copy to a device or a part of a reduction by NCCL that "
         "takes longer hangs, also what is tried before the start; so does opening data without "
         "a report of progress"},
    {TND_OPTION(tnd_settings_t, restart, ENUM, TUNE), .fallback = "on-failure",
     .choices = "never|on-failure|always",
     .help =
         "when a host is restarted after it ended, if no state of the run is lost with it: it has "
         "no replicas, or those of `deal: whole`"},
    {TND_OPTION(tnd_settings_t, restarts, TABLE, TUNE), .fallback = "",
     .table = &tnd_restarts_table,
     .help = "limits and delays of restarts, `{max: 20, within: 60s, run: 3}`"},
    {TND_OPTION_NAMED("restart_timeout", tnd_settings_t, restart_timeout_ns, DURATION, TUNE),
     .fallback = "30s", .range = "1ms..",
     .help = "how long the run waits for a lost host that it needs"},
    {TND_OPTION(tnd_settings_t, numeric, ENUM, TUNE), .fallback = "exact",
     .choices = "exact|tolerant", .help = "whether a host that computes differently is refused"},
};

const tnd_table_t tnd_settings_table = {
    .name = "topology",
    .help = "the top level of a topology file",
    TND_OPTIONS(settings_options, tnd_settings_t),
};
