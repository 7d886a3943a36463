#!/usr/bin/env python3
"""Files of records: what TensorFlow reads of the same files, and the indexes that are kept of them.

Usage: records.py [NAME...]; without a name it lists them.  Vectors: tests/oracle/{tfrecord,text}.
"""
import ast
import gzip
import json
import os
import random
import re
import resource
import shutil
import struct
import subprocess
import sys
import zlib

from named import in_folder, run_named
from run import ROOT, TUNDISH, tundish

sys.path.insert(0, str(ROOT / "tests" / "support"))
from tfrecord import crc32c, framed  # noqa: E402

ORACLE = ROOT / "tests" / "oracle"
COLUMNS = {"csv": "record", "tfrecord": "record", "text": "line", "raw": "x"}
# Where a record is damaged, TensorFlow gives up the rest of the file.  Here one record is bad; so many
# good ones follow it.
# Before a bad checksum at the end of a stream, TensorFlow gives up all of it.
MORE = {"gzip_bad_crc_trailer": 4, "gzip_inner_flip": 1, "flip_length_byte": 1, "flip_length_crc": 1, "flip_data_byte": 1, "flip_data_crc": 1,
        "flip_first_record_data": 3, "flip_empty_record_crc": 2, "flip_data_byte_small_buffer": 1,
        "many_files_one_bad": 7, "many_files_one_bad_ignore_errors": 1}


def cases(topic, *ops):
    found = [case for case in json.loads((ORACLE / topic / "cases.json").read_text())
             if case["op"] in ops]
    assert found
    return found


def compression(case):
    return ", compression: " + (case["args"]["compression"].lower() or "none")


def copy(case, topic, folder):
    """The files of a case, under names of their own, since a list names no file twice."""
    paths = []
    for number, name in enumerate(case["inputs"]["files"]):
        paths.append(folder / f"{number}-{name}")
        if (ORACLE / topic / name).exists():
            shutil.copyfile(ORACLE / topic / name, paths[-1])
    return paths


def kills(folder, place, at=1):
    """What kills a process when it has written a file of folder `place`, before it names it."""
    return {"DISK_ROOT": str(folder / place), "DISK_LOG": str(folder / "log"), "DISK_KILLS": "sync", "DISK_KILLS_AT": str(at),
            "LD_PRELOAD": str(TUNDISH.parent / "tests" / "disk.so")}


def head(folder, source, files, on_error="stop", options="", expect=0, env=(), **more):
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
                          env={"XDG_CACHE_HOME": str(folder / "cache"), "PATH": "/usr/bin", **dict(env)}, **more)
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


def test_lines_as_tensorflow_reads_them(folder):
    for case in cases("text", "text_lines"):
        for options in (compression(case), compression(case) + ", max: 100000, index: beside", ""):
            files = copy(case, "text", folder)
            rows, _ = head(folder, "text", files, "skip", options)
            assert [row.hex() for row in rows] == case["expect"]["elements"], case["name"]


def test_carriage_returns_anywhere_in_a_line_are_left_out(folder):
    path = folder / "x.txt"
    for line in (b"\rabcdef", b"abc\rdef", b"abcde\rf", b"a\r\rbcde\r\rf\r"):
        path.write_bytes(line + b"\n")
        assert head(folder, "text", [path])[0] == [b"abcdef"], line


def test_a_pattern_for_data_does_not_match_their_indexes(folder):
    (folder / "x.txt").write_bytes(b"one\ntwo\n")
    for _ in range(2):
        assert head(folder, "text", [folder / "x*"], options=", index: beside")[0] == [b"one", b"two"]
    assert len(list(folder.glob("x*"))) == 2


def test_records_of_fixed_length_as_tensorflow_reads_them(folder):
    for case in cases("text", "fixed_length"):
        args, want = case["args"], case["expect"]
        options = (f", columns: {{x: \"u8[{args['record_bytes']}]\"}}, header: {args['header_bytes']}B, "
                   f"footer: {args['footer_bytes']}B")
        none = "error" in want
        rows, text = head(folder, "raw", copy(case, "text", folder), options=options + compression(case),
                          expect=78 if none else 0)
        # Of a compressed file, too, a wrong size is an error before the first record.
        assert [row.hex() for row in rows] == ([] if none else want["elements"]), case["name"]
        assert not none or "error" in text


