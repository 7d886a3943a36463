/*  actors/op/example_features.c - the features that a topology asks of an example, and their columns. */
#include "actors/op/example_features.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "actors/op/ops.h"
#include "runtime/base/allocation.h"

/*  The struct of a feature of either table; what its table does not have stays zero. */
typedef struct {
    int dtype;
    const char *key;
    tnd_numbers_t shape;
    tnd_strings_t fallback;
    bool ragged, missing;
    uint64_t max;
    const char *indices;
} feature_options_t;

#define DTYPES "bytes|f32|i64"

/*  What both tables say in the same way. */
#define OPTION_DTYPE                                                                               \
    {                                                                                              \
        TND_OPTION(feature_options_t, dtype, ENUM, GRAPH),                                         \
            .choices = DTYPES, .help = "the kind of its list: bytes, float or int64"               \
    }
#define OPTION_KEY                                                                                 \
    {                                                                                              \
        TND_OPTION(feature_options_t, key, STRING, GRAPH),                                         \
            .fallback = "", .help = "its key, if it is not the name of the column"                 \
    }
#define OPTION_SHAPE(text)                                                                         \
    {                                                                                              \
        TND_OPTION(feature_options_t, shape, F64S, GRAPH), .range = "1..", .fallback = "",         \
                                                           .help = (text)                          \
    }

static const tnd_option_t feature_options[] = {
    OPTION_DTYPE,
    OPTION_KEY,
    OPTION_SHAPE("the shape of its values; if it is ragged, of one step of its length"),
    {TND_OPTION_NAMED("default", feature_options_t, fallback, STRINGS, GRAPH), .fallback = "",
     .help = "what a missing feature has: one value for all elements, or a list of all of them; "
             "without it the row is bad"},
    {TND_OPTION(feature_options_t, ragged, BOOL, GRAPH), .fallback = "false",
     .help = "whether its length differs from row to row; a missing one has length 0"},
    {TND_OPTION(feature_options_t, max, U64, GRAPH), .fallback = "longest", .choices = "longest=0",
     .range = "1..1099511627776",
     .help = "the maximum length, for which memory is reserved; for one byte string its bytes; "
             "longer rows are bad"},
    {TND_OPTION(feature_options_t, indices, STRING, GRAPH), .fallback = "",
     .help = "of a sparse feature: the key of its indices, which become the column NAME_indices"},
};

static const tnd_table_t feature_table = {.name = "feature",
                                          .help = "a feature of an example",
                                          TND_OPTIONS(feature_options, feature_options_t)};

static const tnd_option_t frame_options[] = {
    OPTION_DTYPE,
    OPTION_KEY,
    OPTION_SHAPE("the shape of one feature of the list"),
    {TND_OPTION(feature_options_t, missing, BOOL, GRAPH), .fallback = "false",
     .help = "whether a row without this list has length 0; if not, it is bad"},
    {TND_OPTION(feature_options_t, max, U64, GRAPH), .fallback = "longest", .choices = "longest=0",
     .range = "1..1099511627776",
     .help = "the maximum length of the list, for which memory is reserved; longer rows are bad"},
};

static const tnd_table_t frame_table = {.name = "feature_list",
                                        .help = "a list of features of a sequence example",
                                        TND_OPTIONS(frame_options, feature_options_t)};

static const tnd_option_t features_options[] = {
    {TND_OPTION_NAMED("*", tnd_feature_options_t, features, STRING, GRAPH), .unit = "type",
     .example = "i64", .fallback = "",
     .help = "a feature and its type, bytes, f32 or i64, if each row has one value; or a map of "
             "options",
     .table = &feature_table},
};

const tnd_table_t tnd_features_table = {.name = "features",
                                        .help = "the features of an example",
                                        TND_OPTIONS(features_options, tnd_feature_options_t)};

