/*  actors/image/jpeg.c - decodes JPEG by libjpeg-turbo, with the bits of TensorFlow. */
#include "actors/image/jpeg.h"

#include <setjmp.h>
#include <stdio.h>
#include <string.h>

#include <jerror.h>
#include <jpeglib.h>

#include "actors/image/exif.h"
#include "runtime/base/allocation.h"

/*  A progressive file may have this many scans, each of which takes the time of a whole picture;
 *  writers make about ten. */
enum { SCANS_MAX = 100 };

/*  To a place that is aligned to a vector, libjpeg-turbo writes past the caches, and a line that is
 *  copied at once would be read from memory again. */
enum { LINE_ALIGN = 64, LINE_OFFSET = 8 };

struct tnd_jpeg {
    struct jpeg_decompress_struct decoder;
    struct jpeg_error_mgr errors;
    struct jpeg_source_mgr source;
    struct jpeg_progress_mgr progress;
    jmp_buf escape;
    char why[JMSG_LENGTH_MAX + 64];
    const tnd_picture_format_t *format;
    const uint8_t *bytes;
    size_t size;
    uint8_t *lines; /* one line of what the decoder returns, at LINE_OFFSET */
    size_t line_room;
};

static tnd_jpeg_t *jpeg_of(j_common_ptr decoder)
{
    return (tnd_jpeg_t *)decoder->client_data;
}

/*  The library cannot continue. */
static void on_error(j_common_ptr decoder)
{
    tnd_jpeg_t *self = jpeg_of(decoder);
    char text[JMSG_LENGTH_MAX];
    decoder->err->format_message(decoder, text);
    snprintf(self->why, sizeof self->why, "%s", text);
    longjmp(self->escape, 1);
}

/*  Whether a warning is of bytes that change no pixel: between two segments before the first scan, a
 *  new version of JFIF, a colour profile, or numbers of a scan that only progressive files use. */
static bool is_harmless(const tnd_jpeg_t *self, int code)
{
    return code == JWRN_JFIF_MAJOR || code == JWRN_NOT_SEQUENTIAL || code == JWRN_BOGUS_ICC ||
           (code == JWRN_EXTRANEOUS_DATA && self->decoder.input_scan_number == 0);
}

/*  The library can continue with pixels of its own. */
static void on_message(j_common_ptr decoder, int level)
{
    const tnd_jpeg_t *self = jpeg_of(decoder);
    if (level < 0 && !self->format->recover && !is_harmless(self, decoder->err->msg_code))
        on_error(decoder);
}

static void on_scan(j_common_ptr decoder)
{
    tnd_jpeg_t *self = jpeg_of(decoder);
    if (self->decoder.input_scan_number <= SCANS_MAX)
        return;
    snprintf(self->why, sizeof self->why, "more than %d scans", SCANS_MAX);
    longjmp(self->escape, 1);
}

static void begin_source(j_decompress_ptr decoder)
{
    (void)decoder;
}

/*  The file ends. */
static boolean fill_source(j_decompress_ptr decoder)
{
    static const JOCTET end[] = {0xff, JPEG_EOI};
    tnd_jpeg_t *self = jpeg_of((j_common_ptr)decoder);
    if (!self->format->recover || self->size == 0) {
        snprintf(self->why, sizeof self->why, "the file ends early, after %zu bytes", self->size);
        longjmp(self->escape, 1);
    }
    self->source.next_input_byte = end;
    self->source.bytes_in_buffer = sizeof end;
    return TRUE;
}

static void skip_source(j_decompress_ptr decoder, long count)
{
    tnd_jpeg_t *self = jpeg_of((j_common_ptr)decoder);
    while (count > 0 && (size_t)count > self->source.bytes_in_buffer) {
        count -= (long)self->source.bytes_in_buffer;
        (void)fill_source(decoder);
        count = 0;
    }
    if (count > 0) {
        self->source.next_input_byte += count;
        self->source.bytes_in_buffer -= (size_t)count;
    }
}

static void end_source(j_decompress_ptr decoder)
{
    (void)decoder;
}

