/*  transport/device/stablehlo_cast.c - writes the program of a cast.
 *
 *  XLA may fuse a product with a sum, or not, and flushes denormals to zero on processors.  So the
 *  program computes in f64, where the product is exact and nothing is denormal, and in integers. */
#include "transport/device/stablehlo_cast.h"

#include <inttypes.h>

#include "runtime/base/allocation.h"

/*  In the texts, $x is the type of the elements that come in, $h of the bits that go out, $r of
 *  those in the order that is asked for, $c of one f64 per channel; and $d, $f, $q, $w, $p are those
 *  of f64, f32, 64 and 32 bits, and truth. */
static const char program_begins[] =
    "func.func public @main(%x: $x, %s: $c, %b: $c) -> $r {\n"
    "  %scale = stablehlo.broadcast_in_dim %s, dims = [2] : ($c) -> $d\n"
    "  %bias = stablehlo.broadcast_in_dim %b, dims = [2] : ($c) -> $d\n"
    "  %zero32 = stablehlo.constant dense<0> : $w\n"
    "  %zero64 = stablehlo.constant dense<0> : $q\n"
    "  %one64 = stablehlo.constant dense<1> : $q\n";

static const char from_integer[] = "  %element = stablehlo.convert %x : ($x) -> $d\n";

/*  Denormals become f64 as integers, because the conversion may take them for zero. */
static const char from_f32[] =
    "  %bits = stablehlo.bitcast_convert %x : ($x) -> $w\n"
    "  %mantissas = stablehlo.constant dense<0x007fffff> : $w\n"
    "  %exponents = stablehlo.constant dense<0x7f800000> : $w\n"
    "  %signs = stablehlo.constant dense<0x80000000> : $w\n"
    "  %least = stablehlo.constant dense<0x36A0000000000000> : $d\n" /* 2^-149 */
    "  %mantissa = stablehlo.and %bits, %mantissas : $w\n"
    "  %exponent = stablehlo.and %bits, %exponents : $w\n"
    "  %denormal = stablehlo.compare EQ, %exponent, %zero32, UNSIGNED : ($w, $w) -> $p\n"
    "  %minus = stablehlo.compare GE, %bits, %signs, UNSIGNED : ($w, $w) -> $p\n"
    "  %count = stablehlo.convert %mantissa : ($w) -> $d\n"
    "  %above = stablehlo.multiply %count, %least : $d\n"
    "  %below = stablehlo.negate %above : $d\n"
    "  %tiny = stablehlo.select %minus, %below, %above : $p, $d\n"
    "  %usual = stablehlo.convert %x : ($x) -> $d\n"
    "  %element = stablehlo.select %denormal, %tiny, %usual : $p, $d\n";

/*  The product is exact in f64, fused or not.  The sum is rounded to odd: `rest`, what rounding lost,
 *  moves an even result by one unit, so that rounding it again gives what rounding once gives. */
