#!/usr/bin/env python3
"""How often `tundish why` is right, and how soon; run by hand.

Usage: why_rates.py cells|healthy|gains [NAME...]
  cells    plants each fault at three speeds of the consumer and prints when it was named,
           counted from the first call that it strikes
  healthy  judges runs without a fault, five times each
  gains    compares the rate that why expects of a change with the rate after it
"""
import contextlib
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import time

import planted
from faults import free_range
from planted import (BUILD, DEADLOCK, FLOWS, HANG, OPERATION, REDUCED, REDUCER, SAVE, SLEEP, SOURCE,
                     SPEEDS, SPIN, STEP, Planted, has, limits)
from run import ROOT, TUNDISH

EXAMPLES = ROOT / "examples/fashion"

PATIENCE_S, SOON_S = 8, 2  # a look takes half a second
BUSY = "no_processor"  # right on a machine that does other work
THREE = "  a: {actors: [read, batch]}\n  b: {actors: [prep]}\n  c: {actors: [feed]}\n"
WORKER = "  a: {actors: [read, batch, feed]}\n  b: {actors: [prep]}\n"
TWO_FEEDERS = "  a: {actors: [read, prep, batch, mean]}\n  b: {actors: [feed]}\n  c: {actors: [feed]}\n"
ISOLATED = ", isolate: process, workers: 2"


@contextlib.contextmanager
def open_run(speed="middle", **words):
    with tempfile.TemporaryDirectory() as folder:
        run = Planted(pathlib.Path(folder), **{"speed": speed, **words})
        try:
            yield run
        finally:
            run.close()


def started(make, hosts=("",), **words):
    run = make(**words)
    run.start(*hosts)
    run.flows()
    return run


# Each returns when the fault is planted, with what is right: the exit codes, and a test of the verdict.

def host_not_started(run):
    run.start("a", "c")
    return (11,), has("not_started", host="b")


def kill_worker(run):
    run.start("a", "b")
    run.flows()
    run.kill(signal.SIGKILL, "b")
    return (10, 11), has("killed", host="b")


def stop_worker(run):
    run.start("a", "b")
    run.flows()
    run.kill(signal.SIGSTOP, "b")
    return (10, 11), has("stopped", host="b", actor="prep.0")


def reducer(number, reason):
    def plant(run):
        run.start("a", "b", "c", "d")
        run.flows()
        run.kill(number, "d")
        return (11,), has(reason, host="d", actor="mean")
    return plant


def stop_host(host, **fields):
    def plant(run):
        run.start("a", "b", "c")
        run.flows()
        run.kill(signal.SIGSTOP, host)
        return (10, 11), has("stopped", host=host, **fields)
    return plant


def save(run):
    run.turn(SAVE, 3000000)
    run.start()
    run.flows()
    planted.until("a model that is saved",
                  lambda: has("saves")((run.look()[1] or {"faults": []})))
    return (10, 11), has("saves", actor="feed", device="cpu:0")


def metrics(run):
    os.mkfifo(run.folder / "metrics")
    run.start(words=("--metrics", str(run.folder / "metrics")))
    run.flows()
    return (10,), has("output", host="local")


def program(us, codes, right):
    def plant(run):
        run.begin("", str(BUILD / "tests/planted_program"), run.files[0], str(us))
        if us < 1000000:
            run.flows()
        return codes, right
    return plant


def crowd(run):
    for number in range(4 * len(os.sched_getaffinity(0))):
        run.begin(f"busy{number}", sys.executable, "-c", "while True: pass")
    run.turn(OPERATION, 200, SPIN)
    run.start()
    run.flows()
    return (10,), has(BUSY)


def slow_depth(run):
    run.start()
    run.flows()
    return FLOWS, lambda told: limits("depth", "feed", 0)(told) or limits("step", "feed", 0.5)(told)


def isolated(plant):
    def begin(run):
        run.start()
        run.flows()
        pid = planted.until("a worker", lambda: run.pid_of("local.prep.1"))
        return plant(run, pid)
    return begin


