#!/usr/bin/env python3
"""Runs under real launchers, where they are installed: the stream is that of one process."""
import contextlib
import os
import shutil
import socket
import subprocess
import sys
import time

from command import TUNDISH, free_port, holds, main, same
from launched import PROGRAM, alone, clean, graph, hosts, stream

SLURM = """ClusterName=test
SlurmctldHost={host}(127.0.0.1)
SlurmUser=root
SlurmdUser=root
AuthType=auth/none
CredType=cred/none
SlurmctldPort={ports[0]}
SlurmctldPidFile={folder}/ctld.pid
SlurmdPidFile={folder}/slurmd.%n.pid
SlurmdSpoolDir={folder}/spool.%n
StateSaveLocation={folder}/state
SlurmctldLogFile={folder}/ctld.log
SlurmdLogFile={folder}/slurmd.%n.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SchedulerType=sched/builtin
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
ReturnToService=2
MpiDefault=none
SwitchType=switch/none
SlurmdParameters=config_overrides
NodeName=c1 NodeHostname={host} NodeAddr=127.0.0.1 Port={ports[1]} CPUs=4 State=UNKNOWN
NodeName=c2 NodeHostname={host} NodeAddr=127.0.0.1 Port={ports[2]} CPUs=4 State=UNKNOWN
PartitionName=p Nodes=ALL Default=YES MaxTime=INFINITE State=UP
"""


@contextlib.contextmanager
def slurm(folder):
    """Slurm with two nodes on this machine; yields the environment of its commands."""
    path = folder / "slurm.conf"
    path.write_text(SLURM.format(host=socket.gethostname().split(".")[0], folder=folder,
                                 ports=[free_port() for _ in range(3)]))
    commands = [["slurmctld", "-D", "-f", path], *(["slurmd", "-D", "-N", node, "-f", path] for node in ("c1", "c2"))]
    with open(folder / "daemons", "w") as log:
        daemons = [subprocess.Popen([*map(str, words)], stdout=log, stderr=log) for words in commands]
    environment = clean(SLURM_CONF=str(path))
    try:
        end = time.monotonic() + 30
        while "idle 2" not in subprocess.run(["sinfo", "-h", "-o", "%T %D"], env=environment, text=True,
                                             capture_output=True).stdout:
            assert time.monotonic() < end, (folder / "daemons").read_text()
            time.sleep(0.1)
        yield environment
    finally:
        for daemon in reversed(daemons):
            daemon.terminate()
        for daemon in daemons:
            daemon.wait(30)


def is_missing(*commands):
    missing = [command for command in commands if shutil.which(command) is None]
    print("".join(f"skipped: {command} is not installed\n" for command in missing), end="")
    return bool(missing)


def launch(words, environment):
    done = subprocess.run([*map(str, words)], env=environment, text=True, capture_output=True, timeout=60)
    same(done.returncode, 0, done.stdout + done.stderr)
    return done.stdout, done.stderr


def check(folder, start, known, environment):
    path, over = graph(folder), hosts(folder)
    out, err = launch([*start, TUNDISH, "run", path, over], environment)
    same(err.count("launch: "), 3, err)
    for rank, host in enumerate("abc"):
        holds(err, f", rank {rank} of 3 is host {host} (127.0.0.1); a leads")
    holds(err, f"launch: {known}")
    same(stream(out), alone(path))


def test_srun_starts_a_host_for_each_task(folder):
    if is_missing("slurmctld", "slurmd", "srun") or os.geteuid() != 0:
        return
    with slurm(folder) as environment:
        check(folder, ["srun", "-N2", "-n3"], "slurm job 1, ", environment)
        path, over = graph(folder), hosts(folder)
        path.write_text(path.read_text().replace("size: 32", "size: 32, replicas: 3"))
        over.write_text(f"port: {free_port()}\nhosts:\n  a: {{actors: [read, prep, batch, feed]}}\n"
                        "  b: {actors: [feed]}\n  c: {actors: [feed]}\n")
        program = PROGRAM.replace("FILES", repr([str(path), str(over)]))
        out, _ = launch(["srun", "-N2", "-n3", sys.executable, "-c", program], environment)
        same(sum(int(line.split()[0]) for line in out.splitlines()), 100, out)
        holds(out, alone(path))
        out, err = launch(["salloc", "-N2", "-n3", TUNDISH, "run", path], environment)
        holds(err, "launch: the Slurm job has 3 tasks, but this process was not started by srun")
        same(stream(out), alone(path))


def test_mpirun_of_open_mpi_starts_a_host_for_each_process(folder):
    if not is_missing("mpirun.openmpi"):
        check(folder, ["mpirun.openmpi", "--allow-run-as-root", "--oversubscribe", "-n", "3"], "openmpi", clean())


def test_mpirun_of_mpich_starts_a_host_for_each_process(folder):
    if not is_missing("mpirun.mpich"):
        check(folder, ["mpirun.mpich", "-n", "3"], "mpich, ", clean())


main(globals())
