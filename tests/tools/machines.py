#!/usr/bin/env python3
"""`tundish up --on LIST --via COMMAND`: a process on each machine, here on addresses of loopback, by a script
that does what a file of the machine says."""
import concurrent.futures
import os
import pathlib
import random
import shutil
import signal
import subprocess
import sys
import time

from command import FEED, TUNDISH, arrays, holds, main, same, topology
from launched import PREP, alone, clean, leads, stream

OVER = "hosts:\n  node[*]: {lanes: each, actors: [read, prep, batch, feed]%s}\n"
# MACHINE.does: a line of shell that takes the place of the command, which is "$@".
VIA = """#!/bin/sh
machine=$1; shift
echo $$ >> {folder}/pids
echo $$ > {folder}/$machine.pid
[ -e {folder}/$machine.does ] && . {folder}/$machine.does
exec "$@"
"""
FAULTS = {
    "absent": ("exec no-such-command", "ended with 127 before the files had arrived"),
    "refuses": ("echo Permission denied >&2; exit 255", "ended with 255 before the files had arrived"),
    "silent": ("exec sleep 1000", "has not answered for 9 s"),
    "silent, and reads": ("exec cat > /dev/null", "has not answered for 9 s"),
    "talks": ("yes noise | head -n 1000; exec sleep 1000", "has not answered for 9 s"),
    "killed": ("kill -9 $$", "was killed by signal 9 (Killed) before the files had arrived"),
    "killed later": ("head -c 20 > /dev/null; kill -9 $$", "was killed by signal 9 (Killed) before the files had arrived"),
    "other files": ("(head -c 200; cat /dev/zero | head -c 10000) | \"$@\"; exit", "ended with 2 before the files had arrived"),
    "cut off": ("head -c 150 | \"$@\"; exit", "ended with 2 before the files had arrived"),
    "no files": ("exec \"$@\" < /dev/null", "ended with 2 before the files had arrived"),
}


def prepare(folder, more="", top="", rows="epochs: 1"):
    arrays(folder)
    path = topology(folder, actors=PREP + FEED % "", links=["read -> prep -> batch -> feed"], read=f", {rows}",
                    top=f"lanes: 2\n{top}", batch="size: 16, replicas: 4")
    over = folder / "spmd.yaml"
    over.write_text(OVER % more)
    via = folder / "via"
    via.write_text(VIA.format(folder=folder))
    via.chmod(0o755)
    bin = folder / "bin"
    bin.mkdir()
    (bin / "tundish").symlink_to(TUNDISH)
    return path, over


def up(folder, *words, on="127.0.0.[1-4]", via=None):
    line = [TUNDISH, "up", *map(str, words), "--on", on, "--via", via or f"{folder}/via {{address}}"]
    return subprocess.Popen(line, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, stdin=subprocess.DEVNULL,
                            env=clean(PATH=f"{folder}/bin:{os.environ['PATH']}"))


def end(process, seconds=90):
    out, err = process.communicate(timeout=seconds)
    return process.returncode, out, err


def until(process, words):
    while words not in (line := process.stdout.readline()):
        assert line, process.communicate()[1]


def nothing_is_left(folder):
    until = time.monotonic() + 60
    for pid in (folder / "pids").read_text().split():
        while os.path.exists(f"/proc/{pid}") and open(f"/proc/{pid}/stat").read().rsplit(")", 1)[1].split()[0] != "Z":
            assert time.monotonic() < until, f"process {pid} is left"
            time.sleep(0.02)
    (folder / "pids").unlink()


def test_every_machine_runs_its_part(folder):
    path, over = prepare(folder)
    wanted = alone(path)
    code, out, err = end(up(folder, path, over))
    same(code, 0, err)
    same(stream(out), wanted)
    for rank in range(4):
        holds(err, f"127.0.0.{rank + 1} | tundish run: launch: hand job up-", f"rank {rank} of 4 is host node{rank} (127.0.0.1)")
    assert all(line.startswith("127.0.0.") for line in (out + err).splitlines()), out + err
    assert "files have arrived" not in out, out
    nothing_is_left(folder)
    listed = folder / "machines"
    listed.write_text("# two machines" + " which are" * 200 + "\n127.0.0.1\n\n 127.0.0.2  # the second\n")
    code, out, err = end(up(folder, path, over, "--set", "read.epochs=2", on=f"@{listed}"))
    same(code, 0, err)
    same(stream(out), alone(path, "--set", "read.epochs=2"))
    holds(err, "rank 1 of 2 is host node1")


