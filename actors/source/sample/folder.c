/*  actors/source/sample/folder.c - files of folders: a row is the bytes of a file, and the number of
 *  its folder among all, sorted by name, as Keras's image_dataset_from_directory.
 *
 *  Files are opened when they are read, and before that by threads that bring them into the page
 *  cache.  What is kept of each is its name and its size. */
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include <xxhash.h>

#include "actors/file/content.h"
#include "actors/file/names.h"
#include "actors/source/sample/folder_labels.h"
#include "actors/source/sources.h"
#include "runtime/base/allocation.h"
#include "runtime/base/bounds.h"
#include "runtime/base/parallel.h"
#include "runtime/data/file_prefetch.h"

/*  Files that are looked at between two reports of progress, and by a thread at once. */
enum { FILES_AT_ONCE = 1 << 16, FILES_A_THREAD = 256 };

typedef struct {
    tnd_folder_file_options_t of;
    const char *column;
    uint64_t max;
} folder_options_t;

/*  The size of a file that cannot be read, which is a bad row. */
static const uint64_t unreadable = UINT64_MAX;

/*  Bytes of files that are requested ahead of those that are read, and how many files. */
static const uint64_t ahead_bytes = 8 << 20;
enum { AHEAD_LEAST = 8, AHEAD_MOST = 256 };

/*  One file of so many is looked at before it is read, for whether requests would help again. */
enum { NOTE_EVERY = 8 };

/*  A path that was told to a caller, who may use it until the source is closed. */
typedef struct told {
    struct told *next;
    char path[];
} told_t;

typedef struct {
    tnd_names_t names;
    uint64_t *sizes; /* of each file */
    tnd_folder_labels_t labels;
    uint64_t *rows;             /* of each folder */
    int64_t *modified;          /* the newest file of each folder */
    tnd_source_file_t *folders; /* and the table */
    tnd_schema_t schema;
    uint64_t longest; /* that a row may be */
    uint64_t retry_ns;
    tnd_file_prefetch_t *prefetch;
    uint32_t ahead; /* files */
    _Atomic(told_t *) *told;
} folder_t;

static const tnd_option_t options[] = {
    {TND_OPTION_NAMED("files", folder_options_t, of.files, PATHS, GRAPH),
     .example = "${data}/train/*/*.jpg", .fallback = "",
     .help =
         "the files: a pattern such as \"${data}/train/*/*.jpg\" (`**` is folders of any depth), a "
         "path, or a list of them; without it, those of `table`, in its folder"},
    {TND_OPTION_NAMED("table", folder_options_t, of.table, PATH, GRAPH), .fallback = "",
     .example = "${data}/labels.csv",
     .help =
         "a CSV file with a header that names the files, which are read in the order of `files`, "
         "else of their paths; with `files` it may leave out folders and endings"},
    {TND_OPTION_NAMED("delimiter", folder_options_t, of.delimiter, STRING, GRAPH), .fallback = ",",
     .help = "what separates the fields of `table`: one byte"},
    {TND_OPTION_NAMED("path", folder_options_t, of.path, STRING, GRAPH), .fallback = "",
     .example = "id", .help = "the field of `table` that names the files"},
    {TND_OPTION(folder_options_t, column, STRING, GRAPH), .fallback = "file",
     .help = "the name of the column of bytes, which is ragged and has u8"},
    {TND_OPTION_NAMED("label", folder_options_t, of.label, STRING, GRAPH), .fallback = "",
     .example = "label",
     .help = "the name of a column with the number of the file's folder, i32, among `classes`; of "
             "train/*/**/*.jpg the folder before `**`; with `table` its field that has the class; "
             "without it there are no labels"},
    {TND_OPTION_NAMED("classes", folder_options_t, of.classes, TABLE, GRAPH), .fallback = "",
     .table = &tnd_class_table,
     .help = "which number is which label, the same for training and test; without it, the names "
             "of all folders that the pattern matches, or all in the table, sorted"},
    {TND_OPTION(folder_options_t, max, U64, GRAPH), .fallback = "longest", .choices = "longest=0",
     .range = "1..1099511627776",
     .help = "the greatest size of a file, for which memory is kept; larger ones are bad"},
};

