/*  runtime/checkpoint/data_table.c - the files of a stream, as a checkpoint stores them. */
#include "runtime/checkpoint/data_table.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <xxhash.h>

#include "runtime/base/allocation.h"
#include "runtime/core/numeric/digest.h"

static const int64_t second_ns = 1000000000;

static char *name_of(const char *path, const char *data)
{
    static const char variable[] = "${data}", cut[] = "...";
    size_t length = data != NULL ? strlen(data) : 0;
    bool below = length > 0 && strncmp(path, data, length) == 0 &&
                 (path[length] == '/' || data[length - 1] == '/');
    const char *rest = below ? path + length : path, *start = below ? variable : "";
    char *name = tnd_allocate(1, TND_DATA_NAME);
    if (strlen(start) + strlen(rest) >= TND_DATA_NAME) {
        start = cut;
        rest += strlen(rest) + sizeof cut - TND_DATA_NAME;
    }
    snprintf(name, TND_DATA_NAME, "%s%s", start, rest);
    for (char *at = name; *at != '\0'; at++)
        if (iscntrl((unsigned char)*at))
            *at = '?';
    return name;
}

void tnd_data_table_add(tnd_data_table_t *self, const tnd_data_file_t *file, const char *data)
{
    self->files = tnd_grow(self->files, self->count, &self->room, sizeof *self->files);
    self->files[self->count] = *file;
    self->files[self->count++].name = name_of(file->name, data);
}

static int order(uint64_t a, uint64_t b)
{
    return a < b ? -1 : a > b;
}

static int by_place(const tnd_data_file_t *a, const tnd_data_file_t *b)
{
    int by_lane = order(a->lane, b->lane);
    return by_lane != 0 ? by_lane : order(a->place, b->place);
}

static int by_all(const void *left, const void *right)
{
    const tnd_data_file_t *a = left, *b = right;
    int orders[] = {by_place(a, b),
                    strcmp(a->name, b->name),
                    order(a->size, b->size),
                    order((uint64_t)a->modified_ns, (uint64_t)b->modified_ns),
                    order(a->ends, b->ends),
                    order(a->hashed, b->hashed),
                    order(a->whole[0], b->whole[0]),
                    order(a->whole[1], b->whole[1])};
    for (size_t i = 0; i < sizeof orders / sizeof orders[0]; i++)
        if (orders[i] != 0)
            return orders[i];
    return 0;
}

void tnd_data_table_settle(tnd_data_table_t *self)
{
    size_t kept = 0;
    if (self->count == 0)
        return;
    qsort(self->files, self->count, sizeof *self->files, by_all);
    for (size_t i = 1; i < self->count; i++)
        if (by_all(&self->files[kept], &self->files[i]) != 0)
            self->files[++kept] = self->files[i];
        else
            free((void *)(uintptr_t)self->files[i].name);
    self->count = kept + 1;
}

uint64_t tnd_data_table_hash(const tnd_data_table_t *self)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = tnd_memory_stream(&text, &size);
    for (size_t i = 0; i < self->count; i++)
        tnd_data_table_write(self, i, out);
    fclose(out);
    uint64_t hash = XXH3_64bits(text, size);
    free(text);
    return hash != 0 ? hash : 1;
}

void tnd_data_table_free(tnd_data_table_t *self)
{
    for (size_t i = 0; i < self->count; i++)
        free((void *)(uintptr_t)self->files[i].name);
    free(self->files);
    *self = (tnd_data_table_t){0};
}

/* --- as text ---------------------------------------------------------------------------------- */

void tnd_data_table_write(const tnd_data_table_t *self, size_t index, FILE *out)
{
    const tnd_data_file_t *file = &self->files[index];
    char whole[TND_DIGEST_TEXT_SIZE] = "-";
    if (file->hashed)
        tnd_digest_print(&(tnd_digest_t){.low = file->whole[0], .high = file->whole[1]}, whole);
    fprintf(out, "%s %" PRIu32 " %" PRIu32 " %" PRIu64 " %" PRId64 " %016" PRIx64 " %s %s\n",
            file->file ? "file" : "rows", file->lane, file->place, file->size, file->modified_ns,
            file->ends, whole, file->name);
}

bool tnd_data_table_is_line(const char *line)
{
    return strncmp(line, "file ", 5) == 0 || strncmp(line, "rows ", 5) == 0;
}

