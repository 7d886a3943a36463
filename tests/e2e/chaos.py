#!/usr/bin/env python3
"""`tundish chaos`: numbered rows under random faults, five processes; no row lost or repeated.

Usage: chaos.py [--seconds S] [--rows N] [--seed SEED] [--seeds N] [--at-once N] [--busy] [NAME...];
without a name it lists them.

By hand, every seed of the shipped example for a minute, three at a time on two busy cores:

  chaos.py --seed 1 --seeds 50 --seconds 60 --busy seeds_of_the_shipped_example
"""
import argparse
import concurrent.futures
import json
import os
import pathlib
import shutil
import signal
import struct
import subprocess
import sys
import tempfile

from deaths import GRAPH
from faults import write_npy
from images import jpeg
from kills import Busy
from named import run_named
from run import BUILD, DATA, FASHION, ROOT, TEST_SEED, TUNDISH, need_data

HOSTS = """hosts:
  a: {actors: [feed]}
  r: {actors: [read]}
  p[0-4]: {actors: [prep], workers: {prep: 1}}
  j: {actors: [batch]}
  m: {actors: [mean]}
port: 7100
dead_after: 3 s
"""


PICTURES = """tundish: 1
seed: 7
actors:
  read:  {{kind: reader, source: {{folder: {{files: "{folder}/*.jpg", column: image}}}}, shuffle: global, epochs: 1000}}
  prep:  {{kind: preprocessor, workers: 2, isolate: process, on_error: skip, ops: [
          {{decode_image: {{column: image, max_pixels: 100000, then: [{{resize: {{size: 64}}}}]}}}}]}}
  keep:  {{kind: cache, limit: 4MiB}}
  late:  {{kind: preprocessor, isolate: process, ops: [{{random_flip: {{column: image}}}}]}}
  batch: {{kind: batcher, size: 16}}
  feed:  {{kind: feeder}}
links:
  - read -> prep -> keep -> late -> batch -> feed
"""


class Graph:
    """Numbered rows, and a step that keeps a hash of all that it was fed."""

    def __init__(self, folder, rows, epochs=1000, step="sleep_us: 1000", overlay=HOSTS):
        write_npy(folder / "y.npy", "<i8", (rows,), struct.pack(f"<{rows}q", *range(rows)))
        write_npy(folder / "x.npy", "|u1", (rows, 16), bytes(rows * 16))
        graph = GRAPH.replace("sleep_us: {sleep_us}", step)
        (folder / "graph.yaml").write_text(graph.format(
            data=folder, epochs=epochs, settings="", lanes=1, prep="", read="", large=0))
        self.files = [folder / "graph.yaml"]
        if overlay:
            (folder / "hosts.yaml").write_text(overlay)
            self.files.append(folder / "hosts.yaml")
        self.rows = rows

    def chaos(self, seconds, seed, *extra, expect=0):
        line = [str(TUNDISH), "chaos", *map(str, self.files), "--seconds", str(seconds), "--seed",
                str(seed), "--json", *extra]
        done = subprocess.run(line, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                              timeout=4 * seconds + 240, cwd=ROOT,
                              env={**os.environ, "TUNDISH_PLUGIN_PATH": str(BUILD / "tests")})
        assert done.returncode == expect, (f"seed {seed}: exit code {done.returncode}\n"
                                           f"{done.stdout[-3000:]}\n{done.stderr[-6000:]}")
        return json.loads(done.stdout) if done.stdout else done.stderr


def balanced(told):
    for part in ("whole", "drained"):
        if told[part]["runs"] == 0:
            continue
        rows, quiet = told[part]["report"]["rows"], told[part]["quiet"]["rows"]
        assert rows == quiet, (rows, quiet)
        assert rows["read"] + rows["added"] == rows["fed"] + rows["filtered"] + rows["bad"], rows
        assert all(told[part]["equal"].values()), told[part]["equal"]


def show(told):
    print(f"  seed {told['seed']}, {told['seconds']:.0f} s, {told['steps']} steps: "
          f"{told['restarts']} restarts, {told['rewinds']} rewinds, {told['tickets_again']} tickets "
          f"again, {told['resumes']} resumes")
    for row in told["faults"]:
        if row["gaps"] > 0:
            print(f"  {row['fault']:45} {row['count']:4}  gap p50 {row['p50'] * 1e3:6.0f} ms, p99 "
                  f"{row['p99'] * 1e3:6.0f} ms, longest {row['max'] * 1e3:6.0f} ms")


