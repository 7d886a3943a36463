#!/usr/bin/env python3
"""TensorFlow's padded_batch and ragged_batch, as a program reads the batches and as `head` shows them.

Each line of tests/oracle/batches.txt is a graph; how its lines are written is in compact.py."""
import ctypes
import json
import subprocess
import sys
import tempfile
from pathlib import Path

from command import BUILD, ROOT
from dlpack import STEP, Rows, library

try:
    import numpy
except ImportError:
    sys.exit(77)


def cases():
    for line in (ROOT / "tests" / "oracle" / "batches.txt").read_text().splitlines():
        if line.startswith("#"):
            continue
        head, batches = line.split(" | ")
        how, lengths = head.split(" ; ")
        expected = None
        if batches != "refused":
            expected = [[[int(word) for word in row.split() if word != "-"] for row in batch.split(",")]
                        for batch in batches.split(" / ")]
        yield line, how.split(), [int(word) for word in lengths.split()], expected


def save(folder, lengths):
    rows = [100 * i + numpy.arange(length) for i, length in enumerate(lengths)]
    numpy.save(folder / "x.npy", numpy.concatenate(rows).astype("i8"))
    numpy.save(folder / "splits.npy", numpy.cumsum([0, *lengths]).astype("i8"))


def options_of(how):
    """Options of the batcher; the operation that pads to a stated length, if one does."""
    remainder = "drop" if how[-1] == "1" else "keep"
    if how[0] == "ragged":
        return f"size: {how[1]}, remainder: {remainder}, ragged: pack", None
    if how[2] == "longest":
        return f"size: {how[1]}, remainder: {remainder}, pad_value: {how[3]}", None
    return (f"size: {how[1]}, remainder: {remainder}",
            f"ops: [{{pad_ragged: {{column: x, to: {how[2]}, value: {how[3]}}}}}]")


def source(folder):
    return f"npy: {{x: {{values: \"{folder}/x.npy\", splits: \"{folder}/splits.npy\"}}}}"


def fed(lib, folder, batcher, prep):
    """The rows of each batch as a program sees them, or the error."""
    graph = ctypes.c_void_p(lib.tnd_graph_new(b"batches", ctypes.c_uint64(1)))
    lib.tnd_graph_add(graph, b"read", b"reader", f"source: {{{source(folder)}}}".encode())
    if prep is not None:
        lib.tnd_graph_add(graph, b"prep", b"preprocessor", prep.encode())
    lib.tnd_graph_add(graph, b"batch", b"batcher", batcher.encode())
    lib.tnd_graph_add(graph, b"feed", b"feeder", b"")
    lib.tnd_graph_link(graph, b"read -> " + (b"prep -> " if prep else b"") + b"batch -> feed")
    session = ctypes.c_void_p()
    assert lib.tnd_session_open(ctypes.byref(session), graph, None) == 0, lib.tnd_graph_errors(graph)
    feed = ctypes.c_void_p(lib.tnd_session_feed(session, b"feed"))
    batches = []

    @STEP
    def step(replica, _):
        replica = ctypes.c_void_p(replica)
        values = numpy.from_dlpack(Rows(lib.tnd_replica_dlpack(replica, b"x")))
        splits, rows = lib.tnd_replica_splits(replica, b"x"), lib.tnd_replica_rows(replica)
        assert not lib.tnd_replica_splits(replica, b"none")
        if splits:
            assert values.shape == (splits[rows],) and lib.tnd_replica_stride(replica, b"x") == 0
            batches.append([values[splits[row]:splits[row + 1]].tolist() for row in range(rows)])
        else:
            assert values.strides[0] == lib.tnd_replica_stride(replica, b"x") or rows < 2
            lengths = lib.tnd_replica_lengths(replica, b"x")
            if lengths:
                longest = max(lengths[row] for row in range(rows))
                assert longest == lib.tnd_replica_longest(replica, b"x") == values.shape[1]
            batches.append(values.tolist())
        return 0

    while lib.tnd_feed_next(feed) == 0:
        assert lib.tnd_feed_run(feed, step, None, None) == 0, lib.tnd_session_error(session)
    error = lib.tnd_session_error(session)
    lib.tnd_session_destroy(ctypes.byref(session))
    lib.tnd_graph_destroy(ctypes.byref(graph))
    return batches, error


def shown(folder, batcher, prep):
    """The rows of each batch as `head` shows them, padded as TensorFlow does."""
    path = folder / "graph.yaml"
    path.write_text(f"""tundish: 1
actors:
  read: {{kind: reader, source: {{{source(folder)}}}}}
{f"  prep: {{kind: preprocessor, {prep}}}" if prep else ""}
  batch: {{kind: batcher, {batcher}}}
  feed: {{kind: feeder}}
links:
  - read -> {"prep -> " if prep else ""}batch -> feed
""")
    done = subprocess.run([BUILD / "tundish", "head", path, "--json", "--steps", "100"],
                          capture_output=True, text=True, timeout=60)
    batches = []
    for line in done.stdout.splitlines():
        column = json.loads(line)["columns"]["x"]
        if "splits" not in column:
            batches.append(numpy.reshape(column["data"], column["shape"]).tolist())
            continue
        rows = [column["data"][first:end] for first, end in zip(column["splits"], column["splits"][1:])]
        if "longest" in column:
            value = int(batcher.split("pad_value: ")[1])
            rows = [row + [value] * (column["longest"] - len(row)) for row in rows]
        batches.append(rows)
    return batches, done.stderr


def main(folder):
    lib, count = library(), 0
    for line, how, lengths, expected in cases():
        save(folder, lengths)
        batcher, prep = options_of(how)
        # The same batches in slots that are as large as these batches.
        largest = 8 * max(sum(lengths), int(how[1]) * max(lengths))
        for more in ("", f", bytes: {largest}B", ", bytes: 1MiB, replicas: 1, block: 1 rows"):
            batches, error = fed(lib, folder, batcher + more, prep)
            if expected is None:
                assert b"x" in error and not batches, (line, error)
            else:
                assert batches == expected and not error, (line, more, batches, error)
        batches, error = shown(folder, batcher, prep)
        assert batches == (expected or []) and (expected is not None or "x" in error), (line, batches)
        count += 1
    assert count == 17, count
    print("ok")


with tempfile.TemporaryDirectory() as place:
    main(Path(place))
