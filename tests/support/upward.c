/*  tests/support/upward.c - loaded before a program, makes a machine that rounds differently. */
#include <fenv.h>

static void __attribute__((constructor)) round_upward(void)
{
    (void)fesetround(FE_UPWARD);
}
