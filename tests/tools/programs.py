#!/usr/bin/env python3
"""The programs in examples/ do what their heads say, as programs and as plugins."""
import json
import subprocess
import time
from pathlib import Path

from command import BUILD, ROOT, main, run, same

DATA = Path("/usr/share/datasets/fashion-mnist")


def output(*words):
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True, timeout=100)
    assert done.returncode == 0, done
    return done.stdout


def test_a_composed_graph_with_its_own_loop_equals_the_topology_file_with_a_plugin(folder):
    if not (DATA / "train-images-idx3-ubyte.gz").exists():
        return
    report = folder / "report.json"
    code, _, err = run("run", "examples/fashion/fashion.yaml", "--set", "read.epochs=1", "--report",
                       str(report))
    same(code, 0, err)
    of = json.loads(report.read_text())
    lines = output(BUILD / "examples" / "compose", DATA, 1).splitlines()
    same(lines, [f"feed:  loss {of['results']['feed']['loss']:.17g}",
                 f"test:  accuracy {of['results']['test']['accuracy']:.17g}",
                 f"stream {of['stream_digest']}"])


def test_a_program_loop_resumes_from_its_checkpoints(folder):
    if not (DATA / "train-images-idx3-ubyte.gz").exists():
        return
    kept = folder / "kept"
    line = [str(BUILD / "examples" / "compose"), str(DATA), "2", str(kept)]
    process = subprocess.Popen(line, stdout=subprocess.DEVNULL)
    end = time.monotonic() + 60
    while not list(kept.glob("step-*/manifest")):
        assert process.poll() is None and time.monotonic() < end
        time.sleep(0.005)
    process.kill()
    process.wait()
    same(output(*line), output(*line[:3]))
    manifest = max(kept.glob("step-*/manifest"))
    code, out, err = run("cursor", str(manifest), "--json")
    same(code, 0, err)
    same([model["replica"] for model in json.loads(out)["models"]], [0, 1, 2, 3])


def test_rows_of_a_callback_are_the_same_in_every_run(_):
    first = output(BUILD / "examples" / "generator")
    same(first, output(BUILD / "examples" / "generator"))
    # Two epochs of 10,000 rows of four kinds; half of a uniform number is added to the kind.
    for kind in range(4):
        line = next(line for line in first.splitlines() if line.startswith(f"kind {kind}: "))
        words = line.replace(",", "").split()
        same(words[5], "5000", line)
        assert abs(float(words[3]) - (kind + 1.25)) < 0.02, line


def test_what_is_linked_in_equals_what_is_a_plugin(folder):
    report = folder / "report.json"
    code, _, err = run("run", "examples/operation.yaml", "--report", str(report))
    same(code, 0, err)
    of = json.loads(report.read_text())
    same(output(BUILD / "examples" / "operation"), f"stream {of['stream_digest']}\n")
    # 1,000 numbers twice; only the first can become negative.
    assert 1998 <= of["rows"]["fed"] <= 2000, of


def test_a_wrong_plugin_name_is_an_error_with_its_place(folder):
    graph = folder / "graph.yaml"
    text = (ROOT / "examples" / "operation.yaml").read_text()
    for old, new, wanted in (("operation.ramp", "operation.romp", "does not export `tnd_source_romp`"),
                             ("operation.ramp", "nowhere.ramp", "source plugin nowhere.so is in none of"),
                             ("operation.jitter", "operation.so", "a name is expected"),
                             ("rows: 1000", "row: 1000", "unknown option `row`; did you mean `rows`?"),
                             ("by: 0.5", "by: half", "option `by` expects a number, not half"),
                             ("epochs: 2", "epochs: 2, shuffle: global", "cannot be shuffled"),
                             ("seed: 7", "seed: 7\nlanes: 2", "in one lane, not in 2")):
        graph.write_text(text.replace(old, new))
        code, out, err = run("validate", str(graph))
        same(code, 78, (new, out, err))
        assert wanted in err, (wanted, err)


main(globals())
