#!/usr/bin/env python3
"""The number of file descriptors of a run is computed before the start: at least what it needs,
and not many more.  A process that may not have them refuses to start and reports how many it needs; one that
may has enough to the end.

Usage: descriptors.py [--every] NAME...; without a name it lists them.  --every: all limits from the
least to what is needed, by hand.
"""
import json
import os
import re
import resource
import subprocess
import sys
import threading

from named import in_folder, run_named
from run import ROOT, TUNDISH, free_port

CLOSE = 12  # at most so many of those that are counted without the reserve stay unused
LEAST = 6   # the dynamic linker and a file that is read
GRAPH = """tundish: 1
seed: 7
{lanes}actors:
  read:  {{kind: reader, source: {{raw: {{files: {data}, columns: {{x: u64}}}}}}, shuffle: global, epochs: {epochs}}}
  prep:  {{kind: preprocessor, ops: []}}
  batch: {{kind: batcher, size: 64, replicas: {lane_count}}}
  feed:  {{kind: feeder}}
links:
  - read -> prep -> batch -> feed
"""
PLACES = {
    "one process": "",
    "four lanes in one process": "",
    "three processes": """port: {port}
hosts:
  a: {{address: 127.0.0.1, {transport}actors: [read]}}
  b: {{address: 127.0.0.1, {transport}actors: [prep], workers: {{prep: 2}}}}
  c: {{address: 127.0.0.1, {transport}actors: [batch, feed]}}
""",
    "a lane on each of four": """port: {port}
hosts:
  node[0-3]: {{address: 127.0.0.1, {transport}lanes: 1 each, actors: [read, prep, batch, feed]}}
""",
}


def write(folder, place, transport, epochs=2):
    """The files of a graph, and of its placements."""
    lanes = 4 if "four" in place else 1
    data, graph, overlay = folder / "x.bin", folder / "graph.yaml", folder / "hosts.yaml"
    data.write_bytes(os.urandom(8 * 64 * 50))
    graph.write_text(GRAPH.format(data=data, epochs=epochs, lanes=f"lanes: {lanes}\n" if lanes > 1 else "",
                                  lane_count=lanes))
    files = [str(graph)]
    if PLACES[place]:
        overlay.write_text(PLACES[place].format(
            port=free_port(), transport=f"transport: {transport}, " if transport else ""))
        files.append(str(overlay))
    return files


def explain(files):
    """By host: the number that is needed at most, and the reserve in it."""
    out = subprocess.run([str(TUNDISH), "explain", "--json", *files], cwd=ROOT, check=True,
                         stdout=subprocess.PIPE)
    return {host["name"]: host["descriptors"] for host in json.loads(out.stdout)["hosts"]}


def start(files, host, limit=None, hard=None, out=subprocess.DEVNULL):
    """A process of a run, which may have `limit` descriptors."""
    bounds = (limit, hard or limit)
    return subprocess.Popen([str(TUNDISH), "run", *files, *(["--host", host] if host != "local" else [])],
                            cwd=ROOT, stdout=out, stderr=subprocess.PIPE, text=True,
                            preexec_fn=limit and (lambda: resource.setrlimit(resource.RLIMIT_NOFILE, bounds)))


def watch(process, peaks, host):
    """How many were open at the same time, as often as that can be seen."""
    while process.poll() is None:
        try:
            peaks[host] = max(peaks.get(host, 0), len(os.listdir(f"/proc/{process.pid}/fd")))
        except OSError:
            return


def check_place(folder, place, transport=None):
    """The computed numbers are upper bounds, and close to what is open."""
    files = write(folder, place, transport, epochs=400)
    needs, peaks = explain(files), {}
    processes = {host: start(files, host) for host in needs}
    watchers = [threading.Thread(target=watch, args=(process, peaks, host))
                for host, process in processes.items()]
    for one in watchers:
        one.start()
    errors = {host: process.communicate(timeout=100)[1] for host, process in processes.items()}
    for one in watchers:
        one.join()
    assert all(process.returncode == 0 for process in processes.values()), errors
    for host, needed in needs.items():
        least = needed["most"] - needed["reserve"] - CLOSE
        print(f"{place} {transport or ''} {host}: {peaks[host]} of {needed}")
        assert least <= peaks[host] <= needed["most"], (place, transport, host, peaks[host], needed)


