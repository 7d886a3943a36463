"""What replicas post: arrays as their libraries have them, and where the results are."""
import collections.abc
import ctypes
import math
import sys
import weakref

from . import _library
from ._library import OK

REDUCTIONS = {"sum": 0, "mean": 1, "min": 2, "max": 3}
_FORMATS = {"?": "bool", **dict.fromkeys("efd", "f"), **dict.fromkeys("bhilq", "i"), **dict.fromkeys("BHILQ", "u")}
_CODES = {0: "i", 1: "u", 2: "f", 4: "bf"}  # DLDataTypeCode
_VERSIONED = 32  # bytes of DLManagedTensorVersioned before its DLTensor
_DTYPE = 20  # where its type is in a DLTensor
_I64, _ALL = _library.DTYPES.index("i64"), 2**32 - 1  # TND_ALL_REPLICAS
_WRONG = "values to post are arrays of numbers in C order and in the memory of the host"

_name_of = ctypes.pythonapi.PyCapsule_GetName
_name_of.restype, _name_of.argtypes = ctypes.c_char_p, [ctypes.py_object]
_pointer_of = ctypes.pythonapi.PyCapsule_GetPointer
_pointer_of.restype, _pointer_of.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]


class Refused(Exception):
    """The library refused a call inside of a step, and reports the reason itself."""


def _tensor_at(capsule):
    """Where the DLTensor of a capsule is."""
    name = _name_of(capsule)
    return _pointer_of(capsule, name) + (_VERSIONED if name == b"dltensor_versioned" else 0)


class Result:
    """A result beside the array that was posted, which cannot be written to: a tensor of the host
    for any consumer of DLPack."""
    __slots__ = ("dtype", "_memory")

    def __init__(self, dtype, memory):
        self.dtype, self._memory = dtype, memory

    @classmethod
    def zeros(cls, dtype, shape):
        import numpy
        return cls(dtype, numpy.zeros(shape, cls.kind(dtype)))

    @staticmethod
    def kind(dtype):
        """NumPy's type of the same bytes."""
        return {"bf16": "u2", "bool": "?"}.get(dtype) or f"{dtype[0]}{int(dtype[1:]) // 8}"

    @property
    def shape(self):
        return self._memory.shape

    @property
    def address(self):
        return self._memory.ctypes.data

    def __dlpack_device__(self):
        return 1, 0

    def __dlpack__(self, **options):
        capsule = self._memory.__dlpack__(**{key: value for key, value in options.items() if value is not None})
        if self.dtype == "bf16":  # which NumPy does not know
            ctypes.c_uint8.from_address(_tensor_at(capsule) + _DTYPE).value = 4
        return capsule

    def numpy(self):
        if self.dtype == "bf16":
            raise TypeError("NumPy has no bf16: torch.from_dlpack and jax.numpy.from_dlpack read this tensor")
        return self._memory

    def __array__(self, dtype=None, copy=None):
        array = self.numpy()
        return array.astype(dtype or array.dtype, copy=bool(copy))

    def __repr__(self):
        return f"tundish.Result(shape={self.shape}, dtype={self.dtype})"


class Values:
    """Memory of the library for an array that is posted in each step: `own` is what this replica posts, `result` that of
    all replicas, which is only read.  It lives as long as the feed."""

    def __init__(self, memory, dtype, shape):
        import numpy
        size = math.prod(shape) * _size(dtype)

        def view(address):
            return numpy.frombuffer((ctypes.c_char * size).from_address(address), Result.kind(dtype)).reshape(shape)
        self.dtype, self.shape, self.own = dtype, shape, view(memory.own)
        result = view(memory.result)
        result.setflags(write=False)
        self.result = Result(dtype, result) if dtype == "bf16" else result


