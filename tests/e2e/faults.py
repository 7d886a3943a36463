#!/usr/bin/env python3
"""Faults in real processes: the run recovers with the same stream, or ends with one sentence.

Usage: faults.py NAME...; without a name it lists them.  A run that recovers is drained afterwards, and
its digest must be that of one process over as many steps.
"""
import json
import os
import re
import pathlib
import resource
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import time

from named import run_named
from relay import DIALLER, TARGET, Relay
from run import BUILD, ROOT, TUNDISH, free_range

ROWS = 4000
GRAPH = """tundish: 1
name: faults
seed: 7
data: {data}
actors:
  read: {{kind: reader, source: {{npy: {{image: "${{data}}/image.npy", label: "${{data}}/label.npy"}}}}, shuffle: global, epochs: {epochs}}}
  prep: {{kind: preprocessor, ops: [{{scale: {{column: image, to: f32, range: [0, 1]}}}}]}}
  batch: {{kind: batcher, size: 128, replicas: 4, remainder: keep, block: 100 rows}}
  feed: {{kind: feeder, depth: 4}}
links:
  - read -> prep -> batch -> feed
"""
THREE = """port: {port}
ports: {ports}
{settings}
hosts:
  a: {{address: {address}, transport: tcp, actors: [read, batch]}}
  b: {{address: 127.0.0.1, transport: tcp, actors: [prep], workers: {{prep: 2}}}}
  c: {{address: 127.0.0.1, transport: tcp, actors: [feed]}}
"""
LANES = """port: {port}
{settings}
hosts:
  a: {{address: 127.0.0.1, lanes: 1 each, data: {data}, actors: [read, prep, batch, feed]}}
  b: {{address: 127.0.0.1, lanes: 1 each, data: {other}, actors: [read, prep, batch, feed]}}
"""

DATA_ON_TWO = """port: {port}
ports: {ports}
hosts:
  a: {{address: {address}, transport: tcp, lanes: 1, actors: [read, prep, batch]}}
  b: {{address: 127.0.0.1, transport: tcp, lanes: 1, actors: [read, prep, batch]}}
  c: {{address: 127.0.0.1, transport: tcp, actors: [feed]}}
"""
TWO = """port: {port}
hosts:
  a: {{address: 127.0.0.1, lanes: 1, actors: [read, prep, batch, feed, mean]}}
  b: {{address: 127.0.0.1, lanes: 1, actors: [read, prep, batch, feed]}}
"""


def write_npy(path, dtype, shape, data):
    header = f"{{'descr': '{dtype}', 'fortran_order': False, 'shape': {shape}, }}".encode()
    header += b" " * (63 - (10 + len(header)) % 64) + b"\n"
    path.write_bytes(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header + data)


