#!/usr/bin/env python3
"""`tundish new`: what it writes for data files runs unchanged."""
import gzip
import io
import json
import os
import pty
import re
import struct
import subprocess
import tarfile
import zlib

import numpy

from command import BUILD, ROOT, TUNDISH, holds, is_sanitized, main, run, same
from tfrecord import framed  # noqa: E402


def idx(path, array, opened=open):
    codes = {"u1": 0x08, "i4": 0x0c, "f4": 0x0d}
    kind = array.dtype.str[1:]
    with opened(path, "wb") as out:
        out.write(struct.pack(">HBB", 0, codes[kind], array.ndim))
        out.write(struct.pack(f">{array.ndim}I", *array.shape))
        out.write(array.astype(array.dtype.newbyteorder(">")).tobytes())


def fed(path, *words):
    """The columns that a topology feeds, as `tundish explain` says."""
    code, out, err = run("explain", path, "--json", *words)
    same(code, 0, err)
    return {name: (one["dtype"], one["shape"])
            for name, one in json.loads(out)["chains"][0]["fed"].items()}


def made(folder, *data):
    """The topology that is written for some data; it must run without a word of complaint."""
    path = folder / f"made{len(list(folder.iterdir()))}.yaml"
    code, out, err = run("new", *data, "-o", path)
    same((code, out), (0, ""), err)
    if not is_sanitized():  # what `run` opens too
        same(run("validate", path)[0::2], (0, ""))
    code, out, err = run("run", path)
    same((code, err), (0, ""), path.read_text())
    return path, out


def test_the_run_has_the_name_of_its_file_or_folder(folder):
    data = folder / "Sea Temps"
    data.mkdir()
    for name in ("north.v2.csv", "2020.csv", "null.csv"):
        (data / name).write_text("1,2\n3,4\n" * 5)
    for chosen, wanted in (("north.v2.csv", 'name: "north"'), ("null.csv", 'name: "null"'), ("2020.csv", None), ("", 'name: "sea_temps"')):
        path, _ = made(folder, data / chosen)
        names = [line.split("  #")[0] for line in path.read_text().splitlines() if line.startswith("name:")]
        same(names, [wanted] if wanted else [], chosen)
    numpy.save(data / "x.npy", numpy.ones((20, 5)))
    numpy.save(data / "y.npy", numpy.ones(20))
    same('name: "sea_temps"' in made(folder, data / "x.npy", data / "y.npy")[0].read_text(), True)


def test_two_files_become_two_columns(folder):
    numpy.save(folder / "x_train.npy", numpy.ones((1000, 5)))
    numpy.save(folder / "y_train.npy", numpy.arange(1000))
    path, out = made(folder, folder / "x_train.npy", folder / "y_train.npy")
    holds(out, "1,000 rows")
    same(fed(path), {"x": ("f32", [5]), "y": ("i64", [])})
    text = path.read_text()
    holds(text, "cast: {column: x, to: f32}", "# - {cast: {column: y, to: i32}}", "size: 64",
          "tundish help ops")
    assert text.count("#") > 10, "it is commented"


def test_a_suggestion_is_taken_by_removing_its_comment(folder):
    numpy.save(folder / "y.npy", numpy.arange(1000))
    path, _ = made(folder, folder / "y.npy")
    same(fed(path), {"y": ("i64", [])})
    path.write_text(path.read_text().replace("# - {cast", "- {cast"))
    same(fed(path), {"y": ("i32", [])})


def test_pictures_are_scaled(folder):
    numpy.save(folder / "images.npy", numpy.zeros((400, 8, 8, 3), "u1"))
    numpy.save(folder / "labels.npy", numpy.zeros(400, "u1"))
    path, _ = made(folder, folder)
    same(fed(path), {"image": ("f32", [8, 8, 3]), "label": ("u8", [])})
    holds(path.read_text(), "scale: {column: image, to: f32, range: [0, 1]}",
          "# - {one_hot: {column: label")


def test_a_directory_of_idx_files_is_the_training_set(folder):
    data = folder / "a set"
    data.mkdir()
    draw = numpy.random.default_rng(3)
    for part, rows in (("train", 200), ("t10k", 30)):
        idx(data / f"{part}-images-idx3-ubyte.gz", draw.integers(0, 256, (rows, 6, 6)).astype("u1"),
            gzip.open)
        idx(data / f"{part}-labels-idx1-ubyte", draw.integers(0, 10, rows).astype("u1"))
    (data / "README").write_text("pictures")
    code, out, err = run("new", data)
    same(code, 0)
    holds(err, "t10k-images", "t10k-labels", "not used")
    path, out = made(folder, data)
    holds(out, "200 rows")
    same(list(fed(path)), ["image", "label"])
    path, out = made(folder, data / "t10k-images-idx3-ubyte.gz", data / "t10k-labels-idx1-ubyte")
    holds(out, "30 rows")
    code, _, err = run("new", *sorted(data.glob("*ubyte*")))
    same(code, 78)
    holds(err, "200 rows", "30 rows", "different sets")


def test_columns_have_names_that_differ(folder):
    for name in ("x1.npy", "x2.npy", "0.npy", "a b$\"c.npy", "float32.npy"):
        numpy.save(folder / name, numpy.zeros(20, "f4"))
    path, _ = made(folder, folder / "x[12].npy", folder / "0.npy", folder / "a b$\"c.npy",
                   folder / "float32.npy")
    same(list(fed(path)), ["x1", "x2", "x0", "a_b_c", "float32"])
    path, _ = made(folder, folder / "0.npy", folder / "0.npy")
    same(len(fed(path)), 2)


def test_counts_that_differ_are_named(folder):
    numpy.save(folder / "a.npy", numpy.zeros(20))
    numpy.save(folder / "b.npy", numpy.zeros(21))
    for words in ([folder / "a.npy", folder / "b.npy"], [folder]):
        code, out, err = run("new", *words)
        same((code, out), (78, ""))
        holds(err, "a.npy has 20 rows", "b.npy has 21 rows")


def test_files_that_differ_in_a_number_are_one_column(folder):
    rows = numpy.arange(200, dtype="f4")
    for part in range(11):
        numpy.save(folder / f"x-{part}.npy", rows[part * 10:part * 10 + 10])
        numpy.save(folder / f"y_{part:03}.npy", rows[part * 10:part * 10 + 10].astype("i4"))
    path, out = made(folder, folder / "x-*.npy", folder / "y_*.npy")
    holds(out, "110 rows")
    same(fed(path), {"x": ("f32", []), "y": ("i32", [])})
    holds(path.read_text(), "${data}/x-[0-10].npy", "${data}/y_[000-010].npy", "# 11 files")
    path.write_text(path.read_text().replace("shuffle: global", "shuffle: none"))
    code, _, _ = run("head", path, "--steps", "20", "--npz", folder / "fed.npz")
    same(code, 0)
    with numpy.load(folder / "fed.npz") as fed_rows:
        assert (fed_rows["x"] == rows[:110]).all() and (fed_rows["y"] == rows[:110]).all()
    (folder / "x-5.npy").rename(folder / "x-55.npy")
    (folder / "y_005.npy").rename(folder / "y_055.npy")
    path, _ = made(folder, folder / "x-*.npy", folder / "y_*.npy")
    holds(path.read_text(), '["${data}/x-0.npy", "${data}/x-1.npy"')
    # Numbers in words are parts only where nothing else can be meant.
    numpy.save(folder / "batch1.npy", rows[:30])
    numpy.save(folder / "batch2.npy", rows[:20])
    path, out = made(folder, folder / "batch1.npy", folder / "batch2.npy")
    holds(out, "50 rows")
    same(list(fed(path)), ["batch"])


def test_a_name_that_no_topology_can_hold_is_refused(folder):
    name = os.fsencode(folder) + b"/a\xff.npy"
    with open(name, "wb") as out:
        numpy.save(out, numpy.zeros(20))
    done = subprocess.run([TUNDISH, "new", name], capture_output=True)
    same(done.returncode, 78)
    assert b"not UTF-8" in done.stderr


