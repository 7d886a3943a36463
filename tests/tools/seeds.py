#!/usr/bin/env python3
"""examples/seeds: each graph feeds every replica the rows that TensorFlow 2.21 feeds it in the same program."""
import json
import subprocess
import sys

import numpy

from command import BUILD, ROOT, holds, main, run, same

SEEDS = ROOT / "examples/seeds"
sys.path.insert(0, str(SEEDS))
import data  # noqa: E402

EXPECTED = json.loads((SEEDS / "expected.json").read_text())


def written(folder):
    if not (folder / "id.npy").exists():
        data.write(folder)
    return folder


def fed(folder, program, steps):
    """By step: the rows of each replica, and all columns."""
    path = folder / f"{program}.npz"
    code, _, err = run("head", SEEDS / program / "graph.yaml", "--data", written(folder), "--steps", steps, "--npz", path)
    same(code, 0, err)
    return dict(numpy.load(path))


def rows_of(made, column, step, replica):
    rows = made[column][(made["_step"] == step) & (made["_replica"] == replica)]
    return (rows[:, 0] if rows.ndim > 1 else rows).tolist()


def test_each_replica_gets_the_rows_that_tensorflow_gives_it(folder):
    for program, wanted in EXPECTED.items():
        made = fed(folder, program, wanted["count"] + 1)
        same(int(made["_step"][-1]) + 1, wanted["count"], program)
        for step, replicas in wanted["steps"].items():
            got = [rows_of(made, wanted["column"], int(step), replica) for replica in range(len(replicas))]
            same(got, replicas, f"{program}, step {step}")


def test_pictures_have_the_values_of_tensorflow(folder):
    wanted = numpy.array(EXPECTED["001-2"]["pictures"], "f4")
    made = fed(folder, "001-2", 21)
    for number, picture in enumerate(wanted):
        got = made["image"][made["id"] == number]
        same(got.shape, (1, 6, 6, 3))
        assert numpy.abs(got[0] - picture).max() <= 1e-6


def test_labels_are_also_vectors(folder):
    made = fed(folder, "001-3", 2)
    same(made["weight"].tolist(), numpy.eye(2)[made["label"]].tolist())


def test_two_processes_feed_the_same_stream(folder):
    for program, overlay in ("000-3", "service"), ("001-3", "workers"), ("003-3", "workers"):
        graph = SEEDS / program / "graph.yaml"
        settings = ["--data", written(folder)]
        alone = run("run", graph, *settings)
        code, out, err = run("up", graph, SEEDS / program / f"{overlay}.yaml", *settings, timeout=120)
        same(code, 0, err)
        stream = [line for line in alone[1].splitlines() if line.startswith("stream")]
        same(len(stream), 1, alone[2])
        holds(out, stream[0])


def test_a_program_prints_what_the_one_of_tensorflow_prints(_):
    done = subprocess.run([BUILD / "examples/distributed"], capture_output=True, text=True, timeout=60)
    same((done.returncode, done.stderr), (0, ""))
    same(done.stdout, (SEEDS / "002/expected.txt").read_text())


main(globals())
