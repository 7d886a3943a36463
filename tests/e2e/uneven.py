#!/usr/bin/env python3
"""Small graphs drawn at random, on tiny files, over several placements, against plain Python.

Each seed draws rows, files and their format, what is skipped, taken and repeated, epochs, lanes and how they share the
data, replicas, batch size, split, remainder, batches skipped and taken, operations, block size, workers, devices, depth and access, computes every step of every replica from the definitions alone (no
blocks, processes or time), and runs the graph in one process and over hosts.  All must agree: rows
of every replica in every step, which step is the last of its epoch, the ledger, the stream digest,
what is gathered of all
replicas, and the bits of seven reductions a step.  Usage: uneven.py [SEEDS [FROM]]
"""
import ctypes
import json
import os
import pathlib
import random
import struct
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "oracle"))
from lanes_reference import epoch_takes  # noqa: E402
from permute import permutation  # noqa: E402
from run import BUILD, TUNDISH, free_port  # noqa: E402

SECONDS = 30  # a run that takes longer hangs


# --- the digest, by libxxhash itself ------------------------------------------------------------

class Hash(ctypes.Structure):
    _fields_ = [("low", ctypes.c_uint64), ("high", ctypes.c_uint64)]


def xxh3():
    try:
        library = ctypes.CDLL("libxxhash.so.0")
    except OSError:
        return None
    function = library.XXH3_128bits_withSeed
    function.restype = Hash
    function.argtypes = [ctypes.c_char_p, ctypes.c_size_t, ctypes.c_uint64]
    return function


XXH3 = xxh3()


def digest(rows):
    total = 0
    for rank, columns in enumerate(rows):
        seed = rank
        for data in columns:
            value = XXH3(data, len(data), seed)
            seed = value.low
        total += value.low | value.high << 64
    return "%032x" % (total % 2**128)


def write_npy(path, descr, shape, data):
    head = repr({"descr": descr, "fortran_order": False, "shape": shape}).encode()
    head += b" " * (-(len(head) + 11) % 64) + b"\n"
    path.write_bytes(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head + data)


# --- a graph, drawn -----------------------------------------------------------------------------

