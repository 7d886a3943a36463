#!/usr/bin/env python3
"""Samples of tar archives: every kind of header, compressed ones in order, and damage by its place.

Usage: tar.py NAME...; without a name it lists them.  The archives are written by Python's tarfile.
"""
import ctypes
import ctypes.util
import gzip
import io
import json
import os
import random
import shutil
import subprocess
import sys
import tarfile

from named import in_folder, run_named
from run import ROOT, TUNDISH, tundish

GRAPH = """tundish: 1
seed: 7
actors:
  read:  {{kind: reader, {options}, source: {{tar: {{files: [{files}]{more}}}}}}}
  batch: {{kind: batcher, size: 7}}
{feed}links:
  - read -> batch{link}
"""
FORMATS = {"ustar": tarfile.USTAR_FORMAT, "gnu": tarfile.GNU_FORMAT, "pax": tarfile.PAX_FORMAT}


def sample(number, key=None):
    key = key or f"train/{number:04}"
    return [(f"{key}.jpg", bytes([number % 256]) * (37 * number % 1500)),
            (f"{key}.cls", str(number % 10).encode()), (f"{key}.meta.json", b"{}")]


def archive(path, members, form="ustar"):
    """Members are (name, bytes); without bytes a folder."""
    with tarfile.open(path, "w", format=FORMATS[form]) as out:
        for name, data in members:
            info = tarfile.TarInfo(name)
            info.type = tarfile.DIRTYPE if data is None else tarfile.REGTYPE
            info.size = len(data or b"")
            out.addfile(info, io.BytesIO(data or b""))
    return path


def write(folder, files, more="", options="epochs: 1", feed=False):
    graph = folder / "graph.yaml"
    graph.write_text(GRAPH.format(files=", ".join(map(str, files)), more=more, options=options,
                                  feed="  feed:  {kind: feeder}\n" if feed else "",
                                  link=" -> feed" if feed else ""))
    return graph


def head(folder, files, more="", options="epochs: 1", expect=0):
    done = subprocess.run([str(TUNDISH), "head", str(write(folder, files, more, options)), "--json",
                           "--steps", "99"], capture_output=True, text=True, timeout=60, cwd=ROOT)
    assert done.returncode == expect, (files, done.stderr)
    if expect != 0:
        return done.stderr
    rows = []
    for step in map(json.loads, done.stdout.splitlines()):
        columns = [[bytes(column["data"][a:b]) for a, b in zip(column["splits"], column["splits"][1:])]
                   for column in step["columns"].values()]
        rows += list(zip(*columns))
    return rows


def zstd(data):
    """None where the library is missing."""
    name = ctypes.util.find_library("zstd")
    if name is None:
        return None
    library = ctypes.CDLL(name)
    library.ZSTD_compress.restype = library.ZSTD_compressBound.restype = ctypes.c_size_t
    room = ctypes.create_string_buffer(library.ZSTD_compressBound(ctypes.c_size_t(len(data))))
    size = library.ZSTD_compress(room, ctypes.c_size_t(len(room)), data, ctypes.c_size_t(len(data)), 3)
    return room.raw[:size]


def test_every_kind_of_header_gives_the_same_samples(folder):
    members = [("train", None), *[member for number in range(30) for member in sample(number)],
               ("README", b"no sample"), ("train/.hidden.jpg", b"none either")]
    wanted = [(sample(number)[0][1], sample(number)[1][1]) for number in range(30)]
    columns = ", columns: {image: \"png;jpg\", label: cls}"
    for form in FORMATS:
        more, want = list(members), list(wanted)
        if form != "ustar":  # names beyond what a header holds
            name = "d\u00e9j\u00e0/" + "long/" * 60 + "x" * 120
            more += sample(77, name)
            want.append((sample(77)[0][1], sample(77)[1][1]))
        path = archive(folder / f"{form}.tar", more, form)
        for access in ("map", "read"):
            got = head(folder, [path], columns, f"access: {access}")
            assert got == want, (form, access, got[:3])
    every = head(folder, [archive(folder / "every.tar", members)])
    assert every == [tuple(data for _, data in sample(number)) for number in range(30)], every[:2]


