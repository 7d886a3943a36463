#!/usr/bin/env python3
"""Inspectors that ask a leader for more than they are given change nothing: neither rows nor other looks.

Usage: look_flood.py NAME...; without a name it lists them.
"""
import json
import re
import subprocess
import sys
import time

from named import in_folder, run_named
from run import BUILD, TUNDISH, tundish
from touches import Run

FLOODED = 20000  # questions that the leader's port took


class Flood:
    """A client that asks without end, and connects again whenever it was disconnected."""

    def __init__(self, leader):
        self.process = subprocess.Popen([str(BUILD / "tests/look_flood"), leader], text=True,
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.sent, self.answered, self.ended = 0, 0, 0

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()
        self.process.stdin.close()
        self.process.stdout.close()

    def connection(self):
        """Waits until one more connection has been ended by the leader."""
        sent, answered, seconds = self.process.stdout.readline().split()
        assert seconds != "open"
        self.sent += int(sent)
        self.answered += int(answered)
        self.ended += 1


def test_a_flood_of_questions_changes_nothing(folder):
    with Run(folder, epochs=1000, hosts=True) as run:
        leader = f"127.0.0.1:{re.search(r'port: ([0-9]+)', run.files[1].read_text())[1]}"
        before = run.running()["steps"]
        with Flood(leader) as flood:
            while flood.sent < FLOODED or flood.ended < 3:
                flood.connection()
            # The run continues, and another inspector sees it, while the flood does.
            run.until("steps follow", lambda it: it["steps"] > before + 20)
            end = time.monotonic() + 60
            hosts = []
            while hosts != ["a", "b"]:
                assert time.monotonic() < end, (hosts, run.text())
                done = subprocess.run(
                    [str(TUNDISH), "top", "--once", "--json", "--leader", leader],
                    stdout=subprocess.PIPE, text=True, timeout=60)
                hosts = sorted(process["host"] for process in json.loads(done.stdout)["processes"]) \
                    if done.returncode == 0 else []
            for _ in range(3):
                flood.connection()
            # One that reads nothing is answered once at most: it must repeat the answer's number.
            assert flood.answered <= flood.ended, (flood.answered, flood.ended)
        assert run.command("drain")[0] == 0
        report = run.end(130)
        expected = tundish("run", run.files[0], "--steps", str(report["steps"]),
                           env={**run.env, "DRAG": "0"}).report
        for key in ("stream_digest", "model_digest", "rows", "steps"):
            assert report[key] == expected[key], key
        assert "is away" not in run.text(), run.text()


if __name__ == "__main__":
    sys.exit(run_named(globals(), sys.argv[1:], in_folder))