def test_names_that_a_shell_would_read_are_sent_whole(folder):
    path, over = prepare(folder)
    wanted = alone(path)
    for name in ("a b; touch hurt.yaml", "$(touch hurt)'\"", "-n\n*", "ümlaut & `x`.yaml"):
        odd = folder / name
        shutil.copy(path, odd)
        # As ssh does: the words are joined and read by another shell.
        via = folder / "like-ssh"
        via.write_text("#!/bin/sh\nshift\nexec sh -c \"$*\"\n")
        via.chmod(0o755)
        code, out, err = end(up_words(folder, via, odd, over))
        same(code, 0, err)
        same(stream(out), wanted)
    assert not (folder / "hurt").exists() and not os.path.exists("hurt") and not os.path.exists("hurt.yaml")
    # A mistake that only the machine can see has the name of the file that was sent.
    absent = folder / "it's absent.yaml"
    absent.write_text(path.read_text().replace(f"data: {folder}", "data: /none"))
    code, out, err = end(up_words(folder, folder / "via", absent, over))
    same(code, 78, err)
    holds(err, f"{absent}:", "/none/x.npy")


def up_words(folder, via, *files):
    line = [TUNDISH, "up", "--on", "127.0.0.1,127.0.0.2", "--via", f"{via} {{address}}", "--set", "start_timeout=5s", "--", *map(str, files)]
    return subprocess.Popen(line, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, stdin=subprocess.DEVNULL,
                            env=clean(PATH=f"{folder}/bin:{os.environ['PATH']}"))


def test_a_machine_that_refuses_or_is_silent_is_named(folder):
    draw = random.Random(31)

    def alone_in(number, name, bad):
        own = folder / str(number)
        own.mkdir()
        fails(own, *prepare(own, top="start_timeout: 12s\n"), "127.0.0.", name, bad)
    with concurrent.futures.ThreadPoolExecutor(3) as several:  # some take nine seconds, in which they wait
        for done in [several.submit(alone_in, number, name, draw.randrange(4) + 1) for number, name in enumerate(FAULTS)]:
            done.result()


def fails(folder, path, over, net, name, bad):
    """One of four machines does not do what it should."""
    does, words = FAULTS[name]
    place = folder / f"{net}{bad}.does"
    place.write_text(does + "\n")
    code, out, err = end(up(folder, path, over, on=f"{net}[1-4]"))
    same(code, 75, (name, bad, err))
    holds(err, f"tundish up: machine {net}{bad}: `{folder}/via {net}{bad} tundish run --sent` {words}")
    same(err.count("tundish up: machine"), 1, (name, err))
    place.unlink()
    nothing_is_left(folder)


def test_min_machines_begin_without_one_that_refuses(folder):
    path, over = prepare(folder, more=", min: 2", top="start_timeout: 4s\n")
    (folder / "127.0.0.3.does").write_text("exit 255\n")
    code, out, err = end(up(folder, path, over))
    same(code, 0, err)
    same(stream(out), alone(path))
    holds(err, "tundish up: machine 127.0.0.3: ", "ended with 255", "rank 2 of 3 is host node2")


def test_a_leader_that_fails_after_the_others_is_a_failure(folder):
    path, over = prepare(folder)
    code, out, err = end(up(folder, path, over, "--metrics", "/dev/full"))
    same(code, 1, err)
    holds(err, "machine 127.0.0.1: ", "ended with 1")


def test_min_machines_without_any_or_the_first_are_lost(folder):
    path, over = prepare(folder, more=", min: 2", top="start_timeout: 2s\n")
    for absent in ((1,), (1, 2, 3, 4)):
        for rank in absent:
            (folder / f"127.0.0.{rank}.does").write_text("exit 255\n")
        code, out, err = end(up(folder, path, over))
        same(code, 75, err)
        holds(err, "tundish up: machine 127.0.0.1: ", "ended with 255")