def test_records_of_tfrecord_as_tensorflow_reads_them(folder):
    good = {(0, "00000000")}
    for case in cases("tfrecord", "read", "read_ignore_errors"):
        want = [(record["length"], record["crc32c"]) for record in case["expect"]["records"]]
        if case["name"] == "undamaged":
            good |= set(want)
        files = copy(case, "tfrecord", folder)
        rows, _ = head(folder, "tfrecord", files, "skip", compression(case), 78 if case["name"] == "missing_file" else 0)
        found = [(len(row), f"{crc32c(row):08x}") for row in rows]
        if case["op"] == "read_ignore_errors":
            left = iter(found)
            assert all(record in left for record in want), case["name"]
            assert len(found) - len(want) == MORE[case["name"]] and set(found) <= good, case["name"]
            continue
        assert found[:len(want)] == want, case["name"]
        assert len(found) - len(want) == MORE.get(case["name"], 0), case["name"]
        assert set(found[len(want):]) <= good, case["name"]


def test_frames_are_those_of_tensorflows_writer(folder):
    for case in cases("tfrecord", "frame"):
        records = case["expect"]["records"]
        path = folder / "framed.tfrecord"
        path.write_bytes(b"".join(bytes.fromhex(record["framed"]) for record in records))
        rows, _ = head(folder, "tfrecord", [path])
        assert [row.hex() for row in rows] == [record["data"] for record in records], case["name"]


