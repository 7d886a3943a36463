/*  runtime/text/diagnostic.h - what is wrong with a topology, said so that a person can act on it.
 *
 *  Errors, warnings and notes are kept and shown together, in the order of the text, in the style
 *  of gcc and rustc:
 *
 *      fashion.yaml:6:17: error[T020]: there is no kind `raeder`
 *          6 |   read:  {kind: raeder, epochs: 5}
 *            |                 ^^^^^^
 *            = help: did you mean `reader`?
 *
 *  Codes are stable: a code is never given another meaning.  Their one table is diagnostic.def.
 *
 *  Threads: the one that made it.
 */
#ifndef TND_RUNTIME_TEXT_DIAGNOSTIC_H
#define TND_RUNTIME_TEXT_DIAGNOSTIC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "runtime/text/arena.h"

/*  A text that values come from: a file, or a pseudo-file such as `--set`.  It must outlive the
 *  marks that point at it.
 */
typedef struct {
    const char *name; /* as shown before line and column */
    const char *text;
    size_t size;
    uint32_t order; /* place among the origins of a graph; sorts the diagnostics */
    bool overlay;   /* may only place, secure and tune */
} tnd_origin_t;

/*  A place in an origin.  Lines and columns count from 1, columns in characters; line 0 means that
 *  there is no place, only the origin, and an origin of NULL that there is none either.
 */
typedef struct {
    const tnd_origin_t *origin;
    uint32_t line;
    uint32_t column;
    uint32_t width; /* characters that the caret line underlines; 0 counts as 1 */
} tnd_mark_t;

typedef enum { TND_SEVERITY_ERROR, TND_SEVERITY_WARNING, TND_SEVERITY_NOTE } tnd_severity_t;

/*  TND_T012_UNKNOWN_KEY and its like. */
typedef enum {
#define CODE(number, name, severity, meaning) TND_T##number##_##name,
#include "runtime/text/diagnostic.def"
#undef CODE
    TND_DIAGNOSTIC_CODES
} tnd_diagnostic_code_t;

typedef struct tnd_diagnostics tnd_diagnostics_t;

/*  An empty list whose texts live in `arena`, which must outlive it. */
tnd_diagnostics_t *tnd_diagnostics_new(tnd_arena_t *arena);

/*  A list that begins with what `from` holds; both go on apart. */
tnd_diagnostics_t *tnd_diagnostics_copy(const tnd_diagnostics_t *from);

/*  Adds what `from` holds, as if it were added here one by one. */
void tnd_diagnostics_add_all(tnd_diagnostics_t *self, const tnd_diagnostics_t *from);

/*  Adds one diagnostic; the code says whether it is an error, a warning or a note.  At most 100 are
 *  kept, all are counted.  What was said of the same place in the same words is not said again, nor
 *  what is then added to it.
 */
void tnd_diagnostics_add(tnd_diagnostics_t *self, tnd_diagnostic_code_t code, tnd_mark_t mark,
                         const char *format, ...) __attribute__((format(printf, 4, 5)));

/*  Adds what to do about the diagnostic added last.  May be called several times. */
void tnd_diagnostics_help(tnd_diagnostics_t *self, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/*  Adds a second place that belongs to the diagnostic added last, such as a first definition. */
void tnd_diagnostics_also(tnd_diagnostics_t *self, tnd_mark_t mark, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

size_t tnd_diagnostics_count(const tnd_diagnostics_t *self, tnd_severity_t severity);

/*  Whether a diagnostic with this code was added. */
bool tnd_diagnostics_has(const tnd_diagnostics_t *self, tnd_diagnostic_code_t code);

/*  The first error in the order of the text as one line, "fashion.yaml:7:31: error[T061]: ...",
 * with how many more there are; "" without errors.  Lives in the arena.
 */
const char *tnd_diagnostics_sentence(const tnd_diagnostics_t *self);

/*  Writes all of them, sorted by place, then one line with the counts.  Writes nothing when there
 *  are none.
 */
void tnd_diagnostics_print(const tnd_diagnostics_t *self, FILE *out);

/*  The same as JSON: an array of objects {file, line, column, severity, code, text, help, also}. */
void tnd_diagnostics_print_json(const tnd_diagnostics_t *self, FILE *out);

/*  "T012" and the sentence that the reference prints for it. */
const char *tnd_diagnostic_code(tnd_diagnostic_code_t code);
const char *tnd_diagnostic_meaning(tnd_diagnostic_code_t code);

/*  Finds the word nearest to a misspelt one: give it candidates, then ask.  `best` is NULL as long
 *  as no candidate is near enough (a third of the letters may differ, one at least).
 */
typedef struct {
    const char *word;
    const char *best;
    size_t distance;
} tnd_nearest_t;

void tnd_nearest_offer(tnd_nearest_t *self, const char *candidate);

#endif
