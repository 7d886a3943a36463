#!/usr/bin/env python3
"""Files of records: what TensorFlow reads of the same files, and the indexes that are kept of them.

Usage: records.py [NAME...]; without a name it lists them.  Vectors: tests/oracle/{tfrecord,text}.
"""
import json
import pathlib
import resource
import shutil
import struct
import subprocess
import sys
import tempfile

from named import run_named
from run import ROOT, TUNDISH

ORACLE = ROOT / "tests" / "oracle"
COLUMNS = {"csv": "record", "tfrecord": "record", "text": "line", "raw": "x"}
# Where a record is damaged, TensorFlow gives up the rest of the file.  Here one record is bad; so many
# good ones follow it.
MORE = {"flip_length_byte": 1, "flip_length_crc": 1, "flip_data_byte": 1, "flip_data_crc": 1,
        "flip_first_record_data": 3, "flip_empty_record_crc": 2, "flip_data_byte_small_buffer": 1,
        "many_files_one_bad": 7}


def crc32c(data):
    crc = 0xffffffff
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82f63b78 if crc & 1 else 0)
    return crc ^ 0xffffffff


def cases(topic, *ops):
    found = [case for case in json.loads((ORACLE / topic / "cases.json").read_text())
             if case["op"] in ops and case["args"]["compression"] == ""]
    assert found
    return found


def copy(case, topic, folder):
    """The files of a case, under names of their own, since a list names no file twice."""
    paths = []
    for number, name in enumerate(case["inputs"]["files"]):
        paths.append(folder / f"{number}-{name}")
        if (ORACLE / topic / name).exists():
            shutil.copyfile(ORACLE / topic / name, paths[-1])
    return paths


def head(folder, source, files, on_error="stop", options="", expect=0, **more):
    """The rows that a graph of a reader and a batcher gives, as bytes, and what it says."""
    names = json.dumps([str(path) for path in files])
    (folder / "graph.yaml").write_text(f"""tundish: 1
actors:
  read: {{kind: reader, on_error: {on_error}, source: {{{source}: {{files: {names}{options}}}}}}}
  batch: {{kind: batcher, size: 3}}
links:
  - read -> batch
""")
    line = [str(TUNDISH), "head", "graph.yaml", "--json", "--steps", "1000"]
    done = subprocess.run(line, capture_output=True, text=True, cwd=folder, timeout=100,
                          env={"XDG_CACHE_HOME": str(folder / "cache"), "PATH": "/usr/bin"}, **more)
    assert done.returncode == expect, (source, files, done.returncode, done.stderr)
    rows = []
    for step in map(json.loads, done.stdout.splitlines()):
        column = step["columns"][COLUMNS[source]]
        splits = column.get("splits")
        if splits is None:
            width = len(column["data"]) // step["rows"]
            splits = range(0, len(column["data"]) + 1, width)
        rows += [bytes(column["data"][a:b]) for a, b in zip(splits, splits[1:])]
    return rows, done.stderr


def in_folder(test):
    with tempfile.TemporaryDirectory() as folder:
        test(pathlib.Path(folder))


def test_lines_as_tensorflow_reads_them(folder):
    for case in cases("text", "text_lines"):
        for options in ("", ", max: 100000, index: beside"):
            files = copy(case, "text", folder)
            empty = not case["expect"]["elements"]
            rows, _ = head(folder, "text", files, options=options, expect=78 if empty else 0)
            assert [row.hex() for row in rows] == case["expect"]["elements"], case["name"]


def test_records_of_fixed_length_as_tensorflow_reads_them(folder):
    for case in cases("text", "fixed_length"):
        args, want = case["args"], case["expect"]
        options = (f", columns: {{x: \"u8[{args['record_bytes']}]\"}}, header: {args['header_bytes']}B, "
                   f"footer: {args['footer_bytes']}B")
        none = "error" in want or not want["elements"]
        rows, text = head(folder, "raw", copy(case, "text", folder), options=options,
                          expect=78 if none else 0)
        assert [row.hex() for row in rows] == want["elements"], case["name"]
        assert not none or "error" in text


def test_records_of_tfrecord_as_tensorflow_reads_them(folder):
    good = {(0, "00000000")}
    for case in cases("tfrecord", "read", "read_ignore_errors"):
        want = [(record["length"], record["crc32c"]) for record in case["expect"]["records"]]
        if case["name"] == "undamaged":
            good |= set(want)
        if case["op"] == "read_ignore_errors":
            continue  # many_files_one_bad has the same files
        files = copy(case, "tfrecord", folder)
        unusable = case["name"] in ("empty_file", "one_byte_file", "missing_file")
        rows, _ = head(folder, "tfrecord", files, "skip", expect=78 if unusable else 0)
        found = [(len(row), f"{crc32c(row):08x}") for row in rows]
        assert found[:len(want)] == want, case["name"]
        assert len(found) - len(want) == MORE.get(case["name"], 0), case["name"]
        assert set(found[len(want):]) <= good, case["name"]


def test_records_of_csv(folder):
    for data, options, want in (
            (b"a,b\n\nc\n", "", [b"a,b", b"", b"c"]),
            (b"a\r\nb\rc\r\rd", "", [b"a", b"b", b"c", b"", b"d"]),
            (b'"x\n""y"",\r\n",1\nz"\n', "", [b'"x\n""y"",\r\n",1', b'z"']),
            (b'"a\nb"\n', ", quotes: false", [b'"a', b'b"']),
            (b'"h\n1",k\r\n2;"3\n4"\n5', ', header: true, delimiter: ";"', [b'2;"3\n4"', b"5"]),
            (b'"h\n1",k\n2;"3\n4"\n5', ", header: true", [b'2;"3', b'4"', b"5"])):
        path = folder / "table.csv"
        path.write_bytes(data)
        assert head(folder, "csv", [path], options=options)[0] == want, data
    _, text = head(folder, "csv", [path], options=', delimiter: "::"', expect=78)
    assert "`delimiter` is one byte" in text, text


