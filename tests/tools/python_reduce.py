#!/usr/bin/env python3
"""`replica.reduce` and `replica.gather` are strategy.reduce and strategy.gather (tests/oracle/reduce.json, TensorFlow 2.21)."""
import collections
import json
import os
import sys

import numpy

from command import BUILD, FEED, ROOT, arrays, holds, main, same, topology

os.environ["TUNDISH_LIBRARY"] = str(BUILD / "libtundish.so")
sys.path.insert(0, str(ROOT / "tools/python"))
import tundish  # noqa: E402

CASES = json.loads((ROOT / "tests/oracle/reduce.json").read_text())
GATHERED = {"link": "read -> batch -> feed <-> all", "actor": "  all: {kind: reducer}\n"}


def graph(folder, replicas):
    arrays(folder)
    devices = ", ".join(f'"cpu:{number}"' for number in range(min(replicas, 2)))
    return topology(folder, batch=f"size: {8 * replicas}, replicas: {replicas}, split: auto", links=[GATHERED["link"]],
                    actors=FEED % f", devices: [{devices}]" + GATHERED["actor"])


def tensor(one):
    data = [float(value) if isinstance(value, str) else value for value in one["data"]]
    return numpy.array(data, one["dtype"]).reshape(one["shape"])


def post(replica, case):
    values, axis = tensor(case["inputs"]["values"][replica.id]), case["args"]["axis"]
    if case["op"] == "gather":
        return replica.gather("all", values, axis)
    # A list of axes is a case of its own, which TensorFlow refuses; elsewhere JSON has a tuple as a list.
    if isinstance(axis, list) and case["name"] != "axis_as_python_list":
        axis = tuple(axis)
    return replica.reduce("all", values, case["args"]["reduce_op"].lower(), axis=() if axis is None else axis)


def equal(case, got):
    wanted = tensor(case["expect"])
    if got.dtype != wanted.dtype:
        # The mean of integers is f64 in TensorFlow too, but for that over one replica without an axis.
        same((case["args"], len(case["inputs"]["values"])), ({"reduce_op": "MEAN", "axis": None}, 1), case["name"])
    same(got.shape, wanted.shape, case["name"])
    assert numpy.allclose(got, wanted, rtol=1e-5, atol=1e-6, equal_nan=True), (case["name"], got, wanted)


def test_values_are_those_of_tensorflow(folder):
    cases, compared = collections.defaultdict(list), collections.Counter()
    for case in CASES:
        if case["op"] != "dataset_reduce" and "error" not in case["expect"]:
            cases[len(case["inputs"]["values"])].append(case)
    for replicas, ours in cases.items():
        posted = collections.defaultdict(dict)
        with tundish.feed(graph(folder, replicas)) as feed:
            def step(replica):
                for case in ours:
                    posted[case["name"]][replica.id] = post(replica, case)
            same(feed.run(step), True)
        for case in ours:
            for replica in range(replicas):
                equal(case, numpy.asarray(posted[case["name"]][replica].result))
            compared[case["op"]] += 1
    same(compared, {"reduce": 214, "gather": 34})


def test_what_tensorflow_refuses_is_refused(folder):
    reasons = {"scalars_SUM_axis0": "has no axis 0", "scalars_MEAN_axis0": "has no axis 0",
               "axis_out_of_range_SUM": "has no axis 3", "axis_out_of_range_MEAN": "has no axis 3",
               "max_axis": "with an axis `how` is sum or mean", "axis_as_python_list": "several are a tuple of numbers",
               "uneven_none_SUM": "elements", "uneven_none_MEAN": "elements",
               "gather_unequal_other_dim": "differ in it only: replica 0 has the shape (2, 2), replica 1 (2, 3)"}
    refused = [case for case in CASES if "error" in case["expect"]]
    same({case["name"] for case in refused}, set(reasons))
    for case in refused:
        with tundish.feed(graph(folder, len(case["inputs"]["values"]))) as feed:
            try:
                feed.run(lambda replica: post(replica, case))
                raise AssertionError(f"{case['name']} is not refused")
            except (ValueError, TypeError, tundish.Error) as error:
                holds(str(error), reasons[case["name"]])


def test_the_last_batches_of_an_epoch(folder):
    """dataset_reduce: the rows of each replica, their sum and mean along the axis of rows, and all of them."""
    for case in [case for case in CASES if case["op"] == "dataset_reduce"]:
        replicas, steps = case["args"]["replicas"], case["expect"]["steps"]
        arrays(folder)
        numpy.save(folder / "x.npy", tensor(case["inputs"]["values"]))
        path = topology(folder, batch=f"size: {case['args']['global_batch']}, replicas: {replicas}, split: auto", links=[GATHERED["link"]],
                        actors=FEED % "" + GATHERED["actor"], columns="x")
        with tundish.feed(path) as feed:
            for wanted in steps:
                told = {}

                def step(replica):
                    x = numpy.from_dlpack(replica["x"])
                    told[replica.id] = [x.tolist(), replica.reduce("all", x, "sum", axis=0), replica.reduce("all", x, "mean", axis=0),
                                        replica.gather("all", x)]
                same(feed.run(step), True)
                same([told[replica][0] for replica in range(replicas)], wanted["replicas"])
                for _, total, mean, gathered in told.values():
                    assert numpy.allclose([total.result, mean.result], [wanted["sum"], wanted["mean"]], rtol=1e-5)
                    same(gathered.result.numpy().tolist(), wanted["gather"])
            same(feed.run(step), False)


main(globals())
