#!/usr/bin/env python3
"""Limits of the system that a start runs into: each value ends with an error or works, in the command and
in a program, and no signal ends either."""
import gzip
import os
import pathlib
import re
import resource
import subprocess
import sys

import numpy

from command import BUILD, ROOT, TUNDISH, holds, is_sanitized, main, same

OTHER = 65533  # a user without processes; the limits of threads do not hold for root
PROGRAM = """
import sys
sys.path.insert(0, sys.argv[1])
import tundish
try:
    with tundish.feed(sys.argv[2]) as feed:
        print("rows", sum(batch.rows for batch in feed))
except tundish.Error as error:
    sys.exit(f"tundish.Error: {error}")
"""


def graph(folder, more=""):
    numpy.save(folder / "x.npy", numpy.arange(100, dtype="f4"))
    path = folder / "graph.yaml"
    path.write_text(f"""tundish: 1
{more}actors:
  read:  {{kind: reader, source: {{npy: {{x: {folder}/x.npy}}}}}}
  batch: {{kind: batcher, size: 8}}
  feed:  {{kind: feeder}}
links: [read -> batch -> feed]
""")
    return str(path)


def limited(words, number, value, user=None, env=None):
    """Exit code, stdout and stderr of a command with this limit."""
    def limit():
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        if user is not None:
            os.setgroups([])
            os.setgid(user)
            os.setuid(user)
        resource.setrlimit(number, (value, value))
    done = subprocess.run(words, capture_output=True, text=True, timeout=30, preexec_fn=limit,
                          env={**os.environ, "TUNDISH_LIBRARY": str(BUILD / "libtundish.so"), **(env or {})})
    return done.returncode, done.stdout, done.stderr


def sweep(words, number, values, refused, env=None, user=None):
    """From some value on it works, and below each one is refused with a text; the least that works."""
    least = None
    for value in values:
        code, out, err = limited(words, number, value, user, env)
        assert code in (0, 1, 75, 78), (value, code, out, err)
        if code != 0:
            assert least is None, (value, least, err)
            holds(err + out, *refused)
        elif least is None:
            least = value
    assert least is not None
    return least


def c_program(folder):
    """That of README.md, which reads numbers.npy in its folder."""
    block = next(one for one in re.findall(r"^```c\n(.*?)^```$", (ROOT / "README.md").read_text(), re.M | re.S)
                 if "int main(" in one)
    (folder / "sum.c").write_text(block.replace("numbers.npy", str(folder / "x.npy")))
    subprocess.run(["cc", folder / "sum.c", "-o", folder / "sum", f"-I{ROOT}/runtime", f"-L{BUILD}", "-ltundish",
                    f"-Wl,-rpath,{BUILD}"], check=True, timeout=60)
    return [str(folder / "sum")]


def program(path):
    return [sys.executable, "-c", PROGRAM, str(ROOT / "tools/python"), path]


def other_user_runs_it():
    """Not in a home directory that is closed to others, as that of root is."""
    try:
        return os.geteuid() == 0 and limited([TUNDISH, "--version"], resource.RLIMIT_CORE, 0, OTHER)[0] == 0
    except PermissionError:
        return False


def test_threads(folder):
    if not other_user_runs_it():
        print("left out: only root can be another user, who must be able to run the command")
        return
    path, env = graph(folder), {}
    for name in ("XDG_RUNTIME_DIR", "TMPDIR"):
        place = folder / name
        place.mkdir()
        os.chown(place, OTHER, OTHER)
        env[name] = str(place)
    folder.chmod(0o755)
    isolated = folder / "isolated.yaml"
    isolated.write_text(pathlib.Path(path).read_text().replace("kind: reader", "kind: reader, isolate: process"))
    isolated.chmod(0o644)
    words = ("cannot start a thread for ", "(ulimit -u)", "or end other processes")
    command = sweep([TUNDISH, "run", path], resource.RLIMIT_NPROC, (1, 4, *range(8, 14)), words, env, OTHER)
    called = sweep(program(path), resource.RLIMIT_NPROC, (1, 4, *range(6, 11)), ("tundish.Error", *words), env, OTHER)
    assert command <= 13 and called <= 10, (command, called)
    apart = sweep([TUNDISH, "run", str(isolated)], resource.RLIMIT_NPROC, (5, 12, 18, 40), (), env, OTHER)
    assert apart <= 40, apart
    for words in ([TUNDISH, "run", path], [TUNDISH, "head", path]):
        code, _, err = limited(words, resource.RLIMIT_NPROC, 6, OTHER, env)
        same(code, 78, err)  # main, control, signals, messages, three actors and a device
        holds(err, "cannot start: 8 threads are needed", "(Resource temporarily", "this user may have 6 processes")
    _, _, err = limited(program(path), resource.RLIMIT_NPROC, 6, OTHER, env)
    holds(err, "tundish.Error: ", "8 threads are needed")
    # With those of the process of the reader, which lacks two actors and the device, has two for its
    # connections, as this one has, and is kept by a thread.
    code, _, err = limited([TUNDISH, "run", str(isolated)], resource.RLIMIT_NPROC, 12, OTHER, env)
    same(code, 78, err)
    holds(err, "cannot start: 17 threads are needed")
    _, out, _ = limited([TUNDISH, "doctor"], resource.RLIMIT_NPROC, 31, OTHER, env)
    holds(out, "31 processes and threads allowed by ulimit -u", "too few for most runs")


