"""Batches of a Tundish topology as tensors that PyTorch, JAX and NumPy read without a copy.

    for batch in tundish.feed("mine.yaml"):
        x = torch.from_dlpack(batch["x"])

`tundish help python` explains it.  The names are those of <tundish/tundish.h>, which defines what
each call does.

Threads: one at a time uses a session and its feeds; any uses tensors.  With several devices, the
functions given to `run` are called on a thread per device.
"""
import array
import atexit
import collections.abc
import ctypes
import functools
import json
import logging
import math
import os
import pathlib
import re
import struct
import sys
import threading
import typing
import warnings
from ctypes import byref

from . import _composed, _interrupts, _library, _posts, _preview
from ._library import END, FAILED, OK, STOPPED, Why
from ._posts import Posted, Result

__all__ = ["Bad", "Batch", "DataWarning", "Error", "Feed", "Posted", "Replica", "Report", "Result", "Session", "Spec", "Stopped",
           "Tensor", "drain_on_signals", "feed", "get_include", "get_library"]

# Of each replica in tnd_taken_t: id, last, step, epoch, rows, padded, memory.
_TAKEN = struct.Struct("@I?QQQQP")
_HEAD = struct.Struct("@Pii")  # a DLTensor begins with its data and device
_Head = ctypes.c_char * _HEAD.size

_ARRAY_KINDS = {"b1": "bool", "f2": "f16", "f4": "f32", "f8": "f64",
                **{f"{kind}{size}": f"{kind}{8 * size}" for kind in "iu" for size in (1, 2, 4, 8)}}


class Error(RuntimeError):
    """A topology is wrong or a run failed: what, where, why, and what to do."""


class Stopped(Error):
    """The run was drained before its start."""


class DataWarning(UserWarning):
    """Rows of a feed that has ended were left out as bad."""


_forks = 0  # of the process that imported this module, down to this one


def _count_fork():
    global _forks
    _forks += 1


os.register_at_fork(after_in_child=_count_fork)
_log = logging.getLogger("tundish")
_LEVELS = logging.DEBUG, logging.INFO, logging.WARNING, logging.ERROR


@_library.LogFunction
def _take_line(line, _):
    line = line.contents
    host, actor, text = (part.decode(errors="replace") for part in (line.host, line.actor, line.text))
    _log.log(_LEVELS[line.level], "%s %s: %s", host, actor, text)


class Bad(typing.NamedTuple):
    """Bad rows with the same cause: how many, the actor and operation that refused them, and why the
    first one is bad."""
    count: int
    where: str
    first: str


class Report(typing.NamedTuple):
    """What became of the rows of a feed: read + added = fed + filtered + bad + dropped.  `partial`: the metrics of the
    last epoch lack rows before a checkpoint of an older version.  `reasons` has a Bad for each cause, once the feed
    has ended."""
    steps: int
    epochs: int
    read: int
    added: int
    fed: int
    filtered: int
    bad: int
    dropped: int
    padded: int
    partial: bool
    reasons: tuple

    def __str__(self):
        return "\n".join([f"rows: {self.read} read, {self.filtered} filtered, {self.bad} bad, {self.dropped} dropped"] + [
            f"bad: {bad.count} by {bad.where}, such as: {bad.first}" for bad in self.reasons])

    def __call__(self, *_, **__):
        raise Error("`feed.report` is the account of the rows, not a function; `replica.report(metric, sum, weight)` in the "
                    "step of `feed.run(step)` reports a metric")


class Spec(typing.NamedTuple):
    """A column of the rows fed; if it is ragged, shape[0] is the longest length."""
    dtype: str
    shape: tuple
    ragged: bool


class _Column:
    """A column of a feed: its place, and how arrays of NumPy are made of its rows."""

    def __init__(self, place, spec):
        self.place, self.spec = place, spec

    @functools.cached_property
    def make(self):
        """A function of the address of the rows, their number, and what they belong to; None: NumPy takes them by DLPack."""
        import numpy
        dtype = next((numpy.dtype(kind) for kind, name in _ARRAY_KINDS.items() if name == self.spec.dtype), None)
        if self.spec.ragged or dtype is None:
            return None
        size = math.prod(self.spec.shape) * dtype.itemsize

        def make(address, count, owner):
            memory = (ctypes.c_char * (count * size)).from_address(address)
            memory.owner = owner
            rows = numpy.ndarray((count, *self.spec.shape), dtype, memory)
            rows.setflags(False)
            return rows
        return make


