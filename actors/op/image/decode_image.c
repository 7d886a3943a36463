/*  actors/op/image/decode_image.c - pictures from the bytes of JPEG and PNG files: decode_image,
 *  jpeg_shape.
 *
 *  `then` gives all pictures one shape.  Parts that its first steps cut off are not decoded. */
#include <math.h>
#include <string.h>

#include "actors/image/decoder.h"
#include "actors/image/decoder_probe.h"
#include "actors/image/jpeg.h"
#include "actors/op/image/picture_steps.h"
#include "actors/op/ops.h"
#include "runtime/base/allocation.h"

/*  Bytes per pixel that a progressive JPEG, or an interlaced PNG of 16 bits per channel, takes while
 *  it is decoded. */
enum { PROGRESSIVE_BYTES = 6, INTERLACED_BYTES = 8 };

/*  What 65535 is divided by to be 255. */
#define U16_PER_U8 257.0f

enum { DTYPE_U8, DTYPE_U16, DTYPE_F32 };

typedef struct {
    const char *column, *to;
    uint64_t channels, ratio, max_pixels;
    int dct, dtype, orientation;
    bool fancy, recover, scaled;
    tnd_part_list_t then;
} decode_options_t;

typedef struct {
    uint32_t columns, column, made;
    tnd_picture_format_t format;
    bool scaled;
    int dtype;
    uint32_t height, width;
    tnd_picture_steps_t steps;
    tnd_decoder_t *decoder;
    void *decoded;
    size_t room;
    float *unrounded; /* pixels of u16, before they are rounded */
} decode_t;

static const tnd_option_t options[] = {
    {TND_OPTION(decode_options_t, column, COLUMN, GRAPH),
     .help = "the ragged column of u8 with the bytes of files"},
    {TND_OPTION(decode_options_t, to, COLUMN, GRAPH), .fallback = "",
     .help = "a new column for the pictures; by default they replace the bytes"},
    {TND_OPTION(decode_options_t, channels, U64, GRAPH), .fallback = "3", .range = "1..4",
     .help = "1 makes them grey, 3 RGB, 4 RGB and alpha; 4 of a CMYK JPEG is an extension, which "
             "TensorFlow does not have"},
    {TND_OPTION(decode_options_t, dtype, ENUM, GRAPH), .fallback = "u8", .choices = "u8|u16|f32",
     .help = "the type of the pixels; u16 keeps all of a PNG of 16 bits per channel, as "
             "tf.io.decode_png, where u8 has the high byte; f32 goes from 0 to 255, and keeps the "
             "fractions of such a PNG and of resizing"},
    {TND_OPTION(decode_options_t, dct, ENUM, GRAPH), .fallback = "fast", .choices = "fast|accurate",
     .help = "the transform of JPEG: `fast` is TensorFlow's default, `accurate` its "
             "INTEGER_ACCURATE"},
    {TND_OPTION(decode_options_t, fancy, BOOL, GRAPH), .fallback = "true",
     .help = "whether the colours of a JPEG, if stored at half the resolution, are interpolated"},
    {TND_OPTION(decode_options_t, ratio, U64, GRAPH), .fallback = "1", .range = "1..8",
     .help = "1, 2, 4 or 8: a JPEG is decoded at this part of its size"},
    {TND_OPTION(decode_options_t, recover, BOOL, GRAPH), .fallback = "false",
     .help = "whether a JPEG that ends early or is damaged is filled with grey; otherwise it is a "
             "bad row"},
    {TND_OPTION(decode_options_t, scaled, BOOL, GRAPH), .fallback = "false",
     .help = "whether a JPEG may be decoded at 1/2, 1/4 or 1/8 of its size before it is resized to "
             "less; faster, but not TensorFlow's result"},
    {TND_OPTION(decode_options_t, max_pixels, U64, GRAPH), .unit = "pixels", .fallback = "16777216",
     .range = "1..4294967295",
     .help = "a picture whose header states more is a bad row; memory for one is reserved"},
    {TND_OPTION(decode_options_t, orientation, ENUM, GRAPH), .fallback = "ignore",
     .choices = "ignore|apply",
     .help = "whether a JPEG is turned as its EXIF data say; TensorFlow ignores them"},
    {TND_OPTION(decode_options_t, then, PARTS, GRAPH), .parts = tnd_picture_step_table,
     .check = tnd_picture_steps_check, .help = "what gives all pictures one shape, step by step"},
};