def test_records_of_csv(folder):
    for data, options, want in (
            (b"a,b\n\nc\n", "", [b"a,b", b"", b"c"]),
            (b"a\r\nb\rc\r\rd", "", [b"a", b"b", b"c", b"", b"d"]),
            (b'"x\n""y"",\r\n",1\nz"\n', "", [b'"x\n""y"",\r\n",1', b'z"']),
            (b'"a\nb"\n', ", quotes: false", [b'"a', b'b"']),
            (b'"h\n1";k\r\n2;"3\n4"\n5', ', header: true, delimiter: ";"', [b'2;"3\n4"', b"5"]),
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


def test_a_damaged_record_stops_a_run_wherever_its_batch_goes(folder):
    """Feeders check the records that they copy, and readers those that no feeder may see."""
    paths, parts = [folder / "one.tfrecord", folder / "two.tfrecord"], [framed(b"?" * 2000) for _ in range(40)]
    paths[0].write_bytes(b"".join(parts[:5]))
    parts[37] = parts[37][:-5] + b"\0" + parts[37][-4:]
    paths[1].write_bytes(b"".join(parts))
    place = f"record 37 of {paths[1]}, at byte {37 * len(parts[0])} is bad: the checksum of its data"
    for reader, batcher in (("on_error: stop", ""), ("shuffle: global", ""), ("on_error: stop", ", ragged: pack"),
                            ("on_error: stop", ", size: 40, remainder: drop"), ("on_error: stop", ", skip: 6")):
        graph_of(folder, "tfrecord", list(map(str, paths)), reader, batcher=batcher)
        _, text = run(folder, expect=1)
        assert place in text and "set `on_error: skip`" in text, (reader, batcher, text)
    graph_of(folder, "tfrecord", list(map(str, paths)), "on_error: skip")
    assert run(folder)[0]["rows"]["fed"] == 44


def test_head_warns_of_the_bad_records_of_what_it_shows(folder):
    parts = [framed(b"row %d" % row) for row in range(60)]
    parts[3] = parts[3][:-1] + bytes([parts[3][-1] ^ 1])
    path = folder / "x.tfrecord"
    path.write_bytes(b"".join(parts))
    graph_of(folder, "tfrecord", [str(path)], "on_error: skip", size=4)
    done = subprocess.run([str(TUNDISH), "head", "run.yaml"], cwd=folder, capture_output=True,
                          text=True, timeout=100, check=True,
                          env={"XDG_CACHE_HOME": str(folder / "cache"), "PATH": "/usr/bin"})
    assert f"record 3 of {path}, at byte 63 is bad" in done.stderr, done.stderr


def test_a_damaged_length_costs_one_record(folder):
    rows = [bytes([65 + size]) * size for size in range(1, 9)]
    for lost in range(len(rows) - 1):
        path = folder / f"{lost}.tfrecord"
        parts = [framed(row) for row in rows]
        parts[lost] = bytes([parts[lost][0] ^ 1]) + parts[lost][1:]
        path.write_bytes(b"".join(parts))
        assert head(folder, "tfrecord", [path], "skip")[0] == rows[:lost] + rows[lost + 1:]
        # A record after it whose data are damaged is part of what is lost.
        parts[lost + 1] = parts[lost + 1][:12] + b"?" + parts[lost + 1][13:]
        path.write_bytes(b"".join(parts))
        assert head(folder, "tfrecord", [path], "skip")[0] == rows[:lost] + rows[lost + 2:]
        graph_of(folder, "tfrecord", [str(path)], "on_error: skip")
        counts = run(folder)[0]["rows"]
        assert (counts["fed"], counts["bad"]) == (len(rows) - 2, 1), counts


def test_the_length_of_a_row_is_that_of_its_content(folder):
    for data, rows in ((b"hello\nabc\r\nhell\r\n", [b"hello", b"abc", b"hell"]),
                       (b"abc\nhello", [b"abc", b"hello"]), (b"hello\r\nabc", [b"hello", b"abc"])):
        for source in ("text", "csv"):
            for pack, name in ((bytes, "x.txt"), (gzip.compress, "x.txt.gz")):
                path = folder / name
                path.write_bytes(pack(data))
                assert head(folder, source, [path], options=", max: 5")[0] == rows, (source, data)
                found, _ = head(folder, source, [path], "skip", options=", max: 4")
                assert found == [row for row in rows if len(row) < 5]
    path = folder / "x.txt"
    for data in (b"hello\nabc\n", b"abc\nhello", b"hello\nabc"):
        path.write_bytes(data)
        head(folder, "text", [path])
        done = subprocess.run([str(TUNDISH), "head", "graph.yaml"], capture_output=True, text=True,
                              cwd=folder, timeout=100)
        assert "line u8[<=5]" in done.stdout, done.stdout + done.stderr


def zstd(data):
    """A frame of RFC 8878 whose blocks are not compressed."""
    blocks = [data[at:at + 1000] for at in range(0, len(data), 1000)] or [b""]
    frame = b"\x28\xb5\x2f\xfd\xa0" + struct.pack("<I", len(data))
    for number, block in enumerate(blocks):
        header = (number + 1 == len(blocks)) | len(block) << 3
        frame += header.to_bytes(3, "little") + block
    return frame


PACK = {"gzip": gzip.compress, "zlib": zlib.compress, "zstd": zstd}


def write_formats(folder, rows, pack, count=1):
    """The rows as files of each format, compressed; those of a format in `count` pieces that follow
    each other."""
    formats = {"text": [row + b"\n" for row in rows], "csv": [row + b"\r\n" for row in rows],
               "tfrecord": [framed(row) for row in rows]}
    for name, parts in formats.items():
        path = folder / f"rows.{name}"
        whole = b"".join(parts)
        step = len(whole) // count + 1
        path.write_bytes(b"".join(pack(whole[at:at + step]) for at in range(0, len(whole), step)))
        yield name, path


def test_compressed_files_have_the_rows_of_plain_ones(folder):
    rows = [b"%d," % number * (number % 50) for number in range(700)] + [b"z" * 30000]
    for compression, pack in PACK.items():
        for source, path in write_formats(folder, rows, pack, 3):
            written = f", compression: {compression}" if compression == "zlib" else ""
            for options in (written, ", max: 10000" + written):
                want = [row for row in rows if "max" not in options or len(row) <= 10000]
                found, _ = head(folder, source, [path], "skip", options)
                assert found == want, (compression, source, options, len(found))


def test_a_compressed_file_is_recognized_by_its_first_bytes(folder):
    plain = b"x^2 is the first line\n1\n"
    path = folder / "plain.txt"
    path.write_bytes(plain)  # as a stream of zlib could begin
    assert head(folder, "text", [path])[0] == plain.splitlines()
    path = folder / "packed.zz"
    path.write_bytes(zlib.compress(plain))
    assert head(folder, "text", [path])[0] == plain.splitlines()
    rows = [b"a" * (0x9c78 - 16)] * 2  # a length that could be the first bytes of zlib
    path.write_bytes(b"".join(map(framed, [b"b" * 0x9c78] + rows)))
    assert head(folder, "tfrecord", [path])[0] == [b"b" * 0x9c78] + rows
    path.write_bytes(zlib.compress(framed(b"one")))
    assert head(folder, "tfrecord", [path.rename(folder / "no_ending")])[0] == [b"one"]


def test_a_list_may_mix_compressed_and_plain_files(folder):
    files, want = [], []
    for number, pack in enumerate((bytes, gzip.compress, bytes, zstd)):
        rows = [b"%d\r%d" % (number, row) for row in range(10 * number + 1)]
        files.append(folder / f"{number}.txt")
        files[-1].write_bytes(pack(b"\n".join(rows)))
        want += [row.replace(b"\r", b"") for row in rows]
    assert head(folder, "text", files)[0] == want


def graph_of(folder, source, files, reader, epochs=1, size=7, options="", batcher=""):
    size = "" if "size" in batcher else f", size: {size}"
    (folder / "run.yaml").write_text(f"""tundish: 1
seed: 3
actors:
  read: {{kind: reader, {reader}, epochs: {epochs}, source: {{{source}: {{files: {json.dumps(files)}{options}}}}}}}
  batch: {{kind: batcher{size}{batcher}}}
  feed: {{kind: feeder}}
links:
  - read -> batch -> feed
""")


def run(folder, *options, expect=0):
    report = folder / "report.json"
    done = subprocess.run([str(TUNDISH), "run", "run.yaml", "--quiet", "--report", str(report), *options],
                          cwd=folder, capture_output=True, text=True, timeout=100,
                          env={"XDG_CACHE_HOME": str(folder / "cache"), "PATH": "/usr/bin"})
    assert done.returncode == expect, done.stderr
    return (json.loads(report.read_text()) if report.exists() else None), done.stderr


def test_damage_in_a_compressed_file_is_a_bad_record_with_its_place(folder):
    rows = [b"row %d" % number for number in range(40)]
    parts = [framed(row) for row in rows]
    parts[17] = parts[17][:-5] + b"\0" + parts[17][-4:]
    path = folder / "some.tfrecord"
    path.write_bytes(gzip.compress(b"".join(parts))[:-4])
    byte = sum(map(len, parts[:17]))
    _, text = head(folder, "tfrecord", [path], expect=1)
    assert f"record 17 of {path}, at byte {byte} is bad: the checksum of its data" in text, text
    found, _ = head(folder, "tfrecord", [path], "skip")
    assert found == rows[:17] + rows[18:]
    graph_of(folder, "tfrecord", [str(path)], "on_error: quarantine, quarantine: bad", epochs=2)
    report, text = run(folder)
    lines = [json.loads(line) for line in (folder / "bad" / "index.0.jsonl").read_text().splitlines()]
    assert [(line["epoch"], line["record"], line["row"]) for line in lines] == \
        [(0, 17, None), (0, 40, None), (1, 17, None), (1, 40, None)], lines
    assert lines[1]["offset"] == sum(map(len, parts)) and "stream is cut" in lines[1]["reason"], lines
    assert report["rows"]["fed"] == 2 * 39 and report["rows"]["bad"] == 4, report["rows"]


def test_a_compressed_file_is_read_from_its_start_only(folder):
    path = folder / "lines.txt"
    path.write_bytes(gzip.compress(b"1\n2\n"))
    for reader, why in (("shuffle: global", "cannot be shuffled"), ("workers: 2", "by one reader"),
                        ("order: [{global: {}}]", "in no other order")):
        graph_of(folder, "text", [str(path)], reader)
        _, text = run(folder, expect=78)
        assert why in text and "add `spool: {dir: DIR" in text, text


def test_a_part_of_a_compressed_file_is_that_of_the_plain_one(folder):
    rows = b"\n".join(b"%d" % (number * number) for number in range(3000))
    digests = set()
    for pack in (bytes, gzip.compress):
        (folder / "a.txt").write_bytes(pack(rows))
        (folder / "b.txt").write_bytes(pack(rows[::-1]))
        graph_of(folder, "text", ["a.txt", "b.txt"], "skip: 1111, take: 2222", epochs=3, size=50)
        digests.add(run(folder)[0]["stream_digest"])
        # By workers in processes of their own, too.
        text = (folder / "run.yaml").read_text()
        text = text.replace("  batch:", "  prep: {kind: preprocessor, isolate: process, workers: 2,\n"
                            "         ops: [{slice: {column: line, length: 100}}]}\n  batch:")
        (folder / "run.yaml").write_text(text.replace("read -> batch", "read -> prep -> batch"))
        digests.add(run(folder)[0]["stream_digest"])
    assert len(digests) == 1, digests


def test_lanes_share_compressed_files(folder):
    rows = [b"%d" % number for number in range(300)]
    digests = set()
    for pack in (bytes, gzip.compress):
        files = []
        for number in range(3):
            files.append(f"{number}.txt")
            (folder / files[-1]).write_bytes(pack(b"\n".join(rows[number::3])))
        graph_of(folder, "text", files, "shard: file", epochs=2)
        text = (folder / "run.yaml").read_text()
        (folder / "run.yaml").write_text(text.replace("seed: 3", "seed: 3\nlanes: 3"))
        digests.add(run(folder)[0]["stream_digest"])
    assert len(digests) == 1, digests


SPOOL = ", spool: {dir: spool, limit: 1GiB}"


def spooled(folder):
    return sorted(path.name for path in (folder / "spool").iterdir())


def test_spooled_files_are_read_in_any_order(folder):
    rows = [b"%d," % number * (number % 50) for number in range(300)]
    for compression, pack in PACK.items():
        written = f", compression: {compression}" if compression == "zlib" else ""
        for source, path in write_formats(folder, rows, pack):
            for options in (SPOOL, SPOOL):
                found, _ = head(folder, source, [path], options=options + written)
                assert found == rows, (compression, source, options, len(found))
    packed = {source: path.rename(path.with_name(path.name + ".packed"))
              for source, path in write_formats(folder, rows, gzip.compress)}
    for source, path in write_formats(folder, rows, bytes):
        digests = set()
        for data, options in ((path, ""), (packed[source], SPOOL)):
            graph_of(folder, source, [str(data)], "shuffle: global, workers: 2", 2, 64, options)
            digests.add(run(folder)[0]["stream_digest"])
        assert len(digests) == 1, source


def npy(path):
    """The numbers of a .npy file of one axis."""
    data = path.read_bytes()
    size = 10 + struct.unpack("<H", data[8:10])[0]
    kind = {b"'|u1'": "B", b"'<i8'": "q"}[data[10:size].split(b"'descr': ")[1].split(b",")[0]]
    return data[size:] if kind == "B" else list(struct.unpack(f"<{(len(data) - size) // 8}q", data[size:]))


def test_a_spool_is_what_numpy_and_the_source_npy_read(folder):
    rows = [b"one", b"", b"three\rthree", b"4"]
    path = folder / "lines.txt"
    path.write_bytes(gzip.compress(b"\n".join(rows)))
    rows[2] = b"threethree"
    assert head(folder, "text", [path], options=SPOOL)[0] == rows
    values, splits = (next((folder / "spool").glob(f"lines.txt.*.{part}.npy"))
                      for part in ("values", "splits"))
    assert npy(values) == b"".join(rows) and npy(splits) == [0, 3, 3, 13, 14]
    (folder / "graph.yaml").write_text(f"""tundish: 1
actors:
  read: {{kind: reader, source: {{npy: {{line: {{values: {values}, splits: {splits}}}}}}}}}
  batch: {{kind: batcher, size: 9}}
links:
  - read -> batch
""")
    done = subprocess.run([str(TUNDISH), "head", "graph.yaml", "--json"], cwd=folder, timeout=100,
                          capture_output=True, check=True)
    column = json.loads(done.stdout)["columns"]["line"]
    assert bytes(column["data"]) == b"".join(rows) and column["splits"] == [0, 3, 3, 13, 14], column


def test_bad_records_are_as_bad_when_they_are_spooled(folder):
    parts = [framed(b"row %d" % number) for number in range(40)]
    parts[17] = parts[17][:-5] + b"\0" + parts[17][-4:]
    path = folder / "some.tfrecord"
    path.write_bytes(gzip.compress(b"".join(parts))[:-4])
    indexes, digests = [], []
    for options in ("", SPOOL, SPOOL):
        graph_of(folder, "tfrecord", [str(path)], "on_error: quarantine, quarantine: bad", 2, 7, options)
        digests.append(run(folder)[0]["stream_digest"])
        indexes.append((folder / "bad" / "index.0.jsonl").read_text())
        shutil.rmtree(folder / "bad")
    assert len(set(digests)) == 1 and len(set(indexes)) == 1, indexes
    _, text = head(folder, "tfrecord", [path], options=SPOOL, expect=1)
    byte = sum(map(len, parts[:17]))
    assert f"record 17 of {path}, at byte {byte} is bad: the checksum of its data" in text, text


def test_a_wrong_spool_is_made_again(folder):
    rows = [b"%d" % (number * number) for number in range(500)]
    path = folder / "lines.txt"
    path.write_bytes(gzip.compress(b"\n".join(rows)))
    head(folder, "text", [path], options=SPOOL)
    names = spooled(folder)
    assert len(names) == 4, names
    for name in names:
        part = folder / "spool" / name
        whole = part.read_bytes()
        for wrong in (None, whole[:-9], b"nonsense"):
            part.unlink() if wrong is None else part.write_bytes(wrong)
            assert head(folder, "text", [path], options=SPOOL)[0] == rows, (name, wrong)
            assert part.read_bytes() == whole, (name, wrong)
    path.write_bytes(gzip.compress(b"other\n"))
    assert head(folder, "text", [path], options=SPOOL)[0] == [b"other"]


def test_files_without_content_can_be_spooled(folder):
    for name, data in (("a", b""), ("b", b"\n\n\n"), ("c", b"1\n")):
        (folder / f"{name}.txt").write_bytes(gzip.compress(data))
    for options in ("", SPOOL, SPOOL):
        found, _ = head(folder, "text", [folder / f"{name}.txt" for name in "abc"], options=options)
        assert found == [b"", b"", b"", b"1"], (options, found)


def test_a_spool_has_a_limit(folder):
    path = folder / "lines.txt"
    path.write_bytes(gzip.compress(b"1\n" * 10000))
    for limit, expect in (("90000B", 78), ("102000B", 0), ("102000B", 0)):
        _, text = head(folder, "text", [path], options=f", spool: {{dir: spool, limit: {limit}}}",
                       expect=expect)
        assert ("above `limit: " in text and "spool spool: 1 file needs up to" in text) == (expect != 0), text
    path.write_bytes(gzip.compress(b"2\n" * 10000))
    _, text = head(folder, "text", [path], options=", spool: {dir: spool, limit: 102000B}", expect=78)
    assert "beside the " in text, text
    _, text = head(folder, "text", [path], options=", spool: {dir: graph.yaml, limit: 1GiB}", expect=78)
    assert "spool graph.yaml: " in text, text


def test_a_process_killed_while_it_spools_leaves_nothing_that_is_used(folder):
    rows = [b"%d" % (number * number) for number in range(200000)]
    path = folder / "lines.txt"
    path.write_bytes(gzip.compress(b"\n".join(rows)))
    head(folder, "text", [path])  # its index

    def limit():
        resource.setrlimit(resource.RLIMIT_FSIZE, (1000000, 1000000))  # statistics of the run take less

    _, text = head(folder, "text", [path], options=SPOOL, expect=78, preexec_fn=limit)
    assert "its files cannot be written: File too large" in text, text
    assert spooled(folder) == []
    for at in 1, 2, 3, 4:
        head(folder, "text", [path], options=SPOOL, expect=-9, env=kills(folder, "spool", at))
        assert not [name for name in spooled(folder) if "splits" in name], at
    assert head(folder, "text", [path], options=SPOOL)[0] == rows[:3000]


def test_spooled_files_get_their_names_before_their_splits(folder):
    if re.search(rb"__[at]san_init", TUNDISH.read_bytes()):
        return  # a sanitizer refuses a library that is loaded before it
    path = folder / "x.txt.gz"
    path.write_bytes(gzip.compress(b"1\n2\n"))
    graph_of(folder, "text", [str(path)], "shuffle: global", options=f", spool: {{dir: {folder}/spool, limit: 1MiB}}")
    subprocess.run([str(TUNDISH), "run", "run.yaml", "--quiet"], cwd=folder, check=True, timeout=100,
                   env={"XDG_CACHE_HOME": str(folder / "cache"), "PATH": "/usr/bin", "DISK_ROOT": str(folder / "spool"),
                        "LD_PRELOAD": str(TUNDISH.parent / "tests" / "disk.so"), "DISK_LOG": str(folder / "log")})
    calls = [line.split("\t") for line in (folder / "log").read_text().splitlines()]
    named = [call[-1].split(".")[-2] for call in calls if call[0] in ("link", "rename")]
    assert sorted(named) == ["bad", "hashes", "splits", "values"] and named[-1] == "splits", calls


def test_processes_that_spool_at_the_same_time_end_with_one(folder):
    path = folder / "lines.txt"
    path.write_bytes(gzip.compress(b"".join(b"%d\n" % number for number in range(200000))))
    head(folder, "text", [path], options=SPOOL)  # the graph file
    whole = {name: (folder / "spool" / name).read_bytes() for name in spooled(folder)}
    shutil.rmtree(folder / "spool")
    line = [str(TUNDISH), "head", "graph.yaml", "--json"]
    some = [subprocess.Popen(line, cwd=folder, stdout=subprocess.PIPE, env={"XDG_CACHE_HOME": str(folder / "cache")})
            for _ in range(5)]
    outputs = {process.communicate(timeout=100)[0] for process in some}
    assert [process.returncode for process in some] == [0] * 5 and len(outputs) == 1, outputs
    assert {name: (folder / "spool" / name).read_bytes() for name in spooled(folder)} == whole


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
    shifted = bytearray(whole)
    for at in range(136, len(whole) - 8, 8):
        shifted[at] ^= 1
    for wrong in (b"", whole[:100], whole[:-8], descending, whole[:-8] + struct.pack("<Q", 1 << 40),
                  bytes(shifted)):  # the last can only be seen in the data
        index.write_bytes(wrong)
        found, text = head(folder, "text", [path])
        assert found == rows, wrong[:300]
        assert index.read_bytes() == whole
        assert f"{path}: what was kept of the file did not fit it and was made again: {index}" in text, text
    assert head(folder, "text", [path])[1] == ""


def test_one_flipped_bit_of_an_index_is_noticed(folder):
    """Each number is plausible with a bit flipped: a record begins a byte later or earlier."""
    rows = [b"x" * 40 for _ in range(60)]
    for source, pack in {"text": b"\n".join, "csv": b"\n".join,
                         "tfrecord": lambda rows: b"".join(map(framed, rows))}.items():
        path = folder / f"rows.{source}"
        path.write_bytes(pack(rows))
        head(folder, source, [path])
        index, = (folder / "cache" / "tundish").glob(f"rows.{source}.*")
        whole = index.read_bytes()
        header = whole[10:128].decode()
        assert ast.literal_eval(header)["shape"] == (len(rows) + 1,)  # as numpy.load reads it
        digits = whole[:128].index(b" # xxh3 ") + 8
        for at in (128 + 8 * 7, 128 + 8 * 31, 128 + 8 * 59, digits, digits + 15):
            for wrong in (whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1:],
                          whole[:digits - 8] + b" " * 24 + whole[digits + 16:]):  # of an earlier version
                index.write_bytes(wrong)
                found, text = head(folder, source, [path])
                assert found == rows, (source, at)
                assert f"{path}: what was kept of the file did not fit it and was made again" in text, text
                assert index.read_bytes() == whole
        assert head(folder, source, [path])[1] == ""


