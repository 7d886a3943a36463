/*  actors/quarantine/quarantine.c - the bad records of one lane, set aside on disk.
 *
 *  The index is what counts: rows are synced before their lines are written, and rows that no
 *  complete line speaks of are cut off.  The header of a column's file has room for any number of
 *  rows, and is written again when there are more. */
#include "actors/quarantine/quarantine.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "actors/stored/npy_column.h"
#include "runtime/base/allocation.h"
#include "runtime/base/folder.h"
#include "runtime/data/file_lock.h"
#include "runtime/data/open_files.h"

struct tnd_quarantine {
    char folder[PATH_MAX];
    uint32_t lane;
    const tnd_schema_t *schema;
    int index; /* file; -1: not open */
    tnd_npy_column_t columns[TND_COLUMNS_MAX];
    uint64_t rows; /* in the columns */
    uint64_t index_bytes;
    bool named;   /* the names of the files are on the disk */
    uint8_t *row; /* room for the largest column of a row */
    FILE *lines;  /* not written yet: memory that grows */
    char *lines_text;
    size_t lines_bytes;
};

static tnd_status_t fail(const tnd_quarantine_t *self, const char *did, tnd_error_t *error)
{
    return tnd_fail(error,
                    "quarantine %s: it cannot be %s: %s; make room, or say another folder with "
                    "`quarantine:`",
                    self->folder, did, strerror(errno));
}

static tnd_status_t make_folders(const char *folder, tnd_error_t *error)
{
    if (tnd_folder_make(folder))
        return TND_OK;
    return tnd_fail(error, "quarantine %s: the folder cannot be made: %s; %s", folder,
                    strerror(errno), tnd_folder_advice(errno));
}

tnd_status_t tnd_quarantine_check(const char *folder, tnd_error_t *error)
{
    TND_TRY(make_folders(folder, error));
    char path[PATH_MAX];
    int used = snprintf(path, sizeof path, "%s/.tundish-XXXXXX", folder);
    int file = used > 0 && (size_t)used < sizeof path ? mkstemp(path) : -1;
    if (file < 0)
        return tnd_fail(error, "quarantine %s: files cannot be made in it: %s; %s", folder,
                        strerror(errno), tnd_folder_advice(errno));
    close(file);
    unlink(path);
    return TND_OK;
}

tnd_quarantine_t *tnd_quarantine_new(const char *folder, uint32_t lane, const tnd_schema_t *schema)
{
    tnd_quarantine_t *self = tnd_allocate_zeroed(1, sizeof *self);
    size_t most = 1;
    for (uint32_t i = 0; i < schema->count; i++)
        if (tnd_column_bytes(&schema->columns[i]) > most)
            most = tnd_column_bytes(&schema->columns[i]);
    self->row = tnd_allocate(1, most);
    snprintf(self->folder, sizeof self->folder, "%s", folder);
    self->lane = lane;
    self->schema = schema;
    self->index = -1;
    for (uint32_t i = 0; i < schema->count; i++)
        tnd_npy_column_init(&self->columns[i], &schema->columns[i]);
    return self;
}

/*  One that open_file has opened. */
static void close_file(int *file)
{
    if (*file >= 0) {
        close(*file);
        tnd_open_files_release(1);
    }
    *file = -1;
}

static void forget_lines(tnd_quarantine_t *self)
{
    if (self->lines != NULL)
        fclose(self->lines);
    free(self->lines_text);
    self->lines = NULL;
    self->lines_text = NULL;
    self->lines_bytes = 0;
}

void tnd_quarantine_destroy(tnd_quarantine_t **self_p)
{
    tnd_quarantine_t *self = *self_p;
    *self_p = NULL;
    if (self == NULL)
        return;
    close_file(&self->index);
    for (uint32_t i = 0; i < self->schema->count; i++) {
        close_file(&self->columns[i].file);
        close_file(&self->columns[i].splits);
    }
    forget_lines(self);
    free(self->row);
    free(self);
}

/* --- files ------------------------------------------------------------------------------------ */

enum { SPLITS_NAME = TND_COLUMN_NAME_MAX + sizeof "-splits" };

static const char *splits_name(const tnd_column_t *column, char name[SPLITS_NAME])
{
    snprintf(name, SPLITS_NAME, "%s-splits", column->name);
    return name;
}

/*  A name of a column may hold what a file's may not. */
static void path_of(const tnd_quarantine_t *self, const char *name, const char *ending, char *path)
{
    char safe[SPLITS_NAME];
    snprintf(safe, sizeof safe, "%s", name);
    for (char *at = safe; *at != '\0'; at++)
        if (*at == '/')
            *at = '_';
    snprintf(path, PATH_MAX + 128, "%s/%s.%u.%s", self->folder, safe, self->lane, ending);
}

