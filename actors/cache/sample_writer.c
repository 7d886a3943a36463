/*  actors/cache/sample_writer.c - writes the rows of samples to a folder. */
#include "actors/cache/sample_writer.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "actors/cache/sample_files.h"
#include "actors/stored/chunk_hashes.h"
#include "actors/stored/npy_column.h"
#include "runtime/base/allocation.h"
#include "runtime/base/folder.h"

#define WRITING ".writing-"

enum { PENDING_BYTES = 1 << 18, ATTEMPTS = 100 };

/*  What is known of a sample besides its rows. */
enum { NOT_SEEN = -1, SKIPPED = -2 };

struct tnd_sample_writer {
    const tnd_schema_t *schema;
    char *folder, *draft; /* its name, and the one it has until then; NULL: it has its name */
    int lock;             /* the descriptor of the folder, locked */
    tnd_npy_column_t columns[TND_COLUMNS_MAX];
    /*  Of the index; then of each column, and of its splits if it is ragged. */
    tnd_chunk_hasher_t *hashers[1 + 2 * TND_COLUMNS_MAX];
    size_t hasher_count;
    int64_t (*index)[2]; /* by sample: its first row or one of the above, how many */
    uint64_t samples, seen, needed, limit, used;
    int64_t rows;
    uint64_t positions, covered; /* of `epoch` */
    uint32_t epoch;
    uint8_t *is_covered; /* a bit each */
};

static tnd_status_t fail(const tnd_sample_writer_t *self, tnd_error_t *error)
{
    return tnd_fail(error, "%s: the store cannot be written: %s; %s", self->folder, strerror(errno),
                    tnd_folder_advice(errno));
}

/* --- the folder ------------------------------------------------------------------------------- */

/*  The folder that has `path`, and its name there; the caller frees both. */
static void divide(const char *path, char **parent_p, char **name_p)
{
    char *copy = tnd_copy_string(path);
    *parent_p = tnd_copy_string(dirname(copy));
    free(copy);
    copy = tnd_copy_string(path);
    *name_p = tnd_copy_string(basename(copy));
    free(copy);
}

/*  Removes a folder unless a process has locked it. */
static bool remove_unlocked(const char *path)
{
    int file = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    bool unlocked = file >= 0 && flock(file, LOCK_EX | LOCK_NB) == 0;
    if (unlocked)
        tnd_folder_remove(path);
    if (file >= 0)
        close(file);
    return unlocked;
}

static uint32_t remove_left(const char *folder)
{
    char *parent, *name;
    uint32_t count = 0;
    divide(folder, &parent, &name);
    DIR *list = opendir(parent);
    size_t length = strlen(name);
    for (struct dirent *entry; list != NULL && (entry = readdir(list)) != NULL;) {
        if (strncmp(entry->d_name, name, length) != 0 ||
            strncmp(entry->d_name + length, WRITING, strlen(WRITING)) != 0)
            continue;
        char *path = tnd_format_string("%s/%s", parent, entry->d_name);
        count += remove_unlocked(path);
        free(path);
    }
    if (list != NULL)
        closedir(list);
    free(parent);
    free(name);
    return count;
}

