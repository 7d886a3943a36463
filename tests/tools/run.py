#!/usr/bin/env python3
"""`tundish run`: what it writes."""
import contextlib
import fcntl
import json
import os
import pty
import re
import resource
import shutil
import signal
import struct
import subprocess
import termios

import numpy

from command import FED, FEED, TUNDISH, arrays, holds, main, run, same, topology
import json_schema
from ps import SCHEMA, looks
from runs import PLUGINS, graph, Started

KEYS = {"rows", "rows_per_second", "bytes_per_second", "steps", "epochs", "stream_digest", "model_digest", "reproducible", "seconds", "actors", "results", "best", "partial_results", "labels",
        "chains", "bad", "versions", "seed", "fingerprint", "look", "history", "ended",
        "checkpoints_failed", "checkpoint_failure"}


def test_the_report_says_what_was_done(folder):
    # The model is hashed without a file.
    code, out, err = run("run", graph(folder, read=", epochs: 2"), "--report", folder / "r.json",
                         "--metrics", folder / "m.jsonl", env={**PLUGINS, "TMPDIR": "/nowhere"})
    same((code, err), (0, ""))
    holds(out, "done: 8 steps, 200 rows, 2 epochs")
    told = json.loads((folder / "r.json").read_text())
    same(set(told), KEYS)
    same(told["rows"], {"read": 200, "added": 0, "fed": 200, "filtered": 0, "bad": 0,
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
    # The run as it was when it ended.
    json_schema.check(told["look"], SCHEMA)
    same([(edge["from"], edge["to"], edge["received"]["rows"]) for edge in told["look"]["runs"][0]["edges"]],
         [("read.0", "batch.0", 200), ("batch.0", "feed", 200)])
    same([p.name for p in folder.iterdir() if "tmp" in p.name], [])


def test_three_reasons_of_bad_rows_are_three_lines_each_with_a_file(folder):
    (folder / "rows.csv").write_text("".join(f"{i},{i}\n" for i in range(30)) + "1\none,1\n1,one\n")
    (folder / "g.yaml").write_text(
        "tundish: 1\nseed: 7\nactors:\n  read: {kind: reader, source: {csv: {files: rows.csv}}, epochs: 2}\n"
        "  prep: {kind: preprocessor, on_error: skip, ops: [{decode_csv: {fields: {x: string, y: string}}},\n"
        "         {to_number: {column: x, to: i32}}, {to_number: {column: y, to: i32}}]}\n"
        "  batch: {kind: batcher, size: 5}\n  feed: {kind: feeder}\nlinks:\n  - read -> prep -> batch -> feed\n")
    code, out, err = run("run", folder / "g.yaml", "--report", folder / "r.json", cwd=folder)
    same(code, 0, err)
    holds(out, "rows: 66 read, 0 filtered, 6 bad, 0 dropped")
    told = json.loads((folder / "r.json").read_text())
    for number in (1, 2, 3):
        place = rf"record {29 + number} of (.*/)?rows.csv, at byte \d+"
        assert re.search(rf"^bad: 2 by prep, operation {number}, `\w+`, such as {place}: ", out, re.M), out
        reason, = [one for one in told["bad"] if f"operation {number}," in one["found_by"]]
        assert reason["count"] == 2 and re.fullmatch(place, reason["place"]), told["bad"]
    kept = told["look"]["runs"][0]["bad"]
    same((kept["count"], sorted(one["count"] for one in kept["first"]), len(kept["newest"])), (6, [2, 2, 2], 6))


def bad_rows(folder, lines, more="", top="", operations="", read=""):
    """A graph whose rows are numbers as text; what is not a number is bad."""
    (folder / "rows.csv").write_text("".join(f"{line}\n" for line in lines))
    path = folder / "g.yaml"
    path.write_text(
        f"tundish: 1\nname: badrows\n{top}actors:\n  read: {{kind: reader, source: {{csv: {{files: rows.csv}}}}{read}}}\n"
        "  prep: {kind: preprocessor, on_error: skip, ops: [{decode_csv: {fields: {x: string}}}, "
        f"{{to_number: {{column: x, to: i32}}}}{operations}]}}\n"
        f"  batch: {{kind: batcher, size: 4{more}}}\n  feed: {{kind: feeder}}\nlinks:\n  - read -> prep -> batch -> feed\n")
    return path


def test_a_run_without_a_good_row_has_failed(folder):
    code, out, err = run("run", bad_rows(folder, ["one", "two"]), "--report", folder / "r.json", cwd=folder)
    same((code, out), (1, ""), err)
    holds(err, "tundish run: feed: no step was fed: of 2 rows read 0 were filtered out, 2 bad and 0 dropped; 2 by prep, "
          "operation 2, `to_number`, such as: ")
    told = json.loads((folder / "r.json").read_text())
    same((told["ended"]["outcome"], told["rows"]["read"], told["rows"]["bad"]), ("failed", 2, 2))
    # One row is left out by a filter, and no other is good.
    none = ", {filter: {column: x, op: gt, value: 1000}}"
    same(run("run", bad_rows(folder, ["1", "two"], operations=none), cwd=folder)[0], 1)
    # What a filter or `remainder` leaves out is not bad.
    for path in (bad_rows(folder, ["1", "2"], operations=none),
                 bad_rows(folder, ["1", "2", "three"], more=", remainder: drop")):
        code, out, err = run("run", path, cwd=folder)
        same(code, 0, err)
        holds(out, "warning: no step was fed")
    same(run("run", bad_rows(folder, ["one", "2"]), cwd=folder)[0], 0)


def test_a_second_run_does_not_write_to_the_metrics_of_another(folder):
    metrics = folder / "m.jsonl"
    endless = graph(folder, step=None, read=", epochs: forever")
    other, later = folder / "later.jsonl", graph(folder, step=None, name="later.yaml", read=", epochs: forever")
    first = Started("run", endless, "--metrics", metrics)
    first.until("epoch")
    code, out, err = run("run", endless, "--steps", "3", "--metrics", metrics)
    same((code, out), (2, ""))
    holds(err, f"{metrics}: cannot be written: process {first.process.pid} writes it: end that run first, or give this one "
          "another file")
    words = f"{metrics}: cannot be written: process {first.process.pid} writes it"
    code, out, err = run("run", endless, "--steps", "3", "--report", metrics)
    same((code, out), (2, ""))
    holds(err, words)
    # A report that began earlier does not replace the file either.
    early = Started("run", later, "--report", other)
    early.until("epoch")
    second = Started("run", endless, "--metrics", other)
    second.until("epoch")
    early.process.send_signal(signal.SIGINT)
    same(early.end(), 1)
    holds(early.text, f"{other}: cannot be written: process {second.process.pid} writes it")
    second.process.send_signal(signal.SIGINT)
    same(second.end(), 130)
    same([json.loads(line)["step"] for line in other.read_text().splitlines()][:3], [0, 1, 2])
    first.process.send_signal(signal.SIGINT)
    same(first.end(), 130)
    steps = [json.loads(line)["step"] for line in metrics.read_text().splitlines()]
    same(steps, list(range(len(steps))))
    # The file of a run that has ended is replaced.
    same(run("run", endless, "--steps", "3", "--metrics", metrics)[0], 0)
    same(len(metrics.read_text().splitlines()), 3)


def test_a_second_run_does_not_cut_the_quarantine_of_another(folder):
    path = bad_rows(folder, ["1", "two", "3"], read=", epochs: forever")
    path.write_text(path.read_text().replace("on_error: skip", "on_error: quarantine"))
    index = folder / "quarantine" / "index.0.jsonl"
    first = Started("run", path, "--report", folder / "r.json", cwd=folder)
    first.until("epoch")
    code, _, err = run("run", path, "--steps", "3", cwd=folder)
    same(code, 1)
    holds(err, f"another run, of process {first.process.pid}, writes to the index of lane 0: end it first")
    first.process.send_signal(signal.SIGINT)
    same(first.end(), 130)
    told = json.loads((folder / "r.json").read_text())
    same(told["rows"]["bad"], told["bad"][0]["count"])
    # Rows after the last step may be there too; a run that resumes cuts them off.
    assert sum(1 for _ in index.open()) >= told["rows"]["bad"] > 0, told["rows"]
    same(run("run", path, "--steps", "3", cwd=folder)[0], 0)


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
        for epoch, mean, rows in re.findall(r"epoch (\d+) of 1000000  y (\S+)  (\S+) rows", lines):
            number = int(epoch) + 1
            same((mean, rows), (f"{(y * number).sum() / 100:.4f}", f"{100 * number:,}"), lines)
    started.process.send_signal(signal.SIGTERM)
    same(started.end(), 130, started.text)


def test_all_looks_number_epochs_from_0(folder):
    """Four steps per epoch; step 6, of the second epoch of three, does not return."""
    path = graph(folder, step=", hang_at: 6", read=", epochs: 3", top="name: numbers\n")
    started = Started("run", path)
    try:
        started.until("epoch 0 of 3  size 25.0000  100 rows, ")
        for told in looks({}):
            if any(one["run"] == "numbers" and one["steps"] == 6 for one in told["runs"]):
                break
        started.until("epoch 1 of 3 ")
        holds(run("ps", "numbers")[1], "run numbers: epoch 1, 6 steps")
        holds(run("top", "--once", "numbers")[1], "   epoch 1  ")
        holds(run("follow", "--row", "x.npy:5", path, env=PLUGINS)[1], " in epoch 1")
    finally:
        started.process.kill()
        started.end()


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
          "rows       224 fed; 132 read, 122 added, 10 filtered, 0 bad, 20 dropped\n",
          "lane 0     epoch 1, position 32\n", "models     1 replica, 7 bytes\n")
    same(run("run", path, *keep, "--resume", env=PLUGINS)[0], 0)
    same(json.loads((folder / "r.json").read_text())["rows"],
         {"read": 200, "added": 180, "fed": 320, "filtered": 20, "bad": 0, "dropped": 40})


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


def test_a_stream_without_a_digest_says_so(folder):
    path = graph(folder)
    code, out, err = run("run", path, "--set", "feed.digest=false", env=PLUGINS)
    same((code, err), (0, ""))
    holds(out, "stream not computed (digest: false)\n")
    code, out, err = run("run", path, "--set", "feed.digest=false", "--json", env=PLUGINS)
    same(json.loads(out)["stream_digest"], None)


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


def test_checkpoints_that_cannot_be_written_are_counted(folder):
    path, kept = graph(folder), folder / "kept"
    keep = ("--set", f"checkpoint.dir={kept}", "--set", "checkpoint.every=2 steps", "--report", folder / "r.json")
    why = f"could not save its model to {kept}/step-0000000%d/model-0.draft: No space left on device"
    # After the second of four steps, and not after the last: the run can be resumed from its end.
    code, out, err = run("run", path, *keep, env={**PLUGINS, "PROBE_SAVE_FAILS_IN": str(kept / "step-00000002")})
    same(code, 0, err)
    holds(err, "no checkpoint after step 1: replica 0: step plugin probe " + why % 2)
    same(err.count("No space left"), 1, err)
    holds(out, "checkpoints: 1 could not be written, such as: replica 0: step plugin probe " + why % 2 + "\n")
    told = json.loads((folder / "r.json").read_text())
    same((told["checkpoints_failed"], told["ended"]["code"]), (1, 0))
    holds(told["checkpoint_failure"], why % 2)
    shutil.rmtree(kept)
    # Every one, and nothing remains to resume from.
    code, out, err = run("run", path, *keep, env={**PLUGINS, "PROBE_SAVE_FAILS_IN": str(kept)})
    same(code, 1, err)
    holds(out, "done: 4 steps", "checkpoints: 2 could not be written, such as: ")
    holds(err, f"tundish run: the last checkpoint could not be written: replica 0: step plugin probe {why % 4}")
    told = json.loads((folder / "r.json").read_text())
    same((told["checkpoints_failed"], told["ended"]["code"], told["steps"]), (2, 1, 4))
    holds(told["ended"]["message"], "the last checkpoint could not be written")


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


def test_a_missing_data_file_is_known_when_it_is_opened(folder):
    path = graph(folder)
    (folder / "y.npy").unlink()
    code, _, err = run("run", path, "--report", folder / "r.json", env=PLUGINS)
    same(code, 78)
    holds(err, str(folder / "y.npy"))
    told = json.loads((folder / "r.json").read_text())
    same((told["ended"]["code"], told["ended"]["outcome"], told["steps"]), (78, "unusable", 0))
    holds(told["ended"]["message"], str(folder / "y.npy"))


def test_a_run_that_fails_writes_its_report(folder):
    path = graph(folder, step=", fail_at: 2")
    code, _, err = run("run", path, "--report", folder / "r.json", "--json", env=PLUGINS)
    same(code, 1)
    told = json.loads((folder / "r.json").read_text())
    same(told["ended"], {"code": 1, "outcome": "failed", "message": err.strip().removeprefix("tundish run: ")})
    same((told["steps"], told["rows"]["fed"]), (2, 64))
    same(set(told), KEYS)


def test_how_a_run_ended_is_in_its_report(folder):
    same(run("run", graph(folder), "--report", folder / "r.json", env=PLUGINS)[0], 0)
    same(json.loads((folder / "r.json").read_text())["ended"], {"code": 0, "outcome": "done", "message": None})
    started = Started("run", graph(folder, read=", epochs: forever"), "--report", folder / "r.json")
    started.until("epoch")
    started.process.send_signal(signal.SIGINT)
    same(started.end(), 130)
    same(json.loads((folder / "r.json").read_text())["ended"], {"code": 130, "outcome": "drained", "message": None})


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


def test_results_say_how_many_rows_of_their_epoch_they_are_over(folder):
    code, out, err = run("run", graph(folder, read=", epochs: 2"), env=PLUGINS)
    same(code, 0, err)
    holds(out, "200 rows, 2 epochs", "feed:  size 25.0000  (100 rows)")


def test_a_metric_of_any_name_is_written_as_json(folder):
    code, _, err = run("run", graph(folder), "--metrics", folder / "m.jsonl", "--report",
                       folder / "r.json", env={**PLUGINS, "PROBE_METRIC": "perte g\udce9n\udce9rale \u20ac"})
    same(code, 0, err)
    for name in ("m.jsonl", "r.json"):
        for line in (folder / name).read_text(encoding="utf-8").splitlines()[:1]:
            assert name == "r.json" or "perte_g_n_rale_\u20ac" in json.loads(line), line
    same(json.loads((folder / "r.json").read_text(encoding="utf-8"))["steps"], 4)


def test_a_text_that_lookup_does_not_have_is_shown(folder):
    """At most 40 bytes of it, without what a terminal would act on."""
    for text, shown in (("fox", "`fox`,"), ("x" * 40, f"`{'x' * 40}`,"), ("x" * 41, f"`{'x' * 40}`...,"),
                        ("a\x1bb", "`a?b`,"), ("f\u00fcchse", "`f\u00fcchse`,"), ("", "``,")):
        (folder / "t.txt").write_text(f"{text}\n")
        path = folder / "lookup.yaml"
        path.write_text("tundish: 1\nactors:\n  read: {kind: reader, source: {text: {files: %s}}}\n"
                        "  prep: {kind: preprocessor, ops: [{lookup: {column: line, map: {cat: 0}}}]}\n"
                        "  batch: {kind: batcher, size: 1}\n  feed: {kind: feeder}\n"
                        "links:\n  - read -> prep -> batch -> feed\n" % (folder / "t.txt"))
        code, _, err = run("run", path)
        same(code, 1, err)
        holds(err, f"column `line` has the text {shown} which `map` does not have")


def test_a_relative_path_says_in_which_folder_it_was_looked_for(folder):
    arrays(folder, 100)
    path = folder / "relative.yaml"
    path.write_text("tundish: 1\nactors:\n  read: {kind: reader, source: {npy: {x: x.npy}}}\n"
                    "  batch: {kind: batcher, size: 1}\n  feed: {kind: feeder}\nlinks:\n  - read -> batch -> feed\n")
    same(run("run", path, cwd=folder)[0], 0)
    code, _, err = run("run", path, cwd="/")
    same(code, 78)
    holds(err, "x.npy: no such file in the working directory /; check the path and `data:`")


def test_on_a_terminal_one_line_is_drawn_again(folder):
    path = graph(folder, read=", epochs: forever")
    for no_colour in (False, True):
        pid, screen = pty.fork()
        if pid == 0:
            env = {**os.environ, **PLUGINS, "TERM": "xterm", "LC_ALL": "C.UTF-8"}
            env.pop("NO_COLOR", None)
            if no_colour:
                env["NO_COLOR"] = "1"
            os.execve(TUNDISH, [TUNDISH, "run", str(path), "--set", "read.epochs=2000000"], env)
        fcntl.ioctl(screen, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 120, 0, 0))
        text = b""
        while (text.count(b"\r\x1b[K") < 5 or b" left" not in text) and len(text) < 1000000:
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


main(globals())
