#!/usr/bin/env python3
"""Killed processes: those that may die are restarted, and the run has the same result.

Usage: deaths.py [--rounds N] [NAME...]; without a name it lists them.  A run under `tundish up` has
its processes killed at random moments; rows, order and what replicas computed must be those of a
run without faults.  The longest time between two steps around a kill is measured and shown.
"""
import argparse
import json
import os
import pathlib
import random
import re
import signal
import statistics
import struct
import subprocess
import sys
import tempfile
import time

from faults import free_range, one_sentence, until, write_npy
from named import run_named
from run import BUILD, ROOT, TUNDISH, alive, family

ROWS = 3000
GRAPH = """tundish: 1
name: deaths
seed: 7
lanes: {lanes}
data: {data}
{settings}
actors:
  read: {{kind: reader, source: {{npy: {{y: "${{data}}/y.npy", x: "${{data}}/x.npy"}}}}, shuffle: global, epochs: {epochs}{read}}}
  prep: {{kind: preprocessor{prep}, ops: [{{filter: {{column: y, op: lt, value: 2900}}}}, {{scale: {{column: x, to: f32, range: [0, 1]}}}}]}}
  batch: {{kind: batcher, size: 24, replicas: 3, remainder: keep, block: 16 rows}}
  feed: {{kind: feeder, depth: 2, step: {{plugin: witness, sleep_us: {sleep_us}, large: {large}}}}}
  mean: {{kind: reducer}}
links:
  - read -> prep -> batch -> feed <-> mean
"""
SIX = """port: {port}
hosts:
  a: {{transport: {transport}, actors: [feed]}}
  f: {{transport: {transport}, actors: [feed]}}
  r: {{transport: {transport}, actors: [read]}}
  p[0-1]: {{transport: {transport}, actors: [prep], workers: {{prep: 2}}}}
  j: {{transport: {transport}, actors: [batch]}}
  m: {{transport: {transport}, actors: [mean]}}
"""
STORED = SIX.replace("  j: ", "  k: {{transport: {transport}, actors: [keep]}}\n  j: ")
LANES = """port: {port}
hosts:
  a: {{transport: {transport}, actors: [feed]}}
  f: {{transport: {transport}, actors: [feed]}}
  l0: {{transport: {transport}, lanes: 2, actors: [read, prep, batch], workers: {{prep: 2}}}}
  l1: {{transport: {transport}, lanes: 1, actors: [read, prep, batch]}}
"""
QUIET = {}


