#!/usr/bin/env python3
"""The order of rows: as TensorFlow's where that is asked for, and the same on any hosts and readers.

Usage: places.py NAME...; without a name it lists them.
"""
import concurrent.futures
import json
import pathlib
import re
import struct
import subprocess
import sys
import tempfile

from faults import write_npy
from named import run_named
from run import ROOT, TUNDISH, free_port, tundish

NAMES = {"interleave": ("cycle", "block"), "skip": ("count",), "take": ("count",),
         "repeat": ("count", "fusion", "group"), "shard": ("count", "index", "rows"),
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
        counts = [int(count) for count in rows.split(",")]
        got = head(pathlib.Path(folder), counts, order, len(expected))
    if expected == [None]:
        assert isinstance(got, str) and "error" in got, (rows, maps, got)
        return
    assert not isinstance(got, str), (rows, maps, got)
    value_of = values.split()
    shown = [[value_of[row] if value_of else str(row) for row in rows] for rows in got]
    wanted = expected if any(expected) else []
    assert shown == wanted, (rows, maps, shown, expected)


def test_tensorflow_shuffles_alike():
    """69 recorded cases; those with and without TensorFlow's default of `fusion` are the same line."""
    cases = vectors("shuffle.txt")
    assert len(cases) == 64, len(cases)
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        list(pool.map(compare, cases.items()))


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


def fed(graph, *more):
    """The rows of each replica in each step."""
    done = subprocess.run([str(TUNDISH), "head", str(graph), "--json", "--replicas", "--steps", "999", *more],
                          capture_output=True, text=True, timeout=60, cwd=ROOT)
    assert done.returncode == 0, done.stderr
    steps = {}
    for line in map(json.loads, done.stdout.splitlines()):
        steps.setdefault(line["step"], []).append(line["columns"]["x"]["data"])
    return list(steps.values())


def test_batches_are_dealt_to_lanes(folder):
    """As ds.batch(2).shard(num_input_pipelines, input_pipeline_id) by two workers, which get [1 2] [5 6] [9 10] and
    [3 4] [7 8]; without `rows` each has every other row."""
    deal = "order: [{take: 10}, {shard: {count: lanes, index: lane%s}}]"
    for rows, wanted in ((", rows: 2", [[[0, 1], [2, 3]], [[4, 5], [6, 7]], [[8, 9], []]]),
                         ("", [[[0, 2], [1, 3]], [[4, 6], [5, 7]], [[8, 9], []]])):
        graph = write(folder, [7, 5], deal % rows, 1, 4, True, 2)
        assert fed(graph, "--set", "lanes=2") == wanted
        assert [sum(step, []) for step in fed(graph)] == [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9]]


def test_lanes_that_deal_batches_are_the_same_anywhere(folder):
    deal = "{shard: {count: lanes, index: lane}}"
    graph = write(folder, [3, 3], f"order: [{deal}], shard: file", 1, 4, True, 2)
    text = tundish("run", graph, "--set", "lanes=2", expect=78, report=False).output
    assert "would divide the files that each lane has by `shard: file` once more" in text, text
    order = "order: [{shuffle: {buffer: 500, seed: 3}}, {shard: {count: lanes, index: lane, rows: 16}}, {repeat: {count: 3, group: 64}}]"
    graph = write(folder, [3000, 1, 2500, 20, 2400, 79], order, 2, 64, True, 4)
    whole = digest("run", graph, "--set", "lanes=4")
    assert whole == digest("run", graph, "--set", "lanes=4", "--set", "read.workers=3")
    for hosts in (1, 2, 4):
        assert whole == spread(graph, folder, hosts, "--set", "read.workers=2"), hosts
    seen = sorted(x for step in fed(graph, "--set", "lanes=4", "--set", "read.epochs=1")
                  for replica in step for x in replica)
    assert seen == sorted(3 * list(range(8000)))


def test_repeated_batches_are_interleaved(folder):
    """As ds.batch(2, drop_remainder=True).interleave(lambda b: Dataset.from_tensors(b).repeat(3), cycle_length=2)."""
    graph = write(folder, [11], "order: [{take: 10}, {repeat: {count: 3, group: 4}}]", 1, 2, True)
    pairs = 3 * [[0, 1], [2, 3]] + 3 * [[4, 5], [6, 7]] + 3 * [[8, 9]]
    assert fed(graph) == [[pair] for pair in pairs]


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


def test_an_order_that_takes_long_to_be_found_is_reported():
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        graph = write(folder, [1], "order: [{shuffle: {buffer: 100, seed: 7}}, {skip: 1499999000}]",
                      1, 100, True)
        with open(folder / "x.bin", "wb") as file:
            file.truncate(1500000000)
        text = graph.read_text().replace(f"npy: {{x: [{folder / '0.npy'}]}}",
                                         f"raw: {{files: {folder / 'x.bin'}, columns: {{x: u8}}}}")
        graph.write_text(text)
        # A hook that takes so long hangs, but not while it draws.
        told = tundish("run", graph, "--set", "hung_after=1s", report=False).output
        assert told.count(" draws the order of its rows up to where it continues: ") == 1, told
        assert " s left" in told and "hangs" not in told, told
        assert "done: 10 steps, 1,000 rows" in told, told


