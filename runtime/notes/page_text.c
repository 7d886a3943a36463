/*  runtime/notes/page_text.c - texts in shared memory that may change while they are read. */
#include "runtime/notes/page_text.h"

#include <string.h>

#include "runtime/text/printable.h"

void tnd_page_text_write(_Atomic uint64_t *page, size_t words, const char *text)
{
    size_t left = strnlen(text, words * sizeof *page - 1);
    for (size_t w = 0; w < words; w++) {
        uint64_t word = 0;
        size_t some = left < sizeof word ? left : sizeof word;
        memcpy(&word, text, some);
        text += some;
        left -= some;
        atomic_store_explicit(&page[w], word, memory_order_relaxed);
    }
}

void tnd_page_text_read(const _Atomic uint64_t *page, size_t words, char *text)
{
    for (size_t w = 0; w < words; w++) {
        uint64_t word = atomic_load_explicit(&page[w], memory_order_relaxed);
        memcpy(text + w * sizeof word, &word, sizeof word);
    }
    (void)tnd_printable(text, words * sizeof *page);
}
