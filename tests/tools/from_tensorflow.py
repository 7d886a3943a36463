#!/usr/bin/env python3
"""python3 -m tundish.from_tensorflow: what programs of TensorFlow become, and what is said of the rest."""
import concurrent.futures
import json
import os
import random
import re
import subprocess
import sys

import numpy

from command import BUILD, ROOT, free_port, holds, main, run, same

sys.path.insert(0, str(ROOT / "examples/seeds"))
import data  # noqa: E402


CASES = json.loads((ROOT / "tests/oracle/order.json").read_text())
EXPECTED = json.loads((ROOT / "examples/seeds/expected.json").read_text())
ENVIRONMENT = {**os.environ, "PYTHONPATH": str(ROOT / "tools/python"), "TUNDISH_LIBRARY": str(BUILD / "libtundish.so")}


def translate(folder, text, *words, expect=0, name="train.py"):
    """What the translator prints of a program; its files are in `out`."""
    (folder / name).write_text(text)
    done = subprocess.run(
        [sys.executable, "-m", "tundish.from_tensorflow", name, "-o", "out", *words],
        cwd=folder,
        env=ENVIRONMENT,
        capture_output=True,
        text=True,
        timeout=60,
    )
    same(done.returncode, expect, done.stdout + done.stderr)
    assert "Traceback" not in done.stderr, done.stderr
    return done.stdout + done.stderr


# ------------------------------------------------------------------------- the pipelines of order.json


def source_text(source):
    if source["kind"] == "range":
        return f"tf.data.Dataset.range({source['n']})"
    if source["kind"] == "list":
        return f"tf.data.Dataset.from_tensor_slices({source['values']})"
    rows = [[100 * number + k for k in range(count)] for number, count in enumerate(source["lens"])]
    return f"tf.data.Dataset.from_tensor_slices(tf.ragged.constant({rows}))"


def inner_text(step):
    """The function of a flat_map or interleave."""
    return {
        "repeat": f"lambda x: tf.data.Dataset.from_tensors(x).repeat({step.get('times')})",
        "repeat_mod": f"lambda x: tf.data.Dataset.from_tensors(x).repeat(x % {step.get('mod')})",
        "count": f"lambda x: tf.data.Dataset.range(1000 * x, 1000 * x + x % {step.get('mod')})",
    }[step["inner"]]


def step_text(step):
    kind = step["op"]
    drop = f", drop_remainder={step.get('drop_remainder')}"
    if kind in ("take", "skip", "repeat"):
        return f"{kind}({step['count']})"
    if kind == "shard":
        return f"shard({step['num_shards']}, {step['index']})"
    if kind == "map":
        return f"map(lambda x: x * {step['mul']} + {step['add']})"
    if kind == "filter":
        return f"filter(lambda x: x % {step['mod']} == {step['eq']})"
    if kind == "enumerate":
        return f"enumerate(start={step['start']})"
    if kind in ("batch", "ragged_batch"):
        return f"{kind}({step['size']}{drop})"
    if kind == "padded_batch":
        shapes = f", padded_shapes=[{step['pad_to']}]" if step["pad_to"] is not None else ""
        return f"padded_batch({step['size']}{shapes}, padding_values={step['value']}{drop})"
    if kind == "rebatch":
        return f"rebatch({step['sizes']}{drop})"
    if kind == "bucket":
        return (
            f"bucket_by_sequence_length(lambda x: tf.shape(x)[0], {step['boundaries']}, {step['batch_sizes']}, padding_values={step['value']}, "
            f"pad_to_bucket_boundary={step['pad_to_boundary']}{drop})"
        )
    if kind == "window":
        return f"window({step['size']}, shift={step['shift']}, stride={step['stride']}{drop})"
    if kind in ("flat_map", "interleave"):
        more = f", cycle_length={step['cycle']}, block_length={step['block']}" if kind == "interleave" else ""
        return f"{kind}({inner_text(step)}{more})"
    return {
        "unbatch": "unbatch()",
        "scan": "scan(0, lambda s, x: (s + x, s + x))",
        "unique": "unique()",
        "take_while": "take_while(lambda x: x < 9)",
        "sliding": "group_by_window(lambda x: x % 3, lambda k, d: d.batch(2), 4)",
    }[kind]


def program_text(case):
    """The pipeline of a case as an expression of a program."""
    *steps, last = case["args"]["steps"]
    made = source_text(case["args"]["source"])
    if last["op"] in ("zip", "concatenate", "choose", "sample"):
        parts = [made] + [".".join([source_text(other["source"])] + list(map(step_text, other["steps"]))) for other in last["others"]]
        if last["op"] == "zip":
            return f"tf.data.Dataset.zip(({', '.join(parts)}))"
        if last["op"] == "concatenate":
            return f"{parts[0]}.concatenate({parts[1]})"
        stop = f"stop_on_empty_dataset={last['stop_on_empty']}"
        if last["op"] == "choose":
            return (
                f"tf.data.Dataset.choose_from_datasets([{', '.join(parts)}], tf.data.Dataset.from_tensor_slices({last['choices']}), {stop})"
            )
        return f"tf.data.Dataset.sample_from_datasets([{', '.join(parts)}], weights={last['weights']}, seed={last['seed']}, {stop})"
    return ".".join([made] + list(map(step_text, steps + [last])))


