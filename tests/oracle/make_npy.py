"""Writes arrays of all types in the formats that the sources read, and what NumPy makes of them.

    make_npy.py FOLDER

FOLDER/sources.txt has a line a file: format, file, dtype, rows, bytes of a row; beside FILE stands
FILE.rows: rows (5 * i + 3) mod n for i = 0 ... n - 1 as they must be read, little-endian.
FOLDER/ops.txt has a line a chain: name, columns that go in, columns that come out, operations; each
column is a file FOLDER/NAME.in.COLUMN.npy or NAME.out.COLUMN.npy.
"""
import gzip
import io
import os
import struct
import sys

import numpy as np
from numpy.lib import format as npy_format

FOLDER = sys.argv[1]
RNG = np.random.default_rng(12345)
NAMES = {"uint8": "u8", "int8": "i8", "uint16": "u16", "int16": "i16", "uint32": "u32",
         "int32": "i32", "uint64": "u64", "int64": "i64", "float16": "f16", "float32": "f32",
         "float64": "f64", "bool": "bool"}
IDX = {"uint8": 0x08, "int8": 0x09, "int16": 0x0B, "int32": 0x0C, "float32": 0x0D, "float64": 0x0E}
SHAPES = [(11,), (13, 3), (7, 4, 5), (1, 2, 1, 3)]


def path(name):
    return os.path.join(FOLDER, name)


def numbers(dtype, shape):
    """Random bits, so that every byte matters; for floats without NaN."""
    dtype = np.dtype(dtype)
    count = int(np.prod(shape))
    if dtype == np.bool_:
        return RNG.integers(0, 2, shape).astype(np.bool_)
    data = np.frombuffer(RNG.bytes(count * dtype.itemsize), dtype).reshape(shape).copy()
    if dtype.kind == "f":
        data[np.isnan(data)] = dtype.type(-0.0)
    return data


def note_source(lines, kind, name, array):
    rows = len(array)
    order = [(5 * i + 3) % rows for i in range(rows)]
    with open(path(name + ".rows"), "wb") as file:
        file.write(np.ascontiguousarray(array[order]).tobytes())
    lines.append("%s %s %s %d %d" % (kind, name, NAMES[array.dtype.name], rows,
                                     array[0].nbytes))


def make_npy(lines):
    for dtype in NAMES:
        for number, shape in enumerate(SHAPES):
            array = numbers(dtype, shape)
            version = [(1, 0), (2, 0), (3, 0), None][number]
            name = "%s_%d.npy" % (dtype, number)
            with open(path(name), "wb") as file:
                npy_format.write_array(file, array, version=version)
            note_source(lines, "npy", name, array)


def idx_bytes(array):
    header = struct.pack(">BBBB", 0, 0, IDX[array.dtype.name], array.ndim)
    header += b"".join(struct.pack(">I", size) for size in array.shape)
    return header + array.astype(array.dtype.newbyteorder(">")).tobytes()


def make_idx(lines):
    for dtype in IDX:
        for number, shape in enumerate(SHAPES):
            array = numbers(dtype, shape)
            name = "%s_%d.idx" % (dtype, number)
            content = idx_bytes(array)
            with open(path(name), "wb") as file:
                file.write(content)
            note_source(lines, "idx", name, array)
            half = len(content) // 2
            with open(path(name + ".gz"), "wb") as file:  # two members make one content
                file.write(gzip.compress(content[:half]) + gzip.compress(content[half:]))
            note_source(lines, "idx", name + ".gz", array)


def make_refused():
    np.save(path("fortran.npy"), np.asfortranarray(np.arange(12.0).reshape(3, 4)))
    np.save(path("objects.npy"), np.array([{}, 1], dtype=object), allow_pickle=True)
    np.save(path("records.npy"), np.zeros(3, dtype=[("x", "<f4"), ("y", "<i2")]))
    np.save(path("big.npy"), np.arange(3, dtype=">f4"))
    np.save(path("complex.npy"), np.zeros(3, dtype=np.complex64))
    np.save(path("text.npy"), np.array(["a", "b"]))
    np.save(path("dates.npy"), np.array(["2020-01-01"], dtype="datetime64[D]"))
    np.save(path("scalar.npy"), np.float32(3))
    np.save(path("empty.npy"), np.zeros((0, 3), dtype=np.float32))
    np.save(path("column.npy"), np.asfortranarray(np.arange(5, dtype=np.int32)))
    whole = io.BytesIO()
    np.save(whole, np.arange(100, dtype=np.int64))
    with open(path("truncated.npy"), "wb") as file:
        file.write(whole.getvalue()[:-9])
    with open(path("longer.npy"), "wb") as file:
        file.write(whole.getvalue() + b"x")


def main():
    sources = []
    make_npy(sources)
    make_idx(sources)
    make_refused()
    with open(path("sources.txt"), "w") as file:
        file.write("\n".join(sources) + "\n")


main()
