"""What the tests of `tundish run` and `tundish up` share: graphs, hosts, a command that runs."""
import atexit
import os
import select
import subprocess
import time

from command import BUILD, FED, FEED, TUNDISH, arrays, free_port, topology

PLUGINS = {"TUNDISH_PLUGIN_PATH": str(BUILD / "tests")}


def graph(folder, step="", **more):
    """100 rows in batches of 32, fed; `step` are the options of the probe, if it steps."""
    arrays(folder)
    options = f", step: {{plugin: probe{step}}}" if step is not None else ""
    return topology(folder, actors=FEED % options, links=FED, **more)


def hosts(folder, **keys):
    """An overlay with two hosts, a and b, that leads at a free port."""
    path = folder / "two.yaml"
    more = "".join(f"{key}: {value}\n" for key, value in keys.items())
    path.write_text(f"port: {free_port()}\n{more}hosts:\n  a: {{actors: [read, batch]}}\n"
                    "  b: {actors: [feed]}\n")
    return path


class Started:
    """A command that runs while the test looks at it."""

    def __init__(self, *words, cwd=None):
        self.process = subprocess.Popen([TUNDISH, *map(str, words)], stdout=subprocess.PIPE,
                                        stderr=subprocess.STDOUT, text=True, cwd=cwd,
                                        env={**os.environ, **PLUGINS})
        atexit.register(self.process.kill)  # a step that never returns outlives a test that fails
        self.text = ""

    def until(self, wanted, seconds=30):
        """Reads until `wanted` was printed."""
        end = time.monotonic() + seconds
        while wanted not in self.text:
            ready, _, _ = select.select([self.process.stdout], [], [], end - time.monotonic())
            got = os.read(self.process.stdout.fileno(), 4096).decode() if ready else ""
            if not got:
                self.process.kill()
            assert got, f"{wanted!r} never came:\n{self.text}"
            self.text += got

    def end(self, seconds=30):
        try:
            out, _ = self.process.communicate(timeout=seconds)
        except subprocess.TimeoutExpired:
            self.process.kill()
            raise
        self.text += out
        return self.process.returncode


def has_ended(pid):
    """Whether it can be waited for: the first thread of a process ends before the others do."""
    try:
        with open(f"/proc/{pid}/stat") as file:
            state = file.read().rsplit(")", 1)[1].split()[0]
        return state in "ZX" and len(os.listdir(f"/proc/{pid}/task")) == 1
    except (FileNotFoundError, ProcessLookupError):
        return True


def children(pid):
    """The processes that it has started and that have not ended."""
    found = subprocess.run(["pgrep", "-P", str(pid)], capture_output=True, text=True).stdout.split()
    return [one for one in found if not has_ended(one)]
