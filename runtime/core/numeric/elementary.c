/*  runtime/core/numeric/elementary.c - exp, log, pow and sine with the same bits on every machine. */
#include "runtime/core/numeric/elementary.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

/*  log 2 as the sum of a number of 32 bits, of which small multiples are exact, and the rest. */
#define LN2_HIGH 0x1.62e42fee00000p-1
#define LN2_LOW 0x1.a39ef35793c76p-33
#define INV_LN2 0x1.71547652b82fep+0
#define PI_HIGH 0x1.921fb54442d18p+1
#define PI_LOW 0x1.1a62633145c07p-53

enum { EXPONENT_BIAS = 1023, FRACTION_BITS = 52 };

static double power_of_two(int64_t exponent)
{
    uint64_t bits = (uint64_t)(exponent + EXPONENT_BIAS) << FRACTION_BITS;
    double value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

/*  x = k log 2 + r with |r| <= log 2 / 2; e^r by its series up to r^13 / 13!. */
double tnd_exp(double x)
{
    if (x != x)
        return x;
    if (x > 709.0)
        return INFINITY;
    if (x < -708.0)
        return 0.0;
    double scaled = x * INV_LN2;
    int64_t k = (int64_t)(scaled + (scaled < 0 ? -0.5 : 0.5));
    double high = x - (double)k * LN2_HIGH, low = (double)k * LN2_LOW;
    double r = high - low;
    double rest = (high - r) - low; /* what r lost when it was rounded */
    double sum = 1.0 / 6227020800.0;
    static const double inverse[] = {1.0 / 479001600.0, 1.0 / 39916800.0, 1.0 / 3628800.0,
                                     1.0 / 362880.0,    1.0 / 40320.0,    1.0 / 5040.0,
                                     1.0 / 720.0,       1.0 / 120.0,      1.0 / 24.0,
                                     1.0 / 6.0,         1.0 / 2.0};
    for (unsigned i = 0; i < sizeof inverse / sizeof inverse[0]; i++)
        sum = sum * r + inverse[i];
    double small = r * r * sum + rest;
    return (1.0 + (r + small)) * power_of_two(k);
}

/*  x = 2^k m with m between sqrt(1/2) and sqrt(2); with s = (m - 1) / (m + 1),
 *  log m = 2 s + 2 s^3 / 3 + ... up to s^21 / 21. */
double tnd_log(double x)
{
    if (x != x || x < 0)
        return NAN;
    if (x < 0x1p-1022)
        return -INFINITY;
    if (x > 0x1.fffffffffffffp+1023)
        return x;
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    int64_t k = (int64_t)(bits >> FRACTION_BITS) - EXPONENT_BIAS;
    bits = (bits & ((UINT64_C(1) << FRACTION_BITS) - 1)) | (uint64_t)EXPONENT_BIAS << FRACTION_BITS;
    double m;
    memcpy(&m, &bits, sizeof m);
    if (m > 0x1.6a09e667f3bcdp+0) {
        m *= 0.5;
        k++;
    }
    double f = m - 1.0, s = f / (2.0 + f), z = s * s, sum = 2.0 / 21.0;
    for (int i = 19; i >= 3; i -= 2)
        sum = sum * z + 2.0 / i;
    /* log m = f - s (f - z sum), where 2 s = f - s f: f is exact, what follows is small. */
    double correction = s * (f - z * sum);
    return (double)k * LN2_HIGH + (f - (correction - (double)k * LN2_LOW));
}

double tnd_pow(double x, double y)
{
    if (y == 0 || x == 1)
        return 1.0;
    if (x == 0)
        return y > 0 ? 0.0 : INFINITY;
    return tnd_exp(y * tnd_log(x));
}

/*  x less the nearest integer, then the series of sine up to (pi x)^21 / 21!. */
double tnd_sin_pi(double x)
{
    int64_t whole = (int64_t)(x + (x < 0 ? -0.5 : 0.5));
    double r = x - (double)whole;
    if (r == 0)
        return 0.0;
    double a = r * PI_HIGH, z = a * a, sum = 0;
    for (int i = 21; i >= 3; i -= 2)
        sum = -(1.0 + sum) * z / (double)((i - 1) * i);
    a += r * PI_LOW;
    double value = a + a * sum;
    return whole % 2 != 0 ? -value : value;
}
