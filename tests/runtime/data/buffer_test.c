/*  Covers runtime/data/buffer.h: holding, wrapping, and pools that keep what they allocated.  What
 *  threads do with buffers is in tests/stress_data.c. */
#include "runtime/data/buffer.h"

#include <string.h>

#include <criterion/criterion.h>

static void count_release(void *owner)
{
    ++*(int *)owner;
}

Test(buffer, is_aligned_writable_and_as_large_as_asked)
{
    tnd_buffer_t *buffer = tnd_buffer_new(1001);

    cr_assert_eq((uintptr_t)tnd_buffer_data(buffer) % TND_BUFFER_ALIGN, 0);
    cr_assert_eq(tnd_buffer_size(buffer), 1001);
    cr_assert_eq(tnd_buffer_kind(buffer), TND_BUFFER_HEAP);
    memset(tnd_buffer_data(buffer), 7, 1001);
    tnd_buffer_seal(buffer);

    tnd_buffer_drop(&buffer);
    cr_assert_null(buffer);
    tnd_buffer_drop(&buffer);
}

Test(buffer, borrowed_memory_is_released_with_the_last_drop)
{
    int released = 0;
    char data[3];
    tnd_buffer_t *buffer =
        tnd_buffer_wrap(TND_BUFFER_RECEIVED, data, sizeof data, count_release, &released);
    tnd_buffer_t *second = tnd_buffer_hold(buffer);

    cr_assert_eq(tnd_buffer_kind(buffer), TND_BUFFER_RECEIVED);
    cr_assert_eq(tnd_buffer_data(buffer), data);
    tnd_buffer_drop(&buffer);
    cr_assert_eq(released, 0);
    tnd_buffer_drop(&second);
    cr_assert_eq(released, 1);
}

Test(pool, returned_buffers_are_reused)
{
    tnd_pool_t *pool = tnd_pool_new(4096);
    tnd_buffer_t *one = tnd_pool_take(pool), *two = tnd_pool_take(pool);
    void *data = tnd_buffer_data(one);
    cr_assert_eq((uintptr_t)data % TND_BUFFER_ALIGN, 0);
    cr_assert_eq(tnd_buffer_size(one), 4096);
    cr_assert_eq(tnd_pool_total(pool), 2);
    cr_assert_eq(tnd_pool_out(pool), 2);

    tnd_buffer_seal(one);
    tnd_buffer_drop(&one);
    cr_assert_eq(tnd_pool_out(pool), 1);
    tnd_buffer_t *again = tnd_pool_take(pool);

    cr_assert_eq(tnd_buffer_data(again), data);
    cr_assert_eq(tnd_pool_total(pool), 2);
    memset(data, 1, 4096);
    tnd_buffer_seal(again);
    tnd_buffer_drop(&again);
    tnd_buffer_drop(&two);
    cr_assert_eq(tnd_pool_out(pool), 0);
    tnd_pool_destroy(&pool);
    cr_assert_null(pool);
}

Test(pool, lives_until_its_last_buffer_is_dropped)
{
    tnd_pool_t *pool = tnd_pool_new(64);
    tnd_buffer_t *one = tnd_pool_take(pool), *two = tnd_pool_take(pool);

    tnd_pool_destroy(&pool);
    memset(tnd_buffer_data(one), 3, 64);
    tnd_buffer_drop(&two);
    tnd_buffer_seal(one);
    cr_assert_eq(((char *)tnd_buffer_data(one))[63], 3);
    tnd_buffer_drop(&one);
    tnd_pool_destroy(&pool);
}
