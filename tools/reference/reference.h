/*  tools/reference/reference.h - everything that can be written in a topology file, as its tables
 * say it.
 *
 *  Help, the schema for editors, the manual and the completion of shells read the same tables as
 *  the parser, through here; none of them knows an option by itself.
 *
 *  Threads: any; all is const.
 */
#ifndef TUNDISH_TOOLS_REFERENCE_H
#define TUNDISH_TOOLS_REFERENCE_H

#include "runtime/text/arena.h"
#include "runtime/option/spec.h"

/*  Things of one sort: kinds, sources, operations, and the parts of a file that are none. */
typedef struct {
    const char *name;  /* "kinds" */
    const char *other; /* what it is called besides, "ops"; NULL: nothing else */
    const char *one;   /* "kind" */
    const char *title; /* what they are and where they are written, a line */
    const tnd_table_t *(*at)(size_t index);
} tnd_chapter_t;

/*  The index-th chapter; NULL past the last. */
const tnd_chapter_t *tnd_reference_chapter(size_t index);
/*  The one called `name`, by either name; NULL if there is none. */
const tnd_chapter_t *tnd_reference_chapter_find(const char *name);
/*  The table called `name` of a chapter; NULL if there is none. */
const tnd_table_t *tnd_reference_find(const tnd_chapter_t *chapter, const char *name);

/*  Calls `visit` for every option of every table, also of tables inside tables, with the path that
 *  names it: "batcher.size", "feeder.step.plugin".  The path is gone after the call.
 */
void tnd_reference_each(void (*visit)(void *context, const char *path, const tnd_option_t *option),
                        void *context);

/*  What holds for a thing beside its options: what a kind takes and gives, what a source can do,
 *  what an operation does to rows.  A text in `arena`, of several sentences; "" if there is nothing
 *  to say.
 */
const char *tnd_reference_facts(tnd_arena_t *arena, const tnd_chapter_t *chapter,
                                const tnd_table_t *table);

/*  "graph" and its like, and what it means for an overlay, a clause. */
const char *tnd_reference_role(tnd_option_role_t role);
const char *tnd_reference_role_meaning(tnd_option_role_t role);
/*  "u64", "path" and its like: the type of an option, for programs. */
const char *tnd_reference_type(tnd_option_type_t type);

#endif
