/*  Covers the harness itself: CMakeLists.txt expects the first to pass and each of the others to
 *  fail, one run each. */
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include <criterion/criterion.h>

Test(harness, passes)
{
    cr_assert(true);
}

Test(harness, fails)
{
    cr_assert(false);
}

Test(harness, crashes)
{
    raise(SIGSEGV);
}

Test(harness, hangs, .timeout = 1)
{
    for (;;)
        pause();
}

Test(harness, leaks)
{
    void *volatile lost = malloc(100);
    cr_assert_not_null(lost);
    lost = NULL;
}
