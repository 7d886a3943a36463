"""Text of topologies: values in the flow style of YAML, lines with comments beside them."""

import json
import re

from ._tensorflow_values import known

WIDTH = 64  # of a line that has its comment beside it
INLINE = 4096  # numbers of an array that are written into the topology


def flow(value):
    """A value in the flow style of YAML."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, dict):
        return "{" + ", ".join(f"{flow(key)}: {flow(one)}" for key, one in value.items()) + "}"
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(map(flow, value)) + "]"
    if isinstance(value, str):
        bare = re.fullmatch(r"\w[\w./-]*", value) and value.lower() not in ("true", "false", "null", "yes", "no", "on", "off")
        return value if bare and not is_number(value) else json.dumps(value)
    return str(value)


def is_number(text):
    try:
        float(text)
    except ValueError:
        return text.lower().startswith(("0x", "0o"))
    return True


class Lines:
    """Lines of a file, each with a comment or not; comments begin in one column."""

    def __init__(self):
        self.lines = []

    def add(self, text, comment=""):
        if comment and len(text) > WIDTH:
            self.lines.append((" " * (len(text) - len(text.lstrip())) + f"# {comment}", ""))
            comment = ""
        self.lines.append((text, comment))

    def text(self):
        width = max([len(text) for text, comment in self.lines if comment] or [0])
        return "".join(f"{text:<{width}}  # {comment}\n" if comment else f"{text}\n" for text, comment in self.lines)


def shape_of(value):
    """The shape of nested lists; raises ValueError where their lengths differ."""
    if not isinstance(value, (list, tuple)):
        return []
    inner = [shape_of(part) for part in value]
    if not inner or any(one != inner[0] for one in inner):
        raise ValueError
    return [len(value)] + inner[0]


def literal(value, one_row=False):
    """A column of the source memory for what is written in the program; None if it is not a small array of numbers."""
    rows = known(value)
    rows = [rows] if one_row else rows
    try:
        shape = shape_of(rows)
    except ValueError:
        return None
    data = list(flatten(rows))
    if not shape or len(data) > INLINE or not all(isinstance(one, (int, float)) for one in data):
        return None
    kind = "bool" if all(isinstance(one, bool) for one in data) else "f32" if any(isinstance(one, float) for one in data) else "i32"
    return {"dtype": kind, **({"shape": shape[1:]} if len(shape) > 1 else {}), "data": data}


def flatten(value):
    if isinstance(value, (list, tuple)):
        for part in value:
            yield from flatten(part)
    else:
        yield value


def operation_text(step):
    if step.name in ("compute", "filter"):
        return (
            "{"
            + ", ".join(
                f"{key}: {json.dumps(value) if isinstance(value, str) else flow(value)}" for key, value in step.options.items()
            )
            + "}"
        )
    return flow(step.options)


def unique(entries):
    """Entries by key, the last of each, in their order."""
    made = {}
    for key, value, comment in entries:
        made[key] = (key, value, comment)
    return list(made.values())


def actors(graph):
    preps = sum(stage[0] == "prep" for stage in graph.stages)
    names, made = {"prep": iter(["prep", "late"] if preps <= 2 else [f"prep{i}" for i in range(preps)])}, ["read"]
    for stage in graph.stages:
        made.append("keep" if stage[0] == "keep" else next(names["prep"]))
    return made + ["batch", "feed"]


def topology(graph, title):
    lines, names = Lines(), actors(graph)
    for line in title:
        lines.add(f"# {line}")
    lines.add("tundish: 1")
    for key, value, comment in unique(graph.top):
        lines.add(f"{key}: {flow(value)}", comment)
    lines.add("actors:")
    source = graph.dataset.source
    lines.add("  read:")
    lines.add("    kind: reader")
    lines.add(f"    source: {flow(graph.source)}", graph.at(source))
    if graph.order:
        lines.add("    order:")
        for entry, comment in graph.order:
            kind, value = next(iter(entry.items()))
            lines.add(f"      - {kind}: {flow(value)}", comment)
    for key, value, comment in unique(graph.reader):
        lines.add(f"    {key}: {flow(value)}", comment)
    for name, stage in zip(names[1:-2], graph.stages):
        add_stage(graph, lines, name, stage)
    lines.add("  batch:")
    lines.add("    kind: batcher")
    for key, value, comment in unique(graph.batch):
        lines.add(f"    {key}: {flow(value)}", comment)
    lines.add("  feed:")
    lines.add("    kind: feeder")
    lines.add(f"links: [{' -> '.join(names)}]")
    return lines.text()


def add_stage(graph, lines, name, stage):
    lines.add(f"  {name}:")
    if stage[0] == "keep":
        for key, value, comment in stage[1]:
            lines.add(f"    {key}: {flow(value)}", comment)
        return
    lines.add("    kind: preprocessor")
    if graph.errors:
        lines.add("    on_error: skip", graph.errors)
    lines.add("    ops:")
    for step in stage[1]:
        comment = f"{graph.file}:{step.line}: {step.text}"
        text = f"{{plugin: {step.options}}}" if step.name == "plugin" else f"{step.name}: {operation_text(step)}"
        lines.add(f"      - {text}", comment if len(comment) < 140 else comment[:137] + "...")