class Run:
    """`tundish up` over a graph, and the steps that its leader writes."""

    def __init__(self, folder, overlay=SIX, transport="ipc", epochs=8, sleep_us=1000, settings="",
                 lanes=1, prep="", read="", stored=False, large=0):
        self.folder = folder
        data = list(range(ROWS))
        write_npy(folder / "y.npy", "<i8", (ROWS,), struct.pack(f"<{ROWS}q", *data))
        write_npy(folder / "x.npy", "|u1", (ROWS, 64), bytes(i * 31 % 251 for i in range(ROWS * 64)))
        self.graph, self.overlay = folder / "graph.yaml", folder / "overlay.yaml"
        self.words = {"epochs": epochs, "sleep_us": sleep_us, "lanes": lanes, "settings": "",
                      "large": large}
        self.stored = stored
        graph = GRAPH.replace("  batch:", "  keep: {{kind: cache, limit: 16MiB}}\n  batch:").replace(
            "prep -> batch", "prep -> keep -> batch") if stored else GRAPH
        self.graph.write_text(graph.format(data=folder, prep=prep, read=read,
                                           **{**self.words, "settings": settings}))
        self.plain = folder / "plain.yaml"
        self.plain.write_text(graph.format(data=folder, prep="", read="",
                                           **{**self.words, "sleep_us": 0}))
        self.files = [self.graph]
        if overlay is not None:
            self.overlay.write_text(overlay.format(port=free_range("127.0.0.1", 1),
                                                   transport=transport))
            self.files.append(self.overlay)
        self.metrics, self.report = folder / "metrics.jsonl", folder / "report.json"
        self.log = folder / "up.log"
        self.env = {**os.environ, "TUNDISH_PLUGIN_PATH": str(BUILD / "tests")}
        self.stall = folder / "stall"
        self.process = None
        self.others = []

    def start(self, command="up", preload=None, level="warn"):
        if preload is not None:
            self.env["LD_PRELOAD"] = str(BUILD / "tests" / preload)
            self.env["STALL"] = str(self.stall)
        with open(self.log, "w") as log:
            self.process = subprocess.Popen(
                [str(TUNDISH), command, *map(str, self.files), "--metrics", str(self.metrics),
                 "--report", str(self.report), "--log-level", level], stdout=log, stderr=log,
                cwd=ROOT, env=self.env)

    def said(self):
        return self.log.read_text()

    def steps(self):
        if not self.metrics.exists():
            return 0
        with open(self.metrics, "rb") as file:
            return file.read().count(b"\n")

    def reaches(self, steps, seconds=20):
        until(lambda: f"{steps} steps; there are {self.steps()}\n{self.said()}",
              lambda: self.steps() >= steps or self.process.poll() is not None, seconds)
        assert self.steps() >= steps, self.said()

    def hears(self, text, seconds=20):
        until(lambda: f"{text!r}\n{self.said()}", lambda: re.search(text, self.said()), seconds)

    def pids(self):
        """The processes below `up` by the host that they run."""
        found = {}
        for pid in family(self.process.pid):
            try:
                words = pathlib.Path(f"/proc/{pid}/cmdline").read_bytes().decode().split("\0")
            except (FileNotFoundError, ProcessLookupError):
                continue
            for word in words:
                if word.startswith("--host="):
                    found[word[7:]] = pid
        return found

    def pid(self, host):
        return until(lambda: f"no process of host {host}\n{self.said()}",
                     lambda: self.pids().get(host))

    def kill(self, host, number=signal.SIGKILL):
        os.kill(self.pid(host), number)

    def join(self, host):
        """Another process of the run, started by hand."""
        log = self.folder / f"joined.{len(self.others)}.log"
        with open(log, "w") as out:
            process = subprocess.Popen([str(TUNDISH), "run", *map(str, self.files), "--host", host],
                                       stdout=out, stderr=out, cwd=ROOT, env=self.env)
        process.log = log
        self.others.append(process)
        return process

    def works(self, process, host):
        """That process is that host, and its workers have made rows."""
        def made():
            assert process.poll() is None, \
                f"{host} ended with {process.poll()}\n{process.log.read_text()}\n{self.said()}"
            told = subprocess.run([str(TUNDISH), "ps", "--json"], capture_output=True, text=True)
            return any(actor["rows_out"] > 0 for one in json.loads(told.stdout)["processes"]
                       if one["pid"] == process.pid and one["host"] == host
                       for actor in one["actors"])
        until(lambda: f"work of {host}\n{process.log.read_text()}\n{self.said()}", made)

    def gap(self, within=1.5):
        """The longest time between two steps from now on, in seconds."""
        began = last = time.monotonic()
        longest, size = 0, self.metrics.stat().st_size
        while time.monotonic() < began + within and self.process.poll() is None:
            now = time.monotonic()
            more = self.metrics.stat().st_size
            if more != size:
                longest, last, size = max(longest, now - last), now, more
            time.sleep(0.0005)
        return max(longest, time.monotonic() - last if self.process.poll() is None else 0)

    def ends(self, code, seconds=30):
        try:
            got = self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            raise AssertionError(f"it has not ended within {seconds} s\n{self.said()}")
        assert got == code, f"it ended with {got}, not {code}\n{self.said()}"

    def quiet(self):
        """What one process makes of the same graph."""
        key = json.dumps([self.words, self.stored], sort_keys=True)
        if key not in QUIET:
            report, metrics = self.folder / "quiet.json", self.folder / "quiet.jsonl"
            done = subprocess.run([str(TUNDISH), "run", str(self.plain), "--quiet", "--report",
                                   str(report), "--metrics", str(metrics)], cwd=ROOT,
                                  env={**self.env, "LD_PRELOAD": ""},
                                  capture_output=True, text=True, timeout=60)
            assert done.returncode == 0, done.stderr
            QUIET[key] = (json.loads(report.read_text()), metrics.read_text())
        return QUIET[key]

    def is_as_quiet(self):
        """Steps, order of rows, account and what the replicas computed."""
        told, lines = json.loads(self.report.read_text()), self.metrics.read_text()
        plain, plain_lines = self.quiet()
        for key in ("steps", "rows", "stream_digest", "model_digest", "epochs"):
            assert key in plain, sorted(plain)
            assert told[key] == plain[key], f"{key}: {told[key]}, not {plain[key]}\n{self.said()}"
        assert lines == plain_lines, f"another line of a step\n{self.said()}"

    def close(self):
        for process in [self.process, *self.others]:
            if process is None:
                continue
            if process.poll() is None:
                for pid in self.pids().values() if process is self.process else ():
                    os.kill(pid, signal.SIGKILL)
                process.kill()
            process.wait()


