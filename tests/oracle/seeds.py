#!/usr/bin/env python3
"""Writes examples/seeds/expected.json: what TensorFlow 2.21 gives each replica in the programs of examples/seeds.

    python3 tests/oracle/seeds.py          needs tensorflow-cpu 2.21

The programs are repaired as the head of each graph says; the data are those of data.py.
"""
import json
import os
import pathlib
import subprocess
import sys
import tempfile

os.environ.update(CUDA_VISIBLE_DEVICES="", TF_CPP_MIN_LOG_LEVEL="3", TF_ENABLE_ONEDNN_OPTS="0")
import numpy  # noqa: E402
import tensorflow as tf  # noqa: E402

SEEDS = pathlib.Path(__file__).resolve().parents[2] / "examples/seeds"
sys.path.insert(0, str(SEEDS))
import data  # noqa: E402

FOLDER = pathlib.Path(tempfile.mkdtemp())


def load(*names):
    return tuple(numpy.load(FOLDER / f"{name}.npy") for name in names)


def arrays(*names):
    return tf.data.Dataset.from_tensor_slices(load(*names))


def mirrored():
    return tf.distribute.MirroredStrategy(["CPU:0", "CPU:1"])


def steps(strategy, dataset, column, epochs=1):
    """By step, by replica: the values of a column."""
    distributed = strategy.experimental_distribute_dataset(dataset)
    return [[part.numpy().tolist() for part in strategy.experimental_local_results(batch[column])]
            for _ in range(epochs) for batch in distributed]


def examples(*names):
    features = {"x": tf.io.FixedLenFeature([8], tf.float32), "y": tf.io.FixedLenFeature([], tf.float32)}
    records = tf.data.TFRecordDataset([str(FOLDER / f"{name}.tfrecord") for name in names])
    return records.map(lambda record: tf.io.parse_single_example(record, features))


def ten():
    return arrays("ten_x", "ten_y").batch(2)


def shard_batches():
    workers = [[x.numpy().tolist() for x, _ in ten().shard(context.num_input_pipelines, context.input_pipeline_id)]
               for context in (tf.distribute.InputContext(2, index, 2) for index in range(2))]
    most = max(map(len, workers))
    return [[worker[step] if step < len(worker) else [] for worker in workers] for step in range(most)]


def service():
    dispatcher = tf.data.experimental.service.DispatchServer()
    target = dispatcher.target
    worker = tf.data.experimental.service.WorkerServer(
        tf.data.experimental.service.WorkerConfig(dispatcher_address=target.split("://")[1]))
    dataset = ten().apply(tf.data.experimental.service.distribute(
        processing_mode=tf.data.experimental.service.ShardingPolicy.OFF, service=target))
    rows = [[x.numpy().tolist()] for x, _ in dataset]
    del worker, dispatcher
    return rows


def shuffled():
    return arrays("image", "label", "id").shuffle(1000, seed=42)


def pictures(strategy):
    def preprocess(image, label, number):
        return tf.image.resize(tf.image.convert_image_dtype(image, tf.float32), (6, 6)), label, number
    dataset = arrays("image", "label", "id").map(preprocess).cache().shuffle(1000, seed=42).batch(32)
    return steps(strategy, dataset, 2, 2), steps(strategy, arrays("image", "label", "id").map(preprocess).batch(2), 0)[0]


def repeated():
    """Elements of 32 rows, each for two replicas of 16."""
    dataset = shuffled().batch(32, drop_remainder=True).map(lambda image, label, number: (tf.one_hot(label, 2), number))
    dataset = dataset.interleave(lambda *element: tf.data.Dataset.from_tensors(element).repeat(100), cycle_length=10)
    return [[number[:16].numpy().tolist(), number[16:].numpy().tolist()] for _, number in dataset]


def generated():
    source, target = load("input", "output")

    def batches():
        for begin in range(0, len(source), 64):
            yield source[begin:begin + 64], target[begin:begin + 64]
    return tf.data.Dataset.from_generator(batches, output_signature=(
        tf.TensorSpec((None, 8), tf.float32), tf.TensorSpec((None, 2), tf.float32)))


