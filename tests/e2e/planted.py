#!/usr/bin/env python3
"""Faults that are planted in real runs, and what `tundish why` says about them.

Usage: planted.py [--full] [NAME...]; without a name it lists them.  Each test plants one fault.  With
--full there are more of them, at three speeds of the consumer instead of one.
"""
import argparse
import contextlib
import ctypes
import functools
import gzip
import inspect
import json
import os
import pathlib
import re
import shutil
import signal
import struct
import subprocess
import sys
import tempfile

from faults import free_range, until
from named import run_named
from run import BUILD, ROOT, TUNDISH
from slow_links import Link

GRAPH = """tundish: 1
name: planted
seed: 7
{top}
actors:
  read: {{kind: reader, source: {{plugin: planted, wide: {wide}}}, epochs: 1000000}}
  prep: {{kind: preprocessor, ops: [{{plugin: planted}}]{prep}}}
  batch: {{kind: batcher, size: 16, block: 16 rows{batch}}}
  feed: {{kind: feeder{plugin}{feed}}}
{more}
links:
  - read -> prep -> batch -> feed{links}
"""
BAD_ROWS = """tundish: 1
name: planted
seed: 7
checkpoint: {{dir: {folder}/kept, every: 5 steps}}
actors:
  read: {{kind: reader, source: {{csv: {{files: {folder}/rows.csv}}}}, epochs: 1000000}}
  prep: {{kind: preprocessor, on_error: skip, ops: [{{decode_csv: {{fields: {{x: string, y: string}}}}}},
         {{to_number: {{column: x, to: i32}}}}, {{to_number: {{column: y, to: i32}}}}]}}
  batch: {{kind: batcher, size: 16}}
  feed: {{kind: feeder, step: {{plugin: planted}}}}
links:
  - read -> prep -> batch -> feed
"""
SPOOLED = """tundish: 1
name: planted
actors:
  read: {{kind: reader, source: {{text: {{files: {folder}/lines.gz, max: 100, spool: {{dir: {folder}/spool, limit: 1GiB}}}}}}, epochs: 1000000}}
  batch: {{kind: batcher, size: 16}}
  feed: {{kind: feeder, step: {{plugin: planted}}}}
links:
  - read -> batch -> feed
"""
CACHED = """tundish: 1
name: planted
seed: 7
actors:
  read: {{kind: reader, source: {{plugin: planted, wide: 4096}}, epochs: 1000000}}
  prep: {{kind: preprocessor, ops: [{{plugin: planted}}]}}
  keep: {{kind: cache, limit: 4MiB}}
  batch: {{kind: batcher, size: 16, block: 16 rows}}
  feed: {{kind: feeder, step: {{plugin: planted}}}}
links:
  - read -> prep -> keep -> batch -> feed
"""
VALIDATED = """tundish: 1
name: planted
seed: 7
actors:
  read: {kind: reader, source: {plugin: planted}, epochs: 1000000}
  batch: {kind: batcher, size: 16, block: 16 rows}
  feed: {kind: feeder, step: {plugin: planted}}
  tread: {kind: reader, source: {plugin: planted}, take: 160}
  tprep: {kind: preprocessor, ops: [{plugin: planted}]}
  tbatch: {kind: batcher, size: 16, block: 16 rows}
  test: {kind: feeder, after: feed, every: 4 steps}
links:
  - read -> batch -> feed
  - tread -> tprep -> tbatch -> test
"""
INSIDE = "TUNDISH_PLANTED_LINK"  # set in the namespace that the script makes for itself
SOURCE, OPERATION, STEP, SAVE, OPEN, READY, MODEL, APPLY, PARTS = range(9)
SLEEP, SPIN, HANG, DEADLOCK = range(4)
PLUGIN = {"TUNDISH_PJRT": str(BUILD / "tests/counting_pjrt.so")}
FLOWS = (0, 10)  # a machine that is busy with other tests may have no free processor
SPEEDS = {"fast": 0, "middle": 2000, "slow": 30000}  # microseconds of a step


