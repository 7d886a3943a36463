#!/usr/bin/env python3
"""The digest matrix: one graph, any placement, the same bits.

Every variant must give the stream digest, the loss of every step and the model digest of the plain
run.  Usage: matrix.py [STEPS]; STEPS bounds each run, and batches are smaller (0: all of the job).
"""
import json
import pathlib
import signal
import subprocess
import sys
import tempfile
import time

from run import FASHION, ROOT, TUNDISH, Outcome, free_port, need_data, tundish

GRAPH = FASHION / "fashion.yaml"
THREE = FASHION / "three.yaml"
LANES = FASHION / "lanes.yaml"
LANES_TWO = FASHION / "lanes_two.yaml"
KEEP = "prep.ops=[{filter: {column: label, op: lt, value: 7}}, {scale: {column: image, to: f32, range: [0, 1]}}]"
SMALL = ["--set", "batch.size=32", "--set", "read.take=6000"]  # an epoch is 187 steps and a part of one
FEW = 120  # steps of variants that differ from the first one on or not at all
POOL = """port: {port}
hosts:
  a: {{address: 127.0.0.1, actors: [read, batch, test_read, test_batch, feed, mean, test]}}
  b: {{address: 127.0.0.1, actors: [test_prep]}}
  p[0-1]: {{address: 127.0.0.1, actors: [prep]}}
"""


def run(steps, command, *arguments):
    bound = ["--steps", steps, *SMALL] if steps else []
    if steps and GRAPH in arguments:  # what follows should not take most of the time
        bound += ["--set", "test_read.take=500"]
    return tundish(command, *arguments, *bound)


def up(steps, graph, overlay, transport, *more):
    """The graph over hosts: the overlay with another port, and `transport` on every host."""
    with tempfile.TemporaryDirectory() as folder:
        extra = pathlib.Path(folder) / "transport.yaml"
        hosts = [line.split(":")[0].strip() for line in overlay.read_text().splitlines()
                 if line.startswith("  ") and "{" in line and not line.strip().startswith("#")]
        extra.write_text(f"port: {free_port()}\nhosts:\n" +
                         "".join(f"  {name}: {{transport: {transport}}}\n" for name in hosts))
        return run(steps, "up", graph, overlay, extra, *more)


def by_sockets(steps, graph):
    """The graph in one process, whose actors exchange messages over sockets instead of pointers."""
    with tempfile.TemporaryDirectory() as folder:
        extra = pathlib.Path(folder) / "sockets.yaml"
        extra.write_text("hosts:\n  a: {transport: zmq, actors: [read, prep, batch, feed, mean, test_read, test_prep, test_batch, test]}\n")
        return run(steps, "run", graph, extra)


def spread(steps, hosts, *more):
    """Four lanes over so many hosts; each feeds the replicas of its lanes."""
    with tempfile.TemporaryDirectory() as folder:
        overlay = pathlib.Path(folder) / "hosts.yaml"
        lines = [f"  h{i}: {{address: 127.0.0.1, lanes: {4 // hosts}, "
                 f"actors: [read, prep, batch, feed{', mean' if i == 0 else ''}]}}\n" for i in range(hosts)]
        overlay.write_text(f"port: {free_port()}\nhosts:\n" + "".join(lines))
        return run(steps, "up", LANES, overlay, "--set", "lanes=4", *more)


def scaled(join_at):
    """The graph with a pool of workers: two more join, then one of them and one that was there leave."""
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        overlay, report, metrics = (folder / name for name in ("pool.yaml", "report.json", "metrics.jsonl"))
        overlay.write_text(POOL.format(port=free_port()))
        files = [str(GRAPH), str(overlay)]
        main = subprocess.Popen([str(TUNDISH), "up", *files, "--quiet", "--report", str(report),
                                 "--metrics", str(metrics)], cwd=ROOT)
        started = [main]

        def reaches(steps):
            end = time.monotonic() + 60
            while not metrics.exists() or metrics.read_text().count("\n") < steps:
                assert main.poll() is None and time.monotonic() < end, f"it did not reach step {steps}"
                time.sleep(0.005)

        try:
            for steps in (join_at, 2 * join_at):
                reaches(steps)
                started.append(subprocess.Popen([str(TUNDISH), "run", *files, "--host", "p+", "--quiet"],
                                                cwd=ROOT, stderr=subprocess.PIPE, text=True))
            reaches(4 * join_at)
            started[1].send_signal(signal.SIGINT)
            said = started[1].communicate(timeout=60)[1]
            assert started[1].returncode == 130 and "the run continues" in said, said
            code = main.wait(120)
            assert code == 0, f"the run ended with {code}"
            assert started[2].wait(60) == 0, "a worker that stayed failed"
            return Outcome(code, "", json.loads(report.read_text()),
                           [json.loads(text, parse_float=str) for text in metrics.read_text().splitlines()])
        finally:
            for process in started[1:] + [main]:
                if process.poll() is None:
                    process.terminate()
                process.wait()


