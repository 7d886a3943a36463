#!/usr/bin/env python3
"""Programs that train, and validate while their feed rests.

Usage: validation_programs.py NAME...; without a name it lists them.

The model of a program is a hash of all rows that it was trained on, and a validation hashes that and its own
rows.  So what a validation finds names the steps before it, and is computed here from what was fed.
"""
import hashlib
import json
import os
import random
import signal
import struct
import subprocess
import sys

from faults import until, write_npy
from named import in_folder, run_named
from run import BUILD, ROOT, TEST_SEED, TUNDISH, free_port

ROWS, TESTED, SIZE, EPOCHS, EVERY = 200, 50, 16, 3, 9
OF_EPOCH, OF_TEST = -(-ROWS // SIZE), -(-TESTED // SIZE)
STEPS = OF_EPOCH * EPOCHS
VALIDATED = [*range(EVERY, STEPS, EVERY), STEPS]
GRAPH = """tundish: 1
seed: 7
actors:
  read:  {{kind: reader, source: {{npy: {{y: "{folder}/y.npy"}}}}, epochs: {epochs}}}
  prep:  {{kind: preprocessor, ops: [{{filter: {{column: y, op: ge, value: 0}}}}]}}
  batch: {{kind: batcher, size: {size}, replicas: 2}}
  feed:  {{kind: feeder{keep}}}
  from:  {{kind: reader, source: {{npy: {{y: "{folder}/tested.npy"}}}}}}
  some:  {{kind: batcher, size: {size}, replicas: 2}}
  test:  {{kind: feeder, after: feed, every: {every} steps}}
links:
  - read -> prep -> batch -> feed
  - from -> some -> test
"""
HOSTS = """port: {port}
insecure: true
hosts:
  a: {{address: 127.0.0.1, actors: [read, batch, from, some]}}
  b: {{address: 127.0.0.1, actors: [prep]}}
  c: {{address: 127.0.0.1, actors: [feed, test], devices: {{feed: ["cpu:0"]}}}}
  d: {{address: 127.0.0.1, actors: [feed, test], devices: {{feed: ["cpu:0"]}}}}
"""
# Kills itself once it has had so many batches of either feed.  It writes a line for each validation and one at
# the end.
PROGRAM = """import hashlib, os, signal, sys
sys.path.insert(0, {module!r})
import tundish
host, saves, left = sys.argv[1], sys.argv[2] == "save", int(sys.argv[3])

def hashed(before, batch):
    global left
    left -= 1
    if left == 0:
        os.kill(os.getpid(), signal.SIGKILL)
    return hashlib.sha256(before + b"".join(bytes(memoryview(r["y"].numpy())) for r in batch.replicas)).digest()

with tundish.feed(*sys.argv[4:], host=host if host != "-" else None) as feed:
    test, model = feed.session.feed("test"), b""

    def load(file, replica):
        global model
        with open(file, "rb") as kept:
            model = kept.read()

    def save(file, replica):
        with open(file, "wb") as kept:
            kept.write(model)

    if saves:
        feed.restore(load)
    while True:
        if test.due():
            found, steps = model, 0
            for batch in test:
                found, steps = hashed(found, batch), steps + 1
            print("validated", steps, found.hex(), flush=True)
        batch = next(feed, None)
        if batch is None:
            break
        model = hashed(model, batch)
        if saves:
            feed.save(save)
    print("model", model.hex(), flush=True)
"""


# Its models report their first byte.
BEST = """import hashlib, json, sys
sys.path.insert(0, {module!r})
import tundish
with tundish.feed({graph!r}) as feed:
    test, model = feed.session.feed("test"), b""

    def save(file, replica):
        with open(file, "wb") as kept:
            kept.write(model)

    while True:
        if test.due():
            while test.run(lambda replica: replica.report("byte", model[0], 1)):
                pass
        batch = next(feed, None)
        if batch is None:
            break
        model = hashlib.sha256(model + b"".join(bytes(memoryview(r["y"].numpy())) for r in batch.replicas)).digest()
        if {saves}:
            feed.save(save)
    print(batch is None, model.hex())
"""


def rows_of(count, replica, of):
    """The numbers that a replica of two, or both, get in each step of so many rows."""
    for first in range(0, count, SIZE):
        rows = list(range(first, min(first + SIZE, count)))
        half = -(-SIZE // 2)
        parts = rows[:half], rows[half:]
        yield [*parts[replica]] if of == 2 else rows


def expected(replica=0, of=1):
    """The lines of a program that nothing interrupts."""
    model, lines = b"", {}
    steps = [rows for _ in range(EPOCHS) for rows in rows_of(ROWS, replica, of)]
    for step, rows in enumerate(steps, 1):
        model = hashlib.sha256(model + struct.pack(f"<{len(rows)}q", *rows)).digest()
        if step in VALIDATED:
            found = model
            for tested in rows_of(TESTED, replica, of):
                found = hashlib.sha256(found + struct.pack(f"<{len(tested)}q", *tested)).digest()
            lines[step] = f"validated {OF_TEST} {found.hex()}"
    return lines, f"model {model.hex()}"


class Programs:
    def __init__(self, folder, keep=""):
        self.folder, self.made = folder, {}
        for name, rows in ("y", ROWS), ("tested", TESTED):
            write_npy(folder / f"{name}.npy", "<i8", (rows,), struct.pack(f"<{rows}q", *range(rows)))
        self.graph, self.overlay, self.program = (folder / name for name in ("graph.yaml", "hosts.yaml", "program.py"))
        self.graph.write_text(GRAPH.format(folder=folder, size=SIZE, epochs=EPOCHS, every=EVERY, keep="") + keep)
        self.overlay.write_text(HOSTS.format(port=free_port()))
        self.program.write_text(PROGRAM.format(module=str(ROOT / "tools/python")))

    def begin(self, host, *command):
        with open(self.folder / f"{host}.log", "a") as log:
            self.made[host] = subprocess.Popen(list(map(str, command)), stdout=log, stderr=log, cwd=ROOT, env={
                **os.environ, "TUNDISH_LIBRARY": str(BUILD / "libtundish.so")})
        return self.made[host]

    def host(self, host, *more):
        self.begin(host, TUNDISH, "run", self.graph, self.overlay, "--host", host, *more)

    def alone(self, left=0, saves=False, *more):
        return self.begin("-", sys.executable, self.program, "-", "save" if saves else "no", left, self.graph, *more).wait(60)

    def said(self, host):
        log = self.folder / f"{host}.log"
        return log.read_text() if log.exists() else ""

    def end(self):
        for process in self.made.values():
            process.kill()
            process.wait()


def test_one_program(folder):
    programs = Programs(folder)
    lines, model = expected()
    assert programs.alone() == 0, programs.said("-")
    assert programs.said("-").splitlines() == [*lines.values(), model], (programs.said("-"), lines, model)


def trained_models():
    """After each step."""
    model = b""
    for _ in range(EPOCHS):
        for rows in rows_of(ROWS, 0, 1):
            model = hashlib.sha256(model + struct.pack(f"<{len(rows)}q", *rows)).digest()
            yield model


def test_the_best_of_a_program(folder):
    models = list(trained_models())
    for saves, patience in (True, 1), (False, 2):
        values = [models[step - 1][0] for step in VALIDATED]
        best, last = 0, 0
        while last + 1 < len(values) and last - best < patience:
            last += 1
            best = last if values[last] > values[best] else best
        programs = Programs(folder, f'checkpoint: {{dir: "{folder}/kept-{patience}", keep: 1}}\n')
        graph = programs.graph.read_text()
        given = f"every: {EVERY} steps"
        assert given in graph
        programs.graph.write_text(graph.replace(given, f"{given}, best: {{metric: byte, of: max, patience: {patience}}}"))
        programs.program.write_text(BEST.format(module=str(ROOT / "tools/python"), graph=str(programs.graph), saves=saves))
        assert programs.begin(f"p{patience}", sys.executable, programs.program).wait(60) == 0, programs.said(f"p{patience}")
        said = programs.said(f"p{patience}")
        assert f"True {models[VALIDATED[last] - 1].hex()}" in said, (said, values, VALIDATED)
        lacks = f"the value after step {VALIDATED[best] - 1} is the best one, but no checkpoint exists after that step"
        assert (lacks in said) != saves, said
        kept = sorted(int(path.name[5:]) for path in folder.glob(f"kept-{patience}/step-*"))
        assert kept == (sorted({VALIDATED[best], VALIDATED[last]}) if saves else []), (kept, best, last)


def test_killed_in_either_feed_and_resumed(folder):
    programs = Programs(folder, f'checkpoint: {{dir: "{folder}/kept", keep: 2}}\n')
    resumes = folder / "resume.yaml"
    resumes.write_text("checkpoint: {resume: latest}\n")
    lines, model = expected()
    draw, killed, status, more = random.Random(TEST_SEED), 0, -1, []
    while status != 0:
        status = programs.alone(draw.randrange(2, 9) if killed < 8 else 0, True, *more)
        killed += 1
        assert status in (0, -signal.SIGKILL), programs.said("-")
        more = [resumes] if any(folder.glob("kept/step-*/manifest")) else []
    said = [line for line in programs.said("-").splitlines() if line.split(" ")[0] in ("validated", "model")]
    assert list(dict.fromkeys(said)) == [*lines.values(), model], (TEST_SEED, programs.said("-"), lines, model)


def test_hosts_and_a_killed_worker(folder):
    programs = Programs(folder)
    try:
        programs.host("a", "--report", folder / "report.json")
        programs.host("b")
        for host in "cd":
            programs.begin(host, sys.executable, programs.program, host, "no", 0, programs.graph, programs.overlay)
        until(lambda: programs.said("a") + programs.said("c"), lambda: "validated" in programs.said("c"))
        programs.made["b"].kill()
        programs.made["b"].wait()
        programs.host("b")
        for host in "acd":
            assert programs.made[host].wait(60) == 0, programs.said(host)
    finally:
        programs.end()
    for replica, host in enumerate("cd"):
        lines, model = expected(replica, 2)
        said = [line for line in programs.said(host).splitlines() if line.split(" ")[0] in ("validated", "model")]
        assert said == [*lines.values(), model], (host, programs.said(host), lines, model)
    report = json.loads((folder / "report.json").read_text())
    assert [result["after_step"] + 1 for result in report["results"]["test"]] == VALIDATED, report["results"]
    assert report["chains"]["test"]["steps"] == OF_TEST and report["steps"] == STEPS, report


if __name__ == "__main__":
    sys.exit(run_named(globals(), sys.argv[1:], in_folder))