const tnd_source_spec_t tnd_source_folder_spec = {
    .table = {.name = "folder",
              .help = "Reads whole files as rows of bytes, with their folders as labels.",
              TND_OPTIONS(options, folder_options_t)},
    .caps = TND_SOURCE_RANDOM | TND_SOURCE_REWINDS | TND_SOURCE_FILES,
};

/*  ------------------------------------------------------------------------------------- opening */

/*  Files that cannot be read: how many, and the first of them. */
typedef struct {
    size_t count;
    tnd_error_t first;
} unread_t;

/*  Looks at the sizes of some files. */
typedef struct {
    folder_t *self;
    size_t first, end;
    unread_t unread[FILES_AT_ONCE / FILES_A_THREAD];
    int64_t newest[FILES_AT_ONCE];
} look_t;

/*  Whether the status of a file is known and the file may be read; else errno says why. */
static bool is_readable(const char *path, struct stat *is)
{
    if (stat(path, is) != 0)
        return false;
    errno = S_ISDIR(is->st_mode) ? EISDIR : EINVAL;
    return S_ISREG(is->st_mode) && ((is->st_mode & S_IROTH) != 0 || access(path, R_OK) == 0);
}

/*  The error of a file that cannot be read, with the target of a link. */
static tnd_status_t fail_unreadable(const char *path, tnd_error_t *error)
{
    char target[PATH_MAX];
    int why = errno;
    ssize_t size = readlink(path, target, sizeof target - 1);
    target[size > 0 ? size : 0] = '\0';
    return tnd_fail(error, "%s: cannot be read: %s%s%s%s", path, strerror(why),
                    size > 0 ? " (it is a link to " : "", target, size > 0 ? ")" : "");
}

static void look_at_some(void *context, size_t part)
{
    look_t *look = context;
    folder_t *self = look->self;
    unread_t *unread = &look->unread[part];
    size_t first = look->first + part * FILES_A_THREAD, end = first + FILES_A_THREAD;
    unread->count = 0;
    for (size_t i = first; i < end && i < look->end; i++) {
        char path[PATH_MAX];
        struct stat is = {0};
        tnd_names_path(&self->names, i, path);
        self->sizes[i] = unreadable;
        if (is_readable(path, &is))
            self->sizes[i] = (uint64_t)is.st_size;
        else if (unread->count++ == 0)
            (void)fail_unreadable(path, &unread->first);
        look->newest[i - look->first] =
            is.st_mtim.tv_sec * INT64_C(1000000000) + is.st_mtim.tv_nsec;
    }
}

/*  Files that cannot be read are an error, or bad rows. */
static tnd_status_t check_unread(const unread_t *all, const tnd_source_scope_t *scope,
                                 tnd_error_t *error)
{
    char others[48] = "";
    if (all->count == 0 || scope->skips_bad)
        return TND_OK;
    if (all->count > 1)
        snprintf(others, sizeof others, ", and so %s %zu other%s", all->count > 2 ? "are" : "is",
                 all->count - 1, all->count > 2 ? "s" : "");
    return tnd_fail(error,
                    "folder: %.300s%s; with `on_error: skip` such files are left out and counted",
                    all->first.text, others);
}

static tnd_status_t look_at_files(folder_t *self, const tnd_source_scope_t *scope,
                                  tnd_error_t *error)
{
    size_t count = self->names.count;
    unread_t all = {0};
    look_t *look = tnd_allocate(1, sizeof *look);
    look->self = self;
    for (look->first = 0; look->first < count; look->first = look->end) {
        look->end = count - look->first < FILES_AT_ONCE ? count : look->first + FILES_AT_ONCE;
        size_t parts = (look->end - look->first + FILES_A_THREAD - 1) / FILES_A_THREAD;
        tnd_parallel(parts, look_at_some, look);
        for (size_t i = 0; i < parts; i++) {
            if (all.count == 0)
                all.first = look->unread[i].first;
            all.count += look->unread[i].count;
        }
        for (size_t i = look->first; i < look->end; i++) {
            int64_t *newest = &self->modified[tnd_names_folder_of(&self->names, i)];
            int64_t here = look->newest[i - look->first];
            *newest = here > *newest ? here : *newest;
        }
        if (scope->context.progress != NULL)
            scope->context.progress(scope->context.reporter, look->end, count, "files");
    }
    free(look);
    return check_unread(&all, scope, error);
}