class Planted:
    """A run with switches, in a folder of its own."""

    def __init__(self, folder, speed, hosts="", top="", over="", wide=1, **words):
        self.folder, self.processes = folder, {}
        self.switches = folder / "switches"
        self.switches.write_bytes(bytes(24 * PARTS + 16))
        self.turn(STEP, SPEEDS[speed])
        fields = {"prep": "", "batch": "", "feed": "", "more": "", "links": "",
                  "plugin": ", step: {plugin: planted}", **words}
        (folder / "graph.yaml").write_text(GRAPH.format(top=top, wide=wide, **fields))
        self.files = [str(folder / "graph.yaml")]
        if hosts:
            self.files.append(str(folder / "hosts.yaml"))
            (folder / "hosts.yaml").write_text(
                f"port: {free_range('127.0.0.1', 1)}\n{over}hosts:\n" + hosts)
        pages = folder / "pages"
        pages.mkdir()
        self.env = {**os.environ, "TUNDISH_PLUGIN_PATH": str(BUILD / "tests"),
                    "PLANTED": str(self.switches), "XDG_RUNTIME_DIR": str(pages)}

    def turn(self, part, us, how=SLEEP, only=0, row=0):
        """Sets the switches of a part."""
        with open(self.switches, "r+b") as out:
            out.seek(24 * PARTS)
            out.write(struct.pack("<QQ", only, row))
            out.seek(24 * part)
            out.write(struct.pack("<QQQ", us, how, 0))

    def strikes(self, part):
        """Waits until a call of that part has obeyed: before that there is nothing to see."""
        until(lambda: f"a call of part {part}\n{self.said()}",
              lambda: struct.unpack_from("<Q", self.switches.read_bytes(), 24 * part + 16)[0] > 0)

    def begin(self, host, *line, **env):
        self.processes[host] = subprocess.Popen(
            line, env={**self.env, **env}, cwd=ROOT, stdout=subprocess.DEVNULL,
            stderr=open(self.folder / f"log{host}", "w"))

    def start(self, *hosts, inside=(), words=(), **env):
        """Starts a process for each host; `inside`: by these words."""
        for host in hosts or [""]:
            self.begin(host, *inside, str(TUNDISH), "run", *self.files, "--quiet", *words,
                       *(["--host", host] if host else []), **env)

    def pid_of(self, host):
        """The process of a host that this process did not start."""
        seen = json.loads(subprocess.run([str(TUNDISH), "ps", "--json"], env=self.env, text=True,
                                         capture_output=True).stdout)
        pids = [one["pid"] for one in seen["processes"]
                if one["host"] == host and one["state"] != "killed"]
        return pids[0] if pids else None

    def kill(self, number, host=""):
        self.processes[host].send_signal(number)
        if number == signal.SIGSTOP:
            os.waitid(os.P_PID, self.processes[host].pid, os.WSTOPPED | os.WNOWAIT)
        if number == signal.SIGKILL:
            self.processes[host].wait()

    def look(self):
        """The exit code of why and its verdict, or None; other tests have runs of other names."""
        done = subprocess.run([str(TUNDISH), "why", "--json", "planted"], env=self.env, text=True,
                              capture_output=True)
        runs = json.loads(done.stdout)["runs"]
        for fault in runs[0]["faults"] if runs else []:
            assert not re.search(r"\{[a-z]+\??\}", fault["text"] + (fault["action"] or "")), fault
        return done.returncode, runs[0] if runs else None

    def until(self, code, true=lambda verdict: True, seconds=20):
        """Looks until the verdict is that."""
        seen = []

        def fits():
            seen[:] = self.look()
            codes = code if isinstance(code, tuple) else (code,)
            return seen[1] is not None and seen[0] in codes and true(seen[1])
        until(lambda: f"code {code}; now {json.dumps(seen)}\n{self.said()}", fits, seconds)
        return seen[1]

    def notes(self, which):
        """The exit code of ps and what it shows of the run."""
        done = subprocess.run([str(TUNDISH), "ps", which, "--json", "planted"], env=self.env,
                              text=True, capture_output=True)
        return done.returncode, json.loads(done.stdout)["runs"][0]

    def seconds(self):
        """The age of the run."""
        seen = json.loads(subprocess.run([str(TUNDISH), "ps", "--json", "planted"], env=self.env, text=True,
                                         capture_output=True).stdout)
        return seen["runs"][0]["age_seconds"]

    def flows(self):
        until(lambda: f"rows; now {self.look()}\n{self.said()}",
              lambda: (self.look()[1] or {}).get("rows_per_second", 0) > 0)

    def said(self):
        return "\n".join(path.read_text() for path in sorted(self.folder.glob("log*")))

    def close(self):
        for process in self.processes.values():
            process.kill()
            process.wait()


def has(reason, **fields):
    """Whether a verdict has a fault with such fields."""
    def fits(verdict):
        return any(fault["reason"] == reason and
                   all(fault[name] == value for name, value in fields.items())
                   for fault in verdict["faults"])
    return fits


def limits(reason, actor, share=0.8):
    """Whether that is the limit of a verdict."""
    def fits(verdict):
        limit = verdict["limit"]
        return limit is not None and limit["reason"] == reason and \
            limit["actor"].startswith(actor) and limit["share"] > share
    return fits


def full_a_hung_actor_is_named(make):
    with make() as run:
        run.start()
        for part, actor in ((SOURCE, "read.0"), (OPERATION, "prep.0"), (STEP, "feed")):
            run.flows()
            run.turn(part, 0, HANG)
            verdict = run.until(11, has("hangs", actor=actor, host="local"))
            assert verdict["actor"] == actor and verdict["chain"], verdict
            assert verdict["device"] == ("cpu:0" if part == STEP else None), verdict
            run.turn(part, SPEEDS["middle"] if part == STEP else 0)


