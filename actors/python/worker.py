"""The program of the interpreter that a `python` operation starts: it calls a function of the user on tiles of rows.

    python3 -c ... CALL        with a socket as file descriptor 3, shared memory as 4, this program as 5

process.py follows it in the same text; it starts and ends the process.  The messages on the socket are lists of
unsigned 64-bit numbers; interpreter.h has them.  Rows are in the shared memory: those of a request in front, and what is
made of them after it.  It needs Python 3.8 and NumPy.
"""
import gc
import importlib
import inspect
import itertools
import mmap
import os
import re
import struct
import sys
import time
import traceback

SOCKET, MEMORY, PROGRAM = 3, 4, 5
OK, REFUSED, PROGRESS = 0, 1, 2
WORDS_MAX, TEXT_MAX, ALIGN = 512, 400, 64
PROGRESS_S = 0.5


class Wrong(Exception):
    """The module or what its function returned is not as the topology says."""


def shorten(text, most=TEXT_MAX):
    text = " ".join(str(text).split())
    return text if len(text) <= most else text[:most - 4] + " ..."


def describe(error):
    """An exception with the line that raised it."""
    text = shorten(traceback.format_exception_only(type(error), error)[-1], 300)
    if isinstance(error, SyntaxError) and error.filename:
        return f"{text} ({os.path.basename(error.filename)}, line {error.lineno})"
    frames = traceback.extract_tb(error.__traceback__)
    place = frames[-1] if frames else None
    return f"{text} ({os.path.basename(place.filename)}, line {place.lineno})" if place else text


def describe_wrong(call, wrong):
    """What is wrong with the module, the columns or the function itself."""
    text = str(wrong)
    return f"{call}{' ' if re.match('(is|has|makes|made|keeps|returned|cannot) ', text) else ': '}{text}"


