/*  tests/fuzz/fuzz.h - one target: decodes bytes from outside.
 *
 *  A target is one file that defines this function, a folder corpus/NAME with inputs to begin from,
 *  and one line in CMakeLists.txt.  It is linked with driver.c, or with libFuzzer.  Whatever the
 *  bytes are, it returns; what it may not do a sanitizer or an assertion notices.
 *
 *  Threads: one. */
#ifndef TND_TESTS_FUZZ_FUZZ_H
#define TND_TESTS_FUZZ_FUZZ_H

#include <stddef.h>
#include <stdint.h>

/*  Returns 0.  The name is libFuzzer's. */
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

#endif
