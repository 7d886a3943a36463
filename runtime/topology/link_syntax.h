/*  runtime/topology/link_syntax.h - the text of a link, `read -> prep <-> mean`: names and arrows.
 *
 *  Threads: any. */
#ifndef TND_RUNTIME_TOPOLOGY_LINK_SYNTAX_H
#define TND_RUNTIME_TOPOLOGY_LINK_SYNTAX_H

#include "runtime/text/value.h"

/*  One word or arrow. */
typedef struct {
    const char *text; /* not terminated */
    size_t size;
    tnd_mark_t mark;
} tnd_token_t;

/*  The next token of a scalar at *at_p, which moves past it.  Returns false at the end, with an
 *  empty token there. */
bool tnd_link_syntax_next(const tnd_value_t *value, const char **at_p, tnd_token_t *token_p);

bool tnd_link_syntax_is(const tnd_token_t *token, const char *text);

/*  Whether the token looks like a name, such as `read.0`, and not like punctuation. */
bool tnd_link_syntax_is_plain(const tnd_token_t *token);

/*  The link probably meant by `a => b`, `a, b` or `b <- a`; NULL if there are not two names. */
const char *tnd_link_syntax_corrected(tnd_arena_t *arena, const char *text);

#endif
