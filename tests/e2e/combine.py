#!/usr/bin/env python3
"""Sources of sources: errors that name the part, any hosts and readers.

Usage: combine.py NAME...; without a name it lists them.  orders.py compares them with TensorFlow.
"""
import gzip
import io
import json
import shutil
import struct
import subprocess
import sys
import tarfile

from faults import write_npy
from named import in_folder, run_named
from run import ROOT, TUNDISH, tundish

ORACLE = ROOT / "tests" / "oracle"
GRAPH = """tundish: 1
seed: 7
actors:
  read:  {{kind: reader, source: {source}, {options}}}
  batch: {{kind: batcher, size: {size}}}
{feed}links:
  - read -> batch{link}
"""


def graph(folder, source, options="epochs: 1", size=1000, feed=False):
    path = folder / "graph.yaml"
    path.write_text(GRAPH.format(source=source, options=options, size=size,
                                 feed="  feed:  {kind: feeder}\n" if feed else "",
                                 link=" -> feed" if feed else ""))
    return path


def numbers(folder, name, values, column="x"):
    path = folder / f"{name}.npy"
    write_npy(path, "<i8", (len(values),), struct.pack(f"<{len(values)}q", *values))
    return "{npy: {%s: %s}}" % (column, path)


def head(folder, source, options="epochs: 1", expect=0):
    """The columns of each epoch, or what the command says."""
    done = subprocess.run([str(TUNDISH), "head", str(graph(folder, source, options)), "--json",
                           "--steps", "99"], capture_output=True, text=True, timeout=60, cwd=ROOT)
    assert done.returncode == expect, (source, done.stderr)
    if expect != 0:
        return done.stderr
    epochs = [{}]
    for line in map(json.loads, done.stdout.splitlines()):
        for name, column in line["columns"].items():
            epochs[-1].setdefault(name, []).extend(map(int, column["data"]))
        if line["last"]:
            epochs.append({})
    return epochs[:-1]


def rows_of(part):
    first, *maps = [part["source"]["n"]] + part["steps"]
    rows = list(range(first))
    for step in maps:
        assert step["op"] == "map", step
        rows = [row * step["mul"] + step["add"] for row in rows]
    return rows


def source_of(folder, case):
    """The graph's source of a case of tests/oracle/order.json."""
    step = case["args"]["steps"][-1]
    parts = [rows_of({"source": case["args"]["source"], "steps": []})]
    parts += [rows_of(other) for other in step["others"]]
    kind = step["op"]
    columns = [f"c{i}" if kind == "zip" else "x" for i in range(len(parts))]
    sources = "[%s]" % ", ".join(numbers(folder, f"part{i}", rows, columns[i])
                                 for i, rows in enumerate(parts))
    if kind in ("zip", "concatenate"):
        return "{%s: %s}" % (kind, sources)
    stop = "stop_on_empty: " + ("true" if step["stop_on_empty"] else "false")
    if kind == "choose":
        by = numbers(folder, "by", step["choices"], "i")
        return "{choose: {sources: %s, by: %s, %s}}" % (sources, by, stop)
    weights = f", weights: {step['weights']}" if step["weights"] is not None else ""
    return "{mix: {sources: %s, seed: %d, %s%s}}" % (sources, step["seed"], stop, weights)


def test_places_go_through_combinations(folder):
    one, two = (numbers(folder, str(i), range(first, first + 500)) for i, first in enumerate((0, 500)))
    whole = numbers(folder, "whole", range(1000))
    shuffles = "order: [{interleave: {cycle: 2, block: 3}}, {shuffle: {buffer: 100, seed: 3}}]"
    path = "[%s, %s]" % tuple(source[10:-2] for source in (one, two))
    assert (head(folder, "{concatenate: [%s, %s]}" % (one, two), shuffles)
            == head(folder, "{npy: {x: %s}}" % path, shuffles))
    digests = set()
    for source in (whole, "{concatenate: [%s, %s]}" % (one, two),
                   "{concatenate: [{concatenate: [%s]}, %s]}" % (one, two)):
        for more in ([], ["--set", "read.workers=3"], ["--set", "lanes=1", "--set", "read.access=read"]):
            path = graph(folder, source, "shuffle: global, epochs: 2", 64, True)
            digests.add(tundish("run", path, *more).report["stream_digest"])
    assert len(digests) == 1, digests


