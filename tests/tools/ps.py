#!/usr/bin/env python3
"""`tundish ps`: runs are seen without their help, also when they hang or are stopped."""
import contextlib
import json
import os
import signal
import subprocess
import time

from command import BUILD, FED, FEED, TUNDISH, arrays, holds, main, run, same, topology

TIMES = {"cpu", "wait_in", "wait_credit", "wait_order", "wait_step", "wait_reduce", "wait_io",
         "run_queue", "other"}


@contextlib.contextmanager
def hanging(folder, at=2):
    """A run whose step never comes back; the environment to find it by, and its process."""
    pages = folder / "pages"
    pages.mkdir(exist_ok=True)
    environment = {"XDG_RUNTIME_DIR": str(pages), "TUNDISH_PLUGIN_PATH": str(BUILD / "tests")}
    arrays(folder)
    path = topology(folder, top="name: stuck\n", links=FED,
                    actors=FEED % f", depth: 2, step: {{plugin: probe, hang_at: {at}}}")
    process = subprocess.Popen([TUNDISH, "run", "--quiet", str(path)],
                               env={**os.environ, **environment})
    try:
        yield environment, process
    finally:
        process.kill()
        process.wait()


def look(environment):
    """The processes of this folder's runs: others may run on this machine."""
    code, out, err = run("ps", "--json", env=environment)
    same((code, err), (0, ""))
    return [p for p in json.loads(out)["processes"] if p["run"] == "stuck"]


def until(environment, true):
    """Looks until `true` says so; ps itself takes the time between two looks."""
    end = time.monotonic() + 60
    while time.monotonic() < end:
        seen = look(environment)
        if seen and true({actor["name"]: actor for actor in seen[0]["actors"]}):
            return seen[0]
    raise AssertionError(seen)


def in_step(actors):
    return "feed" in actors and [d["state"] for d in actors["feed"]["devices"]] == ["step"] and \
        actors["feed"]["devices"][0]["step"] == 2 and actors["batch.0"]["state"] == "waiting" and \
        actors["feed"]["queue"] == 2 and "step" in actors["feed"]["waits"]


def test_a_hanging_step_is_shown_with_all_that_wait_for_it(folder):
    with hanging(folder) as (environment, process):
        until(environment, in_step)
        seen = until(environment, lambda actors: actors["feed"]["devices"][0]["since_seconds"] > 1)
        same((seen["pid"], seen["host"], seen["state"]), (process.pid, "local", "running"))
        actors = {actor["name"]: actor for actor in seen["actors"]}
        same(sorted(actors), ["batch.0", "feed", "read.0"])
        feed = actors["feed"]
        same((feed["state"], feed["waits"][0], feed["rows_out"], feed["credit"]),
             ("waiting", "step", 64, 0))
        same([actors[name]["rows_per_second"] for name in actors], [0, 0, 0])
        # It woke up a few times since, and found nothing to do.
        assert feed["since_seconds"] > 0.7, feed
        for actor in actors.values():
            same(set(actor["times"]), TIMES)
            assert sum(actor["times"].values()) > 0.7, actor
        assert feed["devices"][0]["seconds"]["step"] > 1, feed

        code, out, _ = run("ps", env=environment)
        lines = [line for line in out.splitlines() if line.startswith("stuck")]
        same((code, len(lines)), (0, 4))
        holds(out, "RUN ", " STATE ", " SINCE", "replica 0, step 2", "cpu:0", str(process.pid))
        assert max(map(len, lines)) <= 120, lines
        same({len(line) for line in lines}, {len(out.splitlines()[0])}, "columns are aligned")


def test_a_stopped_process_is_shown_as_stopped(folder):
    with hanging(folder) as (environment, process):
        until(environment, in_step)
        process.send_signal(signal.SIGSTOP)
        os.waitid(os.P_PID, process.pid, os.WSTOPPED | os.WNOWAIT)
        same(look(environment)[0]["state"], "stopped")
        holds(run("ps", env=environment)[1], "stopped")


def test_pages_of_a_killed_process_are_removed(folder):
    with hanging(folder) as (environment, process):
        until(environment, in_step)
        process.kill()
        process.wait()
        code, out, err = run("ps", env=environment)
        same(code, 0)
        assert "stuck" not in out, out
        holds(err, f"run stuck, host local: process {process.pid} was killed")
        same((look(environment), os.listdir(folder / "pages")), ([], []))


def test_foreign_files_are_reported_and_not_trusted(folder):
    for name, content in (("tundish-a-b-1.pages", b""), ("tundish-c-d-2.pages", b"x" * 9000)):
        (folder / name).write_bytes(content)
    os.mkfifo(folder / "tundish-e-f-3.pages")
    (folder / "not-a-page").write_bytes(b"x")
    code, _, err = run("ps", env={"XDG_RUNTIME_DIR": str(folder)})
    same(code, 0)
    same(err.count("it is not of tundish"), 2)
    holds(err, "it is not a regular file")


def test_it_shows_the_run_that_is_asked_for(folder):
    code, out, err = run("ps", "absent", env={"XDG_RUNTIME_DIR": str(folder)})
    same((code, out), (1, ""))
    holds(err, "tundish ps: no run `absent` on this machine")


if __name__ == "__main__":
    main(globals())