static const char *last_word(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash != NULL ? slash + 1 : path;
}

/*  Describes the folders; returns the hash of all. */
static uint64_t describe_folders(folder_t *self)
{
    const tnd_names_t *names = &self->names;
    uint64_t identity = names->count;
    for (size_t f = 0; f < names->folder_count; f++) {
        size_t first = names->folders[f].first;
        size_t end = f + 1 < names->folder_count ? names->folders[f + 1].first : names->count;
        const char *word = last_word(names->folders[f].path);
        uint64_t hash = XXH3_64bits(self->sizes + first, (end - first) * sizeof *self->sizes);
        uint64_t bytes = 0;
        size_t text = first < end ? names->starts[first] : 0;
        size_t text_end = end < names->count ? names->starts[end] : names->text_size;
        if (first < end)
            hash = XXH3_64bits_withSeed(names->text + text, text_end - text, hash);
        hash = XXH3_64bits_withSeed(word, strlen(word), hash);
        for (size_t i = first; i < end; i++)
            bytes += self->sizes[i] != unreadable ? self->sizes[i] : 0;
        self->rows[f] = end - first;
        self->folders[f] = (tnd_source_file_t){.kind = TND_DATA_FOLDER,
                                               .path = names->folders[f].path,
                                               .size = bytes,
                                               .modified_ns = self->modified[f],
                                               .ends = hash};
        identity = XXH3_64bits_withSeed(&hash, sizeof hash, identity);
    }
    if (self->labels.table.path == NULL)
        return identity;
    self->folders[names->folder_count] = self->labels.table.file;
    return XXH3_64bits_withSeed(&self->labels.table.hash, sizeof self->labels.table.hash, identity);
}

static tnd_status_t make_schema(folder_t *self, const folder_options_t *chosen, tnd_error_t *error)
{
    self->longest = chosen->max;
    for (size_t i = 0; i < self->names.count && chosen->max == 0; i++)
        if (self->sizes[i] != unreadable && self->sizes[i] > self->longest)
            self->longest = self->sizes[i];
    self->longest = self->longest > 0 ? self->longest : 1;
    TND_TRY(tnd_schema_add_ragged(&self->schema, chosen->column, TND_U8, 1, &self->longest, error));
    if (chosen->of.label == NULL)
        return TND_OK;
    return tnd_schema_add(&self->schema, chosen->of.label, TND_I32, 0, NULL, error);
}

static void folder_close(void *state)
{
    folder_t *self = state;
    tnd_file_prefetch_destroy(&self->prefetch);
    told_t *told = self->told != NULL ? atomic_load(self->told) : NULL;
    for (told_t *next; told != NULL; told = next) {
        next = told->next;
        free(told);
    }
    free(self->told);
    tnd_names_free(&self->names);
    tnd_folder_labels_free(&self->labels);
    free(self->sizes);
    free(self->rows);
    free(self->modified);
    free(self->folders);
    *self = (folder_t){0};
}

static tnd_status_t find_files(folder_t *self, const folder_options_t *chosen,
                               const tnd_source_scope_t *scope, tnd_error_t *error)
{
    tnd_names_t *names = &self->names;
    TND_TRY(tnd_folder_labels_find(&self->labels, names, &chosen->of, scope, error));
    if (names->count < scope->lanes)
        return tnd_fail(error,
                        "folder: has %zu files for %u lanes: use fewer lanes, or `shard: index`",
                        names->count, scope->lanes);
    size_t folders = names->folder_count;
    self->rows = tnd_allocate_zeroed(folders, sizeof *self->rows);
    self->modified = tnd_allocate_zeroed(folders, sizeof *self->modified);
    self->folders = tnd_allocate_zeroed(folders + 1, sizeof *self->folders);
    if (scope->lanes > 1)
        tnd_folder_labels_share(&self->labels, names, scope->lane, scope->lanes);
    self->sizes = tnd_allocate_zeroed(names->count, sizeof *self->sizes);
    if (look_at_files(self, scope, error) != TND_OK) {
        tnd_error_t why = *error;
        return self->labels.table.path == NULL || chosen->of.files.count > 0
                   ? TND_FAILED
                   : tnd_fail(error, "%.600s; names without endings need `files`, a pattern",
                              why.text);
    }
    return make_schema(self, chosen, error);
}

