/*  actors/file/file_threads.c - work on many files by several threads. */
#include "actors/file/file_threads.h"

#include "runtime/base/parallel.h"
#include "runtime/data/open_files.h"

void tnd_file_threads(size_t count, uint32_t descriptors, void (*work)(void *context, size_t index),
                      void *context)
{
    size_t threads = count < TND_PARALLEL_WAITS ? count : TND_PARALLEL_WAITS;
    tnd_error_t ignored;
    while (threads > 1 && tnd_open_files_reserve(threads * descriptors, &ignored) != TND_OK)
        threads /= 2;
    tnd_parallel_waits(threads, count, work, context);
    if (threads > 1)
        tnd_open_files_release(threads * descriptors);
}
