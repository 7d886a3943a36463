#!/usr/bin/env python3
"""How TensorFlow divides batches among replicas and workers (tests/oracle/rebatch.json), by real graphs.

Usage: workers.py NAME...; without a name it lists them.  A case is run here or listed, with the reason, in
tests/oracle/README.md.
"""
import concurrent.futures
import json
import os
import pathlib
import re
import signal
import struct
import subprocess
import sys
import tempfile

from faults import until, write_npy
from named import in_folder, run_named
from run import BUILD, ROOT, TUNDISH, free_port, kill_run, tundish
from uneven import perform

ORACLE = ROOT / "tests/oracle"
CASES = json.loads((ORACLE / "rebatch.json").read_text())
GRAPH = """tundish: 1
name: workers
lanes: {lanes}
actors:
  read:  {{kind: reader, source: {source}, shard: {shard}{order}}}
  batch: {{kind: batcher, size: {size}, replicas: {replicas}, split: {split}, remainder: {remainder}{apart}}}
  feed:  {{kind: feeder, step: {{plugin: witness}}}}
  mean:  {{kind: reducer}}
links: [read -> batch -> feed <-> mean]
"""
SHARDS = {"AUTO": "auto", "FILE": "file", "DATA": "pieces", "OFF": "off", "HINT": "off"}
#  After these TensorFlow does not know the size of a batch; with `drop_remainder` it does after the last three.
LOST = ("map_parallel", "take_while_true", "interleave_tensors", "batch_parallel", "enumerate_map", "zip_one", "scan",
        "rebatch_same", "ensure_shape", "batch_then_map", "group_by_window")
LOST_WHERE_KEPT = ("map", "flat_map_tensors")


def listed():
    """The cases of README.md's list and what each line says."""
    found = {}
    for line in (ORACLE / "README.md").read_text().splitlines():
        match = re.match(r"\* `rebatch` (.+?): (.+)", line)
        if match:
            for name in match.group(1).split(", "):
                found[name.strip("`")] = match.group(2)
    return found


def source_of(folder, args):
    """Ids from 0 on, in the program or in files as the case says."""
    if not args.get("files"):
        return "{memory: {y: {dtype: i64, data: %s}}}" % list(range(args["n"]))
    paths, at = [], 0
    for number, rows in enumerate(args["files"]):
        paths.append(folder / f"{number}.bin")
        paths[-1].write_bytes(struct.pack(f"<{rows}q", *range(at, at + rows)))
        at += rows
    return "{raw: {record: 8B, files: %s, columns: {y: i64}}}" % json.dumps(list(map(str, paths)))


def write(folder, case):
    args = case["args"]
    workers, own = args["workers"], args["replicas_per_worker"]
    between = args.get("between", args.get("batching"))
    lost = between in LOST or (between in LOST_WHERE_KEPT and not args["drop_remainder"])
    maps = ["{interleave: {cycle: 2}}"] if args.get("source") == "tfrecord_interleave" else []
    maps += ["{repeat: %d}" % args["repeat"]] if args.get("repeat") else []
    maps += ["{repeat: 2}"] if between == "concatenate_itself" else []
    graph = folder / "graph.yaml"
    graph.write_text(GRAPH.format(
        lanes=workers, source=source_of(folder, args), size=args["global_batch"], replicas=workers * own,
        shard=SHARDS[args.get("policy", "OFF")], split="rebatch_legacy" if lost else "auto",
        order=", order: [%s]" % ", ".join(maps) if maps else "", apart=", apart: true" if workers > 1 else "",
        remainder="drop" if args.get("drop_remainder") else "keep"))
    return graph


