/*  tools/new/file_head.c - recognises the format of a file by its first bytes. */
#include "tools/new/file_head.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "actors/file/content.h"
#include "actors/file/decompress.h"
#include "actors/stored/tfrecord_frames.h"

/*  Reads the content of a compressed file. */
static tnd_status_t unpack_head(tnd_content_t *content, tnd_compression_t compression,
                                tnd_file_head_t *head, tnd_error_t *error)
{
    tnd_decompress_t *decompress = tnd_decompress_new(content, compression);
    tnd_status_t status = TND_OK;
    for (size_t got = 1; status == TND_OK && got > 0 && head->size < TND_FILE_HEAD;
         head->size += got)
        status = tnd_decompress_read(decompress, head->bytes + head->size,
                                     TND_FILE_HEAD - head->size, &got, error);
    tnd_decompress_destroy(&decompress);
    head->damaged = status == TND_REFUSED && head->size == 0;
    return status == TND_REFUSED ? TND_OK : status;
}

static tnd_status_t read_head_of(tnd_content_t *content, tnd_file_head_t *head, tnd_error_t *error)
{
    const uint8_t *data;
    size_t size = content->size < TND_FILE_HEAD ? content->size : TND_FILE_HEAD;
    TND_TRY(tnd_content_view(content, 0, size, &data, error));
    tnd_compression_t compression = tnd_compression_of(data, size);
    if (compression != TND_COMPRESSION_NONE)
        TND_TRY(unpack_head(content, compression, head, error));
    /* The two bytes of zlib can begin another file too. */
    if (compression == TND_COMPRESSION_NONE ||
        (compression == TND_COMPRESSION_ZLIB && head->damaged)) {
        head->damaged = false;
        head->size = size;
        memcpy(head->bytes, data, size);
    } else {
        head->packed = tnd_compression_name(compression);
    }
    return tnd_content_intact(content, error);
}

tnd_status_t tnd_file_head_read(tnd_file_head_t *head, const char *path, tnd_error_t *error)
{
    const tnd_source_scope_t scope = {.lanes = 1};
    tnd_content_t content = {0};
    struct stat is;
    *head = (tnd_file_head_t){0};
    if (stat(path, &is) != 0)
        return tnd_fail(error, "%s: %s", path, strerror(errno));
    if (S_ISREG(is.st_mode) && is.st_size == 0)
        return TND_OK;
    TND_TRY(tnd_content_open(&content, path, &scope, error));
    tnd_status_t status = read_head_of(&content, head, error);
    tnd_content_close(&content);
    return status;
}

static bool begins(const tnd_file_head_t *head, const char *bytes, size_t size)
{
    return head->size >= size && memcmp(head->bytes, bytes, size) == 0;
}

static bool is_idx(const tnd_file_head_t *head)
{
    unsigned type = head->bytes[2];
    return head->size >= 8 && head->bytes[0] == 0 && head->bytes[1] == 0 && type >= 0x08 &&
           type <= 0x0e && type != 0x0a && head->bytes[3] >= 1 &&
           head->bytes[3] <= TND_RANK_MAX + 1;
}

