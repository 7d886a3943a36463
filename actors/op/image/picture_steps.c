/*  actors/op/image/picture_steps.c - the steps of `then`: their options, and running them. */
#include "actors/op/image/picture_steps.h"

#include <assert.h>
#include <string.h>

#include "runtime/base/allocation.h"

enum { SIDE_MAX = 65535 };

typedef struct {
    tnd_numbers_t size, at, area, aspect;
    int method;
    bool antialias, keep_aspect;
    double fraction;
} step_options_t;

#define OPTION_SIZE                                                                                \
    {                                                                                              \
        TND_OPTION(step_options_t, size, F64S, GRAPH), .unit = "pixels", .range = "1..65535",      \
                                                       .help = "[height, width], or one number "   \
                                                               "for both"                          \
    }
#define OPTION_AT(text)                                                                            \
    {                                                                                              \
        TND_OPTION(step_options_t, at, F64S, GRAPH), .unit = "pixels", .range = "0..65535",        \
                                                     .fallback = "0", .help = (text)               \
    }
#define OPTION_METHOD                                                                              \
    {TND_OPTION(step_options_t, method, ENUM, GRAPH), .fallback = "bilinear",                      \
     .choices = TND_RESIZE_METHODS, .help = "how pixels of another size are computed"},            \
    {                                                                                              \
        TND_OPTION(step_options_t, antialias, BOOL, GRAPH),                                        \
            .fallback = "false", .help = "whether all pixels count when a picture becomes smaller" \
    }

static const tnd_option_t resize_options[] = {
    OPTION_SIZE,
    OPTION_METHOD,
    {TND_OPTION(step_options_t, keep_aspect, BOOL, GRAPH), .fallback = "false",
     .help = "whether both sides change by the same factor, so that the picture just fits in; a "
             "later step must then give one shape"},
};
static const tnd_option_t random_resized_crop_options[] = {
    OPTION_SIZE,
    {TND_OPTION(step_options_t, area, F64S, GRAPH), .fallback = "",
     .help = "the least and the greatest part of the picture's area; [0.08, 1] by default"},
    {TND_OPTION(step_options_t, aspect, F64S, GRAPH), .fallback = "",
     .help = "the least and the greatest width of the part, divided by its height; [3/4, 4/3] by "
             "default"},
    OPTION_METHOD,
};
static const tnd_option_t central_crop_options[] = {
    {TND_OPTION(step_options_t, fraction, F64, GRAPH), .range = "0.000001..1",
     .help = "the part of each side that is kept"},
};
static const tnd_option_t crop_to_options[] = {
    OPTION_SIZE, OPTION_AT("the first line and the first pixel that are kept, [top, left]")};
static const tnd_option_t pad_to_options[] = {
    OPTION_SIZE, OPTION_AT("where the first pixel is put, [top, left]")};
static const tnd_option_t resize_with_pad_options[] = {OPTION_SIZE, OPTION_METHOD};
static const tnd_option_t resize_with_crop_or_pad_options[] = {OPTION_SIZE};

static const tnd_table_t tables[] = {
    [TND_STEP_RESIZE] = {.name = "resize",
                         .help = "Resizes pictures, as tf.image.resize.",
                         TND_OPTIONS(resize_options, step_options_t)},
    [TND_STEP_RANDOM_RESIZED_CROP] = {.name = "random_resized_crop",
                                      .help = "Resizes a part of each picture, which is drawn, as "
                                              "tf.image.sample_distorted_bounding_box and resize.",
                                      TND_OPTIONS(random_resized_crop_options, step_options_t)},
    [TND_STEP_CENTRAL_CROP] = {.name = "central_crop",
                               .help = "Keeps the middle, as tf.image.central_crop.",
                               TND_OPTIONS(central_crop_options, step_options_t),
                               .scalar = "fraction"},
    [TND_STEP_CROP_TO] = {.name = "crop_to",
                          .help = "Keeps one part, as tf.image.crop_to_bounding_box; smaller "
                                  "pictures are bad rows.",
                          TND_OPTIONS(crop_to_options, step_options_t)},
    [TND_STEP_PAD_TO] = {.name = "pad_to",
                         .help = "Adds zeros around pictures, as tf.image.pad_to_bounding_box; "
                                 "larger pictures are bad rows.",
                         TND_OPTIONS(pad_to_options, step_options_t)},
    [TND_STEP_RESIZE_WITH_PAD] = {.name = "resize_with_pad",
                                  .help = "Resizes with one factor for both sides and adds zeros, "
                                          "as tf.image.resize_with_pad.",
                                  TND_OPTIONS(resize_with_pad_options, step_options_t)},
    [TND_STEP_RESIZE_WITH_CROP_OR_PAD] =
        {.name = "resize_with_crop_or_pad",
         .help = "Keeps the middle and adds zeros, as tf.image.resize_with_crop_or_pad.",
         TND_OPTIONS(resize_with_crop_or_pad_options, step_options_t)},
};

