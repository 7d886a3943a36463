"""Finds the datasets, strategies and loops of a program of TensorFlow, by its syntax."""

import ast
import re

from ._tensorflow_elements import element_after
from ._tensorflow_generators import arrays_of
from ._tensorflow_syntax import Syntax
from ._tensorflow_values import (
    DIFFERS,
    METHODS,
    MISTAKE,
    NOTHING,
    PROGRAM,
    REFUSED,
    SOURCES,
    TRANSFORMATIONS,
    Call,
    Config,
    Context,
    Dataset,
    Function,
    Iterator,
    Known,
    Method,
    Named,
    Options,
    PerReplica,
    Range,
    Rows,
    Strategy,
    Symbol,
    Text,
    Transformation,
    known,
    leaves,
)

STRATEGIES = (
    "MirroredStrategy",
    "MultiWorkerMirroredStrategy",
    "TPUStrategy",
    "ParameterServerStrategy",
    "OneDeviceStrategy",
    "CentralStorageStrategy",
)
ONLY_DATASETS = ("batch", "shuffle", "prefetch", "interleave", "padded_batch", "cache", "repeat", "with_options")
EACH_ROW = "map", "filter", "prefetch", "with_options"  # the same for the rows of one file and of all
DISTRIBUTES = (
    "experimental_distribute_dataset",
    "distribute_datasets_from_function",
    "experimental_distribute_datasets_from_function",
)


class Refused(Exception):
    """A call whose arguments are not those of TensorFlow."""


