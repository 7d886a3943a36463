#!/usr/bin/env python3
"""What replicas post from Python: many arrays, of several types and libraries, in one process and in two.

Each result is compared with that of NumPy, computed along the tree over four replicas."""
import ctypes
import json
import os
import subprocess
import sys
import types

import numpy

from command import BUILD, ROOT, free_port, holds, main, same, topology

os.environ["TUNDISH_LIBRARY"] = str(BUILD / "libtundish.so")
sys.path.insert(0, str(ROOT / "tools/python"))
import tundish  # noqa: E402

REPLICAS, ROWS = 4, 12  # rows of each replica in the first step
NUMBERS = [numpy.dtype(kind) for kind in ("f4", "f4", "f4", "f8", "f2", "f2", "i4", "i8")]
SIZES = [0, 1, 3, 1000, 17, 5000]
LARGE, LARGE_SIZE = 45, 270_000  # a mean of f16 by weights, which is sent as f32 in two pieces


def graph(folder, replicas=REPLICAS, devices=1, lanes=1, reducers=("mean",)):
    numpy.save(folder / "x.npy", numpy.arange(2 * ROWS * replicas, dtype="f4"))
    names = ", ".join(f'"cpu:{n}"' for n in range(devices))
    return topology(folder, columns="x", batch=f"size: {ROWS * replicas}, replicas: {replicas}",
                    top=f"lanes: {lanes}\n" if lanes > 1 else "",
                    actors=f"  feed: {{kind: feeder, devices: [{names}]}}\n" +
                    "".join(f"  {name}: {{kind: reducer}}\n" for name in reducers),
                    links=["read -> batch -> feed"] + [f"feed <-> {name}" for name in reducers])


# --- what the programs post -----------------------------------------------------------------------


