"""Overlays of topologies that were translated: the devices of a strategy, the hosts of workers."""

import json

from ._tensorflow_yaml import Lines, actors, flow


def overlay(graph):
    """The name and text of the overlay of a graph's strategy; None if it has none."""
    strategy, names = graph.strategy, actors(graph)
    lines = Lines()
    if graph.service is not None:
        call = graph.service
        lines.add(f"# {graph.file}:{call.line}: {call.text}: the reader and the batcher on a host of their own:")
        lines.add(f"#   tundish up {graph.name}.yaml {graph.name}_service.yaml")
        lines.add("port: 7130")
        lines.add("hosts:")
        device = '    # devices: {feed: ["pjrt:0"]}' if strategy and "TPU" in strategy.path else ""
        lines.add(f"  trainer: {{address: 127.0.0.1, actors: [feed]}}{device}")
        lines.add(f"  service: {{address: 127.0.0.1, actors: [{', '.join(names[:-1])}]}}")
        return f"{graph.name}_service", lines.text()
    if strategy is None or not graph.dataset.distributed:
        return None
    if graph.workers > 1:
        return workers(graph, lines)
    kind = "tpu" if "TPU" in strategy.path else "mirrored" if "Mirrored" in strategy.path else "devices"
    devices = json.dumps([f"cpu:{i}" for i in range(graph.replicas)])
    real = "pjrt" if kind == "tpu" else "cuda"
    lines.add(f"# {graph.file}:{strategy.line}: {strategy.text}")
    lines.add(f"# A device for each replica; write {devices.replace('cpu', real)} where they are.")
    lines.add("hosts:")
    lines.add(f"  local: {{actors: [{', '.join(names)}], devices: {{feed: {devices}}}}}")
    return f"{graph.name}_{kind}", lines.text()


def workers(graph, lines):
    """An overlay with a host for each worker: those of TF_CONFIG, or of this machine."""
    program, strategy, names = graph.program, graph.strategy, actors(graph)
    tasks = program.tasks()
    named = bool(tasks)
    tasks = tasks or [(f"worker{i}", "127.0.0.1:7134") for i in range(graph.workers)]
    lines.add(f"# {graph.file}:{strategy.line}: {strategy.text}: a host for each worker.")
    lines.add(f"# A process each with TF_CONFIG: tundish run {graph.name}.yaml {graph.name}_workers.yaml")
    if not named:
        lines.add(
            "# TF_CONFIG is not in the program: write the addresses of the workers, or one range node[*] (tundish help launch)."
        )
    port = tasks[0][1].rpartition(":")[2]
    lines.add(f"port: {port if port.isdigit() else 7134}", f"{graph.file}:{program.config_line}: TF_CONFIG" if named else "")
    if any(not address.startswith(("127.", "localhost")) for _, address in tasks):
        lines.add("insecure: true", "processes on other machines: only on a network that you trust")
    lines.add("hosts:")
    laned = any(entry[0] == "lanes" for entry in graph.top) or graph.lanes
    for number, (name, address) in enumerate(tasks):
        host = address.rpartition(":")[0] or address
        carried = names if number == 0 or laned else ["feed"]
        share = ", lanes: 1" if laned else ""
        lines.add(
            f'  {name}: {{address: {flow(host)}, actors: [{", ".join(carried)}]{share}, devices: {{feed: ["cpu:0"]}}}}',
            f"{graph.file}:{program.config_line}: {address}" if named else "",
        )
    return f"{graph.name}_workers", lines.text()
