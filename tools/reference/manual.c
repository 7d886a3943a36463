/*  tools/reference/manual.c - prints the manual pages. */
#include "tools/reference/manual.h"

#include <ctype.h>
#include <string.h>

#include "runtime/option/option_print.h"
#include "tools/cli/arguments.h"
#include "tools/reference/reference.h"

/*  Prints a text with all requests and escapes of roff quoted. */
static void put(FILE *out, const char *text, size_t size)
{
    for (size_t i = 0; i < size; i++) {
        if (text[i] == '\\')
            fputs("\\e", out);
        else if (text[i] == '-')
            fputs("\\-", out);
        else if (text[i] == '\'')
            fputs("\\(aq", out);
        else if (text[i] == '`')
            fputs("\\(ga", out);
        else if (text[i] == '^')
            fputs("\\(ha", out);
        else if (text[i] == '~')
            fputs("\\(ti", out);
        else
            fputc(text[i], out);
    }
}

static void put_text(FILE *out, const char *text)
{
    if (*text == '.')
        fputs("\\&", out);
    put(out, text, strlen(text));
}

/*  Prints a sentence on lines of at most 72 characters. */
static void put_sentence(FILE *out, const char *text)
{
    size_t column = 0;
    while (*text != '\0') {
        size_t size = strcspn(text, " \n");
        if (column > 0 && column + size > 72) {
            fputc('\n', out);
            column = 0;
        } else if (column > 0) {
            fputc(' ', out);
            column++;
        }
        if (column == 0 && *text == '.')
            fputs("\\&", out);
        put(out, text, size);
        column += size;
        text += size;
        text += strspn(text, " \n");
    }
    fputc('\n', out);
}

/*  Prints paragraphs of a command's details; indented lines stay unchanged. */
static void put_paragraphs(FILE *out, const char *text)
{
    bool as_is = false, begins = false;
    for (bool first = true; *text != '\0'; first = false) {
        size_t size = strcspn(text, "\n"), skip = strspn(text, " ");
        bool indented = skip > 0 && size > 0;
        fputs(as_is && !indented ? ".fi\n" : "", out);
        begins = begins || size == 0 || (indented != as_is && !first);
        if (begins && size > 0) {
            fputs(".PP\n", out);
            begins = false;
        }
        fputs(indented && !as_is ? ".nf\n" : "", out);
        as_is = indented;
        skip = indented ? 0 : skip;
        if (size > 0) {
            fputs(text[skip] == '.' ? "\\&" : "", out);
            put(out, text + skip, size - skip);
            fputc('\n', out);
        }
        text += size + (text[size] == '\n');
    }
    fputs(as_is ? ".fi\n" : "", out);
}

static void put_upper(FILE *out, const char *text)
{
    for (; *text != '\0'; text++) {
        char byte = (char)toupper((unsigned char)*text);
        put(out, &byte, 1);
    }
}

static void put_title(FILE *out, const char *name, const char *section, const char *summary)
{
    fputs(".TH \"", out);
    put_upper(out, name);
    fprintf(out, "\" \"%s\" \"\" \"Tundish %s\"\n.SH NAME\n", section, TND_VERSION);
    put_text(out, name);
    fputs(" \\- ", out);
    put_sentence(out, summary);
}

/*  Prints lines such as "  0   done"; a line without a number continues the one before. */
static void put_codes(FILE *out, const char *codes)
{
    fputs(".SH EXIT STATUS\n", out);
    while (*codes != '\0') {
        size_t size = strcspn(codes, "\n"), at = strspn(codes, " ");
        size_t number = strcspn(codes + at, " ");
        if (at < size && isdigit((unsigned char)codes[at])) {
            fprintf(out, ".TP\n.B %.*s\n", (int)number, codes + at);
            at += number;
            at += strspn(codes + at, " ");
        }
        put(out, codes + at, size > at ? size - at : 0);
        fputs(size > at ? "\n" : "", out);
        codes += size + (codes[size] == '\n');
    }
}

