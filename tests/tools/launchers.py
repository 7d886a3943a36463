#!/usr/bin/env python3
"""Runs under real launchers, where they are installed, and by the scripts of examples/launch: the stream is that of
one process."""
import contextlib
import functools
import os
import pathlib
import re
import shutil
import signal
import socket
import subprocess
import sys
import time

from command import BUILD, ROOT, TUNDISH, free_port, holds, main, same
from launched import PROGRAM, alone, clean, graph, hosts, leads, stream

EXAMPLES = ROOT / "examples/launch"
FASHION = [ROOT / "examples/fashion/fashion.yaml", EXAMPLES / "spmd.yaml"]
SHORT = ["--set", "read.epochs=1"]

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
KillWait=5
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


def fashion(**more):
    """The environment of a script: the command, and the plugin of the step."""
    path = {"PATH": f"{BUILD}:{os.environ['PATH']}", "TUNDISH_PLUGIN_PATH": str(BUILD / "examples")}
    return clean(**{**path, **more})


def digests(out):
    return [line for line in out.splitlines() if line.startswith(("stream ", "model "))]


@functools.cache
def one_process():
    return digests(launch([TUNDISH, "run", *FASHION, *SHORT], fashion())[0])


def check_script(words, known, environment, count=4, machine=None):
    """The processes that a script starts have stream and model of one process."""
    out, err = launch(words, environment)
    same(digests(out), one_process(), err)
    for rank in range(count):
        holds(out + err, f"launch: {known}", f", rank {rank} of {count} is host node{rank} (127.0.0.1); {leads('node0', machine)}")


def check(folder, start, known, environment):
    path, over = graph(folder), hosts(folder)
    out, err = launch([*start, TUNDISH, "run", path, over], environment)
    same(err.count("launch: "), 3, err)
    for rank, host in enumerate("abc"):
        holds(err, f", rank {rank} of 3 is host {host} (127.0.0.1); a leads")
    holds(err, f"launch: {known}")
    same(stream(out), alone(path))


def check_batch(folder, environment):
    """The script as it is; both nodes are this machine, and their names are unknown to it."""
    text = folder / "batch.out"
    launch(["sbatch", "--wait", "--output", text, EXAMPLES / "slurm.sbatch", *FASHION, *SHORT],
           {**environment, "TUNDISH_LEADER": "127.0.0.1", "KEPT": str(folder / "kept")})
    same(digests(text.read_text()), one_process(), text.read_text())
    holds(text.read_text(), f", rank 3 of 4 is host node3 (127.0.0.1); {leads('node0', 'c1')}")
    assert list((folder / "kept").glob("step-*")), text.read_text()


def check_preempted(folder, environment):
    """A job that gets SIGUSR1 drains, queues itself again, and finishes."""
    text, kept, over = folder / "preempted.out", folder / "preempted", folder / "slow.yaml"
    over.write_text(FASHION[1].read_text().replace("feed: auto", 'feed: ["sim:0"]'))
    tell = {**environment, "TUNDISH_LEADER": "127.0.0.1", "KEPT": str(kept)}

    def slurm_says(*words):
        return subprocess.run(words, env=tell, text=True, capture_output=True, check=True).stdout.strip()

    job = slurm_says("sbatch", "--parsable", "--output", str(text), *map(str, [EXAMPLES / "slurm.sbatch", FASHION[0], over, *SHORT]),
                     "--set", "checkpoint.every=20 steps", "--set", "feed.sim.step=8ms")
    end = time.monotonic() + 90
    while not list(kept.glob("step-*/manifest")):
        assert time.monotonic() < end, text.read_text()
        time.sleep(0.02)
    slurm_says("scancel", "--signal=USR1", job)
    while not re.search("JobState=(COMPLETED|FAILED|CANCELLED)", state := slurm_says("scontrol", "show", "job", job)):
        assert time.monotonic() < end, (state, text.read_text())
        # Slurm lets such a job wait for two minutes, in which the script of its first start is removed.  A node refuses a
        # job, as "already killed", that begins in the second in which its first start was ended; Slurm counts in seconds.
        if "Reason=BeginTime" in state and "JobState=PENDING" in state and not list(folder.glob(f"spool.*/job{int(job):05}")):
            slurm_says("scontrol", "update", f"JobId={job}", "StartTime=now+2")
        time.sleep(0.1)
    said = text.read_text()
    holds(state + said, "JobState=COMPLETED", "Restarts=1")
    holds(said, "(SIGUSR1 from process ", "the job is queued again; its next start resumes")
    holds(said, "steps before this run, which resumed after them")
    same(digests(said)[-2:], one_process(), said)
    same(said.count("rank 0 of 4 is host node0"), 2, said)