class _Given:
    """As an _Array."""
    writable = True

    def __init__(self, values):
        self.values, self.dtype, self.shape = values, values.dtype, values.shape
        self.number, self.count = _library.DTYPES.index(values.dtype), math.prod(values.shape)
        self.address, self.result = values.own.ctypes.data, values.result
        self.out = values.result.address if values.dtype == "bf16" else values.result.ctypes.data

    def moved(self):
        raise TypeError("memory of `replica.memory` is posted by `reduce`")


class _Array:
    """An array to post: its type, shape and address; `owner` keeps its memory.  `result` is what has the result."""

    def __init__(self, values):
        torch = sys.modules.get("torch")
        is_torch = torch is not None and isinstance(values, torch.Tensor)
        self.writable = is_torch
        if is_torch:
            self._take_tensor(values.detach())
        elif not self._take_buffer(values):
            self._take_tensor(values)
        self.number = _library.DTYPES.index(self.dtype) if self.dtype in _library.DTYPES else None
        if self.number is None:
            raise TypeError(f"{_WRONG}: this one has the type {self.dtype}")
        self.count = math.prod(self.shape)
        self.result = values if self.writable else Result.zeros(self.dtype, self.shape)
        self.out = self.address if self.writable else self.result.address

    def moved(self):
        """The address of the result, where the values are too."""
        size = self.count * _size(self.dtype)
        if not self.writable and size > 0:
            ctypes.memmove(self.out, self.address, size)
        return self.out

    def _take_buffer(self, values):
        """Whether it is a buffer of numbers."""
        is_bf16 = getattr(getattr(values, "dtype", None), "name", "") == "bfloat16" and hasattr(values, "view")
        try:
            view = memoryview(values.view("u2") if is_bf16 else values)
        except (TypeError, ValueError, BufferError):
            return False
        if view.format not in _FORMATS:
            if hasattr(values, "__dlpack__"):
                return False
            raise TypeError(f"{_WRONG}: this one has the format {view.format!r}")
        if not view.c_contiguous:
            raise TypeError(f"{_WRONG}: this one is not contiguous")
        kind = _FORMATS[view.format]
        self.dtype = "bf16" if is_bf16 else kind if kind == "bool" else f"{kind}{8 * view.itemsize}"
        self.shape, self.writable = view.shape, not view.readonly
        if self.writable:
            self.owner = (ctypes.c_char * view.nbytes).from_buffer(view)
            self.address = ctypes.addressof(self.owner)
        else:
            import numpy
            self.owner = numpy.frombuffer(view, "u1") if view.nbytes > 0 else view
            self.address = self.owner.ctypes.data if view.nbytes > 0 else None
        return True

    def _take_tensor(self, values):
        if not hasattr(values, "__dlpack__"):
            raise TypeError(f"{_WRONG}: a {type(values).__name__} has neither a buffer nor __dlpack__")
        device, number = map(int, values.__dlpack_device__())
        if device != 1:
            raise TypeError(f"{_WRONG}: this one is on the device {(device, number)}; copy it to the host")
        try:
            capsule = values.__dlpack__(max_version=(1, 0))
        except TypeError:  # of before DLPack 1.0
            capsule = values.__dlpack__()
        tensor = _library.Managed.from_address(_tensor_at(capsule))  # of which the DLTensor is read
        shape = tuple(tensor.shape[:tensor.rank])
        if tensor.strides:
            step = 1
            for size, stride in zip(shape[::-1], tensor.strides[:tensor.rank][::-1]):
                if size > 1 and stride != step and 0 not in shape:
                    raise TypeError(f"{_WRONG}: this one is not contiguous")
                step *= size
        kind = _CODES.get(tensor.code, f"of code {tensor.code} and ")
        self.dtype = "bool" if tensor.code == 6 else f"{kind}{tensor.bits}"
        self.shape, self.owner = shape, capsule
        self.address = (tensor.data or 0) + tensor.byte_offset


def _array(values, path):
    try:
        return _Given(values) if isinstance(values, Values) else _Array(values)
    except (TypeError, BufferError) as error:
        raise TypeError(f"{path}: {error}") from None