class _Rows:
    """The memory of the rows of a replica in a step."""
    __slots__ = ("address",)

    def __init__(self, address):
        self.address = address

    def __del__(self, release=_library.taken_release):
        release(self.address)

    def __reduce_ex__(self, _):  # a copy would release the memory again, another process one of its own
        raise TypeError("tundish: these rows are in memory of this process: copy or pass arrays, such as .numpy(copy=True)")


class Tensor:
    """The rows of a column, read-only, for any number of consumers.  They do not change, and stay in
    memory as long as this object and what was made of it, also after the session."""
    __slots__ = ("_rows", "_address", "_count", "_column")

    def __init__(self, rows, address, count, column):
        self._rows, self._address, self._count, self._column = rows, address, count, column

    def __copy__(self):
        return self

    @property
    def _tensor(self):
        return _library.Managed.from_address(self._address)

    def _array(self):
        """On a processor, the array that numpy.from_dlpack makes, for a third of the time."""
        data, device, _ = _HEAD.unpack_from(_Head.from_address(self._address))
        if device == 1 and self._column.make is not None:
            return self._column.make(data, self._count, self._rows)
        import numpy
        return numpy.from_dlpack(self)

    def __dlpack_device__(self):
        tensor = self._tensor
        return tensor.device_type, tensor.device_id

    def __dlpack__(self, *, stream=None, max_version=None, dl_device=None, copy=None):
        if copy:
            raise BufferError("tundish: this tensor is exported without a copy; copy what is made of it")
        if dl_device is not None and tuple(map(int, dl_device)) != self.__dlpack_device__():
            raise BufferError(f"tundish: the tensor is on the device {self.__dlpack_device__()}, not on {dl_device}")
        why, versioned = Why(), max_version is not None and max_version[0] >= 1
        stream = _library.STREAM_NONE if stream is None else int(stream)
        address = _library.tensor_share(self._address, versioned, stream, byref(why))
        if address is None:
            raise BufferError("tundish: " + why.text.decode())
        return _library.capsule(address, versioned)

    @property
    def shape(self):
        tensor = self._tensor
        return tuple(tensor.shape[:tensor.rank])

    def __len__(self):
        return self.shape[0]

    def numpy(self, copy=False):
        """The rows as an array of NumPy: read-only, in the memory of this tensor; or a copy, which may be
        changed."""
        rows = self._array()
        return rows.copy() if copy else rows

    def __array__(self, dtype=None, copy=None):
        import numpy
        rows = self._array()
        if dtype is not None and rows.dtype != dtype and copy is False:
            raise ValueError(f"tundish: {rows.dtype} becomes {numpy.dtype(dtype)} only by a copy")
        return numpy.array(rows, dtype=dtype) if copy else rows.astype(dtype or rows.dtype, copy=False)

    def __repr__(self):
        return f"tundish.Tensor(shape={self.shape}, device={self.__dlpack_device__()})"