static void path_of(const void *context, uint64_t index, char path[PATH_MAX])
{
    tnd_names_path(&((const folder_t *)context)->names, index, path);
}

static tnd_status_t folder_open(void *state, const void *given, const tnd_source_scope_t *scope,
                                tnd_source_facts_t *facts, tnd_error_t *error)
{
    folder_t *self = state;
    const folder_options_t *chosen = given;
    if (find_files(self, chosen, scope, error) != TND_OK) {
        folder_close(self);
        return TND_FAILED;
    }
    self->retry_ns = scope->retry_ns;
    self->told = tnd_allocate_zeroed(1, sizeof *self->told);
    *facts = (tnd_source_facts_t){
        .schema = self->schema,
        .caps = TND_SOURCE_RANDOM | TND_SOURCE_REWINDS | TND_SOURCE_FILES,
        .count = self->names.count,
        .identity = describe_folders(self),
        .files = self->folders,
        .file_count = self->names.folder_count + (self->labels.table.path != NULL),
        .file_rows = self->rows,
        .file_rows_count = (uint32_t)self->names.folder_count,
        .lists = 2,
        .copied = tnd_schema_row_bytes(&self->schema),
        .loaded = tnd_names_bytes(&self->names) +
                  self->names.count * (sizeof *self->sizes + sizeof *self->labels.labels),
        .found = self->labels.found,
        .notes = (const char *const *)self->labels.notes,
        .note_count = self->labels.note_count,
        .classes =
            chosen->of.label != NULL ? (const char *const *)self->labels.classes.names : NULL,
        .class_count = chosen->of.label != NULL ? self->labels.classes.count : 0,
        .room = scope->room,
    };
    for (size_t i = 0; i < self->names.folder_count; i++)
        facts->read += self->folders[i].size;
    uint64_t files = ahead_bytes / (facts->read / self->names.count + 1);
    self->ahead = files < AHEAD_LEAST  ? AHEAD_LEAST
                  : files > AHEAD_MOST ? AHEAD_MOST
                                       : (uint32_t)files;
    self->prefetch = tnd_file_prefetch_new(path_of, self);
    return TND_OK;
}

/*  ------------------------------------------------------------------------------------- reading */

static uint32_t folder_ahead_rows(const void *state)
{
    const folder_t *self = state;
    return tnd_file_prefetch_helps(self->prefetch) ? self->ahead : 0;
}

static void folder_ahead(void *state, const uint64_t *index, uint32_t count)
{
    tnd_file_prefetch_add(((folder_t *)state)->prefetch, index, count);
}

/*  Whether one system call gives all of the file and shows that it ends there. */
static bool read_at_once(int file, uint8_t *to, uint64_t size)
{
    uint8_t more;
    struct iovec parts[] = {{.iov_base = to, .iov_len = size}, {.iov_base = &more, .iov_len = 1}};
    return preadv(file, parts, 2, 0) == (ssize_t)size;
}

static tnd_status_t read_open(const folder_t *self, uint64_t index, const char *path, int file,
                              uint8_t *to, tnd_error_t *error)
{
    struct stat is;
    if (read_at_once(file, to, self->sizes[index]))
        return TND_OK;
    tnd_content_t content = {
        .path = path, .file = file, .size = self->sizes[index], .retry_ns = self->retry_ns};
    if (fstat(file, &is) != 0)
        return tnd_fail(error, "%s: cannot be read: %s", path, strerror(errno));
    if ((uint64_t)is.st_size != self->sizes[index])
        return tnd_fail(error,
                        "%s: had %llu bytes when the source was opened, and now has %llu: do not "
                        "write to data during a run",
                        path, (unsigned long long)self->sizes[index],
                        (unsigned long long)is.st_size);
    return tnd_content_read(&content, 0, self->sizes[index], to, error);
}