def test_a_damaged_record_stops_a_run_with_its_place(folder):
    for name, record, byte, why in (
            ("flip_length_byte", 2, 35, "checksum of its length"),
            ("flip_data_byte", 2, 35, "checksum of its data"),
            ("trunc_body", 2, 35, "only 9 bytes"),
            ("trailing_zero_bytes", 4, 131, "checksum of its length")):
        path = folder / f"{name}.tfrecord"
        shutil.copyfile(ORACLE / "tfrecord" / path.name, path)
        _, text = head(folder, "tfrecord", [path], expect=1)
        assert f"record {record} of {path}, at byte {byte} is bad" in text and why in text, text


def lines(folder, name="lines.txt", count=2000):
    path = folder / name
    path.write_bytes(b"".join(b"%d\n" % (number * number) for number in range(count)))
    return path, [b"%d" % (number * number) for number in range(count)]


def only_index(folder):
    found = list((folder / "cache" / "tundish").iterdir())
    assert len(found) == 1, found
    return found[0]


def test_an_index_is_what_numpy_would_write(folder):
    path, rows = lines(folder)
    assert head(folder, "text", [path])[0] == rows
    data = only_index(folder).read_bytes()
    assert data[:8] == b"\x93NUMPY\x01\x00" and b"'descr': '<u8'" in data[:128]
    offsets = [0]
    for row in rows:
        offsets.append(offsets[-1] + len(row) + 1)
    assert data[128:] == struct.pack(f"<{len(offsets)}Q", *offsets)


def test_an_index_is_used_again_and_a_wrong_one_is_not(folder):
    path, rows = lines(folder)
    head(folder, "text", [path])
    index = only_index(folder)
    first = index.stat()
    assert head(folder, "text", [path])[0] == rows
    assert index.stat() == first or index.stat().st_mtime_ns == first.st_mtime_ns
    whole = index.read_bytes()
    descending = whole[:200] + whole[208:216] + whole[200:208] + whole[216:]
    for wrong in (b"", whole[:100], whole[:-8], descending, whole[:-8] + struct.pack("<Q", 1 << 40)):
        index.write_bytes(wrong)
        assert head(folder, "text", [path])[0] == rows, wrong[:300]
        assert index.read_bytes() == whole


def test_a_changed_file_has_another_index(folder):
    path, _ = lines(folder)
    head(folder, "text", [path])
    path.write_bytes(b"other\n" * 9)
    assert head(folder, "text", [path])[0] == [b"other"] * 9
    assert len(list((folder / "cache" / "tundish").iterdir())) == 2


def test_an_index_beside_the_file_is_found_without_being_asked_for(folder):
    path, rows = lines(folder)
    assert head(folder, "text", [path], options=", index: beside")[0] == rows
    assert head(folder, "text", [path])[0] == rows
    assert not (folder / "cache").exists() and len(list(folder.glob("lines.txt.*.lines.npy"))) == 1


def test_a_process_killed_while_it_indexes_leaves_nothing(folder):
    path, rows = lines(folder, count=40000)  # an index of 320 KB

    def limit():
        resource.setrlimit(resource.RLIMIT_FSIZE, (100000, 100000))  # then SIGXFSZ

    head(folder, "text", [path], expect=-25, preexec_fn=limit)
    assert list((folder / "cache" / "tundish").iterdir()) == []
    assert head(folder, "text", [path])[0] == rows[:3000]


def test_processes_that_index_at_the_same_time_end_with_one(folder):
    path, _ = lines(folder, count=300000)
    head(folder, "text", [path])  # the graph file
    shutil.rmtree(folder / "cache")
    line = [str(TUNDISH), "head", "graph.yaml", "--json"]
    some = [subprocess.Popen(line, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                             env={"XDG_CACHE_HOME": str(folder / "cache")}) for _ in range(5)]
    outputs = {process.communicate(timeout=100)[0] for process in some}
    assert [process.returncode for process in some] == [0] * 5 and len(outputs) == 1, outputs
    only_index(folder)


def test_an_index_that_cannot_be_written_is_an_error(folder):
    path, _ = lines(folder)
    (folder / "cache").write_text("a file where the folder should be")
    _, text = head(folder, "text", [path], expect=78)
    assert "index of the data file cannot be written" in text and "XDG_CACHE_HOME" in text, text


def test_records_are_shuffled_and_read_as_lines_are(folder):
    paths = [lines(folder, f"{number}.txt", 500 + number)[0] for number in range(3)]
    graph = """tundish: 1
seed: 3
actors:
  read: {kind: reader, %s, shuffle: global, epochs: 2, source: {text: {files: ["?.txt"]}}}
  batch: {kind: batcher, size: 64}
  feed: {kind: feeder}
links:
  - read -> batch -> feed
"""
    digests = set()
    for access in ("access: map", "access: read"):
        (folder / "run.yaml").write_text(graph % access)
        report = folder / "report.json"
        done = subprocess.run([str(TUNDISH), "run", "run.yaml", "--quiet", "--report", str(report)],
                              cwd=folder, capture_output=True, text=True, timeout=100,
                              env={"XDG_CACHE_HOME": str(folder / "cache"), "PATH": "/usr/bin"})
        assert done.returncode == 0, done.stderr
        digests.add(json.loads(report.read_text())["stream_digest"])
    assert paths and len(digests) == 1, digests


if __name__ == "__main__":
    sys.exit(run_named(globals(), sys.argv[1:], in_folder))
