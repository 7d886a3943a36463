#!/usr/bin/env python3
"""The best of several validations: its checkpoint stays, and after some without a better one the run ends.

Usage: best.py NAME...; without a name it lists them.

Where it evaluates, the step reports the low bits of its model, so the values go up and down.  What must be
best, and where a run must end, is computed here from what a run without `best:` reports.
"""
import json
import os
import random
import signal
import subprocess
import sys

from named import in_folder, run_named
from run import BUILD, ROOT, TEST_SEED, TUNDISH, free_range
from validation import Runs, SLOW, trained

EVERY, KILLS = 4, int(os.environ.get("BEST_KILLS", "7"))
TWO = """port: {port}
insecure: true
hosts:
  a: {{address: 127.0.0.1, actors: [read, batch, from, some]}}
  b: {{address: 127.0.0.1, actors: [prep, drag, feed, test, mean]}}
"""


def every(best="", steps=EVERY):
    return f", every: {steps} steps{best and f', best: {{{best}}}'}"


def best_of(results, of, patience=0):
    """The place of the best result, and of the one after which the run ends."""
    best = 0
    for i, result in enumerate(results):
        better = result["hash"] > results[best]["hash"] if of == "max" else result["hash"] < results[best]["hash"]
        best = i if better else best
        if patience and i - best >= patience:
            return best, i
    return best, len(results) - 1


def steps_of(folder):
    return sorted(int(path.name[5:]) for path in folder.glob("step-*"))


def is_as_expected(runs, report, results, of, patience=0):
    best, last = best_of(results, of, patience)
    assert report["results"]["test"] == results[:last + 1], (report["results"], results[:last + 1])
    assert report["steps"] == results[last]["after_step"] + 1, (report["steps"], results[last])
    assert report["best"] == {
        "feeder": "test", "metric": "hash", "value": results[best]["hash"], "after_step": results[best]["after_step"],
        "kept": True, "validations_since": last - best, "ended_run": patience > 0 and last - best == patience}, (
        report["best"], results[best])
    kept = steps_of(runs.checkpoints)
    assert kept == sorted({results[best]["after_step"] + 1, report["steps"]}), (kept, best, last)
    return best, last


def test_the_best_one_is_kept(folder):
    runs = Runs(folder)
    plain = runs.run(every=every())
    assert plain["best"] is None, plain["best"]
    results = plain["results"]["test"]
    keep = ("--set", f"checkpoint.dir={runs.checkpoints}", "--set", "checkpoint.keep=1")
    for of in "max", "min":
        given = every(f"metric: hash, of: {of}")
        report = runs.run(*keep, every=given)
        best, _ = is_as_expected(runs, report, results, of)
        assert trained(report) == trained(plain), report
        found = runs.run(*keep, "--evaluate", "best", every=given)["results"]["test"]
        assert [f["hash"] for f in found] == [results[best]["hash"]], (found, results)
        again = runs.run(*keep, "--resume", "best", every=given)
        assert again["results"] == report["results"] and trained(again) == trained(plain), (again, report)
        assert again["best"] == report["best"], (again["best"], report["best"])
        subprocess.run(["rm", "-r", runs.checkpoints], check=True)


def test_epochs_and_patience(folder):
    runs = Runs(folder)
    keep = ("--set", f"checkpoint.dir={runs.checkpoints}", "--set", "checkpoint.keep=1")
    for period, patience, of in ("1 epoch", 1, "max"), ("4 steps", 3, "min"), ("2 steps", 5, "max"):
        plain = runs.run(every=f", every: {period}")["results"]["test"]
        given = f", every: {period}, best: {{metric: hash, of: {of}, patience: {patience}}}"
        report = runs.run(*keep, every=given)
        is_as_expected(runs, report, plain, of, patience)
        short = runs.run("--steps", report["steps"], every="")
        assert trained(report) == trained(short), (report, short)
        again = runs.run(*keep, "--resume", every=given)
        assert again["best"] == report["best"] and again["results"] == report["results"], (again, report)
        whole = runs.run(*keep, "--resume", every=given.replace(f"patience: {patience}", "patience: 100"))
        is_as_expected(runs, whole, plain, of, 100)
        subprocess.run(["rm", "-r", runs.checkpoints], check=True)


class Uneven(Runs):
    """Each epoch takes 60 of the 200 rows, and one of all passes: most epochs have no step."""

    def line(self, *more, **options):
        line = super().line(*more, **options)
        text = self.graph.read_text()
        for before, after in (("shuffle: global, epochs", "order: [{global: 7}, {take: 60}], epochs"), ("op: ge, value: 0", "op: eq, value: 7")):
            assert before in text, text
            text = text.replace(before, after, 1)
        self.graph.write_text(text)
        return line


def test_the_best_one_is_kept_although_epochs_have_no_step(folder):
    runs = Uneven(folder)
    keep = ("--set", f"checkpoint.dir={runs.checkpoints}", "--set", "checkpoint.keep=1")
    for period in 2, 3:
        plain = runs.run(every=f", every: {period} epochs", epochs=24)
        results, epochs = plain["results"]["test"], [result["epoch"] for result in plain["results"]["test"]]
        # Some follow a step whose epoch is not the last of so many.
        assert 2 < len(results) < 24 // period + 1 and any((epoch + 1) % period for epoch in epochs[:-1]), epochs
        for of in "max", "min":
            report = runs.run(*keep, every=f", every: {period} epochs, best: {{metric: hash, of: {of}}}", epochs=24)
            best, _ = best_of(results, of)
            assert report["results"]["test"] == results, (report["results"], results)
            assert report["best"]["after_step"] == results[best]["after_step"] and report["best"]["kept"], (report["best"], results)
            assert results[best]["after_step"] + 1 in steps_of(runs.checkpoints), (steps_of(runs.checkpoints), results)
            found = runs.run(*keep, "--evaluate", "best", every=f", every: {period} epochs, best: {{metric: hash, of: {of}}}",
                             epochs=24)["results"]["test"]
            assert [f["hash"] for f in found] == [results[best]["hash"]], (found, results)
            subprocess.run(["rm", "-r", runs.checkpoints], check=True)


