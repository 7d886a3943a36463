#!/usr/bin/env python3
"""A read-only file system: runs do without what they would store there, or name it, the path and what helps.

Usage: read_only.py NAME...; without a name it lists them.  Needs a mount namespace.
"""
import gzip
import io
import os
import subprocess
import sys
import tarfile

from named import in_folder, run_named
from run import SKIP, TUNDISH

GRAPH = """tundish: 1
actors:
  read:  {{kind: reader, source: {{{source}}}{more}}}
{keep}  batch: {{kind: batcher, size: 8}}
  feed:  {{kind: feeder}}
links:
  - read{link} -> batch -> feed
{settings}"""
READ_ONLY = "Read-only file system; "
# Mounts a folder upon itself, read-only, for the command that follows.
MOUNT = ["unshare", "-m", "sh", "-c",
         'mount --bind "$0" "$0" && mount -o remount,bind,ro "$0" && cd "$0" && exec "$@"']


def call(folder, *words, code=0):
    """What a command says where nothing can be written in the folder."""
    env = {**os.environ, "XDG_CACHE_HOME": f"{folder}/cache"}
    done = subprocess.run([*MOUNT, str(folder), str(TUNDISH), *map(str, words)], capture_output=True,
                          text=True, cwd=folder, env=env, timeout=60)
    assert done.returncode == code, (words, done.returncode, done.stdout, done.stderr)
    return done.stdout + done.stderr


def write(folder):
    (folder / "lines.txt").write_text("".join(f"line {i}\n" for i in range(100)))
    (folder / "lines.gz").write_bytes(gzip.compress((folder / "lines.txt").read_bytes()))
    with tarfile.open(folder / "rows.tar.gz", "w:gz") as archive:
        member = tarfile.TarInfo("a.txt")
        member.size = 3
        archive.addfile(member, io.BytesIO(b"row"))


def graph(folder, source, more="", keep="", settings=""):
    path = folder / "graph.yaml"
    path.write_text(GRAPH.format(source=source, more=more, keep=keep, settings=settings,
                                 link=" -> keep" if keep else ""))
    return path


def test_an_index_is_kept_in_memory(folder):
    write(folder)
    for source, advice in (("text: {files: lines.txt}", "set XDG_CACHE_HOME to a folder that can be written"),
                           ("text: {files: lines.txt, index: beside}", "store it in the cache, without `beside`")):
        said = call(folder, "run", graph(folder, source, ", shuffle: global"))
        assert "100 rows" in said and "kept in memory for this run" in said, said
        assert READ_ONLY + advice in said and "make room" not in said, said
    said = call(folder, "inspect", folder / "lines.txt")
    assert "records      100" in said, said


def test_an_index_that_was_asked_for_is_an_error(folder):
    write(folder)
    for words, place in ((["lines.txt"], f"{folder}/cache/tundish/lines.txt."), (["--beside", "lines.txt"], "./lines.txt.")):
        said = call(folder, "index", *words, code=78)
        assert place in said and "cannot be stored there: " + READ_ONLY in said, said
        assert "memory" not in said, said


def test_what_cannot_be_stored_is_named_with_what_helps(folder):
    write(folder)
    spool = f"spool: {{dir: {folder}/to, limit: 1GiB}}"
    for source, more, settings, code in (
            (f"text: {{files: lines.gz, {spool}}}", "", "", 78),
            (f"tar: {{files: rows.tar.gz, {spool}}}", "", "", 78),
            ("text: {files: lines.txt}", f", on_error: quarantine, quarantine: {folder}/to", "", 1),
            ("text: {files: lines.txt}", "", f"checkpoint: {{dir: {folder}/to, every: 2 steps}}\n", 78)):
        said = call(folder, "run", graph(folder, source, more, "", settings), code=code)
        assert f"{folder}/to" in said and READ_ONLY + "choose another folder" in said, said


def test_an_output_file_is_named_with_what_helps(folder):
    write(folder)
    path = graph(folder, "text: {files: lines.txt}")
    for words, code in ((["new", "lines.txt", "-o", "new.yaml"], 1),
                        (["run", path, "--report", "report.json"], 2)):
        said = call(folder, *words, code=code)
        assert f"{words[-1]}: cannot be written: " + READ_ONLY + "choose another folder" in said, said


def main():
    if subprocess.run([*MOUNT, "/tmp", "true"], capture_output=True).returncode != 0:
        print("no file system can be mounted here")
        return SKIP
    return run_named(globals(), sys.argv[1:], in_folder)


if __name__ == "__main__":
    sys.exit(main())
