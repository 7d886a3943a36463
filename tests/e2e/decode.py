#!/usr/bin/env python3
"""Operations that decode records of text, on real files: rows and bad rows as TensorFlow's.

Usage: decode.py [NAME...]; without a name it lists them.  Vectors: tests/oracle/csv.
"""
import csv
import gzip
import json
import random
import re
import shutil
import struct
import subprocess
import sys

from named import in_folder, run_named
from run import ROOT, TUNDISH, free_port

ORACLE = ROOT / "tests" / "oracle"
BYTES = "file"  # the column of the source `folder`
DTYPES = {"int32": "i32", "int64": "i64", "float32": "f32", "float64": "f64", "string": "string"}
GRAPH = """tundish: 1
actors:
  read: {{kind: reader, on_error: {on_error}, source: {source}}}
  prep: {{kind: preprocessor, on_error: {on_error}, ops: [{ops}]}}
  batch: {{kind: batcher, size: 3}}
links:
  - read -> prep -> batch
"""


def head(folder, source, ops, on_error="skip"):
    """What `head` says of a graph: its exit code, the columns of all rows, and the errors."""
    path = folder / "graph.yaml"
    path.write_text(GRAPH.format(source=source, ops=ops, on_error=on_error))
    done = subprocess.run([str(TUNDISH), "head", str(path), "--json", "--steps", "1000"],
                          capture_output=True, text=True, cwd=folder, timeout=60,
                          env={"XDG_CACHE_HOME": str(folder / "cache"), "PATH": "/usr/bin"})
    columns = {}
    for step in map(json.loads, done.stdout.splitlines()):
        for name, column in step["columns"].items():
            rows = columns.setdefault(name, [])
            data, splits = column["data"], column.get("splits")
            if splits is None:
                width = len(data) // step["rows"]
                parts = [data[i:i + width] for i in range(0, len(data), width)] if width else []
                if len(column["shape"]) == 1:
                    parts = [part[0] for part in parts]
            else:
                parts = [data[a:b] for a, b in zip(splits, splits[1:])]
            rows.extend(parts)
    return done.returncode, columns, done.stderr


def rounded(dtype, value):
    """A number as its type has it, and NaN as text, so that it equals itself."""
    if dtype == "float32":
        value = struct.unpack("f", struct.pack("f", float(value)))[0]
    return str(float(value)) if dtype.startswith("float") else int(value)


def wanted_rows(expect):
    """The rows before the first error and after it, as TensorFlow has them."""
    more = [row for row in expect.get("after_error", []) if isinstance(row, list)]
    rows = []
    for row in expect.get("elements", []) + more:
        rows.append([list(bytes.fromhex(tensor["data"][0])) if tensor["dtype"] == "string"
                     else rounded(tensor["dtype"], tensor["data"][0]) for tensor in row])
    return rows


def csv_ops(args):
    """The operation of a case, and the types of its columns."""
    fields, dtypes, select = [], [], args["select_cols"]
    for number, spec in enumerate(args["record_defaults"]):
        spec = spec if isinstance(spec, dict) else {"dtype": spec}
        dtypes.append(spec["dtype"])
        words = ["dtype: " + DTYPES[spec["dtype"]]]
        if "value" in spec:
            text = spec["value"]
            words.append("default: " + (bytes.fromhex(text).decode() if spec["dtype"] == "string" else str(text)))
        fields.append("c%d: {%s}" % (number, ", ".join(words)))
    if args["exclude_cols"] is not None:
        select = [i for i in range(len(fields) + len(args["exclude_cols"])) if i not in args["exclude_cols"]]
    words = ["fields: {%s}" % ", ".join(fields), "na: %s" % json.dumps(args["na_value"]),
             "delimiter: %s" % json.dumps(args["field_delim"]),
             "quotes: %s" % str(args["use_quote_delim"]).lower()]
    words += ["select: %s" % select] if select is not None else []
    return "{decode_csv: {%s}}" % ", ".join(words), dtypes


