#!/usr/bin/env python3
"""`tundish follow --row F:N`: where a row of a data file is, checked against the rows that `head` shows."""
import gzip
import json
import os
import signal

import numpy

from command import FED, FEED, free_port, holds, main, run, same, topology
from ps import hanging, looks
from runs import Started

NOWHERE = "tundish follow: no run `{}` on this machine: this is where the row is in every run of these files\n"


def write(folder, files=1, rows=100):
    """x-0.npy ...: the values are numbered over all files."""
    for f in range(files):
        numpy.save(folder / f"x-{f}.npy", numpy.arange(f * rows, (f + 1) * rows, dtype="i8"))
    return ", ".join(f'"${{data}}/x-{f}.npy"' for f in range(files))


def graph(folder, read="", batch="size: 32", files=1, top="", prep="", more=""):
    names = write(folder, files)
    path = folder / "rows.yaml"
    links = f"read -> {'prep -> ' if prep else ''}batch -> feed"
    path.write_text(f"tundish: 1\nname: rowrun\nseed: 7\ndata: {folder}\n{top}actors:\n"
                    f"  read: {{kind: reader, source: {{npy: {{x: [{names}]{more}}}}}{read}}}\n{prep}"
                    f"  batch: {{kind: batcher, {batch}}}\n  feed: {{kind: feeder}}\nlinks: [{links}]\n")
    return path


def fed(*files):
    """The value of each row that is fed, by (step, replica, row of the replica)."""
    code, out, err = run("head", *files, "--steps", "1000", "--json")
    same(code, 0, err)
    return [json.loads(line) for line in out.splitlines()]


def row_of(name, *files, epoch=None):
    words = () if epoch is None else ("--epoch", epoch)
    code, out, err = run("follow", "--row", name, *files, "--json", *words)
    same(code, 0, err)
    assert err.endswith(NOWHERE.format("rowrun")), err
    found = json.loads(out)
    same(found["committed_steps"], None)
    return found["places"]


