#!/usr/bin/env python3
"""A run over three machines is seen from one of them, by `--via` and by `--leader`.

Usage: remote_hosts.py [NAME...]; without a name it lists them.  Each host has a network and a mount
namespace of its own, so that its statistics cannot be read elsewhere.  Where that cannot be made
(not root) the tests are skipped.  `--via` is a script that enters the namespaces of a host; files
beside it make it break.
"""
import contextlib
import json
import os
import pathlib
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request

from faults import write_npy
from named import run_named
from run import BUILD, ROOT, SKIP, TUNDISH, alive

INSIDE = "TUNDISH_REMOTE_HOSTS"  # set in the namespaces that the script makes for itself
GRAPH = """tundish: 1
name: spread
seed: 7
data: {data}
actors:
  read: {{kind: reader, source: {{npy: {{x: "${{data}}/x.npy"}}}}, epochs: 100000}}
  prep: {{kind: preprocessor, ops: [{{plugin: drag, us: 2000}}]}}
  batch: {{kind: batcher, size: 16}}
  feed: {{kind: feeder}}
links:
  - read -> prep -> batch -> feed
"""
HOSTS = """port: 7100
insecure: true
hosts:
  a: {address: 10.0.1.1, actors: [read, batch, feed]}
  b: {address: 10.0.1.2, actors: [prep]}
  c: {address: 10.0.2.2, actors: [prep]}
"""
#  FOLDER/HOST.silent: it never answers; HOST.path: where it finds programs.
VIA = """#!/bin/sh
echo $$ > {folder}/$1.pid.new && mv {folder}/$1.pid.new {folder}/$1.pid
host=$1; shift
[ -e {folder}/$host.silent ] && exec sleep 1000
[ -e {folder}/$host.path ] && PATH=$(cat {folder}/$host.path)
exec {nsenter} --net={folder}/$host.net --mount={folder}/$host.mnt "$@"
"""
END_S = 60


def call(*line):
    subprocess.run(line, check=True, stdout=subprocess.DEVNULL)