def test_the_index_of_another_file_is_not_used(folder):
    formats = {"text": lambda rows: b"\n".join(rows), "csv": lambda rows: b"\n".join(rows),
               "tfrecord": lambda rows: b"".join(map(framed, rows))}
    for source, pack in formats.items():
        kinds = [b"%d" % number * (number % 7) for number in range(90)], [b"%d" % number for number in range(200)]
        paths, indexes = [], []
        for number, rows in enumerate(kinds):
            paths.append(folder / f"{number}.{source}")
            paths[-1].write_bytes(pack(rows))
            head(folder, source, [paths[-1]])
            indexes += (folder / "cache" / "tundish").glob(f"{number}.{source}.*")
        whole = indexes[0].read_bytes()
        other = bytearray(indexes[1].read_bytes()[:len(whole)])  # the header has another number of rows
        other[:128] = whole[:128]
        indexes[0].write_bytes(other)
        found, text = head(folder, source, [paths[0]])
        assert found == kinds[0] and "made again" in text, (source, text)
        assert indexes[0].read_bytes() == whole


def test_a_file_that_is_cut_in_the_head_of_a_record_is_an_error(folder):
    """A head has 12 bytes: the length and its checksum.  TensorFlow ends the file there in silence."""
    rows = [b"one", b"two"]
    for pack, options in ((bytes, ""), (gzip.compress, ""), (gzip.compress, SPOOL), (gzip.compress, SPOOL)):
        for left in (0, 1, 11):
            path = folder / f"{left}.tfrecord"
            path.write_bytes(pack(b"".join(map(framed, rows)) + framed(b"three")[:left]))
            found, text = head(folder, "tfrecord", [path], "skip", options=options)
            assert found == rows, (options, left, found)
            if left > 0:
                _, text = head(folder, "tfrecord", [path], options=options, expect=1)
                assert "record 2" in text and f"only {left} byte" in text and str(path) in text, text


