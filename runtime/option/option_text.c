/*  runtime/option/option_text.c - parses options that a plugin receives as text. */
#include <string.h>

#include <tundish/tundish.h>

#include "runtime/base/status.h"
#include "runtime/text/quantity.h"
#include "runtime/text/yaml.h"

/*  The map of the options; NULL if there are none. */
static tnd_status_t parse(tnd_arena_t *arena, const char *options, const tnd_value_t **map_p,
                          tnd_error_t *error)
{
    *map_p = NULL;
    if (options == NULL || *options == '\0')
        return TND_OK;
    tnd_origin_t origin = {.name = "options", .text = options, .size = strlen(options)};
    *map_p = tnd_yaml_parse(arena, tnd_diagnostics_new(arena), &origin, 0);
    return *map_p != NULL && (*map_p)->type == TND_VALUE_MAP
               ? TND_OK
               : tnd_fail(error, "the options are not a map: %s", options);
}

/*  The text of an option; NULL if it is missing, or, with TND_FAILED, not a single value. */
static tnd_status_t find_text(tnd_arena_t *arena, const char *options, const char *name,
                              const char **text_p, tnd_error_t *error)
{
    const tnd_value_t *map;
    *text_p = NULL;
    TND_TRY(parse(arena, options, &map, error));
    const tnd_value_t *value = tnd_value_get(map, name);
    if (value == NULL || value->type == TND_VALUE_NULL)
        return TND_OK;
    if (value->type != TND_VALUE_SCALAR)
        return tnd_fail(error, "option `%s` is %s, not one value", name,
                        tnd_value_type_name(value->type));
    *text_p = value->text;
    return TND_OK;
}

tnd_status_t tnd_option_u64(const char *options, const char *name, uint64_t *value_p,
                            tnd_error_t *error)
{
    tnd_arena_t *arena = tnd_arena_new();
    const char *text;
    tnd_status_t status = find_text(arena, options, name, &text, error);
    if (text != NULL && tnd_quantity_u64(text, value_p) != TND_QUANTITY_OK)
        status =
            tnd_fail(error, "option `%s` expects a whole number from 0 on, not %s", name, text);
    tnd_arena_destroy(&arena);
    return status;
}

tnd_status_t tnd_option_f64(const char *options, const char *name, double *value_p,
                            tnd_error_t *error)
{
    tnd_arena_t *arena = tnd_arena_new();
    const char *text;
    tnd_status_t status = find_text(arena, options, name, &text, error);
    if (text != NULL && tnd_quantity_f64(text, value_p) != TND_QUANTITY_OK)
        status = tnd_fail(error, "option `%s` expects a number, not %s", name, text);
    tnd_arena_destroy(&arena);
    return status;
}

tnd_status_t tnd_option_text(const char *options, const char *name, char *text, size_t room,
                             tnd_error_t *error)
{
    tnd_arena_t *arena = tnd_arena_new();
    const char *found;
    tnd_status_t status = find_text(arena, options, name, &found, error);
    if (found != NULL && strlen(found) >= room)
        status = tnd_fail(error, "option `%s` has %zu characters; there is room for %zu", name,
                          strlen(found), room - 1);
    else if (found != NULL)
        memcpy(text, found, strlen(found) + 1);
    tnd_arena_destroy(&arena);
    return status;
}

/*  Whether `name` is a word of "a, b"; offers all of them. */
static bool listed(const char *names, const char *name, tnd_nearest_t *nearest, tnd_arena_t *arena)
{
    bool found = false;
    for (const char *at = names + strspn(names, ", "); *at != '\0'; at += strspn(at, ", ")) {
        size_t length = strcspn(at, ", ");
        const char *word = tnd_arena_text(arena, at, length);
        found = found || strcmp(word, name) == 0;
        tnd_nearest_offer(nearest, word);
        at += length;
    }
    return found;
}

tnd_status_t tnd_option_only(const char *options, const char *names, tnd_error_t *error)
{
    tnd_arena_t *arena = tnd_arena_new();
    const tnd_value_t *map;
    tnd_status_t status = parse(arena, options, &map, error);
    for (size_t i = 0; map != NULL && status == TND_OK && i < map->count; i++) {
        tnd_nearest_t nearest = {.word = map->entries[i].key};
        if (listed(names, nearest.word, &nearest, arena))
            continue;
        if (nearest.best != NULL)
            status = tnd_fail(error, "unknown option `%s`; did you mean `%s`?", nearest.word,
                              nearest.best);
        else
            status = tnd_fail(error, "unknown option `%s` (known: %s)", nearest.word,
                              *names != '\0' ? names : "none");
    }
    tnd_arena_destroy(&arena);
    return status;
}