static tnd_status_t open_and_read(const folder_t *self, uint64_t index, const char *path,
                                  uint8_t *to, tnd_error_t *error)
{
    int file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (file < 0)
        return tnd_fail(error, "%s: cannot be opened any more: %s", path, strerror(errno));
    if (index % NOTE_EVERY == 0)
        tnd_file_prefetch_note(self->prefetch, file);
    tnd_status_t status = read_open(self, index, path, file, to, error);
    close(file);
    return status;
}

static tnd_status_t read_file(const folder_t *self, uint64_t index, uint8_t *to, tnd_error_t *error)
{
    char path[PATH_MAX];
    struct stat is;
    tnd_names_path(&self->names, index, path);
    if (self->sizes[index] == unreadable) {
        (void)(is_readable(path, &is) ? tnd_fail(error, "%s: could not be read at the start", path)
                                      : fail_unreadable(path, error));
        return TND_REFUSED;
    }
    if (self->sizes[index] > self->longest) {
        (void)tnd_fail(error, "it has %llu bytes, above `max: %llu`",
                       (unsigned long long)self->sizes[index], (unsigned long long)self->longest);
        return TND_REFUSED;
    }
    tnd_kept_file_t *kept = tnd_file_prefetch_take(self->prefetch, index);
    int file = kept != NULL ? tnd_kept_file_borrow(kept) : -1;
    if (file < 0) {
        tnd_kept_file_destroy(&kept);
        return open_and_read(self, index, path, to, error);
    }
    tnd_status_t status = read_open(self, index, path, file, to, error);
    tnd_kept_file_return(kept);
    tnd_kept_file_destroy(&kept);
    return status;
}

static tnd_status_t folder_read(void *state, const tnd_source_call_t *call, tnd_block_t *block,
                                tnd_error_t *error)
{
    const folder_t *self = state;
    if (call->count == 0)
        return TND_OK;
    const uint64_t *index = tnd_buffer_data(call->indices);
    uint64_t *offsets = (uint64_t *)tnd_buffer_data(call->indices) + call->count;
    uint64_t *lengths = offsets + call->count;
    bool labelled = self->schema.count > 1;
    int32_t *labels = tnd_buffer_data(call->room);
    uint8_t *rows = tnd_buffer_data(call->room);
    rows += labelled ? tnd_round_up(call->count * sizeof *labels, TND_BUFFER_ALIGN) : 0;
    for (uint32_t i = 0; i < call->count; i++) {
        if (index[i] >= self->names.count)
            return tnd_fail(error, "folder: file %llu was requested, but there are only %zu",
                            (unsigned long long)index[i], self->names.count);
        offsets[i] = i > 0 ? offsets[i - 1] + lengths[i - 1] : 0;
        lengths[i] = self->sizes[index[i]];
        TND_TRY(read_file(self, index[i], rows + offsets[i], error));
        if (labelled)
            labels[i] = tnd_folder_labels_at(&self->labels, &self->names, index[i]);
    }
    tnd_buffer_seal(call->indices);
    tnd_buffer_seal(call->room);
    block->columns[0] = (tnd_block_column_t){.base = rows,
                                             .stride = 1,
                                             .index = offsets,
                                             .lengths = lengths,
                                             .buffer = tnd_buffer_hold(call->room)};
    if (labelled)
        block->columns[1] = (tnd_block_column_t){.base = (const uint8_t *)labels,
                                                 .stride = sizeof *labels,
                                                 .buffer = tnd_buffer_hold(call->room)};
    block->index = tnd_buffer_hold(call->indices);
    return TND_OK;
}

static tnd_status_t folder_sizes(const void *state, const uint64_t *index, uint32_t count,
                                 uint64_t *bytes, tnd_error_t *error)
{
    const folder_t *self = state;
    (void)error;
    for (uint32_t i = 0; i < count; i++)
        bytes[i] = self->sizes[index[i]] <= self->longest ? self->sizes[index[i]] : 0;
    return TND_OK;
}

static void folder_where(const void *state, uint64_t index, tnd_source_place_t *place)
{
    const folder_t *self = state;
    char path[PATH_MAX];
    tnd_names_path(&self->names, index, path);
    *place = (tnd_source_place_t){0};
    for (told_t *told = atomic_load(self->told); told != NULL; told = told->next)
        if (strcmp(told->path, path) == 0) {
            place->file = told->path;
            return;
        }
    told_t *told = tnd_allocate(1, sizeof *told + strlen(path) + 1);
    strcpy(told->path, path);
    told->next = atomic_load(self->told);
    while (!atomic_compare_exchange_weak(self->told, &told->next, told))
        ;
    place->file = told->path;
}

