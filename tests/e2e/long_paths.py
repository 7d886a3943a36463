#!/usr/bin/env python3
"""Runs over paths with a long delay that a proxy hides: they are slow, and keep every connection.

Usage: long_paths.py [--delay SECONDS --link-timeout SECONDS --dead-after SECONDS --rows N] [NAME...];
without a name it lists them.  By hand, with the default timeouts:
    tests/e2e/long_paths.py --delay 4 --link-timeout 1 --dead-after 10 all
"""
import argparse
import json
import pathlib
import sys
import tempfile
import time

from faults import Cluster, write_data
from named import run_named
from relay import DIALLER, TARGET, Relay
from run import BUILD


def completes(folder, sides):
    """One epoch with every connection of control and data over the relay; no byte is lost."""
    write_data(folder / "data", rows=OPTIONS.rows, labels=OPTIONS.rows)
    timeouts = (f"link_timeout: {round(1000 * OPTIONS.link_timeout)} ms\n"
                f"dead_after: {round(1000 * OPTIONS.dead_after)} ms")
    run = Cluster(folder, epochs=1, address="127.0.0.2", settings=timeouts, data=folder / "data")
    relay = Relay("127.0.0.3", "127.0.0.2", [run.port, *run.ports])
    try:
        for side in sides:
            relay.delay(side, [run.port, *run.ports], OPTIONS.delay)
        began = time.monotonic()
        run.start_all(env={"LD_PRELOAD": str(BUILD / "tests" / "detour.so")})
        for host in "abc":
            run.ends(host, 0, 100 * OPTIONS.delay)
        spent = time.monotonic() - began
        told, alone = json.loads(run.report.read_text()), run.alone()
        assert told["stream_digest"] == alone["stream_digest"], "another stream"
        for host in "abc":
            text = run.said(host)
            assert "silent" not in text and "is away" not in text, run.all_said()
        print(f"{told['steps']} steps in {spent:.1f} s with a delay of {OPTIONS.delay:g} s")
    finally:
        run.close()
        relay.close()


def test_a_delay_to_the_listener(folder):
    completes(folder, [DIALLER])


def test_a_delay_from_the_listener(folder):
    completes(folder, [TARGET])


def main():
    global OPTIONS
    parser = argparse.ArgumentParser()
    parser.add_argument("--delay", type=float, default=1.2)
    parser.add_argument("--link-timeout", type=float, default=0.5)
    parser.add_argument("--dead-after", type=float, default=8)
    parser.add_argument("--rows", type=int, default=1000)
    parser.add_argument("names", nargs="*")
    OPTIONS = parser.parse_args()

    def call(test):
        with tempfile.TemporaryDirectory() as folder:
            test(pathlib.Path(folder))
    return run_named(globals(), OPTIONS.names, call)


if __name__ == "__main__":
    sys.exit(main())
