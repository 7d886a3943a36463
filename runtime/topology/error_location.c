/*  runtime/topology/error_location.c - finds the value of an actor that an error text is about. */
#include "runtime/topology/error_location.h"

#include <stdint.h>
#include <string.h>

#include "runtime/option/option.h"

/*  The best match so far. */
typedef struct {
    const char *text;
    const tnd_value_t *value;
    size_t score;
    size_t scalars; /* seen at all */
} candidate_t;

/*  How well `text` matches `word`: words in backquotes before paths, paths before longer words,
 *  then the first. 0: no match. */
static size_t score_of(const char *text, const char *word, bool any_start)
{
    enum { TEXT_MAX = 1024, QUOTED = TEXT_MAX * TEXT_MAX };
    size_t size = strlen(word), best = 0;
    if (size == 0 || size >= TEXT_MAX)
        return 0;
    for (const char *at = strstr(text, word); at != NULL; at = strstr(at + 1, word)) {
        size_t place = (size_t)(at - text);
        if (place >= TEXT_MAX || (at > text && tnd_options_in_word(at[-1]) && !any_start) ||
            tnd_options_in_word(at[size]))
            continue;
        bool quoted = at > text && at[-1] == '`' && at[size] == '`';
        bool path = size > 4 && strpbrk(word, "/.") != NULL;
        size_t score = (quoted ? 2 * QUOTED : path ? QUOTED : size * TEXT_MAX) - place;
        best = score > best ? score : best;
    }
    return best;
}

static void score_values(candidate_t *self, const tnd_value_t *value)
{
    if (value->type == TND_VALUE_MAP || value->type == TND_VALUE_LIST)
        for (size_t i = 0; i < value->count; i++)
            score_values(self,
                         value->type == TND_VALUE_LIST ? value->items[i] : value->entries[i].value);
    if (value->type != TND_VALUE_SCALAR)
        return;
    /* The value of ${data} differs between hosts; the rest of the path does not. */
    const char *brace = strrchr(value->text, '}');
    const char *word = brace != NULL ? brace + 1 : value->text;
    size_t score = score_of(self->text, word, brace != NULL);
    if (self->scalars++ > 0 && score <= self->score)
        return;
    self->value = value;
    self->score = score;
}

/*  The scalar whose text has this character, or NULL. */
static const tnd_value_t *find_character(const tnd_value_t *value, const void *character)
{
    const tnd_value_t *found = NULL;
    if (value->type == TND_VALUE_SCALAR)
        return (uintptr_t)character - (uintptr_t)value->text <= strlen(value->text) ? value : NULL;
    for (size_t i = 0; i < value->count && found == NULL; i++)
        found = find_character(
            value->type == TND_VALUE_LIST ? value->items[i] : value->entries[i].value, character);
    return found;
}

/*  The place of a character of a scalar on one line. */
static tnd_mark_t mark_of_character(const tnd_value_t *value, const char *character)
{
    tnd_mark_t mark = value->mark;
    mark.column += value->quoted;
    for (const char *at = value->text; at < character; at++)
        mark.column += (*at & 0xc0) != 0x80;
    mark.width = 1;
    return mark;
}

tnd_mark_t tnd_error_location(const tnd_topology_actor_t *actor, const void *about,
                              const char *text)
{
    const tnd_value_t *part = about;
    const tnd_value_t *scalar =
        about != NULL && actor->value != NULL ? find_character(actor->value, about) : NULL;
    if (scalar != NULL)
        return mark_of_character(scalar, about);
    candidate_t candidate = {.text = text};
    tnd_mark_t mark = part != NULL ? part->mark : actor->mark;
    if (part != NULL && part->type == TND_VALUE_MAP && part->count == 1) {
        mark = part->entries[0].mark;
        part = part->entries[0].value;
    }
    if (part != NULL || actor->value != NULL)
        score_values(&candidate, part != NULL ? part : actor->value);
    /* The only value of a part is the one that the text is about, whatever its words. */
    bool only = part != NULL && candidate.scalars == 1;
    return candidate.score > 0 || only ? candidate.value->mark : mark;
}

static const tnd_value_t *find_text(const tnd_value_t *value, const char *text)
{
    const tnd_value_t *found = value->text == text ? value : NULL;
    if (value->type == TND_VALUE_SCALAR || value->type == TND_VALUE_NULL)
        return found;
    for (size_t i = 0; i < value->count && found == NULL; i++)
        found = find_text(value->type == TND_VALUE_LIST ? value->items[i] : value->entries[i].value,
                          text);
    return found;
}

tnd_mark_t tnd_error_location_text(const tnd_topology_t *self, const char *text,
                                   tnd_mark_t otherwise)
{
    const tnd_value_t *found = find_text(self->root, text);
    return found != NULL ? found->mark : otherwise;
}