/*  ------------------------------------------------------------------------------------- hashing */

/*  Hashes the bytes of some files of a folder, each by itself. */
typedef struct {
    const folder_t *self;
    size_t first, end;
    uint64_t hashes[FILES_AT_ONCE][2];
    tnd_status_t statuses[FILES_AT_ONCE / FILES_A_THREAD];
    tnd_error_t errors[FILES_AT_ONCE / FILES_A_THREAD];
} hashing_t;

static void hash_some(void *context, size_t part)
{
    hashing_t *hashing = context;
    const folder_t *self = hashing->self;
    size_t first = part * FILES_A_THREAD, end = first + FILES_A_THREAD;
    tnd_status_t *status = &hashing->statuses[part];
    *status = TND_OK;
    for (size_t i = first; i < end && hashing->first + i < hashing->end && *status == TND_OK; i++) {
        char path[PATH_MAX];
        size_t file = hashing->first + i;
        tnd_names_path(&self->names, file, path);
        hashing->hashes[i][0] = hashing->hashes[i][1] = 0;
        if (self->sizes[file] > 0 && self->sizes[file] != unreadable)
            *status = tnd_content_whole(path, self->sizes[file], self->retry_ns, hashing->hashes[i],
                                        &hashing->errors[part]);
    }
}

static tnd_status_t hash_files(hashing_t *hashing, XXH3_state_t *all, tnd_error_t *error)
{
    size_t count = hashing->end - hashing->first;
    size_t parts = (count + FILES_A_THREAD - 1) / FILES_A_THREAD;
    tnd_parallel(parts, hash_some, hashing);
    for (size_t i = 0; i < parts; i++)
        if (hashing->statuses[i] != TND_OK) {
            *error = hashing->errors[i];
            return hashing->statuses[i];
        }
    XXH3_128bits_update(all, hashing->hashes, count * sizeof hashing->hashes[0]);
    return TND_OK;
}

static tnd_status_t folder_hash(const void *state, size_t place, uint64_t hash[2],
                                tnd_error_t *error)
{
    const folder_t *self = state;
    const tnd_names_t *names = &self->names;
    size_t first = names->folders[place].first;
    size_t end = place + 1 < names->folder_count ? names->folders[place + 1].first : names->count;
    tnd_status_t status = TND_OK;
    XXH3_state_t *all = tnd_require_memory(XXH3_createState());
    hashing_t *hashing = tnd_allocate(1, sizeof *hashing);
    hashing->self = self;
    XXH3_128bits_reset(all);
    for (size_t at = first; at < end && status == TND_OK; at = hashing->end) {
        hashing->first = at;
        hashing->end = end - at < FILES_AT_ONCE ? end : at + FILES_AT_ONCE;
        status = hash_files(hashing, all, error);
    }
    XXH128_hash_t value = XXH3_128bits_digest(all);
    hash[0] = value.low64;
    hash[1] = value.high64;
    free(hashing);
    XXH3_freeState(all);
    return status;
}

static uint64_t count_files(const void *state)
{
    return ((const folder_t *)state)->names.count;
}

static void show_file(const void *state, uint64_t number, tnd_source_rows_t *rows)
{
    tnd_names_path(&((const folder_t *)state)->names, number, rows->path);
    rows->rows = 1;
}

static uint64_t find_row(const void *state, uint64_t number, uint64_t record)
{
    (void)state, (void)record;
    return number;
}

static const tnd_source_locate_t locate = {count_files, show_file, find_row};

const tnd_source_t tnd_source_folder = {
    .spec = &tnd_source_folder_spec,
    .state_bytes = sizeof(folder_t),
    .open = folder_open,
    .read = folder_read,
    .sizes = folder_sizes,
    .ahead_rows = folder_ahead_rows,
    .ahead = folder_ahead,
    .where = folder_where,
    .locate = &locate,
    .hash = folder_hash,
    .close = folder_close,
};
