/*  actors/python/setup.c - what an interpreter is told when it starts, as JSON. */
#include "actors/python/setup.h"

#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "runtime/base/allocation.h"

/*  [name, type, shape, whether it is ragged] */
static json_t *column_text(const tnd_column_t *column)
{
    json_t *shape = json_array();
    for (uint32_t i = 0; i < column->rank; i++)
        (void)json_array_append_new(shape, json_integer((json_int_t)column->shape[i]));
    return tnd_require_memory(json_pack("[s, s, o, b]", column->name, tnd_dtype_name(column->dtype),
                                        shape, column->ragged));
}

/*  A text without quotes may be a number: {"plain": TEXT}.  So that a map is not mistaken for one, it is
 *  {"map": {...}}. */
static json_t *value_text(const tnd_value_t *value)
{
    if (value == NULL || value->type == TND_VALUE_NULL)
        return json_null();
    if (value->type == TND_VALUE_SCALAR)
        return value->quoted ? json_string(value->text) : json_pack("{s: s}", "plain", value->text);
    if (value->type == TND_VALUE_LIST) {
        json_t *list = json_array();
        for (size_t i = 0; i < value->count; i++)
            (void)json_array_append_new(list, value_text(value->items[i]));
        return list;
    }
    json_t *map = json_object();
    for (size_t i = 0; i < value->count; i++)
        (void)json_object_set_new(map, value->entries[i].key, value_text(value->entries[i].value));
    return json_pack("{s: o}", "map", map);
}

char *tnd_python_setup_text(const tnd_python_setup_t *self)
{
    json_t *columns = json_array(), *makes = json_array();
    for (uint32_t i = 0; i < self->column_count; i++)
        (void)json_array_append_new(columns, column_text(&self->in->columns[self->columns[i]]));
    for (uint32_t i = 0; i < self->makes->count; i++)
        (void)json_array_append_new(makes, column_text(&self->makes->columns[i]));
    char *directory = realpath(self->directory != NULL ? self->directory : ".", NULL);
    json_t *setup = tnd_require_memory(json_pack(
        "{s: s, s: o, s: o, s: o, s: b, s: s, s: I, s: b, s: b, s: s, s: s, s: s?}", "call",
        self->call, "columns", columns, "makes", makes, "options", value_text(self->options),
        "each", self->each, "rows", self->rows, "max", (json_int_t)self->max, "random",
        self->random, "allow_nan", self->allow_nan, "source", self->source, "directory",
        directory != NULL ? directory : ".", "items", self->items));
    free(directory);
    char *text = tnd_require_memory(json_dumps(setup, JSON_COMPACT));
    json_decref(setup);
    return text;
}

char *tnd_python_program(const char *python, const char *directory)
{
    const char *from = getenv("TUNDISH_PYTHON");
    if (python == NULL || *python == '\0')
        return tnd_copy_string(from != NULL && *from != '\0' ? from : "python3");
    if (*python == '/' || strchr(python, '/') == NULL || directory == NULL)
        return tnd_copy_string(python);
    return tnd_format_string("%s/%s", directory, python);
}
