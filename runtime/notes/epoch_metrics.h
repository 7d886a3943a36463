/*  runtime/notes/epoch_metrics.h - what steps report, summed over the steps of an epoch.
 *
 *  Each step is added to the sums of the steps before it.  A checkpoint stores the sums exactly, and
 *  a run that resumes continues them, so its means have the bits of a run that was not interrupted.
 *
 *  Lifecycle: zeroed, no end.  Threads: one at a time. */
#ifndef TND_RUNTIME_NOTES_EPOCH_METRICS_H
#define TND_RUNTIME_NOTES_EPOCH_METRICS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "runtime/core/stream/cursor.h"

enum { TND_METRICS_MAX = 16, TND_METRIC_NAME = 32, TND_METRIC_TEXT = 2 * 17 + TND_METRIC_NAME };

/*  A reported number: the weighted mean is sum / weight. */
typedef struct {
    char name[TND_METRIC_NAME];
    double sum, weight;
} tnd_metric_t;

/*  Writes "SUM WEIGHT NAME", the numbers as the hexadecimal digits of their bits: exact, and the
 *  same in every locale.  Returns the characters, fewer than TND_METRIC_TEXT. */
size_t tnd_metric_print(const tnd_metric_t *self, char text[TND_METRIC_TEXT]);
/*  Reads such text.  Returns the characters read; 0: it is something else, and *self is unchanged. */
size_t tnd_metric_parse(tnd_metric_t *self, const char *text);

/*  The weighted sums of one epoch. */
typedef struct {
    uint32_t epoch, count;
    tnd_metric_t of[TND_METRICS_MAX];
    uint64_t rows; /* that they include */
    bool partial;  /* an earlier run fed other rows of the epoch, and its checkpoint has no sums */
} tnd_metric_sums_t;

typedef struct {
    tnd_metric_sums_t latest; /* of the epoch of the last step */
    tnd_metric_sums_t
        ended; /* of the last epoch that ended; the same once the last step ended it */
} tnd_epoch_metrics_t;

/*  Adds a step of an epoch; `last`: it ends the epoch. */
void tnd_epoch_metrics_add(tnd_epoch_metrics_t *self, uint32_t epoch, bool last, uint64_t rows,
                           const tnd_metric_t *metrics, uint32_t count);
/*  Resumes from a checkpoint that has no sums. */
void tnd_epoch_metrics_lose(tnd_epoch_metrics_t *self, const tnd_cursor_t *cursor);

/*  Writes the rest of a line / reads it.  False: it is damaged. */
void tnd_metric_sums_write(const tnd_metric_sums_t *self, FILE *out);
bool tnd_metric_sums_read(tnd_metric_sums_t *self, const char *text);

/*  Writes lines that begin with the word `metrics`. */
void tnd_epoch_metrics_write(const tnd_epoch_metrics_t *self, FILE *out);
/*  Reads what follows that word in a line.  False: it is damaged. */
bool tnd_epoch_metrics_read(tnd_epoch_metrics_t *self, const char *text);

#endif
