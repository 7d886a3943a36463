/*  tools/command/schema.c - `tundish schema`: the JSON Schema of topology files, for editors. */
#include <stdio.h>
#include <string.h>

#include "runtime/option/option_print.h"
#include "runtime/plan/placement.h"
#include "tools/cli/command.h"
#include "tools/cli/json.h"
#include "tools/reference/reference.h"

/*  Names as tnd_options_is_name accepts them; hosts also as ranges. */
#define NAME_PATTERN "^[A-Za-z_][A-Za-z0-9_-]{0,62}$"
#define HOST_PATTERN "^[A-Za-z_][A-Za-z0-9_-]*(\\\\[([0-9]+-[0-9]+|[*])\\\\][A-Za-z0-9_-]*)?$"
#define NUMBER_PATTERN "(0|[1-9][0-9]*)(\\\\.[0-9]*)?"
#define BYTES_PATTERN NUMBER_PATTERN " *(B|[kMGT]B|[KMGT]iB)"
#define DURATION_PATTERN NUMBER_PATTERN " *(ns|us|ms|s|min|h)"
/*  The JSON types of a scalar that is read as text. */
#define ANY_SCALAR "\"type\":[\"string\",\"number\",\"boolean\"]"

/*  The owner of a key; values of some keys of a file have a schema of their own, known by name. */
typedef enum { LEVEL_ANY, LEVEL_TOPOLOGY, LEVEL_OVERLAY, LEVEL_HOST } level_t;

/*  One end of "1..64"; "" is open. */
static void print_end(const char *key, const char *text, size_t size)
{
    if (size > 0)
        printf(",\"%s\":%.*s", key, (int)size, text);
}

static void print_range(const tnd_option_t *option)
{
    const char *dots = option->range != NULL ? strstr(option->range, "..") : NULL;
    if (dots == NULL)
        return;
    print_end("minimum", option->range, (size_t)(dots - option->range));
    print_end("maximum", dots + 2, strlen(dots + 2));
}

/*  The words of "keep|drop" or "auto=0", as a JSON list. */
static void print_words(const char *choices)
{
    putchar('[');
    for (const char *at = choices; *at != '\0';) {
        size_t size = strcspn(at, "|");
        size_t shown = strcspn(at, "|=");
        printf("%s\"%.*s\"", at > choices ? "," : "", (int)shown, at);
        at += size + (at[size] == '|');
    }
    putchar(']');
}

/*  A number, or one of its words. */
static void print_number(const tnd_option_t *option)
{
    const char *type =
        option->type == TND_OPTION_F64 || option->type == TND_OPTION_F64S ? "number" : "integer";
    bool least = option->range != NULL && strncmp(option->range, "..", 2) != 0;
    fputs(option->choices != NULL ? "\"anyOf\":[{" : "", stdout);
    printf("\"type\":\"%s\"", type);
    if (option->type != TND_OPTION_F64 && option->type != TND_OPTION_F64S &&
        option->type != TND_OPTION_I64 && !least)
        fputs(",\"minimum\":0", stdout);
    print_range(option);
    if (option->choices == NULL)
        return;
    fputs("},{\"enum\":", stdout);
    print_words(option->choices);
    fputs("}]", stdout);
}

/*  A value with a unit; 0 needs none. */
static void print_quantity(const char *pattern)
{
    printf("\"anyOf\":[{\"type\":\"string\",\"pattern\":\"^(0|%s)$\"},{\"const\":0}]", pattern);
}

static void print_text(const tnd_option_t *option)
{
    if (option->type == TND_OPTION_COLUMN || option->type == TND_OPTION_COLUMNS)
        fputs("\"type\":[\"string\",\"boolean\"],\"pattern\":\"" NAME_PATTERN "\"", stdout);
    else if (option->type == TND_OPTION_PATH || option->type == TND_OPTION_PATHS)
        fputs(ANY_SCALAR ",\"minLength\":1", stdout);
    else
        fputs(ANY_SCALAR, stdout);
}

static void print_table(const tnd_table_t *table);
static void print_value(const tnd_option_t *option);

/*  A list, one item that means a list of one, or a map. */
static void print_list(const tnd_option_t *option, void (*print_item)(const tnd_option_t *))
{
    fputs("\"anyOf\":[{", stdout);
    print_item(option);
    fputs("},{\"type\":\"array\",\"items\":{", stdout);
    print_item(option);
    fputs("}}", stdout);
    if (option->table != NULL) {
        fputs(",{", stdout);
        print_table(option->table);
        putchar('}');
    }
    putchar(']');
}

/*  A text, or a map if the option has a table. */
static void print_text_or_table(const tnd_option_t *option)
{
    fputs(option->table != NULL ? "\"anyOf\":[{" : "", stdout);
    print_text(option);
    if (option->table == NULL)
        return;
    fputs("},{", stdout);
    print_table(option->table);
    fputs("}]", stdout);
}

