"""The functions of libtundish and the structs that they take; <tundish/tundish.h> defines them."""
import ctypes
import os
import pathlib
from ctypes import c_bool, c_char, c_char_p, c_double, c_int, c_int32, c_int64, c_uint8, c_uint16, c_uint32, c_uint64, c_void_p

OK, END, STOPPED, FAILED = range(4)
DTYPES = "u8 i8 u16 i16 u32 i32 u64 i64 f16 bf16 f32 f64 bool".split()
UNKNOWN = 2**64 - 1
STREAM_NONE = -2**63

# Each function without `tnd_`: the letter of what it returns, then those of its arguments.
_TYPES = {"v": None, "b": c_bool, "d": c_double, "i": c_int, "p": c_void_p, "q": c_int64, "s": c_char_p,
          "u": c_uint32, "w": c_uint64, "z": ctypes.c_size_t}
_FUNCTIONS = """
graph_destroy v p       graph_errors s p        graph_load p pz         graph_set v pss
graph_new p sw          graph_add v psss        graph_link v ps
session_destroy i p     session_digest b psp    session_drain v p       session_error s p
session_feed p ps       session_metric b pssp   session_open i pps      session_stop v p
session_bad b psup      session_log v pipp      session_summary b psp
feed_accumulate u p     graph_array v pssiupp   session_finish i p      session_drain_on_signals i p
session_wait i p        feed_next i p           feed_replicas u ppp     feed_restore i pppp
feed_run i pppp         feed_save i pppp        feed_schema p p         feed_steps w p
feed_take i pp          feed_rewind i p         replica_error v ps      replica_id u p
feed_due b p            feed_repeats b p        feed_sync i pppp
replica_broadcast i psupz replica_mean_to i psippzd replica_reduce_to i psiippz
replica_gather i psipz  replica_gathered p puup
replica_scatter i psiipz replica_gather_into i psipz replica_share v pzpp
replica_await i pu      replica_begin i p        replica_same i psspz    replica_report v psdd   replica_take v pp       taken_lengths p pu
taken_release v p       taken_tensor p pu       tensor_share p pbqp
"""
StepFunction = ctypes.CFUNCTYPE(c_int, c_void_p, c_void_p)
FileFunction = ctypes.CFUNCTYPE(c_int, c_char_p, c_uint32, c_void_p)


class Line(ctypes.Structure):
    """tnd_log_line_t"""
    _fields_ = [("level", c_int), ("host", c_char_p), ("actor", c_char_p), ("text", c_char_p)]


class Summary(ctypes.Structure):
    """tnd_summary_t"""
    _fields_ = [(name, c_uint64) for name in "steps epochs read added fed filtered bad dropped padded".split()] + [
        ("reasons", c_uint32), ("partial", c_bool)]


class Bad(ctypes.Structure):
    """tnd_bad_t"""
    _fields_ = [("count", c_uint64), ("where", c_char * 160), ("first", c_char * 320)]


LogFunction = ctypes.CFUNCTYPE(None, ctypes.POINTER(Line), c_void_p)


class Column(ctypes.Structure):
    _fields_ = [("name", c_char * 64), ("dtype", c_int), ("rank", c_uint32), ("shape", c_uint64 * 8),
                ("ragged", c_bool)]


class Schema(ctypes.Structure):
    _fields_ = [("count", c_uint32), ("columns", Column * 64)]


class Values(ctypes.Structure):
    """tnd_values_t"""
    _fields_ = [("own", c_void_p), ("result", c_void_p)]


class Why(ctypes.Structure):
    """tnd_error_t"""
    _fields_ = [("text", c_char * 512), ("about", c_void_p)]


class Managed(ctypes.Structure):
    """DLManagedTensor of DLPack"""
    _fields_ = [("data", c_void_p), ("device_type", c_int32), ("device_id", c_int32), ("rank", c_int32),
                ("code", c_uint8), ("bits", c_uint8), ("lanes", c_uint16), ("shape", ctypes.POINTER(c_int64)),
                ("strides", ctypes.POINTER(c_int64)), ("byte_offset", c_uint64), ("context", c_void_p),
                ("deleter", ctypes.CFUNCTYPE(None, c_void_p))]


def _load():
    """The library of TUNDISH_LIBRARY, the one in this folder (a wheel has it), or the installed one."""
    beside = [path for name in ("libtundish.so.0", "libtundish.so") if (path := pathlib.Path(__file__).with_name(name)).exists()]
    path = os.environ.get("TUNDISH_LIBRARY") or [*beside, "libtundish.so.0"][0]
    try:
        library = ctypes.CDLL(path, ctypes.RTLD_GLOBAL)  # plugins call its functions
    except OSError as error:
        raise ImportError(f"{error}; TUNDISH_LIBRARY names the library, such as build/libtundish.so, or install "
                          "the wheel that tools/wheel makes") from None
    words = _FUNCTIONS.split()
    for name, result, arguments in zip(words[::3], words[1::3], words[2::3]):
        function = getattr(library, "tnd_" + name)
        function.restype, function.argtypes = _TYPES[result], [_TYPES[letter] for letter in arguments]
        globals()[name] = function
    library.tnd_replica_values.restype = Values
    library.tnd_replica_values.argtypes = [c_void_p, c_char_p, c_int, ctypes.c_size_t]
    globals()["replica_values"] = library.tnd_replica_values
    return library


_new_capsule = ctypes.pythonapi.PyCapsule_New
_new_capsule.restype, _new_capsule.argtypes = ctypes.py_object, [c_void_p, c_char_p, c_void_p]
_end_capsule = ctypes.cast(_load().tnd_tensor_end_capsule, c_void_p)
_CAPSULES = b"dltensor", b"dltensor_versioned"
for _name in _CAPSULES:  # the last object of an interpreter may be a capsule, which needs its name
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(_name))


def capsule(tensor, versioned):
    """A capsule that frees the tensor if no consumer takes it."""
    return _new_capsule(tensor, _CAPSULES[versioned], _end_capsule)
