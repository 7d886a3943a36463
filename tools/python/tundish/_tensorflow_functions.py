"""Functions that a dataset maps or filters by, as operations of a preprocessor."""

import ast
import dataclasses
import re
import typing

from ._tensorflow_values import DIFFERS, MISTAKE, Function, Known, Named, dtype_of, known, leaves


class Unknown(Exception):
    """A function does what has no operation: why, and the line."""

    def __init__(self, line, why):
        super().__init__(why)
        self.line, self.why = line, why


@dataclasses.dataclass(frozen=True, eq=False)
class Operation:
    """An operation of a preprocessor, with its line and text in the program."""

    name: str
    options: dict
    line: int
    text: str

    def _replace(self, **changes):
        return dataclasses.replace(self, **changes)


class Column:
    """A column and what is done to it; a copy is made for each further step."""

    def __init__(self, name, steps=()):
        self.name, self.steps = name, steps

    def then(self, operation, options, node, text):
        return Column(self.name, self.steps + (Operation(operation, options, node.lineno, text),))


class Formula(typing.NamedTuple):
    """A formula of columns as they are."""

    text: str
    columns: tuple


ARITHMETIC = {ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/", ast.Mod: "%"}
COMPARE = {ast.Eq: "==", ast.NotEq: "!=", ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">="}
NAMED_ARITHMETIC = {"add": "+", "subtract": "-", "multiply": "*", "divide": "/", "truediv": "/", "floormod": "%", "math.mod": "%"}
NAMED_COMPARE = {
    "equal": "==",
    "not_equal": "!=",
    "less": "<",
    "less_equal": "<=",
    "greater": ">",
    "greater_equal": ">=",
    "logical_and": "and",
    "logical_or": "or",
}

# Functions of one picture or number: arguments after the column, and how they are options.
SIMPLE = {
    "image.flip_left_right": ("flip", (), lambda: {}),
    "image.flip_up_down": ("flip", (), lambda: {"axis": "vertical"}),
    "image.random_flip_left_right": ("random_flip", ("seed?",), lambda seed=None: {}),
    "image.random_flip_up_down": ("random_flip", ("seed?",), lambda seed=None: {"axis": "vertical"}),
    "image.random_brightness": ("random_brightness", ("max_delta", "seed?"), lambda max_delta, seed=None: {"max": max_delta}),
    "image.random_contrast": (
        "random_contrast",
        ("lower", "upper", "seed?"),
        lambda lower, upper, seed=None: {"low": lower, "high": upper},
    ),
    "image.random_saturation": (
        "random_saturation",
        ("lower", "upper", "seed?"),
        lambda lower, upper, seed=None: {"low": lower, "high": upper},
    ),
    "image.random_hue": ("random_hue", ("max_delta", "seed?"), lambda max_delta, seed=None: {"max": max_delta}),
    "image.random_crop": ("random_crop", ("size", "seed?"), lambda size, seed=None: {"height": size[0], "width": size[1]}),
    "image.adjust_brightness": ("brightness", ("delta",), lambda delta: {"value": delta}),
    "image.adjust_contrast": ("contrast", ("contrast_factor",), lambda contrast_factor: {"value": contrast_factor}),
    "image.adjust_saturation": ("saturation", ("saturation_factor",), lambda saturation_factor: {"value": saturation_factor}),
    "image.adjust_hue": ("hue", ("delta",), lambda delta: {"value": delta}),
    "image.per_image_standardization": ("standardize", (), lambda: {}),
    "image.rgb_to_grayscale": ("grayscale", (), lambda: {}),
    "image.grayscale_to_rgb": ("rgb", (), lambda: {}),
    "image.rot90": ("rot90", ("k?",), lambda k=1: {"times": k}),
    "image.crop_to_bounding_box": (
        "crop",
        ("offset_height", "offset_width", "target_height", "target_width"),
        lambda offset_height, offset_width, target_height, target_width: {
            "height": target_height,
            "width": target_width,
            "at": [offset_height, offset_width],
        },
    ),
    "clip_by_value": (
        "clip",
        ("clip_value_min", "clip_value_max"),
        lambda clip_value_min, clip_value_max: {"min": clip_value_min, "max": clip_value_max},
    ),
    "transpose": ("transpose", ("perm",), lambda perm: {"axes": perm}),
    "reshape": ("reshape", ("shape",), lambda shape: {"shape": shape}),
    "image.resize": (
        "resize",
        ("size", "method?", "preserve_aspect_ratio?", "antialias?"),
        lambda size, method="bilinear", preserve_aspect_ratio=False, antialias=False: {
            "size": list(size),
            **({"method": method} if method != "bilinear" else {}),
            **({"antialias": True} if antialias else {}),
            **({"keep_aspect": True} if preserve_aspect_ratio else {}),
        },
    ),
}
DECODERS = (
    "io.decode_jpeg",
    "io.decode_png",
    "io.decode_image",
    "image.decode_jpeg",
    "image.decode_png",
    "image.decode_image",
    "io.decode_and_crop_jpeg",
)
SAME = "identity", "convert_to_tensor", "constant", "stop_gradient", "ensure_shape"


class Translation:
    """The body of one function, for an element of columns.  `reader` resolves what is not a column."""

    def __init__(self, reader, function, element):
        self.reader, self.function, self.element = reader, function, element
        self.names = {}

    # ------------------------------------------------------------------------------- statements

    def result(self):
        """What the function returns: columns, formulas, tuples and dicts of them."""
        node = self.function.node
        arguments = node.args
        names = [argument.arg for argument in arguments.args]
        # A tuple is passed as arguments, anything else as one.
        given = list(self.element) if isinstance(self.element, tuple) else [self.element]
        if arguments.vararg is not None:
            self.names[arguments.vararg.arg] = tuple(self.columns(part) for part in given[len(names) :])
            given = given[: len(names)]
        needed = len(names) - len(arguments.defaults)
        if not needed <= len(given) <= len(names):
            raise Unknown(node.lineno, f"it takes {len(names)} arguments, but an element has {len(given)} parts")
        self.names.update(zip(names, map(self.columns, given)))
        if isinstance(node, ast.Lambda):
            return self.value(node.body)
        for statement in node.body:
            if isinstance(statement, ast.Return) and statement.value is not None:
                return self.value(statement.value)
            self.statement(statement)
        raise Unknown(node.lineno, "it returns nothing")

    def columns(self, element):
        if isinstance(element, str):
            return Column(element)
        if isinstance(element, dict):
            return {key: self.columns(part) for key, part in element.items()}
        return tuple(map(self.columns, element))

    def statement(self, node):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            return  # a docstring
        if isinstance(node, ast.Assign) and len(node.targets) == 1:
            self.assign(node.targets[0], self.value(node.value))
        elif isinstance(node, ast.AnnAssign) and node.value is not None:
            self.assign(node.target, self.value(node.value))
        elif isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name):
            self.assign(
                node.target,
                self.arithmetic(
                    node, self.value(ast.Name(node.target.id, ast.Load(), lineno=node.lineno)), node.op, self.value(node.value)
                ),
            )
        elif not isinstance(node, ast.Pass):
            raise Unknown(node.lineno, "it has a statement that is not an assignment")

    def assign(self, target, value):
        if isinstance(target, ast.Name):
            self.names[target.id] = value
        elif isinstance(target, (ast.Tuple, ast.List)) and isinstance(value, tuple) and len(target.elts) == len(value):
            for part, one in zip(target.elts, value):
                self.assign(part, one)
        elif isinstance(target, ast.Subscript) and isinstance(self.value(target.value), dict):
            key = known(self.reader.value(target.slice))
            self.value(target.value)[key] = value
        else:
            raise Unknown(target.lineno, "it assigns to something that is not a name")

    # ------------------------------------------------------------------------------ expressions

    def text(self, node):
        return self.reader.text(node)

    def value(self, node):
        if isinstance(node, ast.Name) and node.id in self.names:
            return self.names[node.id]
        if isinstance(node, ast.Tuple):
            return tuple(map(self.value, node.elts))
        if isinstance(node, ast.Dict):
            return {known(self.reader.value(key)) if key else None: self.value(part) for key, part in zip(node.keys, node.values)}
        if isinstance(node, ast.Subscript):
            return self.part(node)
        if isinstance(node, ast.BinOp):
            return self.arithmetic(node, self.value(node.left), node.op, self.value(node.right))
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub) and not isinstance(node.operand, ast.Constant):
            return self.arithmetic(node, Known(-1), "*", self.value(node.operand))
        if isinstance(node, ast.Compare) and len(node.ops) == 1 and type(node.ops[0]) in COMPARE:
            return self.formula(node, self.value(node.left), COMPARE[type(node.ops[0])], self.value(node.comparators[0]))
        if isinstance(node, ast.BoolOp) and len(node.values) == 2:
            word = "and" if isinstance(node.op, ast.And) else "or"
            return self.formula(node, self.value(node.values[0]), word, self.value(node.values[1]))
        if isinstance(node, ast.Call):
            return self.call(node)
        outside = self.reader.value(node)
        if known(outside, self) is not self:
            return outside
        raise Unknown(node.lineno, f"`{self.text(node)}` has no operation")

    def part(self, node):
        whole, key = self.value(node.value), known(self.reader.value(node.slice))
        if isinstance(whole, dict) and key in whole:
            return whole[key]
        if isinstance(whole, tuple) and not hasattr(whole, "_fields") and isinstance(key, int) and -len(whole) <= key < len(whole):
            return whole[key]
        raise Unknown(node.lineno, f"`{self.text(node)}` takes a part of a row")

    def arithmetic(self, node, left, operator, right):
        sign = ARITHMETIC.get(type(operator)) if not isinstance(operator, str) else operator
        if sign is None:
            raise Unknown(node.lineno, f"`{self.text(node)}` is arithmetic that `compute` does not have")
        if isinstance(left, Known) and isinstance(right, Known):
            return self.reader.value(node)
        for column, other, form in ((left, right, "{0} {1} {2}"), (right, left, "{2} {1} {0}")):
            if isinstance(column, Column) and column.steps and isinstance(other, Known):
                text = form.format(column.name, sign, number(node, other))
                return column.then("compute", {column.name: text}, node, self.text(node))
        return self.formula(node, left, sign, right)

    def formula(self, node, left, sign, right):
        (one, first), (two, second) = self.operand(node, left), self.operand(node, right)
        return Formula(f"{one} {sign} {two}", first + second)

    def operand(self, node, value):
        if isinstance(value, Known):
            return number(node, value), ()
        if isinstance(value, Column) and not value.steps:
            return value.name, (value.name,)
        if isinstance(value, Formula):
            return f"({value.text})", value.columns
        raise Unknown(node.lineno, f"`{self.text(node)}` computes with what operations have made")

    # ------------------------------------------------------------------------------------ calls

    def bound(self, node, names):
        """The arguments of a call by name; the first is translated, the others are values."""
        given = dict(zip([name.rstrip("?") for name in names], node.args))
        given.update((keyword.arg, keyword.value) for keyword in node.keywords)
        for name in given:
            if name != "name" and name not in [one.rstrip("?") for one in names]:
                raise Unknown(node.lineno, f"`{self.text(node.func)}` with `{name}` has no operation")
        if len(node.args) > len(names) or any(name not in given for name in names if not name.endswith("?")):
            raise Unknown(node.lineno, f"the arguments of `{self.text(node)}` are not those of TensorFlow")
        given.pop("name", None)
        return given

    def values(self, node, given):
        made = {}
        for name, part in given.items():
            value = self.reader.value(part)
            if isinstance(value, Named) and value.path.startswith("tf.image.ResizeMethod."):
                value = Known(value.path.split(".")[-1].lower().replace("nearest_neighbor", "nearest"))
            if known(value, self) is self:
                raise Unknown(part.lineno, f"`{self.text(part)}` is not known before the program runs")
            made[name] = known(value)
        return made

    def call(self, node):
        function = self.reader.value(node.func)
        if isinstance(function, Function):
            return self.nested(node, function)
        path = function.path if isinstance(function, Named) else ""
        name = path[3:] if path.startswith("tf.") else ""
        sign = NAMED_ARITHMETIC.get(name.replace("math.", "", 1) if name.startswith("math.") else name)
        compare = NAMED_COMPARE.get(name.replace("math.", "", 1))
        if (sign or compare) and len(node.args) == 2 and not node.keywords:
            left, right = map(self.value, node.args)
            return self.arithmetic(node, left, sign, right) if sign else self.formula(node, left, compare, right)
        if name in SAME and node.args:
            return self.value(node.args[0])
        if name == "random.uniform" or not name:
            raise Unknown(node.lineno, f"`{self.text(node.func)}` has no operation")
        handler = getattr(self, "op_" + name.split(".")[-1], None)
        if name in DECODERS:
            return self.decode(node, name)
        if name in SIMPLE:
            return self.simple(node, name)
        if handler is not None and name in (
            "cast",
            "one_hot",
            "image.convert_image_dtype",
            "strings.to_number",
            "io.decode_raw",
            "io.parse_single_example",
            "io.parse_example",
            "io.read_file",
        ):
            return handler(node)
        raise Unknown(node.lineno, f"`{self.text(node.func)}` has no operation")

    def nested(self, node, function):
        if node.keywords or self.reader.depth > 20:
            raise Unknown(node.lineno, f"`{self.text(node)}` is called with names, or calls itself")
        inner = Translation(self.reader, function, ())
        names = [argument.arg for argument in function.node.args.args]
        if len(names) != len(node.args):
            raise Unknown(node.lineno, f"`{self.text(node)}` has other arguments than its function")
        inner.element = ()
        inner.names.update(zip(names, map(self.value, node.args)))
        self.reader.depth += 1
        try:
            if isinstance(function.node, ast.Lambda):
                return inner.value(function.node.body)
            for statement in function.node.body:
                if isinstance(statement, ast.Return) and statement.value is not None:
                    return inner.value(statement.value)
                inner.statement(statement)
        finally:
            self.reader.depth -= 1
        raise Unknown(node.lineno, f"`{self.text(node)}` returns nothing")

    def column(self, node):
        value = self.value(node)
        if isinstance(value, Formula) and len(set(value.columns)) == 1:
            value = Column(value.columns[0]).then("compute", {value.columns[0]: value.text}, node, self.text(node))
        if not isinstance(value, Column):
            raise Unknown(node.lineno, f"`{self.text(node)}` is not one column")
        return value

    def simple(self, node, name):
        operation, arguments, options = SIMPLE[name]
        given = self.bound(node, ("column",) + arguments) if node.args else {}
        if "column" not in given:
            raise Unknown(node.lineno, f"`{self.text(node)}` has no picture as its first argument")
        column = self.column(given.pop("column"))
        made = options(**self.values(node, given))
        if operation == "resize" and column.steps and column.steps[-1].name == "decode_image":
            last = column.steps[-1]
            decode = last._replace(options={**last.options, "then": [{"resize": made}]}, text=f"{last.text}, {self.text(node)}")
            return Column(column.name, column.steps[:-1] + (decode,))
        if operation.startswith("random_") or "seed" in given:
            self.reader.notes.add(
                DIFFERS,
                node.lineno,
                f"`{operation}` draws by seed, epoch and sample: other pictures than tf.{name}, the same on any workers",
            )
        return column.then(operation, made, node, self.text(node))

    def decode(self, node, name):
        column = self.column(node.args[0]) if node.args else None
        if column is None or column.steps and column.steps[-1].name != "folder":
            raise Unknown(node.lineno, f"`{self.text(node)}` decodes something that is not a column of files")
        given = self.values(node, {keyword.arg: keyword.value for keyword in node.keywords if keyword.arg in ("channels", "ratio")})
        channels = given.get("channels") or 3
        return column.then("decode_image", {"channels": channels, "then": []}, node, self.text(node))

    def op_cast(self, node):
        given = self.bound(node, ("x", "dtype"))
        to = dtype_of(self.reader.value(given["dtype"]))
        if to is None:
            raise Unknown(node.lineno, f"the type of `{self.text(node)}` is not known")
        return self.column(given["x"]).then("cast", {"to": to}, node, self.text(node))

    def op_convert_image_dtype(self, node):
        given = self.bound(node, ("image", "dtype", "saturate?"))
        column, to = self.column(given["image"]), dtype_of(self.reader.value(given["dtype"]))
        if to not in ("f32", "f64", "f16", "bf16"):
            raise Unknown(node.lineno, "`scale` makes floats only")
        scale = Operation("scale", {"to": to, "range": [0, 1]}, node.lineno, self.text(node))
        resized = [
            i
            for i, step in enumerate(column.steps)
            if step.name == "resize" or step.name == "decode_image" and step.options["then"]
        ]
        if not resized:
            return Column(column.name, column.steps + (scale,))
        first = resized[0]
        line = column.steps[first].line
        self.reader.notes.add(
            MISTAKE,
            node.lineno,
            f"`{self.text(node)}` does nothing after the resize of line {line}, which returns floats: "
            "pixels stay 0 to 255. What was meant is written: they become 0 to 1",
        )
        if column.steps[first].name == "decode_image":  # whose pixels are of u8
            return Column(column.name, column.steps + (scale,))
        return Column(column.name, column.steps[:first] + (scale,) + column.steps[first:])

    def op_one_hot(self, node):
        given = self.bound(node, ("indices", "depth", "on_value?", "off_value?", "axis?", "dtype?"))
        column = self.column(given.pop("indices"))
        to = dtype_of(self.reader.value(given.pop("dtype"))) if "dtype" in given else None
        options = self.values(node, given)
        if options.pop("axis", -1) not in (-1, None):
            raise Unknown(node.lineno, "the axis of `one_hot` is the last one")
        made = {
            "depth": options["depth"],
            **({"on": options["on_value"]} if "on_value" in options else {}),
            **({"off": options["off_value"]} if "off_value" in options else {}),
            **({"to": to} if to else {}),
        }
        return column.then("one_hot", made, node, self.text(node))

    def op_to_number(self, node):
        given = self.bound(node, ("input", "out_type?"))
        to = dtype_of(self.reader.value(given["out_type"])) if "out_type" in given else "f32"
        return self.column(given["input"]).then("to_number", {"to": to}, node, self.text(node))

    def op_decode_raw(self, node):
        given = self.bound(node, ("input_bytes", "out_type", "little_endian?", "fixed_length?"))
        to = dtype_of(self.reader.value(given["out_type"]))
        if to is None or "fixed_length" in given:
            raise Unknown(node.lineno, f"`{self.text(node)}` has a type or length that is not known")
        return self.column(given["input_bytes"]).then("decode_raw", {"to": to}, node, self.text(node))

    def op_read_file(self, node):
        column = self.column(self.bound(node, ("filename",))["filename"])
        if column.name != "path" or column.steps:
            raise Unknown(node.lineno, "only paths of list_files or of a list are read")
        return Column("path", (Operation("folder", {}, node.lineno, self.text(node)),))

    def op_parse_single_example(self, node):
        given = self.bound(node, ("serialized", "features", "example_names?"))
        column = self.column(given["serialized"])
        features = self.reader.value(given["features"])
        if not isinstance(features, dict) or column.steps:
            raise Unknown(node.lineno, "the features are not written as a dict")
        made = {str(key): self.feature(node, str(key), part) for key, part in features.items()}
        function = self.text(node.func).split(".")[-1]
        options = {"features": {name(key): option for key, option in made.items()}, "like": function}
        if column.name != "record":
            options = {"column": column.name, **options}
        step = Operation("parse_example", options, node.lineno, self.text(node))
        return {key: Column(name(key), (step,)) for key in made}

    op_parse_example = op_parse_single_example

    def feature(self, node, key, value):
        call = value if isinstance(value, tuple) and hasattr(value, "path") and hasattr(value, "call") else None
        kind = call.path.split(".")[-1] if call else None
        if kind not in ("FixedLenFeature", "VarLenFeature", "RaggedFeature", "FixedLenSequenceFeature"):
            raise Unknown(node.lineno, f"the feature `{key}` is not one of tf.io")
        given = dict(zip(("shape", "dtype", "default_value") if kind.startswith("Fixed") else ("dtype",), call.call.args))
        given.update((keyword.arg, keyword.value) for keyword in call.call.keywords)
        to = dtype_of(self.reader.value(given["dtype"])) if "dtype" in given else None
        if to not in ("f32", "i64", "string"):
            raise Unknown(node.lineno, f"the type of the feature `{key}` is not float32, int64 or string")
        option = {"dtype": "bytes" if to == "string" else to}
        shape = known(self.reader.value(given["shape"])) if "shape" in given else None
        if kind != "FixedLenFeature":
            option["ragged"] = True
        if shape:
            option["shape"] = list(shape) if isinstance(shape, (list, tuple)) else [shape]
        if name(key) != key:
            option["key"] = key
        default = known(self.reader.value(given["default_value"])) if "default_value" in given else None
        if default is not None and default != "":
            option["default"] = default
        return option


