#!/usr/bin/env python3
"""`tundish run` and `tundish up`: what they write, how they end."""
import atexit
import contextlib
import fcntl
import json
import os
import pty
import re
import resource
import select
import signal
import socket
import struct
import subprocess
import termios
import threading
import time

import numpy

from command import BUILD, FED, FEED, TUNDISH, arrays, free_port, holds, main, run, same, topology

PLUGINS = {"TUNDISH_PLUGIN_PATH": str(BUILD / "tests")}
KEYS = {"rows", "rows_per_second", "bytes_per_second", "steps", "epochs", "stream_digest", "model_digest", "seconds", "actors", "results",
        "chains", "bad", "versions", "seed", "fingerprint"}


def graph(folder, step="", **more):
    """100 rows in batches of 32, fed; `step` are the options of the probe, if it steps."""
    arrays(folder)
    options = f", step: {{plugin: probe{step}}}" if step is not None else ""
    return topology(folder, actors=FEED % options, links=FED, **more)


def hosts(folder, **keys):
    """An overlay with two hosts, a and b, that leads at a free port."""
    path = folder / "two.yaml"
    more = "".join(f"{key}: {value}\n" for key, value in keys.items())
    path.write_text(f"port: {free_port()}\n{more}hosts:\n  a: {{actors: [read, batch]}}\n"
                    "  b: {actors: [feed]}\n")
    return path


class Started:
    """A command that runs while the test looks at it."""

    def __init__(self, *words):
        self.process = subprocess.Popen([TUNDISH, *map(str, words)], stdout=subprocess.PIPE,
                                        stderr=subprocess.STDOUT, text=True,
                                        env={**os.environ, **PLUGINS})
        atexit.register(self.process.kill)  # a step that never returns outlives a test that fails
        self.text = ""

    def until(self, wanted, seconds=30):
        """Reads until `wanted` was printed."""
        end = time.monotonic() + seconds
        while wanted not in self.text:
            ready, _, _ = select.select([self.process.stdout], [], [], end - time.monotonic())
            got = os.read(self.process.stdout.fileno(), 4096).decode() if ready else ""
            if not got:
                self.process.kill()
            assert got, f"{wanted!r} never came:\n{self.text}"
            self.text += got

    def end(self, seconds=30):
        try:
            out, _ = self.process.communicate(timeout=seconds)
        except subprocess.TimeoutExpired:
            self.process.kill()
            raise
        self.text += out
        return self.process.returncode


def has_ended(pid):
    """Whether it can be waited for: the first thread of a process ends before the others do."""
    try:
        with open(f"/proc/{pid}/stat") as file:
            state = file.read().rsplit(")", 1)[1].split()[0]
        return state in "ZX" and len(os.listdir(f"/proc/{pid}/task")) == 1
    except (FileNotFoundError, ProcessLookupError):
        return True


def children(pid):
    """The processes that it has started and that have not ended."""
    found = subprocess.run(["pgrep", "-P", str(pid)], capture_output=True, text=True).stdout.split()
    return [one for one in found if not has_ended(one)]


