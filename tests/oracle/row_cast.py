#!/usr/bin/env python3
"""Prints what runtime/core/numeric/row_cast.h must give, by exact arithmetic (fractions).

    tests/oracle/row_cast.py > tests/oracle/row_cast.txt

A line has the type and bits of x, the bits of scale and bias (f32), and those of the result as f32,
f16 and bf16.  The result is rounded once to f32, then to the other types, to nearest, ties to even;
rounding is done here on integers, not by the machine.
"""
import random
import struct
from fractions import Fraction

WIDTHS = {"f32": (8, 23), "f16": (5, 10), "bf16": (8, 7)}  # bits of exponent and fraction
NAN = {"f32": 0x7FC00000, "f16": 0x7E00, "bf16": 0x7FC0}


def value_of(bits):
    """An f32 as (sign, Fraction), (sign, "inf") or "nan"."""
    sign, exponent, fraction = bits >> 31, bits >> 23 & 255, bits & 0x7FFFFF
    if exponent == 255:
        return "nan" if fraction else (sign, "inf")
    whole = fraction | (0x800000 if exponent else 0)
    return sign, Fraction(whole) * Fraction(2) ** (max(exponent, 1) - 150)


def rounded(sign, size, kind):
    """The bits nearest to a number that is not negative, with this sign."""
    exponents, fractions = WIDTHS[kind]
    bias = 2 ** (exponents - 1) - 1
    high = sign << exponents + fractions
    if size == 0:
        return high
    exponent = max(1 - bias, size.numerator.bit_length() - size.denominator.bit_length() - 1)
    while size >= Fraction(2) ** (exponent + 1):
        exponent += 1
    scaled = size / Fraction(2) ** (exponent - fractions)
    whole = scaled.numerator // scaled.denominator
    rest = scaled - whole
    whole += rest > Fraction(1, 2) or (rest == Fraction(1, 2) and whole % 2 == 1)
    # A carry moves into the exponent, and from the denormal numbers into the normal ones.
    bits = (exponent + bias - 1 << fractions) + whole
    infinite = (2 ** exponents - 1) << fractions
    return high | min(bits, infinite)


def narrowed(bits, kind):
    value = value_of(bits)
    if value == "nan":
        return NAN[kind]
    sign, size = value
    exponents, fractions = WIDTHS[kind]
    if size == "inf":
        return sign << exponents + fractions | (2 ** exponents - 1) << fractions
    return rounded(sign, size, kind)


def fused(x, scale, bias):
    """x * scale + bias, rounded once to f32."""
    if "nan" in (x, scale, bias):
        return NAN["f32"]
    sign = x[0] ^ scale[0]
    if "inf" in (x[1], scale[1]):
        if 0 in (x[1], scale[1]) or (bias[1] == "inf" and bias[0] != sign):
            return NAN["f32"]
        return sign << 31 | 0x7F800000
    if bias[1] == "inf":
        return bias[0] << 31 | 0x7F800000
    product = x[1] * scale[1]
    total = (-product if sign else product) + (-bias[1] if bias[0] else bias[1])
    if total == 0:
        return (sign & bias[0] if product == 0 and bias[1] == 0 else 0) << 31
    return rounded(int(total < 0), abs(total), "f32")


def float_bits(number):
    return struct.unpack("<I", struct.pack("<f", number))[0]


SPECIAL = [0, 0x80000000, 1, 0x80000001, 0x7FFFFF, 0x800000, 0x7F7FFFFF, 0x7F800000, 0xFF800000,
           0x7FC00000, 0x7F800001, 0xFFC12345, 0x3F800000, 0xBF800000, 0x3F800001, 0x33000000,
           0x33000001, 0x387FE000, 0x38800000, 0x477FEFFF, 0x477FF000, 0x3F808000, 0x3F818000]
INTEGERS = {"u8": range(0, 256, 5), "i16": [-32768, -32767, -255, -1, 0, 1, 3, 12345, 32767],
            "u16": [0, 1, 2, 255, 256, 40000, 65504, 65519, 65520, 65535]}
FACTORS = [(1.0, 0.0), (1 / 255, 0.0), (0.017124753, -2.117904), (2 ** -24, 0.0), (2 ** -149, 0.0),
           (3e38, 3e38), (-1.0, 1.0), (0.0, -0.0), (-0.0, -0.0), (2 ** -25, 2 ** -24), (1e-40, 0.0)]


def cases():
    chance = random.Random(15)
    for kind, numbers in INTEGERS.items():
        for number in numbers:
            for scale, bias in FACTORS:
                yield kind, number, float_bits(number), float_bits(scale), float_bits(bias)
    for x in SPECIAL:
        for scale, bias in FACTORS:
            yield "f32", x, x, float_bits(scale), float_bits(bias)
    for _ in range(600):
        x, scale, bias = (chance.choice(SPECIAL) if chance.random() < 0.2 else chance.getrandbits(32)
                          for _ in range(3))
        yield "f32", x, x, scale, bias
    for _ in range(300):  # sums that nearly cancel: rounding the product first gives other bits
        x, scale = (float_bits(chance.uniform(1, 2)) for _ in range(2))
        product = value_of(x)[1] * value_of(scale)[1]
        yield "f32", x, x, scale, rounded(1, product, "f32")


def main():
    print("# from x scale bias f32 f16 bf16, by tests/oracle/row_cast.py")
    for kind, x, as_f32, scale, bias in cases():
        y = fused(value_of(as_f32), value_of(scale), value_of(bias))
        mask = {"u8": 0xFF, "i16": 0xFFFF, "u16": 0xFFFF, "f32": 0xFFFFFFFF}[kind]
        print(f"{kind} {x & mask:x} {scale:x} {bias:x} {y:x} {narrowed(y, 'f16'):x} "
              f"{narrowed(y, 'bf16'):x}")


main()
