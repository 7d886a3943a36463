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
import json
import os
import re
import typing
from ctypes import byref

from . import _interrupts, _library
from ._library import END, FAILED, OK, STOPPED, Why

__all__ = ["Batch", "Error", "Feed", "Replica", "Session", "Spec", "Tensor", "feed"]

_REDUCTIONS = {"sum": 0, "mean": 1, "min": 2, "max": 3}
_KINDS = {"?": "bool", **dict.fromkeys("efd", "f"), **dict.fromkeys("bhilq", "i"), **dict.fromkeys("BHILQ", "u")}


class Error(RuntimeError):
    """A topology is wrong or a run failed: what, where, why, and what to do."""


class Spec(typing.NamedTuple):
    """A column of the rows fed; if it is ragged, shape[0] is the longest length."""
    dtype: str
    shape: tuple
    ragged: bool


class Tensor:
    """The rows of a column, read-only, for any number of consumers.  They do not change, and stay in
    memory as long as this object and what was made of it, also after the session."""

    def __init__(self, address):
        self._address = address
        self._tensor = _library.Managed.from_address(address)

    def __del__(self):
        self._tensor.deleter(self._address)

    def __dlpack_device__(self):
        return self._tensor.device_type, self._tensor.device_id

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
        return tuple(self._tensor.shape[:self._tensor.rank])

    def __len__(self):
        return self.shape[0]

    def __array__(self, dtype=None, copy=None):
        import numpy
        rows = numpy.from_dlpack(self)
        if dtype is not None and rows.dtype != dtype and copy is False:
            raise ValueError(f"tundish: {rows.dtype} becomes {numpy.dtype(dtype)} only by a copy")
        return numpy.array(rows, dtype=dtype) if copy else rows.astype(dtype or rows.dtype, copy=False)

    def __repr__(self):
        return f"tundish.Tensor(shape={self.shape}, device={self.__dlpack_device__()})"


class Replica(collections.abc.Mapping):
    """The rows of one replica in one step: maps columns to tensors.  `weight` is how many rows there
    are without padding; `lengths` maps each ragged column to the lengths of its rows."""

    def __init__(self, handle, spec):
        self._handle, self._posted = handle, []
        self.id, self.step, self.epoch = (getattr(_library, "replica_" + name)(handle) for name in ("id", "step", "epoch"))
        self.last, self.padded = _library.replica_last(handle), _library.replica_padded(handle)
        self.weight = self.rows = _library.replica_rows(handle)
        self._tensors, self.lengths = {}, {}
        for name, column in spec.items():
            address = _library.replica_dlpack(handle, name.encode())
            if address is None:
                raise Error(f"column `{name}` is on a device whose memory other libraries cannot read")
            self._tensors[name] = Tensor(address)
            if column.ragged:
                lengths = _library.replica_lengths(handle, name.encode())
                self.lengths[name] = array.array("Q", ctypes.string_at(lengths, 8 * self.rows))

    def __getitem__(self, name):
        if name not in self._tensors:
            raise KeyError(f"no column {name!r} in the batch; it has {', '.join(self._tensors)}")
        return self._tensors[name]

    def __iter__(self):
        return iter(self._tensors)

    def __len__(self):
        return len(self._tensors)

    def _inside(self):
        if self._handle is None:
            raise Error("a replica reduces and reports inside of `step` and `apply` only")
        return self._handle

    def reduce(self, reducer, values, how="mean", weight=None):
        """Posts an array, which has the result when `apply` runs: a writable buffer in C order, such
        as a NumPy array.  `how` is sum, mean, min or max.  A mean is weighted by the rows of the
        replicas (the reducer can name a column instead), or by `weight`."""
        view = memoryview(values)
        if view.readonly or not view.c_contiguous or view.format not in _KINDS:
            raise TypeError("values to reduce are a writable array of numbers in C order")
        if how not in _REDUCTIONS or (weight is not None and how != "mean"):
            raise ValueError(f"how={how!r}, weight={weight}: `how` is sum, mean, min or max; `weight` is for a mean")
        kind = _KINDS[view.format]
        dtype = _library.DTYPES.index(kind if kind == "bool" else f"{kind}{8 * view.itemsize}")
        data = (ctypes.c_char * view.nbytes).from_buffer(values)
        self._posted.append(data)
        handle, count = self._inside(), view.nbytes // view.itemsize
        if weight is None:
            status = _library.replica_reduce(handle, reducer.encode(), _REDUCTIONS[how], dtype, ctypes.addressof(data), count)
        else:
            status = _library.replica_mean(handle, reducer.encode(), dtype, ctypes.addressof(data), count, weight)
        if status != OK:
            raise _Refused

    def report(self, metric, sum, weight):
        """Reports a metric for progress and report: its sum over `weight` rows."""
        _library.replica_report(self._inside(), metric.encode(), sum, weight)


