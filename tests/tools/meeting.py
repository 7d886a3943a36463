#!/usr/bin/env python3
"""Processes of a launcher that meet: an overlay with one range `[*]`, and no addresses and no port."""
import os
import re
import signal
import socket
import subprocess
import sys
import time

from command import BUILD, FEED, TUNDISH, arrays, free_port, holds, main, run, same, topology
from free_ports import locks
from launched import PREP, PROGRAM, alone, clean, leads, stream

# Runs find each other by the names of their jobs, and their ports derive from them: no other process has these.
NUMBER = os.getpid()
OVER = "hosts:\n  node[*]: {lanes: each, actors: [read, prep, batch, feed]%s}\n"


def graph(folder, lanes=2, replicas=4, top=""):
    arrays(folder)
    return topology(folder, actors=PREP + FEED % "", links=["read -> prep -> batch -> feed"],
                    top=f"lanes: {lanes}\n{top}", batch=f"size: 16, replicas: {replicas}")


def overlay(folder, more="", top=""):
    path = folder / "spmd.yaml"
    path.write_text(top + OVER % more)
    return path


def by_hand(size, **more):
    return [{"TUNDISH_RANK": str(rank), "TUNDISH_HOSTS": str(size), "TUNDISH_LEADER": "127.0.0.1", **more}
            for rank in range(size)]


def srun(size):
    return [{"SLURM_JOB_ID": str(NUMBER), "SLURM_STEP_ID": "0", "SLURM_PROCID": str(rank), "SLURM_LOCALID": str(rank),
             "SLURM_STEP_NUM_TASKS": str(size), "SLURM_STEP_NODELIST": "c7", "SLURMD_NODENAME": "c7"} for rank in range(size)]


def openmpi(size):
    return [{"OMPI_COMM_WORLD_RANK": str(rank), "OMPI_COMM_WORLD_SIZE": str(size), "PMIX_NAMESPACE": str(NUMBER),
             "OMPI_COMM_WORLD_LOCAL_RANK": str(rank), "OMPI_COMM_WORLD_LOCAL_SIZE": str(size)} for rank in range(size)]


def mpich(size):
    return [{"PMI_RANK": str(rank), "PMI_SIZE": str(size), "MPI_LOCALRANKID": str(rank), "MPI_LOCALNRANKS": str(size)}
            for rank in range(size)]


def torchrun(size, port):
    return [{"RANK": str(rank), "WORLD_SIZE": str(size), "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port),
             "LOCAL_RANK": str(rank), "LOCAL_WORLD_SIZE": str(size), "TORCHELASTIC_USE_AGENT_STORE": "True"}
            for rank in range(size)]


