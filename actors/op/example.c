/*  actors/op/example.c - records of tf.Example and tf.SequenceExample become columns: parse_example,
 *  parse_sequence_example.
 *
 *  The last entry of a key counts.  If that has no values, a feature of one shape has those of the
 *  entry before, and a ragged one has none; parse_single_example of TensorFlow takes the entry before
 *  for both, which `like:` selects. */
#include <inttypes.h>
#include <string.h>

#include "actors/op/example_record.h"
#include "actors/op/ops.h"
#include "runtime/base/allocation.h"

/*  Writers put the keys of every message in the same order: entries of a message for which the key of
 *  the message before is tried first, by a comparison. */
enum { PLACES = 64 };

/*  The first bytes of a record, which may be anywhere in memory, are loaded while so many before it
 *  are parsed. */
enum { PREFETCH_ROWS = 3, PREFETCH_BYTES = 512, LINE_BYTES = 64 };

enum { INTS_AT_ONCE = 64 };

typedef struct {
    const char *column;
    const tnd_feature_options_t *features;
    int like;
} example_options_t;

typedef struct {
    const char *column;
    const tnd_feature_options_t *context, *sequence;
} sequence_options_t;

/*  What an example has for a key. */
typedef struct {
    tnd_feature_kind_t kind; /* of the last entry with values */
    tnd_protobuf_t list;
    bool none;  /* the last entry has no values */
    bool given; /* for feature lists, which have no kind */
} found_t;

/*  The features of one map of a message. */
typedef struct {
    tnd_features_t plan;
    found_t *found; /* by slot */
    uint32_t guess[PLACES];
} part_t;

typedef struct {
    uint32_t record, passed; /* the column of messages; how many others there are */
    uint8_t from[TND_COLUMNS_MAX];
    bool sequence, single;
    part_t features, frames;
} example_t;

static const tnd_option_t example_options[] = {
    {TND_OPTION(example_options_t, column, COLUMN, GRAPH), .fallback = "record",
     .help = "the ragged column of u8 with the messages; it is left out of what follows"},
    {TND_OPTION(example_options_t, features, TABLE, GRAPH), .table = &tnd_features_table,
     .help = "the columns that are made, each of a feature"},
    {TND_OPTION(example_options_t, like, ENUM, GRAPH), .fallback = "parse_example",
     .choices = "parse_example|parse_single_example",
     .help = "which function of TensorFlow a message is read like whose last entry of a key has no "
             "values: a ragged column then has none, or those of the entry before (as always in a "
             "FixedLenSequenceFeature)"},
};

static const tnd_option_t sequence_options[] = {
    {TND_OPTION(sequence_options_t, column, COLUMN, GRAPH), .fallback = "record",
     .help = "the ragged column of u8 with the messages; it is left out of what follows"},
    {TND_OPTION(sequence_options_t, context, TABLE, GRAPH), .table = &tnd_features_table,
     .fallback = "", .help = "the columns that are made of its context, each of a feature"},
    {TND_OPTION(sequence_options_t, sequence, TABLE, GRAPH), .table = &tnd_frames_table,
     .fallback = "", .help = "the ragged columns that are made, each of a feature list"},
};

const tnd_op_spec_t tnd_op_parse_example_spec = {
    .table = {.name = "parse_example",
              .help = "Makes columns of tf.Example records, as tf.io.parse_example does in "
                      "TensorFlow; byte strings are not copied.",
              TND_OPTIONS(example_options, example_options_t)},
    .caps = TND_OP_FAILS,
};

const tnd_op_spec_t tnd_op_parse_sequence_example_spec = {
    .table = {.name = "parse_sequence_example",
              .help = "Makes columns of tf.SequenceExample records, as "
                      "tf.io.parse_sequence_example does in TensorFlow.",
              TND_OPTIONS(sequence_options, sequence_options_t)},
    .caps = TND_OP_FAILS,
};

static tnd_status_t open_part(part_t *self, const tnd_feature_options_t *chosen, bool frames,
                              uint64_t longest, tnd_op_facts_t *facts, tnd_error_t *error)
{
    static const tnd_feature_options_t none;
    TND_TRY(tnd_features_init(&self->plan, chosen != NULL ? chosen : &none, frames, longest,
                              &facts->schema, error));
    self->found = tnd_allocate_zeroed(self->plan.slot_count, sizeof *self->found);
    return TND_OK;
}