def fed(folder, case):
    """The elements of a translated case, or what the command says."""
    done = subprocess.run(
        [BUILD / "tundish", "head", f"out/{case['name']}.yaml", "--json", "--steps", "999"],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=60,
    )
    if done.returncode:
        return done.stderr
    kinds, batches = [step["op"] for step in case["args"]["steps"]], []
    for line in map(json.loads, done.stdout.splitlines()):
        columns = [line["columns"][name] for name in sorted(line["columns"])]  # number, x; c0, c1
        batches.append(list(map(list, zip(*(rows_of(column, case["args"]["steps"][0].get("value")) for column in columns)))))
    batches = [[row[0] if len(row) == 1 else row for row in rows] for rows in batches]
    if kinds == ["batch", "batch"]:
        size = case["args"]["steps"][0]["size"]
        return [[rows[i : i + size] for i in range(0, len(rows), size)] for rows in batches]
    return batches if kinds[-1] in ("batch", "rebatch", "padded_batch", "ragged_batch", "bucket") else sum(batches, [])


def rows_of(column, fill):
    """The rows of a column, padded as the batch is."""
    data, rows = column["data"], column["shape"][0]
    if "splits" not in column:
        return data if len(column["shape"]) == 1 else [data[i : i + len(data) // rows] for i in range(0, len(data), len(data) // rows)]
    made = [data[begin:end] for begin, end in zip(column["splits"], column["splits"][1:])]
    return [row + [fill] * (column["longest"] - len(row)) for row in made] if "longest" in column else made


def ragged(folder, case):
    """The arrays that the program of a case is told to save."""
    lens = case["args"]["source"].get("lens")
    if lens is not None:
        rows = [100 * number + k for number, count in enumerate(lens) for k in range(count)]
        numpy.save(folder / f"out/{case['name']}_x_values.npy", numpy.array(rows, "i4"))
        numpy.save(folder / f"out/{case['name']}_x_splits.npy", numpy.cumsum([0, *lens]))


def refused(told):
    """The lines of a program whose calls are not translated."""
    return {int(line.split(":")[1]) for line in told.splitlines() if re.match(r"train.py:\d+: (not translated|mistake|to do): `", line)}


def compare(folder, case):
    got, wanted = fed(folder, case), case["expect"].get("elements")
    if "error" in case["expect"] or not wanted:
        assert isinstance(got, str) and "error" in got or got == wanted, (case["name"], got)
    else:
        same(got, wanted, case["name"])


def test_pipelines_have_the_elements_of_tensorflow_or_are_listed(folder):
    told = translate(folder, "import tensorflow as tf\n" + "".join(f"{case['name']} = {program_text(case)}\n" for case in CASES))
    lines = refused(told)
    cases = [case for number, case in enumerate(CASES, 2) if number not in lines]
    assert len(cases) >= 101, len(cases)
    if "TUNDISH_ALL_CASES" not in os.environ:  # one of each kind
        kinds = [[step["op"] for step in case["args"]["steps"]] for case in cases]
        cases = [case for number, case in enumerate(cases) if kinds[number] not in kinds[:number]]
    for case in cases:
        ragged(folder, case)
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda case: compare(folder, case), cases))


# -------------------------------------------------------- programs of the shapes of examples/seeds

