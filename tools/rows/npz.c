/*  tools/rows/npz.c - writes arrays to a file that NumPy loads: a zip of .npy, not compressed. */
#include "tools/rows/npz.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "actors/stored/npy_header.h"
#include "runtime/base/allocation.h"
#include "tools/cli/output.h"

/*  Sizes from the zip specification: the local header of a file, and its entry in the directory. */
enum {
    LOCAL = 0x04034b50,
    CENTRAL = 0x02014b50,
    END = 0x06054b50,
    VERSION = 20,
    DATE_1980 = 0x21,
    LOCAL_BYTES = 30,  /* and the name */
    CENTRAL_BYTES = 46 /* and the name */
};

typedef struct {
    char name[TND_COLUMN_NAME_MAX + 16], header[TND_NPY_HEADER_MAX];
    const tnd_npz_array_t *array;
    size_t header_size;
    uint32_t crc, size, offset;
} entry_t;

static void open_array(tnd_npz_array_t *array)
{
    array->out = tnd_memory_stream(&array->bytes, &array->size);
}

void tnd_npz_begin(tnd_npz_t *self, const char *path, const tnd_schema_t *schema)
{
    *self = (tnd_npz_t){.path = path, .schema = *schema};
    for (uint32_t a = 0; a < schema->count + 2; a++)
        open_array(&self->arrays[a]);
    for (uint32_t c = 0; c < schema->count; c++)
        if (schema->columns[c].ragged) {
            open_array(&self->splits[c]);
            fwrite(&self->values[c], sizeof self->values[c], 1, self->splits[c].out);
        }
}

/*  The rows of one column of one replica. */
static void add_column(tnd_npz_t *self, const tnd_capture_t *capture, uint32_t r, uint32_t c)
{
    const tnd_capture_replica_t *replica = &capture->replicas[r];
    size_t size = tnd_dtype_size(self->schema.columns[c].dtype);
    fwrite(replica->columns[c], size, tnd_capture_elements(capture, r, c), self->arrays[c].out);
    for (uint64_t row = 0; replica->splits[c] != NULL && row < replica->rows; row++) {
        self->values[c] += replica->splits[c][row + 1] - replica->splits[c][row];
        fwrite(&self->values[c], sizeof self->values[c], 1, self->splits[c].out);
    }
}

void tnd_npz_add(tnd_npz_t *self, const tnd_capture_t *capture)
{
    for (uint32_t r = 0; r < capture->replica_count; r++) {
        const tnd_capture_replica_t *replica = &capture->replicas[r];
        for (uint32_t c = 0; c < self->schema.count; c++)
            add_column(self, capture, r, c);
        for (uint64_t i = 0; i < replica->rows; i++) {
            int64_t step = (int64_t)replica->step, number = r;
            fwrite(&step, sizeof step, 1, self->arrays[self->schema.count].out);
            fwrite(&number, sizeof number, 1, self->arrays[self->schema.count + 1].out);
        }
        self->rows += replica->rows;
    }
}

static void put16(FILE *out, uint32_t value)
{
    fputc((int)(value & 0xff), out);
    fputc((int)(value >> 8 & 0xff), out);
}

static void put32(FILE *out, uint32_t value)
{
    put16(out, value & 0xffff);
    put16(out, value >> 16);
}

/*  The common part of local and central header. */
static void put_common(FILE *out, const entry_t *entry)
{
    put16(out, VERSION);
    put16(out, 0); /* flags */
    put16(out, 0); /* stored */
    put16(out, 0); /* time */
    put16(out, DATE_1980);
    put32(out, entry->crc);
    put32(out, entry->size);
    put32(out, entry->size);
    put16(out, (uint32_t)strlen(entry->name));
    put16(out, 0); /* extra */
}

/*  The position of the data after an entry, counted because a pipe has none. */
static uint32_t end_of(const entry_t *entry)
{
    return entry->offset + LOCAL_BYTES + (uint32_t)strlen(entry->name) + entry->size;
}

