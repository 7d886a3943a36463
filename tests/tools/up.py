#!/usr/bin/env python3
"""`tundish up` and runs of several hosts."""
import contextlib
import json
import os
import re
import signal
import subprocess
import threading
import time

import numpy

from command import FEED, arrays, free_port, holds, main, run, same, topology
from runs import PLUGINS, graph, hosts, Started, children


def test_up_saves_on_the_host_that_has_the_model(folder):
    path, over = graph(folder), hosts(folder)
    code, out, err = run("up", path, over, "--save", folder / "model", "--quiet", env=PLUGINS)
    same((code, err, (folder / "model").read_text()), (0, "", "a model"))
    code, out, err = run("run", path, over, "--host", "a", "--save", folder / "model", env=PLUGINS)
    same(code, 2)
    holds(err, "--save is for host 'b'")


def test_a_leader_that_leaves_alone_does_not_say_that_all_came(folder):
    started = Started("run", graph(folder), hosts(folder), "--host", "a")
    started.until("waiting for b")
    started.process.send_signal(signal.SIGINT)
    same(started.end(), 130)
    assert "all hosts" not in started.text, started.text


def test_hosts_are_named_when_none_is_given(folder):
    code, _, err = run("run", graph(folder), hosts(folder))
    same(code, 2)
    holds(err, "2 hosts (a, b)", "--host", "tundish up")
    code, _, err = run("run", graph(folder), hosts(folder), "--host", "aa")
    same(code, 2)
    holds(err, "no host is named 'aa'")


def test_up_and_isolated_actors_run_with_every_setting(folder):
    settings = ("--set", "batch.size=50", "--set", "read.epochs=2", "--report", folder / "r.json")
    path = graph(folder)
    for words in (("up", path, hosts(folder)), ("run", path, "--set", "read.isolate=process")):
        code, out, err = run(*words, *settings, env=PLUGINS)
        same(code, 0, out + err)
        told = json.loads((folder / "r.json").read_text())
        same((told["steps"], told["rows"]["fed"]), (4, 200))


def test_the_report_is_the_leaders(folder):
    code, _, err = run("run", graph(folder), hosts(folder), "--host", "b", "--report",
                       folder / "r.json")
    same(code, 2)
    holds(err, "--report is only for the first host, 'a'")


def test_a_host_that_never_comes_is_named(folder):
    code, out, err = run("run", graph(folder), hosts(folder, start_timeout="1s"), "--host", "a",
                         env=PLUGINS)
    same(code, 75)
    holds(out, "waiting for b")
    holds(err, "b did not answer")


def test_a_host_without_its_leader_says_whom_it_waits_for(folder):
    over = hosts(folder, start_timeout="2500ms")
    port = re.search(r"port: (\d+)", over.read_text()).group(1)
    code, _, err = run("run", graph(folder), over, "--host", "b", env=PLUGINS)
    same(code, 75)
    holds(err, f"host b waits for the start, by host a at tcp://127.0.0.1:{port}")


def test_signals_leave_hosts_whose_step_never_returns(folder):
    started = Started("up", graph(folder, step=", hang_at: 6", read=", epochs: forever"), hosts(folder))
    started.until("epoch")
    for number, said in ((signal.SIGINT, "draining"), (signal.SIGINT, "leaving")):
        started.process.send_signal(number)
        started.until(said)
    left = time.monotonic()
    same(started.end(), 130, started.text)
    assert time.monotonic() - left < 9.5, "it waited for the step, as long as for other actors: ten seconds"
    assert "killed" not in started.text, started.text


def test_up_runs_every_host_and_names_the_host_of_each_line(folder):
    code, out, err = run("up", graph(folder), hosts(folder), "--report", folder / "r.json",
                         env=PLUGINS)
    same((code, err), (0, ""))
    holds(out, "a | done: 4 steps, 100 rows")
    one = json.loads(run("run", graph(folder), "--json", env=PLUGINS)[1])
    told = json.loads((folder / "r.json").read_text())
    for key in ("stream_digest", "model_digest", "rows", "steps", "results", "fingerprint"):
        same(told[key], one[key], key)
    same(sorted({actor["host"] for actor in told["actors"]}), ["a", "b"])


