/*  actors/text/json_record.c - the values of a JSON document, read by jansson. */
#include "actors/text/json_record.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include <jansson.h>

#include "runtime/base/allocation.h"
#include "runtime/text/byte_order_mark.h"

/*  What is wrong in words of ours: jansson's quote bytes of the document as they are. */
static const char *problem(const json_error_t *found)
{
    switch (json_error_code(found)) {
    case json_error_stack_overflow:
        return "more than 2048 levels";
    case json_error_invalid_utf8:
        return "bytes that are not UTF-8";
    case json_error_premature_end_of_input:
        return "the document ends too early";
    case json_error_end_of_input_expected:
        return "more follows the end of the document";
    case json_error_null_byte_in_key:
        return "a key with a NUL";
    case json_error_duplicate_key:
        return "the same key twice";
    case json_error_numeric_overflow:
        return "a number beyond i64 or f64";
    default:
        return "bad syntax";
    }
}

/*  The word near `position` that Python writes for a number that is not finite; NULL: there is none. */
static const char *find_nonfinite(const char *text, size_t size, int position)
{
    static const char *const words[] = {"NaN", "Infinity"};
    enum { AROUND = 16 };
    size_t at = position > 0 ? (size_t)position : 0;
    size_t begin = at > AROUND ? at - AROUND : 0;
    size_t end = at + AROUND < size ? at + AROUND : size;
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        if (begin < end && memmem(text + begin, end - begin, words[i], strlen(words[i])) != NULL)
            return words[i];
    return NULL;
}

static json_t *load(const char *text, size_t size, json_error_t *found)
{
    *found = (json_error_t){.position = 0};
    return json_loadb(text, size, JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL, found);
}

/*  The words for numbers that are not finite.  The library knows none of them, so it gets strings that
 *  begin with NUL instead. */
static const struct {
    const char *word;
    double number;
} nonfinite[] = {{"NaN", NAN}, {"Infinity", INFINITY}, {"-Infinity", -INFINITY}};

enum { NONFINITE = sizeof nonfinite / sizeof nonfinite[0], NUL_TEXT = 8 /* quotes and \u0000 */ };

/*  Which of the words is at the start of the text; NONFINITE: none. */
static size_t word_at(const char *text, size_t size)
{
    size_t i = 0;
    while (i < NONFINITE && (size < strlen(nonfinite[i].word) ||
                             memcmp(text, nonfinite[i].word, strlen(nonfinite[i].word)) != 0))
        i++;
    return i;
}

/*  Parses a document after the words outside of its strings became strings. */
static json_t *load_marked(const char *text, size_t size, json_error_t *found)
{
    char *marked = tnd_allocate(size, 1 + NUL_TEXT), *to = marked;
    bool string = false;
    for (size_t at = 0; at < size;) {
        size_t word = string ? NONFINITE : word_at(text + at, size - at);
        if (word < NONFINITE) {
            to += sprintf(to, "\"\\u0000%s\"", nonfinite[word].word);
            at += strlen(nonfinite[word].word);
            continue;
        }
        bool escaped = string && text[at] == '\\' && at + 1 < size;
        string ^= text[at] == '"';
        for (int i = 0; i < 1 + escaped; i++)
            *to++ = text[at++];
    }
    json_t *root = load(marked, (size_t)(to - marked), found);
    free(marked);
    return root;
}

/*  The word that a value was, or NONFINITE. */
static size_t word_of(const json_t *value)
{
    const char *text = json_string_value(value);
    size_t i = 0;
    if (text == NULL || json_string_length(value) == 0 || text[0] != '\0')
        return NONFINITE;
    while (i < NONFINITE && (json_string_length(value) != 1 + strlen(nonfinite[i].word) ||
                             strcmp(text + 1, nonfinite[i].word) != 0))
        i++;
    return i;
}

tnd_status_t tnd_json_record_open(tnd_json_record_t *self, const void *text, size_t size,
                                  bool allow_nan, tnd_error_t *error)
{
    json_error_t found;
    self->root = load(size > 0 ? text : "", size, &found);
    if (self->root == NULL && allow_nan && json_error_code(&found) == json_error_invalid_syntax &&
        size > 0)
        self->root = load_marked(text, size, &found);
    if (self->root != NULL)
        return TND_OK;
    if (found.text[0] == '\0' || json_error_code(&found) == json_error_out_of_memory)
        tnd_require_memory(NULL);
    if (tnd_byte_order_mark(text, size) > 0)
        return tnd_fail(error, "not JSON: it begins with a byte order mark (bytes EF BB BF), which "
                               "`bom: remove` leaves out");
    const char *word = json_error_code(&found) == json_error_invalid_syntax
                           ? find_nonfinite(text, size, found.position)
                           : NULL;
    if (word != NULL)
        return tnd_fail(error,
                        "not JSON: %s is not a number of JSON, near byte %d of the record; "
                        "write null, for which `default` has a value, or set `allow_nan: true`",
                        word, found.position);
    return tnd_fail(error, "not JSON: %s, near byte %d of the record", problem(&found),
                    found.position);
}