LOSSES = "start_timeout: 12s\ndead_after: 2s\nrestarts: {{run: 3}}\ncheckpoint: {{dir: {folder}/kept, every: 20 steps}}\n"


def spmd(folder):
    """The overlay of the examples, for a run that resumes."""
    path = folder / "spmd.yaml"
    path.write_text(LOSSES.format(folder=folder) + (EXAMPLES / "spmd.yaml").read_text())
    return path


def tasks_of(path):
    """The processes that run a file, by their rank; not those that started them."""
    found = {}
    for pid in filter(str.isdigit, os.listdir("/proc")):
        with contextlib.suppress(OSError):
            words = pathlib.Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
            rank = re.search(rb"\0(?:SLURM_PROCID|OMPI_COMM_WORLD_RANK|PMI_RANK)=(\d+)", b"\0" + pathlib.Path(f"/proc/{pid}/environ").read_bytes())
            if str(path).encode() in words and words[0].endswith(b"tundish") and rank:
                found[int(rank[1])] = int(pid)
    return found


def loses(folder, start, environment, victim=2):
    """Exit code and output of a launcher of which a task is killed after a checkpoint."""
    over = spmd(folder)
    words = [*start, TUNDISH, "run", FASHION[0], over, *SHORT, "--resume"]
    process = subprocess.Popen([*map(str, words)], env=environment, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    end = time.monotonic() + 60
    while not list((folder / "kept").glob("step-*/manifest")) or len(tasks_of(over)) < 4:
        assert time.monotonic() < end and process.poll() is None, process.communicate()[0]
        time.sleep(0.01)
    os.kill(tasks_of(over)[victim], signal.SIGKILL)
    out, _ = process.communicate(timeout=150)
    same(tasks_of(over), {})
    return process.returncode, out


def test_a_task_of_srun_is_killed_and_the_others_resume(folder):
    if is_missing("slurmctld", "slurmd", "srun") or os.geteuid() != 0:
        return
    with slurm(folder) as environment:
        code, out = loses(folder, ["srun", "-N1", "-n4"], {**environment, **fashion(SLURM_CONF=environment["SLURM_CONF"])})
        assert code != 0, out  # srun's own: a task was killed
        same(digests(out), one_process(), out)
        holds(out, "host node2 was lost with the replicas that it carried", "rank 0 of 3 is host node0")


def test_a_task_of_mpirun_is_killed_and_it_is_started_again_by_hand(folder):
    for name, words in (("mpirun.openmpi", ["--allow-run-as-root", "--oversubscribe"]), ("mpirun.mpich", [])):
        if is_missing(name):
            continue
        shutil.rmtree(folder / "kept", ignore_errors=True)
        start = [name, *words, "-n", "4"]
        code, out = loses(folder, start, fashion())
        assert code != 0 and not digests(out), (name, out)
        out, err = launch([*start, TUNDISH, "run", FASHION[0], spmd(folder), *SHORT, "--resume"], fashion())
        same(digests(out), one_process(), err)
        holds(out + err, "steps before this run, which resumed after them")


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
        check_script(["srun", "-N1", "-n4", TUNDISH, "run", *FASHION, *SHORT], "slurm job",
                     {**environment, **fashion(SLURM_CONF=environment["SLURM_CONF"])}, machine="c1")
        check_batch(folder, {**environment, **fashion(SLURM_CONF=environment["SLURM_CONF"])})
        if os.environ.get("TUNDISH_ALL_CASES"):
            check_preempted(folder, {**environment, **fashion(SLURM_CONF=environment["SLURM_CONF"])})
        out, err = launch(["salloc", "-N2", "-n3", TUNDISH, "run", path], environment)
        holds(err, "launch: the Slurm job has 3 tasks, but this process was not started by srun")
        same(stream(out), alone(path))


def test_mpirun_of_open_mpi_starts_a_host_for_each_process(folder):
    if not is_missing("mpirun.openmpi"):
        check(folder, ["mpirun.openmpi", "--allow-run-as-root", "--oversubscribe", "-n", "3"], "openmpi", clean())
        check_script([EXAMPLES / "mpirun.sh", 4, *FASHION, *SHORT], "openmpi",
                     fashion(MPIRUN="mpirun.openmpi --allow-run-as-root --oversubscribe"))


def test_mpirun_of_mpich_starts_a_host_for_each_process(folder):
    if not is_missing("mpirun.mpich"):
        check(folder, ["mpirun.mpich", "-n", "3"], "mpich, ", clean())
        check_script([EXAMPLES / "mpirun.sh", 4, *FASHION, *SHORT], "mpich, ", fashion(MPIRUN="mpirun.mpich"))


TORCHRUN = """#!/usr/bin/env python3
# As torchrun does: an agent that listens at MASTER_PORT, and its variables.
import os, socket, subprocess, sys
count = int(sys.argv[sys.argv.index("--nproc_per_node") + 1])
words = sys.argv[sys.argv.index("--nproc_per_node") + 2:]
with socket.create_server(("127.0.0.1", 0)) as agent:
    every = [subprocess.Popen(words, env={**os.environ, "RANK": str(rank), "WORLD_SIZE": str(count),
        "LOCAL_RANK": str(rank), "LOCAL_WORLD_SIZE": str(count), "MASTER_ADDR": socket.gethostname(),
        "MASTER_PORT": str(agent.getsockname()[1]), "TORCHELASTIC_RUN_ID": "r",
        "TORCHELASTIC_USE_AGENT_STORE": "True"}) for rank in range(count)]
    sys.exit(max([one.wait() for one in every]))
"""


ELASTIC = """
# As torchrun does with --max-restarts: when a process fails, the agent ends the others by SIGTERM, and starts all again,
# with any ranks; or fewer, if a machine is gone.
import os, random, signal, socket, subprocess, sys, time
count, fewer, kept = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
def start(count, restarts, agent):
    ranks = list(range(count))
    random.Random(5).shuffle(ranks)
    return [subprocess.Popen(sys.argv[4:], env={**os.environ, "RANK": str(rank), "WORLD_SIZE": str(count), "LOCAL_RANK": str(rank),
        "LOCAL_WORLD_SIZE": str(count), "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(agent.getsockname()[1]), "TORCHELASTIC_RUN_ID": "r",
        "TORCHELASTIC_RESTART_COUNT": str(restarts), "TORCHELASTIC_USE_AGENT_STORE": "True"}) for rank in ranks]
with socket.create_server(("127.0.0.1", 0)) as agent:
    every = start(count, 0, agent)
    while not any(os.path.exists(f"{kept}/{name}/manifest") for name in (os.listdir(kept) if os.path.exists(kept) else ())):
        assert not any(one.poll() is not None for one in every)
        time.sleep(0.01)
    every[0].kill()
    every[0].wait()
    for one in every[1:]:
        one.send_signal(signal.SIGTERM)
    print("ended", sorted({one.wait(30) for one in every[1:]}), flush=True)
    sys.exit(max([one.wait() for one in start(fewer, 1, agent)]))
"""


def test_torchrun_starts_all_again_with_any_ranks_or_fewer(folder):
    for fewer in (4, 3):
        shutil.rmtree(folder / "kept", ignore_errors=True)
        out, err = launch([sys.executable, "-c", ELASTIC, 4, fewer, folder / "kept", TUNDISH, "run", FASHION[0], spmd(folder), *SHORT, "--resume"],
                          fashion())
        same(digests(out), one_process(), err)
        holds(out + err, "steps before this run, which resumed after them", f"rank {fewer - 1} of {fewer} is host node{fewer - 1}")


def torchrun_works():
    """PyTorch 1.13 of Debian 12 does not know the enumerations of its Python 3.11."""
    words = ["torchrun", "--no_python", "--nproc_per_node", "1", "true"]
    return shutil.which("torchrun") is not None and subprocess.run(words, capture_output=True, timeout=60).returncode == 0


def test_the_script_for_torchrun(folder):
    stand_in = folder / "torchrun"
    stand_in.write_text(TORCHRUN)
    stand_in.chmod(0o755)
    path = f"{BUILD}:{os.environ['PATH']}"
    if not torchrun_works():
        print("skipped: torchrun is not installed, or cannot start a process; another program does its part")
        path = f"{folder}:{path}"
    check_script([EXAMPLES / "torchrun.sh", 4, *FASHION, *SHORT], "torchrun job", fashion(PATH=path))


def test_the_script_for_tf_config(folder):
    workers = f"127.0.0.1:{free_port()} 127.0.0.1:1 127.0.0.1:2"
    every = [subprocess.Popen([EXAMPLES / "tf_config.sh", str(index), workers, *map(str, [*FASHION, *SHORT])],
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=fashion())
             for index in range(3)]
    ended = [(one.returncode, *texts) for one, texts in [(one, one.communicate(timeout=60)) for one in every]]
    same([code for code, _, _ in ended], [0] * 3, ended)
    same(digests(ended[0][1]), one_process())
    for rank, (_, _, err) in enumerate(ended):
        holds(err, "launch: tf_config job ", f", rank {rank} of 3 is host node{rank} (127.0.0.1); {leads('node0')}")


main(globals())
