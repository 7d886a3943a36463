#!/usr/bin/env python3
"""Trains a small network on Fashion-MNIST with JAX.

    jax_fashion.py [FOLDER OF THE DATA]

JAX reads the batches where they are, without a copy.  It computes later than the loop runs; each
batch stays as it is until then."""
import pathlib
import sys

import jax
import jax.numpy as jnp
import tundish


def arrays(batch):
    return jax.dlpack.from_dlpack(batch["image"]), jax.dlpack.from_dlpack(batch["label"])


def network(model, image):
    hidden = jax.nn.relu(image.reshape(len(image), -1) @ model["w1"] + model["b1"])
    return hidden @ model["w2"] + model["b2"]


def loss_of(model, image, label):
    return -(jax.nn.log_softmax(network(model, image)) * jax.nn.one_hot(label, 10)).sum(1).mean()


@jax.jit
def train(model, momentum, image, label):
    loss, gradient = jax.value_and_grad(loss_of)(model, image, label)
    momentum = jax.tree.map(lambda m, g: 0.9 * m + g, momentum, gradient)
    return jax.tree.map(lambda w, m: w - 0.1 * m, model, momentum), momentum, loss


@jax.jit
def count_correct(model, image, label):
    return (network(model, image).argmax(1) == label).sum()


def main(data=None):
    first, second = jax.random.split(jax.random.key(7))
    model = {"w1": jax.random.normal(first, (784, 128)) / 28, "b1": jnp.zeros(128),
             "w2": jax.random.normal(second, (128, 10)) / 11, "b2": jnp.zeros(10)}
    momentum = jax.tree.map(jnp.zeros_like, model)
    with tundish.feed(pathlib.Path(__file__).with_name("fashion.yaml"), data=data) as feed:
        for batch in feed:
            model, momentum, loss = train(model, momentum, *arrays(batch))
            if batch.last:
                print(f"epoch {batch.epoch + 1}  loss of the last batch {loss:.4f}")
        correct = rows = 0
        for batch in feed.session.feed("test"):
            correct += count_correct(model, *arrays(batch))
            rows += batch.rows
    print(f"test: accuracy {correct / rows:.4f}  ({rows:,} rows)")


if __name__ == "__main__":
    main(*sys.argv[1:])
