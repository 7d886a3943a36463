#!/usr/bin/env python3
"""`tundish head` against NumPy reading the same files."""
import gzip
import io
import json
import os
import signal
import struct
import subprocess
import sys
import zlib

import numpy

from command import BUILD, FED, FEED, ROOT, TUNDISH, arrays, free_port, holds, main, run, same, topology

sys.path.insert(0, str(ROOT / "tests" / "oracle"))
from permute import permutation  # noqa: E402

FLOATS = {"f16": "f2", "f32": "f4", "f64": "f8"}
WORDS = {"nan": numpy.nan, "inf": numpy.inf, "-inf": -numpy.inf}


def lines(*words):
    code, out, err = run("head", *words, "--json", timeout=20)
    same(code, 0, err)
    assert "error" not in err, err
    return [json.loads(line) for line in out.splitlines()]


def array(column):
    """The array that a column of the JSON represents."""
    dtype = column["dtype"]
    kind = FLOATS.get(dtype, "?" if dtype == "bool" else dtype[0] + str(int(dtype[1:]) // 8))
    data = [WORDS.get(value, value) if isinstance(value, str) and value in WORDS else
            int(value) if isinstance(value, str) else value for value in column["data"]]
    return numpy.array(data, dtype=kind).reshape(column["shape"])


def equal(got, wanted, what):
    same((got.dtype, got.shape), (wanted.dtype, wanted.shape), what)
    assert got.tobytes() == wanted.tobytes(), f"{what}: {got} is not {wanted}"


def test_batches_are_the_rows_in_order(folder):
    made = arrays(folder)
    told = lines(topology(folder), "--steps", "9")
    same([(line["step"], line["replica"], line["rows"], line["last"]) for line in told],
         [(0, 0, 32, False), (1, 0, 32, False), (2, 0, 32, False), (3, 0, 4, True)])
    for name, wanted in made.items():
        equal(numpy.concatenate([array(line["columns"][name]) for line in told]), wanted, name)


def test_an_operation_that_crashes_is_named(folder):
    numpy.save(folder / "n.npy", numpy.arange(100, dtype="u8"))
    path = topology(folder, columns="n", links=["read -> prep -> batch"],
                    actors="  prep: {kind: preprocessor, ops: [{plugin: fatal, kill: 20}]}\n")
    code, _, err = run("head", path, env={"TUNDISH_PLUGIN_PATH": str(BUILD / "tests")})
    same(code, -signal.SIGSEGV)
    holds(err, "tundish: SIGSEGV in preprocessor `prep", ", operation 1, `fatal`, ")


def test_rows_that_a_full_disk_loses_are_an_error(folder):
    arrays(folder)
    if not os.path.exists("/dev/full"):
        return
    with open("/dev/full", "w", encoding="utf-8") as full:
        code, _, err = run("head", topology(folder), "--json", stdout=full)
    same(code, 1)
    holds(err, "cannot write to stdout")


def test_one_step_is_what_is_shown_by_default(folder):
    arrays(folder)
    same(len(lines(topology(folder))), 1)


def test_the_shuffled_order_is_that_of_the_permutation(folder):
    made = arrays(folder)
    told = lines(topology(folder, read=", shuffle: global, epochs: 2"), "--steps", "99")
    order = [permutation(100, 7, epoch)(p) for epoch in (0, 1) for p in range(100)]
    same([line["rows"] for line in told], [32, 32, 32, 4] * 2)
    same([line["last"] for line in told], [False, False, False, True] * 2)
    for name, wanted in made.items():
        equal(numpy.concatenate([array(line["columns"][name]) for line in told]), wanted[order],
              name)


def test_lanes_with_files_of_their_own_have_shuffles_of_their_own(folder):
    parts = [numpy.arange(first, first + 50, dtype="i8") for first in (0, 50)]
    for i, part in enumerate(parts):
        numpy.save(folder / f"part-{i}.npy", part)
    path = topology(folder, columns="part-[0-1]", top="lanes: 2\n", batch="size: 10",
                    read=", shuffle: global, shard: file")
    path.write_text(path.read_text().replace('part-[0-1]: "', 'y: "'))
    told = lines(path, "--steps", "10")
    got = numpy.concatenate([array(line["columns"]["y"]) for line in told]).reshape(10, 2, 5)
    for lane, part in enumerate(parts):
        order = permutation(50, 7 ^ (0x9e3779b97f4a7c15 * lane) % 2**64, 0)
        equal(got[:, lane].ravel(), part[[order(p) for p in range(50)]], f"lane {lane}")


def test_lanes_that_are_not_divided_have_all_rows(folder):
    """As workers do with AutoShardPolicy.OFF: a step has the same rows of each lane."""
    numpy.save(folder / "n.npy", numpy.arange(5, dtype="u4"))
    path = topology(folder, columns="n", read=", shard: off", batch="size: 4", top="lanes: 2\n")
    same(rows_of(path), [0, 1, 0, 1, 2, 3, 2, 3, 4, 4])
    same(rows_of(path, "read.skip=1", "read.take=3"), [1, 2, 1, 2, 3, 3])
    same(rows_of(path, "read.order=[{shuffle: {buffer: 3, seed: 1}}]", "batch.size=10")[:5],
         rows_of(path, "read.order=[{shuffle: {buffer: 3, seed: 1}}]", "lanes=1"))
    order = [permutation(5, 7, 0)(p) for p in range(5)]
    same(rows_of(path, "read.shuffle=global", "batch.size=10"), order * 2)
    # A shard that is written divides them all the same.
    same(rows_of(path, "read.order=[{shard: {count: lanes, index: lane}}]"), [0, 2, 1, 3, 4])
    same(rows_of(path, "lanes=1"), [0, 1, 2, 3, 4])


def test_lanes_that_are_not_divided_have_the_same_stream_everywhere(folder):
    numpy.save(folder / "n.npy", numpy.arange(1003, dtype="u4"))
    path = topology(folder, columns="n", read=", shard: off, shuffle: global, epochs: 2", batch="size: 32, replicas: 2",
                    links=["read -> prep -> keep -> batch -> feed"], top="lanes: 3\n",
                    actors="  prep: {kind: preprocessor, workers: 2}\n  keep: {kind: cache, limit: 1MiB}\n" + FEED % "")
    plain = topology(folder, "plain.yaml", "n", ", shard: off, shuffle: global, epochs: 2", "size: 32, replicas: 2",
                     FED, FEED % "", "lanes: 3\n")
    (folder / "two.yaml").write_text(f"""port: {free_port()}
hosts:
  a: {{address: 127.0.0.1, lanes: 2, actors: [read, batch, feed]}}
  b: {{address: 127.0.0.1, lanes: 1, actors: [read, batch]}}
""")
    digests = set()
    for words in (["run", path], ["run", plain], ["run", plain, "--set", "read.workers=2"],
                  ["up", plain, folder / "two.yaml"]):
        code, out, err = run(*words)
        same(code, 0, err)
        holds(out, "6,018 rows, 2 epochs")
        digests.add(out.split("stream ")[1].split()[0])
    same(len(digests), 1, str(digests))


def test_a_source_that_is_read_from_its_start_has_one_lane_also_undivided(folder):
    (folder / "n.csv.gz").write_bytes(gzip.compress(b"1\n2\n"))
    path = topology(folder, columns="n", read=", shard: off", top="lanes: 2\n", links=FED, actors=FEED % "")
    text = path.read_text()
    start = text.index("{npy")
    path.write_text(text[:start] + f'{{csv: {{files: "{folder}/n.csv.gz"}}}}' + text[text.index("}}", start) + 2:])
    code, _, err = run("validate", path)
    same(code, 78)
    holds(err, "graph.yaml:6:", "in one lane, not in 2")


def test_a_window_is_repeated_from_its_own_first_row(folder):
    made = arrays(folder)
    told = lines(topology(folder, read=", skip: 90, repeat: 3", batch="size: 10"), "--steps", "9")
    same(len(told), 3)
    for line in told:
        equal(array(line["columns"]["y"]), made["y"][90:], "y")


def rows_of(path, *sets):
    """The first element of every row that is fed, in order."""
    told = lines(path, "--steps", "1000", *(word for value in sets for word in ("--set", value)))
    return [int(row) for line in told for row in array(line["columns"]["n"])]


def test_parts_are_disjoint_and_complete_in_every_order(folder):
    numpy.save(folder / "n.npy", numpy.arange(1003, dtype="u4"))
    path = topology(folder, columns="n", read=", part: {of: [70, 15, 15], index: 0}")
    parts = [rows_of(path, f"read.part.index={index}") for index in range(3)]
    same(sorted(sum(parts, [])), list(range(1003)))
    for share, part in zip((14, 3, 3), parts):
        same(part, sorted(part))
        assert 0 <= len(part) - 1003 // 20 * share <= min(share, 3), (share, len(part))
    # Another seed of the run, another order, more lanes, other parts of the same sizes: the same rows.
    for sets in ["seed=8"], ["read.shuffle=global"], ["read.shuffle=tensorflow"], ["lanes=3"], ["read.part.of=[700, 150, 150]"]:
        same(sorted(rows_of(path, "read.part.index=1", *sets)), parts[1], sets)
    passes = rows_of(path, "read.part.index=2", "read.shuffle=global", "read.epochs=10", "batch.span_epochs=true")
    same([sorted(passes[i:i + len(parts[2])]) for i in range(0, len(passes), len(parts[2]))], 10 * [parts[2]])
    assert sorted(rows_of(path, "read.part.index=1", "read.part.seed=1")) != parts[1]
    # The keys after it see its rows only.
    same(rows_of(path, "read.part.index=1", "read.skip=5", "read.take=20", "read.repeat=2"), 2 * parts[1][5:25])
    order = topology(folder, name="order.yaml", columns="n", read=", order: [{part: {of: [70, 15, 15], index: 1}}, {skip: 5}, "
                     "{take: 20}, {repeat: 2}]")
    same(rows_of(order), 2 * parts[1][5:25])


def test_parts_that_cannot_be_are_refused(folder):
    numpy.save(folder / "n.npy", numpy.arange(10, dtype="u4"))
    for part, told in (("{of: [80, 20], index: 2}", "`part`: part 2 of 2 parts"), ("{of: [5], index: 0}", "`of` has two to 16"),
                       ("{of: [0.5, 0.5], index: 0}", "`of` has two to 16"), ("{of: [1000, 1], index: 0}", "is at most 1000"),
                       ("{of: [1, 0], index: 0}", "whole numbers from 1 on"), ("{of: [1, 1]}", "neither `index` nor `except`"),
                       ("{of: [1, 1], index: 0, except: 1}", "`index` and `except`, which exclude each other"),
                       ("{of: [1, 1], except: 2}", "`except: 2` of 2 parts"), ("{of: [1, 1], except: 0.5}", "`except: 0.5` of 2 parts"),
                       ("{of: [1, 1], except: [0, 1]}", "`except` leaves out all 2 parts")):
        code, _, err = run("head", topology(folder, columns="n", read=f", part: {part}"))
        same(code, 78, part)
        holds(err, told, "1 error", "help: ", "graph.yaml:5:")
    same(len(rows_of(topology(folder, columns="n", read=", part: {of: [999, 1], index: 0}"))), 10)
    code, _, err = run("head", topology(folder, columns="n", read=", part: {of: [1, 1], index: 0}, order: [{skip: 1}]"))
    same(code, 78)
    holds(err, "`part` beside `order`, which has the whole order")


def test_replicas_share_a_batch(folder):
    made = arrays(folder)
    told = lines(topology(folder, batch="size: 32, replicas: 3"), "--steps", "4")
    same([(line["step"], line["replica"]) for line in told],
         [(step, replica) for step in range(4) for replica in range(3)])
    same([line["rows"] for line in told[:3]], [11, 11, 10])
    equal(numpy.concatenate([array(line["columns"]["y"]) for line in told]), made["y"], "y")


def test_lanes_take_turns_as_the_composition_says(folder):
    made = arrays(folder)
    told = lines(topology(folder, top="lanes: 2\n", batch="size: 10"), "--steps", "10")
    got = numpy.concatenate([array(line["columns"]["y"]) for line in told])
    even, odd = made["y"][0::2], made["y"][1::2]
    wanted = numpy.concatenate([numpy.concatenate([even[s * 5:s * 5 + 5], odd[s * 5:s * 5 + 5]])
                                for s in range(10)])
    equal(got, wanted, "y")


def test_padding_is_counted_and_not_shown(folder):
    arrays(folder)
    told = lines(topology(folder, batch="size: 64, remainder: pad"), "--steps", "2")
    same([(line["rows"], line.get("padded", 0)) for line in told], [(64, 0), (36, 28)])
    same(told[1]["columns"]["x"]["shape"], [36, 3])


def test_a_dropped_remainder_does_not_come(folder):
    arrays(folder)
    told = lines(topology(folder, batch="size: 64, remainder: drop"), "--steps", "9")
    same([(line["rows"], line["last"]) for line in told], [(64, True)])


def test_every_type_reads_back_as_the_same_bits(folder):
    made = {"u8": [0, 255], "i8": [-128, 127], "u16": [0, 65535], "i16": [-32768, 32767],
            "u32": [0, 2**32 - 1], "i32": [-2**31, 2**31 - 1], "u64": [2**53 + 1, 2**64 - 1],
            "i64": [-2**63, 2**63 - 1], "f16": [65504, 6e-8], "f32": [1e-45, 3.4028235e38],
            "f64": [5e-324, 0.1]}
    for name, values in made.items():
        kind = FLOATS.get(name, name[0] + str(int(name[1:]) // 8))
        made[name] = numpy.array(values, dtype=kind)
        numpy.save(folder / f"{name}.npy", made[name])
    made["odd"] = numpy.array([numpy.nan, -numpy.inf], "f4")
    made["flag"] = numpy.array([True, False])
    for name in ("odd", "flag"):
        numpy.save(folder / f"{name}.npy", made[name])
    told = lines(topology(folder, columns=" ".join(made), batch="size: 2"))
    same([column["dtype"] for column in told[0]["columns"].values()],
         [*list(made)[:-2], "f32", "bool"])
    for name, wanted in made.items():
        equal(array(told[0]["columns"][name]), wanted, name)


def test_before_the_batcher_rows_pass(folder):
    made = arrays(folder)
    path = topology(folder, read=", shuffle: global", links=["read -> prep -> batch"],
                    actors="  prep: {kind: preprocessor, ops: [{cast: {column: x, to: f64}}]}\n")
    order = [permutation(100, 7, 0)(p) for p in range(100)]
    for at, wanted in (("read", made["x"]), ("prep", made["x"].astype("f8"))):
        told = lines(path, "--at", at, "--steps", "3")
        same([(line["first"], line["rows"]) for line in told], [(0, 32), (32, 32), (64, 32)])
        equal(numpy.concatenate([array(line["columns"]["x"]) for line in told]),
              wanted[order][:96], at)


def test_a_file_without_a_batcher_can_be_looked_at(folder):
    made = arrays(folder)
    path = folder / "bare.yaml"
    path.write_text(f"tundish: 1\ndata: {folder}\nactors:\n"
                    '  read: {kind: reader, source: {npy: {y: "${data}/y.npy"}}}\n'
                    "  prep: {kind: preprocessor, ops: [{filter: {column: y, op: ge, value: 0}}]}\n"
                    "links: read -> prep\n")
    told = lines(path, "--steps", "99")
    got = numpy.concatenate([array(line["columns"]["y"]) for line in told])
    equal(got, made["y"][made["y"] >= 0], "y")


def test_overlays_do_not_matter(folder):
    arrays(folder)
    path = topology(folder, actors="  feed: {kind: feeder, step: {plugin: nowhere}}\n",
                    links=["read -> batch -> feed"])
    over = folder / "over.yaml"
    over.write_text("port: 7100\nhosts:\n  a: {actors: [read, batch]}\n  b: {actors: [feed]}\n")
    same(lines(path, over), lines(path))
    same(lines(path, "--at", "feed"), lines(path))


def test_npz_holds_what_json_holds(folder):
    arrays(folder, images=True)
    path = topology(folder, columns="x y image", batch="size: 40, replicas: 2")
    out = folder / "rows.npz"
    code, text, err = run("head", path, "--steps", "9", "--npz", out)
    same((code, text, err), (0, "", ""))
    told = lines(path, "--steps", "9")
    with numpy.load(out) as loaded:
        same(sorted(loaded.files), ["_replica", "_step", "image", "x", "y"])
        for name in ("x", "y", "image"):
            equal(loaded[name],
                  numpy.concatenate([array(line["columns"][name]) for line in told]), name)
        for name, key in (("_step", "step"), ("_replica", "replica")):
            same(loaded[name].tolist(), [line[key] for line in told for _ in range(line["rows"])])
    same(sorted(p.name for p in folder.iterdir() if "tmp" in p.name), [])


CASTING = ("  feed: {kind: feeder, cast: {image: {to: %s, scale: [1, 2, 3, 4, 0.1, 0.2, 0.3, 1e-9], "
           "bias: -2.1, layout: channels_first}}%s}\n")


def test_fed_shows_columns_as_steps_read_them(folder):
    made = arrays(folder, images=True)
    scale = numpy.array([1, 2, 3, 4, 0.1, 0.2, 0.3, 1e-9], "f4").astype("longdouble")
    exact = made["image"].astype("longdouble") * scale + numpy.longdouble(numpy.float32(-2.1))
    wanted = exact.astype("f4").transpose(0, 2, 1)
    out = folder / "rows.npz"
    for name, dtype in (("f32", "f4"), ("f16", "f2")):
        path = topology(folder, columns="x image", batch="size: 40, replicas: 2",
                        actors=CASTING % (name, ""), links=["read -> batch -> feed"])
        same(run("head", path, "--steps", "9", "--fed", "--npz", out), (0, "", ""))
        with numpy.load(out) as rows:
            equal(rows["image"], wanted.astype(dtype), name)
            equal(rows["x"], made["x"], "x")
        same(run("head", path, "--steps", "9", "--npz", out), (0, "", ""))
        with numpy.load(out) as rows:
            equal(rows["image"], made["image"], "as it is fed")
    code, _, err = run("head", path, "--fed", "--at", "read")
    same(code, 2)
    holds(err, "--fed is for batches")


def test_casts_and_devices_leave_the_stream_as_it_is(folder):
    arrays(folder, images=True)
    streams = set()
    for more in ("", ", devices: [sim:0]", ', devices: ["sim:[0-1]"], depth: 1'):
        for feed in ("  feed: {kind: feeder, digest: true%s}\n" % more, CASTING % ("bf16", more)):
            path = topology(folder, columns="x image", batch="size: 40, replicas: 2", actors=feed,
                            links=["read -> batch -> feed"])
            code, text, err = run("run", path)
            same((code, err), (0, ""), feed)
            streams.add(text.splitlines()[-1])
    same(len(streams), 1)


def test_npz_passes_through_a_pipe(folder):
    made = arrays(folder)
    done = subprocess.run([TUNDISH, "head", topology(folder), "--npz", "/dev/stdout"],
                          capture_output=True, timeout=20)
    same((done.returncode, done.stderr), (0, b""))
    with numpy.load(io.BytesIO(done.stdout)) as rows:
        for name, wanted in made.items():
            equal(rows[name], wanted[:32], name)


def test_a_place_for_the_npz_that_cannot_be_written_is_an_error(folder):
    arrays(folder)
    code, _, err = run("head", topology(folder), "--npz", folder / "no" / "rows.npz")
    assert code != 0
    holds(err, "rows.npz", "cannot be written")


def decoded(path):
    """The pixels of a PNG, by its specification; every checksum is looked at."""
    data = path.read_bytes()
    same(data[:8], b"\x89PNG\r\n\x1a\n")
    chunks, at = [], 8
    while at < len(data):
        size, = struct.unpack_from(">I", data, at)
        kind, content = data[at + 4:at + 8], data[at + 8:at + 8 + size]
        same(struct.unpack_from(">I", data, at + 8 + size)[0], zlib.crc32(kind + content), kind)
        chunks.append((kind, content))
        at += 12 + size
    same((chunks[0][0], chunks[-1]), (b"IHDR", (b"IEND", b"")))
    width, height, depth, colour, *rest = struct.unpack(">IIBBBBB", chunks[0][1])
    same((depth, rest), (8, [0, 0, 0]))
    channels = {0: 1, 2: 3}[colour]
    raw = zlib.decompress(b"".join(content for kind, content in chunks if kind == b"IDAT"))
    lines = numpy.frombuffer(raw, "u1").reshape(height, 1 + width * channels)
    assert (lines[:, 0] == 0).all(), "no line is filtered"
    return lines[:, 1:].reshape(height, width, channels)


GAP, WISH, LABEL, PAPER = 2, 56, 9, 24  # as tools/rows/contact_sheet.h says


def sheet(folder, pictures, labels=None, rows=6):
    """What `head --png` writes for these pictures, and where each should be."""
    numpy.save(folder / "image.npy", pictures)
    if labels is not None:
        numpy.save(folder / "label.npy", labels)
    path = topology(folder, columns="image label" if labels is not None else "image",
                    batch=f"size: {rows}")
    out = folder / "sheet.png"
    code, text, err = run("head", path, "--png", out)
    same((code, text), (0, ""), err)
    holds(err, "wrote", "`image`")
    pixels = decoded(out)
    tall, wide = pictures.shape[1:3]
    factor = max(1, -(-WISH // max(tall, wide)))
    cell = (tall * factor + GAP + (LABEL if labels is not None else 0), wide * factor + GAP)
    across = (pixels.shape[1] - GAP) // cell[1]
    same(pixels.shape[:2], (-(-rows // across) * cell[0] + GAP, across * cell[1] + GAP))
    cells = [pixels[i // across * cell[0] + GAP:, i % across * cell[1] + GAP:] for i in range(rows)]
    return ([one[:tall * factor, :wide * factor] for one in cells],
            [one[tall * factor:tall * factor + LABEL, :wide * factor] for one in cells], factor)


def grown(picture, factor):
    return picture.repeat(factor, 0).repeat(factor, 1)


def test_a_contact_sheet_shows_every_pixel(folder):
    draw = numpy.random.default_rng(3)
    for shape in ((8, 8), (8, 5, 1), (8, 8, 3), (6, 9, 4), (60, 70, 3)):
        made = draw.integers(0, 256, (6, *shape)).astype("u1")
        pictures, _, factor = sheet(folder, made)
        for got, wanted in zip(pictures, made):
            wanted = wanted.reshape(*wanted.shape[:2], -1)[:, :, :3]
            equal(got, grown(wanted, factor), shape)


def test_a_contact_sheet_spreads_other_types_from_black_to_white(folder):
    unit = numpy.linspace(0, 1, 6 * 64).reshape(6, 8, 8).astype("f4")
    for made, wanted in ((unit, unit * 255), (unit * 4 - 2, unit * 255),
                         ((unit * 1000).astype("i2"), (unit * 1000).astype("i2") * 0.255),
                         (unit > 0.5, (unit > 0.5) * 255.0)):
        pictures, _, factor = sheet(folder, made)
        for got, one in zip(pictures, wanted):
            far = numpy.abs(got[:, :, 0] - grown(one, factor)).max()
            assert far <= 0.51, far


def test_a_contact_sheet_has_labels(folder):
    labels = numpy.array([4, 7, 4, -1, 0, 7], "i4")
    _, strips, _ = sheet(folder, numpy.zeros((6, 8, 8), "u1"), labels)
    drawn = [strip.tobytes() for strip in strips]
    for i, label in enumerate(labels):
        same([drawn[i] == other for other in drawn], [bool(label == other) for other in labels])
    four = strips[0][:, :, 0] != PAPER
    same(["".join(".#"[int(pixel)] for pixel in line[:4]) for line in four[4:9]],
         ["#.#.", "#.#.", "###.", "..#.", "..#."])
    assert not four[:4].any() and not four[:, 4:].any()


def test_a_contact_sheet_needs_pictures(folder):
    arrays(folder)
    code, _, err = run("head", topology(folder), "--png", folder / "sheet.png")
    same((code, (folder / "sheet.png").exists()), (2, False))
    holds(err, "no column holds pictures", "x f32[3]")
    arrays(folder, images=True)
    code, _, err = run("head", topology(folder, columns="image"), "--png", folder / "no" / "x.png")
    same(code, 1)
    holds(err, "cannot be written")


def test_a_head_that_is_interrupted_is_not_shown_as_a_killed_run(folder):
    arrays(folder)
    path = topology(folder, top="name: shown\n", read=", epochs: forever")
    environment = {"XDG_RUNTIME_DIR": str(folder), "PATH": os.environ["PATH"]}
    for number in signal.SIGINT, signal.SIGTERM:
        with subprocess.Popen([TUNDISH, "head", path, "--steps", "1000000000", "--json"], env=environment,
                              stdout=subprocess.PIPE) as head:
            assert head.stdout.readline().startswith(b'{"step":0,')
            assert list(folder.glob("**/*.pages"))
            head.send_signal(number)
            head.wait(timeout=60)
        same(head.returncode, -number)
        same([*folder.glob("**/*.pages"), *folder.glob("**/*.touch")], [])


def test_an_empty_stream_is_reported(folder):
    arrays(folder, images=True)
    path = topology(folder, columns="y image", links=["read -> prep -> batch"],
                    actors="  prep: {kind: preprocessor, ops: [{filter: {column: y, op: gt, "
                    "value: 9000000000000}}]}\n")
    code, out, err = run("head", path)
    same((code, out, err),
         (0, "the stream is empty: no rows of y i64, image u8[8,8]\n", ""))
    code, out, err = run("head", path, "--json")
    same((code, out), (0, ""))
    holds(err, "the stream is empty")
    code, out, err = run("head", path, "--png", folder / "sheet.png")
    same((code, (folder / "sheet.png").exists()), (1, False))
    holds(err, "the stream is empty")


def test_a_person_sees_types_ranges_and_pictures(folder):
    made = arrays(folder, images=True)
    path = topology(folder, columns="image y", batch="size: 50, replicas: 2")
    code, out, err = run("head", path)
    same((code, err), (0, ""))
    image = made["image"][:50]
    holds(out, "step 0, epoch 0: 50 rows for replicas of 25 25", "image u8[8,8]", "y i64",
          f"min {image.min()}", f"max {image.max()}", f"mean {image.mean():.6g}")
    pictures = [line for line in out.splitlines() if "@" in line or "%" in line or "#" in line]
    same(len(pictures), 4, "8 rows of pixels in lines of two")
    holds(run("head", path, "--replicas")[1], "replica 0: 25 rows", "replica 1: 25 rows")


def test_numbers_that_are_missing_are_counted(folder):
    numpy.save(folder / "x.npy", numpy.array([[numpy.nan, 1], [3, numpy.nan], [5, 7]], "f4"))
    numpy.save(folder / "y.npy", numpy.full(3, numpy.nan, "f4"))
    out = run("head", topology(folder))[1]
    holds(out, "  x f32[2]  min 1  max 7  mean 4  NaN 2\n", "  y f32  NaN 3\n")


def test_an_unknown_place_is_a_mistake(folder):
    arrays(folder)
    code, _, err = run("head", topology(folder), "--at", "bacth")
    same(code, 2)
    holds(err, "unknown actor 'bacth'", "did you mean 'batch'?")


def test_missing_data_is_named(folder):
    code, out, err = run("head", topology(folder))
    same((code, out), (78, ""))
    holds(err, str(folder / "x.npy"))


def test_a_reader_that_stops_reading_ends_it(folder):
    arrays(folder, rows=20000)
    path = topology(folder, read=", epochs: 100", batch="size: 20000")
    done = subprocess.run(["bash", "-c", '"$0" head "$1" --steps 100 --json | head -c 10 >/dev/null;'
                           ' exit ${PIPESTATUS[0]}', TUNDISH, str(path)],
                          capture_output=True, text=True, timeout=60)
    same((done.returncode, done.stderr), (0, ""))


def test_head_obeys_the_memory_limit_as_run_does(folder):
    numpy.save(folder / "x.npy", numpy.zeros((4096, 128), "f4"))
    path = topology(folder, columns="x", batch="size: 4096", top="memory: 17MiB\n", actors="  feed: {kind: feeder}\n",
                    links=["read -> batch -> feed"])
    for command in ("run", "head"):
        code, out, err = run(command, path)
        same((code, out), (78, ""), command)
        holds(err, "error[T065]", "`memory:` allows 17 MiB")
    same(run("head", path, "--set", "memory=1GiB")[0], 0)


def test_texts_are_shown_as_text(folder):
    """Up to 70 bytes of each, whole characters; bytes that are not text are numbers."""
    for lines, shown in ((["some words", 'a "quote"\t', ""], ['    "some words"\n    "a \\"quote\\"\\u0009"\n    ""\n']),
                         (["b" * 70, "b" * 71, "x" + "ä" * 40], [f'    "{"b" * 70}"\n    "{"b" * 70}" ...\n    "x{"ä" * 34}" ...\n']),
                         (["\x01"], ["    1\n"]), (["x\x7f"], ["    120 127\n"])):
        (folder / "t.txt").write_text("".join(line + "\n" for line in lines))
        (folder / "t.yaml").write_text(f"tundish: 1\nactors:\n  read: {{kind: reader, source: {{text: {{files: {folder}/t.txt}}}}}}\n  batch: {{kind: batcher, size: 8}}\n"
                                       "links: [read -> batch]\n")
        code, out, err = run("head", folder / "t.yaml")
        same((code, err), (0, ""))
        holds(out, *shown)
    (folder / "t.txt").write_bytes(b"\xff\xfe\n")
    holds(run("head", folder / "t.yaml")[1], "    255 254\n")


main(globals())
