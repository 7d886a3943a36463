#!/usr/bin/env python3
"""The maps of runtime/core/places.h written out in Python, as sequences; writes places.txt.

A line is `ROWS ; MAP ... ; MAP ... | EPOCH hash COUNT HASH POSITION=PLACE ...`. ROWS are the rows of
each file. Maps: `files BUFFER SEED GLOBAL RESHUFFLE` (a shuffle of them), `interleave CYCLE BLOCK`, `unbatch ROWS`, `skip COUNT`, `take COUNT`, `repeat TIMES
FUSED [GROUP]`, `shard SHARDS INDEX [ROWS]`, `global SEED`, `index_shuffle SEED GLOBAL RESHUFFLE`, `shuffle BUFFER
SEED GLOBAL RESHUFFLE` (GLOBAL `-`: not set), `window SIZE SHIFT STRIDE DROP`. HASH is
h = 31 * h + place modulo 2^64 over all places in order, or `-`.
"""
import bisect
import itertools
import os
import random

from permute import permutation, philox

M31 = 2**31 - 1


class Pass:
    """A lazy sequence: `at(position)`, or a list if it is drawn."""

    def __init__(self, count, at):
        self.count, self.at = count, at


def generator(seeds):
    for block in itertools.count():
        yield from philox((block & 0xFFFFFFFF, block >> 32, seeds[1], 0), (seeds[0], 0))


def op_seeds(seed, shown):
    first = 87654321 if shown == "-" else int(shown) % M31
    return (first, int(seed) % M31) if (first, int(seed) % M31) != (0, 0) else (0, M31)


def interleave(files, cycle, block):
    """Runs (first place, rows) as the loop of TensorFlow's kernel makes them, a block at a time."""
    starts = [0, *itertools.accumulate(files)]
    waiting = iter(range(len(files)))
    slots, current, more, runs = [None] * cycle, 0, True, []
    while more or any(slot is not None for slot in slots):
        if slots[current] is None and more:
            number = next(waiting, None)
            more = number is not None
            if more:
                slots[current] = [starts[number], starts[number + 1]]
                continue
        elif slots[current] is not None:
            place, end = slots[current]
            rows = min(block, end - place)
            runs.append((place, rows))
            slots[current] = [place + rows, end] if rows == block else None
        current = (current + 1) % cycle
    return [run for run in runs if run[1] > 0]


def run_at(runs):
    ends = list(itertools.accumulate(rows for _, rows in runs))

    def at(position):
        number = bisect.bisect_right(ends, position)
        return runs[number][0] + position - (ends[number] - runs[number][1])
    return at


