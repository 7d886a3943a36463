#!/usr/bin/env python3
"""The exit code of a touch says who failed: 1 the run, 75 another process, 2 the command line."""
import os
import pathlib
import signal
import subprocess
import time

from command import TUNDISH, holds, main, run, same
from ps import hanging, in_step, until


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
