/*  tests/transport/nccl/expect.h - ends the process of a case that is not as expected. */
#ifndef TND_TESTS_TRANSPORT_NCCL_EXPECT_H
#define TND_TESTS_TRANSPORT_NCCL_EXPECT_H

#include <stdio.h>
#include <unistd.h>

#define EXPECT(good, ...)                                                                          \
    do {                                                                                           \
        if (!(good)) {                                                                             \
            fprintf(stderr, "%s:%d: ", __FILE__, __LINE__);                                        \
            fprintf(stderr, __VA_ARGS__);                                                          \
            fputc('\n', stderr);                                                                   \
            _exit(1);                                                                              \
        }                                                                                          \
    } while (0)

#endif
