/*  Covers runtime/data/text_payload.h: lines go in and come out, whole or cut, never beyond the
 * buffer. */
#include "runtime/data/text_payload.h"

#include <string.h>

#include <criterion/criterion.h>

Test(text_payload, lines_are_read_as_written)
{
    tnd_text_payload_writer_t writer;
    tnd_text_payload_begin(&writer);
    fprintf(writer.stream, "stream 0 %d\ncolumn u8 0 label\n", 60000);
    tnd_buffer_t *note = tnd_text_payload_end(&writer);

    tnd_text_payload_reader_t reader;
    tnd_text_payload_read(&reader, note);

    cr_assert_str_eq(tnd_text_payload_line(&reader), "stream 0 60000");
    cr_assert_str_eq(tnd_text_payload_line(&reader), "column u8 0 label");
    cr_assert_null(tnd_text_payload_line(&reader));
    tnd_buffer_drop(&note);
}

Test(text_payload, a_last_line_without_an_end_is_a_line)
{
    tnd_buffer_t *note = tnd_text_payload_of("why it ended");

    tnd_text_payload_reader_t reader;
    tnd_text_payload_read(&reader, note);

    cr_assert_str_eq(tnd_text_payload_line(&reader), "why it ended");
    cr_assert_null(tnd_text_payload_line(&reader));
    tnd_buffer_drop(&note);
}

Test(text_payload, no_payload_has_no_lines)
{
    tnd_text_payload_reader_t reader;

    tnd_text_payload_read(&reader, NULL);

    cr_assert_null(tnd_text_payload_line(&reader));
}

Test(text_payload, an_overlong_line_is_cut_and_the_next_one_found)
{
    char text[2 * TND_TEXT_PAYLOAD_LINE];
    memset(text, 'x', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    tnd_buffer_t *note = tnd_text_payload_of("%s\nnext", text);

    tnd_text_payload_reader_t reader;
    tnd_text_payload_read(&reader, note);

    cr_assert_eq(strlen(tnd_text_payload_line(&reader)), TND_TEXT_PAYLOAD_LINE - 1);
    cr_assert_str_eq(tnd_text_payload_line(&reader), "next");
    tnd_buffer_drop(&note);
}

Test(text_payload, two_are_the_same_if_all_bytes_are)
{
    tnd_buffer_t *a = tnd_text_payload_of("one\ntwo"), *b = tnd_text_payload_of("one\ntwo"),
                 *longer = tnd_text_payload_of("one\ntwo\n"),
                 *other = tnd_text_payload_of("one\nTwo");
    cr_assert(tnd_text_payload_is_same(a, b));
    cr_assert_not(tnd_text_payload_is_same(a, longer));
    cr_assert_not(tnd_text_payload_is_same(a, other));
    cr_assert_not(tnd_text_payload_is_same(a, NULL));
    cr_assert_not(tnd_text_payload_is_same(NULL, NULL));
    tnd_buffer_drop(&a);
    tnd_buffer_drop(&b);
    tnd_buffer_drop(&longer);
    tnd_buffer_drop(&other);
}