static const char program_computes[] =
    "  %product = stablehlo.multiply %element, %scale : $d\n"
    "  %sum = stablehlo.add %product, %bias : $d\n"
    "  %b1 = stablehlo.subtract %sum, %product : $d\n"
    "  %a1 = stablehlo.subtract %sum, %b1 : $d\n"
    "  %b2 = stablehlo.subtract %bias, %b1 : $d\n"
    "  %a2 = stablehlo.subtract %product, %a1 : $d\n"
    "  %rest = stablehlo.add %a2, %b2 : $d\n"
    "  %lost = stablehlo.abs %rest : $d\n"
    "  %nothing = stablehlo.constant dense<0.0> : $d\n"
    "  %top = stablehlo.constant dense<0x8000000000000000> : $q\n"
    "  %sum_bits = stablehlo.bitcast_convert %sum : ($d) -> $q\n"
    "  %rest_bits = stablehlo.bitcast_convert %rest : ($d) -> $q\n"
    "  %last = stablehlo.and %sum_bits, %one64 : $q\n"
    "  %even = stablehlo.compare EQ, %last, %zero64, UNSIGNED : ($q, $q) -> $p\n"
    "  %inexact = stablehlo.compare GT, %lost, %nothing, FLOAT : ($d, $d) -> $p\n"
    "  %moves = stablehlo.and %even, %inexact : $p\n"
    "  %differ = stablehlo.xor %sum_bits, %rest_bits : $q\n"
    "  %inwards = stablehlo.compare GE, %differ, %top, UNSIGNED : ($q, $q) -> $p\n"
    "  %less = stablehlo.subtract %sum_bits, %one64 : $q\n"
    "  %more = stablehlo.add %sum_bits, %one64 : $q\n"
    "  %moved = stablehlo.select %inwards, %less, %more : $p, $q\n"
    "  %value = stablehlo.select %moves, %moved, %sum_bits : $p, $q\n"
    /* to the bits of f32: a normal by its exponent, a denormal as a number of 2^-149 */
    "  %unsigned = stablehlo.constant dense<0x7fffffffffffffff> : $q\n"
    "  %shift63 = stablehlo.constant dense<63> : $q\n"
    "  %shift31 = stablehlo.constant dense<31> : $w\n"
    "  %shift29 = stablehlo.constant dense<29> : $q\n"
    "  %rebias = stablehlo.constant dense<0x3800000000000000> : $q\n"
    "  %half = stablehlo.constant dense<0x0fffffff> : $q\n"
    "  %infinite = stablehlo.constant dense<0x7f800000> : $q\n"
    "  %endless = stablehlo.constant dense<0x7ff0000000000000> : $q\n"
    "  %normals = stablehlo.constant dense<0x3810000000000000> : $q\n"
    "  %two149 = stablehlo.constant dense<0x4940000000000000> : $d\n"
    "  %two52 = stablehlo.constant dense<0x4330000000000000> : $d\n"
    "  %low32 = stablehlo.constant dense<0xffffffff> : $q\n"
    "  %size = stablehlo.and %value, %unsigned : $q\n"
    "  %sign64 = stablehlo.shift_right_logical %value, %shift63 : $q\n"
    "  %sign32 = stablehlo.convert %sign64 : ($q) -> $w\n"
    "  %sign = stablehlo.shift_left %sign32, %shift31 : $w\n"
    "  %nan = stablehlo.compare GT, %size, %endless, UNSIGNED : ($q, $q) -> $p\n"
    "  %normal = stablehlo.compare GE, %size, %normals, UNSIGNED : ($q, $q) -> $p\n"
    "  %n1 = stablehlo.subtract %size, %rebias : $q\n"
    "  %n2 = stablehlo.shift_right_logical %size, %shift29 : $q\n"
    "  %n3 = stablehlo.and %n2, %one64 : $q\n"
    "  %n4 = stablehlo.add %n1, %half : $q\n"
    "  %n5 = stablehlo.add %n4, %n3 : $q\n"
    "  %n6 = stablehlo.shift_right_logical %n5, %shift29 : $q\n"
    "  %n7 = stablehlo.minimum %n6, %infinite : $q\n"
    "  %d1 = stablehlo.bitcast_convert %size : ($q) -> $d\n"
    "  %d2 = stablehlo.multiply %d1, %two149 : $d\n"
    "  %d3 = stablehlo.add %d2, %two52 : $d\n"
    "  %d4 = stablehlo.bitcast_convert %d3 : ($d) -> $q\n"
    "  %d5 = stablehlo.and %d4, %low32 : $q\n"
    "  %y1 = stablehlo.select %normal, %n7, %d5 : $p, $q\n"
    "  %y2 = stablehlo.convert %y1 : ($q) -> $w\n"
    "  %y = stablehlo.or %y2, %sign : $w\n";

static const char to_f32[] = "  %quiet = stablehlo.constant dense<0x7fc00000> : $w\n"
                             "  %out = stablehlo.select %nan, %quiet, %y : $p, $w\n";

static const char to_bf16[] = "  %quiet = stablehlo.constant dense<0x7fc0> : $w\n"
                              "  %one32 = stablehlo.constant dense<1> : $w\n"
                              "  %shift16 = stablehlo.constant dense<16> : $w\n"
                              "  %half16 = stablehlo.constant dense<0x7fff> : $w\n"
                              "  %h1 = stablehlo.shift_right_logical %y, %shift16 : $w\n"
                              "  %h2 = stablehlo.and %h1, %one32 : $w\n"
                              "  %h3 = stablehlo.add %y, %half16 : $w\n"
                              "  %h4 = stablehlo.add %h3, %h2 : $w\n"
                              "  %h5 = stablehlo.shift_right_logical %h4, %shift16 : $w\n"
                              "  %h6 = stablehlo.select %nan, %quiet, %h5 : $p, $w\n"
                              "  %out = stablehlo.convert %h6 : ($w) -> $h\n";