def is_short(steps):
    """Whether runs are as short as those that a sanitizer slows down: what differs in rows only is left out."""
    return 0 < steps < FEW


def some(steps, *choices):
    """All of them; one in the middle where runs are short."""
    return choices[len(choices) // 2:][:1] if is_short(steps) else choices


def compare(name, base, other, losses=True):
    """Says how two runs differ, or nothing."""
    wrong = []
    if base.report["stream_digest"] != other.report["stream_digest"]:
        wrong.append(f"stream_digest {other.report['stream_digest']} is not "
                     f"{base.report['stream_digest']}")
    if losses and base.losses != other.losses:
        at = next((i for i, pair in enumerate(zip(base.losses, other.losses)) if pair[0] != pair[1]),
                  min(len(base.losses), len(other.losses)))
        wrong.append(f"the loss differs at step {at} ({len(base.losses)} and {len(other.losses)} steps)")
    if losses and base.report["model_digest"] != other.report["model_digest"]:
        wrong.append("model_digest differs")
    print(f"{'FAIL' if wrong else 'ok  '} {name}" + "".join(f"\n     {text}" for text in wrong), flush=True)
    return not wrong


def main():
    need_data()
    steps = int(sys.argv[1]) if len(sys.argv) > 1 else 0
    base = run(steps, "run", GRAPH)
    assert base.losses and base.report["model_digest"], "the plain run said nothing"
    good = [compare("one process over sockets", base, by_sockets(steps, GRAPH))]
    for transport in ("tcp", "ipc"):
        good.append(compare(f"three processes over {transport}", base, up(steps, GRAPH, THREE, transport)))
    # Each number of workers, of devices and of rows of a block, with one of the others.
    for workers, devices, rows in some(steps, (1, 2, 1000), (2, 4, 8), (7, 1, 100)):
        listed = ", ".join(f"cpu:{i}" for i in range(devices))
        good.append(compare(f"{workers} workers, {devices} devices, blocks of {rows} rows", base,
                            run(steps, "run", GRAPH, "--set", f"prep.workers={workers}", "--set", f"feed.devices=[{listed}]",
                                "--set", f"batch.block={rows} rows")))
    few = min(steps, FEW) if steps else FEW
    short = run(few, "run", GRAPH)
    for readers in some(steps, 1, 3):
        good.append(compare(f"{readers} readers", short,
                            run(few, "run", GRAPH, "--set", f"read.workers={readers}",
                                "--set", "prep.workers=2")))
    if not steps:
        good.append(compare("workers that join and leave while it runs", base, scaled(150)))

    lanes = run(steps, "run", LANES)
    good.append(compare("two lanes on two hosts", lanes, up(steps, LANES, LANES_TWO, "tcp")))

    for name, more in (("", []), (" and a filter", ["--set", KEEP]))[:1 if is_short(steps) else None]:
        four = run(few, "run", LANES, "--set", "lanes=4", *more)
        for hosts in some(steps, 1, 2, 4):
            good.append(compare(f"four lanes{name} on {hosts} hosts", four, spread(few, hosts, *more)))

    if not is_short(steps):
        good += rows_differ(steps, base)
    print(f"{sum(good)} passed, {len(good) - sum(good)} failed")
    return 0 if all(good) else 1


def rows_differ(steps, base):
    """Variants that feed other rows, or give them to other replicas."""
    good = []
    filtered = run(steps, "run", GRAPH, "--set", KEEP)
    if filtered.report["rows"]["filtered"] == 0:
        print("FAIL the filter filters nothing")
        good.append(False)
    good.append(compare("a filter, three processes over tcp", filtered,
                        up(steps, GRAPH, THREE, "tcp", "--set", KEEP)))
    good.append(compare("a filter, 5 workers, blocks of 8 rows", filtered,
                        run(steps, "run", GRAPH, "--set", KEEP, "--set", "prep.workers=5", "--set",
                            "batch.block=8 rows")))

    for replicas in (1, 2, 3, 5):
        good.append(compare(f"{replicas} replicas: the same stream", base,
                            run(steps, "run", GRAPH, "--set", f"batch.replicas={replicas}",
                                "--set", f"test_batch.replicas={replicas}"), losses=False))
    other = run(steps, "run", GRAPH, "--set", "seed=8")
    differs = other.report["stream_digest"] != base.report["stream_digest"]
    print(f"{'ok  ' if differs else 'FAIL'} another seed, another stream")
    good.append(differs)
    return good


if __name__ == "__main__":
    sys.exit(main())
