#!/usr/bin/env python3
"""Trains a dense layer on what a topology feeds, whatever its columns are, and prints the last epoch's accuracy.

Usage: train_dense.py FILE LABEL EPOCHS.  Pictures are divided by 255, of ragged columns values are counted; the first
epoch finds the mean and the deviation of each feature, the others train.
"""
import sys

import numpy

import tundish

KINDS = 64


def counts(batch, name):
    """How often each value is in a row, of those that are equal modulo KINDS.  Rows are padded to the longest."""
    values, lengths = batch[name].numpy(), batch.lengths[name]
    rows = numpy.repeat(numpy.arange(batch.rows), lengths)
    own = values[numpy.arange(values.shape[1]) < numpy.array(lengths)[:, None]].astype("i8")
    return numpy.bincount(rows * KINDS + own % KINDS, minlength=batch.rows * KINDS).reshape(batch.rows, KINDS)


def features(batch, label):
    columns = []
    for name in batch:
        if name == label:
            continue
        if name in batch.lengths:
            columns.append(counts(batch, name))
        else:
            values = batch[name].numpy().reshape(batch.rows, -1)
            columns.append(values / 255 if values.dtype == "u1" else values)
    return numpy.concatenate(columns, axis=1).astype("f4")


def main(path, label, epochs):
    seen, weights, classes, right, current = [], None, 0, 0, 0
    with tundish.feed(path, settings={"read.epochs": int(epochs)}) as feed:
        for batch in feed:
            x, y = features(batch, label), batch[label].numpy().astype("i8")
            assert numpy.isfinite(x).all(), "a feature is not a number"
            if batch.epoch == 0:
                seen.append(x)
                classes = max(int(y.max()) + 1, classes)
                continue
            if weights is None:
                all_rows = numpy.concatenate(seen)
                mean, deviation = all_rows.mean(axis=0), all_rows.std(axis=0) + 1e-3
                weights = numpy.zeros((x.shape[1] + 1, classes), "f4")
            right = right if batch.epoch == current else 0
            current = batch.epoch
            x = numpy.append((x - mean) / deviation, numpy.ones((batch.rows, 1), "f4"), axis=1)
            score = x @ weights
            right += int((score.argmax(axis=1) == y).sum())
            score = numpy.exp(score - score.max(axis=1, keepdims=True))
            score /= score.sum(axis=1, keepdims=True)
            score[numpy.arange(batch.rows), y] -= 1
            weights -= 2 / x.shape[1] / batch.rows * x.T @ score
    print(right / len(all_rows))


main(*sys.argv[1:])