static void put_option(FILE *out, const tnd_argument_t *argument)
{
    const char *brief = argument->brief;
    fputs(".TP\n\\fB", out);
    if (brief != NULL) {
        put_text(out, brief);
        fputs("\\fR, \\fB", out);
    }
    put_text(out, argument->name);
    fputs("\\fR", out);
    if (argument->value != NULL) {
        fputs(" \\fI", out);
        put_text(out, argument->value);
        fputs("\\fR", out);
    }
    fputc('\n', out);
    put_sentence(out, argument->help);
}

/*  Prints the other pages; `page` is this one, "run". */
static void put_see_also(FILE *out, const char *page)
{
    size_t count;
    const char *glue = "";
    const tnd_command_t *const *commands = tnd_commands(&count);
    fputs(".SH SEE ALSO", out);
    if (strcmp(page, "tundish") != 0) {
        fputs("\n.BR tundish (1)", out);
        glue = ",";
    }
    for (size_t i = 0; i < count; i++)
        if (strcmp(commands[i]->name, page) != 0) {
            fprintf(out, "%s\n.BR tundish\\-%s (1)", glue, commands[i]->name);
            glue = ",";
        }
    fputs(strcmp(page, "topology") != 0 ? ",\n.BR tundish\\-topology (5)" : "", out);
    fputs(strcmp(page, "topics") != 0 ? ",\n.BR tundish\\-topics (7)\n" : "\n", out);
}

void tnd_manual_print_command(FILE *out, const tnd_command_t *command)
{
    char name[64];
    snprintf(name, sizeof name, "tundish-%s", command->name);
    put_title(out, name, "1", command->summary);
    fputs(".SH SYNOPSIS\n.B tundish ", out);
    put_text(out, command->name);
    fputc('\n', out);
    if (command->argument_count > 0)
        fputs(".RI [ options ]\n", out);
    if (*command->operands != '\0') {
        fputs(".I ", out);
        put_text(out, command->operands);
        fputc('\n', out);
    }
    fputs(".SH DESCRIPTION\n", out);
    put_paragraphs(out, command->details);
    fputs(".SH OPTIONS\n", out);
    for (size_t i = 0; i < command->argument_count; i++)
        put_option(out, tnd_argument_described(&command->arguments[i]));
    fputs(".TP\n\\fB\\-\\-help\\fR\nprints this in short\n", out);
    put_codes(out, command->codes);
    put_see_also(out, command->name);
}

void tnd_manual_print(FILE *out, const char *general, const char *codes)
{
    size_t count;
    const tnd_command_t *const *commands = tnd_commands(&count);
    put_title(out, "tundish", "1", "reads, preprocesses, batches and feeds data to accelerators");
    fputs(".SH SYNOPSIS\n.B tundish\n.I COMMAND\n.RI [ ARGUMENT ...]\n.SH DESCRIPTION\n", out);
    put_sentence(out, general);
    fputs(".SH COMMANDS\n", out);
    for (size_t i = 0; i < count; i++) {
        fprintf(out, ".TP\n.BR tundish\\-%s (1)\n", commands[i]->name);
        put_sentence(out, commands[i]->summary);
    }
    fputs(".SH OPTIONS\n.TP\n\\fB\\-\\-help\\fR\nlists the commands, kinds, sources, operations "
          "and topics\n.TP\n\\fB\\-\\-version\\fR\nprints the versions of the program and of its "
          "libraries\n.SH ENVIRONMENT\n.TP\n.B TUNDISH_DATA\nthe value of ${data} in topologies "
          "without `data:`\n.TP\n.B NO_COLOR\nif it is set and not empty, nothing is coloured\n",
          out);
    put_codes(out, codes);
    put_see_also(out, "tundish");
}

