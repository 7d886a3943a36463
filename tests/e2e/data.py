#!/usr/bin/env python3
"""A run resumes only with the data of its checkpoint, wherever they are.

Usage: data.py NAME...; without a name it lists them.
"""
import gzip
import json
import os
import shutil
import subprocess
import sys
import tarfile

from faults import one_sentence, write_npy
from named import in_folder, run_named
from run import ROOT, TUNDISH, free_port

ROWS, WIDTH = 6000, 64
GRAPH = """tundish: 1
seed: 7
data: {data}
actors:
  read:  {{kind: reader, source: {{npy: {{x: "${{data}}/x.npy", y: "${{data}}/y.npy"}}}}, shuffle: global, epochs: 2{read}}}
  batch: {{kind: batcher, size: 64}}
  feed:  {{kind: feeder}}
links:
  - read -> batch -> feed
checkpoint: {{dir: {dir}, every: 50 steps}}
"""
MIDDLE = 200000  # a byte of x.npy that is in neither of its ends


# What each format has where nothing was written: a file, and the options of a source of it.
def nothing(folder):
    def tar(path, mode):
        tarfile.open(path, mode).close()
        return path

    def write(name, data=b""):
        (folder / name).write_bytes(data)
        return folder / name

    packed = write("none.gz", gzip.compress(b""))
    write_npy(folder / "x.npy", "<f4", (0, 3), b"")
    write_npy(folder / "v.npy", "<f4", (0,), b"")
    write_npy(folder / "s.npy", "<i8", (1,), bytes(8))
    columns = "columns: {jpg: jpg}"
    lines = f"text: {{files: {write('none.txt')}}}"
    return {
        "npy": f"npy: {{x: {folder}/x.npy}}",
        "npy of a ragged column": f"npy: {{x: {{values: {folder}/v.npy, splits: {folder}/s.npy}}}}",
        "idx": f"idx: {{x: {write('none.idx', bytes([0, 0, 8, 2]) + bytes(7) + bytes([4]))}}}",
        "idx of i32": f"idx: {{x: {write('i32.idx', bytes([0, 0, 12, 1]) + bytes(4))}}}",
        "raw": f"raw: {{files: {write('none.bin')}, columns: {{x: u8}}}}",
        "raw with a header": f"raw: {{files: {write('head.bin', bytes(8))}, header: 8B, columns: {{x: u8}}}}",
        "raw by gzip": f"raw: {{files: {packed}, columns: {{x: u8}}}}",
        "text": lines,
        "text by gzip": f"text: {{files: {packed}}}",
        "text that is spooled": f"text: {{files: {packed}, spool: {{dir: {folder}/spool, limit: 1GiB}}}}",
        "several files of text": f"text: {{files: [{folder}/none.txt, {write('more.txt')}]}}",
        "csv": f"csv: {{files: {write('none.csv')}}}",
        "csv of a header": f"csv: {{files: {write('head.csv', b'a,b' + bytes([10]))}, header: true}}",
        "tfrecord": f"tfrecord: {{files: {write('none.tfrecord')}}}",
        "tfrecord by gzip": f"tfrecord: {{files: {packed}}}",
        "tar": f"tar: {{files: {tar(folder / 'none.tar', 'w')}, {columns}}}",
        "tar by gzip": f"tar: {{files: {tar(folder / 'none.tar.gz', 'w:gz')}, {columns}}}",
        "tar without columns": f"tar: {{files: {folder}/none.tar}}",
        "tar by gzip without columns": f"tar: {{files: {folder}/none.tar.gz}}",
        "tar of no bytes": f"tar: {{files: {write('zero.tar')}, {columns}}}",
        "memory": "memory: {x: {dtype: f32, shape: [3], data: []}}",
        "concatenate": f"concatenate: [{{{lines}}}, {{{lines}}}]",
        "zip": f"zip: [{{{lines}}}, {{npy: {{x: {folder}/x.npy}}}}]",
    }


def test_a_source_without_rows_is_one_of_no_rows_in_every_format(folder):
    for name, source in nothing(folder).items():
        for more in ("", ", epochs: 3, shuffle: global", ", access: read", ", skip: 5, take: 7"):
            if more and "ny.tar" in source:
                continue
            shuffled = "shuffle" in more
            if shuffled and ("gz" in source or name == "memory"):
                continue
            (folder / "g.yaml").write_text(f"""tundish: 1
actors:
  read:  {{kind: reader, source: {{{source}}}{more}}}
  batch: {{kind: batcher, size: 2}}
  feed:  {{kind: feeder}}
links: [read -> batch -> feed]
""")
            done = subprocess.run([str(TUNDISH), "run", str(folder / "g.yaml")], capture_output=True, text=True,
                                  timeout=60, env={"XDG_CACHE_HOME": str(folder / "cache"), "PATH": "/usr/bin"})
            text = done.stdout + done.stderr
            assert done.returncode == 0, (name, more, text)
            assert f"done: 0 steps, 0 rows, {3 if shuffled else 1} epoch" in text, (name, more, text)
            assert "warning: no step was fed: the source gave no rows" in text, (name, more, text)
            assert text.count(" warning its source has no rows") == 1, (name, more, text)


