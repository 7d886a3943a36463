/*  runtime/life/stream.c - what is known of a chain's stream. */
#include "runtime/life/stream.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

uint64_t tnd_stream_lane_count(const tnd_stream_t *self, uint32_t lane)
{
    if (self->count == TND_UNKNOWN)
        return TND_UNKNOWN;
    return (self->count + self->lanes - 1 - lane) / self->lanes;
}

void tnd_stream_write(const tnd_stream_t *self, FILE *out)
{
    fprintf(out, "stream %" PRIu32 " %" PRIu64 " %" PRIu64 "\n", self->chain, self->count,
            self->data);
    for (uint32_t c = 0; c < self->read.count; c++) {
        const tnd_column_t *column = &self->read.columns[c];
        fprintf(out, "column %s %" PRIu32, tnd_dtype_name(column->dtype), column->rank);
        for (uint32_t d = 0; d < column->rank; d++)
            fprintf(out, " %" PRIu64, column->shape[d]);
        fprintf(out, " %s\n", column->name);
    }
}

static tnd_status_t read_column(tnd_stream_t *stream, const char *text, tnd_error_t *error)
{
    char type[16];
    uint32_t rank;
    int used;
    tnd_dtype_t dtype;
    if (sscanf(text, "column %15s %" SCNu32 "%n", type, &rank, &used) != 2 ||
        !tnd_dtype_parse(type, &dtype) || rank > TND_RANK_MAX)
        return tnd_fail(error, "facts of a stream: not a column: '%s'", text);
    uint64_t shape[TND_RANK_MAX];
    for (uint32_t d = 0; d < rank; d++) {
        int more;
        if (sscanf(text + used, " %" SCNu64 "%n", &shape[d], &more) != 1)
            return tnd_fail(error, "facts of a stream: not a shape: '%s'", text);
        used += more;
    }
    if (text[used] != ' ')
        return tnd_fail(error, "facts of a stream: a column without a name: '%s'", text);
    return tnd_schema_add(&stream->read, text + used + 1, dtype, rank, shape, error);
}

tnd_status_t tnd_stream_read(tnd_stream_t *self, const char *line, tnd_error_t *error)
{
    if (strncmp(line, "stream ", 7) == 0) {
        if (sscanf(line, "stream %" SCNu32 " %" SCNu64 " %" SCNu64, &self->chain, &self->count,
                   &self->data) != 3)
            return tnd_fail(error, "facts of a stream: not understood: '%s'", line);
        memset(&self->read, 0, sizeof self->read);
        return TND_OK;
    }
    return read_column(self, line, error);
}

tnd_status_t tnd_stream_agree(const tnd_stream_t *self, const char *self_host,
                              const tnd_stream_t *other, const char *other_host, tnd_error_t *error)
{
    tnd_error_t detail;
    if (tnd_schema_compare(&self->read, &other->read, &detail) != TND_OK)
        return tnd_fail(error, "hosts %s and %s read different data: %.300s", self_host, other_host,
                        detail.text);
    if (self->count != other->count)
        return tnd_fail(error,
                        "hosts %s and %s read different data: %" PRIu64 " rows and %" PRIu64
                        " rows; give both the same files",
                        self_host, other_host, self->count, other->count);
    if (self->data != other->data)
        return tnd_fail(error,
                        "hosts %s and %s read different data: as many rows, but other content; "
                        "give both the same files",
                        self_host, other_host);
    return TND_OK;
}