static void close_example(void *state)
{
    example_t *self = state;
    tnd_features_fini(&self->features.plan);
    tnd_features_fini(&self->frames.plan);
    free(self->features.found);
    free(self->frames.found);
}

static tnd_status_t open_parts(example_t *self, const char *column,
                               const tnd_feature_options_t *features,
                               const tnd_feature_options_t *frames, const tnd_schema_t *in,
                               tnd_op_facts_t *facts, tnd_error_t *error)
{
    TND_TRY(tnd_op_find_any(in, column, &self->record, error));
    const tnd_column_t *record = &in->columns[self->record];
    if (!record->ragged || record->dtype != TND_U8 || record->rank != 1)
        return tnd_fail(error,
                        "column `%s` has no records; they are a ragged column of u8, as the source "
                        "`tfrecord` makes",
                        column);
    facts->reads = UINT64_C(1) << self->record;
    for (uint32_t i = 0; i < in->count; i++) {
        if (i == self->record)
            continue;
        facts->passes[self->passed] = (int8_t)i;
        self->from[self->passed++] = (uint8_t)i;
        TND_TRY(tnd_schema_add_like(&facts->schema, in->columns[i].name, &in->columns[i], error));
    }
    TND_TRY(open_part(&self->features, features, false, record->shape[0], facts, error));
    TND_TRY(open_part(&self->frames, frames, true, record->shape[0], facts, error));
    if (facts->schema.count == self->passed)
        return tnd_fail(error, "no feature is asked for");
    const tnd_features_t *plans[] = {&self->features.plan, &self->frames.plan};
    for (uint32_t i = 0; i < 2; i++) {
        if (plans[i]->growth_max == 0 || facts->growth_max == 0)
            facts->growth_max = 0;
        else if (plans[i]->growth_max > facts->growth_max)
            facts->growth_max = plans[i]->growth_max;
        if (plans[i]->growth_usual > facts->growth_usual)
            facts->growth_usual = plans[i]->growth_usual;
    }
    for (uint32_t i = self->passed; i < facts->schema.count; i++)
        facts->passes[i] = -1;
    return TND_OK;
}

static tnd_status_t parse_example_open(void *state, const void *given, const tnd_schema_t *in,
                                       tnd_op_facts_t *facts, tnd_error_t *error)
{
    example_t *self = state;
    const example_options_t *chosen = given;
    self->single = chosen->like == 1;
    tnd_status_t status =
        open_parts(self, chosen->column, chosen->features, NULL, in, facts, error);
    if (status != TND_OK)
        close_example(self);
    return status;
}

static tnd_status_t parse_sequence_open(void *state, const void *given, const tnd_schema_t *in,
                                        tnd_op_facts_t *facts, tnd_error_t *error)
{
    example_t *self = state;
    const sequence_options_t *chosen = given;
    self->sequence = true;
    tnd_status_t status =
        open_parts(self, chosen->column, chosen->context, chosen->sequence, in, facts, error);
    if (status != TND_OK)
        close_example(self);
    return status;
}

/* --- finding the lists of a message ------------------------------------------------------------ */

/*  The slot of a key, or NULL; `place` counts the entries of the message. */
static found_t *find_slot(part_t *self, const tnd_protobuf_t *key, uint32_t place)
{
    size_t size = tnd_protobuf_left(key);
    uint32_t count = self->plan.slot_count, at = place < PLACES ? self->guess[place] : 0;
    for (uint32_t i = 0; i < count; i++, at = at + 1 == count ? 0 : at + 1) {
        const tnd_feature_slot_t *slot = &self->plan.slots[at];
        if (slot->size != size || (size > 0 && memcmp(slot->key, key->at, size) != 0))
            continue;
        if (place < PLACES)
            self->guess[place] = at;
        return &self->found[at];
    }
    return NULL;
}

/*  The next entry: *found_p is the slot of its key, NULL if it has none. */
static tnd_status_t next_entry(part_t *self, tnd_example_t *example, uint32_t place,
                               found_t **found_p, tnd_protobuf_t *value)
{
    if (place < PLACES && self->plan.slot_count > 0) {
        const uint32_t guess = self->guess[place];
        *found_p = &self->found[guess];
        if (tnd_example_take(example, &self->plan.slots[guess].head, value))
            return TND_OK;
    }
    tnd_example_entry_t entry;
    tnd_status_t status = tnd_example_next(example, &entry);
    *found_p = status == TND_OK ? find_slot(self, &entry.key, place) : NULL;
    *value = entry.value;
    return status;
}

