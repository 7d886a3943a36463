/*  tools/remote/page_mirror.h - a copy of the statistics file of a host on another machine.
 *
 *  It is kept up to date by the answers to its questions (runtime/looks/page_changes.h).  A sweep
 *  goes over the whole file and may take several questions.
 *
 *  Answers are not trusted: sizes have bounds, and the file is validated like one of this machine.
 *
 *  Ownership: tnd_page_mirror_free frees all.  Threads: one at a time. */
#ifndef TND_TOOLS_REMOTE_PAGE_MIRROR_H
#define TND_TOOLS_REMOTE_PAGE_MIRROR_H

#include "runtime/looks/page_changes.h"
#include "runtime/observe/inspection.h"

/*  A larger file is not copied. */
enum { TND_PAGE_MIRROR_BYTES_MAX = 32 << 20 };

typedef struct tnd_page_mirror tnd_page_mirror_t;

tnd_page_mirror_t *tnd_page_mirror_new(void);
void tnd_page_mirror_free(tnd_page_mirror_t *self);

/*  What to ask next. */
tnd_look_question_t tnd_page_mirror_question(const tnd_page_mirror_t *self);
/*  Applies an answer that arrived at `now`.  One to another question changes nothing.
 *  Errors: TND_FAILED if it is damaged, of another version, or of a file that is too large; the
 *  mirror is empty then. */
tnd_status_t tnd_page_mirror_apply(tnd_page_mirror_t *self, const void *bytes, size_t size,
                                   uint64_t now, tnd_error_t *error) TND_CHECKED;

/*  When the last answer arrived / when the last whole sweep ended; 0: never. */
uint64_t tnd_page_mirror_heard(const tnd_page_mirror_t *self);
uint64_t tnd_page_mirror_swept(const tnd_page_mirror_t *self);
/*  Whether the file was read to its end since the last sweep began: nothing is left to ask for now. */
bool tnd_page_mirror_is_whole(const tnd_page_mirror_t *self);
/*  Hosts of the run, as the last answer said; 0: none came. */
uint64_t tnd_page_mirror_hosts(const tnd_page_mirror_t *self);

/*  Reads the process, with times of this machine.  It must have been swept.  The caller frees its
 *  memory with the inspection that it moves it to.  Errors: TND_FAILED if it cannot be shown. */
tnd_status_t tnd_page_mirror_process(const tnd_page_mirror_t *self, tnd_look_t look,
                                     tnd_inspected_t *process, tnd_error_t *error) TND_CHECKED;

#endif
