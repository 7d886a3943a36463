#!/usr/bin/env python3
"""Options that are `auto`: the values are those of NumPy and Keras, the same in every place.

Usage: adapt.py NAME...; without a name it lists them.  A run with `auto` has the same stream as one
with the numbers that NumPy computes of the same rows.
"""
import json
import os
import re
import shutil
import subprocess
import sys

import numpy as np

from faults import until
from named import in_folder, run_named
from run import BUILD, TUNDISH, free_port, kill_run

GRAPH = """tundish: 1
name: adapt
seed: 7
{top}actors:
  read:  {{kind: reader, source: {{{source}}}, {read}}}
  prep:  {{kind: preprocessor, ops: [{ops}]{prep}}}
  batch: {{kind: batcher, size: 16}}
  feed:  {{kind: feeder{feed}}}
{more}links:
  - read -> prep -> batch -> feed{reduce}
{links}"""
SOURCE = "npy: {x: x.npy, u: u.npy, y: y.npy}"
HOSTS = """port: {port}
hosts:
  a: {{address: 127.0.0.1, actors: [feed]}}
  b: {{address: 127.0.0.1, actors: [read, batch]}}
  c: {{address: 127.0.0.1, actors: [prep], workers: {{prep: 2}}}}
"""
ROWS = 600


class Case:
    """A folder with data, and the caches of its runs in it."""

    def __init__(self, folder):
        self.folder, self.number = folder, 0
        draw = np.random.default_rng(3)
        x = draw.normal(size=(ROWS, 3)) * [1, 5, 100] + [3, -2, 1e6]
        self.x = np.ascontiguousarray(x.astype("f4"))
        self.u = draw.integers(0, 256, (ROWS, 4, 2, 3)).astype("u1")
        self.y = np.arange(ROWS)
        for name in "xuy":
            np.save(folder / f"{name}.npy", getattr(self, name))

    def env(self, cache):
        return {**os.environ, "XDG_CACHE_HOME": str(self.folder / cache), "WITNESS": str(self.folder),
                "TUNDISH_PLUGIN_PATH": str(BUILD / "tests")}

    def write(self, ops, **words):
        words = {"top": "", "source": SOURCE, "read": "shuffle: global, epochs: 2", "prep": "", "feed": "",
                 "more": "", "links": "", "reduce": "", **words}
        self.number += 1
        path = self.folder / f"graph{self.number}.yaml"
        path.write_text(GRAPH.format(ops=ops, **words))
        return path

    def command(self, *line, expect=0, cache=None):
        """Each command has an empty cache, unless one is named."""
        self.number += 1
        done = subprocess.run([str(TUNDISH), *map(str, line)], capture_output=True, text=True,
                              cwd=self.folder, env=self.env(cache or f"cache{self.number}"), timeout=60)
        text = done.stdout + done.stderr
        assert done.returncode == expect, (done.returncode, text)
        return text

    def stream(self, *line, **words):
        return stream_of(self.command(*line, **words))

    def three_hosts(self):
        path = self.folder / "three.yaml"
        path.write_text(HOSTS.format(port=free_port()))
        return path


def stream_of(text):
    return re.search("stream ([0-9a-f]{32})", text)[1]


def json_of(text):
    return [json.loads(line) for line in text.splitlines() if line.startswith("{")]


def moments(values, axis=0):
    """What Keras' Normalization adapts to: the deviation of the whole population, at least 1e-7."""
    values = values.astype("f8")
    std = np.maximum(values.std(axis), 1e-7)
    return f"mean: {np.atleast_1d(values.mean(axis)).tolist()}, std: {np.atleast_1d(std).tolist()}"


def normalize(column, numbers="mean: auto, std: auto", more=""):
    return f"{{normalize: {{column: {column}, {numbers}{more}}}}}"


