#!/usr/bin/env python3
"""Programs on several hosts that end epochs early: what they feed is what `take` of the batcher feeds.

Usage: rewinds.py NAME...; without a name it lists them.
"""
import json
import os
import struct
import subprocess
import sys

from faults import until, write_npy
from named import in_folder, run_named
from run import BUILD, ROOT, TUNDISH, free_port

ROWS, SIZE, TAKE, EPOCHS = 6000, 64, 7, 30
GRAPH = """tundish: 1
seed: 7
lanes: 2
actors:
  read:  {{kind: reader, source: {{npy: {{x: "{folder}/x.npy"}}}}, shuffle: global, epochs: {epochs}}}
  prep:  {{kind: preprocessor, ops: [{{scale: {{column: x, factor: 2}}}}]}}
  batch: {{kind: batcher, size: {size}, replicas: 4{take}}}
  feed:  {{kind: feeder}}
links:
  - read -> prep -> batch -> feed
"""
HOSTS = """port: {port}
insecure: true
hosts:
  a: {{address: 127.0.0.1, actors: [read, batch]}}
  b: {{address: 127.0.0.1, actors: [prep]}}
  c: {{address: 127.0.0.1, actors: [feed], devices: {{feed: ["cpu:0"]}}}}
  d: {{address: 127.0.0.1, actors: [feed], devices: {{feed: ["cpu:0"]}}}}
"""
# Ends each epoch after so many batches, and after one more from some batch on.  It writes a line for each
# epoch.
PROGRAM = """import sys
sys.path.insert(0, {module!r})
import tundish
try:
    with tundish.feed(*sys.argv[2:4], host=sys.argv[1]) as feed:
        for epoch in feed.epochs():
            for count, batch in enumerate(epoch, 1):
                if count == {take} + (batch.step > int(sys.argv[4])):
                    break
            print(batch.epoch, flush=True)
except tundish.Error as error:
    sys.exit(str(error))
"""


class Hosts:
    def __init__(self, folder):
        self.folder, self.made = folder, {}
        write_npy(folder / "x.npy", "<f4", (ROWS,), struct.pack(f"<{ROWS}f", *range(ROWS)))
        self.graph, self.overlay, self.program = (folder / name for name in ("graph.yaml", "hosts.yaml", "program.py"))
        self.graph.write_text(self.text(""))
        self.overlay.write_text(HOSTS.format(port=free_port()))
        self.program.write_text(PROGRAM.format(module=str(ROOT / "tools/python"), take=TAKE))

    def text(self, take):
        return GRAPH.format(folder=self.folder, epochs=EPOCHS, size=SIZE, take=take)

    def begin(self, host, *command):
        with open(self.folder / f"{host}.log", "a") as log:
            self.made[host] = subprocess.Popen(list(map(str, command)), stdout=log, stderr=log, cwd=ROOT, env={
                **os.environ, "TUNDISH_LIBRARY": str(BUILD / "libtundish.so")})

    def host(self, host, *more):
        self.begin(host, TUNDISH, "run", self.graph, self.overlay, "--host", host, *more)

    def program_host(self, host, odd_from=10**9):
        self.begin(host, sys.executable, self.program, host, self.graph, self.overlay, odd_from)

    def said(self, host):
        return (self.folder / f"{host}.log").read_text()

    def end(self):
        for process in self.made.values():
            process.kill()
            process.wait()


def account(path):
    report = json.loads(path.read_text())
    return {name: report[name] for name in ("stream_digest", "steps", "epochs", "rows")}


def test_hosts_feed_what_take_does(folder):
    hosts = Hosts(folder)
    taken = folder / "taken.yaml"
    taken.write_text(hosts.text(f", take: {TAKE}"))
    subprocess.run([str(TUNDISH), "run", str(taken), "--report", str(folder / "taken.json")], check=True, timeout=60,
                   capture_output=True)
    try:
        hosts.host("a", "--report", folder / "report.json")
        hosts.host("b")
        for host in "cd":
            hosts.program_host(host)
        for epoch in (3, 12):
            until(lambda: hosts.said("a") + hosts.said("c"), lambda: f"\n{epoch}\n" in hosts.said("c"))
            hosts.made["b"].kill()
            hosts.made["b"].wait()
            hosts.host("b")
        for host in "acd":
            assert hosts.made[host].wait(60) == 0, hosts.said(host)
    finally:
        hosts.end()
    found, expected = account(folder / "report.json"), account(folder / "taken.json")
    assert found == expected and found["steps"] == TAKE * EPOCHS, (found, expected)


def test_hosts_that_rewind_apart_are_named(folder):
    hosts = Hosts(folder)
    try:
        for host in "ab":
            hosts.host(host)
        hosts.program_host("c")
        hosts.program_host("d", odd_from=2 * TAKE)
        for host in "acd":
            assert hosts.made[host].wait(60) == 1, hosts.said(host)
            assert (f"the program of host c rewound its feed after step {3 * TAKE - 1}, and that of host d went on to step "
                    f"{3 * TAKE}") in hosts.said(host), hosts.said(host)
    finally:
        hosts.end()


if __name__ == "__main__":
    sys.exit(run_named(globals(), sys.argv[1:], in_folder))
