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


def random(cases):
    """key SEED SEED : KEY COUNTER, 64 bits each
    narrow SEED SEED : words of 32 bits, in order
    wide SEED SEED : words of 64 bits"""
    lines = []
    for case in cases:
        args, expect = case["args"], case["expect"]
        if case["op"] == "stateless_key_counter":
            lines.append("key %d %d : %s %s" % (*args["seed"], expect["key"][0],
                                                expect["counter"][1]))
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


TOPICS = {"shuffle": shuffle, "order": order,
          "rebatch": rebatch, "index_shuffle": index_shuffle, "numeric": numeric,
          "one_hot": one_hot, "reduce": reduce,
          "fixed": fixed, "random": random}
FOLDERS = {"one_hot": "numeric", "fixed": "text"}


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
