#!/usr/bin/env python3
"""A user touches a run that works: pause, resume, restart, set, scale, drain.  Stream and model stay the same.

Usage: touches.py NAME...; without a name it lists them.  TUNDISH_TOUCHES sets the number of random ones;
then each of them must be answered within 2 s, also while others need the processors:

    nice sh -c 'while :; do :; done' & nice sh -c 'while :; do :; done' &
    TUNDISH_TOUCHES=200 tests/e2e/touches.py random_touches_change_no_row
"""
import json
import os
import random
import re
import signal
import socket
import struct
import subprocess
import sys
import time

from faults import write_npy
from named import in_folder, run_named
from run import BUILD, ROOT, TEST_SEED, TUNDISH, alive, free_port, tundish

NAME = f"touched{os.getpid()}"  # other tests have runs at the same time
TOUCHES = int(os.environ.get("TUNDISH_TOUCHES", "20"))
ANSWER_SECONDS = 2 if "TUNDISH_TOUCHES" in os.environ else 60
GRAPH = """tundish: 1
name: {name}
seed: 7
hung_after: {hung}
{more}actors:
  read: {{kind: reader, source: {{npy: {{y: {folder}/y.npy}}}}, shuffle: global, epochs: {epochs}}}
  prep: {{kind: preprocessor, workers: {workers}, ops: [{{plugin: drag, us: {us}}}]}}
  batch: {{kind: batcher, size: {size}, replicas: 2}}
  feed: {{kind: feeder, step: {{plugin: witness}}}}
  mean: {{kind: reducer}}
links:
  - read -> prep -> batch -> feed <-> mean
"""
TWO = """hosts:
  a: {{address: 127.0.0.1, port: {port}, actors: [read, batch, feed, mean]}}
  b: {{address: 127.0.0.1, actors: [prep, feed]}}
"""


class Run:
    """A run in the background, of one process or of two."""

    def __init__(self, folder, epochs=3, us=400, hosts=False, hung="60s", workers=3, more="",
                 feeds_on_b=True, size=40, **env):
        self.folder = folder
        write_npy(folder / "y.npy", "<i8", (2000,), struct.pack("<2000q", *range(2000)))
        files = [folder / "graph.yaml"]
        files[0].write_text(GRAPH.format(name=NAME, folder=folder, epochs=epochs, us=us, hung=hung,
                                         workers=workers, more=more, size=size))
        if hosts:
            files.append(folder / "two.yaml")
            two = TWO if feeds_on_b else TWO.replace("[prep, feed]", "[prep]")
            files[1].write_text(two.format(port=free_port()))
        self.files = files
        (folder / "witness").mkdir()
        self.env = {**os.environ, "XDG_RUNTIME_DIR": str(folder), "DRAG": "1",
                    "WITNESS": str(folder / "witness"), **env,
                    "TUNDISH_PLUGIN_PATH": str(BUILD / "tests")}
        self.log = open(folder / "log", "w+")
        self.report = folder / "report.json"
        self.process = subprocess.Popen(
            [str(TUNDISH), "up" if hosts else "run", *map(str, files), "--report",
             str(self.report), "--log-level", "info"], stdout=self.log, stderr=self.log,
            env=self.env, cwd=ROOT)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.terminate()
            self.process.wait(60)
        self.log.close()

    def command(self, *words):
        """Runs a subcommand on the run; (code, output)."""
        done = subprocess.run([str(TUNDISH), *words, NAME], stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, env=self.env, timeout=60)
        return done.returncode, done.stdout

    def look(self):
        code, output = self.command("ps", "--json")
        return json.loads(output) if code == 0 else {}

    def session(self):
        """The leader's view of the run, or None."""
        runs = [run for run in self.look().get("runs", []) if run.get("state")]
        return runs[0] if runs else None

    def until(self, what, holds):
        for _ in range(600):
            session = self.session()
            if session is not None and holds(session):
                return session
            assert self.process.poll() is None, f"it ended before: {what}\n{self.text()}"
            time.sleep(0.05)
        raise AssertionError(f"never: {what}; {session}\n{self.text()}")

    def running(self):
        return self.until("it runs", lambda it: it["state"] == "running" and it["steps"] > 0)

    def end(self, code=0):
        assert self.process.wait(240) == code, self.text()
        return json.loads(self.report.read_text())

    def text(self):
        self.log.seek(0)
        return self.log.read()


