"""The tests of a script by name: its functions test_*."""
import os
import pathlib
import sys
import tempfile
import time
import traceback

import run  # noqa: F401: finds what follows
import command_output


def in_folder(test):
    """Calls a test with an empty folder, which is removed afterwards."""
    with tempfile.TemporaryDirectory() as folder:
        test(pathlib.Path(os.path.realpath(folder)))


def run_named(scope, names, call, note=""):
    """Calls `call(test)` for each of `names` ("all": every one), or lists them where none is given.

    `scope` is the script's globals(), `note` is printed after the name of a test that failed.  The exit
    code for the script.
    """
    tests = {name[5:]: value for name, value in scope.items() if name.startswith("test_")}
    if not names:
        print("\n".join(tests))
        return 0
    failed = 0
    for name in tests if names == ["all"] else names:
        began = time.monotonic()
        verdict = "ok  ", ""
        command_output.forget()
        try:
            call(tests[name])
        except Exception:
            failed += 1
            verdict = "FAIL", note
            traceback.print_exc(file=sys.stdout)
            command_output.show()
        print(f"{verdict[0]} {name} ({time.monotonic() - began:.1f} s){verdict[1]}", flush=True)
    return 1 if failed else 0
