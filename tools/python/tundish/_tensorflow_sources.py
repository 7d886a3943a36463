"""What a dataset begins with, as the source of a reader: arrays, files, generators, and datasets that are joined."""

import json
import re

from ._tensorflow_functions import Operation
from ._tensorflow_values import DIFFERS, DTYPES, REFUSED, WRITE, Known, Named, Pattern, Text, dtype_of, known, leaves
from ._tensorflow_yaml import INLINE, literal

FILES = {"TFRecordDataset": "tfrecord", "TextLineDataset": "text", "FixedLengthRecordDataset": "raw", "CsvDataset": "csv"}
COMBINED = {"zip": "zip", "concatenate": "concatenate", "choose_from_datasets": "choose", "sample_from_datasets": "mix"}
UNKNOWN_FILES = "${data}/*"
NEEDLESS = {"prefetch": "each link prefetches, and the feeder has `depth:`", "options": "nothing"}


def renamed(step, names):
    """An operation for columns of other names."""
    options = {names.get(key, key): value for key, value in step.options.items()}
    for key, value in options.items():
        if key in ("column", "into", "to") and isinstance(value, str):
            options[key] = names.get(value, value)
        elif key == "columns":
            options[key] = [names.get(column, column) for column in value]
        elif step.name == "compute" and isinstance(value, str):
            options[key] = re.sub(r"[A-Za-z_]\w*", lambda word: names.get(word[0], word[0]), value)
    return step._replace(options=options)


def parts_of(value):
    if isinstance(value, dict):
        for part in value.values():
            yield from parts_of(part)
    elif isinstance(value, tuple) and not hasattr(value, "_fields"):
        for part in value:
            yield from parts_of(part)
    else:
        yield value


def has_files(dataset):
    """Whether a dataset, or one that it joins, reads files."""
    source = dataset.source
    if source.name in COMBINED:
        return any(map(has_files, source.given["datasets"]))
    return source.name in FILES or source.name in ("list_files", "paths")


