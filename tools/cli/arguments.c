/*  tools/cli/arguments.c - parses a command line by the options of its command. */
#include "tools/cli/arguments.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "runtime/base/allocation.h"
#include "runtime/option/registry.h"
#include "runtime/text/diagnostic.h"
#include "runtime/text/quantity.h"
#include "runtime/topology/settings.h"

/*  The type of an option, and the field of the request that it fills. */
#define TAKES(type, field) TND_ARGUMENT_##type, offsetof(tnd_request_t, field)

static const tnd_argument_t arguments[] = {
    {"--host", "HOST",
     "this process is HOST of the overlay; RANGE+ joins a run as another host of that range",
     TAKES(TEXT, host)},
    {"--launch", "LAUNCHER",
     "what started this process and tells its host: auto (default), none, or a launcher such as "
     "slurm; see tundish help launch",
     TAKES(TEXT, launch)},
    {"--set", "KEY=VALUE", "changes one value, such as batch.size=64; may be repeated",
     TND_ARGUMENT_SETTING, 0},
    {"--data", "DIR", "the value of ${data}, instead of that in the files", TAKES(TEXT, data)},
    {"--steps", "N", "ends after N global steps", TAKES(NUMBER, steps)},
    {"--step", "N", "begins with global step N, from 0", TAKES(COUNT, step)},
    {"--position", "[EPOCH:]P",
     "begins with the row at position P of its lane, in epoch 0 or EPOCH", TAKES(TEXT, position)},
    {"--at", "ACTOR", "shows the rows that ACTOR sends; by default the batcher", TAKES(TEXT, at)},
    {"--replicas", NULL, "shows how each batch is divided among the replicas",
     TAKES(FLAG, replicas)},
    {"--report", "FILE", "writes the account of the run to FILE, as JSON, at its end",
     TAKES(TEXT, report)},
    {"--metrics", "FILE", "writes one line of JSON to FILE for each committed step",
     TAKES(TEXT, metrics)},
    {"--npz", "FILE", "writes the rows to FILE for NumPy: an array per column, _step, _replica",
     TAKES(TEXT, npz)},
    {"--png", "FILE", "writes the pictures to FILE, side by side", TAKES(TEXT, png)},
    {"--resume", "[FROM]",
     "resumes from the newest checkpoint in the folder of the topology, or from FROM: `best` (of "
     "the "
     "feeder with `best:`), a checkpoint, or a folder of several, which is used for new ones too "
     "if "
     "the topology has none",
     TAKES(PLACE, resume)},
    {"--evaluate", "[FROM]",
     "runs only the feeders with `after:`, on the models of the newest checkpoint or of FROM "
     "(`best`, "
     "a checkpoint, a folder), and writes no checkpoint",
     TAKES(PLACE, evaluate)},
    {"--watch", NULL,
     "with --evaluate: evaluates each new checkpoint until the run that writes them has ended",
     TAKES(FLAG, watch)},
    {"--requeue", NULL,
     "after a drain that SIGTERM, SIGUSR1 or SIGUSR2 asked for, queues the job of Slurm again",
     TAKES(FLAG, requeue)},
    {"--trust-data", NULL,
     "resumes even if modification times of data files differ and no hash can be compared: for "
     "copies of the data",
     TAKES(FLAG, trust_data)},
    {"--save", "FILE", "writes the trained model to FILE, by `save` of its step",
     TAKES(TEXT, save)},
    {"--log-level", "LEVEL", "the lowest level of the log: error, warn (default), info or debug",
     TAKES(TEXT, log_level)},
    {"--log-json", NULL, "writes the log to stderr as JSON, one record per line",
     TAKES(FLAG, log_json)},
    {"--output", "FILE", "writes to FILE, which must not exist, instead of stdout",
     TAKES(TEXT, output)},
    {"--minutes", "M", "the time of the faults, in minutes", TAKES(NUMBER, minutes)},
    {"--seconds", "S", "the time of the faults, in seconds", TAKES(NUMBER, seconds)},
    {"--seed", "SEED", "draws the same faults as an earlier run", TAKES(NUMBER, seed)},
    {"--all", NULL, "also kills hosts that no run survives, and continues with --resume",
     TAKES(FLAG, all)},
    {"--as", "SOURCE", "the source of the files, with its options: 'csv: {header: true}'",
     TAKES(TEXT, as)},
    {"--split", "A/B", "two chains: A of A + B rows train, the others validate, such as 80/20",
     TAKES(TEXT, split)},
    {"--beside", NULL, "writes each index beside its data file", TAKES(FLAG, beside)},
    {"--list", NULL, "lists indexes", TAKES(FLAG, list)},
    {"--remove", NULL, "removes indexes", TAKES(FLAG, remove)},
    {"--stream", NULL, "prints a line of JSON every --interval", TAKES(FLAG, stream)},
    {"--bad", NULL, "shows the bad records of the run", TAKES(FLAG, bad)},
    {"--run", NULL, "starts the whole run again, from its newest checkpoint", TAKES(FLAG, whole)},
    {"--restarts", NULL, "shows what was started again, and why", TAKES(FLAG, restarts)},
    {"--pages", NULL,
     "with --stream: prints copies of the statistics, for --via on another machine",
     TAKES(FLAG, pages)},
    {"--leader", "ADDRESS:PORT",
     "the first host: of the run to show, or, also without a port, where processes of a launcher "
     "meet",
     TAKES(TEXT, leader)},
    {"--meet", "DIR",
     "a folder that all processes of a launcher share: rank 0 writes there where it is",
     TAKES(TEXT, meet)},
    {"--via", "COMMAND", "reaches hosts on other machines by a command such as 'ssh {address}'",
     TAKES(TEXT, via)},
    {"--on", "LIST",
     "starts a process on each of these machines by --via: a,b, node[1-4], or @FILE with a name "
     "per "
     "line",
     TAKES(TEXT, on)},
    {"--interval", "TIME", "the time between two looks, such as 100ms", TAKES(TEXT, interval)},
    {"--http", "ADDRESS:PORT",
     "serves on an address that only this machine can reach; by default 127.0.0.1:9464",
     TAKES(TEXT, http)},
    {"--listen", "ADDRESS:PORT", "serves on any address; needs --token", TAKES(TEXT, listen)},
    {"--token", "FILE", "the token that clients of other users must send is in FILE",
     TAKES(TEXT, token)},
    {"--read-only", NULL, "only shows the run: it cannot be paused or changed from the screen",
     TAKES(FLAG, read_only)},
    {"--once", NULL, "looks twice, prints what it saw, and ends", TAKES(FLAG, once)},
    {"--count", "N", "ends after N events or samples", TAKES(NUMBER, count)},
    {"--rows", "K", "shows the first rows of one block in K", TAKES(NUMBER, rows)},
    {"--duration", "TIME", "ends after TIME, such as 500ms; by default 10s", TAKES(TEXT, duration)},
    {"--timeout", "TIME", "waits for TIME at most, such as 30s", TAKES(TEXT, timeout)},
    {"--last", NULL, "takes what was recorded last, without waiting for more", TAKES(FLAG, last)},
    {"--sample", "POSITION", "the position to follow", TAKES(COUNT, sample)},
    {"--row", "F:N", "the row to follow: row N, from 0, of data file F", TAKES(TEXT, row)},
    {"--epoch", "N", "in epoch N, from 0, instead of the current one", TAKES(COUNT, epoch)},
    {"--quiet", NULL, "prints errors only", TAKES(FLAG, quiet)},
    {"--dot", NULL, "prints the graph for Graphviz", TAKES(FLAG, dot)},
    {"--html", NULL, "writes a page for a browser", TAKES(FLAG, html)},
    {"--graph", NULL, "compares what determines the stream, not placement or speed",
     TAKES(FLAG, graph)},
    {"--man", NULL, "prints the manual page, for man -l", TAKES(FLAG, man)},
    {"--json", NULL, "prints JSON instead of text", TAKES(FLAG, json)},
    {"--fed", NULL, "shows columns as steps read them: `cast` of the feeder", TAKES(FLAG, fed)},
};

