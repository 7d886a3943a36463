#!/usr/bin/env python3
"""`tundish index`: indexes of data files, built in advance, listed and removed."""
import gzip
import json
import os
import pty
import re
import signal
import subprocess

import numpy

from command import TUNDISH, holds, main, run, same


def cache(folder):
    """The environment of a user with an empty cache."""
    return {"XDG_CACHE_HOME": str(folder / "cache")}


def kept(folder):
    return sorted((folder / "cache" / "tundish").iterdir())


def offsets(rows):
    return numpy.cumsum([0, *(len(row) + 1 for row in rows)])


def lines(path, count=1000):
    rows = [b"%d" % number ** 3 for number in range(count)]
    path.write_bytes(b"".join(row + b"\n" for row in rows))
    return rows


def indexes(folder, *words):
    code, out, err = run("index", *words, "--json", env=cache(folder))
    same(code, 0, err)
    return json.loads(out)["indexes"]


def test_an_index_is_built_once_and_numpy_reads_it(folder):
    rows = lines(folder / "a.txt")
    (folder / "b.csv").write_bytes(b'h,k\n"x\ny",1\n2,3\n')
    code, out, err = run("index", folder / "a.txt", folder / "b.csv", env=cache(folder))
    same((code, err), (0, ""))
    holds(out, "a.txt: 1,000 records; its index is written to", "b.csv: 3 records")
    csv, text = [path for path in sorted(kept(folder), reverse=True)]
    numpy.testing.assert_array_equal(numpy.load(text), offsets(rows))
    numpy.testing.assert_array_equal(numpy.load(csv), [0, 4, 12, 16])
    assert numpy.load(text).dtype == "<u8"
    holds(run("index", folder / "a.txt", env=cache(folder))[1], "1,000 records; its index exists")
    same(run("index", folder / "a.txt", "--quiet", env=cache(folder)), (0, "", ""))
    same([one["built"] for one in indexes(folder, folder / "a.txt")], [False])


def test_options_of_the_source_are_those_of_the_index(folder):
    (folder / "b.csv").write_bytes(b'h;k\n"x\ny"\n2;3\n')
    words = (folder / "b.csv", "--as", "csv: {header: true, delimiter: ';'}")
    same([one["records"] for one in indexes(folder, *words)], [2])
    same([one["records"] for one in indexes(folder, folder / "b.csv")], [3])
    same(len(kept(folder)), 2)
    for wrong, why in (("cvs", "sources are"), ("csv: {heeder: true}", "csv has no option `heeder`"),
                       ("csv: {", "--as")):
        code, out, err = run("index", folder / "b.csv", "--as", wrong, env=cache(folder))
        same((code, out), (78, ""), wrong)
        holds(err, why)


def test_the_index_of_a_compressed_file_is_of_its_content(folder):
    rows = lines(folder / "a.txt")
    (folder / "a.txt.gz").write_bytes(gzip.compress((folder / "a.txt").read_bytes()))
    same([(one["records"], one["format"]) for one in indexes(folder, folder / "a.txt.gz")],
         [(1000, "lines-gzip")])
    numpy.testing.assert_array_equal(numpy.load(kept(folder)[0])[:-1], offsets(rows))


def test_files_that_need_no_index_and_files_that_have_none_are_named(folder):
    numpy.save(folder / "x.npy", numpy.arange(9))
    code, out, err = run("index", folder / "x.npy", env=cache(folder))
    same((code, out), (0, ""))
    holds(err, "x.npy needs no index", "`npy`")
    lines(folder / "a.txt")
    (folder / "empty").write_bytes(b"")
    (folder / "set").mkdir()
    for name, words in (("none", "No such file"), ("empty", "empty"), ("set", "is a directory")):
        code, out, err = run("index", folder / name, folder / "a.txt", env=cache(folder))
        same(code, 78, name)
        holds(err, name, words)
        holds(out, "a.txt: 1,000 records")
    for words in ((), ("--list", "--remove"), ("--list", "--beside")):
        same(run("index", *words, env=cache(folder))[0], 2, words)
    code, _, err = run("index", folder / "a.txt", "--beside", env={"XDG_CACHE_HOME": "/proc"})
    same(code, 0, err)
    code, _, err = run("index", folder / "x.npy", folder / "a.txt", env={"XDG_CACHE_HOME": "/proc"})
    same(code, 0, err)
    lines(folder / "c.txt")
    code, _, err = run("index", folder / "c.txt", env={"XDG_CACHE_HOME": "/proc"})
    same(code, 78)
    holds(err, "cannot be stored", "XDG_CACHE_HOME")


def test_indexes_are_listed_and_removed(folder):
    for name in ("a.txt", "b.txt", "c.txt"):
        lines(folder / name)
        indexes(folder, folder / name)
    indexes(folder, folder / "a.txt")
    listed = indexes(folder, "--list")
    same([one["file"] for one in listed], ["a.txt", "c.txt", "b.txt"], "used last first")
    same([(one["records"], one["format"], one["bytes"]) for one in listed],
         [(1000, "lines", os.path.getsize(kept(folder)[0]))] * 3)
    holds(run("index", "--list", env=cache(folder))[1], "1,000 records (lines)", listed[0]["index"])
    same(indexes(folder, "--list", folder / "b.txt")[0]["index"], listed[2]["index"])
    code, out, _ = run("index", "--remove", folder / "b.txt", env=cache(folder))
    same((code, len(kept(folder))), (0, 2))
    holds(out, f"removed {listed[2]['index']}")
    holds(run("index", "--list", folder / "b.txt", env=cache(folder))[2], "b.txt: has no index")
    (folder / "c.txt").write_text("changed")  # its index is of what was there before
    holds(run("index", "--list", folder / "c.txt", env=cache(folder))[2], "c.txt: has no index")
    same(indexes(folder, "--remove", listed[1]["index"])[0]["file"], listed[1]["index"])
    code, _, err = run("index", "--remove", listed[1]["index"], env=cache(folder))
    same((code, [path.name[0] for path in kept(folder)]), (78, ["a"]))
    holds(err, "no such index")
    (folder / "cache" / "tundish" / "mine.npy").write_bytes(b"")
    same(run("index", "--remove", env=cache(folder))[0], 0)
    same([path.name for path in kept(folder)], ["mine.npy"], "other files stay")


