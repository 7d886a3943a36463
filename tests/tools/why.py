#!/usr/bin/env python3
"""`tundish why`: one sentence that ends with the bottleneck."""
import json
import os
import re
import signal
import subprocess
import sys
import time

import numpy

from command import BUILD, FED, FEED, ROOT, TUNDISH, arrays, holds, is_sanitized, main, run, same, topology
from ps import hanging, in_step, looks, until


def test_a_step_that_does_not_return_is_the_bottleneck(folder):
    with hanging(folder) as (environment, process):
        until(environment, in_step)
        code, out, err = run("why", "another", env=environment)
        same((code, out), (1, ""))
        holds(err.splitlines()[-1], "tundish why: no run `another` on this machine (looked in "
              f"{environment['XDG_RUNTIME_DIR']}, ")
        code, out, err = run("why", "stuck", env=environment)
        same(code, 11)
        assert re.search(r"^feed waits for replica 0 \(cpu:0\), whose step 2 has been running for "
                         r"\d+(\.\d)? s$", out, re.M), out
        process.send_signal(signal.SIGSTOP)
        os.waitid(os.P_PID, process.pid, os.WSTOPPED | os.WNOWAIT)
        code, out, err = run("why", "--json", env=environment)
        same(json.loads(out)["schema"], 2)
        told, = [one for one in json.loads(out)["runs"] if one["run"] == "stuck"]
        same((code, told["flows"], told["pid"], told["actor"]), (11, False, process.pid, "feed"))
        holds(told["sentence"], f"whose process {process.pid} is stopped")


def test_a_run_that_failed_is_shown_until_it_is_started_again(folder):
    pages = folder / "pages"
    pages.mkdir()
    environment = {"XDG_RUNTIME_DIR": str(pages), "TUNDISH_PLUGIN_PATH": str(BUILD / "tests")}
    arrays(folder)
    path = topology(folder, top="name: broken\n", links=FED, actors=FEED % ", step: {plugin: probe, fail_at: 2}")
    code, _, err = run("run", path, "--quiet", env=environment)
    same(code, 1)
    message = err.strip().removeprefix("tundish run: ")
    code, out, err = run("why", "broken", env=environment)
    same((code, err), (1, ""))
    assert re.fullmatch(rf"broken \(process \d+ on host local\) failed \d+ s ago with exit code 1: {re.escape(message)}\n",
                        out), out
    told, = json.loads(run("why", "broken", "--json", env=environment)[1])["failed"]
    same((told["run"], told["host"], told["code"], told["message"]), ("broken", "local", 1, message))
    code, out, _ = run("why", "other", env=environment)
    same((code, out), (1, ""))
    note = pages / "tundish-broken.failed"
    now = time.time()
    os.utime(note, (now - 570, now - 570))
    assert re.search(r"^broken .* failed 5[7-9]\d s ago", run("why", "broken", env=environment)[1], re.M)
    os.utime(note, (now - 601, now - 601))
    code, out, err = run("why", "broken", env=environment)
    same((code, out), (1, ""))
    holds(err, "no run `broken` on this machine")
    assert not note.exists()
    same(run("run", path, "--quiet", env=environment)[0], 1)
    assert note.exists()
    topology(folder, top="name: broken\n", links=FED, actors=FEED % "")
    same(run("run", path, "--quiet", env=environment)[0], 0)
    assert not note.exists()


def test_several_runs_that_failed_are_one_line(folder):
    environment = {"XDG_RUNTIME_DIR": str(folder)}
    arrays(folder)
    for name in ("one", "two"):
        path = topology(folder, top=f"name: {name}\n", links=FED, actors=FEED % "")
        path.write_text(path.read_text().replace("y.npy", "absent.npy"))
        same(run("run", path, "--quiet", env=environment)[0], 78)
    out = run("why", env=environment)[1]  # runs of other tests may be on this line too
    parts = re.search(r"^\d+ runs failed in the last 10 minutes: (.*); `tundish why RUN` shows the reason$", out, re.M)
    assert {re.sub(r"\d+ s", "N s", part) for part in parts.group(1).split(", ")} >= \
        {"one N s ago (exit code 78)", "two N s ago (exit code 78)"}, out
    assert "absent.npy" not in out, out
    code, out, _ = run("why", "two", env=environment)
    same((code, len(out.splitlines())), (1, 1))
    holds(out, "absent.npy")


def test_a_program_that_failed_is_shown_too(folder):
    if is_sanitized():
        return  # such a library cannot be loaded by Python
    environment = {**os.environ, "XDG_RUNTIME_DIR": str(folder), "TUNDISH_LIBRARY": str(BUILD / "libtundish.so"),
                   "PYTHONPATH": str(ROOT / "tools/python")}
    arrays(folder)
    path = topology(folder, top="name: program\n", links=FED, actors=FEED % "")
    (folder / "y.npy").unlink()
    program = f"import tundish\nwith tundish.feed({str(path)!r}) as feed:\n    pass\n"
    same(subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, timeout=60).returncode, 1)
    code, out, _ = run("why", "program", env=environment)
    same(code, 1)
    holds(out, "program (process ", "with exit code 78: ", f"{folder}/y.npy")