def test_the_report_says_what_was_done(folder):
    # The model is hashed without a file.
    code, out, err = run("run", graph(folder, read=", epochs: 2"), "--report", folder / "r.json",
                         "--metrics", folder / "m.jsonl", env={**PLUGINS, "TMPDIR": "/nowhere"})
    same((code, err), (0, ""))
    holds(out, "done: 8 steps, 200 rows, 2 epochs")
    told = json.loads((folder / "r.json").read_text())
    same(set(told), KEYS)
    same(told["rows"], {"read": 200, "added": 0, "fed": 200, "filtered": 0, "quarantined": 0,
                        "dropped": 0})
    same((told["steps"], told["epochs"], told["seed"], told["chains"]), (8, 2, 7, {}))
    assert re.fullmatch("[0-9a-f]{32}", told["stream_digest"]), told
    assert re.fullmatch("[0-9a-f]{32}", told["model_digest"]), told
    holds(out, told["stream_digest"], told["model_digest"])
    same(sorted(actor["name"] for actor in told["actors"]), ["batch.0", "feed", "read.0"])
    for actor in told["actors"]:
        assert {"kind", "host", "rows_in", "rows_out", "blocks_in", "blocks_out", "bytes_in",
                "bytes_out", "bytes_copied", "cpu_seconds", "wall_seconds",
                "waits"} <= set(actor), actor
    same(told["results"], {"feed": {"size": 25}})
    metrics = [json.loads(line) for line in (folder / "m.jsonl").read_text().splitlines()]
    rows = [32, 32, 32, 4] * 2
    same(metrics, [{"step": s, "epoch": s // 4, "rows": rows[s], "size": rows[s]}
                   for s in range(8)])
    same([p.name for p in folder.iterdir() if "tmp" in p.name], [])


def means(folder, replicas, epochs=2, rows=100, more=""):
    """Rows of random numbers of which each replica reports the mean; the graph and the numbers."""
    path = graph(folder, step=f", means: 1{more}", read=f", epochs: {epochs}",
                 batch=f"size: 32, replicas: {replicas}")
    y = numpy.random.default_rng(9).integers(-2**30, 2**30, rows)
    numpy.save(folder / "x.npy", numpy.zeros((rows, 3), "f4"))
    numpy.save(folder / "y.npy", y)
    return path, y


def test_metrics_are_those_of_numpy_whatever_shares_the_replicas_have(folder):
    # Shares of 32 rows among 5 and 3 replicas differ, and of the last 4 some replicas have none.
    for replicas in (1, 3, 5):
        path, y = means(folder, replicas)
        code, out, err = run("run", path, "--report", folder / "r.json", "--metrics",
                             folder / "m.jsonl", env=PLUGINS)
        same((code, err), (0, ""))
        got = [json.loads(line)["y"] for line in (folder / "m.jsonl").read_text().splitlines()]
        wanted = [(y[at:at + 32] * epoch).sum() / len(y[at:at + 32])
                  for epoch in (1, 2) for at in range(0, 100, 32)]
        same(got, wanted, f"{replicas} replicas, by step")
        holds(out, f"feed:  y {(2 * y).mean():.4f}  (100 rows)")
        same(json.loads((folder / "r.json").read_text())["results"], {"feed": {"y": 2 * y.mean()}})


def test_the_line_of_an_epoch_has_its_own_means(folder):
    path, y = means(folder, 3, epochs=1000000)
    started = Started("run", path)
    for _ in range(3):
        started.until("rows, ")
        lines, started.text = started.text, ""
        for epoch, mean, rows in re.findall(r"epoch (\d+)/1000000  y (\S+)  (\S+) rows", lines):
            number = int(epoch)
            same((mean, rows), (f"{(y * number).sum() / 100:.4f}", f"{100 * number:,}"), lines)
    started.process.send_signal(signal.SIGTERM)
    same(started.end(), 130, started.text)


def test_a_metric_is_of_the_steps_that_reported_it(folder):
    # The leader keeps what steps report in a ring of 1,024.
    path, _ = means(folder, 2, epochs=330, more=", rare_at: 3")
    code, _, err = run("run", path, "--metrics", folder / "m.jsonl", "--quiet", env=PLUGINS)
    same((code, err), (0, ""))
    lines = [json.loads(line) for line in (folder / "m.jsonl").read_text().splitlines()]
    same((len(lines), [line["step"] for line in lines if "rare" in line]), (1320, [3]))


def test_the_report_is_what_json_prints(folder):
    code, out, err = run("run", graph(folder), "--json", env=PLUGINS)
    same((code, err, set(json.loads(out))), (0, "", KEYS))


def test_report_and_cursor_count_every_row_once(folder):
    """90 of 100 rows pass and come twice: five batches of 32 per epoch, and 20 rows that are dropped."""
    numpy.save(folder / "n.npy", numpy.arange(100, dtype="u1"))
    path = topology(folder, columns="n", read=", epochs: 2", batch="size: 32, remainder: drop",
                    links=["read -> prep -> batch -> feed"],
                    actors=FEED % ", step: {plugin: probe}" + "  prep: {kind: preprocessor, ops: "
                    "[{filter: {column: n, op: lt, value: 90}}, {repeat_rows: {times: 2}}]}\n")
    keep = ("--set", f"checkpoint.dir={folder / 'kept'}", "--set", "checkpoint.every=100 steps",
            "--report", folder / "r.json")
    same(run("run", path, *keep, "--steps", "7", env=PLUGINS)[0], 0)
    code, out, err = run("cursor", folder / "kept")
    same(code, 0, err)
    holds(out, "next       step 7, step 2 of epoch 1\n",
          "rows       224 fed; 132 read, 122 added, 10 filtered, 0 quarantined, 20 dropped\n",
          "lane 0     epoch 1, position 32\n", "models     1 replica, 7 bytes\n")
    same(run("run", path, *keep, "--resume", env=PLUGINS)[0], 0)
    same(json.loads((folder / "r.json").read_text())["rows"],
         {"read": 200, "added": 180, "fed": 320, "filtered": 20, "quarantined": 0, "dropped": 40})


def test_quiet_prints_nothing(folder):
    same(run("run", graph(folder), "--quiet", env=PLUGINS), (0, "", ""))


def test_steps_end_the_run(folder):
    code, out, err = run("run", graph(folder, read=", epochs: forever"), "--steps", "9",
                         env=PLUGINS)
    same((code, err), (0, ""))
    holds(out, "done: 9 steps, 232 rows")


def test_places_that_cannot_be_written_are_refused_before_the_start(folder):
    path = graph(folder)
    for option in ("--report", "--metrics"):
        code, out, err = run("run", path, option, folder / "no" / "file", env=PLUGINS)
        same((code, out), (2, ""), option)
        holds(err, str(folder / "no" / "file"), "cannot be written")


def test_the_model_is_saved_whole_and_its_hash_is_the_digest(folder):
    saved, path = folder / "model", graph(folder)
    saved.write_text("what stood there before")
    code, out, err = run("run", path, "--json", "--save", saved, env=PLUGINS)
    same((code, err, saved.read_text()), (0, "", "a model"))
    # XXH3-128 of "a model".
    same(json.loads(out)["model_digest"], "45469cb0582bcc1bcad719f88c931876")
    assert os.stat(saved).st_mode & 0o777 == 0o666 & ~umask(), oct(os.stat(saved).st_mode)
    same([p.name for p in folder.iterdir() if "tmp" in p.name], [])

    saved.write_text("what stood there before")
    code, out, err = run("run", graph(folder, step=", save_fails: 1"), "--save", saved, env=PLUGINS)
    same((code, saved.read_text()), (1, "what stood there before"))
    holds(err, "step plugin probe could not save its model", str(saved))
    same([p.name for p in folder.iterdir() if "tmp" in p.name], [])


def test_results_are_printed_even_if_the_model_cannot_be_saved(folder):
    """The disk fills up during the run: all but the model is there in the end."""
    second = ("  test_read: {kind: reader, source: {npy: {x: \"${data}/x.npy\"}}}\n"
              "  test_batch: {kind: batcher, size: 50}\n  test: {kind: feeder, after: feed}\n")
    path = graph(folder)
    path.write_text(path.read_text().replace("links:\n", second + "links:\n"
                                             "  - test_read -> test_batch -> test\n"))
    report, saved = folder / "r.json", folder / "no_room" / "model"
    saved.parent.mkdir()
    whole = run("run", path, "--json", env=PLUGINS)
    same(whole[0], 0, whole[2])
    code, out, err = run("run", path, "--json", "--save", saved, "--report", report,
                         env={**PLUGINS, "PROBE_SAVE_FAILS_IN": str(saved.parent)})
    same(code, 1, err)
    holds(err, "could not save its model", str(saved))
    for told in (json.loads(out), json.loads(report.read_text())):
        for key in ("steps", "stream_digest", "model_digest", "results"):
            same(told[key], json.loads(whole[1])[key], key)
    same(list(saved.parent.iterdir()), [])


def test_a_full_disk_is_found_before_the_start(folder):
    mount = folder / "full"
    mount.mkdir()
    path = graph(folder)
    words = ("unshare", "-m", "sh", "-c", f"mount -t tmpfs -o size=8k none {mount} && "
             f"head -c 8192 /dev/zero >{mount}/all; exec \"$@\"", "sh")
    if subprocess.run([*words, "true"], stderr=subprocess.DEVNULL).returncode != 0:
        print("skipped: no file system can be mounted here")
        return
    for option in ("--save", "--report", "--metrics"):
        done = subprocess.run([*words, TUNDISH, "run", path, option, mount / "file"], text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=60,
                              env={**os.environ, **PLUGINS})
        same((done.returncode, done.stdout), (2, ""), option)
        holds(done.stderr, f"{mount}/file: cannot be written: No space left on device")


def umask():
    mask = os.umask(0)
    os.umask(mask)
    return mask


def test_a_model_that_cannot_be_saved_is_refused_before_the_start(folder):
    (folder / "in_the_way").mkdir()
    for place, why in ((folder / "no" / "file", "cannot be written"),
                       (folder / "in_the_way", "it is not a regular file"),
                       ("/dev/null", "it is not a regular file")):
        code, out, err = run("run", graph(folder), "--save", place, env=PLUGINS)
        same((code, out), (2, ""))
        holds(err, str(place), why)
    code, out, err = run("run", graph(folder, step=None), "--save", folder / "model")
    same((code, out), (2, ""))
    holds(err, "no step of this graph has a model")


def test_up_saves_on_the_host_that_has_the_model(folder):
    path, over = graph(folder), hosts(folder)
    code, out, err = run("up", path, over, "--save", folder / "model", "--quiet", env=PLUGINS)
    same((code, err, (folder / "model").read_text()), (0, "", "a model"))
    code, out, err = run("run", path, over, "--host", "a", "--save", folder / "model", env=PLUGINS)
    same(code, 2)
    holds(err, "--save is for host 'b'")


def test_without_a_step_it_says_how_fast_the_pipeline_is(folder):
    code, out, err = run("run", graph(folder, step=None))
    same((code, err), (0, ""))
    assert re.search(r"done: 4 steps, 100 rows, 1 epoch in [0-9.]+ s \([0-9,]+ rows/s, "
                     r"[0-9.]+ MB/s\)", out), out
    told = json.loads(run("run", graph(folder, step=None), "--json")[1])
    # A row is three f4 and an i8.
    assert abs(told["bytes_per_second"] - 20 * told["rows_per_second"]) <= 2, told
    assert told["rows_per_second"] > 0 and told["model_digest"] is None
    assert "MB/s" not in run("run", graph(folder), env=PLUGINS)[1]


def test_the_times_of_each_actor_add_up(folder):
    told = json.loads(run("run", graph(folder), "--json", env=PLUGINS)[1])
    for actor in told["actors"]:
        same(set(actor["times"]), {"cpu", "wait_in", "wait_credit", "wait_order", "wait_step",
                                   "wait_reduce", "wait_io", "run_queue", "other"})
        assert min(actor["times"].values()) >= 0, actor
        # An actor lives at least as long as rows were fed.
        assert sum(actor["times"].values()) >= told["seconds"], (actor, told["seconds"])
        assert sum(actor["times"].values()) < told["seconds"] + 30, actor


def test_a_report_never_replaces_a_file_that_is_not_regular(folder):
    path, pipe, link = graph(folder), folder / "pipe", folder / "link"
    os.mkfifo(pipe)
    started = Started("run", path, "--quiet", "--report", pipe)
    told = json.loads(pipe.read_text())
    same((started.end(), set(told)), (0, KEYS), started.text)
    assert pipe.is_fifo()
    link.symlink_to(folder / "r.json")
    same(run("run", path, "--quiet", "--report", link, env=PLUGINS), (0, "", ""))
    assert link.is_symlink()
    same(set(json.loads((folder / "r.json").read_text())), KEYS)


def test_a_leader_that_leaves_alone_does_not_say_that_all_came(folder):
    started = Started("run", graph(folder), hosts(folder), "--host", "a")
    started.until("waiting for b")
    started.process.send_signal(signal.SIGINT)
    same(started.end(), 130)
    assert "all hosts" not in started.text, started.text


def test_hosts_are_named_when_none_is_given(folder):
    code, _, err = run("run", graph(folder), hosts(folder))
    same(code, 2)
    holds(err, "2 hosts (a, b)", "--host", "tundish up")
    code, _, err = run("run", graph(folder), hosts(folder), "--host", "aa")
    same(code, 2)
    holds(err, "no host is named 'aa'")


def test_up_and_isolated_actors_run_with_every_setting(folder):
    settings = ("--set", "batch.size=50", "--set", "read.epochs=2", "--report", folder / "r.json")
    path = graph(folder)
    for words in (("up", path, hosts(folder)), ("run", path, "--set", "read.isolate=process")):
        code, out, err = run(*words, *settings, env=PLUGINS)
        same(code, 0, out + err)
        told = json.loads((folder / "r.json").read_text())
        same((told["steps"], told["rows"]["fed"]), (4, 200))


def test_the_report_is_the_leaders(folder):
    code, _, err = run("run", graph(folder), hosts(folder), "--host", "b", "--report",
                       folder / "r.json")
    same(code, 2)
    holds(err, "--report is only for the first host, 'a'")


def test_a_missing_data_file_is_known_when_it_is_opened(folder):
    path = graph(folder)
    (folder / "y.npy").unlink()
    code, _, err = run("run", path, "--report", folder / "r.json", env=PLUGINS)
    same(code, 78)
    holds(err, str(folder / "y.npy"))
    assert not (folder / "r.json").exists()


def test_metrics_on_a_full_disk_end_with_a_whole_line_and_the_run_continues(folder):
    room = 64 << 10
    metrics, report = folder / "m.jsonl", folder / "r.json"
    # No file may be larger, which a write is told as it is of a disk that is full.  Many steps follow.
    done = subprocess.run([TUNDISH, "run", graph(folder, read=", epochs: 20000"), "--quiet", "--metrics",
                           metrics, "--report", report], stderr=subprocess.PIPE, text=True,
                          env={**os.environ, **PLUGINS}, restore_signals=False, timeout=60,
                          preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (room, room)))
    same(done.returncode, 1, done.stderr)
    holds(done.stderr, f"{metrics}: cannot be written: File too large; the run continues",
          f"{metrics}: could not be written completely: File too large")
    steps = [json.loads(line)["step"] for line in metrics.read_text().splitlines()]
    same(steps, list(range(len(steps))))
    assert 0 < len(steps) < json.loads(report.read_text())["steps"] == 80000, len(steps)