def test_new_and_inspect_take_files_without_rows(folder):
    """Of a set that one writer left without rows, and of one file."""
    for i, rows in enumerate((3, 0, 2)):
        write_npy(folder / f"x-{i}.npy", "<f4", (rows, 2), bytes(8 * rows))
        for ending, row in (("txt", b"line\n"), ("csv", b"1,2\n")):
            (folder / f"l-{i}.{ending}").write_bytes(row * rows)
    for ending in ("npy", "txt", "csv"):
        pattern = f"{folder}/{'x' if ending == 'npy' else 'l'}-*.{ending}"
        for files, rows in ((pattern, 5), (pattern.replace("*", "1"), 0)):
            for command in ("new", "inspect"):
                done = subprocess.run([str(TUNDISH), command, files], capture_output=True, text=True, timeout=60,
                                      env={"XDG_CACHE_HOME": str(folder / "cache"), "PATH": "/usr/bin"})
                assert done.returncode == 0, (command, files, done.stderr)
            assert f"records      {rows}\n" in done.stdout, done.stdout
            note = f"-1.{ending}: has no rows"
            assert note in done.stdout, done.stdout
    (folder / "none.txt.gz").write_bytes(gzip.compress(b""))
    (folder / "none.csv").touch()
    (folder / "zero.tar").touch()
    for name, mode in (("none.tar", "w"), ("none.tar.gz", "w:gz")):
        tarfile.open(folder / name, mode).close()
    for name in ("none.txt.gz", "none.csv", "zero.tar", "none.tar", "none.tar.gz"):
        note = f"{folder}/{name}: has no rows"
        for command in (["new"], ["inspect"], ["inspect", "--json"]):
            done = subprocess.run([str(TUNDISH), *command, folder / name], capture_output=True, text=True,
                                  timeout=60, env={"XDG_CACHE_HOME": str(folder / "cache"), "PATH": "/usr/bin"})
            assert done.returncode == 0, (command, name, done.stderr)
            if "--json" in command:
                (found,) = json.loads(done.stdout)["inputs"]
                assert (found["records"], found["notes"][0]) == (0, note), found
            else:
                assert note in done.stdout, done.stdout


class Job:
    def __init__(self, folder, read=""):
        self.folder, self.data = folder, folder / "data"
        self.graph = folder / "graph.yaml"
        self.data.mkdir()
        self.write(ROWS)
        self.graph.write_text(GRAPH.format(data=self.data, dir=folder / "kept", read=read))

    def write(self, rows):
        write_npy(self.data / "x.npy", "|u1", (rows, WIDTH),
                  bytes(i * 7 % 251 for i in range(rows * WIDTH)))
        write_npy(self.data / "y.npy", "|u1", (rows,), bytes(i % 10 for i in range(rows)))

    def run(self, *words, expect=0):
        report = self.folder / "report.json"
        done = subprocess.run([str(TUNDISH), "run", str(self.graph), "--report", str(report),
                               *map(str, words)], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              text=True, timeout=60, cwd=ROOT)
        assert done.returncode == expect, f"exit code {done.returncode}\n{done.stdout}"
        return json.loads(report.read_text()) if expect == 0 else done.stdout

    def refused(self, *words, about):
        one_sentence(self.run("--resume", *words, expect=78), "cannot resume", *about)

    def cursor(self):
        done = subprocess.run([str(TUNDISH), "cursor", "--json", str(self.folder / "kept")],
                              capture_output=True, text=True, timeout=60)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)


def digest(job):
    """Of the whole run, undisturbed."""
    return job.run("--set", f"checkpoint.dir={job.folder / 'other'}")["stream_digest"]


def change(path, at=MIDDLE, restore_time=False):
    """Changes one byte; the time of the file is later then, whatever the clock of its disk does."""
    was = os.stat(path)
    with open(path, "r+b") as file:
        file.seek(at)
        byte = file.read(1)[0]
        file.seek(at)
        file.write(bytes([byte ^ 1]))
    touch(path, was.st_mtime_ns + (0 if restore_time else 10**7))


def touch(path, ns):
    os.utime(path, ns=(ns, ns))


def touched(path):
    touch(path, os.stat(path).st_mtime_ns + 10**7)


def test_a_changed_byte_in_the_middle_is_refused(folder):
    job = Job(folder)
    job.run("--steps", 60)
    change(job.data / "x.npy")
    job.refused(about=("${data}/x.npy", "modification time", "--trust-data", "verify: full"))
    # Not even the user can say that other bytes are the same, where they can be compared.
    change(job.data / "x.npy", at=200)
    job.refused("--trust-data", about=("${data}/x.npy", "first or last 64 KiB"))


def test_another_size_is_refused(folder):
    job = Job(folder)
    job.run("--steps", 60)
    job.write(ROWS + 1)
    job.refused("--trust-data", about=("${data}/x.npy", f"{128 + (ROWS + 1) * WIDTH} bytes and had "
                                       f"{128 + ROWS * WIDTH}"))