def test_up_ends_as_the_host_that_failed(folder):
    code, _, err = run("up", graph(folder, step=", crash_at: 2"), hosts(folder), env=PLUGINS)
    same(code, 128 + signal.SIGSEGV)
    holds(err, "host b was killed by signal 11", "b | ", "SIGSEGV")


def test_the_report_of_a_run_that_fails_has_the_steps_that_were_done_wherever_actors_are(folder):
    for number, (actors, graph_more, over_more) in enumerate((
            ("a: {actors: [read, batch]}\n  b: {actors: [feed]}", "", ""),
            ("a: {actors: [read]}\n  b: {actors: [batch, feed]}", "", ""),
            ("a: {lanes: 1, actors: [read, batch, feed]}\n  b: {lanes: 1, actors: [read, batch, feed]}",
             "lanes: 2\n", ", replicas: 2"))):
        place = folder / str(number)
        place.mkdir()
        path = graph(place, step=", fail_at: 2", batch=f"size: 32{over_more}", top=graph_more)
        over = place / "two.yaml"
        over.write_text(f"port: {free_port()}\nhosts:\n  {actors}\n")
        code, _, err = run("up", path, over, "--report", place / "r.json", env=PLUGINS)
        same(code, 1, err)
        holds(err, "the probe fails as it was told")
        told = json.loads((place / "r.json").read_text())
        same((told["steps"], told["rows"]["fed"]), (2, 64), err)


def test_up_starts_nothing_when_something_is_missing(folder):
    path = graph(folder)
    (folder / "y.npy").unlink()
    path.write_text(path.read_text().replace("plugin: probe", "plugin: nosuch"))
    code, out, err = run("up", path, hosts(folder))
    same((code, out), (78, ""))
    holds(err, "error[T061]: read: ", "y.npy", "error[T063]: feed: ", "nosuch.so", "2 errors")
    assert "a | " not in err and "b | " not in err, err


def test_up_says_once_why_a_run_failed_and_does_not_wait(folder):
    path = graph(folder)
    numpy.save(folder / "y.npy", numpy.zeros(99, "i8"))
    began = time.monotonic()
    code, out, err = run("up", path, hosts(folder, dead_after="100s", start_timeout="100s"), env=PLUGINS)
    assert time.monotonic() - began < 50, "it waited"
    # On a busy machine b comes late enough to be waited for.
    same((code, out.replace("a | waiting for b\n", "")), (78, ""))
    same(err.count("has 99 rows"), 1, err)
    holds(err, "a | ", "host a ended with 78")
    for unwanted in ("draining", "host b"):
        assert unwanted not in err, err


def test_a_host_is_one_process(folder):
    path, over = graph(folder, read=", epochs: forever"), hosts(folder)
    a, b = (Started("run", path, over, "--host", host) for host in "ab")
    a.until("epoch")
    code, _, err = run("run", path, over, "--host", "b", env=PLUGINS)
    same(code, 75)
    holds(err, "host b of this run is already running here", f"process {b.process.pid}")
    code, _, err = run("run", path, over, "--host", "a", env=PLUGINS)
    same(code, 75)
    holds(err, "host a of this run is already running here", f"process {a.process.pid}")
    other = folder / "other.yaml"
    other.write_text(path.read_text() + "name: other\n")
    code, _, err = run("run", other, over, "--host", "a", env=PLUGINS)
    same(code, 75)
    port = over.read_text().split()[1]
    holds(err, f"port {port} is that of run tundish, whose host a is running here, as process {a.process.pid}: give this run "
          "another port, or end that one first")
    code, out, err = run("up", path, over, env=PLUGINS)
    same((code, out, err.count("\n")), (75, "", 1), err)
    holds(err, "host a of this run is already running here", f"process {a.process.pid}")
    a.process.send_signal(signal.SIGINT)
    same((a.end(), b.end()), (130, 130), a.text + b.text)


