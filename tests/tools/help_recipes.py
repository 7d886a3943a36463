#!/usr/bin/env python3
"""`tundish help recipes` and `plugins`: what they show works as printed, beside data of a user."""
import csv
import json
import os
import re
import struct
import subprocess
import sys
import zlib

import numpy

from command import BUILD, ROOT, free_port, holds, main, run, same

TOPICS = ROOT / "tools/reference/topics"


def recipe(title):
    """The files (a dict) and the commands (a list) of the recipe whose title begins like this."""
    found = [part for part in re.split(r"^--- ", (TOPICS / "recipes.txt").read_text(), flags=re.M) if part.startswith(title)]
    same(len(found), 1, title)
    return shown_in(found[0])


def shown_in(text):
    """The files and the commands that a page shows."""
    lines = re.findall(r"^(?:  .*|)$", text, re.M)
    shown = re.findall(r"^  \$ (.*)\n((?:(?:  (?!\$ ).*|)\n)*)", "\n".join(lines) + "\n", re.M)
    files = {command[4:]: re.sub(r"^  ", "", text, flags=re.M) for command, text in shown if command.startswith("cat ")}
    return files, [command for command, _ in shown if not command.startswith("cat ")]


def follow(folder, title):
    """What the last command of a recipe prints."""
    return do(folder, *recipe(title))[-1]


def do(folder, files, commands):
    """What each command prints."""
    printed = []
    for name, text in files.items():
        (folder / name).write_text(text)
    names = folder / "bin"
    names.mkdir(exist_ok=True)
    if not (names / "python3").exists():
        (names / "python3").symlink_to(sys.executable)
    environment = {**os.environ, "PATH": f"{BUILD}:{names}:{os.environ['PATH']}", "TUNDISH_PYTHON": sys.executable,
                   "PYTHONPATH": str(ROOT / "tools/python"), "TUNDISH_LIBRARY": str(BUILD / "libtundish.so")}
    for command in commands:
        done = subprocess.run(command, shell=True, cwd=folder, env=environment, capture_output=True, text=True, timeout=60)
        same(done.returncode, 0, command + done.stderr)
        printed.append(done.stdout)
    return printed


def pictures(folder):
    def part(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
    for number in range(20):
        path = folder / f"photos/{('cat', 'dog')[number % 2]}/{number}.png"
        path.parent.mkdir(parents=True, exist_ok=True)
        lines = b"".join(b"\0" + bytes(50 * 3) for _ in range(40))
        path.write_bytes(b"\x89PNG\r\n\x1a\n" + part(b"IHDR", struct.pack(">IIBBBBB", 50, 40, 8, 2, 0, 0, 0)) +
                         part(b"IDAT", zlib.compress(lines)) + part(b"IEND", b""))


def table(folder):
    with open(folder / "table.csv", "w", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(["age", "income", "city", "label"])
        for i in range(100):
            rows.writerow([20 + i % 50, "" if i % 7 == 0 else 1000 + i, ("Rome", "Oslo, east")[i % 2], i % 3])


def test_an_operation_in_c_in_two_processes_and_a_program(folder):
    files, commands = shown_in((TOPICS / "plugins.txt").read_text())
    same(sorted(files), ["count.c", "halve.c", "halve.yaml", "two.yaml"])
    files["two.yaml"] = files["two.yaml"].replace("7100", str(free_port()))
    printed = do(folder, files, commands)
    holds(printed[2], "max 15.5")
    holds(printed[3], do(folder, {}, ["tundish run halve.yaml"])[0].splitlines()[1])
    same(printed[-1].strip(), "100 rows")


def test_pictures_and_a_program_that_trains_on_them(folder):
    pictures(folder)
    holds(follow(folder, "Pictures"), "")
    assert (folder / "seen.png").stat().st_size > 0
    # Black pictures: all scores are equal, and the lower class wins.
    holds(follow(folder, "Training"), " of 4 are right")


def test_a_table_with_weights_that_goes_on_after_a_kill(folder):
    table(folder)
    holds(follow(folder, "A table"), "x f32[2]", "city i64", "label i64")
    holds(follow(folder, "Weights"), "weight f32  min 0.5  max 2")
    for _ in range(2):  # the second resumes at the end
        same([int(number) for number in re.findall(r"\d+", follow(folder, "Going on"))], [34, 33, 33])
    follow(folder, "Predictions")
    made = numpy.load(folder / "predictions.npy")
    ages = 20 + numpy.arange(100) % 50
    incomes = numpy.array([numpy.nan if i % 7 == 0 else 1000 + i for i in range(100)])
    wanted = (ages - ages.mean()) / ages.std() + numpy.nan_to_num((incomes - numpy.nanmean(incomes)) / numpy.nanstd(incomes))
    numpy.testing.assert_allclose(made, wanted, rtol=1e-4, atol=1e-5)
    holds(follow(folder, "Several GPUs"), "cpu:0", "cpu:1")


def test_folds_are_disjoint_and_complete(folder):
    table(folder)
    rows = [list(map(int, line.split())) for line in follow(folder, "Cross-validation").splitlines()]
    same([(fold, trained + tested) for fold, trained, tested in rows], [(fold, 100) for fold in range(5)])
    same(sum(tested for _, _, tested in rows), 100)
    assert all(abs(tested - 20) < 3 for _, _, tested in rows), rows


def test_texts_become_packed_numbers(folder):
    (folder / "texts.jsonl").write_text("".join(json.dumps({"text": "words " * (i % 9 + 1)}) + "\n" for i in range(100)))
    holds(follow(folder, "Lines of JSON"), "ids i32[512]  min 0  max 120", "ids_segment_ids")


def test_what_others_call_it_leads_to_names_that_exist(_):
    for name in ("batcher.remainder", "batcher.pack", "batcher.bucket", "batcher.ragged", "preprocessor.workers", "mix",
                 "reader.part", "feeder.depth", "reader.order", "filter", "zip", "concatenate", "choose", "launch"):
        same(run("help", name)[0], 0, name)


main(globals())
