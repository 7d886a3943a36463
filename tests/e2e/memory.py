#!/usr/bin/env python3
"""Memory: a run whose consumer is stopped does not grow, and nothing grows with restarts.

Usage: memory.py [--sleep S] [--rounds N] [--access map read --] [--beside N] [--seconds S] [NAME...]; without a name it lists them.  Measured is what the
processes have for themselves: RssAnon + RssShmem of /proc/PID/status, of a host and of the processes that
it starts for isolated actors together; pages of mapped files are the system's cache.
"""
import argparse
import json
import os
import pathlib
import random
import re
import struct
import subprocess
import sys
import tempfile
import time

from deaths import Made, Run
from faults import free_range, until
from named import run_named
from nccl import lacks_kernels
from run import BUILD, ROOT, TUNDISH

MIB = 1 << 20
SPARE = 32 * MIB
ENV = {**os.environ, "TUNDISH_PLUGIN_PATH": str(BUILD / "tests")}
GRAPH = """tundish: 1
name: memory
seed: 7
data: {data}
{settings}
actors:
  read: {{kind: reader, source: {{npy: {{y: "${{data}}/y.npy", x: {x}}}}}, shuffle: global, epochs: 1000, access: {access}}}
  prep: {{kind: preprocessor, workers: 2{isolate}, ops: [{{filter: {{column: y, op: lt, value: {most}}}}}]}}
  batch: {{kind: batcher, size: {size}, replicas: 2, remainder: keep}}
  feed: {{kind: feeder, depth: 2, step: {{plugin: witness, sleep_us: {sleep_us}}}}}
  mean: {{kind: reducer}}
links:
  - read -> prep -> batch -> feed <-> mean
"""
ONE_LARGE_ROW = """tundish: 1
name: memory
seed: 7
data: {data}
{settings}
actors:
  read: {{kind: reader, source: {{npy: {{y: "${{data}}/y.npy", x: {x}}}}}, shuffle: global, epochs: 1000, access: {access}}}
  prep: {{kind: preprocessor, workers: 2{isolate}, ops: [{{pad_ragged: {{column: x, to: 150528, cut: true}}}}]}}
  batch: {{kind: batcher, size: {size}}}
  feed: {{kind: feeder, step: {{plugin: witness, sleep_us: {sleep_us}}}}}
  mean: {{kind: reducer}}
links:
  - read -> prep -> batch -> feed <-> mean
"""
REDUCED = """tundish: 1
name: memory
seed: 7
data: {data}
actors:
  read: {{kind: reader, source: {{npy: {{y: "${{data}}/y.npy"}}}}, epochs: 1}}
  batch: {{kind: batcher, size: 4, replicas: 4}}
  feed: {{kind: feeder, step: {{plugin: witness, large: {large}}}}}
  mean: {{kind: reducer}}
links:
  - read -> batch -> feed <-> mean
"""
ON_DEVICES = """tundish: 1
name: memory
seed: 7
data: {data}
actors:
  read: {{kind: reader, source: {{npy: {{y: "${{data}}/y.npy"}}}}, epochs: 1}}
  batch: {{kind: batcher, size: 4, replicas: 4}}
  feed: {{kind: feeder, step: {{plugin: bulk, count: {large}, there: {there}}}}}
  mean: {{{reducer}}}
links:
  - read -> batch -> feed <-> mean
"""
TWO = """port: {port}
hosts:
  a: {{address: 127.0.0.1, actors: [read, batch, feed, mean], devices: {{feed: ["{kind}:0", "{kind}:1"]}}}}
  b: {{address: 127.0.0.1, actors: [feed], devices: {{feed: ["{kind}:2"]}}}}
"""
FOUR = """port: {port}
hosts:
  a: {{transport: {transport}, actors: [read, batch, feed, mean]}}
  b[0-2]: {{transport: {transport}, actors: [feed]}}
"""
THREE = """port: {port}
hosts:
  a: {{transport: {transport}, actors: [feed]}}
  b: {{transport: {transport}, actors: [read, batch]}}
  c: {{transport: {transport}, actors: [prep], workers: {{prep: 2}}}}
"""
# Bytes of a sample, the longest if they differ; samples, size of a batch, what the budget of every
# host is.
SAMPLES = {"64 B": (64, 400000, 4096, "288MiB"), "64 KiB": (64 << 10, 4000, 64, "288MiB"),
           "1 B to 16 MiB": (16 << 20, 300, 2, "3GiB"), "one of 15 MiB": (15 << 20, 501, 128, "288MiB")}