def write_data(folder, rows=ROWS, labels=ROWS, start=1):
    """Images and labels whose every byte is known."""
    folder.mkdir(exist_ok=True)
    state, image = start, bytearray()
    for _ in range(rows * 16 // 8):
        state = (state * 6364136223846793005 + 1442695040888963407) % (1 << 64)
        image += struct.pack("<Q", state)
    write_npy(folder / "image.npy", "|u1", (rows, 16), bytes(image))
    write_npy(folder / "label.npy", "|u1", (labels,), bytes(i % 10 for i in range(labels)))


def until(what, condition, seconds=20):
    """Waits for a condition to come true; what it returned."""
    end = time.monotonic() + seconds
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > end:
            raise AssertionError(f"not within {seconds} s: {what() if callable(what) else what}")
        time.sleep(0.01)


class Cluster:
    """The processes of one run, their output and the steps that the leader wrote."""

    def __init__(self, folder, epochs=1000000, address="127.0.0.1", settings="", graph=None,
                 overlay=None, data=None):
        self.folder = folder
        if data is None:
            data = folder / "data"
            write_data(data)
        self.graph = folder / "graph.yaml"
        self.graph.write_text((graph or GRAPH).format(data=data, epochs=epochs))
        self.first = free_range(address)
        self.port, self.ports = self.first, range(self.first + 1, self.first + 8)
        self.overlay = folder / "overlay.yaml"
        self.overlay.write_text((overlay or THREE).format(
            port=self.port, ports=f"{self.ports[0]}-{self.ports[-1]}", address=address,
            settings=settings, data=data, other=folder / "other"))
        self.metrics, self.report = folder / "metrics.jsonl", folder / "report.json"
        self.metrics.unlink(missing_ok=True)
        self.hosts = {}

    def start(self, host, env=None, files=None):
        line = [str(TUNDISH), "run", *map(str, files or (self.graph, self.overlay)), "--host", host]
        if host == "a":
            line += ["--metrics", str(self.metrics), "--report", str(self.report)]
        with open(self.folder / f"{host}.log", "w") as log:
            self.hosts[host] = subprocess.Popen(line, stdout=log, stderr=log, cwd=ROOT,
                                                env={**os.environ, **(env or {})})

    def start_all(self, hosts="abc", env=None, leader=False):
        for host in hosts:
            self.start(host, env=None if host == "a" and not leader else env)

    def said(self, host):
        return (self.folder / f"{host}.log").read_text()

    def all_said(self):
        return "".join(f"--- {host}\n{self.said(host)[-1500:]}" for host in self.hosts)

    def hears(self, host, text, seconds=20):
        until(lambda: f"{text!r} from {host}\n{self.all_said()}",
              lambda: text in self.said(host), seconds)

    def steps(self):
        """How many steps the leader has written."""
        if not self.metrics.exists():
            return 0
        with open(self.metrics, "rb") as file:
            file.seek(max(0, self.metrics.stat().st_size - 4096))
            whole = file.read().split(b"\n")[:-1]
        return json.loads(whole[-1])["step"] + 1 if whole and whole[-1][:1] == b"{" else 0

    def reaches(self, steps, seconds=20):
        until(lambda: f"{steps} steps; there are {self.steps()}\n{self.all_said()}",
              lambda: self.steps() >= steps, seconds)

    def goes_on(self, seconds=20):
        """More than whatever can be under way has been done from now on."""
        self.reaches(self.steps() + 500, seconds)

    def ends(self, host, code, seconds=20):
        try:
            got = self.hosts[host].wait(seconds)
        except subprocess.TimeoutExpired:
            raise AssertionError(f"{host} has not ended within {seconds} s\n{self.all_said()}")
        assert got == code, f"{host} ended with {got}, not {code}\n{self.all_said()}"

    def drains(self, by="a"):
        """Ends in order, and what was fed is what one process feeds in as many steps."""
        self.hosts[by].send_signal(signal.SIGINT)
        for host in self.hosts:
            self.ends(host, 130)
        told = json.loads(self.report.read_text())
        plain = self.alone("--steps", str(told["steps"]))
        assert told["steps"] == plain["steps"], (told["steps"], plain["steps"])
        assert told["stream_digest"] == plain["stream_digest"], \
            f"another stream after {told['steps']} steps\n{self.all_said()}"

    def alone(self, *words, env=None):
        """What one process reports of the same graph."""
        report = self.folder / "alone.json"
        done = subprocess.run([str(TUNDISH), "run", str(self.graph), *words, "--report",
                               str(report), "--quiet"], cwd=ROOT, capture_output=True, text=True,
                              timeout=60, env={**os.environ, **(env or {})})
        assert done.returncode == 0, done.stderr
        return json.loads(report.read_text())

    def close(self):
        for process in self.hosts.values():
            if process.poll() is None:
                process.send_signal(signal.SIGCONT)
                process.kill()
            process.wait()


def one_sentence(text, *words):
    """The last line says it, with these words."""
    last = text.strip().splitlines()[-1]
    for word in words:
        assert word in last, f"{word!r} is not in: {text}"


def one_place(text, *words):
    """One error with its place in the topology, and the line itself; nothing comes after it."""
    lines = re.sub(r"^waiting for .*\n", "", text).strip().splitlines()
    assert re.match(r".*graph.yaml:\d+:\d+: error\[T\d+\]: ", lines[0]), text
    assert lines[-1] == "1 error" and len(lines) == 4, text
    for word in words:
        assert word in lines[0], f"{word!r} is not in: {lines[0]}"


# --- the start ------------------------------------------------------------------------------------


def test_a_port_in_use(run):
    with socket.create_server(("127.0.0.1", run.port)):
        run.start("a")
        run.ends("a", 1)
    assert f"127.0.0.1:{run.port} is in use" in run.said("a"), run.said("a")


def test_hosts_that_never_come(run):
    run.overlay.write_text(run.overlay.read_text() + "start_timeout: 1500 ms\n")
    run.start("a")
    run.hears("a", "waiting for b, c")
    run.ends("a", 75)
    one_sentence(run.said("a"), "b, c", "did not answer")
    run.start("b")
    run.ends("b", 75)
    one_sentence(run.said("b"), "host a", "did not answer", str(run.port))


def test_another_topology(run):
    other = run.folder / "other.yaml"
    other.write_text(run.graph.read_text().replace("seed: 7", "seed: 8"))
    run.start("a")
    run.start("b", files=(other, run.overlay))
    for host in "ab":
        run.ends(host, 75)
        one_sentence(run.said(host), "host b", "refused", "another graph", "same files")


def test_another_arithmetic(run):
    run.start_all("ac")
    run.start("b", env={"LD_PRELOAD": str(BUILD / "tests" / "upward.so")})
    for host in "abc":
        run.ends(host, 75)
        one_sentence(run.said(host), "refused", "other bits", "same build")


def test_a_host_started_again_before_all_have_come(run):
    run.start("a")
    run.start("b")
    run.hears("a", "waiting for c")
    run.hosts["b"].kill()
    run.hosts["b"].wait()
    run.start("b")
    run.start("c")
    run.reaches(100)
    run.drains()


def test_a_stream_without_rows(run):
    some = "{{scale: {{column: image, to: f32, range: [0, 1]}}}}"
    none = "{{filter: {{column: label, op: ge, value: 100}}}}"
    run = Cluster(run.folder, epochs=2, graph=GRAPH.replace(some, some + ", " + none))
    try:
        run.start_all()
        for host in "abc":
            run.ends(host, 0)
        told = json.loads(run.report.read_text())
        assert told["steps"] == 0 and told["rows"]["filtered"] == 2 * ROWS, told
        assert not re.search(r"\d{6}\.\d s", run.said("a")), run.said("a")
    finally:
        run.close()


def test_statistics_that_a_full_disk_does_not_take(run):
    def on_a_full_disk():
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (16, 16))

    done = subprocess.run([TUNDISH, "run", run.folder / "graph.yaml", "--steps", "20"], cwd=ROOT,
                          capture_output=True, text=True, restore_signals=False,
                          preexec_fn=on_a_full_disk)
    assert done.returncode == 0, done
    assert "cannot look at host local, which runs all the same: /" in done.stderr, done.stderr
    assert ".pages: File too large" in done.stderr, done.stderr


