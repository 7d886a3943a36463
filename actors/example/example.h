/*  actors/example/example.h - the messages tf.Example and tf.SequenceExample, read in place.
 *
 *      Example         { Features features = 1; }
 *      Features        { map<string, Feature> feature = 1; }
 *      Feature         { oneof { BytesList = 1; FloatList = 2; Int64List = 3; } }
 *      BytesList ...   { repeated TYPE value = 1; }
 *      SequenceExample { Features context = 1; FeatureLists feature_lists = 2; }
 *      FeatureLists    { map<string, FeatureList> feature_list = 1; }
 *      FeatureList     { repeated Feature feature = 1; }
 *
 *  Source: tensorflow/core/example/{example,feature}.proto.  Of bytes that no writer makes, results are
 *  TensorFlow's: an entry of a map is exactly a key and a value; of two kinds in a Feature the first
 *  counts; a list is one run, and what follows a packed run is ignored.
 *
 *  Nothing is allocated, and all that is returned points into the message.
 *
 *  Threads: plain values; any. */
#ifndef TND_ACTORS_EXAMPLE_EXAMPLE_H
#define TND_ACTORS_EXAMPLE_EXAMPLE_H

#include "actors/example/protobuf.h"
#include "runtime/base/status.h"

/*  The kind of a Feature, by the number of its field. */
typedef enum {
    TND_FEATURE_NONE, /* it has no list, which is as if the key was missing */
    TND_FEATURE_BYTES,
    TND_FEATURE_FLOATS,
    TND_FEATURE_INTS
} tnd_feature_kind_t;

/*  An entry of a map from names to features, or to lists of features. */
typedef struct {
    tnd_protobuf_t key, value;
} tnd_example_entry_t;

/*  Reads the entries of all maps with the field number `field` of a message: of an Example 1, of a
 *  SequenceExample 1 for its context and 2 for its feature lists.  A key may come more than once; the
 *  last entry counts. */
typedef struct {
    tnd_protobuf_t message, map;
    uint8_t tag;
} tnd_example_t;

/*  The tag of an entry of a map. */
enum { TND_EXAMPLE_ENTRY = TND_PROTOBUF_TAG(1, TND_WIRE_BYTES) };

void tnd_example_init(tnd_example_t *self, uint32_t field, const void *data, size_t size);
/*  TND_END: the maps have no further entries.  TND_REFUSED: the bytes are not such a message. */
tnd_status_t tnd_example_next(tnd_example_t *self, tnd_example_entry_t *entry) TND_CHECKED;

/*  The bytes with which an entry begins as a writer makes it: the key, and the tag of the value. */
typedef struct {
    uint8_t *bytes;
    size_t size;
} tnd_example_head_t;

/*  `bytes` is the caller's to free. */
tnd_example_head_t tnd_example_head(const char *key);
/*  Reads the next entry as tnd_example_next does, but only if it begins with `head`, whose key it then
 *  has: a comparison instead of a parse.  False: nothing was read. */
static inline bool tnd_example_take(tnd_example_t *self, const tnd_example_head_t *head,
                                    tnd_protobuf_t *value)
{
    tnd_protobuf_t message = self->message, map = self->map, entry;
    if (map.at == map.end &&
        (!tnd_protobuf_expect(&message, self->tag) || !tnd_protobuf_message(&message, &map)))
        return false;
    if (!tnd_protobuf_expect(&map, TND_EXAMPLE_ENTRY) || !tnd_protobuf_message(&map, &entry) ||
        tnd_protobuf_left(&entry) < head->size || memcmp(entry.at, head->bytes, head->size) != 0)
        return false;
    entry.at += head->size;
    if (!tnd_protobuf_bytes(&entry, value) || entry.at != entry.end)
        return false;
    self->message = message;
    self->map = map;
    return true;
}

/*  The list of a Feature.  False: its first field is not one of the three. */
static inline bool tnd_feature_open(const tnd_protobuf_t *feature, tnd_feature_kind_t *kind_p,
                                    tnd_protobuf_t *list_p)
{
    *kind_p = TND_FEATURE_NONE;
    *list_p = *feature;
    if (feature->at == feature->end)
        return true;
    const uint8_t tag = *list_p->at++;
    if ((tag & 7) != TND_WIRE_BYTES || tag >> 3 < TND_FEATURE_BYTES || tag >> 3 > TND_FEATURE_INTS)
        return false;
    *kind_p = (tnd_feature_kind_t)(tag >> 3);
    return true;
}

/*  Sets *count_p to the values of a list, and *bytes_p to the bytes of all strings of a BytesList
 *  (else 0).  False: the list is cut, or has something else in it. */
bool tnd_feature_count(tnd_feature_kind_t kind, const tnd_protobuf_t *list, uint64_t *count_p,
                       uint64_t *bytes_p);
/*  Counts the integers of a list as tnd_feature_count does, and writes the first `most` of them. */
bool tnd_feature_take_ints(const tnd_protobuf_t *list, uint64_t most, int64_t *values,
                           uint64_t *count_p);
/*  Write the values of a list that was counted. */
void tnd_feature_ints(const tnd_protobuf_t *list, int64_t *values);
void tnd_feature_floats(const tnd_protobuf_t *list, float *values);
/*  The strings of a BytesList that was counted; the next of them, of which *strings is what is left.
 *  False: there is none. */
tnd_protobuf_t tnd_feature_strings(const tnd_protobuf_t *list);
bool tnd_feature_string(tnd_protobuf_t *strings, tnd_protobuf_t *string);

/*  The next Feature of a FeatureList, of which *list is what is left.  TND_END, TND_REFUSED: as
 *  tnd_example_next. */
tnd_status_t tnd_feature_next(tnd_protobuf_t *list, tnd_protobuf_t *feature) TND_CHECKED;

/*  "bytes", "f32", "i64", or "nothing". */
const char *tnd_feature_kind_name(tnd_feature_kind_t kind);

#endif
