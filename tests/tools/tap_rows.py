#!/usr/bin/env python3
"""`tundish tap --rows`: rows that pass are copied; `tundish head --position` shows them again."""
import contextlib
import hashlib
import json
import os
import signal
import subprocess

import numpy

from command import FED, FEED, TUNDISH, arrays, holds, is_sanitized, main, run, same, topology
from ps import looks

RUN = "tapped"
ROWS = 100
PREP = "  prep: {kind: preprocessor, ops: [{random_flip: {column: image}}]}\n"
PREPARED = ["read -> prep -> batch -> feed"]


@contextlib.contextmanager
def running(folder, path):
    """A run that does not end; the environment to find it by, and its process."""
    environment = {"XDG_RUNTIME_DIR": str(folder)}
    process = subprocess.Popen([TUNDISH, "run", "--quiet", str(path)],
                               env={**os.environ, **environment})
    try:
        for told in looks(environment):
            same(process.poll(), None)
            if any(one["run"] == RUN and one["state"] == "running" for one in told["runs"]):
                break
        yield environment, process
    finally:
        process.kill()
        process.wait()


def tapped(where, environment, *words):
    code, out, err = run("tap", where, RUN, "--json", "-d", "50s", *words, env=environment)
    same((code, err), (0, ""))
    return [json.loads(line) for line in out.splitlines()]


def steps_of(environment):
    return json.loads(run("ps", RUN, "--json", env=environment)[1])["runs"][0]["steps"]


def digest(columns):
    """Of all bytes of the rows, whatever their number of rows is printed as."""
    return hashlib.sha256(json.dumps(columns, sort_keys=True).encode()).hexdigest()


def endless(folder, **more):
    made = arrays(folder, rows=ROWS, images=True)
    return made, topology(folder, columns="x y image", top=f"name: {RUN}\n",
                          read=", shuffle: global, epochs: 100000000", **more)


def again(path, actor, sample, *words):
    """The same rows, as `head` shows them."""
    code, out, err = run("head", path, "--at", actor, "--json", "--position",
                         f"{sample['epoch']}:{sample['position']}", *words)
    same((code, err), (0, ""))
    return json.loads(out.splitlines()[0])


def cut(shown, rows):
    """The first rows of what was shown."""
    columns = {}
    for name, column in shown["columns"].items():
        ends = column.get("splits")
        size = ends[rows] if ends else len(column["data"]) // column["shape"][0] * rows
        columns[name] = {**column, "shape": [rows, *column["shape"][1:]],
                         "data": column["data"][:size]}
        if ends:
            columns[name]["splits"] = ends[:rows + 1]
    return columns


def test_head_shows_again_what_passed(folder):
    made, path = endless(folder, links=PREPARED, actors=FEED % "" + PREP)
    with running(folder, path) as (environment, _):
        for actor, edge in ("read", "read.0"), ("prep", "prep..batch"):
            samples = tapped(edge, environment, "--rows", "3", "-n", "4")
            same(len(samples), 4)
            for sample in samples:
                same((sample["event"], sample["actor"]), ("block_sent", f"{actor}.0"))
                rows = sample["sample"]["rows"]
                assert 0 < rows <= 32 and rows <= sample["positions"], sample
                same(sample["sample"]["first"], sample["position"])
            for sample in samples[0], samples[-1]:
                rows = min(sample["sample"]["rows"], 32)
                shown = again(path, actor, sample)
                rows = min(rows, shown["rows"])
                same(digest(cut(sample["sample"], rows)), digest(cut(shown, rows)))
            # The reader sends rows of the file; their order is a permutation.
            if actor == "read":
                got = numpy.array(samples[0]["sample"]["columns"]["x"]["data"], "f4").reshape(-1, 3)
                files = {row.tobytes() for row in made["x"]}
                assert {row.tobytes() for row in got} <= files
                same(len({row.tobytes() for row in got}), len(got))
        # Not the same picture twice: what is shown depends on epoch and position.
        other = {**samples[0], "epoch": samples[0]["epoch"] + 1}
        assert digest(again(path, "prep", samples[0])["columns"]) != \
            digest(again(path, "prep", other)["columns"])


def test_a_step_is_shown_again(folder):
    _, path = endless(folder, links=FED, actors=FEED % "")
    with running(folder, path) as (environment, _):
        sample = tapped("batch..feed", environment, "--rows", "1", "-n", "1")[0]
    same((sample["event"], sample["rows"], sample["peer"]), ("slice_sent", 32, "feed"))
    few = 3
    code, out, err = run("head", path, "--step", few, "--steps", "1", "--json")
    same((code, err), (0, ""))
    shown = json.loads(out)
    same(shown["step"], few)
    steps = [json.loads(line) for line in
             run("head", path, "--steps", few + 1, "--json")[1].splitlines()]
    same(digest(shown["columns"]), digest(steps[few]["columns"]))


