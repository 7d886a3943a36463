"""Writes arrays of all types in the formats that the sources read, and what NumPy makes of them.

    make_npy.py FOLDER [SEED [CHAINS]]

SEED and CHAINS are of the chains that are drawn at random.
FOLDER/sources.txt has a line a file: format, file, dtype, rows, bytes of a row; beside FILE is
FILE.rows: rows (5 * i + 3) mod n for i = 0 ... n - 1 as they must be read, little-endian.
FILE may be a pattern or a range that names several.  rec_*.bin are records of
{label: u8, image: "u8[3,4,4]", score: f32} and three unused bytes, after 16 bytes and before 3; their
columns are in rec.COLUMN.rows.
FOLDER/ops.txt has a line a chain: name, whether the rows are read in reverse, columns that come in
and that go out, operations, separated by `|`; a column is read from FOLDER/NAME.in.COLUMN.npy, and
FOLDER/NAME.out.COLUMN.npy (or NAME.rev.COLUMN.npy) is what the chain must make of it.
"""
import gzip
import io
import os
import struct
import sys

import numpy as np
from numpy.lib import format as npy_format

FOLDER = sys.argv[1]
RNG = np.random.default_rng(12345)
NAMES = {"uint8": "u8", "int8": "i8", "uint16": "u16", "int16": "i16", "uint32": "u32",
         "int32": "i32", "uint64": "u64", "int64": "i64", "float16": "f16", "float32": "f32",
         "float64": "f64", "bool": "bool"}
IDX = {"uint8": 0x08, "int8": 0x09, "int16": 0x0B, "int32": 0x0C, "float32": 0x0D, "float64": 0x0E}
SHAPES = [(11,), (13, 3), (7, 4, 5), (1, 2, 1, 3)]


def path(name):
    return os.path.join(FOLDER, name)


def numbers(dtype, shape):
    """Random bits, so that every byte matters; for floats without NaN."""
    dtype = np.dtype(dtype)
    count = int(np.prod(shape))
    if dtype == np.bool_:
        return RNG.integers(0, 2, shape).astype(np.bool_)
    data = np.frombuffer(RNG.bytes(count * dtype.itemsize), dtype).reshape(shape).copy()
    if dtype.kind == "f":
        data[np.isnan(data)] = dtype.type(-0.0)
    return data


def note_source(lines, kind, name, array):
    rows = len(array)
    order = [(5 * i + 3) % rows for i in range(rows)]
    with open(path(name + ".rows"), "wb") as file:
        file.write(np.ascontiguousarray(array[order]).tobytes())
    lines.append("%s %s %s %d %d" % (kind, name, NAMES[array.dtype.name], rows,
                                     array[0].nbytes))


def make_npy(lines):
    for dtype in NAMES:
        for number, shape in enumerate(SHAPES):
            array = numbers(dtype, shape)
            version = [(1, 0), (2, 0), (3, 0), None][number]
            name = "%s_%d.npy" % (dtype, number)
            with open(path(name), "wb") as file:
                npy_format.write_array(file, array, version=version)
            note_source(lines, "npy", name, array)


def idx_bytes(array):
    header = struct.pack(">BBBB", 0, 0, IDX[array.dtype.name], array.ndim)
    header += b"".join(struct.pack(">I", size) for size in array.shape)
    return header + array.astype(array.dtype.newbyteorder(">")).tobytes()


def make_idx(lines):
    for dtype in IDX:
        for number, shape in enumerate(SHAPES):
            array = numbers(dtype, shape)
            name = "%s_%d.idx" % (dtype, number)
            content = idx_bytes(array)
            with open(path(name), "wb") as file:
                file.write(content)
            note_source(lines, "idx", name, array)
            half = len(content) // 2
            with open(path(name + ".gz"), "wb") as file:  # two members make one content
                file.write(gzip.compress(content[:half]) + gzip.compress(content[half:]))
            note_source(lines, "idx", name + ".gz", array)