TEXT = """tundish: 1
actors:
  read:  {kind: reader, source: {text: {files: "%s"%s}}}
  batch: {kind: batcher, size: 4000}
links:
  - read -> batch
"""


def rows_of(folder, files, options=""):
    (folder / "graph.yaml").write_text(TEXT % (files, options))
    code, out, err = run("head", folder / "graph.yaml", "--json", env=cache(folder))
    same(code, 0, err)
    return json.loads(out)["rows"]


def test_an_index_beside_the_data_is_used_and_is_no_data(folder):
    lines(folder / "part-1.txt")
    lines(folder / "part-2.txt")
    same(run("index", "--beside", folder / "part-1.txt", folder / "part-2.txt",
             env=cache(folder))[0], 0)
    same(len(list(folder.glob("part-*.txt.*.lines.npy"))), 2)
    same(rows_of(folder, folder / "part-*"), 2000)
    assert not (folder / "cache").exists()
    same(run("index", "--remove", folder / "part-1.txt", env=cache(folder))[0], 0)
    same(len(list(folder.glob("part-*.txt.*.lines.npy"))), 1)


def test_the_indexes_used_longest_ago_are_removed_above_the_limit(folder):
    for name in "abcd":
        lines(folder / f"{name}.txt")
        indexes(folder, folder / f"{name}.txt")
    indexes(folder, folder / "a.txt")
    each = os.path.getsize(kept(folder)[0])
    lines(folder / "e.txt")
    same(rows_of(folder, folder / "e.txt", f", index_limit: {3 * each}B"), 1000)
    same([path.name[0] for path in kept(folder)], ["a", "d", "e"])
    # Those of the source itself remain, whatever the limit.
    same(rows_of(folder, folder / "[a-c].txt", ", index_limit: 1B"), 3000)
    same([path.name[0] for path in kept(folder)], ["a", "b", "c"])


def test_a_terminal_sees_how_far_it_is(folder):
    """The line is drawn again and again, and gone at the end."""
    (folder / "a.txt").write_bytes(b"x\n" * 3000000)
    lines(folder / "b.txt")
    own, other = pty.openpty()
    process = subprocess.Popen([TUNDISH, "index", str(folder / "a.txt"), str(folder / "b.txt")],
                               env={**os.environ, **cache(folder), "TERM": "xterm"}, stdout=other)
    os.close(other)
    shown = b""
    while True:
        try:
            shown += os.read(own, 65536)
        except OSError:  # its last writer has ended
            break
    same(process.wait(), 0)
    assert re.search(rb"indexing [12] of 2 files, \d+ %", shown), shown
    screen = re.sub(rb"[^\n]*\r\x1b\[K", b"", shown).decode().splitlines()
    same(sorted(line.split(" records")[0] for line in screen),
         [f"{folder}/a.txt: 3,000,000", f"{folder}/b.txt: 1,000"])
    plain = run("index", folder / "a.txt", env=cache(folder))[1]
    assert "\x1b" not in plain and "\r" not in plain, plain


def writes_into(process, folder):
    """Whether a process has an unfinished file in the folder."""
    try:
        fds = list(os.scandir(f"/proc/{process.pid}/fd"))
        return any(os.readlink(fd.path).startswith(str(folder)) for fd in fds)
    except OSError:
        return False


def start(folder, path):
    return subprocess.Popen([TUNDISH, "index", str(path)], env={**os.environ, **cache(folder)},
                            stdout=subprocess.PIPE, stderr=subprocess.STDOUT)


def test_a_process_killed_while_it_indexes_leaves_nothing_that_is_used(folder):
    path = folder / "a.txt"
    path.write_bytes(b"\n" * 3000000)
    killed = 0
    while killed < 3:
        process = start(folder, path)
        while process.poll() is None and not writes_into(process, folder / "cache"):
            pass
        process.kill()
        process.communicate()
        if process.returncode == -signal.SIGKILL:
            killed += 1
            same([one for one in kept(folder) if one.name.endswith(".npy")], [])
        else:
            same(run("index", "--remove", env=cache(folder))[0], 0)
    code, out, _ = run("index", path, env=cache(folder))
    same(code, 0)
    holds(out, "3,000,000 records; its index is written to")
    (index,) = kept(folder)
    numpy.testing.assert_array_equal(numpy.load(index), numpy.arange(3000001))


def test_processes_that_index_one_file_at_the_same_time_end_with_one(folder):
    path = folder / "a.txt"
    path.write_bytes(b"x\n" * 300000)
    some = [start(folder, path) for _ in range(4)]
    said = [process.communicate()[0].decode() for process in some]
    same([process.returncode for process in some], [0] * 4, said)
    (index,) = kept(folder)
    numpy.testing.assert_array_equal(numpy.load(index), numpy.arange(300001) * 2)


main(globals())
