#!/usr/bin/env python3
"""Writes examples/seeds/expected.json: what TensorFlow 2.21 gives each replica in the programs of examples/seeds,
and the losses of those that train.

    python3 tests/oracle/seeds.py          needs tensorflow-cpu 2.21

The programs are repaired as the head of each graph says; the data are those of data.py.  Models compute in f64, because
in f32 the rounding of many steps of Adam adds up.
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
import keras  # noqa: E402

SEEDS = pathlib.Path(__file__).resolve().parents[2] / "examples/seeds"
sys.path.insert(0, str(SEEDS))
import data  # noqa: E402

keras.config.set_floatx("float64")

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


def scaled(image, label, number):
    return tf.image.convert_image_dtype(image, tf.float32), label, number


def pictures():
    def preprocess(image, label, number):
        return tf.image.resize(scaled(image, label, number)[0], (6, 6)), label, number
    dataset = arrays("image", "label", "id").map(preprocess)
    return dataset.cache().shuffle(1000, seed=42).batch(32), dataset.batch(2)


def repeated():
    """Elements of 32 rows, each for two replicas of 16."""
    dataset = shuffled().map(scaled).batch(32, drop_remainder=True)
    dataset = dataset.map(lambda image, label, number: (image, label, tf.one_hot(label, 2) * [0.1, 0.9], number))
    return dataset.interleave(lambda *element: tf.data.Dataset.from_tensors(element).repeat(100), cycle_length=10)


def generated():
    source, target = load("input", "output")

    def batches():
        for begin in range(0, len(source), 64):
            yield source[begin:begin + 64], target[begin:begin + 64]
    return tf.data.Dataset.from_generator(batches, output_signature=(
        tf.TensorSpec((None, 8), tf.float32), tf.TensorSpec((None, 2), tf.float32)))


def network(inputs, outputs, activation=None):
    """Two layers with the initial values of dense_step.c."""
    model = keras.Sequential([keras.Input((inputs,)), keras.layers.Dense(16, "relu"),
                              keras.layers.Dense(outputs, activation)])
    for layer in model.layers:
        kernel, bias = layer.get_weights()
        first = ((37 * numpy.arange(kernel.size) % 101) - 50) / 50 * numpy.sqrt(6 / sum(kernel.shape))
        layer.set_weights([first.astype("f4").reshape(kernel.shape), bias])
    return model


def train(strategy, distributed, sizes, loss_of, optimizer, epochs=1):
    """The loss of each step: what `strategy.reduce(SUM, ...)` gives of the replicas' losses."""
    with strategy.scope():
        model, update = network(*sizes), optimizer()
        update.build(model.trainable_variables)

    def train_step(batch):
        with tf.GradientTape() as tape:
            loss = loss_of(model, batch)
        update.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))
        return loss

    # With the signature, a replica without rows has the loss 0; of a static shape it would be an empty tensor.
    @tf.function(input_signature=[distributed.element_spec])
    def step(batch):
        return strategy.reduce(tf.distribute.ReduceOp.SUM, strategy.run(train_step, args=(batch,)), axis=None)
    return [float(step(batch)) for _ in range(epochs) for batch in distributed]


def flat_logits(model, image):
    return model(tf.reshape(image, (-1, model.input_shape[1])))


def picture_loss(model, batch):
    image, label, _ = batch
    return keras.losses.SparseCategoricalCrossentropy(from_logits=True)(label, flat_logits(model, image))


def weighted_loss(model, batch):
    image, label, weight, _ = batch
    rows = keras.losses.SparseCategoricalCrossentropy(from_logits=True, reduction=None)(label, flat_logits(model, image))
    return tf.reduce_sum(rows[:, None] * tf.cast(weight, rows.dtype))


def generated_loss(model, batch):
    source, target = batch
    return keras.losses.MeanSquaredError()(target, model(source))


def example_loss(model, row):
    return keras.losses.MeanSquaredError()(row["y"][:, None], model(row["x"]))


def descent():
    return keras.optimizers.SGD(0.00001)


