"""Translates the input pipelines of a program of TensorFlow: python3 -m tundish.from_tensorflow train.py -o DIR

The program is read, not run, and TensorFlow is not needed.  Each dataset that it feeds becomes a topology in
DIR, with TensorFlow's line beside each option; a strategy becomes an overlay, and a function that no operation
replaces a skeleton.  What is not translated is printed with its line, the reason and what to do.

    --c            writes operations in C for functions to complete, not functions of Python
    --replicas N   the devices of a strategy, or its workers, where the program does not say how many (2)

Exit codes: 0 topologies were written; 1 the program cannot be read, or has no dataset; 2 usage.
"""

import os
import pathlib
import re
import sys

from ._tensorflow_graph import Graph
from ._tensorflow_overlay import overlay
from ._tensorflow_program import Program
from ._tensorflow_skeletons import skeletons
from ._tensorflow_values import REFUSED, Notes
from ._tensorflow_yaml import topology

USAGE = "usage: python3 -m tundish.from_tensorflow PROGRAM.py -o DIR [--c] [--replicas N]"


def fail(code, text):
    print(text, file=sys.stderr)
    sys.exit(code)


def arguments(words):
    """The program, the folder, the number of replicas and the language of functions to complete."""
    program = folder = None
    replicas, language, words = 2, "python", list(words)
    while words:
        word = words.pop(0)
        if word in ("-h", "--help"):
            print(__doc__.strip())
            sys.exit(0)
        if word in ("-o", "--replicas") and not words:
            fail(2, f"{word} needs a value; {USAGE}")
        if word == "-o":
            folder = words.pop(0)
        elif word == "--c":
            language = "c"
        elif word == "--replicas":
            value = words.pop(0)
            if not (value.isascii() and value.isdigit()) or not 1 <= int(value) <= 65536:
                fail(2, f"--replicas: {value!r} is not a number from 1 to 65536; {USAGE}")
            replicas = int(value)
        elif word.startswith("-") or program is not None:
            fail(2, f"{word!r} is not expected; {USAGE}")
        else:
            program = word
    if program is None or folder is None:
        fail(2, USAGE)
    return program, folder, replicas, language


def read(path):
    try:
        return pathlib.Path(path).read_bytes().decode("utf-8-sig")
    except OSError as error:
        fail(1, f"{path}: {error.strerror}")
    except UnicodeDecodeError as error:
        fail(1, f"{path}: not a text of UTF-8 (byte {error.start})")
    return None


def understand(path, replicas, language):
    """The datasets of a program, with what is said about it."""
    source, file = read(path), os.path.basename(path)
    try:
        return Program(source, file, Notes(file), replicas, language)
    except SyntaxError as error:
        fail(1, f"{path}:{error.lineno}: not a program of Python 3: {error.msg}")
    except ValueError as error:
        fail(1, f"{path}: not a program of Python 3: {error}")
    except RecursionError:
        fail(1, f"{path}: its expressions are nested too deeply to be read")
    return None


def names_of(datasets):
    """A file name for each dataset: its variable, with the line where several have one."""
    made = []
    for dataset in datasets:
        name = re.sub(r"\W", "_", dataset.name)
        made.append(name if name not in made else f"{name}_{dataset.line}")
    return [name if made.count(name) == 1 else f"{name}_{number}" for number, name in enumerate(made)]


def write(folder, name, text, written):
    path = folder / name
    path.write_text(text, encoding="utf-8")
    written.append(str(path))


def translate(program, folder):
    """Writes the files of all datasets; their paths."""
    written, saves = [], []
    names = names_of(program.datasets)
    for name, dataset in zip(names, program.datasets):
        graph = Graph(program, dataset, name, str(folder))
        title = [
            f"The dataset `{dataset.name}` of {program.file}, translated by tundish.from_tensorflow.",
            f"  tundish head {folder}/{name}.yaml",
        ]
        write(folder, f"{name}.yaml", topology(graph, title), written)
        placed = overlay(graph)
        if placed is not None:
            write(folder, f"{placed[0]}.yaml", placed[1], written)
        for file, text in skeletons(graph).items():
            write(folder, file, text, written)
        saves += graph.saves
    if saves:
        text = (
            f"# Lines for {program.file}: each comes before the line that is named, where its array is complete.\nimport numpy\n\n"
        )
        text += "".join(f"{line}    # before line {before}\n" for line, before in reversed(dict(reversed(saves)).items()))
        write(folder, "save_arrays.py", text, written)
    write(folder, "translation.txt", program.notes.text(), written)
    return written


def main(words):
    path, place, replicas, language = arguments(words)
    program = understand(path, replicas, language)
    if not program.datasets:
        print(program.notes.text(), end="")
        fail(1, f"{path}: no dataset of tf.data is fed or returned in this file")
    folder = pathlib.Path(place)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        written = translate(program, folder)
    except OSError as error:
        fail(1, f"{error.filename}: {error.strerror}")
    print(program.notes.text(), end="")
    for name in written:
        print(f"wrote {name}")
    left = len(program.notes.of(REFUSED))
    if left:
        print(f"{left} calls are not translated")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