def started_with(folder, *words, **more):
    """A run of 40,000 steps with a report, whose metrics take 1.8 MB."""
    folder.mkdir()
    return subprocess.Popen([TUNDISH, "run", graph(folder, read=", epochs: 10000"), "--report",
                             folder / "r.json", *map(str, words)], text=True,
                            env={**os.environ, **PLUGINS}, **more)


def test_what_is_not_read_does_not_stop_a_run(folder):
    # A FIFO that no process opens, and a stderr that is full: each run waits 5 s for its reader.
    never, full = folder / "never", folder / "full"
    os.mkfifo(never)
    ours, theirs = os.pipe()
    os.set_blocking(theirs, False)
    with contextlib.suppress(BlockingIOError):
        while True:
            os.write(theirs, bytes(4096))
    os.set_blocking(theirs, True)
    unopened = started_with(folder / "a", "--quiet", "--metrics", never, "--steps", 400,
                            stderr=subprocess.PIPE)
    blocked = started_with(full, "--log-level", "debug", "--steps", 400, stderr=theirs, stdout=theirs)
    same(unopened.wait(60), 0)
    err = unopened.stderr.read()
    same(err, f"tundish run: {never}: 400 lines were dropped: it was not read in time\n")
    same(blocked.wait(60), 0)
    for name in ("a", "full"):
        same(json.loads((folder / name / "r.json").read_text())["steps"], 400)
    os.close(ours)
    os.close(theirs)


