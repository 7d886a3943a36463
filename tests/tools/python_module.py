#!/usr/bin/env python3
"""The Python module as a program uses it: NumPy always, PyTorch and JAX where they are installed.

The rows that come out are compared with the arrays that went in, the stream with that of the
command."""
import base64
import copy
import gc
import importlib.util
import os
import pathlib
import pickle
import re
import resource
import shutil
import signal
import struct
import subprocess
import sys
import threading
import zlib

import numpy

from command import BUILD, FED, FEED, ROOT, arrays, free_port, holds, main, run, same, topology

os.environ["TUNDISH_LIBRARY"] = str(BUILD / "libtundish.so")
MODULE = ROOT / "tools/python"
sys.path.insert(0, str(MODULE))
import tundish  # noqa: E402


def fails(kind, call, *words):
    try:
        call()
    except kind as error:
        holds(str(error), *words)
        return error
    raise AssertionError(f"no {kind.__name__}")


def rows(batches, column, read=numpy.from_dlpack):
    return numpy.concatenate([numpy.asarray(read(batch[column])) for batch in batches])


def rss():
    """Of this process, MiB."""
    return int(pathlib.Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize() >> 20


def test_batches_have_the_rows_in_their_order(folder):
    made = arrays(folder)
    path = topology(folder, links=FED, actors=FEED % "")
    status, out, err = run("run", path)
    same(status, 0, err)
    steps = []
    with tundish.feed(path) as feed:
        same(feed.spec, {"x": tundish.Spec("f32", (3,), False), "y": tundish.Spec("i64", (), False)})
        same(len(feed), 4)
        for batch in feed:
            same((set(batch), len(batch)), ({"x", "y"}, 2))
            same(batch["x"].shape, (batch.rows, 3))
            steps.append((batch.step, batch.epoch, batch.last, batch.weight))
            at = slice(32 * batch.step, 32 * batch.step + batch.rows)
            for name in made:
                array = numpy.from_dlpack(batch[name])
                same((array.dtype, array.flags.writeable), (made[name].dtype, False))
                assert (array == made[name][at]).all(), name
        same(next(feed, None), None)
        feed.session.wait()
        holds(out, f"stream {feed.session.digest()}")
        same(feed.session.digest("none"), None)
    same(steps, [(0, 0, False, 32), (1, 0, False, 32), (2, 0, False, 32), (3, 0, True, 4)])
    fails(tundish.Error, lambda: next(feed), "the session is closed: call this before the end of `with`")
    feed.close()


def test_batches_stay_as_they_are_while_they_are_held(folder):
    made = arrays(folder, rows=2000)
    order = numpy.arange(2000)
    path = topology(folder, batch="size: 4", links=FED, actors=FEED % ", depth: 2, spare: 500",
                    read=", shuffle: global, epochs: 2")
    with tundish.feed(path) as feed:
        natural = [(batch, numpy.from_dlpack(batch["x"]).copy()) for batch in feed]
    same(len(natural), 1000)
    held = [(numpy.from_dlpack(batch["x"]), copy) for batch, copy in natural]
    places = {row.tobytes(): at for at, row in zip(order, made["x"])}
    for epoch in (natural[:500], natural[500:]):
        same(sorted(places[row.tobytes()] for _, copy in epoch for row in copy), list(order))
    del natural, epoch
    gc.collect()
    assert all((array == copy).all() for array, copy in held)
    # Consumers release on threads of their own.
    threads = [threading.Thread(target=part.clear) for part in (held[::2], held[1::2])]
    held.clear()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def test_rows_come_from_the_memory_of_a_device(folder):
    made = arrays(folder, rows=400)
    path = topology(folder, batch="size: 10", links=FED, actors=FEED % ", devices: [sim:2], depth: 2, spare: 40")
    with tundish.feed(path) as feed:
        batches = list(feed)
    same(batches[0]["x"].__dlpack_device__(), (1, 2))
    assert (rows(batches, "x") == made["x"]).all()


def test_slow_consumers_see_their_own_rows(folder):
    made = arrays(folder, rows=1000)
    path = topology(folder, batch="size: 10", links=FED, actors=FEED % ", depth: 2")
    seen, waiting, full = [], [], threading.Condition()

    def consume():
        while True:
            with full:
                full.wait_for(lambda: len(waiting) > 5 or None in waiting)
                tensor = waiting.pop(0)
            if tensor is None:
                return
            seen.append(numpy.from_dlpack(tensor).copy())

    thread = threading.Thread(target=consume)
    thread.start()
    with tundish.feed(path) as feed:
        for batch in feed:
            with full:
                waiting.append(batch["x"])
                full.notify()
    with full:
        waiting.append(None)
        full.notify()
    thread.join()
    assert (numpy.concatenate(seen) == made["x"]).all()


def test_memory_comes_back(folder):
    numpy.save(folder / "x.npy", numpy.ones((48, 1 << 20), "u1"))
    path = topology(folder, columns="x", batch="size: 2", links=FED, actors=FEED % ", depth: 2, spare: 24",
                    read=", epochs: 4")
    held, before = [], None
    with tundish.feed(path, settings={"memory": "1GiB"}) as feed:
        for batch in feed:
            held.append(numpy.from_dlpack(batch["x"]))
            if batch.step % 24 == 23:  # the spares have been made in the first epoch
                assert rss() > 48
                held.clear()
                before = before or rss()
        assert rss() <= before + 16, (before, rss())
    del batch, feed
    gc.collect()
    assert rss() <= before - 32, (before, rss())


def test_a_program_that_holds_more_than_memory_allows_is_told_so(folder):
    numpy.save(folder / "x.npy", numpy.ones((200, 1 << 20), "u1"))
    path = topology(folder, columns="x", batch="size: 2", links=FED, actors=FEED % ", depth: 2", top="memory: 100MiB\n")
    held = []
    with tundish.feed(path) as feed:
        fails(tundish.Error, lambda: held.extend(feed), "holds the tensors of", "`memory:` does not allow")
    assert 2 < len(held) < 50
    assert all((numpy.from_dlpack(batch["x"]) == 1).all() for batch in held)
    del held[:]
    with tundish.feed(path) as feed:
        same(sum(1 for _ in feed), 100)


def test_capsules_follow_the_protocol(folder):
    arrays(folder)
    path = topology(folder, links=FED, actors=FEED % "")
    with tundish.feed(path) as feed:
        tensor = next(feed)["x"]
    same(tensor.__dlpack_device__(), (1, 0))
    for version, name in ((None, "dltensor"), ((0, 8), "dltensor"), ((1, 0), "dltensor_versioned"),
                          ((2, 1), "dltensor_versioned")):
        holds(repr(tensor.__dlpack__(max_version=version)), f'"{name}"')
    # What no consumer takes is freed with its capsule, also beside an exception.
    for _ in range(3):
        tensor.__dlpack__(dl_device=(1, 0), copy=False)
    for stream in (None, -1):
        tensor.__dlpack__(stream=stream)
    fails(BufferError, lambda: tensor.__dlpack__(stream=1), "cpu:0 has no streams")
    fails(BufferError, lambda: tensor.__dlpack__(copy=True), "copy")
    fails(BufferError, lambda: tensor.__dlpack__(dl_device=(2, 0)), "(1, 0), not on (2, 0)")
    assert (numpy.from_dlpack(tensor) == numpy.load(folder / "x.npy")[:32]).all()


def test_a_consumer_that_refuses_reports_its_own_error(folder):
    numpy.save(folder / "x.npy", numpy.arange(64, dtype="f4"))
    path = topology(folder, columns="x", links=["read -> prep -> batch -> feed"],
                    actors="  prep: {kind: preprocessor, ops: [{cast: {column: x, to: bf16}}]}\n" + FEED % "")
    with tundish.feed(path) as feed:
        tensor = next(feed)["x"]
        same(feed.spec["x"].dtype, "bf16")
    for _ in range(3):  # NumPy has no bf16; an unconsumed capsule must not replace its error
        fails((BufferError, RuntimeError), lambda: numpy.from_dlpack(tensor), "nsupported")


def test_replicas_have_their_own_rows_and_lengths(folder):
    numpy.save(folder / "v.npy", numpy.arange(10, dtype="i4"))
    numpy.save(folder / "s.npy", numpy.array([0, 1, 3, 6, 10], "i8"))
    path = folder / "graph.yaml"
    path.write_text(f"""tundish: 1
actors:
  read: {{kind: reader, source: {{npy: {{x: {{values: "{folder}/v.npy", splits: "{folder}/s.npy"}}}}}}}}
  batch: {{kind: batcher, size: 4, replicas: 2}}
  feed: {{kind: feeder, devices: ["cpu:0", "cpu:1"]}}
links:
  - read -> batch -> feed
""")
    with tundish.feed(path) as feed:
        batch = next(feed)
    same([(one.id, one.rows, list(one.lengths["x"])) for one in batch.replicas], [(0, 2, [1, 2]), (1, 2, [3, 4])])
    same([one["x"].__dlpack_device__() for one in batch.replicas], [(1, 0), (1, 1)])
    same([numpy.from_dlpack(one["x"]).tolist() for one in batch.replicas],
         [[[0, 0], [1, 2]], [[3, 4, 5, 0], [6, 7, 8, 9]]])
    fails(tundish.Error, lambda: batch["x"], "2 replicas", "batch.replicas[i]")
    fails(tundish.Error, lambda: batch.lengths, "batch.replicas[i]")


MEAN = "  mean: {kind: reducer}\n"


def test_steps_reduce_report_and_save(folder):
    draw = numpy.random.default_rng(1)
    x = draw.uniform(-1, 1, 1000)
    numpy.save(folder / "x.npy", x)
    numpy.save(folder / "y.npy", 3 * x)
    top = f"checkpoint: {{dir: {folder}/kept}}\n"
    path = topology(folder, top=top, batch="size: 32, replicas: 4", actors=FEED % ', devices: ["cpu:0", "cpu:1"]' + MEAN,
                    links=["read -> batch -> feed <-> mean"], read=", epochs: 10")
    slopes, gradients = numpy.zeros(4), numpy.zeros((4, 1))

    def step(replica):
        a, b = (numpy.from_dlpack(replica[name]) for name in "xy")
        error = slopes[replica.id] * a - b
        gradients[replica.id] = 2 * (error * a).mean() if replica.rows > 0 else 0
        replica.report("loss", (error**2).sum(), replica.rows)
        replica.reduce("mean", gradients[replica.id])

    def apply(replica):
        slopes[replica.id] -= 0.3 * gradients[replica.id, 0]

    with tundish.feed(path) as feed:
        same(feed.restore(lambda file, replica: None), False)
        while feed.run(step, apply):
            pass
        feed.session.wait()
        assert feed.session.metric("loss") < 1e-6
    assert (slopes == slopes[0]).all() and abs(slopes[0] - 3) < 1e-3, slopes

    with tundish.feed(path) as feed:
        feed.run(step, apply)
        fails(OSError, lambda: feed.save(lambda file, replica: open("/none/x")), "/none/x")
        feed.save(lambda file, replica: numpy.save(open(file, "wb"), slopes[replica]))
        feed.session.drain()
        while feed.run(step, apply):
            pass
        feed.session.wait()
    loaded = {}
    with tundish.feed(path, settings={"checkpoint.resume": "latest"}) as feed:
        same(feed.restore(lambda file, replica: loaded.update({replica: numpy.load(open(file, "rb"))})), True)
        same(next(feed).step, 1)
    same(sorted(loaded), [0, 1, 2, 3])


def test_epochs_end_where_the_loop_leaves_them(folder):
    arrays(folder)
    path = topology(folder, links=FED, actors=FEED % "", read=", epochs: 3")
    whole, parts = [], []
    with tundish.feed(path) as feed:
        for epoch in feed.epochs():
            whole.append([batch.step for batch in epoch])
        fails(tundish.Error, lambda: next(feed.epochs()), "feed.epochs()")
        same(whole, [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9, 10, 11]])
    with tundish.feed(path) as feed:
        for epoch in feed.epochs():
            parts.append([])
            for batch in epoch:
                parts[-1].append((batch.step, batch.epoch, batch["x"].shape[0]))
                if len(parts[-1]) == 2:
                    break
        same(feed.report.fed, sum(rows for part in parts for _, _, rows in part))
        same((feed.report.read, feed.report.epochs), (3 * 64, 3))
    same([[step for step, _, _ in part] for part in parts], [[2 * e, 2 * e + 1] for e in range(3)])
    same([part[0][1] for part in parts], [0, 1, 2])


