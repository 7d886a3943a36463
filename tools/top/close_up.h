/*  tools/top/close_up.h - what `tundish top` shows of one actor when it is opened.
 *
 *  Histograms, operations, the file that is read and options come from an inspection; threads and
 *  events are read from the system and from the event rings of this machine.
 *
 *  Ownership: the caller's; tnd_top_close_up_destroy frees it.  Threads: one. */
#ifndef TND_TOOLS_TOP_CLOSE_UP_H
#define TND_TOOLS_TOP_CLOSE_UP_H

#include "runtime/observe/inspection.h"

enum {
    TND_CLOSE_UP_OCTAVES = 31, /* the first one ends at 1,024 ns, each other one at twice that */
    TND_CLOSE_UP_TIMINGS = TND_TIMINGS * (1 + TND_PAGE_DEVICES),
    TND_CLOSE_UP_EVENTS = 10
};

/*  How long a part of the work took since the actor started. */
typedef struct {
    char name[48]; /* "service", "cpu:0 step" */
    uint64_t count;
    double p50, p90, p99, p999, most; /* seconds */
    uint64_t octaves[TND_CLOSE_UP_OCTAVES];
} tnd_top_timing_t;

typedef struct {
    char name[72];
    double seconds; /* of a block */
} tnd_top_operation_t;

typedef struct {
    char actor[48];
    tnd_top_timing_t timings[TND_CLOSE_UP_TIMINGS];
    uint32_t timing_count;
    tnd_top_operation_t operations[TND_DETAIL_OPERATIONS];
    uint32_t operation_count;
    char file[8 * TND_DETAIL_FILE_WORDS]; /* "": it reads none */
    uint64_t record, offset;
    char options[2072];
    char *threads; /* a line each, as the kernel describes them; "": not on this machine */
    char *events;  /* the last ones, a line each; times are relative to the look */
} tnd_top_close_up_t;

/*  Of an actor of the run of `process`, which is one of `look`.  NULL if the inspection has no
 *  details of it. */
tnd_top_close_up_t *tnd_top_close_up_new(const tnd_inspection_t *look,
                                         const tnd_inspected_t *process, const char *actor);
void tnd_top_close_up_destroy(tnd_top_close_up_t **self_p);

#endif