def test_the_last_events_of_a_killed_process_are_shown(folder):
    with hanging(folder) as (environment, process):
        until(environment, in_step)
        process.kill()
        process.wait()
        code, out, err = run("why", "stuck", env=environment)
        same((code, err), (1, ""))
        before, title, events = out.partition(
            f"  the last events of process {process.pid}, host local, in seconds before its last "
            "sign of life:\n")
        assert title, out
        holds(before, "killed")
        lines = events.splitlines()
        assert 0 < len(lines) <= 16, events
        # Step 2 hangs, so step 1 was the last one to be committed.
        holds([line for line in lines if "step_committed" in line][-1], "feed", "step 1, 32 rows")
        times = [float(line.split()[0]) for line in lines]
        same(times, sorted(times))
        assert times[-1] - times[0] < 5 and times[-1] <= 0, times
        told, = json.loads(run("why", "stuck", "--json", env=environment)[1])["runs"]
        same([event["event"] for event in told["last_events"]],
             [line.split()[3] for line in lines])


def shares_of(name, environment, seconds):
    """The shares of its time in which the device of a run worked, and waited for its link, by two looks."""
    looks = []
    for at in (0, seconds):
        end = time.monotonic() + at
        while time.monotonic() < end:
            time.sleep(0.01)
        now = time.monotonic()
        out = run("ps", name, "--json", env=environment)[1]
        device, = [device for one in json.loads(out)["processes"] for actor in one["actors"] for device in actor["devices"]]
        looks.append((now, device["work_seconds"], device["link_wait_seconds"]))
    (begun, *was), (ended, *now) = looks
    return [(b - a) / (ended - begun) for a, b in zip(was, now)]


def test_the_time_of_a_device_is_its_own(folder):
    """A step of 20 ms on the device takes no time of the host; the copy takes 5 or 40 ms."""
    numpy.save(folder / "x.npy", numpy.zeros((1000, 100), "u1"))
    environment = dict(os.environ, XDG_RUNTIME_DIR=str(folder), TUNDISH_PLUGIN_PATH=str(BUILD / "tests"))
    # The device works for 20 ms of 20 ms; with copies of 40 ms, for 20 ms of 40 ms.
    for name, rate, works in (("computes", "20MB/s", 1), ("copies", "2500kB/s", 0.5)):
        path = topology(folder, columns="x", read=", epochs: 100000", batch="size: 1000", top=f"name: {name}\n",
                        actors="  feed: {kind: feeder, devices: [sim:0], step: {plugin: probe}, "
                               f"sim: {{to_device: {rate}, step: 20ms}}}}\n",
                        links=["read -> batch -> feed"])
        process = subprocess.Popen([TUNDISH, "run", path, "--quiet"], env=environment)
        try:
            wanted = "busiest is the step of feed (sim:0)" if works == 1 else "link of sim:0"
            deadline, told = time.monotonic() + 120, ""
            while wanted not in told and time.monotonic() < deadline:  # the first looks see the start
                told = run("why", name, env=environment)[1]
                time.sleep(0.02)
            # A mistake of the measuring shows in every window; a busy machine delays copies and looks in some,
            # in which the device also waits for the host.
            work = link = 0
            least, off = (0.3, 0.2) if is_sanitized() else (0.6, 0.04)
            while not (least < work + link < 1.1 and abs(work / (work + link) - works) < off):
                assert time.monotonic() < deadline, (work, link)
                work, link = shares_of(name, environment, 2)
            holds(told, wanted)
        finally:
            process.kill()
            process.wait()


def devices_seen(stream):
    """By run: when it was looked at, how long its device has worked and waited for its link, and on which step it is."""
    seen, told, now = {}, next(stream), time.monotonic()
    for one in told["processes"]:
        for device in (device for actor in one["actors"] for device in actor["devices"]):
            seen[one["run"]] = (now, device["work_seconds"], device["link_wait_seconds"], device["step"])
    return seen


