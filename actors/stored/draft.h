/*  actors/stored/draft.h - a file that gets its name when it is complete.
 *
 *  It cannot be seen before, and nothing is left of it if the process is killed, unless the file system
 *  has only files with names.  If several processes publish a file of one name, one of them remains.
 *
 *  Lifecycle: open; write to `file`; publish; take, if it is to be read; close, also after a failure.
 *  Threads: any; one at a time for each.  Errors: returns false, with the reason in errno. */
#ifndef TND_ACTORS_STORED_DRAFT_H
#define TND_ACTORS_STORED_DRAFT_H

#include <stdbool.h>

typedef struct {
    int file;   /* -1: not open */
    char *path; /* that it will have */
    char *name; /* that it has until then; NULL: none */
    bool named; /* it has got its name */
} tnd_draft_t;

/*  Creates its folder too if that is missing. */
bool tnd_draft_open(tnd_draft_t *self, const char *path);
/*  Syncs the file, and gives it its name. */
bool tnd_draft_publish(tnd_draft_t *self);
/*  The descriptor of what was published, for the caller to close; -1: another file has got the name. */
int tnd_draft_take(tnd_draft_t *self);
void tnd_draft_close(tnd_draft_t *self);

#endif