def test_drained_before_the_start(run):
    run.start("a")
    run.start("b")
    run.hears("a", "waiting for c")
    run.hosts["a"].send_signal(signal.SIGINT)
    run.ends("a", 130)
    run.ends("b", 130)


# --- data -----------------------------------------------------------------------------------------


def lanes(folder):
    graph = GRAPH.replace("seed: 7", "seed: 7\nlanes: 2")
    return Cluster(folder, overlay=LANES, graph=graph, settings="start_timeout: 1500 ms")


def test_a_file_missing_on_one_host(run):
    run = lanes(run.folder)
    try:
        write_data(run.folder / "other")
        (run.folder / "other" / "label.npy").unlink()
        run.start_all("ab")
        for host in "ab":
            run.ends(host, 78)
        one_sentence(run.said("a"), "host b", "other/label.npy", "no such file")
        one_place(run.said("b"), "other/label.npy", "no such file")
    finally:
        run.close()


def test_other_data_on_one_host(run):
    run = lanes(run.folder)
    try:
        write_data(run.folder / "other", start=2)
        run.start_all("ab")
        for host in "ab":
            run.ends(host, 78)
            one_sentence(run.said(host), "different data", "a", "b")
    finally:
        run.close()


def test_images_and_labels_of_different_counts(run):
    write_data(run.folder / "data", rows=4000, labels=3999)
    run.start("a")
    run.ends("a", 78)
    one_place(run.said("a"), "image.npy", "label.npy", "4000", "3999")


