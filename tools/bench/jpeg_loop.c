/*  tools/bench/jpeg_loop.c - a plain loop over libjpeg-turbo. */
#include "tools/bench/jpeg_loop.h"

#include <pthread.h>
#include <stdio.h>

#include <jpeglib.h>

#include "actors/image/geometry.h"
#include "actors/image/resize.h"
#include "runtime/base/allocation.h"
#include "tools/bench/sample_file.h"

enum { THREADS = 2, CHANNELS = 3, PIXELS = JPEG_SIDE * JPEG_SIDE, DISTINCT = 64 };

typedef struct {
    const bench_jpeg_t *pictures;
    uint32_t count, passes, first;
    bool planes;
    pthread_t thread;
    struct jpeg_decompress_struct decoder;
    struct jpeg_error_mgr errors;
    tnd_resizer_t resizer;
    uint8_t *decoded, *line, *made;
    float *batch;
} loop_t;

static bench_jpeg_t make(uint32_t number)
{
    struct jpeg_compress_struct encoder;
    struct jpeg_error_mgr errors;
    bench_jpeg_t made = {0};
    uint8_t line[JPEG_WIDTH * CHANNELS];
    uint64_t state = number + 1;
    encoder.err = jpeg_std_error(&errors);
    jpeg_create_compress(&encoder);
    jpeg_mem_dest(&encoder, &made.bytes, &made.size);
    encoder.image_width = JPEG_WIDTH;
    encoder.image_height = JPEG_HEIGHT;
    encoder.input_components = CHANNELS;
    encoder.in_color_space = JCS_RGB;
    jpeg_set_defaults(&encoder);
    jpeg_set_quality(&encoder, 90, TRUE);
    jpeg_start_compress(&encoder, TRUE);
    for (uint32_t y = 0; y < JPEG_HEIGHT; y++) {
        for (uint32_t x = 0; x < JPEG_WIDTH * CHANNELS; x++) {
            state = state * UINT64_C(6364136223846793005) + 1442695040888963407;
            uint32_t wave = (x / CHANNELS * (3 + number % 5) + y * (2 + x % CHANNELS)) % 512;
            uint32_t smooth = wave < 256 ? wave : 511 - wave;
            line[x] = (uint8_t)((smooth * 7 + (uint32_t)(state >> 56)) / 8);
        }
        JSAMPROW row = line;
        jpeg_write_scanlines(&encoder, &row, 1);
    }
    jpeg_finish_compress(&encoder);
    jpeg_destroy_compress(&encoder);
    return made;
}

bench_jpeg_t *bench_jpeg_all(uint32_t count)
{
    bench_jpeg_t *pictures = tnd_allocate(count, sizeof *pictures);
    for (uint32_t i = 0; i < count; i++)
        pictures[i] = i < DISTINCT ? make(i) : pictures[i % DISTINCT];
    return pictures;
}

void bench_jpeg_free(bench_jpeg_t *pictures, uint32_t count)
{
    for (uint32_t i = 0; i < count && i < DISTINCT; i++)
        free(pictures[i].bytes);
    free(pictures);
}

void bench_jpeg_write(const char *path, const bench_jpeg_t *pictures, uint32_t count)
{
    FILE *out = fopen(path, "wb");
    for (uint32_t i = 0; out != NULL && i < count; i++) {
        size_t size = pictures[i].size + 16;
        uint8_t *frame = tnd_allocate(1, size);
        memcpy(frame + 12, pictures[i].bytes, pictures[i].size);
        bench_frame(frame, pictures[i].size);
        if (fwrite(frame, 1, size, out) != size)
            exit(1);
        free(frame);
    }
    if (out == NULL || fclose(out) != 0)
        exit(1);
}

