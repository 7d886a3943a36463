#!/usr/bin/env python3
"""Trains two replicas of a network on Fashion-MNIST with PyTorch, as MirroredStrategy does.

    torch_mirrored.py [FOLDER OF THE DATA [OVERLAY HOST]]

A gradient is posted as soon as the backward pass has computed it.  Between hosts it is on its way while the pass
goes on, to the first layers.  With an overlay that places `feed` on several hosts, each runs this program
with its own name."""
import hashlib
import pathlib
import sys

import torch
import tundish
from torch.nn.functional import cross_entropy

BEGIN_BYTES = 1 << 20  # what is posted is sent in messages of so many bytes


def make_model():
    """The same weights in all replicas, and the optimizer."""
    torch.manual_seed(7)
    model = torch.nn.Sequential(torch.nn.Linear(784, 512), torch.nn.ReLU(), torch.nn.Linear(512, 512), torch.nn.ReLU(),
                                torch.nn.Linear(512, 10))
    return model, torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)


class Trainer:
    """Trains the model of one replica."""

    def __init__(self):
        self.model, self.optimizer = make_model()
        self.hooks = [when_accumulated(parameter, self.post) for parameter in self.model.parameters()]
        self.replica, self.bytes = None, 0

    def post(self, parameter):
        self.replica.reduce("mean", parameter.grad)
        self.bytes += parameter.grad.numel() * parameter.grad.element_size()
        if self.bytes >= BEGIN_BYTES:
            self.replica.begin()
            self.bytes = 0

    def step(self, replica):
        self.replica, self.bytes = replica, 0
        image, label = torch.from_dlpack(replica["image"]).flatten(1), torch.from_dlpack(replica["label"]).long()
        loss = cross_entropy(self.model(image), label, reduction="sum")
        self.optimizer.zero_grad()
        (loss / max(replica.rows, 1)).backward()  # the mean of its own rows; zeros where it has none
        replica.report("loss", loss.item(), replica.rows)


def when_accumulated(parameter, hook):
    """Calls hook(parameter) in the backward pass, once its gradient is there."""
    if hasattr(parameter, "register_post_accumulate_grad_hook"):
        return parameter.register_post_accumulate_grad_hook(hook)
    node = parameter.expand_as(parameter).grad_fn.next_functions[0][0]  # before PyTorch 2.1
    node.register_hook(lambda *_: hook(parameter))
    return node


def hash_of(model):
    return hashlib.sha256(b"".join(parameter.detach().numpy().tobytes() for parameter in model.parameters())).hexdigest()[:32]


def main(data=None, overlay=None, host=None):
    torch.set_num_threads(1)
    graph = [pathlib.Path(__file__).with_name("mirrored.yaml"), *([overlay] if overlay else [])]
    with tundish.feed(*graph, data=data, host=host) as feed:
        trainers, own = [Trainer(), Trainer()], set()

        def apply(replica):
            own.add(replica.id)  # of this host
            trainers[replica.id].optimizer.step()

        while feed.run(lambda replica: trainers[replica.id].step(replica), apply):
            pass
        feed.session.wait()
        if feed.session.metric("loss") is not None:  # the first host knows it
            print(f"loss of the last epoch {feed.session.metric('loss'):.5f}")
        print(f"weights {hash_of(trainers[min(own)].model)}")


if __name__ == "__main__":
    main(*sys.argv[1:])
