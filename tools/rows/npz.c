/*  tools/rows/npz.c - writes arrays to a file that NumPy loads: a zip of .npy, not compressed. */
#include "tools/rows/npz.h"

#include <stdlib.h>
#include <string.h>

#include <archive.h>
#include <archive_entry.h>

#include "actors/stored/npy_header.h"
#include "runtime/base/allocation.h"
#include "tools/cli/output.h"

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

static bool put_array(struct archive *zip, const tnd_npz_array_t *array, const char *ending,
                      const tnd_column_t *column, uint64_t rows)
{
    char name[TND_COLUMN_NAME_MAX + 16], header[TND_NPY_HEADER_MAX];
    size_t header_size = tnd_npy_header(header, column, rows, 0);
    fflush(array->out);
    snprintf(name, sizeof name, "%s%s.npy", column->name, ending);
    struct archive_entry *entry = tnd_require_memory(archive_entry_new());
    archive_entry_set_pathname(entry, name);
    archive_entry_set_filetype(entry, AE_IFREG);
    archive_entry_set_size(entry, (int64_t)(header_size + array->size));
    bool written = archive_write_header(zip, entry) == ARCHIVE_OK &&
                   archive_write_data(zip, header, header_size) == (ssize_t)header_size &&
                   archive_write_data(zip, array->bytes, array->size) == (ssize_t)array->size;
    archive_entry_free(entry);
    return written;
}

static bool put_arrays(const tnd_npz_t *self, struct archive *zip)
{
    static const tnd_column_t step = {.name = "_step", .dtype = TND_I64};
    static const tnd_column_t replica = {.name = "_replica", .dtype = TND_I64};
    uint32_t count = self->schema.count;
    bool written = true;
    for (uint32_t c = 0; c < count && written; c++) {
        const tnd_column_t *column = &self->schema.columns[c];
        tnd_column_t splits = {.dtype = TND_I64};
        memcpy(splits.name, column->name, sizeof splits.name);
        written = put_array(zip, &self->arrays[c], "", column,
                            column->ragged ? self->values[c] : self->rows) &&
                  (!column->ragged ||
                   put_array(zip, &self->splits[c], ".splits", &splits, self->rows + 1));
    }
    return written && put_array(zip, &self->arrays[count], "", &step, self->rows) &&
           put_array(zip, &self->arrays[count + 1], "", &replica, self->rows);
}

/*  An error of `out` is reported when it is closed. */
static tnd_status_t write_all(const tnd_npz_t *self, FILE *out, tnd_error_t *error)
{
    struct archive *zip = tnd_require_memory(archive_write_new());
    tnd_status_t status = TND_OK;
    archive_write_set_format_zip(zip);
    archive_write_zip_set_compression_store(zip);
    archive_write_set_bytes_in_last_block(zip, 1); /* no padding */
    archive_write_open_FILE(zip, out);
    if (!(put_arrays(self, zip) && archive_write_close(zip) == ARCHIVE_OK) && ferror(out) == 0)
        status =
            tnd_fail(error, "%s: cannot be written: %s", self->path, archive_error_string(zip));
    archive_write_free(zip);
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
