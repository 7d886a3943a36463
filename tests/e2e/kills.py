#!/usr/bin/env python3
"""Processes that are killed again and again in one long run, over every transport and shape of graph.

Usage: kills.py [NAME...] [--kills N] [--way WAY...] [--shape SHAPE...] [--kind KIND...]
                [--stall SECONDS] [--busy] [--seed SEED] [--keep DIR]; without a name it lists them.

`--kills` is the number of kills per kind in each combination of way and shape (five times as many of
a batcher over fixed ports).  They fall at random steps, spread evenly over the run.  The run must
never go without a committed step for `--stall` seconds, must refuse no connection and must end with
the stream and the model of a run without faults.  By hand, with both cores busy:

  kills.py a_batcher_over_fixed_ports --kills 60 --stall 5 --busy
  kills.py every_kind --kills 112 --stall 5 --busy --way tcp ports ipc --shape one two lanes
"""
import argparse
import json
import os
import pathlib
import random
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import threading
import time

from deaths import Run
from faults import free_range, write_npy
from named import run_named
from run import ROOT, TEST_SEED, TUNDISH

ROWS, STEPS_A_KILL = 2400, 60
GRAPH = """tundish: 1
name: kills
seed: 7
lanes: {lanes}
data: {data}
restarts: {{max: 1000000, backoff: 10 ms, backoff_max: 50 ms}}
actors:
  read: {{kind: reader, source: {{npy: {{y: "${{data}}/y.npy", x: "${{data}}/x.npy"}}}}, shuffle: global, epochs: {epochs}}}
  prep: {{kind: preprocessor, ops: [{{filter: {{column: y, op: lt, value: 2300}}}}, {{scale: {{column: x, to: f32, range: [0, 1]}}}}]}}
  batch: {{kind: batcher, size: 24, replicas: 3, remainder: keep, block: 16 rows}}
  feed: {{kind: feeder, depth: 2, step: {{plugin: witness, sleep_us: {sleep_us}}}}}
  mean: {{kind: reducer}}
{more_actors}links:
  - read -> prep -> batch -> feed <-> mean
{more_links}"""
SECOND_ACTORS = """  second_read: {{kind: reader, source: {{npy: {{y: "${{data}}/y.npy", x: "${{data}}/x.npy"}}}}, epochs: {second_epochs}}}
  second_prep: {{kind: preprocessor, ops: [{{plugin: drag, us: {drag_us}}}, {{scale: {{column: x, to: f32, range: [0, 1]}}}}]}}
  second_batch: {{kind: batcher, size: 24, replicas: 3, block: 16 rows}}
  second: {{kind: feeder, after: feed}}
"""
SECOND_LINKS = "  - second_read -> second_prep -> second_batch -> second\n"
HOSTS = """  a: {{{place}, actors: [feed{second}]}}
  f: {{{place}, actors: [feed{second}]}}
  r{reach}: {{{place}{lanes_each}, actors: [read{second_read}]}}
  p[0-1]: {{{place}, actors: [prep{second_prep}], workers: {{prep: 2}}}}
  j{reach}: {{{place}{lanes_each}, actors: [batch{second_batch}]}}
  m: {{{place}, actors: [mean]}}
"""
WAYS = ("tcp", "ports", "ipc")
SHAPES = ("one", "two", "lanes")
KINDS = {"reader": ["r"], "preprocessor": ["p"], "batcher": ["j"], "reducer": ["m"],
         "reader and batcher": ["r", "j"]}