def survives(make, hosts, kills, rounds, seed=1, epochs=None, within=(20, 120), **words):
    """Kills hosts at random steps; how often the stream was rewound.

    How long nothing was committed is printed and not judged: it depends on what else the machine does;
    kills.py and tools/bench measure it.
    """
    gaps, rewinds = [], 0
    for i in range(rounds):
        draw = random.Random(f"{seed} {hosts} {i}")
        with make(transport=["ipc", "tcp"][i % 2], epochs=epochs or 4 * kills, **words) as run:
            run.start(level="info")
            step = 0
            for _ in range(kills):
                step = run.steps() + draw.randint(*within)
                run.reaches(step)
                run.kill(draw.choice(hosts))
                gaps.append(run.gap(0.6))
            run.ends(0)
            run.is_as_quiet()
            rewinds += max(map(int, re.findall(r"generation (\d+) begins at step", run.said()))) - 1
    print(f"  {len(gaps)} kills of {' or '.join(hosts)}: median gap {statistics.median(gaps) * 1e3:.0f}"
          f" ms, longest {max(gaps) * 1e3:.0f} ms; {rewinds} rewinds")
    return rewinds


# --- what goes on ---------------------------------------------------------------------------------


def test_a_worker(make, rounds):
    assert survives(make, ["p0", "p1"], 2, 2 * rounds) == 0


def test_a_batcher(make, rounds):
    assert survives(make, ["j"], 1, 2 * rounds) >= 2 * rounds


def test_a_reader(make, rounds):
    assert survives(make, ["r"], 1, 2 * rounds) >= 2 * rounds


def test_a_reducer(make, rounds):
    assert survives(make, ["m"], 1, 2 * rounds) == 0


def test_a_reducer_of_pieces(make, rounds):
    """An array of 9 pieces, more than may be open."""
    assert survives(make, ["m"], 2, rounds, seed=3, epochs=1, sleep_us=0, large=2_300_000,
                    within=(2, 20)) == 0


def test_all_that_may_at_random(make, rounds):
    survives(make, ["p0", "p1", "r", "j", "m"], 3, 2 * rounds, seed=9, epochs=10)


def test_hosts_with_lanes(make, rounds):
    survives(make, ["l0", "l1"], 2, rounds, overlay=LANES, lanes=3)


# --- what ends the run ----------------------------------------------------------------------------


def ends_with(make, host, *words):
    with make(transport="tcp", epochs=1000) as run:
        run.start()
        run.reaches(100)
        run.kill(host)
        run.ends(137)
        assert f"host {host} was killed by signal 9" in run.said(), run.said()
        for word in words:
            assert word in run.said(), run.said()


def test_a_feeder_ends_the_run(make, rounds):
    ends_with(make, "f", "host f was lost with the replicas that it carried",
              "the last committed cursor is the one before step")


def test_a_leader_ends_the_run(make, rounds):
    ends_with(make, "a", "host a, which leads the run, is lost")


