#!/usr/bin/env python3
"""Files that a table names, with their classes: which file an entry means, and what does not fit.

Usage: folder_table.py NAME...; without a name it lists them.
"""
import csv
import json
import os
import subprocess
import sys

from named import in_folder, run_named
from run import ROOT, TUNDISH, tundish

GRAPH = """tundish: 1
seed: 7
actors:
  read:  {{kind: reader, {options}, source: {{folder: {{{source}}}}}}}
  batch: {{kind: batcher, size: 4}}
  feed:  {{kind: feeder}}
links:
  - read -> batch -> feed
"""
ROWS = [("b", "dog"), ("a", 'big, "old" cat'), ("d", "dog"), ("c", "ape")]


def write(folder, source, rows=ROWS, header=("id", "breed"), options="epochs: 1", text=None):
    """Files train/a.jpg ... train/e.jpg with their letters, and the table labels.csv."""
    (folder / "train").mkdir(exist_ok=True)
    for letter in "abcde":
        (folder / "train" / f"{letter}.jpg").write_text(2 * letter)
    with open(folder / "labels.csv", "w", newline="") as file:
        csv.writer(file).writerows([header, *rows])
    if text is not None:
        (folder / "labels.csv").write_bytes(text)
    graph = folder / "graph.yaml"
    graph.write_text(GRAPH.format(options=options, source=source.replace("%", str(folder))))
    return graph


BOTH = 'files: "%/train/*.jpg", table: "%/labels.csv", path: id, label: breed'


def head(graph, *more):
    """The rows as pairs of text and label, and what was said; or the exit code."""
    done = subprocess.run([str(TUNDISH), "head", str(graph), "--json", "--steps", "9", *more], capture_output=True,
                          text=True, timeout=60, cwd=ROOT)
    if done.returncode != 0:
        return done.returncode, done.stderr
    rows = []
    for step in map(json.loads, done.stdout.splitlines()):
        file, breed = step["columns"]["file"], step["columns"].get("breed")
        texts = [bytes(file["data"][a:b]).decode() for a, b in zip(file["splits"], file["splits"][1:])]
        rows += zip(texts, breed["data"] if breed is not None else [None] * len(texts))
    return rows, done.stderr


def test_labels_are_the_places_of_the_classes_sorted(folder):
    classes = sorted({breed for _, breed in ROWS})
    wanted = [(2 * name, classes.index(breed)) for name, breed in sorted(ROWS)]
    for ending in ("", ".jpg"):
        rows, text = head(write(folder, BOTH, [(name + ending, breed) for name, breed in ROWS]))
        assert rows == wanted, rows
        assert f"1 of 5 files is not in {folder}/labels.csv and left out, such as {folder}/train/e.jpg" in text, text
        assert 'labels: 0 ape, 1 big, "old" cat, 2 dog' in text, text
    assert head(write(folder, BOTH.replace(", label: breed", "")))[0] == [(text, None) for text, _ in wanted]


def test_classes_fix_the_numbers(folder):
    given = ["dog", "emu", 'big, "old" cat', "ape"]
    graph = write(folder, BOTH + f", classes: {json.dumps(given)}")
    rows, text = head(graph)
    assert rows == [(2 * name, given.index(breed)) for name, breed in sorted(ROWS)], rows
    assert "1 of 4 classes has no file: `emu`" in text, text
    assert tundish("run", graph).report["labels"] == {"read": given}
    code, text = head(write(folder, BOTH + ", classes: [dog, ape]"))
    assert code == 78 and "labels.csv:3: `big, \"old\" cat` is not one of the 2 `classes`" in text, text


def test_numbers_that_are_sorted_as_texts_are_named(folder):
    numbers = ["10", "2", "0", "1"]
    rows, text = head(write(folder, BOTH, [(name, breed) for name, breed in zip("abcd", numbers)]))
    assert rows == [(2 * name, sorted(numbers).index(breed)) for name, breed in zip("abcd", numbers)], rows
    assert "sorted as texts, so `10` is label 2" in text, text
    assert "sorted as texts" not in head(write(folder, BOTH, list(zip("abcd", "3201"))))[1]


def test_a_table_alone_names_files_of_its_folder(folder):
    alone = 'table: "%/labels.csv", path: id, label: breed'
    rows, text = head(write(folder, alone, [("train/c.jpg", "x"), ("./train/a.jpg", "y"), ("graph.yaml", "x")]))
    assert [row for row in rows if len(row[0]) == 2] == [("aa", 1), ("cc", 0)] and len(rows) == 3, rows
    assert "warning" not in text, text
    code, text = head(write(folder, alone, [("train", "x"), ("train/b.jpg", "y")]))
    assert code == 78 and f"{folder}/train: cannot be read: Is a directory" in text, text
    code, text = head(write(folder, alone, [("train/a", "x"), ("train/b.jpg", "y"), ("train/c", "y")]))
    assert code == 78 and f"{folder}/train/a: cannot be read: No such file" in text and "and so is 1 other" in text
    assert "names without endings need `files`" in text, text
    assert head(write(folder, alone, [("train/b.jpg", "y")], options="on_error: skip"))[0] == [("bb", 0)]


