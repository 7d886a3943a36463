#!/usr/bin/env python3
"""Data sets in Python: the rows that come out, in which order, and what becomes of one that fails, crashes or hangs.

Usage: python_source.py [NAME...]; without a name it lists them.  Expected rows are computed here.  The interpreter of
the data sets is that of this script.
"""
import contextlib
import json
import os
import re
import signal
import subprocess
import sys

from faults import free_range
from named import in_folder, run_named
from python_operations import interpreters, numpy, until
from run import ROOT, TUNDISH, tundish

ROWS = 1000
MODULE = """
import os, signal, sys, time
import numpy

class Squares:  # as a data set of torch or of Hugging Face
    def __init__(self, count=1000, pause=0):
        self.count, self.pause = count, pause

    def __len__(self):
        return self.count

    def __getitem__(self, i):
        if not 0 <= i < self.count:
            raise IndexError(i)
        time.sleep(self.pause)
        return {"x": numpy.arange(3, dtype="f4") + i, "y": i * i, "text": "row %d" % i, "other": object()}

class Batched(Squares):
    def __getitems__(self, places):
        return [self[i] for i in places]

class Tensor:
    def __init__(self, array): self.array = array
    def __array__(self, dtype=None, copy=None): return self.array

class Pairs(Squares):
    def __getitem__(self, i):
        return Tensor(numpy.arange(3, dtype="f4") + i), i * i, b"row %d" % i

rows = Squares()

def generate(count=1000, pause=0):
    for i in range(count):
        yield Squares(count, pause)[i]

stream = generate()

ODD = {37: "raise", 55: "exit", 60: "crash", 65: "hang", 70: "number", 71: "shape", 72: "nan", 73: "text", 74: "long", 75: "lacks",
       80: "print", 81: "fork"}

def odd(i):
    row, kind = Squares()[i], ODD.get(i)
    if kind == "raise":
        raise ValueError("thirty-seven")
    if kind == "exit":
        os._exit(3)
    if kind == "crash":
        os.kill(os.getpid(), signal.SIGSEGV)
    if kind == "hang":
        time.sleep(1000)
    if kind == "number":
        return 5
    if kind == "print":
        print("a line of the data set")
    if kind == "fork":
        os.fork()
    row.update({"shape": {"x": numpy.zeros(4, "f4")}, "nan": {"x": numpy.full(3, numpy.nan, "f4")}, "text": {"y": "a"},
                "long": {"text": "a" * 50}}.get(kind, {}))
    if kind == "lacks":
        del row["y"]
    return row

class Odd(Squares):
    def __getitem__(self, i):
        return odd(i)

def odd_rows():
    for i in range(100):
        if ODD.get(i) in (None, "number", "shape", "nan", "text", "long", "lacks", "print", "fork"):
            yield odd(i)

def raises():
    for i in range(100):
        if i == 50:
            raise ValueError("at fifty")
        yield Squares()[i]

def breaks(at):
    for i in range(at):
        yield Squares()[i]
    raise ValueError("no more")

def ends():
    yield Squares()[0]
    os._exit(5)

number = 3
"""
GRAPH = """tundish: 1
name: python
seed: 11
python: {python}
{settings}
actors:
  read: {{kind: reader, on_error: {on_error}, source: {{python: {{call: "my_data:{call}", makes: {{{makes}}}{options}}}}}{reader}}}
  batch: {{kind: batcher, size: {size}}}
  feed: {{kind: feeder}}
links: [read -> batch -> feed]
"""
MAKES = "x: 'f32[3]', y: i64, text: 'u8[<=20]'"


class Case:
    def __init__(self, folder, call, **more):
        self.folder, self.graph = folder, folder / "graph.yaml"
        (folder / "my_data.py").write_text(MODULE)
        options = {"python": sys.executable, "settings": "", "on_error": "stop", "makes": MAKES, "options": "", "reader": "",
                   "size": 50, **more}
        self.graph.write_text(GRAPH.format(call=call, **options))

    def run(self, *more, expect=0):
        return tundish("run", self.graph, *more, expect=expect)

    def digest(self, *more):
        return self.run(*more).report["stream_digest"]

    def rows(self):
        file = self.folder / "rows.npz"
        tundish("head", self.graph, "--steps", ROWS, "--npz", file, report=False)
        return dict(numpy.load(file, allow_pickle=True))


