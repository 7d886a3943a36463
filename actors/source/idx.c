/*  actors/source/idx.c - the format of MNIST: one array per file, raw or compressed by gzip.
 *
 *  A file is two zero bytes, a type, the number of dimensions, each dimension as a big-endian u32,
 *  then the elements, big-endian, the last dimension fastest.  The first dimension counts rows.
 *  Raw files of bytes are mapped; compressed or byte-swapped files are kept in memory. */
#include <string.h>

#include "actors/file/decompress.h"
#include "actors/source/columns.h"
#include "actors/source/sources.h"
#include "runtime/base/bounds.h"

enum { MAGIC_BYTES = 4, HEADER_MAX = MAGIC_BYTES + 4 * (TND_RANK_MAX + 1) };

/*  A byte of Deflate data expands to at most 1032 bytes. */
enum { DEFLATE_MOST = 1032 };
/*  Content that is decompressed in one call, which reports no progress. */
enum { AT_ONCE_BYTES = 64 << 20 };

static const uint64_t memory_max = (uint64_t)16 << 30;

typedef struct {
    tnd_pairs_t files;
} idx_options_t;

static const tnd_option_t options[] = {
    {TND_OPTION_NAMED("*", idx_options_t, files, PATHS, GRAPH),
     .example = "${data}/train-images.gz", .fallback = "",
     .help =
         "a column, and the IDX files that hold it, raw or compressed by gzip: a path, a "
         "pattern such as \"${data}/*-images.gz\", a range `part-[0-7].idx`, or a list of them"},
};

const tnd_source_spec_t tnd_source_idx_spec = {
    .table = {.name = "idx",
              .help = "Reads arrays in the IDX format of MNIST, one or more per column.",
              TND_OPTIONS(options, idx_options_t)},
    .caps = TND_SOURCE_RANDOM | TND_SOURCE_REWINDS | TND_SOURCE_FILES,
};

static bool dtype_of(uint8_t code, tnd_dtype_t *dtype_p)
{
    switch (code) {
    case 0x08:
        *dtype_p = TND_U8;
        return true;
    case 0x09:
        *dtype_p = TND_I8;
        return true;
    case 0x0b:
        *dtype_p = TND_I16;
        return true;
    case 0x0c:
        *dtype_p = TND_I32;
        return true;
    case 0x0d:
        *dtype_p = TND_F32;
        return true;
    case 0x0e:
        *dtype_p = TND_F64;
        return true;
    default:
        return false;
    }
}

/*  Reads the four bytes at the start of every file; *dimensions_p: how many dimensions follow. */
static tnd_status_t read_magic(const uint8_t *magic, const char *path, tnd_dtype_t *dtype_p,
                               uint32_t *dimensions_p, tnd_error_t *error)
{
    if (magic[0] != 0 || magic[1] != 0)
        return tnd_fail(error,
                        "%s: not an IDX file: it begins with bytes %02x %02x %02x %02x instead of "
                        "00 00, type and dimensions",
                        path, magic[0], magic[1], magic[2], magic[3]);
    if (!dtype_of(magic[2], dtype_p))
        return tnd_fail(error,
                        "%s: byte 2 is %02x, which is not an element type of IDX (08 u8, 09 i8, 0b "
                        "i16, 0c i32, 0d f32, 0e f64)",
                        path, magic[2]);
    if (magic[3] == 0 || magic[3] > TND_RANK_MAX + 1)
        return tnd_fail(error, "%s: has %u dimensions (byte 3); 1 to %d are possible", path,
                        magic[3], TND_RANK_MAX + 1);
    *dimensions_p = magic[3];
    return TND_OK;
}

static uint32_t read_u32(const uint8_t *from)
{
    return (uint32_t)from[0] << 24 | (uint32_t)from[1] << 16 | (uint32_t)from[2] << 8 | from[3];
}

/*  Reads the dimensions after the magic number; *bytes_p: the size of all elements. */
static tnd_status_t read_shape(const uint8_t *dimensions, uint32_t count, tnd_stored_t *stored,
                               uint64_t *bytes_p, tnd_error_t *error)
{
    uint64_t bytes = tnd_dtype_size(stored->dtype);
    for (uint32_t i = 0; i < count; i++) {
        uint64_t size = read_u32(dimensions + (size_t)4 * i);
        if (size == 0 && i > 0)
            return tnd_fail(error, "%s: has no elements: dimension %u, at byte %u, is 0",
                            stored->path, i, MAGIC_BYTES + 4 * i);
        if (size > (uint64_t)INT64_MAX / (bytes * (stored->rows + 1)))
            return tnd_fail(error, "%s: its dimensions, from byte %d on, are too large",
                            stored->path, MAGIC_BYTES);
        if (i == 0) {
            stored->rows = size;
            continue;
        }
        stored->shape[i - 1] = size;
        bytes *= size;
    }
    stored->rank = count - 1;
    *bytes_p = bytes * stored->rows;
    return TND_OK;
}

