#!/usr/bin/env python3
"""TFRecord files of tf.Example: from the bytes of a file to columns of batches."""
import json
import re
import struct
import sys

from command import ROOT, holds, main, run, same

sys.path.insert(0, str(ROOT / "tests" / "support"))
from tfrecord import framed  # noqa: E402

GRAPH = """tundish: 1
seed: 3
actors:
  read: {{kind: reader, source: {{tfrecord: {{files: {folder}/x.tfrecord}}}}, on_error: {on_error}{order}}}
  prep: {{kind: preprocessor, workers: {workers}, on_error: {on_error}, ops: [{{parse_example: {{features: {{
    label: i64, box: {{dtype: f32, shape: [2], default: [0.5, -1]}},
    tokens: {{dtype: i64, ragged: true, max: 8}}, text: {{key: image/text, dtype: bytes, max: 16}}}}}}}}]}}
  batch: {{kind: batcher, size: 8}}
  feed: {{kind: feeder}}
links:
  - read -> prep -> batch -> feed
"""


def varint(number):
    made = b""
    while number > 127:
        made += bytes([number & 127 | 128])
        number >>= 7
    return made + bytes([number])


def field(number, data):
    return varint(number << 3 | 2) + varint(len(data)) + data


def ints(values):
    return field(3, field(1, b"".join(varint(value & 2**64 - 1) for value in values)))


def example(features):
    entries = (field(1, field(1, name.encode()) + field(2, value)) for name, value in features.items())
    return field(1, b"".join(entries))


def sample(number):
    """What a row has, and its record; every third has no box."""
    tokens = [-number, number << 40, 7][:number % 4]
    text = f"text {number}"
    features = {"label": ints([number]), "tokens": ints(tokens),
                "image/text": field(1, field(1, text.encode()))}
    box = [0.5, -1.0]
    if number % 3:
        box = [number / 4, number * 2.0]
        features["box"] = field(2, field(1, struct.pack("<2f", *box)))
    return (number, box, tokens, text), example(features)


def write(folder, records):
    with open(folder / "x.tfrecord", "wb") as out:
        for data in records:
            out.write(framed(data))


def graph(folder, workers=1, on_error="stop", order=""):
    path = folder / "graph.yaml"
    path.write_text(GRAPH.format(folder=folder, workers=workers, on_error=on_error, order=order))
    return path


def rows_of(column, count):
    width = len(column["data"]) // count
    splits = column.get("splits") or range(0, len(column["data"]) + 1, max(width, 1))
    return [column["data"][a:b] for a, b in zip(splits, splits[1:])]


def rows(path):
    code, out, err = run("head", path, "--json", "--steps", 100)
    same(code, 0, err)
    made = []
    for step in map(json.loads, out.splitlines()):
        made += zip(*(rows_of(step["columns"][name], step["rows"]) for name in ("label", "box", "tokens", "text")))
    return made


def test_features_become_columns(folder):
    wanted, records = zip(*(sample(number) for number in range(20)))
    write(folder, records)
    for workers in (1, 3):
        got = [(*label, box, tokens, bytes(text).decode())
               for label, box, tokens, text in rows(graph(folder, workers))]
        same(got, list(wanted), f"{workers} workers")


def test_a_record_that_is_no_example_is_a_bad_row_with_its_place(folder):
    records = [sample(number)[1] for number in range(20)]
    records[13] = b"no message"
    write(folder, records)
    code, _, err = run("run", graph(folder))
    same(code, 1)
    holds(err, "x.tfrecord", "record 13", "not a tf.Example")
    path = graph(folder, workers=2, on_error="skip", order=", shuffle: global")
    code, out, err = run("run", path, "--report", folder / "r.json")
    same(code, 0, err)
    told = json.loads((folder / "r.json").read_text())
    same((told["rows"]["read"], told["rows"]["fed"]), (20, 19))
    holds(out, "parse_example", "not a tf.Example")


VECTOR = """tundish: 1
actors:
  read: {{kind: reader, source: {{tfrecord: {{files: {folder}/{name}.tfrecord}}}}}}
  prep: {{kind: preprocessor, on_error: skip, ops: [{ops}]}}
  batch: {{kind: batcher, size: 4}}
  feed: {{kind: feeder}}
links: [read -> prep -> batch -> feed]
"""


def vectors():
    """Operations, records and rows in hex of TensorFlow's answers: of those with a default of bytes that may be
    longer than the longest record one by one, else all with the same operations together."""
    together = {}
    for line in (ROOT / "tests/oracle/parse_example.txt").read_text().splitlines():
        if line.startswith("#"):
            continue
        name, ops, records, answers = line.split(" | ")
        records = [bytes.fromhex(record.strip("-")) for record in records.split()]
        answers = answers.split(" ; ") if answers != "some" else ["any"] * len(records)
        default = re.search('bytes.*default: (.*)}}', ops)
        key = name if default and len(default[1]) > max(map(len, records)) else ops
        known = together.setdefault(key, (name, ops, [], []))
        known[2].extend(records)
        known[3].extend(answers)
    return list(together.values())


def packed(column, row):
    """The values of a row in hex, `-` for none, a `?` per digit of a NaN, whose bits are not printed."""
    kind, read = {"u8": ("<B", int), "i64": ("<q", int), "f32": ("<f", float)}[column["dtype"]]
    return "".join("?" * 8 if read(value) != read(value) else struct.pack(kind, read(value)).hex()
                   for value in row) or "-"


def fed(path):
    """The rows of a graph, in hex, one text each."""
    code, out, err = run("head", path, "--json", "--steps", 1000)
    same(code, 0, f"{path.read_text()}{err}")
    made = []
    for step in map(json.loads, out.splitlines()):
        columns = [[packed(column, row) for row in rows_of(column, step["rows"])]
                   for column in step["columns"].values()]
        made += [" ".join(row) for row in zip(*columns)]
    return made


def is_one_of(row, answers):
    """Whether a row is an answer; `?` in either matches any digit."""
    return any(answer == "any" or (len(row) == len(answer) and
                                   all(a == b or "?" in (a, b) for a, b in zip(answer, row)))
               for answer in answers)


def test_every_answer_of_tensorflow_passes_a_batcher(folder):
    for name, ops, records, answers in vectors():
        with open(folder / f"{name}.tfrecord", "wb") as out:
            out.write(b"".join(map(framed, records)))
        path = folder / f"{name}.yaml"
        path.write_text(VECTOR.format(folder=folder, name=name, ops=ops))
        rows = fed(path)
        sure = sum(answer not in ("any", "bad") for answer in answers)
        unsure = answers.count("any")
        assert sure <= len(rows) <= sure + unsure, f"{name}: {len(rows)} rows, wanted {sure} to {sure + unsure}"
        for row in rows:
            assert is_one_of(row, answers), f"{name}: {row} is none of {answers}"


main(globals())
