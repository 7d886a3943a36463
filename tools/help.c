/*  tools/help.c - what the commands, kinds, sources and operations are and take. */
#include <stdio.h>
#include <string.h>

#include "runtime/graph/placement.h"
#include "runtime/registry.h"
#include "tools/arguments.h"

static const char general[] =
    "tundish COMMAND [ARGUMENT...]\n"
    "\n"
    "Reads, preprocesses, batches and feeds data to every accelerator of one machine or many,\n"
    "and reduces what they return.\n"
    "\n"
    "Commands:\n";

static const char codes[] =
    "\n"
    "Exit codes:\n"
    "  0    done\n"
    "  1    the run failed: data, a step, a port in use\n"
    "  2    usage\n"
    "  75   another host refused, did not come or was lost\n"
    "  78   the topology is wrong, or a file cannot be used when it is opened\n"
    "  130  ended early, as asked by Ctrl-C or a signal\n";

static void print_names(const char *what, const tnd_table_t *(*at)(size_t))
{
    printf("  %-11s", what);
    for (size_t i = 0; at(i) != NULL; i++)
        printf(" %s", at(i)->name);
    putchar('\n');
}

static const tnd_table_t *kind_table(size_t index)
{
    size_t count;
    const tnd_kind_spec_t *const *kinds = tnd_registry_kinds(&count);
    return index < count ? &kinds[index]->table : NULL;
}

static const tnd_table_t *other_table(size_t index)
{
    return index == 0 ? &tnd_settings_table : index == 1 ? &tnd_host_table : NULL;
}

static void print_general(void)
{
    size_t count;
    const tnd_command_t *const *commands = tnd_commands(&count);
    fputs(general, stdout);
    for (size_t i = 0; i < count; i++)
        printf("  %-9s %s\n", commands[i]->name, commands[i]->summary);
    puts("  --version which version this is, and of what it stands on\n\n"
         "`tundish help NAME` describes a command, or what a topology file can say about one of");
    print_names("kinds", kind_table);
    print_names("sources", tnd_registry_source_table);
    print_names("operations", tnd_registry_op_table);
    print_names("others", other_table);
    fputs(codes, stdout);
}

static const char *role_name(tnd_option_role_t role)
{
    switch (role) {
    case TND_ROLE_GRAPH:
        return "graph";
    case TND_ROLE_PLACE:
        return "place";
    case TND_ROLE_SECURE:
        return "secure";
    case TND_ROLE_TUNE:
        return "tune";
    case TND_ROLE_ALL:
        break;
    }
    return "";
}

static void print_table(const char *what, const tnd_table_t *table)
{
    tnd_arena_t *arena = tnd_arena_new();
    printf("%s (%s): %s\n", table->name, what, table->help != NULL ? table->help : "");
    for (size_t i = 0; i < table->option_count; i++) {
        const tnd_option_t *option = &table->options[i];
        bool any = strcmp(option->name, "*") == 0;
        printf("\n  %s: %s\n      %s", any ? "NAME" : option->name,
               tnd_option_expects(arena, option), option->help != NULL ? option->help : "");
        if (option->fallback == NULL)
            printf("%s\n", any ? "" : " (required)");
        else if (*option->fallback != '\0')
            printf(" (default %s)\n", option->fallback);
        else
            putchar('\n');
        printf("      role: %s\n", role_name(option->role));
    }
    tnd_arena_destroy(&arena);
}

static bool print_part(const char *what, const tnd_table_t *(*at)(size_t), const char *name)
{
    for (size_t i = 0; at(i) != NULL; i++)
        if (strcmp(at(i)->name, name) == 0) {
            print_table(what, at(i));
            return true;
        }
    return false;
}

static int help(const tnd_request_t *request)
{
    if (request->file_count == 0) {
        print_general();
        return TND_EXIT_OK;
    }
    const char *name = request->files[0];
    const tnd_command_t *command = tnd_command_find(name);
    if (request->file_count > 1)
        return tnd_usage_error("help", "one name, not %zu", request->file_count);
    if (command != NULL)
        tnd_arguments_help(command);
    else if (!print_part("kind", kind_table, name) &&
             !print_part("source", tnd_registry_source_table, name) &&
             !print_part("operation", tnd_registry_op_table, name) &&
             !print_part("part of a topology", other_table, name))
        return tnd_usage_error("help", "there is no command, kind, source or operation '%s'", name);
    return TND_EXIT_OK;
}

const tnd_command_t tnd_command_help;
const tnd_command_t tnd_command_help = {
    .name = "help",
    .operands = "[NAME]",
    .summary = "describes a command, a kind of actor, a source or an operation",
    .arguments = (const char *const[]){NULL},
    .details = "Without a name it lists all there are.\n",
    .codes = "  0   printed\n  2   there is no such thing\n",
    .run = help,
};
