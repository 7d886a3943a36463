#!/usr/bin/env python3
"""Machines that are lost: with `restarts: {run: N}` the others meet again and resume, with the same bits.

Usage: losses.py [--rounds N] [NAME...]; without a name it lists them.  Each process has a folder of
checkpoints of its own, as on machines without a shared disk.
"""
import argparse
import inspect
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
from run import FASHION, TEST_SEED, TUNDISH, alive, free_range, need_data, tundish

GRAPH = FASHION / "fashion.yaml"
EPOCHS, STEPS = 1, 469
START_S, DEAD_S = 8, 2
OVERLAY = f"""insecure: true
start_timeout: {START_S}s
dead_after: {DEAD_S}s
checkpoint: {{dir: kept, every: 20 steps}}
restarts: {{run: 3}}
hosts:
  node[*]: {{lanes: each, actors: [read, prep, batch, feed], devices: {{feed: auto}}, min: 2}}
"""
LAUNCHERS = ("TF_CONFIG", "RANK", "WORLD_SIZE", "OMPI_", "PMI", "SLURM_", "JOB_COMPLETION", "TUNDISH_R", "TUNDISH_H", "TUNDISH_L",
             "TUNDISH_M", "TUNDISH_J")


def undisturbed():
    done = tundish("run", GRAPH, "--set", f"read.epochs={EPOCHS}")
    return done.report["stream_digest"], done.report["model_digest"]


class Job:
    """Processes of one run, each in a folder of its own, which is its machine's disk."""

    def __init__(self, folder, size=4, overlay=OVERLAY, leader="127.0.0.1", inside=(), graph=None, meet=""):
        self.graph, self.meet = graph, meet
        self.leader, self.inside = leader, dict(inside)
        self.folder, self.size = folder, size
        self.over = folder / "spmd.yaml"
        self.over.write_text(overlay)
        self.report, self.metrics = folder / "report.json", folder / "metrics.jsonl"
        self.name, self.pids = f"losses-{os.getpid()}-{folder.name}"[:40], []
        self.processes = [self.start(rank) for rank in range(size)]

    def variables(self, rank):
        kept = {name: value for name, value in os.environ.items() if not name.startswith(LAUNCHERS)}
        return {**kept, "TUNDISH_RANK": str(rank), "TUNDISH_HOSTS": str(self.size), "TUNDISH_LEADER": self.leader,
                "TUNDISH_JOB": str(self.folder), "TUNDISH_MEET": str(self.meet)}

    def words(self):
        which = [str(GRAPH), "--set", f"read.epochs={EPOCHS}"] if self.graph is None else [str(self.graph)]
        return [str(TUNDISH), "run", *which, str(self.over), "--set", f"name={self.name}", "--report", str(self.report), "--metrics", str(self.metrics)]

    def start(self, rank, disk=None, resume=False):
        disk = self.folder / f"disk{rank if disk is None else disk}"
        disk.mkdir(exist_ok=True)
        with open(self.folder / f"{rank}.log", "a") as log:
            process = subprocess.Popen(self.inside.get(rank, []) + self.words() + ["--data", str(disk)] * (self.graph is not None) +
                                       ["--resume"] * resume, stdout=log, stderr=log, cwd=disk,
                                       env=self.variables(rank), start_new_session=True)
        self.pids.append(process.pid)
        return process

    def restart(self, *ranks, resume):
        for rank in ranks:
            self.processes[rank] = self.start(rank, resume=resume)

    def __enter__(self):
        return self

    def __exit__(self, *failure):
        self.close()

    def said(self):
        return "\n".join(f"--- {path.name}\n{path.read_text()[-1500:]}" for path in sorted(self.folder.glob("*.log")))

    def steps(self):
        lines = self.metrics.read_text().splitlines() if self.metrics.exists() else []
        return [json.loads(line)["step"] for line in lines[:-1]]

    def until_steps(self, count):
        until(self.said, lambda: len(self.steps()) >= count or self.processes[0].poll() is not None, 60)

    def lose(self, rank):
        self.processes[rank].kill()
        self.processes[rank].wait()

    def end(self, ranks, code=0):
        for rank in ranks:
            try:
                self.processes[rank].wait(60)
            except subprocess.TimeoutExpired as error:
                raise AssertionError(self.said()) from error
        codes = [self.processes[rank].returncode for rank in ranks]
        assert codes == [code] * len(codes), (codes, self.said())

    def check(self, wanted, first=0):
        told = json.loads(self.report.read_text())
        assert (told["stream_digest"], told["model_digest"]) == wanted, (told["stream_digest"], wanted, self.said())
        assert self.steps() == list(range(first, STEPS - 1)), (self.steps()[:3], len(self.steps()), self.said())

    def close(self):
        for process in self.processes:
            process.kill()
            process.wait()