def test_the_iterator_of_an_epoch_ends_with_it(folder):
    """Whether it was begun or not, left by `break`, used up, or ended by `rewind`."""
    arrays(folder)
    path = topology(folder, links=FED, actors=FEED % "", read=", epochs: 4")
    with tundish.feed(path) as feed:
        epochs = feed.epochs()
        begun = next(epochs)
        same(next(begun).step, 0)
        unread = next(epochs)
        used = next(epochs)
        for left in (begun, unread):
            fails(tundish.Error, lambda: next(left), "this epoch has ended: the loop over `feed.epochs()` has gone")
        same([batch.step for batch in used], [2, 3, 4, 5])
        rewound = next(epochs)
        same([list(used), list(begun), next(rewound).step], [[], [], 6])
        feed.rewind()
        same(([batch.step for batch in rewound], list(epochs)), ([], []))
        same((feed.report.steps, feed.report.epochs), (7, 4))


def test_values_are_reduced_along_an_axis(folder):
    x, y = numpy.arange(20, dtype="f4").reshape(10, 2) ** 2, numpy.arange(10, dtype="i4") * 3
    numpy.save(folder / "x.npy", x)
    numpy.save(folder / "y.npy", y)
    path = topology(folder, batch="size: 10, replicas: 4", actors=FEED % ', devices: ["cpu:0", "cpu:1"]' + MEAN,
                    links=["read -> batch -> feed <-> mean"], read=", epochs: 2")
    posted = {}

    def step(replica):  # of 3, 3, 2 and 2 rows
        a, b = (numpy.from_dlpack(replica[name]) for name in "xy")
        posted[replica.id] = [replica.reduce("mean", values, how, axis=0).result for how in ("mean", "sum") for values in (a, b)]

    with tundish.feed(path) as feed:
        same(feed.run(step), True)
        fails(ValueError, lambda: feed.run(lambda replica: replica.reduce("mean", x, "max", axis=0)), "sum or mean")
    for mean, whole, total, count in posted.values():
        assert numpy.allclose(mean, x.mean(0), rtol=1e-6, atol=0), mean
        same((mean.dtype, whole.dtype, whole.item()), (numpy.dtype("f4"), numpy.dtype("f8"), 13.5))
        same((total.tolist(), count.item()), (x.sum(0).tolist(), 135))


