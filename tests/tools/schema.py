#!/usr/bin/env python3
"""`tundish schema` and `tundish help`: what editors are told is what the parser does.

A small validator of the keywords that the schema uses is included, so that nothing has to be
installed; where jsonschema or PyYAML are, they are asked too, and must agree.
"""
import copy
import json
import re

from command import ROOT, holds, main, run, same

try:
    import jsonschema
except ImportError:
    jsonschema = None
try:
    import yaml
except ImportError:
    yaml = None

TYPES = {"object": dict, "array": list, "string": str, "boolean": bool, "null": type(None)}
KNOWN = {"$schema", "title", "description", "default", "$defs", "$ref", "type", "const", "enum",
         "minimum", "maximum", "minLength", "pattern", "anyOf", "allOf", "not", "if", "then", "else",
         "properties", "required", "additionalProperties", "propertyNames", "minProperties",
         "maxProperties", "items"}


def is_a(name, value):
    if name == "integer":
        return isinstance(value, int) and not isinstance(value, bool)
    if name == "number":
        return isinstance(value, (int, float)) and not isinstance(value, bool)
    return isinstance(value, TYPES[name])


def equal(a, b):
    return a == b and isinstance(a, bool) == isinstance(b, bool)


def referred(root, pointer):
    for word in pointer.removeprefix("#/").split("/"):
        root = root[word]
    return root


def fits(root, schema, value):
    """Whether a document fits a schema; every keyword that occurs must be known here."""
    if isinstance(schema, bool):
        return schema
    assert set(schema) <= KNOWN, set(schema) - KNOWN

    def sub(part, one=value):
        return fits(root, part, one)
    if "$ref" in schema and not sub(referred(root, schema["$ref"])):
        return False
    if "if" in schema and not sub(schema.get("then" if sub(schema["if"]) else "else", True)):
        return False
    kinds = schema.get("type", [])
    checks = [
        not kinds or any(is_a(k, value) for k in ([kinds] if isinstance(kinds, str) else kinds)),
        "const" not in schema or equal(schema["const"], value),
        "enum" not in schema or any(equal(one, value) for one in schema["enum"]),
        "anyOf" not in schema or any(sub(one) for one in schema["anyOf"]),
        all(sub(one) for one in schema.get("allOf", [])),
        "not" not in schema or not sub(schema["not"]),
    ]
    if is_a("number", value):
        checks += [value >= schema.get("minimum", value), value <= schema.get("maximum", value)]
    if isinstance(value, str):
        checks += [re.search(schema.get("pattern", ""), value) is not None,
                   len(value) >= schema.get("minLength", 0)]
    if isinstance(value, list):
        checks += [sub(schema.get("items", True), one) for one in value]
    if isinstance(value, dict):
        named = schema.get("properties", {})
        checks += [key in value for key in schema.get("required", [])]
        checks += [sub(named.get(key, schema.get("additionalProperties", True)), one)
                   for key, one in value.items()]
        checks += [sub(schema.get("propertyNames", True), key) for key in value]
        checks += [schema.get("minProperties", 0) <= len(value) <=
                   schema.get("maxProperties", len(value))]
    return all(checks)


SCHEMA = json.loads(run("schema")[1])
TABLES = json.loads(run("help", "--json")[1])

VALIDATOR = jsonschema.Draft202012Validator(SCHEMA) if jsonschema is not None else None


def passes(document):
    verdict = fits(SCHEMA, SCHEMA, document)
    if jsonschema is not None:
        same(VALIDATOR.is_valid(document), verdict, document)
    return verdict


BASE = {"tundish": 1,
        "actors": {"read": {"kind": "reader", "source": {"npy": {"c": "/x.npy"}}},
                   "prep": {"kind": "preprocessor", "ops": []},
                   "keep": {"kind": "cache", "limit": "1MiB"},
                   "batch": {"kind": "batcher", "size": 8},
                   "feed": {"kind": "feeder"},
                   "mean": {"kind": "reducer"},
                   "params": {"kind": "parameters", "optimizer": "sgd", "count": 4}},
        "links": ["read -> prep -> keep -> batch -> feed <-> mean", "feed -> params"]}
ACTORS = {"reader": "read", "preprocessor": "prep", "batcher": "batch", "feeder": "feed",
          "cache": "keep",
          "reducer": "mean", "parameters": "params"}