class Replica(collections.abc.Mapping, _posts.Posts):
    """The rows of one replica in one step: maps columns to tensors.  `weight` is how many rows there
    are without padding; `lengths` maps each ragged column to the lengths of its rows."""

    def __init__(self, taken, columns, handle=None):
        self.id, self.last, self.step, self.epoch, self.rows, self.padded, address = taken
        self.weight = self.rows
        self._rows, self._columns, self._handle = _Rows(address), columns, handle
        self._tensors, self._lengths = {}, None
        self._begin_posts()

    def __getitem__(self, name):
        tensor = self._tensors.get(name)
        if tensor is None:
            tensor = self._tensors[name] = self._make(name)
        return tensor

    def _make(self, name):
        if name not in self._columns:
            raise KeyError(f"no column {name!r} in the batch; it has {', '.join(self._columns)}")
        column = self._columns[name]
        address = _library.taken_tensor(self._rows.address, column.place)
        if address is None:
            raise Error(f"column `{name}` is on a device whose memory other libraries cannot read")
        return Tensor(self._rows, address, self.rows, column)

    @property
    def lengths(self):
        if self._lengths is None:
            self._lengths = {name: array.array("q", ctypes.string_at(
                _library.taken_lengths(self._rows.address, column.place), 8 * self.rows))
                for name, column in self._columns.items() if column.spec.ragged}
        return self._lengths

    def __iter__(self):
        return iter(self._columns)

    def __len__(self):
        return len(self._columns)

    def _inside(self):
        if self._handle is None:
            raise Error("a replica reduces and reports inside of `step` and `apply` only")
        return self._handle

    def report(self, metric, sum, weight):
        """Reports a metric for progress and report: its sum over `weight` rows."""
        _library.replica_report(self._inside(), metric.encode(), sum, weight)


class Batch(collections.abc.Mapping):
    """The rows of this host in one step: `replicas`, and if there is one of them, its columns."""

    def __init__(self, replicas):
        self.replicas = replicas
        first = replicas[0]
        self.step, self.epoch, self.last = first.step, first.epoch, first.last
        self.weight = self.rows = first.rows if len(replicas) == 1 else sum(one.rows for one in replicas)

    def _only(self):
        if len(self.replicas) > 1:
            raise Error(f"a batch has {len(self.replicas)} replicas on this host: use batch.replicas[i]")
        return self.replicas[0]

    def __repr__(self):
        return f"tundish.Batch(step={self.step}, rows={self.rows}, replicas={len(self.replicas)})"

    def __getitem__(self, name):
        return self._only()[name]

    def __iter__(self):
        return iter(self._only())

    def __len__(self):
        return len(self._only())

    @property
    def lengths(self):
        return self._only().lengths


class _Calls:
    """The functions of Python that the library calls."""

    def __init__(self, columns):
        self.columns, self.error, self.replicas, self.step, self.apply = columns, None, {}, None, None
        self._threads = set()  # that are inside of a step
        self.begin = _library.StepFunction(lambda handle, _: self._guard(handle, self._begin, handle))
        self.follow = _library.StepFunction(lambda handle, _: self._guard(handle, self._follow, handle))

    def _guard(self, handle, function, *arguments):
        self._threads.add(threading.get_ident())
        try:
            function(*arguments)
            return OK
        except _posts.Refused:
            return FAILED
        except BaseException as error:  # none passes through C
            self.error = self.error or error
            if handle is not None:
                _library.replica_error(handle, f"{type(error).__name__}: {error}".encode())
            return FAILED
        finally:
            self._threads.discard(threading.get_ident())

    def check_outside(self):
        """On the thread of a device, the lock of the feed would be waited for until the step ends."""
        if threading.get_ident() in self._threads:
            raise Error("a feed is not read, rewound or previewed inside of a step: do it between two steps")

    def _begin(self, handle):
        taken = ctypes.create_string_buffer(_TAKEN.size)
        _library.replica_take(handle, taken)
        replica = Replica(_TAKEN.unpack_from(taken), self.columns, handle)
        self.replicas[replica.id] = replica
        self.step(replica)
        replica._check_posts()

    def _follow(self, handle):
        replica = self.replicas[_library.replica_id(handle)]
        replica._take_gathers(handle)
        if self.apply is not None:
            self.apply(replica)
        replica._check_posts()

    def raise_error(self):
        error, self.error = self.error, None
        if error is not None:
            raise error

    def run(self, call, feed, step, apply):
        """Returns the status, and the replicas in their order."""
        self.step, self.apply = step, apply
        status = call(feed, self.begin, self.follow, None)
        replicas = [self.replicas[number] for number in sorted(self.replicas)]
        self.step, self.apply, self.replicas = None, None, {}
        for replica in replicas:
            replica._handle = None
            replica._begin_posts()
        self.raise_error()
        return status, replicas

    def file(self, call, feed, function):
        """Calls function(file, replica) for each replica of this host."""
        why = Why()
        called = _library.FileFunction(*[lambda file, replica, _: self._guard(
            None, function, os.fsdecode(file), replica)][:function is not None])
        status = call(feed, called, None, byref(why))
        self.raise_error()
        if status == FAILED:
            raise Error(why.text.decode())
        return status


