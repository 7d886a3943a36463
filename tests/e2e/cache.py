#!/usr/bin/env python3
"""A cache changes what is read and how fast, never what is fed.

Usage: cache.py NAME...; without a name it lists them.  Every graph is run with and without its cache.
"""
import ast
import json
import os
import pathlib
import signal
import struct
import subprocess
import sys

from faults import until, write_npy
from named import in_folder, run_named
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
          epochs=EPOCHS, store=None):
    """Without a limit the operations of both preprocessors are those of one."""
    if limit is None:
        way, cache = "late", ""
        before, after = "", ", ".join(op for op in (before, after) if op)
    else:
        where = "" if store is None else f", store: {{dir: {store}}}"
        way, cache = "prep -> keep -> late", f"  keep: {{kind: cache, limit: {limit}{where}}}\n"
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
        rows["fed"] + rows["filtered"] + rows["bad"] + rows["dropped"], rows


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
    read = counts(small, "read")[0]["rows_in"]
    # More than 900 filtered rows of 56 bytes are stored, and none of them is read again.
    assert ROWS < read <= ROWS + (EPOCHS - 1) * (ROWS - 900), read


def reads_the_rest(folder, graph, stored, hosts=None):
    """Epochs after the first read all samples but those that are stored."""
    digest = tundish("run", write_kept(folder, graph, None)).report["stream_digest"]
    cached = write_kept(folder, graph, graph["limit"])
    run = tundish("up", *up(folder, cached, hosts)) if hosts else tundish("run", cached)
    assert run.report["stream_digest"] == digest, graph
    rows = [sum(actor["rows_in"] for actor in counts(run, name)) for name in ("read", "prep")]
    expected = EPOCHS * ROWS - (EPOCHS - 1) * stored
    assert rows == [expected, expected], (graph, rows, expected)
    return run


def write_kept(folder, graph, limit):
    """Without a limit the operations of both preprocessors are those of one."""
    first, second = graph["before"], graph["after"]
    if limit is None:
        way, keep, first = "prep", "", ", ".join(op for op in (first, second) if op)
    else:
        way = "prep -> keep -> late"
        keep = f"""  keep: {{kind: cache, limit: {limit}}}
  late: {{kind: preprocessor, ops: [{second}]}}
"""
    path = folder / ("plain.yaml" if limit is None else "kept.yaml")
    path.write_text(f"""tundish: 1
seed: 7
actors:
  read: {{kind: reader, source: {graph["source"]}, shuffle: global, epochs: {EPOCHS}}}
  prep: {{kind: preprocessor, on_error: skip, ops: [{first}]}}
{keep}  batch: {{kind: batcher, size: 24}}
  feed: {{kind: feeder}}
links: [read -> {way} -> batch -> feed]
""")
    return path