TEN = "tf.data.Dataset.from_tensor_slices(([1, 2, 3, 4, 5, 6, 7, 8, 9, 10], [0, 1, 0, 1, 0, 1, 0, 1, 0, 1])).batch(2)"
PICTURES = "tf.data.Dataset.from_tensor_slices((image, label, id))"
RECORDS = """
import os
import tensorflow as tf

FEATURES = {"x": tf.io.FixedLenFeature([8], tf.float32), "y": tf.io.FixedLenFeature([], tf.float32)}

def records(path):
    return tf.data.TFRecordDataset(path).map(lambda record: tf.io.parse_single_example(record, FEATURES))
"""
GENERATOR = """
import tensorflow as tf
import numpy as np

def slices(a, b, count):
    for start in range(0, a.shape[0], count):
        first = a[start:start + count]
        yield (tf.convert_to_tensor(first, dtype=tf.float32), tf.convert_to_tensor(b[start:start + count]))

input, output = np.load("input.npy"), np.load("output.npy")
size = 64
ds = tf.data.Dataset.from_generator(lambda: slices(input, output, size), output_signature=(
    tf.TensorSpec(shape=(None, 8), dtype=tf.float32), tf.TensorSpec(shape=(None, 2), dtype=tf.float32)))
ds = ds.prefetch(tf.data.AUTOTUNE)
"""
LOOP = """
@tf.function
def train(strategy, parts):
    losses = strategy.run(lambda x, y: tf.reduce_sum(x) - tf.reduce_sum(y), args=parts)
    return strategy.reduce(tf.distribute.ReduceOp.SUM, losses, axis=None)

for epoch in range(5):
    total = 0.0
    for parts in fed:
        total += train(strategy, parts)
    print(total / len(fed))  # MISTAKE
"""
# Programs by the name of the seed that has their rows; lines with MISTAKE are those that must be named.
PROGRAMS = {
    "000-1": f"""
import tensorflow as tf
strategy = tf.distribute.MirroredStrategy(["CPU:0", "CPU:1"])
with strategy.scope():
    for x, y in strategy.experimental_distribute_dataset({TEN}):
        print(x, y)
""",
    "000-2": f"""
import tensorflow as tf
workers = tf.distribute.MultiWorkerMirroredStrategy()
def made(context):
    whole = {TEN}
    return whole.shard(context.num_input_pipelines, context.input_pipeline_id)
fed = workers.distribute_datasets_from_function(made)
""",
    "000-3": f"""
import tensorflow as tf
from tensorflow.data.experimental import service
resolver = tf.distribute.cluster_resolver.TPUClusterResolver(tpu="local")
strategy = tf.distribute.TPUStrategy(resolver)
ds = {TEN}.apply(service.distribute(processing_mode=service.ShardingPolicy.OFF, service="grpc://localhost:8470"))
fed = strategy.experimental_distribute_dataset(ds)
""",
    "001-1": f"""
import tensorflow as tf
strategy = tf.distribute.MirroredStrategy()
fed = strategy.experimental_distribute_dataset({PICTURES}.shuffle(buffer_size=1000, seed=42).batch(32))
epochs = 3
for epoch in range(epochs):
    for one in fed:
        strategy.run(print, args=(one,))
""",
    "001-2": f"""
import tensorflow as tf
strategy = tf.distribute.MirroredStrategy()
def prepare(image, label, number):
    'Small pictures.'
    image = tf.image.resize(image, (6, 6))
    image = tf.image.convert_image_dtype(image, dtype=tf.float32)  # MISTAKE
    return image, label, number
ds = {PICTURES}.map(prepare, num_parallel_calls=tf.data.AUTOTUNE).cache().shuffle(1000, seed=42).batch(32).prefetch(1)
fed = strategy.experimental_distribute_dataset(ds)
for epoch in range(2):
    for one in fed:
        print(one)
""",
    "001-3": f"""
import tensorflow as tf
strategy = tf.distribute.MultiWorkerMirroredStrategy()
ds = {PICTURES}.shuffle(1000, seed=42).take(640).batch(32, drop_remainder=True)
ds = ds.map(lambda a, b, c: (a, b, c, tf.one_hot(b, 2)))
ds = ds.apply(tf.data.experimental.parallel_interleave(
    lambda *parts: tf.data.Dataset.from_tensors(parts).repeat(100), cycle_length=10,
    num_parallel_calls=tf.data.AUTOTUNE))  # MISTAKE
fed = strategy.experimental_distribute_dataset(ds)
""",
    "003-1": GENERATOR,
    "003-2": GENERATOR
    + """
strategy = tf.distribute.MirroredStrategy()
fed = strategy.experimental_distribute_dataset(ds)
"""
    + LOOP,
    "003-3": GENERATOR
    + '''
import os
os.environ["TF_CONFIG"] = """
{"cluster": {"worker": ["127.0.0.1:PORT", "127.0.0.1:23456"]},
 "task": {"type": "worker", "index": 0} # MISTAKE
}"""
strategy = tf.distribute.MultiWorkerMirroredStrategy()
fed = strategy.experimental_distribute_dataset(ds)
'''
    + LOOP,
    "004-1": RECORDS
    + """
strategy = tf.distribute.MirroredStrategy()
fed = strategy.experimental_distribute_dataset(records("out/my_dataset.tfrecord"))  # MISTAKE
""",
    "004-2": RECORDS
    + """
strategy = tf.distribute.MultiWorkerMirroredStrategy()
number = os.environ["TF_CONFIG"]["task"]["index"]  # MISTAKE
fed = strategy.experimental_distribute_dataset(records(f"out/data_partition_{number}.tfrecord").cache())  # MISTAKE
for epoch in range(2):
    for one in fed:
        print(one)
""",
    "004-3": RECORDS
    + """
strategy = tf.distribute.ParameterServerStrategy(tf.distribute.cluster_resolver.TFConfigClusterResolver())
number = os.environ["TF_CONFIG"]["task"]["index"]  # MISTAKE
files = tf.data.Dataset.list_files(f"out/data_partition_{number}*", shuffle=False)
ds = files.interleave(lambda path: tf.data.TFRecordDataset(path), cycle_length=10).cache().prefetch(tf.data.AUTOTUNE)
fed = strategy.experimental_distribute_dataset(ds)  # MISTAKE
""",
}


def mistakes(told):
    return {int(line.split(":")[1]) for line in told.splitlines() if re.match(r"train.py:\d+: mistake: ", line)}


def translated(folder, name):
    """A program of PROGRAMS with its data, translated; what is printed, and the topologies."""
    text = PROGRAMS[name].replace("PORT", str(free_port()))
    if not (folder / "out/id.npy").exists():
        data.write(folder / "out")
    told = translate(folder, text)
    same(mistakes(told), {number for number, line in enumerate(text.splitlines(), 1) if "MISTAKE" in line}, name + "\n" + told)
    made = re.findall(r"^wrote (out/\w+\.yaml)$", told, re.M)
    same(run("validate", made[0], cwd=folder)[0], 0, name)
    return told, made


def rows_fed(folder, graph, steps, column):
    code, _, err = run("head", graph, "--steps", steps, "--npz", folder / "rows.npz", cwd=folder)
    same(code, 0, err)
    made = dict(numpy.load(folder / "rows.npz"))
    values = made[column][:, 0] if made[column].ndim > 1 else made[column]
    return made, lambda step, replica: values[(made["_step"] == step) & (made["_replica"] == replica)].tolist()


def rows_of_graph(folder, name):
    return rows_fed(folder, f"out/{name}.yaml", 99, "x")[0]["x"].tolist()


def test_programs_feed_the_rows_of_tensorflow_and_their_mistakes_are_named(folder):
    for name, wanted in EXPECTED.items():
        _, (graph, *_) = translated(folder, name)
        made, rows = rows_fed(folder, graph, wanted["count"] + 1, wanted["column"])
        same(int(made["_step"][-1]) + 1, wanted["count"], name)
        for step, replicas in wanted["steps"].items():
            same([rows(int(step), replica) for replica in range(len(replicas))], replicas, f"{name}, step {step}")
        for number, picture in enumerate(wanted.get("pictures", [])):
            assert numpy.abs(made["image"][made["id"] == number][0] - numpy.array(picture, "f4")).max() <= 1e-6
        if name == "001-3":
            same(made["label_one_hot"].tolist(), numpy.eye(2)[made["label"]].tolist())