def stop_isolated(run, pid):
    os.kill(pid, signal.SIGSTOP)
    run.stopped = pid
    return (10, 11), has("stopped", actor="prep.1", pid=pid)


def crash_isolated(run, pid):
    for _ in range(2):
        os.kill(pid, signal.SIGKILL)
        pid = planted.until("another", lambda pid=pid: (run.pid_of("local.prep.1") or pid) != pid and
                            run.pid_of("local.prep.1"))
    return (10,), has("crashes", actor="prep.1")


def one_slow_worker(run, pid):
    run.turn(STEP, 0)
    run.turn(OPERATION, 20000, only=pid)
    run.strikes(OPERATION)
    return FLOWS, limits("work", "prep.1", 0.5)


def unseen(run):
    run.start("a")
    (run.folder / "other").mkdir()
    run.start("b", XDG_RUNTIME_DIR=str(run.folder / "other"))
    run.flows()
    run.turn(OPERATION, 0, HANG)
    run.strikes(OPERATION)
    return (11,), has("unseen", host="b", actor="prep.0")


def kill_run(run):
    run.start()
    run.flows()
    run.kill(signal.SIGKILL)
    pid = run.processes[""].pid
    return (1,), lambda told: told["pid"] == pid and "committed step" in told["sentence"]


def part(which, us, how, codes, right):
    def plant(run):
        run.start()
        run.flows()
        run.turn(which, us, how)
        run.strikes(which)
        return codes, right
    return plant


def part_of_replica(which, us, how, codes, right):
    def plant(run):
        run.start("a", "b", "c")
        run.flows()
        run.turn(which, us, how, only=run.processes["c"].pid)
        run.strikes(which)
        return codes, right
    return plant


def replica(us, how, codes, right):
    return part_of_replica(STEP, us, how, codes, right)


def hung_row(run):
    run.turn(OPERATION, 0, HANG, row=777)
    run.start()
    run.strikes(OPERATION)
    return (10, 11), has("hangs", actor="prep.0")


def filtered(run):
    planted.filter_all_rows(run)
    run.start()
    planted.until("rows that are read", lambda: (run.look()[1] or {"chain": []})["chain"])
    return (11,), has("filtered", actor="prep")


def opening(which, what):
    def plant(run):
        run.turn(which, 0, HANG)
        run.start()
        run.strikes(which)
        return (11,), lambda told: has("opening")(told) and what in told["sentence"]
    return plant


def slow_validation(run):
    (run.folder / "graph.yaml").write_text(planted.VALIDATED)
    run.start()
    run.flows()
    run.turn(OPERATION, 30000)
    run.strikes(OPERATION)
    return (0, 10, 11), lambda told: told["actor"] == "tprep.0"


def lane_reader(run):
    run.start("a", "b")
    run.flows()
    run.turn(SOURCE, 0, HANG, only=run.processes["b"].pid)
    run.strikes(SOURCE)
    return (10, 11), has("hangs", host="b")


def fails_to_store(run):
    run.start()
    run.flows()
    planted.until("a checkpoint", lambda: list((run.kept / "kept").glob("*")))
    shutil.move(run.kept / "kept", run.kept / "moved")
    (run.kept / "kept").write_text("")
    return (10,), has("checkpoints")


def bad_rows(run):
    (run.folder / "rows.csv").write_text("".join(f"{i},{i if i % 2 else 'odd'}\n" for i in range(200)))
    (run.folder / "graph.yaml").write_text(planted.BAD_ROWS.format(folder=run.folder))
    run.start()
    run.flows()
    return (10,), has("bad_rows")


def sleeps(run):
    run.turn(STEP, 0)
    run.turn(OPERATION, 6000)
    run.start()
    run.flows()
    subprocess.run([str(TUNDISH), "scale", "prep=1", "planted"], env=run.env, check=True, stdout=subprocess.DEVNULL)
    return FLOWS, lambda told: "waking a worker of prep" in ((told["limit"] or {}).get("advice") or "")


