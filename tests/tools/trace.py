#!/usr/bin/env python3
"""`tundish trace`: what a run does, as a trace that Perfetto reads."""
import json
import os
import signal
import subprocess

from command import FED, FEED, TUNDISH, BUILD, arrays, free_port, holds, main, run, same, topology
from ps import hanging, in_step, looks, until
import perfetto_reader as perfetto

#  100 rows in batches of 32; the step of replica 0 hangs in step 2.
RUN = "stuck"
WAITS = {"wait_in": ["input"], "wait_credit": ["credit", "window", "memory"],
         "wait_order": ["order", "mark"], "wait_step": ["step"], "wait_reduce": ["reduce"]}


def traced(folder, environment, *words):
    path = folder / "run.pftrace"
    path.unlink(missing_ok=True)
    code, out, err = run("trace", RUN, "-o", path, *words, env=environment)
    same((code, out), (0, ""), err)
    holds(err, f"to {path}")
    tracks, events = perfetto.read(path)
    return tracks, events, perfetto.check(tracks, events)


def processes_of(environment):
    _, out, _ = run("ps", RUN, "--json", env=environment)
    return json.loads(out)["processes"]


def actors(environment):
    return {actor["name"]: actor for process in processes_of(environment)
            for actor in process["actors"]}


def hangs_in_step_2(found):
    """Both hosts are known to be of one run, and the feeder has all steps but can commit only two; for a second, so
    that its process has given a sign of life since."""
    seen = {actor["name"]: actor for process in found for actor in process["actors"]}
    return len({process["session"] for process in found}) == 1 and len(seen) == 3 and \
        seen["feed"]["step"] == 1 and seen["feed"]["queue"] == 2 and \
        [device["step"] for device in seen["feed"]["devices"]] == [2] and \
        seen["feed"]["devices"][0]["since_seconds"] > 1


def seconds(slices, track, names):
    return sum(end - begin for of, name, begin, end, _ in slices
               if perfetto.name_of(of) == track and name in names) * 1e-9


def test_slices_add_up_to_the_shares_of_the_pages(folder):
    with hanging(folder) as (environment, process):
        until(environment, in_step)
        until(environment, lambda seen: seen["feed"]["devices"][0]["since_seconds"] > 1)
        os.kill(process.pid, signal.SIGSTOP)
        before = actors(environment)
        tracks, _, slices = traced(folder, environment, "--last")
        after = actors(environment)
        os.kill(process.pid, signal.SIGCONT)
        same(sorted(perfetto.name_of(track) for track in tracks.values() if "thread" in track),
             ["batch.0", "feed", "feed device 0", "read.0"])
        same({track["thread"]["tid"] for track in tracks.values() if "thread" in track} - {0},
             {actor["thread"] for actor in after.values()} | {after["feed"]["devices"][0]["thread"]})
        for name, actor in after.items():
            limit = 0.02 * sum(actor["times"].values())
            for share, reasons in WAITS.items():
                got = seconds(slices, name, [f"wait: {reason}" for reason in reasons])
                low, high = before[name]["times"][share], actor["times"][share]
                assert low - limit < got < high + limit, (name, share, low, got, high)
        low, high = [look["feed"]["devices"][0]["seconds"]["step"] for look in (before, after)]
        got = seconds(slices, "feed device 0", ["step_run"])
        assert low * 0.98 < got < high * 1.02, (low, got, high)


def test_a_flow_follows_a_block_and_a_step_through_killed_processes(folder):
    arrays(folder)
    path = topology(folder, top=f"name: {RUN}\n", links=FED,
                    actors=FEED % ", depth: 2, step: {plugin: probe, hang_at: 2}")
    places = folder / "places.yaml"
    places.write_text(f"port: {free_port()}\nhosts:\n  a: {{actors: [feed]}}\n"
                      "  b: {actors: [read, batch]}\n")
    environment = {"XDG_RUNTIME_DIR": str(folder), "TUNDISH_PLUGIN_PATH": str(BUILD / "tests")}
    processes = [subprocess.Popen([TUNDISH, "run", "--quiet", str(path), str(places), "--host",
                                   host], env={**os.environ, **environment}) for host in "ab"]
    try:
        for told in looks(environment):
            assert all(process.poll() is None for process in processes)
            if hangs_in_step_2([one for one in told["processes"] if one["run"] == RUN]):
                break
    finally:
        # One that sees the death of the other ends, and takes its pages with it.
        for number in signal.SIGSTOP, signal.SIGKILL:
            for process in processes:
                process.send_signal(number)
        for process in processes:
            process.wait()
    tracks, events, slices = traced(folder, environment, "--last")
    same({track["process"]["name"] for track in tracks.values() if "process" in track},
         {f"{RUN}, host a", f"{RUN}, host b"})
    same({track["process"]["pid"] for track in tracks.values() if "process" in track},
         {process.pid for process in processes})
    ways = list(perfetto.flow_ways(tracks, events).values())
    block = [("batch.0", "ticket_sent"), ("read.0", "ticket_received"), ("read.0", "block_made"),
             ("read.0", "block_sent"), ("batch.0", "block_received"), ("batch.0", "batch_cut")]
    assert block in ways, ways
    step = [("batch.0", "batch_cut"), ("batch.0", "slice_sent"), ("feed", "slice_received"),
            ("feed", "step_ready"), ("feed device 0", "step_run"), ("feed", "step_committed")]
    for way in ways:
        assert way[:len(step)] == step or way[0][1] != "batch_cut" or \
            ("feed", "step_committed") not in way, way
    same(sum(("feed", "step_committed") in way for way in ways), 2, "steps 0 and 1")
    steps = [notes["step"] for _, name, _, _, notes in slices if name == "step_run"]
    same(sorted(set(steps)), [0, 1, 2], "the last one hung")
    same(steps[-1], 2)
    counters = {tracks[event["track"]]["name"]: event["value"] for event in events
                if event["type"] == perfetto.COUNT}
    same((counters["feed queue"], counters["feed credit"]), (2, 0))


def test_it_watches_until_the_limit(folder):
    with hanging(folder) as (environment, _):
        until(environment, in_step)
        _, events, _ = traced(folder, environment, "-n", "7")
        same(sum(event["type"] in (perfetto.BEGIN, perfetto.INSTANT) for event in events) >= 7,
             True)
        _, events, slices = traced(folder, environment, "-d", "300ms")
        assert max(event["at"] for event in events) - min(event["at"] for event in events) > 3e8
        assert any(name == "step_run" for _, name, _, _, _ in slices)


def test_refusals(folder):
    path = folder / "x.pftrace"
    for words, code, text in [
            ((RUN,), 2, "--output FILE is missing"),
            (("elsewhere", "-o", path), 1, "no run `elsewhere`"),
            (("elsewhere", "-o", folder / "absent" / "x"), 1, "absent"),
            ((RUN, "-o", path, "-d", "5"), 2, "--duration takes a time")]:
        got, out, err = run("trace", *words)
        same((got, out), (code, ""), words)
        holds(err, text)
        assert not path.exists()
    path.write_text("old")
    code, _, err = run("trace", RUN, "-o", path)
    same((code, path.read_text()), (1, "old"))
    holds(err, "exists already")


if __name__ == "__main__":
    main(globals())
