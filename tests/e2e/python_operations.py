#!/usr/bin/env python3
"""Operations in Python: what a function gets and gives, and what becomes of one that fails, hangs, crashes or exits.

Usage: python_operations.py [NAME...]; without a name it lists them.  Expected rows are computed here by NumPy or plain
Python.  The interpreter of the operations is that of this script.
"""
import contextlib
import functools
import json
import os
import pathlib
import re
import signal
import subprocess
import sys

import faults
from faults import free_range
from named import in_folder, run_named
from run import BUILD, ROOT, SKIP, TUNDISH, alive, tundish

try:
    import numpy
except ImportError:
    print("skipped: no NumPy")
    sys.exit(SKIP)

until = functools.partial(faults.until, seconds=100)  # an interpreter that starts on a busy machine takes many
ROWS, WORST = 1000, 417
MODULE = """
import os, struct, subprocess, sys, time
import numpy

def tokenize(text, lower=False):
    return {"ids": [[len(word) for word in (one.lower() if lower else one).split()] for one in text],
            "first": [one[:3] for one in text]}

def shape_of(image, y):
    assert not image.flags.writeable and image.dtype == "u1" and image.shape[1:] == (4, 3), image
    return {"image": image.reshape(len(image), 12).astype("f4") / 255, "sum": image.sum((1, 2), "i8") + y}

def one(x):
    assert x.shape == (), x
    return x * 2

def evens(y):
    return [int(one) if one % 2 == 0 else None for one in y]

def each_even(y):
    return y if y % 2 == 0 else None

def copies(y):
    return numpy.repeat(y, y % 3), y % 3

def each_copies(y):
    return [y] * (int(y) % 3)

def lengths(ids):
    return numpy.array([int(one.sum()) * 1000 + len(one) for one in ids])

class Noise:
    def __init__(self, scale, names, deep):
        assert (scale, names, deep) == (0.5, ["1", "a", True, None], {"plain": 3}), (scale, names, deep)
        self.scale = scale

    def __call__(self, y, key):
        return y + self.scale * numpy.array([numpy.random.default_rng(int(one)).random() for one in key])

def slow(y):
    time.sleep(0.002)
    return y

def slow_each(y):
    time.sleep(0.7)
    return y

def worst(y, what):
    kinds = [what[str(one)] for one in y.tolist() if str(one) in what]
    for kind in kinds:
        odd(kind)
    for kind in kinds:
        if kind in RETURNS:
            return RETURNS[kind](y)
    return y.astype("f8")

def odd(kind):
    if kind == "raise":
        raise ValueError("the worst")
    elif kind == "exit":
        sys.exit(3)
    elif kind == "quick exit":
        os._exit(0)
    elif kind == "segfault":
        import ctypes
        ctypes.string_at(0)
    elif kind == "memory":
        bytearray(1 << 60)
    while kind == "hang":
        pass

RETURNS = {"nan": lambda y: numpy.full(len(y), numpy.nan), "none": lambda y: None, "text": lambda y: [str(one) for one in y],
           "fewer": lambda y: y[1:].astype("f8"), "shape": lambda y: numpy.zeros((len(y), 2)), "dict": lambda y: {"q": y}}

def left(y, out):
    return [None if one in out else float(one) for one in y]

def narrow(y):
    return y.astype("f8") + 0.1

def narrow_one(y):
    return numpy.full(2, y, "f8")

def narrow_list(y):
    return [300 if one == 417 else 7 for one in y]

def long(y):
    return [b"abc" if one == 417 else "ab" for one in y]

def wide(y):
    return [1e10] * len(y)

def objects(y):
    return numpy.array([None if one % 2 else float(one) for one in y], dtype=object)

last = None
def keep_last(y):
    global last
    made = y.astype("f8") if last is None else y + last.sum()
    last = y
    return made

class KeepFirst:
    first = None
    def __call__(self, y):
        if self.first is None:
            self.first = y[:1]
        return y.astype("f8") - self.first

kept = []
def keep(y):
    kept.append(y[:1])
    return y.astype("f8")

def forge(y, words):
    os.write(3, struct.pack(f"<{len(words)}Q", *words))
    return y.astype("f8"), numpy.ones(len(y), "i8")

class Starts:
    def __init__(self, folder):
        self.children = [subprocess.Popen(["sleep", "1000"]), subprocess.Popen(["sh", "-c", "sleep 1000; true"])]
        for child in self.children:
            open(f"{folder}/child-{child.pid}", "w").close()
        assert os.waitpid(-1, os.WNOHANG) == (0, 0)

    def __call__(self, y):
        time.sleep(0.01)
        return y.astype("f8")

def fork(y):
    os.fork()
    return y.astype("f8")

def talk(y):
    print("a line of the function")
    sys.stdout.write("another\\n")
    os.write(1, b"a third\\n")
    return y.astype("f8")
"""
GRAPH = """tundish: 1
name: python
seed: 11
python: {python}
{settings}
actors:
  read: {{kind: reader, source: {{{source}}}, shuffle: {shuffle}, epochs: {epochs}}}
  prep: {{kind: preprocessor, on_error: {on_error}{prep}, ops: [{ops}]}}
  batch: {{kind: batcher, size: {size}{batch}}}
  feed: {{kind: feeder}}
links:
  - {links}
"""
NPY = 'npy: {y: "DATA/y.npy", image: "DATA/image.npy"}'


