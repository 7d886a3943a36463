"""The tests of a script by name: its functions test_*."""
import subprocess
import time
import traceback


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
        try:
            call(tests[name])
        except (AssertionError, OSError, subprocess.TimeoutExpired) as error:
            failed += 1
            verdict = "FAIL", note
            print(error if str(error) else traceback.format_exc())
        print(f"{verdict[0]} {name} ({time.monotonic() - began:.1f} s){verdict[1]}", flush=True)
    return 1 if failed else 0
