#!/usr/bin/env python3
"""How `tundish run` ends: failures, crashes, signals, what is named and what can be resumed."""
import contextlib
import json
import os
import pathlib
import re
import signal
import socket
import subprocess
import time

import numpy

from command import BUILD, FED, FEED, TUNDISH, arrays, holds, is_sanitized, main, run, same, topology
from runs import PLUGINS, graph, hosts, Started


def test_a_step_that_fails_ends_the_run_with_its_text(folder):
    code, _, err = run("run", graph(folder, step=", fail_at: 2"), "--report", folder / "r.json",
                       env=PLUGINS)
    same(code, 1)
    holds(err, "the probe fails as it was told", "feed")
    same([p.name for p in folder.iterdir() if p.name.startswith("r.json")], ["r.json"])


def test_a_step_that_crashes_is_named(folder):
    code, _, err = run("run", graph(folder, step=", crash_at: 2"), env=PLUGINS)
    same(code, -signal.SIGSEGV)
    holds(err, "SIGSEGV", "feeder `feed` at step 2, replica 0")


def test_a_crash_names_replica_and_the_last_committed_step(folder):
    # The first chain is over, with step 3, when the second one crashes; its second replica is first.
    path = topology(folder, name="two.yaml", batch="size: 32",
                    actors=FEED % ", step: {plugin: probe, crash_evaluate: 1}" +
                    "  again: {kind: reader, source: {npy: {y: \"${data}/y.npy\"}}}\n"
                    "  rows: {kind: batcher, size: 50}\n  test: {kind: feeder, after: feed}\n",
                    links=FED + ["again -> rows -> test"])
    arrays(folder)
    code, _, err = run("run", path, env=PLUGINS)
    same(code, -signal.SIGSEGV, err)
    holds(err, "feeder `test` at step 0, replica 0",
          "; the last committed cursor is that of step 3\n")
    path = graph(folder, step=", crash_at: 1", batch="size: 32, replicas: 3")
    path.write_text(path.read_text().replace("kind: feeder", "kind: feeder, devices: [\"cpu:0\"]"))
    code, _, err = run("run", path, env={**PLUGINS, "PROBE_REPLICA": "2"})
    same(code, -signal.SIGSEGV, err)
    holds(err, "feeder `feed` at step 1, replica 2 (thread feed cpu:0)")


def test_a_failed_run_names_its_checkpoint(folder):
    kept = folder / "kept"
    keep = ("--set", f"checkpoint.dir={kept}", "--set", "checkpoint.every=100 steps")
    path = graph(folder, step=", fail_at: 5", read=", epochs: 3")
    code, out, err = run("run", path, *keep, "--steps", "4", env=PLUGINS)
    same((code, [p.name for p in kept.glob("step-*")]), (0, ["step-00000004"]), err)
    code, out, err = run("run", path, *keep, "--resume", "--log-level", "info", env=PLUGINS)
    same(code, 1)
    holds(err, "the probe fails as it was told", "; --resume continues after step 3, the last checkpoint\n",
          f"checkpoint info resumes after step 3, from {kept}")
    other = folder / "other"
    code, out, err = run("run", path, "--set", f"checkpoint.dir={other}", "--steps", "3", "--log-level",
                         "info", env=PLUGINS)
    same((code, [p.name for p in other.glob("step-*")]), (0, ["step-00000003"]), err)
    holds(err, f"checkpoint info checkpoint after step 2 in {other}")


def test_a_drain_writes_only_the_checkpoints_that_stay(folder):
    """The disk takes no manifest until all steps are done."""
    if is_sanitized():
        return  # sanitizers do not bear shims
    kept, gate, metrics, report = folder / "kept", folder / "gate", folder / "m.jsonl", folder / "r.json"
    line = [TUNDISH, "run", graph(folder, read=", epochs: forever"), "--set", f"checkpoint.dir={kept}", "--set",
            "checkpoint.every=1 steps", "--metrics", metrics, "--report", report, "--log-level", "info"]
    run = subprocess.Popen(line, stderr=subprocess.PIPE, text=True,
                           env={**os.environ, **PLUGINS, "LD_PRELOAD": str(BUILD / "tests/disk.so"),
                                "DISK_HOLDS": "/manifest", "DISK_UNTIL": str(gate)})
    try:
        end = time.monotonic() + 60
        while not metrics.exists() or metrics.read_text().count("\n") < 20:
            assert run.poll() is None and time.monotonic() < end, run.poll()
            time.sleep(0.01)
        run.send_signal(signal.SIGTERM)
        text = ""
        while " is done" not in text:
            got = run.stderr.readline()
            assert got, text
            text += got
        gate.touch()
        text += run.stderr.read()
        same(run.wait(60), 130, text)
    finally:
        run.kill()
    steps = json.loads(report.read_text())["steps"]
    same(sorted(int(place.parent.name[5:]) for place in kept.glob("step-*/manifest")), [steps - 2, steps - 1, steps])
    same(sorted(place.name for place in kept.glob("step-*")), [f"step-{step:08}" for step in (steps - 2, steps - 1, steps)])
    # One was being written.
    first, *rest = [int(step) for step in re.findall("checkpoint after step (\\d+)", text)]
    assert first < steps - 3, text
    same(rest, [steps - 3, steps - 2, steps - 1])
    same(text.count("later checkpoints wait to be written"), steps - 4)


