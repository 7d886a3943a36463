#!/usr/bin/env python3
"""The pipelines of tests/oracle/order.json through real graphs: elements as TensorFlow's, in its order.

Usage: orders.py NAME...; without a name it lists them.  A case is run here or listed, with the
reason, in tests/oracle/README.md.
"""
import concurrent.futures
import json
import pathlib
import re
import subprocess
import sys
import tempfile

from combine import numbers, source_of
from faults import write_npy
from named import run_named
from run import ROOT, TUNDISH

ORACLE = ROOT / "tests" / "oracle"
GRAPH = """tundish: 1
actors:
  read:  {{kind: reader, source: {source}, epochs: 1{order}}}
{prep}  batch: {{kind: batcher, {batch}}}
links:
  - read{link} -> batch
"""
MANY = 1000  # rows of a batch that holds all
COMBINES = ("zip", "concatenate", "choose", "sample")
OPERATIONS = ("map", "filter", "enumerate", "flat_map")
MAPS = ("take", "skip", "repeat", "shard", "interleave", "window")


def listed():
    """The cases of README.md's list and what each line says."""
    found = {}
    for line in (ORACLE / "README.md").read_text().splitlines():
        match = re.match(r"\* `order` (.+?): (.+)", line)
        if match:
            for name in match.group(1).split(", "):
                found[name.strip("`")] = match.group(2)
    return found


def inner(step, value):
    """The elements that a flat_map or interleave makes of one."""
    if step["inner"] == "count":
        return [1000 * value + k for k in range(value % step["mod"])]
    return [value] * (step["times"] if step["inner"] == "repeat" else value % step["mod"])


def csv(folder, name, rows):
    """A file of numbers; with only a header it has no rows, as no .npy file can."""
    path = folder / f"{name}.csv"
    path.write_text("number\n" + "".join(f"{row}\n" for row in rows))
    return str(path)


def values_of(case):
    source = case["args"]["source"]
    return list(range(source["n"])) if source["kind"] == "range" else source["values"]


def ragged(folder, lens):
    """A column of vectors: 100 * i + [0 .. lens[i])."""
    splits, values = [0], []
    for number, count in enumerate(lens):
        values += [100 * number + k for k in range(count)]
        splits.append(len(values))
    paths = numbers(folder, "values", values)[10:-2], numbers(folder, "splits", splits)[10:-2]
    return "{npy: {x: {values: %s, splits: %s}}}" % paths


def map_of(step):
    """A step as a map of `order:`."""
    kind, count = step["op"], step.get("count")
    if kind == "shard":
        return "{shard: {count: %d, index: %d}}" % (step["num_shards"], step["index"])
    if kind == "interleave":
        return "{interleave: {cycle: %d, block: %d}}" % (step["cycle"], step["block"])
    if kind == "window":
        return "{window: {size: %d, shift: %d, stride: %d, drop_remainder: %s}}" % (
            step["size"], step["shift"] or step["size"], step["stride"],
            str(step["drop_remainder"]).lower())
    if count == -1:
        return "{%s: %s}" % (kind, "forever" if kind == "repeat" else "all")
    return "{%s: %d}" % (kind, count)


def operations_of(steps):
    """The steps of a preprocessor, over numbers that a file has as text."""
    made = ["{to_number: {to: i64, into: x}}"]
    shown = ["x"]
    for step in steps:
        if step["op"] == "map":
            made.append("{compute: {x: x * %d + %d}}" % (step["mul"], step["add"]))
        elif step["op"] == "filter":
            made.append("{filter: {expr: x %% %d == %d}}" % (step["mod"], step["eq"]))
        elif step["op"] == "enumerate":
            made.append("{enumerate: {into: number, start: %d}}" % step["start"])
            shown = ["number", "x"]
        elif step["op"] == "flat_map" and step["inner"] == "repeat":
            made.append("{repeat_rows: {times: %d}}" % step["times"])
        elif step["op"] == "flat_map":
            made.append("{compute: {times: x %% %d}}" % step["mod"])
            made.append("{repeat_rows: {column: times, max: %d}}" % (step["mod"] - 1))
    return "  prep: {kind: preprocessor, ops: [%s, {select: {columns: [%s]}}]}\n" % (
        ", ".join(made), ", ".join(shown))


def batch_of(step, size):
    return "size: %d, remainder: %s" % (size, "drop" if step["drop_remainder"] else "keep")