/*  Another process may find the new folder before it is locked, and remove it. */
static bool lock_draft(tnd_sample_writer_t *self)
{
    struct stat made, there;
    self->lock = open(self->draft, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    return self->lock >= 0 && flock(self->lock, LOCK_EX | LOCK_NB) == 0 &&
           fstat(self->lock, &made) == 0 && stat(self->draft, &there) == 0 &&
           made.st_ino == there.st_ino;
}

/*  Other processes, on other machines too, may have folders of these names. */
static bool make_draft(tnd_sample_writer_t *self)
{
    for (int attempt = 0; attempt < ATTEMPTS; attempt++) {
        self->draft = tnd_format_string("%s" WRITING "%d-%d", self->folder, (int)getpid(), attempt);
        bool made = mkdir(self->draft, 0777) == 0;
        if (made && lock_draft(self))
            return true;
        int code = errno;
        if (self->lock >= 0)
            close(self->lock);
        self->lock = -1;
        free(self->draft);
        self->draft = NULL;
        errno = code;
        if (!made && code != EEXIST)
            return false;
    }
    return false;
}

static int create(const tnd_sample_writer_t *self, uint32_t column, const char *part)
{
    char *path = tnd_sample_files_column(self->draft, self->schema, column, part);
    int file = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    free(path);
    return file;
}

static tnd_chunk_hasher_t *add_hasher(tnd_sample_writer_t *self)
{
    return self->hashers[self->hasher_count++] = tnd_chunk_hasher_new();
}

static bool create_all(tnd_sample_writer_t *self)
{
    bool created = true;
    (void)add_hasher(self);
    for (uint32_t c = 0; c < self->schema->count; c++) {
        const tnd_column_t *column = &self->schema->columns[c];
        tnd_npy_column_t *out = &self->columns[c];
        tnd_npy_column_init(out, column);
        tnd_npy_column_collect(out);
        out->pending.hasher = add_hasher(self);
        if (column->ragged)
            out->pending_splits.hasher = add_hasher(self);
        if (!created)
            continue;
        out->file = create(self, c, column->ragged ? "values" : NULL);
        if (column->ragged)
            out->splits = create(self, c, "splits");
        created = out->file >= 0 && (!column->ragged || out->splits >= 0);
    }
    return created;
}

static bool make_parent(const char *folder)
{
    char *parent, *name;
    divide(folder, &parent, &name);
    bool made = tnd_folder_make(parent);
    int code = errno;
    free(parent);
    free(name);
    errno = code;
    return made;
}

tnd_status_t tnd_sample_writer_open(tnd_sample_writer_t **self_p,
                                    const tnd_sample_writer_config_t *config, uint32_t *left_p,
                                    tnd_error_t *error)
{
    tnd_sample_writer_t *self = tnd_allocate_zeroed(1, sizeof *self);
    *self_p = self;
    self->schema = config->schema;
    self->folder = tnd_copy_string(config->folder);
    self->lock = -1;
    self->samples = config->samples;
    self->needed = config->needed;
    self->positions = config->positions;
    self->limit = config->limit;
    self->index = tnd_allocate(config->samples + 1, sizeof *self->index);
    for (uint64_t i = 0; i < config->samples; i++) {
        self->index[i][0] = NOT_SEEN;
        self->index[i][1] = 0;
    }
    self->is_covered = tnd_allocate_zeroed(config->positions / 8 + 1, 1);
    *left_p = 0;
    bool made = make_parent(self->folder);
    if (made)
        *left_p = remove_left(self->folder);
    if (made && make_draft(self) && create_all(self))
        return TND_OK;
    tnd_status_t status = fail(self, error);
    tnd_sample_writer_close(self_p);
    return status;
}

void tnd_sample_writer_close(tnd_sample_writer_t **self_p)
{
    tnd_sample_writer_t *self = *self_p;
    *self_p = NULL;
    if (self == NULL)
        return;
    for (uint32_t c = 0; c < self->schema->count && self->columns[c].column != NULL; c++) {
        tnd_npy_column_t *column = &self->columns[c];
        if (column->file >= 0)
            close(column->file);
        if (column->splits >= 0)
            close(column->splits);
        tnd_npy_column_free(column);
    }
    for (size_t i = 0; i < self->hasher_count; i++)
        tnd_chunk_hasher_destroy(&self->hashers[i]);
    if (self->draft != NULL)
        tnd_folder_remove(self->draft);
    if (self->lock >= 0)
        close(self->lock);
    free(self->draft);
    free(self->folder);
    free(self->index);
    free(self->is_covered);
    free(self);
}

uint64_t tnd_sample_writer_bytes(const tnd_schema_t *schema, uint64_t samples, uint64_t positions,
                                 uint64_t limit)
{
    return samples * 2 * sizeof(int64_t) + positions / 8 + 2 * tnd_chunk_hashes_bytes(limit) +
           ((uint64_t)schema->count + tnd_schema_ragged(schema)) * PENDING_BYTES;
}

void tnd_sample_writer_discard(const char *folder)
{
    /* Under another name first, so that no process finds a part of it. */
    char *path = tnd_format_string("%s" WRITING "%d", folder, (int)getpid());
    if (rename(folder, path) == 0)
        tnd_folder_remove(path);
    free(path);
}

/* --- samples ---------------------------------------------------------------------------------- */

static uint64_t bytes_of(const tnd_sample_writer_t *self, const tnd_block_t *block, uint32_t first,
                         uint32_t rows)
{
    uint64_t bytes = 0;
    for (uint32_t c = 0; c < self->schema->count; c++) {
        bytes += rows * (self->schema->columns[c].ragged ? sizeof(uint64_t) : 0);
        for (uint32_t i = 0; i < rows; i++)
            bytes += tnd_block_row_bytes(block, c, first + i);
    }
    return bytes;
}

static bool add_row(tnd_sample_writer_t *self, const tnd_block_t *block, uint32_t row)
{
    for (uint32_t c = 0; c < self->schema->count; c++) {
        uint64_t length = self->schema->columns[c].ragged ? block->columns[c].lengths[row] : 0;
        if (!tnd_npy_column_add(&self->columns[c], tnd_block_row(block, c, row),
                                tnd_block_row_bytes(block, c, row), length))
            return false;
    }
    return true;
}

tnd_status_t tnd_sample_writer_put(tnd_sample_writer_t *self, uint64_t sample,
                                   const tnd_block_t *block, uint32_t first, uint32_t rows,
                                   bool *fits_p, tnd_error_t *error)
{
    *fits_p = true;
    if (sample >= self->samples || self->index[sample][0] != NOT_SEEN)
        return TND_OK;
    uint64_t bytes = bytes_of(self, block, first, rows);
    *fits_p = bytes <= self->limit - self->used;
    if (!*fits_p) {
        tnd_sample_writer_skip(self, sample);
        return TND_OK;
    }
    for (uint32_t i = 0; i < rows; i++)
        if (!add_row(self, block, first + i))
            return fail(self, error);
    self->index[sample][0] = self->rows;
    self->index[sample][1] = rows;
    self->rows += rows;
    self->used += bytes;
    self->seen++;
    return TND_OK;
}

void tnd_sample_writer_skip(tnd_sample_writer_t *self, uint64_t sample)
{
    if (sample >= self->samples || self->index[sample][0] != NOT_SEEN)
        return;
    self->index[sample][0] = SKIPPED;
    self->seen++;
}

void tnd_sample_writer_cover(tnd_sample_writer_t *self, uint32_t epoch, uint64_t first,
                             uint32_t count)
{
    if (epoch < self->epoch)
        return;
    if (epoch > self->epoch) {
        memset(self->is_covered, 0, self->positions / 8 + 1);
        self->epoch = epoch;
        self->covered = 0;
    }
    for (uint64_t at = first; at < first + count && at < self->positions; at++) {
        uint8_t bit = (uint8_t)(1 << (at & 7));
        self->covered += (self->is_covered[at >> 3] & bit) == 0;
        self->is_covered[at >> 3] |= bit;
    }
}

bool tnd_sample_writer_complete(const tnd_sample_writer_t *self)
{
    return self->seen >= self->needed || self->covered == self->positions;
}

bool tnd_sample_writer_covers(const tnd_sample_writer_t *self, uint64_t positions)
{
    return self->covered >= positions;
}

/* --- publishing ------------------------------------------------------------------------------- */

static bool complete_columns(tnd_sample_writer_t *self)
{
    for (uint32_t c = 0; c < self->schema->count; c++) {
        tnd_npy_column_t *column = &self->columns[c];
        if (!tnd_npy_column_pad(column) || !tnd_npy_column_complete(column) ||
            fdatasync(column->file) != 0 || (column->splits >= 0 && fdatasync(column->splits) != 0))
            return false;
    }
    return true;
}

static bool write_hashes(const tnd_sample_writer_t *self)
{
    char *path = tnd_sample_files_hashes(self->draft);
    int file = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    bool written = file >= 0 && tnd_chunk_hashes_write(file, self->hashers, self->hasher_count) &&
                   fdatasync(file) == 0;
    int code = errno;
    if (file >= 0)
        close(file);
    free(path);
    errno = code;
    return written;
}

static bool write_index(tnd_sample_writer_t *self)
{
    char *path = tnd_sample_files_index(self->draft);
    tnd_npy_column_t out;
    tnd_npy_column_init(&out, &tnd_sample_files_record);
    tnd_npy_column_collect(&out);
    out.pending.hasher = self->hashers[0];
    out.file = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    bool written = out.file >= 0;
    for (uint64_t sample = 0; sample < self->samples && written; sample++) {
        int64_t first = self->index[sample][0] < 0 ? -1 : self->index[sample][0];
        const int64_t record[2] = {first, self->index[sample][1]};
        written = tnd_npy_column_add(&out, record, sizeof record, 0);
    }
    written = written && tnd_npy_column_complete(&out) && fdatasync(out.file) == 0;
    int code = errno;
    if (out.file >= 0)
        close(out.file);
    tnd_npy_column_free(&out);
    free(path);
    errno = code;
    return written;
}

tnd_status_t tnd_sample_writer_publish(tnd_sample_writer_t *self, tnd_error_t *error)
{
    if (!complete_columns(self) || !write_index(self) || !write_hashes(self) ||
        !tnd_folder_sync(self->draft))
        return fail(self, error);
    if (rename(self->draft, self->folder) != 0)
        /* Another process may have published the same. */
        return errno == EEXIST || errno == ENOTEMPTY ? TND_OK : fail(self, error);
    free(self->draft);
    self->draft = NULL;
    return tnd_folder_sync_of(self->folder) ? TND_OK : fail(self, error);
}