def test_formats_that_differ_are_named(folder):
    numpy.save(folder / "a.npy", numpy.zeros(20))
    idx(folder / "b", numpy.zeros(20, "f4"))
    code, _, err = run("new", folder)
    same(code, 78)
    holds(err, "a.npy is npy", "b is idx")


PENGUINS = """species;island;bill length;bill depth;id;sex;year
Adelie;Torgersen;39.1;18.7;30000001;male;2007
Adelie;Torgersen;NA;NA;30000002;;2007
Gentoo;Biscoe;46.1;13.2;30000003;female;2007
Gentoo;Biscoe;50;16.3;30000004;male;2008
Adelie;Biscoe;46.5;17.9;30000005;female;2009
Gentoo;Torgersen;36;;30000006;male;2009
"""


def rows_of(path, *names):
    """Every row that a topology feeds, in the order of the data: name to list of lists."""
    code, out, err = run("head", path, "--json", "--steps", "1000", "--set", "read.shuffle=none")
    same(code, 0, err)
    columns = {}
    for step in map(json.loads, out.splitlines()):
        for name, column in step["columns"].items():
            if names and name not in names:
                continue
            width = len(column["data"]) // step["rows"]
            columns.setdefault(name, []).extend(column["data"][i:i + width] for i in range(0, len(column["data"]), width))
    return columns


def test_a_table_becomes_columns_without_an_edit(folder):
    (folder / "penguins.csv").write_text(PENGUINS)
    path, out = made(folder, folder / "penguins.csv")
    holds(out, "6 rows")
    holds(path.read_text(), 'names: ["species", "island", "bill length", "bill depth", "id", "sex", "year"], delimiter: ";", files: ', 'delimiter: ";"', 'na: ["NA"]',
          "x: {dtype: f32, shape: [2], default: nan}  # bill_length, bill_depth", "id: i64", "year: {dtype: f32}")
    got = rows_of(path)
    same(got["species"], [[0], [0], [1], [1], [0], [1]])
    same(got["island"], [[1], [1], [0], [0], [0], [1]])
    same(got["id"], [[30000001 + i] for i in range(6)])
    same(got["sex"], [[1], [2], [0], [1], [0], [1]])  # the third class is that of what is missing
    same(got["year"], [[2007], [2007], [2007], [2008], [2009], [2009]])
    near(got["x"], [[39.1, 18.7], [None, None], [46.1, 13.2], [50, 16.3], [46.5, 17.9], [36, None]])
    holds(path.read_text(), "- {normalize: {column: x, mean: auto, std: auto, nan: mean}}",
          "# - {normalize: {column: year, mean: auto, std: auto}}")


def near(got, wanted):
    """Compares with numbers of which the mean is 0 and the deviation 1; a missing one, None, is the mean."""
    for values, numbers in zip(zip(*got), zip(*wanted)):
        have = [number for number in numbers if number is not None]
        mean = sum(have) / len(have)
        deviation = (sum((number - mean) ** 2 for number in have) / len(have)) ** 0.5
        for value, number in zip(values, numbers):
            normal = 0 if number is None else (number - mean) / deviation
            assert abs(value - normal) < 1e-5, (values, numbers)


def test_a_line_of_counts_is_no_row_and_names_the_classes(folder):
    """The tables of scikit-learn begin with how many rows and numbers there are."""
    lines = "".join(f"{i}.5,{i % 7},{'012'[i % 3]}\n" for i in range(30))
    names = {"x": ("f32", [2]), "label": ("i64", [])}
    for line in ("30,2,setosa,versicolor,virginica", "30,2,a,b,c,d", '30,2,"a, b",b,c'):
        (folder / "counts.csv").write_text(f"{line}\n" + lines)
        path, out = made(folder, folder / "counts.csv")
        holds(out, "30 rows")
        same(fed(path), names, line)
    #  Not the number of rows, of fields or of classes: a line that does not fit.
    for line in ("29,2,a,b,c", "30,1,a,b,c", "30,2,a,b", "30,3,a,b,c"):
        (folder / "counts.csv").write_text(f"{line}\n" + lines)
        code, out, err = run("new", folder / "counts.csv")
        same(code, 0)
        holds(err, f"counts.csv:1: {line.count(',') + 1} fields where most records have 3")
        holds(out, "# 31 rows of")
    (folder / "like.csv").write_text("3,2,a\n" + "4,5,b\n6,7,a\n" * 5)
    path, out = made(folder, folder / "like.csv")
    holds(out, "11 rows")
    same(fed(path), {"x": ("f32", [2]), "c2": ("i64", [])})
    (folder / "iris.csv").write_text("30,2,setosa,versicolor,virginica\n" + lines)
    path, _ = made(folder, folder / "iris.csv")
    holds(path.read_text(), "label: i64  # 0 setosa, 1 versicolor, 2 virginica")
    same(rows_of(path), {"x": [[i + 0.5, i % 7] for i in range(30)], "label": [[i % 3] for i in range(30)]})


def test_a_label_without_a_name_is_guessed_and_said(folder):
    guess = "label: i64  # a guess, without a header: whole numbers from"
    vector, apart = {"x": ("f32", [3])}, {"x": ("f32", [2]), "label": ("i64", [])}
    for name, rows, wanted, numbers in (
            ("last", [f"{i}.5,{i},{i % 4}" for i in range(40)], apart, "0 to 3"),
            ("first", [f"{i % 4 + 1},{i}.5,{i}" for i in range(40)], apart, "1 to 4"),
            ("both", [f"{i % 2},{i}.5,{i % 3}" for i in range(40)], apart, "0 to 2"),
            ("few", [f"{i}.5,{i},{i % 4}" for i in range(19)], vector, None),  # fewer than five of each
            ("gap", [f"{i}.5,{i},{i % 4 * 2}" for i in range(40)], vector, None),
            ("from two", [f"{i}.5,{i},{i % 4 + 2}" for i in range(40)], vector, None),
            ("one", [f"{i}.5,{i},0" for i in range(40)], vector, None),
            ("all", [f"{i % 2},{i % 3},{i % 4}" for i in range(40)], vector, None),
            ("two", [f"{i}.5,{i % 4}" for i in range(40)], {"x": ("f32", [2])}, None),
            ("header", ["a,b,c"] + [f"{i}.5,{i},{i % 4}" for i in range(40)], vector, None)):
        (folder / "t.csv").write_text("\n".join(rows) + "\n")
        path, _ = made(folder, folder / "t.csv")
        same(fed(path), wanted, name)
        same(f"{guess} {numbers}\n" in path.read_text(), numbers is not None, name)


def test_a_number_to_predict_is_a_column_of_its_own(folder):
    for name in ("target", "y"):
        (folder / "t.csv").write_text(f"a,{name},b,c\n" + "".join(f"{i},{i}.5,{i * 2},{i % 7}\n" for i in range(40)))
        path, _ = made(folder, folder / "t.csv")
        same(fed(path), {"a": ("f32", []), name: ("f32", []), "x": ("f32", [2])})
        assert f"normalize: {{column: {name}," not in path.read_text()
    #  Also one that is missing sometimes, and numbers that are NaN as numpy.savetxt writes them.
    (folder / "t.csv").write_text("a,b,y\n" + "".join(f"{'nan' if i == 3 else i},{i},{'' if i == 4 else i}\n" for i in range(10)))
    path, _ = made(folder, folder / "t.csv")
    got = rows_of(path)
    near(got["x"], [[None if i == 3 else i, i] for i in range(10)])
    same(got["y"], [["nan" if i == 4 else i] for i in range(10)])


def test_a_table_of_pictures_becomes_a_vector_and_a_label(folder):
    for part in range(2):  # each with a header
        lines = ["label," + ",".join(f"pixel{i}" for i in range(784))]
        lines += [f"{row % 10}," + ",".join(str((row * 31 + i) % 256) for i in range(784)) for row in range(part * 30, part * 30 + 30)]
        (folder / f"digits-{part}.csv").write_text("\n".join(lines) + "\n")
    path, out = made(folder, folder)
    holds(out, "60 rows")
    same(fed(path), {"label": ("i64", []), "x": ("f32", [784])})
    got = rows_of(path)
    same(got["label"], [[row % 10] for row in range(60)])
    same(got["x"], [[(row * 31 + i) % 256 for i in range(784)] for row in range(60)])


