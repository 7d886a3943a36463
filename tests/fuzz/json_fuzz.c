/*  tests/fuzz/json_fuzz.c - rows of bytes as JSON documents, as the operation `decode_json` sees
 *  them. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "actors/text/json_record.h"
#include "tests/fuzz/fuzz.h"

static void read_value(const tnd_json_value_t *value, uint64_t *left)
{
    static const tnd_dtype_t types[] = {TND_U8,  TND_I8,  TND_U16, TND_I16, TND_U32,
                                        TND_I32, TND_U64, TND_I64, TND_F32, TND_F64};
    tnd_json_excerpt_t excerpt;
    const char *text;
    size_t size;
    uint64_t length;
    assert(*tnd_json_excerpt(&excerpt, value) != '\0');
    bool is_list = tnd_json_value_is_list(value, &length), is_string = false, is_number = false;
    for (uint64_t i = 0; is_list && i < length; i++) {
        assert((*left)-- > 0); /* every item has a byte of its own */
        read_value(tnd_json_value_item(value, i), left);
    }
    if ((is_string = tnd_json_value_is_string(value, &text, &size))) {
        char *copy = malloc(size + 1);
        if (copy == NULL)
            abort();
        memcpy(copy, text, size);
        free(copy);
    }
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++) {
        size_t bytes = tnd_dtype_size(types[i]);
        void *out = malloc(bytes); /* exactly what may be written */
        if (out == NULL)
            abort();
        is_number |= tnd_json_value_number(value, types[i], out);
        free(out);
    }
    assert(is_list + is_string + is_number <= 1);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    static const char *const paths[] = {"a", "a.b", "0",       "1.a", "a.0.b",
                                        "",  ".",   "0.0.0.0", "text"};
    tnd_json_record_t record;
    tnd_error_t error = {.text = ""};
    uint64_t left = size;
    /* Exactly `size` bytes, so that the sanitizer notices one that is read beyond. */
    uint8_t *copy = malloc(size > 0 ? size : 1);
    if (copy == NULL)
        abort();
    if (size > 0)
        memcpy(copy, bytes, size);
    tnd_status_t status = tnd_json_record_open(&record, copy, size, size % 2 == 0, &error);
    free(copy);
    assert(status == TND_OK || *error.text != '\0');
    if (status != TND_OK)
        return 0;
    read_value(record.root, &left);
    for (size_t i = 0; i < sizeof paths / sizeof paths[0]; i++) {
        const tnd_json_value_t *found = tnd_json_record_find(&record, paths[i]);
        left = size;
        if (found != NULL)
            read_value(found, &left);
    }
    tnd_json_record_close(&record);
    return 0;
}
