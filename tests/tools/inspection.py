#!/usr/bin/env python3
"""`tundish inspect`: what it says of data files, and that its lines read them."""
import gzip
import io
import json
import struct
import sys
import tarfile

import numpy

from command import ROOT, holds, main, run, same

sys.path.insert(0, str(ROOT / "tests" / "support"))
from tfrecord import framed  # noqa: E402

ORACLE = ROOT / "tests" / "oracle" / "tfrecord"


def inspect(folder, *words, expect=0):
    env = {"XDG_CACHE_HOME": str(folder / "cache")}
    code, out, err = run("inspect", *words, "--json", env=env)
    same(code, expect, err)
    code, text, err = run("inspect", *words, env=env)
    same((code, err), (expect, ""))
    return json.loads(out)["inputs"], text


def field(number, payload):
    """A field of bytes, of less than 2^14, as protocol buffers write it."""
    size = len(payload)
    return bytes([number << 3 | 2] + ([size] if size < 128 else [size & 127 | 128, size >> 7])) + payload


def example(label, words, weights=()):
    """A tf.Example with `label`, an int64, `word`, some bytes, and `weight`, some floats."""
    def entry(key, kind, values):
        return field(1, field(1, key) + field(2, field(kind, values)))
    features = entry(b"label", 3, field(1, bytes([label])))
    features += entry(b"word", 1, b"".join(field(1, word) for word in words))
    if weights:
        features += entry(b"weight", 2, field(1, struct.pack(f"<{len(weights)}f", *weights)))
    return field(1, features)


def head(folder, lines, links="read -> batch"):
    """The rows that the lines of a reader give."""
    (folder / "graph.yaml").write_text(
        "tundish: 1\nactors:\n" + lines + "  batch: {kind: batcher, size: 1000}\n"
        f"links:\n  - {links}\n")
    code, out, err = run("head", folder / "graph.yaml", "--json",
                         env={"XDG_CACHE_HOME": str(folder / "cache")})
    same(code, 0, err)
    return json.loads(out)


def test_sizes_and_keys_of_examples(folder):
    records = [example(i % 5, [b"w" * (i % 7)] * (i % 3)) for i in range(250)]
    records[3] = example(1, [], [1.5, 2.5])
    for part in range(2):
        (folder / f"part-{part}.tfrecord").write_bytes(
            b"".join(map(framed, records[part * 125:part * 125 + 125])))
    (found,), text = inspect(folder, folder / "part-0.tfrecord", folder / "part-1.tfrecord")
    sizes = [len(record) for record in records]
    same(found["bytes"], {"min": min(sizes), "mean": numpy.mean(sizes), "max": max(sizes),
                          "p99": int(numpy.percentile(sizes, 99, method="inverted_cdf"))})
    same((found["format"], found["compression"], found["records"], found["damaged"]),
         ("tfrecord", None, 250, 0))
    same([one["records"] for one in found["files"]], [125, 125])
    same(found["keys"], [
        {"name": "label", "type": "int64", "list": False, "records": 250, "values": [1, 1]},
        {"name": "word", "type": "bytes", "list": False, "records": 250, "values": [0, 2],
         "bytes": [0, 6]},
        {"name": "weight", "type": "float", "list": False, "records": 1, "values": [2, 2]}])
    holds(text, "records      250", "250 tf.Example messages", "label", "in 1 of them", "part-[0-1]")
    same(head(folder, found["topology"])["rows"], 250)
    operation = ("parse_example: {column: record, features: {label: i64, "
                 "word: {dtype: bytes, ragged: true}, weight: {dtype: f32, ragged: true}}}")
    same(found["operation"], operation)
    rows = head(folder, found["topology"] + f"  prep: {{kind: preprocessor, ops: [{{{operation}}}]}}\n",
                "read -> prep -> batch")
    same(rows["columns"]["label"]["data"], [i % 5 if i != 3 else 1 for i in range(250)])
    same(rows["columns"]["weight"]["data"], [1.5, 2.5])
    out = run("new", folder / "part-0.tfrecord", folder / "part-1.tfrecord")[1]
    holds(out, "# 250 rows of record u8", f"\n      - {operation}\n", 'files: "${data}/part-[0-1].tfrecord"')


def feature(kind, *values):
    """A Feature of bytes, floats or integers below 128."""
    if kind == 1:
        return field(1, b"".join(field(1, value) for value in values))
    return field(kind, field(1, struct.pack(f"<{len(values)}f", *values) if kind == 2 else bytes(values)))


def features(**all_features):
    return b"".join(field(1, field(1, key.encode()) + field(2, value)) for key, value in all_features.items())


