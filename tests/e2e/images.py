#!/usr/bin/env python3
"""JPEG and PNG files to pictures of one shape: rows, bad rows, processes of their own, and errors.

Usage: images.py NAME...; without a name it lists them.
"""
import json
import os
import re
import shutil
import struct
import subprocess
import sys
import zlib

from named import in_folder, run_named
from run import BUILD, ROOT, TUNDISH, tundish

GRAPH = """tundish: 1
seed: 7
actors:
  read:  {{kind: reader, source: {{folder: {{files: "{folder}/*.*", column: image}}}}{reader}}}
  prep:  {{kind: preprocessor, on_error: {on_error}{prep}, ops: [{{decode_image: {{column: image, {options}}}}}]}}
  batch: {{kind: batcher, size: 4}}
  feed:  {{kind: feeder}}
links:
  - read -> prep -> batch -> feed
"""
FIT = "then: [{resize_with_crop_or_pad: {size: [8, 10]}}]"


def jpeg(name):
    """A file of TensorFlow's vectors."""
    for line in (ROOT / "tests/oracle/image.txt").read_text().splitlines():
        found = re.fullmatch(rf"file {name} : ([0-9a-f-]*)", line)
        if found:
            return bytes.fromhex(found[1].strip("-"))
    raise AssertionError(name)


def chunk(name, data):
    return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))


def png(height, width, kind, depth, pixels, interlaced=False):
    """`pixels(y, x)`: the bytes of a pixel. Interlaced: the seven passes of Adam7."""
    passes = [(0, 0, 8, 8), (0, 4, 8, 8), (4, 0, 8, 4), (0, 2, 4, 4), (2, 0, 4, 2), (0, 1, 2, 2), (1, 0, 2, 1)]
    raw = b""
    for top, left, down, right in passes if interlaced else [(0, 0, 1, 1)]:
        for y in range(top, height, down):
            line = b"".join(pixels(y, x) for x in range(left, width, right))
            raw += b"\0" + line if line else b""
    head = struct.pack(">IIBBBBB", width, height, depth, kind, 0, 0, int(interlaced))
    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(raw)) +
            chunk(b"IEND", b""))


def write(folder, on_error="stop", prep="", options=FIT, reader=""):
    graph = folder / "graph.yaml"
    (folder / "data").mkdir(exist_ok=True)
    graph.write_text(GRAPH.format(folder=folder / "data", on_error=on_error, prep=prep, options=options,
                                  reader=reader))
    return graph


def rows(graph, *more):
    done = subprocess.run([str(TUNDISH), "head", str(graph), "--json", "--steps", "99", *more],
                          capture_output=True, text=True, timeout=60, cwd=ROOT)
    assert done.returncode == 0, done.stderr
    return [row for step in map(json.loads, done.stdout.splitlines()) for row in split(step["columns"]["image"])]


def split(column):
    size = 1
    for side in column["shape"][1:]:
        size *= side
    return [column["data"][at:at + size] for at in range(0, len(column["data"]), size)]


def test_pictures_of_every_kind_are_decoded(folder):
    graph = write(folder, options="then: [{crop_to: {size: [8, 10]}}]")
    plain = lambda y, x: bytes([y * 20, x * 20, 7])
    wide = lambda y, x: bytes([y * 20, 99, x * 20, 1, 7, 255])
    palette = png(8, 10, 2, 8, plain)
    (folder / "data/a.png").write_bytes(palette)
    (folder / "data/b.png").write_bytes(png(8, 10, 2, 8, plain, interlaced=True))
    (folder / "data/c.png").write_bytes(png(8, 10, 2, 16, wide))
    (folder / "data/d.png").write_bytes(png(8, 10, 6, 8, lambda y, x: plain(y, x) + b"\x05"))
    (folder / "data/e.png").write_bytes(png(8, 10, 0, 8, lambda y, x: bytes([y * 20])))
    wanted = [value for y in range(8) for x in range(10) for value in plain(y, x)]
    grey = [y * 20 for y in range(8) for _ in range(30)]
    assert rows(graph) == [wanted, wanted, wanted, wanted, grey]
    one = write(folder, options="channels: 4, then: [{crop_to: {size: [1, 1]}}]")
    assert rows(one) == [[0, 0, 7, 255]] * 3 + [[0, 0, 7, 5], [0, 0, 0, 255]]


