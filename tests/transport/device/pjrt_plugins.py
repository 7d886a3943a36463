"""The device pjrt: a plugin that cannot be used is refused in one sentence, a call that fails in the middle
of a run ends it with one, and a run on a plugin that works has the digest of a run on the processor.

Usage: pjrt_plugins.py TUNDISH FAKE_PLUGIN FAILING_PLUGIN [PLUGIN]
"""
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

tundish, fake, failing = sys.argv[1:4]
plugin = sys.argv[4] if len(sys.argv) > 4 else ""
GRAPH = """tundish: 1
actors:
  read:  {{kind: reader, source: {{npy: {{x: {folder}/x.npy}}}}}}
  batch: {{kind: batcher, size: 6}}
  feed:  {{kind: feeder, devices: ["{device}"], depth: 2, spare: 0}}
links:
  - read -> batch -> feed
"""


def run(device, named, fails=None, **more):
    with open(f"{folder}/run.yaml", "w") as file:
        file.write(GRAPH.format(folder=folder, device=device))
    environment = {**os.environ, "TUNDISH_PJRT": named, "HOME": folder, **more}
    environment.pop("VIRTUAL_ENV", None)
    environment.pop("FAKE_PJRT", None)
    if fails:
        environment["FAKE_PJRT"] = fails
    return subprocess.run([tundish, "run", f"{folder}/run.yaml", "--report", f"{folder}/report.json"], env=environment, text=True,
                          capture_output=True, timeout=100)


def refuse(words, device, named, fails=None):
    done = run(device, named, fails)
    print(done.stdout, done.stderr)
    first = (done.stdout + done.stderr + "\n").splitlines()[0]
    assert done.returncode == 78, done
    assert re.search(r"run\.yaml:5:\d+: error.*device %s " % device, first), first
    assert words in first, (words, first)


with tempfile.TemporaryDirectory(prefix="tundish_pjrt_") as folder:
    rows = b"".join(i.to_bytes(4, "little") for i in range(200))
    header = b"{'descr': '<i4', 'fortran_order': False, 'shape': (40, 5), }"
    header += b" " * (117 - len(header)) + b"\n"
    pathlib.Path(f"{folder}/x.npy").write_bytes(
        b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header + rows)
    cut = f"{folder}/cut.so"
    whole = pathlib.Path(fake).read_bytes()
    pathlib.Path(cut).write_bytes(whole[:len(whole) // 8])

    refuse("name its file in TUNDISH_PJRT", "pjrt:0", "")
    refuse("cannot be loaded: cannot open shared object file", "pjrt:0", f"{folder}/none.so")
    refuse("cannot be loaded: invalid ELF header", "pjrt:0", f"{folder}/run.yaml")
    refuse("cannot be loaded: the file is cut off", "pjrt:0", cut)
    refuse("is not a PJRT plugin: it has no GetPjrtApi", "pjrt:0", "libm.so.6")
    refuse("it has no table of calls", "pjrt:0", fake, "null")
    refuse("has version 1.0 of the PJRT interface; 0.57 or a later 0.x is needed", "pjrt:0",
           fake, "major")
    refuse("has version 0.56", "pjrt:0", fake, "minor")
    refuse("has a table of 8 bytes, which is too short", "pjrt:0", fake, "stub")
    refuse("lacks PJRT_Device_MemoryStats: its table has 280 bytes", "pjrt:0", fake, "short")
    refuse("lacks PJRT_Buffer_ReadyEvent", "pjrt:0", fake, "hole")
    refuse(": No visible accelerators.", "pjrt:0", fake, "client")
    refuse("it found no devices", "pjrt:0", fake, "empty")
    # The first of Python's packages is taken, here of the user's own.
    packages = pathlib.Path(folder, ".local/lib/python3.99/site-packages/jax_plugins/fake")
    packages.mkdir(parents=True)
    (packages / "plugin.so").symlink_to(os.path.abspath(fake))
    refuse(".local/lib/python3.99/site-packages/jax_plugins/fake/plugin.so", "pjrt:0", "", "empty")
    # A path is shown whole if it has at most 240 characters, else its end.
    for length in 240, 241:
        deep = pathlib.Path(folder, "d" * 100)
        deep.mkdir(exist_ok=True)
        name = deep / ("e" * (length - len(f"{deep}/.so")) + ".so")
        name.symlink_to(os.path.abspath(fake))
        refuse((f" {name}" if length == 240 else f" ...{str(name)[-237:]}") + ": it found no devices", "pjrt:0", str(name), "empty")
    if not plugin:
        print("no plugin: tools/setup --tests installs one")
        sys.exit(0)
    refuse("this machine has 4 of that kind", "pjrt:4", plugin)
    digests = set()
    for device in ["cpu:0", "pjrt:0", "pjrt:3"]:
        done = run(device, plugin)
        assert done.returncode == 0, done
        with open(f"{folder}/report.json") as report:
            digests.add(json.load(report)["stream_digest"])
    assert len(digests) == 1, digests
    # Two slots are filled with zeros before the first step, so these calls are of later ones.
    for fails, words in {"Client_BufferFromHostBuffer 5": "cannot copy to it",
                         "Buffer_ReadyEvent 5": "cannot wait for a copy",
                         "Event_OnReady 7": "cannot wait for a copy",
                         "arrival 7": "a copy failed"}.items():
        done = run("pjrt:1", failing, FAILING_PJRT=fails, FAILING_PJRT_OF=plugin)
        assert (done.returncode, done.stderr) == (
            1, f"tundish run: pjrt:1: {words}: the chip has come loose\n"), (fails, done)
