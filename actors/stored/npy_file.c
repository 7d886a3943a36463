/*  actors/stored/npy_file.c - the format of numpy.save: one array per file.
 *
 *  A file consists of \x93NUMPY, a version (1.0, 2.0 or 3.0), the length of the header, the header
 *  (a Python dictionary of descr, fortran_order and shape) and the elements.  The first axis counts
 *  rows.  Little-endian numbers and booleans in C order are read without a copy.  Everything else
 *  is refused, and the error says how to convert it with NumPy. */
#include "actors/stored/npy_file.h"

#include <string.h>

enum { HEADER_MAX = 1 << 20, HEADER_USUAL = 4096, WORD_MAX = 32 };

/*  The header while it is read: bytes [at, end) of the file are still to come. */
typedef struct {
    const char *path;
    const uint8_t *data;
    size_t at, end;
    char descr[WORD_MAX];
    bool fortran;
    uint32_t axes;
    uint64_t shape[TND_RANK_MAX + 1];
    bool has_descr, has_order, has_shape;
} header_t;

static tnd_status_t fail_syntax(const header_t *header, const char *expected, tnd_error_t *error)
{
    return tnd_fail(error, "%s: the header is not as numpy.save writes it: at byte %zu %s expected",
                    header->path, header->at, expected);
}

static void skip_space(header_t *header)
{
    while (header->at < header->end &&
           (header->data[header->at] == ' ' || header->data[header->at] == '\n' ||
            header->data[header->at] == '\t'))
        header->at++;
}

/*  Consumes this character if it is next, after spaces. */
static bool take(header_t *header, char wanted)
{
    skip_space(header);
    if (header->at == header->end || header->data[header->at] != (uint8_t)wanted)
        return false;
    header->at++;
    return true;
}

/*  Consumes a string in quotes of either kind; no valid word is longer than `word`. */
static bool take_text(header_t *header, char word[WORD_MAX])
{
    char quote = '\'';
    if (!take(header, quote)) {
        quote = '"';
        if (!take(header, quote))
            return false;
    }
    size_t length = 0;
    while (header->at < header->end && header->data[header->at] != (uint8_t)quote) {
        if (length == WORD_MAX - 1)
            return false;
        word[length++] = (char)header->data[header->at++];
    }
    word[length] = '\0';
    return take(header, quote);
}

static bool take_word(header_t *header, const char *word)
{
    skip_space(header);
    size_t length = strlen(word);
    if (header->end - header->at < length || memcmp(header->data + header->at, word, length) != 0)
        return false;
    header->at += length;
    return true;
}

/*  Python 2 wrote an L after long numbers. */
static bool take_number(header_t *header, uint64_t *number_p)
{
    skip_space(header);
    uint64_t number = 0;
    size_t first = header->at;
    for (; header->at < header->end; header->at++) {
        uint8_t digit = (uint8_t)(header->data[header->at] - '0');
        if (digit > 9)
            break;
        if (number > (UINT64_MAX - digit) / 10)
            return false;
        number = number * 10 + digit;
    }
    if (header->at == first)
        return false;
    take(header, 'L');
    *number_p = number;
    return true;
}

static tnd_status_t read_descr(header_t *header, tnd_error_t *error)
{
    if (take(header, '['))
        return tnd_fail(error,
                        "%s: holds a structured array (records with fields); save each field as "
                        "an array of its own: numpy.save('FIELD.npy', array['FIELD'])",
                        header->path);
    if (!take_text(header, header->descr))
        return fail_syntax(header, "a type such as '<f4' was", error);
    header->has_descr = true;
    return TND_OK;
}

static tnd_status_t read_order(header_t *header, tnd_error_t *error)
{
    header->fortran = take_word(header, "True");
    if (!header->fortran && !take_word(header, "False"))
        return fail_syntax(header, "True or False was", error);
    header->has_order = true;
    return TND_OK;
}

static tnd_status_t read_shape(header_t *header, tnd_error_t *error)
{
    if (!take(header, '('))
        return fail_syntax(header, "a shape such as (60000, 28, 28) was", error);
    while (!take(header, ')')) {
        if (header->axes == TND_RANK_MAX + 1)
            return tnd_fail(error, "%s: has more than %d axes", header->path, TND_RANK_MAX + 1);
        if (!take_number(header, &header->shape[header->axes]))
            return fail_syntax(header, "the length of an axis was", error);
        header->axes++;
        if (!take(header, ',') && (header->at == header->end || header->data[header->at] != ')'))
            return fail_syntax(header, "a comma or `)` was", error);
    }
    header->has_shape = true;
    return TND_OK;
}