def full_a_slow_actor_is_the_limit(make):
    with make() as run:
        run.start()
        run.flows()
        for part, actor in ((SOURCE, "read.0"), (OPERATION, "prep.0"), (STEP, "feed")):
            run.turn(STEP, 0)
            run.turn(part, 100000 if part == STEP else 6000)
            run.until(FLOWS, limits("step" if part == STEP else "work", actor))
            run.turn(part, 0)


def full_a_source_of_three_seconds_per_block_is_the_limit_between_its_rows(make):
    with make() as run:
        run.turn(SOURCE, 187500)  # of 16 rows
        run.start()
        run.until(11, lambda told: told["actor"] == "read.0")
        verdict = run.until(11, limits("work", "read.0"))
        assert re.search(r"at work \d+ % of the time, its calls take [2-4]\.\d s$", verdict["sentence"]), verdict
        assert has("works", actor="read.0")(verdict) and not has("hangs")(verdict), verdict


def full_answers_in_a_steady_state_are_equal(make):
    with make() as run:
        run.turn(SOURCE, 40000)  # a step each 0.64 s, so that some looks see none
        run.start()
        run.until(FLOWS, lambda told: limits("work", "read.0")(told) and
                  0.9 < told["rows_per_second"] / 25 < 1.1, 30)
        looks = [run.look() for _ in range(make.looks)]
        assert {(told["limit"]["actor"], told["flows"]) for _, told in looks} == \
            {("read.0", True)}, looks
        assert all(0.7 < told["rows_per_second"] / 25 < 1.3 for _, told in looks), looks


def test_a_host_that_has_not_started_is_named(make):
    with make(hosts="  a: {actors: [read, batch]}\n  b: {actors: [prep]}\n  c: {actors: [feed]}\n",
              prep=", workers: 2") as run:
        run.start("a", "c")
        verdict = run.until(11, has("not_started", host="b"))
        assert "waits for host b (prep.0, prep.1) to start" in verdict["sentence"], verdict
        assert "--host b" in verdict["faults"][0]["action"], verdict


def test_a_stopped_or_killed_host_is_named_while_buffers_feed(make):
    hosts = "  a: {actors: [read, batch, feed]}\n  b: {actors: [prep]}\n"
    with make(hosts=hosts, speed="slow", prep=", workers: 2") as run:
        run.start("a", "b")
        run.flows()
        run.kill(signal.SIGSTOP, "b")
        pid = run.processes["b"].pid
        code, verdict = run.look()
        assert code in (10, 11) and has("stopped", host="b", pid=pid)(verdict), (code, verdict)
        run.kill(signal.SIGKILL, "b")
        verdict = run.until((10, 11), has("killed", host="b", pid=pid))
        fault = next(one for one in verdict["faults"] if one["reason"] == "killed")
        assert "(prep.0, prep.1)" in fault["text"], verdict
        assert "(at most " in fault["evidence"], verdict


REDUCED = {"batch": ", replicas: 2", "plugin": ", step: {plugin: planted, reduces: true}", "more": "  mean: {kind: reducer}", "links": " <-> mean"}
REDUCER = """  a: {actors: [read, prep, batch]}
  b: {actors: [feed]}
  c: {actors: [feed]}
  d: {actors: [mean]}
"""


def test_a_stopped_or_killed_reducer_is_named(make):
    with make(hosts=REDUCER, **REDUCED) as run:
        run.start("a", "b", "c", "d")
        run.flows()
        run.kill(signal.SIGSTOP, "d")
        verdict = run.until(11, has("stopped", host="d", actor="mean"))
        assert f"kill -CONT {run.processes['d'].pid}" in verdict["faults"][0]["action"], verdict
        run.kill(signal.SIGKILL, "d")
        run.until(11, has("killed", host="d", actor="mean"))


def test_a_model_that_is_being_saved_is_named(make):
    with tempfile.TemporaryDirectory() as folder:
        with make(top=f"checkpoint: {{dir: {folder}/kept, every: 100 steps}}") as run:
            run.turn(SAVE, 3000000)
            run.start()
            verdict = run.until(11, has("saves", actor="feed", device="cpu:0"))
            assert f" to {folder}/kept for " in verdict["sentence"], verdict
            assert "wait channel" in verdict["faults"][0]["evidence"] or \
                "sleeping" in verdict["faults"][0]["evidence"], verdict


def full_a_stopped_worker_is_named_while_rows_flow(make):
    with make(prep=", isolate: process, workers: 2") as run:
        run.start()
        run.flows()
        pid = until("a worker", lambda: run.pid_of("local.prep.1"))
        os.kill(pid, signal.SIGSTOP)
        try:
            code, verdict = run.look()
            assert code in (10, 11) and has("stopped", actor="prep.1", pid=pid)(verdict), verdict
            run.until(10, has("stopped", actor="prep.1", pid=pid))
        finally:
            os.kill(pid, signal.SIGKILL)