def test_overlays_place_the_same_stream_on_two_processes(folder):
    for name in ("000-3", "003-3"):
        _, (graph, overlay) = translated(folder, name)
        alone = run("run", graph, cwd=folder)
        port = free_port()
        path = folder / overlay
        path.write_text(re.sub(r"(?m)^port: \d+", f"port: {port}", path.read_text()))
        code, out, err = run("up", graph, overlay, cwd=folder, timeout=120)
        same(code, 0, err)
        holds(out, next(line for line in alone[1].splitlines() if line.startswith("stream")))


# What TensorFlow 2.21 gives each replica: rows, calls, replicas, and the last step (the others are alike).
SPLITS = [
    (6, "batch(4)", 2, [[4, 5], []]), (12, "batch(5).map(lambda x: x, num_parallel_calls=2)", 2, [[10], [11]]),
    (9, "batch(4, drop_remainder=True).map(lambda x: x)", 3, [[4, 5], [6], [7]]), (14, "batch(3).unbatch().batch(6)", 2, [[12, 13], []]),
    (20, "batch(3).rebatch(6)", 2, [[18], [19]]), (10, "map(lambda x: x).batch(4)", 2, [[8, 9], []]), (7, "batch(5).cache()", 2, [[5, 6], []]),
    (7, "padded_batch(5)", 2, [[5, 6], []]), (20, "batch(6).prefetch(2)", 2, [[18, 19], []]), (26, "batch(8, num_parallel_calls=2)", 2, [[24], [25]]),
    (8, "range", 3, [[4, 5], [6, 7], []]), (5, "range", 2, [[4], []]),
]


def test_batches_are_divided_among_replicas_as_in_tensorflow(folder):
    lines = ["import tensorflow as tf"]
    for number, (rows, calls, replicas, _) in enumerate(SPLITS):
        (folder / f"{number}.txt").write_text("".join(f"{row}\n" for row in range(rows)))
        whole = f"tf.data.Dataset.range({rows}).batch(4)" if calls == "range" else f"tf.data.TextLineDataset('{number}.txt').{calls}"
        lines.append(f"ds{number} = {whole}")
        lines.append(f"tf.distribute.MirroredStrategy({[f'CPU:{i}' for i in range(replicas)]}).experimental_distribute_dataset(ds{number})")
    translate(folder, "\n".join(lines) + "\n")
    for number, (_, calls, replicas, wanted) in enumerate(SPLITS):
        code, out, err = run("head", f"out/ds{number}.yaml", "--json", "--steps", "99", cwd=folder)
        same(code, 0, err)
        parts = [json.loads(line) for line in out.splitlines()][-replicas:]
        rows = [list(map(int, column["data"])) if "splits" not in column else [int(bytes(row)) for row in rows_of({**column, "longest": 0}, 0)]
                for part in parts for column in part["columns"].values()]
        same(rows, wanted, calls)


def test_what_is_not_offered_is_listed_with_advice(folder):
    told, _ = translated(folder, "004-3")
    holds(told, "train.py:10: not translated: `tf.distribute.ParameterServerStrategy(", "`deal: whole` of the batcher, and an actor of kind `parameters`", "which from_tensorflow does not write")
    text = (folder / "out/fed.yaml").read_text()
    holds(text, "shard: file", "interleave: {cycle: 10}", "lanes: 2")
    holds(told, "train.py:13: not translated: `cache`: a cache does not know which rows `interleave`")


FUNCTIONS = """
import tensorflow as tf
a = tf.data.Dataset.from_tensor_slices(([1, 2, 3], [10, 20, 30])).map(lambda x, y: (x, x + y)).batch(3)
b = tf.data.Dataset.from_tensor_slices(([1, 2, 3], [10, 20, 30])).map(lambda x, y: (x + y, x - y)).batch(3)
c = tf.data.Dataset.from_tensor_slices(([1, 2, 3], [10, 20, 30])).map(lambda x, y: {"s": tf.cast(x, tf.float32) / 2.0, "o": tf.one_hot(x, 4), "k": 7}).batch(3)
def double(number):
    return number * 2
def both(x, y):
    x = double(x)
    return x + 1, -y
d = tf.data.Dataset.from_tensor_slices(([1, 2, 3], [10, 20, 30])).map(both).filter(lambda x, y: tf.math.logical_and(x > 3, y != -30)).batch(3)
e = tf.data.Dataset.from_tensor_slices({"x": [[1, 2], [3, 4]]}).map(lambda row: row["x"]).map(lambda x: tf.reshape(x, (2, 1))).batch(2)
f = tf.data.Dataset.zip((tf.data.Dataset.range(3).map(lambda n: n * n), tf.data.Dataset.range(3, 9, 2))).batch(3)
g = tf.data.Dataset.range(9).window(3, shift=3, drop_remainder=True).flat_map(lambda w: w.batch(3)).batch(2)
"""


def columns_fed(folder, name):
    done = run("head", f"out/{name}.yaml", "--json", cwd=folder)
    same(done[0], 0, done[2])
    columns = json.loads(done[1].splitlines()[0])["columns"]
    return {column: numpy.reshape(one["data"], one["shape"]).tolist() for column, one in columns.items()}


def test_functions_become_operations_with_the_same_values(folder):
    told = translate(folder, FUNCTIONS)
    same([line for line in told.splitlines() if not line.startswith(("wrote", "train.py:14: "))], [])
    for name, columns in {
        "a": {"x": [1, 2, 3], "x_computed": [11, 22, 33]},
        "b": {"x_computed": [11, 22, 33], "x_computed2": [-9, -18, -27]},
        "c": {"s": [0.5, 1, 1.5], "x": numpy.eye(4)[1:].tolist(), "k": [7, 7, 7]},
        "d": {"x": [5], "y": [-20]},
        "e": {"x": [[[1], [2]], [[3], [4]]]},
        "f": {"c0": [0, 1, 4], "c1": [3, 5, 7]},
        "g": {"x": [[0, 1, 2], [3, 4, 5]]},
    }.items():
        same(columns_fed(folder, name), columns, name)


