#!/usr/bin/env python3
"""Arrays of a program as a source: tundish.feed(arrays=...), and tnd_graph_array of a C program.

The rows that come out are compared with the arrays that went in."""
import os
import subprocess
import sys
import weakref

import numpy

from command import BUILD, ROOT, free_port, holds, main, run, same

os.environ["TUNDISH_LIBRARY"] = str(BUILD / "libtundish.so")
sys.path.insert(0, str(ROOT / "tools/python"))
import tundish  # noqa: E402

DTYPES = {"u1": "u8", "i1": "i8", "u2": "u16", "i2": "i16", "u4": "u32", "i4": "i32", "u8": "u64",
          "i8": "i64", "f2": "f16", "f4": "f32", "f8": "f64"}


def graph(folder, source="memory", read="", rest=""):
    path = folder / "graph.yaml"
    path.write_text(f"""tundish: 1
seed: 7
actors:
  read:  {{kind: reader, source: {source}{read}}}
  batch: {{kind: batcher, size: 32}}
  feed:  {{kind: feeder}}
links: [read -> batch -> feed]
{rest}""")
    return path


def fed(path, arrays, **more):
    with tundish.feed(path, arrays={"read": arrays}, **more) as feed:
        return [{name: batch[name].numpy(copy=True) for name in batch} for batch in feed]


def refused(path, arrays, *words, **more):
    """The one error, which has all of the words."""
    try:
        with tundish.feed(path, arrays=arrays, **more) as feed:
            next(feed)
    except tundish.Error as error:
        holds(str(error), *words)
        same(str(error).count("error[T"), int("error[T" in str(error)), str(error))
        return
    raise AssertionError("it was accepted")


def test_rows_of_every_dtype_and_shape(folder):
    draw = numpy.random.default_rng(3)
    made = {f"c{i}": draw.integers(0, 2, (100, *((3, 2)[:i % 3]))).astype(kind) for i, kind in enumerate(DTYPES)}
    got = fed(graph(folder), made)
    same([batch["c0"].shape[0] for batch in got], [32, 32, 32, 4])
    for name, array in made.items():
        rows = numpy.concatenate([batch[name] for batch in got])
        same((rows.dtype, rows.shape), (array.dtype, array.shape), name)
        assert (rows == array).all(), name


def test_arrays_have_the_stream_of_the_same_npy_files(folder):
    x = numpy.random.default_rng(4).standard_normal((1000, 3)).astype("f4")
    numpy.save(folder / "x.npy", x)
    status, out, err = run("run", graph(folder, f"{{npy: {{x: {folder}/x.npy}}}}", ", shuffle: global, epochs: 2"))
    same(status, 0, err)
    with tundish.feed(graph(folder, read=", shuffle: global, epochs: 2"), arrays={"read": {"x": x}}) as feed:
        same(sum(batch.rows for batch in feed), 2000)
        feed.session.wait()
        holds(out, f"stream {feed.session.digest()}")


