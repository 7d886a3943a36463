#!/usr/bin/env python3
"""Trains two replicas of a network on Fashion-MNIST with JAX, as MirroredStrategy does.

    jax_mirrored.py [FOLDER OF THE DATA [OVERLAY HOST]]

The gradients are a pytree, which is posted as it is.  JAX's arrays do not change, so the means of all replicas are
in `result`.  With an overlay that places `feed` on several hosts, each runs this program with its own name."""
import hashlib
import pathlib
import sys

import jax
import jax.numpy as jnp
import tundish


def network(model, image):
    hidden = jax.nn.relu(image.reshape(len(image), -1) @ model["w1"] + model["b1"])
    return hidden @ model["w2"] + model["b2"]


def loss_of(model, image, label):
    """The sum over the rows of a replica."""
    return -(jax.nn.log_softmax(network(model, image)) * jax.nn.one_hot(label, 10)).sum()


@jax.jit
def differentiate(model, image, label):
    loss, gradient = jax.value_and_grad(loss_of)(model, image, label)
    return loss, jax.tree.map(lambda g: g / max(len(image), 1), gradient)  # zeros where it has no rows


@jax.jit
def update(model, momentum, gradient):
    momentum = jax.tree.map(lambda m, g: 0.9 * m + g, momentum, gradient)
    return jax.tree.map(lambda w, m: w - 0.1 * m, model, momentum), momentum


def make_model():
    """The same weights in all replicas, and a momentum of zeros."""
    first, second = jax.random.split(jax.random.key(7))
    model = {"w1": jax.random.normal(first, (784, 128)) / 28, "b1": jnp.zeros(128),
             "w2": jax.random.normal(second, (128, 10)) / 11, "b2": jnp.zeros(10)}
    return model, jax.tree.map(jnp.zeros_like, model)


def hash_of(model):
    return hashlib.sha256(b"".join(bytes(memoryview(jax.device_get(model[name]))) for name in sorted(model))).hexdigest()[:32]


def main(data=None, overlay=None, host=None):
    graph = [pathlib.Path(__file__).with_name("mirrored.yaml"), *([overlay] if overlay else [])]
    one = {"feed.devices": ["cpu:0"]} if overlay is None else {}  # JAX has one device of that kind
    with tundish.feed(*graph, data=data, host=host, settings=one) as feed:
        models, posted, own = [make_model(), make_model()], {}, set()

        def step(replica):
            image, label = jax.dlpack.from_dlpack(replica["image"]), jax.dlpack.from_dlpack(replica["label"])
            loss, gradient = differentiate(models[replica.id][0], image, label)
            replica.report("loss", float(loss), replica.rows)
            posted[replica.id] = replica.reduce("mean", gradient)
            replica.begin()

        def apply(replica):
            own.add(replica.id)  # of this host
            gradient = {name: jnp.array(jax.dlpack.from_dlpack(mean)) for name, mean in posted[replica.id].result.items()}
            models[replica.id] = update(*models[replica.id], gradient)

        while feed.run(step, apply):
            pass
        feed.session.wait()
        if feed.session.metric("loss") is not None:  # the first host knows it
            print(f"loss of the last epoch {feed.session.metric('loss'):.5f}")
        print(f"weights {hash_of(models[min(own)][0])}")


if __name__ == "__main__":
    main(*sys.argv[1:])
