/*  runtime/notes/epoch_metrics.c - what steps report, summed over the steps of an epoch. */
#include "runtime/notes/epoch_metrics.h"

#include <inttypes.h>
#include <string.h>

#include "runtime/core/numeric/hexadecimal.h"

/* --- one number ------------------------------------------------------------------------------- */

static uint64_t bits_of(double number)
{
    uint64_t bits;
    memcpy(&bits, &number, sizeof bits);
    return bits;
}

static double number_of(uint64_t bits)
{
    double number;
    memcpy(&number, &bits, sizeof number);
    return number;
}

size_t tnd_metric_print(const tnd_metric_t *self, char text[TND_METRIC_TEXT])
{
    const double numbers[] = {self->sum, self->weight};
    size_t used = 0, length = strlen(self->name);
    for (size_t i = 0; i < 2; i++) {
        tnd_hexadecimal_print(bits_of(numbers[i]), text + used);
        used += TND_HEXADECIMAL_DIGITS;
        text[used++] = ' ';
    }
    memcpy(text + used, self->name, length + 1);
    return used + length;
}

size_t tnd_metric_parse(tnd_metric_t *self, const char *text)
{
    static const char blanks[] = " \t\n";
    uint64_t bits[2];
    const char *at = text + strspn(text, blanks);
    for (size_t i = 0; i < 2; i++) {
        if (!tnd_hexadecimal_parse(at, &bits[i]))
            return 0;
        at += TND_HEXADECIMAL_DIGITS;
        if (strspn(at, blanks) == 0)
            return 0;
        at += strspn(at, blanks);
    }
    size_t length = strcspn(at, blanks);
    if (length == 0 || length >= TND_METRIC_NAME)
        return 0;
    *self = (tnd_metric_t){.sum = number_of(bits[0]), .weight = number_of(bits[1])};
    memcpy(self->name, at, length);
    return (size_t)(at - text) + length;
}

/* --- sums ------------------------------------------------------------------------------------- */

static void add(tnd_metric_sums_t *self, const tnd_metric_t *metric)
{
    for (uint32_t m = 0; m < self->count; m++)
        if (strcmp(self->of[m].name, metric->name) == 0) {
            self->of[m].sum += metric->sum;
            self->of[m].weight += metric->weight;
            return;
        }
    if (self->count < TND_METRICS_MAX)
        self->of[self->count++] = *metric;
}

void tnd_epoch_metrics_add(tnd_epoch_metrics_t *self, uint32_t epoch, bool last, uint64_t rows,
                           const tnd_metric_t *metrics, uint32_t count)
{
    if (epoch != self->latest.epoch)
        self->latest = (tnd_metric_sums_t){.epoch = epoch};
    self->latest.rows += rows;
    for (uint32_t m = 0; m < count; m++)
        add(&self->latest, &metrics[m]);
    if (last)
        self->ended = self->latest;
}

void tnd_epoch_metrics_lose(tnd_epoch_metrics_t *self, const tnd_cursor_t *cursor)
{
    *self = (tnd_epoch_metrics_t){0};
    if (cursor->epoch > 0)
        self->ended = (tnd_metric_sums_t){.epoch = cursor->epoch - 1, .partial = true};
    if (cursor->step_of_epoch > 0)
        self->latest = (tnd_metric_sums_t){.epoch = cursor->epoch, .partial = true};
    else
        self->latest = self->ended;
}

/* --- text ------------------------------------------------------------------------------------- */

void tnd_metric_sums_write(const tnd_metric_sums_t *self, FILE *out)
{
    char text[TND_METRIC_TEXT];
    fprintf(out, "%" PRIu32 " %" PRIu64 " %s", self->epoch, self->rows,
            self->partial ? "partial" : "whole");
    for (uint32_t m = 0; m < self->count; m++) {
        (void)tnd_metric_print(&self->of[m], text);
        fprintf(out, " %s", text);
    }
    fputc('\n', out);
}

void tnd_epoch_metrics_write(const tnd_epoch_metrics_t *self, FILE *out)
{
    fputs("metrics latest ", out);
    tnd_metric_sums_write(&self->latest, out);
    fputs("metrics ended ", out);
    tnd_metric_sums_write(&self->ended, out);
}

bool tnd_metric_sums_read(tnd_metric_sums_t *self, const char *text)
{
    tnd_metric_sums_t sums = {.epoch = 0};
    char whole[8];
    int used = 0;
    if (sscanf(text, "%" SCNu32 " %" SCNu64 " %7s%n", &sums.epoch, &sums.rows, whole, &used) != 3)
        return false;
    sums.partial = strcmp(whole, "partial") == 0;
    if (!sums.partial && strcmp(whole, "whole") != 0)
        return false;
    for (const char *at = text + used; *at != '\0'; at += used) {
        used = sums.count < TND_METRICS_MAX ? (int)tnd_metric_parse(&sums.of[sums.count++], at) : 0;
        if (used == 0)
            return false;
    }
    *self = sums;
    return true;
}

bool tnd_epoch_metrics_read(tnd_epoch_metrics_t *self, const char *text)
{
    if (strncmp(text, "latest ", 7) == 0)
        return tnd_metric_sums_read(&self->latest, text + 7);
    return strncmp(text, "ended ", 6) == 0 && tnd_metric_sums_read(&self->ended, text + 6);
}