class Program(Syntax):
    """What a program has: `datasets` in the order in which they are made, `strategies`, TF_CONFIG, `notes`."""

    def __init__(self, source, file, notes, replicas=2, language="python"):
        super().__init__(source, file, notes)
        self.replicas, self.language, self.rows, self.depth = replicas, language, Rows(), 0
        self.datasets, self.strategies, self.called = [], [], set()
        tree = ast.parse(source, file)
        self.block(tree.body)
        for function in self.defined:  # what no call reaches may still have datasets
            if function.node not in self.called:
                self.inline(function, [], [])
        self.settle()

    # ------------------------------------------------------------------------------------ calls

    def get_Call(self, node):
        function = self.value(node.func)
        try:
            if isinstance(function, Named):
                return self.library(node, function.path)
            if isinstance(function, Method):
                return self.method(node, function)
        except Refused as error:
            self.notes.add(MISTAKE, node.lineno, str(error))
            return Text(self.text(node), node.lineno)
        arguments = [self.value(part.value if isinstance(part, ast.Starred) else part) for part in node.args]
        keywords = [(part.arg, self.value(part.value)) for part in node.keywords]
        if isinstance(function, Function):
            self.called.add(function.node)
            return self.inline(function, arguments, keywords)
        return self.builtin(node, node.func.id if isinstance(node.func, ast.Name) else "", arguments)

    def inline(self, function, arguments, keywords):
        """Reads the body of a function with these arguments; what it returns."""
        node = function.node
        if self.depth > 15 or any(loop[1] is node for loop in self.loops):
            return Text(function.name, node.lineno)
        names = [argument.arg for argument in node.args.args + node.args.kwonlyargs]
        scope = {name: Text(name, node.lineno) for name in names}
        for name, default in zip(reversed([argument.arg for argument in node.args.args]), reversed(node.args.defaults)):
            scope[name] = self.value(default)
        scope.update(zip(names, arguments))
        scope.update((name, value) for name, value in keywords if name in scope)
        outside, self.scopes = self.scopes, list(function.scope) + [scope]
        self.depth += 1
        self.loops.append((None, node))
        try:
            if isinstance(node, ast.Lambda):
                return self.value(node.body)
            made = self.block(node.body)
            return made if made is not None else Text(function.name, node.lineno)
        finally:
            self.loops.pop()
            self.depth -= 1
            self.scopes = outside

    def builtin(self, node, name, arguments):
        first = arguments[0] if arguments else None
        if name == "range" and arguments:
            return self.numbers(node, arguments)
        if name in ("iter", "enumerate", "zip", "tqdm") and isinstance(first, Dataset):
            return Iterator(first)
        if name == "next" and isinstance(first, (Iterator, Dataset)):
            self.iterated(first.dataset if isinstance(first, Iterator) else first, node)
        if name == "len" and isinstance(first, Dataset) and first.distributed:
            self.notes.add(
                MISTAKE,
                node.lineno,
                f"`{self.text(node)}`: a distributed dataset has no length, and TensorFlow ends with an error here. "
                "len(feed) counts the steps of an epoch, and `steps` of the report those of the run",
            )
        elif name == "len" and isinstance(first, Dataset):
            self.program(node, "tf.data.Dataset.cardinality")
        elif name == "len" and isinstance(first, Config) and isinstance(self.config, dict):
            part = self.config
            for key in first.keys:
                part = part.get(key) if isinstance(part, dict) else None
            return Known(len(part)) if isinstance(part, (list, dict)) else Text(self.text(node), node.lineno)
        elif name == "len" and self.is_list(first):
            return Known(len(first))
        elif name in ("int", "str") and isinstance(first, (Known, Symbol)):
            return first
        elif name in ("list", "tuple", "print", "sorted", "set") and isinstance(first, Dataset):
            self.iterated(first, node)
        return Text(self.text(node), node.lineno)

    def numbers(self, node, arguments):
        if len(arguments) == 1:
            return Range(arguments[0])
        try:
            values = range(*map(known, arguments))
            return Range(Known(len(values)), values)
        except (TypeError, ValueError, OverflowError):
            return Range(Text(self.text(node), node.lineno))

    def program(self, node, name):
        """Says what a call of the program's own part is here."""
        self.notes.add(PROGRAM, node.lineno, f"`{self.short(node)}`: {self.rows.advice(name)[1]}")

    def bind(self, node, names, what):
        """The values of a call's arguments by name; refuses what TensorFlow refuses."""
        plain = [name.rstrip("?") for name in names]
        given = {}
        for number, part in enumerate(node.args):
            if isinstance(part, ast.Starred):
                raise Refused(f"`{self.short(node)}`: arguments of a list are not known before the program runs")
            if number >= len(plain):
                raise Refused(f"`{what}` takes {len(plain)} arguments, not {len(node.args)}")
            given[plain[number]] = self.value(part)
        for keyword in node.keywords:
            if keyword.arg is None:
                raise Refused(f"`{self.short(node)}`: arguments of a dict are not known before the program runs")
            value = self.value(keyword.value)
            if keyword.arg in plain:
                given[keyword.arg] = value
            elif keyword.arg != "name":
                self.notes.add(
                    MISTAKE,
                    keyword.value.lineno,
                    f"`{what}` has no argument `{keyword.arg}`: TensorFlow ends with an error here. It is left out",
                )
        missing = [name for name in names if not name.endswith("?") and name not in given]
        if missing:
            raise Refused(f"`{what}` needs its argument `{missing[0]}`")
        return given

    def library(self, node, path):
        if path in SOURCES or path == "tf.data.Dataset.range":
            return self.source_of(node, path)
        if path == "tf.data.Dataset.zip":
            parts = self.value(node.args[0]) if len(node.args) == 1 else tuple(self.value(part) for part in node.args)
            return self.combined(node, "zip", {"datasets": parts})
        if path in TRANSFORMATIONS:
            return Transformation(path, node)
        if path.startswith("tf.distribute.") and path.split(".")[-1] in STRATEGIES:
            return self.strategy(node, path)
        if path in ("tf.data.Options",):
            return Options()
        if path == "json.loads" and node.args and isinstance(self.value(node.args[0]), Config):
            return Config(True)
        if path in ("os.environ.get", "os.getenv") and node.args and known(self.value(node.args[0])) == "TF_CONFIG":
            return Config(False)
        if path == "tf.random.set_seed" and node.args:
            self.scopes[0]["tf.random.set_seed"] = self.value(node.args[0])
            return Known(None)
        values = [self.value(part) for part in node.args] + [self.value(part.value) for part in node.keywords]
        if path == "tf.range" and len(values) == 1:
            return Range(values[0])
        if path.startswith("tf.io.") and path.endswith("Feature"):
            return Transformation(path, node)
        if path.startswith(("tf.data.", "tf.distribute.")):
            offered, advice = self.rows.advice(path)
            self.notes.add(PROGRAM if offered else REFUSED, node.lineno, f"`{self.short(node)}`: {advice}")
        return Text(self.text(node), node.lineno)

    # --------------------------------------------------------------------------------- datasets

    def make(self, name, given, node, element):
        dataset = Dataset(Call(name, {**given, "element": element}, node.lineno, self.short(node)), element)
        self.datasets.append(dataset)
        return dataset

    def source_of(self, node, path):
        name = path.split(".")[-1]
        if name == "range":
            return self.make("range", {"values": [self.value(part) for part in node.args]}, node, "x")
        given = self.bind(node, SOURCES[path], name)
        if name in ("sample_from_datasets", "choose_from_datasets"):
            return self.combined(node, name, given)
        if name in ("from_tensor_slices", "from_tensors"):
            if name == "from_tensor_slices" and self.are_paths(given["tensors"]):
                return self.make("paths", {"files": given["tensors"]}, node, "path")
            return self.make(name, given, node, self.columns(given["tensors"], [0]))
        if name == "list_files":
            return self.make("list_files", given, node, "path")
        if name == "from_generator":
            return self.generated(node, given)
        element = {
            "TFRecordDataset": "record",
            "TextLineDataset": "line",
            "FixedLengthRecordDataset": "record",
            "CsvDataset": "record",
        }[name]
        if name == "CsvDataset":
            count = len(given["record_defaults"]) if self.is_list(given["record_defaults"]) else 1
            element = tuple(f"c{i}" for i in range(count))
        if isinstance(given["filenames"], Dataset):  # of a dataset of names
            given["filenames"].used = True
            inner = given["filenames"]
            given["filenames"] = self.paths_of(inner)
            made = self.make(name, given, node, element)
            made.calls = self.of_names(inner)
            return made
        return self.make(name, given, node, element)

    def are_paths(self, value):
        text = known(value)
        return (
            self.is_list(value)
            and bool(value)
            and all(isinstance(part, str) for part in text or [0])
            or isinstance(value, Text)
            and bool(re.search(r"(?i)\b(file_?names?|file_?paths?|paths|files|shards)\b|glob\(", f"{value.text} {value.origin}"))
        )

    @staticmethod
    def paths_of(dataset):
        return dataset.source.given.get("files", dataset.source.given.get("file_pattern"))

    def columns(self, tensors, counter):
        """The element of arrays: a column for each, with the name of its variable where it has one."""
        if isinstance(tensors, dict):
            return {str(key): re.sub(r"\W", "_", str(key)) for key in tensors}
        if isinstance(tensors, tuple) and not hasattr(tensors, "_fields"):
            return tuple(self.columns(part, counter) for part in tensors)
        counter[0] += 1
        text = tensors.text.split(".")[-1] if isinstance(tensors, Text) else ""
        return text if text.isidentifier() else "xyz"[counter[0] - 1] if counter[0] < 4 else f"x{counter[0]}"

    def generated(self, node, given):
        made = arrays_of(self, given["generator"])
        if made is not None:
            names, size = made
            dataset = self.make(
                "from_generator",
                {"arrays": [Text(name, node.lineno) for name in names], **given},
                node,
                tuple(names) if len(names) > 1 else names[0],
            )
            dataset.calls = (Call("batch", {"batch_size": size, "of_generator": Known(True)}, node.lineno, self.short(node)),)
            return dataset
        signature = given.get("output_signature", given.get("output_types"))
        count = len(signature) if self.is_list(signature) else 1
        element = tuple("xyzuvw"[:count]) if 1 < count < 7 else "x" if count == 1 else tuple(f"x{i}" for i in range(count))
        if isinstance(signature, dict):
            element = {str(key): str(key) for key in signature}
        return self.make("from_generator", given, node, element)

    def combined(self, node, name, given):
        parts = given["datasets"]
        parts = parts if self.is_list(parts) else [parts]
        if not parts or not all(isinstance(part, Dataset) for part in parts):
            raise Refused(f"`{self.short(node)}`: the datasets are not known before the program runs")
        if "choice_dataset" in given and not isinstance(given["choice_dataset"], Dataset):
            raise Refused(f"`{self.short(node)}`: the choices are not a dataset that is known before the program runs")
        for part in list(parts) + ([given["choice_dataset"]] if "choice_dataset" in given else []):
            part.used = True
        element = tuple(part.element for part in parts) if name == "zip" else parts[0].element
        names = [column for part in parts for column in leaves(part.element)]
        if name == "zip" and len(set(names)) < len(names):
            element = tuple(f"c{i}" if isinstance(part.element, str) else part.element for i, part in enumerate(parts))
        return self.make(name, {**given, "datasets": list(parts)}, node, element)

    def method(self, node, method):
        owner, name = method
        if isinstance(owner, Text) and name in DISTRIBUTES:
            owner = Strategy("tf.distribute.MirroredStrategy", None, node.lineno, owner.text)
            self.notes.add(
                DIFFERS,
                node.lineno,
                f"`{owner.text}` is not made in this file: it is taken for a MirroredStrategy of {self.replicas} replicas",
            )
        if isinstance(owner, Strategy):
            return self.strategy_call(node, owner, name)
        if isinstance(owner, Dataset):
            return self.dataset_call(node, owner, name)
        if isinstance(owner, Iterator):
            self.iterated(owner.dataset, node)
            return Text(self.text(node), node.lineno)
        values = [self.value(part) for part in node.args]
        keywords = {part.arg: self.value(part.value) for part in node.keywords}
        if isinstance(owner, Context) and name == "get_per_replica_batch_size" and values:
            size = known(values[0])
            return PerReplica(size) if isinstance(size, int) else Text(self.text(node), node.lineno)
        if isinstance(owner, Config) and name == "get" and values and isinstance(known(values[0]), str):
            return self.part_of_config(Config(owner.parsed, owner.keys + (known(values[0]),)))
        fed = [value for value in [*values, *keywords.values()] if isinstance(value, Dataset)]
        if fed and name in ("fit", "evaluate", "predict"):
            self.fitted(node, name, fed, values, keywords)
        elif isinstance(owner, Text) and name in ONLY_DATASETS:
            self.notes.add(
                REFUSED,
                node.lineno,
                f"`{self.short(node)}`: if `{owner.text[:40]}` is a dataset, it is made where this translator "
                "cannot follow; call the function that makes it in this file",
            )
        return Text(self.text(node), node.lineno)

    def dataset_call(self, node, dataset, name):
        if name in ("from_tensor_slices", "zip"):
            return self.library(node, "tf.data.Dataset." + name)
        if name not in METHODS:
            raise Refused(f"`{self.short(node)}`: a dataset has no method `{name}`")
        if dataset.distributed:
            raise Refused(f"`{self.short(node)}`: a distributed dataset has no method `{name}`; call it before it is distributed")
        given = self.bind(node, METHODS[name], name)
        line = getattr(node.func, "end_lineno", node.lineno)
        call = Call(name, given, line, self.tail(node))
        if name == "apply":
            return self.apply(node, dataset, given["transformation_func"], call)
        if name == "concatenate" and isinstance(given["dataset"], Dataset):
            return self.combined(node, "concatenate", {"datasets": [dataset, given["dataset"]]})
        if name in ("as_numpy_iterator", "reduce", "get_single_element", "cardinality", "options", "fingerprint", "save"):
            offered, advice = self.rows.advice("tf.data.Dataset." + name)
            self.notes.add(PROGRAM if offered else REFUSED, line, f"`{call.text}`: {advice}")
            self.iterated(dataset, node)
            return Iterator(dataset) if name == "as_numpy_iterator" else Text(self.text(node), line)
        return self.extend(dataset, call)

    def tail(self, node):
        """A call without what it is called on: `shuffle(1000)`."""
        whole, owner = self.text(node), self.text(node.func.value)
        made = whole[len(owner) :].lstrip(". \\") if whole.startswith(owner) else whole
        return made if len(made) <= 80 else made[:77] + "..."

    def extend(self, dataset, call):
        dataset.used = True
        self.called.update(value.node for value in call.given.values() if isinstance(value, Function))
        call.given["element"] = dataset.element
        made = Dataset(dataset.source, dataset.element, dataset.calls + (call,), dataset.name, strategy=dataset.strategy)
        if call.name in ("interleave", "flat_map") and dataset.element == "path":
            made = self.opened(dataset, call) or made
        self.datasets.append(made)
        made.element = element_after(self, made)
        return made

    def opened(self, dataset, call):
        """A dataset of files, of one of their names; None if the function does something else."""
        function = call.given["map_func"]
        inner = None
        if isinstance(function, Named) and function.path in SOURCES:
            name = function.path.split(".")[-1]
            inner = Dataset(
                Call(
                    name,
                    {"filenames": self.paths_of(dataset), "element": "line" if name == "TextLineDataset" else "record"},
                    call.line,
                    call.text,
                ),
                "line" if name == "TextLineDataset" else "record",
            )
        elif isinstance(function, Function):
            before = len(self.datasets)
            made = self.inline(function, [Text("path", call.line)], [])
            self.called.add(function.node)
            del self.datasets[before:]
            inner = made if isinstance(made, Dataset) else None
        if inner is None or inner.source.name not in (
            "TFRecordDataset",
            "TextLineDataset",
            "FixedLengthRecordDataset",
            "CsvDataset",
        ):
            return None
        given = {**inner.source.given, "filenames": self.paths_of(dataset)}
        source = Call(inner.source.name, given, inner.source.line, inner.source.text)
        opens = call._replace(given={**call.given, "files": Known(True)})
        each = tuple(one if one.name in EACH_ROW else one._replace(name="each_file_" + one.name) for one in inner.calls)
        return Dataset(source, inner.element, self.of_names(dataset) + (opens,) + each, dataset.name)

    @staticmethod
    def of_names(dataset):
        """The calls on a dataset of names of files, as calls on what the files have."""
        source = dataset.source
        start = (Call("list_files", source.given, source.line, source.text),) if source.name == "list_files" else ()
        return start + tuple(call._replace(name="names_" + call.name) for call in dataset.calls)

    def apply(self, node, dataset, function, call):
        if isinstance(function, Function):
            self.called.add(function.node)
            made = self.inline(function, [dataset], [])
            return made if isinstance(made, Dataset) else Text(self.text(node), node.lineno)
        if not isinstance(function, Transformation):
            raise Refused(f"`{self.short(node)}`: the function is not known before the program runs")
        name = function.path.split("tf.data.experimental.")[-1]
        given = self.bind(function.call, TRANSFORMATIONS[function.path], name)
        line, text = function.call.lineno, self.short(function.call)
        if name == "map_and_batch":
            made = self.extend(dataset, Call("map", {"map_func": given["map_func"]}, line, text))
            return self.extend(
                made, Call("batch", {key: given[key] for key in ("batch_size", "drop_remainder") if key in given}, line, text)
            )
        if name == "shuffle_and_repeat":
            made = self.extend(
                dataset, Call("shuffle", {key: given[key] for key in ("buffer_size", "seed") if key in given}, line, text)
            )
            return self.extend(made, Call("repeat", {"count": given.get("count", Known(None))}, line, text))
        renamed = {
            "parallel_interleave": "interleave",
            "enumerate_dataset": "enumerate",
            "prefetch_to_device": "prefetch",
            "copy_to_device": "prefetch",
            "assert_cardinality": "prefetch",
            "service.distribute": "service",
        }
        return self.extend(dataset, call._replace(name=renamed.get(name, name), given=given, line=line, text=text))

    # ------------------------------------------------------------------- strategies and loops

    def strategy(self, node, path):
        devices = known(self.value(node.args[0])) if node.args else None
        for keyword in node.keywords:
            value = self.value(keyword.value)
            devices = known(value) if keyword.arg in ("devices", "device") else devices
        devices = [devices] if isinstance(devices, str) else devices
        made = Strategy(path, devices if isinstance(devices, list) else None, node.lineno, self.short(node))
        self.strategies.append(made)
        if path.endswith("ParameterServerStrategy"):
            self.notes.add(REFUSED, node.lineno, f"`{self.short(node)}`: {self.rows.advice(path)[1]}")
        return made

    def tasks(self):
        """Names and addresses of the workers that TF_CONFIG names."""
        cluster = self.config.get("cluster") if isinstance(self.config, dict) else None
        made = []
        for kind in ("chief", "worker"):
            addresses = cluster.get(kind) if isinstance(cluster, dict) else None
            for number, address in enumerate(addresses if isinstance(addresses, list) else []):
                made.append((kind if kind == "chief" else f"{kind}{number}", str(address)))
        return made

    def workers(self):
        """How many workers TF_CONFIG names; None if it is not in the program."""
        return len(self.tasks()) or None

    def replicas_of(self, strategy):
        if strategy is None:
            return 1
        if strategy.devices:
            return len(strategy.devices)
        if "MultiWorker" in strategy.path and self.workers():
            return self.workers()
        return 1 if "OneDevice" in strategy.path or "TPU" in strategy.path else self.replicas

    def note_strategy(self, strategy, node, name):
        self.program(node, "tf.distribute.Strategy." + name)

    def strategy_call(self, node, strategy, name):
        values = [self.value(part) for part in node.args]
        keywords = {part.arg: self.value(part.value) for part in node.keywords}
        given = values + list(keywords.values())
        call = Call(name, {}, node.lineno, self.short(node))
        if name in ("experimental_distribute_dataset", "make_dataset_iterator"):
            if given and isinstance(given[0], Dataset):
                return self.distribute(given[0], strategy, call)
            raise Refused(f"`{self.short(node)}`: the dataset is made where this translator cannot follow")
        if name in ("distribute_datasets_from_function", "experimental_distribute_datasets_from_function"):
            if not given or not isinstance(given[0], Function):
                raise Refused(f"`{self.short(node)}`: the function is not in this file")
            self.called.add(given[0].node)
            made = self.inline(given[0], [Context()], [])
            if not isinstance(made, Dataset):
                raise Refused(f"`{self.short(node)}`: `{given[0].name}` returns no dataset that this translator can follow")
            return self.distribute(made, strategy, call, True)
        for value in given:  # the function of run: its own calls count
            if isinstance(value, Function) and name in ("run", "experimental_run", "experimental_run_v2"):
                self.called.add(value.node)
                self.inline(value, [], [])
        offered, advice = self.rows.advice("tf.distribute.Strategy." + name)
        kind = NOTHING if advice.startswith("nothing is written") else PROGRAM if offered else REFUSED
        self.notes.add(kind, node.lineno, f"`{self.short(node)}`: {advice}")
        return Text(self.text(node), node.lineno)

    def distribute(self, dataset, strategy, call, by_function=False):
        dataset.used = True
        made = Dataset(
            dataset.source,
            dataset.element,
            dataset.calls,
            dataset.name,
            strategy=strategy,
            distributed=call,
            by_function=by_function,
        )
        self.datasets.append(made)
        return made

    def iterated(self, dataset, node):
        """The loops around a use of a dataset tell its epochs and steps."""
        counted = [(over.count, loop) for over, loop in self.loops if isinstance(over, Range)]
        fed_by = isinstance(node, (ast.For, ast.AsyncFor))
        if counted and fed_by:
            count, loop = counted[-1]
            dataset.epochs = Call(
                "epochs", {"count": count}, loop.lineno, f"for {self.text(loop.target)} in {self.short(loop.iter)}"
            )
        elif counted:
            count, loop = counted[-1]
            dataset.steps = Call("steps", {"count": count}, loop.lineno, f"for {self.text(loop.target)} in {self.short(loop.iter)}")
            if len(counted) > 1:
                count, loop = counted[-2]
                dataset.epochs = Call(
                    "epochs", {"count": count}, loop.lineno, f"for {self.text(loop.target)} in {self.short(loop.iter)}"
                )
        dataset.fed = True
        return dataset

    def fitted(self, node, name, fed, values, keywords):
        self.program(node, f"tf.keras.Model.{name}")
        first = values[0] if values and isinstance(values[0], Dataset) else keywords.get("x")
        for dataset in fed:
            dataset.fed = True
            if self.strategies and not dataset.distributed:  # Keras distributes what it is given
                dataset.strategy, dataset.distributed = self.strategies[-1], Call(name, {}, node.lineno, self.short(node))
        if name == "fit" and isinstance(first, Dataset):
            if "epochs" in keywords:
                first.epochs = Call("epochs", {"count": keywords["epochs"]}, node.lineno, self.short(node))
            if "steps_per_epoch" in keywords:
                first.steps = Call("steps", {"count": keywords["steps_per_epoch"]}, node.lineno, self.short(node))

    def settle(self):
        """Keeps the datasets that are fed: those that no other one is made of.  Those that are taken have names first."""
        left = [dataset for dataset in self.datasets if dataset.fed or not dataset.used]
        left.sort(key=lambda dataset: not dataset.taken)
        self.datasets = [dataset for dataset in left if not self.has_names_only(dataset)]
        for dataset in left:
            if self.has_names_only(dataset):
                self.notes.add(
                    REFUSED, dataset.line, f"`{dataset.source.text}` has names of files only: a source opens files by their pattern"
                )

    @staticmethod
    def has_names_only(dataset):
        return dataset.source.name in ("list_files", "paths") and not any(call.name == "map" for call in dataset.calls)
