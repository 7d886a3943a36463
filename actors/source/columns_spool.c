/*  actors/source/columns_spool.c - spools compressed files of records. */
#include "actors/source/columns_spool.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "actors/source/columns_internal.h"
#include "actors/stored/draft.h"
#include "actors/stored/npy_column.h"
#include "actors/stored/npy_file.h"
#include "actors/stored/splits.h"
#include "runtime/base/allocation.h"
#include "runtime/base/bounds.h"
#include "runtime/base/folder.h"
#include "runtime/text/quantity.h"

static const tnd_option_t options[] = {
    {TND_OPTION(tnd_spool_options_t, dir, PATH, PLACE), .example = "/scratch/spool",
     .help = "the folder of the decompressed files, which a later run uses again"},
    {TND_OPTION(tnd_spool_options_t, limit, BYTES, PLACE), .example = "100GiB",
     .help = "how many bytes of files the folder may have; more is an error before any is written"},
};

const tnd_table_t tnd_spool_table = {.name = "spool",
                                     .help = "Where compressed files are decompressed to.",
                                     TND_OPTIONS(options, tnd_spool_options_t)};

/*  The files of one compressed file. */
typedef struct {
    char *values, *splits, *lost, *hashes;
} paths_t;

/*  Descriptors of parts that were just written; -1: they are to be opened. */
typedef struct {
    int values, splits, hashes;
} handles_t;

static const handles_t no_handles = {-1, -1, -1};

static int take(int *file_p)
{
    int file = *file_p;
    *file_p = -1;
    return file;
}

static void close_handles(handles_t *self)
{
    int files[] = {self->values, self->splits, self->hashes};
    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++)
        if (files[i] >= 0)
            close(files[i]);
    *self = no_handles;
}

/*  A part that is missing or wrong is made again, with the others. */
static const char advice[] = "remove it, and it is made again";

static paths_t paths_of(const tnd_strand_t *strand, size_t file)
{
    const tnd_stored_t *data = &strand->stored[file];
    const tnd_indexed_file_t indexed = {data->path, data->identity, data->size, data->modified_ns};
    char *base = tnd_index_path(strand->spool->dir, &indexed, strand->format->finder.name);
    const char *compression = tnd_compression_name(data->compression);
    base[strlen(base) - strlen(".npy")] = '\0';
    paths_t paths = {.values = tnd_format_string("%s-%s.values.npy", base, compression),
                     .splits = tnd_format_string("%s-%s.splits.npy", base, compression),
                     .lost = tnd_format_string("%s-%s.bad.txt", base, compression),
                     .hashes = tnd_format_string("%s-%s.hashes.npy", base, compression)};
    free(base);
    return paths;
}

static void remove_parts(const paths_t *paths)
{
    (void)unlink(paths->splits);
    (void)unlink(paths->values);
    (void)unlink(paths->lost);
    (void)unlink(paths->hashes);
}

static void free_paths(paths_t *paths)
{
    free(paths->values);
    free(paths->splits);
    free(paths->lost);
    free(paths->hashes);
    *paths = (paths_t){0};
}

void tnd_spool_init(tnd_strand_t *strand, const tnd_spool_options_t *chosen)
{
    strand->spool = chosen;
    strand->spooled = tnd_allocate_zeroed(1, strand->count * sizeof *strand->spooled);
}

static void free_lost(tnd_spooled_t *spooled)
{
    for (size_t i = 0; i < spooled->lost_count; i++)
        free(spooled->lost[i].why);
    free(spooled->lost);
    spooled->lost = NULL;
    spooled->lost_count = 0;
}

static void close_hashes(tnd_spooled_t *spooled)
{
    if (spooled->list_path != NULL)
        tnd_chunk_list_close(&spooled->list);
    tnd_chunk_hashes_free(&spooled->hashes);
    free(spooled->list_path);
    spooled->list_path = NULL;
}

