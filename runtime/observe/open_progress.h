/*  runtime/observe/open_progress.h - how far a host is with opening the data of an actor.
 *
 *  A source reports what it does, with which file, and how many files or bytes are done.  The host
 *  sends that to the leader, which shows it and names it if the host stops reporting.
 *
 *  Threads: any; plain values.  Units: nanoseconds. */
#ifndef TND_RUNTIME_OBSERVE_OPEN_PROGRESS_H
#define TND_RUNTIME_OBSERVE_OPEN_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

typedef struct {
    char actor[64];            /* whose data */
    char doing[24];            /* "indexing"; "": opening */
    char unit[24];             /* what is counted, "files"; "": nothing */
    uint64_t done, all;        /* of that unit; TND_UNKNOWN: it is not known how many there are */
    uint64_t bytes, bytes_all; /* the same in bytes; bytes_all 0: not reported */
    char file[160];            /* being opened, or the source that is; the end of a long path */
} tnd_open_progress_t;

/*  How fast it goes. */
typedef struct {
    uint64_t begun_ns; /* when `since` was the part that was done */
    double since;      /* negative: no part is known yet */
    uint64_t moved_ns; /* when more was done last */
    uint64_t moves;    /* how often, after that of `begun_ns` */
    uint64_t done, bytes;
} tnd_open_pace_t;

/*  Records a count: of "bytes", or of another unit. */
void tnd_open_progress_count(tnd_open_progress_t *self, uint64_t done, uint64_t all,
                             const char *unit);
/*  Records what is done with which file; NULL: as before. */
void tnd_open_progress_doing(tnd_open_progress_t *self, const char *doing, const char *file);

/*  The part that is done, from 0 to 1; negative: unknown. */
double tnd_open_progress_share(const tnd_open_progress_t *self);

/*  A line for another host / reads one; false: it is not one. */
void tnd_open_progress_write(const tnd_open_progress_t *self, FILE *out);
bool tnd_open_progress_read(tnd_open_progress_t *self, const char *line);

/*  The pace of what begins now, of which nothing is done yet if `since` is 0. */
tnd_open_pace_t tnd_open_pace(double since, uint64_t now);
/*  Takes what is done now; if that is less than before, something else has begun. */
void tnd_open_pace_note(tnd_open_pace_t *self, const tnd_open_progress_t *progress, uint64_t now);

/*  "indexing 3 of 16 files, 41 %, 2 min left", for people; in place of the time that is left, "no
 *  progress for 12 s" while nothing moves. */
void tnd_open_progress_print(const tnd_open_progress_t *self, const tnd_open_pace_t *pace,
                             uint64_t now, char *text, size_t room);
/*  "data/x.rec (3 of 16 files)", for errors. */
void tnd_open_progress_name(const tnd_open_progress_t *self, char *text, size_t room);

#endif
