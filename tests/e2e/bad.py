#!/usr/bin/env python3
"""Bad records: numbered samples of which some are known to be bad, in real processes.

Usage: bad.py [--rows N] [NAME...]; without a name it lists them.  What is fed and what is set aside
are together all samples, each once, whatever is killed meanwhile and wherever a run goes on.
"""
import argparse
import ast
import json
import os
import pathlib
import random
import re
import signal
import struct
import subprocess
import sys
import tempfile

from faults import one_sentence, until, write_npy
from named import run_named
from run import BUILD, ROOT, TUNDISH, family

REFUSE = 997
GRAPH = """tundish: 1
name: bad
seed: 7
data: {folder}
restarts: {{max: 100}}
{settings}
actors:
  read: {{kind: reader, source: {{npy: {{y: "${{data}}/y.npy"}}}}, shuffle: global, epochs: {epochs}, quarantine: "{aside}"{read}}}
  prep: {{kind: preprocessor, on_error: {on_error}{prep}, ops: [{{plugin: fatal.fatal, refuse: {refuse}, kill: {kill}}}]}}
  batch: {{kind: batcher, size: 96, replicas: 3, block: {block} rows}}
  feed: {{kind: feeder, depth: 2{step}}}
  mean: {{kind: reducer}}
links:
  - read -> prep -> batch -> feed <-> mean
"""


def read_npy(path):
    """Numbers of a file of i64, whose size must be what its header says."""
    bytes_ = path.read_bytes()
    size = 10 + struct.unpack("<H", bytes_[8:10])[0]
    header = ast.literal_eval(bytes_[10:size].decode())
    count = header["shape"][0]
    assert len(bytes_) == size + 8 * count, f"{path}: {len(bytes_)} bytes, {header}"
    return list(struct.unpack(f"<{count}q", bytes_[size:]))


class Run:
    def __init__(self, folder, rows):
        self.folder, self.rows = folder, rows
        self.report, self.metrics = folder / "report.json", folder / "metrics.jsonl"
        self.graph, self.log = folder / "graph.yaml", folder / "log"
        self.env = {**os.environ, "TUNDISH_PLUGIN_PATH": str(BUILD / "tests")}
        write_npy(folder / "y.npy", "<i8", (rows,), struct.pack(f"<{rows}q", *range(rows)))
        self.process = None

    def write(self, on_error="quarantine", kill=0, prep="", read="", settings="", epochs=1,
              step="", refuse=REFUSE, block=256, aside=None):
        aside = aside or self.folder / "aside"
        self.graph.write_text(GRAPH.format(**{k: v for k, v in locals().items() if k != "self"},
                                           folder=self.folder))

    def start(self, *words):
        self.metrics.unlink(missing_ok=True)
        with open(self.log, "w") as log:
            self.process = subprocess.Popen(
                [str(TUNDISH), "run", str(self.graph), "--report", str(self.report), "--metrics",
                 str(self.metrics), *words], stdout=log, stderr=log, cwd=ROOT, env=self.env)

    def said(self):
        return self.log.read_text()

    def ends(self, code, seconds=60):
        try:
            got = self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            raise AssertionError(f"it has not ended within {seconds} s\n{self.said()[-3000:]}")
        assert got == code, f"it ended with {got}, not {code}\n{self.said()[-3000:]}"

    def told(self):
        return json.loads(self.report.read_text())

    def runs(self, code=0, **words):
        self.write(**words)
        self.start()
        self.ends(code)

    def workers(self):
        """Processes of workers."""
        found = []
        for pid in family(self.process.pid)[1:]:
            try:
                words = pathlib.Path(f"/proc/{pid}/cmdline").read_bytes().decode()
            except (FileNotFoundError, ProcessLookupError):
                continue
            if "prep." in words:
                found.append(pid)
        return found

    def steps(self):
        return self.metrics.read_bytes().count(b"\n") if self.metrics.exists() else 0

    def index(self):
        path = self.folder / "aside" / "index.0.jsonl"
        return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []

    def holds_exactly(self, numbers, epochs=1):
        """What is set aside: those numbers, once in each epoch, in the order of the stream."""
        lines = self.index()
        places = [(line["epoch"], line["position"]) for line in lines]
        assert places == sorted(set(places)), "out of order, or twice"
        for epoch in range(epochs):
            got = sorted(line["record"] for line in lines if line["epoch"] == epoch)
            assert got == sorted(numbers), f"epoch {epoch}: {len(got)} of {len(numbers)}"
        assert len(lines) == epochs * len(numbers)
        assert [line["row"] for line in lines] == list(range(len(lines)))
        rows = read_npy(self.folder / "aside" / "y.0.npy")
        assert rows == [line["record"] for line in lines], "rows are not those of the index"

    def close(self):
        if self.process is not None and self.process.poll() is None:
            self.process.kill()
        if self.process is not None:
            self.process.wait()


def bad_numbers(rows):
    return list(range(0, rows, REFUSE))


def is_whole(run, bad, epochs=1):
    """No row is lost, none is there twice."""
    told = run.told()
    assert told["rows"] == {"read": epochs * run.rows, "added": 0, "fed": epochs * (run.rows - bad),
                            "filtered": 0, "bad": epochs * bad, "dropped": 0}, told["rows"]
    return told


