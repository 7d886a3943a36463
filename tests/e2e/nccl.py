#!/usr/bin/env python3
"""Runs that reduce by NCCL, over the libraries of tests/support: one process and two, what it cannot do, and
whatever fails.

Usage: nccl.py [NAME...]; without a name it lists them.  The step is that of tests/gpu, whose values are sums of
f32: their last bits depend on the order.
"""
import array
import os
import random
import subprocess
import sys
import time

from named import in_folder, run_named
from run import BUILD, ROOT, TUNDISH, free_port, tundish

SUPPORT = BUILD / "tests" / "support"
ENV = {"TUNDISH_PLUGIN_PATH": str(BUILD / "tests"), "TND_CUDA_DEVICES": "4",
       "LD_LIBRARY_PATH": f"{SUPPORT}/cuda/whole:{SUPPORT}/nccl/whole"}
GRAPH = """tundish: 1
name: sums
seed: 7
dead_after: 2s
actors:
  read:  {{kind: reader, source: {{npy: {{x: {folder}/x.npy, y: {folder}/y.npy}}}}, shuffle: global, epochs: {epochs}}}
  batch: {{kind: batcher, size: 64, replicas: 4}}
  feed:  {{kind: feeder, devices: [{devices}], step: {{plugin: linear}}}}
  mean:  {{kind: reducer, order: any}}
links:
  - read -> batch -> feed <-> mean
"""
TWO = """port: {port}
hosts:
  a: {{address: 127.0.0.1, actors: [read, batch, feed, mean], devices: {{feed: ["{one}"]}}}}
  b: {{address: 127.0.0.1, actors: [feed], devices: {{feed: ["{other}"]}}}}
"""
NOTE = "note[T081]: mean: NCCL chooses the order in which it adds, so the model is not reproducible"


def write_npy(path, shape, values):
    head = "{'descr': '<f4', 'fortran_order': False, 'shape': %r, }" % (shape,)
    path.write_bytes(b"\x93NUMPY\x01\x00\x76\x00" + head.ljust(117).encode() + b"\n" + array.array("f", values).tobytes())


def made(folder, devices=("cuda:0", "cuda:1"), epochs=2, rows=64 * 8 + 5):
    """The last batch has 5 rows."""
    draw = random.Random(1)
    x = [draw.uniform(-1, 1) for _ in range(rows * 16)]
    write_npy(folder / "x.npy", (rows, 16), x)
    write_npy(folder / "y.npy", (rows,), [sum((i - 8) * x[r * 16 + i] for i in range(16)) for r in range(rows)])
    graph = folder / "graph.yaml"
    graph.write_text(GRAPH.format(folder=folder, epochs=epochs, devices=", ".join(f'"{name}"' for name in devices)))
    return graph


def two(folder, one="cuda:0", other="cuda:1"):
    path = folder / "two.yaml"
    path.write_text(TWO.format(port=free_port(), one=one, other=other))
    return path


def near(base, outcome):
    """The same rows, and a model that differs in its last bits at most."""
    assert outcome.report["stream_digest"] == base.report["stream_digest"]
    assert (base.report["reproducible"], outcome.report["reproducible"]) == (True, False)
    losses = [(float(a), float(b)) for a, b in zip(base.losses, outcome.losses, strict=True)]
    assert len(losses) == base.report["steps"] and all(abs(a - b) <= 1e-4 * (1 + abs(a)) for a, b in losses), losses


def test_the_model_is_that_of_the_tree_but_for_its_last_bits(folder):
    graph = made(folder)
    base = tundish("run", graph, "--set", "mean.order=tree", env=ENV)
    near(base, tundish("run", graph, env=ENV))
    near(base, tundish("run", graph, "--set", "feed.devices=[\"cuda:0\"]", env=ENV))
    near(base, tundish("run", graph, "--set", "feed.accumulate=2", env=ENV))
    near(base, tundish("up", graph, two(folder), env=ENV))


TREE = ("--set", "mean.order=tree", "--set", "mean.through=nccl")


def lacks_kernels():
    """Whether this build found no compiler of kernels."""
    return "this program has no kernels" in tundish("doctor", report=False, expect=None, env=ENV).output