def test_every_call_may_fail(folder):
    """Each thread and each eventfd, one after the other: an error with its reason, or a run that works."""
    if is_sanitized():
        return  # sanitizers do not bear shims
    path = pathlib.Path(graph(folder))
    path.write_text(path.read_text().replace("kind: feeder", "kind: feeder, gather: 3"))
    isolated = folder / "isolated.yaml"
    isolated.write_text(path.read_text().replace("kind: reader", "kind: reader, isolate: process"))
    log = folder / "calls"
    env = {"LD_PRELOAD": str(BUILD / "tests/scarce.so"), "SCARCE_LOG": str(log)}
    for call, reason in (("pthread_create", "Resource temporarily unavailable"), ("eventfd", "Too many open files")):
        for words in ([TUNDISH, "run", path], [TUNDISH, "run", isolated], [TUNDISH, "head", path],
                      [TUNDISH, "validate", path], [*c_program(folder), path], program(path)):
            env.update(SCARCE_CALL=call, SCARCE_AT="1000000")
            same(limited(words, resource.RLIMIT_CORE, 0, env=env)[0], 0)
            if call == "pthread_create" and words[-1] == isolated:
                continue  # libzmq aborts if its own thread fails: a limit is met by a trial before it
            for at in range(1, int(log.read_text()) + 1, 5 if words[-1] == isolated else 1):
                code, out, err = limited(words, resource.RLIMIT_CORE, 0, env={**env, "SCARCE_AT": str(at)})
                assert code in (0, 1, 2, 75, 78), (words, call, at, code, out, err)
                assert code == 0 or reason in err + out or "can't start new thread" in err, (words, call, at, code, out, err)


def test_a_limit_of_the_address_space_is_named(folder):
    if is_sanitized():
        return
    path, log = graph(folder), folder / "calls"
    env = {"LD_PRELOAD": str(BUILD / "tests/scarce.so"), "SCARCE_LOG": str(log), "SCARCE_CALL": "pthread_create", "SCARCE_AT": "1"}
    code, _, err = limited([TUNDISH, "run", path], resource.RLIMIT_AS, 4 << 30, env=env)
    same(code, 78, err)
    holds(err, " the address space, with the stack of each thread, 4194304 KiB (ulimit -v); raise the limit or end other")
    assert "ulimit -v" not in limited([TUNDISH, "run", path], resource.RLIMIT_CORE, 0, env=env)[2]


def test_descriptors(folder):
    path = graph(folder)
    words = ("cannot start: ", "file descriptors are needed", "ulimit -n")
    values = [*range(4, 48), 64, 100, 200]
    sweep([TUNDISH, "run", path], resource.RLIMIT_NOFILE, values[::8], words)
    sweep([TUNDISH, "head", path], resource.RLIMIT_NOFILE, values[::8], words)
    sweep(c_program(folder), resource.RLIMIT_NOFILE, values[::2], words)


def test_files_that_reach_the_limit_of_their_size(folder):
    report, kept = folder / "r.json", folder / "kept"
    path = graph(folder, f"checkpoint: {{dir: {kept}, every: 5 steps}}\n")
    code, out, err = limited([TUNDISH, "run", path, "--report", report], resource.RLIMIT_FSIZE, 100)
    same(code, 1)
    holds(out, "done: 13 steps, 100 rows")
    holds(err, f"{report}: could not be written completely: File too large")
    assert "checkpoint" in err and err.count("File too large") >= 2, err
    assert not report.exists() and not list(kept.glob("step-*/manifest"))
    with gzip.open(folder / "lines.txt.gz", "wb") as lines:
        lines.write(b"".join(b"line %d\n" % i for i in range(3000)))
    spool = f"{{text: {{files: {folder}/lines.txt.gz, spool: {{dir: {folder}/spool, limit: 64MiB}}}}}}"
    (folder / "spool.yaml").write_text(pathlib.Path(path).read_text().replace(f"{{npy: {{x: {folder}/x.npy}}}}", spool))
    code, _, err = limited([TUNDISH, "run", folder / "spool.yaml"], resource.RLIMIT_FSIZE, 8192,
                           env={"XDG_CACHE_HOME": str(folder / "cache")})
    same(code, 78, err)
    holds(err, f"{folder}/spool", "File too large")
    program = PROGRAM.replace("import sys", "import signal, sys\nsignal.signal(signal.SIGXFSZ, signal.SIG_DFL)", 1)
    same(limited([sys.executable, "-c", program, str(ROOT / "tools/python"), graph(folder)], resource.RLIMIT_FSIZE,
                 100)[:2], (0, "rows 100\n"))


main(globals())