def simon(index, key, last, rounds=8):
    """TensorFlow's index shuffle."""
    bits = max(16, 2 * -(-(last - 1).bit_length() // 2) if last > 1 else 0)
    width = bits // 2
    mask = 2**width - 1

    def left(x, by):
        return (x << by % width | x >> (width - by % width)) & mask
    keys, z = [word & mask for word in key], 0x7369F885192C0EF5 & mask
    while len(keys) < rounds:
        j = len(keys)
        keys.append(0xFFFFFFFC & mask ^ z & 1 ^ keys[j - 3] ^ left(keys[j - 1], width - 3)
                    ^ left(keys[j - 1], width - 4))
        z >>= 1
    while True:
        low, high = index & mask, index >> width & mask
        for j in range(0, rounds, 2):
            high ^= left(low, 1) & left(low, 8) ^ left(low, 2) ^ keys[j]
            low ^= left(high, 1) & left(high, 8) ^ left(high, 2) ^ keys[j + 1]
        index = high << width | low
        if index <= last:
            return index


class List:
    """A list of maps; `iterate` begins a pass as a dataset is iterated, and counts the passes."""

    def __init__(self, rows, maps):
        self.rows, self.map = rows, maps[-1].split() if maps else None
        self.below = List(rows, maps[:-1]) if maps else None
        self.passes = 0

    def unit(self):
        if self.map is None:
            return 1
        return int(self.map[1]) if self.map[0] == "unbatch" else self.below.unit()

    def iterate(self):
        number, self.passes = self.passes, self.passes + 1
        if self.map is None:
            return Pass(sum(self.rows), lambda p: p)
        return getattr(self, self.map[0])(number, *self.map[1:])

    def interleave(self, _number, cycle, block):
        below = self.below.iterate()
        order = getattr(below, "order", range(len(self.rows)))
        at = run_at(interleave([self.rows[file] for file in order], int(cycle), int(block)))
        return Pass(sum(self.rows), lambda p: below.at(at(p)))

    def files(self, number, *shuffle):
        names = List([len(self.rows)], [" ".join(("shuffle", *shuffle))])
        names.passes = number
        drawn = names.iterate()
        starts = [0, *itertools.accumulate(self.rows)]
        order = [drawn.at(i) for i in range(len(self.rows))]
        result = Pass(sum(self.rows), run_at([(starts[file], self.rows[file]) for file in order
                                              if self.rows[file] > 0]))
        result.order = order
        return result

    def unbatch(self, _number, rows):
        rows, below = int(rows), self.below.iterate()
        return Pass(below.count * rows, lambda p: below.at(p // rows) * rows + p % rows)

    def skip(self, _number, count):
        below = self.below.iterate()
        return Pass(max(below.count - int(count), 0), lambda p: below.at(p + int(count)))

    def take(self, _number, count):
        below = self.below.iterate()
        return Pass(min(below.count, int(count)), below.at)

    def shard(self, _number, shards, index, rows=1):
        """Batches of `rows`, of which each `shards`-th is used, and then their rows."""
        below, rows = self.below.iterate(), int(rows)
        batches = range(int(index) * rows, below.count, int(shards) * rows)
        last = min(batches[-1] + rows, below.count) - batches[-1] if batches else 0
        return Pass(max(len(batches) - 1, 0) * rows + last, lambda p: below.at(batches[p // rows] + p % rows))

    def repeat(self, _number, times, fused, group=0):
        if int(group):
            return self.groups(int(times), int(group))
        passes = [self.below.iterate() for _ in range(int(times))]
        if not (int(fused) and self.below.map and self.below.map[0] == "shuffle"):
            self.below.iterate()
        count = passes[0].count
        return Pass(count * int(times), lambda p: passes[p // count].at(p % count))

    def groups(self, times, group):
        """Each group of rows, and a short one at the end, as often."""
        below = self.below.iterate()
        runs = [(first, min(group, below.count - first)) for first in range(0, below.count, group)]
        at = run_at([run for run in runs for _ in range(times)])
        return Pass(below.count * times, lambda p: below.at(at(p)))

    def window(self, _number, size, shift, stride, drop):
        below = self.below.iterate()
        span = (int(size) - 1) * int(stride) if int(drop) else 0
        return Pass(len(range(0, max(below.count - span, 0), int(shift))), lambda p: [
            below.at(q) for q in range(p * int(shift), below.count, int(stride))[:int(size)]])

    def seeds(self, number, seed, shown, reshuffle, draws):
        seeds = op_seeds(seed, shown)
        if int(reshuffle):
            words = itertools.islice(generator(seeds), number * draws, (number + 1) * draws)
            return list(words)
        return [*seeds, *seeds]

    def index_shuffle(self, number, seed, shown, reshuffle):
        key, below = self.seeds(number, seed, shown, reshuffle, 4)[:3], self.below.iterate()
        return Pass(below.count, lambda p: below.at(simon(p, key, below.count - 1)))

    def shuffle(self, number, size, seed, shown, reshuffle):
        seeds, below = self.seeds(number, seed, shown, reshuffle, 2)[:2], self.below.iterate()
        random_words, drawn, state = generator(seeds), [], {"next": 0, "buffer": [], "head": 0}

        def draw():
            """Lists as TensorFlow's ring: the oldest first, where a draw leaves the oldest."""
            buffer = state["buffer"]
            while len(buffer) < int(size) and state["next"] < below.count:
                buffer.append(below.at(state["next"]))
                state["next"] += 1
            at = next(random_words) % len(buffer)
            drawn.append(buffer[at])
            buffer[at] = buffer[0]
            del buffer[0]

        def at(position):
            while len(drawn) <= position:
                draw()
            return drawn[position]
        return Pass(below.count, at)

    # `global` is a word of Python
    def __getattr__(self, name):
        if name != "global":
            raise AttributeError(name)

        def permuted(number, seed):
            below = self.below.iterate()
            order = permutation(below.count, int(seed), number)
            return Pass(below.count, lambda p: below.at(order(p)))
        return permuted


def line(rows, maps, epoch, near=None):
    order = List(rows, maps)
    for _ in range(epoch):
        order.iterate()
    places = order.iterate()
    head = "%s ; %s | %d hash %d " % (",".join(map(str, rows)), " ; ".join(maps), epoch,
                                      places.count)

    def shown(position):
        place = places.at(position)
        parts = place if isinstance(place, list) else [place]
        return "%d=%s" % (position, ",".join(map(str, parts)))
    value = "-"
    if places.count < 2**20:
        value = 0
        for position in range(places.count):
            place = places.at(position)
            for part in place if isinstance(place, list) else [place]:
                value = (31 * value + part) % 2**64
    draws = random.Random(places.count)
    most = min(near or places.count, places.count)
    samples = sorted({0, most - 1, *(draws.randrange(most) for _ in range(6))} if most else [])
    return head + str(value) + "".join(" " + shown(position) for position in samples)


def lines():
    for n in (1, 2, 3, 10, 65537, 2**33 + 1):
        huge = n > 2**20
        half = [n // 2, n - n // 2]
        five = [n // 3, 0, n // 7, 1 if n > 5 else 0]
        five.append(n - sum(five))
        block = 2**24 if huge else 16
        near = 3000 if huge else None
        for maps in (["skip 1"], ["take %d" % (n // 2 + 1)], ["repeat 3 1"], ["shard 3 1"],
                     ["skip 1", "take 7", "repeat 2 1", "shard 2 0"],
                     ["repeat 2 1", "skip %d" % (n - 1), "take 3"], ["global 42"],
                     ["index_shuffle 7 - 1"], ["index_shuffle 7 5 0"], ["unbatch 3"],
                     ["skip 1", "global 9", "repeat 2 1"], ["repeat 2 1", "index_shuffle 8 - 1"]):
            for epoch in (0, 3):
                if n > 1 or maps[0] != "skip 1":
                    yield line([n], maps, epoch)
        for maps in (["interleave 1 1"], ["interleave 2 %d" % block], ["interleave 4 %d" % block],
                     ["interleave 9 %d" % (2 * block)], ["interleave 3 %d" % block, "unbatch 4"],
                     ["interleave 2 %d" % block, "skip 1", "take 1000", "repeat 2 1"]):
            for rows in ([n], half, five):
                if n > 1 and not (huge and maps[0] == "interleave 1 1"):
                    yield line(rows, maps, 1)
        for maps in (["files 9 5 - 1"], ["files 2 7 3 0", "interleave 2 %d" % block],
                     ["files 9 5 - 1", "unbatch 3"],
                     ["files 9 5 - 1", "interleave 3 %d" % block, "unbatch 4", "repeat 3 1"],
                     ["files 4 1 - 1", "interleave 4 %d" % block, "skip 3", "repeat 2 0"]):
            for epoch in (0, 2):
                if n > 10 or epoch == 0:
                    yield line(five, maps, epoch)
        for maps in (["shuffle 1 5 - 1"], ["shuffle 10 5 - 1"], ["shuffle 1000 5 6 0"],
                     ["shuffle 70 0 0 1"], ["take 90000", "shuffle 70000 3 - 1"],
                     ["shuffle 10 -3 - 1", "repeat 2 1"], ["shuffle 10 3 - 1", "repeat 2 0"],
                     ["shuffle 10 3 - 1", "shuffle 20 4 - 1"],
                     ["shuffle 10 3 - 1", "take 5", "repeat 3 1", "skip 2"],
                     ["skip 1", "repeat 2 1", "shuffle 17 4 - 1", "shard 3 1"],
                     ["window 3 2 2 0"], ["window 3 2 2 1"], ["shuffle 10 3 - 1", "window 2 1 3 0"],
                     ["interleave 2 3", "shuffle 10 4 - 1"]):
            if n == 1 and maps[0] == "skip 1" or huge and maps[0].startswith("interleave"):
                continue
            for epoch in (0, 2):
                yield line(half if maps[0].startswith("interleave") else [n], maps, epoch,
                           near if not huge or not maps[-1].startswith("take") else None)
    for maps in (["shard 3 1 2"], ["shard 2 0 32"], ["shard 5 4 32", "global 2"]):
        yield line([2**33 + 1], maps, 1)
    for rows in ([64], [65], [1], [20, 0, 13]):
        for maps in (["shard 3 1 2"], ["shard 2 0 32"], ["shard 5 4 32"], ["repeat 3 1 4"], ["repeat 100 1 10"],
                     ["shard 2 1 3", "repeat 2 1 5", "skip 3"], ["repeat 2 1 3", "repeat 2 1 5"],
                     ["global 5", "repeat 2 0 7", "global 3"], ["shuffle 10 3 - 1", "repeat 3 1 8"],
                     ["shuffle 10 3 - 1", "take 33", "repeat 4 1 8", "shard 2 1 4"],
                     ["repeat 3 1 4", "shuffle 9 2 - 1"], ["shuffle 10 3 - 1", "repeat 2 1 16", "window 4 4 1 0"]):
            for epoch in (0, 2):
                yield line(rows, maps, epoch)
    for number in range(40):
        draws = random.Random(number)
        rows = [draws.randrange(9) for _ in range(draws.randrange(1, 30))]
        yield line(rows, ["interleave %d %d" % (draws.randrange(1, 9), draws.randrange(1, 5))], 0)


def main():
    path = os.path.join(os.path.dirname(os.path.abspath(__file__)), "places.txt")
    with open(path, "w", encoding="utf-8") as file:
        file.write("# By places_reference.py. Do not edit.\n" + "\n".join(lines()) + "\n")


if __name__ == "__main__":
    main()
