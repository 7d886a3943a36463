/*  Covers actors/image/decoder_probe.h: builds of libjpeg that give other bits have another hash, and a
 *  chain that decodes pictures has it in its own. */
#include "actors/image/decoder_probe.h"

#include <dlfcn.h>
#include <stdio.h>

#include <jpeglib.h>

#include "actors/chain/chain_probe.h"
#include "tests/actors/op/chain_fixture.h"

/*  A build of libjpeg that computes one pixel of a picture differently. */
static bool other_build;

JDIMENSION jpeg_read_scanlines(j_decompress_ptr decoder, JSAMPARRAY lines, JDIMENSION most)
{
    JDIMENSION (*next)(j_decompress_ptr, JSAMPARRAY, JDIMENSION);
    *(void **)&next = dlsym(RTLD_NEXT, "jpeg_read_scanlines");
    JDIMENSION count = next(decoder, lines, most);
    if (other_build && decoder->output_scanline == 1)
        lines[0][0] ^= 1;
    return count;
}

static uint64_t chain_probe(const char *ops)
{
    static const uint64_t longest = 1000;
    tnd_schema_t schema = {0};
    tnd_error_t error;
    run_t run;
    cr_assert_eq(tnd_schema_add_ragged(&schema, "x", TND_U8, 1, &longest, &error), TND_OK);
    cr_assert_eq(open_chain(&run, ops, false, &schema, &error), TND_OK, "%s", error.text);
    uint64_t probe = tnd_chain_probe(run.chain);
    close_chain(&run);
    return probe;
}

#define DECODE "{decode_image: {column: x, then: [{crop_to: {size: [8, 10]}}]}}"
#define RAW "{decode_raw: {column: x, to: u16}}"

Test(decoder_probe, another_build_of_libjpeg_has_another_hash)
{
    for (uint32_t ratio = 1; ratio <= 8; ratio *= 2)
        for (uint32_t channels = 1; channels <= 4; channels += channels == 1 ? 2 : 1) {
            const tnd_picture_format_t format = {
                .channels = channels, .ratio = ratio, .fancy = true, .pixels_max = 1};
            other_build = false;
            uint64_t hash = tnd_decoder_probe(&format);
            cr_assert_eq(tnd_decoder_probe(&format), hash);
            other_build = true;
            cr_assert_neq(tnd_decoder_probe(&format), hash);
        }
}

Test(decoder_probe, the_picture_tells_transforms_and_interpolations_apart)
{
    const tnd_picture_format_t fast = {.channels = 3, .ratio = 1, .fancy = true, .pixels_max = 1};
    tnd_picture_format_t accurate = fast, plain = fast;
    accurate.accurate = true;
    plain.fancy = false;
    cr_assert_neq(tnd_decoder_probe(&fast), tnd_decoder_probe(&accurate));
    cr_assert_neq(tnd_decoder_probe(&fast), tnd_decoder_probe(&plain));
}

Test(decoder_probe, only_a_chain_that_decodes_pictures_has_it)
{
    other_build = false;
    uint64_t decodes = chain_probe(DECODE), both = chain_probe(DECODE ", {flip: {column: x}}");
    uint64_t without = chain_probe(RAW);
    other_build = true;
    cr_assert_neq(chain_probe(DECODE), decodes);
    cr_assert_neq(chain_probe(DECODE ", {flip: {column: x}}"), both);
    cr_assert_eq(chain_probe(RAW), without);
}
