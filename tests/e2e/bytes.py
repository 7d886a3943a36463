#!/usr/bin/env python3
"""Rows whose sizes differ a thousandfold: one stream, whatever the workers and the blocks, also if the
worker that holds the largest row dies.

Usage: bytes.py [NAME...]; without a name it lists them.
"""
import pathlib
import random
import struct
import sys
import tempfile

from faults import write_npy
from named import run_named
from run import BUILD, tundish

ROWS, LARGE, LARGE_BYTES = 3000, 1777, 16 << 20
BLOCKS = ("1 rows", "64KiB", "4MiB")
PAD = "{pad_ragged: {column: x, to: 256, cut: true}}"
GRAPH = """tundish: 1
seed: 5
data: {folder}
restarts: {{max: 100, backoff: 10 ms}}
actors:
  read: {{kind: reader, source: {{npy: {{y: "${{data}}/y.npy", x: {{values: "${{data}}/x.npy", splits: "${{data}}/s.npy"}}}}}}, shuffle: global{read}}}
  prep: {{kind: preprocessor, workers: {workers}{prep}, ops: [{ops}]}}
  batch: {{kind: batcher, size: 96, replicas: 3{batch}}}
  feed: {{kind: feeder, depth: 2}}
links:
  - read -> prep -> batch -> feed
"""


def write_rows(folder, most=40000, large=LARGE_BYTES):
    draw = random.Random(11)
    sizes = [draw.choice((draw.randint(0, 9), draw.randint(150, 350), draw.randint(1, most)))
             for _ in range(ROWS)]
    sizes[LARGE] = large
    splits = [0]
    for size in sizes:
        splits.append(splits[-1] + size)
    write_npy(folder / "y.npy", "<i8", (ROWS,), struct.pack(f"<{ROWS}q", *range(ROWS)))
    write_npy(folder / "x.npy", "|u1", (splits[-1],), draw.randbytes(splits[-1]))
    write_npy(folder / "s.npy", "<i8", (ROWS + 1,), struct.pack(f"<{ROWS + 1}q", *splits))


def digest(folder, workers=1, block=None, read="", prep="", ops=PAD):
    path = folder / "graph.yaml"
    path.write_text(GRAPH.format(folder=folder, workers=workers, read=read, prep=prep, ops=ops,
                                 batch=f", block: {block}" if block else ""))
    ran = tundish("run", path, env={"TUNDISH_PLUGIN_PATH": str(BUILD / "tests")})
    assert ran.report["bad"] == [], ran.report["bad"]
    return ran.report["stream_digest"]


def test_workers_and_blocks_do_not_change_the_stream(folder):
    for ops in (PAD, "{repeat_rows: {times: 2}}, " + PAD):
        expected = digest(folder, ops=ops)
        for workers in (1, 2, 5):
            for block in BLOCKS:
                read = ", access: read" if workers == 2 else ""
                got = digest(folder, workers, block, read, ops=ops)
                assert got == expected, f"{workers} workers, {block}: {got} is not {expected}"


def test_the_worker_that_holds_the_largest_row_dies(folder):
    expected = digest(folder)
    for workers in (1, 2, 5):
        for block in BLOCKS:
            died = folder / f"died-{workers}-{block}"
            fatal = f'{{plugin: fatal.fatal, refuse: 0, kill: {LARGE}, once: "{died}"}}, {PAD}'
            got = digest(folder, workers, block, prep=", isolate: process", ops=fatal)
            assert died.exists(), "no worker died"
            assert got == expected, f"{workers} workers, {block}: {got} is not {expected}"


def test_operations_make_more_than_the_budget(folder):
    write_rows(folder, most=3000, large=20000)
    ops = "{repeat_rows: {times: 3}}"
    expected = digest(folder, ops=ops)
    for workers in (1, 3):
        for block in ("1KiB", "5KiB", "30KiB"):
            got = digest(folder, workers, block, ops=ops)
            assert got == expected, f"{workers} workers, {block}: {got} is not {expected}"


def call(test):
    with tempfile.TemporaryDirectory() as folder:
        write_rows(pathlib.Path(folder))
        test(pathlib.Path(folder))


if __name__ == "__main__":
    sys.exit(run_named(globals(), sys.argv[1:], call))