def begin(words, variables):
    return [subprocess.Popen([*map(str, words)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                             env=clean(**one)) for one in variables]


def end(processes):
    return [(one.returncode, *texts) for one, texts in [(one, one.communicate(timeout=60)) for one in processes]]


def test_every_launcher_has_the_stream_of_one_process(folder):
    path, over = graph(folder), overlay(folder)
    wanted = alone(path)
    with socket.create_server(("127.0.0.1", 0)) as agent:  # as torchrun's agent listens
        port = agent.getsockname()[1]
        for variables, known in ((by_hand(4), "hand"), (srun(4), f"slurm job {NUMBER}"), (openmpi(4), f"openmpi job {NUMBER}"),
                                 (mpich(4), "mpich"), (torchrun(4, port), "torchrun")):
            ended = end(begin([TUNDISH, "run", path, over], variables))
            for rank, (code, _, err) in enumerate(ended):
                same(code, 0, err)
                same(err.count("launch:"), 1, err)
                holds(err, f"launch: {known}, rank {rank} of 4 is host node{rank} (127.0.0.1); "
                           f"{leads('node0', 'c7' if 'slurm' in known else None)} 127.0.0.1:")
            same(stream(ended[0][1]), wanted, known)


def test_one_process_needs_no_meeting(folder):
    path, over = graph(folder), overlay(folder)
    same(stream(run("run", path, over)[1]), alone(path))
    code, out, err = end(begin([TUNDISH, "run", path, over], srun(1)))[0]
    same((code, stream(out)), (0, alone(path)), err)
    holds(err, "rank 0 of 1 is host node0 (127.0.0.1); node0 leads\n")


def test_fewer_lanes_and_replicas_than_hosts(folder):
    path, over = graph(folder, lanes=2, replicas=3), overlay(folder)
    ended = end(begin([TUNDISH, "run", path, over], by_hand(5)))
    same([code for code, _, _ in ended], [0] * 5, ended)
    same(stream(ended[0][1]), alone(path))


def test_named_hosts_come_before_the_rest(folder):
    path, over = graph(folder), folder / "named.yaml"
    over.write_text("hosts:\n  reads: {actors: [read, batch]}\n  node[*]: {actors: [prep, feed]}\n")
    ended = end(begin([TUNDISH, "run", path, over], by_hand(3)))
    for rank, host in enumerate(("reads", "node0", "node1")):
        holds(ended[rank][2], f"rank {rank} of 3 is host {host} (127.0.0.1); {leads('reads')}")
    same((ended[0][0], stream(ended[0][1])), (0, alone(path)), ended)


def test_variables_of_a_process_in_paths(folder):
    made = arrays(folder)
    for rank in range(2):
        (folder / f"{rank}-of-2").mkdir()
        arrays(folder / f"{rank}-of-2")
    path, over = graph(folder), overlay(folder)
    wanted = alone(path)
    path.write_text(path.read_text().replace(f"data: {folder}", f"data: {folder}/${{rank}}-of-${{hosts}}"))
    ended = end(begin([TUNDISH, "run", path, over], by_hand(2)))
    same([code for code, _, _ in ended], [0, 0], ended)
    same((stream(ended[0][1]), len(made["x"])), (wanted, 100))
    path.write_text(path.read_text().replace("/${rank}-", "/${local_rank}-"))
    same(stream(end(begin([TUNDISH, "run", path, over], by_hand(2)))[0][1]), wanted)
    code, _, err = run("run", path, over)
    same(code, 78)
    holds(err, "0-of-1/x.npy")


def test_programs_meet_too(folder):
    path, over = graph(folder), overlay(folder)
    program = [sys.executable, "-c", PROGRAM.replace("FILES", repr([str(path), str(over)]))]
    processes = begin(program, srun(4)[:2]) + begin([TUNDISH, "run", path, over], srun(4)[2:])
    ended = end(processes)
    same([code for code, _, _ in ended], [0] * 4, ended)
    holds(ended[0][1], alone(path))


def test_jobs_of_one_graph_do_not_mix(folder):
    path, over = graph(folder), overlay(folder)
    wanted = alone(path)
    jobs = [begin([TUNDISH, "run", path, over, "--quiet"], by_hand(2, TUNDISH_JOB=f"{NUMBER}.{job}")) for job in range(6)]
    # Neither of these names its job, and they have the same ports.
    twins = [begin([sys.executable, "-c", RUNS_TWO, TUNDISH, path, over], [{}]) for _ in range(2)]
    for job in jobs:
        ended = end(job)
        same([code for code, _, _ in ended], [0, 0], ended)
    for twin in twins:
        ((code, out, err),) = end(twin)
        same((code, stream(out)), (0, wanted), err)


RUNS_TWO = """
import os, subprocess, sys
words = [sys.argv[1], "run", *sys.argv[2:]]
every = [subprocess.Popen(words, env={**os.environ, "PMI_RANK": str(rank), "PMI_SIZE": "2", "MPI_LOCALRANKID": str(rank),
                                      "MPI_LOCALNRANKS": "2"}) for rank in range(2)]
sys.exit(max([one.wait() for one in every]))
"""


def without_leader(size, job=None):
    """Processes that are not told where rank 0 is."""
    named = {"TUNDISH_JOB": job} if job else {}
    return [{"TUNDISH_RANK": str(rank), "TUNDISH_HOSTS": str(size), **named} for rank in range(size)]


def appears(folder, pattern="*.leader"):
    until = time.monotonic() + 60
    while not (found := list(folder.glob(pattern))) or not found[0].read_text().endswith("\n"):
        assert time.monotonic() < until, "no file of a leader"
        time.sleep(0.01)
    return found[0]


def meets(folder):
    path, over, share = graph(folder), overlay(folder, top="insecure: true\n"), folder / "share"
    share.mkdir()
    return path, share, [TUNDISH, "run", path, over, "--meet", share]


def test_a_shared_folder_tells_where_rank_0_is(folder):
    path, share, words = meets(folder)
    wanted = alone(path)
    over = words[3]
    scattered = [{"OMPI_COMM_WORLD_RANK": str(rank), "OMPI_COMM_WORLD_SIZE": "3", "PMIX_NAMESPACE": "a/b@1"} for rank in range(3)]
    program = [sys.executable, "-c", PROGRAM.replace("FILES", repr([str(path), str(over)]))]
    jobs = [begin(words, without_leader(4)), begin(words, without_leader(3)), begin(words, without_leader(2, "j")),
            begin(words, scattered), begin(words, mpich(2)),
            begin(program, [{**one, "TUNDISH_MEET": str(share)} for one in without_leader(2, "p")])]
    for job in jobs:
        ended = end(job)
        same([code for code, _, _ in ended], [0] * len(ended), ended)
        holds(ended[0][1], wanted)
    same(list(share.iterdir()), [])


def test_the_file_of_a_killed_leader_leads_nowhere(folder):
    path, share, words = meets(folder)
    wanted = alone(path)
    killed, = begin(words, without_leader(2)[:1])
    left = appears(share)
    same(oct(left.stat().st_mode & 0o777), "0o644")
    killed.kill()
    end([killed])
    ended = end(begin(words, without_leader(2)))
    same([code for code, _, _ in ended], [0, 0], ended)
    same(stream(ended[0][1]), wanted)
    # The file of a job names the leader of another one, which lives.
    other, = begin(words, without_leader(2, "other")[:1])
    found = appears(share)
    left.write_text(found.read_text())
    ended = end(begin(words, without_leader(2)))
    same([code for code, _, _ in ended], [0, 0], ended)
    assert not left.exists()
    ended = end([other] + begin(words, without_leader(2, "other")[1:]))
    same([code for code, _, _ in ended], [0, 0], ended)
    same(stream(ended[0][1]), wanted)


def test_two_runs_of_one_name_in_a_folder(folder):
    _, share, words = meets(folder)
    first, = begin(words, without_leader(2)[:1])
    appears(share)
    ((code, _, err),) = end(begin(words, without_leader(2)[:1]))
    same((code, err.count("\n")), (75, 1), err)
    holds(err, f"--meet {share}: another run meets there by the same name, `tundish-graph-", "give each run a TUNDISH_JOB of its own")
    ended = end([first] + begin(words, without_leader(2)[1:]))
    same([code for code, _, _ in ended], [0, 0], ended)


def test_a_second_rank_0_is_refused_by_a_run_that_others_may_join_later(folder):
    path, share, words = meets(folder)
    path.write_text(path.read_text().replace('.npy"}}', '.npy"}}, epochs: forever'))
    words += ["--set", "restarts.run=1", "--set", f"checkpoint={{dir: {folder / 'kept'}, every: 1000 steps}}"]
    first = begin(words, without_leader(2))
    left, until = appears(share), time.monotonic() + 60
    while not list((folder / "kept").glob("step-*")):
        assert time.monotonic() < until
        time.sleep(0.02)
    ((code, _, err),) = end(begin(words, without_leader(2)[:1]))
    same((code, err.count("\n"), left.exists()), (75, 1, True), err)
    holds(err, "another run meets there by the same name")
    for one in first:
        one.terminate()
    same([code for code, _, _ in end(first)], [130, 130])
    same(list(share.iterdir()), [])


def test_a_folder_that_cannot_be_used(folder):
    _, share, words = meets(folder)
    for rank, does in ((0, "write"), (1, "read")):
        for place, why in ((folder / "none", "No such file or directory"), (words[2], "Not a directory")):
            ((code, _, err),) = end(begin(words[:-1] + [place], without_leader(2)[rank:rank + 1]))
            same((code, err.count("\n")), (2, 1), err)
            holds(err, f"--meet {place}: cannot {does} `tundish-graph-", why)
    ((code, _, err),) = end(begin(words[:-1] + ["/proc/self"], without_leader(2)[:1]))
    same((code, err.count("\n")), (2, 1), err)
    holds(err, "--meet /proc/self: cannot write `tundish-graph-")
    ((code, _, err),) = end(begin(words + ["--set", "start_timeout=1s"], without_leader(2)[1:]))
    same((code, err.count("\n")), (75, 1), err)
    holds(err, f"rank 0 did not write `tundish-graph-", f" in {share} within 1 s: was it started with the same files")
    ended = end(begin(words + ["--leader", "127.0.0.1"], without_leader(2)))
    same([(code, err) for code, _, err in ended],
         [(2, "tundish run: --leader and --meet both tell where rank 0 is: write one of them; see tundish run --help\n")] * 2, ended)


def test_a_file_that_cannot_be_removed_is_named(folder):
    _, share, words = meets(folder)
    first, = begin(words, without_leader(2)[:1])
    left = appears(share)
    first.kill()
    first.wait()
    left.unlink()
    left.mkdir()
    ((code, _, err),) = end(begin(words, without_leader(2)[:1]))
    same((code, err.count("\n")), (2, 1), err)
    holds(err, f"--meet {share}: cannot remove `{left.name}`: Is a directory: remove it")


def test_addresses_without_a_route_are_passed_over(folder):
    path, share, words = meets(folder)
    first, = begin(words, without_leader(2)[:1])
    left = appears(share)
    text = left.read_text()
    left.write_text(text.replace(" at ", " at [2001:db8::1] 255.255.255.255 "))
    ended = end([first] + begin(words, without_leader(2)[1:]))
    same([code for code, _, _ in ended], [0, 0], ended)
    same(stream(ended[0][1]), alone(path))


def test_a_process_that_dies_while_they_meet(folder):
    path, over = graph(folder, top="start_timeout: 4s\n"), overlay(folder)
    processes = begin([TUNDISH, "run", path, over], by_hand(4)[:3])
    processes[1].kill()
    ended = end(processes)
    same([code for code, _, _ in ended], [75, -9, 75], ended)
    for _, _, err in (ended[0], ended[2]):
        same(err.count("\n"), 1, err)
        holds(err, "2 of 4 processes did not come: ranks 1, 3 within 4 s")


def test_a_process_that_cannot_take_part_after_the_meeting_tells_the_others(folder):
    path, over = graph(folder), overlay(folder)
    words = [TUNDISH, "run", path, over, "--metrics", folder / "none" / "file"]
    ended = end(begin(words, by_hand(3)))
    same([code for code, _, _ in ended], [2, 78, 78], ended)
    for rank, (_, _, err) in enumerate(ended):
        holds(err, f"{'host node0: ' if rank else ''}{folder}/none/file: cannot be written: No such file or directory")
    overlay(folder, top=f"port: {free_port()}\n")
    few = ["sh", "-c", "ulimit -n 40; exec \"$@\"", "few"]  # enough for a meeting at one port, and to say so
    program = [sys.executable, "-c", PROGRAM.replace("FILES", repr([str(path), str(over)]))]
    for bad, other in (0, program), (1, program), (0, words[:-2]), (1, words[:-2]):
        lines = [words[:-2], other, words[:-2]]
        lines[bad] = few + lines[bad]
        ended = end([begin(line, [one])[0] for line, one in zip(lines, by_hand(3))])
        for rank, (code, _, err) in enumerate(ended):
            same(code, 1 if lines[rank][-3:] == program else 78, ended)
            holds(err, f"host node{bad} cannot start: ", "raise the limit of open files")


def test_a_process_that_cannot_take_part_before_the_meeting_tells_the_others(folder):
    path, over, job = graph(folder), overlay(folder), by_hand(4, TUNDISH_JOB=f"{NUMBER}.early")
    good, bad = [TUNDISH, "run", path, over], [TUNDISH, "run", path, folder / "none.yaml"]
    why = f"cannot take part: {folder}/none.yaml: error[T002]: cannot be opened: No such file or directory"
    for victim in 0, 2:
        lines = [bad if rank == victim else good for rank in range(4)]
        ended = end([begin(line, [one])[0] for line, one in zip(lines, job)])  # long before start_timeout
        same([code for code, _, _ in ended], [78 if rank == victim else 75 for rank in range(4)], ended)
        for rank, (_, _, err) in enumerate(ended):
            holds(err, "none.yaml: error[T002]" if rank == victim else f"rank {victim} (")
            holds(err, "cannot be opened" if rank == victim else why)
    for code, _, err in end(begin(bad, job)):  # the same mistake everywhere: each names it, and none waits long
        same(code, 78, err)
        same(err.count("cannot be opened"), 1, err)
    over = overlay(folder, ", min: 3", "start_timeout: 6s\n")
    ended = end([*begin(good, job[:1]), *begin(bad, job[1:2]), *begin(good, job[2:])])
    same([code for code, _, _ in ended], [0, 78, 0, 0], ended)
    holds(ended[0][2], "launch: rank 1 (127.0.0.1) " + why)
    same(stream(ended[0][1]), alone(path))


def test_rank_0_that_is_killed_after_the_meeting_is_noticed(folder):
    path, over, held = graph(folder), overlay(folder), folder / "held"
    preload = {"LD_PRELOAD": str(BUILD / "tests/late_bind.so"), "LATE_BIND": str(held)}
    variables = by_hand(3)
    processes = begin([TUNDISH, "run", path, over], [{**variables[0], **preload}, *variables[1:]])
    until = time.monotonic() + 60
    while not held.exists():
        assert time.monotonic() < until and processes[0].poll() is None, end(processes)
        time.sleep(0.01)
    processes[0].kill()
    ended = end(processes)  # long before start_timeout
    same([code for code, _, _ in ended], [-9, 75, 75], ended)
    for _, _, err in ended[1:]:
        holds(err, "host node0, which leads the run, has ended before the start: nothing listens at tcp://127.0.0.1:")


def held_back(words, variables, folder, victim):
    """Processes of a meeting of which one does not reach the run, once it is that far."""
    held, port = folder / "held", free_port()
    held.unlink(missing_ok=True)
    preload = {"LD_PRELOAD": str(BUILD / "tests/late_connect.so"), "LATE_CONNECT": str(held), "LATE_CONNECT_PORT": str(port)}
    processes = begin([*words, "--set", f"port={port}"],
                      [{**one, **preload} if rank == victim else one for rank, one in enumerate(variables)])
    until = time.monotonic() + 30
    while not held.exists():
        assert time.monotonic() < until and processes[0].poll() is None, end(processes)
        time.sleep(0.01)
    return processes


def test_a_rank_that_is_killed_between_the_meeting_and_the_run_is_noticed(folder):
    path, over = graph(folder), overlay(folder)
    processes = held_back([TUNDISH, "run", path, over], by_hand(3), folder, 2)
    processes[2].kill()
    ended = end(processes)  # long before start_timeout
    same([code for code, _, _ in ended], [75, 75, -9], ended)
    for _, _, err in ended[:2]:
        holds(err, "host node2 is lost (its process has ended, or its machine does not answer); no step was committed")
    over = overlay(folder, ", min: 2")
    processes = held_back([TUNDISH, "run", path, over, "--set", "start_timeout=8s"], by_hand(4), folder, 1)
    processes[1].kill()
    ended = end(processes)
    same([code for code, _, _ in ended], [0, -9, 0, 0], ended)
    holds(ended[0][2], "host node1 is lost (its process has ended, ", "; the hosts that are there start again at the start\n")
    holds(ended[3][2], "rank 2 of 3 is host node2")
    same(stream(ended[0][1]), alone(path))


def known(process, port):
    """Waits until the leader at a port has a connection."""
    wanted, until = f":{port:04X} ", time.monotonic() + 60
    while not any(wanted in line and line.split()[3] == "01" for line in open("/proc/net/tcp")):
        assert time.monotonic() < until and process.poll() is None, "it does not reach the leader"
        time.sleep(0.01)


def test_a_signal_to_one_of_them_while_they_meet_ends_all(folder):
    path = graph(folder)
    for number, victim in (signal.SIGTERM, 1), (signal.SIGUSR1, 0), (signal.SIGUSR2, 1):
        port = free_port()
        processes = begin([TUNDISH, "run", path, overlay(folder, top=f"port: {port}\n")], by_hand(3)[:2])
        known(processes[1], port)
        for _ in range(2):
            processes[victim].send_signal(number)
        ended = end(processes)
        same([code for code, _, _ in ended], [130, 130], ended)
        holds(ended[1 - victim][2], f"tundish run: drained before the start: rank {victim} was asked to end\n")


def test_a_job_that_is_drained_while_its_processes_meet_is_queued_again(folder):
    tool = folder / "bin" / "scontrol"
    tool.parent.mkdir()
    tool.write_text(f'#!/bin/sh\necho "$*" >>{folder}/asked\n')
    tool.chmod(0o755)
    _, share, words = meets(folder)
    words += ["--set", f"checkpoint.dir={folder / 'kept'}", "--resume", "--requeue"]
    job = {"SLURM_JOB_ID": "17", "PATH": f"{tool.parent}:{os.environ['PATH']}"}
    for variables in without_leader(2)[:1], without_leader(2):  # alone, and with all that were asked to end
        first, = begin(words, [{**variables[0], **job}])
        appears(share)
        others = begin(words, [{**one, **job} for one in variables[1:]])
        for one in others:
            until = time.monotonic() + 60
            while not int(re.search(r"SigCgt:\s*(\w+)", open(f"/proc/{one.pid}/status").read())[1], 16) >> signal.SIGTERM - 1 & 1:
                assert time.monotonic() < until
                time.sleep(0.01)
        for one in [first, *others]:
            one.terminate()
        ended = end([first, *others])
        same([code for code, _, _ in ended], [130] * len(ended), ended)
        holds(ended[0][2], "the job is queued again; its next start resumes")
        same((folder / "asked").read_text(), "requeue 17\n", ended)
        (folder / "asked").unlink()
        same(list(share.iterdir()), [])


def test_a_leader_that_does_not_come(folder):
    path, over = graph(folder, top="start_timeout: 1s\n"), overlay(folder)
    ((code, _, err),) = end(begin([TUNDISH, "run", path, over], by_hand(2)[1:]))
    same(code, 75, err)
    same(err.count("\n"), 1, err)
    holds(err, "rank 0 did not answer within 1 s at 127.0.0.1, ports ", "was it started, and can it be reached?")


def test_min_hosts_go_on_without_the_others(folder):
    path, over = graph(folder, top="start_timeout: 4s\n"), overlay(folder, ", min: 2")
    variables = by_hand(4)
    ended = end(begin([TUNDISH, "run", path, over], [variables[0], variables[1], variables[3]]))
    same([code for code, _, _ in ended], [0] * 3, ended)
    for rank, (_, _, err) in enumerate(ended):
        holds(err, f"rank {rank} of 3 is host node{rank}")
    same(stream(ended[0][1]), alone(path))
    ((code, _, err),) = end(begin([TUNDISH, "run", path, over, "--set", "start_timeout=1s"], variables[:1]))
    same(code, 75)
    holds(err, "3 of 4 processes did not come: ranks 1, 2, 3")


def test_both_sides_name_a_mistake(folder):
    path, over = graph(folder), overlay(folder)
    other = folder / "other.yaml"
    other.write_text(path.read_text().replace("seed: 7", "seed: 8"))
    job = by_hand(2, TUNDISH_JOB=f"{NUMBER}")
    ended = end(begin([TUNDISH, "run", path, over], job[:1]) + begin([TUNDISH, "run", other, over], job[1:]))
    for code, _, err in ended:
        same(code, 75, err)
        holds(err, "rank 1 (127.0.0.1) has graph ", ", and rank 0 has ", "with the same files and options")
    ended = end(begin([TUNDISH, "run", path, over], job[:1] + by_hand(3, TUNDISH_JOB=f"{NUMBER}")[1:2]))
    for code, _, err in ended:
        same(code, 75, err)
        holds(err, "rank 1 (127.0.0.1) is one of 3 processes, and rank 0 one of 2")
    leads = by_hand(3, TUNDISH_JOB=f"{NUMBER}.0")
    for port in [], ["--set", f"port={free_port()}"]:
        ended = end(begin([TUNDISH, "run", path, over, "--set", "start_timeout=4s", *port], leads[:1] * 2))
        same([code for code, _, _ in ended], [75, 75], ended)
        for _, _, err in ended:
            same(err.count("\n"), 1, err)
            holds(err, "two processes have rank 0: one at the leader's machine, which came first, and one at 127.0.0.1")
        same(sum("2 of 3 processes did not come: ranks 1, 2 within 4 s" in err for _, _, err in ended), 1, ended)
    twins = begin([TUNDISH, "run", path, over], leads[:1] * 2 + leads[1:2])
    until = time.monotonic() + 60
    while twins[0].poll() is None and twins[1].poll() is None:
        assert time.monotonic() < until
        time.sleep(0.01)
    ended = end(twins + begin([TUNDISH, "run", path, over], leads[2:]))
    same(sorted(code for code, _, _ in ended), [0, 0, 0, 75], ended)
    for _, _, err in ended[:2]:
        holds(err, "two processes have rank 0: ")
    three = by_hand(3, TUNDISH_JOB=f"{NUMBER}")
    twice = begin([TUNDISH, "run", path, over, "--set", "start_timeout=4s"], three[:1] + three[1:2] * 2)
    ended = end(twice)
    same([code for code, _, _ in ended], [75] * 3, ended)
    same(sum("two processes have rank 1" in err for _, _, err in ended[1:]) >= 1, True, ended)
    holds(ended[0][2], "1 of 3 processes did not come: rank 2", "two processes have rank 1")


def test_a_second_process_of_a_run_that_is_under_way_is_told_who_leads(folder):
    path = graph(folder)
    path.write_text(path.read_text().replace('.npy"}}', '.npy"}}, epochs: forever'))
    for job, top in ({}, ""), ({"TUNDISH_JOB": f"{NUMBER}.late"}, ""), ({}, f"port: {free_port()}\n"):
        over = overlay(folder, ', devices: {feed: ["sim:0"]}', top)
        words = [TUNDISH, "run", path, over, "--set", "feed.sim.latency=20ms"]
        runs = begin(words, by_hand(2, **job))
        while "epoch" not in runs[0].stdout.readline():
            assert runs[0].poll() is None, end(runs)
        late = end(begin(words, by_hand(2, **job)))
        same([code for code, _, _ in late], [75, 75], late)
        holds(late[0][2], "two processes have rank 0: the run is under way, which ", "came later: start each rank once")
        holds(late[1][2], "rank 1 (127.0.0.1) came too late: the run is under way, which ")
        for _, _, err in late:
            holds(err, f"{leads('node0')} 127.0.0.1:")
            same(err.count("\n"), 1, err)
        if job:  # another job of the same graph has nothing to do with it
            other = begin(words, by_hand(2, TUNDISH_JOB=f"{NUMBER}.other"))
            while "epoch" not in other[0].stdout.readline():
                assert other[0].poll() is None, end(other)
            other[1].terminate()
            same([code for code, _, _ in end(other)], [130, 130])
        runs[1].terminate()
        same([code for code, _, _ in end(runs)], [130, 130])


def test_mistakes_of_the_overlay_have_a_place(folder):
    path, over = graph(folder), folder / "wrong.yaml"
    for text, words in (("  a[*]: {actors: [read]}\n  b[*]: {actors: [feed]}\n",
                         ("wrong.yaml:3:3: error[T040]", "second range that takes all hosts that are left")),
                        ("  a[*]: {network: 10.1.0.0}\n", ("wrong.yaml:2:19", "`10.1.0.0` is not a network", "10.1.0.0/16")),
                        ("  a[*]: {network: 10.1.0.0/33}\n", ("`10.1.0.0/33` is not a network",)),
                        ("  a[*]: {lanes: every}\n", ("`2 each` or `each`, not `every`",))):
        over.write_text("hosts:\n" + text)
        code, out, err = run("validate", path, over)
        same(code, 78, text)
        holds(out + err, *words)
    over.write_text("hosts:\n  a: {min: 2}\n")
    holds("".join(run("validate", path, over)[1:]), "only a range such as `node[*]` uses `min:`")


def test_more_processes_than_a_run_has_hosts_are_refused(folder):
    path, over = graph(folder), overlay(folder)
    code, _, err = end(begin([TUNDISH, "run", path, over], by_hand(4097)[:1]))[0]
    same(code, 78, err)
    holds(err, "spmd.yaml:2:3: error[T040]", "`node[*]` would be the hosts of 4097 processes; a run has at most 4096")
    over.write_text("hosts:\n  node[*]: {lanes: each, network: 10.1.0.0}\n")  # ends before 4096 hosts are placed
    err = end(begin([TUNDISH, "validate", path, over], by_hand(4096)[:1]))[0][2]
    holds(err, "is not a network")
    assert "error[T040]" not in err, err


def test_what_has_to_be_written_is_said(folder):
    path, over = graph(folder), overlay(folder)
    lost = [{"TUNDISH_RANK": "1", "TUNDISH_HOSTS": "2"}]
    for variables, code, words in (
            (lost, 2, ("hand does not tell where rank 0 is: write --leader ADDRESS, or set TUNDISH_LEADER",)),
            ([{**lost[0], "TUNDISH_LEADER": "a:b"}], 2, ("the leader is `a:b`: write ADDRESS or ADDRESS:PORT",)),
            ([{**lost[0], "TUNDISH_LEADER": "no.invalid"}], 2, ("TUNDISH_LEADER: rank 0 is at no.invalid, which has no address here",)),
            ([{**torchrun(2, 1)[1], "MASTER_ADDR": "no.invalid", "LOCAL_WORLD_SIZE": "1", "LOCAL_RANK": "0"}], 2,
             ("MASTER_ADDR: rank 0 is at no.invalid, which has no address here", "write --leader ADDRESS")),
            ([{**torchrun(2, 1)[0], "MASTER_ADDR": "198.51.100.1", "LOCAL_WORLD_SIZE": "1"}], 2,
             ("MASTER_ADDR: rank 0 runs here, but 198.51.100.1 is another machine",)),
            ([{**by_hand(2)[0], "TUNDISH_LEADER": "198.51.100.1"}], 2, ("rank 0 runs here, but 198.51.100.1 is another machine",)),
            ([{**by_hand(2)[1], "TUNDISH_LEADER": "198.51.100.1"}], 78, ("several machines", "add `insecure: true`"))):
        ((got, _, err),) = end(begin([TUNDISH, "run", path, over], variables))
        same(got, code, err)
        same(err.count("\n"), 1, err)
        holds(err, *words)
    far = overlay(folder, ", network: 198.51.100.0/24", "insecure: true\n")
    ((got, _, err),) = end(begin([TUNDISH, "run", path, far, "--leader", "198.51.100.1"], by_hand(2)[1:]))
    same(got, 78)
    holds(err, "`network: 198.51.100.0/24`: no interface of this machine is in it: write the network of one of its addresses, 127.0.0.1")
    both = folder / "three.yaml"
    both.write_text("hosts:\n  a: {actors: [read, batch]}\n  b: {actors: [prep]}\n  node[*]: {actors: [feed]}\n")
    ((got, _, err),) = end(begin([TUNDISH, "run", path, both], by_hand(2)[1:]))
    same(got, 2)
    holds(err, "hand started 2 processes, but this topology has 3 hosts (a, b, node0)")


def test_ports(folder):
    path = graph(folder)
    port = free_port()
    over = overlay(folder, top=f"port: {port}\n")
    ended = end(begin([TUNDISH, "run", path, over], by_hand(2)))
    same([code for code, _, _ in ended], [0, 0], ended)
    holds(ended[1][2], f"{leads('node0')} 127.0.0.1:{port}\n")
    with socket.create_server(("127.0.0.1", port)):
        ((code, _, err),) = end(begin([TUNDISH, "run", path, over], by_hand(2)[:1]))
        same(code, 1, err)
        holds(err, str(port))
    job, derived = job_of_free_ports(path, over)
    over = overlay(folder)
    with socket.create_server(("127.0.0.1", derived)):
        ended = end(begin([TUNDISH, "run", path, over], job))
        same([code for code, _, _ in ended], [0, 0], ended)
        same(int(ended_port(ended)), derived + 1)
    taken = [listen(derived + number) for number in range(16)]
    began = time.monotonic()
    for variables, why in (job[:1], ": write `port:`"), (job[1:], " at 127.0.0.1, because other programs listen there: write `port:`"):
        ((code, _, err),) = end(begin([TUNDISH, "run", path, over], variables))
        same((code, err.count("\n")), (1, 1), err)
        holds(err, f"none of the 16 ports from {derived} on that derive from the job is free" + why)
    assert time.monotonic() - began < 50  # before start_timeout; less than 2 s where the machine is idle
    for one in taken:
        one.close()


def listen(port, seconds=60):
    """Takes a port: a run of another test whose job derives the same ones may have it for a while."""
    end = time.monotonic() + seconds
    while True:
        try:
            return socket.create_server(("127.0.0.1", port))
        except OSError:
            assert time.monotonic() < end, f"port {port} is in use"
            time.sleep(0.05)


def job_of_free_ports(path, over):
    """The processes of a job whose 16 ports no other test has, and the first of the ports, which its run had."""
    over.write_text(OVER % "")
    for number in range(20):
        job = by_hand(2, TUNDISH_JOB=f"{NUMBER}-{number}")
        derived = int(ended_port(end(begin([TUNDISH, "run", path, over], job))))
        if derived % 16 == 0 and locks(derived + 1, 15):
            return job, derived
    raise AssertionError("each job has a port that another test has")


def ended_port(ended):
    return ended[0][2].split("leads at 127.0.0.1:")[1].split()[0]


def test_plans_are_shown_for_the_processes_of_the_launcher(folder):
    path, over = graph(folder), overlay(folder)
    code, out, err = end(begin([TUNDISH, "explain", path, over], by_hand(3)[1:2]))[0]
    same(code, 0, err)
    holds(out, "node2", "rank 1 of 3 is host node1", "replica 3  node2")
    holds(run("explain", path, over)[1], "node0")
    assert "node1" not in run("explain", path, over)[1]


main(globals())
