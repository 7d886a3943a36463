"""Manifests of checkpoints as older versions wrote them."""
import ctypes


def hash_of(text):
    """XXH3-128, as 32 hex digits."""
    class Hash(ctypes.Structure):
        _fields_ = [("low", ctypes.c_uint64), ("high", ctypes.c_uint64)]
    function = ctypes.CDLL("libxxhash.so.0").XXH3_128bits
    function.restype, function.argtypes = Hash, [ctypes.c_char_p, ctypes.c_size_t]
    found = function(text.encode(), len(text.encode()))
    return f"{found.high:016x}{found.low:016x}"


def remove_metrics(manifest):
    """Development versions of release 0.1.0 wrote version 2, which has no metrics."""
    lines = manifest.read_text().splitlines(keepends=True)
    assert lines[-1] == f"hash {hash_of(''.join(lines[:-1]))}\n", lines[-1]
    kept = [line for line in lines[1:-1] if not line.startswith("metrics ")]
    assert len(kept) < len(lines) - 2, lines
    text = "".join(["tundish checkpoint 2\n", *kept])
    manifest.write_text(text + f"hash {hash_of(text)}\n")
