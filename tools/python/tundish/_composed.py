"""A topology as a dict: the keys of a topology file, composed by the calls of <tundish/tundish.h>."""
import json
import os

from . import _library

_KEYS = "tundish", "name", "actors", "links"


def _plain(value):
    """What JSON does not have: a function is named as MODULE:NAME, a path is a text, a number of NumPy a number."""
    if callable(value) and hasattr(value, "__qualname__"):
        if value.__module__ == "__main__" or "<" in value.__qualname__:
            raise TypeError(f"{value.__qualname__} is a function of the program itself, which the interpreters of workers cannot "
                            "import: define it in a module of its own")
        return f"{value.__module__}:{value.__qualname__}"
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    if hasattr(value, "tolist"):
        return value.tolist()
    raise TypeError(f"a {type(value).__name__} ({value!r:.60}) cannot be written in a topology")


def text_of(value):
    return json.dumps(value, default=_plain).encode()


def _mapping(what, value):
    if not isinstance(value, dict):
        raise TypeError(f"{what} is a dict, not a {type(value).__name__} ({value!r:.60})")
    return value


def compose(topology, error):
    """A graph of a dict; `error` is the exception for what no call of the library finds."""
    if topology.get("tundish", 1) != 1:
        raise error(f"`tundish: {topology['tundish']}` is another version of the format; this one reads 1")
    graph = _library.graph_new(str(topology.get("name", "graph")).encode(), 0)
    try:
        for name, actor in _mapping("`actors`", topology.get("actors", {})).items():
            options = dict(_mapping(f"actor `{name}`", actor))
            kind = options.pop("kind", None)
            if not isinstance(kind, str):
                raise error(f"actor `{name}` has no `kind`, such as reader, batcher or feeder")
            _library.graph_add(graph, name.encode(), kind.encode(), text_of(options)[1:-1])
        links = topology.get("links", [])
        for link in [links] if isinstance(links, str) else links:
            _library.graph_link(graph, link.encode())
        for key, value in topology.items():
            if key not in _KEYS:
                _library.graph_set(graph, key.encode(), text_of(value))
        if "data" not in topology and os.environ.get("TUNDISH_DATA"):
            _library.graph_set(graph, b"data", text_of(os.environ["TUNDISH_DATA"]))
    except BaseException:
        _library.graph_destroy(_library.ctypes.byref(_library.c_void_p(graph)))
        raise
    return graph
