/*  tools/command/help.c - `tundish help`: describes commands, options and topics. */
#include <stdio.h>
#include <string.h>

#include "runtime/option/option_print.h"
#include "tools/cli/arguments.h"
#include "tools/cli/json.h"
#include "tools/reference/help_search.h"
#include "tools/reference/manual.h"
#include "tools/reference/reference.h"
#include "tools/reference/tensorflow.h"
#include "tools/reference/words.h"

typedef struct {
    bool json, man;
} help_options_t;

static const char purpose[] =
    "Reads, preprocesses, batches and feeds data to every accelerator of one machine or many,\n"
    "and reduces what they return.\n";

static const char codes[] =
    "  0    done\n"
    "  1    the run failed: data, a step, a port in use\n"
    "  2    usage\n"
    "  75   another host refused, did not come or was lost\n"
    "  78   the topology is wrong, or a file cannot be used when it is opened\n"
    "  130  ended early, as asked by Ctrl-C or a signal\n";

/*  ------------------------------------------------------------------------------------- lists */

static void print_commands(void)
{
    size_t count;
    const tnd_command_t *const *commands = tnd_commands(&count);
    for (size_t i = 0; i < count; i++)
        printf("  %-10s %s\n", commands[i]->name, commands[i]->summary);
}

static void print_general(void)
{
    const tnd_chapter_t *chapter;
    const tnd_topic_t *topic;
    printf("tundish COMMAND [ARGUMENT...]\n\n%s\nCommands:\n", purpose);
    print_commands();
    puts("  --version  prints the versions of the program and of its libraries\n\n"
         "`tundish help NAME` describes a command, or the options of one of these:");
    for (size_t c = 0; (chapter = tnd_reference_chapter(c)) != NULL; c++) {
        printf("  %-11s", chapter->name);
        for (size_t i = 0; chapter->at(i) != NULL; i++)
            printf(" %s", chapter->at(i)->name);
        putchar('\n');
    }
    puts("`tundish help TOPIC` prints a page about");
    for (size_t i = 0; (topic = tnd_topic(i)) != NULL; i++)
        printf("  %-11s %.*s\n", topic->name, (int)strcspn(topic->text, "\n"), topic->text);
    puts(
        "`tundish help NAME.KEY` describes one option, such as batcher.size; `tundish help "
        "kinds`,\n"
        "`sources`, `ops` and `commands` print lists; `tundish help WORD` answers and finds words\n"
        "such as gpu, validation or resume.");
    printf("\nExit codes:\n%s", codes);
}

static void print_chapter(const tnd_chapter_t *chapter)
{
    printf("%s - %s\n\n", chapter->name, chapter->title);
    for (size_t i = 0; chapter->at(i) != NULL; i++)
        printf("  %-13s %s\n", chapter->at(i)->name, chapter->at(i)->help);
    printf("\n`tundish help %s` describes one of them.\n", chapter->at(0)->name);
}

/*  ------------------------------------------------------------------------------------ tables */

static void print_default(const tnd_option_t *option)
{
    if (option->fallback == NULL)
        printf("%s\n", tnd_option_is_any(option) ? "" : " (required)");
    else if (*option->fallback != '\0')
        printf(" (default %s)\n", option->fallback);
    else
        putchar('\n');
}

/*  The options of a table; `prefix`, such as "step.", precedes each name. */
static void print_options(tnd_arena_t *arena, const tnd_table_t *table, const char *prefix)
{
    for (size_t i = 0; i < table->option_count; i++) {
        const tnd_option_t *option = &table->options[i];
        printf("\n  %s%s: %s\n      %s", prefix, tnd_option_is_any(option) ? "NAME" : option->name,
               tnd_option_expects(arena, option), option->help);
        print_default(option);
        printf("      role: %s%s\n", tnd_reference_role(option->role), tnd_reference_live(option));
        if (option->table != NULL)
            print_options(arena, option->table,
                          tnd_arena_format(arena, "%s%s.", prefix,
                                           tnd_option_is_any(option) ? "NAME" : option->name));
    }
}

