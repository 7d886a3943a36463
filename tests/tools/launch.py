#!/usr/bin/env python3
"""Processes that a launcher starts: each knows its host by the variables that the launcher sets."""
import json
import os
import signal
import subprocess
import sys

from command import BUILD, TUNDISH, free_port, holds, main, run, same
from launched import PROGRAM, alone, clean, graph, hosts, stream

def start(words, variables):
    """A process for each set of variables; (code, output) of each."""
    every = [subprocess.Popen([*map(str, words)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                              env=clean(**one)) for one in variables]
    return [(process.returncode, *texts) for process, texts in [(one, one.communicate(timeout=60)) for one in every]]


def by_hand(size):
    return [{"TUNDISH_RANK": str(rank), "TUNDISH_HOSTS": str(size)} for rank in range(size)]


def torchrun(size):
    return [{"RANK": str(rank), "WORLD_SIZE": str(size), "MASTER_ADDR": "127.0.0.1", "LOCAL_RANK": str(rank),
             "LOCAL_WORLD_SIZE": str(size), "TORCHELASTIC_RUN_ID": "j"} for rank in range(size)]


def tf_config(tasks, cluster):
    return [{"TF_CONFIG": json.dumps({"cluster": cluster, "task": {"type": kind, "index": index}})}
            for kind, index in tasks]


def test_rank_i_is_host_i(folder):
    path, over = graph(folder), hosts(folder)
    wanted = alone(path)
    for variables, known in ((by_hand(3), "hand"), (torchrun(3), "torchrun job j")):
        ended = start([TUNDISH, "run", path, over], variables)
        for rank, (code, out, err) in enumerate(ended):
            same(code, 0, err)
            line = f"launch: {known}, rank {rank} of 3 is host {'abc'[rank]} (127.0.0.1); a leads\n"
            same(err.count("launch:"), 1, err)
            holds(err, line)
        same(stream(ended[0][1]), wanted)


def test_tasks_of_tf_config_go_by_name_or_in_order(folder):
    path = graph(folder)
    wanted = alone(path)
    chief = {"worker": ["h:1", "h:2"], "chief": ["h:3"]}
    tasks = [("chief", 0), ("worker", 0), ("worker", 1)]
    for names, order in ((("a", "b", "c"), "abc"), (("worker1", "worker0", "chief"), ("chief", "worker0", "worker1"))):
        ended = start([TUNDISH, "run", path, hosts(folder, names)], tf_config(tasks, chief))
        for (code, _, err), name in zip(ended, order):
            same(code, 0, err)
            holds(err, f" is host {name} (127.0.0.1); {names[0]} leads")
        same([stream(out) for _, out, _ in ended if "stream" in out], [wanted])
    code, _, err = start([TUNDISH, "run", path, hosts(folder)],
                         tf_config([("ps", 0)], {"worker": ["h:1", "h:2"], "ps": ["h:3"]}))[0]
    same(code, 2)
    holds(err, "tasks `ps`, which go by name: name the hosts of the topology chief, worker0, ps0")


def test_programs_find_their_host(folder):
    path, over = graph(folder), hosts(folder)
    wanted = alone(path)
    program = PROGRAM.replace("FILES", repr([str(path), str(over)]))
    pull, serve = [sys.executable, "-c", program], [TUNDISH, "run", path, over]
    others = [subprocess.Popen([*map(str, serve)], env=clean(**one)) for one in by_hand(3)[1:2]]
    others.append(subprocess.Popen(pull, stdout=subprocess.PIPE, text=True, env=clean(**by_hand(3)[2])))
    code, out, err = start(serve, by_hand(3)[:1])[0]
    rows, _ = others[1].communicate(timeout=60)
    same((code, others[0].wait(60), others[1].returncode), (0, 0, 0), err)
    same((rows.split()[0], stream(out)), ("100", wanted))


def test_the_number_of_processes_is_that_of_the_hosts(folder):
    path, over = graph(folder), hosts(folder)
    for rank, (code, _, err) in enumerate(start([TUNDISH, "run", path, over], by_hand(4))):
        same(code, 2)
        holds(err, "hand started 4 processes, but this topology has 3 hosts (a, b, c): start 3 processes, one for "
                   "each host, or change `hosts:`")
    code, _, err = start([sys.executable, "-c", PROGRAM.replace("FILES", repr([str(path), str(over)]))], by_hand(1))[0]
    same(code, 1)
    holds(err, "tundish.Error", "hand started 1 process, but this topology has 3 hosts")


def test_several_processes_need_an_overlay_which_is_shown(folder):
    path = graph(folder)
    code, _, err = start([TUNDISH, "run", path], torchrun(3)[1:2])[0]
    same(code, 2)
    holds(err, "torchrun started 3 processes, but this topology has one host", "TUNDISH_LAUNCH=none")
    shown = folder / "shown.yaml"
    shown.write_text(err[err.index("hosts:\n"):].replace("7100", str(free_port())))
    ended = start([TUNDISH, "run", path, shown], torchrun(3))
    same([code for code, _, _ in ended], [0, 0, 0], ended)
    same(stream(ended[0][1]), alone(path))
    program = [sys.executable, "-c", PROGRAM.replace("FILES", repr([str(path)]))]
    holds(start(program, torchrun(3)[:1])[0][2], "tundish.Error", "torchrun started 3 processes", "hosts:")
    alone_each = [{**one, "TUNDISH_LAUNCH": "none"} for one in torchrun(2)]
    same([out for _, out, _ in start(program, alone_each)], [f"100 {alone(path)}\n"] * 2)
    ended = start([TUNDISH, "run", path, "--launch", "none"], torchrun(2))
    same([(code, stream(out)) for code, out, _ in ended], [(0, alone(path))] * 2)


def test_the_option_chooses_a_launcher(folder):
    path, over = graph(folder), hosts(folder)
    both = [{**one, "PMI_RANK": "0", "PMI_SIZE": "1"} for one in by_hand(3)]
    ended = start([TUNDISH, "run", path, over, "--launch", "hand"], both)
    same([code for code, _, _ in ended], [0, 0, 0], ended)
    for words, part in ((("--launch", "slrum"), "no launcher is named 'slrum'; did you mean 'slurm'?"),
                        (("--launch", "slurm"), "slurm was asked for, but SLURM_STEP_ID is not set"),
                        (("--launch", "hand", "--host", "a"), "--host names the host already")):
        code, _, err = start([TUNDISH, "run", path, over, *words], by_hand(3)[:1])[0]
        same(code, 2)
        holds(err, part)
    code, _, err = start([TUNDISH, "run", path, over], [{"RANK": "3", "WORLD_SIZE": "3", "MASTER_ADDR": "a"}])[0]
    same(code, 2)
    holds(err, "RANK=3: write a rank from 0 to 2, because WORLD_SIZE=3")


def test_a_host_that_is_named_needs_no_launcher(folder):
    path, over = graph(folder), hosts(folder)
    code, out, err = run("up", path, over, env={"RANK": "x", "WORLD_SIZE": "3", "MASTER_ADDR": "a"})
    same(code, 0, err)
    same(stream(out), alone(path))


def test_scripts_of_slurm_are_one_process_with_a_hint(folder):
    path = graph(folder)
    script = {"SLURM_JOB_ID": "17", "SLURM_NTASKS": "3", "SLURM_PROCID": "0"}
    hint = "the Slurm job has 3 tasks, but this process was not started by srun: write `srun` before the command"
    code, out, err = start([TUNDISH, "run", path], [script])[0]
    same((code, stream(out)), (0, alone(path)), err)
    same(err.count(hint), 1, err)
    code, _, err = start([TUNDISH, "run", path, hosts(folder)], [script])[0]
    same(code, 2)
    holds(err, "this graph has 3 hosts (a, b, c)", hint)
    code, out, err = start([sys.executable, "-c", PROGRAM.replace("FILES", repr([str(path)]))], [script])[0]
    same((code, out.split()[0]), (0, "100"), err)
    holds(err, hint)


def test_one_command_line_is_for_all_hosts(folder):
    path, over = graph(folder), hosts(folder)
    path.write_text(path.read_text().replace("feeder}", "feeder, step: {plugin: probe}}"))
    files = {name: folder / name for name in ("report", "metrics", "save")}
    words = [word for name, file in files.items() for word in (f"--{name}", file)]
    ended = start([TUNDISH, "run", path, over, *words, "--json"],
                  [{**one, "TUNDISH_PLUGIN_PATH": str(BUILD / "tests")} for one in by_hand(3)])
    same([code for code, _, _ in ended], [0, 0, 0], ended)
    same([out == "" for _, out, _ in ended], [False, True, True])
    same(json.loads(ended[0][1])["rows"]["fed"], 100)
    same(json.loads(files["report"].read_text())["rows"]["fed"], 100)
    same((len(files["metrics"].read_text().splitlines()), files["save"].read_text()), (4, "a model"))


def test_doctor_and_explain_print_it(folder):
    path, over = graph(folder), hosts(folder)
    for command, line in (("explain", "rank 2 of 3 is host c (127.0.0.1); a leads"), ("doctor", "rank 2 of 3")):
        files = (path, over) if command == "explain" else ()
        for json_too in ((), ("--json",)):
            code, out, err = start([TUNDISH, command, *files, *json_too], torchrun(3)[2:])[0]
            same(code, 0, out + err)
            holds(out, f"torchrun job j, {line}")
        code, out, err = start([TUNDISH, command, *files], [{"TF_CONFIG": "{# none"}])[0]
        holds(out, "TF_CONFIG:1:2: not JSON")


def test_a_task_uses_the_processors_that_slurm_gives_it(folder):
    path = graph(folder)
    path.write_text(path.read_text().replace("ops: []", "workers: auto, ops: []"))
    task = {"SLURM_STEP_ID": "0", "SLURM_PROCID": "0", "SLURM_STEP_NUM_TASKS": "1", "SLURM_STEP_NODELIST": "c1", "SLURM_CPUS_PER_TASK": "1"}
    holds(start([TUNDISH, "validate", path], [task])[0][1], "ok: 4 instances of actors")
    holds(start([TUNDISH, "doctor"], [task])[0][1], ", 1 for each task by SLURM_CPUS_PER_TASK")


def test_a_drained_job_is_queued_again(folder):
    path = graph(folder)
    path.write_text(path.read_text().replace(".npy\"}}", ".npy\"}}, epochs: forever"))
    kept = ("--set", f"checkpoint.dir={folder / 'kept'}", "--resume", "--requeue")
    tool = folder / "bin" / "scontrol"
    tool.parent.mkdir()
    tool.write_text(f'#!/bin/sh\necho "$*" >>{folder}/asked\ntest ! -e {folder}/full\n')
    tool.chmod(0o755)
    job = clean(SLURM_JOB_ID="17", PATH=f"{tool.parent}:{os.environ['PATH']}")
    code, _, err = start([TUNDISH, "run", path, *kept], [{}])[0]
    same(code, 2)
    holds(err, "--requeue: SLURM_JOB_ID is not set: only a job of Slurm can be queued again")
    code, _, err = start([TUNDISH, "run", path, "--requeue"], [{"SLURM_JOB_ID": "17"}])[0]
    same(code, 2)
    holds(err, "--requeue: the next start would begin at the first step: write --resume too")
    for number, asked, said in ((signal.SIGINT, None, "draining"),
                                (signal.SIGUSR1, "requeue 17\n", "the job is queued again; its next start resumes"),
                                (signal.SIGTERM, "requeue 17\n", "`scontrol requeue 17` failed")):
        with subprocess.Popen([TUNDISH, "run", path, *kept], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                              env=job) as process:
            while "epoch" not in process.stdout.readline():
                assert process.poll() is None
            process.send_signal(number)
            out, err = process.communicate(timeout=60)
        same(process.returncode, 130, err)
        holds(err, said)
        same((folder / "asked").read_text() if (folder / "asked").exists() else None, asked)
        assert list((folder / "kept").glob("step-*")), err
        (folder / "asked").unlink(missing_ok=True)
        if number == signal.SIGUSR1:
            (folder / "full").touch()
    holds(out, "steps before this run, which resumed after them")


main(globals())
