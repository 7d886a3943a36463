/*  transport/device/cuda_image.c - embeds the file of kernels, TND_CUDA_IMAGE. */
#include "transport/device/cuda_image.h"

__asm__(".section .rodata\n"
        ".balign 64\n"
        ".globl tnd_cuda_image, tnd_cuda_image_end\n"
        ".hidden tnd_cuda_image, tnd_cuda_image_end\n"
        "tnd_cuda_image:\n"
        ".incbin \"" TND_CUDA_IMAGE "\"\n"
        "tnd_cuda_image_end:\n"
        ".byte 0\n"
        ".previous\n");
