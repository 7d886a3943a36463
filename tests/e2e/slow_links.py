#!/usr/bin/env python3
"""Runs over slow links: they complete at about the speed of the link, without reconnections.

Usage: slow_links.py [--rate RATE --rows N] [NAME...]; without a name it lists them.  Each host has a
network namespace of its own; a token bucket of `tc` with two seconds of buffer is the link.  Where
that cannot be made (not root, no `tc`) the tests are skipped.  RATE is a rate of `tc`, as 80kbit.
"""
import argparse
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time

from faults import write_npy
from named import run_named
from run import ROOT, SKIP, TUNDISH

INSIDE = "TUNDISH_SLOW_LINKS"  # set in the namespace that the script makes for itself
BYTES = 1000  # of a row of the file; f32 after the operation
GRAPH = """tundish: 1
name: slow
seed: 7
data: {data}
actors:
  read: {{kind: reader, source: {{npy: {{x: "${{data}}/x.npy"}}}}, shuffle: global}}
  prep: {{kind: preprocessor, ops: [{{scale: {{column: x, to: f32, range: [0, 1]}}}}]}}
  batch: {{kind: batcher, size: 16}}
  feed: {{kind: feeder}}
links:
  - read -> prep -> batch -> feed
"""
HOSTS = """port: 7100
insecure: true
hosts:
  a: {{address: 10.0.0.1, transport: tcp, actors: [{here}]}}
  b: {{address: 10.0.0.2, transport: tcp, actors: [{there}]}}
"""


class Link:
    """Two network namespaces, this one and another, and the link between them."""

    def __init__(self, rate):
        self.holder = subprocess.Popen(["unshare", "-n", "sh", "-c", "echo ready; exec cat"],
                                       stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.holder.stdout.readline()
        self.there = ["nsenter", "-t", str(self.holder.pid), "-n"]
        self.call("ip", "link", "add", "slow0", "type", "veth", "peer", "name", "slow1")
        self.call("ip", "link", "set", "slow1", "netns", str(self.holder.pid))
        for line, device, address in (([], "slow0", "10.0.0.1/24"),
                                      (self.there, "slow1", "10.0.0.2/24")):
            self.call(*line, "ip", "address", "add", address, "dev", device)
            self.call(*line, "ip", "link", "set", device, "up")
            self.call(*line, "tc", "qdisc", "add", "dev", device, "root", "tbf", "rate", rate,
                      "burst", "3000", "latency", "2s")

    @staticmethod
    def call(*line):
        subprocess.run(line, check=True, stdout=subprocess.DEVNULL)

    @staticmethod
    def sent():
        """Bytes that have left by this side."""
        line = re.search(r"slow0:(.*)", pathlib.Path("/proc/net/dev").read_text()).group(1)
        return int(line.split()[8])

    def close(self):
        self.call("ip", "link", "delete", "slow0")
        self.holder.stdin.close()
        self.holder.wait()


def passes(folder, rate, rows, here, there):
    """Runs it; seconds, bytes on the link and steps."""
    write_npy(folder / "x.npy", "|u1", (rows, BYTES), os.urandom(rows * BYTES))
    graph, hosts, report = (folder / name for name in ("graph.yaml", "hosts.yaml", "report.json"))
    graph.write_text(GRAPH.format(data=folder))
    hosts.write_text(HOSTS.format(here=here, there=there))
    line = [str(TUNDISH), "run", str(graph), str(hosts), "--log-level", "info"]
    link = Link(rate)
    logs = [open(folder / f"{host}.log", "w+") for host in "ab"]
    began = time.monotonic()
    processes = [
        subprocess.Popen([*line, "--host", "a", "--report", str(report)], stderr=logs[0],
                         stdout=logs[0], cwd=ROOT),
        subprocess.Popen([*link.there, *line, "--host", "b"], stderr=logs[1], stdout=logs[1],
                         cwd=ROOT)]
    try:
        codes = [process.wait(600) for process in processes]
        spent = time.monotonic() - began
        sent = link.sent()
    finally:
        for process in processes:
            process.kill()
            process.wait()
        link.close()
        said = []
        for log in logs:
            log.seek(0)
            said.append(log.read())
            log.close()
    assert codes == [0, 0], "\n".join(said)
    alone = folder / "alone.json"
    subprocess.run([str(TUNDISH), "run", str(graph), "--report", str(alone), "--quiet"], check=True,
                   cwd=ROOT)
    told, plain = json.loads(report.read_text()), json.loads(alone.read_text())
    assert told["stream_digest"] == plain["stream_digest"], "another stream"
    for text in said:
        assert "silent" not in text and "is away" not in text, text
    return spent, sent, told["steps"]


def measured(folder, rows, here, there):
    spent, sent, steps = passes(folder, OPTIONS.rate, OPTIONS.rows or rows, here, there)
    print(f"{OPTIONS.rate}: {steps} steps, {sent:,} bytes from a to b in {spent:.1f} s "
          f"({sent / spent / 1000:.1f} kB/s)")


def test_blocks_that_take_seconds(folder):
    measured(folder, 250, "read", "prep, batch, feed")


def test_slices_that_take_seconds(folder):
    measured(folder, 48, "read, prep, batch", "feed")


def main():
    global OPTIONS
    parser = argparse.ArgumentParser()
    parser.add_argument("--rate", default="800kbit")
    parser.add_argument("--rows", type=int)
    parser.add_argument("names", nargs="*")
    OPTIONS = parser.parse_args()
    if OPTIONS.names and INSIDE not in os.environ:
        if os.geteuid() != 0 or not all(map(shutil.which, ("tc", "ip", "unshare", "nsenter"))):
            print("skipped: a slow link needs root and tc")
            return SKIP
        probe = ["unshare", "-n", "sh", "-c", "ip link add slow0 type veth peer name slow1 && "
                 "tc qdisc add dev slow0 root tbf rate 1mbit burst 3000 latency 2s"]
        if subprocess.run(probe, stderr=subprocess.DEVNULL).returncode != 0:
            print("skipped: this kernel lets no slow link be made")
            return SKIP
        os.execvpe("unshare", ["unshare", "-n", sys.executable, *sys.argv],
                   {**os.environ, INSIDE: "1"})

    def call(test):
        with tempfile.TemporaryDirectory() as folder:
            test(pathlib.Path(folder))
    return run_named(globals(), OPTIONS.names, call)


if __name__ == "__main__":
    sys.exit(main())
