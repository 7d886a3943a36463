#!/usr/bin/env python3
"""Turns recorded answers of TensorFlow into the short lines that the tests read.

usage: compact.py VECTORS_DIR [TOPIC...]

VECTORS_DIR/TOPIC/cases.json holds one case a line: {"name", "op", "args", "inputs", "expect"}, where
every value under "expect" was produced by TensorFlow 2.21.0 on an x86-64 CPU. Nothing is computed
here but which of TensorFlow's two splits its documented rules pick; a line is a case rewritten.
"""
import json
import math
import os
import re
import struct
import sys

HEADER = "# TensorFlow 2.21.0, rewritten by compact.py. Do not edit.\n"
FILES = ("tfrecord", "text", "fixed")


def legacy(args):
    """TensorFlow splits by the legacy rule where it shards by data (policy DATA, or AUTO over a
    source without files) or has lost the batch size."""
    if args.get("batching", "batch") in ("group_by_window", "ragged_dims", "batch_then_map"):
        return True
    files = args["source"].startswith(FILES)
    return args["policy"] == "DATA" or (args["policy"] in ("AUTO", "HINT") and not files)


def rebatch(cases):
    """split KIND SIZE ROWS REPLICAS : rows of each replica
    quota SIZE LANES LANE STEP : rows"""
    lines = set()
    for case in cases:
        args, expect = case["args"], case["expect"]
        if case["op"] == "distribute_dataset" and "steps" in expect:
            kind = "rebatch_legacy" if legacy(args) else "rebatch_v2"
            for step in expect["steps"]:
                sizes = [len(rows) for rows in step]
                size = max(args["global_batch"], sum(sizes))
                lines.add("split %s %d %d %d : %s" % (kind, size, sum(sizes), len(sizes),
                                                      " ".join(map(str, sizes))))
        elif case["op"] == "batch_sizes_for_worker":
            # Worker w's list is the even parts rotated left by its first replica.
            parts = args["workers"] * args["replicas_per_worker"]
            for worker, sizes in enumerate(expect["per_worker"]):
                for part, rows in enumerate(sizes):
                    lines.add("quota %d %d %d %d : %d" % (args["global_batch"], parts, part,
                              worker * args["replicas_per_worker"], rows))
    return sorted(lines)


def workers(cases):
    """pulls|steps apart|pieces DROP SIZE WORKERS REPLICAS : rows of each pull of a worker ; ROWS of each worker's data | ...
    `steps`: of processes that step together, with what idle replicas get; `pulls` ends with the worker's data.
    REPLICAS are those of a worker.  A worker has every WORKERS-th file, or all rows."""
    lines = []
    for case in cases:
        args, expect = case["args"], case["expect"]
        if case["op"] not in ("worker_pulls", "multi_worker") or any("error" in one for one in expect["workers"]):
            continue
        count, files = args["workers"], args["files"]
        pieces = legacy(args)
        by_file = args["policy"] in ("AUTO", "FILE") and not pieces
        made = []
        for worker, one in enumerate(expect["workers"]):
            pulls = one["pulls"] if "pulls" in one else [rows for step in one["steps"] for rows in step]
            rows = sum(files[worker::count]) if by_file else args["n"]
            made.append("%s ; %d" % (words(*map(len, pulls)), rows))
        lines.append("%s %s %d %d %d %d : %s" % (
            "pulls" if case["op"] == "worker_pulls" else "steps", "pieces" if pieces else "apart",
            args["drop_remainder"], args["global_batch"], count, args["replicas_per_worker"], " | ".join(made)))
    return sorted(lines)


