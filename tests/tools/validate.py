#!/usr/bin/env python3
"""`tundish validate` and `tundish explain`."""
import gzip
import io
import json
import os
import re
import shutil
import tarfile

import numpy

from command import BUILD, FED, FEED, arrays, free_port, holds, main, run, same, topology

HOSTS = ("port: 7100\ninsecure: true\nhosts:\n  a: {actors: [batch]}\n"
         "  b: {address: 192.0.2.7, data: /far, actors: [read]}\n"
         "  c: {actors: [feed]}\n")


def graph(folder, **more):
    return topology(folder, actors=FEED % "", links=FED, **more)


def test_a_good_graph_is_ok(folder):
    arrays(folder)
    code, out, err = run("validate", graph(folder))
    same((code, err), (0, ""))
    holds(out, "ok: 3 instances of actors, 2 connections, 1 chain, 1 host")


def test_the_memory_of_devices_is_told(folder):
    arrays(folder)
    path = topology(folder, batch="size: 32, replicas: 2, remainder: drop", links=FED,
                    actors=FEED % ', devices: ["sim:[0-1]"], depth: 3, spare: 1, cast: {x: {to: f16}}')
    code, out, err = run("validate", path)
    same((code, err), (0, ""))
    holds(out, "memory of sim:0 on local: ", "memory of sim:1 on local: ",
          ", for 3 batches and 1 spare")
    code, out, err = run("explain", path, "--json")
    same((code, err), (0, ""))
    host, = json.loads(out)["hosts"]
    columns = 16 * 3 * 2 + 32, 16 * 8  # of 16 rows, in whole cache lines
    same([(device["device"], device["bytes"]) for device in host["memory"]["devices"]],
         [("sim:0", 4 * sum(columns)), ("sim:1", 4 * sum(columns))])


def test_auto_is_every_device_of_cuda_and_those_without_replicas_are_one_warning(folder):
    arrays(folder)
    driver = {"LD_LIBRARY_PATH": str(BUILD / "tests" / "support" / "cuda" / "whole"), "TND_CUDA_DEVICES": "5"}
    path = topology(folder, batch="size: 32, replicas: 2, remainder: drop", links=FED,
                    actors=FEED % ", devices: auto, depth: 3, spare: 1, cast: {x: {to: f16}}")
    code, out, err = run("validate", path, env=driver)
    same(code, 0)
    holds(err, "warning[T071]: 2 replicas on 5 devices: `cuda:2` and 2 others have nothing to do", "1 warning")
    code, out, err = run("explain", path, "--json", env=driver)
    host, = json.loads(out)["hosts"]
    fed, shown = 16 * 3 * 4 + 16 * 8, 16 * 3 * 2 + 32 + 16 * 8
    fed += 64 * 64  # what aligns the pieces of a batch
    # Rows that the device casts are there twice; without kernels, the host casts them.
    found = [(device["device"], device["bytes"]) for device in host["memory"]["devices"]]
    assert found in ([("cuda:0", 4 * bytes), ("cuda:1", 4 * bytes)] for bytes in (shown, shown + fed)), found


def test_all_errors_come_in_one_pass(folder):
    path = graph(folder, batch="sise: 32, replicas: none")
    path.write_text(path.read_text().replace("kind: reader", "kind: raeder"))
    code, out, err = run("validate", path)
    same((code, out), (78, ""))
    holds(err, "did you mean `reader`?", "did you mean `size`?", "replicas", f"{path}:", "errors")


def test_errors_are_json_when_asked(folder):
    arrays(folder)
    code, out, err = run("validate", graph(folder, batch="sise: 32"), "--json")
    same((code, err), (78, ""))
    told = json.loads(out)
    same(told["ok"], False)
    assert any(one["line"] > 0 and "sise" in one["text"] for one in told["diagnostics"]), told


def test_a_setting_that_names_nothing_is_an_error(folder):
    arrays(folder)
    code, _, err = run("validate", graph(folder), "--set", "bacth.size=4")
    same(code, 78)
    holds(err, "--set", "bacth", "did you mean `batch`?")
    code, _, err = run("validate", graph(folder), "--set", "epochs=4")
    same(code, 78)
    holds(err, "`epochs` is neither an actor with an option nor a key of the top level", "did you mean `read.epochs`?")


def test_a_missing_topology_is_an_error(folder):
    code, _, err = run("validate", folder / "none.yaml")
    same(code, 78)
    holds(err, "none.yaml")


def test_a_missing_data_file_is_named(folder):
    code, out, err = run("validate", graph(folder))
    same((code, out), (78, ""))
    holds(err, str(folder / "x.npy"))


def test_columns_of_different_counts_are_refused(folder):
    arrays(folder)
    numpy.save(folder / "y.npy", numpy.zeros(99, "i8"))
    code, _, err = run("validate", graph(folder))
    same(code, 78)
    holds(err, "99", "100")


def shared_out(folder, read, lanes=2):
    """Two columns in four files each, read by this; three lanes."""
    for column in "xy":
        for part in range(4):
            numpy.save(folder / f"{column}{part}.npy", numpy.arange(part + 3))
    path = graph(folder, top=f"lanes: {lanes}\n", read=read, batch="size: 32, replicas: 2")
    path.write_text(path.read_text().replace("/x.npy", "/x[0-3].npy").replace("/y.npy", "/y*.npy"))
    return path


def test_files_are_shared_out_among_lanes(folder):
    path = shared_out(folder, ", shard: file")
    code, _, err = run("validate", path)
    same(code, 0, err)
    code, out, _ = run("explain", path, "--json")
    same(json.loads(out)["chains"][0]["rows"], 3 + 4 + 5 + 6)


def test_too_few_files_for_lanes_are_refused(folder):
    code, _, err = run("validate", shared_out(folder, ", shard: file", lanes=5))
    same(code, 78)
    holds(err, "column `x`", "4 files for 5 lanes", "shard: index")


def test_files_that_differ_between_columns_are_refused_by_name(folder):
    path = shared_out(folder, ", shard: file")
    numpy.save(folder / "y3.npy", numpy.arange(5))
    numpy.save(folder / "y2.npy", numpy.arange(6))
    code, _, err = run("validate", path)
    same(code, 78)
    holds(err, "y2.npy has 6 rows", "x2.npy has 5", "file by file")


