/*  actors/stored/tfrecord_frames.c - the frames of a TFRecord file. */
#include "actors/stored/tfrecord_frames.h"

#include <limits.h>
#include <string.h>

#include <isa-l.h>

/*  The widest code of ISA-L leaves bits in the upper halves of vector registers.  While they are there,
 *  changing between old and new vector instructions, which a small memcpy and the code around it do,
 *  takes hundreds of cycles each time. */
#if defined(__x86_64__)
__attribute__((target("avx"))) static void clear_upper_halves(void)
{
    __builtin_ia32_vzeroupper();
}

static void leave_vector_code(void)
{
    if (__builtin_cpu_supports("avx"))
        clear_upper_halves();
}
#else
static void leave_vector_code(void)
{
}
#endif

/*  ISA-L returns the remainder before its final inversion, takes an `int` of bytes, and picks the
 *  instructions at run time. */
static uint32_t masked_crc(const uint8_t *data, size_t size)
{
    uint32_t crc = UINT32_MAX;
    while (size > 0) {
        size_t some = size < INT_MAX ? size : INT_MAX;
        crc = crc32_iscsi((unsigned char *)(uintptr_t)data, (int)some, crc);
        data += some;
        size -= some;
    }
    leave_vector_code();
    crc = ~crc;
    return (crc >> 15 | crc << 17) + 0xa282ead8U;
}

static uint32_t stored_crc(const uint8_t *at)
{
    uint32_t crc;
    memcpy(&crc, at, sizeof crc);
    return crc;
}

bool tnd_tfrecord_length(const uint8_t *head, uint64_t *length_p)
{
    memcpy(length_p, head, sizeof *length_p);
    return stored_crc(head + sizeof *length_p) == masked_crc(head, sizeof *length_p);
}

bool tnd_tfrecord_data_matches(const uint8_t *data, size_t size)
{
    return stored_crc(data + size) == masked_crc(data, size);
}
