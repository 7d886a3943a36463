#!/usr/bin/env python3
"""Many files are opened once each, by several threads, in every format, and so are their indexes and spools
made: a server far away answers late.

Usage: opens.py NAME...; without a name it lists them.
"""
import gzip
import io
import json
import os
import struct
import subprocess
import sys
import tarfile

from named import in_folder, run_named
from run import BUILD, ROOT, TUNDISH

FILES, THREADS = 40, 8
MAKERS = 16  # threads that make indexes and spools
GRAPH = """tundish: 1
actors:
  read:  {{kind: reader, source: {{{source}}}{access}}}
  batch: {{kind: batcher, size: 8}}
  feed:  {{kind: feeder}}
links:
  - read -> batch -> feed
"""


def npy(rows):
    head = f"{{'descr': '|u1', 'fortran_order': False, 'shape': ({rows}, 4), }}".encode()
    head += b" " * (-(len(head) + 11) % 64) + b"\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head + bytes(4 * rows)


def tar(mode):
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode=mode) as archive:
        for key in "ab":
            member = tarfile.TarInfo(f"{key}.txt")
            member.size = 3
            archive.addfile(member, io.BytesIO(b"row"))
    return out.getvalue()


IDX = bytes([0, 0, 8, 2, 0, 0, 0, 2, 0, 0, 0, 4]) + bytes(8)
# Two records without bytes: the checksums of a length of 0, and of nothing, masked.
RECORDS = 2 * (bytes(8) + bytes.fromhex("29039807") + bytes.fromhex("d8ea82a2"))
FORMATS = {
    "npy": (npy(2), "npy: {{x: \"{files}\"}}"),
    "raw": (bytes(8), "raw: {{files: \"{files}\", columns: {{x: \"u8[4]\"}}}}"),
    "idx": (IDX, "idx: {{x: \"{files}\"}}"),
    "idx by gzip": (gzip.compress(IDX), "idx: {{x: \"{files}\"}}"),
    "tfrecord": (RECORDS, "tfrecord: {{files: \"{files}\"}}"),
    "tfrecord by gzip": (gzip.compress(RECORDS), "tfrecord: {{files: \"{files}\"}}"),
    "text": (b"a\nb\n", "text: {{files: \"{files}\"}}"),
    "csv": (b"1,2\n3,4\n", "csv: {{files: \"{files}\"}}"),
    "folder": (b"row", "folder: {{files: \"{files}\"}}"),
    "tar": (tar("w"), "tar: {{files: \"{files}\"}}"),
    "tar by gzip": (tar("w:gz"), "tar: {{files: \"{files}\"}}"),
}


def opens_of(folder, source, access="", below="data", together=THREADS):
    """How often a run opens its files in a folder, how many at once, and what it says."""
    graph, log = folder / "graph.yaml", folder / "opens"
    graph.write_text(GRAPH.format(source=source, access=access))
    env = {**os.environ, "LD_PRELOAD": str(BUILD / "tests" / "opens.so"), "OPENS_LOG": str(log),
           "OPENS_ROOT": f"{folder}/{below}", "OPENS_TOGETHER": str(together), "XDG_CACHE_HOME": str(folder)}
    done = subprocess.run([str(TUNDISH), "run", str(graph)], capture_output=True, text=True, env=env,
                          cwd=ROOT, timeout=60)
    assert done.returncode == 0, (source, done.stderr)
    return (*map(int, log.read_text().split()), done.stdout)


def test_files_of_every_format_are_opened_once_and_several_at_a_time(folder):
    (folder / "data").mkdir()
    for name, (data, source) in FORMATS.items():
        for number in range(FILES):
            (folder / "data" / f"{number:03}").write_bytes(data)
        for access in ("", ", access: read"):
            calls, most, said = opens_of(folder, source.format(files=f"{folder}/data/*"), access)
            assert f"{FILES if name == 'folder' else 2 * FILES} rows" in said, (name, access, said)
            assert calls == FILES and most >= THREADS, (name, access, calls, most)


LINES = [[b"%d of %d" % (line, number) for line in range(1 + number % 3)] for number in range(FILES)]
SPOOL = "spool: {{dir: {folder}/spool, limit: 1GiB}}"


def lines_of(number):
    return b"".join(line + b"\n" for line in LINES[number])


def archive_of(number):
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as archive:
        for line, text in enumerate(LINES[number]):
            member = tarfile.TarInfo(f"{line}.txt")
            member.size = len(text)
            archive.addfile(member, io.BytesIO(text))
    return out.getvalue()


