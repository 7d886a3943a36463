/*  tools/process/output_merge.h - merges the output of processes without repetitions.
 *
 *  When a run fails, the failed host prints the reason, the leader passes the sentence on, and
 *  every other host ends with it.  The merged output has it once, from the host that knows most: a
 *  sentence about another host waits until that host has printed its own.
 *
 *  Lifecycle: zeroed; tnd_output_merge_free.
 *  Threads: one. */
#ifndef TND_TOOLS_PROCESS_OUTPUT_MERGE_H
#define TND_TOOLS_PROCESS_OUTPUT_MERGE_H

#include <stdbool.h>
#include <stddef.h>

enum { TND_OUTPUT_MERGE_LINES = 64 };

typedef struct {
    char *lines[TND_OUTPUT_MERGE_LINES]; /* ring of the last sentences */
    size_t next;
} tnd_output_merge_t;

/*  Whether a line of `tundish run` repeats an earlier one; otherwise remembers it. */
bool tnd_output_merge_repeats(tnd_output_merge_t *self, const char *line);
/*  The host that a line is about ("tundish run: host c: ..."), and its length; NULL: none. */
const char *tnd_output_merge_speaks_for(const char *line, size_t *length_p);
void tnd_output_merge_free(tnd_output_merge_t *self);

#endif
