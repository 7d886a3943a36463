#!/usr/bin/env python3
"""The order of rows: as TensorFlow's where that is asked for, and the same on any hosts and readers.

Usage: places.py NAME...; without a name it lists them.
"""
import concurrent.futures
import json
import pathlib
import struct
import subprocess
import sys
import tempfile

from faults import write_npy
from named import run_named
from run import ROOT, TUNDISH, free_port, tundish

NAMES = {"interleave": ("cycle", "block"), "skip": ("count",), "take": ("count",),
         "repeat": ("count", "fusion"), "shard": ("count", "index"),
         "shuffle": ("buffer", "seed", "global_seed", "reshuffle_each_iteration"),
         "index_shuffle": ("seed", "global_seed", "reshuffle_each_iteration")}
FLAGS = ("fusion", "reshuffle_each_iteration")
LIST = ("[{interleave: {cycle: 3, block: 16}}, {skip: 10}, {shuffle: {buffer: 1000, seed: 42}}, "
        "{take: 5000}, {repeat: 2}]")
GRAPH = """tundish: 1
seed: 7
actors:
  read:  {{kind: reader, source: {{npy: {{x: [{files}]}}}}, epochs: {epochs}, {order}}}
  batch: {{kind: batcher, size: {size}, replicas: {replicas}}}
{feed}links:
  - read -> batch{link}
"""
FEED = "  feed:  {kind: feeder}\n"


def write(folder, rows, order, epochs=1, size=2000, feed=False, replicas=1):
    """A graph over files of the numbers 0, 1, ...; `rows` of each file."""
    first, files = 0, []
    for number, count in enumerate(rows):
        files.append(folder / f"{number}.npy")
        write_npy(files[-1], "<u8", (count,), struct.pack(f"<{count}Q", *range(first, first + count)))
        first += count
    graph = folder / "graph.yaml"
    graph.write_text(GRAPH.format(files=", ".join(map(str, files)), order=order, epochs=epochs,
                                  size=size, feed=FEED if feed else "", replicas=replicas,
                                  link=" -> feed" if feed else ""))
    return graph


def item(words):
    """A map of places_reference.py's notation as one of a topology."""
    name, values = words[0], []
    for option, value in zip(NAMES[name], words[1:]):
        if option in FLAGS:
            value = "true" if int(value) else "false"
        elif option == "count" and name == "repeat" and value == "all":
            value = "forever"
        if value != "-":
            values.append(f"{option}: {value}")
    return "{%s: {%s}}" % (name, ", ".join(values))


def head(folder, rows, order, epochs):
    """The rows of each epoch."""
    graph = write(folder, rows, order, epochs)
    done = subprocess.run([str(TUNDISH), "head", str(graph), "--json", "--steps", "9"],
                          capture_output=True, text=True, timeout=60, cwd=ROOT)
    if done.returncode != 0:
        return done.stderr
    passes = [[]]
    for line in map(json.loads, done.stdout.splitlines()):
        passes[-1] += map(int, line["columns"]["x"]["data"])
        if line["last"]:
            passes.append([])
    return passes[:-1]


def vectors(name):
    """(rows of the files, values of rows or None, maps): [places of each epoch, or None: refused]."""
    cases = {}
    for line in (ROOT / "tests/oracle" / name).read_text().splitlines()[1:]:
        before, after = line.split("|")
        before, _, values = before.partition("=")
        rows, *maps = [part.strip() for part in before.split(";")]
        key = (rows, values, tuple(maps))
        cases.setdefault(key, []).append(None if "refused" in after else after.split()[2:])
    return cases


def compare(case):
    (rows, values, maps), expected = case
    with tempfile.TemporaryDirectory() as folder:
        order = "order: [%s]" % ", ".join(item(text.split()) for text in maps)
        got = head(pathlib.Path(folder), [int(count) for count in rows.split(",")], order,
                   len(expected))
    if expected == [None]:
        assert isinstance(got, str) and "error" in got, (rows, maps, got)
        return
    assert not isinstance(got, str), (rows, maps, got)
    value_of = values.split()
    shown = [[value_of[row] if value_of else str(row) for row in rows] for rows in got]
    wanted = expected if any(expected) else []
    assert shown == wanted, (rows, maps, shown, expected)