def proposed(folder, records, name="a.tfrecord"):
    """What `new` proposes for records, taken by removing its comment, and what it then feeds."""
    (folder / name).write_bytes(b"".join(map(framed, records)))
    env = {"XDG_CACHE_HOME": str(folder / "cache")}
    code, text, err = run("new", folder / name, env=env)
    same((code, err), (0, ""))
    (folder / "made.yaml").write_text(text.replace("# - parse_", "- parse_").replace("shuffle: global", "shuffle: none"))
    code, out, err = run("run", folder / "made.yaml", env=env)
    same((code, err), (0, ""), text)
    holds(out, f"{len(records)} rows")
    code, out, err = run("head", folder / "made.yaml", "--json", "--steps", "1", env=env)
    same(code, 0, err)
    return text, json.loads(out)["columns"]


def test_an_operation_fits_all_records(folder):
    """The first 120 are alike; later ones lack a key, have other lengths, or another type."""
    def record(**others):
        made = {"label": feature(3, 1), "text": feature(1, b"ab"), "x": feature(2, 1.0, 2.0),
                "kind": feature(3, 7), "words": feature(1, b"a", b"bc"), "a/b": feature(3, 4), "a_b": feature(3, 5)}
        return field(1, features(**{key: value for key, value in {**made, **others}.items() if value is not None}))
    late = [record(label=None, text=None), record(x=feature(2, 1.0)), record(kind=feature(2, 1.0)),
            record(words=feature(1), text=b""), record(late=feature(3, 1, 2))]
    text, columns = proposed(folder, [record()] * 120 + late)
    holds(text, "parse_example: {column: record, features: {label: {dtype: i64, ragged: true}, "
          'text: {dtype: bytes, default: ""}, x: {dtype: f32, ragged: true}, '
          'words: {dtype: bytes, ragged: true}, a_b: {key: "a/b", dtype: i64}, a_b_2: {key: "a_b", dtype: i64}, '
          "late: {dtype: i64, ragged: true}}}",
          "# without columns for these: `kind` has several types", "# as all records are: see tundish help parse_example")
    same((columns["a_b"]["data"][0], columns["a_b_2"]["data"][0]), (4, 5))
    found, text = inspect(folder, folder / "a.tfrecord")
    same((found[0]["message"], found[0]["examples"]), ("tf.Example", 125))
    holds(text, "of 125 tf.Example messages:", "without      `kind` has several types")


def test_a_sequence_example_is_named(folder):
    def record(steps, **context):
        lists = field(1, field(1, b"frame") + field(2, b"".join(field(1, feature(3, i, i)) for i in range(steps))))
        return field(1, features(**context)) + field(2, lists if steps != 3 else b"")
    records = [record(1 + i % 4, id=feature(3, i)) for i in range(20)]
    text, columns = proposed(folder, records)
    holds(text, "parse_sequence_example: {column: record, context: {id: i64}, "
          "sequence: {frame: {dtype: i64, shape: [2], missing: true}}}", "see tundish help parse_sequence_example")
    same(columns["id"]["data"][:2], [0, 1])
    found, text = inspect(folder, folder / "a.tfrecord")
    same(found[0]["message"], "tf.SequenceExample")
    holds(text, "of 20 tf.SequenceExample messages:")


def test_damage_is_named_by_record_and_byte(folder):
    for name, places in (("undamaged", []), ("flip_length_byte", [(2, 35, "of its length")]),
                         ("flip_data_crc", [(2, 35, "of its data")]),
                         ("flip_first_record_data", [(0, 0, "of its data")]),
                         ("trunc_body", [(2, 35, "only 9 bytes do")])):
        path = ORACLE / f"{name}.tfrecord"
        (found,), text = inspect(folder, path, expect=1 if places else 0)
        same([(one["file"], one["record"], one["byte"]) for one in found["damage"]],
             [(str(path), record, byte) for record, byte, _ in places])
        same(found["damaged"], len(places))
        for record, byte, why in places:
            holds(text, f"record {record} of {path}, at byte {byte}: ", why, "on_error: skip")
            same(head(folder, found["topology"])["rows"], found["records"] - len(places))
        assert places or "damage       none" in text


def test_bytes_of_a_head_at_the_end_are_damage(folder):
    path = ORACLE / "trailing_few_bytes.tfrecord"
    case = next(case for case in json.loads((ORACLE / "cases.json").read_text())
                if case["name"] == "trailing_few_bytes")
    end = sum(record["length"] + 16 for record in case["expect"]["records"])
    (found,), text = inspect(folder, path, expect=1)
    same([one["byte"] for one in found["damage"]], [end])
    holds(text, f"only {path.stat().st_size - end} bytes of its head of 12 are left")


