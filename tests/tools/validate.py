#!/usr/bin/env python3
"""`tundish validate` and `tundish explain`."""
import json

import numpy

from command import FED, FEED, arrays, holds, main, run, same, topology

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


def test_all_errors_come_in_one_pass(folder):
    path = graph(folder, batch="sise: 32, replicas: none")
    path.write_text(path.read_text().replace("kind: reader", "kind: raeder"))
    code, out, err = run("validate", path)
    same((code, out), (78, ""))
    holds(err, "did you mean `reader`?", "did you mean `size`?", "replicas", f"{path}:", "errors")


def test_errors_are_json_when_asked(folder):
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


def test_an_operation_that_does_not_fit_the_data_is_refused(folder):
    arrays(folder)
    path = topology(folder, actors=FEED % "" + "  prep: {kind: preprocessor, ops: [{cast: "
                    "{column: nothing, to: f64}}]}\n", links=["read -> prep -> batch -> feed"])
    code, _, err = run("validate", path)
    same(code, 78)
    holds(err, "nothing")


def place(text, path, word):
    """Where `word` stands in a file, as errors name it."""
    for number, line in enumerate(path.read_text().split("\n"), 1):
        if word in line:
            return f"{path}:{number}:{line.index(word) + 1}: error[{text}]"
    raise AssertionError(word)


def test_what_is_missing_on_this_machine_is_told_in_one_pass_by_validate_and_run(folder):
    path = topology(folder, actors=FEED % ", devices: [\"gpu:0\", \"cpu:0\"], step: {plugin: nosuch}",
                    links=FED, batch="size: 32, replicas: 2")
    for command in ("validate", "run"):
        code, _, err = run(command, path)
        same(code, 78, command)
        holds(err, place("T064", path, '"gpu:0"') + ": feed: no device is called 'gpu:0'",
              place("T063", path, "nosuch") + ": feed: step plugin nosuch.so is in none of",
              place("T061", path, '"${data}/x.npy"') + ": read: ",
              place("T061", path, '"${data}/y.npy"') + ": read: ", "4 errors")


def test_an_operation_that_does_not_fit_is_told_with_its_place_by_all(folder):
    arrays(folder)
    path = topology(folder, actors=FEED % "" + "  prep: {kind: preprocessor, ops: [{cast: "
                    "{column: x, to: f64}}, {cast: {column: yy, to: f64}}]}\n",
                    links=["read -> prep -> batch -> feed"])
    for command in ("validate", "run", "head"):
        code, _, err = run(command, path)
        same(code, 78, command)
        holds(err, place("T062", path, "yy") + ": prep: operation 2, `cast`: there is no column "
              "`yy`", "did you mean `y`?", "1 error")


def test_what_only_another_host_can_check_is_listed(folder):
    over = folder / "over.yaml"
    over.write_text(HOSTS)
    code, out, _ = run("validate", graph(folder), over)
    same(code, 0)
    holds(out, "read await host b")
    told = json.loads(run("validate", graph(folder), over, "--json")[1])
    same(told["awaits"], [{"host": "b", "actor": "read"}])


def test_data_may_come_from_the_environment(folder):
    arrays(folder)
    path = graph(folder)
    path.write_text(path.read_text().replace(f"data: {folder}\n", ""))
    same(run("validate", path)[0], 78)
    same(run("validate", path, env={"TUNDISH_DATA": str(folder)})[0], 0)
    same(run("validate", path, "--data", folder)[0], 0)


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
             if term["actor"] == "feed"]
    same(slots, [2 * 32 * (3 * 4 + 8)])


def test_a_memory_sum_above_the_budget_is_refused(folder):
    arrays(folder)
    path = graph(folder)
    same(run("validate", path, "--set", "memory=1GiB")[0], 0)
    for command in ("validate", "run"):
        code, _, err = run(command, path, "--set", "memory=8MiB")
        same(code, 78, command)
        holds(err, "`memory:` allows 8.0 MiB", "MiB, is for")


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


main(globals())
