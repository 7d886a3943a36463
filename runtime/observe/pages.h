/*  runtime/observe/pages.h - the file in shared memory with the pages of a process.
 *
 *  The file is in the user's runtime directory and is named by run, host and process.  Its first page
 *  describes the process, which holds a lock on the file while it lives.  The pages of its actors follow
 *  (statistics.h), what the process knows about its run (run_page.h), and a tap for rows (tap.h). */
#ifndef TND_RUNTIME_OBSERVE_PAGES_H
#define TND_RUNTIME_OBSERVE_PAGES_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "runtime/base/status.h"
#include "runtime/observe/run_page.h"
#include "runtime/observe/statistics.h"
#include "runtime/observe/tap.h"

/*  The first page of a file. */
enum { TND_PAGES_VERSION = 22 };

typedef struct {
    char magic[8];           /* "TNDPAGES" */
    uint32_t version;        /* TND_PAGES_VERSION */
    uint32_t actor_bytes;    /* sizeof(tnd_statistics_t) */
    tnd_pages_shape_t shape; /* what follows */
    uint32_t record_bytes;   /* tnd_run_record_bytes(&shape): other sizes are of another version */
    int32_t process;         /* its number, where it runs */
    uint64_t process_start;  /* start time of /proc, as numbers are reused */
    char run[64], host[64];
    _Atomic uint64_t session;   /* distinguishes runs of the same name */
    _Atomic uint64_t killed_by; /* the signal, if its parent wrote it; 0: not known */
} tnd_pages_header_t;

typedef struct tnd_pages tnd_pages_t;

/*  Creates the pages of this process.  The session is its own until tnd_pages_join.  Destroy
 *  removes the file. */
tnd_status_t tnd_pages_new(tnd_pages_t **self_p, const char *run, const char *host,
                           uint64_t session, tnd_pages_shape_t shape,
                           tnd_error_t *error) TND_CHECKED;
/*  Pages that no other process can look at, for one whose own could not be created: statistics never
 *  keep an actor from its work. */
tnd_pages_t *tnd_pages_new_unseen(tnd_pages_shape_t shape);
/*  Their file; "" if it is not visible. */
const char *tnd_pages_path(const tnd_pages_t *self);
/*  Sets the session of the leader, which all processes of a run share.  Of the killed processes that
 *  had this host before, only the files of the latest two are kept. */
void tnd_pages_join(tnd_pages_t *self, uint64_t session);
tnd_statistics_t *tnd_pages_at(tnd_pages_t *self, size_t index);
/*  What follows the pages of the actors. */
const tnd_run_record_t *tnd_pages_record(const tnd_pages_t *self);
/*  What follows that. */
tnd_tap_t *tnd_pages_tap(const tnd_pages_t *self);
/*  The part of the file before its event rings: its size, 0 if no other process can see it, and its
 *  bytes as another process reads them.  Returns false if they cannot be read. */
size_t tnd_pages_looked_at(const tnd_pages_t *self);
bool tnd_pages_read(const tnd_pages_t *self, void *bytes, size_t size, size_t at);
void tnd_pages_destroy(tnd_pages_t **self_p);

/*  When a process last changed its file: `last_ns`, the last change of its actors, or later. */
uint64_t tnd_pages_last(uint64_t last_ns, const tnd_run_page_t *page);
/*  Whether the file of a killed process is removed: its last change is 10 minutes old, unknown, or
 *  from before the machine was started. */
bool tnd_pages_are_old(uint64_t last_ns, uint64_t now);
/*  Opens the file of a child, which the caller closes; -1: it has none, or none yet. */
int tnd_pages_open_child(int process);
/*  When the control thread of that process last began a round, in nanoseconds of the monotonic
 *  clock; 0: before its first and after its last one, and if the file cannot be read. */
uint64_t tnd_pages_beat(int file);
/*  Notes in the file of a child that a signal killed it.  The child has ended and is not reaped yet. */
void tnd_pages_note_death(int process, int number);
/*  Removes the files of killed processes of this run, which has ended. */
void tnd_pages_forget(const tnd_pages_t *self);

#endif
