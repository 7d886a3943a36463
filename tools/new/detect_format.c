/*  tools/new/detect_format.c - detects the format, rows and name of data files. */
#include "tools/new/detect_format.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <glob.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "actors/file/decompress.h"
#include "actors/stored/tfrecord_frames.h"
#include "tools/new/data_source.h"

enum { HEAD = 512 };

/*  The first bytes of a file, decompressed if needed. */
typedef struct {
    unsigned char bytes[HEAD + 1];
    size_t size;
    const char *packed; /* "gzip", "zlib", "zstd" or NULL */
} head_t;

/*  Reads the content of a compressed file; `size` stays 0 if it is damaged. */
static tnd_status_t unpack_head(tnd_content_t *content, tnd_compression_t compression, head_t *head,
                                tnd_error_t *error)
{
    tnd_decompress_t *decompress = tnd_decompress_new(content, compression);
    tnd_status_t status = TND_OK;
    for (size_t got = 1; status == TND_OK && got > 0 && head->size < HEAD; head->size += got)
        status = tnd_decompress_read(decompress, head->bytes + head->size, HEAD - head->size, &got,
                                     error);
    tnd_decompress_destroy(&decompress);
    return status == TND_REFUSED ? TND_OK : status;
}

static tnd_status_t read_head_of(tnd_content_t *content, head_t *head, tnd_error_t *error)
{
    const uint8_t *data;
    size_t size = content->size < HEAD ? content->size : HEAD;
    TND_TRY(tnd_content_view(content, 0, size, &data, error));
    tnd_compression_t compression = tnd_compression_of(data, size);
    if (compression != TND_COMPRESSION_NONE)
        TND_TRY(unpack_head(content, compression, head, error));
    /* The two bytes of zlib can begin another file too. */
    if (compression == TND_COMPRESSION_NONE ||
        (compression == TND_COMPRESSION_ZLIB && head->size == 0)) {
        head->size = size;
        memcpy(head->bytes, data, size);
    } else {
        head->packed = tnd_compression_name(compression);
    }
    return tnd_content_intact(content, error);
}