def test_a_fifo_that_is_read_too_slowly_has_whole_lines_and_one_read_late_has_all(folder):
    slow, late = folder / "slow", folder / "late"
    os.mkfifo(slow)
    os.mkfifo(late)
    held = os.open(slow, os.O_RDONLY | os.O_NONBLOCK)
    run_slow = started_with(folder / "a", "--quiet", "--metrics", slow, stderr=subprocess.PIPE)
    run_late = started_with(folder / "b", "--metrics", late, "--steps", 4000, stdout=subprocess.PIPE)
    while not (line := run_late.stdout.readline()).startswith("done: "):
        assert line, "it ended"
    steps = [json.loads(line)["step"] for line in late.read_text().splitlines()]
    same((run_late.wait(60), steps), (0, list(range(4000))))
    # The run is over, and only what its pipe holds can be read.
    same(run_slow.wait(60), 0)
    lines = os.read(held, 1 << 20).decode().splitlines(keepends=True)
    os.close(held)
    steps = [json.loads(line)["step"] for line in lines if line.endswith("\n")]
    same(steps, list(range(len(steps))))
    holds(run_slow.stderr.read(), f"{slow}: ", "lines were dropped: it was not read in time")


def test_a_step_that_fails_ends_the_run_with_its_text(folder):
    code, _, err = run("run", graph(folder, step=", fail_at: 2"), "--report", folder / "r.json",
                       env=PLUGINS)
    same(code, 1)
    holds(err, "the probe fails as it was told", "feed")
    same([p.name for p in folder.iterdir() if p.name.startswith("r.json")], [])


def test_a_step_that_crashes_is_named(folder):
    code, _, err = run("run", graph(folder, step=", crash_at: 2"), env=PLUGINS)
    same(code, -signal.SIGSEGV)
    holds(err, "SIGSEGV", "feeder `feed` at step 2, replica 0")