class Batch(collections.abc.Mapping):
    """The rows of this host in one step: `replicas`, and if there is one of them, its columns."""

    def __init__(self, replicas):
        self.replicas = replicas
        self.step, self.epoch, self.last = replicas[0].step, replicas[0].epoch, replicas[0].last
        self.weight = self.rows = sum(replica.rows for replica in replicas)

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


class _Refused(Exception):
    """The library refused a call inside of a step, and reports the reason itself."""


class _Calls:
    """The functions of Python that the library calls."""

    def __init__(self, spec):
        self.spec, self.error, self.replicas, self.step, self.apply = spec, None, {}, None, None
        self.begin = _library.StepFunction(lambda handle, _: self._guard(handle, self._begin, handle))
        self.follow = _library.StepFunction(lambda handle, _: self._guard(handle, self._follow, handle))

    def _guard(self, handle, function, *arguments):
        try:
            function(*arguments)
            return OK
        except _Refused:
            return FAILED
        except BaseException as error:  # none passes through C
            self.error = self.error or error
            if handle is not None:
                _library.replica_error(handle, f"{type(error).__name__}: {error}".encode())
            return FAILED

    def _begin(self, handle):
        replica = Replica(handle, self.spec)
        self.replicas[replica.id] = replica
        if self.step is not None:
            self.step(replica)

    def _follow(self, handle):
        self.apply(self.replicas[_library.replica_id(handle)])

    def raise_error(self):
        error, self.error = self.error, None
        if error is not None:
            raise error

    def run(self, feed, step, apply):
        """Returns the status, and the replicas in their order."""
        self.step, self.apply = step, apply
        status = _library.feed_run(feed, self.begin, self.follow if apply is not None else None, None)
        replicas = [self.replicas[number] for number in sorted(self.replicas)]
        self.step, self.apply, self.replicas = None, None, {}
        for replica in replicas:
            replica._handle, replica._posted = None, []
        self.raise_error()
        return status, replicas

    def file(self, call, feed, function):
        """Calls function(file, replica) for each replica of this host."""
        why = Why()
        status = call(feed, _library.FileFunction(lambda file, replica, _: self._guard(
            None, function, os.fsdecode(file), replica)), None, byref(why))
        self.raise_error()
        if status == FAILED:
            raise Error(why.text.decode())
        return status


class Feed:
    """The batches of a feeder, in order, once.  It closes its session when it is closed."""

    def __init__(self, session, handle):
        self.session, self._handle = session, handle
        schema = _library.Schema.from_address(_library.feed_schema(handle))
        self.spec = {column.name.decode(): Spec(_library.DTYPES[column.dtype], tuple(column.shape[:column.rank]),
                                                column.ragged) for column in schema.columns[:schema.count]}
        self._calls = _Calls(self.spec)

    def __len__(self):
        """Steps per epoch."""
        steps = _library.feed_steps(self._opened())
        if steps == _library.UNKNOWN:
            raise TypeError("the steps of an epoch are known only at its end")
        return steps

    def __iter__(self):
        return self

    def __next__(self):
        replicas = self._next(None, None)
        if replicas is None:
            raise StopIteration
        return Batch(replicas)

    def run(self, step, apply=None):
        """Runs one step: step(replica) for each replica of this host, the reductions of what they
        posted, apply(replica) for each.  Returns False when no step is left."""
        return self._next(step, apply) is not None

    def save(self, save):
        """Calls save(file, replica) for each replica of this host, after a step.  The next step
        completes the checkpoint."""
        self._calls.file(_library.feed_save, self._opened(), save)

    def restore(self, load):
        """If the run resumes from a checkpoint, calls load(file, replica) for each replica of this
        host and returns True."""
        return self._calls.file(_library.feed_restore, self._opened(), load) != END

    def close(self):
        self.session.close()

    def __enter__(self):
        return self

    def __exit__(self, kind, error, trace):
        self.session.__exit__(kind, error, trace)

    def _opened(self):
        return self.session.opened() and self._handle

    def _next(self, step, apply):
        status = _library.feed_next(self._opened())
        if status == OK:
            status, replicas = self._calls.run(self._handle, step, apply)
            if status == OK:
                return replicas
        self.session.ended(status, "its feeder has a `step`, or the session was waited for: it cannot be pulled")
        return None