def starves(run):
    run.turn(STEP, 0)
    run.turn(OPERATION, 6000)
    run.start()
    run.flows()
    return FLOWS, lambda told: limits("work", "prep.0")(told) and "sim:0 waits for rows" in told["sentence"]


def of_device(reason):
    def plant(run):
        run.turn(STEP, 0)
        run.start()
        run.flows()
        return FLOWS, lambda told: limits(reason, "feed", 0.3)(told) and told["device"] == "sim:0"
    return plant


def of_plugin(step_us, copy_us, reason):
    def plant(run):
        run.turn(STEP, step_us)
        run.start(**planted.PLUGIN, COUNTING_PJRT_US=str(copy_us))
        run.flows()
        return FLOWS, lambda told: limits(reason, "feed", 0.5)(told) and told["device"] == "pjrt:0"
    return plant


def lane_of_four(run):
    run.start("a", "b")
    run.flows()
    run.turn(SOURCE, 0, HANG, only=run.processes["b"].pid)
    run.strikes(SOURCE)
    return (10, 11), has("hangs", host="b")


def opens(run):
    run.turn(planted.OPEN, 0, HANG)
    run.start()
    run.strikes(planted.OPEN)
    return (11,), has("opening", host="local")


def spool(run):
    return (11,), planted.start_spool_on_a_disk_that_stalls(run)


def full_cache(run):
    right = planted.start_full_cache(run)
    # The first epoch, in which the store fills, has 1,000 rows.
    planted.until("the second epoch", lambda: run.seconds() > 5)
    return FLOWS, right


def quota(run):
    inside = run.kept_open.enter_context(planted.quota_of(20))
    if inside is None:
        return FLOWS, lambda told: True
    run.kept_open.callback(run.close)
    return (10,), planted.start_in_quota(run, inside)


def away(run):
    run.start("a")
    (run.folder / "other").mkdir()
    run.start("b", XDG_RUNTIME_DIR=str(run.folder / "other"))
    run.flows()
    run.kill(signal.SIGSTOP, "b")
    planted.until("links that were silent", lambda: (run.look()[1] or {"flows": True})["flows"] is False)
    return (11,), has("away", host="b")


def control(run):
    run.start()
    run.flows()
    run.kept_open.enter_context(planted.held_thread(run.processes[""].pid, "control"))
    return (10, 11), has("control", host="local")


SIM = ", devices: [sim:0], sim: {%s}"
PJRT = ", depth: 2, devices: ['pjrt:0']"
LANES = {"hosts": "  a: {actors: [read, prep, batch, feed], lanes: 1 each}\n"
                  "  b: {actors: [read, prep, batch], lanes: 1 each}\n", "top": "lanes: 2",
         "batch": ", replicas: 2"}
FOUR = {"hosts": "  a: {actors: [read, prep, batch, feed], lanes: 3}\n"
                 "  b: {actors: [read, prep, batch], lanes: 1}\n", "top": "lanes: 4"}
