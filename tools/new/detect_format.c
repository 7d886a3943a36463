/*  tools/new/detect_format.c - detects the format, rows and name of data files. */
#include "tools/new/detect_format.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <zlib.h>

#include "actors/source/sources.h"
#include "runtime/option/option_parse.h"
#include "runtime/option/registry.h"

enum { HEAD = 64 };

/*  The first bytes of a file, decompressed if needed. */
typedef struct {
    unsigned char bytes[HEAD + 1];
    size_t size;
    bool packed;
} head_t;

static tnd_status_t read_head(const char *path, head_t *head, tnd_error_t *error)
{
    *head = (head_t){0};
    FILE *in = fopen(path, "rb");
    size_t raw = in != NULL ? fread(head->bytes, 1, HEAD, in) : 0;
    bool bad = in == NULL || ferror(in) != 0;
    int reason = errno;
    if (in != NULL)
        fclose(in);
    if (bad)
        return tnd_fail(error, "%s: cannot be read: %s", path, strerror(reason));
    head->size = raw;
    head->packed = raw >= 2 && head->bytes[0] == 0x1f && head->bytes[1] == 0x8b;
    if (!head->packed)
        return TND_OK;
    gzFile unpacked = gzopen(path, "rb");
    int size = unpacked != NULL ? gzread(unpacked, head->bytes, HEAD) : -1;
    if (unpacked != NULL)
        gzclose(unpacked);
    head->size = size > 0 ? (size_t)size : 0;
    head->bytes[head->size] = '\0';
    return TND_OK;
}

static bool begins(const head_t *head, const char *bytes, size_t size)
{
    return head->size >= size && memcmp(head->bytes, bytes, size) == 0;
}

static bool is_idx(const head_t *head)
{
    unsigned type = head->bytes[2];
    return head->size >= 8 && head->bytes[0] == 0 && head->bytes[1] == 0 && type >= 0x08 &&
           type <= 0x0e && type != 0x0a && head->bytes[3] >= 1 &&
           head->bytes[3] <= TND_RANK_MAX + 1;
}

/*  The source that reads files with these first bytes; NULL: none. */
static const char *source_of(const head_t *head)
{
    if (begins(head, "\x93NUMPY", 6) && !head->packed)
        return "npy";
    return is_idx(head) ? "idx" : NULL;
}

/*  Describes a file that no source reads, and what the user can do. */
static const char *guess(const head_t *head)
{
    static const struct {
        const char *bytes;
        size_t size;
        const char *what;
    } formats[] = {
        {"\x93NUMPY", 6, "a .npy compressed by gzip: unpack it with gunzip"},
        {"PK\x03\x04", 4, "a zip, such as .npz: unpack it, each array inside is a .npy"},
        {"\x89PNG", 4, "a PNG picture: np.save an array of all pictures"},
        {"\xff\xd8\xff", 3, "a JPEG picture: np.save an array of all pictures"},
        {"\x89HDF", 4, "HDF5: np.save each of its arrays"},
        {"PAR1", 4, "Parquet: np.save each of its columns"},
        {"ARROW1", 6, "Arrow: np.save each of its columns"},
        {"\x80\x04", 2, "a Python pickle: np.save the arrays in it"},
        {"\x80\x03", 2, "a Python pickle: np.save the arrays in it"},
        {"\x80\x02", 2, "a Python pickle: np.save the arrays in it"},
        {"BZh", 3, "compressed by bzip2: unpack it"},
        {"\xfd"
         "7zXZ",
         5, "compressed by xz: unpack it"},
        {"\x28\xb5\x2f\xfd", 4, "compressed by zstd: unpack it"},
        {"tundish:", 8, "a topology, for commands like `tundish head`"},
    };
    if (head->size == 0)
        return head->packed ? "damaged: it begins as a gzip file and cannot be unpacked" : "empty";
    for (size_t i = 0; i < sizeof formats / sizeof formats[0]; i++)
        if (begins(head, formats[i].bytes, formats[i].size))
            return formats[i].what;
    for (size_t i = 0; i < head->size; i++)
        if (head->bytes[i] == 0 || (head->bytes[i] < ' ' && !isspace(head->bytes[i])))
            return "bytes without a header that describes their shape: np.save them as an array "
                   "or, if they are records of one size, describe these to the source `raw`: "
                   "tundish help raw";
    return "text, perhaps CSV: np.loadtxt reads numbers from it, np.save writes them as .npy";
}