/*  As f32 was made of f64; a denormal is a number of 2^-24, and a denormal of f32 is zero. */
static const char to_f16[] =
    "  %quiet = stablehlo.constant dense<0x7e00> : $w\n"
    "  %one32 = stablehlo.constant dense<1> : $w\n"
    "  %shift13 = stablehlo.constant dense<13> : $w\n"
    "  %shift16 = stablehlo.constant dense<16> : $w\n"
    "  %half13 = stablehlo.constant dense<0x0fff> : $w\n"
    "  %rebias16 = stablehlo.constant dense<0x1c000> : $w\n"
    "  %infinite16 = stablehlo.constant dense<0x7c00> : $w\n"
    "  %normals16 = stablehlo.constant dense<0x38800000> : $w\n"
    "  %low11 = stablehlo.constant dense<0x07ff> : $w\n"
    "  %two24 = stablehlo.constant dense<0x4B800000> : $f\n"
    "  %two23 = stablehlo.constant dense<0x4B000000> : $f\n"
    "  %h1 = stablehlo.shift_right_logical %y2, %shift13 : $w\n"
    "  %h2 = stablehlo.and %h1, %one32 : $w\n"
    "  %h3 = stablehlo.add %y2, %half13 : $w\n"
    "  %h4 = stablehlo.add %h3, %h2 : $w\n"
    "  %h5 = stablehlo.shift_right_logical %h4, %shift13 : $w\n"
    "  %h6 = stablehlo.subtract %h5, %rebias16 : $w\n"
    "  %h7 = stablehlo.minimum %h6, %infinite16 : $w\n"
    "  %e1 = stablehlo.bitcast_convert %y2 : ($w) -> $f\n"
    "  %e2 = stablehlo.multiply %e1, %two24 : $f\n"
    "  %e3 = stablehlo.add %e2, %two23 : $f\n"
    "  %e4 = stablehlo.bitcast_convert %e3 : ($f) -> $w\n"
    "  %e5 = stablehlo.and %e4, %low11 : $w\n"
    "  %normal16 = stablehlo.compare GE, %y2, %normals16, UNSIGNED : ($w, $w) -> $p\n"
    "  %g1 = stablehlo.select %normal16, %h7, %e5 : $p, $w\n"
    "  %g2 = stablehlo.shift_right_logical %sign, %shift16 : $w\n"
    "  %g3 = stablehlo.or %g1, %g2 : $w\n"
    "  %g4 = stablehlo.select %nan, %quiet, %g3 : $p, $w\n"
    "  %out = stablehlo.convert %g4 : ($w) -> $h\n";

static const char channels_last[] = "  return %out : $r\n}\n";
static const char channels_first[] =
    "  %turned = stablehlo.transpose %out, dims = [0, 2, 1] : ($h) -> $r\n"
    "  return %turned : $r\n}\n";

static const char *element_type(char of, const tnd_row_cast_t *cast)
{
    static const char *const inputs[TND_DTYPE_COUNT] = {
        [TND_U8] = "ui8", [TND_I16] = "i16", [TND_U16] = "ui16", [TND_F32] = "f32"};
    switch (of) {
    case 'x':
        return inputs[cast->from];
    case 'h':
    case 'r':
        return cast->to == TND_F32 ? "ui32" : "ui16";
    case 'q':
        return "ui64";
    case 'w':
        return "ui32";
    case 'p':
        return "i1";
    case 'f':
        return "f32";
    default:
        return "f64";
    }
}

static void write_type(FILE *out, char of, const tnd_row_cast_t *cast, uint64_t rows)
{
    uint64_t pixels = cast->elements / cast->channels, channels = cast->channels;
    bool turned = of == 'r' && cast->channels_first;
    fputs("tensor<", out);
    if (of != 'c')
        fprintf(out, "%" PRIu64 "x%" PRIu64 "x", rows, turned ? channels : pixels);
    fprintf(out, "%" PRIu64 "x%s>", turned ? pixels : channels, element_type(of, cast));
}

char *tnd_stablehlo_cast(const tnd_row_cast_t *cast, uint64_t rows, size_t *length_p)
{
    const char *const texts[] = {program_begins, cast->from == TND_F32 ? from_f32 : from_integer,
                                 program_computes,
                                 cast->to == TND_F32   ? to_f32
                                 : cast->to == TND_F16 ? to_f16
                                                       : to_bf16,
                                 cast->channels_first ? channels_first : channels_last};
    char *code;
    FILE *out = tnd_memory_stream(&code, length_p);
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
        for (const char *at = texts[i]; *at != '\0'; at++)
            if (*at == '$')
                write_type(out, *++at, cast, rows);
            else
                putc(*at, out);
    fclose(out);
    return code;
}
