#!/usr/bin/env python3
"""CONTRIBUTING.md: each recipe is one file and one line, works as printed, and conforms.

All recipes are added to the tree, in a mount namespace whose overlay keeps what is written: its build
folder then compiles only what they change.  Where that is not permitted, a copy of the tree is built
as a whole, without optimisation.
"""
import os
import re
import shlex
import subprocess
import sys
import tempfile

from command import BUILD, ROOT, holds, main, same

PAGE = (ROOT / "CONTRIBUTING.md").read_text().split("# Recipes\n")[1]
RECIPES = re.split(r"^## ", PAGE, flags=re.M)[1:]


def blocks(recipe):
    """Path and text of every file or line that the recipe shows."""
    return re.findall(r"^`([^`\n]+)`[^`\n]*:\n\n```\w*\n(.*?)^```$", recipe, re.M | re.S)


def run_covered():
    """Runs this test in a mount namespace with an overlay on ROOT, and exits; returns if that is not
    permitted."""
    with tempfile.TemporaryDirectory() as kept:
        for name in "upper", "work":
            os.mkdir(f"{kept}/{name}")
        options = f"lowerdir={ROOT},upperdir={kept}/upper,workdir={kept}/work"
        user = [] if os.geteuid() == 0 else ["--map-root-user"]
        options += ",userxattr" if user else ""
        words = ["unshare", "--mount", *user, "sh", "-c",
                 'mount -t overlay overlay -o "$1" "$2" && shift 2 && exec "$@"', "sh", options, ROOT]
        if subprocess.run([*words, "true"], capture_output=True).returncode == 0:
            sys.exit(subprocess.run([*words, sys.executable, __file__, "--covered"]).returncode)


def copy_tree(folder):
    """A copy of the tree, configured; returns its root and its build folder."""
    pack = subprocess.run(["tar", "-c", "--exclude=./build*", "--exclude=./.git", "-C", ROOT, "."],
                          capture_output=True, check=True)
    subprocess.run(["tar", "-x", "-C", folder], input=pack.stdout, check=True)
    run_quietly(folder, "cmake", "-G", "Ninja", "-S", ".", "-B", "b", "-DCMAKE_BUILD_TYPE=None",
                "-DCMAKE_C_FLAGS=-O0")
    return folder, folder / "b"


def run_quietly(folder, *words):
    done = subprocess.run(words, cwd=folder, capture_output=True, text=True, timeout=600)
    same(done.returncode, 0, done.stdout[-4000:] + done.stderr[-4000:])


def insert(lines, line):
    """A list with one more line, in alphabetical order."""
    entries = re.finditer(r"^[A-Z]+\((\w+)", lines, re.M)
    name = re.match(r"[A-Z]+\((\w+)", line)[1]
    at = next((entry.start() for entry in entries if entry[1] > name), len(lines))
    return lines[:at] + line + lines[at:]


def apply(folder, recipe):
    """Adds a recipe to the tree, with at most one line for a conformance suite; its topology files
    go beside it."""
    files, lines, fixtures = 0, 0, 0
    for path, text in blocks(recipe):
        target = folder / path
        if path.endswith(".def"):
            lines += text.count("\n") * (not path.startswith("tests/"))
            fixtures += text.count("\n") * path.startswith("tests/")
            target.write_text(insert(target.read_text(), text))
            continue
        files += not path.endswith(".yaml")
        assert not target.exists(), path
        target.write_text(text)
    same((files, lines), (1, 1), recipe.splitlines()[0])
    assert fixtures <= 1, recipe.splitlines()[0]


def commands(recipe):
    """The words of every command of a recipe, and the lines that it prints."""
    for block in re.findall(r"^```console\n(.*?)^```$", recipe, re.M | re.S):
        for shown in re.split(r"^\$ ", block, flags=re.M)[1:]:
            line, *wanted = shown.splitlines()
            yield shlex.split(line), wanted


def suites():
    """The tests that the recipes run."""
    return [words[-1] for recipe in RECIPES for words, _ in commands(recipe) if words[0] == "ctest"]


def check(folder, build, recipe):
    """Runs the commands of a recipe; a line that ends with `...` is the beginning of one."""
    ran = 0
    for (program, *words), wanted in commands(recipe):
        if program == "ctest":
            same(words[:2], ["--preset", "release"])
            words = ["ctest", "--test-dir", build, "--output-on-failure", *words[2:]]
        else:
            same(program, "tundish")
            words = [build / "tundish", *words]
        done = subprocess.run(words, cwd=folder, capture_output=True, text=True, timeout=60)
        same(done.returncode, 0, f"{words}: {done.stdout[-4000:]}{done.stderr}")
        holds(done.stdout, *(line.removesuffix("...").rstrip() for line in wanted))
        ran += 1
    assert ran > 0, recipe.splitlines()[0]


def test_every_recipe_is_one_file_and_one_line_and_works(folder):
    tree, build = (ROOT, BUILD) if COVERED else copy_tree(folder)
    for recipe in RECIPES:
        apply(tree, recipe)
    run_quietly(tree, "cmake", "--build", build, "--target", "tundish_command",
                *("test_" + suite.replace("/", "_") for suite in suites()))
    for recipe in RECIPES:
        check(tree, build, recipe)


COVERED = sys.argv[1:] == ["--covered"]
if COVERED:
    del sys.argv[1:]
elif BUILD.is_relative_to(ROOT):
    run_covered()
main(globals())