def reference(run):
    return tundish("run", run.files[0], env={**run.env, "DRAG": "0"}).report


def feeds_the_same(run, report):
    expected = reference(run)
    for key in ("stream_digest", "model_digest", "rows", "steps", "epochs"):
        assert report[key] == expected[key], key


def stops(run):
    """Waits until the pause is complete; the number of steps."""
    return run.until("it has stopped", lambda it: it["paused"] and it["paused"]["step"] ==
                     it["steps"])["steps"]


ENDING = ("ends already", "is over", "has ended", "it is starting or ending", "no answer came", "no run ")


def touch_at_random(run, rounds):
    luck = random.Random(TEST_SEED)
    paused, done = False, 0
    actors = ["read", "prep.0", "prep.1", "prep.2", "batch"]
    slowest = 0
    for _ in range(rounds):
        verb = luck.choice(["pause", "resume", "pause", "resume", "restart", "set", "scale"])
        operand = {"restart": luck.choice(actors), "set": f"feed.depth={luck.choice([1, 2, 3, 5, 40])}",
                   "scale": f"prep={luck.randint(1, 3)}"}.get(verb)
        words = [verb, operand] if operand else [verb]
        asked = time.monotonic()
        code, output = run.command(*words)
        slowest = max(slowest, time.monotonic() - asked)
        if run.process.poll() is not None:
            break
        if code == 0:
            done += 1
            paused = {"pause": True, "resume": False}.get(verb, paused)
        else:
            assert code in (1, 75), (words, code, output)  # 75: no answer came
            wrong = {"pause": not paused, "resume": paused, "restart": False}.get(verb, True)
            if wrong:  # a run that ends refuses, or does not answer any more
                assert any(text in output for text in ENDING), (words, output)
                run.process.wait(60)
                break
        if not paused:
            time.sleep(luck.random() * 0.1)
    if paused:
        run.command("resume")
    print(f"{done} touches were done, the slowest answer took {slowest:.2f} s")
    assert slowest < ANSWER_SECONDS, slowest
    return done


