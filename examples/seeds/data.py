#!/usr/bin/env python3
"""Writes the small data that the graphs of this folder read: python3 data.py FOLDER (needs NumPy)."""
import pathlib
import struct
import sys

import numpy

CRC = numpy.arange(256, dtype="u4")
for _ in range(8):
    CRC = numpy.where(CRC & 1, CRC >> 1 ^ 0x82f63b78, CRC >> 1)
CRC = CRC.tolist()


def masked(data):
    """The masked CRC-32C of TFRecord files."""
    crc = 0xffffffff
    for byte in data:
        crc = CRC[(crc ^ byte) & 255] ^ crc >> 8
    crc ^= 0xffffffff
    return ((crc >> 15 | crc << 17) + 0xa282ead8) & 0xffffffff


def message(number, data):
    """A field of a protocol buffer with a length."""
    assert len(data) < 1 << 14
    size = bytes([len(data)]) if len(data) < 128 else bytes([len(data) & 127 | 128, len(data) >> 7])
    return bytes([number << 3 | 2]) + size + data


def example(number):
    """A tf.Example: x, eight floats, and y, one."""
    def feature(name, values):
        floats = message(2, message(1, numpy.asarray(values, "<f4").tobytes()))
        return message(1, message(1, name.encode()) + message(2, floats))
    return message(1, feature("x", number + numpy.arange(8) / 8) + feature("y", [number % 3]))


def write_records(path, numbers):
    with open(path, "wb") as file:
        for record in map(example, numbers):
            head = struct.pack("<Q", len(record))
            file.write(head + struct.pack("<I", masked(head)) + record + struct.pack("<I", masked(record)))


def write(folder):
    folder = pathlib.Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    draw = numpy.random.RandomState(1)  # whose numbers do not change with NumPy
    arrays = {
        "ten_x": numpy.arange(1, 11, dtype="i4"), "ten_y": numpy.arange(10, dtype="i4") % 2,
        "one_x": numpy.ones((4, 1), "f4"), "one_y": numpy.ones((4, 1), "f4"),
        "id": numpy.arange(650, dtype="i4"), "label": numpy.arange(650, dtype="i4") % 3 % 2,
        "image": draw.randint(0, 256, (650, 8, 8, 3)).astype("u1"),
        "input": draw.rand(1001, 8).astype("f4"), "output": draw.rand(1001, 2).astype("f4"),
    }
    arrays["input"][:, 0] = numpy.arange(1001)  # says which row it is
    for name, array in arrays.items():
        numpy.save(folder / f"{name}.npy", array)
    write_records(folder / "my_dataset.tfrecord", range(100))
    write_records(folder / "data_partition_0.tfrecord", range(48))
    write_records(folder / "data_partition_1.tfrecord", range(50, 98))
    for shard, rows in enumerate((24, 20, 28, 22, 20, 24, 16, 22)):
        write_records(folder / f"data_shard_{shard}", range(100 * shard, 100 * shard + rows))


if __name__ == "__main__":
    if len(sys.argv) != 2 or sys.argv[1].startswith("-"):
        sys.exit(f"usage: {sys.argv[0]} FOLDER")
    write(sys.argv[1])