def plain(value):
    """A value of the topology: texts in quotes are strings, others what YAML takes them for."""
    if isinstance(value, list):
        return [plain(item) for item in value]
    if not isinstance(value, dict):
        return value
    if "plain" not in value:
        return {key: plain(item) for key, item in value["map"].items()}
    text = value["plain"]
    if re.fullmatch(r"[-+]?[0-9]+", text):
        return int(text)
    if re.fullmatch(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?", text):
        return float(text)
    return {"true": True, "false": False}.get(text, text)


class Column:
    """A column of a schema: `shape` is that of a row, without the first axis if it is ragged."""

    def __init__(self, name, dtype, shape, ragged):
        self.name, self.ragged, self.most = name, ragged, shape[0] if ragged else 0
        self.dtype = numpy.dtype("?" if dtype == "bool" else f"{dtype[0]}{int(dtype[1:]) // 8}")
        self.shape, self.unit = tuple(shape[ragged:]), self.dtype.itemsize
        for axis in self.shape:
            self.unit *= axis
        self.bytes = ragged and self.dtype == numpy.uint8 and not self.shape
        lengths = f"<={self.most}" if ragged else ""
        inner = ",".join([lengths] * ragged + [str(axis) for axis in self.shape])
        self.text = f"{dtype}[{inner}]" if inner else dtype

    def has_row(self, one):
        return isinstance(one, numpy.ndarray) and one.dtype == self.dtype and one.shape == self.shape


class Items:
    """A data set as a function of the places of rows: any of them, or each after the one before."""

    def __init__(self, target, options, makes, wanted):
        self.makes = makes
        self.make = (lambda: target(**options)) if callable(target) and not has_items(target) else None
        if self.make is None and options:
            raise Wrong("is an object, which takes no `options`")
        self.items = self.make() if self.make else target
        self.any = has_items(self.items) and wanted != "false"
        if wanted == "true" and not self.any:
            raise Wrong(f"is {kind(self.items)} without `__len__` and `__getitem__`: its rows can only be read in order, with "
                        "`random: false`")
        if not self.any and not hasattr(self.items, "__iter__") and not has_items(self.items):
            raise Wrong(f"is {kind(self.items)}, which has no rows: `__len__` and `__getitem__`, or `__iter__`")
        self.rewinds = self.make is not None or not hasattr(self.items, "__next__")
        self.iterator, self.at, self.first, self.kept, self.failed = None, 0, 0, [], None
        self.wrong = -1, None  # the last row that failed, and why

    def facts(self):
        return [OK, len(self.items) if self.any else 0, self.any + 2 * self.rewinds] + [0] * 2 * len(self.makes)

    def rows(self, index):
        """The rows that there are, and whether there are no more."""
        if not self.any:
            return self.next_rows(int(index[0]), len(index))
        places = index.tolist()
        if hasattr(self.items, "__getitems__"):  # as torch's DataLoader calls it
            return list(self.items.__getitems__(places)), False
        return [self.items[place] for place in places], False

    def restart(self):
        if self.at > 0 and not self.rewinds:
            raise Wrong("cannot be iterated again: it is an iterator, not a function that makes one")
        if self.at > 0 and self.make:
            self.items = self.make()
        self.iterator, self.at, self.first, self.kept, self.failed = iter(self.items), 0, 0, [], None
        self.wrong = -1, None

    def next_rows(self, first, count):
        if self.iterator is None or first < self.first:
            self.restart()
        while self.at < first:
            self.take(min(first - self.at, 1024), False)
        if first >= self.at and self.failed is None:
            self.kept, self.first = [], self.at
            self.take(count, True)
        rows = self.kept[first - self.first:][:count]
        if not rows and self.failed is not None:
            self.wrong, self.failed = (self.at, self.failed), None
            self.at += 1  # the row after it follows, if there is one
        if not rows and first == self.wrong[0]:
            raise Wrong(self.wrong[1])  # also if it is asked for again, alone
        return rows, len(rows) < count and self.failed is None

    def take(self, count, keep):
        """Reads further rows.  They are kept until all are used, since one of them may be bad."""
        for _ in range(count):
            try:
                row = next(self.iterator)
            except StopIteration:
                if not keep:
                    raise Wrong(f"has only {self.at} rows now") from None
                return
            except Exception as error:
                if keep:
                    self.failed = describe(error)  # the error itself would keep the arrays of its frames
                    return
                row = None  # it was bad before, too
            self.at += 1
            if keep:
                self.kept.append(row)

    def split(self, row):
        """The values of the columns; a dict may have others, too."""
        makes = self.makes
        if isinstance(row, dict) or (hasattr(row, "keys") and hasattr(row, "__getitem__")):
            missing = [column.name for column in makes if column.name not in row]
            if missing:
                raise Wrong(f"has a row without `{missing[0]}`; it has {', '.join(f'`{name}`' for name in row)}")
            return [array_of(row[column.name]) for column in makes]
        vector = len(makes) == 1 and isinstance(row, tuple) and all(isinstance(value, (int, float)) for value in row)
        if isinstance(row, tuple) and not vector:
            if len(row) != len(makes):
                raise Wrong(f"has a row of {len(row)} values, for {len(makes)} columns of `makes`")
            return [array_of(value) for value in row]
        if len(makes) > 1:
            raise Wrong(f"has a row that is {kind(row)}, not a dict or tuple of {len(makes)} columns")
        if row is None:
            raise Wrong("has a row that is None")
        return [array_of(row)]


def has_items(target):
    return hasattr(target, "__len__") and hasattr(target, "__getitem__") and not inspect.isclass(target)


def array_of(value):
    """Tensors and pictures as arrays."""
    if isinstance(value, (numpy.ndarray, numpy.generic)) or not hasattr(value, "__array__"):
        return value
    return numpy.asarray(value)


class Memory:
    """The shared memory, which either side makes larger."""

    def __init__(self):
        self.size, self.map, self.alone, self.used = 0, None, 0, 0

    def see(self, size):
        if size > self.size:
            self.size, self.map = size, mmap.mmap(MEMORY, size)
            self.alone = sys.getrefcount(self.map)  # without an array that looks into it

    def take(self, size):
        """Where there is room for `size` bytes."""
        at = -(-self.used // ALIGN) * ALIGN
        self.used = at + size
        if self.used > self.size:
            grown = 1 << (self.used - 1).bit_length()
            os.ftruncate(MEMORY, grown)
            self.see(grown)
        return at

    def array(self, shape, dtype, at):
        return numpy.ndarray(shape, dtype, self.map, at)


class Function:
    """The function of the user with its columns and options."""

    def __init__(self, setup, memory, tell):
        self.name, self.each, self.rows = setup["call"], setup["each"], setup["rows"]
        self.random, self.most, self.allow_nan = setup["random"], setup["max"], setup["allow_nan"]
        self.columns = [Column(*column) for column in setup["columns"]]
        self.makes = [Column(*column) for column in setup["makes"]]
        self.memory, self.options, self.items = memory, plain(setup["options"]) or {}, None
        self.wanted = setup["items"]
        self.function, self.stay_alone, self.tell = self.find(setup), guard_forks(), tell

    def find(self, setup):
        module, _, path = self.name.partition(":")
        try:
            target = importlib.import_module(module)
        except ModuleNotFoundError as error:
            if error.name != module:
                raise Wrong(f"the module `{module}` imports `{error.name}`, which {interpreter()} does not have: "
                            f"{describe(error)}") from None
            beside = "".join(f"nor in {folder}, that of the program, " for folder in program_folders())
            raise Wrong(f"{interpreter()} has no module `{module}`: it is neither in {setup['directory']}, the folder "
                        f"of the topology, {beside}nor in PYTHONPATH ({os.environ.get('PYTHONPATH', 'not set')}), nor "
                        "installed") from None
        except BaseException as error:
            raise Wrong(f"the module `{module}` cannot be imported: {describe(error)}") from None
        file = getattr(target, "__file__", None)
        if setup["source"] and file and os.path.realpath(file) != os.path.realpath(setup["source"]):
            raise Wrong(f"the module `{module}` is {file}, which is found first, but {setup['source']} was expected: "
                        "give it another name")
        for word in path.split("."):
            if not hasattr(target, word):
                raise Wrong(f"the module `{module}` ({file}) has no `{path}`")
            target = getattr(target, word)
        if self.wanted is not None:
            return self.open_items(target)
        if not callable(target):
            raise Wrong(f"`{path}` of the module `{module}` cannot be called: it is {kind(target)}")
        return self.prepare(target)

    def open_items(self, target):
        """A data set is made once; a function that yields rows is called for each pass."""
        if callable(target) and not has_items(target):
            self.fits(target, [], self.options)
        try:
            self.items = Items(target, self.options, self.makes, self.wanted)
        except Wrong:
            raise
        except BaseException as error:
            raise Wrong(f"cannot be made: {describe(error)}") from None
        return self.items.rows

    def prepare(self, target):
        """An object of a class is made once, with the options; a function gets them with each call."""
        keywords = self.options
        if inspect.isclass(target):
            self.fits(target, [], self.options)
            try:
                target = target(**self.options)
            except BaseException as error:
                raise Wrong(f"cannot be made: {describe(error)}") from None
            keywords, self.options = {}, {}
            if not callable(target):
                raise Wrong("is a class without `__call__`")
        arguments = [column.name for column in self.columns]
        self.fits(target, arguments, {**keywords, **({"key": 0} if self.random else {})})
        try:
            parameters = inspect.signature(target).parameters
        except ValueError:
            return target
        if "key" in parameters and not self.random and "key" not in keywords and \
                parameters["key"].kind is not parameters["key"].VAR_KEYWORD and len(arguments) <= list(parameters).index("key"):
            raise Wrong("has an argument `key`, the random bits of a row: say `random: true`")
        return target

    def fits(self, target, arguments, keywords):
        try:
            inspect.signature(target).bind(*arguments, **keywords)
        except ValueError:
            return  # of C: its arguments are not known
        except TypeError as error:
            given = ", ".join([*arguments, *(f"{name}=..." for name in keywords)])
            raise Wrong(f"is called with ({given}), which does not fit: {error}") from None

    # --- what goes in

    def given(self, words, rows, view):
        """The columns of a tile: arrays, or lists of bytes or of arrays."""
        at = 5
        for column in self.columns:
            place, lengths, total = words[at:at + 3]
            at += 3
            if not column.ragged:
                yield numpy.ndarray((rows, *column.shape), column.dtype, view, place)
                continue
            memory = self.memory.map
            ends = [0, *itertools.accumulate(numpy.ndarray(rows, "u8", memory, lengths).tolist())]
            if column.bytes:
                yield [memory[place + a:place + b] for a, b in zip(ends, ends[1:])]
            else:
                whole = numpy.ndarray((total // column.unit, *column.shape), column.dtype, view, place)
                yield [whole[a:b] for a, b in zip(ends, ends[1:])]

    # --- what comes out

    def call(self, words):
        """Calls the function on a tile; returns the words of the reply."""
        self.memory.used, given = words[3], self.memory.map
        reply = self.answer(words)
        alone = self.memory.alone + (given is self.memory.map)  # it is not, if the memory has grown
        if sys.getrefcount(given) > alone:
            gc.collect()
            if sys.getrefcount(given) > alone:
                raise Wrong("keeps a part of its input after it has returned: copy what is kept, by .copy()")
        return reply

    def answer(self, words):
        rows, keys, view = words[1], None, memoryview(self.memory.map).toreadonly()
        if self.random:
            keys = numpy.ndarray(rows, "u8", view, words[4])
        given = list(self.given(words, rows, view))
        if self.items is not None:
            return self.answer_items(given[0]) if rows else self.items.facts()
        if self.each:
            values, counts = self.call_each(given, rows, keys)
        else:
            result = self.function(*given, **self.options, **({} if keys is None else {"key": keys}))
            values, counts = self.take(result, rows)
        return self.write(values, counts, rows)

    def answer_items(self, index):
        rows, ended = self.items.rows(index)
        if self.items.any and len(rows) != len(index):
            raise Wrong(f"returned {len(rows)} rows for {len(index)} places")
        values = [[] for _ in self.makes]
        for row in rows:
            for column, value in zip(values, self.items.split(row)):
                column.append(value)
        reply = self.write(values, None, len(rows))
        reply[2] = int(ended)
        return reply

    def call_each(self, given, rows, keys):
        function, options, several = self.function, self.options, self.rows == "many"
        made, counts, due = [[] for _ in self.makes], [], time.monotonic() + PROGRESS_S
        for row in range(rows):
            if time.monotonic() > due:
                self.tell()
                due = time.monotonic() + PROGRESS_S
            key = {} if keys is None else {"key": int(keys[row])}
            result = function(*[column[row] for column in given], **options, **key)
            if result is None and self.rows != "one":
                counts.append(0)
                continue
            if result is None:
                raise Wrong("returned None: to leave rows out, say `rows: filter`")
            if several and not isinstance(result, (list, tuple)):
                raise Wrong(f"returned {kind(result)} for a row, where `rows: many` wants a list of rows")
            results = result if several else [result]
            counts.append(len(results))
            for one in results:
                for values, value in zip(made, self.split(one, None)):
                    values.append(value)
        return made, None if self.rows == "one" else counts

    def split(self, result, rows):
        """The values of the columns, in their order."""
        if isinstance(result, dict):
            missing = [column.name for column in self.makes if column.name not in result]
            more = [name for name in result if all(name != column.name for column in self.makes)]
            if missing or more:
                raise Wrong("returned a dict " + " and ".join(
                    [f"without `{missing[0]}`"] * bool(missing) + [f"with `{more[0]}`, which `makes` does not have"] * bool(more)))
            return [result[column.name] for column in self.makes]
        if len(self.makes) > 1:
            raise Wrong(f"returned {kind(result)}, not a dict of the {len(self.makes)} columns of `makes`")
        if result is None:
            raise Wrong(f"returned None, not the column `{self.makes[0].name}`")
        return [result]

    def take(self, result, rows):
        counts = None
        if self.rows == "many":
            if not isinstance(result, tuple) or len(result) != 2:
                raise Wrong(f"returned {kind(result)}, where `rows: many` wants a pair: the columns, and how many rows "
                            "each row became")
            result, counts = result
            counts = [int(count) for count in counts]
            if len(counts) != rows:
                raise Wrong(f"returned {len(counts)} numbers of rows for a tile of {rows}")
        values = [value.tolist() if isinstance(value, numpy.ndarray) and value.dtype == object else value
                  for value in self.split(result, rows)]
        expected = rows if counts is None else sum(counts)
        for column, value in zip(self.makes, values):
            if not hasattr(value, "__len__") or isinstance(value, (str, bytes, dict)):
                raise Wrong(f"column `{column.name}`: an array or a list of {expected} rows is wanted, not {kind(value)}")
            if len(value) != expected:
                raise Wrong(f"column `{column.name}` has {len(value)} rows, where {expected} are wanted")
        if self.rows == "filter":
            return self.drop(values, rows)
        return values, counts

    def drop(self, values, rows):
        """Leaves out the rows that are None in every column."""
        none = [[value is None for value in column] if isinstance(column, (list, tuple)) else [False] * rows
                for column in values]
        if any(one != none[0] for one in none):
            raise Wrong("returned None in one column of a row and a value in another")
        kept = [column if not any(none[0]) else [value for value in column if value is not None] for column in values]
        return kept, [0 if dropped else 1 for dropped in none[0]]

    def write(self, values, counts, rows):
        self.stay_alone()  # before anything is written
        reply = [OK, rows, 0]
        if counts is not None:
            if self.rows == "many" and any(not 0 <= count <= self.most for count in counts):
                raise Wrong(f"made {max(counts, key=lambda count: count if count >= 0 else 1 << 40)} rows of one, where "
                            f"`max` allows {self.most}")
            reply[1] = sum(counts)
            reply[2] = self.memory.take(8 * rows)
            self.memory.array(rows, "u8", reply[2])[:] = counts
        for column, value in zip(self.makes, values):
            reply += self.write_ragged(column, value) if column.ragged else [self.write_fixed(column, value, reply[1]), 0]
        return reply

    def write_fixed(self, column, value, rows):
        shape = (rows, *column.shape)
        if column.shape and isinstance(value, (list, tuple)) and all(column.has_row(one) for one in value):
            return self.write_rows(column, value, shape)
        if not isinstance(value, numpy.ndarray):
            value = self.rows_of(column, value, rows)
        if value.shape != shape:
            raise Wrong(f"column `{column.name}`: rows of {column.text} are wanted, not of {spell(value.dtype, value.shape[1:])}")
        self.check(column, value)
        at = self.memory.take(rows * column.unit)
        made = self.memory.array(shape, column.dtype, at)
        made[...] = value
        self.check_nan(column, made)
        return at

    def write_rows(self, column, value, shape):
        """Copies each array to its place; an array of all of them would be one more copy."""
        at = self.memory.take(shape[0] * column.unit)
        made = self.memory.array(shape, column.dtype, at)
        for place, one in zip(made, value):
            place[...] = one
        self.check_nan(column, made)
        return at

    def rows_of(self, column, value, rows):
        """An array of a list of numbers, of arrays, or of what NumPy makes arrays of; numbers count by their values,
        arrays by their type."""
        strict = hasattr(value, "dtype") or getattr(next(iter(value), None), "ndim", 0) > 0
        try:
            array = numpy.asarray(value)
        except ValueError:
            array = numpy.empty(0, "O")
        if rows == 0:
            return numpy.empty((0, *column.shape), column.dtype)
        if array.dtype.kind not in "biuf":
            odd = next((one for one in value if numpy.asarray(one).dtype.kind not in "biuf"), value)
            raise Wrong(f"column `{column.name}`: numbers of {column.text} are wanted, not {kind(odd)}")
        return array if strict else self.by_value(column, array)

    def by_value(self, column, array):
        """Numbers of Python have no type: integers must be in range, and floats are rounded."""
        to, kinds = column.dtype, {"b": "b", "i": "biu", "u": "biu", "f": "biuf"}
        if array.size == 0:
            return array.astype(to)
        if array.dtype.kind not in kinds[to.kind]:
            raise Wrong(f"column `{column.name}`: {column.text} is wanted, not numbers of {array.dtype}")
        if to.kind in "iu":
            bounds = numpy.iinfo(to)
            for number in (int(array.min()), int(array.max())):
                if not bounds.min <= number <= bounds.max:
                    raise Wrong(f"column `{column.name}`: {number} is not a number of {to.name}")
        made = array.astype(to, copy=False)
        if to.kind == "f" and to.itemsize < 8 and not numpy.array_equal(numpy.isinf(array), numpy.isinf(made)):
            raise Wrong(f"column `{column.name}`: {shorten(array[numpy.isinf(made) & ~numpy.isinf(array)][0])} is not a "
                        f"number of {column.dtype.name}")
        return made

    def check(self, column, array):
        if array.dtype != column.dtype and not numpy.can_cast(array.dtype, column.dtype, "safe"):
            raise Wrong(f"column `{column.name}`: {column.text} is wanted, not {array.dtype}: say "
                        f".astype(\"{column.dtype.name}\")")

    def check_nan(self, column, array):
        if column.dtype.kind != "f" or self.allow_nan or array.size == 0:
            return
        least = numpy.minimum.reduce(array, None)  # NaN if there is one
        if least != least:
            raise Wrong(f"column `{column.name}` has NaN; `allow_nan: true` allows it")

    def write_ragged(self, column, value):
        value = list(value)
        joined = self.join_bytes(column, value) if column.bytes else None
        if joined is None:
            lengths, joined = self.join_rows(column, value)
        else:
            lengths = list(map(len, value))
        if lengths and max(lengths) > column.most:
            raise Wrong(f"column `{column.name}`: a row has {max(lengths)} "
                        f"{'bytes' if column.bytes else 'elements'}, more than `max` ({column.most})")
        at = self.memory.take(8 * len(lengths))
        self.memory.array(len(lengths), "u8", at)[:] = lengths
        size = sum(lengths) * column.unit
        data = self.memory.take(size)
        if isinstance(joined, bytes):
            self.memory.map[data:data + size] = joined
        else:
            made = self.memory.array(joined.shape, column.dtype, data)
            made[...] = joined
            self.check_nan(column, made)
        return [data, at]

    def join_bytes(self, column, value):
        """The bytes of all rows; None if they are no byte strings."""
        for row, one in enumerate(value):
            if isinstance(one, str):
                value[row] = one.encode()
            elif not isinstance(one, (bytes, bytearray)):
                return None
        return b"".join(value)

    def join_rows(self, column, value):
        for one in value:
            if not hasattr(one, "__len__") or isinstance(one, (str, dict)):
                raise Wrong(f"column `{column.name}`: rows of {column.text} are wanted, arrays or lists, not {kind(one)}")
        lengths = list(map(len, value))
        if not sum(lengths):
            return lengths, numpy.empty((0, *column.shape), column.dtype)
        if not column.shape and all(type(one) is list for one in value):
            joined = list(itertools.chain.from_iterable(value))
            array = self.by_value(column, self.rows_of(column, joined, len(joined)))
        else:
            arrays = [one if isinstance(one, numpy.ndarray) else self.rows_of(column, one, len(one))
                      for one in value if len(one)]
            for array in arrays:
                self.check(column, array)
            array = next((one for one in arrays if one.shape[1:] != column.shape), None)
            if array is None:
                array = arrays[0] if len(arrays) == 1 else numpy.concatenate(arrays)
        if array.shape[1:] != column.shape:
            raise Wrong(f"column `{column.name}`: rows of {column.text} are wanted, not of {spell(array.dtype, array.shape)}")
        return lengths, array


def spell(dtype, shape):
    return f"{dtype}[{','.join(map(str, shape))}]" if shape else str(dtype)


def kind(value):
    if value is None:
        return "None"
    if type(value).__module__ == "numpy" and hasattr(value, "shape"):
        return f"an array of {spell(value.dtype, value.shape)}"
    return f"{'an' if type(value).__name__[0] in 'aeiou' else 'a'} {type(value).__name__} ({shorten(repr(value), 60)})"


def interpreter():
    return f"{sys.executable or 'this interpreter'} (Python {sys.version.split()[0]})"