def test_errors_are_exceptions_with_the_text(folder):
    arrays(folder)
    path = topology(folder, actors=FEED % "" + MEAN, links=["read -> batch -> feed <-> mean"])
    numbers = numpy.zeros(2)

    def one(step):
        with tundish.feed(path) as feed:
            feed.run(step)

    def divide(replica):
        return replica.rows / 0

    kept = []
    fails(ZeroDivisionError, lambda: one(divide), "division")
    fails(tundish.Error, lambda: one(lambda r: r.reduce("sum", numbers)), "no reducer 'sum'", "there: mean")
    fails(TypeError, lambda: one(lambda r: r.reduce("mean", numpy.from_dlpack(r["x"])) and None), "writable array")
    fails(TypeError, lambda: one(lambda r: r.reduce("mean", numpy.zeros(2, "c8"))), "numbers")
    fails(ValueError, lambda: one(lambda r: r.reduce("mean", numbers, "sum", weight=1)), "weight")
    one(kept.append)
    fails(tundish.Error, lambda: kept[0].reduce("mean", numbers), "inside of `step`")
    fails(tundish.Error, lambda: one(lambda r: kept[0].report("loss", 1, 1)), "inside of `step`")
    fails(tundish.Error, lambda: tundish.feed(folder / "none.yaml"), "none.yaml", "cannot be opened")
    fails(tundish.Error, lambda: tundish.feed("/proc/self/mem"), "/proc/self/mem", "cannot be read")  # a file, even for root
    fails(tundish.Error, lambda: tundish.feed(path, settings={"batch.sise": 3}), "batch.sise")
    fails(tundish.Error, lambda: tundish.feed(path, feeder="fed"), "no feeder of this graph is named `fed`", "there is `feed`")
    fails(tundish.Error, lambda: tundish.feed(path, host="b"), "b")
    fails(tundish.Error, lambda: tundish.feed(), "")
    fails(tundish.Error, lambda: tundish.feed(path).save(lambda file, replica: None), "checkpoint: {dir: DIR}")
    error = fails(tundish.Error, lambda: tundish.feed(path, settings={"batch.size": 0}), "`size`")
    assert not str(error).endswith("1 error"), error
    with tundish.feed(path) as feed:
        fails(KeyError, lambda: next(feed)["z"], "no column 'z' in the batch; it has x, y")
    two = topology(folder, "two.yaml", actors=FEED % "" + "  again: {kind: reader, source: {npy: {y: \"${data}/y.npy\"}}}\n"
                   "  cut: {kind: batcher, size: 50}\n  val: {kind: feeder, after: feed}\n", links=FED + ["again -> cut -> val"])
    early = "val: comes after feed, which this program has not pulled to its end"
    fails(tundish.Error, lambda: next(tundish.feed(two, feeder="val")), early)
    with tundish.feed(two) as feed:
        next(feed)
        fails(tundish.Error, lambda: next(feed.session.feed("val")), early)
        same(sum(batch.rows for batch in feed), 68)
        same([batch.rows for batch in feed.session.feed("val")], [50, 50])
    (folder / "x.npy").write_bytes(b"no array")
    fails(tundish.Error, lambda: next(tundish.feed(path)), "x.npy: is not a .npy file")


