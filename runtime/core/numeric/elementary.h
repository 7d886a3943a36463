/*  runtime/core/numeric/elementary.h - exp, log, pow and sine with the same bits on every machine.
 *
 *  The library of C gives other last bits on other machines. These are polynomials, evaluated in a
 *  fixed order. The errors are relative, against the exact value, and tested; 2^-52 is one unit of
 *  the last place of a number just above 1.
 *
 *  Threads: any. */
#ifndef TND_RUNTIME_CORE_NUMERIC_ELEMENTARY_H
#define TND_RUNTIME_CORE_NUMERIC_ELEMENTARY_H

/*  e^x, at most 2^-51 from it where the result is a normal number; below, and for x < -708, 0;
 *  above, for x > 709, infinity. NaN stays. */
double tnd_exp(double x);

/*  The natural logarithm of a positive number, at most 2^-50 from it; -infinity of 0 and of
 *  denormal numbers, NaN of negative ones. */
double tnd_log(double x);

/*  x^y, at most (1 + |y log x|) 2^-50 from it; x is not negative. 0^0 is 1. NaN of a negative x. */
double tnd_pow(double x, double y);

/*  sin(pi x), at most 2^-51 from it for |x| < 2^31; 0 for integers. */
double tnd_sin_pi(double x);

#endif