GOOD = {"bool": [True, False], "u64": [64], "i64": [-3], "f64": [0.5], "f64s": [[0.5, 1], 0.25],
        "text": ["word", 5], "texts": [["a", "b"], "a"], "bytes": ["64MiB", "1.5 GB", "0"],
        "duration": ["10s", "50 ms"], "rate": ["55GB/s", "1.5 MiB/s"], "extent": ["100 rows", "128KiB"],
        "interval": ["500 steps", "60s"], "column": ["c", "_a-1"],
        "columns": [["c"], "c"], "path": ["/a/b"], "paths": [["/a"], "/a"], "map": [{}],
        "value": ["x", [1]]}
BAD = {"bool": ["yes", 1], "u64": ["x", -1, [1], 1.5], "i64": ["x", 1.5], "f64": ["x", [1]],
       "f64s": [["x"], "x"], "text": [["a"], {}], "texts": [{}], "choice": ["nonsense", [1]],
       "bytes": ["64", "5 parsecs", 64], "duration": ["10", "5MiB", 10],
       "rate": ["55GB", "10/s", 10],
       "extent": ["100", "5 miles"], "interval": ["100", "5MiB", 5],
        "column": ["9 c", "a b", ["c"]], "columns": [["9 c"]],
       "path": [[], ""], "paths": [{}], "table": [5, [{}]], "part": [{"nonsense": {}}, [1], 5],
       "parts": [{"nonsense": {}}, [{"nonsense": {}}]], "map": [5, [1]]}

# Options whose items are sources or steps.
SOURCES = {"sources": [[{"npy": {"c": "/x.npy"}}], [{"zip": [{"npy": {"c": "/x.npy"}}]}]],
           "by": [{"npy": {"c": "/x.npy"}}], "then": [[{"resize": {"size": [4, 5]}}]]}


def sample(option):
    """Values that an option takes."""
    if option["name"] in SOURCES and option["type"] in ("part", "parts"):
        return SOURCES[option["name"]]
    if option["type"] == "choice":
        return option["choices"].split("|")
    if option["type"] in ("u64", "i64", "f64"):
        ends = [float(end) for end in (option["range"] or "").split("..") if end]
        words = [word.split("=")[0] for word in (option["choices"] or "").split("|") if word]
        number = float if option["type"] == "f64" else int
        return [number(end) for end in ends] + words or GOOD[option["type"]]
    return GOOD.get(option["type"], [])


def outside(option):
    """Values that it does not take."""
    ends = (option["range"] or "..").split("..")
    far = []
    if option["type"] in ("u64", "i64", "f64"):
        far = [float(ends[0]) - 1] if ends[0] else []
        far += [float(ends[1]) + 1] if ends[1] else []
        far = [int(one) for one in far]
    return BAD.get(option["type"], []) + far


PRESENT = ("tundish", "actors", "source", "ops")  # every document has them


def filled(table, but=None):
    """What a table needs to be said, except one key."""
    samples = {one["name"]: sample(one) or ([{}] if one["type"] == "table" else [])
               for one in table["options"] if one["required"]}
    return {name: values[0] for name, values in samples.items()
            if name not in (but, *PRESENT) and values}


def inside(chapter, table, options):
    """A document with these options where the table reads them."""
    document = copy.deepcopy(BASE)
    if chapter == "kinds":
        document["actors"][ACTORS[table["name"]]].update(options)
    elif chapter == "sources":
        document["actors"]["read"]["source"] = {table["name"]: options}
    elif chapter == "operations":
        document["actors"]["prep"]["ops"] = [{table["name"]: options}]
    elif table["name"] == "host":
        document["hosts"] = {"a": options}
    else:
        document.update(options)
    return document


def parses(folder, document):
    """Whether the parser takes every value of a document for what it is."""
    path = folder / "document.yaml"
    path.write_text(json.dumps(document))
    told = json.loads(run("validate", path, "--json", "--data", "/")[1])
    codes = {one["code"] for one in told["diagnostics"] if one["severity"] == "error"}
    return not codes & {f"T{n:03}" for n in [*range(11, 23), 35]}


