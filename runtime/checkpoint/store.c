/*  runtime/checkpoint/store.c - checkpoints on disk. */
#include "runtime/checkpoint/store.h"

#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include <xxhash.h>

#include "runtime/base/allocation.h"
#include "runtime/base/folder.h"
#include "runtime/core/numeric/digest.h"

enum { LOCK_TRIES = 50, LOCK_NAP_NS = 20000000 }; /* 1 s in all */
/*  Of manifests: written, oldest that is read, and first with metrics. */
enum { VERSION = 3, OLDEST = 2, WITH_METRICS = 3 };
/*  A process can map 65,530 files, each with a line of at most 1 KiB. */
enum { CHUNK = 1 << 16, MANIFEST_MAX = 128 << 20, CURSOR_MAX = 8192 };

static const char manifest_name[] = "manifest";

struct tnd_store {
    int lock;
    char dir[TND_STORE_PATH];
};

/* --- files ------------------------------------------------------------------------------------ */

static void step_path(char path[TND_STORE_PATH], const char *dir, uint64_t step)
{
    snprintf(path, TND_STORE_PATH, "%s/step-%08" PRIu64, dir, step);
}

void tnd_store_part_path(char path[TND_STORE_PATH], const char *dir, uint64_t step,
                         uint32_t replica)
{
    snprintf(path, TND_STORE_PATH, "%s/step-%08" PRIu64 "/model-%" PRIu32, dir, step, replica);
}

void tnd_store_draft_path(char path[TND_STORE_PATH], const char *dir, uint64_t step,
                          uint32_t replica)
{
    snprintf(path, TND_STORE_PATH, "%s/step-%08" PRIu64 "/model-%" PRIu32 ".draft", dir, step,
             replica);
}

static void manifest_path(char path[TND_STORE_PATH], const char *dir, uint64_t step,
                          const char *ending)
{
    snprintf(path, TND_STORE_PATH, "%s/step-%08" PRIu64 "/%s%s", dir, step, manifest_name, ending);
}

static tnd_status_t make_folder(const char *path, tnd_error_t *error)
{
    if (tnd_folder_make(path))
        return TND_OK;
    return tnd_fail(error, "%s: the folder cannot be made: %s; %s", path, strerror(errno),
                    tnd_folder_advice(errno));
}

static tnd_status_t sync_names(const char *folder, tnd_error_t *error)
{
    return tnd_folder_sync(folder)
               ? TND_OK
               : tnd_fail(error, "%s: cannot be synced: %s", folder, strerror(errno));
}

static tnd_status_t place(const char *draft, const char *file, const char *folder,
                          tnd_error_t *error)
{
    if (rename(draft, file) != 0)
        return tnd_fail(error, "%s: cannot be renamed: %s", file, strerror(errno));
    return sync_names(folder, error);
}

static tnd_status_t measure(int file, const char *path, tnd_saved_t *part, tnd_error_t *error)
{
    XXH3_state_t *state = tnd_require_memory(XXH3_createState());
    unsigned char *bytes = tnd_allocate(1, CHUNK);
    XXH3_128bits_reset(state);
    part->bytes = 0;
    ssize_t got;
    while ((got = read(file, bytes, CHUNK)) > 0) {
        XXH3_128bits_update(state, bytes, (size_t)got);
        part->bytes += (uint64_t)got;
    }
    int reason = errno;
    XXH128_hash_t hash = XXH3_128bits_digest(state);
    part->hash[0] = hash.low64;
    part->hash[1] = hash.high64;
    XXH3_freeState(state);
    free(bytes);
    return got == 0 ? TND_OK : tnd_fail(error, "%s: cannot be read: %s", path, strerror(reason));
}

bool tnd_saved_is(const tnd_saved_t *self)
{
    return (self->bytes | self->hash[0] | self->hash[1]) != 0;
}

bool tnd_saved_equal(const tnd_saved_t *a, const tnd_saved_t *b)
{
    return a->bytes == b->bytes && a->hash[0] == b->hash[0] && a->hash[1] == b->hash[1];
}

/* --- the lock --------------------------------------------------------------------------------- */