def test_what_is_a_header_and_what_is_a_table(folder):
    for name, text, wanted in (
            ("none.csv", "1,2.5\n3,4\n" * 5, {"x": ("f32", [2])}),
            ("numbers.csv", "1,2\n3,4\n" * 5, {"x": ("f32", [2])}),
            ("names.csv", "a,b\n" + "x,1\ny,2\n" * 5, {"a": ("i64", []), "b": ("f32", [])}),
            ("texts.csv", "x,u\ny,v\n" * 5, {"c0": ("i64", []), "c1": ("i64", [])}),
            ("one.csv", "1\n2\n" * 5, {"c0": ("f32", [])}),
            ("index.csv", ",a,y\n" + "0,1.5,p\n1,2,q\n" * 5, {"x": ("f32", [2]), "y": ("i64", [])}),
            ("last.csv", "a,y,\n" + "1.5,p,\n2,q,\n" * 5, {"a": ("f32", []), "y": ("i64", []), "c2": ("u8", [6])}),
            ("tab.csv", "n\ty\n" + "1.5\t0\n2\t1\n" * 5, {"n": ("f32", []), "y": ("i64", [])}),
            ("quoted.csv", '"a, b",class\n' + '"1",p\n2,q\n' * 5, {"a_b": ("f32", []), "class": ("i64", [])}),
            ("marked.csv", "\ufeffa,label\r\n1,2\r\n3,4\r\n", {"a": ("f32", []), "label": ("i64", [])}),
            ("marked_numbers.csv", "\ufeff1,2\n3,4\n", {"x": ("f32", [2])}),
            ("twice.csv", "x,x,x\n1,a,2\n1,a,2\n", {"x": ("f32", []), "c1": ("i64", []), "c2": ("f32", [])}),
            ("taken.csv", "x,n,m\na,1,2\na,1,3\n", {"x": ("i64", []), "x2": ("f32", [2])}),
            ("decimals.csv", "a;b\n1,5;2\n2,5;3\n1,5;2\n2,5;3\n", {"a": ("i64", []), "b": ("f32", [])}),
            ("wide.csv", ",".join(f"p{i}" for i in range(5000)) + "\n" + 3 * (",".join(["1"] * 5000) + "\n"), {"x": ("f32", [5000])}),
            ("years.csv", "country,2019,2020\n" + "DE,1.5,2\nFR,2.5,1999\nIT,1,3\n" * 5, {"country": ("i64", []), "x": ("f32", [2])}),
            ("born.csv", "Ann,1995,2003\n" + "Bob,1990,2001\nCy,1970,2000\n" * 5, {"c0": ("i64", []), "x": ("f32", [2])}),
            ("year.csv", "DE,2019\n" + "FR,7\nIT,8\n" * 5, {"c0": ("i64", []), "c1": ("f32", [])}),
            ("pixels.csv", "label,0,1,2\n" + "7,255,0,3\n1,0,9,9\n" * 5, {"label": ("i64", []), "x": ("f32", [3])}),
            ("missing.csv", "NA,1,2\n" + "3,4,5\n6,7,8\n" * 20, {"x": ("f32", [3])}),
            ("lines.csv", "some words\nother words\nmore\n", {"record": ("u8", [11])})):
        (folder / name).write_text(text)
        path, _ = made(folder, folder / name)
        same(fed(path), wanted, name)
        (folder / name).unlink()
    for first, unclear in (("x,3,4", True), ("x,4,3", False), ("x,3,3", False), ("x,3,4.5", False)):
        (folder / "unclear.csv").write_text(f"{first}\n" + "y,5,6\nz,6,5\n" * 5)
        path, _ = made(folder, folder / "unclear.csv")
        same(fed(path), {"c0": ("i64", []), "x": ("f32", [2])}, first)
        same(f"unclear.csv: the first record, `{first}`, is read as a row; if it is a header, write `header: true`" in
             path.read_text(), unclear, first)
    (folder / "unclear.csv").unlink()
    # Only the note that `bom: remove` answers is left out, whatever files are called.
    (folder / "byte order mark").mkdir()
    (folder / "byte order mark/d-0.csv").write_text("\ufeff" + "1,2\n" * 8)
    (folder / "byte order mark/d-1.csv").write_text("")
    path, out = made(folder, folder / "byte order mark")
    holds(path.read_text(), "# 8 rows of", "csv: {bom: remove", "d-1.csv: has no rows")
    assert "begins with a byte order mark" not in path.read_text(), path.read_text()
    (folder / "bad.csv").write_text("a,b\n" + "1,2\n" * 9 + "3\n")
    code, out, _ = run("new", folder / "bad.csv")
    same(code, 0)
    holds(out, "on_error: skip  # leaves out records that do not fit", f"# {folder}/bad.csv:11: 1 field where most records have 2\n")


def test_what_separates_fields_is_found(folder):
    draw = numpy.random.default_rng(5)
    rows = draw.normal(size=(60, 4)).round(4)
    numpy.savetxt(folder / "saved.txt", rows)
    numpy.savetxt(folder / "wide.data", rows, fmt="%12.5f")
    numpy.savetxt(folder / "named.csv", rows, header="a b c label", comments="")
    numpy.savetxt(folder / "commas.data", rows, delimiter=",")
    numpy.savetxt(folder / "tabs", rows, delimiter="\t")
    numpy.savetxt(folder / "semicolons.txt", rows, delimiter=";")
    numpy.savetxt(folder / "bars.txt", rows, delimiter="|")
    for name, separated, columns in (
            ("saved.txt", "spaces", "x"), ("wide.data", "spaces", "x"), ("named.csv", "spaces", "x label"),
            ("commas.data", "commas", "x"), ("tabs", "tabs", "x"), ("semicolons.txt", "semicolons", "x"), ("bars.txt", "`|`", "x")):
        holds(run("inspect", folder / name)[1], f"  fields       4 fields, separated by {separated}: `tundish new` makes columns of them")
        found = rows_of(made(folder, folder / name)[0])
        same(" ".join(found), columns)
        same(numpy.hstack([found[column] for column in found]).astype("f4").tolist(), rows.astype("f4").tolist(), name)
    #  A car of the UCI repository: names in quotes, after a tab.
    (folder / "auto.data").write_text('18.0   8   307.0\t"ford torino"\n 15.0 8  ?   \t"amc"\n' * 30)
    holds(made(folder, folder / "auto.data")[0].read_text(), "delimiter: spaces", 'map: {"amc": 0, "ford torino": 1}', 'na: ["?"]')
    #  Texts are no tables.
    for name, line in (("prose.txt", "It was 4 o'clock, and, in 1984, cold"), ("pairs.txt", "cats/12.jpg 3"), ("svm.txt", "1 2:0.5 7:0.25"),
                       ("words.csv", "a good film"), ("lists.txt", "milk, eggs, bread"), ("odd.txt", "1 2 3\n1 2"), ("one.txt", "17")):
        (folder / name).write_text(f"{line}\n" * 30)
        out = run("new", folder / name)[1]
        same("fields" in run("inspect", folder / name)[1], name == "words.csv", name)
        holds(out, "`tundish new --as csv` divides it" if name.endswith(".txt") else "no comma, tab, `;`, `|` or space divides")
    (folder / "two.txt").write_text("1 2\n3 4\n")
    same([run("new", folder / "two.txt", *words)[1].count("decode_csv:") for words in ((), ("--as", "csv"), ("--as", "text"))], [1, 1, 0])
    (folder / "odd.txt").write_text("1 2 3\n" * 20 + "1 2\n" * 5)
    code, out, err = run("new", folder / "odd.txt")
    holds(err, "odd.txt:21: 2 fields where most records have 3; 5 such records")
    holds(out, "on_error: skip", "delimiter: spaces")