void tnd_json_record_close(tnd_json_record_t *self)
{
    json_decref(self->root);
    self->root = NULL;
}

/*  The item of a list at the place that a key says; NULL: there is none. */
static const json_t *find_item(const json_t *list, const char *key, size_t size)
{
    uint64_t place = 0;
    for (size_t i = 0; i < size; i++) {
        if (key[i] < '0' || key[i] > '9' || place > UINT32_MAX)
            return NULL;
        place = place * 10 + (uint64_t)(key[i] - '0');
    }
    return size > 0 ? json_array_get(list, place) : NULL;
}

const tnd_json_value_t *tnd_json_record_find(const tnd_json_record_t *self, const char *path)
{
    const json_t *value = self->root;
    for (const char *key = path; value != NULL; key++) {
        size_t size = strcspn(key, ".");
        value =
            json_is_array(value) ? find_item(value, key, size) : json_object_getn(value, key, size);
        key += size;
        if (*key == '\0')
            break;
    }
    return json_is_null(value) ? NULL : value;
}

bool tnd_json_value_is_list(const tnd_json_value_t *self, uint64_t *length_p)
{
    *length_p = json_array_size(self);
    return json_is_array(self);
}

const tnd_json_value_t *tnd_json_value_item(const tnd_json_value_t *self, uint64_t place)
{
    return json_array_get(self, place);
}

bool tnd_json_value_is_string(const tnd_json_value_t *self, const char **text_p, size_t *size_p)
{
    *text_p = json_string_value(self);
    *size_p = json_string_length(self);
    return json_is_string(self) && word_of(self) == NONFINITE;
}

static bool write_integer(int64_t number, tnd_dtype_t dtype, void *out)
{
    size_t size = tnd_dtype_size(dtype);
    bool has_sign = tnd_dtype_is_signed(dtype);
    int64_t most = INT64_MAX;
    if (size < sizeof number)
        most = (INT64_C(1) << (8 * size - has_sign)) - 1;
    if (number > most || number < (has_sign ? -most - 1 : 0))
        return false;
    memcpy(out, &number, size);
    return true;
}

static bool write_float(double number, tnd_dtype_t dtype, void *out)
{
    float small = (float)number;
    if (dtype == TND_F32)
        memcpy(out, &small, sizeof small);
    else
        memcpy(out, &number, sizeof number);
    return dtype != TND_F32 || isfinite(small);
}

bool tnd_json_value_number(const tnd_json_value_t *self, tnd_dtype_t dtype, void *out)
{
    bool to_float = tnd_dtype_is_float(dtype);
    size_t word = word_of(self);
    if (word < NONFINITE) {
        if (to_float)
            (void)write_float(nonfinite[word].number, dtype, out);
        return to_float;
    }
    if (json_is_real(self)) {
        double number = json_real_value(self);
        if (to_float)
            return write_float(number, dtype, out);
        return fabs(number) <= 0x1p53 && number == trunc(number) &&
               write_integer((int64_t)number, dtype, out);
    }
    if (!json_is_integer(self) && !json_is_boolean(self))
        return false;
    int64_t number = json_is_integer(self) ? json_integer_value(self) : json_is_true(self);
    return to_float ? write_float((double)number, dtype, out) : write_integer(number, dtype, out);
}

const char *tnd_json_excerpt(tnd_json_excerpt_t *self, const tnd_json_value_t *value)
{
    static const char *const kinds[] = {
        [JSON_OBJECT] = "an object", [JSON_ARRAY] = "a list", [JSON_STRING] = "a string",
        [JSON_TRUE] = "true",        [JSON_FALSE] = "false",  [JSON_NULL] = "null",
    };
    if (word_of(value) < NONFINITE)
        return nonfinite[word_of(value)].word;
    switch (json_typeof(value)) {
    case JSON_INTEGER:
        snprintf(self->text, sizeof self->text, "%" PRId64, (int64_t)json_integer_value(value));
        break;
    case JSON_REAL:
        snprintf(self->text, sizeof self->text, "%.17g", json_real_value(value));
        break;
    default:
        snprintf(self->text, sizeof self->text, "%s", kinds[json_typeof(value)]);
    }
    return self->text;
}

const char *tnd_json_library(void)
{
    return jansson_version_str();
}