def test_a_dict_is_a_topology(folder):
    made = arrays(folder)
    path = topology(folder, links=FED, actors=FEED % "")
    with tundish.feed(path) as feed:
        of_file = rows(list(feed), "y")
        feed.session.wait()
        digest = feed.session.digest()
    (folder / "my_rows.py").write_text("import numpy\n\ndef double(x):\n    return x * numpy.float32(2)\n")
    sys.path.insert(0, str(folder))
    import my_rows
    graph = {"tundish": 1, "seed": 7, "links": ["read -> batch -> feed"], "actors": {
        "read": {"kind": "reader", "source": {"npy": {name: folder / f"{name}.npy" for name in made}}},
        "batch": {"kind": "batcher", "size": numpy.int64(10)}, "feed": {"kind": "feeder"}}}
    with tundish.feed(graph) as feed:
        same(rows(list(feed), "y").tolist(), of_file.tolist())
        feed.session.wait()
        same(feed.session.digest(), digest)
    os.environ["PYTHONPATH"] = str(folder)  # of the interpreters
    double = {"python": {"call": my_rows.double, "columns": "x", "makes": {"x": "f32[3]"}}}
    more = {**graph, "links": "read -> prep -> batch -> feed",
            "actors": {**graph["actors"], "prep": {"kind": "preprocessor", "ops": [double]}}}
    with tundish.feed(more, settings={"batch.size": 4}) as feed:
        same(rows(list(feed), "x").tolist(), (made["x"] * 2).tolist())
    wrong = {**graph, "actors": {**graph["actors"], "batch": {"kind": "batcher", "sice": 3}}, "lane": 2}
    fails(tundish.Error, lambda: tundish.feed(wrong), "batcher `batch` has no option `sice`", "did you mean `size`?",
          "`lane` is neither an actor with an option nor a key of the top level")
    fails(tundish.Error, lambda: tundish.feed({**graph, "actors": {"read": {}}}), "actor `read` has no `kind`")
    fails(tundish.Error, lambda: tundish.feed({**graph, "tundish": 2}), "`tundish: 2` is another version")
    fails(tundish.Error, lambda: tundish.feed(graph, path), "a dict is the whole topology")
    for seed, words in ((-1, "expects a whole number, not -1"), (1.5, "expects a whole number, not `1.5`"),
                        ("7", 'expects a whole number, not the text "7"'), (2 ** 64, "18446744073709551616 is too large"),
                        (True, "expects a whole number, not `true`")):
        fails(tundish.Error, lambda: tundish.feed({**graph, "seed": seed}), "`seed`", words)
    tundish.feed({**more, "seed": numpy.uint64(2 ** 64 - 1)}).close()
    fails(TypeError, lambda: tundish.feed({**graph, "actors": {"read": 3}}), "actor `read` is a dict, not a int")
    fails(TypeError, lambda: tundish.feed({**graph, "name": "x", "lanes": {1, 2}}), "a set", "cannot be written in a topology")
    double["python"]["call"] = lambda x: x
    fails(TypeError, lambda: tundish.feed(more), "cannot import: define it in a module of its own")