static tnd_status_t read_entry(header_t *header, tnd_error_t *error)
{
    char key[WORD_MAX];
    if (!take_text(header, key) || !take(header, ':'))
        return fail_syntax(header, "a key and a colon were", error);
    if (strcmp(key, "descr") == 0 && !header->has_descr)
        return read_descr(header, error);
    if (strcmp(key, "fortran_order") == 0 && !header->has_order)
        return read_order(header, error);
    if (strcmp(key, "shape") == 0 && !header->has_shape)
        return read_shape(header, error);
    return tnd_fail(error, "%s: the header has the key `%s`%s", header->path, key,
                    header->has_descr + header->has_order + header->has_shape > 0
                        ? " twice, or one that numpy.save does not write"
                        : ", which numpy.save does not write");
}

static tnd_status_t read_dictionary(header_t *header, tnd_error_t *error)
{
    if (!take(header, '{'))
        return fail_syntax(header, "`{` was", error);
    while (!take(header, '}')) {
        TND_TRY(read_entry(header, error));
        if (!take(header, ',') && (header->at == header->end || header->data[header->at] != '}'))
            return fail_syntax(header, "a comma or `}` was", error);
    }
    skip_space(header);
    if (header->at != header->end && header->data[header->at] != '#') /* a comment of Python */
        return fail_syntax(header, "the end of the header was", error);
    if (!header->has_descr || !header->has_order || !header->has_shape)
        return tnd_fail(error, "%s: the header lacks `%s`", header->path,
                        !header->has_descr   ? "descr"
                        : !header->has_order ? "fortran_order"
                                             : "shape");
    return TND_OK;
}

/*  Sets the range of the dictionary in the file. */
static tnd_status_t read_preamble(header_t *header, size_t size, tnd_error_t *error)
{
    static const uint8_t magic[] = {0x93, 'N', 'U', 'M', 'P', 'Y'};
    const uint8_t *data = header->data;
    if (size == 0)
        return tnd_fail(error, "%s: is empty (0 bytes); fetch or write it again", header->path);
    if (size < sizeof magic || memcmp(data, magic, sizeof magic) != 0)
        return tnd_fail(error,
                        "%s: is not a .npy file: it does not begin with the bytes 93 NUMPY, which "
                        "numpy.save writes (an .npz is a zip of such files: unpack it)",
                        header->path);
    if (size < 12)
        return tnd_fail(error, "%s: is truncated: it ends at byte %zu, inside its header",
                        header->path, size);
    if (data[6] < 1 || data[6] > 3 || data[7] != 0)
        return tnd_fail(
            error, "%s: has format version %u.%u (bytes 6 and 7); 1.0, 2.0 and 3.0 can be read",
            header->path, data[6], data[7]);
    size_t length = (size_t)data[8] | (size_t)data[9] << 8;
    header->at = 10;
    if (data[6] > 1) {
        length |= (size_t)data[10] << 16 | (size_t)data[11] << 24;
        header->at = 12;
    }
    if (length > HEADER_MAX)
        return tnd_fail(error, "%s: its header has %zu bytes (byte 8), above the limit of %d",
                        header->path, length, HEADER_MAX);
    if (length > size - header->at)
        return tnd_fail(error, "%s: is truncated: it ends at byte %zu, inside its header",
                        header->path, size);
    header->end = header->at + length;
    return TND_OK;
}

static bool numbers_of(const char *code, tnd_dtype_t *dtype_p)
{
    static const struct {
        const char *code;
        tnd_dtype_t dtype;
    } types[] = {{"u1", TND_U8},  {"i1", TND_I8},  {"u2", TND_U16}, {"i2", TND_I16},
                 {"u4", TND_U32}, {"i4", TND_I32}, {"u8", TND_U64}, {"i8", TND_I64},
                 {"f2", TND_F16}, {"f4", TND_F32}, {"f8", TND_F64}, {"b1", TND_BOOL}};
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++)
        if (strcmp(code, types[i].code) == 0) {
            *dtype_p = types[i].dtype;
            return true;
        }
    return false;
}

/*  Why elements of this type cannot be read, and what to do. */
static const char *reason_of(char type)
{
    switch (type) {
    case 'O':
        return "Python objects, which only Python can read: convert them, array.astype('float32')";
    case 'V':
        return "untyped bytes (other packages save bfloat16 so): save array.astype('float32') and "
               "`cast` it back, or array.view('uint16')";
    case 'c':
        return "complex numbers: save real and imaginary part as two arrays";
    case 'S':
    case 'U':
        return "text: encode it as numbers, or save its bytes, one row per text: "
               "array.view('uint8').reshape(len(array), -1)";
    case 'M':
    case 'm':
        return "dates: save array.view('int64')";
    default:
        return "an unknown type: save array.astype('float32')";
    }
}

static tnd_status_t read_type(const header_t *header, tnd_dtype_t *dtype_p, tnd_error_t *error)
{
    const char *descr = header->descr;
    const char *code = strchr("<>|=", descr[0]) != NULL && descr[0] != '\0' ? descr + 1 : descr;
    if (!numbers_of(code, dtype_p))
        return tnd_fail(error, "%s: has type '%s', which is %s", header->path, descr,
                        reason_of(code[0]));
    if (descr[0] == '>' && tnd_dtype_size(*dtype_p) > 1)
        return tnd_fail(error,
                        "%s: has type '%s', which is big-endian; save it in the byte order of this "
                        "machine: numpy.save(path, array.astype('<%s'))",
                        header->path, descr, code);
    return TND_OK;
}

