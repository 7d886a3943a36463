#!/usr/bin/env python3
"""Preemption: signals of a launcher at chosen moments of a run of four processes with steps of 200 ms.  All end with 130,
after the same step, and the run that resumes ends with the bits of one that nothing disturbs.

Usage: preempted.py [--rounds N] [NAME...]; without a name it lists them.  By hand, `--rounds 50 all` tries 50 moments;
it prints how long each drain took.
"""
import argparse
import json
import os
import pathlib
import random
import re
import signal
import subprocess
import sys
import tempfile
import time

from faults import until
from named import run_named
from run import FASHION, TEST_SEED, TUNDISH, alive, need_data, tundish

STEP_S, STEPS, EVERY = 0.2, 40, 5
IMAGES = '{idx: {image: "${data}/t10k-images-idx3-ubyte.gz", label: "${data}/t10k-labels-idx1-ubyte.gz"}}'
SETTINGS = ["--set", f"read.source={IMAGES}", "--set", "read.epochs=2", "--set", "batch.size=512", "--set", "test_batch.size=2500",
            "--set", f"test.every={EVERY} steps"]
OVERLAY = """checkpoint: {dir: %s, every: 2 steps}
hosts:
  node[*]: {lanes: each, actors: [read, prep, batch, feed, test_read, test_prep, test_batch, test], devices: {feed: ["%s"]}}
"""
# As `env --block-signal` starts a command: a signal waits until the program takes it.
BLOCKS = ["env", "--block-signal=TERM,USR1"]


class Job:
    def __init__(self, folder, device, *more, start=()):
        over = folder / f"{device[:3]}.yaml"
        over.write_text(OVERLAY % (folder / "kept", device))
        self.report, self.metrics = folder / "report.json", folder / "metrics.jsonl"
        self.logs, self.processes = [folder / f"{rank}.log" for rank in range(4)], []
        words = [*start, TUNDISH, "run", FASHION / "fashion.yaml", over, *SETTINGS, "--report", self.report, "--metrics", self.metrics, *more]
        if device != "cpu:0":
            words += ["--set", f"feed.sim.step={int(STEP_S * 1000)}ms"]
        kept = {name: value for name, value in os.environ.items() if not re.match("TF_CONFIG|RANK|WORLD_SIZE|OMPI_|PMI|SLURM_|TUNDISH_[RHLMJ]", name)}
        for rank, log in enumerate(self.logs):
            with open(log, "w") as out:
                self.processes.append(subprocess.Popen(
                    [*map(str, words)], stdout=out, stderr=out,
                    env={**kept, "TUNDISH_RANK": str(rank), "TUNDISH_HOSTS": "4", "TUNDISH_LEADER": "127.0.0.1", "TUNDISH_JOB": str(folder)}))

    def said(self):
        return "\n".join(f"--- {log.name}\n{log.read_text()[-1500:]}" for log in self.logs)

    def steps(self):
        lines = self.metrics.read_text().splitlines() if self.metrics.exists() else []
        return sum(not line.startswith('{"feeder"') for line in lines)  # the others are validations

    def until(self, condition):
        until(self.said, lambda: condition() or self.processes[0].poll() is not None, 60)

    def end(self):
        for process in self.processes:
            try:
                process.wait(60)
            except subprocess.TimeoutExpired as error:
                raise AssertionError(self.said()) from error
        return [process.returncode for process in self.processes]

    def close(self):
        for process in self.processes:
            process.kill()
            process.wait()


def before_the_first_step(job, draw):
    time.sleep(draw.uniform(0, 0.8))  # nothing that a program tells: the moment is random


def while_it_starts(job, draw):
    """As soon as all handle signals."""
    def handles(pid):
        return int(re.search(r"SigCgt:\s*(\w+)", open(f"/proc/{pid}/status").read())[1], 16) >> signal.SIGUSR2 - 1 & 1
    job.until(lambda: all(handles(process.pid) for process in job.processes))


def at_a_step(job, draw):
    step = draw.randrange(1, STEPS - 10)
    job.until(lambda: job.steps() >= step)
    time.sleep(draw.uniform(0, STEP_S))


def in_a_validation(job, draw):
    step = EVERY * draw.randrange(1, 6)
    job.until(lambda: job.steps() >= step)
    time.sleep(draw.uniform(0, 3 * STEP_S))


def in_a_checkpoint(job, draw):
    """As soon as its folder is there, before its manifest."""
    kept, seen = job.report.parent / "kept", set()
    for _ in range(draw.randrange(1, 6)):
        job.until(lambda: kept.exists() and {path.name for path in kept.glob("step-*")} - seen)
        seen |= {path.name for path in kept.glob("step-*")}


MOMENTS = at_a_step, in_a_validation, in_a_checkpoint, before_the_first_step, while_it_starts


def undisturbed():
    told = tundish("run", FASHION / "fashion.yaml", *SETTINGS).report
    return told["stream_digest"], told["model_digest"], told["results"]


def preempt(folder, draw, moment, wanted):
    """How long the drain took."""
    job = Job(folder, "sim:0", start=BLOCKS if moment is before_the_first_step else ())
    try:
        moment(job, draw)
        number, all_of_them, twice = draw.choice((signal.SIGTERM, signal.SIGUSR1)), draw.random() < 0.5, draw.random() < 0.5
        targets = job.processes if all_of_them else [draw.choice(job.processes)]
        began = time.monotonic()
        for _ in range(1 + twice):
            for process in targets:
                process.send_signal(number)
        codes = job.end()
        took = time.monotonic() - began
        what = f"{moment.__name__}, {signal.Signals(number).name} to {'all' if all_of_them else 'one'}{', twice' * twice}"
        assert codes == [130] * 4, (what, codes, job.said())
        done = job.steps()
    finally:
        job.close()
    resumed = Job(folder, "cpu:0", "--resume")
    try:
        assert resumed.end() == [0] * 4, (what, resumed.said())
        told = json.loads(resumed.report.read_text())
        got = told["stream_digest"], told["model_digest"], told["results"]
        assert got == wanted, (what, got, wanted, resumed.said())
        said = resumed.logs[0].read_text()
        first = re.search(r"of these, (\d+) steps before this run", said)
        assert done < 1 or first, (what, done, said)
        if first:
            assert int(first[1]) >= done, (what, done, said)
    finally:
        resumed.close()
    return what, int(first[1]) if first else 0, took


def test_a_signal_drains_the_run_and_nothing_is_lost(rounds):
    draw = random.Random(TEST_SEED)
    wanted, late = undisturbed(), []
    for number in range(rounds):
        with tempfile.TemporaryDirectory() as name:
            what, steps, took = preempt(pathlib.Path(name), draw, MOMENTS[number % len(MOMENTS)], wanted)
        print(f"round {number}: {what}: {took:.2f} s, {steps} steps", flush=True)
        if took > STEP_S + 2:
            late.append(took)
    print(f"{rounds} of {rounds} ended with 130 and resumed with the same bits; {len(late)} took more than {STEP_S + 2} s")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("names", nargs="*")
    given = parser.parse_args()
    need_data()
    sys.exit(run_named(globals(), given.names, lambda test: test(given.rounds), note=f" (TUNDISH_TEST_SEED={TEST_SEED})"))


main()
