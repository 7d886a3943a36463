#!/usr/bin/env python3
"""The permutation of runtime/core/numeric/permute.h said again in Python; writes permute.txt.

A line is `COUNT SEED EPOCH POSITION SAMPLE...`: samples from that position on.
"""
import math
import os

M32, M64 = 2**32 - 1, 2**64 - 1


def philox(counter, key):
    c, k = list(counter), list(key)
    for _ in range(10):
        a, b = 0xD2511F53 * c[0], 0xCD9E8D57 * c[2]
        c = [b >> 32 ^ c[1] ^ k[0], b & M32, a >> 32 ^ c[3] ^ k[1], a & M32]
        k = [k[0] + 0x9E3779B9 & M32, k[1] + 0xBB67AE85 & M32]
    return c


def permutation(count, seed, epoch):
    """A function from a position of the epoch to its sample."""
    width = math.isqrt(count - 1) + 1
    height = -(-count // width)
    rounds = 24 if count < 32 else 12 if count < 256 else 6

    def words(number):
        counter = (epoch & M32, epoch >> 32, number, 0x7065726D)
        w = philox(counter, (seed & M32, seed >> 32))
        return [w[0] | w[1] << 32, w[2] | w[3] << 32]

    swap = words(M32)[0] & 1 if count > 1 else 0
    keys = [key for i in range(0, rounds, 2) for key in words(i)]

    def mix(x, key, bound):
        x = (x ^ key) * 0x9E3779B97F4A7C15 & M64
        x = (x ^ x >> 32) * 0xD6E8FEB86659FD93 & M64
        return (x >> 32) * bound >> 32

    def at(position):
        value = position ^ swap if position < 2 else position
        while True:
            row, column = divmod(value, width)
            for i in range(0, rounds, 2):
                row = (row + mix(column, keys[i], height)) % height
                column = (column + mix(row, keys[i + 1], width)) % width
            value = row * width + column
            if value < count:
                return value
    return at


CASES = [
    (1, 7, 0, 0, 1), (2, 7, 0, 0, 2), (2, 8, 1, 0, 2), (3, 7, 0, 0, 3), (10, 7, 3, 0, 10),
    (31, 1, 0, 0, 31), (32, 1, 0, 0, 32), (255, 2**63, 5, 200, 20), (256, 2**64 - 1, 6, 0, 20),
    (60000, 7, 0, 0, 30), (60000, 7, 1, 0, 30), (65537, 1, 2**40, 65500, 37),
    (1281167, 42, 89, 640000, 20), (2**33 + 1, 3, 0, 2**33 - 10, 11), (2**52 - 3, 4, 9, 2**51, 20),
    (2**63 - 1, 5, 1, 2**63 - 21, 20),
]


def main():
    name = os.path.join(os.path.dirname(os.path.abspath(__file__)), "permute.txt")
    with open(name, "w", encoding="utf-8") as file:
        file.write("# Written by permute.py. Do not edit.\n")
        for count, seed, epoch, first, most in CASES:
            at = permutation(count, seed, epoch)
            samples = [at(p) for p in range(first, first + most)]
            file.write(" ".join(map(str, [count, seed, epoch, first] + samples)) + "\n")


if __name__ == "__main__":
    main()