def test_random_touches_change_no_row(folder):
    with Run(folder, epochs=4 + TOUCHES // 4, hosts=True) as run:
        run.running()
        assert touch_at_random(run, TOUCHES) > 0
        feeds_the_same(run, run.end())


def feeders(run):
    look = run.look()
    return [actor for process in look["processes"] for actor in process["actors"]
            if actor["kind"] == "feeder"]


def slots(run):
    """The batches that each feeder has or may take."""
    return {actor["queue"] + actor["credit"] for actor in feeders(run)}


def memory(run):
    """Of each host: the most bytes, and the numbers of batches that they are for."""
    seen = {}
    for process in run.look()["processes"]:
        most, terms = process["memory"]["most_bytes"], process["memory"]["terms"]
        assert most == sum(term["bytes"] for term in terms), process["memory"]
        batches = {(term["actor"], int(number[1])) for term in terms
                   if (number := re.search(r"(\d+) batches(,| while)", term["what"]))}
        seen[process["host"]] = (most, batches)
    return seen


def test_depth_is_set_on_all_hosts(folder):
    with Run(folder, epochs=1000, hosts=True) as run:
        run.running()
        assert slots(run) != {3}
        code, output = run.command("set", "feed.depth=3")
        assert code == 0 and "becomes 3 between two steps; it was auto" in output, output
        run.until("all feeders have 3 slots", lambda _: slots(run) == {3})
        # The memory that is shown is that of the plan as it is now, on each host.
        few = memory(run)
        assert few["a"][1] == {("feed@a", 3), ("batch.0", 3)} and few["b"][1] == {("feed@b", 3)}, few
        assert run.command("set", "feed.depth=103")[0] == 0
        run.until("all feeders have 103 slots", lambda _: slots(run) == {103})
        many = memory(run)
        assert many["a"][1] == {("feed@a", 103), ("batch.0", 103)} and \
            many["b"][1] == {("feed@b", 103)}, many
        assert all(many[host][0] > few[host][0] for host in "ab"), (few, many)
        assert run.command("set", "feed.depth=3")[0] == 0
        run.until("all feeders have 3 slots again", lambda _: slots(run) == {3})
        assert memory(run) == few
        code, output = run.command("set", "feed.depth=3")
        assert code == 0 and "feed.depth is set to 3 already" in output, output
        code, output = run.command("restart", "prep")
        assert code == 1 and re.search(r"there are \d+ of it; name one, such as prep\.0", output), output
        code, output = run.command("set", "feed.depth=1025")
        assert code == 1 and "from 1 to 1024, not `1025`; it is 3" in output, output
        for words, reason in (("feed.spare=3", "is read when the run starts"), ("batch.size=4", "changes the stream"),
                              ("feed.devices=x", "says where actors run"), ("feed.dept=4", "can be set in a run: depth"),
                              ("batch.dept=4", "none of its options"), ("fee.depth=4", "no actor of that name")):
            code, output = run.command("set", words)
            assert code == 1 and reason in output, (words, output)
        assert run.command("set", "feed.depth")[0] == 2
        log = run.text()
        for host in "ab":
            assert f"{host} | {host} control info set by " in log, log
        assert run.command("drain")[0] == 0
        run.end(130)


def test_memory_limits_depth(folder):
    with Run(folder, epochs=1000, more="memory: 64MiB\n", size=2000) as run:
        run.running()
        code, output = run.command("set", "feed.depth=1024")
        assert code == 1 and "`memory:` allows 64" in output, output
        code, output = run.command("set", "feed.depth=4")
        assert code == 0 and "it was auto" in output, output
        assert run.command("drain")[0] == 0
        run.end(130)


def rows_of_workers(run):
    return {actor["name"]: actor["rows_out"] for process in run.look()["processes"]
            for actor in process["actors"] if actor["kind"] == "preprocessor"}


def test_workers_fall_asleep_and_wake_up(folder):
    with Run(folder, epochs=1000, hosts=True) as run:
        run.running()
        code, output = run.command("scale", "prep=1")
        assert code == 0 and "prep: 1 of 3 workers are awake" in output, output
        run.until("two are asleep", lambda _: [actor["state"] for process in run.look()["processes"]
                                               for actor in process["actors"]].count("asleep") == 2)
        before = rows_of_workers(run)
        steps = run.session()["steps"]
        run.until("rows flow", lambda it: it["steps"] > steps + 20)
        assert [name for name, rows in rows_of_workers(run).items() if rows > before[name]] == ["prep.0"]
        code, output = run.command("scale", "prep=3")
        assert code == 0, output
        run.until("all work", lambda _: all(rows > before[name] for name, rows in rows_of_workers(run).items()))
        for words, reason in (("prep=4", "write `workers: 4`"), ("prep=0", "from 1 to 3"),
                              ("feed=1", "it is a feeder"), ("pre=1", "no actor of that name")):
            code, output = run.command("scale", words)
            assert code == 1 and reason in output, (words, output)
        assert run.command("drain")[0] == 0
        run.end(130)


def test_a_host_that_is_started_again_keeps_its_scale(folder):
    with Run(folder, epochs=1000, hosts=True, feeds_on_b=False) as run:
        run.running()
        assert run.command("scale", "prep=2")[0] == 0
        pid = next(process["pid"] for process in run.look()["processes"] if process["host"] == "b")
        os.kill(pid, signal.SIGKILL)
        run.until("prep.2 sleeps in another process", lambda _: any(
            actor["name"] == "prep.2" and actor["state"] == "asleep" and process["pid"] != pid
            for process in run.look()["processes"] for actor in process["actors"]))
        assert run.command("drain")[0] == 0
        run.end(130)


def test_a_user_limits_automatic_workers(folder):
    with Run(folder, epochs=1000, workers="auto") as run:
        run.running()
        code, output = run.command("scale", "prep=1")
        assert code == 0 or "only the workers of a preprocessor" in output, output
        code, output = run.command("scale", "prep=4096")
        assert code == 1 and "as many as `cpu:` and `memory:` allow" in output or "has 1 worker" in output, output
        assert run.command("drain")[0] == 0
        run.end(130)


def test_a_hung_actor_does_not_prevent_a_touch_of_another(folder):
    sticks = folder / "sticks"
    with Run(folder, epochs=1000, DRAG_STICKS=str(sticks)) as run:
        run.running()
        sticks.touch()
        run.until("a worker hangs", lambda _: not sticks.exists())
        for words in (["set", "feed.depth=3"], ["restart", "read"], ["scale", "prep=2"], ["pause"], ["resume"]):
            code, output = run.command(*words)
            assert code == 0, output
        run.process.kill()
        run.process.wait()


def test_a_pause_is_shown_and_ends(folder):
    with Run(folder, epochs=1000) as run:
        run.running()
        user = subprocess.check_output(["id", "-un"], text=True).strip()
        code, output = run.command("pause")
        assert code == 0 and "pauses" in output, output
        steps = stops(run)
        code, output = run.command("why")
        assert code == 11 and f"was paused by {user}" in output and "tundish resume" in output, output
        assert run.command("wait", "stalled", "--timeout", "60s")[0] == 0
        assert f"paused by {user}" in run.command("ps")[1]
        assert f"paused by {user}" in run.command("top", "--once")[1]
        assert run.session()["steps"] == steps
        code, output = run.command("pause")
        assert code == 1 and "paused already" in output, output
        code, output = run.command("wait", "healthy", "--timeout", "2s")
        assert code == 124 and output.count("waiting: ") == output.count(f"waiting: {NAME} was paused by {user}") == 1, output
        assert run.command("resume")[0] == 0
        run.until("it continues", lambda it: it["steps"] > steps and it["paused"] is None)
        code, output = run.command("resume")
        assert code == 1 and "not paused" in output, output
        assert run.command("drain")[0] == 0
        run.end(130)
        assert run.command("wait", "drained", "--timeout", "60s")[0] == 0
        log = run.text()
        for verb in ("pause", "resume", "drain"):
            assert f"{verb} by {user}, after " in log, (verb, log)


def test_a_paused_run_drains_where_it_stopped(folder):
    with Run(folder, epochs=1000) as run:
        run.running()
        assert run.command("pause")[0] == 0
        steps = stops(run)
        assert run.command("drain")[0] == 0
        assert run.end(130)["steps"] == steps


def test_a_host_that_does_not_lead_passes_touches_on(folder):
    with Run(folder, epochs=1000, hosts=True) as run:
        run.running()
        pages = {page.name.split("-")[2]: page for page in folder.glob(f"tundish-{NAME}-*.pages")}
        path = folder / f"tundish-{pages['b'].stat().st_ino:x}.touch"
        with socket.socket(socket.AF_UNIX) as client:
            client.settimeout(60)
            client.connect(str(path))
            client.sendall(b"alice pause\n")
            assert client.recv(500).startswith(f"ok {NAME} pauses".encode())
        steps = stops(run)
        assert run.session()["paused"]["by"] == "alice"
        assert run.command("restart", "prep.1")[0] == 0
        assert run.command("resume")[0] == 0
        run.until("it continues", lambda it: it["steps"] > steps)
        # The logs of both hosts record it.
        look = run.look()
        logs = {process["host"]: json.dumps(process) for process in look["processes"]}
        assert "pause by alice" in json.dumps(look), sorted(logs)


def test_a_touch_goes_to_another_machine_by_a_command(folder):
    with Run(folder, epochs=1000) as run:
        run.running()
        there = {**run.env, "PATH": f"{TUNDISH.parent}:{os.environ['PATH']}"}
        here = {**there, "XDG_RUNTIME_DIR": str(folder / "witness")}

        def touch(*words, leader="127.0.0.1:7100", via=f"env XDG_RUNTIME_DIR={folder} AT={{address}}"):
            done = subprocess.run([str(TUNDISH), *words, "--via", via, "--leader", leader], env=here,
                                  stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=60)
            return done.returncode, done.stdout

        code, output = touch("set", "feed.depth=3", NAME)
        assert code == 0 and "becomes 3" in output, output
        code, output = touch("set", "feed.depth=0", NAME)
        assert code == 1 and "it is 3" in output, output
        assert touch("pause", NAME)[0] == 0
        stops(run)
        assert touch("pause", "absent")[0] == 1
        for words, code, said in (
                ({"via": "python3 -c exit(9)#{address}"}, 75, "ended with 9"),
                ({"via": "/absent {address}"}, 75, "/absent: No such file"),
                ({"via": "ssh"}, 2, "{address}"), ({"via": "ssh {host}"}, 2, "{host}"),
                ({"leader": "nowhere"}, 2, "10.0.0.1:7100"), ({"leader": "-oProxyCommand=x:1"}, 75, "characters")):
            found, output = touch("resume", NAME, **words)
            assert found == code and said in output, (words, found, output)
        code, output = touch("resume", "a;b")
        assert code == 2 and "does not pass on" in output, output
        code, output = run.command("resume", "--leader", "127.0.0.1:7100")
        assert code == 2 and "add --via" in output, output
        assert touch("drain", NAME)[0] == 0
        run.end(130)


def test_garbage_and_silent_clients_change_nothing(folder):
    with Run(folder) as run:
        run.running()
        path = str(next(folder.glob("*.touch")))
        clients = []
        for number in range(40):
            client = socket.socket(socket.AF_UNIX)
            client.setblocking(False)
            try:
                client.connect(path)
                client.send([b"", b"x" * 5000, b"root pau", b"\0\xff\n"][number % 4])
            except (BlockingIOError, BrokenPipeError):
                pass
            clients.append(client)
        report = run.end()
        assert report["stream_digest"] == reference(run)["stream_digest"]
        for client in clients:
            client.close()
        assert not list(folder.glob("*.touch"))


def test_a_touch_right_after_the_first_step_and_after_a_restart_is_accepted(folder):
    """A process that was just started has a session of its own, until it has met its leader."""
    with Run(folder, epochs=100000, hosts=True, feeds_on_b=False) as run:
        run.running()
        for verb in ("pause", "resume"):
            code, output = run.command(verb)
            assert code == 0, output
        pid = next(process["pid"] for process in run.look()["processes"] if process["host"] == "b")
        os.kill(pid, signal.SIGKILL)
        for verb in ("pause", "resume") * 6:
            code, output = run.command(verb)
            assert code == 0, output
        run.until("b is there again", lambda it: any(
            process["host"] == "b" and process["pid"] != pid for process in run.look()["processes"]))
        assert run.command("drain")[0] == 0
        run.end(130)


def test_a_stopped_worker_does_not_prevent_a_touch(folder):
    with Run(folder, epochs=1000, hosts=True, feeds_on_b=False) as run:
        run.running()
        pid = next(process["pid"] for process in run.look()["processes"]
                   if process["host"] == "b")
        os.kill(pid, signal.SIGSTOP)
        try:
            assert run.command("pause")[0] == 0
            assert run.command("resume")[0] == 0
            assert run.command("pause")[0] == 0
            stops(run)
        finally:
            if alive(pid):
                os.kill(pid, signal.SIGCONT)
        assert run.command("drain")[0] == 0
        run.end(130)


if __name__ == "__main__":
    sys.exit(run_named(globals(), sys.argv[1:], in_folder, f"; seed {TEST_SEED}"))