def test_arrays_are_not_copied_and_may_be_read_only(folder):
    """64 MiB are fed by a process that may not use that much more than it has."""
    program = f"""
import pathlib, sys
sys.path.insert(0, {str(ROOT / "tools/python")!r})
import numpy, tundish
x = numpy.ones((1 << 20, 16), "f4")
x.flags.writeable = False
def peak():
    return int(next(line for line in pathlib.Path("/proc/self/status").read_text().splitlines()
                    if line.startswith("VmHWM")).split()[1]) >> 10
with tundish.feed({str(graph(folder))!r}, arrays={{"read": {{"x": x}}}}) as feed:
    next(feed)
    before = peak()
    rows = 32 + sum(batch.rows for batch in feed)
print(rows, peak() - before < 32)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60)
    same((done.stdout.split(), done.stderr), (["1048576", "True"], ""))


def test_the_feed_keeps_the_arrays(folder):
    x = numpy.arange(1000, dtype="i8")
    kept = weakref.ref(x)
    feed = tundish.feed(graph(folder), arrays={"read": {"x": x}})
    del x
    assert kept() is not None
    same(sum(int(batch["x"].numpy().sum()) for batch in feed), 499500)
    feed.close()
    assert kept() is None


def test_an_array_without_rows_is_a_source_without_rows(folder):
    same(fed(graph(folder), {"x": numpy.zeros((0, 2), "f4")}), [])


def test_declared_columns_are_checked(folder):
    path = graph(folder, "{memory: {x: {dtype: f32, shape: [3]}, y: {dtype: u8}}}")
    x, y = numpy.zeros((9, 3), "f4"), numpy.zeros(9, "u1")
    same(len(fed(path, {"y": y, "x": x})), 1)
    refused(path, {"read": {"x": x.astype("f8"), "y": y}}, "the graph declares `x f32[3]`", "the program has `x f64[3]`")
    refused(path, {"read": {"x": x[:, :2].copy(), "y": y}}, "the graph declares `x f32[3]`", "has `x f32[2]`")
    refused(path, {"read": {"x": x, "y": numpy.zeros((9, 1), "u1")}}, "the graph declares `y u8`", "has `y u8[1]`")
    refused(path, {"read": {"x": x}}, "column `y` needs `data`", "or an array of the program")
    refused(path, {"read": {"x": x, "y": y, "z": y}}, "array for column `z`", "does not declare")
    mixed = graph(folder, "{memory: {x: {dtype: f32, shape: [3]}, y: {dtype: u8, data: [1, 2]}}}")
    same(fed(mixed, {"x": x[:2]})[0]["y"].tolist(), [1, 2])
    refused(mixed, {"read": {"x": x}}, "2 rows", "9")
    refused(mixed, {"read": {"x": x[:2], "y": y[:2]}}, "column `y` has its `data` in the file")


def test_arrays_that_cannot_be_rows_are_refused(folder):
    path, x = graph(folder), numpy.zeros((9, 3), "f4")
    one = "array `x` of actor `read`"
    refused(path, {"read": {"x": x[::2]}}, one, "not contiguous", "numpy.ascontiguousarray")
    refused(path, {"read": {"x": numpy.asfortranarray(x)}}, one, "not contiguous")
    refused(path, {"read": {"x": x.astype(">f4")}}, one, "big-endian", "newbyteorder")
    refused(path, {"read": {"x": x.astype("c8")}}, one, "dtype complex64", "u8, i8", "bool")
    refused(path, {"read": {"x": numpy.array(["a", "b"])}}, one, "dtype <U1")
    refused(path, {"read": {"x": numpy.float32(1)}}, one, "a single number")
    refused(path, {"read": {"x": [1, 2, 3]}}, one, "is a list", "numpy.asarray")
    refused(path, {"read": {"x": numpy.zeros([1] * 10, "u1")}}, one, "10 dimensions")
    refused(path, {"read": {"x": numpy.frombuffer(bytes(41), "f4", 10, 1)}}, one, "not aligned", "f32")
    refused(path, {"read": {"x": x, "y": x[:8]}}, "the same number of rows", "`x` has 9", "`y` has 8")
    refused(path, {"read": {"": x}}, "name")
    refused(path, {"read": {"x": numpy.zeros((9, 0), "f4")}}, "a row of column `x` is empty")
    refused(path, {"raed": {"x": x}}, "actor `raed`, which does not exist", "did you mean `read`")
    refused(path, {"batch": {"x": x}}, "actor `batch` does not read arrays", "source: memory")
    refused(path, {}, "the source has no column", "tnd_graph_array", "`arrays` of tundish.feed")
    numpy.save(folder / "x.npy", x)
    refused(graph(folder, f"{{npy: {{x: {folder}/x.npy}}}}"), {"read": {"x": x}}, "actor `read` does not read arrays")
    status, _, err = run("run", graph(folder))
    same(status, 78)
    holds(err, "the source has no column", "`arrays` of tundish.feed")


def test_arrays_belong_to_the_host_of_the_reader(folder):
    places = f"""hosts:
  a: {{address: 127.0.0.1, port: {free_port()}, actors: [read]}}
  b: {{address: 127.0.0.1, port: {free_port()}, actors: [batch, feed]}}
