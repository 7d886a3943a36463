#!/usr/bin/env python3
"""`tundish ps`: runs are seen without their help, also when they hang or are stopped."""
import contextlib
import fcntl
import json
import os
import pathlib
import signal
import struct
import subprocess
import time

import numpy

from command import (BUILD, FED, FEED, TUNDISH, arrays, free_port, holds, is_sanitized, main, run, same,
                     topology)
import json_schema

SCHEMA = json.loads((pathlib.Path(__file__).parent / "ps.schema.json").read_text())

TIMES = {"cpu", "wait_in", "wait_credit", "wait_order", "wait_step", "wait_reduce", "wait_io",
         "run_queue", "other"}


@contextlib.contextmanager
def hanging(folder, at=2, read="", links=FED, actors=""):
    """A run whose step never comes back; the environment to find it by, and its process."""
    pages = folder / "pages"
    pages.mkdir(exist_ok=True)
    environment = {"XDG_RUNTIME_DIR": str(pages), "TUNDISH_PLUGIN_PATH": str(BUILD / "tests")}
    arrays(folder)
    path = topology(folder, top="name: stuck\n", links=links, read=read,
                    actors=actors + FEED % f", depth: 2, step: {{plugin: probe, hang_at: {at}}}")
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
    json_schema.check(json.loads(out), SCHEMA)
    assert "machine" in json.loads(out)  # which a report lacks
    return [p for p in json.loads(out)["processes"] if p["run"] == "stuck"]


def looks(environment, every="20ms"):
    """What `tundish ps` shows, again and again for a minute: the start of a command costs more than a look."""
    end = time.monotonic() + 60
    with subprocess.Popen([TUNDISH, "ps", "--stream", "-i", every], stdout=subprocess.PIPE,
                          env={**os.environ, **environment}) as command:
        try:
            while time.monotonic() < end:
                yield json.loads(command.stdout.readline())
        finally:
            command.kill()


def until(environment, true):
    """Looks until `true` says so of the run that lives."""
    for told in looks(environment):
        seen = [one for one in told["processes"] if one["run"] == "stuck" and one["state"] != "killed"]
        if seen and true({actor["name"]: actor for actor in seen[0]["actors"]}):
            json_schema.check(told, SCHEMA)
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

        # The step of 32 rows hangs; read.0 read its 100 rows, four blocks at most per batch.
        timings = {name: {one["name"]: one for one in actors[name]["timings"]} for name in actors}
        device = {one["name"]: one for one in feed["devices"][0]["timings"]}
        same((device["step"]["count"], device["between_steps"]["count"]), (2, 2))
        for one in [*timings["read.0"].values(), *device.values()]:
            same(sum(part["count"] for part in one["classes"]), one["count"])
            assert one["p50_seconds"] <= one["p99_seconds"] <= one["max_seconds"], one
        same(timings["read.0"]["queue_wait"]["count"], actors["read.0"]["blocks_out"])
        assert timings["read.0"]["service"]["count"] >= actors["read.0"]["blocks_out"]
        holds(actors["read.0"]["options"], "epochs", "shuffle")
        holds(actors["read.0"]["reads"]["file"], ".npy")
        assert actors["read.0"]["reads"]["offset_bytes"] >= 64, "after the header of .npy"

        # The process uses no more than `tundish explain` says of the same graph.
        code, out, _ = run("explain", "--json", str(folder / "graph.yaml"), env=environment)
        wanted = json.loads(out)["hosts"][0]["memory"]
        same((seen["memory"]["most_bytes"], seen["memory"]["terms"]),
             (wanted["bytes"], wanted["terms"]))
        used = seen["memory"]["anonymous_bytes"]
        assert 0 < used and (is_sanitized() or used <= wanted["bytes"]), seen["memory"]

        code, out, _ = run("ps", env=environment)
        lines = [line for line in out.splitlines() if line.startswith("stuck")]
        same((code, len(lines)), (0, 4))
        holds(out, "RUN ", " STATE ", " SINCE", "replica 0, step 2", "cpu:0", str(process.pid))
        assert max(map(len, lines)) <= 120, lines
        same({len(line) for line in lines}, {len(out.splitlines()[0])}, "columns are aligned")


