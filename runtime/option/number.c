/*  runtime/option/number.c - reads numbers of every type and compares them. */
#include "runtime/option/number.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

/*  A size and `/s`. */
static tnd_quantity_t read_rate(const char *text, uint64_t *value_p)
{
    char size[64];
    size_t length = strlen(text);
    bool rate = length > 2 && length < sizeof size && strcmp(text + length - 2, "/s") == 0;
    snprintf(size, sizeof size, "%.*s", (int)(rate ? length - 2 : length), text);
    tnd_quantity_t outcome = tnd_quantity_bytes(size, value_p);
    return outcome == TND_QUANTITY_OK && !rate ? TND_QUANTITY_WRONG_UNIT : outcome;
}

tnd_quantity_t tnd_number_read(tnd_option_type_t type, const char *text, tnd_number_t *number_p)
{
    number_p->type = tnd_option_item(type);
    if (number_p->type == TND_OPTION_I64)
        return tnd_quantity_i64(text, &number_p->i64);
    if (number_p->type == TND_OPTION_F64)
        return tnd_quantity_f64(text, &number_p->f64);
    if (type == TND_OPTION_BYTES)
        return tnd_quantity_bytes(text, &number_p->u64);
    if (type == TND_OPTION_DURATION)
        return tnd_quantity_duration(text, &number_p->u64);
    if (type == TND_OPTION_RATE)
        return read_rate(text, &number_p->u64);
    assert(type == TND_OPTION_U64);
    return tnd_quantity_u64(text, &number_p->u64);
}

static bool is_less(const tnd_number_t *a, const tnd_number_t *b)
{
    if (a->type == TND_OPTION_I64)
        return a->i64 < b->i64;
    if (a->type == TND_OPTION_F64)
        return a->f64 < b->f64;
    return a->u64 < b->u64;
}

/*  Both ends of "1..64MiB" as text; a missing end is "". */
static void split_range(const tnd_option_t *option, char ends[2][32])
{
    const char *dots = strstr(option->range, "..");
    assert(dots != NULL && strlen(option->range) < 32);
    memset(ends, 0, 2 * 32);
    memcpy(ends[0], option->range, (size_t)(dots - option->range));
    memcpy(ends[1], dots + 2, strlen(dots + 2));
}

bool tnd_number_in_range(const tnd_option_t *option, const tnd_number_t *number)
{
    char ends[2][32];
    if (option->range == NULL)
        return true;
    split_range(option, ends);
    for (int end = 0; end < 2; end++) {
        tnd_number_t limit = {0};
        if (ends[end][0] == '\0')
            continue;
        tnd_quantity_t outcome = tnd_number_read(option->type, ends[end], &limit);
        assert(outcome == TND_QUANTITY_OK);
        (void)outcome;
        if (end == 0 ? is_less(number, &limit) : is_less(&limit, number))
            return false;
    }
    return true;
}

const char *tnd_number_range(tnd_arena_t *arena, const tnd_option_t *option)
{
    char ends[2][32];
    if (option->range == NULL)
        return "";
    split_range(option, ends);
    if (ends[1][0] == '\0')
        return tnd_arena_format(arena, " from %s on", ends[0]);
    if (ends[0][0] == '\0')
        return tnd_arena_format(arena, " up to %s", ends[1]);
    return tnd_arena_format(arena, " from %s to %s", ends[0], ends[1]);
}

/*  The size of the next word for a number; 0 at the end. */
static size_t next_word(const tnd_option_t *option, const char **at_p, const char **word_p,
                        tnd_number_t *number_p)
{
    char digits[64] = {0};
    size_t size = tnd_option_choice(at_p, word_p), name = strcspn(*word_p, "=");
    if (size == 0)
        return 0;
    assert(name < size && size < sizeof digits);
    memcpy(digits, *word_p + name + 1, size - name - 1);
    tnd_quantity_t outcome = tnd_number_read(option->type, digits, number_p);
    assert(outcome == TND_QUANTITY_OK);
    (void)outcome;
    return name;
}

bool tnd_number_word(const tnd_option_t *option, const char *text, tnd_number_t *number_p)
{
    const char *at = option->choices != NULL ? option->choices : "", *word;
    for (size_t size; (size = next_word(option, &at, &word, number_p)) > 0;)
        if (strlen(text) == size && memcmp(word, text, size) == 0)
            return true;
    return false;
}

size_t tnd_number_called(const tnd_option_t *option, uint64_t value, const char **word_p)
{
    const char *at = option->choices != NULL ? option->choices : "";
    tnd_number_t number;
    for (size_t size; (size = next_word(option, &at, word_p, &number)) > 0;)
        if ((option->type == TND_OPTION_I64 ? (uint64_t)number.i64 : number.u64) == value)
            return size;
    return 0;
}
