#!/usr/bin/env python3
"""README.md and examples/README.md: what they show can be built and run as printed."""
import importlib.machinery
import importlib.util
import json
import os
import re
import subprocess
import sys
import zipfile
from pathlib import Path

import numpy

from command import BUILD, ROOT, TUNDISH, holds, main, same

FRONT = (ROOT / "README.md").read_text()
README = FRONT + (ROOT / "examples/README.md").read_text()
COMPILE = ["cc", "-std=c11", "-O1", "-Wall", "-Wextra", "-Wpedantic", "-Werror", f"-I{ROOT}/runtime"]


def blocks(language):
    return re.findall(rf"^```{language}\n(.*?)^```$", README, re.M | re.S)


def code(word):
    """The only block of C that contains the word."""
    found = [block for block in blocks("c") if word in block]
    same(len(found), 1, word)
    return found[0]


def shown(word):
    """The only block of commands that contains the word."""
    found = [block for block in blocks("console") if word in block]
    same(len(found), 1, word)
    return found[0]


def files(block):
    """The files that the block shows by `cat`."""
    return re.findall(r"^\$ cat (\S+)\n((?:(?!\$ ).*\n)*)", block, re.M)


def arrays(block):
    """The commands of the block that save arrays."""
    return re.findall(r"^\$ python3 -c '(import numpy;.*)'$", block, re.M)


def prepare(folder, block):
    """Writes the files that the block shows and saves its arrays."""
    for name, text in files(block):
        (folder / name).write_text(text)
    for command in arrays(block):
        subprocess.run([sys.executable, "-c", command], cwd=folder, check=True, timeout=60)


