#!/usr/bin/env python3
"""Builds of a plugin that differ are told apart, also where the plugin follows a decoder.

Usage: builds.py NAME...; without a name it lists them.  build/tests/added/1 and /2 have an operation that
adds 1, and 2.
"""
import os
import subprocess
import sys

from named import in_folder, run_named
from run import BUILD, ROOT, TUNDISH, free_port, tundish

GRAPH = """tundish: 1
{top}actors:
  read: {{kind: reader, source: {{text: {{files: {data}/lines.jsonl}}}}, epochs: 2}}
  prep: {{kind: preprocessor, ops: [{{decode_json: {{column: line, fields: {{x: {{dtype: f32}}}}}}}},
         {{plugin: added}}]}}
{cache}  batch: {{kind: batcher, size: 8}}
  feed: {{kind: feeder}}
links: [read -> prep -> {way}batch -> feed]
"""
HOSTS = """hosts:
  a: {{address: 127.0.0.1, port: {port}, actors: [read, batch, feed]}}
  b: {{address: 127.0.0.1, actors: [prep]}}
insecure: true
"""


JSON = "{{decode_json: {{column: line, fields: {{x: {{dtype: f32}}}}}}}}"
OTHERS = ("{{decode_csv: {{column: line, fields: {{x: f32}}}}}}",
          "{{to_number: {{column: line, to: f32}}}}, {{rename: {{line: x}}}}",
          "{{decode_raw: {{column: line, to: f32, shape: [1]}}}}, {{rename: {{line: x}}}}",
          "{{parse_example: {{column: line, features: {{x: f32}}}}}}",
          "{{decode_image: {{column: line, dtype: f32, then: [{{crop_to: {{size: [1, 1]}}}}]}}}}, {{rename: {{line: x}}}}")


def with_build(number):
    return {**os.environ, "TUNDISH_PLUGIN_PATH": str(BUILD / f"tests/added/{number}")}


def write(folder, top="", store=False, graph=GRAPH):
    (folder / "lines.jsonl").write_text("".join(f'{{"x": {i}}}\n' for i in range(64)))
    cache = f"  keep: {{kind: cache, limit: 1MiB, store: {{dir: {folder}/store}}}}\n" if store else ""
    text, graph = graph, folder / "graph.yaml"
    graph.write_text(text.format(data=folder, top=top, cache=cache, way="keep -> " if store else ""))
    return graph


def first_value(graph, number):
    """What the program prints of the column in the first step."""
    done = tundish("head", graph, report=False, env=with_build(number))
    return float(done.output.split(" min ")[1].split()[0])


def both(folder, builds, top="", graph=GRAPH):
    graph, hosts = write(folder, top, graph=graph), folder / "hosts.yaml"
    hosts.write_text(HOSTS.format(port=free_port()))
    started = [subprocess.Popen([str(TUNDISH), "run", graph, hosts, "--host", host],
                                env=with_build(number), cwd=ROOT, text=True,
                                stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
               for host, number in zip("ab", builds)]
    try:
        return [(job.communicate(timeout=60)[0], job.returncode) for job in started]
    finally:
        for job in started:
            job.kill()


def test_hosts_with_different_builds_are_refused(folder):
    for (output, code) in both(folder, (1, 2)):
        assert code != 0 and "use the same build of Tundish and of plugins" in output, (code, output)
    for (output, code) in both(folder, (2, 2)):
        assert code == 0, output
    for (output, code) in both(folder, (1, 2), "numeric: tolerant\n"):
        assert code == 0, output


def test_they_are_refused_after_every_decoder_before_a_row_is_read(folder):
    assert JSON in GRAPH
    for number, decoder in enumerate(OTHERS):
        place = folder / str(number)
        place.mkdir()
        for (output, code) in both(place, (1, 2), graph=GRAPH.replace(JSON, decoder)):
            assert code != 0 and "use the same build of Tundish and of plugins" in output, (decoder, code, output)


def test_a_store_of_another_build_is_not_used(folder):
    graph = write(folder, store=True)
    for number in (1, 2, 1):
        tundish("run", graph, report=False, env=with_build(number))
        assert first_value(graph, number) == number
    assert len(list((folder / "store").iterdir())) == 2


def test_a_checkpoint_of_another_build_is_refused(folder):
    graph = write(folder, top=f"checkpoint: {{dir: {folder}/saved, every: 4 steps}}\n")
    tundish("run", graph, report=False, env=with_build(1))
    done = tundish("run", graph, "--resume", report=False, expect=78, env=with_build(2))
    assert "was made with another build of plugin op added" in done.output, done.output
    assert "numeric: tolerant" in done.output, done.output
    tundish("run", graph, "--resume", report=False, env=with_build(1))
    tundish("run", graph, "--resume", "--set", "numeric=tolerant", report=False, env=with_build(2))


if __name__ == "__main__":
    sys.exit(run_named(globals(), sys.argv[1:], in_folder))