def every_option():
    for chapter in ("kinds", "sources", "operations", "others"):
        for table in TABLES[chapter]:
            for option in table["options"]:
                if option["name"] not in ("*", "tundish", "actors", "hosts", "links"):
                    yield chapter, table, option


def test_the_schema_beside_the_examples_is_this_one(_):
    text = (ROOT / "examples/topology.schema.json").read_text()
    assert text == run("schema")[1], "run: build/tundish schema > examples/topology.schema.json"


def test_the_schema_is_a_schema(_):
    same(SCHEMA["$schema"], "https://json-schema.org/draft/2020-12/schema")
    if jsonschema is not None:
        jsonschema.Draft202012Validator.check_schema(SCHEMA)
    for chapter in ("kinds", "sources", "operations"):
        for table in TABLES[chapter]:
            assert f"{chapter}.{table['name']}" in SCHEMA["$defs"]


def test_what_is_plainly_good_or_bad_is_known(_):
    assert passes(BASE)
    for wrong in ({"tundish": 1}, {**BASE, "tundish": 2}, {**BASE, "sed": 1},
                  {**BASE, "actors": {}}, {**BASE, "actors": {"a": {"kind": "raeder"}}},
                  {**BASE, "actors": {"a": {}}}, {**BASE, "links": {"a": "b"}},
                  {**BASE, "actors": {"9 a": {"kind": "reducer"}}}):
        assert not passes(wrong), wrong
    without = {key: value for key, value in BASE.items() if key != "tundish"}
    assert not passes(without)


def test_an_overlay_may_place_and_not_change(_):
    assert passes({"port": 7100, "hosts": {"a": {"actors": ["read"], "workers": {"prep": 2}},
                                           "n[0-3]": {"lanes": "2 each"}, "m[*]": {"lanes": "each"}}})
    assert passes({"actors": {"feed": {"depth": 4}, "prep": {"workers": "auto"}}})
    for wrong in ({"seed": 3}, {"lanes": 2}, {"actors": {"batch": {"size": 4}}},
                  {"hosts": {"a": {"adress": "x"}}}):
        assert not passes(wrong), wrong


def test_every_value_that_the_parser_takes_fits(folder):
    count, last = 0, {}
    for chapter, table, option in every_option():
        documents = [inside(chapter, table, {**filled(table), option["name"]: value})
                     for value in sample(option)]
        count += len(documents)
        for document in documents:
            assert passes(document), document
        if documents and option["name"] not in ("ports", "lanes"):  # texts with a form of their own
            last.setdefault((chapter, table["name"]), (table, {}))[1][option["name"]] = sample(option)[-1]
    assert count > 60, count
    # The parser is asked for one value of each option, the others are there to be told apart: for all of a table
    # at once, or one by one where they exclude each other.
    for (chapter, _), (table, options) in last.items():
        if not parses(folder, inside(chapter, table, {**filled(table), **options})):
            for name, value in options.items():
                document = inside(chapter, table, {**filled(table), name: value})
                assert parses(folder, document), document


def test_every_value_that_the_parser_refuses_does_not_fit(folder):
    count = 0
    for chapter, table, option in every_option():
        documents = [inside(chapter, table, {**filled(table), option["name"]: value})
                     for value in outside(option)]
        count += len(documents)
        for document in documents:
            assert not passes(document), document
        if documents:
            assert not parses(folder, documents[-1]), documents[-1]
    assert count > 100, count


def test_what_is_required_and_what_is_unknown_is_the_same_for_both(folder):
    for chapter in ("kinds", "sources", "operations", "others"):
        for table in TABLES[chapter]:
            names = {one["name"] for one in table["options"]}
            if "*" not in names:
                document = inside(chapter, table, {**filled(table), "nonsense": 1})
                assert not passes(document) and not parses(folder, document), document
            for name in names:
                if chapter == "operations" and name in filled(table):
                    document = inside(chapter, table, filled(table, but=name))
                    assert not passes(document) and not parses(folder, document), document