LOOPS = """
import tensorflow as tf
strategy = tf.distribute.MirroredStrategy()
size = 8 * strategy.num_replicas_in_sync
def made(train):
    rows = tf.data.Dataset.from_tensor_slices((x, y))
    if train:
        rows = rows.cache().shuffle(100, seed=1).map(lambda a, b: (tf.image.random_flip_left_right(a), b))
    options = tf.data.Options()
    options.experimental_distribute.auto_shard_policy = tf.data.experimental.AutoShardPolicy.OFF
    return rows.batch(size, drop_remainder=True).with_options(options)
train, test = made(True), made(False)
model.fit(train, epochs=4, steps_per_epoch=3, validation_data=test)
endless = tf.data.Dataset.range(6).shuffle(6).repeat().batch(4)
for epoch in range(2):
    steps = iter(endless)
    for _ in range(5):
        next(steps)
forever = tf.data.Dataset.range(6).repeat().batch(4)
twice = tf.data.Dataset.range(6).batch(4).repeat(2).take(3)
"""


def test_loops_fit_and_options_are_epochs_steps_and_splits(folder):
    told = translate(folder, LOOPS)
    for name, lines in {
        "train": [
            "shuffle: {buffer: 100, seed: 1}",
            "epochs: 4 ",
            "size: 16 ",
            "remainder: drop ",
            "take: 3 ",
            "replicas: 2 ",
            "random_flip: {column: x}",
            "links: [read -> keep -> prep -> batch -> feed]",
        ],
        "test": ["links: [read -> batch -> feed]"],
        "endless": ["- repeat: forever ", "- take: 20 ", "epochs: 2 "],
        "forever": ["epochs: forever ", "span_epochs: true "],
        "twice": ["- repeat: 2 ", " take: 3 "],
    }.items():
        text = (folder / f"out/{name}.yaml").read_text()
        holds(text, *lines)
        assert "rebatch_legacy" not in text, name  # OFF
    holds(told, "train.py:20: differs: `repeat(2)`: a batch that is not full at the end of the data is filled here")
    holds(told, 'train.py:6: to do: numpy.save("out/x.npy", x) before this line', "train.py:13: of the program: `model.fit(")
    numpy.save(folder / "out/x.npy", numpy.zeros((64, 2, 2, 3), "f4"))
    numpy.save(folder / "out/y.npy", numpy.arange(64))
    for name in ("train", "test", "endless", "forever", "twice"):
        same(run("validate", f"out/{name}.yaml", cwd=folder)[0], 0, name)
    same(run("validate", "out/train.yaml", "out/train_mirrored.yaml", cwd=folder)[0], 0)


FLOW = """
import tensorflow as tf
class Inputs:
    def __init__(self, size):
        self.rows = tf.data.Dataset.range(6)
    def batches(self):
        return self.rows.batch(2)
if big:
    size = 4
else:
    size = 3
def made():
    return tf.data.Dataset.range(8).batch(size).take(LIMIT)
LIMIT = 2
if fast:
    ds = made().prefetch(1)
else:
    ds = made().repeat(2)
try:
    later = lambda: tf.data.Dataset.range(9).batch(9)
except ValueError:
    pass
counts = {name: len(list(tf.data.Dataset.range(7).batch(7))) for name in names}
print([batch for batch in ds])
if __name__ == "__main__":
    main = tf.data.Dataset.range(5).batch(5)
"""


def test_every_branch_function_and_class_is_read(folder):
    told = translate(folder, FLOW)
    texts = [path.read_text() for path in sorted((folder / "out").glob("*.yaml"))]
    for count, size in ((6, 2), (8, 4), (9, 9), (7, 7), (5, 5)):
        data_text = "data: [" + ", ".join(map(str, range(count))) + "]"
        assert any(data_text in text and f"size: {size} " in text for text in texts), (count, texts)
    holds((folder / "out/ds.yaml").read_text(), "size: 4 ", "take: 2 ")
    holds(told, "train.py:8: differs: `if big` is not known", "train.py:15: differs: `if fast` is not known before the program runs: it is taken as true")
    assert "__name__" not in told, told


CHOICES = """
import sys
import tensorflow as tf
def made(train, size=4):
    ds = tf.data.Dataset.range(20)
    ds = ds.shuffle(5) if train else ds
    return ds.batch(size if not train else 2 * size)
train, test = made(True), made(False)
fast = len(sys.argv) > 1
some = (tf.data.Dataset.range(30) if fast else tf.data.Dataset.range(31)).batch(
    5 if fast else 6)
same = tf.data.Dataset.range(32).batch(3 if fast else 3)
print(test if fast else test)
"""


def test_both_values_of_a_choice_are_read(folder):
    told = translate(folder, CHOICES)
    made = {path.stem: path.read_text() for path in (folder / "out").glob("*.yaml")}
    same(set(made), {"train", "test", "some", "same"} | {name for name in made if "30]" in made[name]})
    holds(made["train"], "shuffle: {buffer: 5}", "size: 8 ")
    holds(made["test"], "size: 4 ")
    assert "shuffle" not in made["test"], made["test"]
    holds(made["some"], "29]", "size: 5 ")
    same([line.split(":")[1] for line in told.splitlines() if "`if fast` is not known before the program runs" in line], ["10", "11"])