static tnd_status_t write_at(const tnd_quarantine_t *self, int file, const void *data, size_t size,
                             uint64_t offset, tnd_error_t *error)
{
    for (size_t done = 0; done < size;) {
        ssize_t put =
            pwrite(file, (const uint8_t *)data + done, size - done, (off_t)(offset + done));
        if (put < 0 && errno == EINTR)
            continue;
        if (put <= 0)
            return fail(self, "written", error);
        done += (size_t)put;
    }
    return TND_OK;
}

static tnd_status_t open_file(const tnd_quarantine_t *self, const char *name, const char *ending,
                              bool make, int *file_p, tnd_error_t *error)
{
    char path[PATH_MAX + 128];
    if (*file_p >= 0)
        return TND_OK;
    path_of(self, name, ending, path);
    tnd_error_t why;
    if (tnd_open_files_reserve(1, &why) != TND_OK)
        return tnd_fail(error, "quarantine %s: %s", self->folder, why.text);
    *file_p = open(path, O_RDWR | O_CLOEXEC | (make ? O_CREAT : 0), 0666);
    int code = errno;
    if (*file_p < 0)
        tnd_open_files_release(1);
    errno = code;
    return *file_p >= 0 || (errno == ENOENT && !make) ? TND_OK : fail(self, "opened", error);
}

static tnd_status_t open_files(tnd_quarantine_t *self, bool make, tnd_error_t *error)
{
    TND_TRY(open_file(self, "index", "jsonl", make, &self->index, error));
    for (uint32_t i = 0; i < self->schema->count; i++) {
        const tnd_column_t *column = &self->schema->columns[i];
        char name[SPLITS_NAME];
        TND_TRY(open_file(self, column->name, "npy", make, &self->columns[i].file, error));
        if (column->ragged)
            TND_TRY(open_file(self, splits_name(column, name), "npy", make,
                              &self->columns[i].splits, error));
    }
    return TND_OK;
}

/*  Runs that share a folder would cut off each other's records. */
static tnd_status_t hold(const tnd_quarantine_t *self, tnd_error_t *error)
{
    pid_t holder;
    if (tnd_file_lock(self->index, &holder))
        return TND_OK;
    return tnd_fail(
        error,
        "quarantine %s: another run, of process %d, writes to the index of lane %u: end "
        "it first, or say another folder with `quarantine:`",
        self->folder, (int)holder, self->lane);
}

/* --- going back ------------------------------------------------------------------------------- */

/*  The number after `"name":` in a line of the index; false: none, or null. */
static bool number_of(const char *line, const char *name, uint64_t *value_p)
{
    char key[32];
    snprintf(key, sizeof key, "\"%s\":", name);
    const char *at = strstr(line, key);
    return at != NULL && sscanf(at + strlen(key), "%" SCNu64, value_p) == 1;
}

/*  The end of the lines of positions before `from`, and the rows that they have. */
static tnd_status_t find_end(const tnd_quarantine_t *self, tnd_position_t from, uint64_t *end_p,
                             uint64_t *rows_p, tnd_error_t *error)
{
    char *line = NULL;
    size_t room = 0;
    int copy = dup(self->index);
    FILE *in = copy >= 0 ? fdopen(copy, "r") : NULL;
    *end_p = *rows_p = 0;
    if (in == NULL) {
        tnd_status_t status = fail(self, "read", error);
        if (copy >= 0)
            close(copy);
        return status;
    }
    rewind(in);
    for (ssize_t size; (size = getline(&line, &room, in)) > 0 && line[size - 1] == '\n';) {
        uint64_t epoch = 0, index = 0, row = 0;
        bool whole = number_of(line, "epoch", &epoch) && number_of(line, "position", &index);
        tnd_position_t place = {.index = index, .epoch = (uint32_t)epoch};
        if (!whole || tnd_position_compare(place, from) >= 0)
            break;
        *end_p += (uint64_t)size;
        if (number_of(line, "row", &row))
            *rows_p = row + 1;
    }
    free(line);
    fclose(in);
    return TND_OK;
}

static tnd_status_t cut_file(const tnd_quarantine_t *self, int file, uint64_t size,
                             tnd_error_t *error)
{
    return ftruncate(file, (off_t)size) == 0 && fsync(file) == 0 ? TND_OK
                                                                 : fail(self, "cut", error);
}

static void forget(tnd_quarantine_t *self, const char *name, const char *ending, int *file)
{
    char path[PATH_MAX + 128];
    path_of(self, name, ending, path);
    close_file(file);
    (void)unlink(path);
}

/*  Nothing is left: no files, rather than files of no rows, which few programs read. */
static void clear(tnd_quarantine_t *self)
{
    forget(self, "index", "jsonl", &self->index);
    for (uint32_t i = 0; i < self->schema->count; i++) {
        const tnd_column_t *column = &self->schema->columns[i];
        char name[SPLITS_NAME];
        forget(self, column->name, "npy", &self->columns[i].file);
        if (column->ragged)
            forget(self, splits_name(column, name), "npy", &self->columns[i].splits);
    }
}