void tnd_spool_free(tnd_strand_t *strand)
{
    for (size_t i = 0; strand->spooled != NULL && i < strand->count; i++) {
        free_lost(&strand->spooled[i]);
        close_hashes(&strand->spooled[i]);
        free(strand->spooled[i].values);
    }
    free(strand->spooled);
    strand->spooled = NULL;
}

const tnd_lost_row_t *tnd_spool_find(const tnd_strand_t *strand, size_t file, uint64_t row)
{
    const tnd_spooled_t *spooled = &strand->spooled[file];
    size_t at;
    TND_LOWER_BOUND(at, 0, spooled->lost_count, spooled->lost[at].row < row);
    return at < spooled->lost_count && spooled->lost[at].row == row ? &spooled->lost[at] : NULL;
}

/* --- reading ---------------------------------------------------------------------------------- */

/*  Compares all hashes of the next part. */
static tnd_status_t compare_all(tnd_chunk_list_t *list, const tnd_content_t *content, size_t begin,
                                tnd_error_t *error)
{
    tnd_chunk_hashes_t hashes = {0};
    TND_TRY(tnd_chunk_list_take(list, &hashes, content->path, advice, begin, content->size, error));
    tnd_status_t status =
        tnd_chunk_hashes_check(&hashes, content, begin, content->size - begin, error);
    tnd_chunk_hashes_free(&hashes);
    return status;
}

static tnd_status_t compare_lost(tnd_chunk_list_t *list, const char *path, tnd_error_t *error)
{
    const tnd_source_scope_t scope = {.lanes = 1, .access = TND_ACCESS_MAP};
    tnd_content_t content;
    TND_TRY(tnd_content_open(&content, path, &scope, error));
    tnd_status_t status = compare_all(list, &content, 0, error);
    tnd_content_close(&content);
    return status;
}

/*  Opens the hashes, and compares them but for those of the values.  *lost_p: there are bad records. */
static tnd_status_t open_hashes(const paths_t *paths, handles_t *files, const tnd_stored_t *values,
                                const tnd_stored_t *splits, tnd_spooled_t *spooled, bool *lost_p,
                                tnd_error_t *error)
{
    struct stat is;
    char *path = tnd_copy_string(paths->hashes);
    tnd_status_t status = tnd_chunk_list_open(&spooled->list, path, take(&files->hashes), error);
    if (status != TND_OK) {
        free(path);
        return status;
    }
    spooled->list_path = path;
    TND_TRY(tnd_chunk_list_take(&spooled->list, &spooled->hashes, values->path, advice,
                                values->offset, values->content.size, error));
    TND_TRY(compare_all(&spooled->list, &splits->content, splits->offset, error));
    *lost_p = !tnd_chunk_list_is_at_end(&spooled->list);
    if (*lost_p)
        TND_TRY(compare_lost(&spooled->list, paths->lost, error));
    else if (stat(paths->lost, &is) != 0 || is.st_size != 0)
        return tnd_fail(error, "%s: is not an empty list of bad records", paths->lost);
    return tnd_chunk_list_end(&spooled->list, error);
}

/*  The list of bad records. */
static tnd_status_t read_lost(const char *path, uint64_t rows, tnd_spooled_t *spooled,
                              tnd_error_t *error)
{
    FILE *in = fopen(path, "r");
    size_t room = 0, line_room = 0;
    char *line = NULL;
    bool good = in != NULL;
    while (good && getline(&line, &line_room, in) > 0) {
        tnd_lost_row_t lost = {0};
        int at = 0;
        good =
            sscanf(line, "%" SCNu64 " %" SCNu64 " %n", &lost.row, &lost.offset, &at) == 2 &&
            at > 0 && lost.row < rows &&
            (spooled->lost_count == 0 || lost.row > spooled->lost[spooled->lost_count - 1].row) &&
            strchr(line + at, '\n') != NULL;
        if (!good)
            break;
        *strchr(line + at, '\n') = '\0';
        lost.why = tnd_copy_string(line + at);
        spooled->lost = tnd_grow(spooled->lost, spooled->lost_count, &room, sizeof lost);
        spooled->lost[spooled->lost_count++] = lost;
    }
    good = good && ferror(in) == 0;
    if (in != NULL)
        fclose(in);
    free(line);
    return good ? TND_OK : tnd_fail(error, "%s: is not a list of bad records", path);
}