def test_hosts_with_files_of_their_own_need_names_that_all_know(folder):
    path = shared_out(folder, ", shard: file")
    over = folder / "over.yaml"
    over.write_text("port: 7100\nhosts:\n" + "".join(
        f"  {host}: {{actors: [read, batch, feed], data: {folder}/{host}}}\n" for host in "ab"))
    for lane, host in enumerate("ab"):
        (folder / host).mkdir()
        for part in (lane, lane + 2):
            for column in "xy":
                (folder / f"{column}{part}.npy").rename(folder / host / f"{column}{part}.npy")
    ranges = path.read_text().replace("y*", "y[0-3]")
    path.write_text(ranges.replace("[0-3]", "*"))
    code, _, err = run("validate", path, over)
    same(code, 78)
    holds(err, "b find different files by the same pattern", "part-[00-15].npy")
    path.write_text(ranges)
    code, _, err = run("validate", path, over)
    same(code, 0, err)


def test_rows_of_files_that_are_read_count_as_memory(folder):
    arrays(folder)
    what = "of files that are read and not mapped"
    holds(run("explain", graph(folder, read=", access: read"))[1], what)
    assert what not in run("explain", graph(folder, read=", access: map"))[1]


def test_how_files_come_into_memory_is_explained(folder):
    arrays(folder)
    told = run("explain", graph(folder))[1]
    holds(told, "mapped from the first row to the last")
    told = run("explain", graph(folder, read=", shuffle: global"))[1]
    holds(told, "mapped at random: the page cache may use ")
    told = run("explain", graph(folder, read=", shuffle: global, access: read"), "--json")[1]
    files = json.loads(told)["chains"][0]["files"]
    same((files["mapped"], files["fits"]), (0, True))
    same(files["read"], sum((folder / f"{name}.npy").stat().st_size for name in "xy"))


def test_only_sources_of_files_can_be_shared_out_by_file(folder):
    path = graph(folder, read=", shard: file", top="lanes: 2\n")
    path.write_text(path.read_text().replace("npy: {x", "memory: {x"))
    code, _, err = run("validate", path)
    same(code, 78)
    holds(err, "`memory` has no files", "shard: index", f"{path}:")


def own_replicas(folder, read, batch, lanes=2):
    """Where lanes are to feed replicas of their own: the exit code, and what is said."""
    arrays(folder)
    return run("validate", graph(folder, top=f"lanes: {lanes}\n", read=read, batch=batch))


def test_lanes_need_as_many_replicas_each(folder):
    for read, batch, said in (
            (", shard: pieces", "size: 6, replicas: 3", "`shard: pieces`: each lane feeds replicas of its own, but 2 lanes do not divide 3 replicas"),
            ("", "size: 6, replicas: 3, apart: true", "`apart: true`: each lane feeds replicas of its own, but 2 lanes do not divide 3 replicas"),
            ("", "size: 3, replicas: 4, apart: true", "a batch of 3 rows leaves some of 4 replicas without rows in every step, with `split: rebatch_v2`"),
            ("", "size: 6, replicas: 4, split: rebatch_legacy, apart: true", "a batch of 6 rows leaves some of 4 replicas"),
            ("", "size: 7, replicas: 4, split: rebatch_legacy, apart: true, skip: 3", "a batch of a lane lasts 2 steps, and `skip` would end within one"),
            (", shard: pieces, order: [{shard: {count: lanes, index: lane}}]", "size: 6, replicas: 2", "with `shard: pieces` each lane has all rows")):
        code, _, err = own_replicas(folder, read, batch)
        same(code, 78, err)
        holds(err, said, "error[T0")
        assert re.search(r"\.yaml:\d+:\d+: error", err), err
    for batch in ("size: 4, replicas: 4, apart: true", "size: 7, replicas: 4, split: rebatch_legacy, apart: true, skip: 4",
                  "size: 8, replicas: 4, split: rebatch_v2, apart: true, skip: 3"):
        code, _, err = own_replicas(folder, "", batch)
        same((code, "error" in err), (0, False), err)


def test_auto_is_what_tensorflow_does_and_explained(folder):
    arrays(folder)
    (folder / "text.txt").write_text("1\n2\n")
    (folder / "more.txt").write_text("3\n")
    text = "text: {files: [%s, %s]}" % (folder / "text.txt", folder / "more.txt")
    for source, shard, batch, wanted in (
            (None, "auto", "", {"shard": ("pieces", "`npy` is an array"), "split": ("rebatch_legacy", "the reader has `shard: pieces`")}),
            (text, "auto", "", {"shard": ("file", "`text` reads files"), "split": ("rebatch_v2", "`text` reads files")}),
            (None, "index", "", {"split": ("rebatch_legacy", "`npy` is an array or a callback in TensorFlow")}),
            (None, "off", ", apart: true", {"split": ("rebatch_v2", "not by pieces")})):
        path = graph(folder, top="lanes: 2\n", read=f", shard: {shard}", batch=f"size: 8, replicas: 4, split: auto{batch}")
        if source:
            path.write_text(re.sub(r"source: \{npy: \{.*?\}\}", "source: {%s}" % source, path.read_text()))
        code, out, err = run("explain", path, "--json")
        same(code, 0, err)
        chain = json.loads(out)["chains"][0]
        same({choice["option"]: choice["chosen"] for choice in chain["choices"]}, {key: value[0] for key, value in wanted.items()})
        for choice in chain["choices"]:
            holds(choice["why"], wanted[choice["option"]][1])
        same(chain["lanes"], "pieces" if "pieces" in str(wanted) and shard == "auto" and not source else "apart" if batch else "together")
        code, out, _ = run("explain", path)
        holds(out, *(f"{value[0]} (auto): " for value in wanted.values()))
    one = graph(folder, read=", shard: auto", batch="size: 8, split: auto")
    # The graph has what it means: a run resumes with it written out.
    written = folder / "written.yaml"
    written.write_text(one.read_text().replace("shard: auto", "shard: pieces").replace("split: auto", "split: rebatch_legacy"))
    same(run("diff", "--graph", one, written)[0], 0)


