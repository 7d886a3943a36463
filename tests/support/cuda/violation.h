/*  tests/support/cuda/violation.h - what a program does that a device need not bear.
 *
 *  Threads: any. */
#ifndef TND_TESTS_SUPPORT_CUDA_VIOLATION_H
#define TND_TESTS_SUPPORT_CUDA_VIOLATION_H

/*  Writes a line to stderr and to the report.  Then the process aborts: no result of it counts. */
_Noreturn void hostile_violation(const char *format, ...) __attribute__((format(printf, 1, 2)));

/*  Appends a line to the report, if there is one. */
void hostile_note(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