static const tnd_option_t frames_options[] = {
    {TND_OPTION_NAMED("*", tnd_feature_options_t, features, STRING, GRAPH), .unit = "type",
     .example = "i64", .fallback = "",
     .help =
         "a list of features and its type, bytes, f32 or i64, if each feature has one value; or "
         "a map of options",
     .table = &frame_table},
};

const tnd_table_t tnd_frames_table = {.name = "feature_lists",
                                      .help = "the feature lists of a sequence example",
                                      TND_OPTIONS(frames_options, tnd_feature_options_t)};

static const tnd_dtype_t dtypes[] = {
    [TND_FEATURE_BYTES] = TND_U8, [TND_FEATURE_FLOATS] = TND_F32, [TND_FEATURE_INTS] = TND_I64};

/*  The kind called `text`, in *chosen.  Errors: TND_FAILED; the text lists them. */
static tnd_status_t read_kind(const char *name, const char *text, feature_options_t *chosen,
                              tnd_error_t *error)
{
    const char *choices = DTYPES, *word;
    size_t size;
    for (int i = 0; (size = tnd_option_choice(&choices, &word)) > 0; i++)
        if (strlen(text) == size && strncmp(text, word, size) == 0) {
            chosen->dtype = i;
            return TND_OK;
        }
    return tnd_fail(error, "feature `%s` has the type `%s`; the types are bytes, f32 and i64", name,
                    text);
}

static uint32_t slot_of(tnd_features_t *self, const char *key)
{
    for (uint32_t i = 0; i < self->slot_count; i++)
        if (strcmp(self->slots[i].key, key) == 0)
            return i;
    self->slots[self->slot_count] =
        (tnd_feature_slot_t){tnd_copy_string(key), strlen(key), tnd_example_head(key)};
    return self->slot_count++;
}

static tnd_status_t add_column(tnd_schema_t *schema, const char *name, tnd_dtype_t dtype,
                               bool ragged, uint32_t rank, const uint64_t *shape, uint32_t *index_p,
                               tnd_error_t *error)
{
    *index_p = schema->count;
    return ragged ? tnd_schema_add_ragged(schema, name, dtype, rank, shape, error)
                  : tnd_schema_add(schema, name, dtype, rank, shape, error);
}

/*  Adds the column of the values, and that of lengths or indices. */
static tnd_status_t add_columns(tnd_feature_t *self, const feature_options_t *chosen,
                                const uint64_t *axes, uint32_t rank, uint64_t longest,
                                tnd_schema_t *schema, tnd_error_t *error)
{
    char name[TND_COLUMN_NAME_MAX + sizeof "_indices"];
    bool ragged = self->shape != TND_SHAPE_FIXED, bytes = self->kind == TND_FEATURE_BYTES;
    bool one = bytes && !ragged && rank == 0;
    uint64_t shape[TND_RANK_MAX + 1] = {self->most};
    memcpy(&shape[ragged], axes, rank * sizeof *axes);
    if (bytes) {
        uint64_t read = one ? self->most : longest;
        uint64_t joined = self->fallback_bytes > read ? self->fallback_bytes : read;
        TND_TRY(add_column(schema, self->name, TND_U8, true, 1, &joined, &self->column, error));
    } else {
        TND_TRY(add_column(schema, self->name, dtypes[self->kind], ragged, rank + ragged, shape,
                           &self->column, error));
    }
    if (chosen->indices != NULL) {
        snprintf(name, sizeof name, "%s_indices", self->name);
        TND_TRY(add_column(schema, name, TND_I64, true, 1, &self->most, &self->beside, error));
    } else if (bytes && !one) {
        snprintf(name, sizeof name, "%s_lengths", self->name);
        TND_TRY(
            add_column(schema, name, TND_I64, ragged, rank + ragged, shape, &self->beside, error));
    }
    return TND_OK;
}