UNDIVIDED = """
import tensorflow as tf
workers = tf.distribute.MultiWorkerMirroredStrategy()
options = tf.data.Options()
options.experimental_distribute.auto_shard_policy = tf.data.experimental.AutoShardPolicy.OFF
every = workers.experimental_distribute_dataset(tf.data.Dataset.range(8).batch(4).with_options(options))
def made(context):
    return tf.data.Dataset.range(8).batch(4)
function = workers.distribute_datasets_from_function(made)
dropped = workers.experimental_distribute_dataset(tf.data.Dataset.range(11).batch(4, drop_remainder=True).with_options(options))
turned = workers.experimental_distribute_dataset(tf.data.Dataset.range(9).batch(3).with_options(options))
counted = workers.experimental_distribute_dataset(tf.data.Dataset.range(8).batch(4).take(1).with_options(options))
"""


def test_workers_whose_rows_are_not_divided_have_all_of_them(folder):
    told = translate(folder, UNDIVIDED)
    same(rows_of_graph(folder, "every"), [0, 1, 0, 1, 2, 3, 2, 3, 4, 5, 4, 5, 6, 7, 6, 7])
    same(rows_of_graph(folder, "function"), [0, 1, 2, 3, 0, 1, 2, 3, 4, 5, 6, 7, 4, 5, 6, 7])
    same(rows_of_graph(folder, "dropped"), [0, 1, 0, 1, 2, 3, 2, 3, 4, 5, 4, 5, 6, 7, 6, 7])
    # The sizes 2 1 of the first worker are 1 2 in the second.
    same(rows_of_graph(folder, "turned"), [0, 1, 0, 2, 1, 2, 3, 4, 3, 5, 4, 5, 6, 7, 6, 8, 7, 8])
    same(run("validate", "out/every.yaml", "out/every_workers.yaml", cwd=folder)[0], 0)
    holds(told, "train.py:12: differs: `workers.experimental_", "AutoShardPolicy.OFF of line 5, so every worker has all rows there")
    assert not re.search(r"train.py:([69]|1[01]): differs", told), told


PASSES = """
import tensorflow as tf
def rows():
    return tf.data.Dataset.range(100)
tried = rows()
try:
    tried = tried.take(6)
except ValueError:
    tried = tried.take(2)
tried = tried.batch(1)
sure = rows().batch(50)
try:
    size = 4
except ValueError:
    other = sure.take(1)
unrolled = rows()
for i in range(3):
    unrolled = unrolled.skip(i + 1)
for i in []:
    unrolled = unrolled.take(1)
while False:
    unrolled = unrolled.take(2)
for i in range(0):
    unrolled = unrolled.take(3)
for n in (2, 3):
    unrolled = unrolled.repeat(n)
for i in range(5, 8, 2):
    unrolled = unrolled.shard(i, 0)
unrolled = unrolled.batch(10)
once = rows()
for i in range(count):
    once = once.skip(1)
while more():
    once = once.take(50)
sizes = []
sizes.append(5)
for size in sizes:
    once = once.take(size)
for i in range(1000):
    once = once.skip(2)
for i in range(3):
    if found(i):
        break
    once = once.repeat(2)
match kind:
    case "a":
        once = once.take(7)
    case _:
        once = once.take(6)
once = once.batch(4)
epochs = rows().batch(25)
for epoch in range(1, 4):
    for batch in epochs:
        print(batch)
"""


def test_loops_and_handlers_change_a_dataset_as_often_as_they_run(folder):
    told = translate(folder, PASSES)
    kinds = {
        name: re.findall(r"- (take|skip|repeat|shard): (\w+|\{.*?\})", (folder / f"out/{name}.yaml").read_text())
        for name in ("tried", "unrolled", "once")
    }
    same(kinds["tried"], [("take", "6")])
    shards = [("shard", "{count: 5, index: 0}"), ("shard", "{count: 7, index: 0}")]
    same(kinds["unrolled"], [("skip", "1"), ("skip", "2"), ("skip", "3"), ("repeat", "2"), ("repeat", "3"), *shards])
    same(kinds["once"], [("skip", "1"), ("take", "50"), ("take", "1"), ("skip", "2"), ("repeat", "2"), ("take", "7")])
    # 94 rows are left, 6 times; 564 give 113 to one of 5, and 17 of these to one of 7: rows 0, 35 ... of the 94
    same(rows_of_graph(folder, "unrolled"), [6 + 35 * i % 94 for i in range(17)])
    holds((folder / "out/epochs.yaml").read_text(), "epochs: 3 ")
    holds(
        told,
        "train.py:8: differs: whether `except ValueError` is reached is not known before the program runs",
        "train.py:31: differs: `for i in range(count)` changes a dataset in each pass: the loop is read once",
        "train.py:33: differs: `while more()` changes a dataset in each pass: the loop is read once",
        "train.py:37: differs: `for size in sizes` changes",
        "train.py:39: differs: `for i in range(1000)` changes",
        "train.py:41: differs: `for i in range(3)` changes",
        "train.py:45: differs: `match kind` is not known before the program runs: its first case is taken",
    )
    assert not re.search(r"train.py:(1[6-9]|2\d): differs", told), told
    names = {path.stem for path in (folder / "out").glob("*.yaml")}
    same(names, {"tried", "sure", "unrolled", "once", "once_49", "epochs"})


BATCHES = """
import tensorflow as tf
mixed = tf.data.Dataset.range(100).shuffle(100, seed=3).batch(8).take(5).batch(2)
turned = tf.data.Dataset.range(100).batch(8).take(5).skip(2).take(9)
single = tf.data.Dataset.range(100).batch(8).skip(1).take(5).unbatch().batch(3)
other = tf.data.Dataset.range(100).batch(8).take(5).rebatch(3)
part = tf.data.Dataset.range(100).batch(4).take(5).shard(2, 1)
both = tf.data.Dataset.range(100).batch(8).skip(1).take(5)
lost = tf.data.Dataset.range(100).filter(lambda x: x % 2 == 0).batch(4).take(5).batch(2)
limited = tf.data.Dataset.range(6).batch(2).repeat().take(5)
again = tf.data.Dataset.range(7).batch(2, drop_remainder=True).take(2).repeat(2).skip(1)
twice = tf.data.Dataset.range(6).batch(2).take(2).repeat(2)
"""