def test_known_bad_rows_are_set_aside_while_workers_are_killed(make):
    run = make()
    slow = ", step: {plugin: witness, sleep_us: 500}"
    run.runs(on_error="skip", step=slow.replace("500", "0"))
    skipped = is_whole(run, len(bad_numbers(run.rows)))
    assert skipped["bad"] == [{"count": len(bad_numbers(run.rows)),
                               "found_by": "prep, operation 1, `fatal.fatal`",
                               "place": skipped["bad"][0]["place"],
                               "first": skipped["bad"][0]["first"]}], skipped["bad"]
    number, at = map(int, re.fullmatch(rf"record (\d+) of {run.folder}/y.npy, at byte (\d+)",
                                       skipped["bad"][0]["place"]).groups())
    assert at == 128 + 8 * number and skipped["bad"][0]["first"] == f"{number} is refused", skipped["bad"]
    run.write(prep=", isolate: process, workers: 3", step=slow)
    run.start()
    draw = random.Random(7)
    for _ in range(4):
        until("more steps", lambda at=run.steps(): run.steps() > at + 20)
        until("workers", run.workers)
        os.kill(draw.choice(run.workers()), signal.SIGKILL)
    run.ends(0)
    told = is_whole(run, len(bad_numbers(run.rows)))
    for key in ("stream_digest", "model_digest", "steps"):
        assert told[key] == skipped[key], f"{key} of another run"
    assert sum(reason["count"] for reason in told["bad"]) == told["rows"]["bad"]
    run.holds_exactly(bad_numbers(run.rows))


def test_what_was_set_aside_is_a_source(make):
    run = make(20000)
    run.runs(epochs=2)
    is_whole(run, len(bad_numbers(20000)), epochs=2)
    run.holds_exactly(bad_numbers(20000), epochs=2)
    text = run.graph.read_text().replace("y.npy", "aside/y.*.npy")
    run.graph.write_text(text.replace(f"refuse: {REFUSE}", "refuse: 0").replace("epochs: 2", "epochs: 1"))
    run.start()
    run.ends(0)
    assert run.told()["rows"]["fed"] == 2 * len(bad_numbers(20000)), run.told()["rows"]


def test_a_bad_row_stops_a_run_by_name(make):
    run = make(20000)
    run.runs(code=1, on_error="stop", refuse=19937)
    one_sentence(run.said(), "read.0: record ", "y.npy, at byte ", "prep, operation 1, `fatal.fatal`",
                 "is refused", "on_error: skip")
    assert not (run.folder / "aside").exists()


def test_rows_that_end_their_worker_are_found_and_set_aside(make):
    run = make(20000)
    run.runs(prep=", isolate: process, workers: 2", kill=4321, refuse=0)
    is_whole(run, 2)
    run.holds_exactly([4321, 4322])
    assert "ends the process that works on it" in run.index()[0]["reason"], run.index()


def test_a_row_that_ends_its_worker_stops_a_run_by_name(make):
    run = make(20000)
    run.runs(code=1, prep=", isolate: process, workers: 2", on_error="stop", kill=4321, refuse=0)
    assert any(f"record {number} of" in run.said() for number in (4321, 4322)), run.said()[-2000:]
    assert "it ends the process that works on it" in run.said(), run.said()[-2000:]


def test_too_many_bad_rows_end_a_run(make):
    run = make(20000)
    run.runs(code=1, on_error="skip", read=", max_bad: 0.05%")
    assert "records are bad, more than `max_bad` allows:" in run.said(), run.said()[-2000:]
    assert "is refused" in run.said()
    run.runs(code=0, on_error="skip", read=", max_bad: 21")
    run.runs(code=1, on_error="skip", read=", max_bad: 20")


def test_a_killed_job_resumes_without_quarantining_twice(make):
    run, epochs = make(), 20
    run.runs(on_error="skip", epochs=epochs)
    plain = run.told()
    run.write(epochs=epochs, settings=f"checkpoint: {{dir: {run.folder}/kept, every: 50 steps}}")
    words = []
    for _ in range(3):
        run.start(*words)
        until("steps", lambda: run.process.poll() is not None or run.steps() > 1500)
        assert run.process.poll() is None, run.said()[-2000:]
        run.process.kill()
        run.process.wait()
        words = ["--resume"]
    run.start("--resume")
    run.ends(0)
    told = is_whole(run, len(bad_numbers(run.rows)), epochs)
    for key in ("stream_digest", "steps"):
        assert told[key] == plain[key], f"{key} of another run"
    run.holds_exactly(bad_numbers(run.rows), epochs)


def test_a_folder_that_cannot_be_made_and_a_full_disk(make):
    run = make(20000)
    run.runs(code=1, aside=run.folder / "y.npy" / "aside")
    one_sentence(run.said(), "quarantine ", "the folder cannot be made: Not a directory")
    run.env.update(LD_PRELOAD=str(BUILD / "tests" / "full.so"), FULL="20")
    run.runs(code=1)
    one_sentence(run.said(), "quarantine ", "cannot be written: No space left on device",
                 "make room, or say another folder")
    kept = len(run.index())
    assert 0 < kept < len(bad_numbers(20000)), kept
    run.env.pop("LD_PRELOAD")
    run.runs()
    run.holds_exactly(bad_numbers(20000))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", type=int, default=100000)
    parser.add_argument("names", nargs="*")
    arguments = parser.parse_args()

    def call(test):
        runs = []

        def make(rows=arguments.rows):
            folder = tempfile.TemporaryDirectory()
            runs.append((Run(pathlib.Path(folder.name), rows), folder))
            return runs[-1][0]
        try:
            test(make)
        finally:
            for run, folder in runs:
                run.close()
                folder.cleanup()
    return run_named(globals(), arguments.names, call)


if __name__ == "__main__":
    sys.exit(main())
