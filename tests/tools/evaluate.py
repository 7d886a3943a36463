#!/usr/bin/env python3
"""`tundish run --evaluate`, and runs that continue with other `epochs:`."""
import json
import shutil
import subprocess

import numpy

from command import BUILD, TUNDISH, free_port, holds, main, run, same
from launched import clean
from runs import Started

ROWS, TESTED = 320, 96


def graph(folder, epochs=2, batch="", test="after: feed", reader="", name="graph.yaml"):
    """A small network and pictures of noise, which it is trained on and tested with."""
    draw = numpy.random.default_rng(3)
    for data, rows in (("train", ROWS), ("test", TESTED)):
        if not (folder / f"{data}_image.npy").exists():
            numpy.save(folder / f"{data}_image.npy", draw.random((rows, 28, 28), dtype="f4"))
            numpy.save(folder / f"{data}_label.npy", draw.integers(0, 10, rows).astype("u1"))
    chains = "links:\n  - read -> batch -> feed <-> mean\n"
    if test:
        chains = f"""  seen: {{kind: reader, source: {{npy: {{image: "${{data}}/test_image.npy", label: "${{data}}/test_label.npy"}}}}}}
  pack: {{kind: batcher, size: 50, replicas: 2}}
  test: {{kind: feeder, {test}}}
{chains}  - seen -> pack -> test
"""
    path = folder / name
    path.write_text(f"""tundish: 1
seed: 7
data: {folder}
actors:
  read: {{kind: reader, source: {{npy: {{image: "${{data}}/train_image.npy", label: "${{data}}/train_label.npy"}}}}, shuffle: global, epochs: {epochs}{reader}}}
  batch: {{kind: batcher, size: 32, replicas: 2{batch}}}
  feed: {{kind: feeder, step: {{plugin: mlp}}}}
  mean: {{kind: reducer}}
{chains}""")
    return path


def keep(folder, name="kept"):
    return "--set", f"checkpoint.dir={folder / name}"


def result(*words, code=0):
    """The report of a run."""
    got, out, err = run(*words, "--json")
    same(got, code, out + err)
    return json.loads(out)


def essence(report):
    """What two runs with the same result have in common."""
    return (report["steps"], report["stream_digest"], report["model_digest"], report["results"]["test"],
            report["chains"]["test"]["stream_digest"])


def files(folder):
    return {path: (path.stat().st_mtime_ns, path.stat().st_ino)
            for path in sorted(folder.rglob("*"))}


def test_a_run_continues_with_more_or_fewer_epochs(folder):
    whole = result("run", graph(folder, epochs=5))
    same(run("run", graph(folder, epochs=2), *keep(folder))[0], 0)
    code, out, err = run("run", graph(folder, epochs=5), *keep(folder), "--resume", "--log-level",
                         "info", "--report", folder / "report")
    same(code, 0, err)
    holds(err, "the run continues with `epochs: 5`, was `epochs: 2`\n")
    holds(out, "done: 50 steps, 1,600 rows, 5 epochs", "of these, 20 steps before this run")
    same(essence(json.loads((folder / "report").read_text())), essence(whole))
    # In the middle of an epoch too, and to an end that is nearer than it was.
    third = result("run", graph(folder, epochs=3))
    same(run("run", graph(folder, epochs=9), *keep(folder, "middle"), "--steps", "17")[0], 0)
    same(essence(result("run", graph(folder, epochs=3), *keep(folder, "middle"), "--resume")),
         essence(third))
    # Epochs after the end are not undone, nor is a part of one.
    same(run("run", graph(folder, epochs=9), *keep(folder, "part"), "--steps", "25")[0], 0)
    for kept, step, fewer, was in (("middle", 30, 2, 3), ("part", 25, 2, 9)):
        code, _, err = run("run", graph(folder, epochs=fewer), *keep(folder, kept), "--resume")
        same(code, 78)
        holds(err, f"step-{step:08}: is after the end of `epochs: {fewer}` of read: resume from an earlier checkpoint, "
              f"or with more epochs (it was made with {was})\n")
    # An evaluation is of the models alone, however many epochs they were trained.
    for kept, fewer, alike in (("middle", 2, 3), ("part", 2, 9), ("part", 1, 9)):
        got, wanted = (essence(result("run", graph(folder, epochs=epochs), *keep(folder, kept), "--evaluate"))
                       for epochs in (fewer, alike))
        same(got, wanted)


