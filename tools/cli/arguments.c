/*  tools/cli/arguments.c - parses a command line by the options of its command. */
#include "tools/cli/arguments.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "runtime/base/allocation.h"
#include "runtime/option/registry.h"
#include "runtime/text/diagnostic.h"
#include "runtime/text/quantity.h"
#include "runtime/topology/settings.h"

#define COMMON(text, type_name, value_text, letter, help_text)                                     \
    {                                                                                              \
        .name = (text), .type = TND_ARGUMENT_##type_name, .value = (value_text),                   \
        .help = (help_text), .brief = (letter)                                                     \
    }

/*  The options that several commands have. */
static const tnd_argument_t common[] = {
    COMMON("--launch", TEXT, "LAUNCHER", NULL,
           "what started this process and tells its host: auto (default), none, or a launcher such "
           "as slurm; see tundish help launch"),
    COMMON("--set", SETTING, "KEY=VALUE", NULL,
           "changes one value, such as batch.size=64; may be repeated"),
    COMMON("--data", TEXT, "DIR", NULL, "the value of ${data}, instead of that in the files"),
    COMMON("--steps", LIMIT, "N", NULL, "ends after N global steps"),
    COMMON("--report", TEXT, "FILE", NULL,
           "writes the account of the run to FILE, as JSON, at its end"),
    COMMON("--metrics", TEXT, "FILE", NULL,
           "writes one line of JSON to FILE for each committed step"),
    COMMON("--resume", PLACE, "[FROM]", NULL,
           "resumes from the newest checkpoint in the folder of the topology, or from FROM: `best` "
           "(of the feeder with `best:`), a checkpoint, or a folder of several, which is used for "
           "new ones too if the topology has none"),
    COMMON("--evaluate", PLACE, "[FROM]", NULL,
           "runs only the feeders with `after:`, on the models of the newest checkpoint or of FROM "
           "(`best`, a checkpoint, a folder), and writes no checkpoint"),
    COMMON("--trust-data", FLAG, NULL, NULL,
           "resumes even if modification times of data files differ and no hash can be compared: "
           "for copies of the data"),
    COMMON("--save", TEXT, "FILE", NULL, "writes the trained model to FILE, by `save` of its step"),
    COMMON("--log-level", TEXT, "LEVEL", NULL,
           "the lowest level of the log: error, warn (default), info or debug"),
    COMMON("--log-json", FLAG, NULL, NULL, "writes the log to stderr as JSON, one record per line"),
    COMMON("--output", TEXT, "FILE", "-o",
           "writes to FILE, which must not exist, instead of stdout"),
    COMMON("--as", TEXT, "SOURCE", NULL,
           "the source of the files, with its options: 'csv: {header: true}'"),
    COMMON("--leader", TEXT, "ADDRESS:PORT", NULL,
           "the first host: of the run to show, or, also without a port, where processes of a "
           "launcher meet"),
    COMMON("--meet", TEXT, "DIR", NULL,
           "a folder that all processes of a launcher share: rank 0 writes there where it is"),
    COMMON("--via", TEXT, "COMMAND", NULL,
           "reaches hosts on other machines by a command such as 'ssh {address}'"),
    COMMON("--interval", TEXT, "TIME", "-i", "the time between two looks, such as 100ms"),
    COMMON("--count", NUMBER, "N", "-n", "ends after N events or samples"),
    COMMON("--duration", TEXT, "TIME", "-d", "ends after TIME, such as 500ms; by default 10s"),
    COMMON("--last", FLAG, NULL, NULL, "takes what was recorded last, without waiting for more"),
    COMMON("--quiet", FLAG, NULL, NULL, "prints errors only"),
    COMMON("--json", FLAG, NULL, NULL, "prints JSON instead of text"),
};

static bool is_called(const char *argument, const char *name, size_t length)
{
    return argument != NULL && strlen(argument) == length && strncmp(argument, name, length) == 0;
}

const tnd_argument_t *tnd_argument_described(const tnd_argument_t *argument)
{
    if (argument->type != TND_ARGUMENT_COMMON)
        return argument;
    for (size_t i = 0; i < sizeof common / sizeof common[0]; i++)
        if (strcmp(common[i].name, argument->name) == 0)
            return &common[i];
    abort();
}