class Sources:
    """The part of a graph that is about its source."""

    def at(self, call):
        return f"{self.file}:{call.line}: {call.text}"

    def note(self, kind, call, text):
        self.notes.add(kind, call.line, f"`{call.text}`: {text}")

    def refuse(self, call, why):
        self.note(REFUSED, call, why)

    def path(self, value):
        """Files as they are written, and whether they are one for each worker."""
        files = known(value)
        if isinstance(value, Pattern):
            self.lanes = True
            return value.text
        if isinstance(files, (str, list, tuple)) and files:
            return files if isinstance(files, str) else list(files)
        globbed = re.search(r"""glob\(\s*(["'])(.*?)\1""", getattr(value, "origin", "") or getattr(value, "text", ""))
        return globbed[2] if globbed else UNKNOWN_FILES

    def source_of(self, source):
        given, element = source.given, source.given["element"]
        if source.name in COMBINED:
            return self.combined(source, element)
        if source.name in FILES:
            return self.files(source, element)
        if source.name == "range":
            return self.numbers(source)
        if source.name == "from_generator":
            return self.generator(source, element)
        if source.name in ("list_files", "paths"):
            return {"folder": {"files": self.path(given.get("files", given.get("file_pattern"))), "column": "path"}}
        return self.arrays(source, given["tensors"], element)

    def files(self, source, element):
        value = source.given["filenames"]
        files, kind = self.path(value), FILES[source.name]
        if files == UNKNOWN_FILES:
            self.top.append(("data", self.folder, "where the files are"))
            self.notes.add(
                WRITE,
                source.line,
                f"the files of `{source.text}` are not known before the program runs: write them into `files:` of {self.name}.yaml",
            )
        options = {"files": files}
        if source.name == "FixedLengthRecordDataset":
            size, head, foot = (
                known(source.given.get(key, Known(0)), 0) or 0 for key in ("record_bytes", "header_bytes", "footer_bytes")
            )
            options = {
                "files": files,
                "columns": {"record": f"u8[{size or 1}]"},
                **({"header": f"{head}B"} if head else {}),
                **({"footer": f"{foot}B"} if foot else {}),
            }
        elif source.name == "CsvDataset":
            options.update({"header": True} if known(source.given.get("header", Known(False))) else {})
            self.decode_csv(source, element)
        parallel = source.given.get("num_parallel_reads")
        if parallel is not None and known(parallel) != 1:
            self.notes.add(
                DIFFERS,
                source.line,
                f"`{source.text}`: num_parallel_reads mixes the records of several files; here one file follows the other, unless "
                "an order has `interleave`",
            )
        return {kind: options}

    def decode_csv(self, source, element):
        fields, defaults = {}, source.given["record_defaults"]
        for column, value in zip(
            leaves(element), defaults if isinstance(defaults, (list, tuple)) and not hasattr(defaults, "_fields") else []
        ):
            part = value[0] if isinstance(value, list) and value else value
            default, kind = known(part), dtype_of(part) if isinstance(part, Named) else None
            kind = kind or ("f32" if isinstance(default, float) else "i32" if isinstance(default, int) else "string")
            fields[column] = {"dtype": kind, **({"default": default} if default not in (None, "") else {})}
        options = {"fields": fields, "by": "place"}
        select = known(source.given.get("select_cols"))
        self.stage([Operation("decode_csv", {**options, **({"select": select} if select else {})}, source.line, source.text)])

    def numbers(self, source):
        values = [known(value) for value in source.given["values"]]
        whole = values and all(isinstance(value, int) for value in values) and 0 not in values[2:]
        numbers = range(*values[:3]) if whole else None
        if numbers and len(numbers) <= INLINE:
            return {"memory": {"x": {"dtype": "i64", "data": list(numbers)}}}
        arguments = ", ".join(
            str(value) if value is not None else getattr(given, "text", "?") for value, given in zip(values, source.given["values"])
        )
        return {"npy": self.saved(source, {"x": f"numpy.arange({arguments})"})}

    def arrays(self, source, tensors, element):
        names, columns = leaves(element), list(parts_of(tensors))
        if source.name == "from_tensors":
            literals = [literal(value, True) for value in columns]
        else:
            literals = [literal(value) for value in columns]
        if all(literals):
            return {"memory": dict(zip(names, literals))}
        ragged = [
            column
            for column, value in zip(names, columns)
            if isinstance(value, Text) and (value.origin or value.text).startswith("tf.ragged.")
        ]
        if ragged and source.name == "from_tensor_slices":
            return self.ragged(source, dict(zip(names, columns)), ragged)
        suffix = "[None]" if source.name == "from_tensors" else ""
        written = [getattr(value, "text", None) or json.dumps(known(value)) for value in columns]
        return {
            "npy": self.saved(
                source,
                {
                    column: text + suffix if text.isidentifier() or not suffix else f"numpy.asarray({text}){suffix}"
                    for column, text in zip(names, written)
                },
            )
        }

    def saved(self, source, columns):
        """The paths of arrays, by column; a variable's has its name, any other that of the dataset as well."""
        paths = {}
        for column, text in columns.items():
            file = (
                column
                if re.split(r"[.\[]", text)[0].isidentifier() and column.startswith(re.split(r"[.\[]", text)[0])
                else f"{self.name}_{column}"
            )
            line = f'numpy.save("{self.folder}/{file}.npy", {text})'
            self.saves.append((line, source.line))
            self.notes.add(WRITE, source.line, f"{line} before this line, as in save_arrays.py")
            paths[column] = f"${{data}}/{file}.npy"
        self.top.append(("data", self.folder, "where the arrays are saved"))
        return paths

    def ragged(self, source, columns, ragged):
        """Columns whose rows have lengths of their own are two files."""
        texts, self.is_ragged = {}, True
        for column, value in columns.items():
            text = getattr(value, "text", None) or json.dumps(known(value))
            texts.update(
                {f"{column}_values": f"{text}.flat_values", f"{column}_splits": f"{text}.row_splits"}
                if column in ragged
                else {column: text}
            )
        paths = self.saved(source, texts)
        return {
            "npy": {
                column: (
                    {"values": paths[f"{column}_values"], "splits": paths[f"{column}_splits"]}
                    if column in ragged
                    else paths[column]
                )
                for column in columns
            }
        }

    def generator(self, source, element):
        if "arrays" in source.given:
            return {"npy": self.saved(source, {array.text: array.text for array in source.given["arrays"]})}
        names, module = leaves(element), f"{self.name}_rows"
        makes = dict(
            zip(
                names,
                map(self.signature, parts_of(source.given.get("output_signature", source.given.get("output_types", Known(None))))),
            )
        )
        makes = {name: makes.get(name) or "f32" for name in names}
        self.skeletons.append(("rows", module, source, names, makes))
        self.notes.add(
            WRITE,
            source.line,
            f"`{source.text}`: {module}.py has a generator of rows to complete; a generator of batches yields its rows there, one"
            " at a time",
        )
        return {"python": {"call": f"{module}:rows", "makes": makes}}

    def signature(self, value):
        """The type of a column of tf.TensorSpec, such as f32[8]."""
        if not isinstance(value, Text):
            return dtype_of(value)
        found = re.search(r"TensorSpec\((.*)\)$", value.text)
        if not found:
            return None
        kind = next((name for word in re.findall(r"\b[a-z]+\d*\b", found[1]) for name in [DTYPES.get(word)] if name), "f32")
        shape = re.search(r"\(([\d, ]*)\)|\[([\d, ]*)\]", found[1])
        lengths = [part.strip() for part in ((shape[1] or shape[2]) or "").split(",") if part.strip()] if shape else []
        return "u8[<=100]" if kind == "string" else kind + (f"[{','.join(lengths)}]" if lengths else "")

    def combined(self, source, element):
        made, names = [], iter(leaves(element))
        for part in source.given["datasets"]:
            columns = dict(zip(leaves(part.source.given["element"]), names)) if source.name == "zip" else {}
            made.append(self.part(source, part, columns))
        kind = COMBINED[source.name]
        if kind in ("zip", "concatenate"):
            return {kind: made}
        stop = known(source.given.get("stop_on_empty_dataset", Known(kind == "choose")))
        options = {"sources": made, "stop_on_empty": bool(stop)}
        if kind == "choose":
            options["by"] = self.part(source, source.given["choice_dataset"], {})
        else:
            weights, seed = known(source.given.get("weights", Known(None))), known(source.given.get("seed", Known(None)))
            options.update({"weights": list(weights)} if isinstance(weights, (list, tuple)) else {})
            options.update({"seed": seed} if isinstance(seed, int) else {})
        return {kind: options}

    def part(self, source, part, names):
        """A dataset inside of another: its source; calls on it belong to the whole here."""
        made = self.source_of(part.source)
        for kind in ("npy", "memory"):
            if kind in made:
                made = {kind: {names.get(column, column): value for column, value in made[kind].items()}}
        for call in part.calls:
            if call.name in NEEDLESS:
                self.needless(call)
            elif source.name == "zip" and call.name == "map" and "steps" in call.given:
                self.stage([renamed(step, names) for step in call.given["steps"]])
            else:
                self.refuse(
                    call,
                    f"`{source.text}` joins what is stored, before orders and operations: call it on the joined dataset, or store"
                    " its rows",
                )
        return made

    def whole_batches(self, call):
        """Leaves out the rows after the last whole batch, where batches are grouped further."""
        rows = self.rows()
        if rows is not None and rows // self.size:
            self.order.append(({"take": rows // self.size * self.size}, f"{self.at(call)}: the rows of whole batches"))
        else:
            self.note(
                WRITE,
                call,
                "the rows after the last whole batch are left out: write `- take: N` at this place of the order in "
                f"{self.name}.yaml, N the greatest multiple of {self.size} that is not more than the rows",
            )

    def rows(self):
        """How many rows the source has, if the program says so."""
        columns = self.source.get("memory")
        if not columns or any(next(iter(entry)) != "shuffle" for entry, _ in self.order):
            return None
        first = next(iter(columns.values()))
        width = 1
        for length in first.get("shape", []):
            width *= length
        return len(first["data"]) // width