static tnd_status_t check_parts(const tnd_stored_t *values, tnd_stored_t *splits,
                                uint64_t *longest_p, tnd_error_t *error)
{
    if (values->dtype != TND_U8 || values->rank != 0)
        return tnd_fail(error, "%s: does not have bytes", values->path);
    /* A file needs an element, also where all rows are empty. */
    return tnd_splits_check_index(splits, values->rows, 1, false, longest_p, error);
}

static tnd_status_t open_parts(const paths_t *paths, handles_t *files, tnd_stored_t *values,
                               tnd_stored_t *splits, tnd_spooled_t *spooled, uint64_t *longest_p,
                               tnd_error_t *error)
{
    tnd_error_t why;
    bool lost;
    TND_TRY(tnd_npy_adopt(values, paths->values, take(&files->values), error));
    tnd_status_t status = tnd_npy_adopt(splits, paths->splits, take(&files->splits), error);
    if (status == TND_OK) {
        status = open_hashes(paths, files, values, splits, spooled, &lost, &why);
        if (status == TND_OK)
            status = check_parts(values, splits, longest_p, &why);
        if (status == TND_OK && lost)
            status = read_lost(paths->lost, splits->rows - 1, spooled, &why);
        if (status == TND_OK)
            return TND_OK;
        (void)tnd_fail(error, "%s", why.text);
        tnd_stored_close(splits);
    }
    tnd_stored_close(values);
    free_lost(spooled);
    close_hashes(spooled);
    return status;
}

/*  Reads the file from its parts from now on. */
static tnd_status_t use_parts(tnd_strand_t *strand, size_t file, paths_t *paths, handles_t *files,
                              uint64_t *longest_p, tnd_error_t *error)
{
    tnd_stored_t values, splits, *data = &strand->stored[file];
    tnd_spooled_t *spooled = &strand->spooled[file];
    tnd_status_t status = open_parts(paths, files, &values, &splits, spooled, longest_p, error);
    close_handles(files);
    TND_TRY(status);
    spooled->file = (tnd_source_file_t){.path = data->path,
                                        .size = data->size,
                                        .modified_ns = data->modified_ns,
                                        .ends = data->identity};
    spooled->values = paths->values;
    values.identity = data->identity;
    values.size = data->size;
    values.modified_ns = data->modified_ns;
    tnd_stored_close(data);
    *data = values;
    if (strand->splits[file].path != NULL)
        tnd_record_index_close(&strand->splits[file]);
    strand->splits[file] = splits;
    paths->values = paths->splits = NULL;
    return TND_OK;
}

tnd_status_t tnd_spool_open(tnd_strand_t *strand, size_t file, bool *there_p, uint64_t *longest_p,
                            tnd_error_t *error)
{
    paths_t paths = paths_of(strand, file);
    handles_t files = no_handles;
    *there_p = access(paths.splits, F_OK) == 0;
    tnd_status_t status =
        *there_p ? use_parts(strand, file, &paths, &files, longest_p, error) : TND_OK;
    if (status != TND_OK)
        remove_parts(&paths);
    free_paths(&paths);
    return status;
}

tnd_status_t tnd_spool_compare(const tnd_strand_t *strand, size_t file, uint64_t begin,
                               uint64_t end, tnd_error_t *error)
{
    const tnd_stored_t *values = &strand->stored[file];
    return tnd_chunk_hashes_check(&strand->spooled[file].hashes, &values->content,
                                  values->offset + begin, end - begin, error);
}

/* --- writing ---------------------------------------------------------------------------------- */

