/*  Covers tools/top/screen.h: what is beyond the edges is cut, and every cell is one column. */
#include "tools/top/screen.h"

#include <stdlib.h>

#include <criterion/criterion.h>

static void expect(const tnd_screen_t *screen, unsigned row, const char *wanted)
{
    char *text = tnd_screen_text(screen, row);
    cr_assert_str_eq(text, wanted);
    free(text);
}

Test(screen, text_beyond_its_edges_is_cut)
{
    tnd_screen_t screen = {0};
    tnd_screen_clear(&screen, 2, 8);
    cr_assert_eq(tnd_screen_put(&screen, 0, 5, TND_INK_BOLD, "abc%d", 7), 8);
    (void)tnd_screen_put(&screen, 2, 0, TND_INK_PLAIN, "below");
    tnd_screen_field(&screen, 1, 0, 4, false, TND_INK_PLAIN, "12345");
    tnd_screen_field(&screen, 1, 4, 4, true, TND_INK_PLAIN, "67");
    expect(&screen, 0, "     abc");
    expect(&screen, 1, "1234  67");
    cr_assert_eq(screen.cells[5].ink, TND_INK_BOLD);
    tnd_screen_free(&screen);
}

Test(screen, a_character_that_is_not_one_column_wide_is_replaced)
{
    tnd_screen_t screen = {0};
    tnd_screen_clear(&screen, 3, 10);
    /* Two columns wide; a combining accent; bytes that are not UTF-8; a control character. */
    (void)tnd_screen_put(&screen, 0, 0, TND_INK_PLAIN, "%s",
                         "\xe6\xb0\xb4"
                         "a"
                         "\xcc\x81");
    (void)tnd_screen_put(&screen, 1, 0, TND_INK_PLAIN, "%s",
                         "\xff\xe6"
                         "b"
                         "\033");
    (void)tnd_screen_put(&screen, 2, 0, TND_INK_PLAIN, "%s", "\xc3\xbc\xe2\x94\x80");
    expect(&screen, 0, "?a?");
    expect(&screen, 1, "??b?");
    expect(&screen, 2, "\xc3\xbc\xe2\x94\x80");
    tnd_screen_free(&screen);
}