def name(key):
    """A key of tf.Example as the name of a column."""
    made = "".join(letter if letter.isalnum() and letter.isascii() or letter == "_" else "_" for letter in key)
    return made if made and not made[0].isdigit() else "_" + made


def number(node, value):
    if isinstance(value.value, bool) or not isinstance(value.value, (int, float)):
        raise Unknown(node.lineno, f"{value.value!r} is not a number")
    return repr(value.value)


# Operations that can write into a further column, and their option.
INTO = {"one_hot": "into", "to_number": "into", "decode_raw": "into", "decode_image": "to"}


class Assembly:
    """The operations that make what a function returns, and the element that rows then are."""

    def __init__(self, function, element, result):
        self.line = function.node.lineno
        self.before = leaves(element)
        self.chains = {}  # by column: the ways in which it is used, each a tuple of operations
        self.formulas, self.constants = [], []
        self.collect(result)
        for chains in self.chains.values():
            chains.sort(key=len)  # the one that keeps the name: the column as it is, if it is used so
        self.taken = set(self.before)
        self.named = {}
        self.element = self.shape(result)

    def collect(self, value):
        if is_tuple(value) or isinstance(value, dict):
            for part in value.values() if isinstance(value, dict) else value:
                self.collect(part)
        elif isinstance(value, Column):
            chains = self.chains.setdefault(value.name, [])
            if value.steps not in chains:
                chains.append(value.steps)
        elif isinstance(value, (Formula, Known)):
            found = self.formulas if isinstance(value, Formula) else self.constants
            if value not in found:
                found.append(value)
        else:
            raise Unknown(self.line, "it returns something that is not a column")

    def shape(self, value, key=None):
        """The element of a result: its columns, by their names."""
        if isinstance(value, dict):
            return {str(one): self.shape(part, name(str(one))) for one, part in value.items()}
        if is_tuple(value):
            return tuple(self.shape(part) for part in value)
        known_as = (value.name, value.steps) if isinstance(value, Column) else value
        if known_as not in self.named:
            self.named[known_as] = self.name_of(value, key)
        return self.named[known_as]

    def name_of(self, value, key):
        """The column that has a value: a new one, if another use needs the old one."""
        if isinstance(value, Column):
            if self.chains[value.name][0] == value.steps:
                return value.name
            return self.fresh(key or f"{value.name}_{value.steps[0].name}")
        if isinstance(value, Known):
            number(ast.Constant(value.value, lineno=self.line), value)
            return self.fresh(key or "constant")
        first = value.columns[0] if value.columns else "value"
        others = [column for formula in self.formulas if formula != value for column in formula.columns]
        return (
            first if first not in self.chains and first not in others and value.columns else self.fresh(key or f"{first}_computed")
        )

    def fresh(self, wanted):
        made, count = wanted, 1
        while made in self.taken:
            count += 1
            made = f"{wanted}{count}"
        self.taken.add(made)
        return made

    def operations(self):
        """Formulas and copies read columns as they are, so they come first."""
        made = [
            Operation("constant", {"into": self.named[value], "value": value.value}, self.line, repr(value.value))
            for value in self.constants
        ]
        parsed = {
            id(step): step
            for chains in self.chains.values()
            for steps in chains
            for step in steps
            if step.name in ("parse_example", "folder")
        }
        made += parsed.values()
        made += [Operation("compute", {self.named[formula]: formula.text}, self.line, formula.text) for formula in self.formulas]
        for later in (1, 0):
            for column, chains in self.chains.items():
                for steps in chains[1:] if later else chains[:1]:
                    made += self.chain(column, self.named[column, steps], [step for step in steps if id(step) not in parsed])
        columns = leaves(self.element)
        if not columns:
            raise Unknown(self.line, "it returns no column")
        if set(self.before) - set(columns) - {"record", "path"} or not parsed and set(self.before) - set(columns):
            made.append(Operation("select", {"columns": list(dict.fromkeys(columns))}, self.line, "what the function returns"))
        return made

    @staticmethod
    def chain(column, target, steps):
        """The operations of one use of a column; another target than the column begins with a copy."""
        made = []
        for number, step in enumerate(steps):
            source = column if number == 0 else target
            if step.name == "compute":
                text = re.sub(rf"\b{column}\b", source, next(iter(step.options.values())))
                options = {target: text}
            elif source == target:
                options = {"column": target, **step.options}
            elif step.name in INTO:
                options = {"column": column, INTO[step.name]: target, **step.options}
            elif step.name == "cast":
                made.append(step._replace(name="compute", options={target: column}))
                options = {"column": target, **step.options}
            else:
                raise Unknown(step.line, f"`{column}` is used twice, and `{step.name}` has no further column for its result")
            made.append(step._replace(options=options))
        return made


def is_tuple(value):
    return isinstance(value, tuple) and not hasattr(value, "_fields")


def translate(reader, function, element):
    """Operations that do what a function does to an element, and the element that it makes; raises Unknown."""
    assembly = Assembly(function, element, Translation(reader, function, element).result())
    return assembly.operations(), assembly.element


def condition(reader, function, element):
    """The formula of a filter; raises Unknown."""
    value = Translation(reader, function, element).result()
    if not isinstance(value, Formula):
        raise Unknown(function.node.lineno, "the condition is not a formula of columns")
    return value.text