def test_a_mean_and_a_deviation_are_those_of_numpy(folder):
    case = Case(folder)
    case.x[:, 1] = 7  # nothing deviates: it becomes 0, not a NaN
    np.save(folder / "x.npy", case.x)
    known = [normalize("x", moments(case.x)), normalize("u", moments(case.u, (0, 1, 2))),
             normalize("y", moments(case.y))]
    adapted = [normalize(column) for column in "xuy"]
    assert case.stream("run", case.write(", ".join(adapted))) == case.stream("run", case.write(", ".join(known)))
    for axis, axes in (("all", None), ("0", (0, 2, 3)), ("1", (0, 1, 3))):
        more = f", axis: {axis}"
        assert case.stream("run", case.write(normalize("u", more=more))) == \
            case.stream("run", case.write(normalize("u", moments(case.u, axes), more if axes else ""))), axis
    #  One of the two, and values that another operation has made before.
    half = normalize("x", "mean: auto, std: 2")
    scaled = "{scale: {column: u, to: f32, range: [0, 1]}}"
    made = (case.u / np.float32(255)).astype("f4")
    assert case.stream("run", case.write(f"{scaled}, {half}, {normalize('u')}")) == case.stream(
        "run", case.write(f"{scaled}, {normalize('x', moments(case.x).split('std')[0] + 'std: 2')}, "
                          f"{normalize('u', moments(made, (0, 1, 2)))}"))


def test_numbers_that_are_missing_become_the_mean(folder):
    """What is `auto` is of the others; a NaN becomes 0, as the mean itself does."""
    case = Case(folder)
    whole, mean = case.x.copy(), "nan: mean"
    case.x[[3, 407, ROWS - 1], [0, 1, 2]] = np.nan
    case.x[100:140, 0] = np.nan
    averages, std = np.nanmean(case.x.astype("f8"), 0), np.nanstd(case.x.astype("f8"), 0)
    filled = np.where(np.isnan(case.x), averages.astype("f4"), case.x)
    numbers = f"mean: {averages.tolist()}, std: {std.tolist()}"
    np.save(folder / "x.npy", filled)
    expected = case.stream("run", case.write(normalize("x", numbers)))
    np.save(folder / "x.npy", case.x)
    graph = case.write(normalize("x", more=f", {mean}"))
    assert case.stream("run", graph) == expected
    assert case.stream("up", graph, case.three_hosts()) == expected
    assert case.stream("run", case.write(normalize("x", numbers, f", {mean}"))) == expected
    for to in ("f16", "f64"):
        given = [case.write(f"{{cast: {{column: x, to: f64}}}}, {normalize('x', moment, f', to: {to}, {mean}')}")
                 for moment in ("mean: auto, std: auto", numbers)]
        rows = [json_of(case.command("head", path, "--json", "--steps", "100")) for path in given]
        values = [[value for step in steps for value in step["columns"]["x"]["data"]] for steps in rows]
        np.testing.assert_allclose(*np.array(values, "f8"), rtol=1e-12, atol=1e-12)  # a NaN would be equal to a NaN
        assert np.isfinite(np.array(values[0], "f8")).all(), to
    #  One number for all channels; one that is left as it is; a channel without a number.
    one = f"mean: {np.nanmean(case.x.astype('f8'))}, std: {np.nanstd(case.x.astype('f8'))}"
    assert case.stream("run", case.write(normalize("x", more=f", axis: all, {mean}"))) == \
        case.stream("run", case.write(normalize("x", one, f", {mean}")))
    assert case.stream("run", case.write(normalize("x", numbers))) != expected
    case.x[:, 1] = np.nan
    np.save(folder / "x.npy", case.x)
    text = case.command("run", graph, expect=78)
    assert "there are no numbers to train on" in text, text
    whole[5, 2] = np.inf
    np.save(folder / "x.npy", whole)
    text = case.command("run", graph, expect=78)
    assert "record 5 of x.npy" in text and "not finite" in text and "say `nan: mean`" not in text, text