"""
    x = numpy.zeros(9, "f4")
    refused(graph(folder, rest=places), {"read": {"x": x}}, "array `x` is for actor `read`, which does not run on host b",
            "on host a", host="b")


PROGRAM = r"""
#include <stdio.h>
#include <tundish/tundish.h>

static tnd_status_t step(tnd_replica_t *replica, void *sum)
{
    const int32_t *x = tnd_replica_column(replica, "x");
    for (size_t i = 0; i < 3 * tnd_replica_rows(replica); i++)
        *(long *)sum += x[i];
    return TND_OK;
}

static const int32_t numbers[4][3] = {{1, 2, 3}, {4, 5, 6}, {7, 8, 9}, {10, 11, 12}};

int main(int count, char **words)
{
    const uint64_t shape[] = {4, 3};
    long sum = 0;
    tnd_session_t *session = NULL;
    tnd_graph_t *graph = tnd_graph_new("sum", 7);
    tnd_graph_add(graph, "read", "reader", "source: memory, shuffle: global, epochs: 2");
    tnd_graph_add(graph, "batch", "batcher", "size: 3");
    tnd_graph_add(graph, "feed", "feeder", NULL);
    tnd_graph_link(graph, "read -> batch -> feed");
    tnd_graph_array(graph, "read", "x", TND_I32, 2, shape, numbers);
    if (count > 1 && *words[1] == 't')
        tnd_graph_array(graph, "read", "x", TND_I32, 2, shape, numbers);
    if (count > 1 && *words[1] == 'n')
        tnd_graph_array(graph, "read", "y", TND_I32, 1, shape, NULL);
    if (count > 1 && *words[1] == 'r')
        tnd_graph_array(graph, "read", "y", TND_I32, 0, shape, numbers);
    if (count > 1 && *words[1] == 'd')
        tnd_graph_array(graph, "read", "y", (tnd_dtype_t)13, 1, shape, numbers);
    if (tnd_session_open(&session, graph, NULL) != TND_OK)
        return fputs(tnd_graph_errors(graph), stdout), 78;
    tnd_feed_t *feed = tnd_session_feed(session, "feed");
    while (feed != NULL && tnd_feed_next(feed) == TND_OK)
        tnd_feed_run(feed, step, NULL, &sum);
    printf("%ld %s\n", sum, tnd_session_error(session));
    tnd_status_t status = tnd_session_destroy(&session);
    tnd_graph_destroy(&graph);
    return status == TND_OK ? 0 : 1;
}
"""


def test_a_c_program_passes_its_arrays(folder):
    (folder / "sum.c").write_text(PROGRAM)
    subprocess.run(["cc", "-std=c11", "-Wall", "-Wextra", "-Werror", f"-I{ROOT}/runtime", folder / "sum.c", "-o",
                    folder / "sum", f"-L{BUILD}", "-ltundish", f"-Wl,-rpath,{BUILD}"], check=True, timeout=60)

    def said(*words):
        done = subprocess.run([folder / "sum", *words], capture_output=True, text=True, timeout=60)
        return done.returncode, done.stdout
    same(said(), (0, "156 \n"))  # twice 1 + ... + 12
    for word, wanted in (("twice", "array `x` of actor `read` is passed twice"), ("null", "its data are NULL"),
                         ("rank", "has 0 dimensions"), ("dtype", "13 is not a type of tnd_dtype_t")):
        status, out = said(word)
        same(status, 78, out)
        holds(out, wanted, "1 error")


main(globals())