/*  The columns and rows of one file, as its source reports them. */
static tnd_status_t open_source(tnd_detected_format_t *item, tnd_arena_t *arena, tnd_error_t *error)
{
    tnd_mark_t nowhere = {0};
    tnd_options_context_t context = {.arena = arena, .diagnostics = tnd_diagnostics_new(arena)};
    const tnd_table_t *table = NULL;
    for (size_t i = 0; table == NULL; i++)
        if (strcmp(tnd_registry_source_table(i)->name, item->source) == 0)
            table = tnd_registry_source_table(i);
    const tnd_source_t *source = tnd_source_of(tnd_source_spec_of(table));
    tnd_value_t *map = tnd_value_map(arena, nowhere);
    tnd_value_put(arena, map, "x", nowhere, tnd_value_scalar(arena, nowhere, item->path));
    const void *options = tnd_options_parse(&context, table, map, "new", nowhere);
    if (options == NULL)
        return tnd_fail(error, "%s: a path with ${ } cannot be written in a topology", item->path);
    void *state = tnd_arena_take(arena, source->state_bytes);
    const tnd_source_scope_t scope = {.lanes = 1};
    tnd_source_facts_t facts = {0};
    TND_TRY(source->open(state, options, &scope, &facts, error));
    source->close(state);
    item->rows = facts.count;
    item->column = facts.schema.columns[0];
    return TND_OK;
}

/*  Whether the bytes are valid UTF-8, as YAML requires. */
static bool is_utf8(const char *text)
{
    for (const unsigned char *at = (const unsigned char *)text; *at != '\0';) {
        size_t more = *at < 0x80 ? 0 : *at >= 0xf0 ? 3 : *at >= 0xe0 ? 2 : 1;
        if ((*at >= 0x80 && *at < 0xc2) || *at > 0xf4)
            return false;
        for (at++; more > 0; more--, at++)
            if ((*at & 0xc0) != 0x80)
                return false;
    }
    return true;
}

/*  Adds a file; `optional`: skips a file of unknown format. */
static tnd_status_t add_file(tnd_detected_format_list_t *self, tnd_arena_t *arena, const char *path,
                             bool optional, tnd_error_t *error)
{
    head_t head;
    char *whole = realpath(path, NULL);
    if (whole == NULL)
        return tnd_fail(error, "%s: %s", path, strerror(errno));
    tnd_detected_format_t item = {.path = tnd_arena_text(arena, whole, strlen(whole)), .part = ""};
    free(whole);
    if (!is_utf8(item.path))
        return tnd_fail(error, "%s: its name is not UTF-8, and topologies are: rename it", path);
    TND_TRY(read_head(path, &head, error));
    item.source = source_of(&head);
    if (item.source == NULL && optional) {
        self->left_out++;
        return TND_OK;
    }
    if (item.source == NULL)
        return tnd_fail(error,
                        "%s: has an unknown format; it is %s\n"
                        "  known are .npy as numpy.save writes it, and IDX (MNIST), raw or "
                        "compressed by gzip",
                        path, guess(&head));
    TND_TRY(open_source(&item, arena, error));
    if ((self->count & (self->count - 1)) == 0) { /* it is full: double it */
        tnd_detected_format_t *items = tnd_arena_array(arena, 2 * self->count + 1, sizeof *items);
        if (self->count > 0)
            memcpy(items, self->items, self->count * sizeof *items);
        self->items = items;
    }
    self->items[self->count++] = item;
    return TND_OK;
}

static tnd_status_t add_directory(tnd_detected_format_list_t *self, tnd_arena_t *arena,
                                  const char *path, tnd_error_t *error)
{
    struct dirent **entries = NULL;
    size_t before = self->count;
    int count = scandir(path, &entries, NULL, alphasort);
    tnd_status_t status = TND_OK;
    if (count < 0)
        return tnd_fail(error, "%s: cannot be read: %s", path, strerror(errno));
    for (int i = 0; i < count; i++) {
        struct stat is;
        const char *file = tnd_arena_format(arena, "%s/%s", path, entries[i]->d_name);
        bool plain = entries[i]->d_name[0] != '.' && stat(file, &is) == 0 && S_ISREG(is.st_mode);
        if (plain && status == TND_OK)
            status = add_file(self, arena, file, true, error);
        free(entries[i]);
    }
    free(entries);
    if (status == TND_OK && self->count == before)
        return tnd_fail(error,
                        "%s: contains no file in a known format, .npy or IDX (%zu in others)", path,
                        self->left_out);
    return status;
}

static tnd_status_t add_pattern(tnd_detected_format_list_t *self, tnd_arena_t *arena,
                                const char *pattern, tnd_error_t *error)
{
    glob_t found = {0};
    tnd_status_t status = TND_OK;
    if (glob(pattern, 0, NULL, &found) != 0)
        status = tnd_fail(error, "%s: no file matches", pattern);
    for (size_t i = 0; i < found.gl_pathc && status == TND_OK; i++)
        status = add_file(self, arena, found.gl_pathv[i], false, error);
    globfree(&found);
    return status;
}

/*  ------------------------------------------------------------------------------------- names */

static const struct {
    const char *word, *part;
} part_words[] = {
    {"train", "train"},  {"training", "train"}, {"trn", "train"}, {"test", "test"},
    {"testing", "test"}, {"t10k", "test"},      {"eval", "test"}, {"val", "val"},
    {"valid", "val"},    {"validation", "val"}, {"dev", "val"},
};

static const char *part_of(const char *word)
{
    for (size_t i = 0; i < sizeof part_words / sizeof part_words[0]; i++)
        if (strcmp(part_words[i].word, word) == 0)
            return part_words[i].part;
    return NULL;
}

