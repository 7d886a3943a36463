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
#include "tools/new/picture_lines.h"

/*  Room in a name for `_lengths` or a number. */
enum { NAME_SPARE = 12 };

/*  The columns of the keys. */
typedef struct {
    char names[TND_EXAMPLE_KEYS_MAX][TND_COLUMN_NAME_MAX]; /* "": it has none */
    const char *whys[TND_EXAMPLE_KEYS_MAX];                /* it has none; else NULL */
    uint32_t used;                                         /* columns */
} columns_t;

static bool is_single(const tnd_example_key_t *key)
{
    return !key->list && key->values_min == 1 && key->values_max == 1;
}

/*  Why a key cannot become a column; NULL: it can. */
static const char *refuse(const tnd_example_key_t *key)
{
    if (key->mixed)
        return "has several types";
    if (key->type == TND_EXAMPLE_NONE)
        return "has no values";
    if (strchr(key->name, '?') != NULL || strlen(key->name) == TND_EXAMPLE_NAME_MAX)
        return "has a name that cannot be written here";
    if (key->list && (key->steps_min != key->steps_max || key->steps_max == 0))
        return "is a list of features of different lengths";
    return NULL;
}

static bool is_taken(const columns_t *self, uint32_t count, const char *name)
{
    char lengths[TND_COLUMN_NAME_MAX + NAME_SPARE];
    for (uint32_t i = 0; i < count; i++) {
        snprintf(lengths, sizeof lengths, "%s_lengths", self->names[i]);
        if (strcmp(self->names[i], name) == 0 || strcmp(lengths, name) == 0)
            return true;
        snprintf(lengths, sizeof lengths, "%s_lengths", name);
        if (strcmp(self->names[i], lengths) == 0)
            return true;
    }
    return false;
}

/*  Gives key `index` a name that a column can have, and that no other has. */
static void name_column(columns_t *self, uint32_t index, const char *key)
{
    char plain[TND_COLUMN_NAME_MAX - NAME_SPARE], *name = self->names[index];
    size_t used = 0;
    if (!isalpha((unsigned char)key[0]))
        plain[used++] = 'x';
    for (const char *at = key; *at != '\0' && used + 1 < sizeof plain; at++)
        plain[used++] = isalnum((unsigned char)*at) ? *at : '_';
    plain[used] = '\0';
    strcpy(name, plain);
    for (unsigned number = 2; is_taken(self, index, name); number++)
        snprintf(name, TND_COLUMN_NAME_MAX, "%s_%u", plain, number);
}

static columns_t *choose_columns(const tnd_example_keys_t *keys)
{
    columns_t *self = tnd_allocate_zeroed(1, sizeof *self);
    for (uint32_t i = 0; i < keys->count; i++) {
        const tnd_example_key_t *key = &keys->keys[i];
        bool single = is_single(key);
        uint32_t more = key->type == TND_EXAMPLE_BYTES && !single ? 2 : 1;
        self->whys[i] = refuse(key);
        if (self->whys[i] == NULL && self->used + more > TND_COLUMNS_MAX)
            self->whys[i] = "would be a column too many";
        if (self->whys[i] != NULL)
            continue;
        name_column(self, i, key->name);
        self->used += more;
    }
    return self;
}

/*  The shape of a feature that has it in all messages, and what it has where it is missing. */
static void write_shape(const tnd_example_keys_t *keys, const tnd_example_key_t *key, FILE *out)
{
    bool always = key->records - key->empty == keys->examples;
    uint64_t values = key->list ? key->steps_max : key->values_max;
    bool same = key->list || (always && key->values_min == values && values > 0);
    if (same && values > 1)
        fprintf(out, ", shape: [%" PRIu64 "]", values);
    if (key->list)
        fputs(always ? "" : ", missing: true", out);
    else if (!same && key->type == TND_EXAMPLE_BYTES && is_single(key))
        fputs(", default: \"\"", out);
    else if (!same)
        fputs(", ragged: true", out);
}

static void write_feature(const tnd_example_keys_t *keys, const tnd_example_key_t *key,
                          const char *name, FILE *out)
{
    static const char *const types[] = {NULL, "bytes", "f32", "i64"};
    char *shape = NULL;
    size_t size = 0;
    FILE *text = tnd_memory_stream(&shape, &size);
    write_shape(keys, key, text);
    fclose(text);
    bool renamed = strcmp(name, key->name) != 0;
    if (*shape == '\0' && !renamed) {
        fprintf(out, "%s: %s", name, types[key->type]);
    } else {
        fprintf(out, "%s: {", name);
        if (renamed) {
            fputs("key: ", out);
            tnd_json_string_print(key->name, out);
            fputs(", ", out);
        }
        fprintf(out, "dtype: %s%s}", types[key->type], shape);
    }
    free(shape);
}

/*  Writes the features that are lists, or those that are not; returns how many. */
static uint32_t write_features(const tnd_example_keys_t *keys, const columns_t *columns, bool list,
                               const char *option, FILE *out)
{
    uint32_t written = 0;
    for (uint32_t i = 0; i < keys->count; i++) {
        if (columns->whys[i] != NULL || keys->keys[i].list != list)
            continue;
        if (written++ == 0)
            fprintf(out, ", %s: {", option);
        else
            fputs(", ", out);
        write_feature(keys, &keys->keys[i], columns->names[i], out);
    }
    fputs(written > 0 ? "}" : "", out);
    return written;
}

char *tnd_example_features(const tnd_example_keys_t *keys, const char *column)
{
    char *text = NULL;
    size_t size = 0;
    columns_t *columns = choose_columns(keys);
    FILE *out = tnd_memory_stream(&text, &size);
    fprintf(out, "parse_%sexample: {column: %s", keys->sequence ? "sequence_" : "", column);
    uint32_t written =
        write_features(keys, columns, false, keys->sequence ? "context" : "features", out);
    written += write_features(keys, columns, true, "sequence", out);
    fputs("}", out);
    fclose(out);
    free(columns);
    if (written > 0 && keys->examples == keys->records)
        return text;
    free(text);
    return NULL;
}

void tnd_example_features_pictures(const tnd_example_keys_t *keys, bool validates, FILE *out)
{
    columns_t *columns = choose_columns(keys);
    for (uint32_t i = 0; i < keys->count; i++) {
        const tnd_example_key_t *key = &keys->keys[i];
        if (columns->whys[i] == NULL && is_single(key) && key->kind.pictures == keys->examples)
            tnd_picture_lines_print(columns->names[i], tnd_picture_lines_side(key->kind.first),
                                    key->kind.largest, validates, out);
    }
    free(columns);
}

char *tnd_example_features_left_out(const tnd_example_keys_t *keys)
{
    char *text = NULL;
    size_t size = 0;
    columns_t *columns = choose_columns(keys);
    FILE *out = tnd_memory_stream(&text, &size);
    bool any = keys->more;
    for (uint32_t i = 0; i < keys->count; i++)
        if (columns->whys[i] != NULL) {
            fprintf(out, "%s`%s` %s", ftell(out) > 0 ? "; " : "", keys->keys[i].name,
                    columns->whys[i]);
            any = true;
        }
    if (keys->more)
        fprintf(out, "%sthere are more than %d keys", ftell(out) > 0 ? "; " : "",
                TND_EXAMPLE_KEYS_MAX);
    fclose(out);
    free(columns);
    if (any)
        return text;
    free(text);
    return NULL;
}
