#!/usr/bin/env python3
"""Check 10: PyTorch and JAX read the batches of a CUDA device where they are.

    dlpack.py [--correct] [DEVICE]

Each batch is read on a stream other than those of the device, after a kernel that delays the reading,
and is dropped before that has happened: then its memory must not be filled again before.  Once more,
each batch is held until the next one has come, and read again then.  The same pointer and the same bits
are seen through both kinds of capsules.  --correct takes fewer steps.
Prints JSON as tests/gpu/gpu.h does.  Exit codes: 0 as expected; 1 not; 77 neither PyTorch nor JAX is
here or sees the device.
"""
import json
import os
import pathlib
import sys
import tempfile

import tundish

ROWS, BYTES, SIZE = 512, 65536, 64
failed = False


def show(name, value, expected):
    global failed
    met = value == expected
    failed = failed or not met
    print(json.dumps({"check": 10, "name": name, "value": value, "unit": "", "expected": f"= {expected}", "met": met}), flush=True)


def write(folder):
    """The rows, and the sum of the bytes of each batch of an epoch."""
    rows = [bytes((r * 31 + i * 7 >> 3) & 255 for i in range(251)) for r in range(ROWS)]
    rows = [(row * (BYTES // 251 + 1))[:BYTES] for row in rows]
    (folder / "rows").write_bytes(b"".join(rows))
    return [sum(map(sum, rows[at:at + SIZE])) for at in range(0, ROWS, SIZE)]


def feed(folder, device):
    (folder / "feed.yaml").write_text(f"""tundish: 1
actors:
  read:  {{kind: reader, source: {{raw: {{files: "{folder}/rows", columns: {{x: "u8[{BYTES}]"}}}}}}, epochs: 1000000}}
  batch: {{kind: batcher, size: {SIZE}}}
  feed:  {{kind: feeder, depth: 2, spare: 4, digest: false, devices: ["{device}"]}}
links:
  - read -> batch -> feed
""")
    return tundish.feed(folder / "feed.yaml")


class Old:
    """A tensor as exporters before DLPack 1.0 showed it."""

    def __init__(self, tensor):
        self.tensor = tensor

    def __dlpack_device__(self):
        return self.tensor.__dlpack_device__()

    def __dlpack__(self, *, stream=None, **_):
        return self.tensor.__dlpack__(stream=stream)


def address(tensor):
    return tensor._tensor.data


def judge(name, moved, found, again, sums):
    """`found` has the sum of each batch, `again` those of the batches that were held."""
    show(f"{name}_other_pointers", moved, 0)
    show(f"{name}_wrong_sums", sum(value != sums[step % len(sums)] for step, value in enumerate(found)), 0)
    show(f"{name}_wrong_sums_of_held_batches", sum(value != sums[step % len(sums)] for step, value in enumerate(again)), 0)


def check_torch(folder, device, sums, steps):
    import torch
    if device.startswith("cuda") and not torch.cuda.is_available():
        raise ImportError("PyTorch sees no CUDA device")
    on_device = "cuda" if device.startswith("cuda") else "cpu"
    found, again = (torch.zeros(steps, dtype=torch.int64, device=on_device) for _ in range(2))
    stream = torch.cuda.Stream() if on_device == "cuda" else None
    moved = 0

    def read(batches, held):
        nonlocal moved
        before = None
        for step, batch in zip(range(steps), batches):
            exporter = Old(batch["x"]) if step % 2 else batch["x"]
            with torch.cuda.stream(stream):
                if stream is not None and step % 16 == 0:
                    torch.cuda._sleep(2_000_000)  # cycles: about a millisecond
                tensor = torch.from_dlpack(exporter)
                moved += tensor.data_ptr() != address(batch["x"])
                found[step] = tensor.sum(dtype=torch.int64)
                if before is not None:
                    again[step - 1] = before.sum(dtype=torch.int64)
            before = tensor if held else None
            del tensor, exporter, batch

    for held in False, True:
        found.zero_()
        with feed(folder, device) as batches:
            read(batches, held)
            if stream is not None:
                stream.synchronize()
        judge("torch_held" if held else "torch", moved, found.tolist(), again.tolist()[:steps - 1] if held else [], sums)


def check_jax(folder, device, sums, steps):
    import jax
    if device.startswith("cuda") and jax.default_backend() != "gpu":
        raise ImportError("JAX sees no CUDA device")
    total = jax.jit(lambda x: x.astype("uint32").sum())
    for held in False, True:
        found, again, moved, before = [], [], 0, None
        with feed(folder, device) as batches:
            for step, batch in zip(range(steps), batches):
                array = jax.dlpack.from_dlpack(batch["x"])
                moved += array.unsafe_buffer_pointer() != address(batch["x"])
                found.append(total(array))
                if before is not None:
                    again.append(total(before))
                before = array if held else None
                del array, batch
            found, again, before = [int(value) for value in found], [int(value) for value in again], None
        judge("jax_held" if held else "jax", moved, found, again, sums)


def main(arguments):
    steps = 200 if "--correct" in arguments else 10000
    device = next((word for word in arguments if not word.startswith("-")), "cuda:0")
    os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")
    checked = 0
    with tempfile.TemporaryDirectory() as place:
        folder = pathlib.Path(place)
        sums = write(folder)
        for check in check_torch, check_jax:
            try:
                check(folder, device, sums, steps)
                checked += 1
            except ImportError as missing:
                print(f"skipped: {missing}", flush=True)
    return 77 if checked == 0 else 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
