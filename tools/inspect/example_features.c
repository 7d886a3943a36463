/*  tools/inspect/example_features.c - writes the options of parse_example. */
#include "tools/inspect/example_features.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/base/allocation.h"
#include "runtime/data/schema.h"
#include "runtime/text/json_string.h"

/*  A name that a column can have. */
static void name_column(const char *key, char name[TND_COLUMN_NAME_MAX])
{
    size_t used = 0;
    if (!isalpha((unsigned char)key[0]))
        name[used++] = 'x';
    for (const char *at = key; *at != '\0' && used + 1 < TND_COLUMN_NAME_MAX; at++)
        name[used++] = isalnum((unsigned char)*at) ? *at : '_';
    name[used] = '\0';
}

/*  Several byte strings of a message are no column. */
static bool fits(const tnd_example_key_t *key)
{
    return !key->list && !key->mixed && key->type != TND_EXAMPLE_NONE &&
           (key->type != TND_EXAMPLE_BYTES || (key->values_min == 1 && key->values_max == 1)) &&
           strchr(key->name, '?') == NULL && strlen(key->name) < TND_COLUMN_NAME_MAX;
}

/*  Whether the column of an earlier key has the name. */
static bool is_taken(const tnd_example_keys_t *keys, uint32_t index, const char *name)
{
    char other[TND_COLUMN_NAME_MAX];
    for (uint32_t i = 0; i < index; i++) {
        name_column(keys->keys[i].name, other);
        if (strcmp(other, name) == 0)
            return true;
    }
    return false;
}

static void write_feature(const tnd_example_key_t *key, const char *name, bool always, FILE *out)
{
    static const char *const types[] = {NULL, "bytes", "f32", "i64"};
    bool same = always && key->values_min == key->values_max && key->values_min > 0;
    bool renamed = strcmp(name, key->name) != 0;
    fprintf(out, "%s: ", name);
    if (same && key->values_max == 1 && !renamed) {
        fputs(types[key->type], out);
        return;
    }
    fputc('{', out);
    if (renamed) {
        fputs("key: ", out);
        tnd_json_string_print(key->name, out);
        fputs(", ", out);
    }
    fprintf(out, "dtype: %s", types[key->type]);
    if (same && key->values_max > 1)
        fprintf(out, ", shape: [%" PRIu64 "]", key->values_max);
    if (!same && key->type != TND_EXAMPLE_BYTES)
        fputs(", ragged: true", out);
    if (!same && key->type == TND_EXAMPLE_BYTES)
        fputs(", default: \"\"", out);
    fputc('}', out);
}

char *tnd_example_features(const tnd_example_keys_t *keys, const char *column)
{
    char *text = NULL;
    size_t size = 0;
    uint32_t written = 0;
    FILE *out = tnd_memory_stream(&text, &size);
    fprintf(out, "parse_example: {column: %s, features: {", column);
    for (uint32_t i = 0; i < keys->count; i++) {
        const tnd_example_key_t *key = &keys->keys[i];
        char name[TND_COLUMN_NAME_MAX];
        name_column(key->name, name);
        if (!fits(key) || is_taken(keys, i, name))
            continue;
        fputs(written++ > 0 ? ", " : "", out);
        write_feature(key, name, key->records == keys->examples, out);
    }
    fputs("}}", out);
    fclose(out);
    if (written > 0 && keys->examples == keys->records)
        return text;
    free(text);
    return NULL;
}