def test_another_graph_is_refused_with_the_value_that_differs(folder):
    """Whatever characters the value has."""
    for name in ("a; b, {c}", "a; b, {d}"):
        numpy.save(folder / f"{name}.npy", numpy.arange(100))
    path = topology(folder, columns="n", actors=FEED % "", links=FED)
    path.write_text(path.read_text().replace("/n.npy", "/a; b, {c}.npy"))
    keep = ("--set", f"checkpoint.dir={folder / 'kept'}", "--set", "checkpoint.every=100 steps")
    same(run("run", path, *keep, "--steps", "2")[0], 0)
    manifest, = (folder / "kept").glob("step-*/manifest")
    line, = (line for line in manifest.read_text().splitlines() if line.startswith("graph read: "))
    holds(line, '"n": ["${data}/a; b, {c}.npy"]')
    code, _, err = run("run", path, *keep, "--resume", "--set", "batch.size=16")
    same(code, 78)
    holds(err, "belongs to another graph: batch: `size: 16` was `size: 32`\n")
    path.write_text(path.read_text().replace("{c}", "{d}"))
    code, _, err = run("run", path, *keep, "--resume")
    same(code, 78)
    holds(err, "belongs to another graph: read: `\"n\": [\"${data}/a; b, {d}.npy\"]` was "
          "`\"n\": [\"${data}/a; b, {c}.npy\"]`\n")


def test_an_option_of_a_step_that_was_added_changed_or_removed_is_named(folder):
    arrays(folder)
    keep = ("--set", f"checkpoint.dir={folder / 'kept'}", "--set", "checkpoint.every=100 steps")

    def step(options):
        return topology(folder, links=FED, actors=FEED % f", step: {{plugin: probe{options}}}")
    same(run("run", step(", rare_at: 12"), *keep, "--steps", "2", env=PLUGINS)[0], 0)
    for options, words in ((", rare_at: 15", '`"rare_at": "15"` was `"rare_at": "12"`'),
                           (", rare_at: 12, more: 1", '`"more": "1"` was not given'),
                           ("", '`"rare_at": "12"` was given')):
        code, _, err = run("run", step(options), *keep, "--resume", env=PLUGINS)
        same(code, 78)
        holds(err, f"belongs to another graph: feed: {words}\n")


def place(path, words):
    """FILE:LINE:COLUMN of the first line of a file that has these words."""
    number, line = next((n, line) for n, line in enumerate(path.read_text().split("\n"), 1) if words in line)
    return f"{path}:{number}:{line.index(words) + 1}"


def test_an_operation_that_crashes_is_named_without_a_step(folder):
    numpy.save(folder / "n.npy", numpy.arange(100, dtype="u8"))
    path = topology(folder, columns="n", links=["read -> prep -> batch -> feed"],
                    actors="  prep: {kind: preprocessor, ops: [{cast: {column: n, to: i64}}, {plugin: fatal, "
                    "kill: 50}]}\n" + FEED % "")
    code, _, err = run("run", path, env=PLUGINS)
    same(code, -signal.SIGSEGV)
    holds(err, f"SIGSEGV in preprocessor `prep.0`, operation 2, `fatal`, {place(path, '{plugin: fatal')} (thread prep.0); with "
          "`isolate: process` of `prep` the run survives a crash, and finds the row")


def test_an_operation_that_crashes_in_a_process_of_its_own_is_named(folder):
    numpy.save(folder / "n.npy", numpy.arange(100, dtype="u8"))
    path = topology(folder, columns="n", links=["read -> prep -> batch -> feed"],
                    actors="  prep: {kind: preprocessor, isolate: process, ops: [{plugin: fatal, kill: 50, once: "
                    f"{folder}/died}}]}}\n" + FEED % "")
    code, _, err = run("run", path, env=PLUGINS)
    same(code, 0, err)
    holds(err, f"SIGSEGV in preprocessor `prep.0`, operation 1, `fatal`, {place(path, '{plugin: fatal')} (")


