/*  actors/op/example_features.h - the features that a topology asks of an example, and their columns.
 *
 *      features: {label: i64, box: {dtype: f32, shape: [4], default: 0}, tokens: {dtype: i64, ragged: true, max: 512}}
 *
 *  A feature without `ragged` has one shape, as FixedLenFeature in TensorFlow; with it any number of
 *  values, as VarLenFeature, RaggedFeature and FixedLenSequenceFeature.  A byte string is a ragged column
 *  of u8.  Several are joined in one, and a column NAME_lengths has the bytes of each.  A sparse feature
 *  becomes NAME_indices and NAME.
 *
 *  Ownership: the plan has copies of all texts.  Threads: read-only once it is made; any. */
#ifndef TND_ACTORS_OP_EXAMPLE_FEATURES_H
#define TND_ACTORS_OP_EXAMPLE_FEATURES_H

#include "actors/example/example.h"
#include "runtime/data/schema.h"
#include "runtime/option/option.h"

/*  What a topology says: a table for options of type TABLE, and the struct that it fills. */
typedef struct {
    tnd_pairs_t features;
} tnd_feature_options_t;
extern const tnd_table_t
    tnd_features_table;                    /* of an Example, or the context of a SequenceExample */
extern const tnd_table_t tnd_frames_table; /* of the feature lists of a SequenceExample */

typedef enum {
    TND_SHAPE_FIXED,  /* every row has `elements` values */
    TND_SHAPE_RAGGED, /* any multiple of `elements`, up to `most` of them */
    TND_SHAPE_SPARSE, /* values and as many indices, up to `most` */
    TND_SHAPE_FRAMES  /* a list of features, up to `most`, of `elements` values each */
} tnd_feature_shape_t;

typedef struct {
    const char *name; /* of the column, and in errors */
    tnd_feature_kind_t kind;
    tnd_feature_shape_t shape;
    uint64_t elements, most;
    bool optional;    /* a missing feature has the default, or no values */
    uint32_t slot;    /* of the key */
    uint32_t indices; /* of a sparse feature: the slot of the key of its indices */
    uint32_t column;  /* of the values */
    uint32_t beside;  /* the column of lengths or indices; 0: none (it is never the first) */
    /*  The default of a fixed feature: its values as they are stored; the lengths of strings. */
    uint8_t *fallback;
    int64_t *fallback_lengths;
    size_t fallback_bytes;
} tnd_feature_t;

typedef struct {
    const char *key;
    size_t size;
    tnd_example_head_t head; /* of an entry with this key */
} tnd_feature_slot_t;

typedef struct {
    tnd_feature_t *features;
    uint32_t count;
    tnd_feature_slot_t *slots; /* the keys that are looked for; keys differ */
    uint32_t slot_count;
    double growth_max, growth_usual; /* as in tnd_op_facts_t */
} tnd_features_t;

/*  Makes a plan, and adds the columns to *schema.  `longest`: the bytes of the longest message, which
 *  bounds features without `max`.  Free it with tnd_features_fini, after a failure too.  Errors:
 *  TND_FAILED; the text names the feature. */
tnd_status_t tnd_features_init(tnd_features_t *self, const tnd_feature_options_t *options,
                               bool frames, uint64_t longest, tnd_schema_t *schema,
                               tnd_error_t *error) TND_CHECKED;
void tnd_features_fini(tnd_features_t *self);

#endif
