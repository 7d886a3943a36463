#!/usr/bin/env python3
"""tools/bundle and tools/gpu-check: their options, a machine without a GPU, and the driver of the tests in place of one."""
import json
import os
import subprocess

from command import BUILD, ROOT, holds, main, same

DRIVER = BUILD / "tests/support/cuda/whole"


def tool(name, *words, env=None):
    """Exit code, stdout and stderr of `tools/NAME WORDS...`."""
    done = subprocess.run([str(ROOT / "tools" / name), *map(str, words)], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          text=True, timeout=250, env={**os.environ, **(env or {})})
    return done.returncode, done.stdout, done.stderr


def bundle(folder):
    """What tools/bundle would make, as links to the build."""
    for name in ("bin", "python/tundish"):
        (folder / name).mkdir(parents=True)
    for program in [*(BUILD / "tests").glob("gpu_*"), BUILD / "tests/test_conformance_device"]:
        (folder / "bin" / program.name).symlink_to(program)
    for file in [BUILD / "tundish", BUILD / "libtundish.so", *(ROOT / "tools/python/tundish").glob("*.py")]:
        (folder / "python/tundish" / file.name).symlink_to(file)
    (folder / "dlpack.py").symlink_to(ROOT / "tests/gpu/dlpack.py")
    return folder


def test_options(folder):
    for name in ("bundle", "gpu-check"):
        code, out, err = tool(name, "--help")
        same((code, err), (0, ""), name)
        holds(out, f"tools/{name}", "Exit codes:")
        for words in ((), ("--no-such",), ("a", "b", "c", "d")):
            code, out, err = tool(name, *words)
            same((code, out), (2, ""), f"{name} {words}")
            holds(err, "Exit codes:")


def test_set_up_installs_a_compiler_only_if_asked(folder):
    code, out, _ = tool("setup", "--help")
    same(code, 0)
    holds(out, "tools/setup --cuda     also NVIDIA's compiler of kernels")
    code, out, err = tool("setup", "--tests", "--kuda")
    same((code, out, err), (2, "", "tools/setup: unknown option '--kuda'; see tools/setup --help\n"))


def test_a_folder_of_something_else_is_left_alone(folder):
    (folder / "mine").write_text("x")
    code, _, err = tool("bundle", folder)
    same(code, 1)
    holds(err, "is not empty, and not a bundle")
    same([path.name for path in folder.iterdir()], ["mine"])
    code, _, err = tool("gpu-check", folder, folder / "out")
    same(code, 2)
    holds(err, "is not a bundle: tools/bundle makes one")


def test_without_a_device_nothing_runs(folder):
    env = {"LD_LIBRARY_PATH": str(DRIVER), "TND_CUDA_DEVICES": "0"}
    code, out, _ = tool("gpu-check", bundle(folder / "bundle"), folder / "out", env=env)
    same(code, 77)
    holds(out, f"{DRIVER} (LD_LIBRARY_PATH)", "skipped: the CUDA driver finds no device", "nothing was checked")
    result = json.loads((folder / "out/result.json").read_text())
    same(([program["result"] for program in result["programs"]], result["values"]), (["skipped"], []))


def test_what_is_computed_is_right_over_the_driver_of_the_tests(folder):
    env = {"LD_LIBRARY_PATH": str(DRIVER), "XDG_RUNTIME_DIR": str(folder)}
    code, out, err = tool("gpu-check", "--correct", bundle(folder / "bundle"), folder / "out", env=env)
    same((code, err), (0, ""), out)
    holds(out, "of 13 programs failed", "pjrt", "skipped")
    result = json.loads((folder / "out/result.json").read_text())
    same({value["met"] for value in result["values"]} - {None}, {True})
    compiled = any(program["name"] == "casts" and program["result"] == "done" for program in result["programs"])
    same({value["check"] for value in result["values"]}, {2, 4, 9, 20} | ({1} if compiled else set()))


def test_a_program_that_fails_is_named(folder):
    env = {"LD_LIBRARY_PATH": str(DRIVER), "XDG_RUNTIME_DIR": str(folder), "TND_CUDA_FAIL": "cuMemcpyHtoDAsync_v2"}
    code, out, _ = tool("gpu-check", "--correct", bundle(folder / "bundle"), folder / "out", env=env)
    same(code, 1)
    holds(out, "link                         FAILED (1): cuMemcpyHtoDAsync_v2 failed", "run_cpu                      done")


main(globals())
