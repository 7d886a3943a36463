#!/usr/bin/env python3
"""Checks 21 to 25: whole runs of the command on a CUDA device, with a step that has kernels of its own.

    runs.py [--correct] COMMAND PLUGINS

COMMAND is `tundish`; PLUGINS is the folder of linear.so (tests/gpu/step_linear.c).

  21  the step gives the digests and the loss that it gives on a processor
  22  a kernel that faults, one that never ends, a context that the program destroys: one sentence with the
      last checkpoint, no hang, and --resume gives the same digests as an undisturbed run
  23  after `kill -9` the device can be used at once, and its memory is free
  24  memory of the device, and page-locked memory, are what `tundish explain` says
  25  `tundish why` names the limit of a run that copies, of one that computes, and of neither

Prints JSON as tests/gpu/gpu.h does, and what the commands printed.  Exit codes: 0 as expected; 1 not; 77 no
device.
"""
import array
import ctypes
import json
import os
import pathlib
import random
import re
import signal
import subprocess
import sys
import tempfile
import time

ROWS, LATE = 4096, 40
MIB = 2**20
GRAPH = """tundish: 1
seed: 7
checkpoint: {{dir: {folder}/{name}, every: 10 steps}}
hung_after: 2s
actors:
  read:  {{kind: reader, source: {{npy: {{x: {folder}/x.npy, y: {folder}/y.npy}}}}, shuffle: global, epochs: {epochs}}}
  batch: {{kind: batcher, size: 64, replicas: 2}}
  feed:  {{kind: feeder, depth: 3, devices: ["{device}"], step: {{plugin: linear}}}}
  mean:  {{kind: reducer}}
links:
  - read -> batch -> feed <-> mean
"""
PLAIN = """tundish: 1
seed: 7
actors:
  read:  {{kind: reader, source: {{raw: {{files: {folder}/rows, columns: {{x: "u8[{row}]"}}}}}}, shuffle: global, epochs: 1000000}}
  batch: {{kind: batcher, size: {size}, span_epochs: true}}
  feed:  {{kind: feeder, depth: {depth}, gather: 8, digest: false, devices: ["cuda:0"]{more}}}
links:
  - read -> batch -> feed
"""
failed = False


def show(check, name, value, unit, expected, met=None):
    global failed
    failed = failed or met is False
    print(json.dumps({"check": check, "name": name, "value": value, "unit": unit, "expected": expected, "met": met}), flush=True)


def write_npy(path, shape, values):
    head = "{'descr': '<f4', 'fortran_order': False, 'shape': %r, }" % (shape,)
    path.write_bytes(b"\x93NUMPY\x01\x00\x76\x00" + head.ljust(117).encode() + b"\n" + array.array("f", values).tobytes())


def write_data(folder, blocks):
    draw = random.Random(1)
    x = [draw.uniform(-1, 1) for _ in range(ROWS * 16)]
    write_npy(folder / "x.npy", (ROWS, 16), x)
    write_npy(folder / "y.npy", (ROWS,), [sum((i - 8) * x[r * 16 + i] for i in range(16)) for r in range(ROWS)])
    with open(folder / "rows", "wb") as file:
        for _ in range(blocks):
            file.write(os.urandom(MIB))


class Command:
    def __init__(self, folder, command, plugins):
        self.folder, self.command = folder, command
        # Threads around a call that hangs are left to the exit.
        self.env = {**os.environ, "TUNDISH_PLUGIN_PATH": plugins, "XDG_RUNTIME_DIR": str(folder),
                    "TSAN_OPTIONS": os.environ.get("TSAN_OPTIONS", "") + " report_thread_leaks=0"}

    def words(self, *words):
        return [self.command, *map(str, words)]

    def run(self, *words, timeout=60, **env):
        """Exit code, what it printed, and seconds."""
        begun = time.monotonic()
        try:
            done = subprocess.run(self.words(*words), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                                  errors="replace", timeout=timeout, env={**self.env, **env})
            code, text = done.returncode, done.stdout
        except subprocess.TimeoutExpired as late:
            code, text = f"not after {timeout} s", (late.stdout or b"").decode(errors="replace")
        took = time.monotonic() - begun
        print(f"$ {' '.join(words)} {env}\n{text}exit {code}, {took:.1f} s", flush=True)
        return code, text, took

    def start(self, *words, **env):
        return subprocess.Popen(self.words(*words), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                                env={**self.env, **env})


class Linear:
    """Runs of GRAPH."""

    def __init__(self, command, epochs):
        self.command, self.folder, self.epochs = command, command.folder, epochs

    def write(self, name, device, epochs=None):
        path = self.folder / f"{name}.yaml"
        path.write_text(GRAPH.format(folder=self.folder, name=name, device=device, epochs=epochs or self.epochs))
        return str(path)

    def run(self, name, device, *words, **env):
        """Exit code, text, seconds, and the report."""
        report = self.folder / f"{name}.json"
        report.unlink(missing_ok=True)
        code, text, took = self.command.run("run", self.write(name, device), "--report", str(report), *words, **env)
        return code, text, took, json.loads(report.read_text()) if report.exists() else {}


