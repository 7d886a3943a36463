/*  runtime/posts/value_table.h - memory of arrays that the replicas of a process post in each step.
 *
 *  Each replica has values of its own; the result is in one place for all.
 *
 *  Ownership: the table has the memory until it is freed.
 *  Threads: any, but not while it is freed. */
#ifndef TND_RUNTIME_POSTS_VALUE_TABLE_H
#define TND_RUNTIME_POSTS_VALUE_TABLE_H

#include <tundish/tundish.h>

#include "runtime/base/status.h"

typedef struct tnd_value_table tnd_value_table_t;

/*  For `replicas` of a process. */
tnd_value_table_t *tnd_value_table_new(uint32_t replicas);
/*  The array of that name: zeros at first, from the first call for it on.  Errors: TND_FAILED if another
 *  call has named it with another type or number of elements, or memory is exhausted. */
tnd_status_t tnd_value_table_find(tnd_value_table_t *self, const char *name, tnd_dtype_t dtype,
                                  size_t count, uint32_t replica, tnd_values_t *values,
                                  tnd_error_t *error) TND_CHECKED;
/*  Sets *self_p to NULL; NULL is allowed. */
void tnd_value_table_free(tnd_value_table_t **self_p);

#endif
