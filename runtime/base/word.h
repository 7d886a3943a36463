/*  runtime/base/word.h - words that one thread writes and others look at, in any order.
 *
 *  Threads: any. */
#ifndef TND_RUNTIME_BASE_WORD_H
#define TND_RUNTIME_BASE_WORD_H

#include <stdatomic.h>
#include <stdint.h>

static inline uint64_t tnd_word_read(const _Atomic uint64_t *word)
{
    return atomic_load_explicit(word, memory_order_relaxed);
}

static inline void tnd_word_write(_Atomic uint64_t *word, uint64_t value)
{
    atomic_store_explicit(word, value, memory_order_relaxed);
}

#endif