def test_a_crash_names_replica_and_the_last_committed_step(folder):
    # The first chain is over, with step 3, when the second one crashes; its second replica is first.
    path = topology(folder, name="two.yaml", batch="size: 32",
                    actors=FEED % ", step: {plugin: probe, crash_evaluate: 1}" +
                    "  again: {kind: reader, source: {npy: {y: \"${data}/y.npy\"}}}\n"
                    "  rows: {kind: batcher, size: 50}\n  test: {kind: feeder, after: feed}\n",
                    links=FED + ["again -> rows -> test"])
    arrays(folder)
    code, _, err = run("run", path, env=PLUGINS)
    same(code, -signal.SIGSEGV, err)
    holds(err, "feeder `test` at step 0, replica 0",
          "; the last committed cursor is that of step 3\n")
    path = graph(folder, step=", crash_at: 1", batch="size: 32, replicas: 3")
    path.write_text(path.read_text().replace("kind: feeder", "kind: feeder, devices: [\"cpu:0\"]"))
    code, _, err = run("run", path, env={**PLUGINS, "PROBE_REPLICA": "2"})
    same(code, -signal.SIGSEGV, err)
    holds(err, "feeder `feed` at step 1, replica 2 (thread feed cpu:0)")


def test_a_failed_run_names_its_checkpoint(folder):
    kept = folder / "kept"
    keep = ("--set", f"checkpoint.dir={kept}", "--set", "checkpoint.every=100 steps")
    path = graph(folder, step=", fail_at: 5", read=", epochs: 3")
    code, out, err = run("run", path, *keep, "--steps", "4", env=PLUGINS)
    same((code, [p.name for p in kept.glob("step-*")]), (0, ["step-00000004"]), err)
    code, out, err = run("run", path, *keep, "--resume", "--log-level", "info", env=PLUGINS)
    same(code, 1)
    holds(err, "the probe fails as it was told", "; --resume continues after step 3, the last checkpoint\n",
          f"checkpoint info resumes after step 3, from {kept}")
    other = folder / "other"
    code, out, err = run("run", path, "--set", f"checkpoint.dir={other}", "--steps", "3", "--log-level",
                         "info", env=PLUGINS)
    same((code, [p.name for p in other.glob("step-*")]), (0, ["step-00000003"]), err)
    holds(err, f"checkpoint info checkpoint after step 2 in {other}")


def test_a_resumed_run_counts_its_own_rows_alone(folder):
    """9 million rows, of which the second run feeds 100,000: counted all, they would be too fast."""
    numpy.save(folder / "n.npy", numpy.zeros(100000, "u1"))
    path = topology(folder, columns="n", read=", epochs: 91", batch="size: 100000", actors=FEED % "",
                    links=FED)
    keep = ("--set", f"checkpoint.dir={folder / 'kept'}", "--set", "checkpoint.every=1000 steps")
    same(run("run", path, *keep, "--steps", "90")[0], 0)
    code, out, err = run("run", path, *keep, "--resume", "--report", folder / "r.json")
    same(code, 0, err)
    told = json.loads((folder / "r.json").read_text())
    rate, seconds = told["rows_per_second"], told["seconds"]
    same((told["rows"]["fed"], told["steps"]), (9100000, 91))
    holds(out, "done: 91 steps, 9,100,000 rows, 91 epochs in ",
          "of these, 90 steps before this run, which resumed after them")
    # Both are rounded, the one to a tenth and the other not at all.
    assert abs(rate * seconds - 100000) < 1, (rate, seconds)
    said = float(re.search(r"\(([\d,]+) rows/s", out).group(1).replace(",", ""))
    assert abs(said * seconds - 100000) < seconds + 1, (said, seconds, out)


def test_another_graph_is_refused_with_the_value_that_differs(folder):
    """Whatever characters the value has."""
    for name in ("a; b, {c}", "a; b, {d}"):
        numpy.save(folder / f"{name}.npy", numpy.arange(100))
    path = topology(folder, columns="n", actors=FEED % "", links=FED)
    path.write_text(path.read_text().replace("/n.npy", "/a; b, {c}.npy"))
    keep = ("--set", f"checkpoint.dir={folder / 'kept'}", "--set", "checkpoint.every=100 steps")
    same(run("run", path, *keep, "--steps", "2")[0], 0)
    manifest, = (folder / "kept").glob("step-*/manifest")
    line, = (line for line in manifest.read_text().splitlines() if line.startswith("graph read: "))
    holds(line, '"n": ["${data}/a; b, {c}.npy"]')
    code, _, err = run("run", path, *keep, "--resume", "--set", "batch.size=16")
    same(code, 78)
    holds(err, "belongs to another graph: batch: `size: 16` was `size: 32`\n")
    path.write_text(path.read_text().replace("{c}", "{d}"))
    code, _, err = run("run", path, *keep, "--resume")
    same(code, 78)
    holds(err, "belongs to another graph: read: `\"n\": [\"${data}/a; b, {d}.npy\"]` was "
          "`\"n\": [\"${data}/a; b, {c}.npy\"]`\n")


def test_an_operation_that_crashes_is_named_without_a_step(folder):
    numpy.save(folder / "n.npy", numpy.arange(100, dtype="u8"))
    path = topology(folder, columns="n", links=["read -> prep -> batch -> feed"],
                    actors="  prep: {kind: preprocessor, ops: [{plugin: fatal, kill: 50}]}\n" + FEED % "")
    code, _, err = run("run", path, env=PLUGINS)
    same(code, -signal.SIGSEGV)
    holds(err, "SIGSEGV in preprocessor `prep.0` (thread prep.0)")


