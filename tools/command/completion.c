/*  tools/command/completion.c - `tundish completion`: scripts that complete command lines. */
#include <stdio.h>
#include <string.h>

#include "tools/cli/arguments.h"
#include "tools/reference/reference.h"

/*  The values that complete an option or an operand. */
typedef enum { WANT_NOTHING, WANT_FILE, WANT_DIRECTORY, WANT_TOPIC, WANT_SHELL } want_t;

static want_t want_of(const char *value)
{
    if (value == NULL)
        return WANT_NOTHING;
    if (strstr(value, "NAME") != NULL)
        return WANT_TOPIC;
    if (strcmp(value, "SHELL") == 0)
        return WANT_SHELL;
    if (strcmp(value, "DIR") == 0)
        return WANT_DIRECTORY;
    if (strstr(value, "FILE") != NULL || strstr(value, "DATA") != NULL ||
        strncmp(value, "A ", 2) == 0)
        return WANT_FILE;
    return WANT_NOTHING;
}

/*  Prints every name that `tundish help` knows, separated by spaces. */
static void print_topics(void)
{
    size_t count;
    const tnd_chapter_t *chapter;
    const tnd_command_t *const *commands = tnd_commands(&count);
    const tnd_topic_t *topic;
    fputs("commands", stdout);
    for (size_t i = 0; (topic = tnd_topic(i)) != NULL; i++)
        printf(" %s", topic->name);
    for (size_t i = 0; i < count; i++)
        printf(" %s", commands[i]->name);
    for (size_t c = 0; (chapter = tnd_reference_chapter(c)) != NULL; c++) {
        printf(" %s", chapter->name);
        if (chapter->other != NULL)
            printf(" %s", chapter->other);
        for (size_t i = 0; chapter->at(i) != NULL; i++)
            printf(" %s", chapter->at(i)->name);
    }
}

static void print_shells(void)
{
    fputs("bash fish zsh", stdout);
}

/*  ------------------------------------------------------------------------------------- bash */

static void bash_words(want_t want)
{
    switch (want) {
    case WANT_FILE:
        fputs("COMPREPLY=($(compgen -f -- \"$word\")); compopt -o filenames 2>/dev/null", stdout);
        return;
    case WANT_DIRECTORY:
        fputs("COMPREPLY=($(compgen -d -- \"$word\")); compopt -o filenames 2>/dev/null", stdout);
        return;
    case WANT_TOPIC:
        fputs("COMPREPLY=($(compgen -W '", stdout);
        print_topics();
        fputs("' -- \"$word\"))", stdout);
        return;
    case WANT_SHELL:
        fputs("COMPREPLY=($(compgen -W '", stdout);
        print_shells();
        fputs("' -- \"$word\"))", stdout);
        return;
    case WANT_NOTHING:
        fputs("COMPREPLY=()", stdout);
        return;
    }
}

/*  Prints the options of a command that take a value, with the completion of the value. */
static void bash_values(const tnd_command_t *command)
{
    for (size_t i = 0; i < command->argument_count; i++) {
        const tnd_argument_t *argument = tnd_argument_described(&command->arguments[i]);
        const char *brief = argument->brief;
        if (argument->value == NULL)
            continue;
        printf("        %s:%s", command->name, argument->name);
        if (brief != NULL)
            printf(" | %s:%s", command->name, brief);
        fputs(") ", stdout);
        bash_words(want_of(argument->value));
        puts("; return ;;");
    }
}

static void print_bash(void)
{
    size_t count;
    const tnd_command_t *const *commands = tnd_commands(&count);
    puts("# Completion of tundish for bash, made by `tundish completion bash`.\n"
         "_tundish() {\n"
         "    local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]}\n"
         "    local command=${COMP_WORDS[1]}\n"
         "    COMPREPLY=()\n"
         "    if [ \"$COMP_CWORD\" -eq 1 ]; then");
    fputs("        COMPREPLY=($(compgen -W '", stdout);
    for (size_t i = 0; i < count; i++)
        printf("%s ", commands[i]->name);
    puts("--help --version' -- \"$word\"))\n"
         "        return\n"
         "    fi\n"
         "    case $command:$before in");
    for (size_t i = 0; i < count; i++)
        bash_values(commands[i]);
    puts("    esac\n"
         "    case $command:$word in");
    for (size_t i = 0; i < count; i++) {
        printf("        %s:-*) COMPREPLY=($(compgen -W '", commands[i]->name);
        for (size_t a = 0; a < commands[i]->argument_count; a++)
            printf("%s ", commands[i]->arguments[a].name);
        puts("--help' -- \"$word\")) ;;");
        printf("        %s:*) ", commands[i]->name);
        bash_words(want_of(commands[i]->operands));
        puts(" ;;");
    }
    puts("    esac\n"
         "}\n"
         "complete -F _tundish tundish");
}

/*  -------------------------------------------------------------------------------------- zsh */

/*  Quotes a text for '...' and the brackets of _arguments. */
static void zsh_text(const char *text)
{
    for (; *text != '\0'; text++) {
        if (*text == '\'')
            fputs("'\\''", stdout);
        else if (strchr("[]:\\", *text) != NULL)
            printf("\\%c", *text);
        else
            putchar(*text);
    }
}

static void zsh_action(want_t want)
{
    switch (want) {
    case WANT_FILE:
        fputs("_files", stdout);
        return;
    case WANT_DIRECTORY:
        fputs("_files -/", stdout);
        return;
    case WANT_TOPIC:
        putchar('(');
        print_topics();
        putchar(')');
        return;
    case WANT_SHELL:
        putchar('(');
        print_shells();
        putchar(')');
        return;
    case WANT_NOTHING:
        putchar(' ');
        return;
    }
}