def test_rows_of_csv_are_those_of_tensorflow(folder):
    cases = json.loads((ORACLE / "csv" / "cases.json").read_text())
    assert len(cases) == 39
    for case in cases:
        args, expect, name = case["args"], case["expect"], case["name"]
        (folder / name).mkdir()
        paths = [shutil.copy(ORACLE / "csv" / file, folder / name) for file in case["inputs"]["files"]]
        source = "{csv: {files: %s, header: %s, delimiter: %s, quotes: %s, compression: %s}}" % (
            json.dumps(paths), str(args["header"]).lower(), json.dumps(args["field_delim"]),
            str(args["use_quote_delim"]).lower(), args["compression"].lower() or "none")
        ops, dtypes = csv_ops(args)
        code, columns, errors = head(folder / name, source, ops)
        if "elements" not in expect:
            assert code == 78, (name, code, errors)
            continue
        assert code == 0, (name, code, errors)
        rows = list(zip(*(columns.get("c%d" % number, []) for number in range(len(dtypes)))))
        got = [[value if dtype == "string" else rounded(dtype, value)
                for dtype, value in zip(dtypes, row)] for row in rows]
        assert got == wanted_rows(expect), (name, got, wanted_rows(expect))
        bad = "error" in expect
        code, _, errors = head(folder / name, source, ops, "stop")
        assert (code != 0) == bad, (name, code, errors)
        assert not bad or "`decode_csv`" in errors and "byte" in errors, (name, errors)


def test_many_fields_of_a_table_are_one_column(folder):
    lines = ["%d,%s" % (row % 10, ",".join(str((row * 31 + i * 7) % 256) for i in range(784))) for row in range(20)]
    (folder / "digits.csv").write_text("\n".join(["label,%s" % ",".join("p%d" % i for i in range(784)), *lines]) + "\n")
    source = "{csv: {files: %s, header: true}}" % (folder / "digits.csv")
    code, columns, errors = head(folder, source, "{decode_csv: {fields: {y: u8, x: {dtype: u8, shape: [28, 28]}}}}", "stop")
    assert code == 0 and not errors, errors
    assert columns["y"] == [row % 10 for row in range(20)]
    pixels = [[(row * 31 + i * 7) % 256 for i in range(784)] for row in range(20)]
    assert columns["x"] == pixels
    code, _, errors = head(folder, source, "{decode_csv: {fields: {y: u8, x: {dtype: i8, shape: [784]}}}}", "stop")
    assert code == 1 and "the field `x`[19] is `133`, which is not a number of type i8" in errors, errors
    code, _, errors = head(folder, source, "{decode_csv: {fields: {y: u8, x: {dtype: u8, shape: [783]}}}}", "stop")
    assert code == 1 and "more than 784 fields: `select` says which are read" in errors, errors
    code, _, errors = head(folder, source, "{decode_csv: {fields: {y: u8, x: {dtype: u8, shape: [785]}}}}", "stop")
    assert code == 1 and "no field `x`[784]: it ends before" in errors, errors


TABLE = [(0.5, 2, "cat", "true"), (1.5, 4, "a \"dog\", or not", "No"), (2.5, 6, "cat", "1"), (3.5, 8, "cat", "FALSE")]
CLASSES = """label: {dtype: i64, classes: ['a "dog", or not', cat]}"""


def table_file(folder, name, order, delimiter=","):
    with open(folder / name, "w", newline="") as out:
        writer = csv.writer(out, delimiter=delimiter)
        writer.writerow([("w", "h", "label", "ok")[i] for i in order])
        writer.writerows([[row[i] for i in order] for row in TABLE])
    return folder / name


