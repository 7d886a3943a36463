#!/usr/bin/env python3
"""Writes digest.txt: digests of made-up rows, by the `xxhash` package of PyPI.

A line is `FIRST_RANK ROWS COLUMN... : DIGEST`, where COLUMN is its bytes a row, with an r after
where it is ragged (row k of a ragged column of n bytes then has (n + 3 k) % (n + 1) bytes). Byte i
of column j of row k is (i * i // 7 + 13 * i * j + 101 * k + 7 * j + 3) % 256.
"""
import os
import struct

import xxhash

CASES = [
    (0, 1, ["1"]), (0, 1, ["0"]), (7, 1, ["3"]), (1, 1, ["4"]), (2**63 + 5, 1, ["8"]),
    (3, 2, ["9", "16"]), (4, 3, ["17", "1"]), (5, 3, ["128", "2"]), (6, 2, ["129"]),
    (0, 4, ["240", "241"]), (0, 5, ["784", "1"]), (60000, 64, ["3136", "1"]), (9, 3, ["1024"]),
    (11, 2, ["1025", "4097"]), (2**64 - 2, 4, ["100", "8"]),
    (0, 1, ["0r"]), (0, 1, ["5r"]), (1, 7, ["4", "300r", "2"]), (12, 9, ["40r", "0r", "9r"]),
    (0, 1500, ["8", "40r", "9r"]),
]


def digest(first, rows, columns):
    total = 0
    for k in range(rows):
        seed = (first + k) % 2**64
        for j, column in enumerate(columns):
            size = int(column.rstrip("r"))
            if column.endswith("r"):
                size = (size + 3 * k) % (size + 1)
                seed = xxhash.xxh3_128_intdigest(struct.pack("<Q", size), seed) % 2**64
            data = bytes((i * i // 7 + 13 * i * j + 101 * k + 7 * j + 3) % 256 for i in range(size))
            value = xxhash.xxh3_128_intdigest(data, seed)
            seed = value % 2**64
        total += value
    return "%032x" % (total % 2**128)


def main():
    name = os.path.join(os.path.dirname(os.path.abspath(__file__)), "digest.txt")
    with open(name, "w", encoding="utf-8") as file:
        file.write("# python-xxhash %s, xxHash %s, written by digest.py. Do not edit.\n"
                   % (xxhash.VERSION, xxhash.XXHASH_VERSION))
        for first, rows, columns in CASES:
            file.write("%d %d %s : %s\n"
                       % (first, rows, " ".join(columns), digest(first, rows, columns)))


main()
