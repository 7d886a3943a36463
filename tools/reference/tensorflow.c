/*  tools/reference/tensorflow.c - what public names of TensorFlow are here, by tensorflow.txt. */
#include "tools/reference/tensorflow.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "tools/cli/json.h"

extern const char tnd_tensorflow_text[]; /* made by the build of tensorflow.txt */

/*  A name in the text, and the rest of its row, which begins with a new line. */
typedef struct {
    const char *at, *row;
    size_t size;
} name_t;

/*  The name after `last`, or the first one for {0}; `at` is NULL after the last. */
static name_t next_name(name_t last)
{
    const char *at = last.at != NULL ? last.at + last.size : tnd_tensorflow_text;
    at += *at == ' ';
    if (last.at == NULL || *at == '\n') {
        at = strstr(at, "\n\ntf.");
        at = at != NULL ? at + 2 : NULL;
    }
    if (at == NULL)
        return (name_t){0};
    return (name_t){at, at + strcspn(at, "\n"), strcspn(at, " \n")};
}

/*  Whether a name is the word, or ends with it after a point. */
static bool ends_with(const name_t *name, const char *word,
                      int (*compare)(const char *, const char *, size_t))
{
    size_t size = strlen(word);
    const char *end = name->at + name->size - size;
    return size <= name->size && compare(end, word, size) == 0 &&
           (size == name->size || end[-1] == '.');
}

static name_t find(const char *word)
{
    for (name_t name = next_name((name_t){0}); name.at != NULL; name = next_name(name))
        if (ends_with(&name, word, strncmp))
            return name;
    for (name_t name = next_name((name_t){0}); name.at != NULL; name = next_name(name))
        if (ends_with(&name, word, strncasecmp))
            return name;
    return (name_t){0};
}

static void print_row(const name_t *name, bool json)
{
    const char *end = strstr(name->row + 1, "\n\n");
    int size = end != NULL ? (int)(end - name->row) : (int)strlen(name->row) - 1;
    tnd_arena_t *arena = tnd_arena_new();
    if (json) {
        tnd_json_begin(stdout, false, "name", tnd_arena_text(arena, name->at, name->size));
        printf(",\"is\":\"tensorflow\"");
        tnd_json_member(stdout, "help", tnd_arena_text(arena, name->row + 1, (size_t)size - 1));
        puts("}");
    } else {
        printf("%.*s%.*s\n", (int)name->size, name->at, size, name->row);
    }
    tnd_arena_destroy(&arena);
}

/*  The first sentence of a row, which may be on several of its lines. */
static const char *summary(tnd_arena_t *arena, const name_t *name)
{
    char *text = tnd_arena_text(arena, name->row + 3, strlen(name->row + 3));
    size_t size = 0;
    for (const char *at = text; *at != '\0'; at++) {
        if (*at == '.' && (at[1] == ' ' || at[1] == '\n'))
            break;
        if (*at != '\n')
            text[size++] = *at;
        else
            at++; /* the second of two spaces */
    }
    text[size] = '\0';
    return text;
}

static void print_line(const name_t *name, bool json, bool first)
{
    tnd_arena_t *arena = tnd_arena_new();
    if (json) {
        tnd_json_begin(stdout, !first, "name", tnd_arena_text(arena, name->at, name->size));
        tnd_json_member(stdout, "help", summary(arena, name));
        putchar('}');
    } else {
        printf("  %.*s\n      %s\n", (int)name->size, name->at, summary(arena, name));
    }
    tnd_arena_destroy(&arena);
}

static bool is_below(const name_t *name, const char *word)
{
    size_t size = strlen(word);
    return name->size > size && memcmp(name->at, word, size) == 0 && name->at[size] == '.';
}

static bool print_below(const char *word, bool json)
{
    bool any = false;
    for (name_t name = next_name((name_t){0}); name.at != NULL; name = next_name(name)) {
        if (!is_below(&name, word))
            continue;
        fputs(json && !any ? "{\"names\":[" : "", stdout);
        print_line(&name, json, !any);
        any = true;
    }
    if (any)
        puts(json ? "]}" : "\n`tundish help NAME` describes one of them.");
    return any;
}

bool tnd_tensorflow_print(const char *word, bool json)
{
    name_t name = find(word);
    if (name.at == NULL)
        return print_below(word, json);
    print_row(&name, json);
    return true;
}

void tnd_tensorflow_mention(const char *word)
{
    tnd_arena_t *arena = tnd_arena_new();
    const char *method = tnd_arena_format(arena, "tf.data.Dataset.%s", word);
    if (find(method).at != NULL)
        printf("\n`tundish help %s` compares it with TensorFlow's.\n", method);
    tnd_arena_destroy(&arena);
}

/*  The end of a name that has `points` points; all of it if it has fewer. */
static const char *end_of(const name_t *name, size_t points)
{
    const char *at = name->at + name->size;
    for (; at > name->at; at--)
        if (at[-1] == '.' && points-- == 0)
            break;
    return at;
}

void tnd_tensorflow_offer(tnd_arena_t *arena, tnd_nearest_t *nearest)
{
    size_t points = 0;
    for (const char *at = nearest->word; *at != '\0'; at++)
        points += *at == '.';
    for (name_t name = next_name((name_t){0}); name.at != NULL; name = next_name(name)) {
        const char *end = end_of(&name, points);
        tnd_nearest_offer(nearest, tnd_arena_text(arena, end, (size_t)(name.at + name.size - end)));
    }
}