def test_ragged_rows(folder):
    lines = [b"x" * (i * 7 % 40) + str(i).encode() for i in range(ROWS)]
    (folder / "lines.txt").write_bytes(b"\n".join(lines) + b"\n")
    path = folder / "graph.yaml"
    path.write_text(f"tundish: 1\nname: {RUN}\nactors:\n"
                    f"  read: {{kind: reader, source: {{text: {{files: {folder}/lines.txt}}}}, "
                    "epochs: 100000000}\n  batch: {kind: batcher, size: 10}\n"
                    "  feed: {kind: feeder}\nlinks:\n  - read -> batch -> feed\n")
    with running(folder, path) as (environment, _):
        sample = tapped("read", environment, "--rows", "1", "-n", "1")[0]
    column, = sample["sample"]["columns"].values()
    rows = [bytes(column["data"][a:b]) for a, b in zip(column["splits"], column["splits"][1:])]
    at = sample["position"]
    same(rows, lines[at:at + len(rows)], "in the order of the file")
    assert rows


def test_a_tap_that_stops_leaves_the_run_alone(folder):
    _, path = endless(folder, links=FED, actors=FEED % "")
    with running(folder, path) as (environment, process):
        # It prints one block and goes on asking.
        words = [TUNDISH, "tap", "read", RUN, "--rows", "1000000000", "-d", "1000s"]
        with subprocess.Popen(words, env={**os.environ, **environment}, text=True,
                              stdout=subprocess.PIPE) as hung:
            assert "block_sent" in hung.stdout.readline()
            err = ""
            while "another tap reads its rows" not in err:
                same(hung.poll(), None)
                _, _, err = run("tap", "read", RUN, "--rows", "1", "-n", "1", "-d", "100ms",
                                env=environment)
            hung.send_signal(signal.SIGSTOP)
            hung.kill()
        # The run goes on, and the request of the killed one ends by itself.
        begun = steps_of(environment)
        while steps_of(environment) == begun:
            same(process.poll(), None)
        while not run("tap", "read", RUN, "--rows", "1", "-n", "1", "-d", "100ms",
                      env=environment)[1]:
            same(process.poll(), None)


def test_pages_of_many_killed_runs_do_not_keep_it_from_taking_rows(folder):
    _, path = endless(folder, links=FED, actors=FEED % "")
    with running(folder, path):
        pass  # it is killed
    pages, = folder.glob("**/*.pages")
    for i in range(40 if is_sanitized() else 400):  # each is read by one thread
        os.link(pages, pages.with_name(f"tundish-tapped-local-1-{i:016x}.pages"))
    with running(folder, path) as (environment, _):
        same(len(tapped("read", environment, "--rows", "1", "-n", "3")), 3)


def test_refusals(folder):
    _, path = endless(folder, links=PREPARED, actors=FEED % "" + PREP)
    for words, text in [
            (("tap", "read", "--rows", "0"), "--rows takes a number from 1"),
            (("tap", "read", "--rows", "1", "--last"), "--rows shows rows that pass now"),
            (("head", path, "--position", "5"), "--position is for a reader or preprocessor"),
            (("head", path, "--at", "read", "--step", "5"), "--step is for batches"),
            (("head", path, "--at", "read", "--position", "x"), "--position takes a number"),
            (("head", path, "--at", "read", "--position", "1:"), "--position takes a number"),
            (("head", path, "--at", "read", "--position", "99999999999:1"), "takes a number")]:
        code, out, err = run(*words)
        same((code, out), (2, ""), words)
        holds(err, text)
    few = topology(folder, "few.yaml")
    for step in "4", "9999":
        same(run("head", few, "--step", step, "--npz", folder / "none.npz"),
             (2, "", f"tundish head: step {step} does not exist: the run has 4 steps, numbered from 0\n"))
    for position in "100", "99999", "1:0":
        same(run("head", few, "--at", "read", "--position", position, "--npz", folder / "none.npz"),
             (2, "", f"tundish head: position {position} does not exist: the run has 1 epoch, and an epoch has "
              "100 rows, numbered from 0\n"))
    assert not (folder / "none.npz").exists()
    same(run("head", few, "--step", "3")[0], 0)
    same(run("head", few, "--at", "read", "--position", "99")[0], 0)
    holds(run("head", topology(folder, "more.yaml", read=", epochs: forever"), "--at", "read", "--position", "2:100")[2],
          "position 2:100 does not exist: an epoch has 100 rows, numbered from 0\n")


if __name__ == "__main__":
    main(globals())
