/*  tools/launch/sent_run.h - a run whose options and files come from another machine.
 *
 *  `tundish up --on` starts `tundish run --sent` on each machine and writes to its stdin: a line with
 *  the rank of the process, the size and the hash of what follows, then variables, words of the
 *  command line and topology files.  No shell reads names or values.  The files become memory files
 *  (/proc/self/fd/N), which processes of isolated actors inherit.
 *
 *  The pipe stays open.  A byte TND_SENT_DRAIN drains the run and TND_SENT_END ends it; so does the
 *  end of the pipe, because the sender or the connection has ended then.
 *
 *  What arrives is not trusted to be whole.  Threads: the main one. */
#ifndef TND_TOOLS_LAUNCH_SENT_RUN_H
#define TND_TOOLS_LAUNCH_SENT_RUN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "runtime/base/status.h"

enum {
    TND_SENT_HEAD = 96,             /* bytes of the first line, at most */
    TND_SENT_BYTES_MAX = 256 << 20, /* of what follows it */
    TND_SENT_DRAIN = 'd',
    TND_SENT_END = 'e'
};

/*  A line of stdout when everything has arrived. */
#define TND_SENT_ANSWER "tundish: the files have arrived"

typedef struct {
    char **variables; /* "NAME=VALUE", then NULL; NAME begins with TUNDISH_ */
    char **words;     /* of `tundish run`, without files, then NULL */
    char **names;     /* of the files, then NULL */
    char **texts;
    size_t *sizes;
    size_t file_count;
} tnd_sent_run_t;

/*  Reads files from disk.
 *  Errors: TND_FAILED names a file that cannot be read or is larger than a topology. */
tnd_status_t tnd_sent_run_load(tnd_sent_run_t *self, const char *const *files, size_t count,
                               tnd_error_t *error) TND_CHECKED;
void tnd_sent_run_free(tnd_sent_run_t *self);

/*  What is sent after the first line; the caller frees it. */
char *tnd_sent_run_write(const tnd_sent_run_t *self, size_t *size_p);
/*  The first line for a process. */
void tnd_sent_run_head(char line[TND_SENT_HEAD], uint32_t rank, const char *bytes, size_t size);

/*  Reads the first line without its end.  False: it is another. */
bool tnd_sent_run_parse_head(const char *line, uint32_t *rank_p, size_t *size_p, uint64_t *hash_p);
/*  Reads what follows it.  False: it is damaged, and *self is empty. */
bool tnd_sent_run_parse(tnd_sent_run_t *self, const char *bytes, size_t size);

/*  Receives a run from stdin, sets its variables, and answers.  `words` gets the whole command line
 *  with the files at its end; the caller leaves it to the process.  From then on stdin is watched.
 *  Errors: TND_FAILED; the text is for the user. */
tnd_status_t tnd_sent_run_receive(char ***words_p, size_t *count_p, tnd_error_t *error) TND_CHECKED;
/*  Whether this process has received a run. */
bool tnd_sent_run_is(void);
/*  The same process has received it before it ran its program again: stdin is watched again.
 *  Errors: TND_FAILED if no thread can be started. */
tnd_status_t tnd_sent_run_watch(tnd_error_t *error) TND_CHECKED;

#endif