def loss(text):
    found = re.search(r"^feed: +loss ([0-9.]+)", text, re.M)
    return float(found.group(1)) if found else 1e9


def digests(report):
    return report.get("stream_digest"), report.get("model_digest")


def check_own_kernels(linear):
    _, here, _, expected = linear.run("on_cpu", "cpu:0")
    _, there, _, found = linear.run("on_cuda", "cuda:0")
    show(21, "same_stream_as_on_the_processor", int(digests(expected)[0] == digests(found)[0]), "", "= 1",
         None not in digests(expected) and digests(expected)[0] == digests(found)[0])
    show(21, "same_model_as_on_the_processor", int(digests(expected)[1] == digests(found)[1]), "", "= 1",
         digests(expected)[1] == digests(found)[1])
    apart = abs(loss(here) - loss(there))
    show(21, "loss_apart", apart, "", "<= 0.0001", apart <= 1e-4)
    return digests(expected)


def run_until_fault(linear, name, fault):
    """Exit code, text, and seconds from the fault on, which comes after the first checkpoint."""
    switch = linear.folder / f"{name}.switch"
    process = linear.command.start("run", linear.write(name, "cuda:0"), "--log-level", "info",
                                   LINEAR_FAULT=fault, LINEAR_SWITCH=str(switch))
    text = ""
    for line in process.stdout:
        text += line
        if "checkpoint after step" in line:
            break
    switch.touch()
    begun = time.monotonic()
    try:
        text += process.communicate(timeout=LATE)[0]
    except subprocess.TimeoutExpired:
        process.kill()
        text += process.communicate()[0]
    took = time.monotonic() - begun
    print(f"$ {fault}\n{text}exit {process.returncode}, {took:.1f} s", flush=True)
    return process.returncode, text, took


def check_fault(linear, fault, expected):
    name = f"fault_{fault}"
    code, text, took = run_until_fault(linear, name, fault)
    lines = [line for line in text.splitlines() if line.startswith("tundish run: ")]
    show(22, f"{fault}_sentences", len(lines), "", "= 1", len(lines) == 1)
    told = re.search(r"; --resume continues after step (\d+), the last checkpoint", text)
    step = int(told.group(1)) if told else -1
    show(22, f"{fault}_last_checkpoint", step, "", "every tenth step", step % 10 == 9 and step > 0)
    show(22, f"{fault}_exit_code", code, "", "= 1", code == 1)
    show(22, f"{fault}_ends_after", took, "s", f"<= {LATE}", code == 1)
    code, text, _, report = linear.run(name, "cuda:0", "--resume")
    show(22, f"{fault}_resumed_after_a_checkpoint", int("steps before this run" in text), "", "= 1", "steps before this run" in text)
    show(22, f"{fault}_resumed_to_the_same_digests", int(digests(report) == expected), "", "= 1",
         code == 0 and digests(report) == expected)


# --- memory --------------------------------------------------------------------------------------

class Driver:
    """What is free of the first device."""

    def __init__(self):
        self.library = ctypes.CDLL("libcuda.so.1")
        self.device = device = ctypes.c_int()
        context = ctypes.c_void_p()
        self.call("cuInit", 0)
        self.call("cuDeviceGet", ctypes.byref(device), 0)
        self.call("cuDevicePrimaryCtxRetain", ctypes.byref(context), device)
        self.call("cuCtxPushCurrent_v2", context)

    def call(self, name, *arguments):
        code = getattr(self.library, name)(*arguments)
        if code:
            raise OSError(f"{name} failed: {code}")

    def close(self):
        self.call("cuCtxPopCurrent_v2", ctypes.byref(ctypes.c_void_p()))
        self.call("cuDevicePrimaryCtxRelease_v2", self.device)

    def free(self):
        free, total = ctypes.c_size_t(), ctypes.c_size_t()
        self.call("cuMemGetInfo_v2", ctypes.byref(free), ctypes.byref(total))
        return free.value


def mapped_by_driver():
    """Bytes of this process that the driver has mapped, page-locked memory among them."""
    found = 0
    for line in open("/proc/self/maps"):
        words = line.split()
        if len(words) > 5 and (words[5].startswith("/dev/nvidia") or words[5].startswith("/dev/zero")):
            begin, end = words[0].split("-")
            found += int(end, 16) - int(begin, 16)
    return found


def plan_of(command, path):
    text = subprocess.run(command.words("explain", "--json", path), stdout=subprocess.PIPE, text=True, env=command.env).stdout
    memory = json.loads(text)["hosts"][0]["memory"]
    slots = sum(term["bytes"] for term in memory["terms"] if term["actor"] == "feed" and
                re.search(r"^slots of|spare batches", term["what"]))
    return memory["devices"][0]["bytes"], slots