def is_refused(graph):
    """Without kernels the run is refused."""
    lacks = lacks_kernels()
    if lacks:
        done = tundish("run", graph, *TREE, report=False, expect=78, env=ENV)
        assert "this build has no kernels that add along the tree" in done.output, done.output
    return lacks


def test_along_the_tree_it_has_the_bits_of_the_host(folder):
    graph, report = made(folder), folder / "report"
    if is_refused(graph):
        return

    def same_model(*arguments):
        report.unlink(missing_ok=True)
        outcome = tundish(*arguments, *TREE, env={**ENV, "TND_NCCL_REPORT": str(report)})
        assert outcome.report["reproducible"] and "called ncclAllGather" in report.read_text()
        assert "called ncclAllReduce" not in report.read_text()
        assert (outcome.report["model_digest"], outcome.losses) == (base.report["model_digest"], base.losses)
        assert outcome.report["stream_digest"] == base.report["stream_digest"]

    base = tundish("run", graph, "--set", "mean.order=tree", env=ENV)
    same_model("run", graph)
    same_model("run", graph, "--set", "feed.devices=[\"cuda:0\"]")
    same_model("run", graph, "--set", "feed.devices=[\"cuda:0\",\"cuda:1\",\"cuda:2\"]")
    same_model("run", graph, "--set", "feed.accumulate=2")
    same_model("up", graph, two(folder))
    words = "mean       through nccl, because that is written\n"
    done = tundish("explain", graph, *TREE, report=False, env=ENV)
    assert words in done.output and "25 MiB of cuda:0: values that nccl adds" in " ".join(done.output.split()), done.output


def test_each_call_of_the_tree_fails_once(folder):
    graph = made(folder)
    if is_refused(graph):
        return
    for call in ("ncclGroupStart", "ncclGroupEnd@3", "ncclAllGather@2"):
        name = call.split("@")[0]
        failed(f"{name} failed: " + TOLD.format(name), "run", graph, *TREE, TND_NCCL_FAIL=call)
    for name in ("ncclSend", "ncclRecv"):
        failed("ncclSend or ncclRecv failed: " + TOLD.format(name), "run", graph, *TREE, TND_NCCL_FAIL=name)
    failed("ncclAllGather has not ended within 2 s", "run", graph, *TREE, "--set", "hung_after=2s", TND_NCCL_NEVER="7")


def test_what_it_chooses_is_told(folder):
    graph = made(folder)
    assert NOTE in tundish("validate", graph, report=False, env=ENV).output
    words = "mean       through nccl, because only NCCL adds in any order\n"
    done = tundish("explain", graph, report=False, env=ENV)
    assert words in done.output, done.output
    text = " ".join(done.output.split())
    assert "24 MiB feed: values on their way to nccl and back" in text, text
    for device in ("cuda:0", "cuda:1"):
        assert f"8 MiB of {device}: values that nccl adds" in text, text
        if not lacks_kernels():
            assert f"24 MiB feed: values that steps reduce on {device}, between that and the host" in text, text
            assert f"12 MiB of {device}: the same values, of its replicas together" in text, text
    done = tundish("explain", graph, "--set", "mean.order=tree", report=False, env=ENV)
    assert "mean       through host, because the processors add along the tree unless `through: nccl` is written\n" in done.output, done.output
    done = tundish("chaos", graph, "--seconds", "1", report=False, expect=78, env=ENV)
    assert "a reducer has `order: any`, which gives other bits in each run" in done.output, done.output


def test_each_host_says_why(folder):
    def said(words, one="cuda:0", other="cuda:1", *more):
        done = tundish("up", made(folder), two(folder, one, other), "--log-level", "info", *more, report=False, env=ENV)
        told = [line for line in done.output.splitlines() if "its values go through" in line]
        assert len(told) == 2, done.output
        for host, text in zip("ab", words, strict=True):
            assert any(f" {host}" in line and line.endswith("its values go through " + text) for line in told), (host, told)

    tree = "host, because the processors add along the tree unless `through: nccl` is written"
    said(["nccl, because only NCCL adds in any order"] * 2)
    said([tree, tree + "; that needs devices of CUDA, and a replica is on cpu:0"], "cuda:0", "cpu:0", "--set", "mean.order=tree")