TWO = {"hosts": TWO_FEEDERS, **REDUCED}
CELLS = {
    "a host has not started": (host_not_started, {"hosts": THREE}),
    "kill the host of the worker": (kill_worker, {"hosts": WORKER}),
    "kill the host of the reducer": (reducer(signal.SIGKILL, "killed"), {"hosts": REDUCER, **REDUCED}),
    "stop the host of the reducer": (reducer(signal.SIGSTOP, "stopped"), {"hosts": REDUCER, **REDUCED}),
    "the model is saved": (save, {"top": "checkpoint: {{dir: {folder}/kept, every: 3 steps}}"}),
    "metrics are not read": (metrics, {}),
    "the program is slow": (program(20000, FLOWS, limits("program", "feed")), {"plugin": ""}),
    "the program sleeps": (program(100000000, (11,), has("program", actor="feed")), {"plugin": ""}),
    "no processor is free": (crowd, {}),
    "depth 1": (slow_depth, {"feed": ", depth: 1"}),
    "stop an isolated worker": (isolated(stop_isolated), {"prep": ISOLATED}),
    "an isolated worker crashes": (isolated(crash_isolated), {"prep": ISOLATED}),
    "one slow worker of two": (isolated(one_slow_worker), {"prep": ISOLATED}),
    "stop the host of the worker": (stop_worker, {"hosts": WORKER}),
    "stop the leader": (stop_host("a"), {"hosts": THREE}),
    "stop the feeder": (stop_host("c", actor="feed"), {"hosts": THREE}),
    "an operation hangs unseen": (unseen, {"hosts": WORKER}),
    "kill the run": (kill_run, {}),
    "slow operation": (part(OPERATION, 6000, SLEEP, FLOWS, limits("work", "prep.0")), {}),
    "slow operation by cpu": (part(OPERATION, 6000, SPIN, FLOWS, limits("work", "prep.0", 0.5)), {}),
    "hung operation": (part(OPERATION, 0, HANG, (10, 11), has("hangs", actor="prep.0")), {}),
    "deadlocked operation": (part(OPERATION, 0, DEADLOCK, (10, 11), has("hangs", actor="prep.0")), {}),
    "slow source": (part(SOURCE, 6000, SLEEP, FLOWS, limits("work", "read.0")), {}),
    "hung source": (part(SOURCE, 0, HANG, (10, 11), has("hangs", actor="read.0")), {}),
    "slow step": (part(STEP, 120000, SLEEP, FLOWS, limits("step", "feed")), {}),
    "hung step": (part(STEP, 0, HANG, (11,), has("hangs", actor="feed", device="cpu:0")), {}),
    "slow step of one replica": (replica(120000, SLEEP, FLOWS, limits("step", "feed@c", 0.5)), TWO),
    "hung reader of one lane": (lane_reader, LANES),
    "3 s per block": (part(SOURCE, 187500, SLEEP, (0, 10, 11), lambda told: told["actor"] == "read.0"), {}),
    "work of a device": (of_device("step"), {"feed": SIM % "step: 50ms"}),
    "copies to a device": (of_device("transfer"), {"feed": SIM % "to_device: 2kB/s, step: 1ms"}),
    "work of a plugin's device": (of_plugin(50000, 0, "step"), {"feed": PJRT}),
    "copies to a plugin's device": (of_plugin(0, 50000, "transfer"), {"feed": PJRT}),
    "a device waits for rows": (starves, {"feed": SIM % "step: 2ms"}),
    "a worker sleeps": (sleeps, {"prep": ", workers: 2"}),
    "checkpoints fail": (fails_to_store, {"top": "checkpoint: {{dir: {folder}/kept, every: 3 steps}}"}),
    "half of the rows are bad": (bad_rows, {}),
    "hung reader of one lane of four": (lane_of_four, FOUR),
    "a source is opening": (opens, {}),
    "a spool to a disk that stalls": (spool, {}),
    "a full cache": (full_cache, {}),
    "a quota of a fifth": (quota, {}),
    "a host is away": (away, {"hosts": WORKER}),
    "the control thread hangs": (control, {}),
    "a row of 1,000 hangs": (hung_row, {}),
    "all rows are filtered": (filtered, {}),
    "an operation opens for long": (opening(planted.READY, "prep: trying operation 1"), {}),
    "a model opens for long": (opening(planted.MODEL, "feed: opening the models of its step"), {}),
    "hung apply of one replica": (part_of_replica(planted.APPLY, 0, HANG, (10, 11), has("hangs", actor="feed@c")), TWO),
    "slow apply of one replica": (part_of_replica(planted.APPLY, 500000, SLEEP, (0, 10, 11), limits("step", "feed@c", 0.5)), TWO),
    "a slow validation": (slow_validation, {}),
    "hung step of one replica": (replica(0, HANG, (11,), has("hangs", actor="feed@c")), TWO),
}


