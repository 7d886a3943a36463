/*  runtime/checkpoint/graph_text.c - graphs as manifests have them: what two of them differ in. */
#include "runtime/checkpoint/graph_text.h"

#include <stdio.h>
#include <string.h>

/*  The length of a key and its value, up to a separator outside of quotes. */
static size_t entry_bytes(const char *text)
{
    bool quoted = false;
    size_t at = 0;
    for (; text[at] != '\0' && (quoted || strchr(",{}\n", text[at]) == NULL); at++) {
        if (text[at] == '"')
            quoted = !quoted;
        else if (text[at] == '\\' && text[at + 1] != '\0')
            at++;
    }
    return at;
}

void tnd_graph_text_difference(const char *was, const char *is, char *text, size_t room)
{
    size_t same = 0, entry = 0, line = 0;
    while (was[same] != '\0' && was[same] == is[same])
        same++;
    for (size_t end; (end = entry + entry_bytes(was + entry)) < same; entry = end + 1)
        line = was[end] == '\n' ? end + 1 : line;
    size_t name = strcspn(was + line, ": ");
    size_t end = entry + entry_bytes(was + entry);
    bool more = is[same] == ',', fewer = was[same] == ',';
    if (end == same && more != fewer && same == entry + entry_bytes(is + entry)) {
        const char *one = (more ? is : was) + same + 1 + strspn((more ? is : was) + same + 1, " ");
        snprintf(text, room, "%.*s: `%.*s` %s", (int)name, was + line, (int)entry_bytes(one), one,
                 more ? "was not given" : "was given");
        return;
    }
    entry += strspn(was + entry, " ");
    snprintf(text, room, "%.*s: `%.*s` was `%.*s`", (int)name, was + line,
             (int)entry_bytes(is + entry), is + entry, (int)entry_bytes(was + entry), was + entry);
}

/*  The line that begins so; NULL: none does. */
static const char *find_line(const char *graph, const char *word)
{
    size_t size = strlen(word);
    for (const char *at = graph; *at != '\0'; at += strcspn(at, "\n"), at += *at == '\n')
        if (strncmp(at, word, size) == 0 && strncmp(at + size, ": ", 2) == 0)
            return at;
    return NULL;
}

const char *tnd_graph_text_option(const char *graph, const char *actor, const char *option,
                                  size_t *size_p)
{
    const char *at = find_line(graph, actor);
    size_t length = strlen(option), size;
    for (int depth = 0; at != NULL && *at != '\0' && *at != '\n'; at += size + (at[size] != '\0')) {
        size = entry_bytes(at);
        const char *key = at + (*at == ' ');
        if (depth == 1 && strncmp(key, option, length) == 0 &&
            strncmp(key + length, ": ", 2) == 0) {
            *size_p = size - (size_t)(key - at) - length - 2;
            return key + length + 2;
        }
        depth += at[size] == '{' ? 1 : at[size] == '}' ? -1 : 0;
        if (at[size] == '\n')
            return NULL;
    }
    return NULL;
}

/*  Whether the line begins with this word and a name: `plugin -> feed` is a link. */
static bool is_build(const char *line, const char *word)
{
    size_t size = strlen(word);
    return strncmp(line, word, size) == 0 && line[size] == ' ' && line[size + 1] != '-' &&
           line[size + 1] != '<';
}

/*  Where the lines of plugins and modules of Python begin, or the end. */
static const char *end_of_actors(const char *graph)
{
    const char *at = graph;
    while (*at != '\0' && !is_build(at, "plugin") && !is_build(at, "python")) {
        at += strcspn(at, "\n");
        at += *at == '\n';
    }
    return at;
}

static bool equal(const char *one, const char *one_end, const char *other, const char *other_end)
{
    return one_end >= one && one_end - one == other_end - other &&
           memcmp(one, other, (size_t)(one_end - one)) == 0;
}

bool tnd_graph_text_equal_but(const char *was, const char *is, const char *actor,
                              const char *option)
{
    size_t was_size, is_size;
    const char *before = tnd_graph_text_option(was, actor, option, &was_size);
    const char *after = tnd_graph_text_option(is, actor, option, &is_size);
    return before != NULL && after != NULL && equal(was, before, is, after) &&
           equal(before + was_size, end_of_actors(was), after + is_size, end_of_actors(is));
}