def test_a_last_batch_over_the_end_is_not_continued(folder):
    """With span_epochs the last batch of 3 epochs of 320 rows in batches of 100 has 60 rows."""
    spans = {"batch": ", span_epochs: true"}
    path = graph(folder, epochs=3, **spans)
    path.write_text(path.read_text().replace("size: 32", "size: 100"))
    same(run("run", path, *keep(folder))[0], 0)
    path.write_text(path.read_text().replace("epochs: 3", "epochs: 4"))
    code, _, err = run("run", path, *keep(folder), "--resume")
    same(code, 78)
    holds(err, "is the end of the stream with `epochs: 3`", "`epochs: 4`", "span_epochs: true",
          "resume from an earlier checkpoint\n")
    same(run("run", path, *keep(folder), "--evaluate")[0], 0)
    same(run("run", path, *keep(folder, "late"), "--steps", "7")[0], 0)
    path.write_text(path.read_text().replace("epochs: 4", "epochs: 2"))
    code, _, err = run("run", path, *keep(folder, "late"), "--resume")
    same(code, 78)
    holds(err, "step-00000007: is after the end of `epochs: 2` of read")
    same(run("run", path, *keep(folder, "late"), "--evaluate")[0], 0)
    path.write_text(path.read_text().replace("epochs: 2", "epochs: 4"))
    same(run("run", path, *keep(folder, "early"), "--steps", "4")[0], 0)
    path.write_text(path.read_text().replace("epochs: 4", "epochs: 5"))
    early = essence(result("run", path, *keep(folder, "early"), "--resume"))
    same(early, essence(result("run", path)))


def test_other_options_are_still_another_graph(folder):
    same(run("run", graph(folder), *keep(folder))[0], 0)
    for change, words in ((dict(epochs=3, reader=", skip: 1"), "`skip: 1` was `skip: 0`"),
                          (dict(reader=", take: 5"), "`take: 5` was `take: ")):
        code, _, err = run("run", graph(folder, **change), *keep(folder), "--resume")
        same(code, 78)
        holds(err, "belongs to another graph: read: ", words)
    path = graph(folder)
    path.write_text(path.read_text().replace("test_label.npy\"}}", "test_label.npy\"}}, epochs: 2"))
    code, _, err = run("run", path, *keep(folder), "--resume")
    same(code, 78)
    holds(err, "belongs to another graph: seen: `epochs: 2` was `epochs: 1`\n")


def test_a_checkpoint_is_evaluated_and_nothing_is_written(folder):
    whole = result("run", graph(folder), *keep(folder), "--set", "checkpoint.every=7 steps", "--set",
                   "checkpoint.keep=9")
    before = files(folder / "kept")
    code, out, err = run("run", graph(folder), *keep(folder), "--evaluate", "--log-level", "info")
    same(code, 0, err)
    holds(err, f"checkpoint info evaluates the models after step 19, from {folder / 'kept'}\n")
    holds(out, "evaluated: the checkpoint has 20 steps, 640 rows\n", "test:  ", "(96 rows)\n",
          whole["model_digest"])
    same(essence(result("run", graph(folder), *keep(folder), "--evaluate")), essence(whole))
    # An earlier one has what a run that ended there has; other epochs do not matter.
    short = result("run", graph(folder), "--steps", "7")
    early = folder / "kept/step-00000007"
    for words in ((graph(folder),), (graph(folder, epochs=9, name="more.yaml"),)):
        got = result("run", *words, "--evaluate", early)
        same(essence(got), essence(short))
    same(files(folder / "kept"), before)


def test_the_run_that_writes_is_not_disturbed(folder):
    """It has locked the folder, and removes its older checkpoints, but none of the last ten seconds."""
    path = graph(folder, epochs=1000000)
    started = Started("run", path, *keep(folder), "--set", "checkpoint.every=100ms", "--set", "checkpoint.keep=100",
                      "--log-level", "info")
    started.until("checkpoint after step ")
    for _ in range(3):
        code, out, err = run("run", path, *keep(folder), "--evaluate")
        same(code, 0, err)
        holds(out, "evaluated: the checkpoint has ", "test:  ")
    started.process.terminate()
    same(started.end(), 130, started.text)


def evaluated(text):
    """The steps of the checkpoints that were evaluated, in their order."""
    return [int(line.split()[4].replace(",", "")) for line in text.splitlines() if line.startswith("evaluated: ")]


def test_each_new_checkpoint_is_evaluated_until_the_run_ends(folder):
    path = graph(folder, epochs=12)
    keeps = (*keep(folder), "--set", "checkpoint.every=10 steps", "--set", "checkpoint.keep=99")
    watches = Started("run", path, *keep(folder), "--evaluate", "--watch")
    watches.until(f"waits for a run that writes checkpoints to {folder / 'kept'}")
    means = result("run", path, *keeps)["results"]["test"]
    same(watches.end(), 0, watches.text)
    steps = evaluated(watches.text)
    same((steps, steps[-1]), (sorted(set(steps)), 120))
    assert set(steps) <= set(range(10, 121, 10)), steps
    holds(watches.text.split("evaluated: ")[-1],
          f"accuracy {means['accuracy']:.4f}, loss {means['loss']:.4f}  (96 rows)")
    # No run writes there any more: the newest is evaluated, and that is all.
    code, out, err = run("run", path, *keep(folder), "--evaluate", "--watch")
    same((code, evaluated(out), err), (0, [120], ""))


