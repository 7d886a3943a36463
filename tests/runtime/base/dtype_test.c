/*  Covers runtime/base/dtype.h: sizes follow from names, names and types are one to one. */
#include "runtime/base/dtype.h"

#include <stdlib.h>
#include <string.h>

#include <criterion/criterion.h>

Test(dtype, a_name_finds_its_type)
{
    tnd_dtype_t dtype;

    cr_assert(tnd_dtype_parse("bf16", &dtype));

    cr_assert_eq(dtype, TND_BF16);
    cr_assert_eq(tnd_dtype_size(dtype), 2);
    cr_assert(tnd_dtype_is_float(dtype));
}

Test(dtype, every_type_is_found_by_its_name)
{
    for (int i = 0; i < TND_DTYPE_COUNT; i++) {
        tnd_dtype_t found = (tnd_dtype_t)-1;
        cr_assert(tnd_dtype_parse(tnd_dtype_name((tnd_dtype_t)i), &found));
        cr_assert_eq((int)found, i);
    }
}

Test(dtype, the_digits_of_a_name_are_its_bits)
{
    for (int i = 0; i < TND_BOOL; i++) {
        const char *name = tnd_dtype_name((tnd_dtype_t)i);
        int bits = atoi(name + strcspn(name, "123468"));
        cr_assert_eq(8 * tnd_dtype_size((tnd_dtype_t)i), (size_t)bits, "%s", name);
        cr_assert_eq(tnd_dtype_is_float((tnd_dtype_t)i), strchr(name, 'f') != NULL, "%s", name);
        cr_assert_eq(tnd_dtype_is_signed((tnd_dtype_t)i), name[0] != 'u', "%s", name);
    }
    cr_assert_eq(tnd_dtype_size(TND_BOOL), 1);
    cr_assert_not(tnd_dtype_is_signed(TND_BOOL));
}

Test(dtype, an_unknown_name_changes_nothing)
{
    const char *const names[] = {"", "u", "U8", "u8 ", "float32", "i128", "uint8"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        tnd_dtype_t dtype = TND_I16;
        cr_assert_not(tnd_dtype_parse(names[i], &dtype), "%s", names[i]);
        cr_assert_eq(dtype, TND_I16);
    }
}
