/*  tools/cli/number_text.c - numbers for people. */
#include "tools/cli/number_text.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>

const char *tnd_grouped(double value, char text[TND_NUMBER_TEXT])
{
    char digits[32];
    int count = snprintf(digits, sizeof digits, "%.0f", value), used = 0;
    for (int i = 0; i < count && used < TND_NUMBER_TEXT - 2; i++) {
        if (i > 0 && (count - i) % 3 == 0)
            text[used++] = ',';
        text[used++] = digits[i];
    }
    text[used] = '\0';
    return text;
}

const char *tnd_time_left_text(uint64_t epoch_ns, uint64_t run_ns, char text[TND_TIME_LEFT_TEXT])
{
    char epoch[TND_NUMBER_TEXT], run[TND_NUMBER_TEXT];
    bool both = epoch_ns != 0 && epoch_ns != run_ns && run_ns != 0;
    (void)tnd_time_text((double)epoch_ns * 1e-9, epoch);
    (void)tnd_time_text((double)run_ns * 1e-9, run);
    if (both)
        snprintf(text, TND_TIME_LEFT_TEXT, "epoch %s, run %s left", epoch, run);
    else if (run_ns != 0)
        snprintf(text, TND_TIME_LEFT_TEXT, "run %s left", run);
    else if (epoch_ns != 0)
        snprintf(text, TND_TIME_LEFT_TEXT, "epoch %s left", epoch);
    else
        text[0] = '\0';
    return text;
}

const char *tnd_time_text(double seconds, char text[TND_NUMBER_TEXT])
{
    uint64_t whole = seconds > 0 ? (uint64_t)(seconds + 0.5) : 0;
    if (whole >= 3600)
        snprintf(text, TND_NUMBER_TEXT, "%" PRIu64 ":%02" PRIu64 ":%02" PRIu64, whole / 3600,
                 whole / 60 % 60, whole % 60);
    else
        snprintf(text, TND_NUMBER_TEXT, "%" PRIu64 ":%02" PRIu64, whole / 60, whole % 60);
    return text;
}