def test_a_host_that_was_just_killed_may_be_started_again(folder):
    path, over = graph(folder, read=", epochs: forever"), hosts(folder)
    first = Started("run", path, over, "--host", "a")
    first.until("waiting for b")
    threading.Timer(0.5, first.process.kill).start()  # its end takes as long as that
    again = Started("run", path, over, "--host", "a")
    again.until("waiting for b")
    again.process.send_signal(signal.SIGINT)
    same(again.end(), 130, again.text)


def test_a_drain_before_the_first_step_is_reported(folder):
    started = Started("run", graph(folder), hosts(folder), "--host", "a")
    started.until("waiting for b")
    started.process.send_signal(signal.SIGINT)
    same(started.end(), 130)
    holds(started.text, "drained before the first step")
    assert "stream" not in started.text, started.text


def test_up_drains_all_hosts(folder):
    started = Started("up", graph(folder, read=", epochs: forever"), hosts(folder))
    started.until("epoch")
    started.process.send_signal(signal.SIGINT)
    same(started.end(), 130, started.text)
    holds(started.text, "a | drained: ")
    same(started.text.count("draining"), 1, started.text)


@contextlib.contextmanager
def a_worker_that_sleeps_through_the_end(folder):
    """A run by `up` that is done while host c, which has only a worker, is stopped; c's process."""
    arrays(folder)
    path = topology(folder, read=", epochs: 6000", links=["read -> prep -> batch -> feed"],
                    actors="  prep: {kind: preprocessor}\n" + FEED % "")
    overlay = folder / "two.yaml"
    overlay.write_text(f"port: {free_port()}\nhosts:\n"
                       "  a: {actors: [read, batch, feed]}\n  b: {actors: [prep]}\n"
                       "  c: {actors: [prep]}\n")
    started = Started("up", path, overlay)
    started.until("a | epoch")
    found = subprocess.run(["pgrep", "-P", str(started.process.pid), "-f", "host.c( |$)"],
                           capture_output=True, text=True).stdout.split()
    same(len(found), 1)
    os.kill(int(found[0]), signal.SIGSTOP)
    try:
        started.until("done: ")
        started.until("stream ")
        end = time.monotonic() + 10
        while len(children(started.process.pid)) > 1 and time.monotonic() < end:
            time.sleep(0.01)
        yield started, int(found[0])
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.kill(int(found[0]), signal.SIGCONT)


def test_a_worker_that_is_stopped_while_the_run_ends_does_not_fail_it(folder):
    with a_worker_that_sleeps_through_the_end(folder) as (started, worker):
        os.kill(worker, signal.SIGCONT)
        same(started.end(), 0, started.text)


def test_a_worker_that_is_killed_after_the_run_ended_does_not_fail_it(folder):
    with a_worker_that_sleeps_through_the_end(folder) as (started, worker):
        os.kill(worker, signal.SIGKILL)
        same(started.end(), 0, started.text)
    holds(started.text, "host c was killed by signal 9 (Killed) after the run had ended")
    # Before the end its leader may have missed it; after the end it is not started again.
    after = started.text[started.text.index("done: "):]
    assert "started again" not in after, after


def test_up_drains_hosts_that_have_only_just_begun(folder):
    started = Started("up", graph(folder, read=", epochs: forever"), hosts(folder))
    while not children(started.process.pid):
        time.sleep(0.001)
    started.process.send_signal(signal.SIGTERM)
    same(started.end(), 130, started.text)
    assert "killed" not in started.text, started.text


def test_up_refuses_what_is_elsewhere(folder):
    over = folder / "far.yaml"
    over.write_text("port: 7100\ninsecure: true\nhosts:\n"
                    "  a: {address: 192.0.2.7, actors: [read, batch, feed]}\n")
    code, _, err = run("up", graph(folder), over)
    same(code, 2)
    holds(err, "no host of this graph has an address of this machine")


main(globals())