static const char *chapter_of(const tnd_table_t *table)
{
    const tnd_chapter_t *chapter;
    for (size_t c = 0; (chapter = tnd_reference_chapter(c)) != NULL; c++)
        if (tnd_reference_find(chapter, table->name) == table)
            return chapter->name;
    return "tables";
}

/*  `{NAME: {options}}`, `{plugin: NAME, options}`, or NAME alone if all options are optional. */
static void print_part(const tnd_option_t *option)
{
    fputs("\"anyOf\":[{\"type\":\"object\",\"minProperties\":1,\"maxProperties\":1,"
          "\"additionalProperties\":false,\"properties\":{",
          stdout);
    for (size_t i = 0; option->parts(i) != NULL; i++) {
        const tnd_table_t *table = option->parts(i);
        const char *format = table->scalar != NULL
                                 ? "%s\"%s\":{\"anyOf\":[{\"$ref\":\"#/$defs/%s.%s\"},"
                                 : "%s\"%s\":{\"$ref\":\"#/$defs/%s.%s\"}";
        printf(format, i > 0 ? "," : "", table->name, chapter_of(table), table->name);
        if (table->scalar == NULL)
            continue;
        const tnd_option_t *alone = tnd_options_find(table, table->scalar);
        if (alone->type == TND_OPTION_PARTS) {
            printf("{\"$ref\":\"#/$defs/%s.%s/properties/%s\"}]}", chapter_of(table), table->name,
                   alone->name);
            continue;
        }
        putchar('{');
        print_value(alone);
        fputs("}]}", stdout);
    }
    fputs("}},{\"type\":\"object\",\"required\":[\"plugin\"],\"properties\":{\"plugin\":"
          "{\"type\":\"string\",\"pattern\":\"^[^/]+$\"}}}",
          stdout);
    const char *glue = ",{\"enum\":[";
    for (size_t i = 0; option->parts(i) != NULL; i++) {
        const tnd_table_t *table = option->parts(i);
        bool needs = false;
        for (size_t j = 0; j < table->option_count; j++)
            needs = needs ||
                    (table->options[j].fallback == NULL && !tnd_option_is_any(&table->options[j]));
        if (needs)
            continue;
        printf("%s\"%s\"", glue, table->name);
        glue = ",";
    }
    fputs(*glue == ',' && glue[1] == '\0' ? "]}]" : "]", stdout);
}

/*  The map of a table, or instead the list that its first option is. */
static void print_table_or_list(const tnd_table_t *table)
{
    if (table->scalar == NULL) {
        print_table(table);
        return;
    }
    fputs("\"anyOf\":[{", stdout);
    print_table(table);
    fputs("},{\"type\":\"array\",\"items\":{\"type\":[\"string\",\"number\",\"boolean\"]}}]",
          stdout);
}

/*  The schema of a value. */
static void print_value(const tnd_option_t *option)
{
    switch (option->type) {
    case TND_OPTION_BOOL:
        fputs("\"type\":\"boolean\"", stdout);
        return;
    case TND_OPTION_U64:
    case TND_OPTION_I64:
    case TND_OPTION_F64:
        print_number(option);
        return;
    case TND_OPTION_F64S:
        print_list(option, print_number);
        return;
    case TND_OPTION_STRING:
    case TND_OPTION_COLUMN:
    case TND_OPTION_PATH:
        print_text_or_table(option);
        return;
    case TND_OPTION_STRINGS:
    case TND_OPTION_COLUMNS:
    case TND_OPTION_PATHS:
        print_list(option, print_text);
        return;
    case TND_OPTION_ENUM:
        fputs("\"enum\":", stdout);
        print_words(option->choices);
        return;
    case TND_OPTION_BYTES:
        print_quantity(BYTES_PATTERN);
        return;
    case TND_OPTION_DURATION:
        print_quantity(DURATION_PATTERN);
        return;
    case TND_OPTION_RATE:
        print_quantity(BYTES_PATTERN "/s");
        return;
    case TND_OPTION_EXTENT:
        fputs("\"type\":\"string\",\"pattern\":\"^(" NUMBER_PATTERN " *rows?|" BYTES_PATTERN ")$\"",
              stdout);
        return;
    case TND_OPTION_INTERVAL:
        fputs("\"type\":\"string\",\"pattern\":\"^(" NUMBER_PATTERN " *steps?|" DURATION_PATTERN
              ")$\"",
              stdout);
        return;
    case TND_OPTION_PERIOD:
        fputs("\"type\":\"string\",\"pattern\":\"^" NUMBER_PATTERN " *(steps?|epochs?)$\"", stdout);
        return;
    case TND_OPTION_TABLE:
        print_table_or_list(option->table);
        return;
    case TND_OPTION_PART:
        print_part(option);
        return;
    case TND_OPTION_PARTS:
        fputs("\"type\":\"array\",\"items\":{", stdout);
        print_part(option);
        putchar('}');
        return;
    case TND_OPTION_MAP:
        fputs("\"type\":\"object\"", stdout);
        return;
    case TND_OPTION_VALUE:
        fputs("\"not\":{\"type\":\"null\"}", stdout);
        return;
    }
}

