/*  actors/text/json_record.h - the values of a JSON document, read by jansson.
 *
 *  A document is an object or a list in UTF-8.  A key that an object has twice is an error.  So are
 *  more than 2,048 levels, integers beyond i64, numbers beyond f64, and unless
 *  they are allowed NaN, Infinity and -Infinity, which Python writes.  Allowed, a string of NUL and
 *  such a word counts as the number too.
 *
 *  Ownership: jansson allocates memory for every value while it parses, up to about 80 times the size
 *  of the document, which the memory estimate does not count.  Closing the record frees it, and with
 *  it all values that were found; copy strings before.  The process aborts when memory is exhausted.
 *
 *  Threads: one at a time. */
#ifndef TND_ACTORS_TEXT_JSON_RECORD_H
#define TND_ACTORS_TEXT_JSON_RECORD_H

#include <stdbool.h>

#include "runtime/base/dtype.h"
#include "runtime/base/status.h"

/*  A value: jansson's. */
typedef struct json_t tnd_json_value_t;

typedef struct {
    tnd_json_value_t *root;
} tnd_json_record_t;

/*  Parses a document.  Close it if this succeeds.  Errors: TND_FAILED; the text says what is wrong
 *  and near which byte. */
tnd_status_t tnd_json_record_open(tnd_json_record_t *self, const void *text, size_t size,
                                  bool allow_nan, tnd_error_t *error) TND_CHECKED;
void tnd_json_record_close(tnd_json_record_t *self);

/*  Finds the value at the end of a path of keys with dots between them; in a list a key is a place,
 *  from 0.  Returns NULL if it is missing or null. */
const tnd_json_value_t *tnd_json_record_find(const tnd_json_record_t *self, const char *path);

/*  Whether the value is a list; *length_p is its length. */
bool tnd_json_value_is_list(const tnd_json_value_t *self, uint64_t *length_p);
const tnd_json_value_t *tnd_json_value_item(const tnd_json_value_t *self, uint64_t place);

/*  Whether the value is a string; its bytes may contain NUL. */
bool tnd_json_value_is_string(const tnd_json_value_t *self, const char **text_p, size_t *size_p);

/*  Writes a number of a type that tnd_number_text_reads.  Returns false if the value is not a number
 *  or not in the range of the type.  true and false are 1 and 0.  A number such as 3.0 is an integer
 *  if it is at most 2^53.  f32 is rounded from f64. */
bool tnd_json_value_number(const tnd_json_value_t *self, tnd_dtype_t dtype, void *out);

/*  The value for a message: a number as it is, for others what they are, such as "a string". */
typedef struct {
    char text[48];
} tnd_json_excerpt_t;
const char *tnd_json_excerpt(tnd_json_excerpt_t *self, const tnd_json_value_t *value);

/*  The version of jansson. */
const char *tnd_json_library(void);

#endif