tnd_status_t tnd_quarantine_cut(tnd_quarantine_t *self, tnd_position_t from, tnd_error_t *error)
{
    self->rows = self->index_bytes = 0;
    for (uint32_t i = 0; i < self->schema->count; i++)
        self->columns[i].rows = self->columns[i].values = 0;
    forget_lines(self);
    TND_TRY(open_files(self, false, error));
    if (self->index >= 0)
        TND_TRY(find_end(self, from, &self->index_bytes, &self->rows, error));
    if (self->index >= 0)
        TND_TRY(hold(self, error));
    if (self->index_bytes == 0) {
        clear(self);
        return TND_OK;
    }
    TND_TRY(cut_file(self, self->index, self->index_bytes, error));
    for (uint32_t i = 0; i < self->schema->count && self->rows > 0; i++) {
        bool has = false;
        if (!tnd_npy_column_cut(&self->columns[i], self->rows, &has))
            return fail(self, "cut", error);
        if (!has)
            return tnd_fail(error,
                            "quarantine %s: column `%s` has fewer rows than its index of lane %u "
                            "speaks of; put it back, or say another folder with `quarantine:`",
                            self->folder, self->schema->columns[i].name, self->lane);
    }
    return TND_OK;
}

/* --- adding ----------------------------------------------------------------------------------- */

static void put_text(FILE *out, const char *text)
{
    fputc('"', out);
    for (const unsigned char *at = (const unsigned char *)text; *at != '\0'; at++) {
        if (*at == '"' || *at == '\\')
            fprintf(out, "\\%c", *at);
        else if (*at < 0x20)
            fprintf(out, "\\u%04x", *at);
        else
            fputc(*at, out);
    }
    fputc('"', out);
}

static void add_line(tnd_quarantine_t *self, const tnd_quarantine_place_t *place, bool has_row,
                     const char *who, const char *what)
{
    if (self->lines == NULL)
        self->lines = tnd_memory_stream(&self->lines_text, &self->lines_bytes);
    FILE *out = self->lines;
    fprintf(out,
            "{\"lane\":%u,\"epoch\":%u,\"position\":%" PRIu64 ",\"sample\":%" PRIu64 ",\"file\":",
            self->lane, place->position.epoch, place->position.index, place->sample);
    if (place->file != NULL)
        put_text(out, place->file);
    else
        fputs("null", out);
    fprintf(out, ",\"record\":%" PRIu64 ",\"offset\":%" PRIu64 ",\"row\":", place->record,
            place->offset);
    if (has_row)
        fprintf(out, "%" PRIu64, self->rows - 1);
    else
        fputs("null", out);
    fputs(",\"found_by\":", out);
    put_text(out, who);
    fputs(",\"reason\":", out);
    put_text(out, what);
    fputs("}\n", out);
}

tnd_status_t tnd_quarantine_add(tnd_quarantine_t *self, const tnd_quarantine_place_t *place,
                                const tnd_block_t *block, const char *who, const char *what,
                                tnd_error_t *error)
{
    TND_TRY(make_folders(self->folder, error));
    bool opened = self->index >= 0;
    self->named = self->named && opened;
    TND_TRY(open_files(self, true, error));
    if (!opened)
        TND_TRY(hold(self, error));
    for (uint32_t i = 0; block != NULL && i < self->schema->count; i++) {
        size_t bytes = tnd_block_copy(block, i, 0, 1, self->row);
        TND_TRY(tnd_block_intact(block, 0, 1, error));
        const uint64_t *length = block->columns[i].lengths;
        if (!tnd_npy_column_add(&self->columns[i], self->row, bytes, length != NULL ? *length : 0))
            return fail(self, "written", error);
    }
    self->rows += block != NULL;
    add_line(self, place, block != NULL, who, what);
    return TND_OK;
}

tnd_status_t tnd_quarantine_sync(tnd_quarantine_t *self, tnd_error_t *error)
{
    if (self->lines == NULL)
        return TND_OK;
    fflush(self->lines);
    for (uint32_t i = 0; i < self->schema->count && self->rows > 0; i++) {
        tnd_npy_column_t *column = &self->columns[i];
        if (!tnd_npy_column_complete(column) || fdatasync(column->file) != 0 ||
            (column->splits >= 0 && fdatasync(column->splits) != 0))
            return fail(self, "written", error);
    }
    if (!self->named && !tnd_folder_sync(self->folder))
        return fail(self, "written", error);
    self->named = true;
    TND_TRY(
        write_at(self, self->index, self->lines_text, self->lines_bytes, self->index_bytes, error));
    if (fdatasync(self->index) != 0)
        return fail(self, "written", error);
    self->index_bytes += self->lines_bytes;
    forget_lines(self);
    return TND_OK;
}