def full_a_worker_that_crashes_again_and_again_is_named(make):
    with make(prep=", isolate: process, workers: 2") as run:
        run.start()
        run.flows()
        for _ in range(2):
            pid = until("a worker", lambda: run.pid_of("local.prep.1"))
            os.kill(pid, signal.SIGKILL)
            until("another process", lambda pid=pid: run.pid_of("local.prep.1") not in (None, pid))
        verdict = run.until(10, has("crashes", host="local.prep.1", actor="prep.1"))
        assert "2 times" in verdict["faults"][0]["text"], verdict
        assert "was killed by signal 9 (Killed)" in verdict["faults"][0]["evidence"], verdict
        code, kept = run.notes("--restarts")
        first = kept["restarts"]["first"][0]
        assert (code, kept["restarts"]["count"], first["restarted"]) == (0, 2, "local.prep.1"), kept
        assert re.fullmatch(r"process \d+ was killed by signal 9 \(Killed\)", first["reason"]), kept


def test_a_hang_on_another_machine_is_named(make):
    hosts = "  a: {actors: [read, batch, feed]}\n  b: {actors: [prep]}\n"
    with make(hosts=hosts) as run:
        run.start("a")
        (run.folder / "other").mkdir()
        run.start("b", XDG_RUNTIME_DIR=str(run.folder / "other"))  # whose pages are not seen
        run.flows()
        run.turn(OPERATION, 0, HANG)
        verdict = run.until(11, has("unseen", host="b", actor="prep.0"))
        assert "prep.0 on host b (127.0.0.1)" in verdict["sentence"], verdict
        evidence = [one["evidence"] for one in verdict["faults"] if one["reason"] == "unseen"]
        assert "host b: connected for" in evidence[0], verdict


def test_a_reader_of_one_lane_that_hangs_is_named(make):
    hosts = "  a: {lanes: 1, actors: [read, prep, batch, feed]}\n  b: {lanes: 1, actors: [read, prep, batch]}\n"
    for lane, host in enumerate("ab"):
        with make(hosts=hosts, top="lanes: 2") as run:
            run.start("a", "b")
            run.flows()
            run.turn(SOURCE, 0, HANG, only=run.processes[host].pid)
            verdict = run.until(11, has("hangs", actor=f"read.{lane}", host=host))
            assert verdict["actor"] == f"read.{lane}" and verdict["chain"], verdict
            run.turn(SOURCE, 0)


def test_a_program_between_its_steps_is_the_limit(make):
    with make(plugin="") as run:
        run.begin("", str(BUILD / "tests/planted_program"), str(run.files[0]), "20000")
        run.until(FLOWS, limits("program", "feed"))


def test_a_program_that_does_not_ask_for_a_step_is_named(make):
    with make(plugin="") as run:
        run.begin("", str(BUILD / "tests/planted_program"), str(run.files[0]), "600000000")
        verdict = run.until(11, has("program", actor="feed", pid=run.processes[""].pid))
        assert "has not asked for the next step for " in verdict["sentence"], verdict


def test_a_source_that_is_opening_is_named(make):
    with make() as run:
        run.turn(OPEN, 0, HANG)
        run.start()
        verdict = run.until(11, has("opening", host="local"))
        text = next(one["text"] for one in verdict["faults"] if one["reason"] == "opening")
        assert re.fullmatch(r"host local gets ready, for \d+(\.\d)? m?s so far; "
                            r"read: opening 3 of 16 files, 19 %, .*", text), text
        run.turn(OPEN, 0)
        run.flows()


def test_a_model_that_takes_long_to_open_does_not_hang(make):
    with make() as run:
        run.turn(MODEL, 0, HANG)
        run.start()
        verdict = run.until(11, has("opening", actor="feed", host="local"))
        text = next(one["text"] for one in verdict["faults"] if one["reason"] == "opening")
        assert re.fullmatch(r"host local gets ready, for \d+(\.\d)? m?s so far; feed: opening the models of its step", text), text
        assert not has("hangs")(verdict), verdict
        run.turn(MODEL, 0)
        run.flows()


def filter_all_rows(run):
    """Its 1,000 rows are 0 to 999."""
    graph = (run.folder / "graph.yaml").read_text()
    (run.folder / "graph.yaml").write_text(graph.replace(
        "ops: [{plugin: planted}]", "ops: [{filter: {column: x, op: ge, value: 1000}}]"))


def test_rows_that_are_all_filtered_are_named(make):
    with make() as run:
        filter_all_rows(run)
        run.start()
        verdict = run.until(11, has("filtered", actor="prep"))
        assert re.search(r"; prep has left out 100 % of the [\d,]+ rows that it has worked on$", verdict["sentence"]), verdict
        assert not has("hangs")(verdict) and not has("cycle")(verdict), verdict