const tnd_op_spec_t tnd_op_decode_image_spec = {
    .table = {.name = "decode_image",
              .help =
                  "Decodes JPEG and PNG pictures, as tf.io.decode_jpeg and decode_png, and gives "
                  "them one shape.",
              TND_OPTIONS(options, decode_options_t)},
    .caps = TND_OP_FAILS | TND_OP_RANDOM,
};

static tnd_status_t find_bytes(const tnd_schema_t *in, const char *name, uint32_t *index_p,
                               tnd_error_t *error)
{
    TND_TRY(tnd_op_find_any(in, name, index_p, error));
    const tnd_column_t *column = &in->columns[*index_p];
    if (column->ragged && column->dtype == TND_U8 && column->rank == 1)
        return TND_OK;
    return tnd_fail(error,
                    "column `%s` has no files; they are a ragged column of u8, as the sources "
                    "`folder`, `tar` and `tfrecord` make",
                    name);
}

/*  Adds the column that is made, or puts it in the place of another. */
static tnd_status_t add_made(tnd_op_facts_t *facts, const tnd_schema_t *in, uint32_t column,
                             const char *to, tnd_dtype_t dtype, uint32_t rank,
                             const uint64_t *shape, uint32_t *made_p, tnd_error_t *error)
{
    *made_p = to != NULL ? in->count : column;
    if (to == NULL)
        return tnd_op_replace(facts, in, column, dtype, rank, shape, error);
    facts->reads = UINT64_C(1) << column;
    return tnd_op_add(facts, in, to, dtype, rank, shape, error);
}

static tnd_status_t read_format(decode_t *self, const decode_options_t *chosen, tnd_error_t *error)
{
    if (chosen->channels == 2)
        return tnd_fail(error, "`channels` is 2; pictures have 1, 3 or 4");
    if (chosen->ratio != 1 && chosen->ratio != 2 && chosen->ratio != 4 && chosen->ratio != 8)
        return tnd_fail(error, "`ratio` is %llu; it can be 1, 2, 4 or 8",
                        (unsigned long long)chosen->ratio);
    if (chosen->scaled && chosen->ratio != 1)
        return tnd_fail(error, "`scaled` chooses the ratio; leave out `ratio`");
    self->format = (tnd_picture_format_t){.channels = (uint32_t)chosen->channels,
                                          .accurate = chosen->dct == 1,
                                          .fancy = chosen->fancy,
                                          .recover = chosen->recover,
                                          .oriented = chosen->orientation == 1,
                                          .ratio = (uint32_t)chosen->ratio,
                                          .pixels_max = chosen->max_pixels};
    return TND_OK;
}

/*  What decoding takes for a picture of so many pixels. */
static uint64_t decoding_bytes(const decode_t *self, uint64_t pixels)
{
    uint64_t channels = self->format.channels;
    if (self->dtype == DTYPE_U8)
        return pixels * (channels + PROGRESSIVE_BYTES);
    uint64_t made = (uint64_t)self->height * self->width * channels;
    return pixels * (channels * sizeof(float) + INTERLACED_BYTES) +
           (self->dtype == DTYPE_U16 ? made * sizeof(float) : 0);
}