def test_a_file_that_shrinks_while_it_is_mapped(run):
    run.start_all()
    run.reaches(100)
    os.truncate(run.folder / "data" / "image.npy", 8192)
    for host in "abc":
        run.ends(host, 1)
        one_sentence(run.said(host), "image.npy")


# --- steps ----------------------------------------------------------------------------------------


def rogue(folder, does, step, epochs=1000000):
    """Two hosts with two replicas each; those of the second one do something in one step."""
    graph = GRAPH.replace("seed: 7", "seed: 7\nlanes: 2").replace("-> feed", "-> feed <-> mean")
    graph = graph.replace("depth: 4}}", f"depth: 4, step: {{{{plugin: rogue, does: {does}, replica: 2, "
                          f"step: {step}}}}}}}}}\n  mean: {{{{kind: reducer}}}}")
    return Cluster(folder, overlay=TWO, graph=graph, epochs=epochs)


def test_reductions_that_differ(run):
    last = -(-ROWS // 128) - 1
    for does, step, epochs, words in (
            ("less", 40, 1000, ("in step 40 replica 0 (feed@a) posted to 1 reduction at least",
                                "replica 2 (feed@b) to 0")),
            ("never", 0, 1000, ("in step 0 replica 0 (feed@a)", "replica 2 (feed@b) to 0")),
            ("longer", 40, 1000, ("in step 40 replica 2 posted 2 elements of f32 to reduction 0",
                                  "replica 0 1 of f32")),
            ("more", last, 1, (f"in step {last} replica 2 (feed@b) posted to 2 reductions at least",
                               "replica 0 (feed@a) to 1"))):
        run = rogue(run.folder, does, step, epochs)
        try:
            run.start_all("ab", leader=True,
                          env={"TUNDISH_PLUGIN_PATH": str(BUILD / "tests")})
            for host in "ab":
                run.ends(host, 1)
                one_sentence(run.said(host), *words)
        finally:
            run.close()


# --- processes ------------------------------------------------------------------------------------


DEAD_AFTER = 90  # seconds


def killed(run, host, *words):
    run.overlay.write_text(f"{run.overlay.read_text()}dead_after: {DEAD_AFTER} s\n")
    run.start_all()
    run.reaches(500)
    run.hosts[host].kill()
    began = time.monotonic()
    for other in sorted({"a", "b", "c"} - {host}):
        run.ends(other, 75, DEAD_AFTER)
        one_sentence(run.said(other), f"host {host}", "lost", *words)
    spent = time.monotonic() - began
    assert spent < DEAD_AFTER, f"the others ended after {spent:.1f} s, as if {host} had been silent"


def test_a_killed_leader(run):
    killed(run, "a")


def test_a_killed_feeder(run):
    killed(run, "c", "with the replicas that it carried",
           "the last committed cursor is the one before step")


def test_a_killed_worker_without_restart(run):
    run.overlay.write_text(run.overlay.read_text() + "restart_timeout: 1 s\n")
    killed(run, "b", "did not come back", "the last committed cursor is the one before step")
    waits = "the run waits 1 s for it; start it again by the same command with --host b"
    assert run.said("a").count(waits) == 1, run.said("a")


def test_a_killed_worker_that_may_not_be_started_again(run):
    run.overlay.write_text(run.overlay.read_text() + "restart: never\n")
    killed(run, "b", "is not to be started again")


def test_a_killed_worker_started_again_by_hand(run):
    run.start_all()
    run.reaches(300)
    for _ in range(3):
        run.hosts["b"].kill()
        run.hosts["b"].wait()
        run.start("b")
        run.goes_on()
    assert "host b was lost (the connection ended) and has been started again" in run.said("a")
    run.drains(by="c")


def test_a_host_that_is_started_too_often(run):
    run.overlay.write_text(run.overlay.read_text() + "restarts: {max: 2}\n")
    run.start_all()
    run.reaches(300)
    for _ in range(3):
        run.hosts["b"].kill()
        run.hosts["b"].wait()
        run.start("b")
        run.goes_on() if _ < 2 else None
    for host in "abc":
        run.ends(host, 75)
    one_sentence(run.said("a"), "host b died 3 times in a short time", "the connection ended",
                 "the last committed cursor")


def stopped_and_goes_on(run, host):
    run.start_all()
    run.reaches(500)
    run.hosts[host].send_signal(signal.SIGSTOP)
    time.sleep(1.5)  # the length of the stop is the fault
    run.hosts[host].send_signal(signal.SIGCONT)
    run.goes_on()
    run.drains()


def test_a_stopped_worker_continues(run):
    stopped_and_goes_on(run, "b")


def test_a_stopped_feeder_continues(run):
    stopped_and_goes_on(run, "c")


def test_a_stopped_leader_continues(run):
    stopped_and_goes_on(run, "a")


def done_ahead(run, host):
    """How many steps the feeder of a host, which was started apart, has done beyond those that the leader has booked."""
    done = subprocess.run([str(TUNDISH), "ps", "--json", "faults"], capture_output=True, text=True, cwd=ROOT, timeout=60,
                          env={**os.environ, "XDG_RUNTIME_DIR": str(run.folder / host)})
    processes = json.loads(done.stdout)["processes"] if done.returncode == 0 else []
    steps = [actor["step"] for process in processes for actor in process["actors"] if actor["name"] == f"feed@{host}"]
    return max(steps, default=0) - run.steps()


def test_a_stopped_feeder_costs_no_checkpoint(run):
    """The other feeder runs up to 512 steps meanwhile, and saves its models after some of them."""
    run.graph.write_text(run.graph.read_text().replace("size: 128, replicas: 4, remainder: keep, block: 100 rows", "size: 2, replicas: 2")
                         .replace("depth: 4", "depth: 500"))
    run.overlay.write_text(f"""port: {run.port}
checkpoint: {{dir: {run.folder}/kept, every: 100 steps, keep: 1000}}
hosts:
  a: {{address: 127.0.0.1, actors: [read, prep, batch, feed]}}
  b: {{address: 127.0.0.1, actors: [feed]}}
""")
    for host in "ab":
        (run.folder / host).mkdir()
        run.start(host, {"XDG_RUNTIME_DIR": str(run.folder / host)})
    for _ in range(5):
        run.reaches(run.steps() + 1000)
        run.hosts["b"].send_signal(signal.SIGSTOP)
        until(lambda: f"{done_ahead(run, 'a')} steps ahead\n{run.all_said()}", lambda: done_ahead(run, "a") > 400)
        run.hosts["b"].send_signal(signal.SIGCONT)
    run.drains()
    told = json.loads(run.report.read_text())
    assert (told["checkpoints_failed"], run.said("a").count("no checkpoint")) == (0, 0), run.all_said()


def test_a_worker_stopped_for_too_long(run):
    run.overlay.write_text(run.overlay.read_text() + "dead_after: 2 s\nrestart_timeout: 500 ms\n")
    run.start_all()
    run.reaches(500)
    run.hosts["b"].send_signal(signal.SIGSTOP)
    for host in "ac":
        run.ends(host, 75)
        one_sentence(run.said(host), "host b", "lost", "silent", "the last committed cursor is")


# --- connections ----------------------------------------------------------------------------------


def greeting(whole=True):
    return (b"\xff" + b"\0" * 8 + b"\x7f\x03\x00" + b"NULL".ljust(20, b"\0") + b"\0" * 32)[:64 if whole
                                                                                         else 20]


def hello_of_another_version(address):
    """Speaks ZMTP 3.0 far enough to send a header of version 9, and reads the refusal."""
    with socket.create_connection(address, timeout=5) as one:
        one.sendall(greeting())
        stream = one.makefile("rb")
        stream.read(64)
        ready = b"\x05READY\x0bSocket-Type\x00\x00\x00\x06DEALER\x08Identity\x00\x00\x00\x04nine"
        one.sendall(b"\x04" + bytes([len(ready)]) + ready)
        flags, size = stream.read(2)
        assert flags == 4, flags
        stream.read(size)
        header = b"\x96\x09\x00\x00\x00\x00\x00"
        one.sendall(b"\x00" + bytes([len(header)]) + header)
        flags, size = stream.read(2)
        return stream.read(size)


def test_strangers_at_the_sockets(run):
    run.start_all()
    run.reaches(200)
    listening = []
    for port in (run.port, *run.ports):
        try:
            refusal = hello_of_another_version(("127.0.0.1", port))
        except ConnectionRefusedError:
            continue
        assert b"version 9" in refusal and b"this program version" in refusal, refusal
        listening.append(port)
    assert len(listening) >= 3, listening
    kept = []
    for port in listening:
        for i in range(100):
            one = socket.create_connection(("127.0.0.1", port))
            one.sendall((os.urandom(200), greeting(False), b"GET / HTTP/1.1\r\n\r\n", b"",
                         greeting() + os.urandom(100))[i % 5])
            kept.append(one)
    run.goes_on()
    for one in kept:
        one.close()
    assert "version 9" in run.said("a"), run.said("a")
    run.drains()


def heals(run, how, which):
    run = Cluster(run.folder, address="127.0.0.2")
    relay = Relay("127.0.0.3", "127.0.0.2", [run.port, *run.ports])
    try:
        run.start_all(env={"LD_PRELOAD": str(BUILD / "tests" / "detour.so")})
        run.reaches(300)
        for _ in range(2):
            broken = relay.fail(how, {run.port} if which == "control" else set(run.ports))
            assert broken > 0, "no connection goes over the relay"
            run.goes_on()
        run.drains(by="c")
    finally:
        run.close()
        relay.close()


def test_control_connections_that_are_cut(run):
    heals(run, "close", "control")


def test_control_connections_that_fall_silent(run):
    heals(run, "silence", "control")


def test_control_connections_half_open(run):
    heals(run, "dialler", "control")
    heals(run, "target", "control")


def test_data_connections_that_are_cut(run):
    heals(run, "close", "data")


def test_data_connections_that_fall_silent(run):
    heals(run, "silence", "data")


def test_data_connections_half_open(run):
    heals(run, "dialler", "data")
    heals(run, "target", "data")


def is_late(run, side):
    """Control of every host is late in one direction, by more than the grace; no byte is lost."""
    run = Cluster(run.folder, address="127.0.0.2", settings="link_timeout: 300 ms")
    relay = Relay("127.0.0.3", "127.0.0.2", [run.port, *run.ports])
    try:
        run.start_all(env={"LD_PRELOAD": str(BUILD / "tests" / "detour.so")})
        run.reaches(300)
        relay.hold(side, {run.port})
        time.sleep(2.5)  # the length of the delay is the fault
        relay.release()
        run.goes_on()
        run.drains(by="c")
    finally:
        run.close()
        relay.close()


def test_control_that_is_late_to_the_leader(run):
    is_late(run, DIALLER)


def test_control_that_is_late_from_the_leader(run):
    is_late(run, TARGET)


def test_what_a_host_says_once_is_repeated_when_it_is_lost(run):
    """Control ends as the host sends its facts, then its endpoints, then the digest of its model."""
    graph = GRAPH.replace("seed: 7", "seed: 7\nlanes: 2").replace("depth: 4}}", "depth: 4, step: {{plugin: probe}}}}")
    run = Cluster(run.folder, address="127.0.0.2", graph=graph, overlay=DATA_ON_TWO, epochs=2)
    env = {"TUNDISH_PLUGIN_PATH": str(BUILD / "tests")}
    alone = run.alone(env=env)
    relay = Relay("127.0.0.3", "127.0.0.2", [run.port, *run.ports])
    try:
        for text in ("label", "tcp://127.0.0.1:", alone["model_digest"]):
            relay.lose(DIALLER, text.encode())
        run.start_all(env={"LD_PRELOAD": str(BUILD / "tests" / "detour.so"), **env})
        for host in "abc":
            run.ends(host, 0)
        assert not relay.fatal, f"was never sent: {relay.fatal}"
        told = json.loads(run.report.read_text())
        for key in ("steps", "stream_digest", "model_digest"):
            assert told[key] == alone[key], (key, told[key], alone[key])
    finally:
        run.close()
        relay.close()


# --- the end --------------------------------------------------------------------------------------


def test_once_drains_all_hosts(run):
    run.start_all()
    run.reaches(100)
    run.drains(by="b")


def loses(run, host, leader):
    """Waits until the host has no connection to its leader, or has ended."""
    def away():
        if run.hosts[host].poll() is not None:
            return True
        done = subprocess.run([str(TUNDISH), "ps", "--json", "faults"], capture_output=True, text=True,
                              env={**os.environ, "XDG_RUNTIME_DIR": str(run.folder / host)}, cwd=ROOT,
                              timeout=60)
        views = json.loads(done.stdout)["runs"] if done.returncode == 0 else []
        return any(one["presence"] == "away" for view in views for one in view["hosts"]
                   if one["name"] == leader)
    until(lambda: f"{host} has lost {leader}\n{run.all_said()}", away, 30)


def start_apart(run, **env):
    """Starts the hosts so that each is seen by itself."""
    for host in "abc":
        (run.folder / host).mkdir()
        run.start(host, {**(env if host != "a" else {}), "XDG_RUNTIME_DIR": str(run.folder / host)})
    run.reaches(100)


def leaves_without(run, host):
    """A host that is told twice to stop after it has lost its leader ends at once and says so."""
    loses(run, host, "a")
    for number in (signal.SIGINT, signal.SIGTERM):
        if run.hosts[host].poll() is None:
            run.hosts[host].send_signal(number)
    run.ends(host, 75)
    assert "host a, which leads the run, is lost (" in run.said(host), run.said(host)
    assert "as asked" not in run.said(host), run.said(host)


def test_a_host_that_is_stopped_without_its_leader_names_it(run):
    start_apart(run)
    run.hosts["a"].kill()
    leaves_without(run, "b")


def test_a_host_that_is_stopped_while_its_link_is_silent_names_the_leader(run):
    run = Cluster(run.folder, address="127.0.0.2", settings="link_timeout: 300 ms")
    relay = Relay("127.0.0.3", "127.0.0.2", [run.port, *run.ports])
    try:
        start_apart(run, LD_PRELOAD=str(BUILD / "tests" / "detour.so"))
        relay.hold(DIALLER, {run.port})
        relay.hold(TARGET, {run.port})
        leaves_without(run, "b")
    finally:
        run.close()
        relay.close()


def test_twice_leaves(run):
    run.start_all()
    run.reaches(100)
    run.hosts["a"].send_signal(signal.SIGSTOP)  # so that it finds both at once
    run.hosts["a"].send_signal(signal.SIGTERM)
    run.hosts["a"].send_signal(signal.SIGINT)
    run.hosts["a"].send_signal(signal.SIGCONT)
    for host in "abc":
        run.ends(host, 130)


def main():
    def call(test):
        with tempfile.TemporaryDirectory() as folder:
            run = Cluster(pathlib.Path(folder))
            try:
                test(run)
            finally:
                run.close()
    return run_named(globals(), sys.argv[1:], call)


if __name__ == "__main__":
    sys.exit(main())
