/*  tools/cli/log.h - the log of a run: stderr, one line per record.
 *
 *      a feed warning a peer was refused
 *      {"time":1700000000.123456,"host":"a","actor":"feed","level":"warn","text":"...","count":1}
 *
 *  A repeated line is not shown again; the number of repetitions is shown after at most a second.
 *
 *  Threads: take, tick and end on any, also at the same time. */
#ifndef TND_TOOLS_CLI_LOG_H
#define TND_TOOLS_CLI_LOG_H

#include <pthread.h>

#include "runtime/observe/observer.h"
#include "tools/cli/command.h"
#include "tools/cli/line_writer.h"

typedef struct {
    const char *level; /* --log-level; NULL: not given */
    bool json, quiet;
} tnd_log_options_t;

typedef struct {
    tnd_log_level_t level; /* the lowest level that is shown */
    bool json;
    tnd_line_writer_t *writer; /* of stderr, owned by the caller; NULL: written here */
    uint64_t dropped_said;     /* lines that it dropped */
    pthread_mutex_t lock;
    tnd_log_level_t last_level;
    char last_host[64], last_actor[64], last_text[512];
    uint64_t shown_ns;
    unsigned repeated; /* since it was shown */
} tnd_log_t;

/*  Sets up --log-level, --log-json and --quiet.  False: they are wrong; an error was printed. */
bool tnd_log_init(tnd_log_t *self, const char *command, const tnd_log_options_t *options);
void tnd_log_take(tnd_log_t *self, tnd_log_level_t level, const char *host, const char *actor,
                  const char *text);
/*  Prints how often the last line was repeated, at most once a second. */
void tnd_log_tick(tnd_log_t *self);
/*  Prints it now; call it last. */
void tnd_log_end(tnd_log_t *self);

/*  A message of the command itself, shown at every level: a record with --log-json, otherwise as by
 *  tnd_complain. */
void tnd_log_say(tnd_log_t *self, tnd_log_level_t level, const char *host, const char *command,
                 const char *text);
/*  An error of the command itself, shown at every level. */
void tnd_log_complain(tnd_log_t *self, const char *host, const char *command, const char *format,
                      ...) __attribute__((format(printf, 4, 5)));

#endif
