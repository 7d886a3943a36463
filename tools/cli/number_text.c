/*  tools/cli/number_text.c - numbers for people. */
#include "tools/cli/number_text.h"

#include <inttypes.h>
#include <stdint.h>
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