class Feed:
    """The batches of a feeder, in order, once.  It closes its session when it is closed.

    Threads: several may iterate over it; each batch is for one of them."""

    def __init__(self, session, handle, name):
        self.session, self._handle, self._name = session, handle, name
        self._ended, self._report, self._lock, self._ahead = False, None, threading.RLock(), None
        self._rewinds, self._repeats = 0, _library.feed_repeats(handle)
        schema = _library.Schema.from_address(_library.feed_schema(handle))
        self.spec = {column.name.decode(): Spec(_library.DTYPES[column.dtype], tuple(column.shape[:column.rank]),
                                                column.ragged) for column in schema.columns[:schema.count]}
        columns = {name: _Column(place, spec) for place, (name, spec) in enumerate(self.spec.items())}
        count = ctypes.c_uint32()
        _library.feed_replicas(handle, byref(ctypes.c_uint32()), byref(count))
        self._columns, self._taken = columns, ctypes.create_string_buffer(count.value * _TAKEN.size)
        self._calls = _Calls(columns)

    def __len__(self):
        """Steps per epoch."""
        steps = _library.feed_steps(self._opened())
        if steps == _library.UNKNOWN:
            raise TypeError("the steps of an epoch are known only at its end")
        return steps

    def __iter__(self):
        if self._ended:
            raise self._once()
        return self._batches()

    @staticmethod
    def _once():
        return Error("this feed has ended: a feed is read once.  `epochs: 3` of the reader reads the data three times, and "
                     "`for epoch in feed.epochs(): for batch in epoch:` shows where each epoch ends")

    def epochs(self):
        """Yields an iterator over the batches of each epoch.  An epoch that is left by `break` ends there (`rewind`); one
        that is not begun ends with its first batch.  Errors: for the iterator of an epoch that the loop has left."""
        if self._ended:
            raise self._once()
        main = threading.current_thread() is threading.main_thread()
        self.session.loops += main
        try:
            while (first := next(self, None)) is not None:
                left = []
                yield self._epoch(first, left)
                left.append(True)
                if not self._ended:
                    self.rewind()
        finally:
            self.session.loops -= main

    def _epoch(self, batch, left):
        rewinds, last = self._rewinds, False
        while batch is not None and not last:
            if left:
                raise Error("this epoch has ended: the loop over `feed.epochs()` has gone to the next one")
            if rewinds != self._rewinds:
                return
            yield batch
            last = batch.last
            if not left and not last and rewinds == self._rewinds:
                batch = next(self, None)

    def rewind(self):
        """Ends the epoch with the last batch, which is committed, as a new iterator over a dataset does: the next batch is
        the first of the next epoch.  Nothing happens between two epochs.  Programs on several hosts call it after the
        same batch."""
        handle = self._opened()
        self._calls.check_outside()
        with self._lock:
            self._check_previewed("rewind")
            status = _library.feed_rewind(handle)
            self._rewinds += 1
        if status == FAILED:
            self.session.ended(status, "its feeder has a `step`: it cannot be rewound")

    def _batches(self):
        main = threading.current_thread() is threading.main_thread()
        self.session.loops += main
        found = False
        try:
            while (batch := self._take()) is not None:
                found = True
                yield batch
            if not found and self._repeats and self.session.has_ended():
                raise Error(f"{self._name.decode()}: the run has ended, and its last validation was read before; it is due when "
                            "`due()` says so, which is after the last batch has been trained on")
        finally:
            self.session.loops -= main

    def __next__(self):
        main = threading.current_thread() is threading.main_thread()
        self.session.loops += main
        try:
            batch = self._take()
        finally:
            self.session.loops -= main
        if batch is None:
            raise StopIteration
        return batch

    def due(self):
        """Whether a feed with `every:` is to be read now, from its start or where the program left it: `for batch in test`
        ends with that validation.  It is due after so many steps or epochs of the feed before it, and at the end of that;
        at any other time reading it is an error.  What is not read when the feed before goes on is discarded."""
        handle, main = self._opened(), threading.current_thread() is threading.main_thread()
        self._calls.check_outside()
        self.session.loops += main
        try:
            with self._lock:
                return self._ahead is not None or _library.feed_due(handle)
        finally:
            self.session.loops -= main

    @property
    def report(self):
        """The account of rows, as of the last committed step (in a loop, that before the batch), and of the whole run
        once the feed has ended.  None if it is not known here: the first host knows it."""
        if self.session.handle and not self.session.is_forked():
            self._report = self.session.report(self._name) or self._report
        return self._report

    def preview(self, rows=8):
        """The first rows of the next batch, for people: print it, or let a notebook show it, with pictures.  The batch
        is not lost: it is the next one that the feed gives.  None: no batch is left."""
        self._calls.check_outside()
        with self._lock:
            if self._ahead is None:
                self._ahead = self._take()
            return None if self._ahead is None else _preview.Preview(self._ahead, self.spec, rows)

    def _check_previewed(self, call):
        """The library has passed the batch of a preview on, but the program has not had it."""
        if self._ahead is not None:
            raise Error(f"`preview` took the next batch: take that batch before `{call}`")

    @property
    def accumulate(self):
        """How many consecutive replicas share a model: replica.id // feed.accumulate is its number.  `apply`, `save` and
        `restore` then call once for a model, with the first of its replicas.  Above 1, a program reads it before."""
        return _library.feed_accumulate(self._opened())

    def run(self, step, apply=None):
        """Runs one step: step(replica) for each replica of this host, the reductions of what they
        posted, apply(replica) for each, or for those that `accumulate` names.  Returns False when no step is left."""
        return self._next(step, apply) is not None

    def sync(self, post, apply=None):
        """A round of reductions without rows, before the first step or between two: for initial weights, checks and
        barriers, such as `feed.sync(lambda replica: replica.broadcast("mean", weights))`.  Calls post(replica) for each
        replica of this host, or for those that `accumulate` names, reduces what they posted over all hosts, then calls
        apply(replica).  Every replica counts as one row.  All hosts call it at the same place.  Returns False when no
        step is left."""
        handle, main = self._opened(), threading.current_thread() is threading.main_thread()
        self._calls.check_outside()
        self.session.loops += main
        try:
            with self._lock:
                self._check_previewed("sync")
                status, _ = self._calls.run(_library.feed_sync, handle, post, apply)
            if status != OK:
                self._over(status)
            return status == OK
        finally:
            self.session.loops -= main

    def save(self, save=None):
        """Calls save(file, replica) for each replica of this host, after a step; `file` is a name.  The next
        step completes the checkpoint, and so does `close`, which waits for it.  Without `save`: the place alone."""
        def write(file, replica):
            save(file, replica)
            for ending in ".npy", ".npz":  # that NumPy adds to a name
                if not os.path.exists(file) and os.path.exists(file + ending):
                    os.replace(file + ending, file)
            if not os.path.exists(file):
                _log.warning("the function of feed.save wrote no file %s: without a model, call feed.save()", file)
                open(file, "wb").close()

        handle = self._opened()
        with self._lock:
            self._check_previewed("save")
            self._calls.file(_library.feed_save, handle, save and write)

    def restore(self, load=None):
        """If the run resumes from a checkpoint, calls load(file, replica) for each replica of this
        host, if there is a function, and returns True."""
        return self._calls.file(_library.feed_restore, self._opened(), load) != END

    def drain_on_signals(self):
        """From now on SIGTERM, SIGUSR1 and SIGUSR2, which launchers send before they take a machine away, end the
        feed after the same step everywhere, however often they come."""
        self.session.drain_on_signals()

    def finish(self):
        """Ends the run after the last batch, which is committed.  The report is then final."""
        with self._lock:
            self._check_previewed("finish")
            self.session.finish()
        self._end(3)

    def close(self):
        self.__exit__(None, None, None)

    def __enter__(self):
        return self

    def __exit__(self, kind, error, trace):
        self.report
        self.session.__exit__(kind, error, trace)

    def _opened(self):
        return self.session.opened() and self._handle

    def _take(self):
        """The next batch; None: none is left.  One call of the library for all of it."""
        handle = self._opened()
        self._calls.check_outside()
        with self._lock:
            if self._ahead is not None:
                batch, self._ahead = self._ahead, None
                return batch
            status = _library.feed_take(handle, self._taken)
            if status == OK:
                return Batch([Replica(taken, self._columns) for taken in _TAKEN.iter_unpack(self._taken)])
        return self._over(status)

    def _next(self, step, apply):
        handle, main = self._opened(), threading.current_thread() is threading.main_thread()
        self.session.loops += main
        try:
            with self._lock:
                if self._ahead is not None:
                    raise Error("`preview` took the next batch for a loop over the feed, and `run` would pass it over: preview "
                                "a feed of its own")
                status = _library.feed_next(handle)
                if status == OK:
                    status, replicas = self._calls.run(_library.feed_run, handle, step, apply)
                    if status == OK:
                        return replicas
            return self._over(status)
        finally:
            self.session.loops -= main

    def _over(self, status):
        if status == END and self._repeats:
            return None  # of this validation
        self.session.ended(status, "its feeder has a `step`, or the session was waited for: it cannot be pulled")
        if status == END:
            self._end(6)
        return None

    def _end(self, level):
        """No batch follows.  `level` is that of the program in the stack."""
        if self._ended:
            return
        self._ended, report = True, self.report
        if report is not None and report.bad > 0:
            warnings.warn(f"{report.bad} of {report.read} rows read were bad and left out\n{report}", DataWarning, level)


