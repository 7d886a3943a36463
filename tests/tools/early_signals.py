#!/usr/bin/env python3
"""Signals of a launcher that come before the program has begun: held by a parent that blocks them, or as soon as the
program handles them.  They drain the run like later ones."""
import os
import re
import signal
import subprocess
import sys
import time

from command import TUNDISH, FEED, arrays, free_port, holds, main, same, topology
from launched import PREP, clean, graph, hosts

NUMBERS = signal.SIGTERM, signal.SIGUSR1, signal.SIGUSR2
HELD = f"""
import os, signal, sys
signal.pthread_sigmask(signal.SIG_BLOCK, [int(sys.argv[1])])
os.kill(os.getpid(), int(sys.argv[1]))
os.execv(sys.argv[2], sys.argv[2:])
"""


def held(number, words):
    """The command with a signal that is blocked and pending when it begins."""
    return [sys.executable, "-c", HELD, str(int(number)), *map(str, words)]


def begin(words, **variables):
    return subprocess.Popen([*map(str, words)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=clean(**variables))


def end(*processes):
    return [(one.returncode, *texts) for one, texts in [(one, one.communicate(timeout=30)) for one in processes]]


def signal_handled(process, number=signal.SIGUSR1):
    """Sends a signal as soon as the program handles it."""
    until = time.monotonic() + 20
    while not int(re.search(r"SigCgt:\s*(\w+)", open(f"/proc/{process.pid}/status").read())[1], 16) >> number - 1 & 1:
        assert time.monotonic() < until and process.poll() is None, end(process)
    process.send_signal(number)
    return process


def forever(folder):
    path = graph(folder)
    path.write_text(path.read_text().replace(".npy\"}}", ".npy\"}}, epochs: forever"))
    return path


def meets(folder):
    arrays(folder)
    path = topology(folder, actors=PREP + FEED % "", links=["read -> prep -> batch -> feed"], read=", epochs: forever", top="lanes: 2\n",
                    batch="size: 16, replicas: 2")
    over = folder / "spmd.yaml"
    over.write_text(f"port: {free_port()}\nhosts:\n  node[*]: {{lanes: each, actors: [read, prep, batch, feed]}}\n")
    return [TUNDISH, "run", path, over]


def rank(number, size, **more):
    return {"TUNDISH_RANK": str(number), "TUNDISH_HOSTS": str(size), "TUNDISH_LEADER": "127.0.0.1", **more}


def test_a_process_of_its_own_ends(folder):
    path = forever(folder)
    silent = folder / "silent"
    silent.write_text("#!/bin/sh\nexec sleep 1000\n")
    silent.chmod(0o755)
    commands = ([TUNDISH, "run", path], [TUNDISH, "up", path],
                [TUNDISH, "run", path, "--evaluate", folder, "--watch"],
                [TUNDISH, "up", path, "--on", "127.0.0.1", "--via", f"{silent} {{address}}"])
    for words in commands:
        for number in (signal.SIGINT, *NUMBERS) if words is commands[0] else (signal.SIGUSR1,):
            ((code, _, err),) = end(begin(held(number, words)))
            same(code, 130, (words, number, err))
        if "--watch" not in words:
            ((code, _, err),) = end(signal_handled(begin(words)))
            same(code, 130, (words, err))


def test_processes_that_meet_end_together(folder):
    words = meets(folder)
    for victim, number in zip((0, 1, 1), NUMBERS):
        lines = [held(number, words) if one == victim else words for one in range(2)]
        ended = end(*(begin(lines[one], **rank(one, 2)) for one in range(2)))
        same([code for code, _, _ in ended], [130, 130], ended)
    for victim in range(2):
        processes = [begin(words, **rank(one, 2)) for one in range(2)]
        signal_handled(processes[victim])
        ended = end(*processes)
        same([code for code, _, _ in ended], [130, 130], ended)


def test_named_hosts_drain_together(folder):
    path, over = forever(folder), hosts(folder)
    words = [TUNDISH, "run", path, over]
    for victim in range(3):
        lines = [held(signal.SIGTERM, words) if one == victim else words for one in range(3)]
        ended = end(*(begin(lines[one], **rank(one, 3)) for one in range(3)))
        same([code for code, _, _ in ended], [130] * 3, ended)
        processes = [begin(words, **rank(one, 3)) for one in range(3)]
        signal_handled(processes[victim])
        ended = end(*processes)
        same([code for code, _, _ in ended], [130] * 3, ended)
        for host in {0, victim}:
            holds(ended[host][2], f" (SIGUSR1 from process {os.getpid()}, ")


PROGRAM = """
import os, sys, tundish
tundish.drain_on_signals()
if os.environ["TUNDISH_RANK"] == sys.argv[1]:
    os.kill(os.getpid(), int(sys.argv[2]))
try:
    with tundish.feed(*sys.argv[3:]) as feed:
        print("rows", sum(batch.rows for batch in feed))
except tundish.Stopped as stopped:
    sys.exit(f"stopped: {stopped}")
"""


def test_programs_drain_or_say_that_they_were_stopped(folder):
    path, met = forever(folder), meets(folder)
    for victim, size, files in (0, 1, [path]), (0, 2, met[2:]), (1, 2, met[2:]):
        words = [sys.executable, "-c", PROGRAM, victim, int(signal.SIGUSR1), *files]
        ended = end(*(begin(words, **rank(one, size)) for one in range(size)))
        for code, out, err in ended:
            assert (code, out) == (0, "rows 0\n") or (code == 1 and "drained before the start" in err and "stopped: " in err), ended


def slurm(folder):
    """Variables of a job, in which `scontrol` writes what it is asked to a file."""
    tool = folder / "bin" / "scontrol"
    tool.parent.mkdir()
    tool.write_text(f'#!/bin/sh\necho "$*" >>{folder}/asked\n')
    tool.chmod(0o755)
    return {"SLURM_JOB_ID": "17", "PATH": f"{tool.parent}:{os.environ['PATH']}"}


def test_the_job_is_queued_again_if_only_another_host_gets_the_signal(folder):
    words, job = [*meets(folder), "--set", f"checkpoint.dir={folder / 'kept'}", "--resume", "--requeue"], slurm(folder)
    for number, asked in (signal.SIGUSR1, True), (signal.SIGINT, False):
        processes = [begin(words, **rank(one, 2), **job) for one in range(2)]
        while "epoch" not in processes[0].stdout.readline():
            assert processes[0].poll() is None, end(*processes)
        processes[1].send_signal(number)
        ended = end(*processes)
        same([code for code, _, _ in ended], [130, 130], ended)
        same((folder / "asked").exists() and (folder / "asked").read_text(), asked and "requeue 17\n", ended)
        (folder / "asked").unlink(missing_ok=True)


def test_the_job_is_queued_again(folder):
    path, job = forever(folder), slurm(folder)
    words = [TUNDISH, "run", path, "--set", f"checkpoint.dir={folder / 'kept'}", "--resume", "--requeue"]
    for line in held(signal.SIGUSR1, words), words:
        process = begin(line, **job)
        ((code, _, err),) = end(process if line is not words else signal_handled(process))
        same((code, (folder / "asked").read_text()), (130, "requeue 17\n"), err)
        (folder / "asked").unlink()


main(globals())
