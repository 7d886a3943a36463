/*  tests/actors/image/oracle.h - reads tests/oracle/image.txt: pictures, and what TensorFlow made of
 *  them. */
#ifndef TND_TESTS_ACTORS_IMAGE_ORACLE_H
#define TND_TESTS_ACTORS_IMAGE_ORACLE_H

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <criterion/criterion.h>

#include "actors/image/resize.h"
#include "runtime/base/allocation.h"

enum { ORACLE_INPUTS_MAX = 32, ORACLE_WORDS_MAX = 16 };

typedef struct {
    char name[64];
    uint8_t *bytes; /* of a file, or the numbers of an array */
    size_t size;
    tnd_pixels_t pixels; /* of an array */
} oracle_input_t;

/*  One line: the words before the bar, and what is expected. */
typedef struct {
    const char *words[ORACLE_WORDS_MAX];
    uint32_t count;
    const oracle_input_t *input;
    bool refused, floats, summed;
    uint32_t shape[3], step;
    uint64_t sum;
    const char *hex;
} oracle_case_t;

typedef void oracle_check_fn(const oracle_case_t *one);

static inline uint8_t *oracle_bytes(const char *hex, size_t *size_p)
{
    *size_p = strcmp(hex, "-") == 0 ? 0 : strlen(hex) / 2;
    uint8_t *bytes = tnd_allocate_zeroed(*size_p + 1, 1);
    for (size_t i = 0; i < *size_p; i++) {
        const char digits[] = {hex[2 * i], hex[2 * i + 1], '\0'};
        bytes[i] = (uint8_t)strtoul(digits, NULL, 16);
    }
    return bytes;
}

static inline double oracle_number(const oracle_case_t *one, uint32_t word)
{
    return strtod(one->words[word], NULL);
}

/*  Calls `check` for every case of an operation; returns how many there were. */
static inline uint32_t oracle_each(const char *op, oracle_check_fn *check)
{
    static oracle_input_t inputs[ORACLE_INPUTS_MAX];
    uint32_t input_count = 0, cases = 0;
    FILE *file = fopen("tests/oracle/image.txt", "r");
    cr_assert_not_null(file);
    char *text = NULL;
    size_t room = 0;
    while (getline(&text, &room, file) > 0) {
        text[strcspn(text, "\n")] = '\0';
        char *right = strstr(text, " | "), *colon = strstr(text, " : ");
        if (right == NULL && colon != NULL) {
            oracle_input_t *input = &inputs[input_count++];
            char type[16] = "";
            unsigned height = 0, width = 0, channels = 0;
            sscanf(text, "%*s %63s %15s %u %u %u", input->name, type, &height, &width, &channels);
            input->bytes = oracle_bytes(colon + 3, &input->size);
            input->pixels =
                (tnd_pixels_t){input->bytes, height, width, channels, strcmp(type, "float32") == 0};
        }
        if (right == NULL)
            continue;
        *right = '\0';
        right += 3;
        oracle_case_t one = {0};
        for (char *word = strtok(text, " "); word != NULL; word = strtok(NULL, " "))
            one.words[one.count++] = word;
        if (strcmp(one.words[0], op) != 0)
            continue;
        for (uint32_t i = 0; i < input_count; i++)
            if (strcmp(inputs[i].name, one.words[1]) == 0)
                one.input = &inputs[i];
        cr_assert_not_null(one.input);
        one.refused = strcmp(right, "refused") == 0;
        char type[16] = "", step[16] = "";
        int used = 0;
        if (!one.refused) {
            sscanf(right, "%u %u %u %15s %15s %n", &one.shape[0], &one.shape[1], &one.shape[2],
                   type, step, &used);
            one.hex = right + used;
            one.floats = strcmp(type, "float32") == 0;
            one.summed = strcmp(step, "sum") == 0;
            one.step = (uint32_t)atoi(step);
            one.sum = one.summed ? strtoull(one.hex, NULL, 16) : 0;
        }
        check(&one);
        cases++;
    }
    free(text);
    fclose(file);
    for (uint32_t i = 0; i < input_count; i++)
        free(inputs[i].bytes);
    return cases;
}

static inline char *oracle_title(const oracle_case_t *one)
{
    static char title[256];
    title[0] = '\0';
    for (uint32_t i = 0; i < one->count; i++)
        snprintf(title + strlen(title), sizeof title - strlen(title), "%s ", one->words[i]);
    return title;
}

static inline void oracle_shape(const oracle_case_t *one, uint32_t height, uint32_t width,
                                uint32_t channels)
{
    cr_assert(one->shape[0] == height && one->shape[1] == width && one->shape[2] == channels,
              "%s: %u x %u x %u, not %u x %u x %u", oracle_title(one), height, width, channels,
              one->shape[0], one->shape[1], one->shape[2]);
}

/*  Compares with the listed numbers: in f32 within `most` times the largest, and bytes within
 *  `apart`. */
static inline void oracle_compare(const oracle_case_t *one, const tnd_pixels_t *made, double most,
                                  int apart)
{
    size_t size, count = (size_t)made->height * made->width * made->channels;
    oracle_shape(one, made->height, made->width, made->channels);
    uint8_t *wanted = oracle_bytes(one->hex, &size);
    size_t listed = size / (one->floats ? sizeof(float) : 1);
    cr_assert_eq(listed, (count + one->step - 1) / one->step, "%s", oracle_title(one));
    double largest = 1;
    for (size_t i = 0; one->floats && i < listed; i++)
        largest = fmax(largest, fabs((double)((float *)(void *)wanted)[i]));
    for (size_t i = 0; i < listed; i++) {
        size_t at = i * one->step;
        double value = one->floats ? (double)((float *)(void *)wanted)[i] : wanted[i];
        double got = made->floats ? (double)((float *)made->data)[at] : ((uint8_t *)made->data)[at];
        double bound = made->floats ? most * largest : apart;
        if (!made->floats && one->floats)
            value = fmin(fmax(floor(value + 0.5), 0), 255);
        cr_assert(fabs(got - value) <= bound, "%s: number %zu is %g, not %g", oracle_title(one), at,
                  got, value);
    }
    free(wanted);
}

#endif