class _Array:
    """An array of NumPy that a reader reads in place; `arguments` are those of tnd_graph_array."""

    def __init__(self, actor, column, array):
        what = f"array `{column}` of actor `{actor}`"
        try:
            found = array.__array_interface__
        except AttributeError:
            raise Error(f"{what} is a {type(array).__name__}, not an array of NumPy: pass numpy.asarray(...)") from None
        kind, shape = found["typestr"], found["shape"]
        name = str(array.dtype)
        dtype = "bf16" if name == "bfloat16" else _ARRAY_KINDS.get(kind[1:])
        if dtype is None:
            raise Error(f"{what} has the dtype {name}, which no column has: convert it to one of "
                        f"{', '.join(_library.DTYPES)}")
        if kind[0] == ">":
            raise Error(f"{what} is big-endian: pass array.astype(array.dtype.newbyteorder('='))")
        if found.get("strides") is not None:
            raise Error(f"{what} is not contiguous in C order: pass numpy.ascontiguousarray(array)")
        if not shape:
            raise Error(f"{what} is a single number: its first axis counts the rows")
        self._array = array  # kept as long as it is read
        self.arguments = (actor.encode(), column.encode(), _library.DTYPES.index(dtype), len(shape),
                          (ctypes.c_uint64 * len(shape))(*shape), found["data"][0])