enum { TABLES = sizeof tables / sizeof tables[0] };

const tnd_table_t *tnd_picture_step_table(size_t index)
{
    return index < TABLES ? &tables[index] : NULL;
}

static bool read_pair(const char *name, const tnd_numbers_t *given, double least, double values[2],
                      tnd_error_t *error)
{
    if (given->count != 1 && given->count != 2)
        return tnd_fail(error, "`%s` has %zu numbers; it is one, or a list of two", name,
                        given->count) == TND_OK;
    for (size_t i = 0; i < 2; i++) {
        values[i] = given->items[given->count == 1 ? 0 : i];
        if (!(values[i] >= least && values[i] <= SIDE_MAX))
            return tnd_fail(error, "`%s` has %g in it; %g to %d are possible", name, values[i],
                            least, SIDE_MAX) == TND_OK;
    }
    return true;
}

static bool read_whole(const char *name, const tnd_numbers_t *given, double least, uint32_t *first,
                       uint32_t *second, tnd_error_t *error)
{
    double values[2];
    if (!read_pair(name, given, least, values, error))
        return false;
    *first = (uint32_t)values[0];
    *second = (uint32_t)values[1];
    if (values[0] != *first || values[1] != *second)
        return tnd_fail(error, "`%s` has a fraction in it; it counts pixels", name) == TND_OK;
    return true;
}

/*  `values` has the default. */
static bool read_range(const char *name, const tnd_numbers_t *given, double most, double values[2],
                       tnd_error_t *error)
{
    if (given->count == 0)
        return true;
    if (!read_pair(name, given, 1e-6, values, error))
        return false;
    if (given->count == 1 || values[0] > values[1] || values[1] > most)
        return tnd_fail(error, "`%s` is the least and the greatest, [a, b], up to %g", name,
                        most) == TND_OK;
    return true;
}

static bool read_step(const tnd_part_t *part, tnd_picture_step_t *step, tnd_error_t *error)
{
    const step_options_t *given = part->options;
    *step = (tnd_picture_step_t){.kind = (tnd_step_kind_t)(part->table - tables),
                                 .method = (tnd_resize_method_t)given->method,
                                 .antialias = given->antialias,
                                 .keep_aspect = given->keep_aspect,
                                 .fraction = given->fraction,
                                 .area = {0.08, 1.0},
                                 .aspect = {3.0 / 4.0, 4.0 / 3.0}};
    if (step->kind == TND_STEP_CENTRAL_CROP)
        return true;
    if (!read_whole("size", &given->size, 1, &step->height, &step->width, error))
        return false;
    if (step->kind == TND_STEP_CROP_TO || step->kind == TND_STEP_PAD_TO)
        return read_whole("at", &given->at, 0, &step->top, &step->left, error);
    if (step->kind == TND_STEP_RANDOM_RESIZED_CROP)
        return read_range("area", &given->area, 1, step->area, error) &&
               read_range("aspect", &given->aspect, 1000, step->aspect, error);
    return true;
}

bool tnd_picture_steps_check(const tnd_part_list_t *list, tnd_parts_fault_t *fault)
{
    uint32_t height, width;
    bool fixed = false;
    *fault = (tnd_parts_fault_t){.item = list->count};
    if (list->count > TND_PICTURE_STEPS_MAX)
        return tnd_fail(&fault->why, "%zu steps, and a list has at most %d", list->count,
                        TND_PICTURE_STEPS_MAX) == TND_OK;
    for (size_t i = 0; i < list->count; i++) {
        tnd_picture_step_t step;
        fault->item = i;
        if (!read_step(&list->items[i], &step, &fault->why))
            return false;
        fixed = tnd_picture_step_shape(&step, &height, &width) ||
                (fixed && step.kind != TND_STEP_RESIZE);
    }
    if (fixed)
        return true;
    fault->item = list->count > 0 ? list->count - 1 : 0;
    fault->help = "add a step such as resize_with_crop_or_pad: {size: 224}";
    return tnd_fail(&fault->why, "the pictures that come out of this list have no one shape") ==
           TND_OK;
}

void tnd_picture_steps_init(tnd_picture_steps_t *self, const tnd_part_list_t *list)
{
    tnd_error_t error;
    tnd_resizer_init(&self->resizer);
    assert(list->count <= TND_PICTURE_STEPS_MAX);
    for (size_t i = 0; i < list->count; i++) {
        bool read = read_step(&list->items[i], &self->steps[i], &error);
        assert(read);
        (void)read;
    }
    self->count = (uint32_t)list->count;
}

