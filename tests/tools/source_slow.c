/*  tests/tools/source_slow.c - a source that takes long to open: `{plugin: slow, file: FILE}`.
 *
 *  It opens for `ms` milliseconds, or until the file `gate` is there, and reports progress of 100
 *  parts meanwhile; with `reports`, only so many times.  Then it gives 100 rows.  A process of its
 *  own writes its number to `FILE.PID` when it begins. */
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <tundish/tundish.h>
#include <unistd.h>

enum { ROWS = 100, PARTS = 100 };

typedef struct {
    int unused;
} slow_t;

static void wait_ms(uint64_t ms)
{
    const struct timespec time = {.tv_sec = (time_t)(ms / 1000),
                                  .tv_nsec = (long)(ms % 1000 * 1000000)};
    nanosleep(&time, NULL);
}

static tnd_status_t slow_open(void *state, void *shared, const char *options,
                              const tnd_source_context_t *context, tnd_source_data_t *data,
                              tnd_error_t *error)
{
    char file[512] = "", gate[512] = "", begun[600];
    uint64_t ms = 0, reports = UINT64_MAX;
    (void)state, (void)shared;
    if (tnd_option_only(options, "file ms gate reports", error) != TND_OK ||
        tnd_option_text(options, "file", file, sizeof file, error) != TND_OK ||
        tnd_option_text(options, "gate", gate, sizeof gate, error) != TND_OK ||
        tnd_option_u64(options, "ms", &ms, error) != TND_OK ||
        tnd_option_u64(options, "reports", &reports, error) != TND_OK)
        return TND_FAILED;
    snprintf(begun, sizeof begun, "%s.%d", file, (int)getpid());
    FILE *out = fopen(begun, "w");
    if (out != NULL)
        fclose(out);
    uint64_t part = ms / PARTS > 0 ? ms / PARTS : 20;
    for (uint64_t i = 1; gate[0] != '\0' ? access(gate, F_OK) != 0 : i <= PARTS && ms > 0; i++) {
        wait_ms(part);
        if (i <= reports)
            context->progress(context->reporter, i < PARTS ? i : PARTS - 1, PARTS, "parts");
    }
    data->count = ROWS;
    data->identity = ROWS;
    return tnd_schema_add(&data->schema, "x", TND_F32, 0, NULL, error);
}

static tnd_status_t slow_read(void *state, const uint64_t *index, size_t count, tnd_rows_t *rows,
                              tnd_error_t *error)
{
    (void)state, (void)error;
    for (rows->count = 0; rows->count < count; rows->count++)
        *(float *)tnd_rows_at(rows, 0, rows->count) = (float)index[rows->count];
    return TND_OK;
}

extern TND_API const tnd_source_ops_t tnd_source_slow;
const tnd_source_ops_t tnd_source_slow = {
    .abi = TND_ABI,
    .name = "slow",
    .caps = TND_SOURCE_RANDOM | TND_SOURCE_REWINDS,
    .state_bytes = sizeof(slow_t),
    .open = slow_open,
    .read = slow_read,
};
