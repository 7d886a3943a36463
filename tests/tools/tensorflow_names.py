#!/usr/bin/env python3
"""tools/reference/tensorflow.txt: every public name of tf.data and tf.distribute is described, and what is written works."""
import json
import re
import struct
import sys
import zlib

import numpy

from command import ROOT, holds, main, run, same

sys.path.insert(0, str(ROOT / "examples/seeds"))
from data import write_records  # noqa: E402

NAMES = (ROOT / "tests/oracle/tensorflow_names.txt").read_text().split()
ROWS = (ROOT / "tools/reference/tensorflow.txt").read_text().split("\n\n")[1:]
KEYS = "Here", "Not offered", "Equal", "Differs", "Tests"


def rows():
    """Names and lines of each row."""
    for row in ROWS:
        names, *lines = row.rstrip("\n").split("\n")
        yield names.split(" "), lines


def keys(lines):
    return [line.split(":")[0].strip() for line in lines if re.match(r"  (%s): " % "|".join(KEYS), line)]


def test_every_public_name_has_one_row(_):
    described = [name for names, _ in rows() for name in names]
    same(sorted(described), sorted(set(described)))
    below = [name for name in described if name.startswith(("tf.data.", "tf.distribute."))]
    same((len(NAMES), sorted(below)), (272, sorted(NAMES)))


def test_the_names_are_those_of_tensorflow(_):
    try:
        import tensorflow
    except ImportError:
        return
    for name in NAMES:
        part = tensorflow
        for word in name.split(".")[1:]:
            part = getattr(part, word)


def test_a_row_says_what_is_equal_or_what_to_do_instead(_):
    for names, lines in rows():
        found = keys(lines)
        same(found, [key for key in KEYS if key in found], names[0])
        if "Not offered" in found:
            same(found, ["Not offered"], names[0])
        else:
            assert found[0] == "Here" and found[-1] == "Tests", names[0]
            for path in lines[-1].split()[1:]:
                assert (ROOT / path).is_file(), (names[0], path)
        for line in lines:
            assert len(line) <= 104 or line.startswith("    "), line
            assert not line.startswith("   ") or line.startswith("    "), line


def picture(path):
    def part(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
    path.parent.mkdir()
    path.write_bytes(b"\x89PNG\r\n\x1a\n" + part(b"IHDR", struct.pack(">IIBBBBB", 8, 8, 8, 2, 0, 0, 0)) +
                     part(b"IDAT", zlib.compress(8 * (b"\0" + bytes(24)))) + part(b"IEND", b""))


def data(folder):
    """What the lines of the rows read."""
    numpy.save(folder / "x.npy", numpy.arange(400, dtype="f4").reshape(100, 4))
    numpy.save(folder / "x1.npy", numpy.zeros((100, 4), "f4"))
    numpy.save(folder / "y.npy", numpy.arange(100))
    numpy.save(folder / "which.npy", numpy.arange(100) % 2)
    numpy.save(folder / "image.npy", numpy.zeros((100, 8, 8, 3), "u1"))
    numpy.save(folder / "ids.npy", numpy.arange(300))
    numpy.save(folder / "splits.npy", numpy.arange(0, 303, 3))
    (folder / "records.bin").write_bytes(bytes(50))
    (folder / "lines.txt").write_text("1\n2\n")
    (folder / "table.csv").write_text("a,b\n1,2\n3,4\n")
    (folder / "examples_of.py").write_text("def rows():\n    yield {'x': [1.0] * 4, 'y': 1}\n")
    write_records(folder / "part-0.tfrecord", range(4))
    picture(folder / "pictures/0.png")


READ = "  read: {kind: reader, source: {npy: {x: x.npy, y: y.npy, ids: {values: ids.npy, splits: splits.npy}}}}"


def graph_of(lines):
    """A topology with the lines of a row: those of actors in place of its own."""
    actors = {"read": READ, "batch": "  batch: {kind: batcher, size: 8}", "feed": "  feed: {kind: feeder}"}
    top = []
    for line in lines:
        name = re.match(r"(\w+):\s+\{kind:", line)
        if name:
            actors[name[1]] = "  " + line
        else:
            top.append(line)
    order = [name for name in ("read", "prep", "keep", "batch", "feed") if name in actors]
    link = " -> ".join(order) + (" <-> mean" if "mean" in actors else "") + (" -> params" if "params" in actors else "")
    return "\n".join(["tundish: 1", *top, "actors:", *actors.values(), f"links: [{link}]", ""])


def test_the_lines_of_every_row_are_part_of_a_valid_topology(folder):
    data(folder)
    count = 0
    for names, lines in rows():
        written = [line[4:] for line in lines if line.startswith("    ")]
        if not written:
            continue
        (folder / "graph.yaml").write_text(graph_of(written))
        code, out, err = run("validate", "graph.yaml", cwd=folder, env={"TUNDISH_PYTHON": sys.executable})
        same(code, 0, f"{names[0]}:\n{graph_of(written)}{out}{err}")
        count += 1
    assert count > 60, count


def test_help_finds_names_as_a_whole_and_by_their_ends(_):
    for word, name in (("tf.data.Dataset.shuffle", "tf.data.Dataset.shuffle"), ("Dataset.shuffle", "tf.data.Dataset.shuffle"),
                       ("dataset.map", "tf.data.Dataset.map"), ("strategy.run", "tf.distribute.Strategy.run"),
                       ("MirroredStrategy", "tf.distribute.MirroredStrategy"), ("from_generator", "tf.data.Dataset.from_generator"),
                       ("Options.deterministic", "tf.data.Options.deterministic"), ("tf.one_hot", "tf.one_hot")):
        code, out, err = run("help", word)
        same((code, err, out.split("\n")[0]), (0, "", name), word)
    told = json.loads(run("help", "Dataset.take", "--json")[1])
    same((told["name"], told["is"]), ("tf.data.Dataset.take", "tensorflow"))
    holds(told["help"], "Here: `take` of an order", "Tests: tests/e2e/orders.py")
    holds(run("help", "shuffle")[1], "shuffle (map of an order)", "tundish help tf.data.Dataset.shuffle")


def test_help_lists_the_names_below_another(_):
    for word in ("tf", "tf.data", "tf.distribute.coordinator"):
        listed = json.loads(run("help", word, "--json")[1])["names"]
        wanted = [name for names, _ in rows() for name in names if name.startswith(word + ".")]
        same([one["name"] for one in listed], wanted)
    holds(run("help", "tf.data")[1], "  tf.data.Dataset.scan\n      Not offered: it keeps a state along the stream, so that no")


def test_help_suggests_names_that_are_misspelt(_):
    for word, name in (("tf.data.Dataset.shufle", "tf.data.Dataset.shuffle"), ("Dataset.interleav", "Dataset.interleave"),
                       ("TFRecordDatset", "TFRecordDataset"), ("batcher.sise", "size")):
        code, out, err = run("help", word)
        same((code, out), (2, ""), word)
        holds(err, f"did you mean '{name}'?")
    holds(run("help", "tf.math.add")[2], "'tf.math.add' is not described; `tundish help tf` lists")


main(globals())
