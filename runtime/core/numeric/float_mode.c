/*  runtime/core/numeric/float_mode.c - how the processor treats floats on this thread. */
#include "runtime/core/numeric/float_mode.h"

#if defined(__x86_64__)

/*  MXCSR: all exceptions masked, round to the nearest; and both flush-to-zero and
 *  denormals-are-zero. */
static const uint64_t modes[] = {[TND_FLOAT_STRICT] = 0x1f80, [TND_FLOAT_FLUSH] = 0x9fc0};

static uint64_t get(void)
{
    uint32_t bits;
    __asm__ volatile("stmxcsr %0" : "=m"(bits) : : "memory");
    return bits;
}

static void set(uint64_t mode)
{
    uint32_t bits = (uint32_t)mode;
    __asm__ volatile("ldmxcsr %0" : : "m"(bits) : "memory");
}

#elif defined(__aarch64__)

/*  FPCR: round to the nearest, no traps; and flush-to-zero. */
static const uint64_t modes[] = {[TND_FLOAT_STRICT] = 0, [TND_FLOAT_FLUSH] = UINT64_C(1) << 24};

static uint64_t get(void)
{
    uint64_t bits;
    __asm__ volatile("mrs %0, fpcr" : "=r"(bits) : : "memory");
    return bits;
}

static void set(uint64_t mode)
{
    __asm__ volatile("msr fpcr, %0" : : "r"(mode) : "memory");
}

#else
#error "say how floats are kept strict on this processor"
#endif

tnd_float_mode_t tnd_float_mode_set(tnd_float_t mode)
{
    tnd_float_mode_t before = {get()};
    set(modes[mode]);
    return before;
}

void tnd_float_mode_restore(tnd_float_mode_t before)
{
    set(before.bits);
}