def test_the_state_of_the_run_is_shown(folder):
    with hanging(folder) as (environment, _):
        until(environment, in_step)
        # The control thread writes within 50 ms of a change, or at its next wake-up.
        for told in looks(environment):
            run_, = [one for one in told["runs"] if one["run"] == "stuck"]
            if run_["steps"] == 2:
                break
        same((run_["state"], run_["outcome"], run_["chain"], run_["waiting_for"]),
             ("running", None, "feed", []))
        same((run_["rows"], run_["ledger_rows"]["fed"], run_["epoch"]), (64, 64, 0))
        host, = run_["hosts"]
        same((host["name"], host["presence"], host["waited_for"]), ("local", "up", False))
        edges = {(edge["from"], edge["to"]): edge for edge in run_["edges"]}
        same(sorted(edges), [("batch.0", "feed"), ("read.0", "batch.0")])
        read, fed = edges["read.0", "batch.0"], edges["batch.0", "feed"]
        same((read["transport"], read["sent"]["rows"], read["received"]["rows"]),
             ("inproc", 100, 100))
        # A row is three f32 and an i64.
        same((read["received"]["bytes"], fed["sent"]["bytes"], fed["received"]["blocks"]),
             (2000, 2000, 4))
        holds(" ".join(line["text"] for line in run_["log"]), "local leader feed is running")
        same((fed["sent"]["credit_used_blocks"], fed["received"]["credit_given_bytes"]),
             (None, None), "a step needs no credit")


def test_the_time_left_is_known_after_a_tenth_of_an_epoch(folder):
    """Two epochs of 1,000 steps that take 15 ms each: what is left follows from the steps of two later seconds."""
    pages = folder / "pages"
    pages.mkdir()
    environment = {"XDG_RUNTIME_DIR": str(pages), "TUNDISH_PLUGIN_PATH": str(BUILD / "tests")}
    arrays(folder, rows=2000)
    path = topology(folder, top="name: stuck\n", links=FED, read=", epochs: 2", batch="size: 2",
                    actors=FEED % ', devices: ["sim:0"], sim: {step: 15ms}, step: {plugin: probe}')
    process = subprocess.Popen([TUNDISH, "run", "--quiet", str(path)], env={**os.environ, **environment})

    def look(stream):
        alive = [one for one in next(stream)["runs"] if one["state"] == "running"]
        return time.monotonic(), alive[0] if alive else {"steps": 0}

    try:
        stream = looks(environment)
        at, found = look(stream)
        while found["steps"] < 100 or found["run_left_seconds"] is None:
            assert process.poll() is None, "it ended before it knew how long it takes"
            at, found = look(stream)
        stream.close()
        holds(run("ps", "stuck", env=environment)[1], "run stuck: epoch ", " left")
        holds(run("top", "stuck", "--once", env=environment)[1], " left")
        # Two tenths, as the processors of a test machine are shared; a mistake shows in every two seconds.
        wanted = 0
        while not 0.8 * wanted < (found.get("run_left_seconds") or 0) < 1.2 * wanted:
            assert process.poll() is None, f"it ended; {found} where {wanted:.1f} s are left"
            stream = looks(environment)
            at, found = look(stream)
            later, then = look(stream)
            while later < at + 2:
                later, then = look(stream)
            stream.close()
            wanted = (2000 - found["steps"]) * (later - at) / max(then["steps"] - found["steps"], 1)
    finally:
        process.kill()
        process.wait()
    left = 1000 - found["steps"] % 1000
    same(round(found["epoch_left_seconds"] / found["run_left_seconds"], 1), round(left / (2000 - found["steps"]), 1))


def test_pages_of_mapped_rows_that_come_from_a_disk_are_counted(folder):
    """Of a file that the page cache does not have, and again of one that it has.

    A machine that is short of memory, or gives idle memory back, takes pages of any file, of programs also: the
    second case is measured again where that happened. A count that is never 0 fails."""
    path = BUILD / f"cold-{os.getpid()}.npy"  # on a disk, also where temporary files are in memory
    numpy.save(path, numpy.zeros((4096, 4096), "u1"))
    environment = {"XDG_RUNTIME_DIR": str(folder), "TUNDISH_PLUGIN_PATH": str(BUILD / "tests")}
    graph = topology(folder, columns="x", top="name: stuck\n", links=FED, actors=FEED % "",
                     read=", access: map, epochs: 100000")
    graph.write_text(graph.read_text().replace('"${data}/x.npy"', str(path)))

    def counted(actors, least):
        read = actors.get("read.0")
        return read is not None and read["rows_out"] > 40960 and read["times"]["cpu"] > 0 and read["disk_page_faults"] >= least

    def faults(least=0):
        process = subprocess.Popen([TUNDISH, "run", "--quiet", str(graph)], env={**os.environ, **environment})
        try:
            actors = until(environment, lambda actors: counted(actors, least))["actors"]
            return next(actor["disk_page_faults"] for actor in actors if actor["name"] == "read.0")
        finally:
            process.kill()
            process.wait()

    try:
        with open(path, "rb") as file:
            os.fsync(file.fileno())
            os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
        faults(least=1)
        warm = []
        while 0 not in warm:
            assert len(warm) < 5, warm
            warm.append(faults())
    finally:
        path.unlink()