def test_a_batcher_while_a_worker_is_stopped(make, rounds):
    """A worker that is paused is not told of a rewind, and no other rewind follows."""
    settings = "dead_after: 1500 ms\nlink_timeout: 300 ms"
    with make(epochs=20, settings=settings) as run:
        run.start()
        run.reaches(100)
        worker = run.join("p+")  # `up` would replace a process of its own
        run.works(worker, "p2")
        worker.send_signal(signal.SIGSTOP)
        run.hears("host p2 is lost")
        run.kill("j")
        run.hears("host j was lost")
        run.reaches(run.steps() + 20)
        worker.send_signal(signal.SIGCONT)
        run.ends(0, 60)
        assert worker.wait(60) == 0
        run.is_as_quiet()


# --- processes of their own -----------------------------------------------------------------------


def isolated(make, **words):
    return make(overlay=None, prep=", isolate: process, workers: 3", read=", isolate: process",
                **words)


def test_isolated_actors_that_crash(make, rounds):
    gaps = []
    for i in range(rounds):
        draw = random.Random(f"isolated {i}")
        with isolated(make, epochs=12) as run:
            run.start("run")
            for number in (signal.SIGSEGV, signal.SIGKILL, signal.SIGABRT):
                run.reaches(run.steps() + draw.randint(20, 120))
                host = draw.choice(["prep.0", "prep.1", "prep.2", "read.0"])
                run.kill(f"local.{host}", number)
                gaps.append(run.gap(0.4))
                run.hears(rf"process local.{host} was killed by signal {int(number)} ")
            run.ends(0)
            run.is_as_quiet()
    print(f"  longest gap {max(gaps) * 1e3:.0f} ms")


def test_an_isolated_actor_that_crashes_too_often(make, rounds):
    with isolated(make, epochs=1000, settings="restarts: {max: 1}") as run:
        run.start("run")
        for _ in range(2):
            run.reaches(run.steps() + 50)
            run.kill("local.prep.1", signal.SIGSEGV)
            run.gap(0.3)
        run.ends(1)
        one_sentence(run.said(), "process local.prep.1 died 2 times in a short time",
                     "was killed by signal 11")


def test_isolated_actors_end_with_their_host(make, rounds):
    with isolated(make, epochs=1000) as run:
        run.start("run")
        run.reaches(50)
        pids = [pid for host, pid in run.pids().items()]
        assert len(pids) == 4, run.pids()
        run.process.kill()
        until("processes that are left", lambda: not any(alive(pid) for pid in pids))


# --- what hangs -----------------------------------------------------------------------------------


def stalling(make, hung_after="400 ms", **words):
    return make(overlay=None, settings=f"hung_after: {hung_after}", read=", access: read", **words)


def test_a_reader_that_hangs_is_replaced(make, rounds):
    with stalling(make) as run:
        run.start("run", preload="stall.so")
        for _ in range(2):
            run.reaches(run.steps() + 50)
            run.stall.write_text("hang")
            until("the stall is found", lambda: not run.stall.exists())
            gap = run.gap(2)
        run.ends(0)
        run.is_as_quiet()
        said = run.said()
        assert re.search(r"read.0 .*it hangs: its work takes longer than 400 ms \(hung_after\): "
                         r"thread \d+ \(sleeping\).*it is replaced", said), said
        print(f"  longest gap, hung_after included, {gap * 1e3:.0f} ms")


def test_a_slow_disk_is_not_a_hang(make, rounds):
    #  A block takes three times as long as a hang, a read a tenth of it.
    with stalling(make, "1 s", epochs=3) as run:
        run.start("run", preload="stall.so")
        run.reaches(50)
        run.stall.write_text("slow")
        run.gap(2.5)
        run.stall.unlink()
        run.ends(0)
        run.is_as_quiet()
        assert "hangs" not in run.said(), run.said()


def test_a_step_that_hangs_ends_the_run(make, rounds):
    with make(overlay=None, settings="hung_after: 400 ms", sleep_us=60000000) as run:
        run.start("run")
        run.ends(1)
        one_sentence(run.said(), "the step of replica", "hangs: step 0 takes longer than 400 ms",
                     "thread", "sleeping")


# --- what stays stopped ---------------------------------------------------------------------------

SOON = "dead_after: 700 ms\nlink_timeout: 300 ms"  # a process is replaced after 1.3 s