def index_shuffle(cases):
    """raw KEY KEY KEY COUNT ROUNDS FIRST : values
    api SEED SEED COUNT FIRST : values
    data SEED SEED2 RESHUFFLE EPOCH COUNT : values"""
    lines = []
    for case in cases:
        args, expect = case["args"], case["expect"]
        if case["op"] == "random_index_shuffle":
            head = ["raw", *args["key"], args["n"], args["rounds"], args["first"]]
            lines.append((head, expect["values"]))
        elif case["op"] == "index_shuffle":
            lines.append((["api", *args["seed"], args["n"], args["first"]], expect["values"]))
        elif case["op"] == "global_shuffle" and args["global_seed"] is None:
            # An operation's seeds without a global one are this constant and its own, modulo.
            for epoch, values in enumerate(expect["epochs"]):
                head = ["data", 87654321, args["seed"] % (2**31 - 1),
                        int(args["reshuffle_each_iteration"]), epoch, args["n"]]
                lines.append((head, values))
    return ["%s : %s" % (" ".join(map(str, a)), " ".join(map(str, b))) for a, b in lines]


DTYPES = {"uint8": "u8", "int8": "i8", "uint16": "u16", "int16": "i16", "uint32": "u32",
          "int32": "i32", "uint64": "u64", "int64": "i64", "float16": "f16", "bfloat16": "bf16",
          "float32": "f32", "float64": "f64", "bool": "bool"}


def numeric(cases):
    """cast|saturate FROM TO : IN=OUT ..., bits in hexadecimal.
    Left out is what TensorFlow promises nothing about: floats outside the range of an integer."""
    lines = []
    for case in cases:
        args = case["args"]
        if case["op"] not in ("cast", "saturate_cast"):
            continue
        if "out_of_range" in case["name"] and args["to"] != "bool":
            continue
        pairs = " ".join("%s=%s" % pair for pair in zip(case["inputs"]["bits"],
                                                        case["expect"]["bits"]))
        lines.append("%s %s %s : %s" % (case["op"].split("_")[0], DTYPES[args["from"]],
                                        DTYPES[args["to"]], pairs))
    return lines


def one_hot(cases):
    """IN OUT DEPTH ON OFF | index ... | result ...
    Left out are other axes than the last, and depth 0, which makes rows of nothing."""
    lines = []
    for case in cases:
        args, expect = case["args"], case["expect"]
        if case["op"] != "one_hot" or args["axis"] != -1 or args["depth"] == 0:
            continue
        indices = case["inputs"]["indices"]
        lines.append("%s %s %d %r %r | %s | %s" % (
            DTYPES[indices["dtype"]], DTYPES[args["dtype"]], args["depth"], args["on_value"],
            args["off_value"], " ".join(map(str, indices["data"])),
            " ".join(map(repr, expect["data"]))))
    return lines


def clip(cases):
    """TYPE MIN MAX | number ... | result ..."""
    return ["%s %r %r | %s | %s" % (DTYPES[case["expect"]["dtype"]], case["args"]["min"], case["args"]["max"],
                                    words(*case["inputs"]["x"]["data"]), words(*case["expect"]["data"]))
            for case in cases if case["op"] == "clip_by_value"]


def reduce(cases):
    """sum|mean DTYPE REPLICAS WIDTH | ROWS value ... | ... = result ...
    A replica's tensor is ROWS by WIDTH and reduced over its rows too (over all axes: WIDTH is 1;
    without an axis: one row). Left out are other axes, and the integers' mean, which is not an integer.
    """
    lines = []
    for case in cases:
        args, expect = case["args"], case["expect"]
        if case["op"] != "reduce" or "error" in expect or args["axis"] not in (None, 0, [0, 1]):
            continue
        tensors = case["inputs"]["values"]
        dtype = DTYPES[tensors[0]["dtype"]]
        if args["reduce_op"] == "MEAN" and dtype[0] == "i":
            continue
        width = 1
        if args["axis"] is None:
            width = len(tensors[0]["data"])
        elif args["axis"] == 0:
            width = math.prod(tensors[0]["shape"][1:])
        parts = []
        for tensor in tensors:
            rows = len(tensor["data"]) // width
            parts.append("%d %s" % (rows, " ".join(map(str, tensor["data"]))))
        lines.append("%s %s %d %d | %s = %s" % (args["reduce_op"].lower(), dtype, len(tensors), width,
                                                " | ".join(parts),
                                                " ".join(map(str, expect["data"]))))
    return list(dict.fromkeys(lines))


