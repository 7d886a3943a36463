/*  runtime/text/lines.h - the lines of a YAML text, for errors that show a line and its correction.
 *
 *  Lines and columns count from 0 as libyaml counts them, in characters; marks count from 1.
 *
 *  Ownership: everything lives in the arena.  Threads: any, once it is indexed. */
#ifndef TND_RUNTIME_TEXT_LINES_H
#define TND_RUNTIME_TEXT_LINES_H

#include <yaml.h>

#include "runtime/text/arena.h"
#include "runtime/text/diagnostic.h"

typedef struct {
    tnd_arena_t *arena;
    tnd_diagnostics_t *diagnostics;
    const tnd_origin_t *origin;
    size_t skip;      /* bytes of the text that libyaml does not see */
    uint32_t skipped; /* characters of the first line among them */
    const char **lines;
    size_t count;
} tnd_lines_t;

/*  Part of one line, in bytes. */
typedef struct {
    const char *start;
    const char *end;
} tnd_span_t;

/*  Finds the lines of `origin`.  Parsing begins after `skip` bytes of the first line, which count
 *  for the columns, or after a byte order mark. */
void tnd_lines_open(tnd_lines_t *self, tnd_arena_t *arena, tnd_diagnostics_t *diagnostics,
                    const tnd_origin_t *origin, size_t skip);

/*  A line without its line break; an empty span after the last line. */
tnd_span_t tnd_lines_span(const tnd_lines_t *self, size_t line);

/*  The byte at a mark of libyaml. */
const char *tnd_lines_byte(const tnd_lines_t *self, yaml_mark_t at);

tnd_mark_t tnd_lines_mark(const tnd_lines_t *self, yaml_mark_t start, yaml_mark_t end);
tnd_mark_t tnd_lines_mark_span(const tnd_lines_t *self, size_t line, tnd_span_t span);

/*  Adds the corrected line, with `span` replaced, as help to the diagnostic added last. */
void tnd_lines_help(const tnd_lines_t *self, size_t line, tnd_span_t span, const char *replacement);

bool tnd_span_is_blank(char byte);

/*  The span in double quotes. */
const char *tnd_span_quoted(tnd_arena_t *arena, tnd_span_t span);

/*  A word as people see it: up to a blank, a comma before a blank, or a bracket that the word did
 *  not open. */
tnd_span_t tnd_span_word(tnd_span_t line, const char *start);

#endif
