/*  tests/gpu/spin_kernel.h - the text of a kernel, spin(u64 ns), that runs for a given time; PTX without its
 *  head. */
#ifndef TND_TESTS_GPU_SPIN_KERNEL_H
#define TND_TESTS_GPU_SPIN_KERNEL_H

#define SPIN_KERNEL                                                                                \
    ".visible .entry spin(.param .u64 ns)\n"                                                       \
    "{\n"                                                                                          \
    "    .reg .u64 %t<3>;\n"                                                                       \
    "    .reg .pred %again;\n"                                                                     \
    "    ld.param.u64 %t0, [ns];\n"                                                                \
    "    mov.u64 %t1, %globaltimer;\n"                                                             \
    "    add.u64 %t0, %t0, %t1;\n"                                                                 \
    "LOOP:\n"                                                                                      \
    "    mov.u64 %t2, %globaltimer;\n"                                                             \
    "    setp.lt.u64 %again, %t2, %t0;\n"                                                          \
    "    @%again bra LOOP;\n"                                                                      \
    "    ret;\n"                                                                                   \
    "}\n"

#endif
