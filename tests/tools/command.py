"""What the tests of the command share: the real program, small data sets, small topologies."""
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import traceback

import numpy

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/support"))
import command_output  # noqa: E402
from free_ports import free_port  # noqa: E402, F401

BUILD = pathlib.Path(os.environ.get("TUNDISH_BUILD", ROOT / "build"))
TUNDISH = str(BUILD / "tundish")


def run(*words, timeout=60, env=None, stdout=subprocess.PIPE, cwd=None):
    """Exit code, stdout and stderr of `tundish WORDS...`."""
    done = subprocess.run([TUNDISH, *map(str, words)], stdout=stdout, stderr=subprocess.PIPE,
                          text=True, timeout=timeout, env={**os.environ, **(env or {})}, cwd=cwd)
    return done.returncode, done.stdout, done.stderr


def is_sanitized():
    """Whether the program has a sanitizer, whose own memory is measured with the program's."""
    return re.search(rb"__[at]san_init", pathlib.Path(TUNDISH).read_bytes()) is not None


def same(got, wanted, what=""):
    assert got == wanted, f"{what}: got {got!r}, wanted {wanted!r}"


def holds(text, *parts):
    for part in parts:
        assert part in text, f"{part!r} is not in:\n{text}"


def arrays(folder, rows=100, images=False):
    """x.npy, y.npy (and image.npy) with `rows` rows; returns them."""
    draw = numpy.random.default_rng(5)
    made = {"x": draw.standard_normal((rows, 3)).astype("f4"),
            "y": draw.integers(-2**40, 2**40, rows).astype("i8")}
    if images:
        made["image"] = draw.integers(0, 256, (rows, 8, 8)).astype("u1")
    for name, array in made.items():
        numpy.save(folder / f"{name}.npy", array)
    return made


def topology(folder, name="graph.yaml", columns="x y", read="", batch="size: 32", links=None,
             actors="", top=""):
    """A file with a reader of these columns and a batcher; returns its path."""
    source = ", ".join(f'{column}: "${{data}}/{column}.npy"' for column in columns.split())
    path = folder / name
    path.write_text(f"tundish: 1\nseed: 7\ndata: {folder}\n{top}actors:\n"
                    f"  read: {{kind: reader, source: {{npy: {{{source}}}}}{read}}}\n"
                    f"  batch: {{kind: batcher, {batch}}}\n{actors}"
                    f"links:\n" + "".join(f"  - {link}\n" for link in links or ["read -> batch"]))
    return path


FEED = "  feed: {kind: feeder%s}\n"
FED = ["read -> batch -> feed"]


def chosen(scope, words):
    """The functions test_* of a script, in order: all, those named, or all but those named after a `-`."""
    tests = {name: one for name, one in scope.items() if name.startswith("test_")}
    unknown = [word for word in words if word.removeprefix("-") not in tests]
    if unknown:
        sys.exit(f"no such tests: {' '.join(unknown)}")
    named = [word for word in words if word in tests] or tests
    return {name: one for name, one in tests.items() if name in named and f"-{name}" not in words}


def main(scope):
    """Runs every function called test_*, or those chosen by the words of the command line, each in a folder of its
    own; exits 1 if one fails."""
    failed = 0
    pages = tempfile.TemporaryDirectory()  # runs of others, of the same name, are not to be seen
    os.environ["XDG_RUNTIME_DIR"] = pages.name
    for name, function in chosen(scope, sys.argv[1:]).items():
        with tempfile.TemporaryDirectory() as folder:
            command_output.forget()
            try:
                function(pathlib.Path(folder))
                print(f"ok   {name}", flush=True)
            except Exception:
                failed += 1
                print(f"FAIL {name}", flush=True)
                traceback.print_exc(file=sys.stdout)
                command_output.show()
    pages.cleanup()
    sys.exit(1 if failed else 0)
