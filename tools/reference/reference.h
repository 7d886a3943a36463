/*  tools/reference/reference.h - what a topology file can contain, from its tables.
 *
 *  Help, the schema for editors, the manual and shell completion read the same tables as the
 *  parser, through this module, and do not know single options.
 *
 *  Threads: any; all is const. */
#ifndef TND_TOOLS_REFERENCE_REFERENCE_H
#define TND_TOOLS_REFERENCE_REFERENCE_H

#include "runtime/option/spec.h"
#include "runtime/text/arena.h"

/*  Things of one sort: kinds, sources, operations, and other parts of a file. */
typedef struct {
    const char *name;  /* "kinds" */
    const char *other; /* another name, "ops"; NULL: none */
    const char *one;   /* "kind" */
    const char *title; /* a line: what they are and where they are written */
    const tnd_table_t *(*at)(size_t index);
} tnd_chapter_t;

/*  The index-th chapter; NULL after the last. */
const tnd_chapter_t *tnd_reference_chapter(size_t index);
/*  The chapter called `name`, by either name; NULL if it does not exist. */
const tnd_chapter_t *tnd_reference_chapter_find(const char *name);
/*  The table called `name` of a chapter; NULL if it does not exist. */
const tnd_table_t *tnd_reference_find(const tnd_chapter_t *chapter, const char *name);

/*  Calls `visit` for every option of every table, including nested ones, with its path:
 *  "batcher.size", "feeder.step.plugin".  The path is valid during the call only. */
void tnd_reference_each(void (*visit)(void *context, const char *path, const tnd_option_t *option),
                        void *context);

/*  Facts besides the options: what a kind receives and sends, what a source can do, what an
 *  operation does to rows.  Some sentences in `arena`, or "". */
const char *tnd_reference_facts(tnd_arena_t *arena, const tnd_chapter_t *chapter,
                                const tnd_table_t *table);

/*  The name of a role, such as "graph", and its meaning for an overlay, a clause. */
const char *tnd_reference_role(tnd_option_role_t role);
/*  Whether `tundish set` changes an option in a run, as the end of a sentence; "" if not. */
const char *tnd_reference_live(const tnd_option_t *option);
const char *tnd_reference_role_meaning(tnd_option_role_t role);
/*  The name of an option's type for programs: "u64", "path". */
const char *tnd_reference_type(tnd_option_type_t type);

/*  A topic of `tundish help TOPIC`: a text file in tools/reference/topics/ and a line in topics.def
 *  there.  Its first line is a title, its second is empty; indented lines are printed unchanged. */
typedef struct {
    const char *name, *text;
} tnd_topic_t;

/*  The index-th topic; NULL after the last. */
const tnd_topic_t *tnd_topic(size_t index);

#endif