static tnd_status_t decode_image_open(void *state, const void *given, const tnd_schema_t *in,
                                      tnd_op_facts_t *facts, tnd_error_t *error)
{
    static const tnd_dtype_t dtypes[] = {
        [DTYPE_U8] = TND_U8, [DTYPE_U16] = TND_U16, [DTYPE_F32] = TND_F32};
    decode_t *self = state;
    const decode_options_t *chosen = given;
    TND_TRY(find_bytes(in, chosen->column, &self->column, error));
    TND_TRY(read_format(self, chosen, error));
    tnd_picture_steps_init(&self->steps, &chosen->then);
    tnd_status_t status = TND_OK;
    if (!tnd_picture_steps_shape(&self->steps, &self->height, &self->width))
        status = tnd_fail(error, "a step of `then` cannot be applied to what those before it make");
    const uint64_t shape[] = {self->height, self->width, self->format.channels};
    self->columns = in->count;
    self->dtype = chosen->dtype;
    self->scaled = chosen->scaled;
    if (status == TND_OK)
        status = add_made(facts, in, self->column, chosen->to, dtypes[chosen->dtype], 3, shape,
                          &self->made, error);
    if (status != TND_OK) {
        tnd_picture_steps_fini(&self->steps);
        return status;
    }
    facts->steady = true;
    for (uint32_t i = 0; i < self->steps.count; i++)
        facts->steady = facts->steady && self->steps.steps[i].kind != TND_STEP_RANDOM_RESIZED_CROP;
    facts->decoding = decoding_bytes(self, chosen->max_pixels);
    facts->content = tnd_decoder_probe(&self->format);
    self->decoder = tnd_decoder_new(&self->format);
    return TND_OK;
}

static void decode_image_close(void *state)
{
    decode_t *self = state;
    tnd_decoder_free(&self->decoder);
    tnd_picture_steps_fini(&self->steps);
    free(self->decoded);
    free(self->unrounded);
}

/*  Whether a step only cuts. */
static bool cuts(const tnd_geometry_t *plan)
{
    return plan->height == plan->part.height && plan->width == plan->part.width &&
           plan->out_height == plan->height && plan->out_width == plan->width;
}

/*  Joins the steps that only cut, from the first on, with the one after them. Returns which that is;
 *  plan->part is then in the pixels of the file. */
static tnd_status_t plan_decoding(decode_t *self, uint32_t height, uint32_t width,
                                  tnd_random_t *random, tnd_geometry_t *plan, uint32_t *step_p,
                                  tnd_error_t *error)
{
    uint32_t top = 0, left = 0;
    *step_p = 0;
    TND_TRY(tnd_picture_step_plan(&self->steps.steps[0], height, width, random, plan, error));
    while (cuts(plan) && *step_p + 1 < self->steps.count) {
        top += plan->part.top;
        left += plan->part.left;
        ++*step_p;
        TND_TRY(tnd_picture_step_plan(&self->steps.steps[*step_p], plan->out_height,
                                      plan->out_width, random, plan, error));
    }
    plan->part.top += top;
    plan->part.left += left;
    return TND_OK;
}

static uint32_t scaled_side(uint32_t first, uint32_t size, uint32_t ratio, uint32_t most,
                            uint32_t *first_p)
{
    *first_p = first / ratio < most ? first / ratio : most - 1;
    uint32_t scaled = size / ratio > 0 ? size / ratio : 1;
    return scaled < most - *first_p ? scaled : most - *first_p;
}

/*  Lets a JPEG be decoded at the smallest size that is not below the one that it gets. */
static void scale_decoding(decode_t *self, tnd_window_t *part, const tnd_geometry_t *plan)
{
    uint32_t ratio = 8, height, width;
    while (ratio > 1 && (part->height / ratio < plan->height || part->width / ratio < plan->width))
        ratio /= 2;
    if (ratio == 1 || !tnd_decoder_scale(self->decoder, ratio, &height, &width))
        return;
    part->height = scaled_side(part->top, part->height, ratio, height, &part->top);
    part->width = scaled_side(part->left, part->width, ratio, width, &part->left);
}