def array_of(replica, number, step):
    dtype = NUMBERS[number // 8 % len(NUMBERS)]
    draw = numpy.random.default_rng([replica, number, step])
    values = draw.uniform(-1000, 1000, LARGE_SIZE if number == LARGE else SIZES[number % len(SIZES)])
    return values.astype(dtype)


def how_of(number):
    dtype = NUMBERS[number // 8 % len(NUMBERS)]
    how = ("sum", "sum", "sum", "mean", "mean", "min", "max", "sum")[number // 4 % 8]
    return "sum" if how == "mean" and dtype.kind == "i" else how


def weight_of(replica, number):
    """Of a mean; every third has weights of its own, and some replicas none."""
    return None if number % 3 else float((replica + number) % 4) / 8


def tree(leaves, join):
    """Of leaves that take part; None: it does not."""
    if len(leaves) == 1:
        return leaves[0]
    half = len(leaves) - len(leaves) // 2
    left, right = tree(leaves[:half], join), tree(leaves[half:], join)
    return right if left is None else left if right is None else join(left, right)


def expected(number, step):
    how, leaves = how_of(number), [array_of(r, number, step) for r in range(REPLICAS)]
    dtype = leaves[0].dtype
    wide = numpy.dtype("f4") if dtype == "f2" else dtype
    leaves = [leaf.astype(wide) for leaf in leaves]
    if how != "mean":
        return tree(leaves, {"sum": numpy.add, "min": numpy.minimum, "max": numpy.maximum}[how]).astype(dtype)
    weights = [weight_of(r, number) for r in range(REPLICAS)]
    weights = [ROWS if weight is None else weight for weight in weights]
    taking = [leaf * wide.type(weight) if weight > 0 else None for leaf, weight in zip(leaves, weights)]
    total = tree([weight if weight > 0 else None for weight in weights], lambda a, b: a + b)
    return (tree(taking, numpy.add) / wide.type(total)).astype(dtype)


def post_all(replica, count, posted, begins=0):
    """Begins after so many, and again after as many more."""
    posted[replica.id] = []
    for number in range(count):
        if begins and number % begins == begins - 1:
            replica.begin()
        array, how = array_of(replica.id, number, replica.step), how_of(number)
        if number % 5 == 0:
            array.setflags(write=False)
        weight = weight_of(replica.id, number) if how == "mean" else None
        posted[replica.id].append(replica.reduce("mean", array, how, weight))


def check_all(replica, posted):
    for number, one in enumerate(posted[replica.id]):
        got, wanted = numpy.asarray(one.wait()), expected(number, replica.step)
        assert (got.dtype, got.shape) == (wanted.dtype, wanted.shape)
        assert got.tobytes() == wanted.tobytes(), f"array {number}, {how_of(number)} of {wanted.dtype}: {got}, not {wanted}"


def train(feed, count, begins=0):
    """Each step posts; `apply` posts a sum of one number, then nothing; the second step posts nothing at all."""
    posted, norms, applied = {}, {}, []

    def step(replica):
        if replica.step == 0:
            post_all(replica, count, posted, begins)

    def apply(replica):
        applied.append((replica.step, replica.id))
        if replica.step == 0 and replica.id not in norms:
            check_all(replica, posted)
            norms[replica.id] = replica.reduce("mean", numpy.array([2.0 ** replica.id]), "sum")
        elif replica.step == 0:
            same(norms[replica.id].wait()[0], 15.0)

    while feed.run(step, apply):
        pass
    for number in posted:
        same(sum(entry == (0, number) for entry in applied), 2)
        same(sum(entry == (1, number) for entry in applied), 1)


def differ(feed, what):
    """Replica 3 does something else, or 2 and 3."""
    def step(replica):
        values = {name: numpy.arange(5, dtype="f4") for name in ("a", "b", "c")}
        if replica.id == 3 and what == "same":
            values["b"][2] = -2
        if what == "same":
            return replica.same("mean", values)
        for name in "abc":
            size = 6 if (what, name, replica.id // 2) == ("count", "b", 1) else 5
            size = 2 ** 20 + replica.id // 2 if (what, name) == ("large", "b") else size
            replica.reduce("mean", numpy.zeros(size, "f4"), "sum")
            if (what, name) == ("begin", "ac"[replica.id // 2]) or (what, replica.id % 2) == ("begin_one", 1):
                replica.begin()
        if (what, replica.id) == ("own", 3) or (what, replica.id // 2) == ("more", 1):
            replica.reduce("mean", numpy.zeros(1, "f4"), "sum")
        for _ in range(9 if what == "other" else 0):
            replica.reduce(("mean", "other")[replica.id // 2], numpy.zeros(2 ** 18, "f4"), "sum")
        for name in ("mean", "other", ("mean", "other")[replica.id // 2]) if what == "apart" else ():
            replica.reduce(name, numpy.zeros(2 ** 18, "f4"), "sum")
        if what == "alone":
            replica.reduce("mean", values["c"], "max")
        if what == "root":
            replica.broadcast("mean", values["a"], root=replica.id // 2)

    def alone(replica):
        replica.reduce("mean", numpy.zeros(3, "f4"), "sum")

    try:
        if what == "alone" and sys.argv[3] == "b":
            feed.sync(alone)
        feed.run(step)
    except tundish.Error as error:
        print(error)
        return str(error)
    raise AssertionError("it did not fail")


def meet(feed, folder):
    """Host b posts when it knows that a has come to its barrier; a goes on when b has posted."""
    first = not (folder / "first").exists()

    def step(replica):
        mine = folder / f"here{replica.id}"
        if replica.id == 3:
            while not (folder / "here0").exists():
                pass
        mine.write_text("")
        replica.reduce("mean", numpy.zeros(0), "sum")

    def apply(replica):
        assert (folder / "here3").exists() and (folder / "here0").exists(), first
    feed.run(step, apply)


def share(feed):
    """Initial weights of replica 2, also to replicas without rows; then all are the same."""
    weights, steps = {}, []

    def step(replica):
        steps.append(replica.step)
        if replica.step == 0:
            draw = numpy.random.default_rng(replica.id)
            weights[replica.id] = {"w": draw.integers(0, 256, 101).astype("u1").view("i1"),
                                   "nan": numpy.array([0x7ff8000000000001 + replica.id], "u8").view("f8")}
            replica.broadcast("mean", weights[replica.id], root=2)
        else:
            replica.same("mean", weights[replica.id], "weights")
            replica.same("mean", weights[replica.id]["w"])

    while feed.run(step):
        pass
    wanted = numpy.random.default_rng(2).integers(0, 256, 101)
    for own in weights.values():
        assert (own["w"].view("u1") == wanted).all()
        same(int(own["nan"].view("u8")[0]), 0x7ff8000000000003)


def agree(feed, shared=1):
    """Rounds without rows before the first step, between two, and after the last one that runs."""
    models, called = {number: numpy.full(5, number, "f8") for number in range(REPLICAS)}, []

    def own(replica):
        return models[replica.id // shared]

    def begin(replica):
        called.append(("begin", replica.id, replica.step, replica.rows))
        replica.broadcast("mean", own(replica), root=shared)  # of model 1

    def begun(replica):
        called.append(("begun", replica.id, replica.step))
        same(own(replica).tolist(), [min(1, REPLICAS // shared - 1)] * 5)

    def step(replica):
        called.append(("step", replica.id, replica.step))
        own(replica)[:] = replica.id + 1
        replica.reduce("mean", own(replica), "sum")

    posted, again_for = {}, []

    def count(replica):
        numbers = numpy.array([replica.id // shared * shared]), numpy.array([2.0 ** replica.id])
        posted[replica.id] = replica.reduce("mean", numbers[0], "max"), replica.reduce("mean", numbers[1])

    def again(replica):
        if replica.id not in posted:
            return again_for.append(replica.id)
        largest, mean = (one.result[0] for one in posted.pop(replica.id))
        same((largest, mean), (REPLICAS - shared, sum(2.0 ** (r // shared * shared) for r in range(REPLICAS)) / REPLICAS))
        replica.reduce("mean", numpy.zeros(0), "sum")

    assert feed.sync(begin, begun) and feed.sync(lambda replica: None)
    while feed.run(step):
        for model in range(REPLICAS // shared):
            if ("step", model * shared, 0) in called:
                same(models[model].tolist(), [10] * 5)
        assert feed.sync(count, again)
        assert feed.sync(lambda replica: replica.same("mean", own(replica)))
    assert not feed.sync(begin)
    mine = sorted(one[1] for one in called if one[0] == "begin")
    same([one[2:] for one in called if one[0] == "begin"], [(0, 0)] * len(mine))
    same(sorted(one[1] for one in called if one[0] == "begun"), mine)
    same(sorted({one[1] for one in called if one[0] == "step"} - set(mine)),
         [r for r in range(REPLICAS) if r % shared > 0 and r // shared * shared in mine])
    same(sorted(again_for), sorted(2 * mine))


def collect(feed):
    """Arrays of as many rows as the replica's number, of three types, and in `apply` what came of them once more."""
    def own(replica):
        draw = numpy.random.default_rng(replica)
        return {"half": draw.uniform(-1, 1, (2, replica)).astype("f2"), "flags": draw.integers(0, 2, (1, replica, 3)).astype("?"),
                "whole": draw.integers(-9, 9, (4, replica)).astype("i8")}

    posted, again, steps = {}, {}, []

    def step(replica):
        replica.reduce("mean", numpy.ones(3), "sum")
        posted[replica.id] = replica.gather("mean", own(replica.id), axis=1), replica.gather("mean", numpy.array([replica.id], "u1"))
        again.pop(replica.id, None)

    def apply(replica):
        if replica.id in again:
            return same(again[replica.id].result.numpy().tolist(), [5] * REPLICAS * REPLICAS)
        together, numbers = posted[replica.id]
        for name, got in together.result.items():
            wanted = numpy.concatenate([own(one)[name] for one in range(REPLICAS)], axis=1)
            same((got.numpy().dtype, got.numpy().tolist()), (wanted.dtype, wanted.tolist()))
        same(numbers.wait().numpy().tolist(), list(range(REPLICAS)))
        steps.append(replica.step)
        again[replica.id] = replica.gather("mean", numpy.full(REPLICAS, 5, "u2"))

    while feed.run(step, apply):
        pass
    same(sorted(steps), [number for number in range(2) for _ in posted])


def halves(feed, shared=1):
    """Momentum divided over the replicas, clipped by the global norm, beside the same with whole arrays."""
    size, models, steps = 1001, {}, []
    same(feed.accumulate, shared)

    class Model:
        def __init__(self):
            self.weights, self.whole = numpy.ones(size, "f4"), numpy.ones(size, "f4")
            self.momentum, self.whole_momentum = numpy.zeros(size, "f4"), numpy.zeros(size, "f4")
            self.gradient, self.whole_gradient = numpy.zeros(size, "f4"), numpy.zeros(size, "f4")
            self.norm, self.stage = numpy.zeros(1), 0

    def step(replica):
        steps.append(replica.id)
        model = models.setdefault(replica.id // shared, Model())
        model.gradient[:] = numpy.random.default_rng([replica.id, replica.step]).uniform(-1, 1, size)
        model.whole_gradient[:], model.posted, model.stage = model.gradient, model.gradient.copy(), 0
        replica.scatter("mean", {"w": model.gradient})
        model.last = replica.reduce("mean", model.whole_gradient)

    def apply(replica):
        model, share = models[replica.id // shared], replica.share(size)
        same((share.start, share.stop), (size * replica.id // REPLICAS, size * (replica.id + shared) // REPLICAS))
        part, model.stage, model.last = model.gradient[share], model.stage + 1, model.last.wait() is None
        if model.stage == 1:
            whole = model.posted.copy()
            whole[share] = model.whole_gradient[share]
            same(model.gradient.tobytes(), whole.tobytes())
            model.norm[0] = (part.astype("f8") ** 2).sum()
            model.last = replica.reduce("mean", model.norm, "sum")
        elif model.stage == 2:
            scale = numpy.float32(min(1, 1 / model.norm[0] ** 0.5))
            for weights, momentum, gradient in ((model.weights[share], model.momentum[share], part),
                                                (model.whole, model.whole_momentum, model.whole_gradient)):
                momentum *= numpy.float32(0.9)
                momentum += gradient * scale
                weights -= momentum
            model.last = replica.gather_into("mean", [model.weights])
        else:
            same(model.weights.tobytes(), model.whole.tobytes())

    while feed.run(step, apply):
        pass
    assert len(steps) > len(models) and all(model.stage == 3 for model in models.values())


def own(feed):
    """Two replicas of a process share a result that comes from another one."""
    kept = {}

    def step(replica):
        kept[replica.id] = replica.memory("w", 700_000)
        kept[replica.id].own[:] = replica.id + replica.step
        kept[replica.id].posted = replica.reduce("mean", kept[replica.id], "sum")

    def apply(replica):
        kept[replica.id].posted.wait()
        assert (kept[replica.id].result == 6 + 4 * replica.step).all()
        assert (kept[replica.id].own == replica.id + replica.step).all()

    while feed.run(step, apply):
        same(len({values.result.ctypes.data for values in kept.values()}), 1)


def program():
    """One process of a run, in this file."""
    files, host, what, count = sys.argv[2], sys.argv[3], sys.argv[4], int(sys.argv[5])
    settings = json.loads(sys.argv[6])
    paths = files.split(":")
    import pathlib
    with tundish.feed(*paths, host=host or None, settings=settings) as feed:
        if what in ("train", "begin_train"):
            train(feed, count, begins=7 if what == "begin_train" else 0)
        elif what == "share":
            share(feed)
        elif what == "collect":
            collect(feed)
        elif what == "halves":
            halves(feed)
        elif what == "agree":
            agree(feed)
        elif what == "own":
            own(feed)
        elif what == "meet":
            meet(feed, pathlib.Path(paths[0]).parent)
        else:
            differ(feed, what)
        if what in ("train", "begin_train", "share", "collect", "halves"):
            feed.session.wait()


def run_two(folder, what, count=0, reducers=("mean",), **settings):
    """Two processes with two replicas each; returns what they said."""
    path, overlay = graph(folder, lanes=2, reducers=reducers), folder / "two.yaml"
    overlay.write_text(f"port: {free_port()}\nhosts:\n"
                       f"  a: {{address: 127.0.0.1, lanes: 1, actors: [{', '.join(['read', 'batch', 'feed', *reducers])}]}}\n"
                       "  b: {address: 127.0.0.1, lanes: 1, actors: [read, batch, feed]}\n")
    started = [subprocess.Popen([sys.executable, __file__, "--program", f"{path}:{overlay}", host, what, str(count),
                                 json.dumps(settings)], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
               for host in "ab"]
    said = [one.communicate(timeout=120)[0] for one in started]
    for one, text in zip(started, said):
        assert one.returncode == 0, text
    return said


# --- tests ----------------------------------------------------------------------------------------


def test_arrays_of_many_types_are_reduced_as_by_numpy_in_one_process(folder):
    for devices in (1, 2, 4):
        for when in "reduced", "early":
            with tundish.feed(graph(folder, devices=devices), settings={"feed.apply": when}) as feed:
                train(feed, 161)


def test_arrays_of_all_replicas_are_gathered(folder):
    for devices in (1, 2, 4):
        with tundish.feed(graph(folder, devices=devices)) as feed:
            collect(feed)
    for when in "reduced", "early":
        run_two(folder, "collect", **{"feed.apply": when})
    for values, words in ((numpy.array(1.0), "x: a single number has no axis"), (numpy.zeros(3), "has no axis 1")):
        with tundish.feed(graph(folder)) as feed:
            try:
                feed.run(lambda replica: replica.gather("mean", {"x": values}, axis=1))
            except ValueError as error:
                holds(str(error), words)
            else:
                raise AssertionError(words)


def test_weights_whose_sum_overflows_are_refused(folder):
    """Of four replicas, each a quarter of the largest number, and the next number above that."""
    for dtype in ("f4", "f8"):
        most = float(numpy.finfo(dtype).max) / REPLICAS
        with tundish.feed(graph(folder)) as feed:
            posted = []
            feed.run(lambda replica: posted.append(replica.reduce("mean", numpy.full(3, 0.5, dtype), "mean", most)))
            same([one.result.tolist() for one in posted], [[0.5] * 3] * REPLICAS)
            try:
                feed.run(lambda replica: replica.reduce("mean", numpy.zeros(3, dtype), "mean",
                                                        float(numpy.nextafter(most, numpy.inf))))
            except tundish.Error as error:
                holds(str(error), f"a mean of f{8 * int(dtype[1])} is weighed by {most:.6g}",
                      "of 4 replicas each may have", "because weights are added")
            else:
                raise AssertionError(dtype)


def test_the_same_bits_come_from_two_processes_whatever_the_bucket(folder):
    for bucket in ("0B", "1KiB", "1MiB"):
        run_two(folder, "train", 161, **{"mean.bucket": bucket})
    run_two(folder, "train", 161, **{"feed.apply": "early"})


def test_what_begins_in_a_step_has_the_same_bits(folder):
    for settings in {}, {"mean.bucket": "1KiB"}, {"feed.apply": "early"}, {"feed.devices": ["cpu:0", "cpu:1"]}:
        run_two(folder, "begin_train", 161, **settings)
    for devices in (1, 2):
        with tundish.feed(graph(folder, devices=devices)) as feed:
            train(feed, 161, begins=7)
    with tundish.feed(graph(folder), settings={"feed.accumulate": 2}) as feed:
        same(feed.accumulate, 2)
        ones = [numpy.ones(9) for _ in range(REPLICAS)]

        def step(replica):
            replica.reduce("mean", ones[replica.id])
            replica.begin()
        assert feed.run(step, lambda replica: replica.begin())
        assert all((one == 1).all() for one in ones)


def test_replicas_that_begin_elsewhere_are_named(folder):
    for text in run_two(folder, "begin"):
        holds(text, "all replicas post the same reductions in the same order, and call tnd_replica_begin after the same ones")
    said = run_two(folder, "begin_one", **{"feed.devices": ["cpu:0", "cpu:1"]})
    for text in said:
        holds(text, "calls tnd_replica_begin and replica", "does not: all replicas call it after the same postings")


def test_4096_arrays_but_not_one_more(folder):
    run_two(folder, "train", 200)
    for devices in (1, 2):
        with tundish.feed(graph(folder, devices=devices)) as feed:
            ones = [numpy.ones((4096, 2), "f4") for _ in range(REPLICAS)]
            feed.run(lambda replica: replica.reduce("mean", list(ones[replica.id]), "sum"))
            for one in ones:
                assert (one == 4).all()
        with tundish.feed(graph(folder, devices=devices)) as feed:
            try:
                feed.run(lambda replica: replica.reduce("mean", [numpy.ones(1) for _ in range(4097)], "sum"))
                raise AssertionError("it took 4,097")
            except tundish.Error as error:
                holds(str(error), "reduction 4097 of step 0: a replica posts at most 4096 at a time")


def test_replicas_that_post_otherwise_are_named_with_the_number(folder):
    for text in run_two(folder, "count"):
        holds(text, "in step 0 replica 2 posted 6 elements of f32 to reduction 1, replica 0 5 of f32: all replicas")
    for text in run_two(folder, "large"):
        holds(text, "in step 0 replica 2 posted 1048577 elements of f32 to reduction 1, replica 0 1048576 of f32: all replicas")
    for text in run_two(folder, "more"):
        holds(text, "in step 0 replica 2 (feed@b) posted to 4 reductions at least, replica 0 (feed@a) to 3: all replicas")
    for text in run_two(folder, "root"):
        holds(text, "in step 0 replica 2 posted 20 elements of u8 (broadcast from replica 1) to reduction 3, replica 0 "
              "20 of u8 (broadcast from replica 0)")
    for devices, one in ((1, 0), (4, 0)):
        with tundish.feed(graph(folder, devices=devices)) as feed:
            holds(differ(feed, "own"), f"in step 0 replicas {one} and 3 posted different reductions: all replicas post the "
                  f"same ones in the same order; number 3 is none of replica {one}, 1 element of f32 (sum) of replica 3")


def test_replicas_that_post_more_than_is_sent_at_a_time_to_different_reducers_are_named(folder):
    for text in run_two(folder, "other", reducers=("mean", "other")):
        holds(text, "posted to reduction 3 what replica", "did not: other elements, or to another reducer")


def test_processes_that_part_after_posting_to_two_reducers_are_named(folder):
    """Each waits at another reducer, to which the other process has posted before."""
    for text in run_two(folder, "apart", reducers=("mean", "other")):
        holds(text, "posted to reduction 5 what replica", "did not: other elements, or to another reducer")


def test_an_empty_array_is_a_barrier_between_processes(folder):
    run_two(folder, "meet")


def test_a_broadcast_has_the_bits_of_its_root(folder):
    run_two(folder, "share")
    with tundish.feed(graph(folder, devices=2)) as feed:
        share(feed)
    with tundish.feed(graph(folder)) as feed:
        try:
            feed.run(lambda replica: replica.broadcast("mean", numpy.zeros(1), root=4))
            raise AssertionError("it took replica 4")
        except tundish.Error as error:
            holds(str(error), "a broadcast is of replica 4; the run has replicas 0 to 3")


def test_rounds_without_rows(folder):
    run_two(folder, "agree")
    for devices, shared in ((1, 1), (2, 1), (4, 1), (1, 2), (2, 2)):
        with tundish.feed(graph(folder, devices=devices), settings={"feed.accumulate": shared}) as feed:
            same(feed.accumulate, shared)
            agree(feed, shared)


def test_a_host_that_leaves_a_round_without_rows_out_is_named(folder):
    for text in run_two(folder, "alone"):
        holds(text, "all replicas post the same reductions in the same order")


def test_rounds_without_rows_that_are_refused(folder):
    with tundish.feed(graph(folder), settings={"feed.accumulate": 2}) as feed:
        try:
            feed.sync(lambda replica: None)
            raise AssertionError("it did not fail")
        except tundish.Error as error:
            holds(str(error), "this program has not asked for that number: call tnd_feed_accumulate")
    with tundish.feed(graph(folder)) as feed:
        try:
            feed.sync(lambda replica: replica.reduce("none", numpy.zeros(1)))
            raise AssertionError("it did not fail")
        except tundish.Error as error:
            holds(str(error), "the round without rows of replica 0 on cpu:0, step 0: no reducer 'none' is linked")
    with tundish.feed(graph(folder)) as feed:
        try:
            feed.run(lambda replica: feed.sync(lambda replica: None))
            raise AssertionError("it did not fail")
        except tundish.Error as error:
            holds(str(error), "between two steps")


def test_the_halves_of_a_reduction_have_its_bits(folder):
    for when in "reduced", "early":
        run_two(folder, "halves", **{"feed.apply": when})
    for devices, shared in ((1, 1), (2, 1), (1, 4), (2, 2)):
        with tundish.feed(graph(folder, devices=devices), settings={"feed.accumulate": shared}) as feed:
            halves(feed, shared)


def test_memory_of_the_library_is_copied_neither_in_nor_out(folder):
    """Of four replicas: the values stay as they were, and all read one result."""
    for devices, shared, when in ((1, 1, "reduced"), (4, 1, "early"), (2, 2, "reduced")):
        kept, settings = {}, {"feed.accumulate": shared, "feed.apply": when}

        def step(replica):
            arrays = [replica.memory("w", (3, 2)), replica.memory("b", 5, "f64")]
            if replica.id in kept:
                for before, now in zip(kept[replica.id][0], arrays):
                    same((before.own.ctypes.data, before.result.ctypes.data), (now.own.ctypes.data, now.result.ctypes.data))
            assert all(array.own.ctypes.data % 64 == 0 for array in arrays)
            for array in arrays:
                array.own[:] = 2.0 ** replica.id
            kept[replica.id] = arrays, replica.reduce("mean", arrays, "sum")

        def apply(replica):
            arrays, posted = kept[replica.id]
            for array, result in zip(arrays, posted.wait()):
                assert result is array.result and (result == 15).all() and (array.own == 2.0 ** replica.id).all()
                assert not result.flags.writeable

        with tundish.feed(graph(folder, devices=devices), settings=settings) as feed:
            same(feed.accumulate, shared)
            while feed.run(step, apply):
                for number in 0, 1:
                    same(len({arrays[number].result.ctypes.data for arrays, _ in kept.values()}), 1)
                    same(len({arrays[number].own.ctypes.data for arrays, _ in kept.values()}), REPLICAS)
    run_two(folder, "own", **{"feed.apply": "early"})
    for first, second, words in ((("w", 4), ("w", 5), "array `w` has 4 elements of f32 since it was first asked for, and now 5 of f32"),
                                 (("w", 4), ("w", 4, "f64"), "and now 4 of f64 are: give the other one another name"),
                                 (("w", 4), ("v", 2 ** 63), "cannot allocate 9223372036854775808 elements of f32 for array `v`")):
        with tundish.feed(graph(folder)) as feed:
            try:
                feed.run(lambda replica: replica.memory(*(second if replica.id == 3 else first)))
                raise AssertionError(words)
            except tundish.Error as error:
                holds(str(error), words)


def test_waits_that_are_not_possible_are_refused(folder):
    posted = {}

    def step(replica):
        posted[replica.id] = replica.reduce("mean", numpy.ones(4)), replica.reduce("mean", numpy.ones(0))

    def wait_at_once(replica):
        replica.reduce("mean", numpy.ones(4)).wait()

    def wait_for_own(replica):
        posted[replica.id][0].wait()
        replica.reduce("mean", numpy.ones(4)).wait()

    def forget(replica):
        posted[replica.id][0].wait() if replica.id < 3 else None

    for devices in 1, 2:
        for when, first, then, words in (
                ("early", wait_at_once, None, "tnd_replica_await is for `apply`: while steps run it would wait for ever"),
                ("reduced", wait_at_once, None, "tnd_replica_await is for `apply`"),
                ("early", step, wait_for_own, "what `apply` posts is reduced when it has returned"),
                ("early", step, forget, "of replica 3 on cpu:%d, step 0: with `apply: early` it waits for each posting before it uses "
                 "the result, and it returned without that for number 0, 4 elements of f64 (mean)" % (devices - 1)),
                ("reduced", step, forget, None)):
            with tundish.feed(graph(folder, devices=devices), settings={"feed.apply": when}) as feed:
                try:
                    feed.run(step if first is None else first, then)
                    assert words is None, words
                except tundish.Error as error:
                    holds(str(error), words)
    for number, words in ((2, None), (3, "it waits for posting 3, and has posted 3 before this call of `apply`: the first")):
        def step_three(replica):
            replica.same("mean", {"a": numpy.ones(1), "b": numpy.ones(1)})
            replica.reduce("mean", numpy.ones(1))
        with tundish.feed(graph(folder), settings={"feed.apply": "early"}) as feed:
            try:
                feed.run(step_three, lambda replica: replica._await(number))
                assert words is None, words
            except tundish.Error as error:
                holds(str(error), words)


def test_halves_that_are_not_possible_are_refused(folder):
    with tundish.feed(graph(folder), settings={"feed.accumulate": 2}) as feed:
        same(feed.accumulate, 2)
        try:
            feed.run(lambda replica: replica.gather_into("mean", numpy.zeros(8)), lambda replica: None)
            raise AssertionError("it did not fail")
        except tundish.Error as error:
            holds(str(error), "in step 0 replica 0 shares its model with others, whose steps overwrite what it has: call "
                  "tnd_replica_gather_into in `apply`")
    with tundish.feed(graph(folder)) as feed:
        try:
            feed.run(lambda replica: replica.scatter("mean", numpy.zeros(8, "u1"), "sum"))
            raise AssertionError("it did not fail")
        except tundish.Error as error:
            holds(str(error), "values of that type cannot be reduced in that way")
    with tundish.feed(graph(folder)) as feed:
        try:
            feed.run(lambda replica: replica.scatter("mean", numpy.zeros(8), "gather"))
            raise AssertionError("it did not fail")
        except ValueError as error:
            holds(str(error), "how='gather': `how` is sum, mean, min or max")


def test_arrays_that_are_not_the_same_are_named_with_the_replicas(folder):
    words = "in step 0 array `b` is not the same in all replicas: in replica 3 it differs from that in replica 0"
    for text in run_two(folder, "same"):
        holds(text, words)
    for devices in (1, 2):
        with tundish.feed(graph(folder, devices=devices)) as feed:
            try:
                feed.run(lambda replica: replica.same("mean", numpy.full(3, replica.id == 3, "f4"), "b"))
                raise AssertionError("it did not notice")
            except tundish.Error as error:
                holds(str(error), words)


# --- arrays of other libraries --------------------------------------------------------------------


class Foreign:
    """An array of a library whose types and flags NumPy lacks, as a capsule of either version."""

    def __init__(self, memory, code, bits, versioned, read_only=False, strides=None, device=1):
        self.memory, self.code, self.bits, self.strides = memory, code, bits, strides
        self.versioned, self.read_only, self.device = versioned, read_only, device

    def detach(self):
        return self

    def __dlpack_device__(self):
        return self.device, 0

    def __dlpack__(self, **options):
        if options and not self.versioned:
            raise TypeError("unexpected keyword argument 'max_version'")
        shape = (ctypes.c_int64 * self.memory.ndim)(*self.memory.shape)
        strides = (ctypes.c_int64 * self.memory.ndim)(*self.strides) if self.strides else None
        tensor = tundish._library.Managed(data=self.memory.ctypes.data - 64, device_type=self.device, rank=self.memory.ndim,
                                          code=self.code, bits=self.bits, lanes=1, shape=shape, strides=strides,
                                          byte_offset=64)
        head = bytes(ctypes.c_uint32(1)) + bytes(20) + bytes(ctypes.c_uint64(self.read_only)) if self.versioned else b""
        self.kept = ctypes.create_string_buffer(head + bytes(tensor)), shape, strides
        make = ctypes.pythonapi.PyCapsule_New
        make.restype, make.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
        self.name = b"dltensor_versioned" if self.versioned else b"dltensor"
        return make(ctypes.addressof(self.kept[0]), self.name, None)


def bits_of(values):
    """As bf16: all of these have few digits."""
    return (numpy.asarray(values, "f4").view("u4") >> 16).astype("u2")


def test_tensors_of_bf16_and_f16_are_reduced_in_place_or_beside(folder):
    sys.modules["torch"] = types.SimpleNamespace(Tensor=Foreign)
    try:
        for versioned in (False, True):
            posted, arrays = {}, {}

            def step(replica):
                arrays[replica.id] = [bits_of([[1, 2.5, -3], [0.5, replica.id, 2]]), numpy.full(3, replica.id, "f2")]
                posted[replica.id] = replica.reduce("mean", [Foreign(arrays[replica.id][0], 4, 16, versioned),
                                                            Foreign(arrays[replica.id][1], 2, 16, versioned)], "sum")
            with tundish.feed(graph(folder, devices=2)) as feed:
                feed.run(step)
            for replica, (bf16, f16) in arrays.items():
                assert (bf16 == bits_of([[4, 10, -12], [2, 6, 8]])).all() and (f16 == 6).all()
                assert isinstance(posted[replica].result[0], Foreign)
    finally:
        del sys.modules["torch"]
    for versioned in (False, True):
        posted, arrays = {}, {}

        def beside(replica):
            arrays[replica.id] = bits_of([1, 2.5, replica.id])
            posted[replica.id] = replica.reduce("mean", {"w": Foreign(arrays[replica.id], 4, 16, versioned, True)}, "sum")
        with tundish.feed(graph(folder, devices=2)) as feed:
            feed.run(beside)
        for replica, array in arrays.items():
            result = posted[replica].result["w"]
            assert (array == bits_of([1, 2.5, replica])).all()
            capsule = result.__dlpack__()
            tensor = tundish._library.Managed.from_address(tundish._posts._tensor_at(capsule))
            same((tensor.code, tensor.bits, tensor.shape[0], result.shape), (4, 16, 3, (3,)))
            got = (ctypes.c_uint16 * 3).from_address(tensor.data)
            same(list(got), list(bits_of([4, 10, 6])))


def test_arrays_that_cannot_be_posted_say_why(folder):
    numbers = numpy.zeros((4, 4), "f4")
    fixed = numpy.zeros(2)
    fixed.setflags(write=False)
    lost = "its result was not kept"
    for values, words in ((numbers[:, :2], "not contiguous"), (numpy.zeros(2, "c8"), "numbers"), ("text", "a str"),
                          (Foreign(numbers, 2, 32, True, strides=(1, 4)), "not contiguous"),
                          (Foreign(numbers, 2, 32, True, device=2), "on the device (2, 0)"),
                          (Foreign(numbers, 5, 64, False), "code 5"), (fixed, lost)):
        with tundish.feed(graph(folder)) as feed:
            try:
                feed.run(lambda replica: replica.reduce("mean", values, "sum") and None)
                raise AssertionError(f"it took {values!r}")
            except TypeError as error:
                holds(str(error), words)


def test_tensors_of_pytorch_where_it_is_installed(folder):
    try:
        import torch
    except ImportError:
        return print("PyTorch is not installed")
    tensors = {}

    def step(replica):
        tensors[replica.id] = [torch.full((3, 2), 1.0 + replica.id, dtype=dtype, requires_grad=True)
                               for dtype in (torch.float32, torch.bfloat16, torch.float16)]
        replica.reduce("mean", tensors[replica.id])
    with tundish.feed(graph(folder, devices=2)) as feed:
        feed.run(step)
    for tensor in sum(tensors.values(), []):
        assert (tensor.detach().float() == 2.5).all()


if __name__ == "__main__":
    if sys.argv[1:2] == ["--program"]:
        program()
    else:
        main(globals())
