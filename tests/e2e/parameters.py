#!/usr/bin/env python3
"""An actor that holds parameters: the same bits as a plain loop, for any number of replicas, on any hosts.

Usage: parameters.py [NAME...]; without a name it lists them.  The step is tests/e2e/step_push.c, a linear
model in f32; `plain` is the same loop in NumPy, one operation at a time.
"""
import json
import os
import pathlib
import random
import signal
import subprocess
import sys
import time

import numpy

from named import in_folder, run_named
from run import BUILD, ROOT, TEST_SEED, TUNDISH, alive, family, free_port, tundish

NAME = f"parameters-{os.getpid()}"  # a machine shows runs of all tests
ENV = {"TUNDISH_PLUGIN_PATH": str(BUILD / "tests")}
ROWS, SIZE, EPOCHS, NUMBERS, STALENESS = 83, 8, 3, 3, 4
STEPS = EPOCHS * -(-ROWS // SIZE)
GRAPH = """tundish: 1
name: {name}
lanes: {lanes}
data: {folder}
actors:
  read:
    kind: reader
    source: {{npy: {{x: "${{data}}/x.npy", y: "${{data}}/y.npy"}}}}
    epochs: {epochs}
  batch: {{kind: batcher, size: 8, replicas: {replicas}, deal: whole}}
  feed: {{kind: feeder, step: {{plugin: push{step}}}}}
  params:
    kind: parameters
    optimizer: {optimizer}
    count: 4
    staleness: {staleness}
    initial: "${{data}}/initial.npy"
links:
  - read -> batch -> feed -> params
"""
THREE = """port: {port}
hosts:
  a: {{address: 127.0.0.1, actors: [{a}]}}
  b: {{address: 127.0.0.1, actors: [{b}]}}
  c: {{address: 127.0.0.1, actors: [{c}]}}
"""
SGD, MOMENTUM, ADAM = "{sgd: {rate: 0.05}}", "{sgd: {rate: 0.05, momentum: 0.9}}", "{adam: {rate: 0.01}}"


def made(folder, replicas=1, lanes=1, optimizer=SGD, staleness=STALENESS, step="", epochs=EPOCHS):
    draw = numpy.random.default_rng(3)
    numpy.save(folder / "x.npy", draw.standard_normal((ROWS, NUMBERS)).astype(numpy.float32))
    numpy.save(folder / "y.npy", draw.standard_normal(ROWS).astype(numpy.float32))
    numpy.save(folder / "initial.npy", numpy.array([[0.5, -1], [2, 0.25]], numpy.float32))
    graph = folder / f"graph-{replicas}-{lanes}.yaml"
    graph.write_text(GRAPH.format(name=NAME, folder=folder, replicas=replicas, lanes=lanes, optimizer=optimizer,
                                  staleness=staleness, step=step, epochs=epochs))
    return graph


def gradient_of(x, y, w):
    total = numpy.zeros(NUMBERS + 1, numpy.float32)
    for row, wanted in zip(x, y):
        error = w[NUMBERS] - wanted
        for weight, number in zip(w, row):
            error = error + weight * number
        for i in range(NUMBERS):
            total[i] = total[i] + error * row[i]
        total[NUMBERS] = total[NUMBERS] + error
    return total / numpy.float32(len(y))


def plain(folder, momentum=0, staleness=STALENESS, epochs=EPOCHS):
    """The parameters after all steps: step s computes on those after the steps below s - staleness."""
    x, y = numpy.load(folder / "x.npy"), numpy.load(folder / "y.npy")
    versions = [numpy.load(folder / "initial.npy").reshape(-1)]
    rate, part, kept = numpy.float32(0.05), numpy.float32(momentum), numpy.zeros(NUMBERS + 1, numpy.float32)
    batches = [slice(first, first + SIZE) for _ in range(epochs) for first in range(0, ROWS, SIZE)]
    for step, rows in enumerate(batches):
        gradient = gradient_of(x[rows], y[rows], versions[max(0, step - staleness)])
        if momentum:
            kept = kept * part - gradient * rate
            versions.append(versions[-1] + kept)
        else:
            versions.append(versions[-1] - gradient * rate)
    return versions[-1]


def told(outcome):
    report = outcome.report
    return report["model_digest"], report["stream_digest"], report["rows"]["fed"]


def hosts(folder, feeders="abc"):
    others = {"a": "read, batch, params", "b": "", "c": ""}
    names = {h: ", ".join(filter(None, (others[h], "feed" if h in feeders else ""))) for h in "abc"}
    path = folder / "hosts.yaml"
    path.write_text(THREE.format(port=free_port(), **names))
    return path


def test_the_parameters_are_those_of_a_plain_loop(folder):
    for optimizer, momentum in (SGD, 0), (MOMENTUM, 0.9):
        for staleness in 0, 1, STALENESS:
            saved = folder / "model.npy"
            graph = made(folder, 2, optimizer=optimizer, staleness=staleness)
            outcome = tundish("run", graph, "--save", saved, env=ENV)
            wanted = plain(folder, momentum, staleness)
            assert numpy.array_equal(numpy.load(saved), wanted), (numpy.load(saved), wanted)
            assert outcome.report["steps"] == STEPS and outcome.report["rows"]["fed"] == EPOCHS * ROWS
            assert len(outcome.metrics) == STEPS and all("loss" in line for line in outcome.metrics)


def test_the_host_of_the_parameters_saves_them(folder):
    """Also where the first replica is on another host."""
    saved = folder / "model.npy"
    tundish("up", made(folder, 2), hosts(folder, "bc"), "--save", saved, env=ENV)
    assert numpy.array_equal(numpy.load(saved), plain(folder)), (numpy.load(saved), plain(folder))


def beginning(graph, count="", initial="", begins=""):
    """The graph with other lines about its first values."""
    text = graph.read_text().replace("    count: 4\n", count).replace('    initial: "${data}/initial.npy"\n', initial)
    graph.write_text(text.replace("plugin: push", f"plugin: push{begins}"))
    return graph


def test_the_first_values_are_those_of_the_step(folder):
    """Also where the parameters and the first replica are on different hosts, and where the run is resumed."""
    saved = folder / "model.npy"
    for count in "", "    count: 4\n":
        graph = beginning(made(folder, 2), count, begins=", begins: 4")
        keep = ["--set", f"checkpoint.dir={folder / f'kept-{len(count)}'}", "--save", saved]
        tundish("up", graph, hosts(folder, "bc"), *keep, "--steps", 7, env=ENV)
        tundish("up", graph, hosts(folder, "bc"), *keep, "--resume", env=ENV)
        assert numpy.array_equal(numpy.load(saved), plain(folder)), numpy.load(saved)
    graph = beginning(made(folder, 2), initial='    initial: "${data}/initial.npy"\n')
    tundish("up", graph, hosts(folder, "bc"), "--save", saved, env=ENV)
    assert numpy.array_equal(numpy.load(saved), plain(folder)), numpy.load(saved)
    tundish("run", beginning(made(folder, 2), "    count: 4\n"), "--save", saved, env=ENV)
    numpy.save(folder / "initial.npy", numpy.zeros(4, numpy.float32))
    assert numpy.array_equal(numpy.load(saved), plain(folder)), numpy.load(saved)


def test_any_number_of_replicas_and_hosts_has_the_same_bits(folder):
    base = tundish("run", made(folder, optimizer=ADAM), env=ENV)
    for replicas, feeders in (1, "b"), (2, "bc"), (4, "abc"):
        graph = made(folder, replicas, optimizer=ADAM)
        for line in ("run", graph), ("up", graph, hosts(folder, feeders)):
            outcome = tundish(*line, env=ENV)
            assert told(outcome) == told(base), (line, told(outcome), told(base))
    slow = made(folder, 4, optimizer=ADAM, step=", slow: 2, sleep_us: 20000")
    assert told(tundish("run", slow, env=ENV)) == told(base)
    assert told(tundish("up", slow, hosts(folder), env=ENV)) == told(base)


def test_lanes_on_hosts_have_the_same_bits(folder):
    base = tundish("run", made(folder, 1, lanes=3), env=ENV)
    graph = made(folder, 3, lanes=3)
    assert told(tundish("run", graph, env=ENV)) == told(base)
    path = folder / "lanes.yaml"
    path.write_text(THREE.format(port=free_port(), a="read, batch, feed, params", b="read, batch, feed",
                                 c="read, batch, feed"))
    assert told(tundish("up", graph, path, env=ENV)) == told(base)


def test_a_run_resumes_with_the_same_bits(folder):
    graph = made(folder, 2, optimizer=ADAM)
    base = tundish("run", graph, env=ENV)
    for steps in 2, 7, 20:
        keep = ["--set", f"checkpoint.dir={folder / f'kept-{steps}'}", "--set", "checkpoint.every=5 steps"]
        tundish("run", graph, *keep, "--steps", steps, env=ENV)
        rest = tundish("run", graph, *keep, "--resume", env=ENV)
        assert told(rest) == told(base), (steps, told(rest), told(base))


def test_a_step_that_kills_each_process_ends_the_run_by_name_and_resume_continues(folder):
    graph = made(folder, 2, optimizer=ADAM)
    base = tundish("run", graph, env=ENV)
    for feeders, limit, why in ("bc", 2, " died 3 times in a short time"), ("a", 20, ""):
        keep = ["--set", f"checkpoint.dir={folder / f'kept-{feeders}'}", "--set", "checkpoint.every=4 steps",
                "--set", f"restarts.max={limit}"]
        died = tundish("up", graph, hosts(folder, feeders), *keep, expect=None, env={**ENV, "PUSH_DIES": "14"})
        assert died.code != 0 and why in died.output, died.output
        rest = tundish("up", graph, hosts(folder, feeders), *keep, "--resume", env=ENV)
        assert told(rest) == told(base), (feeders, told(rest), told(base))


class Background:
    """A run that goes on."""

    def __init__(self, folder, command, *arguments):
        self.metrics, self.report = folder / "metrics.jsonl", folder / "report.json"
        self.log = open(folder / "log", "w+")
        self.env = {**os.environ, **ENV, "XDG_RUNTIME_DIR": str(folder), "PUSH_SLEEPS_US": "50000"}
        self.process = subprocess.Popen([str(TUNDISH), command, "--metrics", str(self.metrics), "--report", str(self.report),
                                         *map(str, arguments)], stdout=self.log, stderr=self.log, env=self.env)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()

    def steps(self):
        return len(self.metrics.read_text().splitlines()) if self.metrics.exists() else 0

    def reaches(self, step):
        for _ in range(6000):
            if self.steps() >= step:
                return
            assert self.process.poll() is None, self.text()
            time.sleep(0.01)
        raise AssertionError(self.text())

    def says(self, what):
        for _ in range(12000):
            if what in self.text():
                return
            assert self.process.poll() is None, self.text()
            time.sleep(0.01)
        raise AssertionError(f"{what!r} is not in\n{self.text()}")

    def pid(self, host):
        """Of a host's process below `up`, which may be on its way."""
        for _ in range(12000):
            for pid in filter(alive, family(self.process.pid)):
                try:
                    words = pathlib.Path(f"/proc/{pid}/cmdline").read_bytes().decode().split("\0")
                except (FileNotFoundError, ProcessLookupError):
                    continue
                if f"--host={host}" in words:
                    return pid
            assert self.process.poll() is None, self.text()
            time.sleep(0.01)
        raise AssertionError(f"no process of host {host}")

    def command(self, *words):
        return subprocess.run([str(TUNDISH), *words], env=self.env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)

    def end(self, code):
        assert self.process.wait(120) == code, self.text()
        return json.loads(self.report.read_text())

    def text(self):
        self.log.seek(0)
        return self.log.read()


def test_the_death_of_the_holder_ends_the_run_by_name_and_resume_continues(folder):
    graph, path = made(folder, 2, optimizer=ADAM, epochs=20), folder / "holder.yaml"
    base = tundish("run", graph, env=ENV)
    keep = ["--set", f"checkpoint.dir={folder / 'kept'}", "--set", "checkpoint.every=3 steps"]
    alone = {"a": "read, batch", "b": "feed", "c": "params"}
    path.write_text(THREE.format(port=free_port(), **alone))
    with Background(folder, "up", graph, path, *keep) as run:
        run.reaches(8)
        seen = json.loads(run.command("ps", "--json").stdout)["processes"]
        os.kill(next(one["pid"] for one in seen if (one["run"], one["host"]) == (NAME, "c")), signal.SIGKILL)
        assert run.process.wait(120) != 0 and "host c was lost" in run.text(), run.text()
        path.write_text(THREE.format(port=free_port(), **alone))
        rest = tundish("up", graph, path, *keep, "--resume", env=ENV)
        assert told(rest) == told(base), (told(rest), told(base))


def test_replicas_that_are_killed_are_started_again_and_the_bits_are_the_same(folder):
    """Twenty times, each a few steps after the one before; less often where a kill takes long."""
    graph, draw = made(folder, 3, optimizer=ADAM, epochs=60), random.Random(TEST_SEED)
    base = tundish("run", graph, env=ENV)
    limits = ["--set", "restarts.max=100", "--set", "restarts.backoff_max=10ms"]
    steps, kills = 60 * STEPS // EPOCHS, 0
    with Background(folder, "up", graph, hosts(folder, "bc"), *limits) as run:
        while kills < 20 and run.steps() < steps * 3 // 4:
            run.reaches(run.steps() + draw.randrange(1, 6))
            os.kill(run.pid(draw.choice("bc")), signal.SIGKILL)
            kills += 1
        report = run.end(0)
        assert kills >= 5 and run.text().count("was killed by signal 9") == kills, (kills, run.text())
        assert (report["model_digest"], report["stream_digest"], report["rows"]["fed"]) == told(base), report
        assert report["steps"] == steps == run.steps(), report


def test_replicas_that_are_lost_are_left_out(folder):
    """Where nothing starts a process again; one that only seemed dead takes part again, without the steps it had."""
    graph, path = made(folder, 3, optimizer=ADAM, epochs=20), hosts(folder, "bc")
    base = tundish("run", graph, env=ENV)
    env = {**os.environ, **ENV, "XDG_RUNTIME_DIR": str(folder), "PUSH_SLEEPS_US": "50000"}
    others = {h: subprocess.Popen([str(TUNDISH), "run", str(graph), str(path), "--host", h], env=env) for h in "bc"}
    try:
        with Background(folder, "run", graph, path, "--host", "a") as run:
            run.reaches(8)
            others["c"].send_signal(signal.SIGSTOP)
            run.says("host c is lost")
            assert "the run continues without it" in run.text(), run.text()
            others["c"].send_signal(signal.SIGCONT)
            run.says("others have its steps")
            others["b"].kill()
            run.says("host b is lost")
            report = run.end(0)
        assert (report["model_digest"], report["stream_digest"], report["rows"]["fed"]) == told(base), report
        assert others["c"].wait(60) == 0
    finally:
        for other in others.values():
            other.kill()
            other.wait()


def test_a_run_is_paused_and_drained_between_steps(folder):
    graph = made(folder, 2, optimizer=ADAM, epochs=20)
    base = tundish("run", graph, env=ENV)
    keep = ["--set", f"checkpoint.dir={folder / 'kept'}"]
    with Background(folder, "run", graph, *keep) as run:
        run.reaches(2)
        assert run.command("pause", NAME).returncode == 0
        end = time.monotonic() + 60  # steps that have started finish first
        while json.loads(run.command("ps", NAME, "--json").stdout)["runs"][0]["paused"] is None:
            assert run.process.poll() is None and time.monotonic() < end, run.text()
        code = run.command("set", "feed.depth=3", NAME)
        assert code.returncode != 0 and "its slots cannot be changed" in code.stdout, code.stdout
        assert run.command("resume", NAME).returncode == 0
        run.reaches(6)
        run.process.send_signal(signal.SIGTERM)
        report = run.end(130)
        assert 6 <= report["steps"] < base.report["steps"], report["steps"]
        rest = tundish("run", graph, *keep, "--resume", env=ENV)
        assert told(rest) == told(base), (told(rest), told(base))


def test_gradients_are_applied_as_they_arrive(folder):
    graph = made(folder, 4, staleness="unbounded", step=", slow: 1, sleep_us: 5000")
    outcome = tundish("run", graph, "--set", "params.order=arrival", env=ENV)
    assert outcome.report["steps"] == STEPS and outcome.report["rows"]["fed"] == EPOCHS * ROWS
    assert outcome.report["reproducible"] is False and tundish("run", made(folder), env=ENV).report["reproducible"]
    assert outcome.report["stream_digest"] == tundish("run", made(folder), env=ENV).report["stream_digest"]


def refused(text, *line, expect):
    out = tundish(*line, expect=expect, env=ENV, report=False).output
    assert text in out and out.count("error") <= 2, f"{text!r} is not in\n{out}"


def test_bad_input_is_named_with_its_place(folder):
    def validate(text, change, replicas=2):
        graph = made(folder, replicas)
        was = graph.read_text()
        graph.write_text(change(was))
        assert graph.read_text() != was
        out = tundish("validate", graph, expect=78, env=ENV, report=False).output
        assert text in out and f"{graph.name}:" in out, f"{text!r} is not in\n{out}"

    validate("with `deal: whole` an actor of kind `parameters` after the feeder",
             lambda text: text[:text.index("  params:")] + "links:\n  - read -> batch -> feed\n")
    validate("the batcher needs `deal: whole`", lambda text: text.replace(", deal: whole", ""))
    validate("needs `order: arrival`", lambda text: text.replace("staleness: 4", "staleness: unbounded"))
    validate("from 0 to 128, or `unbounded`, not 129", lambda text: text.replace("staleness: 4", "staleness: 129"))
    validate("it needs `step:`", lambda text: text.replace(", step: {plugin: push}", ""))
    validate("replicas have no models to share",
             lambda text: text.replace("kind: feeder,", "kind: feeder, accumulate: 2,"))
    validate("cannot be checkpointed", lambda text: text.replace(
        "    count: 4", "    order: arrival\n    count: 4") + f"checkpoint: {{dir: {folder}/kept}}\n")
    refused("`parameters` has `order: arrival`, which gives other bits in each run", "chaos", made(folder, 2), "--set",
            "params.order=arrival", expect=78)
    for wrong, text in ((1, "it pushed 3 f32 to `params`, which holds 4 f32"),
                        (2, "number 1 of the gradient that it pushed to `params` is nan"),
                        (3, "it pushed a second gradient to `params`"),
                        (4, "returned from step 6 without a gradient"),
                        (5, "it pushed a gradient to `mean`, which does not hold its parameters"),
                        (6, "it pushed 4 f64 to `params`, which holds 4 f32")):
        refused(text, "run", made(folder, 2, step=f", wrong: {wrong}, at: 6"), expect=1)
    for count, begins, text in (
            ("", "", "its step gives no first values of the parameters (tnd_replica_initial), and `params` has neither "
                     "`count:` nor `initial:`"),
            ("    count: 4\n", ", begins: 3", "its step has 3 parameters, but `count` of `params` is 4"),
            ("", ", begins: 5", "number 4 of the first values that it gave to `params` is nan"),
            ("", ", begins: 4, wrong: 7", "it gave first values to `params` twice"),
            ("", ", begins: 4, wrong: 8, at: 6", "it gave first values to `params` outside of `open`")):
        refused(text, "run", beginning(made(folder, 2), count, begins=begins), expect=1)
    made(folder, 2)
    numpy.save(folder / "initial.npy", numpy.zeros(5, numpy.float32))
    graph = folder / "graph-2-1.yaml"
    refused("initial.npy has 5 f32, but `count` is 4 f32", "run", graph, expect=1)


def test_a_program_is_told_that_it_cannot_pull(folder):
    program = "import sys, tundish\nfor batch in tundish.feed(sys.argv[1]): print(batch)"
    env = {**os.environ, **ENV, "PYTHONPATH": str(ROOT / "tools/python"), "TUNDISH_LIBRARY": str(BUILD / "libtundish.so")}
    done = subprocess.run([sys.executable, "-c", program, str(made(folder))], env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert done.returncode == 1 and done.stdout == "", done
    assert "its plugin runs each step where a replica is free, and a program cannot pull steps" in done.stderr, done.stderr


def test_explain_names_the_strategy(folder):
    graph = made(folder, 2)
    assert "ParameterServerStrategy of tf.distribute: 2 replicas" in tundish("explain", graph, report=False, env=ENV).output
    told = json.loads(tundish("explain", graph, "--json", report=False, env=ENV).output.splitlines()[-1])
    assert told["chains"][0]["strategy"] == "ParameterServerStrategy", told["chains"]


if __name__ == "__main__":
    sys.exit(run_named(globals(), sys.argv[1:], in_folder))