static void print_table(const tnd_chapter_t *chapter, const tnd_table_t *table)
{
    tnd_arena_t *arena = tnd_arena_new();
    const char *facts = tnd_reference_facts(arena, chapter, table);
    printf("%s (%s): %s\n", table->name, chapter->one, table->help);
    if (*facts != '\0')
        puts(facts);
    if (table->option_count == 0)
        puts("\n  It has no options.");
    print_options(arena, table, "");
    tnd_arena_destroy(&arena);
}

/*  One option in full; `name` is the user's word for it: "feeder.step.plugin". */
static void print_option(const char *name, const tnd_option_t *option)
{
    tnd_arena_t *arena = tnd_arena_new();
    printf("%s: %s\n  %s", name, tnd_option_expects(arena, option), option->help);
    print_default(option);
    printf("  role: %s - %s%s\n", tnd_reference_role(option->role),
           tnd_reference_role_meaning(option->role), tnd_reference_live(option));
    if (option->table != NULL) {
        print_options(arena, option->table, "");
    } else if (option->parts != NULL) {
        putchar('\n');
        for (size_t i = 0; option->parts(i) != NULL; i++)
            printf("  %-13s %s\n", option->parts(i)->name, option->parts(i)->help);
    }
    tnd_arena_destroy(&arena);
}

/*  -------------------------------------------------------------------------------------- JSON */

static void print_option_json(const tnd_option_t *option)
{
    tnd_arena_t *arena = tnd_arena_new();
    tnd_json_begin(stdout, false, "name", option->name);
    printf(",\"type\":\"%s\",\"role\":\"%s\",\"required\":%s,\"default\":",
           tnd_reference_type(option->type), tnd_reference_role(option->role),
           option->fallback == NULL && !tnd_option_is_any(option) ? "true" : "false");
    tnd_json_text(stdout,
                  option->fallback != NULL && *option->fallback != '\0' ? option->fallback : NULL);
    tnd_json_member(stdout, "unit", option->unit);
    printf(",\"live\":%s", option->live != TND_LIVE_NOT ? "true" : "false");
    tnd_json_member(stdout, "range", option->range);
    tnd_json_member(stdout, "choices", option->choices);
    tnd_json_member(stdout, "expects", tnd_option_expects(arena, option));
    tnd_json_member(stdout, "help", option->help);
    const tnd_table_t *table = option->table;
    if (table != NULL) {
        printf(",\"options\":[");
        for (size_t i = 0; i < table->option_count; i++) {
            fputs(i > 0 ? "," : "", stdout);
            print_option_json(&table->options[i]);
        }
        putchar(']');
    }
    putchar('}');
    tnd_arena_destroy(&arena);
}

static void print_table_json(const tnd_chapter_t *chapter, const tnd_table_t *table)
{
    tnd_arena_t *arena = tnd_arena_new();
    printf("{\"name\":\"%s\",\"is\":\"%s\",\"help\":", table->name, chapter->one);
    tnd_json_text(stdout, table->help);
    tnd_json_member(stdout, "facts", tnd_reference_facts(arena, chapter, table));
    printf(",\"options\":[");
    for (size_t i = 0; i < table->option_count; i++) {
        fputs(i > 0 ? "," : "", stdout);
        print_option_json(&table->options[i]);
    }
    fputs("]}", stdout);
    tnd_arena_destroy(&arena);
}

static void print_command_json(const tnd_command_t *command)
{
    printf("{\"name\":\"%s\",\"is\":\"command\",\"operands\":\"%s\",\"help\":", command->name,
           command->operands);
    tnd_json_text(stdout, command->summary);
    printf(",\"options\":[");
    for (size_t i = 0; i < command->argument_count; i++) {
        const tnd_argument_t *argument = tnd_argument_described(&command->arguments[i]);
        printf("%s{\"name\":\"%s\",\"value\":", i > 0 ? "," : "", argument->name);
        tnd_json_text(stdout, argument->value);
        tnd_json_member(stdout, "help", argument->help);
        putchar('}');
    }
    printf("],\"details\":");
    tnd_json_text(stdout, command->details);
    tnd_json_member(stdout, "codes", command->codes);
    putchar('}');
}

static void print_commands_json(void)
{
    size_t count;
    const tnd_command_t *const *commands = tnd_commands(&count);
    printf("\"commands\":[");
    for (size_t i = 0; i < count; i++) {
        fputs(i > 0 ? "," : "", stdout);
        print_command_json(commands[i]);
    }
    putchar(']');
}

