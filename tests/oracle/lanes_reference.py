#!/usr/bin/env python3
"""What the steps of a run are, from its final rows alone: no blocks, tickets, watermarks or time.

A lane is a list of epochs, an epoch a list of rows.  `steps` is the whole definition of the stream:
batch s takes from lane l its rotated quota, and what is missing, in order, from lanes that have rows
left.  Run as a program it prints the cases of tests/oracle/lanes.txt, one a line:

    epoch SIZE LANES : ROWS... : TAKE... / TAKE... / ...

the rows each lane has in an epoch, then what each batch of it takes of each lane.
"""
import random


def quotas(size, lanes, step):
    few, more = divmod(size, lanes)
    parts = [few + 1] * more + [few] * (lanes - more)
    turn = step % lanes
    return parts[turn:] + parts[:turn]


def compose(size, step, left):
    """What batch `step` of an epoch takes of lanes that have `left` rows."""
    take = [min(quota, rows) for quota, rows in zip(quotas(size, len(left), step), left)]
    for lane, rows in enumerate(left):
        take[lane] += min(size - sum(take), rows - take[lane])
    return take


def epoch_takes(size, left):
    takes = []
    left = list(left)
    while any(left):
        takes.append(compose(size, len(takes), left))
        left = [rows - used for rows, used in zip(left, takes[-1])]
    return takes


def steps(size, lanes, remainder="keep", span_epochs=False, skip=0, take=None):
    """The rows of every step.  lanes[l][e] is the list of rows of lane l in epoch e; of each epoch's
    batches, `skip` are left out and `take` used."""
    if span_epochs:
        lanes = [[sum(epochs, [])] for epochs in lanes]
    result = []
    for epoch in range(len(lanes[0])):
        at, batches = [0] * len(lanes), []
        for taken in epoch_takes(size, [len(lane[epoch]) for lane in lanes]):
            rows = [row for lane, start, count in zip(lanes, at, taken) for row in lane[epoch][start:start + count]]
            at = [start + count for start, count in zip(at, taken)]
            if len(rows) == size or remainder != "drop":
                batches.append(rows)
        result += batches[skip:None if take is None else skip + take]
    return result


def main():
    rng = random.Random(7)
    print("# Written by lanes_reference.py: the batches of an epoch.")
    for _ in range(120):
        lanes = rng.choice([1, 1, 2, 3, 5, 8])
        size = rng.randint(1, 17)
        left = [rng.choice([0, 1, 3, 7, 20, 40]) for _ in range(lanes)]
        takes = " / ".join(" ".join(map(str, take)) for take in epoch_takes(size, left))
        print("epoch %d %d : %s : %s" % (size, lanes, " ".join(map(str, left)), takes))


if __name__ == "__main__":
    main()
