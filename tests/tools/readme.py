#!/usr/bin/env python3
"""What README.md shows can be built and run as it stands there."""
import json
import re
import subprocess
import sys

import numpy

from command import BUILD, FEED, ROOT, TUNDISH, holds, main, run, same, topology

README = (ROOT / "README.md").read_text()
COMPILE = ["cc", "-std=c11", "-O1", "-Wall", "-Wextra", "-Wpedantic", "-Werror", f"-I{ROOT}/runtime"]


def blocks(language):
    return re.findall(rf"^```{language}\n(.*?)^```$", README, re.M | re.S)


def code(word):
    """The one block of C that has the word."""
    found = [block for block in blocks("c") if word in block]
    same(len(found), 1, word)
    return found[0]


def build(folder, name, *flags):
    words = [*COMPILE, str(folder / f"{name}.c"), *flags]
    done = subprocess.run(words, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr


def plugin(folder, name, table):
    (folder / f"{name}.c").write_text(code(table))
    build(folder, name, "-shared", "-fPIC", "-o", str(folder / f"{name}.so"))


def line(folder, rows=1000):
    """x, and y three times as much."""
    x = numpy.linspace(-1, 1, rows, dtype="f4")
    numpy.save(folder / "x.npy", x)
    numpy.save(folder / "y.npy", 3 * x)
    return x


def test_the_program_prints_its_sum(folder):
    numpy.save(folder / "x.npy", numpy.arange(100, dtype="f4"))
    (folder / "sum.c").write_text(code("int main("))
    build(folder, "sum", "-o", str(folder / "sum"), f"-L{BUILD}", "-ltundish", f"-Wl,-rpath,{BUILD}")
    done = subprocess.run([folder / "sum"], cwd=folder, capture_output=True, text=True, timeout=60)
    same((done.returncode, done.stdout.strip()), (0, "9900"), done.stderr)


def test_the_operation_halves(folder):
    x = line(folder)
    plugin(folder, "halve", "tnd_op_halve")
    path = topology(folder, links=["read -> prep -> batch -> feed"],
                    actors="  prep: {kind: preprocessor, ops: [{plugin: halve}]}\n" + FEED % "")
    status, _, err = run("head", path, "--steps", "50", "--npz", folder / "fed.npz")
    same(status, 0, err)
    with numpy.load(folder / "fed.npz") as fed:
        assert (fed["x"] == x / 2).all()


def test_the_step_finds_the_slope(folder):
    line(folder)
    plugin(folder, "slope", "tnd_step_slope")
    path = topology(folder, read=", shuffle: global, epochs: 20", batch="size: 32, replicas: 4",
                    actors=FEED % ", step: {plugin: slope}" + "  mean: {kind: reducer}\n",
                    links=["read -> batch -> feed <-> mean"])
    status, _, err = run("run", path, "--report", folder / "r.json", "--metrics", folder / "m.json")
    same(status, 0, err)
    losses = [json.loads(one)["loss"] for one in (folder / "m.json").read_text().splitlines()]
    assert losses[-1] < 1e-6 < 1 < losses[0], (losses[0], losses[-1])
    status, _, err = run("run", path, "--set", "feed.step.rate=3")
    same(status, 1)
    holds(err, "there is no option `rate`")


def test_the_topology_is_the_one_that_runs(_):
    example = (ROOT / "examples/fashion/fashion.yaml").read_text()
    holds(re.sub(r"^#.*\n", "", example, flags=re.M), *blocks("yaml"))
    assert len(blocks("yaml")) > 0


def test_the_data_of_ones_own_gives_what_is_shown(folder):
    shown = next(block for block in blocks("console") if "$ cat mine.yaml" in block)
    arrays = re.search(r"^\$ python3 -c '(.*)'$", shown, re.M).group(1)
    subprocess.run([sys.executable, "-c", arrays], cwd=folder, check=True, timeout=60)
    mine = re.search(r"^\$ cat mine.yaml\n(.*?)^\$", shown, re.M | re.S).group(1)
    (folder / "mine.yaml").write_text(mine)
    for command in ("head", "run"):
        done = subprocess.run([TUNDISH, command, "mine.yaml"], cwd=folder, capture_output=True,
                              text=True, timeout=60)
        same((done.returncode, done.stderr), (0, ""), command)
        part = shown.split(f"$ tundish {command} mine.yaml\n")[1].split("\n$")[0]
        holds(done.stdout, *(one for one in part.splitlines()
                            if "..." not in one and " s (" not in one))


main(globals())