def test_sixteen_bits_per_channel_are_kept(folder):
    """The numbers of tf.io.decode_png(dtype=tf.uint16): 8 bits times 257, grey by libpng's weights."""
    deep = lambda y, x: struct.pack(">H", 1000 + 4 * y + x)
    (folder / "data").mkdir()
    files = {"a": png(4, 4, 0, 16, deep), "b": png(4, 4, 0, 16, deep, interlaced=True),
             "c": png(4, 4, 2, 16, lambda y, x: struct.pack(">3H", 65535, 300 * y, 7 * x)),
             "d": png(4, 4, 2, 8, lambda y, x: bytes([200, 30 * y, 7 * x])),
             "e": png(4, 4, 6, 16, lambda y, x: struct.pack(">4H", 1, 2, 3, 4 + x))}
    for name, data in files.items():
        (folder / f"data/{name}.png").write_bytes(data)
    every = [(y, x) for y in range(4) for x in range(4)]
    grey = list(range(1000, 1016))
    luma = lambda r, g, b, half: (9797 * r + 19234 * g + 3737 * b + half) >> 15
    fit = "then: [{resize_with_crop_or_pad: {size: [4, 4]}}]"
    assert rows(write(folder, options="channels: 1, dtype: u16, " + fit)) == [
        grey, grey, [luma(65535, 300 * y, 7 * x, 16384) for y, x in every],
        [luma(200, 30 * y, 7 * x, 0) * 257 for y, x in every], [2] * 16]
    four = rows(write(folder, options="channels: 4, dtype: u16, " + fit))
    assert four[0] == [n for value in grey for n in (value, value, value, 65535)]
    assert four[3] == [n * 257 for y, x in every for n in (200, 30 * y, 7 * x, 255)]
    assert four[4] == [n for _, x in every for n in (1, 2, 3, 4 + x)]
    floats = rows(write(folder, options="channels: 1, dtype: f32, " + fit))
    assert all(abs(got - n / 257) < 1e-6 for got, n in zip(floats[0], grey)), floats[0]
    assert rows(write(folder, options="channels: 1, " + fit))[0] == [3] * 16
    for name in "bcde":
        (folder / f"data/{name}.png").unlink()
    half = rows(write(folder, options="channels: 1, dtype: u16, then: [{crop_to: {size: [2, 4], at: [1, 0]}}, "
                                      "{resize: {size: [1, 2]}}]"))
    assert half == [[1006, 1008]]  # 1006.5 and 1008.5 of tf.image.resize, rounded to even
    padded = rows(write(folder, options="channels: 1, dtype: u16, then: [{resize_with_crop_or_pad: {size: [4, 6]}}]"))
    assert padded[0][:7] == [0, 1000, 1001, 1002, 1003, 0, 0]
    (folder / "data/a.png").write_bytes(jpeg("img_444.jpg"))
    small = "then: [{crop_to: {size: [2, 3]}}]"
    plain = rows(write(folder, options=small))
    assert rows(write(folder, options="dtype: u16, " + small)) == [[256 * n for n in plain[0]]]


def test_bad_files_are_bad_rows_also_in_a_process_of_their_own(folder):
    good = ("img_420", "img_444", "img_gray")
    graph = write(folder)
    for name in (*good, "cut_420", "empty", "junk"):
        (folder / "data" / f"{name}.jpg").write_bytes(jpeg(name + ".jpg"))
    bomb = bytearray(jpeg("img_420.jpg"))
    at = bomb.index(b"\xff\xc0")
    bomb[at + 5:at + 9] = b"\xff\xdc\xff\xdc"
    (folder / "data/bomb.jpg").write_bytes(bomb)
    done = tundish("run", graph, report=False, expect=1)
    assert "bomb.jpg" in done.output and "operation 1, `decode_image`" in done.output, done.output
    assert "65500 x 65500 pixels" in done.output and "`max_pixels`" in done.output, done.output
    whole = tundish("run", write(folder, "skip")).report
    assert whole["rows"]["fed"] == 3 and sum(why["count"] for why in whole["bad"]) == 4, whole["rows"]
    apart = tundish("run", write(folder, "skip", ", isolate: process, workers: 2")).report
    assert apart["rows"] == whole["rows"] and apart["stream_digest"] == whole["stream_digest"]
    kept = tundish("run", write(folder, "skip", options="recover: true, max_pixels: 5000, " + FIT)).report
    assert kept["rows"]["fed"] == 4, kept["rows"]


def test_a_random_part_belongs_to_the_picture(folder):
    graph = write(folder, options="then: [{random_resized_crop: {size: 8}}]", reader=", shuffle: global, epochs: 3")
    for i in range(12):
        (folder / "data" / f"{i:02}.jpg").write_bytes(jpeg(("img_420.jpg", "img_444.jpg")[i % 2]))
    whole = tundish("run", graph).report["stream_digest"]
    for more in (["--set", "prep.workers=3"], ["--set", "read.workers=2", "--set", "prep.isolate=process"]):
        assert tundish("run", graph, *more).report["stream_digest"] == whole, more
    assert tundish("run", graph, "--set", "seed=8").report["stream_digest"] != whole


def test_a_picture_that_crashes_the_decoder_costs_five_workers_and_is_set_aside_alone(folder):
    marked = jpeg("img_444.jpg")
    marked = marked[:2] + b"\xff\xfe\x00\x09planted" + marked[2:]
    prep = ", isolate: process, workers: 1"
    graph = write(folder, "quarantine", prep, reader=f', shuffle: global, quarantine: "{folder}/aside"')
    for i in range(16):
        (folder / "data" / f"{i:02}.jpg").write_bytes(jpeg(("img_420.jpg", "img_gray.jpg")[i % 2]))
    (folder / "data/07.jpg").write_bytes(b"junk")
    junk = tundish("run", graph).report
    (folder / "data/07.jpg").write_bytes(marked)
    shutil.rmtree(folder / "aside")
    assert tundish("run", graph).report["rows"]["fed"] == 16  # the picture itself is a good one
    preload = {"LD_PRELOAD": str(BUILD / "tests/crash.so"), "CRASH": "planted"}
    for workers in (1, 3):
        done = subprocess.run([str(TUNDISH), "run", str(graph), "--set", f"prep.workers={workers}",
                               "--report", str(folder / "report.json")],
                              capture_output=True, text=True, timeout=60, cwd=ROOT, env={**os.environ, **preload})
        assert done.returncode == 0, done.stderr
        told = json.loads((folder / "report.json").read_text())
        assert told["rows"] == junk["rows"] and told["stream_digest"] == junk["stream_digest"], (told["rows"], junk["rows"])
        assert done.stderr.count("was killed by signal 11") == 5, done.stderr
        lines = [json.loads(line) for line in (folder / "aside/index.0.jsonl").read_text().splitlines()]
        assert len(lines) == 1 and "07.jpg" in str(lines), lines
        assert "ends the process that works on it" in lines[0]["reason"], lines
        shutil.rmtree(folder / "aside")


if __name__ == "__main__":
    sys.exit(run_named(globals(), sys.argv[1:], in_folder))