/*  Keys whose values the parser knows by name; false: another key. */
static bool print_known(const tnd_option_t *option, level_t level)
{
    bool top = level == LEVEL_TOPOLOGY || level == LEVEL_OVERLAY;
    if (top && strcmp(option->name, "tundish") == 0) {
        fputs("\"const\":1", stdout);
    } else if (top && strcmp(option->name, "actors") == 0) {
        printf("\"type\":\"object\"%s,\"propertyNames\":{\"pattern\":\"" NAME_PATTERN
               "\"},\"additionalProperties\":{\"$ref\":\"#/$defs/%s\"}",
               level == LEVEL_TOPOLOGY ? ",\"minProperties\":1" : "",
               level == LEVEL_TOPOLOGY ? "actor" : "placed");
    } else if (top && strcmp(option->name, "hosts") == 0) {
        fputs("\"type\":\"object\",\"propertyNames\":{\"pattern\":\"" HOST_PATTERN
              "\"},\"additionalProperties\":{\"$ref\":\"#/$defs/others.host\"}",
              stdout);
    } else if ((top && strcmp(option->name, "links") == 0) ||
               (level == LEVEL_HOST && strcmp(option->name, "actors") == 0)) {
        fputs("\"anyOf\":[{\"type\":\"string\"},"
              "{\"type\":\"array\",\"items\":{\"type\":\"string\"}}]",
              stdout);
    } else {
        return false;
    }
    return true;
}

/*  One key of a map.  Null restores a default, if there is one. */
static void print_option(const tnd_option_t *option, level_t level)
{
    tnd_arena_t *arena = tnd_arena_new();
    bool null = option->fallback != NULL;
    fputs("{\"description\":", stdout);
    tnd_json_text(
        stdout, tnd_arena_format(arena, "%s: %s", tnd_option_expects(arena, option), option->help));
    if (null && *option->fallback != '\0' && option->type != TND_OPTION_U64 &&
        option->type != TND_OPTION_I64 && option->type != TND_OPTION_F64 &&
        option->type != TND_OPTION_BOOL) {
        tnd_json_member(stdout, "default", option->fallback);
    } else if (null && *option->fallback != '\0') {
        bool word = option->choices != NULL && strpbrk(option->fallback, "0123456789") == NULL;
        printf(word ? ",\"default\":\"%s\"" : ",\"default\":%s", option->fallback);
    }
    fputs(null ? ",\"anyOf\":[{" : ",", stdout);
    if (!print_known(option, level))
        print_value(option);
    fputs(null ? "},{\"type\":\"null\"}]}" : "}", stdout);
    tnd_arena_destroy(&arena);
}

/*  The map of a table, without its braces; only options with a role in `roles`.  `kind`: the key of
 *  that name is added; NULL: no key. */
static void print_map(const tnd_table_t *table, level_t level, unsigned roles, const char *kind)
{
    const char *glue = "";
    const tnd_option_t *any = NULL;
    fputs("\"type\":\"object\",\"description\":", stdout);
    tnd_json_text(stdout, table->help);
    fputs(",\"properties\":{", stdout);
    if (kind != NULL) {
        printf("\n    \"kind\":{\"const\":\"%s\"}", kind);
        glue = ",";
    }
    for (size_t i = 0; i < table->option_count; i++) {
        const tnd_option_t *option = &table->options[i];
        if (tnd_option_is_any(option)) {
            any = option;
            continue;
        }
        if (((unsigned)option->role & roles) == 0)
            continue;
        printf("%s\n    \"%s\":", glue, option->name);
        print_option(option, level);
        glue = ",";
    }
    fputs("}", stdout);
    glue = ",\"required\":[";
    for (size_t i = 0; i < table->option_count && (roles & TND_ROLE_GRAPH) != 0; i++) {
        if (table->options[i].fallback != NULL || tnd_option_is_any(&table->options[i]))
            continue;
        printf("%s\"%s\"", glue, table->options[i].name);
        glue = ",";
    }
    fputs(strcmp(glue, ",") == 0 ? "]" : "", stdout);
    fputs(",\"additionalProperties\":", stdout);
    if (any == NULL) {
        fputs("false", stdout);
        return;
    }
    fputs("{", stdout);
    if (any->type == TND_OPTION_VALUE)
        fputs("\"description\":", stdout), tnd_json_text(stdout, any->help);
    else
        print_value(any);
    fputs("}", stdout);
}