/*  A killed run may take a moment to release the lock. */
static bool take_lock(int lock)
{
    const struct timespec nap = {.tv_nsec = LOCK_NAP_NS};
    for (int tries = LOCK_TRIES; flock(lock, LOCK_EX | LOCK_NB) != 0; tries--) {
        if (errno != EWOULDBLOCK)
            return true; /* the file system has no locks */
        if (tries == 0)
            return false;
        nanosleep(&nap, NULL);
    }
    return true;
}

static void lock_path(char path[TND_STORE_PATH], const char *dir)
{
    snprintf(path, TND_STORE_PATH, "%s/lock", dir);
}

static tnd_status_t lock_folder(const char *dir, int *lock_p, tnd_error_t *error)
{
    TND_TRY(make_folder(dir, error));
    char path[TND_STORE_PATH];
    lock_path(path, dir);
    int lock = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    if (lock < 0)
        return tnd_fail(error, "%s: checkpoints cannot be written there: %s; %s", dir,
                        strerror(errno), tnd_folder_advice(errno));
    if (!take_lock(lock)) {
        close(lock);
        return tnd_fail(error, "%s: another run writes its checkpoints there: name another folder",
                        dir);
    }
    *lock_p = lock;
    return TND_OK;
}

tnd_status_t tnd_store_open(tnd_store_t **self_p, const char *dir, tnd_error_t *error)
{
    int lock;
    TND_TRY(lock_folder(dir, &lock, error));
    tnd_store_t *self = tnd_allocate(1, sizeof *self);
    self->lock = lock;
    snprintf(self->dir, sizeof self->dir, "%s", dir);
    *self_p = self;
    return TND_OK;
}

bool tnd_store_holds(const tnd_store_t *self)
{
    char path[TND_STORE_PATH];
    struct stat locked, named;
    lock_path(path, self->dir);
    return fstat(self->lock, &locked) == 0 && stat(path, &named) == 0 &&
           locked.st_dev == named.st_dev && locked.st_ino == named.st_ino;
}

bool tnd_store_is_locked(const char *dir)
{
    char path[TND_STORE_PATH];
    lock_path(path, dir);
    int lock = open(path, O_RDONLY | O_CLOEXEC);
    bool locked = lock >= 0 && flock(lock, LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK;
    if (lock >= 0)
        close(lock);
    return locked;
}

tnd_status_t tnd_store_lock_again(tnd_store_t *self, tnd_error_t *error)
{
    int lock;
    TND_TRY(lock_folder(self->dir, &lock, error));
    close(self->lock);
    self->lock = lock;
    return TND_OK;
}

void tnd_store_close(tnd_store_t **self_p)
{
    if (*self_p == NULL)
        return;
    close((*self_p)->lock);
    free(*self_p);
    *self_p = NULL;
}

/* --- parts ------------------------------------------------------------------------------------ */

tnd_status_t tnd_store_begin(const char *dir, uint64_t step, tnd_error_t *error)
{
    char path[TND_STORE_PATH];
    step_path(path, dir, step);
    TND_TRY(make_folder(path, error));
    return sync_names(dir, error);
}

static tnd_status_t seal(const char *draft, tnd_saved_t *part, tnd_error_t *error)
{
    int file = open(draft, O_RDONLY | O_CLOEXEC);
    if (file < 0)
        return tnd_fail(error, "%s: cannot be read: %s", draft, strerror(errno));
    tnd_status_t status = measure(file, draft, part, error);
    if (status == TND_OK && fsync(file) != 0)
        status = tnd_fail(error, "%s: cannot be made durable: %s", draft, strerror(errno));
    close(file);
    return status;
}

tnd_status_t tnd_store_seal(const char *dir, uint64_t step, uint32_t replica, tnd_saved_t *part,
                            tnd_error_t *error)
{
    char folder[TND_STORE_PATH], draft[TND_STORE_PATH], path[TND_STORE_PATH];
    step_path(folder, dir, step);
    tnd_store_draft_path(draft, dir, step, replica);
    tnd_store_part_path(path, dir, step, replica);
    tnd_status_t status = seal(draft, part, error);
    if (status == TND_OK)
        status = place(draft, path, folder, error);
    if (status != TND_OK)
        unlink(draft);
    return status;
}

tnd_status_t tnd_store_measure(const char *dir, uint64_t step, uint32_t replica, tnd_saved_t *part,
                               tnd_error_t *error)
{
    char path[TND_STORE_PATH];
    tnd_store_part_path(path, dir, step, replica);
    int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0)
        return tnd_fail(error, "%s: cannot be opened: %s", path, strerror(errno));
    tnd_status_t status = measure(file, path, part, error);
    close(file);
    return status;
}