tnd_status_t tnd_spool_check(const tnd_strand_t *strand, tnd_error_t *error)
{
    const char *dir = strand->spool->dir;
    uint64_t need = 0, limit = strand->spool->limit;
    size_t files = 0;
    char texts[3][TND_QUANTITY_SIZE];
    struct statvfs disk;
    for (size_t i = 0; i < strand->count; i++) {
        const tnd_stored_t *data = &strand->stored[i];
        if (tnd_spool_has(strand, i) || data->compression == TND_COMPRESSION_NONE)
            continue;
        uint64_t splits = strand->splits[i].rows * sizeof(uint64_t);
        need += data->rows + splits + tnd_chunk_hashes_bytes(data->rows) +
                tnd_chunk_hashes_bytes(splits) + 3 * TND_NPY_COLUMN_HEADER;
        files++;
    }
    if (files == 0)
        return TND_OK;
    uint64_t used = tnd_folder_bytes(dir);
    if (need > limit || used > limit - need)
        return tnd_fail(error,
                        "spool %s: %zu file%s up to %s beside the %s that it has, above "
                        "`limit: %s`; raise it, or remove files there that are not used any more",
                        dir, files, files == 1 ? " needs" : "s need",
                        tnd_quantity_size(need, texts[0]), tnd_quantity_size(used, texts[1]),
                        tnd_quantity_size(limit, texts[2]));
    if (statvfs(dir, &disk) != 0 || need <= (uint64_t)disk.f_bavail * disk.f_frsize)
        return TND_OK;
    return tnd_fail(error,
                    "spool %s: %zu file%s up to %s, but its disk has only %s free; make room, "
                    "or choose another folder",
                    dir, files, files == 1 ? " needs" : "s need", tnd_quantity_size(need, texts[0]),
                    tnd_quantity_size((uint64_t)disk.f_bavail * disk.f_frsize, texts[1]));
}

tnd_status_t tnd_spool_make_folder(const tnd_strand_t *strand, tnd_error_t *error)
{
    const char *dir = strand->spool->dir;
    return tnd_folder_make(dir) ? TND_OK
                                : tnd_fail(error, "spool %s: the folder cannot be made: %s; %s",
                                           dir, strerror(errno), tnd_folder_advice(errno));
}

static tnd_status_t fail_write(const tnd_strand_t *strand, tnd_error_t *error)
{
    return tnd_fail(error, "spool %s: its files cannot be written: %s; %s", strand->spool->dir,
                    strerror(errno), tnd_folder_advice(errno));
}

/*  A reason is one line. */
static void note_lost(FILE *lost, uint64_t row, uint64_t offset, char *why)
{
    for (char *at = why; *at != '\0'; at++)
        if ((unsigned char)*at < ' ')
            *at = ' ';
    fprintf(lost, "%" PRIu64 " %" PRIu64 " %s\n", row, offset, why);
}

/*  Writes all records of a file. */
static tnd_status_t write_rows(tnd_strand_t *strand, size_t file, tnd_npy_column_t *out, FILE *lost,
                               tnd_error_t *error)
{
    tnd_record_stream_t stream = {.used = true};
    tnd_status_t status = TND_OK;
    uint64_t rows = strand->splits[file].rows - 1;
    for (uint64_t row = 0; row < rows && status == TND_OK; row++) {
        const uint8_t *data;
        size_t length = 0;
        uint64_t begin = 0, end;
        tnd_error_t why;
        status =
            tnd_columns_show(&stream, strand, file, row, row + 1 == rows, &data, &length, &why);
        if (status == TND_REFUSED) {
            length = 0;
            status = tnd_splits_row(&strand->splits[file], &strand->stored[file], row, &begin, &end,
                                    error);
            if (status == TND_OK)
                note_lost(lost, row, begin, why.text);
        } else if (status != TND_OK) {
            *error = why;
        }
        if (status == TND_OK && !tnd_npy_column_add(out, data, length, length))
            status = fail_write(strand, error);
    }
    tnd_columns_stream_close(&stream);
    return status;
}

