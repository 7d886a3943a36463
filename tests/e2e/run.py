"""What end-to-end tests share: the real command, its report and its metrics, in a folder of its own."""
import json
import os
import pathlib
import random
import signal
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/support"))
import command_output  # noqa: E402, F401
from free_ports import free_port, free_range  # noqa: E402, F401

BUILD = pathlib.Path(os.environ.get("TUNDISH_BUILD", ROOT / "build"))
TUNDISH = BUILD / "tundish"
FASHION = ROOT / "examples" / "fashion"
#  What a test draws, it draws from this.
TEST_SEED = int(os.environ.get("TUNDISH_TEST_SEED") or random.randrange(1, 1 << 30))
DATA = pathlib.Path(os.environ.get("TUNDISH_DATA", "/usr/share/datasets/fashion-mnist"))
SKIP = 77  # ctest: SKIP_RETURN_CODE


def need_data():
    """Ends the test as skipped where Fashion-MNIST is not installed."""
    if not (DATA / "train-images-idx3-ubyte.gz").exists():
        print(f"skipped: no Fashion-MNIST in {DATA}")
        raise SystemExit(SKIP)


def alive(pid):
    """Whether a process runs, and is not a zombie."""
    try:
        return pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):  # the second: it ended after the file was opened
        return False


def family(pid):
    """A process and all that it started, directly or not."""
    pids = [pid]
    for parent in pids:
        try:
            for task in pathlib.Path(f"/proc/{parent}/task").iterdir():
                pids += map(int, (task / "children").read_text().split())
        except (FileNotFoundError, ProcessLookupError):  # it has ended
            continue
    return pids


def kill_run(process):
    """Kills a run with all its processes, and waits until none is left: no checkpoint, no lock.

    The hosts of `up` have process groups of their own, and drain where only `up` is killed.
    """
    os.kill(process.pid, signal.SIGSTOP)  # starts no further process
    killed = family(process.pid)
    for pid in killed:
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
    process.wait()
    while any(alive(pid) for pid in killed):
        time.sleep(0.01)


class Outcome:
    """How one run ended: exit code, output, report and metrics."""

    def __init__(self, code, output, report, metrics):
        self.code, self.output, self.report, self.metrics = code, output, report, metrics

    @property
    def losses(self):
        """The loss of every step, as the text that was written: equal text is equal bits."""
        return [line["loss"] for line in self.metrics]


def tundish(command, *arguments, report=True, timeout=300, expect=0, env=None):
    """Runs `tundish COMMAND ARGUMENTS...`; report and metrics are read when asked for."""
    with tempfile.TemporaryDirectory() as folder:
        line = [str(TUNDISH), command, *map(str, arguments)]
        files = (pathlib.Path(folder) / "report.json", pathlib.Path(folder) / "metrics.jsonl")
        if report:
            line += ["--report", str(files[0]), "--metrics", str(files[1]), "--quiet"]
        done = subprocess.run(line, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                              timeout=timeout, cwd=ROOT, env={**os.environ, **(env or {})})
        if expect is not None and done.returncode != expect:
            raise AssertionError(f"{' '.join(line)}\nexit code {done.returncode}, "
                                 f"expected {expect}\n{done.stdout[-4000:]}")
        told = json.loads(files[0].read_text()) if report and files[0].exists() else None
        steps = []
        if report and files[1].exists():
            steps = [json.loads(text, parse_float=str) for text in files[1].read_text().splitlines()]
        return Outcome(done.returncode, done.stdout, told, steps)
