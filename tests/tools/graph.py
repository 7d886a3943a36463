#!/usr/bin/env python3
"""`tundish graph` and `tundish diff`."""
import json
import re

from command import ROOT, holds, main, run, same

GOOD = ROOT / "tests/topology/good"
FASHION = ROOT / "examples/fashion"
GRAPHS = [([GOOD / "fashion.yaml"], 5), ([GOOD / "fashion.yaml", GOOD / "cluster.yaml"], 5),
          ([GOOD / "eight.yaml", GOOD / "spmd.yaml"], 9),
          ([FASHION / "fashion.yaml", FASHION / "three.yaml"], 9)]


def test_every_actor_is_drawn_and_no_line_is_too_wide(_):
    for files, actors in GRAPHS:
        code, out, err = run("graph", *files)
        same((code, err), (0, ""), files)
        told = json.loads(run("graph", *files, "--json")[1])
        same(len(told["actors"]), actors)
        for actor in told["actors"]:
            assert re.search(rf"\b{actor['name']}\b", out), actor
        assert max(map(len, out.splitlines())) <= 80, out
        assert all(line == line.rstrip() for line in out.splitlines()), out


def test_the_drawing_says_what_a_person_asks(_):
    out = run("graph", GOOD / "fashion.yaml", GOOD / "cluster.yaml")[1]
    holds(out, "fashion: seed 7, 1 lane", "idx image, label", "shuffle global", "scale image",
          "size 128", "replicas 4", "step mlp", "on a", "on b x6", "--tcp--", "<-", "->",
          "host a: 10.0.0.1, leads, port 7100", "cuda:0 cuda:1")
    one = run("graph", GOOD / "fashion.yaml")[1]
    assert "inproc" not in one and "host" not in one, one
    # Each arrow leads to the name after it.
    assert re.search(r"read -+> prep -+> batch -+> feed <-+> mean", one), one
    holds(run("graph", FASHION / "fashion.yaml")[1], "after feed:\n  test_read")


def test_links_and_placement_are_in_the_json(_):
    told = json.loads(run("graph", GOOD / "fashion.yaml", GOOD / "cluster.yaml", "--json")[1])
    same([(link["from"], link["to"], link["call"], link["transports"]) for link in told["links"]],
         [("read", "prep", False, "tcp"), ("prep", "batch", False, "tcp"),
          ("batch", "feed", False, "tcp"), ("feed", "mean", True, "inproc")])
    same([actor["hosts"] for actor in told["actors"]],
         [{"a": 1}, {"b": 6}, {"a": 1}, {"c": 1}, {"c": 1}])
    same(told["hosts"][0], {"name": "a", "address": "10.0.0.1", "port": 7100})


def test_graphviz_gets_every_node_and_edge(_):
    for files, _ in GRAPHS:
        out = run("graph", *files, "--dot")[1]
        same(out.count("{"), out.count("}"))
        nodes = re.findall(r'^ +"([^"]+)" \[label="', out, re.M)
        edges = re.findall(r'^  "([^"]+)" -> "([^"]+)" \[label="(inproc|ipc|tcp)"', out, re.M)
        same(len(nodes), len(set(nodes)))
        assert edges and {end for edge in edges for end in edge[:2]} == set(nodes), out
        same(len(edges), len({edge[:2] for edge in edges}))


def test_a_graph_that_cannot_be_drawn_is_an_error(_):
    code, out, err = run("graph", ROOT / "tests/topology/bad/cycle.yaml")
    same((code, out), (78, ""))
    holds(err, "cycle")


def differences(*words):
    code, out, err = run("diff", "--graph", "--json", *words)
    assert code in (0, 1), err
    told = json.loads(out)
    same(code, 0 if told["same"] else 1)
    same(told["same_graph"], told["fingerprints"][0] == told["fingerprints"][1])
    same(told["same_graph"], not told["differences"], words)
    return told["differences"]


def test_an_overlay_makes_the_same_graph(_):
    graph = GOOD / "fashion.yaml"
    for over in ("cluster.yaml", "three.yaml"):
        same(differences(graph, f"{graph},{GOOD / over}"), [])
        same(differences(graph, "--", graph, GOOD / over), [])
    code, out, err = run("diff", "--graph", graph, f"{graph},{GOOD / 'cluster.yaml'}")
    same((code, err), (0, ""))
    assert re.fullmatch(r"same graph: [0-9a-f]{32}\n", out), out


