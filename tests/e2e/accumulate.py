#!/usr/bin/env python3
"""Replicas that share a model: the same bits, one model and a few sums in memory, one model in a checkpoint.

Usage: accumulate.py [NAME...]; without a name it lists them.  The step is the witness: its hash is that of
all values that came back from reductions.
"""
import json
import os
import pathlib
import subprocess
import sys

import numpy

from named import in_folder, run_named
from run import BUILD, ROOT, TUNDISH, free_port, tundish

ENV = {"TUNDISH_PLUGIN_PATH": str(BUILD / "tests")}
MIB = 1 << 20
#  The last batch has 5 rows: most replicas have none of it.
GRAPH = """tundish: 1
name: accumulate
seed: 7
data: {folder}
actors:
  read: {{kind: reader, source: {{npy: {{y: "${{data}}/y.npy"}}}}, shuffle: global}}
  batch: {{kind: batcher, size: 45, replicas: {replicas}}}
  feed: {{kind: feeder, step: {{plugin: witness{step}}}}}
  mean: {{kind: reducer}}
  test_read: {{kind: reader, source: {{npy: {{y: "${{data}}/y.npy"}}}}, take: 100}}
  test_batch: {{kind: batcher, size: 40, replicas: {replicas}}}
  test: {{kind: feeder, after: feed}}
links:
  - read -> batch -> feed <-> mean
  - test_read -> test_batch -> test
"""
TWO = """port: {port}
hosts:
  a: {{address: 127.0.0.1, actors: [read, batch, feed, mean, test_read, test_batch, test]}}
  b: {{address: 127.0.0.1, actors: [feed, test]}}
"""


def made(folder, replicas=16, step=", again: 1, start: 1", rows=45 * 7 + 5):
    numpy.save(folder / "y.npy", numpy.arange(rows) * 31 % 1000)
    graph = folder / "graph.yaml"
    graph.write_text(GRAPH.format(folder=folder, replicas=replicas, step=step))
    return graph


def accumulate(number, devices=1):
    names = ", ".join(f'"cpu:{i}"' for i in range(devices))
    return ["--set", f"feed.accumulate={number}", "--set", f"feed.devices=[{names}]"]


def told(outcome):
    """What must not differ."""
    report = outcome.report
    return (report["model_digest"], report["stream_digest"], report["results"],
            [(line["sum"], line.get("norm")) for line in outcome.metrics])


def same(base, outcome, what):
    assert told(outcome) == told(base), f"{what}: {told(outcome)}, not {told(base)}"


def test_any_number_has_the_same_bits(folder):
    graph = made(folder)
    base = tundish("run", graph, env=ENV)
    assert base.report["steps"] == 8 and base.metrics[-1]["rows"] == 5
    for number, devices in ((2, 1), (4, 1), (16, 1), (1, 2), (2, 2), (8, 2), (4, 3 + 1)):
        same(base, tundish("run", graph, *accumulate(number, devices), env=ENV), f"{number} on {devices} devices")


def test_two_processes_have_the_same_bits(folder):
    for replicas, numbers in ((16, (2, 8)), (12, (3,))):  # the sums of 3 of 12 cross nodes of the tree
        graph, two = made(folder, replicas), folder / "two.yaml"
        base = tundish("run", graph, env=ENV)
        for number in numbers:
            two.write_text(TWO.format(port=free_port()))
            same(base, tundish("up", graph, two, *accumulate(number), env=ENV), f"{number} of {replicas}")


def test_an_apply_that_awaits_each_result_has_the_same_bits(folder):
    early = ["--set", "feed.apply=early"]
    for large in 0, 3 * MIB:
        graph, two = made(folder, 8, f", again: 1, start: 1, large: {large}", 130), folder / "two.yaml"
        base = tundish("run", graph, env=ENV)
        for number, devices in ((1, 1), (1, 4), (2, 2)):
            same(base, tundish("run", graph, *early, *accumulate(number, devices), env=ENV), f"{number} on {devices} devices")
            two.write_text(TWO.format(port=free_port()))
            same(base, tundish("up", graph, two, *early, *accumulate(number, devices), env=ENV), f"{number} on {devices} devices of two")


def test_a_run_resumes_with_another_number(folder):
    graph = made(folder)
    base = tundish("run", graph, env=ENV)
    for number, others in ((4, (1, 16)), (1, (8,))):
        for other in others:
            kept = folder / f"kept-{number}-{other}"
            keep = ["--set", f"checkpoint.dir={kept}"]
            tundish("run", graph, *keep, *accumulate(number), "--steps", 5, env=ENV)
            models = sorted(kept.glob("step-00000005/model-*"), key=lambda path: int(path.name[6:]))
            assert [int(path.name[6:]) for path in models] == list(range(0, 16, number)), models
            rest = tundish("run", graph, *keep, *accumulate(other), "--resume", env=ENV)
            assert rest.report["model_digest"] == base.report["model_digest"], f"{number}, then {other}"
            assert rest.report["results"] == base.report["results"], rest.report["results"]
            assert len(list(kept.glob("step-00000008/model-*"))) == 16 // other


def peak(graph, number):
    """Bytes of the process that ran."""
    line = [str(TUNDISH), "run", str(graph), "--quiet", *accumulate(number)]
    with open(graph.parent / "log", "w") as log:
        process = subprocess.Popen(line, env={**os.environ, **ENV}, stdout=log, stderr=log, cwd=ROOT)
        status, usage = os.wait4(process.pid, 0)[1:]
        process.returncode = os.waitstatus_to_exitcode(status)
    assert process.returncode == 0, (graph.parent / "log").read_text()
    return usage.ru_maxrss * 1024


def test_memory_is_one_model_and_a_few_sums(folder):
    """Of 16 models of 8 MiB, one is left and log2(16) sums."""
    graph = made(folder, step=f", large: {2 * MIB}", rows=90)
    saved = peak(graph, 1) - peak(graph, 16)
    assert saved > (16 - 1 - 4) * 8 * MIB - 4 * MIB, f"{saved / MIB:.1f} MiB"


def test_bad_input_is_named_with_its_place(folder):
    graph = made(folder)
    text = graph.read_text()

    def refused(change, line, *words, files=()):
        graph.write_text(text.replace("feed: {kind: feeder,", f"feed: {{kind: feeder, {change}"))
        done = tundish("validate", graph, *files, report=False, expect=78, env=ENV)
        assert done.output.count("error[") == 1, done.output
        assert f"graph.yaml:{line}" in done.output and all(word in done.output for word in words), done.output

    refused("accumulate: 3,", 8, "error[T046]", "`accumulate: 3` does not divide the 16 replicas that cpu:0")
    refused('accumulate: 16, devices: ["cpu:0", "cpu:1"],', 8, "does not divide the 8 replicas that cpu:0")
    refused("accumulate: 32,", 8, "`accumulate: 32` does not divide the 16 replicas")
    refused("accumulate: 0,", 8, "error[T015]", "accumulate")
    refused("accumulate: 65537,", 8, "error[T015]", "accumulate")
    two = folder / "two.yaml"
    two.write_text(TWO.format(port=free_port()))
    refused("accumulate: 16,", 8, "does not divide the 8 replicas that cpu:0 on `a`", files=[two])
    graph.write_text(text.replace("after: feed", "after: feed, accumulate: 4"))
    done = tundish("validate", graph, report=False, expect=78, env=ENV)
    assert "graph.yaml:12:" in done.output and "`test` comes after `feed` and uses its models" in done.output

if __name__ == "__main__":
    sys.exit(run_named(globals(), sys.argv[1:], in_folder))
