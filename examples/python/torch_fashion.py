#!/usr/bin/env python3
"""Trains a small network on Fashion-MNIST with PyTorch.

    torch_fashion.py [FOLDER OF THE DATA]

PyTorch reads the batches where they are, without a copy; `devices: [cuda:0]` of the feeder has them
on a GPU, where the model must then be too."""
import pathlib
import sys

import torch
import tundish
from torch.nn.functional import cross_entropy


def tensors(batch):
    return torch.from_dlpack(batch["image"]).flatten(1), torch.from_dlpack(batch["label"]).long()


def main(data=None):
    torch.manual_seed(7)
    model = torch.nn.Sequential(torch.nn.Linear(784, 128), torch.nn.ReLU(), torch.nn.Linear(128, 10))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    with tundish.feed(pathlib.Path(__file__).with_name("fashion.yaml"), data=data) as feed:
        for batch in feed:
            image, label = tensors(batch)
            loss = cross_entropy(model(image), label)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            if batch.last:
                print(f"epoch {batch.epoch + 1}  loss of the last batch {loss.item():.4f}")
        correct = rows = 0
        with torch.no_grad():
            for batch in feed.session.feed("test"):
                image, label = tensors(batch)
                correct += (model(image).argmax(1) == label).sum().item()
                rows += batch.rows
    print(f"test: accuracy {correct / rows:.4f}  ({rows:,} rows)")


if __name__ == "__main__":
    main(*sys.argv[1:])