def test_fields_of_csv_are_found_by_the_names_of_the_header(folder):
    ops = "{decode_csv: {%sfields: {w: f32, h: i16, " + CLASSES + ", ok: bool}}}"
    wanted = {"w": [0.5, 1.5, 2.5, 3.5], "h": [2, 4, 6, 8], "label": [1, 0, 1, 1], "ok": [True, False, True, False]}
    for order, delimiter, options in (((0, 1, 2, 3), ",", ""), ((3, 2, 1, 0), ",", ""), ((1, 3, 0, 2), ";", "delimiter: ';', "),
                                      ((2, 0, 1, 3), "\t", "delimiter: tab, "), ((1, 0, 2, 3), "|", 'delimiter: "|", ')):
        source = "{csv: {%sfiles: %s, header: true}}" % (options, table_file(folder, "t.csv", order, delimiter))
        code, columns, errors = head(folder, source, ops % options, "stop")
        assert code == 0 and columns == wanted and not errors, (order, columns, errors)
    table_file(folder, "t.csv", (1, 0, 2, 3))
    source = "{csv: {files: %s, header: true}}" % (folder / "t.csv")
    wh = [[w, h] for w, h, _, _ in TABLE]
    for fields, x in (("x: {dtype: f32, fields: [w, h]}, label: string", wh),
                      ("label: string, ok: string, x: 'f32[2]'", [[h, w] for w, h in wh]),
                      ("x: {dtype: f32, from: 0, to: 1}", [[h, w] for w, h in wh]),
                      ("x: {dtype: f32, from: h, to: w}, one: {dtype: f64, field: h}", [[h, w] for w, h in wh]),
                      ("x: {dtype: f32, fields: [h, w, w, h], shape: [2, 2]}", [[h, w, w, h] for w, h in wh])):
        code, columns, errors = head(folder, source, "{decode_csv: {fields: {%s}}}" % fields, "stop")
        assert code == 0 and columns["x"] == x, (fields, columns, errors)
    names = "`h`, `w`, `label`, `ok`"
    for fields, message in (("w: f32, z: f32", "the header has no field `z`; it has " + names),
                            ("x: {dtype: f32, fields: [w, W]}", "has no field `W` for column `x`; it has " + names),
                            ("x: {dtype: f32, from: w, to: h}", "`to: h` is before `from: w`"),
                            ("x: {dtype: f32, from: 2, to: 4}", "`to: 4` is not a field; the header has 4"),
                            ("x: {dtype: f32, from: 2}", "`from` and `to` go together"),
                            ("x: {dtype: f32, fields: [w], field: w}", "more than one of `field`, `fields` and `from`"),
                            ("x: {dtype: f32, fields: [w, h], shape: [3]}", "3 elements, and is made of 2 fields"),
                            ("ok: bool, x: 'f32[2]'", "2 are wanted, and the header has 3 others of 4: " + names),
                            ("label: {dtype: f32, classes: [cat]}", "which are integers"),
                            ("label: {dtype: u8, classes: [cat, cat]}", "has `cat` twice")):
        code, _, errors = head(folder, source, "{decode_csv: {fields: {%s}}}" % fields, "stop")
        assert code == 78 and message in errors, (fields, errors)
    code, columns, _ = head(folder, source, "{decode_csv: {by: place, fields: {w: f32, h: f32, l: string, o: bool}}}", "stop")
    assert code == 0 and columns["w"] == [2, 4, 6, 8]
    code, _, errors = head(folder, source, "{decode_csv: {fields: {W: f32, H: f32}}}", "stop")  # by other letters
    assert code == 78 and "the header has no field `W`" in errors, errors
    code, columns, _ = head(folder, source, "{decode_csv: {fields: {a: f32, b: f32, c: string, d: bool}}}", "stop")
    assert code == 0 and columns["a"] == [2, 4, 6, 8]  # as TensorFlow's CsvDataset: none is in the header
    code, _, errors = head(folder, source, "{decode_csv: {by: name, fields: {a: f32}}}", "stop")
    assert code == 78 and "the header has no field `a`" in errors, errors


def test_the_default_of_classes_is_a_class_or_a_number(folder):
    (folder / "t.csv").write_text("label,n\ncat,1\n,2\ndog,3\n")
    source = "{csv: {files: %s, header: true}}" % (folder / "t.csv")
    for dtype, classes, default, wanted in (("i64", "[dog, cat]", "cat", 1), ("i64", "[dog, cat]", "0", 0),
                                            ("i8", "[dog, cat]", "-1", -1), ("u8", "[dog, cat]", "2", 2),
                                            ("i32", "[dog, cat, '0']", "'0'", 2), ("i32", "[dog, cat, '0']", "0", 2)):
        code, columns, errors = head(folder, source, "{decode_csv: {fields: {label: {dtype: %s, classes: %s, default: %s}}}}" %
                                     (dtype, classes, default), "stop")
        assert code == 0 and columns["label"] == [1, wanted, 0], (dtype, classes, default, columns, errors)
    none = ": neither one of its 2 classes (dog, cat) nor a number from -1 to 2"
    for dtype, default, message in (("i64", "3", "is `3`" + none), ("i64", "-2", "is `-2`" + none), ("u8", "-1", "-1"),
                                    ("i64", "Cat", "is `Cat`" + none), ("i64", "0.0", "is `0.0`" + none)):
        code, _, errors = head(folder, source, "{decode_csv: {fields: {label: {dtype: %s, classes: [dog, cat], default: %s}}}}" %
                               (dtype, default), "stop")
        assert code == 78 and message in errors, (dtype, default, errors)


