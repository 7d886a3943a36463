#!/usr/bin/env python3
"""Trains a small network on Fashion-MNIST with PyTorch.

    torch_fashion.py [FOLDER OF THE DATA [DEVICE]]

DEVICE is cpu:0, or a GPU such as cuda:0.  PyTorch reads the batches where they are, in the memory of that
device, without a copy."""
import pathlib
import sys

import torch
import tundish
from torch.nn.functional import cross_entropy


def tensors(batch):
    return torch.from_dlpack(batch["image"]).flatten(1), torch.from_dlpack(batch["label"]).long()


def main(data=None, device="cpu:0"):
    torch.manual_seed(7)
    model = torch.nn.Sequential(torch.nn.Linear(784, 128), torch.nn.ReLU(), torch.nn.Linear(128, 10)).to(device)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    graph = pathlib.Path(__file__).with_name("fashion.yaml")
    with tundish.feed(graph, data=data, settings={"feed.devices": [device]}) as feed:
        total, steps = torch.zeros((), device=device), 0
        for batch in feed:
            image, label = tensors(batch)
            loss = cross_entropy(model(image), label)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += loss.detach()
            steps += 1
            if batch.last:
                print(f"epoch {batch.epoch + 1}  loss {total.item() / steps:.5f}")
                total, steps = torch.zeros_like(total), 0
        correct = rows = 0
        with torch.no_grad():
            for batch in feed.session.feed("test"):
                image, label = tensors(batch)
                correct += (model(image).argmax(1) == label).sum().item()
                rows += batch.rows
        feed.session.wait()
        print(f"test: accuracy {correct / rows:.4f}  ({rows:,} rows)")
        print(f"stream {feed.session.digest()}")


if __name__ == "__main__":
    main(*sys.argv[1:])