class Machine:
    """The namespaces of a host and the link to it."""

    def __init__(self, folder, name, number):
        pages = os.environ["XDG_RUNTIME_DIR"]
        self.name = name
        self.holder = subprocess.Popen(
            ["unshare", "-n", "-m", "sh", "-c",
             f"mount -t tmpfs none {pages} && echo ready; exec cat"],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        assert self.holder.stdout.readline() == b"ready\n"
        for kind, file in (("net", "net"), ("mnt", "mnt")):
            (folder / f"{name}.{file}").symlink_to(f"/proc/{self.holder.pid}/ns/{kind}")
        self.there = ["nsenter", "-t", str(self.holder.pid), "-n", "-m"]
        call("ip", "link", "add", f"to_{name}", "type", "veth", "peer", "name", "far")
        call("ip", "link", "set", "far", "netns", str(self.holder.pid))
        call("ip", "address", "add", f"10.0.{number}.1/24", "dev", f"to_{name}")
        call("ip", "link", "set", f"to_{name}", "up")
        call(*self.there, "ip", "address", "add", f"10.0.{number}.2/24", "dev", "far")
        call(*self.there, "ip", "link", "set", "far", "up")
        call(*self.there, "ip", "link", "set", "lo", "up")
        call(*self.there, "ip", "route", "add", "default", "via", f"10.0.{number}.1")

    def close(self):
        subprocess.run(["ip", "link", "delete", f"to_{self.name}"], check=False)
        self.holder.stdin.close()
        self.holder.stdout.close()
        self.holder.wait()


class Spread:
    """A run over three machines."""

    def __init__(self, folder):
        self.folder = folder
        self.graph, self.hosts = folder / "graph.yaml", folder / "hosts.yaml"
        self.graph.write_text(GRAPH.format(data=folder))
        self.hosts.write_text(HOSTS)
        write_npy(folder / "x.npy", "<f4", (64, 4), bytes(64 * 16))
        self.via = folder / "via"
        self.via.write_text(VIA.format(folder=folder, nsenter=shutil.which("nsenter")))
        self.via.chmod(0o755)
        self.machines = {name: Machine(folder, name, number)
                         for name, number in (("b", 1), ("c", 2))}
        self.way = ["--via", f"{self.via} {{host}}"]
        self.processes, self.logs = {}, []
        for name in "abc":
            self.start(name)

    def start(self, name):
        there = self.machines[name].there if name in self.machines else []
        self.logs.append(open(self.folder / f"{name}.log", "w+"))
        self.processes[name] = subprocess.Popen(
            [*there, str(TUNDISH), "run", str(self.graph), str(self.hosts), "--host", name],
            stdout=self.logs[-1], stderr=self.logs[-1], cwd=ROOT)

    def words(self, *words):
        return [str(TUNDISH), *words, "spread", *self.way]

    def tool(self, *words):
        """Exit code, stdout and stderr of a command with --via."""
        done = subprocess.run(self.words(*words), stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              text=True, timeout=END_S)
        return done.returncode, done.stdout, done.stderr

    def tool_without_problems(self, *words):
        """Output of a command once all hosts answer within its patience."""
        end = time.monotonic() + END_S
        while time.monotonic() < end:
            code, out, err = self.tool(*words)
            if code == 0 and "host " not in err:
                return out
        raise AssertionError(err)

    def fault(self, reason):
        """The fault of this reason that `why` names."""
        end = time.monotonic() + END_S
        while time.monotonic() < end:
            code, out, err = self.tool("why", "--json")
            assert code in (0, 1, 10, 11), (code, err)
            for fault in json.loads(out)["runs"][0]["faults"]:
                if fault["reason"] == reason:
                    return fault
        raise AssertionError((reason, out, err))

    def look(self):
        code, out, err = self.tool("ps", "--json")
        early = code == 1 and err.startswith(
            ("tundish ps: no run `spread` on this machine (looked ",
             "tundish ps: no run `spread` is shown by the leader at 10.0.1.1:7100"))
        assert early or (code, err) == (0, ""), (code, out, err)
        return json.loads(out)

    def until(self, what, true):
        """Looks until `true(look)`."""
        end = time.monotonic() + END_S
        while time.monotonic() < end:
            seen = self.look()
            if true(seen):
                return seen
        raise AssertionError(f"{what}: {json.dumps(seen)[:6000]}\n{self.said()}")

    def until_it_flows(self):
        return self.until("no worker on b and c", lambda seen: all(
            any(actor["rows_per_second"] > 0 for actor in process["actors"])
            for process in seen["processes"]) and hosts_of(seen) == ["a", "b", "c"] and
            not unread_of(seen, ""))

    @staticmethod
    def here():
        """The run as this machine alone shows it."""
        done = subprocess.run([str(TUNDISH), "ps", "--json", "spread"],
                              stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        return (json.loads(done.stdout)["runs"] or [{"hosts": [], "steps": 0}])[0]

    def until_connected(self):
        end = time.monotonic() + END_S
        while [host["presence"] for host in self.here()["hosts"]] != ["up"] * 3:
            assert time.monotonic() < end, self.said()

    def said(self):
        return "\n".join((self.folder / f"{name}.log").read_text()[-2000:] for name in "abc")

    def close(self):
        for process in self.processes.values():
            process.kill()
        for process in self.processes.values():
            process.wait()
        for machine in self.machines.values():
            machine.close()
        for log in self.logs:
            log.close()


def hosts_of(seen):
    return sorted(process["host"] for process in seen["processes"])


def unread_of(seen, host):
    return [line for line in seen["unread"] if line.startswith(f"host {host}")]


def has(text, *parts):
    for part in parts:
        assert part in text, f"{part!r} is not in:\n{text}"


def test_all_hosts_are_shown(folder):
    with contextlib.closing(Spread(folder)) as spread:
        seen = spread.until_it_flows()
        at = {process["host"]: process for process in seen["processes"]}
        assert {name: process["machine"] for name, process in at.items()} == \
            {"a": None, "b": "10.0.1.2", "c": "10.0.2.2"}, at
        assert {name: process["pid"] for name, process in at.items()} == \
            {name: process.pid for name, process in spread.processes.items()}, at
        workers = {name: [actor["name"] for actor in at[name]["actors"]] for name in "bc"}
        assert sorted(workers["b"] + workers["c"]) == ["prep.0", "prep.1"], workers
        # A worker needs at least 2 ms for a row, so its counters limit its age.
        for worker in (at[name]["actors"][0] for name in "bc"):
            age = sum(worker["times"].values())
            assert 0 < worker["rows_out"] <= age / 0.002 and age < END_S, worker
        # The edges between machines are seen from both ends.
        ends = {(edge["from"], edge["to"]): edge for edge in seen["runs"][0]["edges"]}
        edge = ends["read.0", workers["b"][0]]
        assert edge["transport"] == "tcp" and edge["received"]["rows"] > 0, edge
        out = spread.tool_without_problems("ps", "spread")
        has(out, " prep.0 ", " prep.1 ", *[str(process.pid) for process in spread.processes.values()])
        # A process there that was stopped is shown as such.
        os.kill(spread.processes["b"].pid, signal.SIGSTOP)
        seen = spread.until("b is not shown as stopped", lambda seen: [
            process["state"] for process in seen["processes"] if process["host"] == "b"] ==
            ["stopped"] and not unread_of(seen, ""))
        assert hosts_of(seen) == ["a", "b", "c"]
        pid = spread.processes["b"].pid
        fault = spread.fault("stopped")
        assert (fault["host"], fault["actor"], fault["pid"], fault["action"]) == \
            ("b", workers["b"][0], pid, f"kill -CONT {pid} on 10.0.1.2 continues it"), fault
        # So is one that was killed.
        spread.processes["b"].kill()
        spread.processes["b"].wait()
        fault = spread.fault("killed")
        assert (fault["host"], fault["actor"], fault["pid"]) == ("b", workers["b"][0], pid), fault


def test_hosts_that_do_not_answer(folder):
    (folder / "c.silent").touch()
    old = folder / "old"
    old.mkdir()
    (old / "tundish").write_text("#!/bin/sh\necho 'tundish ps: unknown option --stream' >&2\n"
                                 "exit 2\n")
    (old / "tundish").chmod(0o755)
    (folder / "b.path").write_text(f"{old}:/usr/bin:/bin")
    with contextlib.closing(Spread(folder)) as spread:
        spread.until_connected()

        def reported(seen):
            return [(unread_of(seen, host) or [""])[0] for host in "bc"]
        seen = spread.until("b or c is not reported", lambda seen: all(
            "for the leader it is connected" in line for line in reported(seen)))
        older, silent = reported(seen)
        has(older, "host b (10.0.1.2): the tundish there is older than this one",
            "unknown option --stream", "install the same version on both machines")
        has(silent, "host c (10.0.2.2): no answer by", "for 2.")
        assert hosts_of(seen) == ["a"], hosts_of(seen)
        (folder / "c.silent").unlink()
        # A machine without the program, and one whose greeting is not a look.
        (folder / "b.path").write_text("/usr/bin:/bin")
        seen = spread.look()
        has(unread_of(seen, "b")[0], "nsenter: failed to execute tundish", "is tundish in the PATH")
        (old / "tundish").write_text("#!/bin/sh\necho Welcome\n"
                                     "while echo '{\"version\": 1, \"actor_bytes\": 8, "
                                     "\"record_bytes\": 8}'; do sleep 0.1; done\n")
        (folder / "b.path").write_text(f"{old}:/usr/bin:/bin")
        has(unread_of(spread.look(), "b")[0], "the tundish there is older: its statistics have "
            "version 1", "install the same version")
        # A machine on which the run has no process of this user.
        (old / "tundish").write_text(f"#!/bin/sh\nexec unshare -m sh -c 'mount -t tmpfs none "
                                     f"$XDG_RUNTIME_DIR && exec {TUNDISH} ps --stream --pages'\n")
        has(unread_of(spread.look(), "b")[0], "no process of run spread is there for this user")


def test_a_host_that_stops_answering_is_silent(folder):
    with contextlib.closing(Spread(folder)) as spread:
        spread.until_it_flows()
        with subprocess.Popen(spread.words("ps", "--stream", "-i", "100ms"),
                              stdout=subprocess.PIPE) as stream:
            def until(what, true):
                end = time.monotonic() + END_S
                while not true(seen := json.loads(stream.stdout.readline())):
                    assert time.monotonic() < end, (what, seen, spread.said())
                return seen

            def states(seen):
                return {process["host"]: process["state"] for process in seen["processes"]}
            alike = {"a": "running", "b": "running", "c": "running"}
            try:
                seen = until("all run", lambda seen: states(seen) == alike)
                worker = process_of(seen, "c")["actors"][0]["name"]
                command = int((folder / "c.pid").read_text())
                # The command prints nothing more; the run itself continues.
                os.kill(command, signal.SIGSTOP)
                seen = until("it is silent", lambda seen: states(seen) == {**alike, "c": "silent"})
                assert process_of(seen, "c")["actors"][0]["name"] == worker, seen
                has(unread_of(seen, "c")[0], "host c (10.0.2.2): no answer by", "since its last one",
                    "for the leader it is connected", "it is shown as it was")
                os.kill(command, signal.SIGCONT)
                until("it answers again", lambda seen: states(seen) == alike)
                # The command ends.
                (folder / "c.silent").touch()
                os.kill(command, signal.SIGKILL)
                seen = until("it has ended", lambda seen: states(seen) == {**alike, "c": "silent"})
                has(unread_of(seen, "c")[0], "was killed by signal 9", "it is shown as it was")
            finally:
                stream.kill()


def test_top_shows_all_hosts(folder):
    with contextlib.closing(Spread(folder)) as spread:
        spread.until_it_flows()
        end = time.monotonic() + END_S
        while True:
            code, out, err = spread.tool("top", "--once", "--json")
            assert (code, err) == (0, ""), (code, out, err)
            seen = json.loads(out)
            if hosts_of(seen) == ["a", "b", "c"] and not seen["unread"]:
                break
            assert time.monotonic() < end, (out, spread.said())
        # A machine that does not answer keeps its line, and the log says why.
        (folder / "b.path").write_text("/nowhere")
        spread.via.write_text("#!/bin/sh\nexec sleep 1000\n")
        code, out, err = spread.tool("top", "--once")
        assert (code, err) == (0, ""), (code, out, err)
        has(out, "host b", "no answer by")


def check_signals_reach_main(pid):
    """The threads of a process but the first leave SIGTERM to that one, which waits for it."""
    for thread in pathlib.Path(f"/proc/{pid}/task").iterdir():
        blocked = re.search(r"SigBlk:\t(\w+)", (thread / "status").read_text())[1]
        assert thread.name == str(pid) or int(blocked, 16) >> signal.SIGTERM - 1 & 1, \
            (thread / "comm").read_text()


def watch_until_all_hosts(spread):
    """Serves looks until one has all hosts."""
    watch = subprocess.Popen(spread.words("watch", "--http", "127.0.0.1:0", "-i", "100ms"),
                             stderr=subprocess.PIPE, text=True)
    try:
        address = watch.stderr.readline().split(" at ")[1].split("/;")[0]
        with urllib.request.urlopen(f"{address}/live", timeout=END_S) as looks:
            # A look is a line with its number, one with its data, and an empty one.
            seen = {"processes": [], "unread": []}
            while hosts_of(seen) != ["a", "b", "c"] or unread_of(seen, ""):
                line = looks.readline().decode()
                assert line, spread.said()
                seen = json.loads(line[6:]) if line.startswith("data: ") else seen
        with urllib.request.urlopen(f"{address}/metrics", timeout=END_S) as answer:
            metrics = answer.read().decode()
        check_signals_reach_main(watch.pid)
        for host in "abc":
            has(metrics, f'tundish_actor_rows_out_total{{run="spread",host="{host}",')
    finally:
        watch.terminate()
        said = watch.communicate(timeout=END_S)[1]
    assert watch.returncode == 0, (watch.returncode, said)


def test_watch_serves_all_hosts(folder):
    with contextlib.closing(Spread(folder)) as spread:
        spread.until_it_flows()
        watch_until_all_hosts(spread)
        children = [int((folder / f"{name}.pid").read_text()) for name in "bc"]
        end = time.monotonic() + END_S
        while any(map(alive, children)):
            assert time.monotonic() < end, children


def test_an_inspector_changes_nothing(folder):
    with contextlib.closing(Spread(folder)) as spread:
        spread.until_it_flows()
        inspector = subprocess.Popen(spread.words("ps", "--stream", "-i", "10ms"),
                                     stdout=subprocess.PIPE)
        while hosts_of(json.loads(inspector.stdout.readline())) != ["a", "b", "c"]:
            pass  # on a busy machine, a host may answer later than in 2 s
        children = [int((folder / f"{name}.pid").read_text()) for name in "bc"]
        # It is stopped, so that its children cannot write; then it is killed.
        inspector.send_signal(signal.SIGSTOP)
        before = spread.here()["steps"]
        end = time.monotonic() + END_S
        while spread.here()["steps"] < before + 20:
            assert time.monotonic() < end, spread.said()
        inspector.kill()
        inspector.wait()
        inspector.stdout.close()
        while any(map(alive, children)):
            assert time.monotonic() < end, children
        spread.processes["a"].send_signal(signal.SIGTERM)
        codes = {name: process.wait(END_S) for name, process in spread.processes.items()}
        assert codes == {"a": 130, "b": 130, "c": 130}, (codes, spread.said())
        assert "silent" not in spread.said() and "is away" not in spread.said(), spread.said()


def by_leader(spread):
    """Looks by the leader's port, without access to the pages of this machine."""
    spread.way = ["--leader", "10.0.1.1:7100"]
    return spread


def process_of(seen, host):
    return next(process for process in seen["processes"] if process["host"] == host)


def test_leader_shows_all_hosts(folder):
    with contextlib.closing(by_leader(Spread(folder))) as spread:
        seen = spread.until_it_flows()
        at = {process["host"]: process for process in seen["processes"]}
        assert {name: process["machine"] for name, process in at.items()} == \
            {"a": "10.0.1.1", "b": "10.0.1.2", "c": "10.0.2.2"}, at
        assert {name: process["pid"] for name, process in at.items()} == \
            {name: process.pid for name, process in spread.processes.items()}, at
        watch_until_all_hosts(spread)
        workers = {name: at[name]["actors"][0]["name"] for name in "bc"}
        assert sorted(workers.values()) == ["prep.0", "prep.1"], workers
        # An inspector that looks all the time keeps a host that stopped on the screen.
        with subprocess.Popen(spread.words("ps", "--stream", "-i", "100ms"),
                              stdout=subprocess.PIPE) as stream:
            try:
                while hosts_of(json.loads(stream.stdout.readline())) != ["a", "b", "c"]:
                    pass
                spread.processes["b"].send_signal(signal.SIGSTOP)
                seen = {"processes": []}
                while "silent" not in [process["state"] for process in seen["processes"]]:
                    seen = json.loads(stream.stdout.readline())
                assert hosts_of(seen) == ["a", "b", "c"], hosts_of(seen)
                silent = process_of(seen, "b")
                assert (silent["state"], silent["actors"][0]["name"]) == ("silent", workers["b"])
                assert process_of(seen, "c")["state"] == "running", seen
                # The fault is named with host and actor.
                fault = spread.fault("away")
                assert (fault["host"], fault["actor"]) == ("b", workers["b"]), fault
                # The leader itself.
                spread.processes["a"].send_signal(signal.SIGSTOP)
                begun = time.monotonic()
                while not any("the leader at 10.0.1.1:7100 does not answer" in line
                              for line in seen["unread"]):
                    seen = json.loads(stream.stdout.readline())
                print(f"the leader's silence was reported after {time.monotonic() - begun:.1f} s")
                assert hosts_of(seen) == ["a", "b", "c"], hosts_of(seen)
                code, out, err = spread.tool("why")
                assert code == 1 and "does not answer" in err, (code, out, err)
            finally:
                stream.kill()
        for name in "ab":
            spread.processes[name].send_signal(signal.SIGCONT)
        code, out, err = spread.tool("top", "--once")
        end = time.monotonic() + END_S
        while code != 0:
            assert time.monotonic() < end, (code, out, err)
            code, out, err = spread.tool("top", "--once")
        has(out, "10.0.1.2", "10.0.2.2")


def test_leader_that_is_not_there(folder):
    with contextlib.closing(by_leader(Spread(folder))) as spread:
        spread.until_connected()
        for words, why in ((["--leader", "10.0.1.1:7101"], "nothing listens there"),
                           (["--leader", "10.0.1.9:7100"], "does not answer")):
            spread.way = words
            code, _, err = spread.tool("ps")
            assert code == 1 and why in err, (code, err)
        for words in (["--leader", "10.0.1.1"], ["--leader", "10.0.1.1:0"], ["--leader", ":7"],
                      ["--leader", "a b:7100"], ["--leader", "a:7100", "--via", "x {host}"]):
            spread.way = words
            code, _, err = spread.tool("ps")
            assert code == 2 and "--leader" in err, (code, err)
        by_leader(spread)
        # Another user of the leader's machine sees nothing, whichever address it asks.
        other = ["setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups"]
        done = subprocess.run([*other, *spread.words("ps")], stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, text=True, timeout=END_S)
        assert done.returncode == 1 and done.stdout == "", done
        has(done.stderr, "refused: the run belongs to another user of this machine")


def test_hostile_inspectors_change_nothing(folder):
    with contextlib.closing(by_leader(Spread(folder))) as spread:
        spread.until_it_flows()
        stopped = [subprocess.Popen(spread.words("ps", "--stream", "-i", "50ms"),
                                    stdout=subprocess.PIPE) for _ in range(2)]
        for inspector in stopped:
            inspector.stdout.readline()
        stopped[0].send_signal(signal.SIGSTOP)  # with its socket open
        stopped[1].kill()
        # Connections that say nothing, and garbage with and without a greeting of ZeroMQ.
        silent = [socket.create_connection(("10.0.1.1", 7100)) for _ in range(20)]
        greeting = b"\xff" + bytes(8) + b"\x7f\x03\x00NULL" + bytes(16 + 1 + 31)
        for number, connection in enumerate(silent):
            with contextlib.suppress(OSError):
                connection.sendall((greeting if number % 2 else b"") + os.urandom(5000))
        before = spread.here()["steps"]
        end = time.monotonic() + END_S
        while spread.here()["steps"] < before + 20:
            assert time.monotonic() < end, spread.said()
        spread.until("it is not shown any more", lambda seen: hosts_of(seen) == ["a", "b", "c"])
        for connection in silent:
            connection.close()
        for inspector in stopped:
            inspector.kill()
            inspector.wait()
            inspector.stdout.close()
        spread.processes["a"].send_signal(signal.SIGTERM)
        codes = {name: process.wait(END_S) for name, process in spread.processes.items()}
        assert codes == {"a": 130, "b": 130, "c": 130}, (codes, spread.said())


def main():
    names = sys.argv[1:]
    if names and INSIDE not in os.environ:
        if os.geteuid() != 0 or not all(map(shutil.which, ("ip", "unshare", "nsenter"))):
            print("skipped: namespaces need root")
            return SKIP
        probe = ["unshare", "-n", "-m", "sh", "-c", "mount -t tmpfs none /mnt && "
                 "ip link add far0 type veth peer name far1"]
        if subprocess.run(probe, stderr=subprocess.DEVNULL).returncode != 0:
            print("skipped: this kernel lets no namespaces be made")
            return SKIP
        os.execvpe("unshare", ["unshare", "-n", "-m", sys.executable, *sys.argv],
                   {**os.environ, INSIDE: "1"})
    call("ip", "link", "set", "lo", "up") if names else None

    def each(test):
        with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryDirectory() as pages:
            os.environ["XDG_RUNTIME_DIR"] = pages
            os.environ["TUNDISH_PLUGIN_PATH"] = str(BUILD / "tests")
            os.environ["PATH"] = f"{BUILD}:{os.environ['PATH']}"
            test(pathlib.Path(folder))
    return run_named(globals(), names, each)


if __name__ == "__main__":
    sys.exit(main())