def test_headers_that_differ_never_mix_columns(folder):
    table_file(folder, "a.csv", (0, 1, 2, 3))
    table_file(folder, "b.csv", (1, 0, 2, 3))
    source = "{csv: {files: ['%s', '%s'], header: true}}" % (folder / "a.csv", folder / "b.csv")
    for _ in range(2):  # the second time by the indexes
        code, _, errors = head(folder, source, "{decode_csv: {fields: {w: f32}}}", "stop")
        assert code == 78 and "a.csv and " in errors and "b.csv have different headers" in errors, errors
    code, _, errors = head(folder, source, "{decode_csv: {fields: {one: f32}}}", "stop")  # none is in a header
    assert code == 78 and "b.csv have different headers" in errors, errors
    (folder / "a.csv").write_text("a,b\n1,2\n")
    (folder / "b.csv").write_bytes(b'\xef\xbb\xbf"a","b"\n3,4\n')  # the same names
    code, columns, errors = head(folder, source, "{decode_csv: {fields: {b: i8}}}", "stop")
    assert code == 0 and columns["b"] == [2, 4], (columns, errors)
    (folder / "a.csv").write_text("a,a,b\n1,2,3\n")
    source = "{csv: {files: %s, header: true}}" % (folder / "a.csv")
    code, _, errors = head(folder, source, "{decode_csv: {fields: {a: i8, b: i8}}}", "stop")
    assert code == 78 and "several fields `a`" in errors, errors
    (folder / "a.csv").write_text("a,b,c\n1,2,3\n1,2\n1,2,3,4\n5,6,7\n")
    code, columns, errors = head(folder, source, "{decode_csv: {fields: {b: i8}}}")
    assert code == 0 and columns["b"] == [2, 6] and errors.count("is bad") == 2, (columns, errors)
    assert "the record has 2 fields, but the header 3" in errors and "more than 3 fields, which the header has" in errors, errors
    code, _, errors = head(folder, "{csv: {files: %s}}" % (folder / "a.csv"), "{decode_csv: {fields: {x: {dtype: i8, fields: [a]}}}}")
    assert code == 78 and "need the names of a header: `header: true`" in errors, errors


def test_many_hosts_find_the_same_fields(folder):
    """Workers on a host without the files get the names from the leader."""
    digests = set()
    for order in ((0, 1, 2, 3), (3, 2, 1, 0)):
        source = "{csv: {files: %s, header: true}}" % table_file(folder, "t.csv", order)
        ops = "{decode_csv: {fields: {w: f32, h: i16, %s}}}" % CLASSES
        graph = GRAPH.format(source=source, ops=ops, on_error="stop").replace(
            "size: 3}", "size: 3}\n  feed: {kind: feeder}").replace("prep -> batch", "prep -> batch -> feed")
        (folder / "graph.yaml").write_text(graph)
        (folder / "two.yaml").write_text(f"port: {free_port()}\nhosts:\n  a: {{address: 127.0.0.1, actors: [read, batch, feed]}}\n"
                                         "  b: {address: 127.0.0.1, actors: [prep], workers: {prep: 2}}\n")
        for words in (["run", "graph.yaml"], ["up", "graph.yaml", "two.yaml"]):
            done = subprocess.run([str(TUNDISH), *words], capture_output=True, text=True, cwd=folder, timeout=60)
            text = done.stdout + done.stderr
            assert done.returncode == 0, text
            digests.add(re.search("stream ([0-9a-f]{32})", text)[1])
    assert len(digests) == 1, digests