tnd_jpeg_t *tnd_jpeg_new(const tnd_picture_format_t *format)
{
    tnd_jpeg_t *self = tnd_allocate_zeroed(1, sizeof *self);
    self->format = format;
    self->decoder.err = jpeg_std_error(&self->errors);
    self->errors.error_exit = on_error;
    self->errors.emit_message = on_message;
    self->decoder.client_data = self;
    jpeg_create_decompress(&self->decoder);
    self->decoder.client_data = self;
    self->source = (struct jpeg_source_mgr){.init_source = begin_source,
                                            .fill_input_buffer = fill_source,
                                            .skip_input_data = skip_source,
                                            .resync_to_restart = jpeg_resync_to_restart,
                                            .term_source = end_source};
    self->progress.progress_monitor = on_scan;
    self->decoder.src = &self->source;
    self->decoder.progress = &self->progress;
    if (format->oriented)
        jpeg_save_markers(&self->decoder, JPEG_APP0 + 1, 0xffff);
    return self;
}

void tnd_jpeg_free(tnd_jpeg_t **self_p)
{
    tnd_jpeg_t *self = *self_p;
    *self_p = NULL;
    if (self == NULL)
        return;
    jpeg_destroy_decompress(&self->decoder);
    free(self->lines);
    free(self);
}

bool tnd_jpeg_is(const uint8_t *bytes, size_t size)
{
    return size >= 3 && bytes[0] == 0xff && bytes[1] == 0xd8 && bytes[2] == 0xff;
}

/*  Whether the library converts the file's colours itself to those that are wanted. */
static bool has_inks(const tnd_jpeg_t *self)
{
    return self->decoder.jpeg_color_space == JCS_CMYK || self->decoder.jpeg_color_space == JCS_YCCK;
}

static void size_of(tnd_jpeg_t *self, uint32_t *height_p, uint32_t *width_p)
{
    jpeg_calc_output_dimensions(&self->decoder);
    *height_p = self->decoder.output_height;
    *width_p = self->decoder.output_width;
}

static tnd_status_t refuse(tnd_jpeg_t *self, tnd_error_t *error)
{
    jpeg_abort_decompress(&self->decoder);
    return tnd_fail(error, "not a readable JPEG: %s", self->why);
}

tnd_status_t tnd_jpeg_open(tnd_jpeg_t *self, const uint8_t *bytes, size_t size, uint32_t *height_p,
                           uint32_t *width_p, tnd_error_t *error)
{
    jpeg_abort_decompress(&self->decoder);
    self->bytes = bytes;
    self->size = size;
    self->source.next_input_byte = bytes;
    self->source.bytes_in_buffer = size;
    if (setjmp(self->escape) != 0)
        return refuse(self, error);
    jpeg_read_header(&self->decoder, TRUE);
    struct jpeg_decompress_struct *decoder = &self->decoder;
    TND_TRY(
        tnd_picture_format_check(self->format, decoder->image_height, decoder->image_width, error));
    static const J_COLOR_SPACE spaces[] = {[1] = JCS_GRAYSCALE, [3] = JCS_RGB, [4] = JCS_EXT_RGBA};
    decoder->out_color_space = has_inks(self) ? JCS_CMYK : spaces[self->format->channels];
    decoder->do_fancy_upsampling = self->format->fancy;
    decoder->dct_method = self->format->accurate ? JDCT_ISLOW : JDCT_IFAST;
    decoder->scale_num = 1;
    decoder->scale_denom = self->format->ratio;
    size_of(self, height_p, width_p);
    return TND_OK;
}

uint32_t tnd_jpeg_channels(const tnd_jpeg_t *self)
{
    return (uint32_t)self->decoder.num_components;
}

uint32_t tnd_jpeg_orientation(const tnd_jpeg_t *self)
{
    for (jpeg_saved_marker_ptr at = self->decoder.marker_list; at != NULL; at = at->next)
        if (at->marker == JPEG_APP0 + 1 && tnd_exif_is(at->data, at->data_length))
            return tnd_exif_orientation(at->data, at->data_length);
    return 1;
}