static void print_chapter_json(const tnd_chapter_t *chapter)
{
    printf("\"%s\":[", chapter->name);
    for (size_t i = 0; chapter->at(i) != NULL; i++) {
        fputs(i > 0 ? "," : "", stdout);
        print_table_json(chapter, chapter->at(i));
    }
    putchar(']');
}

static void print_general_json(void)
{
    const tnd_chapter_t *chapter;
    putchar('{');
    print_commands_json();
    for (size_t c = 0; (chapter = tnd_reference_chapter(c)) != NULL; c++) {
        putchar(',');
        print_chapter_json(chapter);
    }
    puts("}");
}

/*  ---------------------------------------------------------------------------------- one name */

/*  Prints a list such as "kinds" or "commands"; returns false if it does not exist. */
static bool show_list(const char *name, bool json)
{
    const tnd_chapter_t *chapter = tnd_reference_chapter_find(name);
    bool commands = strcmp(name, "commands") == 0;
    if (!commands && chapter == NULL)
        return false;
    fputs(json ? "{" : "", stdout);
    if (commands && json)
        print_commands_json();
    else if (commands)
        print_commands();
    else if (json)
        print_chapter_json(chapter);
    else
        print_chapter(chapter);
    fputs(json ? "}\n" : "", stdout);
    return true;
}

static void print_topic_json(const tnd_topic_t *topic)
{
    printf("{\"name\":\"%s\",\"is\":\"topic\",\"help\":", topic->name);
    tnd_json_text(stdout, topic->text);
    putchar('}');
}

/*  Every thing with this name: a command and an operation may share one. */
static bool show_things(const char *name, bool json)
{
    const tnd_chapter_t *chapter;
    const tnd_topic_t *topic;
    const tnd_command_t *command = tnd_command_find(name);
    size_t shown = 0;
    for (size_t i = 0; (topic = tnd_topic(i)) != NULL; i++) {
        if (strcmp(topic->name, name) != 0)
            continue;
        shown++;
        if (json)
            print_topic_json(topic);
        else
            printf("%s - %s", topic->name, topic->text);
    }
    if (command != NULL) {
        shown++;
        if (json)
            print_command_json(command);
        else
            tnd_arguments_help(command);
    }
    for (size_t c = 0; (chapter = tnd_reference_chapter(c)) != NULL; c++) {
        const tnd_table_t *table = tnd_reference_find(chapter, name);
        if (table == NULL)
            continue;
        fputs(shown++ > 0 ? "\n" : "", stdout);
        if (json)
            print_table_json(chapter, table);
        else
            print_table(chapter, table);
    }
    fputs(json && shown > 0 ? "\n" : "", stdout);
    if (shown > 0 && command == NULL && !json)
        (void)tnd_help_search_print(name, TND_HELP_SEARCH_NAME, "\nAlso:\n", false);
    return shown > 0;
}

/*  The option of a table at `path`, such as "step.plugin"; NULL after offering similar names. */
static const tnd_option_t *walk(const tnd_table_t *table, const char *path, tnd_nearest_t *nearest)
{
    size_t size = strcspn(path, ".");
    for (size_t i = 0; i < table->option_count; i++) {
        const tnd_option_t *option = &table->options[i];
        const char *name = tnd_option_is_any(option) ? "NAME" : option->name;
        if (strlen(name) == size && memcmp(name, path, size) == 0) {
            if (path[size] == '\0')
                return option;
            return option->table != NULL ? walk(option->table, path + size + 1, nearest) : NULL;
        }
        if (path[size] == '\0') {
            nearest->word = path;
            tnd_nearest_offer(nearest, name);
        }
    }
    return NULL;
}

/*  Whether a name differs from the word so little that it is meant. */
static bool is_meant(const tnd_nearest_t *nearest)
{
    return nearest->best != NULL && nearest->distance <= (strlen(nearest->word) < 8 ? 1 : 2) &&
           strlen(nearest->word) > 3;
}

