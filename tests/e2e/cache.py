#!/usr/bin/env python3
"""A cache changes what is read and how fast, never what is fed.

Usage: cache.py NAME...; without a name it lists them.  Every graph is run with and without its cache.
"""
import json
import os
import pathlib
import signal
import struct
import subprocess
import sys
import tempfile

from faults import until, write_npy
from named import run_named
from run import BUILD, ROOT, TUNDISH, free_port, tundish

ROWS, EPOCHS = 3000, 3
GRAPH = """tundish: 1
seed: 7
lanes: {lanes}
actors:
  read: {{kind: reader, source: {{npy: {{y: {data}/y.npy, x: {data}/x.npy}}}}, epochs: {epochs}{read}}}
  prep: {{kind: preprocessor, ops: [{before}]}}
{cache}  late: {{kind: preprocessor, ops: [{after}]}}
  batch: {{kind: batcher, size: 24, block: 16 rows}}
  feed: {{kind: feeder}}
links:
  - read -> {way} -> batch -> feed
"""
FILTER = "{filter: {column: y, op: lt, value: 2900}}"
REPEAT = "{repeat_rows: {times: 2}}"
FLIP = "{random_flip: {column: x}}"


def write_data(folder):
    write_npy(folder / "y.npy", "<i8", (ROWS,), struct.pack(f"<{ROWS}q", *range(ROWS)))
    write_npy(folder / "x.npy", "|u1", (ROWS, 4, 4, 3),
              bytes(i * 31 % 251 for i in range(ROWS * 48)))


def write(folder, name, limit=None, before=FILTER, after=FLIP, read=", shuffle: global", lanes=1,
          epochs=EPOCHS):
    """Without a limit the operations of both preprocessors are those of one."""
    if limit is None:
        way, cache = "late", ""
        before, after = "", ", ".join(op for op in (before, after) if op)
    else:
        way, cache = "prep -> keep -> late", f"  keep: {{kind: cache, limit: {limit}}}\n"
    text = GRAPH.format(data=folder, way=way, cache=cache, before=before, after=after, read=read,
                        lanes=lanes, epochs=epochs)
    if limit is None:
        text = text.replace("  prep: {kind: preprocessor, ops: []}\n", "")
    path = folder / f"{name}.yaml"
    path.write_text(text)
    return path


def counts(outcome, name):
    return [actor for actor in outcome.report["actors"] if actor["name"].split(".")[0] == name]


def same(folder, **how):
    """The run with a cache, whose stream is that of the run without."""
    write_data(folder)
    plain = tundish("run", write(folder, "plain", **how))
    cached = tundish("run", write(folder, "cached", limit="16MiB", **how))
    assert cached.report["stream_digest"] == plain.report["stream_digest"], how
    assert cached.report["rows"] == plain.report["rows"], how
    return cached


def test_later_epochs_read_nothing(folder):
    cached = same(folder)
    (read,), (prep,), (keep,) = (counts(cached, name) for name in ("read", "prep", "keep"))
    assert read["rows_in"] == prep["rows_in"] == ROWS, (read, prep)
    assert keep["rows_out"] == EPOCHS * counts(cached, "late")[0]["rows_in"] // EPOCHS, keep
    rows = cached.report["rows"]
    assert rows["read"] == EPOCHS * ROWS, rows
    assert rows["read"] + rows["added"] == \
        rows["fed"] + rows["filtered"] + rows["quarantined"] + rows["dropped"], rows


def test_rows_that_are_repeated_or_in_another_order(folder):
    same(folder, before=REPEAT, after=FILTER)
    same(folder, before="", after=REPEAT + ", " + FLIP)
    same(folder, before="", after=FILTER)
    same(folder, read=", order: [{shuffle: {buffer: 500, seed: 3}}, {repeat: 2}, {take: 2000}]")
    same(folder, read="", epochs=2)
    same(folder, lanes=3)


def test_samples_that_do_not_fit_are_made_again(folder):
    write_data(folder)
    plain = tundish("run", write(folder, "plain"))
    small = tundish("run", write(folder, "small", limit="64KiB"))
    assert small.report["stream_digest"] == plain.report["stream_digest"]
    assert counts(small, "read")[0]["rows_in"] > ROWS


def up(folder, graph, hosts):
    overlay = folder / "hosts.yaml"
    overlay.write_text(f"port: {free_port()}\nrestarts: {{max: 1000, backoff: 10 ms}}\nhosts:\n" +
                       "".join(f"  {host}\n" for host in hosts))
    return graph, overlay