def test_rows_far_from_the_start_are_those_that_were_chosen(folder):
    parts = [range(0, 5000), range(10000, 15000), range(20000, 25000)]
    by = [(row * row // 7 + row // 3) % 3 for row in range(4000)]
    left = [iter(part) for part in parts]
    wanted = [next(left[choice]) for choice in by]
    source = "{choose: {sources: [%s], by: %s}}" % (
        ", ".join(numbers(folder, str(i), part) for i, part in enumerate(parts)), numbers(folder, "by", by, "i"))
    assert head(folder, source)[0]["x"] == wanted
    mixed, = head(folder, source, "shuffle: global, epochs: 1")
    assert mixed["x"] != wanted and sorted(mixed["x"]) == sorted(wanted)


def test_zipped_rows_of_compressed_files_begin_again_together(folder):
    for name in "ab":
        (folder / f"{name}.txt.gz").write_bytes(gzip.compress(b"".join(b"%d\n" % row for row in range(7))))
    source = "{zip: [%s]}" % ", ".join("{text: {files: %s, column: %s}}" % (folder / f"{name}.txt.gz", name)
                                       for name in "ab")
    epochs = head(folder, source, "epochs: 3")
    assert len(epochs) == 3 and all(epoch == {"a": list(b"0123456"), "b": list(b"0123456")} for epoch in epochs)


def test_sources_of_unknown_length_are_compared_at_their_end(folder):
    with tarfile.open(folder / "x.tar.gz", "w:gz") as archive:
        for sample in range(3):
            member = tarfile.TarInfo(f"{sample}.x")
            member.size = 1
            archive.addfile(member, io.BytesIO(b"x"))
    archive = "{tar: {files: %s, max: 9}}" % (folder / "x.tar.gz")
    for rows in (2, 3, 4):
        lines = numbers(folder, "lines", range(rows), "y")
        for parts in ([archive, lines], [lines, archive]):
            path = graph(folder, "{zip: {sources: [%s], length: equal}}" % ", ".join(parts), feed=True)
            done = tundish("run", path, report=rows == 3, expect=0 if rows == 3 else 1)
            assert rows == 3 or f"has only {min(rows, 3)} rows, fewer than another" in done.output, done.output


def test_a_bad_record_is_named_by_its_part(folder):
    for name in ("undamaged", "flip_data_byte"):
        shutil.copyfile(ORACLE / "tfrecord" / f"{name}.tfrecord", folder / f"{name}.tfrecord")
    whole, bad = ("{tfrecord: {files: %s}}" % (folder / f"{name}.tfrecord")
                  for name in ("undamaged", "flip_data_byte"))
    where = f"record 2 of {folder}/flip_data_byte.tfrecord, at byte 35"
    labels = numbers(folder, "labels", range(9), "y")
    for source in ("{concatenate: [%s, %s]}" % (whole, bad), "{zip: [%s, %s]}" % (labels, bad),
                   "{mix: {sources: [%s, %s]}}" % (whole, bad)):
        done = tundish("run", graph(folder, source, feed=True), report=False, expect=1)
        assert where in done.output and "checksum of its data" in done.output, done.output
        done = tundish("run", graph(folder, source, "on_error: skip", feed=True))
        assert done.report["bad_records"] == 1 if "bad_records" in done.report else True
    quarantine = folder / "aside"
    tundish("run", graph(folder, "{concatenate: [%s, %s]}" % (whole, bad),
                         f"on_error: quarantine, quarantine: {quarantine}", feed=True))
    kept = json.loads((quarantine / "index.0.jsonl").read_text().splitlines()[0])
    assert kept["file"].endswith("flip_data_byte.tfrecord") and kept["record"] == 2, kept


def test_a_run_resumes_and_knows_the_data_of_all_parts(folder):
    one, two = (numbers(folder, str(i), range(first, first + 500)) for i, first in enumerate((0, 500)))
    source = "{mix: {sources: [%s, %s], weights: [1, 3]}}" % (one, two)
    path = graph(folder, source, "shuffle: global, epochs: 2", 64, True)
    kept = ["--set", f"checkpoint.dir={folder / 'kept'}", "--set", "checkpoint.every=5 steps"]
    whole = tundish("run", path).report["stream_digest"]
    tundish("run", path, *kept, "--steps", 17)
    assert tundish("run", path, *kept, "--resume").report["stream_digest"] == whole
    shutil.rmtree(folder / "kept")
    tundish("run", path, *kept, "--steps", 17)
    numbers(folder, "1", range(7, 507))
    done = tundish("run", path, *kept, "--resume", report=False, expect=78)
    assert "1.npy" in done.output, done.output


def test_what_does_not_fit_is_refused_at_its_place(folder):
    ints = numbers(folder, "ints", range(5))
    other = numbers(folder, "other", range(4), "y")
    (folder / "lines.txt").write_text("a\nbb\n")
    lines = "{text: {files: %s}}" % (folder / "lines.txt")
    for source, words in (
            ("{concatenate: [%s, %s]}" % (ints, other), ("source 2", "y i64", "x i64", "^")),
            ("{concatenate: [%s, %s]}" % (ints, lines), ("source 2", "line u8[<=", "^")),
            ("{zip: [%s, %s]}" % (ints, ints), ("source 2", "`x`", "different names")),
            ("{zip: {sources: [%s, %s], length: equal}}" % (ints, other), ("source 2", "only 4 rows")),
            ("{mix: {sources: [%s], weights: [1, 2]}}" % ints, ("2 numbers for 1 sources",)),
            ("{mix: {sources: [%s], weights: [0]}}" % ints, ("above 0",)),
            ("{choose: {sources: [%s], by: %s}}" % (ints, lines), ("one column of integers", "^")),
            ("{concatenate: []}", ("the list is empty", "name the sources")),
            ("{mix: {sources: []}}", ("the list is empty", "name the sources")),
            ("{concatenate: [{npx: {x: a.npy}}]}", ("there is no `npx`", "did you mean `npy`?"))):
        text = head(folder, source, expect=78)
        assert all(word in text for word in words), (source, text)


if __name__ == "__main__":
    sys.exit(run_named(globals(), sys.argv[1:], in_folder))