void tnd_manual_print_topics(FILE *out)
{
    const tnd_topic_t *topic;
    put_title(out, "tundish-topics", "7", "words, files, placement, failures and messages");
    fputs(".SH DESCRIPTION\n", out);
    put_sentence(out, "What `tundish help TOPIC` prints.");
    for (size_t i = 0; (topic = tnd_topic(i)) != NULL; i++) {
        fputs(".SH ", out);
        put_upper(out, topic->name);
        fputc('\n', out);
        put_paragraphs(out, topic->text);
    }
    put_see_also(out, "topics");
}

/*  ---------------------------------------------------------------------------- tundish-topology */

static void put_options(FILE *out, tnd_arena_t *arena, const tnd_table_t *table, const char *prefix)
{
    for (size_t i = 0; i < table->option_count; i++) {
        const tnd_option_t *option = &table->options[i];
        bool any = tnd_option_is_any(option);
        fputs(".TP\n\\fB", out);
        put_text(out, prefix);
        put_text(out, any ? "NAME" : option->name);
        fputs("\\fR: ", out);
        put_sentence(out, tnd_option_expects(arena, option));
        const char *more = "";
        if (option->fallback == NULL && !any)
            more = "; required";
        else if (option->fallback != NULL && *option->fallback != '\0')
            more = tnd_arena_format(arena, "; by default %s", option->fallback);
        put_sentence(out, tnd_arena_format(arena, "%s%s (%s%s).", option->help, more,
                                           tnd_reference_role(option->role),
                                           tnd_reference_live(option)));
        if (option->table != NULL)
            put_options(out, arena, option->table,
                        tnd_arena_format(arena, "%s%s.", prefix, any ? "NAME" : option->name));
    }
}

void tnd_manual_print_topology(FILE *out)
{
    static const char example[] =
        "tundish: 1\n"
        "seed: 7\n"
        "actors:\n"
        "  read:  {kind: reader, source: {npy: {x: x.npy, y: y.npy}}, shuffle: global}\n"
        "  batch: {kind: batcher, size: 128}\n"
        "  feed:  {kind: feeder}\n"
        "links:\n"
        "  - read -> batch -> feed\n";
    static const tnd_option_role_t roles[] = {TND_ROLE_GRAPH, TND_ROLE_PLACE, TND_ROLE_SECURE,
                                              TND_ROLE_TUNE};
    const tnd_chapter_t *chapter;
    tnd_arena_t *arena = tnd_arena_new();
    put_title(out, "tundish-topology", "5", "files that describe a graph of actors");
    fputs(".SH DESCRIPTION\n", out);
    put_sentence(out,
                 "A topology is a YAML file of actors, their options and the links between them.  "
                 "Further files on the command line are overlays.  They place actors, secure "
                 "connections and tune memory and times; they cannot change the stream.  The "
                 "role of an option tells which file may change it:");
    for (size_t i = 0; i < sizeof roles / sizeof roles[0]; i++) {
        fprintf(out, ".TP\n.B %s\n", tnd_reference_role(roles[i]));
        put_sentence(out, tnd_reference_role_meaning(roles[i]));
    }
    for (size_t c = 0; (chapter = tnd_reference_chapter(c)) != NULL; c++) {
        fputs(".SH ", out);
        put_upper(out, chapter->name);
        fputc('\n', out);
        put_sentence(out, chapter->title);
        for (size_t i = 0; chapter->at(i) != NULL; i++) {
            const tnd_table_t *table = chapter->at(i);
            const char *facts = tnd_reference_facts(arena, chapter, table);
            fprintf(out, ".SS %s\n", table->name);
            put_sentence(out, table->help);
            if (*facts != '\0')
                put_sentence(out, facts);
            put_options(out, arena, table, "");
        }
    }
    fputs(".SH EXAMPLE\n.nf\n", out);
    put(out, example, strlen(example));
    fputs(".fi\n", out);
    put_see_also(out, "topology");
    tnd_arena_destroy(&arena);
}