def test_windows_are_rows_of_the_order(folder):
    order = "{interleave: {cycle: 2, block: 3}}, {shuffle: {buffer: 20, seed: 5}}"
    (rows,) = head(folder, [40, 11, 30], f"order: [{order}]", 1)
    rows = list(map(int, rows))
    for window, starts in (("{window: 7}", range(0, 81, 7)),
                           ("{window: {size: 3, shift: 5, stride: 4}}", range(0, 81, 5)),
                           ("{window: {size: 4, shift: 2, drop_remainder: true}}", range(0, 78, 2))):
        options = window.strip("{}").split("{")[-1]
        size, stride = (int(re.search(key + r": (\d+)", options).group(1)) if key in options else
                        1 if key == "stride" else 7 for key in ("size", "stride"))
        wanted = [[rows[i] for i in range(start, start + size * stride, stride) if i < 81]
                  for start in starts]
        graph = write(folder, [40, 11, 30], f"order: [{order}, {window}]")
        for more in ([], ["--set", "read.access=read"]):
            done = subprocess.run([str(TUNDISH), "head", str(graph), "--json", *more],
                                  capture_output=True, text=True, timeout=60, cwd=ROOT)
            assert done.returncode == 0, done.stderr
            step = json.loads(done.stdout)
            column = step["columns"]["x"]
            ends = column.get("splits", range(0, len(column["data"]) + 1, size))
            got = [list(map(int, column["data"][a:b])) for a, b in zip(ends, ends[1:])]
            assert got == wanted, (window, got, wanted)
        feed = write(folder, [40, 11, 30], f"order: [{order}, {window}]", 2, 3, True)
        digests = {digest("run", feed, "--set", f"read.workers={readers}") for readers in (1, 3)}
        digests.add(digest("run", feed, "--set", "lanes=1", "--set", "read.access=read"))
        assert len(digests) == 1, (window, digests)


def test_rows_inside_stored_rows(folder):
    blocks, flat = [], []
    for number, rows in enumerate((6, 3, 8)):  # stored rows of 4 rows of 2
        values = list(range(1000 * number, 1000 * number + rows * 8))
        blocks.append(folder / f"block{number}.npy")
        flat.append(folder / f"flat{number}.npy")
        packed = struct.pack(f"<{len(values)}Q", *values)
        write_npy(blocks[-1], "<u8", (rows, 4, 2), packed)
        write_npy(flat[-1], "<u8", (rows * 4, 2), packed)
    for inside, outside in (
            ("{unbatch: 4}", ""), ("{unbatch: 4}, {shuffle: {buffer: 9, seed: 3}}, {take: 40}",
                                   "{shuffle: {buffer: 9, seed: 3}}, {take: 40}"),
            ("{interleave: {cycle: 2, block: 2}}, {unbatch: 4}, global",
             "{interleave: {cycle: 2, block: 8}}, global")):
        digests = set()
        for paths, order in ((blocks, inside), (flat, outside)):
            graph = write(folder, [], "order: [%s]" % order if order else "epochs: 1", 2, 5, True)
            text = graph.read_text().replace("x: []", "x: [%s]" % ", ".join(map(str, paths)))
            graph.write_text(text.replace("epochs: 2, epochs: 1", "epochs: 2"))
            digests |= {digest("run", graph, "--set", f"read.access={access}")
                        for access in ("map", "read")}
        assert len(digests) == 1, (inside, digests)
    graph = write(folder, [], "order: [{unbatch: 5}]", 2, 5, True)
    graph.write_text(graph.read_text().replace("x: []", f"x: [{blocks[0]}]"))
    done = tundish("run", graph, report=False, expect=78)
    assert "does not have 5 rows in each stored row" in done.output and "^" in done.output, done.output


def test_files_in_another_order_are_whole(folder):
    rows = [5, 1, 9, 4, 7, 3, 8]
    starts = [sum(rows[:number]) for number in range(len(rows))]
    epochs = head(folder, rows, "order: [{files: {shuffle: {seed: 3}}}]", 3)
    orders = []
    for epoch in epochs:
        epoch, order = list(map(int, epoch)), []
        while epoch:
            number = starts.index(epoch[0])
            file, epoch = epoch[:rows[number]], epoch[rows[number]:]
            assert file == list(range(starts[number], starts[number] + rows[number])), file
            order.append(number)
        assert sorted(order) == list(range(len(rows))), order
        orders.append(tuple(order))
    assert len(set(orders)) == 3, orders
    # The order of the files is that of rows that TensorFlow shuffles.
    names = head(folder, [len(rows)], "order: [{shuffle: {buffer: 7, seed: 3}}]", 3)
    assert [tuple(map(int, epoch)) for epoch in names] == orders, (names, orders)
    graph = write(folder, rows, "order: [{files: {shuffle: {seed: 3}}}, {interleave: {cycle: 3, block: 2}}]",
                  3, 4, True)
    assert digest("run", graph) == digest("run", graph, "--set", "read.workers=3")


def test_short_forms_are_the_list_that_they_stand_for():
    short = "skip: 10, take: 5000, repeat: 2, shuffle: global"
    long = "order: [{skip: 10}, {take: 5000}, {repeat: 2}, global]"
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        first, second = (digest("run", write(folder, [3000, 4000], order, 2, 64, True))
                         for order in (short, long))
        assert first == second


def call(test):
    """Some tests want a folder."""
    with tempfile.TemporaryDirectory() as name:
        test(*[pathlib.Path(name)] * test.__code__.co_argcount)


if __name__ == "__main__":
    sys.exit(run_named(globals(), sys.argv[1:], call))