def test_only_rows_that_train_count(folder):
    case = Case(folder)
    for read, rows in (("skip: 100, take: 300, shuffle: global", slice(100, 400)),
                       ("order: [{skip: 50}, {take: 200}, {global: 3}, {repeat: 2}]", slice(50, 250))):
        assert case.stream("run", case.write(normalize("x"), read=read)) == \
            case.stream("run", case.write(normalize("x", moments(case.x[rows])), read=read)), read
    #  The rows of a part are those that a run feeds.
    read = "part: {of: [80, 20], index: 0, seed: 1}, epochs: 1"
    fed = json_of(case.command("head", case.write("", read=read), "--steps", ROWS, "--json"))
    rows = sorted(row for line in fed for row in line["columns"]["y"]["data"])
    assert 400 < len(rows) < ROWS, len(rows)
    assert case.stream("run", case.write(normalize("x"), read=read)) == \
        case.stream("run", case.write(normalize("x", moments(case.x[rows])), read=read))


def test_what_is_evaluated_is_read_as_what_trained(folder):
    case = Case(folder)
    more = ("  more:  {kind: reader, source: {npy: {x: x.npy, u: u.npy, y: y.npy}}, skip: 300, take: 40}\n"
            "  late:  {kind: preprocessor, ops: [{filter: {column: y, op: lt, value: 320}}, %s]}\n"
            "  some:  {kind: batcher, size: 16}\n"
            "  test:  {kind: feeder, after: feed}\n") % normalize("x")
    graph = case.write(normalize("x"), read="take: 300", more=more, links="  - more -> late -> some -> test\n")
    fed = json_of(case.command("head", graph, "--at", "late", "--steps", "9", "--json"))
    x = np.array([row for line in fed for row in line["columns"]["x"]["data"]], "f4").reshape(-1, 3)
    trained = case.x[:300].astype("f8")
    wanted = (case.x[300:320] - trained.mean(0).astype("f4")) / trained.std(0).astype("f4")
    assert x.shape == wanted.shape and np.array_equal(x, wanted), (x, wanted)
    case.command("up", graph, "--set", "feed.depth=2")
    #  An operation that the chain which trains does not have.
    other = case.write(normalize("u"), read="take: 300", more=more, links="  - more -> late -> some -> test\n")
    text = case.command("run", other, expect=78)
    assert "the chain that trains the models has no operation with the same options" in text, text


def test_every_place_has_the_same_values(folder):
    case = Case(folder)
    ops = ", ".join(normalize(column) for column in "xu")
    graph = case.write(ops, prep=", workers: 3")
    known = case.write(", ".join([normalize("x", moments(case.x)), normalize("u", moments(case.u, (0, 1, 2)))]))
    expected = case.stream("run", known)
    assert case.stream("run", graph) == expected
    assert case.stream("up", graph, case.three_hosts()) == expected
    #  More values than a message between hosts can have.
    wide = np.random.default_rng(4).normal(size=(64, 2000)).astype("f4")
    np.save(folder / "wide.npy", wide)
    source = {"source": "npy: {x: wide.npy}"}
    expected_wide = case.stream("run", case.write(normalize("x", moments(wide)), **source))
    assert case.stream("up", case.write(normalize("x"), **source), case.three_hosts()) == expected_wide
    #  Lanes with files of their own, on one host and on three: the values are of all files.
    for lane in range(3):
        for name in "xuy":
            np.save(folder / f"{name}-{lane}.npy", getattr(case, name)[lane * 150:(lane + 1) * 150 + 50 * lane])
    rows = np.concatenate([np.arange(lane * 150, (lane + 1) * 150 + 50 * lane) for lane in range(3)])
    words = {"top": "lanes: 3\n", "read": "shard: file, epochs: 2",
             "source": "npy: {x: 'x-[0-2].npy', u: 'u-[0-2].npy', y: 'y-[0-2].npy'}"}
    lanes = case.write(ops, **words)
    known = case.write(", ".join([normalize("x", moments(case.x[rows])),
                                  normalize("u", moments(case.u[rows], (0, 1, 2)))]), **words)
    (folder / "lanes.yaml").write_text(
        f"port: {free_port()}\nhosts:\n  n[0-2]: {{address: 127.0.0.1, lanes: 1 each, actors: [read, batch]}}\n"
        "  w: {address: 127.0.0.1, actors: [prep, feed]}\n")
    expected = case.stream("run", known)
    assert case.stream("run", lanes) == expected
    assert case.stream("up", lanes, folder / "lanes.yaml") == expected