BESIDE = """import sys
sys.path.insert(0, sys.argv[1])
import beside, numpy, tundish
graph = {"links": "read -> prep -> batch -> feed", "actors": {
    "read": {"kind": "reader", "source": "memory"}, "batch": {"kind": "batcher", "size": 4}, "feed": {"kind": "feeder"},
    "prep": {"kind": "preprocessor", "ops": [{"python": {"call": beside.double, "columns": "x", "makes": {"x": "f32"}}}]}}}
with tundish.feed(graph, arrays={"read": {"x": numpy.arange(4, dtype="f4")}}) as feed:
    print([batch["x"].numpy().tolist() for batch in feed])
"""


def test_interpreters_find_the_modules_beside_the_program(folder):
    (folder / "program/away").mkdir(parents=True)
    (folder / "program/beside.py").write_text("def double(x):\n    return x * 2\n")
    (folder / "program/main.py").write_text(BESIDE)
    env = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "TUNDISH_PYTHONPATH")}
    for words, cwd in ((["../main.py"], "program/away"), (["program/main.py"], "."), (["-m", "main"], "program")):
        done = subprocess.run([sys.executable, *words, str(ROOT / "tools/python")], cwd=folder / cwd, env=env, text=True,
                              capture_output=True, timeout=100)
        same((done.stdout, done.stderr), ("[[0.0, 2.0, 4.0, 6.0]]\n", ""), words)


