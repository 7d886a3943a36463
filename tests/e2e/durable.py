#!/usr/bin/env python3
"""What is on the disk when the machine loses its power, after every call that a run made.

Usage: durable.py [--states N] [NAME...]; without a name it lists them.  Runs resume from N states, spread
evenly; 0: all that there are.  A shim logs what a run asks of the disk:
opened, written, synced, renamed, removed.  The log is replayed onto a model of a disk that keeps
only what it must: the bytes of a file as of its last sync, the names of a folder as of its own.
"""
import argparse
import inspect
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

from bad import Run
from named import run_named
from run import BUILD, ROOT, TUNDISH

ROWS, REFUSE, EVERY = 1200, 97, 4
BAD = [number for number in range(ROWS) if number % REFUSE == 0]


class Call:
    """One line of the log."""

    def __init__(self, line, log):
        self.kind, inode, copy, *self.paths = line.split("\t")
        self.inode = int(inode)
        self.bytes = None if copy == "-" else pathlib.Path(f"{log}.{copy}").read_bytes()

    def __str__(self):
        return f"{self.kind} {' -> '.join(self.paths)}"


class Disk:
    """Files and folders below `root`: what programs see, and what a crash leaves."""

    def __init__(self, root):
        self.root = str(root)
        self.seen, self.kept = {}, {}    # by inode: the bytes
        self.names, self.safe = {}, {}   # by path: the inode, None for a folder

    def put(self, path, inode):
        self.names[path] = inode
        if inode is None:
            return
        # What is called the same afterwards is another file.
        self.seen.setdefault(inode, b"")

    def take(self, call):
        path = call.paths[-1]
        folder = call.bytes is None
        if call.kind in ("open", "write", "sync", "rename", "link") and not folder:
            self.seen[call.inode] = call.bytes
        if call.kind == "mkdir":
            self.put(path, None)
        elif call.kind == "unlink":
            self.names.pop(path, None)
        elif call.kind == "rename":
            self.names.pop(call.paths[0], None)
            self.put(path, call.inode)
        elif call.kind in ("open", "link") or (call.kind in ("write", "sync") and not folder):
            if path.startswith(self.root) and not path.endswith("(deleted)"):
                self.put(path, call.inode)
        if call.kind == "sync" and not folder:
            self.kept[call.inode] = call.bytes
        if call.kind == "sync" and folder:
            inside = re.compile(re.escape(path) + r"/[^/]+")
            for name in [name for name in self.safe if inside.fullmatch(name)]:
                if name not in self.names:
                    del self.safe[name]
            self.safe.update((name, inode) for name, inode in self.names.items()
                             if inside.fullmatch(name))

    def is_synced(self, path):
        """Whether the bytes of a file that is called so are safe."""
        inode = self.names[path]
        return self.kept.get(inode) == self.seen[inode]

    def after_crash(self, how):
        """The files and folders that are left, by path below the root; None for a folder."""
        names = self.safe if how == "strict" else self.names
        left = {}
        for name, inode in sorted(names.items()):
            above = os.path.dirname(name)
            if above != self.root and left.get(above[len(self.root):], 0) is not None:
                continue  # the folder that it is in is not there
            inside = name[len(self.root):]
            if inode is None:
                left[inside] = None
                continue
            seen, kept = self.seen[inode], self.kept.get(inode, b"")
            left[inside] = {"strict": kept, "names": kept, "all": seen,
                            "half": seen[:(len(kept) + len(seen)) // 2]}[how]
        return left


class Logged(Run):
    """A run in a folder `disk`, whose calls are logged."""

    def __init__(self, folder):
        super().__init__(folder, ROWS)
        self.disk = folder / "disk"
        self.disk.mkdir()
        self.calls_log = folder / "calls"
        self.report = self.disk / "report.json"
        self.kept, self.aside, self.model = (self.disk / name for name in ("kept", "aside", "model"))
        # Folders that the user made are there.
        self.kept.mkdir()
        self.aside.mkdir()

    def write(self, **words):
        super().write(step=", step: {plugin: witness}", refuse=REFUSE, block=64, aside=self.aside,
                      settings=f"checkpoint: {{dir: {self.kept}, every: {EVERY} steps, keep: 2}}",
                      **words)

    def logged(self):
        self.write()
        self.report.write_text("an older report")
        self.env.update(LD_PRELOAD=str(BUILD / "tests" / "disk.so"), DISK_LOG=str(self.calls_log),
                        DISK_ROOT=str(self.disk))
        self.start("--save", self.model)
        self.ends(0)
        for name in ("LD_PRELOAD", "DISK_LOG", "DISK_ROOT"):
            del self.env[name]
        return [Call(line, self.calls_log) for line in self.calls_log.read_text().splitlines()]

    def fresh(self):
        """What the folder has before the run."""
        disk = Disk(self.disk)
        for folder in (self.kept, self.aside):
            disk.names[str(folder)] = disk.safe[str(folder)] = None
        return disk


def test_what_takes_its_place_is_on_the_disk(run):
    """A name that programs look for is given to bytes that are synced, and is synced itself."""
    calls, disk = run.logged(), run.fresh()
    placed, unsafe = [], set()
    for call in calls:
        disk.take(call)
        if call.kind not in ("rename", "link"):
            if call.kind == "sync" and call.bytes is None:
                unsafe = {path for path in unsafe if os.path.dirname(path) != call.paths[0]}
            continue
        path = call.paths[-1]
        unsafe.discard(call.paths[0])
        assert disk.is_synced(path), f"{call}: its bytes are not on the disk"
        # All models of a checkpoint have their names before its manifest has.
        if path.endswith("/manifest"):
            rest = {other for other in unsafe if os.path.dirname(other) == os.path.dirname(path)}
            assert not rest, f"{call}, but these names may be lost: {sorted(rest)}"
        unsafe.add(path)
        placed.append(path[len(str(run.disk)):])
    assert not unsafe, f"these names may be lost: {sorted(unsafe)}"
    # Of those before, a disk that is slow may not get the manifests.
    wanted = [f"/kept/step-{step:08}/{name}" for step in (12, 13)
              for name in ("model-0", "model-1", "model-2", "manifest")]
    whole = sorted(path.parent.name for path in run.kept.glob("step-*/manifest"))
    assert whole == ["step-00000012", "step-00000013"], f"keep: 2, and there are {whole}"
    assert sorted(path.name for path in run.kept.glob("step-*")) == whole, "folders without one"
    missing = set(wanted + ["/report.json", "/model"]) - set(placed)
    assert not missing, f"never took their place by a rename: {sorted(missing)}"
    assert not [call for call in calls if call.kind in ("open", "write")
                and re.search(r"/(manifest|model-\d+)$", call.paths[0])], "written in its place"


def bad_before(manifest, folder):
    """How many records were set aside before the cursor of a checkpoint."""
    (folder / "manifest").write_bytes(manifest)
    done = subprocess.run([str(TUNDISH), "cursor", str(folder / "manifest"), "--json"],
                          capture_output=True, text=True, cwd=ROOT, check=True)
    return json.loads(done.stdout)["rows"]["bad"]


def test_rows_are_set_aside_before_their_index_and_that_before_the_cursor(run):
    calls, disk = run.logged(), run.fresh()
    lines, checked = 0, 0
    for call in calls:
        disk.take(call)
        path = call.paths[-1]
        files = [name for name in disk.names if name.startswith(str(run.aside) + "/")]
        if call.kind == "write" and path.endswith("index.0.jsonl") and call.bytes.count(b"\n") > lines:
            lines = call.bytes.count(b"\n")
            late = [name for name in files if name.endswith(".npy") and not disk.is_synced(name)]
            assert not late, f"line {lines} of the index is written, but {late} are not synced"
        if call.kind == "rename" and path.endswith("/manifest"):
            kept = disk.after_crash("strict").get("/aside/index.0.jsonl", b"").count(b"\n")
            wanted = bad_before(call.bytes, run.folder)
            assert kept >= wanted, f"{call}: {kept} of {wanted} lines of the index are safe"
            checked += wanted > 0
    assert lines == len(BAD) and checked > 1, (lines, checked)


def test_after_every_call_a_run_resumes_or_starts_again(run, wanted):
    """Power fails after every call; what is left must lead to the end of the run, as if it had not."""
    calls, disk = run.logged(), run.fresh()
    stream, model = run.told()["stream_digest"], run.told()["model_digest"]
    states, most = {}, ""
    for at, call in enumerate(calls):
        disk.take(call)
        for how in ("strict", "names", "half", "all"):
            left = {path: bytes_ for path, bytes_ in disk.after_crash(how).items()
                    if path.startswith(("/kept", "/aside"))}
            states.setdefault(json.dumps([(path, bytes_.hex() if bytes_ is not None else None)
                                          for path, bytes_ in sorted(left.items())]), (at, how, left))
            whole = sorted(path.split("/")[2] for path in left if path.endswith("/manifest"))
            if how == "strict":
                assert max(["", *whole]) >= most, f"after call {at} ({call}) {most} may be lost"
                most = max([most, *whole])
    assert most == "step-00000013", f"at the end the newest that is safe is {most}"
    some = list(states.values())
    if 0 < wanted < len(some):
        some = [some[i * len(some) // wanted] for i in range(wanted)]
    print(f"{len(calls)} calls, {len(states)} states, gone on from {len(some)}")
    for at, how, left in some:
        goes_on(run, f"after call {at} ({calls[at]}), {how}", left, stream, model)


def goes_on(run, where, left, stream, model):
    for name in ("kept", "aside"):
        shutil.rmtree(run.disk / name, ignore_errors=True)
        (run.disk / name).mkdir()
    for path, bytes_ in sorted(left.items()):
        place = pathlib.Path(str(run.disk) + path)
        if bytes_ is None:
            place.mkdir(exist_ok=True)
        else:
            place.write_bytes(bytes_)
    run.start("--resume")
    try:
        run.ends(0)
        told = run.told()
        assert (told["stream_digest"], told["model_digest"]) == (stream, model), told
        records = sorted(line["record"] for line in
                         map(json.loads, (run.aside / "index.0.jsonl").read_text().splitlines()))
        assert records == BAD, records
    except AssertionError as error:
        raise AssertionError(f"{where}: {sorted(left)}\n{error}") from error


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--states", type=int, default=30)
    parser.add_argument("names", nargs="*")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as pages:
        os.environ["XDG_RUNTIME_DIR"] = pages

        def call(test):
            with tempfile.TemporaryDirectory() as folder:
                run = Logged(pathlib.Path(folder))
                wanted = inspect.signature(test).parameters
                test(run, options.states) if "wanted" in wanted else test(run)

        return run_named(globals(), options.names, call)


if __name__ == "__main__":
    sys.exit(main())
