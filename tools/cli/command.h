/*  tools/cli/command.h - a subcommand of `tundish`.
 *
 *  A subcommand is one file and one line in commands.def.  It declares its options; arguments.h
 *  parses the command line into a request; `run` does the work and returns the exit code.  Data is
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

/*  A parsed command line. */
typedef struct {
    const char *const *files; /* operands, in order */
    size_t file_count;
    char *const *words; /* the command line after the command's name, as it was given */
    size_t word_count;
    size_t divider; /* how many of them are before `--`; file_count without `--` */
    const tnd_setting_t *settings;
    size_t setting_count;
    const char *host, *launch, *data, *report, *metrics, *at, *npz, *log_level,
        *save; /* NULL: not given */
    const char *output, *png, *as, *split, *interval, *via, *on, *leader, *meet, *http, *listen,
        *token, *row;
    const char *resume;   /* "latest": without a value */
    const char *evaluate; /* the same */
    uint64_t steps;       /* UINT64_MAX: not given */
    uint64_t sample;      /* a position; UINT64_MAX: not given */
    uint64_t step;        /* UINT64_MAX: not given */
    uint64_t epoch;       /* UINT64_MAX: not given */
    const char *position; /* NULL: not given */
    const char *duration; /* NULL: not given */
    const char *timeout;  /* NULL: not given */
    uint64_t count;       /* 0: not given */
    uint64_t rows;        /* one block in so many; 0: not given */
    bool last;
    uint64_t seconds, minutes, seed; /* 0: not given */
    bool quiet, json, replicas, log_json, fed, requeue, watch;
    bool dot, graph, html, man, all, trust_data, list, remove, beside, stream, pages, once,
        read_only, bad, restarts, whole;
} tnd_request_t;

/*  Whether `name` is among its operands; true if there are none, which means all. */
bool tnd_request_names(const tnd_request_t *self, const char *name);
/*  Its only operand; NULL: it has none or several. */
const char *tnd_request_name(const tnd_request_t *self);

typedef struct {
    const char *name;
    const char *operands;         /* "FILE..." */
    const char *summary;          /* one line */
    const char *const *arguments; /* names of its options, then NULL: see arguments.c */
    const char *details;          /* paragraphs for --help */
    const char *codes;            /* its exit codes, a line each */
    size_t operands_min;
    size_t operands_max; /* 0: any number */
    const char *missing; /* the error if there are fewer; NULL: that of topologies */
    int (*run)(const tnd_request_t *request);
} tnd_command_t;

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

#endif