def test_a_step_that_hangs_in_one_process_is_named(folder):
    # Threads around a hook that hangs are left to the exit.
    env = {**PLUGINS,
           "TSAN_OPTIONS": os.environ.get("TSAN_OPTIONS", "") + " report_thread_leaks=0"}
    code, _, err = run("run", graph(folder, step=", hang_at: 2"), "--set", "hung_after=500ms",
                       env=env)
    same(code, 1)
    holds(err, "feed: the step of replica 0 hangs: step 2 takes longer than 500 ms")


def test_the_resumed_checkpoint_exists_and_is_named(folder):
    path = graph(folder, step=None)
    code, _, err = run("run", path, "--resume", env=PLUGINS)
    same(code, 2)
    holds(err, "has no checkpoint folder")
    code, _, err = run("run", path, "--resume", folder / "nope", env=PLUGINS)
    same(code, 78, err)
    holds(err, "no checkpoint at ", "nope")
    assert not (folder / "nope").exists()
    kept = folder / "kept"
    keep = ("--set", f"checkpoint.dir={kept}")
    code, _, err = run("run", path, *keep, "--resume", "--steps", "2", env=PLUGINS)
    same(code, 0, err)
    holds(err, "no checkpoint in ", "begins at the start")
    code, out, err = run("run", path, "--resume", kept, env=PLUGINS)
    same((code, (kept / "step-00000004").exists()), (0, True), err)
    assert "18446" not in out, out
    code, out, _ = run("run", path, "--resume", kept / "step-00000004", env=PLUGINS)
    same(code, 0)
    holds(out, "done already: the checkpoint has 4 steps, 100 rows, which is the whole run")
    code, out, _ = run("run", path, "--resume", kept, "--steps", "3", env=PLUGINS)
    holds(out, "--steps limits the run to 3")


def test_results_say_how_many_rows_of_their_epoch_they_are_over(folder):
    code, out, err = run("run", graph(folder, read=", epochs: 2"), env=PLUGINS)
    same(code, 0, err)
    holds(out, "200 rows, 2 epochs", "feed:  size 25.0000  (100 rows)")


def test_a_step_that_ends_the_process_is_named(folder):
    code, _, err = run("run", graph(folder, step=", exit_at: 2"), env=PLUGINS)
    same(code, 1)
    holds(err, "exit(3) was called in the middle of a run in feeder `feed` at step 2, replica 0")


def test_a_metric_of_any_name_is_written_as_json(folder):
    code, _, err = run("run", graph(folder), "--metrics", folder / "m.jsonl", "--report",
                       folder / "r.json", env={**PLUGINS, "PROBE_METRIC": "perte g\udce9n\udce9rale \u20ac"})
    same(code, 0, err)
    for name in ("m.jsonl", "r.json"):
        for line in (folder / name).read_text(encoding="utf-8").splitlines()[:1]:
            assert name == "r.json" or "perte_g_n_rale_\u20ac" in json.loads(line), line
    same(json.loads((folder / "r.json").read_text(encoding="utf-8"))["steps"], 4)


def test_a_plugin_that_is_not_there_is_named(folder):
    path = graph(folder)
    path.write_text(path.read_text().replace("plugin: probe", "plugin: nowhere"))
    code, _, err = run("run", path, env=PLUGINS)
    assert code in (1, 78), code
    holds(err, "nowhere")


def test_a_port_in_use_is_an_error(folder):
    over = hosts(folder)
    port = int(re.search(r"port: (\d+)", over.read_text()).group(1))
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", port))
        taken.listen()
        code, _, err = run("run", graph(folder), over, "--host", "a", env=PLUGINS)
    same(code, 1)
    holds(err, str(port))


def test_a_host_that_never_comes_is_named(folder):
    code, out, err = run("run", graph(folder), hosts(folder, start_timeout="1s"), "--host", "a",
                         env=PLUGINS)
    same(code, 75)
    holds(out, "waiting for b")
    holds(err, "b did not answer")


def test_a_host_without_its_leader_says_whom_it_waits_for(folder):
    over = hosts(folder, start_timeout="2500ms")
    port = re.search(r"port: (\d+)", over.read_text()).group(1)
    code, _, err = run("run", graph(folder), over, "--host", "b", env=PLUGINS)
    same(code, 75)
    holds(err, f"host b waits for the start, by host a at tcp://127.0.0.1:{port}")


def test_one_signal_drains_and_the_report_is_written(folder):
    started = Started("run", graph(folder, read=", epochs: forever"), "--report", folder / "r.json")
    started.until("epoch")
    started.process.send_signal(signal.SIGINT)
    same(started.end(), 130, started.text)
    holds(started.text, "draining", "drained: ")
    told = json.loads((folder / "r.json").read_text())
    same(told["rows"]["fed"], told["rows"]["read"])
    same(told["steps"] % 4 == 0, told["rows"]["fed"] % 100 == 0)


def test_a_run_that_is_done_is_done_whatever_signal_comes(folder):
    # It ends, and cannot write its last lines until the pipe is read.
    mine, theirs = os.pipe()
    os.set_blocking(theirs, False)
    with contextlib.suppress(BlockingIOError):
        while True:
            os.write(theirs, bytes(4096))
    os.set_blocking(theirs, True)
    report = folder / "r.json"
    process = subprocess.Popen([TUNDISH, "run", graph(folder), "--json", "--report", report],
                               stdout=theirs, env={**os.environ, **PLUGINS})
    os.close(theirs)
    try:
        end = time.monotonic() + 30
        while not report.exists() and time.monotonic() < end:
            time.sleep(0.01)
        process.send_signal(signal.SIGTERM)
        with os.fdopen(mine, "rb") as words:
            told = words.read().lstrip(bytes(1))
        same(process.wait(30), 0)
        same(json.loads(told)["steps"], 4)
    finally:
        process.kill()


