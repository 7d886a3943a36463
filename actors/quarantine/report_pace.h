/*  actors/quarantine/report_pace.h - which bad records are reported one by one.
 *
 *  All bad records are counted.  The first few, and the first of each reason, are shown in the log.
 *  Later ones are kept for inspection at most once a second.
 *
 *  Threads: one.  Units: nanoseconds. */
#ifndef TND_ACTORS_QUARANTINE_REPORT_PACE_H
#define TND_ACTORS_QUARANTINE_REPORT_PACE_H

#include <stdint.h>

enum { TND_REPORT_PACE_SHOWN = 8, TND_REPORT_PACE_REASONS = 8 };

/*  Zeroed: nothing was reported. */
typedef struct {
    uint32_t shown; /* whatever their reasons */
    uint32_t reason_count;
    char reasons[TND_REPORT_PACE_REASONS][96];
    uint64_t last_ns; /* when a record was last reported */
} tnd_report_pace_t;

typedef enum {
    TND_REPORT_COUNTED,   /* not reported */
    TND_REPORT_KEPT,      /* reported, but not shown in the log */
    TND_REPORT_SHOWN,     /* in the log */
    TND_REPORT_SHOWN_LAST /* likewise, and later ones are shown only for a new reason */
} tnd_report_way_t;

/*  What is done about a bad record that `who`, an actor and operation, found now. */
tnd_report_way_t tnd_report_pace_take(tnd_report_pace_t *self, const char *who, uint64_t now);

#endif
