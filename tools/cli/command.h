/*  tools/cli/command.h - a subcommand of `tundish`.
 *
 *  A subcommand is one file and one line in commands.def.  It declares its options and the struct that
 *  they fill; arguments.h parses the command line into a request; `run` does the work and returns the exit code.  Data is
 *  written to stdout, everything else to stderr.
 *
 *  Threads: the main one. */
#ifndef TND_TOOLS_CLI_COMMAND_H
#define TND_TOOLS_CLI_COMMAND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*  Exit codes, documented by `tundish help`. */
enum {
    TND_EXIT_OK = 0,
    TND_EXIT_FAILED = 1,    /* the run failed: data, a step, a port in use */
    TND_EXIT_USAGE = 2,     /* the command line is wrong */
    TND_EXIT_PEER = 75,     /* another process refused, is absent, was lost, or runs this host */
    TND_EXIT_TOPOLOGY = 78, /* the topology, or files that cannot be used when they are opened */
    TND_EXIT_DRAINED = 130  /* ended early, as requested */
};

/*  `--set KEY=VALUE` */
typedef struct {
    const char *key, *value;
} tnd_setting_t;

/*  All of them, in order. */
typedef struct {
    const tnd_setting_t *items;
    size_t count;
} tnd_setting_list_t;

/*  The type of an option, and the C type of the field that it fills. */
typedef enum {
    TND_ARGUMENT_COMMON,  /* as the list of arguments.c describes the option of this name */
    TND_ARGUMENT_FLAG,    /* bool */
    TND_ARGUMENT_TEXT,    /* const char *; NULL: not given */
    TND_ARGUMENT_NUMBER,  /* uint64_t, at least 1; 0: not given */
    TND_ARGUMENT_LIMIT,   /* uint64_t, at least 1; UINT64_MAX: not given */
    TND_ARGUMENT_COUNT,   /* uint64_t, at least 0; UINT64_MAX: not given */
    TND_ARGUMENT_SETTING, /* tnd_setting_list_t; may be repeated */
    TND_ARGUMENT_PLACE    /* const char *: optional text, by default "latest"; a folder or manifest
                             that follows is its value; NULL: not given */
} tnd_argument_type_t;

/*  An option of a command.  Parser, help, manual and completion read it. */
typedef struct {
    const char *name; /* "--set" */
    tnd_argument_type_t type;
    const char *value; /* of its value, "KEY=VALUE"; NULL: it has none */
    const char *help;  /* a sentence */
    const char *brief; /* "-o"; NULL: no letter */
    size_t offset;     /* of the field in the command's struct */
} tnd_argument_t;

/*  An option of one command, and one that the list of arguments.c describes. */
#define TND_ARGUMENT(text, type_name, struct_type, field, value_text, help_text)                   \
    .name = (text), .type = TND_ARGUMENT_##type_name, .offset = offsetof(struct_type, field),      \
    .value = (value_text), .help = (help_text)
#define TND_COMMON(text, struct_type, field)                                                       \
    TND_ARGUMENT(text, COMMON, struct_type, field, NULL, NULL)

/*  A parsed command line. */
typedef struct {
    const char *const *files; /* operands, in order */
    size_t file_count;
    char *const *words; /* the command line after the command's name, as it was given */
    size_t word_count;
    size_t divider;      /* how many operands are before `--`; file_count without `--` */
    const void *options; /* the struct that the command's options fill */
} tnd_request_t;

/*  Whether `name` is among its operands; true if there are none, which means all. */
bool tnd_request_names(const tnd_request_t *self, const char *name);

typedef struct {
    const char *name;
    const char *operands; /* "FILE..." */
    const char *summary;  /* one line */
    const tnd_argument_t *arguments;
    size_t argument_count;
    size_t options_size; /* of the struct that parsing fills; 0 without options */
    const char *details; /* paragraphs for --help */
    const char *codes;   /* its exit codes, a line each */
    size_t operands_min;
    size_t operands_max; /* 0: any number */
    const char *missing; /* the error if there are fewer; NULL: that of topologies */
    bool drains;         /* from its first moment on, a signal ends it as signals.h says */
    int (*run)(const tnd_request_t *request);
} tnd_command_t;

/*  The options of a command, and the size of the struct that they fill. */
#define TND_ARGUMENTS(array, struct_type)                                                          \
    .arguments = (array), .argument_count = sizeof(array) / sizeof((array)[0]),                    \
    .options_size = sizeof(struct_type)

/*  All subcommands, in the order of the list. */
const tnd_command_t *const *tnd_commands(size_t *count_p);
/*  Returns NULL if the command does not exist. */
const tnd_command_t *tnd_command_find(const char *name);

/*  Prints an error of the command line and where help is; returns TND_EXIT_USAGE. */
int tnd_usage_error(const char *command, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/*  Prints "tundish COMMAND: text" on stderr. */
void tnd_complain(const char *command, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/*  The text of the last of these errors, for other processes of the run; "": there was none.  Threads: the
 *  one that reported it. */
const char *tnd_last_complaint(void);

#endif
