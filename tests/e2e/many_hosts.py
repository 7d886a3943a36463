#!/usr/bin/env python3
"""Many hosts on one machine with too little processor time for them: the run is slow,
but does not end or change its stream.

Usage: many_hosts.py [--lanes N] [--workers N] [--steps N] [--transport ipc|tcp] NAME...; without a
name it lists them.  Each lane is a host of its own, as is each worker.  By hand: --lanes 48 with
--workers 4, 16 and 48; 64 and 64.
"""
import argparse
import os
import pathlib
import subprocess
import sys
import tempfile
import time

from named import run_named
from run import ROOT, TUNDISH, free_port

ROWS = 16  # of a lane in a step
GRAPH = """tundish: 1
seed: 7
lanes: {lanes}
actors:
  read:  {{kind: reader, source: {{raw: {{files: {data}, columns: {{x: u64}}}}}}, shuffle: global, epochs: {epochs}}}
  prep:  {{kind: preprocessor, ops: []}}
  batch: {{kind: batcher, size: {size}, replicas: {lanes}}}
  feed:  {{kind: feeder}}
links:
  - read -> prep -> batch -> feed
"""
PLACE = """port: {port}
hosts:
  node[0-{last}]: {{address: 127.0.0.1, transport: {transport}, lanes: 1 each, actors: [read, batch, feed]}}
  pool[0-{last_worker}]: {{address: 127.0.0.1, transport: {transport}, actors: [prep]}}
"""
STEPS_OF_EPOCH = 20


def run(command, *files, seconds=300):
    """What the run says last: its stream."""
    done = subprocess.run([str(TUNDISH), command, *map(str, files)], cwd=ROOT, timeout=seconds, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    streams = [line.split("stream ")[1] for line in done.stdout.splitlines() if "stream " in line]
    assert done.returncode == 0 and len(streams) == 1, (done.returncode, done.stdout[-4000:])
    return streams[0]


def test_a_busy_machine_ends_no_run(folder, of):
    """Beside a loop of low priority on every processor the stream is that of one process."""
    data, graph, place = folder / "x.bin", folder / "graph.yaml", folder / "hosts.yaml"
    data.write_bytes(os.urandom(8 * of.lanes * ROWS * STEPS_OF_EPOCH))
    graph.write_text(GRAPH.format(data=data, lanes=of.lanes, size=of.lanes * ROWS,
                                  epochs=-(-of.steps // STEPS_OF_EPOCH)))
    place.write_text(PLACE.format(port=free_port(), last=of.lanes - 1, last_worker=of.workers - 1,
                                  transport=of.transport))
    alone = run("run", graph)
    loops = [subprocess.Popen(["nice", "-n", "19", sys.executable, "-c", "while True: pass"])
             for _ in range(os.cpu_count())]
    try:
        began, used = time.monotonic(), os.times()
        together = run("up", graph, place)
        after = os.times()
        print(f"{of.lanes} + {of.workers}: {time.monotonic() - began:.1f} s, processor time "
              f"{after[2] + after[3] - used[2] - used[3]:.1f} s")
    finally:
        for loop in loops:
            loop.kill()
            loop.wait()
    assert together == alone, (together, alone)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--lanes", type=int, default=8)
    parser.add_argument("--workers", type=int, default=8)
    parser.add_argument("--steps", type=int, default=200)
    parser.add_argument("--transport", default="ipc")
    parser.add_argument("names", nargs="*")
    given = parser.parse_args()

    def call(test):
        with tempfile.TemporaryDirectory() as folder:
            test(pathlib.Path(folder), given)
    return run_named(globals(), given.names, call)


if __name__ == "__main__":
    sys.exit(main())
