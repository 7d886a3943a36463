"""Generators that only slice arrays into batches: such a dataset is one of the arrays."""

import ast

from ._tensorflow_values import Function, Known, Text

CONVERSIONS = "convert_to_tensor", "constant", "asarray", "array", "cast", "astype"


class Unclear(Exception):
    """The generator does something else."""


def arrays_of(program, generator):
    """The names of the arrays that a generator slices, and the value of its batch size; None if it does more."""
    try:
        function, given = called(program, generator)
        return Slices(program, function.node, given).result()
    except Unclear:
        return None


def called(program, generator):
    """The generator function and its arguments by name."""
    if not isinstance(generator, Function):
        raise Unclear
    body = generator.node.body if isinstance(generator.node, ast.Lambda) else None
    if body is None:
        return generator, {}
    function = program.value(body.func) if isinstance(body, ast.Call) else None
    if not isinstance(function, Function) or isinstance(function.node, ast.Lambda):
        raise Unclear
    program.called.add(function.node)
    names = [argument.arg for argument in function.node.args.args]
    return function, {**dict(zip(names, body.args)), **{part.arg: part.value for part in body.keywords}}


class Slices:
    def __init__(self, program, node, given):
        self.program, self.node, self.given, self.local = program, node, given, {}

    def result(self):
        loops = [statement for statement in self.node.body if isinstance(statement, ast.For)]
        if len(loops) != 1 or loops[0].orelse or not isinstance(loops[0].target, ast.Name):
            raise Unclear
        loop = loops[0]
        over = loop.iter
        if not (isinstance(over, ast.Call) and getattr(over.func, "id", "") == "range" and len(over.args) == 3):
            raise Unclear
        self.index, self.step = loop.target.id, over.args[2]
        for statement in loop.body:
            if isinstance(statement, ast.Assign) and len(statement.targets) == 1 and isinstance(statement.targets[0], ast.Name):
                self.local[statement.targets[0].id] = statement.value
            elif isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Yield) and statement is loop.body[-1]:
                made = statement.value.value
                parts = made.elts if isinstance(made, ast.Tuple) else [made]
                return [self.array(part) for part in parts], self.size()
            else:
                raise Unclear
        raise Unclear

    def size(self):
        step = self.given.get(self.step.id) if isinstance(self.step, ast.Name) else None
        value = self.program.value(step if step is not None else self.step)
        return value if isinstance(value, Known) else Text(self.program.text(self.step), self.step.lineno)

    def array(self, node):
        """The name of the array that an expression slices by the loop's steps."""
        if isinstance(node, ast.Name) and node.id in self.local:
            return self.array(self.local[node.id])
        if isinstance(node, ast.Call) and node.args and self.last(node.func) in CONVERSIONS:
            return self.array(node.args[0])
        if not (isinstance(node, ast.Subscript) and isinstance(node.value, ast.Name) and isinstance(node.slice, ast.Slice)):
            raise Unclear
        cut, step = node.slice, ast.dump(self.step)
        whole = isinstance(cut.lower, ast.Name) and cut.lower.id == self.index and cut.step is None
        end = cut.upper
        if not (
            whole
            and isinstance(end, ast.BinOp)
            and isinstance(end.op, ast.Add)
            and {ast.dump(end.left), ast.dump(end.right)} == {ast.dump(cut.lower), step}
        ):
            raise Unclear
        outside = self.given.get(node.value.id)
        return outside.id if isinstance(outside, ast.Name) else node.value.id

    @staticmethod
    def last(function):
        return function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")
