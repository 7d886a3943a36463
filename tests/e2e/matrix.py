#!/usr/bin/env python3
"""The digest matrix: one graph, any placement, the same bits.

Every variant must give the stream digest, the loss of every step and the model digest of the plain
run.  Usage: matrix.py [STEPS]; STEPS bounds each run (0: all of them).
"""
import pathlib
import sys
import tempfile

from run import FASHION, free_port, need_data, tundish

GRAPH = FASHION / "fashion.yaml"
THREE = FASHION / "three.yaml"
LANES = FASHION / "lanes.yaml"
LANES_TWO = FASHION / "lanes_two.yaml"


def run(steps, command, *arguments):
    bound = ["--steps", steps] if steps else []
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
    good = [compare("one process, again", base, run(steps, "run", GRAPH))]
    for transport in ("tcp", "ipc"):
        good.append(compare(f"three processes over {transport}", base, up(steps, GRAPH, THREE, transport)))
    for workers in (1, 2, 5):
        good.append(compare(f"{workers} workers", base,
                            run(steps, "run", GRAPH, "--set", f"prep.workers={workers}")))
    for devices in (["cpu:0"], ["cpu:0", "cpu:1"], ["cpu:0", "cpu:1", "cpu:2", "cpu:3"]):
        good.append(compare(f"{len(devices)} devices", base,
                            run(steps, "run", GRAPH, "--set", f"feed.devices=[{', '.join(devices)}]")))
    for rows in (8, 100, 1000):
        good.append(compare(f"blocks of {rows} rows", base,
                            run(steps, "run", GRAPH, "--set", f"batch.block={rows} rows")))

    lanes = run(steps, "run", LANES)
    good.append(compare("two lanes on two hosts", lanes, up(steps, LANES, LANES_TWO, "tcp")))

    keep = "prep.ops=[{filter: {column: label, op: lt, value: 7}}, {scale: {column: image, to: f32, range: [0, 1]}}]"
    filtered = run(steps, "run", GRAPH, "--set", keep)
    if filtered.report["rows"]["filtered"] == 0:
        print("FAIL the filter filters nothing")
        good.append(False)
    good.append(compare("a filter, three processes over tcp", filtered,
                        up(steps, GRAPH, THREE, "tcp", "--set", keep)))
    good.append(compare("a filter, 5 workers, blocks of 8 rows", filtered,
                        run(steps, "run", GRAPH, "--set", keep, "--set", "prep.workers=5", "--set",
                            "batch.block=8 rows")))

    for replicas in (1, 2, 3, 5):
        good.append(compare(f"{replicas} replicas: the same stream", base,
                            run(steps, "run", GRAPH, "--set", f"batch.replicas={replicas}",
                                "--set", f"test_batch.replicas={replicas}"), losses=False))
    other = run(steps, "run", GRAPH, "--set", "seed=8")
    differs = other.report["stream_digest"] != base.report["stream_digest"]
    print(f"{'ok  ' if differs else 'FAIL'} another seed, another stream")
    good.append(differs)
    print(f"{sum(good)} passed, {len(good) - sum(good)} failed")
    return 0 if all(good) else 1


if __name__ == "__main__":
    sys.exit(main())