def all_losses(two):
    """By program: the losses of its steps."""
    adam, share = keras.optimizers.Adam, two.experimental_distribute_dataset
    pairs = two.distribute_datasets_from_function(partitions)
    return {
        "001-1": train(two, share(shuffled().map(scaled).batch(32)), (192, 10), picture_loss, adam, 3),
        "001-2": train(two, share(pictures()[0]), (108, 10), picture_loss, adam, 2),
        "001-3": train(two, share(repeated()), (192, 10), weighted_loss, adam),
        "003-2": train(two, share(generated()), (8, 2, "sigmoid"), generated_loss, adam, 5),
        "004-1": train(two, share(examples("my_dataset").batch(32)), (8, 1), example_loss, descent),
        "004-2": train(two, pairs, (8, 1), example_loss, descent, 2),
    }


WORKER = """
import sys
sys.path.insert(0, {path!r})
import seeds, pathlib, json
seeds.FOLDER = pathlib.Path({folder!r})
strategy = seeds.tf.distribute.MultiWorkerMirroredStrategy()
dataset = strategy.experimental_distribute_dataset(seeds.generated())
rows = [part.numpy()[:, 0].tolist() for _ in range(5) for x, _ in dataset for part in strategy.experimental_local_results(x)]
losses = seeds.train(strategy, dataset, (8, 2, "sigmoid"), seeds.generated_loss, seeds.keras.optimizers.Adam, 5)
print(json.dumps([rows, losses]))
"""


def two_workers():
    ports = (23411, 23412)
    cluster = {"worker": [f"127.0.0.1:{port}" for port in ports]}
    code = WORKER.format(path=str(pathlib.Path(__file__).parent), folder=str(FOLDER))
    started = [subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True, env={
        **os.environ, "TF_CONFIG": json.dumps({"cluster": cluster, "task": {"type": "worker", "index": index}})})
        for index in range(2)]
    made = [json.loads(worker.communicate()[0].splitlines()[-1]) for worker in started]
    workers, losses = [rows for rows, _ in made], made[0][1]
    assert made[1][1] == losses
    return losses, [[worker[step] if step < len(worker) else [] for worker in workers]
                    for step in range(max(map(len, workers)))]


def first(rows):
    """Of rows that are vectors, the first number."""
    return [[[row[0] for row in part] for part in step] for step in rows]


def partition(index):
    return examples(f"data_partition_{index}").cache().batch(16)


def partitions(_):
    """For two replicas of one process: the batches of the two workers in turn."""
    return tf.data.Dataset.choose_from_datasets([partition(0), partition(1)], tf.data.Dataset.range(2).repeat(), False)


def of_workers():
    datasets = [partition(0), partition(1)]
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
    resized, values = pictures()
    two_losses, workers = two_workers()
    rows = {
        "000-1": ("x", steps(two, ten(), 0)), "000-2": ("x", shard_batches()), "000-3": ("x", service()),
        "001-1": ("id", steps(two, shuffled().batch(32), 2, 3)), "001-2": ("id", steps(two, resized, 2, 2)),
        "001-3": ("id", steps(two, repeated(), 3)),
        "003-1": ("input", first([[x.numpy().tolist()] for x, _ in generated()])),
        "003-2": ("input", first(steps(two, generated(), 0, 5))), "003-3": ("input", workers),
        "004-1": ("x", first(steps(two, examples("my_dataset").batch(32), "x"))), "004-2": ("x", of_workers()),
    }
    # Of long runs, the first steps, those where the second epoch or group begins, and the last ones.
    made = {name: {"column": column, "count": len(steps), "steps": {
        step: steps[step] for step in sorted({*range(11), 20, 21, 22, 999, 1000, 1001, len(steps) - 2, len(steps) - 1})
        if step < len(steps)}} for name, (column, steps) in rows.items()}
    made["001-2"]["pictures"] = [picture for part in steps(two, values, 0)[0] for picture in part]
    for name, losses in {**all_losses(two), "003-3": two_losses}.items():
        kept = range(len(losses)) if len(losses) < 100 else made[name]["steps"]
        made[name]["losses"] = {step: float(f"{losses[step]:.8g}") for step in kept}
    (SEEDS / "002/expected.txt").write_text(program_002())
    lines = [f"{json.dumps(name)}: {json.dumps(one)}" for name, one in made.items()]
    (SEEDS / "expected.json").write_text("{\n" + ",\n".join(lines) + "\n}\n")


if __name__ == "__main__":
    main()