def test_a_second_signal_leaves(folder):
    started = Started("run", graph(folder, read=", epochs: forever"), "--report", folder / "r.json")
    started.until("epoch")
    started.process.send_signal(signal.SIGTERM)
    started.process.send_signal(signal.SIGINT)
    same(started.end(), 130, started.text)


def test_signals_leave_a_step_that_never_returns(folder):
    # Runs are selected by name, and this name is unique.
    top = f"name: hang{os.getpid()}\n"
    started = Started("run", graph(folder, step=", hang_at: 6", read=", epochs: forever", top=top),
                      "--report", folder / "r.json")
    started.until("epoch")
    for number, said in ((signal.SIGINT, "draining"), (signal.SIGTERM, "leaving")):
        started.process.send_signal(number)
        started.until(said)
        if said == "draining":
            started.until("feed waits for replica 0 (cpu:0), whose step 6")
    left = time.monotonic()
    same(started.end(), 130, started.text)
    # Asked once it would wait for ten seconds; a sanitizer makes everything slow.
    assert time.monotonic() - left < 5, "it waited for the step"
    same(started.text.count("draining"), 1, started.text)
    assert not list(folder.glob("r.json*")), "half a report"


def test_signals_leave_hosts_whose_step_never_returns(folder):
    started = Started("up", graph(folder, step=", hang_at: 6", read=", epochs: forever"), hosts(folder))
    started.until("epoch")
    for number, said in ((signal.SIGINT, "draining"), (signal.SIGINT, "leaving")):
        started.process.send_signal(number)
        started.until(said)
    left = time.monotonic()
    same(started.end(), 130, started.text)
    assert time.monotonic() - left < 5, "it waited for the step"
    assert "killed" not in started.text, started.text


def test_a_file_without_rows_is_named(folder):
    path = graph(folder)
    numpy.save(folder / "x.npy", numpy.zeros((0, 3), "f4"))
    code, _, err = run("run", path, env=PLUGINS)
    same(code, 78)
    holds(err, str(folder / "x.npy"), "has no elements")


def test_a_label_that_is_not_a_class_is_named(folder):
    numpy.save(folder / "image.npy", numpy.zeros((40, 784), "u1"))
    numpy.save(folder / "label.npy", numpy.array([i % 10 for i in range(17)] + [12] + [0] * 22, "u1"))
    scale = "{scale: {column: image, to: f32, range: [0, 1]}}"
    path = topology(folder, columns="image label", batch="size: 8, replicas: 2",
                    actors=f"  prep: {{kind: preprocessor, ops: [{scale}]}}\n" + FEED %
                    ", step: {plugin: mlp}" + "  mean: {kind: reducer}\n",
                    links=["read -> prep -> batch -> feed <-> mean"])
    code, _, err = run("run", path)
    same(code, 1, err)
    holds(err, "step 2", "replica 0", "row 1 of the replica has label 12")


def test_on_a_terminal_one_line_is_drawn_again(folder):
    path = graph(folder, read=", epochs: forever")
    for no_colour in (False, True):
        pid, screen = pty.fork()
        if pid == 0:
            env = {**os.environ, **PLUGINS, "TERM": "xterm", "LC_ALL": "C.UTF-8"}
            env.pop("NO_COLOR", None)
            if no_colour:
                env["NO_COLOR"] = "1"
            os.execve(TUNDISH, [TUNDISH, "run", str(path), "--set", "read.epochs=20000"], env)
        fcntl.ioctl(screen, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 120, 0, 0))
        text = b""
        while text.count(b"\r\x1b[K") < 5 and len(text) < 100000:
            text += os.read(screen, 4096)
        os.write(screen, b"\x03")
        try:
            while True:
                got = os.read(screen, 4096)
                if not got:
                    break
                text += got
        except OSError:
            pass
        status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
        same(status, 130, text[-500:])
        holds(text.decode(errors="replace"), "rows/s", "left", "drained: ")
        same(b"\x1b[36m" in text, not no_colour)


def test_up_runs_every_host_and_names_the_host_of_each_line(folder):
    code, out, err = run("up", graph(folder), hosts(folder), "--report", folder / "r.json",
                         env=PLUGINS)
    same((code, err), (0, ""))
    holds(out, "a | done: 4 steps, 100 rows")
    one = json.loads(run("run", graph(folder), "--json", env=PLUGINS)[1])
    told = json.loads((folder / "r.json").read_text())
    for key in ("stream_digest", "model_digest", "rows", "steps", "results", "fingerprint"):
        same(told[key], one[key], key)
    same(sorted({actor["host"] for actor in told["actors"]}), ["a", "b"])


def test_up_ends_as_the_host_that_failed(folder):
    code, _, err = run("up", graph(folder, step=", crash_at: 2"), hosts(folder), env=PLUGINS)
    same(code, 128 + signal.SIGSEGV)
    holds(err, "host b was killed by signal 11", "b | ", "SIGSEGV")


def test_up_starts_nothing_when_something_is_missing(folder):
    path = graph(folder)
    (folder / "y.npy").unlink()
    path.write_text(path.read_text().replace("plugin: probe", "plugin: nosuch"))
    code, out, err = run("up", path, hosts(folder))
    same((code, out), (78, ""))
    holds(err, "error[T061]: read: ", "y.npy", "error[T063]: feed: ", "nosuch.so", "2 errors")
    assert "a | " not in err and "b | " not in err, err