def words(row):
    return " ".join("Word"[:1 + (row + i) % 4] for i in range(row % 7))


class Case:
    """A folder with data, a module and a topology."""

    def __init__(self, folder, ops, source=NPY, module=MODULE, size=100, **more):
        self.folder, self.size = folder, size
        self.y = numpy.arange(ROWS, dtype="i8")
        self.image = (numpy.arange(ROWS * 12) * 31 % 251).astype("u1").reshape(ROWS, 4, 3)
        numpy.save(folder / "y.npy", self.y)
        numpy.save(folder / "image.npy", self.image)
        (folder / "lines.txt").write_text("".join(words(row) + "\n" for row in range(ROWS)))
        (folder / "my_transforms.py").write_text(module)
        self.graph = folder / "graph.yaml"
        options = {"python": sys.executable, "settings": "", "shuffle": "none", "epochs": 1, "on_error": "stop", "prep": "",
                   "batch": "", "links": "read -> prep -> batch -> feed", **more}
        self.graph.write_text(GRAPH.format(ops=ops, size=size, source=source.replace("DATA", str(folder)), **options))

    def run(self, *more, expect=0):
        return tundish("run", self.graph, *more, expect=expect)

    def head(self, steps=None):
        """The rows of the first epoch, by column."""
        file = self.folder / "rows.npz"
        tundish("head", self.graph, "--steps", steps or ROWS // self.size, "--npz", file, report=False)
        return dict(numpy.load(file, allow_pickle=True))

    def digest(self, *more):
        return self.run(*more).report["stream_digest"]


def op(name, columns, makes, more=""):
    return f'{{python: {{call: "my_transforms:{name}", columns: [{columns}], makes: {{{makes}}}{more}}}}}'


def interpreters(above):
    """The interpreters that this process, or one that it has started, has started."""
    parents, found = {}, []
    for place in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            parents[int(place.name)] = int((place / "stat").read_text().rsplit(")", 1)[1].split()[1])
            if b"tundish.worker" in (place / "cmdline").read_bytes():
                found.append(int(place.name))
        except (FileNotFoundError, ProcessLookupError):
            continue

    def belongs(pid):
        return pid == above or pid in parents and belongs(parents[pid])
    return [pid for pid in found if belongs(pid)]


def test_a_tokenizer_gets_bytes_and_makes_ragged_columns(folder):
    case = Case(folder, op("tokenize", "line", 'ids: {dtype: i32, ragged: true, max: 8}, first: "u8[<=3]"'),
                source='text: {files: "DATA/lines.txt"}')
    rows = case.head()
    texts = [words(row).encode() for row in range(ROWS)]
    expected = [[len(word) for word in text.split()] for text in texts]
    assert sorted(rows) == ["_replica", "_step", "first", "first.splits", "ids", "ids.splits"], sorted(rows)
    assert rows["ids"].dtype == "i4" and rows["ids"].tolist() == sum(expected, [])
    assert numpy.diff(rows["ids.splits"]).tolist() == list(map(len, expected))
    assert rows["first"].tobytes() == b"".join(text[:3] for text in texts)


def test_a_ragged_column_of_numbers_is_a_list_of_arrays(folder):
    case = Case(folder, ", ".join([op("tokenize", "line", 'ids: "i32[<=8]", first: "u8[<=3]"'), op("lengths", "ids", "n: i64")]),
                source='text: {files: "DATA/lines.txt"}')
    expected = [sum(map(len, words(row).split())) * 1000 + row % 7 for row in range(ROWS)]
    assert case.head()["n"].tolist() == expected


def test_arrays_are_read_only_and_of_the_shape_of_rows(folder):
    case = Case(folder, op("shape_of", "image, y", 'image: "f32[12]", sum: i64', ", keep: y"))
    rows = case.head()
    assert numpy.array_equal(rows["image"], case.image.reshape(ROWS, 12).astype("f4") / 255)
    assert numpy.array_equal(rows["sum"], case.image.sum((1, 2), "i8") + case.y) and numpy.array_equal(rows["y"], case.y)


def test_each_gets_one_row(folder):
    case = Case(folder, op("one", "y", "y: i64", ", each: true"))
    rows = case.head()
    assert numpy.array_equal(rows["y"], 2 * case.y) and numpy.array_equal(rows["image"], case.image)


def test_none_drops_a_row(folder):
    for name, more in (("evens", ""), ("each_even", ", each: true")):
        case = Case(folder, op(name, "y", "y: i64", ", rows: filter" + more))
        rows = case.head(ROWS // 200)
        assert rows["y"].tolist() == list(range(0, ROWS, 2))
        assert numpy.array_equal(rows["image"], case.image[::2])
        assert case.run().report["rows"]["filtered"] == ROWS // 2


def test_a_row_becomes_several(folder):
    expected = [row for row in range(ROWS) for _ in range(row % 3)]
    for name, more in (("copies", ""), ("each_copies", ", each: true")):
        case = Case(folder, op(name, "y", "y: i64", ", rows: many, max: 2" + more), size=999)
        rows = case.head(1)
        assert rows["y"].tolist() == expected and numpy.array_equal(rows["image"], case.image[expected])
    case = Case(folder, op("copies", "y", "y: i64", ", rows: many, max: 1"))
    assert "made 2 rows of one, where `max` allows 1" in case.run(expect=1).output


def test_a_class_gets_options_and_keys(folder):
    options = ', options: {scale: 0.5, names: ["1", a, true, null], deep: {plain: 3}}'
    case = Case(folder, op("Noise", "y", "y: f64", ", random: true" + options), epochs=2)
    rows = case.head(2 * ROWS // 100)["y"].reshape(2, ROWS) - case.y
    assert (0 <= rows).all() and (rows < 0.5).all() and len(numpy.unique(rows)) == 2 * ROWS, "epochs and rows have keys of their own"
    assert case.digest() == case.digest("--set", "prep.workers=2", "--set", "batch.block=7 rows")
    assert case.digest() != case.digest("--set", "seed=12")


def test_the_stream_is_the_same_for_any_workers_and_places(folder):
    options = ", options: {scale: 0.5, names: ['1', a, true, null], deep: {plain: 3}}"
    ops = op("Noise", "y", "y: f64", ", random: true" + options) + ", " + op("one", "y", "y: f64", ", each: true")
    case = Case(folder, ops, shuffle="global", epochs=2)
    expected = case.digest()
    for workers in (2, 5):
        assert case.digest("--set", f"prep.workers={workers}") == expected
    assert case.digest("--set", "prep.isolate=process", "--set", "prep.workers=2") == expected
    two = folder / "two.yaml"
    two.write_text(f"port: {free_range('127.0.0.1')}\nhosts:\n  a: {{transport: ipc, actors: [read, batch, feed]}}\n"
                   "  b: {transport: ipc, actors: [prep], workers: {prep: 2}}\n")
    assert tundish("up", case.graph, two).report["stream_digest"] == expected


def start(case, *more):
    case.metrics = case.folder / "metrics.jsonl"
    case.metrics.unlink(missing_ok=True)
    return subprocess.Popen([str(TUNDISH), "run", str(case.graph), "--metrics", str(case.metrics),
                             "--report", str(case.folder / "report.json"), *more],
                            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, cwd=ROOT)


def steps_of(case):
    return case.metrics.read_bytes().count(b"\n") if case.metrics.exists() else 0


def test_interpreters_that_are_killed_are_started_again(folder):
    case = Case(folder, op("slow", "y", "y: i64"), shuffle="global", epochs=20, size=50, batch=", block: 10 rows")
    expected = case.digest("--set", 'prep.ops=[]')
    run = start(case, "--set", "prep.workers=2")
    killed = 0
    for step in (20, 80, 140):
        until(lambda: f"step {step}", lambda: steps_of(case) >= step or run.poll() is not None)
        for pid in interpreters(run.pid):
            with contextlib.suppress(ProcessLookupError):  # one that was replaced since
                os.kill(pid, signal.SIGKILL)
                killed += 1
    output = run.communicate()[0]
    assert run.returncode == 0 and killed >= 3, (killed, output)
    report = json.loads((folder / "report.json").read_text())
    assert report["stream_digest"] == expected and report["bad"] == [], report["bad"]
    assert "my_transforms:slow" in output and "was killed by signal 9 (Killed)" in output, output


def test_a_tile_of_slow_rows_does_not_hang(folder):
    # 14 s of one call are more than its 12; the start of the interpreter is within them on a busy machine, too.
    case = Case(folder, op("slow_each", "y", "y: i64", ", each: true"), size=20, settings="hung_after: 16s")
    ran = tundish("run", case.graph, "--set", "read.take=20", "--log-level", "info", report=False)
    assert "20 rows" in ran.output and "takes longer" not in ran.output, ran.output
    assert f"prep.0 info runs my_transforms:slow_each in {sys.executable} (Python 3." in ran.output and "NumPy" in ran.output, ran.output


def test_interpreters_end_with_their_process(folder):
    case = Case(folder, op("slow", "y", "y: i64"), epochs=1000)
    run = start(case, "--set", "prep.workers=2")
    until(lambda: "step 5", lambda: steps_of(case) >= 5)
    pids = interpreters(run.pid)
    assert len(pids) == 3, pids  # the one that has imported the module, and a copy of it per worker
    for pid in pids:  # if memory runs out, they end before the run does
        assert int(pathlib.Path(f"/proc/{pid}/oom_score_adj").read_text()) == 500
    run.kill()
    printed = run.communicate()[0]  # and what they print
    assert "Traceback" not in printed, printed
    until(lambda: "they still run", lambda: not any(alive(pid) for pid in pids))


IMPORTED = """
import os, threading, time
with open(os.path.join(os.path.dirname(__file__), "imports"), "a") as file:
    file.write(f"{{os.getpid()}}\\n")
rows = range(1000)
{kept}

def slow(y):
    time.sleep(0.002)
    return y + 1
"""


def imports(folder):
    return [int(word) for word in (folder / "imports").read_text().split()]


def test_a_module_is_imported_once_for_all_that_use_it(folder):
    source = 'python: {call: "my_transforms:rows", makes: {y: i64}}'
    case = Case(folder, op("slow", "y", "y: i64"), source=source, module=IMPORTED.format(kept=""), size=50, epochs=20,
                batch=", block: 10 rows")
    run = start(case, "--set", "prep.workers=2")
    until(lambda: "step 20", lambda: steps_of(case) >= 20)
    (server,) = imports(folder)
    copies = [pid for pid in interpreters(run.pid) if pid != server]
    assert len(copies) == 3, copies
    #  Those that are started again are copies, too, until the process of which they are is gone.
    for pid in copies:
        os.kill(pid, signal.SIGKILL)
    until(lambda: "step 100", lambda: steps_of(case) >= 100)
    assert imports(folder) == [server] and not set(copies) & set(interpreters(run.pid))
    os.kill(server, signal.SIGKILL)
    output = run.communicate()[0]
    assert run.returncode == 0 and len(imports(folder)) == 4, (imports(folder), output)
    report = json.loads((folder / "report.json").read_text())
    assert report["rows"]["fed"] == 20 * ROWS and report["bad"] == [], report
    assert not any(alive(pid) for pid in imports(folder))
    numpy.save(folder / "z.npy", numpy.arange(ROWS, dtype="i8") + 1)
    plain = Case(folder, "", source='npy: {y: "DATA/z.npy"}', epochs=20, size=50)
    assert report["stream_digest"] == plain.digest()


def test_a_module_that_copies_would_share_is_imported_by_each(folder):
    expected = None
    for kept, count in (("", 1), ("file = open(__file__)", 3), ("threading.Thread(target=time.sleep, args=(1000,), daemon=True).start()", 3),
                        ("import subprocess; child = subprocess.Popen(['sleep', '1000'])", 3)):
        (folder / "imports").unlink(missing_ok=True)
        digest = Case(folder, op("slow", "y", "y: i64"), module=IMPORTED.format(kept=kept)).digest("--set", "prep.workers=2")
        assert len(imports(folder)) == count, (kept, imports(folder))
        expected = expected or digest
        assert digest == expected, kept


def test_a_run_resumes_with_the_same_module_only(folder):
    case = Case(folder, op("one", "y", "y: i64", ", each: true"), shuffle="global", epochs=2,
                settings=f"checkpoint: {{dir: {folder}/checkpoints, every: 5 steps}}")
    expected = case.digest("--set", "checkpoint.dir=" + str(folder / "whole"))
    case.run("--steps", 7, expect=None)
    assert case.digest("--resume", "latest", "--set", "prep.workers=2") == expected
    case.run("--steps", 7, "--set", "checkpoint.dir=" + str(folder / "other"), expect=None)
    (folder / "my_transforms.py").write_text(MODULE + "\n# another one\n")
    refused = case.run("--resume", "latest", "--set", "checkpoint.dir=" + str(folder / "other"), expect=None)
    assert refused.code != 0 and "made with another file of python my_transforms:one" in refused.output, refused.output


def test_hosts_compare_the_module(folder):
    case = Case(folder, op("one", "y", "y: i64", ", each: true"))
    other = folder / "other"
    other.mkdir()
    for file in ("graph.yaml", "my_transforms.py"):
        (other / file).write_text((folder / file).read_text() + "\n# another one\n")
    two = folder / "two.yaml"
    two.write_text(f"port: {free_range('127.0.0.1')}\nhosts:\n  a: {{transport: ipc, actors: [read, batch, feed]}}\n"
                   "  b: {transport: ipc, actors: [prep]}\n")
    lead = subprocess.Popen([TUNDISH, "run", case.graph, two, "--host", "a"], stdout=subprocess.PIPE,
                            stderr=subprocess.STDOUT, text=True)
    work = subprocess.Popen([TUNDISH, "run", other / "graph.yaml", two, "--host", "b"], stdout=subprocess.PIPE,
                            stderr=subprocess.STDOUT, text=True)
    output = lead.communicate(timeout=60)[0] + work.communicate(timeout=60)[0]
    assert lead.returncode != 0 and "the same modules of Python" in output, output


BAD = {
    "raise": "my_transforms:worst: ValueError: the worst (my_transforms.py, line 59)",
    "exit": "my_transforms:worst: SystemExit: 3 (my_transforms.py, line 61)",
    "quick exit": "my_transforms:worst: its Python ({python}) ended with exit code 0",
    "segfault": "my_transforms:worst: its Python ({python}) was killed by signal 11 (Segmentation fault) in my_transforms.py, "
                "line 51 in worst",
    "memory": "my_transforms:worst: MemoryError (my_transforms.py, line 68)",
    "hang": "my_transforms:worst takes longer than 9 s (three quarters of hung_after), and its Python ({python}) was killed",
    "nan": "my_transforms:worst: column `z` has NaN; `allow_nan: true` allows it",
    "none": "my_transforms:worst returned None, not the column `z`",
    "text": "my_transforms:worst: column `z`: numbers of f64 are wanted, not a str ('817')",
    "fewer": "my_transforms:worst: column `z` has 0 rows, where 1 are wanted",
    "shape": "my_transforms:worst: column `z`: rows of f64 are wanted, not of float64[2]",
    "dict": "my_transforms:worst returned a dict without `z` and with `q`, which `makes` does not have",
}


def bad(case):
    """The rows and the reason of the only bad row."""
    ran = case.run()
    (reason,) = ran.report["bad"]
    assert reason["count"] == 1, reason
    return ran.report, json.dumps(reason) + ran.output


def worst(kinds):
    """The options for bad rows of these kinds, and where they are."""
    where = {17 + 100 * i: kind for i, kind in enumerate(kinds)}
    return op("worst", "y", "z: f64", f", options: {{what: {json.dumps(where)}}}"), where


def test_one_row_is_bad(folder):
    # Each interpreter must start within the limit of a call, also on a machine that has much else to do.
    for kinds, block in ((list(BAD)[:5], ""), (list(BAD)[5:], ", block: 1 rows")):
        ops, where = worst(kinds)
        case = Case(folder, ops, on_error="skip", batch=block, settings="hung_after: 12s")
        run = start(case)
        output = run.communicate()[0]
        assert run.returncode == 0, output
        reasons = dict(re.findall(r"record (\d+) of \S+, at byte \d+ is bad: prep, operation 1, `python`: (.*)", output))
        expected = {str(row): BAD[kind].format(python=sys.executable).replace("817", str(row)) for row, kind in where.items()}
        assert reasons == expected, (reasons, expected)
        report = json.loads((folder / "report.json").read_text())
        assert report["rows"]["bad"] == len(where), report["rows"]
        plain = Case(folder, op("left", "y", "z: f64", f", rows: filter, options: {{out: {json.dumps(list(where))}}}"))
        assert report["stream_digest"] == plain.digest()


def test_one_row_is_out_of_range(folder):
    for name, makes, text in (("narrow_list", "z: u8", "column `z`: 300 is not a number of uint8"),
                              ("long", 'z: "u8[<=2]"', "column `z`: a row has 3 bytes, more than `max` (2)")):
        _, said = bad(Case(folder, op(name, "y", makes), on_error="skip"))
        assert text in said and f"record {WORST} of " in said, said


def test_a_module_may_have_the_name_of_one_that_the_program_needs(folder):
    """tokenize.py in the folder that the run is started in is not Python's."""
    (folder / "tokenize.py").write_text("raise ImportError('of the user')\n")
    case = Case(folder, op("one", "y", "z: i64", ", each: true"))
    done = subprocess.run([str(TUNDISH), "run", str(case.graph), "--quiet"], cwd=folder, capture_output=True, text=True,
                          timeout=60)
    assert done.returncode == 0, done.stdout + done.stderr


def test_nan_is_allowed_by_an_option(folder):
    case = Case(folder, op("worst", "y", "z: f64", ", each: false, allow_nan: true, options: {what: {1: nan}}"))
    assert case.run().report["bad"] == []


def test_what_stops_the_run(folder):
    for name, makes, more, text in (
            ("worst", "z: f64", ", options: {what: {417: raise}}", "record 417 of "),
            ("worst", "z: f64", ", options: {what: {417: dict}}", "my_transforms:worst returned a dict without `z`"),
            ("narrow", "z: f32", "", 'column `z`: f32 is wanted, not float64: say .astype("float32")'),
            ("narrow_one", 'z: "f32[2]"', ", each: true", 'column `z`: f32[2] is wanted, not float64: say .astype("float32")'),
            ("keep", "z: f64", "", "my_transforms:keep keeps a part of its input after it has returned"),
            ("keep_last", "z: f64", "", "my_transforms:keep_last keeps a part of its input after it has returned"),
            ("KeepFirst", "z: f64", "", "my_transforms:KeepFirst keeps a part of its input after it has returned"),
            ("wide", "z: f16", "", "column `z`: 10000000000.0 is not a number of float16"),
            ("each_even", "z: i64", ", each: true", "my_transforms:each_even returned None: to leave rows out, say `rows: filter`"),
            ("none", "z: f64", "", "the module `my_transforms` ("),
            ("kept", "z: f64", "", "cannot be called: it is a list"),
            ("worst", "z: f64", "", "my_transforms:worst is called with (y), which does not fit: missing a required argument: 'what'"),
            ("Noise", "z: f64", ", random: true", "is called with (), which does not fit: missing a required argument"),
            ("one", "z: f64", ", random: true", "is called with (y, key=...), which does not fit")):
        ran = Case(folder, op(name, "y", makes, more)).run(expect=None)
        assert ran.code == (1 if "record" in ran.output else 78) and text in ran.output, (name, ran.code, ran.output)


def test_a_module_or_interpreter_that_is_not_there(folder):
    ops = op("one", "y", "z: i64", ", each: true")
    for module, settings, python, text in (
            ("import nothing_like_it\n", "", sys.executable, "imports `nothing_like_it`, which"),
            ("def one(y)\n", "", sys.executable, "the module `my_transforms` cannot be imported: SyntaxError: expected ':'"),
            (MODULE, "", "no/python3", f"cannot start the interpreter `{folder}/no/python3` for my_transforms:one: No such file"),
            (MODULE, "", "no-python3", "cannot start the interpreter `no-python3`")):
        ran = Case(folder, ops, module=module, python=python, settings=settings).run(expect=None)
        assert ran.code == 78 and text in ran.output and "graph.yaml:8:" in ran.output, (text, ran.output)
    (folder / "numpy.py").write_text("raise ImportError('not this time')\n")
    ran = Case(folder, ops).run(expect=None)
    (folder / "numpy.py").unlink()
    assert f"NumPy is missing in {sys.executable}" in ran.output and "-m pip install numpy" in ran.output, ran.output
    case = Case(folder, ops)
    (folder / "my_transforms.py").unlink()
    ran = case.run(expect=None)
    assert f"has no module `my_transforms`: it is neither in {folder}" in ran.output, ran.output


def test_the_module_may_be_in_pythonpath(folder):
    case = Case(folder, '{python: {call: "deep.er:twice", columns: y, makes: {y: i64}}}')
    (folder / "path/deep").mkdir(parents=True)
    (folder / "path/deep/er.py").write_text("def twice(y):\n    return y * 2\n")
    ran = tundish("run", case.graph, env={"PYTHONPATH": str(folder / "path")})
    again = Case(folder, op("one", "y", "y: i64", ", each: true")).digest()
    assert ran.report["stream_digest"] == again


def test_mistakes_are_found_without_an_interpreter(folder):
    for ops, text in (
            ('{python: {call: my_transforms, columns: y, makes: {z: f32}}}', "is not MODULE:NAME"),
            (op("one", "x", "z: f32"), "unknown column `x`"),
            (op("one", "y", "z: f33"), "`f33` is not a type and a shape"),
            (op("one", "y", "z: {dtype: f32, ragged: true}"), "`ragged: true` and `max` go together"),
            (op("one", "y", "image: f32"), "makes column `image`, but one of this name is passed on"),
            (op("one", "y", "z: f32", ", keep: image"), "`keep` names `image`, which is not in `columns`"),
            (op("one", "y", "z: f32", ", max: 3"), "`max` is for `rows: many`"),
            (op("one", "y", "z: bf16"), "NumPy has no bf16")):
        ran = tundish("validate", Case(folder, ops, python="/no/such/python").graph, report=False, expect=None)
        assert ran.code == 78 and text in ran.output, (text, ran.output)
    tundish("validate", Case(folder, op("one", "y", "z: f32"), python="/no/such/python").graph, report=False)


def test_the_example_tokenizes(folder):
    texts = ["The cat sat", "on the cats mat", "", "the concatenation!"] * 50
    (folder / "a.txt").write_text("".join(text + "\n" for text in texts))
    listed = subprocess.run([sys.executable, ROOT / "examples/python/words.py", folder / "a.txt"], stdout=subprocess.PIPE, text=True)
    vocabulary = listed.stdout.split("\n")[:-1]
    assert vocabulary[:2] == ["the", "cat"] and len(set(vocabulary)) == len(vocabulary), vocabulary
    vocabulary.remove("concatenation!")  # so that it is taken apart
    (folder / "vocabulary.txt").write_text("".join(word + "\n" for word in vocabulary))
    tundish("head", ROOT / "examples/python/words.yaml", "--data", folder, "--set", "read.shuffle=none", "--set", f"python={sys.executable}",
            "--set", "batch.size=200", "--set", "prep.ops=" + json.dumps([{"python": {
                "call": "words:Tokenizer", "columns": "line", "makes": {"ids": "i32[<=512]"},
                "options": {"vocabulary": str(folder / "vocabulary.txt")}}}]), "--npz", folder / "rows.npz", report=False)
    rows = numpy.load(folder / "rows.npz")
    pieces = [["the", "cat", "sat"], ["on", "the", "cats", "mat"], [], ["the", "c", "on", "cat", "e", "n", "a", "t", "i", "on", "!"]] * 50
    assert rows["ids"].tolist() == [vocabulary.index(piece) + 1 if piece in vocabulary else 0 for row in pieces for piece in row]
    assert numpy.diff(rows["ids.splits"]).tolist() == list(map(len, pieces))


def test_what_a_function_prints_is_not_in_the_output(folder):
    case = Case(folder, op("talk", "y", "z: f64"), size=500)
    ran = subprocess.run([TUNDISH, "run", case.graph, "--json"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert ran.returncode == 0 and json.loads(ran.stdout)["stream_digest"]
    for line in ("a line of the function", "another", "a third"):
        assert line not in ran.stdout and line in ran.stderr, line


def test_replies_that_make_no_sense_are_refused(folder):
    many, sense = ", rows: many, max: 1", "gave a reply that makes no sense"
    for words in ([0, 1, 64, 1 << 40, 0], [0, 1 << 40, 64, 64, 0]):
        case = Case(folder, op("forge", "y", "z: f64", many + f", options: {{words: {words}}}"), batch=", block: 1 rows")
        ran = case.run(expect=1)
        assert sense in ran.output, (words, ran.output)


def test_what_a_function_starts_ends_with_its_process(folder):
    case = Case(folder, op("Starts", "y", "z: f64", f", options: {{folder: '{folder}'}}"), epochs=1000)

    def children():
        return [int(path.name[6:]) for path in folder.glob("child-*")]
    #  The interpreter is killed, then the process that started it.
    run = start(case)
    until(lambda: "step 5", lambda: steps_of(case) >= 5)
    first = children()
    assert len(first) >= 2 and all(alive(pid) for pid in first), first
    for pid in interpreters(run.pid):
        os.kill(pid, signal.SIGKILL)
    until(lambda: "they still run", lambda: not any(alive(pid) for pid in first))
    until(lambda: "others", lambda: len(children()) >= 4)
    run.kill()
    run.communicate()
    until(lambda: "they still run", lambda: not any(alive(pid) for pid in children()))
    #  Nor does one that ends by itself leave any.
    case = Case(folder, op("Starts", "y", "z: f64", f", options: {{folder: '{folder}'}}"))
    case.run()
    until(lambda: "they still run", lambda: not any(alive(pid) for pid in children()))


def test_a_function_may_fork(folder):
    plain = Case(folder, op("worst", "y", "z: f64", ", options: {what: {}}")).digest()
    assert Case(folder, op("fork", "y", "z: f64")).digest() == plain


def test_random_and_impure_functions_come_after_a_cache(folder):
    cached = {"links": "read -> prep -> keep -> batch -> feed", "settings": ""}
    for more in (", random: true", ", pure: false"):
        case = Case(folder, op("slow", "y", "y: i64", more), **cached)
        text = case.graph.read_text().replace("  batch:", "  keep: {kind: cache, limit: 16MiB}\n  batch:")
        case.graph.write_text(text)
        ran = case.run(expect=None)
        assert ran.code == 78 and "freeze" in ran.output, ran.output


def test_why_names_the_function(folder):
    case = Case(folder, op("slow", "y", "y: i64"), epochs=100000)
    run = start(case)
    try:
        until(lambda: "step 20", lambda: steps_of(case) >= 20)
        told = tundish("why", "python", report=False, expect=None)
        assert "my_transforms:slow, python" in told.output, told.output
    finally:
        run.kill()
        run.communicate()


def test_a_program_of_python_feeds_such_rows(folder):
    case = Case(folder, op("one", "y", "y: i64", ", each: true"), size=100, python='""')
    program = folder / "program.py"
    program.write_text(f"import tundish, numpy\nwith tundish.feed({str(case.graph)!r}) as feed:\n"
                       "    print(sum(int(batch['y'].numpy().sum()) for batch in feed))\n")
    env = {**os.environ, "PYTHONPATH": str(ROOT / "tools/python"), "TUNDISH_LIBRARY": str(BUILD / "libtundish.so")}
    ran = subprocess.run([sys.executable, program], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=env)
    assert ran.returncode == 0 and ran.stdout == f"{ROWS * (ROWS - 1)}\n", ran.stdout


if __name__ == "__main__":
    sys.exit(run_named(globals(), sys.argv[1:], in_folder))