static tnd_status_t read_fallback(tnd_feature_t *self, const tnd_strings_t *given,
                                  tnd_error_t *error)
{
    const tnd_column_t like = {.dtype = dtypes[self->kind]};
    if (given->count != 1 && given->count != self->elements)
        return tnd_fail(error,
                        "feature `%s` has %" PRIu64 " values, its default %zu; one is for all",
                        self->name, self->elements, given->count);
    size_t size = tnd_dtype_size(like.dtype), bytes = self->elements * size;
    if (self->kind == TND_FEATURE_BYTES) {
        bytes = 0;
        for (uint64_t i = 0; i < self->elements; i++)
            bytes += strlen(given->items[given->count == 1 ? 0 : i]);
        self->fallback_lengths =
            tnd_allocate_zeroed(self->elements, sizeof *self->fallback_lengths);
    }
    self->fallback = tnd_allocate_zeroed(bytes + 1, 1);
    for (uint64_t i = 0; i < self->elements; i++) {
        const char *text = given->items[given->count == 1 ? 0 : i];
        if (self->kind == TND_FEATURE_BYTES) {
            self->fallback_lengths[i] = (int64_t)strlen(text);
            memcpy(self->fallback + self->fallback_bytes, text, strlen(text));
            self->fallback_bytes += strlen(text);
            continue;
        }
        uint64_t bits;
        tnd_column_t column = like;
        snprintf(column.name, sizeof column.name, "%s", self->name);
        TND_TRY(tnd_op_number("default", text, &column, &bits, error));
        memcpy(self->fallback + i * size, &bits, size);
    }
    return TND_OK;
}

/*  What does not go together. */
static tnd_status_t check(const tnd_feature_t *self, const feature_options_t *chosen,
                          tnd_error_t *error)
{
    if (chosen->indices != NULL && (chosen->ragged || chosen->shape.count > 0))
        return tnd_fail(error, "feature `%s` is sparse; it has no `ragged` and no `shape`",
                        self->name);
    if (chosen->indices != NULL && self->kind == TND_FEATURE_BYTES)
        return tnd_fail(error,
                        "feature `%s` is sparse and of bytes, which would be two ragged axes; a "
                        "sparse feature is of f32 or i64",
                        self->name);
    if (self->shape == TND_SHAPE_RAGGED || self->shape == TND_SHAPE_SPARSE) {
        if (chosen->fallback.count > 0)
            return tnd_fail(error,
                            "feature `%s` has length 0 where it is missing, and no default; "
                            "`pad_ragged` and `ragged: pad` have a `value`",
                            self->name);
        return TND_OK;
    }
    bool one = self->kind == TND_FEATURE_BYTES && chosen->shape.count == 0;
    if (self->shape == TND_SHAPE_FIXED && !one && chosen->max != 0)
        return tnd_fail(error, "feature `%s` has one shape; `max` is for ragged ones", self->name);
    return TND_OK;
}

/*  Bytes of ragged columns per byte of the list: a varint has one and becomes eight; a string among
 *  several has at least two, and gets a length. */
static double growth_of(const tnd_feature_t *self)
{
    bool ragged = self->shape != TND_SHAPE_FIXED;
    switch (self->kind) {
    case TND_FEATURE_INTS:
        return ragged ? 8 + (self->shape == TND_SHAPE_SPARSE ? 8 : 0) : 0;
    case TND_FEATURE_FLOATS:
        return ragged ? 1 + (self->shape == TND_SHAPE_SPARSE ? 8 : 0) : 0;
    default:
        return self->beside != 0 && ragged ? 5 : 1;
    }
}