def test_up_says_once_why_a_run_failed_and_does_not_wait(folder):
    path = graph(folder)
    numpy.save(folder / "y.npy", numpy.zeros(99, "i8"))
    began = time.monotonic()
    code, out, err = run("up", path, hosts(folder), env=PLUGINS)
    assert time.monotonic() - began < 4, "it waited"
    # On a busy machine b comes late enough to be waited for.
    same((code, out.replace("a | waiting for b\n", "")), (78, ""))
    same(err.count("has 99 rows"), 1, err)
    holds(err, "a | ", "host a ended with 78")
    for unwanted in ("draining", "host b"):
        assert unwanted not in err, err


def test_a_host_is_one_process(folder):
    path, over = graph(folder, read=", epochs: forever"), hosts(folder)
    a, b = (Started("run", path, over, "--host", host) for host in "ab")
    a.until("epoch")
    code, _, err = run("run", path, over, "--host", "b", env=PLUGINS)
    same(code, 75)
    holds(err, "host b of this run is already running here", f"process {b.process.pid}")
    code, _, err = run("run", path, over, "--host", "a", env=PLUGINS)
    same(code, 75)
    holds(err, "host a of this run is already running here", f"process {a.process.pid}")
    code, out, err = run("up", path, over, env=PLUGINS)
    same((code, out, err.count("\n")), (75, "", 1), err)
    holds(err, "host a of this run is already running here", f"process {a.process.pid}")
    a.process.send_signal(signal.SIGINT)
    same((a.end(), b.end()), (130, 130), a.text + b.text)


def test_a_host_that_was_just_killed_may_be_started_again(folder):
    path, over = graph(folder, read=", epochs: forever"), hosts(folder)
    first = Started("run", path, over, "--host", "a")
    first.until("waiting for b")
    threading.Timer(0.5, first.process.kill).start()  # its end takes as long as that
    again = Started("run", path, over, "--host", "a")
    again.until("waiting for b")
    again.process.send_signal(signal.SIGINT)
    same(again.end(), 130, again.text)


def test_a_drain_before_the_first_step_is_reported(folder):
    started = Started("run", graph(folder), hosts(folder), "--host", "a")
    started.until("waiting for b")
    started.process.send_signal(signal.SIGINT)
    same(started.end(), 130)
    holds(started.text, "drained before the first step")
    assert "stream" not in started.text, started.text


def test_a_killed_run_leaves_no_half_report(folder):
    started = Started("run", graph(folder, read=", epochs: forever"), "--report", folder / "r.json")
    started.until("epoch")
    started.process.kill()
    started.end()
    same([path.name for path in folder.iterdir() if "r.json" in path.name], [])


def test_up_drains_all_hosts(folder):
    started = Started("up", graph(folder, read=", epochs: forever"), hosts(folder))
    started.until("epoch")
    started.process.send_signal(signal.SIGINT)
    same(started.end(), 130, started.text)
    holds(started.text, "a | drained: ")
    same(started.text.count("draining"), 1, started.text)


@contextlib.contextmanager
def a_worker_that_sleeps_through_the_end(folder):
    """A run by `up` that is done while host c, which has only a worker, is stopped; c's process."""
    arrays(folder)
    path = topology(folder, read=", epochs: 6000", links=["read -> prep -> batch -> feed"],
                    actors="  prep: {kind: preprocessor}\n" + FEED % "")
    overlay = folder / "two.yaml"
    overlay.write_text(f"port: {free_port()}\ndead_after: 500ms\nhosts:\n"
                       "  a: {actors: [read, batch, feed]}\n  b: {actors: [prep]}\n"
                       "  c: {actors: [prep]}\n")
    started = Started("up", path, overlay)
    started.until("a | epoch")
    found = subprocess.run(["pgrep", "-P", str(started.process.pid), "-f", "host.c( |$)"],
                           capture_output=True, text=True).stdout.split()
    same(len(found), 1)
    os.kill(int(found[0]), signal.SIGSTOP)
    try:
        started.until("done: ")
        started.until("stream ")
        end = time.monotonic() + 10
        while len(children(started.process.pid)) > 1 and time.monotonic() < end:
            time.sleep(0.01)
        yield started, int(found[0])
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.kill(int(found[0]), signal.SIGCONT)


def test_a_worker_that_is_stopped_while_the_run_ends_does_not_fail_it(folder):
    with a_worker_that_sleeps_through_the_end(folder) as (started, worker):
        os.kill(worker, signal.SIGCONT)
        same(started.end(), 0, started.text)


def test_a_worker_that_is_killed_after_the_run_ended_does_not_fail_it(folder):
    with a_worker_that_sleeps_through_the_end(folder) as (started, worker):
        os.kill(worker, signal.SIGKILL)
        same(started.end(), 0, started.text)
    holds(started.text, "host c was killed by signal 9 (Killed) after the run had ended")
    # Before the end its leader may have missed it; after the end it is not started again.
    after = started.text[started.text.index("done: "):]
    assert "started again" not in after, after


def test_up_drains_hosts_that_have_only_just_begun(folder):
    started = Started("up", graph(folder, read=", epochs: forever"), hosts(folder))
    while not children(started.process.pid):
        pass
    started.process.send_signal(signal.SIGTERM)
    same(started.end(), 130, started.text)
    assert "killed" not in started.text, started.text


def test_up_refuses_what_is_elsewhere(folder):
    over = folder / "far.yaml"
    over.write_text("port: 7100\ninsecure: true\nhosts:\n"
                    "  a: {address: 192.0.2.7, actors: [read, batch, feed]}\n")
    code, _, err = run("up", graph(folder), over)
    same(code, 2)
    holds(err, "no host of this graph has an address of this machine")


main(globals())