def test_the_same_bytes_with_another_time(folder):
    job = Job(folder)
    stream = digest(job)
    job.run("--steps", 60)
    touched(job.data / "y.npy")
    job.refused(about=("${data}/y.npy", "modification time"))
    assert job.run("--resume", "--trust-data")["stream_digest"] == stream


def test_hashes_of_whole_files_decide(folder):
    job = Job(folder, read=", verify: full")
    stream = digest(job)
    job.run("--steps", 60)
    touched(job.data / "x.npy")
    job.run("--resume", "--steps", 70)
    change(job.data / "x.npy")
    job.refused("--trust-data", about=("${data}/x.npy", "hash of its bytes"))
    job.refused("--set", "read.verify=quick", about=("${data}/x.npy", "did not hash"))
    change(job.data / "x.npy")
    assert job.run("--resume")["stream_digest"] == stream
    # A byte that changed while the modification time did not is found too.
    job.run("--set", f"checkpoint.dir={folder / 'third'}", "--steps", 60)
    change(job.data / "x.npy", restore_time=True)
    job.refused(f"--resume={folder / 'third'}", about=("${data}/x.npy", "hash of its bytes"))


def test_another_folder(folder):
    """Moved, it is the same data; copied with its times, too; copied without them it must be said."""
    job = Job(folder)
    stream = digest(job)
    job.run("--steps", 60)
    job.data.rename(folder / "moved")
    job.run("--resume", "--data", folder / "moved", "--steps", 70)
    shutil.copytree(folder / "moved", folder / "copied")
    job.run("--resume", "--data", folder / "copied", "--steps", 80)
    for path in (folder / "copied").iterdir():
        touched(path)
    job.refused("--data", folder / "copied", about=("${data}/x.npy",))
    told = job.run("--resume", "--data", folder / "copied", "--trust-data")
    assert told["stream_digest"] == stream, told


def test_cursor_prints_the_files(folder):
    job = Job(folder, read=", verify: full")
    job.run("--steps", 60)
    files = {file["name"]: file for file in job.cursor()["files"]}
    assert set(files) == {"${data}/x.npy", "${data}/y.npy"}, files
    for name, told in files.items():
        stat = os.stat(job.data / name[8:])
        assert (told["bytes"], told["modified_ns"]) == (stat.st_size, stat.st_mtime_ns), told
        assert len(told["hash"]) == 32 and len(told["ends"]) == 16, told
    done = subprocess.run([str(TUNDISH), "cursor", str(folder / "kept")], capture_output=True,
                          text=True, timeout=60)
    for word in ("${data}/x.npy, 375.1 KiB, modified at ", files["${data}/x.npy"]["hash"]):
        assert word in done.stdout, done.stdout


LANES = """port: {port}
hosts:
  a: {{address: 127.0.0.1, lanes: 1, data: {folder}/a, actors: [read, batch, feed]}}
  b: {{address: 127.0.0.1, lanes: 1, data: {folder}/b, actors: [read, batch, feed]}}
"""


def test_each_host_has_its_own_files(folder):
    """More of them than one message between hosts can list."""
    count = 900
    for name in "ab":
        (folder / name).mkdir()
    for i in range(count):
        write_npy(folder / "ab"[i % 2] / f"{'part' * 20}-{i:03}.npy", "|u1", (4,), bytes(range(4)))
    graph = folder / "graph.yaml"
    graph.write_text("tundish: 1\nseed: 7\nlanes: 2\nactors:\n  read: {kind: reader, shard: file, source: "
                     f"{{npy: {{x: \"${{data}}/{'part' * 20}-[000-{count - 1}].npy\"}}}}}}\n"
                     "  batch: {kind: batcher, size: 32, replicas: 2}\n  feed: {kind: feeder}\nlinks:\n"
                     f"  - read -> batch -> feed\ncheckpoint: {{dir: {folder}/kept}}\n")

    def run(*words, expect):
        overlay = folder / "two.yaml"
        overlay.write_text(LANES.format(port=free_port(), folder=folder))
        done = subprocess.run([str(TUNDISH), "up", str(graph), str(overlay), *words],
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=60,
                              cwd=ROOT)
        assert done.returncode == expect, f"exit code {done.returncode}\n{done.stdout}"
        return done.stdout

    run("--steps", "20", expect=0)
    done = subprocess.run([str(TUNDISH), "cursor", "--json", str(folder / "kept")], capture_output=True,
                          text=True, timeout=60)
    assert done.returncode == 0, done
    assert len(json.loads(done.stdout)["files"]) == count
    run("--resume", "--steps", "30", expect=0)
    last = f"{'part' * 20}-{count - 1}.npy"
    touched(folder / "b" / last)
    text = run("--resume", expect=78)
    assert "cannot resume" in text and last in text, text
    run("--resume", "--trust-data", expect=0)


if __name__ == "__main__":
    sys.exit(run_named(globals(), sys.argv[1:], in_folder))
