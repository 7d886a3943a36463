#!/usr/bin/env python3
"""Programs in Python whose replicas share a model: `accumulate` of the feeder, feed.accumulate."""
import os
import pathlib
import sys

import numpy

from command import BUILD, ROOT, holds, main, same

os.environ["TUNDISH_LIBRARY"] = str(BUILD / "libtundish.so")
sys.path.insert(0, str(ROOT / "tools/python"))
import tundish  # noqa: E402

REPLICAS = 4


def graph(folder):
    draw = numpy.random.default_rng(3)
    numpy.save(folder / "x.npy", draw.standard_normal((101, 3)).astype("f4"))
    numpy.save(folder / "y.npy", draw.standard_normal(101).astype("f4"))
    path = folder / "graph.yaml"
    path.write_text(f"""tundish: 1
seed: 7
actors:
  read:  {{kind: reader, source: {{npy: {{x: {folder}/x.npy, y: {folder}/y.npy}}}}, shuffle: global, epochs: 2}}
  batch: {{kind: batcher, size: 11, replicas: {REPLICAS}}}
  feed:  {{kind: feeder}}
  mean:  {{kind: reducer}}
links: [read -> batch -> feed <-> mean]
""")
    return path


class Trained:
    """Linear regression with a model for each `share` replicas; `apply` divides by a norm that it posts."""

    def __init__(self, feed, share):
        self.feed, self.share, self.applied = feed, share, set()
        shape = REPLICAS // share, 3
        self.weights, self.gradients = numpy.zeros(shape, "f4"), numpy.zeros(shape, "f4")
        self.norms, self.posted = numpy.zeros(shape[0], "f4"), set()

    def step(self, replica):
        model = replica.id // self.share
        x, y = numpy.from_dlpack(replica["x"]), numpy.from_dlpack(replica["y"])
        self.gradients[model] = x.T @ (x @ self.weights[model] - y) / max(replica.rows, 1)
        replica.reduce("mean", self.gradients[model])

    def apply(self, replica):
        model = replica.id // self.share
        self.applied.add(replica.id)
        if model not in self.posted:
            self.posted.add(model)
            self.norms[model] = (self.gradients[model] ** 2).sum()
            replica.reduce("mean", self.norms[model:model + 1], how="sum")
            return
        self.posted.remove(model)
        self.weights[model] -= numpy.float32(0.1) * self.gradients[model] / (1 + self.norms[model])

    def run(self, steps=99):
        while steps > 0 and self.feed.run(self.step, self.apply):
            steps -= 1
        return self.weights[0].tobytes()

    def save(self, file, replica):
        numpy.save(file, self.weights[replica // self.share])

    def load(self, file, replica):
        self.weights[replica // self.share] = numpy.load(file)


def trained(path, number, devices=1):
    names = ", ".join(f'"cpu:{i}"' for i in range(devices))
    with tundish.feed(path, settings={"feed.accumulate": number, "feed.devices": f"[{names}]"}) as feed:
        same(feed.accumulate, number)
        made = Trained(feed, number)
        weights = made.run()
        same(made.applied, set(range(0, REPLICAS, number)), "the first replica of each model")
        assert made.weights.any() and (made.weights == made.weights[0]).all(), made.weights
        return weights


def test_replicas_that_share_a_model_have_the_same_bits(folder):
    path = graph(folder)
    apart = trained(path, 1)
    for number, devices in (2, 1), (4, 1), (2, 2):
        same(trained(path, number, devices), apart, f"{number} on {devices} devices")


def test_a_saved_model_is_loaded_with_another_number(folder):
    path = graph(folder)
    whole = trained(path, 1)
    for number, other in (4, 1), (1, 2):
        kept = str(folder / f"kept-{number}")
        with tundish.feed(path, settings={"feed.accumulate": number, "checkpoint.dir": kept}) as feed:
            made = Trained(feed, feed.accumulate)
            made.run(7)
            feed.save(made.save)
        saved = sorted(file.name for file in pathlib.Path(kept, "step-00000007").glob("model-*"))
        same(saved, [f"model-{replica}" for replica in range(0, REPLICAS, number)])
        with tundish.feed(path, settings={"feed.accumulate": other, "checkpoint.dir": kept,
                                          "checkpoint.resume": "latest"}) as feed:
            made = Trained(feed, feed.accumulate)
            assert feed.restore(made.load)
            same(made.run(), whole, f"{number}, then {other}")


def test_a_program_that_does_not_ask_is_refused(folder):
    """It has a model for each replica: it would train one of them only."""
    path, kept = graph(folder), str(folder / "kept")
    settings = {"feed.accumulate": 4, "checkpoint.dir": kept}

    def refused(call):
        try:
            with tundish.feed(path, settings=settings) as feed:
                call(feed, Trained(feed, 1))
        except tundish.Error as error:
            return holds(str(error), "`accumulate: 4` gives so many consecutive replicas one model", "feed.accumulate")
        raise AssertionError("it was accepted")

    def save(feed, made):
        feed.run(lambda replica: None)
        feed.save(made.save)

    refused(lambda feed, made: made.run())
    refused(save)
    with tundish.feed(path, settings=settings) as feed:
        made = Trained(feed, feed.accumulate)
        made.run(3)
        feed.save(made.save)
    settings["checkpoint.resume"] = "latest"
    refused(lambda feed, made: feed.restore(made.load))


def test_batches_are_those_of_all_replicas(folder):
    path = graph(folder)
    with tundish.feed(path, settings={"feed.accumulate": 4}) as feed:
        batch = next(feed)
        same([replica.id for replica in batch.replicas], list(range(REPLICAS)))
        same([replica.rows for replica in batch.replicas], [3, 3, 3, 2])


main(globals())