def test_names_in_several_folders_need_their_folder(folder):
    for place in ("one/x.jpg", "two/x.jpg", "two/y.png", "two/y.jpg", "three/sub/x.jpg"):
        (folder / place).parent.mkdir(parents=True, exist_ok=True)
        (folder / place).write_text(place[:2])
    source = BOTH.replace("train/*.jpg", "**/*.[jp][pn]g")
    rows, _ = head(write(folder, source, [("one/x", "a"), ("two/x.jpg", "b"), ("sub/x", "c"), ("y.png", "d"), ("wo/x", "e")],
                         options="on_error: skip"))
    assert rows == [("on", 0), ("th", 2), ("tw", 1), ("tw", 3)], rows
    for name, also in (("x", "x.jpg"), ("two/y", "y.png"), ("x.jpg", "x.jpg")):
        code, text = head(write(folder, source, [("a", "a"), (name, "b")]))
        assert code == 78 and f"labels.csv:3: `{name}` is the name of several files" in text and also in text, text


def test_names_without_a_file_are_an_error_or_counted(folder):
    rows = [("z", "dog"), *ROWS, ("y.jpg", "emu")]
    code, text = head(write(folder, BOTH, rows))
    assert code == 78 and f"2 of the 6 files that {folder}/labels.csv names are not in `files`" in text, text
    assert "the first is `z` of line 2; with `on_error: skip` they are left out" in text, text
    graph = write(folder, BOTH, rows, options="on_error: skip")
    fed, text = head(graph)
    assert [name for name, _ in fed] == ["aa", "bb", "cc", "dd"], fed
    assert "2 of the 6 files" in text and "and left out: the first is `z` of line 2" in text, text
    assert "`emu`" in text, text
    code, text = head(write(folder, BOTH, [("z", "dog")], options="on_error: skip"))
    assert code == 78 and "1 of the 1 files" in text, text


def test_what_is_wrong_with_a_table_is_named_with_its_line(folder):
    for text, wanted in ((b"id,breed\r\na,x\r\n\r\nb\r\n", "labels.csv:4: the record has 1 field, and `breed` is field 2"),
                         (b"id,note,breed\na,\"x\ny\",z\nb,,\n", "labels.csv:4: the field `breed` is empty"),
                         (b"id,breed\na,x\na.jpg,y\n", "train/a.jpg, as line 2 does"),
                         (b"id,breed\na,\"x", "labels.csv:2: the record ends inside of a field in quotes"),
                         (b"id,breed\n", "names no file: it has a header only"),
                         (b"", "is empty, and needs a header"),
                         (b"id,breed\na,x\0y\n", "labels.csv:2: the field `breed` has a control character, 0x00"),
                         (b"id,breed\na\x1b[2J,x\n", "labels.csv:2: the field `id` has a control character, 0x1b"),
                         (b"name,breed\na,x\n", "`path: id` is not a field of it; its fields are name, breed"),
                         (b"id,bred\na,x\n", "its fields are id, bred; did you mean `bred`?"),
                         (b"id;breed\na;x\n", "the header has one field, with `;` in it")):
        code, said = head(write(folder, BOTH, text=text))
        assert code == 78 and wanted in said, (text, said)
    for source, wanted in ((BOTH.replace(", path: id", ""), "say which field names the files, `path: FIELD`; its fields are id"),
                           ('files: "%/train/*.jpg", path: id', "`path` is a field of a table"),
                           (BOTH + ", delimiter: ab", "`delimiter` is one byte"), ("label: breed", "names no file")):
        code, said = head(write(folder, source))
        assert code == 78 and wanted in said, (source, said)


def test_a_mark_and_another_delimiter_are_read(folder):
    text = b"\xef\xbb\xbfid;breed\rb;\"x;y\"\ra;c,d"
    assert head(write(folder, BOTH + ', delimiter: ";"', text=text))[0] == [("aa", 0), ("bb", 1)]


def test_a_changed_table_is_other_data(folder):
    graph = write(folder, BOTH, options="epochs: 9")
    kept = ["--set", f"checkpoint.dir={folder / 'kept'}", "--set", "checkpoint.every=1 steps"]
    whole = tundish("run", graph).report["stream_digest"]
    tundish("run", graph, *kept, "--steps", 2)
    assert tundish("run", graph, *kept, "--resume", "--steps", 3).report["steps"] == 3
    table = folder / "labels.csv"
    before, text = table.stat(), table.read_bytes()
    table.write_bytes(text.replace(b"c,ape", b"c,dog"))
    os.utime(table, ns=(before.st_atime_ns, before.st_mtime_ns))
    done = tundish("run", graph, *kept, "--resume", report=False, expect=78)
    assert f"{folder}/labels.csv" in done.output, done.output
    assert tundish("run", graph).report["stream_digest"] != whole
    table.write_bytes(text)
    os.utime(table, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert tundish("run", graph, *kept, "--resume").report["stream_digest"] == whole


def test_lanes_by_file_have_their_labels(folder):
    graph = write(folder, BOTH + ", max: 9")
    whole = tundish("run", graph, "--set", "read.shard=file", "--set", "lanes=2", "--set", "batch.replicas=2")
    assert whole.report["rows"]["fed"] == 4, whole.report["rows"]
    rows, _ = head(graph, "--set", "read.shard=file", "--set", "lanes=2", "--set", "batch.replicas=2")
    classes = sorted({breed for _, breed in ROWS})
    assert sorted(rows) == [(2 * name, classes.index(breed)) for name, breed in sorted(ROWS)], rows


if __name__ == "__main__":
    sys.exit(run_named(globals(), sys.argv[1:], in_folder))