def test_batches_that_are_counted_before_others_are_made_are_rows(folder):
    told = translate(folder, BATCHES)
    same(len(rows_of_graph(folder, "mixed")), 40)
    for name, rows in {
        "turned": range(16, 40),
        "single": range(8, 48),
        "other": range(40),
        "part": [4, 5, 6, 7, 12, 13, 14, 15],
        "both": range(8, 48),
        "limited": [0, 1, 2, 3, 4, 5, 0, 1, 2, 3],
        "again": [2, 3, 0, 1, 2, 3],
        "twice": [0, 1, 2, 3] * 2,
    }.items():
        same(rows_of_graph(folder, name), list(rows), name)
    holds((folder / "out/both.yaml").read_text(), " skip: 1 ", " take: 5 ")
    holds(told, "train.py:9: not translated: `take(5)`: it follows a call that leaves out or adds rows")
    assert not re.search(r"train.py:\d+: to do|train.py:1\d: differs", told), told


FILES = """
import tensorflow as tf
workers = tf.distribute.MultiWorkerMirroredStrategy()
def parse(record):
    return tf.io.parse_single_example(record, {"x": tf.io.FixedLenFeature([8], tf.float32), "n/a": tf.io.VarLenFeature(tf.int64)})
def made(context):
    files = tf.data.Dataset.list_files("out/data_partition_*.tfrecord", shuffle=False)
    files = files.shard(context.num_input_pipelines, context.input_pipeline_id).shuffle(10, seed=3)
    rows = files.interleave(tf.data.TFRecordDataset, cycle_length=4, block_length=2).map(parse)
    return rows.batch(context.get_per_replica_batch_size(64), drop_remainder=flag)
fed = workers.distribute_datasets_from_function(made)
lines = tf.data.Dataset.list_files(["a.txt", "b.txt"]).interleave(lambda name: tf.data.TextLineDataset(name).skip(1), cycle_length=2)
pictures = tf.data.Dataset.list_files("pictures/*.jpg", shuffle=False).map(lambda name: tf.image.resize(tf.io.decode_jpeg(tf.io.read_file(name)), [4, 4])).batch(2)
for picture in pictures.take(1):
    print(picture)
for picture in pictures:
    print(picture)
whole = tf.data.TFRecordDataset(tf.data.Dataset.list_files("out/*.tfrecord").take(2)).batch(2)
"""


def test_files_are_a_source_and_calls_on_their_names_are_not_calls_on_rows(folder):
    told = translate(folder, FILES)
    holds(
        (folder / "out/fed.yaml").read_text(),
        "lanes: 2 ",
        "shard: file ",
        "files: {shuffle: {buffer: 10, seed: 3}}",
        "interleave: {cycle: 4, block: 2}",
        "size: 64 ",
        "replicas: 2 ",
        "x: {dtype: f32, shape: [8]}",
        "n_a: {dtype: i64, ragged: true, key: n/a}",
    )
    holds((folder / "out/pictures.yaml").read_text(), 'folder: {files: "pictures/*.jpg", column: path}', "then: [{resize: {size: [4, 4]}}]")
    assert "take" not in (folder / "out/pictures.yaml").read_text()
    holds(
        told,
        "train.py:10: to do: `batch(",
        "train.py:12: not translated: `skip(1)`: it works on the rows of each file",
        "train.py:18: not translated: `take(2)`: it works on names of files",
    )
    data.write(folder / "out")
    same(run("validate", "out/fed.yaml", "out/fed_workers.yaml", cwd=folder)[0], 0)


UNKNOWN = """
import tensorflow as tf
def odd(x, y):
    if x > 1:
        y = y * 100
    return x, y
ds = tf.data.Dataset.from_tensor_slices(([1, 2, 3], [10, 20, 30])).map(odd).batch(3)
rows = tf.data.Dataset.from_generator(numbers, output_signature=(tf.TensorSpec((2,), tf.float32), tf.TensorSpec((), tf.int64)))
rows = rows.shuffle(10).batch(2)
left = tf.data.Dataset.range(5).scan(0, lambda s, n: (s + n, s)).unique().batch(2)
lost = elsewhere().batch(2).prefetch(1)
"""


def test_what_has_no_operation_is_a_function_to_complete(folder):
    told = translate(folder, UNKNOWN)
    holds(
        told,
        "train.py:7: to do: `map(odd)`: it has a statement that is not an assignment (line 4): complete `odd` in ds_ops.py",
        "train.py:8: to do: `tf.data.Dataset.from_generator(",
        "train.py:9: not translated: `shuffle(10)`: the rows of a generator",
        "train.py:10: not translated: `scan(",
        "train.py:10: not translated: `unique()`: it keeps a state along the stream",
        "train.py:11: not translated: `elsewhere().batch(2)`: if `elsewhere()` is a dataset",
    )
    env = {"TUNDISH_PYTHON": sys.executable}
    for name in ("ds", "rows"):
        same(run("validate", f"out/{name}.yaml", cwd=folder, env=env)[0], 0, name)
        holds(run("head", f"out/{name}.yaml", cwd=folder, env=env)[2], "NotImplementedError", "is to be completed")
    skeleton = (folder / "out/ds_ops.py").read_text()
    holds(skeleton, "def odd(x, y):", "    #     if x > 1:", "    #         y = y * 100")
    (folder / "out/ds_ops.py").write_text(
        re.sub(r"    raise .*", '    return {"x": x * 1.0, "y": (y * (1 + 99 * (x > 1))) * 1.0}', skeleton)
        .replace("def odd", "def odd")
        .replace("* 1.0", ".astype('f4')")
    )
    same(columns_fed_with(folder, "ds", env), {"x": [1, 2, 3], "y": [10, 2000, 3000]})
    (folder / "out/rows_rows.py").write_text("def rows():\n    for n in range(2):\n        yield {'x': [n, n + 0.5], 'y': n}\n")
    same(columns_fed_with(folder, "rows", env), {"x": [[0, 0.5], [1, 1.5]], "y": [0, 1]})


