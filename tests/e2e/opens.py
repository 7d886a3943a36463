#!/usr/bin/env python3
"""Many files are opened once each, by several threads, in every format: a server far away answers late.

Usage: opens.py NAME...; without a name it lists them.
"""
import gzip
import io
import os
import struct
import subprocess
import sys
import tarfile

from named import in_folder, run_named
from run import BUILD, ROOT, TUNDISH

FILES, THREADS = 40, 8
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


def opens_of(folder, source, access):
    """How often a run opens its files, how many at once, and what it says."""
    graph, log = folder / "graph.yaml", folder / "opens"
    graph.write_text(GRAPH.format(source=source, access=access))
    env = {**os.environ, "LD_PRELOAD": str(BUILD / "tests" / "opens.so"), "OPENS_LOG": str(log),
           "OPENS_ROOT": f"{folder}/data/", "XDG_CACHE_HOME": str(folder)}
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


if __name__ == "__main__":
    sys.exit(run_named(globals(), sys.argv[1:], in_folder))