static tnd_status_t find_lists(part_t *self, uint32_t field, const tnd_ragged_t *record,
                               bool frames, tnd_error_t *error)
{
    tnd_example_t example;
    tnd_protobuf_t value;
    found_t *found;
    memset(self->found, 0, self->plan.slot_count * sizeof *self->found);
    tnd_example_init(&example, field, record->data, record->length);
    tnd_status_t status;
    for (uint32_t place = 0; (status = next_entry(self, &example, place, &found, &value)) == TND_OK;
         place++) {
        if (found == NULL)
            continue;
        if (frames) {
            *found = (found_t){.list = value, .given = true};
            continue;
        }
        tnd_feature_kind_t kind;
        tnd_protobuf_t list;
        if (!tnd_feature_open(&value, &kind, &list))
            return tnd_fail(error, "the feature `%s` has no list of bytes, float or int64",
                            self->plan.slots[found - self->found].key);
        found->none = kind == TND_FEATURE_NONE;
        if (found->none)
            continue;
        found->kind = kind;
        found->list = list;
    }
    if (status != TND_END)
        return tnd_fail(error, "the record is not a tf.%s", frames ? "SequenceExample" : "Example");
    return TND_OK;
}

/* --- writing columns ---------------------------------------------------------------------------- */

typedef struct {
    const tnd_feature_t *feature;
    tnd_tile_t *out;
    uint32_t row;
    tnd_error_t *error;
} target_t;

/*  Where `count` numbers of 8 or 4 bytes go; a ragged row is set to `length`. */
static void *place_of(const target_t *self, uint32_t column, uint64_t count, size_t size,
                      uint64_t length)
{
    if (self->out->columns[column].ragged == NULL)
        return tnd_tile_row(self->out, column, self->row);
    void *at = tnd_room_take(self->out->room, count * size, size);
    self->out->columns[column].ragged[self->row] = (tnd_ragged_t){at, length};
    return at;
}

static void write_fallback(const target_t *self)
{
    const tnd_feature_t *of = self->feature;
    if (of->kind != TND_FEATURE_BYTES) {
        size_t size = of->kind == TND_FEATURE_INTS ? sizeof(int64_t) : sizeof(float);
        uint64_t count = of->shape == TND_SHAPE_FIXED ? of->elements : 0;
        void *to = place_of(self, of->column, count, size, 0);
        if (count > 0)
            memcpy(to, of->fallback, count * size);
    } else {
        void *to = place_of(self, of->column, of->fallback_bytes, 1, of->fallback_bytes);
        if (of->fallback_bytes > 0)
            memcpy(to, of->fallback, of->fallback_bytes);
    }
    if (of->beside == 0)
        return;
    uint64_t count = of->shape == TND_SHAPE_FIXED ? of->elements : 0;
    int64_t *beside = place_of(self, of->beside, count, sizeof *beside, 0);
    if (count > 0)
        memcpy(beside, of->fallback_lengths, count * sizeof *beside);
}

/*  Joins the strings of a list at *to_p, with their lengths; both move on. */
static void join_strings(const tnd_protobuf_t *list, uint8_t **to_p, int64_t **lengths_p)
{
    tnd_protobuf_t strings = tnd_feature_strings(list), string;
    while (tnd_feature_string(&strings, &string)) {
        size_t size = tnd_protobuf_left(&string);
        if (size > 0)
            memcpy(*to_p, string.at, size);
        *to_p += size;
        *(*lengths_p)++ = (int64_t)size;
    }
}

static tnd_status_t too_long(const target_t *self, uint64_t length, const char *of)
{
    return tnd_fail(self->error,
                    "the feature `%s` has length %" PRIu64 "%s, more than `max` (%" PRIu64 ")",
                    self->feature->name, length, of, self->feature->most);
}

static tnd_status_t write_strings(const target_t *self, const tnd_protobuf_t *list, uint64_t count,
                                  uint64_t bytes)
{
    const tnd_feature_t *of = self->feature;
    if (of->beside == 0) {
        tnd_protobuf_t strings = tnd_feature_strings(list), string = {0};
        (void)tnd_feature_string(&strings, &string);
        if (bytes > of->most)
            return too_long(self, bytes, " bytes");
        self->out->columns[of->column].ragged[self->row] =
            (tnd_ragged_t){(void *)(uintptr_t)string.at, bytes};
        return TND_OK;
    }
    uint8_t *to = place_of(self, of->column, bytes, 1, bytes);
    int64_t *lengths = place_of(self, of->beside, count, sizeof *lengths, count / of->elements);
    join_strings(list, &to, &lengths);
    return TND_OK;
}