def build(folder, name, *flags):
    words = [*COMPILE, str(folder / f"{name}.c"), *flags]
    done = subprocess.run(words, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr


def plugin(folder, name, table):
    (folder / f"{name}.c").write_text(code(table))
    build(folder, name, "-shared", "-fPIC", "-o", str(folder / f"{name}.so"))


def tundish(folder, *words):
    done = subprocess.run([TUNDISH, *words], cwd=folder, capture_output=True, text=True, timeout=60)
    return done.returncode, done.stdout, done.stderr


def test_each_file_is_written_once(_):
    written = []
    for block in blocks("console"):
        written += [name for name, _ in files(block)]
        for command in arrays(block):
            written += re.findall(r'numpy\.save\("(.*?)"', command)
        written += re.findall(r"^\$ cc .* -o (\S+)", block, re.M)
    holds(" ".join(written), "mine.yaml", "numbers.npy", "halve.so", "slope.yaml")
    same(sorted(written), sorted(set(written)))


def test_the_program_prints_its_sum(folder):
    block = shown("cc sum.c")
    prepare(folder, block)
    (folder / "sum.c").write_text(code("int main("))
    build(folder, "sum", "-o", str(folder / "sum"), f"-L{BUILD}", "-ltundish", f"-Wl,-rpath,{BUILD}")
    done = subprocess.run([folder / "sum"], cwd=folder, capture_output=True, text=True, timeout=60)
    same((done.returncode, done.stdout.split()), (0, block.split("$ ./sum\n")[1].split()), done.stderr)
    numpy.save(folder / "numbers.npy", numpy.ones((100, 2), "f4"))
    done = subprocess.run([folder / "sum"], cwd=folder, capture_output=True, text=True, timeout=60)
    same(done.returncode, 1)
    holds(done.stdout, "does not have one f32 per row")


def clone(folder):
    """A home with a clone called `tundish`, which is built."""
    place = folder / "tundish"
    place.mkdir()
    (place / "build").symlink_to(BUILD)
    return place


def paste(place, block):
    """Runs the commands of a block in a shell, as they are printed; what the last one printed."""
    *before, last = re.findall(r"^\$ (.*)$", block, re.M)
    script = "set -eu\n{\n" + "\n".join(before) + f"\n}} >&2\n{last}\n"
    env = {name: value for name, value in os.environ.items() if not name.startswith(("PKG_CONFIG", "PYTHON", "VIRTUAL"))}
    done = subprocess.run(["bash", "-c", script], cwd=place, capture_output=True, text=True, timeout=250,
                          env={**env, "HOME": str(place.parent), "PATH": "/usr/bin:/bin"})
    same(done.returncode, 0, done.stderr)
    return done.stdout


def test_the_c_block_runs_as_pasted(folder):
    place, block = clone(folder), shown("cc sum.c")
    (place / "sum.c").write_text(code("int main("))
    same(paste(place, block).split(), block.split("$ ./sum\n")[1].split())


def test_the_python_block_runs_as_pasted(folder):
    """The wheel is made of the build, without the libraries of Debian, which need downloads."""
    if importlib.util.find_spec("ensurepip") is None:
        return
    place, block = clone(folder), shown("tools/wheel")
    loader = importlib.machinery.SourceFileLoader("wheel_tool", str(ROOT / "tools/wheel"))
    tool = importlib.util.module_from_spec(importlib.util.spec_from_loader("wheel_tool", loader))
    loader.exec_module(tool)
    (place / "build").unlink()
    (place / "build/wheel").mkdir(parents=True)
    tool.copy_programs(BUILD, place / "build")
    with zipfile.ZipFile(place / "build/wheel/tundish-0.1-py3-none-linux_x86_64.whl", "w") as out:
        for name, (data, _) in tool.contents(place / "build", "0.1", "linux_x86_64", {}).items():
            out.writestr(name, data)
    prepare(place, shown("$ cat mine.yaml"))
    program = next(one for one in blocks("python") if "tundish.feed" in one)
    (place / "program.py").write_text(program)
    holds(FRONT, paste(place, block.replace("$ tools/wheel && ", "$ ") + "$ python3 program.py\n"))


def test_programs_of_python_print_what_is_shown(folder):
    for program in blocks("python"):
        prepare(folder, shown("$ cat mine.yaml"))
        env = {**os.environ, "PYTHONPATH": str(ROOT / "tools/python"), "TUNDISH_LIBRARY": str(BUILD / "libtundish.so")}
        done = subprocess.run([sys.executable, "-c", program], cwd=folder, capture_output=True, text=True,
                              timeout=60, env=env)
        same((done.returncode, done.stderr), (0, ""))
        holds(README, done.stdout)


def test_the_operation_halves(folder):
    prepare(folder, shown("cc sum.c"))
    prepare(folder, shown("cc -shared -fPIC halve.c"))
    plugin(folder, "halve", "tnd_op_halve")
    same(tundish(folder, "head", "halve.yaml")[0], 0)
    status, _, err = tundish(folder, "head", "halve.yaml", "--steps", "50", "--npz", "fed.npz")
    same(status, 0, err)
    with numpy.load(folder / "fed.npz") as fed:
        assert (fed["x"] == numpy.arange(100, dtype="f4") / 2).all()
    numpy.save(folder / "numbers.npy", numpy.ones((100, 8), "f4"))
    status, _, err = tundish(folder, "head", "halve.yaml")
    same(status, 78)
    holds(err, "column `x` with one f32 per row does not exist")


def test_the_step_finds_the_slope(folder):
    prepare(folder, shown("cc -shared -fPIC slope.c"))
    plugin(folder, "slope", "tnd_step_slope")
    status, _, err = tundish(folder, "run", "slope.yaml", "--report", "r.json", "--metrics", "m.json")
    same(status, 0, err)
    losses = [json.loads(one)["loss"] for one in (folder / "m.json").read_text().splitlines()]
    assert losses[-1] < 1e-6 < 1 < losses[0], (losses[0], losses[-1])
    status, _, err = tundish(folder, "run", "slope.yaml", "--set", "feed.step.rate=3")
    same(status, 1)
    holds(err, "unknown option `rate`")


def test_one_process_and_three_give_the_digests_shown(_):
    data = Path(os.environ.get("TUNDISH_DATA", "/usr/share/datasets/fashion-mnist"))
    if not data.exists():
        return
    wanted = re.findall(r"^(stream [0-9a-f]{32}|model  [0-9a-f]{32})$", FRONT, re.M)[:2]
    words = shown("$ tundish up").splitlines()[0].removeprefix("$ tundish ").split()
    holds(shown("$ tundish up"), *(f"a | {line}" for line in wanted))
    for command in (["run", "examples/fashion/fashion.yaml"], words):
        status, out, err = tundish(ROOT, *command, "--data", str(data))
        same(status, 0, err)
        holds(out, *wanted)


def test_it_is_short(_):
    lines = FRONT.splitlines()
    assert len(lines) <= 150 and len(FRONT.split()) <= 1500, (len(lines), len(FRONT.split()))
    same([line for line in lines if len(line) > 120], [])


def test_its_links_lead_somewhere(_):
    for page in ("README.md", "examples/README.md", "CONTRIBUTING.md", "tests/README.md"):
        for target in re.findall(r"\]\(([^)#:]+)\)", (ROOT / page).read_text()):
            assert (ROOT / page).parent.joinpath(target).exists(), f"{page}: {target}"


def test_your_own_data_gives_what_is_shown(folder):
    block = shown("$ cat mine.yaml")
    prepare(folder, block)
    for command in ("head", "run"):
        status, out, err = tundish(folder, command, "mine.yaml")
        same((status, err), (0, ""), command)
        part = re.split(rf"\$ tundish {command} mine\.yaml.*\n", block)[1].split("\n$")[0]
        holds(out, *(one for one in part.splitlines() if "..." not in one and " s (" not in one))


main(globals())
