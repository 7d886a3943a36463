#!/usr/bin/env python3
"""Indexes, spools and stores of caches: what has its name is on the disk, and what changed is not used.

Usage: stores.py NAME...; without a name it lists them.
"""
import gzip
import io
import json
import os
import random
import shutil
import subprocess
import sys
import tarfile

from durable import Call, Disk
from named import in_folder, run_named
from run import BUILD, ROOT, TUNDISH

ROWS = 300
GRAPH = """tundish: 1
seed: {seed}
actors:
  read:  {{kind: reader, epochs: 1, source: {source}}}
{more}  batch: {{kind: batcher, size: 10}}
  feed:  {{kind: feeder}}
links:
  - read -> {way}batch -> feed
"""
#  Lengths of their own, and no number twice.
LINES = [b"%d,%s" % (row, b"x" * (row % 7)) for row in range(ROWS)]
KEPT = """  prep:  {{kind: preprocessor, ops: [{{pad_ragged: {{column: line, to: 12, cut: true}}}}{ops}]}}
  keep:  {{kind: cache, limit: 16MiB, store: {{dir: {folder}/disk/store}}{more}}}
"""


def archive(samples):
    """A compressed archive whose size does not depend on what its members contain."""
    plain = io.BytesIO()
    with tarfile.open(fileobj=plain, mode="w", format=tarfile.USTAR_FORMAT) as out:
        for number, data in enumerate(samples):
            info = tarfile.TarInfo(f"{number:04}.txt")
            info.size = len(data)
            out.addfile(info, io.BytesIO(data))
    return gzip.compress(plain.getvalue(), 0, mtime=0)


class Damaged(Exception):
    """A run that was refused or failed, with what it said."""


class Stored:
    """A graph whose files below `disk` are those that are looked at."""

    def __init__(self, folder):
        self.folder, self.disk = folder, folder / "disk"
        self.disk.mkdir(exist_ok=True)
        self.env = {**os.environ, "XDG_CACHE_HOME": str(self.disk / "cache")}

    def write(self, source, more="", way="", seed=7):
        (self.folder / "graph.yaml").write_text(GRAPH.format(source=source, more=more, way=way, seed=seed))

    def run(self, *words, **env):
        done = subprocess.run([str(TUNDISH), *words, str(self.folder / "graph.yaml")], text=True, cwd=ROOT,
                              capture_output=True, timeout=60, env={**self.env, **env})
        assert done.returncode == 0, done.stderr
        return done.stdout

    def digest(self):
        """Of a run's stream; what it said is in `said`.  Damaged: it has failed."""
        done = subprocess.run([str(TUNDISH), "run", str(self.folder / "graph.yaml")], text=True, cwd=ROOT,
                              capture_output=True, timeout=60, env=self.env)
        self.said = done.stderr
        if done.returncode != 0:
            raise Damaged(done.stderr)
        return done.stdout.split("stream ")[1]

    def rows(self):
        """All that is fed, by step and column."""
        lines = self.run("head", "--json", "--steps", "99").splitlines()
        return [json.loads(line)["columns"] for line in lines]

    def calls(self):
        """What a run asked of the disk."""
        log = self.folder / "calls"
        self.run("run", "--quiet", LD_PRELOAD=str(BUILD / "tests" / "disk.so"), DISK_LOG=str(log),
                 DISK_ROOT=str(self.disk))
        return [Call(line, log) for line in log.read_text().splitlines()]

    def files(self):
        return sorted(str(path) for path in self.disk.rglob("*") if path.is_file())


def is_on_the_disk(run, *endings):
    """Each file had all of its bytes on the disk when it was given its name."""
    disk, placed = Disk(run.disk), []
    for call in run.calls():
        disk.take(call)
        if call.kind in ("rename", "link"):
            path = call.paths[-1]
            with open(path, "rb") as file:
                assert disk.kept.get(call.inode) == file.read(), f"{call}: its bytes may be lost"
            placed.append(path)
    assert sorted(placed) == run.files(), (placed, run.files())
    for ending in endings:
        assert any(path.endswith(ending) for path in placed), (ending, placed)