def names_another(told, right):
    """A serious fault that does not belong to the cell."""
    reasons = {"killed", "stopped", "cycle", "not_started", "away", "hangs", "failed", "program"}
    return [fault["text"] for fault in told["faults"] if fault["reason"] in reasons and
            not right({**told, "faults": [fault]})]


def judge(run, plant):
    """Seconds until the right answer; what was named wrongly after it should be right."""
    codes, right = plant(run)
    begun, wrong, last, code, told = time.monotonic(), [], None, None, None
    while time.monotonic() < begun + PATIENCE_S:
        code, told = run.look()
        last = time.monotonic() - begun
        if told is not None and code in codes and right(told):
            return last, wrong, told
        if told is not None and last > SOON_S:
            wrong += names_another(told, right)
    return None, wrong, (code, told)


def cells(names):
    done = soon = count = wrongs = 0
    for name in names or CELLS:
        plant, words = CELLS[name]
        for speed in SPEEDS:
            count += 1
            words_ = dict(words)
            with tempfile.TemporaryDirectory() as kept:
                if "top" in words_:
                    words_["top"] = words_["top"].replace("{folder}", kept).replace("{{", "{") \
                        .replace("}}", "}")
                with open_run(speed=speed, **words_) as run, contextlib.ExitStack() as stack:
                    run.kept, run.kept_open = pathlib.Path(kept), stack  # the {folder} of `top`
                    try:
                        took, wrong, told = judge(run, plant)
                    except Exception as error:  # a run that does not begin is a cell, too
                        took, wrong, told = None, [], str(error)[-1500:]
                    if hasattr(run, "stopped"):
                        with contextlib.suppress(ProcessLookupError):
                            os.kill(run.stopped, signal.SIGKILL)
            done += took is not None
            soon += took is not None and took <= SOON_S
            wrongs += bool(wrong)
            print(f"{name:30} {speed:7} {'-' if took is None else f'{took:.1f} s':>6}"
                  f" {' '.join(wrong)[:120]}", flush=True)
            if took is None:
                print(f"    {str(told)[:900]}", flush=True)
    print(f"{done} of {count} cells are right, {soon} within {SOON_S} s, "
          f"{wrongs} with a wrong name", flush=True)
    return 0 if done == count and not wrongs else 1


HEALTHY = [{**words, "speed": speed}
           for speed in SPEEDS
           for words in ({}, {"prep": ", workers: 2"}, {"prep": ", workers: 7"}, {"prep": ISOLATED},
                         {"hosts": WORKER}, {"hosts": THREE}, {"hosts": TWO_FEEDERS, **REDUCED},
                         {"plugin": ""}, {"wide": 4096}, {"feed": ", depth: 8"}, LANES,
                         {"prep": ", workers: auto"}, {"prep": ", workers: 4"}, {"hosts": WORKER, "wide": 4096},
                         {"batch": ", remainder: drop"}, {"feed": ", digest: false"})]
DEVICES = [{"feed": SIM % sim, "speed": "fast"}
           for sim in ("step: 5ms", "step: 20ms", "step: 100ms", "step: 20ms, to_device: 4kB/s",
                       "step: 5ms, to_device: 2kB/s", "step: 1ms, to_device: 4kB/s", "to_device: 2kB/s", "step: 200ms")]
FIVE = """port: {port}
hosts:
  a: {{actors: [read]}}
  b: {{actors: [prep], workers: {{prep: 2}}}}
  c: {{actors: [batch, test_read, test_prep, test_batch]}}
  d: {{actors: [mean]}}
  e: {{actors: [feed, test]}}
"""
FASHION = {"one process": [], "three processes": [EXAMPLES / "three.yaml"], "five processes": [FIVE],
           "seven workers": ["actors: {{prep: {{workers: 7}}}}\n"]}


