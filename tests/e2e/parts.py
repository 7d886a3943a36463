#!/usr/bin/env python3
"""`part` by the values of a column: as scikit-learn's StratifiedShuffleSplit and GroupShuffleSplit divide.

Usage: parts.py NAME...; without a name it lists them.  What is expected is counted by NumPy.
"""
import json
import os
import signal
import subprocess
import sys

import numpy as np

from adapt import HOSTS, Case, stream_of
from faults import until
from named import in_folder, run_named
from run import TUNDISH, free_port

ROWS = 600
SOURCE = "npy: {x: 'x-*.npy', g: 'g-*.npy', y: 'y-*.npy'}"
EPOCHS = 10


class Parts(Case):
    """Rows in three files, of some groups and classes."""

    def __init__(self, folder):
        super().__init__(folder)
        draw = np.random.default_rng(9)
        self.row = np.arange(ROWS)
        self.group = draw.integers(0, 40, ROWS) * 7 - 50
        self.label = np.where(self.row < 7, 5, draw.choice(5, ROWS, p=[.5, .3, .1, .07, .03])).astype("u1")
        for name, values in (("x", self.row), ("g", self.group), ("y", self.label)):
            for file, (first, end) in enumerate(((0, 100), (100, 350), (350, ROWS))):
                np.save(folder / f"{name}-{file}.npy", values[first:end])

    def graph(self, part, order="shuffle: global", source=SOURCE, ops="", **words):
        read = order if "part" in order else f"part: {part}, {order}"
        return self.write(ops, source=source, read=f"{read}, epochs: {EPOCHS}", **words)

    def epochs(self, graph, column="x"):
        text = self.command("head", graph, "--steps", 10 * ROWS, "--json", cache="same")
        rows = [row for line in text.splitlines() if line.startswith("{")
                for row in json.loads(line)["columns"][column]["data"]]
        assert rows and len(rows) % EPOCHS == 0, len(rows)
        return np.array(rows).reshape(EPOCHS, -1)


def part(index, way, of="[80, 20]", seed=1):
    return f"{{of: {of}, index: {index}, seed: {seed}, {way}}}"


def share(of, index, rows):
    return rows * of[index] / sum(of)


def check_stratified(case, parts, of):
    for label, all_rows in zip(*np.unique(case.label, return_counts=True)):
        for index, rows in enumerate(parts):
            assert abs((case.label[rows] == label).sum() - share(of, index, all_rows)) < 1, (label, index)
    if len(of) == 2:
        assert all(abs(len(rows) - share(of, index, ROWS)) < 1 for index, rows in enumerate(parts))


def check_grouped(case, parts, of):
    most = np.unique(case.group, return_counts=True)[1].max()
    for index, rows in enumerate(parts):
        others = np.concatenate([case.group[other] for i, other in enumerate(parts) if i != index])
        assert not set(case.group[rows]) & set(others)
        assert len(rows) - share(of, index, ROWS) <= most * (len(of) - 1) / len(of), (index, len(rows))


ORDERS = ("shuffle: global", "order: [{{part: {0}}}, {{shuffle: {{buffer: 50}}}}]",
          "order: [{{part: {0}}}, {{interleave: {{cycle: 2, block: 3}}}}]",
          "order: [{{part: {0}}}, {{files: {{shuffle: {{}}}}}}, {{interleave: {{cycle: 3}}}}, {{shuffle: {{buffer: 9}}}}]")


def divided(folder, way, check):
    case = Parts(folder)
    for order in ORDERS:
        for of in ([80, 20], [3, 1, 1]):
            if len(of) > 2 and order != ORDERS[0]:
                continue
            found = []
            for index in range(len(of)):
                own = part(index, way, of)
                epochs = case.epochs(case.graph(own, order.format(own)))
                assert all(np.array_equal(np.sort(rows), np.sort(epochs[0])) for rows in epochs), order
                assert not np.array_equal(epochs[0], epochs[1]) or order == ORDERS[2]
                found.append(epochs[0])
            assert np.array_equal(np.sort(np.concatenate(found)), case.row), "disjoint and complete"
            check(case, found, of)
    other = case.epochs(case.graph(part(1, way, seed=2)))[0]
    assert set(other) != set(case.epochs(case.graph(part(1, way)))[0]), "a seed draws"
    return case