bool tnd_store_has_part(const tnd_resume_t *resume, uint32_t replica)
{
    char path[TND_STORE_PATH];
    tnd_store_part_path(path, resume->dir, resume->step, replica);
    return access(path, F_OK) == 0;
}

bool tnd_store_find_equal(const tnd_resume_t *resume, uint32_t replica, char path[TND_STORE_PATH])
{
    const tnd_saved_t *wanted = &resume->parts[replica];
    for (uint32_t r = 0; r < resume->replicas; r++) {
        tnd_saved_t saved;
        tnd_store_part_path(path, resume->dir, resume->step, r);
        if (r != replica && tnd_saved_equal(&resume->parts[r], wanted) && access(path, R_OK) == 0 &&
            tnd_store_measure(resume->dir, resume->step, r, &saved, NULL) == TND_OK &&
            tnd_saved_equal(&saved, wanted))
            return true;
    }
    return false;
}

tnd_status_t tnd_store_check(const tnd_resume_t *resume, uint32_t replica,
                             char path[TND_STORE_PATH], tnd_error_t *error)
{
    tnd_saved_t saved;
    uint32_t wanted = replica;
    while (replica > 0 && replica < resume->replicas && !tnd_saved_is(&resume->parts[replica]))
        replica--;
    if (replica >= resume->replicas || !tnd_saved_is(&resume->parts[replica]))
        return tnd_fail(error, "the checkpoint has no model of replica %" PRIu32, wanted);
    bool has = tnd_store_has_part(resume, replica);
    if (!has && tnd_store_find_equal(resume, replica, path))
        return TND_OK;
    tnd_store_part_path(path, resume->dir, resume->step, replica);
    if (!has && resume->is_others)
        return tnd_fail(error,
                        "%s does not exist, and no part with the same bytes is in %.300s on this "
                        "host: copy it from the host that has saved it, or share the folder",
                        path, resume->dir);
    if (tnd_store_measure(resume->dir, resume->step, replica, &saved, error) != TND_OK)
        return tnd_store_has(resume->dir, resume->step)
                   ? TND_FAILED
                   : tnd_fail(
                         error,
                         "%.300s: the checkpoint after step %" PRIu64
                         " was removed after it was chosen: the run that writes to this folder "
                         "keeps its newest ones only (`keep:`); name a newer one, or evaluate "
                         "each with --watch",
                         resume->dir, resume->step - 1);
    tnd_store_part_path(path, resume->dir, resume->step, replica);
    if (!tnd_saved_equal(&saved, &resume->parts[replica]))
        return tnd_fail(error, "%s differs from its manifest: resume from an older checkpoint",
                        path);
    return TND_OK;
}

/* --- the manifest: lines of words, closed by the hash of all before --------------------------- */

static void print_hex(FILE *out, const unsigned char *bytes, size_t size)
{
    for (size_t i = 0; i < size; i++)
        fprintf(out, "%02x", bytes[i]);
}

static void hash_text(const char *text, size_t size, char hex[TND_DIGEST_TEXT_SIZE])
{
    XXH128_hash_t hash = XXH3_128bits(text, size);
    tnd_digest_print(&(tnd_digest_t){.low = hash.low64, .high = hash.high64}, hex);
}

/*  Writes the lines of a text, each after a word for its kind. */
static void write_lines(FILE *out, const char *word, const char *text)
{
    for (const char *line = text; line != NULL && *line != '\0';) {
        size_t length = strcspn(line, "\n");
        fprintf(out, "%s %.*s\n", word, (int)length, line);
        line += length + (line[length] == '\n');
    }
}