/*  Options with a letter. */
static const struct {
    const char *brief, *name;
} briefs[] = {
    {"-i", "--interval"},
    {"-d", "--duration"},
    {"-n", "--count"},
    {"-o", "--output"},
};

const char *tnd_argument_brief(const char *name)
{
    for (size_t i = 0; i < sizeof briefs / sizeof briefs[0]; i++)
        if (strcmp(briefs[i].name, name) == 0)
            return briefs[i].brief;
    return NULL;
}

static bool is_called(const char *argument, const char *name, size_t length)
{
    return argument != NULL && strlen(argument) == length && strncmp(argument, name, length) == 0;
}

static const tnd_argument_t *find(const char *name, size_t length)
{
    for (size_t i = 0; i < sizeof arguments / sizeof arguments[0]; i++)
        if (is_called(arguments[i].name, name, length) ||
            is_called(tnd_argument_brief(arguments[i].name), name, length))
            return &arguments[i];
    return NULL;
}

const tnd_argument_t *tnd_argument_find(const char *name)
{
    const tnd_argument_t *argument = find(name, strlen(name));
    assert(argument != NULL);
    return argument;
}

const tnd_argument_t *tnd_argument_at(size_t index)
{
    return index < sizeof arguments / sizeof arguments[0] ? &arguments[index] : NULL;
}

