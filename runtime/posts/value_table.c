/*  runtime/posts/value_table.c - memory of arrays that the replicas of a process post in each step. */
#include "runtime/posts/value_table.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/base/allocation.h"
#include "runtime/base/bounds.h"
#include "runtime/data/schema.h"

enum { ALIGNMENT = 64 };

typedef struct {
    char *name;
    tnd_dtype_t dtype;
    size_t count;
    void *result;
    void **own; /* by replica; NULL: it has not asked */
} array_t;

struct tnd_value_table {
    pthread_mutex_t lock;
    uint32_t replicas;
    array_t *arrays;
    size_t count, room;
};

tnd_value_table_t *tnd_value_table_new(uint32_t replicas)
{
    tnd_value_table_t *self = tnd_allocate_zeroed(1, sizeof *self);
    self->replicas = replicas;
    pthread_mutex_init(&self->lock, NULL);
    return self;
}

static array_t *array_of(tnd_value_table_t *self, const char *name, tnd_dtype_t dtype, size_t count)
{
    for (size_t i = 0; i < self->count; i++)
        if (strcmp(self->arrays[i].name, name) == 0)
            return &self->arrays[i];
    self->arrays = tnd_grow(self->arrays, self->count, &self->room, sizeof *self->arrays);
    array_t *array = &self->arrays[self->count++];
    *array = (array_t){.name = tnd_copy_string(name),
                       .dtype = dtype,
                       .count = count,
                       .own = tnd_allocate_zeroed(self->replicas, sizeof *array->own)};
    return array;
}

/*  Zeros, unless there is memory already.  The replica that uses it touches it first. */
static tnd_status_t make(void **memory_p, const array_t *array, tnd_error_t *error)
{
    size_t size = tnd_dtype_size(array->dtype);
    if (*memory_p != NULL)
        return TND_OK;
    if (array->count <= (SIZE_MAX - ALIGNMENT) / size)
        *memory_p = aligned_alloc(
            ALIGNMENT, tnd_round_up(array->count * size + (array->count == 0), ALIGNMENT));
    if (*memory_p == NULL)
        return tnd_fail(error, "cannot allocate %zu elements of %s for array `%.96s`", array->count,
                        tnd_dtype_name(array->dtype), array->name);
    memset(*memory_p, 0, array->count * size);
    return TND_OK;
}

static tnd_status_t find(tnd_value_table_t *self, const char *name, tnd_dtype_t dtype, size_t count,
                         uint32_t replica, tnd_values_t *values, tnd_error_t *error)
{
    array_t *array = array_of(self, name, dtype, count);
    if (array->dtype != dtype || array->count != count)
        return tnd_fail(
            error,
            "array `%.96s` has %zu elements of %s since it was first asked for, and now %zu of "
            "%s are: give the other one another name",
            array->name, array->count, tnd_dtype_name(array->dtype), count, tnd_dtype_name(dtype));
    TND_TRY(make(&array->own[replica], array, error));
    TND_TRY(make(&array->result, array, error));
    *values = (tnd_values_t){.own = array->own[replica], .result = array->result};
    return TND_OK;
}

tnd_status_t tnd_value_table_find(tnd_value_table_t *self, const char *name, tnd_dtype_t dtype,
                                  size_t count, uint32_t replica, tnd_values_t *values,
                                  tnd_error_t *error)
{
    pthread_mutex_lock(&self->lock);
    tnd_status_t status = find(self, name, dtype, count, replica, values, error);
    pthread_mutex_unlock(&self->lock);
    return status;
}

void tnd_value_table_free(tnd_value_table_t **self_p)
{
    tnd_value_table_t *self = *self_p;
    if (self == NULL)
        return;
    for (size_t i = 0; i < self->count; i++) {
        for (uint32_t r = 0; r < self->replicas; r++)
            free(self->arrays[i].own[r]);
        free(self->arrays[i].own);
        free(self->arrays[i].result);
        free(self->arrays[i].name);
    }
    free(self->arrays);
    pthread_mutex_destroy(&self->lock);
    free(self);
    *self_p = NULL;
}