def test_rows_are_those_of_the_data_set(folder):
    digests = set()
    for call, options in (("rows", ""), ("Squares", ""), ("Batched", ""), ("Pairs", ""), ("generate", ""), ("stream", ""),
                          ("generate", ", options: {count: 1000}"), ("rows", ", random: false"), ("Squares", ", random: true")):
        case = Case(folder, call, options=options)
        digests.add(case.digest())
        if call in ("Pairs", "generate"):
            rows = case.rows()
            assert numpy.array_equal(rows["y"], numpy.arange(ROWS) ** 2)
            assert numpy.array_equal(rows["x"], (numpy.arange(ROWS)[:, None] + numpy.arange(3)).astype("f4"))
    assert len(digests) == 1, digests
    sample = Case(folder, "rows", reader=", shuffle: global").rows()
    assert sorted(sample["y"]) == [i * i for i in range(ROWS)] and list(sample["y"]) != sorted(sample["y"])
    assert len(Case(folder, "Squares", options=", options: {count: 120}", makes="y: i64").rows()["y"]) == 120


def test_the_stream_is_the_same_for_any_readers_and_places(folder):
    case = Case(folder, "rows", reader=", shuffle: global, epochs: 2", settings="lanes: 2")
    expected = case.digest()
    assert case.digest("--set", "read.isolate=process") == expected
    hosts = f"port: {free_range('127.0.0.1')}\nhosts:\n  a: {{transport: ipc, %s}}\n  b: {{transport: ipc, %s}}\n"
    for a, b in (("actors: [batch, feed]", "actors: [read]"), ("lanes: 1, actors: [read, batch, feed]", "lanes: 1, actors: [read, batch]")):
        (folder / "two.yaml").write_text(hosts % (a, b))
        assert tundish("up", case.graph, folder / "two.yaml").report["stream_digest"] == expected
    case = Case(folder, "rows", reader=", shuffle: global, epochs: 2")
    expected = case.digest()
    assert case.digest("--set", "read.workers=3") == expected


def test_a_run_resumes_with_the_same_module_only(folder):
    for call, reader in (("rows", ", shuffle: global, epochs: 2"), ("generate", ", epochs: 2")):
        settings = f"checkpoint: {{dir: {folder}/{call}, every: 5 steps}}"
        case = Case(folder, call, reader=reader, settings=settings)
        expected = case.digest("--set", f"checkpoint.dir={folder}/whole-{call}")
        case.run("--steps", 27, expect=None)
        assert case.digest("--resume", "latest") == expected
        case.run("--steps", 7, "--set", f"checkpoint.dir={folder}/other-{call}", expect=None)
        (folder / "my_data.py").write_text(MODULE + "\n# another one\n")
        refused = case.run("--resume", "latest", "--set", f"checkpoint.dir={folder}/other-{call}", expect=None)
        assert refused.code == 78 and "my_data.py" in refused.output, refused.output


def test_interpreters_that_are_killed_are_started_again(folder):
    for call, reader in (("rows", ", shuffle: global, epochs: 2"), ("generate", ", epochs: 2")):
        kind = "Squares" if call == "rows" else call
        case = Case(folder, kind, reader=reader, options=", options: {pause: 0.0005}")
        expected = Case(folder, call, reader=reader).digest()
        case = Case(folder, kind, reader=reader, options=", options: {pause: 0.0005}")
        metrics = folder / f"{call}.jsonl"
        run = subprocess.Popen([str(TUNDISH), "run", str(case.graph), "--metrics", str(metrics), "--report", str(folder / "report.json")],
                               stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, cwd=ROOT)
        killed = 0
        for step in (5, 30):
            until(lambda: f"step {step}", lambda: metrics.exists() and metrics.read_bytes().count(b"\n") >= step or run.poll() is not None)
            for pid in interpreters(run.pid):
                with contextlib.suppress(ProcessLookupError):  # one that was replaced since
                    os.kill(pid, signal.SIGKILL)
                    killed += 1
        output = run.communicate()[0]
        report = json.loads((folder / "report.json").read_text())
        assert run.returncode == 0 and killed >= 2, (killed, output)
        assert report["stream_digest"] == expected and report["bad"] == [], (call, report["bad"])