def words_of(case, folder):
    """Rows of CSV with a class, some in quotes, and a word; the words of each third."""
    draw = np.random.default_rng(5)
    kinds = ["dog", "cat", "b,ird", "Zebra", "\u00e4mse"]
    text = ["common", "of", "the", "rare %", "two words"] + [f"word{i}" for i in range(3000)]
    weights = np.array([300, 200, 200, 3, 30] + [1] * 3000)
    kind = [kinds[i] for i in draw.integers(0, 5, ROWS)]
    word = [text[i] for i in draw.choice(len(text), ROWS, p=weights / weights.sum())]
    lines = [f'"{k}",{i},{w}\n' if "," in k or i % 3 else f"{k},{i},{w}\n" for i, (k, w) in enumerate(zip(kind, word))]
    (folder / "rows.csv").write_text("kind,n,word\n" + "".join(lines))
    for lane in range(3):
        (folder / f"rows-{lane}.csv").write_text("kind,n,word\n" + "".join(lines[lane::3]))
    return kind, word


def ranked(words):
    """As StringLookup of Keras: the most frequent first, of as frequent ones the last by its bytes."""
    counts = {word: words.count(word) for word in words}
    return sorted(counts, key=lambda word: (counts[word], word.encode()), reverse=True)


def lookups(classes, vocabulary):
    return (f"{{decode_csv: {{fields: {{kind: {{dtype: u8, classes: {classes}}}, n: i64, word: string}}}}}}, "
            f"{{lookup: {{column: word, {vocabulary}}}}}")


def known_lookups(kind, word):
    numbers = ", ".join(f"{json.dumps(text, ensure_ascii=False)}: {i + 1}" for i, text in enumerate(ranked(word)))
    listed = json.dumps(sorted(set(kind), key=str.encode), ensure_ascii=False)
    return lookups(listed, f"map: {{{numbers}}}, to: i64, missing: 0")