def test_a_watch_ends_by_a_signal_and_with_what_fails(folder):
    watches = Started("run", graph(folder), *keep(folder), "--evaluate", "--watch")
    watches.until("waits for a run")
    watches.process.terminate()
    same(watches.end(), 130)
    same(run("run", graph(folder), *keep(folder))[0], 0)
    code, _, err = run("run", graph(folder), *keep(folder), "--evaluate", "--watch", "--set", "batch.size=16")
    same(code, 78)
    holds(err, "belongs to another graph: batch: ")
    code, _, err = run("run", graph(folder), *keep(folder), "--watch")
    same((code, "--watch needs --evaluate" in err), (2, True))


def test_two_processes_evaluate(folder):
    path, two = graph(folder), folder / "two.yaml"
    two.write_text(f"port: {free_port()}\nhosts:\n  a: {{actors: [read, batch, seen, pack]}}\n"
                   "  b: {actors: [feed, mean, test]}\n")
    whole = result("run", path, *keep(folder))
    before = files(folder / "kept")
    code, out, err = run("up", path, two, *keep(folder), "--evaluate", "--report",
                         folder / "report")
    same(code, 0, err)
    same(essence(json.loads((folder / "report").read_text())), essence(whole))
    same(files(folder / "kept"), before)


def test_what_cannot_be_evaluated_is_said(folder):
    same(run("run", graph(folder), *keep(folder))[0], 0)
    bare = graph(folder, test="", name="bare.yaml")
    same(run("run", bare, *keep(folder, "bare"))[0], 0)
    cases = (
        (78, (bare, *keep(folder, "bare"), "--evaluate"),
         "nothing to evaluate: no feeder of this graph has `after:`\n"),
        (78, (graph(folder), *keep(folder, "none"), "--evaluate"), "no checkpoint at "),
        (78, (graph(folder), "--evaluate", folder / "nope"), "no checkpoint at "),
        (78, (graph(folder), *keep(folder), "--evaluate", "--set", "batch.size=16"),
         "belongs to another graph: batch: `size: 16` was `size: 32`\n"),
        (78, (graph(folder), *keep(folder), "--set", "checkpoint.evaluate=true"),
         "`evaluate: true` needs `resume:`, which says what is evaluated\n"),
        (2, (graph(folder), "--evaluate"),
         "--evaluate: this topology has no checkpoint folder: name it with --evaluate FROM or "
         "--set checkpoint.dir=DIR"),
        (2, (graph(folder), *keep(folder), "--evaluate", "--resume"),
         "--evaluate trains nothing, so it has no --resume"),
    )
    for code, words, text in cases:
        got, _, err = run("run", *words)
        same(got, code, err)
        holds(err, text)
    assert not (folder / "none").exists() and not (folder / "nope").exists()


def test_an_evaluator_of_tf_config_evaluates_what_the_others_write(folder):
    path, over, kept = graph(folder, epochs=8), folder / "hosts.yaml", folder / "kept"
    words = [TUNDISH, "run", path, over, "--set", f"checkpoint={{dir: {kept}, every: 5 steps, keep: 100}}", "--resume",
             "--report", folder / "report"]
    for hosts in ("worker[*]: {lanes: each}",
                  "worker0: {actors: [read, batch, seen, pack, mean]}\n  worker1: {actors: [feed, test]}"):
        port = free_port()
        over.write_text(f"port: {port}\nhosts:\n  {hosts}\n")
        shutil.rmtree(kept, ignore_errors=True)
        kept.mkdir()
        every = [subprocess.Popen([*map(str, words)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=clean(
            TUNDISH_PLUGIN_PATH=str(BUILD / "examples"),
            TF_CONFIG=json.dumps({"cluster": {"worker": [f"127.0.0.1:{port}", "127.0.0.1:1"]}, "task": {"type": task, "index": index}})))
                 for task, index in (("evaluator", 0), ("worker", "0"), ("worker", 1))]
        ended = [(one.returncode, *texts) for one, texts in [(one, one.communicate(timeout=60)) for one in every]]
        same([code for code, _, _ in ended], [0] * 3, ended)
        _, out, err = ended[0]
        holds(err, "tundish run: launch: tf_config job ", ", evaluator beside 2 processes: evaluates each checkpoint of the run\n")
        last = out[out.rindex("evaluated: "):]
        holds(last, "evaluated: the checkpoint has 80 steps, 2,560 rows")
        trained = json.loads((folder / "report").read_text())
        same(trained["steps"], 80)
        holds(last, f"model  {trained['model_digest']}", f"accuracy {trained['results']['test']['accuracy']:.4f}")
    # Outputs of the run are not its own, and without a folder it says what to write.
    one = subprocess.run([TUNDISH, "run", path, over], capture_output=True, text=True, env=clean(
        TF_CONFIG=json.dumps({"cluster": {"worker": ["a:1"]}, "task": {"type": "evaluator"}})))
    same(one.returncode, 2, one.stderr)
    holds(one.stderr, "--evaluate: this topology has no checkpoint folder")


main(globals())