static bool is_taken(const tnd_command_t *command, const tnd_argument_t *argument)
{
    for (size_t i = 0; command->arguments[i] != NULL; i++)
        if (strcmp(command->arguments[i], argument->name) == 0)
            return true;
    return false;
}

void tnd_argument_owners(const tnd_argument_t *argument, char *text, size_t room)
{
    size_t count, used = 0;
    const tnd_command_t *const *commands = tnd_commands(&count);
    *text = '\0';
    for (size_t i = 0; i < count && used < room; i++)
        if (is_taken(commands[i], argument))
            used += (size_t)snprintf(text + used, room - used, "%s%s", used > 0 ? ", " : "",
                                     commands[i]->name);
}

/*  How `--set` changes what the files call `name`.  False: it is the name of no option there. */
static bool hint_setting(const char *name, char *hint, size_t room)
{
    size_t count;
    const tnd_kind_spec_t *const *kinds = tnd_registry_kinds(&count);
    if (tnd_options_find(&tnd_settings_table, name) != NULL) {
        snprintf(hint, room, "the files have `%s`: write --set %s=VALUE", name, name);
        return true;
    }
    for (size_t i = 0; i < count; i++) {
        if (tnd_options_find(&kinds[i]->table, name) != NULL) {
            snprintf(hint, room,
                     "a %s has `%s`: write --set ACTOR.%s=VALUE, with its name for ACTOR",
                     kinds[i]->table.name, name, name);
            return true;
        }
        if (strlen(name) > 3 && strncmp(kinds[i]->table.name, name, strlen(name)) == 0) {
            snprintf(hint, room,
                     "to change a %s of the files, write --set ACTOR.OPTION=VALUE, such as "
                     "--set batch.size=64",
                     kinds[i]->table.name);
            return true;
        }
    }
    return false;
}