def check(files, rows=100, count=1, epochs=1, last=None):
    """Rows are where `head` has them."""
    batches = {}
    for one in fed(*files):
        batches.setdefault(one["step"], []).append(one["columns"]["x"]["data"])
    where = {}
    for step, replicas in batches.items():
        values = [(r, value) for r, data in enumerate(replicas) for value in data]
        for at, (replica, value) in enumerate(values):
            where.setdefault(value, []).append((step, at, replica))
    for file in range(count):
        for row in sorted({0, 1, rows // 3, last if last is not None else rows - 1}):
            for epoch in range(epochs):
                place, = row_of(f"x-{file}.npy:{row}", *files, epoch=epoch)
                same((place["step"], place["batch_row"], place["replica"]),
                     where[file * rows + row][epoch], (file, row, epoch))
                same(place["epoch"], epoch)


def test_a_row_is_where_it_is_fed(folder):
    check([graph(folder, ", shuffle: global, epochs: 2", "size: 32, replicas: 3")], epochs=2)


def test_rows_of_lanes_are_where_they_are_fed(folder):
    check([graph(folder, ", shuffle: global", "size: 32, replicas: 2", top="lanes: 3\n")])
    check([graph(folder, ", shuffle: tensorflow", "size: 30, replicas: 2, remainder: pad",
                 top="lanes: 2\n")])


def test_rows_of_lanes_with_files_of_their_own_are_where_they_are_fed(folder):
    check([graph(folder, ", shuffle: global, shard: file", "size: 32, replicas: 2", files=4,
                 top="lanes: 2\n")], count=4)


def test_batches_that_are_left_out_are_counted(folder):
    check([graph(folder, "", "size: 8, skip: 0, take: 13, remainder: keep")], last=99)
    path = graph(folder, "", "size: 32, remainder: drop")
    code, out, _ = run("follow", "--row", "x-0.npy:96", path)
    same((code, out), (1, f"row 96 of {folder}/x-0.npy is at position 96 of lane 0 in epoch 0, and in no "
                          "step: the last batch is short, and `remainder: drop`\n"))
    same(row_of("x-0.npy:95", path)[0]["step"], 2)
    path = graph(folder, "", "size: 8, skip: 2, take: 3")
    for row, why in (15, "skip"), (40, "take"):
        code, out, _ = run("follow", "--row", f"x-0.npy:{row}", path)
        same(code, 1)
        holds(out, f"in no step: `{why}` of the batcher leaves its batch out")
    same([row_of(f"x-0.npy:{row}", path)[0]["step"] for row in (16, 39)], [0, 2])


def test_a_row_that_is_read_twice_has_two_places(folder):
    path = graph(folder, ", repeat: 2", "size: 100")
    same([(place["position"], place["step"]) for place in row_of("x-0.npy:7", path)],
         [(7, 0), (107, 1)])


def test_a_row_that_is_left_out_is_explained(folder):
    for read, row, why in ((", skip: 10", 9, "`skip: 10` leaves it out"),
                           (", take: 10", 10, "`take: 10` leaves it out"),
                           (", order: [{shard: {count: 4, index: 1}}]", 6,
                            "it reads shard 1, and shard 2 has the row")):
        code, out, err = run("follow", "--row", f"x-0.npy:{row}", graph(folder, read))
        same((code, err), (1, ""))
        same(out, f"row {row} of {folder}/x-0.npy is not in this run: {why}\n")
    for part in 0, 1:
        path = graph(folder, f", part: {{of: [80, 20], index: {part}}}")
        here = 0
        for row in range(0, 100, 7):
            code, out, _ = run("follow", "--row", f"x-0.npy:{row}", path, "--json")
            found = json.loads(out)
            here += code == 0
            same(found["left_out"], None if code == 0 else
                 f"it reads part {part}, and part {1 - part} has the row")
        assert 0 < here < 15, here
    for kind in "stratified", "by":
        told = {}
        for chosen in ("index: 0", "index: 1", "index: 2", "index: 3", "except: 1"):
            path = graph(folder, f", part: {{of: [1, 1, 1, 1], {chosen}, {kind}: g}}", more=", g: \"${data}/g.npy\"")
            numpy.save(folder / "g.npy", numpy.arange(100) % 10)
            told[chosen] = [json.loads(run("follow", "--row", f"x-0.npy:{row}", path, "--json")[1])["left_out"]
                            for row in range(0, 100, 9)]
        for index, row in enumerate(zip(*told.values())):
            own = row.index(None)
            wanted = [f"it reads part {part}, and part {own} has the row" if part != own else None for part in range(4)]
            same(list(row), [*wanted, None if own != 1 else "it reads parts 0, 2, 3, and part 1 has the row"], (kind, index))


def test_what_the_run_alone_finds_out_is_said(folder):
    prep = "  prep: {kind: preprocessor, ops: [{filter: {expr: x > 3}}]}\n"
    code, out, err = run("follow", "--row", "x-0.npy:7", graph(folder, prep=prep))
    same((code, out), (0, f"row 7 of {folder}/x-0.npy is at position 7 of lane 0 in epoch 0; its step is "
                          "not known before the run: operations drop or add rows\n"))
    (folder / "a.txt.gz").write_bytes(gzip.compress(b"a\nb\n"))
    for source, text in (
            (f"text: {{files: {folder}/a.txt.gz}}",
             "the source `text` reads its files from start to end, so which row is where is not known"),
            ("memory: {x: {dtype: u8, data: [1, 2]}}",
             "the rows of the source `memory` are not rows of a file")):
        path = folder / "other.yaml"
        path.write_text(f"tundish: 1\nname: rowrun\nactors:\n  read: {{kind: reader, source: {{{source}}}}}\n"
                        "  batch: {kind: batcher, size: 2}\n  feed: {kind: feeder}\n"
                        "links: [read -> batch -> feed]\n")
        code, out, err = run("follow", "--row", "a.txt.gz:0", path)
        same((code, out), (1, ""))
        holds(err, text)


def test_bad_input_is_refused(folder):
    path = graph(folder, ", epochs: 2", files=6)
    (folder / "sub").mkdir()
    for words, text in (
            (("x-0.npy:100",), f"{folder}/x-0.npy has 100 rows, numbered from 0: row 100 does not exist"),
            (("x-9.npy:1",), "no source has a file `x-9.npy`; did you mean `x-0.npy`?"),
            (("quite/other:1",), f"no source has a file `quite/other`; they have {folder}/x-0.npy, "
             f"{folder}/x-1.npy, {folder}/x-2.npy, {folder}/x-3.npy and 2 more"),
            (("x-0.npy",), "--row takes a file and the number of a row from 0, such as x.npy:12345, not"),
            (("x-0.npy:-1",), "--row takes a file"), ((":1",), "--row takes a file"),
            (("x-0.npy:1", "--epoch", "2"), "epoch 2 does not exist: the run has 2 epochs, numbered from 0"),
            (("x-0.npy:1", "--epoch", "4294967296"), "--epoch takes a number below"),
            (("x-0.npy:1", "--sample", "1"), "--sample and --row exclude each other")):
        code, out, err = run("follow", "--row", *words, path)
        same((code, out), (2, ""), words)
        holds(err, text)
    same(run("follow", "--row", "x-0.npy:1")[0], 2)
    same(run("follow", "--row", "x-0.npy:1", path, "--", "a", "b")[0], 2)
    same(run("follow", "--epoch", "1", "--sample", "1")[0], 2)
    os.rename(folder / "x-5.npy", folder / "sub/x-0.npy")
    path.write_text(path.read_text().replace("/x-5.npy", "/sub/x-0.npy"))
    code, _, err = run("follow", "--row", "x-0.npy:1", path)
    same(code, 2)
    holds(err, f"`x-0.npy` may be {folder}/x-0.npy, {folder}/sub/x-0.npy: write more of the path")
    same(row_of("sub/x-0.npy:3", path)[0]["position"], 503)
    os.remove(folder / "x-1.npy")
    same(run("follow", "--row", "sub/x-0.npy:3", path)[0], 78)


def states(*words, environment):
    """What is said of rows of the run: the step that each is in, and where it is now."""
    code, out, _ = run("follow", "--row", *words, "--json", "--last", env=environment)
    same(code, 0)
    first, *events, now = [json.loads(line) for line in out.splitlines()]
    return first["places"][0]["step"], now["state"], [event["event"] for event in events]


def check_states(environment, *files):
    """Steps 0 and 1 are committed, and 2 hangs; 100 rows in batches of 32."""
    for row, step, state in (0, 0, "committed"), (63, 1, "committed"), (64, 2, "on_its_way"):
        got = states(f"x.npy:{row}", *files, "--epoch", "0", environment=environment)
        same(got[:2], (step, state), row)
        assert ("step_committed" in got[2]) == (state == "committed"), got
    same(states("x.npy:0", *files, "--epoch", "900", environment=environment),
         (3600, "waits", []))


def until_it_hangs(environment):
    """Waits until the feeder is in the step that hangs."""
    for told in looks(environment):
        for process in told["processes"]:
            for actor in process["actors"]:
                if process["state"] != "killed" and process["run"] == "stuck" and \
                        [(d["state"], d["step"]) for d in actor["devices"]] == [("step", 2)]:
                    return
    raise AssertionError("step 2 never began")


def test_a_row_is_followed_in_a_run(folder):
    with hanging(folder, read=", epochs: 1000") as (environment, process):
        until_it_hangs(environment)
        path = folder / "graph.yaml"
        check_states(environment, path)
        code, out, err = run("follow", "--row", "x.npy:64", path, "--last", env=environment)
        same((code, err), (0, ""))
        holds(out, "is at position 64 of lane 0 in epoch 0: step 2 (2 of its epoch), row 0 of the batch, "
                   "replica 0\n", "now: on its way (last: feed")
        code, out, _ = run("follow", "--row", "x.npy:0", path, "--last", "--epoch", "0", "--",
                           process.pid, env=environment)
        same((code, out.splitlines()[-1]), (0, "now: committed"))
        code, _, err = run("follow", "--row", "x.npy:0", path, "--set", "seed=8", env=environment)
        same(code, 2)
        holds(err, "these are not the files of the run `stuck`: it has seed 7 and 1 lanes")
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
        check_states(environment, path)


def test_a_row_is_followed_in_a_run_of_three_hosts(folder):
    with hanging(folder, read=", epochs: 1000") as (environment, _):
        pass  # writes the files
    overlay = folder / "three.yaml"
    overlay.write_text(f"port: {free_port()}\nhosts:\n  a: {{actors: [read]}}\n  b: {{actors: [batch]}}\n"
                       "  c: {actors: [feed]}\n")
    path = folder / "graph.yaml"
    os.environ.update(environment)
    started = Started("up", path, overlay)
    try:
        until_it_hangs(environment)
        check_states(environment, path, overlay)
    finally:
        started.process.send_signal(signal.SIGINT)
        started.until("draining")
        started.process.send_signal(signal.SIGINT)
        started.end()


if __name__ == "__main__":
    main(globals())
