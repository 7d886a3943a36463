#!/usr/bin/env python3
"""Members of a run over NCCL that are killed, or stopped, at random moments.

Usage: nccl_deaths.py [--deaths N] [--within SECONDS] [--seed SEED] [NAME...]; without a name it lists them.  The
library is that of tests/support.  Each member dies N times.  The survivor ends within SECONDS of the death, and names
the member; the run resumes, its losses and stream are those of a run without faults, and of files only
the pages of members that died remain.
By hand, on a quiet machine:

  nccl_deaths.py --deaths 20 --within 3 all
"""
import argparse
import os
import pathlib
import random
import signal
import subprocess
import sys
import tempfile
import time

from named import in_folder, run_named
from nccl import ENV, made, two
from run import ROOT, TEST_SEED, TUNDISH, tundish

CHECKPOINT = "checkpoint: {{dir: {folder}/kept, every: 20 steps}}\n"
GIVEN = argparse.Namespace(deaths=1, within=60.0, seed=TEST_SEED)


def result(outcome):
    """The loss of each step, as text, shows the bits of the model before it."""
    return outcome.report["stream_digest"], outcome.report["steps"], outcome.losses[-1]


def lines_of(metrics):
    return metrics.read_text().count("\n") if metrics.exists() else 0


def await_steps(process, metrics, steps):
    while lines_of(metrics) < steps:
        assert process.poll() is None, process.communicate()[0]
        time.sleep(0.005)


def begin(folder, graph, hosts, metrics):
    """Both hosts, with a folder of pages of their own."""
    env = {**os.environ, **ENV, "XDG_RUNTIME_DIR": str(folder / "pages")}
    (folder / "pages").mkdir(mode=0o700, exist_ok=True)
    return [subprocess.Popen([str(TUNDISH), "run", str(graph), str(hosts), "--host", host, *more], env=env, cwd=ROOT, text=True,
                             stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
            for host, more in (("a", ["--metrics", str(metrics)]), ("b", []))]


def left(folder):
    """Files in the folder of pages, but for what `tundish why` reads of the process that was killed."""
    return sorted(str(path) for path in (folder / "pages").rglob("*") if path.is_file() and path.suffix != ".pages")


def die_once(folder, how, member, steps):
    graph, metrics = made(folder, epochs=60), folder / "metrics.jsonl"
    graph.write_text(CHECKPOINT.format(folder=folder) + graph.read_text())
    hosts = two(folder)
    begun = begin(folder, graph, hosts, metrics)
    survivor, name = begun[1 - member], "ab"[member]
    try:
        await_steps(begun[0], metrics, steps)
        begun[member].send_signal(how)
        died = time.monotonic()
        text = survivor.communicate(timeout=120)[0]
        took = time.monotonic() - died
        print(f"{how.name} of {name} in step {steps}: the other one ended after {took:.2f} s", flush=True)
        assert survivor.returncode == 75 and "violation" not in text, (survivor.returncode, text)
        assert ("b was lost" if member == 1 else "host a, which leads the run, is lost") in text, text
        assert took <= GIVEN.within, (took, text)
    finally:
        for process in begun:
            process.kill()
            process.wait()
    return graph, hosts


def die(how, member):
    draw = random.Random(f"{GIVEN.seed} {how} {member}")
    with tempfile.TemporaryDirectory() as name:
        graph = made(pathlib.Path(name), epochs=60)
        base = result(tundish("up", graph, two(pathlib.Path(name)), env=ENV))
    for _ in range(GIVEN.deaths):
        def test(folder):
            graph, hosts = die_once(folder, how, member, draw.randint(1, 300))
            resumed = tundish("up", graph, hosts, "--resume", env={**ENV, "XDG_RUNTIME_DIR": str(folder / "pages")})
            assert result(resumed) == base, (result(resumed), base)
            assert left(folder) == [], left(folder)
        in_folder(test)


def test_the_leader_is_killed(_):
    die(signal.SIGKILL, 0)


def test_a_member_is_killed(_):
    die(signal.SIGKILL, 1)


def test_the_leader_is_stopped(_):
    die(signal.SIGSTOP, 0)


def test_a_member_is_stopped(_):
    die(signal.SIGSTOP, 1)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("names", nargs="*")
    parser.add_argument("--deaths", type=int, default=GIVEN.deaths)
    parser.add_argument("--within", type=float, default=GIVEN.within)
    parser.add_argument("--seed", type=int, default=GIVEN.seed)
    GIVEN = parser.parse_args()
    sys.exit(run_named(globals(), GIVEN.names, in_folder))