/*  The parts of a file while they are written. */
typedef struct {
    tnd_draft_t values, splits, lost, hashes;
    tnd_chunk_hasher_t *hashers[3]; /* of the first three */
    tnd_npy_column_t out;
    FILE *list;
    char *text;
    size_t text_bytes;
} making_t;

static bool begin(making_t *self, const paths_t *paths, const tnd_column_t *column)
{
    bool opened = tnd_draft_open(&self->values, paths->values);
    opened = tnd_draft_open(&self->splits, paths->splits) && opened;
    opened = tnd_draft_open(&self->lost, paths->lost) && opened;
    opened = tnd_draft_open(&self->hashes, paths->hashes) && opened;
    for (size_t i = 0; i < sizeof self->hashers / sizeof self->hashers[0]; i++)
        self->hashers[i] = tnd_chunk_hasher_new();
    self->list = tnd_memory_stream(&self->text, &self->text_bytes);
    tnd_npy_column_init(&self->out, column);
    tnd_npy_column_collect(&self->out);
    self->out.file = self->values.file;
    self->out.splits = self->splits.file;
    self->out.pending.hasher = self->hashers[0];
    self->out.pending_splits.hasher = self->hashers[1];
    return opened;
}

static bool publish(making_t *self)
{
    fflush(self->list);
    tnd_chunk_hasher_add(self->hashers[2], self->text, self->text_bytes);
    return tnd_npy_column_pad(&self->out) && tnd_npy_column_complete(&self->out) &&
           write(self->lost.file, self->text, self->text_bytes) == (ssize_t)self->text_bytes &&
           tnd_chunk_hashes_write(self->hashes.file, self->hashers, 3) &&
           tnd_draft_publish(&self->values) && tnd_draft_publish(&self->lost) &&
           tnd_draft_publish(&self->hashes) && tnd_draft_publish(&self->splits);
}

/*  All of them, or none, where another process has published one of them. */
static handles_t take_handles(making_t *self)
{
    handles_t files = {tnd_draft_take(&self->values), tnd_draft_take(&self->splits),
                       tnd_draft_take(&self->hashes)};
    if (files.values < 0 || files.splits < 0 || files.hashes < 0)
        close_handles(&files);
    return files;
}

static void end(making_t *self)
{
    int code = errno;
    fclose(self->list);
    free(self->text);
    tnd_npy_column_free(&self->out);
    tnd_draft_close(&self->values);
    tnd_draft_close(&self->splits);
    tnd_draft_close(&self->lost);
    tnd_draft_close(&self->hashes);
    for (size_t i = 0; i < sizeof self->hashers / sizeof self->hashers[0]; i++)
        tnd_chunk_hasher_destroy(&self->hashers[i]);
    errno = code;
}

static tnd_status_t make_parts(tnd_strand_t *strand, size_t file, const paths_t *paths,
                               handles_t *files, tnd_error_t *error)
{
    static const tnd_column_t column = {.dtype = TND_U8, .rank = 1, .shape = {1}, .ragged = true};
    making_t making;
    tnd_status_t status = begin(&making, paths, &column) ? TND_OK : fail_write(strand, error);
    if (status == TND_OK)
        status = write_rows(strand, file, &making.out, making.list, error);
    if (status == TND_OK && !publish(&making))
        status = fail_write(strand, error);
    if (status == TND_OK)
        *files = take_handles(&making);
    end(&making);
    return status;
}

tnd_status_t tnd_spool_make(tnd_strand_t *strand, size_t file, tnd_error_t *error)
{
    paths_t paths = paths_of(strand, file);
    handles_t files;
    uint64_t longest;
    tnd_status_t status = make_parts(strand, file, &paths, &files, error);
    if (status == TND_OK && use_parts(strand, file, &paths, &files, &longest, error) != TND_OK) {
        /* A part was there already, and is wrong. */
        remove_parts(&paths);
        status = make_parts(strand, file, &paths, &files, error);
        if (status == TND_OK)
            status = use_parts(strand, file, &paths, &files, &longest, error);
    }
    free_paths(&paths);
    return status;
}