static tnd_status_t add_feature(tnd_features_t *self, const tnd_pair_t *pair, bool frames,
                                uint64_t longest, tnd_schema_t *schema, tnd_error_t *error)
{
    tnd_feature_t *made = &self->features[self->count++];
    feature_options_t chosen = {0};
    uint64_t axes[TND_RANK_MAX];
    made->name = tnd_copy_string(pair->name);
    if (pair->options != NULL)
        chosen = *(const feature_options_t *)pair->options;
    else
        TND_TRY(read_kind(pair->name, pair->text, &chosen, error));
    made->kind = (tnd_feature_kind_t)(TND_FEATURE_BYTES + chosen.dtype);
    made->shape = frames                   ? TND_SHAPE_FRAMES
                  : chosen.indices != NULL ? TND_SHAPE_SPARSE
                  : chosen.ragged          ? TND_SHAPE_RAGGED
                                           : TND_SHAPE_FIXED;
    uint32_t rank = (uint32_t)chosen.shape.count;
    if (rank > TND_RANK_MAX - 1)
        return tnd_fail(error, "feature `%s` has %" PRIu32 " dimensions; at most %d are possible",
                        made->name, rank, TND_RANK_MAX - 1);
    TND_TRY(check(made, &chosen, error));
    int64_t whole[TND_RANK_MAX];
    TND_TRY(tnd_op_whole("shape", &chosen.shape, 1, whole, TND_RANK_MAX, error));
    made->elements = 1;
    for (uint32_t i = 0; i < rank; i++) {
        axes[i] = (uint64_t)whole[i];
        if (axes[i] > (UINT64_C(1) << 40) / made->elements)
            return tnd_fail(error, "feature `%s` has more than 2^40 values", made->name);
        made->elements *= axes[i];
    }
    /* Every value, and every feature of a list, takes a byte or more. */
    made->most = chosen.max != 0 ? chosen.max : longest;
    made->optional = made->shape == TND_SHAPE_RAGGED || made->shape == TND_SHAPE_SPARSE ||
                     chosen.missing || chosen.fallback.count > 0;
    made->slot = slot_of(self, chosen.key != NULL ? chosen.key : pair->name);
    if (chosen.indices != NULL)
        made->indices = slot_of(self, chosen.indices);
    if (chosen.fallback.count > 0)
        TND_TRY(read_fallback(made, &chosen.fallback, error));
    if (chosen.max != 0 && made->fallback_bytes > chosen.max)
        return tnd_fail(error, "the default of feature `%s` is longer than `max`", made->name);
    return add_columns(made, &chosen, axes, rank, longest, schema, error);
}

/*  Lists of one key, which several features may read, follow each other in no column. */
static void add_growth(tnd_features_t *self)
{
    double most = 1;
    bool bounded = true;
    for (uint32_t s = 0; s < self->slot_count; s++) {
        double sum = 0;
        for (uint32_t i = 0; i < self->count; i++) {
            const tnd_feature_t *one = &self->features[i];
            bool sparse = one->shape == TND_SHAPE_SPARSE;
            if (one->slot == s || (sparse && one->indices == s))
                sum += growth_of(one);
            bounded = bounded && one->fallback_bytes == 0;
        }
        most = sum > most ? sum : most;
    }
    self->growth_max = bounded ? most : 0;
    self->growth_usual = most > 1 ? 2 : 1;
}

tnd_status_t tnd_features_init(tnd_features_t *self, const tnd_feature_options_t *options,
                               bool frames, uint64_t longest, tnd_schema_t *schema,
                               tnd_error_t *error)
{
    size_t count = options->features.count;
    *self = (tnd_features_t){0};
    self->features = tnd_allocate_zeroed(count + 1, sizeof *self->features);
    self->slots = tnd_allocate_zeroed(2 * count + 1, sizeof *self->slots);
    for (size_t i = 0; i < count; i++)
        TND_TRY(add_feature(self, &options->features.items[i], frames, longest, schema, error));
    add_growth(self);
    return TND_OK;
}

void tnd_features_fini(tnd_features_t *self)
{
    for (uint32_t i = 0; i < self->count; i++) {
        free((char *)self->features[i].name);
        free(self->features[i].fallback);
        free(self->features[i].fallback_lengths);
    }
    for (uint32_t i = 0; i < self->slot_count; i++) {
        free((char *)self->slots[i].key);
        free(self->slots[i].head.bytes);
    }
    free(self->features);
    free(self->slots);
    *self = (tnd_features_t){0};
}
