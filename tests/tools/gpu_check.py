#!/usr/bin/env python3
"""tools/bundle and tools/gpu-check: their options, a machine without a GPU, and the driver of the tests in place of one."""
import json
import os
import subprocess

from command import BUILD, ROOT, holds, main, same

DRIVER, NCCL = BUILD / "tests/support/cuda/whole", BUILD / "tests/support/nccl/whole"


def tool(name, *words, env=None):
    """Exit code, stdout and stderr of `tools/NAME WORDS...`."""
    done = subprocess.run([str(ROOT / "tools" / name), *map(str, words)], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          text=True, timeout=250, env={**os.environ, **(env or {})})
    return done.returncode, done.stdout, done.stderr


def bundle(folder):
    """What tools/bundle would make, as links to the build."""
    for name in ("bin", "python/tundish"):
        (folder / name).mkdir(parents=True)
    for program in [*(BUILD / "tests").glob("gpu_*"), BUILD / "tests/test_conformance_device", BUILD / "tests/linear.so"]:
        (folder / "bin" / program.name).symlink_to(program)
    for file in [BUILD / "tundish", BUILD / "libtundish.so", *(ROOT / "tools/python/tundish").glob("*.py")]:
        (folder / "python/tundish" / file.name).symlink_to(file)
    for name in "dlpack.py", "runs.py":
        (folder / name).symlink_to(ROOT / "tests/gpu" / name)
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


def over_the_driver(folder, *words, **env):
    """Runs the checks of what is computed over the driver of the tests."""
    env = {"LD_LIBRARY_PATH": f"{DRIVER}:{NCCL}", "XDG_RUNTIME_DIR": str(folder), **env}
    code, out, err = tool("gpu-check", "--correct", "--patience", 10, *words, bundle(folder / "bundle"), folder / "out", env=env)
    same(err, "")
    return code, out, json.loads((folder / "out/result.json").read_text())


def test_what_is_computed_is_right_over_the_driver_of_the_tests(folder):
    code, out, result = over_the_driver(folder)
    same(code, 0, out)
    holds(out, "0 of 18 programs failed", "pjrt", "skipped")
    same({value["met"] for value in result["values"]} - {None}, {True})
    compiled = any(program["name"] == "casts" and program["result"] == "done" for program in result["programs"])
    same({value["check"] for value in result["values"]}, {2, 4, 9, 20, 21, 22, 23, 24, 27} | ({1, 28} if compiled else set()))
    same([*(folder / "out").glob("*.trace")], [])


def test_a_program_that_fails_is_named_and_traced(folder):
    code, out, result = over_the_driver(folder, "--only", "commands", TND_CUDA_FAIL="cuMemcpyHtoDAsync_v2")
    same(code, 1)
    holds(out, "link                         FAILED (1): cuMemcpyHtoDAsync_v2 failed", "run_cpu                      done")
    same([program["name"] for program in result["programs"]],
         ["link", "link_traced", "run_cpu", "run_cuda", "run_auto_hidden", "run_cuda_hidden"])
    trace = (folder / "out/run_cuda.trace").read_text().splitlines()
    holds(trace[-1], " = ")
    failed = next(i for i, line in enumerate(trace) if line.endswith(" cuMemcpyHtoDAsync_v2 = 719"))
    holds(trace[failed - 1], " cuMemcpyHtoDAsync_v2")
    same((folder / "out/run_cpu.trace").exists(), False)
    (folder / "out/result.json").rename(folder / "failed.json")
    code, _, result = over_the_driver(folder / "again", "--again", folder / "failed.json")
    same((code, [program["name"] for program in result["programs"]]),
         (0, ["link", "run_cpu", "run_cuda", "run_auto_hidden", "run_cuda_hidden"]))


main(globals())
