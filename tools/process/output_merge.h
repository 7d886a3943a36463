/*  tools/process/output_merge.h - several processes of one run speak, and say the same thing once.
 *
 *  When a run fails, the host that failed says why and where, the leader passes its sentence on,
 * and every other host ends with that.  Who sees all of them together wants to read it once, from
 * the one that knows most: a sentence that another host was told waits until that host has spoken.
 *
 *  Lifecycle: zeroed; tnd_output_merge_free.  Threads: one.
 */
#ifndef TUNDISH_TOOLS_CHORUS_H
#define TUNDISH_TOOLS_CHORUS_H

#include <stdbool.h>
#include <stddef.h>

enum { TND_OUTPUT_MERGE_LINES = 64 };

typedef struct {
    char *lines[TND_OUTPUT_MERGE_LINES]; /* ring of what was said last */
    size_t next;
} tnd_output_merge_t;

/*  Whether a line of `tundish run` repeats what was said; remembers it otherwise. */
bool tnd_output_merge_repeats(tnd_output_merge_t *self, const char *line);
/*  The host that a line of another host speaks for ("tundish run: host c: ..."), with the length of
 *  its name; NULL: for none.
 */
const char *tnd_output_merge_speaks_for(const char *line, size_t *length_p);
void tnd_output_merge_free(tnd_output_merge_t *self);

#endif