def fashion(run, files):
    """The example that is shipped, placed by these files or by a text."""
    given = []
    for file in files:
        if isinstance(file, str):
            (run.folder / "place.yaml").write_text(file.format(port=free_range("127.0.0.1", 1)))
            file = run.folder / "place.yaml"
        given.append(str(file))
    run.begin("", str(TUNDISH), "up", str(EXAMPLES / "fashion.yaml"), *given, "--quiet", "--set", "name=planted",
              "--set", "read.epochs=1000")


def looks_at(run, name):
    """How many of five looks had a fault, and whether the limit changed."""
    bad, actors = 0, set()
    run.flows()
    for _ in range(5):
        code, told = run.look()
        faults = [fault["reason"] for fault in told["faults"] if fault["reason"] != BUSY]
        if faults or code not in FLOWS:
            bad += 1
            print(name, code, told["faults"], told["sentence"], flush=True)
        actors.add((told["limit"] or {}).get("actor"))
    print(f"{name[:70]:72} {actors}", flush=True)
    return bad, len(actors) > 1


def healthy(_):
    seen = []
    for words in HEALTHY + DEVICES:
        with open_run(**words) as run:
            names = [line[2] for line in words.get("hosts", "").splitlines()] or [""]
            run.start(*names)
            seen.append(looks_at(run, str(words)))
    for name, files in FASHION.items():
        with open_run() as run:
            fashion(run, files)
            seen.append(looks_at(run, name))
            run.processes[""].terminate()  # up ends the processes that it has started
            run.processes[""].wait()
    bad = sum(one[0] for one in seen)
    print(f"{bad} of {5 * len(seen)} looks at {len(seen)} healthy runs had a fault; the limit of "
          f"{sum(one[1] for one in seen)} runs changed")
    return 1 if bad else 0


#  name: (words before, words after, switches, the advice)
GAINS = {
    "a sleeping operation": ({}, {"prep": ", workers: 2"}, ((OPERATION, 4000, SLEEP),)),
    "a third worker": ({"prep": ", workers: 2"}, {"prep": ", workers: 3"},
                       ((OPERATION, 4000, SLEEP),)),
    "until the step limits": ({}, {"prep": ", workers: 2"},
                              ((OPERATION, 3000, SLEEP), (STEP, 36000, SLEEP))),
    "a computing operation": ({}, {"prep": ", workers: 2"}, ((OPERATION, 500, SPIN),)),
    "depth 2": ({"feed": ", depth: 1"}, {"feed": ", depth: 2"}, ((STEP, 200, SLEEP),)),
}


def rate_of(words, switches):
    with open_run(speed="fast", **words) as run:
        for switch in switches:
            run.turn(*switch)
        run.start()
        run.flows()
        time.sleep(6)  # until a history shows it
        looks = [run.look()[1] for _ in range(5)]
        gains = [told["limit"]["gain_rows_per_second"] for told in looks if told["limit"]]
        rates = sorted(told["rows_per_second"] for told in looks)
        advice = {told["limit"]["advice"] for told in looks if told["limit"]}
        return rates[2], sorted(gain for gain in gains if gain), advice


def gains(names):
    missed = 0
    for name in names or GAINS:
        before, after, switches = GAINS[name]
        was, expected, advice = rate_of(before, switches)
        is_, _, _ = rate_of(after, switches)
        gain = expected[len(expected) // 2] if expected else None
        off = gain / is_ - 1 if gain else None
        missed += off is None or abs(off) > 0.2
        print(f"{name:24} {was:8.0f} -> {is_:8.0f} rows/s, expected "
              f"{'-' if gain is None else f'{gain:.0f} ({off:+.0%})'} by {advice}", flush=True)
    return 1 if missed else 0


if __name__ == "__main__":
    modes = {"cells": cells, "healthy": healthy, "gains": gains}
    if len(sys.argv) < 2 or sys.argv[1] not in modes:
        sys.exit(__doc__)
    sys.exit(modes[sys.argv[1]](sys.argv[2:]))