def test_classes_and_vocabularies_are_those_of_keras(folder):
    case = Case(folder)
    kind, word = words_of(case, folder)
    source = {"source": "csv: {files: rows.csv, header: true}"}
    graph = case.write(lookups("auto", "vocabulary: auto"), **source)
    known = case.write(known_lookups(kind, word), **source)
    expected = case.stream("run", known)
    assert case.stream("run", graph, cache="same") == expected
    shown = case.command("explain", graph, cache="same")
    assert "column=kind" in shown and f"{kind.count('dog')}=dog" in shown and "=b,ird" in shown, shown
    assert case.stream("up", graph, case.three_hosts()) == expected
    lanes = {"top": "lanes: 3\n", "read": "shard: file, epochs: 2",
             "source": "csv: {files: 'rows-[0-2].csv', header: true}"}
    expected = case.stream("run", case.write(known_lookups(kind, word), **lanes))
    assert case.stream("run", case.write(lookups("auto", "vocabulary: auto"), **lanes)) == expected
    (folder / "lanes.yaml").write_text(
        f"port: {free_port()}\nhosts:\n  n[0-2]: {{address: 127.0.0.1, lanes: 1 each, actors: [read, batch]}}\n"
        "  w: {address: 127.0.0.1, actors: [prep, feed]}\n")
    assert case.stream("up", case.write(lookups("auto", "vocabulary: auto"), **lanes), folder / "lanes.yaml") == expected
    #  A default is one of the classes that are found, or a number from -1 to the next one.
    (folder / "missing.csv").write_text("kind,n\nb,1\n,2\na,3\n")
    field = "{{decode_csv: {{fields: {{kind: {{dtype: i8, classes: {}, default: {}}}, n: i64}}}}}}"
    short = {"source": "csv: {files: missing.csv, header: true}"}
    for default in ("b", "-1", "2"):
        assert case.stream("run", case.write(field.format("auto", default), **short)) == \
            case.stream("run", case.write(field.format("[a, b]", default), **short)), default
    for default in ("c", "3", "-2"):
        text = case.command("run", case.write(field.format("auto", default), **short), expect=78)
        assert f"the default of field `kind` is `{default}`: neither one of its 2 classes (a, b)" in text, text
    #  A value that depends on another one needs a second pass, which needs the files of all lanes.
    classes = lookups("auto", "vocabulary: auto")
    twice = classes + ", " + normalize("kind")
    numbers = np.array([sorted(set(kind), key=str.encode).index(text) for text in kind])
    known = case.write(known_lookups(kind, word) + ", " + normalize("kind", moments(numbers)), **lanes)
    assert case.stream("run", case.write(twice, **lanes)) == case.stream("run", known)
    text = case.command("up", case.write(twice, **lanes), folder / "lanes.yaml", expect=78)
    assert "needs two passes over the files of all lanes, of which this host has 1 of 3" in text, text
    #  A list, and a text that does not train.
    listed = json.dumps(ranked(word), ensure_ascii=False)
    assert case.stream("run", case.write(lookups(json.dumps(sorted(set(kind), key=str.encode), ensure_ascii=False),
                                                 f"vocabulary: {listed}"), **source)) == \
        case.stream("run", case.write(known_lookups(kind, word), **source))
    used = {**source, "read": "take: 20"}
    assert case.stream("run", case.write(lookups("auto", "vocabulary: auto"), **used)) == \
        case.stream("run", case.write(known_lookups(kind[:20], word[:20]), **used))
    (folder / "long.csv").write_text("kind,n,word\n" + f"{'x' * 257},1,a\n")
    text = case.command("run", case.write(lookups("auto", "vocabulary: auto"),
                                          source="csv: {files: long.csv, header: true}"), expect=78)
    assert "texts of at most 256 bytes, and one has 257" in text and "long.csv" in text, text
    #  A limit ends the run, whatever happens to bad rows.
    for way in ("skip", "quarantine"):
        text = case.command("run", case.write(lookups("auto", "vocabulary: auto"), prep=f", on_error: {way}",
                                              source="csv: {files: long.csv, header: true}"), expect=78)
        assert "texts of at most 256 bytes, and one has 257" in text and "to continue" not in text, text


def test_a_run_that_was_killed_uses_the_stored_values(folder):
    case = Case(folder)
    words = {"feed": ", depth: 2, step: {plugin: witness, sleep_us: 2000}", "reduce": " <-> mean",
             "more": "  mean: {kind: reducer}\n", "read": "shuffle: global, epochs: 4"}
    keep = ("--set", "checkpoint.dir=kept", "--set", "checkpoint.every=5 steps")
    graph = case.write(normalize("x"), **words)
    expected = case.stream("run", case.write(normalize("x", moments(case.x)), **words))
    for command, places in (("run", ()), ("up", (case.three_hosts(),))):
        kept = folder / "kept"
        process = subprocess.Popen([str(TUNDISH), command, str(graph), *map(str, places), *keep], cwd=folder,
                                   env=case.env("resumed"), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                                   start_new_session=True)
        until(lambda: "a checkpoint", lambda: list(kept.glob("step-*/manifest")), 60)
        kill_run(process)
        #  A host that has only the reader may come before there is a folder of checkpoints.
        stored, = [*kept.glob("auto-*.txt"), *(folder / "resumed").glob("tundish/auto-*.txt")]
        assert command == "up" or stored.parent == kept, stored
        assert re.fullmatch(r"count 600 mean \S+ \S+ \S+ std \S+ \S+ \S+\nhash \w{16}\n", stored.read_text())
        assert " ".join(stored.read_text().splitlines()[0].split()) in case.command("explain", graph, *keep, cache="resumed")
        before = stored.stat()
        text = case.command(command, graph, *places, *keep, "--resume", cache="resumed")
        assert stream_of(text) == expected, text
        assert (stored.stat().st_ino, stored.stat().st_mtime_ns) == (before.st_ino, before.st_mtime_ns)
        shutil.rmtree(kept)
        stored.unlink(missing_ok=True)


