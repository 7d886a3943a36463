#!/usr/bin/env python3
"""`tundish new` on data sets as they are published: it writes a topology that runs and feeds a model without an edit.

The data are the real ones where a package of this machine has them: Fashion-MNIST of Debian's dataset-fashion-mnist, tables
of scikit-learn and palmerpenguins, which are also looked for in the folder $TUNDISH_DATA_SETS.  Else they are small ones of
the same layout.  What a model needs is compared: the columns, their types and shapes, labels apart, and every row; then a
dense layer is trained (train_dense.py) until it is right.
"""
import gzip
import importlib.util
import io
import json
import os
import pathlib
import struct
import subprocess
import sys
import tarfile
import zlib

import numpy

from command import BUILD, ROOT, holds, is_sanitized, main, run, same
from tfrecord import framed

DRAW = numpy.random.default_rng(1)


def real(package, name, make):
    """A file of a package; if that is not installed, what `make` makes."""
    spec = importlib.util.find_spec(package)
    places = [pathlib.Path(place).parent for place in (spec.submodule_search_locations or [] if spec else [])]
    places += [pathlib.Path(os.environ["TUNDISH_DATA_SETS"])] if "TUNDISH_DATA_SETS" in os.environ else []
    found = [place / package / name for place in places if (place / package / name).exists()]
    print(f"     {name}: {'the real one' if found else 'made'}")
    return found[0] if found else make()


def learns(path, label, right, epochs=20):
    """Trains on what is fed; `right`: the share of rows whose label the layer finds in the last epoch."""
    if is_sanitized():  # the library cannot be loaded by a plain interpreter
        return
    env = {**os.environ, "PYTHONPATH": str(ROOT / "tools/python"), "TUNDISH_LIBRARY": str(BUILD / "libtundish.so")}
    done = subprocess.run([sys.executable, str(ROOT / "tests/tools/train_dense.py"), str(path), label, str(epochs)],
                          capture_output=True, text=True, timeout=120, env=env)
    same(done.returncode, 0, done.stderr)
    assert float(done.stdout) >= right, f"{done.stdout.strip()} of the labels of {path} are found, not {right}"


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