def test_a_failure_is_not_the_end_of_the_data(folder):
    for at in (0, 1, 256):  # a call of the interpreter asks for 256 rows
        ran = Case(folder, "breaks", options=f", options: {{at: {at}}}").run(expect=1)
        assert f"record {at} is bad: my_data:breaks: ValueError: no more" in ran.output, (at, ran.output)


def test_one_row_is_bad(folder):
    case = Case(folder, "Odd", on_error="skip", options=", options: {count: 100}", settings="hung_after: 12s", size=10)
    ran = case.run("--log-level", "info")
    bad = {37: "ValueError: thirty-seven (my_data.py, line", 55: "ended with exit code 3", 60: "was killed by signal 11",
           65: "takes longer than 9 s", 70: "a row that is an int (5), not a dict or tuple of 3 columns", 71: "rows of f32[3] are wanted",
           72: "column `x` has NaN; `allow_nan: true`", 73: "numbers of i64 are wanted, not a str", 74: "50 bytes, more than `max` (20)",
           75: "a row without `y`"}
    assert ran.report["rows"]["bad"] == len(bad), ran.report["rows"]
    for row, reason in list(bad.items())[:7]:
        assert f"record {row} is bad: read: my_data:Odd" in ran.output and reason in ran.output, (row, reason, ran.output)
    assert "a line of the data set" in ran.output
    ran = Case(folder, "odd_rows", on_error="skip").run()
    assert ran.report["rows"]["bad"] == 6 and ran.report["rows"]["fed"] == 90, ran.report["rows"]
    ran = Case(folder, "raises", on_error="skip").run("--log-level", "info")
    assert ran.report["rows"]["bad"] == 1 and ran.report["rows"]["fed"] == 50 and "at fifty (my_data.py, line" in ran.output, ran.output


def test_the_memory_sum_has_the_interpreters_of_all_readers(folder):
    case = Case(folder, "rows", reader=", workers: 2", options=", memory: 100MiB", makes="y: i64")
    text = tundish("explain", case.graph, report=False).output
    assert re.search(r"208 MiB +read\.0\.0: interpreters, or data", text), text  # and 4 MiB that each shares


def test_what_stops_the_run(folder):
    for call, options, code, message in (
            ("Odd", "", 1, "record 37 is bad: my_data:Odd: ValueError: thirty-seven"), ("ends", "", 1, "my_data:ends: its Python"),
            ("nothing", "", 78, "has no `nothing`"), ("number", "", 78, "is an int (3), which has no rows"),
            ("generate", ", random: true", 78, "without `__len__` and `__getitem__`"),
            ("Squares", ", options: {size: 3}", 78, "is called with (size=...), which does not fit"),
            ("rows", ", options: {size: 3}", 78, "is an object, which takes no `options`")):
        ran = Case(folder, call, options=options).run(expect=None)
        assert ran.code == code and message in ran.output, (call, ran.code, ran.output)
    for call, reader, message in (("generate", ", shuffle: global", "cannot be shuffled"), ("stream", ", epochs: 2", "can be read only once")):
        ran = Case(folder, call, reader=reader).run(expect=None)
        assert ran.code == 78 and message in ran.output, ran.output
    case = Case(folder, "rows", python="/no/such/python")
    ran = case.run(expect=None)
    assert ran.code == 78 and "cannot start the interpreter `/no/such/python` for my_data:rows" in ran.output, ran.output


if __name__ == "__main__":
    sys.exit(run_named(globals(), sys.argv[1:], in_folder))