def _program_folder():
    """Where the program finds its own modules: beside its file, or in the working directory."""
    main = sys.modules["__main__"]
    is_file = getattr(main, "__spec__", None) is None and getattr(main, "__file__", None)
    return os.path.dirname(os.path.abspath(main.__file__)) if is_file else os.getcwd()


class Session:
    """This process's part of a run.  The arguments are those of `tundish.feed`."""

    def __init__(self, *files, host=None, data=None, settings=None, arrays=None):
        self.handle, self.interrupted, self._pulled = ctypes.c_void_p(), False, False
        self.loops, self._forks = 0, _forks  # loops of the main thread over feeds
        if sys.executable:  # `python` operations run in the interpreter of the program, unless the topology names one
            os.environ.setdefault("TUNDISH_PYTHON", sys.executable)
        os.environ["TUNDISH_PYTHONPATH"] = _program_folder()  # where interpreters look for modules, too
        composed = [file for file in files if isinstance(file, dict)]
        if composed and len(files) > 1:
            raise Error("a dict is the whole topology: it has no overlays, and `hosts` is one of its keys")
        names = [os.fsencode(file) for file in files if not composed]
        settings = {**(settings or {}), **({} if data is None else {"data": json.dumps(os.fspath(data))})}
        texts = [(key.encode(), (value if isinstance(value, str) else json.dumps(value)).encode())
                 for key, value in settings.items()]
        self._arrays = [_Array(actor, column, array) for actor, columns in (arrays or {}).items()
                        for column, array in columns.items()]
        self._graph = ctypes.c_void_p(_composed.compose(composed[0], Error) if composed else
                                      _library.graph_load((ctypes.c_char_p * len(names))(*names), len(names)))
        for key, text in texts:
            _library.graph_set(self._graph, key, text)
        for array in self._arrays:
            _library.graph_array(self._graph, *array.arguments)
        status = _library.session_open(byref(self.handle), self._graph, host and host.encode())
        if status != OK:
            text = re.sub(r"\n1 error$", "", _library.graph_errors(self._graph).decode().rstrip())
            _library.graph_destroy(byref(self._graph))
            self._arrays = []
            raise Stopped(text) if status == STOPPED else Error(text)
        least = next((n for n, level in enumerate(_LEVELS) if _log.isEnabledFor(level)), len(_LEVELS) - 1)
        _library.session_log(self.handle, least, _take_line, None)
        try:
            _interrupts.add(self)
        except RuntimeError as error:
            self.close(check=False)
            raise Error(f"cannot start a thread for signals ({error}); raise the limit of threads (ulimit -u) or end "
                        "other processes") from None

    def feed(self, feeder=None):
        """The feed of this feeder; None: of the first."""
        handle = _library.session_feed(self.opened(), feeder and feeder.encode())
        if handle is None:
            why = _library.session_error(self.handle).decode()
            if why and not self.interrupted and _library.session_wait(self.handle) == STOPPED:
                raise Stopped(why)
            self.ended(STOPPED if self.interrupted else FAILED,
                       f"no feeder `{feeder}` is on this host" if feeder else "no feeder is on this host")
        return Feed(self, handle, feeder and feeder.encode())

    def drain(self):
        """Requests an orderly end: every replica of the run finishes the same last step."""
        _library.session_drain(self.opened())

    def drain_on_signals(self):
        """From now on SIGTERM, SIGUSR1 and SIGUSR2, which launchers send before they take a machine away, drain the
        run, however often they come.  The feeds then end after the same step."""
        if _library.session_drain_on_signals(self.opened()) == FAILED:
            self.ended(FAILED, "the signals are taken")

    def wait(self):
        """Waits until the run is over.  Call it after the last batch of all feeds."""
        if _library.session_wait(self.opened()) == FAILED:
            self.ended(FAILED, "the run failed")

    def finish(self):
        """Ends the run after the last batch of all feeds, which is committed: digest, metrics and report are then
        final.  Programs on several hosts call it after the same batch.
        Errors: if the run has failed, or the models that were saved last are not a complete checkpoint."""
        if _library.session_finish(self.opened()) == FAILED:
            self.ended(FAILED, "the run failed")

    def digest(self, feeder="feed"):
        """The digest of all rows fed, `stream` of `tundish run`; final after `wait` or `finish`.  None if it is not
        known here: the first host knows it."""
        text, name = ctypes.create_string_buffer(33), feeder.encode() if isinstance(feeder, str) else feeder
        return text.value.decode() if _library.session_digest(self.opened(), name, text) else None

    def metric(self, metric, feeder="feed"):
        """The mean of a reported metric over the last epoch that has ended; None as for `digest`."""
        mean = ctypes.c_double()
        known = _library.session_metric(self.opened(), feeder.encode(), metric.encode(), byref(mean))
        return mean.value if known else None

    def report(self, feeder=None):
        """The account of the rows of this feeder; None: of the first.  See Feed.report."""
        name = feeder.encode() if isinstance(feeder, str) else feeder
        found = _library.Summary()
        if not _library.session_summary(self.opened(), name, byref(found)):
            return None
        reasons, bad = [], _library.Bad()
        while _library.session_bad(self.handle, name, len(reasons), byref(bad)):
            reasons.append(Bad(bad.count, bad.where.decode(errors="replace"), bad.first.decode(errors="replace")))
        return Report(*(getattr(found, field) for field, _ in found._fields_ if field != "reasons"), tuple(reasons))

    def close(self, check=True):
        """Stops the run if it has not ended, once the models that were saved last are a complete checkpoint.
        Errors: if that is not possible, if the run failed after the last batch, or if a device did not do in time
        what it was asked to; without `check` these are logged."""
        if not self.handle:
            return
        if self.is_forked():  # what it has is its parent's
            self.handle = ctypes.c_void_p()
            return
        failed = check and self._pulled and _library.session_wait(self.handle) == FAILED
        text = _library.session_error(self.handle).decode()
        _interrupts.remove(self)
        undone = _library.session_destroy(byref(self.handle)) == FAILED and not failed
        late = _library.graph_errors(self._graph).decode().rstrip()
        _library.graph_destroy(byref(self._graph))
        self._arrays = []
        if not check:
            if undone and late:
                _log.error("%s", late)
        elif failed or undone and late:
            raise Error(text if failed else late)
        elif self.interrupted:
            self.interrupted = False
            raise KeyboardInterrupt

    __del__ = close

    def __enter__(self):
        return self

    def __exit__(self, kind, error, trace):
        self.close(check=kind is None)

    def is_forked(self):
        """Whether this process was forked from the one that opened the session, and has none of its threads."""
        return self._forks != _forks

    def opened(self):
        if not self.handle:
            raise Error("the session is closed: call this before the end of `with`")
        if self.is_forked():
            raise Error(_library.session_error(self.handle).decode())
        return self.handle

    def has_ended(self):
        """Whether a feed that the program has read to its end was the last."""
        return self._pulled

    def ended(self, status, otherwise):
        """A feed has no further step."""
        self._pulled = status == END
        if self.interrupted:
            self.interrupted = False
            raise KeyboardInterrupt
        if status == FAILED:
            raise Error(_library.session_error(self.handle).decode() or otherwise)