def test_what_is_skipped_and_taken_must_leave_rows(folder):
    arrays(folder)
    same(run("validate", graph(folder, read=", skip: 99, take: 5"))[0], 0)
    code, _, err = run("validate", graph(folder, read=", skip: 100"))
    same(code, 78)
    holds(err, "`skip: 100` leaves no row: the source has 100")
    same(run("validate", graph(folder, read=", take: 0"))[0], 78)


def test_records_without_a_description_are_read_as_the_file_says(folder):
    """CIFAR-10: a byte for the label, then the picture, in five files."""
    draw = numpy.random.default_rng(3)
    records = draw.integers(0, 256, (5, 20, 3073)).astype("u1")
    for number, part in enumerate(records):
        part.tofile(folder / f"data_batch_{number + 1}.bin")
    path = graph(folder, batch="size: 100")
    text = path.read_text()
    line = next(one for one in text.splitlines() if "kind: reader" in one)
    path.write_text(text.replace(line, '  read: {kind: reader, source: {raw: {files: "${data}/'
                                 'data_batch_*.bin", columns: {label: u8, image: "u8[3,32,32]"}}}}'))
    code, out, err = run("head", path, "--steps", "1", "--json")
    same((code, err), (0, ""))
    columns = json.loads(out.splitlines()[0])["columns"]
    same(columns["label"]["data"], records[:, :, 0].flatten().tolist())
    same(columns["image"]["shape"][-3:], [3, 32, 32])
    same(columns["image"]["data"], records[:, :, 1:].flatten().tolist())


def test_an_operation_that_does_not_fit_the_data_is_refused(folder):
    arrays(folder)
    path = topology(folder, actors=FEED % "" + "  prep: {kind: preprocessor, ops: [{cast: "
                    "{column: nothing, to: f64}}]}\n", links=["read -> prep -> batch -> feed"])
    code, _, err = run("validate", path)
    same(code, 78)
    holds(err, "nothing")


def place(text, path, word):
    """The place of `word` in a file, as errors name it."""
    for number, line in enumerate(path.read_text().split("\n"), 1):
        if word in line:
            return f"{path}:{number}:{line.index(word) + 1}: error[{text}]"
    raise AssertionError(word)


def test_validate_and_run_report_all_missing_files_in_one_pass(folder):
    path = topology(folder, actors=FEED % ", devices: [\"gpu:0\", \"cpu:0\"], step: {plugin: nosuch}",
                    links=FED, batch="size: 32, replicas: 2")
    for command in ("validate", "run"):
        code, _, err = run(command, path)
        same(code, 78, command)
        holds(err, place("T064", path, '"gpu:0"') + ": feed: device 'gpu:0' is unknown; did you mean cuda:0?",
              place("T063", path, "nosuch") + ": feed: step plugin nosuch.so is in none of",
              place("T061", path, '"${data}/x.npy"') + ": read: ",
              place("T061", path, '"${data}/y.npy"') + ": read: ", "4 errors")


def test_missing_files_are_reported_with_errors_of_the_graph(folder):
    path = topology(folder, actors=FEED % ", step: {plugin: nosuch}", links=FED, batch="sise: 32")
    for command in ("validate", "run"):
        code, _, err = run(command, path)
        same(code, 78, command)
        holds(err, place("T061", path, '"${data}/x.npy"'), place("T063", path, "nosuch"),
              place("T012", path, "sise"), "4 errors")


def test_an_operation_that_does_not_fit_is_an_error_of_every_command(folder):
    arrays(folder)
    path = topology(folder, actors=FEED % "" + "  prep: {kind: preprocessor, ops: [{cast: "
                    "{column: x, to: f64}}, {cast: {column: yy, to: f64}}]}\n",
                    links=["read -> prep -> batch -> feed"])
    for command in ("validate", "run", "head"):
        code, _, err = run(command, path)
        same(code, 78, command)
        holds(err, place("T062", path, "yy, to") + ": prep: operation 2, `cast`: unknown column "
              "`yy`", "did you mean `y`?", "1 error")


def test_how_a_reducer_adds_is_refused_where_this_program_cannot(folder):
    arrays(folder)

    def reducer(options):
        return topology(folder, actors=FEED % "" + f"  mean: {{kind: reducer{options}}}\n",
                        links=FED[:-1] + [FED[-1] + " <-> mean"])

    def fingerprint(path):
        return json.loads(run("explain", path, "--json")[1])["fingerprint"]
    plain = fingerprint(reducer(""))
    for options in (", order: tree", ", through: auto", ", through: host", ", order: tree, through: host"):
        path = reducer(options)
        same(run("validate", path)[0], 0, options)
        same(fingerprint(path), plain, options)
    tree = "write `order: tree`, which gives the same bits everywhere"
    for command in ("validate", "run"):
        path = reducer(", through: nccl")
        code, _, err = run(command, path)
        same(code, 78, command)
        holds(err, place("T062", path, "nccl}") + ": feed: `through: nccl` is not possible on `local`: NCCL needs devices "
              "of CUDA, and a replica is on cpu:0", "`through: host` adds on the processors, with the same bits", "1 error")
        path = reducer(", through: host, order: any")
        code, _, err = run(command, path)
        same(code, 78, command)
        holds(err, place("T062", path, "any}") + ": mean: `order: any` is not possible: what carries the "
              "values adds along the tree; " + tree, "1 error")
        for through in ("auto", "nccl"):
            path = reducer(f", through: {through}, order: any")
            code, _, err = run(command, path)
            same(code, 78, command)
            holds(err, place("T062", path, "any}") + ": feed: `order: any` is not possible on `local`: NCCL needs devices "
                  "of CUDA, and a replica is on cpu:0", "`order: tree` adds on the processors", "1 error")
    code, _, err = run("validate", reducer(", order: ring"))
    same(code, 78)
    holds(err, "ring", "tree", "any")


LEAKING = "rows that are kept for validation are trained on"
FIXED = "reshuffle_each_iteration: false"


def order_of(folder, reader, ops="{cast: {column: x, to: f64}}"):
    """What `validate` writes of a reader with these options and such operations."""
    arrays(folder)
    prep = f"  prep: {{kind: preprocessor, ops: [{ops}]}}\n" + FEED % ""
    status, _, err = run("validate", topology(folder, columns="x", read=", " + reader, actors=prep, links=["read -> prep -> batch -> feed"]))
    same(status, 0, err)
    return err


