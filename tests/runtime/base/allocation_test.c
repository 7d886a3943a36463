/*  Covers runtime/base/allocation.h. */
#include "runtime/base/allocation.h"

#include <criterion/criterion.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>

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
