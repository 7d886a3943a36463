/*  tools/launch/sent_run.c - a run whose options and files come from another machine. */
#include "tools/launch/sent_run.h"

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <xxhash.h>

#include "runtime/base/allocation.h"
#include "runtime/base/thread.h"
#include "runtime/text/yaml.h"

enum { ITEMS_MAX = 65536, RANK_MAX = 65535, MEMORY_NAME = 240 };

/* --- what is sent ----------------------------------------------------------------------------- */

static tnd_status_t load(tnd_sent_run_t *self, const char *name, tnd_error_t *error)
{
    FILE *in = fopen(name, "rbe");
    char *text = tnd_allocate(1, TND_YAML_SIZE_MAX + 1);
    size_t size = in != NULL ? fread(text, 1, TND_YAML_SIZE_MAX + 1, in) : 0;
    bool good = in != NULL && ferror(in) == 0;
    int why = errno;
    if (in != NULL)
        fclose(in);
    self->names[self->file_count] = tnd_copy_string(name);
    self->texts[self->file_count] = text;
    self->sizes[self->file_count++] = size;
    if (!good)
        return tnd_fail(error, "%s: cannot be read: %s", name, strerror(why));
    if (size > TND_YAML_SIZE_MAX)
        return tnd_fail(error, "%s: is larger than a topology may be", name);
    return TND_OK;
}

static void make_room(tnd_sent_run_t *self, size_t files)
{
    self->names = tnd_allocate_zeroed(files + 1, sizeof *self->names);
    self->texts = tnd_allocate_zeroed(files + 1, sizeof *self->texts);
    self->sizes = tnd_allocate_zeroed(files + 1, sizeof *self->sizes);
}

tnd_status_t tnd_sent_run_load(tnd_sent_run_t *self, const char *const *files, size_t count,
                               tnd_error_t *error)
{
    tnd_status_t status = TND_OK;
    *self = (tnd_sent_run_t){.file_count = 0};
    make_room(self, count);
    for (size_t i = 0; i < count && status == TND_OK; i++)
        status = load(self, files[i], error);
    if (status != TND_OK)
        tnd_sent_run_free(self);
    return status;
}

static void free_list(char **list)
{
    for (size_t i = 0; list != NULL && list[i] != NULL; i++)
        free(list[i]);
    free(list);
}

void tnd_sent_run_free(tnd_sent_run_t *self)
{
    free_list(self->variables);
    free_list(self->words);
    free_list(self->names);
    free_list(self->texts);
    free(self->sizes);
    *self = (tnd_sent_run_t){.file_count = 0};
}

/*  A count, and each text with the zero at its end. */
static void write_list(FILE *out, char *const *list)
{
    size_t count = 0;
    while (list != NULL && list[count] != NULL)
        count++;
    fprintf(out, "%zu%c", count, 0);
    for (size_t i = 0; i < count; i++)
        fwrite(list[i], 1, strlen(list[i]) + 1, out);
}

char *tnd_sent_run_write(const tnd_sent_run_t *self, size_t *size_p)
{
    char *bytes = NULL;
    FILE *out = tnd_memory_stream(&bytes, size_p);
    write_list(out, self->variables);
    write_list(out, self->words);
    write_list(out, self->names);
    for (size_t i = 0; i < self->file_count; i++) {
        fprintf(out, "%zu%c", self->sizes[i], 0);
        fwrite(self->texts[i], 1, self->sizes[i], out);
    }
    fclose(out);
    return bytes;
}

void tnd_sent_run_head(char line[TND_SENT_HEAD], uint32_t rank, const char *bytes, size_t size)
{
    snprintf(line, TND_SENT_HEAD, "tundish sent 1: rank %" PRIu32 ", %zu bytes, %016" PRIx64 "\n",
             rank, size, (uint64_t)XXH3_64bits(bytes, size));
}

/* --- what arrives ----------------------------------------------------------------------------- */