def test_min_machines_go_on_if_a_silent_one_comes_late(folder):
    path, over = prepare(folder, more=", min: 2", top="start_timeout: 4s\n", rows="epochs: forever")
    process = None
    go = folder / "go"
    (folder / "127.0.0.3.does").write_text(f"trap '' TERM; until [ -e {go} ]; do sleep 0.02; done\n")
    process = up(folder, path, over)
    until(process, "epoch ")
    go.touch()
    for _ in range(3):
        until(process, "epoch ")
    process.send_signal(signal.SIGINT)
    code, out, err = end(process)
    same(code, 130, err)
    holds(err, "tundish up: machine 127.0.0.3: ", "has not answered for 3 s")
    nothing_is_left(folder)


def test_ctrl_c_drains_all(folder):
    path, over = prepare(folder, rows="epochs: forever")
    for number in (signal.SIGINT, signal.SIGTERM):
        process = up(folder, path, over)
        until(process, "epoch ")
        process.send_signal(number)
        code, out, err = end(process)
        same(code, 130, err)
        holds(out, "stream ")
        holds(err, "tundish up: draining")
        nothing_is_left(folder)


def test_a_run_whose_sender_is_killed_drains(folder):
    path, over = prepare(folder, rows="epochs: forever")
    for victim in ("up", "command"):
        process = up(folder, path, over)
        until(process, "epoch ")
        if victim == "up":
            process.kill()
        else:
            os.kill(int((folder / "pids").read_text().split()[2]), signal.SIGKILL)
        code, out, err = end(process)
        if victim == "command":
            same(code, 137, err)
            holds(err, "tundish up: machine 127.0.0.", "was killed by signal 9 (Killed)")
        nothing_is_left(folder)


def says(process, words):
    """What it has said on stderr until these words."""
    said = ""
    while words not in said:
        line = process.stderr.readline()
        assert line, said
        said += line
    return said


def test_a_machine_whose_process_is_killed_is_started_again_or_left_out(folder):
    path, over = prepare(folder, more=", min: 2", rows="epochs: forever",
                         top="start_timeout: 8s\ndead_after: 2s\nrestarts: {run: 3}\n")
    for does in (None, "exit 255"):
        process = up(folder, path, over)
        said = says(process, "rank 2 of 4 is host node2")
        until(process, "epoch ")
        if does:
            (folder / "127.0.0.3.does").write_text(does)
        os.kill(int((folder / "127.0.0.3.pid").read_text()), signal.SIGKILL)
        said += says(process, "the hosts that are there start again at the start (1 of 3)")
        if does:
            said += says(process, "rank 0 of 3 is host node0")
            holds(said, "machine 127.0.0.3: ", "ended with 255 before the files had arrived")
        holds(said, "was killed by signal 9 (Killed): it is started again")
        until(process, "epoch ")
        process.send_signal(signal.SIGINT)
        code, out, err = end(process)
        same(code, 130, err)
        nothing_is_left(folder)


def test_all_are_started_again_after_the_loss_of_the_first_machine(folder):
    path, over = prepare(folder, more=", min: 2", rows="epochs: forever",
                         top=f"start_timeout: 8s\ndead_after: 2s\nrestarts: {{run: 1}}\ncheckpoint: {{dir: {folder}/kept, every: 500ms}}\n")
    for does, first, count in (None, 1, 4), ("exit 255", 2, 3):
        shutil.rmtree(folder / "kept", ignore_errors=True)
        process = up(folder, path, over)
        said = says(process, "rank 0 of 4 is host node0")
        until(process, "epoch ")
        end_s = time.monotonic() + 60
        while not list((folder / "kept").glob("step-*/manifest")):
            assert time.monotonic() < end_s, "no checkpoint"
            time.sleep(0.02)
        if does:
            (folder / "127.0.0.1.does").write_text(does)
        os.kill(int((folder / "127.0.0.1.pid").read_text()), signal.SIGKILL)
        said = says(process, f"rank 0 of {count} is host node0")
        holds(said, "machine 127.0.0.1: ", "was killed by signal 9 (Killed): it led the run, and all are started again",
              f"127.0.0.{first} | tundish run: launch: ")
        same(f"tundish run --sent` {does and 'ended with 255'}" in said, does is not None, said)
        until(process, "epoch ")
        process.send_signal(signal.SIGINT)
        code, out, err = end(process)
        same(code, 130, err)
        holds(out, "steps before this run, which resumed after them")
        nothing_is_left(folder)