def full_a_slow_validation_is_named(make):
    with make() as run:
        (run.folder / "graph.yaml").write_text(VALIDATED)
        run.start()
        run.flows()
        run.turn(OPERATION, 3000)
        verdict = run.until(FLOWS, limits("work", "tprep.0"))
        assert re.match(r"planted flows, \d+ rows/s in test, while feed rests; busiest is tprep\.0, ", verdict["sentence"]), verdict


def full_a_replica_whose_apply_hangs_is_named_while_rows_may_flow(make):
    hosts = "  a: {actors: [read, prep, batch, mean]}\n  b: {actors: [feed]}\n  c: {actors: [feed]}\n"
    with make(hosts=hosts, **REDUCED) as run:
        run.start("a", "b", "c")
        run.flows()
        run.turn(APPLY, 0, HANG, only=run.processes["c"].pid)
        run.until((10, 11), has("hangs", actor="feed@c", device="cpu:0"))


def test_a_host_that_is_away_is_named(make):
    hosts = "  a: {actors: [read, batch, feed]}\n  b: {actors: [prep]}\n"
    with make(hosts=hosts) as run:
        run.start("a")
        (run.folder / "other").mkdir()
        run.start("b", XDG_RUNTIME_DIR=str(run.folder / "other"))  # whose pages are not seen
        run.flows()
        run.kill(signal.SIGSTOP, "b")
        verdict = run.until(11, has("away", host="b", actor="prep.0"))
        fault = next(one for one in verdict["faults"] if one["reason"] == "away")
        assert re.match(r"host b \(prep\.0\) at 127\.0\.0\.1 has been (away|lost) for ", fault["text"]), fault
        assert fault["action"] == ("look at its process and the network on 127.0.0.1, or start it again by the same "
                                   "command with --host b"), fault


@contextlib.contextmanager
def held_thread(pid, name):
    """Holds one thread of a process, by ptrace; others of it run."""
    libc = ctypes.CDLL(None, use_errno=True)
    libc.ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]
    threads = [int(task.name) for task in pathlib.Path(f"/proc/{pid}/task").iterdir()
               if (task / "comm").read_text().strip() == name]
    assert len(threads) == 1, threads
    seize, interrupt, detach = 0x4206, 0x4207, 17
    for request in (seize, interrupt):
        assert libc.ptrace(request, threads[0], None, None) == 0, os.strerror(ctypes.get_errno())
    os.waitpid(threads[0], 0x40000000)  # __WALL
    try:
        yield threads[0]
    finally:
        libc.ptrace(detach, threads[0], None, None)


def test_a_control_thread_that_hangs_is_named(make):
    with make() as run:
        run.start()
        run.flows()
        with held_thread(run.processes[""].pid, "control") as thread:
            verdict = run.until((10, 11), has("control", host="local", thread=thread))
            # Once no step is booked any more, the batcher has no room for the next.
            verdict = run.until(11, lambda told: not told["flows"] and told["host"] == "local")
            assert "; meanwhile the control thread of host local has not run for " in verdict["sentence"], verdict
            assert not has("cycle")(verdict), verdict
        run.until(FLOWS, lambda told: not has("control")(told))


def full_a_run_that_became_slower_is_named(make):
    with make() as run:
        run.turn(STEP, 2000)
        run.start()
        run.flows()
        # As many seconds of the history as are compared.
        run.until(FLOWS, lambda told: run.seconds() > 10, 60)
        run.turn(STEP, 40000)
        verdict = run.until(10, has("slower", actor="feed"), 60)
        assert not has("hangs")(verdict), verdict
        assert limits("step", "feed")(verdict), verdict


def test_each_cause_has_a_test(make):
    """An entry of causes.def names a test here that asks for it, or a test of pages."""
    entries = re.findall(r'^CAUSE\((\w+), (\w+),.*?"([\w./:]+)"\)$',
                         (ROOT / "tools/report/causes.def").read_text(), re.M | re.S)
    told = subprocess.run([str(TUNDISH), "help", "why"], text=True, capture_output=True, check=True).stdout
    assert [name for _, name, _ in entries] == re.findall(r"^  (\w+) \(1[0-2], \w+\): ", told, re.M), entries
    for upper, name, test in entries:
        file, _, of_pages = test.rpartition(":")
        if file:
            found = re.search(rf"^Test\(\w+, {of_pages}\)\n{{\n.*?^}}\n", (ROOT / "tests" / file).read_text(), re.M | re.S)
            assert found and f"TND_CAUSE_{upper})" in found[0], (name, test)
            continue
        found = globals().get(f"test_{test}", globals().get(f"full_{test}"))
        assert found and f'"{name}"' in inspect.getsource(found), (name, test)