def said(job, rank):
    return (job.folder / f"{rank}.log").read_text()


def resumed(job, ranks):
    """They have met again and run on, and then end with the bits of a run that nothing disturbs."""
    job.end(ranks)
    job.check(undisturbed())
    for rank in ranks:
        assert "the hosts that are there start again after step" in said(job, rank), job.said()


def test_the_others_resume_without_it(job):
    job.until_steps(100)
    job.lose(2)
    resumed(job, (0, 1, 3))
    assert "host node2 was lost with the replicas that it carried" in said(job, 0), job.said()
    assert "rank 2 of 3 is host node2" in said(job, 3), job.said()


def test_a_replacement_takes_its_place(job):
    job.until_steps(100)
    job.lose(1)
    job.processes[1] = job.start(1, disk=9)
    job.end(range(4))
    job.check(undisturbed())
    assert said(job, 3).count("rank 3 of 4 is host node3") == 2, job.said()


def test_a_lost_leader_ends_the_others(job):
    job.until_steps(60)
    job.lose(0)
    job.end((1, 2, 3), code=75)
    assert "host node0, which leads the run, is lost" in said(job, 1), job.said()
    # What a launcher does: all are started again, and resume.
    job.restart(*range(4), resume=True)
    job.end(range(4))
    job.check(undisturbed(), first=job.steps()[0])


def test_a_second_one_is_lost_while_they_meet(job):
    job.until_steps(60)
    job.lose(1)
    until(job.said, lambda: "start again" in said(job, 0), 30)
    job.lose(3)
    resumed(job, (0, 2))


def test_a_stopped_one_is_told_that_it_is_left_out(job):
    job.until_steps(60)
    os.kill(job.processes[3].pid, signal.SIGSTOP)
    until(job.said, lambda: said(job, 0).count("launch:") == 2, 60)
    os.kill(job.processes[3].pid, signal.SIGCONT)
    job.end((3,), code=75)
    resumed(job, (0, 1, 2))
    assert "host node3" in said(job, 3) and "lost" in said(job, 3), job.said()


