/*  tests/support/crash.c - a fault of libjpeg: a picture that has $CRASH in its first kilobyte ends
 *  the process that reads its header.  */
#include <dlfcn.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jpeglib.h>

typedef int jpeg_read_header_t(j_decompress_ptr, boolean);

static int has_word(const void *bytes, size_t size, const char *word)
{
    size_t length = strlen(word);
    for (size_t i = 0; i + length <= size && i < 1024; i++)
        if (memcmp((const char *)bytes + i, word, length) == 0)
            return 1;
    return 0;
}

int jpeg_read_header(j_decompress_ptr decoder, boolean picture)
{
    const char *word = getenv("CRASH");
    if (word != NULL &&
        has_word(decoder->src->next_input_byte, decoder->src->bytes_in_buffer, word))
        raise(SIGSEGV);
    jpeg_read_header_t *next = (jpeg_read_header_t *)dlsym(RTLD_NEXT, "jpeg_read_header");
    return next(decoder, picture);
}
