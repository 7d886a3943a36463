#!/usr/bin/env python3
"""A file that shrinks just before its rows are read is an error with file and offset, whichever thread
reads them, and no step has the zeros that replace them.

Usage: lost.py NAME...; without a name it lists them.  tests/support/shrink.c makes the moment certain.
"""
import json
import os
import subprocess
import sys

from named import in_folder, run_named
from run import BUILD, ROOT, TUNDISH, free_port

# A block has one row.  The file shrinks just before the last block is sent, so its receiver reads lost pages
# without waiting for another row.
ROWS, ROW = 20, 65536
GRAPH = """tundish: 1
seed: 7
actors:
  read:  {{kind: reader, source: {{raw: {{files: {data}, columns: {{x: "u8[65536]"}}}}}}}}
{prep}  batch: {{kind: batcher, size: 2, block: 1 rows}}
  feed:  {{kind: feeder}}
links:
  - read -> {link}batch -> feed
"""
TWO = """port: {port}
hosts:
  a: {{address: 127.0.0.1, transport: ipc, actors: [feed]}}
  b: {{address: 127.0.0.1, transport: ipc, actors: [{there}]}}
  c: {{address: 127.0.0.1, transport: ipc, actors: [{rest}]}}
"""


def shrinks(folder, finder, ops=None, there=None, rest=None):
    """Thread `finder` reads lost pages, and the run ends with exit 1 and a sentence before that step."""
    data, graph, metrics = folder / "x.bin", folder / "graph.yaml", folder / "metrics"
    data.write_bytes(b"".join(bytes([1 + row % 250]) * ROW for row in range(ROWS)))
    prep = f"  prep:  {{kind: preprocessor, ops: [{ops}]}}\n" if ops else ""
    graph.write_text(GRAPH.format(data=data, prep=prep, link="prep -> " if ops else ""))
    line = [str(TUNDISH), "run" if there is None else "up", str(graph)]
    if there is not None:
        overlay = folder / "hosts.yaml"
        text = TWO.format(port=free_port(), there=there, rest=rest)
        overlay.write_text("\n".join(one for one in text.splitlines() if "[None]" not in one) + "\n")
        line.append(str(overlay))
    done = subprocess.run([*line, "--metrics", str(metrics)], stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, timeout=60, cwd=ROOT,
                          env={**os.environ, "LD_PRELOAD": str(BUILD / "tests" / "shrink.so"),
                               "SHRINK": f"{ROWS} {ROW} {data}"})
    assert done.returncode == 1, f"exit code {done.returncode}\n{done.stdout}"
    assert f"lost pages were read by thread {finder}\n" in done.stdout, done.stdout
    words = (f": {data}: shrank while it was mapped", f"{ROWS * ROW} bytes", f"byte {ROW}")
    for word in words:
        assert word in done.stdout, f"{word!r} is not in: {done.stdout}"
    steps = [json.loads(one)["step"] for one in metrics.read_text().splitlines()]
    assert not steps or steps[-1] < ROWS // 2 - 1, steps


def test_the_feeder_gathers_them(folder):
    shrinks(folder, "feed")


def test_an_operation_reads_them(folder):
    shrinks(folder, "prep.0", ops="{clip: {column: x, min: 0, max: 100}}")


def test_the_reader_packs_them(folder):
    shrinks(folder, "read.0", ops="{clip: {column: x, min: 0, max: 100}}", there="read",
            rest="prep, batch")


def test_a_worker_that_passes_them_on_packs_them(folder):
    shrinks(folder, "prep.0", ops="{rename: {x: y}}", there="read, prep", rest="batch")


def test_the_batcher_packs_them(folder):
    shrinks(folder, "batch.0", there="read, batch")


if __name__ == "__main__":
    sys.exit(run_named(globals(), sys.argv[1:], in_folder))