def test_texts_that_are_almost_numbers(folder):
    (folder / "n.csv").write_text("a,b,c\n1.0,NA,\n-2e3,?,yes\n3.5,x,no\n9007199254740993.0,,\n")
    source = "{csv: {files: %s, header: true}}" % (folder / "n.csv")
    code, _, errors = head(folder, source, "{decode_csv: {fields: {a: i32}}}", "stop")
    assert code == 1 and "`1.0`, which is not a number of type i32; `integers: decimal` reads" in errors, errors
    code, columns, errors = head(folder, source, "{decode_csv: {integers: decimal, fields: {a: i64}}}")
    assert columns["a"] == [1, -2000] and "`3.5`" in errors and "`9007199254740993.0`" in errors, (columns, errors)
    code, columns, errors = head(folder, source, "{decode_csv: {integers: decimal, fields: {a: u8}}}")
    assert columns["a"] == [1] and "`-2e3`, which is not a number of type u8" in errors, (columns, errors)
    code, _, errors = head(folder, source, "{decode_csv: {fields: {b: f32}}}", "stop")
    assert code == 1 and "`NA`, which is not a number of type f32; `na` lists the texts" in errors, errors
    na = "na: [NA, '?', x], "
    code, _, errors = head(folder, source, "{decode_csv: {%sfields: {b: f32}}}" % na, "stop")
    assert code == 1 and "the field `b` is empty and has no default" in errors, errors
    code, columns, errors = head(folder, source, "{decode_csv: {%sfields: {b: {dtype: f32, default: nan}, c: {dtype: bool, "
                                 "default: true}}}}" % na, "stop")
    assert code == 0 and [str(b).lower() for b in columns["b"]] == ["nan"] * 4, (columns, errors)
    assert columns["c"] == [True, True, False, True]
    code, columns, errors = head(folder, source, "{decode_csv: {fields: {b: {dtype: string, default: ''}}}}", "stop")
    assert code == 0 and columns["b"] == [list(b"NA"), list(b"?"), list(b"x"), []], (columns, errors)
    (folder / "b.csv").write_text("c\ntRUE\n")
    code, _, errors = head(folder, "{csv: {files: %s, header: true}}" % (folder / "b.csv"), "{decode_csv: {fields: {c: bool}}}", "stop")
    assert code == 1 and "the field `c` is `tRUE`, not true, false, yes, no, 1 or 0" in errors, errors


def npy(descr, shape, data):
    """The bytes of a .npy file."""
    text = "{'descr': '%s', 'fortran_order': False, 'shape': %s, }" % (descr, shape)
    text += " " * (63 - (10 + len(text)) % 64) + "\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text.encode() + data


def test_arrays_of_npy_files_become_rows(folder):
    good = [npy("<i2", (2, 2), struct.pack("<4h", 1, -2, 3, 40 + i)) for i in range(3)]
    bad = [b"", b"junk", good[0][:-1], good[0] + b"x", good[0][:20], npy("<i2", (4,), bytes(8)),
           npy("<i4", (2, 2), bytes(16)), npy("<i2", (2, 2**40), bytes(8))]
    (folder / "data").mkdir()
    for i, data in enumerate(good + bad):
        (folder / "data" / ("%02d.npy" % i)).write_bytes(data)
    source = "{folder: {files: %s}}" % json.dumps(str(folder / "data" / "*.npy"))
    code, columns, errors = head(folder, source, "{decode_npy: {column: %s, dtype: i16, shape: [2, 2]}}" % BYTES)
    assert code == 0 and columns[BYTES] == [[1, -2, 3, 40], [1, -2, 3, 41], [1, -2, 3, 42]], (columns, errors)
    ops = "{decode_npy: {column: %s, to: x, dtype: i16, ragged: true, max: 3}}" % BYTES
    code, columns, errors = head(folder, source, ops)
    assert code == 0 and columns.get("x", []) == [], (columns, errors)
    (folder / "data" / "99.npy").write_bytes(npy("<i2", (3,), struct.pack("<3h", 7, 8, 9)))
    (folder / "data" / "98.npy").write_bytes(npy("<i2", (0,), b""))
    code, columns, errors = head(folder, source, ops)
    assert code == 0 and columns["x"] == [[], [7, 8, 9]], (columns, errors)



def line_source(folder, lines):
    (folder / "x.jsonl").write_bytes(b"".join(line + b"\n" for line in lines))
    return "{text: {files: %s}}" % (folder / "x.jsonl")


JSON_OPS = ("{decode_json: {column: line, fields: {text: string, label: {path: a.b, dtype: i64}, weight: f64, "
            "small: {path: list.1, dtype: f32}, list: {dtype: f64, ragged: true}, "
            "box: {dtype: i16, shape: [2, 2], default: -1}}}}")