def test_a_first_run_that_may_resume_uses_no_stored_values(folder):
    case = Case(folder)
    (folder / "my_rows.py").write_text("import numpy\n\ndef rows():\n"
                                        "    return [{'x': x, 'y': 0} for x in numpy.load('values.npy')]\n")
    words = {"top": f"python: {sys.executable}\n", "source": 'python: {call: "my_rows:rows", makes: {x: f32, y: i64}}',
             "feed": ", depth: 2, step: {plugin: witness}", "reduce": " <-> mean", "more": "  mean: {kind: reducer}\n"}
    first, other = np.arange(100).astype("f4"), (np.arange(100) ** 2).astype("f4")
    graph = case.write(normalize("x"), **words)
    np.save(folder / "values.npy", first)
    case.stream("run", graph, cache="same")
    np.save(folder / "values.npy", other)
    resumed = case.stream("run", graph, "--set", "checkpoint.dir=kept", "--resume", cache="same")
    assert resumed == case.stream("run", case.write(normalize("x", moments(other)), **words))


def test_what_cannot_be_computed_is_said_at_its_place(folder):
    case = Case(folder)
    case.x[407, 1] = np.nan
    np.save(folder / "x.npy", case.x)
    graph = case.write(normalize("x"))
    text = case.command("run", graph, expect=78)
    assert "record 407 of x.npy" in text and "not finite" in text and "graph" in text, text
    assert "if it is NaN, say `nan: mean`" in text, text
    assert "computed when a run starts" in case.command("explain", graph)
    #  A row that an operation before refuses, beyond the first block.
    (folder / "long.csv").write_text("a,b\n" + "".join(f"{i},{'x' if i == 2500 else i}\n" for i in range(3000)))
    decode = "{decode_csv: {fields: {a: f32, b: f32}}}, " + normalize("a")
    source = {"source": "csv: {files: long.csv, header: true}"}
    text = case.command("run", case.write(decode, prep=", workers: 2", **source), expect=78)
    assert "record 2500 of long.csv" in text and "operation 1, `decode_csv`: the field `b` is `x`" in text, text
    left = np.delete(np.arange(3000), 2500)
    words = {"prep": ", on_error: skip", **source}
    known = "{decode_csv: {fields: {a: f32, b: f32}}}, " + normalize("a", moments(left))
    assert case.stream("run", case.write(decode, **words)) == case.stream("run", case.write(known, **words))
    text = case.command("run", case.write("{random_flip: {column: u}}, " + normalize("u")), expect=78)
    assert "`random_flip` is random and comes before `normalize`" in text, text
    again = case.write(normalize("u"), more="  keep:  {kind: cache, limit: 1MiB}\n  again: {kind: preprocessor, ops: [%s]}\n" % normalize("u"))
    again.write_text(again.read_text().replace("prep -> batch", "prep -> keep -> again -> batch"))
    text = case.command("run", again, expect=78)
    assert "operations 1 and 2 are the same `normalize` with `auto`" in text, text
    text = case.command("run", case.write(normalize("u"), read="order: [{global: 1}, {take: 10}]"), expect=78)
    assert "`take` after `global`" in text, text
    text = case.command("validate", case.write(normalize("u", "mean: [], std: auto")), expect=78)
    assert "`mean` has 0 numbers" in text, text
    text = case.command("validate", case.write(normalize("u", "mean: auto, std: automatic")), expect=78)
    assert "`std` expects a list of numbers such as [0, 0.5], or `auto`" in text, text


if __name__ == "__main__":
    sys.exit(run_named(globals(), sys.argv[1:], in_folder))