def test_an_order_that_chooses_other_rows_in_each_epoch_is_a_warning_with_the_one_that_was_meant(folder):
    for reader, meant in (
            ("epochs: 2, order: [{global: {seed: 1}}, {take: 80}, {global: {}}]",
             f"[{{index_shuffle: {{seed: 1, {FIXED}}}}}, {{take: 80}}, {{global: {{}}}}]"),
            ("epochs: forever, order: [global, {skip: 1}]", f"[{{index_shuffle: {{{FIXED}}}}}, {{skip: 1}}]"),
            ("order: [{shuffle: 10}, {skip: 80}, {repeat: 3}]",
             f"[{{shuffle: {{buffer: 10, {FIXED}}}}}, {{skip: 80}}, {{repeat: 3}}]"),
            ("epochs: 2, order: [{files: {shuffle: {}}}, {part: {of: [80, 20], index: 0}}, {global: {}}]",
             f"[{{files: {{shuffle: {{{FIXED}}}}}}}, {{part: {{of: [80, 20], index: 0}}}}, {{global: {{}}}}]"),
            ("epochs: 2, order: [{files: {shuffle: {seed: 4}}}, {shard: {count: 5, index: 1}}]",
             f"[{{files: {{shuffle: {{seed: 4, {FIXED}}}}}}}, {{shard: {{count: 5, index: 1}}}}]")):
        holds(order_of(folder, reader), "warning[T078]: `", LEAKING, f"write `order: {meant}`", "1 warning")
        epochs = reader.split("order:")[0]
        same(order_of(folder, f"{epochs}order: {meant}"), "")


def test_an_order_that_chooses_the_same_rows_in_each_epoch_is_no_warning(folder):
    for reader in ("epochs: 1, order: [{global: {}}, {take: 80}]", "epochs: 2, order: [{take: 80}, {global: {}}]",
                   "epochs: 2, shuffle: global, skip: 1, take: 80", "order: [{repeat: 2}, {global: {}}, {take: 80}]",
                   "epochs: 2, order: [{shuffle: 10}, {take: all}, {skip: 0}, {shard: {count: 1, index: 0}}]"):
        same(order_of(folder, reader), "")


def test_a_filter_of_numbered_positions_of_a_shuffled_reader_is_a_warning(folder):
    direct = "{enumerate: {into: i}}, {filter: {expr: \"i % 5 != 0\"}}"
    derived = "{enumerate: {into: i}}, {compute: {j: \"i % 5\"}}, {filter: {column: j, op: ne, value: 0}}"
    for ops in (direct, derived):
        holds(order_of(folder, "epochs: 2, shuffle: global", ops), "warning[T078]: `filter`", LEAKING, "choose them in `read`, before the shuffle")
        for reader in ("epochs: 1, shuffle: global", "epochs: 2"):
            same(order_of(folder, reader, ops), "")


def test_a_model_that_is_evaluated_on_other_columns_is_a_warning(folder):
    arrays(folder)
    second = ("  r2: {kind: reader, source: {npy: {x: \"${data}/x.npy\"}}}\n"
              "  p2: {kind: preprocessor, ops: [{cast: {column: x, to: f64}}]}\n"
              "  b2: {kind: batcher, size: 10}\n  test: {kind: feeder, after: feed}\n")
    path = topology(folder, actors=FEED % "" + second, links=FED + ["r2 -> p2 -> b2 -> test"])
    code, out, err = run("validate", path)
    same(code, 0)
    holds(out, "ok: ")
    holds(err, "warning[T075]: `test` is fed x f64[3], but the models of `feed` are trained on x "
          "f32[3]", "1 warning")


def test_what_only_another_host_can_check_is_listed(folder):
    over = folder / "over.yaml"
    over.write_text(HOSTS)
    code, out, _ = run("validate", graph(folder), over)
    same(code, 0)
    holds(out, "the files of read can be checked only on host b")
    told = json.loads(run("validate", graph(folder), over, "--json")[1])
    same(told["awaits"], [{"host": "b", "actor": "read"}])


def test_data_may_come_from_the_environment(folder):
    arrays(folder)
    path = graph(folder)
    path.write_text(path.read_text().replace(f"data: {folder}\n", ""))
    same(run("validate", path)[0], 78)
    same(run("validate", path, env={"TUNDISH_DATA": str(folder)})[0], 0)
    same(run("validate", path, "--data", folder)[0], 0)


def test_all_errors_of_a_source_are_reported_at_once(folder):
    arrays(folder)
    numpy.save(folder / "o.npy", numpy.array([{}], dtype=object), allow_pickle=True)
    (folder / "z.bin").write_bytes(bytes(100))
    path = graph(folder)
    whole = path.read_text()
    npy = "{npy: {x: gone.npy, z: [/also.npy, y.npy], o: \"${data}/o.npy\"}}"
    raw = "{raw: {files: gone.bin, columns: {a: u9, b: {dtype: f99, shap: [3], shape: [0]}}}}"
    for source, words in ((npy, [f"gone.npy: no such file in the working directory {os.getcwd()};", "/also.npy: no such file;",
                                 "y.npy: no such file", "Python objects", "4 errors"]),
                          (raw, ["gone.bin: no such", "`a` needs a type", "no option `shap`",
                                 "`b` needs `dtype`", "`b`: `shape`", "5 errors"])):
        path.write_text(re.sub("source: .*}}", f"source: {source}}}", whole))
        code, _, err = run("validate", path)
        same(code, 78)
        holds(err, *words)


def test_spare_batches_are_part_of_the_memory_sum(folder):
    arrays(folder)
    with_two = run("explain", graph(folder))[1]
    holds(with_two, "feed: 2 spare batches, for tensors of earlier steps")
    assert "spare batches" not in run("explain", graph(folder), "--set", "feed.spare=0")[1]


def test_threads_that_gather_are_part_of_the_memory_sum(folder):
    arrays(folder)

    def threads(*options):
        text = run("explain", graph(folder), *options)[1]
        return int(re.search(r"1 MiB for each of (\d+) threads", text).group(1)), text

    alone, text = threads()
    assert "threads gather" not in text, text
    several, text = threads("--set", "feed.gather=3")
    same(several, alone + 2)
    holds(text, "feed: the parts that 3 threads gather")