/*  Decodes a part; the pixels are valid until the next call. */
static tnd_status_t decode_part(decode_t *self, const tnd_window_t *part, tnd_sample_t sample,
                                tnd_pixels_t *pixels, tnd_error_t *error)
{
    size_t count = (size_t)part->height * part->width * self->format.channels;
    size_t bytes = count * tnd_sample_size(sample);
    if (self->room < bytes) {
        free(self->decoded);
        self->decoded = tnd_allocate(bytes, 1);
        self->room = bytes;
    }
    *pixels = (tnd_pixels_t){self->decoded, part->height, part->width, self->format.channels,
                             sample == TND_SAMPLE_F32};
    TND_TRY(tnd_decoder_decode(self->decoder, part, sample, self->decoded, error));
    float *floats = self->decoded;
    for (size_t i = 0; sample == TND_SAMPLE_F32 && self->dtype == DTYPE_F32 && i < count; i++)
        floats[i] /= U16_PER_U8;
    return TND_OK;
}

/*  Kernels such as bicubic go beyond the range. */
static void round_u16(size_t count, uint16_t *out, const float *in)
{
    for (size_t i = 0; i < count; i++) {
        float value = rintf(in[i]);
        out[i] = value < 0 ? 0 : value > UINT16_MAX ? UINT16_MAX : (uint16_t)value;
    }
}

/*  Runs the steps from pixels of f32 to pixels of u16. */
static tnd_status_t run_deep(decode_t *self, uint32_t step, const tnd_geometry_t *plan,
                             tnd_random_t *random, const tnd_pixels_t *pixels, uint16_t *out,
                             tnd_error_t *error)
{
    size_t count = (size_t)self->height * self->width * self->format.channels;
    if (self->unrounded == NULL)
        self->unrounded = tnd_allocate(count, sizeof(float));
    tnd_pixels_t made = {self->unrounded, self->height, self->width, self->format.channels, true};
    TND_TRY(tnd_picture_steps_run(&self->steps, step, plan, random, pixels, &made, error));
    round_u16(count, out, self->unrounded);
    return TND_OK;
}

static tnd_status_t decode_row(decode_t *self, const tnd_ragged_t *file, tnd_random_t *random,
                               void *out, tnd_error_t *error)
{
    uint32_t height, width, step;
    tnd_geometry_t plan;
    tnd_pixels_t pixels;
    TND_TRY(tnd_decoder_open(self->decoder, file->data, file->length, &height, &width, error));
    TND_TRY(plan_decoding(self, height, width, random, &plan, &step, error));
    tnd_window_t part = plan.part;
    if (self->scaled)
        scale_decoding(self, &part, &plan);
    if (self->dtype != DTYPE_F32 && step + 1 == self->steps.count && cuts(&plan))
        return tnd_decoder_decode(self->decoder, &part,
                                  self->dtype == DTYPE_U8 ? TND_SAMPLE_U8 : TND_SAMPLE_U16, out,
                                  error);
    bool deep = self->dtype == DTYPE_U16 ||
                (self->dtype == DTYPE_F32 && tnd_decoder_is_deep(self->decoder));
    TND_TRY(decode_part(self, &part, deep ? TND_SAMPLE_F32 : TND_SAMPLE_U8, &pixels, error));
    if (self->dtype == DTYPE_U16)
        return run_deep(self, step, &plan, random, &pixels, out, error);
    tnd_pixels_t made = {out, self->height, self->width, self->format.channels,
                         self->dtype == DTYPE_F32};
    return tnd_picture_steps_run(&self->steps, step, &plan, random, &pixels, &made, error);
}

static tnd_status_t decode_image_apply(void *state, const tnd_op_key_t *key, const tnd_tile_t *in,
                                       tnd_tile_t *out, tnd_error_t *error)
{
    decode_t *self = state;
    tnd_op_pass(in, out, self->columns, self->made);
    for (uint32_t row = 0; row < in->rows; row++) {
        tnd_random_t random;
        tnd_random_init(&random, key->seed, key->epoch, in->sample[row], key->operation);
        TND_TRY(decode_row(self, &in->columns[self->column].ragged[row], &random,
                           tnd_tile_row(out, self->made, row), error));
    }
    return TND_OK;
}