def run_limited(folder, place, limit, hard=None, transport=None):
    """The host that leads may have `limit` descriptors, the others what they like: its exit code and
    what it said.  True: it ran."""
    files = write(folder, place, transport)
    needs = explain(files)
    hosts = list(needs)
    first = start(files, hosts[0], limit, hard)
    others = [start(files, host) for host in hosts[1:]] if limit >= needs[hosts[0]]["most"] else []
    errors = first.communicate(timeout=60)[1]
    for other in others:
        other.communicate(timeout=60)
    if first.returncode == 0:
        return True
    told = re.search(r"(\d+) file descriptors are needed and this process may have (\d+)", errors)
    assert first.returncode == 78 and told, (limit, first.returncode, errors)
    assert f"ulimit -n {told[1]}`" in errors and int(told[2]) == limit, errors
    assert int(told[1]) == needs[hosts[0]]["most"], (errors, needs)
    return False


def test_the_number_is_close_above_what_is_open(folder):
    """Of every placement."""
    for place, transport in zip(PLACES, (None, None, "tcp", "ipc")):
        check_place(folder, place, transport)


def test_a_limit_that_is_too_low_is_refused(folder):
    """Every limit refuses with the number that is needed, or is enough; that number itself is enough."""
    for place in ("one process", "three processes"):
        needed = next(iter(explain(write(folder, place, "tcp")).values()))["most"]
        limits = (LEAST, LEAST + 3, 16, needed // 2, needed - 1)
        for limit in limits if "--every" not in sys.argv else range(LEAST, needed):
            assert not run_limited(folder, place, limit, transport="tcp"), (place, limit)
        assert run_limited(folder, place, needed, transport="tcp"), (place, needed)


def test_the_soft_limit_is_raised(folder):
    """The hard limit alone counts."""
    needed = next(iter(explain(write(folder, "one process", None)).values()))["most"]
    assert run_limited(folder, "one process", LEAST, hard=needed)


def exhaust(process):
    """From now on the process can open nothing more; returns what it was allowed before."""
    before = resource.prlimit(process.pid, resource.RLIMIT_NOFILE)
    resource.prlimit(process.pid, resource.RLIMIT_NOFILE,
                     (len(os.listdir(f"/proc/{process.pid}/fd")), before[1]))
    return before


def await_line(stream, words):
    """Reads what a process says up to a line with these words."""
    lines = []
    for line in stream:
        lines.append(line)
        if words in line:
            return lines
    raise AssertionError(f"{words!r} is not in: {''.join(lines)}")


def test_files_that_run_out_for_a_while(folder):
    """Are a warning, and no worker that comes meanwhile is lost for that: it gets in when it can."""
    files = write(folder, "three processes", "tcp", epochs=3000)
    first, worker, last = (start(files, host, out=subprocess.PIPE) for host in "abc")
    await_line(first.stdout, "epoch")
    before = exhaust(first)
    worker.kill()
    worker.communicate()
    worker = start(files, "b")
    await_line(first.stderr, "no file can be opened: all")
    resource.prlimit(first.pid, resource.RLIMIT_NOFILE, before)
    for process in (first, worker, last):
        process.communicate(timeout=100)
    assert [process.returncode for process in (first, worker, last)] == [0, 0, 0]


def test_files_that_run_out_for_good(folder):
    """End a run with that sentence."""
    files = write(folder, "one process", None, epochs=1000000)
    process = start([*files, "--set", "dead_after=300ms"], "local", out=subprocess.PIPE)
    await_line(process.stdout, "epoch")
    exhaust(process)
    errors = process.communicate(timeout=60)[1]
    assert process.returncode == 1, (process.returncode, errors)
    assert errors.splitlines()[-1].startswith("tundish run: no file can be opened: all"), errors


def test_head_refuses_too(folder):
    """It starts a host of its own."""
    files = write(folder, "one process", None)
    done = subprocess.run([str(TUNDISH), "head", *files], cwd=ROOT, capture_output=True, text=True, timeout=60,
                          preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (20, 20)))
    assert done.returncode == 78 and "this process may have 20" in done.stderr, (done.returncode, done.stderr)


def test_up_refuses_before_any_host_starts(folder):
    """And names the host and the number."""
    files = write(folder, "three processes", "tcp")
    done = subprocess.run([str(TUNDISH), "up", *files], cwd=ROOT, capture_output=True, text=True, timeout=60,
                          preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (20, 20)))
    assert done.returncode == 78 and "host a cannot start" in done.stderr, (done.returncode, done.stderr)
    assert done.stdout == "", done.stdout


if __name__ == "__main__":
    sys.exit(run_named(globals(), [name for name in sys.argv[1:] if name != "--every"], in_folder))