def test_every_placement_feeds_the_same(folder):
    write_data(folder)
    for lanes in (1, 2):
        digest = tundish("run", write(folder, "plain", lanes=lanes)).report["stream_digest"]
        cached = write(folder, "cached", limit="16MiB", lanes=lanes)
        for transport in ("ipc", "tcp"):
            hosts = [f"a: {{transport: {transport}, actors: [feed, batch]}}",
                     f"r: {{transport: {transport}, actors: [read]}}",
                     f"k: {{transport: {transport}, actors: [keep]}}",
                     f"w: {{transport: {transport}, actors: [prep, late], "
                     "workers: {prep: 2, late: 2}}"]
            outcome = tundish("up", *up(folder, cached, hosts))
            assert outcome.report["stream_digest"] == digest, (lanes, transport)
            if lanes == 1:
                assert counts(outcome, "read")[0]["rows_in"] == ROWS, transport


def pid_of(graph, host):
    """Of the process of that host."""
    for entry in pathlib.Path("/proc").iterdir():
        try:
            words = (entry / "cmdline").read_bytes().decode().split("\0")
        except (OSError, UnicodeDecodeError):
            continue
        if str(graph) in words and f"--host={host}" in words:
            return int(entry.name)
    return None


def test_killed_actors_around_it_change_nothing(folder):
    write_data(folder)
    slow = FLIP + ", {plugin: drag, us: 100}"
    epochs = 6
    digest = tundish("run", write(folder, "plain", epochs=epochs)).report["stream_digest"]
    graph, overlay = up(folder, write(folder, "cached", limit="16MiB", after=slow, epochs=epochs),
                        ["a: {transport: ipc, actors: [feed, batch]}",
                         "k: {transport: ipc, actors: [keep]}",
                         "r: {transport: ipc, actors: [read]}",
                         "w: {transport: ipc, actors: [prep]}",
                         "l: {transport: ipc, actors: [late]}"])
    metrics, report = folder / "metrics.jsonl", folder / "report.json"
    env = {**os.environ, "TUNDISH_PLUGIN_PATH": str(BUILD / "tests")}
    run = subprocess.Popen([str(TUNDISH), "up", str(graph), str(overlay), "--metrics", str(metrics),
                            "--report", str(report)], cwd=ROOT, env=env, text=True,
                           stdout=subprocess.PIPE, stderr=subprocess.STDOUT)

    def steps():
        return metrics.read_bytes().count(b"\n") if metrics.exists() else 0

    try:
        for number, host in enumerate("klrw" "k"):
            reached = 60 * (number + 1)
            until(lambda: f"{reached} steps; there are {steps()}",
                  lambda: steps() >= reached or run.poll() is not None, 60)
            victim = pid_of(graph, host)
            assert victim is not None or run.poll() is not None, f"no process of host {host}"
            if victim is not None:
                os.kill(victim, signal.SIGKILL)
        said = run.communicate(timeout=60)[0]
    finally:
        run.kill()
    assert run.returncode == 0, said
    assert json.loads(report.read_text())["stream_digest"] == digest, said


def test_a_run_resumes(folder):
    write_data(folder)
    digest = tundish("run", write(folder, "plain")).report["stream_digest"]
    graph = write(folder, "cached", limit="16MiB")
    graph.write_text(graph.read_text() + f"checkpoint: {{dir: {folder}/kept, every: 50 steps}}\n")
    tundish("run", graph, "--steps", "150")
    assert tundish("run", graph, "--resume").report["stream_digest"] == digest


def refused(graph, *words, code=78):
    done = subprocess.run([str(TUNDISH), "run", str(graph)], stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, timeout=60, cwd=ROOT)
    assert done.returncode == code, done.stdout
    for word in words:
        assert word in done.stdout, f"{word!r} is not in: {done.stdout}"


def test_what_it_cannot_store_is_refused_with_its_place(folder):
    write_data(folder)
    graph = write(folder, "random", limit="16MiB", before=FLIP)
    refused(graph, "random.yaml:6:", "`random_flip` is random", "after the cache")
    graph = write(folder, "copies", limit="16MiB", before=REPEAT)
    refused(graph, "copies.yaml:8:", "`random_flip` is random", "several rows of a sample")
    graph = write(folder, "two", limit="16MiB")
    text = graph.read_text()
    graph.write_text(text.replace("prep -> keep -> late", "prep -> late").replace(
        "  keep: {kind: cache, limit: 16MiB}\n", ""))
    refused(graph, "both stateless", "put the `ops:` of both into one preprocessor",
            "or put a cache between them")
    graph.write_text(text.replace("-> keep ->", "-> keep -> again ->").replace(
        "  keep:", "  again: {kind: cache, limit: 1MiB}\n  keep:"))
    refused(graph, "again: a chain has one cache")
    graph.write_text(text.replace(", shuffle: global", ", order: [{window: {size: 2}}]").replace(FILTER, ""))
    refused(graph, "a cache does not know")


def main():
    def call(test):
        with tempfile.TemporaryDirectory() as folder:
            test(pathlib.Path(folder))

    return run_named(globals(), sys.argv[1:], call)


if __name__ == "__main__":
    sys.exit(main())
