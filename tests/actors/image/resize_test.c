/*  Covers actors/image/resize.h, geometry.h and actors/op/image/picture_steps.h: sizes, parts and
 *  pixels are those of TensorFlow (tests/oracle/image.txt), in f32 and, rounded, in u8. */
#include "actors/op/image/picture_steps.h"
#include "tests/actors/image/oracle.h"

/*  The names of TensorFlow. */
static tnd_resize_method_t method_of(const char *name)
{
    static const char *const names[] = {"nearest",  "bilinear", "area",     "bicubic",
                                        "lanczos3", "lanczos5", "gaussian", "mitchellcubic"};
    for (int i = 0; i < 8; i++)
        if (strcmp(name, names[i]) == 0)
            return (tnd_resize_method_t)i;
    cr_assert(false, "%s", name);
    return TND_RESIZE_NEAREST;
}

/*  Applies one step, in u8 or f32, and compares. */
static void check_step(const oracle_case_t *one, const tnd_picture_step_t *step)
{
    for (int floats = one->input->pixels.floats; floats < 2; floats++) {
        tnd_picture_steps_t steps = {.steps = {*step}, .count = 1};
        tnd_geometry_t plan;
        tnd_error_t error;
        tnd_pixels_t in = one->input->pixels;
        tnd_resizer_init(&steps.resizer);
        tnd_status_t status = tnd_picture_step_plan(step, in.height, in.width, NULL, &plan, &error);
        cr_assert_eq(status == TND_OK, !one->refused, "%s", oracle_title(one));
        if (status == TND_OK) {
            size_t pixel = in.channels * (in.floats ? sizeof(float) : 1);
            tnd_pixels_t part = {NULL, plan.part.height, plan.part.width, in.channels, in.floats};
            tnd_pixels_t out = {NULL, plan.out_height, plan.out_width, in.channels, floats == 1};
            part.data = tnd_allocate((size_t)part.height * part.width, pixel);
            for (uint32_t y = 0; y < part.height; y++)
                memcpy((uint8_t *)part.data + y * part.width * pixel,
                       one->input->bytes +
                           ((size_t)(plan.part.top + y) * in.width + plan.part.left) * pixel,
                       part.width * pixel);
            out.data = tnd_allocate((size_t)out.height * out.width * out.channels, sizeof(float));
            cr_assert_eq(tnd_picture_steps_run(&steps, 0, &plan, NULL, &part, &out, &error),
                         TND_OK);
            oracle_compare(one, &out, 2e-5, one->floats ? 1 : 0);
            free(part.data);
            free(out.data);
        }
        tnd_picture_steps_fini(&steps);
    }
}

static void check_resize(const oracle_case_t *one)
{
    tnd_picture_step_t step = {.kind = TND_STEP_RESIZE,
                               .height = (uint32_t)oracle_number(one, 2),
                               .width = (uint32_t)oracle_number(one, 3),
                               .method = method_of(one->words[4]),
                               .antialias = strcmp(one->words[5], "1") == 0,
                               .keep_aspect = strcmp(one->words[6], "1") == 0};
    check_step(one, &step);
}

Test(resize, pixels_are_those_of_tensorflow)
{
    cr_expect_eq(oracle_each("resize", check_resize), 81u);
}

static void check_with_pad(const oracle_case_t *one)
{
    tnd_picture_step_t step = {.kind = TND_STEP_RESIZE_WITH_PAD,
                               .height = (uint32_t)oracle_number(one, 2),
                               .width = (uint32_t)oracle_number(one, 3),
                               .method = method_of(one->words[4])};
    check_step(one, &step);
}

static void check_crop_or_pad(const oracle_case_t *one)
{
    tnd_picture_step_t step = {.kind = TND_STEP_RESIZE_WITH_CROP_OR_PAD,
                               .height = (uint32_t)oracle_number(one, 2),
                               .width = (uint32_t)oracle_number(one, 3)};
    check_step(one, &step);
}

static void check_central(const oracle_case_t *one)
{
    tnd_picture_step_t step = {.kind = TND_STEP_CENTRAL_CROP, .fraction = oracle_number(one, 2)};
    if (one->refused) /* a fraction out of range, which the option refuses */
        return;
    check_step(one, &step);
}

static void check_box(const oracle_case_t *one)
{
    bool pads = strcmp(one->words[0], "pad_to_bounding_box") == 0;
    tnd_picture_step_t step = {.kind = pads ? TND_STEP_PAD_TO : TND_STEP_CROP_TO,
                               .top = (uint32_t)oracle_number(one, 2),
                               .left = (uint32_t)oracle_number(one, 3),
                               .height = (uint32_t)oracle_number(one, 4),
                               .width = (uint32_t)oracle_number(one, 5)};
    check_step(one, &step);
}

Test(resize, parts_and_edges_are_those_of_tensorflow)
{
    cr_expect_eq(oracle_each("resize_with_pad", check_with_pad), 1u);
    cr_expect_eq(oracle_each("resize_with_crop_or_pad", check_crop_or_pad), 2u);
    cr_expect_eq(oracle_each("central_crop", check_central), 8u);
    cr_expect_eq(oracle_each("crop_to_bounding_box", check_box), 2u);
    cr_expect_eq(oracle_each("pad_to_bounding_box", check_box), 2u);
}

/*  A random part is within the picture, of the area and aspect that are asked for, and belongs to
 *  the draws alone. */
Test(resize, random_parts_have_the_area_and_the_aspect)
{
    const tnd_picture_step_t step = {.kind = TND_STEP_RANDOM_RESIZED_CROP,
                                     .height = 224,
                                     .width = 224,
                                     .area = {0.2, 0.5},
                                     .aspect = {0.75, 4.0 / 3.0}};
    double least = 1, most = 0;
    for (uint64_t sample = 0; sample < 2000; sample++) {
        tnd_random_t random, again;
        tnd_geometry_t plan, other;
        tnd_error_t error;
        tnd_random_init(&random, 7, 0, sample, 3);
        again = random;
        cr_assert_eq(tnd_picture_step_plan(&step, 375, 500, &random, &plan, &error), TND_OK);
        cr_assert_eq(tnd_picture_step_plan(&step, 375, 500, &again, &other, &error), TND_OK);
        cr_assert_eq(memcmp(&plan, &other, sizeof plan), 0);
        const tnd_window_t *part = &plan.part;
        cr_assert(part->top + part->height <= 375 && part->left + part->width <= 500);
        double area = (double)part->height * part->width / (375 * 500);
        double aspect = (double)part->width / part->height;
        cr_assert(area > 0.195 && area < 0.505 && aspect > 0.74 && aspect < 1.35, "%g %g", area,
                  aspect);
        least = fmin(least, area);
        most = fmax(most, area);
        cr_assert(plan.out_height == 224 && plan.out_width == 224);
    }
    cr_assert(least < 0.21 && most > 0.49, "the areas are %g to %g", least, most);
}
