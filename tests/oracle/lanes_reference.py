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


def pulls(size, rows, worker, workers, replicas, split, apart, remainder):
    """What the replicas of a worker of TensorFlow pull of its rows, one after the other, without end.  V2: the sizes of a
    batch, rotated by the worker's first replica; legacy: each batch of the worker is cut by its own rows."""
    parts = workers * replicas
    if remainder == "drop":
        rows = rows[:len(rows) // size * size]
    if split == "rebatch_v2":
        few, more = divmod(size, parts)
        sizes = [few + 1] * more + [few] * (parts - more)
        turn = worker * replicas
        while True:
            for count in sizes[turn:] + sizes[:turn]:
                yield rows[:count]
                rows = rows[count:]
    while True:
        batch, rows = rows[:size], rows[size:]
        each = -(-(size if remainder == "pad" else len(batch)) // parts)
        for part in range(parts):
            yield batch[part * each:(part + 1) * each]


def apart_steps(size, lanes, replicas, split, apart, remainder="keep", span_epochs=False, skip=0, take=None):
    """The rows of every replica in every step, where each lane feeds `replicas` of its own, until all lanes have ended."""
    if span_epochs:
        lanes = [[sum(epochs, [])] for epochs in lanes]
    result = []
    for epoch in range(len(lanes[0])):
        workers = [pulls(size, lane[epoch], number, len(lanes), replicas, split, apart, remainder) for number, lane in enumerate(lanes)]
        batches = []
        while not batches or any(batches[-1]):
            batches.append([next(worker) for worker in workers for _ in range(replicas)])
        result += batches[:-1][skip:None if take is None else skip + take]
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
