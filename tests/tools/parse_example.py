#!/usr/bin/env python3
"""TFRecord files of tf.Example: from the bytes of a file to columns of batches."""
import json
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


main(globals())
