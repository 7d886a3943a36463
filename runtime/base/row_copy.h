/*  runtime/base/row_copy.h - copies a row to memory that is read later, by another thread.
 *
 *  A plain copy loads each line before it overwrites it, and the memory of a batch is larger than the
 *  near caches.  The string instructions of x86-64 do not load it: rows of 1 to 2 KiB from anywhere
 *  in memory take 5 to 25 % less time.  They take longer to begin, which shorter rows do not gain
 *  back; from about 3 KiB both take the same time.
 *
 *  Sanitizers see only plain copies.  Threads: any. */
#ifndef TND_RUNTIME_BASE_ROW_COPY_H
#define TND_RUNTIME_BASE_ROW_COPY_H

#include <string.h>

#if defined(__x86_64__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)

enum { TND_ROW_COPY_LEAST = 1024, TND_ROW_COPY_MOST = 3072 };

static inline void tnd_row_copy(void *to, const void *from, size_t bytes)
{
    if (bytes >= TND_ROW_COPY_LEAST && bytes <= TND_ROW_COPY_MOST)
        __asm__ volatile("rep movsb" : "+D"(to), "+S"(from), "+c"(bytes) : : "memory");
    else
        memcpy(to, from, bytes);
}

#else

static inline void tnd_row_copy(void *to, const void *from, size_t bytes)
{
    memcpy(to, from, bytes);
}

#endif
#endif