def check_memory(command, driver, size):
    import tundish
    for name, more in ("plain", ""), ("cast", ", cast: {x: {to: f32}}"):
        path = command.folder / f"memory_{name}.yaml"
        path.write_text(PLAIN.format(folder=command.folder, row=65536, size=size, depth=4, more=more))
        there, here = plan_of(command, str(path))
        free, mapped = driver.free(), mapped_by_driver()
        with tundish.feed(path) as feed:
            next(feed)
            used, locked = free - driver.free(), mapped_by_driver() - mapped
        show(24, f"{name}_planned_on_the_device", there / MIB, "MiB", "")
        show(24, f"{name}_device_beside_the_plan", (used - there) / MIB, "MiB", "-8 to 8", abs(used - there) <= 8 * MIB)
        show(24, f"{name}_planned_page_locked", here / MIB, "MiB", "")
        if mapped_by_driver() > 0:  # that of the tests has all its memory from malloc
            show(24, f"{name}_page_locked_beside_the_plan", (locked - here) / MIB, "MiB", "-8 to 8", abs(locked - here) <= 8 * MIB)
        left = free - driver.free()
        show(24, f"{name}_left_after_the_end", left / MIB, "MiB", "<= 2", left <= 2 * MIB)


def lines_of(path):
    return path.read_bytes().count(b"\n") if path.exists() else 0


def wait_for_steps(process, path, steps, seconds=30):
    end = time.monotonic() + seconds
    while lines_of(path) < steps and process.poll() is None and time.monotonic() < end:
        time.sleep(0.02)
    return lines_of(path) >= steps


def check_kill(linear, driver, times):
    usable, left = 0, 0
    for i in range(times):
        metrics = linear.folder / f"killed_{i}.metrics"
        free = driver.free()
        process = linear.command.start("run", linear.write(f"killed_{i}", "cuda:0", epochs=100000), "--metrics", str(metrics),
                                       LINEAR_SPIN_US="500")
        if not wait_for_steps(process, metrics, 50):
            process.kill()
            print(process.communicate()[0])
            break
        process.send_signal(signal.SIGKILL)
        print(process.communicate()[0][-500:])
        left = max(left, free - driver.free())
        code, *_ = linear.run(f"after_{i}", "cuda:0", "--steps", "20")
        usable += code == 0
    show(23, "runs_right_after_kill_9", usable, "", f"= {times}", usable == times)
    show(23, "device_memory_left_by_kill_9", left / MIB, "MiB", "<= 2", left <= 2 * MIB)


# --- why -----------------------------------------------------------------------------------------

def ask_why(command, path, name, expected, **env):
    """Asks a run that has made some steps; returns the answer."""
    metrics = command.folder / f"{name}.metrics"
    process = command.start("run", str(path), "--metrics", str(metrics), **env)
    text, end = "the run did not start", time.monotonic() + 20
    while wait_for_steps(process, metrics, 20) and time.monotonic() < end and re.search(expected, text) is None:
        _, text, _ = command.run("why")
    process.kill()
    print(process.communicate()[0][-1000:])
    met = re.search(expected, text) is not None
    show(25, f"why_of_{name}", int(met), "", f"matches {expected}", met)
    return text


def check_why(command, linear):
    copying = command.folder / "copying.yaml"
    copying.write_text(PLAIN.format(folder=command.folder, row=4096, size=8192, depth=3, more=""))
    text = ask_why(command, copying, "copies", r"link of cuda:0|gather")
    rate = re.search(r"(\d+) rows/s", text)
    if rate:
        show(4, "a_run_of_shuffled_rows_of_4_KiB", int(rate.group(1)) * 4096 / 1e9, "GB/s", "")
    computing = linear.write("computing", "cuda:0", epochs=100000)
    ask_why(command, computing, "a_step_of_5_ms", r"step|cuda:0 ", LINEAR_SPIN_US="5000")


def main(arguments):
    correct = "--correct" in arguments
    name, plugins = [word for word in arguments if not word.startswith("-")]
    try:
        driver = Driver()
    except (OSError, AttributeError) as reason:
        print(f"skipped: {reason}")
        return 77
    with tempfile.TemporaryDirectory(prefix="tundish_gpu_") as place:
        folder = pathlib.Path(place)
        write_data(folder, 32 if correct else 256)
        command = Command(folder, name, plugins)
        linear = Linear(command, epochs=30 if correct else 60)
        expected = check_own_kernels(linear)
        for fault in "illegal", "reset", "endless", "unwaited":
            check_fault(linear, fault, expected)
        check_kill(linear, driver, 2 if correct else 5)
        check_memory(command, driver, 32 if correct else 512)
        if not correct:
            check_why(command, linear)
    driver.close()
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