static tnd_status_t check_extent(const header_t *header, const tnd_stored_t *stored, size_t size,
                                 tnd_error_t *error)
{
    uint64_t bytes = tnd_dtype_size(stored->dtype);
    /* There may be no rows, but no row without elements. */
    for (uint32_t i = 1; i < header->axes; i++) {
        if (header->shape[i] == 0)
            return tnd_fail(error, "%s: has no elements: axis %u has length 0", header->path, i);
        if (header->shape[i] > (uint64_t)INT64_MAX / bytes)
            return tnd_fail(error, "%s: the product of its axes is too large", header->path);
        bytes *= header->shape[i];
    }
    if (__builtin_mul_overflow(bytes, stored->rows, &bytes) || bytes > INT64_MAX)
        return tnd_fail(error, "%s: the product of its axes is too large", header->path);
    if (bytes > size - header->end)
        return tnd_fail(error,
                        "%s: is truncated: %llu rows should end at byte %llu, the file ends at "
                        "byte %zu; write it again",
                        header->path, (unsigned long long)stored->rows,
                        (unsigned long long)(header->end + bytes), size);
    if (bytes < size - header->end)
        return tnd_fail(error, "%s: is longer than its rows: %llu rows end at byte %llu of %zu",
                        header->path, (unsigned long long)stored->rows,
                        (unsigned long long)(header->end + bytes), size);
    return TND_OK;
}

static tnd_status_t read_header(header_t *header, tnd_stored_t *stored, tnd_error_t *error)
{
    size_t size = stored->content.size;
    TND_TRY(tnd_content_view(&stored->content, 0, HEADER_USUAL, &header->data, error));
    TND_TRY(read_preamble(header, size, error));
    if (header->end > HEADER_USUAL)
        TND_TRY(tnd_content_view(&stored->content, 0, header->end, &header->data, error));
    TND_TRY(read_dictionary(header, error));
    TND_TRY(read_type(header, &stored->dtype, error));
    if (header->axes == 0)
        return tnd_fail(error, "%s: is a single number without an axis for rows", header->path);
    if (header->fortran && header->axes > 1)
        return tnd_fail(error,
                        "%s: is in Fortran order, which scatters each row over the whole file; "
                        "save it in C order: numpy.save(path, numpy.ascontiguousarray(array))",
                        header->path);
    stored->rows = header->shape[0];
    stored->rank = header->axes - 1;
    memcpy(stored->shape, header->shape + 1, stored->rank * sizeof header->shape[0]);
    stored->offset = header->end;
    return check_extent(header, stored, size, error);
}

tnd_status_t tnd_npy_find(tnd_npy_array_t *array, const char *name, const void *bytes, size_t size,
                          tnd_error_t *error)
{
    header_t header = {.path = name, .data = bytes};
    TND_TRY(read_preamble(&header, size, error));
    TND_TRY(read_dictionary(&header, error));
    TND_TRY(read_type(&header, &array->dtype, error));
    if (header.fortran && header.axes > 1)
        return tnd_fail(error, "%s: is in Fortran order; save it in C order", name);
    uint64_t wanted = tnd_dtype_size(array->dtype);
    for (uint32_t i = 0; i < header.axes; i++)
        if (__builtin_mul_overflow(wanted, header.shape[i], &wanted))
            return tnd_fail(error, "%s: the product of its axes is too large", name);
    array->axes = header.axes;
    memcpy(array->shape, header.shape, sizeof array->shape);
    array->data = (const uint8_t *)bytes + header.end;
    array->bytes = size - header.end;
    if (wanted == array->bytes)
        return TND_OK;
    return tnd_fail(error, "%s: has %zu bytes of elements, but its shape and type need %llu", name,
                    array->bytes, (unsigned long long)wanted);
}

tnd_status_t tnd_npy_read_header(tnd_stored_t *stored, const void *context, tnd_error_t *error)
{
    (void)context;
    header_t header = {.path = stored->path};
    return read_header(&header, stored, error);
}

tnd_status_t tnd_npy_open(tnd_stored_t *stored, const char *path, tnd_error_t *error)
{
    return tnd_npy_adopt(stored, path, -1, error);
}

tnd_status_t tnd_npy_adopt(tnd_stored_t *stored, const char *path, int file, tnd_error_t *error)
{
    static const tnd_stored_opener_t opener = {.open = tnd_npy_read_header};
    const tnd_source_scope_t scope = {.lanes = 1, .access = TND_ACCESS_MAP};
    TND_TRY(tnd_stored_adopt(stored, path, file, &opener, &scope, error));
    if (stored->rows > 0)
        return TND_OK;
    tnd_stored_close(stored);
    return tnd_fail(error, "%s: has no elements: axis 0 has length 0", path);
}
