/*  Covers runtime/core/numeric/elementary.h: the errors are at most those that the header states,
 *  against the library's functions in 64 bits of precision. */
#include "runtime/core/numeric/elementary.h"

#include <math.h>
#include <stdint.h>

#include <criterion/criterion.h>

enum { TRIES = 200000 };

/*  Uniform in [low, high). */
static double draw(uint64_t *state, double low, double high)
{
    *state = *state * UINT64_C(6364136223846793005) + 1442695040888963407;
    return low + (high - low) * (double)(*state >> 11) * 0x1p-53;
}

static void compare(double got, long double exact, double most, const char *what, double x)
{
    cr_assert(fabsl(((long double)got - exact) / exact) <= most, "%s of %.17g is %.17g, not %.17Lg",
              what, x, got, exact);
}

Test(elementary, errors_are_those_that_are_stated)
{
    uint64_t state = 1;
    for (int i = 0; i < TRIES; i++) {
        double x = draw(&state, -707, 708);
        compare(tnd_exp(x), expl(x), 0x1p-51, "exp", x);
        x = i % 2 == 0 ? exp(draw(&state, -700, 700)) : 1 + draw(&state, -0.1, 0.1);
        if (x != 1)
            compare(tnd_log(x), logl(x), 0x1p-50, "log", x);
        x = draw(&state, 1e-6, 3);
        double y = draw(&state, -5, 5);
        compare(tnd_pow(x, y), powl(x, y), (1 + fabs(y * log(x))) * 0x1p-50, "pow", x);
        x = draw(&state, -6, 6);
        long double part = x - roundl(x), sign = fmodl(fabsl(roundl(x)), 2) == 1 ? -1 : 1;
        if (part != 0)
            compare(tnd_sin_pi(x), sign * sinl(3.14159265358979323846264338327950288L * part),
                    0x1p-51, "sin pi", x);
    }
}

Test(elementary, ends_are_those_that_are_stated)
{
    cr_expect_eq(tnd_exp(0), 1);
    cr_expect_eq(tnd_exp(-709), 0);
    cr_expect_eq(tnd_exp(710), INFINITY);
    cr_expect(isnan(tnd_exp(NAN)));
    cr_expect_eq(tnd_log(1), 0);
    cr_expect_eq(tnd_log(0), -INFINITY);
    cr_expect_eq(tnd_log(INFINITY), INFINITY);
    cr_expect(isnan(tnd_log(-1)) && isnan(tnd_log(NAN)));
    cr_expect_eq(tnd_pow(0, 0), 1);
    cr_expect_eq(tnd_pow(0, 2), 0);
    cr_expect_eq(tnd_pow(0, -2), INFINITY);
    cr_expect(isnan(tnd_pow(-1, 0.5)));
    for (int i = -5; i <= 5; i++)
        cr_expect_eq(tnd_sin_pi(i), 0);
    cr_expect_float_eq(tnd_sin_pi(0.5), 1, 0x1p-51);
    cr_expect_float_eq(tnd_sin_pi(-1.5), 1, 0x1p-51);
}