/*  Words for the format, not the content: "idx3", "ubyte", "gz". */
static bool is_format(const char *word)
{
    static const char *const formats[] = {"npy", "gz", "idx", "ubyte", "bin", "dat"};
    for (size_t i = 0; i < sizeof formats / sizeof formats[0]; i++)
        if (strcmp(word, formats[i]) == 0)
            return true;
    return strncmp(word, "idx", 3) == 0 && strlen(word) == 4 && isdigit((unsigned char)word[3]);
}

/*  "images" becomes "image": each row is one. */
static void make_singular(char *word)
{
    static const char *const plurals[] = {"images", "labels",  "pixels", "targets", "features",
                                          "inputs", "outputs", "masks",  "weights", "tokens"};
    for (size_t i = 0; i < sizeof plurals / sizeof plurals[0]; i++)
        if (strcmp(word, plurals[i]) == 0)
            word[strlen(word) - 1] = '\0';
}

/*  The next word of a file's name, in lower case; false at the end. */
static bool next_word(const char **at_p, char word[TND_COLUMN_NAME_MAX])
{
    size_t size = 0;
    while (**at_p != '\0' && !isalnum((unsigned char)**at_p))
        (*at_p)++;
    for (; isalnum((unsigned char)**at_p); (*at_p)++)
        if (size + 1 < TND_COLUMN_NAME_MAX)
            word[size++] = (char)tolower((unsigned char)**at_p);
    word[size] = '\0';
    return size > 0;
}

static const char *base_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash != NULL ? slash + 1 : path;
}

static const char *find_part(const char *path)
{
    char word[TND_COLUMN_NAME_MAX];
    for (const char *at = base_of(path); next_word(&at, word);)
        if (part_of(word) != NULL)
            return part_of(word);
    return "";
}

static bool has_word(const char *path, const char *wanted)
{
    char word[TND_COLUMN_NAME_MAX];
    for (const char *at = base_of(path); next_word(&at, word);)
        if (strcmp(word, wanted) == 0)
            return true;
    return false;
}

static size_t digits_at_end(const char *word)
{
    size_t size = strlen(word), count = 0;
    while (count < size && isdigit((unsigned char)word[size - 1 - count]))
        count++;
    return count;
}

/*  The words of a file's name that describe its content, without the numbers of parts.  `common`:
 *  including the words that all names share. */
static void name_one(tnd_detected_format_t *items, size_t count, size_t index, bool common)
{
    char word[TND_COLUMN_NAME_MAX], *name = items[index].column.name;
    size_t used = 0;
    for (const char *at = base_of(items[index].path); next_word(&at, word);) {
        bool shared = count > 1 && !common;
        for (size_t i = 0; i < count && shared; i++)
            shared = has_word(items[i].path, word);
        if (items[index].path_count > 1)
            word[strlen(word) - digits_at_end(word)] = '\0';
        if (part_of(word) != NULL || is_format(word) || shared || *word == '\0')
            continue;
        make_singular(word);
        bool digit = used == 0 && isdigit((unsigned char)word[0]);
        int more = snprintf(name + used, TND_COLUMN_NAME_MAX - used, "%s%s",
                            digit      ? "x"
                            : used > 0 ? "_"
                                       : "",
                            word);
        used += (size_t)more;
        if (used >= TND_COLUMN_NAME_MAX - 4)
            break;
    }
    name[TND_COLUMN_NAME_MAX - 4] = '\0'; /* room for a number */
    if (used == 0)
        strcpy(name, "x");
}

void tnd_detected_format_name(tnd_detected_format_t *items, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        name_one(items, count, i, false);
        if (strcmp(items[i].column.name, "x") == 0)
            name_one(items, count, i, true);
    }
    for (size_t i = 1; i < count; i++) {
        char plain[TND_COLUMN_NAME_MAX];
        strcpy(plain, items[i].column.name);
        unsigned number = 2;
        for (size_t j = 0; j < i; j++)
            if (strcmp(items[i].column.name, items[j].column.name) == 0) {
                snprintf(items[i].column.name, TND_COLUMN_NAME_MAX, "%s%u", plain, number++);
                j = (size_t)-1;
            }
    }
}

tnd_status_t tnd_detected_format_look(tnd_detected_format_list_t *self, tnd_arena_t *arena,
                                      const char *const *names, size_t count, tnd_error_t *error)
{
    *self = (tnd_detected_format_list_t){0};
    for (size_t i = 0; i < count; i++) {
        struct stat is;
        bool there = stat(names[i], &is) == 0;
        if (there && S_ISDIR(is.st_mode))
            TND_TRY(add_directory(self, arena, names[i], error));
        else if (!there && strpbrk(names[i], "*?[") != NULL)
            TND_TRY(add_pattern(self, arena, names[i], error));
        else
            TND_TRY(add_file(self, arena, names[i], false, error));
    }
    for (size_t i = 0; i < self->count; i++)
        self->items[i].part = find_part(self->items[i].path);
    return TND_OK;
}