def fixed(cases):
    """fixed NAME RECORD HEADER FOOTER FILE[,FILE] : RECORD ... , or `error`; bytes in hex.
    Compressed files and files without records are left out: they are not read here."""
    lines = []
    for case in cases:
        args, expect = case["args"], case["expect"]
        if (case["op"] != "fixed_length" or args["compression"] or not args["record_bytes"]
                or not (expect["elements"] or "error" in expect)):
            continue
        files = []
        for name in case["inputs"]["files"]:
            with open(os.path.join(sys.argv[1], FOLDERS["fixed"], name), "rb") as file:
                files.append(file.read().hex())
        lines.append("fixed %s %d %d %d %s : %s" % (
            case["name"], args["record_bytes"], args["header_bytes"], args["footer_bytes"],
            ",".join(files), "error" if "error" in expect else " ".join(expect["elements"])))
    return lines


def example(cases):
    """MESSAGE | KEY TYPE VALUES ..., the message in hex: what a feature that is read whole has.
    Left out are messages with a key twice or with a list in two runs, of which TensorFlow takes one,
    and what is hardly written: unknown fields, and features that are damaged."""
    odd = ("duplicate", "_then_", "_mixed_", "two_packed_runs", "unknown_", "not_multiple_of_4",
           "unrequested_feature_malformed")
    types = {"string": "bytes", "float32": "float", "int64": "int64"}
    lines = []
    for case in cases:
        expect, features = case["expect"], case["args"].get("features", {})
        if (case["op"] != "parse_example" or "error" in expect
                or len(case["inputs"]["serialized"]) != 1
                or any(spec["kind"] not in ("fixed", "fixed_sequence", "varlen") or "default" in spec
                       for spec in features.values())
                or any(word in case["name"] for word in odd)):
            continue
        keys = []
        for key in sorted(features):
            values = expect[key].get("values", expect[key])
            if values["data"]:
                keys.append("%s %s %d" % (key, types[values["dtype"]], len(values["data"])))
        if keys:
            lines.append("%s | %s" % (case["inputs"]["serialized"][0], " ".join(keys)))
    return list(dict.fromkeys(lines))


def quoted(text):
    """Text in quotes of YAML, which can hold every byte of ASCII; others as they are."""
    return '"%s"' % "".join("\\x%02x" % ord(c) if c < " " or c in '"\\\x7f' else c for c in text)


def not_offered(spec, part):
    """Shapes without values, results with two ragged axes, strings that are padded by a string."""
    return (0 in spec.get("shape", []) or spec.get("partitions")
            or part == "sequence" and spec["kind"] != "fixed_sequence"
            or spec["dtype"] == "string" and spec["kind"] == "fixed_sequence" and spec.get("default"))


def defaults(spec):
    given = spec.get("default", [])
    return given if isinstance(given, list) else [given]


def as_text(value):
    """A default as a topology can have it: bytes that are not ASCII as characters from U+0180 on."""
    return "".join(chr(byte if 32 <= byte < 127 else 256 + byte) for byte in bytes.fromhex(value))


def feature_lines(key, spec, number, counted):
    """The option for a feature, what follows to pad it, and its columns: name, type, how it is read
    from an answer.  None: it is not offered."""
    types = {"string": "bytes", "float32": "f32", "int64": "i64"}
    name, dtype, kind = "c%d" % number, types[spec["dtype"]], spec["kind"]
    bytes_, shape = dtype == "bytes", spec.get("shape", [])
    words_ = ["dtype: %s" % dtype, "key: %s" % quoted(spec.get("value_key") or key)]
    if kind == "sparse":
        return "%s: {%s, indices: %s}" % (name, ", ".join(words_), quoted(spec["index_key"])), []
    if shape:
        words_.append("shape: %s" % shape)
    if kind == "fixed":
        if "default" in spec:
            given = defaults(spec)
            if bytes_:
                given = [quoted(as_text(value)) for value in given]
            words_.append("default: [%s]" % ", ".join(map(str, given)))
        return "%s: {%s}" % (name, ", ".join(words_)), []
    words_ += ["ragged: true"] if not counted else []
    words_ += ["missing: %s" % str(spec.get("allow_missing", True)).lower()] if counted else []
    after = []
    if kind == "fixed_sequence":
        after = [(name + "_lengths", 0) if bytes_ else (name, spec.get("default", 0))]
    return "%s: {%s}" % (name, ", ".join(words_)), after