def test_lines_of_json_become_columns_without_an_edit(folder):
    rows = [{"id": 10**12 + i, "kind": ["cat", "dog", "owl"][i % 3], "ids": list(range(i % 4)), "vector": [i + 0.5, 2.0],
             "box": [[1, 2], [3, i]], "meta": {"score": i / 4 if i % 4 else None, "good": i % 2 == 0}, "tags": ["a"],
             "mixed": i if i % 2 else "x", "label": i % 5, "words": f"text {i}", "a.b": 1} for i in range(20)]
    del rows[3]["kind"]
    (folder / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    path, out = made(folder, folder / "rows.jsonl")
    holds(out, "20 rows")
    holds(path.read_text(), '# left out: "tags", lists of more than numbers', '# left out: "mixed", values of several types',
          "# left out: 20 values whose keys are empty, have a dot or are too deep")
    same(fed(path), {"id": ("i64", []), "ids": ("i32", [fed(path)["ids"][1][0]]), "vector": ("f32", [2]), "box": ("i32", [2, 2]),
                     "score": ("f32", []), "good": ("u8", []), "label": ("i64", []), "words": ("u8", [fed(path)["words"][1][0]]),
                     "kind": ("i64", [])})
    got = rows_of(path, "vector", "box", "score", "good", "label", "kind", "id")
    same(got["id"], [[row["id"]] for row in rows])
    same(got["label"], [[row["label"]] for row in rows])
    same(got["vector"], [row["vector"] for row in rows])
    same(got["box"], [sum(row["box"], []) for row in rows])
    same(got["good"], [[int(row["meta"]["good"])] for row in rows])
    near(got["score"], [[row["meta"]["score"]] for row in rows])
    same(got["kind"], [[["cat", "dog", "owl"].index(row["kind"]) if "kind" in row else 3] for row in rows])


def test_what_is_a_table_of_json(folder):
    for name, text, wanted in (
            ("nan.jsonl", '{"a": NaN}\n{"a": 2}\n' * 5, {"a": ("f32", [])}),
            ("marked.jsonl", '\ufeff{"a": 1.5}\n{"a": 2}\n' * 1, {"a": ("f32", [])}),
            ("missing.ndjson", '{"a": 1}\n{}\n' * 5, {"a": ("f32", [])}),
            ("flags.jsonl", '{"a": true}\n{"a": false}\n' * 5, {"a": ("u8", [])}),
            ("large.jsonl", '{"a": 1e300}\n' * 5, {"a": ("f64", [])}),
            ("wide.jsonl", '{"a": 16777217}\n' * 5, {"a": ("i64", [])}),
            ("ints.jsonl", '{"a": [1, 3000000000]}\n' * 5, {"a": ("i64", [2])}),
            ("same.jsonl", '{"x": {"a": 1}, "y": {"a": 2}}\n' * 5, {"a": ("f32", []), "y_a": ("f32", [])}),
            ("list.jsonl", "[1, 2]\n" * 5, {"line": ("u8", [6])})):
        (folder / name).write_text(text)
        path, _ = made(folder, folder / name)
        same(fed(path), wanted, name)
        (folder / name).unlink()
    (folder / "bad.jsonl").write_text('{"a": 1}\n' * 30 + '{"a": \n')
    code, out, _ = run("new", folder / "bad.jsonl")
    same(code, 0)
    holds(out, "on_error: skip  # leaves out records that do not fit", f"# {folder}/bad.jsonl:31: not JSON: ")


def lines_of(count):
    return "".join(f"{i},{i / 2},{'pq'[i % 2]}\n" for i in range(count))


def test_records_that_do_not_fit_are_named_and_the_others_are_columns(folder):
    """`new` says which line it is, and the run counts as many."""
    table = {"x": ("f32", [2]), "y": ("i64", [])}
    quote = 'a quote opens a field here and never closes: all 4 lines'
    for name, text, wanted, bad, *words in (
            ("quote.csv", "a,b,y\n" + lines_of(40) + '"1,2,p\n' + lines_of(3), table, 1, f":42: {quote}"),
            ("blank.csv", "a,b,y\n" + lines_of(30) + "\n\n" + lines_of(3), table, 2, ":32: the line is empty; 2 such records"),
            ("odd.csv", "a,b,y\n" + lines_of(30) + "7,oops,p\n" + lines_of(3), table, 1, ':32: `b` is "oops", not a number'),
            ("escape.csv", "a,b,y\n" + lines_of(20) + "7,\x1b[1m,p\n" + lines_of(3), table, 1, ':22: `b` is "?[1m", not a number'),
            ("many.csv", "a,b,y\n" + lines_of(21) + "1,2,p,4\n1,2\n", table, 2, ":23: 4 fields where most records have 3; 2 such records"),
            ("inner.csv", "a,b,y\n" + lines_of(9) + '1,2"2,p\n' + lines_of(3), table, 1, ":11: a field without quotes around it has a quote in it"),
            ("bad.jsonl", '{"a": 1, "t": "p"}\n' * 10 + '\n{"a": \n[1]\n' + '{"a": 1, "t": "q"}\n' * 27 + '{"a": "x", "t": 5}\n',
             {"a": ("f32", []), "t": ("i64", [])}, 4, ":11: the line is empty", ":12: not JSON", "2 such records",
             ":41: `a` is a string, not a number", ":41: `t` is a number, not a string"),
            ("between.jsonl", '{"a": 1}\n\n' * 30, {"a": ("f32", [])}, 30, ":2: the line is empty; 30 such records"),
            ("wide.jsonl", '{"a": 1}\n{"a": 9223372036854775808}\n{"a": 3}\n', {"a": ("f32", [])}, 1, ":2: not JSON: a number beyond i64")):
        data, path = folder / name, folder / f"{name}.yaml"
        data.write_text(text)
        code, _, err = run("new", data, "-o", path)
        same(code, 0, err)
        holds(err, *(str(data) + word if word[0] == ":" else word for word in words))
        holds(path.read_text(), "on_error: skip", *(word for word in words))
        same({key: one for key, one in fed(path).items()}, wanted, name)
        code, out, err = run("run", path)
        same(code, 0, err)
        holds(out, f", {bad} bad,")


def test_data_of_which_no_columns_are_made_say_why(folder):
    for name, text, *words in (
            ("comment.csv", "# exported\n" + "a,b,c\n" + "1,2,x\n" * 30, ":1: 1 field where most records have 3, before the header", "remove"),
            ("half.csv", "1,2\n" * 3 + "1,2,3\n" * 3, ":1: 2 fields, but 3 at line 4: no number of fields is that of most"),
            ("none.jsonl", '{"a": null}\n' * 5, "no column is made of `a`: null in all lines", "lines are fed as bytes"),
            ("header.csv", "a,b,y\n", ": has one record; if that is a header, there are no rows"),
            ("half.jsonl", '{"a": 1}\n{"a": \n', ":2: not JSON", "most of the first lines are not JSON objects")):
        (folder / name).write_text(text)
        code, out, err = run("new", folder / name)
        same(code, 0, err)
        holds(err, *(f"tundish new: {folder / name}{word}" if word[0] == ":" else word for word in words))
        holds(out, f"# {folder / name}" if words[0][0] == ":" else words[0])
    (folder / "null.jsonl").write_text('{"a": 1, "nul": null, "text": "t"}\n' * 30)
    holds(run("new", folder / "null.jsonl")[1], '# left out: "nul", null in all lines')
    (folder / "classes.csv").write_text("id,label\n" + "".join(f"{i},c{i % 51}\n" for i in range(3000)))
    holds(run("new", folder / "classes.csv")[1], "label: string  # bytes: more texts than are listed here", "`map`")
    (folder / "latin.csv").write_bytes("id,town,\n".encode() + "1,Z\u00fcrich,\n2,Bern,\n".encode("latin-1") * 20)
    holds(run("new", folder / "latin.csv")[1], "town: string  # bytes: some texts are not UTF-8", 'c2: {dtype: string, default: ""}  # bytes: always empty')
    (folder / "cut.csv.gz").write_bytes(gzip.compress(b"a,y\n" + b"".join(b"%d,%d\n" % (i * i, i % 3) for i in range(5000)))[:-400])
    path = folder / "cut.yaml"
    code, _, err = run("new", folder / "cut.csv.gz", "-o", path)
    same(code, 0, err)
    holds(err, f"tundish new: {folder}/cut.csv.gz: record ", "the gzip stream is cut", "fetch it again")
    holds(path.read_text(), "    on_error: skip   # leaves out damaged records, 1 here")
    same(run("run", path)[0], 0)


def test_headers_that_differ_are_an_error(folder):
    (folder / "a.csv").write_text("age,city,income\n" + "".join(f"{i},{'pq'[i % 2]},{i}\n" for i in range(30)))
    for name, text, shown in (("order.csv", "city,income,age\n" + "p,1,2\n" * 30, "city,income,age"),
                              ("more.csv", "age,city,income,n\n" + "1,p,1,2\n" * 30, "age,city,income,n"),
                              ("none.csv", "5,p,2\n" * 30, "5,p,2")):
        (folder / name).write_text(text)
        code, out, err = run("new", folder / "a.csv", folder / name)
        same((code, out), (78, ""), err)
        holds(err, f"headers differ: {folder}/a.csv begins with `age,city,income`, {folder / name} with `{shown}`",
              "the same columns in the same order")
    for part in range(2):  # texts without a header
        (folder / f"t-{part}.csv").write_text("".join(f"{'xy'[(i + part) % 2]},{'uv'[i % 2]}\n" for i in range(10)))
    path, _ = made(folder, folder / "t-0.csv", folder / "t-1.csv")
    same(list(fed(path)), ["c0", "c1"])


def test_examples_become_their_features(folder):
    example = bytes.fromhex("0a0c0a0a0a016112051a030a0107")  # {"a": int64 [7]}
    (folder / "e.tfrecord").write_bytes(framed(example) * 30)
    for words in ([], ["--split", "80/20"]):
        path, _ = made(folder, folder / "e.tfrecord", *words)
        same(fed(path), {"a": ("i64", [])})
        assert "pad_ragged" not in path.read_text()
    numpy.save(folder / "x.npy", numpy.zeros(30))
    code, _, err = run("new", folder / "e.tfrecord", folder / "x.npy")
    same(code, 78)
    holds(err, "a reader reads one format; name the files of one")
    holds(run("inspect", folder / "x.npy")[1], "  columns      x f64")
    numpy.save(folder / "speed.npy", numpy.zeros(30))
    holds(run("inspect", folder / "speed.npy")[1], "  columns      speed f64", "speed: ")


def field(number, content):
    """A field of a message of Protocol Buffers with a length."""
    size = len(content)
    return bytes([number << 3 | 2, *([size] if size < 128 else [size & 127 | 128, size >> 7])]) + content


def example(**features):
    """A tf.Example: texts, and integers below 128."""
    def feature(value):
        return field(1, field(1, value)) if isinstance(value, bytes) else field(3, field(1, bytes([value])))
    return field(1, b"".join(field(1, field(1, name.encode()) + field(2, feature(value))) for name, value in features.items()))


def test_pictures_in_examples_are_decoded(folder):
    pixels = jpeg("img_420.jpg")
    (folder / "e.tfrecord").write_bytes(b"".join(framed(example(photo=pixels, name=b"p%d" % (i % 3), y=i % 5)) for i in range(30)))
    path, _ = made(folder, folder / "e.tfrecord", "--split", "80/20")
    same({name: fed(path)[name] for name in ("photo", "y")}, {"photo": ("u8", [40, 40, 3]), "y": ("i64", [])})
    same(path.read_text().count("decode_image:"), 2)
    same(path.read_text().count("          then: [{random_resized_crop: {size: 40}}]"), 1)
    # One that is not a picture: they are bytes.
    with open(folder / "e.tfrecord", "ab") as file:
        file.write(framed(example(photo=b"none", name=b"p1", y=1)))
    path, _ = made(folder, folder / "e.tfrecord")
    assert "decode_image" not in path.read_text()


def archive(path, samples):
    """A tar of samples: {extension: bytes}."""
    with tarfile.open(path, "w") as out:
        for i, sample in enumerate(samples):
            for extension, content in sample.items():
                info = tarfile.TarInfo(f"s/{i:04}.{extension}")
                info.size = len(content)
                out.addfile(info, io.BytesIO(content))


def test_files_of_an_archive_become_what_they_are(folder):
    """JPEGs are decoded, digits and documents read; what a document lacks costs its sample."""
    samples = [{"JPG": jpeg("img_420.jpg"), "cls": b"%d" % (i % 3), "w": b"%d.5" % i, "txt": b"text %d" % i,
                "json": b'{"id": %d, "kind": "%s"}' % (i, b"pq"[i % 2:i % 2 + 1])} for i in range(30)]
    archive(folder / "a.tar", samples)
    path, _ = made(folder, folder / "a.tar")
    wanted = {"jpg": ("u8", [40, 40, 3]), "cls": ("i64", []), "w": ("f32", []), "txt": ("u8", [7]),
              "id": ("f32", []), "kind": ("i64", [])}
    same(fed(path), wanted)
    got = rows_of(path, "cls", "w", "id", "kind")
    same(got, {"cls": [[i % 3] for i in range(30)], "w": [[i + 0.5] for i in range(30)],
               "id": [[i] for i in range(30)], "kind": [[i % 2] for i in range(30)]})
    samples[28]["json"] = b'{"id": '
    archive(folder / "b.tar", samples)
    path = folder / "b.yaml"
    same(run("new", folder / "b.tar", "-o", path)[0], 0)
    holds(path.read_text(), "on_error: skip  # leaves out records that do not fit, and counts them\n")
    code, out, err = run("run", path)
    same(code, 0, err)
    holds(out, "29 rows", ", 1 bad,")
    archive(folder / "c.tar", [{"cls": b"1", "json": b'{"cls": 1}'}] * 30)  # two columns of one name
    path, _ = made(folder, folder / "c.tar")
    same(fed(path), {"cls": ("i64", []), "json": ("u8", [10])})
    holds(path.read_text(), "# json has JSON documents, with fields named like other columns")
    buffer = io.BytesIO()
    numpy.save(buffer, numpy.zeros(3, "f4"))
    archive(folder / "d.tar", [{"npy": buffer.getvalue()}] * 30)
    path, _ = made(folder, folder / "d.tar")
    holds(path.read_text(), "# npy has .npy files: tundish help decode_npy")


def test_notes_beside_a_folder_of_pictures_are_no_data(folder):
    for i in range(6):
        place = folder / f"set/images/{'ab'[i % 2]}"
        place.mkdir(parents=True, exist_ok=True)
        (place / f"{i}.jpg").write_bytes(jpeg("img_420.jpg"))
    for name in ("README.md", "LICENSE", "license.txt"):
        (folder / "set" / name).write_text("These are\npictures.\n")
    path, _ = made(folder, folder / "set")
    same(fed(path), {"image": ("u8", [40, 40, 3]), "label": ("i32", [])})
    holds(run("new", folder / "set")[2], "set/license.txt: notes about the data")
    (folder / "set/readmes.txt").write_text("one\ntwo\n")
    holds(run("new", folder / "set/readmes.txt")[1], "2 rows of line")


def test_texts_that_are_probably_numbers_are_named(folder):
    def told(name, text, encoding="utf-8"):
        (folder / name).write_text(text, encoding=encoding)
        code, _, err = run("new", folder / name)
        same(code, 0, err)
        return err

    numbers = "".join(f"{i % 9},5;{i},{i};{'pq'[i % 2]}\n" for i in range(30))
    err = told("a.csv", "a;b;label\n" + numbers)
    holds(err, f'{folder}/a.csv:2: `a` is "0,5", a text', '`b` is "0,0", a text', "write 5.1 in place of 5,1")
    assert "`label`" not in err
    for odd in ("$3", "5 %", "1,234", "\u20ac 5", "-3%"):
        holds(told("b.csv", "a;label\n" + "".join(f"{odd};{'pq'[i % 2]}\n" for i in range(30))), f'`a` is "{odd}", a text')
    for text in ("1,2,3", "A4", "2024-01-02", "%", "cat, 3", ","):
        assert "a text" not in told("b.csv", "a;label\n" + "".join(f"{text};{'pq'[i % 2]}\n" for i in range(30))), text
    # One other text: the column has texts.
    assert "a text" not in told("b.csv", "a;label\n" + "".join(f"{i % 9}%;{'pq'[i % 2]}\n" for i in range(30)) + "high;p\n")
    for name in ("gr\u00f6\u00dfe", "size"):
        err = told("c.csv", f"{name},label\n" + "".join(f"{i},{'pq'[i % 2]}\u00e9\n" for i in range(30)), "latin-1")
        holds(err, f"{folder}/c.csv: field {1 + (name == 'size')} has texts that are not UTF-8", "iconv -f ISO-8859-1 -t UTF-8")


def test_json_that_is_not_one_object_per_line_is_named(folder):
    for text in (json.dumps([{"a": 1}]), json.dumps([{"a": 1}], indent=1), json.dumps({"a": 1}, indent=1), "[1, 2]\n[3, 4]\n"):
        (folder / "a.json").write_text(text)
        code, _, err = run("new", folder / "a.json")
        same(code, 0, err)
        holds(err, f"{folder}/a.json:1: JSON, but not one object per line; `jq -c '.[]' FILE`")
    for text in ("[12:03:04] started\n[12:03:05] ended\n", "{ a text\n}\n", "3\n4\n"):
        (folder / "a.txt").write_text(text)
        assert "JSON" not in run("new", folder / "a.txt")[2], text


def test_records_become_one_list(folder):
    for part in range(3):
        (folder / f"log-{part}.txt").write_text("".join(f"{part}-{row}\n" for row in range(40)))
    path, out = made(folder, folder)
    holds(out, "120 rows")
    same(fed(path), {"line": ("u8", [4])})
    holds(path.read_text(), "text:", 'files: "${data}/log-[0-2].txt"  # 3 files',
          "# - {pad_ragged: {column: line, to: 4, cut: true}}", "`tundish new --as csv` divides it into fields")
    (folder / "a.csv").write_text("1,2\n" * 20)
    (folder / "b.tsv").write_text("1\t2\n" * 20)
    path, out = made(folder, folder / "a.csv")
    same((fed(path), "20 rows" in out), ({"x": ("f32", [2])}, True))
    path, _ = made(folder, folder / "b.tsv")
    holds(path.read_text(), 'csv: {delimiter: "\\t", files: "${data}/b.tsv"}')
    (folder / "c.txt.gz").write_bytes(gzip.compress(b"1\n22\n" * 10))
    path, out = made(folder, folder / "c.txt.gz")
    holds(path.read_text(), "read in order")
    holds(out, "20 rows")
    numpy.save(folder / "x.npy", numpy.zeros(20))
    path, _ = made(folder, folder)  # arrays among texts
    same(fed(path), {"x": ("f32", [])})


def test_an_unknown_file_is_named_with_the_known_formats(folder):
    files = {"b.npz": (b"PK\3\4....", "zip"),
             "c.hdf": (b"\x89HDF\r\n\x1a\n", "HDF5"), "d": (b"\0\1\2\3\4\5\6\7", "tundish help raw"),
             "e": (b"", "empty"), "f.gz": (gzip.compress(bytes(range(9))), "tundish help raw"),
             "g.gz": (b"\x1f\x8b\0\0", "damaged"), "h.pkl": (b"\x80\x04K\1.", "pickle")}
    for name, (content, words) in files.items():
        (folder / name).write_bytes(content)
        code, out, err = run("new", folder / name)
        same((code, out), (78, ""), name)
        holds(err, name, words, "known are .npy", "IDX")
    code, _, err = run("new", folder)
    same(code, 78)
    holds(err, "contains no file in a known format")
    numpy.save(folder / "objects.npy", numpy.array([{}]), allow_pickle=True)
    code, _, err = run("new", folder / "objects.npy")
    same(code, 78)
    holds(err, "objects.npy", "Python objects")


def jpeg(name):
    """A file of TensorFlow's vectors, of 40 x 61 pixels."""
    for line in (ROOT / "tests/oracle/image.txt").read_text().splitlines():
        if line.startswith(f"file {name} : "):
            return bytes.fromhex(line.rpartition(" ")[2])
    raise AssertionError(name)


PICTURES = """  # 24 rows of image u8[<=1242], label i32
  # labels: 0 cat, 1 dog
  read:
    kind: reader
    source:
      folder: {column: image, label: label, files: "${data}/*/*.jpg"}  # 24 files, one after the other
    shuffle: global  # a new order each epoch; none: as stored
    epochs: 1        # passes over the data, or forever

  # done to each row, in this order; `tundish help ops` lists them
  prep:
    kind: preprocessor
    # of pictures only the headers were read: a run finds pixels that are damaged
    ops:
      - decode_image:  # to pictures of one shape, u8; tundish help images
          column: image
          then: [{random_resized_crop: {size: SIDE}}]  # to train
          # then: [{resize: {size: SIDE}}]  # to test
      # - {random_flip: {column: image}}
      # - {scale: {column: image, to: f32, range: [0, 1]}}  # 0 to 255 become 0 to 1
      # - {cast: {column: label, to: i64}}  # as cross_entropy of PyTorch wants
      # - {one_hot: {column: label, depth: CLASSES}}
"""


def test_files_of_pictures_are_decoded(folder):
    for i in range(24):
        (folder / "pets" / "cat dog".split()[i % 2]).mkdir(parents=True, exist_ok=True)
        (folder / "pets" / "cat dog".split()[i % 2] / f"test{i}.jpg").write_bytes(
            jpeg(("img_420.jpg", "img_444.jpg", "img_gray.jpg")[i % 3]))
    path, out = made(folder, folder / "pets")
    holds(out, "24 rows")
    side = 40  # the first picture has 40 x 61 pixels
    same(fed(path), {"image": ("u8", [side, side, 3]), "label": ("i32", [])})
    holds(path.read_text(), PICTURES.replace("SIDE", str(side)))
    holds(run("inspect", folder / "pets")[1], "  decoded      only headers: a run finds pixels that are damaged")
    path.write_text(path.read_text().replace("      # - {", "      - {").replace("CLASSES", "2")
                    .replace("then: [{random", "# then: [{random").replace("# then: [{resize", "then: [{resize"))
    same(run("head", path)[0], 0, path.read_text())
    same(fed(path), {"image": ("f32", [side, side, 3]), "label": ("f32", [2])})
    (folder / "pets/cat/notes.txt").write_text("seen on Monday\n")
    path, _ = made(folder, folder / "pets/cat")
    same(list(fed(path)), ["image"])
    holds(path.read_text(), 'files: "${data}/*.jpg"}  # 12 files')
    path, _ = made(folder, folder / "pets/cat/test0.jpg", folder / "pets/dog/test3.jpg")
    holds(path.read_text(), 'files: ["${data}/cat/test0.jpg", "${data}/dog/test3.jpg"]', "label: label")
    numpy.save(folder / "pets/cat/x.npy", numpy.zeros(20))
    same(fed(made(folder, folder / "pets/cat")[0]), {"x": ("f32", [])})


def png(path, height=16, width=16, lines=None):
    """A grey picture of one bit per pixel; `lines` says how many are stored, if not all."""
    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
    rows = zlib.compress((b"\0" + bytes((width + 7) // 8)) * (height if lines is None else lines))
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"\x89PNG\r\n\x1a\n" +
                     chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 1, 0, 0, 0, 0)) +
                     chunk(b"IDAT", rows) + chunk(b"IEND", b""))


OTHERS = {"2.png": (b"RIFF\x1e\0\0\0WEBPVP8L", "a WebP picture"), "3.png": (b"GIF89a\1\0\1\0", "a GIF picture"),
          "4.png": (b"<!DOCTYPE html><html>404", "an HTML page"), "5.png": (b"", "empty")}


def test_files_of_other_formats_are_bad_rows_and_named(folder):
    for name in ("a", "c"):
        for i in range(2):
            png(folder / "pets" / name / f"{i}.png")
        for other, (content, _) in OTHERS.items():
            (folder / "pets" / name / other).write_bytes(content)
    (folder / "pets/b").mkdir()
    (folder / "pets/b/0.png").write_bytes(OTHERS["2.png"][0])  # has no picture and stays label 1
    (folder / "pets/c/7.png").symlink_to("nowhere")
    (folder / "pets/c/notes.txt").write_text("seen on Monday\n")
    (folder / "pets/c/old").mkdir()
    code, out, err = run("new", "pets", cwd=folder)
    same(code, 0, err)
    holds(err, "10 files cannot be decoded", "2 names are not used", "pets/a/5.png, pets/c/5.png: empty",
          "pets/a/2.png, pets/b/0.png, pets/c/2.png: a WebP picture: convert it to PNG or JPEG",
          "pets/c/7.png: No such file", "pets/c/notes.txt: text", "pets/c/old: a folder",
          *(what for _, what in OTHERS.values()))
    holds(out, 'files: "${data}/*/*.png"}  # 14 files', "# labels: 0 a, 1 b, 2 c")
    (folder / "pets.yaml").write_text(out)
    code, out, err = run("run", folder / "pets.yaml")
    same(code, 0, err)
    holds(out, "4 rows", "rows: 14 read", "bad: 9 by prep", "bad: 1 by read")
    code, out, err = run("inspect", "pets", cwd=folder)
    same((code, err), (1, ""))
    holds(out, "records      14", "damage       10 records", "labels       0 a, 1 b, 2 c",
          "pets/a/3.png, pets/c/3.png: a GIF picture: convert it to PNG", "2 names are not used")
    found = json.loads(run("inspect", "pets", "--json", cwd=folder)[1])
    same((found["left_out_count"], sum(one["bad_row"] for one in found["left_out"])), (12, 10))


def test_names_that_no_line_can_hold(folder):
    odd = "b\nport: 80\x1b[2J\u202e"
    for name in ("a", odd):
        png(folder / "pets" / name / "0.png")
        png(folder / "pets" / name / f"{odd}.png")
    (folder / "pets" / odd / "2.png").write_bytes(b"")
    (folder / "pets" / odd / f"{odd}.txt").write_text("seen on Monday\n")
    code, topology, err = run("new", "pets", cwd=folder)
    same(code, 0, err)
    shown = "b?port: 80?[2J???"
    holds(topology, f"# labels: 0 a, 1 {shown}\n", 'files: "${data}/*/*.png"}  # 5 files')
    holds(err, f"  pets/{shown}/2.png: empty\n", f"  pets/{shown}/{shown}.txt: text\n")
    (folder / "pets.yaml").write_text(topology)
    code, out, err = run("run", folder / "pets.yaml")
    same(code, 0, err)
    holds(out, "4 rows", "rows: 5 read")
    code, out, err = run("inspect", "pets", cwd=folder)
    same((code, err), (1, ""))
    holds(out, f"labels       0 a, 1 {shown}\n", f"/pets/{shown}/2.png, at byte 0: neither", f"  pets/{shown}/2.png: empty\n")


def test_folders_without_data_are_explained(folder):
    for name, content in (("a/0.png", b""), ("b/0.webp", OTHERS["2.png"][0])):
        (folder / "pets" / name).parent.mkdir(parents=True)
        (folder / "pets" / name).write_bytes(content)
    for command in ("new", "inspect"):
        code, out, err = run(command, "pets", cwd=folder)
        same((code, out), (78, ""))
        holds(err, "contains no file in a known format (2 in others)", "2 names are not used",
              "pets/a/0.png: empty", "pets/b/0.webp: a WebP picture")


def test_endings_that_differ_are_patterns(folder):
    for name in ("a/0.png", "a/1.PNG", "b/0.png"):
        png(folder / "pets" / name)
    (folder / "pets/b/1.jpg").write_bytes(jpeg("img_420.jpg"))
    (folder / "pets/b/2.txt").write_text("no picture\n")
    path, out = made(folder, folder / "pets")
    holds(path.read_text(), 'files: ["${data}/*/*.png", "${data}/*/*.PNG", "${data}/*/*.jpg"]}  # 4 files')
    holds(out, "4 rows")
    png(folder / "pets/b/3")  # without an ending every file matches
    code, out, err = run("new", folder / "pets")
    holds(out, 'files: "${data}/*/*"}  # 6 files', "on_error: skip")
    holds(err, "1 file cannot be decoded", "b/2.txt: text")


def test_files_beside_folders_of_pictures_do_not_hide_them(folder):
    pets = folder / "pets"
    for name in ("a/0.png", "a/1.png", "b/0.png"):
        png(pets / name)
    for name, content in (("words.txt", "hello\n"), ("labels.csv", "0,a\n1,b\n")):
        (pets / name).write_text(content)
        code, out, err = run("new", pets)
        same(code, 0, err)
        holds(out, 'files: "${data}/*/*.png"}  # 3 files')
        holds(err, f"{name}: {'csv' if 'csv' in name else 'text'}, which is not read together with")
    png(pets / "logo.png")
    code, out, err = run("new", pets)
    holds(out, 'files: "${data}/*/*.png"}  # 3 files')
    holds(err, "3 names are not used", "logo.png: a picture")
    for i in range(3):
        png(pets / f"x{i}.png")
    code, out, err = run("new", pets)  # more pictures than in the folders
    holds(out, 'folder: {column: image, files: "${data}/*.png"}  # 4 files')
    holds(err, "pets/a, ", "pets/b: a folder beside the data")


def test_the_folder_of_training_is_proposed(folder):
    for part in ("test", "train", "val"):
        for name in ("a", "b"):
            png(folder / "set" / part / name / "0.png")
    (folder / "set/readme.txt").write_text("hello\n")
    code, out, err = run("new", "set", cwd=folder)
    same(code, 0, err)
    holds(out, f'data: "{folder}/set/train"', 'files: "${data}/*/*.png"}  # 2 files', "labels: 0 a, 1 b")
    holds(err, "set/test, set/val: a folder beside set/train, which is read", "set/readme.txt: notes about the data")
    for name in ("test", "train"):  # without labels
        png(folder / "flat" / name / "0.png")
    code, out, err = run("new", "flat", cwd=folder)
    holds(out, f'data: "{folder}/flat/train"', 'folder: {column: image, files: "${data}/*.png"}')
    holds(err, "flat/test: a folder beside flat/train")
    for name in ("bus", "train"):  # vehicles
        png(folder / "cars" / name / "0.png")
    holds(run("new", folder / "cars")[1], "labels: 0 bus, 1 train")
    for part in ("train", "test"):
        (folder / "arrays" / part).mkdir(parents=True)
        numpy.save(folder / "arrays" / part / "x.npy", numpy.zeros(20))
    (folder / "arrays/readme.md").write_text("hello\n")
    code, out, err = run("new", "arrays", cwd=folder)
    same(code, 0, err)
    holds(out, "npy:", f'data: "{folder}/arrays/train"')
    holds(err, "arrays/test: a folder beside", "arrays/readme.md: notes about the data")


def test_large_pictures_run_unchanged(folder):
    png(folder / "at/a/0.png", 4096, 4096)
    assert "max_pixels" not in run("new", folder / "at")[1]
    assert "max_pixels" not in run("inspect", folder / "at")[1]
    png(folder / "over/a/0.png", 4097, 4096)
    png(folder / "over/b/0.png")
    path, out = made(folder, folder / "over")
    holds(out, "2 rows")
    holds(path.read_text(), "max_pixels: 16781312  # the largest has 4096 x 4097; each worker reserves 144.0 MiB")
    holds(run("inspect", folder / "over")[1], "decode_image needs `max_pixels: 16781312`")
    png(folder / "over/b/1.png", 16385, 16384, lines=0)  # 2^28 pixels are the most
    code, out, err = run("new", folder / "over")
    holds(out, "max_pixels: 16781312", "on_error: skip")
    holds(err, "1 file cannot be decoded", "b/1.png: a picture of more than 268 million pixels")
    png(folder / "over/b/1.png", 16384, 16384, lines=0)
    holds(run("new", folder / "over")[1], "max_pixels: 268435456")


def test_the_lines_in_help_of_a_format_run(folder):
    (folder / "train-0.jsonl").write_text('{"label": 3, "meta": {"score": 0.5}, "ids": [1, 2]}\n' * 20)
    with tarfile.open(folder / "train-000.tar", "w") as out:
        for i in range(20):
            for name, data in ((f"{i:03}.jpg", jpeg("img_420.jpg")), (f"{i:03}.cls", b"7")):
                info = tarfile.TarInfo(name)
                info.size = len(data)
                out.addfile(info, io.BytesIO(data))
    for name in "xy":
        numpy.save(folder / f"{name}.npy", numpy.zeros(20))
    numpy.save(folder / "values.npy", numpy.arange(30))
    numpy.save(folder / "splits.npy", numpy.append(numpy.arange(20), 30))
    for topic, wanted in (("jsonl", {"label", "score", "ids"}), ("webdataset", {"image", "label"}),
                          ("parquet", {"x", "y", "tokens"})):
        code, text, _ = run("help", topic)
        same(code, 0)
        seen = set()
        for lines in re.findall(r"^(  read:.*?)\n\n", text.replace("[000-146]", "[000-000]"), re.M | re.S):
            links = "read -> prep -> batch" if "prep:" in lines else "read -> batch"
            (folder / "graph.yaml").write_text(f"tundish: 1\ndata: {folder}\nactors:\n{lines}\n"
                                               f"  batch: {{kind: batcher, size: 4}}\nlinks: [{links}]\n")
            code, out, err = run("head", folder / "graph.yaml", "--json", cwd=folder)
            same(code, 0, err)
            seen |= set(json.loads(out)["columns"])
        same(seen, wanted)


def rows_at(path, actor):
    """All rows that an actor of a topology sends in an epoch, by column."""
    code, out, err = run("head", path, "--at", actor, "--steps", "999", "--json")
    same(code, 0, err)
    got = {}
    for block in map(json.loads, out.splitlines()):
        for name, column in block["columns"].items():
            got.setdefault(name, []).extend(column["data"])
    return got


def test_a_split_writes_a_chain_to_train_and_one_to_validate(folder):
    """`part` with 80 of each 100 rows: disjoint, and all together."""
    numpy.save(folder / "x.npy", numpy.arange(1000, dtype="f4"))
    (folder / "t.csv").write_text("id,kind,size\n" + "".join(f"{i},{'cat dog'.split()[i % 2]},{i % 7}.5\n" for i in range(1000)))
    for data, column in (("x.npy", "x"), ("t.csv", "id")):
        for split, train in (("80/20", 800), ("1/3", 250)):
            path = folder / f"{data}-{train}.yaml"
            same(run("new", folder / data, "--split", split, "-o", path)[0], 0)
            shown = folder / "report.json"
            same(run("validate", path)[0::2], (0, ""))
            code, out, err = run("run", path, "--report", shown)
            same((code, err), (0, ""))
            holds(out, f"{train} rows")
            same(json.loads(shown.read_text())["chains"]["val"]["rows"]["fed"], 1000 - train)
            one, other = rows_at(path, "prep"), rows_at(path, "val_prep")
            same((len(one[column]), len(other[column])), (train, 1000 - train))
            same(sorted(one[column] + other[column]), list(range(1000)))
            same(list(one), list(other))
    holds(path.read_text(), "part: {of: [1, 3], index: 1}", "after: feed")


def test_a_split_of_pictures_draws_for_training_only(folder):
    for i in range(40):
        (folder / "pets" / "cat dog".split()[i % 2]).mkdir(parents=True, exist_ok=True)
        (folder / "pets" / "cat dog".split()[i % 2] / f"p{i}.jpg").write_bytes(jpeg("img_420.jpg"))
    path = folder / "pets.yaml"
    same(run("new", folder / "pets", "--split", "75/25", "-o", path)[0], 0)
    code, out, err = run("run", path)
    same((code, err), (0, ""))
    holds(out, "30 rows")
    train, val = path.read_text().split("val_read:")
    holds(train, "random_resized_crop", "random_flip")
    assert "random" not in val.replace("without what is random", ""), val
    holds(val, "then: [{resize: {size: 40}}]")
    same(sorted(rows_at(path, "prep")["label"] + rows_at(path, "val_prep")["label"]), [0] * 20 + [1] * 20)


def test_what_cannot_be_split_is_named(folder):
    numpy.save(folder / "x.npy", numpy.arange(100))
    for split in ("80", "80/", "0/20", "80/20/5", "a/b", "-1/2", "2/"):
        code, out, err = run("new", folder / "x.npy", "--split", split)
        same((code, out), (2, ""))
        holds(err, "say two shares, such as 80/20")
    (folder / "t.csv.gz").write_bytes(gzip.compress(b"a,b\n" + b"1,2\n" * 50))
    code, out, err = run("new", folder / "t.csv.gz", "--split", "80/20")
    same((code, out), (78, ""))
    holds(err, "t.csv.gz is compressed and read in order, and cannot be split; decompress it")


def test_what_is_not_there_is_named(folder):
    for name, words in ((folder / "none.npy", "No such file"), (folder / "x*.npy", "no file")):
        code, _, err = run("new", name)
        same(code, 78)
        holds(err, str(name), words)
    code, _, err = run("new")
    same(code, 2)
    holds(err, "no data is given")


def test_a_file_that_is_there_stays_as_it_is(folder):
    numpy.save(folder / "a.npy", numpy.zeros(20))
    there = folder / "mine.yaml"
    there.write_text("mine")
    code, _, err = run("new", folder / "a.npy", "--output", there)
    same((code, there.read_text()), (1, "mine"))
    holds(err, "exists already")
    code, _, err = run("new", folder / "a.npy", "-o", folder / "no" / "x.yaml")
    same(code, 1)
    holds(err, "cannot be written")


def test_it_names_the_schema_by_its_path(folder):
    numpy.save(folder / "a.npy", numpy.zeros(20))
    first = run("new", folder / "a.npy")[1].splitlines()[0]
    assert first.startswith("# yaml-language-server: $schema="), first
    assert os.path.exists(first.partition("=")[2]), first


def test_data_that_takes_long_to_read_shows_how_far_it_is(folder):
    """Records are read twice: their index is built, then their keys are collected."""
    example = bytes.fromhex("0a0c0a0a0a016112051a030a0107")  # {"a": int64 [7]}
    path = folder / "x.tfrecord"
    path.write_bytes(framed(example) * 3000)
    if is_sanitized():  # nothing can be loaded before it
        return
    slow = {"LD_PRELOAD": str(BUILD / "tests" / "fast_clock.so"), "XDG_CACHE_HOME": str(folder)}
    line = r"reading (\d+) of 3000 records, (\d+) %"
    for command in ("new", "inspect"):
        code, out, err = run(command, path, env=slow)
        same(code, 0, err)
        shown = [int(done) for done, _ in re.findall(line, err)]
        assert len(shown) > 1 and shown == sorted(shown) and "reading" not in out, (command, err, out)
        for done, percent in re.findall(line, err):
            assert abs(int(percent) - int(done) / 30) <= 0.5, err
        drawn = on_a_terminal(command, path, slow)
        assert len(re.findall(r"\r\x1b\[K" + line, drawn)) > 1, drawn
        assert not re.search(line + r"[^\r]*\n", drawn), drawn


def on_a_terminal(command, path, env):
    """What a command writes to a terminal that has its standard error."""
    mine, theirs = pty.openpty()
    process = subprocess.Popen([TUNDISH, command, str(path)], stdout=subprocess.DEVNULL, stderr=theirs,
                               env={**os.environ, **env, "TERM": "xterm", "COLUMNS": "80"})
    os.close(theirs)
    text = ""
    try:
        while part := os.read(mine, 4096).decode():
            text += part
    except OSError:  # a terminal without a process
        pass
    os.close(mine)
    same(process.wait(30), 0, text)
    return text


main(globals())
