#!/usr/bin/env python3
"""A program in another language pulls steps by the library and reads the rows as NumPy arrays."""
import ctypes
import sys
import tempfile
import threading
from pathlib import Path

from command import BUILD

try:
    import numpy
except ImportError:
    sys.exit(77)

STEP = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)
ROWS, SIZE = 700, 32


class Rows:
    """What numpy.from_dlpack asks of an exporter."""

    def __init__(self, tensor):
        self.tensor = tensor

    def __dlpack__(self, **_):
        new = ctypes.pythonapi.PyCapsule_New
        new.restype, new.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p,
                                                       ctypes.c_void_p]
        return new(self.tensor, b"dltensor", None)

    def __dlpack_device__(self):
        return (1, 0)


def library():
    lib = ctypes.CDLL(str(BUILD / "libtundish.so"))
    for name in ("tnd_graph_new", "tnd_session_feed", "tnd_replica_dlpack", "tnd_replica_column"):
        getattr(lib, name).restype = ctypes.c_void_p
    for name in ("tnd_replica_rows", "tnd_replica_longest", "tnd_replica_stride"):
        getattr(lib, name).restype = ctypes.c_uint64
    for name in ("tnd_replica_lengths", "tnd_replica_splits"):
        getattr(lib, name).restype = ctypes.POINTER(ctypes.c_uint64)
    for name in ("tnd_graph_errors", "tnd_session_error"):
        getattr(lib, name).restype = ctypes.c_char_p
    return lib


def main(folder):
    rng = numpy.random.default_rng(3)
    arrays = {"x": rng.normal(size=(ROWS, 2, 3)).astype("f4"), "y": numpy.arange(ROWS, dtype="i8"),
              "h": rng.normal(size=(ROWS, 4)).astype("f2"), "u": rng.integers(0, 9, ROWS).astype("u2")}
    for name, array in arrays.items():
        numpy.save(folder / f"{name}.npy", array)
    lib = library()
    pointer = ctypes.c_void_p
    graph = pointer(lib.tnd_graph_new(b"dlpack", ctypes.c_uint64(1)))
    files = ", ".join(f"{name}: \"{folder}/{name}.npy\"" for name in arrays)
    for name, kind, options in ((b"read", b"reader", f"source: {{npy: {{{files}}}}}".encode()),
                                (b"batch", b"batcher", f"size: {SIZE}".encode()),
                                (b"feed", b"feeder", b"depth: 2")):
        lib.tnd_graph_add(graph, name, kind, options)
    lib.tnd_graph_link(graph, b"read -> batch -> feed")
    session = pointer()
    assert lib.tnd_session_open(ctypes.byref(session), graph, None) == 0, lib.tnd_graph_errors(graph)
    feed = pointer(lib.tnd_session_feed(session, b"feed"))
    seen, kept = {name: [] for name in arrays}, []

    @STEP
    def step(replica, _):
        assert lib.tnd_replica_dlpack(pointer(replica), b"z") is None
        for name in arrays:
            array = numpy.from_dlpack(Rows(lib.tnd_replica_dlpack(pointer(replica), name.encode())))
            seen[name].append(array.copy())
            if name == "x":
                kept.append((array, array.copy()))
        return 0

    while lib.tnd_feed_next(feed) == 0:
        assert lib.tnd_feed_run(feed, step, None, None) == 0, lib.tnd_session_error(session)
    for name, array in arrays.items():
        fed = numpy.concatenate(seen[name])
        assert fed.dtype == array.dtype and (fed == array).all(), name
    assert lib.tnd_session_destroy(ctypes.byref(session)) == 0
    lib.tnd_graph_destroy(ctypes.byref(graph))
    # Tensors are readable after their steps are over, their slots were used again and the session
    # is closed; they are released here and on another thread.
    assert len(kept) == -(-ROWS // SIZE) and all((array == copy).all() for array, copy in kept)
    others = kept[::2]
    del kept[::2]
    releaser = threading.Thread(target=others.clear)
    releaser.start()
    kept.clear()
    releaser.join()
    print("ok")


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as place:
        main(Path(place))