def begin(runs, line, host):
    line = [*line, *(["--host", host] if host else [])]
    files = {str(runs.report), str(runs.metrics)} if host == "b" else {}  # which the leader writes
    line = [word for i, word in enumerate(line) if not {word, *line[i + 1:i + 2]} & set(files)]
    with open(runs.folder / "b.log", "w") as log:
        return subprocess.Popen(line, cwd=ROOT, stdout=subprocess.PIPE if host != "b" else log,
                                stderr=subprocess.STDOUT, text=True, start_new_session=True,
                                env={**os.environ, "TUNDISH_PLUGIN_PATH": str(BUILD / "tests")})


def stopped(runs, hosts, lines, *more, **options):
    """Kills all processes of a run once the log of the first has so many lines about chains and checkpoints."""
    line = runs.line(*more, "--log-level", "info", **options, **SLOW)
    processes = [begin(runs, line, host) for host in hosts]
    text = ""
    for line in processes[0].stdout:
        text += line
        lines -= "is running" in line or "checkpoint after" in line or "is the best" in line
        if lines == 0:
            for process in processes:
                os.killpg(process.pid, signal.SIGKILL)
    processes[0].stdout.close()
    codes = [process.wait(60) for process in processes]
    # The run may have ended meanwhile, and the second host may see the death of the first before its own.
    assert codes[0] in (-signal.SIGKILL, 0) and codes[-1] in (-signal.SIGKILL, 0, 75), \
        (codes, text, (runs.folder / "b.log").read_text() if hosts[-1] else "")
    return text


def is_the_same_after_kills(runs, hosts, *more):
    draw = random.Random(TEST_SEED)
    plain = runs.run(every=every())["results"]["test"]
    for of, patience in ("max", 6), ("min", 5):
        given = every(f"metric: hash, of: {of}, patience: {patience}")
        keep = (*more, "--set", f"checkpoint.dir={runs.checkpoints}", "--set", "checkpoint.keep=1",
                "--set", "checkpoint.every=5 steps")
        for i in range(KILLS + 1):
            resume = ["--resume"] if runs.checkpoints.exists() and steps_of(runs.checkpoints) else []
            stopped(runs, hosts, draw.randrange(1, 12) if i < KILLS else -1, *keep, *resume, every=given)
        report = json.loads(runs.report.read_text())
        _, last = is_as_expected(runs, report, plain, of, patience)
        whole = runs.run("--steps", plain[last]["after_step"] + 1, every="", **SLOW)
        assert trained(report) == trained(whole), (TEST_SEED, report, whole)
        subprocess.run(["rm", "-r", runs.checkpoints], check=True)


def test_killed_and_resumed(folder):
    is_the_same_after_kills(Runs(folder), [None])


def test_killed_on_two_hosts_and_resumed(folder):
    hosts = folder / "hosts.yaml"
    hosts.write_text(TWO.format(port=free_range("127.0.0.1")))
    is_the_same_after_kills(Runs(folder), ["a", "b"], hosts)


def test_what_cannot_be_the_best_is_refused(folder):
    runs = Runs(folder)
    keep = ("--set", f"checkpoint.dir={runs.checkpoints}")
    good = "metric: hash, of: max"
    for more, given, why in (
            (keep, ", best: {metric: hash, of: max}", "graph.yaml:14:44: error[T030]: `best:` chooses among several validations, and `test` is fed once"),
            ((), every(good), "graph.yaml:14:60: error[T030]: `best:` keeps the checkpoint of the best models, and this topology has no folder"),
            (keep, every("metric: hash"), "`best` needs `of`"),
            (keep, every("of: max"), "`best` needs `metric`"),
            (keep, every(good + ", patience: 0"), "`patience` expects a whole number of validations from 1 to 1000000, not 0"),
            (keep, every("metric: hash, of: most"), "`of`")):
        said = runs.run(*more, every=given, expect=78)
        assert why in said, (why, said)
    said = runs.run(*keep, every=every("metric: accuracy, of: max"), expect=1)
    assert "graph.yaml:14:60: `best` of test is of the metric `accuracy`, but the validation after step 3 reports rows, hash" in said, said
    assert "--resume continues after step 3" in said, said


def test_what_cannot_be_resumed_is_refused(folder):
    runs = Runs(folder)
    keep, good = ("--set", f"checkpoint.dir={runs.checkpoints}"), "metric: hash, of: max"
    said = runs.run(*keep, "--resume", "best", every=every(good), expect=78)
    assert "no checkpoint there knows of a validation that has a best value" in said, said
    runs.run(*keep, every=every())
    said = runs.run(*keep, "--resume", "best", every=every(), expect=78)
    assert "no feeder has `best:`, which says what the best checkpoint is" in said, said
    said = runs.run(*keep, "--evaluate", "best", "--watch", every=every(good), expect=2)
    assert "--watch evaluates each new checkpoint, and the best is one of them" in said, said


if __name__ == "__main__":
    sys.exit(run_named(globals(), sys.argv[1:], in_folder))