def stays_stopped(run, hosts):
    """Stops hosts for good; `up` replaces them, and the run continues."""
    before = {host: run.pid(host) for host in hosts}
    heard = len(run.said())
    for pid in before.values():
        os.kill(pid, signal.SIGSTOP)
    for host, pid in before.items():
        replaced = until(lambda: f"host {host} is replaced\n{run.said()}", lambda: re.search(
            rf"host {host} did not answer for ([0-9.]+) s and was replaced: "
            r"it is started again in \d+ ms \(\d of 20\)", run.said()[heard:]), 10)
        assert float(replaced[1]) >= 1.3, run.said()
        assert not alive(pid)
    run.reaches(run.steps() + 40)


def test_what_stays_stopped_is_replaced(make, rounds):
    for i in range(rounds):
        draw = random.Random(f"stopped {i}")
        with make(overlay=STORED, stored=True, epochs=6, settings=SOON,
                  transport=["ipc", "tcp"][i % 2]) as run:
            run.start()
            run.reaches(draw.randint(1, 120))
            for hosts in draw.sample(["rm", "j", "k"], 3):
                stays_stopped(run, hosts)
            run.ends(0)
            run.is_as_quiet()
            assert "killed by signal" not in run.said(), run.said()


def test_isolated_processes_that_stay_stopped_are_replaced(make, rounds):
    with isolated(make, epochs=6, settings=SOON) as run:
        run.start("run")
        run.reaches(50)
        for host in ("local.prep.1", "local.read.0"):
            pid = run.pid(host)
            os.kill(pid, signal.SIGSTOP)
            run.hears(rf"process {host} did not answer for [0-9.]+ s and was replaced")
            until(f"{host} is killed", lambda: not alive(pid))
            run.reaches(run.steps() + 40)
        run.ends(0)
        run.is_as_quiet()


# --- hosts that join and leave --------------------------------------------------------------------


def test_hosts_that_join_and_leave(make, rounds):
    with make(transport="ipc", epochs=10) as run:
        run.start()
        run.reaches(100)
        newcomers = []
        for host in ("p2", "p3"):
            newcomers.append(run.join("p+"))
            run.works(newcomers[-1], host)
        for host in ("p0", "p1"):
            run.kill(host, signal.SIGSTOP)  # all that goes on is the newcomers' work
        run.reaches(run.steps() + 100)
        for host in ("p0", "p1"):
            run.kill(host, signal.SIGCONT)
        newcomers[0].send_signal(signal.SIGINT)
        assert newcomers[0].wait(60) == 130
        run.reaches(run.steps() + 20)
        newcomers[1].kill()
        run.reaches(run.steps() + 20)
        again = run.join("p+")
        run.works(again, "p2")
        run.ends(0)
        assert again.wait(60) == 0
        run.is_as_quiet()


def test_a_host_that_cannot_join_gets_the_reason(make, rounds):
    with make(transport="tcp", epochs=1000) as run:
        run.start()
        run.reaches(50)
        for name, text in (("q+", "no range of hosts named `q` carries only workers; these do: p"),
                           ("p0", "is already running here")):
            other = run.join(name)
            assert other.wait(60) == 75, other.returncode
            assert text in other.log.read_text(), other.log.read_text()
        run.graph.write_text(run.graph.read_text().replace("seed: 7", "seed: 8"))
        for host in ("p+", "p5"):
            other = run.join(host)
            assert other.wait(60) == 75, other.returncode
            assert "another graph" in other.log.read_text(), other.log.read_text()
        run.reaches(run.steps() + 50)
        run.process.send_signal(signal.SIGINT)
        run.ends(130)


class Made:
    """A run in a folder of its own, whose processes end with it."""

    def __init__(self, **words):
        self.words = words

    def __enter__(self):
        self.folder = tempfile.TemporaryDirectory()
        self.run = Run(pathlib.Path(self.folder.name), **self.words)
        return self.run

    def __exit__(self, *error):
        self.run.close()
        self.folder.cleanup()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("names", nargs="*")
    asked = parser.parse_args()
    return run_named(globals(), asked.names, lambda test: test(Made, asked.rounds))


if __name__ == "__main__":
    sys.exit(main())