def test_an_edge_shows_how_much_credit_it_has_used(folder):
    with hanging(folder, links=["read -> prep -> batch -> feed"],
                 actors="  prep: {kind: preprocessor, ops: [{cast: {column: x, to: f64}}]}\n") as (
                     environment, _):
        until(environment, in_step)
        run_, = json.loads(run("ps", "stuck", "--json", env=environment)[1])["runs"]
        edges = {(edge["from"], edge["to"]): edge for edge in run_["edges"]}
        ends = [edges["read.0", "prep.0"][end] for end in ("sent", "received")]
        for end in ends:
            # All 100 rows have passed.
            same((end["rows"], end["credit_used_blocks"], end["credit_used_bytes"]),
                 (100, end["blocks"], 2000))
            assert end["credit_given_blocks"] >= end["blocks"], ends
            assert end["credit_given_bytes"] >= 2000, ends
        same(*[(end["credit_given_blocks"], end["credit_given_bytes"]) for end in ends])
        same(edges["prep.0", "batch.0"]["sent"]["credit_given_blocks"], None, "tickets are enough")
        prep, = [actor for actor in look(environment)[0]["actors"] if actor["name"] == "prep.0"]
        same([(one["name"], one["blocks_timed"]) for one in prep["operations"]], [("cast", 1)])


def test_a_host_that_has_not_come_is_named(folder):
    arrays(folder)
    path = topology(folder, top="name: stuck\n", links=FED, actors=FEED % "")
    places = folder / "places.yaml"
    places.write_text(f"port: {free_port()}\nhosts:\n  a: {{actors: [read, batch]}}\n"
                      "  b: {actors: [feed]}\n")
    environment = {"XDG_RUNTIME_DIR": str(folder)}
    process = subprocess.Popen([TUNDISH, "run", "--quiet", str(path), str(places), "--host", "a"],
                               env={**os.environ, **environment})
    try:
        for told in looks(environment):
            seen = [one for one in told["runs"] if one["run"] == "stuck"]
            if [one["waiting_for"] for one in seen] == [["b"]]:
                break
        look(environment)
        same([(h["name"], h["presence"], h["waited_for"]) for h in seen[0]["hosts"]],
             [("a", "up", False), ("b", "expected", True)])
        same((seen[0]["leader"], seen[0]["state"], seen[0]["hosts"][0]["pid"]),
             ("a", "joining", process.pid))
        same([(e["from"], e["to"], e["transport"]) for e in seen[0]["edges"]],
             [("read.0", "batch.0", "inproc"), ("batch.0", "feed", "ipc")])
    finally:
        process.kill()
        process.wait()


def test_a_stopped_process_is_shown_as_stopped(folder):
    with hanging(folder) as (environment, process):
        until(environment, in_step)
        process.send_signal(signal.SIGSTOP)
        os.waitid(os.P_PID, process.pid, os.WSTOPPED | os.WNOWAIT)
        same(look(environment)[0]["state"], "stopped")
        holds(run("ps", env=environment)[1], "stopped")


def test_pages_of_a_killed_process_are_kept_for_why(folder):
    with hanging(folder) as (environment, process):
        until(environment, in_step)
        process.kill()
        process.wait()
        code, out, err = run("ps", env=environment)
        same(code, 0)
        assert "stuck" not in out, out
        holds(err, f"run stuck, host local: process {process.pid} was killed; `tundish why stuck`")
        seen, = look(environment)
        same((seen["pid"], seen["state"], seen["host"]), (process.pid, "killed", "local"))
        same(run("ps", "stuck", env=environment)[0], 0)
    with hanging(folder) as (environment, _):
        until(environment, in_step)
        holds(run("ps", env=environment)[2],
              f"process {process.pid} was killed; another has taken its place")
        assert "killed" not in run("why", "stuck", env=environment)[1]


def test_foreign_files_are_reported_and_not_trusted(folder):
    for name, content in (("tundish-a-b-1.pages", b""), ("tundish-c-d-2.pages", b"x" * 9000)):
        (folder / name).write_bytes(content)
    os.mkfifo(folder / "tundish-e-f-3.pages")
    (folder / "not-a-page").write_bytes(b"x")
    code, _, err = run("ps", env={"XDG_RUNTIME_DIR": str(folder)})
    same(code, 0)
    same(err.count("it is not of tundish"), 2)
    holds(err, "it is not a regular file")


