#!/usr/bin/env python3
"""Prints what the optimizers of actors/optimizer must give, by NumPy and by Keras 3.

    KERAS_BACKEND=numpy tests/oracle/optimizer.py > tests/oracle/optimizer.txt

A line has the name of an optimizer, its options, and then, after bars, the parameters before the
first update, the gradients of each update, what NumPy gives after the last update, and what Keras
gives.  Numbers are the bits of f32.  NumPy takes each operation in f32, in the order that the head of
the optimizer's file documents, but Adam's alpha in f64.
"""
import random

import keras
import numpy as np

F = np.float32


def bits(values):
    return " ".join(f"{word:08x}" for word in np.asarray(values, "f4").view("u4"))


def sgd(w, gradients, rate=0.01, momentum=0.0, nesterov=False):
    m, rate, momentum = np.zeros_like(w), F(rate), F(momentum)
    for g in gradients:
        if momentum == 0:
            w = w - g * rate
            continue
        m = m * momentum - g * rate
        w = w + (m * momentum - g * rate if nesterov else m)
    return w


def adam(w, gradients, rate=0.001, beta_1=0.9, beta_2=0.999, epsilon=1e-7):
    m, v = np.zeros_like(w), np.zeros_like(w)
    b1, b2 = np.float64(F(beta_1)), np.float64(F(beta_2))
    for t, g in enumerate(gradients, 1):
        alpha = F(rate * np.sqrt(1 - b2**t) / (1 - b1**t))
        m = m + (g - m) * F(1 - beta_1)
        v = v + (g * g - v) * F(1 - beta_2)
        w = w - m * alpha / (np.sqrt(v) + F(epsilon))
    return w


def by_keras(name, w, gradients, options):
    names = {"rate": "learning_rate"}
    kind = {"sgd": keras.optimizers.SGD, "adam": keras.optimizers.Adam}[name]
    optimizer = kind(**{names.get(key, key): value for key, value in options.items()})
    variable = keras.Variable(w)
    for g in gradients:
        optimizer.apply([g], [variable])
    return variable.numpy()


CASES = [
    ("sgd", {}, 3), ("sgd", {"rate": 0.1}, 5), ("sgd", {"rate": 0.1, "momentum": 0.9}, 9),
    ("sgd", {"rate": 0.3, "momentum": 0.5, "nesterov": True}, 9), ("sgd", {"rate": 0.0}, 1),
    ("adam", {}, 1), ("adam", {}, 2), ("adam", {"rate": 0.01}, 20),
    ("adam", {"rate": 0.1, "beta_1": 0.5, "beta_2": 0.9, "epsilon": 0.01}, 9),
    ("adam", {"rate": 0.01, "beta_1": 0.0, "beta_2": 0.0}, 4),
]


def main():
    np.seterr(all="ignore")
    luck = random.Random(30)
    print(f"# NumPy {np.__version__}, Keras {keras.__version__}, by tests/oracle/optimizer.py")
    for name, options, updates in CASES:
        w = np.array([luck.uniform(-2, 2) for _ in range(9)] + [0, -0.0, 1e-40, 3e38], "f4")
        gradients = [np.array([luck.gauss(0, 10.0 ** luck.randint(-3, 2)) for _ in range(9)]
                              + [0, -0.0, 1e-42, 1e25], "f4") for _ in range(updates)]
        text = ", ".join(f"{key}: {str(value).lower()}" for key, value in options.items())
        ours = {"sgd": sgd, "adam": adam}[name](w, gradients, **options)
        print(f"{name} {{{text}}} | {bits(w)} | {bits(np.concatenate(gradients))} | {bits(ours)} | "
              f"{bits(by_keras(name, w, gradients, options))}")


if __name__ == "__main__":
    main()