def test_values_of_json_are_those_of_python(folder):
    draw = random.Random(7)
    rows = [{"box": [[draw.randint(-2**15, 2**15 - 1) for _ in range(2)] for _ in range(2)] if i % 3 else None,
             "other": {"text": [None, {}], "a": {"b": "c"}},
             "text": "".join(draw.choice("aé漢😀\"\\/\n\t\u0001 ") for _ in range(i % 9)),
             "a": {"b": draw.randint(-2**63, 2**63 - 1)},
             "weight": draw.choice([draw.random() * 10.0**draw.randint(-300, 300), draw.randint(-2**53, 2**53)]),
             "list": [draw.uniform(-9, 9) for _ in range(2 + i % 5)]} for i in range(100)]
    lines = [json.dumps(row, ensure_ascii=bool(i % 2), indent=None if i % 4 else 0).replace("\n", " ")
             for i, row in enumerate(rows)]
    code, columns, errors = head(folder, line_source(folder, [line.encode() for line in lines]), JSON_OPS)
    assert code == 0, errors
    wanted = [json.loads(line) for line in lines]
    assert columns["text"] == [list(row["text"].encode()) for row in wanted]
    assert [int(label) for label in columns["label"]] == [row["a"]["b"] for row in wanted]
    assert columns["weight"] == [float(row["weight"]) for row in wanted]
    assert columns["list"] == [row["list"] for row in wanted]
    got = [rounded("float32", value) for value in columns["small"]]
    assert got == [rounded("float32", row["list"][1]) for row in wanted]
    assert columns["box"] == [sum(row["box"], []) if row["box"] else [-1] * 4 for row in wanted]


BAD_JSON = (  # a document, and what the message says; a number: near which byte
    (b"", 0), (b"{", 1), (b'{"n": 1,}', 9), (b'{"n": 1} x', 10), (b'{"n": 01}', 7), (b"{'n': 1}", 2), (b"1", 1),
    (b'{"n": NaN}', "NaN is not a number of JSON"), (b'{"n": "\xff"}', "not UTF-8"), (b'{"n": 1, "n": 1}', "the same key twice"),
    (b"[" * 5000 + b"]" * 5000, "2048 levels"), (b'{"n": 9223372036854775808}', "beyond i64"),
    (b'{"m": 1}', "`n` (`n`) is missing"), (b'{"n": null}', "`n` (`n`) is missing"), (b"[1]", "`n` (`n`) is missing"),
    (b'{"n": 70000}', "has 70000, which is not a number of type i16"), (b'{"n": 1.5}', "has 1.5, which"),
    (b'{"n": [1]}', "has a list, which"), (b'{"n": "1"}', "has a string, which"),
)


def test_numbers_that_are_not_finite_by_option(folder):
    rows = [{"s": 'NaN "-Infinity\\', "x": [x, 1.5]} for x in (float("nan"), float("inf"), -float("inf"), 2.0)]
    lines = [json.dumps(row).encode() for row in rows]
    ops = "{decode_json: {column: line, fields: {s: string, x: {dtype: f32, shape: [2]}}%s}}"
    code, columns, errors = head(folder, line_source(folder, lines), ops % ", allow_nan: true")
    assert code == 0, errors
    assert [str(row) for row in columns["x"]] == ["['nan', 1.5]", "['inf', 1.5]", "['-inf', 1.5]", "[2, 1.5]"] or (
        [repr(list(map(float, row))) for row in columns["x"]] ==
        ["[nan, 1.5]", "[inf, 1.5]", "[-inf, 1.5]", "[2.0, 1.5]"]), columns["x"]
    assert columns["s"] == [list(row["s"].encode()) for row in rows]
    assert len(head(folder, line_source(folder, lines), ops % "")[1]["x"]) == 1
    for line, fields in ((b'{"n": NaN}', "n: i32"), (b'{"n": NaN}', "n: string"), (b'{"n": NaNs}', "n: f32"),
                         (b'{"n": "NaN"}', "n: f32"), (b'{"n": +Infinity}', "n: f32"), (b"{NaN: 1}", "n: f32")):
        ops_of = "{decode_json: {column: line, allow_nan: true, fields: {%s}}}" % fields
        code, _, errors = head(folder, line_source(folder, [line]), ops_of, "stop")
        assert code == 1 and "decode_json" in errors, (line, fields, errors)


