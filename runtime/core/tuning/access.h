/*  runtime/core/tuning/access.h - decides how the bytes of files are brought into memory.
 *
 *  The plan, made when the files are open: mapped or read, and whether all bytes are loaded in
 *  large pieces.  The watch, while a mapped file is used: whether pages that were brought in are
 *  still in memory.  If not, each row is requested by itself, and large pieces, which would evict
 *  pages before they are used, are tried again only after a while.
 *
 *  Threads: one at a time. */
#ifndef TND_RUNTIME_CORE_TUNING_ACCESS_H
#define TND_RUNTIME_CORE_TUNING_ACCESS_H

#include <stdbool.h>
#include <stdint.h>

typedef enum {
    TND_ACCESS_AUTO, /* as the plan decides; file systems whose server may fail (nfs, smb, fuse) are read */
    TND_ACCESS_MAP, /* as pages of the file; nothing is copied */
    TND_ACCESS_READ /* copied by pread, so that a failure is an error and never a signal */
} tnd_access_t;

/*  The order in which rows are read. */
typedef enum {
    TND_PATTERN_FORWARD, /* from the first to the last */
    TND_PATTERN_SOME,    /* a part of them, at random */
    TND_PATTERN_ALL      /* all in each epoch, at random */
} tnd_access_pattern_t;

typedef struct {
    tnd_access_t asked;
    tnd_access_pattern_t pattern;
    uint64_t bytes;              /* of all files */
    uint64_t room;               /* that the page cache may use; UINT64_MAX: unknown */
    uint64_t files, descriptors; /* how many files, and how many may be open */
} tnd_access_case_t;

typedef struct {
    bool map;    /* else read */
    bool random; /* in another order than from the first row to the last */
    bool fits;   /* the page cache may have room for all of it */
    bool load;   /* read all of it in large pieces, beside what rows need */
    bool scarce; /* it would be read if there were enough descriptors */
} tnd_access_plan_t;

tnd_access_plan_t tnd_access_choose(const tnd_access_case_t *from);

typedef struct {
    bool by_rows; /* each row is requested by itself */
    uint32_t again, missed;
    uint64_t until, rest_ns; /* when to try large pieces again; the pause before it */
} tnd_access_watch_t;

void tnd_access_watch_init(tnd_access_watch_t *self, bool fits);
/*  `again` pieces were used that had been in memory before; `missed` of them had to be read from
 *  the disk again.  Returns whether by_rows has changed. */
bool tnd_access_watch_note(tnd_access_watch_t *self, uint32_t again, uint32_t missed, uint64_t now);
/*  Returns whether by_rows has changed, because it is time to try large pieces again. */
bool tnd_access_watch_tick(tnd_access_watch_t *self, uint64_t now);

#endif
