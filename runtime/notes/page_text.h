/*  runtime/notes/page_text.h - texts in shared memory that may change while they are read.
 *
 *  A text is an array of words, each of which is written at once.
 *
 *  Threads: one writes; any read.  A reader may see parts of two texts while one replaces another. */
#ifndef TND_RUNTIME_NOTES_PAGE_TEXT_H
#define TND_RUNTIME_NOTES_PAGE_TEXT_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

/*  Writes a text, cut to `words` words with its end. */
void tnd_page_text_write(_Atomic uint64_t *page, size_t words, const char *text);
/*  Reads it into 8 * `words` bytes, terminated and printable. */
void tnd_page_text_read(const _Atomic uint64_t *page, size_t words, char *text);

#endif
