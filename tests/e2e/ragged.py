#!/usr/bin/env python3
"""Ragged columns: the digest that the xxhash of Python gives, whatever the placement and the forms
that rows take on their way; and what a run shows of them and refuses.

Usage: ragged.py [NAME...]; without a name it lists them.  Rows are those of tests/oracle/digest.py.
"""
import json
import struct
import subprocess
import sys

from faults import free_range
from named import in_folder, run_named
from run import ROOT, TUNDISH, tundish

SHAPE = ["8", "40r", "9r"]  # bytes of the columns of a row, as in the oracle; ragged ones at most
PLACES = """port: {port}
hosts:
  a: {{transport: {transport}, actors: [feed]}}
  b: {{transport: {transport}, actors: [read, batch]}}
  c: {{transport: {transport}, actors: [prep], workers: {{prep: {workers}}}}}
"""


def oracle():
    """Rows and digest of the line of the oracle that has such columns, from rank 0 on."""
    for line in (ROOT / "tests" / "oracle" / "digest.txt").read_text().splitlines():
        words = line.split()
        if words[0] == "0" and words[2:-2] == SHAPE:
            return int(words[1]), words[-1]
    raise AssertionError(f"tests/oracle/digest.txt has no line of {SHAPE}")


def column(number, rows):
    """The bytes of each row of a column."""
    size = int(SHAPE[number].rstrip("r"))
    lengths = [(size + 3 * row) % (size + 1) if SHAPE[number].endswith("r") else size
               for row in range(rows)]
    return [bytes((i * i // 7 + 13 * i * number + 101 * row + 7 * number + 3) % 256
                  for i in range(length)) for row, length in enumerate(lengths)]


def save(path, descr, shape, data):
    header = f"{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}, }}".encode()
    header += b" " * (63 - (10 + len(header)) % 64) + b"\n"
    path.write_bytes(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header + data)


def save_ragged(folder, name, rows):
    splits = [0]
    for row in rows:
        splits.append(splits[-1] + len(row))
    save(folder / f"{name}.npy", "|u1", (splits[-1],), b"".join(rows))
    save(folder / f"{name}-splits.npy", "<i8", (len(splits),), struct.pack(f"<{len(splits)}q", *splits))


def graph(folder, ops="", reader="", batcher=""):
    """A graph of the rows of the oracle, with y as i64."""
    rows, _ = oracle()
    names = column(0, rows)
    save(folder / "y.npy", "<i8", (rows,), b"".join(names))
    save_ragged(folder, "x", column(1, rows))
    save_ragged(folder, "z", column(2, rows))
    prep = f"  prep: {{kind: preprocessor, ops: [{ops}]}}\n" if ops else ""
    path = folder / "graph.yaml"
    path.write_text(f"""tundish: 1
seed: 5
data: {folder}
actors:
  read: {{kind: reader, source: {{npy: {{y: "${{data}}/y.npy", x: {{values: "${{data}}/x.npy", splits: "${{data}}/x-splits.npy"}}, z: {{values: "${{data}}/z.npy", splits: "${{data}}/z-splits.npy"}}}}}}{reader}}}
{prep}  batch: {{kind: batcher, size: 100, replicas: 3{batcher}}}
  feed: {{kind: feeder}}
links:
  - read -> {"prep -> " if ops else ""}batch -> feed
""")
    return path


def digest(command, *files):
    return tundish(command, *files).report["stream_digest"]


def test_the_stream_is_that_of_the_oracle(folder):
    _, expected = oracle()
    for batcher in ("", ", block: 1 rows", ", block: 64 rows, remainder: pad"):
        got = digest("run", graph(folder, batcher=batcher))
        assert got == expected, f"{batcher}: {got} is not {expected}"
    got = digest("run", graph(folder, reader=", access: read", ops="{rename: {y: w}}"))
    assert got == expected, f"through a chain: {got} is not {expected}"


def test_every_placement_feeds_the_same(folder):
    shuffled = ", shuffle: global, epochs: 2"
    for ops in ("{filter: {column: y, op: gt, value: 0}}",
                "{pad_ragged: {column: x, to: 40, lengths: n}}, {repeat_rows: {times: 2}}"):
        path = graph(folder, ops=ops, reader=shuffled)
        one = digest("run", path)
        assert one == digest("run", path, "--set", "read.access=read", "--set", "prep.workers=3",
                             "--set", "batch.block=3 rows"), "other blocks"
        for transport, workers in (("ipc", 3), ("tcp", 1)):
            places = folder / "places.yaml"
            places.write_text(PLACES.format(port=free_range("127.0.0.1", 1), transport=transport,
                                            workers=workers))
            assert one == digest("up", path, places), f"{ops} over {transport}"
    isolated = digest("run", path, "--set", "prep.isolate=process")
    assert one == isolated, "workers of their own processes"


def test_columns_that_operations_make_are_the_same_on_any_number_of_workers(folder):
    """`slice` names bytes of the rows that came in, `concat` makes new ones."""
    path = graph(folder, reader=", shuffle: global, epochs: 3",
                 ops="{slice: {column: x, start: 2, length: 10, into: s}}, "
                     "{concat: {columns: [z, s], into: c}}, {filter: {column: y, op: gt, value: 0}}")
    one = digest("run", path)
    for workers in (2, 5):
        assert one == digest("run", path, "--set", f"prep.workers={workers}", "--set", "batch.block=7 rows")
    places = folder / "places.yaml"
    places.write_text(PLACES.format(port=free_range("127.0.0.1", 1), transport="tcp", workers=2))
    assert one == digest("up", path, places), "workers on another host"
    path = graph(folder, ops="{slice: {column: x, start: 2, length: 10, into: s}}, "
                             "{concat: {columns: [z, s], into: c}}")
    code, out, err = head(path, "--json")
    assert code == 0, err
    columns = json.loads(out.splitlines()[0])["columns"]
    for row, (x, z) in enumerate(zip(column(1, oracle()[0]), column(2, oracle()[0]))):
        for name, wanted in (("s", x[2:12]), ("c", z + x[2:12])):
            if row + 1 < len(columns[name]["splits"]):
                first, end = columns[name]["splits"][row:row + 2]
                assert bytes(columns[name]["data"][first:end]) == wanted, f"row {row} of {name}"


def test_batches_of_every_form_feed_the_same(folder):
    """Padded, packed and bounded batches, of one lane and of two, in one process and in three."""
    for lanes in ("", "lanes: 2\n"):
        digests = set()
        for form in ("", ", ragged: pack", ", bytes: 5kB", ", ragged: pack, bytes: 5kB",
                     ", pad_value: 7, remainder: pad"):
            path = graph(folder, ops="{filter: {column: y, op: gt, value: 0}}",
                         reader=", shuffle: global, epochs: 2", batcher=form)
            path.write_text(path.read_text().replace("seed: 5\n", "seed: 5\n" + lanes))
            digests.add(digest("run", path))
            if "bytes" in form:
                places = folder / "places.yaml"
                places.write_text(PLACES.format(port=free_range("127.0.0.1", 1), transport="tcp",
                                                workers=2))
                digests.add(digest("up", path, places))
        assert len(digests) == 1, (lanes, digests)


def test_a_batch_above_its_bytes_ends_the_run(folder):
    for form in (", bytes: 1kB", ", ragged: pack, bytes: 1kB", ", bytes: 1kB, block: 3 rows"):
        outcome = tundish("run", graph(folder, batcher=form), expect=1)
        assert "`bytes`" in outcome.output and "step 0" in outcome.output, outcome.output
    # Rows of which the join cannot hold a batch; with lanes, and where the last batch is dropped.
    save_ragged(folder, "x", [bytes(100000)] * 120)
    save(folder / "y.npy", "<i8", (120,), bytes(960))
    for top, batcher in (("", ""), ("lanes: 2\n", ""), ("", ", remainder: drop")):
        path = folder / "large.yaml"
        path.write_text(f"""tundish: 1
memory: 128MiB
{top}actors:
  read: {{kind: reader, source: {{npy: {{y: "{folder}/y.npy", x: {{values: "{folder}/x.npy", splits: "{folder}/x-splits.npy"}}}}}}}}
  prep: {{kind: preprocessor, ops: [{{filter: {{column: y, op: eq, value: 0}}}}]}}
  batch: {{kind: batcher, size: 100, bytes: 1MB, block: 128KiB{batcher}}}
  feed: {{kind: feeder}}
links:
  - read -> prep -> batch -> feed
""")
        outcome = tundish("run", path, expect=1)
        assert "`bytes`" in outcome.output and "step 0" in outcome.output, outcome.output


def test_the_bytes_of_a_batch_are_those_of_all_lanes(folder):
    """24 rows of 1,000 bytes, 12 of each lane, in one process and in three."""
    save_ragged(folder, "x", [bytes(1000)] * 48)
    path, places = folder / "lanes.yaml", folder / "places.yaml"
    path.write_text(f"""tundish: 1
lanes: 2
actors:
  read: {{kind: reader, source: {{npy: {{x: {{values: "{folder}/x.npy", splits: "{folder}/x-splits.npy"}}}}}}}}
  batch: {{kind: batcher, size: 24, replicas: 2, bytes: 24000B}}
  feed: {{kind: feeder}}
links:
  - read -> batch -> feed
""")
    tundish("run", path)
    outcome = tundish("run", path, "--set", "batch.bytes=23999B", expect=1)
    assert "the batch of step 0 take" in outcome.output and "over all lanes" in outcome.output, outcome.output
    places.write_text(f"""port: {free_range("127.0.0.1", 1)}
insecure: true
hosts:
  a: {{actors: [feed]}}
  b[0-1]: {{lanes: 1 each, actors: [read, batch]}}
""")
    tundish("up", path, places)
    outcome = tundish("up", path, places, "--set", "batch.bytes=23999B", expect=1)
    assert "over all lanes" in outcome.output, outcome.output


def test_memory_is_reserved_for_the_bytes_of_a_batch(folder):
    """Rows of up to 9 MB by their declaration, 100 a batch, in less memory than one such batch."""
    path = graph(folder)
    path.write_text(path.read_text().replace('x-splits.npy"}', 'x-splits.npy", max: 9000000}')
                    .replace("seed: 5\n", "seed: 5\nmemory: 400MiB\n"))
    refused = tundish("run", path, expect=78)
    assert "memory" in refused.output, refused.output
    for form in ("pad", "pack"):
        got = digest("run", path, "--set", "batch.bytes=1MB", "--set", f"batch.ragged={form}")
        assert got == oracle()[1], form


def head(*words):
    done = subprocess.run([str(TUNDISH), "head", *map(str, words)], capture_output=True, text=True,
                          cwd=ROOT, timeout=60)
    return done.returncode, done.stdout, done.stderr


def test_what_head_shows_is_what_was_stored(folder):
    rows, _ = oracle()
    path = graph(folder)
    code, out, err = head(path, "--json")
    assert code == 0, err
    at = 0
    for line in map(json.loads, out.splitlines()):
        x = line["columns"]["x"]
        assert x["shape"] == [line["rows"], None], x["shape"]
        for row in range(line["rows"]):
            got = bytes(x["data"][x["splits"][row]:x["splits"][row + 1]])
            assert got == column(1, rows)[at], f"row {at}"
            at += 1
    assert at == 100, at
    code, out, err = head(path)
    assert code == 0 and "x u8[<=40]  lengths 0 to 40, mean " in out, out + err


def test_an_npz_of_ragged_rows_is_a_source_again(folder):
    """The arrays of the file, unpacked, give the same stream."""
    _, expected = oracle()
    steps = (oracle()[0] + 99) // 100
    code, _, err = head(graph(folder), "--npz", folder / "all.npz", "--steps", steps)
    assert code == 0, err
    again = folder / "again"
    again.mkdir()
    subprocess.run([sys.executable, "-m", "zipfile", "-e", str(folder / "all.npz"), str(again)], check=True)
    text = (folder / "graph.yaml").read_text().replace("-splits", ".splits")
    (again / "graph.yaml").write_text(text.replace(f"data: {folder}", f"data: {again}"))
    assert digest("run", again / "graph.yaml") == expected


def test_rows_that_are_too_long_are_set_aside(folder):
    path = graph(folder, ops="{pad_ragged: {column: x, to: 30}}",
                 reader=f', on_error: quarantine, quarantine: "{folder}/aside"')
    path.write_text(path.read_text().replace("kind: preprocessor", "kind: preprocessor, on_error: quarantine"))
    outcome = tundish("run", path)
    rows, _ = oracle()
    long = [row for row in column(1, rows) if len(row) > 30]
    assert outcome.report["rows"]["bad"] == len(long), outcome.report["rows"]
    for name, kept in (("x", long), ("z", [z for x, z in zip(column(1, rows), column(2, rows)) if len(x) > 30])):
        data = (folder / "aside" / f"{name}.0.npy").read_bytes()
        assert data.endswith(b"".join(kept)), name


if __name__ == "__main__":
    sys.exit(run_named(globals(), sys.argv[1:], in_folder))
