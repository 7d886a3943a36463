/*  runtime/text/diagnostic.h - errors, warnings and notes about a topology.
 *
 *  They are collected and shown together, in the order of the text, in the style of gcc and rustc:
 *
 *      fashion.yaml:6:17: error[T020]: unknown kind `raeder`
 *          6 |   read:  {kind: raeder, epochs: 5}
 *            |                 ^^^^^^
 *            = help: did you mean `reader`?
 *
 *  A code never changes its meaning.  All codes are listed in diagnostic.def.
 *
 *  Threads: the one that created it. */
#ifndef TND_RUNTIME_TEXT_DIAGNOSTIC_H
#define TND_RUNTIME_TEXT_DIAGNOSTIC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "runtime/text/arena.h"

/*  A source of values: a file, or a pseudo-file such as `--set`.  It must outlive its marks. */
typedef struct {
    const char *name; /* shown before line and column */
    const char *text;
    size_t size;
    uint32_t order; /* place among the origins of a graph; sorts the diagnostics */
    bool overlay;   /* may only place, secure and tune */
} tnd_origin_t;

/*  A place in an origin.  Lines and columns count from 1, columns in characters.  Line 0 means that
 *  only the origin is known, origin NULL that the place is unknown. */
typedef struct {
    const tnd_origin_t *origin;
    uint32_t line;
    uint32_t column;
    uint32_t width; /* characters that the caret line underlines; 0 counts as 1 */
} tnd_mark_t;

typedef enum { TND_SEVERITY_ERROR, TND_SEVERITY_WARNING, TND_SEVERITY_NOTE } tnd_severity_t;

/*  TND_T012_UNKNOWN_KEY, for example. */
typedef enum {
#define CODE(number, name, severity, meaning) TND_T##number##_##name,
#include "runtime/text/diagnostic.def"
#undef CODE
    TND_DIAGNOSTIC_CODES
} tnd_diagnostic_code_t;

typedef struct tnd_diagnostics tnd_diagnostics_t;

/*  Creates an empty list.  Its texts are stored in `arena`, which must outlive it. */
tnd_diagnostics_t *tnd_diagnostics_new(tnd_arena_t *arena);

/*  Creates an independent copy of a list. */
tnd_diagnostics_t *tnd_diagnostics_copy(const tnd_diagnostics_t *from);

/*  Adds all diagnostics of `from`. */
void tnd_diagnostics_add_all(tnd_diagnostics_t *self, const tnd_diagnostics_t *from);

/*  Adds a diagnostic; the code determines its severity.  At most 100 are stored, but all are
 *  counted.  A repetition of the same text for the same place is dropped, with its help and second
 *  places. */
void tnd_diagnostics_add(tnd_diagnostics_t *self, tnd_diagnostic_code_t code, tnd_mark_t mark,
                         const char *format, ...) __attribute__((format(printf, 4, 5)));

/*  Adds advice to the diagnostic added last.  May be called several times. */
void tnd_diagnostics_help(tnd_diagnostics_t *self, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/*  Adds a second place to the diagnostic added last, such as the first definition. */
void tnd_diagnostics_also(tnd_diagnostics_t *self, tnd_mark_t mark, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

size_t tnd_diagnostics_count(const tnd_diagnostics_t *self, tnd_severity_t severity);

/*  Whether a diagnostic with this code was added. */
bool tnd_diagnostics_has(const tnd_diagnostics_t *self, tnd_diagnostic_code_t code);

/*  The first error in the order of the text as one line, "fashion.yaml:7:31: error[T061]: ...",
 *  with its advice and the number of further errors; "" without errors.  Stored in the arena. */
const char *tnd_diagnostics_sentence(const tnd_diagnostics_t *self);

/*  Writes all diagnostics, sorted by place, then one line with the counts.  Writes nothing if there
 *  are none. */
void tnd_diagnostics_print(const tnd_diagnostics_t *self, FILE *out);

/*  The same as JSON: an array of objects {file, line, column, severity, code, text, help, also}. */
void tnd_diagnostics_print_json(const tnd_diagnostics_t *self, FILE *out);

/*  Finds the candidate nearest to a misspelt word.  `best` is NULL until a candidate is near
 *  enough: a third of the letters may differ, at least one. */
typedef struct {
    const char *word;
    const char *best;
    size_t distance;
} tnd_nearest_t;

void tnd_nearest_offer(tnd_nearest_t *self, const char *candidate);

#endif