def test_two_hundred_changed_bits_feed_no_other_record(folder):
    """Every bit of a TFRecord file is in a CRC-32C; a bad record is left out."""
    draw, rows = random.Random(25), [bytes([65 + i]) * (20 + i) for i in range(8)]
    whole = b"".join(map(framed, rows))
    paths = []
    for number in range(200):
        data = bytearray(whole)
        data[draw.randrange(len(data))] ^= 1 << draw.randrange(8)
        paths.append(folder / f"{number:03}.tfrecord")
        paths[-1].write_bytes(data)
    found, _ = head(folder, "tfrecord", paths, "skip")
    assert set(found) == set(rows) and len(found) == 200 * 7, len(found)


def test_empty_files_keep_their_places_in_the_order(folder):
    """The order that TensorFlow's interleave with a cycle of 2 gives."""
    for ending, source, write in (("txt", "text", lambda rows: b"".join(b"%d\n" % row for row in rows)),
                                  ("csv", "csv", lambda rows: b"".join(b"%d\n" % row for row in rows)),
                                  ("tfrecord", "tfrecord", lambda rows: b"".join(framed(b"%d" % row) for row in rows))):
        paths = []
        for number, rows in enumerate(([1, 1, 1], [], [2, 2, 2], [3, 3, 3])):
            paths.append(folder / f"{number}.{ending}")
            paths[-1].write_bytes(write(rows))
        (folder / "graph.yaml").write_text(
            "tundish: 1\nactors:\n  read: {kind: reader, order: [{interleave: {cycle: 2}}], source: {"
            f"{source}: {{files: {json.dumps(list(map(str, paths)))}}}}}}}\n  batch: {{kind: batcher, size: 9}}\n"
            "links: [read -> batch]\n")
        done = subprocess.run([str(TUNDISH), "head", str(folder / "graph.yaml"), "--json"], capture_output=True,
                              text=True, timeout=60, env={**os.environ, "XDG_CACHE_HOME": str(folder / "cache")})
        assert done.returncode == 0, done.stderr
        (column,) = json.loads(done.stdout)["columns"].values()
        assert bytes(column["data"]) == b"112122333", (source, bytes(column["data"]))


