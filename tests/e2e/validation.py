#!/usr/bin/env python3
"""Validation during training: a second chain that is fed while the first one rests.

Usage: validation.py NAME...; without a name it lists them.

The step reports, where it evaluates, the low bits of its model, so a result names the steps before it.  What
a validation must report is what a run reports that ends after as many steps.
"""
import json
import os
import random
import signal
import struct
import subprocess
import sys

from faults import until, write_npy
from named import in_folder, run_named
from run import BUILD, ROOT, TEST_SEED, TUNDISH, family, free_range

ROWS, TESTED, SIZE, EPOCHS = 200, 50, 16, 4
OF_EPOCH = -(-ROWS // SIZE)
STEPS = OF_EPOCH * EPOCHS
SLOW = {"sleep_us": 1000, "drag_us": 1000}
GRAPH = """tundish: 1
name: validation
seed: 7
lanes: 2
actors:
  read:  {{kind: reader, source: {{npy: {{y: "{folder}/y.npy"}}}}, shuffle: global, epochs: {epochs}}}
  prep:  {{kind: preprocessor, ops: [{{filter: {{column: y, op: ge, value: 0}}}}]}}
  batch: {{kind: batcher, size: {size}, replicas: 2, remainder: keep}}
  feed:  {{kind: feeder, step: {{plugin: witness, sleep_us: {sleep_us}}}}}
  mean:  {{kind: reducer}}
  from:  {{kind: reader, source: {{npy: {{y: "{folder}/tested.npy"}}}}, shuffle: global}}
  drag:  {{kind: preprocessor, ops: [{{plugin: drag, us: {drag_us}}}]}}
  some:  {{kind: batcher, size: {size}, replicas: 2}}
  test:  {{kind: feeder, after: feed{every}}}
links:
  - read -> prep -> batch -> feed <-> mean
  - from -> drag -> some -> test
"""
HOSTS = """port: {port}
insecure: true
hosts:
  a: {{address: 127.0.0.1, lanes: 1, actors: [read, batch, from, some]}}
  b: {{address: 127.0.0.1, lanes: 1, actors: [read, batch, from, some]}}
  c: {{address: 127.0.0.1, actors: [prep, drag]}}
  d: {{address: 127.0.0.1, actors: [feed, test, mean]}}
"""


class Runs:
    """Runs of one graph, with other options each."""

    def __init__(self, folder):
        self.folder, self.report, self.metrics = folder, folder / "report.json", folder / "metrics.jsonl"
        for name, rows in ("y", ROWS), ("tested", TESTED):
            write_npy(folder / f"{name}.npy", "<i8", (rows,), struct.pack(f"<{rows}q", *range(rows)))
        self.graph, self.checkpoints = folder / "graph.yaml", folder / "checkpoints"

    def line(self, *more, every=", every: 1 epoch", epochs=EPOCHS, sleep_us=0, drag_us=0, command="run", size=SIZE):
        self.graph.write_text(GRAPH.format(folder=self.folder, every=every, epochs=epochs, sleep_us=sleep_us,
                                           drag_us=drag_us, size=size))
        return list(map(str, [TUNDISH, command, self.graph, "--report", self.report, "--metrics", self.metrics, *more]))

    def run(self, *more, expect=0, **options):
        done = subprocess.run(self.line(*more, **options), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                              timeout=60, cwd=ROOT, env={**os.environ, "TUNDISH_PLUGIN_PATH": str(BUILD / "tests")})
        assert done.returncode == expect, f"exit code {done.returncode}\n{done.stdout[-3000:]}"
        return json.loads(self.report.read_text()) if expect == 0 else done.stdout


def trained(report):
    return {name: report[name] for name in ("stream_digest", "model_digest", "steps", "rows", "epochs")}


def hashes(runs, steps):
    """What the models are after each of so many steps."""
    return [runs.run("--steps", count, every="")["results"]["test"]["hash"] for count in steps]


def test_each_epoch_and_each_so_many_steps(folder):
    runs = Runs(folder)
    plain = runs.run(every="")
    ends = [OF_EPOCH * (e + 1) for e in range(EPOCHS)]
    expected = dict(zip(ends, hashes(runs, ends)))
    report = runs.run()
    assert trained(report) == trained(plain), report
    assert report["results"]["feed"] == plain["results"]["feed"]
    assert report["chains"] == plain["chains"], (report["chains"], plain["chains"])
    assert report["results"]["test"] == [
        {"after_step": end - 1, "epoch": e, "rows": 12.5 / 2, "hash": expected[end]} for e, end in enumerate(ends)], (
        report["results"], expected)
    lines = [json.loads(line) for line in runs.metrics.read_text().splitlines()]
    assert [line for line in lines if "feeder" in line] == [
        {"feeder": "test", **result} for result in report["results"]["test"]]
    assert [line["step"] for line in lines if "step" in line] == list(range(STEPS))
    for every, points in (("3 epochs", [ends[2], ends[3]]), ("9 epochs", [STEPS]), (f"{STEPS // 2} steps", [ends[1], STEPS]),
                          ("20 steps", [20, 40, STEPS])):
        report = runs.run(every=f", every: {every}")
        assert trained(report) == trained(plain), (every, report)
        assert [r["after_step"] + 1 for r in report["results"]["test"]] == points, (every, report["results"])
        assert [r["hash"] for r in report["results"]["test"]] == [
            expected[p] if p in expected else hashes(runs, [p])[0] for p in points], (every, report["results"])


def stopped(runs, how, lines, *more):
    """Runs until the log has so many lines about chains and checkpoints, and stops the run there."""
    process = subprocess.Popen(runs.line("--log-level", "info", *more, **SLOW), cwd=ROOT, stdout=subprocess.PIPE,
                               stderr=subprocess.STDOUT, text=True, start_new_session=True,
                               env={**os.environ, "TUNDISH_PLUGIN_PATH": str(BUILD / "tests")})
    for text in process.stdout:
        lines -= "is running" in text or "checkpoint after" in text or "epoch" in text
        if lines == 0:
            os.killpg(process.pid, how)
    process.stdout.close()
    return process.wait(60)


def test_killed_in_either_chain_and_resumed(folder):
    runs = Runs(folder)
    whole = runs.run(**SLOW)
    draw = random.Random(TEST_SEED)
    keep, resume = ("--set", f"checkpoint.dir={runs.checkpoints}", "--set", "checkpoint.every=5 steps"), []
    for _ in range(6):
        stopped(runs, signal.SIGKILL, draw.randrange(2, 9), *keep, *resume)
        resume = ["--resume"]
    found = runs.run(*keep, *resume, **SLOW)
    assert trained(found) == trained(whole), (TEST_SEED, found, whole)
    assert found["results"] == whole["results"], (TEST_SEED, found["results"], whole["results"])


def test_drained_in_either_chain_and_resumed(folder):
    runs = Runs(folder)
    whole = runs.run(**SLOW)
    keep, resume, kept, codes = ("--set", f"checkpoint.dir={runs.checkpoints}"), [], [], []
    for lines in (2, 4, 3, 5, 6):
        codes.append(stopped(runs, signal.SIGTERM, lines, *keep, *resume))
        if codes[-1] == 0 and len(codes) > 3:  # on a busy machine the signal comes after the last step
            break
        assert codes[-1] == 130, codes
        kept.append(len(json.loads(runs.report.read_text())["results"].get("test", [])))
        resume = ["--resume"] if runs.checkpoints.exists() and any(runs.checkpoints.glob("step-*")) else []
    found = runs.run(*keep, *resume, **SLOW)
    assert trained(found) == trained(whole) and found["results"] == whole["results"], (kept, found, whole)
    assert kept == sorted(kept) and kept[-1] > 0, kept


def test_a_run_that_is_continued_has_all_results(folder):
    runs = Runs(folder)
    keep = ("--set", f"checkpoint.dir={runs.checkpoints}")
    whole = runs.run(epochs=6)["results"]["test"]
    runs.run(*keep, "--steps", 30)  # validated after them, as each run that ends
    results = runs.run(*keep, "--resume")["results"]["test"]
    assert runs.run(*keep, "--resume")["results"]["test"] == results, "nothing was left to do"
    results = runs.run(*keep, "--resume", epochs=6)["results"]["test"]
    assert [r for r in results if r["after_step"] != 29] == whole, (results, whole)


def test_what_cannot_be_validated_is_refused(folder):
    runs = Runs(folder)
    for every, why in ((", every: 0 steps", "`every` expects at least one step or epoch"),
                       (", every: 5", "write `5 steps` or `5 epochs`"), (", every: 10s", "`10s` has a unit that is not known here")):
        text = runs.run(every=every, expect=78)
        assert "graph.yaml:14:" in text and why in text, text
    runs.line()
    whole = runs.graph.read_text()
    was = "{kind: feeder, step"
    assert was in whole
    runs.graph.write_text(whole.replace(was, "{kind: feeder, every: 1 epoch, step"))
    done = subprocess.run([str(TUNDISH), "validate", str(runs.graph)], capture_output=True, text=True, timeout=60,
                          env={**os.environ, "TUNDISH_PLUGIN_PATH": str(BUILD / "tests")})
    said = done.stdout + done.stderr
    assert done.returncode == 78 and "`feed` comes after no other feeder" in said, said


def test_hosts_and_killed_workers(folder):
    runs = Runs(folder)
    whole = runs.run()
    hosts = folder / "hosts.yaml"
    hosts.write_text(HOSTS.format(port=free_range("127.0.0.1")))
    log = folder / "log"
    with open(log, "w") as out:
        process = subprocess.Popen(runs.line(hosts, "--log-level", "info", command="up", sleep_us=5000, drag_us=2000),
                                   stdout=out, stderr=out, cwd=ROOT,
                                   env={**os.environ, "TUNDISH_PLUGIN_PATH": str(BUILD / "tests")})
    try:
        for kill in range(3):
            until(lambda: log.read_text()[-3000:], lambda: log.read_text().count("test is running") > kill)
            shown = json.loads(subprocess.run([str(TUNDISH), "ps", "--json"], capture_output=True, text=True).stdout)
            host = "bcb"[kill]
            for pid in {run["pid"] for run in shown["processes"] if run["host"] == host} & set(family(process.pid)):
                os.kill(pid, signal.SIGKILL)
        assert process.wait(60) == 0, log.read_text()[-3000:]
    finally:
        process.kill()
        process.wait()
    found = json.loads(runs.report.read_text())
    assert trained(found) == trained(whole), (found, whole)
    assert found["results"] == whole["results"], (found["results"], whole["results"])


def asks(*words):
    done = subprocess.run([str(TUNDISH), *words], capture_output=True, text=True, timeout=60)
    return done.stdout + done.stderr


def test_commands_name_the_chain_that_is_fed(folder):
    runs = Runs(folder)
    whole = runs.run()
    log, name, chain = folder / "log", f"rests-{os.getpid()}", ""
    with open(log, "w") as out:
        process = subprocess.Popen(runs.line("--log-level", "info", "--set", f"name={name}", drag_us=20000), stdout=out, stderr=out, cwd=ROOT,
                                   env={**os.environ, "TUNDISH_PLUGIN_PATH": str(BUILD / "tests")})
    try:
        for times in range(EPOCHS):
            until(lambda: log.read_text()[-3000:], lambda: log.read_text().count("test is running") > times)
            asks("pause", name)
            shown = json.loads(asks("top", "--once", "--json", name))
            chain = shown["runs"][0]["chain"]
            if chain == "test":
                break
            asks("resume", name)
        assert chain == "test", (chain, log.read_text()[-3000:])
        for words in ("restart", "prep.0"), ("restart", "read"), ("set", "feed.depth=3"):
            said = asks(*words, name)
            assert "its chain, feed, rests while test is fed; try again when it is fed" in said, (words, said)
        assert "drag.0 is replaced by a new life" in asks("restart", "drag.0", name)
        assert "test.depth becomes 3" in asks("set", "test.depth=3", name)
        asks("resume", name)
        assert process.wait(60) == 0, log.read_text()[-3000:]
    finally:
        process.kill()
        process.wait()
    found = json.loads(runs.report.read_text())
    assert trained(found) == trained(whole) and found["results"] == whole["results"], (found, whole)
    for end in (OF_EPOCH * (e + 1) for e in range(EPOCHS)):
        assert f"test after step {end - 1}  rows 6.2500, hash " in log.read_text(), log.read_text()[-3000:]


if __name__ == "__main__":
    sys.exit(run_named(globals(), sys.argv[1:], in_folder))