bool tnd_sent_run_parse_head(const char *line, uint32_t *rank_p, size_t *size_p, uint64_t *hash_p)
{
    int end = 0;
    return sscanf(line, "tundish sent 1: rank %5" SCNu32 ", %9zu bytes, %16" SCNx64 "%n", rank_p,
                  size_p, hash_p, &end) == 3 &&
           line[end] == '\0' && *rank_p <= RANK_MAX && *size_p <= TND_SENT_BYTES_MAX;
}

typedef struct {
    const char *at, *end;
} bytes_t;

/*  The next text; NULL: it has no end. */
static const char *take_text(bytes_t *bytes)
{
    const char *text = bytes->at;
    const char *zero = memchr(text, '\0', (size_t)(bytes->end - text));
    if (zero == NULL)
        return NULL;
    bytes->at = zero + 1;
    return text;
}

static bool take_number(bytes_t *bytes, size_t most, size_t *number_p)
{
    const char *text = take_text(bytes);
    if (text == NULL || strlen(text) == 0 || strlen(text) > 9 ||
        strspn(text, "0123456789") != strlen(text))
        return false;
    *number_p = (size_t)strtoul(text, NULL, 10);
    return *number_p <= most;
}

static bool take_list(bytes_t *bytes, char ***list_p, size_t *count_p)
{
    if (!take_number(bytes, ITEMS_MAX, count_p))
        return false;
    *list_p = tnd_allocate_zeroed(*count_p + 1, sizeof **list_p);
    for (size_t i = 0; i < *count_p; i++) {
        const char *text = take_text(bytes);
        if (text == NULL)
            return false;
        (*list_p)[i] = tnd_copy_string(text);
    }
    return true;
}

static bool take_file(bytes_t *bytes, char **text_p, size_t *size_p)
{
    if (!take_number(bytes, TND_YAML_SIZE_MAX, size_p) ||
        *size_p > (size_t)(bytes->end - bytes->at))
        return false;
    *text_p = tnd_allocate(1, *size_p + 1);
    memcpy(*text_p, bytes->at, *size_p);
    bytes->at += *size_p;
    return true;
}

static bool take_all(tnd_sent_run_t *self, bytes_t *bytes)
{
    size_t variables, words, files;
    if (!take_list(bytes, &self->variables, &variables) ||
        !take_list(bytes, &self->words, &words) || !take_number(bytes, ITEMS_MAX, &files))
        return false;
    make_room(self, files);
    for (size_t i = 0; i < files; i++) {
        const char *name = take_text(bytes);
        if (name == NULL)
            return false;
        self->names[i] = tnd_copy_string(name);
    }
    for (; self->file_count < files; self->file_count++)
        if (!take_file(bytes, &self->texts[self->file_count], &self->sizes[self->file_count]))
            return false;
    for (size_t i = 0; i < variables; i++)
        if (strncmp(self->variables[i], "TUNDISH_", strlen("TUNDISH_")) != 0 ||
            strchr(self->variables[i], '=') == NULL)
            return false;
    return bytes->at == bytes->end;
}

bool tnd_sent_run_parse(tnd_sent_run_t *self, const char *bytes, size_t size)
{
    bytes_t rest = {.at = bytes, .end = bytes + size};
    *self = (tnd_sent_run_t){.file_count = 0};
    if (take_all(self, &rest))
        return true;
    tnd_sent_run_free(self);
    return false;
}

/* --- the receiving process -------------------------------------------------------------------- */

static bool read_whole(char *bytes, size_t size)
{
    for (size_t used = 0; used < size;) {
        ssize_t got = read(STDIN_FILENO, bytes + used, size - used);
        if (got == 0 || (got < 0 && errno != EINTR))
            return false;
        used += got > 0 ? (size_t)got : 0;
    }
    return true;
}