def test_each_class_is_divided_to_within_one_row(folder):
    divided(folder, "stratified: y", check_stratified)


def test_a_group_is_never_divided(folder):
    divided(folder, "by: g", check_grouped)


FOLDS = [20, 20, 20, 20, 20]


def folds_of(what, way):
    return f"{{of: {FOLDS}, {what}, {way}}}"


def test_folds_train_on_all_parts_but_some(folder):
    case = Parts(folder)
    for way, check in (("stratified: y", check_stratified), ("by: g", check_grouped), ("seed: 3", lambda *_: None)):
        folds = [case.epochs(case.graph(folds_of(f"index: {fold}", way)))[0] for fold in range(5)]
        assert np.array_equal(np.sort(np.concatenate(folds)), case.row), "disjoint and complete"
        check(case, folds, FOLDS)
        for left in (2, [0], [4, 1]):
            own = folds_of(f"except: {left}", way)
            kept = np.concatenate([rows for fold, rows in enumerate(folds) if fold not in np.atleast_1d(left)])
            for order in ORDERS[:1 if left == [0] else None]:
                epochs = case.epochs(case.graph(own, order.format(own)))
                assert all(np.array_equal(np.sort(rows), np.sort(kept)) for rows in epochs), (own, order)
            if left == 2:
                check(case, [kept, folds[left]], [80, 20])
    graph = case.graph(folds_of("except: [4, 1]", "stratified: y"))
    case.command("run", graph, cache="same")
    assert "parts 0, 2, 3 stratified by `y`: " in case.command("explain", graph, cache="same")


def test_an_interleave_reads_what_a_part_leaves_of_each_file(folder):
    case = Parts(folder)
    for way in ("stratified: y", "by: g", "seed: 3"):
        own = f"{{of: [80, 20], index: 0, {way}}}"
        rows = np.sort(case.epochs(case.graph(own))[0])
        files = [list(rows[(rows >= first) & (rows < end)]) for first, end in ((0, 100), (100, 350), (350, ROWS))]
        wanted = []
        while any(files):  # cycle 3, block 2
            for file in files:
                wanted += file[:2]
                del file[:2]
        order = f"order: [{{part: {own}}}, {{interleave: {{cycle: 3, block: 2}}}}]"
        assert np.array_equal(case.epochs(case.graph(own, order))[0], wanted), way


def table(case, folder):
    """The same rows as records of CSV; the class is a text that is not known before."""
    names = np.array(["cat", "dog", "e,el", "\u00e4mse", "b b", "zz"])
    lines = [f'{case.group[i]},"{names[case.label[i]]}",{i}\n' for i in case.row]
    (folder / "rows.csv").write_text("patient,species,x\n" + "".join(lines))
    return "csv: {files: rows.csv, header: true}", "{decode_csv: {fields: {patient: {dtype: string, max: 9}, " \
        "species: {dtype: u8, classes: auto}, x: i64}}}, {normalize: {column: species, mean: auto, std: auto}}"