static void print_table(const tnd_table_t *table)
{
    print_map(table, LEVEL_ANY, TND_ROLE_ALL, NULL);
}

/*  An actor of a topology: its kind, and the options of that kind. */
static void print_actor(void)
{
    const tnd_chapter_t *kinds = tnd_reference_chapter_find("kinds");
    fputs(",\n  \"actor\":{\"type\":\"object\",\"required\":[\"kind\"],\"properties\":{"
          "\"kind\":{\"description\":\"what the actor does\",\"enum\":[",
          stdout);
    for (size_t i = 0; kinds->at(i) != NULL; i++)
        printf("%s\"%s\"", i > 0 ? "," : "", kinds->at(i)->name);
    fputs("]}},\"allOf\":[", stdout);
    for (size_t i = 0; kinds->at(i) != NULL; i++)
        printf("%s\n    {\"if\":{\"required\":[\"kind\"],\"properties\":{\"kind\":{\"const\":"
               "\"%s\"}}},\"then\":{\"$ref\":\"#/$defs/kinds.%s\"}}",
               i > 0 ? "," : "", kinds->at(i)->name, kinds->at(i)->name);
    fputs("]}", stdout);
}

/*  An actor of an overlay: what may be placed and tuned, for any kind. */
static void print_placed(void)
{
    const tnd_chapter_t *kinds = tnd_reference_chapter_find("kinds");
    unsigned roles = TND_ROLE_PLACE | TND_ROLE_SECURE | TND_ROLE_TUNE;
    fputs(",\n  \"placed\":{\"anyOf\":[", stdout);
    for (size_t i = 0; kinds->at(i) != NULL; i++) {
        printf("%s{", i > 0 ? ",\n   " : "\n   ");
        print_map(kinds->at(i), LEVEL_ANY, roles, kinds->at(i)->name);
        putchar('}');
    }
    fputs("]}", stdout);
}

static int schema(const tnd_request_t *request)
{
    const tnd_chapter_t *chapter;
    if (request->file_count > 0)
        return tnd_usage_error("schema", "takes no files");
    fputs("{\"$schema\":\"https://json-schema.org/draft/2020-12/schema\",\n"
          " \"title\":\"Tundish topology\",\n"
          " \"description\":\"A graph of actors, or an overlay that places one\",\n"
          " \"type\":\"object\",\n"
          " \"if\":{\"anyOf\":[{\"required\":[\"tundish\"]},{\"required\":[\"links\"]}]},\n"
          " \"then\":{\"$ref\":\"#/$defs/topology\"},\n"
          " \"else\":{\"$ref\":\"#/$defs/overlay\"},\n"
          " \"$defs\":{\n  \"topology\":{",
          stdout);
    print_map(&tnd_settings_table, LEVEL_TOPOLOGY, TND_ROLE_ALL, NULL);
    fputs("},\n  \"overlay\":{", stdout);
    print_map(&tnd_settings_table, LEVEL_OVERLAY, TND_ROLE_PLACE | TND_ROLE_SECURE | TND_ROLE_TUNE,
              NULL);
    fputs("}", stdout);
    print_actor();
    print_placed();
    for (size_t c = 0; (chapter = tnd_reference_chapter(c)) != NULL; c++)
        for (size_t i = 0; chapter->at(i) != NULL; i++) {
            const tnd_table_t *table = chapter->at(i);
            bool kind = strcmp(chapter->name, "kinds") == 0;
            if (table == &tnd_settings_table)
                continue;
            printf(",\n  \"%s.%s\":{", chapter->name, table->name);
            print_map(table, table == &tnd_host_table ? LEVEL_HOST : LEVEL_ANY, TND_ROLE_ALL,
                      kind ? table->name : NULL);
            fputs("}", stdout);
        }
    puts("\n }\n}");
    return TND_EXIT_OK;
}

const tnd_command_t tnd_command_schema = {
    .name = "schema",
    .operands = "",
    .summary = "prints the JSON Schema of topology files, for editors",
    .details =
        "The schema (draft 2020-12) is made from the tables that the parser reads.  An editor\n"
        "with a YAML language server completes and checks a file whose first line is\n"
        "  # yaml-language-server: $schema=PATH\n"
        "where PATH is the path of the schema, relative to the file;\n"
        "examples/topology.schema.json is a copy.  `tundish validate` checks what needs the\n"
        "whole graph: links, placement, data.\n",
    .codes = "  0   printed\n  2   usage\n",
    .run = schema,
};