def test_a_validation_is_read_after_each_epoch(folder):
    made = arrays(folder, rows=20)
    graph = {"links": ["read -> batch -> feed", "tests -> some -> val"], "actors": {
        "read": {"kind": "reader", "source": "memory", "epochs": 3}, "batch": {"kind": "batcher", "size": 8},
        "feed": {"kind": "feeder"}, "tests": {"kind": "reader", "source": "memory"}, "some": {"kind": "batcher", "size": 16},
        "val": {"kind": "feeder", "after": "feed", "every": "1 epoch"}}}
    with tundish.feed(graph, feeder="feed", arrays={"read": made, "tests": made}) as feed:
        val, found = feed.session.feed("val"), []
        for epoch in feed.epochs():
            found.append([batch.rows for batch in epoch])
            found.append([batch.rows for batch in val])
        same(found, 3 * [[8, 8, 4], [16, 4]])
        fails(tundish.Error, lambda: list(val), "val: the run has ended, and its last validation was read before")
    graph["actors"]["val"].pop("every")
    with tundish.feed(graph, feeder="feed", arrays={"read": made, "tests": made}) as feed:
        next(feed)
        fails(tundish.Error, lambda: list(feed.session.feed("val")), "write `every: 1 epoch` in val to validate while it trains")


def test_a_preview_shows_rows_and_loses_none(folder):
    picture = numpy.arange(12 * 5 * 7 * 3, dtype="u1").reshape(12, 5, 7, 3)
    graph = {"links": "read -> batch -> feed", "actors": {"read": {"kind": "reader", "source": "memory"},
             "batch": {"kind": "batcher", "size": 4}, "feed": {"kind": "feeder"}}}
    fed = {"picture": picture, "y": numpy.arange(12), "x": numpy.arange(120, dtype="f4").reshape(12, 10) / 8}
    with tundish.feed(graph, arrays={"read": fed}) as feed:
        shown = feed.preview(2)
        same(str(feed.preview(2)), str(shown))
        lines = str(shown).splitlines()
        same(lines[0], "step 0, epoch 0: 2 of 4 rows")
        same(lines[1].split(), ["picture", "u8[5,7,3]", "y", "i64", "x", "f32[10]"])
        same(lines[3].split("  ")[-1], "1.25 1.375 1.5 1.625 1.75 1.875 ...")
        data = re.findall(r'<img src="data:image/png;base64,([^"]*)">', shown._repr_html_())
        same(len(data), 2)
        png = base64.b64decode(data[1])
        same((png[:8], struct.unpack(">II", png[16:24])), (b"\x89PNG\r\n\x1a\n", (7, 5)))
        at = png.index(b"IDAT")
        size = struct.unpack(">I", png[at - 4:at])[0]
        pixels = zlib.decompress(png[at + 4:at + 4 + size])
        same(b"".join(pixels[1 + line * 22:22 + line * 22] for line in range(5)), picture[1].tobytes())
        fails(tundish.Error, lambda: feed.run(lambda replica: None), "`preview` took the next batch")
        for name in "rewind", "finish":  # would commit a batch that the program has not had
            fails(tundish.Error, getattr(feed, name), f"take that batch before `{name}`")
        same(rows(list(feed), "y").tolist(), list(range(12)))


def test_a_feed_is_not_used_inside_of_a_step(folder):
    arrays(folder)
    path = topology(folder, batch="size: 10, replicas: 2", actors=FEED % ', devices: ["cpu:0", "cpu:1"]', links=FED)
    for name in "rewind", "preview", "__next__":
        with tundish.feed(path) as feed:
            fails(tundish.Error, lambda: feed.run(lambda replica: getattr(feed, name)()), "inside of a step")


def test_numpy_makes_arrays_of_tensors(folder):
    made = arrays(folder)
    with tundish.feed(topology(folder, links=FED, actors=FEED % "")) as feed:
        x = next(feed)["x"]
        same(len(x), 32)
        view = numpy.asarray(x)
        same((view.dtype, view.shape, view.flags.writeable), (made["x"].dtype, (32, 3), False))
        assert numpy.array_equal(view, made["x"][:32])
        wide, copy = numpy.asarray(x, dtype="f8"), numpy.array(x)
        same((wide.dtype, copy.flags.writeable, numpy.shares_memory(copy, view)), (numpy.dtype("f8"), True, False))
        same(float(numpy.sum(x)), float(view.sum()))


