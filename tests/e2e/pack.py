#!/usr/bin/env python3
"""Packed rows: what NumPy cuts of the documents in their order, whatever the placement, also after
deaths and where a run resumes; and what the batcher refuses.

Usage: pack.py [NAME...]; without a name it lists them.
"""
import json
import pathlib
import subprocess
import sys
import tempfile

import numpy

from faults import free_range
from named import run_named
from run import TUNDISH, tundish

LENGTH, SIZE, EPOCHS = 64, 8, 2
GRAPH = """tundish: 1
name: pack
seed: 11
data: {folder}
actors:
  read:  {{kind: reader, source: {{npy: {{tokens: {{values: "${{data}}/x.npy", splits: "${{data}}/s.npy"}}}}}}, shuffle: global, epochs: {epochs}}}
{prep}  batch: {{kind: batcher, size: {size}, replicas: 2, pack: {{column: tokens, length: {length}, segments: true{pack}}}{batcher}}}
  feed:  {{kind: feeder}}
links:
  - read -> {link}batch -> feed
"""
PLACES = """port: {port}
hosts:
  a: {{transport: tcp, actors: [feed]}}
  b: {{transport: tcp, actors: [read, batch]}}
  c: {{transport: tcp, actors: [prep], workers: {{prep: 3}}}}
"""
PREP = "  prep:  {{kind: preprocessor, ops: [{{slice: {{column: tokens, start: 0, length: 4096}}}}], workers: {}}}\n"


def write(folder, documents=400, batcher="", pack="", workers=0):
    """Documents of consecutive numbers from 1 on; some are empty, one is longer than a batch."""
    draw = numpy.random.default_rng(documents)
    lengths = draw.integers(0, 100, documents)
    lengths[::9] = 0
    lengths[5] = 3 * SIZE * LENGTH + 7
    splits = numpy.concatenate([[0], numpy.cumsum(lengths)])
    numpy.save(folder / "x.npy", numpy.arange(1, splits[-1] + 1, dtype="<i4"))
    numpy.save(folder / "s.npy", splits.astype("<i8"))
    path = folder / "graph.yaml"
    path.write_text(GRAPH.format(folder=folder, epochs=EPOCHS, size=SIZE, length=LENGTH, batcher=batcher,
                                 pack=pack, prep=PREP.format(workers) if workers else "",
                                 link="prep -> " if workers else ""))
    return path, [numpy.arange(a + 1, b + 1) for a, b in zip(splits, splits[1:])]


def without_pack(graph):
    text = graph.read_text()
    begin = text.index(", pack: {")
    other = graph.with_name("documents.yaml")
    other.write_text(text[:begin] + text[text.index("}", begin) + 1:])
    return other


def order(graph, documents):
    """The documents of each epoch in the order in which they are read, as a run without `pack` shows it."""
    epochs = [[]]
    for line in head(without_pack(graph)):
        rows = line["columns"]["tokens"]
        epochs[-1] += [numpy.array(rows["data"][a:b]) for a, b in zip(rows["splits"], rows["splits"][1:])]
        if line["last"] and line["replica"] == 1:
            epochs.append([])
    assert epochs.pop() == []
    for epoch in epochs:
        assert sorted(map(tuple, epoch)) == sorted(map(tuple, documents))
    assert len(epochs) == EPOCHS
    return epochs


def head(graph):
    words = [TUNDISH, "head", graph, "--json", "--steps", "100000"]
    output = subprocess.run(words, capture_output=True, text=True, timeout=60)
    assert output.returncode == 0, output.stderr
    return [json.loads(line) for line in output.stdout.splitlines()]


def packed(documents, drop):
    """Rows of values, segments and positions."""
    length = LENGTH
    values = numpy.concatenate(documents)
    rows = len(values) // length if drop else -(-len(values) // length)
    number = numpy.concatenate([numpy.full(len(d), i) for i, d in enumerate(documents)])
    place = numpy.concatenate([numpy.arange(len(d)) for d in documents])
    made = numpy.zeros((3, rows * length), int)
    some = min(len(values), rows * length)
    made[0, :some], made[2, :some] = values[:some], place[:some]
    for row in range(rows):
        part = slice(row * length, min(row * length + length, some))
        made[1, part] = numpy.unique(number[part], return_inverse=True)[1] + 1
    return made.reshape(3, rows, length)


def fed(graph):
    """By epoch, the three columns in the order of the stream."""
    epochs = [[]]
    for line in head(graph):
        columns = line["columns"]
        assert list(columns) == ["tokens", "tokens_segment_ids", "tokens_positions"], list(columns)
        assert all(column["dtype"] == "i32" for column in columns.values())
        if line["rows"] > 0:
            epochs[-1].append([numpy.reshape(column["data"], (line["rows"], LENGTH))
                               for column in columns.values()])
        if line["last"] and line["replica"] == 1:
            epochs.append([])
    assert epochs.pop() == []
    return [numpy.concatenate(epoch, axis=1) for epoch in epochs]


