"""Statements and expressions of a program that is read and not run: what its names have as values."""

import ast
import json
import operator
import re

from ._tensorflow_values import (
    DIFFERS,
    MISTAKE,
    Config,
    Context,
    Dataset,
    Function,
    Iterator,
    Known,
    Method,
    Named,
    Options,
    Pattern,
    Range,
    Strategy,
    Symbol,
    Text,
    known,
)

OPERATORS = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.Div: operator.truediv,
}
COMPARISONS = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
}
PASSES = 64  # of loops that are read one by one
LOADED = "tensorflow", "numpy", "os", "json"
USUAL = {"tf": "tensorflow", "np": "numpy", "os": "os", "json": "json"}


class Syntax:
    """Reads statements in order; `get_Call` is of what is derived from it."""

    def __init__(self, source, file, notes):
        self.source, self.file, self.notes = source, file, notes
        self.lines = re.split(r"\r\n|\n|\r", source)  # as ast counts them
        self.scopes, self.loops, self.defined = [{}], [], []
        self.config = self.config_line = None
        self.unrolled = PASSES

    # ------------------------------------------------------------------------------------- text

    def text(self, node):
        """How a node is written, on one line."""
        if getattr(node, "end_lineno", None) is None:
            return type(node).__name__
        lines = self.lines[node.lineno - 1 : node.end_lineno]
        lines[-1] = lines[-1].encode()[: node.end_col_offset].decode()
        lines[0] = lines[0].encode()[node.col_offset :].decode()
        return " ".join(" ".join(lines).split())

    def short(self, node, most=80):
        made = self.text(node)
        return made if len(made) <= most else made[: most - 3] + "..."

    # ------------------------------------------------------------------------------- statements

    def block(self, statements):
        """Runs statements in order; the value of the first `return`, or None."""
        result = None
        for statement in statements:
            value = self.statement(statement)
            if value is not None and result is None:
                result = value
        return result

    def statement(self, node):
        handler = getattr(self, "do_" + type(node).__name__, None)
        if handler is not None:
            return handler(node)
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.stmt):
                self.statement(child)
            elif isinstance(child, ast.expr):
                self.value(child)
        return None

    def do_Import(self, node):
        for alias in node.names:
            root = alias.name.split(".")[0]
            if root in LOADED:
                path = alias.name if alias.asname else root
                self.scopes[-1][alias.asname or root] = Named(self.canonical(path))

    def do_ImportFrom(self, node):
        root = (node.module or "").split(".")[0]
        if root in LOADED:
            for alias in node.names:
                self.scopes[-1][alias.asname or alias.name] = Named(self.canonical(f"{node.module}.{alias.name}"))

    @staticmethod
    def canonical(path):
        path = re.sub(r"^tensorflow\b", "tf", path)
        return re.sub(r"^tf\.(compat\.v2|python)\b", "tf", path)

    def do_FunctionDef(self, node):
        function = Function(node, list(self.scopes), node.name)
        self.scopes[-1][node.name] = function
        self.defined.append(function)
        for decorator in node.decorator_list:
            self.value(decorator)

    do_AsyncFunctionDef = do_FunctionDef

    def do_ClassDef(self, node):
        for statement in node.body:
            if isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef)):
                self.defined.append(Function(statement, list(self.scopes), statement.name))
            else:
                self.statement(statement)

    def do_Return(self, node):
        return self.value(node.value) if node.value is not None else Known(None)

    def do_Assign(self, node):
        value = self.value(node.value)
        for target in node.targets:
            self.assign(target, value)

    def do_AnnAssign(self, node):
        if node.value is not None:
            self.assign(node.target, self.value(node.value))

    def do_AugAssign(self, node):
        self.value(node.value)
        if isinstance(node.target, ast.Name):
            self.assign(node.target, Text(node.target.id, node.lineno))

    def assign(self, target, value):
        if isinstance(target, ast.Name):
            if isinstance(value, Text):
                value = Text(target.id, value.line, value.origin or value.text)
            self.scopes[-1][target.id] = value
            if isinstance(value, (Dataset, Strategy)):
                value.name = target.id
        elif isinstance(target, (ast.Tuple, ast.List)):
            parts = value if self.is_list(value) and len(value) == len(target.elts) else None
            for number, part in enumerate(target.elts):
                self.assign(part, parts[number] if parts else Text(self.text(part), target.lineno))
        elif isinstance(target, ast.Attribute):
            self.assign_attribute(target, value)
        elif isinstance(target, ast.Subscript):
            whole, key = self.value(target.value), known(self.value(target.slice))
            if isinstance(whole, Named) and whole.path == "os.environ" and key == "TF_CONFIG":
                self.set_config(value, target.lineno)

    def assign_attribute(self, target, value):
        path, root = [target.attr], target.value
        while isinstance(root, ast.Attribute) and not isinstance(self.value(root), Options):
            path.insert(0, root.attr)
            root = root.value
        owner = self.value(root)
        if isinstance(owner, Options):
            owner.values[".".join(path)] = (value, target.lineno, self.text(target))
        elif isinstance(root, ast.Name):
            self.scopes[0][self.text(target)] = value
            if isinstance(value, (Dataset, Strategy)):
                value.name = target.attr

    def set_config(self, value, line):
        text = known(value)
        if not isinstance(text, str):
            return
        self.config_line = line
        try:
            self.config = json.loads(text)
            return
        except ValueError as error:
            row = getattr(error, "lineno", 1)
            where = next(
                (
                    i
                    for i, one in enumerate(self.lines, 1)
                    if i >= line and text.splitlines()[row - 1].strip() and text.splitlines()[row - 1].strip() in one
                ),
                line,
            )
        bare = re.sub(r"(?m)#.*$", "", text)
        try:
            self.config = json.loads(bare)
            self.notes.add(
                MISTAKE, where, "TF_CONFIG has a comment of Python, and JSON has no comments: TensorFlow ends with an error here"
            )
        except ValueError as error:
            self.notes.add(MISTAKE, where, f"TF_CONFIG is not JSON: {error}")

    def bound(self):
        """What names have as values, for `restore`."""
        return [dict(scope) for scope in self.scopes]

    def restore(self, kept):
        for scope, values in zip(self.scopes, kept):  # changed in place, because functions refer to them
            scope.clear()
            scope.update(values)

    def aside(self, read, kept):
        """Reads what is not taken, from these values of names; its result.  What it binds is forgotten."""
        after, count = self.bound(), len(self.datasets)
        self.restore(kept)
        result = read()
        self.restore(after)
        for dataset in self.datasets[count:]:
            dataset.taken = False
        return result

    def rebinds(self, kept, kinds=Dataset):
        """Whether names have other datasets than these."""
        return any(
            isinstance(value, kinds) and old.get(name) is not value
            for scope, old in zip(self.scopes, kept)
            for name, value in scope.items()
        )

    def do_If(self, node):
        test = known(self.value(node.test), self)
        if test is not self and isinstance(node.test, (ast.Constant, ast.Name, ast.Compare)):
            return self.block(node.body if test else node.orelse)
        before = self.bound()
        result = self.block(node.body)
        if node.orelse:
            other = self.aside(lambda: self.block(node.orelse), before)
            result = result if result is not None else other
        changes = self.rebinds(before, (Dataset, Known)) or isinstance(result, (Dataset, Known))
        if changes and "__name__" not in self.text(node.test):
            self.notes.add(
                DIFFERS, node.lineno, f"`if {self.short(node.test)}` is not known before the program runs: it is taken as true"
            )
        return result

    def do_For(self, node):
        over = self.value(node.iter)
        if isinstance(over, (Dataset, Iterator)):
            self.iterated(over.dataset if isinstance(over, Iterator) else over, node)
        passes = self.passes(over, node.iter)
        result = None
        if passes is not None and self.unrolls(passes, node):
            for value in passes:
                self.assign(node.target, value)
                result = self.looped(None, node) if result is None else result
        elif passes is None or len(passes):
            self.assign(node.target, Text(self.text(node.target), node.lineno))
            result = self.once(over, node, passes)
        other = self.block(node.orelse)
        return result if result is not None else other

    do_AsyncFor = do_For

    def passes(self, over, node):
        """The values that a loop runs over; None if they are not known."""
        if isinstance(over, Range):
            count = known(over.count)
            values = over.values if over.values is not None else range(count) if isinstance(count, int) else None
            return None if values is None else [Known(value) for value in values[: self.unrolled + 1]]
        if not self.is_list(over) or isinstance(node, ast.Name) and self.is_changed_in_place(node.id):
            return None
        return over

    def is_changed_in_place(self, name):
        changes = r"\.\s*(append|extend|insert|pop|remove|clear|sort|reverse)\b|\[[^\]]*\]\s*=(?!=)|\+="
        return re.search(rf"\b{re.escape(name)}\s*({changes})", self.source) is not None

    def unrolls(self, passes, node):
        """Whether each pass of a loop is read, because it changes the dataset of the one before."""
        inside = [part for statement in node.body for part in ast.walk(statement)]
        names = {self.text(part) for part in inside if isinstance(getattr(part, "ctx", None), ast.Store)}
        carried = any(isinstance(scope.get(name), Dataset) for scope in self.scopes for name in names)
        if not carried or len(passes) > self.unrolled or any(isinstance(part, (ast.Break, ast.Continue)) for part in inside):
            return False
        self.unrolled -= len(passes)
        return True

    def looped(self, over, node):
        self.loops.append((over, node))
        result = self.block(node.body)
        self.loops.pop()
        return result

    def once(self, over, node, passes=None):
        """Reads the body of a loop once, and says so if that is another dataset than after several passes."""
        before = self.bound()
        result = self.looped(over, node)
        had = [{name: value for name, value in scope.items() if isinstance(value, Dataset)} for scope in before]
        changed = any(scope.get(name) is not value for scope, old in zip(self.scopes, had) for name, value in old.items())
        if changed and (passes is None or len(passes) != 1):
            line = self.short(node.test if isinstance(node, ast.While) else node.iter)
            word = "while" if isinstance(node, ast.While) else f"for {self.text(node.target)} in"
            self.notes.add(DIFFERS, node.lineno, f"`{word} {line}` changes a dataset in each pass: the loop is read once")
        return result

    def do_While(self, node):
        test = known(self.value(node.test), self)
        result = None
        if test is self or test or not isinstance(node.test, (ast.Constant, ast.Name, ast.Compare)):
            result = self.once(None, node)
        other = self.block(node.orelse)
        return result if result is not None else other

    def do_With(self, node):
        for item in node.items:
            value = self.value(item.context_expr)
            if item.optional_vars is not None:
                self.assign(item.optional_vars, value)
        return self.block(node.body)

    do_AsyncWith = do_With

    def do_Try(self, node):
        before = self.bound()
        results = [self.block(node.body), self.block(node.orelse)]
        for handler in node.handlers:
            self.handler(handler, before)
        results.append(self.block(node.finalbody))
        return next((result for result in results if result is not None), None)

    do_TryStar = do_Try

    def handler(self, node, kept):
        """Reads what is done after an error at the beginning of `try`; the datasets that are made there are left out."""
        count, used = len(self.datasets), [dataset.used for dataset in self.datasets]
        self.aside(lambda: self.block(node.body), kept)
        if len(self.datasets) > count:
            name = f"except {self.short(node.type)}" if node.type is not None else "except"
            self.notes.add(
                DIFFERS, node.lineno, f"whether `{name}` is reached is not known before the program runs: it is taken as not reached"
            )
        del self.datasets[count:]
        for dataset, before in zip(self.datasets, used):
            dataset.used = before

    def do_Match(self, node):
        self.value(node.subject)
        before, result = self.bound(), None
        for number, case in enumerate(node.cases):
            other = self.aside(lambda: self.block(case.body), before) if number else self.block(case.body)
            result = result if result is not None else other
        if self.rebinds(before) or isinstance(result, Dataset):
            subject = self.short(node.subject)
            self.notes.add(
                DIFFERS, node.lineno, f"`match {subject}` is not known before the program runs: its first case is taken"
            )
        return result

    # ------------------------------------------------------------------------------ expressions

    def value(self, node):
        handler = getattr(self, "get_" + type(node).__name__, None)
        if handler is not None:
            return handler(node)
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.expr):
                self.value(child)
        return Text(self.text(node), getattr(node, "lineno", 0))

    @staticmethod
    def is_list(value):
        return isinstance(value, (tuple, list)) and not hasattr(value, "_fields")

    def get_Constant(self, node):
        return Known(node.value)

    def get_Index(self, node):  # Python 3.8
        return self.value(node.value)

    def get_Name(self, node):
        for scope in reversed(self.scopes):
            if node.id in scope:
                return scope[node.id]
        if node.id in USUAL:
            self.notes.add(DIFFERS, node.lineno, f"`{node.id}` is not imported in this file: it is taken for {USUAL[node.id]}")
            self.scopes[0][node.id] = Named(self.canonical(USUAL[node.id]))
            return self.scopes[0][node.id]
        return Text(node.id, node.lineno)

    def get_Tuple(self, node):
        parts = self.parts(node)
        return Text(self.text(node), node.lineno) if parts is None else tuple(parts)

    def get_List(self, node):
        parts = self.parts(node)
        return Text(self.text(node), node.lineno) if parts is None else parts

    def parts(self, node):
        """The values of a display; None if it has those of a list that is not known."""
        made = []
        for part in node.elts:
            value = self.value(part.value if isinstance(part, ast.Starred) else part)
            if not isinstance(part, ast.Starred):
                made.append(value)
            elif self.is_list(value):
                made.extend(value)
            else:
                return None
        return made

    def get_Dict(self, node):
        made = {}
        for key, part in zip(node.keys, node.values):
            value = self.value(part)
            if key is not None:
                name = known(self.value(key))
                made[name if isinstance(name, (str, int)) else self.text(key)] = value
        return made

    def get_Lambda(self, node):
        self.defined.append(Function(node, list(self.scopes), "lambda"))
        return self.defined[-1]

    def get_IfExp(self, node):
        test = known(self.value(node.test), self)
        if test is not self:
            return self.value(node.body if test else node.orelse)
        before = self.bound()
        first, second = self.value(node.body), self.aside(lambda: self.value(node.orelse), before)
        if first != second and any(isinstance(one, (Dataset, Known)) for one in (first, second)):
            self.notes.add(
                DIFFERS, node.lineno, f"`if {self.short(node.test)}` is not known before the program runs: it is taken as true"
            )
        return first

    def get_UnaryOp(self, node):
        value = known(self.value(node.operand), self)
        if isinstance(node.op, ast.USub) and isinstance(value, (int, float)):
            return Known(-value)
        return Known(not value) if isinstance(node.op, ast.Not) and value is not self else Text(self.text(node), node.lineno)

    def get_BinOp(self, node):
        left, right = self.value(node.left), self.value(node.right)
        if isinstance(left, Known) and isinstance(right, Known) and type(node.op) in OPERATORS:
            try:
                made = OPERATORS[type(node.op)](left.value, right.value)
            except (TypeError, ValueError, ArithmeticError, MemoryError):
                return Text(self.text(node), node.lineno)
            return (
                Known(made) if not isinstance(made, (str, list, tuple)) or len(made) < 10000 else Text(self.text(node), node.lineno)
            )
        if isinstance(node.op, ast.Add) and isinstance(left, (Known, Pattern)) and isinstance(right, (Known, Pattern, Symbol)):
            return self.joined((left, right), node)
        return Text(self.text(node), node.lineno)

    def get_Compare(self, node):
        left, rights = self.value(node.left), [self.value(part) for part in node.comparators]
        if len(rights) == 1 and isinstance(left, Known) and isinstance(rights[0], Known) and type(node.ops[0]) in COMPARISONS:
            try:
                return Known(COMPARISONS[type(node.ops[0])](left.value, rights[0].value))
            except TypeError:
                pass
        return Text(self.text(node), node.lineno)

    def get_JoinedStr(self, node):
        return self.joined([self.value(part.value if isinstance(part, ast.FormattedValue) else part) for part in node.values], node)

    def joined(self, parts, node):
        """A text of parts; the number of the worker makes it a pattern of files."""
        made = ""
        for part in parts:
            if isinstance(part, Known) and isinstance(part.value, (str, int, float)):
                made += str(part.value)
            elif isinstance(part, Pattern):
                made += part.text
            elif isinstance(part, Symbol) and part.name == "lane":
                made += "*"
            else:
                return Text(self.text(node), node.lineno)
        known_only = all(isinstance(part, Known) for part in parts)
        return Known(made) if known_only else Pattern(made)

    def get_Subscript(self, node):
        whole, key = self.value(node.value), self.value(node.slice)
        name = known(key)
        if isinstance(whole, Named) and whole.path == "os.environ" and name == "TF_CONFIG":
            return Config(False)
        if isinstance(whole, Config) and isinstance(name, str):
            if not whole.parsed and not whole.keys:
                self.notes.add(
                    MISTAKE,
                    node.lineno,
                    f"`{self.text(node)}`: TF_CONFIG is a text, which a name cannot index: "
                    "json.loads(os.environ['TF_CONFIG']) makes a dict of it. It is translated as the dict that was meant",
                )
            return self.part_of_config(Config(whole.parsed, whole.keys + (name,)))
        if self.is_list(whole) and isinstance(name, int) and -len(whole) <= name < len(whole):
            return whole[name]
        if isinstance(whole, dict) and isinstance(name, (str, int)) and name in whole:
            return whole[name]
        return Text(self.text(node), node.lineno)

    def part_of_config(self, config):
        if config.keys[:2] == ("task", "index"):
            return Symbol("lane")
        return config

    def get_Attribute(self, node):
        for scope in reversed(self.scopes):
            made = scope.get(self.text(node)) if isinstance(node.value, ast.Name) else None
            if made is not None:
                return made
        owner = self.value(node.value)
        if isinstance(owner, Named):
            return Named(f"{owner.path}.{node.attr}")
        if isinstance(owner, Context):
            return {
                "num_input_pipelines": Symbol("lanes"),
                "input_pipeline_id": Symbol("lane"),
                "num_replicas_in_sync": Known(self.replicas),
            }.get(node.attr, Method(owner, node.attr))
        if isinstance(owner, Strategy) and node.attr == "num_replicas_in_sync":
            self.note_strategy(owner, node, "num_replicas_in_sync")
            return Known(self.replicas_of(owner))
        if isinstance(owner, Dataset) and node.attr == "element_spec":
            self.program(
                node, "tf.distribute.DistributedDataset.element_spec" if owner.distributed else "tf.data.Dataset.element_spec"
            )
            return Text(self.text(node), node.lineno)
        if isinstance(owner, (Dataset, Strategy, Iterator, Config, Options, Text)):
            return Method(owner, node.attr)
        return Text(self.text(node), node.lineno)

    def get_NamedExpr(self, node):
        value = self.value(node.value)
        self.assign(node.target, value)
        return value

    def get_ListComp(self, node):
        self.scopes.append({})
        for generator in node.generators:
            over = self.value(generator.iter)
            if isinstance(over, Dataset):
                self.iterated(over, node)
            self.assign(generator.target, Text(self.text(generator.target), node.lineno))
        for part in (node.key, node.value) if isinstance(node, ast.DictComp) else (node.elt,):
            self.value(part)
        self.scopes.pop()
        return Text(self.text(node), node.lineno)

    get_SetComp = get_DictComp = get_GeneratorExp = get_ListComp