def test_a_file_of_damaged_records_is_not_indexed_with_a_message_each_time(folder):
    path = folder / "bad.tfrecord"
    path.write_bytes(framed(b"record")[:-1] + b"\0")
    path.write_bytes(b"\7" + path.read_bytes()[1:])
    for _ in range(2):
        assert head(folder, "tfrecord", [path], "skip", expect=0)[0] == []
        assert "made again" not in head(folder, "tfrecord", [path], "skip")[1]


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
    path, rows = lines(folder, count=200000)  # an index of 1.6 MB

    head(folder, "text", [path], expect=-9, env=kills(folder, "cache"))
    assert list((folder / "cache" / "tundish").iterdir()) == []
    assert head(folder, "text", [path])[0] == rows[:3000]


def test_processes_that_index_at_the_same_time_end_with_one(folder):
    path, _ = lines(folder, count=300000)
    head(folder, "text", [path])  # the graph file
    shutil.rmtree(folder / "cache")
    line = [str(TUNDISH), "head", "graph.yaml", "--json"]
    some = [subprocess.Popen(line, cwd=folder, stdout=subprocess.PIPE, env={"XDG_CACHE_HOME": str(folder / "cache")})
            for _ in range(5)]
    outputs = {process.communicate(timeout=100)[0] for process in some}
    assert [process.returncode for process in some] == [0] * 5 and len(outputs) == 1, outputs
    only_index(folder)


