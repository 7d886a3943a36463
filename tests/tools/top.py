#!/usr/bin/env python3
"""`tundish top` in a terminal (tmux), in a pipe, without a run, and when a run is killed."""
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time

from command import ROOT, TUNDISH, holds, main, run, same
import json_schema
from contrast import contrast
from ps import SCHEMA, hanging, in_step, look, until

TMUX = shutil.which("tmux")


class Terminal:
    """`tundish top` in a terminal of tmux."""

    def __init__(self, folder, environment, *words, size=(80, 24), variables=()):
        # A server that ends still has its socket for a moment.
        self.socket = str(folder / f"tmux-{len(list(folder.glob('tmux-*')))}")
        settings = [f"{key}={value}" for key, value in {**environment, **dict(variables)}.items()]
        command = " ".join(["env", *settings, TUNDISH, "top", *words]) + "; echo ended $?; cat"
        self.tmux("-f", "/dev/null", "new-session", "-d", "-x", str(size[0]), "-y", str(size[1]),
                  command)

    def tmux(self, *words):
        return subprocess.run([TMUX, "-S", self.socket, *words], check=True, capture_output=True,
                              text=True, timeout=60).stdout

    def keys(self, *keys):
        self.tmux("send-keys", *keys)

    def text(self, *words):
        return self.tmux("capture-pane", "-p", *words)

    def shows(self, *parts, without=()):
        """Waits until the screen has these parts."""
        end = time.monotonic() + 60
        while time.monotonic() < end:
            text = self.text()
            if all(part in text for part in parts) and not any(part in text for part in without):
                return text
            time.sleep(0.02)
        raise AssertionError(f"{parts} without {without} is not shown:\n{text}")

    def pid(self):
        below = self.tmux("list-panes", "-F", "#{pane_pid}").strip()
        found = subprocess.run(["pgrep", "-P", below, "-x", "tundish"], capture_output=True,
                               text=True).stdout.split()
        return int(found[0]) if found else int(below)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        subprocess.run([TMUX, "-S", self.socket, "kill-server"], capture_output=True)
        open(self.socket + ".ended", "w").close()


def test_keys_and_sizes(folder):
    with hanging(folder) as (environment, process):
        until(environment, in_step)
        with Terminal(folder, environment, "stuck", "-i", "100ms") as terminal:
            text = terminal.shows("tundish top   stuck  running", "1 graph", "*> feed", "cpu:0",
                                  "feed waits for replica 0", "q quit")
            same(max(map(len, text.splitlines())) <= 80, True)
            assert re.search(r"read -+inproc--> batch -+inproc--> feed", text), text
            holds(text, "iiii")
            terminal.keys("w")
            terminal.shows("whose step 2", "esc back")
            terminal.keys("Escape")
            terminal.keys("Home", "Enter")
            terminal.shows("feed   feeder on host local", f"process {process.pid}",
                           "from      batch.0", "time, percent", "last 60 s")
            # Two steps of the device have ended; its thread and the options are further below.
            terminal.tmux("resize-window", "-x", "120", "-y", "60")
            text = terminal.shows("times ", "cpu:0 step ", "cpu:0 between_steps", "threads",
                                  "last events", "step_run", "options", "depth: 2")
            assert re.search(r"cpu:0 step .* 2  ", text), text
            assert re.search(r"feed +thread \d+ \((sleeping|running)\)", text), text
            assert re.search(r"cpu:0 +thread \d+ \(", text), text
            terminal.tmux("resize-window", "-x", "80", "-y", "24")
            terminal.shows("feed   feeder", without=("depth: 2",))
            terminal.keys(*["Down"] * 60)
            terminal.shows("depth: 2", without=("feed   feeder",))
            terminal.keys("Escape")
            terminal.keys("Down", "Enter")
            terminal.shows("read.0   reader", "reads     record", ".npy, at byte")
            terminal.keys("Escape")
            terminal.keys("End")
            terminal.keys("/", "rea")
            terminal.shows("/rea_", "> read.0", without=("batch.0  local",))
            terminal.keys("Escape")
            terminal.shows("batch.0  local")
            terminal.keys("Space")
            terminal.shows("frozen")
            terminal.keys("Space")
            terminal.shows("q quit", without=("frozen",))
            for key, part in zip("ehmdl", ("3 edges", "5 hosts", "4 memory", "6 devices", "7 log")):
                terminal.keys(key)
                terminal.shows(part, "esc back", without=("1 graph",))
            terminal.keys("Escape")
            terminal.keys(":", "he", "Tab", "Enter")
            terminal.shows("tundish top: help")
            terminal.keys("?")
            terminal.tmux("resize-window", "-x", "120", "-y", "40")
            terminal.shows("CPU DISK   IN", "8 time", "60 s ago", "3 edges", "5 hosts", "up ", "7 log")
            terminal.tmux("resize-window", "-x", "200", "-y", "60")
            terminal.shows("6 devices", "leads")
            # The culprit is magenta; the letters say the same without colour.
            assert "\033[1m\033[35m" in terminal.text("-e"), terminal.text("-e")
            terminal.keys("q")
            terminal.shows("ended 0", without=("1 graph",))