#  What the files are, the source, the folder of what is made of them, and how many files that are each.
#  `bad.txt` of a spool is empty, and not opened in a later run.
MADE = {
    "indexes": (lines_of, "text: {{files: \"{folder}/data/*\"}}", "tundish", 1, 1),
    "indexes of compressed files": (lambda number: gzip.compress(lines_of(number)),
                                    "text: {{files: \"{folder}/data/*\"}}", "tundish", 1, 1),
    "spools": (lambda number: gzip.compress(lines_of(number)),
               "text: {{files: \"{folder}/data/*\", " + SPOOL + "}}", "spool", 4, 3),
    "archives": (lambda number: gzip.compress(archive_of(number)),
                 "tar: {{files: \"{folder}/data/*\", " + SPOOL + "}}", "spool", 2, 2),
}


def write_files(folder, pack):
    (folder / "data").mkdir()
    for number in range(FILES):
        (folder / "data" / f"{number:03}").write_bytes(pack(number))


def rows_of(folder):
    """The bytes of all rows, in their order."""
    done = subprocess.run([str(TUNDISH), "head", "--json", "--steps", "99", str(folder / "graph.yaml")],
                          capture_output=True, text=True, cwd=ROOT, timeout=60,
                          env={**os.environ, "XDG_CACHE_HOME": str(folder)})
    assert done.returncode == 0, done.stderr
    steps = [column for line in done.stdout.splitlines() for column in json.loads(line)["columns"].values()]
    return [bytes(step["data"][begin:end]) for step in steps
            for begin, end in zip(step["splits"], step["splits"][1:])]


def test_indexes_and_spools_are_made_several_at_a_time_and_opened_once(folder):
    for name, (pack, source, below, made, used) in MADE.items():
        place = folder / name.replace(" ", "-")
        place.mkdir()
        write_files(place, pack)
        source = source.format(folder=place)
        (place / below).mkdir()
        for count in (made, used):  # by this run, and by the next
            calls, most, _ = opens_of(place, source, "", below, MAKERS)
            assert calls == count * FILES and most == MAKERS, (name, calls, most)
        assert rows_of(place) == [line for lines in LINES for line in lines], name


def test_the_first_damaged_file_is_named_first(folder):
    """Whichever thread finds its damage first: it is the largest."""
    write_files(folder, lambda number: gzip.compress(archive_of(number)))
    damaged = gzip.compress(os.urandom(1 << 23), 1)
    for number in (7, 8, 30):
        data = bytearray(gzip.compress(archive_of(number)) if number != 7 else damaged)
        data[-8] ^= 1  # the checksum of the content
        (folder / "data" / f"{number:03}").write_bytes(data)
    graph = folder / "graph.yaml"
    graph.write_text(GRAPH.format(source=MADE["archives"][1].format(folder=folder), access=""))
    done = subprocess.run([str(TUNDISH), "run", str(graph)], capture_output=True, text=True, cwd=ROOT, timeout=60)
    named = [line.split("/data/")[1][:3] for line in done.stderr.splitlines() if "is not spooled" in line]
    assert done.returncode == 78 and named == ["007", "008", "030"], (named, done.stderr)
    whole = sorted(path.name[:3] for path in (folder / "spool").glob("*.tar"))
    assert whole == [f"{number:03}" for number in range(FILES) if number not in (7, 8, 30)], whole


def test_the_limit_of_a_spool_is_for_all_that_write_to_it(folder):
    """What all archives need fits; a byte less does not, and is never exceeded."""
    write_files(folder, lambda number: gzip.compress(archive_of(number)))
    # Of each its content, a header and two hashes.
    need = sum(len(archive_of(number)) + 320 + 16 for number in range(FILES))
    graph = folder / "graph.yaml"
    for limit, code in ((need - 1, 78), (need, 0)):
        source = MADE["archives"][1].format(folder=folder).replace("1GiB", f"{limit}B")
        graph.write_text(GRAPH.format(source=source, access=""))
        done = subprocess.run([str(TUNDISH), "run", str(graph)], capture_output=True, text=True, cwd=ROOT, timeout=60)
        assert done.returncode == code and ("would be larger than `limit:" in done.stderr) == (code != 0), done.stderr
        assert sum(path.stat().st_size for path in (folder / "spool").iterdir()) <= limit


def test_a_few_descriptors_suffice(folder):
    """Fewer threads make what is made then."""
    for name, (pack, source, *_) in MADE.items():
        place = folder / name.replace(" ", "-")
        place.mkdir()
        write_files(place, pack)
        graph = place / "graph.yaml"
        graph.write_text(GRAPH.format(source=source.format(folder=place), access=", access: read"))
        done = subprocess.run(["sh", "-c", f"ulimit -n 64; exec {TUNDISH} run --quiet {graph}"], text=True,
                              capture_output=True, cwd=ROOT, timeout=60, env={**os.environ, "XDG_CACHE_HOME": str(place)})
        assert done.returncode == 0, (name, done.stderr)


if __name__ == "__main__":
    sys.exit(run_named(globals(), sys.argv[1:], in_folder))