static char *write_text(const tnd_manifest_t *manifest, size_t *size_p)
{
    char *text = NULL, hex[TND_DIGEST_TEXT_SIZE];
    unsigned char cursor[CURSOR_MAX];
    size_t cursor_size = tnd_cursor_encode(&manifest->cursor, cursor, sizeof cursor);
    assert(cursor_size <= sizeof cursor);
    FILE *out = tnd_memory_stream(&text, size_p);
    fprintf(out, "tundish checkpoint %d\ncursor ", VERSION);
    print_hex(out, cursor, cursor_size);
    fprintf(out, "\nreplicas %" PRIu32 "\n", manifest->replicas);
    for (uint32_t r = 0; r < manifest->replicas; r++) {
        const tnd_saved_t *part = &manifest->parts[r];
        tnd_digest_print(&(tnd_digest_t){.low = part->hash[0], .high = part->hash[1]}, hex);
        fprintf(out, "part %" PRIu32 " %" PRIu64 " %s\n", r, part->bytes, hex);
    }
    write_lines(out, "graph", manifest->graph);
    write_lines(out, "data", manifest->data);
    tnd_epoch_metrics_write(&manifest->sums, out);
    tnd_validations_write(&manifest->validations, out);
    fflush(out);
    hash_text(text, *size_p, hex);
    fprintf(out, "hash %s\n", hex);
    if (fclose(out) != 0)
        tnd_require_memory(NULL);
    return text;
}

static tnd_status_t write_whole(const char *path, const char *text, size_t size, tnd_error_t *error)
{
    int file = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (file < 0)
        return tnd_fail(error, "%s: cannot be written: %s", path, strerror(errno));
    ssize_t wrote = 0;
    size_t done = 0;
    while (done < size && (wrote = write(file, text + done, size - done)) > 0)
        done += (size_t)wrote;
    bool bad = done < size || fsync(file) != 0;
    int reason = wrote == 0 && done < size ? ENOSPC : errno;
    bad = close(file) != 0 || bad;
    return bad ? tnd_fail(error, "%s: could not be written completely: %s", path, strerror(reason))
               : TND_OK;
}

tnd_status_t tnd_store_commit(const char *dir, const tnd_manifest_t *manifest, tnd_error_t *error)
{
    char folder[TND_STORE_PATH], draft[TND_STORE_PATH], path[TND_STORE_PATH];
    uint64_t step = manifest->cursor.step;
    step_path(folder, dir, step);
    manifest_path(draft, dir, step, ".draft");
    manifest_path(path, dir, step, "");
    size_t size = 0;
    char *text = write_text(manifest, &size);
    tnd_status_t status = write_whole(draft, text, size, error);
    free(text);
    if (status == TND_OK)
        status = place(draft, path, folder, error);
    if (status != TND_OK)
        unlink(draft);
    return status;
}

/*  The NUL-terminated contents of a file; NULL if it cannot be read. */
static char *read_whole(const char *path, size_t *size_p, tnd_error_t *error)
{
    int file = open(path, O_RDONLY | O_CLOEXEC);
    struct stat is;
    char *text = NULL;
    *size_p = 0;
    if (file < 0) {
        (void)tnd_fail(error, "%s: cannot be opened: %s", path, strerror(errno));
        return NULL;
    }
    if (fstat(file, &is) != 0 || !S_ISREG(is.st_mode) || is.st_size > MANIFEST_MAX) {
        (void)tnd_fail(error, "%s: is not a manifest of a checkpoint", path);
    } else {
        ssize_t got = 1;
        text = tnd_allocate_zeroed(1, (size_t)is.st_size + 1);
        while (*size_p < (size_t)is.st_size &&
               (got = read(file, text + *size_p, (size_t)is.st_size - *size_p)) > 0)
            *size_p += (size_t)got;
        if (got < 0) {
            (void)tnd_fail(error, "%s: cannot be read: %s", path, strerror(errno));
            free(text);
            text = NULL;
        }
    }
    close(file);
    return text;
}