NETWORK = """set -e
mkdir -p /run/netns; mount -t tmpfs none /run/netns
ip link add br0 type bridge; ip link set br0 up; ip link set lo up
for i in 1 2 3 4; do
    ip netns add h$i; ip link add v$i type veth peer name e$i; ip link set v$i master br0 up
    ip link set e$i netns h$i; ip -n h$i addr add 10.9.0.$i/24 dev e$i; ip -n h$i link set e$i up; ip -n h$i link set lo up
done
"""


def in_network(folder, script):
    """Runs a script beside four hosts, 10.9.0.1 to 10.9.0.4, each with a network of its own."""
    return subprocess.run(["unshare", "-n", "-m", "sh", "-c", NETWORK + script], capture_output=True, text=True, timeout=290,
                          env=clean(PATH=f"{folder}/bin:{os.environ['PATH']}"))


def test_machines_with_networks_of_their_own(folder):
    path, over = prepare(folder)
    if os.getuid() != 0 or in_network(folder, "true").returncode != 0:
        print("skipped: networks cannot be made")
        return
    over.write_text("insecure: true\n" + over.read_text())
    wanted = alone(path)
    via = folder / "enter"
    via.write_text("#!/bin/sh\nhost=h${1##*.}; shift\nexec ip netns exec $host \"$@\"\n")
    via.chmod(0o755)
    done = in_network(folder, f"exec tundish up {path} {over} --on '10.9.0.[1-3]' --via '{via} {{address}}'")
    same((done.returncode, stream(done.stdout)), (0, wanted), done.stderr)
    for rank in range(3):
        holds(done.stderr, f"rank {rank} of 3 is host node{rank} (10.9.0.{rank + 1}); {leads('node0')} 10.9.0.1:")
    (folder / "share").mkdir()
    done = in_network(folder, "for rank in 1 2 0; do TUNDISH_RANK=$rank TUNDISH_HOSTS=3 ip netns exec h$((rank + 1)) "
                              f"tundish run {path} {over} --meet {folder}/share & done; wait")
    same(stream(done.stdout), wanted, done.stderr)
    holds(done.stderr, f"rank 2 of 3 is host node2 (10.9.0.3); {leads('node0')} 10.9.0.1:")
    same(list((folder / "share").iterdir()), [])


def test_a_name_that_is_loopback_on_its_own_machine_is_skipped(folder):
    path, over = prepare(folder)
    if os.getuid() != 0 or in_network(folder, "true").returncode != 0:
        print("skipped: networks cannot be made")
        return
    over.write_text("insecure: true\n" + over.read_text())
    for name, address in ("own", "127.0.1.1"), ("others", "10.9.0.1"):  # as Debian has its own name
        (folder / name).write_text(f"127.0.0.1 localhost\n{address} c1\n")
    enter = folder / "enter"
    enter.write_text(f"#!/bin/sh\nmount --bind {folder}/$1 /etc/hosts; shift\nexec \"$@\"\n")
    enter.chmod(0o755)
    line = f"TUNDISH_RANK=$rank TUNDISH_HOSTS=3 TUNDISH_LEADER=c1 ip netns exec h%s {enter} %s tundish run {path} {over}"
    # Rank 1 is on the machine of rank 0, and rank 2 is not.
    done = in_network(folder, f"rank=1; {line % (1, 'own')} & rank=2; {line % (2, 'others')} & rank=0; {line % (1, 'own')} & wait")
    same(stream(done.stdout), alone(path), done.stderr)
    same(done.stderr.count("launch: warning: c1 is 127.0.1.1 on this machine, which others cannot reach: it is skipped, and "
                           "they use 10.9.0.1; "), 1, done.stderr)
    for rank, address in enumerate(("10.9.0.1", "10.9.0.1", "10.9.0.2")):
        holds(done.stderr, f"rank {rank} of 3 is host node{rank} ({address}); {leads('node0')} 10.9.0.1:")
    done = in_network(folder, f"rank=2; {line % (2, 'own')} --set start_timeout=1s")
    same((done.returncode, done.stderr.count("\n")), (75, 1), done.stderr)
    holds(done.stderr, "rank 0 did not answer within 1 s at 127.0.1.1, ports", "c1 has this address on this machine",
          "if rank 0 is elsewhere, remove it there, or write --leader ADDRESS")