def picture(kind=0, height=24, width=32):
    """A PNG of noise in the colour of its kind, from 0 to 6."""
    light = [128 * (kind + 1 >> channel & 1) for channel in range(3)]
    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
    lines = b"".join(b"\0" + (DRAW.integers(0, 128, (width, 3)) + light).astype("u1").tobytes() for _ in range(height))
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
    """As scikit-learn has it: the first line has the numbers of rows and columns, and the names of the classes."""
    def make():
        rows = [[*(f"{one:.1f}" for one in DRAW.normal(3 + 2 * (i // 50), 0.5, 4)), i // 50] for i in range(150)]
        return table(folder / "iris.csv", [150, 4, "setosa", "versicolor", "virginica"], rows)
    path = feeds(folder, real("sklearn", "datasets/data/iris.csv", make), 150, x=("f32", [4]), label=("i64", []))
    holds(path.read_text(), "label: i64  # 0 setosa, 1 versicolor, 2 virginica")
    same(read(path, "label"), [[i // 50 for i in range(150)]])
    learns(path, "label", 0.94)


def test_iris_with_a_header(folder):
    rows = [[*(f"{one:.1f}" for one in DRAW.normal(3 + 2 * (i // 50), 0.5, 4)), ["setosa", "versicolor", "virginica"][i // 50]] for i in range(150)]
    file = table(folder / "iris.csv", ["sepal_length", "sepal_width", "petal_length", "petal_width", "species"], rows)
    path = feeds(folder, file, 150, x=("f32", [4]), species=("i64", []))
    same(read(path, "species"), [[i // 50 for i in range(150)]])
    learns(path, "species", 0.94)


def test_wine(folder):
    """Its first line has fewer fields than the others."""
    def make():
        rows = [[*(f"{one:.2f}" for one in DRAW.normal(i % 3 * 300, 40, 13)), i % 3] for i in range(178)]
        return table(folder / "wine_data.csv", [178, 13, "class_0", "class_1", "class_2"], rows)
    path = feeds(folder, real("sklearn", "datasets/data/wine_data.csv", make), 178, x=("f32", [13]), label=("i64", []))
    learns(path, "label", 0.97)


def test_penguins(folder):
    """NA means that a value is missing, in a field of any type: a class of that name is not made, and a number is the mean."""
    def make():
        rows = []
        for i in range(344):
            missing = i in (3, 271)
            rows.append([["Adelie", "Chinstrap", "Gentoo"][i % 3], ["Biscoe", "Dream"][i % 2],
                         *(["NA"] * 4 if missing else [39.1 + 5 * (i % 3), 18.7 - 2 * (i % 3), 181 + i % 7, 3750 + i % 9]),
                         "NA" if missing or i == 8 else ["female", "male"][i % 2], 2007 + i % 3])
        return table(folder / "penguins.csv", ["species", "island", "bill_length_mm", "bill_depth_mm", "flipper_length_mm", "body_mass_g",
                                               "sex", "year"], rows)
    file = real("palmerpenguins", "data/penguins.csv", make)
    path = feeds(folder, file, 344, x=("f32", [4]), species=("i64", []), island=("i64", []), sex=("i64", []), year=("f32", []))
    lines = [line.split(",") for line in file.read_text().split()[1:]]
    same(read(path, "sex", "species"), [[["female", "male", "NA"].index(line[6]) for line in lines],
                                        [["Adelie", "Chinstrap", "Gentoo"].index(line[0]) for line in lines]])
    missing = [i for i, line in enumerate(lines) if line[2] == "NA"]
    values, = read(path, "x")
    same([values[4 * i:4 * i + 4] for i in missing], [[0, 0, 0, 0]] * 2)
    learns(path, "species", 0.97)
    #  A column in which every text is missing has one class.
    file = table(folder / "none.csv", ["a", "b"], [["NA" if i == 5 else i / 8, "NA"] for i in range(40)])
    (folder / "made.yaml").unlink()
    path = feeds(folder, file, 40, a=("f32", []), b=("i64", []))
    same(read(path, "b"), [[0] * 40])


def test_digits(folder):
    """As scikit-learn has them: compressed, without a header, the digit as the last of 65 numbers."""
    def make():
        rows = [[*(int(i % 10 == j % 10) * 10 + i * j % 7 for j in range(1, 64)), 0, i % 10] for i in range(600)]
        text = "".join(",".join(map(str, row)) + "\n" for row in rows)
        return write(folder / "digits.csv.gz", gzip.compress(text.encode()))
    file = real("sklearn", "datasets/data/digits.csv.gz", make)
    digits = [int(line.rsplit(b",", 1)[1]) for line in gzip.decompress(file.read_bytes()).split()]
    path = feeds(folder, file, f"{len(digits):,}", x=("f32", [64]), label=("i64", []))
    holds(path.read_text(), "label: i64  # a guess, without a header: whole numbers from 0 to 9")
    code, out, err = run("head", path, "--json", "--steps", "1000")
    same(code, 0, err)
    same([one for line in out.splitlines() for one in json.loads(line)["columns"]["label"]["data"]], digits)
    learns(path, "label", 0.93)


def test_mnist_as_csv(folder):
    rows = [[i % 10, *(int(i % 10 == j % 10) * 100 + i * j % 99 for j in range(784))] for i in range(60)]
    file = table(folder / "mnist_train.csv", ["label", *(f"{i}x{j}" for i in range(1, 29) for j in range(1, 29))], rows)
    path = feeds(folder, file, 60, x=("f32", [784]), label=("i64", []))
    same(read(path, "label"), [[i % 10 for i in range(60)]])
    learns(path, "label", 0.95)


def test_fashion_mnist(folder):
    data, rows = pathlib.Path("/usr/share/datasets/fashion-mnist"), "60,000"
    if not data.exists():
        data, rows = folder / "data", 600
        for part, count in (("train", 600), ("t10k", 20)):
            images = b"".join(bytes((int(i % 10 == j % 10) * 100 + i * j % 99 for j in range(784))) for i in range(count))
            write(data / f"{part}-images-idx3-ubyte.gz", gzip.compress(struct.pack(">4I", 0x803, count, 28, 28) + images))
            write(data / f"{part}-labels-idx1-ubyte.gz",
                  gzip.compress(struct.pack(">2I", 0x801, count) + bytes(i % 10 for i in range(count))))
    path = feeds(folder, data, rows, image=("f32", [28, 28]), label=("u8", []))
    learns(path, "label", 0.7, epochs=2)


def test_folders_of_classes(folder):
    for i in range(30):
        write(folder / f"pets/{['cat', 'dog', 'emu'][i % 3]}/{i}.png", picture(i % 3))
    path = feeds(folder, folder / "pets", 30, image=("u8", [24, 24, 3]), label=("i32", []))
    learns(path, "label", 0.95)


def test_imagenette(folder):
    for i in range(36):
        write(folder / f"imagenette2/{'val' if i % 4 == 3 else 'train'}/n{i % 3}/n{i % 3}_{i}.JPEG", picture(i % 3))
    table(folder / "imagenette2/noisy_imagenette.csv", ["path", "noisy_labels_0"], [["train/n0/n0_0.JPEG", "n0"]])
    path = feeds(folder, folder / "imagenette2", 27, image=("u8", [24, 24, 3]), label=("i32", []))
    learns(path, "label", 0.95)


def test_pictures_with_a_table(folder):
    """The layout of Kaggle's dog breeds; the table of the pictures to be predicted has no labels."""
    breeds = ["beagle", "collie", "pug"]
    for i in range(45):
        write(folder / f"breeds/{'test' if i > 35 else 'train'}/{i:08x}.jpg", picture(i % 3))
    table(folder / "breeds/labels.csv", ["id", "breed"], [[f"{i:08x}", breeds[i % 3]] for i in range(36)])
    table(folder / "breeds/sample_submission.csv", ["id", *breeds], [[f"{i:08x}", 0.3, 0.3, 0.4] for i in range(36, 45)])
    path = feeds(folder, folder / "breeds", 36, image=("u8", [24, 24, 3]), breed=("i32", []))
    holds(path.read_text(), 'folder: {column: image, label: breed, table: "${data}/labels.csv", path: "id", files: "${data}/train/*.jpg"}',
          "# labels: 0 beagle, 1 collie, 2 pug")
    same(read(path, "breed"), [[i % 3 for i in range(36)]])
    learns(path, "breed", 0.95)


def test_a_webdataset(folder):
    with tarfile.open(folder / "train-000000.tar", "w") as out:
        for i in range(30):
            for ending, data in (("jpg", picture(i % 5)), ("cls", b"%d" % (i % 5)), ("json", b'{"width": %d}' % i)):
                member = tarfile.TarInfo(f"{i:06d}.{ending}")
                member.size = len(data)
                out.addfile(member, io.BytesIO(data))
    path = feeds(folder, folder / "train-000000.tar", 30, jpg=("u8", [24, 24, 3]), cls=("i64", []), width=("f32", []))
    same(read(path, "cls", "width"), [[i % 5 for i in range(30)], list(range(30))])
    learns(path, "cls", 0.95)


def test_examples_of_one_shape(folder):
    records = [example(x=[float(one) for one in DRAW.normal(i % 4 * 2, 0.5, 8)], label=[i % 4]) for i in range(40)]
    path = feeds(folder, write(folder / "train.tfrecord", b"".join(map(framed, records))), 40, x=("f32", [8]), label=("i64", []))
    same(read(path, "label"), [[i % 4 for i in range(40)]])
    learns(path, "label", 0.95)


def test_sparse_examples(folder):
    records = [example(label=[i % 2], ids=[i % 2 + 2 * j for j in range(1 + i % 6)], **({"age": [float(i)]} if i % 3 else {}),
                       **({"city": b"rome"} if i % 4 else {})) for i in range(40)]
    path = folder / "made.yaml"
    write(folder / "train.tfrecord", b"".join(map(framed, records)))
    same(run("new", folder / "train.tfrecord", "-o", path)[0], 0)
    code, out, err = run("run", path)
    same(code, 0, err)
    holds(out, "40 rows")
    same(read(path, "label", "ids"), [[i % 2 for i in range(40)], [i % 2 + 2 * j for i in range(40) for j in range(1 + i % 6)]])
    learns(path, "label", 0.95)


def test_lines_of_json(folder):
    lines = [json.dumps({"text": ["a bad film ", "such good fun "][i % 2] * (1 + i % 7), "stars": i % 5, "label": ["neg", "pos"][i % 2]}) for i in range(60)]
    write(folder / "reviews.jsonl", "\n".join(lines) + "\n")
    path = folder / "made.yaml"
    same(run("new", folder / "reviews.jsonl", "-o", path)[0], 0)
    code, out, err = run("run", path)
    same(code, 0, err)
    holds(out, "60 rows")
    same(read(path, "label", "stars"), [[i % 2 for i in range(60)], [i % 5 for i in range(60)]])
    learns(path, "label", 0.95)


main(globals())