def test_a_map_instead_of_paths_is_the_same_for_both(folder):
    table = next(one for one in TABLES["sources"] if one["name"] == "npy")
    for column, fits in (({"values": "v.npy", "splits": ["a.npy", "b.npy"], "max": 9}, True),
                         ({"values": "v.npy", "splits": "s.npy", "max": "longest"}, True),
                         ({"values": "v.npy"}, False),
                         ({"values": "v.npy", "splits": "s.npy", "max": 0}, False),
                         ({"values": "v.npy", "split": "s.npy", "splits": "s.npy"}, False)):
        document = inside("sources", table, {"x": column, "y": "y.npy"})
        same((passes(document), parses(folder, document)), (fits, fits), column)
    holds(run("help", "npy")[1], "NAME.splits: a path such as")
    holds(run("help", "npy.NAME.max")[1], "the maximum length of a row")


def test_a_map_instead_of_a_type_is_the_same_for_both(folder):
    table = next(one for one in TABLES["operations"] if one["name"] == "parse_example")
    for feature, fits in (("f32", True), ({"dtype": "f32", "shape": [8]}, True), ({"shape": [8]}, False),
                          ({"dtype": "f32", "shapes": [8]}, False)):
        document = inside("operations", table, {"column": "record", "features": {"x": feature}})
        same((passes(document), parses(folder, document)), (fits, fits), feature)


def examples():
    """The topologies of examples/; job.yaml is of Kubernetes."""
    return [path for path in ROOT.glob("examples/**/*.yaml") if path.name != "job.yaml"]


def test_the_files_of_the_tree_give_no_false_alarm(_):
    if yaml is None:
        return
    files = [*examples(), *ROOT.glob("tests/topology/good/*.yaml")]
    assert len(files) >= 10
    for path in files:
        assert passes(yaml.safe_load(path.read_text())), path
    refused = 0
    for path in ROOT.glob("tests/topology/bad/*.yaml"):
        # What is wrong with these, an editor can see by the values alone.
        if path.stem in ("choices", "bad_names", "no_kind", "no_version", "version",
                         "unknown_keys", "unknown_kind", "unknown_parts", "two_parts", "step"):
            document = yaml.safe_load(path.read_text())
            assert not passes(document), path
            refused += 1
    assert refused >= 9, refused


def test_the_examples_say_where_the_schema_is(_):
    for path in examples():
        first = path.read_text().splitlines()[0]
        assert first.startswith("# yaml-language-server: $schema="), path
        assert (path.parent / first.partition("=")[2]).resolve() == \
            ROOT / "examples/topology.schema.json", path


def test_help_knows_lists_things_and_options(_):
    for name, words in (("kinds", ["reader", "reducer"]), ("sources", ["idx", "npy"]),
                        ("ops", ["scale", "cast"]), ("operations", ["scale"]),
                        ("commands", ["validate", "schema"])):
        code, out, err = run("help", name)
        same((code, err), (0, ""), name)
        holds(out, *words)
    holds(run("help", "topology")[1], "tundish: a whole number", "(required)")
    assert "(default 0)" not in run("help", "topology")[1].partition("name:")[0]
    holds(run("help", "batcher")[1], "Takes rows, gives batches", "One instance per lane", "size:")
    holds(run("help", "batcher.size")[1], "batcher.size: a whole number of rows from 1",
          "role: graph", "an overlay may not change it")
    holds(run("help", "feeder.step.plugin")[1], "NAME.so")
    holds(run("help", "reader.source")[1], "(required)", "idx", "npy")


def test_help_guesses_what_was_meant(_):
    for name, guess in (("batcher.sise", "'size'"), ("raeder", "'reader'"), ("opps", "'ops'")):
        code, out, err = run("help", name)
        same((code, out), (2, ""), name)
        holds(err, f"did you mean {guess}?")
    same(run("help", "nothing.size")[0], 2)
    same(run("help", "a", "b", "c", "d", "e")[0], 2)


def test_help_as_json_has_every_option(_):
    same([table["name"] for table in TABLES["kinds"]], sorted(ACTORS))
    names = [one["name"] for one in TABLES["commands"]]
    assert {"run", "help", "schema"} <= set(names)
    size = json.loads(run("help", "batcher.size", "--json")[1])
    same((size["type"], size["required"], size["unit"]), ("u64", False, "rows"))
    assert json.loads(run("help", "reader.source", "--json")[1])["required"]
    same(json.loads(run("help", "idx", "--json")[1])["is"], "source")
    same(list(json.loads(run("help", "ops", "--json")[1])), ["operations"])


main(globals())
