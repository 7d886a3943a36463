/*  Covers runtime/base/allocation.h. */
#include "runtime/base/allocation.h"

#include <criterion/criterion.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

Test(allocation, returns_memory_also_for_no_items)
{
    void *none = tnd_allocate(0, 8), *zeroed = tnd_allocate_zeroed(8, 0);
    cr_assert_not_null(none);
    cr_assert_not_null(zeroed);
    free(none);
    free(zeroed);
}

Test(allocation, grows_an_array_and_keeps_its_items)
{
    uint32_t *items = NULL;
    size_t room = 0;
    for (uint32_t i = 0; i < 1000; i++) {
        items = tnd_grow(items, i, &room, sizeof *items);
        cr_assert_gt(room, i);
        items[i] = i;
    }
    for (uint32_t i = 0; i < 1000; i++)
        cr_assert_eq(items[i], i);
    free(items);
}

Test(allocation, aligned_memory_is_aligned)
{
    for (size_t alignment = 8; alignment <= 4096; alignment *= 2) {
        void *memory = tnd_allocate_aligned(alignment, 3);
        cr_assert_eq((uintptr_t)memory % alignment, 0);
        free(memory);
    }
}

Test(allocation, formats_and_copies_text)
{
    char *made = tnd_format_string("%s-%d", "a", 7), *copy = tnd_copy_string(made);
    cr_assert_str_eq(copy, "a-7");
    free(made);
    free(copy);
}

Test(allocation, aborts_if_a_size_overflows, .signal = SIGABRT)
{
    (void)tnd_allocate_zeroed(SIZE_MAX / 2, 3);
}

static void *allocate_items(void *unused)
{
    pthread_setname_np(pthread_self(), "prep.0");
    (void)tnd_allocate((size_t)1 << 62, 24);
    return unused;
}

static void *allocate_bytes(void *unused)
{
    pthread_setname_np(pthread_self(), "batch.0");
    (void)tnd_resize(NULL, 1, SIZE_MAX);
    return unused;
}

static void *lack_a_library(void *unused)
{
    pthread_setname_np(pthread_self(), "read.0");
    (void)tnd_require_memory(NULL);
    return unused;
}

/*  What a process writes to stderr whose thread does this. */
static void last_words(void *(*act)(void *), char *text, size_t room)
{
    int ends[2];
    cr_assert_eq(pipe(ends), 0);
    pid_t child = fork();
    if (child == 0) {
        pthread_t thread;
        dup2(ends[1], STDERR_FILENO);
        (void)pthread_create(&thread, NULL, act, NULL);
        pthread_join(thread, NULL);
        _exit(0);
    }
    close(ends[1]);
    ssize_t got = read(ends[0], text, room - 1);
    text[got > 0 ? got : 0] = '\0';
    close(ends[0]);
    int status;
    cr_assert_eq(waitpid(child, &status, 0), child);
    cr_assert(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
}

Test(allocation, the_last_words_name_the_thread_and_the_bytes)
{
    char text[256];
    last_words(allocate_items, text, sizeof text);
    cr_assert_str_eq(text, "tundish: thread prep.0 cannot allocate 4611686018427387904 x 24 bytes: "
                           "memory is exhausted\n");
    last_words(lack_a_library, text, sizeof text);
    cr_assert_str_eq(text, "tundish: thread read.0 cannot allocate what a library needs: memory is "
                           "exhausted\n");
}

/*  The allocators of the sanitizers end the process in a way of their own. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
enum { SANITIZED = 1 };
#else
enum { SANITIZED = 0 };
#endif

Test(allocation, aborts_if_memory_is_exhausted, .signal = SIGABRT, .disabled = SANITIZED)
{
    (void)tnd_allocate_zeroed(1, SIZE_MAX / 4);
}

Test(allocation, the_last_words_name_one_item_by_its_bytes, .disabled = SANITIZED)
{
    char text[256];
    last_words(allocate_bytes, text, sizeof text);
    cr_assert_str_eq(text, "tundish: thread batch.0 cannot allocate 18446744073709551615 bytes: "
                           "memory is exhausted\n");
}