def in_seconds(told):
    """All gaps have one unit, and none is longer than the time under faults."""
    for row in [*told["faults"], told["between"]]:
        assert 0 <= row["p50"] <= row["p99"] <= row["max"] <= told["seconds"], (row, told["seconds"])


def measured(told):
    """Of each fault that came alone, the time to the next step is known, but of the last ones of a run.

    How long it was is printed and not judged: it depends on what else the machine does.
    """
    in_seconds(told)
    unknown = sum(row["count"] - row["mixed"] - row["gaps"] for row in told["faults"])
    assert sum(row["gaps"] for row in told["faults"]) > 0, told["faults"]
    assert 0 <= unknown <= 5 * told["runs"], told["faults"]


def test_five_worker_processes(folder, asked):
    told = Graph(folder, asked.rows).chaos(asked.seconds, asked.seed)
    show(told)
    balanced(told)
    assert told["survives"] and told["restarts"] > 0, told
    measured(told)


def test_hosts_of_its_own_and_all_that_can_be_killed(folder, asked):
    """Simulated devices too are slow, late and lost."""
    told = Graph(folder, 3000, overlay=None).chaos(
        asked.seconds, asked.seed, "--all", "--set", "dead_after=2s", "--set", "feed.devices=[sim:0, sim:1]",
        "--set", "feed.sim={to_device: 1GB/s, step: 200us}")
    show(told)
    balanced(told)
    assert told["survives"], told


def test_a_run_resumes_after_its_device_was_lost(folder, asked):
    graph = Graph(folder, 3000, epochs=2, step="sleep_us: 500", overlay=None)
    faults, saved = folder / "faults", folder / "checkpoints"

    def run(report, *extra):
        return subprocess.Popen(
            [str(TUNDISH), "run", *map(str, graph.files), "--quiet", "--report", str(folder / report), "--set",
             "feed.devices=[sim:0]", "--set", f"feed.sim.faults={faults}", *extra],
            stderr=subprocess.PIPE, text=True, cwd=ROOT,
            env={**os.environ, "TUNDISH_PLUGIN_PATH": str(BUILD / "tests")})

    keep = ("--set", f"checkpoint={{dir: {saved}, every: 20 steps}}")
    process = run("none", *keep)
    # When the second is there, the run knows of the first.
    while len(list(saved.rglob("manifest"))) < 2 and process.poll() is None:
        os.sched_yield()
    faults.write_text("lost\n")
    said = process.communicate()[1]
    assert process.returncode == 1 and said.count("\n") == 1, said
    assert f"sim:0: the device was lost, as {faults} says; --resume continues after step " in said, said
    faults.write_text("")
    reports = []
    for process in (run("resumed", *keep, "--resume"), run("whole")):
        assert process.wait() == 0, process.stderr.read()
        process.stderr.close()
    for name in ("resumed", "whole"):
        told = json.loads((folder / name).read_text())
        reports.append((told["steps"], told["stream_digest"], told["model_digest"]))
    assert reports[0] == reports[1], reports


def test_pictures_with_a_cache_and_processes_that_decode(folder, asked):
    """Of 600 pictures, of which 7 are damaged, the cache has room for half."""
    for i in range(600):
        name = ("img_420.jpg", "img_444.jpg", "img_gray.jpg")[i % 3]
        (folder / f"{i:03}.jpg").write_bytes(b"junk" if i % 97 == 5 else jpeg(name))
    graph = Graph.__new__(Graph)
    graph.files = [folder / "graph.yaml"]
    graph.files[0].write_text(PICTURES.format(folder=folder))
    told = graph.chaos(asked.seconds if asked.seeds is not None else 2, asked.seed)
    show(told)
    balanced(told)
    assert told["survives"], told


def test_a_model_that_differs_each_time_is_found(folder, asked):
    told = Graph(folder, 3000, step="sleep_us: 1000, unsteady: 1").chaos(2, asked.seed, expect=1)
    in_seconds(told)
    equal = told["drained"]["equal"]
    assert not told["survives"] and not equal["model"] and equal["stream"], told