def test_an_index_has_its_bytes_before_its_name(folder):
    run = Stored(folder)
    (folder / "lines.txt").write_bytes(b"".join(line + b"\n" for line in LINES))
    run.write(f"{{text: {{files: {folder}/lines.txt}}}}")
    is_on_the_disk(run, ".npy")


def test_a_spool_has_its_bytes_before_its_names(folder):
    run = Stored(folder)
    (folder / "lines.txt.gz").write_bytes(gzip.compress(b"".join(line + b"\n" for line in LINES)))
    run.write(f"{{text: {{files: {folder}/lines.txt.gz, spool: {{dir: {folder}/disk/spool, limit: 1GiB}}}}}}")
    is_on_the_disk(run, ".values.npy", ".splits.npy", ".hashes.npy", ".bad.txt")


def test_a_spooled_archive_has_its_bytes_before_its_name(folder):
    run = Stored(folder)
    (folder / "x.tar.gz").write_bytes(archive(LINES))
    run.write(f"{{tar: {{files: {folder}/x.tar.gz, spool: {{dir: {folder}/disk/spool, limit: 1GiB}}}}}}")
    is_on_the_disk(run, ".tar", ".hashes.npy")


def test_a_store_has_its_files_before_its_name(folder):
    """All of them, with their names; then the folder gets its own, which is synced too."""
    run = Stored(folder)
    (folder / "lines.txt").write_bytes(b"".join(line + b"\n" for line in LINES))
    run.env["XDG_CACHE_HOME"] = str(folder / "cache")
    run.write(f"{{text: {{files: {folder}/lines.txt}}}}", KEPT.format(folder=folder, ops="", more=""),
              "prep -> keep -> ")
    disk, placed = Disk(run.disk), None
    for call in run.calls():
        if call.kind == "rename":
            draft, placed = call.paths
            written = {name: inode for name, inode in disk.names.items()
                       if name.startswith(draft + "/") and inode is not None}
            wanted = {path.replace(placed, draft) for path in run.files()}
            assert set(written) == wanted, (sorted(written), sorted(wanted))
            for name, inode in written.items():
                with open(name.replace(draft, placed), "rb") as file:
                    assert disk.kept.get(inode) == file.read(), f"{call}: the bytes of {name} may be lost"
                assert disk.safe.get(name) == inode, f"{call}: the name {name} may be lost"
            synced = False
        elif placed is not None:
            synced = synced or (call.kind == "sync" and call.paths[0] == os.path.dirname(placed))
        disk.take(call)
    assert placed is not None and synced, "the name of the store may be lost"


def each_is_new(run, changes):
    """After each change the rows are those that are read without what was stored before it."""
    seen = []
    for change in changes:
        change()
        run.write(*run.graph)
        kept = run.rows()
        fresh = Stored.__new__(Stored)
        fresh.folder, fresh.env = run.folder, {**run.env, "XDG_CACHE_HOME": str(run.folder / f"fresh-{len(seen)}")}
        text = (run.folder / "graph.yaml").read_text()
        (run.folder / "graph.yaml").write_text(text.replace("/disk/", f"/fresh-{len(seen)}/"))
        assert kept == fresh.rows(), f"change {len(seen)}: rows that were stored before it"
        assert kept not in seen, f"change {len(seen)} changes nothing"
        seen.append(kept)


def put(path, data):
    """A file that keeps its time."""
    path.write_bytes(data)
    os.utime(path, ns=(10**18, 10**18))


