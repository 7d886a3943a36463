#!/usr/bin/env python3
"""examples/seeds: each graph feeds every replica the rows that TensorFlow 2.21 feeds it in the same program,
and training has the same losses."""
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


def check_losses(program, file):
    """Each within 1e-6 of TensorFlow's, computed in f64."""
    made = [json.loads(line)["loss"] for line in file.read_text().splitlines()]
    same(len(made), EXPECTED[program]["count"], program)
    for step, loss in EXPECTED[program]["losses"].items():
        got = made[int(step)]
        assert abs(got - loss) <= 1e-6 * max(1, abs(loss)), f"{program}, step {step}: got {got}, wanted {loss}"


def test_training_has_the_losses_of_tensorflow(folder):
    trained = [program for program in EXPECTED if "losses" in EXPECTED[program]]
    same(trained, ["001-1", "001-2", "001-3", "003-2", "003-3", "004-1", "004-2"])
    for program in trained:
        code, _, err = run("run", SEEDS / program / "graph.yaml", "--data", written(folder), "--metrics", folder / program)
        same(code, 0, err)
        check_losses(program, folder / program)


def test_two_processes_have_the_same_stream_and_model(folder):
    for program, overlay in ("000-3", "service"), ("001-3", "workers"), ("003-3", "workers"):
        graph, trains = SEEDS / program / "graph.yaml", "losses" in EXPECTED[program]
        settings = ["--data", written(folder), *(["--save", folder / "model.npy"] if trains else [])]
        alone = run("run", graph, *settings)
        code, out, err = run("up", graph, SEEDS / program / f"{overlay}.yaml", *settings, "--metrics", folder / program,
                             timeout=120)
        same(code, 0, err)
        digests = [line for line in alone[1].splitlines() if line.startswith(("stream", "model"))]
        same(len(digests), 1 + trains, alone[2])
        holds(out, *digests)
        if trains:
            check_losses(program, folder / program)
            same(numpy.load(folder / "model.npy")[0], EXPECTED[program]["count"])


def test_a_step_that_cannot_train_says_why(folder):
    step = "plugin: dense, input: image, target: label, outputs: 10"
    graph = (SEEDS / "001-1/graph.yaml").read_text()
    assert step in graph
    for made, words in (("outputs: 1,", "has label 1 in column `label`; `outputs: 1` has classes 0 to 0"),
                        ("outputs: 0,", "option `outputs` is not 1 to 1024"),
                        ("outputs: 10, activation: tanh,", "option `activation` is tanh; it can be linear, sigmoid"),
                        ("outputs: 10, activation: sigmoid,", "leave `activation: sigmoid` out")):
        (folder / "graph.yaml").write_text(graph.replace("outputs: 10,", made))
        code, _, err = run("run", folder / "graph.yaml", "--data", written(folder))
        assert code != 0, made
        holds(err, words)


def test_a_program_prints_what_the_one_of_tensorflow_prints(_):
    done = subprocess.run([BUILD / "examples/distributed"], capture_output=True, text=True, timeout=60)
    same((done.returncode, done.stderr), (0, ""))
    same(done.stdout, (SEEDS / "002/expected.txt").read_text())


main(globals())