def random_faults(folder, rounds):
    """Inside of a network: faults of the command, at random machines."""
    draw, path, over = random.Random(rounds), folder / "graph.yaml", folder / "spmd.yaml"
    names = list(FAULTS) if rounds > 5 else [name for name, (_, words) in FAULTS.items() if "not answered" not in words]
    for _ in range(rounds):
        name, bad = draw.choice(names), draw.randrange(4) + 1
        began = time.monotonic()
        fails(folder, path, over, "10.9.0.", name, bad)
        print(f"{name} at 10.9.0.{bad}: {time.monotonic() - began:.1f} s", flush=True)
    print("all are named")


def test_faults_of_machines_with_networks_of_their_own(folder):
    """TUNDISH_ALL_CASES: 20 of them, also such as are noticed by a time that passes."""
    path, over = prepare(folder, top="start_timeout: 12s\n")
    if os.getuid() != 0 or in_network(folder, "true").returncode != 0:
        print("skipped: networks cannot be made")
        return
    over.write_text("insecure: true\n" + over.read_text())
    via = folder / "via"
    via.write_text(via.read_text().replace("shift\n", 'shift; set -- ip netns exec h${machine##*.} "$@"\n'))
    rounds = 20 if os.environ.get("TUNDISH_ALL_CASES") else 4
    done = in_network(folder, f"exec {sys.executable} {__file__} --inside {folder} {rounds}")
    print(done.stdout)
    holds(done.stdout, "all are named")


def test_mistakes(folder):
    path, over = prepare(folder)
    named = folder / "named.yaml"
    named.write_text("port: 7199\nhosts:\n  a: {actors: [read, batch]}\n  b: {actors: [prep]}\n  c: {actors: [feed]}\n")
    via = f"{folder}/via {{address}}"
    long = folder / "long"
    long.write_text("#" * (1 << 20) + "\na\n")
    for words, code, said in ((["--on", "a"], 2, "--on needs --via"),
                              (["--via", via], 2, "--via is for --on"),
                              (["--on", "a", "--via", "ssh"], 2, "takes a command that contains {address} or {host}"),
                              (["--on", "a[2-1]", "--via", via], 2, "--on a[2-1]: "),
                              (["--on", "@/dev/null", "--via", via], 2, "--on @/dev/null: "),
                              (["--on", "a,b,a", "--via", via], 2, "a is named twice"),
                              (["--on", f"@{long}", "--via", via], 2, f"--on: {long} cannot be read: File too large"),
                              (["--on", "a", "--via", via, "--leader", "a", "--meet", "/tmp"], 2, "--leader and --meet both"),
                              (["--on", "@none", "--via", via], 2, "--on: none cannot be read: No such file"),
                              (["--on", "a;b", "--via", via], 2, "characters that --via does not pass on")):
        done = subprocess.run([TUNDISH, "up", path, over, *words], capture_output=True, text=True, env=clean())
        same(done.returncode, code, done.stderr)
        holds(done.stderr, said)
    code, _, err = end(up(folder, path, named))
    same(code, 2, err)
    holds(err, "4 processes, but this topology has 3 hosts")
    broken = folder / "broken.yaml"
    broken.write_text("tundish: 1\nactors: {read: {kind: none}}\n")
    code, _, err = end(up(folder, broken))
    same(code, 78, err)
    holds(err, "broken.yaml:2:")
    assert not (folder / "pids").exists()
    for text in ("", "tundish sent 1: rank 0, 4 bytes, 0000000000000000\n", "x" * 200,
                 "tundish sent 1: rank 0, 2 bytes, 0000000000000000\nab"):
        done = subprocess.run([TUNDISH, "run", "--sent"], input=text, capture_output=True, text=True, env=clean())
        same((done.returncode, done.stdout), (2, ""), done.stderr)
        holds(done.stderr, "tundish run: --sent: ", "`tundish up --on`")


if sys.argv[1:2] == ["--inside"]:
    random_faults(pathlib.Path(sys.argv[2]), int(sys.argv[3]))
else:
    main(globals())
