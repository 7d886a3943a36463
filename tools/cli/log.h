/*  tools/cli/log.h - what a run has to say beside its data: stderr, one line a record.
 *
 *      a feed warning somebody came and was turned away
 *      {"time":1700000000.123456,"host":"a","actor":"feed","level":"warn","text":"...","count":1}
 *
 *  A line that is said again at once is not shown again; how often it was is said behind it, a
 *  second later at the latest.
 *
 *  Threads: take, tick and end on any, one after another or at the same time.
 */
#ifndef TUNDISH_TOOLS_LOG_H
#define TUNDISH_TOOLS_LOG_H

#include <pthread.h>

#include "runtime/observe/observer.h"
#include "tools/cli/line_writer.h"
#include "tools/cli/command.h"

typedef struct {
    tnd_log_level_t level; /* less is not shown */
    bool json;
    tnd_line_writer_t *writer; /* of stderr, kept by the caller; NULL: stderr is written here */
    uint64_t dropped_said;     /* lines that it dropped */
    pthread_mutex_t lock;
    tnd_log_level_t last_level;
    char last_host[64], last_actor[64], last_text[512];
    uint64_t shown_ns;
    unsigned repeated; /* since it was shown */
} tnd_log_t;

/*  As --log-level, --log-json and --quiet say.  False after saying what is wrong with them. */
bool tnd_log_init(tnd_log_t *self, const char *command, const tnd_request_t *request);
void tnd_log_take(tnd_log_t *self, tnd_log_level_t level, const char *host, const char *actor,
                  const char *text);
/*  Says how often the last line was repeated, if that has not been said for a second. */
void tnd_log_tick(tnd_log_t *self);
/*  Says it now; nothing comes after. */
void tnd_log_end(tnd_log_t *self);

/*  A line of the command itself, whatever level is shown: a record where they are JSON, else
 *  tnd_complain's line.
 */
void tnd_log_say(tnd_log_t *self, tnd_log_level_t level, const char *host, const char *command,
                 const char *text);
/*  The same, for an error. */
void tnd_log_complain(tnd_log_t *self, const char *host, const char *command, const char *format,
                      ...) __attribute__((format(printf, 4, 5)));

#endif
