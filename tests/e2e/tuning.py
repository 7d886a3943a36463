#!/usr/bin/env python3
"""`workers: auto`, and the largest `depth`: how fast a run is changes, and the rows do not.

Usage: tuning.py NAME...; without a name it lists them.  Workers sleep for each row, so that they need no
processor, and others on this machine cannot take it from them.
"""
import re
import struct
import sys

from faults import write_npy
from named import in_folder, run_named
from run import BUILD, tundish

ROWS = 4000
GRAPH = """tundish: 1
seed: 7
lanes: {lanes}
actors:
  read: {{kind: reader, source: {{npy: {{y: {folder}/y.npy}}}}, shuffle: global}}
  prep: {{kind: preprocessor, workers: {workers}, ops: [{{plugin: drag, us: 1000}}]}}
  batch: {{kind: batcher, size: 40}}
  feed: {{kind: feeder}}
links:
  - read -> prep -> batch -> feed
"""


def run(folder, workers, lanes=1):
    path = folder / f"{workers}.yaml"
    path.write_text(GRAPH.format(folder=folder, workers=workers, lanes=lanes))
    return tundish("run", path, env={"TUNDISH_PLUGIN_PATH": str(BUILD / "tests"), "DRAG": "1"})


def workers_of(outcome):
    return [actor for actor in outcome.report["actors"] if actor["kind"] == "preprocessor"]


def test_a_slow_operation_gets_more_workers_and_the_same_rows(folder):
    write_npy(folder / "y.npy", "<i8", (ROWS,), struct.pack(f"<{ROWS}q", *range(ROWS)))
    tuned, fixed = run(folder, "auto"), run(folder, 4)
    assert tuned.report["stream_digest"] == fixed.report["stream_digest"]
    assert tuned.report["rows"] == fixed.report["rows"]
    assert not any("tuning" in actor for actor in workers_of(fixed))
    workers = workers_of(tuned)
    if len(workers) == 1:
        return  # there is one core
    # One worker alone takes four seconds, and is helped after two.  Whether the second one stays also
    # depends on how much time this machine gives to both.
    for number, actor in enumerate(workers):
        assert re.match(r"[1-9]\d* of \d+ workers: ", actor["tuning"]), actor
        assert actor["asleep"] == (number >= int(actor["tuning"].split()[0])), actor
    assert all(workers[number]["rows_out"] > 0 for number in (0, 1)), workers


def test_lanes_are_tuned_together_and_give_the_same_rows(folder):
    write_npy(folder / "y.npy", "<i8", (ROWS,), struct.pack(f"<{ROWS}q", *range(ROWS)))
    tuned, fixed = run(folder, "auto", lanes=2), run(folder, 4, lanes=2)
    assert tuned.report["stream_digest"] == fixed.report["stream_digest"]
    assert tuned.report["rows"]["fed"] == fixed.report["rows"]["fed"] == ROWS
    workers = workers_of(tuned)
    assert sum(actor["rows_out"] for actor in workers) == ROWS, workers
    assert len(workers) == 1 or all(workers[number]["rows_out"] > 0 for number in (0, 1)), workers


DEEP = """tundish: 1
seed: 7
actors:
  read: {{kind: reader, source: {{npy: {{y: {folder}/y.npy}}}}, epochs: 4}}
  batch: {{kind: batcher, size: 1}}
  feed: {{kind: feeder, depth: {depth}}}
links:
  - read -> batch -> feed
"""


def test_the_largest_depth_feeds_the_same_rows(folder):
    write_npy(folder / "y.npy", "<i8", (ROWS,), struct.pack(f"<{ROWS}q", *range(ROWS)))
    reports = []
    for depth in (2, 1024):
        path = folder / f"{depth}.yaml"
        path.write_text(DEEP.format(folder=folder, depth=depth))
        reports.append(tundish("run", path).report)
    for key in ("stream_digest", "rows", "steps"):
        assert reports[0][key] == reports[1][key], key


if __name__ == "__main__":
    sys.exit(run_named(globals(), sys.argv[1:], in_folder))
