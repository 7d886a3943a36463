#!/usr/bin/env python3
"""tools/try: builds and runs what its name says, and nothing else."""
import subprocess

from command import ROOT, holds, main, same


def tried(*words):
    """Exit code, stdout and stderr of `tools/try WORDS...`."""
    done = subprocess.run([ROOT / "tools/try", *words], capture_output=True, text=True, timeout=120)
    return done.returncode, done.stdout, done.stderr


def test_usage(folder):
    code, out, err = tried("--help")
    same((code, err), (0, ""))
    holds(out, "tools/try [--preset PRESET] NAME", "Exit codes:")
    same(tried()[0], 2)
    same(tried("--preset", "fastest", "layers")[0], 2)
    same(tried("runtime/core/cahce"), (2, "", "tools/try: no test is called runtime/core/cahce; did you mean "
                                       "runtime/core/cache, runtime/core/places, runtime/core/batcher?\n"))
    same(tried("bench/nothing")[0], 2)
    code, out, err = tried("runtime/core/lane", "--list")
    same((code, out), (2, ""))
    holds(err, "tools/try: runtime/core/lane is ", " tests; arguments are for one\n")


def test_one_is_run(folder):
    code, out, _ = tried("tools/usage/none")
    same(code, 2)
    code, out, _ = tried("layers")
    same(code, 0)
    holds(out, "1/1 Test", "100% tests passed, 0 tests failed out of 1")


def test_what_a_test_prints_and_how_it_ends(folder):
    code, out, _ = tried("harness/passes", "--list")
    same(code, 0)
    code, out, _ = tried("harness/fails", "--quiet")  # which ctest expects to fail
    same(code, 1)


main(globals())