def test_compressed_archives_are_read_in_order(folder):
    parts = [archive(folder / f"{part}.tar", [member for number in range(part * 20, part * 20 + 20)
                                              for member in sample(number)]) for part in range(3)]
    plain = head(folder, parts)
    whole = tundish("run", write(folder, parts, "", "epochs: 2", True)).report["stream_digest"]
    for name, compress in (("gz", gzip.compress), ("zst", zstd)):
        packed = []
        for path in parts:
            data = compress(path.read_bytes())
            if data is None:
                break
            packed.append(path.with_suffix(f".tar.{name}"))
            packed[-1].write_bytes(data)
        if len(packed) < len(parts):
            continue
        assert head(folder, packed) == plain and head(folder, packed, ", max: 1500") == plain
        mixed = [parts[0], *packed[1:]]
        assert head(folder, mixed) == plain
        done = tundish("run", write(folder, packed, "", "epochs: 2", True))
        assert done.report["stream_digest"] == whole
        done = tundish("run", write(folder, packed, "", "shuffle: global", True), report=False, expect=78)
        assert "`tar` is read from its start only and cannot be shuffled" in done.output, done.output
        assert "add `spool: {dir: DIR" in done.output, done.output
    digests = {tundish("run", write(folder, parts, "", f"shuffle: global, epochs: 2, {more}", True)
                       ).report["stream_digest"] for more in ("access: map", "access: read", "workers: 3")}
    assert len(digests) == 1, digests


def test_spooled_archives_are_read_in_any_order(folder):
    parts = [archive(folder / f"{part}.tar", [member for number in range(part * 20, part * 20 + 20)
                                              for member in sample(number)]) for part in range(2)]
    packed = [folder / f"{part}.tar.gz" for part in range(2)]
    for path, to in zip(parts, packed):
        to.write_bytes(gzip.compress(path.read_bytes()))
    spool = f", spool: {{dir: {folder}/spool, limit: 1MiB}}"
    options = "shuffle: global, epochs: 2"
    whole = tundish("run", write(folder, parts, "", options, True)).report["stream_digest"]
    before = None
    for _ in range(2):  # the second run uses what the first has made
        done = tundish("run", write(folder, packed, spool, options, True))
        assert done.report["stream_digest"] == whole
        made = sorted((folder / "spool").glob("*.tar"))
        assert [path.read_bytes() for path in made] == [path.read_bytes() for path in parts], made
        stamps = [path.stat().st_mtime_ns for path in made]
        assert before in (None, stamps), "it was made again"
        before = stamps


def test_an_archive_that_changed_between_runs_is_searched_again(folder):
    """Of the same size and with the same time, so that only its bytes show it; a resume refuses it."""
    members = [member for number in range(30) for member in sample(number)]
    plain, packed = archive(folder / "a.tar", members), folder / "b.tar.gz"
    other = archive(folder / "other.tar", [member for number in reversed(range(30)) for member in sample(number)])
    times = (plain.stat().st_mtime_ns,) * 2
    kept = ["--set", f"checkpoint.dir={folder}/kept", "--set", "checkpoint.every=1 steps"]
    spool = f", spool: {{dir: {folder}/spool, limit: 1MiB}}"
    for path, more, convert in ((plain, "", bytes), (packed, spool, gzip.compress)):
        path.write_bytes(convert(plain.read_bytes()))
        os.utime(path, ns=times)
        before = head(folder, [path], more)
        tundish("run", write(folder, [path], more, "epochs: 2", True), *kept, "--steps", 2)
        path.write_bytes(convert(other.read_bytes()))
        os.utime(path, ns=times)
        after = head(folder, [path], more)
        assert after == before[::-1] and after != before, (path, after[:2])
        done = tundish("run", write(folder, [path], more, "epochs: 2", True), *kept, "--resume", report=False,
                       expect=78)
        assert "cannot resume" in done.output and f"{path} has changed since the checkpoint" in done.output, done.output
        archive(plain, members)
        shutil.rmtree(folder / "kept")