/*  One byte at a time, so that what follows the line stays in the pipe. */
static bool read_head(char line[TND_SENT_HEAD])
{
    for (size_t used = 0; used < TND_SENT_HEAD; used++) {
        if (!read_whole(line + used, 1))
            return false;
        if (line[used] == '\n') {
            line[used] = '\0';
            return true;
        }
    }
    return false;
}

static void *watch_stdin(void *context)
{
    char byte;
    (void)context;
    while (read_whole(&byte, 1))
        if (byte == TND_SENT_DRAIN || byte == TND_SENT_END)
            (void)kill(getpid(), byte == TND_SENT_DRAIN ? SIGTERM : SIGINT);
    (void)kill(getpid(), SIGTERM);
    return NULL;
}

/*  A file in memory with the name of the one that was sent; its path. */
static char *store(const char *name, const char *text, size_t size)
{
    size_t length = strlen(name);
    int file = memfd_create(length > MEMORY_NAME ? name + length - MEMORY_NAME : name, 0);
    size_t used = 0;
    while (file >= 0 && used < size) {
        ssize_t put = write(file, text + used, size - used);
        if (put < 0)
            return NULL;
        used += (size_t)put;
    }
    return file >= 0 ? tnd_format_string("/proc/self/fd/%d", file) : NULL;
}

static bool is_sent;

bool tnd_sent_run_is(void)
{
    return is_sent;
}

tnd_status_t tnd_sent_run_watch(tnd_error_t *error)
{
    pthread_t thread;
    is_sent = true;
    TND_TRY(tnd_thread_create_without_signals(&thread, "stdin", watch_stdin, NULL, error));
    pthread_detach(thread);
    return TND_OK;
}

static tnd_status_t take(const tnd_sent_run_t *sent, uint32_t rank, char ***words_p,
                         size_t *count_p, tnd_error_t *error)
{
    char number[16];
    size_t count = 0, used = 0;
    snprintf(number, sizeof number, "%" PRIu32, rank);
    (void)setenv("TUNDISH_RANK", number, 1);
    for (size_t i = 0; sent->variables[i] != NULL; i++) {
        char *name = tnd_copy_string(sent->variables[i]), *value = strchr(name, '=');
        *value++ = '\0';
        (void)setenv(name, value, 1);
        free(name);
    }
    while (sent->words[count] != NULL)
        count++;
    char **words = tnd_allocate_zeroed(count + sent->file_count + 1, sizeof *words);
    for (; used < count; used++)
        words[used] = tnd_copy_string(sent->words[used]);
    for (size_t i = 0; i < sent->file_count; i++) {
        words[used] = store(sent->names[i], sent->texts[i], sent->sizes[i]);
        if (words[used++] == NULL)
            return tnd_fail(error, "cannot store `%s` in memory: %s", sent->names[i],
                            strerror(errno));
    }
    *words_p = words;
    *count_p = used;
    return tnd_sent_run_watch(error);
}

tnd_status_t tnd_sent_run_receive(char ***words_p, size_t *count_p, tnd_error_t *error)
{
    char line[TND_SENT_HEAD];
    tnd_sent_run_t sent;
    uint32_t rank;
    size_t size;
    uint64_t hash;
    if (!read_head(line) || !tnd_sent_run_parse_head(line, &rank, &size, &hash))
        return tnd_fail(error,
                        "stdin does not begin as `tundish up --on` of this version writes it");
    char *bytes = tnd_allocate(1, size + 1);
    bool whole = read_whole(bytes, size);
    bool good = whole && XXH3_64bits(bytes, size) == hash && tnd_sent_run_parse(&sent, bytes, size);
    free(bytes);
    if (!good)
        return tnd_fail(error, "the files that `tundish up --on` sent are %s",
                        whole ? "damaged" : "cut off");
    tnd_status_t status = take(&sent, rank, words_p, count_p, error);
    tnd_sent_run_free(&sent);
    if (status == TND_OK) {
        puts(TND_SENT_ANSWER);
        (void)fflush(stdout);
    }
    return status;
}