def test_rows_are_those_of_numpy(folder):
    for batcher, pack in (("", ""), (", remainder: drop", ""), ("", ", drop_remainder: true")):
        graph, documents = write(folder, batcher=batcher, pack=pack)
        orders = order(graph, documents)
        for epoch, got in enumerate(fed(graph)):
            expected = packed(orders[epoch], pack != "")
            if batcher:
                expected = expected[:, :expected.shape[1] // SIZE * SIZE]
            assert numpy.array_equal(got, expected), f"epoch {epoch} with {batcher}{pack}"


def test_what_drops_all_rows_is_named(folder):
    graph, documents = write(folder, batcher=", remainder: drop", pack=", drop_remainder: true")
    told = tundish("run", graph, "--set", "batch.size=1000", report=False).output
    rows = EPOCHS * len(documents)
    assert f"no step was fed: {rows} rows were dropped by the batcher (`remainder: drop`, `drop_remainder: true` " \
        "of `pack`)" in told, told


def digest(command, *words):
    return tundish(command, *words).report["stream_digest"]


def test_every_placement_feeds_the_same(folder):
    graph, documents = write(folder)
    outcome = tundish("run", graph)
    one, rows = outcome.report["stream_digest"], outcome.report["rows"]
    assert rows["read"] == rows["fed"] == EPOCHS * len(documents), rows
    assert one == digest("run", graph, "--set", "read.access=read", "--set", "batch.block=1 rows")
    graph, _ = write(folder, workers=2)
    assert one == digest("run", graph), "with a preprocessor"
    assert one == digest("run", graph, "--set", "prep.workers=5", "--set", "batch.block=7 rows",
                         "--set", "prep.isolate=process"), "with other workers"
    places = folder / "places.yaml"
    places.write_text(PLACES.format(port=free_range("127.0.0.1", 1)))
    assert one == digest("up", graph, places), "over tcp"


def test_a_run_resumes_in_the_middle_of_a_document(folder):
    graph, _ = write(folder, batcher=", take: 30")
    kept = folder / "kept"
    whole = digest("run", graph)
    graph.write_text(graph.read_text() + f"checkpoint: {{dir: {kept}, every: 1 steps}}\n")
    within = 0
    for steps in (3, 8, 13, 17, 29, 30, 31, 45):
        tundish("run", graph, "--steps", steps, "--resume" if kept.exists() else "--quiet", report=False)
        told = tundish("cursor", kept, "--json", report=False).output
        within += json.loads(told)["lanes"][0]["since"] > 0
    assert within >= 4, "these steps do not end in documents"
    report = folder / "report.json"
    tundish("run", graph, "--resume", "--set", "batch.block=2 rows", "--report", report, report=False)
    assert json.loads(report.read_text())["stream_digest"] == whole


def test_killed_actors_change_nothing(folder):
    graph, _ = write(folder, documents=3000, workers=2)
    tundish("chaos", graph, "--seconds", 2, "--seed", 4, "--set", "read.epochs=1", report=False)


def test_bad_documents_are_left_out_of_rows(folder):
    """Also where a run resumes: each is counted once, and is in the quarantine once."""
    good = ["%d:" % row + row % 90 * "x" for row in range(300)]
    (folder / "x.jsonl").write_text("".join(
        ("{" if row % 11 == 3 else json.dumps({"text": text})) + "\n" for row, text in enumerate(good)))
    graph = folder / "graph.yaml"
    graph.write_text(f"""tundish: 1
data: {folder}
actors:
  read:  {{kind: reader, source: {{text: {{files: "${{data}}/x.jsonl"}}}}, quarantine: {folder}/aside}}
  prep:  {{kind: preprocessor, on_error: quarantine, workers: 2, ops: [{{decode_json: {{column: line, fields: {{text: string}}}}}}]}}
  batch: {{kind: batcher, size: 4, replicas: 2, pack: {{column: text, length: {LENGTH}}}}}
  feed:  {{kind: feeder}}
links:
  - read -> prep -> batch -> feed
""")
    expected = "".join(text for row, text in enumerate(good) if row % 11 != 3)
    fed_bytes = b"".join(bytes(line["columns"]["text"]["data"]) for line in head(graph) if line["rows"] > 0)
    assert fed_bytes.rstrip(b"\0") == expected.encode() and len(fed_bytes) % LENGTH == 0
    whole = tundish("run", graph, "--set", f"read.quarantine={folder}/other").report
    graph.write_text(graph.read_text() + f"checkpoint: {{dir: {folder}/kept, every: 1 steps}}\n")
    for steps in (7, 20):
        tundish("run", graph, "--steps", steps, *["--resume"][:steps - 7], report=False)
    report = folder / "report.json"
    tundish("run", graph, "--resume", "--report", report, report=False)
    resumed = json.loads(report.read_text())
    assert resumed["stream_digest"] == whole["stream_digest"]
    bad = sum(row % 11 == 3 for row in range(300))
    for rows in (resumed["rows"], whole["rows"]):
        assert (rows["read"], rows["fed"], rows["bad"]) == (300, 300 - bad, bad), rows
    aside = "".join(path.read_text() for path in sorted((folder / "aside").glob("index*.jsonl")))
    assert len(aside.splitlines()) == bad, aside


def write_pair(folder, lengths, others):
    """Documents of `tokens`, beside which `weight` has two numbers for each value."""
    for name, many, shape in (("x", lengths, ()), ("w", others, (2,))):
        splits = numpy.concatenate([[0], numpy.cumsum(many)])
        values = numpy.arange(1, splits[-1] + 1, dtype="<i4").reshape(-1, *[1 for _ in shape])
        numpy.save(folder / f"{name}.npy", numpy.broadcast_to(values, (splits[-1], *shape)))
        numpy.save(folder / f"{name}_splits.npy", splits.astype("<i8"))
    columns = ", ".join(f'{name}: {{values: "${{data}}/{file}.npy", splits: "${{data}}/{file}_splits.npy"}}'
                        for name, file in (("weight", "w"), ("tokens", "x")))
    path = folder / "pair.yaml"
    path.write_text(f"""tundish: 1
data: {folder}
actors:
  read:  {{kind: reader, source: {{npy: {{{columns}}}}}, shuffle: global}}
  prep:  {{kind: preprocessor, workers: 2, ops: [{{slice: {{column: tokens, start: 0, length: 4096}}}}]}}
  batch: {{kind: batcher, size: 8, block: 10 rows, pack: {{column: tokens, length: {LENGTH}}}}}
  feed:  {{kind: feeder}}
links:
  - read -> prep -> batch -> feed
""")
    return path


def test_columns_of_equal_lengths_are_packed_side_by_side(folder):
    lengths = numpy.random.default_rng(5).integers(0, 100, 300)
    graph = write_pair(folder, lengths, lengths)
    tokens, weight = (numpy.concatenate([numpy.reshape(line["columns"][name]["data"], (-1, *shape))
                                         for line in head(graph)])
                      for name, shape in (("tokens", ()), ("weight", (2,))))
    assert sorted(tokens[tokens > 0]) == list(range(1, lengths.sum() + 1))
    assert numpy.array_equal(weight, numpy.stack([tokens, tokens], axis=1))
    one = digest("run", graph)
    assert one == digest("run", graph, "--set", "prep.isolate=process", "--set", "batch.block=3 rows")


def test_columns_of_other_lengths_end_the_run_by_their_record(folder):
    lengths = numpy.full(300, 7)
    for length, other in ((7, 6), (0, 3), (5, 0)):
        others = lengths.copy()
        lengths[123], others[123] = length, other
        graph = write_pair(folder, lengths, others)
        told = tundish("run", graph, report=False, expect=1).output
        for words in (f"{length} values in `tokens` and {other} in `weight`", "record 123 of", "`select`"):
            assert words in told, (words, told)


def test_what_it_cannot_pack_is_refused_with_the_reason(folder):
    graph, _ = write(folder)
    text = graph.read_text()
    for old, new, words in (
            ("column: tokens, length", "column: word, length", ("`pack` names column `word`", "not exist")),
            ("tokens: {values", "label: \"${data}/s.npy\", tokens: {values", ("files",)),
            ("{values: \"${data}/x.npy\", splits: \"${data}/s.npy\"}", "\"${data}/s.npy\"",
             ("whose rows all have one length",)),
            ("  batch:", "  prep: {kind: preprocessor, ops: [{enumerate: {into: n}}]}\n  batch:",
             ("column `n` has one entry per document", "select"))):
        other = folder / "other.yaml"
        other.write_text(text.replace(old, new).replace(
            "read -> batch", "read -> prep -> batch" if "prep" in new else "read -> batch"))
        told = tundish("run", other, report=False, expect=78).output
        assert all(word in told for word in words), told


def main():
    def call(test):
        with tempfile.TemporaryDirectory() as folder:
            test(pathlib.Path(folder))

    return run_named(globals(), sys.argv[1:], call)


if __name__ == "__main__":
    sys.exit(main())