def test_columns_that_operations_make(folder):
    case = Parts(folder)
    source, ops = table(case, folder)
    for way, check in (("stratified: species", check_stratified), ("by: patient", check_grouped)):
        found = [case.epochs(case.graph(part(index, way), source=source, ops=ops))[0] for index in (0, 1)]
        assert np.array_equal(np.sort(np.concatenate(found)), case.row)
        check(case, found, [80, 20])
    #  What an operation has learned is of the rows of the part.
    graph = case.graph(part(0, "by: patient"), source=source, ops=ops)
    case.command("run", graph, cache="same")
    shown = case.command("explain", graph, cache="same")
    rows = case.epochs(graph)[0]
    assert f"column=species {(case.label[rows] == 4).sum()}=b%20b" in shown, shown
    assert f"part 0 by `patient`: {len(rows)} / {ROWS - len(rows)} rows" in shown, shown
    #  Rows that a filter drops are divided too.
    kept = ops + ", {filter: {column: x, op: lt, value: 300}}"
    found = [case.epochs(case.graph(part(index, "by: patient"), source=source, ops=kept))[0] for index in (0, 1)]
    assert np.array_equal(np.sort(np.concatenate(found)), case.row[:300])
    #  A column after it is of the rows that are left.
    late = "{filter: {column: x, op: lt, value: 300}}, {compute: {z: 'x - x + y'}}"
    found = [case.epochs(case.graph(part(index, "stratified: z"), ops=late))[0] for index in (0, 1)]
    assert np.array_equal(np.sort(np.concatenate(found)), case.row[:300])


def test_explain_counts_each_class(folder):
    case = Parts(folder)
    graph = case.graph(part(1, "stratified: y"))
    assert "part 1 stratified by `y`: the rows are divided when a run starts" in case.command("explain", graph, cache="e")
    case.command("run", graph, cache="e")
    shown = case.command("explain", graph, cache="e")
    for label, rows in zip(*np.unique(case.label, return_counts=True)):
        first = [int(line.split(": ")[1].split(" / ")[0]) for line in shown.splitlines()
                 if line.strip().startswith(f"{label}: ")]
        assert len(first) == 1 and abs(first[0] - share([80, 20], 0, rows)) < 1, (label, shown)
    assert "read.0: which part each row is of" in shown
    #  Both chains use what one has stored.
    case.command("run", case.graph(part(0, "stratified: y")), cache="e")
    assert len(list((folder / "e").glob("tundish/auto-*.txt"))) == 1


VALIDATES = ("  more:  {kind: reader, source: {" + SOURCE + "}, part: %s}\n  some:  {kind: batcher, size: 16}\n"
             "  test:  {kind: feeder, after: feed}\n")


def test_every_place_divides_alike(folder):
    case = Parts(folder)
    hosts = folder / "three.yaml"
    for way in ("stratified: y", "by: g"):
        graph = case.graph(part(0, way), ops="{random_flip: {column: m}}",
                           source=SOURCE.replace("}", ", m: m.npy}"), more=VALIDATES % part(1, way),
                           links="  - more -> some -> test\n")
        np.save(folder / "m.npy", np.arange(ROWS * 4, dtype="u1").reshape(ROWS, 2, 2, 1))
        hosts.write_text(HOSTS.format(port=free_port()).replace("[feed]", "[feed, test]")
                         .replace("[read, batch]", "[read, batch, more, some]"))
        found = []
        for command in (("run", graph), ("run", graph, "--set", "read.workers=3"), ("up", graph, hosts)):
            case.command(*command, "--report", "report.json")
            report = json.loads((folder / "report.json").read_text())
            found.append((report["stream_digest"], report["chains"]["test"]["stream_digest"]))
            assert report["rows"]["fed"] // EPOCHS + report["chains"]["test"]["rows"]["fed"] == ROWS
        assert found[0] == found[1] == found[2] and found[0][0] != found[0][1], found
    lanes = case.graph(part(0, "by: g"), top="lanes: 3\n")
    (folder / "lanes.yaml").write_text(
        f"port: {free_port()}\nhosts:\n  n[0-2]: {{address: 127.0.0.1, lanes: 1 each, actors: [read, batch]}}\n"
        "  w: {address: 127.0.0.1, actors: [prep, feed]}\n")
    assert case.stream("run", lanes) == case.stream("up", lanes, folder / "lanes.yaml")


