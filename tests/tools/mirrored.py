#!/usr/bin/env python3
"""examples/python/torch_mirrored.py trains as DistributedDataParallel does, on the devices of one host and on two hosts."""
import os
import pathlib
import shutil
import subprocess
import sys

from command import BUILD, ROOT, free_port, main, same

DATA = pathlib.Path("/usr/share/datasets/fashion-mnist")
ROWS, BATCH = int(os.environ.get("MIRRORED_ROWS", 1280)), 128
ENV = {**os.environ, "TUNDISH_LIBRARY": str(BUILD / "libtundish.so"), "PYTHONPATH": str(ROOT / "tools/python")}
OVERLAY = """port: {port}
hosts:
  a: {{address: 127.0.0.1, actors: [read, prep, batch, feed, mean], devices: {{feed: ["cpu:0"]}}}}
  b: {{address: 127.0.0.1, actors: [feed], devices: {{feed: ["cpu:0"]}}}}
"""
# The same rows, weights and optimizer; two processes that reduce by gloo.
PARALLEL = """
import gzip, sys
import torch
from torch.nn.functional import cross_entropy
from torch_mirrored import hash_of, make_model
rank, port, data = int(sys.argv[1]), sys.argv[2], sys.argv[3]
torch.set_num_threads(1)
torch.distributed.init_process_group("gloo", init_method=f"tcp://127.0.0.1:{{port}}", rank=rank, world_size=2)
read = lambda name: torch.frombuffer(bytearray(gzip.open(f"{{data}}/train-{{name}}-ubyte.gz").read()), dtype=torch.uint8)
images = read("images-idx3")[16:].reshape(-1, 784).float() / 255
labels = read("labels-idx1")[8:].long()
model, optimizer = make_model()
parallel = torch.nn.parallel.DistributedDataParallel(model)
for first in range(rank * {half}, {rows}, {batch}):
    rows = slice(first, first + {half})
    optimizer.zero_grad()
    (cross_entropy(parallel(images[rows]), labels[rows], reduction="sum") / {half}).backward()
    optimizer.step()
print("weights", hash_of(model))
"""


def can_run():
    if not (DATA / "train-images-idx3-ubyte.gz").exists():
        return False
    return subprocess.run([sys.executable, "-c", "import torch"], capture_output=True).returncode == 0


def weights(*commands):
    """Of all processes."""
    started = [subprocess.Popen([sys.executable, *map(str, command)], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                text=True, env=ENV) for command in commands]
    said = [process.communicate(timeout=280)[0] for process in started]
    for process, text in zip(started, said):
        same(process.returncode, 0, text)
    return [line for text in said for line in text.splitlines() if line.startswith("weights ")]


def test_it_trains_as_distributed_data_parallel_does(folder):
    if not can_run():
        return print("PyTorch or the data are not installed")
    program = folder / "torch_mirrored.py"
    shutil.copy(ROOT / "examples/python/torch_mirrored.py", program)
    graph = (ROOT / "examples/python/mirrored.yaml").read_text()
    (folder / "mirrored.yaml").write_text(graph.replace("shuffle: global, epochs: 5", f"order: [{{take: {ROWS}}}], epochs: 1"))
    (folder / "two.yaml").write_text(OVERLAY.format(port=free_port()))
    base = weights([program, DATA])
    same(weights(*([program, DATA, folder / "two.yaml", host] for host in "ab")), 2 * base)
    (folder / "parallel.py").write_text(PARALLEL.format(half=BATCH // 2, rows=ROWS, batch=BATCH))
    port = free_port()
    same(weights(*([folder / "parallel.py", rank, port, DATA] for rank in range(2))), 2 * base)


if __name__ == "__main__":
    main(globals())