static int refuse_unknown(const tnd_command_t *command, const char *word, size_t length)
{
    char name[64];
    snprintf(name, sizeof name, "%.*s", (int)length, word);
    tnd_nearest_t nearest = {.word = name};
    for (size_t i = 0; command->arguments[i] != NULL; i++)
        tnd_nearest_offer(&nearest, command->arguments[i]);
    char hint[256];
    if (is_taken(command, tnd_argument_find("--set")) && strncmp(name, "--", 2) == 0 &&
        hint_setting(name + 2, hint, sizeof hint))
        return tnd_usage_error(command->name, "unknown option %s; %s", name, hint);
    const tnd_argument_t *elsewhere = find(word, length);
    if (elsewhere != NULL) {
        char owners[160];
        tnd_argument_owners(elsewhere, owners, sizeof owners);
        return tnd_usage_error(command->name, "option %s does not belong here; it is one of %s",
                               name, owners);
    }
    if (nearest.best != NULL)
        return tnd_usage_error(command->name, "unknown option %s; did you mean %s?", name,
                               nearest.best);
    return tnd_usage_error(command->name, "unknown option %s", name);
}

static int take_setting(const tnd_command_t *command, char *text, tnd_setting_t *settings,
                        tnd_request_t *request)
{
    char *equals = strchr(text, '=');
    if (equals == NULL || equals == text)
        return tnd_usage_error(command->name, "--set takes KEY=VALUE, not '%s'", text);
    /* A copy, because `ps` of the system shows the words of the command line. */
    char *key = tnd_format_string("%.*s", (int)(equals - text), text);
    settings[request->setting_count++] = (tnd_setting_t){.key = key, .value = equals + 1};
    return TND_EXIT_OK;
}

static int take_value(const tnd_command_t *command, const tnd_argument_t *argument, char *text,
                      tnd_setting_t *settings, tnd_request_t *request)
{
    void *field = (char *)request + argument->offset;
    switch (argument->type) {
    case TND_ARGUMENT_FLAG:
        *(bool *)field = true;
        break;
    case TND_ARGUMENT_TEXT:
        if (*text == '\0')
            return tnd_usage_error(command->name, "%s takes %s, not an empty text", argument->name,
                                   argument->value);
        *(const char **)field = text;
        break;
    case TND_ARGUMENT_NUMBER:
        if (tnd_quantity_u64(text, field) != TND_QUANTITY_OK || *(uint64_t *)field == 0)
            return tnd_usage_error(command->name, "%s takes a number from 1, not '%s'",
                                   argument->name, text);
        break;
    case TND_ARGUMENT_COUNT:
        if (tnd_quantity_u64(text, field) != TND_QUANTITY_OK)
            return tnd_usage_error(command->name, "%s takes a number, not '%s'", argument->name,
                                   text);
        break;
    case TND_ARGUMENT_PLACE:
        *(const char **)field = text;
        break;
    case TND_ARGUMENT_SETTING:
        return take_setting(command, text, settings, request);
    }
    return TND_EXIT_OK;
}

static bool ends_in(const char *word, const char *ending)
{
    size_t length = strlen(word), last = strlen(ending);
    return length >= last && strcmp(word + length - last, ending) == 0;
}

static bool is_place(const char *word)
{
    static const char manifest[] = "manifest";
    struct stat is;
    size_t length = strlen(word);
    if (strcmp(word, "latest") == 0 || strcmp(word, "best") == 0 ||
        (stat(word, &is) == 0 && S_ISDIR(is.st_mode)))
        return true;
    const char *slash = strrchr(word, '/');
    if (strncmp(slash != NULL ? slash + 1 : word, "step-", 5) == 0)
        return true;
    if (length >= strlen(manifest) && strcmp(word + length - strlen(manifest), manifest) == 0)
        return true;
    /* A path that ends so is a topology, perhaps misspelt, not a checkpoint. */
    return stat(word, &is) != 0 && word[0] != '-' && !ends_in(word, ".yaml") &&
           !ends_in(word, ".yml");
}

/*  The value of an option: after `=`, or the next word. */
static char *value_of(const tnd_argument_t *argument, char *equals, char *const *words,
                      size_t count, size_t *i)
{
    static char latest[] = "latest";
    if (equals != NULL)
        return equals + 1;
    if (argument->type == TND_ARGUMENT_FLAG)
        return NULL;
    if (argument->type == TND_ARGUMENT_PLACE && (*i + 1 == count || !is_place(words[*i + 1])))
        return latest;
    return words[++*i];
}

