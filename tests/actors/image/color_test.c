/*  Covers actors/image/color.h: colours are those of TensorFlow (tests/oracle/image.txt). */
#include "actors/image/color.h"
#include "runtime/core/numeric/random.h"
#include "tests/actors/image/oracle.h"

static void check_adjusted(const oracle_case_t *one, tnd_color_kind_t kind, float gain)
{
    tnd_pixels_t made = one->input->pixels;
    made.data = tnd_allocate((size_t)made.height * made.width * made.channels, sizeof(float));
    tnd_color_adjust(kind, (float)oracle_number(one, 2), gain, &one->input->pixels, made.data);
    oracle_compare(one, &made, 2e-5, 1);
    free(made.data);
}

static void check_brightness(const oracle_case_t *one)
{
    check_adjusted(one, TND_COLOR_BRIGHTNESS, 1);
}

static void check_contrast(const oracle_case_t *one)
{
    check_adjusted(one, TND_COLOR_CONTRAST, 1);
}

static void check_saturation(const oracle_case_t *one)
{
    check_adjusted(one, TND_COLOR_SATURATION, 1);
}

static void check_hue(const oracle_case_t *one)
{
    check_adjusted(one, TND_COLOR_HUE, 1);
}

static void check_gamma(const oracle_case_t *one)
{
    check_adjusted(one, TND_COLOR_GAMMA, (float)oracle_number(one, 3));
}

Test(color, adjusted_pictures_are_those_of_tensorflow)
{
    cr_expect_eq(oracle_each("adjust_brightness", check_brightness), 6u);
    cr_expect_eq(oracle_each("adjust_contrast", check_contrast), 4u);
    cr_expect_eq(oracle_each("adjust_saturation", check_saturation), 2u);
    cr_expect_eq(oracle_each("adjust_hue", check_hue), 1u);
    cr_expect_eq(oracle_each("adjust_gamma", check_gamma), 2u);
}

static void check_gray(const oracle_case_t *one)
{
    tnd_pixels_t made = one->input->pixels;
    made.channels = 1;
    made.data = tnd_allocate((size_t)made.height * made.width, sizeof(float));
    tnd_color_grayscale(&one->input->pixels, made.data);
    oracle_compare(one, &made, 2e-5, 1);
    free(made.data);
}

static void check_standard(const oracle_case_t *one)
{
    tnd_pixels_t made = one->input->pixels;
    made.floats = true;
    made.data = tnd_allocate((size_t)made.height * made.width * made.channels, sizeof(float));
    tnd_color_standardize(&one->input->pixels, made.data);
    oracle_compare(one, &made, 2e-5, 1);
    free(made.data);
}

Test(color, grey_and_standard_pictures_are_those_of_tensorflow)
{
    cr_expect_eq(oracle_each("rgb_to_grayscale", check_gray), 2u);
    cr_expect_eq(oracle_each("per_image_standardization", check_standard), 5u);
}

/*  The first word that TensorFlow's stateless functions draw for a seed of two numbers. */
static uint32_t first_word(const oracle_case_t *one)
{
    static const uint32_t key[2] = {0x3ec8f720, 0x02461e29};
    uint64_t seed[2];
    for (uint32_t i = 0; i < 2; i++)
        seed[i] = (uint64_t)strtoll(one->words[2 + i], NULL, 10);
    const uint32_t counter[4] = {(uint32_t)seed[0], (uint32_t)(seed[0] >> 32), (uint32_t)seed[1],
                                 (uint32_t)(seed[1] >> 32)};
    uint32_t mixed[4], words[4];
    tnd_philox(counter, key, mixed);
    tnd_philox((uint32_t[]){0, 0, mixed[2], mixed[3]}, mixed, words);
    return words[0];
}

static void check_drawn(const oracle_case_t *one)
{
    bool brightness = strstr(one->words[0], "brightness") != NULL;
    float low = (float)oracle_number(one, 4), high = low;
    if (brightness)
        low = -low;
    else
        high = (float)oracle_number(one, 5);
    tnd_pixels_t made = one->input->pixels;
    made.data = tnd_allocate((size_t)made.height * made.width * made.channels, sizeof(float));
    tnd_color_adjust(brightness ? TND_COLOR_BRIGHTNESS : TND_COLOR_CONTRAST,
                     tnd_random_scale(first_word(one), low, high), 1, &one->input->pixels,
                     made.data);
    oracle_compare(one, &made, 2e-5, 1);
    free(made.data);
}

Test(color, drawn_values_are_those_of_tensorflow_for_its_key)
{
    cr_expect_eq(oracle_each("stateless_random_brightness", check_drawn), 8u);
    cr_expect_eq(oracle_each("stateless_random_contrast", check_drawn), 8u);
}

/*  A full turn, or none, changes nothing but the last bit; a third moves red to green. */
Test(color, hues_turn_round)
{
    float rgb[] = {0.9f, 0.2f, 0.1f, 0.3f, 0.3f, 0.3f}, out[6];
    const tnd_pixels_t in = {rgb, 1, 2, 3, true};
    for (int turns = -1; turns <= 1; turns++) {
        tnd_color_adjust(TND_COLOR_HUE, (float)turns, 1, &in, out);
        for (int i = 0; i < 6; i++)
            cr_expect_float_eq(out[i], rgb[i], 1e-6);
    }
    tnd_color_adjust(TND_COLOR_HUE, 1.0f / 3.0f, 1, &in, out);
    cr_expect(fabsf(out[1] - 0.9f) < 1e-6f && fabsf(out[2] - 0.2f) < 1e-6f);
    tnd_color_adjust(TND_COLOR_SATURATION, 0, 1, &in, out);
    cr_expect(out[0] == 0.9f && out[1] == 0.9f && out[2] == 0.9f);
}