def test_records_are_shuffled_and_read_as_lines_are(folder):
    paths = [lines(folder, f"{number}.txt", 500 + number)[0] for number in range(3)]
    digests = set()
    for access in ("access: map", "access: read"):
        graph_of(folder, "text", ["?.txt"], access + ", shuffle: global", epochs=2, size=64)
        digests.add(run(folder)[0]["stream_digest"])
    assert paths and len(digests) == 1, digests


def test_an_index_without_a_folder_is_kept_in_memory(folder):
    lines(folder)
    digests = set()
    for place in ("cache", "file"):
        (folder / "file").write_text("a file where the folder should be")
        graph_of(folder, "text", ["*.txt"], "shuffle: global", epochs=2, size=64)
        for access in ("map", "read"):
            kept = tundish("run", folder / "run.yaml", "--set", f"read.access={access}",
                           report=False, env={"XDG_CACHE_HOME": str(folder / place)})
            digests.add(kept.output.split("stream ")[1].split()[0])
            said = "its index is kept in memory for this run" in kept.output
            assert said == (place == "file"), kept.output
            assert not said or "Not a directory" in kept.output, kept.output
    assert len(digests) == 1, digests


if __name__ == "__main__":
    sys.exit(run_named(globals(), sys.argv[1:], in_folder))