def test_the_shares_of_a_device_are_those_of_its_model(folder):
    """A copy before each step, one at a time; with a second slot it takes place while the device works."""
    if is_sanitized():  # it is about times
        return
    numpy.save(folder / "x.npy", numpy.zeros((1000, 100), "u1"))
    environment = dict(os.environ, XDG_RUNTIME_DIR=str(folder), TUNDISH_PLUGIN_PATH=str(BUILD / "tests"))
    # ms of the copy of 100,000 bytes, and of the step; more than two slots change nothing.
    times = {1: ((20, 80), (80, 80), (80, 20)), 2: ((20, 80), (40, 80), (80, 80), (80, 40), (80, 20)), 3: ((40, 80),),
             4: ((80, 40),)}
    truth, processes = {}, []
    for depth in times:
        for copy, step in times[depth]:
            name = f"copy{copy}-step{step}-depth{depth}"
            truth[name] = step / (copy + step if depth == 1 else max(copy, step))
            model = f"{{to_device: {100_000_000 // copy}B/s, latency: 0s, step: {step}ms}}"
            path = topology(folder, f"{name}.yaml", columns="x", read=", epochs: 100000", batch="size: 1000",
                            top=f"name: {name}\n", actors=f"  feed: {{kind: feeder, depth: {depth}, "
                            f"devices: [sim:0], step: {{plugin: probe}}, sim: {model}}}\n",
                            links=["read -> batch -> feed"])
            processes.append(subprocess.Popen([TUNDISH, "run", path, "--quiet"], env=environment))
    try:
        stream, begun = looks(environment, "100ms"), {}
        while len(begun) < len(truth) or min(one[3] for one in begun.values()) < 3:
            begun = devices_seen(stream)
        # A mistake of the measuring shows in every window; a busy machine delays copies in some.
        deadline, off = time.monotonic() + 60, dict(truth)
        while off and time.monotonic() < deadline:
            ended, stream = begun, looks(environment, "100ms")
            while min(ended[name][3] - begun[name][3] for name in off) < 25:  # steps, 2 to 4 s
                ended = devices_seen(stream)
            for name, share in list(off.items()):
                work, link = (after - before for before, after in zip(begun[name][1:3], ended[name][1:3]))
                known = work + link > 0.6 * (ended[name][0] - begun[name][0])  # the rest is the host's
                if known and abs(work / (work + link) - share) < 0.02:
                    del off[name]
                else:
                    print(f"{name}: {share:.3f}, not {work:.3f} s of {work + link:.3f} s")
            begun = ended
        same(off, {})
    finally:
        for process in processes:
            process.kill()
            process.wait()


def test_a_device_that_waits_for_its_link_is_named(folder):
    numpy.save(folder / "x.npy", numpy.zeros((1000, 100), "u1"))
    path = topology(folder, columns="x", read=", epochs: 100000", batch="size: 1000", top="name: fed\n",
                    actors="  feed: {kind: feeder, devices: [sim:0], sim: {to_device: 2MB/s}}\n",
                    links=["read -> batch -> feed"])
    environment = dict(os.environ, XDG_RUNTIME_DIR=str(folder))
    process = subprocess.Popen([TUNDISH, "run", path, "--quiet"], env=environment)
    try:
        deadline, limit = time.monotonic() + 60, {}
        while limit.get("reason") != "transfer" and time.monotonic() < deadline:
            code, out, _ = run("why", "fed", "--json", env=environment)
            limit = json.loads(out)["runs"][0]["limit"] or {} if code in (0, 10) else {}  # 10: no processor is free
            time.sleep(0.02)
        same([limit.get(key) for key in ("reason", "actor", "device")],
             ["transfer", "feed", "sim:0"])
        holds(run("why", "fed", env=environment)[1], "feed waits for the link of sim:0")
        code, out, _ = run("ps", "fed", "--json", env=environment)
        device, = [device for one in json.loads(out)["processes"] for actor in one["actors"]
                   for device in actor["devices"]]
        same((device["model"], device["memory"]), ("simulated device", 141000000000))
        assert device["bytes_moved"] > 0 and device["calls"]["copy"] > 0, device
    finally:
        process.kill()
        process.wait()


def test_a_device_that_hangs_is_named(folder):
    """By `why`, and by a drain that waits for it."""
    numpy.save(folder / "x.npy", numpy.zeros((100, 4), "u1"))
    (folder / "faults").write_text("hang\n")
    path = topology(folder, columns="x", batch="size: 10", top="name: held\n", links=["read -> batch -> feed"],
                    actors=f"  feed: {{kind: feeder, devices: [sim:0], sim: {{faults: {folder}/faults}}}}\n")
    environment = dict(os.environ, XDG_RUNTIME_DIR=str(folder))
    process = subprocess.Popen([TUNDISH, "run", path, "--quiet"], env=environment, stderr=subprocess.PIPE,
                               text=True)
    try:
        deadline, told = time.monotonic() + 60, {}
        while told.get("device") != "sim:0" and time.monotonic() < deadline:
            code, out, _ = run("why", "held", "--json", env=environment)
            told = (json.loads(out)["runs"] or [{}])[0] if out else {}
            time.sleep(0.02)
        assert re.fullmatch(r"feed waits for the copy of step 0 to sim:0, which is not done after .*",
                            told["sentence"]), told
        same((told["flows"], told["actor"]), (False, "feed"))
        process.send_signal(signal.SIGINT)
        while "waits for the copy" not in (line := process.stderr.readline()):
            assert line, "it does not say what the drain waits for"
        (folder / "faults").write_text("slow 2\nlate 1ms\n")
        same(process.wait(60), 130)
    finally:
        process.kill()
        process.wait()


if __name__ == "__main__":
    main(globals())
