/*  Covers the sizes of runtime/text/quantity.h at the bounds of their units. */
#include "runtime/text/quantity.h"

#include <criterion/criterion.h>

Test(quantity, sizes_at_the_bounds_of_units)
{
    static const struct {
        uint64_t bytes;
        const char *text;
    } cases[] = {
        {0, "0 bytes"},
        {1, "1 byte"},
        {1023, "1023 bytes"},
        {1024, "1 KiB"},
        {1025, "1.0 KiB"},
        {1536, "1.5 KiB"},
        /* Nothing is shown as 1024.0 KiB. */
        {1048524, "1023.9 KiB"},
        {1048525, "1.0 MiB"},
        {1048570, "1.0 MiB"},
        {1048576, "1 MiB"},
        {UINT64_C(1073741823), "1.0 GiB"},
        {UINT64_C(1) << 60, "1 EiB"},
        {UINT64_MAX, "16 EiB"},
    };
    char text[TND_QUANTITY_SIZE];
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        cr_expect_str_eq(tnd_quantity_size(cases[i].bytes, text), cases[i].text);
}

Test(quantity, numbers_at_the_bounds_of_their_types)
{
    uint64_t value = 5;
    int64_t number = 5;
    cr_expect_eq(tnd_quantity_u64("18446744073709551615", &value), TND_QUANTITY_OK);
    cr_expect_eq(value, UINT64_MAX);
    cr_expect_eq(tnd_quantity_u64("18446744073709551616", &value), TND_QUANTITY_TOO_LARGE);
    cr_expect_eq(tnd_quantity_i64("-9223372036854775808", &number), TND_QUANTITY_OK);
    cr_expect_eq(number, INT64_MIN);
    cr_expect_eq(tnd_quantity_i64("-9223372036854775809", &number), TND_QUANTITY_TOO_LARGE);
    cr_expect_eq(tnd_quantity_bytes("16777215TiB", &value), TND_QUANTITY_OK);
    cr_expect_eq(value, UINT64_C(16777215) << 40);
    cr_expect_eq(tnd_quantity_bytes("16777216TiB", &value), TND_QUANTITY_TOO_LARGE);
}
