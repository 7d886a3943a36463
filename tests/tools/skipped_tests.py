#!/usr/bin/env python3
"""What tools/check prints last: how many tests ctest skipped, and why."""
import subprocess

from command import ROOT, holds, main, same

TOOL = ROOT / "tools/skipped_tests"
TESTS = r"""
add_test(passes sh -c "echo skipped here and there")
add_test(part "sh" "-c" "echo 'ok   first'; echo 'skipped: srun is not installed'")
foreach(name a b)
    add_test(gpu/${name} sh -c "echo 'skipped: no CUDA driver'; exit 77")
    set_tests_properties(gpu/${name} PROPERTIES SKIP_RETURN_CODE 77)
endforeach()
add_test(bare sh -c "echo 'tests/bare: skipped: it takes half an hour'; echo more; exit 77")
add_test(silent sh -c "exit 77")
set_tests_properties(bare silent PROPERTIES SKIP_RETURN_CODE 77)
"""


def after_ctest(folder, tests):
    (folder / "CTestTestfile.cmake").write_text(tests)
    done = subprocess.run(["ctest", "-j", "3"], cwd=folder, capture_output=True, text=True, timeout=100)
    (folder / "printed").write_text(done.stdout)
    return subprocess.run([TOOL, folder, folder / "printed"], capture_output=True, text=True, timeout=60)


def test_each_reason_is_one_line(folder):
    done = after_ctest(folder, TESTS)
    same((done.returncode, done.stderr), (0, ""))
    first, *rest = done.stdout.splitlines()
    same(first, "4 tests skipped")
    same(sorted(rest), ["  in part part: srun is not installed", "  skipped bare: it takes half an hour",
                        "  skipped gpu/a and 1 more: no CUDA driver", "  skipped silent: it printed no reason"])


def test_no_skipped_test_is_said(folder):
    same(after_ctest(folder, "add_test(passes true)\n").stdout, "0 tests skipped\n")


def test_a_folder_without_a_log_is_named(folder):
    done = subprocess.run([TOOL, folder, folder / "printed"], capture_output=True, text=True, timeout=60)
    same((done.returncode, done.stdout), (1, ""))
    holds(done.stderr, "tools/skipped_tests: ", f"{folder}/Testing/Temporary/LastTest.log")
    same(subprocess.run([TOOL], capture_output=True, timeout=60).returncode, 2)


main(globals())