static tnd_ragged_t decode_image_record(const void *state, tnd_room_t *room, uint32_t *column_p)
{
    (void)room;
    *column_p = ((const decode_t *)state)->column;
    return tnd_decoder_probe_file();
}

typedef struct {
    const char *column, *to;
} shape_options_t;

typedef struct {
    uint32_t columns, column, made;
    tnd_picture_format_t format;
    tnd_jpeg_t *jpeg;
} shape_t;

static const tnd_option_t shape_options[] = {
    {TND_OPTION(shape_options_t, column, COLUMN, GRAPH),
     .help = "the ragged column of u8 with the bytes of JPEG files"},
    {TND_OPTION(shape_options_t, to, COLUMN, GRAPH), .fallback = "",
     .help = "a new column, i32[3]; by default it replaces the bytes"},
};

const tnd_op_spec_t tnd_op_jpeg_shape_spec = {
    .table = {.name = "jpeg_shape",
              .help = "Makes height, width and channels of JPEG files without decoding them, as "
                      "tf.io.extract_jpeg_shape.",
              TND_OPTIONS(shape_options, shape_options_t)},
    .caps = TND_OP_FAILS,
};

static tnd_status_t jpeg_shape_open(void *state, const void *given, const tnd_schema_t *in,
                                    tnd_op_facts_t *facts, tnd_error_t *error)
{
    static const uint64_t three = 3;
    shape_t *self = state;
    const shape_options_t *chosen = given;
    TND_TRY(find_bytes(in, chosen->column, &self->column, error));
    TND_TRY(add_made(facts, in, self->column, chosen->to, TND_I32, 1, &three, &self->made, error));
    self->columns = in->count;
    self->format = (tnd_picture_format_t){.channels = 3, .ratio = 1, .pixels_max = UINT64_MAX};
    self->jpeg = tnd_jpeg_new(&self->format);
    return TND_OK;
}

static void jpeg_shape_close(void *state)
{
    tnd_jpeg_free(&((shape_t *)state)->jpeg);
}

static tnd_status_t jpeg_shape_apply(void *state, const tnd_op_key_t *key, const tnd_tile_t *in,
                                     tnd_tile_t *out, tnd_error_t *error)
{
    (void)key;
    shape_t *self = state;
    tnd_op_pass(in, out, self->columns, self->made);
    for (uint32_t row = 0; row < in->rows; row++) {
        const tnd_ragged_t *file = &in->columns[self->column].ragged[row];
        uint32_t height, width;
        TND_TRY(tnd_jpeg_open(self->jpeg, file->data, file->length, &height, &width, error));
        const int32_t shape[] = {(int32_t)height, (int32_t)width,
                                 (int32_t)tnd_jpeg_channels(self->jpeg)};
        memcpy(tnd_tile_row(out, self->made, row), shape, sizeof shape);
    }
    return TND_OK;
}

static tnd_ragged_t jpeg_shape_record(const void *state, tnd_room_t *room, uint32_t *column_p)
{
    (void)room;
    *column_p = ((const shape_t *)state)->column;
    return tnd_decoder_probe_file();
}

const tnd_op_t tnd_op_decode_image = {
    .spec = &tnd_op_decode_image_spec,
    .state_bytes = sizeof(decode_t),
    .open = decode_image_open,
    .apply = decode_image_apply,
    .close = decode_image_close,
    .record = decode_image_record,
};

const tnd_op_t tnd_op_jpeg_shape = {
    .spec = &tnd_op_jpeg_shape_spec,
    .state_bytes = sizeof(shape_t),
    .open = jpeg_shape_open,
    .apply = jpeg_shape_apply,
    .close = jpeg_shape_close,
    .record = jpeg_shape_record,
};