static int nibble(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static tnd_status_t read_cursor(const char *hex, tnd_cursor_t *cursor, tnd_error_t *error)
{
    unsigned char bytes[CURSOR_MAX];
    size_t size = 0;
    for (; hex[0] != '\0' && size < sizeof bytes; hex += 2, size++) {
        int high = nibble(hex[0]), low = high < 0 ? -1 : nibble(hex[1]);
        if (low < 0)
            return tnd_fail(error, "its cursor is damaged");
        bytes[size] = (unsigned char)(high << 4 | low);
    }
    return tnd_cursor_decode(cursor, bytes, size, error);
}

static tnd_status_t read_part(const char *words, tnd_manifest_t *manifest, uint32_t *next,
                              tnd_error_t *error)
{
    uint32_t replica;
    tnd_saved_t part;
    char hex[64];
    tnd_digest_t hash;
    if (sscanf(words, "%" SCNu32 " %" SCNu64 " %63s", &replica, &part.bytes, hex) != 3 ||
        replica != *next || replica >= manifest->replicas || !tnd_digest_parse(&hash, hex))
        return tnd_fail(error, "the line of part %" PRIu32 " is damaged", *next);
    part.hash[0] = hash.low;
    part.hash[1] = hash.high;
    manifest->parts[(*next)++] = part;
    return TND_OK;
}

/*  Reads a line; `graph` and `data` collect the lines of the graph and of the data table. */
static tnd_status_t read_line(const char *line, tnd_manifest_t *manifest, uint32_t *parts,
                              FILE *graph, FILE *data, tnd_error_t *error)
{
    uint32_t replicas;
    if (strncmp(line, "cursor ", 7) == 0)
        return read_cursor(line + 7, &manifest->cursor, error);
    if (sscanf(line, "replicas %" SCNu32, &replicas) == 1 && manifest->parts == NULL &&
        replicas > 0 && replicas <= MANIFEST_MAX / sizeof(tnd_saved_t)) {
        manifest->replicas = replicas;
        manifest->parts = tnd_allocate_zeroed(replicas, sizeof *manifest->parts);
        return TND_OK;
    }
    if (strncmp(line, "part ", 5) == 0)
        return read_part(line + 5, manifest, parts, error);
    if (strncmp(line, "graph ", 6) == 0) {
        fprintf(graph, "%s\n", line + 6);
        return TND_OK;
    }
    if (strncmp(line, "data ", 5) == 0) {
        fprintf(data, "%s\n", line + 5);
        return TND_OK;
    }
    if (strncmp(line, "metrics ", 8) == 0)
        return tnd_epoch_metrics_read(&manifest->sums, line + 8)
                   ? TND_OK
                   : tnd_fail(error, "a line of metrics is damaged");
    if (strncmp(line, "validated ", 10) == 0)
        return tnd_validations_read(&manifest->validations, line + 10)
                   ? TND_OK
                   : tnd_fail(error, "a line of validations is damaged");
    return tnd_fail(error, "a line is not understood: %.60s", line);
}

/*  Checks the last line and removes it. */
static tnd_status_t check_hash(char *text, size_t *size, tnd_error_t *error)
{
    static const size_t last = sizeof "hash 00000000000000000000000000000000\n" - 1;
    char hex[TND_DIGEST_TEXT_SIZE];
    static const char head[] = "tundish checkpoint ";
    if (*size > 0 && strncmp(text, head, *size < strlen(head) ? *size : strlen(head)) != 0)
        return tnd_fail(error, "it is not a manifest of a checkpoint");
    if (*size < last || strlen(text) != *size || strncmp(text + *size - last, "hash ", 5) != 0)
        return tnd_fail(error, "it is cut short");
    *size -= last;
    hash_text(text, *size, hex);
    if (strncmp(text + *size + 5, hex, 32) != 0 || text[*size + last - 1] != '\n')
        return tnd_fail(error, "it is damaged: its hash differs");
    text[*size] = '\0';
    return TND_OK;
}

static tnd_status_t read_lines(char *text, tnd_manifest_t *manifest, FILE *graph, FILE *data,
                               tnd_error_t *error)
{
    int version;
    uint32_t parts = 0;
    char *rest = text;
    const char *line = strsep(&rest, "\n");
    if (line == NULL || sscanf(line, "tundish checkpoint %d", &version) != 1)
        return tnd_fail(error, "it is not a manifest of a checkpoint");
    if (version < OLDEST || version > VERSION)
        return tnd_fail(error, "it has version %d; this program reads versions %d to %d", version,
                        OLDEST, VERSION);
    while ((line = strsep(&rest, "\n")) != NULL && *line != '\0')
        TND_TRY(read_line(line, manifest, &parts, graph, data, error));
    if (manifest->cursor.lanes == 0 || parts == 0 || parts != manifest->replicas)
        return tnd_fail(error, "its cursor or some part is missing");
    manifest->lacks_sums = version < WITH_METRICS;
    if (manifest->lacks_sums)
        tnd_epoch_metrics_lose(&manifest->sums, &manifest->cursor);
    return TND_OK;
}

void tnd_manifest_free(tnd_manifest_t *self)
{
    free(self->graph);
    free(self->data);
    free(self->parts);
    tnd_validations_free(&self->validations);
    *self = (tnd_manifest_t){.replicas = 0};
}

tnd_status_t tnd_manifest_read(const char *path, tnd_manifest_t *manifest, tnd_error_t *error)
{
    *manifest = (tnd_manifest_t){.replicas = 0};
    size_t size;
    char *text = read_whole(path, &size, error);
    if (text == NULL)
        return TND_FAILED;
    tnd_error_t why;
    size_t graph_size = 0, data_size = 0;
    FILE *graph = tnd_memory_stream(&manifest->graph, &graph_size);
    FILE *data = tnd_memory_stream(&manifest->data, &data_size);
    tnd_status_t status = check_hash(text, &size, &why);
    if (status == TND_OK)
        status = read_lines(text, manifest, graph, data, &why);
    fclose(graph);
    fclose(data);
    free(text);
    if (status == TND_OK)
        return TND_OK;
    tnd_manifest_free(manifest);
    return tnd_fail(error, "%s: %s", path, why.text);
}

bool tnd_store_has(const char *dir, uint64_t step)
{
    char path[TND_STORE_PATH];
    manifest_path(path, dir, step, "");
    return access(path, F_OK) == 0;
}

tnd_status_t tnd_store_read(const char *dir, uint64_t step, tnd_manifest_t *manifest,
                            tnd_error_t *error)
{
    char path[TND_STORE_PATH];
    manifest_path(path, dir, step, "");
    TND_TRY(tnd_manifest_read(path, manifest, error));
    if (manifest->cursor.step == step)
        return TND_OK;
    uint64_t found = manifest->cursor.step;
    tnd_manifest_free(manifest);
    return tnd_fail(error, "%s: its cursor is that of step %" PRIu64, path, found);
}

/* --- all of them ------------------------------------------------------------------------------ */

static int descending(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return x < y ? 1 : x > y ? -1 : 0;
}

tnd_status_t tnd_store_list(const char *dir, uint64_t **steps_p, size_t *count_p,
                            tnd_error_t *error)
{
    *steps_p = NULL;
    *count_p = 0;
    DIR *folder = opendir(dir);
    if (folder == NULL)
        return errno == ENOENT ? TND_OK
                               : tnd_fail(error, "%s: cannot be read: %s", dir, strerror(errno));
    const struct dirent *entry;
    while ((entry = readdir(folder)) != NULL) {
        uint64_t step;
        int used = 0;
        if (sscanf(entry->d_name, "step-%" SCNu64 "%n", &step, &used) != 1 ||
            entry->d_name[used] != '\0')
            continue;
        *steps_p = tnd_resize(*steps_p, *count_p + 1, sizeof **steps_p);
        (*steps_p)[(*count_p)++] = step;
    }
    closedir(folder);
    if (*count_p > 0)
        qsort(*steps_p, *count_p, sizeof **steps_p, descending);
    return TND_OK;
}

void tnd_store_forget(const char *dir, uint64_t step)
{
    char path[TND_STORE_PATH];
    manifest_path(path, dir, step, "");
    unlink(path);
    step_path(path, dir, step);
    (void)tnd_folder_sync(path);
    DIR *folder = opendir(path);
    const struct dirent *entry;
    while (folder != NULL && (entry = readdir(folder)) != NULL)
        if (strncmp(entry->d_name, "model-", 6) == 0 ||
            strncmp(entry->d_name, manifest_name, sizeof manifest_name - 1) == 0)
            unlinkat(dirfd(folder), entry->d_name, 0);
    if (folder != NULL)
        closedir(folder);
    rmdir(path);
}

void tnd_store_forget_below(const char *dir, uint64_t below, uint64_t best)
{
    uint64_t *steps = NULL;
    size_t count = 0;
    if (below == 0 || tnd_store_list(dir, &steps, &count, NULL) != TND_OK)
        return;
    for (size_t i = 0; i < count; i++)
        if (steps[i] < below && steps[i] != best)
            tnd_store_forget(dir, steps[i]);
    free(steps);
}