def test_a_byte_order_mark_is_named_and_removed_by_option(folder):
    mark = b"\xef\xbb\xbf"
    named = "begins with a byte order mark (bytes EF BB BF)"
    (folder / "x.csv").write_bytes(mark + b'"1",0.5\r\n2,1.5\r\n')
    ops = "{decode_csv: {fields: {id: %s, x: f32}}}"
    source = "{csv: {files: %s%s}}" % (folder / "x.csv", "%s")
    code, columns, errors = head(folder, source % "", ops % "string")
    assert code == 0 and columns["id"] == [[50]] and named in errors, (columns, errors)
    assert "record 0" in errors and "has a quote in it" in errors, errors
    (folder / "plain.csv").write_bytes(mark + b"1,0.5\r\n2,1.5\r\n")
    plain = "{csv: {files: %s}}" % (folder / "plain.csv")
    code, columns, errors = head(folder, plain, ops % "string")
    assert code == 0 and columns["id"] == [list(mark + b"1"), [50]] and named in errors, (columns, errors)
    code, _, errors = head(folder, plain, ops % "i32", "stop")
    assert code == 1 and errors.count(named) == 2 and "`bom: remove` of the source" in errors, errors
    for _ in range(2):  # the second time by the index
        code, columns, errors = head(folder, source % ", bom: remove", ops % "i32", "stop")
        assert code == 0 and columns == {"id": [1, 2], "x": [0.5, 1.5]} and not errors, (columns, errors)
    code, columns, errors = head(folder, source % ", header: true", ops % "i32", "stop")
    assert code == 0 and columns["id"] == [2] and not errors, (columns, errors)
    (folder / "x.csv.gz").write_bytes(gzip.compress(mark + b"1,0.5\n"))
    packed = "{csv: {files: %s%s}}" % (folder / "x.csv.gz", "%s")
    assert named in head(folder, packed % "", ops % "string")[2]
    assert head(folder, packed % ", bom: remove", ops % "i32", "stop")[1]["id"] == [1]
    (folder / "x.jsonl").write_bytes(mark + b'{"n": 1}\n{"n": 2}\n')
    text = "{text: {files: %s%s}}" % (folder / "x.jsonl", "%s")
    json_ops = "{decode_json: {column: line, fields: {n: i32}%s}}"
    code, _, errors = head(folder, text % "", json_ops % "", "stop")
    assert code == 1 and "not JSON: it " + named in errors, errors
    assert head(folder, text % ", bom: remove", json_ops % "", "stop")[1]["n"] == [1, 2]
    assert head(folder, text % "", json_ops % ", bom: remove", "stop")[1]["n"] == [1, 2]
    for name, pack in (("wide.csv", bytes), ("wide.txt.gz", gzip.compress)):
        for order in ("utf-16-le", "utf-16-be"):  # TensorFlow reads its bytes too
            (folder / name).write_bytes(pack("\ufeff1,2\n3,4\n".encode(order)))
            for kind in ("csv", "text"):
                errors = head(folder, "{%s: {files: %s, bom: remove}}" % (kind, folder / name), "")[2]
                assert f"{name}: begins as text of UTF-16 does" in errors and "iconv" in errors, errors
    (folder / "x.jsonl").write_bytes(mark)
    assert "no rows" in head(folder, text % ", bom: remove", json_ops % "", "stop")[2]


def test_bad_json_is_a_bad_row(folder):
    ops = "{decode_json: {column: line, fields: {n: i16}}}"
    lines = [b'{"n": 1}'] + [line for line, _ in BAD_JSON] + [b'{"n": 2}']
    code, columns, errors = head(folder, line_source(folder, lines), ops)
    assert code == 0 and columns["n"] == [1, 2], (columns, errors)
    code, columns, errors = head(folder, line_source(folder, lines), ops, "quarantine")
    assert code == 0 and columns["n"] == [1, 2], (columns, errors)
    for line, message in BAD_JSON:
        code, _, errors = head(folder, line_source(folder, [b'{"n": 1}', line]), ops, "stop")
        message = "near byte %d of the record" % message if isinstance(message, int) else message
        assert code == 1 and message in errors and "`decode_json`" in errors and "x.jsonl" in errors, (line, errors)


if __name__ == "__main__":
    sys.exit(run_named(globals(), sys.argv[1:], in_folder))
