#!/usr/bin/env python3
"""Batches of rows of about one length: what they need, and where a run resumes."""
import itertools
import json
import random
import re
import struct
import sys

from faults import write_npy
from named import in_folder, run_named
from run import tundish

GRAPH = """tundish: 1
name: buckets
seed: 11
actors:
  read:  {{kind: reader, source: {{npy: {{x: {{values: {folder}/x.npy, splits: {folder}/s.npy}}}}}}, epochs: 2}}
  batch: {{kind: batcher, bucket: {{column: x, bounds: {bounds}, sizes: {sizes}, window: {window}}}}}
  feed:  {{kind: feeder}}
links:
  - read -> batch -> feed
checkpoint: {{dir: {folder}/kept, every: 7 steps}}
"""


BOUNDS, SIZES, WINDOW, STEPS = (20, 60), (32, 16, 8), 1000, 77


def rows_of_window(lengths):
    """How many rows of its window have been read when batch STEPS is complete."""
    steps, waiting = 0, [0, 0, 0]
    for row, length in enumerate(lengths):
        if row % WINDOW == 0:
            steps, waiting = steps + sum(rows > 0 for rows in waiting), [0, 0, 0]
        bucket = sum(length >= bound for bound in BOUNDS)
        waiting[bucket] += 1
        if waiting[bucket] == SIZES[bucket]:
            steps, waiting[bucket] = steps + 1, 0
        if steps == STEPS:
            return row % WINDOW + 1
    raise AssertionError("too few rows")


def write(folder):
    draw = random.Random(3)
    lengths = [draw.randrange(100) for _ in range(3000)]
    for name, numbers in (("x", range(sum(lengths))), ("s", [0, *itertools.accumulate(lengths)])):
        write_npy(folder / f"{name}.npy", "<i8", (len(numbers),),
                  struct.pack(f"<{len(numbers)}q", *numbers))
    path = folder / "graph.yaml"
    path.write_text(GRAPH.format(folder=folder, bounds=list(BOUNDS), sizes=list(SIZES), window=WINDOW))
    return path, lengths


def test_a_run_resumes_in_the_middle_of_a_window(folder):
    graph, lengths = write(folder)
    whole = tundish("run", graph, "--set", f"checkpoint.dir={folder}/other").report["stream_digest"]
    told = tundish("run", graph, "--steps", STEPS).output
    assert "rows again" not in told, told
    report = folder / "report.json"
    told = tundish("run", graph, "--resume", "--report", report, report=False).output
    assert json.loads(report.read_text())["stream_digest"] == whole, told
    again = re.findall(r"has read (\d+) rows again, from the start of a window", told)
    assert again == [str(rows_of_window(lengths))], told


def test_explain_prints_bounds_and_leaves_the_size_to_the_buckets(folder):
    told = tundish("explain", write(folder)[0], report=False).output
    assert "bounds: [20, 60], sizes: [32, 16, 8]" in told, told
    assert "size: null" in told, told


def test_a_row_that_is_too_long_in_another_column_is_named(folder):
    rows = 40
    for name, lengths in (("x", [9] * rows), ("y", [9] * 29 + [10] + [9] * 10)):
        write_npy(folder / f"{name}.npy", "<i8", (sum(lengths),), bytes(8 * sum(lengths)))
        splits = [0, *itertools.accumulate(lengths)]
        write_npy(folder / f"{name}s.npy", "<i8", (len(splits),), struct.pack(f"<{len(splits)}q", *splits))
    columns = ", ".join(f"{name}: {{values: {folder}/{name}.npy, splits: {folder}/{name}s.npy}}" for name in "xy")
    graph = folder / "graph.yaml"
    graph.write_text(f"""tundish: 1
seed: 5
actors:
  read:  {{kind: reader, source: {{npy: {{{columns}}}}}, shuffle: global, epochs: 1}}
  batch: {{kind: batcher, bucket: {{column: x, bounds: [10], sizes: [4, 2], pad: bound}}}}
  feed:  {{kind: feeder}}
links:
  - read -> batch -> feed
""")
    told = tundish("run", graph, report=False, expect=1).output
    assert "record 29 of " in told and "x.npy" in told, told
    assert "batch: the row has 10 elements in `y`, but `pad: bound` pads its bucket to 9" in told, told
    assert "or use `pad: longest`" in told and "on_error" not in told, told


if __name__ == "__main__":
    sys.exit(run_named(globals(), sys.argv[1:], in_folder))