/*  The option of a command that a word of `length` bytes names, or its letter; NULL: none. */
static const tnd_argument_t *find(const tnd_command_t *command, const char *name, size_t length)
{
    for (size_t i = 0; i < command->argument_count; i++)
        if (is_called(command->arguments[i].name, name, length) ||
            is_called(tnd_argument_described(&command->arguments[i])->brief, name, length))
            return &command->arguments[i];
    return NULL;
}

/*  The first option of any command that a word names; NULL: none. */
static const tnd_argument_t *find_elsewhere(const char *name, size_t length)
{
    size_t count;
    const tnd_command_t *const *commands = tnd_commands(&count);
    const tnd_argument_t *argument = NULL;
    for (size_t i = 0; i < count && argument == NULL; i++)
        argument = find(commands[i], name, length);
    return argument;
}

const tnd_argument_t *tnd_argument_at(size_t index)
{
    size_t count;
    const tnd_command_t *const *commands = tnd_commands(&count);
    for (size_t c = 0; c < count; c++)
        for (size_t i = 0; i < commands[c]->argument_count; i++) {
            const tnd_argument_t *argument = &commands[c]->arguments[i];
            bool first = find_elsewhere(argument->name, strlen(argument->name)) == argument;
            if (first && index-- == 0)
                return tnd_argument_described(argument);
        }
    return NULL;
}

void tnd_argument_owners(const tnd_argument_t *argument, char *text, size_t room)
{
    size_t count, used = 0;
    const tnd_command_t *const *commands = tnd_commands(&count);
    *text = '\0';
    for (size_t i = 0; i < count && used < room; i++)
        if (find(commands[i], argument->name, strlen(argument->name)) != NULL)
            used += (size_t)snprintf(text + used, room - used, "%s%s", used > 0 ? ", " : "",
                                     commands[i]->name);
}

/*  How `--set` changes, or `--at` shows, what the files call `name`.  False: it is the name of no option
 *  there. */
static bool hint_setting(const tnd_command_t *command, const char *name, char *hint, size_t room)
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
                     find(command, "--at", strlen("--at")) != NULL
                         ? "to show a %s of the files, write --at ACTOR, with its name for ACTOR"
                         : "to change a %s of the files, write --set ACTOR.OPTION=VALUE, such as "
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
    for (size_t i = 0; i < command->argument_count; i++)
        tnd_nearest_offer(&nearest, command->arguments[i].name);
    char hint[256];
    if (find(command, "--set", strlen("--set")) != NULL && strncmp(name, "--", 2) == 0 &&
        hint_setting(command, name + 2, hint, sizeof hint))
        return tnd_usage_error(command->name, "unknown option %s; %s", name, hint);
    const tnd_argument_t *elsewhere = find_elsewhere(word, length);
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

static int take_setting(const tnd_command_t *command, char *text, tnd_setting_list_t *list)
{
    char *equals = strchr(text, '=');
    if (equals == NULL || equals == text)
        return tnd_usage_error(command->name, "--set takes KEY=VALUE, not '%s'", text);
    /* A copy, because `ps` of the system shows the words of the command line. */
    char *key = tnd_format_string("%.*s", (int)(equals - text), text);
    tnd_setting_t *items =
        tnd_resize((void *)(uintptr_t)list->items, list->count + 1, sizeof *items);
    items[list->count++] = (tnd_setting_t){.key = key, .value = equals + 1};
    list->items = items;
    return TND_EXIT_OK;
}