def test_a_step_that_fails_does_not_survive(folder, asked):
    said = Graph(folder, 3000, step="sleep_us: 1000, fail_step: 300").chaos(10, asked.seed, expect=1)
    assert "the witness fails as it was told" in said and "does NOT survive" in said, said
    kept = said.rsplit("the output is in ", 1)[1].split("\n")[0]
    assert "the witness fails" in pathlib.Path(kept).read_text()
    shutil.rmtree(pathlib.Path(kept).parent)


def test_a_signal_that_stops_it_is_reported(folder, asked):
    graph = Graph(folder, 3000, step="sleep_us: 5000", overlay=None)
    process = subprocess.Popen([str(TUNDISH), "chaos", *map(str, graph.files), "--seconds", "1", "--seed",
                                str(asked.seed)],
                               stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, cwd=ROOT,
                               env={**os.environ, "TUNDISH_PLUGIN_PATH": str(BUILD / "tests")})
    said = []
    for line in process.stderr:
        said.append(line)
        if "compared with a quiet run" in line:
            process.send_signal(signal.SIGTERM)
    assert process.wait() == 130, said
    assert said[-1] == (f"tundish chaos: stopped by signal 15 (Terminated) from process {os.getpid()} "
                        f"before the runs were compared (seed {asked.seed})\n"), said


def test_a_device_is_lost_as_the_time_is_over(folder, asked):
    """The run is resumed, and drained only after a step of its own."""
    first = 59  # the seed of a schedule whose first fault is the loss of a device
    graph = Graph(folder, 3000, overlay=None)
    process = subprocess.Popen([str(TUNDISH), "chaos", *map(str, graph.files), "--seconds", "60", "--all", "--seed",
                                str(first), "--set", "feed.devices=[sim:0, sim:1]"],
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=ROOT,
                               env={**os.environ, "TUNDISH_PLUGIN_PATH": str(BUILD / "tests")})
    said = []
    for line in process.stderr:
        said.append(line)
        if "device lost on host feed" in line and len(said) == 2:
            process.send_signal(signal.SIGINT)
    out = process.stdout.read()
    process.stdout.close()
    process.stderr.close()
    assert process.wait() == 0, (said, out)
    assert "device lost on host feed" in said[1] and "1 resumes" in out, (said, out)
    assert "the run that was drained when the time was over" in out and "the graph survives" in out, out


def test_seeds_of_the_shipped_example(folder, asked):
    """Two chains, several runs beside each other."""
    need_data()
    seconds = asked.seconds if asked.seeds is not None else 4
    seeds = range(asked.seed, asked.seed + (asked.seeds or 3))

    def survives(seed):
        done = subprocess.run([str(TUNDISH), "chaos", str(FASHION / "fashion.yaml"), "--data", str(DATA),
                               "--seconds", str(seconds), "--seed", str(seed), "--json"],
                              capture_output=True, text=True, timeout=8 * seconds + 600, cwd=ROOT)
        if done.returncode != 0:
            print(f"  seed {seed}: exit code {done.returncode}\n{done.stdout[-2000:]}\n"
                  f"{done.stderr[-6000:]}", flush=True)
            return None
        told = json.loads(done.stdout)
        kills = [row for row in told["faults"] if row["fault"].startswith("kill")]
        longest = max((row["max"] for row in kills if row["gaps"] > 0), default=0)
        print(f"  seed {seed}: survives {sum(row['count'] for row in told['faults'])} faults, "
              f"{sum(row['count'] for row in kills)} of them kills; longest time without a step after "
              f"a kill {longest:.2f} s", flush=True)
        return told["survives"]

    with Busy(asked.busy), concurrent.futures.ThreadPoolExecutor(asked.at_once) as pool:
        good = sum(survived is True for survived in pool.map(survives, seeds))
    print(f"  {good} of {len(seeds)} seeds survive")
    assert good == len(seeds)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seconds", type=int, default=15)
    parser.add_argument("--rows", type=int, default=20000)
    parser.add_argument("--seed", type=int, default=TEST_SEED)
    parser.add_argument("--seeds", type=int)
    parser.add_argument("--at-once", type=int, default=3)
    parser.add_argument("--busy", action="store_true")
    parser.add_argument("names", nargs="*")
    asked = parser.parse_args()

    def call(test):
        with tempfile.TemporaryDirectory() as folder:
            test(pathlib.Path(folder), asked)
    return run_named(globals(), asked.names, call, f" (seed {asked.seed})")


if __name__ == "__main__":
    sys.exit(main())