class Soak(Run):
    """A run whose processes die again and again."""

    def __init__(self, folder, way, shape, kills, stall):
        super().__init__(folder, overlay=None)
        self.stall_s = stall
        steps_of_epoch = (ROWS - 100) // 24 + 1
        lanes, second = (2 if shape == "lanes" else 1), shape == "two"
        self.second_kills = kills // 6 + 1 if second else 0
        epochs = max(2, (kills - self.second_kills) * STEPS_A_KILL // steps_of_epoch + 1)
        self.expected = epochs * steps_of_epoch
        write_npy(folder / "y.npy", "<i8", (ROWS,), struct.pack(f"<{ROWS}q", *range(ROWS)))
        write_npy(folder / "x.npy", "|u1", (ROWS, 64), bytes(i * 31 % 251 for i in range(ROWS * 64)))
        for path, sleep_us, drag_us in ((self.graph, 1000, 500), (self.plain, 0, 0)):
            words = {"epochs": epochs, "sleep_us": sleep_us, "drag_us": drag_us, "data": folder, "lanes": lanes,
                     "second_epochs": self.second_kills // 2 + 2}
            path.write_text(GRAPH.format(
                more_actors=SECOND_ACTORS.format(**words) if second else "",
                more_links=SECOND_LINKS if second else "", **words))
        self.words = {"epochs": epochs, "shape": shape}
        place = "transport: ipc" if way == "ipc" else "transport: tcp"
        ports = free_range("127.0.0.1", 33) if way == "ports" else 0
        self.overlay.write_text(
            f"port: {ports or free_range('127.0.0.1', 1)}\n"
            + (f"ports: {ports + 1}-{ports + 32}\n" if ports else "") + "hosts:\n" + HOSTS.format(
                place=place, reach="[0-1]" if lanes == 2 else "",
                lanes_each=", lanes: 1 each" if lanes == 2 else "",
                second=", second" if second else "", **{
                    f"second_{name}": f", second_{name}" if second else ""
                    for name in ("read", "prep", "batch")}))
        self.files = [self.graph, self.overlay]
        self.seen = self.size = self.second_rows = 0
        self.changed = self.looked = time.monotonic()
        self.longest = self.away = 0.0
        self.before = self.scribe = None

    def start(self):
        self.process = subprocess.Popen(
            [str(TUNDISH), "up", *map(str, self.files), "--metrics", str(self.metrics),
             "--report", str(self.report), "--log-level", "debug"], stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, text=True, cwd=ROOT, env=self.env)
        self.began = time.monotonic()
        self.scribe = threading.Thread(target=self.record)
        self.scribe.start()

    def write(self, text):
        with open(self.log, "a") as log:
            log.write(f"{time.monotonic() - self.began:9.3f}  {text}")

    def record(self):
        """Writes what the run says, each line with its time, until the run ends."""
        for line in self.process.stdout:
            self.write(line)

    def note(self, text):
        """Adds a line to what the run says."""
        self.write(f"+++ {text}\n")

    def shares(self):
        """By process and thread: processor time, and time ready without a processor, in seconds."""
        found = {}
        for host, pid in self.pids().items():
            found[host, pid] = {}
            for path in pathlib.Path(f"/proc/{pid}/task").glob("*/schedstat"):
                try:
                    words = path.read_text().split()
                except (FileNotFoundError, ProcessLookupError):
                    continue
                found[host, pid][path.parent.name] = int(words[0]) * 1e-9, int(words[1]) * 1e-9
        return found

    def note_shares(self):
        """Tells a run whose processes have no processor from one whose processes wait for each other."""
        for process, threads in sorted(self.shares().items()):
            before = self.before.get(process, {}) if self.before is not None else {}
            since = [(ran - before.get(thread, (0, 0))[0], ready - before.get(thread, (0, 0))[1])
                     for thread, (ran, ready) in threads.items()]
            self.note(f"meanwhile {process[0]} ran for {sum(ran for ran, _ in since):.2f} s; a thread of it "
                      f"was ready without a processor for {max([ready for _, ready in since] or [0]):.2f} s")

    def second_progress(self):
        """Rows that the feeders of the second chain were given; to ask takes a quarter of a second."""
        told = subprocess.run([str(TUNDISH), "ps", "--json"], capture_output=True, text=True)
        own = self.pids().values()
        return sum(actor["rows_in"] for one in json.loads(told.stdout)["processes"] if one["pid"] in own
                   for actor in one["actors"] if actor["kind"] == "feeder" and actor["name"].startswith("second")) \
            if told.stdout else 0

    def look(self):
        """Counts steps and notes the longest time without one; false once the run has ended.

        While this script has no processor, neither may what it killed have one to end with.
        """
        now, moved = time.monotonic(), False
        self.away += now - self.looked if now - self.looked > 0.5 else 0
        self.looked = now
        size = self.metrics.stat().st_size if self.metrics.exists() else 0
        self.size = min(size, self.size)  # the check for free space makes it longer for a moment
        if size != self.size:
            with open(self.metrics, "rb") as file:
                file.seek(self.size)
                self.seen += file.read(size - self.size).count(b"\n")
            self.size, moved = size, True
        elif self.second_kills > 0 and self.seen >= self.expected - 60 and now > self.changed + 0.1:
            #  The last steps of the first chain are written with its end.
            rows = self.second_progress()
            self.looked = time.monotonic()
            moved, self.second_rows = rows != self.second_rows, rows
        if moved:
            self.longest = max(self.longest, now - self.changed - self.away)
            if now - self.changed > 0.5:
                self.note(f"no step for {now - self.changed:.2f} s before step {self.seen}; not "
                          f"looked at for {self.away:.2f} s of them")
                if self.before is not None:
                    self.note_shares()
        if moved or self.size == 0:
            self.changed, self.away, self.before = now, 0.0, None
        elif self.before is None and now - self.changed > 0.5:
            self.before = self.shares()
        if now - self.changed - self.away > self.stall_s and self.process.poll() is None:
            why = subprocess.run([str(TUNDISH), "why"], capture_output=True, text=True)
            self.note_shares()
            raise AssertionError(f"no step for {now - self.changed:.1f} s after step {self.seen}\n"
                                 f"{why.stdout}{why.stderr}\n{self.said()[-6000:]}")
        return self.process.poll() is None

    def waits(self, condition):
        while not condition():
            if not self.look():
                return False
            time.sleep(0.002)
        return True

    def strike(self, kind, draw):
        """Kills one process for each host of that kind; false once the run has ended."""
        for letter in KINDS[kind]:
            while not (there := {host: pid for host, pid in self.pids().items() if host[0] == letter}):
                if not self.look():
                    return False
            host = draw.choice(sorted(there))
            self.note(f"kill {host} at step {self.seen}")
            os.kill(there[host], signal.SIGKILL)
        return True

    def kill_all(self, kinds, kills, draw):
        """Kills that many processes of each kind; by kind, the longest time without a step after each."""
        order = [kind for kind in kinds for _ in range(kills)]
        draw.shuffle(order)
        first = len(order) - self.second_kills
        room = (self.expected - 2 * STEPS_A_KILL) / first
        gaps = {kind: [] for kind in kinds}
        for i, kind in enumerate(order):
            due = 20 + int((i + draw.random()) * room)
            rows = int((i - first + draw.random()) * ROWS / 2)
            if not self.waits(lambda: self.seen >= due if i < first else
                              self.second_rows > rows):
                break
            if i > 0:
                gaps[order[i - 1]].append(self.longest)
            self.longest = 0.0
            if not self.strike(kind, draw):
                break
        else:
            self.waits(lambda: False)
            gaps[order[-1]].append(self.longest)
        return gaps

    def ends_well(self):
        self.scribe.join()
        said = self.said()
        assert self.process.poll() == 0, f"it ended with {self.process.poll()}\n{said[-6000:]}"
        for word in ("refused", "rejected", "does not expect"):
            assert word not in said, f"`{word}`\n" + "\n".join(
                line for line in said.splitlines() if word in line)
        self.is_as_quiet()


    def close(self):
        super().close()
        if self.scribe is not None:
            self.scribe.join()


class Busy:
    """Two processes that take what processor time is left."""

    def __init__(self, wanted):
        self.processes = [subprocess.Popen(["nice", "sh", "-c", "while :; do :; done"])
                          for _ in range(2 if wanted else 0)]

    def __enter__(self):
        return self

    def __exit__(self, *error):
        for process in self.processes:
            process.kill()
            process.wait()


def soak(asked, way, shape, kinds, kills):
    draw = random.Random(f"{asked.seed} {way} {shape} {kinds}")
    folder = pathlib.Path(tempfile.mkdtemp())
    run = Soak(folder, way, shape, kills * len(kinds), asked.stall)
    try:
        with Busy(asked.busy):
            run.start()
            gaps = run.kill_all(kinds, kills, draw)
            run.ends_well()
    finally:
        run.close()
        if asked.keep:
            shutil.copytree(folder, pathlib.Path(asked.keep) / f"{way}-{shape}-{os.getpid()}")
        shutil.rmtree(folder)
    for kind in kinds:
        #  How fast the second chain ends is not known.
        assert len(gaps[kind]) == kills or shape == "two" and gaps[kind], gaps
        some = sorted(gaps[kind])
        print(f"  {way:5} {shape:5} {kind:18} {len(some):5} kills: median gap {some[len(some) // 2] * 1e3:4.0f} ms,"
              f" longest {some[-1] * 1e3:5.0f} ms", flush=True)


def test_a_batcher_over_fixed_ports(asked):
    soak(asked, "ports", "one", ["batcher"], 5 * asked.kills)


def test_every_kind(asked):
    for way in asked.way:
        for shape in asked.shape:
            soak(asked, way, shape, asked.kind or list(KINDS), asked.kills)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--kills", type=int, default=2)
    parser.add_argument("--way", nargs="*", choices=WAYS, default=["ports"])
    parser.add_argument("--shape", nargs="*", choices=SHAPES, default=["lanes"])
    parser.add_argument("--kind", nargs="*", choices=KINDS)
    parser.add_argument("--stall", type=float, default=60)
    parser.add_argument("--busy", action="store_true")
    parser.add_argument("--seed", type=int, default=TEST_SEED)
    parser.add_argument("--keep")
    parser.add_argument("names", nargs="*")
    asked = parser.parse_args()
    return run_named(globals(), asked.names, lambda test: test(asked), f" (seed {asked.seed})")


if __name__ == "__main__":
    sys.exit(main())