void tnd_jpeg_scale(tnd_jpeg_t *self, uint32_t ratio, uint32_t *height_p, uint32_t *width_p)
{
    self->decoder.scale_denom = ratio;
    size_of(self, height_p, width_p);
}

/*  Pixels of four inks to those that are wanted. Adobe stores the inks inverted. */
static void convert_inks(const tnd_jpeg_t *self, size_t count, uint8_t *out, const uint8_t *in)
{
    bool inverted = self->decoder.saw_Adobe_marker;
    uint32_t channels = self->format->channels;
    for (size_t i = 0; i < count; i++, in += 4, out += channels) {
        uint8_t rgb[3];
        for (int c = 0; c < 3; c++)
            rgb[c] =
                (uint8_t)(inverted ? in[3] * in[c] / 255 : (255 - in[3]) * (255 - in[c]) / 255);
        if (channels == 1)
            out[0] = tnd_picture_luma(rgb);
        else
            memcpy(out, rgb, sizeof rgb);
        if (channels == 4)
            out[3] = 255;
    }
}

/*  Restricts the decoder to the blocks that the columns of the window need, and one more on each
 *  side, which chroma is interpolated with. Returns the first column that is decoded. */
static uint32_t crop_columns(tnd_jpeg_t *self, const tnd_window_t *window)
{
    struct jpeg_decompress_struct *decoder = &self->decoder;
    uint32_t block = (uint32_t)(decoder->max_h_samp_factor * DCTSIZE);
    uint32_t end = window->left + window->width, last = decoder->output_width;
    JDIMENSION first = window->left > block ? window->left - block : 0;
    last = end + block < last ? end + block : last;
    JDIMENSION width = last - first;
    if (first == 0 && width == decoder->output_width)
        return 0;
    jpeg_crop_scanline(decoder, &first, &width);
    return first;
}

static void read_line(tnd_jpeg_t *self, uint8_t *to)
{
    JSAMPROW row = to;
    if (jpeg_read_scanlines(&self->decoder, &row, 1) == 1)
        return;
    snprintf(self->why, sizeof self->why, "no line %u", self->decoder.output_scanline);
    longjmp(self->escape, 1);
}

/*  Damage in a scan may be noticed only by bytes that are left at its end. */
static void finish(tnd_jpeg_t *self)
{
    if (self->decoder.output_scanline == self->decoder.output_height)
        (void)jpeg_finish_decompress(&self->decoder);
    jpeg_abort_decompress(&self->decoder);
}

tnd_status_t tnd_jpeg_decode(tnd_jpeg_t *self, const tnd_window_t *window, uint8_t *out,
                             tnd_error_t *error)
{
    struct jpeg_decompress_struct *decoder = &self->decoder;
    if (setjmp(self->escape) != 0)
        return refuse(self, error);
    jpeg_start_decompress(decoder);
    uint32_t first = crop_columns(self, window), pixel = (uint32_t)decoder->output_components;
    size_t bytes = (size_t)decoder->output_width * pixel;
    size_t out_bytes = (size_t)window->width * self->format->channels;
    bool direct = first == window->left && decoder->output_width == window->width &&
                  pixel == self->format->channels && !has_inks(self);
    if (self->line_room < bytes) {
        free(self->lines);
        self->lines = tnd_allocate_aligned(LINE_ALIGN, LINE_OFFSET + bytes);
        self->line_room = bytes;
    }
    uint8_t *line = self->lines + LINE_OFFSET;
    if (window->top > 0)
        jpeg_skip_scanlines(decoder, window->top);
    while (decoder->output_scanline < window->top + window->height) {
        uint8_t *to = out + (decoder->output_scanline - window->top) * out_bytes;
        const uint8_t *from = line + (size_t)(window->left - first) * pixel;
        read_line(self, direct ? to : line);
        if (has_inks(self))
            convert_inks(self, window->width, to, from);
        else if (!direct)
            memcpy(to, from, out_bytes);
    }
    finish(self);
    return TND_OK;
}

#define TEXT(number) #number
#define TEXT_OF(number) TEXT(number)

const char *tnd_jpeg_library(void)
{
    return TEXT_OF(LIBJPEG_TURBO_VERSION);
}