def start_spool_on_a_disk_that_stalls(run):
    """Returns what is right."""
    (run.folder / "word").write_text("write")
    (run.folder / "lines.gz").write_bytes(gzip.compress(b"".join(b"%d\n" % i for i in range(1000000))))
    (run.folder / "graph.yaml").write_text(SPOOLED.format(folder=run.folder))
    run.start(STALL=str(run.folder / "word"), LD_PRELOAD=str(BUILD / "tests/stall.so"))
    until(f"a spool\n{run.said()}", (run.folder / "spool").exists)
    wanted = re.compile(rf"host local gets ready, for [\d.]+ m?s so far; read: \w+ .*, no progress for \d+ s(, now )?.*")
    return lambda told: has("opening")(told) and any(
        wanted.fullmatch(one["text"]) and "lines.gz" in one["text"] and " left" not in one["text"]
        for one in told["faults"])


def full_a_spool_to_a_disk_that_stalls_has_no_time_left(make):
    with make() as run:
        run.until(11, start_spool_on_a_disk_that_stalls(run))
        (run.folder / "word").unlink()
        run.flows()


def start_full_cache(run):
    """Returns what is right."""
    (run.folder / "graph.yaml").write_text(CACHED.format())
    run.turn(STEP, 0)
    run.turn(OPERATION, 3000)
    run.start()
    run.flows()
    wanted = re.compile(r"; the store of keep\.0 is full and has 2[4-6] % of its rows, the others are made again: "
                        r"a `limit:` of about ([\d.]+) MiB would hold all")
    def right(told):  # 1,000 rows of 16 KiB
        found = wanted.search(told["sentence"])
        return limits("work", "prep.0", 0.5)(told) and found and 15 < float(found[1]) < 17
    return right


def full_a_full_cache_is_named(make):
    with make() as run:
        run.until(FLOWS, start_full_cache(run), 60)


@contextlib.contextmanager
def quota_of(percent):
    """The words that start a command in a group which may use so much of a processor, or None; its quota is that of a
    group above it."""
    version_1, version_2 = pathlib.Path("/sys/fs/cgroup/cpu"), pathlib.Path("/sys/fs/cgroup")
    unified = (version_2 / "cgroup.controllers").exists()
    group = (version_2 if unified else version_1) / f"tundish-planted-{os.getpid()}"
    try:
        (group / "below").mkdir(parents=True)
        if unified:
            (group / "cpu.max").write_text(f"{percent}000 100000")
        else:
            (group / "cpu.cfs_quota_us").write_text(f"{percent}000")
    except OSError:
        print("skipped: no group of processors can be made here")
        yield None
        return
    try:
        yield "sh", "-c", f'echo $$ > {group}/below/cgroup.procs; exec "$0" "$@"'
    finally:
        def gone():
            with contextlib.suppress(OSError):
                (group / "below").rmdir()
            return not (group / "below").exists()
        until("the end of the processes of a group", gone)
        group.rmdir()


def start_in_quota(run, inside):
    """Returns what is right."""
    run.turn(STEP, 0)
    run.turn(OPERATION, 300, SPIN)
    run.start(inside=inside)
    run.flows()
    return lambda told: limits("work", "prep.0", 0.5)(told) and told["limit"]["advice"] is None and any(
        one["reason"] == "no_processor" and " allows 0.2 of them, and throttled it for " in one["evidence"] and
        one["action"] == "give the run more processors by raising that limit" for one in told["faults"])


def full_a_quota_is_named(make):
    with quota_of(20) as inside, make() as run:
        if inside:
            run.until(10, start_in_quota(run, inside))
            run.close()


def full_a_worker_that_sleeps_is_named(make):
    with make(prep=", workers: 2") as run:
        run.turn(STEP, 0)
        run.turn(OPERATION, 6000)
        run.start()
        run.flows()
        subprocess.run([str(TUNDISH), "scale", "prep=1", "planted"], env=run.env, check=True, stdout=subprocess.DEVNULL)
        run.until(FLOWS, lambda told: "waking a worker of prep (tundish scale prep=2 planted)" ==
                  ((told["limit"] or {}).get("advice") or ""))


def full_what_a_device_does_itself_is_the_limit(make):
    for sim, reason, share in (("step: 20ms", "step", 0.8), ("step: 1ms, to_device: 2kB/s", "transfer", 0.5)):
        with make(speed="fast", feed=f", devices: [sim:0], sim: {{{sim}}}") as run:
            run.start()
            run.flows()
            verdict = run.until(FLOWS, limits(reason, "feed", share))
            assert verdict["device"] == "sim:0", verdict
    with make(speed="fast", feed=", devices: [sim:0], sim: {step: 2ms}") as run:
        run.turn(OPERATION, 6000)
        run.start()
        run.flows()
        run.until(FLOWS, lambda told: limits("work", "prep.0")(told) and
                  re.search(r"; sim:0 waits for rows 9\d % of the time", told["sentence"]))


