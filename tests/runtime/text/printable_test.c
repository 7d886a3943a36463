/*  Covers runtime/text/printable.h. */
#include "runtime/text/printable.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

static void expect(const char *given, const char *wanted)
{
    char text[64];
    strcpy(text, given);
    char *printed = NULL;
    size_t size;
    FILE *out = open_memstream(&printed, &size);
    tnd_printable_print(given, out);
    fclose(out);
    cr_assert_str_eq(printed, wanted);
    free(printed);
    cr_assert_str_eq(tnd_printable(text, sizeof text), wanted);
}

Test(printable, texts_stay_as_they_are)
{
    expect("", "");
    expect("prep.0 on host a", "prep.0 on host a");
    expect("Stra\xc3\x9f"
           "e \xc2\xa0 \xe2\x82\xac",
           "Stra\xc3\x9f"
           "e \xc2\xa0 \xe2\x82\xac");
}

Test(printable, control_characters_are_replaced)
{
    expect("a\033[2Jb\nc\177", "a?[2Jb?c?");
    /* U+009B begins a sequence as ESC [ does. */
    expect("a\xc2\x9b"
           "2J",
           "a??2J");
}

Test(printable, bytes_that_are_not_utf_8_are_replaced)
{
    expect("a\x9b"
           "2J\xff\xc3",
           "a?2J??");
    char cut[4] = "abcd";
    cr_assert_str_eq(tnd_printable(cut, sizeof cut), "abc");
}