static int take_value(const tnd_command_t *command, const tnd_argument_t *argument, char *text,
                      void *field)
{
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
    case TND_ARGUMENT_LIMIT:
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
        return take_setting(command, text, field);
    case TND_ARGUMENT_COMMON:
        break; /* a described option has another type */
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

/*  Takes the option that is the i-th word; *i is then its last word. */
static int take_option(const tnd_command_t *command, char *const *words, size_t count, size_t *i,
                       char *options)
{
    char *word = words[*i], *equals = strchr(word, '=');
    size_t length = equals != NULL ? (size_t)(equals - word) : strlen(word);
    const tnd_argument_t *taken = find(command, word, length);
    if (taken == NULL)
        return refuse_unknown(command, word, length);
    const tnd_argument_t *argument = tnd_argument_described(taken);
    bool flag = argument->type == TND_ARGUMENT_FLAG, place = argument->type == TND_ARGUMENT_PLACE;
    if (flag && equals != NULL)
        return tnd_usage_error(command->name, "%s takes no value", argument->name);
    if (!flag && !place && equals == NULL && *i + 1 == count)
        return tnd_usage_error(command->name, "%s takes %s", argument->name, argument->value);
    char *text = value_of(argument, equals, words, count, i);
    return take_value(command, argument, text, options + taken->offset);
}

/*  The struct of a command without any option. */
static char *bare_options(const tnd_command_t *command)
{
    char *options = tnd_allocate_zeroed(1, command->options_size);
    for (size_t i = 0; i < command->argument_count; i++) {
        tnd_argument_type_t type = tnd_argument_described(&command->arguments[i])->type;
        if (type == TND_ARGUMENT_LIMIT || type == TND_ARGUMENT_COUNT)
            *(uint64_t *)(void *)(options + command->arguments[i].offset) = UINT64_MAX;
    }
    return options;
}

static int check_operands(const tnd_command_t *command, const tnd_request_t *request)
{
    if (request->file_count < command->operands_min)
        return tnd_usage_error(command->name, "%s",
                               command->missing != NULL ? command->missing
                                                        : "no topology file is given");
    if (command->operands_max > 0 && request->file_count > command->operands_max)
        return tnd_usage_error(command->name, "`%s` is too much: expected tundish %s %s",
                               request->files[command->operands_max], command->name,
                               command->operands);
    return TND_EXIT_OK;
}

bool tnd_arguments_read(const tnd_command_t *command, char *const *words, size_t count,
                        tnd_request_t *request, int *code_p)
{
    const char **files = tnd_allocate_zeroed(count + 1, sizeof *files);
    char *options = bare_options(command);
    *request =
        (tnd_request_t){.files = files, .words = words, .word_count = count, .options = options};
    *code_p = TND_EXIT_OK;
    bool divided = false;
    for (size_t i = 0; i < count && *code_p == TND_EXIT_OK; i++) {
        char *word = words[i];
        if (divided || word[0] != '-' || word[1] == '\0') {
            files[request->file_count++] = word;
        } else if (strcmp(word, "--") == 0) {
            divided = true;
            request->divider = request->file_count;
        } else if (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0) {
            tnd_arguments_help(command);
            return false;
        } else {
            *code_p = take_option(command, words, count, &i, options);
        }
    }
    if (!divided)
        request->divider = request->file_count;
    if (*code_p == TND_EXIT_OK)
        *code_p = check_operands(command, request);
    return *code_p == TND_EXIT_OK;
}

void tnd_arguments_free(const tnd_command_t *command, tnd_request_t *request)
{
    const char *options = request->options;
    for (size_t i = 0; i < command->argument_count; i++) {
        if (tnd_argument_described(&command->arguments[i])->type != TND_ARGUMENT_SETTING)
            continue;
        const tnd_setting_list_t *list = (const void *)(options + command->arguments[i].offset);
        for (size_t s = 0; s < list->count; s++)
            free((void *)(uintptr_t)list->items[s].key);
        free((void *)(uintptr_t)list->items);
    }
    free((void *)(uintptr_t)request->files);
    free((void *)(uintptr_t)request->options);
}

void tnd_arguments_help(const tnd_command_t *command)
{
    printf("tundish %s%s%s%s\n\n%s\n", command->name, *command->operands != '\0' ? " " : "",
           command->operands, command->argument_count > 0 ? " [options]" : "", command->details);
    if (command->argument_count > 0)
        puts("Options:");
    for (size_t i = 0; i < command->argument_count; i++) {
        const tnd_argument_t *argument = tnd_argument_described(&command->arguments[i]);
        const char *brief = argument->brief;
        char left[48];
        snprintf(left, sizeof left, "%s%s%s%s%s", brief != NULL ? brief : "",
                 brief != NULL ? ", " : "", argument->name, argument->value != NULL ? " " : "",
                 argument->value != NULL ? argument->value : "");
        printf("  %-18s  %s\n", left, argument->help);
    }
    printf("%s  %-18s  %s\n\nExit codes:\n%s", command->argument_count > 0 ? "" : "Options:\n",
           "--help", "prints this", command->codes);
}
