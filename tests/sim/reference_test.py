#!/usr/bin/env python3
"""Compares the rows that simulated clusters commit with lanes_reference.py, which knows no blocks.

usage: reference_test.py SIMULATE FROM COUNT
"""
import json
import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "oracle"))
from lanes_reference import apart_steps, steps  # noqa: E402


def cut(rows, plan):
    """The rows of each replica: TensorFlow's two ways to cut a batch."""
    size, replicas = plan["size"], plan["replicas"]
    if plan["split"] == "rebatch_v2":
        few, more = divmod(size, replicas)
        parts = [few + 1] * more + [few] * (replicas - more)
    else:
        filled = size if plan["remainder"] == "pad" else len(rows)
        parts = [-(-filled // replicas)] * replicas
    result = []
    for part in parts:
        result.append(rows[:part])
        rows = rows[part:]
    return result


def replicas_of(plan, lanes):
    """The rows of each replica in each step."""
    count, own = len(lanes), plan["replicas"] // len(lanes)
    how = plan["remainder"], plan["span_epochs"], plan["skip"], plan["take"]
    if plan["feed"] == "apart":
        return apart_steps(plan["size"], lanes, own, plan["split"], *how)
    if plan["feed"] == "together":
        return [cut(rows, plan) for rows in steps(plan["size"], lanes, *how)]
    # Piece r * lanes + l is of replica r of lane l.
    pieces = [cut(rows, plan) for rows in steps(plan["size"], lanes[:1], *how)]
    return [[step[replica % own * count + replica // own] for replica in range(plan["replicas"])] for step in pieces]


def row(plan, lane, epoch, index, count):
    """With a cache the rows of an epoch are those of the first, in another order; with pieces all lanes have those of the
    first."""
    lane = 0 if plan["feed"] == "pieces" else lane
    if not plan["cached"]:
        return [lane, epoch, index]
    return [lane, 0, (index + epoch * (count // 2 + 1)) % count]


def check(program, seed):
    run = subprocess.run([program, "--seed", str(seed), "--json"], capture_output=True, text=True)
    assert run.returncode == 0, "seed %d: %s" % (seed, run.stderr)
    lines = [json.loads(line) for line in run.stdout.splitlines()]
    plan, committed = lines[0], {}
    if plan["by_length"]:  # lanes_reference.py knows no lengths
        return 0
    for line in lines[1:]:
        key = line["step"], line["replica"]
        assert committed.setdefault(key, line["rows"]) == line["rows"], "seed %d: %s twice" % (seed, key)
    lanes = [[[row(plan, lane, epoch, index, len(positions)) + [sub] for index, made in enumerate(positions) for sub in range(made)]
              for epoch, positions in enumerate(epochs)] for lane, epochs in enumerate(plan["made"])]
    expected = replicas_of(plan, lanes)
    if plan["steps_max"] is not None:
        expected = expected[:plan["steps_max"]]
    count = 1 + max((step for step, _ in committed), default=-1)
    early = plan["rogue"] or plan["finishes"]
    if early:  # it ends early, not everywhere in the same step
        count = next((s for s in range(count) for r in range(plan["replicas"]) if (s, r) not in committed), count)
    assert count == len(expected) or plan["drain"] or early, "seed %d: %d of %d steps" % (seed, count, len(expected))
    for number, parts in enumerate(expected[:count]):
        for replica, part in enumerate(parts):
            assert committed[number, replica] == part, "seed %d step %d replica %d" % (seed, number, replica)
    return count


def main():
    program, first, count = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    compared = sum(check(program, seed) for seed in range(first, first + count))
    assert compared > 0
    print("seeds %d to %d: %d steps are the reference's" % (first, first + count - 1, compared))


if __name__ == "__main__":
    main()