def feed(*files, host=None, feeder=None, data=None, settings=None, arrays=None):
    """Starts this process's part of a run and returns the feed of a feeder.

    files     a topology file and its overlays; or a dict with the keys of a topology file, whose modules of Python are
              beside the program, in the working directory or in PYTHONPATH.  A function of a module is named by itself: {"call": tokenize}
    host      which of the topology's hosts this process is; None: that of which a launcher such as srun tells
              (`tundish help launch`), or the only one
    feeder    the feeder; None: the first on this host
    data      the folder that ${data} means
    settings  values to change: {"batch.size": 256, "seed": 8}
    arrays    arrays of NumPy for readers with `source: memory`: {"read": {"x": x, "y": y}}, of as many rows.
              They are not copied, and must not change before the feed is closed.
    """
    return Session(*files, host=host, data=data, settings=settings, arrays=arrays).feed(feeder)


def drain_on_signals():
    """At the start of a program: SIGTERM, SIGUSR1 and SIGUSR2 drain the feed that is opened next, as its own
    `drain_on_signals` does, also if they come before it is open.  `feed` raises Stopped if one comes before
    the run starts, to this process or to another one of a launcher."""
    if _library.session_drain_on_signals(None) == FAILED:
        raise Error("another session of this process is drained on signals: close it before")


def get_include():
    """The folder of <tundish/tundish.h>, with which plugins are compiled: -I$(python3 -m tundish --include)."""
    places = [pathlib.Path(__file__).with_name("include"), pathlib.Path(__file__).parents[3] / "runtime",
              pathlib.Path(__file__).parents[4] / "include"]  # of a wheel, the source tree, a package
    for place in places:
        if (place / "tundish/tundish.h").exists():
            return str(place)
    raise FileNotFoundError(f"tundish/tundish.h is in none of {', '.join(map(str, places))}")


def get_library():
    """The file of the library, with which programs are linked: $(python3 -m tundish --libs)."""
    with open("/proc/self/maps") as maps:
        return next(line.split(maxsplit=5)[5].rstrip("\n") for line in maps if "/libtundish.so" in line)


atexit.register(_interrupts.close_all)