bool tnd_arguments_read(const tnd_command_t *command, char *const *words, size_t count,
                        tnd_request_t *request, int *code_p)
{
    const char **files = tnd_allocate_zeroed(count + 1, sizeof *files);
    tnd_setting_t *settings = tnd_allocate_zeroed(count + 1, sizeof *settings);
    *request = (tnd_request_t){.files = files,
                               .settings = settings,
                               .words = words,
                               .word_count = count,
                               .steps = UINT64_MAX,
                               .sample = UINT64_MAX,
                               .step = UINT64_MAX,
                               .epoch = UINT64_MAX};
    *code_p = TND_EXIT_OK;
    bool options = true;
    for (size_t i = 0; i < count && *code_p == TND_EXIT_OK; i++) {
        char *word = words[i];
        if (!options || word[0] != '-' || word[1] == '\0') {
            files[request->file_count++] = word;
            continue;
        }
        if (strcmp(word, "--") == 0) {
            options = false;
            request->divider = request->file_count;
            continue;
        }
        if (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0) {
            tnd_arguments_help(command);
            return false;
        }
        char *equals = strchr(word, '=');
        size_t length = equals != NULL ? (size_t)(equals - word) : strlen(word);
        const tnd_argument_t *argument = find(word, length);
        if (argument == NULL || !is_taken(command, argument))
            *code_p = refuse_unknown(command, word, length);
        else if (argument->type == TND_ARGUMENT_FLAG && equals != NULL)
            *code_p = tnd_usage_error(command->name, "%s takes no value", argument->name);
        else if (argument->type != TND_ARGUMENT_FLAG && argument->type != TND_ARGUMENT_PLACE &&
                 equals == NULL && i + 1 == count)
            *code_p =
                tnd_usage_error(command->name, "%s takes %s", argument->name, argument->value);
        else
            *code_p = take_value(command, argument, value_of(argument, equals, words, count, &i),
                                 settings, request);
    }
    if (options)
        request->divider = request->file_count;
    if (*code_p == TND_EXIT_OK && request->file_count < command->operands_min)
        *code_p = tnd_usage_error(command->name, "%s",
                                  command->missing != NULL ? command->missing
                                                           : "no topology file is given");
    if (*code_p == TND_EXIT_OK && command->operands_max > 0 &&
        request->file_count > command->operands_max)
        *code_p = tnd_usage_error(command->name, "`%s` is too much: expected tundish %s %s",
                                  files[command->operands_max], command->name, command->operands);
    return *code_p == TND_EXIT_OK;
}

void tnd_arguments_free(tnd_request_t *request)
{
    for (size_t i = 0; i < request->setting_count; i++)
        free((void *)(uintptr_t)request->settings[i].key);
    free((void *)(uintptr_t)request->files);
    free((void *)(uintptr_t)request->settings);
}

void tnd_arguments_help(const tnd_command_t *command)
{
    printf("tundish %s%s%s%s\n\n%s\n", command->name, *command->operands != '\0' ? " " : "",
           command->operands, command->arguments[0] != NULL ? " [options]" : "", command->details);
    if (command->arguments[0] != NULL)
        puts("Options:");
    for (size_t i = 0; command->arguments[i] != NULL; i++) {
        const tnd_argument_t *argument = tnd_argument_find(command->arguments[i]);
        const char *brief = tnd_argument_brief(argument->name);
        char left[48];
        snprintf(left, sizeof left, "%s%s%s%s%s", brief != NULL ? brief : "",
                 brief != NULL ? ", " : "", argument->name, argument->value != NULL ? " " : "",
                 argument->value != NULL ? argument->value : "");
        printf("  %-18s  %s\n", left, argument->help);
    }
    printf("%s  %-18s  %s\n\nExit codes:\n%s", command->arguments[0] != NULL ? "" : "Options:\n",
           "--help", "prints this", command->codes);
}