def device_of(run):
    """What ps knows of the only device."""
    seen = json.loads(subprocess.run([str(TUNDISH), "ps", "--json", "planted"], env=run.env, text=True,
                                     capture_output=True).stdout)
    return next(one for process in seen["processes"] for actor in process["actors"] for one in actor["devices"])


def test_what_a_device_of_a_plugin_does_is_the_limit(make):
    for step_us, copy_us, reason in ((20000, 0, "step"), (0, 20000, "transfer")):
        with make(speed="fast", feed=", depth: 2, devices: ['pjrt:0']") as run:
            run.turn(STEP, step_us)
            run.start(**PLUGIN, COUNTING_PJRT_US=str(copy_us))
            run.flows()
            verdict = run.until(FLOWS, limits(reason, "feed"))
            assert verdict["device"] == "pjrt:0", verdict
            device = device_of(run)
            work, link, host = (device[name] for name in ("work_seconds", "link_seconds", "host_wait_seconds"))
            assert (work > 5 * link and work > 5 * host) if step_us else link > 5 * work, device


def full_what_one_more_worker_gives(make):
    rates, gains = [], []
    for workers in (1, 2):
        with make(speed="fast", prep=f", workers: {workers}") as run:
            run.turn(OPERATION, 4000)
            run.start()
            run.until(FLOWS, limits("work", "prep.", 0.95))
            looks = [run.look()[1] for _ in range(make.looks)]
            rates.append(sum(told["rows_per_second"] for told in looks) / len(looks))
            gains += [told["limit"]["gain_rows_per_second"] for told in looks
                      if told["limit"]["advice"] == "2 workers of prep"]
    gain = sorted(gains)[len(gains) // 2]
    assert 0.8 < gain / rates[1] < 1.2, (gains, rates)


def test_a_single_slot_is_the_limit_while_step_and_batch_take_turns(make):
    with make(feed=", depth: 1") as run:
        run.turn(STEP, 200)
        run.start()
        run.until(FLOWS, limits("depth", "feed", 0.1))


@contextlib.contextmanager
def started_over_a_link(make, rate, wide, **words):
    """A run of two hosts with a link of that rate between prep and batch, in namespaces of its own."""
    Link.call("ip", "link", "set", "lo", "up")
    link = Link(rate)
    try:
        hosts = ("  a: {address: 10.0.0.1, transport: tcp, actors: [read, prep]}\n"
                 "  b: {address: 10.0.0.2, transport: tcp, actors: [batch, feed]}\n")
        with make(hosts=hosts, over="insecure: true\n", wide=wide, **words) as run:
            run.start("a")
            run.start("b", inside=link.there)
            yield run
    finally:
        link.close()


def in_namespaces(test):
    """Calls a test in a network namespace of its own, or skips it where that cannot be made."""
    @functools.wraps(test)
    def call(make):
        if INSIDE in os.environ:
            test(make)
        elif os.geteuid() != 0 or not all(map(shutil.which, ("tc", "ip", "unshare", "nsenter"))):
            print("skipped: it needs root, tc, ip, unshare and nsenter")
        else:
            line = ["unshare", "--net", sys.executable, __file__, test.__name__.removeprefix("test_")]
            done = subprocess.run(line, env={**os.environ, INSIDE: "1"}, capture_output=True, text=True)
            assert done.returncode == 0, done.stdout + done.stderr
    return call


@in_namespaces
def test_a_slow_link_is_named(make):
    with started_over_a_link(make, "20mbit", 8192, speed="fast") as run:
        verdict = run.until(10, has("link", actor="prep.0", host="a"))
        assert verdict["limit"]["reason"] == "link", verdict
        text = next(one["text"] for one in verdict["faults"] if one["reason"] == "link")
        assert "prep.0 -> batch.0 (host a to host b) is slow" in text, text
        rate = float(re.search(r"([0-9.]+) MB/s", text).group(1))
        assert 0.5 < rate < 5, text


@in_namespaces
def test_a_link_over_which_nothing_has_come_is_named(make):
    with started_over_a_link(make, "4mbit", 65536) as run:  # a block takes 8 s
        verdict = run.until(11, has("link", actor="prep.0", host="a"))
        assert verdict["limit"]["reason"] == "link" and not verdict["flows"], verdict
        text = next(one["text"] for one in verdict["faults"] if one["reason"] == "link")
        # In the first second, that both ends wait is all that is known.
        assert re.fullmatch(r"the connection prep.0 -> batch.0 \(host a to host b\) is slow: (nothing has arrived for "
                            r"[1-8]\.\d s,|both ends wait for it, and) \d+\.\d\d MB are on the way", text), text


def test_metrics_that_are_not_read_are_named_and_a_killed_run_is_explained(make):
    with make() as run:
        fifo = run.folder / "metrics"
        os.mkfifo(fifo)
        run.start(words=("--metrics", str(fifo)))
        verdict = run.until(10, has("output", host="local"))
        assert str(fifo) in next(one["text"] for one in verdict["faults"]
                                 if one["reason"] == "output"), verdict
        assert verdict["flows"], verdict
        run.kill(signal.SIGKILL)
        for _ in range(2):
            code, verdict = run.look()
            assert code == 1 and verdict["pid"] == run.processes[""].pid, (code, verdict)
            assert "was killed or crashed" in verdict["sentence"], verdict
            assert "the last committed step is" in verdict["sentence"], verdict
            assert {hop["actor"] for hop in verdict["chain"]} == \
                {"read.0", "prep.0", "batch.0", "feed"}, verdict
        run.start()
        run.flows()
        assert run.look()[1]["pid"] != verdict["pid"]


def test_bad_rows_and_checkpoints_that_fail_are_named(make):
    with make() as run:
        (run.folder / "rows.csv").write_text("".join(f"{i},{i}\n" for i in range(197)) + "1\none,1\n1,one\n")
        (run.folder / "graph.yaml").write_text(BAD_ROWS.format(folder=run.folder))
        run.start()
        verdict = run.until(10, has("bad_rows"))
        fault = next(one for one in verdict["faults"] if one["reason"] == "bad_rows")
        assert re.match(r"1(\.\d+)? % of the rows read are bad and not fed: \d+ of \d+$", fault["text"]), fault
        lines = [fault["evidence"], *fault["details"]]
        for number, line in zip((1, 2, 3), sorted(lines, key=lambda line: line.split(" by ")[1]), strict=True):
            assert re.match(rf"\d+ by prep, operation {number}, `\w+`, such as record {196 + number} of "
                            rf"{run.folder}/rows.csv, at byte \d+: ", line), fault
        code, kept = run.notes("--bad")
        assert code == 0 and kept["bad"]["count"] >= 3, kept
        assert {one["place"].split(",")[0] for one in kept["bad"]["first"]} == \
            {f"record {number} of {run.folder}/rows.csv" for number in (197, 198, 199)}, kept
        assert not has("checkpoints")(verdict), verdict
        shutil.move(run.folder / "kept", run.folder / "moved")
        (run.folder / "kept").write_text("")
        verdict = run.until(10, has("checkpoints"))
        fault = next(one for one in verdict["faults"] if one["reason"] == "checkpoints")
        assert re.match(r"the last \d+ checkpoints? could not be written; a crash would lose all after step \d+$", fault["text"]), fault
        assert "Not a directory" in fault["evidence"], fault
        (run.folder / "kept").unlink()  # the run makes the folder again
        run.until(10, lambda told: has("bad_rows")(told) and not has("checkpoints")(told))


def full_a_disk_that_stalls_does_not_stop_the_run(make):
    with make(speed="fast") as run:
        word = run.folder / "word"
        run.start(words=("--metrics", str(run.folder / "metrics")), STALL=str(word),
                  LD_PRELOAD=str(BUILD / "tests/stall.so"))
        run.flows()
        word.write_text("write")
        dropped = re.compile("^[1-9][0-9]* lines were dropped$")
        verdict = run.until(10, lambda told: any(
            one["reason"] == "output" and dropped.match(one["evidence"])
            for one in told["faults"]), 60)
        assert verdict["flows"], verdict


def full_processors_that_are_not_free_are_reported(make):
    busy = [subprocess.Popen([sys.executable, "-c", "while True: pass"])
            for _ in range(4 * len(os.sched_getaffinity(0)))]
    try:
        with make() as run:
            run.turn(OPERATION, 200, SPIN)
            run.start()
            verdict = run.until(10, has("no_processor"))
            assert "threads for" in verdict["faults"][0]["evidence"], verdict
            waits = subprocess.run([str(TUNDISH), "wait", "healthy", "planted", "--timeout", "30s"], env=run.env)
            assert waits.returncode == 0, waits
    finally:
        for process in busy:
            process.kill()
            process.wait()


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--full", action="store_true")
    parser.add_argument("names", nargs="*")
    arguments = parser.parse_args()
    speeds = list(SPEEDS) if arguments.full else ["middle"]

    @contextlib.contextmanager
    def open_run(speed, **words):
        with tempfile.TemporaryDirectory() as folder:
            run = Planted(pathlib.Path(folder), **{"speed": speed, **words})
            try:
                yield run
            finally:
                run.close()

    def call(test):
        for speed in speeds:
            def make(speed=speed, **words):
                return open_run(speed, **words)
            make.looks = 10 if arguments.full else 4
            test(make)
    scope = dict(globals())
    if arguments.full:
        scope.update({"test_" + name[5:]: value for name, value in globals().items()
                      if name.startswith("full_")})
    return run_named(scope, arguments.names, call)


if __name__ == "__main__":
    sys.exit(main())
