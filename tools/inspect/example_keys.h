/*  tools/inspect/example_keys.h - the keys and types of tf.Example and tf.SequenceExample messages.
 *
 *  A message is a row of bytes (tensorflow/core/example/{example,feature}.proto).  The names, types
 *  and counts are read, and of texts what they are by their first bytes.  A message counts as an example if every byte of it
 *  belongs to one; TensorFlow also ignores unknown fields.
 *
 *  Memory is bounded: at most TND_EXAMPLE_KEYS_MAX keys of TND_EXAMPLE_NAME_MAX bytes are recorded.
 *
 *  Threads: one at a time. */
#ifndef TND_TOOLS_INSPECT_EXAMPLE_KEYS_H
#define TND_TOOLS_INSPECT_EXAMPLE_KEYS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tools/inspect/sample_kind.h"

enum { TND_EXAMPLE_KEYS_MAX = 256, TND_EXAMPLE_NAME_MAX = 96 };

/*  The fields of a Feature, from 1 on. */
typedef enum {
    TND_EXAMPLE_NONE, /* no values: as if the key was missing */
    TND_EXAMPLE_BYTES,
    TND_EXAMPLE_FLOAT,
    TND_EXAMPLE_INT64
} tnd_example_type_t;

typedef struct {
    char name[TND_EXAMPLE_NAME_MAX + 1]; /* cut if it is longer; control characters are `?` */
    tnd_example_type_t type;
    bool mixed;                      /* messages, or the steps of a list, disagree about the type */
    bool list;                       /* of a SequenceExample: a list of features */
    uint64_t records;                /* messages that have it */
    uint64_t empty;                  /* those where it has no type, as if it was missing */
    uint64_t message;                /* the last of them, from 1 on */
    uint64_t values_min, values_max; /* values of a message; of a list: features */
    uint64_t steps_min, steps_max;   /* values of one feature of a list */
    uint64_t bytes_min, bytes_max;   /* of one value, for TND_EXAMPLE_BYTES */
    tnd_sample_kind_t kind;          /* of these, of features with one value */
} tnd_example_key_t;

typedef struct {
    tnd_example_key_t keys[TND_EXAMPLE_KEYS_MAX]; /* in the order of their first appearance */
    uint32_t count;
    bool more;         /* there were more keys than that */
    bool sequence;     /* one of them has feature lists: they are of tf.SequenceExample */
    uint64_t examples; /* messages so far that were examples */
    uint64_t records;  /* messages so far */
} tnd_example_keys_t;

/*  Adds a message.  False: it is not an example, and its keys are not added. */
bool tnd_example_keys_add(tnd_example_keys_t *self, const uint8_t *data, size_t size);

/*  "bytes", "float", "int64" or "none". */
const char *tnd_example_type_name(tnd_example_type_t type);

#endif