tnd_status_t tnd_data_table_read(tnd_data_table_t *self, const char *line, tnd_error_t *error)
{
    tnd_data_file_t file = {.file = line[0] == 'f'};
    tnd_digest_t whole;
    char hex[64];
    int used = 0;
    if (!tnd_data_table_is_line(line) ||
        sscanf(line + 5, "%" SCNu32 " %" SCNu32 " %" SCNu64 " %" SCNd64 " %" SCNx64 " %63s%n",
               &file.lane, &file.place, &file.size, &file.modified_ns, &file.ends, hex,
               &used) != 6 ||
        line[5 + used] != ' ' || line[6 + used] == '\0')
        return tnd_fail(error, "a line about a data file is damaged: %.100s", line);
    file.hashed = strcmp(hex, "-") != 0;
    if (file.hashed && !tnd_digest_parse(&whole, hex))
        return tnd_fail(error, "the hash of a data file is damaged: %.100s", line);
    if (file.hashed) {
        file.whole[0] = whole.low;
        file.whole[1] = whole.high;
    }
    file.name = line + 6 + used;
    tnd_data_table_add(self, &file, NULL);
    return TND_OK;
}

void tnd_data_table_time(int64_t modified_ns, char text[TND_DATA_TIME])
{
    struct tm when;
    int64_t rest = modified_ns % second_ns;
    time_t seconds = (time_t)((modified_ns - (rest < 0 ? rest + second_ns : rest)) / second_ns);
    if (gmtime_r(&seconds, &when) == NULL ||
        strftime(text, TND_DATA_TIME, "%Y-%m-%d %H:%M:%S UTC", &when) == 0)
        snprintf(text, TND_DATA_TIME, "%" PRId64 " s", (int64_t)seconds);
}

/* --- comparing -------------------------------------------------------------------------------- */

/*  The result of comparing two entries. */
typedef enum {
    SAME,
    TOUCHED,    /* only the times are known to differ */
    BYTES_ELSE, /* hashes of whole files differ */
    ENDS_ELSE,
    SIZE_ELSE,
    NAME_ELSE
} likeness_t;

/*  Copies may lose fractions of a second. */
static bool same_time(int64_t a, int64_t b)
{
    bool coarse = a % second_ns == 0 || b % second_ns == 0;
    return coarse ? a / second_ns == b / second_ns : a == b;
}

static likeness_t compare(const tnd_data_file_t *was, const tnd_data_file_t *is)
{
    if (was->file != is->file || strcmp(was->name, is->name) != 0)
        return NAME_ELSE;
    if (was->size != is->size)
        return SIZE_ELSE;
    if (was->ends != is->ends)
        return ENDS_ELSE;
    if (was->hashed && is->hashed)
        return memcmp(was->whole, is->whole, sizeof was->whole) == 0 ? SAME : BYTES_ELSE;
    return same_time(was->modified_ns, is->modified_ns) ? SAME : TOUCHED;
}

/*  The end of the entries of the place that begins at `first`. */
static size_t end_of(const tnd_data_table_t *self, size_t first)
{
    size_t end = first + 1;
    while (end < self->count && by_place(&self->files[first], &self->files[end]) == 0)
        end++;
    return end;
}

static bool has_name(const tnd_data_table_t *self, const char *name)
{
    for (size_t i = 0; i < self->count; i++)
        if (strcmp(self->files[i].name, name) == 0)
            return true;
    return false;
}

/*  The end of a name that is too long for a message. */
static const char *shown(const char *name)
{
    static const size_t most = 200;
    size_t length = strlen(name);
    return length > most ? name + length - most : name;
}

/*  Names the first file that only one of the lists has. */
static tnd_status_t fail_list(const tnd_data_table_t *was, const tnd_data_table_t *is,
                              tnd_error_t *error)
{
    for (size_t i = 0; i < is->count; i++)
        if (!has_name(was, is->files[i].name))
            return tnd_fail(error, "%s was added since the checkpoint; resume with the same files",
                            shown(is->files[i].name));
    for (size_t i = 0; i < was->count; i++)
        if (!has_name(is, was->files[i].name))
            return tnd_fail(error,
                            "%s was left out since the checkpoint; resume with the same files",
                            shown(was->files[i].name));
    return tnd_fail(error, "the files of the source are in another order than in the checkpoint");
}

