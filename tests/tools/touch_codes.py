#!/usr/bin/env python3
"""The exit code of a touch says who failed: 1 the run, 75 another process, 2 the command line."""
import os
import pathlib
import signal
import subprocess
import time

from command import FED, FEED, TUNDISH, arrays, holds, main, run, same, topology
from ps import hanging, in_step, looks, until


def connections(folder):
    """To sockets for touches in this folder, each with its listener."""
    lines = pathlib.Path("/proc/net/unix").read_text().splitlines()
    return sum(str(folder) in line and line.endswith(".touch") for line in lines)


def test_a_leader_that_ends_without_an_answer_is_another_process(folder):
    """It is stopped, is asked, and is killed before it can answer."""
    with hanging(folder) as (environment, leader):
        until(environment, in_step)
        leader.send_signal(signal.SIGSTOP)
        before = connections(folder)
        touch = subprocess.Popen([TUNDISH, "pause", "stuck"], env={**os.environ, **environment}, text=True,
                                 stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        end = time.monotonic() + 30
        while connections(folder) == before and time.monotonic() < end:
            os.sched_yield()
        leader.kill()
        out, err = touch.communicate(timeout=60)
        same((touch.returncode, out), (75, ""))
        same(err, "tundish pause: no answer came; it may still be done\n")


def test_runs_of_one_name_are_told_apart_by_their_processes(folder):
    arrays(folder)
    environment = {"XDG_RUNTIME_DIR": str(folder)}
    paths = [topology(folder, f"{name}.yaml", read=", epochs: forever", actors=FEED % "", links=FED) for name in ("one", "two")]
    runs = [subprocess.Popen([TUNDISH, "run", "--quiet", path], env={**os.environ, **environment}) for path in paths]
    try:
        until_running(environment, 2)
        code, out, err = run("pause", env=environment)
        same((code, out), (1, ""))
        holds(err, "tundish pause: several runs are on this machine; name one, or the number of its process: ")
        for process, path in zip(runs, paths):
            holds(err, f"{process.pid} (tundish: {TUNDISH} run --quiet ", " s ago)")
        code, out, err = run("pause", "tundish", env=environment)
        same(code, 1)
        holds(err, "several runs named tundish are on this machine; name one by the number of its process: ")
        code, _, err = run("tap", "tundish", env=environment)
        same(code, 1)
        holds(err, "several runs are on this machine; ", "; the run is the last operand, after what is watched in it")
        same(run("tap", "read", runs[1].pid, "--count", "1", env=environment)[0], 0)
        same(run("pause", "1", env=environment)[0], 1)
        same(run("drain", runs[0].pid, env=environment)[0], 0)
        same(runs[0].wait(timeout=60), 130)
        same(runs[1].poll(), None)
        # Runs of other tests, whose pages are in other folders, may be seen too: "drain" alone is not certain to be enough.
        same(run("drain", runs[1].pid, env=environment)[0], 0)
        same(runs[1].wait(timeout=60), 130)
    finally:
        for process in runs:
            process.kill()
            process.wait()


def until_running(environment, count):
    for seen in looks(environment):
        if sum(one["state"] == "running" for one in seen["runs"]) == count:
            return
    raise AssertionError(seen)


def test_a_run_that_is_not_there_is_a_failure(folder):
    code, out, err = run("pause", "absent", env={"XDG_RUNTIME_DIR": str(folder)})
    same((code, out), (1, ""))
    holds(err, "tundish pause: no run `absent` on this machine")


def test_a_command_that_cannot_run_a_touch_elsewhere_is_another_process(folder):
    """Codes of `tundish` there are passed on; all others are of the way to it."""
    script = folder / "via"
    for ends, code, said in (("exit 0", 0, ""), ("exit 1", 1, ""), ("exit 2", 2, ""), ("exit 75", 75, ""),
                             ("exit 3", 75, "ended with 3"), ("exit 78", 75, "ended with 78"),
                             ("exit 127", 75, "ended with 127"), ("exit 130", 75, "ended with 130"),
                             ("kill -9 $$", 75, "was killed by signal 9")):
        script.write_text(f"#!/bin/sh\n{ends}\n")
        script.chmod(0o755)
        found, out, err = run("pause", "stuck", "--leader", "10.0.0.1:7100", "--via", f"{script} {{address}}")
        same((found, out), (code, ""), ends)
        if said:
            holds(err, "tundish pause: --via: ", said)
        else:
            same(err, "", ends)


if __name__ == "__main__":
    main(globals())