def test_compressed_records(folder):
    """As TensorFlow's: the records before the damage, and their sizes."""
    cases = {}
    for case in json.loads((ORACLE / "cases.json").read_text()):
        if case["op"] == "read" and case["args"]["compression"]:
            cases.setdefault(case["inputs"]["files"][0].split(".")[0], case)
    for name, damaged in (("gzip", 0), ("zlib", 0), ("gzip_two_members", 0), ("gzip_truncated", 1),
                          ("zlib_truncated", 1), ("gzip_inner_trunc_header", 1)):
        (found,), text = inspect(folder, ORACLE / f"{name}.tfrecord", expect=damaged)
        sizes = [record["length"] for record in cases[name]["expect"]["records"]]
        same((found["compression"], found["damaged"], found["records"] - damaged),
             (name[:4], damaged, len(sizes)), name)
        same((found["bytes"]["min"], found["bytes"]["max"]), (min(sizes), max(sizes)), name)
        holds(text, f"compressed by {name[:4]}")
    (folder / "a.csv.gz").write_bytes(gzip.compress(b"1,2\n" * 9))
    (found,), _ = inspect(folder, folder / "a.csv.gz")
    same((found["format"], found["records"], head(folder, found["topology"])["rows"]), ("csv", 9, 9))


def test_samples_of_archives(folder):
    path = folder / "a.tar"
    with tarfile.open(path, "w") as out:
        for number in range(12):
            for name, data in ((f"{number:03}.bin", bytes(number)), (f"{number:03}.cls", b"7")):
                info = tarfile.TarInfo(name)
                info.size = len(data)
                out.addfile(info, io.BytesIO(data))
    (found,), _ = inspect(folder, path)
    same((found["format"], found["records"], [one["name"] for one in found["columns"]]),
         ("tar", 12, ["bin", "cls"]))
    same(found["bytes"], {"min": 1, "mean": 6.5, "p99": 12, "max": 12})
    same(head(folder, found["topology"])["rows"], 12)
    holds(run("new", path)[1], "# 12 rows of bin u8[<=11], cls u8[<=1]", 'files: "${data}/a.tar"')


def test_text_arrays_and_raw_records(folder):
    (folder / "a.csv").write_text('x,"y\nz"\n1,2\n')
    numpy.save(folder / "x.npy", numpy.zeros((20, 3), "f4"))
    (folder / "r.bin").write_bytes(bytes(40))
    (csv, npy), text = inspect(folder, folder / "a.csv", folder / "x.npy")
    same((csv["format"], csv["records"], csv["bytes"]["max"], csv["examples"]), ("csv", 2, 7, 0))
    same((npy["records"], npy["bytes"], npy["columns"]),
         (20, {"min": 12, "mean": 12, "p99": 12, "max": 12},
          [{"name": "x", "dtype": "f32", "shape": [3], "ragged": False}]))
    holds(text, 'x,"y z"')
    same(head(folder, npy["topology"])["columns"]["x"]["data"], [0] * 60)
    (raw,), _ = inspect(folder, folder / "r.bin", "--as", "raw: {columns: {x: 'u8[4]'}}")
    same((raw["records"], raw["bytes"]["mean"]), (10, 4))
    same(head(folder, raw["topology"])["rows"], 10)
    (csv,), _ = inspect(folder, folder / "a.csv", "--as", "csv: {quotes: false, header: true}")
    same(head(folder, csv["topology"])["rows"], csv["records"])
    same(csv["records"], 2)


def test_what_cannot_be_read_is_named(folder):
    (folder / "empty").write_bytes(b"")
    (folder / "odd").write_bytes(bytes(range(40)))
    for name, why in (("none", "No such file"), ("empty", "empty"), ("odd", "unknown format")):
        code, out, err = run("inspect", folder / name)
        same((code, out), (78, ""), name)
        holds(err, name, why)
    same(run("inspect")[0], 2)


def test_a_stray_quote_is_named(folder):
    """A field of 100 lines may be a text; one that never closes is a mistake however short it is."""
    path = folder / "a.csv"
    for text, words in (('1,2\n"3,4\n5,6\n', ":2: a quote opens a field here and never closes: all 2 lines"),
                        ('1,2\n"3' + "\n" * 100 + '",6\n', ":2: a quote opens a field here that spans 101 lines"),
                        ('1,2\n"3' + "\n" * 99 + '",6\n', None)):
        path.write_text(text)
        code, out, err = run("inspect", path)
        same((code, err), (0, ""))
        notes = json.loads(run("inspect", path, "--json")[1])["inputs"][0]["notes"]
        if words is None:
            assert "quote" not in out and notes == [], (out, notes)
        else:
            holds(out, f"  quotes       {path}{words}")
            holds(notes[0], f"{path}{words}")