def test_explain_shows_what_it_knows_and_fails_where_a_plugin_is_missing(folder):
    arrays(folder)
    path = graph(folder)
    path.write_text(path.read_text().replace("kind: feeder", "kind: feeder, step: {plugin: gone}"))
    code, out, err = run("explain", path)
    same(code, 78, err)
    holds(err, "T063", "gone")
    holds(out, "connections")


def test_explain_shows_every_actor_and_how_they_connect(folder):
    arrays(folder)
    over = folder / "over.yaml"
    over.write_text(HOSTS.replace("192.0.2.7, data: /far", f"127.0.0.1, data: {folder}"))
    code, out, err = run("explain", graph(folder), over)
    same((code, err), (0, ""))
    holds(out, "read.0", "batch.0", "feed", "memory of c", "x f32[3], y i64", "tcp://127.0.0.1:7100")
    told = json.loads(run("explain", graph(folder), over, "--json")[1])
    same([(one["from"], one["to"], one["transport"], one["connects"])
          for one in told["connections"]],
         [("read.0", "batch.0", "ipc", "batch.0"), ("batch.0", "feed", "ipc", "feed")])
    same([host["name"] for host in told["hosts"]], ["a", "b", "c"])
    same(told["chains"][0]["fed"]["x"], {"dtype": "f32", "shape": [3]})
    for host in told["hosts"]:
        memory = host["memory"]
        same(memory["bytes"], sum(term["bytes"] for term in memory["terms"]))
    slots = [term["bytes"] for term in told["hosts"][2]["memory"]["terms"]
             if term["actor"] == "feed" and term["what"].startswith("slots")]
    same(slots, [256 * 32 * (3 * 4 + 8)])


# Rows of x f32[3] and y i64 in blocks of 10, made to x f64[3]; batches of 32 for 3 replicas of 11, 11, 10.
READ, MADE, BLOCK, BATCH, DEPTH, SHARE, WINDOW = 12 + 8, 24 + 8, 10, 32, 3, 11, 32
MACHINE = (1, 5 << 20)  # what a machine of the core takes is not a matter of rows


def power_of_two(size):
    return 1 << max(size - 1, 63).bit_length()


def packed(rows, *columns):
    """Columns of so many bytes a row, each in a buffer of its own."""
    return sum(power_of_two(rows * column) for column in columns)


def memory_of(path, *overlays):
    told = json.loads(run("explain", path, *overlays, "--json")[1])
    return {host["name"]: [(term["actor"], re.sub(r"\d+", "#", term["what"]), term["bytes"])
                           for term in host["memory"]["terms"]] for host in told["hosts"]
            if "memory" in host}


def same_terms(got, wanted):
    same([term[:2] for term in got], [term[:2] for term in wanted])
    for (actor, what, bytes_), (_, _, wanted_bytes) in zip(got, wanted):
        if isinstance(wanted_bytes, tuple):
            least, most = wanted_bytes
            assert least <= bytes_ <= most, (actor, what, bytes_, wanted_bytes)
        else:
            same(bytes_, wanted_bytes, f"{actor}: {what}")