static tnd_status_t check_memory(const char *path, uint64_t bytes, tnd_error_t *error)
{
    if (bytes <= memory_max)
        return TND_OK;
    return tnd_fail(error,
                    "%s: its %llu bytes would have to be kept in memory, above the limit of 16 "
                    "GiB; unpack it to a raw file of bytes, or write it as .npy",
                    path, (unsigned long long)bytes);
}

#define SWAP_EACH(type, swapped)                                                                   \
    for (size_t i = 0; i < bytes; i += sizeof(type)) {                                             \
        type bits;                                                                                 \
        memcpy(&bits, data + i, sizeof bits);                                                      \
        bits = swapped(bits);                                                                      \
        memcpy(data + i, &bits, sizeof bits);                                                      \
    }

/*  Converts big-endian elements to little-endian. */
static void swap(uint8_t *data, size_t bytes, size_t size)
{
    if (size == 2)
        SWAP_EACH(uint16_t, __builtin_bswap16)
    if (size == 4)
        SWAP_EACH(uint32_t, __builtin_bswap32)
    if (size == 8)
        SWAP_EACH(uint64_t, __builtin_bswap64)
}

/*  Decompresses up to `room` bytes; *at_p: the bytes of content so far. */
static tnd_status_t read_some(const tnd_stored_t *stored, tnd_decompress_t *stream, uint8_t *to,
                              size_t room, size_t *got_p, uint64_t *at_p, tnd_error_t *error)
{
    tnd_error_t why;
    tnd_status_t status = tnd_decompress_read(stream, to, room, got_p, &why);
    *at_p += *got_p;
    if (status == TND_OK)
        return TND_OK;
    if (status == TND_REFUSED && !tnd_decompress_is_cut(stream))
        return tnd_fail(error, "%s: %s", stored->path, why.text);
    if (status == TND_REFUSED)
        return tnd_fail(error,
                        "%s: is truncated: the compressed data ends at byte %zu, after %llu bytes "
                        "of content; fetch it again",
                        stored->path, stored->content.size, (unsigned long long)*at_p);
    *error = why;
    return status;
}

/*  Decompresses the next `size` bytes. */
static tnd_status_t read_next(const tnd_stored_t *stored, tnd_decompress_t *stream, uint8_t *to,
                              size_t size, uint64_t *at_p, tnd_error_t *error)
{
    for (size_t got; size > 0; to += got, size -= got) {
        TND_TRY(read_some(stored, stream, to, size, &got, at_p, error));
        if (got == 0)
            return tnd_fail(error,
                            "%s: is truncated: its content ends after %llu bytes, but %zu more "
                            "were expected; fetch it again",
                            stored->path, (unsigned long long)*at_p, size);
    }
    return TND_OK;
}

/*  Reads up to the checksum, and to what must not follow it. */
static tnd_status_t read_end(const tnd_stored_t *stored, tnd_decompress_t *stream, uint64_t at,
                             tnd_error_t *error)
{
    uint8_t more;
    size_t got;
    uint64_t end = at;
    TND_TRY(read_some(stored, stream, &more, sizeof more, &got, &end, error));
    if (got == 0)
        return TND_OK;
    return tnd_fail(error,
                    "%s: its content continues after the %llu bytes that its header declares; it "
                    "is damaged or has another format",
                    stored->path, (unsigned long long)at);
}

/*  Whether the whole content is in `out`, by the fastest method; else it must be read. */
static bool decompress_at_once(tnd_stored_t *stored, uint8_t *out, uint64_t bytes)
{
    const uint8_t *packed;
    size_t size = stored->content.size;
    tnd_error_t why;
    return bytes <= AT_ONCE_BYTES &&
           tnd_content_view(&stored->content, 0, size, &packed, &why) == TND_OK &&
           tnd_decompress_whole(packed, size, out, bytes);
}

static tnd_status_t decompress(tnd_stored_t *stored, tnd_decompress_t *stream, tnd_error_t *error)
{
    uint8_t header[HEADER_MAX];
    uint32_t dimensions = 0;
    uint64_t bytes = 0, at = 0;
    size_t size = stored->content.size;
    TND_TRY(read_next(stored, stream, header, MAGIC_BYTES, &at, error));
    TND_TRY(read_magic(header, stored->path, &stored->dtype, &dimensions, error));
    TND_TRY(read_next(stored, stream, header + MAGIC_BYTES, (size_t)4 * dimensions, &at, error));
    TND_TRY(read_shape(header + MAGIC_BYTES, dimensions, stored, &bytes, error));
    TND_TRY(check_memory(stored->path, bytes, error));
    if (bytes / DEFLATE_MOST > size)
        return tnd_fail(error,
                        "%s: is truncated: its header declares %llu bytes, more than %zu "
                        "compressed bytes can contain; fetch it again",
                        stored->path, (unsigned long long)bytes, size);
    /* The header is decompressed in front of the rows, which begin at an aligned address. */
    stored->offset = tnd_round_up(at, TND_BUFFER_ALIGN);
    stored->buffer = tnd_buffer_new(stored->offset + bytes);
    uint8_t *rows = (uint8_t *)tnd_buffer_data(stored->buffer) + stored->offset;
    if (decompress_at_once(stored, rows - at, at + bytes))
        return TND_OK;
    TND_TRY(read_next(stored, stream, rows, bytes, &at, error));
    return read_end(stored, stream, at, error);
}