def make_many(lines):
    """Columns in several files, named by a pattern or a range; records with several columns."""
    for names, cuts, array in (("many_*.npy", [3, 4, 9], numbers("float32", (11, 3))),
                               ("even_[0-2].npy", [4, 8], numbers("int64", (11,)))):
        for number, part in enumerate(np.split(array, cuts)):
            np.save(path("%s_%d.npy" % (names[:4], number)), part)
        note_source(lines, "npy", names, array)
    for names, array in (("pix_?.[ig]*", numbers("uint8", (11, 2, 2))),
                         ("far_?.[ig]*", numbers("int16", (11,)))):
        first, second, third = np.split(array, [4, 6])
        for ending, part in (("0.idx", first), ("2.idx", third)):
            with open(path(names[:4] + ending), "wb") as file:
                file.write(idx_bytes(part))
        with open(path(names[:4] + "1.gz"), "wb") as file:
            file.write(gzip.compress(idx_bytes(second)))
        note_source(lines, "idx", names, array)
    record = np.dtype([("label", "u1"), ("image", "u1", (3, 4, 4)), ("score", "<f4"),
                       ("unused", "V3")])
    records = np.frombuffer(RNG.bytes(11 * record.itemsize), record)
    for number, part in enumerate(np.split(records, [5])):
        with open(path("rec_%d.bin" % number), "wb") as file:
            file.write(b"the header, 16 b" + part.tobytes() + b"end")
    order = [(5 * i + 3) % 11 for i in range(11)]
    for column in ("label", "image", "score"):
        with open(path("rec.%s.rows" % column), "wb") as file:
            file.write(np.ascontiguousarray(records[column][order]).tobytes())


def make_refused():
    np.save(path("fortran.npy"), np.asfortranarray(np.arange(12.0).reshape(3, 4)))
    np.save(path("objects.npy"), np.array([{}, 1], dtype=object), allow_pickle=True)
    np.save(path("records.npy"), np.zeros(3, dtype=[("x", "<f4"), ("y", "<i2")]))
    np.save(path("big.npy"), np.arange(3, dtype=">f4"))
    np.save(path("complex.npy"), np.zeros(3, dtype=np.complex64))
    np.save(path("text.npy"), np.array(["a", "b"]))
    np.save(path("dates.npy"), np.array(["2020-01-01"], dtype="datetime64[D]"))
    np.save(path("scalar.npy"), np.float32(3))
    np.save(path("empty.npy"), np.zeros((0, 3), dtype=np.float32))
    np.save(path("column.npy"), np.asfortranarray(np.arange(5, dtype=np.int32)))
    whole = io.BytesIO()
    np.save(whole, np.arange(100, dtype=np.int64))
    with open(path("truncated.npy"), "wb") as file:
        file.write(whole.getvalue()[:-9])
    with open(path("longer.npy"), "wb") as file:
        file.write(whole.getvalue() + b"x")


