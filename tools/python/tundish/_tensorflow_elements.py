"""What a call on a dataset makes of its elements: the columns after it, and the operations of its function."""

import ast

from ._tensorflow_functions import Unknown, condition, translate
from ._tensorflow_values import Dataset, Function, Known, Named, Text, known


def element_after(program, dataset):
    """The element after the last call, which gets the operations of its function."""
    call = dataset.calls[-1]
    before = dataset.element
    if call.name == "map":
        return mapped(program, call, before)
    if call.name == "filter":
        function = call.given["predicate"]
        try:
            call.given["expr"] = condition(program, checked(program, function, call), before)
        except Unknown as error:
            call.given["unknown"] = error
    elif call.name == "enumerate":
        return ("number", before)
    elif (
        call.name == "flat_map"
        and [one.name for one in dataset.calls[-2:-1]] == ["window"]
        and batches_windows(call.given["map_func"])
    ):
        program.called.add(call.given["map_func"].node)
        call.given["windows"] = True
    elif call.name in ("flat_map", "interleave") and "files" not in call.given:
        call.given["copies"] = copies(program, call, before)
    return before


def batches_windows(function):
    """Whether a function makes one row of a window: lambda window: window.batch(size)."""
    body = function.node.body if isinstance(function, Function) and isinstance(function.node, ast.Lambda) else None
    called = body.func if isinstance(body, ast.Call) and isinstance(body.func, ast.Attribute) else None
    return (
        called is not None
        and called.attr == "batch"
        and isinstance(called.value, ast.Name)
        and [argument.arg for argument in function.node.args.args] == [called.value.id]
    )


def checked(program, function, call):
    if not isinstance(function, Function):
        text = function.path if isinstance(function, Named) else getattr(function, "text", "the function")
        raise Unknown(call.line, f"`{text}` is not a function of this file")
    program.called.add(function.node)
    return function


def mapped(program, call, before):
    try:
        steps, made = translate(program, checked(program, call.given["map_func"], call), before)
    except Unknown as error:
        call.given["unknown"] = error
        return before
    call.given["steps"] = steps
    return made


def copies(program, call, element):
    """How often a function repeats its element, and whether it divides it: (count, divides) or None."""
    function = call.given["map_func"]
    if not isinstance(function, Function):
        return None
    program.called.add(function.node)
    before = len(program.datasets)
    arguments = function.node.args
    names = [argument.arg for argument in arguments.args]
    parts = [Text(f"part {i}", call.line) for i in range(len(names))]
    if arguments.vararg is not None:
        parts, names = [], [arguments.vararg.arg]
    made = program.inline(function, parts, [])
    del program.datasets[before:]
    if not isinstance(made, Dataset) or made.source.name not in ("from_tensors", "from_tensor_slices"):
        return None
    tensors = made.source.given["tensors"]
    whole = tuple(parts) if isinstance(tensors, tuple) and not isinstance(tensors, Text) else parts[0] if len(parts) == 1 else None
    if arguments.vararg is None and tensors != whole:
        return None
    counts = [call.given.get("count", Known(None)) for call in made.calls if call.name == "repeat"]
    if len(counts) != len(made.calls) or len(counts) > 1:
        return None
    count = known(counts[0]) if counts else 1
    return (count, made.source.name == "from_tensor_slices") if isinstance(count, int) else None