static tnd_status_t open_compressed(tnd_stored_t *stored, tnd_error_t *error)
{
    tnd_decompress_t *stream = tnd_decompress_new(&stored->content, TND_COMPRESSION_GZIP);
    tnd_status_t status = decompress(stored, stream, error);
    tnd_decompress_destroy(&stream);
    if (status != TND_OK) {
        tnd_buffer_drop(&stored->buffer);
        return status;
    }
    swap((uint8_t *)tnd_buffer_data(stored->buffer) + stored->offset,
         tnd_buffer_size(stored->buffer) - stored->offset, tnd_dtype_size(stored->dtype));
    tnd_buffer_seal(stored->buffer);
    return TND_OK;
}

/*  *offset_p: where the elements begin; *bytes_p: their size. */
static tnd_status_t read_raw_header(tnd_stored_t *stored, const uint8_t *data, size_t size,
                                    size_t *offset_p, uint64_t *bytes_p, tnd_error_t *error)
{
    uint32_t dimensions = 0;
    if (size < MAGIC_BYTES)
        return tnd_fail(error, "%s: is truncated: it ends at byte %zu, inside its header",
                        stored->path, size);
    TND_TRY(read_magic(data, stored->path, &stored->dtype, &dimensions, error));
    *offset_p = MAGIC_BYTES + (size_t)4 * dimensions;
    if (size < *offset_p)
        return tnd_fail(error, "%s: is truncated: it ends at byte %zu, inside its header",
                        stored->path, size);
    TND_TRY(read_shape(data + MAGIC_BYTES, dimensions, stored, bytes_p, error));
    if (size - *offset_p < *bytes_p)
        return tnd_fail(error,
                        "%s: is truncated: %llu rows should end at byte %llu, the file ends at "
                        "byte %zu; fetch it again",
                        stored->path, (unsigned long long)stored->rows,
                        (unsigned long long)(*offset_p + *bytes_p), size);
    if (size - *offset_p > *bytes_p)
        return tnd_fail(error, "%s: is longer than its rows: %llu rows end at byte %llu of %zu",
                        stored->path, (unsigned long long)stored->rows,
                        (unsigned long long)(*offset_p + *bytes_p), size);
    return TND_OK;
}

static tnd_status_t open_raw(tnd_stored_t *stored, const uint8_t *data, tnd_error_t *error)
{
    uint64_t bytes = 0;
    TND_TRY(read_raw_header(stored, data, stored->content.size, &stored->offset, &bytes, error));
    if (tnd_dtype_size(stored->dtype) == 1)
        return TND_OK;
    TND_TRY(check_memory(stored->path, bytes, error));
    TND_TRY(tnd_content_view(&stored->content, 0, stored->content.size, &data, error));
    stored->buffer = tnd_buffer_new(bytes + 1);
    memcpy(tnd_buffer_data(stored->buffer), data + stored->offset, bytes);
    swap(tnd_buffer_data(stored->buffer), bytes, tnd_dtype_size(stored->dtype));
    tnd_buffer_seal(stored->buffer);
    stored->offset = 0;
    return TND_OK;
}

static tnd_status_t open_file(tnd_stored_t *stored, const void *context, tnd_error_t *error)
{
    (void)context;
    const uint8_t *data;
    size_t size = stored->content.size;
    TND_TRY(tnd_content_view(&stored->content, 0, HEADER_MAX, &data, error));
    if (size == 0)
        return tnd_fail(error, "%s: is empty (0 bytes); fetch or write it again", stored->path);
    if (tnd_compression_of(data, size) == TND_COMPRESSION_GZIP)
        return open_compressed(stored, error);
    return open_raw(stored, data, error);
}

static tnd_status_t idx_open(void *state, const void *given, const tnd_source_scope_t *scope,
                             tnd_source_facts_t *facts, tnd_error_t *error)
{
    const idx_options_t *chosen = given;
    return tnd_columns_open(state, &chosen->files, open_file, scope, facts, error);
}

const tnd_source_t tnd_source_idx = {
    .spec = &tnd_source_idx_spec,
    .state_bytes = sizeof(tnd_columns_t),
    .open = idx_open,
    TND_COLUMNS_HOOKS,
};