static void decode_part(loop_t *self, const bench_jpeg_t *picture, const tnd_window_t *part)
{
    struct jpeg_decompress_struct *decoder = &self->decoder;
    jpeg_mem_src(decoder, picture->bytes, picture->size);
    jpeg_read_header(decoder, TRUE);
    decoder->out_color_space = JCS_RGB;
    decoder->dct_method = JDCT_IFAST;
    jpeg_start_decompress(decoder);
    JDIMENSION first = part->left, width = part->width;
    jpeg_crop_scanline(decoder, &first, &width);
    jpeg_skip_scanlines(decoder, part->top);
    size_t bytes = (size_t)part->width * CHANNELS;
    for (uint32_t y = 0; y < part->height; y++) {
        JSAMPROW row = self->line;
        jpeg_read_scanlines(decoder, &row, 1);
        memcpy(self->decoded + y * bytes, self->line + (part->left - first) * CHANNELS, bytes);
    }
    jpeg_abort_decompress(decoder);
}

static void normalise(const uint8_t *in, float *out)
{
    static const float mean[] = {123.675f, 116.28f, 103.53f}, std[] = {58.395f, 57.12f, 57.375f};
    for (int c = 0; c < CHANNELS; c++)
        for (int i = 0; i < PIXELS; i++)
            out[c * PIXELS + i] = ((float)in[i * CHANNELS + c] - mean[c]) / std[c];
}

static void *work(void *argument)
{
    loop_t *self = argument;
    const tnd_picture_step_t step = {.kind = TND_STEP_RANDOM_RESIZED_CROP,
                                     .height = JPEG_SIDE,
                                     .width = JPEG_SIDE,
                                     .area = {0.08, 1},
                                     .aspect = {3.0 / 4.0, 4.0 / 3.0}};
    for (uint32_t i = self->first; i < self->count * self->passes; i += THREADS) {
        tnd_random_t random;
        tnd_geometry_t plan;
        tnd_error_t error;
        tnd_random_init(&random, 7, i / self->count, i % self->count, 0);
        if (tnd_picture_step_plan(&step, JPEG_HEIGHT, JPEG_WIDTH, &random, &plan, &error) != TND_OK)
            exit(1);
        decode_part(self, &self->pictures[i % self->count], &plan.part);
        uint8_t *row = (uint8_t *)self->batch + i / THREADS % JPEG_BATCH * PIXELS * CHANNELS;
        const tnd_pixels_t in = {self->decoded, plan.part.height, plan.part.width, CHANNELS, false};
        const tnd_pixels_t out = {self->planes ? self->made : row, JPEG_SIDE, JPEG_SIDE, CHANNELS,
                                  false};
        tnd_resizer_run(&self->resizer, TND_RESIZE_BILINEAR, false, &in, &out);
        if (self->planes)
            normalise(self->made, self->batch + i / THREADS % JPEG_BATCH * PIXELS * CHANNELS);
    }
    return NULL;
}

bench_took_t bench_jpeg_loop(const bench_jpeg_t *pictures, uint32_t count, uint32_t passes,
                             bool planes)
{
    static loop_t loops[THREADS];
    uint64_t begun_ns = tnd_clock_now();
    double used = bench_cpu_seconds();
    for (uint32_t t = 0; t < THREADS; t++) {
        loop_t *self = &loops[t];
        *self = (loop_t){
            .pictures = pictures, .count = count, .passes = passes, .first = t, .planes = planes};
        self->decoder.err = jpeg_std_error(&self->errors);
        jpeg_create_decompress(&self->decoder);
        tnd_resizer_init(&self->resizer);
        self->decoded = tnd_allocate(JPEG_HEIGHT * JPEG_WIDTH, CHANNELS);
        self->line = tnd_allocate(JPEG_WIDTH + 64, CHANNELS);
        self->made = tnd_allocate(PIXELS, CHANNELS);
        self->batch = tnd_allocate((size_t)JPEG_BATCH * PIXELS * CHANNELS, sizeof(float));
        if (pthread_create(&self->thread, NULL, work, self) != 0)
            abort();
    }
    for (uint32_t t = 0; t < THREADS; t++) {
        pthread_join(loops[t].thread, NULL);
        jpeg_destroy_decompress(&loops[t].decoder);
        tnd_resizer_fini(&loops[t].resizer);
        free(loops[t].decoded);
        free(loops[t].line);
        free(loops[t].made);
        free(loops[t].batch);
    }
    return (bench_took_t){.seconds = (double)(tnd_clock_now() - begun_ns) * 1e-9,
                          .cpu_seconds = bench_cpu_seconds() - used,
                          .rows = (double)count * passes};
}