class Session:
    """This process's part of a run.  The arguments are those of `tundish.feed`."""

    def __init__(self, *files, host=None, data=None, settings=None):
        self.handle, self.interrupted, self._pulled = ctypes.c_void_p(), False, False
        names = [os.fsencode(file) for file in files]
        settings = {**(settings or {}), **({} if data is None else {"data": json.dumps(os.fspath(data))})}
        texts = [(key.encode(), (value if isinstance(value, str) else json.dumps(value)).encode())
                 for key, value in settings.items()]
        self._graph = ctypes.c_void_p(_library.graph_load((ctypes.c_char_p * len(names))(*names), len(names)))
        for key, text in texts:
            _library.graph_set(self._graph, key, text)
        if _library.session_open(byref(self.handle), self._graph, host and host.encode()) != OK:
            text = re.sub(r"\n1 error$", "", _library.graph_errors(self._graph).decode().rstrip())
            _library.graph_destroy(byref(self._graph))
            raise Error(text)
        _interrupts.add(self)

    def feed(self, feeder=None):
        """The feed of this feeder; None: of the first."""
        handle = _library.session_feed(self.opened(), feeder and feeder.encode())
        if handle is None:
            self.ended(STOPPED if self.interrupted else FAILED,
                       f"no feeder `{feeder}` is on this host" if feeder else "no feeder is on this host")
        return Feed(self, handle)

    def drain(self):
        """Requests an orderly end: every replica of the run finishes the same last step."""
        _library.session_drain(self.opened())

    def wait(self):
        """Waits until the run is over.  Call it after the last batch of all feeds."""
        if _library.session_wait(self.opened()) == FAILED:
            self.ended(FAILED, "the run failed")

    def digest(self, feeder="feed"):
        """The digest of all rows fed, `stream` of `tundish run`; final after `wait`.  None if it is not
        known here: the first host knows it."""
        text = ctypes.create_string_buffer(33)
        return text.value.decode() if _library.session_digest(self.opened(), feeder.encode(), text) else None

    def metric(self, metric, feeder="feed"):
        """The mean of a reported metric over the last epoch that has ended; None as for `digest`."""
        mean = ctypes.c_double()
        known = _library.session_metric(self.opened(), feeder.encode(), metric.encode(), byref(mean))
        return mean.value if known else None

    def close(self, check=True):
        """Stops the run if it has not ended.  Errors: if it failed after the last batch, or a device did not
        do in time what it was asked to."""
        if not self.handle:
            return
        failed = check and self._pulled and _library.session_wait(self.handle) == FAILED
        text = _library.session_error(self.handle).decode()
        _interrupts.remove(self)
        leaked = _library.session_destroy(byref(self.handle)) == FAILED and check and not failed
        text = _library.graph_errors(self._graph).decode().rstrip() if leaked else text
        _library.graph_destroy(byref(self._graph))
        if failed or leaked and text:
            raise Error(text)

    __del__ = close

    def __enter__(self):
        return self

    def __exit__(self, kind, error, trace):
        self.close(check=kind is None)

    def opened(self):
        if not self.handle:
            raise Error("the session is closed")
        return self.handle

    def ended(self, status, otherwise):
        """A feed has no further step."""
        self._pulled = status == END
        if self.interrupted:
            raise KeyboardInterrupt
        if status == FAILED:
            raise Error(_library.session_error(self.handle).decode() or otherwise)


def feed(*files, host=None, feeder=None, data=None, settings=None):
    """Starts this process's part of a run and returns the feed of a feeder.

    files     a topology file and its overlays
    host      which of the topology's hosts this process is; None: there is one
    feeder    the feeder; None: the first on this host
    data      the folder that ${data} means
    settings  values to change: {"batch.size": 256, "seed": 8}
    """
    return Session(*files, host=host, data=data, settings=settings).feed(feeder)


atexit.register(_interrupts.close_all)