static tnd_status_t read_head(const char *path, head_t *head, tnd_error_t *error)
{
    const tnd_source_scope_t scope = {.lanes = 1};
    tnd_content_t content = {0};
    struct stat is;
    *head = (head_t){0};
    if (stat(path, &is) != 0)
        return tnd_fail(error, "%s: %s", path, strerror(errno));
    if (S_ISREG(is.st_mode) && is.st_size == 0)
        return TND_OK;
    TND_TRY(tnd_content_open(&content, path, &scope, error));
    tnd_status_t status = read_head_of(&content, head, error);
    tnd_content_close(&content);
    return status;
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

static bool is_tar(const head_t *head)
{
    enum { MAGIC_AT = 257 };
    return head->size >= HEAD && memcmp(head->bytes + MAGIC_AT, "ustar", 5) == 0;
}

static bool is_tfrecord(const head_t *head)
{
    uint64_t length;
    return head->size >= TND_TFRECORD_HEAD && tnd_tfrecord_length(head->bytes, &length);
}

static bool is_picture(const head_t *head)
{
    bool found = begins(head, "\xff\xd8\xff", 3) || begins(head, "\x89PNG\r\n\x1a\n", 8);
    return found && head->packed == NULL;
}

/*  Describes a file that no source reads, and what the user can do. */
static const char *name_other(const head_t *head)
{
    static const struct {
        size_t at;
        const char *bytes;
        size_t size;
        const char *what;
    } formats[] = {
        {0, "PK\x03\x04", 4, "a zip, such as .npz: unpack it, each array inside is a .npy"},
        {0, "\x89HDF", 4, "HDF5: np.save each of its arrays"},
        {0, "PAR1", 4, "Parquet: np.save each of its columns"},
        {0, "ARROW1", 6, "Arrow: np.save each of its columns"},
        {0, "\x80\x05", 2, "a Python pickle: np.save the arrays in it"},
        {0, "\x80\x04", 2, "a Python pickle: np.save the arrays in it"},
        {0, "\x80\x03", 2, "a Python pickle: np.save the arrays in it"},
        {0, "\x80\x02", 2, "a Python pickle: np.save the arrays in it"},
        {0, "BZh", 3, "compressed by bzip2: unpack it with bunzip2"},
        {0,
         "\xfd"
         "7zXZ",
         6, "compressed by xz: unpack it with unxz"},
        {0, "\x04\x22\x4d\x18", 4, "compressed by lz4: unpack it with lz4 -d"},
        {0, "7z\xbc\xaf\x27\x1c", 6, "a 7z archive: unpack it"},
        {0, "Rar!", 4, "a RAR archive: unpack it"},
        {8, "WEBP", 4, "a WebP picture: convert it to PNG or JPEG"},
        {0, "GIF8", 4, "a GIF picture: convert it to PNG"},
        {0, "II*\0", 4, "a TIFF picture: convert it to PNG"},
        {0, "MM\0*", 4, "a TIFF picture: convert it to PNG"},
        {8, "WAVE", 4, "WAV sound: np.save its samples"},
        {8, "AVI ", 4, "an AVI video: np.save its frames, or store them as JPEG files"},
        {4, "ftyphei", 7, "an HEIC picture: convert it to PNG or JPEG"},
        {4, "ftypavif", 8, "an AVIF picture: convert it to PNG or JPEG"},
        {4, "ftyp", 4, "an MP4 video: np.save its frames, or store them as JPEG files"},
        {0, "\x1a\x45\xdf\xa3", 4,
         "a Matroska or WebM video: np.save its frames, or store them as JPEG files"},
        {0, "ID3", 3, "MP3 sound: np.save its samples"},
        {0, "fLaC", 4, "FLAC sound: np.save its samples"},
        {0, "OggS", 4, "Ogg sound: np.save its samples"},
        {0, "%PDF-", 5, "a PDF: convert its pages to PNG, or its text to .txt"},
        {0, "SQLite format 3", 15, "an SQLite database: export its tables as CSV"},
        {0, "MATLAB 5.0", 10, "a MATLAB file: np.save the arrays in it"},
        {0, "tundish:", 8, "a topology, for commands like `tundish head`"},
    };
    if (begins(head, "\x93NUMPY", 6))
        return head->packed == NULL ? NULL
               : strcmp(head->packed, "gzip") == 0
                   ? "a .npy compressed by gzip: unpack it with gunzip"
               : strcmp(head->packed, "zstd") == 0
                   ? "a .npy compressed by zstd: unpack it with unzstd"
                   : "a .npy compressed by zlib: unpack it";
    for (size_t i = 0; i < sizeof formats / sizeof formats[0]; i++)
        if (head->size >= formats[i].at + formats[i].size &&
            memcmp(head->bytes + formats[i].at, formats[i].bytes, formats[i].size) == 0)
            return formats[i].what;
    return NULL;
}

static bool is_text(const head_t *head)
{
    for (size_t i = 0; i < head->size; i++)
        if (head->bytes[i] == 0 || (head->bytes[i] < ' ' && !isspace(head->bytes[i])))
            return false;
    return head->size > 0;
}

static const char *guess(const head_t *head)
{
    if (head->size == 0)
        return head->packed != NULL ? "damaged: it begins as a gzip file and cannot be unpacked"
                                    : "empty";
    if (name_other(head) != NULL)
        return name_other(head);
    return "bytes without a header that describes their shape: np.save them as an array or, if "
           "they are records of one size, describe these to the source `raw`: tundish help raw";
}

/*  Whether a name has this ending, perhaps with one for compression after it. */
static bool has_ending(const char *path, const char *ending)
{
    static const char *const packed[] = {"", ".gz", ".zst", ".zlib", ".zz", ".z"};
    size_t size = strlen(ending);
    for (const char *at = path; (at = strcasestr(at, ending)) != NULL; at++)
        for (size_t i = 0; i < sizeof packed / sizeof packed[0]; i++)
            if (strcasecmp(at + size, packed[i]) == 0)
                return true;
    return false;
}

/*  The source that reads such a file, as written for --as; NULL: none.  Text without a structure is
 *  recognised by its name. */
static const char *source_of(const head_t *head, const char *path)
{
    /* Text may begin with the two bytes of zlib, so its sources want to be told. */
    bool zlib = head->packed != NULL && strcmp(head->packed, "zlib") == 0;
    if (is_idx(head))
        return "idx";
    if (begins(head, "\x93NUMPY", 6))
        return head->packed == NULL ? "npy" : NULL;
    if (is_tar(head))
        return "tar";
    if (is_picture(head))
        return "folder: {column: image}";
    if (is_tfrecord(head) || has_ending(path, ".tfrecord") || has_ending(path, ".tfrecords"))
        return head->size > 0 ? "tfrecord" : NULL;
    if (!is_text(head) || name_other(head) != NULL)
        return NULL;
    if (has_ending(path, ".csv"))
        return zlib ? "csv: {compression: zlib}" : "csv";
    if (has_ending(path, ".tsv"))
        return zlib ? "csv: {delimiter: \"\\t\", compression: zlib}" : "csv: {delimiter: \"\\t\"}";
    return zlib ? "text: {compression: zlib}" : "text";
}

/*  The columns and rows of the files of an item, as their source reports them. */
static tnd_status_t open_source(tnd_detected_format_t *item, tnd_arena_t *arena,
                                const tnd_source_scope_t *scope, tnd_error_t *error)
{
    tnd_data_source_t data;
    const char *const *paths = item->path_count > 0 ? item->paths : &item->path;
    size_t count = item->path_count > 0 ? item->path_count : 1;
    TND_TRY(tnd_data_source_choose(&data, arena, item->written, paths, count, NULL, error));
    TND_TRY(tnd_data_source_open(&data, scope, error));
    item->rows = data.facts.count;
    item->in_order = (data.facts.caps & TND_SOURCE_RANDOM) == 0;
    item->column = data.facts.schema.columns[0];
    tnd_schema_t *schema = tnd_arena_take(arena, sizeof *schema);
    *schema = data.facts.schema;
    item->schema = schema;
    tnd_data_source_close(&data);
    return TND_OK;
}

/*  Whether its files are in several folders, which are then their labels. */
static bool is_in_folders(const tnd_detected_format_t *item)
{
    for (size_t i = 1; i < item->path_count; i++) {
        size_t size = (size_t)(strrchr(item->paths[0], '/') - item->paths[0]);
        if ((size_t)(strrchr(item->paths[i], '/') - item->paths[i]) != size ||
            memcmp(item->paths[i], item->paths[0], size) != 0)
            return true;
    }
    return false;
}

tnd_status_t tnd_detected_format_open(tnd_detected_format_list_t *self, tnd_arena_t *arena,
                                      const tnd_source_scope_t *scope, tnd_error_t *error)
{
    for (size_t i = 0; i < self->count; i++) {
        if (self->items[i].pictures && is_in_folders(&self->items[i]))
            self->items[i].written = "folder: {column: image, label: label}";
        if (self->items[i].records)
            TND_TRY(open_source(&self->items[i], arena, scope, error));
    }
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

static tnd_status_t fail_unknown(const char *path, const head_t *head, tnd_error_t *error)
{
    return tnd_fail(
        error,
        "%s: has an unknown format; it is %s\n"
        "  known are .npy as numpy.save writes it, JPEG, PNG, IDX (MNIST), TFRecord, tar, and "
        "text: "
        "lines or .csv; all but .npy and pictures also compressed\n"
        "  other files that are one row each are read by the source `folder`: tundish help folder",
        path, guess(head));
}

tnd_status_t tnd_detected_source(const char **written_p, const char *path, tnd_error_t *error)
{
    head_t head;
    struct stat is;
    if (stat(path, &is) == 0 && S_ISDIR(is.st_mode))
        return tnd_fail(error, "%s: is a directory; name its files", path);
    TND_TRY(read_head(path, &head, error));
    *written_p = source_of(&head, path);
    return *written_p != NULL ? TND_OK : fail_unknown(path, &head, error);
}

static void append(tnd_detected_format_list_t *self, tnd_arena_t *arena,
                   const tnd_detected_format_t *item)
{
    if ((self->count & (self->count - 1)) == 0) { /* it is full: double it */
        tnd_detected_format_t *items = tnd_arena_array(arena, 2 * self->count + 1, sizeof *items);
        if (self->count > 0)
            memcpy(items, self->items, self->count * sizeof *items);
        self->items = items;
    }
    self->items[self->count++] = *item;
}

/*  Adds a file; `optional`: skips a file of unknown format. */
static tnd_status_t add_file(tnd_detected_format_list_t *self, tnd_arena_t *arena, const char *path,
                             const char *as, bool optional, tnd_error_t *error)
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
    item.compression = head.packed;
    item.written = as != NULL ? as : source_of(&head, path);
    item.pictures = as == NULL && is_picture(&head);
    if (item.written == NULL && optional) {
        self->left_out++;
        return TND_OK;
    }
    if (item.written == NULL)
        return fail_unknown(path, &head, error);
    TND_TRY(tnd_data_source_name(&item.source, arena, item.written, error));
    item.records = tnd_data_source_takes(tnd_data_source_table(item.source), "files");
    const tnd_source_scope_t scope = {.lanes = 1};
    if (!item.records)
        TND_TRY(open_source(&item, arena, &scope, error));
    append(self, arena, &item);
    return TND_OK;
}

/*  Keeps the files of the clearest kind: a folder of arrays may also have notes and drawings, and
 *  one of tables lists of words. */
static void keep_clearest(tnd_detected_format_list_t *self, size_t first)
{
    static const char *const vague[] = {"text", "csv", "folder"};
    for (size_t v = 0; v < sizeof vague / sizeof vague[0]; v++) {
        size_t others = 0, kept = first;
        for (size_t i = first; i < self->count; i++)
            others += strcmp(self->items[i].source, vague[v]) != 0;
        for (size_t i = first; others > 0 && i < self->count; i++)
            if (strcmp(self->items[i].source, vague[v]) != 0)
                self->items[kept++] = self->items[i];
        if (others > 0) {
            self->left_out += self->count - kept;
            self->count = kept;
        }
    }
}

static bool is_picture_file(const char *path)
{
    head_t head;
    tnd_error_t error;
    return read_head(path, &head, &error) == TND_OK && is_picture(&head);
}

/*  Adds the pictures of a directory; one that cannot be read has none. */
static tnd_status_t add_pictures(tnd_detected_format_list_t *self, tnd_arena_t *arena,
                                 const char *path, tnd_error_t *error)
{
    struct dirent **entries = NULL;
    int count = scandir(path, &entries, NULL, alphasort);
    tnd_status_t status = TND_OK;
    for (int i = 0; i < count; i++) {
        const char *file = tnd_arena_format(arena, "%s/%s", path, entries[i]->d_name);
        if (status == TND_OK && entries[i]->d_name[0] != '.' && is_picture_file(file))
            status = add_file(self, arena, file, NULL, true, error);
        free(entries[i]);
    }
    free(entries);
    return status;
}

/*  Adds the files of a directory; `below`: only the pictures in its subdirectories. */
static tnd_status_t add_entries(tnd_detected_format_list_t *self, tnd_arena_t *arena,
                                const char *path, const char *as, bool below, tnd_error_t *error)
{
    struct dirent **entries = NULL;
    int count = scandir(path, &entries, NULL, alphasort);
    tnd_status_t status = TND_OK;
    if (count < 0)
        return tnd_fail(error, "%s: cannot be read: %s", path, strerror(errno));
    for (int i = 0; i < count; i++) {
        struct stat is;
        const char *file = tnd_arena_format(arena, "%s/%s", path, entries[i]->d_name);
        bool found = entries[i]->d_name[0] != '.' && stat(file, &is) == 0 && status == TND_OK;
        if (found && S_ISDIR(is.st_mode) && below)
            status = add_pictures(self, arena, file, error);
        else if (found && S_ISREG(is.st_mode) && !below)
            status = add_file(self, arena, file, as, as == NULL, error);
        free(entries[i]);
    }
    free(entries);
    return status;
}

static tnd_status_t add_directory(tnd_detected_format_list_t *self, tnd_arena_t *arena,
                                  const char *path, const char *as, tnd_error_t *error)
{
    size_t before = self->count;
    TND_TRY(add_entries(self, arena, path, as, false, error));
    if (as == NULL)
        keep_clearest(self, before);
    if (as == NULL && self->count == before)
        TND_TRY(add_entries(self, arena, path, NULL, true, error));
    if (self->count == before)
        return tnd_fail(
            error,
            "%s: contains no file in a known format (%zu in others); folders in it are "
            "searched for JPEG and PNG files only: name other files by a pattern; files "
            "that are one row each are read by the source `folder`: tundish help folder",
            path, self->left_out);
    return TND_OK;
}

/*  Adds a pattern as it is, of a source to whose labels folders without files count too. */
static void add_whole_pattern(tnd_detected_format_list_t *self, tnd_arena_t *arena,
                              const char *pattern, const char *as)
{
    char here[PATH_MAX] = "";
    bool absolute = pattern[0] == '/' || getcwd(here, sizeof here) == NULL;
    tnd_detected_format_t item = {.source = "folder", .written = as, .records = true, .part = ""};
    item.path = absolute ? pattern : tnd_arena_format(arena, "%s/%s", here, pattern);
    append(self, arena, &item);
}

static tnd_status_t add_pattern(tnd_detected_format_list_t *self, tnd_arena_t *arena,
                                const char *pattern, const char *as, tnd_error_t *error)
{
    glob_t found = {0};
    tnd_status_t status = TND_OK;
    const char *source = NULL;
    if (as != NULL)
        TND_TRY(tnd_data_source_name(&source, arena, as, error));
    if (source != NULL && strcmp(source, "folder") == 0) {
        add_whole_pattern(self, arena, pattern, as);
        return TND_OK;
    }
    if (glob(pattern, 0, NULL, &found) != 0)
        status = tnd_fail(error, "%s: no file matches", pattern);
    for (size_t i = 0; i < found.gl_pathc && status == TND_OK; i++)
        status = add_file(self, arena, found.gl_pathv[i], as, false, error);
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
        if (items[i].records) /* its column has a name of its own */
            continue;
        name_one(items, count, i, false);
        if (strcmp(items[i].column.name, "x") == 0)
            name_one(items, count, i, true);
    }
    for (size_t i = 1; i < count && !items[0].records; i++) {
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
                                      const char *const *names, size_t count, const char *as,
                                      tnd_error_t *error)
{
    *self = (tnd_detected_format_list_t){0};
    for (size_t i = 0; i < count; i++) {
        struct stat is;
        bool there = stat(names[i], &is) == 0;
        if (there && S_ISDIR(is.st_mode))
            TND_TRY(add_directory(self, arena, names[i], as, error));
        else if (!there && strpbrk(names[i], "*?[") != NULL)
            TND_TRY(add_pattern(self, arena, names[i], as, error));
        else
            TND_TRY(add_file(self, arena, names[i], as, false, error));
    }
    for (size_t i = 0; i < self->count; i++)
        if (!self->items[i].pictures)
            self->items[i].part = find_part(self->items[i].path);
    return TND_OK;
}