def test_arrays_are_those_of_dlpack(folder):
    """For each type of NumPy, for rows of any rank, and for a replica without rows; they outlive the session."""
    draw, kinds = numpy.random.default_rng(4), "u1 i1 u2 i2 u4 i4 u8 i8 f2 f4 f8 ?".split()
    columns = {f"c{place}": draw.integers(0, 2, (33, *(3,) * (place % 3))).astype(kind) for place, kind in enumerate(kinds)}
    for name, column in columns.items():
        numpy.save(folder / f"{name}.npy", column)
    path = topology(folder, columns=" ".join(columns), batch="size: 32, replicas: 2", links=FED, actors=FEED % "")
    with tundish.feed(path) as feed:
        batches = list(feed)
    same([[replica.rows for replica in batch.replicas] for batch in batches], [[16, 16], [1, 0]])
    kept = {name: [replica[name].numpy() for batch in batches for replica in batch.replicas] for name in columns}
    for name, parts in kept.items():
        for part, tensor in zip(parts, (replica[name] for batch in batches for replica in batch.replicas)):
            # The NumPy of Debian 12 takes no bool by DLPack.
            other = numpy.from_dlpack(tensor) if part.dtype != "?" else numpy.asarray(tensor)
            same((part.dtype, part.shape, part.strides, part.flags.writeable, part.ctypes.data),
                 (other.dtype, other.shape, other.strides, False, other.ctypes.data), name)
        part = parts[0]
        fails(ValueError, lambda: part.__setitem__(0, 1), "read-only")
    del batches, tensor, other
    for name, parts in kept.items():
        assert numpy.array_equal(numpy.concatenate(parts), columns[name]), name


def test_a_tensor_is_made_once_and_only_if_it_is_asked_for(folder):
    made = arrays(folder)
    with tundish.feed(topology(folder, links=FED, actors=FEED % "")) as feed:
        first, second, third = next(feed), next(feed), next(feed)
        del first, third  # whose rows nothing has looked at
        assert second["x"] is second["x"]
        assert numpy.array_equal(second["y"].numpy(), made["y"][32:64])
        same(list(second), ["x", "y"])
        same((len(second), sorted(second.items())[1][0]), (2, "y"))


def test_rows_are_not_copied_by_their_address(folder):
    arrays(folder)
    with tundish.feed(topology(folder, links=FED, actors=FEED % "")) as feed:
        batch = next(feed)
        tensor = batch["x"]
        for one in batch, batch.replicas[0], tensor:
            for call in copy.deepcopy, pickle.dumps:
                fails(TypeError, lambda: call(one), "numpy(copy=True)")
        assert copy.copy(tensor) is tensor and copy.copy(batch)["x"] is tensor
        array = tensor.numpy()
        assert numpy.array_equal(pickle.loads(pickle.dumps(array)), array)


def test_a_library_that_is_not_there_is_named(folder):
    env = {**os.environ, "PYTHONPATH": str(MODULE), "TUNDISH_LIBRARY": str(folder / "none.so")}
    done = subprocess.run([sys.executable, "-c", "import tundish"], env=env, text=True, capture_output=True)
    same(done.returncode, 1)
    holds(done.stderr, "ImportError: ", "none.so", "TUNDISH_LIBRARY names the library")


LOOP = """
import sys, tundish
print("open", flush=True)
with tundish.feed(*sys.argv[2:], host=sys.argv[1] or None) as feed:
    for batch in feed:
        if batch.step == 100:
            print("ready", flush=True)
print("not interrupted", flush=True)
"""


