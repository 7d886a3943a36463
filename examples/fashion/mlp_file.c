/*  examples/fashion/mlp_file.c - a model in a file, written whole or not at all. */
#include "mlp.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/*  The file: this header, weights, velocity, as they lie in the memory of a little-endian machine.
 *  `order` reads differently on any other. */
typedef struct {
    char magic[8];
    uint32_t order, inputs, hidden, classes;
} header_t;

static const header_t expected_header = {"mlp-v1\n", 0x01020304, MLP_INPUTS, MLP_HIDDEN,
                                         MLP_CLASSES};

static bool fail(char *error, size_t error_bytes, const char *file, const char *what)
{
    snprintf(error, error_bytes, "%s: %s", file, what);
    return false;
}

/*  Writes all and has it on the disk before it reports success. */
static bool write_model(const mlp_t *self, FILE *out)
{
    return fwrite(&expected_header, sizeof expected_header, 1, out) == 1 &&
           fwrite(self->weights, sizeof(float), MLP_PARAMS, out) == MLP_PARAMS &&
           fwrite(self->velocity, sizeof(float), MLP_PARAMS, out) == MLP_PARAMS &&
           fflush(out) == 0 && fsync(fileno(out)) == 0;
}

bool mlp_save(const mlp_t *self, const char *file, char *error, size_t error_bytes)
{
    char temporary[4096];
    int length = snprintf(temporary, sizeof temporary, "%s.%ld.part", file, (long)getpid());
    if (length < 0 || (size_t)length >= sizeof temporary)
        return fail(error, error_bytes, file, strerror(ENAMETOOLONG));
    FILE *out = fopen(temporary, "wb");
    if (out == NULL)
        return fail(error, error_bytes, temporary, strerror(errno));
    bool written = write_model(self, out);
    int reason = errno;
    if (fclose(out) != 0 && written) {
        written = false;
        reason = errno;
    }
    if (written && rename(temporary, file) == 0)
        return true;
    if (written)
        reason = errno;
    remove(temporary);
    errno = reason;
    return fail(error, error_bytes, file, strerror(reason));
}

bool mlp_load(mlp_t *self, const char *file, char *error, size_t error_bytes)
{
    FILE *in = fopen(file, "rb");
    if (in == NULL)
        return fail(error, error_bytes, file, strerror(errno));
    header_t header = {0};
    float *memory = malloc(2 * MLP_PARAMS * sizeof(float));
    if (memory == NULL)
        abort();
    const char *wrong = NULL;
    if (fread(&header, sizeof header, 1, in) != 1 ||
        memcmp(header.magic, expected_header.magic, sizeof header.magic) != 0)
        wrong = "is not a saved model; give a file that mlp_save wrote";
    else if (memcmp(&header, &expected_header, sizeof header) != 0)
        wrong = "holds a network of other sizes or byte order than 784-128-10, little-endian";
    else if (fread(memory, sizeof(float), 2 * MLP_PARAMS, in) != 2 * MLP_PARAMS)
        wrong = ferror(in) ? strerror(errno) : "ends too early; use an older copy";
    else if (getc(in) != EOF)
        wrong = "goes on after its end; use an older copy";
    if (wrong == NULL) {
        memcpy(self->weights, memory, MLP_PARAMS * sizeof(float));
        memcpy(self->velocity, memory + MLP_PARAMS, MLP_PARAMS * sizeof(float));
    }
    free(memory);
    fclose(in);
    return wrong == NULL || fail(error, error_bytes, file, wrong);
}