static tnd_status_t fail_damaged(const target_t *self)
{
    return tnd_fail(self->error, "the list of the feature `%s` is damaged", self->feature->name);
}

/*  Checks the number of values, of which the row has `*length_p` times as many as an element. */
static tnd_status_t check_count(const target_t *self, uint64_t count, uint64_t *length_p)
{
    const tnd_feature_t *of = self->feature;
    if (of->shape == TND_SHAPE_FIXED && count != of->elements)
        return tnd_fail(self->error, "the feature `%s` has %" PRIu64 " values, not %" PRIu64,
                        of->name, count, of->elements);
    *length_p = of->elements == 1 ? count : count / of->elements;
    if (*length_p * of->elements != count)
        return tnd_fail(self->error,
                        "the feature `%s` has %" PRIu64
                        " values, which is not a multiple of %" PRIu64,
                        of->name, count, of->elements);
    if (of->shape == TND_SHAPE_RAGGED && *length_p > of->most)
        return too_long(self, *length_p, "");
    return TND_OK;
}

/*  Integers are read only once: those of a fixed feature to their place, those of short lists to a
 *  buffer, as it is not known before how many there are. */
static tnd_status_t write_ints(const target_t *self, const tnd_protobuf_t *list)
{
    const tnd_feature_t *of = self->feature;
    int64_t some[INTS_AT_ONCE];
    uint64_t count, length;
    bool fixed = of->shape == TND_SHAPE_FIXED;
    int64_t *to = fixed ? (void *)tnd_tile_row(self->out, of->column, self->row) : some;
    if (!tnd_feature_take_ints(list, fixed ? of->elements : INTS_AT_ONCE, to, &count))
        return fail_damaged(self);
    TND_TRY(check_count(self, count, &length));
    if (fixed)
        return TND_OK;
    to = place_of(self, of->column, count, sizeof *to, length);
    if (count > INTS_AT_ONCE)
        tnd_feature_ints(list, to);
    else if (count > 0)
        memcpy(to, some, count * sizeof *to);
    return TND_OK;
}

static tnd_status_t write_list(const target_t *self, const found_t *found)
{
    const tnd_feature_t *of = self->feature;
    uint64_t count, bytes, length;
    if (found->kind != of->kind)
        return tnd_fail(self->error, "the feature `%s` is %s, not %s", of->name,
                        tnd_feature_kind_name(found->kind), tnd_feature_kind_name(of->kind));
    if (of->kind == TND_FEATURE_INTS)
        return write_ints(self, &found->list);
    if (!tnd_feature_count(found->kind, &found->list, &count, &bytes))
        return fail_damaged(self);
    TND_TRY(check_count(self, count, &length));
    if (of->kind == TND_FEATURE_BYTES)
        return write_strings(self, &found->list, count, bytes);
    tnd_feature_floats(&found->list, place_of(self, of->column, count, sizeof(float), length));
    return TND_OK;
}

static tnd_status_t write_feature(const target_t *self, const found_t *found, bool single)
{
    const tnd_feature_t *of = self->feature;
    bool fixed = of->shape == TND_SHAPE_FIXED;
    if (found->kind != TND_FEATURE_NONE && (fixed || single || !found->none))
        return write_list(self, found);
    if (!of->optional)
        return tnd_fail(self->error, "the feature `%s` is missing", of->name);
    write_fallback(self);
    return TND_OK;
}

/* --- sparse features ---------------------------------------------------------------------------- */

static bool comes_before(const int64_t *indices, uint64_t a, uint64_t b)
{
    return indices[a] < indices[b] || (indices[a] == indices[b] && a < b);
}

/*  Lets order[at] sink to its place in a heap of `count`. */
static void sink(const int64_t *indices, uint64_t *order, uint64_t at, uint64_t count)
{
    for (uint64_t child; (child = 2 * at + 1) < count; at = child) {
        if (child + 1 < count && comes_before(indices, order[child], order[child + 1]))
            child++;
        if (comes_before(indices, order[child], order[at]))
            return;
        uint64_t one = order[at];
        order[at] = order[child];
        order[child] = one;
    }
}

/*  The places of indices in ascending order, equal ones as they are stored; without recursion and
 *  without memory of its own, whatever a file contains. */