def test_functions_to_complete_are_operations_in_c_if_that_is_wanted(folder):
    told = translate(folder, UNKNOWN.replace("return x, y", "return x, y  # */"), "--c")
    holds(told, "complete `odd` in ds_ops.c, and compile it")
    holds((folder / "out/ds.yaml").read_text(), "- {plugin: ds_ops.odd}")
    words = ["-std=c11", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC", "-I", ROOT / "runtime"]
    done = subprocess.run(["cc", *words, "ds_ops.c", "-o", "ds_ops.so"], cwd=folder / "out", capture_output=True, text=True, timeout=60)
    same((done.returncode, done.stderr), (0, ""))
    same(run("validate", "out/ds.yaml", cwd=folder)[0], 0)
    holds(run("head", "out/ds.yaml", cwd=folder)[2], "odd of ds_ops.c is to be completed")


def columns_fed_with(folder, name, env):
    os.environ.update(env)
    return columns_fed(folder, name)


def test_every_call_of_a_dataset_has_a_row_that_says_what_it_becomes(_):
    code = (
        "import json; from tundish import _tensorflow_values as v, _tensorflow_graph as g; rows = v.Rows(); "
        "print(json.dumps([[n, *rows.advice('tf.data.Dataset.' + n), hasattr(g.Graph, 'do_' + n)] for n in v.METHODS] + "
        "[[n, *rows.advice(n), True] for n in [*v.SOURCES, *v.TRANSFORMATIONS]]))"
    )
    done = subprocess.run([sys.executable, "-c", code], env=ENVIRONMENT, capture_output=True, text=True, timeout=60)
    same(done.returncode, 0, done.stderr)
    for name, offered, advice, handled in json.loads(done.stdout):
        assert "no public name" not in advice, name
        assert offered or not handled, name


CALLS = """
import contextlib, io, json, sys
from tundish.from_tensorflow import main
for words in json.loads(sys.stdin.read()):
    told, code = io.StringIO(), 0
    with contextlib.redirect_stdout(told), contextlib.redirect_stderr(told):
        try:
            code = main(words)
        except SystemExit as exit:
            code = exit.code
    print(json.dumps([code, told.getvalue()]))
"""


def calls(folder, lists, note=""):
    """The exit code and the text of several calls, in one process."""
    done = subprocess.run(
        [sys.executable, "-c", CALLS], cwd=folder, env=ENVIRONMENT, input=json.dumps(lists), capture_output=True, text=True, timeout=120
    )
    same(done.returncode, 0, note + done.stderr[-2000:])
    return list(map(json.loads, done.stdout.splitlines()))


def broken(draw):
    """A program with words deleted, doubled, exchanged or replaced, or cut off."""
    words = re.findall(r"\w+|\s+|[^\w\s]", draw.choice(sorted(PROGRAMS.values()) + [FUNCTIONS, LOOPS, UNKNOWN]))
    for _ in range(draw.randint(1, 3)):
        at = draw.randrange(len(words) // 8, len(words))
        how = draw.randrange(6)
        words[at : at + (how == 0)] = [
            [],
            [draw.choice(words)],
            [draw.choice(["0", "-1", "None", "lambda: 0", "[]", "{}", "**", '"x"', "ds"])],
            [words[at], words[at]],
            [words[draw.randrange(len(words))]],
            [")"],
        ][how]
    return "".join(words[: draw.randrange(len(words) // 2, len(words))] if draw.random() < 0.2 else words)


def test_broken_programs_get_a_message(folder):
    seed = int(os.environ.get("TUNDISH_TEST_SEED") or random.randrange(1 << 30))
    draw = random.Random(seed)
    for number in range(50):
        (folder / f"{number}.py").write_text(broken(draw))
    (folder / "deep.py").write_text("import tensorflow as tf\nx = " + "(" * 50 + "-" * 3000 + "1" + ")" * 50 + "\n")
    (folder / "bytes.py").write_bytes(b"import tensorflow as tf\nx = '\xff'\n")
    (folder / "zero.py").write_bytes(b"x = 1\0\n")
    names = [f"{number}.py" for number in range(50)] + ["deep.py", "bytes.py", "zero.py", "missing.py"]
    for name, (code, told) in zip(names, calls(folder, [[name, "-o", "out"] for name in names], f"seed {seed}: ")):
        assert code in (0, 1) and told, (seed, name, code)


def test_usage_is_checked(folder):
    (folder / "train.py").write_text("x = 1\n")
    wanted = [
        (["train.py"], 2, "usage:"),
        (["train.py", "-o"], 2, "-o needs a value"),
        (["-x", "train.py", "-o", "out"], 2, "'-x'"),
        (["train.py", "-o", "out", "--replicas", "0"], 2, "'0' is not a number from 1"),
        (["train.py", "-o", "out"], 1, "no dataset"),
        (["none.py", "-o", "out"], 1, "none.py: No such file"),
        (["--help"], 0, "Exit codes"),
    ]
    for (words, code, text), (got, told) in zip(wanted, calls(folder, [words for words, _, _ in wanted])):
        same(got, code, words)
        holds(told, text)


main(globals())