def test_what_is_idle_can_be_read_on_black(folder):
    with hanging(folder) as (environment, _):
        until(environment, in_step)
        for terminal_name, colours in (("tmux-256color", 256), ("screen", 8)):
            with Terminal(folder, environment, "stuck", "-i", "100ms",
                          variables={"TERM": terminal_name}) as terminal:
                terminal.shows("iiii")
                shown = terminal.text("-e")
                colour = re.search(r"\033\[([0-9;]*)m[^\033]*iiii", shown)[1].split(";")
                if colours == 256:
                    same(colour[:2], ["38", "5"])
                    number = int(colour[2]) - 16  # a cube of 6 by 6 by 6
                    parts = [(0, 95, 135, 175, 215, 255)[number // by % 6] for by in (36, 6, 1)]
                    assert contrast(parts, (255, 255, 255)) >= 3, parts
                else:
                    parts = {"36": (0, 170, 170)}[colour[-1]]  # of the console of Linux
                assert contrast(parts, (0, 0, 0)) >= 4.5, parts


def test_touches_are_confirmed(folder):
    with hanging(folder) as (environment, _):
        until(environment, in_step)
        with Terminal(folder, environment, "stuck", "-i", "100ms", size=(120, 40)) as terminal:
            terminal.shows("tundish top   stuck  running", "p pause  u touch")
            terminal.keys("p")
            terminal.shows("pause stuck?")
            terminal.keys("n")
            terminal.shows("q quit", without=("pause stuck?", "paused by"))
            terminal.keys("p")
            terminal.shows("pause stuck?")
            terminal.keys("y")
            terminal.shows("stuck pauses: steps that have started finish", "stuck  paused by ")
            terminal.keys("u")
            terminal.shows("p resume  d drain  r restart read.0")
            terminal.keys("s", "feed.depth=5", "Enter")
            terminal.shows("set feed.depth=5 of this run?")
            terminal.keys("y")
            terminal.shows("feed.depth becomes 5 between two steps")
            terminal.keys(":", "scale prep=2", "Enter")
            terminal.shows("scale prep=2 of this run?")
            terminal.keys("y")
            terminal.shows("cannot scale prep: the run has no actor of that name")
        with Terminal(folder, environment, "stuck", "-i", "100ms", "--read-only", size=(120, 40)) as terminal:
            terminal.shows("stuck  paused by ", "q quit", without=("u touch",))
            terminal.keys("p")
            terminal.shows("? shows the keys")


def test_runs_of_one_name_are_listed_and_one_is_chosen(folder):
    for name in ("a", "b"):
        (folder / name).mkdir()
        (folder / name / "pages").symlink_to(folder / "pages")
    (folder / "pages").mkdir()
    with hanging(folder / "a") as (environment, first), hanging(folder / "b") as (_, second):
        with Terminal(folder, environment, "stuck", "-i", "100ms") as terminal:
            terminal.shows("stuck (process ", " other run")  # of other tests there may be more
            terminal.keys("R")
            text = terminal.shows(f"{first.pid} running", f"{second.pid} running", "enter shows the run")
            at = int(re.search(r" > stuck +(\d+) running", text)[1])
            other = first if at == second.pid else second
            below = text.index(f"{at} running") < text.index(f"{other.pid} running")
            terminal.keys("Down" if below else "Up", "Enter")
            terminal.shows(f"stuck (process {other.pid})  running", "1 graph")
            # A touch is for the run that is shown.
            terminal.keys("p", "y")
            terminal.shows("stuck pauses: steps that have started finish", f"(process {other.pid})  paused by ")
            told = {one["leader_pid"]: one["paused"] for one in (
                {**run_, "leader_pid": run_["hosts"][0]["pid"]}
                for run_ in json.loads(run("ps", "--json", env=environment)[1])["runs"])}
            same([told[first.pid] is None, told[second.pid] is None], [other is second, other is first])
            other.kill()
            other.wait()
            terminal.shows(f"stuck (process {other.pid})  killed")


def test_runs_of_one_name_are_told_apart_by_a_process(folder):
    for name in ("a", "b"):
        (folder / name).mkdir()
        (folder / name / "pages").symlink_to(folder / "pages")
    (folder / "pages").mkdir()
    with hanging(folder / "a") as (environment, first), hanging(folder / "b") as (_, second):
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline and {one["pid"] for one in look(environment) if in_step(
                {actor["name"]: actor for actor in one["actors"]})} != {first.pid, second.pid}:
            time.sleep(0.02)
        for process, other in ((first, second), (second, first)):
            same(run("pause", str(process.pid), env=environment)[0], 0)
            # Of a paused run, each tells how to continue that one.
            for command in ("why", "ps"):
                code, out, err = run(command, str(process.pid), env=environment)
                same(code, 11 if command == "why" else 0, (out, err))
                assert str(other.pid) not in out, out
            code, out, err = run("ps", "stuck", env=environment)
            holds(err, f"`tundish resume {process.pid}` continues it")
            holds(out, *(f"run stuck (process {one.pid}): epoch 0, " for one in (process, other)))
            holds(run("why", "stuck", env=environment)[1], f"`tundish resume {process.pid}` continues it")
            holds(run("top", "--once", str(process.pid), env=environment)[1], f"stuck (process {process.pid})  paused by ")
            same(run("wait", "stalled", str(process.pid), "--timeout", "30s", env=environment)[0], 0)
            same(run("resume", str(process.pid), env=environment)[0], 0)


def test_a_killed_run_stays_on_the_screen(folder):
    with hanging(folder) as (environment, process):
        until(environment, in_step)
        with Terminal(folder, environment, "stuck", "-i", "100ms",
                      variables={"NO_COLOR": "1"}) as terminal:
            terminal.shows("tundish top   stuck  running", "*> feed")
            assert "\033[35m" not in terminal.text("-e")
            process.kill()
            process.wait()
            terminal.shows("stuck  killed", "the run has ended: killed", "> read.0")
            terminal.keys("Down")
            terminal.shows("> batch.0")


def test_it_waits_for_a_run_and_restores_the_terminal(folder):
    environment = {"XDG_RUNTIME_DIR": str(folder)}
    for number in (signal.SIGTERM, signal.SIGABRT):
        with Terminal(folder, environment, "absent") as terminal:
            terminal.shows("no run `absent` on this machine; waiting for one")
            os.kill(terminal.pid(), number)
            # What is typed is echoed again, on the normal screen.
            terminal.shows(f"ended {128 + number}", without=("waiting for one",))
            terminal.keys("echoed")
            terminal.shows("echoed")


def test_lines_and_json_without_a_terminal(folder):
    with hanging(folder) as (environment, process):
        until(environment, in_step)
        for variables in ({}, {"TERM": "dumb"}):
            top = subprocess.Popen([TUNDISH, "top", "stuck", "-i", "100ms"], text=True,
                                   stdout=subprocess.PIPE,
                                   env={**os.environ, **environment, **variables})
            line = top.stdout.readline()
            holds(line, "stuck running", "2 steps", "0 rows/s", "feed waits for replica 0")
            top.kill()
            top.communicate()
        code, out, err = run("top", "stuck", "--once", env=environment)
        same((code, err), (0, ""))
        holds(out, "tundish top   stuck  running", "1 graph", "*> feed", "feed waits for replica 0",
              "WAITS FOR", "feed is running")  # nothing is cut
        #  The screen that README shows has these columns, but as narrow as it is, one for the time.
        heading = next(line for line in (ROOT / "README.md").read_text().splitlines() if "WAITS FOR" in line)
        holds(out, *(word for word in heading.split() if word != "TIME"))
        code, out, err = run("top", "stuck", "--once", "--json", env=environment)
        same((code, err), (0, ""))
        told = json.loads(out)
        json_schema.check(told, SCHEMA)
        same(([one["run"] for one in told["runs"]], told["processes"][0]["pid"]),
             (["stuck"], process.pid))
        top = subprocess.Popen([TUNDISH, "top", "stuck", "-i", "100ms"], text=True,
                               stdout=subprocess.PIPE, env={**os.environ, **environment})
        top.stdout.readline()
        process.kill()
        process.wait()
        out, _ = top.communicate(timeout=60)
        same(top.returncode, 0)
        holds(out.splitlines()[-1], "stuck killed")


def test_a_run_that_was_killed_before_is_shown_until_another_begins(folder):
    with hanging(folder) as (environment, process):
        until(environment, in_step)
        process.send_signal(signal.SIGSTOP)
        os.waitid(os.P_PID, process.pid, os.WSTOPPED | os.WNOWAIT)
        holds(run("top", "stuck", "--once", env=environment)[1], "tundish top   stuck  stopped")
    code, out, err = run("top", "stuck", "--once", env=environment)
    same((code, err), (0, ""))
    holds(out, "tundish top   stuck  killed", "the run has ended: killed", "X")
    seen, = json.loads(run("ps", "stuck", "--json", env=environment)[1])["runs"]
    same((seen["state"], seen["outcome"]), ("killed", "killed"))
    if TMUX is None:
        return
    with Terminal(folder, environment, "stuck", "-i", "100ms") as terminal:
        terminal.shows("stuck  killed", "the run has ended: killed")
        with hanging(folder) as (environment, _):
            terminal.shows("stuck  running", "feed waits for replica 0")
            holds(run("top", "stuck", "--once", env=environment)[1], "stuck  running")


def test_what_it_cannot_do_is_an_error(folder):
    environment = {"XDG_RUNTIME_DIR": str(folder)}
    code, out, err = run("top", "--once", "absent", env=environment)
    same((code, out), (1, ""))
    holds(err, "tundish top: no run `absent` on this machine")
    for words in (("-i", "5ms"), ("-i", "soon"), ("a", "b")):
        code, _, err = run("top", *words, env=environment)
        same(code, 2, err)


if __name__ == "__main__":
    if TMUX is None:
        sys.exit(77)
    main(globals())
