/*  transport/cuda/cuda_image.c - embeds the file of kernels, TND_CUDA_IMAGE. */
#include "transport/cuda/cuda_image.h"

#include <ctype.h>
#include <stdint.h>
#include <string.h>

__asm__(".section .rodata\n"
        ".balign 64\n"
        ".globl tnd_cuda_image, tnd_cuda_image_end\n"
        ".hidden tnd_cuda_image, tnd_cuda_image_end\n"
        "tnd_cuda_image:\n"
        ".incbin \"" TND_CUDA_IMAGE "\"\n"
        "tnd_cuda_image_end:\n"
        ".byte 0\n"
        ".previous\n");

extern const unsigned char tnd_cuda_image_end[];

size_t tnd_cuda_image_bytes(void)
{
    return (size_t)((uintptr_t)tnd_cuda_image_end - (uintptr_t)tnd_cuda_image);
}

/*  The header of a fatbin. */
typedef struct {
    uint32_t magic;
    uint16_t version, header_bytes;
    uint64_t body_bytes;
} fatbin_t;

static const uint32_t fatbin_magic = 0xba55ed50;

static bool is_whole_fatbin(const unsigned char *image, size_t bytes)
{
    fatbin_t header;
    if (bytes < sizeof header)
        return false;
    memcpy(&header, image, sizeof header);
    return header.header_bytes <= bytes && header.body_bytes <= bytes - header.header_bytes;
}

/*  The text of PTX ends with the brace of its last kernel. */
static bool is_whole_text(const unsigned char *image, size_t bytes)
{
    while (bytes > 0 && isspace(image[bytes - 1]))
        bytes--;
    return bytes > 0 && image[bytes - 1] == '}';
}

tnd_status_t tnd_cuda_image_check(const unsigned char *image, size_t bytes, tnd_error_t *error)
{
    bool fatbin =
        bytes >= sizeof fatbin_magic && memcmp(image, &fatbin_magic, sizeof fatbin_magic) == 0;
    if (bytes == 0 || (fatbin ? is_whole_fatbin(image, bytes) : is_whole_text(image, bytes)))
        return TND_OK;
    return tnd_fail(
        error, "the CUDA kernels of this program are cut off (%zu bytes): build it again", bytes);
}
