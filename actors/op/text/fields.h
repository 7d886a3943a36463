/*  actors/op/text/fields.h - the columns that a topology asks of records of text, each of a field.
 *
 *      fields: {name: string, age: i32, height: {dtype: f32, default: 1.75}, x: f32[4]}
 *
 *  A field is a number, or a string: a ragged column of u8.  A field of JSON may also be a list of
 *  numbers, and one of CSV a bool or the number of a class.
 *
 *  Ownership: names and texts are the options'.  Threads: read-only once it is made; any. */
#ifndef TND_ACTORS_OP_TEXT_FIELDS_H
#define TND_ACTORS_OP_TEXT_FIELDS_H

#include "actors/op/text/class_list.h"
#include "actors/op/text/word_counts.h"
#include "runtime/data/field_names.h"
#include "runtime/data/room.h"
#include "runtime/interface/operation.h"
#include "runtime/option/option.h"

/*  What a topology says: a table for options of type TABLE, and the struct that it fills. */
typedef struct {
    tnd_pairs_t fields;
} tnd_fields_options_t;
extern const tnd_table_t tnd_csv_fields_table;
extern const tnd_table_t tnd_json_fields_table;

typedef struct {
    const char *name, *path; /* of the column; NULL: the name is the path */
    uint32_t column;
    bool string, ragged;
    tnd_dtype_t dtype;
    size_t size;   /* of an element */
    uint32_t rank; /* of a row that is not ragged */
    uint64_t shape[TND_RANK_MAX];
    uint64_t elements, most; /* of a row that is not ragged; bytes or numbers of the longest */
    bool optional;           /* a missing field has the default, or no elements */
    uint64_t fallback;       /* of numbers: the bits */
    const char *text;        /* of strings */
    size_t text_size;
    tnd_class_list_t classes;  /* the texts that are the numbers 0, 1, 2 ...; none: numbers */
    tnd_word_counts_t *counts; /* with `classes: auto`: of the rows that train */
    const char *default_class; /* with `classes: auto`: until they are known; NULL: none */
    /*  Of CSV, which fields of a record it is made of: of these names, or all from one to another. */
    tnd_strings_t sources;
    const char *source, *from, *to;
} tnd_field_t;

typedef struct {
    tnd_field_t *items;
    uint32_t count;
} tnd_fields_t;

/*  Makes a plan, and adds the columns to *schema.  `csv`: of records of CSV, whose fields have these
 *  names (NULL: not known); `longest`: the bytes of the longest record.  Free it with tnd_fields_fini, after a failure
 *  too.  Errors: TND_FAILED; the text names the field. */
tnd_status_t tnd_fields_init(tnd_fields_t *self, const tnd_fields_options_t *options, bool csv,
                             const tnd_field_names_t *names, uint64_t longest, tnd_schema_t *schema,
                             tnd_error_t *error) TND_CHECKED;
void tnd_fields_fini(tnd_fields_t *self);

/*  Whether a field has classes, also if it is not known yet which. */
static inline bool tnd_field_has_classes(const tnd_field_t *self)
{
    return self->classes.count > 0 || self->counts != NULL;
}

/*  A bit for each column with classes that are `auto`. */
uint64_t tnd_fields_adapt(const tnd_fields_t *self);
/*  Takes the classes that are `auto` as tnd_fields_tell has written them.  Errors: TND_FAILED. */
tnd_status_t tnd_fields_take_adapted(tnd_fields_t *self, const tnd_adapted_item_t *items,
                                     size_t count, tnd_error_t *error) TND_CHECKED;
/*  Writes "column=NAME COUNT=TEXT ..." for each such field. */
void tnd_fields_tell(const tnd_fields_t *self, FILE *out);

/*  Writes the default of a field. */
void tnd_field_write_default(const tnd_field_t *self, tnd_tile_t *out, uint32_t row);

#endif
