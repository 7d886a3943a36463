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


def interleaved(files):
    """The rows of some files: one of each in turn."""
    return [file[row] for row in range(max(map(len, files))) for file in files if row < len(file)]


def shards(folder):
    """By step of an epoch: the rows of 004-3, of which each of four workers reads two files."""
    sizes = (24, 20, 28, 22, 20, 24, 16, 22)  # as of data.py
    files = [[100 * shard + row for row in range(size)] for shard, size in enumerate(sizes)]
    lanes = [interleaved(files[lane::4]) for lane in range(4)]
    return [sum((lane[first:first + 8] for lane in lanes), []) for first in range(0, 44, 8)]


def gradient_of(numbers, held):
    """The loss of two layers and its gradient, in f64, as a loop over the rows."""
    parts = numpy.split(held.astype("f8"), (128, 144, 160))
    first, bias, second, last = parts[0].reshape(8, 16), parts[1], parts[2], parts[3][0]
    total, loss = numpy.zeros(161), 0.0
    for number in numbers:
        x = (number + numpy.arange(8) / 8).astype("f4").astype("f8")
        units = numpy.maximum(x @ first + bias, 0)
        error = units @ second + last - number % 3
        loss += error * error
        back = numpy.where(units > 0, second * 2 * error, 0)
        total += numpy.concatenate([numpy.outer(x, back).reshape(-1), back, units * 2 * error, [2 * error]])
    return loss / len(numbers), (total / len(numbers)).astype("f4")


def server(folder, epochs=5, staleness=4):
    """The losses and the parameters of a loop with Adam in f32, as Keras has it: step s computes on the parameters
    after the steps below s - staleness."""
    layers = ((8, 16), (16, 1))
    held = numpy.concatenate([part for rows, columns in layers for part in (
        ((37 * numpy.arange(rows * columns) % 101) - 50) / 50 * numpy.sqrt(6 / (rows + columns)), numpy.zeros(columns))])
    versions, losses, f4 = [held.astype("f4")], [], numpy.float32
    m, v = numpy.zeros(161, "f4"), numpy.zeros(161, "f4")
    for step, numbers in enumerate(shards(folder) * epochs):
        loss, gradient = gradient_of(numbers, versions[max(0, step - staleness)])
        losses.append(loss)
        m += (gradient - m) * f4(1 - 0.9)
        v += (gradient * gradient - v) * f4(1 - 0.999)
        alpha = f4(0.001 * numpy.sqrt(1 - float(f4(0.999)) ** (step + 1)) / (1 - float(f4(0.9)) ** (step + 1)))
        versions.append(versions[-1] - m * alpha / (numpy.sqrt(v) + f4(1e-7)))
    return losses, versions[-1]


def test_the_parameter_server_is_a_loop_of_numpy(folder):
    """TensorFlow gives other losses in each run of 004-3, because it applies gradients as they arrive."""
    graph, model = SEEDS / "004-3/graph.yaml", folder / "model.npy"
    losses, parameters = server(folder)
    made = fed(folder, "004-3", 7)
    for step, numbers in enumerate(shards(folder)):
        same(rows_of(made, "x", step, 0), numbers)
    same(rows_of(made, "x", 6, 0), shards(folder)[0])
    digests = []
    for line in ("run", graph), ("up", graph, SEEDS / "004-3/workers.yaml"):
        code, out, err = run(*line, "--data", written(folder), "--save", model, "--metrics", folder / "004-3", timeout=120)
        same(code, 0, err)
        got = [json.loads(line)["loss"] for line in (folder / "004-3").read_text().splitlines()]
        same(len(got), 30)
        assert numpy.allclose(got, losses, rtol=1e-6, atol=0), (got, losses)
        assert numpy.allclose(numpy.load(model), parameters, rtol=1e-5, atol=1e-7), (numpy.load(model), parameters)
        digests.append([word.split("| ")[-1] for word in out.splitlines() if "stream " in word or "model " in word])
    same(len(digests[0]), 2)
    same(digests[0], digests[1])


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