def make_pictures(case):
    """Mirrored, cut and padded pictures, of all three layouts."""
    layouts = {"hw": ((40, 9, 7), 1, 2, "hwc"), "hwc": ((40, 9, 7, 3), 1, 2, "hwc"),
               "chw": ((40, 3, 9, 7), 2, 3, "chw"), "rgba": ((40, 6, 20, 4), 1, 2, "hwc"),
               "wide": ((40, 2, 100), 1, 2, "hwc")}
    for name, (shape, y, x, layout) in layouts.items():
        head = "column: x, layout: %s" % layout
        for dtype in ("uint8", "int16", "float32"):
            data = {"x": numbers(dtype, shape), "label": numbers("int64", (40,))}
            tag = "%s_%s_" % (name, dtype)
            case(tag + "flip", "{flip: {%s}}" % head, data,
                 lambda r, x=x: {**r, "x": np.flip(r["x"], x)})
            case(tag + "vertical", "{flip: {%s, axis: vertical}}" % head, data,
                 lambda r, y=y: {**r, "x": np.flip(r["x"], y)})
            height, width = shape[y] - shape[y] // 2, shape[x] - 4

            def cut(r, top, left, y=y, x=x, height=height, width=width):
                part = np.take(r["x"], range(top, top + height), y)
                return {**r, "x": np.take(part, range(left, left + width), x)}

            size = "%s, height: %d, width: %d" % (head, height, width)
            case(tag + "middle", "{crop: {%s}}" % size, data,
                 lambda r, cut=cut, y=y, h=height: cut(r, (r["x"].shape[y] - h) // 2, 2))
            case(tag + "corner", "{crop: {%s, at: [1, 3]}}" % size, data,
                 lambda r, cut=cut: cut(r, 1, 3))
            for by, sides in (("3", (3, 3, 3, 3)), ("[0, 2]", (0, 0, 2, 2)),
                              ("[1, 0, 2, 5]", (1, 0, 2, 5))):
                widths = [(0, 0)] * len(shape)
                widths[y], widths[x] = sides[:2], sides[2:]
                case(tag + "pad_%d" % sum(sides), "{pad: {%s, by: %s, value: 7}}" % (head, by), data,
                     lambda r, widths=widths: {**r, "x": np.pad(r["x"], widths,
                                                                constant_values=7)})


def make_columns(case):
    """Other shapes, orders, names and entries of tables."""
    x = numbers("uint16", (30, 4, 5, 3))
    data = {"x": x, "label": (np.arange(30) % 7).astype(np.uint8), "id": numbers("int64", (30, 2))}
    for shape in ((60,), (3, 20), (1, 60, 1), (2, 2, 5, 3)):
        text = "[%s]" % ", ".join(map(str, (-1,) + shape[1:]))
        case("reshape_%d" % len(shape), "{reshape: {column: x, shape: %s}}" % text, data,
             lambda r, shape=shape: {**r, "x": r["x"].reshape((30,) + shape)})
    for axes in ((2, 0, 1), (1, 0, 2), (2, 1, 0), (0, 2, 1), (1, 2, 0), (0, 1, 2)):
        for dtype in ("uint8", "uint16", "float32", "float64", "bool"):
            case("transpose_%s_%s" % ("".join(map(str, axes)), dtype),
                 "{transpose: {column: x, axes: [%s]}}" % ", ".join(map(str, axes)),
                 {"x": numbers(dtype, (20, 4, 5, 3))},
                 lambda r, axes=axes: {"x": r["x"].transpose([0] + [a + 1 for a in axes])})
    case("transpose_five", "{transpose: {column: x, axes: [3, 1, 0, 4, 2]}}",
         {"x": numbers("int32", (9, 2, 3, 1, 4, 5))},
         lambda r: {"x": r["x"].transpose([0, 4, 2, 1, 5, 3])})
    case("select", "{select: {columns: [id, x]}}", data, lambda r: {"id": r["id"], "x": r["x"]})
    case("select_cast", "{cast: {column: id, to: f64}}, {cast: {column: x, to: u8}}, "
         "{select: {columns: [label, id]}}", data,
         lambda r: {"label": r["label"], "id": r["id"].astype(np.float64)})
    case("rename", "{rename: {x: label, label: x}}, {cast: {column: x, to: i32}}", data,
         lambda r: {"label": r["x"], "x": r["label"].astype(np.int32), "id": r["id"]})
    weights = np.array([0.1, 2, 0, 1e-9, 5, 6.25, 1e30], np.float32)
    case("weights", "{lookup: {column: label, into: w, values: [%s]}}, {scale: {column: label}}"
         % ", ".join(map(repr, weights.tolist())), data,
         lambda r: {"x": r["x"], "label": r["label"].astype(np.float32) / np.float32(255),
                    "id": r["id"], "w": weights[r["label"]]})
    case("relabel", "{filter: {column: label, op: ne, value: 2}}, {lookup: {column: label, to: i64, "
         "map: {6: -1, 0: 9223372036854775807, 3: 5}, missing: 100}}", data,
         lambda r: {c: (np.select([a == 6, a == 0, a == 3], [-1, 2**63 - 1, 5], 100)
                        if c == "label" else a)
                    for c, a in ((c, a[r["label"] != 2]) for c, a in r.items())})
    vectors = numbers("float16", (7, 3, 2))
    np.save(path("vectors.npy"), vectors)
    for to, dtype in (("", np.float16), (", to: f64", np.float64)):
        case("vectors" + to[-3:], "{lookup: {column: label, file: FOLDER/vectors.npy%s}}" % to,
             data, lambda r, dtype=dtype: {**r, "label": vectors[r["label"]].astype(dtype)})
    for dtype in ("uint8", "int8", "uint16", "int16", "uint32", "int32", "uint64", "int64"):
        case("clip_" + dtype, "{clip: {column: x, min: 3, max: 100}}",
             {"x": numbers(dtype, (40, 50))}, lambda r: {"x": np.clip(r["x"], 3, 100)})
    for dtype in ("float16", "float32", "float64"):
        data = {"x": (RNG.standard_normal((40, 50)) * 3).astype(dtype)}
        data["x"][::3, 7] = np.nan
        data["x"][5, :] = np.inf
        bounds = np.dtype(dtype).type(-0.7), np.dtype(dtype).type(2.1)
        case("clip_" + dtype, "{clip: {column: x, min: -0.7, max: 2.1}}", data,
             lambda r, b=bounds: {"x": np.clip(r["x"], *b)})
        case("least_" + dtype, "{clip: {column: x, min: -0.7}}", data,
             lambda r, b=bounds: {"x": np.maximum(r["x"], b[0])})


class Drawn:
    """A chain drawn at random over random columns, and what NumPy makes of it.

    Each method draws one operation for the columns as they are, or returns None: its text, and a
    function of {column: rows}.
    """

    def __init__(self, seed):
        self.rng = np.random.default_rng(seed)
        self.rows = {}
        for at in range(self.rng.integers(1, 4)):
            shape = tuple(self.rng.integers(1, 6, self.rng.integers(0, 4)))
            self.rows["c%d" % at] = self.numbers(self.pick(NAMES), (25,) + shape)
        self.columns, self.named = dict(self.rows), len(self.rows)
        self.steps = []

    def pick(self, things):
        things = list(things)
        return things[self.rng.integers(len(things))]

    def numbers(self, dtype, shape):
        dtype = np.dtype(dtype)
        if dtype.kind == "f":
            return (self.rng.standard_normal(shape) * 3).astype(dtype)
        if self.rng.integers(2):
            return self.rng.integers(0, 2 if dtype.kind == "b" else 9, shape).astype(dtype)
        return self.rng.integers(0, 256, shape + (dtype.itemsize,)).astype(np.uint8).view(
            dtype).reshape(shape) if dtype.kind != "b" else self.rng.integers(0, 2, shape) > 0

    def column(self, fits=lambda array: True):
        found = [name for name, array in self.rows.items() if fits(array)]
        return (self.pick(found),) if found else ()

    @staticmethod
    def one(name, change):
        return lambda r: {c: change(a) if c == name else a for c, a in r.items()}

    def cast(self):
        for name in self.column():
            dtype = self.rows[name].dtype
            to = self.pick(["float32", "float64", "bool"] if dtype.kind == "f" else NAMES)
            if to == "float16" and dtype.itemsize > 2:
                to = "float32"
            with np.errstate(all="ignore"):
                return ("{cast: {column: %s, to: %s}}" % (name, NAMES[to]),
                        self.one(name, lambda a: a.astype(to)))

    def scale(self):
        for name in self.column(lambda a: a.dtype in (np.uint8, np.int8, np.uint16, np.int16)):
            info = np.iinfo(self.rows[name].dtype)
            least, span = info.min, info.max - info.min
            return ("{scale: {column: %s, range: [-1, 2]}}" % name, self.one(
                name, lambda a: (a.astype(np.int64) - least).astype(np.float32) / np.float32(span)
                * np.float32(3) + np.float32(-1)))
        for name in self.column(lambda a: a.dtype == np.float32):
            return ("{scale: {column: %s, factor: 0.3, offset: 7}}" % name, self.one(
                name, lambda a: a * np.float32(0.3) + np.float32(7)))

    def normalize(self):
        for name in self.column(lambda a: a.ndim > 1):
            array = self.rows[name]
            axis = int(self.rng.integers(1, array.ndim))
            count = array.shape[axis]
            to = self.pick(("float32", "float64"))
            narrow = to == "float32" and (array.dtype.itemsize < 4 or array.dtype == np.float32)
            inner = np.float32 if narrow else np.float64
            mean, std = self.rng.standard_normal((2, count)).round(3) + 2
            shape = [count if a == axis else 1 for a in range(array.ndim)]
            m, s = mean.astype(inner).reshape(shape), std.astype(inner).reshape(shape)
            if (s == 0).any():
                return None
            return ("{normalize: {column: %s, mean: %s, std: %s, axis: %d, to: %s}}" % (
                name, mean.tolist(), std.tolist(), self.pick((axis - 1, axis - array.ndim)),
                NAMES[to]), self.one(name, lambda a: ((a.astype(inner) - m) / s).astype(to)))

    def clip(self):
        for name in self.column(lambda a: a.dtype != np.bool_):
            low, high = self.pick(((0, 3), (1, 100), (2, 2)))
            return ("{clip: {column: %s, min: %d, max: %d}}" % (name, low, high), self.one(
                name, lambda a: np.clip(a, a.dtype.type(low), a.dtype.type(high))))

    def picture(self):
        for name in self.column(lambda a: a.ndim in (3, 4)):
            layout = self.pick(("hwc", "chw"))
            y = 2 if self.rows[name].ndim == 4 and layout == "chw" else 1
            return name, "column: %s, layout: %s" % (name, layout), y
        return None, None, None

    def flip(self):
        name, head, y = self.picture()
        if name:
            across = int(self.rng.integers(2))
            return ("{flip: {%s, axis: %s}}" % (head, ("vertical", "horizontal")[across]),
                    self.one(name, lambda a: np.flip(a, y + across)))

    def crop(self):
        name, head, y = self.picture()
        if name:
            whole = self.rows[name].shape[y:y + 2]
            size = [int(self.rng.integers(1, n + 1)) for n in whole]
            at = [int(self.rng.integers(0, n - k + 1)) for n, k in zip(whole, size)]
            middle = self.rng.integers(2)
            if middle:
                at = [(n - k) // 2 for n, k in zip(whole, size)]
            cut = (slice(None),) * y + tuple(slice(a, a + k) for a, k in zip(at, size))
            return ("{crop: {%s, height: %d, width: %d%s}}" % (
                head, *size, "" if middle else ", at: %s" % at), self.one(name, lambda a: a[cut]))

    def pad(self):
        name, head, y = self.picture()
        if name:
            by = self.rng.integers(0, 3, 4).tolist()
            widths = [(0, 0)] * self.rows[name].ndim
            widths[y], widths[y + 1] = by[:2], by[2:]
            return ("{pad: {%s, by: %s, value: 1}}" % (head, by),
                    self.one(name, lambda a: np.pad(a, widths, constant_values=1)))

    def reshape(self):
        for name in self.column():
            shape = self.rows[name].shape
            new = self.pick(((-1,), (1, -1), shape[1:][::-1], (-1,) + shape[1:], shape[1:] + (1,)))
            if len(new) <= 8:
                return ("{reshape: {column: %s, shape: [%s]}}" % (name, ", ".join(map(str, new))),
                        self.one(name, lambda a: a.reshape((len(a),) + tuple(
                            int(np.prod(a.shape[1:])) // -int(np.prod(new, dtype=int)) if n == -1 else n
                            for n in new))))

    def transpose(self):
        for name in self.column(lambda a: a.ndim > 2):
            axes = self.rng.permutation(self.rows[name].ndim - 1).tolist()
            return ("{transpose: {column: %s, axes: %s}}" % (name, axes),
                    self.one(name, lambda a: a.transpose([0] + [x + 1 for x in axes])))

    def select(self):
        kept = self.rng.permutation(list(self.rows))[:self.rng.integers(1, len(self.rows) + 1)]
        return "{select: {columns: [%s]}}" % ", ".join(kept), lambda r: {str(c): r[c] for c in kept}

    def rename(self):
        for name in self.column():
            self.named += 1
            new = "c%d" % self.named
            return ("{rename: {%s: %s}}" % (name, new),
                    lambda r: {new if c == name else c: a for c, a in r.items()})

    def lookup(self):
        for name in self.column(lambda a: a.dtype.kind in "iu" and a.size):
            keys = sorted({int(k) for k in self.rng.choice(self.rows[name].ravel(), 3)
                           if int(k) < 2**63})
            if not keys:
                return None
            self.named += 1
            new = "c%d" % self.named
            table = {key: 10 * at for at, key in enumerate(keys)}
            return ("{lookup: {column: %s, into: %s, to: i16, missing: -1, map: {%s}}}" % (
                name, new, ", ".join("%d: %d" % pair for pair in table.items())),
                lambda r: {**r, new: np.array([table.get(int(v), -1) for v in r[name].ravel()],
                                              np.int16).reshape(r[name].shape)})

    def one_hot(self):
        for name in self.column(lambda a: a.dtype.kind in "iu" and a.ndim < 4):
            return ("{one_hot: {column: %s, depth: 3}}" % name, self.one(
                name, lambda a: (a[..., None] == np.arange(3)).astype(np.float32)))

    def filter(self):
        for name in self.column(lambda a: a.dtype.kind in "iu" and a.size and a.size == len(a)):
            value = int(self.pick(self.rows[name].ravel()))
            keeps = lambda r: r[name].reshape(len(r[name])) != r[name].dtype.type(value)  # noqa: E731
            return ("{filter: {column: %s, op: ne, value: %d}}" % (name, value),
                    lambda r: {c: a[keeps(r)] for c, a in r.items()})

    def repeat_rows(self):
        return "{repeat_rows: {times: 2}}", lambda r: {c: np.repeat(a, 2, 0) for c, a in r.items()}

    def draw(self):
        kinds = (self.cast, self.scale, self.normalize, self.clip, self.flip, self.crop, self.pad,
                 self.reshape, self.transpose, self.select, self.rename, self.lookup, self.one_hot,
                 self.filter, self.repeat_rows)
        step = self.pick(kinds)()
        if step is None:
            return
        after = step[1](self.rows)
        if all(array.size < 20000 for array in after.values()) and len(after) <= 6:
            self.rows = after
            self.steps.append(step)

    def expected(self, rows):
        for _, change in self.steps:
            rows = change(rows)
        return rows


def make_drawn(case):
    seed = int(sys.argv[2]) if len(sys.argv) > 2 else 1
    for number in range(int(sys.argv[3]) if len(sys.argv) > 3 else 80):
        drawn = Drawn(seed * 1000 + number)
        while len(drawn.steps) < 1 + number % 7:
            drawn.draw()
        case("drawn_%d" % number, ", ".join(text for text, _ in drawn.steps), drawn.columns,
             drawn.expected)


def make_normalized(case):
    f32, f64 = np.float32, np.float64
    mean, std = [123.675, 116.28, 103.53], [58.395, 57.12, 57.375]
    both = "mean: %r, std: %r" % (mean, std)
    last, first = (20, 17, 13, 3), (20, 3, 17, 13)
    for to, kind in (("f32", f32), ("f64", f64), ("f16", np.float16)):
        for dtype in ("uint8", "int16", "int64", "float16", "float32", "float64"):
            wide = f64 if kind == f64 or dtype in ("int64", "float64") else f32
            with np.errstate(all="ignore"):
                data = numbers(dtype, last) if dtype[0] != "f" else (
                    RNG.standard_normal(last) * 300).astype(dtype)

            def each(x, shape, kind=kind, wide=wide):
                m, s = (np.array(v, wide).reshape(shape) for v in (mean, std))
                with np.errstate(all="ignore"):
                    return ((x.astype(wide) - m) / s).astype(kind)

            case("normalize_%s_%s" % (dtype, to), "{normalize: {column: x, %s, to: %s}}" % (both, to),
                 {"x": data}, lambda r, each=each: {"x": each(r["x"], (1, 1, 1, 3))})
            case("normalize_first_%s_%s" % (dtype, to),
                 "{normalize: {column: x, %s, axis: 0, to: %s}}" % (both, to),
                 {"x": data.reshape(first)}, lambda r, each=each: {"x": each(r["x"], (1, 3, 1, 1))})
    case("normalize_one", "{normalize: {column: x, mean: 0.1, std: [0.3, 0.5, 0.7]}}",
         {"x": numbers("uint8", (50, 5, 3))},
         lambda r: {"x": (r["x"].astype(f32) - f32(0.1)) / np.array([0.3, 0.5, 0.7], f32)})
    case("normalize_all", "{normalize: {column: x, mean: 33.3, std: -3}}",
         {"x": numbers("uint8", (50, 700))},
         lambda r: {"x": (r["x"].astype(f32) - f32(33.3)) / f32(-3)})
    many = [0.25 * i + 1 for i in range(1100)]
    case("normalize_many", "{normalize: {column: x, mean: 3, std: [%s]}}" % ", ".join(map(str, many)),
         {"x": numbers("uint8", (9, 1100))},
         lambda r: {"x": (r["x"].astype(f32) - f32(3)) / np.array(many, f32)})


def make_ops():
    lines = []

    def case(name, ops, columns, expected):
        for column, array in columns.items():
            np.save(path("%s.in.%s.npy" % (name, column)), array)
        for reverse in (0, 1):
            rows = {c: np.ascontiguousarray(a[::-1] if reverse else a) for c, a in columns.items()}
            out = expected(rows)
            for column, array in out.items():
                np.save(path("%s.%s.%s.npy" % (name, "rev" if reverse else "out", column)),
                        np.ascontiguousarray(array))
            lines.append("%s|%d|%s|%s|%s" % (name, reverse, ",".join(columns), ",".join(out),
                                             ops.replace("FOLDER", FOLDER)))

    f32, f64, f16 = np.float32, np.float64, np.float16
    label = numbers("uint8", (300,))
    pixels = np.arange(300 * 28 * 28, dtype=np.uint32).astype(np.uint8).reshape(300, 28, 28)
    case("u8", "{scale: {column: x}}", {"x": pixels, "label": label},
         lambda r: {"x": r["x"].astype(f32) / f32(255), "label": r["label"]})
    case("u8_span", "{scale: {column: x, range: [-1, 1]}}", {"x": pixels[:40]},
         lambda r: {"x": r["x"].astype(f32) / f32(255) * f32(2) + f32(-1)})
    case("u8_f64", "{scale: {column: x, to: f64}}", {"x": pixels[:40]},
         lambda r: {"x": r["x"].astype(f64) / 255.0})
    case("u8_f16", "{scale: {column: x, to: f16}}", {"x": pixels[:40]},
         lambda r: {"x": (r["x"].astype(f32) / f32(255)).astype(f16)})
    case("bools", "{scale: {column: x, range: [-0.5, 3]}}", {"x": numbers("bool", (50, 3))},
         lambda r: {"x": r["x"].astype(f32) / f32(1) * f32(3.5) + f32(-0.5)})
    for dtype, least, span in (("int8", -2**7, 2**8 - 1), ("int16", -2**15, 2**16 - 1),
                               ("uint16", 0, 2**16 - 1)):
        case("scale_" + dtype, "{scale: {column: x}}", {"x": numbers(dtype, (700, 5))},
             lambda r, least=least, span=span:
             {"x": (r["x"].astype(np.int64) - least).astype(f32) / f32(span)})
    for dtype, least, span in (("int32", -2**31, 2**32 - 1), ("uint32", 0, 2**32 - 1)):
        case("scale_" + dtype, "{scale: {column: x, range: [0, 10]}}",
             {"x": numbers(dtype, (70, 5))},
             lambda r, least=least, span=span:
             {"x": ((r["x"].astype(np.int64) - least).astype(f64) / span * 10.0 + 0.0).astype(f32)})
    case("scale_uint64", "{scale: {column: x, to: f64}}", {"x": numbers("uint64", (70, 5))},
         lambda r: {"x": r["x"].astype(f64) / 18446744073709551615.0})
    case("scale_int64", "{scale: {column: x, to: f64}}", {"x": numbers("int64", (70, 5))},
         lambda r: {"x": (r["x"].view(np.uint64) ^ np.uint64(2**63)).astype(f64)
                         / 18446744073709551615.0})
    with np.errstate(all="ignore"):
        normal = RNG.standard_normal((90, 7))
        case("linear_f32", "{scale: {column: x, factor: 0.1, offset: -3}}",
             {"x": normal.astype(f32)}, lambda r: {"x": r["x"] * f32(0.1) + f32(-3)})
        case("linear_u8", "{scale: {column: x, offset: -127.5}}", {"x": pixels[:20]},
             lambda r: {"x": r["x"].astype(f32) + f32(-127.5)})
        case("linear_f64", "{scale: {column: x, factor: 1e-300, to: f64}}", {"x": normal * 1e-15},
             lambda r: {"x": r["x"] * 1e-300})
        case("linear_f16", "{scale: {column: x, factor: 3, to: f16}}", {"x": normal.astype(f16)},
             lambda r: {"x": (r["x"].astype(f32) * f32(3)).astype(f16)})
        case("cast_f16", "{cast: {column: x, to: f16}}", {"x": numbers("float32", (200, 3))},
             lambda r: {"x": r["x"].astype(f16)})
        case("cast_i32", "{cast: {column: x, to: i32}}", {"x": normal.astype(f32) * f32(1000)},
             lambda r: {"x": r["x"].astype(np.int32)})
        case("cast_low", "{cast: {column: x, to: u8}}", {"x": numbers("int32", (200, 3))},
             lambda r: {"x": r["x"].astype(np.uint8)})
        case("cast_saturate", "{cast: {column: x, to: u8, saturate: true}}",
             {"x": numbers("int16", (200, 3))},
             lambda r: {"x": np.clip(r["x"], 0, 255).astype(np.uint8)})
    classes = RNG.integers(-2, 12, (200, 2)).astype(np.int16)
    case("one_hot", "{one_hot: {column: x, depth: 10}}", {"x": classes},
         lambda r: {"x": (r["x"][..., None] == np.arange(10)).astype(f32)})
    case("one_hot_on", "{one_hot: {column: x, depth: 3, to: i64, on: 7, off: -1}}", {"x": classes},
         lambda r: {"x": np.where(r["x"][..., None] == np.arange(3), 7, -1).astype(np.int64)})

    def kept(mask, rows):
        return {c: a[mask] for c, a in rows.items()}

    for op, same in (("eq", np.equal), ("ne", np.not_equal), ("lt", np.less), ("le", np.less_equal),
                     ("gt", np.greater), ("ge", np.greater_equal)):
        case("filter_" + op, "{filter: {column: label, op: %s, value: 5}}" % op,
             {"x": pixels[:300, :3], "label": (label % 10).astype(np.uint8)},
             lambda r, same=same: kept(same(r["label"], 5), r))
        case("filter_float_" + op, "{filter: {column: y, op: %s, value: 0.1}}" % op,
             {"y": np.array([0.1, -0.1, np.inf, 0.2, np.nan, 0.1, 0], f32)},
             lambda r, same=same: kept(same(r["y"], f32(0.1)), r))
    case("filter_negative", "{filter: {column: y, op: gt, value: -3}}",
         {"y": np.arange(-5, 5, dtype=np.int8)}, lambda r: kept(r["y"] > -3, r))
    case("filter_unsigned", "{filter: {column: y, op: gt, value: -3}}",
         {"y": numbers("uint64", (40,))}, lambda r: r)
    case("filter_none", "{filter: {column: y, op: lt, value: 0}}", {"y": numbers("uint8", (40,))},
         lambda r: kept(np.zeros(40, bool), r))
    case("repeat", "{repeat_rows: {times: 3}}", {"x": pixels[:50], "label": label[:50]},
         lambda r: {c: np.repeat(a, 3, axis=0) for c, a in r.items()})
    counts = (np.arange(250) % 5).astype(np.int64)
    case("repeat_column", "{repeat_rows: {column: n, max: 4}}", {"n": counts, "x": pixels[:250]},
         lambda r: {c: np.repeat(a, r["n"], axis=0) for c, a in r.items()})

    def several(r):
        r = kept(r["label"] < 200, r)
        r = {c: np.repeat(a, 2, axis=0) for c, a in r.items()}
        x = r["x"].astype(f32) / f32(255) * f32(0.5)
        return {"x": x.astype(f64), "label": (r["label"][..., None] == np.arange(4)).astype(f32),
                "id": r["id"]}

    case("several", "{filter: {column: label, op: lt, value: 200}}, {repeat_rows: {times: 2}}, "
         "{scale: {column: x}}, {scale: {column: x, factor: 0.5}}, {cast: {column: x, to: f64}}, "
         "{one_hot: {column: label, depth: 4}}",
         {"x": pixels, "label": label, "id": numbers("int64", (300, 2))}, several)
    case("always_flipped", "{random_flip: {column: x, probability: 1}}", {"x": pixels[:70]},
         lambda r: {"x": r["x"][:, :, ::-1]})
    case("never_flipped", "{random_flip: {column: x, probability: 0, axis: vertical}}",
         {"x": pixels[:70]}, lambda r: r)
    case("upside_down", "{random_flip: {column: x, probability: 1, axis: vertical}}",
         {"x": numbers("float32", (20, 4, 6, 3))}, lambda r: {"x": r["x"][:, ::-1]})
    make_pictures(case)
    make_columns(case)
    make_normalized(case)
    make_drawn(case)
    with open(path("ops.txt"), "w") as file:
        file.write("\n".join(lines) + "\n")


def main():
    sources = []
    make_ops()
    make_npy(sources)
    make_idx(sources)
    make_many(sources)
    make_refused()
    with open(path("sources.txt"), "w") as file:
        file.write("\n".join(sources) + "\n")


main()