def fed(graph, replicas):
    """By step: the rows of each replica."""
    done = subprocess.run([TUNDISH, "head", graph, "--replicas", "--steps", "100", "--json"], capture_output=True,
                          text=True, timeout=120, env={**os.environ, "TUNDISH_PLUGIN_PATH": str(BUILD / "tests")})
    if done.returncode != 0:
        return done.stderr
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    steps = [[[] for _ in range(replicas)] for _ in range(len(lines) // replicas)]
    for line in lines:
        steps[line["step"]][line["replica"]] = line["columns"]["y"]["data"]
    return steps


def expected(case):
    """By worker: the pulls of its replicas, one after the other; `None`: TensorFlow fails."""
    expect = case["expect"]
    if "error" in expect:
        return None
    if "steps" in expect:
        return [sum(expect["steps"], [])]
    workers = expect["workers"]
    if any("error" in worker for worker in workers):
        return None
    return [worker["pulls"] if "pulls" in worker else sum(worker["steps"], []) for worker in workers]


def compare(case):
    """What differs; "" if nothing does."""
    args, wanted = case["args"], expected(case)
    own = args["replicas_per_worker"]
    with tempfile.TemporaryDirectory() as name:
        steps = fed(write(pathlib.Path(name), case), args["workers"] * own)
    if wanted is None or isinstance(steps, str):
        return "" if wanted is None and isinstance(steps, str) else f"{case['name']}: {wanted} but {steps}"
    for worker, pulls in enumerate(wanted):
        got = [rows for step in steps for rows in step[worker * own:(worker + 1) * own]]
        more = got[len(pulls):]
        together = case["op"] != "worker_pulls"
        if got[:len(pulls)] != pulls or any(more) or (together and len(more) >= own):
            return f"{case['name']}: worker {worker} got {got}, wanted {pulls}"
    return ""


def test_every_case_of_tensorflow(_folder):
    left = listed()
    cases = [case for case in CASES if case["name"] not in left and case["op"] != "get_per_replica_batch_size"]
    missing = set(left) - {case["name"] for case in CASES}
    assert not missing, missing
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        differs = [text for text in pool.map(compare, cases) if text]
    assert not differs, f"{len(differs)} of {len(cases)}:\n" + "\n".join(differs)
    print(f"{len(cases)} cases, {len(left)} left out")


def hosts(folder, lanes, transport="auto"):
    """A host per lane, with its feeder."""
    overlay = folder / f"{lanes}.yaml"
    overlay.write_text(f"port: {free_port()}\nhosts:\n  node[0-{lanes - 1}]: {{address: 127.0.0.1, transport: {transport}, "
                       "lanes: 1 each, actors: [read, batch, feed]}\n")
    return overlay


def test_workers_as_processes(folder):
    """The rows of each replica, as its step saw them, where each lane is a process of its own."""
    cases = [case for case in CASES if case["op"] == "multi_worker"]
    assert len(cases) == 18
    for case in cases:
        args = case["args"]
        own = args["replicas_per_worker"]
        graph = write(folder, case)
        whole = perform(folder, ["run", graph])
        told, _, seen, _ = perform(folder, ["up", graph, hosts(folder, args["workers"])])
        assert told["stream_digest"] == whole[0]["stream_digest"] and seen == whole[2], case["name"]
        for worker, pulls in enumerate(expected(case)):
            got = [[int(y) for y in seen[worker * own + r][step].split(" :")[1].split()]
                   for step in range(told["steps"]) for r in range(own)]
            assert got == pulls, f"{case['name']}: worker {worker} got {got}, wanted {pulls}"


LONG = """tundish: 1
name: workers
seed: 5
lanes: 3
checkpoint: {{dir: {folder}/checkpoints, every: 7 steps}}
actors:
  read:  {{kind: reader, source: {{npy: {{y: {files}}}}}, {read}, epochs: 2}}
  prep:  {{kind: preprocessor, workers: 2, ops: [{{filter: {{expr: y % 7 != 3}}}}, {{repeat_rows: {{times: 2}}}}]}}
  batch: {{kind: batcher, size: 22, replicas: 6, {batch}}}
  feed:  {{kind: feeder, devices: ["sim:0"], sim: {{step: 4ms}}, step: {{plugin: witness}}}}
  mean:  {{kind: reducer}}
links: [read -> prep -> batch -> feed <-> mean]
"""
SPREAD = """port: {port}
hosts:
  a: {{address: 127.0.0.1, lanes: 1, actors: [read, prep, batch, feed]}}
  b: {{address: 127.0.0.1, lanes: 1, actors: [read, prep, batch, feed]}}
  c: {{address: 127.0.0.1, lanes: 1, actors: [read, prep, batch, feed]}}
"""
WAYS = (("shard: pieces, shuffle: global", "split: auto"),
        ("shard: file, shuffle: global", "split: rebatch_v2, apart: true"),
        ("shard: index", "split: rebatch_legacy, apart: true, remainder: drop"))


def write_long(folder, read, batch):
    files, at = [], 0
    for number, rows in enumerate((500, 90, 160, 50)):
        files.append(str(folder / f"{number}.npy"))
        write_npy(folder / f"{number}.npy", "<i8", (rows,), struct.pack(f"<{rows}q", *range(at, at + rows)))
        at += rows
    graph = folder / "long.yaml"
    graph.write_text(LONG.format(folder=folder, files=json.dumps(files), read=read, batch=batch))
    overlay = folder / "spread.yaml"
    overlay.write_text(SPREAD.format(port=free_port()))
    return graph, overlay


def still_there(folder):
    """Processes of a run: those that `up` started end a moment after it."""
    found = []
    for path in pathlib.Path("/proc").glob("[0-9]*/cmdline"):
        try:
            found += [path.parent.name] if str(folder).encode() in path.read_bytes() else []
        except OSError:  # it has ended
            pass
    return found


def killed(folder, words, beyond):
    """Kills all processes of a run once it has saved a checkpoint after more than so many steps."""
    def whole():
        return sorted(int(path.parent.name[5:]) for path in (folder / "checkpoints").glob("step-*/manifest"))
    env = {**os.environ, "WITNESS": str(folder), "TUNDISH_PLUGIN_PATH": str(BUILD / "tests")}
    with open(folder / "log", "w") as log:
        process = subprocess.Popen([TUNDISH, *words], stdout=log, stderr=log, env=env, start_new_session=True)
    until(lambda: f"a checkpoint beyond step {beyond}: {whole()}\n{(folder / 'log').read_text()[-2000:]}",
          lambda: (whole() or [0])[-1] > beyond or process.poll() is not None, 240)
    kill_run(process)
    assert process.returncode in (0, -signal.SIGKILL), (folder / "log").read_text()
    until(lambda: f"the end of {still_there(folder)}", lambda: not still_there(folder), 60)


def same_stream(folder, read, batch):
    graph, overlay = write_long(folder, read, batch)
    plain = ["--set", "checkpoint=null"]
    whole = perform(folder, ["run", graph, *plain])
    told, _, seen, _ = perform(folder, ["up", graph, overlay, *plain])
    assert told["stream_digest"] == whole[0]["stream_digest"] and told["rows"] == whole[0]["rows"], (told, whole[0])
    assert seen == whole[2]
    killed(folder, ["up", graph, overlay], 20)
    killed(folder, ["run", graph, "--resume"], 50)
    told, _, seen, _ = perform(folder, ["up", graph, overlay, "--resume"])
    assert told["stream_digest"] == whole[0]["stream_digest"] and told["rows"] == whole[0]["rows"], (told, whole[0])
    for replica, lines in whole[2].items():
        #  None, if the run that was killed last had saved its last step.
        assert seen[replica] == lines[len(lines) - len(seen[replica]):], replica


def test_pieces_are_the_same_anywhere_and_after_kills(folder):
    same_stream(folder, *WAYS[0])


def test_lanes_apart_are_the_same_anywhere_and_after_kills(folder):
    same_stream(folder, *WAYS[1])


def test_lanes_apart_with_the_legacy_split_are_the_same_anywhere_and_after_kills(folder):
    same_stream(folder, *WAYS[2])


BAD = """tundish: 1
lanes: {lanes}
actors:
  read:  {{kind: reader, source: {{csv: {{files: [{folder}/rows.csv], header: true}}}}, shard: {shard}, quarantine: {folder}/{name}}}
  prep:  {{kind: preprocessor, on_error: quarantine, ops: [{{to_number: {{column: record, to: i64, into: x}}}}]}}
  batch: {{kind: batcher, size: 8, replicas: 4, split: rebatch_legacy, apart: {apart}}}
  feed:  {{kind: feeder}}
links: [read -> prep -> batch -> feed]
"""


def test_bad_records_are_counted_and_set_aside_once(folder):
    """Every ninth of 60 rows from the fifth on is bad, which each lane with pieces finds."""
    (folder / "rows.csv").write_text("number\n" + "".join(("x" if i % 9 == 4 else "") + f"{i}\n" for i in range(60)))
    streams = []
    for name, lanes, shard, apart in (("one", 1, "pieces", "false"), ("two", 2, "pieces", "false"), ("apart", 2, "index", "true")):
        graph = folder / f"{name}.yaml"
        graph.write_text(BAD.format(folder=folder, name=name, lanes=lanes, shard=shard, apart=apart))
        report = tundish("run", graph).report
        assert report["rows"] == {**report["rows"], "read": 60, "fed": 53, "bad": 7, "dropped": 0}, (name, report["rows"])
        aside = [line for path in (folder / name).glob("index.*.jsonl") for line in path.read_text().splitlines()]
        assert len(aside) == 7, (name, aside)
        streams.append(report["stream_digest"])
    assert streams[0] == streams[1] != streams[2]


if __name__ == "__main__":
    sys.exit(run_named(globals(), sys.argv[1:], in_folder))
