/*  tests/runtime/checkpoint/graph_text_test.c - options in the texts of graphs. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "runtime/checkpoint/graph_text.h"

/*  An option of the same name in a source, in quotes, and of another actor. */
static const char graph[] = "seed 7\n"
                            "lanes 1\n"
                            "batch: batcher {size: 32, span_epochs: false}\n"
                            "read: reader {source: {own: {epochs: 9, \"a, epochs: 8\": [\"}, "
                            "epochs: 7\"]}}, order: [{take: "
                            "{epochs: 6}}], epochs: 5, shard: index}\n"
                            "read -> batch\n"
                            "plugin -> feed\n"
                            "reader: reader {epochs: 3}\n"
                            "plugin source own 0123456789abcdef\n"
                            "python mod:fn 123456789abcdef0\n";

static bool has(const char *actor, const char *option, const char *value)
{
    size_t size = 0;
    const char *at = tnd_graph_text_option(graph, actor, option, &size);
    return value == NULL ? at == NULL
                         : at != NULL && size == strlen(value) && strncmp(at, value, size) == 0;
}

Test(graph_text, an_option_is_that_of_the_actor_itself)
{
    cr_expect(has("read", "epochs", "5"));
    cr_expect(has("reader", "epochs", "3"));
    cr_expect(has("batch", "span_epochs", "false"));
    cr_expect(has("read", "shard", "index"));
    cr_expect(has("batch", "epochs", NULL));
    cr_expect(has("read", "own", NULL));
    cr_expect(has("rea", "epochs", NULL));
    cr_expect(has("", "epochs", NULL));
}

Test(graph_text, graphs_are_equal_but_for_that_option_and_plugins)
{
    static const struct {
        const char *from, *to;
        bool equal;
    } changes[] = {
        {"epochs: 5", "epochs: forever", true}, {"abcdef\n", "000000\n", true},
        {"cdef0\n", "cdef1\n", true},           {"plugin -> feed", "plugin -> food", false},
        {"epochs: 9", "epochs: 5", false},      {"epochs: 3", "epochs: 5", false},
        {"size: 32", "size: 3", false},         {"-> batch", "-> batcher", false},
        {"shard: index", "shard: file", false}, {"{epochs: 6}", "{epochs: 5}", false}};
    for (size_t i = 0; i < sizeof changes / sizeof *changes; i++) {
        char other[sizeof graph + 16];
        const char *at = strstr(graph, changes[i].from);
        cr_assert_not_null(at);
        snprintf(other, sizeof other, "%.*s%s%s", (int)(at - graph), graph, changes[i].to,
                 at + strlen(changes[i].from));
        cr_expect_eq(tnd_graph_text_equal_but(graph, other, "read", "epochs"), changes[i].equal,
                     "%s", changes[i].from);
    }
}
