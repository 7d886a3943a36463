#!/usr/bin/env python3
"""`tundish new` on data sets as they are published: it writes a topology that runs and feeds a model without an edit.

Each is a small one of the layout of the real one.  What a model needs is what is compared: the columns, their types and
shapes, labels apart, and every row.
"""
import gzip
import io
import json
import struct
import tarfile
import zlib

import numpy

from command import holds, main, run, same
from tfrecord import framed

DRAW = numpy.random.default_rng(1)


def feeds(folder, data, rows, **columns):
    """Runs what is written for `data`, and compares what is fed."""
    path = folder / "made.yaml"
    code, out, err = run("new", data, "-o", path)
    same((code, out), (0, ""), err)
    code, out, err = run("explain", path, "--json")
    same(code, 0, err)
    chain = json.loads(out)["chains"][0]
    same({name: (one["dtype"], one["shape"]) for name, one in chain["fed"].items()}, columns)
    code, out, err = run("run", path)
    same(code, 0, err)
    holds(out, f"{rows} rows")
    assert " bad" not in out, out
    return path


def read(path, *names):
    """The values of columns of one number per row, as stored."""
    code, out, err = run("head", path, "--json", "--steps", "1000", "--set", "read.shuffle=none")
    same(code, 0, err)
    steps = [json.loads(line)["columns"] for line in out.splitlines()]
    return [[value for step in steps for value in step[name]["data"]] for name in names]


def picture(height=24, width=32):
    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
    lines = b"".join(b"\0" + DRAW.bytes(3 * width) for _ in range(height))
    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)) +
            chunk(b"IDAT", zlib.compress(lines)) + chunk(b"IEND", b""))


def write(path, data):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data if isinstance(data, bytes) else data.encode())
    return path


def table(path, header, rows):
    return write(path, "".join(",".join(map(str, row)) + "\n" for row in ([header] if header else []) + rows))


def number(count):
    """A number as protobuf writes it."""
    out = b""
    while count > 127:
        out, count = out + bytes([count & 127 | 128]), count >> 7
    return out + bytes([count])


def field(place, data):
    return number(place << 3 | 2) + number(len(data)) + data


def example(**features):
    def feature(value):
        if isinstance(value, bytes):
            return field(1, field(1, value))
        if isinstance(value[0], float):
            return field(2, field(1, numpy.array(value, "<f4").tobytes()))
        return field(3, field(1, b"".join(map(number, value))))
    return field(1, b"".join(field(1, field(1, name.encode()) + field(2, feature(value))) for name, value in features.items()))