def write_sparse(path, rows, row_bytes):
    """Rows of zeros that take no place on disk; as many numbers, if a row has one byte."""
    shape = (rows, row_bytes) if row_bytes > 1 else (rows,)
    header = f"{{'descr': '|u1', 'fortran_order': False, 'shape': {shape}, }}".encode()
    header += b" " * (63 - (10 + len(header)) % 64) + b"\n"
    with open(path, "wb") as out:
        out.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header)
        out.truncate(out.tell() + rows * row_bytes)


def write_numbers(path, numbers):
    header = f"{{'descr': '<i8', 'fortran_order': False, 'shape': ({len(numbers)},), }}".encode()
    header += b" " * (63 - (10 + len(header)) % 64) + b"\n"
    path.write_bytes(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header +
                     struct.pack(f"<{len(numbers)}q", *numbers))


def write_rows(folder, sample):
    """The files of column x; returns what a topology says of them."""
    row_bytes, rows = SAMPLES[sample][:2]
    draw, splits = random.Random(5), [0]
    if " to " in sample:  # as many of every order of magnitude, and a quarter of the longest
        for _ in range(rows):
            short = int(2 ** draw.uniform(0, row_bytes.bit_length() - 1))
            splits.append(splits[-1] + (row_bytes if draw.random() < 0.25 else short))
    elif "one of" in sample:
        for row in range(rows):
            splits.append(splits[-1] + (row_bytes if row == rows // 2 else 110000))
    else:
        write_sparse(folder / "x.npy", rows, row_bytes)
        return '"${data}/x.npy"'
    write_sparse(folder / "x.npy", splits[-1], 1)
    write_numbers(folder / "splits.npy", splits)
    return '{values: "${data}/x.npy", splits: "${data}/splits.npy"}'


def held(pid):
    """What a process has for itself, in bytes; 0: it has ended."""
    try:
        text = pathlib.Path(f"/proc/{pid}/status").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return 0
    return sum(int(line.split()[1]) << 10 for line in text.splitlines()
               if line.startswith(("RssAnon:", "RssShmem:")))


def stands_still(folder, transport, sample, sleep, access="auto"):
    """Measures until a step was done and for two and a half more."""
    _, rows, size, budget = SAMPLES[sample]
    x = write_rows(folder, sample)
    write_numbers(folder / "y.npy", range(rows))
    graph, overlay = folder / "graph.yaml", folder / "overlay.yaml"
    isolate = ", isolate: process" if transport == "isolated" else ""
    shape = ONE_LARGE_ROW if "one of" in sample else GRAPH
    graph.write_text(shape.format(data=folder, x=x, size=size, sleep_us=int(sleep * 1e6), most=rows - 1,
                                  settings=f"memory: {budget}", isolate=isolate, access=access))
    files = [str(graph)]
    if transport in ("ipc", "tcp"):
        overlay.write_text(THREE.format(port=free_range("127.0.0.1", 1), transport=transport))
        files.append(str(overlay))
    done = subprocess.run([str(TUNDISH), "explain", *files, "--json"], capture_output=True, text=True,
                          cwd=ROOT, env=ENV)
    assert done.returncode == 0, done.stderr
    hosts = json.loads(done.stdout)["hosts"]
    sums = {host["name"]: host["memory"]["bytes"] for host in hosts if "memory" in host}
    parts = {host["name"]: host.get("parent", host["name"]) for host in hosts}
    run = Run.__new__(Run)
    run.log, run.metrics = folder / "log", folder / "metrics.jsonl"
    run.metrics.unlink(missing_ok=True)
    with open(run.log, "w") as log:
        run.process = subprocess.Popen([str(TUNDISH), "up" if len(files) > 1 else "run", *files,
                                        "--metrics", str(run.metrics)], stdout=log, stderr=log,
                                       cwd=ROOT, env=ENV)
    most, pids = dict.fromkeys(sums, 0), {}

    def all_are_there():
        pids.update(run.pids(), **({"local": run.process.pid} if len(files) == 1 else {}))
        return run.process.poll() is not None or len(pids) == len(parts)
    try:
        until(lambda: f"all hosts of {list(parts)}\n{run.said()}", all_are_there)
        began, end = time.monotonic(), 0
        while end == 0 or time.monotonic() < end:
            assert run.process.poll() is None, run.said()
            now = dict.fromkeys(sums, 0)
            for host, pid in pids.items():
                now[parts[host]] += held(pid)
            most = {host: max(most[host], now[host]) for host in sums}
            if end == 0 and run.steps() > 0:
                end = time.monotonic() + 2.5 * sleep
            assert time.monotonic() < began + 60 + 4 * sleep, f"no step\n{run.said()}"
            time.sleep(0.02)
    finally:
        for pid in run.pids().values():
            os.kill(pid, 9)
        run.process.kill()
        run.process.wait()
    text = ", ".join(f"{host} {most[host] / MIB:.1f} of {sums[host] / MIB:.1f} MiB" for host in sums)
    print(f"  {transport:8} {access:4} {sample:13}: {text}", flush=True)
    for host, bytes_ in sums.items():
        assert most[host] <= bytes_ + SPARE, f"{transport}, {access}, {sample}: {text}"


def every_sample_stands_still(folder, transport, asked):
    for sample in SAMPLES:
        if "one of" in sample and transport == "isolated":
            continue  # a process for each worker does not fit into the budget
        for access in asked.access if "one of" in sample else ["auto"]:
            stands_still(folder, transport, sample, asked.sleep, access)


def test_a_step_that_sleeps_inproc(folder, asked):
    every_sample_stands_still(folder, "inproc", asked)


def test_a_step_that_sleeps_isolated(folder, asked):
    every_sample_stands_still(folder, "isolated", asked)


def test_a_step_that_sleeps_ipc(folder, asked):
    every_sample_stands_still(folder, "ipc", asked)


def test_a_step_that_sleeps_tcp(folder, asked):
    every_sample_stands_still(folder, "tcp", asked)


def sums_of(files, env=ENV):
    """What `explain` says that each host takes at most, with its devices: those of these tests have the host's memory."""
    done = subprocess.run([str(TUNDISH), "explain", *map(str, files), "--json"], capture_output=True,
                          text=True, cwd=ROOT, env=env)
    assert done.returncode == 0, done.stderr
    return {host["name"]: host["memory"]["bytes"] + sum(term["bytes"] for term in host["memory"].get("devices", []))
            for host in json.loads(done.stdout)["hosts"]}


def reduces(files, arrays, env=ENV):
    """The most that each host takes in a run, without the arrays of its own replicas, `arrays` bytes by host."""
    most, run = {}, Run.__new__(Run)
    run.log = files[0].parent / "log"
    with open(run.log, "w") as log:
        run.process = subprocess.Popen([str(TUNDISH), "up", *map(str, files)], stdout=log, stderr=log,
                                       cwd=ROOT, env=env)
    try:
        while run.process.poll() is None:
            for host, pid in run.pids().items():
                most[host] = max(most.get(host, 0), held(pid) - arrays[host])
            time.sleep(0.01)
        assert run.process.returncode == 0, run.said()
    finally:
        for pid in run.pids().values():
            os.kill(pid, 9)
        run.process.kill()
        run.process.wait()
    return most


def stays_within(what, files, arrays, env=ENV):
    sums, most = sums_of(files, env), reduces(files, arrays, env)
    text = ", ".join(f"{host} {most[host] / MIB:.1f} of {sums[host] / MIB:.1f} MiB" for host in sums)
    print(f"  {what}: {text}", flush=True)
    for host, bytes_ in sums.items():
        assert most[host] <= bytes_ + SPARE, text
    return most


def four_hosts(folder, transport, large, steps=5):
    write_numbers(folder / "y.npy", range(4 * steps))
    files = folder / "graph.yaml", folder / "overlay.yaml"
    files[0].write_text(REDUCED.format(data=folder, large=large // 4))
    files[1].write_text(FOUR.format(port=free_range("127.0.0.1", 1), transport=transport))
    stays_within(f"{transport} {large // 1000000} MB", files, dict.fromkeys(("a", "b0", "b1", "b2"), large))


def test_values_that_are_reduced(folder, asked):
    four_hosts(folder, "ipc", 100_000_000)


def test_more_values_that_are_reduced(folder, asked):
    four_hosts(folder, "tcp", 200_000_000)


def on_devices(folder, kind, there, *reducer):
    """Two hosts, of which one has two replicas on a device and one on another.  A larger array takes no more."""
    support, files = BUILD / "tests" / "support", (folder / "graph.yaml", folder / "overlay.yaml")
    env = {**ENV, "TND_CUDA_DEVICES": "3", "LD_LIBRARY_PATH": f"{support}/cuda/whole:{support}/nccl/whole"}
    write_numbers(folder / "y.npy", range(4 * 2))
    most = []
    for large in (16_000_000, 40_000_000):
        files[0].write_text(ON_DEVICES.format(data=folder, large=large // 4, there=there,
                                              reducer=", ".join(("kind: reducer", *reducer))))
        files[1].write_text(TWO.format(port=free_range("127.0.0.1", 1), kind=kind))
        what = " ".join((kind, *reducer, f"{large // 1000000} MB"))
        most.append(stays_within(what, files, {"a": 3 * large, "b": large}, env))
    for host, first in most[0].items():
        assert most[1][host] <= first + 12 * MIB, (host, most)


def test_values_on_devices_through_the_host(folder, asked):
    on_devices(folder, "sim", 1)


def test_values_through_nccl(folder, asked):
    on_devices(folder, "cuda", 0, "order: any")


def test_values_on_devices_through_nccl(folder, asked):
    if lacks_kernels():
        print("  skipped: this build has no kernels")
        return
    on_devices(folder, "cuda", 1, "through: nccl")


def count_of(pid):
    """What a process has of what can leak."""
    status = pathlib.Path(f"/proc/{pid}/status").read_text()
    maps = pathlib.Path(f"/proc/{pid}/maps").read_text()
    return {"memory": held(pid), "descriptors": len(os.listdir(f"/proc/{pid}/fd")),
            "threads": int(re.search(r"Threads:\s+(\d+)", status).group(1)),
            "mappings": maps.count("\n"), "shared": maps.count("/dev/shm") + maps.count("memfd")}


def wears(run, hosts, asked, disturb):
    """Disturbs a run again and again; a host that is not disturbed uses as much memory
    after all rounds as after a third of them.  Memory that leaks grows before and after the
    middle between these; a queue that was longer than ever, on a busy machine, does so once."""
    early, middle = asked.rounds // 3, asked.rounds * 2 // 3
    seen, looks = [], sorted({early, middle, *(asked.rounds * i // 10 for i in range(1, 11))})
    for done in range(asked.rounds + 1):
        if done in looks:
            run.reaches(run.steps() + 200)
            seen.append((done, {host: count_of(run.pid(host)) for host in hosts},
                         {"files": len(os.listdir(run.temporary)), "log": run.log.stat().st_size,
                          "shm": len(os.listdir("/dev/shm"))}))
        if done < asked.rounds:
            disturb()
            run.reaches(run.steps() + 30)
    for done, counts, files in seen:
        text = "; ".join(f"{host} {c['memory'] / MIB:.2f} MiB, {c['descriptors']} descriptors, "
                         f"{c['threads']} threads, {c['mappings']} mappings" for host, c in counts.items())
        print(f"  after {done:4}: {text}; {files['files']} files, log of {files['log'] >> 10} KiB")
    (first, before, left), (last, after, leaves) = seen[looks.index(early)], seen[-1]
    half = seen[looks.index(middle)][1]
    for host in hosts:
        for what, most in (("memory", 4 * MIB + 1024 * (last - first)), ("descriptors", 8),
                           ("threads", 0), ("mappings", 20), ("shared", 0)):
            grown = after[host][what] - before[host][what]
            if what == "memory":
                grown = 2 * min(half[host][what] - before[host][what], after[host][what] - half[host][what])
            assert grown <= most, f"{host}: {grown} more {what} after {last - first} times"
    for what in ("files", "shm"):
        assert leaves[what] <= left[what] + 2, (what, leaves, os.listdir(run.temporary))


def worn(folder, **words):
    """An endless run with its files in a folder of their own, which restarts killed processes."""
    made = Made(epochs=1000000, settings="restarts: {max: 1000000, backoff_max: 10ms}", **words)
    run = made.__enter__()
    run.temporary = folder
    run.env.update(TMPDIR=str(folder), XDG_RUNTIME_DIR=str(folder))
    return made, run


def test_restarts_of_a_worker_leak_nothing(folder, asked):
    made, run = worn(folder, transport="tcp")
    try:
        run.start()
        run.reaches(100)

        def kill():
            victim = run.pid("p0")
            run.kill("p0")
            until("another process", lambda: run.pids().get("p0", victim) != victim)
        wears(run, [host for host in run.pids() if host not in ("p0", "p1")], asked, kill)
    finally:
        made.__exit__()


def test_restarts_of_an_isolated_worker_leak_nothing(folder, asked):
    made, run = worn(folder, overlay=None, prep=", isolate: process, workers: 2")
    try:
        run.start("run")
        run.reaches(100)
        parent = run.process.pid
        run.pid = lambda host: until(host, lambda: {**run.pids(), "local": parent}.get(host))

        def kill():
            victim = run.pid("local.prep.0")
            os.kill(victim, 9)
            until("another process", lambda: run.pids().get("local.prep.0", victim) != victim)
        wears(run, ["local", "local.prep.1"], asked, kill)
    finally:
        made.__exit__()


class Group:
    """A control group with a limit of memory, of either version; None from `make` where it is not allowed."""

    def __init__(self, path, files):
        self.path, (self.limit, self.most, self.events) = path, files

    @classmethod
    def make(cls, limit):
        for root, files in (("/sys/fs/cgroup/memory", ("memory.limit_in_bytes", "memory.max_usage_in_bytes",
                                                       "memory.oom_control")),
                            ("/sys/fs/cgroup", ("memory.max", "memory.peak", "memory.events"))):
            path = pathlib.Path(root) / f"tundish-{os.getpid()}"
            try:
                path.mkdir()
            except OSError:
                continue
            group = cls(path, files)
            try:
                (path / group.limit).write_text(str(limit))
                return group
            except OSError:
                path.rmdir()
        return None

    def enter(self):
        (self.path / "cgroup.procs").write_text("0")

    def killed(self):
        return int(re.search(r"^oom_kill (\d+)", (self.path / self.events).read_text(), re.M)[1])

    def peak(self):
        return int((self.path / self.most).read_text()) if (self.path / self.most).exists() else 0


def test_a_group_of_the_sum_beside_other_runs(folder, asked):
    """A leader with `--report` looks at the pages of its own run only, and keeps no more than its sum says."""
    env = {**ENV, "XDG_RUNTIME_DIR": str(folder)}
    write_sparse(folder / "x.npy", 4000, 4096)
    write_numbers(folder / "y.npy", range(4000))

    def write(name, settings, sleep_us):
        path = folder / f"{name}.yaml"
        path.write_text(GRAPH.format(data=folder, x='"${data}/x.npy"', size=64, sleep_us=sleep_us, most=3999,
                                     settings=settings, isolate="", access="auto").replace("name: memory", f"name: {name}"))
        return path

    others = [subprocess.Popen([str(TUNDISH), "run", str(write(f"other-{i}", "", 200000)), "--quiet"],
                               stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd=ROOT, env=env)
              for i in range(asked.beside)]
    group = None
    try:
        path = write("own", "", 1000)
        told = subprocess.run([str(TUNDISH), "explain", str(path), "--json"], capture_output=True, text=True,
                              cwd=ROOT, env=env, check=True)
        limit = json.loads(told.stdout)["hosts"][0]["memory"]["bytes"] + SPARE
        group = Group.make(limit)
        if group is None:
            print("  skipped: no control group can be made here")
            return
        until("pages of all runs", lambda: len(list(folder.rglob("tundish-other-*.pages"))) == asked.beside, 60)
        report, metrics, log = folder / "report.json", folder / "metrics", open(folder / "log", "w+")
        run = subprocess.Popen([str(TUNDISH), "run", str(path), "--report", str(report), "--metrics", str(metrics)],
                               stdout=log, stderr=log, cwd=ROOT, env=env, preexec_fn=group.enter)
        steps = lambda: metrics.read_text().count("\n") if metrics.exists() else 0
        end = time.monotonic() + asked.seconds
        until(lambda: (folder / "log").read_text(), lambda: run.poll() is not None or (
            steps() >= 100 and time.monotonic() >= end), 60 + asked.seconds)
        run.terminate()
        code = run.wait(60)
        print(f"  beside {asked.beside} runs: {group.peak() / MIB:.1f} of {limit / MIB:.1f} MiB, with page cache")
        assert (code, group.killed()) == (130, 0), (code, group.killed(), (folder / "log").read_text())
        assert json.loads(report.read_text())["steps"] >= 100
    finally:
        for other in others:
            other.kill()
            other.wait()
        if group is not None:
            group.path.rmdir()


def test_the_observers_of_many_actors(folder, asked):
    """What a leader that reports on 150 workers of another process keeps is a term of its sum, and no less."""
    write_sparse(folder / "x.npy", 4000, 64)
    write_numbers(folder / "y.npy", range(4000))
    graph, overlay = folder / "graph.yaml", folder / "overlay.yaml"
    graph.write_text(GRAPH.format(data=folder, x='"${data}/x.npy"', size=64, sleep_us=1000, most=3999,
                                  settings="", isolate="", access="auto"))
    overlay.write_text(f"port: {free_range('127.0.0.1', 1)}\nhosts:\n  a: {{actors: [read, batch, feed, mean]}}\n"
                       "  b: {actors: [prep], workers: {prep: 150}}\n")
    files = [str(graph), str(overlay)]
    told = subprocess.run([str(TUNDISH), "explain", *files, "--json"], capture_output=True, text=True, cwd=ROOT,
                          env=ENV, check=True)
    terms = json.loads(told.stdout)["hosts"][0]["memory"]["terms"]
    observers = sum(term["bytes"] for term in terms if "observers" in term["what"])
    most = {}
    for options in ([], ["--report", str(folder / "report.json"), "--metrics", str(folder / "metrics")]):
        with open(folder / "log", "w+") as log:
            both = [subprocess.Popen([str(TUNDISH), "run", *files, "--host", host, *more], stdout=log, stderr=log,
                                     cwd=ROOT, env=ENV)
                    for host, more in (("a", ["--steps", "100", *options]), ("b", []))]
            peak = 0
            while both[0].poll() is None:
                peak = max(peak, held(both[0].pid))
                time.sleep(0.002)
            assert [one.wait(60) for one in both] == [0, 0], (folder / "log").read_text()
        most[len(options)] = peak
    total = sum(term["bytes"] for term in terms)
    print(f"  observers {observers / MIB:.1f} MiB; {most[0] / MIB:.1f} MiB without and {most[4] / MIB:.1f} MiB with "
          f"them, of {total / MIB:.1f} MiB")
    assert json.loads((folder / "report.json").read_text())["steps"] == 100
    assert most[4] <= total and most[4] - most[0] <= observers, (most, total, observers)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--sleep", type=float, default=0.7)
    parser.add_argument("--rounds", type=int, default=21)
    parser.add_argument("--access", nargs="+", default=["map"], help="of the rows of which one is large")
    parser.add_argument("--beside", type=int, default=8, help="other runs")
    parser.add_argument("--seconds", type=float, default=1, help="that a run beside others takes")
    parser.add_argument("names", nargs="*")
    asked = parser.parse_args()

    def call(test):
        with tempfile.TemporaryDirectory() as folder:
            test(pathlib.Path(folder), asked)
    return run_named(globals(), asked.names, call)


if __name__ == "__main__":
    sys.exit(main())
