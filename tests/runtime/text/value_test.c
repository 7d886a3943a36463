/*  Covers runtime/text/value.h: text as it is printed. */
#include "runtime/text/value.h"

#include <stdlib.h>

#include <criterion/criterion.h>

#include "runtime/text/json_string.h"

/*  The bytes are those of the examples in RFC 3629, sections 4 and 7. */
Test(value, text_is_printed_as_json_whatever_its_bytes)
{
    const struct {
        const char *text, *printed;
    } cases[] = {
        {"a \"b\"\\\n", "\"a \\\"b\\\"\\\\\\u000a\""},
        {"A\xe2\x89\xa2\xce\x91.", "\"A\xe2\x89\xa2\xce\x91.\""}, /* A <not identical to> Alpha . */
        {"\xf0\xa3\x8e\xb4", "\"\xf0\xa3\x8e\xb4\""},
        {"\xe9t\xe9", "\"\\ufffdt\\ufffd\""},                     /* no UTF-8 at all */
        {"\xc0\x80", "\"\\ufffd\\ufffd\""},                       /* too long for its character */
        {"\xed\xa0\x80", "\"\\ufffd\\ufffd\\ufffd\""},            /* half of a surrogate pair */
        {"\xf5\x80\x80\x80", "\"\\ufffd\\ufffd\\ufffd\\ufffd\""}, /* beyond the last */
        {"\xe2\x89", "\"\\ufffd\\ufffd\""},                       /* cut short */
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char *got = NULL;
        size_t size = 0;
        FILE *out = open_memstream(&got, &size);
        tnd_json_string_print(cases[i].text, out);
        fclose(out);
        cr_assert_str_eq(got, cases[i].printed, "case %zu", i);
        free(got);
    }
}