def test_a_step_that_hangs_in_one_process_is_named(folder):
    # Threads around a hook that hangs are left to the exit.
    env = {**PLUGINS,
           "TSAN_OPTIONS": os.environ.get("TSAN_OPTIONS", "") + " report_thread_leaks=0"}
    code, _, err = run("run", graph(folder, step=", hang_at: 2"), "--set", "hung_after=500ms",
                       env=env)
    same(code, 1)
    holds(err, "feed: the step of replica 0 hangs: step 2 takes longer than 500 ms")


def test_the_resumed_checkpoint_exists_and_is_named(folder):
    path = graph(folder, step=None)
    code, _, err = run("run", path, "--resume", env=PLUGINS)
    same(code, 2)
    holds(err, "has no checkpoint folder")
    code, _, err = run("run", path, "--resume", folder / "nope", env=PLUGINS)
    same(code, 78, err)
    holds(err, "no checkpoint at ", "nope")
    assert not (folder / "nope").exists()
    kept = folder / "kept"
    keep = ("--set", f"checkpoint.dir={kept}")
    code, _, err = run("run", path, *keep, "--resume", "--steps", "2", env=PLUGINS)
    same(code, 0, err)
    holds(err, "no checkpoint in ", "begins at the start")
    code, out, err = run("run", path, "--resume", kept, env=PLUGINS)
    same((code, (kept / "step-00000004").exists()), (0, True), err)
    assert "18446" not in out, out
    code, out, _ = run("run", path, "--resume", kept / "step-00000004", env=PLUGINS)
    same(code, 0)
    holds(out, "done already: the checkpoint has 4 steps, 100 rows, which is the whole run")
    code, out, _ = run("run", path, "--resume", kept, "--steps", "3", env=PLUGINS)
    holds(out, "--steps limits the run to 3")


def test_a_step_that_ends_the_process_is_named(folder):
    code, _, err = run("run", graph(folder, step=", exit_at: 2"), env=PLUGINS)
    same(code, 1)
    holds(err, "exit(3) was called in the middle of a run in feeder `feed` at step 2, replica 0")


def test_a_plugin_that_is_not_there_is_named(folder):
    path = graph(folder)
    path.write_text(path.read_text().replace("plugin: probe", "plugin: nowhere"))
    code, _, err = run("run", path, env=PLUGINS)
    assert code in (1, 78), code
    holds(err, "nowhere")


def test_a_port_in_use_is_an_error(folder):
    over = hosts(folder)
    port = int(re.search(r"port: (\d+)", over.read_text()).group(1))
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", port))
        taken.listen()
        code, _, err = run("run", graph(folder), over, "--host", "a", env=PLUGINS)
    same(code, 1)
    holds(err, str(port))


def test_one_signal_drains_and_the_report_is_written(folder):
    started = Started("run", graph(folder, read=", epochs: forever"), "--report", folder / "r.json")
    started.until("epoch")
    started.process.send_signal(signal.SIGINT)
    same(started.end(), 130, started.text)
    holds(started.text, "draining", "drained: ")
    told = json.loads((folder / "r.json").read_text())
    same(told["rows"]["fed"], told["rows"]["read"])
    same(told["steps"] % 4 == 0, told["rows"]["fed"] % 100 == 0)


def test_a_run_that_is_done_is_done_whatever_signal_comes(folder):
    # It ends, and cannot write its last lines until the pipe is read.
    mine, theirs = os.pipe()
    os.set_blocking(theirs, False)
    with contextlib.suppress(BlockingIOError):
        while True:
            os.write(theirs, bytes(4096))
    os.set_blocking(theirs, True)
    report = folder / "r.json"
    process = subprocess.Popen([TUNDISH, "run", graph(folder), "--json", "--report", report],
                               stdout=theirs, env={**os.environ, **PLUGINS})
    os.close(theirs)
    try:
        end = time.monotonic() + 30
        while not report.exists() and time.monotonic() < end:
            time.sleep(0.01)
        process.send_signal(signal.SIGTERM)
        with os.fdopen(mine, "rb") as words:
            told = words.read().lstrip(bytes(1))
        same(process.wait(30), 0)
        same(json.loads(told)["steps"], 4)
    finally:
        process.kill()


def test_a_second_signal_leaves(folder):
    started = Started("run", graph(folder, read=", epochs: forever"), "--report", folder / "r.json")
    started.until("epoch")
    started.process.send_signal(signal.SIGTERM)
    started.process.send_signal(signal.SIGINT)
    same(started.end(), 130, started.text)