/*  For a name with points that neither this program nor TensorFlow has. */
static int refuse_name(tnd_arena_t *arena, const char *name, const char *thing)
{
    tnd_nearest_t nearest = {.word = name};
    tnd_tensorflow_offer(arena, &nearest);
    if (is_meant(&nearest))
        return tnd_usage_error("help", "'%s' is unknown; did you mean '%s'?", name, nearest.best);
    if (strcmp(thing, "tf") == 0)
        return tnd_usage_error(
            "help",
            "'%s' is not described; `tundish help tf` lists the names of TensorFlow that are",
            name);
    return tnd_usage_error("help", "no kind, source or operation is called '%s'", thing);
}

static int show_option(const char *name, bool json)
{
    const tnd_chapter_t *chapter;
    tnd_arena_t *arena = tnd_arena_new();
    tnd_nearest_t nearest = {0};
    size_t shown = 0;
    bool known = false;
    const char *thing = tnd_arena_text(arena, name, strcspn(name, "."));
    const char *key = strchr(name, '.') + 1;
    for (size_t c = 0; (chapter = tnd_reference_chapter(c)) != NULL; c++) {
        const tnd_table_t *table = tnd_reference_find(chapter, thing);
        const tnd_option_t *option = table != NULL ? walk(table, key, &nearest) : NULL;
        known = known || table != NULL;
        if (option == NULL)
            continue;
        fputs(shown++ > 0 ? "\n" : "", stdout);
        if (json)
            print_option_json(option);
        else
            print_option(name, option);
    }
    fputs(json && shown > 0 ? "\n" : "", stdout);
    int code = TND_EXIT_OK;
    if (shown == 0 && !known)
        code = refuse_name(arena, name, thing);
    else if (shown == 0 && nearest.best != NULL)
        code = tnd_usage_error("help", "'%s' has no option '%s'; did you mean '%s'?", thing, key,
                               nearest.best);
    else if (shown == 0)
        code = tnd_usage_error("help", "'%s' has no option '%s'", thing, key);
    tnd_arena_destroy(&arena);
    return code;
}

/*  Prints a manual page; NULL: tundish(1).  Returns false if it does not exist. */
static bool show_manual(const char *name)
{
    const tnd_command_t *command = name != NULL ? tnd_command_find(name) : NULL;
    if (name == NULL || strcmp(name, "tundish") == 0)
        tnd_manual_print(stdout, purpose, codes);
    else if (strcmp(name, "topology") == 0)
        tnd_manual_print_topology(stdout);
    else if (strcmp(name, "topics") == 0)
        tnd_manual_print_topics(stdout);
    else if (command != NULL)
        tnd_manual_print_command(stdout, command);
    else
        return false;
    return true;
}

/*  For several words that nothing has together: prints the answer to each, the first one alone as JSON.
 *  False: there is none. */
static bool show_each(tnd_arena_t *arena, const char *name, bool json)
{
    const tnd_word_t *shown = NULL;
    const char *at = strchr(name, ' ') != NULL ? name : "";
    for (size_t size; *at != '\0'; at += size + strspn(at + size, " ")) {
        size = strcspn(at, " ");
        const char *word = tnd_arena_text(arena, at, size);
        const tnd_word_t *entry = tnd_word_find(word);
        if (entry == NULL || entry == shown || (shown != NULL && json))
            continue;
        if (shown != NULL)
            putchar('\n');
        tnd_word_print(entry, word, json);
        shown = entry;
    }
    return shown != NULL;
}

/*  For a word that is not a name: prints what mentions it, or suggests the nearest name. */
static int seek(tnd_arena_t *arena, const char *name, bool json)
{
    size_t count;
    const tnd_chapter_t *chapter;
    const tnd_topic_t *topic;
    const tnd_command_t *const *commands = tnd_commands(&count);
    tnd_nearest_t nearest = {.word = name};
    for (size_t i = 0; (topic = tnd_topic(i)) != NULL; i++)
        tnd_nearest_offer(&nearest, topic->name);
    tnd_nearest_offer(&nearest, "commands");
    for (size_t i = 0; i < count; i++)
        tnd_nearest_offer(&nearest, commands[i]->name);
    for (size_t c = 0; (chapter = tnd_reference_chapter(c)) != NULL; c++) {
        tnd_nearest_offer(&nearest, chapter->name);
        if (chapter->other != NULL)
            tnd_nearest_offer(&nearest, chapter->other);
        for (size_t i = 0; chapter->at(i) != NULL; i++)
            tnd_nearest_offer(&nearest, chapter->at(i)->name);
    }
    tnd_help_search_offer(&nearest);
    tnd_tensorflow_offer(arena, &nearest);
    if (tnd_help_search_print(name, TND_HELP_SEARCH_TEXT, "", json) || show_each(arena, name, json))
        return TND_EXIT_OK;
    if (is_meant(&nearest))
        return tnd_usage_error("help", "'%s' is unknown; did you mean '%s'?", name, nearest.best);
    return tnd_usage_error("help", "'%s' is unknown, and nothing mentions it", name);
}