def test_the_memory_of_a_run_is_what_explain_says(folder):
    for access in ("map", "read"):
        own = folder / access
        own.mkdir()
        with hanging(own, read=f", access: {access}") as (environment, _):
            memory = until(environment, in_step)["memory"]
            said = json.loads(run("explain", "--json", own / "graph.yaml", env=environment)[1])["hosts"][0]["memory"]
            same((memory["most_bytes"], [(term["what"], term["bytes"]) for term in memory["terms"]]),
                 (said["bytes"], [(term["what"], term["bytes"]) for term in said["terms"]]), access)
        same(any("files that are" in term["what"] for term in memory["terms"]), access == "read")


def test_a_run_of_another_version_is_reported_by_every_command(folder):
    path = folder / "tundish-old-local-1234-abc.pages"
    # A header of version 3: magic, version, bytes of an actor, number of actors, process.
    path.write_bytes(struct.pack("<8sIIIi", b"TNDPAGES", 3, 3000, 3, 1234).ljust(4 * 4096, b"\x07"))
    environment = {"XDG_RUNTIME_DIR": str(folder)}
    note = "1 page file of another version of tundish: not shown, such as " \
        f"{path} (its statistics have version 3, not "
    absent = "; 1 process of another version of tundish runs here, which only that version can show"
    with path.open() as file:
        fcntl.flock(file, fcntl.LOCK_EX)  # as its process does while it lives
        code, _, err = run("ps", env=environment)
        if "no run on this machine" in err:  # others may run here
            same(code, 0)
            holds(err, absent)
        for words, code in ((["ps", "old"], 1), (["ps", "--json", "old"], 1), (["why", "old"], 1),
                            (["why", "--json", "old"], 1), (["top", "--once", "old"], 1),
                            (["pause", "old"], 1), (["set", "feed.depth=2", "old"], 1),
                            (["tap", "feed", "-n", "1", "old"], 1), (["wait", "--timeout", "0s", "healthy", "old"], 124),
                            (["wait", "--timeout", "0s", "drained", "old"], 124)):
            result = run(*words, env=environment)
            same(result[0], code)
            holds(result[2], "no run `old` on this machine", absent)
        holds(run("ps", "old", env=environment)[2], note)
        holds("\n".join(json.loads(run("ps", "--json", "old", env=environment)[1])["unread"]), note)
        # A run of another name is not there.
        out = run("ps", "new", env=environment)[2]
        assert "no run `new` on this machine" in out and "version" not in out.split("no run")[1], out
        same(run("wait", "drained", "new", env=environment)[0], 0)
        path.unlink()
    same(run("wait", "drained", "old", env=environment)[0], 0)


def test_a_stream_shows_a_run_until_its_reader_leaves(folder):
    with hanging(folder) as (environment, process):
        until(environment, in_step)
        looks = subprocess.Popen([TUNDISH, "ps", "stuck", "--stream", "-i", "20ms"],
                                 stdout=subprocess.PIPE, env={**os.environ, **environment})
        ages = []
        for _ in range(5):
            look_ = json.loads(looks.stdout.readline())
            json_schema.check(look_, SCHEMA)
            same([one["pid"] for one in look_["processes"]], [process.pid])
            ages.append(look_["runs"][0]["age_seconds"])
        assert ages == sorted(set(ages)), ages
        looks.stdout.close()
        same(looks.wait(timeout=60), 0)
        looks = subprocess.Popen([TUNDISH, "ps", "--stream", "-i", "1h"], env=environment,
                                 stdout=subprocess.PIPE)
        looks.stdout.readline()
        looks.stdout.close()
        same(looks.wait(timeout=60), 0, "the pause ends with the reader")


def test_options_are_checked(folder):
    for words, said in ((("--stream", "-i", "1us"), "--interval takes a time from 10ms to 1h"),
                        (("--stream", "--interval=soon"), "not 'soon'"),
                        (("-i", "1s"), "--interval needs --stream"),
                        (("--pages",), "--pages needs --stream"),
                        (("--via", "ssh"), "contains {address} or {host}, such as 'ssh {address}'"),
                        (("--via", "ssh {name}"), "replaces {address} and {host}, not '{name}'")):
        code, out, err = run("ps", *words)
        same((code, out), (2, ""))
        holds(err, said)


def test_it_shows_the_run_that_is_asked_for(folder):
    code, out, err = run("ps", "absent", env={"XDG_RUNTIME_DIR": str(folder)})
    same((code, out), (1, ""))
    holds(err, "tundish ps: no run `absent` on this machine")


if __name__ == "__main__":
    main(globals())