EDITS = [("seed: 7", "seed: 8", {"seed"}),
         ("seed: 7", "seed: 7\nlanes: 2", {"lanes"}),
         ("size: 128", "size: 64", {"batch.size"}),
         ("remainder: keep", "remainder: drop", {"batch.remainder"}),
         (", remainder: keep", "", set()),
         ("shuffle: global, ", "", {"read.shuffle"}),
         ("epochs: 5", "epochs: forever", {"read.epochs"}),
         ("train-images", "other", {"read.source.idx.image"}),
         ("{idx: {image:", "{idx: {picture:", {"read.source.idx.image", "read.source.idx.picture"}),
         ("idx:", "npy:", {"read.source"}),
         ("[0, 1]", "[0, 2]", {"prep.ops[0].scale.range"}),
         ("[0, 1]}}]", "[0, 1]}}, {random_flip: {column: image}}]", {"prep.ops"}),
         ("plugin: mlp", "plugin: other", {"feed.step.plugin"}),
         ("plugin: mlp", "plugin: mlp, rate: 0.1", {"feed.step.rate"}),
         (", step: {plugin: mlp}", "", {"feed.step"}),
         ("depth: 2", "depth: 5", set()),
         ("name: fashion", "name: other", set()),
         ("feed <-> mean", "feed -> mean", {"links"}),
         ("mean", "average", {"actors.mean", "actors.average", "links"}),
         ("image: \"${data}/train-images-idx3-ubyte.gz\", label: \"${data}/train-labels-idx1-ubyte.gz\"",
          "label: \"${data}/train-labels-idx1-ubyte.gz\", image: \"${data}/train-images-idx3-ubyte.gz\"",
          {"read.source.idx, the order"})]


def test_every_difference_of_the_stream_is_found_with_both_places(folder):
    text = (GOOD / "fashion.yaml").read_text()
    for old, new, keys in EDITS:
        assert old in text, old
        other = folder / "other.yaml"
        other.write_text(text.replace(old, new))
        for sides in ((GOOD / "fashion.yaml", other), (other, GOOD / "fashion.yaml")):
            found = differences(*sides)
            same({one["key"] for one in found}, keys, (old, new))
            for one in found:
                for side, path in zip("ab", sides):
                    if one[side] is not None and "file" in one[side]:
                        same(one[side]["file"], str(path))
                        assert one[side]["line"] > 0


def test_a_person_sees_both_values_and_where_they_stand(folder):
    other = folder / "other.yaml"
    other.write_text((GOOD / "fashion.yaml").read_text().replace("size: 128", "size: 64"))
    code, out, _ = run("diff", "--graph", GOOD / "fashion.yaml", other)
    same(code, 1)
    holds(out, f"batch.size\n  - 128  ({GOOD / 'fashion.yaml'}:7:32)\n  + 64  ({other}:7:32)\n",
          "not the same graph")


def test_without_the_option_placement_is_compared_too(_):
    graph = GOOD / "fashion.yaml"
    code, out, _ = run("diff", graph, f"{graph},{GOOD / 'cluster.yaml'}")
    same(code, 1)
    holds(out, "hosts\n", "insecure\n", "same graph, placed or tuned in another way")
    same(run("diff", graph, graph)[0], 0)


def test_a_failed_comparison_is_reported(folder):
    same(run("diff")[0], 2)
    for words in ((GOOD / "fashion.yaml",), (GOOD / "fashion.yaml", "--")):
        code, _, err = run("diff", "--graph", *words)
        same(code, 2)
        holds(err, "A... -- B...")
    code, out, err = run("diff", "--graph", GOOD / "fashion.yaml", GOOD / "three.yaml")
    same((code, out), (78, ""))
    holds(err, f"is {GOOD / 'three.yaml'} an overlay?",
          f"{GOOD / 'fashion.yaml'} {GOOD / 'fashion.yaml'},{GOOD / 'three.yaml'}")
    code, out, err = run("diff", "--graph", GOOD / "fashion.yaml", folder / "none.yaml")
    same((code, out), (78, ""))
    holds(err, "none.yaml")


main(globals())