def compare_all(name, count):
    """Left out are windows, which a reader does not make, and files without rows, which .npy files
    are not; places_test.c has them."""
    cases = {key: value for key, value in vectors(name).items()
             if "0" not in key[0].split(",")
             and not any(text.startswith("window") for text in key[2])}
    assert len(cases) == count, len(cases)
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        list(pool.map(compare, cases.items()))


def test_tensorflow_orders_rows_alike():
    compare_all("order.txt", 28)


def test_tensorflow_shuffles_alike():
    compare_all("shuffle.txt", 63)


def test_tensorflow_shuffles_whole_datasets_alike():
    cases = {}
    for line in (ROOT / "tests/oracle/index_shuffle.txt").read_text().splitlines():
        words = line.split()
        if words[0] == "data":
            key = (words[2], words[3], words[5])
            cases.setdefault(key, []).append([int(word) for word in words[7:]])
    assert len(cases) == 6
    for (seed, reshuffle, count), expected in cases.items():
        with tempfile.TemporaryDirectory() as folder:
            order = "order: [%s]" % item(["index_shuffle", seed, "-", reshuffle])
            assert head(pathlib.Path(folder), [int(count)], order, len(expected)) == expected
            if reshuffle == "1":
                graph = write(pathlib.Path(folder), [int(count)], "shuffle: tensorflow",
                              len(expected))
                text = graph.read_text().replace("seed: 7", f"seed: {seed}")
                graph.write_text(text)
                done = subprocess.run([str(TUNDISH), "head", str(graph), "--json", "--steps", "9"],
                                      capture_output=True, text=True, timeout=60, cwd=ROOT)
                assert [list(map(int, json.loads(line)["columns"]["x"]["data"]))
                        for line in done.stdout.splitlines()] == expected, done


def digest(*words):
    return tundish(*words).report["stream_digest"]


def spread(graph, folder, hosts, *more):
    """The graph in four lanes over so many hosts."""
    overlay = folder / f"hosts{hosts}.yaml"
    overlay.write_text(f"port: {free_port()}\nhosts:\n" + "".join(
        f"  h{i}: {{address: 127.0.0.1, lanes: {4 // hosts}, actors: [read, batch, feed]}}\n"
        for i in range(hosts)))
    return digest("up", graph, overlay, "--set", "lanes=4", *more)


def test_hosts_and_readers_do_not_change_the_order():
    for shard in ("index", "file"):
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            graph = write(folder, [3000, 1, 2500, 20, 2400, 3100, 1500], f"order: {LIST}, shard: {shard}",
                          2, 64, True, 4)
            assert digest("run", graph) == digest("run", graph, "--set", "read.workers=3")
            lanes = digest("run", graph, "--set", "lanes=4")
            assert lanes == digest("run", graph, "--set", "lanes=4", "--set", "read.workers=3")
            for hosts in (1, 2, 4):
                assert lanes == spread(graph, folder, hosts, "--set", "read.workers=2"), hosts


def test_a_run_resumes_in_the_middle_of_a_buffer():
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        graph = write(folder, [3000, 1, 2500, 20, 2400], f"order: {LIST}", 2, 64, True)
        kept = ["--set", f"checkpoint.dir={folder / 'kept'}", "--set", "checkpoint.every=10 steps"]
        whole = digest("run", graph)
        for steps, readers in ((35, 3), (77, 1), (170, 2)):
            resume = ["--resume"] if steps > 35 else []
            tundish("run", graph, *kept, *resume, "--set", f"read.workers={readers}",
                    "--steps", steps)
        assert digest("run", graph, *kept, "--resume", "--set", "read.workers=2") == whole
        changed = graph.read_text().replace("seed: 42", "seed: 43")
        graph.write_text(changed)
        told = tundish("run", graph, *kept, "--resume", report=False, expect=78)
        assert "`seed: 43` was `seed: 42`" in told.output, told.output


def test_short_forms_are_the_list_that_they_stand_for():
    short = "skip: 10, take: 5000, repeat: 2, shuffle: global"
    long = "order: [{skip: 10}, {take: 5000}, {repeat: 2}, global]"
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        first, second = (digest("run", write(folder, [3000, 4000], order, 2, 64, True))
                         for order in (short, long))
        assert first == second


if __name__ == "__main__":
    sys.exit(run_named(globals(), sys.argv[1:], lambda test: test()))