def test_machines_that_cannot_are_refused(folder):
    def refused(words, devices=("cuda:0",), **env):
        done = tundish("run", made(folder, devices), report=False, expect=78, env={**ENV, **env})
        assert words in done.output and "1 error" in done.output, done.output

    place = "graph.yaml:9:33: error[T062]: feed: `order: any` is not possible on `local`: "
    refused(place + "NCCL needs devices of CUDA, and a replica is on cpu:0", devices=("cpu:0",))
    refused(place + "NCCL needs devices of CUDA, and a replica is on cpu:1", devices=("cuda:0", "cpu:1"))
    refused(place + f"{SUPPORT}/nccl/whole/libnccl.so.2 is NCCL 2.18.6 and 2.19 is needed: update it", TND_NCCL_VERSION="21806")
    refused(place + "NCCL cannot be loaded: /no/such.so: cannot open shared object file", TUNDISH_NCCL="/no/such.so")


def failed(words, *arguments, **env):
    """A run that fails with one sentence."""
    done = tundish(*arguments, report=False, expect=None, timeout=100, env={**ENV, **env})
    assert done.code not in (0, 124) and words in done.output, (done.code, done.output)
    assert "violation" not in done.output, done.output
    return done.output


TOLD = "unhandled system error (run with NCCL_DEBUG=INFO for details): {0} was told to fail (2)"


def test_each_call_fails_once(folder):
    graph = made(folder)
    for call in ("ncclGetUniqueId", "ncclCommInitRankConfig", "ncclCommGetAsyncError@20", "ncclAllReduce@5"):
        name = call.split("@")[0]
        words = f"{name} failed: " + TOLD.format(name)
        failed(words, "run", graph, TND_NCCL_FAIL=call)
        failed(words, "up", graph, two(folder), TND_NCCL_FAIL=call)
    tundish("run", graph, env={**ENV, "TND_NCCL_FAIL": "ncclCommFinalize"})
    tundish("run", graph, env={**ENV, "TND_NCCL_FAIL": "ncclCommAbort"})


def test_errors_of_others_are_passed_on(folder):
    graph = made(folder, epochs=50)
    failed("ncclAllReduce failed: remote process exited or there was a network error: connection closed by remote peer",
           "up", graph, two(folder), TND_NCCL_REMOTE="60")
    failed("Duplicate GPU detected : rank ", "up", graph, two(folder, other="cuda:0"))


def test_what_never_ends_is_not_waited_for(folder):
    graph = made(folder)
    for words, env in (("ncclAllReduce has not ended within 2 s", {"TND_NCCL_NEVER": "7"}),
                       ("ncclCommInitRankConfig has not ended within 2 s", {"TND_NCCL_ALONE": "1"}),
                       ("a call of NCCL has not returned within 2 s (hung_after)", {"TND_NCCL_HANG": "1"})):
        failed(words, "run", graph, "--set", "hung_after=2s", **env)
        failed(words, "up", graph, two(folder), "--set", "hung_after=2s", **env)


def test_a_process_that_is_killed_ends_the_run(folder):
    """The other one waits for what it does not give, and ends as soon as its death is known."""
    graph, hosts, metrics = made(folder, epochs=100000), two(folder), folder / "metrics.jsonl"
    begun = [subprocess.Popen([str(TUNDISH), "run", str(graph), str(hosts), "--host", host, *more], env={**os.environ, **ENV}, cwd=ROOT,
                              text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
             for host, more in (("a", ["--metrics", str(metrics)]), ("b", []))]
    try:
        while not metrics.exists() or metrics.read_text().count("\n") < 3:
            assert begun[0].poll() is None, begun[0].communicate()[0]
            time.sleep(0.01)
        begun[1].kill()
        killed = time.monotonic()
        text = begun[0].communicate(timeout=60)[0]
        print(f"ended {time.monotonic() - killed:.1f} s after the death: {text}")
        assert begun[0].returncode == 75 and "violation" not in text, (begun[0].returncode, text)
        assert "b was lost" in text, text
    finally:
        for process in begun:
            process.kill()
            process.wait()


if __name__ == "__main__":
    sys.exit(run_named(globals(), sys.argv[1:], in_folder))