def test_an_archive_that_cannot_be_spooled_leaves_nothing(folder):
    path = archive(folder / "x.tar", [member for number in range(40) for member in sample(number)])
    data = gzip.compress(path.read_bytes())
    packed = folder / "x.tar.gz"
    for content, limit, why in ((data, "20KiB", "would be larger than `limit: 20 KiB`"),
                                (data[:len(data) // 2], "1MiB", "a damaged archive is not spooled")):
        packed.write_bytes(content)
        said = head(folder, [packed], f", spool: {{dir: {folder}/spool, limit: {limit}}}", expect=78)
        assert why in said and str(packed) in said, said
        assert list((folder / "spool").iterdir()) == []


def test_damage_is_named_by_file_record_and_byte(folder):
    good = archive(folder / "good.tar", [member for number in range(5) for member in sample(number)])
    data = good.read_bytes()
    first = data.index(b"train/0002.jpg")  # a header
    cases = {
        "header": (data[:first + 3] + b"#" + data[first + 4:], 2, first, "Damaged", [0, 1, 3, 4]),
        "cut": (data[:data.index(b"train/0004.jpg") + 512 + 40], 4, data.index(b"train/0004.jpg"),
                "after the archive's", [0, 1, 2, 3]),
    }
    missing = [member for number in range(5) for member in sample(number) if member[0] != "train/0003.cls"]
    twice = [member for number in range(5) for member in sample(number) + sample(number)[:1] * (number == 1)]
    cases["missing"] = (archive(folder / "x.tar", missing).read_bytes(), 3, None, "no file `.cls`",
                        [0, 1, 2, 4])
    cases["twice"] = (archive(folder / "x.tar", twice).read_bytes(), 1, None, "two files",
                      [0, 2, 3, 4])
    for name, (bytes_of, record, byte, why, left) in cases.items():
        path = folder / f"{name}.tar"
        path.write_bytes(bytes_of)
        columns = ", columns: {image: jpg, label: cls}"
        text = head(folder, [path], columns, expect=1)
        assert f"record {record} of {path}" in text and why in text, (name, text)
        assert byte is None or f"at byte {byte}" in text, (name, text)
        rows = head(folder, [path], columns, "on_error: skip")
        # Of a sample whose first header is damaged the rest is a sample too, with a file missing.
        assert [row[1] for row in rows] == [str(number).encode() for number in left], (name, rows)
        packed = folder / f"{name}.tar.gz"
        packed.write_bytes(gzip.compress(bytes_of))
        assert head(folder, [packed], columns, "on_error: skip") == rows, name


def texts(first, count):
    """`count` samples of a text of 700 bytes, which begins with their number."""
    return [member for number in range(first, first + count)
            for member in ((f"{number:06}.cls", str(number % 10).encode()),
                           (f"{number:06}.txt", b"%03d" % number + bytes([65 + number % 26]) * 697))]


def messages(folder, files, more="", expect=0):
    """What a run prints on stderr."""
    done = subprocess.run([str(TUNDISH), "run", str(write(folder, files, more, feed=True))],
                          capture_output=True, text=True, timeout=60)
    assert done.returncode == expect, (files, done.stdout, done.stderr)
    return done.stderr


def inspect(path, expect=0):
    done = subprocess.run([str(TUNDISH), "inspect", str(path), "--json"], capture_output=True, text=True,
                          timeout=60)
    assert done.returncode == expect, (done.stdout, done.stderr)
    return json.loads(done.stdout)["inputs"][0]


def numbers(rows):
    return [int(row[-1][:3]) for row in rows]


def pack(folder, name, data):
    """The archive as it is, and compressed in each way."""
    paths = []
    for ending, compress in (("", bytes), (".gz", gzip.compress), (".zst", zstd)):
        packed = compress(data)
        if packed is not None:
            paths.append(folder / f"{name}{ending}")
            paths[-1].write_bytes(packed)
    return paths


def test_what_follows_the_end_of_an_archive_is_read_or_reported(folder):
    """Two zero blocks are the end mark (POSIX); tarfile writes 10 KiB, a multiple of which all is."""
    one = archive(folder / "one.tar", texts(0, 3)).read_bytes()
    two = archive(folder / "two.tar", texts(3, 4), "pax").read_bytes()
    size = 3 * (512 + 512 + 512 + 1024)
    cases = (("joined", one + two, range(7)), ("one_zero_block", one[:size] + bytes(512) + two, range(7)),
             ("right_after_the_mark", one[:size + 1024] + two, range(7)),
             ("marks_only", one + bytes(10240), range(3)))
    for name, data, wanted in cases:
        for path in pack(folder, f"{name}.tar", data):
            for access in ("map", "read"):
                assert numbers(head(folder, [path], "", f"access: {access}")) == list(wanted), (path, access)
            assert inspect(path)["notes"] == [], path
    for name, data, at in (("unknown", one + b"unknown bytes ".ljust(512, b"x"), len(one)),
                           ("a_few_bytes", one + b"abc", len(one))):
        for path in pack(folder, f"{name}.tar", data):
            text = head(folder, [path], expect=1)
            assert "record 3" in text and f"at byte {at}" in text and str(path) in text, text
            assert numbers(head(folder, [path], "", "on_error: skip")) == [0, 1, 2]


def test_an_archive_without_its_end_mark_is_reported(folder):
    whole = archive(folder / "whole.tar", texts(0, 20)).read_bytes()
    cut = whole[:10 * (512 + 512 + 512 + 1024)]
    for path in pack(folder, "cut.tar", cut):
        assert numbers(head(folder, [path])) == list(range(10))
        said = messages(folder, [path])
        assert f"warning {path}: ends without an end-of-archive mark" in said, said
        assert len(inspect(path)["notes"]) == 1
    assert messages(folder, [folder / "whole.tar"]) == "" and inspect(folder / "whole.tar")["notes"] == []
    for number in range(3):
        (folder / f"{number}.tar").write_bytes(cut)
    said = messages(folder, [folder / f"{number}.tar" for number in range(3)])
    assert said.count("\n") == 1 and "and so do 2 more archives" in said, said


def test_a_cut_in_a_file_that_is_no_column_is_reported(folder):
    data = archive(folder / "x.tar", [member for number in range(5) for member in sample(number)]).read_bytes()
    cut = data[:data.rindex(b"train/0003.meta.json") + 512 + 1]
    for path in pack(folder, "cut.tar", cut):
        text = head(folder, [path], ", columns: {image: jpg, label: cls}", expect=1)
        assert "record 4" in text and str(path) in text, text
        assert len(head(folder, [path], ", columns: {image: jpg, label: cls}", "on_error: skip")) == 4


def test_each_changed_bit_of_a_compressed_archive_is_noticed(folder):
    """Stored, not deflated, so that other bytes unpack too: only the CRC-32 at the end tells."""
    draw = random.Random(3)
    data = archive(folder / "x.tar", texts(0, 40)).read_bytes()
    path = folder / "x.tar.gz"
    packed = gzip.compress(data, 0, mtime=0)
    for _ in range(12):
        at = draw.randrange(2000, len(packed))
        damaged = bytearray(packed)
        damaged[at] ^= 1 << draw.randrange(8)
        path.write_bytes(damaged)
        for more in ("", ", max: 1000"):
            said = messages(folder, [path], more, expect=1)
            assert "is bad" in said and "x.tar.gz" in said, (at, said)
        assert inspect(path, expect=1)["damaged"] >= 1
    damaged = bytearray(packed)
    damaged[-5] ^= 1  # of the CRC-32 itself
    path.write_bytes(damaged)
    said = messages(folder, [path], expect=1)
    assert "record 40 is bad" in said and "the gzip stream is damaged (incorrect data check)" in said, said
    assert "rows of this file before it may be wrong" in said, said
    assert numbers(head(folder, [path], "", "on_error: skip")) == list(range(40))
    frame = zstd(data)
    if frame is not None:
        path = folder / "x.tar.zst"
        path.write_bytes(frame[:-1])
        said = messages(folder, [path], expect=78)  # no file comes before the cut
        assert "the zstd stream is cut" in said and "may be wrong" not in said, said


def test_links_are_followed_or_reported(folder):
    """WebDataset's tarfile gives a link no bytes; GNU tar makes one of a file that it has stored."""
    path = folder / "links.tar"
    members = [("0.cls", b"0"), ("0.txt", b"000 the same"), ("1.cls", b"1"), ("1.txt", "0.txt"),
               ("2.cls", b"2"), ("2.txt", "1.txt"), ("pool", b"005"), ("3.cls", b"3"),
               ("3.txt", "4.txt"), ("4.cls", b"4"), ("4.txt", b"004"), ("5.cls", b"5"), ("5.txt", "pool")]
    for form in FORMATS:
        with tarfile.open(path, "w", format=FORMATS[form]) as out:
            for name, data in members:
                info = tarfile.TarInfo(name)
                if isinstance(data, str):
                    info.type, info.linkname = tarfile.LNKTYPE, data
                    data = b""
                info.size = len(data)
                out.addfile(info, io.BytesIO(data))
        columns = ", columns: {label: cls, text: txt}"
        text = head(folder, [path], columns, expect=1)
        assert "record 3" in text and "is a link to `4.txt`, which is not before it" in text, text
        rows = head(folder, [path], columns, "on_error: skip")
        assert rows == [(b"0", b"000 the same"), (b"1", b"000 the same"), (b"2", b"000 the same"), (b"4", b"004"),
                        (b"5", b"005")]
        packed = folder / "links.tar.gz"
        packed.write_bytes(gzip.compress(path.read_bytes()))
        text = head(folder, [packed], columns, expect=1)
        assert "the file `1.txt` is a link to `0.txt`" in text and "use `spool`, or make" in text, text
        assert head(folder, [packed], columns + f", spool: {{dir: {folder}/spool, limit: 1MiB}}",
                    "on_error: skip") == rows
    with tarfile.open(path, "w") as out:
        for name in ("0.txt", "1.txt"):
            info = tarfile.TarInfo(name)
            if name == "1.txt":
                info.type, info.linkname = tarfile.SYMTYPE, "0.txt"
            else:
                info.size = 3
            out.addfile(info, io.BytesIO(b"000"))
    text = head(folder, [path], expect=1)
    assert "record 1" in text and "the file `1.txt` is a link to `0.txt`" in text, text


def test_extensions_are_compared_in_lower_case(folder):
    """As group_by_keys of WebDataset, with lcase; keys keep their case."""
    members = [("A.JPG", b"a"), ("A.Cls", b"1"), ("a.jpg", b"b"), ("a.CLS", b"2")]
    path = archive(folder / "x.tar", members)
    for columns in ("", ", columns: {jpg: JPG, cls: cls}", ", columns: {jpg: \"png;Jpg\", cls: CLS}"):
        assert head(folder, [path], columns) == [(b"a", b"1"), (b"b", b"2")], columns
    archive(path, [("a.jpg", b"a"), ("a.JPG", b"b")])
    assert "it has two files for column `jpg`" in head(folder, [path], expect=1)


def eye_fi(name, data, binary=False):
    """A member as cards of Eye-Fi write it: the times of star where a sparse file of GNU has its size.  The size
    may be binary, as GNU tar writes one that has no room in octal digits."""
    header = bytearray(512)
    header[:len(name)] = name.encode()
    header[100:108] = b"0000664\0"
    header[124:136] = b"\x80" + len(data).to_bytes(11, "big") if binary else b"%011o\0" % len(data)
    header[136:148] = b"12130627766\0"
    header[156:157] = b"0"
    header[257:265] = b"ustar  \0"
    header[265:270] = header[297:302] = b"eyefi"
    header[476:488], header[488:500] = b"12130404200\0", b"12130627766\0"
    header[148:156] = b"%06o\0 " % (sum(header) + 8 * 32)
    return bytes(header) + data + bytes(-len(data) % 512)


def test_a_size_is_that_of_the_header_unless_the_file_is_sparse(folder):
    rows = [(bytes([n]) * (2000 * (n % 8)), b"%d,POWERON" % n) for n in range(60)]
    path = folder / "card.tar"
    path.write_bytes(b"".join(eye_fi(f"P{n}.jpg", jpg, n % 3 == 1) + eye_fi(f"P{n}.log", log)
                              for n, (jpg, log) in enumerate(rows)) + bytes(1024))
    with tarfile.open(path) as known:
        assert [len(row) for pair in rows for row in pair] == [member.size for member in known]
    for access in ("map", "read"):
        assert head(folder, [path], "", f"access: {access}") == rows, access
    packed = folder / "card.tar.gz"
    packed.write_bytes(gzip.compress(path.read_bytes(), 1))
    assert head(folder, [packed]) == rows
    assert head(folder, [packed], f", spool: {{dir: {folder}/spool, limit: 1GiB}}") == rows


def test_what_is_no_archive_is_refused(folder):
    (folder / "text.tar").write_text("hello\n" * 500)
    whole = archive(folder / "a.tar", [("one", b"x")])
    for path, words in ((folder / "text.tar", "cannot be read as a tar archive"),
                        (whole, "has no files named `key.extension`"),
                        (folder / "none.tar", "none.tar")):
        text = head(folder, [path], expect=78)
        assert words in text and str(path) in text, text
    shutil.copy(archive(folder / "b.tar", sample(1)), folder / "c.tar")
    text = head(folder, [folder / "c.tar"], ", columns: {image: .jpg}", expect=78)
    assert "without the dot" in text, text


if __name__ == "__main__":
    sys.exit(run_named(globals(), sys.argv[1:], in_folder))