def test_what_was_stored_of_another_content_is_not_used(folder):
    """Of the same name, size and time."""
    first, second = LINES, [line[::-1] for line in LINES]
    for name, pack, source in (
            ("x.txt", lambda rows: b"\n".join(rows) + b"\n", "{text: {files: %s}}"),
            ("y.txt.gz", lambda rows: gzip.compress(b"\n".join(rows) + b"\n", 0, mtime=0),
             "{text: {files: %s, spool: {dir: " + f"{folder}/{{}}/disk/spool" + ", limit: 1GiB}}}"),
            ("z.tar.gz", archive,
             "{tar: {files: %s, spool: {dir: " + f"{folder}/{{}}/disk/spool" + ", limit: 1GiB}}}")):
        place = folder / f"of-{name}"
        place.mkdir()
        run = Stored(place)
        run.graph = (source.replace("{}", place.name) % (place / name),)
        assert len(pack(first)) == len(pack(second))
        each_is_new(run, [lambda: put(place / name, pack(first)), lambda: put(place / name, pack(second))])


def test_a_store_is_of_all_bytes_where_the_reader_verifies_them(folder):
    """A byte in the middle of a large file changes, not its size, time, first and last 64 KiB."""
    first = b"".join(b"%07d\n" % row for row in range(30000))
    second = first[:120000] + b"9" + first[120001:]
    run = Stored(folder)
    run.graph = (f"{{text: {{files: {folder}/x.txt}}}}, skip: 14950, take: 100, verify: full",
                 KEPT.format(folder=folder, ops="", more=""), "prep -> keep -> ")
    each_is_new(run, [lambda: put(folder / "x.txt", first), lambda: put(folder / "x.txt", second)])


def test_a_frozen_store_is_not_used_for_another_seed(folder):
    run = Stored(folder)
    (folder / "lines.txt").write_bytes(b"".join(line + b"\n" for line in LINES))
    kept = KEPT.format(folder=folder, ops=", {reshape: {column: line, shape: [3, 4, 1]}}, {random_flip: {column: line}}", more=", freeze: true")

    def seeded(seed):
        run.graph = (f"{{text: {{files: {folder}/lines.txt}}}}", kept, "prep -> keep -> ", seed)

    each_is_new(run, [lambda: seeded(7), lambda: seeded(8), lambda: seeded(7 + (1 << 33))])


def flip(path, bit):
    """Returns the byte that has changed."""
    with open(path, "r+b") as file:
        at = bit // 8 % os.path.getsize(path)
        file.seek(at)
        byte = file.read(1)[0]
        file.seek(at)
        file.write(bytes([byte ^ 1 << bit % 8]))
    return at


def spooled_or_stored(folder):
    """Graphs whose rows come from files below `disk`, by name."""
    lines = b"".join(b"%06d,%s\n" % (row, b"x" * (row % 300)) for row in range(2000))
    (folder / "lines.txt").write_bytes(lines)
    # The last record is cut, so there is a list of bad ones too.
    (folder / "lines.txt.gz").write_bytes(gzip.compress(lines)[:-2000])
    yield "spool", (f"{{text: {{files: {folder}/lines.txt.gz, spool: {{dir: {folder}/disk/spool, limit: 1GiB}}}}}}, on_error: skip",)
    (folder / "x.tar.gz").write_bytes(archive([b"%06d" % row * (row % 9) for row in range(200)]))
    yield "archive", (f"{{tar: {{files: {folder}/x.tar.gz, spool: {{dir: {folder}/disk/archive, limit: 1GiB}}}}}}",)
    yield "store", (f"{{text: {{files: {folder}/lines.txt}}}}",
                    KEPT.format(folder=folder, ops="", more=""), "prep -> keep -> ")