/*  Adds the fraction of the second. */
static void add_fraction(char text[TND_DATA_TIME], int64_t modified_ns)
{
    static const char zone[] = " UTC";
    char *end = strstr(text, zone);
    int64_t rest = modified_ns % second_ns;
    if (end != NULL)
        snprintf(end, TND_DATA_TIME - (size_t)(end - text), ".%09" PRId64 "%s",
                 rest < 0 ? rest + second_ns : rest, zone);
}

static tnd_status_t fail_time(const tnd_data_file_t *was, const tnd_data_file_t *is,
                              tnd_error_t *error)
{
    char then[TND_DATA_TIME], now[TND_DATA_TIME];
    tnd_data_table_time(was->modified_ns, then);
    tnd_data_table_time(is->modified_ns, now);
    if (strcmp(then, now) == 0) {
        add_fraction(then, was->modified_ns);
        add_fraction(now, is->modified_ns);
    }
    return tnd_fail(error,
                    "%s may have changed since the checkpoint: its modification time was %s and is "
                    "%s, and %s; if it is a copy of the same data, resume with --trust-data%s",
                    shown(is->name), then, now,
                    was->hashed ? "this run did not hash it" : "the checkpoint has no hash of it",
                    was->hashed ? ", or with `verify: full` on the reader, which compares all bytes"
                                : "; `verify: full` on the reader stores hashes in checkpoints");
}

static tnd_status_t fail_file(const tnd_data_file_t *was, const tnd_data_file_t *is,
                              likeness_t likeness, tnd_error_t *error)
{
    static const char remedy[] = "restore it, or start a new run";
    if (!is->file)
        return tnd_fail(
            error, "%s has other rows than at the checkpoint: %" PRIu64 " now, %" PRIu64 " then",
            shown(is->name), is->size, was->size);
    switch (likeness) {
    case SIZE_ELSE:
        return tnd_fail(error,
                        "%s has changed since the checkpoint: it has %" PRIu64
                        " bytes and had %" PRIu64 "; %s",
                        shown(is->name), is->size, was->size, remedy);
    case ENDS_ELSE:
        return tnd_fail(error,
                        "%s has changed since the checkpoint: its first or last 64 KiB differ; %s",
                        shown(is->name), remedy);
    case BYTES_ELSE:
        return tnd_fail(error,
                        "%s has changed since the checkpoint: the hash of its bytes differs; %s",
                        shown(is->name), remedy);
    case TOUCHED:
        return fail_time(was, is, error);
    case SAME:
    case NAME_ELSE:
        break;
    }
    return TND_FAILED;
}

/*  Compares an entry with all entries of its place; it must equal one of them. */
static tnd_status_t compare_one(const tnd_data_table_t *was, size_t first, size_t end,
                                const tnd_data_file_t *is, bool trust, tnd_error_t *error)
{
    likeness_t best = NAME_ELSE;
    size_t at = first;
    for (size_t i = first; i < end; i++) {
        likeness_t likeness = compare(&was->files[i], is);
        if (likeness < best) {
            best = likeness;
            at = i;
        }
    }
    if (best == SAME || (best == TOUCHED && trust))
        return TND_OK;
    return fail_file(&was->files[at], is, best, error);
}

/*  Whether both have the same places with the same names. */
static bool same_list(const tnd_data_table_t *was, const tnd_data_table_t *is)
{
    size_t w = 0, i = 0;
    while (w < was->count && i < is->count) {
        if (by_place(&was->files[w], &is->files[i]) != 0 ||
            was->files[w].file != is->files[i].file ||
            strcmp(was->files[w].name, is->files[i].name) != 0)
            return false;
        w = end_of(was, w);
        i = end_of(is, i);
    }
    return w == was->count && i == is->count;
}

tnd_status_t tnd_data_table_compare(const tnd_data_table_t *was, const tnd_data_table_t *is,
                                    bool trust, tnd_error_t *error)
{
    if (!same_list(was, is))
        return fail_list(was, is, error);
    for (size_t w = 0, i = 0; w < was->count;) {
        size_t was_end = end_of(was, w), is_end = end_of(is, i);
        for (; i < is_end; i++)
            TND_TRY(compare_one(was, w, was_end, &is->files[i], trust, error));
        w = was_end;
    }
    return TND_OK;
}
