"""The device cuda and its driver: each driver that cannot be used is refused in one line, `auto` continues
on the processor, each call may fail, and a lost device ends the run with what --resume needs.

Usage: cuda_driver.py TUNDISH FOLDER, where FOLDER has the drivers of tests/support/cuda.  With TND_CUDA_ALL
each of the first 400 calls fails once, and not a few of them.
"""
import json
import os
import pathlib
import random
import re
import shutil
import subprocess
import sys
import tempfile
import time

tundish, drivers = sys.argv[1], pathlib.Path(sys.argv[2])
seed = int(os.environ.get("TND_CUDA_SEED", "1"))
DIGEST = "6f9da02b1ee6a1a6ff9e5a5c4ed2a9fb"
GRAPH = """tundish: 1
seed: 7
actors:
  read:  {{kind: reader, source: {{npy: {{x: {folder}/x.npy}}}}, shuffle: global, epochs: {epochs}}}
  batch: {{kind: batcher, size: 16, replicas: {replicas}}}
  feed:  {{kind: feeder, depth: {depth}, devices: {devices}, cast: {{x: {{to: bf16, scale: [0.5], bias: [1]}}}}}}
{more}links:
  - read -> batch -> feed
"""


class Run:
    """One run of the shipped command; `report` is what the driver wrote."""

    def __init__(self, devices, driver=drivers / "whole", epochs=2, depth=2, replicas=2, more="", arguments=(), wait=True, **settings):
        graph, self.report_file = f"{folder}/run.yaml", pathlib.Path(folder, "driver.txt")
        pathlib.Path(graph).write_text(GRAPH.format(folder=folder, devices=devices, epochs=epochs, depth=depth,
                                              replicas=replicas, more=more))
        self.report_file.unlink(missing_ok=True)
        settings = {"CUDA_" + name if name != "VISIBLE" else name: str(value) for name, value in settings.items()}
        # Threads around a call that hangs are left to the exit.
        environment = {**os.environ, "LD_LIBRARY_PATH": str(driver), "TND_CUDA_REPORT": str(self.report_file),
                       "TSAN_OPTIONS": os.environ.get("TSAN_OPTIONS", "") + " report_thread_leaks=0"}
        environment.pop("CUDA_VISIBLE_DEVICES", None)
        for name, value in settings.items():
            environment["CUDA_VISIBLE_DEVICES" if name == "VISIBLE" else "TND_" + name] = value
        self.process = subprocess.Popen(
            [tundish, "run", graph, "--report", f"{folder}/report.json", *arguments], env=environment,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        if wait:
            self.finish()

    def finish(self):
        self.text = self.process.communicate(timeout=100)[0]
        self.code = self.process.returncode
        print(f"exit {self.code}: {self.text}")
        self.report = self.report_file.read_text() if self.report_file.exists() else ""
        assert "violation" not in self.report, self.report
        return self

    def digest(self):
        assert self.code == 0, self.code
        return json.loads(pathlib.Path(folder, "report.json").read_text())["stream_digest"]

    def called(self, name):
        return sum(int(times) for times in re.findall(rf"^called \w+ {name} (\d+)$", self.report, re.M))


def none():
    """A folder without a driver."""
    path = pathlib.Path(folder, "none")
    path.mkdir()
    return path


def cut():
    """One with a driver that is cut off."""
    path = pathlib.Path(folder, "cut", "libcuda.so.1")
    path.parent.mkdir()
    whole = (drivers / "whole" / path.name).read_bytes()
    path.write_bytes(whole[:len(whole) // 8])
    return path.parent


def test_drivers_that_cannot_be_used_are_refused_in_one_line():
    # The words; the driver; how it behaves; the device.
    table = [
        ("the libcuda.so.1 that was found is the stub of the CUDA Toolkit", "whole", {"INIT": 34}),
        ("the CUDA driver finds no device (CUDA_VISIBLE_DEVICES may hide it)", "whole", {"INIT": 100}),
        ("the CUDA driver finds no device", "whole", {"DEVICES": 0}),
        ("the CUDA driver finds no device", "whole", {"VISIBLE": ""}),
        ("the CUDA driver is for CUDA 11.3 and 11.4 is needed: update it", "whole", {"VERSION": 11030}),
        ("cuInit failed: ", "whole", {"INIT": 999}),
        ("the CUDA driver lacks cuStreamWaitEvent", "lacking", {}),
        ("no CUDA driver can be loaded: libcuda.so.1: the file is cut off", cut(), {}),
    ]
    if "libcuda.so.1" not in subprocess.run(["/sbin/ldconfig", "-p"], capture_output=True, text=True).stdout:
        table.append(("no CUDA driver can be loaded: libcuda.so.1: cannot open shared object file", none(), {}))
    for words, driver, settings in table:
        run = Run('["cuda:0"]', driver=drivers / driver, **settings)
        assert run.code == 78, run.code
        assert run.text.startswith(f"{folder}/run.yaml:6:45: error[T064]: feed: device cuda:0 cannot be used: {words}"), words
        assert run.text.endswith("\n1 error\n"), words
    for words, driver, settings in random.Random(seed).sample(table, 2):
        run = Run("auto", driver=drivers / driver, **settings)
        assert f"note[T076]: `auto` is cpu:0 here: {words}" in run.text, words
        assert run.text.count("auto` is") == 1 and run.digest() == expected


def test_devices_that_are_missing_are_refused():
    for name, words in [("cuda:2", "2 of that kind, cuda:0 and cuda:1"), ("cuda:GPU-zz", "GPU-00c1c2c3-c4c5-c6c7-c8c9-cacbcccdcecf, GPU-01c1")]:
        run = Run(f'["{name}"]', DEVICES=2)
        assert run.code == 78 and f"device {name} is not there: this machine has {words}" in run.text


def test_a_range_that_is_missing_is_one_error():
    for devices, words, settings in [
            ('["cuda:[0-7]"]', "devices cuda:[0-7] are not all there: this machine has 2 of that kind, cuda:0 and cuda:1", {"DEVICES": 2}),
            ('["cuda:[1-7]"]', "devices cuda:[1-7] are not all there: this machine has 1 of that kind, cuda:0", {"DEVICES": 1}),
            ('["cuda:0", "cuda:[3-7]"]', "devices cuda:[3-7] are not all there: this machine has 3 of that kind, cuda:0 to cuda:2", {"DEVICES": 3}),
            ('["cuda:[0-7]"]', "devices cuda:[0-7] cannot be used: the CUDA driver finds no device (CUDA_VISIBLE_DEVICES may hide it)", {"INIT": 100})]:
        run = Run(devices, replicas=8, **settings)
        column = 43 + devices.index("cuda:[")
        assert run.code == 78 and run.text.startswith(f"{folder}/run.yaml:6:{column}: error[T064]: feed: {words}\n"), words
        assert run.text.endswith("\n1 error\n"), words


def test_devices_are_found_by_their_names_and_numbers():
    for devices, settings, times in [
            ('["cuda:[0-1]"]', {"DEVICES": 8}, 2), ("auto", {"DEVICES": 2}, 2),
            ('["cuda:GPU-01C1C2C3-c4c5-c6c7-c8c9-cacbcccdcecf"]', {"DEVICES": 2}, 1),
            ("auto", {"DEVICES": 4, "VISIBLE": "3"}, 1)]:
        run = Run(devices, STEADY=2, **settings)
        assert run.digest() == expected
        assert run.called("cuDevicePrimaryCtxRetain") == times, run.report


def test_the_memory_of_many_slots_takes_few_calls():
    run = Run('["cuda:[0-1]"]', depth=200, DEVICES=2, STEADY=2)
    assert run.digest() == expected
    assert run.called("cuMemHostAlloc") <= 30 and run.called("cuMemAlloc_v2") <= 60, run.report


# If it fails but the device is not lost, only the time of a step is unknown.
TIMED = "cuEventElapsedTime"


def fails(devices, call, **settings):
    """A run with a call that fails, and the name of that call."""
    run = Run(devices, DEVICES=2, FAIL=call, LATE=1, epochs=4, **settings)
    found = re.search(r"^failed (\w+) ", run.report, re.M)
    assert found, f"fewer than {call} calls"
    assert found[1] in run.text or found[1] == TIMED, f"{found[1]} is not named"
    return run, found[1]


def test_a_device_that_cannot_be_opened_is_refused_at_its_place():
    for devices, call, name in [
            ('["cuda:[0-1]"]', "cuDevicePrimaryCtxRetain@2", "cuda:1"), ('["cuda:[0-1]"]', "cuStreamCreateWithPriority", "cuda:0"),
            ('["cuda:[0-1]"]', "cuModuleLoadData", "cuda:0"), ('["cuda:[0-1]"]', "cuMemHostAlloc@3", "cuda:0"),
            ('["cuda:[0-1]"]', "cuMemAlloc_v2@5", "cuda:[01]"), ('["cuda:[0-1]"]', "cuEventCreate@9", "cuda:[01]"),
            ('["cuda:1","cuda:0"]', "cuDevicePrimaryCtxRetain@2", "cuda:0")]:
        if call == "cuModuleLoadData" and not casts:
            continue
        run, failed = fails(devices, call)
        column = 45 if "[0" in devices else 54
        assert run.code == 78
        place = re.escape(f"{folder}/run.yaml:6:{column}: error[T064]: feed: ")
        assert re.match(f"{place}{name}: {failed} failed: out of memory", run.text), call
        assert run.text.endswith("\n1 error\n"), call


def test_auto_says_how_to_run_without_a_device_that_cannot_be_opened():
    run, _ = fails("auto", "cuDevicePrimaryCtxRetain")
    assert run.code == 78
    assert run.text.startswith(f"{folder}/run.yaml:6:44: error[T064]: feed: cuda:0: cuDevicePrimaryCtxRetain failed: out of memory")
    assert 'help: `devices: ["cpu:0"]` runs on the processor' in run.text, run.text


def fail(call, named, error):
    """A call that fails is named.  Before the start that is an error of the file and the machine, later one of the run."""
    run, failed = fails('["cuda:[0-1]"]' if named else "auto", call, **{"FAIL_WITH": error} if error else {})
    if failed == TIMED and run.code == 0:
        return
    # One copy is for the cast of each device; an event comes before the first copy of rows.
    copied = run.called("cuMemcpyHtoDAsync_v2") > (2 if casts else 0) or failed == "cuEventRecord" and run.text.startswith("tundish run: ")
    counts = call <= 3  # cuInit, cuDriverGetVersion, cuDeviceGetCount: what `auto` asks
    assert run.code in ([0] if counts and not named else [1] if copied else [78]), (call, run.code)
    if run.code == 0:
        assert run.text.count("`auto` is cpu:0 here: ") == 1


def test_each_call_may_fail():
    every = range(1, 401)
    chosen = every if "TND_CUDA_ALL" in os.environ else random.Random(seed).sample(every, 6)
    for call in chosen:
        fail(call, call % 2 == 0, [None, 2, 700, 1][call // 2 % 4])


def test_a_copy_that_does_not_end_is_named():
    run = Run('["cuda:[0-1]"]', epochs=20, more="hung_after: 1s\n", DEVICES=2, NEVER=150)
    assert run.code == 1
    assert re.search(r"feed: (cuda:[01]) hangs: the copy of step \d+ to \1 takes longer than 1000 ms \(hung_after\)$", run.text.rstrip())


def test_a_lost_device_ends_the_run_and_another_continues():
    checkpoints, switch = pathlib.Path(folder, "checkpoints"), pathlib.Path(folder, "lost")
    more = f"checkpoint: {{dir: {checkpoints}, every: 20 steps}}\nhung_after: 100s\n"
    # The run stops at an event that never comes, so it does not end before the device is lost.  A step has an
    # event of each device, and another one if kernels cast its rows.
    run = Run('["cuda:[0-1]"]', epochs=20, more=more, arguments=("--log-level", "info"), wait=False, DEVICES=2,
              NEVER=270, LOSE=switch)
    assert any("checkpoint after step" in line for line in run.process.stdout), "no checkpoint"
    switch.touch()
    run.finish()
    assert run.code == 1
    assert re.search(r"^tundish run: cuda:[01]: cu\w+ failed: unspecified launch failure \(CUDA_ERROR_LAUNCH_FAILED, 719\); "
                     r"--resume continues after step \d+, the last checkpoint$", run.text, re.M)
    resumed = Run('["cpu:0"]', epochs=20, more=more, arguments=("--resume", "latest"))
    assert re.search(r"^of these, \d+ steps before this run, which resumed after them$", resumed.text, re.M)
    assert resumed.digest() == Run('["cpu:0"]', epochs=20).digest()


with tempfile.TemporaryDirectory(prefix="tundish_cuda_") as folder:
    header = b"{'descr': '<i2', 'fortran_order': False, 'shape': (100, 5), }"
    pathlib.Path(folder, "x.npy").write_bytes(
        b"\x93NUMPY\x01\x00\x76\x00" + header + b" " * (117 - len(header)) + b"\n" + bytes(i * 7 % 256 for i in range(1000)))
    expected = Run('["cpu:0"]').digest()
    casts = Run('["cuda:0"]').called("cuModuleLoadData") > 0  # its kernels were compiled
    for name, test in [*globals().items()]:
        if name.startswith("test_"):
            began = time.monotonic()
            test()
            print(f"--- {name}: {time.monotonic() - began:.1f} s")