WORKER = """
import sys
sys.path.insert(0, {path!r})
import seeds, pathlib, json
seeds.FOLDER = pathlib.Path({folder!r})
strategy = seeds.tf.distribute.MultiWorkerMirroredStrategy()
dataset = strategy.experimental_distribute_dataset(seeds.generated())
print(json.dumps([part.numpy()[:, 0].tolist() for _ in range(5) for x, _ in dataset for part in strategy.experimental_local_results(x)]))
"""


def two_workers():
    ports = (23411, 23412)
    cluster = {"worker": [f"127.0.0.1:{port}" for port in ports]}
    code = WORKER.format(path=str(pathlib.Path(__file__).parent), folder=str(FOLDER))
    started = [subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True, env={
        **os.environ, "TF_CONFIG": json.dumps({"cluster": cluster, "task": {"type": "worker", "index": index}})})
        for index in range(2)]
    workers = [json.loads(worker.communicate()[0].splitlines()[-1]) for worker in started]
    return [[worker[step] if step < len(worker) else [] for worker in workers] for step in range(max(map(len, workers)))]


def first(rows):
    """Of rows that are vectors, the first number."""
    return [[[row[0] for row in part] for part in step] for step in rows]


def of_workers():
    def records(index):
        return examples(f"data_partition_{index}").cache().batch(16)
    datasets = [records(0), records(1)]
    return [[row["x"].numpy()[:, 0].tolist() for row in pair] for _ in range(2) for pair in zip(*datasets)]


def program_002():
    """What the snippets of document 002 print."""
    strategy, lines = mirrored(), []

    def distributed(arrays, count, size):
        dataset = tf.data.Dataset.from_tensors(arrays).repeat(count).batch(size)
        return strategy.experimental_distribute_dataset(dataset)

    for features_labels in distributed(([1.], [1.]), 4, 4):
        loss = strategy.run(lambda one: one[1] - 0.3 * one[0], args=(features_labels,))
        lines.append(f"Loss is {loss}")
    for epoch in range(2):
        total, batches = 0.0, iter(distributed(([1.], [1.]), 50, 4))
        for _ in range(3):
            losses = strategy.run(lambda one: tf.constant(0.1), args=(next(batches),))
            total += strategy.reduce(tf.distribute.ReduceOp.SUM, losses, axis=None)
        lines.append(f"Epoch {epoch + 1}, Loss: {total / 3:.4f}")
    lines.append(str(strategy.run(tf.square, args=(next(iter(distributed([2.], 100, 4))),))))
    lines.append(str(distributed(([1.], [2]), 100, 16).element_spec))
    dataset = tf.data.Dataset.from_tensor_slices([1, 2, 3, 4]).repeat().batch(4)
    lines.append(str(next(iter(strategy.experimental_distribute_dataset(dataset)))))
    return "\n".join(lines) + "\n"


def main():
    data.write(FOLDER)
    processor = tf.config.list_physical_devices("CPU")[0]
    tf.config.set_logical_device_configuration(processor, [tf.config.LogicalDeviceConfiguration()] * 2)
    two = mirrored()
    resized, values = pictures(two)
    rows = {
        "000-1": ("x", steps(two, ten(), 0)), "000-2": ("x", shard_batches()), "000-3": ("x", service()),
        "001-1": ("id", steps(two, shuffled().batch(32), 2, 3)), "001-2": ("id", resized), "001-3": ("id", repeated()),
        "003-1": ("input", first([[x.numpy().tolist()] for x, _ in generated()])),
        "003-2": ("input", first(steps(two, generated(), 0, 5))), "003-3": ("input", two_workers()),
        "004-1": ("x", first(steps(two, examples("my_dataset").batch(32), "x"))), "004-2": ("x", of_workers()),
    }
    # Of long runs, the first steps, those where the second epoch or group begins, and the last ones.
    made = {name: {"column": column, "count": len(steps), "steps": {
        step: steps[step] for step in sorted({*range(11), 20, 21, 22, 999, 1000, 1001, len(steps) - 2, len(steps) - 1})
        if step < len(steps)}} for name, (column, steps) in rows.items()}
    made["001-2"]["pictures"] = [picture for part in values for picture in part]
    (SEEDS / "002/expected.txt").write_text(program_002())
    lines = [f"{json.dumps(name)}: {json.dumps(one)}" for name, one in made.items()]
    (SEEDS / "expected.json").write_text("{\n" + ",\n".join(lines) + "\n}\n")


if __name__ == "__main__":
    main()