def test_iris(folder):
    rows = [[*(f"{one:.1f}" for one in DRAW.normal(3, 1, 4)), ["setosa", "versicolor", "virginica"][i // 50]] for i in range(150)]
    file = table(folder / "iris.csv", ["sepal_length", "sepal_width", "petal_length", "petal_width", "species"], rows)
    path = feeds(folder, file, 150, x=("f32", [4]), species=("i64", []))
    same(read(path, "species"), [[i // 50 for i in range(150)]])


def test_penguins(folder):
    """NA means that a value is missing, in a field of any type: a class of that name is not made."""
    rows = []
    for i in range(344):
        missing = i in (3, 271)
        rows.append([["Adelie", "Chinstrap", "Gentoo"][i % 3], ["Biscoe", "Dream"][i % 2], *(["NA"] * 4 if missing else [39.1, 18.7, 181, 3750]),
                     "NA" if missing or i == 8 else ["female", "male"][i % 2], 2007 + i % 3])
    file = table(folder / "penguins.csv", ["species", "island", "bill_length_mm", "bill_depth_mm", "flipper_length_mm", "body_mass_g",
                                           "sex", "year"], rows)
    path = feeds(folder, file, 344, x=("f32", [4]), species=("i64", []), island=("i64", []), sex=("i64", []), year=("f32", []))
    sexes, = read(path, "sex")
    same(sexes, [2 if i in (3, 8, 271) else i % 2 for i in range(344)])
    #  A column in which every text is missing has one class.
    file = table(folder / "none.csv", ["a", "b"], [["NA" if i == 5 else i / 8, "NA"] for i in range(40)])
    (folder / "made.yaml").unlink()
    path = feeds(folder, file, 40, a=("f32", []), b=("i64", []))
    same(read(path, "b"), [[0] * 40])


def test_mnist_as_csv(folder):
    rows = [[i % 10, *DRAW.integers(0, 256, 784)] for i in range(60)]
    file = table(folder / "mnist_train.csv", ["label", *(f"{i}x{j}" for i in range(1, 29) for j in range(1, 29))], rows)
    path = feeds(folder, file, 60, x=("f32", [784]), label=("i64", []))
    same(read(path, "label"), [[i % 10 for i in range(60)]])


def test_fashion_mnist(folder):
    for part, count in (("train", 60), ("t10k", 20)):
        for name, magic, shape in (("images-idx3", 0x803, (count, 28, 28)), ("labels-idx1", 0x801, (count,))):
            data = struct.pack(f">I{len(shape)}I", magic, *shape) + bytes(int(numpy.prod(shape)))
            write(folder / f"data/{part}-{name}-ubyte.gz", gzip.compress(data))
    feeds(folder, folder / "data", 60, image=("f32", [28, 28]), label=("u8", []))


def test_folders_of_classes(folder):
    for i in range(30):
        write(folder / f"pets/{['cat', 'dog', 'emu'][i % 3]}/{i}.png", picture())
    feeds(folder, folder / "pets", 30, image=("u8", [24, 24, 3]), label=("i32", []))


def test_imagenette(folder):
    for i in range(36):
        write(folder / f"imagenette2/{'val' if i % 4 == 3 else 'train'}/n{i % 3}/n{i % 3}_{i}.JPEG", picture())
    table(folder / "imagenette2/noisy_imagenette.csv", ["path", "noisy_labels_0"], [["train/n0/n0_0.JPEG", "n0"]])
    feeds(folder, folder / "imagenette2", 27, image=("u8", [24, 24, 3]), label=("i32", []))


def test_pictures_with_a_table(folder):
    """The table is named, with what reads it."""
    for i in range(30):
        write(folder / f"breeds/train/{i:08x}.jpg", picture())
    table(folder / "breeds/labels.csv", ["id", "breed"], [[f"{i:08x}", ["beagle", "pug"][i % 2]] for i in range(30)])
    code, out, err = run("new", folder / "breeds", "-o", folder / "made.yaml")
    same((code, out), (0, ""), err)
    holds(err, "breeds/labels.csv", "if it has the labels of the pictures, name it by `table` of the source: tundish help folder")
    made = (folder / "made.yaml").read_text()
    assert 'folder: {column: image, files: "${data}/*.jpg"}' in made, made
    (folder / "made.yaml").write_text(made.replace('{column: image, files: "${data}/*.jpg"}', '{column: image, label: breed, '
                                                   'files: "${data}/*.jpg", table: "${data}/../labels.csv", path: id}'))
    same(read(folder / "made.yaml", "breed"), [[i % 2 for i in range(30)]])


def test_a_webdataset(folder):
    with tarfile.open(folder / "train-000000.tar", "w") as out:
        for i in range(30):
            for ending, data in (("jpg", picture()), ("cls", b"%d" % (i % 5)), ("json", b'{"width": %d}' % i)):
                member = tarfile.TarInfo(f"{i:06d}.{ending}")
                member.size = len(data)
                out.addfile(member, io.BytesIO(data))
    path = feeds(folder, folder / "train-000000.tar", 30, jpg=("u8", [24, 24, 3]), cls=("i64", []), width=("f32", []))
    same(read(path, "cls", "width"), [[i % 5 for i in range(30)], list(range(30))])


def test_examples_of_one_shape(folder):
    records = [example(x=[float(one) for one in DRAW.normal(size=8)], label=[i % 4]) for i in range(40)]
    path = feeds(folder, write(folder / "train.tfrecord", b"".join(map(framed, records))), 40, x=("f32", [8]), label=("i64", []))
    same(read(path, "label"), [[i % 4 for i in range(40)]])


def test_sparse_examples(folder):
    records = [example(label=[i % 2], ids=list(range(1 + i % 6)), **({"age": [float(i)]} if i % 3 else {}),
                       **({"city": b"rome"} if i % 4 else {})) for i in range(40)]
    path = folder / "made.yaml"
    write(folder / "train.tfrecord", b"".join(map(framed, records)))
    same(run("new", folder / "train.tfrecord", "-o", path)[0], 0)
    code, out, err = run("run", path)
    same(code, 0, err)
    holds(out, "40 rows")
    same(read(path, "label", "ids"), [[i % 2 for i in range(40)], [j for i in range(40) for j in range(1 + i % 6)]])


def test_lines_of_json(folder):
    lines = [json.dumps({"text": "a good film " * (1 + i % 7), "stars": i % 5, "label": ["neg", "pos"][i % 2]}) for i in range(60)]
    write(folder / "reviews.jsonl", "\n".join(lines) + "\n")
    path = folder / "made.yaml"
    same(run("new", folder / "reviews.jsonl", "-o", path)[0], 0)
    code, out, err = run("run", path)
    same(code, 0, err)
    holds(out, "60 rows")
    same(read(path, "label", "stars"), [[i % 2 for i in range(60)], [i % 5 for i in range(60)]])


main(globals())