def packed(dtype, values):
    if dtype == "int64":
        return b"".join(struct.pack("<q", int(value)) for value in values)
    return b"".join(struct.pack("<f", float(value)) for value in values)


def shown(dtype, values):
    """Numbers in hex; of a NaN the bits that no answer says are `?`."""
    return "".join("????c07f" if value == "nan" else packed(dtype, [value]).hex() for value in values) or "-"


def row_of(answer, spec, row, single):
    """The columns of a row of an answer, in hex."""
    if answer["kind"] == "sparse":
        mine = [i for i, index in enumerate(answer["indices"]) if single or index[0] == row]
        tensor, values = answer["values"], [answer["values"]["data"][i] for i in mine]
        places = [answer["indices"][i][-1] for i in mine]
    elif answer["kind"] == "ragged":
        tensor, splits = answer["flat_values"], answer["row_splits"][0]
        step = len(tensor["data"]) // max(tensor["shape"][0], 1)
        values = tensor["data"][splits[row] * step:splits[row + 1] * step]
    else:
        tensor = answer
        width = math.prod(tensor["shape"][0 if single else 1:])
        values = tensor["data"][row * width:(row + 1) * width]
    if tensor["dtype"] == "string":
        values = [as_text(value).encode().hex() if value in defaults(spec) else value
                  for value in values]
        joined = "".join(values) or "-"
        alone = spec["kind"] == "fixed" and not spec["shape"]
        sizes = b"".join(struct.pack("<q", len(value) // 2) for value in values).hex() or "-"
        return [joined] if alone else [joined, sizes]
    columns = [shown(tensor["dtype"], values)]
    if spec["kind"] == "sparse":
        columns.append(packed("int64", places).hex() or "-")
    return columns


def parse_example(cases):
    """NAME | OPERATIONS | MESSAGE ... | ROW ; ROW ..., messages in hex, `-` for an empty one.
    A row is `bad`, `any`, or its columns in hex.  Of a batch that TensorFlow refuses the row that its
    message names is bad, and of the others nothing is said.  TensorFlow pads lists of unlike length;
    `pad_ragged` does.  A default of bytes that are no text is written, and expected, as other characters.  Left out are cases without messages, of results with two ragged axes, with
    rows of no values (shape 0), and with lists of strings that are padded by a string."""
    lines = []
    for case in cases:
        args, expect, messages = case["args"], case["expect"], case["inputs"]["serialized"]
        if not messages:
            continue
        single = case["op"] == "parse_single_example"
        parts = {"features": args.get("features", {})}
        if case["op"] == "parse_sequence_example":
            parts = {"context": args["context"], "sequence": args["sequence"]}
        options, pads, wanted, number = [], [], [], 0
        for part, specs in parts.items():
            listed = []
            for key, spec in specs.items():
                if not_offered(spec, part):
                    break
                option, after = feature_lines(key, spec, number, part == "sequence")
                number += 1
                listed.append(option)
                answer = expect if part == "features" or "error" in expect else expect[part]
                wanted.append((answer, key, spec))
                for column, pad in after:
                    width = 0 if "error" in expect else answer[key]["shape"][0 if single else 1]
                    if width:
                        pads.append("{pad_ragged: {column: %s, to: %d, value: %s}}" % (column, width, pad))
            else:
                options.append("%s: {%s}" % (part, ", ".join(listed)))
                continue
            break
        else:
            # A list that TensorFlow pads is a dense feature: there an entry without values counts in neither.
            if single or any(spec["kind"] == "fixed_sequence" for spec in parts.get("features", {}).values()):
                options.append("like: parse_single_example")
            kind = "parse_sequence_example" if "sequence" in parts else "parse_example"
            ops = ", ".join(["{%s: {%s}}" % (kind, ", ".join(options)), *pads])
            if "error" in expect:
                named = re.search(r"Index: (\d+)", expect["error"]["message"])
                rows = ["any"] * len(messages)
                rows[int(named.group(1)) if named else 0] = "bad"
                if not named and len(messages) > 1:
                    rows = ["some"]
            else:
                rows = [" ".join(column for answer, key, spec in wanted
                                 for column in row_of(answer[key], spec, row, single))
                        for row in range(len(messages))]
            lines.append("%s | %s | %s | %s" % (case["name"], ops,
                                                " ".join(message or "-" for message in messages),
                                                " ; ".join(rows)))
    return lines


def turned(bits):
    """A word of bits as the bytes of a little-endian number."""
    return bytes.fromhex(bits)[::-1].hex()


def decode(cases):
    """NAME | OPERATIONS | BYTES ... | ROW ; ROW ... as in parse_example: to_number and decode_raw."""
    lines = []
    for case in cases:
        args, inputs, expect = case["args"], case["inputs"], case["expect"]
        if case["op"] == "to_number":
            ops, given = "{to_number: {to: %s}}" % DTYPES[args["dtype"]], inputs["string"]
            row = "bad" if "error" in expect else turned(expect["bits"])
        elif case["op"] == "decode_raw":
            ops = "{decode_raw: {to: %s, little_endian: %s}}" % (
                DTYPES[args["dtype"]], str(args["little_endian"]).lower())
            given = inputs["bytes"]
            row = "bad" if "error" in expect else "".join(map(turned, expect["bits"]))
        else:
            continue
        lines.append("%s | %s | %s | %s" % (case["name"], ops, given or "-", row))
    return lines


CROPPED = 9, 12, 3  # the shape of random/src.npy


def random(cases):
    """key SEED SEED : KEY COUNTER, 64 bits each
    narrow SEED SEED : words of 32 bits, in order
    wide SEED SEED : words of 64 bits
    flip SEED SEED : whether a picture is mirrored
    crop SEED SEED PLACE ... : the place of the part on each axis, of so many"""
    lines = []
    for case in cases:
        args, expect = case["args"], case["expect"]
        if case["op"] == "stateless_key_counter":
            lines.append("key %d %d : %s %s" % (*args["seed"], expect["key"][0],
                                                expect["counter"][1]))
        elif "flip" in case["op"] and isinstance(expect["flipped"], bool):
            lines.append("flip %d %d : %d" % (*args["seed"], expect["flipped"]))
        elif case["op"] == "stateless_random_crop":
            places = [side - kept + 1 for side, kept in zip(CROPPED, args["size"])]
            lines.append("crop %d %d %s : %s" % (*args["seed"], words(*places), words(*expect["offset"])))
        elif case["op"] == "stateless_random_uniform" and args["minval"] is None:
            narrow = args["dtype"] == "int32"
            lines.append("%s %d %d : %s" % ("narrow" if narrow else "wide", *args["seed"], " ".join(
                str(int(value) & (2**32 - 1 if narrow else 2**64 - 1))
                for value in expect["data"])))
    return lines


def words(*items):
    return " ".join(str(item) for item in items)


def shuffle(cases):
    """ROWS ; MAP ... ; MAP ... | EPOCH all PLACE ... , or `refused`
    The maps as places_reference.py writes them. ROWS are the rows of each file. `fusion` is
    TensorFlow's default, so that cases that ask for it are those that ask for nothing."""
    lines = []
    for case in cases:
        args, expect = case["args"], case["expect"]
        shown = "-" if args["global_seed"] is None else args["global_seed"]
        maps = [words("repeat", args["repeat_before"], 1)] if args.get("repeat_before") else []
        for number in ("", "2") if case["op"] == "shuffle_twice" else ("",):
            size = "all" if args["buffer" + number] == -2 else args["buffer" + number]
            maps.append(words("shuffle", size, args["seed" + number], shown,
                              int(args.get("reshuffle_each_iteration", True))))
        if args.get("repeat_after"):
            times = "all" if args["repeat_after"] < 0 else args["repeat_after"]
            maps.append(words("repeat", times, int(args["fusion"] is not False)))
        if args.get("take_after") is not None:
            maps.append(words("take", args["take_after"]))
        head = " ; ".join([str(args["n"]), *maps])
        if "error" in expect:
            lines.append("%s | refused" % head)
        for epoch, places in enumerate(expect.get("epochs", [])):
            lines.append("%s | %d all %s" % (head, epoch, words(*places)))
    return list(dict.fromkeys(lines))


def order(cases):
    """ROWS ; MAP ... | 0 all ... as in `shuffle`. A window is written with commas; after `=` follow
    the values of all rows in the order of the files, of which the expected ones are then. Left out
    are other steps, and num_parallel_calls, which changes nothing but an error."""
    lines = []
    for case in cases:
        source, expect = case["args"]["source"], case["expect"]
        values = list(range(source["n"])) if source["kind"] == "range" else source.get("values")
        if values is None:
            continue
        files, maps, rows = [len(values)], [], None
        for number, step in enumerate(case["args"]["steps"]):
            count = "all" if step.get("count") == -1 else step.get("count")
            if step["op"] in ("take", "skip"):
                maps.append(words(step["op"], count))
            elif step["op"] == "repeat":
                maps.append(words("repeat", count, 1))
            elif step["op"] == "shard":
                maps.append(words("shard", step["num_shards"], step["index"]))
            elif step["op"] == "window":
                maps.append(words("window", step["size"], step["shift"] or step["size"],
                                  step["stride"], int(step["drop_remainder"])))
            elif step["op"] == "interleave" and number == 0 and "error" not in expect:
                inner = {"repeat": lambda x, s: [x] * s["times"],
                         "repeat_mod": lambda x, s: [x] * (x % s["mod"]),
                         "count": lambda x, s: [1000 * x + k for k in range(x % s["mod"])]}
                parts = [inner[step["inner"]](value, step) for value in values]
                files, rows = [len(part) for part in parts], sum(parts, [])
                maps.append(words("interleave", step["cycle"], step["block"]))
            else:
                break
        else:
            head = "%s ; %s%s" % (",".join(map(str, files)), " ; ".join(maps),
                                  "" if rows is None else " = " + words(*rows))
            got = [",".join(map(str, element)) if isinstance(element, list) else str(element)
                   for element in expect.get("elements", [])]
            lines.append(head + (" | refused" if "error" in expect else " | 0 all " + words(*got)))
    return list(dict.fromkeys(line.rstrip() for line in lines))


def batches(cases):
    """padded SIZE LENGTH VALUE DROP ; LENGTHS | BATCH / ..., or `refused`; ragged SIZE DROP ; ...
    Element i of the source is 100 * i + [0 .. LENGTHS[i]). LENGTH is `longest` or a number. The rows
    of a batch are separated by commas; `-` is one without values."""
    lines = []
    for case in cases:
        source, steps, expect = case["args"]["source"], case["args"]["steps"], case["expect"]
        step = steps[0]
        if source["kind"] != "ranges" or len(steps) > 1:
            continue
        if step["op"] == "padded_batch":
            to = "longest" if step["pad_to"] is None else step["pad_to"]
            head = words("padded", step["size"], to, step["value"], int(step["drop_remainder"]))
        elif step["op"] == "ragged_batch":
            head = words("ragged", step["size"], int(step["drop_remainder"]))
        else:
            continue
        got = [",".join(words(*row) or "-" for row in batch) for batch in expect["elements"]]
        lines.append("%s ; %s | %s" % (head, words(*source["lens"]),
                                       "refused" if "error" in expect else " / ".join(got)))
    return list(dict.fromkeys(lines))


def picture(array):
    """Numbers without a shape are a line of grey pixels."""
    return array.reshape(1, -1, 1) if array.ndim == 1 else array


def image(cases):
    """file NAME : HEX
    array NAME DTYPE HEIGHT WIDTH CHANNELS : HEX
    OP INPUT ARGUMENT ... | HEIGHT WIDTH CHANNELS DTYPE STEP HEX, or `refused`
    HEX has every STEP-th number of the result, at most 400; `sum` in the place of STEP: the 64 bits of
    FNV-1a of all bytes. Arguments are in the order of the vectors; None is `-`."""
    import numpy
    lines, inputs = [], []
    with open(os.path.join(sys.argv[1], "random", "cases.json"), encoding="utf-8") as file:
        drawn = [case for case in json.load(file) if case["op"].endswith(("brightness", "contrast"))]
    for case in cases + drawn:
        folder = os.path.join(sys.argv[1], "random" if case in drawn else "image")
        name, expect = case["inputs"]["image"]["file"], case["expect"]
        if case["op"] == "convert_image_dtype" and case["args"]["dtype"] != "float32":
            continue
        if name not in inputs:
            inputs.append(name)
            path = os.path.join(folder, name)
            if name.endswith(".npy"):
                array = picture(numpy.load(path))
                lines.append("array %s %s %s : %s" % (name, array.dtype, words(*array.shape),
                                                      array.tobytes().hex()))
            else:
                with open(path, "rb") as file:
                    lines.append("file %s : %s" % (name, file.read().hex() or "-"))
        given = []
        for value in case["args"].values():
            given += value if isinstance(value, list) else [int(value) if isinstance(value, bool) else value]
        head = words(case["op"], name, *["-" if value in (None, "") else value for value in given])
        if isinstance(expect, list):
            lines.append("%s | %s" % (head, words(*expect)))
            continue
        if "error" in expect:
            lines.append("%s | refused" % head)
            continue
        if "file" in expect:
            made = picture(numpy.load(os.path.join(folder, expect["file"])))
        else:
            made = numpy.array(expect["data"], expect["dtype"]).reshape(expect["shape"])
        if case["op"].startswith("decode"):
            total = 0xcbf29ce484222325
            for byte in made.tobytes():
                total = (total ^ byte) * 0x100000001b3 % 2**64
            lines.append("%s | %s %s sum %016x" % (head, words(*made.shape), made.dtype, total))
            if "crop" in case["op"]:
                lines[-1] = "%s | %s %s 1 %s" % (head, words(*made.shape), made.dtype, made.tobytes().hex())
            continue
        step = next(step for step in (1, 7, 11, 17, 23, 31, 43, 101) if made.size / step <= 400)
        lines.append("%s | %s %s %d %s" % (head, words(*made.shape), made.dtype, step,
                                           made.reshape(-1)[::step].tobytes().hex()))
    return lines


TOPICS = {"shuffle": shuffle, "order": order, "batches": batches,
          "rebatch": rebatch, "workers": workers, "index_shuffle": index_shuffle, "numeric": numeric,
          "one_hot": one_hot, "clip": clip, "reduce": reduce,
          "fixed": fixed, "decode": decode, "image": image, "example": example, "parse_example": parse_example, "random": random}
FOLDERS = {"workers": "rebatch", "decode": "numeric", "one_hot": "numeric", "clip": "numeric", "fixed": "text", "batches": "order", "parse_example": "example"}


def main():
    topics = sys.argv[2:] or TOPICS
    for topic in topics:
        folder = FOLDERS.get(topic, topic)
        with open(os.path.join(sys.argv[1], folder, "cases.json"), encoding="utf-8") as file:
            cases = json.load(file)
        name = os.path.join(os.path.dirname(os.path.abspath(__file__)), topic + ".txt")
        with open(name, "w", encoding="utf-8") as file:
            file.write(HEADER + "\n".join(TOPICS[topic](cases)) + "\n")


main()