static void sort_places(const int64_t *indices, uint64_t *order, uint64_t count)
{
    for (uint64_t i = 0; i < count; i++)
        order[i] = i;
    for (uint64_t i = count / 2; i-- > 0;)
        sink(indices, order, i, count);
    for (uint64_t left = count; left-- > 1;) {
        uint64_t last = order[0];
        order[0] = order[left];
        order[left] = last;
        sink(indices, order, 0, left);
    }
}

static bool ascend(const int64_t *indices, uint64_t count)
{
    for (uint64_t i = 1; i < count; i++)
        if (indices[i] < indices[i - 1])
            return false;
    return true;
}

/*  Values and indices, in the order of the indices, as the SparseTensor of TensorFlow has them. */
static tnd_status_t write_sparse(const target_t *self, const found_t *values,
                                 const found_t *indices)
{
    const tnd_feature_t *of = self->feature;
    uint64_t count, places, bytes;
    if (values->kind != TND_FEATURE_NONE && values->kind != of->kind)
        return tnd_fail(self->error, "the feature `%s` is %s, not %s", of->name,
                        tnd_feature_kind_name(values->kind), tnd_feature_kind_name(of->kind));
    if (indices->kind != TND_FEATURE_NONE && indices->kind != TND_FEATURE_INTS)
        return tnd_fail(self->error, "the indices of the feature `%s` are %s, not i64", of->name,
                        tnd_feature_kind_name(indices->kind));
    if (!tnd_feature_count(values->kind, &values->list, &count, &bytes) ||
        !tnd_feature_count(indices->kind, &indices->list, &places, &bytes))
        return tnd_fail(self->error, "the list of the feature `%s` is damaged", of->name);
    if (count != places)
        return tnd_fail(self->error,
                        "the feature `%s` has %" PRIu64 " values and %" PRIu64 " indices", of->name,
                        count, places);
    if (count > of->most)
        return too_long(self, count, "");
    size_t size = of->kind == TND_FEATURE_INTS ? sizeof(int64_t) : sizeof(float);
    int64_t *at = place_of(self, of->beside, count, sizeof *at, count);
    uint8_t *to = place_of(self, of->column, count, size, count);
    if (count == 0)
        return TND_OK;
    tnd_feature_ints(&indices->list, at);
    if (of->kind == TND_FEATURE_INTS)
        tnd_feature_ints(&values->list, (int64_t *)(void *)to);
    else
        tnd_feature_floats(&values->list, (float *)(void *)to);
    if (ascend(at, count))
        return TND_OK;
    uint64_t *order = tnd_room_take(self->out->room, count * sizeof *order, sizeof *order);
    int64_t *sorted = place_of(self, of->beside, count, sizeof *sorted, count);
    uint8_t *moved = place_of(self, of->column, count, size, count);
    sort_places(at, order, count);
    for (uint64_t i = 0; i < count; i++) {
        sorted[i] = at[order[i]];
        memcpy(moved + i * size, to + order[i] * size, size);
    }
    return TND_OK;
}

/* --- lists of features -------------------------------------------------------------------------- */

/*  Counts the features of a list, and the bytes of their strings. */
static tnd_status_t count_frames(const target_t *self, tnd_protobuf_t list, uint64_t *count_p,
                                 uint64_t *bytes_p)
{
    const tnd_feature_t *of = self->feature;
    tnd_protobuf_t feature, values;
    tnd_feature_kind_t kind;
    tnd_status_t status;
    uint64_t count, bytes;
    *count_p = *bytes_p = 0;
    while ((status = tnd_feature_next(&list, &feature)) == TND_OK) {
        if (!tnd_feature_open(&feature, &kind, &values) ||
            (kind != TND_FEATURE_NONE && kind != of->kind))
            return tnd_fail(self->error, "feature %" PRIu64 " of the list `%s` is %s, not %s",
                            *count_p, of->name, tnd_feature_kind_name(kind),
                            tnd_feature_kind_name(of->kind));
        if (!tnd_feature_count(kind, &values, &count, &bytes))
            return tnd_fail(self->error, "feature %" PRIu64 " of the list `%s` is damaged",
                            *count_p, of->name);
        if (count != of->elements)
            return tnd_fail(self->error,
                            "feature %" PRIu64 " of the list `%s` has %" PRIu64
                            " values, not %" PRIu64,
                            *count_p, of->name, count, of->elements);
        ++*count_p;
        *bytes_p += bytes;
    }
    return status == TND_END ? TND_OK : tnd_fail(self->error, "the list `%s` is damaged", of->name);
}