def test_a_resumed_run_continues_with_the_same_parts(folder):
    case = Parts(folder)
    words = {"feed": ", depth: 2, step: {plugin: witness, sleep_us: 2000}", "reduce": " <-> mean",
             "more": "  mean: {kind: reducer}\n"}
    keep = ("--set", "checkpoint.dir=kept", "--set", "checkpoint.every=5 steps")
    graph = case.graph(part(0, "by: g"), **words)
    expected = case.stream("run", graph)
    process = subprocess.Popen([str(TUNDISH), "run", str(graph), *keep], cwd=folder, env=case.env("resumed"),
                               stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)
    until(lambda: "a checkpoint", lambda: list((folder / "kept").glob("step-*/manifest")), 60)
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    stored, = (folder / "kept").glob("auto-*.txt")
    before = stored.stat().st_ino
    assert stream_of(case.command("run", graph, *keep, "--resume", cache="resumed")) == expected
    assert stored.stat().st_ino == before
    #  A file that is damaged is made again.
    graph = case.graph(part(0, "by: g"))
    expected = case.stream("run", graph, cache="damaged")
    stored, = (folder / "damaged").glob("tundish/auto-*.txt")
    stored.write_text(stored.read_text().replace("by 600", "by 601"))
    assert case.stream("run", graph, cache="damaged") == expected and "by 600" in stored.read_text()


def test_what_cannot_be_divided_is_said_at_its_place(folder):
    case = Parts(folder)
    np.save(folder / "f.npy", np.zeros(ROWS, "f4"))
    np.save(folder / "one.npy", np.zeros(ROWS, "i4"))
    np.save(folder / "rare.npy", np.where(case.row == 405, 9, case.row % 2).astype("i2"))
    np.save(folder / "pair.npy", np.zeros((ROWS, 2), "i4"))
    more = SOURCE.replace("}", ", f: f.npy, one: one.npy, rare: rare.npy, pair: pair.npy}")
    for way, wanted in (
            ("by: patient", "`by: patient`: unknown column; the source has"),
            ("stratified: f", "`stratified: f`: rows are divided by a text or one integer of each, and this column is f f32"),
            ("by: pair", "this column is pair i32[2]"),
            ("by: g, stratified: y", "`part`: `by` and `stratified`, which exclude each other"),
            ("by: one", "`by: one`: all rows have the same value"),
            ("stratified: rare", "`9` has one row, record 55 of x-2.npy, at byte 568, which cannot be divided")):
        graph = case.graph(part(0, way), source=more)
        text = case.command("run", graph, expect=78)
        line = graph.read_text().split("part")[0].count("\n") + 1
        assert wanted in text and f"{graph.name}:{line}:" in text, (wanted, text)
        listed = case.graph("", f"order: [{{part: {part(0, way)}}}]", source=more)
        text = case.command("run", listed, expect=78)
        assert wanted in text and f"{listed.name}:{line}:" in text, (wanted, text)
    #  Rows that are made of others, or drawn, have no value of their own.
    for ops, wanted in (("{repeat_rows: {times: 2}}, {compute: {z: 'x + y'}}", "make several rows of one"),
                        ("{random_flip: {column: m}}, {compute: {z: 'x + y'}}",
                         "is random and comes before column `z`, by which `part` divides")):
        np.save(folder / "m.npy", np.zeros((ROWS, 2, 2, 1), "u1"))
        text = case.command("run", case.graph(part(0, "by: z"), source=SOURCE.replace("}", ", m: m.npy}"), ops=ops),
                            expect=78)
        assert wanted in text, text
    after = "order: [{interleave: {cycle: 2}}, {part: %s}]" % part(0, "by: g")
    text = case.command("validate", case.graph("", after), expect=78)
    assert "`by` and `stratified` divide the rows as they are stored" in text and "make `part` the first" in text, text
    files = case.graph(part(0, "by: g"), "shard: file", top="lanes: 3\n")
    text = case.command("run", files, expect=78)
    assert "the rows of all lanes are divided together, and here each lane has files of its own" in text, text


if __name__ == "__main__":
    sys.exit(run_named(globals(), sys.argv[1:], in_folder))
