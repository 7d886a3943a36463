#!/usr/bin/env python3
"""Data that takes long to open: progress lines, start_timeout, hosts that stop reporting, signals
and kills meanwhile."""
import os
import pty
import re
import signal
import subprocess
import time

from command import TUNDISH, free_port, holds, main, run, same
from runs import PLUGINS, Started

DONE = "done: 4 steps, 100 rows"


def graph(folder, source, top=""):
    """100 rows of the slow source, in batches of 32."""
    path = folder / "graph.yaml"
    path.write_text(f"tundish: 1\nseed: 7\n{top}actors:\n"
                    f"  read: {{kind: reader, source: {{plugin: slow, file: {folder}/x, {source}}}}}\n"
                    "  batch: {kind: batcher, size: 32}\n  feed: {kind: feeder}\n"
                    "links:\n  - read -> batch -> feed\n")
    return path


def hosts(folder, top=""):
    """Two hosts: a leads and feeds, b reads."""
    path = folder / "two.yaml"
    path.write_text(f"port: {free_port()}\n{top}hosts:\n  a: {{actors: [batch, feed]}}\n"
                    "  b: {actors: [read]}\n")
    return path


def begun(folder, count=1, seconds=30):
    """The processes that opened the source, once there are so many."""
    end = time.monotonic() + seconds
    while True:
        found = [int(path.name.split(".")[1]) for path in folder.glob("x.*")]
        if len(found) >= count:
            return found
        assert time.monotonic() < end, f"{found} of {count} processes open the source"
        time.sleep(0.01)


def both(folder, source, top):
    """Exit code and output of a run in one process and of one on two hosts, at the same time."""
    path = graph(folder, source, top)
    started = [Started("run", path), Started("up", path, hosts(folder))]
    return [(one.end(60), one.text) for one in started]


def test_a_source_that_reports_progress_may_take_three_times_start_timeout(folder):
    ended = both(folder, "ms: 6000", "start_timeout: 2 s\n")
    for (code, out), where in zip(ended, ("", " on b")):
        same(code, 0, out)
        holds(out, DONE)
        line = re.search(rf"read{where}: opening (\d+) of 100 parts, (\d+) %, \d+ s left\n", out)
        assert line and line[1] == line[2], out


def test_why_says_how_far_it_is(folder):
    """Within two seconds, in one process and of another host."""
    for overlays, host in (((), "local"), ((hosts(folder),), "b")):
        name = f"opens-{host}-{os.getpid()}"
        started = Started("up" if overlays else "run", graph(folder, f"gate: {folder}/gate, reports: 3", f"name: {name}\n"), *overlays)
        begun(folder)
        wanted = (rf'{name} begins: host {host} gets ready, for [\d.]+ s so far; '
                  rf'read: opening 3 of 100 parts, 3 %, no progress for \d+ s, now \{{"file": "{folder}/x"')
        end = time.monotonic() + 30
        while True:
            code, out, _ = run("why", name)
            if re.search(wanted, out):
                break
            assert time.monotonic() < end, out
        same(code, 11, out)
        (folder / "gate").touch()
        same(started.end(), 0, started.text)
        for path in [folder / "gate", *folder.glob("x.*")]:
            path.unlink()


def test_commands_that_open_data_show_it_on_stderr(folder):
    path = graph(folder, "ms: 1200")
    for command in ("head", "explain", "validate"):
        code, out, err = run(command, path, env=PLUGINS)
        same(code, 0, err)
        assert re.search(r"^read: opening \d+ of 100 parts, \d+ %", err, re.M), (command, err)
        assert "opening" not in out, (command, out)


def test_progress_is_not_shown_to_those_who_want_no_output(folder):
    code, out, err = run("run", graph(folder, "ms: 1000"), "--quiet", env=PLUGINS)
    same((code, out, err), (0, "", ""))


def test_a_source_that_reports_nothing_is_named_with_its_file(folder):
    ended = both(folder, "ms: 60000, reports: 0", "start_timeout: 2 s\n")
    for (code, out), host in zip(ended, ("local", "b")):
        same(code, 78, out)
        holds(out, f"host {host} has reported no progress for more than 2000 ms (start_timeout) "
                   f'while it opens {{"file": "{folder}/x"', "for read")


def test_a_source_that_stops_reporting_is_named_with_its_file(folder):
    ended = both(folder, f"gate: {folder}/never, reports: 3", "hung_after: 1 s\n")
    for code, out in ended:
        same(code, 78, out)
        holds(out, f'source `slow` hangs while it opens {{"file": "{folder}/x"', "(3 of 100 parts)",
              "takes longer than 1000 ms (hung_after)")
    holds(ended[0][1], "graph.yaml:5:41: error[T061]")
    holds(ended[1][1], "read on b: opening 3 of 100 parts", "host b ended with 78")


def ends_soon(started):
    started.process.send_signal(signal.SIGINT)
    asked = time.monotonic()
    same(started.end(), 130, started.text)
    # A host that waits for its source, as for other actors, takes ten seconds.
    assert time.monotonic() - asked < 9.5, started.text
    return started.text


def test_a_signal_while_the_data_is_opened_ends_the_run(folder):
    path = graph(folder, f"gate: {folder}/never")
    started = Started("run", path)
    begun(folder)
    holds(ends_soon(started), "draining")
    for file in folder.glob("x.*"):
        file.unlink()
    started = Started("up", path, hosts(folder))
    begun(folder)
    ends_soon(started)


def test_a_host_killed_while_it_opens_its_data_opens_it_again(folder):
    path = graph(folder, f"gate: {folder}/gate", "start_timeout: 5 s\n")
    started = Started("up", path, hosts(folder))
    first, = begun(folder)
    os.kill(first, signal.SIGKILL)
    begun(folder, 2)
    (folder / "gate").touch()
    same(started.end(60), 0, started.text)
    holds(started.text, DONE)


def test_a_host_started_again_may_open_its_data_while_the_others_wait(folder):
    path = graph(folder, "ms: 2500", "start_timeout: 2 s\n")
    path.write_text(path.read_text().replace("kind: reader,", "kind: reader, epochs: forever,"))
    started = Started("up", path, hosts(folder))
    started.until("epoch ")
    os.kill(begun(folder)[0], signal.SIGKILL)
    started.until("has been started again")
    for wanted in ("read on b: opening ", "epoch "):
        started.text = ""
        started.until(wanted)
    started.process.send_signal(signal.SIGINT)
    same(started.end(), 130, started.text)
    holds(started.text, "drained: ")


def test_a_terminal_shows_one_line_that_is_redrawn(folder):
    path = graph(folder, "ms: 1500")
    mine, theirs = pty.openpty()
    process = subprocess.Popen([TUNDISH, "run", path], stdout=theirs, stderr=theirs,
                               env={**os.environ, **PLUGINS, "TERM": "xterm", "COLUMNS": "80"})
    os.close(theirs)
    text = ""
    try:
        while part := os.read(mine, 4096).decode():
            text += part
    except OSError:  # a terminal without a process
        pass
    os.close(mine)
    same(process.wait(30), 0, text)
    drawn = re.findall(r"\r\x1b\[Kread: opening (\d+) of 100 parts", text)
    assert len(drawn) > 2 and drawn == sorted(drawn, key=int), text
    assert "parts, 99 %\n" not in text and "\r\x1b[Kdone:" in text, repr(text)


main(globals())