static void put_directory(FILE *out, const entry_t *entries, uint32_t count, uint32_t begin)
{
    uint32_t size = 0;
    for (uint32_t e = 0; e < count; e++) {
        put32(out, CENTRAL);
        put16(out, VERSION);
        put_common(out, &entries[e]);
        put16(out, 0); /* comment */
        put16(out, 0); /* disk */
        put16(out, 0); /* attributes */
        put32(out, 0);
        put32(out, entries[e].offset);
        fputs(entries[e].name, out);
        size += CENTRAL_BYTES + (uint32_t)strlen(entries[e].name);
    }
    put32(out, END);
    put32(out, 0); /* disks */
    put16(out, count);
    put16(out, count);
    put32(out, size);
    put32(out, begin);
    put16(out, 0);
}

static void put_entry(FILE *out, entry_t *entry)
{
    const tnd_npz_array_t *array = entry->array;
    entry->size = (uint32_t)(entry->header_size + array->size);
    uLong crc = crc32_z(0, (const Bytef *)entry->header, entry->header_size);
    entry->crc = (uint32_t)crc32_z(crc, (const Bytef *)array->bytes, array->size);
    put32(out, LOCAL);
    put_common(out, entry);
    fputs(entry->name, out);
    fwrite(entry->header, 1, entry->header_size, out);
    fwrite(array->bytes, 1, array->size, out);
}

static void list_array(entry_t *entry, const tnd_npz_array_t *array, const char *name,
                       const char *ending, const tnd_column_t *column, uint64_t rows)
{
    fflush(array->out);
    entry->array = array;
    snprintf(entry->name, sizeof entry->name, "%s%s.npy", name, ending);
    entry->header_size = tnd_npy_header(entry->header, column, rows, 0);
}

/*  Writes the headers of all arrays; returns their number. */
static uint32_t list_entries(tnd_npz_t *self, entry_t *entries)
{
    static const tnd_column_t number = {.dtype = TND_I64};
    entry_t *entry = entries;
    for (uint32_t a = 0; a < self->schema.count; a++) {
        const tnd_column_t *column = &self->schema.columns[a];
        list_array(entry++, &self->arrays[a], column->name, "", column,
                   column->ragged ? self->values[a] : self->rows);
        if (column->ragged)
            list_array(entry++, &self->splits[a], column->name, ".splits", &number, self->rows + 1);
    }
    list_array(entry++, &self->arrays[self->schema.count], "_step", "", &number, self->rows);
    list_array(entry++, &self->arrays[self->schema.count + 1], "_replica", "", &number, self->rows);
    return (uint32_t)(entry - entries);
}

static tnd_status_t write_all(tnd_npz_t *self, FILE *out, tnd_error_t *error)
{
    entry_t *entries = tnd_allocate_zeroed(2 * (size_t)self->schema.count + 2, sizeof *entries);
    uint64_t total = 0;
    uint32_t count = list_entries(self, entries);
    for (uint32_t e = 0; e < count; e++)
        total += entries[e].array->size + 2 * sizeof(entry_t);
    uint32_t at = 0;
    tnd_status_t status = TND_OK;
    if (total >= UINT32_MAX) {
        status = tnd_fail(error, "%s: %" PRIu64 " bytes are more than such a file can hold (4 GiB)",
                          self->path, total);
    } else {
        for (uint32_t e = 0; e < count; e++) {
            entries[e].offset = at;
            put_entry(out, &entries[e]);
            at = end_of(&entries[e]);
        }
        put_directory(out, entries, count, at);
    }
    free(entries);
    return status;
}

tnd_status_t tnd_npz_end(tnd_npz_t *self, tnd_error_t *error)
{
    tnd_output_t output;
    tnd_status_t status = tnd_output_open(&output, self->path, error);
    if (status == TND_OK) {
        status = write_all(self, output.out, error);
        if (status == TND_OK)
            status = tnd_output_close(&output, error);
        else
            tnd_output_abandon(&output);
    }
    tnd_npz_abandon(self);
    return status;
}

static void close_array(tnd_npz_array_t *array)
{
    if (array->out == NULL)
        return;
    fclose(array->out);
    free(array->bytes);
    array->out = NULL;
}

void tnd_npz_abandon(tnd_npz_t *self)
{
    for (uint32_t a = 0; a < TND_COLUMNS_MAX + 2; a++)
        close_array(&self->arrays[a]);
    for (uint32_t c = 0; c < TND_COLUMNS_MAX; c++)
        close_array(&self->splits[c]);
}
