#!/usr/bin/env python3
"""Checkpoints: a killed job resumes on other hosts, workers and devices, with the same result.

Usage: resume.py [--rounds N] [NAME...]; without a name it lists them.  Model and stream of a run that
was killed N times are compared with those of an undisturbed run, bit by bit.
"""
import argparse
import inspect
import json
import os
import pathlib
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile

from faults import free_range, one_sentence, until
from named import run_named
from run import FASHION, ROOT, TEST_SEED, TUNDISH, kill_run, need_data, tundish
from manifests import remove_metrics

GRAPH = FASHION / "fashion.yaml"
EPOCHS, STEPS = 2, 938
SETTINGS = ("--set", f"read.epochs={EPOCHS}")

# The same graph in other places: what may change between a checkpoint and the run that goes on.
PLACES = [
    ("run", ()),
    ("run", ("--set", "prep.workers=3", "--set", "feed.devices=[cpu:0]")),
    ("run", ("--set", "batch.block=100 rows", "--set", "feed.depth=2")),
    ("run", ("--set", "feed.devices=[cpu:0, cpu:1, cpu:2, cpu:3]")),
    ("up", ("three",)),
]


def line_of(place, folder):
    command, extra = place
    extra = list(extra)
    files = [str(GRAPH)]
    if "three" in extra:
        extra.remove("three")
        three = folder / "three.yaml"
        three.write_text((FASHION / "three.yaml").read_text() +
                         f"\nport: {free_range('127.0.0.1')}\n")
        text = three.read_text().splitlines()
        # The port of the example may be taken: the last one counts, the first is left out.
        ports = [i for i, line in enumerate(text) if line.startswith("port:")]
        three.write_text("\n".join(l for i, l in enumerate(text) if i not in ports[:-1]) + "\n")
        files.append(str(three))
    return [str(TUNDISH), command, *files, *SETTINGS, *extra]


class Job:
    """One run after the other over the same folder of checkpoints."""

    def __init__(self, folder, every="20 steps"):
        self.folder, self.checkpoints = folder, folder / "checkpoints"
        self.report, self.metrics = folder / "report.json", folder / "metrics.jsonl"
        self.keep = ["--set", f"checkpoint.dir={self.checkpoints}", "--set",
                     f"checkpoint.every={every}"]

    def line(self, place=PLACES[0], resume=False):
        return (line_of(place, self.folder) + self.keep +
                ["--report", str(self.report), "--metrics", str(self.metrics)] +
                (["--resume"] if resume is True else [f"--resume={resume}"] if resume else []))

    def whole(self):
        """Steps of the checkpoints that have a manifest."""
        return sorted(int(path.parent.name[5:]) for path in self.checkpoints.glob("step-*/manifest"))

    def run(self, place=PLACES[0], resume=False, expect=0, extra=()):
        done = subprocess.run(self.line(place, resume) + list(extra), stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, timeout=350, cwd=ROOT)
        assert done.returncode == expect, f"exit code {done.returncode}\n{done.stdout[-3000:]}"
        return done.stdout

    def killed(self, place, resume, beyond):
        """Runs until there is a checkpoint after more than `beyond` steps, then kills all processes."""
        with open(self.folder / "log", "w") as log:
            process = subprocess.Popen(self.line(place, resume), stdout=log, stderr=log, cwd=ROOT,
                                       start_new_session=True)
        until(lambda: f"a checkpoint beyond {beyond}: {self.whole()}\n" +
              (self.folder / "log").read_text()[-2000:],
              lambda: (self.whole() or [0])[-1] > beyond or process.poll() is not None, 60)
        over = process.poll() is not None
        if not over:
            kill_run(process)
        return over

    def told(self):
        return json.loads(self.report.read_text())


def quiet():
    done = tundish("run", GRAPH, *SETTINGS)
    return done.report["stream_digest"], done.report["model_digest"]