static bool is_tar(const tnd_file_head_t *head)
{
    enum { MAGIC_AT = 257 };
    return head->size >= TND_FILE_HEAD && memcmp(head->bytes + MAGIC_AT, "ustar", 5) == 0;
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

/*  An archive without files is zeros only. */
static bool is_empty_tar(const tnd_file_head_t *head, const char *path)
{
    static const unsigned char zeros[TND_FILE_HEAD];
    return head->size >= TND_FILE_HEAD && memcmp(head->bytes, zeros, TND_FILE_HEAD) == 0 &&
           (has_ending(path, ".tar") || has_ending(path, ".tgz"));
}

static bool is_tfrecord(const tnd_file_head_t *head)
{
    uint64_t length;
    return head->size >= TND_TFRECORD_HEAD && tnd_tfrecord_length(head->bytes, &length);
}

bool tnd_file_head_is_picture(const tnd_file_head_t *head)
{
    bool found = begins(head, "\xff\xd8\xff", 3) || begins(head, "\x89PNG\r\n\x1a\n", 8);
    return found && head->packed == NULL;
}

/*  Describes a file that no source reads, and what the user can do. */
static const char *name_other(const tnd_file_head_t *head)
{
    static const struct {
        size_t at;
        const char *bytes;
        size_t size;
        const char *what;
    } formats[] = {
        {0, "PK\x03\x04", 4, "a zip, such as .npz: unpack it, each array inside is a .npy"},
        {0, "\x89HDF", 4, "HDF5: np.save each of its arrays"},
        {0, "PAR1", 4, "Parquet: np.save each of its columns, see `tundish help parquet`"},
        {0, "ARROW1", 6, "Arrow: np.save each of its columns, see `tundish help parquet`"},
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
        {0, "8BPS\0\x01", 6, "a Photoshop picture: convert it to PNG"},
        {4, "jP  \r\n\x87\n", 8, "a JPEG 2000 picture: convert it to PNG or JPEG"},
        {124, "\0\0\0\0DICM", 8, "a DICOM picture: np.save its pixels"},
        {0, "\x5c\x01\0\0", 4, "a NIfTI volume: np.save its voxels"},
        {0, "CDF\x01", 4, "netCDF: np.save each of its variables"},
        {0, "CDF\x02", 4, "netCDF: np.save each of its variables"},
        {0, "Obj\x01", 4, "Avro: np.save each of its fields"},
        {16, "\xde\xc0\xef\xbe", 4, "an LMDB database: write its values as TFRecord, or to a tar"},
        {0, "\x0a\x23\xd7\xce", 4, "MXNet RecordIO: write its records as TFRecord, or to a tar"},
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
        {0, "\xff\xfe", 2, "text of UTF-16: convert it with iconv -f UTF-16 -t UTF-8"},
        {0, "\xfe\xff", 2, "text of UTF-16: convert it with iconv -f UTF-16 -t UTF-8"},
        {0, "tundish:", 8, "a topology, for commands like `tundish head`"},
    };
    if (begins(head, "\x93NUMPY", 6))
        return head->packed == NULL ? NULL
               : strcmp(head->packed, "gzip") == 0
                   ? "a .npy compressed by gzip: unpack it with gunzip"
               : strcmp(head->packed, "zstd") == 0
                   ? "a .npy compressed by zstd: unpack it with unzstd"
                   : "a .npy compressed by zlib: unpack it";
    if (begins(head, "BM", 2) && head->size >= 10 && memcmp(head->bytes + 6, "\0\0\0\0", 4) == 0)
        return "a BMP picture: convert it to PNG";
    for (size_t i = 0; i < sizeof formats / sizeof formats[0]; i++)
        if (head->size >= formats[i].at + formats[i].size &&
            memcmp(head->bytes + formats[i].at, formats[i].bytes, formats[i].size) == 0)
            return formats[i].what;
    return NULL;
}

static bool is_text(const tnd_file_head_t *head)
{
    for (size_t i = 0; i < head->size; i++)
        if (!tnd_is_text_byte(head->bytes[i]))
            return false;
    return head->size > 0;
}

static bool is_html(const tnd_file_head_t *head)
{
    const char *at = (const char *)head->bytes;
    at += strspn(at, " \t\r\n");
    return strncasecmp(at, "<!doctype html", 14) == 0 || strncasecmp(at, "<html", 5) == 0;
}

/*  Describes a file of a format that a source reads. */
static const char *describe_known(const tnd_file_head_t *head)
{
    if (begins(head, "\x93NUMPY", 6))
        return "an array of NumPy";
    if (tnd_file_head_is_picture(head))
        return "a JPEG or PNG picture";
    if (is_html(head))
        return "an HTML page, perhaps what a server sent instead of the file";
    return is_tar(head)        ? "a tar archive"
           : is_tfrecord(head) ? "TFRecord"
           : is_text(head)     ? "text"
                               : NULL;
}

const char *tnd_file_head_describe(const tnd_file_head_t *head)
{
    const char *known = describe_known(head);
    if (head->size == 0)
        return !head->damaged ? "empty"
               : strcmp(head->packed, "zstd") == 0
                   ? "damaged: it begins as a zstd file and cannot be unpacked"
                   : "damaged: it begins as a gzip file and cannot be unpacked";
    if (name_other(head) != NULL)
        return name_other(head);
    if (known != NULL)
        return known;
    return "bytes without a header that describes their shape: np.save them as an array or, if "
           "they are records of one size, describe these to the source `raw`: tundish help raw";
}

/*  The source of a file without content, which is recognised by its name; NULL: none. */
static const char *source_of_nothing(const char *path)
{
    static const struct {
        const char *ending, *source;
    } known[] = {{".txt", "text"},          {".jsonl", "text"},
                 {".csv", "csv"},           {".tsv", "csv: {delimiter: \"\\t\"}"},
                 {".tfrecord", "tfrecord"}, {".tfrecords", "tfrecord"},
                 {".tar", "tar"},           {".tgz", "tar"}};
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
        if (has_ending(path, known[i].ending))
            return known[i].source;
    return NULL;
}

const char *tnd_file_head_source(const tnd_file_head_t *head, const char *path)
{
    /* Text may begin with the two bytes of zlib, so its sources want to be told. */
    bool zlib = head->packed != NULL && strcmp(head->packed, "zlib") == 0;
    if (head->size == 0)
        return head->damaged ? NULL : source_of_nothing(path);
    if (is_idx(head))
        return "idx";
    if (begins(head, "\x93NUMPY", 6))
        return head->packed == NULL ? "npy" : NULL;
    if (is_tar(head) || is_empty_tar(head, path))
        return "tar";
    if (tnd_file_head_is_picture(head))
        return "folder: {column: image}";
    if (is_tfrecord(head) || has_ending(path, ".tfrecord") || has_ending(path, ".tfrecords"))
        return "tfrecord";
    if (!is_text(head) || name_other(head) != NULL)
        return NULL;
    if (has_ending(path, ".csv"))
        return zlib ? "csv: {compression: zlib}" : "csv";
    if (has_ending(path, ".tsv"))
        return zlib ? "csv: {delimiter: \"\\t\", compression: zlib}" : "csv: {delimiter: \"\\t\"}";
    return zlib ? "text: {compression: zlib}" : "text";
}