def test_the_memory_sum_has_exactly_these_terms(folder):
    arrays(folder)
    path = folder / "graph.yaml"
    path.write_text(f"tundish: 1\nseed: 7\ndata: {folder}\nactors:\n"
                    "  read: {kind: reader, source: {npy: {x: \"${data}/x.npy\", y: \"${data}/y.npy\"}}}\n"
                    "  prep: {kind: preprocessor, ops: [{scale: {column: x, to: f64, factor: 2}}]}\n"
                    f"  batch: {{kind: batcher, size: {BATCH}, replicas: 3, block: {BLOCK} rows}}\n"
                    f"  feed: {{kind: feeder, depth: {DEPTH}}}\n  mean: {{kind: reducer}}\n"
                    "links:\n  - read -> prep -> batch -> feed <-> mean\n")
    mib = 1 << 20
    window = (WINDOW * BLOCK + BATCH + 1) * MADE
    # What may be alive: the window, what feeders hold, and two blocks that end and begin there; and
    # one block that is being read.
    alive = WINDOW * BLOCK + BATCH + 1 + DEPTH * BATCH + 2 * BLOCK + BLOCK
    slots = DEPTH * 3 * SHARE
    tickets = ("read.0", "its list of tickets", MACHINE)
    which = ("read.0", "which rows are in # rows of blocks", 8 * alive)
    one = ("one block of # rows coming in, one going out", BLOCK * (READ + MADE))
    blocks = ("batch.0", "its list of blocks", MACHINE)
    joined = ("batch.0", "window of # blocks of # rows, and # rows for a batch", window)
    slot_bytes = (slots * MADE, slots * MADE + DEPTH * 3 * 2 * 128)  # columns begin at cache lines
    spare = tuple(2 * bytes_ // DEPTH for bytes_ in slot_bytes)
    feed = [("feed", "slots of # batches, # rows each", slot_bytes),
            ("feed", "# spare batches, for tensors of earlier steps", spare),
            ("feed", "the same rows while they come, or where steps read them as they lie", None),
            ("feed", "reports of steps, until the leader has booked them", MACHINE)]

    def process(threads):
        """The lines that wait take 3 MiB; a page and rings of an actor less than 48 KiB, of which there are copies."""
        return [("process", "# MiB, and # MiB for each of # threads", (16 + threads) * mib),
                ("process", "observers: statistics, log, metrics, report", (3 * mib, 4 * mib + 10 * 6 * 48 * 1024))]

    def feeds(coming):
        return [*feed[:2], (*feed[2][:2], (coming + 2 * 3 * SHARE) * MADE), feed[3]]

    # A block that is read in the same process is one of the reader's.
    made = ("prep.0", "one block of # rows going out", BLOCK * MADE)
    same_terms(memory_of(path)["local"], [
        tickets, which, made, blocks, joined, *feeds(slots + 2 * BLOCK), *process(10)])

    over = folder / "over.yaml"
    over.write_text(f"port: {free_port()}\nhosts:\n  a: {{actors: [read, batch]}}\n"
                    "  b: {actors: [prep], workers: {prep: 2}}\n"
                    "  c: {actors: [feed, mean], devices: {feed: [\"cpu:0\", \"cpu:1\"]}}\n")
    got = memory_of(path, over)
    sent = (WINDOW + 1) * packed(BLOCK, 12, 8)
    same_terms(got["a"], [
        tickets, which, ("read.0", "# blocks of # rows, packed while they are sent", sent), blocks,
        joined, ("batch.0", "the same blocks while they are received", WINDOW * BLOCK * MADE),
        ("batch.0", "# batches while they are sent", DEPTH * 3 * packed(SHARE, 24, 8)), *process(6)])
    same_terms(got["b"], [
        ("prep.0", "blocks of lane # that wait, or are sent, at all of `prep` here",
         WINDOW * BLOCK * MADE), ("prep.0", *one), ("prep.1", *one), *process(6)])
    same_terms(got["c"], [*feeds(slots), *process(8)])

    over.write_text(f"port: {free_port()}\nhosts:\n  a: {{actors: [read]}}\n  b: {{actors: [prep, batch]}}\n"
                    "  c: {actors: [feed, mean]}\n")
    got = memory_of(path, over)
    same([name for name, terms in got.items()
          if any("while they are sent" in what for _, what, _ in terms)], ["a", "b"])
    same([what for actor, what, _ in got["b"] if actor == "batch.0"],
         ["its list of blocks", joined[1], "# batches while they are sent"])
    path.write_text(path.read_text().replace("kind: preprocessor", "kind: preprocessor, isolate: process"))
    got = memory_of(path)["local"]
    same([term for term in got if "threads" in term[1]],
         [process(10)[0], ("local.prep.0", "# MiB, and # MiB for each of # threads", 21 * mib)])


def test_explain_writes_options_as_people_do_with_the_workers_that_are_placed(folder):
    arrays(folder)
    path = topology(folder, read=", retry: 90s", links=["read -> prep -> batch -> feed"],
                    actors="  prep: {kind: preprocessor, ops: []}\n" + FEED % "")
    over = folder / "over.yaml"
    over.write_text("hosts:\n  a: {actors: [read, prep, batch, feed], workers: {prep: 3}}\n")
    code, out, err = run("explain", path, over)
    same((code, err), (0, ""))
    holds(out, "take: all,", "retry: 90s,", "retain: 64MiB", "{ops: [], workers: 3,")


def tuned(folder, rest="", prep=""):
    return topology(folder, read=rest, links=["read -> prep -> batch -> feed"],
                    actors="  prep: {kind: preprocessor, workers: auto, "
                           "ops: [{cast: {column: x, to: f64}}]%s}\n" % prep + FEED % "")


def test_tuned_workers_are_for_a_run_of_one_process(folder):
    arrays(folder)
    why = "error[T045]: `workers: auto` is for a run of one process"
    over = folder / "over.yaml"
    over.write_text("port: 7100\nhosts:\n  a: {actors: [read, batch, feed]}\n  b: {actors: [prep]}\n")
    code, out, err = run("validate", tuned(folder), over)
    same(code, 78)
    holds(err, why, "this one has 2", "such as `workers: 2`")
    code, out, err = run("validate", tuned(folder, prep=", isolate: process"))
    same(code, 78)
    holds(err, why)
    over.write_text(over.read_text().replace("[prep]}", "[prep], workers: {prep: 3}}"))
    same(run("validate", tuned(folder), over)[0], 0)


def test_tuned_workers_are_limited_by_cpu_and_memory(folder):
    arrays(folder)
    whole = run("explain", tuned(folder))[1]
    holds(whole, "workers: auto,")
    one = run("explain", tuned(folder), "--set", "cpu=0.01")[1]
    same(one.count(" preprocessor "), 1)
    if whole.count(" preprocessor ") == 1:
        return  # there is one core
    blocks = [line for line in whole.splitlines() if "prep." in line and "one block" in line]
    same(len(blocks), whole.count(" preprocessor "))
    # The least budget that is enough for one worker that is awake: with less, `depth: auto` is less.
    low, high = 16 * 1024, 1024 * 1024
    while high - low > 64:
        budget = (low + high) // 2
        fits = run("validate", tuned(folder), "--set", f"memory={budget}KiB")[0] == 0
        low, high = (low, budget) if fits else (budget, high)
    out = run("explain", tuned(folder), "--set", f"memory={high}KiB")[1]
    same([line.split()[2] for line in out.splitlines() if "prep." in line and "one block" in line],
         ["prep.0:"])


def test_isolated_actors_are_in_the_memory_of_their_host(folder):
    arrays(folder)
    path = graph(folder, read=", isolate: process")
    told = json.loads(run("explain", path, "--json")[1])["hosts"]
    same([(host["name"], host.get("parent")) for host in told],
         [("local", None), ("local.read.0", "local")])
    assert "memory" not in told[1], told[1]
    who = {term["actor"] for term in told[0]["memory"]["terms"]}
    assert {"process", "local.read.0", "read.0"} <= who, who
    holds(run("validate", path)[1], "memory of local: ")
    assert "memory of local.read" not in run("explain", path)[1] + run("validate", path)[1]
    for command in ("validate", "run"):
        code, _, err = run(command, path, "--set", "memory=8MiB")
        same(code, 78, command)
        holds(err, "host local may need ", "1 error")


def test_compressed_files_count_as_memory(folder):
    """They are unpacked when they are opened, and stay so."""
    raw = b"\0\0\x08\x01" + (4 << 20).to_bytes(4, "big") + bytes(4 << 20)
    (folder / "z.gz").write_bytes(gzip.compress(raw, 1))
    path = folder / "z.yaml"
    path.write_text(f"tundish: 1\nactors:\n  read: {{kind: reader, source: {{idx: {{z: {folder}/z.gz}}}}}}\n"
                    "  batch: {kind: batcher, size: 8}\n  feed: {kind: feeder}\nlinks:\n"
                    "  - read -> batch -> feed\n")
    terms = json.loads(run("explain", path, "--json")[1])["hosts"][0]["memory"]["terms"]
    loaded = [term["bytes"] for term in terms if "as stored in its files" in term["what"]]
    assert len(loaded) == 1 and 0 <= loaded[0] - (4 << 20) <= 64, terms


def test_files_are_not_spooled_to_check_them(folder):
    """The run makes the spool; its rows may be shuffled before there is one."""
    (folder / "lines.txt.gz").write_bytes(gzip.compress(b"".join(b"%d\n" % i for i in range(1000))))
    with tarfile.open(folder / "samples.tar.gz", "w:gz") as out:
        for number in range(10):
            data = tarfile.TarInfo(f"{number}.bin")
            data.size = 100
            out.addfile(data, io.BytesIO(bytes(100)))
    for source in ("text: {files: '${data}/lines.txt.gz'", "tar: {files: '${data}/samples.tar.gz'"):
        path = graph(folder)
        arrays = re.search(r"npy: \{.*?\}\}", path.read_text()).group(0)
        path.write_text(path.read_text().replace(
            arrays, source + ", spool: {dir: '${data}/spool', limit: 10MiB}}}"))
        words = path, "--set", "read.shuffle=global"
        env = {"XDG_CACHE_HOME": str(folder / "cache")}
        for command in ("validate", "explain"):
            code, _, err = run(command, *words, env=env)
            same((code, err), (0, ""))
            assert not (folder / "spool").exists()
        before = run("explain", *words, "--json", env=env)[1]
        same(run("run", *words, "--quiet", env=env)[0], 0)
        assert list((folder / "spool").iterdir())
        after = run("explain", *words, "--json", env=env)[1]
        shutil.rmtree(folder / "spool")
        bytes_before, bytes_after = (json.loads(text)["hosts"][0]["memory"]["bytes"] for text in (before, after))
        assert bytes_before >= bytes_after, (bytes_before, bytes_after)


def test_more_memory_than_the_machine_has_is_refused(folder):
    arrays(folder)
    path = topology(folder, actors=FEED % "", links=FED)
    for command in ("validate", "run"):
        code, _, err = run(command, path, "--set", "batch.size=1000000000")
        same(code, 78, command)
        assert re.search(r"host local may need [\d.]+ [GTP]iB, (this machine has|its control group "
                         r"allows) [\d.]+ [MGT]iB.*; most of it, [\d.]+ [GTP]iB, is for \S+ \(", err), err
        holds(err, "error[T065]", "what helps: a smaller `size:`")
    assert re.search(r"^memory of local: at most [\d.]+ MiB$", run("validate", path)[1], re.M)
    # Not only where batches have many rows.
    path.write_text(path.read_text().replace("  batch:", "  prep: {kind: preprocessor, ops: [{one_hot: {column: y, depth: 1000000}}]}\n  batch:")
                    .replace("read -> batch", "read -> prep -> batch"))
    code, _, err = run("run", path, "--set", "batch.size=100000", "--set", "feed.depth=64")
    same(code, 78, err)
    holds(err, "error[T065]", "host local may need")


def test_hosts_that_together_may_need_more_than_their_machine_has_are_warned_about(folder):
    """Two caches of 0.6 of it.  Hosts of other machines do not count."""
    arrays(folder)
    path = topology(folder, actors="  keep: {kind: cache, limit: 1MiB}\n" + FEED % "", top="lanes: 2\n",
                    batch="size: 50, replicas: 2", links=["read -> keep -> batch -> feed"])
    told = run("run", path, "--set", "batch.size=1000000000")[2]
    physical = "this machine has" in told
    size, unit = re.search(r"(?:this machine has|its control group allows) ([\d.]+) ([MGT])iB", told).groups()
    limit = int(float(size) * 0.6 * {"M": 1, "G": 1 << 10, "T": 1 << 20}[unit])
    over, keep = folder / "over.yaml", ("--set", f"keep.limit={limit}MiB")
    over.write_text(f"port: {free_port()}\nhosts:\n"
                    "  a: {address: 127.0.0.1, lanes: 1 each, actors: [read, keep, batch, feed]}\n"
                    "  b: {address: 127.0.0.1, lanes: 1 each, actors: [read, keep, batch, feed]}\n")
    same(run("validate", path, over, "--set", f"keep.limit={limit // 2}MiB")[::2], (0, ""))
    for command in ("validate", "explain", "up"):
        code, out, err = run(command, path, over, *keep)
        same(code, 0, err)
        holds(err if command != "up" else out + err, "warning", "the 2 hosts of this machine together may need",
              "this machine has" if physical else "this process's control group allows",
              "is for host a: `memory:` is the budget of each host")
    over.write_text(over.read_text().replace("b: {address: 127.0.0.1", "b: {address: 192.0.2.7") + "insecure: true\n")
    err = run("validate", path, over, *keep)[2]
    assert "together" not in err, err


def test_more_lanes_than_a_cursor_has_are_refused(folder):
    arrays(folder, rows=300)
    path = topology(folder, actors=FEED % "", links=FED, batch="size: 257, replicas: 1")
    same(run("validate", path, "--set", "lanes=256")[0], 0)
    code, _, err = run("validate", path, "--set", "lanes=257")
    same(code, 78)
    holds(err, "error[T015]: `lanes` expects a whole number of lanes from 1 to 256, not 257")


def test_the_advice_names_the_options_of_the_largest_terms(folder):
    """A picture of 16,777,216 pixels takes 9 bytes each while it is decoded: 144 MiB."""
    (folder / "x.txt").write_text("line\n" * 64)
    path = folder / "pictures.yaml"

    def refused(more, limit, *words):
        path.write_text("tundish: 1\nmemory: 150MiB\nactors:\n"
                        f"  read: {{kind: reader, source: {{text: {{files: {folder}/x.txt}}}}}}\n"
                        "  prep: {kind: preprocessor, ops: [{decode_image: {column: line" + more +
                        ", then: [{crop_to: {size: [8, 8]}}]}}]}\n"
                        f"  keep: {{kind: cache, limit: {limit}}}\n"
                        "  batch: {kind: batcher, size: 8}\n  feed: {kind: feeder}\n"
                        "links: [read -> prep -> keep -> batch -> feed]\n")
        code, out, err = run("validate", path)
        same(code, 78 if words else 0, out + err)
        holds(err, *words)

    refused("", "1MiB", "144 MiB, is for prep.0 (a picture while it is decoded (`max_pixels:`))",
            "the smallest budget that it fits into is `memory: ", "a smaller `max_pixels:` of prep.0;")
    refused("", "100MiB", "a smaller `max_pixels:` of prep.0, and a smaller `limit:` of keep.0;")
    refused(", max_pixels: 1000000", "1MiB")
    refused(", max_pixels: 1000000", "200MiB", "what helps otherwise: a smaller `limit:` of keep.0;")
    # The rows of 500 spare batches, and their slots.
    path.write_text(path.read_text().replace("limit: 200MiB", "limit: 1MiB").replace(
        "size: 8}", "size: 1000}").replace("kind: feeder}", "kind: feeder, spare: 500}"))
    code, _, err = run("validate", path)
    same(code, 78, err)
    holds(err, "is for feed (", ", and a smaller `spare:` of feed; ")


def test_the_smallest_budget_is_right_at_the_first_try(folder):
    """Slots, windows and blocks grow with the budget."""
    numpy.save(folder / "x.npy", numpy.zeros((4096, 128), "f4"))
    (folder / "x.txt").write_text("line\n" * 5000)
    for lane in range(8):
        (folder / f"{lane}.txt").write_text("line\n" * 64)
    npy, clip = f"source: {{npy: {{x: {folder}/x.npy}}}}", "ops: [{clip: {column: x, min: 0, max: 1}}]"
    text, one = f"source: {{text: {{files: {folder}/x.txt}}}}", "ops: [{constant: {into: c, value: 1}}]"
    graphs = {  # of each: top, reader, actor between, batcher, feeder
        "large batches": ("", npy, "", "size: 4096", ""),
        "small steps": ("", npy, "", "size: 4", ""),
        "workers by need": ("", npy, "preprocessor, workers: auto, " + clip, "size: 256", ""),
        "a cache": ("", npy, "cache, limit: 100MiB", "size: 64", ""),
        "an isolated reader": ("", npy + ", isolate: process", "", "size: 64", ""),
        "replicas and spare batches": ("", npy, "", "size: 512, replicas: 8", ", devices: [cpu:0, cpu:1], spare: 9"),
        "ragged rows": ("", text, "preprocessor, " + one, "size: 1000, bytes: 40MiB", ""),
        "lanes": ("lanes: 8\n", f"source: {{text: {{files: '{folder}/[0-7].txt'}}}}, shard: file", "", "size: 64", ""),
    }
    path = folder / "budget.yaml"
    for name, (top, reader, between, batcher, feeder) in graphs.items():
        path.write_text(f"tundish: 1\n{top}actors:\n  read: {{kind: reader, {reader}}}\n" +
                        (f"  mid: {{kind: {between}}}\n" if between else "") +
                        f"  batch: {{kind: batcher, {batcher}}}\n  feed: {{kind: feeder{feeder}}}\n"
                        f"links: [read -> {'mid -> ' if between else ''}batch -> feed]\n")

        def advised(budget, command="validate"):
            code, _, err = run(command, path, "--set", f"memory={budget}MiB")
            found = re.search(r"smallest budget that it fits into is `memory: (\d+)MiB`", err)
            same(code, 0 if found is None else 78, (name, err))
            return found and int(found[1])
        least = advised(1)
        same((advised(least), advised(least, "run"), advised(least - 1), advised(least // 2)),
             (None, None, least, least), name)


def test_a_missing_file_is_reported_beside_other_errors_of_its_reader(folder):
    arrays(folder)
    path = topology(folder, read=", epoch: 3", actors=FEED % "", links=FED)
    (folder / "y.npy").unlink()
    for settings, words in (((), ("has no option `epoch`",)),
                            (("--set", "read.take=-1"), ("`take` expects", "has no option `epoch`")),
                            (("--set", 'read.source.npy.z=["${data}/gone.npy", [1]]'),
                             ("has no option `epoch`", str(folder / "gone.npy")))):
        code, _, err = run("validate", path, *settings)
        same(code, 78)
        holds(err, f"{folder}/y.npy: no such file", *words)
    # And where a source has an error of its own.
    path.write_text(path.read_text().replace("npy: {x", "raw: {recrd: 4B, files: gone.bin, columns: {x: u8}}}, shard: file, unknown: {npy: {x"))
    code, _, err = run("validate", path)
    same(code, 78)
    holds(err, "gone.bin: no such file", "has no option `recrd`", "has no option `unknown`")


def test_a_memory_sum_above_the_budget_is_refused(folder):
    arrays(folder)
    path = graph(folder)
    same(run("validate", path, "--set", "memory=1GiB")[0], 0)
    for command in ("validate", "explain", "run"):
        code, _, err = run(command, path, "--set", "memory=8MiB")
        same(code, 78, command)
        holds(err, "`memory:` allows 8 MiB", "MiB, is for")
    least = int(re.search(r"fits into is `memory: (\d+)MiB`", err).group(1))
    same(run("validate", path, "--set", f"memory={least}MiB")[0], 0)
    same(run("validate", path, "--set", f"memory={least - 1}MiB")[0], 78)


def test_the_fingerprint_knows_the_graph_and_not_its_place(folder):
    arrays(folder)
    path = graph(folder)

    def fingerprint(*words):
        return json.loads(run("explain", path, "--json", *words)[1])["fingerprint"]
    base = fingerprint()
    same(len(base), 32)
    same(fingerprint("--set", "feed.depth=5"), base)
    assert fingerprint("--set", "batch.size=31") != base
    assert fingerprint("--set", "seed=8") != base


def test_replicas_without_rows_are_warned_about(folder):
    """100 rows in batches of 32: the last one has 4, and the parts of a full batch are filled in order."""
    arrays(folder)

    def warned(batch, ops=""):
        prep = f"  prep: {{kind: preprocessor, ops: [{ops}]}}\n" if ops else ""
        path = topology(folder, batch=batch, actors=prep + "  feed: {kind: feeder}\n",
                        links=["read -> prep -> batch -> feed" if ops else "read -> batch -> feed"])
        code, _, err = run("validate", path)
        same(code, 0, err)
        return err
    holds(warned("size: 32, replicas: 2"), "warning[T079]: batch: the last batch of an epoch has 4 of 32 rows, "
          "all for the first 1 of 2 replicas", "weight")
    holds(warned("size: 32, replicas: 16"), "all for the first 2 of 16 replicas")
    for batch in ("size: 32", "size: 32, replicas: 2, remainder: drop", "size: 50, replicas: 2",
                  "size: 32, replicas: 2, split: rebatch_legacy", "size: 6, replicas: 2"):
        same(warned(batch).count("T079"), 0, batch)
    same(warned("size: 32, replicas: 2", "filter: {expr: 'y > 0'}").count("T079"), 0)


main(globals())