void tnd_picture_steps_fini(tnd_picture_steps_t *self)
{
    tnd_resizer_fini(&self->resizer);
    for (int i = 0; i < 3; i++)
        free(self->scratch[i].data);
}

bool tnd_picture_steps_shape(const tnd_picture_steps_t *self, uint32_t *height_p, uint32_t *width_p)
{
    bool fixed = false;
    for (uint32_t i = 0; i < self->count; i++) {
        const tnd_picture_step_t *step = &self->steps[i];
        uint32_t height, width;
        tnd_error_t error;
        tnd_geometry_t plan;
        if (tnd_picture_step_shape(step, &height, &width)) {
            fixed = true;
        } else if (fixed) { /* of one shape again */
            if (tnd_picture_step_plan(step, *height_p, *width_p, NULL, &plan, &error) != TND_OK)
                return false;
            height = plan.out_height;
            width = plan.out_width;
        }
        *height_p = height;
        *width_p = width;
    }
    return fixed;
}

void *tnd_picture_steps_scratch(tnd_picture_steps_t *self, uint32_t place, size_t bytes)
{
    if (self->scratch[place].room < bytes) {
        free(self->scratch[place].data);
        self->scratch[place].data = tnd_allocate(bytes, 1);
        self->scratch[place].room = bytes;
    }
    return self->scratch[place].data;
}

static size_t pixel_bytes(const tnd_pixels_t *pixels)
{
    return pixels->channels * (pixels->floats ? sizeof(float) : 1);
}

/*  The pixels of a part, which are copied unless they follow one another already. */
static tnd_pixels_t cut(tnd_picture_steps_t *self, const tnd_pixels_t *in, const tnd_window_t *part)
{
    size_t pixel = pixel_bytes(in), line = in->width * pixel, kept = part->width * pixel;
    tnd_pixels_t out = *in;
    out.height = part->height;
    out.width = part->width;
    const uint8_t *from = (const uint8_t *)in->data + part->top * line + part->left * pixel;
    out.data = (void *)(uintptr_t)from;
    if (part->width == in->width)
        return out;
    uint8_t *to = out.data = tnd_picture_steps_scratch(self, 2, kept * part->height);
    for (uint32_t y = 0; y < part->height; y++)
        memcpy(to + y * kept, from + y * line, kept);
    return out;
}

/*  Puts a picture of the same type on zeros. */
static void put(const tnd_pixels_t *out, const tnd_pixels_t *in, uint32_t top, uint32_t left)
{
    size_t pixel = pixel_bytes(out), line = out->width * pixel, kept = in->width * pixel;
    uint8_t *to = out->data;
    memset(to, 0, out->height * line);
    to += top * line + left * pixel;
    for (uint32_t y = 0; y < in->height; y++)
        memcpy(to + y * line, (const uint8_t *)in->data + y * kept, kept);
}

/*  One step, from the part of the picture that it needs to `out`. */
static void run_step(tnd_picture_steps_t *self, const tnd_picture_step_t *step,
                     const tnd_geometry_t *plan, const tnd_pixels_t *part, const tnd_pixels_t *out)
{
    tnd_pixels_t inner = *out;
    bool padded = plan->out_height != plan->height || plan->out_width != plan->width;
    inner.height = plan->height;
    inner.width = plan->width;
    if (padded)
        inner.data = tnd_picture_steps_scratch(
            self, 1, (size_t)inner.height * inner.width * pixel_bytes(out));
    tnd_resizer_run(&self->resizer, step->method, step->antialias, part, &inner);
    if (padded)
        put(out, &inner, plan->top, plan->left);
}

tnd_status_t tnd_picture_steps_run(tnd_picture_steps_t *self, uint32_t first,
                                   const tnd_geometry_t *plan, tnd_random_t *random,
                                   const tnd_pixels_t *in, const tnd_pixels_t *out,
                                   tnd_error_t *error)
{
    tnd_pixels_t part = *in;
    tnd_geometry_t now = *plan;
    for (uint32_t i = first; i < self->count; i++) {
        bool last = i + 1 == self->count;
        tnd_pixels_t made = {.height = now.out_height,
                             .width = now.out_width,
                             .channels = in->channels,
                             .floats = out->floats};
        size_t bytes = (size_t)made.height * made.width * pixel_bytes(&made);
        void *owned = last ? out->data : tnd_allocate(bytes, 1);
        made.data = owned;
        run_step(self, &self->steps[i], &now, &part, &made);
        if (last)
            return TND_OK;
        free(self->scratch[0].data);
        self->scratch[0].data = owned;
        self->scratch[0].room = bytes;
        TND_TRY(tnd_picture_step_plan(&self->steps[i + 1], made.height, made.width, random, &now,
                                      error));
        part = cut(self, &made, &now.part);
    }
    return TND_OK;
}