class Posted:
    """Arrays that were posted.  When `apply` runs, `result` has what became of them, as they were given: an array, a
    list or a dict.  Writable buffers and tensors of PyTorch have their results in place; for others it is a tensor."""

    def __init__(self, result, replica=None, last=None):
        self.result, self._replica, self._last, self._round = result, replica, last, replica and replica._round

    def wait(self):
        """In `apply`: waits until the result is there, and those of all that was posted before.  Only with `apply: early`
        of the feeder is it not there at once.  Returns the result."""
        if self._last is not None and not self._replica._has_ended(self._round):
            self._replica._await(self._last)
        return self.result


def _flat(values, name):
    """Yields the name and the array of each."""
    if isinstance(values, collections.abc.Mapping):
        for key, value in values.items():
            yield str(key), value
    elif isinstance(values, (list, tuple)):
        for number, value in enumerate(values):
            yield f"{name}[{number}]", value
    else:
        yield name, values


def _shaped(values, results):
    if isinstance(values, collections.abc.Mapping):
        return dict(zip(values, results))
    return results if isinstance(values, (list, tuple)) else results[0]


def _axes(axis, shape):
    """The numbers from 0 on of an axis, or of a tuple of them."""
    axes = axis if isinstance(axis, tuple) else (axis,)
    if not all(isinstance(one, int) for one in axes):
        raise TypeError(f"axis={axis!r}: an axis is a number, and several are a tuple of numbers")
    for one in axes:
        if not -len(shape) <= one < len(shape):
            raise ValueError(f"axis={axis!r}: an array of shape {tuple(shape)} has no axis {one}")
    return tuple(one % len(shape) for one in axes)


def _along(values, how, weight, axis):
    """What a replica posts of values that are also reduced along axes: an array and its weight in a mean."""
    import numpy
    if how not in ("sum", "mean") or weight is not None:
        raise ValueError(f"how={how!r}, weight={weight}: with an axis `how` is sum or mean, and a mean counts its elements")
    values = numpy.asarray(values)
    axes, whole = _axes(axis, values.shape), values.dtype.kind in "iub"
    if how == "sum":
        dtype = values.dtype if not whole or values.dtype.name in ("int32", "int64") else "int64"
        return numpy.array(values.sum(axes, dtype=dtype), order="C"), None
    dtype = numpy.dtype("float64") if whole else values.dtype
    count = math.prod(values.shape[one] for one in axes)
    mean = values.mean(axes, dtype=dtype) if count > 0 else numpy.zeros([size for one, size in enumerate(values.shape)
                                                                        if one not in axes], dtype)
    return numpy.array(mean, order="C"), count


class _Gather:
    """Arrays that are posted to be concatenated along an axis: of each replica its shape and then its elements."""
    RANK = 8

    def __init__(self, array, path, axis):
        (self._axis,) = _axes(axis, array.shape)
        if len(array.shape) > self.RANK:
            raise ValueError(f"{path}: an array of {len(array.shape)} axes cannot be gathered: at most {self.RANK} can")
        self._path, self.array = path, array
        self.shape = (ctypes.c_int64 * (1 + self.RANK))(len(array.shape), *array.shape)

    def post(self, handle, reducer):
        for number, address, count in ((_I64, ctypes.addressof(self.shape), len(self.shape)),
                                       (self.array.number, self.array.address, self.array.count)):
            if _library.replica_gather(handle, reducer, number, address, count) != OK:
                raise Refused

    def take(self, handle, number):
        """The concatenated array; gather number `number` has the shapes."""
        import numpy
        counts = (ctypes.c_size_t * 2)()
        sizes = _library.replica_gathered(handle, number, _ALL, ctypes.addressof(counts))
        sizes = (ctypes.c_int64 * counts[0]).from_address(sizes)
        step = len(self.shape)
        shapes = [tuple(sizes[first + 1:first + 1 + sizes[first]]) for first in range(0, len(sizes), step)]
        for replica, shape in enumerate(shapes):
            if len(shape) != len(shapes[0]) or any(one != other for axis, (one, other) in enumerate(zip(shape, shapes[0]))
                                                   if axis != self._axis):
                raise ValueError(f"{self._path}: arrays that are gathered along axis {self._axis} differ in it only: replica 0 "
                                 f"has the shape {shapes[0]}, replica {replica} {shape}")
        parts = []
        for replica, shape in enumerate(shapes):
            address = _library.replica_gathered(handle, number + 1, replica, ctypes.addressof(counts))
            size = counts[0] * _size(self.array.dtype)
            memory = (ctypes.c_char * size).from_address(address) if size > 0 else b""
            parts.append(numpy.frombuffer(memory, Result.kind(self.array.dtype)).reshape(shape))
        return Result(self.array.dtype, numpy.concatenate(parts, self._axis))


