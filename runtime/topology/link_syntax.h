/*  runtime/topology/link_syntax.h - the text of a link, `read -> prep <-> mean`: names and arrows.
 *
 *  Threads: any.
 */
#ifndef TND_RUNTIME_TOPOLOGY_LINK_SYNTAX_H
#define TND_RUNTIME_TOPOLOGY_LINK_SYNTAX_H

#include "runtime/text/value.h"

/*  One word or arrow. */
typedef struct {
    const char *text; /* not terminated */
    size_t size;
    tnd_mark_t mark;
} tnd_token_t;

/*  The next of a scalar, from *at_p on, which moves past it.  False at the end: the token is empty
 *  and its mark is the end.
 */
bool tnd_link_syntax_next(const tnd_value_t *value, const char **at_p, tnd_token_t *token_p);

bool tnd_link_syntax_is(const tnd_token_t *token, const char *text);

/*  Whether it could be a name at all, such as `read.0`, and is not punctuation. */
bool tnd_link_syntax_is_plain(const tnd_token_t *token);

/*  The names in a text and between them arrows, however those were written: `a => b`, `a, b`,
 *  `b <- a`.  NULL: there are no two names.
 */
const char *tnd_link_syntax_mended(tnd_arena_t *arena, const char *text);

#endif