static void zsh_option(const tnd_argument_t *argument, const char *name)
{
    printf(" \\\n                '*%s[", name);
    zsh_text(argument->help);
    putchar(']');
    if (argument->value != NULL) {
        putchar(':');
        zsh_text(argument->value);
        putchar(':');
        zsh_action(want_of(argument->value));
    }
    putchar('\'');
}

static void print_zsh(void)
{
    size_t count;
    const tnd_command_t *const *commands = tnd_commands(&count);
    puts("#compdef tundish\n"
         "# Completion of tundish for zsh, made by `tundish completion zsh`.\n"
         "_tundish() {\n"
         "    local -a commands\n"
         "    commands=(");
    for (size_t i = 0; i < count; i++) {
        printf("        '%s:", commands[i]->name);
        zsh_text(commands[i]->summary);
        puts("'");
    }
    puts("    )\n"
         "    if (( CURRENT == 2 )); then\n"
         "        _describe command commands\n"
         "        return\n"
         "    fi\n"
         "    local command=${words[2]}\n"
         "    shift words\n"
         "    (( CURRENT-- ))\n"
         "    case $command in");
    for (size_t i = 0; i < count; i++) {
        printf("        %s)\n            _arguments", commands[i]->name);
        for (size_t a = 0; a < commands[i]->argument_count; a++) {
            const tnd_argument_t *argument = tnd_argument_described(&commands[i]->arguments[a]);
            zsh_option(argument, argument->name);
            if (argument->brief != NULL)
                zsh_option(argument, argument->brief);
        }
        fputs(" \\\n                '--help[prints what it does and takes]'", stdout);
        if (want_of(commands[i]->operands) != WANT_NOTHING) {
            fputs(" \\\n                '*:", stdout);
            zsh_text(commands[i]->operands);
            putchar(':');
            zsh_action(want_of(commands[i]->operands));
            putchar('\'');
        }
        puts(" ;;");
    }
    puts("    esac\n"
         "}\n"
         "# Sourced, it registers itself; from a directory of $fpath it is called.\n"
         "if [[ ${funcstack[1]} == _tundish ]]; then\n"
         "    _tundish \"$@\"\n"
         "else\n"
         "    compdef _tundish tundish\n"
         "fi");
}

/*  ------------------------------------------------------------------------------------- fish */

static void fish_text(const char *text)
{
    putchar('\'');
    for (; *text != '\0'; text++) {
        if (*text == '\'' || *text == '\\')
            putchar('\\');
        putchar(*text);
    }
    putchar('\'');
}

static void fish_action(want_t want)
{
    switch (want) {
    case WANT_FILE:
        fputs(" -F", stdout);
        return;
    case WANT_DIRECTORY:
        fputs(" -a '(__fish_complete_directories)'", stdout);
        return;
    case WANT_TOPIC:
        fputs(" -a '", stdout);
        print_topics();
        putchar('\'');
        return;
    case WANT_SHELL:
        fputs(" -a '", stdout);
        print_shells();
        putchar('\'');
        return;
    case WANT_NOTHING:
        return;
    }
}

static void print_fish(void)
{
    size_t count;
    const tnd_command_t *const *commands = tnd_commands(&count);
    puts("# Completion of tundish for fish, made by `tundish completion fish`.\n"
         "complete -c tundish -f\n"
         "complete -c tundish -n __fish_use_subcommand -l version -d 'which version this is'");
    for (size_t i = 0; i < count; i++) {
        const tnd_command_t *command = commands[i];
        printf("complete -c tundish -n __fish_use_subcommand -a %s -d ", command->name);
        fish_text(command->summary);
        putchar('\n');
        if (want_of(command->operands) != WANT_NOTHING) {
            printf("complete -c tundish -n '__fish_seen_subcommand_from %s'", command->name);
            fish_action(want_of(command->operands));
            putchar('\n');
        }
        for (size_t a = 0; a < command->argument_count; a++) {
            const tnd_argument_t *argument = tnd_argument_described(&command->arguments[a]);
            const char *brief = argument->brief;
            printf("complete -c tundish -n '__fish_seen_subcommand_from %s' -l %s", command->name,
                   argument->name + 2);
            if (brief != NULL)
                printf(" -s %s", brief + 1);
            fputs(argument->value != NULL ? " -r" : "", stdout);
            if (argument->value != NULL)
                fish_action(want_of(argument->value));
            fputs(" -d ", stdout);
            fish_text(argument->help);
            putchar('\n');
        }
    }
}

static int completion(const tnd_request_t *request)
{
    static const struct {
        const char *shell;
        void (*print)(void);
    } shells[] = {{"bash", print_bash}, {"fish", print_fish}, {"zsh", print_zsh}};
    for (size_t i = 0; i < sizeof shells / sizeof shells[0]; i++)
        if (request->file_count == 1 && strcmp(request->files[0], shells[i].shell) == 0) {
            shells[i].print();
            return TND_EXIT_OK;
        }
    return tnd_usage_error("completion", "one of bash, fish and zsh is expected");
}

const tnd_command_t tnd_command_completion = {
    .name = "completion",
    .operands = "SHELL",
    .missing = "no shell is given; choose bash, fish or zsh",
    .summary = "prints a script that completes commands, options and files in a shell",
    .details =
        "bash:  source <(tundish completion bash)\n"
        "zsh:   source <(tundish completion zsh), after compinit\n"
        "fish:  tundish completion fish | source\n"
        "Add the line to the start-up file of the shell; an installed tundish does not need it.\n",
    .codes = "  0   printed\n"
             "  2   the shell is unknown\n",
    .operands_min = 1,
    .operands_max = 1,
    .run = completion,
};