def test_one_that_comes_late_waits_for_the_next_start(job):
    job.until_steps(60)
    job.lose(2)
    until(job.said, lambda: said(job, 0).count("launch:") == 2, 60)
    job.processes[2] = job.start(2)
    until(job.said, lambda: "rank 2 (127.0.0.1) waits for the next start of the run" in said(job, 0), 60)
    done = subprocess.run([str(TUNDISH), "restart", "--run", job.name], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0 and "starts again, with all hosts that are there" in done.stdout, (done, job.said())
    job.end(range(4))
    job.check(undisturbed())
    assert "rank 2 of 4 is host node2" in said(job, 2), job.said()


def test_one_that_comes_late_finds_the_run_by_its_folder(folder):
    share = folder / "share"
    share.mkdir()
    with Job(folder, leader="", meet=share) as job:
        job.until_steps(60)
        job.lose(2)
        until(job.said, lambda: said(job, 0).count("launch:") == 2, 60)
        job.processes[2] = job.start(2)
        until(job.said, lambda: re.search(r"rank 2 \(.*\) waits for the next start of the run", said(job, 0)), 60)
        done = subprocess.run([str(TUNDISH), "restart", "--run", job.name], capture_output=True, text=True, timeout=60)
        assert done.returncode == 0, (done, job.said())
        job.end(range(4))
        job.check(undisturbed())
        assert not list(share.iterdir()), list(share.iterdir())


def test_so_many_losses_without_a_checkpoint_end_the_run(folder):
    job = Job(folder, overlay=OVERLAY.replace("20 steps", "100000 steps").replace("run: 3", "run: 1"))
    with job:
        job.until_steps(60)
        job.lose(3)
        until(job.said, lambda: said(job, 0).count("launch:") == 2, 60)
        until(job.said, lambda: len(job.steps()) > 60, 60)
        job.lose(2)
        job.end((0, 1), code=75)
        assert "it has started again without a new checkpoint as often as `restarts: {run: 1}` allows" in said(job, 0), job.said()


def test_a_signal_while_they_meet_ends_them(job):
    job.until_steps(60)
    job.lose(3)
    until(job.said, lambda: all("start again" in said(job, rank) for rank in range(3)), 30)
    for rank in range(3):
        job.processes[rank].terminate()
    job.end((0, 1, 2), code=130)


LANES = """tundish: 1
seed: 7
lanes: 4
actors:
  read: {kind: reader, shard: file, epochs: forever, source: {text: {files: [%s]}}}
  batch: {kind: batcher, size: 16, replicas: 4}
  feed: {kind: feeder}
links:
  - read -> batch -> feed
"""


def test_a_lane_whose_files_are_lost_is_named(folder):
    graph = folder / "lanes.yaml"
    graph.write_text(LANES % ", ".join(f'"${{data}}/part-{lane}.txt"' for lane in range(4)))
    for rank in range(4):
        (folder / f"disk{rank}").mkdir()
        (folder / f"disk{rank}/part-{rank}.txt").write_text("".join(f"{1000 * rank + row + 1000}\n" for row in range(1000)))
    over = OVERLAY.replace("read, prep, batch, feed", "read, batch, feed").replace("20 steps", "1000 steps")
    with Job(folder, overlay=over, graph=graph) as job:
        until(job.said, lambda: (folder / "disk0/kept").exists() and list((folder / "disk0/kept").glob("*/manifest")), 60)
        job.lose(2)
        job.end((0, 1, 3), code=75)
        assert "this host now reads lanes 0, 1, whose files it may lack" in said(job, 0), job.said()
        assert f"{folder}/disk1/part-2.txt: no such file" in said(job, 1), job.said()
        job.metrics.unlink()
        job.restart(*range(4), resume=True)
        until(job.said, lambda: len(job.steps()) > 0, 60)
        for process in job.processes:
            process.terminate()
        job.end(range(4), code=130)


class Machine:
    """A network namespace with a cable to this one."""

    number = os.getpid() % 200

    def __init__(self):
        self.here, self.there = f"10.66.{self.number}.1", f"10.66.{self.number}.2"
        self.cable = f"loss{self.number}"
        self.holder = subprocess.Popen(["unshare", "-n", "sh", "-c", "echo ready; exec cat"], stdin=subprocess.PIPE,
                                       stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        self.made = self.holder.stdout.readline() == b"ready\n"
        self.inside = ["nsenter", "-t", str(self.holder.pid), "-n"]
        for words in (["ip", "link", "add", self.cable, "type", "veth", "peer", "name", "far", "netns", str(self.holder.pid)],
                      ["ip", "address", "add", f"{self.here}/32", "dev", "lo"],
                      ["ip", "address", "add", f"10.66.{self.number}.3/24", "dev", self.cable], ["ip", "link", "set", self.cable, "up"],
                      [*self.inside, "ip", "address", "add", f"{self.there}/24", "dev", "far"],
                      [*self.inside, "ip", "link", "set", "far", "up"], [*self.inside, "ip", "link", "set", "lo", "up"]):
            self.made = self.made and subprocess.run(words, stderr=subprocess.DEVNULL).returncode == 0

    def cut(self):
        subprocess.run(["ip", "link", "delete", self.cable], stderr=subprocess.DEVNULL)

    def close(self):
        self.cut()
        subprocess.run(["ip", "address", "delete", f"{self.here}/32", "dev", "lo"], stderr=subprocess.DEVNULL)
        self.holder.stdin.close()
        self.holder.wait()


def test_a_machine_without_its_network_is_left_out(folder):
    machine = Machine()
    try:
        if not machine.made:
            print("skipped: no network namespace can be made here")
            return
        with Job(folder, leader=machine.here, inside={2: machine.inside}) as job:
            job.until_steps(60)
            machine.cut()
            resumed(job, (0, 1, 3))
            job.end((2,), code=75)
            assert "host node0, which leads the run, is lost" in said(job, 2), job.said()
    finally:
        machine.close()


class Up:
    """A run of three hosts of this machine under `tundish up`."""

    def __init__(self, folder):
        self.folder, self.log = folder, folder / "up.log"
        self.report, self.metrics = folder / "report.json", folder / "metrics.jsonl"
        over = folder / "three.yaml"
        over.write_text("\n".join(line for line in (FASHION / "three.yaml").read_text().splitlines() if not line.startswith("port:")) +
                        f"\nport: {free_range('127.0.0.1')}\ndead_after: {DEAD_S}s\nstart_timeout: 20s\nrestarts: {{run: 3}}\n"
                        f"checkpoint: {{dir: {folder}/kept, every: 20 steps}}\n")
        with open(self.log, "w") as log:
            self.process = subprocess.Popen(
                [str(TUNDISH), "up", str(GRAPH), str(over), "--set", f"read.epochs={EPOCHS}", "--report", str(self.report),
                 "--metrics", str(self.metrics)], stdout=log, stderr=log, start_new_session=True)

    said = lambda self: self.log.read_text()[-4000:]
    steps, until_steps, check = Job.steps, Job.until_steps, Job.check

    @property
    def processes(self):
        return [self.process]

    def children(self):
        below = subprocess.run(["pgrep", "-P", str(self.process.pid)], capture_output=True, text=True).stdout.split()
        return {re.search(r"--host=(\w+)", pathlib.Path(f"/proc/{pid}/cmdline").read_text())[1]: int(pid) for pid in below}

    def survives(self, victim):
        try:
            self.until_steps(100)
            before = self.children()
            os.kill(before[victim], signal.SIGKILL)
            assert self.process.wait(90) == 0, self.said()
            self.check(undisturbed(), first=self.steps()[0])
            assert f"host {victim} was killed by signal 9 (Killed): it is started again" in self.said(), self.said()
            assert not [pid for pid in before.values() if alive(pid)]
        finally:
            self.process.kill()
            self.process.wait()


def test_up_starts_a_host_with_replicas_again(folder):
    Up(folder).survives("c")


def test_up_starts_all_again_after_their_leader(folder):
    Up(folder).survives("a")


def test_random_moments(folder, rounds):
    draw = random.Random(TEST_SEED)
    wanted = undisturbed()
    for number in range(rounds):
        place = folder / str(number)
        place.mkdir()
        replaced, victim, at = draw.random() < 0.5, draw.randrange(1, 4), draw.randrange(0, STEPS - 60)
        with Job(place) as job:
            job.until_steps(at)
            job.lose(victim)
            began = time.monotonic()
            if replaced:
                job.processes[victim] = job.start(victim, disk=9)
            until(job.said, lambda: said(job, 0).count("launch:") == 2 or job.processes[0].poll() is not None, 60)
            took = time.monotonic() - began
            job.end([rank for rank in range(4) if replaced or rank != victim])
            job.check(wanted)
            if said(job, 0).count("launch:") == 2 and took > DEAD_S + START_S + 5:
                raise AssertionError(f"resumed after {took:.1f} s\n{job.said()}")
            print(f"round {number}: rank {victim} after {at} steps, {'replaced' if replaced else 'left out'}, "
                  f"met after {took:.1f} s", flush=True)
        left = [pid for pid in job.pids if alive(pid)]
        assert not left, (left, job.said())


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("names", nargs="*")
    given = parser.parse_args()
    need_data()

    def call(test):
        wants = inspect.signature(test).parameters
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(os.path.realpath(name))
            if "job" in wants:
                with Job(folder) as job:
                    test(job)
            else:
                test(*([folder, given.rounds] if "rounds" in wants else [folder]))

    sys.exit(run_named(globals(), given.names, call, note=f" (TUNDISH_TEST_SEED={TEST_SEED})"))


main()