class Drawn:
    def __init__(self, seed):
        draw = self.draw = random.Random(seed)
        self.seed = seed
        self.rows = draw.choice([1, 2, 3, 7, 7, 33, 100, 100])
        self.epochs = draw.choice([1, 1, 2, 3])
        self.lanes = draw.choice([1, 1, 2, 3, 5])
        self.replicas = draw.randint(1, 8)
        self.size = draw.randint(1, 17)
        self.split = draw.choice(["rebatch_v2", "rebatch_legacy"])
        self.remainder = draw.choice(["keep", "keep", "drop", "pad"])
        self.span = draw.choice([False, False, True])
        self.shuffle = draw.choice(["none", "global"])
        self.workers = draw.randint(1, 3)
        self.readers = draw.choice([1, 1, 2])
        self.depth = draw.randint(1, 3)
        self.devices = draw.randint(1, 3)
        self.block = draw.choice([None, "1 rows", "3 rows", "10 rows"])
        self.after = draw.random() < 0.3
        self.ops, self.keep = [], lambda k: [k]
        kind = draw.choice(["none", "all", "nothing", "one", "some", "some", "times", "column",
                            "filter column", "no preprocessor"])
        self.kind = kind
        limit = {"all": 10, "nothing": -1, "some": 5, "filter column": 4}.get(kind)
        if limit is not None:
            self.ops.append("filter: {column: k, op: le, value: %d}" % limit)
        if kind == "one":
            self.ops.append("filter: {column: y, op: eq, value: %d}" % (self.rows // 2))
        if kind == "times":
            self.times = draw.randint(2, 4)
            self.ops.append("repeat_rows: {times: %d}" % self.times)
        if kind in ("column", "filter column"):
            self.ops.append("repeat_rows: {column: k, max: 9}")
        self.limit = limit
        self.k = [draw.randrange(10) for _ in range(self.rows)]
        #  By column: its type, the shape of a row, the bytes of each row.
        self.columns = {
            "x": ("<f4", (3,), [struct.pack("<3f", *(draw.gauss(0, 1) for _ in range(3)))
                                for _ in range(self.rows)]),
            "y": ("<i8", (), [struct.pack("<q", y) for y in range(self.rows)]),
            "k": ("|u1", (), [bytes([k]) for k in self.k]),
        }
        if kind == "none":
            self.ops.append("cast: {column: k, to: u8}")
        self.draw_reading(random.Random(seed + 1000000))

    def draw_reading(self, draw):
        self.skip = draw.choice([0, 0, draw.randrange(self.rows)])
        self.take = draw.choice([None, None, draw.randint(1, self.rows + 3)])
        self.repeat = draw.choice([1, 1, 2, 3])
        few = 1 + self.rows // self.size
        self.skip_batches = draw.choice([0, 0, 0, draw.randint(1, few)])
        self.take_batches = draw.choice([None, None, draw.randint(1, few)])
        self.access = draw.choice(["auto", "map", "read"])
        self.by_file = self.lanes > 1 and self.rows >= self.lanes and draw.random() < 0.6
        few = self.lanes if self.by_file else 1
        most = min(self.rows, 9)
        self.named = draw.choice(["range", "list", "pattern"])
        #  Rows of each file, by column; columns are cut alike where lanes share files.
        self.cuts = {}
        for name in self.columns:
            if not self.cuts or not self.by_file:
                count = draw.randint(few, most) if most > few else most
                ends = [0, *sorted(draw.sample(range(1, self.rows), count - 1)), self.rows]
                cut = [range(a, b) for a, b in zip(ends, ends[1:])]
            self.cuts[name] = cut
        #  Bytes before and after the records of a file that has all columns; None: a file a column.
        draw = random.Random(self.seed + 2000000)
        self.raw = draw.choice([None, None, (0, 0), (draw.randint(1, 40), draw.randint(0, 9))])
        if self.raw:
            self.cuts = {name: self.cuts["x"] for name in self.columns}

    def source(self):
        def files(name, kind):
            count = len(self.cuts["x" if self.raw else name])
            return {"range": f'"${{data}}/{name}-[0-{count - 1}].{kind}"',
                    "pattern": f'"${{data}}/{name}-?.{kind}"',
                    "list": "[" + ", ".join(f'"${{data}}/{name}-{i}.{kind}"' for i in range(count)) + "]"
                    }[self.named]
        if self.raw:
            return ("raw: {files: %s, columns: {x: \"f32[3]\", y: i64, k: u8}, header: %d B, footer: %d B}"
                    % (files("all", "bin"), *self.raw))
        return "npy: {" + ", ".join(f"{name}: {files(name, 'npy')}" for name in self.columns) + "}"

    def write_data(self, folder, lanes):
        """The files that these lanes need, where lanes share them out, and `y` as a whole."""
        folder.mkdir(exist_ok=True)

        def wanted(name):
            return ((at, cut) for at, cut in enumerate(self.cuts[name])
                    if not self.by_file or self.named == "pattern" or at % self.lanes in lanes)
        for at, cut in wanted("x") if self.raw else ():
            records = b"".join(rows[i] for i in cut for _, _, rows in self.columns.values())
            (folder / f"all-{at}.bin").write_bytes(b"h" * self.raw[0] + records + b"f" * self.raw[1])
        for name, (descr, shape, rows) in () if self.raw else self.columns.items():
            for at, cut in wanted(name):
                write_npy(folder / f"{name}-{at}.npy", descr, (len(cut), *shape),
                          b"".join(rows[cut.start:cut.stop]))
        descr, shape, rows = self.columns["y"]
        write_npy(folder / "y.npy", descr, (self.rows, *shape), b"".join(rows))

    def used(self):
        """The samples of each lane in an epoch before the shuffle; one list where they are dealt by
        position."""
        whole = list(range(self.rows))
        end = None if self.take is None else self.skip + self.take
        if not self.by_file:
            return [whole[self.skip:end] * self.repeat]
        lanes = [[s for at, cut in enumerate(self.cuts["x"]) if at % self.lanes == lane for s in cut]
                 for lane in range(self.lanes)]
        turns = [(turn, lane, s) for lane, samples in enumerate(lanes)
                 for turn, s in enumerate(samples)]
        kept = sorted(turns)[self.skip:end]
        return [[s for _, of, s in kept if of == lane] * self.repeat for lane in range(self.lanes)]

    def copies(self, sample):
        """How many rows of the stream a sample becomes."""
        k = self.k[sample]
        if self.limit is not None and k > self.limit:
            return 0
        if self.kind == "one":
            return 1 if sample == self.rows // 2 else 0
        if self.kind == "times":
            return self.times
        return k if self.kind in ("column", "filter column") else 1

    def graph(self, folder):
        self.write_data(folder, range(self.lanes))
        block = f", block: {self.block}" if self.block else ""
        prep = f"  prep: {{kind: preprocessor, ops: [{', '.join('{%s}' % op for op in self.ops)}]}}\n"
        bounds = f", skip: {self.skip}" + (f", take: {self.take}" if self.take else "")
        chain = "read -> prep" if self.ops else "read"
        after = ("  check: {kind: reader, source: {npy: {y: \"${data}/y.npy\"}}}\n"
                 f"  check_batch: {{kind: batcher, size: 4, replicas: {self.replicas}}}\n"
                 "  test: {kind: feeder, after: feed}\n") if self.after else ""
        path = folder / "graph.yaml"
        path.write_text(
            f"tundish: 1\nseed: {self.seed}\nlanes: {self.lanes}\ndata: {folder}\nactors:\n"
            f"  read: {{kind: reader, source: {{{self.source()}}}, shuffle: {self.shuffle}, "
            f"epochs: {self.epochs}{bounds}, repeat: {self.repeat}, access: {self.access}, "
            f"shard: {'file' if self.by_file else 'index'}}}\n{prep if self.ops else ''}"
            f"  batch: {{kind: batcher, size: {self.size}, replicas: {self.replicas}, "
            f"split: {self.split}, remainder: {self.remainder}, "
            f"span_epochs: {str(self.span).lower()}, skip: {self.skip_batches}"
            f"{f', take: {self.take_batches}' if self.take_batches else ''}{block}}}\n"
            f"  feed: {{kind: feeder, depth: {self.depth}, step: {{plugin: witness}}}}\n"
            f"  mean: {{kind: reducer{', weight: k' if self.seed % 2 else ''}}}\n{after}links:\n  - {chain} -> batch -> feed <-> mean\n"
            + ("  - check -> check_batch -> test\n" if self.after else ""))
        return path

    # --- placements -----------------------------------------------------------------------------

    def hosts(self):
        """Overlays by name: what each host carries."""
        prep = ["prep"] if self.ops else []
        check = ["check", "check_batch"] if self.after else []
        test = ["test"] if self.after else []
        found = {
            "two": {"a": ["read", "batch", *check], "b": [*prep, "feed", "mean", *test]},
            "feeder leads": {"a": ["feed", "mean", *test], "b": [*prep], "c": ["read", "batch", *check]},
            "reader apart": {"a": ["batch", *check], "b": ["read", *prep], "c": ["feed", "mean", *test]},
        }
        if self.replicas > 1:
            found["two feeders"] = {"a": ["read", "batch", "mean", *check],
                                    "b": ["feed", *prep, *test], "c": ["feed", *test]}
        if self.replicas > 2:
            found["three feeders"] = {"a": ["read", "batch", "feed", *check, *test],
                                      "b": ["feed", "mean", *prep, *test], "c": ["feed", *test]}
        if self.lanes > 1 and self.replicas > 1:
            most = self.draw.randint(1, self.lanes - 1)
            found["lanes"] = {"a": ["read", *prep, "batch", "feed", "mean", *check, *test],
                              "b": ["read", *prep, "batch", "feed", *check, *test],
                              "lanes": [most, self.lanes - most]}
            found["lanes apart"] = {"a": ["read", *prep, "batch", *check],
                                    "b": ["read", *prep, "batch", *check], "c": ["feed", "mean", *test],
                                    "lanes": [most, self.lanes - most, 0]}
        return {name: hosts if "b" not in hosts or hosts["b"] else {"a": hosts["a"], "b": hosts["c"]}
                for name, hosts in found.items()}

    def overlay(self, folder, name, transport):
        hosts = dict(self.hosts()[name])
        lanes = hosts.pop("lanes", None)
        feeding = sum("feed" in actors for actors in hosts.values())
        devices = max(1, min(self.devices, self.replicas // feeding))
        lines, first = [], 0
        for at, (host, actors) in enumerate(hosts.items()):
            here = range(self.lanes) if not lanes else range(first, first + lanes[at])
            first += lanes[at] if lanes else 0
            self.write_data(folder / host, here if "read" in actors else [])
            keys = [f"actors: [{', '.join(actors)}]", f"transport: {transport}",
                    f"data: {folder / host}"]
            if lanes and lanes[at]:
                keys.append(f"lanes: {lanes[at]}")
            workers = {actor: count for actor, count in (("prep", self.workers), ("read", self.readers))
                       if actor in actors and count > 1}
            if workers:
                keys.append("workers: {" + ", ".join(f"{a}: {c}" for a, c in workers.items()) + "}")
            if "feed" in actors:
                listed = ", ".join(f'"cpu:{d}"' for d in range(devices))
                keys.append(f"devices: {{feed: [{listed}]}}")
            lines.append(f"  {host}: {{{', '.join(keys)}}}\n")
        path = folder / "hosts.yaml"
        path.write_text(f"port: {free_port()}\nhosts:\n" + "".join(lines))
        return path

    # --- what must come -------------------------------------------------------------------------

    def expected(self):
        """[(epoch, last, rows, padding)] of every step, and the ledger."""
        lanes = [[] for _ in range(self.lanes)]
        used = self.used()
        for epoch in range(self.epochs):
            for lane in range(self.lanes):
                stored = used[lane if self.by_file else 0]
                seed = self.seed ^ (0x9E3779B97F4A7C15 * lane % 2**64 if self.by_file else 0)
                order = (permutation(len(stored), seed, epoch)
                         if self.shuffle == "global" and stored else lambda position: position)
                places = range(len(stored)) if self.by_file else range(lane, len(stored), self.lanes)
                samples = [stored[order(p)] for p in places]
                lanes[lane].append([s for s in samples for _ in range(self.copies(s))])
        if self.span:
            lanes = [[sum(epochs, [])] for epochs in lanes]
        steps, dropped, unread = [], 0, False
        for epoch in range(len(lanes[0])):
            at, found = [0] * self.lanes, []
            takes = epoch_takes(self.size, [len(lane[epoch]) for lane in lanes])
            for number, take in enumerate(takes):
                rows = [row for lane, start, count in zip(lanes, at, take)
                        for row in lane[epoch][start:start + count]]
                at = [start + count for start, count in zip(at, take)]
                if len(rows) < self.size and self.remainder == "drop" or number < self.skip_batches:
                    dropped += len(rows)
                elif len(found) == self.take_batches:
                    unread = True
                    break
                else:
                    found.append(rows)
            steps += [(epoch, at == len(found) - 1, rows) for at, rows in enumerate(found)]
        copies = [self.copies(s) for stored in used for s in stored]
        ledger = {"fed": sum(len(rows) for _, _, rows in steps), "dropped": dropped, "bad": 0}
        if not unread:  # what `take` leaves unread is in no account; the simulator knows how much
            ledger |= {"read": len(copies) * self.epochs,
                       "added": self.epochs * sum(max(c - 1, 0) for c in copies),
                       "filtered": self.epochs * sum(c == 0 for c in copies)}
        return steps, ledger

    def parts(self, rows):
        """The rows of each replica of a batch."""
        if self.split == "rebatch_legacy":
            whole = self.size if self.remainder == "pad" else len(rows)
            each = [-(-whole // self.replicas)] * self.replicas
        else:
            few, more = divmod(self.size, self.replicas)
            each = [few + (r < more) for r in range(self.replicas)]
        cut, at = [], 0
        for count in each:
            cut.append(rows[at:at + count])
            at += count
        return cut


# --- one run ------------------------------------------------------------------------------------

def perform(folder, words, more=()):
    """What a run wrote: code, output, report, metrics and the lines of each replica."""
    out = pathlib.Path(tempfile.mkdtemp(dir=folder))
    line = [str(TUNDISH), *map(str, words), "--report", str(out / "report.json"),
            "--metrics", str(out / "metrics.jsonl"), *more]
    env = {**os.environ, "WITNESS": str(out), "TUNDISH_PLUGIN_PATH": str(BUILD / "tests")}
    with subprocess.Popen(line, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=env) as child:
        try:
            text, _ = child.communicate(timeout=SECONDS)
        except subprocess.TimeoutExpired:
            child.terminate()
            try:
                text, _ = child.communicate(timeout=5)
            except subprocess.TimeoutExpired:
                child.kill()
                text, _ = child.communicate()
            raise AssertionError(f"hangs: {' '.join(line)}\n{text[-3000:]}") from None
    assert child.returncode == 0, f"exit code {child.returncode}\n{text[-3000:]}"
    told = json.loads((out / "report.json").read_text())
    metrics = [json.loads(t) for t in (out / "metrics.jsonl").read_text().splitlines()]
    seen = {int(path.stem): path.read_text().splitlines() for path in out.glob("*.txt")}
    gathered = (out / "gathered").read_text().splitlines() if (out / "gathered").exists() else []
    return told, metrics, seen, gathered


def check(drawn, told, metrics, seen, gathered):
    steps, ledger = drawn.expected()
    differs = []

    def same(what, got, wanted):
        if got != wanted:
            differs.append(f"{what}: got {got}, wanted {wanted}")

    same("steps", told["steps"], len(steps))
    same("rows", told["rows"], {**told["rows"], **ledger})
    same("rows of steps", [(m["step"], m["rows"]) for m in metrics],
         [(s, len(rows)) for s, (_, _, rows) in enumerate(steps)])
    if not drawn.span:
        same("epochs of steps", [m["epoch"] for m in metrics], [epoch for epoch, _, _ in steps])
    same("gathered", [[int(y) for y in line.split()] for line in gathered],
         [sum(drawn.parts(rows), []) for _, _, rows in steps])
    same("replicas", sorted(seen), list(range(drawn.replicas)))
    for replica, lines in sorted(seen.items()):
        got = [line.split(" :") for line in lines]
        same(f"replica {replica}, numbers and ends",
             [tuple(map(int, head.split()))[0::2] for head, _ in got],
             [(s, int(last)) for s, (_, last, _) in enumerate(steps)])
        same(f"replica {replica}, rows", [[int(y) for y in rows.split()] for _, rows in got],
             [drawn.parts(rows)[replica] for _, _, rows in steps])
    if drawn.remainder == "pad":
        padded = [sum(int(lines[s].split()[3]) for lines in seen.values()) for s in range(len(steps))]
        same("padding", padded, [drawn.size - len(rows) for _, _, rows in steps])
    if XXH3 is not None:
        rows = [[column[2][s] for column in drawn.columns.values()]
                for _, _, rows in steps for s in rows]
        same("stream_digest", told["stream_digest"], digest(rows))
    return differs


def one(seed):
    drawn = Drawn(seed)
    print(f"seed {seed}: rows {drawn.rows} x {drawn.epochs}, lanes {drawn.lanes}, size {drawn.size}, replicas "
          f"{drawn.replicas}, {drawn.remainder}{', span' if drawn.span else ''}, {drawn.kind}, "
          f"{len(drawn.cuts['x'])} files by {drawn.named}{', a lane has its own' if drawn.by_file else ''}, "
          f"skip {drawn.skip} take {drawn.take} repeat {drawn.repeat}, {drawn.access}, "
          f"batches: skip {drawn.skip_batches} take {drawn.take_batches}"
          f"{', after' if drawn.after else ''}", flush=True)
    good = True
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        graph = drawn.graph(folder)
        runs = [("one process", ["run", graph], None)]
        names = sorted(drawn.hosts())
        for place in drawn.draw.sample(names, min(2, len(names))):
            runs.append((place, ["up", graph], drawn.draw.choice(["tcp", "ipc", "auto"])))
        base = None
        for place, words, transport in runs:
            where = f"{place}{', ' + transport if transport else ''}"
            more = []
            if transport:
                words = words + [drawn.overlay(folder, place, transport)]
            else:
                listed = ", ".join(f"cpu:{d}" for d in range(min(drawn.devices, drawn.replicas)))
                more = ["--set", f"feed.devices=[{listed}]"]
            try:
                told, metrics, seen, gathered = perform(folder, words, more)
                differs = check(drawn, told, metrics, seen, gathered)
                for key in ("model_digest", "stream_digest", "results", "chains"):
                    if base and told[key] != base[key]:
                        differs.append(f"{key}: {told[key]}, in one process {base[key]}")
                base = base or told
            except AssertionError as error:
                differs = [str(error)]
            if differs:
                good = False
                print(f"FAIL seed {seed}, {where}\n     " + "\n     ".join(differs), flush=True)
                print(graph.read_text())
                if transport:
                    print(words[-1].read_text(), flush=True)
    return good


def main():
    seeds = int(sys.argv[1]) if len(sys.argv) > 1 else 12
    first = int(sys.argv[2]) if len(sys.argv) > 2 else 0
    good = [one(seed) for seed in range(first, first + seeds)]
    print(f"{sum(good)} of {len(good)} seeds agree")
    return 0 if all(good) else 1


if __name__ == "__main__":
    sys.exit(main())