/*  The words of the command line as one. */
static const char *joined(tnd_arena_t *arena, const tnd_request_t *request)
{
    const char *word = request->file_count > 0 ? request->files[0] : NULL;
    for (size_t i = 1; i < request->file_count; i++)
        word = tnd_arena_format(arena, "%s %s", word, request->files[i]);
    return word;
}

/*  Prints everything that has this name, and what the word is called here; false if there is nothing. */
static bool show_known(const char *name, bool json)
{
    const tnd_word_t *entry = tnd_word_find(name);
    if (show_list(name, json) || show_things(name, json))
        return true;
    if (entry != NULL)
        tnd_word_print(entry, name, json);
    if (entry != NULL && json)
        return true;
    return tnd_help_search_print(name, TND_HELP_SEARCH_NAME, entry != NULL ? "\nAlso:\n" : "",
                                 json) ||
           entry != NULL;
}

static int show_word(tnd_arena_t *arena, const char *name, bool json)
{
    if (!show_known(name, json))
        return tnd_tensorflow_print(name, json) ? TND_EXIT_OK : seek(arena, name, json);
    if (!json)
        tnd_tensorflow_mention(name);
    return TND_EXIT_OK;
}

static int describe(tnd_arena_t *arena, const char *name, const tnd_request_t *request)
{
    const help_options_t *options = request->options;
    if (options->man && !show_manual(name))
        return tnd_usage_error(
            "help", "'%s' has no manual page; commands, topology and topics have one", name);
    if (options->man)
        return TND_EXIT_OK;
    if (name == NULL && options->json)
        print_general_json();
    else if (name == NULL)
        print_general();
    else if (strchr(name, '.') == NULL)
        return show_word(arena, name, options->json);
    else if (!tnd_tensorflow_print(name, options->json))
        return show_option(name, options->json);
    return TND_EXIT_OK;
}

static int help(const tnd_request_t *request)
{
    tnd_arena_t *arena = tnd_arena_new();
    int code = describe(arena, joined(arena, request), request);
    tnd_arena_destroy(&arena);
    return code;
}

static const tnd_argument_t arguments[] = {
    {TND_COMMON("--json", help_options_t, json)},
    {TND_ARGUMENT("--man", FLAG, help_options_t, man, NULL, "prints the manual page, for man -l")},
};

const tnd_command_t tnd_command_help = {
    .name = "help",
    .operands = "[NAME | NAME.KEY | tf.NAME | TOPIC | WORD...]",
    .summary = "describes a command, a kind of actor, a source, an operation, an option or a topic",
    TND_ARGUMENTS(arguments, help_options_t),
    .details =
        "Without a name it lists all names; `kinds`, `sources`, `ops` and `commands` print one\n"
        "list each; `topology` and `host` are the top level of a file and its hosts.\n"
        "NAME.KEY describes one option: batcher.size, feeder.step.plugin, topology.memory.\n"
        "tf.NAME says what a name of TensorFlow is here: tf.data.Dataset.shuffle, also\n"
        "Dataset.shuffle; `tf.data` and `tf.distribute` list those below them.\n"
        "Any other WORD is answered if people often search it, as gpu or drop_last, and searched:\n"
        "the options with this name are printed, or else what mentions it.\n"
        "--man prints a manual page: of tundish, of a command, of topology or of topics.\n",
    .codes = "  0   printed\n  2   the name is unknown\n",
    .operands_max = 4,
    .run = help,
};