def test_killed_again_and_again(job, rounds):
    stream, model = quiet()
    print(f"seed {TEST_SEED}, {rounds} kills")
    draw = random.Random(TEST_SEED)
    reached = 0
    for kill in range(rounds):
        place = draw.choice(PLACES)
        over = job.killed(place, kill > 0, reached + draw.randrange(0, STEPS // rounds))
        if over:
            break
        reached = job.whole()[-1]
    text = job.run(draw.choice(PLACES), resume=True)
    told = job.told()
    assert told["steps"] == STEPS, told["steps"]
    assert (told["stream_digest"], told["model_digest"]) == (stream, model), text
    assert len(job.whole()) <= 3, job.whole()
    assert job.whole()[-1] == STEPS


def test_a_drained_run_resumes_after_its_last_step(job):
    stream, model = quiet()
    job.run(extra=["--steps", "333"])
    assert job.whole()[-1] == 333, job.whole()
    job.run(resume=True)
    told = job.told()
    assert (told["stream_digest"], told["model_digest"]) == (stream, model)


def test_results_are_those_of_a_run_that_was_not_interrupted(job):
    """A checkpoint within an epoch, one before its last step, and one after the last step of all."""
    job.keep[-1] = "checkpoint.every=2000 steps"  # and at the end of each run
    results = tundish("run", GRAPH, *SETTINGS).report["results"]
    assert set(results) == {"feed", "test"}, results
    for steps in (333, 700, 937):
        job.run(PLACES[1], resume=steps > 333, extra=["--steps", str(steps)])
    for place in (PLACES[0], PLACES[1]):
        text = job.run(place, resume=True)
        told = job.told()
        assert (told["results"], told["partial_results"]) == (results, []), (results, told["results"], text)
        assert f"feed:  loss {results['feed']['loss']:.4f}" in text and "(60,000 rows)" in text, text


def test_results_without_the_rows_before_the_checkpoint_are_marked(job):
    job.keep[-1] = "checkpoint.every=2000 steps"
    job.run(extra=["--steps", "700"])
    remove_metrics(job.checkpoints / "step-00000700" / "manifest")
    text = job.run(resume=True, extra=["--steps", "937"])
    told = job.told()
    assert told["partial_results"] == ["feed"] and "loss" in told["results"]["feed"], told["results"]
    # Of epoch 1, which begins with step 469, steps 700 to 936 are known.
    assert re.search(r"feed:  loss [0-9.]+  \(only its last 30,336 rows", text), text
    assert "the checkpoint after step 699 has no metrics" in text, text
    text = job.run(resume=True)  # whose checkpoint has only these
    told = job.told()
    assert told["partial_results"] == ["feed"], told
    assert "only its last 30,432 rows" in text, text
    remove_metrics(job.checkpoints / "step-00000938" / "manifest")
    job.run(resume=True)
    told = job.told()
    assert told["partial_results"] == ["feed"] and "feed" not in told["results"], told


def test_what_is_torn_missing_or_changed_is_skipped_aloud(job):
    stream, model = quiet()
    job.run(extra=["--steps", "333"])
    kept = job.checkpoints
    assert job.whole() == [300, 320, 333], job.whole()
    part = kept / "step-00000333" / "model-2"
    bytes_ = bytearray(part.read_bytes())
    bytes_[1000] ^= 1
    part.write_bytes(bytes_)
    manifest = kept / "step-00000320" / "manifest"
    manifest.write_bytes(manifest.read_bytes()[:200])
    text = job.run(resume=True)
    assert "step-00000333/model-2" in text and "step-00000320/manifest" in text, text
    told = job.told()
    assert (told["stream_digest"], told["model_digest"]) == (stream, model), text


def test_a_missing_part_is_skipped_aloud(job):
    job.run(extra=["--steps", "33"])
    for part in (job.checkpoints / "step-00000033").glob("model-*"):
        part.unlink()
    text = job.run(resume=True, extra=["--steps", "40"])
    assert "step-00000033/model-0" in text and "cannot be used" in text, text
    assert job.told()["steps"] == 40


def test_a_missing_part_is_loaded_from_an_equal_one(job):
    job.run(extra=["--steps", "60"])
    wanted = job.told()["model_digest"]
    shutil.rmtree(job.checkpoints / "step-00000060")
    at = job.checkpoints / "step-00000040"
    for part in (0, 1, 3):
        (at / f"model-{part}").unlink()
    text = job.run(resume=True, extra=["--steps", "60"])
    assert "40 steps before this run" in text, text
    assert (job.told()["steps"], job.told()["model_digest"]) == (60, wanted), text
    # One with other bytes is not an equal one.
    shutil.rmtree(job.checkpoints / "step-00000060")
    (at / "model-2").write_bytes(b"x" + (at / "model-2").read_bytes()[1:])
    for part in (0, 1, 3):
        (at / f"model-{part}").unlink(missing_ok=True)
    text = job.run(resume=True, extra=["--steps", "60"])
    assert "the checkpoint after step 39 cannot be used" in text, text


def test_a_killed_feeder_ends_the_run_and_names_the_checkpoint(job):
    with open(job.folder / "log", "w") as log:
        process = subprocess.Popen(job.line(PLACES[-1]) + ["--set", "read.epochs=2000"], stdout=log,
                                   stderr=log, cwd=ROOT)
    until("a checkpoint", lambda: job.whole() or process.poll() is not None, 60)
    shown = json.loads(subprocess.run([str(TUNDISH), "ps", "--json"], capture_output=True, text=True,
                                      timeout=60).stdout)
    below = {int(pid) for pid in subprocess.run(["pgrep", "-P", str(process.pid)],
                                                capture_output=True, text=True).stdout.split()}
    pids = {run["pid"] for run in shown["processes"] if run["host"] == "c"} & below
    assert len(pids) == 1, (shown, below)
    os.kill(pids.pop(), signal.SIGKILL)
    assert process.wait(60) != 0
    text = (job.folder / "log").read_text()
    assert "host c was lost" in text and "--resume continues after step" in text, text[-1500:]


def test_nothing_usable_is_an_error(job):
    job.run(extra=["--steps", "30"])
    for manifest in job.checkpoints.glob("step-*/manifest"):
        manifest.write_text("tundish checkpoint 1\n")
    text = job.run(resume=True, expect=78)
    one_sentence(text, "none of its 2 checkpoints can be used")


def test_an_empty_folder_begins_at_the_start(job):
    job.run(resume=True, extra=["--steps", "30"])
    assert job.told()["steps"] == 30


def test_a_folder_in_use_is_not_written_into(job):
    job.run(extra=["--steps", "30"])
    text = job.run(expect=78)
    one_sentence(text, "earlier run", "--resume", "another folder")


def test_a_folder_that_is_removed_is_locked_again(job):
    log = job.folder / "log"
    with open(log, "w") as out:
        first = subprocess.Popen(job.line() + ["--set", "read.epochs=100000"], stdout=out, stderr=out, cwd=ROOT)
    try:
        until(lambda: f"a checkpoint: {log.read_text()[-2000:]}", job.whole, 60)
        job.checkpoints.rename(job.folder / "away")  # at once, unlike the removal of its files
        until(lambda: f"a checkpoint: {log.read_text()[-2000:]}", job.whole, 60)
        one_sentence(job.run(expect=78), "another run writes its checkpoints there")
    finally:
        first.kill()
        first.wait()
    assert f"{job.checkpoints} was removed while the run used it" in log.read_text(), log.read_text()


def test_another_graph_or_data_is_refused(job, folder):
    job.run(extra=["--steps", "30"])
    for setting, words in (("batch.size=64", ("batch", "size: 64", "size: 128")),
                           ("seed=8", ("seed is 8, was 7",)),
                           ("read.shuffle=none", ("read", "shuffle: none", "shuffle: global"))):
        text = job.run(resume=True, expect=78, extra=["--set", setting])
        one_sentence(text, "another graph", *words)
    data = folder / "data"
    data.mkdir()
    for name in ("train-images-idx3-ubyte.gz", "train-labels-idx1-ubyte.gz"):
        source = pathlib.Path("/usr/share/datasets/fashion-mnist") / name.replace("train", "t10k")
        shutil.copy(os.environ.get("TUNDISH_DATA", source.parent) / source.name
                    if "TUNDISH_DATA" in os.environ else source, data / name)
        shutil.copy(source, data / source.name)
    text = job.run(resume=True, expect=78, extra=["--data", str(data)])
    one_sentence(text, "cannot resume", "${data}/train-images-idx3-ubyte.gz has changed")


def test_by_time(job):
    job.keep[-1] = "checkpoint.every=100 ms"
    job.run(PLACES[2])
    assert len(job.whole()) > 1 and job.whole()[-1] == STEPS, job.whole()
    for manifest in job.checkpoints.glob("step-*/manifest"):
        done = subprocess.run([str(TUNDISH), "cursor", str(manifest), "--json"], capture_output=True,
                              text=True, timeout=60)
        told = json.loads(done.stdout)
        assert done.returncode == 0 and len(told["models"]) == 4, done.stdout
        assert told["step"] == int(manifest.parent.name[5:])


def test_a_folder_that_cannot_be_written_is_reported_and_the_run_continues(job):
    job.checkpoints.mkdir()
    (job.checkpoints / "step-00000020").write_text("a file in the way")
    text = job.run(extra=["--steps", "60"])
    assert "no checkpoint after step 19" in text and "folder cannot be made" in text, text
    assert job.whole() == [40, 60], job.whole()
    assert job.told()["steps"] == 60


def test_a_full_disk_is_reported_and_the_run_continues(job):
    job.checkpoints.mkdir()
    # Room for one checkpoint and a half.
    mount = f"mount -t tmpfs -o size=5m none {job.checkpoints} && exec \"$@\""
    line = ["unshare", "-m", "sh", "-c", mount + f"; cp -r {job.checkpoints}/. {job.folder}/left"]
    probe = subprocess.run(line[:3] + ["-c", f"mount -t tmpfs none {job.checkpoints}"])
    if probe.returncode != 0:
        print("skipped: no file system can be mounted here")
        return
    line[-1] = line[-1].replace("exec ", "")
    done = subprocess.run(line + ["sh", *job.line(), "--steps", "60"], stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, timeout=350, cwd=ROOT)
    assert "no checkpoint after step 39" in done.stdout, done.stdout
    assert job.told()["steps"] == 60
    assert (job.folder / "left" / "step-00000020" / "manifest").exists(), done.stdout
    # What there was of the others would take the room of a later one.
    left = [path.name for path in (job.folder / "left").glob("step-*")]
    assert left == ["step-00000020"], left


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=4)
    parser.add_argument("names", nargs="*")
    chosen = parser.parse_args()

    def call(test):
        need_data()
        with tempfile.TemporaryDirectory() as folder:
            folder = pathlib.Path(folder)
            given = {"job": Job(folder), "folder": folder, "rounds": chosen.rounds}
            test(**{key: given[key] for key in inspect.signature(test).parameters})
    return run_named(globals(), chosen.names, call)


sys.exit(main())