def interrupted(said, host, *files):
    """The stderr of a program that gets SIGINT when it has said so."""
    env = {**os.environ, "PYTHONPATH": str(MODULE)}
    program = subprocess.Popen([sys.executable, "-c", LOOP, host, *map(str, files)], env=env, text=True,
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    while said not in (line := program.stdout.readline()):
        assert line, program.stderr.read()
    program.send_signal(signal.SIGINT)
    out, err = program.communicate(timeout=100)
    assert "not interrupted" not in out, out
    holds(err, "KeyboardInterrupt")
    same(program.returncode, -signal.SIGINT)
    return err


def test_ctrl_c_drains_the_run(folder):
    arrays(folder)
    path = topology(folder, links=FED, actors=FEED % "", read=", epochs: 100000000")
    holds(interrupted("ready", "", path), "in _batches")


PREEMPTED = """
import os, signal, sys, tundish
seen = 0
with tundish.feed(*sys.argv[1:]) as feed:
    feed.drain_on_signals()
    for batch in feed:
        seen += batch.rows
        if batch.step == 100:
            child = os.fork()  # as subprocesses of other libraries: such a signal ends it
            if child == 0:
                os.kill(os.getpid(), signal.SIGTERM)
                os._exit(0)
            print("ready", os.waitpid(child, 0)[1], flush=True)
    report = feed.report
assert report.fed == report.read == seen, (seen, report)
print("drained", flush=True)
os.kill(os.getpid(), signal.SIGUSR1)  # which is the program's own again
"""


def test_signals_of_a_launcher_drain_the_run(folder):
    arrays(folder)
    path = topology(folder, links=FED, actors=FEED % "", read=", epochs: 100000000")
    program = subprocess.Popen([sys.executable, "-c", PREEMPTED, str(path)], text=True, stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE, env={**os.environ, "PYTHONPATH": str(MODULE)})
    same(program.stdout.readline(), f"ready {int(signal.SIGTERM)}\n")
    program.send_signal(signal.SIGSTOP)  # so that it finds both at once
    for number in signal.SIGUSR2, signal.SIGTERM:
        program.send_signal(number)
    program.send_signal(signal.SIGCONT)
    out, err = program.communicate(timeout=60)
    same((out, program.returncode), ("drained\n", -signal.SIGUSR1), err)


def test_ctrl_c_ends_a_wait_inside_of_the_library(folder):
    arrays(folder)
    path = topology(folder, links=FED, actors=FEED % "")
    (folder / "two.yaml").write_text(f"""port: {free_port()}
insecure: true
hosts:
  a: {{address: 127.0.0.1, actors: [batch, feed]}}
  b: {{address: 127.0.0.1, actors: [read]}}
""")
    interrupted("open", "a", path, folder / "two.yaml")  # host b never comes


HELD = """
import ctypes, sys, tundish
with tundish.feed(sys.argv[1]) as feed:
    batches = list(feed)
for batch in batches:
    tensor = batch["x"]._tensor
    sys.stdout.buffer.write(ctypes.string_at(tensor.data, 12 * batch.rows))
    batch["x"].__dlpack__(max_version=(1, 0))  # which no consumer takes
"""


def test_valgrind_finds_nothing_in_batches_that_outlive_the_session(folder):
    if shutil.which("valgrind") is None:
        return print("     valgrind is not installed")
    made = arrays(folder)
    path = topology(folder, batch="size: 4", links=FED, actors=FEED % ", depth: 2, spare: 2")
    env = {**os.environ, "PYTHONPATH": str(MODULE), "PYTHONMALLOC": "malloc"}
    done = subprocess.run(["valgrind", "-q", "--error-exitcode=9", "--leak-check=full", "--show-leak-kinds=definite",
                           "--errors-for-leak-kinds=none", sys.executable, "-S", "-c", HELD, path], env=env,
                          capture_output=True, timeout=250)
    same(done.returncode, 0, done.stderr.decode())
    assert done.stdout == made["x"].tobytes()
    # The interpreter itself leaks.
    assert "tnd_" not in done.stderr.decode(), done.stderr.decode()


def test_examples_run(folder):
    made = arrays(folder)
    path = topology(folder, links=FED, actors=FEED % "")
    env = {**os.environ, "PYTHONPATH": str(MODULE)}
    done = subprocess.run([sys.executable, ROOT / "examples/python/numpy_head.py", path], env=env, text=True,
                          capture_output=True, timeout=100)
    same((done.returncode, done.stderr), (0, ""))
    holds(done.stdout, "step 0, replica 0: 32 rows", f"y int64[32]  min {made['y'][:32].min():g} ")
    for name in ("torch", "jax"):
        if importlib.util.find_spec(name) is None or not pathlib.Path("/usr/share/datasets/fashion-mnist").exists():
            print(f"     {name} or its data are not installed")
            continue
        done = subprocess.run([sys.executable, ROOT / f"examples/python/{name}_fashion.py"], env=env, text=True,
                              capture_output=True, timeout=250)
        same((done.returncode, done.stderr), (0, ""))
        assert float(re.search(r"accuracy (\S+)", done.stdout).group(1)) > 0.8, done.stdout


def test_pytorch_and_jax_read_the_same_memory(folder):
    made = arrays(folder)
    path = topology(folder, links=FED, actors=FEED % "")
    with tundish.feed(path) as feed:
        batches = list(feed)
    try:
        import torch
        assert (rows(batches, "x", torch.from_dlpack) == made["x"]).all()
        tensor = torch.from_dlpack(batches[0]["x"])
        same(tensor.data_ptr(), numpy.from_dlpack(batches[0]["x"]).ctypes.data)
    except ImportError:
        print("     PyTorch is not installed")
    try:
        import jax
        assert (rows(batches, "x", jax.dlpack.from_dlpack) == made["x"]).all()
        array = jax.dlpack.from_dlpack(batches[0]["x"])
        same(array.unsafe_buffer_pointer(), numpy.from_dlpack(batches[0]["x"]).ctypes.data)
    except ImportError:
        print("     JAX is not installed")


main(globals())