def test_repeated_signals_of_a_launcher_do_not_shorten_a_drain(folder):
    for command in ("run", graph(folder, read=", epochs: forever")), ("up", folder / "graph.yaml", hosts(folder)):
        for numbers in (signal.SIGTERM, signal.SIGUSR1), (signal.SIGUSR1, signal.SIGUSR2), (signal.SIGINT, signal.SIGTERM):
            started = Started(*command, "--report", folder / "r.json")
            started.until("epoch")
            started.process.send_signal(signal.SIGSTOP)  # so that it finds both at once
            for number in numbers:
                started.process.send_signal(number)
            started.process.send_signal(signal.SIGCONT)
            same(started.end(), 130, started.text)
            holds(started.text, "draining; Ctrl-C ends the run at once", "drained: ")
            assert "leaving" not in started.text, started.text
            told = json.loads((folder / "r.json").read_text())
            same(told["rows"]["fed"], told["rows"]["read"], numbers)


def test_a_drain_names_the_signal_its_host_and_who_sent_it(folder):
    path, over = graph(folder, read=", epochs: forever"), hosts(folder)
    me = f"from process {os.getpid()}, {pathlib.Path('/proc/self/comm').read_text().strip()})"
    for number, name in (signal.SIGTERM, "SIGTERM"), (signal.SIGUSR2, "SIGUSR2"):
        a, b = (Started("run", path, over, "--host", host) for host in "ab")
        a.until("epoch")
        b.process.send_signal(number)
        same((a.end(), b.end()), (130, 130), a.text + b.text)
        holds(b.text, f"tundish run: draining; Ctrl-C ends the run at once ({name} {me}\n")
        holds(a.text, f"asks for a drain ({name} {me}\n")
        same(a.text.count(me), 1, a.text)
        assert [line for line in a.text.splitlines() if me in line][0].startswith("b run warning"), a.text
    # `up` says itself what it was sent.
    started = Started("up", path, over)
    started.until("epoch")
    started.process.send_signal(signal.SIGTERM)
    same(started.end(), 130, started.text)
    holds(started.text, f"tundish up: draining; Ctrl-C ends the run at once (SIGTERM {me}\n")
    same(started.text.count("draining"), 1, started.text)


def test_a_signal_before_the_start_ends_a_run_as_later_ones_do(folder):
    path = graph(folder)
    os.mkfifo(folder / "late.yaml")  # which the run waits to read
    for command in "run", "up":
        for number in signal.SIGTERM, signal.SIGUSR1:
            process = subprocess.Popen([TUNDISH, command, path, folder / "late.yaml"], stderr=subprocess.DEVNULL)
            with open(folder / "late.yaml", "w"):  # it has opened the file
                process.send_signal(number)
                same(process.wait(30), 130, f"{command} {number}")


def test_signals_leave_a_step_that_never_returns(folder):
    # Runs are selected by name, and this name is unique.
    top = f"name: hang{os.getpid()}\n"
    started = Started("run", graph(folder, step=", hang_at: 6", read=", epochs: forever", top=top),
                      "--report", folder / "r.json")
    started.until("epoch")
    for number, said in ((signal.SIGINT, "draining"), (signal.SIGINT, "leaving")):
        started.process.send_signal(number)
        started.until(said)
        if said == "draining":
            started.until("feed waits for replica 0 (cpu:0), whose step 6")
    left = time.monotonic()
    same(started.end(), 130, started.text)
    # Asked once it would wait for ten seconds; a sanitizer makes everything slow.
    assert time.monotonic() - left < 9.5, "it waited for the step"
    same(started.text.count("draining"), 1, started.text)
    assert not list(folder.glob("r.json*")), "half a report"


def test_a_file_without_rows_beside_one_with_rows_is_named(folder):
    path = graph(folder)
    numpy.save(folder / "x.npy", numpy.zeros((0, 3), "f4"))
    code, _, err = run("run", path, env=PLUGINS)
    same(code, 78)
    holds(err, str(folder / "x.npy"), "has 0", "equal counts")


def test_a_label_that_is_not_a_class_is_named(folder):
    numpy.save(folder / "image.npy", numpy.zeros((40, 784), "u1"))
    numpy.save(folder / "label.npy", numpy.array([i % 10 for i in range(17)] + [12] + [0] * 22, "u1"))
    scale = "{scale: {column: image, to: f32, range: [0, 1]}}"
    path = topology(folder, columns="image label", batch="size: 8, replicas: 2",
                    actors=f"  prep: {{kind: preprocessor, ops: [{scale}]}}\n" + FEED %
                    ", step: {plugin: mlp}" + "  mean: {kind: reducer}\n",
                    links=["read -> prep -> batch -> feed <-> mean"])
    code, _, err = run("run", path)
    same(code, 1, err)
    holds(err, "step 2", "replica 0", "row 1 of the replica has label 12")


def test_a_killed_run_leaves_no_half_report(folder):
    started = Started("run", graph(folder, read=", epochs: forever"), "--report", folder / "r.json")
    started.until("epoch")
    started.process.kill()
    started.end()
    same([path.name for path in folder.iterdir() if "r.json" in path.name], [])


main(globals())