def test_the_first_lines_are_shown_as_they_are(folder):
    path = folder / "names.csv"
    path.write_bytes("größe,stadt\n1,Köln\n2,Łódź\n3,Paris\n".encode())
    _, out, _ = run("inspect", path)
    holds(out, "begins       größe,stadt\n               1,Köln\n               2,Łódź\n")
    path.write_bytes(b"a\xffb\n\nc\xfed\nlast\n")
    _, out, _ = run("inspect", path)
    holds(out, "begins       a?b\n               \n               c?d\n")
    path.write_text("\x1b[31mred\x07\n\u65e5\u672c \u0639 \U0001f469\n\u202eab\u2066\u2028\n")
    _, out, _ = run("inspect", path)
    holds(out, "begins       ?[31mred?\n               \u65e5\u672c \u0639 \U0001f469\n"
          "               ???ab??????\n")
    assert "last" not in out, out


def zstd(data):
    """Less than 256 bytes in a zstd frame with one raw block (RFC 8878)."""
    return b"\x28\xb5\x2f\xfd\x20" + bytes([len(data)]) + (1 | len(data) << 3).to_bytes(3, "little") + data


def test_formats_that_are_not_read_are_named_with_the_next_step(folder):
    for name, head, wanted in (("a.webp", b"RIFF\x1e\0\0\0WEBPVP8L", "a WebP picture: convert it to PNG or JPEG"),
                               ("a.gif", b"GIF89a\1\0\1\0", "a GIF picture: convert it to PNG"),
                               ("a.tif", b"II*\0\x08\0\0\0", "a TIFF picture: convert it to PNG"),
                               ("a.wav", b"RIFF\x24\0\0\0WAVEfmt ", "WAV sound: np.save its samples"),
                               ("a.mp4", b"\0\0\0\x18ftypmp42", "an MP4 video"),
                               ("a.txt", "text".encode("utf-16"), "text of UTF-16"),
                               ("a.bmp", b"BM\x4e\0\0\0\0\0\0\0\x36\0\0\0\x28\0", "a BMP picture: convert it to PNG"),
                               ("a.psd", b"8BPS\0\1" + bytes(6), "a Photoshop picture: convert it to PNG"),
                               ("a.jp2", b"\0\0\0\x0cjP  \r\n\x87\n", "a JPEG 2000 picture"),
                               ("a.dcm", bytes(128) + b"DICM\2\0", "a DICOM picture: np.save its pixels"),
                               ("a.nii", (348).to_bytes(4, "little") + bytes(344), "a NIfTI volume"),
                               ("a.nc", b"CDF\1\0\0\0\0", "netCDF: np.save each of its variables"),
                               ("a.avro", b"Obj\1\2\x16", "Avro: np.save each of its fields"),
                               ("data.mdb", bytes(16) + (0xBEEFC0DE).to_bytes(4, "little") + bytes(8), "an LMDB database"),
                               ("a.rec", (0xCED7230A).to_bytes(4, "little") + bytes(8), "MXNet RecordIO"),
                               ("a.parquet", b"PAR1\x15\0", "Parquet: np.save each of its columns")):
        (folder / name).write_bytes(head)
        code, _, err = run("inspect", folder / name)
        same(code, 78, name)
        holds(err, f"it is {wanted}")
    for name, head, wanted in (("a.npy.zst", b"\x28\xb5\x2f\xfd\x04", "damaged: it begins as a zstd file"),
                               ("a.npy.gz", b"\x1f\x8b\0\0", "damaged: it begins as a gzip file")):
        (folder / name).write_bytes(head)
        holds(run("inspect", folder / name)[2], wanted)
    numpy.save(folder / "x.npy", numpy.zeros(3))  # 152 bytes
    (folder / "x.npy.zst").write_bytes(zstd((folder / "x.npy").read_bytes()))
    holds(run("inspect", folder / "x.npy.zst")[2], "a .npy compressed by zstd: unpack it with unzstd")
    (folder / "x.npy.gz").write_bytes(gzip.compress((folder / "x.npy").read_bytes()))
    holds(run("inspect", folder / "x.npy.gz")[2], "a .npy compressed by gzip: unpack it with gunzip")


main(globals())
