#!/usr/bin/env python3
"""The strategies of tf.distribute, as examples/strategies has them: each trains, with the same bits on 1, 2 and 4
devices, and `explain` names it.

Usage: strategies.py [NAME...]; without a name it lists them.
"""
import json
import random
import struct
import sys

from faults import write_npy
from named import in_folder, run_named
from run import DATA, ROOT, free_port, need_data, tundish

STRATEGIES = ROOT / "examples/strategies"
FEW = ["--data", DATA, "--steps", 60, "--set", "batch.size=32", "--set", "read.take=3000"]


def devices(number):
    return "[" + ", ".join(f'"cpu:{one}"' for one in range(number)) + "]"


def told(outcome):
    assert float(outcome.losses[-1]) < 0.8 * float(outcome.losses[0]), outcome.losses
    return outcome.report["model_digest"], outcome.report["stream_digest"], outcome.losses


def same(base, outcome, what):
    assert told(outcome) == base, what


def alone(folder):
    """The graph of multi_worker.yaml without its hosts."""
    path = folder / "alone.yaml"
    path.write_text((STRATEGIES / "multi_worker.yaml").read_text().split("\nhosts:")[0].replace("port: 7130\n", "") + "\n")
    return path


def spread(folder, number):
    """An overlay that gives each host so many devices, and the run another port."""
    path = folder / "spread.yaml"
    path.write_text(f"port: {free_port()}\nhosts:\n" +
                    "".join(f"  {name}: {{devices: {{feed: {devices(number)}}}}}\n" for name in ("first", "second")))
    return path


def test_one_replica_trains_on_one_device(folder):
    assert told(tundish("run", STRATEGIES / "one_device.yaml", *FEW))[0] != "-"


def test_mirrored_replicas_have_the_same_bits_on_1_2_and_4_devices(folder):
    graph = STRATEGIES / "mirrored.yaml"
    base = told(tundish("run", graph, *FEW))
    for number in 1, 2, 4:
        same(base, tundish("run", graph, *FEW, "--set", f"feed.devices={devices(number)}"), f"{number} devices")


def test_workers_have_the_bits_of_one_process_on_1_2_and_4_devices(folder):
    base = told(tundish("run", alone(folder), *FEW))
    for number in 2, 4:
        same(base, tundish("run", alone(folder), *FEW, "--set", f"feed.devices={devices(number)}"), f"{number} devices")
    for number in 1, 2:
        same(base, tundish("up", STRATEGIES / "multi_worker.yaml", spread(folder, number), *FEW), f"two hosts with {number} each")


def test_a_parameter_server_has_the_same_bits_for_1_2_and_4_replicas(folder):
    graph = STRATEGIES / "parameter_server.yaml"
    draw, layers = random.Random(7), ((784, 64), (64, 10))
    values = [value for inputs, outputs in layers for value in
              [draw.uniform(-1, 1) * (6 / (inputs + outputs)) ** .5 for _ in range(inputs * outputs)] + [0] * outputs]
    write_npy(folder / "initial.npy", "<f4", (len(values),), struct.pack(f"<{len(values)}f", *values))
    initial = ["--set", f"params.initial={folder}/initial.npy"]
    base = told(tundish("run", graph, *FEW, *initial))
    for number in 1, 2:
        same(base, tundish("run", graph, *FEW, *initial, "--set", f"batch.replicas={number}"), f"{number} replicas")
    text, name = explained(graph, *initial)
    assert name == "ParameterServerStrategy" and "4 replicas on 1 device of 1 host" in text[0], (name, text)


def explained(*arguments):
    text = tundish("explain", *arguments, "--data", DATA, report=False).output
    told = json.loads(tundish("explain", *arguments, "--data", DATA, "--json", report=False).output.splitlines()[-1])
    return [line.strip() for line in text.splitlines() if line.startswith("    strategy ")], told["chains"][0].get("strategy")


def test_explain_names_the_strategy_of_a_placement(folder):
    def names(wanted, name, *arguments):
        text, told = explained(*arguments)
        assert ([" ".join(line.split()) for line in text], told) == ([wanted] if wanted else [], name), (text, told)

    names("strategy OneDeviceStrategy of tf.distribute: 1 replica on 1 device of 1 host", "OneDeviceStrategy",
          STRATEGIES / "one_device.yaml")
    for number in 1, 2, 4:
        names(f"strategy MirroredStrategy of tf.distribute: 4 replicas on {number} device{'s' * (number > 1)} of 1 host",
              "MirroredStrategy", STRATEGIES / "mirrored.yaml", "--set", f"feed.devices={devices(number)}")
    names("strategy MultiWorkerMirroredStrategy of tf.distribute: 4 replicas on 4 devices of 2 hosts", "MultiWorkerMirroredStrategy",
          STRATEGIES / "multi_worker.yaml", spread(folder, 2))
    apart = folder / "apart.yaml"
    apart.write_text((STRATEGIES / "mirrored.yaml").read_text().replace(" <-> mean", "").replace("  mean:  {kind: reducer, order: tree}\n", ""))
    names(None, None, apart)


if __name__ == "__main__":
    need_data()
    sys.exit(run_named(globals(), sys.argv[1:], in_folder))