def test_only_samples_that_are_not_stored_are_read_again(folder):
    write_data(folder)
    lines = folder / "lines.txt"
    numbers = [f"{i % 97:0{9 + i % 8}d}" for i in range(ROWS)]
    lines.write_text("\n".join(numbers) + "\n")
    # A sample takes 8 bytes, and its row 8 and 48 for its columns.
    fixed = {"source": f"{{npy: {{y: {folder}/y.npy, x: {folder}/x.npy}}}}", "before": "",
             "after": FLIP, "limit": "64KiB"}
    reads_the_rest(folder, fixed, 65536 // 64)
    ends = "a: {transport: tcp, actors: [read, keep, batch, feed]}"
    reads_the_rest(folder, fixed, 65536 // 64, [ends, "w: {transport: tcp, actors: [prep, late], "
                                                "workers: {prep: 2, late: 2}}"])
    # 8 bytes, 8 for the length of the row and 9 to 16, in steps of 8, for its letters.
    ragged = {"source": f"{{text: {{files: {lines}}}}}", "before": "",
              "after": "{pad_ragged: {column: line, to: 16}}", "limit": "64KiB"}
    reads_the_rest(folder, ragged, 65536 // 32)
    # Bad rows are never stored.
    lines.write_text("".join("x\n" if i % 50 == 7 else f"{line}\n"
                             for i, line in enumerate(numbers)))
    number = {**ragged, "before": "{to_number: {column: line}}", "after": "", "limit": "32KiB"}
    run = reads_the_rest(folder, number, 32768 // 16)
    assert run.report["rows"]["bad"] == EPOCHS * ROWS // 50, run.report["rows"]


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


def frozen(folder, name, limit="16MiB", before=FLIP + ", {enumerate: {into: n}}", **how):
    """A graph with a random operation before its cache, and one that numbers rows."""
    path = write(folder, name, limit=limit, before=before, after=FILTER, **how)
    path.write_text(path.read_text().replace("{kind: cache,", "{kind: cache, freeze: true,"))
    return path


def shown(graph, steps):
    """The rows of a graph, by sample, of each of two epochs."""
    epochs = [{}, {}]
    lines = tundish("head", graph, "--json", "--steps", str(2 * steps), report=False).output
    for line in lines.splitlines():
        if not line.startswith('{"step":'):
            continue
        step = json.loads(line)
        y, x, n = (step["columns"][name]["data"] for name in "yxn")
        for i, sample in enumerate(y):
            epochs[step["step"] // steps][sample] = (x[i * 48:i * 48 + 48], n[i])
    return epochs


def test_frozen_operations_draw_as_in_the_first_epoch(folder):
    write_data(folder)
    before = FLIP + ", {enumerate: {into: n}}"
    plain = tundish("run", write(folder, "plain", epochs=1, read="", before=before, after=FILTER))
    once = tundish("run", frozen(folder, "once", epochs=1, read=""))
    assert once.report["stream_digest"] == plain.report["stream_digest"]
    graph = frozen(folder, "frozen", epochs=2)
    first, second = shown(graph, 121)
    assert len(first) == 2900 and first == second
    assert all(row[1] == sample for sample, row in first.items())
    assert sum(row[0] != [(sample * 48 + i) * 31 % 251 for i in range(48)]
               for sample, row in first.items()) > 1000
    digest = tundish("run", graph).report["stream_digest"]
    for limit in ("4KiB", "64KiB"):
        small = tundish("run", frozen(folder, "small", epochs=2, limit=limit))
        assert small.report["stream_digest"] == digest, limit


def test_what_it_cannot_store_is_refused_with_its_place(folder):
    write_data(folder)
    graph = write(folder, "random", limit="16MiB", before=FLIP)
    refused(graph, "random.yaml:6:", "`random_flip` makes other rows in each epoch", "freeze: true")
    graph = write(folder, "numbers", limit="16MiB", before="{enumerate: {into: n}}")
    refused(graph, "numbers.yaml:6:", "`enumerate` makes other rows in each epoch")
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


def stored(folder):
    """The stores that are complete, and the names of others."""
    names = sorted(entry.name for entry in (folder / "store").iterdir())
    return [name for name in names if len(name) == 32], [name for name in names if len(name) != 32]


def read_npy(path):
    """Its shape and its bytes."""
    content = path.read_bytes()
    assert content[:8] == b"\x93NUMPY\x01\x00", path
    end = 10 + struct.unpack_from("<H", content, 8)[0]
    return ast.literal_eval(content[10:end].decode())["shape"], content[end:]


def from_store(folder, name="stored", rows=ROWS, **how):
    """A run with the store, whose stream is that of the run without; so many rows were read."""
    plain = tundish("run", write(folder, name + "_plain", **how))
    run = tundish("run", write(folder, name, limit=how.pop("limit", "16MiB"),
                               store=folder / "store", **how))
    assert run.report["stream_digest"] == plain.report["stream_digest"], how
    assert run.report["rows"] == plain.report["rows"], how
    assert counts(run, "read")[0]["rows_in"] == rows, (how, counts(run, "read"))
    return run


def warns(folder, graph, *words):
    """The run reports these words, and its stream is that of the run without a cache."""
    digest = tundish("run", write(folder, "plain")).report["stream_digest"]
    output = tundish("run", graph, report=False).output
    for word in (f"stream {digest}", *words):
        assert word in output, f"{word!r} is not in: {output}"


def test_a_later_run_reads_nothing(folder):
    write_data(folder)
    from_store(folder)
    (name,), others = stored(folder)
    assert not others
    inode = (folder / "store" / name / "samples.npy").stat().st_ino
    from_store(folder, rows=0)
    from_store(folder, rows=0, read="", epochs=5)
    assert (folder / "store" / name / "samples.npy").stat().st_ino == inode
    shape, content = read_npy(folder / "store" / name / "samples.npy")
    assert shape == (ROWS, 2)
    index = list(struct.iter_unpack("<2q", content))
    (count,), content = read_npy(folder / "store" / name / "00-y.npy")
    y = struct.unpack(f"<{count}q", content)
    shape, x = read_npy(folder / "store" / name / "01-x.npy")
    assert shape == (2900, 4, 4, 3) and count == 2900
    source = (folder / "x.npy").read_bytes()[-ROWS * 48:]
    for sample, (first, rows) in enumerate(index):
        assert rows == (sample < 2900) and first >= 0, (sample, first, rows)
        if rows:
            assert y[first] == sample
            assert x[first * 48:first * 48 + 48] == source[sample * 48:sample * 48 + 48]


def test_another_key_is_another_store(folder):
    write_data(folder)
    from_store(folder)
    from_store(folder, before=FILTER.replace("2900", "2000"))
    from_store(folder, before=REPEAT, after=FILTER)
    write_npy(folder / "y.npy", "<i8", (ROWS,), struct.pack(f"<{ROWS}q", *range(1, ROWS + 1)))
    from_store(folder)
    from_store(folder, rows=0, before=FILTER)
    complete, others = stored(folder)
    assert len(complete) == 4 and not others, (complete, others)


def test_lanes_with_files_of_their_own_store_them(folder):
    for i in range(6):
        (folder / f"part-{i}.txt").write_text("".join(f"row {i} {n}\n" for n in range(20 + 7 * i)))
    cut = "{pad_ragged: {column: line, to: 12, cut: true}}"
    cast = "{cast: {column: line, to: f32}}"

    def run(name, **how):
        graph = write(folder, name, before=cut, after=cast, read=", shuffle: global, shard: file", **how)
        source = f"{{npy: {{y: {folder}/y.npy, x: {folder}/x.npy}}}}"
        texts = f"{{text: {{files: {folder}/part-*.txt, max: 40}}}}"
        graph.write_text(graph.read_text().replace(source, texts))
        return tundish("run", graph)

    for lanes in (2, 3):
        plain = run("plain", lanes=lanes)
        for read in (sum(20 + 7 * i for i in range(6)), 0):
            kept = run("kept", lanes=lanes, limit="16MiB", store=folder / "store")
            assert kept.report["stream_digest"] == plain.report["stream_digest"], (lanes, read)
            assert sum(actor["rows_in"] for actor in counts(kept, "read")) == read, (lanes, read)


def test_a_damaged_store_is_made_again(folder):
    write_data(folder)
    from_store(folder)
    (name,), _ = stored(folder)
    os.truncate(folder / "store" / name / "01-x.npy", 1000)
    warns(folder, write(folder, "stored", limit="16MiB", store=folder / "store"),
          "its store is damaged, and is made again", "01-x.npy")
    from_store(folder, rows=0)
    assert stored(folder) == ([name], [])


def test_a_store_that_was_not_completed_is_made_again(folder):
    """The process is killed while it writes."""
    write_data(folder)
    graph = write(folder, "slow", limit="16MiB", store=folder / "store",
                  after=FLIP + ", {plugin: drag, us: 2000}")
    env = {**os.environ, "TUNDISH_PLUGIN_PATH": str(BUILD / "tests")}
    store = folder / "store"
    with subprocess.Popen([str(TUNDISH), "run", str(graph)], env=env, cwd=ROOT,
                          stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as run:
        until(lambda: "a folder", lambda: store.exists() and any(store.iterdir()), 60)
        run.kill()
    complete, others = stored(folder)
    assert not complete and len(others) == 1, (complete, others)
    warns(folder, write(folder, "stored", limit="16MiB", store=folder / "store"),
          "was not completed by the process that began it")
    complete, others = stored(folder)
    assert len(complete) == 1 and not others, (complete, others)
    from_store(folder, rows=0)


def test_processes_that_write_one_store_end_with_one(folder):
    write_data(folder)
    digest = tundish("run", write(folder, "plain")).report["stream_digest"]
    graph = write(folder, "both", limit="16MiB", store=folder / "store")
    runs = [subprocess.Popen([str(TUNDISH), "run", str(graph), "--report", str(folder / f"{i}.json")],
                             cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
            for i in range(3)]
    for i, run in enumerate(runs):
        said = run.communicate(timeout=60)[0]
        assert run.returncode == 0, said
        assert json.loads((folder / f"{i}.json").read_text())["stream_digest"] == digest
    complete, others = stored(folder)
    assert len(complete) == 1 and not others, (complete, others)
    from_store(folder, rows=0)


def test_a_store_that_cannot_be_written_does_not_end_the_run(folder):
    write_data(folder)
    (folder / "file").write_text("")
    warns(folder, write(folder, "unmade", limit="16MiB", store=folder / "file" / "store"),
          "its rows are not stored", "cannot be written: Not a directory")
    digest = tundish("run", write(folder, "plain")).report["stream_digest"]
    small = tundish("run", write(folder, "small", limit="64KiB", store=folder / "store"))
    assert small.report["stream_digest"] == digest
    assert len(stored(folder)[0]) == 1
    refused(write(folder, "lanes", limit="16MiB", store=folder / "store", lanes=2),
            "lanes.yaml:7:", "set `shard: file` on the reader")


if __name__ == "__main__":
    sys.exit(run_named(globals(), sys.argv[1:], in_folder))