def graph_of(folder, case):
    """The text of the graph of a case."""
    steps = case["args"]["steps"]
    kinds = [step["op"] for step in steps]
    parts = {"order": "", "prep": "", "batch": f"size: {MANY}", "link": ""}
    if kinds[0] in COMBINES:
        parts["source"] = source_of(folder, case)
    elif case["args"]["source"]["kind"] == "ranges":
        lens = case["args"]["source"]["lens"]
        parts["source"] = ragged(folder, lens)
        if kinds == ["batch"]:  # vectors of one shape, so a file of each
            files = []
            for number, count in enumerate(lens):
                files.append(folder / f"{number}.npy")
                write_npy(files[-1], "<i8", (1, count), bytes(8 * count))
            parts["source"] = "{npy: {x: %s}}" % json.dumps(list(map(str, files)))
    elif kinds == ["window"]:  # of numbers: windows of ragged rows would be ragged twice
        parts["source"] = numbers(folder, "numbers", values_of(case))
    else:
        values = values_of(case)
        lists = [inner(steps[0], value) for value in values] if kinds[0] == "interleave" else [values]
        files = [csv(folder, number, rows) for number, rows in enumerate(lists)]
        parts["source"] = "{csv: {header: true, files: %s}}" % json.dumps(files)
    maps = [map_of(step) for step in steps if step["op"] in MAPS]
    if kinds == ["batch", "batch"]:  # batches of batches are batches of so many rows
        whole = len(values) // steps[0]["size"] * steps[0]["size"]
        maps = ["{take: %d}" % whole]
        parts["batch"] = batch_of(steps[1], steps[0]["size"] * steps[1]["size"])
    elif kinds[-1] == "rebatch":
        parts["batch"] = batch_of(steps[-1], steps[-1]["sizes"])
    elif "batch" in kinds[-1] or kinds == ["batch", "unbatch"]:
        batch = next(step for step in steps if "batch" in step["op"])
        parts["batch"] = batch_of(batch, batch["size"])
    if kinds[0] in OPERATIONS:
        parts["prep"], parts["link"] = operations_of(steps), " -> prep"
    if kinds[-1] == "padded_batch":
        parts["batch"] += f", ragged: pad, pad_value: {steps[0]['value']}"
        if steps[0]["pad_to"] is not None:
            parts["prep"] = ("  pad: {kind: preprocessor, ops: [{pad_ragged: {column: x, to: %d, "
                             "value: %d}}]}\n" % (steps[0]["pad_to"], steps[0]["value"]))
            parts["link"] = " -> pad"
    if kinds[-1] == "bucket":
        parts["batch"] = ("bucket: {column: x, bounds: %s, sizes: %s, pad: %s, value: %d, "
                          "drop_remainder: %s}") % (
            steps[0]["boundaries"], steps[0]["batch_sizes"],
            "bound" if steps[0]["pad_to_boundary"] else "longest", steps[0]["value"],
            str(steps[0]["drop_remainder"]).lower())
    if kinds[-1] == "ragged_batch":
        parts["batch"] += ", ragged: pack"
    if maps:
        parts["order"] = ", order: [%s]" % ", ".join(maps)
    return GRAPH.format(**parts)


def rows_of(line):
    """The rows of a step, as lists of numbers; columns are joined."""
    columns = []
    for name, column in line["columns"].items():
        data, width = column["data"], len(column["data"]) // max(line["rows"], 1)
        splits = column.get("splits", range(0, len(data) + 1, max(width, 1)))
        rows = [data[a:b] for a, b in zip(splits, splits[1:])]
        columns.append([int(bytes(row)) for row in rows] if name == "record" else rows)
    return columns[0] if len(columns) == 1 else [sum(row, []) for row in zip(*columns)]


def elements_of(case, steps):
    """What the batches of a graph are as elements of TensorFlow's."""
    kinds = [step["op"] for step in case["args"]["steps"]]
    batches = []
    for line in steps:
        rows = rows_of(line)
        if kinds[-1] in ("padded_batch", "bucket"):
            (column,) = line["columns"].values()
            width = column.get("longest", column["shape"][0] if column["shape"] else None)
            fill = case["args"]["steps"][0]["value"]
            rows = [row + [fill] * (width - len(row)) for row in rows]
        if kinds[0] in OPERATIONS:
            rows = [row[0] if len(row) == 1 else row for row in rows]
        batches.append(rows)
    if kinds == ["batch", "batch"]:
        size = case["args"]["steps"][0]["size"]
        return [[rows[i:i + size] for i in range(0, len(rows), size)] for rows in batches]
    if kinds[-1] == "bucket" or ("batch" in kinds[-1] and kinds[-1] != "unbatch"):
        return batches
    rows = sum(batches, [])
    return [row[0] if isinstance(row, list) and len(row) == 1 and kinds[-1] != "window" and
            kinds[0] != "zip" else row for row in rows]


def head(folder, text):
    path = folder / "graph.yaml"
    path.write_text(text)
    line = [str(TUNDISH), "head", str(path), "--json", "--steps", "999"]
    return subprocess.run(line, capture_output=True, text=True, timeout=60, cwd=ROOT,
                          env={"XDG_CACHE_HOME": str(folder / "cache"), "PATH": "/usr/bin"})


def compare(case):
    expect = case["expect"]
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        done = head(folder, graph_of(folder, case))
    if "error" in expect:
        assert done.returncode in (1, 78) and "error" in done.stderr, (case["name"], done)
        return
    if expect["elements"] == [] and done.returncode != 0:
        # A run without rows is refused.
        assert done.returncode == 78 and re.search("has no records|no row|nothing|0 rows", done.stderr), (
            case["name"], done)
        return
    assert done.returncode == 0, (case["name"], done.stderr)
    got = elements_of(case, list(map(json.loads, done.stdout.splitlines())))
    assert got == expect["elements"], (case["name"], got, expect["elements"])


def test_pipelines_of_tensorflow():
    left, cases = listed(), json.loads((ORACLE / "order.json").read_text())
    names = [case["name"] for case in cases]
    assert len(names) == 165 and set(left) <= set(names), set(left) - set(names)
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        list(pool.map(compare, [case for case in cases if case["name"] not in left]))


if __name__ == "__main__":
    sys.exit(run_named(globals(), sys.argv[1:], lambda test: test()))