class Posts:
    """The part of a replica that posts; a subclass has _inside(), the handle of a replica that may post."""

    def _begin_posts(self):
        self._posted, self._unread, self._gathers, self._round, self._count = [], [], [], 0, 0

    def _post(self, values, name, call):
        handle, results, apart = self._inside(), [], False
        for path, value in _flat(values, name):
            array = _array(value, path)
            self._posted.append((array, path))
            if call(handle, array, path) != OK:
                raise Refused
            self._count += 1
            results.append(array.result)
            apart = apart or not array.writable
        posted = Posted(_shaped(values, results) if results else values, self, self._count - 1 if results else None)
        if apart:
            self._unread.append(weakref.ref(posted))
        return posted

    def begin(self):
        """In a step: what was posted so far is complete, and is reduced between hosts while the step goes on.  Until
        `apply` runs, the step neither changes nor reads those arrays.  All replicas of the run call it after the same
        postings, for each MiB or more; the bits are the same without it."""
        if _library.replica_begin(self._inside()) != OK:
            raise Refused

    def _await(self, number):
        if _library.replica_await(self._inside(), number) != OK:
            raise Refused

    def _has_ended(self, number):
        """Whether all results of that round are there: it was not the last one, or `apply` has posted since."""
        return number + 1 < self._round + (self._count > 0)

    def _take_gathers(self, handle):
        """Before `apply`: makes the results of what was gathered, whose memory is then taken back."""
        gathers, self._gathers = self._gathers, []
        if gathers:
            self._await(self._count - 1)
        self._round, self._count = self._round + 1, 0
        for number, (posted, values, parts) in enumerate(gathers):
            first = sum(2 * len(before) for _, _, before in gathers[:number])
            posted.result = _shaped(values, [part.take(handle, first + 2 * i) for i, part in enumerate(parts)])

    def _check_posts(self):
        """At the end of a function: results that are nowhere else were kept."""
        lost = any(posted() is None for posted in self._unread)
        self._unread = []
        if lost:
            raise TypeError("an array that was posted cannot be written to, and its result was not kept: keep what "
                            "`reduce` returns and read its `result` in `apply`, or post a writable array")

    def reduce(self, reducer, values, how="mean", weight=None, axis=None):
        """Posts an array, or a list or dict of arrays, and returns a Posted, whose `result` is there when `apply`
        runs.  Arrays are buffers in C order, such as those of NumPy, or have __dlpack__.  `how` is sum, mean, min or
        max.  A mean is weighted by the rows of the replicas (the reducer can name a column instead), or by `weight`.

        With `axis`, as strategy.reduce of TensorFlow: the result is the sum or mean over that axis, or a tuple of axes,
        and all replicas; `axis=()` is its axis=None.  A mean divides by the length of the axes in all replicas; that of
        integers is f64."""
        if axis is not None:
            values, weight = _along(values, how, weight, axis)
        if how not in REDUCTIONS or (weight is not None and how != "mean"):
            raise ValueError(f"how={how!r}, weight={weight}: `how` is sum, mean, min or max; `weight` is for a mean")
        name = reducer.encode()

        def call(handle, array, path):
            if weight is None:
                return _library.replica_reduce_to(handle, name, REDUCTIONS[how], array.number, array.address, array.out,
                                                  array.count)
            return _library.replica_mean_to(handle, name, array.number, array.address, array.out, array.count, weight)
        return self._post(values, "values", call)

    def gather(self, reducer, values, axis=0):
        """Posts arrays whose `result` has, when `apply` runs, those of all replicas in their order, concatenated along
        `axis`, as strategy.gather of TensorFlow: a tensor.  Replicas may differ in the length of that axis, also 0.
        With `accumulate`, the replicas for which `apply` runs have it."""
        handle, parts = self._inside(), []
        for path, value in _flat(values, "values"):
            array = _array(value, path)
            if not array.shape:
                raise ValueError(f"{path}: a single number has no axis along which it could be gathered")
            parts.append(_Gather(array, path, axis))
        for part in parts:
            part.post(handle, reducer.encode())
            self._count += 2
        posted = Posted(None)
        self._gathers.append((posted, values, parts))
        return posted

    def memory(self, name, shape, dtype="f32"):
        """Memory for an array that is posted in each step, by name: fill `own`, post it by `reduce`, and read `result` in
        `apply`.  Where replicas share a process, it is copied neither in nor out."""
        shape = (shape,) if isinstance(shape, int) else tuple(shape)
        if dtype not in _library.DTYPES:
            raise ValueError(f"dtype={dtype!r}: it is one of {', '.join(_library.DTYPES)}")
        memory = _library.replica_values(self._inside(), name.encode(), _library.DTYPES.index(dtype), math.prod(shape))
        if not memory.own:
            raise Refused
        return Values(memory, dtype, shape)

    def broadcast(self, reducer, values, root=0):
        """Posts arrays that have those of replica `root` when `apply` runs, such as initial weights; as `reduce`."""
        def call(handle, array, path):
            return _library.replica_broadcast(handle, reducer.encode(), root, array.moved(),
                                              array.count * _size(array.dtype))
        return self._post(values, "values", call)

    def share(self, count):
        """The slice of this replica in arrays of `count` elements that are divided among all replicas; in `apply`
        with those of the replicas that share its model."""
        begin, end = ctypes.c_size_t(), ctypes.c_size_t()
        _library.replica_share(self._inside(), count, ctypes.byref(begin), ctypes.byref(end))
        return slice(begin.value, end.value)

    def scatter(self, reducer, values, how="mean"):
        """As `reduce`, but each replica gets its share of the result only, in its place: `share` of the elements of
        an array in C order.  The rest of the array stays."""
        if how not in REDUCTIONS:
            raise ValueError(f"how={how!r}: `how` is sum, mean, min or max")

        def call(handle, array, path):
            return _library.replica_scatter(handle, reducer.encode(), REDUCTIONS[how], array.number, array.moved(),
                                            array.count)
        return self._post(values, "values", call)

    def gather_into(self, reducer, values):
        """The reverse: gives this replica's share of arrays to all others.  They are the same in all replicas when
        `apply` runs next; as `reduce`."""
        def call(handle, array, path):
            return _library.replica_gather_into(handle, reducer.encode(), array.number, array.moved(), array.count)
        return self._post(values, "values", call)

    def same(self, reducer, values, name="values"):
        """Fails the run unless all replicas have the same bytes in these arrays; the message has the step, the array
        and the replicas that differ.  The keys of a dict are the names of its arrays."""
        for path, value in _flat(values, name):
            array, text = _array(value, path), path.encode()
            self._posted.append(text)
            size = array.count * _size(array.dtype)
            if _library.replica_same(self._inside(), reducer.encode(), text, array.address, size) != OK:
                raise Refused
            self._count += 1


def _size(dtype):
    return 1 if dtype == "bool" else int(dtype.lstrip("abcdefghijklmnopqrstuvwxyz")) // 8