static tnd_status_t write_frames(const target_t *self, const found_t *found)
{
    const tnd_feature_t *of = self->feature;
    tnd_protobuf_t list = found->list, feature, values;
    tnd_feature_kind_t kind;
    uint64_t count, bytes;
    if (!found->given && !of->optional)
        return tnd_fail(self->error,
                        "the list `%s` is missing; `missing: true` takes it as one of length 0",
                        of->name);
    TND_TRY(count_frames(self, list, &count, &bytes));
    if (count > of->most)
        return too_long(self, count, "");
    bool strings = of->kind == TND_FEATURE_BYTES;
    size_t size = strings ? 1 : of->kind == TND_FEATURE_INTS ? sizeof(int64_t) : sizeof(float);
    uint64_t all = count * of->elements;
    uint8_t *to = strings ? place_of(self, of->column, bytes, 1, bytes)
                          : place_of(self, of->column, all, size, count);
    int64_t *lengths = strings ? place_of(self, of->beside, all, sizeof *lengths, count) : NULL;
    while (tnd_feature_next(&list, &feature) == TND_OK &&
           tnd_feature_open(&feature, &kind, &values)) {
        if (strings) {
            join_strings(&values, &to, &lengths);
            continue;
        }
        if (of->kind == TND_FEATURE_INTS)
            tnd_feature_ints(&values, (int64_t *)(void *)to);
        else
            tnd_feature_floats(&values, (float *)(void *)to);
        to += of->elements * size;
    }
    return TND_OK;
}

/* --- rows ---------------------------------------------------------------------------------------- */

static tnd_status_t write_row(example_t *self, const tnd_ragged_t *record, target_t *target)
{
    part_t *parts[] = {&self->features, &self->frames};
    TND_TRY(find_lists(&self->features, 1, record, false, target->error));
    if (self->sequence)
        TND_TRY(find_lists(&self->frames, 2, record, true, target->error));
    for (uint32_t p = 0; p < 2; p++)
        for (uint32_t i = 0; i < parts[p]->plan.count; i++) {
            const tnd_feature_t *of = &parts[p]->plan.features[i];
            const found_t *found = parts[p]->found;
            target->feature = of;
            if (of->shape == TND_SHAPE_FRAMES)
                TND_TRY(write_frames(target, &found[of->slot]));
            else if (of->shape == TND_SHAPE_SPARSE)
                TND_TRY(write_sparse(target, &found[of->slot], &found[of->indices]));
            else
                TND_TRY(write_feature(target, &found[of->slot], self->single));
        }
    return TND_OK;
}

static inline void prefetch(const tnd_ragged_t *record)
{
    const uint8_t *at = record->data;
    for (uint64_t i = 0; i < record->length && i < PREFETCH_BYTES; i += LINE_BYTES)
        __builtin_prefetch(at + i);
}

static tnd_status_t example_apply(void *state, const tnd_op_key_t *key, const tnd_tile_t *in,
                                  tnd_tile_t *out, tnd_error_t *error)
{
    (void)key;
    example_t *self = state;
    out->rows = in->rows;
    for (uint32_t i = 0; i < self->passed; i++)
        out->columns[i] = in->columns[self->from[i]];
    const tnd_ragged_t *records = in->columns[self->record].ragged;
    for (uint32_t row = 0; row < in->rows; row++) {
        if (row + PREFETCH_ROWS < in->rows)
            prefetch(&records[row + PREFETCH_ROWS]);
        target_t target = {.out = out, .row = row, .error = error};
        TND_TRY(write_row(self, &records[row], &target));
    }
    return TND_OK;
}

static tnd_ragged_t write_record(const void *state, tnd_room_t *room, uint32_t *column_p)
{
    const example_t *self = state;
    *column_p = self->record;
    return tnd_example_record(&self->features.plan, &self->frames.plan, room);
}

const tnd_op_t tnd_op_parse_example = {
    .spec = &tnd_op_parse_example_spec,
    .state_bytes = sizeof(example_t),
    .open = parse_example_open,
    .apply = example_apply,
    .close = close_example,
    .record = write_record,
};

const tnd_op_t tnd_op_parse_sequence_example = {
    .spec = &tnd_op_parse_sequence_example_spec,
    .state_bytes = sizeof(example_t),
    .open = parse_sequence_open,
    .apply = example_apply,
    .close = close_example,
    .record = write_record,
};
