/*  tests/runtime/posts/postings_test.c - whether lists of postings fit, and their shapes. */
#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <string.h>

#include "runtime/posts/postings.h"

/*  Lists of 3 postings, of which the second one is given. */
static tnd_postings_t list_with(const tnd_posting_t *second)
{
    const tnd_posting_t other = {.reduce = TND_MEAN, .dtype = TND_F32, .count = 9};
    tnd_postings_t list = {0};
    tnd_postings_add(&list, &other);
    tnd_postings_add(&list, second);
    tnd_postings_add(&list, &other);
    return list;
}

static bool have_one_shape(const tnd_postings_t *a, const tnd_postings_t *b)
{
    tnd_postings_shape_t one = tnd_postings_shape(a), other = tnd_postings_shape(b);
    return memcmp(&one, &other, sizeof one) == 0;
}

/*  Compares lists whose second postings differ. */
static void compare(const tnd_posting_t *a, const tnd_posting_t *b, bool fit)
{
    tnd_postings_t one = list_with(a), other = list_with(b);
    uint32_t first;
    cr_assert(tnd_postings_fit(&one, &other, &first) == fit);
    cr_assert(eq(u32, first, fit ? 3 : 1));
    cr_assert(have_one_shape(&one, &other) == fit);
    tnd_postings_free(&one);
    tnd_postings_free(&other);
}

static const tnd_posting_t sum = {
    .reducer = 1, .reduce = TND_SUM, .dtype = TND_F32, .count = 1000, .rows = 3};

Test(postings, those_fit_that_differ_in_values_rows_and_weights)
{
    tnd_posting_t other = sum;
    other.from = &other;
    other.data = &other;
    other.rows = 0;
    other.weight = 2.5;
    other.stream = 7;
    compare(&sum, &other, true);
}

Test(postings, what_is_gathered_may_have_another_count)
{
    tnd_posting_t one = sum, other;
    one.reduce = TND_GATHER;
    other = one;
    other.count = 1;
    compare(&one, &other, true);
}

Test(postings, each_other_difference_shows_in_the_shape)
{
    tnd_posting_t others[11];
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++)
        others[i] = sum;
    others[0].reducer = 0;
    others[1].reduce = TND_MAX;
    others[2].dtype = TND_I32;
    others[3].count = 1001;
    others[4].weighted = true;
    others[5].root = 1;
    others[6].sharing = TND_SHARE_OUT;
    others[7].unit = 1;
    others[8].whole = 5000;
    others[9].on_device = true;
    others[10].same = "weights";
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++)
        for (size_t other = 0; other < i; other++) {
            compare(&sum, &others[i], false);
            compare(&others[i], &others[other], false);
        }
}

Test(postings, the_order_and_the_number_show_in_the_shape)
{
    tnd_posting_t more = sum, fewer = sum;
    more.count++;
    fewer.count--;
    tnd_postings_t one = {0}, other = {0};
    cr_assert(have_one_shape(&one, &other));
    tnd_postings_add(&one, &more);
    cr_assert(have_one_shape(&one, &other) == false);
    tnd_postings_add(&one, &fewer);
    tnd_postings_add(&other, &fewer);
    tnd_postings_add(&other, &more);
    cr_assert(have_one_shape(&one, &other) == false);
    tnd_postings_free(&one);
    tnd_postings_free(&other);
}

Test(postings, lists_of_many_counts_have_many_shapes)
{
    enum { SIZES = 4096 };
    static tnd_postings_shape_t shapes[SIZES];
    for (size_t i = 0; i < SIZES; i++) {
        tnd_posting_t posting = sum;
        posting.count = i;
        posting.root = (uint32_t)(i / 64);
        tnd_postings_t list = list_with(&posting);
        shapes[i] = tnd_postings_shape(&list);
        for (size_t other = 0; other < i; other++)
            cr_assert(shapes[i].words[0] != shapes[other].words[0] &&
                      shapes[i].words[1] != shapes[other].words[1]);
        tnd_postings_free(&list);
    }
}