def test_a_bit_that_flips_in_what_was_stored_changes_no_row(folder):
    """It is an error that names the file, or the rows are the same."""
    draw = random.Random(7)
    for name, graph in spooled_or_stored(folder):
        run = Stored(folder)
        run.env["XDG_CACHE_HOME"] = str(folder / "cache")
        run.write(*graph)
        first, damaged = run.digest(), 0
        assert run.digest() == first
        paths = [path for path in run.files() if f"/{name}/" in path]
        assert len(paths) == {"spool": 4, "archive": 2, "store": 3}[name], paths
        for number in range(12):
            path, bit = paths[number % len(paths)], draw.randrange(1 << 40)
            if os.path.getsize(path) == 0:
                continue
            at = flip(path, bit)
            try:
                assert run.digest() == first, f"{name}: byte {at} of {path} changed rows"
            except Damaged as error:
                damaged += 1
                assert "is damaged: bytes" in error.args[0] and path in error.args[0], error
                flip(path, bit)
        assert damaged > 0, name
        shutil.rmtree(run.disk)


def fails_after(run, path, at):
    """A run names the file once a bit of that byte has flipped."""
    flip(path, at * 8)
    try:
        run.digest()
    except Damaged as error:
        assert path in error.args[0] and "is damaged: bytes" in error.args[0], error
    else:
        raise AssertionError(f"byte {at} of {path} changed without a message")
    flip(path, at * 8)


def test_the_last_byte_of_a_row_of_many_chunks_is_compared(folder):
    """And chunks beside one that was compared already."""
    run = Stored(folder)
    (folder / "lines.txt.gz").write_bytes(gzip.compress(b"short\n" * 10 + b"x" * 200000 + b"\n"))
    run.write(f"{{text: {{files: {folder}/lines.txt.gz, spool: {{dir: {folder}/disk/spool, limit: 1GiB}}}}}}")
    run.digest()
    values, = [path for path in run.files() if path.endswith(".values.npy")]
    for at in (320, 320 + 65535, 320 + 65536, 320 + 131072, 320 + 200049):
        fails_after(run, values, at)


def long_names(between):
    """Two files with long names, and another one of so many bytes between them."""
    plain = io.BytesIO()
    with tarfile.open(fileobj=plain, mode="w", format=tarfile.PAX_FORMAT) as out:
        for name, data in (("0.txt", b"row"), ("0.bin", bytes(between)), (f"1{'n' * 200}.txt", b"last")):
            info = tarfile.TarInfo(name)
            info.size = len(data)
            out.addfile(info, io.BytesIO(data))
    return plain.getvalue()


def test_all_bytes_of_a_spooled_archive_are_compared(folder):
    """Those of a name in an extended header too: it has a sum of itself, not of its names.  No bytes that are
    read follow it in its chunk.  The others are in the middle of a long row."""
    run = Stored(folder)
    more = 4 * 65536 - long_names(1024).index(b"last")
    plain = long_names(1024 + more)
    assert plain.index(b"last") == 4 * 65536, plain.index(b"last")
    for columns, at in (("{text: txt}", plain.index(b"path=1n") + 50), ("{other: bin, text: txt}", 100000)):
        # The second sample has no .bin.
        (folder / "x.tar.gz").write_bytes(gzip.compress(plain))
        run.write(f"{{tar: {{files: {folder}/x.tar.gz, columns: {columns}, spool: {{dir: {folder}/disk/spool, limit: 1GiB}}}}}}, on_error: skip")
        run.digest()
        path, = [path for path in run.files() if path.endswith(".tar")]
        fails_after(run, path, at)
        shutil.rmtree(folder / "disk" / "spool")


def test_what_was_stored_without_hashes_is_made_again_with_a_message(folder):
    """As earlier versions did."""
    for name, graph in spooled_or_stored(folder):
        run = Stored(folder)
        run.env["XDG_CACHE_HOME"] = str(folder / "cache")
        run.write(*graph)
        first = run.digest()
        hashes, = [path for path in run.files() if "hashes.npy" in path]
        os.unlink(hashes)
        assert run.digest() == first
        assert "made again" in run.said and os.path.basename(hashes).split(".hashes")[0] in run.said, run.said
        assert os.path.exists(hashes) and run.digest() == first and "made again" not in run.said, run.said
        shutil.rmtree(run.disk)


if __name__ == "__main__":
    sys.exit(run_named(globals(), sys.argv[1:], in_folder))
